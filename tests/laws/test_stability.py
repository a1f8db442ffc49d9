"""Every neighbour of every tiny table: no integer of any query moves further than its stability, and some move as far.

Tables of up to three persons; one of them runs through every list of one to three rows over a small alphabet of groups
(two listed, one not) and values (missing, below and above the bounds). Caps 1 to 3, at most one or two groups.

The evaluator is the reference, which tests/engines compares with the engine.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data import expression_text
from reticent.data.query import (
    CappedPersons,
    DistinctPersons,
    Incomplete,
    Keys,
    Moments,
    OrderedValues,
    PresentValues,
    Query,
    Ranks,
    Records,
    Rows,
    Tally,
    Total,
    groups_of_all,
    groups_of_kept,
    kept_rows,
    stability,
)
from reticent.data.schema import Category, Person, Schema, category, grid_by_width, grid_whole, integer
from reticent.data.transformations import computed, filtered
from reticent.errors import PublicParameterError, Refusal
from reticent.privacy.adjacency import Kind
from tests.support.data_reference import Cell, Reference, Row
from tests.support.expressions import Maker

SECRET = bytes(range(32))
GROUPS: tuple[Cell, ...] = ("a", "b", "z")
NUMBERS: tuple[Cell, ...] = (None, -7, 9)
LOW, HIGH = -3, 3
GRID = grid_whole(Fraction(LOW), Fraction(HIGH))
ABOVE = grid_whole(Fraction(1), Fraction(3))  # every value counts at least 1, a missing one 0
OTHERS: tuple[tuple[tuple[Cell, Cell], ...], ...] = (
    (("a", 1), ("b", 9), ("b", 1)),
    (("z", None), ("a", -7)),
)


def people(others: int, mine: Sequence[tuple[Cell, Cell]] | None) -> list[Row]:
    found: list[Row] = []
    for place, rows in enumerate((*OTHERS[:others], *([mine] if mine is not None else []))):
        who = "me" if mine is not None and place == others else f"p{place}"
        found += [{"who": who, "g": group, "x": x} for group, x in rows]
    return found


@cache
def records(most: int) -> list[tuple[tuple[Cell, Cell], ...]]:
    """Every list of one to ``most`` rows of one person; the order of rows does not matter (tests/engines)."""
    kinds = [(group, x) for group in GROUPS for x in NUMBERS]
    return [rows for size in range(1, most + 1) for rows in combinations_with_replacement(kinds, size)]


def schema(adjacency: Kind, cap: int, *, stands_in: bool, column: str | None = "who") -> Schema:
    x = integer(LOW, HIGH, missing=0 if stands_in else "drop")
    return Schema({"g": category(["a", "b"]), "x": x}, Person(adjacency, column, rows=cap))


def queries(keys: Keys | None) -> list[Query]:
    found: list[Query] = [Rows(keys), DistinctPersons(keys), Total("x", GRID, keys), Total("x", ABOVE, keys)]
    found += [Total("x", GRID, keys, "kept"), Total("x", ABOVE, keys, "kept")]
    found += [Tally("x", edges=(Fraction(-3), Fraction(1), Fraction(3)), keys=keys)]
    for per in ("row", "person"):
        found += [PresentValues("x", keys, per), Moments("x", GRID, 3, keys, per)]
    return (
        found
        if keys is not None
        else [
            *found,
            CappedPersons(),
            CappedPersons((1, 2)),
            Incomplete(("x",)),
            Tally("g", among=("b",)),
            Tally("g", among=("a", "b")),
        ]
    )


@cache
def tables(column: str | None, cap: int, stands_in: bool, others: int) -> list[Reference]:
    """A table without me, then one with each of my possible records."""
    shape = schema("add_remove", cap, stands_in=stands_in, column=column)
    mine = [None, *records(1 if column is None else min(3, cap + 1))]
    return [Reference(shape, people(others, rows), ("g", "x"), SECRET) for rows in mine]


@cache
def vectors(column: str | None, cap: int, stands_in: bool, query: Query, others: int) -> NDArray[np.int64]:
    """The answers without me, then with each of my possible records: records x keys x integers.

    A tally has one stability for all bins and keys together, so its bins count as further keys.
    """
    found = np.array([table.answer(query) for table in tables(column, cap, stands_in, others)], dtype=np.int64)
    return found.reshape(len(found), -1, 1) if isinstance(query, Tally) else found


def furthest(person: Person, query: Query, others: int, *, stands_in: bool) -> list[int]:
    """The largest change of each integer, in L1 over keys, over all neighbours with ``others`` other people."""
    found = vectors(person.column, person.rows, stands_in, query, others)
    without, each = found[0], np.unique(found[1:], axis=0)
    base = without[None] if person.adjacency == "add_remove" else each
    moved = np.abs(each[:, None] - base[None, :]).sum(axis=2).max(axis=(0, 1))
    return [int(most) for most in moved]


CASES = [
    (Person(adjacency, column, rows=cap), touch)
    for adjacency in ("add_remove", "substitute")
    for column, cap in (("who", 1), ("who", 2), ("who", 3), (None, 1))
    for touch in (None, 0, 1, 2)
]  # no groups, one group, two groups of which a person is counted in one or two


def asked(touch: int | None) -> list[Query]:
    return queries(None if touch is None else Keys("g", ("a", "b"), touch) if touch else Keys("g", ("a",), 1))


@pytest.mark.loop(12)
@pytest.mark.parametrize(("person", "touch"), CASES)
@pytest.mark.parametrize("stands_in", [False, True])
def test_no_neighbour_moves_an_integer_further_than_its_stability(
    person: Person, touch: int | None, stands_in: bool
) -> None:
    for query in asked(touch):
        claimed = stability(query, person, stands_in=stands_in)
        for others in (0, 2):
            moved = furthest(person, query, others, stands_in=stands_in)
            assert all(m <= c for m, c in zip(moved, claimed, strict=True)), (query, moved, claimed)


@pytest.mark.wide
@pytest.mark.parametrize("stands_in", [False, True])
def test_stabilities_are_reached(stands_in: bool) -> None:
    """So that none of them could be made smaller, and a claim that is too small would have been caught."""
    slack = []
    for person, touch in CASES:
        for query in asked(touch):
            if isinstance(query, CappedPersons) and (person.rows == 3 or (query.above and person.rows == 1)):
                continue  # no list here has four rows, or three where one is kept
            counted = person.rows * (touch or 1 if isinstance(query, Total) and query.of == "all" else 1)
            if isinstance(query, Total) and (stands_in or counted > 2):
                continue  # with a stand-in no row counts 0, which is not used; no list here has six rows
            claimed = stability(query, person, stands_in=stands_in)
            moved = furthest(person, query, 2, stands_in=stands_in)
            if any(m < c for m, c in zip(moved, claimed, strict=True)):
                slack.append((person, query, moved, claimed))
    assert slack == []


CONDITIONS = ("x > 0", 'g = "a"', "not x is missing", 'x > 0 and g = "b"')
FILTERED = [
    (Person(adjacency, column, rows=cap), touch)
    for adjacency in ("add_remove", "substitute")
    for column, cap in (("who", 1), ("who", 2), (None, 1))
    for touch in (None, 0, 1)
]


@cache
def chosen(shown: str, column: str | None, cap: int) -> list[Reference]:
    """Tables of the rows that a condition leaves, without me and with each of my possible records."""
    shape = filtered(schema("add_remove", cap, stands_in=False, column=column), expression_text.read(shown))
    mine = [None, *records(1 if column is None else min(2, cap + 1))]
    return [Reference(shape, people(2, rows), ("g", "x"), SECRET) for rows in mine]


@cache
def chosen_vectors(shown: str, column: str | None, cap: int, query: Query) -> NDArray[np.int64]:
    """The answers of these tables."""
    found = np.array([table.answer(query) for table in chosen(shown, column, cap)], dtype=np.int64)
    return found.reshape(len(found), -1, 1) if isinstance(query, Tally) else found


def moved_by(condition: str, person: Person, query: Query) -> list[int]:
    """The largest change of each integer over all neighbours; under substitution nobody comes or goes."""
    found = chosen_vectors(condition, person.column, person.rows, query)
    each = np.unique(found[1:], axis=0)
    base = found[:1] if person.adjacency == "add_remove" else each
    return [int(most) for most in np.abs(each[:, None] - base[None, :]).sum(axis=2).max(axis=(0, 1))]


@pytest.mark.parametrize(("person", "touch"), FILTERED)
def test_no_neighbour_moves_an_integer_of_chosen_rows_further_than_its_stability(
    person: Person, touch: int | None
) -> None:
    of_chosen = replace(person, filtered=True)
    for query in asked(touch):
        claimed = stability(query, of_chosen, stands_in=False)
        for condition in CONDITIONS:
            moved = moved_by(condition, person, query)
            assert all(m <= c for m, c in zip(moved, claimed, strict=True)), (query, condition, moved, claimed)


def chain(seed: int, person: Person) -> Schema:
    """Up to six transformations by chance, each of what the ones before left: columns computed and rows chosen."""
    chance = random.Random(seed)
    found = Schema({"g": category(["a", "b"]), "x": integer(LOW, HIGH)}, person)
    for place in range(chance.randint(1, 6)):
        maker = Maker(found.columns, chance)
        while True:
            try:
                if chance.random() < 0.3:
                    found = filtered(found, maker.truth(2))
                else:
                    kind = chance.choice((maker.number, maker.truth, lambda depth, of=maker: of.label(depth)[0]))
                    found = computed(found, f"new{place}", kind(2))
                break
            except Refusal:
                continue
    return found


def queries_of(shape: Schema) -> list[Query]:
    found: list[Query] = [Rows(), DistinctPersons(), Rows(Keys("g", ("a", "b"), 1))]
    for name in shape.computed:
        column = shape.columns[name]
        if isinstance(column, Category):
            found += [Tally(name, among=column.among), Rows(Keys(name, column.among, 1))]
        elif column.low is not None and column.high is not None and Fraction(column.low) < Fraction(column.high):
            grid = grid_by_width(Fraction(column.low), Fraction(column.high))
            found += [Moments(name, grid, 1), Total(name, grid), PresentValues(name)]
    return found


def excess_behind(shape: Schema, query: Query, *, most: int) -> bool:
    """Whether a neighbour moves an integer of the query further than its stability behind the transformations."""
    used = ("g", "x", *shape.computed)
    mine = [None, *records(most)]
    tables = [Reference(shape, people(2, rows), used, SECRET, [query]).answer(query) for rows in mine]
    found = np.array(tables, dtype=object)
    found = found.reshape(len(mine), -1, 1) if isinstance(query, Tally) else found
    base = found[:1] if shape.person.adjacency == "add_remove" else found[1:]
    moved = np.abs(found[1:, None] - base[None, :]).sum(axis=2).max(axis=(0, 1))
    claimed = stability(query, shape.person, stands_in=False)
    return any(Fraction(int(m)) > c for m, c in zip(moved, claimed, strict=True))


CHAINS = [pytest.param(seed, marks=[] if seed < 2 else pytest.mark.wide) for seed in range(40)]


@pytest.mark.loop(5)
@pytest.mark.parametrize("seed", CHAINS)
def test_no_neighbour_moves_an_integer_behind_a_chain_of_transformations_too_far(seed: int) -> None:
    adjacency: Kind = ("add_remove", "substitute")[seed % 2]
    shape = chain(seed, Person(adjacency, "who", rows=1 + seed // 2 % 2))
    for query in queries_of(shape):
        assert not excess_behind(shape, query, most=2), (shape.computed, shape.where, query)


def test_a_filter_that_is_forgotten_in_a_chain_is_refuted() -> None:
    """A chain whose person still counts as unfiltered claims a public number of rows under substitution."""
    shape = filtered(schema("substitute", 1, stands_in=False), expression_text.read("x > 0"))
    shape = computed(shape, "new", expression_text.read("x + 1"))
    assert not excess_behind(shape, Rows(), most=1)
    forgotten = replace(shape, person=replace(shape.person, filtered=False))
    assert excess_behind(forgotten, Rows(), most=1)


def test_a_filter_makes_the_number_of_rows_and_of_persons_private_under_substitution() -> None:
    """Stabilities of whole tables, where these numbers are public, would be refuted."""
    person = Person("substitute", "who")
    for query in (Rows(), DistinctPersons()):
        assert stability(query, person, stands_in=False) == (Fraction(0),)
        assert stability(query, replace(person, filtered=True), stands_in=False) == (Fraction(1),)
        assert max(moved_by(condition, person, query)[0] for condition in CONDITIONS) == 1


@pytest.mark.parametrize("per", ["row", "person"])
@pytest.mark.parametrize("touch", [None, 1, 2])
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_no_person_moves_more_values_than_kept_rows_says(
    per: Literal["row", "person"], touch: int | None, cap: int
) -> None:
    keys = None if touch is None else Keys("g", ("a", "b"), touch)
    shape = schema("add_remove", cap, stands_in=False)
    query = Ranks("x", keys, per)
    before = Reference(shape, people(2, None), ("g", "x"), SECRET).values(query)
    most = together = 0
    for mine in records(min(3, cap + 1)):
        after = Reference(shape, people(2, mine), ("g", "x"), SECRET).values(query)
        gained = [sum((Counter(new) - Counter(old)).values()) for new, old in zip(after, before, strict=True)]
        assert not any(Counter(old) - Counter(new) for new, old in zip(after, before, strict=True))
        most, together = max(most, *gained), max(together, sum(gained))
    assert most == kept_rows(shape.person, per)
    assert together == kept_rows(shape.person, per, keys)


def test_groups_of_one_person_are_bounded_by_touch_rows_and_keys() -> None:
    keys = Keys("g", ("a", "b"), 5)
    assert groups_of_kept(Person("add_remove", "who", rows=1), keys) == 1
    assert groups_of_kept(Person("add_remove", "who", rows=9), keys) == 2
    assert groups_of_all(Person("add_remove", "who", rows=1), keys) == 2
    assert groups_of_all(Person("add_remove"), keys) == 1


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_a_person_adds_no_more_records_than_kept_rows_and_as_many_as_rows(cap: int) -> None:
    shape = schema("add_remove", cap, stands_in=False)
    query = Records(("x",), (Fraction(2),))
    before = Counter(map(tuple, Reference(shape, people(2, None), ("g", "x"), SECRET).records(query)))
    for mine in records(min(3, cap + 1)):
        after = Counter(map(tuple, Reference(shape, people(2, mine), ("g", "x"), SECRET).records(query)))
        assert not before - after
        assert (after - before).total() == min(len(mine), kept_rows(shape.person, "row"))


@pytest.mark.parametrize("unit", ["0", "-1", "1e-251"])
def test_a_unit_that_doubles_cannot_hold_is_refused(unit: str) -> None:
    for make in (lambda: OrderedValues("x", Fraction(unit)), lambda: Records(("x",), (Fraction(unit),))):
        with pytest.raises(PublicParameterError, match="unit"):
            make()


def test_ranks_have_no_stability_of_their_own() -> None:
    for query in (Ranks("x"), OrderedValues("x", Fraction(1)), Records(("x",), (Fraction(1),))):
        with pytest.raises(TypeError, match=type(query).__name__):
            stability(query, Person("add_remove"), stands_in=False)
