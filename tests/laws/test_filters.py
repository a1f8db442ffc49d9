"""Filters: exact sums, in two currencies."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import PublicParameterError
from reticent.privacy import filters
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, pld_of
from reticent.privacy.pairs import Coin

amounts = st.fractions(min_value=0, max_value=3, max_denominator=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**6)
approximate = st.builds(PureDP, amounts) | st.builds(ApproxDP, amounts, deltas)
concentrated = (
    st.builds(ZCDP, amounts)
    | st.builds(PureDP, amounts)
    | st.builds(GaussianDP, amounts)
    | st.builds(ApproxZCDP, amounts, deltas)
    | st.builds(ApproxDP, amounts, deltas)
)
CURVE = Renyi(((Fraction(2), Fraction(1, 10)),))


def spend(budget: Loss, charges: list[Loss]) -> tuple[Loss, list[Loss]]:
    """What a curator spends who takes every charge the filter admits."""
    spent, taken = filters.nothing(budget), []
    for charge in charges:
        if filters.admits(budget, spent, charge):
            spent = filters.add(spent, charge, budget)
            taken.append(charge)
    return spent, taken


@given(approximate, st.lists(approximate, max_size=20))
def test_epsilon_and_delta_never_pass_the_budget(budget: Loss, charges: list[Loss]) -> None:
    spent, taken = spend(budget, charges)
    assert all(part <= limit for part, limit in zip(filters.parts(spent), filters.parts(budget), strict=True))
    sums = [sum((filters.parts(charge)[i] for charge in taken), Fraction(0)) for i in (0, 1)]
    assert filters.parts(spent) == tuple(sums)


def worth(charge: Loss) -> tuple[Fraction, Fraction]:
    """rho and delta of a charge, written down once more."""
    match charge:
        case PureDP(epsilon):
            return epsilon**2 / 2, Fraction(0)
        case ApproxDP(epsilon, delta):
            return epsilon**2 / 2, delta
        case ZCDP(rho):
            return rho, Fraction(0)
        case ApproxZCDP(rho, delta):
            return rho, delta
        case GaussianDP(mu_squared):
            return mu_squared / 2, Fraction(0)
        case _:
            raise AssertionError(charge)


@given(st.builds(ZCDP, amounts) | st.builds(ApproxZCDP, amounts, deltas), st.lists(concentrated, max_size=20))
def test_rho_and_its_delta_never_pass_the_budget(budget: Loss, charges: list[Loss]) -> None:
    spent, taken = spend(budget, charges)
    assert isinstance(spent, ZCDP | ApproxZCDP)
    assert all(part <= limit for part, limit in zip(filters.parts(spent), filters.parts(budget), strict=True))
    assert filters.parts(spent) == tuple(sum((worth(charge)[i] for charge in taken), Fraction(0)) for i in (0, 1))


@given(approximate, st.lists(approximate, max_size=8), approximate)
def test_what_is_left_is_exactly_what_still_fits(budget: Loss, charges: list[Loss], more: Loss) -> None:
    spent, _ = spend(budget, charges)
    rest = filters.left(budget, spent)
    assert filters.admits(budget, spent, rest)
    fits = all(asked <= free for asked, free in zip(filters.parts(more), filters.parts(rest), strict=True))
    assert filters.admits(budget, spent, more) == fits


@given(approximate, approximate, approximate)
def test_adding_commutes_and_is_monotone(budget: Loss, first: Loss, second: Loss) -> None:
    one_way = filters.add(filters.add(filters.nothing(budget), first, budget), second, budget)
    other_way = filters.add(filters.add(filters.nothing(budget), second, budget), first, budget)
    assert one_way == other_way
    assert all(a >= b for a, b in zip(filters.parts(one_way), filters.parts(first), strict=True))


def test_what_enters_a_zcdp_budget() -> None:
    budget, delta = ApproxZCDP(Fraction(3), Fraction(1, 100)), Fraction(1, 10**9)
    assert filters.enter(PureDP(Fraction(1)), budget) == ZCDP(Fraction(1, 2))
    assert filters.enter(ApproxDP(Fraction(1), delta), budget) == ApproxZCDP(Fraction(1, 2), delta)
    assert filters.enter(GaussianDP(Fraction(1, 3)), budget) == ZCDP(Fraction(1, 6))
    assert filters.enter(ApproxZCDP(Fraction(1), Fraction(0)), budget) == ZCDP(Fraction(1))
    for charge in (CURVE, pld_of([(Coin(Fraction(1)), 2)])):
        with pytest.raises(PublicParameterError, match=r"converted to .* named in the release"):
            filters.enter(charge, budget)


def test_a_delta_is_not_free_where_the_budget_has_none() -> None:
    assert not filters.admits(ZCDP(Fraction(1)), ZCDP(Fraction(0)), ApproxDP(Fraction(0), Fraction(1, 10**30)))
    assert not filters.admits(PureDP(Fraction(1)), PureDP(Fraction(0)), ApproxDP(Fraction(0), Fraction(1, 10**30)))


def test_nothing_else_has_a_price_in_epsilon_before_a_delta_is_named() -> None:
    budget = ApproxDP(Fraction(1), Fraction(1, 10**9))
    others: tuple[Loss, ...] = (
        ZCDP(Fraction(1, 10)),
        ApproxZCDP(Fraction(1, 10), Fraction(1, 10**12)),
        GaussianDP(Fraction(1)),
        CURVE,
        pld_of([(Coin(Fraction(1)), 2)]),
    )
    for charge in others:
        with pytest.raises(PublicParameterError, match="named in the release"):
            filters.enter(charge, budget)


def test_only_two_currencies_are_budgets() -> None:
    for loss in (GaussianDP(Fraction(1)), CURVE, pld_of([(Coin(Fraction(1)), 2)])):
        for question in (filters.currency, filters.nothing, filters.parts):
            with pytest.raises(PublicParameterError):
                question(loss)


def test_a_zero_delta_is_pure_in_either_currency() -> None:
    charge = ApproxDP(Fraction(2), Fraction(0))
    assert filters.enter(charge, ZCDP(Fraction(3))) == ZCDP(Fraction(2))
    assert filters.add(PureDP(Fraction(0)), charge, PureDP(Fraction(3))) == PureDP(Fraction(2))


def test_the_last_of_the_budget_may_be_spent_and_not_a_billionth_more() -> None:
    budget = PureDP(Fraction(1))
    assert filters.admits(budget, PureDP(Fraction(9, 10)), PureDP(Fraction(1, 10)))
    assert not filters.admits(budget, PureDP(Fraction(9, 10)), PureDP(Fraction(1, 10) + Fraction(1, 10**9)))
