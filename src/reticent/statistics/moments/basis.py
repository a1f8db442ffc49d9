"""Moments from soft counts: the count, the mean and the higher moments of a bounded column for one epsilon.

Let y in [-1, 1] be the value about the middle of its bounds, t = (1 + y) / 2. A row adds to K + 1 integers:

    soft     B_i += C(K, i) t^i (1 - t)^(K - i)        they sum to 1, so a row moves the vector by 1 in L1
    plain    (c/4, y/2, y^2/4)                         replacing one row by another moves it by at most 1 in L1

The moments sum y^j are linear in either vector. So one geometric mechanism with the whole epsilon releases all of
them, and epsilon need not be split between count, first and second moment. Soft counts serve add/remove and groups,
plain ones substitution. Proofs, the comparison with a split, and the orders 3 and 4: docs/theory/intervals.md.

Everything here is exact rational arithmetic on public numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, lcm
from typing import Final, Literal, TypeAlias

from reticent.data.query import POWER_ONE
from reticent.data.schema import FixedPointGrid

UNIT: Final = 1 << 20  # a soft count of one row is this many integer steps

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]
Kind: TypeAlias = Literal["soft", "plain", "sized"]  # sized: plain, and the number of values is public

ONE, HALF = Fraction(1), Fraction(1, 2)
PLAIN: Final[dict[int, tuple[Fraction, ...]]] = {
    1: (HALF, HALF),
    2: (Fraction(1, 4), HALF, Fraction(1, 4)),
    4: (HALF, HALF, ONE, Fraction(1, 8), Fraction(1, 4)),
}


@dataclass(frozen=True, slots=True)
class MomentBasis:
    """Linear map from sums of powers to the protected integers, and its inverse.

    Attributes
    ----------
    forward : matrix
        Released integer i is ``UNIT * sum_j forward[i][j] P_j``, rounded, with P_j the query's sums as rationals.
    back : matrix
        Sum of y^j is ``sum_i back[j][i] * released_i / UNIT``.
    change : Fraction
        The most one row can move ``forward @ P`` in L1: a row added or removed, or (``plain``) also replaced.
    """

    order: int
    forward: Matrix
    back: Matrix
    change: Fraction
    reach: int

    def sensitivity(self, rows: int, groups: int) -> Fraction:
        """L1 sensitivity of the released integers when ``rows`` rows move in at most ``groups`` groups.

        Each integer is rounded once, after summing, which adds at most 1 for every integer that can change.
        """
        return Fraction((UNIT * self.change * rows).__ceil__() + (self.order + 1) * groups)

    def integers(self, groups: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """The integers to protect, from ``Moments`` of each group: (count, first, second, ...)."""
        units = [ONE, Fraction(1, self.reach), *[Fraction(1, POWER_ONE)] * (self.order - 1)]
        rows = [_whole([UNIT * w * unit for w, unit in zip(row, units, strict=True)]) for row in self.forward]
        return [  # (2 a + b) // 2 b is a / b, rounded with halves up
            tuple((2 * _dot(row, sums) + over) // (2 * over) for row, over in rows) for sums in groups
        ]

    def moments(self, groups: Sequence[Sequence[int]]) -> list[tuple[float, ...]]:
        """Noisy sums of y^0, y^1, ... of each group, from its released integers."""
        rows = [_whole([w / UNIT for w in row]) for row in self.back]
        return [tuple(_dot(row, released) / over for row, over in rows) for released in groups]


def _whole(row: Sequence[Fraction]) -> tuple[tuple[int, ...], int]:
    """The row as integers over one denominator: exact sums of many groups then need no fractions."""
    over = lcm(*(w.denominator for w in row))
    return tuple(w.numerator * (over // w.denominator) for w in row), over


def _dot(row: Sequence[int], numbers: Sequence[int]) -> int:
    return sum(w * number for w, number in zip(row, numbers, strict=True))


@lru_cache(maxsize=256)
def design(kind: Kind, order: int, grid: FixedPointGrid) -> MomentBasis:
    """The design of one column and order, from its public grid.

    Parameters
    ----------
    kind : Kind
        Which integers of a row are summed: "plain", "sized" or "soft".
    order : int
        Highest power, 1 to 4.
    grid : FixedPointGrid
        Public bounds and steps of the column.

    Returns
    -------
    MomentBasis
        Table of the integers, with their sensitivities.
    """
    width = grid.highest - grid.lowest
    # y = shift + stretch x, where x is the grid value less the middle, divided by the reach, as the query has it
    shift, stretch = Fraction(2 * grid.middle - grid.lowest - grid.highest, width), Fraction(2 * grid.reach, width)
    powers = _affine(order, shift, stretch)
    basis, back = _soft(order) if kind == "soft" else _plain(PLAIN[order])
    forward = _product(basis, powers)
    # A power above the first is rounded by at most one unit 1 / POWER_ONE in each row, and two rows may be replaced.
    slips = sum((abs(row[j]) for row in forward for j in range(2, order + 1)), Fraction(0))
    weights = PLAIN[order]
    change = ONE if kind == "soft" else plain_change(weights if kind == "plain" else (Fraction(0), *weights[1:]))
    return MomentBasis(order, forward, back, change + 2 * slips / POWER_ONE, grid.reach)


def plain_change(weights: Sequence[Fraction]) -> Fraction:
    """The most one row changes (w0 c, w1 y, w2 y^2, ...) in L1, replaced by another or by a missing one.

    Replaced: |y - y'| w1 + |y^2 - y'^2| w2 <= max over s in [-1, 1] of (1 + s) w1 + (1 - s^2) w2, reached between
    y = 1 and y' = -s; powers 3 and 4 are bounded by 2 w3 + w4. Added or removed: at most the sum of the weights.
    """
    w0, w1 = weights[0], weights[1]
    w2 = weights[2] if len(weights) > 2 else Fraction(0)
    top = min(ONE, w1 / (2 * w2)) if w2 else ONE
    pair = (1 + top) * w1 + (1 - top * top) * w2
    higher = sum((w * (2 if j % 2 else 1) for j, w in enumerate(weights) if j > 2), Fraction(0))
    return max(pair + higher, sum(weights, Fraction(0)) if w0 else Fraction(0))


def _affine(order: int, shift: Fraction, stretch: Fraction) -> Matrix:
    """y^j = sum_m row_j[m] x^m."""
    return tuple(
        tuple(comb(j, m) * shift ** (j - m) * stretch**m if m <= j else Fraction(0) for m in range(order + 1))
        for j in range(order + 1)
    )


def _soft(order: int) -> tuple[Matrix, Matrix]:
    """Bernstein polynomials of t = (1 + y) / 2 in powers of y, and powers of y in Bernstein polynomials."""
    ups = [_power((HALF, HALF), i) for i in range(order + 1)]
    downs = [_power((HALF, -HALF), i) for i in range(order + 1)]
    basis = tuple(
        tuple(comb(order, i) * c for c in _padded(_times(ups[i], downs[order - i]), order)) for i in range(order + 1)
    )
    # t^m = sum_i C(i, m) / C(order, m) b_i and y^j = (2 t - 1)^j
    back = tuple(
        tuple(
            sum(
                (Fraction(comb(j, m) * 2**m * (-1) ** (j - m) * comb(i, m), comb(order, m)) for m in range(j + 1)),
                Fraction(0),
            )
            for i in range(order + 1)
        )
        for j in range(order + 1)
    )
    return basis, back


def _plain(weights: Sequence[Fraction]) -> tuple[Matrix, Matrix]:
    size = range(len(weights))
    return (
        tuple(tuple(weights[i] if i == j else Fraction(0) for j in size) for i in size),
        tuple(tuple(1 / weights[i] if i == j else Fraction(0) for j in size) for i in size),
    )


def _product(left: Matrix, right: Matrix) -> Matrix:
    columns = list(zip(*right, strict=True))
    return tuple(
        tuple(sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns) for row in left
    )


def _times(left: Sequence[Fraction], right: Sequence[Fraction]) -> tuple[Fraction, ...]:
    found = [Fraction(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            found[i + j] += a * b
    return tuple(found)


def _power(factor: tuple[Fraction, ...], times: int) -> tuple[Fraction, ...]:
    found: tuple[Fraction, ...] = (ONE,)
    for _ in range(times):
        found = _times(found, factor)
    return found


def _padded(row: Sequence[Fraction], order: int) -> tuple[Fraction, ...]:
    return (*row, *[Fraction(0)] * (order + 1 - len(row)))
