"""Densities of ranges far from 0: values are read in a unit that 64 bits hold, and means lie where the values do.

A mean is off by noise of about 1 % of the range at 2,000 values and epsilon 2, so by 6 % with probability below 1e-6.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.synthesis.axis import Axis, even
from reticent.synthesis.histogram import unit_of

RANGES = [("1700000000", "1700000100"), ("10000000", "10000001"), ("-20", "-19"), ("1000000000000", "1000000000010")]


@pytest.mark.loop(2)
@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("method", ["", ", method=histogram"])
def test_a_density_far_from_zero_has_the_mean_of_its_values(low: str, high: str, method: str) -> None:
    """Where the lower bound was 10^7 ranges away, the plan overflowed and a release ended after its charge."""
    width = float(high) - float(low)
    values = float(low) + width * np.random.default_rng(3).beta(2, 3, 2_000)
    study = rt.study(
        {"x": values}, adjacency="add_remove", columns={"x": rt.real(low, high)}, budget=99, override="a test"
    )
    question = f"density(x{method})"
    assert study.plan([question], epsilon=2).lines[0].expected.noise is not None
    release = study.release([question], epsilon=2)
    answer: Any = release[next(iter(release))]
    (mean,) = answer.density.mean()
    assert abs(mean - values.mean()) < 0.06 * width


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_the_bounds_have_few_bits_in_the_unit_values_are_read_in(low: str, high: str) -> None:
    unit = unit_of(Axis("x", (Fraction(low), Fraction(high))))
    assert max(abs(Fraction(low)), abs(Fraction(high))) / unit < 1 << 60


@pytest.mark.parametrize(
    ("low", "high", "cells", "resolution"),
    [(10**6, 10**6 + 1, 64, "0.001"), (17 * 10**8, 17 * 10**8 + 860, 1_024, "0.001"), (-3, 3, 7, "0.25")],
)
def test_the_middle_of_a_cell_of_multiples_is_exact_to_rounding(
    low: int, high: int, cells: int, resolution: str
) -> None:
    """Squares of step numbers cancelled: a middle lay half a cell off, or out of the bounds."""
    step = Fraction(resolution)
    one = even("x", Fraction(low), Fraction(high), cells, resolution=step)
    for place in (0, 1, one.cells // 2, one.cells - 1):
        first, last = one.edges[place] / step, one.edges[place + 1] / step
        number, total = first, Fraction(0)
        while number < last:  # what lies within half a step of a multiple counts as that
            multiple = min(max((number + Fraction(1, 2)) // 1, -((-low) // step)), high // step)
            end = min(multiple + Fraction(1, 2), last) if multiple < high // step else last
            total += multiple * (end - number)
            number = end
        width = float(one.edges[place + 1] - one.edges[place])
        assert abs(one.middles[place] - float(step * total / (last - first))) < 1e-6 * width + 1e-9 * abs(low) * 1e-6


def test_no_made_up_value_is_a_negative_zero() -> None:
    values = np.round(np.clip(np.random.default_rng(3).normal(0, 2, 3_000), -5, 5), 1)
    study = rt.study(
        {"x": values},
        adjacency="add_remove",
        columns={"x": rt.real(-5, 5, resolution="0.1")},
        budget=99,
        override="a test",
    )
    frame: Any = study.synthesize(["x"], epsilon=2).frame()
    made = np.asarray(frame["x"], dtype=float)
    assert (made == 0).any()
    assert not np.signbit(made[made == 0]).any()
