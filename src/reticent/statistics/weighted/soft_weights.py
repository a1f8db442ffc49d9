"""Weighted moments from soft counts: weights, their squares and moments of a bounded column for one epsilon.

Let v in [0, 1] be the weight of a row as a part of the largest one, and y in [-1, 1] its value about the middle of its
bounds, t = (1 + y) / 2. A row adds to 3 (K + 1) integers:

    B_ki += C(2, k) v^k (1 - v)^(2 - k)  C(K, i) t^i (1 - t)^(K - i)        k = 0, 1, 2

All are at least 0 and sum to 1, so a row moves the vector by 1 in L1, whatever its weight. The sums of v^a y^j, a <= 2,
are linear in it: number of rows, weights, squares of weights, each with the moments of y. So one geometric mechanism
with the whole epsilon releases a weighted mean and all that its interval needs. Proof: docs/proofs/weights.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from reticent.data.query import PARTS, POWER_ONE, WEIGHT_ONE
from reticent.data.schema import FixedPointGrid
from reticent.statistics.moments.moment_step import HALF, ONE, UNIT, Matrix, MomentBasis, design

Form: TypeAlias = Mapping[tuple[int, int], float]  # of sums of v^a y^j, by (a, j)

OF_WEIGHTS: Final[Matrix] = ((ONE, ONE, ONE), (Fraction(0), HALF, ONE), (Fraction(0), Fraction(0), ONE))
SHARE: Final[MomentBasis] = MomentBasis(1, ((ONE, Fraction(0)), (Fraction(0), ONE)), ((ONE, ONE), (-ONE, ONE)), ONE, 1)
ALONE: Final[MomentBasis] = MomentBasis(0, ((ONE,),), ((ONE,),), ONE, 1)


@dataclass(frozen=True, slots=True)
class WeightDesign:
    """Linear map from weighted sums of powers to the protected integers, and its inverse.

    ``values`` is the map of one part of the weights: soft counts of a column; ``SHARE`` of a value and all others;
    ``ALONE`` of the weights by themselves.
    """

    values: MomentBasis

    @property
    def width(self) -> int:
        """The number of integers of one part of the weights."""
        return self.values.order + 1

    @property
    def is_counted(self) -> bool:
        """True if the integers are weights as they are, so that none is rounded."""
        return self.values in (SHARE, ALONE)

    def sensitivity(self, rows: int, groups: int) -> Fraction:
        """L1 sensitivity of the released integers when ``rows`` rows move in at most ``groups`` groups.

        Each integer is rounded once, after summing, which adds at most 1 for every integer that can change.
        """
        rounded = 0 if self.is_counted else PARTS * self.width * groups
        return Fraction((UNIT * self.values.change * rows).__ceil__() + rounded)

    def integers(self, sums: Sequence[int]) -> tuple[int, ...]:
        """The integers to protect, from ``WeightedMoments`` of one group."""
        if self.is_counted:
            return tuple(sums)
        return tuple(
            (UNIT * sum((w * p for w, p in zip(row, powers, strict=True)), Fraction(0)) + HALF).__floor__()
            for powers in map(self._powers, _parted(sums, self.width))
            for row in self.values.forward
        )

    def _powers(self, sums: Sequence[int]) -> list[Fraction]:
        units = (1, self.values.reach, *(POWER_ONE for _ in range(2, self.width)))
        return [Fraction(value, WEIGHT_ONE * unit) for value, unit in zip(sums, units, strict=False)]

    def coefficients(self, form: Form) -> list[float]:
        """The weight of each released integer in the linear form ``sum form[a, j] (sum of v^a y^j)``."""
        return [
            sum(w * float(OF_WEIGHTS[a][k] * self.values.back[j][i]) for (a, j), w in form.items()) / UNIT
            for k in range(PARTS)
            for i in range(self.width)
        ]

    def sums(self, released: Sequence[int]) -> dict[tuple[int, int], float]:
        """Noisy sums of v^a y^j, from the released integers."""
        parts = _parted(released, self.width)
        return {
            (a, j): float(
                sum((OF_WEIGHTS[a][k] * value * self.values.back[j][i] for k, part in enumerate(parts)
                     for i, value in enumerate(part)), Fraction(0)) / UNIT
            )
            for a in range(PARTS)
            for j in range(self.width)
        }  # fmt: skip


def _parted(numbers: Sequence[int], width: int) -> list[Sequence[int]]:
    return [numbers[start : start + width] for start in range(0, PARTS * width, width)]


def weight_design(order: int, grid: FixedPointGrid) -> WeightDesign:
    """The design of a column on a public grid, with moments up to ``order``."""
    assert UNIT == WEIGHT_ONE
    return WeightDesign(design("soft", order, grid))
