"""Noise from targets: the least noise that keeps a loss, and the least loss that keeps an accuracy.

    batch(mechanisms, target)            mechanisms of one release, all their noise scaled by the least factor that fits
    geometric_within, gaussian_within    the least loss whose noise stays within a half-width, but for beta

A batch may hold mechanisms of different kinds and sizes; their proportions are the caller's, the factor is found. Every
guarantee is derived again at the factor found, so an error of the search can cost accuracy, never privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeAlias, assert_never

from reticent.errors import PublicParameterError
from reticent.exact.rounding import round_down, round_up
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.laplace import Laplace
from reticent.mechanisms.noise import GaussianLaw, GeometricLaw, useful
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.privacy.numbers import exact, positive, show
from reticent.privacy.sensitivity import L1, L2
from reticent.privacy.tightest import least

Scalable: TypeAlias = Geometric | Laplace | Gaussian | ScalarGaussian | Exponential | PermuteAndFlip
Target: TypeAlias = PureDP | ApproxDP | ZCDP
DIGITS: Final = 5  # of the factor, rounded towards more noise
WIDEST: Final = Fraction(2) ** 40  # the search gives up beyond factors of this size, either way


@dataclass(frozen=True, slots=True)
class Batch:
    """Mechanisms whose noise was scaled to a target, in the order given, with what they cost together."""

    mechanisms: tuple[Scalable, ...]
    factor: Fraction
    guarantee: Guarantee
    reason: str


def batch(mechanisms: Sequence[Scalable], target: Target) -> Batch:
    """The mechanisms with all their noise multiplied by the least factor at which they meet ``target`` together.

    Parameters
    ----------
    mechanisms : sequence
        At least one; about the same neighbours. One mechanism is a batch of one, and the same one k times is k uses.
    target : PureDP, ApproxDP or ZCDP
        What all of them may cost in sequence; above zero.

    Returns
    -------
    Batch
        The factor has 5 significant digits, rounded towards more noise.

    Raises
    ------
    PublicParameterError
        Where no noise reaches the target: Gaussian noise is never pure, and (0, 0) needs no mechanism.
    """
    if not mechanisms:
        raise PublicParameterError("a batch has at least one mechanism")
    _reachable(target)
    found: dict[Fraction, tuple[Guarantee, str] | None] = {}

    def cost(factor: Fraction) -> tuple[Guarantee, str] | None:
        """Guarantee and loss of the batch at ``factor``; None if the loss exceeds the target."""
        if factor not in found:
            found[factor] = _meets([scaled(one, factor).guarantee for one in mechanisms], target)
        return found[factor]

    high = Fraction(1)
    while cost(high) is None:
        high *= 2
        if high > WIDEST:
            raise PublicParameterError("no noise of these kinds reaches this target")
    while cost(high / 2) is not None and high > 1 / WIDEST:
        high /= 2
    low = high / 2
    while (middle := round_up((low + high) / 2, DIGITS)) < high and middle > low:
        low, high = (low, middle) if cost(middle) is not None else (middle, high)
    met = cost(high)
    assert met is not None
    return Batch(tuple(scaled(one, high) for one in mechanisms), high, *met)


def scaled(mechanism: Scalable, factor: Fraction) -> Scalable:
    """The mechanism with noise ``factor`` > 0 times as wide (for a choice: scores count for that much less)."""
    positive(factor, "factor")
    match mechanism:
        case Geometric() | Laplace() | Exponential() | PermuteAndFlip():
            return replace(mechanism, epsilon=mechanism.epsilon / factor)
        case Gaussian():
            return replace(mechanism, rho=mechanism.rho / factor**2)
        case ScalarGaussian():
            return replace(mechanism, variance=mechanism.variance * factor**2)
        case _:
            assert_never(mechanism)


def _reachable(target: Target) -> None:
    match target:
        case PureDP(number) | ApproxDP(number) | ZCDP(number):
            positive(number, "rho" if isinstance(target, ZCDP) else "epsilon")
        case _:
            assert_never(target)


def _meets(parts: Sequence[Guarantee], target: Target) -> tuple[Guarantee, str] | None:
    """The parts in sequence and why they cost that, where they cost no more than ``target``."""
    match target:
        case PureDP(epsilon):
            whole = compose.in_sequence(parts)
            if not isinstance(whole.loss, PureDP):
                raise PublicParameterError("noise of this kind has no pure ε: name a δ")
            return (whole, "Losses add up.") if whole.loss.epsilon <= epsilon else None
        case ApproxDP(epsilon, delta):
            found = least(parts, delta)
            assert isinstance(found.guarantee.loss, PureDP | ApproxDP)
            return (found.guarantee, found.reason) if found.guarantee.loss.epsilon <= epsilon else None
        case ZCDP(rho):
            whole = compose.in_sequence([compose.in_zcdp(part) for part in parts])
            if not isinstance(whole.loss, ZCDP):
                raise PublicParameterError("a part with δ > 0 cannot meet a target in ρ alone")
            return (whole, "Rhos add up.") if whole.loss.rho <= rho else None
        case _:
            assert_never(target)


def geometric_within(sensitivity: L1, half_width: Fraction, beta: Fraction, dimension: int = 1) -> Geometric:
    """Geometric noise of the least epsilon that moves none of ``dimension`` integers by more than ``half_width``.

    Parameters
    ----------
    sensitivity : L1
        Of all coordinates together, an integer.
    half_width : Fraction
        >= 0, in units of the answer.
    beta : Fraction
        In (0, 1): the chance that some coordinate is further off (004 Definition 2.1). Not the delta of a guarantee.
    dimension : int
        At least 1.

    Returns
    -------
    Geometric
        With an epsilon of at most ``DIGITS`` significant digits, rounded up.

    Raises
    ------
    PublicParameterError
        For a half-width below 0.
    """
    if exact(half_width, "half-width") < 0:
        raise PublicParameterError(f"half-width must be >= 0, got {show(half_width)}")
    low, high = Fraction(0), Fraction(1)
    while useful(GeometricLaw(sensitivity.bound / high), beta, dimension) > half_width:
        low, high = high, 2 * high
    while high - low > high / 10 ** (DIGITS + 1):
        middle = (low + high) / 2
        fits = useful(GeometricLaw(sensitivity.bound / middle), beta, dimension) <= half_width
        low, high = (low, middle) if fits else (middle, high)
    return Geometric(sensitivity, round_up(high, DIGITS))


def gaussian_within(sensitivity: L2, half_width: Fraction, beta: Fraction, dimension: int = 1) -> Gaussian:
    """Discrete Gaussian noise of about the least rho that moves none of the integers by more than ``half_width``.

    Canonne, Kamath and Steinke 2020, Proposition 25, bound P(|Z| > h) of the discrete law by P(|N| >= floor(h)) of the
    continuous one. The answer therefore errs by at most one unit of the half-width.

    Parameters
    ----------
    sensitivity : L2
        Of all coordinates together.
    half_width : Fraction
        >= 1, in units of the answer.
    beta : Fraction
        In (0, 1): the probability that some coordinate is further off. Not the delta of a guarantee.
    dimension : int
        Number of integers, at least 1.

    Returns
    -------
    Gaussian
        With a rho of at most ``DIGITS`` significant digits, rounded up.

    Raises
    ------
    PublicParameterError
        For a half-width below 1.
    """
    whole = exact(half_width, "half-width").__floor__()
    if whole < 1:
        raise PublicParameterError("Gaussian noise on integers needs a half-width of at least 1")
    std = round_down(whole / useful(GaussianLaw(Fraction(1)), beta, dimension), DIGITS)
    return Gaussian(sensitivity, round_up(sensitivity.squared / (2 * std**2), DIGITS))
