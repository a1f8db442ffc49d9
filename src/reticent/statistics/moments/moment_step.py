"""Means, variances and standard deviations of a bounded column, with intervals for the population value.

The soft counts of ``soft`` give noisy sums of powers of y. An estimate is a function of them; its error is, to first
order, one linear form in the rows (sampling: normal, with a variance taken from the released moments) plus the same
form in the noise (known law). For a mean this is exact: with S and N the noisy sums,

    N (S / N - mu) = sum (y_i - mu)  +  (noise of S) - mu (noise of N).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from reticent.data.query import Moments, Present, Query, kept_rows
from reticent.data.schema import Fixed, grid_by_width
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.answer import Answer, Cell, Label, ValueCount
from reticent.statistics.context import Expected, Setting, of_persons
from reticent.statistics.counts.count_step import CLIPPED, guarantee_of, noisy
from reticent.statistics.intervals import (
    FEW,
    NONE,
    Variances,
    half_width,
    known,
    noise_half_width,
    normal_half_width,
    plausible,
    too_few,
)
from reticent.statistics.moments.basis import UNIT, Design, Kind, design
from reticent.statistics.moments.mean import Mean
from reticent.statistics.moments.variance import Spread

if TYPE_CHECKING:
    from reticent.data.table import Result
    from reticent.entropy import Entropy

FLATTEST, USUAL = (
    0.25,
    3.5,
)  # kurtosis less 1: the least that is considered, and that of a law with tails a little above normal (2)

Shape = Literal["mean", "variance", "sd"]


@dataclass(frozen=True, slots=True)
class MomentStep:
    """One mean, variance or standard deviation per group.

    ``units`` is the number of values where it is public, then the first coordinate is not drawn. ``alike`` is the
    most values of one person: sampling treats them as equal to each other, the worst case.
    """

    name: str
    query: Moments
    shape: Shape
    design: Design
    mechanism: Geometric
    setting: Setting
    units: int | None
    alike: int
    interval: bool
    labels: tuple[Label, ...]
    caveats: tuple[str, ...]
    estimand: str = ""

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.query,)

    @property
    def guarantee(self) -> Guarantee:
        return guarantee_of(self.mechanism, self.setting, self.name)

    @property
    def grid(self) -> Fixed:
        return self.query.grid

    def answer(self, results: Sequence[Result], entropy: Entropy) -> Answer:
        (result,) = results
        drawn = self._released([self.design.integers(vector) for vector in result.vectors], entropy)
        found = [self._outcome(released) for released in drawn]
        caveats = (*self.caveats, *_clipped(found, self))
        cells = tuple(Cell(label, _displayed(outcome, self)) for label, outcome in zip(self.labels, found, strict=True))
        number = self.design.moments(drawn[0])[0]  # of the first group, and read where there are none
        return Answer(
            self.name, cells, caveats, values=ValueCount(self.query.column, number, tuple(self.noise_of([1.0])))
        )

    def _released(self, exact: list[tuple[int, ...]], entropy: Entropy) -> list[tuple[int, ...]]:
        if self.units is None:
            return noisy(exact, self.mechanism, entropy)
        (vector,) = exact
        public = (UNIT * self.units * self.design.forward[0][0]).__floor__()
        return [(public, *noisy([vector[1:]], self.mechanism, entropy)[0])]

    @property
    def scale(self) -> float:
        """Noise scale of a released integer, in rows."""
        return float(self.mechanism.scale / UNIT)

    def noise_of(self, form: Sequence[float]) -> list[float]:
        """Scales of the independent noises in the linear form ``sum_j form[j] * (sum of y^j)``."""
        columns = range(len(self.design.back[0]))
        scales = [self.scale * sum(w * float(self.design.back[j][i]) for j, w in enumerate(form)) for i in columns]
        if self.units is not None:
            scales[0] = 0.0
        return scales

    def outcome_of(self, released: tuple[int, ...]) -> Outcome[Estimate]:
        """Estimate the statistic of one group from its released integers, in the unit of the column."""
        return _displayed(self._outcome(released), self)

    def _outcome(self, released: tuple[int, ...]) -> Outcome[Estimate]:
        moments = self.design.moments(released)
        size = moments[0]
        if too_few(size, self.noise_of([1.0])):
            return NO_REPLY
        mean = min(max(moments[1] / size, -1.0), 1.0)
        if self.shape == "mean":
            return Reply(self._mean(moments, mean, moments[1] / size))
        return self._variance(moments, mean)

    def _mean(self, moments: Sequence[float], mean: float, unclipped: float) -> Estimate:
        size = moments[0]
        scales = self.noise_of([-mean, 1.0])
        sampled = NONE
        if len(moments) > 2:
            form = [mean * mean, -2.0 * mean, 1.0]
            estimate = sum(w * m for w, m in zip(form, moments, strict=False))
            sampled = plausible(estimate, _spread(self.noise_of(form)), 0.0, size * (1.0 - mean * mean))
        radius = half_width(_times(sampled, self.alike), scales) / size
        return Estimate(
            unclipped,
            unclipped - radius,
            unclipped + radius,
            half_width(NONE, scales) / size,
            normal_half_width(self.alike * _average(sampled)) / size,
        )

    def _variance(self, moments: Sequence[float], mean: float) -> Outcome[Estimate]:
        """In units of y; a variance first, then its root if asked."""
        size = moments[0]
        raw = moments[2] / size - mean * mean
        centre = self.noise_of([-mean, 1.0])
        value = raw + 2.0 * sum(s * s for s in centre) / size**2  # the noise of the mean enters squared
        bounded = min(max(value, 0.0), 1.0 - mean * mean)
        scales = self.noise_of([mean * mean - bounded, -2.0 * mean, 1.0])
        sampled = self._fourth(moments, mean, bounded) if len(moments) > 4 else NONE
        radius = half_width(_times(sampled, self.alike), scales) / size
        noise = half_width(NONE, scales) / size
        sampling = normal_half_width(self.alike * _average(sampled)) / size
        if self.shape == "variance":
            return Reply(Estimate(value, value - radius, value + radius, noise, sampling))
        if value + radius <= 0.0:
            return NO_REPLY
        root = math.sqrt(max(value, 0.0))
        low, high = math.sqrt(max(value - radius, 0.0)), math.sqrt(value + radius)
        return Reply(Estimate(root, low, high, math.sqrt(root**2 + noise) - root, math.sqrt(root**2 + sampling) - root))

    def _fourth(self, moments: Sequence[float], mean: float, value: float) -> Variances:
        """Sampling variance of sum ((y - mean)^2 - value), from the released third and fourth moments."""
        size = moments[0]
        a, v = mean, value
        # ((y - a)^2 - v)^2 in powers of y
        square = [a * a - v, -2.0 * a, 1.0]
        form = [
            square[0] ** 2,
            2.0 * square[0] * square[1],
            2.0 * square[0] + square[1] ** 2,
            2.0 * square[1],
            1.0,
        ]
        estimate = sum(w * m for w, m in zip(form, moments, strict=True))
        noise = _spread(self.noise_of(form))
        widest = (1.0 + abs(mean)) ** 2
        # A free prior would follow the noise of the fourth moment, which is that of the variance, and widen one side.
        most = size * v * max(widest - v, 0.0)
        least = size * v * v * FLATTEST
        if least <= 0.0 or most <= least:
            return known(min(max(estimate, 0.0), max(most, 0.0)))
        return plausible(estimate, noise, least, most, usual=size * v * v * USUAL)

    def expected(self, people: int) -> Expected:
        """For values with mean at the middle of the bounds and a sixth of the range as standard deviation."""
        return of_persons(self._expected, people, self.alike, self.setting.schema.person)

    def _expected(self, people: int) -> Expected:
        groups = len(self.labels)
        size = (self.units if self.units is not None else people) / groups
        if too_few(size, self.noise_of([1.0])):
            return Expected(None, None, FEW)
        spread = 1.0 / 3.0  # in units of y
        half = float(self.grid.highest - self.grid.lowest) * float(self.grid.unit) / 2.0
        if self.shape == "mean":
            noise = noise_half_width(self.noise_of([0.0, 1.0])) / size * half
            sampling = normal_half_width(self.alike * spread**2 / size) * half
        else:
            noise = noise_half_width(self.noise_of([-(spread**2), 0.0, 1.0])) / size * half * half
            sampling = normal_half_width(self.alike * 2.0 * spread**4 / size) * half * half
            if self.shape == "sd":
                noise, sampling = noise / (2.0 * spread * half), sampling / (2.0 * spread * half)
        return Expected(noise, sampling if self.interval else None, "assumes a standard deviation of 1/6 of the range")


def _spread(scales: Sequence[float]) -> float:
    """The scale of one Laplace part with the variance of all."""
    return math.sqrt(sum(s * s for s in scales))


def _times(variances: Variances, factor: int) -> Variances:
    return variances if factor == 1 else Variances(tuple(factor * v for v in variances.values), variances.weights)


def _average(variances: Variances) -> float:
    return sum(v * w for v, w in zip(variances.values, variances.weights, strict=True))


def _range(step: MomentStep) -> tuple[float, float, float, float]:
    """Middle and half-width of the column, and the least and greatest value the answer can have."""
    grid = step.grid
    low, high = float(grid.lowest * grid.unit), float(grid.highest * grid.unit)
    half = (high - low) / 2.0
    match step.shape:
        case "mean":
            return (low + high) / 2.0, half, low, high
        case "variance":
            return 0.0, half * half, 0.0, half * half
        case "sd":
            return 0.0, half, 0.0, half


def _displayed(outcome: Outcome[Estimate], step: MomentStep) -> Outcome[Estimate]:
    """In units of the column, with what lies outside the possible values shown as the nearest possible one."""
    if not isinstance(outcome, Reply):
        return outcome
    e = outcome.value
    middle, factor, least, most = _range(step)
    value, low, high = (min(max(middle + factor * x, least), most) for x in (e.value, e.low, e.high))
    return Reply(Estimate(value, low, high, factor * e.noise, factor * e.sampling))


def _clipped(outcomes: Sequence[Outcome[Estimate]], step: MomentStep) -> tuple[str, ...]:
    middle, factor, least, most = _range(step)
    for outcome in outcomes:
        if isinstance(outcome, Reply):
            e = outcome.value
            if any(not least <= middle + factor * x <= most for x in (e.value, e.low, e.high)):
                return (CLIPPED,)
    return ()


def prepare(asked: Mean | Spread, shape: Shape, setting: Setting, epsilon: Fraction) -> MomentStep:
    """The step of a mean, variance or standard deviation between public bounds."""
    column, per = asked.column, setting.per
    bounds = public_facts.bounds(asked.name, setting, column, asked.low, asked.high)
    order = (1 if shape == "mean" else 2) * (2 if asked.interval else 1)
    grid = grid_by_width(*bounds)
    person = setting.schema.person
    query = Moments(column, grid, order, setting.keys, per)
    units = public_facts.public_size(Present(column, setting.keys, per), setting)
    # Substitution without groups replaces rows in place; elsewhere rows come and go, and soft counts are the better.
    in_place = setting.neighbours.kind == "substitute" and setting.keys is None
    kind: Kind = "soft" if not in_place else ("plain" if units is None else "sized")
    chosen = design(kind, order, grid)
    rows = kept_rows(person, per, setting.keys)
    steps = rows if setting.neighbours.kind != "substitute" or in_place else 2 * rows
    mechanism = Geometric(
        L1(chosen.sensitivity(steps, min(steps, public_facts.groups(setting))), setting.neighbours), epsilon
    )
    caveats = list(public_facts.caveats_of(column, bounds, setting, per))
    if not asked.interval:
        caveats.append("the interval covers the noise alone: sampling error was not bought")
    return MomentStep(
        public_facts.title(asked, setting),
        query,
        shape,
        chosen,
        mechanism,
        setting,
        units,
        kept_rows(person, per),
        asked.interval,
        public_facts.labels(setting.keys),
        tuple(caveats),
    )
