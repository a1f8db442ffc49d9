"""Test of equal means of a bounded number in two groups: noisy soft counts, held against a law with the noise.

Each group gives the soft counts of ``statistics/moments/moment_step`` (how many values, their sum, their squares), all
protected by one geometric draw. With N, S the noisy numbers and sums of groups 1 and 2,

    E = (N2 S1 - N1 S2) / (N1 + N2)

is free of the common mean m under the hypothesis: S = m N + W with W the sampling error and the noise of (S - m N), so
E = (N2 W1 - N1 W2) / (N1 + N2), whatever m. T is E^2 over its variance, of sampling and noise. Variances may differ
between groups (Welch); a variance that the noise leaves uncertain is drawn towards that of both groups together.

The law of T: values of a beta law on the bounds with the common mean (skewed if the mean is near a bound, as data there
are). There are as many as the noisy numbers say, with the same noise, through the same steps. They are drawn once with
each group's own variance and once with that of both together; the two differ if a few rare values decide. The larger
p-value counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from reticent.data.expression_tree import key_text
from reticent.data.query import Moments, Per, kept_rows
from reticent.data.query_result import QueryResult
from reticent.data.schema import Key, grid_by_width
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.geometric import Geometric, laplace_radius
from reticent.outcome import Estimate
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.context import SHAPES, SMALL, SMALLER, AssumedShape, ExpectedAccuracy, Setting
from reticent.statistics.hypotheses.groups import keys_of
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.hypotheses.independence import seeing, words_of
from reticent.statistics.hypotheses.null import (
    DRAWS,
    HYPOTHESIS,
    LEVEL,
    Floats,
    PValue,
    critical,
    least_seen,
    p_value,
    stream,
)
from reticent.statistics.hypotheses.proportions import average, both, times
from reticent.statistics.hypotheses.step import HypothesisResult, HypothesisStep
from reticent.statistics.intervals import FEWEST, NONE, half_width, normal_half_width, plausible, too_few
from reticent.statistics.intervals import UNSURE as UNSURE_SIZE
from reticent.statistics.moments.moment_step import UNIT, MomentBasis, design

NODES: Final = 6  # values of the law that stands for a beta law: its first 11 moments
NEARLY_NORMAL: Final = 200.0  # a + b of a beta law beyond which Hermite's nodes stand for it
SMALLEST, LARGEST = 1e-6, 0.98  # a variance, of the largest that the mean allows
USUAL_SPREAD: Final = 1.0 / 3.0  # of half the range: what a plan assumes
UNSURE: Final = 0.02  # of half the range squared: the least variance that says how sure one group's own is

POINTS: Final = np.array([-1.0, 0.0, 1.0])  # y of the three soft counts, to first order
BACK: Final = np.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 1.0]])  # number, sum, squares from soft counts


@dataclass(frozen=True, slots=True)
class Means:
    """Two groups of values on a range of half-width ``half``; noise of scale ``scale`` rows in every soft count.

    ``alike``: values that sampling takes as equal, where a person may be in both groups.
    """

    groups: tuple[Key, Key]
    half: float
    scale: float
    chosen: MomentBasis
    alike: int = 1

    @property
    def effect(self) -> str:
        return f"difference of means ({key_text(self.groups[0])} less {key_text(self.groups[1])})"

    def protected(self, results: Sequence[QueryResult]) -> list[tuple[int, ...]]:
        (result,) = results
        return self.chosen.integers(result.vectors)

    def tell(self, noisy: Sequence[tuple[int, ...]]) -> HypothesisResult:
        counts = np.array(noisy, np.float64) / UNIT
        sizes = counts.sum(-1).tolist()
        if any(too_few(size, [self.scale] * 3) for size in sizes):
            whole = 2.0 * self.half
            return HypothesisResult(Estimate(0.0, -whole, whole, whole, whole), 0.0, PValue(1.0, 1.0, 1.0), (TOO_FEW,))
        statistic, p = self.test(counts)
        effect = self._difference(counts)
        return HypothesisResult(effect, statistic, p, words_of(effect.noise, effect.sampling, "difference"))

    def test(self, counts: Floats, draws: int = DRAWS, name: str = HYPOTHESIS) -> tuple[float, PValue]:
        """T of noisy soft counts of shape (2, 3), in rows, and the p-value by ``draws`` simulated ones of either law.

        ``name`` is that of the stream: measurements take one of their own for each table, a release always the same.

        Parameters
        ----------
        counts : array of shape (2, 3), float
            Noisy soft counts, in rows.
        draws : int
            Number of simulated tables.
        name : str
            Of the public stream that they come from.

        Returns
        -------
        pair of float, and PValue
        """
        fitted = fit(counts, self.scale, self.alike)
        own = fitted.variances.tolist()
        together = float(np.average(fitted.variances, weights=fitted.sizes))
        found = [self._under(fitted, variances, draws, name) for variances in (own, [together] * 2)]
        return float(fitted.statistic), max(found, key=lambda p: p.value)

    def _under(self, fitted: MeansFit, variances: Sequence[float], draws: int, name: str) -> PValue:
        """The p-value by groups with the common mean and these variances."""
        laws = [law(float(fitted.mean), variance) for variance in variances]
        simulated = fit(self._noisy(laws, fitted.sizes.tolist(), draws, name), self.scale, self.alike)
        return p_value(float(fitted.statistic), simulated.statistic)

    def _difference(self, counts: Floats) -> Estimate:
        """The difference of the two means with its interval, in the column's unit."""
        value, scales, sampled = 0.0, [], NONE
        for sign, (size, total, squares) in zip((1.0, -1.0), (counts @ BACK.T).tolist(), strict=True):
            mean = min(max(total / size, -1.0), 1.0)
            value += sign * total / size
            scales += (self.scale / size * (POINTS - mean)).tolist()
            spread = self.scale * float(np.linalg.norm(_squares(np.array(mean))))
            about = squares - 2.0 * mean * total + mean * mean * size
            one = plausible(about / size**2, spread / size**2, 0.0, (1.0 - mean * mean) / size)
            sampled = both(sampled, times(one, self.alike))
        radius = self.half * half_width(sampled, scales)
        noise, sampling = self.half * half_width(NONE, scales), self.half * normal_half_width(average(sampled))
        middle, most = self.half * value, 2.0 * self.half
        low, high = (min(max(end, -most), most) for end in (middle - radius, middle + radius))
        return Estimate(min(max(middle, -most), most), low, high, noise, sampling)

    def expected(self, people: int) -> ExpectedAccuracy:
        """For two equal groups about the middle of the bounds, a sixth of the range as deviation; and other shapes."""
        size = people / 2
        if too_few(size, [self.scale] * 3):
            return ExpectedAccuracy(None, None, TOO_FEW)
        usual, *others = ((shape.name, *self._widths(shape, (size, size))) for shape in SHAPES)
        if not too_few(people * SMALLER, [self.scale] * 3):
            others.append((SMALL, *self._widths(SHAPES[0], (people * SMALLER, people * (1.0 - SMALLER)))))
        seen = least_seen(lambda effect: self.power(effect, people, LEVEL), 2.0 * self.half)
        assumed = "equal groups, deviations 1/8 of the range"
        return seeing(*usual[1:], seen, "difference", assumed, others=others, most=2.0 * self.half)

    def _widths(self, shape: AssumedShape, sizes: tuple[float, float]) -> tuple[float, float]:
        """Half-widths of noise and sampling, in the column's unit, for two groups of so many values of a shape."""
        noise = half_width(NONE, [self.scale / size * (one - shape.mean) for size in sizes for one in POINTS.tolist()])
        sampling = normal_half_width(self.alike * shape.deviation**2 * sum(1.0 / size for size in sizes))
        return self.half * noise, self.half * sampling

    def power(self, effect: float, people: int, level: float) -> float:
        """Power for simulated groups of equal size, whose means differ by ``effect`` about the middle.

        Values have the usual deviation.

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
            An effect wider than the range.
        """
        if abs(effect) > 2.0 * self.half:
            raise PublicParameterError(f"means on this range differ by at most {2.0 * self.half:g}, got {effect:g}")
        bar = critical(fit(self._planned(0.0, people), self.scale, self.alike).statistic, level)
        counts = self._planned(effect / self.half, people)
        least = max(FEWEST, laplace_radius(self.scale * 3.0**0.5, UNSURE_SIZE))  # as ``too_few`` has it
        told = (counts.sum(-1) >= least).all(-1)
        return float((told & (fit(counts, self.scale, self.alike).statistic > bar)).mean())

    def _planned(self, effect: float, people: int) -> Floats:
        laws = [law(side * effect / 2.0, USUAL_SPREAD**2) for side in (1.0, -1.0)]
        return self._noisy(laws, [people / 2] * 2, DRAWS, "power")

    def _noisy(self, laws: Sequence[tuple[Floats, Floats]], sizes: Sequence[float], draws: int, name: str) -> Floats:
        """Noisy soft counts of two groups by their laws and sizes, of shape (draws, 2, 3)."""
        source, found = stream(name), np.empty((draws, 2, 3))
        for group, ((values, weights), size) in enumerate(zip(laws, sizes, strict=True)):
            units = max(round(size / self.alike), 1)
            found[:, group] = self.alike * source.multinomial(units, weights, draws) @ soft(values)
        return found + source.laplace(0.0, self.scale, found.shape)


TOO_FEW: Final = "too few noisy values in a group for a test at this loss: the p-value is 1"


@dataclass(frozen=True, slots=True)
class MeansFit:
    """Fit of noisy soft counts of shape (..., 2, 3): numbers, the common mean, variances about it, and T."""

    sizes: Floats
    mean: Floats
    variances: Floats
    statistic: Floats


def fit(counts: Floats, scale: float, alike: int) -> MeansFit:
    """Numbers, common mean, variances and T of noisy soft counts of shape (..., 2, 3), in rows.

    Parameters
    ----------
    counts : array of shape (..., 2, 3), float
        Noisy soft counts, in rows.
    scale : float
        Of the noise, in rows.
    alike : int
        Rows of a person that may be alike.

    Returns
    -------
    MeansFit
    """
    moments = counts @ BACK.T
    number, total, squares = (moments[..., power] for power in range(3))
    sizes = np.maximum(number, 1.0)
    together = sizes.sum(-1)
    mean = np.clip(total.sum(-1) / together, -1.0, 1.0)
    m = mean[..., None]
    about = squares - 2.0 * m * total + m * m * number  # sums of (y - mean)^2, with noise of mean 0
    variances = _steadied(about, sizes, np.sqrt(2.0) * scale * np.linalg.norm(_squares(mean), axis=-1), 1.0 - mean**2)
    blur = 2.0 * scale**2 * ((POINTS - m) ** 2).sum(-1)
    others = sizes[..., ::-1]
    spread = (others**2 * (alike * sizes * variances + blur[..., None])).sum(-1) / together**2
    apart = (number[..., 1] * total[..., 0] - number[..., 0] * total[..., 1]) / together
    return MeansFit(sizes, mean, variances, apart**2 / np.maximum(spread, 1e-12))


def _squares(mean: Floats) -> Floats:
    """(y - mean)^2 as a form in soft counts: its three weights, along the last axis."""
    m = np.asarray(mean)[..., None]
    return np.asarray(BACK[2] - 2.0 * m * BACK[1] + m * m * BACK[0])


def _steadied(about: Floats, sizes: Floats, noise: Floats, most: Floats) -> Floats:
    """Variances of both groups: each group's own where it outweighs its noise, that of both together where not."""
    top = most[..., None]
    pooled = np.clip(about.sum(-1) / sizes.sum(-1), 0.0, most)[..., None]
    mine = np.clip(about / sizes, 0.0, top)  # a small group may vary where a large one beside it does not
    signal = (sizes * np.maximum(np.maximum(pooled, mine), UNSURE)) ** 2
    own = signal / (signal + noise[..., None] ** 2)
    return np.asarray(own * mine + (1.0 - own) * pooled)


def soft(values: Floats) -> Floats:
    """The soft counts of values in [-1, 1], of shape (n, 3)."""
    up = (1.0 + values) / 2.0
    return np.stack([(1.0 - up) ** 2, 2.0 * up * (1.0 - up), up**2], axis=-1)


def law(mean: float, variance: float) -> tuple[Floats, Floats]:
    """Values in [-1, 1] and their probabilities: Gauss's nodes of the beta law with this mean and variance."""
    from scipy.special import roots_jacobi

    centre = min(max((1.0 + mean) / 2.0, 1e-3), 1.0 - 1e-3)
    most = centre * (1.0 - centre)
    spread = min(max(variance / 4.0, SMALLEST), LARGEST * most)
    both_sides = most / spread - 1.0
    if both_sides > NEARLY_NORMAL:
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        return np.clip(mean + 2.0 * spread**0.5 * nodes, -1.0, 1.0), weights / weights.sum()
    nodes, weights = roots_jacobi(NODES, (1.0 - centre) * both_sides - 1.0, centre * both_sides - 1.0)
    return np.asarray(nodes), np.asarray(weights / weights.sum())


def step(asked: HypothesisTest, setting: Setting, epsilon: Fraction) -> HypothesisStep:
    """The test of two means, for exactly ``epsilon``; each person counts with their mean in a group.

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
        Where the column has no public bounds, or there are not two groups.
    """
    keys = keys_of(asked, setting)
    if len(keys.among) != 2:
        raise QuestionError(
            f"{asked.name} compares two groups: name them by among, or ask kind=ranks. Nothing was charged."
        )
    if not public_facts.bounded(asked.column, asked.low, asked.high, setting):
        computed = asked.column in setting.schema.computed
        where = "low=…, high=… in the question" if computed else f"low and high of {asked.column}"
        raise QuestionError(
            f"{asked.name} compares means, which need a range known without looking at the file: {where}. "
            f"If you know edges alone, compare ranks: test({asked.formula}, kind=ranks, edges=0:50:5), "
            "which asks for no range of the mean. Nothing was charged."
        )
    bounds = public_facts.bounds(asked.name, setting, asked.column, asked.low, asked.high)
    person = setting.schema.person
    per: Per = "row" if person.rows == 1 else "person"
    grid = grid_by_width(*bounds)
    chosen = design("soft", 2, grid)
    most = kept_rows(person, per, keys)
    moved = 2 * most if setting.neighbours.kind == "substitute" else most
    mechanism = Geometric(L1(chosen.sensitivity(moved, min(moved, len(keys.among))), setting.neighbours), epsilon)
    half = float(grid.highest - grid.lowest) * float(grid.unit) / 2.0
    test = Means((keys.among[0], keys.among[1]), half, float(mechanism.scale / UNIT), chosen, most)
    words = public_facts.caveats_of(asked.column, bounds, setting, per)
    once = ", each person counting once in a group, with the mean of their rows there" if per == "person" else ""
    if most > 1:
        words = (*words, "a person may be in both groups, which the law under the hypothesis allows for")
    return HypothesisStep(
        public_facts.name_of(asked.name, setting),
        (Moments(asked.column, grid, 2, keys, per),),
        mechanism,
        test,
        setting,
        words,
        once,
    )
