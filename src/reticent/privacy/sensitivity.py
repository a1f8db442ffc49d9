"""Sensitivity: the largest change of an answer between neighbours.

``L1`` and ``L2`` bound the norm of the change of a vector of numbers. ``Linf`` bounds the change of a score at each
candidate, and ``Spread`` how far the changes at two candidates can be apart. ``L2`` keeps the square, which is
rational where the norm is not.

Source: 004 Definition 2.2 (L1); 002 section 4; for L2, Bun and Steinke 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from reticent.privacy.adjacency import Adjacency
from reticent.privacy.numbers import positive


@dataclass(frozen=True, slots=True)
class L1:
    """``max ||f(D) - f(D')||_1`` over neighbours; ``bound`` > 0 in units of the answer."""

    bound: Fraction
    adjacency: Adjacency

    def __post_init__(self) -> None:
        positive(self.bound, "sensitivity")


@dataclass(frozen=True, slots=True)
class L2:
    """``max ||f(D) - f(D')||_2^2`` over neighbours; ``squared`` > 0 in squared units of the answer."""

    squared: Fraction
    adjacency: Adjacency

    def __post_init__(self) -> None:
        positive(self.squared, "squared sensitivity")


@dataclass(frozen=True, slots=True)
class Linf:
    """``max_c |score(D, c) - score(D', c)|`` over neighbours and candidates; ``bound`` > 0."""

    bound: Fraction
    adjacency: Adjacency

    def __post_init__(self) -> None:
        positive(self.bound, "sensitivity")


@dataclass(frozen=True, slots=True)
class Spread:
    """``max_c d(c) - min_c d(c)``, ``d(c) = score(D, c) - score(D', c)``; ``bound`` > 0, at most twice ``Linf``."""

    bound: Fraction
    adjacency: Adjacency

    def __post_init__(self) -> None:
        positive(self.bound, "sensitivity")
