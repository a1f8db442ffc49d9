"""A point of great Tukey depth by the exponential mechanism over a public product of priors, exactly.

A point is one candidate cell of each column. Its score is the maximum over columns of the score of a median there
(``ranks``). The score of a column is the number of records by which one side outweighs the other. It equals the number
of records less twice the coordinatewise depth of Amin and others. Points of score at most s form a box, so points of
equal score are a shell between two boxes, whose public weight is an integer: a shell is drawn by the exponential
mechanism, then a point of the shell by its weight. That is the exponential mechanism over points, exactly.

Source: Amin, Joseph, Ribero and Vassilvitskii 2022, section 3, for approximate depth and its boxes. Deviations and
proof: docs/proofs/regression.md, section 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import Cells
from reticent.entropy import Entropy
from reticent.exact.coins import uniform
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.ranks import Runs

Box = tuple[tuple[int, int], ...]  # of each column the cells first <= cell < stop


@dataclass(frozen=True, slots=True)
class DeepPoint:
    """Chooses a point of the product of ``cells`` by ``choice``, whose sensitivity is that of one column's score."""

    cells: Cells
    choice: Exponential

    @property
    def guarantee(self) -> Guarantee:
        return self.choice.guarantee

    def sample(self, exact: tuple[Runs, ...], entropy: Entropy) -> tuple[int, ...]:
        """The cells of one point, drawn with probability proportional to its weight times exp(-rate score)."""
        tops = np.unique(np.concatenate([np.concatenate(sides(column)) for column in exact]))
        tops = np.union1d(tops[tops >= 0], np.zeros(1, np.int64))
        weights = np.full(len(tops), 1, object)
        ends = []
        for column in exact:
            low, high = reaches(column, tops)
            sums = np.concatenate([np.zeros(1, object), np.cumsum(column.weights.astype(object))])
            weights = weights * np.where(low <= high, sums[np.maximum(high + 1, low)] - sums[low], 0)
            ends.append((low, high))
        shells = np.diff(np.concatenate([np.zeros(1, object), weights]))
        shell = self.choice.sample(Candidates(tops, shells), entropy)

        def box(at: int) -> Box:
            return tuple(
                (int(column.start[low[at]]), int(column.start[high[at] + 1]))
                for column, (low, high) in zip(exact, ends, strict=True)
            )

        inner = box(shell - 1) if shell and weights[shell - 1] else None
        return within_shell(self.cells, box(shell), inner, entropy)


def deepest(cells: Cells, columns: Sequence[Runs], choice: Exponential, entropy: Entropy) -> tuple[int, ...]:
    """The cells of one point of great depth.

    Parameters
    ----------
    cells : Cells
        Candidates of a coordinate.
    columns : sequence of Runs
        Counts of each coordinate by cell, in order.
    choice : Exponential
        Law of the draw by depth.
    entropy : Entropy
        Source of the noise.

    Returns
    -------
    tuple of int
        One cell for each coordinate.
    """
    return gate.draw(DeepPoint(cells, choice), tuple(columns), entropy)


def sides(column: Runs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Surplus of records below each run over those not below, and of those above over those not above.

    Both arrays have shape (runs,), in records; the first rises and the second falls.
    """
    over = 2 * column.below - column.total
    under = 2 * column.above - column.total
    return over, under


def reaches(column: Runs, tops: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last run of score at most each of ``tops``; the last below the first where there is none."""
    over, under = sides(column)
    high = np.searchsorted(over, tops, side="right") - 1
    low = np.searchsorted(-under, -tops, side="left")
    return np.minimum(low, len(over) - 1), np.where(low > high, -1, high)


def within_shell(cells: Cells, outer: Box, inner: Box | None, entropy: Entropy) -> tuple[int, ...]:
    """A point of the outer box that is not in the inner one, by public weight.

    The shell is cut by the first column in which a point leaves the inner box: as many pieces as columns.

    Parameters
    ----------
    cells : Cells
        Candidates of a coordinate.
    outer : Box
        Ranges of cells of each coordinate.
    inner : Box or None
        Box to leave out; None for an empty one.
    entropy : Entropy
        Source of the noise.

    Returns
    -------
    tuple of int
        One cell for each coordinate.

    Raises
    ------
    AssertionError
        Never: the number drawn is below the weight of the shell.
    """
    if inner is None:
        return tuple(cell_of(cells, [edge], entropy) for edge in outer)
    pieces: list[list[list[tuple[int, int]]]] = []
    for place, (one, two) in enumerate(zip(outer, inner, strict=True)):
        beside = [(one[0], two[0]), (two[1], one[1])]
        pieces.append([[edge] for edge in inner[:place]] + [beside] + [[edge] for edge in outer[place + 1 :]])
    masses = []
    for piece in pieces:
        mass = 1
        for ranges in piece:
            mass *= sum(weight_of(cells, edge) for edge in ranges)
        masses.append(mass)
    at = uniform(sum(masses), entropy)
    for piece, mass in zip(pieces, masses, strict=True):
        if at < mass:
            return tuple(cell_of(cells, ranges, entropy) for ranges in piece)
        at -= mass
    raise AssertionError("a number below the sum is in one of the parts")


def weight_of(cells: Cells, edge: tuple[int, int]) -> int:
    """The public weight of the cells first <= cell < stop."""
    first, stop = edge
    return sum(max(0, min(s.stop, stop) - max(s.first, first)) * s.weight for s in cells.segments)


def cell_of(cells: Cells, ranges: Sequence[tuple[int, int]], entropy: Entropy) -> int:
    """A cell of the ranges by its public weight.

    Parameters
    ----------
    cells : Cells
        Candidates with their public weights.
    ranges : sequence of tuple of int and int
        Ranges of cells, each from its first to before its last.
    entropy : Entropy
        Source of the noise.

    Returns
    -------
    int
        Number of the cell.

    Raises
    ------
    AssertionError
        Never: the number drawn is below the weight of the ranges.
    """
    at = uniform(sum(weight_of(cells, edge) for edge in ranges), entropy)
    for first, stop in ranges:
        for s in cells.segments:
            low, high = max(s.first, first), min(s.stop, stop)
            mass = max(0, high - low) * s.weight
            if at < mass:
                return low + at // s.weight
            at -= mass
    raise AssertionError("a number below the sum is in one of the parts")
