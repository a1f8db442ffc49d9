"""Group privacy: the loss for neighbours several steps apart, and the dearest of several products of pairs.

PureDP(eps)            k eps                                           001
ApproxDP(eps, delta)   k eps, delta (e^{k eps} - 1) / (e^eps - 1)      not k delta: 001 states delta = 0 only
ZCDP(rho)              k^2 rho                                         Bun and Steinke 2016, Proposition 1.9
GaussianDP(mu)         k mu                                            Dong, Roth and Su 2022, Theorem 3
PLD                    pair by pair: a shift k times as far, a range k times as wide   docs/proofs/pairs.md
Renyi                  step by step, by the triangle inequality for Renyi divergences   Mironov 2017, Prop. 11
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, assert_never

from reticent.errors import PublicParameterError
from reticent.exact.rounding import exp_down, exp_up, round_up
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, pld_of, words
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
    highest,
)

MOST_BRANCHES: Final = 16  # whose profiles are compared point by point
MOST_LOSS: Final = 50  # of a highest profile
MOST_STEPS: Final = 1000  # orders times members of a group
SHARES: Final = tuple(Fraction(share, 20) for share in range(21, 121))  # p of the triangle inequality, 1.05 to 6


def group_loss(loss: Loss, size: int) -> Loss:
    """The loss against ``size`` >= 1 steps at once, rounded up to 12 digits where it is not rational.

    Raises
    ------
    PublicParameterError
        Where nothing is promised any more, or no theorem is known: convert to (epsilon, delta) at a named delta first.
    """
    if size == 1:
        return loss
    match loss:
        case PureDP(epsilon):
            return PureDP(size * epsilon)
        case ZCDP(rho):
            return ZCDP(size * size * rho)
        case GaussianDP(mu_squared):
            return GaussianDP(size * size * mu_squared)
        case ApproxDP(epsilon, delta):
            total = round_up(delta * _series(epsilon, size))
            if total >= 1:
                raise PublicParameterError(f"against a group of {size}, delta would reach 1: nothing is promised")
            return ApproxDP(size * epsilon, total)
        case PLD(parts):
            return pld_of([(_group_pair(pair, size), times) for pair, times in parts])
        case Renyi():
            return _group_renyi(loss, size)
        case ApproxZCDP():
            raise PublicParameterError(
                f"no theorem gives {words(loss)} for a group; convert it to (ε, δ) at a named δ first"
            )
        case _:
            assert_never(loss)


def _series(epsilon: Fraction, size: int) -> Fraction:
    """At or above 1 + e^eps + ... + e^{(size - 1) eps}."""
    if epsilon == 0:
        return Fraction(size)
    by_ratio = (exp_up(size * epsilon) - 1) / (exp_down(epsilon) - 1)
    return min(by_ratio, size * exp_up((size - 1) * epsilon))


def _group_pair(pair: Pair, size: int) -> Pair:
    """The pair that dominates a chain of ``size`` steps, each dominated by ``pair``."""
    match pair:
        case Coin(epsilon, delta):
            loss = group_loss(PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta), size)
            assert isinstance(loss, PureDP | ApproxDP)
            return Coin(loss.epsilon, loss.delta if isinstance(loss, ApproxDP) else Fraction(0))
        case Range(epsilon):
            return Range(size * epsilon)
        case GeometricShift(scale, shift):
            return GeometricShift(scale, size * shift)
        case LaplaceShift(epsilon):
            return LaplaceShift(size * epsilon)
        case GaussianShift(mu_squared):
            return GaussianShift(size * size * mu_squared)
        case DiscreteGaussianShift(variance, shift):
            return DiscreteGaussianShift(variance, size * shift)
        case Highest():
            raise PublicParameterError("a group has no highest profile of its own; lift each branch, or convert first")
        case SampledPair():
            raise PublicParameterError("a group of sampled units has no pair of its own; convert to (ε, δ) first")
        case _:
            assert_never(pair)


def _group_renyi(loss: Renyi, size: int) -> Renyi:
    """D_a(P || R) <= (a - 1/p) / (a - 1) D_{pa}(P || Q) + D_{q(a - 1/p)}(Q || R), 1/p + 1/q = 1, step by step.

    Divergences grow with the order, so an order that is not listed is bounded by the next one that is. Orders too high
    to be bounded are dropped.
    """
    if len(loss.curve) * size > MOST_STEPS:
        raise PublicParameterError(f"too many orders for a group of {size}; convert to (ε, δ) at a named δ first")
    chain = loss
    for _ in range(size - 1):
        curve = []
        for alpha, _ in loss.curve:
            found = [
                (alpha - 1 / p) / (alpha - 1) * first + second
                for p in SHARES
                if (first := _at(chain, p * alpha)) is not None
                and (second := _at(loss, p / (p - 1) * (alpha - 1 / p))) is not None
            ]
            if found:
                curve.append((alpha, round_up(min(found))))
        if not curve:
            raise PublicParameterError(f"the orders of this Rényi curve are too few for a group of {size}")
        chain = Renyi(tuple(curve))
    return chain


def _at(loss: Renyi, order: Fraction) -> Fraction | None:
    return next((epsilon for alpha, epsilon in loss.curve if alpha >= order), None)


def dearest(losses: Sequence[PLD]) -> PLD:
    """The one that dominates all others, where there is one; else the pointwise maximum of their profiles.

    Raises
    ------
    PublicParameterError
        Where none dominates and one is sampled, unbounded or has a delta, or the losses or branches are too many.
    """
    first = losses[0]
    if all(loss == first for loss in losses):
        return first
    kinds = {tuple((type(pair), times) for pair, times in loss.pairs) for loss in losses if loss.pairs}
    if len(kinds) == 1 and len(next(iter(kinds))) == 1:
        ordered = sorted((loss for loss in losses if loss.pairs), key=lambda loss: size_of(loss.pairs[0][0]))
        top = ordered[-1].pairs[0][0]
        if all(_below(loss.pairs[0][0], top) for loss in ordered):
            return ordered[-1]
    branches = {loss.pairs for loss in losses if loss.pairs}
    if len(branches) == 1:
        return PLD(branches.pop())
    of_all = highest(branches) if len(branches) <= MOST_BRANCHES else None
    if of_all is not None and of_all.most <= MOST_LOSS:
        return pld_of([(of_all, 1)])
    raise PublicParameterError("none of these privacy-loss distributions is the dearest in every way")


def largest(loss: Loss) -> Fraction:
    """The largest number in a loss, of whatever kind: what tells a slip from a guarantee."""
    match loss:
        case PureDP(number) | ApproxDP(number) | ZCDP(number) | ApproxZCDP(number) | GaussianDP(number):
            return number
        case Renyi(curve):
            return max(epsilon for _, epsilon in curve)
        case PLD(parts):
            return sum((size_of(pair) * times for pair, times in parts), Fraction(0))
        case _:
            assert_never(loss)


def size_of(pair: Pair) -> Fraction:
    """The largest loss of a bounded pair; mu^2 or 2 rho of an unbounded one: what orders pairs of one kind."""
    match pair:
        case Coin(epsilon) | Range(epsilon) | LaplaceShift(epsilon):
            return epsilon
        case GeometricShift(scale, shift):
            return shift / scale
        case GaussianShift(mu_squared):
            return mu_squared
        case DiscreteGaussianShift(variance, shift):
            return shift * shift / variance
        case Highest():
            return pair.most
        case SampledPair(inner):
            return size_of(inner)
        case _:
            assert_never(pair)


def _below(pair: Pair, top: Pair) -> bool:
    """Tell if ``top``, of the same kind, dominates ``pair`` by monotonicity in one parameter."""
    match pair, top:
        case Coin(epsilon, delta), Coin(most, highest):
            return epsilon <= most and delta <= highest
        case (Range(), Range()) | (LaplaceShift(), LaplaceShift()) | (GaussianShift(), GaussianShift()):
            return size_of(pair) <= size_of(top)
        case GeometricShift(scale, shift), GeometricShift(other, most):
            return scale == other and shift <= most
        case DiscreteGaussianShift(variance, shift), DiscreteGaussianShift(other, most):
            return variance == other and shift <= most
        case _:
            return pair == top
