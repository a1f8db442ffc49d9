"""Parts of a sorted column that a drawn quantile cuts, ties included.

A cell is cut into SLICES slices, and c values in one cell stand evenly over its slices: value i of c at slice
floor((2 i + 1) L / (2 c)) of L. So ``ceil(c j / L - 1/2)`` of them stand before slice j, which grows by 0 or 1 when c
does. At every slice, a row added to the table is a row added to exactly one side. Each side is spread anew from its own
count. So the two sides are a partition, though no row belongs to a side by itself. An atom can thus be split at any
rank, where a rule "below, or not below" would put all of it on one side. Parts of a long column are stretches of its
sorted cells, and slices of its values are computed when they are looked at. Proof: docs/proofs/unbounded.md, section 1.

Of a column whose far values stayed in its engine the slices of some others are unknown too: those of the cells in which
the unread ones begin and end. A cut there, and a draw that looks there, need all values (``HiddenValues``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import Cells, Segment
from reticent.data.order_statistics import counted
from reticent.data.query_result import Counts, SortedCells
from reticent.statistics import ranks
from reticent.statistics.rank_blocks import Drawn, HiddenValues, blocks

Indices = NDArray[np.int64]
SLICES: Final = 1 << 10
FARTHEST: Final = 1 << 50  # cells further out count as the farthest, so that a slice has a number of 64 bits


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CandidateRange:
    """Values of the candidates ``first <= slice < stop``, by cell; slices are numbered ``cell * SLICES + j``.

    ``again`` makes the same part of all values, where some stayed in their engine.
    """

    data: Counts
    first: int
    stop: int
    again: Callable[[], CandidateRange] | None = None

    @property
    def cells(self) -> Indices:
        """Cells that hold values, ascending."""
        return self.data.cells

    @property
    def counts(self) -> Indices:
        """Number of values of each cell."""
        return self.data.counts

    def every(self) -> CandidateRange:
        """The part of all values, where some stayed in their engine."""
        return self if self.again is None else self.again()

    @property
    def unsure(self) -> list[tuple[int, int]]:
        """The cells in which each stretch of hidden values begins and ends, by their places among ``cells``.

        The hidden values stand in these cells or between them. Beyond the last cell is the place after all others.
        """
        if not self.data.hidden:
            return []
        ends = np.cumsum(self.counts)
        return [(int(low), int(high)) for low, high in np.searchsorted(ends, np.array(self.data.hidden), "right")]

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
    held = in_cells(data, lambda index: np.clip(index, cells.lowest, cells.highest))
    return CandidateRange(held, cells.lowest * SLICES, (cells.highest + 1) * SLICES)


def in_cells(data: Counts, move: Callable[[Indices], Indices]) -> Counts:
    """The values in other cells, by a monotone map."""
    if isinstance(data, SortedCells):
        return data.moved(move)
    held, counts = move(np.asarray(data.cells, dtype=np.int64)), np.asarray(data.counts, dtype=np.int64)
    merged, first = np.unique(held, return_index=True)
    return Counts(merged, np.add.reduceat(counts, first) if len(held) else counts, data.hidden)


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
    """The part up to slice ``at``, and the part behind it.

    Raises
    ------
    HiddenValues
        Where values that stayed in their engine may stand on either side.
    """
    low, high = _cut(part, at)
    if not part.data.hidden:
        return low, high
    return replace(low, again=lambda: cut(part.every(), at)[0]), replace(high, again=lambda: cut(part.every(), at)[1])


def _cut(part: CandidateRange, at: int) -> tuple[CandidateRange, CandidateRange]:
    cell, edge = at // SLICES, at + 1
    if isinstance(part.data, SortedCells):
        place, upper = part.data.below(np.array([cell, cell + 1])).tolist()
        start, end = _range(part, cell)
        place += before(upper - place, edge - start, end - start)
        low_data, high_data = part.data.part(0, place), part.data.part(place, part.data.total)
        return CandidateRange(low_data, part.first, edge), CandidateRange(high_data, edge, part.stop)
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
    low_side, high_side = Counts(low_cells, low_counts), Counts(high_cells, high_counts)
    if part.data.hidden:
        _check_known(part, cell)
        size = low_side.total
        kept = tuple((first, last) for first, last in part.data.hidden if last <= size)
        moved = tuple((first - size, last - size) for first, last in part.data.hidden if first >= size)
        low_side, high_side = Counts(low_cells, low_counts, kept), Counts(high_cells, high_counts, moved)
    return CandidateRange(low_side, part.first, edge), CandidateRange(high_side, edge, part.stop)


def _check_known(part: CandidateRange, cell: int) -> None:
    """Fail where a hidden value may stand in a cell, or on either side of it."""
    cells = [*part.cells.tolist(), part.stop // SLICES + 1]  # the last is above all candidates
    if any(cells[low] <= cell <= cells[high] for low, high in part.unsure):
        raise HiddenValues


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SortedSlices:
    """Slices of the values of a part of a long column, one for each value; they are computed when looked at."""

    values: SortedCells
    first: int
    stop: int

    def __repr__(self) -> str:
        return "<private part>"

    @property
    def total(self) -> int:
        """Number of values."""
        return self.values.total

    def held(self, first: int, last: int) -> Indices:
        """Slices of the values from place ``first`` to before ``last``."""
        cells, counts = counted(self.values.held(first, last))
        low = first + np.cumsum(counts) - counts
        high = low + counts
        if len(cells):  # the outermost cells go on beyond these places
            low[0], high[-1] = self.values.below(np.array([cells[0], cells[-1] + 1]))
        return self._slices(np.arange(first, last), *(np.repeat(each, counts) for each in (cells, low, high)))

    def at(self, places: Indices) -> Indices:
        """Slices of the values at some places."""
        cells = self.values.at(places)
        return self._slices(places, cells, self.values.below(cells), self.values.below(cells + 1))

    def below(self, cells: Indices) -> Indices:
        """Number of values in slices strictly below each of some: ``before``, in the cell of the slice."""
        edges = np.clip(cells, self.first, self.stop)
        cell = np.minimum(edges, self.stop - 1) // SLICES
        starts, lengths = self._ranges(cell)
        low, high = self.values.below(cell), self.values.below(cell + 1)
        counts = high - low
        found: Indices = low + np.clip(-((lengths - 2 * counts * (edges - starts)) // (2 * lengths)), 0, counts)
        return found

    def _ranges(self, cells: Indices) -> tuple[Indices, Indices]:
        """First slice of cells in the part, and number of their slices there."""
        starts = np.maximum(cells * SLICES, self.first)
        return starts, np.minimum((cells + 1) * SLICES, self.stop) - starts

    def _slices(self, places: Indices, cells: Indices, low: Indices, high: Indices) -> Indices:
        """The slices of the values at some places, of cells whose values have the places from ``low`` to ``high``."""
        starts, lengths = self._ranges(cells)
        return starts + (2 * (places - low) + 1) * lengths // (2 * (high - low))


def spread(part: CandidateRange) -> tuple[Indices, Indices]:
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


def runs_of(cells: Cells, part: CandidateRange) -> Drawn:
    """The runs of slices of one part, or its blocks of a long column, weighted as the cells they are slices of."""
    segments = [
        Segment(max(s.first * SLICES, part.first), min(s.stop * SLICES, part.stop), s.weight)
        for s in cells.segments
        if s.first * SLICES < part.stop and s.stop * SLICES > part.first
    ]
    made = Cells(tuple(segments), None, True)
    if isinstance(part.data, SortedCells) and part.data.total and _reaches(made, part):
        return blocks(made, SortedSlices(part.data, part.first, part.stop))
    ends = [0, *np.cumsum(part.counts).tolist()] if part.data.hidden else []
    hidden = tuple((ends[low], ends[min(high + 1, len(ends) - 1)]) for low, high in part.unsure)
    return ranks.runs(made, Counts(*spread(part), hidden))


def _reaches(cells: Cells, part: CandidateRange) -> bool:
    """Tell if the outermost slices of a part are candidates, so that no value lies beyond them."""
    return cells.lowest == part.first and cells.highest + 1 == part.stop


def _range(part: CandidateRange, cell: int) -> tuple[int, int]:
    """The slices of one cell that belong to the part."""
    return max(cell * SLICES, part.first), min((cell + 1) * SLICES, part.stop)
