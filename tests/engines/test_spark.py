"""Spark gives what the reference gives, whatever its session is set to, and keeps nothing.

All but the tests of texts start a JVM, so they are wide. One session serves this file; masters, workers and Connect
servers are processes of their own.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent import calendar, demo
from reticent.data import query_compiler
from reticent.data.columns import Storage
from reticent.data.engines.engine import ColumnsInPlace
from reticent.data.engines.spark import CALLED, FUNCTIONS, TESTED, Spark, SparkTables
from reticent.data.engines.spark_sql import SPACE, SparkDialect, java_pattern
from reticent.data.file_kinds import stem_of
from reticent.data.files import NO_FOLDER
from reticent.data.format import Limits, is_spark, spark_name
from reticent.data.order_statistics import ABSENT
from reticent.data.query import DistinctPersons, Incomplete, Keys, PresentValues, Query, Records, Rows, Tally
from reticent.data.query_compiler import columns_of
from reticent.data.schema import Integer, Person, Schema, category, integer, real
from reticent.data.source import identity_of, name_of
from reticent.data.spark_table import open_frame
from reticent.data.table import EngineFailure, Table, check_engine, open_table
from reticent.demo.spark_server import cluster, connect_server
from reticent.errors import Refusal, SpecError
from reticent.ledger.claim_file import DatabaseTable
from reticent.ledger.fingerprint import source_at
from tests.conventions.tree import ROOT
from tests.engines import test_expressions, test_moments
from tests.engines.test_against_reference import SECRET, arrays, columns, expected, persons, queries, random_rows, shown
from tests.engines.test_plan_operations import expressions
from tests.engines.test_zones import ZONED
from tests.support import date_texts
from tests.support.data_reference import Reference, Row
from tests.support.date_texts import DATES, SPELT
from tests.support.number_texts import FORMATS, SENT, meant, read_by, schema_of
from tests.support.spark_kit import COMPILED, LENIENT, PERSON, asked, frame, needs_spark, started, table

KEY = bytes(32)
# pyspark leaves the closing of its sockets to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("part", range(24))
def test_no_statement_holds_a_backslash_or_a_name_of_the_sessions_own(part: int) -> None:
    """Sessions differ in how they read a backslash, and a view called ``base`` may be somebody's."""
    for expression in expressions(part, of=24):
        text = SparkDialect().write(expression)
        assert "\\" not in text
        named = set(re.findall(r"(?:WITH|,) `(\w+)` AS \(", text))  # by the statement itself, before any view
        assert {name for name in re.findall(r"FROM `(\w+)`", text) if not name.startswith(SPACE)} <= named


def test_the_engine_trims_spaces_and_no_letters() -> None:
    schema = Schema({"x": real()}, Person("add_remove"))
    text = SparkDialect().write(query_compiler.cells(schema, ["x"], {"x": "text"}))
    assert b" \t\n\r\v\f".hex() in text.lower()


def test_patterns_end_at_the_end_of_a_text() -> None:
    assert java_pattern("^[0-9]$") == r"^[0-9]\z"
    assert java_pattern(r"^a\$") == r"^a\$"
    assert java_pattern("[[:cntrl:]x]") == r"[\p{Cntrl}x]"


def test_every_storage_can_be_written_without_a_connection() -> None:
    for storage in get_args(Storage):
        schema = Schema({"x": real(0, 1), "g": category(["a'\\"])}, PERSON)
        query_compiler.statements([Rows()], schema, {"x": storage, "who": storage, "g": storage}, KEY, SparkDialect())


def test_a_dataframe_is_known_by_its_type_and_asked_nothing() -> None:
    assert not is_spark({"x": [1]})
    assert not is_spark(pa.table({"x": [1]}))


def test_a_table_of_a_catalog_has_one_whole_name_and_one_ledger() -> None:
    assert name_of("spark:Cat.main.Visits") == "Cat.main.Visits"
    assert stem_of("spark:cat.main.visits") == "visits"
    one, other = (source_at(identity_of(place)) for place in ("spark:Cat.main.Visits", "spark:cat.MAIN.visits"))
    assert one == other == DatabaseTable("spark://catalog", "cat.main.visits")
    for short in ("spark:visits", "spark:main.visits", "spark:a.b.c.d", "spark:a.`b`.c", "spark:a.b.c; DROP"):
        with pytest.raises(SpecError, match="Write the whole name"):
            spark_name(short)


# --- one session ------------------------------------------------------------------------------------------------------


@pytest.fixture
def spark() -> Any:
    return started()


@pytest.fixture
def clean(spark: Any) -> Iterator[Any]:
    """The session, in which a test leaves no view and nothing in memory."""
    yield spark
    assert [found.name for found in spark.catalog.listTables()] == []
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


def run(spark: Any, rows: list[Row], schema: Schema, queries_: list[Query]) -> list[object]:
    return shown(table(frame(spark, arrays(rows)), schema).run(queries_, SECRET))


@needs_spark
@pytest.mark.wide
@pytest.mark.loop(4)
@pytest.mark.parametrize("column", SPELT, ids=range(len(SPELT)))
def test_spark_reads_dates_of_every_spelling(clean: Any, column: Integer) -> None:
    cells = frame(clean, {"x": list(DATES)})
    assert date_texts.read_by(table(cells, date_texts.table_of(column))) == date_texts.meant(DATES, column)


@needs_spark
@pytest.mark.wide
def test_spark_reads_the_numbers_that_a_format_says(clean: Any) -> None:
    cells = frame(clean, {"x": list(SENT), "k": list(range(len(SENT)))})
    for form in FORMATS[-4:]:
        assert read_by(table(cells, schema_of(form)), len(SENT)) == meant(SENT, form)


@needs_spark
@pytest.mark.parametrize(
    "place", [pytest.param(place, marks=pytest.mark.wide if place < 1 else pytest.mark.audit) for place in range(8)]
)
def test_spark_gives_what_the_reference_gives(clean: Any, place: int) -> None:
    rows, schema = random_rows(random.Random(place), 60), Schema(columns(), persons()[place % 4])
    some = queries()[place::8]
    assert run(clean, rows, schema, some) == expected(schema, rows, some)


@needs_spark
@pytest.mark.wide
def test_a_table_without_rows_gives_zeros(clean: Any) -> None:
    rows, schema = random_rows(random.Random(3), 20), Schema(columns(), PERSON)
    nothing = frame(clean, arrays(rows)).limit(0)
    assert shown(table(nothing, schema).run(asked(), SECRET)) == expected(schema, [], asked())


@needs_spark
@pytest.mark.wide
@pytest.mark.parametrize("kind", ["left", "inner", "key"])
def test_further_tables_stand_beside_rows_in_spark_as_beside_rows_in_memory(clean: Any, kind: str) -> None:
    """Patients on the person, wards by a key, and accounts of people, in memory and as DataFrames of the session."""
    rows = {
        "who": [i % 40 for i in range(120)],
        "account": [i % 50 for i in range(120)],
        "x": [i % 8 for i in range(120)],
    }
    rows["ward"] = [i % 3 for i in range(120)]
    patients = {"who": list(range(30)), "age": [i * 7 % 90 for i in range(30)]}
    accounts = {"account": [*range(50), 3, 4], "who": [*(i % 37 for i in range(50)), 9, 9]}
    asked_: list[Query] = [Rows(), Rows(Keys("wards.beds", (4, 9), 2))]

    def found(hold: Callable[[Any], Any]) -> list[object]:
        given: dict[str, Any] = {"age": rt.integer(0, 99)}
        tables = {
            "patients": rt.table(hold(patients), columns=given, join="inner" if kind == "inner" else "left"),
            "wards": rt.table(hold({"ward": [0, 1], "beds": [4, 9]}), public=True, key="ward"),
        }
        if kind == "key":
            tables["accounts"] = rt.table(hold(accounts), key="account", rows_each={"keys": 1, "owners": 2})
        study = rt.study(
            hold(rows),
            person="accounts.who" if kind == "key" else "who",
            rows_each=2,
            adjacency="add_remove",
            budget=1,
            columns={"x": rt.real(0, 8)},
            tables=tables,
        )
        return shown(study._table().run(asked_, SECRET))

    assert found(lambda columns: frame(clean, columns)) == found(lambda columns: columns)


@needs_spark
@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("number", range(2))
def test_expressions_and_filters_give_what_they_mean(clean: Any, number: int) -> None:
    """Each level is kept: inlined, a filter of eleven levels took all memory there was."""
    plain, schema = [*test_expressions.views(11, 2)][number]
    rows = test_expressions.random_rows(random.Random(number), 40)
    some = test_expressions.queries(schema)
    found = table(frame(clean, test_expressions.as_table(rows)), plain).run(some, test_expressions.KEY, schema)
    reference = Reference(schema, rows, columns_of(some, schema), test_expressions.KEY, some)
    assert [one.vectors for one in found] == [reference.answer(query) for query in some]


def opener(spark: Any) -> Callable[[list[Row], Schema], Table]:
    """A function that opens made-up rows of expressions in this session."""
    return lambda rows, plain: table(frame(spark, test_expressions.as_table(rows)), plain)


@needs_spark
@pytest.mark.wide
def test_logarithms_and_roots_are_within_a_step_of_those_of_python(clean: Any) -> None:
    test_expressions.within_a_step(opener(clean))


@needs_spark
@pytest.mark.wide
def test_a_cell_depends_on_its_own_row_alone(clean: Any) -> None:
    """Logarithms and roots included: their last place may differ from Python's, and not from run to run."""
    test_expressions.alone(opener(clean))


def moments(spark: Any, cells: str, column: Integer) -> list[str | None]:
    """The cells of a column of Spark's own types as texts, in order of their integers."""
    schema = Schema({"x": column}, Person("add_remove"))
    (found,) = table(spark.sql(f"SELECT * FROM VALUES {cells} AS t(x)"), schema).run(
        [Records(("x",), (Fraction(1),))], KEY
    )
    assert found.records is not None
    assert column.calendar is not None
    step = column.calendar.step
    return [None if row[0] == ABSENT else calendar.text(row[0], step) for row in found.records.tolist()]


@needs_spark
@pytest.mark.wide
def test_times_of_every_type_are_the_same_in_any_zone_of_the_session(clean: Any) -> None:
    told = ["1969-12-31 23:59:59.999999", "2024-02-29 13:05:59", "2021-03-28 01:30:00"]
    naive = ", ".join(f"(TIMESTAMP_NTZ '{one}')" for one in told)
    aware = ", ".join(f"(TIMESTAMP_LTZ '{one}Z')" for one in told)
    minutes = ["1969-12-31T23:59", "2021-03-28T01:30", "2024-02-29T13:05"]
    assert moments(clean, f"{naive}, (NULL)", test_moments.MINUTE) == [None, *minutes]
    there = ["1970-01-01T00:59", "2021-03-28T03:30", "2024-02-29T14:05"]
    assert moments(clean, f"{aware}, (NULL)", test_moments.BERLIN) == [None, *there]
    days = "(DATE '1969-12-31'), (DATE '0001-01-01'), (NULL)"
    assert moments(clean, days, test_moments.DAY) == [None, "0001-01-01", "1969-12-31"]
    with pytest.raises(SpecError, match="times of a zone"):
        moments(clean, aware, test_moments.MINUTE)


@needs_spark
@pytest.mark.wide
def test_declared_time_zones_are_converted_as_in_python(clean: Any) -> None:
    cells = ", ".join(f"'' AS {name}" for name in ZONED)
    table(clean.sql(f"SELECT {cells}"), Schema(ZONED, Person("add_remove"))).probe_zones()


@needs_spark
@pytest.mark.wide
def test_names_types_and_texts_of_a_table_of_its_own(clean: Any) -> None:
    """Names that differ in capitals alone, a collation that does not tell them apart, bytes that are no text."""
    made = clean.sql(
        "SELECT CAST(x AS FLOAT) AS x, CAST(X2 AS TINYINT) AS X, g COLLATE UTF8_LCASE AS g "
        "FROM VALUES (1.5, 2, 'B'), (0.5, 3, 'b'), (NULL, NULL, CAST(unhex('ff') AS STRING)) AS t(x, X2, g)"
    )
    schema = Schema({"x": real(), "X": integer(), "g": category(["b"])}, Person("add_remove"))
    found = table(made, schema).run([Tally("g", among=("b",)), Incomplete(("g",)), Tally("X", among=(2, 3))], KEY)
    assert [one.vectors for one in found] == [((1,),), ((2,),), ((1, 1),)]
    cells = {"x": ["v", "f", "-inf", "inf ", "1\n", "9" * 400, "1e400", "1" + "0" * 70_000]}
    schema = Schema({"x": real()}, Person("add_remove"))
    here = open_table(cells, schema).run([Records(("x",), (Fraction(1),))], KEY)[0].records
    there = table(frame(clean, cells), schema).run([Records(("x",), (Fraction(1),))], KEY)[0].records
    assert here is not None
    assert there is not None
    assert here.tolist() == there.tolist()


@needs_spark
@pytest.mark.wide
def test_spark_reads_columns_that_folders_name_as_the_engine_for_files_does(clean: Any, tmp_path: Path) -> None:
    """Days are texts to both, and codes keep their zeros. Of a column that files hold too, Spark would read another."""
    for day, code, ages in (("2026-01-01", "01", [40, 50]), ("2026-01-02", "1", [60]), ("a%20b", NO_FOLDER, [70])):
        folder = tmp_path / f"day={day}" / f"code={code}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"age": ages}), folder / "a.parquet")
    schema = Schema(
        {"day": category(["2026-01-01", "a b"]), "code": category(["01", "1"]), "age": integer()},
        Person("add_remove"),
    )
    days, codes = ("2026-01-01", "a b"), ("01", "1")
    some: list[Query] = [Tally("day", among=days), Tally("code", among=codes), Incomplete(("code",))]
    pattern = tmp_path / "day=*" / "code=*" / "*.parquet"
    read = [open_table(pattern, schema, engine=engine).run(some, SECRET) for engine in ("spark", "duckdb")]
    assert shown(read[0]) == shown(read[1])
    assert [one.vectors for one in read[0]] == [((2, 1),), ((2, 1),), ((1,),)]
    pq.write_table(pa.table({"age": [1], "code": ["02"]}), tmp_path / "day=2026-01-01" / "code=01" / "b.parquet")
    with pytest.raises(SpecError, match="name column code, and its files hold it too"):
        open_table(pattern, Schema({"day": category(["a"])}, Person("add_remove")), engine="spark")


@needs_spark
@pytest.mark.wide
def test_doubles_and_texts_of_a_collation_are_no_names_of_persons(spark: Any) -> None:
    """Java writes 1e-5 as 1.0E-5, so texts of doubles would choose other rows than other engines do."""
    made = spark.sql("SELECT CAST(0.5 AS DOUBLE) AS who, CAST(1 AS DOUBLE) AS g")
    with pytest.raises(SpecError, match="column who holds double"):
        open_frame(made, Schema({"g": category([1, 2])}, Person("add_remove", "who")))
    told = spark.sql("SELECT 'Ann' COLLATE UTF8_LCASE AS who, 'Ann' COLLATE UTF8_BINARY AS plain, 1 AS g")
    with pytest.raises(SpecError, match=r"column who has a collation .* with COLLATE UTF8_BINARY, if they are not"):
        open_frame(told, Schema({"g": category([1, 2])}, Person("add_remove", "who")))
    open_frame(told, Schema({"g": category([1, 2]), "who": category(["Ann"])}, Person("add_remove", "plain")))
    with pytest.raises(SpecError, match="column g holds double"):
        open_frame(made, Schema({"g": category(["a"])}, Person("add_remove")))
    with pytest.raises(SpecError, match="no column 'h'"):
        open_frame(made, Schema({"h": real()}, Person("add_remove")))
    with pytest.raises(SpecError, match="column g holds"):
        open_frame(spark.sql("SELECT array(1) AS g"), Schema({"g": real()}, Person("add_remove")))


@needs_spark
@pytest.mark.wide
def test_a_function_in_place_of_a_built_in_one_is_refused_before_the_charge_and_sees_no_row(clean: Any) -> None:
    """One may be registered after the self-test, and would be called for every row."""
    session, schema = clean.newSession(), Schema({"x": real()}, Person("add_remove"))
    opened = table(frame(session, {"x": ["1.0"]}), schema)
    session.udf.register("of_nobody", str)
    assert Spark(session).replaced() == []
    session.udf.register("Floor", lambda cell: 77, "long")
    with pytest.raises(Refusal, match=r"in place of built-in ones: floor\. .* Nothing was charged"):
        check_engine(opened)
    session.udf.register("btrim", lambda cell, more: "7", "string")
    with pytest.raises(EngineFailure):
        opened.run([PresentValues("x")], KEY)


@needs_spark
@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("part", range(24))
def test_every_function_of_a_statement_is_looked_at_before_a_charge(part: int) -> None:
    words = {"cast", "try_cast", "decimal", "rand"}  # of the grammar, and of a sample that no answer depends on
    for expression in expressions(part, of=24):
        assert {name.lower() for name in CALLED.findall(SparkDialect().write(expression))} <= FUNCTIONS | words


@needs_spark
@pytest.mark.wide
def test_any_other_setting_of_the_session_asks_for_another_self_test(spark: Any) -> None:
    session, digest = spark.newSession(), "made-up"
    engine = Spark(session)
    for name, value in (LENIENT | COMPILED | {"spark.sql.session.timeZone": "Europe/Berlin"}).items():
        engine.note_tested(digest)
        assert engine.tested(digest)
        assert not engine.tested("another")
        session.conf.set(name, value)
        assert not engine.tested(digest)


@needs_spark
@pytest.mark.audit
@pytest.mark.parametrize("more", [{}, COMPILED], ids=["", "compiled"])
def test_settings_of_the_session_change_nothing_and_the_self_test_is_made_again(
    spark: Any, monkeypatch: pytest.MonkeyPatch, more: dict[str, str]
) -> None:
    """In the second tier the sessions of tests, of a cluster and of the demonstration differ in these settings."""
    session, rows, schema = spark.newSession(), random_rows(random.Random(9), 40), Schema(columns(), PERSON)
    check_engine(table(frame(spark, arrays(rows)), schema))
    session.conf.set(TESTED, spark.conf.get(TESTED))  # of a session with the same settings
    opened = table(frame(session, arrays(rows)), schema)
    runs: list[object] = []
    stored = SparkTables.store

    def counted(self: SparkTables, *told: Any, **more: Any) -> None:
        runs.append(told[0])
        stored(self, *told, **more)

    monkeypatch.setattr(SparkTables, "store", counted)
    check_engine(opened)
    assert not runs
    for name, value in (LENIENT | more).items():
        session.conf.set(name, value)
    check_engine(opened)
    check_engine(opened)
    assert len(runs) == 1
    assert shown(opened.run(asked(66), SECRET)) == expected(schema, rows, asked(66))


@needs_spark
@pytest.mark.audit
@pytest.mark.parametrize("fault", ["strip", "order"])
def test_an_engine_that_computes_otherwise_is_refused_before_the_charge(
    spark: Any, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Letters are trimmed as in what Ibis writes alone, or rows are kept in another order.

    In the second tier DuckDB and PostgreSQL are refused so, by the same test of made-up rows.
    """
    right = SparkDialect.write

    def wrong(self: SparkDialect, expression: Any) -> str:
        text = right(self, expression)
        if fault == "order":
            return text.replace("NULLS LAST", "NULLS FIRST")
        return text.replace("20090a0d0b0c", "200976660d0a")

    monkeypatch.setattr(SparkDialect, "write", wrong)
    query_compiler.forget()
    session = spark.newSession()
    try:
        with pytest.raises(Refusal, match="Spark, pyspark"):
            check_engine(table(frame(session, {"x": [1.0]}), Schema({"x": real()}, Person("add_remove"))))
    finally:
        query_compiler.forget()


@needs_spark
@pytest.mark.wide
def test_sums_of_64_bit_integers_are_exact_and_a_window_may_follow(clean: Any) -> None:
    values = [-(2**63), 2**63 - 1, 2**63 - 1, -1, 2**42, 2**21 - 1, -(2**21), 7, None]
    clean.createDataFrame(pa.table({"who": [i % 2 for i in range(9)], "x": values})).createOrReplaceTempView(
        f"{SPACE}rows"
    )
    rows = ibis.table({"who": "int64", "x": "int64"}, name="rows")
    whole = rows.x.cast("decimal(38,0)").sum()
    positive = rows.x.cast("decimal(38,0)").sum(where=rows.x > 0)
    of_person = rows.select("who", own=whole.over(group_by="who")).distinct()
    asked = rows.aggregate(whole=whole, positive=positive), of_person
    (sums,), held = (clean.sql(SparkDialect().write(each)).collect() for each in asked)
    clean.catalog.dropTempView(f"{SPACE}rows")
    known = [value for value in values if value is not None]
    assert [*sums] == [sum(known), sum(value for value in known if value > 0)]
    assert sorted(map(tuple, held)) == [
        (who, sum(value for value in values[who::2] if value is not None)) for who in (0, 1)
    ]


@needs_spark
@pytest.mark.wide
def test_rows_of_a_person_are_brought_together_once(clean: Any) -> None:
    """What follows is told by person and group: it sends sums through the cluster, and no rows."""
    made = clean.sql("SELECT id % 50 AS who, id % 3 AS k FROM range(600)")
    schema = Schema({"k": integer(0, 2)}, Person("add_remove", "who", rows=3))
    source, asked = open_frame(made, schema), [DistinctPersons(Keys("k", (0, 1, 2), 3))]
    told = query_compiler.statements(asked, schema, source.storage, KEY, SparkDialect())
    with source.engine.session(Limits()) as tables:
        tables.store(*told.first, ColumnsInPlace(source, {"c0": "k", "who": "who"}), steps=told.steps, light=told.light)
        by_group = tables._frame(f"SELECT c0, count(DISTINCT who) AS n FROM `{SPACE}typed` GROUP BY c0")
        text = by_group._jdf.queryExecution().executedPlan().toString()
        assert text.count("ENSURE_REQUIREMENTS") == 1
        assert {row.n for row in by_group.collect()} == {50}


@needs_spark
@pytest.mark.wide
def test_what_is_kept_has_as_few_parts_as_it_needs_and_the_setting_is_put_back(clean: Any) -> None:
    """A shuffle has 200 parts by default, and a task for each at every scan took six times the CPU of the run."""
    session = clean.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "200")
    session.conf.set("spark.sql.adaptive.enabled", "true")  # as by default
    before, kept = session.conf.getAll, list[int]()
    source = open_frame(
        session.sql("SELECT id % 50 AS who, id % 3 AS k FROM range(600)"), Schema({"k": integer(0, 2)}, PERSON)
    )
    told = query_compiler.statements(
        [Rows()], Schema({"k": integer(0, 2)}, PERSON), source.storage, KEY, SparkDialect()
    )
    with source.engine.session(Limits()) as tables:
        tables.store(*told.first, ColumnsInPlace(source, {"who": "who"}), steps=told.steps, light=told.light)
        kept += [held._jdf.queryExecution().toRdd().getNumPartitions() for held in tables._kept.values()]
    assert max(kept) < 10
    assert session.conf.getAll == before


@needs_spark
@pytest.mark.wide
def test_a_source_that_changes_while_it_is_read_fails_and_mixes_nothing(
    clean: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is read once; where it is lost and made again from other rows, the release is a fault."""
    made = clean.sql("SELECT CAST(id AS STRING) AS who, unix_micros(now()) AS x FROM range(50)")
    schema = Schema({"x": real()}, Person("add_remove", "who"))
    assert table(made, schema).run([PresentValues("x")], KEY)[0].vectors == ((50,),)
    rows = SparkTables.rows

    def losing(self: SparkTables, statement: str) -> list[tuple[Any, ...]]:
        found = rows(self, statement)
        for kept in self._kept.values():
            kept.unpersist(blocking=True)
        return found

    monkeypatch.setattr(SparkTables, "rows", losing)
    with pytest.raises(EngineFailure):
        table(made, schema).run([PresentValues("x")], KEY)


@needs_spark
@pytest.mark.wide
def test_a_run_is_interrupted_from_another_thread_and_leaves_nothing(clean: Any) -> None:
    made = clean.sql("SELECT a.id AS who, CAST(b.id AS STRING) AS x FROM range(30000) a CROSS JOIN range(30000) b")
    opened = table(made, Schema({"x": real()}, Person("add_remove", "who", rows=2)))

    def stop() -> None:
        while opened._running is None:
            time.sleep(0.1)
        time.sleep(2)
        opened.interrupt()

    stopping = threading.Thread(target=stop)
    stopping.start()
    with pytest.raises(EngineFailure):
        opened.run([Rows()], KEY)
    stopping.join()


@needs_spark
@pytest.mark.wide
def test_a_notebook_publishes_a_dataframe_and_no_row_reaches_it(clean: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    size, brought = 2_000, []
    made = clean.sql(
        f"SELECT id % 500 AS who, id % 90 AS age, CASE WHEN id % 3 = 0 THEN 'a' ELSE 'b' END AS ward FROM range({size})"
    )
    for name in ("rows", "arrow"):
        was = getattr(SparkTables, name)

        def watched(self: SparkTables, statement: str, was: Any = was) -> Any:
            found = was(self, statement)
            brought.append(len(found))
            return found

        monkeypatch.setattr(SparkTables, name, watched)
    study = rt.study(
        made,
        adjacency="add_remove",
        budget=20,
        columns={"age": rt.integer(0, 120), "ward": rt.category(["a", "b"])},
        person="who",
        rows_each=4,
        override="made-up rows",
    )
    found = study.release([rt.count(), rt.mean("age"), rt.mean("age").by("ward")], epsilon=10)
    assert abs(found["count"].value - size) < 60
    assert max(brought) <= 500 < size  # the probe's and the run's: numbers, never rows
    assert "who" not in str(found.certificate)


# --- servers ----------------------------------------------------------------------------------------------------------


def client(*arguments: str, **environment: str) -> str:
    told = [sys.executable, "-m", "tests.support.spark_kit", *arguments]
    env = {**os.environ, **environment, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    return subprocess.run(told, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A Connect server for several tests: a fresh one is slow at every statement."""
    with connect_server() as address:
        yield address


def wanted() -> str:
    rows = random_rows(random.Random(5), 60)
    return repr(expected(Schema(columns(), PERSON), rows, asked(66)))


@needs_spark
@pytest.mark.parametrize(
    "tested", [pytest.param([], marks=pytest.mark.wide), pytest.param(["tested"], marks=pytest.mark.audit)]
)
def test_a_master_with_two_workers_gives_what_the_reference_gives(tested: list[str]) -> None:
    with cluster(workers=2) as address:
        assert client(address, *tested).strip() == wanted()


@needs_spark
@pytest.mark.audit
def test_a_connect_server_gives_what_the_reference_gives(server: str) -> None:
    """The demonstration is published from a Connect server too, in the second tier."""
    assert client("", "tested", SPARK_REMOTE=server).strip() == wanted()


@needs_spark
@pytest.mark.audit
def test_a_table_of_a_catalog_is_published_by_the_command_line(server: str, tmp_path: Path) -> None:
    """The study file of the demonstration but for its source, with the server named by the environment."""
    folder = demo.prepare(tmp_path / "demo")
    write = (
        "import pyarrow.parquet as pq; from pyspark.sql import SparkSession; "
        "frame = SparkSession.builder.getOrCreate().createDataFrame(pq.read_table('randhie.parquet')); "
        "frame.write.saveAsTable('spark_catalog.default.rand')"
    )
    study = folder / "rand.toml"
    study.write_text(study.read_text("utf-8").replace("randhie.parquet", "spark:spark_catalog.default.rand"), "utf-8")
    env = {**os.environ, "SPARK_REMOTE": server, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", write], cwd=folder, env=env, check=True, capture_output=True)
    told = [sys.executable, "-m", "reticent", "release", "rand.toml", "--yes", "--epsilon", "1"]
    asked = [word for ask in ("mean(mdvis) by site", "median(disea)") for word in ("--ask", ask)]
    done = subprocess.run([*told, *asked], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "median(disea)" in done.stdout


@needs_spark
@pytest.mark.wide
def test_the_demonstration_runs_on_a_server_of_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reticent.demo.spark", str(tmp_path / "demo")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert '"spark:spark_catalog.' in (tmp_path / "demo" / "rand.toml").read_text("utf-8")
    assert (tmp_path / "demo" / "table4.json").exists()


def test_each_demonstration_is_a_source_of_its_own() -> None:
    from reticent.demo.spark import fresh_name

    assert fresh_name() != fresh_name()


def test_without_java_the_demonstration_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from reticent.demo import spark

    monkeypatch.setattr("shutil.which", lambda name: None)
    assert spark.main() == 2
    assert "apt-get install" in capsys.readouterr().err
