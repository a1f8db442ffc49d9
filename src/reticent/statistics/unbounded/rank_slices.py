"""Parts of a sorted column that a drawn quantile cuts, ties included.

A cell is cut into SLICES slices, and c values in one cell stand evenly over its slices: value i of c at slice
floor((2 i + 1) L / (2 c)) of L. So ``ceil(c j / L - 1/2)`` of them stand before slice j, which grows by 0 or 1 when c
does. At every slice, a row added to the table is a row added to exactly one side. Each side is spread anew from its own
count. So the two sides are a partition, though no row belongs to a side by itself. An atom can thus be split at any
rank, where a rule "below, or not below" would put all of it on one side. Proof: docs/proofs/unbounded.md, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import Cells, Segment
from reticent.data.query_result import Counts
from reticent.statistics.ranks import Runs, runs

SLICES: Final = 1 << 10
FARTHEST: Final = 1 << 50  # cells further out count as the farthest, so that a slice has a number of 64 bits


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CandidateRange:
    """Values of the candidates ``first <= slice < stop``, by cell; slices are numbered ``cell * SLICES + j``."""

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    first: int
    stop: int

    def __repr__(self) -> str:
        return "<private part>"


def reachable(cells: Cells) -> Cells:
    """The candidates whose slices have numbers of 64 bits; all of them but for integers beyond 2^50."""
    kept = [
        Segment(max(s.first, -FARTHEST), min(s.stop, FARTHEST), s.weight)
        for s in cells.segments
        if s.first < FARTHEST and s.stop > -FARTHEST
    ]
    return replace(cells, segments=tuple(kept))


def whole(cells: Cells, data: Counts) -> CandidateRange:
    """All values; what lies beyond the candidates counts as the last of them."""
    held = np.clip(np.asarray(data.cells, dtype=np.int64), cells.lowest, cells.highest)
    merged, first = np.unique(held, return_index=True)
    counts = np.add.reduceat(np.asarray(data.counts, dtype=np.int64), first) if len(held) else np.zeros(0, np.int64)
    return CandidateRange(merged, counts, cells.lowest * SLICES, (cells.highest + 1) * SLICES)


def before(count: int, slices: int, length: int) -> int:
    """Number of values in the first ``slices`` of ``length`` slices, if ``count`` values are spread over all.

    Parameters
    ----------
    count, slices, length : int
        Number of values, of slices, and of all slices.

    Returns
    -------
    int
    """
    return max(0, min(count, -((length - 2 * count * slices) // (2 * length))))


def cut(part: CandidateRange, at: int) -> tuple[CandidateRange, CandidateRange]:
    """The part up to slice ``at``, and the part behind it."""
    cell, edge = at // SLICES, at + 1
    place = int(np.searchsorted(part.cells, cell))
    here = place < len(part.cells) and int(part.cells[place]) == cell
    upper = place + 1 if here else place
    low_cells, low_counts = part.cells[:place], part.counts[:place]
    high_cells, high_counts = part.cells[upper:], part.counts[upper:]
    if here:
        start, end = _range(part, cell)
        count = int(part.counts[place])
        low = before(count, edge - start, end - start)
        if low:
            low_cells, low_counts = np.append(low_cells, cell), np.append(low_counts, low)
        if count > low:
            high_cells = np.append(np.int64(cell), high_cells)
            high_counts = np.append(np.int64(count - low), high_counts)
    return CandidateRange(low_cells, low_counts, part.first, edge), CandidateRange(
        high_cells, high_counts, edge, part.stop
    )


def spread(part: CandidateRange) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The slices that hold values, ascending, and how many each holds."""
    start = np.maximum(part.cells * SLICES, part.first)
    length = np.minimum((part.cells + 1) * SLICES, part.stop) - start
    few = part.counts < length
    counts = part.counts[few]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    span = np.repeat(length[few], counts)
    places = [np.repeat(start[few], counts) + (2 * within + 1) * span // (2 * np.repeat(counts, counts))]
    numbers = [np.ones(len(within), dtype=np.int64)]
    for count, begin, width in zip(
        part.counts[~few].tolist(), start[~few].tolist(), length[~few].tolist(), strict=True
    ):
        ends = np.array([before(count, j, width) for j in range(width + 1)], dtype=np.int64)
        places.append(begin + np.arange(width, dtype=np.int64))
        numbers.append(np.diff(ends))
    joined, held = np.concatenate(places), np.concatenate(numbers)
    order = np.argsort(joined, kind="stable")
    return joined[order], held[order]


def runs_of(cells: Cells, part: CandidateRange) -> Runs:
    """The runs of slices of one part, weighted as the cells they are slices of."""
    segments = [
        Segment(max(s.first * SLICES, part.first), min(s.stop * SLICES, part.stop), s.weight)
        for s in cells.segments
        if s.first * SLICES < part.stop and s.stop * SLICES > part.first
    ]
    return runs(Cells(tuple(segments), None, True), Counts(*spread(part)))


def _range(part: CandidateRange, cell: int) -> tuple[int, int]:
    """The slices of one cell that belong to the part."""
    return max(cell * SLICES, part.first), min((cell + 1) * SLICES, part.stop)
