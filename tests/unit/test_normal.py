"""Bounds of the normal distribution: they hold the truth, closely, from the middle to the far tail; mutants do not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.exact.normal import (
    FARTHEST,
    density_bounds,
    mills_bounds,
    normal_quantile_bounds,
    normal_tail_bounds,
    pi_bounds,
)
from tests.support.balls import close, density, mills, pi, tail

BITS = 128
MIDDLE = [Fraction(z) for z in ("0", "1e-30", "1/3", "1", "2.5", "5.65", "5.66", "8")]
FAR = [Fraction(z) for z in ("12", "20", "30", "37", "44.7")]
distances = st.fractions(min_value=-40, max_value=40, max_denominator=10**6)
chances = st.builds(lambda digit, power: Fraction(digit, 10**power), st.integers(1, 9), st.integers(1, 300))


@pytest.mark.parametrize("z", [sign * z for z in MIDDLE + FAR for sign in (1, -1)], ids=str)
def test_tail_and_density_are_held_closely(z: Fraction) -> None:
    assert close(normal_tail_bounds(z), tail(z), BITS)
    assert close(density_bounds(z), density(z), BITS)


@pytest.mark.parametrize("bits", [40, 128, 300, 1000])
@pytest.mark.parametrize("z", MIDDLE + FAR, ids=str)
def test_the_mills_ratio_is_held_to_any_precision(z: Fraction, bits: int) -> None:
    assert close(mills_bounds(z, bits), mills(z), bits)
    assert close(normal_tail_bounds(z, bits), tail(z), bits)


@pytest.mark.wide
@settings(max_examples=60, deadline=None)
@given(distances)
def test_tail_bounds_hold_the_tail_everywhere(z: Fraction) -> None:
    assert close(normal_tail_bounds(z), tail(z), BITS)


@settings(max_examples=40, deadline=None)
@given(distances)
def test_the_two_tails_are_one(z: Fraction) -> None:
    (low, high), (other_low, other_high) = normal_tail_bounds(z), normal_tail_bounds(-z)
    assert low + other_low <= 1 <= high + other_high


@pytest.mark.parametrize("z", [Fraction(10) ** 3, Fraction(10) ** 30, Fraction(10) ** 300], ids=["3", "30", "300"])
def test_beyond_all_use_the_tail_is_still_bounded(z: Fraction) -> None:
    low, high = normal_tail_bounds(z)
    assert low == 0
    assert 0 < high < Fraction(1, 10**434)
    assert normal_tail_bounds(-z) == (1 - high, Fraction(1))
    inside = Fraction((2 * FARTHEST).numerator)
    assert mills_bounds(z)[0] <= 1 / z <= z * z / (z * z - 1) * mills_bounds(z)[1] <= inside


@pytest.mark.wide
@settings(max_examples=25, deadline=None)
@given(chances)
def test_a_quantile_is_undone_by_the_tail(chance: Fraction) -> None:
    low, high = normal_quantile_bounds(chance)
    assert normal_tail_bounds(low)[0] >= chance >= normal_tail_bounds(high)[1]
    assert high - low < Fraction(1, 10**18)
    assert normal_quantile_bounds(1 - chance) == (-high, -low) or chance > Fraction(1, 2)


def test_the_quantile_of_one_half_is_the_middle() -> None:
    low, high = normal_quantile_bounds(Fraction(1, 2))
    assert low <= 0 <= high


@pytest.mark.parametrize("bits", [16, 128, 3000])
def test_pi(bits: int) -> None:
    assert close(pi_bounds(bits), pi(), bits)


def test_what_is_not_told_is_refused() -> None:
    with pytest.raises(ValueError, match="z >= 0"):
        mills_bounds(Fraction(-1))
    with pytest.raises(ValueError, match="990"):
        normal_quantile_bounds(Fraction(1, 10**500))


@pytest.mark.parametrize("z", [Fraction(1, 3), Fraction(5), Fraction(12)], ids=str)
def test_the_check_rejects_wrong_bounds(z: Fraction) -> None:
    low, high = normal_tail_bounds(z)
    assert not close(normal_tail_bounds(-z), tail(z), BITS)  # the wrong tail
    assert not close((high, low), tail(z), BITS)  # the wrong direction
    assert not close((low, low), tail(z), BITS)  # rounded down
    assert not close((low, high * (1 + Fraction(1, 10**30))), tail(z), BITS)  # not close
    assert not close(density_bounds(z), tail(z), BITS)  # without the Mills ratio
