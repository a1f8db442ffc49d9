"""Adjacency and noisy number of values, with which every statistic of this package begins.

Values are counted in two numbers: those up to the CROWD-th of their cell, and those beyond it. A row added or removed
changes one of the two by one, so both cost as much as the number of values alone. A replaced row costs twice that. Then
the first number counts all values once more, which halves the noise of their number (docs/proofs/unbounded.md,
section 3). The second number detects atoms. Values that merely share a cell of the public prior, a millionth of their
size wide, are no atom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.data.query_result import Counts
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import L1
from reticent.statistics.quantiles.group_size import BETA, GroupSize, size_of, unsure, values_and_ties
from reticent.statistics.quantiles.shapes import TIED

CROWD: Final = 8
ROW: Final = Adjacency("add_remove", unit="row")  # what parts of a partition are proved for


@dataclass(frozen=True, slots=True)
class ColumnTerms:
    """Public facts of a table: the adjacency, and the number of values if it is public.

    ``most`` bounds the values of one person, by default one for each row. ``alike`` is the number of values that the
    sampling error takes for equal: all of one person, by default. ``values`` needs substitution: else n is private.
    """

    neighbours: Adjacency
    values: int | None = None
    most: int | None = None
    alike: int | None = None

    def __post_init__(self) -> None:
        if self.neighbours.kind == "local":
            raise PublicParameterError("these statistics are of a table, about a person or a row")
        if not 1 <= self.rows <= self.neighbours.rows or self.together < 1:
            raise PublicParameterError("a person has at least one value, and at most one for each of their rows")
        if self.values is not None and (self.values < 0 or self.neighbours.kind != "substitute" or self.rows > 1):
            raise PublicParameterError("the number of values is public only where each person has one and is replaced")

    @property
    def rows(self) -> int:
        """The most values one person has."""
        return self.neighbours.rows if self.most is None else self.most

    @property
    def together(self) -> int:
        """Number of values that the sampling error takes for equal: by default all of one person, the worst case."""
        return self.rows if self.alike is None else self.alike

    @property
    def replaced(self) -> bool:
        """True if neighbours replace rows, so that their number stays the same."""
        return self.neighbours.kind == "substitute"

    @property
    def steps(self) -> int:
        """Rows added or removed between neighbours."""
        return self.rows * (2 if self.replaced else 1)


@dataclass(frozen=True, slots=True)
class Census:
    """Noisy number of values and detection of ties, for ``epsilon``."""

    terms: ColumnTerms
    epsilon: Fraction

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")

    @property
    def mechanism(self) -> Geometric:
        """Mechanism of both numbers; if n is public, of the ties alone, which a replaced row moves by at most one."""
        steps = self.terms.steps if self.terms.values is None else self.terms.rows
        return Geometric(L1(Fraction(steps), self.terms.neighbours), self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    def draw(self, data: Counts, entropy: Entropy) -> GroupSize:
        """Draw the number of values and the verdict on ties."""
        mechanism, replaced = self.mechanism, self.terms.replaced
        held = values_and_ties(data, CROWD, replaced=replaced)
        if self.terms.values is not None:
            (more,) = gate.draw(mechanism, held[1:], entropy)
            n = float(self.terms.values)
            return GroupSize(n, more > max(mechanism.radius(0.02), TIED * n), n)
        return size_of(gate.draw(mechanism, held, entropy), mechanism, replaced=replaced)


def supposed(census: Census | None, n: float) -> GroupSize:
    """Size that a plan assumes for ``n`` values: noise at its mean, and no ties."""
    if census is None or census.terms.values is not None:
        return GroupSize(n, False, n)
    return GroupSize(n, False, n - unsure(census.mechanism, replaced=census.terms.replaced))


def against_prior(share: float, odds: float = 1.0 / BETA) -> float:
    """Log weight by which candidates of this prior share outweigh all others at these odds."""
    return math.log(odds) - math.log(share)
