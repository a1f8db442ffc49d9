"""Numbers of a loss: delta at an epsilon, epsilon at a delta, rho, Renyi divergences, the power of tests.

    delta(loss, epsilon)      the least delta proved for it: max over S of P(S | D) - e^epsilon P(S | D')
    epsilon(loss, delta)      the least epsilon >= 0 proved for a delta
    rho(loss)                 the zCDP it implies
    renyi(loss, alpha)        a bound of D_alpha(D || D')
    trade_off(loss, alpha)    what the type II error of a test of D against D' with type I error alpha cannot go below
    power(loss, alpha)        1 - trade_off: what the power of such a test cannot exceed

All numbers are Fractions. What is irrational is rounded to 12 digits towards more loss, that is up, but a trade-off
down, from certified bounds. A theorem may hold for every member of a family (Renyi orders, epsilons). The member is
searched in floats or on a grid, and the bound at the one found is certified.

Sources. Kairouz, Oh and Viswanath 2017 (pure, approximate). Canonne, Kamath and Steinke 2020, Proposition 12, and
Pinsker's inequality (zCDP, Renyi). Bun and Steinke 2016, Section 8 (approximate zCDP). Balle and Wang 2018, Theorem 8,
and Dong, Roth and Su 2022, Corollary 1 (Gaussian). Wasserman and Zhou 2010, Theorem 2.4 (trade-off). Proofs:
docs/proofs/conversions.md. The numbers of a product of pairs come from ``pld``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, assert_never

from reticent.errors import PublicParameterError
from reticent.exact.normal import (
    FARTHEST,
    normal_quantile_bounds,
    normal_tail_bounds,
    shift_excess_bounds,
    shift_excess_inverse,
)
from reticent.exact.rounding import (
    BITS,
    exp_up,
    log_down,
    log_up,
    round_down,
    round_up,
    sqrt_up,
)
from reticent.privacy import pairs
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, known, words
from reticent.privacy.numbers import about, exact, show
from reticent.privacy.rdp import coin, renyi_of, shrunk, size

LEAST: Final = Fraction(1, 10**300)  # below it a type I error counts as this, and a Gaussian loss as its zCDP
SCANNED: Final = 16  # epsilons of the first look for the best bound of a trade-off
REFINED: Final = 20  # and of the second, by golden section


# ---- delta at an epsilon


def delta(loss: Loss, epsilon: Fraction) -> Fraction:
    """The delta in [0, 1] that goes with ``epsilon`` >= 0, rounded up: nonincreasing in epsilon, 1 says nothing."""
    if exact(epsilon, "epsilon") < 0:
        raise PublicParameterError(f"epsilon must be >= 0, got {show(epsilon)}")
    match known(loss):
        case PureDP(largest):
            bound = _coin_delta(largest, epsilon)
        case ApproxDP(largest, failure):
            bound = failure + (1 - failure) * _coin_delta(largest, epsilon)
        case ZCDP(rho):
            bound = _zcdp_delta(rho, epsilon)
        case ApproxZCDP(rho, failure):
            bound = failure + (1 - failure) * _zcdp_delta(rho, epsilon)
        case Renyi(curve):
            bound = min(_order_delta(alpha, divergence, epsilon) for alpha, divergence in curve)
        case GaussianDP(mu_squared):
            bound = shift_excess_bounds(_root_up(mu_squared), epsilon)[1]
        case PLD(parts):
            from reticent.privacy import pld

            bound = pld.delta_of(parts, epsilon)
        case _:
            assert_never(loss)
    return min(Fraction(1), round_up(bound))


def _coin_delta(largest: Fraction, epsilon: Fraction) -> Fraction:
    """(e^largest - e^epsilon) / (1 + e^largest), at or above; 0 from ``largest`` on."""
    gap = largest - epsilon
    if gap <= 0:
        return Fraction(0)
    bits = BITS + size(1 / gap)
    return (1 - shrunk(gap, bits)[0]) / (1 + shrunk(largest, bits)[0])


def _zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    if rho == 0:
        return Fraction(0)
    slope, height = float(rho), float(epsilon)
    alpha = _order(lambda x: (1 + 2 * x) * slope - math.log1p(1 / x) - height)
    return min(_order_delta(alpha, alpha * rho, epsilon), _distance_up(rho))


def _order_delta(alpha: Fraction, divergence: Fraction, epsilon: Fraction) -> Fraction:
    """e^{(alpha - 1)(D - epsilon)} (1 - 1/alpha)^alpha / (alpha - 1), or sqrt(D / 2) if that is less; at or above."""
    if divergence == 0:
        return Fraction(0)
    bits = BITS + size(alpha)
    exponent = (alpha - 1) * (divergence - epsilon) + alpha * log_up(1 - 1 / alpha, bits) - log_down(alpha - 1, bits)
    return min(_distance_up(divergence), shrunk(-exponent)[1] if exponent < 0 else Fraction(1))


def _distance_up(divergence: Fraction) -> Fraction:
    """sqrt(D / 2), at or above: Pinsker, since D_1 <= D_alpha; it bounds delta at epsilon 0, so at every epsilon."""
    return sqrt_up(divergence / 2, BITS + size(1 / divergence))


# ---- epsilon at a delta


def epsilon(loss: Loss, delta: Fraction) -> Fraction:
    """The least epsilon >= 0 proved for ``delta`` in [0, 1), rounded up: nonincreasing in delta.

    Raises
    ------
    PublicParameterError
        Where there is none: zCDP, Renyi and Gaussian losses at delta 0, a loss with a delta of its own below that.
    """
    if not 0 <= exact(delta, "delta") < 1:
        raise PublicParameterError(f"delta must lie in [0, 1), got {show(delta)}")
    match known(loss):
        case PureDP(largest):
            return _coin_epsilon(largest, delta)
        case ApproxDP(largest, failure):
            return _coin_epsilon(largest, _rest(loss, failure, delta))
        case ZCDP(rho):
            return _zcdp_epsilon(loss, rho, delta)
        case ApproxZCDP(rho, failure):
            return _zcdp_epsilon(loss, rho, _rest(loss, failure, delta))
        case Renyi(curve):
            return min(_order_epsilon(loss, alpha, divergence, delta) for alpha, divergence in curve)
        case GaussianDP(mu_squared):
            return _gaussian_epsilon(loss, mu_squared, delta)
        case PLD(parts):
            from reticent.privacy import pld

            return pld.epsilon_of(parts, delta)
        case _:
            assert_never(loss)


def _rest(loss: Loss, failure: Fraction, delta: Fraction) -> Fraction:
    """Delta that remains of a total ``delta`` after an event of probability ``failure``.

    It solves delta = failure + (1 - failure) rest.
    """
    if delta < failure:
        raise PublicParameterError(f"{words(loss)} has no ε at a δ below its own, got {about(delta)}")
    return (delta - failure) / (1 - failure)


def _coin_epsilon(largest: Fraction, delta: Fraction) -> Fraction:
    """largest + ln(1 - delta - delta e^-largest), or 0: where (e^largest - e^x) / (1 + e^largest) is delta."""
    if delta == 0:
        return largest
    kept = 1 - delta - delta * shrunk(largest)[0]
    bound = largest + log_up(kept) if kept > 0 else Fraction(0)
    return min(largest, round_up(bound)) if bound > 0 else Fraction(0)


def _zcdp_epsilon(loss: Loss, rho: Fraction, delta: Fraction) -> Fraction:
    if rho == 0:
        return Fraction(0)
    _above_zero(loss, delta)
    slope, height = float(rho), float(log_up(1 / delta))
    alpha = _order(lambda x: slope * x * x + math.log1p(x) - height)
    if 2 * delta**2 >= rho:
        return Fraction(0)
    return _order_epsilon(loss, alpha, alpha * rho, delta)


def _order_epsilon(loss: Loss, alpha: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """D + ln(1 - 1/alpha) - (ln delta + ln alpha) / (alpha - 1), rounded up; 0 where delta >= sqrt(D / 2)."""
    if divergence == 0:
        return Fraction(0)
    _above_zero(loss, delta)
    if 2 * delta**2 >= divergence:
        return Fraction(0)
    bits = BITS + size(alpha) + size(1 / (alpha - 1))
    bound = divergence + log_up(1 - 1 / alpha, bits)
    bound -= (log_down(delta, bits) + log_down(alpha, bits)) / (alpha - 1)
    return round_up(max(bound, Fraction(0)))


def _gaussian_epsilon(loss: Loss, mu_squared: Fraction, delta: Fraction) -> Fraction:
    if mu_squared == 0:
        return Fraction(0)
    _above_zero(loss, delta)
    if delta < LEAST:
        return _zcdp_epsilon(loss, mu_squared / 2, delta)
    return round_up(shift_excess_inverse(_root_up(mu_squared), delta))


# ---- rho


def rho(loss: Loss) -> Fraction:
    """The rho of the zCDP a loss implies, exactly.

    Raises
    ------
    PublicParameterError
        Where no rho is proved: for delta > 0, and for a Renyi curve, which is silent between and beyond its orders. For
        products with a sampled pair or a coin of delta > 0.
    """
    match _plain(known(loss)):
        case PureDP(epsilon):
            return epsilon**2 / 2  # Bun and Steinke 2016, Proposition 1.4
        case ZCDP(rho):
            return rho
        case GaussianDP(mu_squared):
            return mu_squared / 2
        case PLD(parts):
            return sum((times * _pair_rho(pair) for pair, times in parts), Fraction(0))
        case ApproxDP() | ApproxZCDP():
            raise PublicParameterError(f"{words(loss)} has no ρ: zCDP leaves no room for δ > 0")
        case Renyi():
            raise PublicParameterError(f"{words(loss)} has no ρ: nothing is known beyond its listed orders")
        case _:
            assert_never(loss)


def _pair_rho(pair: pairs.Pair) -> Fraction:
    match pair:
        case pairs.Coin(epsilon, failure) if failure == 0:
            return epsilon**2 / 2
        case pairs.Coin():
            raise PublicParameterError(f"{pairs.words(pair)} has no ρ: zCDP leaves no room for δ > 0")
        case pairs.Range(epsilon):
            return epsilon**2 / 2  # of the pair; for the mechanism a quarter of it: docs/proofs/conversions.md
        case pairs.GeometricShift(scale, shift):
            return (shift / scale) ** 2 / 2
        case pairs.Highest():
            return pair.most**2 / 2
        case pairs.LaplaceShift(epsilon):
            return epsilon**2 / 2
        case pairs.GaussianShift(mu_squared):
            return mu_squared / 2
        case pairs.DiscreteGaussianShift(variance, shift):
            return shift * shift / (2 * variance)  # Canonne, Kamath and Steinke 2020, Theorem 4
        case pairs.SampledPair():
            raise PublicParameterError(f"{pairs.words(pair)} has no ρ of its own: sampling helps at small orders only")
        case _:
            assert_never(pair)


# ---- Renyi divergence


def renyi(loss: Loss, alpha: Fraction) -> Fraction:
    """A bound of D_alpha(D || D') for all neighbours, ``alpha`` > 1; exact where it is rational, else rounded up.

    A Renyi curve is asked at a listed order, or answers by the least divergence listed at or above it: D_alpha is
    nondecreasing in alpha (van Erven and Harremoes 2014, Theorem 3).

    Raises
    ------
    PublicParameterError
        For delta > 0, where no divergence is finite, and beyond the last order of a Renyi curve.
    """
    if exact(alpha, "alpha") <= 1:
        raise PublicParameterError(f"a Rényi order must be > 1, got {show(alpha)}")
    match _plain(known(loss)):
        case PureDP(epsilon):
            return round_up(coin(epsilon, alpha))
        case ZCDP(rho):
            return alpha * rho
        case Renyi(curve):
            at_or_above = [divergence for order, divergence in curve if order >= alpha]
            if not at_or_above:
                raise PublicParameterError(f"{words(loss)} lists no order as large as {about(alpha)}")
            return min(at_or_above)
        case GaussianDP(mu_squared):
            return alpha * mu_squared / 2
        case PLD(parts):
            return round_up(sum((times * renyi_of(pair, alpha) for pair, times in parts), Fraction(0)))
        case ApproxDP() | ApproxZCDP():
            raise PublicParameterError(f"{words(loss)} bounds no Rényi divergence: δ > 0 may hide an infinite one")
        case _:
            assert_never(loss)


# ---- tests of D against D'


def trade_off(loss: Loss, alpha: Fraction) -> Fraction:
    """Least type II error of any test of D against D' with type I error ``alpha`` in [0, 1], rounded down.

    Every (epsilon, delta) of the loss gives max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)): one
    pair says it all for pure and approximate losses; else the best of those searched is given, which is a bound
    whatever the search. For a Gaussian loss, Phi(Phi^-1(1 - alpha) - mu).
    """
    if not 0 <= exact(alpha, "alpha") <= 1:
        raise PublicParameterError(f"a type I error must lie in [0, 1], got {show(alpha)}")
    match known(loss):
        case PureDP(epsilon):
            bound = _line(epsilon, Fraction(0), alpha)
        case ApproxDP(epsilon, failure):
            bound = _line(epsilon, failure, alpha)
        case GaussianDP(mu_squared):
            bound = _gaussian_trade_off(mu_squared, alpha)
        case ZCDP() | Renyi() if alpha == 0:
            bound = Fraction(1)  # finite divergences: what one neighbour cannot give, the other cannot
        case ApproxZCDP(_, failure) if alpha == 0:
            bound = 1 - failure
        case ZCDP() | ApproxZCDP() | Renyi() | PLD():
            bound = _searched(loss, alpha)
        case _:
            assert_never(loss)
    return round_down(bound)


def power(loss: Loss, alpha: Fraction) -> Fraction:
    """Greatest power of any test of D against D' with type I error ``alpha`` in [0, 1], rounded up.

    For an approximate loss min(1, e^epsilon alpha + delta, 1 - e^-epsilon (1 - delta - alpha)): at level .05 that is
    .136 for epsilon 1 and .953 for epsilon 3, so that the promise of no useful test is one of small epsilons only.
    """
    return 1 - trade_off(loss, alpha)


def _line(epsilon: Fraction, delta: Fraction, alpha: Fraction) -> Fraction:
    """max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)), at or below."""
    if epsilon > FARTHEST:
        return 1 - delta if alpha == 0 else Fraction(0)
    factor = exp_up(epsilon)
    return max(Fraction(0), 1 - delta - factor * alpha, (1 - delta - alpha) / factor)


def _gaussian_trade_off(mu_squared: Fraction, alpha: Fraction) -> Fraction:
    if mu_squared == 0 or alpha in (0, 1):
        return 1 - alpha
    alpha = max(alpha, LEAST)
    if 1 - alpha < LEAST:
        return Fraction(0)
    threshold = normal_quantile_bounds(alpha)[0]  # at or below Phi^-1(1 - alpha): a larger type I error
    return normal_tail_bounds(_root_up(mu_squared) - threshold)[0]


def _searched(loss: Loss, alpha: Fraction) -> Fraction:
    """The best line on a grid of epsilons, then by golden section beside it; there may be several peaks."""
    if alpha == 1:
        return Fraction(0)
    alpha = max(alpha, LEAST)
    known: dict[Fraction, Fraction] = {}

    def at(epsilon: Fraction) -> Fraction:
        if epsilon not in known:
            known[epsilon] = _line(epsilon, delta(loss, epsilon), alpha)
        return known[epsilon]

    step = _widest(loss, alpha) / SCANNED
    best = max(range(SCANNED + 1), key=lambda i: at(i * step))
    low, high = max(0, best - 1) * step, (best + 1) * step
    for _ in range(REFINED):
        left, right = (round_up(low + (high - low) * Fraction(part, 1000), 9) for part in (382, 618))
        low, high = (low, right) if at(left) > at(right) else (left, high)
    return max(known.values())


def _widest(loss: Loss, alpha: Fraction) -> Fraction:
    """An epsilon beyond which no line is better: e^epsilon alpha >= 1, and delta at most half of 1 - alpha before."""
    steep = log_up(1 / alpha)
    flat = Fraction(1, 2)
    while flat < FARTHEST and delta(loss, flat) > (1 - alpha) / 2:
        flat *= 2
    return round_up(max(min(steep, FARTHEST), flat + 1), 9)


# ---- numbers


def _plain(loss: Loss) -> Loss:
    """The same loss without a delta that is 0."""
    match loss:
        case ApproxDP(epsilon, failure) if failure == 0:
            return PureDP(epsilon)
        case ApproxZCDP(rho, failure) if failure == 0:
            return ZCDP(rho)
        case _:
            return loss


def _order(rising: Callable[[float], float]) -> Fraction:
    """alpha = 1 + x where ``rising`` crosses 0, in floats: any order gives a true bound."""
    low, high = -690.0, 690.0
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(math.exp(middle)) > 0 else (middle, high)
    return 1 + Fraction(math.exp(low))


def _root_up(x: Fraction) -> Fraction:
    """The root of x >= 0, at or above, to about 2^-100 of itself and with a short denominator."""
    return sqrt_up(x, 100 + size(1 / x) // 2) if x else x


def _above_zero(loss: Loss, delta: Fraction) -> None:
    if delta == 0:
        raise PublicParameterError(f"{words(loss)} has no finite ε at δ 0")
