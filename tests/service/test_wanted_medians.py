"""A wanted half-width of a median is paid for equal values too: nothing public tells that they lie apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

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
