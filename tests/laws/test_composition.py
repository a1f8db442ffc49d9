"""Laws of losses, composition and conversion, and what a stored tree must prove again."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import CheckError, PublicParameterError
from reticent.exact.grid import Grid
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric, mass
from reticent.mechanisms.laplace import Laplace
from reticent.mechanisms.randomized_response import two_coins
from reticent.mechanisms.registry import axiom_again
from reticent.privacy import compose, convert, serialization
from reticent.privacy import loss as losses
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import as_approx, as_zcdp
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from reticent.privacy.profiles import epsilon
from reticent.privacy.rederivation import rederive
from reticent.privacy.sensitivity import L1, L2, Linf

PERSON = Adjacency("add_remove", 3)
ROW = Adjacency("add_remove", unit="row")
SUBSTITUTE = Adjacency("substitute", 3)

epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=5, max_denominator=1000)


def pure(epsilon: Fraction, adjacency: Adjacency = PERSON) -> Guarantee:
    return Geometric(L1(Fraction(1), adjacency), epsilon).guarantee


def zcdp(rho: Fraction, adjacency: Adjacency = PERSON) -> Guarantee:
    return Gaussian(L2(Fraction(1), adjacency), rho).guarantee


def approx(epsilon: Fraction, adjacency: Adjacency = PERSON) -> Guarantee:
    return ScalarGaussian(L1(Fraction(1), adjacency), Fraction(9), epsilon).guarantee


any_loss = st.one_of(
    st.builds(PureDP, epsilons),
    st.builds(ApproxDP, epsilons, st.fractions(min_value=0, max_value=Fraction(1, 10), max_denominator=10**9)),
    st.builds(ZCDP, epsilons),
)


@pytest.mark.wide
@given(st.lists(epsilons, min_size=1, max_size=5))
def test_in_sequence_losses_add_in_any_order(parts: list[Fraction]) -> None:
    forward = compose.in_sequence([pure(e) for e in parts])
    backward = compose.in_sequence([pure(e) for e in reversed(parts)])
    assert forward.loss == backward.loss == PureDP(sum(parts, Fraction(0)))


def test_deltas_add_and_a_mix_is_approximate() -> None:
    one, two = approx(Fraction(1, 2)), pure(Fraction(1, 4))
    assert isinstance(one.loss, ApproxDP)
    assert compose.in_sequence([one, two, one]).loss == ApproxDP(Fraction(5, 4), 2 * one.loss.delta)


def test_pure_enters_zcdp_as_half_its_square() -> None:
    whole = compose.in_sequence([zcdp(Fraction(1, 8)), pure(Fraction(1))])
    assert whole.loss == ZCDP(Fraction(1, 8) + Fraction(1, 2))


def test_delta_enters_zcdp_as_approximate_zcdp() -> None:
    part = approx(Fraction(1, 2))
    assert isinstance(part.loss, ApproxDP)
    whole = compose.in_sequence([zcdp(Fraction(1, 8)), part])
    assert whole.loss == ApproxZCDP(Fraction(1, 8) + Fraction(1, 8), part.loss.delta)


def test_mixed_neighbours_are_refused() -> None:
    with pytest.raises(PublicParameterError, match="different neighbours"):
        compose.in_sequence([pure(Fraction(1)), pure(Fraction(1), SUBSTITUTE)])


def test_parts_of_a_partition_cost_the_dearest_and_twice_it_under_substitution() -> None:
    parts = [pure(Fraction(e, 10)) for e in (1, 5, 3)]
    assert compose.across(parts, neighbours=PERSON).loss == PureDP(Fraction(1, 2))
    assert compose.across(parts, neighbours=SUBSTITUTE).loss == PureDP(Fraction(1))


def test_the_sum_of_the_two_dearest_parts_is_too_little_under_substitution() -> None:
    """A sum on [-1, 1] at epsilon 1/2 under add/remove: its person goes from -1 to 1 and the odds move by e^1."""
    scale = 2.0  # sensitivity 1 under add/remove at epsilon 1/2
    moved = max(abs(math.log(mass(scale, -1, out) / mass(scale, 1, out))) for out in range(-30, 31))
    dearest, other = Fraction(1, 2), Fraction(1, 10)
    assert moved > float(dearest + other) + 0.3
    parts = [pure(dearest), pure(other)]
    loss = compose.across(parts, neighbours=SUBSTITUTE).loss
    assert isinstance(loss, PureDP)
    assert moved <= float(loss.epsilon) + 1e-9


def test_a_part_proved_only_for_substitution_cannot_be_in_a_partition() -> None:
    with pytest.raises(PublicParameterError, match="only for substitution"):
        compose.across([pure(Fraction(1), SUBSTITUTE)], neighbours=SUBSTITUTE)


def test_a_person_of_three_rows_costs_three_or_six_rows() -> None:
    part = pure(Fraction(1, 10), ROW)
    assert compose.of_person(part, PERSON, rows=3).loss == PureDP(Fraction(3, 10))
    assert compose.of_person(part, SUBSTITUTE, rows=3).loss == PureDP(Fraction(6, 10))


@pytest.mark.wide
@given(epsilons, st.integers(2, 6))
def test_group_delta_grows_geometrically_not_linearly(epsilon: Fraction, size: int) -> None:
    loss = convert.group_loss(ApproxDP(epsilon, Fraction(1, 10**30)), size)
    assert isinstance(loss, ApproxDP)
    exact = 1e-30 * math.expm1(size * float(epsilon)) / math.expm1(float(epsilon))
    assert loss.epsilon == size * epsilon
    assert loss.delta >= Fraction(size, 10**30)
    assert float(loss.delta) >= exact * (1 - 1e-9)
    assert float(loss.delta) <= exact * (1 + 1e-9)


def test_a_large_group_with_delta_is_priced_and_a_hopeless_one_refused() -> None:
    loss = convert.group_loss(ApproxDP(Fraction(1, 1000), Fraction(1, 10**12)), 400)
    assert isinstance(loss, ApproxDP)
    assert 400e-12 < float(loss.delta) < 500e-12
    with pytest.raises(PublicParameterError, match="nothing is promised"):
        convert.group_loss(ApproxDP(Fraction(1), Fraction(1, 10**6)), 20)


@pytest.mark.wide
@given(any_loss)
def test_a_loss_written_then_read_is_itself(loss: Loss) -> None:
    again = losses.from_json(json.loads(json.dumps(losses.to_json(loss))))
    if isinstance(loss, ApproxDP) and loss.delta == 0:
        assert again == PureDP(loss.epsilon)
    else:
        assert again == loss


@pytest.mark.wide
@settings(deadline=None)
@given(epsilons, st.integers(3, 12))
def test_a_conversion_never_lowers_a_loss(rho: Fraction, power: int) -> None:
    """No order alpha of the Renyi curve may give a smaller delta at the epsilon we state than the delta we state."""
    delta = Fraction(1, 10**power)
    stated = float(epsilon(ZCDP(rho), delta))
    # Gaussian noise with this rho attains the curve, and its delta(epsilon) is known: it must not exceed delta.
    mu = math.sqrt(2 * float(rho))
    true = _normal_cdf(mu / 2 - stated / mu) - math.exp(stated) * _normal_cdf(-mu / 2 - stated / mu)
    assert true <= float(delta) * (1 + 1e-9)


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def test_the_conversion_is_better_than_the_textbook_one() -> None:
    rho, delta = Fraction(1, 2), Fraction(1, 10**6)
    textbook = 0.5 + 2 * math.sqrt(0.5 * math.log(1e6))
    assert float(epsilon(ZCDP(rho), delta)) < textbook * 0.98


def _tree() -> Guarantee:
    across = compose.across([pure(Fraction(1, 10), ROW), pure(Fraction(1, 5), ROW)], neighbours=ROW, label="by site")
    lifted = compose.of_person(across, PERSON, rows=3)
    laplace = Laplace(L1(Fraction(1, 3), PERSON), Fraction(1, 7), Grid(-2)).guarantee
    exponential = Exponential(Linf(Fraction(2), PERSON), Fraction(1, 9)).guarantee
    return compose.in_sequence([lifted, laplace, compose.processed(exponential, label="median")], label="table 4")


def test_a_stored_tree_proves_its_loss_again() -> None:
    tree = _tree()
    again = serialization.from_json(json.loads(json.dumps(serialization.to_json(tree))))
    assert again == tree
    assert rederive(again, axiom_again) == tree.loss == PureDP(Fraction(3, 5) + Fraction(1, 7) + Fraction(1, 9))


@pytest.mark.parametrize(
    "make",
    [
        lambda: as_approx(zcdp(Fraction(1, 8)), Fraction(1, 10**6)),
        lambda: as_zcdp(pure(Fraction(1))),
        lambda: two_coins().guarantee,
        lambda: approx(Fraction(1, 2)),
    ],
)
def test_every_kind_of_node_is_derived_again(make: object) -> None:
    tree: Guarantee = make()  # type: ignore[operator]  # a parametrised maker
    assert rederive(serialization.from_json(serialization.to_json(tree)), axiom_again) == tree.loss


def test_forged_trees_are_refused() -> None:
    tree = _tree()
    lowered = dataclasses.replace(tree, loss=PureDP(Fraction(1, 10)))
    dropped = dataclasses.replace(tree, parts=tree.parts[:2])
    leaf = dataclasses.replace(tree.parts[1], loss=PureDP(Fraction(1, 100)))
    fewer_rows = dataclasses.replace(tree.parts[0], parameters=(("size", "2"),))
    swapped = dataclasses.replace(tree.parts[0].parts[0], by=compose.SEQUENCE)
    unknown = dataclasses.replace(tree.parts[1], by=dataclasses.replace(tree.parts[1].by, name="trust me"))
    hidden = dataclasses.replace(tree.parts[2], parts=(*tree.parts[2].parts, pure(Fraction(9))))
    negative = dataclasses.replace(tree.parts[1], parameters=tuple((k, f"-{v}") for k, v in tree.parts[1].parameters))
    for forged in (
        hidden,
        negative,
        lowered,
        dropped,
        dataclasses.replace(tree, parts=(tree.parts[0], leaf, tree.parts[2])),
        fewer_rows,
        swapped,
        unknown,
    ):
        with pytest.raises(CheckError):
            rederive(forged, axiom_again)


@pytest.mark.parametrize(
    "garbage",
    [{}, {"theorem": 3}, {"loss": {}, "theorem": {}, "adjacency": {}, "parts": [], "parameters": {}, "label": ""}],
)
def test_garbage_is_a_failed_check_not_a_traceback(garbage: dict[str, object]) -> None:
    with pytest.raises(CheckError):
        serialization.from_json(garbage)


def test_trees_of_the_other_theorems_are_derived_again_through_the_same_door() -> None:
    from reticent.privacy import optimal_composition, ptr

    composed = optimal_composition.optimal([pure(Fraction(1, 10))] * 20, Fraction(1, 10**6))
    steps = [ptr.declared(Fraction(1, 2), Fraction(1, 10**6), neighbours=Adjacency("substitute"))] * 2
    for tree in (composed, ptr.cascade([steps])):
        again = serialization.from_json(json.loads(json.dumps(serialization.to_json(tree))))
        assert rederive(again, axiom_again) == tree.loss
        lowered = dataclasses.replace(again, loss=PureDP(Fraction(1, 100)))
        with pytest.raises(CheckError):
            rederive(lowered, axiom_again)
