"""Filters: exact sums, in two currencies."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import PublicParameterError
from reticent.privacy import filters
from reticent.privacy.loss import ZCDP, ApproxDP, Loss, PureDP

amounts = st.fractions(min_value=0, max_value=3, max_denominator=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**6)
approximate = st.builds(PureDP, amounts) | st.builds(ApproxDP, amounts, deltas)
concentrated = st.builds(ZCDP, amounts) | st.builds(PureDP, amounts)


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


@given(st.builds(ZCDP, amounts), st.lists(concentrated, max_size=20))
def test_rho_never_passes_the_budget_and_pure_enters_as_half_its_square(budget: ZCDP, charges: list[Loss]) -> None:
    spent, taken = spend(budget, charges)
    assert isinstance(spent, ZCDP)
    assert spent.rho <= budget.rho
    worth = [charge.epsilon**2 / 2 if isinstance(charge, PureDP) else filters.parts(charge)[0] for charge in taken]
    assert spent.rho == sum(worth, Fraction(0))


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


def test_delta_has_no_price_in_rho() -> None:
    with pytest.raises(PublicParameterError, match="has no ρ"):
        filters.enter(ApproxDP(Fraction(1), Fraction(1, 10**9)), ZCDP(Fraction(1)))


def test_rho_has_no_price_in_epsilon_before_a_delta_is_named() -> None:
    with pytest.raises(PublicParameterError, match="named in the release"):
        filters.enter(ZCDP(Fraction(1, 10)), ApproxDP(Fraction(1), Fraction(1, 10**9)))


def test_a_zero_delta_is_pure_in_either_currency() -> None:
    charge = ApproxDP(Fraction(2), Fraction(0))
    assert filters.enter(charge, ZCDP(Fraction(3))) == ZCDP(Fraction(2))
    assert filters.add(PureDP(Fraction(0)), charge, PureDP(Fraction(3))) == PureDP(Fraction(2))


def test_the_last_of_the_budget_may_be_spent_and_not_a_billionth_more() -> None:
    budget = PureDP(Fraction(1))
    assert filters.admits(budget, PureDP(Fraction(9, 10)), PureDP(Fraction(1, 10)))
    assert not filters.admits(budget, PureDP(Fraction(9, 10)), PureDP(Fraction(1, 10) + Fraction(1, 10**9)))
