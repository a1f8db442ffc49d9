"""Discrete Gaussian mechanism: integers plus noise P(Z = k) proportional to exp(-k^2 / (2 variance)).

Statement. (a) For integer f with squared L2 sensitivity D2, f + Z with independent noise in every coordinate is
(D2 / (2 variance))-zCDP. (b) For one integer of sensitivity D it is (eps, delta)-DP with
delta = P(Z > eps variance / D - D / 2) - e^eps P(Z > eps variance / D + D / 2).

Source. Canonne, Kamath and Steinke 2020, Theorems 4 and 7. 003 and 002 use the continuous Gaussian.

Proof. (a) For integers m, sum_k exp(-(k - m)^2 / 2v) <= sum_k exp(-k^2 / 2v) by Poisson summation, which gives
E[exp((alpha - 1) loss)] <= exp(alpha (alpha - 1) m^2 / 2v) in every coordinate; coordinates multiply.
(b) For a shift m, delta = sum_k max(0, P(k) - e^eps P(k - m)), and the summand is positive exactly where
ln P(k) / P(k - m) = (m^2 - 2 k m) / 2v > eps, a half line; by symmetry this is the statement with D = m. The largest
over m = 1..D is taken, so no claim about which shift is worst is needed. (c) The pair: a shift of one integer by D is
the worst (docs/proofs/pairs.md); an integer vector of squared sensitivity 1 moves in one coordinate, by 1.

Deviations. The exact calibration of Balle and Wang is for the continuous Gaussian and is not used here. The sum in
(b) is evaluated with certified rational bounds and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.gaussian import discrete_gaussian, one_discrete_gaussian
from reticent.exact.rounding import exp_bounds, exp_down, round_up
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import ZCDP, ApproxDP
from reticent.privacy.numbers import integers, positive, show, stored
from reticent.privacy.pairs import DiscreteGaussianShift
from reticent.privacy.sensitivity import L1, L2

THEOREM: Final = Theorem(
    "gaussian",
    "integers plus discrete Gaussian noise: squared sensitivity / (2 variance) in rho",
    "Canonne, Kamath and Steinke 2020, Theorem 4",
)
SCALAR: Final = Theorem(
    "gaussian_scalar",
    "one integer plus discrete Gaussian noise: delta(epsilon) by the exact sum",
    "Canonne, Kamath and Steinke 2020, Theorem 7",
)
WIDEST_SUM: Final = 64
WORK: Final = 256  # bits of the fixed point in which the sum is taken
LEAST_VARIANCE: Final = Fraction(1, 1024)
LARGEST_EPSILON: Final = 1000
WIDE: Final = 1 << 16  # a variance from which on one step of a half-width is below 1 in 500 of it
LARGEST_VARIANCE: Final = 1 << 22  # the exact sum has about 30 sqrt(variance) terms


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Protects a vector of integers of squared L2 sensitivity ``sensitivity`` at ``rho`` > 0."""

    sensitivity: L2
    rho: Fraction

    def __post_init__(self) -> None:
        positive(self.rho, "rho")

    @property
    def variance(self) -> Fraction:
        return self.sensitivity.squared / (2 * self.rho)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            ZCDP(self.rho),
            self.sensitivity.adjacency,
            THEOREM,
            pair=DiscreteGaussianShift(self.variance, 1) if self.sensitivity.squared == 1 else None,
            squared_sensitivity=show(self.sensitivity.squared),
            variance=show(self.variance),
        )

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        values = integers(exact, "the answers")
        noise = discrete_gaussian(self.variance, len(values), entropy)
        return tuple(value + int(drawn) for value, drawn in zip(values, noise, strict=True))

    def radius(self, beta: float) -> int:
        """Least integer z with P(abs(Z) > z) <= ``beta``; for a wide law at most 1 more, by Proposition 25."""
        return gaussian_radius(self.variance, beta)


@dataclass(frozen=True, slots=True)
class ScalarGaussian:
    """Protects one integer of sensitivity ``sensitivity`` with noise of ``variance``; delta follows from epsilon."""

    sensitivity: L1
    variance: Fraction
    epsilon: Fraction

    def __post_init__(self) -> None:
        positive(self.variance, "variance")
        positive(self.epsilon, "epsilon")
        if self.sensitivity.bound.denominator != 1:
            raise PublicParameterError("the sensitivity of an integer is an integer")
        if self.sensitivity.bound > WIDEST_SUM or not LEAST_VARIANCE <= self.variance <= LARGEST_VARIANCE:
            raise PublicParameterError(
                f"the exact sum is for sensitivity <= {WIDEST_SUM} and variance from {show(LEAST_VARIANCE)} to "
                f"{LARGEST_VARIANCE}; use rho beyond"
            )
        if self.epsilon > LARGEST_EPSILON:
            raise PublicParameterError(f"epsilon must be <= {LARGEST_EPSILON}, got {show(self.epsilon)}")

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            scalar_loss(self.sensitivity.bound, self.variance, self.epsilon),
            self.sensitivity.adjacency,
            SCALAR,
            pair=DiscreteGaussianShift(self.variance, int(self.sensitivity.bound)),
            epsilon=show(self.epsilon),
            sensitivity=show(self.sensitivity.bound),
            variance=show(self.variance),
        )

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        (value,) = integers(exact, "the answer")
        return (value + one_discrete_gaussian(self.variance, entropy),)


def gaussian_radius(variance: Fraction, beta: float) -> int:
    """Least integer z with P(abs(Z) > z) <= ``beta`` for discrete Gaussian noise of this variance.

    Above ``WIDE`` it is that of P(abs(N) >= z), which Canonne, Kamath and Steinke 2020, Proposition 25, show to be no
    smaller: at most 1 more.
    """
    if variance > WIDE:
        return math.ceil(math.sqrt(float(variance)) * NormalDist().inv_cdf(1 - beta / 2))
    weights = [math.exp(-k * k / (2 * float(variance))) for k in range(math.isqrt(int(80 * variance)) + 20)]
    allowed, beyond = beta * (2 * math.fsum(weights) - weights[0]), 0.0
    for z in range(len(weights) - 1, 0, -1):
        beyond += 2 * weights[z]  # of P(abs(Z) > z - 1)
        if beyond > allowed:
            return z
    return 0


def scalar_loss(sensitivity: Fraction, variance: Fraction, epsilon: Fraction) -> ApproxDP:
    """(epsilon, delta) with delta the largest over shifts 1..sensitivity, a certified upper bound to 12 digits.

    Parameters
    ----------
    sensitivity : Fraction
        Of the integer.
    variance : Fraction
        Parameter of the discrete Gaussian law.
    epsilon : Fraction

    Returns
    -------
    ApproxDP
    """
    delta = max(_delta(shift, variance, epsilon) for shift in range(1, int(sensitivity) + 1))
    return ApproxDP(epsilon, round_up(delta))


def least_variance(sensitivity: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least variance, to 1 in 10^6 and rounded up, that keeps one integer (epsilon, delta)-DP.

    Parameters
    ----------
    sensitivity : int
    epsilon, delta : Fraction

    Returns
    -------
    Fraction

    Raises
    ------
    PublicParameterError
        A delta that no variance reaches.
    """
    high = Fraction(1)
    while scalar_loss(Fraction(sensitivity), high, epsilon).delta > delta:
        high *= 2
        if high > LARGEST_VARIANCE:
            raise PublicParameterError("no variance the exact sum covers reaches this delta; use rho")
    low = high / 2 if high > 1 else Fraction(1, 1024)
    while high - low > high / 10**6:
        middle = (low + high) / 2
        middle = Fraction(round(middle * 2**24), 2**24)
        if middle in (low, high):
            break
        low, high = (
            (middle, high) if scalar_loss(Fraction(sensitivity), middle, epsilon).delta > delta else (low, middle)
        )
    return high


def _delta(shift: int, variance: Fraction, epsilon: Fraction) -> Fraction:
    """Certified upper bound of P(Z > a) - e^eps P(Z > b), a = eps v / m - m / 2, b = a + m."""
    start = epsilon * variance / shift - Fraction(shift, 2)
    near, far = _tail(start, variance), _tail(start + shift, variance)
    return max(Fraction(0), near[1] - exp_down(epsilon) * far[0])


def _tail(start: Fraction, variance: Fraction) -> tuple[Fraction, Fraction]:
    """Certified bounds of P(Z > start)."""
    low, high = _weights(variance)
    reach = len(low) - 1
    rest = 2  # the weights beyond reach sum to less than one unit of the fixed point: exp(-reach^2 / 2v) < e^-200
    low_all, high_all = 2 * sum(low) - low[0], 2 * sum(high) - high[0] + rest
    first = start.__floor__() + 1
    if first > reach:
        return Fraction(0), Fraction(rest, low_all)
    if first <= 0:
        # P(Z > start) = 1 - P(Z >= -floor(start)), by symmetry: the sums stay one-sided.
        tail_low, tail_high = _tail(Fraction(-first), variance)
        return 1 - tail_high, 1 - tail_low
    return Fraction(sum(low[first:]), high_all), Fraction(sum(high[first:]) + rest, low_all)


@lru_cache(maxsize=64)
def _weights(variance: Fraction) -> tuple[list[int], list[int]]:
    """Bounds of 2^256 exp(-k^2 / 2v), k = 0.., by the ratio recurrence w_{k+1} = w_k r_k, r_{k+1} = r_k e^{-1/v}."""
    reach = math.isqrt(int(variance * 400)) + 20  # exp(-reach^2 / 2v) <= e^-200 < 2^-256 x (terms beyond)
    low_step, high_step = exp_bounds(-1 / (2 * variance), WORK + 64)
    ratio_low, ratio_high = _floor(low_step), _floor(high_step) + 1
    growth_low, growth_high = _floor(low_step * low_step), _floor(high_step * high_step) + 1
    low, high = [1 << WORK], [1 << WORK]
    for _ in range(reach):
        low.append(low[-1] * ratio_low >> WORK)
        high.append((high[-1] * ratio_high >> WORK) + 1)
        ratio_low = ratio_low * growth_low >> WORK
        ratio_high = (ratio_high * growth_high >> WORK) + 1
    return low, high


def _floor(x: Fraction) -> int:
    return (x.numerator << WORK) // x.denominator


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored zCDP leaf, stated again."""
    squared = stored(parameters, "squared_sensitivity")
    return Gaussian(L2(squared, neighbours), squared / (2 * stored(parameters, "variance"))).guarantee


def again_scalar(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored scalar leaf, stated again."""
    moved = L1(stored(parameters, "sensitivity"), neighbours)
    return ScalarGaussian(moved, stored(parameters, "variance"), stored(parameters, "epsilon")).guarantee


def mass(variance: float, centre: int, output: int) -> float:
    """P(centre + Z = output).

    Parameters
    ----------
    variance : float
        Parameter of the discrete Gaussian law.
    centre, output : int

    Returns
    -------
    float
    """
    reach = int(12 * math.sqrt(variance)) + 12
    total = sum(math.exp(-k * k / (2 * variance)) for k in range(-reach, reach + 1))
    return math.exp(-((output - centre) ** 2) / (2 * variance)) / total


def _specimens() -> tuple[Specimen[Sequence[int], tuple[int, ...]], ...]:
    neighbours = Adjacency("add_remove")
    in_rho = Gaussian(L2(Fraction(1), neighbours), Fraction(1, 8))
    scalar = ScalarGaussian(L1(Fraction(1), neighbours), Fraction(9), Fraction(1, 2))
    return (
        Specimen("gaussian, rho 1/8", in_rho, (5,), (6,), lambda x, y: mass(float(in_rho.variance), x[0], y[0])),
        Specimen("gaussian, variance 9", scalar, (5,), (6,), lambda x, y: mass(9.0, x[0], y[0])),
    )


AXIOMS: Final[Axioms] = ((THEOREM, again), (SCALAR, again_scalar))
SPECIMENS: Final = _specimens()
