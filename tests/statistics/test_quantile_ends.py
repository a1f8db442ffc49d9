"""Ends of quantile intervals: fractions of a rank, gaps, ties, and values that are asked for without an interval.

Replayed entropy and fixed tables, so a red test means a change. Coverage is judged as in ``test_coverage``: a count
fails where it would have probability below ERROR (1e-2) at coverage .93, or above .97.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.data.candidates import Cells, Segment, coarser, prior
from reticent.data.query import Keys
from reticent.data.query_result import Counts
from reticent.data.schema import Person, category, integer, real
from reticent.entropy import Replayed
from reticent.errors import QuestionError
from reticent.outcome import Estimate, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import PureDP
from reticent.statistics.answer import Answer
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.intervals import TIES, _crossing, rank_shift, rank_shift_among_ties
from reticent.statistics.magnitude import middle
from reticent.statistics.prepare import estimand, prepare
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.quantiles.quantile_draws import FEW_SIZE_SHARE, ONE_LEVEL_SHARE, SIZE_SHARE
from reticent.statistics.quantiles.quantile_step import QuantileStep
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


@pytest.mark.wide
@pytest.mark.loop(1)
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


def test_few_persons_pay_more_for_their_number() -> None:
    """Twenty per cent of fifty values are lost to its noise otherwise; the price of a long table is what it was."""
    few, _ = step_of("median(x)", real(), "substitute", "10", 50)
    many, _ = step_of("median(x)", real(), "substitute", "1", 5_000)
    assert isinstance(few, QuantileStep)
    assert isinstance(many, QuantileStep)
    for step, epsilon, share in ((few, 10, FEW_SIZE_SHARE), (many, 1, SIZE_SHARE)):
        assert step.guarantee.loss == PureDP(Fraction(epsilon))
        assert step.draws.pricing.size is not None
        assert step.draws.pricing.size.epsilon == epsilon * share


# --- the value between the ends ---------------------------------------------------------------------------------------


def test_the_value_is_the_middle_of_the_ends_and_costs_nothing() -> None:
    """The ends have half of the price each. Drawn by itself, at half of it, the value was no better."""
    step, _ = step_of("median(x)", real(), "add_remove", "1", 2_000)
    assert isinstance(step, QuantileStep)
    assert step.draws.pricing.plain.value == 0
    generator = np.random.default_rng(4)
    for one in replies(answers("median(x)", "add_remove", "1", [generator.normal(7.0, 1.0, 2_000) for _ in range(9)])):
        assert math.isclose(one.value, (one.low + one.high) / 2.0, rel_tol=1e-9)


def test_the_middle_of_two_candidates_is_one_of_the_column() -> None:
    whole = Cells((Segment(0, 12, 1),), Fraction(1), True)
    assert [middle(whole, *pair) for pair in ((3, 3), (3, 5), (7, 6), (0, 1), (1, 2))] == [3, 4, 6, 0, 2]
    free = prior()
    low, high = (int(free.index(np.array([x]))[0]) for x in (-1.0, 7.0))
    assert math.isclose(float(free.value(middle(free, low, high))), 3.0, rel_tol=1e-5)  # not that of their numbers


@pytest.mark.parametrize(("question", "kind"), [("median(x)", "add_remove"), ("quantile(x, 0.3)", "substitute")])
def test_a_value_among_ties_is_a_value_of_the_column(question: str, kind: Kind) -> None:
    """Half of the values are heaped at multiples of ten: the middle of two ends would be any of the others."""
    generator = np.random.default_rng(31)
    step, table = step_of(question, integer(0, 110), kind, "1", 3_000)
    values = np.round(generator.normal(50.0, 14.0, 3_000))
    values = np.where(generator.random(3_000) < 0.5, np.round(values / 10.0) * 10.0, values)
    wanted = np.quantile(values, 0.5 if question == "median(x)" else 0.3, method="inverted_cdf")
    found = [answered(step, replace(table, rows={"x": values}), Replayed(f"heap {run}")) for run in range(40)]
    estimates = [answer.outcome.value for answer in found if isinstance(answer.outcome, Reply)]
    assert len(estimates) == 40
    assert all(one.low <= one.value <= one.high for one in estimates)
    assert np.median([abs(one.value - wanted) for one in estimates]) <= 2.0
    if question == "median(x)":
        assert sum(one.value == 50.0 for one in estimates) >= 38


def test_ends_among_ties_miss_as_seldom_as_they_say_whatever_lies_between() -> None:
    """An atom of the least share among empty candidates: P(an end falls short by S - D) is at most 2.5 % over S."""
    for variance, end, share in ((0.0, 4.0, 1e-3), (25.0, 4.0, 1e-3), (400.0, 4.0, 0.5), (9.0, 30.0, 1e-8)):
        shift = rank_shift_among_ties(variance, end, share)
        errors = np.random.default_rng(8).normal(0.0, math.sqrt(variance), 200_000)
        missed = np.minimum(np.exp((errors - shift) / end) / share, 1.0).mean()
        assert abs(missed - 0.025) < 0.002  # five standard deviations of the mean
        assert np.minimum(np.exp((errors - 0.8 * shift) / end) / share, 1.0).mean() > 0.035


def counted(nodes: NDArray[np.float64], scale: float, corner: float) -> tuple[Callable[[float], float], list[float]]:
    """A falling chance, and the places at which it was asked for."""
    looks: list[float] = []

    def chance(shift: float) -> float:
        looks.append(shift)
        return float(np.exp(np.minimum((nodes - shift) / scale + corner, 0.0)).mean())

    return chance, looks


def test_the_shift_is_where_halving_finds_it_in_half_of_the_looks() -> None:
    """Chances with a plateau, a corner and tails of e^-40; at an end, the end."""
    for spread, scale, corner in itertools.product((0.0, 1e-3, 1.0, 300.0), (0.1, 7.0, 1e4), (0.0, 5.0, 30.0)):
        nodes = spread * np.linspace(-6.0, 6.0, 241)
        chance, looks = counted(nodes, scale, corner)
        most = 8.0 * spread + 40.0 * scale + corner * scale
        found, low, high = _crossing(chance, 0.025, most), 0.0, most
        assert len(looks) <= 25
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if chance(middle) > 0.025 else (low, middle)
        assert found == pytest.approx(high, rel=1e-9)
    assert _crossing(lambda place: 0.01 / (1.0 + place), 0.025, 9.0) == 0.0
    assert _crossing(lambda place: 1.0 / (1.0 + place), 0.025, 9.0) == 9.0


def test_no_noise_is_less_than_none_where_there_are_many_values() -> None:
    """The sum over the law of sampling errors is in steps, so D was less than the sampling error alone."""
    assert rank_shift_among_ties(2.5e5, 0.2, 1 / 111) >= 1.9599 * 500.0
    step, _ = step_of("median(x)", integer(0, 110), "add_remove", "10", 1_000_000)
    planned = step.expected(1_000_000)
    assert planned.noise is not None
    assert min([planned.noise, *(noise or 0.0 for _, noise, _ in planned.others)]) >= 0.0


def test_a_choice_of_a_way_knows_no_number_of_groups() -> None:
    """Groups may be found in a release: a price by their number would differ from what was charged."""
    for question in ("median(x)", "quantile(x, 0.9)", "iqr(x, method=separate)", "quantiles(x, 0.25 0.75)"):
        for units in (300, 1_500, 6_000):
            schema = schema_of(real(0, 100), Person("substitute"))
            schema = replace(schema, columns={**schema.columns, "g": category([*range(64)])})
            shares = set()
            for groups in (1, 2, 8, 64):
                setting = Setting(schema, units, Keys("g", tuple(range(groups)), 1))
                try:
                    step = prepare(parse(question), setting, Fraction(1))
                except QuestionError:
                    continue
                shares.add(step.draws.pricing if isinstance(step, QuantileStep) else type(step))
            assert len(shares) <= 1


@pytest.mark.parametrize(("question", "level"), [("median(x)", Fraction(1, 2)), ("quantile(x, 0.3)", Fraction(3, 10))])
def test_ends_are_drawn_at_the_rank_that_is_nearest_to_the_one_wanted(question: str, level: Fraction) -> None:
    """Rounded up to whole ranks they lay half a rank too far out on average."""
    step, _ = step_of(question, real(), "add_remove", "10", 500)
    assert isinstance(step, QuantileStep)
    among = step._among(Counts(np.array([5]), np.array([50])), GroupSize(50.0, False, 50.0), Replayed("x"))
    off, way = [], step.draws.pricing.plain
    for n in range(50, 90):
        wanted = rank_shift(
            step.draws.sampling(level, GroupSize(float(n), False, float(n))),
            1.0 / step.draws.rate(step.draws.mechanism(level, way.end), level),
        )
        shift = step.draws.shift(level, GroupSize(float(n), False, float(n)), among)
        assert (shift * level.denominator).denominator == 1
        off.append(float(shift) - wanted)
    assert max(abs(x) for x in off) <= 0.5 / level.denominator
    assert abs(np.mean(off)) < 0.1


# --- a gap ------------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("kind", "epsilon", "n"), [("add_remove", "0.1", 10_000), ("substitute", "0.1", 10_000)])
def test_in_a_gap_the_interval_holds_some_value_of_the_gap_and_says_so(kind: Kind, epsilon: str, n: int) -> None:
    """Where next to no values lie a median is not one number: intervals reach a value within a rank error of its level.

    200 tables; the point 5 in the middle of the gap is missed far more often than in one run of twenty.
    """
    generator = np.random.default_rng(12)
    found = replies(answers("median(x)", kind, epsilon, [clusters(generator, n) for _ in range(200)]))
    step, _ = step_of("median(x)", real(), kind, epsilon, n)
    assert isinstance(step, QuantileStep)
    error = (
        1.0 / step.draws.rate(step.draws.mechanism(Fraction(1, 2), step.draws.pricing.plain.end), Fraction(1, 2)) / n
    )
    low, high = value_of(0.5 - error), value_of(0.5 + error)
    assert 0.0 < low < GAP / 2 < high < GAP
    assert len(found) >= 195
    assert not too_low(sum(e.low <= high and e.high >= low for e in found), len(found))
    assert too_low(sum(e.low <= GAP / 2 <= e.high for e in found), len(found))
    told = estimand(parse("median(x)"), step.draws.setting)
    assert told.startswith("population median of x (any of them where there are several)")
    assert "gap" not in estimand(parse("median(x, method=M)"), step.draws.setting)  # which gives no reply in a gap


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


@pytest.mark.wide
@pytest.mark.loop(1)
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
        assert step.draws.pricing.plain.magnitude == ONE_LEVEL_SHARE
        assert math.isclose(float(step.guarantee.loss.epsilon), 1.0)  # type: ignore[union-attr]
        within, _ = step_of("median(x, interval=no)", real(0, 9), kind, "1", 10_000)
        assert isinstance(within, QuantileStep)
        assert within.draws.pricing.plain.magnitude == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("low", ["", ", low=-1, high=2"])
@pytest.mark.parametrize("interval", ["", ", interval=no"])
@pytest.mark.parametrize("levels", ["0.5", "0.25 0.75"])
def test_the_guarantee_holds_every_draw(levels: str, interval: str, low: str, kind: Kind) -> None:
    """A sequence of one draw is that draw: its parts are not those of a sequence."""
    step, _ = step_of(f"quantiles(x, {levels}{low}{interval})", real(), kind, "10", 5_000)
    assert step.guarantee.loss == PureDP(Fraction(10))
