"""An adaptive grid of one to four columns: boxes are halved along every axis where noisy counts say it is worth while.

    one box -> noisy count -> split where it is at least ``bar`` -> noisy counts of the parts -> ... -> boxes

Level by level: the boxes of a level are a partition chosen by the noisy counts above it, which are public by then, and
every level pays its share of epsilon. PrivTree (Zhang, Xiao and Xie 2016) pays for all levels once, by noise on counts
that decay with depth; this simpler scheme is proved by sequential composition alone, and its depth is public and small
(docs/proofs/synthesis.md, section 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.data.query import Query
from reticent.data.table import Result
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import Geometric, gate
from reticent.outcome import Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import NORMAL, Density
from reticent.synthesis.histogram import BETA, Grid, projected, recut
from reticent.synthesis.size import Expected, swapped

METHOD: Final = "adaptive grid"
DEEPEST: Final = 12
CROWD: Final = 1 << 14  # boxes beyond which nothing is split further

Integers = NDArray[np.int64]
Box = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Adaptive:
    """So many levels of boxes on a grid of 2^(levels - 1) cells along each axis; ``each`` is the noise of a level."""

    grid: Grid
    each: Geometric
    levels: int
    bar: int
    people: int | None = None

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([self.each.guarantee] * self.levels, label=METHOD)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.grid.query,)

    def draw(self, results: Sequence[Result], entropy: Entropy) -> Outcome[Density]:
        (result,) = results
        assert result.records is not None
        places = self.grid.places(result.records)
        inside = places[places < self.grid.cells]
        cells = np.stack(np.unravel_index(inside, [one.cells for one in self.grid.axes]), axis=1).astype(np.int64)
        present, lacking = gate.draw(self.each, (len(inside), len(places) - len(inside)), entropy)
        found = [((0,) * len(self.grid.axes), 0, present)]
        leaves: list[tuple[Box, int, int]] = []
        for level in range(1, self.levels):
            chosen = [box for box, _, count in found if count >= self.bar]
            if (len(chosen) << len(self.grid.axes)) + len(leaves) > CROWD:
                chosen = []
            leaves += [one for one in found if one[0] not in set(chosen)]
            halves = [
                tuple(2 * at + up for at, up in zip(box, half, strict=True))
                for box in chosen
                for half in product((0, 1), repeat=len(box))
            ]
            # an empty level is asked for too: what is paid for does not depend on what came out
            noisy = gate.draw(self.each, tuple(_counts(cells >> (self.levels - 1 - level), halves)), entropy)
            found = [(box, level, count) for box, count in zip(halves, noisy, strict=True)]
        return Reply(self._density([*leaves, *found], present, lacking))

    def _density(self, leaves: Sequence[tuple[Box, int, int]], present: int, lacking: int) -> Density:
        total = max(present, 1)
        everyone = self.people if self.people is not None else max(present + max(lacking, 0), 1)
        sides = [self.levels - 1 - level for _, level, _ in leaves]
        boxes = np.array(
            [[(at << side, (at + 1) << side) for at in box] for (box, _, _), side in zip(leaves, sides, strict=True)],
            np.int64,
        )
        counts = np.array([count for _, _, count in leaves], np.float64)
        if counts.max() > 0.0:
            masses = projected(counts, float(total)) / total
        else:
            spans = [one.steps[boxes[:, k, 1]] - one.steps[boxes[:, k, 0]] for k, one in enumerate(self.grid.axes)]
            masses = np.prod(spans, axis=0) / math.prod(float(one.steps[-1]) for one in self.grid.axes)
        held = masses > 0.0
        return Density(
            self.grid.axes,
            masses[held] / masses[held].sum(),
            METHOD,
            self.guarantee,
            max(round(everyone - max(lacking, 0)), 1),
            boxes[held],
            missing=min(max(lacking, 0) / max(everyone, 1), 1.0),
            band=np.full(int(held.sum()), min(self.each.radius(BETA) / total, 1.0)),
            words=(
                f"boxes with a noisy count of {self.bar} or more were halved along every axis, at most "
                f"{self.levels - 1} times",
            ),
        )

    def expected(self, people: int) -> Expected:
        """The noise of one box."""
        n = max(people, 1)
        return Expected(self.each.radius(BETA) / n, NORMAL / (2.0 * math.sqrt(n)), "of a single box")


def adaptive(
    axes: Sequence[Axis], neighbours: Adjacency, epsilon: Fraction, *, levels: int, people: int | None = None
) -> Adaptive:
    """The plan: a box is split where its parts can be expected to hold more than noise.

    Raises
    ------
    PublicParameterError
        For fewer than two levels, more than ``DEEPEST``, or whole-number columns with fewer values than cells.
    QuestionError
        Before rows are read: where the public number of records is too small for a single split.
    """
    if not 2 <= levels <= DEEPEST:
        raise PublicParameterError(f"levels must be in [2, {DEEPEST}], got {levels}")
    grid = recut(Grid(tuple(axes)), 1 << (levels - 1))
    if any(one.cells != 1 << (levels - 1) for one in grid.axes):
        raise PublicParameterError(f"a whole-number column has fewer than {1 << (levels - 1)} values: fewer levels")
    each = Geometric(L1(Fraction(swapped(neighbours)), neighbours), epsilon / levels)
    bar = (1 << len(grid.axes)) * each.radius(BETA)
    if people is not None and bar > people:
        raise QuestionError(
            f"A box needs {bar:,} records to be split at this ε, and there are {people:,}. Nothing was charged."
        )
    return Adaptive(grid, each, levels, max(bar, 1), people)


def _counts(cells: Integers, boxes: Sequence[Box]) -> list[int]:
    """How many of the rows are each box; rows in no box do not count."""
    if not boxes:
        return []
    places = {box: place for place, box in enumerate(boxes)}
    found, times = np.unique(cells, axis=0, return_counts=True) if len(cells) else (cells, np.zeros(0, np.int64))
    counts = [0] * len(boxes)
    for box, many in zip(map(tuple, found.tolist()), times.tolist(), strict=True):
        if box in places:
            counts[places[box]] = many
    return counts
