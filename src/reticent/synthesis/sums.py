"""Sums over records of public integer vectors, with integer noise: what series, kernels and polynomials release.

    row --public cell--> its row of a table of integers --sum over records--> + integer noise

A row counts by its cell alone, so the sensitivity is a maximum over a finite table of integers, taken exactly
(``widest``); a rounding of the table, or an error in it, costs accuracy and never privacy.

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
from reticent.mechanisms import Gaussian, Geometric, gate
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
CHUNK: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Terms:
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
class Sums:
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
    terms: Terms
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
    return int((np.abs(table) ** power).sum(axis=1).max())


def widest(table: Integers, power: Literal[1, 2], *, origin: bool) -> int:
    """The greatest sum of |difference|^power between two rows of the table, and the row of zeros if ``origin``.

    Exact up to ``PAIRS`` entries to compare; beyond, twice the greatest distance from one of two integer points, which
    is no less. Numbers are integers below 2^53 throughout, where doubles are exact.
    """
    rows = np.unique(np.vstack([table, np.zeros_like(table[:1])]) if origin else table, axis=0)
    moved = rows - rows.min(axis=0)  # distances stay, and numbers are as small as they can be
    if int(2**power) * longest(moved, power) >= 1 << 53:
        raise PublicParameterError("the table is too large for its distances to be exact")
    if len(rows) ** 2 * rows.shape[1] > PAIRS:
        middle = (rows.max(axis=0) + rows.min(axis=0)) // 2
        return int(2**power) * min(longest(rows - middle, power), longest(rows, power))
    from scipy.spatial.distance import cdist

    values, best = moved.astype(np.float64), 0.0
    lengths = (values**2).sum(axis=1)
    size = max(CHUNK // len(rows), 1)
    for first in range(0, len(rows), size):
        part, rest = values[first : first + size], values[first:]
        if power == 1:
            found = cdist(part, rest, "cityblock")
        else:
            found = lengths[first : first + size, None] + lengths[None, first:] - 2.0 * (part @ rest.T)
        best = max(best, float(found.max()))
    return int(best)
