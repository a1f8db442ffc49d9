"""Half-widths of Laplace noise alone, without arrays: the law they invert, and the agreement with those of answers."""

from __future__ import annotations

import math

import pytest

from reticent.statistics.intervals import NONE, half_width, noise_half_width


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_one_part_has_its_closed_form(level: float) -> None:
    radius = noise_half_width([0.0, -3.0], level)
    assert math.exp(-radius / 3.0) == pytest.approx(1.0 - level, rel=1e-12)
    assert half_width(NONE, [3.0], level) == radius


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_two_equal_parts_miss_as_often_as_their_law_says(level: float) -> None:
    radius = noise_half_width([2.0, 2.0], level) / 2.0
    assert (2.0 + radius) / 2.0 * math.exp(-radius) == pytest.approx(1.0 - level, abs=1e-7)


@pytest.mark.parametrize("scales", [[1.0] * 8, [0.5, -0.6, 1.6], [19.8, 0.18], [1e-6, 1.0], [1e9, 3e9, 1e9]])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_a_plan_and_an_answer_have_one_half_width(scales: list[float], level: float) -> None:
    assert noise_half_width(scales, level) == pytest.approx(half_width(NONE, scales, level), rel=1e-5)


def test_no_noise_has_no_width() -> None:
    assert noise_half_width([]) == noise_half_width([0.0]) == half_width(NONE, []) == 0.0
