"""Rows are stored a piece at a time where no row depends on another, and each piece is compressed before the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from reticent.data import query_compiler, query_result, sorted_cells, source
from reticent.data.engines import duckdb
from reticent.data.engines.duckdb import DUCKDB, close_waiting
from reticent.data.format import Limits
from reticent.data.order_statistics import Needs
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
    Weighing,
    WeightedMoments,
    WeightedTally,
)
from reticent.data.query_result import SortedCells, content
from reticent.data.schema import Category, Column, Integer, Person, Real, Schema, grid_by_size, grid_by_width
from reticent.data.source import open_source
from reticent.data.table import EngineFailure, Table, open_table

KEY = bytes(range(32))
LOW, HIGH = Fraction(0), Fraction(100)
COLUMNS: dict[str, Column] = {"k": Integer(0, 9), "x": Real(LOW, HIGH)}
ROWS = 3 * 65_536 + 5


def schema_of(columns: dict[str, Column] | None = None, cap: int = 3) -> Schema:
    return Schema(columns or COLUMNS, Person("add_remove", "who", rows=cap))


def rows_of(size: int = ROWS) -> pa.Table:
    """Rows of persons with one to seven rows, in an order that spreads each of them over all pieces."""
    draw = np.random.default_rng(20081114)
    values = {
        "who": draw.integers(0, size // 4, size),
        "k": draw.integers(0, 10, size),
        "x": draw.normal(50, 20, size).round(2),
    }
    return pa.table({name: pa.array(column) for name, column in values.items()})


def asked() -> list[Query]:
    return [
        Rows(),
        DistinctPersons(),
        Total("x", grid_by_size(LOW, HIGH)),
        Moments("x", grid_by_width(LOW, HIGH), 2),
        Ranks("x"),
    ]


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that fill tables."""
    told = list[str]()
    fill = duckdb.DuckDBSession.store_in_pieces

    class Noted:
        def __init__(self, connection: Any) -> None:
            self._connection = connection

        def execute(self, statement: str) -> Any:
            told.append(statement)
            return self._connection.execute(statement)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._connection, name)

    def store(self: duckdb.DuckDBSession, *given: Any, step: tuple[str, str]) -> None:
        plain, self._connection = self._connection, Noted(self._connection)
        try:
            fill(self, *given, step=step)
        finally:
            self._connection = plain

    monkeypatch.setattr(duckdb.DuckDBSession, "store_in_pieces", store)
    return told


def test_answers_do_not_depend_on_the_pieces(monkeypatch: pytest.MonkeyPatch, noted: list[str]) -> None:
    of = open_table(rows_of(), schema_of())
    whole = list(map(content, of.run(asked(), KEY)))
    assert not any(text.startswith(("ATTACH", "INSERT")) for text in noted)  # a small table is stored at once
    monkeypatch.setattr(duckdb, "PIECE", 1)
    monkeypatch.setattr(duckdb, "ROW_GROUP", 1)
    assert list(map(content, of.run(asked(), KEY))) == whole
    assert sum(text.startswith("INSERT") for text in noted) == 4  # three batches more than the first, and the end
    of.probe()


def test_a_piece_is_compressed_before_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A median of 10,000,000 rows took 540 MB with tables as they come, and 360 MB in pieces."""
    monkeypatch.setattr(duckdb, "PIECE", 1)
    monkeypatch.setattr(duckdb, "ROW_GROUP", 1)
    told = query_compiler.statements(
        [Ranks("x")], schema_of(), open_source(rows_of(5), schema_of()).storage, KEY, DUCKDB.dialect
    )
    stream = rows_of().select(["x", "who"]).rename_columns(["c0", "who"])
    batches = iter(stream.to_batches(65_536))
    seen = list[set[str]]()
    with DUCKDB.session(Limits(threads=1)) as session:
        kinds = "SELECT DISTINCT compression FROM pragma_storage_info('{}.typed') WHERE column_name IN ('who', 'c0')"

        def watched() -> Iterator[pa.RecordBatch]:
            for nth, batch in enumerate(batches):
                if nth:  # the piece before has been stored
                    cursor, place = session._connection.cursor(), kinds.format(session._compressed)
                    seen.append(
                        {kind for (kind,) in cursor.execute(f"{place} AND segment_type <> 'VALIDITY'").fetchall()}
                    )
                yield batch

        reader = pa.RecordBatchReader.from_batches(stream.schema, watched())
        session.store_in_pieces(*told.first, reader, step=next(iter(told.steps.items())))
        assert session.rows('SELECT count(*) FROM "typed"') == [(ROWS,)]
    assert len(seen) == 3
    assert "Uncompressed" not in set().union(*seen)


LONG = tuple(map(str, range(100)))


@pytest.mark.parametrize(
    ("schema", "query", "alone"),
    [
        (schema_of(), Ranks("k"), True),
        (Schema(COLUMNS, Person("add_remove")), Ranks("k"), True),
        (schema_of(), Ranks("x", Keys("k", (1, 2), 1)), False),
        (schema_of({**COLUMNS, "k": replace(Integer(0, 9), constant=True)}), Ranks("k"), False),
        (schema_of({**COLUMNS, "k": Category(LONG)}), Tally("k", among=LONG[:2]), False),  # a long list is joined
    ],
)
def test_rows_that_depend_on_others_are_stored_at_once(schema: Schema, query: Query, alone: bool) -> None:
    told = query_compiler.statements([query], schema, dict.fromkeys(("who", "k", "x"), "text"), KEY, DUCKDB.dialect)
    assert told.small is alone


# --- rows that are persons: no piece is kept --------------------------------------------------------------------------

ALONE = Schema({**COLUMNS, "w": Real(Fraction(0), Fraction(3))}, Person("add_remove"))
ADDED: list[Query] = [
    Rows(),
    DistinctPersons(),
    CappedPersons(),
    Incomplete(("x", "w")),
    PresentValues("x"),
    Total("x", grid_by_size(LOW, HIGH)),
    Moments("x", grid_by_width(LOW, HIGH), 4),
    Tally("x", edges=(LOW, Fraction(40), HIGH)),
    Tally("k", among=(1, 2)),
    Ranks("x"),
    Ranks("k"),
    Ranks("x", weight=Weighing("w", Fraction(3))),
    WeightedMoments("x", Weighing("w", Fraction(3)), grid_by_width(LOW, HIGH), 2),
    WeightedTally("k", Weighing("w", Fraction(3)), among=(1, 2)),
    OrderedValues("x", Fraction(1, 8)),
]
KEPT: list[Query] = [
    OrderedValues("x", Fraction(1, 8), Needs(((1, 3), (6, 8)))),
    Records(("x", "k"), (Fraction(1, 8), Fraction(1))),
]


def alone(size: int) -> pa.Table:
    """Rows with missing cells; their values are sorted, so that pieces are unlike each other."""
    draw = np.random.default_rng(20081114)
    x = np.sort(np.where(draw.random(size) < 0.4, 0.0, draw.exponential(30, size)))
    values = {"k": draw.integers(0, 10, size), "x": x, "w": draw.random(size) * 3}
    return pa.table({name: pa.array(each, mask=draw.random(size) < 0.1) for name, each in values.items()})


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of rows that stand in the table, one piece after the other."""
    found, plain = list[int](), duckdb.DuckDBSession.store_in_turn

    def store(self: duckdb.DuckDBSession, name: str, *given: Any, step: tuple[str, str]) -> Iterator[bool]:
        for many in plain(self, name, *given, step=step):
            found.append(self.about(name))
            yield many

    monkeypatch.setattr(duckdb.DuckDBSession, "store_in_turn", store)
    return found


def in_pieces(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(duckdb, "PIECE", 1)
    monkeypatch.setattr(duckdb, "ROW_GROUP", rows)


@pytest.mark.loop(9)
@pytest.mark.parametrize("asked", [ADDED, *[[query] for query in (*ADDED, *KEPT)]], ids=repr)
def test_rows_that_are_persons_are_answered_about_a_piece_at_a_time(
    monkeypatch: pytest.MonkeyPatch, turns: list[int], asked: list[Query]
) -> None:
    """A median of 40,000,000 rows took 560 MB, and takes 290."""
    monkeypatch.setattr(source, "BATCH", 70)
    of, size = open_table(alone(1_500), ALONE), 1_500
    whole = list(map(content, of.run(asked, KEY)))
    turns.clear()
    in_pieces(monkeypatch, 70)
    assert list(map(content, of.run(asked, KEY))) == whole
    kept = any(query in KEPT for query in asked)
    assert (len(turns), sum(turns)) == ((0, 0) if kept else (-(-size // 70), size))


def test_a_median_of_a_sorted_file_is_that_of_all_its_rows(monkeypatch: pytest.MonkeyPatch, turns: list[int]) -> None:
    """Its first pieces hold equal values, which are counted, and later ones do not: those are sorted."""
    of, asked = open_table(alone(3_000), ALONE), [Ranks("x"), Ranks("k")]
    whole = list(map(content, of.run(asked, KEY)))
    for module, name, value in (
        (source, "BATCH", 100),
        (query_result, "LONG", 1),
        (sorted_cells, "SAMPLED", 1.0),
        (sorted_cells, "ASIDE", 64),
        (sorted_cells, "HELD", 16),
    ):
        monkeypatch.setattr(module, name, value)
    in_pieces(monkeypatch, 100)
    turns.clear()
    one, other = of.run(asked, KEY)
    assert [content(one), content(other)] == whole
    assert [isinstance(held, SortedCells) for held in (*one.ranks, *other.ranks)] == [True, False]
    assert turns == [*[100] * 30, 0]


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 5)), max_size=9), st.integers(0, 50), st.integers(0, 50))
def test_repeated_cells_are_those_of_an_array(runs: list[tuple[int, int]], first: int, last: int) -> None:
    runs = sorted(dict(runs).items())
    cells, counts = (np.array([run[at] for run in runs], np.int64) for at in (0, 1))
    plain, made = np.repeat(cells, counts), sorted_cells.RepeatedCells(cells, np.cumsum(counts))
    first, last = sorted((min(first, len(plain)), min(last, len(plain))))
    assert len(made) == len(plain)
    assert np.array_equal(made[first:last], plain[first:last])
    part = made.part(first, last)
    assert len(part) == last - first
    assert np.array_equal(part[:], plain[first:last])
    assert np.array_equal(part[np.arange(len(part))[::2]], plain[first:last][::2])


class Broken:
    """A source that fails, or is interrupted, in its third batch."""

    def __init__(self, failure: BaseException) -> None:
        found = open_source(rows_of(), schema_of())
        self.storage, self.reading, self.place = found.storage, found.reading, None
        self._found, self._failure = found, failure

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for nth, batch in enumerate(self._found.batches(names)):
            if nth == 2:
                raise self._failure
            yield batch


@pytest.mark.parametrize(
    ("failure", "raised"), [(ValueError("row 3"), EngineFailure), (KeyboardInterrupt(), KeyboardInterrupt)]
)
def test_what_fails_in_a_later_piece_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, failure: BaseException, raised: type[BaseException]
) -> None:
    close_waiting()
    monkeypatch.setattr(duckdb, "PIECE", 1)
    monkeypatch.setattr(duckdb, "ROW_GROUP", 1)
    with pytest.raises(raised) as found:
        Table(Broken(failure), schema_of(), Limits(), None).run(asked(), KEY)
    assert found.value.__context__ is None
    assert not duckdb._WAITING
    assert open_table(rows_of(40), schema_of()).run([Rows()], KEY)[0].vectors[0][0] <= 40


def test_nothing_of_a_run_stays_with_the_database_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    close_waiting()
    monkeypatch.setattr(duckdb, "PIECE", 1)
    monkeypatch.setattr(duckdb, "ROW_GROUP", 1)
    of = open_table(rows_of(), schema_of())
    of.run(asked(), KEY)
    (database,) = duckdb._WAITING.values()
    held = database.connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
    memory = "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'"
    assert held == [(0,)]
    assert database.connection.execute(
        "SELECT database_name FROM duckdb_databases() WHERE NOT internal"
    ).fetchall() == [("memory",)]
    assert database.connection.execute(memory).fetchall()[0][0] < 1 << 20


def test_sessions_of_one_database_have_pieces_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan audit opens a session for each run, and the tables of one had been in the way of the next."""
    monkeypatch.setattr(duckdb, "PIECE", 1)
    monkeypatch.setattr(duckdb, "ROW_GROUP", 1)
    told = query_compiler.statements(
        [Ranks("x")], schema_of(), open_source(rows_of(5), schema_of()).storage, KEY, DUCKDB.dialect
    )
    with DUCKDB.session(Limits(threads=1)) as first:
        second = duckdb.DuckDBSession(first._connection.cursor())
        for session, size in ((first, 70_000), (second, 80_000)):
            stream = rows_of(size).select(["x", "who"]).rename_columns(["c0", "who"])
            session.store_in_pieces(*told.first, stream.to_reader(1_000), step=next(iter(told.steps.items())))
        assert [one.rows('SELECT count(*) FROM "typed"')[0][0] for one in (first, second)] == [70_000, 80_000]
        second.end()
        second._connection.close()


@pytest.mark.parametrize(
    ("widest", "sizes"), [(1 << 27, [10, 10, 10, 5]), (3 * 56, [21, 14])], ids=["whole groups", "wide rows"]
)
def test_a_piece_ends_where_a_group_of_rows_does(
    monkeypatch: pytest.MonkeyPatch, widest: int, sizes: list[int]
) -> None:
    """Two million rows of 50 columns took 9.8 s of CPU to store, and take 3.2 s: groups were compressed anew."""
    monkeypatch.setattr(duckdb, "PIECE", 1)
    monkeypatch.setattr(duckdb, "ROW_GROUP", 10 if widest > 1000 else 100)
    monkeypatch.setattr(duckdb, "WIDEST", widest)
    batches = [pa.record_batch({"x": np.arange(7 * nth, 7 * nth + 7)}) for nth in range(5)]
    found = [
        (piece.read_all(), last)
        for piece, last in duckdb._pieces(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    ]
    assert [len(table) for table, _ in found] == sizes
    assert [last for _, last in found] == [False] * (len(sizes) - 1) + [True]
    assert pa.concat_tables([table for table, _ in found])["x"].to_pylist() == list(range(35))


def test_a_piece_takes_little_beside_what_is_stored() -> None:
    """Of 10,000,000 different values 315 MB were taken, and 340 MB with pieces of twice the size."""
    batch = pa.record_batch([np.zeros(1 << 16)], ["x"])
    pieces = duckdb._pieces(pa.RecordBatchReader.from_batches(batch.schema, [batch] * 50))
    sizes = [(sum(part.nbytes for part in piece), last) for piece, last in pieces]
    assert len(sizes) > 2
    assert all(size < 9_000_000 for size, _ in sizes)
    assert [last for _, last in sizes] == [False] * (len(sizes) - 1) + [True]
