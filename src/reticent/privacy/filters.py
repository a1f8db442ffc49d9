"""Filters: may one more release be charged, when its price was chosen after seeing the earlier answers?

A filter looks only at a public budget, at what is spent and at the next charge. Both filters here stop a sum:
epsilon and delta each in the currency ``approximate``, rho in the currency ``zcdp``. Everything is a Fraction.

Theorem (sums are valid filters under full adaptivity)
------------------------------------------------------
An adversary chooses each mechanism *and its loss* from all earlier outputs. If every charge was admitted, the whole
transcript satisfies the budget.

*approximate*: budget (e, d). By induction on the rounds. The first mechanism is (e1, d1)-DP with e1 <= e, d1 <= d.
After its output y the rest runs under the budget (e - e1, d - d1), so by induction, for any event with section S_y,
P_y(S_y) <= f(y) + (d - d1) with f(y) = min(1, exp(e - e1) P'_y(S_y)). As f takes values in [0, 1],
E f(M(D)) <= exp(e1) E f(M(D')) + d1. Together P(S) <= exp(e) P'(S) + d1 + (d - d1).

*zcdp*: budget rho. The same induction on the integral of (p/p')^alpha p': the first step contributes at most
exp((alpha - 1) alpha rho1), the rest, whatever y was, at most exp((alpha - 1) alpha (rho - rho1)); the product is
exp((alpha - 1) alpha rho) for every alpha > 1 at once.

The adversary's own coins are fixed first, and any number of rounds is allowed since the bound does not depend on it.

Source
------
Rogers, Roth, Ullman and Vadhan 2016, "Privacy odometers and filters" (pure and approximate sums); Feldman and Zrnic
2021 and Whitehouse, Ramdas, Rogers and Wu 2023, "Fully-adaptive composition in differential privacy" (sums of rho).
Pure epsilon is epsilon^2/2-zCDP: Bun and Steinke 2016, Proposition 1.4.

Deviations
----------
Advanced composition is not used as a filter: its theorem is about losses fixed in advance. Whitehouse et al. prove a
filter of the same rate; sums of rho already give that gain here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias, assert_never

from reticent.errors import PublicParameterError
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, words

Currency: TypeAlias = Literal["approximate", "zcdp"]


def currency(budget: Loss) -> Currency:
    """The currency a budget fixes: ``approximate`` (epsilon, delta) or ``zcdp`` (rho, delta).

    Raises
    ------
    PublicParameterError
        For a loss that is no budget: a Rényi curve, Gaussian DP, a privacy-loss distribution.
    """
    match budget:
        case PureDP() | ApproxDP():
            return "approximate"
        case ZCDP() | ApproxZCDP():
            return "zcdp"
        case Renyi() | GaussianDP() | PLD():
            raise PublicParameterError(f"A budget is (ε, δ) or ρ (zCDP); {words(budget)} is neither.")
        case _:
            assert_never(budget)


def nothing(budget: Loss) -> Loss:
    """The loss of no release at all, in the currency of ``budget``."""
    return PureDP(Fraction(0)) if currency(budget) == "approximate" else ZCDP(Fraction(0))


def enter(charge: Loss, budget: Loss) -> Loss:
    """``charge`` in the currency of ``budget``, by the table above; a delta of zero is left out.

    Raises
    ------
    PublicParameterError
        When there is no conversion without a further choice: a delta that the release must name first.
    """
    counts = currency(budget)
    match charge:
        case PureDP(epsilon):
            return charge if counts == "approximate" else ZCDP(epsilon * epsilon / 2)
        case ApproxDP(epsilon, delta):
            return _loss(epsilon if counts == "approximate" else epsilon * epsilon / 2, delta, budget)
        case ZCDP() | ApproxZCDP() | GaussianDP() if counts == "approximate":
            raise PublicParameterError(
                f"This budget counts (ε, δ); {words(charge)} must first be converted at a δ named in the release."
            )
        case ZCDP():
            return charge
        case ApproxZCDP(rho, delta):
            return _loss(rho, delta, budget)
        case GaussianDP(mu_squared):
            return ZCDP(mu_squared / 2)
        case Renyi() | PLD():
            kind = "(ε, δ)" if counts == "approximate" else "ρ (zCDP)"
            raise PublicParameterError(
                f"This budget counts {kind}; {words(charge)} must first be converted to (ε, δ) at a δ named in the "
                "release."
            )
        case _:
            assert_never(charge)


def add(spent: Loss, charge: Loss, budget: Loss) -> Loss:
    """What is spent once ``charge`` is added, in the currency of ``budget``; it does not ask whether that fits."""
    before, more = parts(enter(spent, budget)), parts(enter(charge, budget))
    return _loss(before[0] + more[0], before[1] + more[1], budget)


def admits(budget: Loss, spent: Loss, charge: Loss) -> bool:
    """Whether ``charge`` still fits: every sum stays within the budget, with equality allowed."""
    limit, before, more = parts(budget), parts(enter(spent, budget)), parts(enter(charge, budget))
    return all(b + m <= top for top, b, m in zip(limit, before, more, strict=True))


def left(budget: Loss, spent: Loss) -> Loss:
    """Budget minus spent, part by part, never below zero; any charge within it is admitted."""
    limit, before = parts(budget), parts(enter(spent, budget))
    return _loss(max(Fraction(0), limit[0] - before[0]), max(Fraction(0), limit[1] - before[1]), budget)


def parts(loss: Loss) -> tuple[Fraction, Fraction]:
    """(epsilon, delta), or (rho, delta): the numbers that add up.

    Raises
    ------
    PublicParameterError
        For a loss that is in neither currency.
    """
    match loss:
        case PureDP(epsilon):
            return Fraction(epsilon), Fraction(0)
        case ApproxDP(epsilon, delta):
            return Fraction(epsilon), Fraction(delta)
        case ZCDP(rho):
            return Fraction(rho), Fraction(0)
        case ApproxZCDP(rho, delta):
            return Fraction(rho), Fraction(delta)
        case Renyi() | GaussianDP() | PLD():
            raise PublicParameterError(f"{words(loss)} is not in (ε, δ) or ρ: no ledger counts in it.")
        case _:
            assert_never(loss)


def _loss(first: Fraction, delta: Fraction, budget: Loss) -> Loss:
    if currency(budget) == "zcdp":
        return ApproxZCDP(first, delta) if delta > 0 else ZCDP(first)
    return ApproxDP(first, delta) if delta > 0 else PureDP(first)
