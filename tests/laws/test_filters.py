"""Filters: exact sums in two currencies, and at Rényi orders; and no adversary who chooses the losses beats them.

An adversary plays against one pair of neighbours: each move is a mechanism, given by the probabilities of its answers
under either, and the charge it pays. ``best`` finds the most any strategy can reach, exactly, by dynamic programming.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import BudgetError, PublicParameterError
from reticent.exact.rounding import exp_down, log_up
from reticent.privacy import filters, profiles
from reticent.privacy.filters import Orders, RenyiFilter, even
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


@pytest.mark.wide
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


@pytest.mark.wide
@given(st.builds(ZCDP, amounts) | st.builds(ApproxZCDP, amounts, deltas), st.lists(concentrated, max_size=20))
def test_rho_and_its_delta_never_pass_the_budget(budget: Loss, charges: list[Loss]) -> None:
    spent, taken = spend(budget, charges)
    assert isinstance(spent, ZCDP | ApproxZCDP)
    assert all(part <= limit for part, limit in zip(filters.parts(spent), filters.parts(budget), strict=True))
    assert filters.parts(spent) == tuple(sum((worth(charge)[i] for charge in taken), Fraction(0)) for i in (0, 1))


@pytest.mark.wide
@given(approximate, st.lists(approximate, max_size=8), approximate)
def test_what_is_left_is_exactly_what_still_fits(budget: Loss, charges: list[Loss], more: Loss) -> None:
    spent, _ = spend(budget, charges)
    rest = filters.left(budget, spent)
    assert filters.admits(budget, spent, rest)
    fits = all(asked <= free for asked, free in zip(filters.parts(more), filters.parts(rest), strict=True))
    assert filters.admits(budget, spent, more) == fits


@pytest.mark.wide
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


# ---- adversaries who choose each mechanism and its loss from the earlier answers


State = TypeVar("State", bound=Hashable)
Ratio = Fraction | None  # how much likelier the outputs are under the first neighbour; None: impossible under the other


@dataclass(frozen=True, slots=True)
class Move:
    """A mechanism on one pair of neighbours: the probability of each answer under either, and what it pays."""

    answers: tuple[tuple[Fraction, Fraction], ...]
    charge: Loss


def best(
    menu: Sequence[Move],
    start: State,
    step: Callable[[State, Loss], State | None],
    worth: Callable[[State, Ratio], Fraction],
    rounds: int,
) -> Fraction:
    """The largest mean, under the first neighbour, of ``worth`` where a strategy stops; None from ``step`` refuses."""
    known: dict[tuple[State, Ratio, int], Fraction] = {}
    after = lru_cache(maxsize=None)(step)
    told = lru_cache(maxsize=None)(worth)

    def value(state: State, ratio: Ratio, left: int) -> Fraction:
        key = (state, ratio, left)
        if key not in known:
            found = told(state, ratio)
            for move in menu if left else ():
                following = after(state, move.charge)
                if following is not None:
                    parts = (
                        p * value(following, ratio * p / q if ratio is not None and q else None, left - 1)
                        for p, q in move.answers
                        if p
                    )
                    found = max(found, sum(parts, Fraction(0)))
            known[key] = found
        return known[key]

    return value(start, Fraction(1), rounds)


def excess(goal: Fraction, ratio: Ratio) -> Fraction:
    """(1 - e^eps q/p)^+ with e^eps = ``goal``: its mean is the delta at eps."""
    return Fraction(1) if ratio is None else max(Fraction(0), 1 - goal / ratio)


UNIT = log_up(Fraction(2))  # losses below are ln 2 and its multiples, charged at or just above them


def response(units: int, delta: Fraction = Fraction(0)) -> Move:
    """Randomised response of loss ``units`` ln 2, which with probability ``delta`` tells the neighbour."""
    p = (1 - delta) * Fraction(2**units, 2**units + 1)
    q = 1 - delta - p
    if delta == 0:
        return Move(((p, q), (q, p)), PureDP(units * UNIT))
    nothing = Fraction(0)
    return Move(((delta, nothing), (p, q), (q, p), (nothing, delta)), ApproxDP(units * UNIT, delta))


def under(budget: Loss) -> Callable[[Loss, Loss], Loss | None]:
    """The filter of a budget, as a step."""
    return lambda spent, charge: filters.add(spent, charge, budget) if filters.admits(budget, spent, charge) else None


MENU = [response(1), response(2), response(1, Fraction(1, 20)), response(3, Fraction(1, 30))]


def most_delta(budget: Loss, goal: Fraction, step: Callable[[Loss, Loss], Loss | None], rounds: int = 5) -> Fraction:
    return best(MENU, filters.nothing(budget), step, lambda _, ratio: excess(goal, ratio), rounds)


@pytest.mark.parametrize(
    ("units", "delta"), [(4, Fraction(1, 10)), (3, Fraction(1, 20)), (2, Fraction(0)), (5, Fraction(1, 12))]
)
def test_no_adversary_beats_an_approximate_budget_and_one_comes_close(units: int, delta: Fraction) -> None:
    budget = ApproxDP(units * UNIT, delta)
    reached = most_delta(budget, Fraction(2**units), under(budget))
    assert reached <= delta
    assert reached >= delta * Fraction(17, 20)
    assert most_delta(budget, Fraction(2 ** (units - 1)), under(budget)) > delta  # the epsilon is needed too


def test_a_filter_that_ignores_delta_is_beaten() -> None:
    budget = ApproxDP(4 * UNIT, Fraction(1, 10))

    def step(spent: Loss, charge: Loss) -> Loss | None:
        total = filters.add(spent, charge, budget)
        return total if filters.parts(total)[0] <= budget.epsilon else None

    assert most_delta(budget, Fraction(16), step) > Fraction(3, 20)


def composed(counts: tuple[int, ...], units: int) -> Fraction:
    """The exact delta at ``units`` ln 2 of randomised responses of 1, 2, ... units, their numbers fixed in advance."""
    law = {0: Fraction(1)}
    for size, times in enumerate(counts, start=1):
        for _ in range(times):
            following: dict[int, Fraction] = {}
            for loss, mass in law.items():
                for sign, odds in ((size, 2**size), (-size, 1)):
                    following[loss + sign] = following.get(loss + sign, Fraction(0)) + mass * odds / (2**size + 1)
            law = following
    return sum((mass * (1 - Fraction(2) ** (units - loss)) for loss, mass in law.items() if loss > units), Fraction(0))


def test_the_best_composition_of_fixed_losses_is_no_filter() -> None:
    units, delta = 3, Fraction(8, 27)
    menu = [response(1), response(2), response(3)]

    def step(counts: tuple[int, ...], charge: Loss) -> tuple[int, ...] | None:
        more = tuple(count + (charge == move.charge) for count, move in zip(counts, menu, strict=True))
        return more if composed(more, units) <= delta else None

    start: tuple[int, ...] = (0, 0, 0)
    reached = best(menu, start, step, lambda _, ratio: excess(Fraction(2**units), ratio), 6)
    assert reached / delta == Fraction(19, 15)


def chance(rng: random.Random) -> Move:
    """Any two answers, charged at their pure loss or, with a delta, at a smaller one."""
    p, q = Fraction(rng.randint(1, 19), 20), Fraction(rng.randint(1, 19), 20)
    answers = ((p, q), (1 - p, 1 - q))
    largest = max(max(a / b, b / a) for a, b in answers)
    goal = 1 + (largest - 1) * Fraction(rng.randint(5, 10), 10)
    one_way = sum((max(Fraction(0), a - goal * b) for a, b in answers), Fraction(0))
    delta = max(one_way, sum((max(Fraction(0), b - goal * a) for a, b in answers), Fraction(0)))
    return Move(answers, ApproxDP(log_up(goal), delta) if delta else PureDP(log_up(goal)))


@pytest.mark.parametrize("seed", range(40))
def test_random_adaptive_strategies_stay_within_the_budget(seed: int) -> None:
    rng = random.Random(seed)
    approximate_budget = ApproxDP(Fraction(rng.randint(1, 4)), Fraction(rng.randint(0, 3), 10))
    zcdp_budget = ApproxZCDP(Fraction(rng.randint(1, 8), 4), Fraction(rng.randint(0, 3), 10))

    def leaves(budget: Loss, spent: Loss, p: Fraction, q: Fraction, left: int) -> list[tuple[Fraction, Fraction]]:
        move = chance(rng)
        if left == 0 or not filters.admits(budget, spent, move.charge):
            return [(p, q)]
        more = filters.add(spent, move.charge, budget)
        return [leaf for a, b in move.answers for leaf in leaves(budget, more, p * a, q * b, left - 1)]

    transcript = leaves(approximate_budget, PureDP(Fraction(0)), Fraction(1), Fraction(1), 5)
    goal = exp_down(approximate_budget.epsilon)
    for law in (transcript, [(q, p) for p, q in transcript]):
        assert sum((max(Fraction(0), p - goal * q) for p, q in law), Fraction(0)) <= approximate_budget.delta + TINY
    transcript = leaves(zcdp_budget, ZCDP(Fraction(0)), Fraction(1), Fraction(1), 5)
    for order in (Fraction(3, 2), Fraction(3), Fraction(8)):
        extra = Fraction(1, 100)
        goal = exp_down(order * zcdp_budget.rho + filters.conversion(order, extra))
        told = sum((max(Fraction(0), p - goal * q) for p, q in transcript), Fraction(0))
        assert told <= zcdp_budget.delta + (1 - zcdp_budget.delta) * extra + TINY


TINY = Fraction(1, 10**30)  # goals are rounded down


@pytest.mark.parametrize("order", [2, 3, 6])
def test_no_adversary_beats_a_zcdp_budget(order: int) -> None:
    budget = ZCDP(9 * UNIT**2 / 2)
    menu = [response(1), response(2), response(3)]
    moment = best(
        menu, filters.nothing(budget), under(budget), lambda _, ratio: (ratio or Fraction(0)) ** (order - 1), 9
    )
    assert moment <= exp_down(order * (order - 1) * budget.rho)
    assert moment >= exp_down(order * (order - 1) * budget.rho * Fraction(1, 3))


def test_no_adversary_beats_an_approximate_zcdp_budget_and_one_that_ignores_delta_is_beaten() -> None:
    budget = ApproxZCDP(4 * UNIT**2 / 2, Fraction(1, 10))
    extra, order = Fraction(1, 20), Fraction(5, 2)
    goal = exp_down(order * budget.rho + filters.conversion(order, extra))

    def careless(spent: Loss, charge: Loss) -> Loss | None:
        total = filters.add(spent, charge, budget)
        return total if filters.parts(total)[0] <= budget.rho else None

    promised = budget.delta + (1 - budget.delta) * extra
    assert budget.delta * Fraction(9, 10) <= most_delta(budget, goal, under(budget)) <= promised
    assert most_delta(budget, goal, careless) > promised


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=2, max_size=6), st.sampled_from([2, 3]))
def test_approximate_pairs_are_pure_but_for_delta(weights: list[tuple[int, int]], goal: int) -> None:
    """The two laws P0 and Q0 of docs/proofs/spending.md, made equal in mass, on every small pair."""
    p_all, q_all = (sum(pair[i] for pair in weights) for i in (0, 1))
    p = [Fraction(a, p_all) for a, _ in weights]
    q = [Fraction(b, q_all) for _, b in weights]
    delta = max(
        sum((max(Fraction(0), a - goal * b) for a, b in zip(p, q, strict=True)), Fraction(0)),
        sum((max(Fraction(0), b - goal * a) for a, b in zip(p, q, strict=True)), Fraction(0)),
    )
    first = [min(a, goal * b) for a, b in zip(p, q, strict=True)]
    second = [min(b, goal * a) for a, b in zip(p, q, strict=True)]
    if sum(first) < sum(second):
        first, second = second, first
    low = [min(a, b) for a, b in zip(first, second, strict=True)]
    room = sum(first) - sum(low)
    part = (sum(second) - sum(low)) / Fraction(room) if room else Fraction(0)
    first = [least + part * (a - least) for a, least in zip(first, low, strict=True)]
    assert sum(first) == sum(second) >= 1 - delta
    assert all(a <= goal * b and b <= goal * a for a, b in zip(first, second, strict=True))


# ---- Rényi orders


def binary(p: Fraction, ratio: Fraction, orders: Sequence[int]) -> Move:
    """Answers 1 with ``p`` or ``p / ratio``; charged its own Rényi divergences, the larger of the two directions."""
    answers = ((p, p / ratio), (1 - p, 1 - p / ratio))

    def power(order: int, swap: bool) -> Fraction:
        pairs = [(b, a) if swap else (a, b) for a, b in answers]
        return sum((b * (a / b) ** order for a, b in pairs), Fraction(0))

    curve = (
        (Fraction(order), log_up(max(power(order, swap=False), power(order, swap=True))) / (order - 1))
        for order in orders
    )
    return Move(answers, Renyi(tuple(curve)))


SPLIT_MENU = [  # the first of 33 times the loss of the others; found by hand: docs/proofs/spending.md
    binary(Fraction(33, 800), Fraction(5, 4), (2, 33)),
    binary(Fraction(18, 25), Fraction(3379), (2, 33)),
    binary(Fraction(9, 5000), Fraction(8192), (2, 33)),
]


def beyond(goal: Fraction) -> Callable[[Hashable, Ratio], Fraction]:
    return lambda _, ratio: excess(goal, ratio)


def admitted(state: RenyiFilter, charge: Loss) -> RenyiFilter | None:
    return state.add(charge) if state.admits(charge) else None


def test_several_orders_need_their_shares_of_delta() -> None:
    target = ApproxDP(12 * UNIT, Fraction(1, 1000))
    split = RenyiFilter(target, even(Fraction(2), Fraction(33)))
    whole = [limit + log_up(Fraction(2)) / (order - 1) for limit, order in zip(split.limits, (2, 33), strict=True)]

    def unsplit(sums: tuple[Fraction, Fraction], charge: Loss) -> tuple[Fraction, Fraction] | None:
        low, high = (filters.at_order(charge, Fraction(order)) for order in (2, 33))
        after = (sums[0] + (low or 0), sums[1] + (high or 0))
        return after if any(a <= limit for a, limit in zip(after, whole, strict=True)) else None

    goal, nothing = Fraction(4096), (Fraction(0), Fraction(0))
    beaten = best(SPLIT_MENU, nothing, unsplit, lambda _, ratio: excess(goal, ratio), 3)
    assert beaten > target.delta * Fraction(17, 10)
    smaller = [
        SPLIT_MENU[0],
        binary(Fraction(3, 10), Fraction(3379), (2, 33)),
        binary(Fraction(1, 1250), goal * 2, (2, 33)),
    ]
    for menu, least in ((SPLIT_MENU, 0), (smaller, Fraction(3, 4))):
        assert least * target.delta <= best(menu, split, admitted, beyond(goal), 3) <= target.delta


@pytest.mark.parametrize("orders", [(2,), (5,), (2, 9), (2, 5, 17)])
def test_no_adversary_beats_a_renyi_filter(orders: tuple[int, ...]) -> None:
    rng = random.Random(sum(orders))
    for units, delta in ((2, Fraction(1, 5)), (4, Fraction(1, 20))):
        start = RenyiFilter(ApproxDP(units * UNIT, delta), even(*(Fraction(order) for order in orders)))
        menu = [
            binary(Fraction(rng.randint(1, 15), 20), Fraction(rng.choice([5, 6, 8, 12, 24, 64]), 4), orders)
            for _ in range(3)
        ]
        for moves in (menu, [Move(tuple((q, p) for p, q in move.answers), move.charge) for move in menu]):
            assert best(moves, start, admitted, beyond(Fraction(2**units)), 5) <= delta


def test_a_renyi_filter_keeps_a_spare_delta_for_charges_with_their_own() -> None:
    target = ApproxDP(4 * UNIT, Fraction(1, 5))
    start = RenyiFilter(target, even(Fraction(2), Fraction(4)), spare=Fraction(1, 10))
    menu = [response(1, Fraction(1, 20)), response(1), response(2, Fraction(1, 20))]
    reached = best(menu, start, admitted, lambda _, ratio: excess(Fraction(16), ratio), 5)
    assert Fraction(9, 100) <= reached <= target.delta
    third = start.add(menu[0].charge).add(menu[2].charge)
    assert third.deltas == start.spare
    assert third.admits(PureDP(UNIT / 10))
    assert not third.admits(ApproxDP(Fraction(0), Fraction(1, 10**9)))
    assert start.limits == RenyiFilter(replace(target, delta=Fraction(1, 10)), start.grid).limits
    careless = replace(start, spare=Fraction(0))
    assert careless.admits(response(1).charge)
    assert not careless.admits(response(1, Fraction(1, 20)).charge)


def test_one_order_is_a_sum_that_stops_at_its_limit() -> None:
    start = RenyiFilter(ApproxDP(Fraction(1), Fraction(1, 10**6)), even(Fraction(20)))
    (limit,) = start.limits
    half = start.add(ZCDP(limit / 40))
    assert half.sums[0] is not None
    assert abs(half.sums[0] - limit / 2) <= filters.GRAIN
    with pytest.raises(BudgetError, match="does not fit"):
        half.add(ZCDP(limit / 40 + Fraction(1, 10**20)))
    assert half.admits(ZCDP(limit / 40 - Fraction(1, 10**20)))


def test_a_renyi_filter_is_opened_with_room_and_with_shares() -> None:
    target = ApproxDP(Fraction(1), Fraction(1, 10**6))
    with pytest.raises(PublicParameterError, match="larger order"):
        RenyiFilter(target, even(Fraction(2)))
    with pytest.raises(PublicParameterError, match="spare"):
        RenyiFilter(target, even(Fraction(20)), spare=target.delta)
    with pytest.raises(PublicParameterError, match="one share"):
        Orders((Fraction(2), Fraction(3)), (Fraction(1),))
    with pytest.raises(PublicParameterError, match="at most 1"):
        Orders((Fraction(2), Fraction(3)), (Fraction(1), Fraction(1)))
    with pytest.raises(PublicParameterError):
        Orders((Fraction(1),), (Fraction(1),))


def test_losses_at_an_order() -> None:
    """Exact divergences of randomised response, and curves between their orders."""
    p = Fraction(2, 3)
    for order in (2, 3, 7, 33):
        exactly = log_up(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)
        found = filters.at_order(PureDP(UNIT), Fraction(order))
        assert found is not None
        assert 0 <= found - exactly < Fraction(1, 10**30)
        assert abs(found - profiles.renyi(PureDP(UNIT), Fraction(order))) < Fraction(1, 10**11)
        assert found <= min(UNIT, order * UNIT**2 / 2) + filters.GRAIN
    curve = Renyi(((Fraction(2), Fraction(2)), (Fraction(5), Fraction(5))))  # (alpha - 1) D: 2 at 2, 20 at 5
    assert filters.at_order(curve, Fraction(3)) == Fraction(4)
    assert filters.at_order(curve, Fraction(3, 2)) == Fraction(2)
    assert filters.at_order(curve, Fraction(5)) == Fraction(5)
    assert filters.at_order(curve, Fraction(6)) is None
    assert filters.at_order(PureDP(Fraction(100)), Fraction(9)) == 100
    assert filters.at_order(GaussianDP(Fraction(3)), Fraction(4)) == filters.at_order(ZCDP(Fraction(3, 2)), Fraction(4))
    for question in (filters.delta_of, lambda loss: filters.at_order(loss, Fraction(2))):
        with pytest.raises(PublicParameterError, match="Rényi curve"):
            question(pld_of([(Coin(Fraction(1)), 2)]))
