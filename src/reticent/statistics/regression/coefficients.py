"""Input and output of every regression: its public design, and coefficients with intervals.

    RegressionDesign  columns, units, neighbours, the public number of rows: all that is known before rows are read
    Coefficients      an estimate for each coefficient, in units of the columns, and in words what they are estimates of

Rows are int64 of shape (n, 1 + p), y first, each value in its column's unit. An incomplete row has ``ABSENT`` as its
first entry, or is all zeros if the design says so. It counts as a row and contributes to no estimate.

Every row is converted by itself, so neighbours stay neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.outcome import Estimate
from reticent.privacy.numbers import positive
from reticent.statistics.regression.blocks import permutation, uniforms
from reticent.statistics.regression.rows import MOST_COLUMNS, Integers, RegressionRows, rows
from reticent.statistics.unbounded.column_counts import ColumnTerms

Floats: TypeAlias = NDArray[np.float64]
Blank: TypeAlias = Literal["zeros", "marked"]

FARTHEST: Final = 1 << 50  # values beyond it count as it
CONSTANT: Final = 256  # what stands for 1 in the column of the intercept
PLACES: Final = 14
INTERCEPT: Final = "intercept"


@dataclass(frozen=True, slots=True)
class Coefficients:
    """An estimate for each coefficient, in units of y per unit of its column, by name; the intercept first if any."""

    names: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    words: str

    def __post_init__(self) -> None:
        if len(self.names) != len(self.estimates) or not self.names:
            raise PublicParameterError("one estimate for each coefficient")

    def __getitem__(self, name: str) -> Estimate:
        return self.estimates[self.names.index(name)]


@dataclass(frozen=True, slots=True)
class RegressionDesign:
    """The public side of a regression of one column on others.

    Attributes
    ----------
    y, xs : str, tuple of str
        Names of the columns.
    units : tuple of Fraction
        What one step of each column is worth, y first, > 0.
    terms : Terms
        Neighbours, and the number of rows where it is public.
    size : int
        Rows to plan for, >= 1: ``terms.values`` where it is public, else a number declared or bought before.
    intercept : bool
        Whether a constant column is put before the others.
    blank : "zeros" | "marked"
        Whether a row of zeros throughout is one that lacks a value as well, besides those marked ``ABSENT``.
    """

    y: str
    xs: tuple[str, ...]
    units: tuple[Fraction, ...]
    terms: ColumnTerms
    size: int
    intercept: bool = True
    blank: Blank = "marked"

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) <= MOST_COLUMNS or len(set(self.names)) < len(self.names):
            raise PublicParameterError(f"a regression has 1 to {MOST_COLUMNS} different coefficients")
        if len(self.units) != 1 + len(self.xs):
            raise PublicParameterError("one unit for each column, that of y first")
        for unit, name in zip(self.units, (self.y, *self.xs), strict=True):
            positive(unit, f"the unit of {name}")
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise PublicParameterError(f"the number of rows must be an integer >= 1, got {self.size}")
        if self.terms.values not in (None, self.size):
            raise PublicParameterError(f"n is public and {self.terms.values}, not {self.size}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients, the intercept first."""
        return (INTERCEPT, *self.xs) if self.intercept else self.xs

    @property
    def scales(self) -> tuple[float, ...]:
        """Units of the columns per step of each coefficient, in the order of ``names``."""
        own = [float(self.units[0] / unit) for unit in self.units[1:]]
        return (float(self.units[0]) * CONSTANT, *own) if self.intercept else tuple(own)

    @property
    def dealt(self) -> int:
        """Blocks that one neighbour's rows can change, where every row is in one block."""
        return 1 if self.terms.values is not None else self.terms.steps

    def held(self, table: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """The rows within +-FARTHEST, and which of them lack nothing."""
        if table.dtype != np.int64 or table.ndim != 2 or table.shape[1] != 1 + len(self.xs):
            raise PublicParameterError(f"a regression takes int64 rows of {1 + len(self.xs)} values")
        if self.terms.values is not None and len(table) != self.terms.values:
            raise PublicParameterError(f"n is public and {self.terms.values}, but there are {len(table)} rows")
        there = table[:, 0] != ABSENT
        if self.blank == "zeros":
            there &= (table != 0).any(axis=1)
        return np.clip(table, -FARTHEST, FARTHEST), there

    def exact(self, table: Integers, places: int) -> RegressionRows:
        """The rows with their constant, for exact arithmetic; rows that lack a value have x = 0 and weigh nothing."""
        kept, there = self.held(table)
        kept = np.where(there[:, None], kept, 0)
        x = kept[:, 1:]
        if self.intercept:
            x = np.column_stack([np.where(there, CONSTANT, 0), x])
        return rows(np.ascontiguousarray(kept[:, 0]), np.ascontiguousarray(x), places=places)

    def labels(self, n: int, count: int, entropy: Entropy) -> Integers:
        """A block in [0, count) for each of n rows, by coins that do not look at them.

        Where n is public rows are dealt out in a random order; else every row throws a coin of its own
        (docs/proofs/regression.md, Theorem 8).

        Parameters
        ----------
        n, count : int
            Number of rows, and of blocks.
        entropy : Entropy

        Returns
        -------
        array of shape (n,), int
        """
        if self.terms.values is not None:
            return (permutation(n, entropy) % count).astype(np.int64)
        return uniforms(count, n, entropy)
