"""Ends of quantile intervals: fractions of a rank, gaps, ties, and values that are asked for without an interval.

Replayed entropy and fixed tables, so a red test means a change. Coverage is judged as in ``test_coverage``: a count
fails where it would have probability below ERROR (1e-2) at coverage .93, or above .97.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.data.candidates import Cells, Segment, coarser
from reticent.data.schema import Person, real
from reticent.data.table import Counts
from reticent.entropy import Replayed
from reticent.outcome import Estimate, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import PureDP
from reticent.statistics import magnitude
from reticent.statistics.answer import Answer
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.intervals import rank_shift
from reticent.statistics.prepare import estimand, prepare
from reticent.statistics.quantiles import quantile_step as quantiles
from reticent.statistics.quantiles.quantile_step import TIES, GroupSize, QuantileStep
from tests.statistics.test_coverage import too_high, too_low
from tests.statistics.test_quantile_intervals import KINDS, PLACES, covered, estimates, step_of
from tests.support.stat_fake import answered, schema_of

GAP = 10.0  # between two normal halves of the values, in their deviations


def clusters(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    return generator.standard_normal(n) + GAP * (generator.random(n) < 0.5)


def level_of(value: float) -> float:
    return float(scipy.stats.norm.cdf(value) + scipy.stats.norm.cdf(value - GAP)) / 2.0


def value_of(level: float) -> float:
    return float(scipy.optimize.brentq(lambda x: level_of(x) - level, -20.0, 30.0))


def answers(question: str, kind: Kind, epsilon: str, tables: list[NDArray[np.float64]]) -> list[Answer]:
    step, table = step_of(question, real(), kind, epsilon, len(tables[0]))
    return [
        answered(step, replace(table, rows={"x": values}), Replayed(f"{question} {kind} {run}"))
        for run, values in enumerate(tables)
    ]


def replies(found: list[Answer]) -> list[Estimate]:
    return [answer.outcome.value for answer in found if isinstance(answer.outcome, Reply)]


# --- fractions of a rank ----------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("law", "kind", "epsilon", "n"),
    [
        ("normal", "substitute", "10", 50),
        ("t3", "substitute", "3", 200),
        ("normal", "add_remove", "10", 50),
        ("t3", "add_remove", "10", 50),
    ],
)
def test_few_values_are_answered_and_covered_as_often_as_said(law: str, kind: Kind, epsilon: str, n: int) -> None:
    """Ends among all candidates got no reply here; ends a whole rank further out covered .976 of fifty values."""
    runs = 140
    found = list(estimates("median(x)", law, kind, epsilon, n, runs=runs))
    assert len(found) > 0.95 * runs * len(PLACES)
    assert not too_low(covered(found), len(found))
    assert not too_high(covered(found), len(found))
    assert too_low(covered(found, 0.7), len(found))
    assert too_high(covered(found, 1.7), len(found))


def test_a_span_is_bought_of_few_values_alone() -> None:
    """Persons of a public number are priced for one way, and the price of a long table is what it was."""
    few, _ = step_of("median(x)", real(), "substitute", "10", 50)
    many, _ = step_of("median(x)", real(), "substitute", "1", 5_000)
    unknown = prepare(parse("median(x)"), Setting(schema_of(real(), Person("add_remove")), None), Fraction(1))
    assert isinstance(few, QuantileStep)
    assert isinstance(many, QuantileStep)
    assert isinstance(unknown, QuantileStep)
    assert [[way.span > 0 for way in step.pricing.ways] for step in (few, many, unknown)] == [
        [True],
        [False],
        [False, True],
    ]
    for step, epsilon in ((few, 10), (many, 1), (unknown, 1)):
        assert step.guarantee.loss == PureDP(Fraction(epsilon))


@pytest.mark.parametrize("lowest", [-4, 0])
def test_candidates_about_a_span_are_the_nearest_of_all_and_no_others(lowest: int) -> None:
    among = Cells((Segment(lowest, 1_000, 1),), Fraction(1, 2), False)
    about = magnitude.about(among, 3, 2)
    assert (about.lowest, about.highest) == (max(lowest, 3 - 64), 3 + 64)
    assert [about.value(cell) for cell in (3, 40)] == [among.value(cell) for cell in (3, 40)]
    data = Counts(np.array([lowest, 3, 4, 999]), np.array([1, 2, 3, 4]))
    far = magnitude.distances(among, data, 3)
    held = {
        int(at): int(far.total - above - below)
        for at, below, above in zip(far.start, far.below, far.above, strict=False)
    }
    assert held[0] == 2
    assert held[1] == 3
    assert held[(3 - lowest).bit_length()] == 1
    assert held[(999 - 3).bit_length()] == 4


@pytest.mark.parametrize(("question", "level"), [("median(x)", Fraction(1, 2)), ("quantile(x, 0.3)", Fraction(3, 10))])
def test_ends_are_drawn_at_the_rank_that_is_nearest_to_the_one_wanted(question: str, level: Fraction) -> None:
    """Rounded up to whole ranks they lay half a rank too far out on average."""
    step, _ = step_of(question, real(), "add_remove", "10", 500)
    assert isinstance(step, QuantileStep)
    among, off = (
        step._among(
            Counts(np.array([5]), np.array([50])), GroupSize(50.0, False, 50.0), step.pricing.ways[0], Replayed("x")
        ),
        [],
    )
    way = step.pricing.ways[0]
    for n in range(50, 90):
        wanted = rank_shift(
            step._sampling(level, GroupSize(float(n), False, float(n))),
            1.0 / step.rate(step._mechanism(level, way.end), level),
            1.0 / step.rate(step._mechanism(level, way.value), level),
        )
        shift = step._shift(level, GroupSize(float(n), False, float(n)), among, way)
        assert (shift * level.denominator).denominator == 1
        off.append(float(shift) - wanted)
    assert max(abs(x) for x in off) <= 0.5 / level.denominator
    assert abs(np.mean(off)) < 0.1


# --- a gap ------------------------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize(("kind", "epsilon", "n"), [("add_remove", "0.1", 10_000), ("substitute", "1", 2_000)])
def test_in_a_gap_the_interval_holds_some_value_of_the_gap_and_says_so(kind: Kind, epsilon: str, n: int) -> None:
    """Where next to no values lie a median is not one number: intervals reach a value within a rank error of its level.

    200 tables; the point 5 in the middle of the gap is missed far more often than in one run of twenty.
    """
    generator = np.random.default_rng(12)
    found = replies(answers("median(x)", kind, epsilon, [clusters(generator, n) for _ in range(200)]))
    step, _ = step_of("median(x)", real(), kind, epsilon, n)
    assert isinstance(step, QuantileStep)
    error = 1.0 / step.rate(step._mechanism(Fraction(1, 2), step.pricing.ways[0].end), Fraction(1, 2)) / n
    low, high = value_of(0.5 - error), value_of(0.5 + error)
    assert 0.0 < low < GAP / 2 < high < GAP
    assert len(found) >= 195
    assert not too_low(sum(e.low <= high and e.high >= low for e in found), len(found))
    assert too_low(sum(e.low <= GAP / 2 <= e.high for e in found), len(found))
    told = estimand(parse("median(x)"), step.setting)
    assert told.startswith("population median of x (any of them where there are several)")
    assert "gap" not in estimand(parse("median(x, method=M)"), step.setting)  # which gives no reply in a gap


# --- ties -------------------------------------------------------------------------------------------------------------


def with_zeros(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    return np.where(generator.random(n) < 0.25, 0.0, generator.lognormal(0.0, 1.0, n))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "question", ["quantile(x, 0.25)", "quantiles(x, 0.25 0.75)", "iqr(x)", "iqr(x, method=separate)"]
)
def test_the_columns_of_noise_and_sampling_add_up_to_an_interval_among_ties(question: str, kind: Kind) -> None:
    """A quartile at an atom: the interval was two to four times what noise and sampling said, without a word."""
    generator = np.random.default_rng(13)
    for answer in answers(question, kind, "2", [with_zeros(generator, 20_000) for _ in range(5)]):
        assert TIES in answer.caveats
        assert sum(text == TIES for text in answer.caveats) == 1
        for cell in answer.cells:
            assert isinstance(cell.outcome, Reply)
            found = cell.outcome.value
            half = (found.high - found.low) / 2.0
            assert found.noise + found.sampling >= 0.8 * half
            assert max(found.noise, found.sampling) <= 1.05 * half
    (plain,) = answers(question, kind, "2", [generator.lognormal(0.0, 1.0, 20_000)])
    assert TIES not in plain.caveats


def test_a_quantile_of_costs_of_which_most_are_zero_has_the_size_of_the_others() -> None:
    """The level .8 lies among 60 % of zeros and e^(4 + Z): its magnitude was 0, and the answer off by half."""
    generator = np.random.default_rng(29)
    tables = [
        np.where(generator.random(20_000) < 0.6, 0.0, np.round(generator.lognormal(4.0, 1.0, 20_000)))
        for _ in range(12)
    ]
    found = replies(answers("quantile(x, 0.8)", "add_remove", "0.3", tables))
    assert len(found) == 12
    assert all(45.0 < one.value < 65.0 for one in found)
    assert all(0.0 <= one.low <= 54.6 <= one.high < 1_000.0 for one in found)


def test_without_an_interval_nothing_is_said_of_ties() -> None:
    (answer,) = answers(
        "quantile(x, 0.25, interval=no)", "add_remove", "2", [with_zeros(np.random.default_rng(1), 9_000)]
    )
    assert TIES not in answer.caveats


# --- values without an interval ---------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("question", "truth"), [("median(x, interval=no)", 0.02), ("quantiles(x, 0.4 0.5 0.6, interval=no)", 0.02)]
)
def test_values_without_an_interval_do_not_crowd_at_zero(
    monkeypatch: pytest.MonkeyPatch, question: str, truth: float
) -> None:
    """A normal column .02 deviations from 0 at (10^4, .1). 100 tables; the share drawn within 1e-4 of 0 is below 1 %.

    From equal mass in every binade a fifth of the values were drawn there. More than 5 of 100 has probability below
    1e-3 at 1 %.
    """

    def crowded(runs: int) -> int:
        generator = np.random.default_rng(14)
        tables = [generator.normal(truth, 1.0, 10_000) for _ in range(runs)]
        middle = []
        for answer in answers(question, "add_remove", "0.1", tables):
            outcome = answer.cells[len(answer.cells) // 2].outcome
            if isinstance(outcome, Reply):
                middle.append(outcome.value.value)
        assert len(middle) == runs
        return sum(abs(value) < 1e-4 for value in middle)

    assert crowded(100) <= 5
    monkeypatch.setattr("reticent.statistics.magnitude.flat", lambda base, binade, bits: prior_of(base, bits))
    assert crowded(60) > 5


def prior_of(base: Cells, bits: int) -> Cells:
    """Equal mass in every binade, as it was."""
    return coarser(base, bits)


def test_a_magnitude_is_bought_without_an_interval_too() -> None:
    for kind in KINDS:
        step, _ = step_of("median(x, interval=no)", real(), kind, "1", 10_000)
        assert isinstance(step, QuantileStep)
        assert step.pricing.ways[0].magnitude == quantiles.MAGNITUDE_SHARE
        assert math.isclose(float(step.guarantee.loss.epsilon), 1.0)  # type: ignore[union-attr]
        within, _ = step_of("median(x, interval=no)", real(0, 9), kind, "1", 10_000)
        assert isinstance(within, QuantileStep)
        assert within.pricing.ways[0].magnitude == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("low", ["", ", low=-1, high=2"])
@pytest.mark.parametrize("interval", ["", ", interval=no"])
@pytest.mark.parametrize("levels", ["0.5", "0.25 0.75"])
def test_the_guarantee_holds_every_draw(levels: str, interval: str, low: str, kind: Kind) -> None:
    """A sequence of one draw is that draw: its parts are not those of a sequence."""
    step, _ = step_of(f"quantiles(x, {levels}{low}{interval})", real(), kind, "10", 5_000)
    assert step.guarantee.loss == PureDP(Fraction(10))
