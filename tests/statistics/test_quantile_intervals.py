"""Intervals of quantiles wherever a column lies: near 0, a million spreads away, of few values, within bounds or not.

Replayed entropy and fixed tables, so a red test means a change. Coverage is judged as in ``test_coverage``: a count
fails where it would have probability below ERROR at coverage .93, or above .97. Locations are pooled, and the laws are
others than those the shares were chosen on. benchmarks/coverage.py measures every cell by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.data.candidates import FINE, Cells, coarser
from reticent.data.query_result import QueryResult
from reticent.data.schema import Column, Person, integer, real
from reticent.entropy import Entropy, Replayed
from reticent.errors import QuestionError
from reticent.outcome import Estimate, Reply
from reticent.privacy.adjacency import Kind
from reticent.statistics import intervals
from reticent.statistics.answer import Answer
from reticent.statistics.context import Setting, Step
from reticent.statistics.grammar import parse
from reticent.statistics.intervals import Side
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles import quantile_step as quantiles
from reticent.statistics.quantiles import reply_rule
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.unbounded import quantile_range
from tests.statistics.test_coverage import stretch, too_high, too_low
from tests.support.stat_fake import Fake, answered, schema_of

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
PLACES = (0.0, 0.02, -0.3, 1_000.0, 1e6)  # of the median, in spreads
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
LAWS: dict[str, tuple[Draw, Callable[[float], float]]] = {
    "normal": (lambda g, n: g.standard_normal(n), lambda p: scipy.stats.norm.ppf(p)),
    "exponential": (lambda g, n: g.exponential(1.0, n), lambda p: scipy.stats.expon.ppf(p)),
    "lognormal": (lambda g, n: g.lognormal(0.0, 1.0, n), lambda p: scipy.stats.lognorm(1.0).ppf(p)),
    "t3": (lambda g, n: g.standard_t(3, n), lambda p: scipy.stats.t(3).ppf(p)),
}


def step_of(question: str, column: Column, kind: Kind, epsilon: str, n: int) -> tuple[Step, Fake]:
    schema = schema_of(column, Person(kind))
    step = prepare(parse(question), Setting(schema, n), Fraction(epsilon))
    return step, Fake(schema, {"x": np.zeros(0)})


def estimates(
    question: str, law: str, kind: Kind, epsilon: str, n: int, *, bounded: bool = False, runs: int = 60
) -> Iterator[tuple[Estimate, float]]:
    """Replies and what they estimate: ``runs`` tables at each place."""
    draw, quantile = LAWS[law]
    spread_of = question.startswith("iqr")
    for number, place in enumerate(PLACES):
        column = real(-50, max(50, int(2 * place))) if bounded else real()
        step, table = step_of(question, column, kind, epsilon, n)
        truth = float(quantile(0.75) - quantile(0.25)) if spread_of else place
        generator = np.random.default_rng([number, n])
        for run in range(runs):
            rows = {"x": draw(generator, n) - float(quantile(0.5)) + place}
            answer = answered(step, replace(table, rows=rows), Replayed(f"{question} {law} {kind} {place} {run}"))
            if isinstance(answer.outcome, Reply):
                yield answer.outcome.value, truth


def covered(found: list[tuple[Estimate, float]], factor: float = 1.0) -> int:
    return sum(stretch(estimate, truth) <= factor for estimate, truth in found)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(
    ("law", "kind", "bounded", "epsilon", "n"),
    [
        ("normal", "add_remove", False, "1", 1_000),
        ("exponential", "substitute", False, "1", 2_000),
        ("lognormal", "substitute", True, "0.5", 2_000),
        ("t3", "add_remove", False, "8", 80),
    ],
)
def test_a_median_is_covered_wherever_it_lies(law: str, kind: Kind, bounded: bool, epsilon: str, n: int) -> None:
    found = list(estimates("median(x)", law, kind, epsilon, n, bounded=bounded))
    assert len(found) > 0.9 * 60 * len(PLACES)
    assert not too_low(covered(found), len(found))
    assert not too_high(covered(found), len(found))
    assert too_low(covered(found, 0.67), len(found))
    assert too_high(covered(found, 2.0), len(found))


def test_ends_drawn_from_a_prior_that_crowds_at_zero_are_refused_by_the_same_judge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mechanism as it was: every draw from equal mass in every binade."""

    def crowded(base: Cells, binade: int | None, *, tied: bool | None, most: int = 0) -> Cells:
        return coarser(base, FINE)

    monkeypatch.setattr(quantiles, "candidates", crowded)
    step, table = step_of("median(x)", real(), "add_remove", "0.1", 10_000)
    generator, inside = np.random.default_rng(3), 0
    for run in range(100):
        answer = answered(step, replace(table, rows={"x": generator.normal(0.02, 1.0, 10_000)}), Replayed(f"was {run}"))
        inside += answer.low <= 0.02 <= answer.high
    assert too_low(inside, 100)


@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
def test_a_median_of_ten_thousand_is_told_nearly_as_closely_as_without_privacy(
    monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    """At epsilon 1; the median of 40 half-widths has a standard error of 2 %, and less than .9 would be too narrow."""
    usual = 1.96 * math.sqrt(math.pi / 2.0) / 100.0

    def ratio(runs: int) -> float:
        found = estimates("median(x)", "normal", kind, "1", 10_000, runs=runs)
        return float(np.median([(e.high - e.low) / 2.0 for e, _ in found])) / usual

    assert 0.9 < ratio(8) <= 1.2
    sizes = quantiles.QuantileStep._sizes

    def tied(self: quantiles.QuantileStep, result: QueryResult, entropy: Entropy) -> list[GroupSize]:
        return [replace(size, tied=True) for size in sizes(self, result, entropy)]

    monkeypatch.setattr(quantiles.QuantileStep, "_sizes", tied)  # values that share nothing, taken for ties
    assert ratio(2) > 1.2


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(
    ("law", "kind", "epsilon", "n"),
    [
        ("normal", "add_remove", "1", 1_000),
        ("exponential", "add_remove", "2", 1_000),
        ("lognormal", "substitute", "2", 2_000),
    ],
)
def test_a_distance_of_quartiles_is_covered_and_the_ends_of_both_would_cover_too_much(
    monkeypatch: pytest.MonkeyPatch, law: str, kind: Kind, epsilon: str, n: int
) -> None:
    added: list[Estimate] = []

    def noted(value: float, sides: tuple[Side, Side], errors: intervals.RankErrors) -> Estimate:
        far = sum(side.apart for side in sides) / 2.0
        added.append(Estimate(value, value - far, value + far, far, 0.0))
        return intervals.distance(value, sides, errors)

    monkeypatch.setattr(quantile_range, "distance", noted)
    found = list(estimates("iqr(x, method=joint)", law, kind, epsilon, n, runs=50))
    assert len(found) > 0.9 * 50 * len(PLACES)
    assert not too_low(covered(found), len(found))
    assert not too_high(covered(found), len(found))
    assert too_low(covered(found, 0.5), len(found))
    both = [(estimate, found[0][1]) for estimate in added]
    assert len(both) > 0.9 * len(found)
    assert too_high(covered(both), len(both))


def rank_errors(n: float) -> intervals.RankErrors:
    return intervals.RankErrors.of_rows(n, Fraction(1, 4), Fraction(3, 4))


def test_rank_errors_of_weighted_rows_are_the_sums_over_rows() -> None:
    """Row by row, the variances and the covariance of v (1[x <= quantile] - level); of weights 1 those of rows."""
    p, q = Fraction(1, 5), Fraction(7, 10)
    parts = (3.0, 4.5, 2.0)
    below = np.array([(1, 1), (0, 1), (0, 0)]) - np.array([float(p), float(q)])
    sums = (below[:, :, None] * below[:, None, :] * np.array(parts)[:, None, None]).sum(axis=0)
    found = intervals.RankErrors.of_squares(p, q, *parts)
    assert (found.low, found.both, found.high) == pytest.approx((sums[0, 0], sums[0, 1], sums[1, 1]))
    alike = intervals.RankErrors.of_squares(p, q, *(100.0 * float(part) for part in (p, q - p, 1 - q)))
    rows = intervals.RankErrors.of_rows(100.0, p, q)
    assert (alike.low, alike.both, alike.high) == pytest.approx((rows.low, rows.both, rows.high))
    noisy = intervals.RankErrors.of_squares(p, q, 3.0, -1.0, 2.0)
    assert noisy == intervals.RankErrors.of_squares(p, q, 3.0, 0.0, 2.0)


@pytest.mark.wide
def test_the_half_width_of_a_distance_has_the_law_of_its_errors() -> None:
    """200,000 errors of quartiles among values three times as sparse at the upper one; .002 is four standard errors."""
    generator, n, own, passed = np.random.default_rng(5), 10_000.0, 20.0, 40.0
    slopes = (1.0, 3.0)
    cov = 3.0 * n / 16.0 * np.array([[1.0, 1 / 3], [1 / 3, 1.0]])
    errors = generator.multivariate_normal(np.zeros(2), cov, 200_000) + generator.laplace(0.0, own, (200_000, 2))
    errors += generator.laplace(0.0, passed, (200_000, 1))
    far = np.abs(errors @ np.array([-slopes[0], slopes[1]]))

    def share(scale: float, common: float) -> float:
        sides = [
            Side(level, 2e9 * slope, 1e9, scale, 1.0, 0.0, common)
            for level, slope in zip((Fraction(1, 4), Fraction(3, 4)), slopes, strict=True)
        ]
        half = intervals.distance(1e6, (sides[0], sides[1]), rank_errors(n))
        return float((far <= (half.high - half.low) / 2.0).mean())

    assert abs(share(own, passed) - 0.95) < 0.002
    assert share(own, 0.0) < 0.93  # as if the cut between moved both alike in the unit of the column
    assert share(2.0 * own, passed) > 0.955


@pytest.mark.wide
def test_slopes_that_are_unsure_widen_a_distance() -> None:
    """Slopes with the spread of a real draw: 40,000 of each, on the judge's side of .95 with and not without."""
    generator, end, shift, own = np.random.default_rng(6), 10.0, 40.0, 5.0
    estimated = 1.0 + generator.laplace(0.0, end, (40_000, 2, 2)) @ np.array([1.0, -1.0]) / (2.0 * shift)
    far = np.abs(generator.normal(0.0, 20.0, (40_000, 2)) @ np.array([1.0, -1.0]))

    def share(unsure: float) -> float:
        quartile = Side(Fraction(1, 4), 2.0 * shift, shift, own, end, 0.0)
        plain = intervals.distance(1e6, (quartile, replace(quartile, level=Fraction(3, 4))), rank_errors(320.0))
        half = (plain.high - plain.low) / 2.0
        known = intervals.half_width(intervals.known(2.0 * 20.0**2), [1e-9])
        return float((far <= estimated.mean(axis=1) * known * (half / plain_half if unsure else 1.0)).mean())

    sure = Side(Fraction(1, 4), 2e9, 1e9, own, 1e-9, 0.0)
    flat = intervals.distance(1e6, (sure, replace(sure, level=Fraction(3, 4))), rank_errors(320.0))
    plain_half = (flat.high - flat.low) / 2.0
    assert 0.945 < share(1.0) < 0.97
    assert share(0.0) < 0.945


# --- the rule of refusal ---------------------------------------------------------------------------------------------


def guesses(n: int, epsilon: str, runs: int) -> tuple[int, int]:
    """Draws that are the candidates' and not the data's, of a column a million spreads from 0; and all draws."""
    step, table = step_of("median(x)", real(missing=0), "substitute", epsilon, n)
    generator, far = np.random.default_rng(8), 0
    for run in range(runs):
        rows = {"x": generator.normal(1e6, 1.0, n)}
        answer = answered(step, replace(table, rows=rows), Replayed(f"guess {n} {run}"))
        if isinstance(answer.outcome, Reply):
            found = answer.outcome.value
            far += sum(abs(x - 1e6) > 50.0 for x in (found.low, found.value, found.high))
    return far, 3 * runs


@pytest.mark.wide
def test_where_a_reply_is_given_it_is_the_datas(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the least number of values with a reply a draw is a guess with at most 1 %; 450 draws, error rate 1e-3."""
    sure = least("median(x)", "substitute", real(missing=0))
    far, draws = guesses(sure, "1", 150)
    assert scipy.stats.binom.sf(far - 1, draws, reply_rule.GUESSED) > 1e-3
    monkeypatch.setattr(reply_rule, "GUESSED", 1e12)  # no rule: as soon as there is room for an end
    far, draws = guesses(least("median(x)", "substitute", real(missing=0)) + 20, "1", 40)
    assert scipy.stats.binom.sf(far - 1, draws, 1e-2) < 1e-3


def least(question: str, kind: Kind, column: Column, *, public: bool = True) -> int:
    """The least number of values for which a plan expects a reply at epsilon 1."""
    few, many = 1, 1 << 15
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if width(question, kind, column, middle, public=public) is None else (few, middle)
    return many


def width(question: str, kind: Kind, column: Column, n: int, *, public: bool = True) -> float | None:
    schema = schema_of(column, Person(kind))
    try:
        step = prepare(parse(question), Setting(schema, n if public or kind == "substitute" else None), Fraction(1))
    except QuestionError:
        return None
    found = step.expected(n)
    return None if found.noise is None else math.hypot(found.noise, found.sampling or 0.0)


@pytest.mark.loop(3)
@pytest.mark.wide
@pytest.mark.parametrize("bounds", [(), (0, 100)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "question",
    [
        "median(x)",
        "median(x, interval=no)",
        "quantile(x, 0.9)",
        "iqr(x, method=joint)",
        "iqr(x, method=separate)",
        "iqr(x, interval=no)",
        "quantiles(x, 0.25 0.5 0.75, method=joint)",
        "quantiles(x, 0.25 0.5 0.75, method=separate)",
        "location(x)",
    ],
)
def test_a_public_number_of_values_is_never_worse_than_a_private_one(
    question: str, kind: Kind, bounds: tuple[int, ...]
) -> None:
    """Replaced: public where a value stands for a missing one. Added: where people are declared."""
    private = real(*bounds)
    public = real(*bounds, missing=0) if kind == "substitute" else private
    assert least(question, kind, public) <= least(question, kind, private, public=False)
    for n in (5_000, 40_000):
        known, bought = width(question, kind, public, n), width(question, kind, private, n, public=False)
        assert known is not None
        assert bought is None or known <= bought * (1 + 1e-9)


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("question", ["median(x)", "iqr(x)", "quantiles(x, 0.25 0.5 0.75)"])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_with_a_public_number_are_no_wider_than_with_a_bought_one(kind: Kind, question: str) -> None:
    """Widths of 40 replies on the same tables and coins, compared by their medians: 8 % for chance."""

    def half(public: bool) -> float:
        column = real(missing=0) if public else real()
        schema = schema_of(column, Person(kind))
        step = prepare(parse(question), Setting(schema, 8_000 if public or kind == "substitute" else None), Fraction(1))
        generator = np.random.default_rng(21)
        found = []
        for run in range(40):
            table = Fake(schema, {"x": generator.normal(5.0, 1.0, 8_000)})
            answer = answered(step, table, Replayed(f"either {run}"))
            replies = [cell.outcome.value for cell in answer.cells if isinstance(cell.outcome, Reply)]
            if replies:
                found.append(sum(one.high - one.low for one in replies))
        assert len(found) >= 36
        return float(np.median(found))

    assert half(True) <= 1.08 * half(False)


# --- ends of the candidates ------------------------------------------------------------------------------------------


def asked(question: str, column: Column, values: NDArray[np.float64], run: int = 0) -> Answer:
    step, table = step_of(question, column, "add_remove", "4", len(values))
    return answered(step, replace(table, rows={"x": values}), Replayed(f"{question} {run}"))


@pytest.mark.wide
def test_a_reply_at_the_end_of_the_candidates_says_so() -> None:
    generator = np.random.default_rng(2)
    even = generator.uniform(1.0, 2.0, 5_000)
    for question in ("median(x)", "iqr(x)", "iqr(x, method=separate)", "quantiles(x, 0.4 0.6)"):
        answer = asked(question, real(), 1e300 * even)
        assert any("highest candidate, 8.749 × 10⁹⁹" in text for text in answer.caveats), question
        assert not any("candidate," in text for text in asked(question, real(), 1e30 * even).caveats)
    assert any("lowest candidate, 0" in text for text in asked("median(x)", integer(0, 9), np.zeros(500)).caveats)


@pytest.mark.wide
@pytest.mark.parametrize("size", [1e-90, 1e-9, 1e12, 1e90])
def test_a_column_of_any_size_is_told_in_its_own_unit(size: float) -> None:
    values = size * np.random.default_rng(4).uniform(1.0, 2.0, 5_000)
    for question, truth in (("median(x)", 1.5), ("iqr(x)", 0.5), ("quantile(x, 0.9)", 1.9)):
        answer = asked(question, real(), values)
        assert answer.low < answer.value < answer.high
        assert abs(answer.value / size - truth) < 0.1
        assert (answer.high - answer.low) / size < 0.1


@pytest.mark.wide
@pytest.mark.parametrize("column", [integer(), integer(2**53 - 60_000, 2**53)])
@pytest.mark.parametrize("question", ["iqr(x)", "iqr(x, method=separate)", "quantiles(x, 0.25 0.5 0.75)"])
def test_whole_numbers_near_the_last_that_doubles_hold_keep_their_distances(column: Column, question: str) -> None:
    values = 2.0**53 - 30_000 + np.rint(np.random.default_rng(6).normal(0.0, 2_000.0, 5_000))
    answer = asked(question, column, values)
    if question.startswith("iqr"):
        assert answer.low < 2_700 < answer.high
        assert answer.high - answer.low < 1_500
    else:
        low, _, high = (cell.outcome.value for cell in answer.cells if isinstance(cell.outcome, Reply))
        assert abs(high.value - low.value - 2_700) < 600


@pytest.mark.wide
def test_heaped_whole_numbers_are_told_as_the_values_they_are() -> None:
    """Heights in fives: ties are released as such, an atom wins against the numbers beside it."""
    values = 5.0 * np.rint(np.random.default_rng(7).normal(34.1, 2.0, 4_000))
    for column in (integer(), integer(0, 300), real(), real(0, 300)):
        found = [asked("median(x)", column, values, run) for run in range(20)]
        assert sum(one.value == 170.0 for one in found) >= 19
        assert all(one.low <= 170.0 <= one.high for one in found)


@pytest.mark.wide
def test_most_values_at_zero_leave_the_others_in_reach() -> None:
    generator = np.random.default_rng(9)
    values = np.where(generator.random(5_000) < 0.55, 0.0, generator.lognormal(3.0, 1.0, 5_000))
    answer = asked("iqr(x)", real(), values)
    assert answer.low < float(np.quantile(values, 0.75)) < answer.high < 60.0
