"""Certified bounds: below is below, above is above, and they are close."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.exact.rounding import (
    exp_bounds,
    exp_down,
    exp_up,
    log_bounds,
    round_down,
    round_up,
    sqrt_down,
    sqrt_up,
)

arguments = st.fractions(min_value=-60, max_value=60, max_denominator=10**6)
sizes = st.fractions(min_value=Fraction(1, 10**6), max_value=10**9, max_denominator=10**6)


def taylor(x: Fraction, terms: int = 400) -> tuple[Fraction, Fraction]:
    """Bounds of e^x, 0 <= x <= 60, by exact partial sums: independent of the code under test."""
    term = total = Fraction(1)
    for index in range(1, terms):
        term = Fraction((term * x / index).limit_denominator(10**80))
        total += term
    return total * (1 - Fraction(1, 10**40)), total * (1 + Fraction(1, 10**40))


@pytest.mark.wide
@settings(max_examples=40, deadline=None)
@given(st.fractions(min_value=0, max_value=60, max_denominator=1000))
def test_exp_bounds_hold_the_series(x: Fraction) -> None:
    low, high = exp_bounds(x)
    least, most = taylor(x)
    assert low <= most
    assert high >= least
    assert high - low <= low / 2**100


@given(arguments)
def test_exp_of_a_sum_is_the_product(x: Fraction) -> None:
    assert exp_down(x) * exp_down(-x) <= 1 <= exp_up(x) * exp_up(-x)


@given(sizes)
def test_log_inverts_exp(x: Fraction) -> None:
    low, high = log_bounds(x)
    assert exp_down(low) <= x <= exp_up(high)
    assert high - low < Fraction(1, 2**100)


@given(sizes)
def test_square_roots_bracket(x: Fraction) -> None:
    assert sqrt_down(x) ** 2 <= x <= sqrt_up(x) ** 2


@given(sizes, st.integers(1, 15))
def test_decimals_round_in_the_direction_of_their_name(x: Fraction, digits: int) -> None:
    assert round_down(x, digits) <= x <= round_up(x, digits)
    assert round_up(x, digits) - round_down(x, digits) <= x * Fraction(10, 10**digits)


def test_exact_values_stay_exact() -> None:
    assert exp_bounds(Fraction(0)) == (Fraction(1), Fraction(1))
    assert log_bounds(Fraction(1)) == (Fraction(0), Fraction(0))
    assert sqrt_up(Fraction(4)) == sqrt_down(Fraction(4)) == 2


@pytest.mark.parametrize("wrong", [0, -1])
def test_log_of_nothing_is_refused(wrong: int) -> None:
    with pytest.raises(ValueError, match="not positive"):
        log_bounds(Fraction(wrong))
