"""Households on every pair of neighbours of small tables: as many persons move as are kept, and nobody of another one.

Each mutant is a rule that would be natural and wrong: a person torn between two households, a household without a cap
on its persons, a cap over everybody.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import pytest

from reticent.data import query_compiler
from reticent.data.columns import Storage
from reticent.data.engines import joins
from reticent.data.engines.duckdb import DuckDBDialect
from reticent.data.expression_text import read
from reticent.data.households import in_households
from reticent.data.joined_table import JoinedTable
from reticent.data.joins import with_tables
from reticent.data.query import Records
from reticent.data.schema import Integer, Person, Schema
from reticent.data.transformations import filtered
from reticent.errors import CheckError
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import grouped
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import PureDP
from reticent.privacy.rederivation import rederive
from reticent.privacy.sensitivity import L1
from tests.laws.test_joins import KEY, steps

Rows = Sequence[tuple[str, str | None, int]]  # person, household, cost
STORAGE: dict[str, Storage] = {"who": "text", "home": "text", "cost": "whole", "age": "whole"}


def schema_of(most: int, household: str = "home", condition: str = "") -> Schema:
    person = in_households(Person("add_remove", "who", 2), household, most)
    schema = Schema(MappingProxyType({"cost": Integer(0, 9)}), person)
    if household != "home":
        schema = with_tables(schema, {"people": (JoinedTable((), "who"), {"age": Integer(0, 9)}, {})})
    return filtered(schema, read(condition)) if condition else schema


class Engine:
    """The statements of one schema, run on one small table after another."""

    def __init__(self, schema: Schema, change: Callable[[str], str] = str) -> None:
        import duckdb

        asked = [Records(("cost",), (Fraction(1),))]
        self.schema, self.used = schema, query_compiler.columns_of(asked, schema)
        told = query_compiler.statements(asked, schema, STORAGE, KEY, DuckDBDialect())
        self.texts = {**told.steps, told.first[0]: told.first[1], **{name: text for _, name, text in told.further}}
        self.sides: dict[str, str] = {}
        if schema.tables:
            views, name, side = query_compiler.side_statements(
                "people", schema, self.used, STORAGE, KEY, DuckDBDialect()
            )
            self.sides = {**views, name: side}
        before = str((self.texts, self.sides))
        self.texts = {name: change(text) for name, text in self.texts.items()}
        self.sides = {name: change(text) for name, text in self.sides.items()}
        assert change is str or before != str((self.texts, self.sides))
        self.connection = duckdb.connect(":memory:", config={"threads": "1"})

    def kept(self, rows: Rows) -> Counter[tuple[Any, ...]]:
        """The rows that are kept, with the person of each; in a further table the homes stand beside the persons."""
        cells: dict[str, list[Any]] = {"who": [row[0] for row in rows], "c0": [row[2] for row in rows]}
        homes: list[Any] = [row[1] for row in rows]
        if self.sides:
            inside = [name for name, _ in joins.stream_names(self.schema, self.used, "people")]
            self.run(self.sides, {name: cells["who"] if name == "who" else homes for name in inside})
        else:
            cells["k0"] = homes
        self.run(self.texts, cells)
        return Counter(self.connection.execute("SELECT who, c0 FROM base WHERE turn < 1").fetchall())

    def run(self, texts: dict[str, str], cells: dict[str, list[Any]]) -> None:
        import pyarrow as pa

        types = {"c0": pa.int64()}
        table = pa.table({name: pa.array(found, types.get(name, pa.string())) for name, found in cells.items()})
        self.connection.register("source", table)
        for name, text in texts.items():
            self.connection.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {text}')
        self.connection.unregister("source")


def all_steps(engine: Engine, seed: int, worlds: int) -> Iterator[int]:
    """The steps from a table to the same without one household, of persons who name up to two each."""
    dice = random.Random(seed)
    for _ in range(worlds):
        homes = {person: dice.sample(["g", "h", "i"], dice.choice((1, 1, 2))) for person in "abcdef"}
        rows = [(one, dice.choice(homes[one]), dice.randrange(10)) for one in homes for _ in range(dice.choice((1, 3)))]
        named = {one: {home for who, home, _ in rows if who == one} for one in homes}
        whole = engine.kept(rows)
        for house in "ghi":  # a person belongs to the least that their rows name
            rest = [row for row in rows if min(named[row[0]]) != house]
            yield steps(whole, engine.kept(rest))


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize(
    ("most", "condition", "household"),
    [
        (2, "cost > 4", "home"),
        (1, "cost > 4", "home"),
        (1, "", "home"),
        (1, "", "people.home"),
        (2, "", "home"),
        (2, "", "people.home"),
        (2, "cost > 4", "people.home"),
        (1, "cost > 4", "people.home"),
    ],
)
def test_a_household_moves_as_many_steps_as_persons_are_kept(
    most: int, condition: str, household: str, seed: int
) -> None:
    """Random worlds of six persons and three households; the bound is reached, so it could not be less."""
    schema = schema_of(most, household, condition)
    assert max(all_steps(Engine(schema), seed, 20)) == schema.person.moved == most


def _torn(text: str) -> str:
    """Each row belongs to the household that it names, so a person of two is in both."""
    return re.sub(r'MIN\((NULLIF\("t\d+"\."k0", \'\'\))\) OVER \([^)]*\)', r"\1", text)


def _uncapped(text: str) -> str:
    return re.sub(r'"t\d+"\."nth" < 1(?=\s*$)', "TRUE", text.rstrip()) if '"house"' in text else text


def _over_everybody(text: str) -> str:
    """The cap counts persons of the file, not of a household."""
    return re.sub(r'PARTITION BY "t\d+"\."house"\s+', "", text)


@pytest.mark.wide
@pytest.mark.parametrize("mutant", [_torn, _uncapped, _over_everybody])
def test_the_enumeration_refutes_other_rules_of_households(mutant: Callable[[str], str]) -> None:
    schema = schema_of(1)
    assert any(found > schema.person.moved for found in all_steps(Engine(schema, mutant), 3, 40))


def test_a_person_of_two_households_belongs_to_the_least_and_one_of_none_is_left_out() -> None:
    rows = [("a", "h", 1), ("a", "g", 2), ("b", "h", 3), ("c", None, 4), ("d", "", 5)]
    kept = Engine(schema_of(1)).kept(rows)
    assert {who for who, _ in kept} == {"a", "b"}  # one of g, and one of h
    assert kept[("a", 1)] == kept[("a", 2)] == 1


def test_a_stored_lift_to_a_household_is_believed_only_over_as_many_steps_as_persons() -> None:
    def of(rows: int, size: int) -> Guarantee:
        part = Geometric(L1(Fraction(1), Adjacency("add_remove", 2)), Fraction(1, 2)).guarantee
        return grouped(part, size, neighbours=Adjacency("add_remove", rows))

    assert rederive(of(6, 3), lambda node: node) == PureDP(Fraction(3, 2))
    for rows, size in ((6, 2), (8, 3), (5, 3)):
        with pytest.raises(CheckError, match="unrelated neighbours"):
            rederive(of(rows, size), lambda node: node)
