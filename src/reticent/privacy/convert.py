"""From one loss to another: each conversion is a theorem, rounded towards more loss.

    pure_to_zcdp     eps-DP implies (eps^2 / 2)-zCDP                       Bun and Steinke 2016, Proposition 1.4
    zcdp_to_approx   rho-zCDP implies (eps, delta)-DP for every alpha > 1  Canonne, Kamath, Steinke 2020, Prop. 12
                     with eps = alpha rho + ln((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1)

Any alpha > 1 gives a true bound, so alpha is searched in floats and the bound evaluated in certified rationals.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from reticent.errors import PublicParameterError
from reticent.exact.rounding import log_down, log_up, round_up
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from reticent.privacy.numbers import exact, show

PURE_TO_ZCDP = Theorem(
    "pure_to_zcdp", "epsilon-DP implies (epsilon^2 / 2)-zCDP", "Bun and Steinke 2016, Proposition 1.4"
)
ZCDP_TO_APPROX = Theorem(
    "zcdp_to_approx",
    "rho-zCDP implies (epsilon, delta)-DP, the best Renyi order alpha",
    "Canonne, Kamath and Steinke 2020, Proposition 12",
)


def zcdp_of(loss: Loss) -> Fraction:
    """The rho a loss costs in a zCDP currency.

    Raises
    ------
    PublicParameterError
        For a loss with delta > 0: approximate zCDP is not a currency of this version.
    """
    match loss:
        case PureDP(epsilon):
            return epsilon**2 / 2
        case ZCDP(rho):
            return rho
        case ApproxDP(epsilon, delta) if delta == 0:
            return epsilon**2 / 2
        case ApproxDP():
            raise PublicParameterError(
                "A loss with δ > 0 cannot be charged in ρ. Use noise proved in zCDP, or a ledger in (ε, δ)."
            )
        case _:
            assert_never(loss)


def approx_of(loss: Loss, delta: Fraction) -> ApproxDP | PureDP:
    """The (epsilon, delta) a loss implies; pure and approximate losses are returned as they are."""
    match loss:
        case PureDP() | ApproxDP():
            return loss
        case ZCDP(rho):
            return ApproxDP(epsilon_of_zcdp(rho, delta), delta)
        case _:
            assert_never(loss)


def epsilon_of_zcdp(rho: Fraction, delta: Fraction) -> Fraction:
    """A certified upper bound, to 12 digits, of the epsilon that rho-zCDP implies at ``delta`` in (0, 1)."""
    if not 0 < exact(delta, "delta") < 1:
        raise PublicParameterError(f"delta must lie between 0 and 1, got {show(delta)}")
    if rho == 0:
        return Fraction(0)
    alpha = _best_alpha(float(rho), float(delta))
    bound = alpha * rho + log_up((alpha - 1) / alpha) - (log_down(delta) + log_down(alpha)) / (alpha - 1)
    return round_up(max(bound, Fraction(0)))


def _best_alpha(rho: float, delta: float) -> Fraction:
    """Golden-section search over ln(alpha - 1); exactness does not matter here."""

    def bound(t: float) -> float:
        alpha = 1 + math.exp(t)
        return alpha * rho + math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)

    low, high = -20.0, 40.0
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(120):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return Fraction(1 + math.exp((low + high) / 2))


def as_zcdp(part: Guarantee) -> Guarantee:
    """The zCDP view of a guarantee."""
    if isinstance(part.loss, ZCDP):
        return part
    return Guarantee(ZCDP(zcdp_of(part.loss)), part.adjacency, PURE_TO_ZCDP, (part,), label=part.label)


def as_approx(part: Guarantee, delta: Fraction) -> Guarantee:
    """The (epsilon, delta) view of a guarantee at a named delta; pure and approximate ones are unchanged."""
    if not isinstance(part.loss, ZCDP):
        return part
    loss = approx_of(part.loss, delta)
    return Guarantee(loss, part.adjacency, ZCDP_TO_APPROX, (part,), (("delta", show(delta)),), part.label)
