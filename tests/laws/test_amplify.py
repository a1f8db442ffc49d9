"""Amplification: never below the exact loss of the sampled or shuffled program, close to it, and caught when wrong.

Noise has rational odds, so that laws are exact fractions: two-sided geometric noise with P(k) proportional to
odds^-|k|, for which the product claims an epsilon just above ln odds per step. Tables are tiny and every neighbour is
tried. The hockey-stick distance at e^epsilon is the least true delta there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import comb, exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.entropy import Replayed
from reticent.errors import CheckError, PublicParameterError
from reticent.exact.rounding import exp_down, exp_up, log_up, round_up
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.gaussian import mass as gaussian_mass
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.randomized_response import RandomizedResponse, two_coins
from reticent.mechanisms.registry import axiom_again
from reticent.mechanisms.shuffled_response import ShuffledResponse
from reticent.mechanisms.subsampling import Poisson, WithoutReplacement, poisson_sums, subset_sums
from reticent.privacy import amplify, compose, serialization, shuffle_clones
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import as_approx
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import PLD, ApproxDP, GaussianDP, PureDP, Renyi, pld_of
from reticent.privacy.pairs import Coin, DiscreteGaussianShift, GaussianShift, GeometricShift, SampledPair
from reticent.privacy.rederivation import rederive
from reticent.privacy.sensitivity import L1, L2
from tests.conventions.test_docs_examples import blocks
from tests.conventions.tree import ROOT

ADD = Adjacency("add_remove")
SUB = Adjacency("substitute")
ODDS = Fraction(2)  # of the noise, per step
WIDEST = 2  # the largest contribution of a unit, and the sensitivity
RATE = Fraction(1, 3)
GROWN = tuple(Fraction(text) for text in ("1", "3/2", "2", "3"))  # e^epsilon of the base; the noise ends at odds^2
Law = Mapping[int, Fraction]


def base(adjacency: Adjacency, grown: Fraction, delta: Fraction) -> Guarantee:
    epsilon = round_up(log_up(grown))
    loss = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    return Guarantee(loss, adjacency, Theorem("test", "", ""))


def noisy(sums: Law) -> dict[int, Fraction]:
    """The law of sum + noise; the two ends, beyond which likelihood ratios no longer change, are lumped."""
    low, high = -6, 8
    law: dict[int, Fraction] = {}
    for total, chance in sums.items():
        assert low <= total <= high
        for out in range(low, high + 1):
            away = abs(out - total)
            at = 1 / (ODDS**away * (1 + 1 / ODDS)) * (1 if out in (low, high) else 1 - 1 / ODDS)
            law[out] = law.get(out, Fraction(0)) + chance * at
    assert sum(law.values()) == 1
    return law


def excess(here: Law, there: Law, grown: Fraction) -> Fraction:
    """The hockey-stick distance: the least delta at e^epsilon = ``grown``."""
    outs = here.keys() | there.keys()
    zero = Fraction(0)
    return sum((max(zero, here.get(out, zero) - grown * there.get(out, zero)) for out in outs), zero)


@cache
def base_delta(grown: Fraction) -> Fraction:
    """The exact delta of the noise over all shifts up to the sensitivity."""
    middle = noisy({0: Fraction(1)})
    return max(excess(middle, noisy({shift: Fraction(1)}), grown) for shift in range(-WIDEST, WIDEST + 1))


def claimed(guarantee: Guarantee) -> tuple[Fraction, Fraction]:
    match guarantee.loss:
        case PureDP(epsilon):
            return epsilon, Fraction(0)
        case ApproxDP(epsilon, delta):
            return epsilon, delta
        case other:
            raise AssertionError(other)


@cache
def added() -> list[tuple[Law, Law]]:
    """All tables of at most 2 units with contributions -2..2, and the same with any one unit more; both directions."""
    pairs: list[tuple[Law, Law]] = []
    for count in range(3):
        for table in combinations_with_replacement(range(-2, 3), count):
            here = noisy(poisson_sums(table, RATE))
            for more in range(-WIDEST, WIDEST + 1):
                there = noisy(poisson_sums((*table, more), RATE))
                pairs += [(here, there), (there, here)]
    return pairs


@cache
def replaced(size: int, people: int) -> list[tuple[Law, Law]]:
    """All tables of ``people`` units with contributions 0..2, and the same with unit 0 replaced."""
    pairs: list[tuple[Law, Law]] = []
    for others in combinations_with_replacement(range(WIDEST + 1), people - 1):
        laws = [noisy(subset_sums((one, *others), size)) for one in range(WIDEST + 1)]
        pairs += [(here, there) for here in laws for there in laws]
    return pairs


def worst(pairs: Sequence[tuple[Law, Law]], epsilon: Fraction) -> Fraction:
    return max(excess(here, there, exp_down(epsilon)) for here, there in pairs)


def holds(pairs: Sequence[tuple[Law, Law]], claim: tuple[Fraction, Fraction]) -> bool:
    return worst(pairs, claim[0]) <= claim[1]


# ---- sampling


@pytest.mark.parametrize("grown", [*GROWN, ODDS**WIDEST], ids=str)
def test_poisson_sampling_costs_what_is_claimed_and_no_less(grown: Fraction) -> None:
    claim = claimed(amplify.poisson(base(ADD, grown, base_delta(grown)), RATE))
    assert holds(added(), claim)
    if claim[1]:
        assert worst(added(), claim[0]) > Fraction(999, 1000) * claim[1]
    else:
        assert not holds(added(), (claim[0] * Fraction(999, 1000), Fraction(0)))


@pytest.mark.parametrize(("size", "people"), [(1, 3), (2, 3), (2, 4)])
@pytest.mark.parametrize("grown", [*GROWN, ODDS**WIDEST], ids=str)
def test_sampling_without_replacement_costs_what_is_claimed_and_no_less(
    grown: Fraction, size: int, people: int
) -> None:
    claim = claimed(amplify.without_replacement(base(SUB, grown, base_delta(grown)), size, people))
    assert holds(replaced(size, people), claim)
    if claim[1]:
        assert worst(replaced(size, people), claim[0]) > Fraction(999, 1000) * claim[1]
    else:
        assert not holds(replaced(size, people), (claim[0] * Fraction(999, 1000), Fraction(0)))


def test_epsilon_times_rate_is_caught() -> None:
    for grown in (Fraction(3, 2), Fraction(3), ODDS**WIDEST):
        epsilon, delta = round_up(log_up(grown)), base_delta(grown)
        assert not holds(added(), (RATE * epsilon, RATE * delta))
        assert not holds(replaced(1, 3), (RATE * epsilon, RATE * delta))


def test_a_delta_below_rate_times_delta_is_caught() -> None:
    epsilon, delta = claimed(amplify.poisson(base(ADD, Fraction(2), base_delta(Fraction(2))), RATE))
    assert not holds(added(), (epsilon, delta * RATE))  # amplified twice
    assert delta == round_up(RATE * base_delta(Fraction(2))) < base_delta(Fraction(2))  # and not forgotten


def test_sampling_with_replacement_is_caught() -> None:
    """m draws with replacement take one unit several times: the same claim is false."""

    def drawn(values: Sequence[int], size: int) -> dict[int, Fraction]:
        law: dict[int, Fraction] = {}
        for taken in product(values, repeat=size):
            law[sum(taken)] = law.get(sum(taken), Fraction(0)) + Fraction(1, len(values) ** size)
        return law

    pairs = [(noisy(drawn((2, 0, 0), 2)), noisy(drawn((0, 0, 0), 2)))]
    assert not holds(pairs, claimed(amplify.without_replacement(base(SUB, ODDS**WIDEST, Fraction(0)), 2, 3)))


def test_a_fixed_size_under_add_remove_is_caught() -> None:
    """A unit more pushes another out: two steps of the noise behind it, not one."""
    pairs = [(noisy(subset_sums((0, 0, 0), 2)), noisy(subset_sums((0, 0, 0, 2), 2)))]
    pairs += [(noisy(subset_sums((-2, -2), 1)), noisy(subset_sums((-2, -2, 2), 1)))]
    pairs += [(there, here) for here, there in pairs]
    one_step = claimed(amplify.without_replacement(base(SUB, ODDS**WIDEST, Fraction(0)), 1, 2))
    assert not holds(pairs, one_step)
    with pytest.raises(PublicParameterError, match="pushes another one out"):
        amplify.without_replacement(base(ADD, ODDS, Fraction(0)), 1, 2)


def test_two_answers_from_one_sample_cost_more_than_two_amplified_losses() -> None:
    """What a claimed rate gets wrong: the same sample answers twice. Fresh samples do not; one vector does neither."""
    rate = Fraction(1, 10)
    once = claimed(amplify.poisson(base(ADD, ODDS, Fraction(0)), rate))[0]
    both = claimed(amplify.poisson(compose.in_sequence([base(ADD, ODDS, Fraction(0))] * 2), rate))[0]
    single = {shift: noisy({shift: Fraction(1)}) for shift in (0, 1)}
    twice = {
        shift: {100 * a + b: single[shift][a] * single[shift][b] for a, b in product(single[0], repeat=2)}
        for shift in (0, 1)
    }
    mixed = {out: (1 - rate) * twice[0][out] + rate * twice[1][out] for out in twice[0]}
    assert excess(mixed, twice[0], exp_up(2 * once)) > 0  # the forged claim
    assert excess(mixed, twice[0], exp_down(both)) == 0  # both answers behind one sampling step


def test_the_sampled_pair_is_the_law_of_the_worst_table() -> None:
    """What ``SampledPair`` says of its pair is what the program does: nothing else in the table, one unit more."""
    guarantee = Poisson(Geometric(L1(Fraction(1), ADD), Fraction(1)), RATE).guarantee
    assert guarantee.pair == SampledPair(GeometricShift(Fraction(1), 1), RATE)
    for grown in (Fraction(1), Fraction(7, 6), Fraction(5, 4)):
        without, alone = noisy({0: Fraction(1)}), noisy({1: Fraction(1)})
        law = noisy(poisson_sums((1,), RATE))
        assert excess(law, without, grown) == RATE * excess(alone, without, 1 + (grown - 1) / RATE)
        left = 1 - grown * (1 - RATE)
        assert excess(without, law, grown) == left * excess(without, alone, grown * RATE / left)
        table = noisy(poisson_sums((2, -1), RATE)), noisy(poisson_sums((2, -1, 1), RATE))
        assert excess(table[1], table[0], grown) <= excess(law, without, grown)
        assert excess(table[0], table[1], grown) <= excess(without, law, grown)


def test_every_loss_is_amplified_or_refused_with_words() -> None:
    shift = GaussianShift(Fraction(1, 4))
    sampled = amplify.poisson(Guarantee(GaussianDP(Fraction(1, 4)), ADD, Theorem("test", "", "")), RATE)
    assert sampled.loss == PLD(((SampledPair(shift, RATE), 1),))
    assert sampled.pair == SampledPair(shift, RATE)
    again = amplify.poisson(sampled, Fraction(1, 2))
    assert again.loss == PLD(((SampledPair(shift, RATE / 2), 1),))
    product_of_two = pld_of([(shift, 1), (Coin(Fraction(1)), 1)])
    with pytest.raises(PublicParameterError, match="sample each answer afresh"):
        amplify.poisson(Guarantee(product_of_two, ADD, Theorem("test", "", "")), RATE)
    with pytest.raises(PublicParameterError, match="delta="):
        amplify.poisson(Guarantee(Renyi(((Fraction(2), Fraction(1)),)), ADD, Theorem("test", "", "")), RATE)
    assert amplify.poisson(base(ADD, Fraction(1), Fraction(0)), RATE).loss == PureDP(Fraction(0))
    huge = Guarantee(PureDP(Fraction(10**6)), ADD, Theorem("test", "", ""))
    assert amplify.poisson(huge, RATE).loss == huge.loss


def test_a_sampled_gaussian_costs_what_is_claimed_and_no_less() -> None:
    """By way of the privacy-loss distribution; the exact law is that of one unit more in an empty table, both ways."""
    made = Poisson(Gaussian(L2(Fraction(1), ADD), Fraction(1, 8)), Fraction(1, 10)).guarantee
    whole = as_approx(made, Fraction(1, 10**6))
    epsilon = float(claimed(whole)[0])
    without = [gaussian_mass(4.0, 0, out) for out in range(-40, 42)]
    table = [0.9 * a + 0.1 * gaussian_mass(4.0, 1, out) for a, out in zip(without, range(-40, 42), strict=True)]

    def delta(at: float) -> float:
        pairs = [(table, without), (without, table)]
        return max(sum(max(0.0, a - exp(at) * b) for a, b in zip(*pair, strict=True)) for pair in pairs)

    assert delta(epsilon) <= 1e-6 < delta(0.99 * epsilon)
    assert rederive(whole, axiom_again) == whole.loss
    first = Poisson(Gaussian(L2(Fraction(1), ADD), Fraction(1, 8)), Fraction(1, 10), delta=Fraction(1, 10**5)).guarantee
    assert claimed(first)[1] == Fraction(1, 10**6)
    assert epsilon < 0.9 * float(claimed(first)[0])


def test_a_gaussian_is_amplified_by_its_pair_or_at_a_named_delta() -> None:
    unit = Gaussian(L2(Fraction(1), ADD), Fraction(1, 8))
    assert Poisson(unit, RATE).guarantee.loss == PLD(((SampledPair(DiscreteGaussianShift(Fraction(4), 1), RATE), 1),))
    wide = Gaussian(L2(Fraction(5), ADD), Fraction(1, 8))
    with pytest.raises(PublicParameterError, match="delta="):
        Poisson(wide, RATE)
    delta = Fraction(1, 10**6)
    made = Poisson(wide, RATE, length=2, delta=delta).guarantee
    assert made.parts == (as_approx(wide.guarantee, delta),)
    assert claimed(made)[1] == round_up(RATE * delta)
    replaced_one = Gaussian(L2(Fraction(5), SUB), Fraction(1, 8))
    assert claimed(WithoutReplacement(replaced_one, 1, 4, delta=delta).guarantee)[1] == delta / 4
    with pytest.raises(PublicParameterError, match="its own"):
        Poisson(Geometric(L1(Fraction(1), ADD), Fraction(1)), RATE, delta=delta)


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1), Fraction(-1, 2), 0.5])
def test_a_rate_out_of_range_or_inexact_is_refused(rate: Fraction) -> None:
    with pytest.raises(PublicParameterError, match="rate"):
        Poisson(Geometric(L1(Fraction(1), ADD), Fraction(1)), rate)


def test_a_sample_on_coins_is_refused_under_substitution() -> None:
    with pytest.raises(PublicParameterError, match="draw without replacement"):
        Poisson(Geometric(L1(Fraction(1), SUB), Fraction(1)), RATE)


@pytest.mark.parametrize(("size", "people"), [(0, 3), (3, 3), (4, 3), (True, 3)])
def test_sizes_out_of_range_are_refused(size: int, people: int) -> None:
    with pytest.raises(PublicParameterError):
        WithoutReplacement(Geometric(L1(Fraction(1), SUB), Fraction(1)), size, people)


# ---- shuffling


def heard(randomizer: RandomizedResponse, yes: int, people: int) -> dict[int, Fraction]:
    """The exact law of the number of yes heard when ``yes`` of ``people`` would say yes."""
    laws = []
    for truth, count in (("yes", yes), ("no", people - yes)):
        chance = randomizer.distribution(truth)["yes"]
        top, whole = chance.numerator, chance.denominator
        laws.append(([comb(count, k) * top**k * (whole - top) ** (count - k) for k in range(count + 1)], whole**count))
    (first, one), (second, two) = laws
    law = [0] * (people + 1)
    for k, weight in enumerate(first):
        for j, other in enumerate(second):
            law[k + j] += weight * other
    return {k: Fraction(weight, one * two) for k, weight in enumerate(law)}


def truth_at(randomizer: RandomizedResponse, people: int, grown: Fraction, yeses: Iterator[int]) -> Fraction:
    """The largest exact delta over tables in which so many of the others would say yes, in both directions."""
    found = Fraction(0)
    for yes in yeses:
        here, there = heard(randomizer, yes, people), heard(randomizer, yes + 1, people)
        found = max(found, excess(here, there, grown), excess(there, here, grown))
    return found


def clone_pair(ratio: Fraction, people: int, chance: Fraction, grown: Fraction) -> Fraction:
    """Theorem 3.2 of Feldman, McMillan and Talwar, listed term by term."""
    right, total = ratio / (ratio + 1), Fraction(0)
    for count in range(people):
        of_count = comb(people - 1, count) * chance**count * (1 - chance) ** (people - 1 - count)
        for first in range(count + 2):
            with_own = Fraction(comb(count, first - 1) if first else 0, 2**count)
            without = Fraction(comb(count, first), 2**count)
            here = right * with_own + (1 - right) * without
            there = (1 - right) * with_own + right * without
            total += of_count * max(Fraction(0), here - grown * there)
    return total


RANDOMIZERS = (
    two_coins(),
    RandomizedResponse(Fraction(1, 5), Fraction(1, 2)),
    RandomizedResponse(Fraction(1, 3), Fraction(1, 5)),
)


@pytest.mark.parametrize("people", range(2, 9))
@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=["two coins", "one fifth", "lopsided"])
def test_the_clones_hide_at_most_what_is_hidden(randomizer: RandomizedResponse, people: int) -> None:
    """All tables of n = 2..8, where the condition on n does not hold: the clones need none."""
    ratio = randomizer.ratio
    for grown in (Fraction(1), (3 + ratio) / 4, (1 + ratio) / 2, (1 + 9 * ratio) / 10):
        truth = truth_at(randomizer, people, grown, iter(range(people)))
        for chance in (1 / ratio, 2 / (ratio + 1)):
            listed = clone_pair(ratio, people, chance, grown)
            computed = shuffle_clones.clones(ratio, people, chance, aim=Fraction(1, 10**6)).delta(grown)
            assert truth <= listed <= computed <= listed + Fraction(1, 10**30)


@pytest.mark.wide
@given(
    st.fractions(Fraction(101, 100), Fraction(50), max_denominator=1000),
    st.integers(2, 16),
    st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100),
    st.fractions(Fraction(0), Fraction(1), max_denominator=100),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_clones_delta_is_the_sum_listed_rounded_up(
    ratio: Fraction, people: int, chance: Fraction, way: Fraction
) -> None:
    grown = 1 + way * (ratio - 1)
    listed = clone_pair(ratio, people, chance, grown)
    computed = shuffle_clones.clones(ratio, people, chance, aim=Fraction(1, 10**6)).delta(grown)
    assert listed <= computed <= listed + Fraction(1, 10**16)


def test_a_tail_that_is_cut_off_is_counted_whole() -> None:
    """A coarse aim keeps fewer terms: the delta may only grow, by no more than the aim allows."""
    fine = shuffle_clones.clones(Fraction(3), 5000, Fraction(1, 2), aim=Fraction(1, 10**30)).delta(Fraction(11, 10))
    coarse = shuffle_clones.clones(Fraction(3), 5000, Fraction(1, 2), aim=Fraction(1, 2)).delta(Fraction(11, 10))
    assert fine <= coarse <= fine + Fraction(1, 2**36)
    assert fine < coarse


def test_more_people_hide_better() -> None:
    deltas = [
        shuffle_clones.clones(Fraction(3), people, Fraction(1, 2), aim=Fraction(1, 10**9)).delta(Fraction(6, 5))
        for people in (2, 3, 10, 11, 100, 101, 1000)
    ]
    assert deltas == sorted(deltas, reverse=True)


def test_too_many_clones_are_caught() -> None:
    """If 9 of 10 others were clones the delta would be below the truth."""
    randomizer, people, grown = two_coins(), 8, Fraction(3, 2)
    truth = truth_at(randomizer, people, grown, iter(range(people)))
    assert shuffle_clones.clones(Fraction(3), people, Fraction(9, 10), aim=Fraction(1, 10**6)).delta(grown) < truth


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("randomizer", RANDOMIZERS[:2], ids=["two coins", "one fifth"])
def test_a_thousand_answers_cost_what_is_claimed_and_hardly_less(randomizer: RandomizedResponse) -> None:
    """Against the exact law; the claim is at most 1.2 times the least true epsilon."""
    people, delta = 1000, Fraction(1, 10**6)
    guarantee = ShuffledResponse(randomizer, people, delta, "ballot box").guarantee
    epsilon, stated = claimed(guarantee)
    assert guarantee.by == amplify.CLONES
    assert stated == delta
    tables = (0, 499, 999)
    laws = [(heard(randomizer, yes, people), heard(randomizer, yes + 1, people)) for yes in tables]
    laws += [(there, here) for here, there in laws]
    assert holds(laws, (epsilon, delta))
    assert not holds(laws, (epsilon / Fraction("1.2"), delta))


def test_the_number_of_all_is_caught_where_a_subgroup_is_shown() -> None:
    """A hundred of a thousand shown apart hide among a hundred."""
    delta, randomizer = Fraction(1, 1000), RandomizedResponse(Fraction(1, 10), Fraction(1, 2))
    laws = [(heard(randomizer, 1, 150), heard(randomizer, 0, 150))]
    assert holds(laws, claimed(ShuffledResponse(randomizer, 150, delta, "ballot box").guarantee))
    assert not holds(laws, claimed(ShuffledResponse(randomizer, 1500, delta, "ballot box").guarantee))
    with pytest.raises(PublicParameterError, match="a mechanism with their own number"):
        ShuffledResponse(randomizer, 1500, delta, "ballot box").sample(["yes"] * 150, Replayed("subgroup"))


def test_epsilon_of_the_clones_is_the_least_of_four_digits() -> None:
    for local, people, delta in (
        (Fraction(1), 500, "1e-6"),
        (Fraction(3), 10_000, "1e-9"),
        (Fraction(1, 10), 999, "0.001"),
    ):
        ratio = shuffle_clones.ratio_of(local)
        chance = 2 / (ratio + 1)
        epsilon = shuffle_clones.least_epsilon(local, people, Fraction(delta), chance)
        pair = shuffle_clones.clones(ratio, people, chance, aim=Fraction(delta))
        assert pair.delta(exp_down(epsilon)) <= Fraction(delta) < pair.delta(exp_up(epsilon * Fraction(998, 1000)))


@pytest.mark.wide
def test_the_closed_form_is_never_below_the_clones() -> None:
    for local in ("0.05", "0.5", "1", "2", "4"):
        for delta in ("1e-2", "1e-6", "1e-12"):
            least = 16 * exp_up(Fraction(local)) * log_up(2 / Fraction(delta))
            for people in (least.__ceil__(), 4 * least.__ceil__()):
                closed = amplify.closed_form(Fraction(local), people, Fraction(delta))
                ratio = shuffle_clones.ratio_of(Fraction(local))
                assert shuffle_clones.least_epsilon(Fraction(local), people, Fraction(delta), 1 / ratio) <= closed


@pytest.mark.wide
def test_in_a_vast_crowd_the_closed_form_takes_over() -> None:
    delta = Fraction(1, 10**6)
    made = ShuffledResponse(two_coins(), 10**12, delta, "ballot box").guarantee
    assert made.by == amplify.CLOSED
    assert claimed(made)[0] == amplify.closed_form(two_coins().guarantee.loss.epsilon, 10**12, delta)  # type: ignore[union-attr]  # it is pure


def test_each_condition_of_shuffling_is_refused_with_words() -> None:
    delta = Fraction(1, 10**6)

    def shuffled(
        part: Guarantee, neighbours: Adjacency = SUB, shuffler: str = "ballot box", people: int = 1000
    ) -> None:
        amplify.shuffled(part, people=people, delta=delta, shuffler=shuffler, neighbours=neighbours)

    local = two_coins().guarantee
    shuffled(local)
    with pytest.raises(PublicParameterError, match="number of people is public"):
        shuffled(local, neighbours=ADD)
    with pytest.raises(PublicParameterError, match="one answer per person"):
        shuffled(local, neighbours=Adjacency("substitute", rows=2))
    with pytest.raises(PublicParameterError, match="purely"):
        shuffled(Guarantee(ApproxDP(Fraction(1), delta), Adjacency("local"), Theorem("test", "", "")))
    with pytest.raises(PublicParameterError, match="local model"):
        shuffled(Geometric(L1(Fraction(1), SUB), Fraction(1)).guarantee)
    with pytest.raises(PublicParameterError, match="name the shuffler"):
        shuffled(local, shuffler=" ")
    with pytest.raises(PublicParameterError, match="people must be"):
        shuffled(local, people=1)


def test_too_few_people_for_epsilon_are_refused_at_the_very_border() -> None:
    delta = Fraction(1, 10**6)
    border = (16 * exp_up(two_coins().guarantee.loss.epsilon) * log_up(2 / delta)).__ceil__()  # type: ignore[union-attr]  # it is pure
    assert abs(border - 48 * log(2e6)) <= 1
    ShuffledResponse(two_coins(), border, delta, "ballot box")
    with pytest.raises(PublicParameterError, match="too few people"):
        ShuffledResponse(two_coins(), border - 1, delta, "ballot box")


# ---- stored


def stored() -> list[Guarantee]:
    coins = Geometric(L1(Fraction(1), ADD), Fraction(1))
    return [
        Poisson(coins, RATE).guarantee,
        Poisson(Gaussian(L2(Fraction(1), ADD), Fraction(1, 8)), RATE).guarantee,
        Poisson(Gaussian(L2(Fraction(3), ADD), Fraction(1, 8)), RATE, delta=Fraction(1, 10**6)).guarantee,
        WithoutReplacement(Geometric(L1(Fraction(1), SUB), Fraction(1)), 2, 7).guarantee,
        ShuffledResponse(two_coins(), 1000, Fraction(1, 10**6), "ballot box").guarantee,
        ShuffledResponse(two_coins(), 10**12, Fraction(1, 10**6), "ballot box").guarantee,
    ]


@pytest.mark.wide
@pytest.mark.parametrize("index", range(6))
def test_a_stored_node_is_derived_again_and_a_forged_one_is_not(index: int) -> None:
    text = json.dumps(serialization.to_json(stored()[index]))
    tree = serialization.from_json(json.loads(text))
    assert rederive(tree, axiom_again) == stored()[index].loss
    assert tree.by.name in amplify.NAMES
    forged = {"1/3": "1/4", '"size": "2"': '"size": "1"', '"people": "1000"': '"people": "1200"'}
    forged[f'"people": "{10**12}"'] = f'"people": "{2 * 10**12}"'
    old, new = next((old, new) for old, new in forged.items() if old in text)
    with pytest.raises(CheckError):
        rederive(serialization.from_json(json.loads(text.replace(old, new))), axiom_again)


@pytest.mark.wide
def test_again_refuses_other_theorems_and_missing_parts() -> None:
    made = stored()[0]
    with pytest.raises(CheckError):
        amplify.again(made.parts[0])
    with pytest.raises(CheckError):
        amplify.again(Guarantee(made.loss, ADD, made.by, (), made.parameters))
    with pytest.raises(CheckError):
        amplify.again(Guarantee(made.loss, ADD, made.by, made.parts, (("rate", "much"),)))
    assert amplify.again(made) == made


def test_the_python_of_the_page_runs() -> None:
    page = ROOT / "docs" / "theory" / "amplification.md"
    found = list(blocks(page, "python"))
    assert len(found) == 6
    names: dict[str, object] = {}
    for block in found:
        exec(compile(block, str(page), "exec"), names)
