"""Filters: checks of a further charge whose price was chosen after seeing the earlier answers.

A filter looks only at a public budget, at what is spent and at the next charge. It stops a sum, in Fractions:

    what comes in          approximate: budget (eps, delta)     zcdp: budget rho, or rho and delta
    pure eps               eps                                  rho = eps^2 / 2
    approximate            eps and delta                        eps^2 / 2 and delta
    zCDP; approximate zCDP refused: name a delta first          rho; rho and delta
    Gaussian DP            refused: name a delta first          mu^2 / 2
    Rényi curve, PLD       refused: name a delta first          refused: name a delta first

``RenyiFilter`` stops sums of Rényi divergences and promises (eps, delta). How much *is* spent at any time, without a
budget, is the question of ``odometer``.

Theorem (sums are valid filters under full adaptivity)
------------------------------------------------------
An adversary chooses each mechanism *and its loss* from all earlier outputs. If every charge was admitted, the whole
transcript satisfies the budget.

*approximate*: budget (e, d). By induction on the rounds. The first mechanism is (e1, d1)-DP with e1 <= e, d1 <= d.
After its output y the rest runs under the budget (e - e1, d - d1), so by induction, for any event with section S_y,
P_y(S_y) <= f(y) + (d - d1) with f(y) = min(1, exp(e - e1) P'_y(S_y)). As f takes values in [0, 1],
E f(M(D)) <= exp(e1) E f(M(D')) + d1. Together P(S) <= exp(e) P'(S) + d1 + (d - d1).

*zcdp*: budget (rho, d). A pair of laws is d-approximately rho-close when P = (1 - d) A + d B and Q = (1 - d) A' + d B'
with D_alpha(A || A') and D_alpha(A' || A) <= rho alpha for every alpha > 1. The same induction: the first step is
(rho1, d1)-close with parts A1, A1'; after its output y the rest is (rho - rho1, d - d1)-close with parts A_y, A'_y. The
law "y from A1, then A_y" is contained in P with weight (1 - d1)(1 - d + d1) >= 1 - d, its twin in Q with the same
weight. The integral of (a/a')^alpha a' of the two is at most a product of two factors. The first step gives exp((alpha
- 1) alpha rho1), the rest exp((alpha - 1) alpha (rho - rho1)) for every y: exp((alpha - 1) alpha rho) for every alpha
at once.

*entering*: an (eps, d)-DP pair is d-approximately (eps^2 / 2)-close, since with P0 = min(P, e^eps Q) and Q0 =
min(Q, e^eps P) at least 1 - d of either law is eps-indistinguishable from the other: docs/proofs/spending.md.

*Rényi*: target (eps, d); orders a_j and d_j with sum d; B_j such that Rényi loss B_j at a_j implies (eps, d_j)-DP. A
charge is admitted while, for *some* j, the sum S_j of losses at a_j stays at most B_j. Let L be the loss ln p/q of the
whole transcript. M_j = exp((a_j - 1)(L - S_j)) has mean at most 1 under P, factor by factor. With c_j the largest of
(1 - u) u^(a_j - 1), (1 - e^(eps - L))^+ <= c_j e^((a_j - 1)(L - eps)); at the end some S_j <= B_j, so its mean is at
most the sum over j of c_j e^((a_j - 1)(B_j - eps)) E M_j <= sum d_j = d. Without the split of d the filter is wrong.

The adversary's own coins are fixed first; any finite number of rounds is allowed since no bound depends on it.

Source
------
Rogers, Roth, Ullman and Vadhan 2016, "Privacy odometers and filters" (pure and approximate sums). Feldman and Zrnic
2021 (one Rényi order). Whitehouse, Ramdas, Rogers and Wu 2023, "Fully-adaptive composition in differential privacy"
(sums of rho and of delta). Bun and Steinke 2016: Proposition 1.4 (pure epsilon is epsilon^2/2-zCDP), Definition 8.1
(approximate zCDP). Canonne, Kamath and Steinke 2020, Proposition 12 (B_j).

Deviations
----------
Advanced composition is not used as a filter: its theorem is about losses fixed in advance. Whitehouse et al. prove a
filter of the same rate; sums of rho already give that gain here. Several Rényi orders with one stopping time need the
split of delta but not Ville's inequality, so the sharper conversion of Proposition 12 holds at each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias, assert_never

from reticent.errors import BudgetError, PublicParameterError
from reticent.exact.rounding import log_down, log_up
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, known, words
from reticent.privacy.numbers import exact, show

Currency: TypeAlias = Literal["approximate", "zcdp"]

GRAIN: Final = Fraction(1, 10**40)  # losses at an order are rounded up to multiples, so that sums stay short


def currency(budget: Loss) -> Currency:
    """The currency a budget fixes: ``approximate`` (epsilon, delta) or ``zcdp`` (rho, delta).

    Raises
    ------
    PublicParameterError
        For a loss that is no budget: a Rényi curve, Gaussian DP, a privacy-loss distribution.
    """
    match known(budget):
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
    match known(charge):
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
    """Sum of ``spent`` and ``charge`` in the currency of ``budget``; the budget is not checked.

    Parameters
    ----------
    spent, charge : Loss
        Terms of the sum.
    budget : Loss
        Its kind is the currency of the sum.

    Returns
    -------
    Loss
    """
    before, more = parts(enter(spent, budget)), parts(enter(charge, budget))
    return _loss(before[0] + more[0], before[1] + more[1], budget)


def admits(budget: Loss, spent: Loss, charge: Loss) -> bool:
    """Tell if ``charge`` still fits: every sum stays within the budget, with equality allowed.

    Parameters
    ----------
    budget : Loss
        The limit.
    spent, charge : Loss
        The total so far, and the charge asked for.

    Returns
    -------
    bool
    """
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
    match known(loss):
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


# ---- Rényi orders


@dataclass(frozen=True, slots=True)
class Orders:
    """Rényi orders > 1, rising, each with its share of a delta; shares are > 0 and add up to at most 1."""

    orders: tuple[Fraction, ...]
    shares: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        Renyi(tuple((order, Fraction(0)) for order in self.orders))  # checks that they rise from above 1
        if len(self.shares) != len(self.orders):
            raise PublicParameterError("every order has one share of delta")
        if any(exact(share, "share") <= 0 for share in self.shares) or sum(self.shares) > 1:
            raise PublicParameterError("shares of delta must be > 0 and add up to at most 1")


def even(*orders: Fraction) -> Orders:
    """The orders, with equal shares."""
    return Orders(orders, (Fraction(1, max(1, len(orders))),) * len(orders))


def delta_of(charge: Loss) -> Fraction:
    """The probability a charge takes out before its Rényi divergence is bounded."""
    match known(charge):
        case ApproxDP(_, delta) | ApproxZCDP(_, delta):
            return delta
        case PureDP() | ZCDP() | Renyi() | GaussianDP():
            return Fraction(0)
        case PLD():
            raise PublicParameterError(f"{words(charge)} must first be converted to a Rényi curve at these orders.")
        case _:
            assert_never(charge)


def at_order(charge: Loss, order: Fraction) -> Fraction | None:
    """The Rényi divergence of ``order`` > 1, rounded up, outside ``delta_of``; None where none is bounded.

    A curve says something of the orders between its own, since (alpha - 1) D_alpha is convex in alpha and 0 at 1.

    Raises
    ------
    PublicParameterError
        For a privacy-loss distribution: ``convert.renyi_of`` gives its curve, where it has one.
    """
    match known(charge):
        case PureDP(epsilon) | ApproxDP(epsilon):
            from reticent.privacy.rdp import coin

            return grains(coin(epsilon, order))
        case ZCDP(rho) | ApproxZCDP(rho):
            return grains(order * rho)
        case GaussianDP(mu_squared):
            return grains(order * mu_squared / 2)
        case Renyi(curve):
            before, low = Fraction(1), Fraction(0)
            for alpha, epsilon in curve:
                high = (alpha - 1) * epsilon
                if order <= alpha:
                    share = (order - before) / (alpha - before)
                    return grains((low + (high - low) * share) / (order - 1))
                before, low = alpha, high
            return None
        case PLD():
            raise PublicParameterError(f"{words(charge)} must first be converted to a Rényi curve at these orders.")
        case _:
            assert_never(charge)


def grains(number: Fraction) -> Fraction:
    """``number`` rounded up to a multiple of ``GRAIN``: rounded before adding, so that the order does not matter."""
    return (number / GRAIN).__ceil__() * GRAIN


def over_orders(
    orders: tuple[Fraction, ...], sums: tuple[Fraction | None, ...], charge: Loss
) -> tuple[Fraction | None, ...]:
    """The sums once ``charge`` is added at each order; None stays None.

    Parameters
    ----------
    orders : tuple of Fraction
        Rényi orders, each above 1.
    sums : tuple of Fraction or None
        Loss so far at each order.
    charge : Loss
        The loss to add.

    Returns
    -------
    tuple of Fraction or None
    """
    new = (at_order(charge, order) for order in orders)
    return tuple(
        None if a is None or b is None else a + b
        for a, b in zip(sums or (Fraction(0),) * len(orders), new, strict=True)
    )


def conversion(order: Fraction, delta: Fraction) -> Fraction:
    """Term that turns a Rényi loss at ``order`` into an epsilon at ``delta``, rounded up; it may be negative.

    Canonne, Kamath and Steinke 2020, Proposition 12: ln((a - 1) / a) - (ln delta + ln a) / (a - 1).
    """
    return log_up((order - 1) / order) - (log_down(delta) + log_down(order)) / (order - 1)


@dataclass(frozen=True, slots=True)
class RenyiFilter:
    """Admits charges as long as the transcript is sure to satisfy ``target``, an (epsilon, delta) with delta > 0.

    Attributes
    ----------
    target : ApproxDP
    grid : Orders
        Fixed before the first charge. One order is the filter of Feldman and Zrnic; several share delta.
    spare : Fraction
        The part of the target's delta kept for charges that have a delta of their own; 0 <= spare < delta.
    sums, deltas
        What is spent: a loss at each order (None: without bound), and the charges' own deltas.
    """

    target: ApproxDP
    grid: Orders
    spare: Fraction = Fraction(0)
    sums: tuple[Fraction | None, ...] = ()
    deltas: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 <= exact(self.spare, "spare") < self.target.delta:
            raise PublicParameterError(f"spare must lie in [0, {show(self.target.delta)}), got {show(self.spare)}")
        if not self.sums:
            object.__setattr__(self, "sums", (Fraction(0),) * len(self.grid.orders))
        if all(limit < 0 for limit in self.limits):
            raise PublicParameterError("at none of these orders is there room for a loss: take a larger order")

    @property
    def limits(self) -> tuple[Fraction, ...]:
        """The most that may be spent at each order; below zero where the order can never be used."""
        rest = self.target.delta - self.spare
        return tuple(
            self.target.epsilon - conversion(order, share * rest)
            for order, share in zip(self.grid.orders, self.grid.shares, strict=True)
        )

    def admits(self, charge: Loss) -> bool:
        """Tell if ``charge`` still fits at one order at least, and its delta into ``spare``."""
        after = over_orders(self.grid.orders, self.sums, charge)
        fits = any(sum_ is not None and sum_ <= limit for sum_, limit in zip(after, self.limits, strict=True))
        return fits and self.deltas + delta_of(charge) <= self.spare

    def add(self, charge: Loss) -> RenyiFilter:
        """The filter once ``charge`` is spent.

        Raises
        ------
        BudgetError
            When it does not fit.
        """
        if not self.admits(charge):
            raise BudgetError(f"{words(charge)} does not fit into what is left of {words(self.target)}.")
        after = over_orders(self.grid.orders, self.sums, charge)
        return replace(self, sums=after, deltas=self.deltas + delta_of(charge))
