"""A wanted half-width of a median is paid for equal values too: nothing public tells that they lie apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import reticent as rt


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


def test_more_people_never_pay_more_for_a_median() -> None:
    """With values apart up to 600 people it cost ε 0.5 for 600 and 2.7 for 800, and the noise was eight times wider."""
    prices = [_price(people) for people in (300, 400, 500, 600, 700, 800, 1_000, 2_000)]
    assert all(one >= other for one, other in pairwise(prices)), prices


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
    found = [study.release([], want={"median(a)": 1.0}, record=record)["median(a)"] for _ in range(5)]
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


def test_a_declared_resolution_is_believed_and_the_width_comes_out_as_wanted() -> None:
    """Bought for equal values it cost ε 4.9, and a release was a seventh as wide as wanted."""
    study, want = _stepped("0.1"), {"median(a)": 1.0}
    planned = study.plan([], want=want, people=400)
    assert planned.guarantee.loss.epsilon < 1  # type: ignore[union-attr]  # pure epsilon
    assert planned.lines[0].expected.headline[0] == pytest.approx(1.0, rel=0.15)
    assert "equal values" not in planned.lines[0].expected.note
    record = rt.Record(override="made-up rows", try_anyway=True)
    answers = [study.release([], want=want, record=record)["median(a)"] for _ in range(20)]
    found = [answer.noise for answer in answers if isinstance(answer.outcome, rt.Reply)]
    assert 0.3 < np.median(found) < 1.5


def test_a_plan_says_that_a_width_was_bought_for_equal_values() -> None:
    planned = _stepped(None).plan([], want={"median(a)": 1.0}, people=400)
    assert "± 1 is bought for many equal values, which nothing public rules out" in planned.lines[0].expected.note
    many = _stepped(None).plan([], want={"median(a)": 1.0}, people=5_000)  # which typically have equal values
    assert "is bought for" not in many.lines[0].expected.note
