"""PrivTree: which boxes of a grid are worth halving, decided at one price however deep the tree becomes.

Statement. Boxes are halved along each of d axes into b = 2^d parts, from one box on, at most ``depth`` times. A box at
level l that holds c records has the score x = max(-F, c - l F) and is halved where x + Z >= 0, independent
P(Z = z) proportional to a^|z|, a = e^{-1/s}, F >= 1 whole. Let q = a^F, and m the most records that a neighbour has
more or less, a replaced one counted twice. The tree is eps-differentially private where

    1/s + a (1 - a) (1 + q / ((1 - q) (1 + a (1 - q)))) <= eps / m.

Source. Zhang, Xiao and Xie 2016, Theorem 3.1, for Laplace noise; the discrete form and its bound are derived here.

Proof. Let D' have one record more than D. A tree's probability is a product over the boxes in which a decision was
drawn. The earlier decisions alone determine if one is drawn. Only boxes that hold the record differ: a chain, one of
each level, halved but for the last. (1) *Halved boxes.* P(Z >= -x) grows with x, so each factor P'/P is at least 1, and
it is 1 where both scores are -F. Write x for the score with the record. Otherwise x >= 1 - F, and the score without it
is x - 1. For x <= 0 the factor is P(Z >= -x) / P(Z >= 1 - x) = 1/a, whose logarithm is 1/s. For x >= 1 it is (1 + a -
a^{x+1}) / (1 + a - a^x), whose logarithm is at most y(x) = a^x (1 - a) / (1 + a - a^x). This is at most 1/s, as a^x <=
a and 1 - a <= 1/s, and falls in x. Down the chain c does not grow, so scores above -F fall by F or more per level: of
those that count the last is at least 1 - F, the one before at least 1, then 1 + F, and so on. Together at most 1/s +
y(1) + y(1 + F) + y(1 + 2F) + ..., with y(1) = a (1 - a), and from y(1 + F) on the denominators are 1 + a - a q or more:
at most a (1 - a) (q + q^2 + ...) / (1 + a - a q). (2) *The box that is not halved*: P(Z <= -x - 1) falls by a factor of
at least a where x grows by at most 1: its logarithm lies in [-1/s, 0]. So the logarithm of P'/P lies between -1/s and
the bound, and a neighbour is at most m such steps away. A box at the last level, and boxes that are left because there
would be more than ``CROWD`` of them, draw no decision: their factor is 1.

The scale is the least of ``GRID`` public multiples that keeps this, certified in rationals. F is s ln b rounded up. A
box without records then has fewer than one halved part on average, and trees end.

Deviations. Noise is discrete and the fall whole. The source's scale (2b - 1) / ((b - 1) eps) per record is the largest
of the multiples; at eps = 1 and one axis less than two thirds of it is enough. The threshold is 0 as the source
proposes, and depth and number of boxes have public limits. Counts of the boxes are no part of it; they are paid apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.laplace import discrete_laplace
from reticent.exact.rounding import exp_down, exp_up
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import positive, show, stored
from reticent.privacy.sensitivity import L1

THEOREM: Final = Theorem(
    "privtree",
    "boxes halved where a noisy count, less a fall for each level, is not below 0",
    "Zhang, Xiao and Xie 2016, Theorem 3.1",
)

GRID: Final = 64  # scales that are tried, up to the source's
LN_TWO: Final = Fraction(6932, 10_000)  # above ln 2 = .693147...
PLACES: Final = 60  # bits of a place on the finest grid
WIDEST: Final = 1 << 48  # scale: scores, falls and noise fit 64 bits
CROWD: Final = 1 << 14  # boxes beyond which nothing is halved further

Integers = NDArray[np.int64]
Cells = Mapping[tuple[int, ...], int]
Box = tuple[int, ...]  # level, then the place along each axis among the 2^level boxes of it


@dataclass(frozen=True, slots=True)
class PrivTree:
    """Halves boxes of 1 to 4 ``axes`` up to ``depth`` >= 1 times, at ``epsilon`` > 0."""

    neighbours: Adjacency
    epsilon: Fraction
    axes: int
    depth: int

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if self.neighbours.kind == "local":
            raise PublicParameterError("a tree is grown from a table, not from answers of the local model")
        if isinstance(self.axes, bool) or not 1 <= self.axes <= 4:
            raise PublicParameterError(f"a tree has 1 to 4 axes, got {self.axes}")
        if isinstance(self.depth, bool) or not 1 <= self.depth <= PLACES // self.axes:
            raise PublicParameterError(f"depth must be in [1, {PLACES // self.axes}], got {self.depth}")
        if self.scale > WIDEST:
            raise PublicParameterError(f"at epsilon {show(self.epsilon)} the noise is wider than any table is long")

    @property
    def scale(self) -> Fraction:
        """Scale of the noise of a score, in records."""
        return scale_for(self.epsilon / _steps(self.neighbours), self.axes)

    @property
    def fall(self) -> int:
        """Penalty that a score pays at each level, in records."""
        return fall_of(self.scale, self.axes)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            PureDP(self.epsilon),
            self.neighbours,
            THEOREM,
            epsilon=show(self.epsilon),
            scale=show(self.scale),
            axes=str(self.axes),
        )

    @property
    def sensitivity(self) -> L1:
        """L1 sensitivity of the counts to one neighbour, over all cells."""
        return L1(Fraction(_steps(self.neighbours)), self.neighbours)

    def sample(self, exact: Cells, entropy: Entropy) -> tuple[Box, ...]:
        """The boxes that are not halved: a partition, level by level.

        Parameters
        ----------
        exact : mapping
            From cells of the finest grid, 0 <= place < 2^depth along each axis, to how many records >= 0 they hold.
        """
        listed = [(*cell, count) for cell, count in exact.items()]
        table = np.array(listed, np.int64).reshape(-1, self.axes + 1)
        cells, held = table[:, :-1], table[:, -1]
        if table.size and (table.min() < 0 or cells.max() >= 1 << self.depth):
            raise PublicParameterError("cells lie on the finest grid and hold 0 records or more")
        boxes, level = np.zeros((1, self.axes), np.int64), 0
        leaves: list[Box] = []
        while len(boxes) and level < self.depth and len(leaves) + (len(boxes) << self.axes) <= CROWD:
            counts = counts_of(cells >> (self.depth - level), held, boxes)
            scores = np.maximum(counts - level * self.fall, -self.fall)
            halved = scores + discrete_laplace(self.scale, len(boxes), entropy) >= 0
            leaves += [(level, *box) for box in boxes[~halved].tolist()]
            boxes, level = parts_of(boxes[halved]), level + 1
        return (*leaves, *((level, *box) for box in boxes.tolist()))


def parts_of(boxes: Integers) -> Integers:
    """The halves of boxes along every axis, one level further."""
    corners = np.array(list(product((0, 1), repeat=boxes.shape[1])), np.int64)
    found: Integers = (2 * boxes[:, None, :] + corners[None, :, :]).reshape(-1, boxes.shape[1])
    return found


def counts_of(cells: Integers, held: Integers, boxes: Integers) -> Integers:
    """Number of records in each of these distinct boxes; cells in no box do not count.

    Parameters
    ----------
    cells : array of shape (m, columns), int
        Boxes that hold records.
    held : array of shape (m,), int
        Records of each of them.
    boxes : array of shape (k, columns), int
        Distinct boxes.

    Returns
    -------
    array of shape (k,), int
    """
    found = np.zeros(len(boxes), np.int64)
    if len(cells) and len(boxes):
        spans = np.maximum(cells.max(axis=0), boxes.max(axis=0)) + 1
        keys, wanted = (np.ravel_multi_index(tuple(rows.T), tuple(spans.tolist())) for rows in (cells, boxes))
        order = np.argsort(wanted)
        place = np.minimum(np.searchsorted(wanted, keys, sorter=order), len(wanted) - 1)
        there = wanted[order][place] == keys
        np.add.at(found, order[place[there]], held[there])
    return found


def _steps(neighbours: Adjacency) -> int:
    return neighbours.rows * (2 if neighbours.kind == "substitute" else 1)


def fall_of(scale: Fraction, axes: int) -> int:
    """The least whole number of at least s ln b, but for the sixth digit of ln 2."""
    return max((scale * axes * LN_TWO).__ceil__(), 1)


def loss_above(scale: Fraction, fall: int) -> Fraction:
    """An upper bound of what one record more or less can cost: the left side of the statement."""
    low, high, q = exp_down(-1 / scale), exp_up(-1 / scale), exp_up(-fall / scale)
    return 1 / scale + high * (1 - low) * (1 + q / ((1 - q) * (1 + low * (1 - q))))


@lru_cache(maxsize=64)
def scale_for(epsilon: Fraction, axes: int) -> Fraction:
    """The least multiple of 1 / ``GRID`` of the source's scale at which one record costs at most ``epsilon``."""
    most = Fraction((2 << axes) - 1, (1 << axes) - 1) / epsilon
    for part in range(GRID // 4, GRID):
        scale = most * part / GRID
        if loss_above(scale, fall_of(scale, axes)) <= epsilon:
            return scale
    return most


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again; how deep the tree could become does not matter to it."""
    made = PrivTree(neighbours, stored(parameters, "epsilon"), int(stored(parameters, "axes")), 1)
    if made.scale != stored(parameters, "scale"):
        raise PublicParameterError("this is not the scale of the noise at that epsilon")
    return made.guarantee


# The greatest loss is that of a chain of decisions and not of one likely answer, which is what specimens are for; the
# laws of all trees of two and three levels are computed in tests/laws/test_privtree.py.
AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final[tuple[Specimen[Any, Any], ...]] = ()
