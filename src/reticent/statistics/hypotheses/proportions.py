"""Test of equal shares of one value in two groups: a noisy 2 x 2 table.

The value against all others, by group: counted exactly, put together, then protected by one geometric draw. The
p-value is that of independence in this table (``tables``), where both groups share one fitted share. The effect is the
difference of the shares, first group less second, with an interval by the law of its error: sampling and noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reticent.data.expression_tree import key_text
from reticent.data.query import Tally
from reticent.data.query_result import QueryResult
from reticent.data.schema import Key
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import Estimate
from reticent.statistics import public_facts
from reticent.statistics.context import COMMON, RARE, SMALL, SMALLER, UNEVEN, ExpectedAccuracy, Setting
from reticent.statistics.hypotheses.groups import among_of, counting, keys_of, several_rows
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.hypotheses.independence import TOO_FEW, seeing, words_of
from reticent.statistics.hypotheses.null import DRAWS, LEVEL, Floats, PValue, critical, least_seen, stream
from reticent.statistics.hypotheses.step import HypothesisResult, HypothesisStep
from reticent.statistics.hypotheses.tables import TableLaw
from reticent.statistics.intervals import (
    NONE,
    POINTS,
    Variances,
    half_width,
    normal_half_width,
    plausible,
    too_few,
)
from reticent.statistics.moments.proportion import chosen_of, listed_in


@dataclass(frozen=True, slots=True)
class Proportions:
    """Two groups, by (others, chosen), with the place of the chosen value among all."""

    groups: tuple[Key, Key]
    place: int
    law: TableLaw

    @property
    def effect(self) -> str:
        return f"difference of shares ({key_text(self.groups[0])} less {key_text(self.groups[1])})"

    def protected(self, results: Sequence[QueryResult]) -> list[tuple[int, ...]]:
        (result,) = results
        return [(sum(vector) - vector[self.place], vector[self.place]) for vector in result.vectors]

    def tell(self, noisy: Sequence[tuple[int, ...]]) -> HypothesisResult:
        table = np.array(noisy, np.float64)
        if any(too_few(float(size), [self.law.scale] * 2) for size in table.sum(1)):
            return HypothesisResult(Estimate(0.0, -1.0, 1.0, 1.0, 1.0), 0.0, PValue(1.0, 1.0, 1.0), (TOO_FEW,))
        statistic, p = self.law.test(table)
        effect = self._difference(table)
        return HypothesisResult(effect, statistic, p, words_of(effect.noise, effect.sampling, "difference"))

    def _difference(self, table: Floats) -> Estimate:
        sizes = table.sum(1)
        raw = table[:, 1] / sizes
        shares = np.clip(raw, 0.0, 1.0)
        scales, sampled = [], NONE
        for size, share, chosen in zip(sizes.tolist(), shares.tolist(), table[:, 1].tolist(), strict=True):
            noises = [self.law.scale * (1.0 - share) / size, self.law.scale * share / size]
            rough = abs(1.0 - 2.0 * share) * math.hypot(*noises) / size
            one = plausible(chosen * (1.0 - chosen / size) / size**2, rough, 0.0, 0.25 / size)
            scales += noises
            sampled = both(sampled, times(one, self.law.alike))
        value, radius = float(raw[0] - raw[1]), half_width(sampled, scales)
        low, high = (min(max(end, -1.0), 1.0) for end in (value - radius, value + radius))
        return Estimate(
            min(max(value, -1.0), 1.0), low, high, half_width(NONE, scales), normal_half_width(average(sampled))
        )

    def expected(self, people: int) -> ExpectedAccuracy:
        """For groups of equal size and shares about one half; and for rare ones."""
        size = people / 2
        if too_few(size, [self.law.scale] * 2):
            return ExpectedAccuracy(None, None, TOO_FEW)
        half, rare = (self._widths(share, (size, size)) for share in (0.5, RARE))
        others = [(f"shares of {RARE}", *rare)]
        typical = f"shares of {COMMON} and {UNEVEN}"
        if not too_few(people * COMMON, [self.law.scale] * 2):
            others.append((typical, *self._widths(COMMON, (people * COMMON, people * (1.0 - COMMON)))))
        if not too_few(people * SMALLER, [self.law.scale] * 2):
            others.append((SMALL, *self._widths(0.5, (people * SMALLER, people * (1.0 - SMALLER)))))
        seen = least_seen(lambda effect: self.power(effect, people, LEVEL), 1.0)
        return seeing(*half, seen, "difference", typical, others=others, most=1.0, typical=typical)

    def _widths(self, share: float, sizes: tuple[float, float]) -> tuple[float, float]:
        """Half-widths of noise and sampling for two groups of so many values with one share."""
        noise = half_width(NONE, [self.law.scale * part / size for size in sizes for part in (share, 1.0 - share)])
        return noise, normal_half_width(self.law.alike * share * (1.0 - share) * sum(1.0 / size for size in sizes))

    def power(self, effect: float, people: int, level: float) -> float:
        """Probability of a rejection at this effect.

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
            An effect that no two shares have.
        """
        if not -1.0 <= effect <= 1.0:
            raise PublicParameterError(f"a difference of shares lies between -1 and 1, got {effect:g}")
        apart = critical(self._statistics(0.0, people, "critical"), level)
        return float((self._statistics(effect, people, "power") > apart).mean())

    def _statistics(self, effect: float, people: int, name: str) -> Floats:
        up, down = 0.25 + effect / 4.0, 0.25 - effect / 4.0
        cells = np.array([[down, up], [up, down]])
        return self.law.statistics(self.law.draw(cells, float(people), DRAWS, stream(name)))


def times(variances: Variances, factor: float) -> Variances:
    """Variances times a number."""
    return Variances(tuple(factor * value for value in variances.values), variances.weights)


def average(variances: Variances) -> float:
    return sum(value * weight for value, weight in zip(variances.values, variances.weights, strict=True))


def both(one: Variances, other: Variances) -> Variances:
    """Variances of a sum of two independent parts: neighbouring values put together, in mean."""
    pairs = sorted((a + b, v * w) for a, v in zip(*_of(one), strict=True) for b, w in zip(*_of(other), strict=True))
    count = min(POINTS, len(pairs))
    parts = [pairs[len(pairs) * place // count : len(pairs) * (place + 1) // count] for place in range(count)]
    weights = [sum(weight for _, weight in part) for part in parts]
    values = [
        sum(value * weight for value, weight in part) / whole if whole else part[0][0]
        for part, whole in zip(parts, weights, strict=True)
    ]
    return Variances(tuple(values), tuple(weights))


def _of(variances: Variances) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return variances.values, variances.weights


def step(asked: HypothesisTest, setting: Setting, epsilon: Fraction) -> HypothesisStep:
    """The test of one share in two groups, for exactly ``epsilon``.

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
        Where the column is no category, the value is none of it or not named, or there are not two groups.
    """
    asked = asked.settled(setting.schema)
    if not listed_in(setting.schema.column(asked.column)):
        raise QuestionError(
            f"{asked.name} compares shares of a category: declare {asked.column} as one. Nothing was charged."
        )
    keys, rows = keys_of(asked, setting), among_of(asked.column, (), setting)
    if len(keys.among) != 2:
        raise QuestionError(
            f"{asked.name} compares two groups: name them by among, or ask kind=independence. Nothing was charged."
        )
    place = rows.index(chosen_of(rows, asked.value, asked))
    mechanism = counting(setting, epsilon)
    query = Tally(asked.column, among=rows, keys=keys)
    law = TableLaw(float(mechanism.scale), setting.schema.person.rows)
    test = Proportions((keys.among[0], keys.among[1]), place, law)
    words = (f"the share is that of {asked.column} = {key_text(rows[place])}", *several_rows(setting))
    return HypothesisStep(public_facts.name_of(asked.name, setting), (query,), mechanism, test, setting, words)
