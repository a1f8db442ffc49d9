"""Key selection: every probability of the table against the inequalities, and lists of tiny tables against neighbours.

All of it is arithmetic of fractions: nothing here depends on chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import prod

import pytest

from reticent.entropy import Replayed
from reticent.errors import CheckError, PublicParameterError
from reticent.exact.rounding import exp_bounds, exp_up
from reticent.mechanisms.key_selection import KeySelection, key_list, law
from reticent.mechanisms.registry import axiom_again
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import ApproxDP
from reticent.privacy.rederivation import rederive
from tests.assurance import accounting_check

NEAR = Adjacency("add_remove")
LOSSES = [
    (Fraction(1), Fraction(1, 10**6)),
    (Fraction(1, 3), Fraction(1, 10**9)),
    (Fraction(7, 2), Fraction(1, 3)),
    (Fraction(1, 50), Fraction(1, 1000)),
    (Fraction(200), Fraction(1, 10**12)),
]
BITS = 512


def refuted(table: list[Fraction], epsilon: Fraction, delta: Fraction) -> bool:
    """Tell if nobody's key is listed, or an inequality between neighbouring numbers fails; e^epsilon is never small."""
    grown = exp_up(epsilon, BITS)
    return table[0] > 0 or any(
        a > grown * b + delta
        for less, more in pairwise(table)
        for a, b in ((less, more), (more, less), (1 - less, 1 - more), (1 - more, 1 - less))
    )


def chances(epsilon: Fraction, delta: Fraction) -> list[Fraction]:
    table, places = law(epsilon, delta)
    return [Fraction(one, 1 << places) for one in table]


@pytest.mark.parametrize(("epsilon", "delta"), LOSSES)
def test_every_probability_keeps_all_four_inequalities(epsilon: Fraction, delta: Fraction) -> None:
    table = chances(epsilon, delta)
    assert table[0] == 0
    assert table[-1] == 1
    assert not refuted(table, epsilon, delta)


MUTANTS: dict[str, Callable[[list[Fraction], Fraction], list[Fraction]]] = {
    "listed a person too early": lambda table, delta: [Fraction(0), *table[2:]],
    "a key of nobody listed": lambda table, delta: [delta * 2, *table[1:]],
    "delta added at the end again": lambda table, delta: [
        p + delta / 1000 if p > Fraction(1, 2) and p + delta / 1000 < 1 else p for p in table
    ],
    "delta added at the start again": lambda table, delta: [
        p + delta / 1000 if 0 < p < Fraction(1, 2) else p for p in table
    ],
    "certain a person too early": lambda table, delta: [*table[:-2], Fraction(1)],
}


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.parametrize(("epsilon", "delta"), [LOSSES[0], LOSSES[3]])
def test_a_table_with_one_mistake_is_refuted(mutant: str, epsilon: Fraction, delta: Fraction) -> None:
    assert refuted(MUTANTS[mutant](chances(epsilon, delta), delta), epsilon, delta)


@pytest.mark.parametrize(("epsilon", "delta"), LOSSES[:4])
def test_no_rule_lists_more_often(epsilon: Fraction, delta: Fraction) -> None:
    """Each probability is within 2^-60 of what the inequalities allow after the one before it."""
    table = chances(epsilon, delta)
    low, grown = exp_bounds(epsilon, BITS)
    slack = Fraction(1, 1 << 60)
    for last, p in pairwise(table):
        allowed = min(low * last + delta, 1 - (1 - last - delta) / grown, Fraction(1))
        assert allowed * (1 - slack) <= p <= min(grown * last + delta, 1 - (1 - last - delta) / grown, Fraction(1))


# --- lists of tiny tables ---------------------------------------------------------------------------------------------

KEYS = "abc"


def tables(persons: int, most: int) -> Iterator[tuple[frozenset[str], ...]]:
    """Every table of so many persons, each in one to ``most`` keys."""
    ways = [frozenset(some) for size in range(1, most + 1) for some in combinations(KEYS, size)]
    yield from product(ways, repeat=persons)


def list_law(made: KeySelection, table: tuple[frozenset[str], ...]) -> dict[tuple[bool, ...], Fraction]:
    held = [made.chance(sum(key in person for person in table)) for key in KEYS]
    return {
        shown: prod((p if one else 1 - p for p, one in zip(held, shown, strict=True)), start=Fraction(1))
        for shown in product((False, True), repeat=len(KEYS))
    }


def exceeded(made: KeySelection, claim: ApproxDP, kind: Kind, most: int) -> bool:
    """Tell if some event of the list breaks ``claim`` between neighbours of up to three persons."""
    grown = exp_up(claim.epsilon, BITS)
    for persons in (1, 2, 3):
        for table in tables(persons, most):
            if kind == "add_remove":
                others = [table[:-1]]
            else:
                others = [(*table[:-1], other) for (other,) in tables(1, most)]
            for other in others:
                here, there = list_law(made, table), list_law(made, other)
                for p, q in ((here, there), (there, here)):
                    if sum(max(Fraction(0), p[shown] - grown * q[shown]) for shown in p) > claim.delta:
                        return True
    return False


@pytest.mark.parametrize(
    ("kind", "most", "changes"), [("add_remove", 1, 1), ("add_remove", 2, 2), ("substitute", 1, 2)]
)
def test_the_list_keeps_its_guarantee_between_all_neighbours(kind: Kind, most: int, changes: int) -> None:
    made = KeySelection(Adjacency(kind), Fraction(1), Fraction(1, 5), changes)
    claim = made.guarantee.loss
    assert isinstance(claim, ApproxDP)
    assert claim == ApproxDP(Fraction(changes), Fraction(changes, 5))
    assert not exceeded(made, claim, kind, most)


@pytest.mark.parametrize(("kind", "most"), [("add_remove", 2), ("substitute", 1)])
def test_the_price_of_one_key_is_too_little_for_two(kind: Kind, most: int) -> None:
    made = KeySelection(Adjacency(kind), Fraction(1), Fraction(1, 5))
    claim = made.guarantee.loss
    assert isinstance(claim, ApproxDP)
    assert exceeded(made, claim, kind, most)


# --- the mechanism ----------------------------------------------------------------------------------------------------


def test_a_key_of_fewer_persons_than_at_least_is_never_listed() -> None:
    made = KeySelection(NEAR, Fraction(2), Fraction(1, 10), at_least=5)
    plain = KeySelection(NEAR, Fraction(2), Fraction(1, 10))
    assert made.chance(4) == 0
    assert [made.chance(n + 4) for n in range(12)] == [plain.chance(n) for n in range(12)]
    assert made.persons(Fraction(1, 2)) == plain.persons(Fraction(1, 2)) + 4


def test_the_numbers_of_persons_a_plan_shows_are_the_least_ones() -> None:
    made = KeySelection(NEAR, Fraction(1), Fraction(1, 10**6))
    for chance in (Fraction(1, 2), Fraction(19, 20), Fraction(1)):
        least = made.persons(chance)
        assert made.chance(least - 1) < chance <= made.chance(least)
    assert (made.persons(Fraction(1, 2)), made.persons(Fraction(19, 20))) == (14, 16)


def test_every_key_takes_a_coin_of_one_length() -> None:
    """Of nobody or of many: the work does not tell a key that is certain from one that is impossible."""
    made = KeySelection(NEAR, Fraction(1), Fraction(1, 10**6))
    first, second = Replayed("coins"), Replayed("coins")
    assert made.sample((0, 0, 0), first) == (0, 0, 0)
    assert made.sample((10**6, 10**6, 10**6), second) == (1, 1, 1)
    assert first.bits(64) == second.bits(64)


def test_a_list_is_sorted_and_shows_nothing_of_the_order_of_the_rows() -> None:
    made = KeySelection(NEAR, Fraction(2), Fraction(1, 10))
    held = {"b": 9, "a": 3, "ä": 50, "c": 2, "B": 60}
    first = made.listed(held, Replayed("list"))
    assert first == made.listed(dict(reversed(held.items())), Replayed("list"))
    assert first == tuple(sorted(first))
    assert {"B", "ä"} <= set(first)


@pytest.mark.parametrize(("kind", "changes"), [("add_remove", 3), ("substitute", 6)])
def test_a_list_costs_what_was_named_for_all_keys_of_a_person(kind: Kind, changes: int) -> None:
    made = key_list(Adjacency(kind), Fraction(1), Fraction(1, 10**6), groups=3, at_least=10)
    assert made.guarantee.loss == ApproxDP(Fraction(1), Fraction(1, 10**6))
    assert made.changes == changes
    assert made.chance(9) == 0


def test_a_stored_list_is_derived_again_and_a_cheaper_one_is_not() -> None:
    tree = KeySelection(NEAR, Fraction(1, 3), Fraction(1, 10**7), changes=3).guarantee
    assert rederive(tree, axioms=axiom_again) == tree.loss == ApproxDP(Fraction(1), Fraction(3, 10**7))
    with pytest.raises(CheckError):
        rederive(replace(tree, loss=ApproxDP(Fraction(1), Fraction(1, 10**7))), axioms=axiom_again)
    assert len(tree.parts) == 3
    assert {line.verdict for line in accounting_check.again(tree)} == {"holds"}


def test_the_accounting_check_refutes_a_loss_that_is_too_small() -> None:
    tree = KeySelection(NEAR, Fraction(1), Fraction(1, 10**6)).guarantee
    for cheap in (ApproxDP(Fraction(4, 5), Fraction(1, 10**6)), ApproxDP(Fraction(1), Fraction(9, 10**7))):
        found = accounting_check.selected(Fraction(1), Fraction(1, 10**6))
        share = accounting_check.NeighbourLaws(tuple((one,) for one in found)).share(cheap)
        assert share is not None
        assert share > 1 + accounting_check.SLACK
    assert {line.verdict for line in accounting_check.again(tree)} == {"holds"}


@pytest.mark.wide
def test_numbers_that_prove_nothing_are_refused() -> None:
    one, tenth = Fraction(1), Fraction(1, 10)
    for epsilon, delta in ((Fraction(0), tenth), (one, Fraction(0)), (one, one), (0.5, tenth), (one, 0.1)):
        with pytest.raises(PublicParameterError):
            KeySelection(NEAR, epsilon, delta)  # type: ignore[arg-type]  # floats are the point
    for changes, at_least in ((0, 1), (1, 0), (True, 1), (10**6, 1)):
        with pytest.raises(PublicParameterError):
            KeySelection(NEAR, one, tenth, changes, at_least)
    with pytest.raises(PublicParameterError, match="million"):
        law(Fraction(1, 10**9), Fraction(1, 10**12))
    with pytest.raises(PublicParameterError):
        KeySelection(NEAR, one, tenth).sample((-1,), Replayed("x"))
