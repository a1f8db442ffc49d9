"""From what propose-test-release lets out to an estimate with its interval, in units of the column.

    ScaleReport   S: a factor for the noise, another for sampling
    BinReport     the stable bin: its two ends
    LevelReport   M: noise of the width proposed, and sampling by what the test said of the rows near the median
    MeanReport    TM: noise of the certified width, and sampling by squares bought beside it
    SmoothReport  smooth sensitivity, which says nothing of its own accuracy

Sampling is a property of the population, and what was released says little of it. S: 003's grid is made for columns as
peaked at their quartiles as a lognormal one, and the same is taken for granted here: its quartile distance has a
relative standard deviation of 1.74 / sqrt(n), a normal one 1.17. Other levels: a reply says that so many changed rows
leave the width within a bin, and sampling is taken to move it as evenly. M: a reply says that so many rows on either
side of the rank lie within the width; sampling is taken to move it as evenly. Both cover more than 95 % as a rule.
Everything here is post-processing but ``MeanReport.squares``, which is charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Final, Protocol

import numpy as np

from reticent.data.order_statistics import Needs, Order, RunLength, SortedColumn
from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import to_digits
from reticent.privacy.sensitivity import L1
from reticent.statistics.column_step import GroupResult
from reticent.statistics.context import ALWAYS, ExpectedAccuracy
from reticent.statistics.intervals import NONE, half_width, known, normal_half_width
from reticent.statistics.robust.assumed_laws import UNIT, Chance, Shape, reply_probability
from reticent.statistics.robust.median import MedianPtr, ScaledMedian
from reticent.statistics.robust.ptr_test import Noisy
from reticent.statistics.robust.scale_ptr import QUARTILES, ScalePtr, StableScale, WidthCell
from reticent.statistics.robust.smooth_sensitivity import SmoothMean
from reticent.statistics.robust.trimmed_ptr import TrimmedMeanPtr

PEAKED: Final = 1.74  # relative standard deviation of a lognormal quartile distance, times sqrt(n)
SQUARE: Final = 1 << 20  # the square of a value at the edge
EDGE: Final = 0.75  # of the certified width: where squares are cut, beyond the trimming points unless they are lopsided
SHAPES: Final[tuple[Shape, ...]] = ("normal", "lognormal")
WIDTHS: Final = (1, 16, 256)
VALUES: Final = 400_000  # made up in all for one probability
TABLES: Final = 20  # made up for one probability of a reply
NORMAL_IQR: Final = 1.3489795  # of a normal column, in standard deviations


@dataclass(frozen=True, slots=True)
class StepUnit:
    """Public grid of a column: the size of a step; with ``whole``, steps are the whole numbers of the column."""

    unit: Fraction
    whole: bool

    def place(self, steps: float) -> float:
        """The value of a place: a number v on the grid stands for [v, v + 1) steps, or for itself where whole."""
        return (steps + (0.0 if self.whole else 0.5)) * float(self.unit)

    def length(self, steps: float) -> float:
        return steps * float(self.unit)

    @property
    def rounding(self) -> float:
        """Largest rounding error of a place on the grid, in units of the column."""
        return 0.0 if self.whole else float(self.unit) / 2.0


class MechanismReport(Protocol):
    """A mechanism made for a number of values, and how its outcome is told."""

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def needs(self) -> Needs | None:
        """Public ranks that are enough; None where the whole column is read."""
        ...

    def draw(self, data: Order, entropy: Entropy) -> GroupResult: ...

    def expected(self) -> ExpectedAccuracy:
        """Half-widths and the probability of a reply, for a normal column."""
        ...


def _expected(made: Chance, n: int, noise: float, sampling: float) -> ExpectedAccuracy:
    replies = tuple((shape, reply_probability(made, shape, n, tables=_tables(n))) for shape in SHAPES)
    return ExpectedAccuracy(noise, sampling, "in standard deviations of a normal column", replies, unit="sd")


def _tables(n: int) -> int:
    """Tables to make up, fewer of large ones: a release asks too."""
    return min(TABLES, max(VALUES // max(n, 1), 1))


def _told(outcome: Outcome[Estimate], words: str) -> GroupResult:
    """An answer and its words; no reply says nothing."""
    return GroupResult((outcome,), () if isinstance(outcome, NoReply) else (words,))


def _widened(value: float, low: float, high: float, sampling: float) -> Estimate:
    """An estimate whose noise takes it from low to high, and sampling by a factor 1 -/+ ``sampling`` on top."""
    least, most = max(low * (1.0 - sampling), 0.0), high * (1.0 + sampling)
    return Estimate(value, least, most, (high - low) / 2.0, value * sampling)


# --- S ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScaleReport:
    """S in units of the column."""

    made: ScalePtr
    grid: StepUnit
    n: int
    levels: tuple[Fraction, Fraction]

    @property
    def guarantee(self) -> Guarantee:
        return self.made.guarantee

    @property
    def needs(self) -> Needs:
        return self.made.needs

    def draw(self, data: Order, entropy: Entropy) -> GroupResult:
        match self.made.sample(data, entropy):
            case Reply(WidthCell() as spread) if math.isfinite(spread.value):
                return _told(
                    Reply(self._estimate(spread)),
                    f"S, by propose-test-release; noise of a factor {to_digits(self._off, 3)}",
                )
            case _:
                return GroupResult((NO_REPLY,))  # endless, or declined

    @property
    def _off(self) -> float:
        return self.made.factor(0.05)

    def _estimate(self, spread: WidthCell) -> Estimate:
        step = self.grid.length(1.0)
        if spread.value == 0.0:  # equal to within a step; the zero has a test of its own and no noise
            return Estimate(0.0, 0.0, 0.0 if self.grid.whole else step, 0.0 if self.grid.whole else step, 0.0)
        value = self.grid.length(spread.value)
        around = 0.0 if self.grid.whole else step
        low, high = max(value / self._off - around, 0.0), value * self._off + around
        return _widened(value, low, high, self._sampling)

    @property
    def _sampling(self) -> float:
        """Relative half-width of sampling."""
        root = math.sqrt(max(self.n, 1))
        if self.levels == QUARTILES:
            return normal_half_width(PEAKED**2) / root
        p, q = (float(level) for level in self.levels)
        ranks = normal_half_width(self.n * (p * (1 - p) + q * (1 - q) - 2 * p * (1 - q)))
        bins = self.made.grid.span / self.made.grid.binade * math.log(2)
        return math.expm1(min(ranks / self.made.test.threshold * bins, 50.0))

    def expected(self) -> ExpectedAccuracy:
        noise = NORMAL_IQR * (self._off - 1.0 / self._off) / 2.0
        return _expected(self.made, self.n, noise, NORMAL_IQR * self._sampling)


@dataclass(frozen=True, slots=True)
class BinReport:
    """The stable bin in units of the column: the width lies between its ends, without noise."""

    made: StableScale
    grid: StepUnit
    n: int

    @property
    def guarantee(self) -> Guarantee:
        return self.made.guarantee

    @property
    def needs(self) -> Needs:
        return self.made.needs

    def draw(self, data: Order, entropy: Entropy) -> GroupResult:
        match self.made.sample(data, entropy):
            case Reply(edge):
                return _told(Reply(self._estimate(edge)), "the stable bin: what this table has lies between its ends")
            case NoReply():
                return GroupResult((NO_REPLY,))

    def _estimate(self, edge: int) -> Estimate:
        factor = math.exp2(self.made.grid.span / self.made.grid.binade)
        around = 0.0 if self.grid.whole else self.grid.length(1.0)
        low, high = max(self.grid.length((edge - 1) / factor) - around, 0.0), self.grid.length(edge) + around
        return _widened(math.sqrt(max(low, high / factor**2) * high), low, high, self._sampling)

    @property
    def _sampling(self) -> float:
        return normal_half_width(PEAKED**2) / math.sqrt(max(self.n, 1))

    def expected(self) -> ExpectedAccuracy:
        factor = math.exp2(self.made.grid.span / self.made.grid.binade)
        noise = NORMAL_IQR * (factor - 1.0 / factor) / 4.0
        return _expected(self.made, self.n, noise, NORMAL_IQR * self._sampling)


# --- M ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LevelReport:
    """M in units of the column: an order statistic with noise of the proposed width."""

    made: MedianPtr | ScaledMedian
    grid: StepUnit
    n: int
    quantile: Fraction

    @property
    def guarantee(self) -> Guarantee:
        return self.made.guarantee

    @property
    def needs(self) -> Needs:
        return self.made.needs

    def draw(self, data: Order, entropy: Entropy) -> GroupResult:
        match self.made.sample(data, entropy):
            case Reply(noisy):
                return _told(Reply(self._estimate(noisy)), "M, by propose-test-release")
            case NoReply():
                return GroupResult((NO_REPLY,))

    @property
    def _drift(self) -> float:
        """Half-width of sampling in proposed widths: ranks it moves, over ranks the test found within one width."""
        q = float(self.quantile)
        return normal_half_width(self.n * q * (1.0 - q)) / self.made.level.test.threshold

    def _estimate(self, noisy: Noisy) -> Estimate:
        scale = self.grid.length(float(noisy.scale))
        sampling = self._drift * scale * float(self.made.level.release)
        noise = half_width(NONE, [scale]) + self.grid.rounding
        half = half_width(known((sampling / normal_half_width(1.0)) ** 2), [scale]) + self.grid.rounding
        value = self.grid.place(float(noisy.value))
        return Estimate(value, value - half, value + half, noise, sampling)

    def expected(self) -> ExpectedAccuracy:
        release = float(self.made.level.release)
        if isinstance(self.made, MedianPtr):  # the width is in units of the column, whose spread nobody said
            width, near = self.grid.length(self.made.width), self.made.level.test.threshold
            note = f"replies where some {near} rows on either side lie within the width"
            replies = tuple((f"deviation of {times} widths", self._of_width(self.made, times)) for times in WIDTHS)
            return ExpectedAccuracy(half_width(NONE, [width / release]), self._drift * width, note, replies)
        width = self.made.width(round(1.5 * NORMAL_IQR * UNIT)) / UNIT
        return _expected(self.made, self.n, half_width(NONE, [width / release]), self._drift * width)

    def _of_width(self, median: MedianPtr, times: int) -> float:
        """The chance of a reply for a normal column whose standard deviation is so many proposed widths."""
        made = replace(median, width=round(math.sqrt(2.0) * UNIT / times))  # a made-up unit is 2^24 to 2^25 steps
        return reply_probability(made, "normal", self.n, tables=_tables(self.n))


# --- TM ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeanReport:
    """TM in units of the column; ``squares`` buys the winsorised variance for its interval."""

    made: TrimmedMeanPtr
    squares: Geometric
    grid: StepUnit
    n: int

    @property
    def guarantee(self) -> Guarantee:
        """A square is 0 to SQUARE steps for whatever was released, so a row moves their sum by that much at most."""
        return compose.in_sequence([self.made.guarantee, self.squares.guarantee], label="trimmed mean")

    @property
    def needs(self) -> None:
        return None

    def draw(self, data: Order, entropy: Entropy) -> GroupResult:
        match self.made.sample(data, entropy):
            case Reply(noisy):
                edge = float(noisy.scale * (self.made.last - self.made.first + 1) * self.made.release)
                edge /= self.made.scale.test.neighbours.rows
                (drawn,) = gate.draw(self.squares, (squares_of(data, float(noisy.value), EDGE * edge),), entropy)
                return _told(Reply(self._estimate(noisy, EDGE * edge, drawn)), "TM, by propose-test-release")
            case NoReply():
                return GroupResult((NO_REPLY,))

    def _estimate(self, noisy: Noisy, cut: float, drawn: int) -> Estimate:
        kept = self.made.last - self.made.first + 1
        scale = self.grid.length(float(noisy.scale))
        share = max(drawn + 2.0 * float(self.squares.scale), 1.0) / SQUARE / max(self.n, 1)
        deviation = self.grid.length(cut) * math.sqrt(min(share, 1.0)) * math.sqrt(self.n) / kept
        deviation *= math.sqrt(self.made.scale.test.neighbours.rows)
        half = half_width(known(deviation**2), [scale]) + self.grid.rounding
        value = self.grid.place(float(noisy.value))
        noise = half_width(NONE, [scale]) + self.grid.rounding
        return Estimate(value, value - half, value + half, noise, normal_half_width(deviation**2))

    def expected(self) -> ExpectedAccuracy:
        kept = self.made.last - self.made.first + 1
        edge = 1.5 * 2.0 * NormalDist().inv_cdf(min(self.made.last / self.n, 1.0 - 1e-9))
        scale = edge * self.made.scale.test.neighbours.rows / float(self.made.release) / kept
        return _expected(self.made, self.n, half_width(NONE, [scale]), normal_half_width(1.05 / max(self.n, 1)))


# --- smooth sensitivity ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SmoothReport:
    """A median or trimmed mean by smooth sensitivity: the scale of its noise is private, so no interval is told."""

    made: SmoothMean
    grid: StepUnit

    @property
    def guarantee(self) -> Guarantee:
        return self.made.guarantee

    @property
    def needs(self) -> None:
        return None

    def draw(self, data: Order, entropy: Entropy) -> GroupResult:
        low, high = self.grid.length(self.made.low), self.grid.length(self.made.high)
        value = min(max(self.grid.place(float(self.made.sample(data, entropy))), low), high)
        words = "by smooth sensitivity, whose noise depends on the rows: the ends are those of the possible values"
        return _told(Reply(Estimate(value, low, high, high - low, 0.0)), words)

    def expected(self) -> ExpectedAccuracy:
        return ExpectedAccuracy(None, None, "by smooth sensitivity: the width of the noise is private", ALWAYS)


def squares_of(data: Order, centre: float, cut: float) -> int:
    """Sum over values of min(|x - centre| / cut, 1)^2, each rounded down to a whole number of at most SQUARE.

    Parameters
    ----------
    data : Order
        Ordered values, private.
    centre, cut : float
        In steps of the column.

    Returns
    -------
    int

    Raises
    ------
    TypeError
        Counts of a part of the column.
    """
    match data:
        case RunLength(values=values, counts=counts):
            pass
        case SortedColumn(values=values):
            counts = np.ones(len(values), np.int64)
        case _:
            raise TypeError("squares are of a whole column")
    share = np.minimum(np.abs(values - centre) / max(cut, 1.0), 1.0)
    return int((np.floor(share * share * SQUARE).astype(np.int64) * counts).sum())


def squares(epsilon: Fraction, made: TrimmedMeanPtr) -> Geometric:
    """The mechanism of the squares: a row added, removed or replaced moves their sum by SQUARE at most."""
    near = made.scale.test.neighbours
    return Geometric(L1(Fraction(near.rows * SQUARE), near), epsilon)
