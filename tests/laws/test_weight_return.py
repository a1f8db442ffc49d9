"""Weight return: the change by one person on all tiny tables, both relations, with a mutant for each step of the bound.

All of it is arithmetic of whole numbers: nothing here depends on chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations

import pytest

from reticent.errors import PublicParameterError
from reticent.mechanisms import weight_return
from reticent.mechanisms.weight_return import FULL, PIECES, WeightReturn, part_again
from reticent.mechanisms.weighted_selection import UNIT, weight_of

KEYS = "abcd"
Person = frozenset[str]


def rule(keys: int, enough: int = UNIT) -> WeightReturn:
    return WeightReturn(tuple(weight_of(many) for many in range(1, keys + 1)), enough)


def ways(most: int, keys: str = KEYS) -> list[Person]:
    return [frozenset(some) for size in range(1, most + 1) for some in combinations(keys, size)]


def after(made: WeightReturn, table: Mapping[Person, int]) -> dict[str, int]:
    """Weights of the keys of a table, which has so many persons of each kind."""
    most, keys = len(made.weights), {key for person in table for key in person}
    whole = {key: sum(made.weights[len(p) - 1] * n for p, n in table.items() if key in p) for key in keys}
    share = {key: made.share(weight) for key, weight in whole.items()}
    counts, back = ({key: [0] * most for key in keys} for _ in range(2))
    for person, number in table.items():
        for key in person:
            counts[key][len(person) - 1] += number
            back[key][len(person) - 1] += number * sum(share[each] for each in person)
    return {key: made.weight(counts[key], back[key]) for key in keys}


@dataclass
class Reach:
    """The largest figures over many tables, each as a part of what the proof allows; the least change."""

    length: Fraction = Fraction(0)
    replaced: Fraction = Fraction(0)
    new: Fraction = Fraction(0)
    least: int = 0


def look(made: WeightReturn, table: Mapping[Person, int], comers: Sequence[Person], reach: Reach) -> None:
    """Every person who may come, and every one in whose place another one may stand."""
    before, unit = after(made, table), FULL * made.weights[0]
    changes = []
    for person in comers:
        now = after(made, Counter(table) + Counter([person]))
        change = {key: weight - before.get(key, 0) for key, weight in now.items()}
        fresh = [now[key] for key in now if key not in before]
        if fresh:
            reach.new = max(reach.new, Fraction(max(fresh), FULL * (made.weights[len(fresh) - 1] + 1)))
        reach.least = min(reach.least, *change.values())
        reach.length = max(reach.length, Fraction(sum(each**2 for each in change.values()), unit**2))
        changes.append(change)
    for one, other in combinations(changes, 2):
        apart = sum((one.get(key, 0) - other.get(key, 0)) ** 2 for key in {*one, *other})
        reach.replaced = max(reach.replaced, Fraction(apart, 2 * unit**2))


def tables(most: int, persons: int) -> Iterator[Counter[Person]]:
    for size in range(persons + 1):
        for chosen in combinations_with_replacement(ways(most), size):
            yield Counter(chosen)


def up_to_names(some: Iterator[Counter[Person]]) -> Iterator[Counter[Person]]:
    """One table of all that differ by the names of keys, which no rule knows."""
    seen: set[tuple[tuple[str, ...], ...]] = set()
    names = [dict(zip(KEYS, other, strict=True)) for other in permutations(KEYS)]
    for table in some:
        persons = list(table.elements())
        least = min(tuple(sorted(tuple(sorted(name[key] for key in one)) for one in persons)) for name in names)
        if least not in seen:
            seen.add(least)
            yield table


def crowded(many: Sequence[int]) -> Iterator[Counter[Person]]:
    """Keys at the weight that is enough, whose persons have one other key each, or all others."""
    for number in many:
        for beside in ("b", "bc", "bcd"):
            yield Counter({frozenset(f"a{key}"): number for key in beside})
            yield Counter({frozenset(f"{key}d"): number for key in "abc"})
            yield Counter({frozenset({"a", *beside}): number, frozenset("b"): 1})


def worst(made: WeightReturn, some: Iterator[Counter[Person]]) -> Reach:
    reach, comers = Reach(), ways(min(len(made.weights), len(KEYS)))
    for table in some:
        look(made, table, comers, reach)
    return reach


def assert_kept(reach: Reach) -> None:
    assert reach.least >= 0
    assert reach.length <= 1
    assert reach.replaced <= 1
    assert reach.new <= 1


@pytest.mark.parametrize(("most", "persons"), [(2, 3), (3, 2), (4, 2)])
def test_a_person_moves_all_weights_by_a_length_of_one(most: int, persons: int) -> None:
    """Every table of so few persons with every neighbour: who comes, goes or is replaced."""
    assert_kept(worst(rule(most), tables(most, persons)))


@pytest.mark.wide
@pytest.mark.parametrize(("most", "persons"), [(2, 5), (3, 4), (4, 3)])
def test_a_person_moves_all_weights_of_larger_tables_by_a_length_of_one(most: int, persons: int) -> None:
    assert_kept(worst(rule(most), up_to_names(tables(most, persons))))


def test_tables_up_to_names_reach_what_all_tables_reach() -> None:
    assert worst(rule(3), up_to_names(tables(3, 2))) == worst(rule(3), tables(3, 2))


@pytest.mark.parametrize("most", [2, 3, 4, 10])
@pytest.mark.parametrize("enough", [UNIT, 3 * UNIT])
def test_a_person_moves_the_weights_of_keys_of_many_persons_by_a_length_of_one(most: int, enough: int) -> None:
    some = [table for table in crowded([1, 2, 3, 4, 6, 20, 400]) if max(map(len, table)) <= most]
    assert_kept(worst(rule(most, enough), iter(some)))


def crossed(most: int, below: int, others: int, number: int) -> tuple[Counter[Person], Person]:
    """Keys of so many persons each, who have other keys among the ``below`` first: and a person who has all of them.

    The person pushes the former over the edge, and what they give back falls to the latter.
    """
    first, rest = [f"c{place}" for place in range(below)], [f"z{place}" for place in range(most - below)]
    turns = {key: [first[(place + nth) % below] for nth in range(others)] for place, key in enumerate(rest)}
    return Counter({frozenset([key, *held]): number for key, held in turns.items()}), frozenset([*first, *rest])


NEAR_THE_BOUND = [(2, 1, 1, 1), (2, 1, 1, 60), (4, 2, 1, 2), (4, 3, 1, 100), (10, 1, 1, 8), (10, 9, 1, 100)]


def reached(enough: int) -> Reach:
    """Figures of the tables on which rules of a little more are refuted."""
    reach = Reach()
    for most, below, others, number in NEAR_THE_BOUND:
        table, person = crossed(most, below, others, number)
        look(rule(most, enough), table, [person, frozenset(["c0", "new"])], reach)
    return reach


@pytest.mark.parametrize("enough", [UNIT, 2 * UNIT, 5 * UNIT])
def test_tables_near_the_bound_keep_it(enough: int) -> None:
    reach = reached(enough)
    assert_kept(reach)
    assert reach.length > Fraction(9, 10)


def test_all_edges_of_such_a_table_are_kept() -> None:
    """The edge wanders over the weights of the keys, unit by unit about each of them and coarsely between."""
    for most, below, others, number in [(4, 2, 1, 3), (4, 3, 2, 4), (6, 2, 2, 3)]:
        table, person = crossed(most, below, others, number)
        whole = number * weight_of(others + 1)
        for enough in {*range(whole - 3, whole + 4), *range(UNIT, 2 * whole, whole // 9)}:
            reach = Reach()
            look(rule(most, enough), table, [person], reach)
            assert_kept(reach)


# --- each step of the proof, and a rule without it --------------------------------------------------------------------


@pytest.mark.parametrize("enough", [UNIT, 7 * UNIT + 3, 60 * UNIT])
def test_the_share_rises_and_the_weight_that_goes_back_by_no_more_than_weight_comes(enough: int) -> None:
    """B R(B) rises by 0 to F for each unit of B: at both ends of each piece, between which its rise is monotone."""
    made = rule(3, enough)
    assert len(made.pieces) == PIECES
    assert made.share(enough) == 0 < made.share(enough + 1)
    ends = [enough, *(start + length for start, length, _ in made.pieces)]
    for end in ends:
        for weight in (end - 2, end - 1, end, end + 1):
            here, there = made.share(weight), made.share(weight + 1)
            assert here <= there < FULL
            assert 0 <= (weight + 1) * there - weight * here <= FULL
    assert all(left[2] >= right[2] > 0 for left, right in zip(made.pieces, made.pieces[1:], strict=False))
    assert made.share(10**18) == made.share(ends[-1]) > FULL * 9 // 10


def test_the_pieces_are_as_steep_as_they_may_be() -> None:
    made = rule(3, 5 * UNIT)
    for start, length, slope in made.pieces:
        end, share = start + length, made.share(start)
        assert (share + (slope + 1) * length) * end - (share + (slope + 1) * (length - 1)) * (end - 1) > FULL


@pytest.mark.parametrize("keys", [2, 3, 4, 5, 10, 30, 100])
def test_what_is_given_again_is_the_largest_part_that_the_bound_allows(keys: int) -> None:
    part, step = part_again(keys), Fraction(1, weight_return.FINE)

    def kept(a: Fraction) -> bool:
        sizes = range(2, keys + 1)
        return a <= Fraction(1, 2) and all(2 * a * s * (s - 1) + a**2 * (1 + keys * (s - 1)) <= s**2 for s in sizes)

    assert kept(part)
    assert not kept(part + 2 * step)
    made = rule(keys)
    for many, (weight, again) in enumerate(zip(made.weights, made.again, strict=True), 1):
        assert (again == 0) == (many == 1)
        assert many * again <= part * weight


def refuted(reach: Reach) -> bool:
    return reach.least < 0 or max(reach.length, reach.replaced, reach.new) > 1


def too_much_again(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = part_again
    monkeypatch.setattr(weight_return, "part_again", lambda keys: honest(keys) * Fraction(3, 2))


def whole_sums_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key gets all that came back to a person, and not its part."""
    made = WeightReturn.again.fget  # type: ignore[attr-defined]  # a property
    monkeypatch.setattr(
        WeightReturn, "again", property(lambda self: tuple(d * one for d, one in enumerate(made(self), 1)))
    )


def nothing_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given again is not taken from the key that it came from."""
    honest = WeightReturn.weight

    def kept(self: WeightReturn, persons: Sequence[int], returned: Sequence[int]) -> int:
        given = [number * one for number, one in zip(persons, self.weights, strict=True)]
        return honest(self, persons, returned) + self.share(sum(given)) * (sum(given) - given[0])

    monkeypatch.setattr(WeightReturn, "weight", kept)


def jump_at_the_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WeightReturn, "share", lambda self, weight: FULL // 2 if weight > self.enough else 0)


def pieces_too_steep(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = weight_return._pieces
    monkeypatch.setattr(
        weight_return, "_pieces", lambda enough: tuple((at, long, 3 * slope) for at, long, slope in honest(enough))
    )


MUTANTS = [
    too_much_again,
    whole_sums_again,
    nothing_given_back,
    jump_at_the_edge,
    pieces_too_steep,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_rule_without_a_step_of_the_bound_is_refuted(mutant: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(mutant)
    mutant(monkeypatch)
    assert any(refuted(reached(enough)) for enough in (UNIT, 2 * UNIT, 5 * UNIT))


def test_a_new_key_has_no_more_weight_than_without_a_return_and_would_have_above_a_half() -> None:
    """A person whose other keys give all back: the part that is given again is at most a half for this reason."""
    for most in (2, 3, 4, 10, 30, 100):
        made, whole = rule(most), [weight_of(many) for many in range(1, most + 1)]
        for held in range(1, most + 1):
            for new in range(1, held + 1):
                assert whole[held - 1] + (held - new) * made.again[held - 1] <= whole[new - 1] + 1
    high = Fraction(9, 10)
    held, new = 100, 99
    assert weight_of(held) + (held - new) * high * weight_of(held) / held > weight_of(new) + 1


# --- no key loses, and what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [2, 4])
def test_no_key_falls_below_its_weight_before_or_what_is_enough(most: int) -> None:
    made = rule(most, 2 * UNIT)
    for table in (*tables(most, 2), *crowded([1, 2, 5, 30])):
        if max(map(len, table), default=0) > most:
            continue
        for key, weight in after(made, table).items():
            before = sum(weight_of(len(person)) * number for person, number in table.items() if key in person)
            assert weight >= FULL * min(before, made.enough)


def test_keys_that_give_back_help_the_other_keys_of_their_persons() -> None:
    made = rule(2, 10 * UNIT)
    rare = frozenset({"a", "b"})
    table = Counter({frozenset("a"): 500, rare: 10})
    assert after(made, table)["b"] > FULL * 10 * weight_of(2) * Fraction(6, 5)
    assert after(made, Counter({rare: 10}))["b"] == FULL * 10 * weight_of(2)


def test_rules_that_prove_nothing_are_refused() -> None:
    made = rule(3)
    for change in (
        {"enough": UNIT - 1},
        {"weights": made.weights[:1]},
        {"weights": (UNIT, UNIT, UNIT)},
        {"weights": (UNIT, 0)},
        {"weights": tuple(weight_of(many) for many in range(1, weight_return.MOST + 2))},
    ):
        with pytest.raises(PublicParameterError):
            replace(made, **change)
