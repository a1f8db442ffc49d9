"""Plans at the ends of what may be declared: an accuracy or a refusal, never a division by zero or an overflow."""

from __future__ import annotations

import contextlib

import pytest

import reticent as rt
from reticent.statistics.quantiles import group_size

ASKED = (
    "iqr(x)",
    "median(x)",
    "median(x, low=0, high=9)",
    "quantiles(x, 0.1 0.5 0.9)",
    "mean(x)",
    "variance(x)",
    "sd(x)",
    "location(x)",
    "scale(x)",
)
BOUNDS = (
    rt.integer(0, 9),
    rt.integer(9, 20),  # of which a question's own bounds leave one number
    rt.real(0, 9),
    rt.real(9, 20),
    rt.real(0, "1e-250"),
    rt.real(1, "1.0000000000000003"),
    rt.real("-1e300", "1e300"),
)
EPSILONS = ("1e-300", "1e-20", "1", "1e20", "1e300")


@pytest.mark.loop(9)  # every question once
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("place", range(len(BOUNDS)))
def test_a_plan_at_the_ends_is_an_accuracy_or_a_refusal(asked: str, place: int) -> None:
    study = rt.study({"x": [1, 2, 3]}, adjacency="add_remove", columns={"x": BOUNDS[place]}, budget=1)
    for epsilon in EPSILONS:
        for people in (10, 10**9):
            with contextlib.suppress(rt.ReticentError):  # a refusal in words is right there
                assert str(study.plan([asked], epsilon=epsilon, people=people, override="the ends of what is allowed"))


def test_the_least_number_of_values_is_found_at_a_scale_below_the_distance_of_doubles() -> None:
    """A plan of ε 1e20 had searched between 6 and the double above it without an end."""
    found = group_size.chance_of({}, "more than six", lambda values: values > 6.0, 10.0, 1e-20)
    assert found == 1.0
