"""A session is closed to everything but the rows it was given, bounded in memory and spill, and can be stopped."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from reticent.data.engines import duckdb
from reticent.data.engines.duckdb import DUCKDB, DuckDBSession, close_waiting
from reticent.data.format import Limits
from reticent.data.query import DistinctPersons, Query, Rows
from reticent.data.schema import Person, Schema, real
from reticent.data.table import EngineFailure, Table, open_table

KEY = bytes(32)
variable_in_scope = pa.Table.from_batches([], schema=pa.schema([("a", pa.int64())]))


def stored(engine: DuckDBSession) -> None:
    stream = pa.table({"a": [1, 2]}).to_reader()
    engine.store("base", "SELECT a FROM cells", stream, steps={"cells": "SELECT a FROM source"}, light=False)


@pytest.mark.wide
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM '{file}'",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM glob('{folder}/*')",
        "COPY base TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET threads = 4",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET memory_limit = '100GB'",
        "PRAGMA enable_profiling",
        "SELECT getenv('HOME')",
        "SELECT * FROM variable_in_scope",
    ],
)
def test_a_session_refuses(statement: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    with DUCKDB.session(Limits(threads=1)) as engine:
        stored(engine)
        with pytest.raises(Exception):  # noqa: B017 - each kind of refusal is a class of its own
            engine.rows(statement.format(file=tmp_path / "t.csv", folder=tmp_path))
        assert engine.rows("SELECT sum(a) FROM base") == [(3,)]
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_the_source_is_gone_after_it_was_read() -> None:
    with DUCKDB.session(Limits(threads=1)) as engine:
        stored(engine)
        with pytest.raises(Exception, match="source"):
            engine.rows("SELECT * FROM source")


def table(size: int, limits: Limits) -> Table:
    rows = {"who": [str(number % 1000) for number in range(size)], "x": list(range(size))}
    return open_table(rows, Schema({"x": real()}, Person("add_remove", "who", rows=3)), limits=limits)


@pytest.mark.wide
def test_too_little_memory_is_a_failure_without_words_and_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    hungry = table(200_000, Limits(threads=1))
    hungry._limits = Limits(memory="4MB", spill="1MB", threads=1)  # which no study may name
    with pytest.raises(EngineFailure) as failed:
        hungry.run([Rows()], KEY)
    assert "memory" not in str(failed.value).lower()
    assert list(tmp_path.iterdir()) == []


def test_a_run_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert table(2000, Limits(threads=1)).run([Rows()], KEY)[0].vectors == ((2000,),)
    assert list(tmp_path.iterdir()) == []


def test_a_running_query_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, started = table(10, Limits(threads=1)), threading.Event()

    def endless(engine: DuckDBSession, statement: str) -> list[tuple[int]]:
        started.set()
        found: list[tuple[int]] = engine._connection.execute(
            "SELECT sum(a.range * b.range) FROM range(1000000000) a, range(1000) b"
        ).fetchall()
        return found

    monkeypatch.setattr(DuckDBSession, "rows", endless)
    stopped: list[BaseException] = []

    def run() -> None:
        try:
            slow.run([Rows()], KEY)
        except EngineFailure as failure:
            stopped.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(30)
    until = time.monotonic() + 30
    while thread.is_alive() and time.monotonic() < until:
        slow.interrupt()
        thread.join(0.05)
    assert len(stopped) == 1


def test_threads_may_share_a_table() -> None:
    shared, found = table(5000, Limits(threads=1)), []
    asked: list[Query] = [Rows(), DistinctPersons()]

    def run() -> None:
        found.append([result.vectors for result in shared.run(asked, KEY)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[((3000,),), ((1000,),)]] * 4


def test_a_database_waits_for_the_next_run_and_holds_nothing_of_the_last() -> None:
    """One that kept its tables would show rows to the next run, and one that two runs share would count for both."""
    close_waiting()
    limits = Limits(threads=1)
    with DUCKDB.session(limits) as first:
        stored(first)
        first.view("seen", "SELECT a FROM base")
        first.keep("kept", "SELECT a FROM seen")
        first.put("list", pa.table({"b": [7]}))
        with DUCKDB.session(limits) as beside:
            assert beside.rows("SELECT count(*) FROM duckdb_tables()") == [(0,)]
    with DUCKDB.session(limits) as second:
        assert second.rows("SELECT count(*) FROM duckdb_tables()") == [(0,)]
        assert second.rows("SELECT count(*) FROM duckdb_views() WHERE NOT internal") == [(0,)]
        stored(second)
        assert second.rows("SELECT sum(a) FROM base") == [(3,)]
    close_waiting()


def test_a_database_does_not_wait_after_a_failure_or_under_other_limits() -> None:
    close_waiting()
    with pytest.raises(Exception, match="nowhere"), DUCKDB.session(Limits(threads=1)) as failed:
        failed.rows("SELECT * FROM nowhere")
    assert not duckdb._WAITING
    with DUCKDB.session(Limits(threads=1)):
        pass
    with DUCKDB.session(Limits(threads=1, memory="64MB")) as other:
        assert other.rows("SELECT current_setting('memory_limit')") == [("61.0 MiB",)]
    close_waiting()
    assert not duckdb._WAITING


def test_an_interrupt_that_comes_late_stops_no_other_run() -> None:
    close_waiting()
    with DUCKDB.session(Limits(threads=1)) as over:
        stored(over)
    with DUCKDB.session(Limits(threads=1)) as next_one:
        over.interrupt()
        assert next_one.rows("SELECT sum(range) FROM range(10)") == [(45,)]
    close_waiting()
