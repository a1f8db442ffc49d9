"""Compositions of dominating pairs: never below the exact delta and epsilon, close above, and caught when wrong.

Exact values: all outputs listed in extended precision (``tests/support/pld_reference.py``), closed forms, the optimal
composition theorem in integers, and dp-accounting.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy

from reticent.errors import PublicParameterError
from reticent.privacy import discretized_loss, optimal_composition, pld
from reticent.privacy.discretized_loss import DirectedLoss, LatticeLaw
from reticent.privacy.pairs import (
    Coin,
    DiscreteGaussianShift,
    GaussianShift,
    GeometricShift,
    LaplaceShift,
    Pair,
    Range,
    SampledPair,
    Symmetric,
)
from reticent.privacy.rdp import renyi_of
from tests.support import pld_reference as reference

Parts = list[tuple[Pair, int]]
CLOSE = 1.005


def symmetric(dice: random.Random) -> Symmetric:
    kind = dice.randrange(4)
    if kind == 0:
        return Coin(Fraction(dice.randrange(1, 200), 100))
    if kind == 1:
        return Coin(Fraction(dice.randrange(1, 100), 70), Fraction(dice.randrange(1, 9), 10 ** dice.randrange(5, 12)))
    if kind == 2:
        return GeometricShift(Fraction(dice.randrange(1, 24), 4), dice.randrange(1, 4))
    return DiscreteGaussianShift(Fraction(dice.randrange(1, 12), 2), dice.randrange(1, 3))


def composition(dice: random.Random) -> Parts:
    """One to five parts, of at most three kinds."""
    parts: Parts = []
    for _ in range(dice.randrange(1, 4)):
        pair: Pair = symmetric(dice)
        if isinstance(pair, Coin | GeometricShift | DiscreteGaussianShift) and dice.random() < 0.4:
            pair = SampledPair(pair, Fraction(dice.randrange(1, 20), 20))
        parts.append((pair, dice.choice([1, 1, 2])))
    return parts[:2] if sum(isinstance(pair, DiscreteGaussianShift) for pair, _ in parts) > 1 else parts


def faults(parts: Parts, dice: random.Random) -> list[str]:
    """What is below the exact value, or too far above it."""
    laws = reference.laws_of(parts)
    found = []
    epsilon = Fraction(dice.randrange(0, 300), 100)
    delta, exact = pld.delta_of(parts, epsilon), reference.delta_at(laws, float(epsilon))
    if not exact * (1 - 1e-13) <= delta <= 1:
        found.append(f"delta {float(delta)} below {exact} at {float(epsilon)}: {parts}")
    certain = max(1 - kept for kept in pld.Running.empty().add(*parts[0])._kept) if len(parts) == 1 else Fraction(0)
    goal = Fraction(10) ** -dice.randrange(2, 16) + certain
    try:
        reached, least = float(pld.epsilon_of(parts, goal)), reference.epsilon_at(laws, float(goal) * (1 + 1e-13))
    except PublicParameterError:
        return found  # the coins alone fail more often
    # the lattice spans all losses, so an epsilon a hundred times below the largest of them has an absolute tolerance
    if not least * (1 - 1e-12) <= reached <= least * CLOSE + 1e-3:
        found.append(f"epsilon {reached} for {least} at {float(goal)}: {parts}")
    return found


@pytest.mark.parametrize("start", range(4))
def test_never_below_the_exact_value_and_close_above(start: int) -> None:
    dice = random.Random(start)
    assert [fault for _ in range(40) for fault in faults(composition(dice), dice)] == []


@pytest.mark.audit
@pytest.mark.parametrize("start", range(100, 120))
def test_never_below_the_exact_value_ten_thousand_times(start: int) -> None:
    dice = random.Random(start)
    assert [fault for _ in range(500) for fault in faults(composition(dice), dice)] == []


# ---- against other ways to the same number


def gaussian_delta(mu: float, epsilon: float) -> float:
    return float(
        scipy.special.ndtr(-epsilon / mu + mu / 2) - math.exp(epsilon) * scipy.special.ndtr(-epsilon / mu - mu / 2)
    )


@pytest.mark.parametrize(("mu_squared", "times"), [("1", 1), ("1/100", 100), ("9", 3), ("1/1000000", 1000)])
def test_gaussians_agree_with_the_closed_form(mu_squared: str, times: int) -> None:
    mu = math.sqrt(Fraction(mu_squared) * times)
    for place in (0, 0.5, 1, 2, 4):
        epsilon = Fraction(round(1000 * (place * mu + mu * mu / 2)), 1000)
        exact = gaussian_delta(mu, float(epsilon))
        found = pld.delta_of([(GaussianShift(Fraction(mu_squared)), times)], epsilon)
        assert exact * (1 - 1e-9) <= found <= exact * 1.01


@pytest.mark.parametrize("epsilon", ["0", "0.5", "2", "5"])
def test_coins_agree_with_the_optimal_theorem(epsilon: str) -> None:
    pairs = [(Fraction(1, 10), Fraction(1, 10**7))] * 60 + [(Fraction(1, 4), Fraction(0))] * 20
    exact = optimal_composition.delta_at(pairs, Fraction(epsilon))
    found = pld.delta_of([(Coin(e, d), 1) for e, d in pairs], Fraction(epsilon))
    assert exact * (1 - Fraction(1, 10**9)) <= found <= exact * Fraction(1001, 1000)


def range_delta(epsilon: float, x: float) -> float:
    """The largest excess over losses t and t - epsilon with the weights that make both laws probabilities."""
    t = np.linspace(0, epsilon, 20_001)
    top = -np.expm1(t - epsilon) / -math.expm1(-epsilon)
    low = t - epsilon
    return float(np.max(top * np.maximum(-np.expm1(x - t), 0) + (1 - top) * np.maximum(-np.expm1(x - low), 0)))


@pytest.mark.parametrize("epsilon", ["1/10", "1", "6"])
def test_bounded_range_is_the_worst_pair_of_losses(epsilon: str) -> None:
    eps = Fraction(epsilon)
    for place in (Fraction(0), eps / 5, eps / 2, eps * Fraction(9, 10)):
        exact = range_delta(float(eps), float(place))
        closed = (1 - math.exp((float(place) - float(eps)) / 2)) ** 2 / (1 - math.exp(-float(eps)))
        assert exact == pytest.approx(closed, rel=1e-6)
        assert closed * (1 - 1e-12) <= pld.delta_of([(Range(eps), 1)], place) <= closed * 1.01


def theirs(pair: Pair, step: float) -> object:
    from dp_accounting.pld import privacy_loss_distribution as peer

    match pair:
        case LaplaceShift(epsilon):
            return peer.from_laplace_mechanism(float(1 / epsilon), value_discretization_interval=step)
        case GaussianShift(mu):
            return peer.from_gaussian_mechanism(float(mu) ** -0.5, value_discretization_interval=step)
        case GeometricShift(scale, shift):
            return peer.from_discrete_laplace_mechanism(float(1 / scale), shift, value_discretization_interval=step)
        case SampledPair(GaussianShift(mu), rate):
            return peer.from_gaussian_mechanism(
                float(mu) ** -0.5, sampling_prob=float(rate), value_discretization_interval=step
            )
        case SampledPair(LaplaceShift(epsilon), rate):
            return peer.from_laplace_mechanism(
                float(1 / epsilon), sampling_prob=float(rate), value_discretization_interval=step
            )
        case _:
            raise AssertionError("not compared")


MIXES: dict[str, Parts] = {
    "laplace": [(LaplaceShift(Fraction(1, 50)), 200)],
    "sampled gaussian": [(SampledPair(GaussianShift(Fraction(1)), Fraction(1, 100)), 500)],
    "sampled laplace": [(SampledPair(LaplaceShift(Fraction(1)), Fraction(1, 10)), 40)],
    "mix": [
        (SampledPair(GaussianShift(Fraction(1, 4)), Fraction(1, 5)), 10),
        (GeometricShift(Fraction(7, 2), 1), 10),
        (LaplaceShift(Fraction(1, 9)), 10),
        (GaussianShift(Fraction(1, 30)), 3),
    ],
}


@pytest.mark.parametrize("name", list(MIXES))
def test_agrees_with_dp_accounting(name: str) -> None:
    whole = None
    for pair, times in MIXES[name]:
        one = theirs(pair, 2e-4).self_compose(times)  # type: ignore[attr-defined]  # dp-accounting has no types
        whole = one if whole is None else whole.compose(one)
    assert whole is not None
    for delta in ("1e-3", "1e-6"):
        peer = whole.get_epsilon_for_delta(float(delta))
        assert float(pld.epsilon_of(MIXES[name], Fraction(delta))) == pytest.approx(peer, rel=0.005)


# ---- one shift stands for a vector


def test_a_vector_costs_no_more_than_its_shifts_in_one_place() -> None:
    dice = random.Random(5)
    for _ in range(40):
        scale, shifts = Fraction(dice.randrange(2, 12), 3), [dice.randrange(1, 4) for _ in range(dice.randrange(2, 4))]
        vector = reference.laws_of([(GeometricShift(scale, shift), 1) for shift in shifts])
        scalar = reference.laws_of([(GeometricShift(scale, sum(shifts)), 1)])
        for _ in range(10):
            epsilon = dice.uniform(-2, 4)
            assert reference.delta_at(vector, epsilon) <= reference.delta_at(scalar, epsilon) + 1e-16


@pytest.mark.parametrize(
    "make", [lambda k: GeometricShift(Fraction(5, 2), k), lambda k: DiscreteGaussianShift(Fraction(3), k)]
)
def test_a_larger_shift_costs_more(make: Callable[[int], Pair]) -> None:
    laws = [reference.laws_of([(make(shift), 1)]) for shift in (1, 2, 3, 7)]
    for epsilon in np.linspace(-3, 5, 33):
        deltas = [reference.delta_at(law, float(epsilon)) for law in laws]
        assert all(more >= less - 1e-17 for less, more in itertools.pairwise(deltas))


# ---- extremes


EXTREME: list[Parts] = [
    [(Coin(Fraction(1, 10**6)), 1)],
    [(Coin(Fraction(1, 10**6)), 10**5), (Coin(Fraction(50)), 1)],
    [(Coin(Fraction(50)), 10**5)],
    [(LaplaceShift(Fraction(1, 10**6)), 10**4)],
    [(LaplaceShift(Fraction(50)), 10)],
    [(Range(Fraction(50)), 3), (Range(Fraction(1, 10**3)), 100)],
    [(GeometricShift(Fraction(200), 200), 50)],
    [(GeometricShift(Fraction(10**9), 10**7), 50)],
    [(DiscreteGaussianShift(Fraction(1, 10), 1), 5)],
    [(DiscreteGaussianShift(Fraction(10**14), 10**4), 5)],
    [(GaussianShift(Fraction(10**4)), 1)],
    [(SampledPair(GaussianShift(Fraction(1)), Fraction(1, 10**4)), 10**4)],
    [(SampledPair(Coin(Fraction(50)), Fraction(1, 10**6)), 10)],
]


@pytest.mark.loop(20)
@pytest.mark.parametrize("parts", EXTREME, ids=str)
@pytest.mark.parametrize("delta", ["1e-6", "1e-15", "1e-30"])
def test_extremes_have_finite_answers(parts: Parts, delta: str) -> None:
    epsilon = pld.epsilon_of(parts, Fraction(delta))
    bounds = [pld._largest(pair) for pair, _ in parts]
    assert 0 <= epsilon < 10**7
    if None not in bounds:
        most = sum((times * max(bound) for (_, times), bound in zip(parts, bounds, strict=True) if bound), Fraction(0))
        assert epsilon <= most * (1 + Fraction(1, 10**11))
    assert 0 <= pld.delta_of(parts, epsilon) <= 1


def test_what_the_coins_fail_with_is_exact() -> None:
    coin = Coin(Fraction(1), Fraction(1, 10**6))
    assert pld.epsilon_of([(coin, 1)], Fraction(1, 10**6)) == 1
    assert pld.delta_of([(coin, 1)], Fraction(1)) == Fraction(1, 10**6)
    with pytest.raises(PublicParameterError):
        pld.epsilon_of([(coin, 2)], Fraction(1, 10**6))
    assert pld.epsilon_of([], Fraction(0)) == 0 == pld.delta_of([], Fraction(0))
    assert pld.epsilon_of([(Coin(Fraction(1)), 3)], Fraction(0)) == 3


# ---- the running total


@pytest.mark.wide
def test_a_running_total_agrees_with_the_whole_list() -> None:
    total = pld.Running.empty()
    parts: Parts = []
    dice = random.Random(8)
    for n in range(31):
        pair: Pair = LaplaceShift(Fraction(dice.randrange(1, 40), 200)) if n % 3 else GaussianShift(Fraction(1, 100))
        if n % 7 == 0:
            pair = SampledPair(GaussianShift(Fraction(1, 2)), Fraction(1, 20 + n))
        before = total.epsilon(Fraction(1, 10**6))
        total = total.add(pair)
        parts.append((pair, 1))
        assert total.epsilon(Fraction(1, 10**6)) >= before * Fraction(999, 1000)
        if n % 10 == 9:
            whole = pld.epsilon_of(parts, Fraction(1, 10**6))
            assert float(total.epsilon(Fraction(1, 10**6))) == pytest.approx(float(whole), rel=2e-2)
            spent = pld.delta_of(parts, Fraction(1))
            assert float(total.delta(Fraction(1))) == pytest.approx(float(spent), rel=0.15)


# ---- Rényi


RENYI: list[Pair] = [
    Coin(Fraction(1)),
    LaplaceShift(Fraction(1)),
    Range(Fraction(2)),
    GeometricShift(Fraction(3), 5),
    GaussianShift(Fraction(1, 2)),
    DiscreteGaussianShift(Fraction(5), 2),
    SampledPair(Coin(Fraction(1)), Fraction(1, 10)),
    SampledPair(LaplaceShift(Fraction(3)), Fraction(1, 10)),
    SampledPair(GeometricShift(Fraction(2), 3), Fraction(1, 3)),
    SampledPair(GaussianShift(Fraction(1)), Fraction(1, 5)),
]


@pytest.mark.parametrize("pair", RENYI, ids=str)
@pytest.mark.parametrize("alpha", ["3/2", "2", "5", "31/2"])
def test_renyi_is_at_or_above_both_directions(pair: Pair, alpha: str) -> None:
    order, found = Fraction(alpha), float(renyi_of(pair, Fraction(alpha)))
    low, high = discretized_loss.span(discretized_loss.inside(pair), discretized_loss.reach_inside(pair, 300.0))
    numeric = []
    for side in discretized_loss.sides(pair, np.linspace(low, high, 4001), 300.0):
        exponents = side.log_mass + float(order - 1) * side.at
        numeric.append(float(np.logaddexp.reduce(exponents)) / float(order - 1))
    assert max(numeric) <= found * (1 + 1e-9)
    if order.denominator == 1 or not isinstance(pair, SampledPair):
        assert found <= max(numeric) * 1.001
    if len(numeric) == 2:
        assert numeric[0] >= numeric[1]


def test_renyi_refuses_what_is_infinite() -> None:
    for pair in (
        Coin(Fraction(1), Fraction(1, 10**9)),
        SampledPair(Coin(Fraction(1), Fraction(1, 10**9)), Fraction(1, 2)),
    ):
        with pytest.raises(PublicParameterError):
            renyi_of(pair, Fraction(2))
    with pytest.raises(PublicParameterError):
        renyi_of(Coin(Fraction(1)), Fraction(1))


# ---- mutants


def _down(side: DirectedLoss, step: float) -> LatticeLaw:
    index = np.floor(side.at / step).astype(np.int64)
    return LatticeLaw(index, side.log_mass, side.log_cut, 0.0, int(index.min()), int(index.max()))


def _linear(side: DirectedLoss, step: float) -> LatticeLaw:
    """Keeps the mean of the loss, not that of e^-loss."""
    below = np.floor(side.at / step)
    part = side.at / step - below
    with np.errstate(divide="ignore"):
        index = np.concatenate([below, below + 1]).astype(np.int64)
        log_mass = np.concatenate([side.log_mass + np.log1p(-part), side.log_mass + np.log(part)])
    return LatticeLaw(
        index[log_mass > -np.inf], log_mass[log_mass > -np.inf], side.log_cut, 0.0, int(index.min()), int(index.max())
    )


def _one_direction(*given: Any) -> tuple[DirectedLoss, ...]:
    found = lattice_sides(*given)
    return (found[-1],) * len(found)


lattice_sides = discretized_loss.sides


def _no_cut(pair: Pair) -> tuple[Fraction, Fraction]:
    return Fraction(0), Fraction(0)


MUTANTS: dict[str, tuple[object, str, object]] = {
    "rounded down": (discretized_loss, "_connected", _down),
    "mean of the loss kept": (discretized_loss, "_connected", _linear),
    "second direction only": (discretized_loss, "sides", _one_direction),
    "infinite mass dropped": (pld, "_certain", _no_cut),
}


@pytest.mark.parametrize("name", list(MUTANTS))
def test_the_comparison_with_exact_values_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, attribute, mutant = MUTANTS[name]
    monkeypatch.setattr(module, attribute, mutant)
    pld._curves.cache_clear()
    dice = random.Random(3)
    found = [fault for _ in range(15) for fault in faults(composition(dice), dice)]
    pld._curves.cache_clear()
    assert found != []


def test_a_cut_that_is_forgotten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = discretized_loss._connected
    monkeypatch.setattr(pld, "MARGIN", 1.0)
    monkeypatch.setattr(discretized_loss, "_connected", lambda side, step: replace(kept(side, step), log_cut=-math.inf))
    assert pld.delta_of([(GaussianShift(Fraction(1)), 1)], Fraction(3)) < gaussian_delta(1, 3)


def test_the_last_sum_keeps_within_its_budget_and_a_dot_product_does_not() -> None:
    law, weights = np.full(1 << 19, 1e-16), np.ones(1 << 19)
    law[0] = 1.0
    exact = math.fsum(law)
    assert abs(discretized_loss.added(law, weights) - exact) <= 64 * discretized_loss.UNIT * exact
    one_by_one = float(np.cumsum(law)[-1])  # what a single running sum, the worst dot product, gives
    assert exact - one_by_one > 1e-12 * exact
