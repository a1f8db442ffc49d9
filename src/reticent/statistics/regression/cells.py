"""Public boxes that a solution may lie in: p + 1 lattices of cells, each shifted along the diagonal.

Cells of sides h_d have edges k h_d + j h_d / (p + 1), shift j = 0..p. A coordinate lies within h_d / (2 (p + 1)) of an
edge under at most one shift, so p coordinates spoil at most p of the p + 1 shifts: one is left in which the point is at
least h_d / (2 (p + 1)) away from every edge. 003 takes the 2^p products of two shifts each.

All edges are multiples of one step of the coefficients' grid. Inside a cell, the pieces its facets are cut into and the
points that are looked at depend on the cell's sides only; they are multiples of 2^-14 of a step (``FINE``).
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
PIECES: Final = 96  # pieces of one facet, at most
POINTS: Final = 1024  # points of a cell, at most


@dataclass(frozen=True, slots=True)
class Cell:
    """The closed box of all B with low_d <= B_d <= high_d, in steps."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def near(self) -> bool:
        """Whether it lies where coefficients are looked at; public."""
        return all(low >= -REACH and high <= REACH for low, high in zip(self.low, self.high, strict=True))


@dataclass(frozen=True, slots=True)
class Cells:
    """Sides in steps, each a multiple of p + 1; made by ``cells``."""

    sides: tuple[int, ...]

    def __post_init__(self) -> None:
        shifts = len(self.sides) + 1
        if any(side < 1 or side % shifts for side in self.sides):
            raise PublicParameterError("sides are positive multiples of the number of shifts")

    def around(self, point: tuple[Fraction, ...]) -> tuple[Cell, ...]:
        """For every shift the cell that holds ``point``."""
        found = []
        for shift in range(len(self.sides) + 1):
            starts = [shift * side // (len(self.sides) + 1) for side in self.sides]
            low = tuple(
                (part - start) // side * side + start
                for part, start, side in zip(point, starts, self.sides, strict=True)
            )
            found.append(Cell(low, tuple(edge + side for edge, side in zip(low, self.sides, strict=True))))
        return tuple(found)


def cells(widths: tuple[Fraction, ...], *, least: int = LEAST) -> Cells:
    """Cells of at least these sides, and of at least ``least`` steps, rounded up to multiples of p + 1."""
    shifts = len(widths) + 1
    return Cells(tuple(-(-max(width, Fraction(least)) // shifts) * shifts for width in widths))


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """Pieces that cover the facets of a cell, and points inside it, in fine steps from its low corner; public.

    Attributes
    ----------
    low, high : integers of shape (pieces, p)
        Opposite corners of every piece; equal in the coordinate of its facet.
    points : integers of shape (points, p)
    """

    low: Integers
    high: Integers
    points: Integers

    def radii(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Greatest distance of every point from each piece, shape (pieces, points), in fine steps, rounded up."""
        found = np.zeros((len(self.low), len(self.points)))
        for d in range(self.low.shape[1]):
            here = self.points[:, d][None, :].astype(np.float64)
            away = np.maximum(np.abs(here - self.low[:, d][:, None]), np.abs(here - self.high[:, d][:, None]))
            found += away * away
        return np.sqrt(found) * (1 + 2.0**-48)


def cover(sides: tuple[int, ...], *, pieces: int = PIECES, points: int = POINTS) -> Cover:
    """The cover of a cell of these sides: longest edges are cut first; points lie on a lattice."""
    fine = [side << FINE for side in sides]
    lows, highs = [], []
    for facet in range(len(sides)):
        free = [d for d in range(len(sides)) if d != facet]
        cuts = _cuts([fine[d] for d in free], pieces)
        for end in (0, fine[facet]):
            for index in product(*(range(cut) for cut in cuts)):
                low, high = [end] * len(sides), [end] * len(sides)
                for d, cut, k in zip(free, cuts, index, strict=True):
                    low[d], high[d] = fine[d] * k // cut, fine[d] * (k + 1) // cut
                lows.append(low)
                highs.append(high)
    each = max(1, _root(points, len(sides)))
    axes = [[side * (2 * k + 1) // (2 * each) for k in range(each)] for side in fine]
    lattice = [list(point) for point in product(*axes)]
    return Cover(np.array(lows, np.int64), np.array(highs, np.int64), np.array(lattice, np.int64))


def _cuts(lengths: list[int], most: int) -> list[int]:
    """How often to cut each edge, so that there are at most ``most`` parts with short diagonals."""
    found = [1] * len(lengths)
    while lengths:
        longest = max(range(len(lengths)), key=lambda d: lengths[d] / found[d])
        total = 1
        for d, cut in enumerate(found):
            total *= cut + (d == longest)
        if total > most:
            break
        found[longest] += 1
    return found


def _root(total: int, power: int) -> int:
    """The greatest k with k^power <= total."""
    k = 1
    while (k + 1) ** power <= total:
        k += 1
    return k
