"""Test of normality of a number, by a named law or any: Kolmogorov's distance, released itself with noise.

    released   n D in quarter rows (distance.py): D = sup |share of the values - share of the law|, of the named law or
               of the nearest of all normal laws; and n, where it is not public
    law        of n D without noise by simulated columns of normal values, persons' rows alike; then fresh noise
    p-value    of n D / sqrt(n), as released

The distance to a fixed law moves by at most 1 / n with a row, and so does the least of many: one number with noise of a
row, where a histogram would pay for every bin, and no bounds are needed. Lilliefors fits mean and deviation, which
move with a row as they like; the nearest law takes their place. See docs/theory/hypotheses.md.

Source. Kolmogorov 1933; Lilliefors 1967; Awan and Wang 2022 for the sensitivity of such distances (replacement, a named
law). Deviations: rows come and go too, the least over all normal laws, exact integers throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from reticent.data.order_statistics import RunLength
from reticent.data.query import OrderedValues, PresentValues, Query, Tally
from reticent.data.query_result import QueryResult
from reticent.data.schema import Category, Integer, Real
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Estimate
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.context import ExpectedAccuracy, Setting
from reticent.statistics.hypotheses import groups, null
from reticent.statistics.hypotheses.distance import (
    BITS,
    REACH,
    STEPS,
    DistanceSteps,
    binned,
    from_any,
    from_named,
    steps,
)
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.hypotheses.independence import seeing, words_of
from reticent.statistics.hypotheses.kolmogorov import COLUMNS, distances, heaped
from reticent.statistics.hypotheses.null import Floats
from reticent.statistics.hypotheses.step import HypothesisResult, HypothesisStep
from reticent.statistics.intervals import FEWEST, NONE, half_width

FINE: Final = 4096  # steps of a named deviation
SPANS: Final = 1 << 16  # steps of a range
FARTHEST: Final = 1 << 60  # steps from 0, so that no value is cut where it is read


@dataclass(frozen=True, slots=True)
class ReadingGrid:
    """Public places on the integers that a column is read on.

    ``edges`` are those between bins, if it is counted in bins; ``origin`` is where 0 is put. The quantile of a named
    law up to e is (e ``numerator`` + ``shift``) / ``denominator``; a numerator of 0 means the nearest of all laws.
    """

    edges: tuple[int, ...] = ()
    origin: int = 0
    numerator: int = 0
    denominator: int = 1
    shift: int = 0

    def distance(self, data: DistanceSteps) -> int:
        if self.numerator:
            return from_named(data, self.numerator, self.denominator, self.shift)
        return from_any(data)


@dataclass(frozen=True, slots=True)
class NormalityHypothesis:
    """n D with noise of ``scale`` quarter rows, and n with as much noise in rows where ``size`` is None."""

    frame: ReadingGrid
    law: str
    scale: float
    size: int | None
    alike: int
    draws: int = COLUMNS

    @property
    def effect(self) -> str:
        return f"distance from {self.law}"

    @property
    def wide(self) -> float:
        """The scale of the noise of n D, in rows."""
        return self.scale / STEPS

    def protected(self, results: Sequence[QueryResult]) -> list[tuple[int, ...]]:
        (result,) = results
        data = self._steps(result)
        found = self.frame.distance(data)
        return [(found,)] if self.size is not None else [(found, data.size)]

    def _steps(self, result: QueryResult) -> DistanceSteps:
        if self.frame.edges:
            return binned(np.array(self.frame.edges, np.int64), np.array(result.vectors[0], np.int64))
        (order,) = result.orders
        assert isinstance(order, RunLength)  # what a whole column comes as
        return steps(order.values - self.frame.origin, order.counts)

    def tell(self, noisy: Sequence[tuple[int, ...]]) -> HypothesisResult:
        (released,) = noisy
        away, size = released[0] / STEPS, float(self.size if self.size is not None else released[1])
        unsure = 0.0 if self.size is not None else self.scale
        if size < FEWEST:
            none = null.PValue(1.0, 1.0, 1.0)
            return HypothesisResult(
                Estimate(0.0, 0.0, 1.0, 1.0, 1.0), 0.0, none, ("too few values for this ε to test",)
            )
        observed, under = float(self._measure(np.array(away), np.array(size))), self._under(size)
        value = min(max(away / size, 0.0), 1.0)
        noise = half_width(NONE, [self.wide / size, value * unsure / size])
        sampling = self._sampling(size)
        radius = self._radius(size, value)
        told = Estimate(value, max(value - radius, 0.0), min(value + radius, 1.0), noise, sampling)
        return HypothesisResult(
            told, away / math.sqrt(size), null.p_value(observed, under), words_of(noise, sampling, "distance")
        )

    def _measure(self, away: Floats, size: Floats) -> Floats:
        """The distance in rows against the root of what sampling and noise make of it, where n is this noisy."""
        found: Floats = away / np.sqrt(self.alike * np.maximum(size, 1.0) + 2.0 * self.wide**2)
        return found

    def _under(self, size: float) -> Floats:
        """Distances that ``_measure`` finds of normal columns of so many values."""
        source = null.stream("distances from a normal law")
        pure = self.alike * distances(size / self.alike, "named" if self.frame.numerator else "nearest")
        pure = source.choice(pure, self.draws, replace=False)
        away = (np.ceil(STEPS * pure) + null.geometric(self.scale, (self.draws,), source)) / STEPS
        about = np.full(self.draws, size)
        if self.size is None:
            about = about + null.geometric(self.scale, (self.draws,), source)
        return self._measure(away, about)

    def _radius(self, size: float, value: float) -> float:
        """95 % of how far sampling, noise and the noise of n together take the distance."""
        source = null.stream("how far a distance is off")
        off = source.choice(distances(size / self.alike, "named"), self.draws, replace=False) * self.alike / size
        off = off + np.abs(null.geometric(self.scale, (self.draws,), source)) / (STEPS * size)
        if self.size is None:
            off = off + value * np.abs(null.geometric(self.scale, (self.draws,), source)) / size
        return null.critical(off, 0.05)

    def expected(self, people: int) -> ExpectedAccuracy:
        """Accuracy of the distance; persons are taken to have one value each."""
        size = self.size if self.size is not None else people
        if size < FEWEST:
            return ExpectedAccuracy(None, None, "too few people to test")
        sampling = self._sampling(size)
        least = null.least_seen(lambda away: self.power(away, size, null.LEVEL), 0.5)
        shape = "a normal law with some values heaped at its mean"
        return seeing(half_width(NONE, [self.wide / size]), sampling, least, "distance", shape)

    def _sampling(self, size: float) -> float:
        """95 % of how far sampling alone takes any distribution function (from a continuous one; else less)."""
        return float(np.quantile(distances(size / self.alike, "named"), 0.95)) * self.alike / size

    def power(self, effect: float, people: int, level: float) -> float:
        """For values of a normal law of which a share of twice ``effect`` is heaped at the mean.

        That law has a distance ``effect`` in [0, 1/2] from the named law, and from all normal laws.

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
            An effect outside [0, 1/2].
        """
        if not 0.0 <= effect <= 0.5:
            raise PublicParameterError(f"a plan looks at distances between 0 and 1/2, got {effect:g}")
        source, size = null.stream("distances with an effect"), np.full(null.PLANNED, float(people))
        pure = self.alike * heaped(people / self.alike, "named" if self.frame.numerator else "nearest", effect)
        away = (np.ceil(STEPS * pure) + null.geometric(self.scale, (null.PLANNED,), source)) / STEPS
        if self.size is None:
            size = size + null.geometric(self.scale, (null.PLANNED,), source)
        return float(np.mean(self._measure(away, size) > _bar(self, people, level)))


@lru_cache(maxsize=256)
def _bar(kind: NormalityHypothesis, people: int, level: float) -> float:
    """The critical value for so many values."""
    return null.critical(kind._under(float(people)), level)


# --- the step ---------------------------------------------------------------------------------------------------------


def step(asked: HypothesisTest, setting: Setting, epsilon: Fraction) -> HypothesisStep:
    """The step of "normal".

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
        Before rows are read: a category, or a real column without bounds, resolution, edges or named law.
    """
    column = setting.schema.column(asked.column)
    if isinstance(column, Category):
        raise QuestionError(f"{asked.column} is a category, and a normal law has numbers. Nothing was charged.")
    if len(asked.edges) == 2:
        raise QuestionError(f"a normal law needs two bins or more: {asked.name} has edges. Nothing was charged.")
    unit = _unit(asked, setting)
    middle = _middle(asked, setting)
    if abs(middle / unit) >= FARTHEST:
        raise QuestionError(f"{asked.column} lies too far from 0 for steps of {show(unit)}. Nothing was charged.")
    frame = _frame(asked, unit, middle, whole=isinstance(column, Integer))
    within = _within(asked, setting)
    query: Query = (
        Tally(asked.column, edges=asked.edges)
        if asked.edges
        else OrderedValues(asked.column, unit, within=within if within is None or within[0] < within[1] else None)
    )
    size = public_facts.public_size(PresentValues(asked.column), setting)
    moved = setting.schema.person.rows * (STEPS if size is not None else STEPS + 1)
    mechanism = Geometric(L1(Fraction(moved), setting.neighbours), epsilon)
    law = "the nearest normal law"
    if asked.law is not None:
        law = f"the normal law of mean {show(asked.law.centre)} and deviation {show(asked.law.deviation)}"
    rows = setting.schema.person.rows
    cut = (middle - REACH * unit, middle + REACH * unit) if within is None else within
    ends = f"on steps of {show(unit)}, values cut to [{show(cut[0])}, {show(cut[1])}]"
    if asked.edges:
        ends = f"in {len(asked.edges) - 1} public bins"
    return HypothesisStep(
        public_facts.name_of(asked.name, setting),
        (query,),
        mechanism,
        NormalityHypothesis(frame, law, float(mechanism.scale), size, rows),
        setting,
        (f"{asked.column} is compared {ends}", *groups.several_rows(setting)),
    )


def _unit(asked: HypothesisTest, setting: Setting) -> Fraction:
    """A step of the column: fine against what is public of its spread; whole numbers are not cut."""
    column = setting.schema.column(asked.column)
    whole = isinstance(column, Integer)
    found: Fraction | None
    if asked.edges:
        return (asked.edges[-1] - asked.edges[0]) / SPANS
    if asked.law is not None:
        found = _power_of_two(asked.law.deviation / FINE)
    elif (within := _within(asked, setting)) is not None:
        found = _power_of_two((within[1] - within[0]) / SPANS)
    else:
        found = column.resolution if isinstance(column, Real) else Fraction(1)
    if found is None:
        raise QuestionError(
            f"{asked.name} needs to know how fine {asked.column} is, without looking at the file: declare low and "
            "high, or a resolution, or name the law by centre and deviation. Nothing was charged."
        )
    return max(found, Fraction(1)) if whole else found


def _power_of_two(width: Fraction) -> Fraction:
    exponent = width.numerator.bit_length() - width.denominator.bit_length()
    found = Fraction(2) ** exponent
    return found if found <= width else found / 2


def _within(asked: HypothesisTest, setting: Setting) -> tuple[Fraction, Fraction] | None:
    """Public bounds that values are cut to: those of the question, or of the column; None without any."""
    if not public_facts.bounded(asked.column, asked.low, asked.high, setting):
        return None
    return public_facts.bounds(asked.name, setting, asked.column, asked.low, asked.high)


def _middle(asked: HypothesisTest, setting: Setting) -> Fraction:
    """Middle of the range in which the values are searched."""
    if asked.law is not None:
        return asked.law.centre
    within = _within(asked, setting)
    return Fraction(0) if within is None else (within[0] + within[1]) / 2


def _frame(asked: HypothesisTest, unit: Fraction, middle: Fraction, *, whole: bool) -> ReadingGrid:
    """Frame in which the column is read, and the named law there. A whole number stands for what is rounded to it."""
    half, ends = Fraction(1, 2), asked.edges[1:-1]
    origin = 0
    edges: tuple[int, ...] = ()
    if ends:
        cut = [Fraction(end.__ceil__()) - half if whole else end for end in ends]
        first = cut[0]
        edges = tuple(round((end - first) / unit) for end in cut)
    else:
        origin = (middle / unit).__floor__()
        first = (origin + 1) * unit - (half if whole else 0)  # the upper end of the values that are read as 0
    if asked.law is None:
        return ReadingGrid(edges, origin)
    slope, start = (part * (1 << BITS) / asked.law.deviation for part in (unit, first - asked.law.centre))
    bottom = math.lcm(slope.denominator, start.denominator)
    return ReadingGrid(edges, origin, int(slope * bottom), bottom, int(start * bottom))


__all__ = ["ReadingGrid", "NormalityHypothesis", "step"]
