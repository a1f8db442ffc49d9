"""Medians of columns of records, one or several of which change with a row: the common part of block regressions.

    census   how many records there are, and whether many of them are equal
    value    a median of each column      exponential mechanism over public cells, exactly (``ranks``)
    widths   the median distance of the records from the value, on a ladder of public radii: the interval; of tied
             records the distance of two ends by ranks

A record that says nothing (a block that determines no coefficients) is not counted: the score needs no number of
records, and moves by at most 2 for a record replaced, whatever it was before and is afterwards. So there is no default
that pulls. Where too few records are left to outweigh the public prior, there is no reply.

Rows may be dealt out ``rounds`` times: a row then changes that many records more, and there are as many more. The noise
of the answer stays what it was, its sampling error falls: records of different rounds share rows, and ``alike`` is how
much their signs agree for each row they share.

The interval. An error of r ranks moves the value by r / (n f), where f is the density of the records at their median.
Records with one mode there have f x (median distance) >= 1/4; ``peak`` stands for that product. So one draw on some 740
radii gives the width of the interval. Two ends would each have to outweigh the prior of the values again. Where many
records are equal they have no density. Then the same share of epsilon buys a radius. It reaches both records whose
distance from the middle, in ranks, is the error of sampling and of the draw.

Proofs: docs/proofs/regression.md, section 10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import Cells, Segment
from reticent.data.query_result import Counts
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import L1, Linf
from reticent.statistics.intervals import NONE, half_width, known, normal_half_width
from reticent.statistics.quantiles.group_size import BETA, FLATTERED, GroupSize
from reticent.statistics.quantiles.shapes import TIED
from reticent.statistics.rank_blocks import draw
from reticent.statistics.ranks import cell_share, runs
from reticent.statistics.regression.depth import deepest
from reticent.statistics.unbounded.column_counts import CROWD, against_prior

Law: TypeAlias = Literal["each", "joint"]

HALF: Final = Fraction(1, 2)
CENSUS: Final = Fraction(1, 10)
VALUES: Final = Fraction(13, 20)  # of what the census leaves
MOST: Final = 0.45  # of the records: no end is drawn nearer to the last of them
PEAK: Final = 0.27  # density at the median times the median distance: .25 for even records, .269 normal, .318 Cauchy
RADII: Final = np.exp2(np.arange(-31 * 8, 62 * 8 + 1) / 8.0)  # an eighth of a binade apart
RUNGS: Final = Cells((Segment(0, len(RADII), 1),), Fraction(1), True)


@dataclass(frozen=True)
class Middle:
    """Medians of ``columns`` columns of ``count`` records for ``epsilon`` in all.

    Attributes
    ----------
    cells : Cells
        Public candidates, the same for every column.
    neighbours : Adjacency
        Of the rows.
    changed, moved : int
        Records that differ between neighbours, at most, and how far a score moves for them: 2 for a record replaced,
        1 for one added or removed.
    count : int
        Public number of records, those that say nothing included.
    law : "each" | "joint"
        Whether every column has a median of its own, or one point of great depth is drawn (``depth``).
    peak : float
        Density of the records at their median times their median distance, at least 1/4 where they have one mode.
    rounds, alike
        How often rows were dealt out, and how much records that share a row agree, in [0, 1].
    """

    cells: Cells
    neighbours: Adjacency
    changed: int
    moved: int
    count: int
    columns: int
    epsilon: Fraction
    law: Law = "each"
    rounds: int = 1
    alike: float = 0.0
    crowded: int = 1  # records of one person agree: sampling variance is that many times greater
    peak: float = PEAK
    most_alike: float = 0.0  # 0 where records agree as much whichever of them say something

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        for number, name in (
            (self.changed, "changed"),
            (self.moved, "moved"),
            (self.count, "count"),
            (self.columns, "columns"),
        ):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise PublicParameterError(f"{name} must be an integer >= 1, got {number}")
        if self.rounds < 1 or self.crowded < 1 or not 0 <= self.alike <= 1:
            raise PublicParameterError("rounds and persons' rows are at least 1, and alike is a share")

    # --- what it costs -----------------------------------------------------------------------------------------------

    @cached_property
    def census(self) -> Geometric:
        """(records, ties): a record replaced moves the first by one, and ties by one in every column."""
        bound = L1(Fraction(self.changed * (1 + self.columns)), self.neighbours)
        return Geometric(bound, self.epsilon * CENSUS)

    def _choice(self, share: Fraction) -> Exponential:
        return Exponential(Linf(Fraction(self.moved), self.neighbours), self.epsilon * (1 - CENSUS) * share)

    @cached_property
    def value(self) -> Exponential:
        """Mechanism of one column's median, or of the point."""
        return self._choice(VALUES / (self.columns if self.law == "each" else 1))

    @cached_property
    def width(self) -> Exponential:
        """Mechanism of the median distance from the value, in one column."""
        return self._choice((1 - VALUES) / self.columns)

    @property
    def guarantee(self) -> Guarantee:
        values = [self.value.guarantee] * (self.columns if self.law == "each" else 1)
        widths = [self.width.guarantee] * self.columns
        return compose.in_sequence([self.census.guarantee, *values, *widths], label="medians of records")

    # --- the draws ---------------------------------------------------------------------------------------------------

    def draw(self, records: Sequence[NDArray[np.float64]], entropy: Entropy) -> Outcome[tuple[Estimate, ...]]:
        """One estimate for each column of records that say something, all of one length; or no reply."""
        counts = [self.counted(column) for column in records]
        size = self.size(counts, entropy)
        if not self.feasible(size):
            return NO_REPLY
        held = [runs(self.cells, found) for found in counts]
        match self.law:
            case "each":
                middles = tuple(draw(found, HALF, 0, self.value, entropy) for found in held)
            case "joint":
                middles = deepest(self.cells, held, self.value, entropy)
            case _:
                assert_never(self.law)
        values = [float(self.cells.value(at)) for at in middles]
        pairs = zip(records, middles, values, strict=True)
        return Reply(tuple(self._told(column - value, at, value, size, entropy) for column, at, value in pairs))

    def counted(self, column: NDArray[np.float64]) -> Counts:
        cells, counts = np.unique(self.cells.index(column), return_counts=True)
        return Counts(cells.astype(np.int64), counts.astype(np.int64))

    def size(self, counts: Sequence[Counts], entropy: Entropy) -> GroupSize:
        """Draw the noisy number of records, at most the public one, and detect ties in any column."""
        ties = sum(int(np.maximum(found.counts - self.crowd, 0).sum()) for found in counts)
        there, more = gate.draw(self.census, (int(counts[0].counts.sum()), ties), entropy)
        found = float(min(max(there, 0), self.count))
        return GroupSize(found, more > max(self.census.radius(0.02), TIED * found), found - self.unsure)

    @property
    def crowd(self) -> int:
        """Equal records up to this number are no more than a width may be off by, and no atom; public."""
        return max(CROWD, math.ceil(1.0 / self.rate(self.width)))

    @property
    def unsure(self) -> float:
        """Records that noise may have made of none, but for probability ``FLATTERED``."""
        return -math.log(2.0 * FLATTERED) * float(self.census.scale)

    def reach(self, away: NDArray[np.float64], entropy: Entropy) -> float:
        """The least radius of the ladder that reaches half of the records, by the exponential mechanism."""
        held = np.minimum(np.searchsorted(RADII, np.abs(away)), len(RADII) - 1)
        rungs, counts = np.unique(held, return_counts=True)
        found = runs(RUNGS, Counts(rungs.astype(np.int64), counts.astype(np.int64)))
        return float(RADII[draw(found, HALF, 0, self.width, entropy)])

    def _told(self, away: NDArray[np.float64], at: int, value: float, size: GroupSize, entropy: Entropy) -> Estimate:
        """One column: records that differ have a density at their median, others have ranks and nothing else."""
        ranks = self.ranks(size)
        if not size.tied or ranks >= MOST * size.surely:
            return self._estimate(at, value, self.reach(away, entropy), size)
        scores = ends(away, ranks)
        radius = float(RADII[gate.draw(self.width, Candidates(scores, np.ones(len(scores), np.int64)), entropy)])
        low, high = (float(end) for end in self.cells.edges(at))
        return Estimate(
            value,
            min(value - radius, low),
            max(value + radius, high),
            half_width(NONE, [self.off]) * radius / ranks,
            normal_half_width(self.variance(size.values)) * radius / ranks,
        )

    def ranks(self, size: GroupSize) -> int:
        """Number of ranks from the middle to either end of the 95 % interval.

        It allows for sampling, for the rank error of the draw, and for the rank error of the draw of a rung.
        """
        rate = self.rate(self.width)
        own = half_width(known(self.variance(size.values)), [1.0 / rate])
        return math.ceil(own + math.log(len(RADII)) / rate)

    def _estimate(self, at: int, value: float, reach: float, size: GroupSize) -> Estimate:
        """Ranks into distances by the density that records of one mode have at least around it."""
        slope = reach / (self.peak * max(size.values, 1.0))
        variance = self.variance(size.values)
        half = half_width(known(variance), [self.off]) * slope + (reach if size.tied else 0.0)
        low, high = (float(end) for end in self.cells.edges(at))
        return Estimate(
            value,
            min(value - half, low),
            max(value + half, high),
            half_width(NONE, [self.off]) * slope,
            normal_half_width(variance) * slope,
        )

    # --- ranks -------------------------------------------------------------------------------------------------------

    def rate(self, mechanism: Exponential) -> float:
        """Exponential rate of the rank error, per rank."""
        return float(2 * mechanism.rate)

    @property
    def off(self) -> float:
        """The scale of a value's rank error.

        A point drawn jointly is r ranks off in one column, r of a gamma law of shape ``columns``, and evenly up to r in
        the others: (columns + 1)(columns + 2) / 6 of the variance of a column drawn alone at the same price.
        """
        joint = (self.columns + 1) * (self.columns + 2) / 6.0 if self.law == "joint" else 1.0
        return math.sqrt(joint) / self.rate(self.value)

    def variance(self, size: float) -> float:
        """Sampling variance of the number of records below the median of their law.

        Where few records count, their signs may be more correlated: up to ``most_alike``.
        """
        silent = 1.0 - min(max(size / self.count, 0.0), 1.0)
        alike = min(self.most_alike or self.alike, self.alike * (1.0 + silent))
        return self.crowded * max(size, 0.0) / 4.0 * (1.0 + (self.rounds - 1) * alike)

    def feasible(self, size: GroupSize) -> bool:
        """Tell if the records outweigh the public prior of the values, and the ladder of the widths."""
        share, ranks = cell_share(self.cells), size.surely / 2.0
        others = 0.0 if self.law == "each" else -(self.columns - 1) * math.log(share)  # all columns may stray at once
        if self.rate(self.value) * ranks < against_prior(share, 1.0 / BETA) + others:
            return False
        return self.rate(self.width) * ranks >= against_prior(1.0 / len(RADII), 1.0 / BETA)

    @property
    def hopeful(self) -> bool:
        """True if the public number of records would give a reply, were the noise of their number 0."""
        return self.feasible(GroupSize(float(self.count), False, self.count - self.unsure))

    @property
    def mostly(self) -> GroupSize:
        """Three quarters of the public number of records: the rest may say nothing."""
        return GroupSize(0.75 * self.count, False, 0.75 * self.count - self.unsure)


def ends(away: NDArray[np.float64], ranks: int) -> NDArray[np.int64]:
    """Score of every radius: its rank distance from the least one that covers ``ranks`` records on both sides.

    Let C count the records in use. On either side a radius r has the score of a quantile,
    max(0, C(away > r) - C(away <= r) + 2 ranks, C(away <= next smaller r) - C(away > next smaller r) - 2 ranks).
    The first parts of both sides are joined by their maximum, the second by their minimum. So replacing a record moves
    a score by at most 2, and adding or removing one by at most 1.
    """
    short = [len(away) - 2 * np.searchsorted(np.sort(side), RADII, side="right") for side in (away, -away)]
    under = np.maximum(*short).astype(np.int64) + 2 * ranks  # falls with the radius; the last rung holds all there is
    over = -np.concatenate([[under[0]], under[:-1]])
    over[0] = 0
    found: NDArray[np.int64] = np.maximum(np.maximum(under, over), 0)
    return found
