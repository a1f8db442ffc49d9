"""Moments from soft counts: count, mean, variance and higher moments of a bounded column for one epsilon.

Let y in [-1, 1] be the value about the middle of its bounds, t = (1 + y) / 2. A row adds to K + 1 integers:

    soft     B_i += C(K, i) t^i (1 - t)^(K - i)        they sum to 1, so a row moves the vector by 1 in L1
    plain    (c/4, y/2, y^2/4)                         replacing one row by another moves it by at most 1 in L1

The moments sum y^j are linear in either vector. So one geometric mechanism with the whole epsilon releases all of
them, and epsilon need not be split between count, first and second moment. Soft counts serve add/remove and groups,
plain ones substitution. Proofs, the comparison with a split, and the orders 3 and 4: docs/theory/intervals.md.

A basis is exact rational arithmetic on public numbers. An estimate is a function of the noisy sums. Its error is, to
first order, one linear form in the rows plus the same form in the noise, whose law is known. The first part is normal,
with a variance taken from the released moments. For a mean this is exact: with S and N the noisy sums,

    N (S / N - mu) = sum (y_i - mu)  +  (noise of S) - mu (noise of N).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import comb, lcm
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from reticent.data.column_kinds import AMOUNT_PART, are_amounts
from reticent.data.query import POWER_ONE, Moments, PresentValues, Query, kept_rows
from reticent.data.schema import FixedPointGrid, grid_by_width
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.answer import CLIPPED, Answer, Cell, Label, ValueCount
from reticent.statistics.context import (
    EQUAL_GROUPS,
    OFF_MIDDLE,
    SHAPES,
    AssumedShape,
    ExpectedAccuracy,
    Margin,
    Setting,
    StepWork,
    guarantee_of,
    noisy,
    of_any,
    of_persons,
    passing,
    summed,
)
from reticent.statistics.error_law import ErrorLaw, SampledVariance
from reticent.statistics.intervals import (
    FEW,
    NONE,
    estimated_factor,
    half_width,
    noise_half_width,
    normal_half_width,
    spread,
    student_stretch,
    too_few,
    within_bounds,
)

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy
    from reticent.statistics.moments.fourth_moment import FourthMoment
    from reticent.statistics.moments.many_means import MeanTerms
    from reticent.statistics.moments.mean import Mean
    from reticent.statistics.moments.variance import SpreadStatistic

AMOUNTS: Final = AssumedShape("an amount", 2 / AMOUNT_PART - 1, 2 / AMOUNT_PART, 9.0)
TYPICAL_SPREAD: Final = "a deviation of a tenth"
# Of 1,218 public columns between round bounds the median deviation is 1/9.7 of the range, at .34 of it. Noise hides a
# narrow one: of 1 in 50 no shape of a mean has as much.
OF_SPREADS: Final = (
    *SHAPES,
    AssumedShape(TYPICAL_SPREAD, -0.3, 0.2, 3.0),
    AssumedShape("at one end of wide bounds", -0.98, 0.02, 9.0),  # exponential, a hundredth of the range as its mean
)
FAR_BOUNDS: Final = "half of that deviation has twice the noise, closer bounds less"
UNIT: Final = 1 << 20  # a soft count of one row is this many integer steps

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]
Kind: TypeAlias = Literal["soft", "plain", "sized"]  # sized: plain, and the number of values is public

ONE, HALF = Fraction(1), Fraction(1, 2)
PLAIN: Final[dict[int, tuple[Fraction, ...]]] = {
    1: (HALF, HALF),
    2: (Fraction(1, 4), HALF, Fraction(1, 4)),
    4: (HALF, HALF, ONE, Fraction(1, 8), Fraction(1, 4)),
}


@dataclass(frozen=True, slots=True)
class MomentBasis:
    """Linear map from sums of powers to the protected integers, and its inverse.

    Attributes
    ----------
    forward : matrix
        Released integer i is ``UNIT * sum_j forward[i][j] P_j``, rounded, with P_j the query's sums as rationals.
    back : matrix
        Sum of y^j is ``sum_i back[j][i] * released_i / UNIT``.
    change : Fraction
        The most one row can move ``forward @ P`` in L1: a row added or removed, or (``plain``) also replaced.
    """

    order: int
    forward: Matrix
    back: Matrix
    change: Fraction
    reach: int

    def sensitivity(self, rows: int, groups: int) -> Fraction:
        """L1 sensitivity of the released integers when ``rows`` rows move in at most ``groups`` groups.

        Each integer is rounded once, after summing, which adds at most 1 for every integer that can change.
        """
        return Fraction((UNIT * self.change * rows).__ceil__() + (self.order + 1) * groups)

    def integers(self, groups: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """The integers to protect, from ``Moments`` of each group: (count, first, second, ...)."""
        units = [ONE, Fraction(1, self.reach), *[Fraction(1, POWER_ONE)] * (self.order - 1)]
        rows = [_whole([UNIT * w * unit for w, unit in zip(row, units, strict=True)]) for row in self.forward]
        return [  # (2 a + b) // 2 b is a / b, rounded with halves up
            tuple((2 * _dot(row, sums) + over) // (2 * over) for row, over in rows) for sums in groups
        ]

    def moments(self, groups: Sequence[Sequence[int]]) -> list[tuple[float, ...]]:
        """Noisy sums of y^0, y^1, ... of each group, from its released integers."""
        rows = [_whole([w / UNIT for w in row]) for row in self.back]
        return [tuple(_dot(row, released) / over for row, over in rows) for released in groups]


def _whole(row: Sequence[Fraction]) -> tuple[tuple[int, ...], int]:
    """The row as integers over one denominator: exact sums of many groups then need no fractions."""
    over = lcm(*(w.denominator for w in row))
    return tuple(w.numerator * (over // w.denominator) for w in row), over


def _dot(row: Sequence[int], numbers: Sequence[int]) -> int:
    return sum(w * number for w, number in zip(row, numbers, strict=True))


@lru_cache(maxsize=256)
def design(kind: Kind, order: int, grid: FixedPointGrid) -> MomentBasis:
    """The design of one column and order, from its public grid.

    Parameters
    ----------
    kind : Kind
        Which integers of a row are summed: "plain", "sized" or "soft".
    order : int
        Highest power, 1 to 4.
    grid : FixedPointGrid
        Public bounds and steps of the column.

    Returns
    -------
    MomentBasis
        Table of the integers, with their sensitivities.
    """
    width = grid.highest - grid.lowest
    # y = shift + stretch x, where x is the grid value less the middle, divided by the reach, as the query has it
    shift, stretch = Fraction(2 * grid.middle - grid.lowest - grid.highest, width), Fraction(2 * grid.reach, width)
    powers = _affine(order, shift, stretch)
    basis, back = _soft(order) if kind == "soft" else _plain(PLAIN[order])
    forward = _product(basis, powers)
    # A power above the first is rounded by at most one unit 1 / POWER_ONE in each row, and two rows may be replaced.
    slips = sum((abs(row[j]) for row in forward for j in range(2, order + 1)), Fraction(0))
    weights = PLAIN[order]
    change = ONE if kind == "soft" else plain_change(weights if kind == "plain" else (Fraction(0), *weights[1:]))
    return MomentBasis(order, forward, back, change + 2 * slips / POWER_ONE, grid.reach)


def plain_change(weights: Sequence[Fraction]) -> Fraction:
    """The most one row changes (w0 c, w1 y, w2 y^2, ...) in L1, replaced by another or by a missing one.

    Replaced: |y - y'| w1 + |y^2 - y'^2| w2 <= max over s in [-1, 1] of (1 + s) w1 + (1 - s^2) w2, reached between
    y = 1 and y' = -s; powers 3 and 4 are bounded by 2 w3 + w4. Added or removed: at most the sum of the weights.
    """
    w0, w1 = weights[0], weights[1]
    w2 = weights[2] if len(weights) > 2 else Fraction(0)
    top = min(ONE, w1 / (2 * w2)) if w2 else ONE
    pair = (1 + top) * w1 + (1 - top * top) * w2
    higher = sum((w * (2 if j % 2 else 1) for j, w in enumerate(weights) if j > 2), Fraction(0))
    return max(pair + higher, sum(weights, Fraction(0)) if w0 else Fraction(0))


def _affine(order: int, shift: Fraction, stretch: Fraction) -> Matrix:
    """y^j = sum_m row_j[m] x^m."""
    return tuple(
        tuple(comb(j, m) * shift ** (j - m) * stretch**m if m <= j else Fraction(0) for m in range(order + 1))
        for j in range(order + 1)
    )


def _soft(order: int) -> tuple[Matrix, Matrix]:
    """Bernstein polynomials of t = (1 + y) / 2 in powers of y, and powers of y in Bernstein polynomials."""
    ups = [_power((HALF, HALF), i) for i in range(order + 1)]
    downs = [_power((HALF, -HALF), i) for i in range(order + 1)]
    basis = tuple(
        tuple(comb(order, i) * c for c in _padded(_times(ups[i], downs[order - i]), order)) for i in range(order + 1)
    )
    # t^m = sum_i C(i, m) / C(order, m) b_i and y^j = (2 t - 1)^j
    back = tuple(
        tuple(
            sum(
                (Fraction(comb(j, m) * 2**m * (-1) ** (j - m) * comb(i, m), comb(order, m)) for m in range(j + 1)),
                Fraction(0),
            )
            for i in range(order + 1)
        )
        for j in range(order + 1)
    )
    return basis, back


def _plain(weights: Sequence[Fraction]) -> tuple[Matrix, Matrix]:
    size = range(len(weights))
    return (
        tuple(tuple(weights[i] if i == j else Fraction(0) for j in size) for i in size),
        tuple(tuple(1 / weights[i] if i == j else Fraction(0) for j in size) for i in size),
    )


def _product(left: Matrix, right: Matrix) -> Matrix:
    columns = list(zip(*right, strict=True))
    return tuple(
        tuple(sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns) for row in left
    )


def _times(left: Sequence[Fraction], right: Sequence[Fraction]) -> tuple[Fraction, ...]:
    found = [Fraction(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            found[i + j] += a * b
    return tuple(found)


def _power(factor: tuple[Fraction, ...], times: int) -> tuple[Fraction, ...]:
    found: tuple[Fraction, ...] = (ONE,)
    for _ in range(times):
        found = _times(found, factor)
    return found


def _padded(row: Sequence[Fraction], order: int) -> tuple[Fraction, ...]:
    return (*row, *[Fraction(0)] * (order + 1 - len(row)))


Shape = Literal["mean", "variance", "sd"]
MANY: Final = 16  # means from which on their half-widths are found at once


@dataclass(frozen=True, slots=True)
class MomentStep:
    """One mean, variance or standard deviation per group.

    ``units`` is the number of values where it is public, then the first coordinate is not drawn. ``alike`` is the
    most values of one person: sampling treats them as equal to each other, the worst case. ``merged`` is the number
    of groups whose noises are summed in a margin.
    """

    name: str
    query: Moments
    shape: Shape
    design: MomentBasis
    mechanism: Geometric
    setting: Setting
    units: int | None
    alike: int
    interval: bool
    labels: tuple[Label, ...]
    caveats: tuple[str, ...]
    estimand: str = ""
    margins: tuple[Margin, ...] = ()
    merged: int = 1

    @property
    def work(self) -> StepWork:
        """A mean has one half-width in each cell, a variance one more for each share of its fourth moment."""
        return StepWork(half_widths=1 if self.design.order <= 2 else 4)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.query,)

    @property
    def guarantee(self) -> Guarantee:
        return guarantee_of(self.mechanism, self.setting, self.name)

    @property
    def grid(self) -> FixedPointGrid:
        return self.query.grid

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        (result,) = results
        drawn = self._released(self.design.integers(result.vectors), entropy)
        moments = self.design.moments(drawn)
        if self.shape == "mean" and len(drawn) >= MANY:
            from reticent.statistics.moments.many_means import outcomes_of

            found, errors = outcomes_of(self.many, moments)
        else:
            found = [self._outcome(one) for one in moments]
            pairs = zip(found, moments, strict=True)
            errors = [None if outcome == NO_REPLY else self._error(one) for outcome, one in pairs]
        caveats = (*self.caveats, *_clipped(found, self))
        cells = tuple(
            Cell(label, _displayed(outcome, self), error)
            for label, outcome, error in zip(self.labels, found, errors, strict=True)
        )
        for label, places in self.margins:
            whole = replace(self, merged=len(places))
            outcome = whole.outcome_of(summed(drawn, places))
            cells = (*cells, Cell(label, outcome))
        number = moments[0][0]  # of the first group, and read where there are none
        return Answer(self.name, cells, caveats, values=ValueCount(number, tuple(self.noise_of([1.0]))))

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
        return scales * self.merged

    @property
    def many(self) -> MeanTerms:
        """The terms from which means of many groups are worked out at once."""
        from reticent.statistics.moments.many_means import MeanTerms

        back = tuple(tuple(map(float, row)) for row in self.design.back)
        middle, half, _, _ = _range(self)
        return MeanTerms(back, self.scale, self.units is not None, self.alike, middle, half)

    def outcome_of(self, released: tuple[int, ...]) -> Outcome[Estimate]:
        """Estimate the statistic of one group from its released integers, in the unit of the column."""
        return _displayed(self._outcome(*self.design.moments([released])), self)

    def _outcome(self, moments: Sequence[float]) -> Outcome[Estimate]:
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
        squares = self._squares(moments, mean)
        sampled = NONE if squares is None else squares.plausible
        times = self._times(size)
        radius = half_width(sampled.times(times), scales) / size
        return Estimate(
            unclipped,
            unclipped - radius,
            unclipped + radius,
            half_width(NONE, scales) / size,
            normal_half_width(times * sampled.average) / size,
        )

    def _times(self, size: float) -> float:
        """Factor of a sum of squares: rows of one person are taken as equal, and so few of them tell a variance."""
        return self.alike * estimated_factor(size / self.alike)

    def _squares(self, moments: Sequence[float], mean: float) -> SampledVariance | None:
        """Variance of the sum of the values about their mean; None where it was not bought."""
        if len(moments) < 3:
            return None
        form = [mean * mean, -2.0 * mean, 1.0]
        estimate = sum(w * m for w, m in zip(form, moments, strict=False))
        return SampledVariance(estimate, spread(self.noise_of(form)), 0.0, moments[0] * (1.0 - mean * mean))

    def _error(self, moments: Sequence[float]) -> ErrorLaw | None:
        """The law of the error of a mean, in the unit of the column; variances have none that adds up."""
        if self.shape != "mean":
            return None
        size = moments[0]
        mean = min(max(moments[1] / size, -1.0), 1.0)
        middle, half, _, _ = _range(self)
        squares = self._squares(moments, mean)
        return ErrorLaw(
            middle + half * moments[1] / size,
            tuple(abs(half * scale / size) for scale in self.noise_of([-mean, 1.0]) if scale),
            sampling=None if squares is None else squares.times(self._times(size) * (half / size) ** 2),
            size=size if self.alike == 1 else 0.0,
        )

    def _variance(self, moments: Sequence[float], mean: float) -> Outcome[Estimate]:
        """In units of y; a variance first, then its root if asked."""
        size = moments[0]
        raw = moments[2] / size - mean * mean
        centre = self.noise_of([-mean, 1.0])
        value = raw + 2.0 * sum(s * s for s in centre) / size**2  # the noise of the mean enters squared
        bounded = min(max(value, 0.0), 1.0 - mean * mean)
        scales = self.noise_of([mean * mean - bounded, -2.0 * mean, 1.0])
        fourth = self._fourth(moments, mean, bounded) if len(moments) > 4 else None
        sampled = NONE if fourth is None else fourth.variances()
        below = half_width(sampled, scales)
        above = below + (0.0 if fourth is None else fourth.beyond(scales, below))
        low, high = value - below / size, value + above / size
        noise = half_width(NONE, scales) / size
        sampling = normal_half_width(sampled.average) / size
        if self.shape == "variance":
            return Reply(Estimate(value, low, high, noise, sampling))
        if high <= 0.0:
            return NO_REPLY
        inside = within_bounds(Estimate(value, low, high, noise, sampling), 0.0, math.inf)
        root, ends = math.sqrt(inside.value), (math.sqrt(inside.low), math.sqrt(inside.high))
        return Reply(Estimate(root, *ends, math.sqrt(root**2 + noise) - root, math.sqrt(root**2 + sampling) - root))

    def _fourth(self, moments: Sequence[float], mean: float, value: float) -> FourthMoment:
        """The sum of ((y - mean)^2 - value)^2, from the released third and fourth moments."""
        from reticent.statistics.moments.fourth_moment import FourthMoment

        square = [mean * mean - value, -2.0 * mean, 1.0]
        form = [
            square[0] ** 2,
            2.0 * square[0] * square[1],
            2.0 * square[0] + square[1] ** 2,
            2.0 * square[1],
            1.0,
        ]
        estimate = sum(w * m for w, m in zip(form, moments, strict=True))
        return FourthMoment(moments[0], mean, value, estimate, self.noise_of(form), self.alike)

    def expected(self, people: int) -> ExpectedAccuracy:
        """For values about the middle of the bounds, with a sixth of the range as deviation; and for other shapes."""
        return of_persons(self._expected, people, self.alike, self.setting.schema.person)

    def _expected(self, people: int) -> ExpectedAccuracy:
        groups = len(self.labels)
        size = (self.units if self.units is not None else people) / groups
        drawn = self.noise_of([1.0])
        replies = of_any(passing(lambda number: not too_few(number, drawn), size, drawn))
        if too_few(size, drawn):
            return ExpectedAccuracy(None, None, FEW, replies)
        typical, part, shapes = (OFF_MIDDLE, 8, SHAPES) if self.shape == "mean" else (TYPICAL_SPREAD, 10, OF_SPREADS)
        low, high = (end * self.grid.unit for end in (self.grid.lowest, self.grid.highest))
        if are_amounts(self.setting.schema.columns.get(self.query.column), low, high):
            typical, part, shapes = AMOUNTS.name, AMOUNT_PART, (*shapes, AMOUNTS)
        more = f"; {FAR_BOUNDS}" if self.shape == "sd" else ""
        usual, *others = ((shape.name, *self._widths(shape, size)) for shape in shapes)
        note = f"for a standard deviation of 1/{part} of the range{'' if groups == 1 else EQUAL_GROUPS}{more}"
        found = ExpectedAccuracy(*usual[1:], note, replies, tuple(others), typical=typical)
        return public_facts.of_dates(found, self.query.column, self.setting)

    def _widths(self, shape: AssumedShape, size: float) -> tuple[float, float | None]:
        """Half-widths of noise and sampling in the unit of the answer, for ``size`` values of a shape."""
        mean, variance = shape.mean, shape.deviation**2
        _, factor, _, _ = _range(self)
        if self.shape == "mean":
            noise = noise_half_width(self.noise_of([-mean, 1.0])) / size
            sampling = normal_half_width(self.alike * variance / size) * student_stretch(size / self.alike)
        else:
            noise = noise_half_width(self.noise_of([mean * mean - variance, -2.0 * mean, 1.0])) / size
            sampling = normal_half_width(self.alike * (shape.kurtosis - 1.0) * variance**2 / size)
            if self.shape == "sd":
                noise, sampling = (math.sqrt(variance + w) - shape.deviation for w in (noise, sampling))
        return factor * noise, factor * sampling if self.interval else None


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
    value, low, high = (middle + factor * x for x in (e.value, e.low, e.high))
    return Reply(within_bounds(Estimate(value, low, high, factor * e.noise, factor * e.sampling), least, most))


def _clipped(outcomes: Sequence[Outcome[Estimate]], step: MomentStep) -> tuple[str, ...]:
    middle, factor, least, most = _range(step)
    for outcome in outcomes:
        if isinstance(outcome, Reply):
            e = outcome.value
            if any(not least <= middle + factor * x <= most for x in (e.value, e.low, e.high)):
                return (CLIPPED,)
    return ()


def prepare(asked: Mean | SpreadStatistic, shape: Shape, setting: Setting, epsilon: Fraction) -> MomentStep:
    """The step of a mean, variance or standard deviation between public bounds.

    Parameters
    ----------
    asked : Mean or SpreadStatistic
        The question.
    shape : Shape
        "mean", "variance" or "sd".
    setting : Setting
        Public circumstances of the release.
    epsilon : Fraction
        Loss of the step.

    Returns
    -------
    MomentStep
        Step with its guarantee.
    """
    column, per = asked.column, setting.per
    bounds = public_facts.bounds(asked.name, setting, column, asked.low, asked.high)
    order = (1 if shape == "mean" else 2) * (2 if asked.interval else 1)
    grid = grid_by_width(*bounds)
    person = setting.schema.person
    query = Moments(column, grid, order, setting.keys, per)
    units = public_facts.public_size(PresentValues(column, setting.keys, per), setting)
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
