"""From one loss to another: each conversion is a theorem, rounded towards more loss.

    as_zcdp    pure        eps^2 / 2                             Bun and Steinke 2016, Proposition 1.4
               approximate delta-approximate eps^2 / 2           docs/proofs/conversions.md
               Gaussian    mu^2 / 2                              Bun and Steinke 2016, Proposition 1.6
               own pair    eps^2 / 8 for a bounded range         Cesar and Rogers 2021, Lemma 3.4
    as_renyi   Renyi divergences at named orders                 Mironov 2017; closed forms in ``curves``
    as_pld     a coin for pure and approximate losses            Kairouz, Oh and Viswanath 2017
               the dominating pair of the mechanism where its proof names one
    as_approx  (epsilon, delta) at a named delta; zCDP and Renyi by Canonne, Kamath and Steinke 2020, Proposition 12

    group_loss the loss for neighbours several steps apart
               PureDP(eps)            k eps                                       001
               ApproxDP(eps, delta)   k eps, delta (e^{k eps} - 1) / (e^eps - 1)  not k delta: 001 states delta = 0 only
               ZCDP(rho)              k^2 rho                                     Bun and Steinke 2016, Proposition 1.9
               GaussianDP(mu)         k mu                                        Dong, Roth and Su 2022, Theorem 3
               PLD                    a shift k times as far, a range k times as wide    docs/proofs/pairs.md
               Renyi                  step by step, by the triangle inequality           Mironov 2017, Prop. 11
    dearest    the dearest of several products of pairs

The numbers are in ``profiles``, which a conversion imports when it needs one; here they are put into guarantees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, assert_never

from reticent.errors import CheckError, PublicParameterError
from reticent.exact.rounding import exp_down, exp_up, round_down, round_up
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, known, pld_of, words
from reticent.privacy.numbers import read, show
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

VIEW_DELTA: Final = Fraction(1, 10**9)  # the delta at which a loss that has a whole curve of them is put in words
PURE_TO_ZCDP: Final = Theorem(
    "pure_to_zcdp", "epsilon-DP implies (epsilon^2 / 2)-zCDP", "Bun and Steinke 2016, Proposition 1.4"
)
APPROX_TO_ZCDP: Final = Theorem(
    "approx_to_zcdp",
    "(epsilon, delta)-DP implies delta-approximate (epsilon^2 / 2)-zCDP",
    "docs/proofs/conversions.md; Bun and Steinke 2016, Definition 8.1",
)
GAUSSIAN_TO_ZCDP: Final = Theorem(
    "gaussian_to_zcdp", "mu-Gaussian DP implies (mu^2 / 2)-zCDP", "Bun and Steinke 2016, Proposition 1.6"
)
PAIR_TO_ZCDP: Final = Theorem(
    "pair_to_zcdp",
    "bounded range: epsilon^2 / 8; one integer with Gaussian noise: shift^2 / (2 variance)",
    "Cesar and Rogers 2021, Lemma 3.4; Canonne, Kamath and Steinke 2020, Theorem 4",
)
TO_RENYI: Final = Theorem(
    "to_renyi", "the Renyi divergences it implies, at named orders", "Mironov 2017; docs/proofs/conversions.md"
)
OWN_PAIR: Final = Theorem(
    "own_pair", "the mechanism's own dominating pair", "Zhu, Dong and Wang 2022, Definition 7; docs/proofs/pairs.md"
)
COIN: Final = Theorem("coin", "no worse than a coin with the same epsilon and delta", "Kairouz, Oh and Viswanath 2017")
GAUSSIAN_PAIR: Final = Theorem("gaussian_pair", "N(0, 1) against N(mu, 1)", "Dong, Roth and Su 2022, Definition 4")
ZCDP_TO_APPROX: Final = Theorem(
    "zcdp_to_approx",
    "rho-zCDP implies (epsilon, delta)-DP, the best Renyi order alpha",
    "Canonne, Kamath and Steinke 2020, Proposition 12",
)
TO_APPROX: Final = Theorem(
    "to_approx",
    "the least epsilon it implies at this delta",
    "docs/theory/losses.md has the theorem of each kind of loss",
)
NAMES: Final = tuple(
    theorem.name
    for theorem in (
        PURE_TO_ZCDP,
        APPROX_TO_ZCDP,
        GAUSSIAN_TO_ZCDP,
        PAIR_TO_ZCDP,
        TO_RENYI,
        OWN_PAIR,
        COIN,
        GAUSSIAN_PAIR,
        ZCDP_TO_APPROX,
        TO_APPROX,
    )
)
SPREAD: Final = Fraction(1, 10**6)  # added to an epsilon that floating-point numbers bound; they agree far closer
LAST_PLACES: Final = Fraction(1, 10**11)  # where a float chooses the order of a bound in rationals
MOST_ORDERS: Final = 64
HALVINGS: Final = 40  # of an interval that holds a rho that is searched for
PLACES: Final = 9  # digits of that rho
FINEST: Final = 1 << 20  # parts of a rho that is searched for
ORDERS: Final = tuple(
    Fraction(order)
    for order in ("1.125", "1.25", "1.5", "1.75", *range(2, 33), 40, 48, 64, 96, 128, 192, 256, 512, 1024)
)  # Renyi orders where none are named


def zcdp_of(loss: Loss) -> ZCDP | ApproxZCDP:
    """Loss in zCDP that ``loss`` implies.

    Raises
    ------
    PublicParameterError
        For a Renyi curve, which says nothing about the orders it does not list, and for sampled pairs.
    """
    match loss:
        case PureDP(epsilon):
            return ZCDP(epsilon**2 / 2)
        case ApproxDP(epsilon, delta):
            return ZCDP(epsilon**2 / 2) if delta == 0 else ApproxZCDP(epsilon**2 / 2, delta)
        case ZCDP() | ApproxZCDP():
            return loss
        case GaussianDP(mu_squared):
            return ZCDP(mu_squared / 2)
        case PLD() | Renyi():
            from reticent.privacy import profiles

            return ZCDP(profiles.rho(loss))
        case _:
            assert_never(loss)


def pld_view(loss: Loss) -> PLD:
    """A product of dominating pairs that a loss implies.

    Raises
    ------
    PublicParameterError
        For zCDP and Renyi curves, which no one pair sums up: convert to (epsilon, delta) at a named delta.
    """
    match loss:
        case PureDP(epsilon):
            return pld_of([(Coin(epsilon), 1)])
        case ApproxDP(epsilon, delta):
            return pld_of([(Coin(epsilon, delta), 1)])
        case GaussianDP(mu_squared):
            return pld_of([(GaussianShift(mu_squared), 1)] if mu_squared else [])
        case PLD():
            return loss
        case ZCDP() | ApproxZCDP() | Renyi():
            raise PublicParameterError(
                f"{words(loss)} has no privacy-loss distribution of its own; convert it to (ε, δ) at a named δ first"
            )
        case _:
            assert_never(loss)


def renyi_of(loss: Loss, orders: Sequence[Fraction] = ORDERS) -> Renyi:
    """The Renyi curve a loss implies, at ``orders`` (> 1, rising).

    Raises
    ------
    PublicParameterError
        For delta > 0: a Renyi curve leaves no room for a failure.
    """
    from reticent.privacy import profiles
    from reticent.privacy.rdp import MOST_ORDER

    if isinstance(loss, PLD) and any(isinstance(pair, SampledPair) for pair, _ in loss.pairs):
        orders = [
            order for order in orders if order <= MOST_ORDER
        ]  # a sample's divergence is a sum as long as its order
    return Renyi(tuple((order, profiles.renyi(loss, order)) for order in orders))


def approx_of(loss: Loss, delta: Fraction) -> ApproxDP | PureDP:
    """The (epsilon, delta) a loss implies; pure and approximate losses are returned as they are."""
    match loss:
        case PureDP() | ApproxDP():
            return loss
        case ZCDP() | ApproxZCDP() | Renyi() | GaussianDP() | PLD():
            from reticent.privacy import profiles

            epsilon = profiles.epsilon(loss, delta)
            if isinstance(loss, PLD):  # its last digits differ between machines
                epsilon = round_up(epsilon * (1 + SPREAD), 6)
            return PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)
        case _:
            assert_never(loss)


def epsilon_delta(loss: Loss) -> tuple[Fraction, Fraction]:
    """The loss as (epsilon, delta); one with a curve of them at ``VIEW_DELTA`` above the delta it cannot go below.

    delta = 1 stands for nothing: the failures of the parts of a product may add up to it.
    """
    match known(loss):
        case PureDP(epsilon):
            return epsilon, Fraction(0)
        case ApproxDP(epsilon, delta):
            return epsilon, delta
        case ZCDP() | Renyi() | GaussianDP():
            least = Fraction(0)
        case ApproxZCDP(_, delta):
            least = delta
        case PLD(parts):
            least = min(Fraction(1), sum((_least_delta(pair) * times for pair, times in parts), Fraction(0)))
        case _:
            assert_never(loss)
    at = min(least + VIEW_DELTA, (1 + least) / 2)
    return (approx_of(loss, at).epsilon, at) if at < 1 else (Fraction(0), at)


def spent_delta(loss: Loss) -> Fraction:
    """The delta that a ledger is charged for a loss: none in pure epsilon and in rho."""
    match known(loss):
        case ApproxDP(_, delta) | ApproxZCDP(_, delta):
            return delta
        case PureDP() | ZCDP():
            return Fraction(0)
        case _:
            return epsilon_delta(loss)[1]


def _least_delta(pair: Pair) -> Fraction:
    match pair:
        case Coin(_, delta):
            return delta
        case SampledPair(inner, rate):
            return rate * _least_delta(inner)
        case _:
            return Fraction(0)


@lru_cache(maxsize=256)
def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The greatest rho on a grid whose zCDP is (epsilon, delta)-private by the conversion; > 0.

    Raises
    ------
    PublicParameterError
        Where none is.
    """
    low, high = 0, FINEST * max(1, math.ceil(epsilon))
    while high - low > 1:
        middle = (low + high) // 2
        found = approx_of(ZCDP(Fraction(middle, FINEST)), delta)
        low, high = (middle, high) if not isinstance(found, PureDP) and found.epsilon <= epsilon else (low, middle)
    if not low:
        raise PublicParameterError("no rho on the grid is as small as this ε and δ ask")
    return Fraction(low, FINEST)


def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho up to epsilon^2 / 2, to ``PLACES`` digits, that at this delta is no more than epsilon.

    A larger one is within epsilon only where delta is too large to mean anything beside it. With this limit rho grows
    with epsilon at most like its square, as the price of a release in rho supposes.
    """
    low, high = Fraction(0), epsilon**2 / 2
    if approx_of(ZCDP(high), delta).epsilon <= epsilon:
        return high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if approx_of(ZCDP(middle), delta).epsilon <= epsilon else (low, middle)
    return round_down(low, PLACES)


def as_zcdp(part: Guarantee) -> Guarantee:
    """The zCDP view of a guarantee, the smallest its proof gives."""
    loss = zcdp_of(part.loss) if part.pair is None else _least_rho(part)
    if loss == part.loss:
        return part
    match part.loss:
        case PureDP(epsilon) if loss == ZCDP(epsilon**2 / 2):
            by = PURE_TO_ZCDP
        case ApproxDP() if isinstance(loss, ApproxZCDP):
            by = APPROX_TO_ZCDP
        case GaussianDP():
            by = GAUSSIAN_TO_ZCDP
        case _:
            by = PAIR_TO_ZCDP
    return Guarantee(loss, part.adjacency, by, (part,), label=part.label)


def _least_rho(part: Guarantee) -> ZCDP | ApproxZCDP:
    """Loss of ``part`` in zCDP.

    It is the lesser of the rho of its pair, if the axiom names one, and of the rho its loss implies.
    """
    match part.pair:
        case Range(epsilon):
            return ZCDP(epsilon**2 / 8)
        case DiscreteGaussianShift(variance, shift):
            return ZCDP(Fraction(shift * shift) / (2 * variance))
        case _:
            return zcdp_of(part.loss)


def as_renyi(part: Guarantee, orders: Sequence[Fraction] = ORDERS) -> Guarantee:
    """The Renyi view of a guarantee at ``orders``, by its own pair where its proof names one."""
    if isinstance(part.loss, Renyi):
        return part
    if len(orders) > MOST_ORDERS:
        raise PublicParameterError(f"a Rényi curve has at most {MOST_ORDERS} orders, got {len(orders)}")
    loss = renyi_of(part.loss if part.pair is None else PLD(((part.pair, 1),)), orders)
    if isinstance(part.pair, Range):  # of the mechanism, whose divergences may be below those of its pair
        rho = part.pair.epsilon**2 / 8
        loss = Renyi(tuple((order, min(epsilon, order * rho)) for order, epsilon in loss.curve))
    listed = " ".join(show(order) for order in orders)
    return Guarantee(loss, part.adjacency, TO_RENYI, (part,), (("orders", listed),), part.label)


def as_pld(part: Guarantee) -> Guarantee:
    """The guarantee as a product of dominating pairs: the mechanism's own where its proof names one."""
    if part.pair is not None:
        return Guarantee(pld_of([(part.pair, 1)]), part.adjacency, OWN_PAIR, (part,), label=part.label)
    if isinstance(part.loss, PLD):
        return part
    by = GAUSSIAN_PAIR if isinstance(part.loss, GaussianDP) else COIN
    return Guarantee(pld_view(part.loss), part.adjacency, by, (part,), label=part.label)


def as_approx(part: Guarantee, delta: Fraction) -> Guarantee:
    """The (epsilon, delta) view of a guarantee at a named delta; pure and approximate ones are unchanged."""
    if isinstance(part.loss, PureDP | ApproxDP):
        return part
    by = ZCDP_TO_APPROX if isinstance(part.loss, ZCDP) else TO_APPROX
    loss = approx_of(part.loss, delta)
    return Guarantee(loss, part.adjacency, by, (part,), (("delta", show(delta)),), part.label)


def follows(stored: Guarantee, made: Guarantee) -> bool:
    """Tell if a stored conversion equals the re-derived one up to the float differences between machines.

    A bound by privacy-loss distributions carries ``SPREAD``, so what is accepted is at or above the bound found here.
    """
    match stored.loss, made.loss:
        case ApproxDP(epsilon, delta), ApproxDP(again, same) if made.by.name in (TO_APPROX.name, ZCDP_TO_APPROX.name):
            spread = SPREAD if isinstance(made.parts[0].loss, PLD) else LAST_PLACES
            return delta == same and again / (1 + spread) <= epsilon <= again * (1 + 10 * spread)
        case _:
            return stored.loss == made.loss


def again(tree: Guarantee) -> Guarantee:
    """A stored conversion, made again from its part."""
    (part,) = tree.parts
    made = _again(tree, part)
    if made is part:  # nothing was converted; and tolerances of ``follows`` must not add up
        raise CheckError(f"'{tree.by.name}' of a loss that is of that kind already")
    return made


def _again(tree: Guarantee, part: Guarantee) -> Guarantee:
    match tree.by.name:
        case PURE_TO_ZCDP.name | APPROX_TO_ZCDP.name | GAUSSIAN_TO_ZCDP.name | PAIR_TO_ZCDP.name:
            return as_zcdp(part)
        case OWN_PAIR.name | COIN.name | GAUSSIAN_PAIR.name:
            return as_pld(part)
        case TO_RENYI.name:
            return as_renyi(part, [read(order, "order") for order in tree.parameter("orders").split()])
        case _:
            return as_approx(part, read(tree.parameter("delta"), "delta"))


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
