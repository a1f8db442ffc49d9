"""Odometers: what they tell holds where an adversary stops, who chose every loss from the answers.

The adversary of ``test_filters`` also chooses when to stop; what she can reach is computed exactly.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import PublicParameterError
from reticent.exact.rounding import exp_down, exp_up, log_up
from reticent.privacy import filters
from reticent.privacy.filters import even
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, pld_of
from reticent.privacy.odometer import Odometer, from_json, to_json
from reticent.privacy.pairs import Coin
from reticent.privacy.profiles import epsilon
from tests.conventions.test_docs_examples import blocks
from tests.conventions.tree import ROOT
from tests.laws.test_filters import UNIT, Move, Ratio, best, binary, excess, response

Told = Callable[[Odometer], Fraction]


def spent(odometer: Odometer) -> Fraction:
    return odometer.spent().epsilon


def throughout(odometer: Odometer) -> Fraction:
    return odometer.throughout().epsilon


def added(state: Odometer, charge: Loss) -> Odometer | None:
    return state.add(charge)


def leaked(menu: Sequence[Move], start: Odometer, told: Told, rounds: int) -> Fraction:
    """The largest delta, over strategies and stopping rules, of the outputs up to where one stops, at what is told."""
    goal = lru_cache(maxsize=None)(lambda odometer: exp_down(told(odometer)))
    return best(menu, start, added, lambda state, ratio: excess(goal(state), ratio), rounds)


def passed(menu: Sequence[Move], start: Odometer, told: Told, rounds: int, *, surely: bool = False) -> Fraction:
    """The largest probability that the loss is ever above what is told at that time."""
    edge = lru_cache(maxsize=None)(lambda odometer: (exp_up if surely else exp_down)(told(odometer)))

    def above(state: Odometer, ratio: Ratio) -> Fraction:
        return Fraction(ratio is None or ratio > edge(state))

    return best(menu, start, added, above, rounds)


def drawn(seed: int, orders: tuple[int, ...], size: int) -> list[Move]:
    """Mechanisms that seldom lose much, and others, charged their own Rényi divergences."""
    rng = random.Random(seed)
    ratios = [Fraction(rng.choice([9, 10, 12, 16, 24, 48, 128, 512]), 8) for _ in range(size)]
    return [binary(Fraction(rng.choice([1, 2, 4, 9, 10, 30, 60]), 100), ratio, orders) for ratio in ratios]


@pytest.mark.loop(7)
@pytest.mark.parametrize("seed", range(12))
def test_no_adversary_beats_an_odometer(seed: int) -> None:
    orders = ((2,), (3, 33), (2, 5, 17))[seed % 3]
    delta = (Fraction(1, 10), Fraction(1, 50))[seed % 2]
    start = Odometer(delta, even(*(Fraction(order) for order in orders)))
    menu = drawn(seed, orders, 3)
    for moves in (menu, [Move(tuple((q, p) for p, q in move.answers), move.charge) for move in menu]):
        assert leaked(moves, start, spent, 4) <= delta
        assert passed(moves, start, throughout, 4) <= delta


def test_some_adversary_comes_within_a_tenth_of_one_order() -> None:
    """One order, one mechanism that seldom loses just too much: the bounds cannot be much better."""
    delta = Fraction(1, 50)
    start = Odometer(delta, even(Fraction(33)))
    assert passed([binary(Fraction(19, 1000), Fraction(64), (33,))], start, throughout, 1) >= delta * Fraction(9, 10)
    assert leaked([binary(Fraction(3, 10), Fraction(64), (33,))], start, spent, 2) >= delta * Fraction(2, 10)


SELDOM = [binary(Fraction(19, 1000), Fraction(64), (3, 33)), binary(Fraction(18, 1000), Fraction(5, 4), (3, 33))]
SOONER = [binary(Fraction(3, 100), Fraction(64), (2, 5, 17)), binary(Fraction(8, 100), Fraction(4), (2, 5, 17))]


def test_an_odometer_whose_orders_do_not_share_delta_is_beaten() -> None:
    delta = Fraction(1, 50)

    def apart(told: Callable[[Odometer], Fraction], orders: tuple[int, ...]) -> Told:
        """The least of what each order would tell alone, at all of delta."""

        def least(odometer: Odometer) -> Fraction:
            alone = [
                Odometer(delta, even(Fraction(order)), (total,), None)
                for order, total in zip(orders, odometer.sums, strict=True)
            ]
            return min(told(one) for one in alone)

        return least

    for menu, orders, told, worst, factor in (
        (SELDOM, (3, 33), throughout, passed, Fraction(18, 10)),
        (SOONER, (2, 5, 17), spent, leaked, Fraction(13, 10)),
    ):
        start = Odometer(delta, even(*(Fraction(order) for order in orders)))
        assert worst(menu, start, told, 3) <= delta
        assert worst(menu, start, apart(told, orders), 3) > factor * delta


def walked(odds: Fraction, delta: Fraction, rounds: int, told: Sequence[Fraction], worth: str) -> Fraction:
    """Randomised response again and again, stopped at the best moment: the delta, or the chance of ever being above.

    Exact on the walk of the loss; ``told`` is the epsilon shown after each number of rounds.
    """
    p = odds / (1 + odds)
    goals = [exp_up(epsilon, 64) for epsilon in told]

    def here(time: int, place: int) -> Fraction:
        found = excess(goals[time], odds**place)
        return Fraction(found > 0) if worth == "ever" else found

    scale = 2**100  # values are rounded down to multiples of 1 / scale: what is found was reached
    p_int = int(p * scale)
    values = {place: int(here(rounds, place) * scale) for place in range(-rounds, rounds + 1)}
    for time in reversed(range(rounds)):
        values = {
            place: max(
                (p_int * values[place + 1] + (scale - p_int) * values[place - 1]) // scale,
                int(here(time, place) * scale) if place > 0 else 0,
            )
            for place in range(-time, time + 1)
        }
    return Fraction(values[0], scale)


@pytest.mark.wide
def test_a_bound_for_a_fixed_time_is_beaten_by_stopping_and_an_odometer_is_not() -> None:
    """The conversion of zCDP at delta, read after each of 60 randomised responses (odds 6/5) until it looks wrong."""
    odds, delta, rounds = Fraction(6, 5), Fraction(1, 10), 60
    rho = log_up(odds) ** 2 / 2
    fixed = [epsilon(ZCDP(time * rho), delta) for time in range(rounds + 1)]
    assert walked(odds, delta, rounds, fixed, "delta") > delta * Fraction(11, 10)
    assert walked(odds, delta, rounds, fixed, "ever") > delta * 7
    odometer, told, kept = Odometer(delta), [Fraction(0)], [Fraction(0)]
    for _ in range(rounds):
        odometer = odometer.add(ZCDP(rho))
        told.append(spent(odometer))
        kept.append(throughout(odometer))
    assert walked(odds, delta, rounds, told, "delta") <= delta
    assert walked(odds, delta, rounds, kept, "ever") <= delta


def test_sums_hold_at_every_time_without_a_delta() -> None:
    start = Odometer()
    assert passed([response(1), response(2)], start, spent, 4) == 0
    assert start.spent() == PureDP(Fraction(0))
    assert start.add(PureDP(Fraction(1, 3))).add(ApproxDP(Fraction(2, 3), Fraction(1, 100))).spent() == ApproxDP(
        Fraction(1, 1) + Fraction(1, 10**11), Fraction(1, 100)
    )


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 20)])
def test_own_deltas_are_paid_on_average_up_to_where_one_stops(delta: Fraction) -> None:
    """P(S) <= E_Q[e^spent ; S] + delta + E_P D_T: the worth of stopping is the excess less the deltas so far."""
    start = Odometer(delta, even(Fraction(2), Fraction(9)))
    menu = [response(1), response(1, Fraction(1, 20)), response(2, Fraction(1, 30))]

    def beyond(told: Told) -> Callable[[Odometer, Ratio], Fraction]:
        goal = lru_cache(maxsize=None)(lambda odometer: exp_down(told(odometer)))
        return lambda state, ratio: excess(goal(state), ratio) - state.deltas

    assert best(menu, start, added, beyond(spent), 4) <= delta
    if not delta:  # the sums are exact, so half a unit less is too little
        assert best(menu, start, added, beyond(lambda one: max(Fraction(0), spent(one) - UNIT / 2)), 4) > 0


def test_an_odometer_that_forgets_a_charge_is_beaten() -> None:
    def forgetful(state: Odometer, charge: Loss) -> Odometer:
        return state if charge == response(2).charge else state.add(charge)

    menu = [response(1), response(2)]
    ever = best(menu, Odometer(), forgetful, lambda state, ratio: excess(exp_up(spent(state)), ratio), 2)
    assert ever > Fraction(1, 2)


amounts = st.fractions(min_value=0, max_value=3, max_denominator=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 1000), max_denominator=10**6)
curves = st.lists(amounts, min_size=1, max_size=3).map(
    lambda losses: Renyi(tuple((Fraction(2 + 7 * place), loss) for place, loss in enumerate(losses)))
)
charges: st.SearchStrategy[Loss] = (
    st.builds(PureDP, amounts)
    | st.builds(ApproxDP, amounts, deltas)
    | st.builds(ZCDP, amounts)
    | st.builds(ApproxZCDP, amounts, deltas)
    | st.builds(GaussianDP, amounts)
    | curves
)
FEW = even(Fraction(3, 2), Fraction(3), Fraction(9), Fraction(40))


def over(odometer: Odometer, losses: Sequence[Loss]) -> Odometer:
    for loss in losses:
        odometer = odometer.add(loss)
    return odometer


@pytest.mark.wide
@settings(max_examples=50)
@given(st.lists(charges, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_adding_does_not_matter(losses: list[Loss], rng: random.Random) -> None:
    mixed = list(losses)
    rng.shuffle(mixed)
    start = Odometer(Fraction(1, 1000), FEW)
    assert over(start, losses) == over(start, mixed)


@pytest.mark.wide
@settings(max_examples=50)
@given(st.lists(charges, max_size=5), charges)
def test_what_is_spent_never_falls(losses: list[Loss], more: Loss) -> None:
    before = over(Odometer(Fraction(1, 1000), FEW), losses)
    after = before.add(more)
    assert after.deltas >= before.deltas
    for read in (Odometer.spent, Odometer.throughout):
        try:
            later = read(after)
        except PublicParameterError:
            continue  # nothing can be told any more
        earlier = read(before)
        assert later.epsilon >= earlier.epsilon * (1 - Fraction(1, 10**8))  # roots are found to 9 digits


@pytest.mark.wide
@settings(max_examples=50)
@given(st.lists(charges, max_size=5), charges, st.sampled_from([Fraction(0), Fraction(1, 1000)]))
def test_an_odometer_written_and_read_goes_on_as_if_nothing_had_happened(
    losses: list[Loss], more: Loss, delta: Fraction
) -> None:
    odometer = over(Odometer(delta, FEW), losses)
    again = from_json(json.loads(json.dumps(to_json(odometer))))
    assert again == odometer
    assert again.add(more) == odometer.add(more)


@pytest.mark.wide
@settings(max_examples=50, deadline=None)
@given(st.lists(charges, min_size=1, max_size=4))
def test_what_is_told_is_certified(losses: list[Loss]) -> None:
    """``spent`` is its formula; where ``throughout`` is, the mean of the supermartingales has reached 1 / delta."""
    odometer = over(Odometer(Fraction(1, 1000), FEW), losses)
    finite = [
        (order, share, total)
        for order, share, total in zip(FEW.orders, FEW.shares, odometer.sums, strict=True)
        if total is not None
    ]
    if not finite:
        return
    epsilon = throughout(odometer)
    sharp = min(total + filters.conversion(order, share / 1000) for order, share, total in finite)
    told = min(max(sharp, Fraction(0)), epsilon)
    assert told <= spent(odometer) <= told * (1 + Fraction(1, 10**11))
    if odometer.epsilon is not None and epsilon >= odometer.epsilon:
        return  # the sum is less
    mean = sum((share * exp_up((order - 1) * (epsilon - total)) for order, share, total in finite), Fraction(0))
    assert mean >= 1000
    least = min(total + log_up(1000 / share) / (order - 1) for order, share, total in finite)
    assert epsilon <= least + Fraction(1, 10**9)


# the most that `spent` and `throughout` cost over the conversion for a fixed time, rho from 1e-4 to 100
FACTORS = {
    Fraction(1, 10**3): (Fraction(191, 100), Fraction(299, 100)),
    Fraction(1, 10**6): (Fraction(122, 100), Fraction(154, 100)),
    Fraction(1, 10**9): (Fraction(113, 100), Fraction(132, 100)),
    Fraction(1, 10**12): (Fraction(110, 100), Fraction(124, 100)),
}


@pytest.mark.wide
@pytest.mark.parametrize("delta", FACTORS, ids=str)
def test_the_grid_is_near_the_best_order_at_every_scale(delta: Fraction) -> None:
    for tenth in range(-16, 9):
        rho = Fraction(round(10 ** (8 + tenth / 4)), 10**8)
        odometer = Odometer(delta).add(ZCDP(rho))
        fixed = epsilon(ZCDP(rho), delta)
        stopped, always = FACTORS[delta]
        assert fixed <= spent(odometer) <= min(stopped * fixed, throughout(odometer))
        assert throughout(odometer) <= always * fixed


def test_nothing_is_told_where_nothing_is_known() -> None:
    with pytest.raises(PublicParameterError, match="name a δ"):
        Odometer().add(ZCDP(Fraction(1))).spent()
    low = Renyi(((Fraction(9, 8), Fraction(1, 10)),))
    partly = Odometer(Fraction(1, 1000)).add(low)
    assert partly.sums[1:] == (None,) * (len(partly.sums) - 1)
    assert spent(partly) > 10
    with pytest.raises(PublicParameterError, match="name a δ"):
        Odometer(Fraction(1, 1000), FEW).add(low).spent()
    with pytest.raises(PublicParameterError, match="must be < 1"):
        over(Odometer(Fraction(1, 2)), [ApproxDP(Fraction(1), Fraction(1, 2))]).spent()
    with pytest.raises(PublicParameterError, match="Rényi curve"):
        Odometer(Fraction(1, 1000)).add(pld_of([(Coin(Fraction(1)), 2)]))


def test_what_is_no_odometer_is_refused() -> None:
    for delta in (Fraction(-1, 10), Fraction(1)):
        with pytest.raises(PublicParameterError, match="delta must lie in"):
            Odometer(delta)
    with pytest.raises(PublicParameterError, match="one sum for each order"):
        Odometer(Fraction(1, 10), FEW, (Fraction(0),))
    with pytest.raises(PublicParameterError, match="one sum for each order"):
        Odometer(Fraction(0), FEW, (Fraction(0),) * 4)
    with pytest.raises(PublicParameterError, match="must be >= 0"):
        Odometer(epsilon=Fraction(-1))


@pytest.mark.wide
def test_a_pure_run_is_told_by_its_sum_where_that_is_less() -> None:
    one = Odometer(Fraction(1, 10**6)).add(PureDP(Fraction(1)))
    assert spent(one) == throughout(one) == 1
    many = over(Odometer(Fraction(1, 10**6)), [PureDP(Fraction(1, 10))] * 100)
    assert spent(many) < 6 < throughout(many) < Fraction(13, 2)
    assert many.epsilon == 10


def test_the_python_of_the_page_runs() -> None:
    page = ROOT / "docs" / "theory" / "spending.md"
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)
    assert "trip" in names
