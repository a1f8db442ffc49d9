"""Kolmogorov's distance with noise: sensitivity over all small tables, level, power, coverage, mutants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.data.schema import integer, real
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Estimate, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.sensitivity import L1
from reticent.statistics.hypotheses import distance, kolmogorov
from reticent.statistics.hypotheses.distance import BITS, STEPS, DistanceSteps, binned, from_any, from_named, steps
from reticent.statistics.hypotheses.normal import NormalityHypothesis, ReadingGrid
from reticent.statistics.hypotheses.null import Floats, Integers, least_seen
from tests.statistics.hypotheses.levels import least, most, noise, too_often
from tests.statistics.hypotheses.test_kinds import findings, made, setting

RUNS, LEVEL, UNIT = 300, 0.05, 1 << 12
Draw = Callable[[np.random.Generator, int], Floats]
STANDARD = ReadingGrid((), 0, 1 << BITS, UNIT, 1 << (BITS - 12))  # a value is floor(x UNIT), the law the standard one
ANY = ReadingGrid()


def counted(values: Integers) -> DistanceSteps:
    found, counts = np.unique(values.astype(np.int64), return_counts=True)
    return steps(found, counts.astype(np.int64))


def asked(scale: float, frame: ReadingGrid = ANY, alike: int = 1, size: int | None = None) -> NormalityHypothesis:
    return NormalityHypothesis(frame, "it", scale, size, alike, 999)


def told(test: NormalityHypothesis, released: Floats) -> tuple[float, Estimate]:
    found = test.tell([tuple(int(part) for part in released)])
    return found.p.value, found.effect


def drawn(draw: Draw, n: int, scale: int, frame: ReadingGrid, name: str, alike: int = 1) -> Floats:
    """Noisy distances and numbers of values of many columns, a person's values equal."""
    generator, exact = np.random.default_rng([n, alike]), []
    for _ in range(RUNS):
        values = np.repeat(np.floor(draw(generator, n // alike) * UNIT), alike)
        exact.append((frame.distance(counted(values)), n))
    return np.array(exact) + noise(Fraction(scale), (RUNS, 2), name)


def rejections(test: NormalityHypothesis, found: Floats) -> Iterator[bool]:
    return (told(test, released)[0] <= LEVEL for released in found)


def rejected(test: NormalityHypothesis, found: Floats) -> int:
    return sum(rejections(test, found))


# --- the distance -----------------------------------------------------------------------------------------------------

VALUES = st.lists(st.sampled_from([-(1 << 29), -700, -3, -1, 0, 1, 2, 5, 40, 1 << 29]), max_size=9)


@pytest.mark.wide
@settings(max_examples=150)
@given(VALUES, st.sampled_from([-(1 << 29), -3, 0, 1, 5, 700]), st.integers(0, 8), st.sampled_from([1, 3, 1000]))
def test_a_row_moves_the_distance_by_one_row_at_most(values: list[int], came: int, place: int, wide: int) -> None:
    """It comes, goes, or is replaced; whether the law is named or the nearest, on runs of values or in bins."""
    more = [*values, came]
    other = [*more[: place % len(more)], *more[place % len(more) + 1 :], 2]
    edges = np.array([-2, 0, 3, 100], np.int64)

    def all_of(rows: list[int]) -> tuple[int, ...]:
        table = np.array(rows, np.int64)
        bins = binned(edges, np.histogram(table, [-(1 << 30), *edges, 1 << 30])[0].astype(np.int64))
        named = [from_named(data, 1 << BITS, wide, -7) for data in (counted(table), bins)]
        return (*named, from_any(counted(table)), from_any(bins))

    for one, two in ((values, more), (more, other)):
        assert max(abs(a - b) for a, b in zip(all_of(one), all_of(two), strict=True)) <= STEPS


def test_one_row_may_move_the_distance_by_one_row() -> None:
    assert from_named(counted(np.array([0])), 1 << BITS, 1, 10 << BITS) == STEPS


@pytest.mark.wide
def test_the_distance_to_a_named_law_is_kolmogorovs() -> None:
    values = np.random.default_rng(2).normal(0.2, 1.1, 400)
    right = scipy.stats.kstest(values, scipy.stats.norm.cdf).statistic
    found = from_named(counted(np.floor(values * (1 << 12))), 1 << BITS, UNIT, 1 << (BITS - 12)) / STEPS / 400
    assert found == pytest.approx(right, abs=0.25 / 400 + 1e-3)


@pytest.mark.parametrize("kind", ["normal", "uniform", "expon", "gumbel_r"])
def test_the_distance_to_the_nearest_law_is_the_least_of_all(kind: str) -> None:
    values = (
        np.sort(np.floor(getattr(scipy.stats, kind).rvs(size=60, random_state=4) * 1000))
        if kind != "normal"
        else (np.sort(np.floor(scipy.stats.norm.rvs(size=60, random_state=4) * 1000)))
    )

    def away(law: Floats) -> float:
        shares = scipy.stats.norm.cdf(np.stack([values, values - 1]), law[0], np.exp(law[1]))
        held = np.searchsorted(values, values, side="right"), np.searchsorted(values, values, side="left")
        return float(np.abs(np.stack(held) - 60 * shares).max())

    start = (np.median(values), np.log(values.std()))
    right = min(
        scipy.optimize.minimize(
            away, start + np.array(move), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-6}
        ).fun
        for move in [(0.0, 0.0), (200.0, 0.1), (-200.0, 0.1), (0.0, -0.2), (100.0, 0.3)]
    )
    found = from_any(counted(values)) / STEPS
    assert right - 0.01 <= found <= right + 0.26  # no law is nearer, and a quarter row is the step


@pytest.mark.wide
def test_the_nearest_law_of_many_columns_is_that_of_each() -> None:
    columns = np.sort(np.random.default_rng(9).normal(size=(40, 24)), axis=1)
    exact = [from_any(counted(np.floor(column * (1 << 20)))) / STEPS / 24 for column in columns]
    found = kolmogorov.nearest(columns)
    assert np.all((np.array(exact) >= found - 1e-4) & (np.array(exact) <= found + 0.25 / 24 + 1e-4))


@pytest.mark.wide
def test_a_table_of_quantiles_that_does_not_rise_would_break_the_sensitivity() -> None:
    assert np.all(np.diff(distance.quantiles()) >= 0)


@pytest.mark.wide
def test_simulated_distances_follow_kolmogorovs_law() -> None:
    for size in (40, 5_000):
        found = np.quantile(kolmogorov.distances(size, "named") / size, [0.5, 0.95])
        assert found == pytest.approx(scipy.stats.kstwo.ppf([0.5, 0.95], size), rel=0.02)


# --- the test ---------------------------------------------------------------------------------------------------------


def _normal(generator: np.random.Generator, n: int) -> Floats:
    return generator.normal(0.0, 1.0, n)


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("frame", [ANY, STANDARD], ids=["any", "named"])
@pytest.mark.parametrize(("n", "scale"), [(60, 1), (200, 5), (200, 50), (2_000, 15), (10_000, 50)])
def test_level(frame: ReadingGrid, n: int, scale: int) -> None:
    """Rejections at .05 of 300 normal columns: not above what the level leaves, at error 1e-4."""
    found = drawn(_normal, n, scale, frame, f"level {n} {scale}")
    assert rejected(asked(float(scale), frame), found) <= most(RUNS, LEVEL)


@pytest.mark.wide
def test_a_mean_and_deviation_far_from_0_and_1_keep_the_level() -> None:
    found = drawn(lambda generator, n: generator.normal(700.0, 0.02, n), 300, 5, ANY, "elsewhere")
    assert rejected(asked(5.0), found) <= most(RUNS, LEVEL)


@pytest.mark.wide
@pytest.mark.parametrize("frame", [ANY, STANDARD], ids=["any", "named"])
def test_a_law_without_the_noise_is_refuted_and_one_with_too_much_is_seen(frame: ReadingGrid) -> None:
    found = drawn(_normal, 200, 40, frame, "mutants")
    assert least(RUNS, LEVEL) <= rejected(asked(40.0, frame), found) <= most(RUNS, LEVEL)
    assert too_often(rejections(asked(0.5, frame), found), RUNS, LEVEL)
    assert too_often(rejections(asked(20.0, frame), found), RUNS, LEVEL)
    assert rejected(asked(100.0, frame), found) < least(RUNS, LEVEL)


@pytest.mark.wide
def test_rows_of_one_person_keep_the_level_and_a_law_of_single_rows_does_not() -> None:
    found = drawn(_normal, 600, 15, ANY, "alike", alike=3)
    assert rejected(asked(15.0, alike=3), found) <= most(RUNS, LEVEL)
    assert too_often(rejections(asked(15.0), found), RUNS, LEVEL)


@pytest.mark.wide
@pytest.mark.parametrize("frame", [ANY, STANDARD], ids=["any", "named"])
def test_power_is_what_the_plan_says_and_less_with_more_noise(frame: ReadingGrid) -> None:
    test = asked(5.0, frame)
    effect = least_seen(lambda away: test.power(away, 1_000, LEVEL), 0.5)
    assert effect is not None
    assert test.power(0.0, 1_000, LEVEL) == pytest.approx(LEVEL, abs=0.02)
    assert replace(test, scale=50.0).power(effect, 1_000, LEVEL) < 0.6

    def heaped(generator: np.random.Generator, n: int) -> Floats:
        return np.where(generator.random(n) < 2 * effect, 0.0, generator.normal(0.0, 1.0, n))

    found = drawn(heaped, 1_000, 5, frame, "power")
    assert least(RUNS, 0.7) <= rejected(test, found) <= most(RUNS, 0.88)
    with pytest.raises(PublicParameterError, match="between 0 and 1/2"):
        test.power(0.6, 1_000, LEVEL)


@pytest.mark.wide
def test_skewness_is_seen() -> None:
    found = drawn(lambda generator, n: generator.exponential(1.0, n), 200, 5, ANY, "skewed")
    assert rejected(asked(5.0), found) > 0.95 * RUNS


@pytest.mark.wide
@pytest.mark.parametrize("scale", [2, 60])
def test_the_interval_covers_the_distance_of_the_law(scale: int) -> None:
    """At a chance of .93 at least; where noise is most of it, not without the noise."""
    found = drawn(lambda generator, n: generator.normal(0.3, 1.0, n), 1_000, scale, STANDARD, f"cover {scale}")
    truth = 2 * scipy.stats.norm.cdf(0.15) - 1
    for size, covers in ((float(scale), True), (scale / 50, scale < 10)):
        inside = [one.low <= truth <= one.high for one in (told(asked(size, STANDARD), part)[1] for part in found)]
        assert (sum(inside) >= least(RUNS, 0.93)) == covers


@pytest.mark.wide
def test_too_few_values_are_no_error() -> None:
    assert told(asked(500.0), np.array([30, -4])) == (1.0, Estimate(0.0, 0.0, 1.0, 1.0, 1.0))


# --- the question -----------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize(
    ("adjacency", "cap", "scale"), [("add_remove", 1, 10), ("substitute", 1, 10), ("substitute", 3, 30)]
)
def test_noise_is_that_of_a_row_and_its_number(adjacency: Kind, cap: int, scale: int) -> None:
    for text in ("test(income)", "test(age)", "test(free, centre=0, deviation=3)", "test(income, edges=0 30 60 90)"):
        assert made(text, setting(adjacency, cap), "1/2").mechanism.scale == scale


@pytest.mark.wide
def test_where_the_number_of_values_is_public_it_costs_nothing() -> None:
    where = setting("substitute", income=real(0, 100, missing=50))
    known = replace(where, units=400)
    assert made("test(income)", where).mechanism.scale == 5
    step = made("test(income)", known)
    assert step.mechanism.scale == 4
    assert isinstance(step.hypothesis, NormalityHypothesis)
    assert step.hypothesis.size == 400


@pytest.mark.wide
def test_a_whole_number_stands_for_what_is_rounded_to_it() -> None:
    """Rounded normal values keep to a named law with a deviation of two steps, which cut ones do not."""
    step = made("test(age, centre=50, deviation=2)")
    assert isinstance(step.hypothesis, NormalityHypothesis)
    generator, frame = np.random.default_rng(8), step.hypothesis.frame
    values = generator.normal(50.0, 2.0, 2_000)
    near, cut = (frame.distance(counted(place(values) - frame.origin)) for place in (np.rint, np.floor))
    assert near / STEPS < 1.63 * np.sqrt(2_000)  # at level .01
    assert cut / STEPS > 2.5 * np.sqrt(2_000)


@pytest.mark.wide
def test_bins_between_named_edges_hold_the_named_law() -> None:
    step = made("test(income, centre=50, deviation=10, edges=0 40 50 55 70 100)")
    assert isinstance(step.hypothesis, NormalityHypothesis)
    values = np.random.default_rng(3).normal(50.0, 10.0, 3_000)
    counts = np.histogram(values, [-999, 40, 50, 55, 70, 999])[0]
    edges = np.array(step.hypothesis.frame.edges, np.int64)
    found = step.hypothesis.frame.distance(binned(edges, counts.astype(np.int64))) / STEPS
    right = np.abs(np.cumsum(counts)[:-1] - 3_000 * scipy.stats.norm.cdf([40, 50, 55, 70], 50, 10)).max()
    assert found == pytest.approx(right, abs=0.5)


@pytest.mark.wide
def test_values_far_from_0_are_looked_for_between_their_bounds() -> None:
    """Without an origin they would all be moved to one place, and every law be rejected."""
    where = setting(income=real(10**12, 10**12 + 1000), age=integer(10**15, 10**15 + 1000))
    values = np.random.default_rng(4).normal(500.0, 100.0, 800)
    for text, low in (("test(income)", 10**12), ("test(age)", 10**15)):
        step = made(text, where)
        assert isinstance(step.hypothesis, NormalityHypothesis)
        (query,) = step.queries
        unit = query.unit  # type: ignore[union-attr]  # an Ordered
        held = np.array([int((low + int(value)) / unit) for value in values]) - step.hypothesis.frame.origin
        assert np.abs(held).max() < distance.REACH
        assert step.hypothesis.frame.distance(counted(held)) / STEPS < 0.71 * np.sqrt(800)  # at level .01
    with pytest.raises(QuestionError, match="too far from 0"):
        made("test(income)", setting(income=real(10**18, 10**18 + 1000)))
    with pytest.raises(QuestionError, match="too near each other"):
        made("test(income ~ age)", setting(income=real(10**18, 10**18 + 256)))


@pytest.mark.wide
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("test(free)", "how fine free is"),
        ("test(sex, kind=normal)", "a category"),
        ("test(income, edges=0 10)", "two bins or more"),
    ],
)
def test_what_cannot_be_normal_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        made(text)


@pytest.mark.wide
@pytest.mark.parametrize("text", ["test(age)", "test(free, centre=40, deviation=12)", "test(income, edges=0 30 60 99)"])
def test_record_replay_finds_nothing_and_a_distance_that_cost_nothing(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant has the sensitivity of the number of values alone."""
    assert findings([text], "substitute", 2, 6) == set()

    def less(bound: L1, epsilon: Fraction) -> Geometric:
        return Geometric(L1(bound.bound / (STEPS + 1), bound.adjacency), epsilon)

    monkeypatch.setattr("reticent.statistics.hypotheses.normal.Geometric", less)
    assert "sensitivity" in findings([text], "add_remove", 1, 6)


@pytest.mark.wide
def test_long_and_short_arithmetic_agree() -> None:
    data = counted(np.random.default_rng(7).integers(-900, 900, 300))
    short = from_named(data, 1 << BITS, 400, 3)
    assert from_named(data, (1 << BITS) << 40, 400 << 40, 3 << 40) == short


@pytest.mark.parametrize("question", ["test(x)", "test(x, centre=14, deviation=3)", "test(x, low=9, high=20)"])
def test_values_outside_the_bounds_count_as_the_nearer_bound(question: str) -> None:
    values = np.random.default_rng(5).integers(9, 21, 3_000)
    outside = np.where(values == 20, 500, values)
    declared = (None, None) if "low=" in question else (9, 20)
    found = []
    for column in (values, outside):
        study = rt.study(
            {"x": column},
            adjacency="substitute",
            columns={"x": rt.integer(*declared)},
            budget=99,
            rows_each=1,
            override="a",
        )
        answer = study.release(question, epsilon=40, record=rt.Record(override="a"))[question]
        assert "x is compared on steps of 1, values cut to [9, 20]" in answer.caveats
        cell = next(iter(answer))
        assert isinstance(cell.outcome, Reply)
        found.append(cell.outcome.value.value)
    assert found[0] == pytest.approx(found[1], abs=1e-3)
