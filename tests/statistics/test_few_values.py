"""Intervals of means of few values: their variance is estimated from as few, which Student's law allows for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy

from reticent.data.query import Keys
from reticent.data.schema import Integer, Person, Real, Schema
from reticent.outcome import Estimate, Reply
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.intervals import estimated_factor, student_stretch
from reticent.statistics.moments import many_means
from reticent.statistics.moments.moment_step import MomentStep
from reticent.statistics.prepare import prepare

SIZE, GROUPS, DEVIATION = 12, 6_000, 0.1
STUDENT = float(scipy.stats.t.ppf(0.975, SIZE - 1)) / SIZE**0.5
EDGES = (0.939, 0.961)  # .95 is four standard errors from each


def step_of(rows: int = 1) -> MomentStep:
    """A mean by groups of one place each, with next to no noise."""
    person = Person("add_remove", "who" if rows > 1 else None, rows=rows)
    schema = Schema({"k": Integer(0, 1), "x": Real(Fraction(0), Fraction(10))}, person)
    made = prepare(parse("mean(x)"), Setting(schema, None, Keys("k", (0, 1), 1)), Fraction(1_000))
    assert isinstance(made, MomentStep)
    return made


def replies(rows: int = 1) -> list[Estimate]:
    """Means of 12 persons each, whose values are normal about the middle, with ``rows`` equal rows of each."""
    values = np.random.default_rng(12).normal(0.0, DEVIATION, (GROUPS, SIZE))
    sums = [(rows * SIZE, rows * one.sum(), rows * (one**2).sum()) for one in values]
    found, _ = many_means.outcomes_of(step_of(rows).many, sums)
    return [one.value for one in found if isinstance(one, Reply)]


def covered(rows: int = 1) -> float:
    found = replies(rows)
    assert len(found) == GROUPS
    return float(np.mean([one.low <= 0.0 <= one.high for one in found]))


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("rows", [1, 5])
def test_means_of_few_normal_values_are_covered_as_often_as_said(rows: int) -> None:
    assert EDGES[0] < covered(rows) < EDGES[1]


@pytest.mark.wide
@pytest.mark.parametrize(("power", "low"), [(0.0, True), (2.0, False)])
def test_a_variance_taken_for_known_and_one_widened_twice_are_told(
    power: float, low: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_means, "estimated_factor", lambda size: estimated_factor(size) ** power)
    assert covered() < EDGES[0] if low else covered() > EDGES[1]


@pytest.mark.parametrize("rows", [1, 5])
def test_a_plan_of_a_mean_takes_students_law(rows: int) -> None:
    sampling = step_of(rows)._expected(2 * SIZE * rows).sampling
    typical = 10.0 / 6.0  # the deviation that a plan supposes, a sixth of the range
    assert sampling == pytest.approx(STUDENT * typical, rel=1e-3)


@pytest.mark.wide
@pytest.mark.parametrize("rows", [1, 5])
def test_releases_of_a_mean_have_the_sampling_width_of_its_plan(rows: int) -> None:
    """In the root mean square: a sum of squares about the mean has n - 1 degrees. One that is not so is 4 % less."""
    released = np.sqrt(np.mean([one.sampling**2 for one in replies(rows)]))
    assert released == pytest.approx(STUDENT * DEVIATION, rel=0.02)


def test_one_group_has_the_interval_of_many() -> None:
    step, sums = step_of(5), (60.0, 3.0, 2.0)
    (many,), (law,) = many_means.outcomes_of(step.many, [sums])
    one, own = step._outcome(sums), step._error(sums)
    assert isinstance(many, Reply)
    assert isinstance(one, Reply)
    assert law is not None
    assert own is not None
    assert many.value.high == pytest.approx(one.value.high, rel=1e-6)
    assert many.value.sampling == pytest.approx(one.value.sampling, rel=1e-6)
    assert law.half_width() == pytest.approx(own.half_width(), rel=1e-6)
    assert law.half_width() == pytest.approx(5.0 * (one.value.high - one.value.value), rel=1e-6)


def test_the_series_is_the_quantile_of_students_law() -> None:
    for size in (10, 11, 15, 40, 300, 1e6):
        exact = scipy.stats.t.ppf(0.975, size - 1) / scipy.stats.norm.ppf(0.975)
        assert student_stretch(size) == pytest.approx(exact, rel=2e-4)
    assert student_stretch(3) == student_stretch(10)
