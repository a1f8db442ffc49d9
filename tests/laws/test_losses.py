"""Seven losses through the same combinators: order, groups, partitions, conversations, views, and stored trees."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import CheckError, PublicParameterError
from reticent.exact.grid import Grid
from reticent.exact.rounding import exp_down, exp_up
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.laplace import Laplace
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.mechanisms.registry import axiom_again
from reticent.privacy import compose, convert, pairs, serialization
from reticent.privacy import loss as losses
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import (
    PLD,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    GaussianDP,
    Loss,
    PureDP,
    Renyi,
    pld_of,
)
from reticent.privacy.rederivation import rederive
from reticent.privacy.sensitivity import L1, L2, Linf

PEOPLE = Adjacency("add_remove")
ROW = Adjacency("add_remove", unit="row")
REPLACED = Adjacency("substitute")
TEST = Theorem("a test", "stated by a test", "nowhere")

number = st.fractions(min_value=Fraction(1, 1000), max_value=3, max_denominator=1000)
small = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**6)
symmetric = st.one_of(
    st.builds(pairs.Coin, number, small),
    st.builds(pairs.Range, number),
    st.builds(pairs.GeometricShift, number, st.integers(1, 5)),
    st.builds(pairs.LaplaceShift, number),
    st.builds(pairs.GaussianShift, number),
    st.builds(pairs.DiscreteGaussianShift, number, st.integers(1, 5)),
)
pair = symmetric | st.builds(pairs.SampledPair, symmetric, st.just(Fraction(1, 7)))
any_loss: st.SearchStrategy[Loss] = st.one_of(
    st.builds(PureDP, number),
    st.builds(ApproxDP, number, small),
    st.builds(ZCDP, number),
    st.builds(ApproxZCDP, number, small),
    st.builds(GaussianDP, number),
    st.builds(lambda a, b: Renyi(((Fraction(2), min(a, b)), (Fraction(4), max(a, b)))), number, number),
    st.builds(pld_of, st.lists(st.tuples(pair, st.integers(1, 4)), max_size=4)),
)


def leaf(loss: Loss, neighbours: Adjacency = PEOPLE) -> Guarantee:
    return Guarantee(loss, neighbours, TEST)


def normal(loss: Loss) -> Loss:
    """(epsilon, 0) and epsilon are one loss, written twice."""
    return losses.from_json(losses.to_json(loss))


# ---- as text


@pytest.mark.wide
@given(any_loss)
def test_a_loss_written_and_read_is_the_same(loss: Loss) -> None:
    written = json.loads(json.dumps(losses.to_json(loss)))
    again = losses.from_json(written)
    assert again == normal(loss)
    assert losses.to_json(again) == losses.to_json(normal(loss))
    assert losses.words(loss)


@pytest.mark.parametrize(
    "written",
    [
        {"pairs": [{"pair": "coin", "epsilon": "-1", "delta": "0", "times": "1"}]},
        {"pairs": [{"pair": "coin", "epsilon": "1", "delta": "0", "times": "0"}]},
        {"pairs": [{"pair": "geometric", "scale": "1", "shift": "0", "times": "1"}]},
        {"pairs": [{"pair": "sampled", "of": {"pair": "range", "epsilon": "1"}, "rate": "1", "times": "1"}]},
        {"pairs": [{"pair": "unheard of", "times": "1"}]},
        {"renyi": []},
        {"renyi": [["1", "1"]]},
        {"renyi": [["3", "1"], ["2", "1"]]},
        {"mu_squared": "-1"},
        {"rho": "1", "delta": "1"},
    ],
)
def test_text_that_is_no_loss_is_refused(written: dict[str, object]) -> None:
    with pytest.raises(PublicParameterError):
        losses.from_json(written)


def test_pairs_have_one_order_and_gaussian_shifts_are_one() -> None:
    coin, shift = pairs.Coin(Fraction(1)), pairs.GaussianShift(Fraction(1, 4))
    made = pld_of([(shift, 3), (coin, 1), (coin, 2), (pairs.Coin(Fraction(0)), 9)])
    assert made.pairs == ((coin, 3), (pairs.GaussianShift(Fraction(3, 4)), 1))
    with pytest.raises(PublicParameterError, match="in order"):
        PLD(((pairs.GaussianShift(Fraction(1)), 1), (coin, 1)))


# ---- in sequence


@pytest.mark.wide
@given(st.lists(any_loss, min_size=1, max_size=5), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_the_parts_does_not_matter(parts: list[Loss], shuffler: random.Random) -> None:
    mixed = parts[:]
    shuffler.shuffle(mixed)

    def whole(of: Sequence[Loss]) -> Loss | str:
        try:
            return normal(compose.in_sequence([leaf(loss) for loss in of]).loss)
        except PublicParameterError:
            return "no common kind"

    assert whole(parts) == whole(mixed)


def test_each_kind_adds_in_its_own_way() -> None:
    def whole(*parts: Loss) -> Loss:
        return compose.in_sequence([leaf(loss) for loss in parts]).loss

    one, tiny = Fraction(1), Fraction(1, 10**6)
    assert whole(GaussianDP(one), GaussianDP(Fraction(1, 4))) == GaussianDP(Fraction(5, 4))
    assert whole(ApproxZCDP(one, tiny), ZCDP(one), PureDP(one)) == ApproxZCDP(Fraction(5, 2), tiny)
    assert whole(ApproxDP(one, tiny), ZCDP(one)) == ApproxZCDP(Fraction(3, 2), tiny)
    assert whole(GaussianDP(one), ZCDP(one)) == ZCDP(Fraction(3, 2))
    assert whole(GaussianDP(one), PureDP(one)) == pld_of([(pairs.GaussianShift(one), 1), (pairs.Coin(one), 1)])
    assert whole(GaussianDP(one), PureDP(Fraction(0))) == GaussianDP(one)
    two, three = Fraction(2), Fraction(3)
    curves = Renyi(((two, one), (three, two))), Renyi(((two, one),))
    assert whole(*curves) == Renyi(((two, two),))
    assert whole(curves[0], ZCDP(one), GaussianDP(one)) == Renyi(
        ((two, one + 2 + 1), (three, two + 3 + Fraction(3, 2)))
    )


def test_kinds_without_a_common_one_are_refused() -> None:
    one = Fraction(1)
    for parts in (
        (pld_of([(pairs.Coin(one), 1)]), ZCDP(one)),
        (Renyi(((Fraction(2), one),)), ApproxDP(one, Fraction(1, 100))),
        (Renyi(((Fraction(2), one),)), Renyi(((Fraction(3), one),))),
    ):
        with pytest.raises(PublicParameterError):
            compose.in_sequence([leaf(loss) for loss in parts])


def test_conversations_may_interleave_but_not_in_approximate_zcdp() -> None:
    one, tiny = Fraction(1), Fraction(1, 10**6)
    together = compose.concurrent([leaf(PureDP(one)), leaf(ApproxDP(one, tiny))])
    assert together.loss == ApproxDP(Fraction(2), tiny)
    assert together.by == compose.CONCURRENT
    refused: list[list[Loss]] = [[ApproxZCDP(one, tiny), ZCDP(one)], [ApproxDP(one, tiny), ZCDP(one)]]
    for parts in refused:
        with pytest.raises(PublicParameterError, match="interleaved"):
            compose.concurrent([leaf(loss) for loss in parts])


# ---- groups


@pytest.mark.wide
def test_a_group_of_gaussian_neighbours_is_a_wider_shift_and_renyi_is_never_below_it() -> None:
    mu_squared = Fraction(1, 100)
    assert convert.group_loss(GaussianDP(mu_squared), 3) == GaussianDP(Fraction(9, 100))
    orders = [Fraction(order) for order in (*range(2, 25), *range(28, 200, 12))]
    curve = convert.renyi_of(GaussianDP(mu_squared), orders)
    for size in (2, 3, 5):
        chained = convert.group_loss(curve, size)
        assert isinstance(chained, Renyi)
        for order, epsilon in chained.curve:
            truth = order * size**2 * mu_squared / 2
            assert truth <= epsilon
            if order <= 4:
                assert epsilon <= 5 * truth  # the triangle inequality loses something, not everything
    with pytest.raises(PublicParameterError, match="too few"):
        convert.group_loss(Renyi(((Fraction(2), Fraction(1)),)), 2)
    with pytest.raises(PublicParameterError, match="no theorem"):
        convert.group_loss(ApproxZCDP(Fraction(1), Fraction(1, 100)), 2)


def geometric(scale: Fraction, centre: int, reach: int) -> dict[int, Fraction]:
    """The law of centre + Z within ``reach``, with the base e^{-1/scale} replaced by a rational just below it."""
    base = exp_down(-1 / scale).limit_denominator(10**6)
    weights = {k: base ** abs(k - centre) for k in range(-reach, reach + 1)}
    total = (1 + base) / (1 - base)
    return {k: weight / total for k, weight in weights.items()}


@pytest.mark.parametrize("size", [2, 3])
def test_a_shift_stands_for_a_chain_of_steps(size: int) -> None:
    """delta(epsilon) of Z against Z + k is what k steps of one can reach: no smaller shift covers it."""
    scale, reach = Fraction(2), 60
    here, there = geometric(scale, 0, reach), geometric(scale, size, reach)
    grouped = convert.group_loss(pld_of([(pairs.GeometricShift(scale, 1), 1)]), size)
    assert grouped == pld_of([(pairs.GeometricShift(scale, size), 1)])
    factor = exp_up(Fraction(1, 4))
    truth = sum(max(Fraction(0), here[k] - factor * there[k]) for k in here)
    assert truth > sum(max(Fraction(0), here[k] - factor * geometric(scale, 1, reach)[k]) for k in here)
    from reticent.privacy import pld

    claimed = pld.delta_of(grouped.pairs, Fraction(1, 4)) if isinstance(grouped, PLD) else Fraction(0)
    assert float(truth) == pytest.approx(float(claimed), rel=1e-3)


# ---- partitions


def test_the_dearest_of_products_is_named_only_where_it_is_worse_in_every_way() -> None:
    def product_of(*each: pairs.Pair) -> PLD:
        return pld_of([(one, 1) for one in each])

    half, one = Fraction(1, 2), Fraction(1)
    cheap, dear = product_of(pairs.Coin(half)), product_of(pairs.Coin(one))
    assert convert.dearest([cheap, dear, product_of()]) == dear
    wide = product_of(pairs.GeometricShift(one, 2))
    assert convert.dearest([product_of(pairs.GeometricShift(one, 1)), wide]) == wide
    crossed = [product_of(pairs.Coin(half, Fraction(1, 10))), product_of(pairs.Coin(one))]
    mixed = [cheap, product_of(pairs.Range(one))]
    scales = [product_of(pairs.GeometricShift(half, 1)), wide]
    for unlike in (mixed, scales):
        ((pair, times),) = convert.dearest(unlike).pairs
        assert isinstance(pair, pairs.Highest)
        assert (times, set(pair.branches)) == (1, {one.pairs for one in unlike})
    sampled = [cheap, product_of(pairs.SampledPair(pairs.GaussianShift(one), half))]
    for unlike in (crossed, sampled, [cheap, product_of(pairs.GaussianShift(one))]):
        with pytest.raises(PublicParameterError, match="none of these"):
            convert.dearest(unlike)


def test_a_partition_keeps_the_pair_of_equal_parts_and_else_the_highest_profile() -> None:
    alike = Geometric(L1(Fraction(1), PEOPLE), Fraction(1, 2)).guarantee
    other = Exponential(Linf(Fraction(1), PEOPLE), Fraction(1, 4)).guarantee
    assert compose.in_pld(compose.across([alike, alike], neighbours=PEOPLE)).loss == pld_of(
        [(pairs.GeometricShift(Fraction(2), 1), 1)]
    )
    branches = (((pairs.GeometricShift(Fraction(2), 1), 1),), ((pairs.Range(Fraction(1, 4)), 1),))
    assert compose.in_pld(compose.across([alike, other], neighbours=PEOPLE)).loss == pld_of(
        [(pairs.Highest(branches), 1)]
    )


# ---- views of trees


def release() -> Guarantee:
    """A tree with every combinator and several mechanisms in it."""
    parts = [
        Geometric(L1(Fraction(1), PEOPLE), Fraction(1, 2)).guarantee,
        Laplace(L1(Fraction(1, 3), PEOPLE), Fraction(1, 4), Grid(-3), 2).guarantee,
        Exponential(Linf(Fraction(2), PEOPLE), Fraction(1, 4)).guarantee,
        PermuteAndFlip(Linf(Fraction(1), PEOPLE), Fraction(1, 5)).guarantee,
        ScalarGaussian(L1(Fraction(1), PEOPLE), Fraction(100), Fraction(1, 2)).guarantee,
        compose.processed(compose.across([geo(ROW), geo(ROW)], neighbours=ROW), label="cells"),
    ]
    lifted = compose.of_person(parts[-1], Adjacency("add_remove", rows=2), rows=2)
    by_person = [
        dataclasses.replace(part, adjacency=lifted.adjacency) if not part.parts else part for part in parts[:-1]
    ]
    return compose.in_sequence([*by_person, lifted])


def geo(neighbours: Adjacency) -> Guarantee:
    return Geometric(L1(Fraction(1), neighbours), Fraction(1, 10)).guarantee


def test_each_part_is_viewed_by_its_own_pair() -> None:
    viewed = compose.in_pld(release())
    assert isinstance(viewed.loss, PLD)
    assert {type(pair) for pair, _ in viewed.loss.pairs} == {
        pairs.GeometricShift,
        pairs.Range,
        pairs.Coin,
        pairs.DiscreteGaussianShift,
    }
    assert (pairs.GeometricShift(Fraction(10), 2), 1) in viewed.loss.pairs  # the lift to a person of two rows
    in_rho = compose.in_zcdp(release())
    expected = (
        Fraction(1, 8)  # geometric
        + Fraction(1, 32)  # Laplace
        + Fraction(1, 16) / 8  # exponential: an eighth of the square
        + Fraction(1, 25) / 2  # permute-and-flip: no bounded range, half the square
        + Fraction(1, 200)  # one integer with Gaussian noise: no delta
        + 4 * Fraction(1, 200)  # two steps
    )
    assert in_rho.loss == ZCDP(expected)
    curve = compose.in_renyi(release(), [Fraction(2), Fraction(8)])
    assert isinstance(curve.loss, Renyi)
    assert all(epsilon <= order * expected for order, epsilon in curve.loss.curve if order == 2)


def test_permute_and_flip_never_gets_the_bounded_range_rate() -> None:
    """OpenDP 2911: its losses are not within epsilon of each other."""
    chosen = PermuteAndFlip(Linf(Fraction(1), PEOPLE), Fraction(1)).guarantee
    assert chosen.pair is None
    assert convert.as_zcdp(chosen).loss == ZCDP(Fraction(1, 2))


views = (compose.in_pld, compose.in_zcdp, lambda tree: compose.in_renyi(tree, [Fraction(2), Fraction(5, 2)]))


@pytest.mark.parametrize("view", views)
def test_a_stored_view_is_derived_again_and_a_lowered_one_is_not(view: object) -> None:
    assert callable(view)
    tree = view(release())
    stored = serialization.from_json(json.loads(json.dumps(serialization.to_json(tree))))
    assert rederive(stored, axiom_again) == tree.loss

    def lowered(loss: Loss) -> Loss:
        match loss:
            case PLD(parts):
                return PLD(parts[1:])
            case ZCDP(rho):
                return ZCDP(rho / 2)
            case Renyi(curve):
                return Renyi(curve[:1])
            case _:
                raise AssertionError

    with pytest.raises(CheckError):
        rederive(dataclasses.replace(stored, loss=lowered(stored.loss)), axiom_again)
    deep = dataclasses.replace(stored.parts[0], loss=lowered(stored.parts[0].loss))
    with pytest.raises(CheckError):
        rederive(dataclasses.replace(stored, parts=(deep, *stored.parts[1:])), axiom_again)


def test_a_conversion_stored_under_a_stronger_name_is_refused() -> None:
    coin = convert.as_pld(leaf(PureDP(Fraction(1))))
    pure = Geometric(L1(Fraction(1), PEOPLE), Fraction(1)).guarantee
    chosen = PermuteAndFlip(Linf(Fraction(1), PEOPLE), Fraction(1)).guarantee
    forged = dataclasses.replace(
        coin, parts=(chosen,), loss=pld_of([(pairs.Range(Fraction(1)), 1)]), by=convert.OWN_PAIR
    )
    with pytest.raises(CheckError):
        rederive(forged, axiom_again)
    own = convert.as_pld(pure)
    assert rederive(own, axiom_again) == own.loss
    with pytest.raises(
        CheckError
    ):  # the pair of a leaf follows from its parameters; a stored tree cannot bring its own
        rederive(dataclasses.replace(own, loss=pld_of([(pairs.GeometricShift(Fraction(2), 1), 1)])), axiom_again)


def test_gaussian_noise_on_two_cells_has_no_pair_of_one_integer() -> None:
    one = Gaussian(L2(Fraction(1), PEOPLE), Fraction(1, 8))
    two = Gaussian(L2(Fraction(2), PEOPLE), Fraction(1, 8))
    assert one.guarantee.pair == pairs.DiscreteGaussianShift(Fraction(4), 1)
    assert two.guarantee.pair is None


# ---- the bounded range


def test_the_pair_of_the_exponential_mechanism_covers_every_pair_of_score_vectors() -> None:
    """delta(x) <= (1 - e^{(x - eps)/2})^2 / (1 - e^-eps) wherever scores differ by at most 1, and nearly reached."""
    epsilon = 1.5
    scores = list(product(range(4), repeat=3))
    best = 0.0
    for x in (-0.5, 0.0, 0.6):
        bound = (1 - exp((x - epsilon) / 2)) ** 2 / (1 - exp(-epsilon))
        for here in scores:
            for there in scores:
                if max(abs(a - b) for a, b in zip(here, there, strict=True)) > 1:
                    continue
                p = [exp(-epsilon * score / 2) for score in here]
                q = [exp(-epsilon * score / 2) for score in there]
                delta = sum(max(0.0, a / sum(p) - exp(x) * b / sum(q)) for a, b in zip(p, q, strict=True))
                assert delta <= bound + 1e-12
                best = max(best, delta / bound)
    assert best > 0.95


# ---- forged, and too much for one machine


def test_nothing_is_lifted_to_one_respondent_or_from_one() -> None:
    row = Geometric(L1(Fraction(1), ROW), Fraction(1)).guarantee
    with pytest.raises(PublicParameterError, match="one respondent"):
        compose.grouped(row, 1, neighbours=Adjacency("local"))
    with pytest.raises(PublicParameterError, match="one respondent"):
        compose.of_person(row, Adjacency("local"), rows=1)
    lifted = compose.of_person(row, Adjacency("add_remove", rows=2), rows=2)
    with pytest.raises((CheckError, PublicParameterError)):
        rederive(dataclasses.replace(lifted, adjacency=Adjacency("local")), axiom_again)


def test_the_tolerance_of_a_conversion_does_not_add_up() -> None:
    """Each level would lower epsilon by a millionth: the second is refused, for there is nothing left to convert."""
    part = convert.as_pld(ScalarGaussian(L1(Fraction(1), PEOPLE), Fraction(4), Fraction(1)).guarantee)
    once = convert.as_approx(part, Fraction(1, 10**6))
    assert isinstance(once.loss, ApproxDP)
    lower = ApproxDP(once.loss.epsilon / (1 + convert.SPREAD), once.loss.delta)
    assert rederive(dataclasses.replace(once, loss=lower), axiom_again) == lower
    twice = dataclasses.replace(once, parts=(once,))
    with pytest.raises(CheckError):
        rederive(twice, axiom_again)
    lowest = ApproxDP(once.loss.epsilon / (1 + 2 * convert.SPREAD), once.loss.delta)
    with pytest.raises(CheckError):
        rederive(dataclasses.replace(once, loss=lowest), axiom_again)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ScalarGaussian(L1(Fraction(1), PEOPLE), Fraction(1, 10**6), Fraction(1)),
        lambda: ScalarGaussian(L1(Fraction(1), PEOPLE), Fraction(4), Fraction(10**5)),
        lambda: Grid(10**13),
        lambda: Grid(-(10**13)),
        lambda: convert.as_renyi(leaf(PureDP(Fraction(1))), [Fraction(k) for k in range(2, 200)]),
        lambda: convert.group_loss(convert.renyi_of(ZCDP(Fraction(1))), 1000),
        lambda: pairs.Range(Fraction(1, 10**400)),
        lambda: pairs.SampledPair(pairs.Coin(Fraction(1)), Fraction(1, 10**400)),
        lambda: pairs.SampledPair(pairs.Coin(Fraction(1)), 1 - Fraction(1, 10**400)),
        lambda: pairs.GaussianShift(Fraction(1, 10**400)),
        lambda: ZCDP(Fraction(10) ** 400),
    ],
)
def test_what_would_stop_a_machine_is_refused_in_words(make: Callable[[], object]) -> None:
    with pytest.raises(PublicParameterError):
        make()


def test_a_sample_s_curve_ends_where_its_sums_grow_long() -> None:
    sampled = pld_of([(pairs.SampledPair(pairs.Coin(Fraction(1)), Fraction(1, 3)), 1)])
    curve = convert.renyi_of(sampled, [Fraction(2), Fraction(512)])
    assert curve.orders == (Fraction(2),)


@pytest.mark.parametrize("wrong", ["1", 1.0, leaf(PureDP(Fraction(1)))])
def test_what_is_no_loss_is_refused_with_a_hint(wrong: object) -> None:
    from reticent.privacy import explain, filters
    from reticent.privacy import profiles as curves
    from reticent.privacy.odometer import Odometer

    given: Any = wrong
    for use in (
        lambda: curves.delta(given, Fraction(1)),
        lambda: curves.rho(given),
        lambda: filters.admits(PureDP(Fraction(1)), PureDP(Fraction(0)), given),
        lambda: Odometer(Fraction(1, 10**6)).add(given),
        lambda: explain.promise(given),
    ):
        with pytest.raises(PublicParameterError, match="a loss is needed here"):
            use()
