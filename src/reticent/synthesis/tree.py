"""Counts of a fine grid by a binary tree: noise on every node, made consistent, in a distribution function that rises.

    counts of 2^L cells -> of all nodes -> geometric noise -> least squares -> running sums -> isotonic -> Density

For grids that are fine against n epsilon, where a histogram's running sums wander: a running sum here is made of at
most L + 1 nodes. It is the distribution function that is projected and not the cells: putting the cells on the simplex
would undo what the tree is for (docs/theory/synthesis.md).

Source: Hay, Rastogi, Miklau and Suciu 2010, Theorem 3 (least squares for a binary tree). Proof of the sensitivity:
docs/proofs/synthesis.md, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from reticent.data.query import Query, Tally
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy, Replayed
from reticent.errors import QuestionError
from reticent.exact.laplace import discrete_laplace
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import NORMAL, Density, Floats
from reticent.synthesis.size import DistributionAccuracy, swapped

METHOD: Final = "tree"
LEVEL: Final = 0.95
REPEATS: Final = 60  # for how far the distribution function wanders
FINEST: Final = 16  # levels below the root


@dataclass(frozen=True, slots=True)
class CountTree:
    """``axis`` is the public grid of leaves, padded with cells that hold nothing to a power of two."""

    axis: Axis
    mechanism: Geometric

    @property
    def depth(self) -> int:
        """Levels below the root."""
        return depth_of(self.axis)

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([self.mechanism.guarantee], label=METHOD)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (Tally(self.axis.column, self.axis.edges),)

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        (result,) = results
        exact = nodes(result.vectors[0], self.depth)
        noisy = np.array(gate.draw(self.mechanism, exact, entropy), np.float64)
        leaves = consistent(noisy[None, :], self.depth)[0, : self.axis.cells]
        rising = isotonic(np.cumsum(leaves))
        n = float(rising[-1])
        words = ["the distribution function is the rising one nearest to noisy counts of a binary tree"]
        if n < 1.0:
            masses, words = self.axis.sizes / self.axis.sizes.sum(), ["no records stand out: the uniform density"]
        else:
            masses = np.diff(np.clip(rising, 0.0, n), prepend=0.0) / n
        size = max(n, 1.0)
        cell, wander = self.noise(np.cumsum(masses) * size)
        return Reply(
            Density(
                (self.axis,),
                masses,
                METHOD,
                self.guarantee,
                max(round(n), 1),
                band=np.full(len(masses), cell),
                wander=wander,
                words=tuple(words),
            )
        )

    def noise(self, running: Floats) -> tuple[float, float]:
        """Half-widths at 95 % of one mass and of all values of the distribution function, for these running counts.

        From released or public counts alone, drawn again and again as the release was; so it belongs to no budget.
        """
        size, n = (2 << self.depth) - 1, max(float(running[-1]), 1.0)
        noise = discrete_laplace(self.mechanism.scale, REPEATS * size, Replayed("noise of a tree"))
        leaves = consistent(noise.reshape(REPEATS, size).astype(np.float64), self.depth)[:, : self.axis.cells]
        again = [isotonic(running + sums) for sums in np.cumsum(leaves, axis=1)]
        off = np.array([np.clip(one, 0.0, None) / max(float(one[-1]), 1.0) for one in again]) - running / n
        cells = np.abs(np.diff(off, axis=1, prepend=0.0))
        wander = np.abs(off).max(axis=1)
        return min(float(np.quantile(cells, LEVEL)), 1.0), min(float(np.quantile(wander, LEVEL)), 1.0)

    def expected(self, people: int) -> DistributionAccuracy:
        """Everywhere on the grid at once, for records spread evenly."""
        n = max(people, 1)
        even = n * np.arange(1.0, self.axis.cells + 1.0) / self.axis.cells
        return DistributionAccuracy(
            self.noise(even)[1], NORMAL / (2.0 * math.sqrt(n)), f"{self.axis.cells} cells, all at once"
        )


def tree(axis: Axis, neighbours: Adjacency, epsilon: Fraction, *, people: int | None = None) -> CountTree:
    """The plan. A person replaced moves each level below the root by twice the rows; the root only if fewer move.

    Parameters
    ----------
    axis : Axis
        The public grid, of at most 2^16 cells.
    neighbours : Adjacency
        Of persons with at most ``neighbours.rows`` records.
    epsilon : Fraction
        Price of the whole release.
    people : int, optional
        The public number of records.

    Returns
    -------
    CountTree
        The plan: its guarantee, its queries and ``draw``.

    Raises
    ------
    QuestionError
        Before rows are read: for more than 2^16 cells, or noise larger than the public number of records.
    """
    depth = depth_of(axis)
    if depth > FINEST:
        raise QuestionError(f"{axis.cells:,} cells are more than 2^{FINEST}: take fewer. Nothing was charged.")
    plan = CountTree(axis, Geometric(L1(Fraction(reach(depth, neighbours)), neighbours), epsilon))
    if people is not None and plan.mechanism.radius(1.0 - LEVEL) > people:
        raise QuestionError(
            f"The noise of one node at this ε is ±{plan.mechanism.radius(1.0 - LEVEL):,}, more than the {people:,} "
            "records: only the uniform would come out. Nothing was charged."
        )
    return plan


def reach(depth: int, neighbours: Adjacency) -> int:
    """The most that all nodes together move: docs/proofs/synthesis.md, section 4."""
    if neighbours.kind == "substitute":
        return max(depth * swapped(neighbours), neighbours.rows)
    return (depth + 1) * neighbours.rows


def depth_of(axis: Axis) -> int:
    """The least L with 2^L cells or more."""
    return (axis.cells - 1).bit_length()


def nodes(counts: Sequence[int], depth: int) -> list[int]:
    """The counts of all nodes, from the root to the leaves, left to right."""
    level = [*counts, *[0] * ((1 << depth) - len(counts))]
    found = [level]
    while len(level) > 1:
        level = [low + high for low, high in zip(level[::2], level[1::2], strict=True)]
        found.append(level)
    return [count for level in reversed(found) for count in level]


def consistent(noisy: Floats, depth: int) -> Floats:
    """The leaves of the least-squares estimate from equally noisy nodes: (repeats, nodes) to (repeats, leaves)."""
    levels = [noisy[:, (1 << level) - 1 : (2 << level) - 1] for level in range(depth + 1)]
    best = [levels[-1]]
    for height in range(2, depth + 2):
        own = levels[depth + 1 - height]
        below = best[0][:, ::2] + best[0][:, 1::2]
        share = 2.0 ** (height - 1) / (2.0**height - 1.0)
        best.insert(0, share * own + (1.0 - share) * below)
    found = best[0]
    for level in best[1:]:
        over = (found - level[:, ::2] - level[:, 1::2]) / 2.0
        found = level + np.repeat(over, 2, axis=1)
    return found


def isotonic(values: Floats) -> Floats:
    """The nearest sequence that does not fall, in Euclidean distance; in the largest difference it is no farther."""
    means: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        mean, size = value, 1
        while means and means[-1] >= mean:
            before, many = means.pop(), sizes.pop()
            mean, size = (mean * size + before * many) / (size + many), size + many
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means, np.float64), sizes)
