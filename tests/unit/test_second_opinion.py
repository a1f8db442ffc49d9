"""Certified bounds contain Arb's balls on wide random inputs; with a mutant on either side they do not.

The same functions check the product and its mutants. No test here has an error rate: containment is certain.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reticent.exact import normal, rounding
from reticent.privacy import discretized_loss, profiles
from reticent.privacy.loss import GaussianDP, PureDP
from tests.support import balls
from tests.support.balls import close, holds

ULP = 1 + Fraction(2, 10**11)  # two roundings to 12 digits

precisions = st.sampled_from([24, 64, 128, 300, 1000])
signs = st.sampled_from([-1, 1])


def wide(least: int, most: int) -> st.SearchStrategy[Fraction]:
    """Positive rationals from 10^least to 10^(most + 1), evenly over the powers of ten."""
    digits = st.fractions(min_value=1, max_value=10, max_denominator=10**9)
    return st.builds(lambda digit, power: digit * Fraction(10) ** power, digits, st.integers(least, most))


exponents = st.builds(lambda sign, size: sign * size, signs, wide(-60, 1))
numbers = wide(-300, 299)
distances = st.builds(lambda sign, size: sign * min(size, Fraction(44)), signs, wide(-30, 1))
losses = wide(-6, 1)


# ---- what is checked: each takes the inputs of the product and tells whether its bounds hold Arb's ball


def exp_agrees(x: Fraction, bits: int) -> bool:
    bounds, ball = rounding.exp_bounds(x, bits), balls.exp(x)
    return holds(bounds, ball) and bounds[1] - bounds[0] <= ball[0] * Fraction(2) ** (16 - bits)


def integers_agree(x: Fraction, bits: int) -> bool:
    """e^-x in units of 2^-bits, strictly between its bounds."""
    low, high = rounding.scaled_exp_bounds(x, bits)
    least, most = balls.exp(-x)
    return low < least * 2**bits and most * 2**bits < high and high - low <= 8


def log_agrees(x: Fraction, bits: int) -> bool:
    bounds, ball = rounding.log_bounds(x, bits), balls.log(x)
    return holds(bounds, ball) and bounds[1] - bounds[0] <= (1 + abs(ball[0])) * Fraction(2) ** (8 - bits)


def sqrt_agrees(x: Fraction, bits: int) -> bool:
    low, high = rounding.sqrt_down(x, bits), rounding.sqrt_up(x, bits)
    least, most = balls.sqrt(x)
    return low <= most and least <= high and high - low <= Fraction(1, 2**bits)  # a root may be the end itself


def tail_agrees(z: Fraction, bits: int) -> bool:
    return close(normal.normal_tail_bounds(z, bits), balls.tail(z), bits)


def mills_agrees(z: Fraction, bits: int) -> bool:
    return close(normal.mills_bounds(z, bits), balls.mills(z), bits)


def density_agrees(z: Fraction, bits: int) -> bool:
    return close(normal.density_bounds(z, bits), balls.density(z), bits)


def quantile_agrees(chance: Fraction) -> bool:
    """Both ends by Arb's tails: one is too near, the other too far."""
    low, high = normal.normal_quantile_bounds(chance)
    return balls.tail(low)[0] >= chance >= balls.tail(high)[1] and high - low < Fraction(1, 10**18)


def shift_agrees(mu: Fraction, x: Fraction) -> bool:
    return close(normal.shift_excess_bounds(mu, x), balls.excess(mu, x), 80)


def inverse_agrees(mu: Fraction, chance: Fraction) -> bool:
    """At the x found the excess is at most ``chance``, and hardly less."""
    x = normal.shift_excess_inverse(mu, chance)
    least, most = balls.excess(mu, x)
    return most <= chance and (x == 0 or least >= chance * (1 - Fraction(1, 10**9)))


def gaussian_agrees(mu: Fraction, epsilon: Fraction) -> bool:
    least, most = balls.excess(mu, epsilon)
    return most <= profiles.delta(GaussianDP(mu * mu), epsilon) <= least * ULP


def coin_agrees(largest: Fraction, epsilon: Fraction) -> bool:
    least, most = balls.coin(largest, epsilon) if epsilon < largest else (Fraction(0), Fraction(0))
    return most <= profiles.delta(PureDP(largest), epsilon) <= least * ULP


def cells_agree(edges: list[float]) -> bool:
    """Log masses between edges, in floats: at most the stated error too low; as little too high in cells of 1e-6."""
    found, error = discretized_loss._normal_cells(np.array(edges))
    truths = [balls.log_cell(Fraction(low), Fraction(high)) for low, high in pairwise(edges)]
    widths = np.diff(edges).tolist()
    return all(
        most <= Fraction(middle) + Fraction(slack) and (Fraction(middle) - Fraction(slack) <= least or width < 1e-6)
        for middle, slack, width, (least, most) in zip(found.tolist(), error.tolist(), widths, truths, strict=True)
    )


# ---- the product


@pytest.mark.wide
@settings(max_examples=150, deadline=None)
@given(exponents, precisions)
@example(Fraction(1), 128)
@example(Fraction(-1000), 128)
def test_exp(x: Fraction, bits: int) -> None:
    assert exp_agrees(x, bits)


@pytest.mark.wide
@settings(max_examples=150, deadline=None)
@given(wide(-60, 2), precisions)
def test_exp_in_integers(x: Fraction, bits: int) -> None:
    assert integers_agree(x, bits)


@pytest.mark.wide
@settings(max_examples=150, deadline=None)
@given(numbers, precisions)
@example(1 + Fraction(1, 10**40), 128)
@example(Fraction(4, 3), 128)
@example(Fraction(2, 3), 128)
def test_log(x: Fraction, bits: int) -> None:
    assert log_agrees(x, bits)


@settings(max_examples=80, deadline=None)
@given(numbers, precisions)
def test_square_root(x: Fraction, bits: int) -> None:
    assert sqrt_agrees(x, bits)


@pytest.mark.wide
@settings(max_examples=80, deadline=None)
@given(distances, precisions)
def test_normal_tail_and_density(z: Fraction, bits: int) -> None:
    assert tail_agrees(z, bits)
    assert density_agrees(z, bits)
    assert mills_agrees(abs(z), bits)


@settings(max_examples=25, deadline=None)
@given(wide(-300, -2))
def test_normal_quantile(chance: Fraction) -> None:
    assert quantile_agrees(chance)


@settings(max_examples=40, deadline=None)
@given(wide(-3, 0), wide(-3, 0))
def test_what_a_shift_shows(mu: Fraction, x: Fraction) -> None:
    if (x / mu - mu / 2) ** 2 / 2 < normal.FARTHEST - 10:
        assert shift_agrees(mu, x)
        assert gaussian_agrees(mu, x)


@pytest.mark.wide
@settings(max_examples=25, deadline=None)
@given(wide(-3, 0), wide(-200, -2))
def test_the_loss_at_which_a_shift_shows_no_more(mu: Fraction, chance: Fraction) -> None:
    assert inverse_agrees(mu, chance)


@settings(max_examples=60, deadline=None)
@given(losses, losses)
def test_the_delta_of_a_coin(largest: Fraction, epsilon: Fraction) -> None:
    assert coin_agrees(largest, epsilon)


@pytest.mark.wide
@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-38, 38), min_size=2, max_size=6, unique=True))
def test_cells_of_the_normal_law(edges: list[float]) -> None:
    assert cells_agree(sorted(edges))


# ---- mutants: each function is held against Arb with one of its parts, or itself, moved off the truth to one side

X, Z = Fraction(7, 3), Fraction(8)
Check = Callable[[], bool]
CASES: list[tuple[Any, str, Check]] = [
    (rounding, "exp_bounds", lambda: exp_agrees(X, 128)),
    (rounding, "scaled_exp_bounds", lambda: integers_agree(X, 128)),
    (rounding, "scaled_exp_bounds", lambda: exp_agrees(X, 128)),
    (rounding, "scaled_exp_bounds", lambda: exp_agrees(-X, 128)),
    (rounding, "log_bounds", lambda: log_agrees(X, 128)),
    (rounding, "_twice_atanh", lambda: log_agrees(X, 128)),
    (rounding, "_log_two", lambda: log_agrees(X, 128)),
    (rounding, "_log_two", lambda: log_agrees(1 / X, 128)),
    (normal, "normal_tail_bounds", lambda: tail_agrees(Z, 128)),
    (normal, "_by_fraction", lambda: mills_agrees(Z, 128)),
    (normal, "_by_series", lambda: mills_agrees(Fraction(1), 128)),
    (normal, "pi_bounds", lambda: density_agrees(Z, 128)),
    (normal, "exp_bounds", lambda: density_agrees(Z, 128)),
    (normal, "mills_bounds", lambda: tail_agrees(Z, 128)),
    (normal, "normal_quantile_bounds", lambda: quantile_agrees(Fraction(1, 10**9))),
    (normal, "shift_excess_bounds", lambda: shift_agrees(Fraction(1), X)),
]


def moved(honest: Callable[..., Any], side: int) -> Callable[..., Any]:
    """Bounds of the same width that lie wholly on one side of the truth, farther than what later slack forgives."""

    def mutant(*given_: Any, **named: Any) -> Any:
        low, high = honest(*given_, **named)
        by = (high - low) * side * 2**40
        return low + by, high + by

    return mutant


@pytest.mark.parametrize("side", [1, -1], ids=["above", "below"])
@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{name}-{n}" for n, (_, name, _) in enumerate(CASES)])
def test_a_mutant_on_either_side_is_rejected(monkeypatch: pytest.MonkeyPatch, case: int, side: int) -> None:
    module, name, agrees = CASES[case]
    assert agrees()
    monkeypatch.setattr(module, name, moved(getattr(module, name), side))
    assert not agrees()


def test_a_root_rounded_the_other_way_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    up, down = rounding.sqrt_up, rounding.sqrt_down
    assert sqrt_agrees(X, 128)
    monkeypatch.setattr(rounding, "sqrt_up", down)
    assert not sqrt_agrees(X, 128)
    monkeypatch.setattr(rounding, "sqrt_up", up)
    monkeypatch.setattr(rounding, "sqrt_down", up)
    assert not sqrt_agrees(X, 128)


@pytest.mark.parametrize("factor", [1 - Fraction(1, 10**10), 1 + Fraction(1, 10**10)], ids=["below", "above"])
def test_a_loss_moved_by_the_tenth_digit_is_rejected(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    honest = profiles.delta
    monkeypatch.setattr(profiles, "delta", lambda loss, at: honest(loss, at) * factor)
    assert not gaussian_agrees(Fraction(1), X)
    assert not coin_agrees(X, Fraction(1))


@pytest.mark.parametrize("factor", [1 - Fraction(1, 10**8), 1 + Fraction(1, 10**8)], ids=["below", "above"])
def test_an_inverse_moved_by_the_eighth_digit_is_rejected(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    honest, chance = normal.shift_excess_inverse, Fraction(1, 10**6)
    assert inverse_agrees(Fraction(1), chance)
    monkeypatch.setattr(normal, "shift_excess_inverse", lambda mu, at: honest(mu, at) * factor)
    assert not inverse_agrees(Fraction(1), chance)


@pytest.mark.parametrize("ulps", [256, -256], ids=["above", "below"])
def test_a_cell_moved_by_more_than_its_error_is_rejected(monkeypatch: pytest.MonkeyPatch, ulps: int) -> None:
    honest = discretized_loss._normal_cells

    def moved_cells(z: Any) -> Any:
        log_mass, error = honest(z)
        return log_mass + ulps * error / 100, error

    assert cells_agree([-2.0, 0.5, 3.0])
    monkeypatch.setattr(discretized_loss, "_normal_cells", moved_cells)
    assert not cells_agree([-2.0, 0.5, 3.0])
