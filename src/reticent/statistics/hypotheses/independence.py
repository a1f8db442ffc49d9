"""Test of independence of two columns with public values: a noisy table of counts and its score statistic.

One table of counts by both columns, one geometric draw for all cells. The effect is Cramer's V. Its interval inverts
the test along the observed direction of dependence. It holds each strength under which the observed statistic lies
between the 2.5 % and the 97.5 % quantile. The law is that of noisy tables (``tables``). V is of the values that have
more rows than noise alone may make: a value without rows would hide it, since its noise is divided by its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from reticent.data.query import Tally
from reticent.data.query_result import QueryResult
from reticent.data.schema import Key
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import Estimate
from reticent.privacy.numbers import rough
from reticent.statistics import public_facts
from reticent.statistics.context import ALIKE, COMMON, OFF_MIDDLE, ExpectedAccuracy, Setting, ShapeWidths
from reticent.statistics.hypotheses import tables
from reticent.statistics.hypotheses.groups import among_of, counting, keys_of, several_rows
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.hypotheses.null import (
    DRAWS,
    LEVEL,
    PLANNED,
    SEEN,
    Floats,
    PValue,
    critical,
    least_seen,
    stream,
)
from reticent.statistics.hypotheses.step import HypothesisResult, HypothesisStep
from reticent.statistics.hypotheses.tables import TableLaw
from reticent.statistics.intervals import too_few

ENDS: Final = 499  # simulated tables for each strength that an end of the interval is tried at
HALVINGS: Final = 7
LARGEST: Final = 400  # cells
WIDE: Final = 100  # cells: beyond it fewer tables are simulated
UNEVEN_MARGINS: Final = "typical margins"  # of which one value is the commonest, as in public columns
MOSTLY: Final = 0.9  # share of the first row, and of the first column, of a table with uneven margins
ROUGH: Final = 499  # simulated tables for the note of a plan


@dataclass(frozen=True, slots=True)
class Independence:
    """Tables of ``shape`` whose cells have noise and rows by ``law``; ``among`` are the values of rows and columns."""

    shape: tuple[int, int]
    law: TableLaw
    among: tuple[tuple[Key, ...], tuple[Key, ...]] = ((), ())

    @property
    def effect(self) -> str:
        return "Cramer's V"

    def protected(self, results: Sequence[QueryResult]) -> list[tuple[int, ...]]:
        (result,) = results
        return list(result.vectors)

    def tell(self, noisy: Sequence[tuple[int, ...]]) -> HypothesisResult:
        table = np.array(noisy, np.float64)
        if hopeless(table, self.law):
            return HypothesisResult(Estimate(0.0, 0.0, 1.0, 1.0, 1.0), 0.0, PValue(1.0, 1.0, 1.0), (TOO_FEW,))
        statistic, p = self.law.test(table, DRAWS if table.size <= WIDE else PLANNED)
        full = tables.filled(table, self.law)
        if full is None:
            return HypothesisResult(Estimate(0.0, 0.0, 1.0, 1.0, 1.0), statistic, p, (RARE,))
        noise, sampling = tables.half_widths(full, self.law)
        low, high = ends(full, float(self.law.statistics(full)), self.law)
        value = min(max(tables.strength(full, self.law), low), high)
        effect = Estimate(value, low, high, noise, sampling)
        words = words_of(noise, sampling, "V")
        return HypothesisResult(effect, statistic, p, words if full.size == table.size else (*words, self._rare(table)))

    def _rare(self, table: Floats) -> str:
        """Words on the values that V leaves out."""
        told = [
            str(value)
            for values, full in zip(self.among, tables.told(table, self.law), strict=True)
            for value, kept in zip(values, full, strict=True)
            if not kept
        ]
        return f"V leaves out values with too few noisy rows: {', '.join(told)}"

    def expected(self, people: int) -> ExpectedAccuracy:
        noise, sampling = tables.half_widths(people * aligned(self.shape, 0.0), self.law)
        seen = least_seen(lambda effect: self._power(effect, people, LEVEL, ROUGH), 1.0)
        others = []
        for name, firsts in ((UNEVEN_MARGINS, map(_commonest, self.shape)), (f"margins of {MOSTLY}", (MOSTLY, MOSTLY))):
            uneven = np.outer(*map(_mostly_first, self.shape, firsts))
            others.append((name, *tables.half_widths(people * uneven, self.law)))
        return seeing(noise, sampling, seen, "V", UNEVEN_MARGINS, others=others, most=1.0, typical=UNEVEN_MARGINS)

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
            An effect that no table has.
        """
        if not 0.0 <= effect <= 1.0:
            raise PublicParameterError(f"Cramer's V lies between 0 and 1, got {effect:g}")
        return self._power(effect, people, level, PLANNED)

    def _power(self, effect: float, people: int, level: float, draws: int) -> float:
        bar = _bar(self, people, level, draws)
        drawn = self.law.draw(aligned(self.shape, effect), float(people), draws, stream("power"))
        return float((self.law.statistics(drawn) > bar).mean())


def _commonest(size: int) -> float:
    """Share of the commonest value of a typical column with so many: three quarters of two, a half of more."""
    return 1.0 - COMMON if size == 2 else 0.5


def _mostly_first(size: int, first: float) -> Floats:
    """Shares of values of which the first has ``first``, and the others the rest in equal parts."""
    shares: Floats = np.full(size, (1.0 - first) / (size - 1))
    shares[0] = first
    return shares


RARE: Final = "too few values with rows enough to tell V from noise"
TOO_FEW: Final = "too few noisy rows for a test at this loss: the p-value is 1"


@lru_cache(maxsize=64)
def _bar(asked: Independence, people: int, level: float, draws: int) -> float:
    drawn = asked.law.draw(aligned(asked.shape, 0.0), float(people), draws, stream("critical"))
    return critical(asked.law.statistics(drawn), level)


def hopeless(table: Floats, law: TableLaw) -> bool:
    """Tell if the noisy number of rows is too small to say anything."""
    return too_few(float(table.sum()), [law.scale] * table.size)


def words_of(noise: float, sampling: float, what: str) -> tuple[str, ...]:
    """Words on the effect of the noise, from public and noisy numbers.

    Parameters
    ----------
    noise, sampling : float
        Half-widths of the effect, in its unit.
    what : str
        Name of the effect.

    Returns
    -------
    tuple of str
    """
    hidden = f"the law under the hypothesis includes the noise, which alone hides a {what} below about {rough(noise)}"
    if noise <= 3.0 * sampling:
        return (hidden,)
    return (hidden, "the noise outweighs sampling: a larger ε would tell more than more rows")


def seeing(
    noise: float | None,
    sampling: float | None,
    effect: float | None,
    what: str,
    shape: str,
    *,
    others: Sequence[ShapeWidths] = (),
    most: float = math.inf,
    typical: str = OFF_MIDDLE,
) -> ExpectedAccuracy:
    """The line of a plan: half-widths, and the effect that is seen with power .8, in words and as figures.

    For other shapes the effect goes with the half-width of noise and sampling together. Widths and effect of a typical
    column are printed first where they are known.

    Parameters
    ----------
    noise, sampling : float or None
        Half-widths of the effect at 95 %.
    effect : float or None
        Effect seen with power .8, in its unit; None where none is.
    what : str
        Name of the effect.
    shape : str
        The assumed shape, in words.
    others : sequence of name, noise and sampling
        Half-widths for other public shapes.
    most : float
        The largest effect there can be.
    typical : str
        Name of the typical shape, which is used if it is one of the others.

    Returns
    -------
    ExpectedAccuracy
    """
    seen = f"seen with power {SEEN:g} at level {LEVEL:g}"
    typical = typical if any(name == typical for name, *_ in others) else ""
    if effect is None:
        told = f"assumes {shape}; no {what} is {seen}"
        return ExpectedAccuracy(noise, sampling, told, others=tuple(others), typical=typical)
    usual = math.hypot(noise or 0.0, sampling or 0.0)
    each = {name: effect * math.hypot(one or 0.0, other or 0.0) / usual for name, one, other in others}
    every, first = [effect, *each.values()], each.get(typical, effect)
    ends = f" ({rough(min(every))}–{rough(max(every))})" if max(every) <= most else f" ({rough(min(every))} and more)"
    note = f"assumes {shape}; a {what} of {rough(first)}{ends if max(every) > ALIKE * min(every) else ''} is {seen}"
    further = ((f"{what} {seen}, {name}", one) for name, one in each.items() if one <= most)
    figures = ((f"{what} {seen}", effect), *further)
    return ExpectedAccuracy(noise, sampling, note, others=tuple(others), figures=figures, typical=typical)


def aligned(shape: tuple[int, int], strength: float) -> Floats:
    """Probabilities of cells with even columns (or rows, whichever are more) and Cramer's V = ``strength`` in [0, 1].

    A mixture: with probability V the longer side's value decides the other's, else both are independent, with the same
    margins. The residual is V times that of the deciding table, whose V is 1.
    """
    if shape[0] > shape[1]:
        return aligned((shape[1], shape[0]), strength).T
    few, many = shape
    deciding = np.zeros(shape)
    deciding[np.arange(many) * few // many, np.arange(many)] = 1.0 / many
    apart = np.outer(deciding.sum(1), deciding.sum(0))
    return np.asarray((1.0 - strength) * apart + strength * deciding)


def ends(table: Floats, statistic: float, law: TableLaw) -> tuple[float, float]:
    """The least and the greatest V along the residual's direction that the statistic does not refute at 2.5 %.

    Parameters
    ----------
    table : array of shape (R, C), float
        Noisy counts.
    statistic : float
    law : TableLaw

    Returns
    -------
    pair of float
        Cramér's V, in [0, 1].
    """
    fitted = tables.fit(table)
    apart = fitted.independent
    residual = table / max(float(table.sum()), 1.0) - apart
    size, longest = float(fitted.size), _longest(apart, residual)

    def share_above(factor: float) -> float:
        drawn = law.draw(along(apart, residual, factor), size, ENDS, stream("ends"))
        return (1.0 + float(np.count_nonzero(law.statistics(drawn) >= statistic))) / (1.0 + ENDS)

    def strength_at(factor: float) -> float:
        return tables.exact_strength(along(apart, residual, factor))

    low = 0.0 if share_above(0.0) > 0.025 else strength_at(_crossing(share_above, 0.025, longest)[0])
    high = 1.0 if share_above(longest) < 0.975 else strength_at(_crossing(share_above, 0.975, longest)[1])
    return low, high


def _crossing(share_above: Callable[[float], float], level: float, most: float) -> tuple[float, float]:
    """Two factors between which the share of tables above crosses ``level``."""
    low, high = 0.0, 1.0
    while high < most and share_above(high) <= level:
        low, high = high, 2.0 * high
    high = min(high, most)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if share_above(middle) > level else (middle, high)
    return low, high


def along(apart: Floats, residual: Floats, factor: float) -> Floats:
    """Probabilities of cells so far along a direction, the negative ones at 0.

    Parameters
    ----------
    apart : array of shape (R, C), float
        Probabilities under independence.
    residual : array of shape (R, C), float
        Direction.
    factor : float

    Returns
    -------
    array of shape (R, C), float
        Probabilities.
    """
    found = np.maximum(apart + factor * residual, 0.0)
    return np.asarray(found / found.sum())


def _longest(apart: Floats, residual: Floats) -> float:
    """A factor beyond which the table hardly changes, or which is ten times what was seen."""
    falling = residual < 0.0
    if not falling.any():
        return 1.0
    return float(min((apart[falling] / -residual[falling]).max(), 1e6))


def step(asked: HypothesisTest, setting: Setting, epsilon: Fraction) -> HypothesisStep:
    """The test of independence of ``asked.column`` and ``asked.on``, for exactly ``epsilon``.

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
        Where a column has no public list of two values or more; where the table has more than 400 cells.
    """
    keys = keys_of(asked, setting)
    rows = among_of(asked.column, (), setting)
    mechanism = counting(setting, epsilon)
    query = Tally(asked.column, among=rows, keys=keys)
    law = TableLaw(float(mechanism.scale), setting.schema.person.rows)
    shape = (len(keys.among), len(rows))
    if len(rows) < 2:
        raise QuestionError(f"{asked.column} has one value only: there is nothing to test. Nothing was charged.")
    if shape[0] * shape[1] > LARGEST:
        raise QuestionError(f"{asked.name} would have {shape[0] * shape[1]} cells: at most {LARGEST} are simulated.")
    return HypothesisStep(
        public_facts.name_of(asked.name, setting),
        (query,),
        mechanism,
        Independence(shape, law, (keys.among, rows)),
        setting,
        several_rows(setting),
        ", among values with rows enough to be told from noise",
    )
