"""Handles on a study's columns for estimators: ``xy`` names columns, reads nothing and shows nothing.

A category of X becomes one column of 0 and 1 for each declared key, ``workclass=Private``; of y, its keys are the
classes. A row whose value is no declared key is a row with a missing value, as everywhere.

``Columns`` is the shelf they stand on (``learning.fit.handles``): bounds from the study file, the study's ledger, and
the one way to read, which an estimator takes after it has charged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.snapshot import EarlierShares
from reticent.data.columns import columns_of
from reticent.data.contradictions import readable_columns
from reticent.data.design import refuse_weight
from reticent.data.expression_tree import write
from reticent.data.joins import lines
from reticent.data.order_statistics import ABSENT
from reticent.data.query import Records
from reticent.data.query_result import QueryResult
from reticent.data.schema import Category, Column, Integer, Key, Real, Schema
from reticent.data.source import name_of
from reticent.data.table import EngineFailure, Table
from reticent.entropy import system
from reticent.errors import QuestionError
from reticent.learning.fit.handles import Handle
from reticent.ledger import Ledger
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.context import values_of
from reticent.statistics.public_facts import may_be_incomplete
from reticent.statistics.scaling import Bound, Floats, Integers
from reticent.statistics.shares import ASSUMED

FINE = 20  # a unit is about 2^-FINE of a column's range
MOST_LABELS = 100
PLAIN = (Fraction(0), Fraction(1))
BOUNDLESS = "release the robust line regress(y ~ x), which needs none: it"  # what a model with bounds is not
CLASSIFIED = "LogisticRegression tells the keys of a category, such as yes and no."


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of one study, as estimators ask for them.

    ``place`` is the path of the rows, empty where they are in memory. ``rows`` opens them: after the charge, and before
    it to count persons whose number is public. ``known`` looks up the shares of incomplete rows that were told of the
    declared snapshot. ``keys`` has for each column that is one key of a category its name, and the place of the key.
    ``assumed`` is the number of persons that a plan supposes, where they would be counted. ``fits`` refuses records
    that cannot fit: declared columns, cells of a row, and what a fit takes of one.
    """

    schema: Schema
    ledger: Ledger
    place: str
    rows: Callable[[], Table]
    known: Callable[[], EarlierShares]
    keys: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    assumed: int | None = None
    fits: Callable[[Sequence[str], int, tuple[float, int]], None] = lambda *_: None

    @property
    def neighbours(self) -> Adjacency:
        whole = self.schema.person.with_one_cap()
        return replace(whole, kind="add_remove") if self._comes_and_goes else whole

    @property
    def steps(self) -> int:
        return 2 if self._comes_and_goes else self.schema.person.moved

    @property
    def _comes_and_goes(self) -> bool:
        """True if a person who is replaced may leave the rows that a filter chose, and their successor enter them."""
        return self.schema.person.filtered and self.schema.person.adjacency == "substitute"

    def lifted(self, guarantee: Guarantee) -> Guarantee:
        if self._comes_and_goes:  # the rows that pass are one part of a partition
            return compose.across(
                [guarantee], neighbours=self.schema.person.with_one_cap(), label="rows that a filter chose"
            )
        return self.schema.lifted(guarantee)

    @property
    def lift_words(self) -> str:
        if self._comes_and_goes:
            return (
                "a filter chose the rows: a person who is replaced may leave them and another enter them, so a fit is "
                "2 steps, each of 1/2 of its loss"
            )
        return "; ".join(filter(None, (self.schema.lift_words("a fit"), self.schema.person.likeness_words)))

    @property
    def people(self) -> int | None:
        """The public number of persons with one row each: counted under substitution, else the declared one.

        Rows of several are counted with noise. A file that cannot be read has the declared number, so that the fit
        fails after its charge.
        """
        person = self.schema.person
        if person.filtered:
            return None
        if person.rows > 1 or not person.size_public:
            return person.people if person.rows == 1 else None
        if self.assumed is not None:
            return self.assumed
        table = self.rows()
        try:
            return person.counted(table.units())
        except EngineFailure:
            return person.people
        finally:
            table.close()

    def rows_of(self, people: int | None) -> int:
        person = self.schema.person if people else self.schema.person.as_declared  # a fit knows no plan
        return values_of(people or person.people or ASSUMED, person.rows, person)

    def canonical(self, column: str) -> str:
        return self.schema.canonical(column)

    def bounds(self, column: str) -> Bound:
        return (
            PLAIN
            if column in self.keys
            else self.schema.bounded(column, "a model", instead=BOUNDLESS, labels=CLASSIFIED)
        )

    def unit_word(self, column: str) -> str:
        declared = None if column in self.keys else self.schema.column(column)
        return declared.unit or column if isinstance(declared, Real | Integer) else column

    def category(self, column: str) -> str | None:
        return self.keys[column][0] if column in self.keys else None

    def labels(self, column: str) -> tuple[Key, ...]:
        found = self.schema.column(column)
        if isinstance(found, Category):
            return _in_order(found)
        if not isinstance(found, Integer) or found.low is None or found.high is None:
            raise QuestionError(
                f"Name classes=[…], or declare {column} as an integer with low and high. Nothing was charged."
            )
        values = found.among or range(found.low, found.high + 1)
        if len(values) > MOST_LABELS:
            raise QuestionError(f"{column} may have more than {MOST_LABELS} values: name classes=[…].")
        return tuple(values)

    def named(self, column: str, numbers: Floats) -> NDArray[np.generic]:
        declared = self.schema.column(column)
        if not isinstance(declared, Category):
            return np.asarray(numbers)
        labels = np.array([*declared.among, None], dtype=object)
        return np.asarray(labels[np.where(np.isfinite(numbers), numbers, len(declared.among)).astype(np.int64)])

    def complete(self, columns: Sequence[str]) -> bool:
        sources = {self.category(column) or column for column in columns}
        return not may_be_incomplete(self.schema.column(source) for source in sources)

    def unit(self, column: str) -> Fraction:
        """Size of one step of a column: 1 for whole numbers, else a power of two, a millionth of its range."""
        if isinstance(self.schema.column(column), Integer | Category):
            return Fraction(1)
        low, high = self.bounds(column)
        width = (high - low) / 2**FINE
        power = width.numerator.bit_length() - width.denominator.bit_length()
        return Fraction(1 << power) if power >= 0 else Fraction(1, 1 << -power)

    def ready(self, columns: Sequence[str], of_row: tuple[float, int]) -> None:
        sources = self._sources(columns)
        columns_of([Records(*sources)], self.schema)
        self.fits(sources[0], len(columns), of_row)
        if self.place:
            self.rows().close()

    def read(self, columns: Sequence[str]) -> Floats:
        """Rows of shape (n, columns); a row that lacks a value is NaN throughout. Values are the middles of steps.

        A category as y is the place of its key.
        """
        sources = self._sources(columns)
        found = self._asked(Records(*sources))
        return self._numbers(found, columns, *sources[:2])

    @property
    def source(self) -> str:
        return name_of(self.place)

    def declared(self, columns: Sequence[str]) -> Mapping[str, Column]:
        return {name: self.schema.column(name) for name in self._sources(columns)[0]}

    @property
    def where(self) -> str:
        return "" if self.schema.where is None else write(self.schema.where)

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(lines(self.schema))

    @property
    def protected(self) -> tuple[str, str]:
        return self.schema.person.unit, self.schema.person.household_words

    def vouched(self, column: str) -> bool:
        return self.schema.column(column).complete

    def listed(self, column: str, labels: Sequence[object]) -> bool:
        declared = self.schema.column(column)
        return declared.complete or (isinstance(declared, Category) and set(declared.among) <= set(labels))

    def lacking(self, columns: Sequence[str]) -> tuple[str, ...]:
        found = {source for source in self._sources(columns)[0] if self.schema.column(source).stand_in is None}
        found -= readable_columns(self.schema)
        return tuple(name for name in self.schema.columns if name in found)

    def owned(self, columns: Sequence[str]) -> tuple[Floats, Integers]:
        """Rows, and a number for the person of each."""
        sources = self._sources(columns)
        found = self._asked(Records(*sources, owners="told"))
        assert found.owners is not None
        return self._numbers(found, columns, *sources[:2]), found.owners

    def _sources(self, columns: Sequence[str]) -> tuple[tuple[str, ...], tuple[Fraction, ...], tuple[str, ...]]:
        """The declared columns behind those of X and y, their units, and which of them are categories."""
        sources = tuple(dict.fromkeys(self.category(column) or column for column in columns))
        coded = tuple(source for source in sources if isinstance(self.schema.column(source), Category))
        return sources, tuple(self.unit(source) for source in sources), coded

    def _asked(self, query: Records) -> QueryResult:
        table = self.rows()
        (found,) = table.run([query], system().bits(256).to_bytes(32))
        table.close()
        return found

    def _numbers(
        self, found: QueryResult, columns: Sequence[str], sources: Sequence[str], units: Sequence[Fraction]
    ) -> Floats:
        """Numbers that were read, in the order of the columns asked for."""
        assert found.records is not None
        rows = np.empty((len(found.records), len(columns)))
        for place, column in enumerate(columns):
            source = self.category(column) or column
            steps, unit = found.records[:, sources.index(source)], units[sources.index(source)]
            if column in self.keys:
                rows[:, place] = steps == self.keys[column][1]
            else:
                rows[:, place] = (steps + (0.0 if unit == 1 else 0.5)) * float(unit)
        rows[found.records[:, 0] == ABSENT] = np.nan
        return rows


def bounds_of(schema: Schema) -> Mapping[str, Bound]:
    """The public bounds of the numeric columns that have them, by name, in the order of the schema."""
    numeric = {name: column for name, column in schema.columns.items() if not isinstance(column, Category)}
    found = {
        name: (Fraction(column.low), Fraction(column.high))
        for name, column in numeric.items()
        if column.low is not None and column.high is not None
    }
    return found


def _in_order(column: Category) -> tuple[Key, ...]:
    """The keys, sorted: they are all text, all integers or all truth values."""
    return tuple(sorted(column.among, key=lambda key: (str(key) if isinstance(key, str) else "", key)))


def named(handle: Handle) -> tuple[str, ...]:
    """The declared columns behind a handle: of the keys of a category its name, once."""
    shelf = handle.shelf
    assert isinstance(shelf, Columns)
    return tuple(dict.fromkeys(shelf.keys[one][0] if one in shelf.keys else one for one in handle.columns))


def xy(whole: Columns, columns: Sequence[str], y: str | None = None) -> tuple[Handle, Handle | None]:
    """Handles on some columns as X and on one as y, for the estimators of ``reticent.learning``. Nothing is read.

    Parameters
    ----------
    whole : Columns
        All columns of the study.
    columns : sequence of str
        Names of the features.
    y : str, optional
        Name of the target.

    Returns
    -------
    pair of Handle, and Handle or None

    Raises
    ------
    QuestionError
        For a column there is not, one without public bounds, a category of more than 100 keys, or a name that stands
        twice. Any, in a study with a weight.
    """
    refuse_weight(whole.schema.design, "A fit")
    if isinstance(columns, str) or not columns:
        raise QuestionError('X is a list of columns: study.xy(["age", "educ"], "affair")')
    columns = [whole.schema.canonical(column) for column in columns]
    y = None if y is None else whole.schema.canonical(y)
    names: list[str] = []
    keys: dict[str, tuple[str, int]] = {}
    for column in columns:
        declared = whole.schema.column(column)
        if isinstance(declared, Category):
            _few(column, declared)
            found = {f"{column}={key}": (column, place) for place, key in enumerate(declared.among)}
            names, keys = [*names, *found], {**keys, **found}
        else:
            names.append(column)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise QuestionError(f"{twice} would be a column of X twice")
    if y in names or y in columns:
        raise QuestionError(f"{y} is a column of X already")
    shelf = replace(whole, keys=MappingProxyType(keys))
    for column in names:
        shelf.bounds(column)
    if y is None:
        return Handle(tuple(names), shelf), None
    target = whole.schema.column(y)
    if isinstance(target, Category):
        _few(y, target)
    else:
        shelf.bounds(y)
    return Handle(tuple(names), shelf), Handle((y,), shelf)


def _few(name: str, column: Category) -> None:
    if len(column.among) > MOST_LABELS:
        raise QuestionError(f"{name} has more than {MOST_LABELS} keys: a model would have a column for each of them.")


__all__ = ["Columns", "bounds_of", "xy"]
