"""Weighted selection: lists of tiny tables against all neighbours, weights against brute force, coins against the law.

All of it is arithmetic of fractions: nothing here depends on chance, but for one test of coins, which says its rate.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod

import pytest

from reticent.entropy import Replayed
from reticent.errors import CheckError, PublicParameterError
from reticent.exact.normal import normal_tail_bounds
from reticent.exact.rounding import exp_up
from reticent.mechanisms import weighted_selection
from reticent.mechanisms.key_listing import best_listing
from reticent.mechanisms.key_selection import KeySelection
from reticent.mechanisms.registry import axiom_again
from reticent.mechanisms.weight_return import FULL
from reticent.mechanisms.weighted_selection import UNIT, WeightedSelection, weight_of, weighted_list
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import ApproxDP
from reticent.privacy.rederivation import rederive
from tests.support.exact_coins import Tape

NEAR = Adjacency("add_remove")
KEYS = "abcd"
TABLES = {1: 3, 2: 2, 3: 2}  # most keys of a person: persons
LOSSES = [(Fraction(1), Fraction(1, 5)), (Fraction(1, 4), Fraction(1, 10)), (Fraction(3), Fraction(1, 100))]


def ways(most: int) -> list[frozenset[str]]:
    return [frozenset(some) for size in range(most + 1) for some in combinations(KEYS[: most + 1], size)]


def degrees(table: Sequence[frozenset[str]], most: int) -> dict[str, tuple[int, ...]]:
    """Persons of each key with one key, with two keys, and so on."""
    return {
        key: tuple(sum(key in person and len(person) == many for person in table) for many in range(1, most + 1))
        for key in {key for person in table for key in person}
    }


def returned(made: WeightedSelection, table: Sequence[frozenset[str]], most: int) -> dict[str, tuple[int, ...]]:
    """Sums of the shares of all keys of these persons, in the same places."""
    if made.returns is None:
        return {}
    back, keys = made.returns, {key for person in table for key in person}
    share = {key: back.share(sum(weight_of(len(each)) for each in table if key in each)) for key in keys}
    return {
        key: tuple(
            sum(sum(share[each] for each in person) for person in table if key in person and len(person) == many)
            for many in range(1, most + 1)
        )
        for key in keys
    }


def early(made: WeightedSelection) -> WeightedSelection:
    """The same list where a key of more than one person gives back."""
    assert made.returns is not None
    return replace(made, returns=replace(made.returns, enough=UNIT))


def list_law(made: WeightedSelection, table: Sequence[frozenset[str]], most: int) -> dict[tuple[bool, ...], Fraction]:
    weights = made.weights(degrees(table, most), returned(made, table, most))
    held = [made.at(weights.get(key, 0)) for key in KEYS]
    return {
        shown: prod((p if one else 1 - p for p, one in zip(held, shown, strict=True)), start=Fraction(1))
        for shown in product((False, True), repeat=len(KEYS))
    }


def pairs(kind: Kind, most: int) -> Iterator[tuple[tuple[frozenset[str], ...], tuple[frozenset[str], ...]]]:
    """Every table of few persons, beside every neighbour."""
    for rest in product(ways(most), repeat=TABLES[most] - 1):
        for mine in ways(most):
            for other in [None] if kind == "add_remove" else ways(most):
                yield (*rest, mine), rest if other is None else (*rest, other)


def worst(made: WeightedSelection, kind: Kind, most: int) -> Fraction:
    """The largest delta that the list spends at its epsilon between any neighbours."""
    grown, found = exp_up(made.epsilon), Fraction(0)
    for here, there in pairs(kind, most):
        one, other = list_law(made, here, most), list_law(made, there, most)
        for p, q in ((one, other), (other, one)):
            found = max(found, sum((max(Fraction(0), p[shown] - grown * q[shown]) for shown in p), start=Fraction(0)))
    return found


@pytest.mark.parametrize(("kind", "most"), [("add_remove", 1), ("substitute", 1), ("add_remove", 2)])
def test_the_list_keeps_its_guarantee_between_all_neighbours(kind: Kind, most: int) -> None:
    epsilon, delta = LOSSES[0]
    made = weighted_list(Adjacency(kind), epsilon, delta, groups=most)
    assert made.guarantee.loss == ApproxDP(epsilon, delta)
    assert 0 < worst(made, kind, most) <= delta
    assert (made.returns is None) == (most == 1)


@pytest.mark.parametrize(("epsilon", "delta"), LOSSES[:2])
def test_a_list_by_weights_that_return_keeps_its_guarantee_between_all_neighbours(
    epsilon: Fraction, delta: Fraction
) -> None:
    made = early(weighted_list(NEAR, epsilon, delta, groups=2))
    assert 0 < worst(made, "add_remove", 2) <= delta


@pytest.mark.wide
@pytest.mark.loop(6)
@pytest.mark.parametrize(("epsilon", "delta"), LOSSES)
@pytest.mark.parametrize("at_least", [1, 2])
@pytest.mark.parametrize(("kind", "most"), [("add_remove", 3), ("substitute", 2)])
def test_the_list_of_more_keys_keeps_its_guarantee(
    kind: Kind, most: int, at_least: int, epsilon: Fraction, delta: Fraction
) -> None:
    made = weighted_list(Adjacency(kind), epsilon, delta, groups=most, at_least=at_least)
    assert worst(made if at_least > 1 else early(made), kind, most) <= delta


def alike(epsilon: Fraction, before: Fraction, after: Fraction, keys: int) -> Fraction:
    """The delta between lists of so many keys, all listed with one probability before and with another after."""
    grown = exp_up(epsilon)
    laws = [[comb(keys, n) * p**n * (1 - p) ** (keys - n) for n in range(keys + 1)] for p in (before, after)]
    return max(
        sum((max(Fraction(0), a - grown * b) for a, b in zip(one, other, strict=True)), start=Fraction(0))
        for one, other in (laws, laws[::-1])
    )


def test_a_person_in_many_keys_near_the_threshold_is_hidden_and_one_of_whole_weights_is_not() -> None:
    epsilon, delta = LOSSES[0]
    made = replace(weighted_list(NEAR, epsilon, delta, groups=8), returns=None)
    for near in (-2, -1, 0, 1):
        weight = made.threshold + near * UNIT
        assert alike(epsilon, made.at(weight), made.at(weight + weight_of(8)), 8) <= delta
    assert alike(epsilon, made.at(made.threshold - UNIT), made.at(made.threshold), 8) > delta
    new = made.at(weight_of(8))
    assert 0 < 1 - (1 - new) ** 8 <= delta / 2


def test_a_list_of_too_low_a_threshold_is_refuted() -> None:
    made = weighted_list(NEAR, *LOSSES[0], groups=2)
    object.__setattr__(made, "threshold", made.threshold // 2)
    assert worst(made, "add_remove", 2) > made.delta


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("groups", [1, 2, 7, 50])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(1, 2), Fraction(1, 10**6)), (Fraction(70), Fraction(1, 10**9))]
)
def test_a_loss_buys_no_more_noise_than_it_must(kind: Kind, groups: int, epsilon: Fraction, delta: Fraction) -> None:
    made = weighted_list(Adjacency(kind), epsilon, delta, groups=groups)
    assert delta * Fraction(49, 50) <= made._spent <= delta
    with pytest.raises(PublicParameterError, match="so little noise"):
        replace(made, threshold=made.threshold - UNIT // 20)
    with pytest.raises(PublicParameterError, match="so little noise"):
        replace(made, deviation=made.deviation * 19 / 20)


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize(("epsilon", "delta"), LOSSES)
def test_the_threshold_is_the_least_for_persons_of_any_number_of_keys(
    kind: Kind, epsilon: Fraction, delta: Fraction
) -> None:
    """Few numbers of keys are looked at: what is found is what a look at each of them finds."""
    made = weighted_list(Adjacency(kind), epsilon, delta, groups=40)

    def new(threshold: int) -> Fraction:
        chances = [
            weighted_selection._tail(threshold - weight_of(d) - 1, made.deviation, made.places) for d in range(1, 41)
        ]
        return Fraction(max(d * (chance + 2) for d, chance in enumerate(chances, 1)), 1 << made.places)

    rounding = weighted_selection._rounding(epsilon, delta, 1 << weighted_selection.ROWS)
    assert made._new() == new(made.threshold)
    assert made.sides * new(made.threshold) + rounding <= delta / 2 < made.sides * new(made.threshold - 1) + rounding


def test_a_person_in_thousands_of_keys_takes_few_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    tail = weighted_selection._tail
    seen: list[int] = []

    def noted(distance: int, deviation: Fraction, places: int) -> int:
        seen.append(distance)
        return tail(distance, deviation, places)

    monkeypatch.setattr(weighted_selection, "_tail", noted)
    made = weighted_list(NEAR, Fraction(1), Fraction(1, 10**9), groups=4096)
    assert made.groups == 4096
    assert len(seen) < 400


def test_weights_of_a_person_have_a_length_of_at_most_one() -> None:
    for keys in (*range(1, 200), 4096):
        assert keys * weight_of(keys) ** 2 <= UNIT**2 < keys * (weight_of(keys) + 1) ** 2


@pytest.mark.parametrize("at_least", [1, 2, 3, 5])
def test_a_person_moves_a_weight_by_their_own_at_most_and_few_persons_have_none(at_least: int) -> None:
    made = weighted_list(NEAR, Fraction(1), Fraction(1, 100), groups=3, at_least=at_least)
    chance = random.Random(at_least)
    for _ in range(300):
        counts = [chance.randrange(4) for _ in range(3)]
        parts = sorted((weight_of(nth + 1) for nth, many in enumerate(counts) for _ in range(many)), reverse=True)
        held = made.weights({"k": counts}, {"k": (0, 0, 0)})["k"] // made.parts
        assert held == sum(parts[at_least - 1 :])
        assert (held == 0) == (sum(counts) < at_least)
        for nth in range(3):
            more = [*counts[:nth], counts[nth] + 1, *counts[nth + 1 :]]
            assert 0 <= made.weights({"k": more}, {"k": (0, 0, 0)})["k"] // made.parts - held <= weight_of(nth + 1)
    assert made.chance(at_least - 1) == 0
    assert made.fewest(Fraction(1, 2)) <= made.persons(Fraction(1, 2)) <= made.persons(Fraction(19, 20))
    assert made.chance(made.persons(Fraction(1, 2)) - 1) < Fraction(1, 2) <= made.chance(made.persons(Fraction(1, 2)))


def test_probabilities_are_those_of_normal_noise_rounded_down() -> None:
    made = weighted_list(NEAR, Fraction(1), Fraction(1, 10**6), groups=3)
    unit = Fraction(1, 1 << made.places)
    for weight in (1, UNIT // 7 * FULL, 3 * UNIT * FULL, made.threshold * FULL + 1, 40 * UNIT * FULL):
        low, high = normal_tail_bounds((made.threshold - Fraction(weight, FULL)) / (made.deviation * UNIT), 256)
        assert high - 2 * unit <= made.at(weight) <= low
    assert made.at(0) == 0


def planted(made: WeightedSelection, drawn: int) -> Tape:
    """Coins of which the next draw of a key is ``drawn``."""
    return Tape([drawn], made.places)


def test_a_coin_falls_by_the_probability_of_its_weight() -> None:
    """Within two units of the last place, at the very bits where it turns: no chance is in it."""
    made = weighted_list(NEAR, Fraction(1), Fraction(1, 10**6), groups=3)
    chance = random.Random(5)
    for weight in [1, made.threshold * FULL, *(chance.randrange(60 * UNIT * FULL) for _ in range(60))]:
        turns = int(made.at(weight) * (1 << made.places))
        assert made._tossed(weight, planted(made, max(0, turns - 3))) or turns < 3
        assert turns + 2 >= 1 << made.places or not made._tossed(weight, planted(made, turns + 2))
    assert not made._tossed(0, planted(made, 0))
    first, second = Replayed("coins"), Replayed("coins")
    assert made.sample((0, 0, 0), first) == (0, 0, 0)
    assert made.sample((10**9 * FULL,) * 3, second) == (1, 1, 1)
    assert first.bits(64) == second.bits(64)  # a coin of one length for every key


def test_the_work_of_a_list_does_not_tell_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many probabilities are computed for one weight as for ninety-nine, but for a coin that falls between two."""
    made = weighted_list(NEAR, Fraction(1), Fraction(1, 10**6), groups=10)
    tail = weighted_selection._tail
    seen: list[int] = []

    def noted(distance: int, deviation: Fraction, places: int) -> int:
        seen.append(distance)
        return tail(distance, deviation, places)

    monkeypatch.setattr(weighted_selection, "_tail", noted)
    work = []
    for weights in ([UNIT * FULL], [weight_of(3) * FULL * number for number in range(1, 100)]):
        weighted_selection._kept.cache_clear()
        seen.clear()
        for weight in weights:
            for drawn in (0, (1 << made.places) - 1):
                made._tossed(weight, planted(made, drawn))
        work.append(len(seen))
    assert work[0] == work[1] == len(weighted_selection._kept(made.deviation, made.places)[1])


def test_a_list_is_sorted_and_shows_nothing_of_the_order_of_the_rows() -> None:
    made = weighted_list(NEAR, Fraction(2), Fraction(1, 10), groups=2)
    held = {key: units * UNIT * FULL for key, units in {"b": 4, "a": 2, "ä": 50, "c": 1, "B": 60}.items()}
    first = made.listed(held, Replayed("list"))
    assert first == made.listed(dict(reversed(held.items())), Replayed("list")) == tuple(sorted(first))
    assert {"B", "ä"} <= set(first)


@pytest.mark.parametrize("at_least", [1, 3])
def test_a_stored_list_is_derived_again_and_a_cheaper_one_is_not(at_least: int) -> None:
    tree = weighted_list(NEAR, Fraction(1, 3), Fraction(1, 10**7), groups=4, at_least=at_least).guarantee
    assert ("returns" in dict(tree.parameters)) == (at_least == 1)
    assert rederive(tree, axioms=axiom_again) == tree.loss == ApproxDP(Fraction(1, 3), Fraction(1, 10**7))
    told = dict(tree.parameters)
    changes = {"delta": "1/20000000", "threshold": str(int(told["threshold"]) - UNIT), "groups": "9", "returns": "1"}
    for name, value in changes.items():
        if name not in told:
            continue
        forged = replace(tree, parameters=tuple((key, value if key == name else old) for key, old in told.items()))
        with pytest.raises((CheckError, PublicParameterError)):
            rederive(forged, axioms=axiom_again)


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_the_rule_that_finds_rarer_keys_is_taken(kind: Kind) -> None:
    half, loss = Fraction(1, 2), (Fraction(1, 2), Fraction(1, 10**6))
    for groups, at_least, weighted in ((1, 1, False), (2, 1, False), (10, 1, True), (10, 40, True), (3, 5000, True)):
        made = best_listing(Adjacency(kind), *loss, groups=groups, at_least=at_least).selection
        if kind == "add_remove":
            assert isinstance(made, WeightedSelection if weighted else KeySelection)
        assert made.changes == groups * (2 if kind == "substitute" else 1)
        assert made.guarantee.loss == ApproxDP(*loss)
    assert best_listing(NEAR, *loss, groups=10).selection.persons(half) == 142  # 250 by the other


def test_numbers_that_prove_nothing_are_refused() -> None:
    made = weighted_list(NEAR, Fraction(1), Fraction(1, 10), groups=2)
    for change in ({"epsilon": Fraction(0)}, {"delta": Fraction(1)}, {"groups": 0}, {"groups": 10**6}, {"at_least": 0}):
        with pytest.raises(PublicParameterError):
            replace(made, **change)
    with pytest.raises(PublicParameterError):
        made.sample((-1,), Replayed("x"))
