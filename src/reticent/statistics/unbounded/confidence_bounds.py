"""Candidates around values that are already released: even cells, few enough for a small table.

Cells of the public prior are a millionth of their binade wide, so the prior share of one is 2^-27. Once two quantiles
are released, a step of 1 / (8 sqrt n) of their distance is fine enough for the ends of an interval. Some thousands of
such steps suffice. Values further out count in the first or the last cell, which stand for everything beyond. An end
drawn there is reported as the farthest candidate of all. The cell of a value depends on that value only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from reticent.data.candidates import Cells, Segment
from reticent.statistics.unbounded.rank_slices import SLICES, CandidateRange, in_cells

REACH: Final = 4.0  # distances of the outer values on either side
FINE: Final = 8.0


@dataclass(frozen=True, slots=True)
class CutCells:
    """Cell i >= 1 is [origin + (i - 1) step, origin + i step); 0 and the last one are all that lies outside.

    ``base`` are the candidates of the values, and ``reach`` is how far the column itself does.
    """

    base: Cells
    cells: Cells
    origin: float
    step: float
    cuts: tuple[int, ...]
    reach: tuple[float, float]

    @classmethod
    def of(cls, base: Cells, drawn: Sequence[int], n: float, reach: tuple[float, float]) -> CutCells:
        """Around the cells of released values, in order.

        Parameters
        ----------
        base : Cells
            Candidates of the column.
        drawn : sequence of int
            Cells of the released values, in order.
        n : float
            Number of values, public or noisy.
        reach : tuple of float and float
            Least and greatest value of the column, in its unit.

        Returns
        -------
        CutCells
            Cells about the released values.
        """
        low, high = base.edges(drawn[0])[0], base.edges(drawn[-1])[1]
        width = max(float(high - low), *(float(b - a) for a, b in map(base.edges, (drawn[0], drawn[-1]))))
        width = width or 1.0  # a whole number is its own cell
        step = 2.0 ** math.floor(math.log2(width / (FINE * math.sqrt(max(n, 16.0)))))
        if base.step is not None:
            step = max(step, 2.0 ** math.ceil(math.log2(float(base.step))))
        first = math.floor((float(low) - REACH * width) / step)
        last = math.ceil((float(high) + REACH * width) / step)
        made = Cells((Segment(0, last - first + 2, 1),), Fraction(1), True)
        bare = cls(base, made, first * step, step, (), reach)
        cuts = tuple(bare.index(np.array(drawn, dtype=np.int64)).tolist())
        return cls(base, made, first * step, step, cuts, reach)

    def index(self, held: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The even cell of each cell of the column."""
        with np.errstate(over="ignore"):
            steps = np.floor((self.base.values(held) - self.origin) / self.step) + 1.0
        return np.clip(steps, 0.0, float(self.cells.highest)).astype(np.int64)

    def part(self, part: CandidateRange, *, gap: int) -> CandidateRange:
        """A part in even cells, from the value before gap number ``gap`` to the value behind it."""
        least = 0 if gap == 0 else self.cuts[gap - 1]
        most = self.cells.highest if gap == len(self.cuts) else self.cuts[gap]
        held = in_cells(part.data, lambda cells: np.clip(self.index(cells), least, most))
        made = CandidateRange(held, least * SLICES, (most + 1) * SLICES)
        return replace(made, again=lambda: self.part(part.every(), gap=gap)) if held.hidden else made

    def edges(self, cell: int) -> tuple[float, float]:
        """The ends of an even cell; the outer ones reach to the farthest candidate of the column."""
        low = self.reach[0] if cell == 0 else self.origin + (cell - 1) * self.step
        high = self.reach[1] if cell == self.cells.highest else self.origin + cell * self.step
        return low, high
