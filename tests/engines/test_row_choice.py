"""Rows that count: what is told to the engine is public, only persons over a cap are hashed, and keys are a table."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction

import ibis
import numpy as np
import pyarrow as pa
import pytest

from reticent.data import order_statistics, query_result
from reticent.data.engines import row_choice
from reticent.data.engines.casts import SHORT
from reticent.data.engines.duckdb import DUCKDB, DuckDBDialect
from reticent.data.engines.engine import Adopted, EngineSession
from reticent.data.format import Limits
from reticent.data.query import CappedPersons, DistinctPersons, Keys, Moments, Query, Ranks, Rows, Total
from reticent.data.query_compiler import columns_of
from reticent.data.query_result import QueryResult
from reticent.data.schema import Person, Schema, category, grid_by_size, grid_by_width, integer, real
from reticent.data.source import open_source
from reticent.data.table import Table, open_table
from tests.support.data_reference import Reference, Row, on_ring

SECRET = bytes(range(32))
LOW, HIGH = Fraction(-3), Fraction(7)


class Recorded:
    """A session of the engine that remembers what it was told, and how many rows were numbered."""

    def __init__(self, engine: EngineSession) -> None:
        self.engine = engine
        self.told: list[str] = []
        self.numbered = 0

    def put(self, name: str, table: pa.Table) -> None:
        self.told.append(name)
        self.engine.put(name, table)

    def store(self, name: str, statement: str, rows: Adopted, *, steps: Mapping[str, str], light: bool) -> None:
        self.told += [name, statement, *steps.values()]
        self.engine.store(name, statement, rows, steps=steps, light=light)

    def view(self, name: str, statement: str) -> None:
        self.told += [name, statement]
        self.engine.view(name, statement)

    def keep(self, name: str, statement: str) -> None:
        self.told += [name, statement]
        self.engine.keep(name, statement)
        if name == "numbered":
            self.numbered = self.engine.rows("SELECT count(*) FROM numbered")[0][0]

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        self.told.append(statement)
        return self.engine.rows(statement)

    def arrow(self, statement: str) -> pa.Table:
        self.told.append(statement)
        return self.engine.arrow(statement)

    def interrupt(self) -> None:
        self.engine.interrupt()


class Recording:
    """An engine whose last session can be looked at."""

    dialect = DuckDBDialect()
    packages = DUCKDB.packages
    name = DUCKDB.name
    last: Recorded

    @contextmanager
    def session(self, limits: Limits) -> Iterator[Recorded]:
        with DUCKDB.session(limits) as engine:
            self.last = Recorded(engine)
            yield self.last

    def interrupted(self, cause: BaseException) -> bool:
        return DUCKDB.interrupted(cause)


def run(rows: dict[str, list[object]], schema: Schema, asked: Sequence[Query]) -> tuple[list[QueryResult], Recorded]:
    engine = Recording()
    found = Table(open_source(rows, schema), schema, Limits(), None, engine=engine).run(asked, SECRET)
    return found, engine.last


def queries(keys: Keys) -> list[Query]:
    return [
        Rows(keys),
        DistinctPersons(keys),
        Total("x", grid_by_size(LOW, HIGH), keys),
        Total("x", grid_by_size(LOW, HIGH), keys, "kept"),
        Moments("x", grid_by_width(LOW, HIGH), 2, keys),
        Total("x", grid_by_size(LOW, HIGH)),
        Ranks("x", keys),
        CappedPersons(),
    ]


def schema_of(keys: int) -> Schema:
    return Schema({"k": integer(0, keys - 1), "x": real(LOW, HIGH)}, Person("add_remove", "who", rows=3))


def columns(who: list[object], keys: int) -> dict[str, list[object]]:
    return {"who": who, "k": [(7 * i) % keys for i in range(len(who))], "x": [i % 11 - 3.5 for i in range(len(who))]}


def test_what_is_told_does_not_depend_on_the_rows() -> None:
    asked = queries(Keys("k", tuple(range(5)), 2))
    few, many = ([i % size for i in range(60)] for size in (3, 60))
    told = [run(columns([*who], 5), schema_of(5), asked)[1].told for who in (few, many, [])]
    assert told[0] == told[1] == told[2]
    assert len(told[0]) < 40


def test_only_persons_over_the_cap_are_numbered() -> None:
    who = [*[0] * 9, *[1] * 3, *[2] * 2, *[3] * 4, *range(4, 40)]
    assert run(columns([*who], 5), schema_of(5), [Rows()])[1].numbered == 9 + 4
    assert run(columns([*range(40)], 5), schema_of(5), [Rows()])[1].numbered == 0


@pytest.mark.parametrize(("size", "most"), [(1, 1), (4, 1), (7, 3), (8, 4), (11, 10), (12, 5)])
def test_every_row_of_a_person_has_the_same_chance(size: int, most: int) -> None:
    """On a ring cut into stretches: exactly so many count, each row in its share of 4,000 draws (at 1e-9 per size)."""
    draws = [int.from_bytes(hashlib.sha256(b"%d" % nth).digest()[:7], "big") for nth in range(4000)]
    table = ibis.memtable(pa.table({"draw": np.repeat(draws, size), "nth": np.tile(np.arange(size), len(draws))}))
    row = ibis.literal(size, "int64")
    chosen = ibis.duckdb.connect().to_pyarrow(
        table.filter(row_choice.on_ring(table.nth, row, most, table.draw)).order_by("nth")
    )
    told: dict[int, list[int]] = {draw: [] for draw in draws}
    for draw, nth in zip(*(chosen.column(name).to_pylist() for name in ("draw", "nth")), strict=True):
        told[draw].append(nth)
    assert all(told[draw] == sorted(on_ring(size, most, draw)) for draw in draws)
    assert {len(held) for held in told.values()} == {most}
    shares = Counter(nth for held in told.values() for nth in held)
    band = 6.5 * math.sqrt(4000 * (most / size) * (1 - most / size))
    assert all(abs(shares[nth] - 4000 * most / size) <= band for nth in range(size))
    fixed = Counter(nth for draw in draws for nth in on_ring(size, most, draw - draw % size))
    assert most == size or max(abs(fixed[nth] - 4000 * most / size) for nth in range(size)) > band or size % most == 0


def test_of_few_rows_all_count_and_a_ring_has_no_branch() -> None:
    """An engine shares terms that stand outside of branches; inside of one it took three times as many remainders."""
    rows = ibis.table({"draw": "int64", "nth": "int64", "size": "int64"}, name="rows")
    text = DuckDBDialect().write(rows.select(on=row_choice.on_ring(rows.nth, rows.size, 5, rows.draw)))
    assert " OR " not in text
    assert "CASE" not in text
    for size in range(1, 6):
        given = pa.table({"draw": [(7**nth) % 2**52 for nth in range(60)], "nth": [nth % size for nth in range(60)]})
        table = ibis.memtable(given)
        ring = row_choice.ring_of(ibis.literal(size, "int64"), 5)
        found = row_choice.on_ring(table.nth, ring, 5, table.draw)
        assert ibis.duckdb.connect().to_pyarrow(table.aggregate(n=found.sum())).to_pylist() == [{"n": 60}]


def test_all_numbers_of_one_list_of_groups_take_one_scan() -> None:
    """One statement reads the rows of persons with few, of which nothing is asked, and those of persons with many."""
    keys, who = Keys("k", tuple(range(5)), 3), [i % 9 for i in range(200)]
    asked: list[Query] = queries(keys)[:4]
    given = columns([*who], 5) | {"x": [(i * i) % 23 - 9.5 for i in range(200)]}
    found, seen = run(given, schema_of(5), asked)
    (together,) = (text for text in seen.told if "COUNT(DISTINCT" in text)
    few, many = together.split("FILTER", 1)[0], together.split("COUNT(DISTINCT")
    assert len(many) == 3
    assert '"typed"' in few
    assert '"numbered"' not in few
    assert not any('"typed"' in text for text in seen.told[seen.told.index("numbered") + 2 :] if text != together)
    (numbered,) = (text for text in seen.told if "ROW_NUMBER" in text)
    assert '"c0" ASC' not in numbered  # rows of one place are alike whatever the column of the groups holds
    assert "SUM(CAST(" not in few  # its sums are of 128 bits
    rows: list[Row] = [{name: given[name][i] for name in given} for i in range(200)]  # type: ignore[misc]
    reference = Reference(schema_of(5), rows, columns_of(asked, schema_of(5)), SECRET, asked)
    assert [one.vectors for one in found] == [reference.answer(query) for query in asked]


def test_no_period_in_the_values_is_met() -> None:
    """Of 21 days three count: stretches of a week each, so a choice of every seventh would meet one weekday only."""
    draws = [int.from_bytes(hashlib.sha256(b"%d" % nth).digest()[:7], "big") for nth in range(2000)]
    days = [[day % 7 for day in on_ring(21, 3, draw)] for draw in draws]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        alike = sum(found[one] == found[other] for found in days)
        assert abs(alike - 2000 / 7) < 6.5 * math.sqrt(2000 / 7 * 6 / 7)


@pytest.mark.wide
def test_persons_that_are_whole_numbers_are_kept_as_their_texts_are() -> None:
    who = [i * i % 13 - 5 for i in range(90)]
    asked = queries(Keys("k", (1, 4, 0), 2))
    schema = schema_of(5)
    whole, text = (open_table(columns([*given], 5), schema) for given in (who, list(map(str, who))))
    found = open_table({**columns([*who], 5), "who": np.array(who)}, schema).run(asked, SECRET)
    for one in (whole, text):
        assert list(map(query_result.content, one.run(asked, SECRET))) == list(map(query_result.content, found))
    given = columns([*who], 5)
    rows: list[Row] = [{name: given[name][i] for name in given} for i in range(90)]  # type: ignore[misc]
    reference = Reference(schema, rows, columns_of(asked, schema), SECRET, asked)
    assert [one.vectors for one in found[:5]] == [reference.answer(query) for query in asked[:5]]


@pytest.mark.wide
def test_keys_are_a_table_and_no_part_of_a_statement() -> None:
    who = [i % 50 for i in range(400)]
    sizes = []
    for many in (100, 30_000):
        keys = Keys("k", tuple(f"k{i}" for i in range(many)), 3)
        schema = Schema({"k": category(list(keys.among)), "x": real(LOW, HIGH)}, Person("add_remove", "who", rows=3))
        given = columns([*who], many)
        given["k"] = [f"k{key}" for key in given["k"]]
        found, seen = run(given, schema, queries(keys))
        sizes.append(sum(map(len, seen.told)))
        assert sum(count for (count,) in found[0].vectors) == 150
        assert len(found[6].ranks) == many > SHORT
    assert sizes[0] == sizes[1] < 30_000


def test_values_of_many_groups_are_sorted_at_once() -> None:
    draw = np.random.default_rng(20081114)
    where, values = draw.integers(0, 400, 3_000) * 25, draw.integers(-5, 5, 3_000)
    counts = draw.integers(1, 9, 3_000)
    found = order_statistics.by_group(where, values, counts, 10_000)
    assert len(found) == 10_000
    for group in (0, 25, 50, 51, 9_999):
        inside = where == group
        wanted = {value: int(counts[inside & (values == value)].sum()) for value in np.unique(values[inside]).tolist()}
        assert dict(zip(found[group][0].tolist(), found[group][1].tolist(), strict=True)) == wanted
        assert list(found[group][0]) == sorted(wanted)


def test_a_sum_of_whole_numbers_stands_alone_so_that_a_window_may_follow() -> None:
    rows = ibis.table({"who": "int64", "x": "int64"}, name="rows")
    sums = rows.select(all=rows.x.cast("decimal(38,0)").sum().over(group_by="who"))
    connection = ibis.duckdb.connect()
    connection.create_table("rows", pa.table({"who": [1, 1, 2], "x": [2**62, 2**62, 3]}))
    found = connection.con.execute(DuckDBDialect().write(sums)).fetchall()
    assert sorted(found) == [(3,), (2**63,), (2**63,)]
