"""The Rényi divergence of one pair, in rationals: closed forms, and the binomial sum of a sample.

Source: Mironov 2017 (randomized response, Laplace, Gaussian); Canonne, Kamath and Steinke 2020, Theorem 4 (discrete
Gaussian); Mironov, Talwar and Zhang 2019, section 3.3 (a sample, at whole orders).

That P against Q is the larger direction of a sample, and the step between whole orders: docs/proofs/pairs.md.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, log
from typing import Final, assert_never

from reticent.errors import PublicParameterError
from reticent.exact.normal import FARTHEST
from reticent.exact.rounding import BITS, exp_down, exp_up, log_down, log_up, round_up
from reticent.privacy.numbers import exact, show
from reticent.privacy.pairs import (
    Coin,
    DiscreteGaussianShift,
    GaussianShift,
    GeometricShift,
    Highest,
    LaplaceShift,
    Pair,
    Range,
    SampledPair,
    Symmetric,
)

MOST_ORDER: Final = 256  # of the divergence of a sample
DEEP: Final = Fraction(-300)


def renyi_of(pair: Pair, alpha: Fraction) -> Fraction:
    """At or above the Rényi divergence of order ``alpha`` > 1, the larger of both directions; 12 digits.

    Raises
    ------
    PublicParameterError
        For an infinite divergence: a coin with delta > 0, sampled or not.
    """
    if exact(alpha, "alpha") <= 1:
        raise PublicParameterError(f"alpha must be > 1, got {show(alpha)}")
    if not isinstance(pair, SampledPair):
        return round_up(_renyi(pair, alpha))
    if alpha > MOST_ORDER:
        raise PublicParameterError(f"the order of a sample is at most {MOST_ORDER}, got {show(alpha)}")
    below = alpha.__floor__()
    low = _sampled_log(pair, below) if below > 1 else Fraction(0)
    if alpha.denominator == 1:
        return round_up(low / (alpha - 1))
    between = low + (alpha - below) * (_sampled_log(pair, below + 1) - low)  # ln E L^alpha is convex in alpha
    return round_up(between / (alpha - 1))


def _renyi(pair: Symmetric, alpha: Fraction) -> Fraction:
    match pair:
        case GaussianShift(mu_squared):
            return alpha * mu_squared / 2
        case DiscreteGaussianShift(variance, shift):
            return alpha * shift * shift / (2 * variance)
        case Coin(epsilon, delta):
            if delta:
                raise PublicParameterError("a coin with delta > 0 has no finite Rényi divergence")
            return coin(epsilon, alpha)
        case Highest():
            return coin(pair.most, alpha)  # at or above: the branches themselves are asked by ``in_renyi``
        case LaplaceShift(epsilon):
            shrink = _exp_up((1 - 2 * alpha) * epsilon)
            return epsilon + log_up((alpha + (alpha - 1) * shrink) / (2 * alpha - 1)) / (alpha - 1)
        case Range(epsilon):
            shrink = _exp_down((1 - 2 * alpha) * epsilon)
            whole = (2 * alpha - 1) * (1 - _exp_up(-epsilon))
            return epsilon + log_up((1 - shrink) / whole) / (alpha - 1)
        case GeometricShift(scale, shift):
            # (ends + (1 - r) (t + ... + t^(shift - 1))) / (1 + r), r = e^{-1/scale}, t = e^{-(2 alpha - 1)/scale}
            step = (1 - 2 * alpha) / scale
            ends = 1 + _exp_up(step * shift)
            inner = _exp_up(step) * (1 - _exp_down(step * (shift - 1))) / (1 - _exp_up(step))
            low = _exp_down(-1 / scale)
            return shift / scale + log_up((ends + (1 - low) * inner) / (1 + low)) / (alpha - 1)
        case _:
            assert_never(pair)


def _sampled_log(pair: SampledPair, order: int) -> Fraction:
    """At or above ln E_Q (1 - q + q P/Q)^order: the binomial sum of E_Q (P/Q)^k = e^{(k - 1) D_k}."""
    rate, kept = pair.rate, 1 - pair.rate
    exponents = [Fraction(0), Fraction(0), *((k - 1) * _renyi(pair.pair, Fraction(k)) for k in range(2, order + 1))]
    sizes = [log(comb(order, k)) + k * log(rate) + (order - k) * log(kept) + float(e) for k, e in enumerate(exponents)]
    largest = max(sizes)
    top = round_up(exponents[sizes.index(largest)]) if largest > 0 else Fraction(0)
    whole = Fraction(0)
    for k, exponent in enumerate(exponents):
        if sizes[k] < largest - 150:
            whole += Fraction(1, 1 << 192)  # e^-150 < 2^-216, with room for the rounding of ``sizes``
        else:
            whole += comb(order, k) * rate**k * kept ** (order - k) * exp_up(exponent - top)
    return top + log_up(whole)


def _exp_up(x: Fraction) -> Fraction:
    """At or above e^x for x <= 0, without endless digits."""
    return exp_up(max(x, DEEP))


def _exp_down(x: Fraction) -> Fraction:
    return exp_down(x) if x >= DEEP else Fraction(0)


def coin(epsilon: Fraction, alpha: Fraction) -> Fraction:
    """D_alpha of a coin without delta, the worst of all pure losses: at or above, to about 2^-100.

    epsilon + (ln(1 + e^{-(2 alpha - 1) eps}) - ln(1 + e^-eps)) / (alpha - 1), at most eps and alpha eps^2 / 2.
    """
    if epsilon == 0:
        return Fraction(0)
    bits = BITS + 2 * size(1 / epsilon) + size(1 / (alpha - 1))
    top = log_up(1 + shrunk((2 * alpha - 1) * epsilon, bits)[1], bits)
    bound = epsilon + (top - log_down(1 + shrunk(epsilon, bits)[0], bits)) / (alpha - 1)
    return min(bound, epsilon, alpha * epsilon**2 / 2)


def shrunk(x: Fraction, bits: int = BITS) -> tuple[Fraction, Fraction]:
    """Bounds of e^-x for x >= 0; nothing below e^-FARTHEST is told from it."""
    if x > FARTHEST:
        return Fraction(0), exp_up(-FARTHEST)
    return exp_down(-x, bits), exp_up(-x, bits)


def size(x: Fraction) -> int:
    """At least log2 x, and at least 0."""
    return max(0, x.numerator.bit_length() - x.denominator.bit_length() + 1)
