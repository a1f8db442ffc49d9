"""An adaptive grid of one to four columns: boxes are halved along every axis where it is worth while, by PrivTree.

    records -> boxes, by PrivTree -> noisy counts of boxes, atoms and missing values -> projection -> Density

The boxes cost three tenths of epsilon, however often one of them is halved, and are public when they are counted. With
atoms and missing values they are a partition, so one vector of counts with geometric noise costs the rest. Where
records crowd boxes are small, and empty space stays in large ones.

Source: Zhang, Xiao and Xie 2016. Proof: mechanisms/privtree.py; docs/proofs/synthesis.md, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.privtree import Box, PrivTree, counts_of
from reticent.outcome import Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.synthesis.atoms import emptied
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import NORMAL, Density, Floats
from reticent.synthesis.histogram import BETA, UNIFORM, RecordGrid, projected, recut
from reticent.synthesis.size import DistributionAccuracy, RecordCount, pooled, swapped

METHOD: Final = "adaptive grid"
DEEPEST: Final = 12  # halvings
GROWING: Final = Fraction(3, 10)  # of epsilon, for the boxes: more splits them down to what noise hides

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Boxes by ``tree`` on a grid of 2^depth cells along each axis, then counts of them and of atoms by ``each``.

    Attributes
    ----------
    people : int or None
        The public number of records, those without a value included.
    """

    grid: RecordGrid
    tree: PrivTree
    each: Geometric
    people: int | None = None

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([self.tree.guarantee, self.each.guarantee], label=METHOD)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.grid.query,)

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        (result,) = results
        assert result.records is not None
        axes, cells = self.grid.axes, self.grid.cells
        places, held = np.unique(self.grid.places(result.records), return_counts=True)
        inside = places < cells
        at = np.stack(np.unravel_index(places[inside], [one.cells for one in axes]), axis=1).astype(np.int64)
        exact = dict(zip(map(tuple, at.tolist()), held[inside].tolist(), strict=True))
        boxes = gate.draw(self.tree, exact, entropy)
        apart = dict(zip(places[~inside].tolist(), held[~inside].tolist(), strict=True))
        beside = [apart.get(cells + place, 0) for place in range(len(self.grid.atoms) + 1)]
        noisy = gate.draw(self.each, (*self._counts(boxes, at, held[inside]), *beside), entropy)
        return Reply(self._density(boxes, np.array(noisy, np.float64)))

    def _counts(self, boxes: Sequence[Box], cells: Integers, held: Integers) -> list[int]:
        """Level by level, since boxes of one level have one size."""
        table = np.array(boxes, np.int64)
        counts = np.zeros(len(table), np.int64)
        for level in np.unique(table[:, 0]).tolist():
            these = table[:, 0] == level
            counts[these] = counts_of(cells >> (self.tree.depth - level), held, table[these, 1:])
        return [int(count) for count in counts]

    def _density(self, boxes: Sequence[Box], noisy: Floats) -> Density:
        """Noisy counts of boxes, atoms and missing values, in this order, as a density."""
        table = np.array(boxes, np.int64)
        side = (self.tree.depth - table[:, :1])[:, :, None]
        blocks = np.stack([table[:, 1:], table[:, 1:] + 1], axis=2) << side
        total, unsure = pooled(RecordCount(self.people), self.people, noisy.tolist(), self.each)
        radius = self.each.radius(BETA)
        words = [f"boxes hold at most what noise of ±{radius} leaves of {total:,.0f} records"]
        if noisy[:-1].max() <= 0.0:
            words, missing = [UNIFORM], min(max(float(noisy[-1]), 0.0) / max(total, 1.0), 1.0)
            shares = np.concatenate([self._even(blocks), np.zeros(len(self.grid.atoms))])
        else:
            found = projected(noisy, max(total, 1.0))
            present = float(found[:-1].sum())
            missing = float(found[-1] / found.sum())
            shares = (
                found[:-1] / present if present > 0.0 else np.append(self._even(blocks), noisy[len(boxes) : -1] * 0)
            )
        masses, atoms = shares[: len(boxes)], shares[len(boxes) :]
        here = max(total * (1.0 - missing), 1.0)
        density = Density(
            self.grid.axes,
            masses,
            METHOD,
            self.guarantee,
            max(round(here), 1),
            blocks,
            atoms=tuple((float(at), float(mass)) for at, mass in zip(self.grid.atoms, atoms, strict=True)),
            missing=missing,
            band=np.minimum(np.hypot(radius, NORMAL * unsure * masses) / here, 1.0),
            shift=masses - noisy[: len(boxes)] / here,
            words=tuple(words),
            beside=min(math.hypot(radius, NORMAL * unsure * max(missing, *atoms.tolist(), 0.0)) / here, 1.0),
        )
        return emptied(density, [value for value, _ in density.atoms])

    def _even(self, blocks: Integers) -> Floats:
        """The share of each block in the uniform density."""
        spans = [one.steps[blocks[:, k, 1]] - one.steps[blocks[:, k, 0]] for k, one in enumerate(self.grid.axes)]
        found: Floats = np.prod(spans, axis=0) / math.prod(float(one.steps[-1]) for one in self.grid.axes)
        return found

    def expected(self, people: int) -> DistributionAccuracy:
        """The noise of one box."""
        n = max(people, 1)
        return DistributionAccuracy(self.each.radius(BETA) / n, NORMAL / (2.0 * math.sqrt(n)), "of a single box")


def adaptive(
    axes: Sequence[Axis],
    neighbours: Adjacency,
    epsilon: Fraction,
    *,
    depth: int,
    people: int | None = None,
    atoms: Sequence[Fraction] = (),
) -> Adaptive:
    """The plan.

    Parameters
    ----------
    axes : sequence of Axis, one to four
        Their bounds alone matter.
    neighbours : Adjacency
        Of persons with at most ``neighbours.rows`` records.
    epsilon : Fraction
        Price of the whole release.
    depth : int
        How often a box can be halved, in [1, 12]: 2^depth cells along each axis.
    people : int, optional
        The public number of records, those without a value included.
    atoms : sequence of Fraction
        Public values of one column that have a count of their own, such as 0.

    Returns
    -------
    Adaptive
        The plan: its guarantee, its queries and ``draw``.

    Raises
    ------
    PublicParameterError
        For a depth out of range, or whole-number columns with fewer values than cells.
    QuestionError
        Before rows are read: where the noise of a count is more than the public number of records.
    """
    if not 1 <= depth <= DEEPEST:
        raise PublicParameterError(f"a box is halved 1 to {DEEPEST} times, got {depth}")
    grid = recut(RecordGrid(tuple(axes), tuple(atoms)), 1 << depth)
    if any(one.cells != 1 << depth for one in grid.axes):
        raise PublicParameterError(f"a whole-number column has fewer than {1 << depth} values: fewer cells")
    tree = PrivTree(neighbours, epsilon * GROWING, len(grid.axes), depth)
    each = Geometric(L1(Fraction(swapped(neighbours)), neighbours), epsilon * (1 - GROWING))
    if people is not None and each.radius(BETA) > people:
        raise QuestionError(
            f"The noise of one box at this ε is ±{each.radius(BETA):,}, more than the {people:,} records: only the "
            "uniform would come out. Nothing was charged."
        )
    return Adaptive(grid, tree, each, people)
