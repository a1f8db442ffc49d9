"""An engine by its name, its limits and its time: one body over DuckDB, PostgreSQL and Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent.data.engines.engine import BROUGHT, KEPT, NAMES, check_place, limited, read_engine
from reticent.data.engines.postgres import connect
from reticent.data.format import Limits
from reticent.data.query import PresentValues, Query, Ranks, Records, Rows
from reticent.data.schema import Person, Schema, integer, real
from reticent.data.source import open_source
from reticent.data.spelling_hints import in_python
from reticent.data.table import EngineFailure, Table, open_table
from tests.support.engine_places import EVERY, Place, placed
from tests.support.ledger_kit import eps
from tests.support.spark_kit import needs_spark, started

KEY = bytes(32)
ROWS: dict[str, list[Any]] = {
    "who": [place // 2 for place in range(120)],
    "x": [float(place % 10) for place in range(120)],
}
COLUMNS = {"x": rt.real(0, 9)}


@pytest.fixture(scope="module", params=EVERY)
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[str, Place]]:
    with placed(request.param) as put:
        yield request.param, put


def study(source: Any, **more: Any) -> rt.Study:
    return rt.study(
        source, adjacency="add_remove", columns=COLUMNS, person="who", rows_each=2, people=60, budget=20,
        override="made-up rows", **more,
    )  # fmt: skip


# --- every engine -----------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_the_engine_that_has_the_rows_reads_them_and_no_other_does(engine: tuple[str, Place]) -> None:
    name, put = engine
    source = put(ROWS)
    assert study(source, engine=name).release(["count"], epsilon=10)["count"].value == pytest.approx(120, abs=20)
    for other in set(NAMES) - {name}:
        with pytest.raises(rt.SpecError, match="cannot read this source") as refused:
            study(source, engine=other)
        assert in_python(BROUGHT[other]) in str(refused.value)
        assert "leave the name out" in str(refused.value)
        assert "Nothing was read." in str(refused.value)


@pytest.mark.wide
def test_a_limit_that_an_engine_does_not_keep_is_refused_before_the_charge(engine: tuple[str, Place]) -> None:
    _name, put = engine
    opened = study(put(ROWS))
    asked: dict[str, str | int] = {"memory": "1GB", "spill": "1GB", "threads": 1}
    for word, limit in asked.items():
        if word in KEPT[engine[0]]:
            assert opened.release(["count"], epsilon=1, limits={word: limit}).answers
            continue
        spent = opened.ledger.spent()
        with pytest.raises(rt.SpecError, match=rf"engine: {word} is a limit of rows that are read here"):
            opened.release(["count"], epsilon=1, limits={word: limit})
        assert opened.ledger.spent() == spent


def test_the_time_ends_on_every_engine_in_the_one_opaque_fault(
    engine: tuple[str, Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each engine is given a statement that would take hours, in the place of the release's own."""
    name, put = engine
    opened, seconds = study(put(ROWS)), 8 if name == "spark" else 0.4
    opened.release(["count"], epsilon=1, limits={"timeout": 600})  # the engine has passed its test from here on
    slow = {
        "duckdb": "SELECT sum(a.range * b.range % 7) FROM range(10000000) a, range(10000000) b",
        "postgres": "SELECT pg_sleep(3600)",
        "spark": "SELECT sum(a.id * b.id % 7) FROM range(10000000) a CROSS JOIN range(10000000) b",
    }[name]
    with opened._table()._engine.session(Limits()) as session:
        kind = type(session)
    rows, arrow = kind.rows, kind.arrow
    monkeypatch.setattr(kind, "rows", lambda self, _: rows(self, slow))
    monkeypatch.setattr(kind, "arrow", lambda self, _: arrow(self, slow))
    begun = time.monotonic()
    with pytest.raises(rt.Fault) as fault:
        opened.release(["count"], epsilon=1, limits={"timeout": seconds})
    assert time.monotonic() - begun < 60
    assert str(fault.value) == str(rt.Fault(fault.value.reference, fault.value.charged))
    assert opened.ledger.spent() == eps(2)
    monkeypatch.undo()
    assert opened.release(["count"], epsilon=1, limits={"timeout": 600})["count"].value == pytest.approx(120, abs=60)


def test_a_run_in_its_time_gives_what_one_without_an_end_gives(engine: tuple[str, Place]) -> None:
    _, put = engine
    asked: list[Query] = [Rows(), PresentValues("x"), Records(("x",), (Fraction(1),))]
    schema, source = Schema({"x": real(0, 9)}, Person("add_remove", "who", rows=2)), put(ROWS)
    free = open_table(source, schema).run(asked, KEY)
    timed = open_table(source, schema, limits=Limits(timeout=600)).run(asked, KEY)
    assert [one.vectors for one in free] == [one.vectors for one in timed]
    found, again = free[2].records, timed[2].records
    assert found is not None
    assert again is not None
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, again.tolist()))


def test_time_that_is_over_before_the_engine_is_there_reads_no_row(engine: tuple[str, Place]) -> None:
    _, put = engine
    schema = Schema({"x": real(0, 9)}, Person("add_remove", "who", rows=2))
    table = open_table(put(ROWS), schema, limits=Limits(timeout=1e-9))
    with pytest.raises(EngineFailure):
        table.run([Rows()], KEY)
    assert threading.active_count() < 40


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("postgresql", "Did you mean postgres"),
        ("polars", "Known: duckdb, postgres, spark"),
        ({"name": 7}, "text in quotes"),
        ({"memory": 4}, "memory must be text"),
        ({"memory": "four"}, "memory must be a size"),
        ({"cores": 4}, "unknown key 'cores'"),
        ({"timeout": 4}, "unknown key 'timeout'"),
    ],
)
def test_words_that_are_none_are_refused(given: Any, words: str) -> None:
    with pytest.raises(rt.Refusal, match=words):
        read_engine(given, Path("/"))
    with pytest.raises(rt.Refusal, match=words):
        study(ROWS, engine=given)


def test_the_words_of_a_study_and_of_a_release_come_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    given, made = list[Limits](), Table.__init__

    def seen(self: Table, source: Any, schema: Schema, limits: Limits, *more: Any, **named: Any) -> None:
        given.append(limits)
        made(self, source, schema, limits, *more, **named)

    monkeypatch.setattr(Table, "__init__", seen)
    opened = study(ROWS, engine={"name": "duckdb", "memory": "300MB", "threads": 1})
    opened.release(["count"], epsilon=1, limits={"memory": "400MB", "timeout": 60})
    assert given[0] == Limits("400MB", threads=1, timeout=60)
    assert limited(Limits("1GB"), {"threads": 2}) == Limits("1GB", threads=2)
    with pytest.raises(rt.SpecError, match=r"unknown key .memry."):
        opened.release(["count"], epsilon=1, limits={"memry": "400MB"})


STUDY = """
[study]
title = "t"
source = "rows.{ending}"
ledger = "t.ledger"
[person]
adjacency = "add_remove"
rows = "one_each"
[budget]
epsilon = "2"
[engine]
name = "{name}"
[columns.x]
kind = "integer"
low = 0
high = 9
"""


@pytest.mark.parametrize(("name", "words"), [("postgres", "Load the rows there"), ("spark", "Write the rows as")])
def test_a_study_file_names_its_engine(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "rows.csv").write_text("x\n" + "1\n5\n9\n" * 40)
    (tmp_path / "s.toml").write_text(STUDY.format(ending="csv", name=name))
    with pytest.raises(rt.SpecError, match=words):
        rt.open(tmp_path / "s.toml")
    (tmp_path / "s.toml").write_text(STUDY.format(ending="csv", name="duckdb"))
    assert rt.open(tmp_path / "s.toml").release(["count"], epsilon="0.5").answers


@pytest.mark.parametrize(
    ("place", "name", "words"),
    [
        ("postgresql:///d?table=a.b", "duckdb", "stay with postgres"),
        ("spark:a.b.c", "duckdb", "stay with spark"),
        ("spark:a.b.c", "postgres", "stay with spark"),
        ("/rows.csv", "spark", "as .parquet"),
        ("/rows.parquet", "postgres", "Load the rows there"),
    ],
)
def test_a_place_tells_which_engine_cannot_read_it(place: str, name: str, words: str) -> None:
    with pytest.raises(rt.SpecError, match=words):
        check_place(place, name)


def test_every_engine_reads_some_place() -> None:
    for place, name in {"postgresql:///d?table=a.b": "postgres", "spark:a.b.c": "spark", "r.csv": "duckdb"}.items():
        check_place(place, name)
        check_place(place, "")
    check_place("r.parquet", "spark")


def test_a_server_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    psycopg, given = pytest.importorskip("psycopg"), list[dict[str, object]]()

    def refuse(conninfo: str, **named: object) -> None:
        given.append(named)
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", refuse)
    for url in ("postgresql://h/d", "postgresql://h/d?connect_timeout=60"):
        with pytest.raises(rt.SpecError, match="cannot be reached"), connect(url):
            pass
    assert [one.get("connect_timeout") for one in given] == [10, None]
    assert given[0]["tcp_user_timeout"] == 30_000


# --- Parquet in Spark -------------------------------------------------------------------------------------------------


@needs_spark
@pytest.mark.wide
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_spark_reads_parquet_files_as_duckdb_does_and_refuses_those_it_would_leave_out(
    tmp_path: Path,
) -> None:
    started()
    for part in range(3):
        rows = {"x": [part, 5, None], "who": [f"p{part}", "q", None]}
        pq.write_table(pa.table(rows), tmp_path / f"part{part}.parquet")
    schema = Schema({"x": integer(0, 9)}, Person("add_remove", "who", rows=2))
    asked: list[Query] = [Rows(), PresentValues("x"), Ranks("x")]
    found = [
        [
            (one.vectors, [(ranks.cells.tolist(), ranks.counts.tolist()) for ranks in one.ranks])
            for one in open_table(tmp_path / "*.parquet", schema, engine=name).run(asked, KEY)
        ]
        for name in ("spark", "duckdb")
    ]
    assert found[0] == found[1]
    (tmp_path / "part2.parquet").rename(tmp_path / "_part2.parquet")
    with pytest.raises(rt.SpecError, match="leaves out a file"):
        open_source(tmp_path / "*.parquet", schema, engine="spark")
    (tmp_path / "_part2.parquet").unlink()
    pq.write_table(pa.table({"x": ["1"], "who": ["a"]}), tmp_path / "part2.parquet")
    with pytest.raises(rt.SpecError, match="differ in their columns"):
        open_source(tmp_path / "*.parquet", schema, engine="spark")
