"""Laws of noise, and how far from the exact answer noise takes it: mean, variance, tail, usefulness.

    LaplaceLaw(scale)     density e^{-|z| / scale} / (2 scale)              P(|Z| > z) = e^{-z / scale}
    GeometricLaw(scale)   P(k) = (1 - a) / (1 + a) a^{|k|}, a = e^{-1/scale}  P(|Z| > z) = 2 a^{floor(z) + 1} / (1 + a)
    GaussianLaw(std)      density e^{-z^2 / (2 std^2)} / (std sqrt(2 pi))   P(|Z| > z) = erfc(z / (std sqrt 2))

Noise in d coordinates, drawn independently, is (lambda, beta)-useful when P(some |Z_i| > lambda) <= beta, which is
1 - (1 - P(|Z| > lambda))^d <= beta: an equality, where the union bound d P(|Z| > lambda) is not.

Source. 004 Definition 2.1, Theorems 2.4, 2.5, 2.7 and 2.8, proved in docs/proofs/usefulness.md.

Deviations. 004 calls the chance of failure delta; it has nothing to do with the delta of a guarantee and is called
beta here. 004 Theorem 2.8 is false where its bound is not an integer (``counter_example``); ``useful`` gives the
least integer instead. The Laplace and Gaussian laws are the continuous ones of the textbooks: what a mechanism
releases has their discrete counterparts, so for a released count ask ``GeometricLaw``.

Numbers are rationals. What is irrational is rounded to 12 digits towards a larger error: tails and half-widths up.
No chance below e^-1000 is told from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, assert_never

from reticent.errors import PublicParameterError
from reticent.exact.normal import normal_tail_bounds
from reticent.exact.rounding import (
    BITS,
    exp_bounds,
    exp_down,
    exp_up,
    log_down,
    log_up,
    round_up,
    sqrt_up,
)
from reticent.privacy.numbers import exact, positive, show

FARTHEST: Final = Fraction(1000)  # no chance below e^-1000 is told from it
HALVINGS: Final = 48  # of the interval that holds a Gaussian half-width: finer than the 12 digits it is rounded to


@dataclass(frozen=True, slots=True)
class LaplaceLaw:
    """Continuous Laplace noise; ``scale`` > 0 in units of the answer."""

    scale: Fraction

    def __post_init__(self) -> None:
        positive(self.scale, "scale")

    @property
    def mean(self) -> Fraction:
        return Fraction(0)

    @property
    def variance(self) -> Fraction:
        """2 scale^2 (004 Theorem 2.4)."""
        return 2 * self.scale**2

    def tail(self, z: Fraction) -> Fraction:
        """P(|Z| > z) for z >= 0."""
        return round_up(_shrunk_up(_distance(z) / self.scale))


@dataclass(frozen=True, slots=True)
class GeometricLaw:
    """Two-sided geometric (discrete Laplace) noise on the integers; ``scale`` > 0, 004's alpha is e^{1/scale}."""

    scale: Fraction

    def __post_init__(self) -> None:
        positive(self.scale, "scale")

    @property
    def mean(self) -> Fraction:
        return Fraction(0)

    @property
    def variance(self) -> Fraction:
        """2 alpha / (1 - alpha)^2 = 2 / (alpha + 1/alpha - 2) (004 Theorem 2.7)."""
        bits = BITS + 2 * self.scale.__ceil__().bit_length()
        step = 1 / self.scale
        return round_up(2 / (exp_bounds(step, bits)[0] + exp_bounds(-step, bits)[0] - 2))

    def tail(self, z: Fraction) -> Fraction:
        """P(|Z| > z) for z >= 0, an integer or not."""
        above = _distance(z).__floor__() + 1
        return round_up(2 * _shrunk_up(above / self.scale) / (1 + exp_down(-min(1 / self.scale, FARTHEST))))


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """Continuous Gaussian noise; ``std`` > 0 in units of the answer."""

    std: Fraction

    def __post_init__(self) -> None:
        positive(self.std, "std")

    @property
    def mean(self) -> Fraction:
        return Fraction(0)

    @property
    def variance(self) -> Fraction:
        return self.std**2

    def tail(self, z: Fraction) -> Fraction:
        """P(|Z| > z) for z >= 0."""
        return round_up(_normal_tail_up(_distance(z) / self.std))


Law: TypeAlias = LaplaceLaw | GeometricLaw | GaussianLaw


def useful(law: Law, beta: Fraction, dimension: int = 1) -> Fraction:
    """The least half-width that the noise of ``dimension`` independent coordinates stays within, but for ``beta``.

    Parameters
    ----------
    law : LaplaceLaw, GeometricLaw or GaussianLaw
        Of each coordinate.
    beta : Fraction
        In (0, 1): the chance that some coordinate is further off. Not the delta of a guarantee.
    dimension : int
        At least 1.

    Returns
    -------
    Fraction
        In units of the answer; an integer for geometric noise, else rounded up to 12 digits.
    """
    each = _each(beta, dimension)
    match law:
        case LaplaceLaw(scale):
            return round_up(scale * log_up(1 / each))
        case GeometricLaw(scale):
            # 2 a^{z + 1} / (1 + a) <= each, solved for z
            excess = log_up(2 / (1 + exp_down(-min(1 / scale, FARTHEST)))) - log_down(each)
            return Fraction(max(0, (scale * excess - 1).__ceil__()))
        case GaussianLaw(std):
            low, high = Fraction(0), round_up(sqrt_up(2 * log_up(1 / each)), 3)  # P(|Z| > z std) <= e^{-z^2 / 2}
            for _ in range(HALVINGS):
                middle = (low + high) / 2
                low, high = (low, middle) if _normal_tail_up(middle) <= each else (middle, high)
            return round_up(std * high)
        case _:
            assert_never(law)


def beta_of(law: Law, half_width: Fraction, dimension: int = 1) -> Fraction:
    """P(some of ``dimension`` independent coordinates is off by more than ``half_width`` >= 0), rounded up.

    Parameters
    ----------
    law : Law
        Of the noise of one coordinate.
    half_width : Fraction
        At least 0, in the unit of the answer.
    dimension : int
        Number of coordinates.

    Returns
    -------
    Fraction
        In [0, 1].
    """
    _whole(dimension)
    tail = law.tail(half_width)
    if dimension == 1 or tail >= 1:
        return min(tail, Fraction(1))
    bits = BITS + (1 / tail).__ceil__().bit_length()
    return min(Fraction(1), round_up(1 - exp_down(dimension * log_down(1 - tail, bits), bits)))


def printed_bound(sensitivity: Fraction, epsilon: Fraction, beta: Fraction, dimension: int = 1) -> Fraction:
    """(sensitivity / epsilon) ln(dimension / beta), rounded up: the half-width 004 prints in Theorems 2.5 and 2.8.

    It holds for Laplace noise. For geometric noise it holds where it is an integer, and may fail where it is not.

    Parameters
    ----------
    sensitivity, epsilon : Fraction
    beta : Fraction
        In (0, 1).
    dimension : int
        Number of coordinates.

    Returns
    -------
    Fraction
        In the unit of the answer.
    """
    _each(beta, dimension)
    scale = positive(sensitivity, "sensitivity") / positive(epsilon, "epsilon")
    return round_up(scale * log_up(dimension / beta))


@dataclass(frozen=True, slots=True)
class CounterExample:
    """Geometric noise for which 004 Theorem 2.8 promises more than it can: ``failure`` > ``beta``."""

    law: GeometricLaw
    beta: Fraction
    printed: Fraction
    failure: Fraction
    least: Fraction


def counter_example() -> CounterExample:
    """epsilon .9, sensitivity 1, one coordinate, beta = e^-2.61: the bound is 2.9, so outcomes 3, 4, ... must fail."""
    epsilon = Fraction(9, 10)
    law, beta = GeometricLaw(1 / epsilon), round_up(exp_up(Fraction(-261, 100)))
    printed = printed_bound(Fraction(1), epsilon, beta)
    return CounterExample(law, beta, printed, beta_of(law, printed), useful(law, beta))


def _each(beta: Fraction, dimension: int) -> Fraction:
    """At or below 1 - (1 - beta)^{1 / dimension}: what each coordinate may fail with."""
    if not 0 < exact(beta, "beta") < 1:
        raise PublicParameterError(f"beta must lie between 0 and 1, got {show(beta)}")
    if _whole(dimension) == 1:
        return beta
    bits = BITS + (dimension / beta).__ceil__().bit_length()
    return 1 - exp_up(log_up(1 - beta, bits) / dimension, bits)


def _whole(dimension: int) -> int:
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        raise PublicParameterError(f"dimension must be an integer >= 1, got {dimension}")
    return dimension


def _distance(z: Fraction) -> Fraction:
    if exact(z, "z") < 0:
        raise PublicParameterError(f"a distance is >= 0, got {show(z)}")
    return Fraction(z)


def _normal_tail_up(z: Fraction) -> Fraction:
    """At or above erfc(z / sqrt 2) = 2 P(N > z), z >= 0."""
    return min(Fraction(1), 2 * normal_tail_bounds(z)[1])


def _shrunk_up(x: Fraction) -> Fraction:
    """At or above e^-x."""
    return exp_up(-min(x, FARTHEST))
