"""Questions to the values of a column about a released centre, each answered with a few integers.

Every value counts as the public value of its cell. Scans here are of values in memory. Those of a column that stays in
its engine give the same integers (``data/engines/column_scans.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import Cells
from reticent.data.query import POWER_ONE
from reticent.data.schema import FixedPointGrid

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
UNIT: Final = 1 << 20  # a value at the end of a range is so many steps from its middle
GRID: Final = FixedPointGrid(20, -UNIT, UNIT)  # of the places in a range


@dataclass(frozen=True, slots=True)
class CentredRange:
    """A range about a released centre: its middle, as a distance from the centre, and half of its width.

    ``reach`` is the number of halves from the middle beyond which values count as that far.
    """

    centre: float
    middle: float
    half: float
    reach: float = 1.0


@dataclass(frozen=True, slots=True)
class RangeSums:
    """Number of values beyond a distance from the centre, and moments of all values, cut to a range.

    ``ended`` are those beyond and those in the outermost cells, whose values may lie anywhere beyond. ``powers`` are
    the number of values, then the sums of y and y^2 in steps of 1 / ``UNIT`` and 1 / ``POWER_ONE``, where y in [-1, 1]
    is the place in the range.
    """

    beyond: int
    ended: int
    powers: tuple[int, int, int]


class ValueScans(Protocol):
    """Values of one column, looked at from a released centre."""

    def by_distance(self, centre: float, edges: Floats) -> Integers:
        """Numbers of values by how many of the rising edges lie below their distance; one more than edges."""
        ...

    def cut(self, within: CentredRange, far: float) -> RangeSums:
        """Sums of the values cut to a range, and how many lie farther from the centre than ``far``."""
        ...

    def steps(self, within: CentredRange, unit: int) -> tuple[Integers, Integers]:
        """Places of values in a range, rising, in steps of its half over ``unit``, and how many values are there."""
        ...


@dataclass(frozen=True)
class HeldScans:
    """Scans of values in memory, given by the cells that hold some and their numbers."""

    cells: Cells
    held: Integers
    counts: Integers

    @cached_property
    def _values(self) -> Floats:
        return self.cells.values(np.clip(self.held, self.cells.lowest, self.cells.highest))

    def by_distance(self, centre: float, edges: Floats) -> Integers:
        return _summed(np.searchsorted(edges, np.abs(self._values - centre)), self.counts, len(edges) + 1)

    def cut(self, within: CentredRange, far: float) -> RangeSums:
        away = self._values - within.centre
        beyond, sums = np.abs(away) > far, powers((away - within.middle) / within.half, self.counts)
        ended = beyond | (self.held <= self.cells.lowest) | (self.held >= self.cells.highest)
        return RangeSums(int(self.counts[beyond].sum()), int(self.counts[ended].sum()), sums)

    def steps(self, within: CentredRange, unit: int) -> tuple[Integers, Integers]:
        with np.errstate(over="ignore"):
            y = (self._values - within.centre - within.middle) / within.half
        places = np.rint(np.clip(y, -within.reach, within.reach) * unit).astype(np.int64)
        found, where = np.unique(places, return_inverse=True)
        return found, _summed(where, self.counts, len(found))

    def __repr__(self) -> str:
        return "<private values>"


def _summed(where: Integers, counts: Integers, size: int) -> Integers:
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, where, counts)
    return sums


def powers(y: Floats, counts: Integers) -> tuple[int, int, int]:
    """Count, first and second power of values moved into [-1, 1], each value rounded on its own."""
    steps = np.rint(np.clip(y, -1.0, 1.0) * UNIT).astype(np.int64)
    squares = np.floor((steps / UNIT) ** 2 * POWER_ONE + 0.5).astype(np.int64)
    return int(counts.sum()), int((steps * counts).sum()), int((squares * counts).sum())
