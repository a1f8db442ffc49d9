"""Widths between two order statistics: their cells and bins on a logarithmic grid, and how far k changes can move them.

    LogGrid    cell(w) = floor(binade log2 w), certified; bins are runs of ``span`` cells; 0 and infinity are their own
    Reach      the least and the greatest width after k changed rows, in both directions
    leave      A0: the first k whose reach leaves a bin
    spread     F: the first k whose reach is wider than a bin, wherever the bins begin

Source. 003 section 4 (the query Q0). Proofs: docs/proofs/robust.md, sections 1 and 2.

Deviations. 003 slides intervals over all n values for A0, in one pass; here binary search over k in a window of ranks
that does not grow with n. F is ours: it is never below the greatest A0 (Proposition 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.data.order_statistics import INFINITE, Integers, Order, widths
from reticent.errors import PublicParameterError
from reticent.exact.rounding import log_bounds
from reticent.statistics.robust.ptr_test import first_distance, level, whole

ZERO: Final = -(1 << 40)  # the cell of width 0
ENDLESS: Final = 1 << 40  # the cell of infinite width
LONG: Final = 1 << 12  # bits of an integer that is compared with powers of two without a thought
PLACES: Final = 96  # binary places of logarithms


@dataclass(frozen=True, slots=True)
class LogGrid:
    """Cells of widths: ``binade`` >= 1 cells for each factor of two, ``span`` >= 2 cells to a bin."""

    binade: int
    span: int

    def __post_init__(self) -> None:
        whole(self.binade, "binade", 1)
        whole(self.span, "span", 2)
        if max(self.binade, self.span) > 1 << 16:
            raise PublicParameterError("a logarithmic grid has at most 65,536 cells to a factor of two or a bin")

    @property
    def top(self) -> int:
        """The highest cell of a finite width."""
        return 62 * self.binade - 1

    def cell(self, width: int) -> int:
        """The largest j with 2^(j / binade) <= width, certified; ZERO and ENDLESS for 0 and infinity.

        By integers where they are short. Elsewhere only a power of two lies on an edge, and certified bounds of the
        logarithm settle every other width.
        """
        if width <= 0:
            return ZERO
        if width >= INFINITE:
            return ENDLESS
        length = width.bit_length()
        if width & (width - 1) == 0:
            return self.binade * (length - 1)
        if length * self.binade > LONG:
            low, high = log_bounds(Fraction(width), PLACES)
            two_low, two_high = log_bounds(Fraction(2), PLACES)
            first, last = math.floor(self.binade * low / two_high), math.floor(self.binade * high / two_low)
            if first == last:
                return first
        return int(width**self.binade).bit_length() - 1

    def least(self, cell: int) -> int:
        """The least width >= 1 in ``cell`` or above."""
        if cell <= 0:
            return 1
        guess = math.exp2(cell / self.binade)
        low, high = max(0, math.floor(guess * (1 - 1e-12)) - 1), math.ceil(guess * (1 + 1e-12)) + 1
        while high - low > 1:  # cell(low) < cell <= cell(high)
            middle = (low + high) // 2
            low, high = (low, middle) if self.cell(middle) >= cell else (middle, high)
        return high

    def bounds(self, width: int, shift: int) -> tuple[int, int]:
        """The bin [low, high) of ``width``, among bins that start ``shift`` cells late."""
        cell = self.cell(width)
        if cell in (ZERO, ENDLESS):
            return width, width + 1
        first = (cell - shift) // self.span * self.span + shift
        return self.least(first), min(self.least(first + self.span), INFINITE)

    @property
    def shifts(self) -> tuple[int, int]:
        """Offsets of the bins of the two discretisations, in steps."""
        return 0, self.span // 2


@dataclass(frozen=True, slots=True)
class Reach:
    """Least and greatest width of (x_(low), x_(high)) after k changed, added or removed rows, for k up to ``most``.

    With k substitutions exactly these (Proposition 1); with rows added and removed nothing beyond them (Proposition 2).
    ``lows`` and ``highs`` are the order statistics within ``most`` ranks of low and high: all that is asked of a table.
    """

    lows: Integers
    highs: Integers
    most: int

    @property
    def width(self) -> int:
        return int(widths(self.lows[self.most :][:1], self.highs[self.most :][:1])[0])

    def least(self, k: int) -> int:
        """min over i in 0..k of x_(high - k + i) - x_(low + i), 0 where they cross."""
        m = self.most
        return int(widths(self.lows[m : m + k + 1], self.highs[m - k : m + 1]).min())

    def greatest(self, k: int) -> int:
        """max over i in 0..k of x_(high + k - i) - x_(low - i)."""
        m = self.most
        return int(widths(self.lows[m - k : m + 1], self.highs[m : m + k + 1]).max())


def reach(data: Order, low: int, high: int, most: int) -> Reach:
    """The reach of ``data`` for public ranks ``low`` < ``high``: two windows of 2 ``most`` + 1 order statistics.

    Parameters
    ----------
    data : Order
        Ordered values, private.
    low, high : int
        Public ranks.
    most : int
        Greatest number of changes, in rows.

    Returns
    -------
    Reach
    """
    return Reach(data.window(low - most, low + most), data.window(high - most, high + most), most)


def leave(found: Reach, bounds: tuple[int, int]) -> int:
    """A0 for the bin [low, high) of the width: the first k >= 1 whose reach leaves it, at most ``found.most``."""
    low, high = bounds
    return first_distance(lambda k: found.least(k) < low or found.greatest(k) >= high, 1, found.most)


def spread(found: Reach, grid: LogGrid) -> int:
    """F: the first k >= 1 whose reach spreads over more than a bin's number of cells, at most ``found.most``."""

    def wide(k: int) -> bool:
        return grid.cell(found.greatest(k)) - grid.cell(found.least(k)) >= grid.span

    return first_distance(wide, 1, found.most)


def farthest(ranks: tuple[int, int], n: int) -> int:
    """The greatest A0 or F of any table of n values: so many changes make either quantile infinite."""
    return min(ranks[0], n - ranks[1] + 1)


def ranks_of(n: int, levels: tuple[Fraction, Fraction]) -> tuple[int, int]:
    """Ranks floor(n p) + 1 and ceil(n q) of levels p < q: mirror images of each other for q = 1 - p."""
    p, q = level(levels[0], "the lower level"), level(levels[1], "the upper level")
    if p >= q:
        raise PublicParameterError("the lower level must be below the upper one")
    return math.floor(n * p) + 1, math.ceil(n * q)
