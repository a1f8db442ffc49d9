"""Composition at a stated delta: never below the exact delta, no further above than stated, and caught when wrong.

The exact delta is that of coins with rational odds, by enumeration in integers: the product claims for each coin an
epsilon just above the logarithm of its odds.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import CheckError, PublicParameterError
from reticent.exact.rounding import exp_down, exp_up, log_up, round_up
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import compose, optimal_composition, serialization
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.privacy.profiles import epsilon as epsilon_at
from reticent.privacy.sensitivity import L1, L2
from reticent.privacy.tightest import least

PEOPLE = Adjacency("substitute")
Law = dict[Fraction, Fraction]  # likelihood ratio -> probability under the first neighbour; ratio 0 stands for infinity


def pure(epsilon: Fraction | str) -> Guarantee:
    return Geometric(L1(Fraction(1), PEOPLE), Fraction(epsilon)).guarantee


def approximate(variance: int) -> Guarantee:
    return ScalarGaussian(L1(Fraction(1), PEOPLE), Fraction(variance), Fraction(1, 2)).guarantee


def epsilon_of(guarantee: Guarantee) -> Fraction:
    assert isinstance(guarantee.loss, ApproxDP)
    return guarantee.loss.epsilon


# ---- mechanisms whose privacy loss is known


def coin(odds: Fraction, fails: Fraction = Fraction(0)) -> Law:
    """Randomized response with these odds, which says the truth outright with probability ``fails``."""
    right = odds / (1 + odds)
    law = {odds: (1 - fails) * right, 1 / odds: (1 - fails) * (1 - right)}
    return law | ({Fraction(0): fails} if fails else {})


def geometric(odds: Fraction, apart: int) -> Law:
    """Two-sided geometric noise, P(k) proportional to odds^-|k|, on integers ``apart`` apart."""
    below = odds / (1 + odds)  # at or below the nearer answer; ratio odds^(apart - 2 j) at j steps from it
    law = {odds**apart: below, odds**-apart: below / odds**apart}
    for j in range(1, apart):
        ratio = odds ** (apart - 2 * j)
        law[ratio] = law.get(ratio, Fraction(0)) + (odds - 1) / (odds + 1) / odds**j
    return law


def joined(laws: list[Law]) -> Law:
    whole: Law = {Fraction(1): Fraction(1)}
    for law in laws:
        step: Law = {}
        for ratio, chance in whole.items():
            for other, part in law.items():
                step[ratio * other] = step.get(ratio * other, Fraction(0)) + chance * part
        whole = step
    return whole


def exact_delta(law: Law, grown: Fraction) -> Fraction:
    """The least delta at epsilon = ln ``grown``."""
    return sum(
        (chance * (1 - grown / ratio) if ratio else chance for ratio, chance in law.items() if not 0 < ratio <= grown),
        Fraction(0),
    )


def claimed(odds: Fraction) -> Fraction:
    return round_up(log_up(odds))


def drawn(source: random.Random) -> tuple[list[Law], list[tuple[Fraction, Fraction]], bool]:
    """Laws, the losses claimed for them, and whether these describe the laws exactly."""
    laws, pairs, tight = [], [], True
    for _ in range(source.randint(1, 5)):
        odds = 1 + Fraction(source.randint(1, 30), source.choice((10, 20, 100)))
        if source.random() < 0.2:
            apart = source.randint(2, 3)
            laws.append(geometric(odds, apart))
            pairs.append((claimed(odds**apart), Fraction(0)))
            tight = False
        else:
            fails = source.choice((Fraction(0), Fraction(0), Fraction(1, 10 ** source.randint(2, 9))))
            laws.append(coin(odds, fails))
            pairs.append((claimed(odds), fails))
    return laws, pairs, tight


def axioms(pairs: list[tuple[Fraction, Fraction]]) -> list[Guarantee]:
    """Parts with stated losses; only the loss matters to a theorem of composition."""
    leaf = pure("1")
    return [Guarantee(PureDP(e) if d == 0 else ApproxDP(e, d), PEOPLE, leaf.by) for e, d in pairs]


def wrong(seed: int, cases: int, made: Callable[..., Guarantee] = optimal_composition.optimal) -> int:
    """In how many of ``cases`` random compositions the guarantee is below the truth, or above without need."""
    source, found = random.Random(seed), 0
    for _ in range(cases):
        laws, pairs, tight = drawn(source)
        law = joined(laws)
        failed = 1 - prod((1 - d for _, d in pairs), start=Fraction(1))
        delta = failed + (1 - failed) * Fraction(1, 10 ** source.randint(1, 9))
        loss = made(axioms(pairs), delta).loss
        assert isinstance(loss, ApproxDP)
        below = exact_delta(law, exp_up(loss.epsilon)) > loss.delta
        more = exp_down(loss.epsilon * (1 - Fraction(1, 10**8)))
        above = tight and loss.epsilon > 0 and exact_delta(law, more) < delta
        stated = optimal_composition.delta_at(pairs, loss.epsilon)
        truth = exact_delta(law, exp_up(loss.epsilon))
        away = stated < truth or (tight and stated > truth + Fraction(1, 10**9))
        found += below or above or away
    return found


@pytest.mark.wide
def test_optimal_is_never_below_the_exact_delta_nor_above_without_need() -> None:
    assert wrong(seed=1, cases=600) == 0


@pytest.mark.audit
def test_optimal_is_never_below_the_exact_delta_on_ten_thousand_compositions() -> None:
    assert wrong(seed=2, cases=10_000) == 0


def test_a_tail_that_leaves_out_its_first_term_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = optimal_composition._listed

    def without_the_largest(kinds: optimal_composition.Kinds, places: int) -> optimal_composition.Losses:
        law = right(kinds, places)
        return optimal_composition.Losses(law.values[1:], law.masses[1:], law.certain, law.places)

    monkeypatch.setattr(optimal_composition, "_listed", without_the_largest)
    assert wrong(seed=1, cases=60) > 20


def test_a_tail_with_one_term_too_many_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = optimal_composition._binomial

    def shifted(epsilon: Fraction, count: int, places: int) -> list[int]:
        masses = right(epsilon, count, places)
        return [masses[0] + masses[1], *masses[2:], 0]

    monkeypatch.setattr(optimal_composition, "_binomial", shifted)
    assert wrong(seed=1, cases=60) > 20


@pytest.mark.wide
def test_no_valid_theorem_is_below_the_exact_delta() -> None:
    source = random.Random(3)
    for _ in range(300):
        laws, pairs, _ = drawn(source)
        law = joined(laws)
        delta = sum((d for _, d in pairs), Fraction(0)) + Fraction(1, 10 ** source.randint(2, 9))
        for view in least(axioms(pairs), delta).views:
            loss = view.loss
            assert isinstance(loss, PureDP | ApproxDP)
            stated = loss.delta if isinstance(loss, ApproxDP) else Fraction(0)
            assert exact_delta(law, exp_up(loss.epsilon)) <= stated


# ---- many kinds: rounding to a lattice


@pytest.mark.parametrize("seed", range(4))
def test_many_kinds_are_never_below_and_within_the_margin(seed: int) -> None:
    source = random.Random(seed)
    odds = [1 + Fraction(n, 100) for n in source.sample(range(5, 61), 13)]
    pairs = [(claimed(o), Fraction(0)) for o in odds]
    assert optimal_composition.LISTED < 2**13
    law = joined([coin(o) for o in odds])
    for delta in (Fraction(1, 1000), Fraction(1, 10**6)):
        epsilon = epsilon_of(optimal_composition.optimal(axioms(pairs), delta))
        assert exact_delta(law, exp_up(epsilon)) <= delta
        assert exact_delta(law, exp_down(epsilon / (1 + optimal_composition.MARGIN))) > delta


def test_both_lattices_agree_with_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [(Fraction(n, 100), Fraction(0)) for n in (7, 11, 23, 40) for _ in range(6)]  # 7^4 values: listed
    exactly = epsilon_of(optimal_composition.optimal(axioms(few), Fraction(1, 10**6)))
    monkeypatch.setattr(optimal_composition, "LISTED", 1)
    for choose in (lambda fine, coarse: (fine, Fraction(0)), lambda fine, coarse: (Fraction(0), coarse)):
        right = optimal_composition._steps
        with monkeypatch.context() as patch:
            patch.setattr(optimal_composition, "_steps", lambda kinds, spare, c=choose, r=right: c(*r(kinds, spare)))
            rounded = epsilon_of(optimal_composition.optimal(axioms(few), Fraction(1, 10**6)))
        assert exactly <= rounded <= exactly * (1 + optimal_composition.MARGIN)


def test_rounding_losses_down_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(0)
    odds = [1 + Fraction(n, 100) for n in source.sample(range(5, 61), 13)]
    right = optimal_composition._bucketed

    def down(
        kinds: optimal_composition.Kinds, step: Fraction, places: int, spare: Fraction
    ) -> optimal_composition.Losses:
        law = right(kinds, step, places, spare)
        return optimal_composition.Losses(
            tuple(v - len(kinds) * step for v in law.values), law.masses, law.certain, law.places
        )

    monkeypatch.setattr(optimal_composition, "_bucketed", down)
    epsilon = epsilon_of(
        optimal_composition.optimal(axioms([(claimed(o), Fraction(0)) for o in odds]), Fraction(1, 1000))
    )
    assert exact_delta(joined([coin(o) for o in odds]), exp_up(epsilon)) > Fraction(1, 1000)


MIXED = {Fraction(n, 1000): 20 * (1 + n % 4) for n in (12, 17, 23, 35, 41, 58, 66, 79, 85, 94)}
REPEATED: list[dict[Fraction, int]] = [{Fraction(1, 10): 100}, {Fraction(1, 2): 10, Fraction(1, 20): 200}, MIXED]


@pytest.mark.parametrize("kinds", REPEATED, ids=["alike", "two kinds", "ten kinds"])
def test_it_is_at_most_half_a_percent_above_a_privacy_loss_distribution(kinds: dict[Fraction, int]) -> None:
    from dp_accounting.pld import common, privacy_loss_distribution

    delta, whole = Fraction(1, 10**8), None
    for epsilon, count in kinds.items():
        one = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(float(epsilon), 0.0), value_discretization_interval=1e-4
        ).self_compose(count)
        whole = one if whole is None else whole.compose(one)
    assert whole is not None
    theirs = whole.get_epsilon_for_delta(float(delta))
    parts = [pure(epsilon) for epsilon, count in kinds.items() for _ in range(count)]
    ours = float(epsilon_of(optimal_composition.optimal(parts, delta)))
    assert 0.99 * theirs < ours < 1.005 * theirs


# ---- the formulas as printed


def printed_tail(epsilon: Fraction, count: int, i: int, *, terms: int | None = None) -> Decimal:
    """delta_i of Kairouz, Oh and Viswanath, Theorem 3.3, to 60 digits."""
    with localcontext() as context:
        context.prec = 60 + count
        grown = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        terms = i if terms is None else terms
        total = sum(comb(count, j) * (grown ** (count - j) - grown ** (count - 2 * i + j)) for j in range(terms))
        return Decimal(total) / (1 + grown) ** count


@pytest.mark.parametrize(("epsilon", "count"), [("1/10", 100), ("1/2", 9), ("1/100", 400), ("2", 30)])
def test_on_its_lattice_optimal_composition_is_the_printed_sum(epsilon: str, count: int) -> None:
    each = Fraction(epsilon)
    for i in range(1, count // 2 + 1, max(1, count // 20)):
        ours = optimal_composition.delta_at([(each, Fraction(0))] * count, (count - 2 * i) * each)
        printed = Fraction(printed_tail(each, count, i))
        assert printed * (1 - Fraction(1, 10**50)) <= ours <= printed * (1 + Fraction(1, 10**11)) + Fraction(1, 2**190)
        for off in (i - 1, i + 1):
            mutant = Fraction(printed_tail(each, count, i, terms=off))
            if off <= count // 2 and mutant != printed:
                assert not mutant * (1 - Fraction(1, 10**50)) <= ours <= mutant * (1 + Fraction(1, 10**11))


def test_between_the_lattice_points_epsilon_is_smaller() -> None:
    delta = Fraction(1, 10**6)
    lattice, reached = optimal_composition.on_lattice(Fraction(1, 10), 100, delta)
    epsilon = epsilon_of(optimal_composition.optimal([pure("1/10")] * 100, delta))
    assert lattice == Fraction(48, 10)
    assert (
        reached
        <= delta
        < optimal_composition.delta_at([(Fraction(1, 10), Fraction(0))] * 100, lattice - Fraction(2, 10))
    )
    assert lattice - Fraction(2, 10) < epsilon < lattice


PUBLISHED = [  # epsilon, parts, delta', the advanced theorem, adding up
    ("1/10", 100, 6, "6.31", "10"),
    ("1/100", 1000, 9, "2.14", "10"),
    ("1/10", 10, 6, "1.77", "1"),
]


def advanced_figures() -> list[str]:
    return [
        f"{float(epsilon_of(optimal_composition.advanced([pure(e)] * k, Fraction(1, 10**power)))):.2f}"
        for e, k, power, _, _ in PUBLISHED
    ]


def test_the_published_figures_of_advanced_composition() -> None:
    assert advanced_figures() == [advanced for _, _, _, advanced, _ in PUBLISHED]
    for e, k, _, _, basic in PUBLISHED:
        assert compose.in_sequence([pure(e)] * k).loss == PureDP(Fraction(basic))


def test_epsilon_in_place_of_its_exponential_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimal_composition, "exp_up", lambda x: 1 + x)
    assert advanced_figures() != [advanced for _, _, _, advanced, _ in PUBLISHED]


def test_ten_parts_are_cheapest_added_up_or_optimal() -> None:
    found = least([pure("1/10")] * 10, Fraction(1, 10**6))
    by_name = {view.by.name: view.loss for view in found.views}
    assert by_name["in_sequence"] == PureDP(Fraction(1))
    assert float(epsilon_of(found.guarantee)) == pytest.approx(0.9994, abs=5e-5)
    assert found.guarantee.by == optimal_composition.OPTIMAL
    assert "advanced composition gives 1.767" in found.reason


def test_unequal_parts_use_the_unequal_theorem() -> None:
    parts = [pure(Fraction(n, 100)) for n in range(1, 51)]
    found = optimal_composition.advanced(parts, Fraction(1, 10**6))
    with localcontext() as context:
        context.prec = 50
        epsilons = [Decimal(n) / 100 for n in range(1, 51)]
        squares = sum((e * e for e in epsilons), Decimal(0))
        mean = sum((e * (e.exp() - 1) / (e.exp() + 1) for e in epsilons), Decimal(0))
        log = min(Decimal(10**6).ln(), (Decimal(1).exp() + squares.sqrt() * 10**6).ln())
        printed = Fraction(mean + (2 * log * squares).sqrt())
    assert found.by == optimal_composition.ADVANCED_UNEQUAL
    assert printed <= epsilon_of(found) <= printed * (1 + Fraction(1, 10**11))
    assert epsilon_of(found) >= epsilon_of(optimal_composition.optimal(parts, Fraction(1, 10**6)))


# ---- laws

epsilons = st.fractions(min_value=Fraction(1, 100), max_value=3, max_denominator=100)
few = st.lists(epsilons, min_size=1, max_size=5)


@pytest.mark.wide
@given(few, st.integers(1, 12), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_parts_does_not_matter(each: list[Fraction], power: int, shuffler: random.Random) -> None:
    parts, delta = [pure(e) for e in each], Fraction(1, 10**power)
    mixed = parts[:]
    shuffler.shuffle(mixed)
    assert optimal_composition.optimal(parts, delta).loss == optimal_composition.optimal(mixed, delta).loss


@pytest.mark.wide
@given(few, epsilons, st.integers(1, 12))
@settings(deadline=None)
def test_one_part_more_never_costs_less(each: list[Fraction], more: Fraction, power: int) -> None:
    parts, delta = [pure(e) for e in each], Fraction(1, 10**power)
    before, after = optimal_composition.optimal(parts, delta), optimal_composition.optimal([*parts, pure(more)], delta)
    assert epsilon_of(before) <= epsilon_of(after) * (1 + Fraction(1, 10**11))
    assert epsilon_of(after) <= sum(each, more)
    assert epsilon_of(optimal_composition.optimal(parts, delta / 10)) >= epsilon_of(before)


def test_least_joins_zcdp_and_compares_it() -> None:
    parts = [Gaussian(L2(Fraction(1), PEOPLE), Fraction(1, 100)).guarantee] * 5 + [pure("1/10")] * 3
    delta = Fraction(1, 10**6)
    found = least(parts, delta)
    together = epsilon_at(ZCDP(Fraction(5, 100) + 3 * Fraction(1, 200)), delta)
    added = epsilon_at(ZCDP(Fraction(5, 100)), delta) + Fraction(3, 10)
    assert {epsilon_of(view) for view in found.views} >= {together, added}
    assert epsilon_of(found.guarantee) <= min(together, added)


def test_parts_with_a_delta_leave_it_out_of_what_may_be_spent() -> None:
    parts = [approximate(9)] * 4 + [pure("1/10")] * 20
    fails = [part.loss.delta for part in parts if isinstance(part.loss, ApproxDP)]
    needed = 1 - prod((1 - d for d in fails), start=Fraction(1))
    delta = needed + Fraction(1, 10**5)
    found = least(parts, delta)
    assert all(isinstance(view.loss, ApproxDP) and view.loss.delta <= delta for view in found.views)
    with pytest.raises(PublicParameterError, match="delta must be above"):
        optimal_composition.optimal(parts, needed * Fraction(99, 100))
    with pytest.raises(PublicParameterError, match="delta must be above"):
        optimal_composition.advanced(parts, needed)
    with pytest.raises(PublicParameterError, match="delta must be above"):
        optimal_composition.advanced(parts[:4], sum(fails, Fraction(0)))


def test_all_of_delta_used_by_the_parts_leaves_the_sum() -> None:
    one = ApproxDP(Fraction(1, 2), Fraction(1, 100))
    part = Guarantee(one, PEOPLE, pure("1").by)
    assert optimal_composition.optimal([part], Fraction(1, 100)).loss == one


def test_a_large_delta_reaches_epsilon_zero_at_the_least_delta_there() -> None:
    loss = optimal_composition.optimal([pure("1/10")] * 3, Fraction(1, 2)).loss
    assert isinstance(loss, ApproxDP)
    assert loss.epsilon == 0
    grown = exp_up(Fraction(1, 10))
    assert float(loss.delta) == pytest.approx(float(exact_delta(joined([coin(grown)] * 3), Fraction(1))))


def test_very_large_and_very_small_losses_are_accounted() -> None:
    found = least([pure("1e6"), pure("1e-9"), pure("3")], Fraction(1, 10**9))
    # the last 1e-9 is exceeded with chance 1/2 and weighs 1e-9 then: delta covers it
    assert found.guarantee.loss == ApproxDP(Fraction(1000003), Fraction(1, 10**9))
    assert optimal_composition.ADVANCED_UNEQUAL not in [view.by for view in found.views]
    with pytest.raises(PublicParameterError, match="at most 100"):
        optimal_composition.advanced([pure("101")], Fraction(1, 10))


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(2)])
def test_a_delta_outside_its_range_is_refused(delta: Fraction) -> None:
    for made in (optimal_composition.optimal, optimal_composition.advanced, least):
        with pytest.raises(PublicParameterError):
            made([pure("1"), pure("2")], delta)


def test_mixed_neighbours_nothing_and_zcdp_are_refused() -> None:
    other = Geometric(L1(Fraction(1), Adjacency("add_remove")), Fraction(1)).guarantee
    concentrated = Gaussian(L2(Fraction(1), PEOPLE), Fraction(1)).guarantee
    for parts in ([], [pure("1"), other], [pure("1"), concentrated]):
        with pytest.raises(PublicParameterError):
            optimal_composition.optimal(parts, Fraction(1, 10))
    with pytest.raises(PublicParameterError):
        optimal_composition.optimal([pure("1")], 0.1)  # type: ignore[arg-type]  # a float is what is refused


def test_a_stored_node_is_made_again() -> None:
    delta = Fraction(1, 10**6)
    parts = [pure("1/10")] * 20
    for node in (
        optimal_composition.optimal(parts, delta, label="all"),
        optimal_composition.advanced(parts, delta),
        optimal_composition.advanced([*parts, pure("1/5")], delta),
    ):
        read = serialization.from_json(json.loads(json.dumps(serialization.to_json(node))))
        assert optimal_composition.again(read) == node
    with pytest.raises(CheckError):
        optimal_composition.again(compose.in_sequence(parts))
    forged = optimal_composition.optimal(parts, delta)
    with pytest.raises(CheckError):
        optimal_composition.again(Guarantee(forged.loss, forged.adjacency, forged.by, forged.parts, (("delta", "2"),)))
    with pytest.raises(CheckError):
        optimal_composition.again(Guarantee(forged.loss, forged.adjacency, forged.by, forged.parts))
