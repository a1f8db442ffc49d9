"""Sums over records of public integer vectors, with integer noise: what series, kernels and polynomials release.

    row --public cell--> its row of a table of integers --sum over records--> + integer noise

A row counts by its cell alone, so the sensitivity is a maximum over a finite table of integers, taken exactly
(``widest``). A rounding of the table, or an error in it, costs accuracy and never privacy.

Proof: docs/proofs/densities.md, Proposition 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import convert
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import exact, positive
from reticent.privacy.sensitivity import L1, L2

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNIT: Final = 1 << 16  # of a table: one
LARGEST: Final = 1 << 24  # entry of a table: sums over 2^38 rows stay inside int64
MOST_ENTRIES: Final = 1 << 23  # of a table
PAIRS: Final = 3 << 30  # entries compared for the exact widest pair: a few seconds; beyond, a bound
FIRST: Final = 8  # rows compared at first: one of the farthest pairs is often among them
CHUNK: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class DensityTerms:
    """The public circumstances of a release.

    Attributes
    ----------
    neighbours : Adjacency
    size : int or None
        A public number of records, >= 1, to divide by; None: it is private and comes out with its own noise.
    rows : int
        The most records one unit has, >= 1.
    fixed : bool
        Every unit has exactly one record with a value, in either table: substitution with a public ``size`` only.
    """

    neighbours: Adjacency
    size: int | None = None
    rows: int = 1
    fixed: bool = False

    def __post_init__(self) -> None:
        if self.neighbours.kind == "local":
            raise PublicParameterError("a data set is released from a table, not from answers of the local model")
        if not 1 <= self.rows <= self.neighbours.rows:
            raise PublicParameterError("a unit has at least one record, and at most one for each of its rows")
        if self.size is not None and (isinstance(self.size, bool) or self.size < 1):
            raise PublicParameterError(f"the public number of records must be >= 1, got {self.size}")
        if self.fixed and (self.neighbours.kind != "substitute" or self.rows > 1 or self.size is None):
            raise PublicParameterError("only under substitution has every unit exactly one record, of a public number")


@dataclass(frozen=True, eq=False, repr=False)
class LinearSums:
    """Sums over records of public integer vectors, one for each cell, with integer noise.

    Attributes
    ----------
    table : array of int64, shape (cells, coordinates)
    terms : Terms
    epsilon, delta : Fraction
        Geometric noise at delta = 0, discrete Gaussian noise above.

    Guarantee
    ---------
    epsilon, pure, by ``mechanisms.Geometric``; with delta > 0, (epsilon, delta) by ``mechanisms.Gaussian`` and the
    conversion of zCDP. The sensitivity is that of docs/proofs/densities.md, Proposition 1, exact for ``table``.
    """

    table: Integers
    terms: DensityTerms
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if not 0 <= exact(self.delta, "delta") < 1:
            raise PublicParameterError("delta must be 0, or lie between 0 and 1")
        if self.table.dtype != np.int64 or self.table.ndim != 2 or not self.table.any():
            raise PublicParameterError("a table holds int64, a row for each cell, and not only zeros")
        if np.abs(self.table).max() > LARGEST or self.table.size > MOST_ENTRIES:
            raise PublicParameterError(f"a table has at most {MOST_ENTRIES:,} entries, each at most {LARGEST:,}")
        fixed = self.table.copy()
        fixed.setflags(write=False)
        object.__setattr__(self, "table", fixed)

    @cached_property
    def moved(self) -> int:
        """The L1 sensitivity in integers, or the square of the L2 one where delta > 0."""
        power: Literal[1, 2] = 2 if self.delta else 1
        if self.terms.neighbours.kind == "add_remove":
            most = longest(self.table, power)
        else:
            most = widest(self.table, power, origin=not self.terms.fixed)
        return most * int(self.terms.rows**power)

    @cached_property
    def mechanism(self) -> Geometric | Gaussian:
        """One draw of all coordinates."""
        bound = Fraction(max(self.moved, 1))
        if not self.delta:
            return Geometric(L1(bound, self.terms.neighbours), self.epsilon)
        return Gaussian(L2(bound, self.terms.neighbours), convert.rho_for(self.epsilon, self.delta))

    @property
    def guarantee(self) -> Guarantee:
        own = self.mechanism.guarantee
        return own if not self.delta else convert.as_approx(own, self.delta)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of one sum, in integers."""
        match self.mechanism:
            case Geometric() as mechanism:
                ratio = math.exp(-1.0 / float(mechanism.scale))
                return math.sqrt(2.0 * ratio) / (1.0 - ratio)
            case Gaussian() as mechanism:
                return math.sqrt(float(mechanism.variance))
            case _:
                assert_never(self.mechanism)

    def draw(self, counts: Integers, entropy: Entropy) -> Floats:
        """The noisy sums where ``counts`` records lie in each cell."""
        drawn = gate.draw(self.mechanism, tuple((counts @ self.table).tolist()), entropy)
        return np.array(drawn, np.float64)


def longest(table: Integers, power: Literal[1, 2]) -> int:
    """The greatest sum of |entry|^power over a row of the table."""
    if int(np.abs(table).max()) ** power * table.shape[1] >= 1 << 63:
        raise PublicParameterError("the table is too large for the lengths of its rows to be exact")
    sizes = np.abs(table)
    return int((sizes if power == 1 else sizes * sizes).sum(axis=1).max())


def widest(table: Integers, power: Literal[1, 2], *, origin: bool) -> int:
    """The greatest sum of |difference|^power between two rows of the table, and the row of zeros if ``origin``.

    With sizes s of rows as in ``_sizes`` no pair is farther apart than s + s'. Rows are taken in falling order, and the
    search ends where no pair that is left can be farther apart than one that was found. Exact up to ``PAIRS`` entries
    that are compared; beyond, the greatest s + s' that is left, which is no less. Numbers are integers below 2^53
    throughout, where doubles are exact.

    Parameters
    ----------
    table : array of shape (rows, numbers), int
    power : 1 or 2
    origin : bool
        True if a row of zeros is compared too.

    Returns
    -------
    int

    Raises
    ------
    PublicParameterError
        A table whose distances 64-bit sums do not hold.
    """
    rows = np.vstack([table, np.zeros_like(table[:1])]) if origin else table
    low = rows.min(axis=0)
    moved = rows - low  # distances stay, and numbers are as small as they can be
    if int(2**power) * longest(moved, power) >= 1 << 53:
        raise PublicParameterError("the table is too large for its distances to be exact")
    sizes = _sizes(moved, -low, power)
    order = np.argsort(-sizes, kind="stable")
    values, sizes = moved[order].astype(np.float64), sizes[order]
    best = first = compared = 0
    size = FIRST
    while first + 1 < len(values) and sizes[first] + sizes[first + 1] > best:
        stop = int(np.searchsorted(-sizes, sizes[first] - best, side="left"))  # beyond, s + s' is at most the best
        compared += size * (stop - first) * values.shape[1]
        if compared > PAIRS:
            return max(best, int(sizes[first] + sizes[first + 1]))
        best = max(best, int(_apart(values[first : first + size], values[first:stop], power).max()))
        first += size
        size = max(min(2 * size, CHUNK // len(values)), 1)
    return best


def _sizes(rows: Integers, centre: Integers, power: Literal[1, 2]) -> Integers:
    """Whole numbers s, one for each row of entries >= 0, such that |a - b|^power sums to at most s_a + s_b.

    Of those that are known the ones whose greatest is least. First, |a - b| <= max(a, b), so sums of a^power will do.
    Second, with any point c, |a - b| <= |a - c| + |c - b|, and for squares (x + y)^2 <= 2 x^2 + 2 y^2: here the middle
    of each column, and the given centre as far as it lies among the rows.
    """
    most = rows.max(axis=0)
    known: list[Integers] = [(rows**power).sum(axis=1)]
    for point in (most // 2, np.clip(centre, 0, most)):
        known.append(power * (np.abs(rows - point) ** power).sum(axis=1))
    return min(known, key=lambda sizes: int(sizes.max()))


def _apart(some: Floats, others: Floats, power: Literal[1, 2]) -> Floats:
    """Distances of rows, in L1 or squared in L2: shape (some, others)."""
    if power == 1:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(some, others, "cityblock"), np.float64)
    return np.asarray((some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2.0 * (some @ others.T), np.float64)
