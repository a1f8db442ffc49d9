"""Log-scale mean and geometric mean: a bounded mean of logarithms, with the share of values that have none.

    y = (ln x - middle) / half in [-1, 1], for x > 0 cut to public ends
    soft counts of y and, beside them, the number of values of 0 and below: one geometric mechanism

A row is either in the soft counts or in the number of values without a logarithm. So the whole vector has the
sensitivity of the soft counts (docs/proofs/unbounded.md, section 8). The ends are bounds, or the range of the public
candidates, which contains every plausible value. So the estimand is known before a row is read, for every law.
Logarithms are taken value by value.

Source: ours; the moments are those of ``statistics/moments/moment_step.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.data.candidates import LEAST, MOST, Cells, cells_of
from reticent.data.column_kinds import AMOUNT_PART, are_amounts
from reticent.data.query import Ranks, kept_rows
from reticent.data.query_result import Counts
from reticent.data.schema import Category, Integer, Real
from reticent.data.value_scans import powers
from reticent.entropy import Entropy
from reticent.errors import QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive, show, to_digits
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.column_step import GroupResult, PlannedStep
from reticent.statistics.context import OFF_MIDDLE, ExpectedAccuracy, Replies, Setting, of_any, passing
from reticent.statistics.intervals import FEW, NONE, half_width, normal_half_width, student_stretch, too_few
from reticent.statistics.moments.log_mean import LogStatistic
from reticent.statistics.moments.moment_step import UNIT, MomentStep
from reticent.statistics.prepare import estimand
from reticent.statistics.quantiles.shapes import AMOUNT, AT_A_BOUND, NORMAL, OTHERS, PLACES, TYPICAL, ColumnShape
from reticent.statistics.shares import percent
from reticent.statistics.unbounded.clipped_mean import moments_of
from reticent.statistics.unbounded.column_counts import ColumnTerms
from reticent.statistics.unbounded.column_plan import EMPTY, Group
from reticent.statistics.unbounded.unbounded_step import Groups, each_of, terms

CELLS: Final[Cells] = cells_of(Real(), "logarithm")  # every binade is cut into 2^40: fine enough for any logarithm
ROUNDING: Final = 2.0**-20  # of a logarithm, by its cell
REACH: Final = (Fraction(2) ** LEAST, Fraction(2) ** MOST)
BESIDE: Final = 4  # where rows are replaced a value of 0 or below is so small a part of a row
FARTHEST: Final = 700.0  # an exponent that doubles hold
OFTEN: Final = ColumnShape(OFF_MIDDLE, TYPICAL.at)
SHAPES: Final = (NORMAL, OFTEN, *(one for one in OTHERS if one.name != AT_A_BOUND))  # a bound may have no logarithm


@dataclass(frozen=True, slots=True)
class LogMeanEstimate:
    """A mean of logarithms, and the noisy share of values that have none, with its half-width at 95 %."""

    estimate: Estimate
    share: float
    within: float

    @property
    def words(self) -> str:
        """Words on the share of values without a logarithm, which are left out."""
        low, high = max(self.share - self.within, 0.0), min(self.share + self.within, 1.0)
        return (
            f"{percent(Estimate(self.share, low, high, self.within, 0.0))} of the values are 0 or below "
            "and have no logarithm: they are left out"
        )


@dataclass(frozen=True)
class LogMoments:
    """The mean of the logarithms of one column for ``epsilon``; values above 0 are cut to ``ends``."""

    terms: ColumnTerms
    epsilon: Fraction
    ends: tuple[Fraction, Fraction]

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")

    @property
    def sized(self) -> bool:
        """True if the number of all values is public, so that values without a logarithm need no draw of their own."""
        return self.terms.values is not None

    @property
    def unit(self) -> int:
        """Steps of one value of 0 or below."""
        return UNIT if self.terms.neighbours.kind != "substitute" else UNIT // BESIDE

    @cached_property
    def mechanism(self) -> Geometric:
        """A row adds to the moments or to the number beside; a replaced one may leave those and enter this."""
        made, rows = moments_of(self.terms, self.epsilon, sized=False).mechanism, self.terms.rows
        both = self.terms.neighbours.kind == "substitute" and not self.sized
        bound = made.sensitivity.bound + (rows * self.unit if both else 0)
        return Geometric(L1(bound, self.terms.neighbours), self.epsilon)

    @cached_property
    def moments(self) -> MomentStep:
        """Moments of y, by the mechanism of the whole vector."""
        return replace(moments_of(self.terms, self.epsilon, sized=False), mechanism=self.mechanism)

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([self.mechanism.guarantee], label="log-scale mean")

    @cached_property
    def scale(self) -> tuple[float, float]:
        """Middle and half of the logarithms of the ends."""
        low, high = (math.log(float(end)) for end in self.ends)
        return (low + high) / 2.0, (high - low) / 2.0

    def exact(self, data: Counts) -> tuple[int, ...]:
        """The integers to protect: of the values above 0, and then the number of the others."""
        values = CELLS.values(data.cells)
        above = values > 0.0
        middle, half = self.scale
        y = (np.log(values[above]) - middle) / half
        sums = self.moments.design.integers([powers(y, data.counts[above])])[0]
        return sums if self.sized else (*sums, int(data.counts[~above].sum()) * self.unit)

    def draw(self, data: Counts, entropy: Entropy) -> Outcome[LogMeanEstimate]:
        """The estimate, or no reply where the noisy number of values above 0 is too small to divide by."""
        released = gate.draw(self.mechanism, self.exact(data), entropy)
        match self.moments.outcome_of(released[:3]):
            case Reply(found):
                middle, half = self.scale
                low, high = middle + half * found.low - ROUNDING, middle + half * found.high + ROUNDING
                made = Estimate(middle + half * found.value, low, high, half * found.noise, half * found.sampling)
                return Reply(LogMeanEstimate(made, *self._beside(released)))
            case NoReply():
                return NO_REPLY

    def _beside(self, released: tuple[int, ...]) -> tuple[float, float]:
        """The share of values of 0 and below, and how far the noise can have moved it."""
        size, noise = self.moments.design.moments([released[:3]])[0][0], self.moments.noise_of([1.0])
        if self.sized:
            total = float(self.terms.values or 1)
            return min(max(1.0 - size / total, 0.0), 1.0), half_width(NONE, noise) / total
        beside = max(released[3] / self.unit, 0.0)
        total = size + beside
        share = beside / total
        own = float(self.mechanism.scale) / self.unit
        return share, half_width(NONE, [(1.0 - share) * own, *(share * scale for scale in noise)]) / total


@dataclass(frozen=True, slots=True)
class LogPlan:
    """The log-scale mean of one column, or the geometric mean where ``back``."""

    made: LogMoments
    back: bool
    positive: bool = False  # by the declared bounds
    amount: bool = False  # by the same

    @property
    def guarantee(self) -> Guarantee:
        return self.made.guarantee

    def draw(self, data: Group, entropy: Entropy) -> GroupResult:
        match self.made.draw(data.counts, entropy):
            case Reply(found):
                shown = exponential(found.estimate) if self.back else found.estimate
                return GroupResult((Reply(shown),), (found.words,), label=data.label)
            case NoReply():
                return GroupResult((NO_REPLY,), (EMPTY,), label=data.label)

    def expected(self, people: int) -> ExpectedAccuracy:
        """For values of public shapes between bounds; without them for logarithms about 0 with a deviation of 1."""
        made, n = self.made, float(people)
        replies = self._replies(n)
        if too_few(n, made.moments.noise_of([1.0])):
            return ExpectedAccuracy(None, None, FEW, replies)
        if made.ends[1] == REACH[1]:
            share = "as a share of the geometric mean; " if self.back else ""
            note = f"{share}assumes logarithms with a standard deviation of 1"
            usual_place = max(0.0, math.log(float(made.ends[0])) + 2.0)  # whole numbers are 1 or more
            noise, sampling = (width / self._size(usual_place) for width in self._widths(usual_place, 1.0, n))
            return ExpectedAccuracy(noise, sampling, note, replies, unit="of it" if self.back else "")
        shapes = (*SHAPES, AMOUNT) if self.amount else SHAPES
        usual, *others = ((shape.name, *self._widths(*self._logarithms(shape), n)) for shape in shapes)
        note = f"for a standard deviation of 1/{AMOUNT_PART if self.amount else 8} of the range"
        typical = AMOUNT.name if self.amount else OFF_MIDDLE
        return ExpectedAccuracy(*usual[1:], note, replies, tuple(others), typical=typical)

    def _logarithms(self, shape: ColumnShape) -> tuple[float, float]:
        """Mean and standard deviation of the logarithms of values of a shape between the ends."""
        low, high = (float(end) for end in self.made.ends)
        places = (np.arange(PLACES) + 0.5) / PLACES
        logs = [math.log(min(max(low + (high - low) * shape.at(place), low), high)) for place in places.tolist()]
        return float(np.mean(logs)), float(np.std(logs))

    def _size(self, mean: float) -> float:
        """The answer itself, where half-widths of the geometric mean are told as shares of it; else 1."""
        return math.exp(mean) if self.back else 1.0

    def _widths(self, mean: float, deviation: float, n: float) -> tuple[float, float]:
        """Half-widths of noise and sampling in the unit of the answer, for logarithms of this mean and deviation."""
        middle, half = self.made.scale
        place = min(max((mean - middle) / half, -1.0), 1.0)
        noise = half_width(NONE, self.made.moments.noise_of([-place, 1.0])) / n * half
        together = self.made.terms.together
        sampling = normal_half_width(together * deviation**2 / n) * student_stretch(n / together)
        if not self.back:
            return noise, sampling
        told = exponential(Estimate(mean, mean, mean, noise, sampling))
        return told.noise, told.sampling

    def _replies(self, n: float) -> Replies:
        """For values that are all above 0, and for those of which half are."""
        drawn = self.made.moments.noise_of([1.0])
        if self.positive:
            return of_any(passing(lambda number: not too_few(number, drawn), n, drawn))
        return tuple(
            (shape, passing(lambda number: not too_few(number, drawn), n * share, drawn))
            for shape, share in (("all above 0", 1.0), ("half above 0", 0.5))
        )


def exponential(found: Estimate) -> Estimate:
    """An estimate of a mean of logarithms as one of the geometric mean."""
    value = math.exp(found.value)
    noise, sampling = (value * math.expm1(min(part, FARTHEST)) for part in (found.noise, found.sampling))
    return Estimate(value, math.exp(found.low), math.exp(found.high), noise, sampling)


def log_mean(asked: LogStatistic, setting: Setting, epsilon: Fraction, *, geometric: bool) -> PlannedStep[Group]:
    """The step that answers with the mean of logarithms, or with its exponential.

    Parameters
    ----------
    asked : LogStatistic
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.
    geometric : bool
        True for the exponential of the mean.

    Returns
    -------
    PlannedStep[Group]

    Raises
    ------
    QuestionError
        Before rows are read: a category; a column that can hold nothing above 0; too few people for this epsilon.
    """
    ends = ends_of(asked, setting)
    made = LogMoments(terms(asked.column, setting, setting.per), each_of(setting.per, setting, epsilon), ends)
    if made.scale[1] <= 0.0:  # of rows, dividing by it would warn or not
        raise QuestionError(
            f"{asked.name}: the logarithms of its ends {show(ends[0])} and {show(ends[1])} are one double, so there is "
            "nothing to estimate between them. Nothing was charged."
        )
    declared = setting.schema.column(asked.column)
    positive = not isinstance(declared, Category) and declared.low is not None and declared.low > 0
    amount = are_amounts(declared, *ends)
    plan, rows = LogPlan(made, geometric, positive, amount), kept_rows(setting.schema.person, setting.per)
    if setting.units is not None and plan.expected(setting.units * rows).noise is None:
        raise QuestionError(
            f"{asked.name} gives no reply for {setting.units * rows:,} values at this \u03b5: a larger one, or more "
            "people, are needed. Nothing was charged."
        )
    shown = f"[{to_digits(float(ends[0]))}, {to_digits(float(ends[1]))}]"
    return PlannedStep(
        public_facts.title(asked, setting),
        Ranks(asked.column, setting.keys, setting.per, "binades"),
        Groups(setting.keys),
        plan,
        setting,
        kept_rows(setting.schema.person, setting.per, setting.keys),
        public_facts.labels(setting.keys),
        public_facts.caveats_of(asked.column, None, setting, setting.per),
        f"{estimand(asked, setting)}, values cut to {shown}",
    )


def ends_of(asked: LogStatistic, setting: Setting) -> tuple[Fraction, Fraction]:
    """Clipping interval of values above 0: the positive part of the bounds of the question or the column."""
    if asked.low is not None and asked.high is not None:
        setting.schema.column(asked.column)
        return asked.low, asked.high
    declared = setting.schema.column(asked.column)
    low, high = REACH
    if isinstance(declared, Category):
        raise QuestionError(f"{asked.name} needs numbers, and {asked.column} is a category. Nothing was charged.")
    if isinstance(declared, Integer):
        low = Fraction(1)
    elif declared.resolution is not None:
        low = max(low, min(declared.resolution, high / 2))
    if declared.low is not None and declared.high is not None:
        low, high = max(low, Fraction(declared.low)), min(high, Fraction(declared.high))
    if low >= high:
        raise QuestionError(
            f"{asked.name}: {asked.column} is declared to hold nothing above {show(low)}, which has a logarithm and "
            "varies. Nothing was charged."
        )
    return low, high
