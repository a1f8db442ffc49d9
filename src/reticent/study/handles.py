"""Handles on a study's columns for estimators: ``xy`` names columns, reads nothing and shows nothing.

``Columns`` is the shelf they stand on (``learning.handles``): bounds from the study file, the study's ledger, and the
one way to read, which an estimator takes after it has charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reticent.data.order import ABSENT
from reticent.data.query import Records
from reticent.data.schema import Category, Integer
from reticent.entropy import system
from reticent.errors import QuestionError
from reticent.learning.handles import Handle
from reticent.learning.scaling import Bound, Floats
from reticent.ledger import Ledger, Receipt
from reticent.ledger.fingerprint import note_head, note_release
from reticent.privacy.adjacency import Adjacency

if TYPE_CHECKING:
    from reticent.study.study import Study

FINE = 20  # a unit is about 2^-FINE of a column's range
MOST_LABELS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of one study, as estimators ask for them."""

    study: Study

    @property
    def ledger(self) -> Ledger:
        return self.study.ledger

    @property
    def neighbours(self) -> Adjacency:
        return self.study.schema.person.neighbours()

    @property
    def people(self) -> int | None:
        """Declared, where every person has one row; rows of several are counted with noise."""
        person = self.study.schema.person
        return person.people if person.rows == 1 else None

    def bounds(self, column: str) -> Bound:
        return self.study.schema.bounded(column, "a model")

    def labels(self, column: str) -> tuple[int, ...]:
        found = self.study.schema.column(column)
        if not isinstance(found, Integer) or found.low is None or found.high is None:
            raise QuestionError(
                f"Name classes=[…], or declare {column} as an integer with low and high. Nothing was charged."
            )
        if found.high - found.low >= MOST_LABELS:
            raise QuestionError(f"{column} may have more than {MOST_LABELS} values: name classes=[…].")
        return tuple(range(found.low, found.high + 1))

    def unit(self, column: str) -> Fraction:
        """What one step of a column is worth: 1 for integers, else a power of two, about a millionth of its range."""
        if isinstance(self.study.schema.column(column), Integer):
            return Fraction(1)
        low, high = self.bounds(column)
        width = (high - low) / 2**FINE
        power = width.numerator.bit_length() - width.denominator.bit_length()
        return Fraction(1 << power) if power >= 0 else Fraction(1, 1 << -power)

    def read(self, columns: Sequence[str]) -> Floats:
        """Rows of shape (n, columns); a row that lacks a value is NaN throughout. Values are the middles of steps."""
        units = tuple(self.unit(column) for column in columns)
        table = self.study._table()
        (found,) = table.run([Records(tuple(columns), units)], system().bits(256).to_bytes(32))
        table.close()
        assert found.records is not None
        middle = [0.0 if unit == 1 else 0.5 for unit in units]
        rows = (found.records + np.array(middle)) * np.array([float(unit) for unit in units])
        rows[found.records[:, 0] == ABSENT] = np.nan
        return np.asarray(rows)

    def charged(self) -> None:
        source = self._source()
        if source is not None:
            note_head(source, self.ledger)  # an older copy of the ledger, put back, is then noticed

    def released(self, receipt: Receipt) -> None:
        source = self._source()
        if source is not None:
            note_release(source, self.ledger, receipt.id)

    def _source(self) -> Path | None:
        return Path(self.study._place) if self.study._place and self.ledger.durable else None


def xy(study: Study, columns: Sequence[str], y: str | None = None) -> tuple[Handle, Handle | None]:
    """Handles on the columns of X and on y, for the estimators of ``reticent.learning``. Nothing is read.

    Raises
    ------
    QuestionError
        For a column there is not, a category, or one without public bounds.
    """
    if isinstance(columns, str) or not columns:
        raise QuestionError('X is a list of columns: study.xy(["age", "educ"], "affair")')
    shelf = Columns(study)
    for column in (*columns, *(() if y is None else (y,))):
        if isinstance(study.schema.column(column), Category):
            raise QuestionError(f"{column} is a category. Declare it as an integer with its codes, low and high.")
        shelf.bounds(column)
    if y in columns:
        raise QuestionError(f"{y} is a column of X already")
    return Handle(tuple(columns), shelf), None if y is None else Handle((y,), shelf)


__all__ = ["Columns", "xy"]
