"""Intervals between the possible values: none is a point, and none loses a possible value that it held."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.data.schema import Person, Schema, real
from reticent.outcome import Estimate, Reply
from reticent.statistics.column_step import PlannedStep
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.intervals import within_bounds
from reticent.statistics.moments import moment_step
from reticent.statistics.possible import nearest
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.quantile_step import QuantileStep

NUMBERS = st.floats(-1e3, 1e3)


@given(NUMBERS, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), NUMBERS)
def test_a_possible_value_stays_in_and_no_width_is_lost(value: float, below: float, above: float, truth: float) -> None:
    least, most = -30.0, 70.0
    found = Estimate(value, value - below, value + above, min(below, above), 0.0)
    moved = within_bounds(found, least, most)
    assert least <= moved.low <= moved.value <= moved.high <= most
    if least <= truth <= most and found.low <= truth <= found.high:
        assert moved.low <= truth <= moved.high
    assert moved.high - moved.low >= 0.999 * min(below, above, most - least)
    if least <= value <= most:
        assert (moved.low, moved.high) == (max(found.low, least), min(found.high, most))


@pytest.mark.parametrize("truth", [0.0, 0.5, 3.0])
def test_errors_beyond_a_bound_leave_the_coverage_at_95_percent_or_above(truth: float) -> None:
    """Of 4,000 normal errors of deviation 1 about a truth near the bound 0, at a chance of 1e-5 of less than .93."""
    draws = truth + np.random.default_rng(1).normal(0.0, 1.0, 4_000)
    moved = [within_bounds(Estimate(x, x - 1.96, x + 1.96, 1.96, 0.0), 0.0, 9.0) for x in draws.tolist()]
    assert np.mean([one.low <= truth <= one.high for one in moved]) >= 0.937
    assert min(one.high - one.low for one in moved) >= 1.95


@pytest.mark.parametrize("text", ["mean(x)", "variance(x)", "median(x)", "iqr(x)"])
def test_an_answer_that_noise_moved_beyond_its_bounds_keeps_a_width(text: str) -> None:
    """``mean(x) 0 (95 % 0 to 0)`` stood beside a noise of ± 30, and the truth was 3."""
    setting = Setting(Schema({"x": real(0, 100)}, Person("add_remove")), None)
    step = prepare(parse(text), setting, Fraction(1))
    far = Reply(Estimate(-3.0, -3.5, -2.5, 0.3, 0.4))
    if isinstance(step, moment_step.MomentStep):
        shown = moment_step._displayed(far, step)
    else:
        assert isinstance(step, QuantileStep | PlannedStep)
        shown = nearest(far, step.possible)
    assert isinstance(shown, Reply)
    assert shown.value.low == shown.value.value == 0.0
    assert shown.value.high > 0.0
