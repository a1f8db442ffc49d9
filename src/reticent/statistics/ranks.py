"""Quantiles by the exponential mechanism over public cells, exactly, with ties and atoms.

For level a/b and a candidate cell k, with C counts of kept values by cell, and a target shifted by D ranks:

    score(k) = max(0,  (b - a) C_<(k) - a C_>=(k) - b D,  a C_>(k) - (b - a) C_<=(k) + b D)

For D = 0 the score is 0 exactly on the cells that hold the quantile. It grows by b for every rank further away. Its
sensitivity is max(a, b - a) for a row added or removed and b for one replaced, for every D. Scores are whole where D is
a multiple of 1/b. The score needs no n; for a public n it is the familiar max(0, b C_< - a n, a n - b C_<=). Proofs:
docs/proofs/quantiles.md.

Cells between two data cells share a score, and are drawn as one run and then split uniformly: the same law.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import Cells, Segment, cells_of, moved
from reticent.data.query_result import Counts, SortedCells
from reticent.data.schema import Category, Real
from reticent.statistics.context import Setting

Indices = NDArray[np.int64]
SMALL: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of neighbouring cells that share counts: ``start[i] <= cell < start[i + 1]``, in order, without gaps.

    ``below`` and ``above`` count values in cells strictly below and above the run; ``weights`` is the public weight
    of the run. ``hidden`` are places of values that are counted with their neighbours (``Counts``).
    """

    start: Indices
    below: Indices
    above: Indices
    weights: NDArray[np.int64] | NDArray[np.object_]
    total: int
    hidden: tuple[tuple[int, int], ...] = ()

    def scores(self, a: int, b: int, shift: int | Fraction) -> Indices:
        """The score of every run; Scores end at 2^62: none moves more.

        Parameters
        ----------
        a, b : int
            Level a / b of the quantile, 0 < a < b.
        shift : int or Fraction
            D in ranks, a multiple of 1 / b.

        Returns
        -------
        array of int
            Scores times b, shape (runs,).
        """
        aim = Fraction(shift) * b
        assert aim.denominator == 1
        below, above = self.below, self.above
        if b * self.total + abs(int(aim)) >= SMALL:  # of weights, in units of 2^-20
            below, above = below.astype(object), above.astype(object)
        over = (b - a) * below - a * (self.total - below) - int(aim)
        under = a * above - (b - a) * (self.total - above) + int(aim)
        found: Indices = np.minimum(np.maximum(np.maximum(over, under), 0), SMALL).astype(np.int64)
        return found


def runs(cells: Cells, data: Counts) -> Runs:
    """The runs of one group: at most two for each data cell and one for each change of the public weight."""
    held = np.clip(np.asarray(data.cells, dtype=np.int64), cells.lowest, cells.highest)
    counts = np.asarray(data.counts, dtype=np.int64)
    changes = [edge for s in cells.segments for edge in (s.first, s.stop)]
    start = np.concatenate([held, held + 1, np.array(changes, dtype=np.int64)])
    start.sort(kind="stable")  # merges three sorted parts; numpy's unique would hash, which is slow for these
    start = start[np.append(True, start[1:] != start[:-1])]
    end = int(start[-1])  # one past the highest cell
    start, lengths = start[:-1], np.diff(start)
    sums = np.concatenate([[0], np.cumsum(counts)])
    below = sums[np.searchsorted(held, start, side="left")]
    through = sums[np.searchsorted(held, start, side="right")]
    total = int(sums[-1])
    weights = weights_of(cells.segments, start, lengths)
    return Runs(np.append(start, end), below, total - through, weights, total, data.hidden)


def weights_of(
    segments: tuple[Segment, ...], start: Indices, lengths: Indices
) -> NDArray[np.int64] | NDArray[np.object_]:
    """The public weight of runs, none of which crosses the end of a segment.

    Parameters
    ----------
    segments : tuple of Segment
    start, lengths : array of shape (runs,), int
        First cell of each run, and number of its cells.

    Returns
    -------
    array of shape (runs,), int
    """
    firsts = np.array([s.first for s in segments], dtype=np.int64)
    stops = np.array([s.stop for s in segments], dtype=np.int64)
    place = np.searchsorted(firsts, start, side="right") - 1
    inside = (place >= 0) & (start < stops[np.maximum(place, 0)])
    if sum((s.stop - s.first) * s.weight for s in segments) < SMALL:
        each = np.array([s.weight for s in segments], dtype=np.int64)
        return np.where(inside, each[place] * lengths, 0)
    each_object = np.array([s.weight for s in segments], dtype=object)
    found: NDArray[np.object_] = np.where(inside, each_object[place] * lengths.astype(object), 0)
    return found


def sensitivity(level: Fraction, kind: str) -> int:
    """Sensitivity of a score to one row, which is added or removed, or replaced (``kind``)."""
    a, b = level.numerator, level.denominator
    return b if kind == "substitute" else max(a, b - a)


def within(cells: Cells, low: Fraction, high: Fraction) -> Cells:
    """The candidates from ``low`` to ``high``, with the weights they have; without a prior, one for each cell.

    Parameters
    ----------
    cells : Cells
    low, high : Fraction
        In the unit of the column.

    Returns
    -------
    Cells
    """
    ends = cells.index(np.array([float(low), float(high)]))
    first, last = int(ends[0]), int(ends[1])
    if not cells.whole and cells.step is not None and last > first and cells.edges(last)[0] >= high:
        last -= 1
    kept = [
        Segment(max(s.first, first), min(s.stop, last + 1), s.weight)
        for s in cells.segments
        if s.first <= last and s.stop > first
    ]
    return replace(cells, segments=tuple(kept))


def candidates(
    column: str, low: Fraction | None, high: Fraction | None, setting: Setting
) -> tuple[Cells, tuple[Fraction, Fraction] | None]:
    """The candidates of a column, and the bounds that move values; ``low`` and ``high`` as named in the question.

    Parameters
    ----------
    column : str
    low, high : Fraction or None
        Bounds of the question, in the unit of the column.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.

    Returns
    -------
    pair of Cells, and pair of Fraction or None
    """
    declared = setting.schema.column(column)
    cells = cells_of(declared, column)
    if low is not None and high is not None:
        return within(cells, low, high), (low, high)
    if isinstance(declared, Category) or declared.low is None or declared.high is None:
        return cells, None
    return cells, (Fraction(declared.low), Fraction(declared.high))


def resolution(column: str, setting: Setting) -> Fraction | None:
    """The declared step of a real column; None where there is none."""
    declared = setting.schema.column(column)
    return declared.resolution if isinstance(declared, Real) else None


def placed(base: Cells, to: Cells, data: Counts) -> Counts:
    """Counts by cell of ``base`` as counts by cell of ``to``; what lies beyond the candidates counts as the last.

    Parameters
    ----------
    base : Cells
        Cells that the counts are of.
    to : Cells
        Cells that they shall be of.
    data : Counts
        Counts by cell of ``base``.

    Returns
    -------
    Counts
        Counts by cell of ``to``, in order.
    """

    def cell_of(cells: Indices) -> Indices:
        held = np.clip(np.asarray(cells, dtype=np.int64), base.lowest, base.highest)
        return np.clip(moved(base, to, held), to.lowest, to.highest)

    if isinstance(data, SortedCells):
        return data.moved(cell_of)
    index = cell_of(data.cells)
    if not len(index):
        return Counts(index, np.asarray(data.counts, dtype=np.int64))
    first = np.flatnonzero(np.append(True, index[1:] != index[:-1]))  # cells are in order, and moving keeps it
    return Counts(index[first], np.add.reduceat(np.asarray(data.counts, dtype=np.int64), first), data.hidden)


def cell_share(cells: Cells) -> float:
    """The least share of the public weight that one ordinary cell has: what an atom of the data can count on.

    Ordinary are the usual binades, and of integers without bounds those up to 2^20; rarer ones are drawn all the same,
    with a smaller share.
    """
    total = sum((s.stop - s.first) * s.weight for s in cells.segments)
    if cells.step is None:
        return max(s.weight for s in cells.segments if s.first != 0 or len(cells.segments) == 1) / total
    weights = [s.weight for s in cells.segments if not cells.whole or len(cells.segments) == 1 or _ordinary(s)]
    return min(weights, default=1) / total


def _ordinary(segment: Segment) -> bool:
    return max(abs(segment.first), abs(segment.stop - 1)) < 1 << 21
