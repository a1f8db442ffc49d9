"""Contradictions of filters: refused ones are false on every cell, and simple ones are all found."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import product

import pytest

from reticent.data import contradictions
from reticent.data.contradictions import satisfiable
from reticent.data.dates import date
from reticent.data.expression import Cell, as_condition, bind
from reticent.data.expression_text import read
from reticent.data.expression_tree import Application, Tree, write
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.data.transformations import computed, filtered
from reticent.errors import Refusal
from tests.support.expression_reference import evaluate
from tests.support.expressions import Maker

COLUMNS: dict[str, Column] = {
    "age": integer(0, 120),
    "nights": integer(0, 30),
    "cost": real(-10, 1000),
    "u": real(),
    "ward": category(["North ", "south", "é"]),
    "level": category([1, 2, 30]),
    "ill": category([True, False]),
    "born": date("1900-01-01", "2024-12-31"),
    "came": date("2020-01-01", "2024-12-31"),
}
IMPOSSIBLE = (
    "age > 100 and age < 50",
    "age > 100 and age < 101",
    "age between 10 and 20 and age between 30 and 40",
    "age in (1, 2, 3) and age > 3",
    "age = 3 and age != 3",
    "age = 3.5",
    "age is missing and age > 3",
    "age is missing and age + 1 > 3",
    "not (age > 5 or age <= 5)",
    "(age < 10 or age > 110) and age between 20 and 100",
    "age + 1 > 100 and age < 50",
    "floor(age, 10) = 15",
    "cost > 5 and cost < 5",
    "cost > age and age > 100 and cost < 50",
    "cost != cost",
    "u > 3 and u < 3",
    'ward = "south" and ward = "é"',
    'ward in ("south", "é") and ward = "North "',
    'ward != "North " and ward != "south" and ward != "é"',
    'not ward in ("North ", "south", "é")',
    'left(ward, 1) = "s" and ward = "é"',
    "level = 1 and level = 2",
    "ill and not ill",
    "came < 2021-01-01 and came > 2021-06-01",
    "came between 2021-01-01 and 2021-12-31 and came = 2022-01-01",
    "month(came) = 3 and month(came) = 4",
    "year(came) = 2020 and came > 2021-06-01",
    "days(came - born) < 0 and born < 1990-01-01",
    "age(born, came) > 60 and born > 1990-01-01",
)
POSSIBLE = (
    "age > 100 and age < 102",
    "age >= 100 and age <= 100",
    "age + 1 is missing and not age > 3",
    "u != 3 and u > 2 and u < 4",
    "cost > 5 and cost < 5.0000000000000018",  # a double lies between
    "age < 10 or age > 100",
    "(age < 10 and nights > 3) or (age > 20 and nights > 30)",
    'ward = "south" or ward = "é"',
    "came <= 2021-01-01 and came >= 2021-01-01",
    "age <= nights and nights <= age",
    "u = 9007199254740994 and floor(u, 3) > 9007199254740990",  # 2^53 is the nearest double to the multiple of 3
)


def condition(text: str) -> Tree:
    return as_condition(bind(read(text), COLUMNS))[0]


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_a_filter_that_contradicts_itself_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="is false for every row that the declared bounds and lists allow"):
        filtered(Schema(COLUMNS, Person("add_remove")), read(text))


@pytest.mark.parametrize("text", POSSIBLE)
def test_a_filter_that_some_row_meets_is_taken(text: str) -> None:
    assert filtered(Schema(COLUMNS, Person("add_remove")), read(text)).where is not None


def test_a_filter_that_contradicts_that_of_the_study_is_refused() -> None:
    elderly = filtered(Schema(COLUMNS, Person("add_remove")), read("age >= 65"))
    with pytest.raises(Refusal, match="'age < 50' is false for every row that 'age >= 65' leaves"):
        filtered(elderly, read("age < 50"))
    assert filtered(elderly, read("age < 66")).where == condition("age >= 65 and age < 66")


def test_a_filter_on_a_computed_column_is_held_against_its_derived_bounds() -> None:
    schema = computed(Schema(COLUMNS, Person("add_remove")), "double", read("age * 2"))
    with pytest.raises(Refusal, match="false for every row"):
        filtered(schema, read("double > 100 and double < 40"))


CELLS: dict[str, tuple[Cell, ...]] = {
    "age": (None, 0.0, 1.0, 2.0, 3.0, 6.0, 7.0, 50.0, 99.0, 100.0, 101.0, 120.0),
    "nights": (None, 0.0, 1.0, 7.0, 30.0),
    "cost": (None, -10.0, -3.0, 0.0, 0.1, 0.5, 2.0, 7.000000000000001, 1000.0),
    "u": (None, -1.7e308, -3.0, -0.0, 5e-324, 0.1, 2.0, 2.0**53 + 2, 1e150),
    "ward": (None, "North ", "south", "é"),
    "level": (None, "1", "2", "30"),
    "ill": (None, "true", "false"),
    "born": (None, -25567.0, -1.0, 0.0, 18321.0, 20088.0),
    "came": (None, 18262.0, 18321.0, 18322.0, 19782.0, 20088.0),
}


def conjunctions(seed: int, count: int) -> Iterator[Tree]:
    """Filters of two to five conditions that are likely to meet in a column."""
    chance = random.Random(seed)
    maker = Maker({name: COLUMNS[name] for name in chance.sample([*COLUMNS], 9)}, chance)
    made = 0
    while made < count:
        parts = tuple(maker.truth(chance.randint(0, 2)) for _ in range(chance.randint(2, 5)))
        try:
            tree, _ = as_condition(bind(Application("and", parts), COLUMNS))
        except Refusal:
            continue
        made += 1
        yield tree


def refuted(seed: int, count: int, rows: int) -> tuple[int, list[str]]:
    """How many filters were found impossible, and those among them that a row meets."""
    chance, found, wrong = random.Random(seed), 0, []
    for tree in conjunctions(seed, count):
        if not satisfiable(tree, COLUMNS):
            found += 1
            each: Iterator[Mapping[str, Cell]] = (
                {name: chance.choice(cells) for name, cells in CELLS.items()} for _ in range(rows)
            )
            if any(evaluate(tree, row) is True for row in each):
                wrong.append(write(tree))
    return found, wrong


@pytest.mark.loop(8)
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(3, 40))])
def test_a_filter_that_is_refused_is_false_on_every_cell(seed: int) -> None:
    found, wrong = refuted(seed, 60, 300)
    assert found > 5
    assert wrong == []


def comparisons(seed: int, count: int) -> Iterator[Tree]:
    """Conditions on one small column alone, by comparisons with numbers."""
    chance = random.Random(seed)

    def made(depth: int) -> str:
        if depth == 0 or chance.random() < 0.2:
            return chance.choice(
                [
                    f"x {chance.choice(['<', '<=', '=', '!=', '>=', '>'])} {chance.choice([-1, 0, 1, 1.5, 2, 3, 4])}",
                    f"x in ({', '.join(str(chance.randint(0, 4)) for _ in range(chance.randint(1, 3)))})",
                    f"x between {chance.randint(0, 2)} and {chance.randint(1, 4)}",
                    "x is missing",
                ]
            )
        if chance.random() < 0.2:
            return f"not ({made(depth - 1)})"
        return f"({made(depth - 1)} {chance.choice(['and', 'and', 'or'])} {made(depth - 1)})"

    for _ in range(count):
        yield bind(read(made(3)), SMALL)[0]


SMALL: dict[str, Column] = {"x": integer(0, 3)}


def disagreements(seed: int) -> list[str]:
    """Filters on one column that are taken though no cell meets them, or refused though one does."""
    cells: tuple[Cell, ...] = (None, 0.0, 1.0, 2.0, 3.0)
    return [
        write(tree)
        for tree in comparisons(seed, 400)
        if satisfiable(tree, SMALL) != any(evaluate(tree, {"x": cell}) is True for cell in cells)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_of_one_column_every_contradiction_is_found(seed: int) -> None:
    assert disagreements(seed) == []


@pytest.mark.wide
def test_on_several_small_columns_no_row_meets_a_refused_filter() -> None:
    columns: dict[str, Column] = {"x": integer(0, 3), "y": integer(1, 4), "z": integer(0, 2)}
    rows = [
        dict(zip(columns, cells, strict=True))
        for cells in product((None, 0.0, 1.0, 2.0, 3.0), (None, 1.0, 2.0, 3.0, 4.0), (None, 0.0, 1.0, 2.0))
    ]
    maker, refused = Maker({**columns, "k": category(["a", "b"])}, random.Random(11)), 0
    for _ in range(400):
        tree = Application("and", tuple(maker.truth(1) for _ in range(3)))
        try:
            bound_tree, _ = as_condition(bind(tree, {**columns, "k": category(["a", "b"])}))
        except Refusal:
            continue
        if not satisfiable(bound_tree, {**columns, "k": category(["a", "b"])}):
            refused += 1
            for row in rows:
                for key in (None, "a", "b"):
                    assert evaluate(bound_tree, {**row, "k": key}) is not True, write(bound_tree)
    assert refused > 50


WRONG: tuple[tuple[str, Callable[..., object]], ...] = (
    ("_of_steps", lambda kind, left: left),  # an integer between 1 and 2
    ("_without", lambda kind, excluded: contradictions._present(kind)),  # x = 3 and x != 3
)


@pytest.mark.parametrize(("name", "wrong"), WRONG)
def test_a_contradiction_that_is_missed_is_seen(
    name: str, wrong: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contradictions, name, wrong)
    assert disagreements(0) != []


def test_a_filter_that_is_refused_wrongly_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contradictions, "MIRRORED", {sign: sign for sign in contradictions.MIRRORED})
    assert any(refuted(seed, 60, 300)[1] for seed in range(3))


def test_a_wide_filter_is_decided_in_little_time() -> None:
    parts = " or ".join(f"(age = {place % 100} and nights > {place % 40})" for place in range(250))
    tree = condition(f"({parts}) and age > 100")
    assert not satisfiable(tree, COLUMNS)
