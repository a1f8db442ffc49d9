"""Intervals of rare shares: exact coverage over the number of chosen rows and the noise, so nothing hangs on chance.

The mutant is the interval that is as long on both sides: it takes the sampling variance of the released share.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.data.schema import Person, Schema, category
from reticent.outcome import Reply
from reticent.privacy.adjacency import Kind
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.moments.proportion_step import ProportionStep
from reticent.statistics.prepare import prepare

SIZE = 400
SHARES = np.arange(5, 17) / SIZE  # 5 to 16 chosen rows are expected


def step_of(neighbours: Kind, epsilon: int) -> ProportionStep:
    schema = Schema({"x": category([0, 1])}, Person(neighbours))
    step = prepare(parse("proportion(x, value=1)"), Setting(schema, None), Fraction(epsilon))
    assert isinstance(step, ProportionStep)
    return step


def ends(step: ProportionStep, first: int, second: int) -> tuple[float, float]:
    outcome = step._outcome(first, second)
    assert isinstance(outcome, Reply)
    return outcome.value.low, outcome.value.high


def even_ends(step: ProportionStep, first: int, second: int) -> tuple[float, float]:
    law = step._error(first, second)
    return law.value - law.half_width(), law.value + law.half_width()


def missed(step: ProportionStep, interval: object, reach: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Chances that the interval lies below and above each of ``SHARES``, for noise of at most ``reach`` in size."""
    assert callable(interval)
    too_low, too_high = np.zeros(len(SHARES)), np.zeros(len(SHARES))
    scale = float(step.mechanism.scale)
    ratio = math.exp(-1.0 / scale)
    for chosen in range(34):  # more have a chance below 1e-4
        chances = scipy.stats.binom.pmf(chosen, SIZE, SHARES)
        for one in range(-reach, reach + 1):
            for two in range(-reach, reach + 1):
                noise = ((1 - ratio) / (1 + ratio)) ** 2 * ratio ** (abs(one) + abs(two))
                pair = step._protected(chosen, SIZE)
                low, high = interval(step, pair[0] + one, pair[1] + two)
                too_low += chances * noise * (high < SHARES)
                too_high += chances * noise * (low > SHARES)
    return too_low, too_high


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("neighbours", "epsilon"), [("add_remove", 5), ("substitute", 8)])
def test_intervals_of_rare_shares_miss_as_often_as_they_say_on_either_side(neighbours: Kind, epsilon: int) -> None:
    """Averaged over shares, as the number of chosen rows is whole; noise beyond 1 has 1 % of its mass or less each."""
    step = step_of(neighbours, epsilon)
    too_low, too_high = missed(step, ends, 1)
    assert (too_low + too_high).mean() < 0.055
    assert too_low.mean() < 0.04
    assert too_high.mean() < 0.04
    assert (too_low + too_high).mean() > 0.025  # and no wider than that
    mutant_low, mutant_high = missed(step, even_ends, 1)
    assert (mutant_low + mutant_high).mean() > 0.06
    assert mutant_low.mean() > 0.05


@pytest.mark.parametrize("neighbours", ["add_remove", "substitute"])
def test_intervals_of_shares_hold_the_share_and_stay_possible(neighbours: Kind) -> None:
    step = step_of(neighbours, 1)
    for chosen, present in ((-40, SIZE), (0, SIZE), (1, SIZE), (200, SIZE), (399, SIZE), (450, SIZE)):
        outcome = step._outcome(*step._protected(chosen, present))
        assert isinstance(outcome, Reply)
        assert 0.0 <= outcome.value.low <= outcome.value.value <= outcome.value.high <= 1.0
        assert outcome.value.low < outcome.value.high
