"""Decision trees and forests: splits at public thresholds, chosen privately or at random; leaves with noisy counts.

    candidates   for every column ``THRESHOLDS`` thresholds evenly inside its bounds
    level        every node of the level chooses one by the exponential mechanism
    score        Euclidean lengths of the counts of its sides; on the last level the rows that their labels would fit
    leaves       rows of every class in every leaf, with geometric noise

A row is in one node of a level, so a level costs what its dearest node does (a partition fixed by the levels above).
One more row raises every score by at most one row and lowers none. About half of the rows, which all candidates share,
it moves by half a row. That is proved row by row; a person with several rows, or a replaced one, is a group of rows.
Trees are pure: a delta is not spent. docs/proofs/learning.md, section 6.

Source: Friedman and Schuster 2010 (splits by the exponential mechanism; their "max" is the score of the last level);
Fletcher and Islam 2017 (random forests). Deviations: thresholds are public, so that no split is a value of a row; every
tree sees all rows and pays its share. Lengths stand for the Gini impurity, which a row can move up as well as down and
needs twice the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import uniform
from reticent.learning.classifiers import Classifier, indices
from reticent.learning.fit.estimator import Work
from reticent.learning.fit.fit_release import Circumstances, price_of
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1, Linf
from reticent.statistics.scaling import Bound, Floats, Integers

THRESHOLDS: Final = 15
LEAVES: Final = Fraction(2, 5)  # of a tree's price, where splits are chosen privately
DEEPEST: Final = 16
ROWS_EACH: Final = 50_000  # epsilon times rows that one tree of a forest is worth
MOST_TREES: Final = 10
DEEPER: Final = (300, 1_000, 10_000, 50_000)  # epsilon times rows from which one level more is worth its noise
BLIND: Final = 5  # levels of random splits, which cost nothing and of which few say something
ASSUMED: Final = 10_000  # rows, where their number is private and was not declared
FINE: Final = 1 << 7  # steps of a score to a row
ROW: Final = Adjacency("add_remove", unit="row")
Splitter: TypeAlias = Literal["best", "random"]
Seen: TypeAlias = Callable[[Integers], Integers]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A full binary tree: node i has sides 2i + 1 (at most the threshold) and 2i + 2; noisy counts of the leaves."""

    column: Integers
    threshold: Floats
    counts: Floats

    def votes(self, rows: Floats) -> Floats:
        """The noisy counts of the leaf of every row, of shape (n, classes)."""
        return np.asarray(self.counts[descend(self.column, self.threshold, rows) - len(self.column)])


def lengths(counts: Integers) -> Integers:
    """For every side of a split the Euclidean length of its counts of classes, in steps of 1 / FINE, rounded down.

    A pure side is as long as it has rows, a mixed one shorter, even where its commonest class stays the same.
    """
    squares: Integers = (counts * counts).sum(axis=1)  # below 2^63 for less than 2^31 rows
    return np.array([math.isqrt(FINE * FINE * square) for square in squares.tolist()], np.int64)


def fitting(counts: Integers) -> Integers:
    """For every side of a split the rows of its commonest class, in steps of 1 / FINE."""
    return np.asarray(FINE * counts.max(axis=1))


def descend(column: Integers, threshold: Floats, rows: Floats) -> Integers:
    """The node every row ends in, below all nodes that split.

    Parameters
    ----------
    column : array of int
        Column of each node that splits.
    threshold : array of float
        Threshold of each of these nodes, in the unit of its column.
    rows : array of shape (n, columns), float

    Returns
    -------
    array of shape (n,), int
    """
    node = np.zeros(len(rows), np.int64)
    places = np.arange(len(rows))
    while len(node) and int(node[0]) < len(column):
        node = 2 * node + 1 + (rows[places, column[node]] > threshold[node])
    return node


class BinnedRows(NamedTuple):
    """Rows by bins.

    ``bins`` and ``both``, bin times classes plus class, of shape (columns, n); ``of`` the places of their classes.
    Private.
    """

    bins: NDArray[np.int8]
    both: NDArray[np.int16] | Integers
    of: Integers


@dataclass(frozen=True)
class Growth:
    """One tree of ``depth`` levels over columns with ``bounds``, for ``epsilon`` in all.

    Guarantee
    ---------
    Pure: levels and leaves in sequence, each a partition of the rows, lifted from a row to a person.
    """

    bounds: tuple[Bound, ...]
    classes: int
    depth: int
    epsilon: Fraction
    neighbours: Adjacency
    splitter: Splitter = "best"
    columns: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= DEEPEST:
            raise PublicParameterError(f"max_depth must lie in 1..{DEEPEST}, got {self.depth}")
        if self.splitter not in ("best", "random"):
            raise PublicParameterError('splitter is "best" or "random"')
        if self.columns is not None and self.columns < 1:
            raise PublicParameterError(f"max_features must be at least 1, or None for all columns, got {self.columns}")

    @property
    def of_row(self) -> Fraction:
        """The epsilon of one row, so that a person costs ``epsilon``."""
        return self.epsilon / (self.neighbours.rows * (2 if self.neighbours.kind == "substitute" else 1))

    @cached_property
    def choosing(self) -> Exponential | None:
        """The choice of one node: half a row either way."""
        if self.splitter == "random":
            return None
        return Exponential(Linf(Fraction(FINE // 2), ROW), self.of_row * (1 - LEAVES) / self.depth)

    @cached_property
    def counting(self) -> Geometric:
        return Geometric(L1(Fraction(1), ROW), self.of_row * (LEAVES if self.choosing else 1))

    @cached_property
    def guarantee(self) -> Guarantee:
        levels = []
        if self.choosing is not None:
            for level in range(self.depth):
                nodes = [self.choosing.guarantee] * (1 << level)
                levels.append(compose.across(nodes[:2], neighbours=ROW, label=f"level {level + 1}"))
        whole = compose.in_sequence([*levels, self.counting.guarantee], label="a tree")
        return compose.of_person(whole, self.neighbours, rows=self.neighbours.rows)

    def draw(self, values: Floats, places: Floats, entropy: Entropy) -> Tree:
        """The tree from rows of shape (n, columns) and the places of their classes.

        Parameters
        ----------
        values : array of shape (n, columns), float
        places : array of shape (n,)
            Place of each row's class.
        entropy : Entropy

        Returns
        -------
        Tree
        """
        return self.grown(self.binned(values, places), entropy)

    def grown(self, rows: BinnedRows, entropy: Entropy) -> Tree:
        """The tree from rows that were binned: once, for all the trees of a forest."""
        inner = (1 << self.depth) - 1
        column, cuts, threshold = np.zeros(inner, np.int64), np.zeros(inner, np.int64), np.zeros(inner)
        node = np.zeros(len(rows.of), np.int64)
        for level in range(self.depth):
            first = (1 << level) - 1
            seen = fitting if level == self.depth - 1 else lengths
            for place in range(first, 2 * first + 1):
                here = np.flatnonzero(node == place)
                column[place], cuts[place] = self.split(rows, here, seen, entropy)
                threshold[place] = self.edges[column[place]][cuts[place]]
                node[here] = 2 * place + 1 + (rows.bins[column[place], here] > cuts[place])
        counts = np.bincount((node - inner) * self.classes + rows.of, minlength=(inner + 1) * self.classes)
        drawn = gate.draw(self.counting, counts.tolist(), entropy)
        return Tree(column, threshold, np.array(drawn, np.float64).reshape(inner + 1, self.classes))

    @cached_property
    def edges(self) -> tuple[Floats, ...]:
        """Public thresholds of every column."""
        found = []
        for low, high in self.bounds:
            step = (high - low) / (THRESHOLDS + 1)
            found.append(np.array([float(low + step * (i + 1)) for i in range(THRESHOLDS)]))
        return tuple(found)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Public weight of a threshold of every column: all those of one in [0, 1], an indicator, are one elsewhere."""
        return tuple(1 if low == 0 and high == 1 else THRESHOLDS for low, high in self.bounds)

    def binned(self, values: Floats, places: Floats) -> BinnedRows:
        """Rows that have all their values and a class; bin i has values above i thresholds of their column."""
        there = np.asarray(np.isfinite(values).all(axis=1) & np.isfinite(places), np.bool_)
        found = np.empty((len(self.bounds), int(there.sum())), np.int8)
        for place, (edges, bound) in enumerate(zip(self.edges, self.bounds, strict=True)):
            inside = np.clip(values[there, place], float(bound[0]), float(bound[1]))
            found[place] = np.searchsorted(edges, inside, side="left")
        of = places[there].astype(np.int64)
        both = np.empty(found.shape, np.int16 if (THRESHOLDS + 1) * self.classes < 1 << 15 else np.int64)
        for place, bins in enumerate(found):
            both[place] = bins.astype(np.int64) * self.classes + of
        return BinnedRows(found, both, of)

    def split(self, rows: BinnedRows, here: Integers, seen: Seen, entropy: Entropy) -> tuple[int, int]:
        """A column and the place of a threshold, for the rows of one node; ``seen`` is the worth of sides.

        Parameters
        ----------
        rows : BinnedRows
        here : array of int
            Rows of the node.
        seen : function
            Worth of the two sides.
        entropy : Entropy

        Returns
        -------
        pair of int
        """
        offered = self.offered(entropy)
        if self.choosing is None:
            return offered[uniform(len(offered), entropy)], uniform(THRESHOLDS, entropy)
        tables, size = [], (THRESHOLDS + 1) * self.classes
        for column in offered:
            tables.append(np.bincount(rows.both[column].take(here), minlength=size))
        below = np.array(tables, np.int64).reshape(len(offered), THRESHOLDS + 1, self.classes).cumsum(axis=1)
        sides = (below[:, :-1], below[:, -1:] - below[:, :-1])
        # Half of the rows, the same for all candidates, changes no chance and centres what a row changes.
        worth = sum(seen(side.reshape(-1, self.classes)) for side in sides)
        weights = np.repeat(np.array([self.weights[column] for column in offered], np.int64), THRESHOLDS)
        scores = FINE // 2 * len(here) - np.asarray(worth, np.int64)
        place, cut = divmod(gate.draw(self.choosing, Candidates(scores, weights), entropy), THRESHOLDS)
        return offered[place], cut

    def offered(self, entropy: Entropy) -> list[int]:
        """The columns one node may split at."""
        listed = list(range(len(self.bounds)))
        if self.columns is None or self.columns >= len(listed):
            return listed
        return sorted(listed.pop(uniform(len(listed), entropy)) for _ in range(self.columns))


@dataclass(kw_only=True, eq=False, repr=False)
class TreeModel(Classifier):
    """Labels by the noisy counts of the leaves, summed over the trees: the base of trees and forests."""

    def _grown(self, y: object, plan: Growth, trees: int) -> Work:
        labels = self._labels(y)
        guarantee = compose.in_sequence([plan.guarantee] * trees, label=type(self).__name__)

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            rows = plan.binned(values, indices(targets, labels))
            self._trees = [plan.grown(rows, entropy) for _ in range(trees)]
            self.classes_ = labels

        return Work(guarantee, draw)

    def predict_proba(self, X: object) -> Floats:
        """Chances of the classes, of shape (n, classes)."""
        return self._mean(self._rows(X))

    def _mean(self, rows: Floats) -> Floats:
        votes = np.maximum(np.sum([tree.votes(rows) for tree in self._trees], axis=0), 0.0) + 1.0
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def _labelled(self, rows: Floats) -> NDArray[np.generic]:
        return np.asarray(self.classes_[self._mean(rows).argmax(axis=1)])


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionTreeClassifier(TreeModel):
    """One tree; splits by the exponential mechanism among public thresholds.

    Parameters
    ----------
    max_depth : int, optional
        By default 1 to 5 for two classes, by epsilon times the public (or an assumed) number of rows. Every doubling of
        the classes adds a level. Random splits have 5.
    splitter : "best" or "random"
        Whether 3/5 of the price choose the splits, or they are drawn at random and all of it counts the leaves.
    """

    max_depth: int | None = None
    splitter: Splitter = "best"

    def _work(self, here: Circumstances, y: object) -> Work:
        price = price_of(self.epsilon, 0, here)
        classes = len(self._labels(y))
        depth = depth_for(self.splitter, price.epsilon, here, classes) if self.max_depth is None else self.max_depth
        plan = Growth(here.bounds, classes, depth, price.epsilon, price.neighbours, self.splitter)
        return self._grown(y, plan, 1)


@dataclass(kw_only=True, eq=False, repr=False)
class RandomForestClassifier(TreeModel):
    """Trees that choose their splits among few columns each; every tree sees all rows and pays its share.

    Parameters
    ----------
    n_estimators : int, optional
        By default as many as leave each tree an epsilon of ``ROWS_EACH`` over the public (or an assumed) number of
        rows, 1 to 10: dividing a small epsilon costs more than a second tree gives.
    max_depth : int, optional
        By default that of a ``DecisionTreeClassifier`` of the epsilon of one tree.
    splitter : "best" or "random"
    max_features : int, optional
        Columns offered to a node; by default all, since the choices are random enough by their privacy.
    """

    n_estimators: int | None = None
    max_depth: int | None = None
    splitter: Splitter = "best"
    max_features: int | None = None

    def _work(self, here: Circumstances, y: object) -> Work:
        price, width = price_of(self.epsilon, 0, here), len(here.bounds)
        trees = trees_for(price.epsilon, here) if self.n_estimators is None else self.n_estimators
        if not 1 <= trees <= 1000:
            raise PublicParameterError(f"n_estimators must lie in 1..1,000, got {trees}")
        few = width if self.max_features is None else self.max_features
        classes, share = len(self._labels(y)), price.epsilon / trees
        depth = depth_for(self.splitter, share, here, classes) if self.max_depth is None else self.max_depth
        plan = Growth(here.bounds, classes, depth, share, price.neighbours, self.splitter, few)
        return self._grown(y, plan, trees)


def worth(epsilon: Fraction, here: Circumstances) -> float:
    """Epsilon times rows, of one row and before what is kept aside: what depth and number of trees go by."""
    rows = (here.people or ASSUMED) / here.neighbours.rows / (2 if here.neighbours.kind == "substitute" else 1)
    return float(epsilon / (1 - here.aside)) * rows


def trees_for(epsilon: Fraction, here: Circumstances) -> int:
    return max(1, min(MOST_TREES, int(worth(epsilon, here) / ROWS_EACH)))


def depth_for(splitter: Splitter, epsilon: Fraction, here: Circumstances, classes: int) -> int:
    """Levels of a tree that give every class a leaf, and one for every limit of ``DEEPER`` that is reached.

    Parameters
    ----------
    splitter : "best" or "random"
    epsilon : Fraction
    here : Circumstances
    classes : int

    Returns
    -------
    int
    """
    if splitter == "random":
        return BLIND
    known = worth(epsilon, here)
    return min(DEEPEST, (classes - 1).bit_length() + sum(known >= limit for limit in DEEPER))


__all__ = ["DecisionTreeClassifier", "Growth", "RandomForestClassifier", "Tree"]
