"""Ends of a sum of squares: exact coverage over the number of great values, and noise that both moments have."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
import scipy

from reticent.statistics.intervals import half_width
from reticent.statistics.moments.fourth_moment import SKEWED, FourthMoment

SIZE = 10_000
QUIET = [0.0, 0.0, 1e-6]


def of_great(great: int) -> FourthMoment:
    """Of so many values at 1, all others at -1, almost without noise."""
    share = great / SIZE
    mean, value = 2 * share - 1, 4 * share * (1 - share)
    squares = np.array([(1 - mean) ** 2, (1 + mean) ** 2]) - value
    return FourthMoment(SIZE, mean, value, SIZE * float(np.array([share, 1 - share]) @ squares**2), QUIET, 1)


@cache
def ends(great: int) -> tuple[float, float, float]:
    """The value, how far the end below it lies, and how much further the skewed end above it does."""
    fourth = of_great(great)
    below = half_width(fourth.variances(), QUIET)
    return fourth.value, below, fourth.beyond(QUIET, below)


def missed(expected: float, *, skewed: bool) -> tuple[float, float]:
    """Exact chances that the interval lies below and above the variance where so many great values are expected."""
    share = expected / SIZE
    truth, too_low, too_high = 4 * share * (1 - share), 0.0, 0.0
    for great in range(1, int(expected + 12 * math.sqrt(expected))):
        (value, below, beyond), chance = ends(great), float(scipy.stats.binom.pmf(great, SIZE, share))
        above = below + (beyond if skewed else 0.0)
        too_low += chance * (value + above / SIZE < truth)
        too_high += chance * (value - below / SIZE > truth)
    return too_low, too_high


@pytest.mark.wide
def test_intervals_of_few_great_values_lie_below_the_variance_no_oftener_than_they_say() -> None:
    """Kurtosis 1,000 down to 250; averaged, as the number of great values is whole. Symmetric ends are the mutant."""
    expected = np.linspace(10, 40, 13)
    mine, symmetric = (np.mean([missed(one, skewed=way) for one in expected], axis=0) for way in (True, False))
    assert 0.02 < mine[0] < 0.03
    assert symmetric[0] > 0.04
    assert 0.93 < 1 - mine.sum() < 0.97


def test_an_end_moves_as_that_of_a_skewed_mean_does() -> None:
    fourth = of_great(20)
    kurtosis = 1 + fourth.variances().average / SIZE / fourth.value**2
    moved = fourth.beyond(QUIET, half_width(fourth.variances(), QUIET))
    assert moved == pytest.approx(SKEWED * (kurtosis - 2) * fourth.value, rel=1e-6)


def test_ends_of_equal_values_of_a_person_move_as_fewer_persons_would() -> None:
    """Rows four at a time are persons of four times the weight: an end moves four times as far."""
    one = of_great(20)
    four = FourthMoment(one.size, one.mean, one.value, one.estimate, one.noise, 4)
    moved = [each.beyond(QUIET, half_width(each.variances(), QUIET)) for each in (one, four)]
    assert moved[1] == pytest.approx(4 * moved[0], rel=1e-6)


def test_noise_of_both_moments_moves_the_upper_end_and_noise_of_one_does_not() -> None:
    """A law near the normal one, whose variances noise hides: ends are judged by what the fourth moment would be."""
    value, noise = 0.04, [0.0, 0.0, 10.0]
    both, alone = [
        FourthMoment(SIZE, 0.0, value, 2.5 * SIZE * value**2, scales, 1) for scales in (noise, [*noise[1:], 0.0])
    ]
    moved = [one.beyond(noise, half_width(one.variances(), noise)) / SIZE for one in (both, alone)]
    assert moved[0] > 3 * moved[1] > 0
    radius = half_width(both.variances(), noise) / SIZE
    assert moved[0] < 0.1 * radius
