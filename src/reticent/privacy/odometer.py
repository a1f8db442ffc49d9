"""Odometers: how much is spent by now, when whoever asks chooses every loss from the answers and stops at will.

A filter holds a budget and says *no*; what it promises is said of the budget. An odometer holds no budget and never
says no: it is a report, and must be right at the moment it is read, which may have been chosen because of what was
seen. The ledger uses filters.

What it promises
----------------
A strategy chooses each mechanism and its charge from the outputs so far, and a round T at which to stop. L_t is the
loss ln p/q of the first t outputs under neighbours with laws P and Q; D_t the sum of the charges' own deltas.

    spent         P(S) <= E_Q[e^spent_T ; S] + delta + E_P D_T   for every event S of the outputs up to T: what the
                  reader of the first T outputs learns is (epsilon, delta)-DP with the epsilon shown at T
    throughout    but for probability delta, L_t <= throughout_t at *all* t at once (with charges that have a delta: the
                  loss outside their failures, which happen before T with probability at most E_P D_T)

The second is the odometer of Rogers, Roth, Ullman and Vadhan 2016; it implies the first. The first is enough for
whoever stops once, and costs less.

Theorem
-------
S_j is the sum of Rényi losses at order a_j, shares w_j sum to at most 1, all fixed before the first charge.

*sums*: when every charge is pure or approximate, the sum of epsilons, and delta = 0.
*spent*: the least over j of S_j + ln((a_j - 1) / a_j) - (ln(delta w_j) + ln a_j) / (a_j - 1), or what follows if less.
*throughout*: the epsilon where the sum over j of w_j exp((a_j - 1)(epsilon - S_j)) reaches 1 / delta, which is at most
the least over j of S_j + ln(1 / (delta w_j)) / (a_j - 1).

Proof. Without own deltas, M_j = exp((a_j - 1)(L - S_j)) is a supermartingale under P from 1: given the past, the next
factor has mean exp((a_j - 1) D) / exp((a_j - 1) s) with D <= s, whatever mechanism was chosen. So is W = sum w_j M_j.
*throughout*: L_t above it means W_t > 1 / delta, which Ville's inequality gives probability at most delta over all t.
*spent*: with the j of the least, (1 - e^(spent - L))^+ <= c_j e^((a_j - 1)(L - spent)) = delta w_j M_j <= delta W
(``filters`` has c_j), and E W_T <= 1 at any stopping time; P(S) - E_Q[e^spent ; S] <= E_P (1 - e^(spent - L_T))^+. If
*throughout* is less, the first is at most the indicator of L > throughout, which is at most delta W again. Own deltas:
each output is of its good part but for a coin of probability delta_i, so all up to T are but for E_P D_T. The above
holds for the good parts, whose density under Q is at most q. ∎ In full: docs/proofs/spending.md.

Source
------
Rogers, Roth, Ullman and Vadhan 2016; Lécuyer 2021, "Practical privacy filters and odometers with Rényi differential
privacy"; Whitehouse, Ramdas, Rogers and Wu 2023.

Deviations
----------
The literature takes the least of several bounds with the delta split; ``throughout`` uses the weighted mean of the
supermartingales, which is never worse. ``spent`` is the sharper conversion of Canonne, Kamath and Steinke at a stopping
time, by the same weights. A bound for a *fixed* time, without weights, is wrong there: tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, TypeAlias

from reticent.errors import PublicParameterError
from reticent.exact.rounding import exp_down, log_down, round_up
from reticent.privacy.filters import Orders, conversion, delta_of, even, grains, over_orders
from reticent.privacy.loss import ApproxDP, Loss, PureDP, known
from reticent.privacy.numbers import exact, read, show

# alpha - 1 = 1/8, 3/16, 1/4, ..., 768, 1024: near the best order for rho from 1e-4 to 100
GRID: Final = even(
    *(1 + Fraction(2) ** k * step for k in range(-3, 10) for step in (1, Fraction(3, 2))), Fraction(1025)
)

Term: TypeAlias = tuple[Fraction, Fraction, Fraction]  # an order, its share of delta, the loss spent at it


@dataclass(frozen=True, slots=True)
class Odometer:
    """Running total of the charges, and the loss it amounts to.

    Attributes
    ----------
    delta : Fraction
        0 <= delta < 1, fixed before the first charge. Zero serves pure and approximate charges alone.
    grid : Orders
        Fixed before the first charge too.
    sums : tuple
        Rényi losses at each order, None where there is no bound; empty when ``delta`` is 0.
    epsilon : Fraction or None
        The sum of epsilons; None once a charge had none.
    deltas : Fraction
        The sum of the charges' own deltas.
    """

    delta: Fraction = Fraction(0)
    grid: Orders = GRID
    sums: tuple[Fraction | None, ...] = ()
    epsilon: Fraction | None = Fraction(0)
    deltas: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 <= exact(self.delta, "delta") < 1:
            raise PublicParameterError(f"delta must lie in [0, 1), got {show(self.delta)}")
        if self.delta and not self.sums:
            object.__setattr__(self, "sums", (Fraction(0),) * len(self.grid.orders))
        if len(self.sums) != (len(self.grid.orders) if self.delta else 0):
            raise PublicParameterError("an odometer has one sum for each order, and none where delta is 0")
        told = [self.deltas, *(number for number in (*self.sums, self.epsilon) if number is not None)]
        if any(exact(number, "a sum of losses") < 0 for number in told):
            raise PublicParameterError("sums of losses must be >= 0")

    def add(self, charge: Loss) -> Odometer:
        """The odometer once ``charge`` is spent; one step for each order."""
        match known(charge):
            case PureDP(epsilon) | ApproxDP(epsilon):
                total = None if self.epsilon is None else self.epsilon + grains(epsilon)
            case _:
                total = None
        sums = over_orders(self.grid.orders, self.sums, charge) if self.delta else ()
        return replace(self, sums=sums, epsilon=total, deltas=self.deltas + grains(delta_of(charge)))

    def spent(self) -> PureDP | ApproxDP:
        """Loss of all outputs so far if the analyst stops here: (epsilon, delta + own deltas).

        Raises
        ------
        PublicParameterError
            When no epsilon holds: a charge in rho and no delta named, or deltas that reach 1.
        """
        terms = self._bounded()
        return self._told([_sharp(terms, self.delta), _crossing(terms, self.delta)] if terms else [])

    def throughout(self) -> PureDP | ApproxDP:
        """Bound on the loss at all times so far, but for delta and the own deltas.

        Raises
        ------
        PublicParameterError
            When no epsilon holds: a charge in rho and no delta named, or deltas that reach 1.
        """
        terms = self._bounded()
        return self._told([_crossing(terms, self.delta)] if terms else [])

    def _bounded(self) -> list[Term]:
        terms = zip(self.grid.orders, self.grid.shares, self.sums, strict=False)  # no sums where delta is 0
        return [(order, share, total) for order, share, total in terms if total is not None]

    def _told(self, bounds: list[Fraction]) -> PureDP | ApproxDP:
        found = bounds if self.epsilon is None else [*bounds, self.epsilon]
        if not found:
            raise PublicParameterError("No ε can be told of these losses: name a δ when the odometer starts.")
        epsilon, delta = round_up(max(min(found), Fraction(0))), self.delta + self.deltas
        return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)


def _sharp(terms: list[Term], delta: Fraction) -> Fraction:
    """The least bound of ``spent``; the order is found in floats, the bound computed in certified rationals."""

    def guess(term: Term) -> float:
        order, share, total = term
        more = math.log1p(-1 / float(order)) - (_log(delta * share) + _log(order)) / float(order - 1)
        return float(total) + more

    order, share, total = min(terms, key=guess)
    return total + conversion(order, delta * share)


def _crossing(terms: list[Term], delta: Fraction) -> Fraction:
    """At or above the epsilon where the weighted mean of the supermartingales reaches 1 / delta."""

    def alone(term: Term) -> float:
        order, share, total = term
        return float(total) - _log(delta * share) / float(order - 1)

    order, share, total = min(terms, key=alone)
    high = total - log_down(delta * share) / (order - 1)  # where its one term does so alone
    low, top = 0.0, float(high)
    for _ in range(60):
        middle = (low + top) / 2
        low, top = (low, middle) if _mean(terms, middle) >= -_log(delta) else (middle, top)
    found = round_up(Fraction(top) * (1 + Fraction(1, 10**9)))
    exponents = ((share, (order - 1) * (found - total)) for order, share, total in terms)
    reached = sum((share * exp_down(power) for share, power in exponents if power > -100), Fraction(0))
    return found if found < high and reached * delta >= 1 else high


def _mean(terms: list[Term], epsilon: float) -> float:
    """ln of the sum of w exp((a - 1)(epsilon - s)), in floats."""
    powers = [_log(share) + float(order - 1) * (epsilon - float(total)) for order, share, total in terms]
    largest = max(powers)
    return largest + math.log(sum(math.exp(power - largest) for power in powers))


def _log(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)


# ---- as JSON


def to_json(odometer: Odometer) -> dict[str, object]:
    return {
        "delta": show(odometer.delta),
        "orders": [show(order) for order in odometer.grid.orders],
        "shares": [show(share) for share in odometer.grid.shares],
        "sums": [None if total is None else show(total) for total in odometer.sums],
        "epsilon": None if odometer.epsilon is None else show(odometer.epsilon),
        "deltas": show(odometer.deltas),
    }


def from_json(fields: Mapping[str, Any]) -> Odometer:
    """The odometer ``to_json`` wrote.

    Raises
    ------
    PublicParameterError, KeyError, TypeError, ValueError
        For anything else.
    """

    def optional(number: object, name: str) -> Fraction | None:
        return None if number is None else read(str(number), name)

    return Odometer(
        read(fields["delta"], "delta"),
        Orders(
            tuple(read(order, "order") for order in fields["orders"]),
            tuple(read(share, "share") for share in fields["shares"]),
        ),
        tuple(optional(total, "sum") for total in fields["sums"]),
        optional(fields["epsilon"], "epsilon"),
        read(fields["deltas"], "deltas"),
    )
