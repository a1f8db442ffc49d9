"""A long table is looked at one set of persons after another, and the answers are those for everybody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from reticent.data import query_compiler
from reticent.data.engines import duckdb
from reticent.data.engines.duckdb import DUCKDB
from reticent.data.format import MOST_SETS, Limits
from reticent.data.order_statistics import Needs
from reticent.data.query import (
    CappedPersons,
    DistinctPersons,
    Incomplete,
    KeyHolders,
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
    Weighing,
    WeightedMoments,
    WeightedTally,
)
from reticent.data.query_result import content
from reticent.data.schema import Column, Integer, Person, Real, Schema, Text, grid_by_size, grid_by_width
from reticent.data.source import open_source
from reticent.data.table import open_table

KEY = bytes(range(32))
LOW, HIGH = Fraction(0), Fraction(100)
AMONG, NONE_LEFT_OUT = Keys("k", (1, 4, 7), 2), Keys("k", tuple(range(10)), 3)
WEIGHT = Weighing("w", Fraction(3))
GRID, TOTAL = grid_by_width(LOW, HIGH), grid_by_size(LOW, HIGH)
EDGES = (LOW, Fraction(40), Fraction(60), HIGH)

ADDED: list[Query] = [
    *(Rows(keys) for keys in (None, AMONG, NONE_LEFT_OUT)),
    *(DistinctPersons(keys) for keys in (None, AMONG)),
    *(Total("x", TOTAL, keys) for keys in (None, AMONG)),
    *(Moments("x", GRID, 3, keys, per) for keys in (None, AMONG) for per in ("row", "person")),
    *(PresentValues("x", keys, per) for keys in (None, AMONG) for per in ("row", "person")),
    *(Ranks("x", keys) for keys in (None, AMONG)),
    Ranks("x", None, "person"),
    *(OrderedValues("x", Fraction(1, 8), keys=keys) for keys in (None, AMONG)),
    Tally("x", edges=EDGES),
    Tally("k", among=(1, 4), keys=AMONG),
    WeightedTally("x", WEIGHT, edges=EDGES, keys=AMONG),
    WeightedMoments("x", WEIGHT, GRID, 2, AMONG),
    Incomplete(("x", "w")),
    CappedPersons(),
    CappedPersons((1, 2, 5)),
]
WHOLE: list[Query] = [
    Records(("x", "k"), (Fraction(1, 8), Fraction(1))),
    KeyHolders("t", 2, by_degree=True),
    OrderedValues("x", Fraction(1, 8), Needs(((1, 3),))),
]


def schema() -> Schema:
    columns: dict[str, Column] = {"k": Integer(0, 9), "x": Real(LOW, HIGH), "w": Real(Fraction(0), Fraction(3))}
    return Schema(columns, Person("add_remove", "who", rows=3), texts={"t": Text(4)})


def rows(size: int = 2_000) -> pa.Table:
    """Rows of persons with one to ten rows, in no order, some of them without a value."""
    draw = np.random.default_rng(20081114)
    absent = draw.random(size) < 0.1
    return pa.table(
        {
            "who": pa.array([f"p{number}" for number in draw.integers(0, size // 4, size)]),
            "k": pa.array(draw.integers(0, 10, size)),
            "x": pa.array(draw.normal(50, 20, size).round(2), mask=absent),
            "w": pa.array(draw.random(size) * 3),
            "t": pa.array([f"t{number}" for number in draw.integers(0, 9, size)]),
        }
    )


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The persons of each set."""
    found = list[set[str]]()
    plain = duckdb.DuckDBSession.person_sets

    def sets(self: duckdb.DuckDBSession, name: str) -> Iterator[bool]:
        for many in plain(self, name):
            found.append({who for (who,) in self.rows(f'SELECT DISTINCT who FROM "{name}"')})
            yield many

    monkeypatch.setattr(duckdb.DuckDBSession, "person_sets", sets)
    return found


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("piece", [duckdb.PIECE, 1])
@pytest.mark.parametrize("by_key", [True, False])
def test_answers_do_not_depend_on_the_sets(
    monkeypatch: pytest.MonkeyPatch, seen: list[set[str]], piece: int, by_key: bool
) -> None:
    """Without keys the rows are stored in pieces."""
    asked = [query for query in ADDED if by_key or getattr(query, "keys", None) is None]
    monkeypatch.setattr(duckdb, "PIECE", piece)
    monkeypatch.setattr(duckdb, "ROW_GROUP", 1)
    of = open_table(rows(), schema())
    whole = list(map(content, of.run(asked, KEY)))
    assert len(seen) == 1
    seen.clear()
    monkeypatch.setattr(duckdb, "SET", 600)
    assert list(map(content, of.run(asked, KEY))) == whole
    assert len(seen) == 4
    assert min(map(len, seen)) > 50
    assert sum(map(len, seen)) == len(set().union(*seen))  # nobody is in two of them


@pytest.mark.loop(8)  # all of them go together above
@pytest.mark.parametrize("query", ADDED, ids=repr)
def test_each_kind_of_query_adds_up(monkeypatch: pytest.MonkeyPatch, seen: list[set[str]], query: Query) -> None:
    assert sets_of(query, monkeypatch, seen) == 4


@pytest.mark.parametrize("query", WHOLE, ids=repr)
def test_a_query_that_does_not_add_up_is_asked_of_everybody(
    monkeypatch: pytest.MonkeyPatch, seen: list[set[str]], query: Query
) -> None:
    assert sets_of(query, monkeypatch, seen) == 0


def sets_of(query: Query, monkeypatch: pytest.MonkeyPatch, seen: list[set[str]]) -> int:
    """The number of sets of persons that a query is asked of; the answer is that of everybody."""
    of = open_table(rows(), schema())
    whole = content(of.run([query], KEY)[0])
    seen.clear()
    monkeypatch.setattr(duckdb, "SET", 600)
    assert content(of.run([query], KEY)[0]) == whole
    return len(seen)


def test_there_are_few_sets_of_many_rows(monkeypatch: pytest.MonkeyPatch, seen: list[set[str]]) -> None:
    monkeypatch.setattr(duckdb, "SET", 1)
    open_table(rows(), schema()).run([Rows()], KEY)
    assert len(seen) == MOST_SETS


def test_rows_are_not_kept_for_a_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """A join keeps its right side in memory. That was all rows of the set, and more than all the rest together."""
    monkeypatch.setattr(duckdb, "SET", 12_500)
    asked: list[Query] = [Rows(NONE_LEFT_OUT), DistinctPersons(NONE_LEFT_OUT), Total("x", TOTAL, NONE_LEFT_OUT)]
    given = rows(50_000)
    storage = open_source(given, schema()).storage
    told = query_compiler.statements(asked, schema(), storage, KEY, DUCKDB.dialect)
    stream = given.select(["k", "x", "who"]).rename_columns(["c0", "c1", "who"])
    with DUCKDB.session(Limits(threads=1)) as session:
        for name, table in told.lists.items():
            session.put(name, table)
        session.store(*told.first, stream.to_reader(), steps=told.steps, light=False)
        next(session.person_sets("typed"))
        for _how, name, text in told.further:
            session.keep(name, text)
        ((_, plan),) = session.rows(f"EXPLAIN (FORMAT json) {told.asked[0]}")
    built = [join["children"][1] for join in nodes({"children": json.loads(plan)}) if "JOIN" in join.get("name", "")]
    scanned = [node["extra_info"].get("Table", "") for side in built for node in nodes(side) if "extra_info" in node]
    assert any("keys0" in table for table in scanned)
    assert not any("typed" in table for table in scanned)


def nodes(plan: Any) -> Iterator[dict[str, Any]]:
    """A node of a plan of the engine, and all below it."""
    yield plan
    for child in plan.get("children", ()):
        yield from nodes(child)
