"""A wanted half-width of a median is paid for equal values too: nothing public tells that they lie apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import reticent as rt
from reticent.study.plan import Plan


def _price(people: int) -> float:
    study = rt.study(
        {"a": [1.0]},
        columns={"a": rt.real(0, 100)},
        adjacency="substitute",
        rows_each=1,
        budget=100,
        override="made-up rows",
    )
    planned = study.plan([], want={"median(a)": 1.0}, people=people)
    return float(planned.guarantee.loss.epsilon)  # type: ignore[union-attr]  # pure epsilon


@pytest.mark.wide
def test_more_people_never_pay_more_for_a_median() -> None:
    """With values apart up to 600 people it cost ε 0.5 for 600 and 2.7 for 800, and the noise was eight times wider."""
    prices = [_price(people) for people in (300, 500, 600, 800, 2_000)]
    assert all(one >= other for one, other in pairwise(prices)), prices


@pytest.mark.wide
def test_a_wanted_median_of_rounded_values_is_as_wide_as_wanted() -> None:
    drawn = np.random.default_rng(5).normal(40, 12, 600).round(0).clip(0, 100)
    study = rt.study(
        {"a": drawn},
        columns={"a": rt.real(0, 100)},
        adjacency="substitute",
        rows_each=1,
        budget=1_000,
        override="made-up rows",
    )
    record = rt.Record(override="made-up rows", try_anyway=True)
    found = [study.release([], want={"median(a)": 1.0}, record=record)["median(a)"] for _ in range(3)]
    assert np.median([answer.noise for answer in found]) <= 1.2


def _stepped(resolution: str | None) -> rt.Study:
    """400 values rounded to a tenth, with the step declared or not."""
    drawn = np.random.default_rng(7).normal(40, 12, 400).round(1).clip(0, 100)
    return rt.study(
        {"a": drawn},
        columns={"a": rt.real(0, 100, resolution=resolution)},
        adjacency="substitute",
        rows_each=1,
        budget=1_000,
        override="made-up rows",
    )


@pytest.mark.wide
def test_a_declared_resolution_is_believed_and_the_width_comes_out_as_wanted() -> None:
    """Bought for equal values it cost ε 4.9, and a release was a seventh as wide as wanted."""
    study, want = _stepped("0.1"), {"median(a)": 1.0}
    planned = study.plan([], want=want, people=400)
    assert planned.guarantee.loss.epsilon < 1  # type: ignore[union-attr]  # pure epsilon
    assert planned.lines[0].expected.headline[0] == pytest.approx(1.0, rel=0.15)
    assert "equal values" not in planned.lines[0].expected.note
    record = rt.Record(override="made-up rows", try_anyway=True)
    answers = [study.release([], want=want, record=record)["median(a)"] for _ in range(7)]
    found = [answer.noise for answer in answers if isinstance(answer.outcome, rt.Reply)]
    assert 0.3 < np.median(found) < 1.5


@pytest.mark.wide
def test_a_plan_says_that_a_width_was_bought_for_equal_values() -> None:
    planned = _stepped(None).plan([], want={"median(a)": 1.0}, people=400)
    assert "± 1 is bought for many equal values, which nothing public rules out" in planned.lines[0].expected.note
    many = _stepped(None).plan([], want={"median(a)": 1.0}, people=5_000)  # which typically have equal values
    assert "is bought for" not in many.lines[0].expected.note


def _of_dates(questions: list[str], people: int, **plan: object) -> Plan:
    study = rt.study(
        {"d": ["2024-01-05"], "t": ["2024-01-05T10:00"], "x": [1.0], "g": ["a"]},
        columns={
            "d": rt.date("2020-01-01", "2024-12-31"),
            "t": rt.datetime("2020-01-01", "2024-12-31"),
            "x": rt.real(0, 100),
            "g": rt.category(["a", "b", "c"]),
        },
        adjacency="add_remove",
        rows_each=1,
        budget=100,
        override="made-up rows",
    )
    return study.plan(questions, people=people, **plan)  # type: ignore[arg-type]  # one of its two ways to ask


@pytest.mark.loop(7)
@pytest.mark.parametrize(
    ("question", "want"),
    [
        *(("mean(d)", 10), ("median(d)", 10), ("quantile(d, 0.9)", 10), ("sd(d)", 10), ("mean(d) by g", 20)),
        *(("iqr(d)", 20), ("median(d) by g", 30), ("iqr(t)", 400), ("quantiles(d, 0.25 0.5 0.75)", 20)),
        *(("mean(x)", 0.5), ("median(x)", 0.5), ("iqr(x)", 1), ("quantile(x, 0.9)", 0.5), ("median(x) by g", 1)),
    ],
)
def test_the_plan_at_the_price_of_a_wanted_width_shows_that_width(question: str, want: float) -> None:
    """Dates were searched for as if they lay about the middle: ± 1.4 days were bought where 20 were wanted."""
    bought = _of_dates([], 5_000, want={question: want})
    (line,) = bought.lines[:1]
    assert line.expected.headline[0] == pytest.approx(want, rel=0.08)
    assert (line.expected.headline[0] or 0) <= want
    again = _of_dates([question], 5_000, epsilon=bought.guarantee.loss.epsilon)  # type: ignore[union-attr]  # pure
    assert again.lines[0].expected == line.expected


def test_a_refusal_of_a_wanted_width_of_dates_has_their_unit() -> None:
    with pytest.raises(rt.QuestionError, match=r"planned to ± 0.05 days: .* the noise is still ± [\d.]+ days"):
        _of_dates([], 500, want={"median(d)": 0.05})


@pytest.mark.wide
def test_a_slightly_smaller_width_of_few_people_is_not_ten_times_as_dear() -> None:
    """A price had been found where equal values have no reply: ± 0.95 cost ten times what ± 1.05 did."""
    prices = [
        float(_of_dates([], 200, want={"median(x)": want}).guarantee.loss.epsilon)  # type: ignore[union-attr]  # pure
        for want in (1.05, 1.0, 0.95)
    ]
    assert prices[0] <= prices[1] <= prices[2] <= 1.5 * prices[0]


def test_no_lower_price_reaches_a_wanted_distance_of_quartiles() -> None:
    """The interval of ends is wider than that of fewer values: ε .6 was bought where .22 reaches the width."""
    bought = _of_dates([], 1_000, want={"iqr(x)": 50}).guarantee.loss.epsilon  # type: ignore[union-attr]  # pure
    assert bought < 0.3


def test_whole_numbers_between_wide_bounds_are_planned_apart() -> None:
    """Of 300 incomes in whole units a plan was 7 to 15 times as wide as the release."""
    drawn = np.random.default_rng(3).lognormal(10.3, 0.5, 300).round()
    study = rt.study(
        {"k": drawn.clip(0, 200_000)},
        columns={"k": rt.integer(0, 200_000)},
        adjacency="add_remove",
        rows_each=1,
        budget=1_000,
        override="made-up rows",
    )
    line = study.plan(["median(k)"], epsilon=2, people=300).lines[0].expected
    record = rt.Record(override="made-up rows", try_anyway=True)
    found = [study.release(["median(k)"], epsilon=2, record=record)["median(k)"].noise for _ in range(20)]
    assert line.headline[0] is not None
    assert 0.4 < np.median(found) / line.headline[0] < 2.5
