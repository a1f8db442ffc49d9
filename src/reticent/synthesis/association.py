"""Rank correlation of two columns by released counts, with an interval for that of the records: free.

    associations(density) -> ((("x", "y"), Estimate), ...)

Counts of cells say how many records are below a cell, so they tell the mean rank of its records. Inside a cell ranks
deviate by p / sqrt(12), p the share of a column's cell. They go with the other column's mean ranks: as these go on from
cell to cell, which is added, and half of it is allowed for. In a cell of most records nothing goes on, and as much as
may be is allowed for (Cauchy and Schwarz). So it is for ranks inside both columns' cells, and for the noise of the
counts at 95 %. It takes the counts as they were drawn, since what makes them a density has bias. It is about these
records, so there is no sampling in it. No value of a column enters it: it holds where the density says little of a
tail, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from reticent.outcome import Estimate
from reticent.synthesis.axis import Floats
from reticent.synthesis.density import Density
from reticent.synthesis.linear_queries import Integers

LARGE: Final = 0.4  # share of the records in one cell of a column


@dataclass(frozen=True, slots=True)
class ColumnRanks:
    """Cells of the boxes along one column, mean ranks of their records less 1/2, and the most that these deviate."""

    cell: Integers
    middle: Floats
    inside: Floats

    def later(self, weights: Floats) -> Floats:
        """Sum of weights of boxes further along, with half of those in the same cell: one record moves these."""
        along = np.bincount(self.cell, weights=weights)
        found: Floats = (along.sum() - np.cumsum(along) + along / 2.0)[self.cell]
        return found

    def by_cell(self, shares: Floats, other: Floats) -> tuple[Floats, Floats, Floats]:
        """Share of each cell, and the mean and the variance of the other column's mean ranks in it."""
        held = np.asarray(np.bincount(self.cell, weights=shares), np.float64)
        known = np.maximum(held, 1e-12)
        mean = np.bincount(self.cell, weights=shares * other) / known
        spread = np.bincount(self.cell, weights=shares * (other - mean[self.cell]) ** 2) / known
        return held, mean, spread

    def beside(self, shares: Floats, other: Floats) -> float:
        """Covariance of ranks inside cells and the other column's mean ranks, which go on as from cell to cell."""
        held, mean, _ = self.by_cell(shares, other)
        if len(held) < 2:
            return 0.0
        first = np.unique(self.cell, return_index=True)[1]
        slope = np.gradient(mean) / np.maximum(np.gradient(self.middle[first]), 1e-12)
        return float(held @ (self.inside[first] ** 2 * np.clip(slope, -1.0, 1.0)))

    def unknown(self, shares: Floats, other: Floats) -> float:
        """The most that this covariance may be in cells of more than ``LARGE`` of the records."""
        held, _, spread = self.by_cell(shares, other)
        return float(shares @ (self.inside * np.sqrt(np.where(held > LARGE, spread, 0.0))[self.cell]))


def middle_ranks(values: Floats) -> Floats:
    """Ranks, of equal values the middle one; SciPy's take half a second to load."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    found: Floats = (np.cumsum(counts) - (counts - 1) / 2.0)[place]
    return found


def associations(density: Density) -> tuple[tuple[tuple[str, str], Estimate], ...]:
    """The rank correlation of every two columns, where a density has joint counts; else none."""
    if density.counts is None or density.band is None:
        return ()
    total = float(density.counts.sum())
    if total <= 0.0:
        return ()
    shares, noise = density.counts / total, density.band * density.n / total
    ranks = [_ranks(density, shares, place) for place in range(len(density.axes))]
    names = [one.column for one in density.axes]
    pairs = combinations(range(len(names)), 2)
    return tuple(((names[k], names[m]), _correlation(shares, noise, (ranks[k], ranks[m]))) for k, m in pairs)


def _correlation(shares: Floats, noise: Floats, ranks: Sequence[ColumnRanks]) -> Estimate:
    x, y = ranks
    spread = [float(shares @ (one.middle**2 + one.inside**2)) for one in ranks]
    if min(spread) <= 0.0:
        return Estimate(0.0, -1.0, 1.0, 1.0, 0.0)
    root = math.sqrt(spread[0] * spread[1])
    value = float(np.clip(shares @ (x.middle * y.middle) / root, -1.0, 1.0))
    known = np.maximum(shares, 0.0) / float(np.maximum(shares, 0.0).sum())
    along = (x.beside(known, y.middle), y.beside(known, x.middle))
    value = float(np.clip(value + sum(along) / root, -1.0, 1.0))
    inside = math.sqrt(float(known @ x.inside**2) * float(known @ y.inside**2))
    large = x.unknown(known, y.middle) + y.unknown(known, x.middle)
    hidden = (inside + sum(map(abs, along)) / 2.0 + large) / root
    pull = x.middle * y.middle + x.later(shares * y.middle) + y.later(shares * x.middle)
    pull = (pull - float(shares @ pull)) / root
    apart = min(float(np.linalg.norm(noise * pull)), 2.0)
    return Estimate(value, max(value - hidden - apart, -1.0), min(value + hidden + apart, 1.0), apart, 0.0)


def _ranks(density: Density, shares: Floats, place: int) -> ColumnRanks:
    assert density.boxes is not None
    first, stop = density.boxes[:, place].T
    starts, cell = np.unique(first, return_inverse=True)
    held = np.maximum(np.bincount(cell, weights=shares, minlength=len(starts)), 0.0)
    held = held / held.sum()
    one = density.axes[place]
    single = (stop - first == 1) & (np.isin(first, one.lone) | (one.whole & (one.lengths[first] == 1.0)))
    inside = np.where(single, 0.0, held[cell] / math.sqrt(12.0))
    return ColumnRanks(cell, (np.cumsum(held) - held / 2.0 - 0.5)[cell], inside)
