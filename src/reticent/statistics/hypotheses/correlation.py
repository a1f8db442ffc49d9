"""Test of correlation of two bounded numbers: Pearson's r of noisy soft counts, held against a law with the noise.

With t, s in [0, 1] the places of a row's values between their bounds, the row adds b_i(t) b_j(s) to nine numbers,
b = ((1 - t)^2, 2 t (1 - t), t^2): they sum to 1, so a row moves all nine by 1 in L1. Every sum of u^i v^j, i, j <= 2,
of u = 2 t - 1, v = 2 s - 1 is linear in them: the covariance, both variances, and the sum of (u - a)^2 (v - b)^2.

    statistic   C^2 / V of the covariance C = sum (u - a)(v - b) about the noisy means, V its variance with the noise:
                that of sampling is sum (u - a)^2 (v - b)^2, which it is under all uncorrelated laws. The greater of it
                and (sum (u - a)^2)(sum (v - b)^2) / n, that of permutations, is not used: in tables of independent
                columns noise makes that greater, so that dependent ones would be held against too small a law
    law         values of the laws that ``means`` puts in the place of noisy means and variances, as many as the noisy
                number says, a person's rows alike, with the same noise, through the same steps; once of independent
                columns, once of the most dependent ones that are uncorrelated. The larger p-value counts
    effect      r; its interval holds every r at which C - r (t A + B / t) / 2 is within its noise and sampling, A and B
                being the sums of squares and t^2 their ratio: noise in A and B counts by r, and nothing is divided by
                them. Sampling is that of Fisher's z with its variance scaled by V over that of a normal law: exact for
                elliptical laws

Source. Fisher 1921 for z; the rest is our own. See docs/theory/hypotheses.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Records
from reticent.data.query_result import QueryResult
from reticent.data.schema import Category, Integer
from reticent.entropy import Simulation
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Estimate
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.context import SHAPES, AssumedShape, ExpectedAccuracy, Setting
from reticent.statistics.hypotheses import groups, null
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.hypotheses.independence import seeing, words_of
from reticent.statistics.hypotheses.means import BACK, law, soft
from reticent.statistics.hypotheses.null import Floats, Integers
from reticent.statistics.hypotheses.step import HypothesisResult, HypothesisStep
from reticent.statistics.intervals import NONE, half_width, known, too_few

STEPS: Final = 1 << 10  # of a range at most, so that a row adds less than 2^40
FARTHEST: Final = 1 << 60  # steps from 0, so that no value is cut where it is read
CHUNK: Final = 1 << 20  # rows whose sum surely fits 64 bits
TOO_FEW: Final = "too few noisy rows for a test at this loss: the p-value is 1"
SPREAD: Final = 1.0 / 3.0  # of half the range: what a plan assumes
SURE: Final = 2.0  # deviations of its noise that a variance has, where a plan tells anything
NORMAL: Final = 1.959963984540054
INSIDE: Final = 1.0 - 1e-9
GRID: Final = tuple(k / 8.0 for k in range(-8, 9))  # where an interval is looked for
HALVINGS: Final = 9
TERMS: Final = 256  # of a chance: beyond them nine Laplace parts leave nothing
LEFT: Final = 0.05
SMALLEST: Final = 1e-4  # a variance of u, below which none is told from noise

Law = tuple[Floats, Floats]  # values in [-1, 1] that ascend, and their probabilities
Joint = Callable[[Law, Law], Floats]  # probabilities of pairs of values, of two columns


@dataclass(frozen=True, slots=True)
class Correlation:
    """Nine soft counts of two columns read in ``steps`` steps from ``origins``; noise of ``scale`` rows in each."""

    origins: tuple[int, int]
    steps: tuple[int, int]
    scale: float
    alike: int
    draws: int = null.DRAWS

    @property
    def effect(self) -> str:
        return "correlation r"

    @property
    def whole(self) -> int:
        """Contribution of one row to all nine integers together."""
        return (self.steps[0] * self.steps[1]) ** 2

    def protected(self, results: Sequence[QueryResult]) -> list[tuple[int, ...]]:
        (result,) = results
        assert result.records is not None
        return [products(result.records, self.origins, self.steps)]

    def tell(self, noisy: Sequence[tuple[int, ...]]) -> HypothesisResult:
        counts = np.array(noisy[0], np.float64).reshape(3, 3) / self.whole
        if too_few(float(counts.sum()), [self.scale] * 9):
            return HypothesisResult(Estimate(0.0, -1.0, 1.0, 1.0, 1.0), 0.0, null.PValue(1.0, 1.0, 1.0), (TOO_FEW,))
        found = fit(counts, self.scale, self.alike)
        tells = [
            null.p_value(float(found.statistic), self._under(found, joint)) for joint in (_independent, _dependent)
        ]
        effect = self._effect(counts, found)
        words = words_of(effect.noise, effect.sampling, "correlation")
        return HypothesisResult(effect, float(found.statistic), max(tells, key=lambda p: p.value), words)

    def _under(self, about: CorrelationFit, joint: Joint) -> Floats:
        """Statistics of simulated tables."""
        tables = self._tables(about, joint, self.draws, null.stream("uncorrelated columns"))
        return fit(tables, self.scale, self.alike).statistic

    def _tables(self, about: CorrelationFit, joint: Joint, draws: int, source: Simulation) -> Floats:
        """Noisy soft counts of shape (draws, 3, 3)."""
        first = law(float(about.means[0]), float(about.variances[0]))
        second = law(float(about.means[1]), float(about.variances[1]))
        cells = joint(first, second)
        persons = max(round(float(about.size) / self.alike), 1)
        rows = source.multinomial(persons, (cells / cells.sum()).ravel(), draws).reshape(draws, *cells.shape)
        exact = soft(first[0]).T @ rows @ soft(second[0])
        found: Floats = self.alike * exact + source.laplace(0.0, self.scale, exact.shape)
        return found

    def _effect(self, counts: Floats, found: CorrelationFit) -> Estimate:
        """r and its interval: every r that the noisy sums do not rule out."""
        pivot = _pivot(counts, found, self.scale, self.alike)
        value, held = pivot.value, [r for r in (*GRID, pivot.zero) if pivot.holds(r)]
        low, high = min([value, *held]), max([value, *held])
        low = _end(pivot, low, max([r for r in GRID if r < low], default=-1.0))
        high = _end(pivot, high, min([r for r in GRID if r > high], default=1.0))
        most = max(high - value, value - low)
        sampling = min(half_width(known(pivot.variance(value, 1.0)), []) / pivot.product, 1.0)
        return Estimate(value, low, high, min(half_width(NONE, pivot.scales(value)) / pivot.product, most), sampling)

    def expected(self, people: int) -> ExpectedAccuracy:
        """For uncorrelated columns in the middle of their bounds, and of other shapes; of persons with one row each."""
        usual, *others = ((shape.name, *self._widths(shape, people)) for shape in SHAPES)
        if usual[1] is None:
            return ExpectedAccuracy(None, None, TOO_FEW)
        least = null.least_seen(lambda effect: self.power(effect, people, null.LEVEL), 1.0)
        # where noise hides the spread of a shape, an answer lies anywhere between -1 and 1
        told = [(name, noise or 1.0, sampled) for name, noise, sampled in others]
        return seeing(*usual[1:], least, "correlation", "deviations 1/8 of the ranges", others=told, most=1.0)

    def _widths(self, shape: AssumedShape, people: int) -> tuple[float | None, float | None]:
        """Half-widths of noise and sampling for two columns of one shape; None where noise hides their spread."""
        about, squares = _powers(np.asarray(shape.mean))[1:]
        blur = math.sqrt(2.0) * self.scale * float(np.linalg.norm(np.outer(squares, BACK[0])))
        spread = people * shape.deviation**2
        if too_few(people, [self.scale] * 9) or spread < SURE * blur:
            return None, None
        scales = (self.scale * np.outer(about, about) / spread).ravel().tolist()
        told = _by_z(0.0, scales, self.alike / max(people - 3.0 * self.alike, 1.0))
        return told.noise, told.sampling

    def power(self, effect: float, people: int, level: float) -> float:
        """Power for columns in the middle of their bounds.

        A share ``effect`` of the rows has v = u, or v = -u; the others have independent values.

        Parameters
        ----------
        effect : float
            Effect, in the unit of the test.
        people : int
            Number of people.
        level : float
            Level of the test, in (0, 1).

        Returns
        -------
        float
            Probability of a rejection, in [0, 1].

        Raises
        ------
        PublicParameterError
            An effect that no correlation has.
        """
        if not -1.0 <= effect <= 1.0:
            raise PublicParameterError(f"a correlation lies between -1 and 1, got {effect:g}")
        if too_few(people, [self.scale] * 9):
            return 0.0
        size, squares = np.array(float(people)), np.full(2, SPREAD**2)
        zero = np.zeros(2)
        about = CorrelationFit(size, zero, squares, squares, zero[0], zero[0], zero[0])
        source = null.stream("correlated columns")

        def mixed(first: Law, second: Law) -> Floats:
            equal: Floats = abs(effect) * np.diag(first[1]) + (1.0 - abs(effect)) * _independent(first, second)
            return equal

        tables = self._tables(about, mixed, null.PLANNED, source)
        seen = fit(tables, self.scale, self.alike).statistic
        return float(np.mean(seen > _bar(self, people, level)))


@dataclass(frozen=True, slots=True, eq=False)
class _Pivot:
    """C - r (t A + B / t) / 2, which is about 0 at the true r; C, A, B the sums of products and squares, t public.

    It is linear in the noisy counts, so its noise is known whatever they are: nothing is divided by a noisy number.
    With t^2 = B / A half the bracket is the root of A B; with another t it is greater, by the square of what t is off.

    Attributes
    ----------
    cross, middle : float
        C and (t A + B / t) / 2, which is not below 0.
    forms : pair of arrays of shape (3, 3)
        Those two as forms in the noisy counts.
    product : float
        The root of A B, where each is moved away from 0 by what is noise.
    spread : float
        Deviation of Fisher's z.
    """

    cross: float
    middle: float
    forms: tuple[Floats, Floats]
    scale: float
    product: float
    spread: float

    @property
    def value(self) -> float:
        return min(max(self.cross / self.product, -1.0), 1.0)

    @property
    def zero(self) -> float:
        """The r at which the pivot is 0."""
        return min(max(self.cross / self.middle, -1.0), 1.0) if self.middle > 0.0 else self.value

    def scales(self, r: float) -> list[float]:
        """Scales of the noise in every count."""
        found: list[float] = (self.scale * (self.forms[0] - r * self.forms[1])).ravel().tolist()
        return found

    def variance(self, r: float, side: float) -> float:
        """Variance of sampling: as wide as 95 % of Fisher's z are on this side of r."""
        z = math.atanh(min(max(r, -INSIDE), INSIDE))
        return ((math.tanh(z + side * NORMAL * self.spread) - math.tanh(z)) / NORMAL * self.product) ** 2

    def holds(self, r: float) -> bool:
        """Tell if a score test on the noisy sums accepts the correlation ``r`` at 95 %."""
        away = self.cross - r * self.middle
        return _chance(abs(away), self.variance(r, math.copysign(1.0, away)), np.array(self.scales(r))) <= 1.0 - LEFT


def _pivot(counts: Floats, found: CorrelationFit, scale: float, alike: int) -> _Pivot:
    size, forms = float(found.size), []
    about = [_powers(mean) for mean in found.means.tolist()]
    for form, mean in zip(
        (np.outer(about[0][2], BACK[0]), np.outer(BACK[0], about[1][2])), found.means.tolist(), strict=True
    ):
        blur = math.sqrt(2.0) * scale * math.sqrt(float((form * form).sum()))
        own = float((form * counts).sum())
        forms.append((form, min(0.5 * (own + math.hypot(own, blur)), size * max(1.0 - mean * mean, SMALLEST))))
    (one, first), (other, second) = forms
    turn, product = math.sqrt(second / first), math.sqrt(first * second)
    middle = (turn * one + other / turn) / 2.0
    cross = float(found.covariance)
    inside = min(abs(cross / product), 1.0)
    heavy = max(1.0, float(found.fourth) * size / (product**2 * (1.0 + 2.0 * inside**2)))
    spread = math.sqrt(alike * heavy / max(size - 3.0 * alike, 1.0))
    pair = (np.outer(about[0][1], about[1][1]), middle)
    return _Pivot(cross, max(float((middle * counts).sum()), 0.0), pair, scale, product, spread)


@np.errstate(under="ignore")  # far out a transform is 0
def _chance(radius: float, variance: float, scales: Floats) -> float:
    """P(|error| <= radius), of a normal part and Laplace parts: one value of what ``intervals.half_width`` solves."""
    period = 20.0 * float(np.abs(scales).max()) + 9.0 * math.sqrt(variance)
    if radius >= period or period == 0.0:
        return float(radius >= period)
    k = np.arange(1, TERMS + 1)
    u = k * (math.pi / period)
    transform = np.exp(-0.5 * variance * u * u) / (1.0 + np.outer(scales, u) ** 2).prod(axis=0)
    return radius / period + 2.0 / math.pi * float((np.sin(u * radius) * transform / k).sum())


def _end(pivot: _Pivot, inside: float, outside: float) -> float:
    """End of the accepted r, between one that is accepted and one that is not; or the end of the range."""
    if inside == outside:
        return inside
    for _ in range(HALVINGS):
        between = 0.5 * (inside + outside)
        inside, outside = (between, outside) if pivot.holds(between) else (inside, between)
    return outside


@lru_cache(maxsize=256)
def _bar(kind: Correlation, people: int, level: float) -> float:
    """The critical value that a plan assumes."""
    zero, squares = np.zeros(2), np.full(2, SPREAD**2)
    about = CorrelationFit(np.array(float(people)), zero, squares, squares, zero[0], zero[0], zero[0])
    bars = []
    for joint in (_independent, _dependent):
        tables = kind._tables(about, joint, null.PLANNED, null.stream("uncorrelated columns of a plan"))
        bars.append(null.critical(fit(tables, kind.scale, kind.alike).statistic, level))
    return max(bars)


def _independent(first: Law, second: Law) -> Floats:
    """Probabilities of pairs of values of independent columns."""
    found: Floats = np.outer(first[1], second[1])
    return found


def _dependent(first: Law, second: Law) -> Floats:
    """Probabilities of pairs that rise together and pairs that do not, in shares that leave no correlation."""
    up, down = _risen(first[1], second[1]), _risen(first[1], second[1][::-1])[:, ::-1]
    product = np.outer(first[0] - first[0] @ first[1], second[0] - second[0] @ second[1])
    above, below = max(float((product * up).sum()), 0.0), max(-float((product * down).sum()), 0.0)
    if above + below == 0.0:
        return _independent(first, second)
    found: Floats = (below * up + above * down) / (above + below)
    return found


def _risen(first: Floats, second: Floats) -> Floats:
    """Probabilities of pairs of values that rise together."""
    ends, others = np.cumsum(first)[:, None], np.cumsum(second)[None, :]
    found: Floats = np.maximum(np.minimum(ends, others) - np.maximum(ends - first[:, None], others - second), 0.0)
    return found


@dataclass(frozen=True, slots=True)
class CorrelationFit:
    """Fit of noisy soft counts of shape (..., 3, 3), u and v in [-1, 1]; the last axis of pairs is the column.

    ``own`` are the variances as they come, ``variances`` what is possible of them.
    """

    size: Floats
    means: Floats
    own: Floats
    variances: Floats
    covariance: Floats
    fourth: Floats
    statistic: Floats


def fit(counts: Floats, scale: float, alike: int) -> CorrelationFit:
    """Estimates of both columns from noisy soft counts, and the statistic.

    Parameters
    ----------
    counts : array of float
        Noisy soft counts, shape (..., cells, cells).
    scale : float
        Scale of their noise, in rows.
    alike : int
        Rows of one person, which count as moving together; 1 for one row each.

    Returns
    -------
    CorrelationFit
        Estimates of shape (...).
    """
    sums = BACK @ counts @ BACK.T  # of u^i v^j
    size = np.maximum(sums[..., 0, 0], 1.0)
    means = np.clip(np.stack([sums[..., 1, 0], sums[..., 0, 1]], -1) / size[..., None], -1.0, 1.0)
    squares = np.stack([sums[..., 2, 0], sums[..., 0, 2]], -1) / size[..., None]
    own = squares - 2.0 * means * np.stack([sums[..., 1, 0], sums[..., 0, 1]], -1) / size[..., None] + means**2
    possible = np.clip(own, SMALLEST, np.maximum(1.0 - means**2, SMALLEST))
    left, right = _powers(means[..., 0]), _powers(means[..., 1])
    product = left[1][..., :, None] * right[1][..., None, :]
    covariance = (product * counts).sum((-2, -1))
    fourth = (left[2][..., :, None] * right[2][..., None, :] * counts).sum((-2, -1))
    sampled = alike * np.clip(fourth, size * SMALLEST**2, size)
    blur = 2.0 * scale**2 * (product**2).sum((-2, -1))
    return CorrelationFit(size, means, own, possible, covariance, fourth, covariance**2 / (sampled + blur))


def _powers(mean: Floats) -> tuple[Floats, Floats, Floats]:
    """(u - mean)^0, ^1 and ^2 as forms in soft counts, along the last axis."""
    m = np.asarray(mean)[..., None]
    return BACK[0] + 0.0 * m, BACK[1] - m * BACK[0], BACK[2] - 2.0 * m * BACK[1] + m * m * BACK[0]


def _by_z(value: float, scales: Sequence[float], spread: float) -> Estimate:
    """r from its noise and the variance of its z."""
    inside = min(abs(value), 0.99)
    steep = 1.0 - inside**2  # dr / dz
    middle = math.atanh(math.copysign(inside, value))
    noisy = [scale / steep for scale in scales]
    radius = half_width(known(spread), noisy)
    low, high = math.tanh(middle - radius), math.tanh(middle + radius)
    noise, sampling = half_width(NONE, noisy), half_width(known(spread), [])
    return Estimate(value, min(low, value), max(high, value), min(steep * noise, 1.0), min(steep * sampling, 1.0))


# --- the integers -----------------------------------------------------------------------------------------------------


def products(records: Integers, origins: tuple[int, int], steps: tuple[int, int]) -> tuple[int, ...]:
    """The nine soft counts of records of shape (n, 2), in units in which a row's are integers; exact.

    A row that lacks a value adds nothing; any other moves to the bounds and adds nine integers >= 0 whose sum is
    (steps[0] steps[1])^2, whatever its values.

    Parameters
    ----------
    records : array of shape (n, 2), int
    origins : pair of int
        Low end of each column, in steps of its unit.
    steps : pair of int
        Number of steps between the bounds of each column.

    Returns
    -------
    tuple of nine int
    """
    there = records[records[:, 0] != ABSENT]
    total = [0] * 9
    for start in range(0, len(there), CHUNK):
        one, other = (
            _soft(np.clip(there[start : start + CHUNK, place] - origin, 0, most), most)
            for place, (origin, most) in enumerate(zip(origins, steps, strict=True))
        )
        total = [held + int(part) for held, part in zip(total, (one.T @ other).ravel(), strict=True)]
    return tuple(total)


def _soft(places: Integers, most: int) -> Integers:
    """(most - t)^2, 2 t (most - t), t^2: they sum to most^2."""
    left = most - places
    return np.stack([left * left, 2 * places * left, places * places], axis=1)


# --- the step ---------------------------------------------------------------------------------------------------------


def step(asked: HypothesisTest, setting: Setting, epsilon: Fraction) -> HypothesisStep:
    """The step of "correlation", for exactly ``epsilon``.

    Parameters
    ----------
    asked : HypothesisTest
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    HypothesisStep

    Raises
    ------
    QuestionError
        Before rows are read: a category, or a column without public bounds.
    """
    assert asked.on is not None  # asked only of kinds with two columns
    read = (_read(asked.column, asked.low, asked.high, asked, setting), _read(asked.on, None, None, asked, setting))
    person = setting.schema.person
    steps = (read[0].steps, read[1].steps)
    moved = person.rows * (2 if setting.neighbours.kind == "substitute" else 1) * (steps[0] * steps[1]) ** 2
    mechanism = Geometric(L1(Fraction(moved), setting.neighbours), epsilon)
    scale = float(mechanism.scale / (steps[0] * steps[1]) ** 2)
    words = [
        text
        for name, one in zip((asked.column, asked.on), read, strict=True)
        for text in public_facts.caveats_of(name, one.bounds, setting, "person")
    ]
    return HypothesisStep(
        public_facts.name_of(asked.name, setting),
        (Records((asked.column, asked.on), (read[0].unit, read[1].unit)),),
        mechanism,
        Correlation((read[0].origin, read[1].origin), steps, scale, person.rows),
        setting,
        (*words, *groups.several_rows(setting)),
    )


@dataclass(frozen=True, slots=True)
class _ColumnReading:
    """Reading of a column: floor(x / unit) less origin, from 0 to steps."""

    bounds: tuple[Fraction, Fraction]
    unit: Fraction
    origin: int
    steps: int


def _read(
    column: str, low: Fraction | None, high: Fraction | None, asked: HypothesisTest, setting: Setting
) -> _ColumnReading:
    declared = setting.schema.column(column)
    if isinstance(declared, Category):
        raise QuestionError(f"{column} is a category, and a correlation needs numbers. Nothing was charged.")
    bounds = public_facts.bounds(asked.name, setting, column, low, high)
    unit = (bounds[1] - bounds[0]) / STEPS
    if isinstance(declared, Integer):
        unit = Fraction(max(unit.__ceil__(), 1))
    origin = (bounds[0] / unit).__floor__()
    if abs(origin) >= FARTHEST:
        raise QuestionError(f"the bounds of {column} are too near each other, so far from 0. Nothing was charged.")
    return _ColumnReading(bounds, unit, origin, (bounds[1] / unit).__floor__() - origin)


__all__ = ["Correlation", "CorrelationFit", "fit", "products", "step"]
