"""Private rows as estimators meet them: a handle that names columns and never shows them, or arrays a caller holds.

    Shelf      who keeps the rows: bounds, neighbours, the ledger, and the one way to read, after the charge
    Handle     columns of a shelf; ``study.xy`` makes two of them
    Public     rows, or a target, the caller says are public: scored without a charge where both are

A handle has no length, no values and no array; whatever would need one says so. A category is one column for each of
its keys, 1 where a row has that key and 0 elsewhere: a row has exactly one 1 among them, which bounds its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Generic, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.snapshot import EarlierShares
from reticent.data.schema import Column, Key
from reticent.errors import QuestionError, first_of
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.scaling import Bound, Floats, Integers

T = TypeVar("T")
LENGTH: Final = "Its length is a statistic: study.release([rt.count()], epsilon=…)."
OURS: Final = (
    "scikit-learn's own searches, splitters and resamplers count rows and look at labels. Take "
    "cross_val_score(model, X, y, cv=folds(5)) or GridSearchCV of reticent.learning. Nothing was charged."
)


class Shelf(Protocol):
    """Holder of private rows. All but ``read`` is public and reads nothing."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def neighbours(self) -> Adjacency: ...

    @property
    def steps(self) -> int:
        """Steps of one person's rows, in ``neighbours``, that two tables of the ledger are apart."""
        ...

    def lifted(self, guarantee: Guarantee) -> Guarantee:
        """A guarantee for one step, for the neighbours of the ledger."""
        ...

    @property
    def lift_words(self) -> str:
        """The reason for several steps, in a sentence; empty for one."""
        ...

    @property
    def people(self) -> int | None:
        """The public number of rows, where there is one: of the table under substitution, else the declared one."""
        ...

    def rows_of(self, people: int | None) -> int:
        """Rows that so many people have, as plans suppose; without a number, of those declared, else of 10,000."""
        ...

    def canonical(self, column: str) -> str:
        """A column by its full name, where a further table has it."""
        ...

    def bounds(self, column: str) -> Bound:
        """The public bounds of a numeric column, or a refusal that tells how to declare them."""
        ...

    def labels(self, column: str) -> tuple[Key, ...]:
        """The values an integer column may have by its declared bounds, or a category by its keys, in order."""
        ...

    def named(self, column: str, numbers: Floats) -> NDArray[np.generic]:
        """Labels of a category, or ``numbers`` of another column; None if missing."""
        ...

    def unit_word(self, column: str) -> str:
        """The declared unit of a column, or its name."""
        ...

    def category(self, column: str) -> str | None:
        """The category that this column is one key of, if it is."""
        ...

    def complete(self, columns: Sequence[str]) -> bool:
        """Tell if it is public that no row lacks one of these columns."""
        ...

    def ready(self, columns: Sequence[str], of_row: tuple[float, int]) -> None:
        """Refuse, before the charge, columns that cannot be read so, and a source that lacks one or has changed.

        So are rows that cannot fit. ``of_row``: seconds that a fit takes of one, and bytes beside its cells.
        """
        ...

    def read(self, columns: Sequence[str]) -> Floats:
        """Rows of shape (n, columns), NaN throughout where a value is missing or no key. Only after the charge."""
        ...

    def owned(self, columns: Sequence[str]) -> tuple[Floats, Integers]:
        """Rows as ``read`` gives them, and a number for the person of each, in any order. Only after the charge."""
        ...

    @property
    def source(self) -> str:
        """The name of the file the rows are in, without its folder; "in memory" where there is none."""
        ...

    def declared(self, columns: Sequence[str]) -> Mapping[str, Column]:
        """The declared columns behind these, as a certificate states them."""
        ...

    @property
    def where(self) -> str:
        """The text of the condition that chose the rows; empty where all count."""
        ...

    @property
    def tables(self) -> tuple[str, ...]:
        """Further tables that stand beside the rows, one line each."""
        ...

    @property
    def protected(self) -> tuple[str, str]:
        """The word for what is protected, and who is kept of a household; empty of a person."""
        ...

    def vouched(self, column: str) -> bool:
        """Tell if the curator vouches that every value of the column is a declared one."""
        ...

    def listed(self, column: str, labels: Sequence[object]) -> bool:
        """Tell if every cell of the column that can be read has one of these labels, by what is declared."""
        ...

    def lacking(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The declared columns of which a row can lack a value, among those behind these, in the order of the study."""
        ...

    def known(self) -> EarlierShares:
        """Shares of incomplete rows that earlier releases told of the declared snapshot."""
        ...


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Handle:
    """Columns of a shelf. ``within`` narrows the declared bounds, column by column."""

    columns: tuple[str, ...]
    shelf: Shelf
    within: tuple[Bound, ...] | None = None

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return self.within or tuple(self.shelf.bounds(column) for column in self.columns)

    @property
    def choices(self) -> tuple[int, int]:
        """Columns that are keys of a category, as 0 or 1, and how many categories: a row has a 1 for each of these."""
        plain = (Fraction(0), Fraction(1))
        of = {name: self.shelf.category(name) for name in self.columns}
        moved = {of[name] for name, bound in zip(self.columns, self.bounds, strict=True) if bound != plain}
        keys = [category for category in of.values() if category is not None and category not in moved]
        return len(keys), len(set(keys))

    def clipped(self, bounds: tuple[Bound, ...]) -> Handle:
        """The same columns, moved to the nearer of other public bounds when they are read."""
        if len(bounds) != len(self.columns):
            raise QuestionError(f"{len(self.columns)} columns need as many pairs of bounds")
        return replace(self, within=bounds)

    def __repr__(self) -> str:
        return f"<a handle on private rows: {first_of(self.columns)}>"

    def _refuse(self, *_: object) -> NoReturn:
        raise QuestionError(f"X is a handle on private rows. {LENGTH} {OURS}")

    __len__ = __iter__ = __contains__ = __getitem__ = __array__ = __float__ = __int__ = __reduce__ = _refuse

    def __bool__(self) -> bool:
        return True

    def __copy__(self) -> Handle:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Handle:
        return self


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PublicRows(Generic[T]):
    """Rows, or a target, the caller knows to be public."""

    rows: T

    def __repr__(self) -> str:
        return "<public rows>"


def public(rows: T) -> PublicRows[T]:
    """Rows, or a target, you know to be public: ``score(public(X), public(y))`` is no release and costs nothing."""
    return PublicRows(rows)


__all__ = ["OURS", "Handle", "PublicRows", "Shelf", "public"]
