"""Noise from targets: what is found meets the target, and a little less noise would not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import PublicParameterError
from reticent.exact.grid import Grid
from reticent.mechanisms import calibrate
from reticent.mechanisms.calibrate import DIGITS, batch, gaussian_within, geometric_within, scaled
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.laplace import Laplace
from reticent.mechanisms.noise import GaussianLaw, GeometricLaw, beta_of
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.privacy.sensitivity import L1, L2, Linf
from reticent.privacy.tightest import least

PEOPLE = Adjacency("add_remove")
ONE = L1(Fraction(1), PEOPLE)
TARGET = ApproxDP(Fraction(1), Fraction(1, 10**6))
TICK = Fraction(1, 10**DIGITS)

MIXED: tuple[calibrate.Scalable, ...] = (
    Geometric(ONE, Fraction(1, 2)),
    Laplace(L1(Fraction(1, 3), PEOPLE), Fraction(1, 4), Grid(-4), 2),
    Gaussian(L2(Fraction(1), PEOPLE), Fraction(1, 8)),
    ScalarGaussian(ONE, Fraction(20), Fraction(1, 2)),
    Exponential(Linf(Fraction(1), PEOPLE), Fraction(1, 2)),
    PermuteAndFlip(Linf(Fraction(1), PEOPLE), Fraction(1, 3)),
)


def epsilon_at(mechanisms: tuple[calibrate.Scalable, ...], factor: Fraction) -> Fraction:
    loss = least([scaled(one, factor).guarantee for one in mechanisms], TARGET.delta).guarantee.loss
    assert isinstance(loss, PureDP | ApproxDP)
    return loss.epsilon


def test_a_mixed_batch_meets_its_target_with_the_least_factor() -> None:
    found = batch(MIXED, TARGET)
    assert isinstance(found.guarantee.loss, ApproxDP)
    assert found.guarantee.loss.epsilon <= TARGET.epsilon
    assert found.guarantee.loss.delta <= TARGET.delta
    assert epsilon_at(MIXED, found.factor * (1 - 30 * TICK)) > TARGET.epsilon
    assert found.mechanisms == tuple(scaled(one, found.factor) for one in MIXED)
    assert "least ε" in found.reason


@pytest.mark.wide
@pytest.mark.parametrize("count", [1, 7, 200])
def test_equal_counts_in_pure_epsilon_share_it(count: int) -> None:
    found = batch([Geometric(ONE, Fraction(1))] * count, PureDP(Fraction(1)))
    assert found.factor == count
    assert found.guarantee.loss == PureDP(Fraction(1))


@pytest.mark.wide
def test_many_equal_counts_at_a_delta_need_less_noise_than_sharing() -> None:
    found = batch([Geometric(ONE, Fraction(1))] * 200, TARGET)
    assert found.factor < 120  # sharing epsilon would take 200
    assert all(one == found.mechanisms[0] for one in found.mechanisms)


def test_gaussian_noise_for_a_target_in_rho_is_exact() -> None:
    found = batch([Gaussian(L2(Fraction(2), PEOPLE), Fraction(1))] * 4, ZCDP(Fraction(1, 4)))
    assert found.factor == 4
    assert found.guarantee.loss == ZCDP(Fraction(1, 4))
    with pytest.raises(PublicParameterError, match="no pure"):
        batch([Gaussian(L2(Fraction(2), PEOPLE), Fraction(1))], PureDP(Fraction(1)))


def test_noise_shrinks_as_well_as_grows() -> None:
    assert batch([Geometric(ONE, Fraction(1, 64))], PureDP(Fraction(1))).factor == Fraction(1, 64)
    assert batch([Geometric(ONE, Fraction(64))], PureDP(Fraction(1))).factor == 64


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(1, 20))
@settings(deadline=None, max_examples=25)
def test_the_factor_of_a_pure_batch_is_the_sum_over_the_target(weights: list[int], tenths: int) -> None:
    target = Fraction(tenths, 10)
    found = batch([Geometric(ONE, Fraction(weight, 50)) for weight in weights], PureDP(target))
    exactly = Fraction(sum(weights), 50) / target
    assert exactly <= found.factor <= exactly * (1 + 20 * TICK)


@pytest.mark.parametrize("factor", [Fraction(1, 3), Fraction(1), Fraction(7, 2)])
@pytest.mark.parametrize("mechanism", MIXED, ids=lambda one: type(one).__name__)
def test_scaling_moves_rho_by_the_square(mechanism: calibrate.Scalable, factor: Fraction) -> None:
    before, after = (compose.in_zcdp(one.guarantee).loss for one in (mechanism, scaled(mechanism, factor)))
    assert isinstance(before, ZCDP)
    assert isinstance(after, ZCDP)
    assert after.rho == before.rho / factor**2


def test_targets_that_cannot_be_are_refused() -> None:
    for target in (PureDP(Fraction(0)), ApproxDP(Fraction(0), Fraction(1, 10)), ZCDP(Fraction(0))):
        with pytest.raises(PublicParameterError, match="> 0"):
            batch(MIXED, target)
    with pytest.raises(PublicParameterError, match="at least one"):
        batch([], TARGET)
    with pytest.raises(PublicParameterError, match="> 0"):
        scaled(MIXED[0], Fraction(0))


# ---- least loss for an accuracy


@pytest.mark.parametrize(("half_width", "beta", "dimension"), [(5, "1/20", 10), (0, "1/20", 1), (100, "1/1000", 3)])
def test_geometric_noise_within_a_half_width_is_the_least(half_width: int, beta: str, dimension: int) -> None:
    width, chance = Fraction(half_width), Fraction(beta)
    found = geometric_within(L1(Fraction(3), PEOPLE), width, chance, dimension)
    assert beta_of(GeometricLaw(found.scale), width, dimension) <= chance
    assert beta_of(GeometricLaw(found.scale * (1 + 30 * TICK)), width, dimension) > chance


def test_gaussian_noise_within_a_half_width_is_nearly_the_least() -> None:
    width, chance = Fraction(50), Fraction(1, 20)
    found = gaussian_within(L2(Fraction(1), PEOPLE), width, chance, dimension=8)
    std = Fraction(float(found.variance) ** 0.5)
    assert beta_of(GaussianLaw(std), width, 8) <= chance * Fraction(1001, 1000)
    assert beta_of(GaussianLaw(std * Fraction(101, 100)), width, 8) > chance
    with pytest.raises(PublicParameterError, match="at least 1"):
        gaussian_within(L2(Fraction(1), PEOPLE), Fraction(1, 2), chance)


def test_a_search_that_stops_one_step_early_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant believes every batch costs nine tenths of what it does."""
    honest = least

    def cheaper(parts: object, delta: Fraction) -> object:
        found = honest(parts, delta * 10)  # type: ignore[arg-type]  # the mutant takes what least takes
        return found

    monkeypatch.setattr(calibrate, "least", cheaper)
    found = batch(MIXED, TARGET)
    assert epsilon_at(MIXED, found.factor) > TARGET.epsilon
