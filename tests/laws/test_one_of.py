"""One of several plans: the maximum in every view, never that of the branch that looks dearest in one of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.audit.losses_again import again
from reticent.errors import BudgetError, CheckError, PublicParameterError
from reticent.ledger import Ledger
from reticent.mechanisms import Exponential, Gaussian, Geometric, PermuteAndFlip, ScalarGaussian, axiom_again
from reticent.privacy import compose, optimal, record
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import as_approx
from reticent.privacy.curves import delta, renyi
from reticent.privacy.explain import outline
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, PureDP, Renyi, pld_of
from reticent.privacy.pairs import Coin
from reticent.privacy.sensitivity import L1, L2, Linf

PERSON = Adjacency("add_remove")
OTHERS = Adjacency("substitute")


def pure(epsilon: Fraction | str, neighbours: Adjacency = PERSON) -> Guarantee:
    return Geometric(L1(Fraction(1), neighbours), Fraction(epsilon)).guarantee


def shared(epsilon: Fraction, parts: int) -> Guarantee:
    return compose.in_sequence([pure(epsilon / parts)] * parts)


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


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=60, deadline=None)
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
    hidden = optimal.advanced([pure("0.01")] * 40, Fraction(1, 10**6))
    assert isinstance(hidden.loss, ApproxDP)
    whole = compose.in_zcdp(compose.one_of([pure("0.1"), hidden]))
    assert isinstance(whole.loss, ApproxZCDP)
    ledger = Ledger.create(None, budget=ZCDP(Fraction(100)), adjacency=PERSON, title="rho alone")
    with pytest.raises(BudgetError):
        ledger.check(whole.loss, adjacency=PERSON)
    with pytest.raises(BudgetError):
        ledger.reserve(whole.loss, adjacency=PERSON, what="one of two")
    assert ledger.spent() == ZCDP(Fraction(0))


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.lists(st.builds(leaf, st.sampled_from(["geometric", "choice", "flip"]), sizes), min_size=1, max_size=3).map(
            compose.in_sequence
        ),
        min_size=1,
        max_size=3,
    )
)
def test_the_profile_of_pairs_is_at_or_above_that_of_every_branch(found: list[Guarantee]) -> None:
    """Also where no branch dominates; with one branch alone it is that branch's own."""
    whole = compose.in_pld(compose.one_of(found)).loss
    each = [compose.in_pld(branch).loss for branch in found]
    for epsilon in (Fraction(0), Fraction(1, 4), Fraction(1), Fraction(2)):
        highest = max(delta(loss, epsilon) for loss in each)
        assert delta(whole, epsilon) >= highest * (1 - Fraction(1, 10**4))  # bounds of numbers that are rounded apart
        if len(set(each)) == 1:
            assert whole == each[0]


def test_a_product_that_dominates_is_taken_and_of_crossing_profiles_the_coin() -> None:
    small, large = (Exponential(Linf(Fraction(1), PERSON), Fraction(size)).guarantee for size in ("0.5", "1"))
    assert compose.in_pld(compose.one_of([small, large])).loss == compose.in_pld(large).loss
    crossing = compose.in_pld(compose.one_of([shared(Fraction(2), 60), pure("1.99")])).loss
    assert crossing == pld_of([(Coin(Fraction(2)), 1)])


def test_a_stored_node_is_derived_again_and_a_lowered_one_is_refused() -> None:
    whole = compose.in_sequence([pure("0.25"), compose.one_of([shared(Fraction(1), 3), pure("0.9")], label="a refit")])
    for tree in (whole, compose.in_zcdp(whole)):
        stored = record.from_json(record.to_json(tree))
        assert compose.rederive(stored, axiom_again) == tree.loss
    lowered = replace(whole.parts[1], loss=PureDP(Fraction(9, 10)))
    with pytest.raises(CheckError, match="a refit"):
        compose.rederive(replace(whole, loss=PureDP(Fraction(23, 20)), parts=(whole.parts[0], lowered)), axiom_again)
    in_rho = compose.in_zcdp(compose.one_of([shared(Fraction(2), 60), pure("1.99")]))
    too_small = replace(in_rho, loss=ZCDP(Fraction(1, 30)))  # what the dearest in epsilon costs
    with pytest.raises(CheckError):
        compose.rederive(too_small, axiom_again)


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
