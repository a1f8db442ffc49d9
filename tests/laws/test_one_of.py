"""One of several plans: the maximum in every view, never that of the branch that looks dearest in one of them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import BudgetError, CheckError, PublicParameterError
from reticent.ledger import Ledger
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.mechanisms.registry import axiom_again
from reticent.privacy import compose, highest, optimal_composition, pld, serialization
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import as_approx
from reticent.privacy.explain import outline
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, PureDP, Renyi, from_json, pld_of, to_json
from reticent.privacy.pairs import Coin, Highest
from reticent.privacy.profiles import delta, renyi
from reticent.privacy.rederivation import rederive
from reticent.privacy.sensitivity import L1, L2, Linf
from tests.assurance.accounting_check import again

PERSON = Adjacency("add_remove")
OTHERS = Adjacency("substitute")


def pure(epsilon: Fraction | str, neighbours: Adjacency = PERSON) -> Guarantee:
    return Geometric(L1(Fraction(1), neighbours), Fraction(epsilon)).guarantee


def shared(epsilon: Fraction, parts: int) -> Guarantee:
    return compose.in_sequence([pure(epsilon / parts)] * parts)


def test_what_costs_otherwise_than_was_charged_is_not_drawn() -> None:
    """As large a loss, and another rho: two leaves of half the epsilon have half the rho of one."""
    one, two = pure("1"), shared(Fraction(1), 2)
    compose.check_charged(one, replace(one, label="again"))
    for made, charged in ((one, two), (two, one), (one, pure("2")), (one, pure("1", OTHERS))):
        with pytest.raises(PublicParameterError, match="another price"):
            compose.check_charged(made, charged)


def leaf(kind: str, size: Fraction) -> Guarantee:
    match kind:
        case "geometric":
            return pure(size)
        case "choice":
            return Exponential(Linf(Fraction(1), PERSON), size).guarantee
        case "flip":
            return PermuteAndFlip(Linf(Fraction(1), PERSON), size).guarantee
        case _:
            return Gaussian(L2(Fraction(1), PERSON), size).guarantee


sizes = st.fractions(min_value=Fraction(1, 50), max_value=3, max_denominator=50)
branches = st.lists(
    st.lists(
        st.builds(leaf, st.sampled_from(["geometric", "choice", "flip", "gaussian"]), sizes), min_size=1, max_size=4
    ),
    min_size=1,
    max_size=4,
).map(lambda found: [compose.in_sequence(parts) for parts in found])


def rho(tree: Guarantee) -> Fraction:
    loss = compose.in_zcdp(tree).loss
    assert isinstance(loss, ZCDP)
    return loss.rho


def test_the_dearest_in_epsilon_is_not_the_dearest_in_rho() -> None:
    """The numbers of the issue: sixty parts of 2/60 beside one of a little less; 11.6 times the charge was missed."""
    many, one = shared(Fraction(2), 60), pure(Fraction(199, 100))
    whole = compose.one_of([many, one])
    assert whole.loss == PureDP(Fraction(2))
    assert rho(whole) == rho(one) == Fraction(199, 100) ** 2 / 2
    assert rho(whole) > 50 * rho(many)


@pytest.mark.wide
@settings(max_examples=25, deadline=None)
@given(branches)
def test_every_view_is_the_maximum_of_the_views_of_the_branches(found: list[Guarantee]) -> None:
    whole = compose.one_of(found)
    assert rho(whole) == max(rho(branch) for branch in found)
    curve = compose.in_renyi(whole).loss
    assert isinstance(curve, Renyi)
    each = [compose.in_renyi(branch).loss for branch in found]
    for order in (Fraction(2), Fraction(8), Fraction(64)):
        assert renyi(curve, order) == max(renyi(loss, order) for loss in each)
    if all(isinstance(branch.loss, PureDP) for branch in found):
        assert whole.loss == PureDP(max(b.loss.epsilon for b in found if isinstance(b.loss, PureDP)))


@pytest.mark.wide
@settings(max_examples=30, deadline=None)
@given(branches)
def test_it_is_one_part_among_others_and_no_branch_costs_more(found: list[Guarantee]) -> None:
    """Any branch in sequence with the rest is within the whole, in both currencies; order and repetition are free."""
    rest = pure(Fraction(1, 7))
    whole = compose.in_sequence([rest, compose.one_of(found)])
    for branch in found:
        alone = compose.in_sequence([rest, branch])
        assert rho(alone) <= rho(whole)
        if isinstance(alone.loss, PureDP) and isinstance(whole.loss, PureDP):
            assert alone.loss.epsilon <= whole.loss.epsilon
    assert compose.one_of([*reversed(found), *found]).loss == compose.one_of(found).loss


def test_a_delta_of_one_branch_is_the_delta_of_the_whole() -> None:
    rare = ScalarGaussian(L1(Fraction(1), PERSON), Fraction(9), Fraction(1, 2)).guarantee
    assert isinstance(rare.loss, ApproxDP)
    whole = compose.one_of([pure("0.9"), rare])
    assert whole.loss == ApproxDP(Fraction(9, 10), rare.loss.delta)
    mixed = compose.one_of(
        [pure("0.9"), as_approx(Gaussian(L2(Fraction(1), PERSON), Fraction(1)).guarantee, Fraction(1, 10**6))]
    )
    assert rho(mixed) == 1  # a conversion is undone, not converted once more


def test_a_branch_that_only_has_a_delta_is_refused_by_a_ledger_of_rho_before_the_charge() -> None:
    hidden = optimal_composition.advanced([pure("0.01")] * 40, Fraction(1, 10**6))
    assert isinstance(hidden.loss, ApproxDP)
    whole = compose.in_zcdp(compose.one_of([pure("0.1"), hidden]))
    assert isinstance(whole.loss, ApproxZCDP)
    ledger = Ledger.create(None, budget=ZCDP(Fraction(100)), adjacency=PERSON, title="rho alone")
    with pytest.raises(BudgetError):
        ledger.check(whole.loss, adjacency=PERSON)
    with pytest.raises(BudgetError):
        ledger.reserve(whole.loss, adjacency=PERSON, what="one of two")
    assert ledger.spent() == ZCDP(Fraction(0))


pure_branches = st.lists(
    st.lists(st.builds(leaf, st.sampled_from(["geometric", "choice", "flip"]), sizes), min_size=1, max_size=3).map(
        compose.in_sequence
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.wide
@settings(max_examples=6, deadline=None)
@given(pure_branches)
def test_the_profile_of_pairs_is_at_or_above_that_of_every_branch(found: list[Guarantee]) -> None:
    at_or_above(found)


@pytest.mark.audit
@settings(max_examples=30, deadline=None)
@given(pure_branches)
def test_the_profiles_of_many_pairs_are_at_or_above_those_of_every_branch(found: list[Guarantee]) -> None:
    at_or_above(found)


def at_or_above(found: list[Guarantee]) -> None:
    """Also where no branch dominates; with one branch alone it is that branch's own."""
    whole = compose.in_pld(compose.one_of(found)).loss
    each = [compose.in_pld(branch).loss for branch in found]
    for epsilon in (Fraction(0), Fraction(1, 4), Fraction(1), Fraction(2)):
        highest = max(delta(loss, epsilon) for loss in each)
        assert delta(whole, epsilon) >= highest * (1 - Fraction(1, 10**4))  # bounds of numbers that are rounded apart
        if len(set(each)) == 1:
            assert whole == each[0]


def test_a_product_that_dominates_is_taken_and_of_crossing_profiles_the_highest() -> None:
    small, large = (Exponential(Linf(Fraction(1), PERSON), Fraction(size)).guarantee for size in ("0.5", "1"))
    assert compose.in_pld(compose.one_of([small, large])).loss == compose.in_pld(large).loss
    found = compose.in_pld(compose.one_of([shared(Fraction(2), 60), pure("1.99")])).loss
    assert isinstance(found, PLD)
    assert [(type(pair), times) for pair, times in found.pairs] == [(Highest, 1)]
    assert from_json(to_json(found)) == found


# --- the pointwise maximum against brute force ------------------------------------------------------------------------

Masses = list[tuple[float, float]]  # of every output, under P and under Q


def listed(epsilons: list[float]) -> Masses:
    """The outputs of mechanisms of two answers each, which lose +e or -e."""
    found: Masses = [(1.0, 1.0)]
    for e in epsilons:
        yes, no = 1 / (1 + math.exp(-e)), 1 / (1 + math.exp(e))
        found = [(p * a, q * b) for p, q in found for a, b in ((yes, no), (no, yes))]
    return found


def excess(outputs: Masses, level: float) -> float:
    return sum(max(p - level * q, 0.0) for p, q in outputs)


FEW, ONE = [0.4] * 5, [1.1]  # the first has the larger epsilon, the second the larger delta near 0


def crossing() -> Guarantee:
    return compose.one_of([compose.in_sequence([pure("0.4")] * 5), pure("1.1")])


def test_two_profiles_cross() -> None:
    assert excess(listed(FEW), 1) < excess(listed(ONE), 1)
    assert excess(listed(FEW), math.exp(1.1)) > 0.01 > 1e-9 > excess(listed(ONE), math.exp(1.1))


def test_the_profile_of_one_of_two_is_the_pointwise_maximum() -> None:
    """By listing every output: never below, and at most 1 % and the grid above; the coin of both is far above."""
    loss, coin_ = compose.in_pld(crossing()).loss, Coin(Fraction(2))
    for hundredths in range(0, 200, 7):
        epsilon = Fraction(hundredths, 100)
        exact = max(excess(listed(branch), math.exp(epsilon)) for branch in (FEW, ONE))
        found = float(delta(loss, epsilon))
        assert exact * (1 - 1e-12) <= found <= exact * 1.01 + 1e-4
        if hundredths == 0:
            assert found < 0.7 * float(delta(pld_of([(coin_, 1)]), epsilon))


@pytest.mark.parametrize("rest", [[0.3], [0.3, 0.7, 0.7]])
def test_a_choice_after_other_answers_is_within_their_product(rest: list[float]) -> None:
    """Which branch runs may follow from the answers before: the dearest after each of them, by listing all."""
    before = [pure(str(e)) for e in rest]
    loss = compose.in_pld(compose.in_sequence([*before, crossing()])).loss
    for tenths in range(0, 30, 3):
        level = math.exp(tenths / 10)
        exact = sum(p * max(excess(listed(branch), level * q / p) for branch in (FEW, ONE)) for p, q in listed(rest))
        assert exact * (1 - 1e-9) <= float(delta(loss, Fraction(tenths, 10))) <= exact * 1.02 + 2e-4


def test_a_lowered_grid_of_the_highest_profile_is_found() -> None:
    """The mutant takes the branch with the largest epsilon for the whole."""
    alone = compose.in_pld(compose.in_sequence([pure("0.4")] * 5)).loss
    assert float(delta(alone, Fraction(0))) < excess(listed(ONE), 1) * (1 - 1e-3)


def test_the_law_of_the_highest_profile_is_a_pair_of_laws() -> None:
    """Its masses add up to 1 under P and under Q, and the other direction has the same."""
    ((pair, _),) = compose.in_pld(crossing()).loss.pairs  # type: ignore[union-attr]  # pairs, as the view says
    assert isinstance(pair, Highest)
    losses, masses = highest.law(pair, pld.running)
    assert sum(math.exp(mass) for mass in masses) == pytest.approx(1, abs=1e-9)
    assert sum(math.exp(mass - at) for at, mass in zip(losses, masses, strict=True)) == pytest.approx(1, abs=1e-9)
    assert losses.tolist() == [-at for at in reversed(losses.tolist())]


def test_a_stored_node_is_derived_again_and_a_lowered_one_is_refused() -> None:
    whole = compose.in_sequence([pure("0.25"), compose.one_of([shared(Fraction(1), 3), pure("0.9")], label="a refit")])
    for tree in (whole, compose.in_zcdp(whole)):
        stored = serialization.from_json(serialization.to_json(tree))
        assert rederive(stored, axiom_again) == tree.loss
    lowered = replace(whole.parts[1], loss=PureDP(Fraction(9, 10)))
    with pytest.raises(CheckError, match="a refit"):
        rederive(replace(whole, loss=PureDP(Fraction(23, 20)), parts=(whole.parts[0], lowered)), axiom_again)
    in_rho = compose.in_zcdp(compose.one_of([shared(Fraction(2), 60), pure("1.99")]))
    too_small = replace(in_rho, loss=ZCDP(Fraction(1, 30)))  # what the dearest in epsilon costs
    with pytest.raises(CheckError):
        rederive(too_small, axiom_again)


@pytest.mark.wide
def test_losses_listed_again_agree_and_refute_the_maximum_of_one_currency() -> None:
    right = compose.in_zcdp(compose.one_of([shared(Fraction(2), 4), pure("1.9")]))
    assert {one.verdict for one in again(right)} <= {"holds"}
    assert "too small" in {one.verdict for one in again(replace(right, loss=ZCDP(Fraction(1, 2))))}


def test_branches_about_other_neighbours_and_no_branch_are_refused() -> None:
    with pytest.raises(PublicParameterError, match="different neighbours"):
        compose.one_of([pure("1"), pure("1", OTHERS)])
    with pytest.raises(PublicParameterError, match="no parts"):
        compose.one_of([])


def test_a_single_plan_is_a_node_too_and_plans_alike_are_shown_once() -> None:
    alone = compose.one_of([pure("1"), replace(pure("1"), label="again")], label="a refit")
    assert alone.by == compose.ONE_OF
    assert len(alone.parts) == 1
    widths = [Geometric(L1(Fraction(wide), PERSON), Fraction(1)).guarantee for wide in range(1, 49)]
    told = outline(compose.in_sequence([pure("1"), compose.one_of(widths)]))
    assert "and 47 more like it" in told
    assert len(told.splitlines()) == 7


def test_trees_are_alike_only_where_both_currencies_say_so() -> None:
    """A plan made for a noisy number of rows stands for the one that was charged."""
    assert compose.alike(pure("0.5"), Geometric(L1(Fraction(3), PERSON), Fraction(1, 2)).guarantee)
    assert not compose.alike(pure("0.5"), shared(Fraction(1, 2), 2))  # one epsilon, another rho
    assert not compose.alike(pure("0.5"), pure("0.5", OTHERS))
