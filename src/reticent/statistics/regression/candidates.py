"""Public boxes that a solution may lie in: p + 1 lattices of cells, each shifted along the diagonal.

Cells of sides h_d have edges k h_d + j h_d / (p + 1), shift j = 0..p. A coordinate lies within h_d / (2 (p + 1)) of an
edge under at most one shift. So p coordinates exclude at most p of the p + 1 shifts. Under a remaining shift the point
is at least h_d / (2 (p + 1)) away from every edge. 003 takes the 2^p products of two shifts each.

All edges are multiples of one step of the coefficients' grid. The points looked at inside a cell depend on its sides
only and are multiples of 2^-14 of a step (``FINE``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final

import numpy as np

from reticent.errors import PublicParameterError
from reticent.statistics.regression.rows import REACH, Integers

FINE: Final = 14
LEAST: Final = 64  # steps of a side, so that a fine point is near every point of a cell
POINTS: Final = 1024  # of the lattice in a cell, at most


@dataclass(frozen=True, slots=True)
class CoefficientBox:
    """The closed box of all B with low_d <= B_d <= high_d, in steps."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def near(self) -> bool:
        """True if the cell lies within ``REACH``, the public range of coefficients."""
        return all(low >= -REACH and high <= REACH for low, high in zip(self.low, self.high, strict=True))


@dataclass(frozen=True, slots=True)
class CoefficientCells:
    """Sides in steps, each a multiple of p + 1; made by ``cells``."""

    sides: tuple[int, ...]

    def __post_init__(self) -> None:
        shifts = len(self.sides) + 1
        if any(side < 1 or side % shifts for side in self.sides):
            raise PublicParameterError("sides are positive multiples of the number of shifts")

    def around(self, point: tuple[Fraction, ...]) -> tuple[CoefficientBox, ...]:
        """For every shift the cell that holds ``point``."""
        found = []
        for shift in range(len(self.sides) + 1):
            starts = [shift * side // (len(self.sides) + 1) for side in self.sides]
            low = tuple(
                (part - start) // side * side + start
                for part, start, side in zip(point, starts, self.sides, strict=True)
            )
            found.append(CoefficientBox(low, tuple(edge + side for edge, side in zip(low, self.sides, strict=True))))
        return tuple(found)


def cells(widths: tuple[Fraction, ...], *, least: int = LEAST) -> CoefficientCells:
    """Cells of at least these sides, and of at least ``least`` steps, rounded up to multiples of p + 1."""
    shifts = len(widths) + 1
    return CoefficientCells(tuple(-(-max(width, Fraction(least)) // shifts) * shifts for width in widths))


def inner_points(sides: tuple[int, ...], *, most: int = POINTS) -> Integers:
    """A lattice of at most ``most`` points inside a cell of these sides, in fine steps from its low corner; public."""
    each = 1
    while (each + 1) ** len(sides) <= most:
        each += 1
    axes = [[(side << FINE) * (2 * k + 1) // (2 * each) for k in range(each)] for side in sides]
    return np.array(list(product(*axes)), np.int64)
