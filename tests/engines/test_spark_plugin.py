"""A table that Spark reads through a catalog plugin, the way of Delta and Iceberg, by its three names.

The plugin is the one that Spark brings itself, for databases. Behind it stands Derby, which Spark brings too, in the
memory of the same Java. Delta and Iceberg themselves are tested nowhere: their libraries come from Maven alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest

import reticent as rt
from reticent.data.engines.spark import SparkTables
from reticent.data.query import DistinctPersons, Incomplete, Keys, Moments, PresentValues, Query, Records, Rows, Total
from reticent.data.schema import Column, Person, Schema, category, grid_by_width, integer, real
from reticent.data.source import identity_of
from reticent.data.table import EngineFailure, check_engine, open_table
from reticent.demo.spark_server import HERE
from reticent.errors import LedgerError, SpecError
from reticent.ledger.claim_file import DatabaseTable
from reticent.ledger.fingerprint import source_at
from tests.conventions.tree import ROOT
from tests.engines.test_against_reference import SECRET, shown
from tests.support.spark_kit import MEMORY, UNHEARD, frame, needs_spark, plugged, started

CAP: Final = 2
PLACE: Final = "spark:clinic.records.visits"
ROWS: Final[Mapping[str, Any]] = {
    "patient": [i * i % 211 for i in range(300)],
    "age": [None if i % 50 == 7 else i * 7 % 90 for i in range(300)],
    "ward": [("north", "South", "south", None)[i * 5 % 11 % 4] for i in range(300)],
    "cost": [(i * 37 % 101) / 8 for i in range(300)],
}
# pyspark leaves the closing of its sockets to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def spark() -> Any:
    session = started()
    session.sql("CREATE NAMESPACE clinic.records")
    frame(session, ROWS).writeTo("clinic.records.visits").create()
    return session


@pytest.fixture
def rows(spark: Any) -> Iterator[Any]:
    """The session; a test leaves the rows as they are, and no view and nothing kept."""
    before = sorted(map(tuple, spark.table("clinic.records.visits").collect()), key=repr)
    yield spark
    assert sorted(map(tuple, spark.table("clinic.records.visits").collect()), key=repr) == before
    assert [row.tableName for row in spark.sql("SHOW TABLES IN clinic.records").collect()] == ["visits"]
    assert [found.name for found in spark.catalog.listTables()] == []
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


def schema() -> Schema:
    columns: dict[str, Column] = {"age": integer(0, 89), "ward": category(["north", "south"]), "cost": real(0, 10)}
    return Schema(columns, Person("add_remove", "patient", rows=CAP))


def queries() -> list[Query]:
    wards, grid = Keys("ward", ("north", "south"), 1), grid_by_width(Fraction(0), Fraction(10))
    return [
        Rows(),
        Rows(wards),
        DistinctPersons(wards),
        Incomplete(("age", "ward")),
        PresentValues("age"),
        Total("cost", grid, wards),
        Moments("cost", grid, 2, wards),
        Records(("age", "cost"), (Fraction(1), Fraction(1, 8))),
    ]


def test_a_ledger_knows_the_table_by_its_three_names() -> None:
    assert source_at(identity_of(PLACE)) == DatabaseTable("spark://catalog", "clinic.records.visits")


@needs_spark
@pytest.mark.wide
def test_the_plugin_is_none_of_sparks_own(rows: Any) -> None:
    """Else this file would test what others test."""
    text = rows.table("clinic.records.visits")._jdf.queryExecution().optimizedPlan().toString()
    assert "RelationV2[" in text
    assert {one.name for one in rows.catalog.listCatalogs()} == {"clinic", "spark_catalog"}


@needs_spark
@pytest.mark.wide
def test_a_table_of_a_plugin_gives_what_the_same_rows_give_in_memory(rows: Any) -> None:
    there, here = open_table(PLACE, schema()), open_table(ROWS, schema())
    check_engine(there)
    assert shown(there.run(queries(), SECRET)) == shown(here.run(queries(), SECRET))


def study(ledger: Path, source: str = PLACE, **more: Any) -> rt.Study:
    """A study of the table, by its three names."""
    told: dict[str, Any] = {
        "columns": {"age": rt.integer(0, 89), "ward": rt.category(["north", "south"]), "cost": rt.real(0, 10)},
        "person": "patient",
        "rows_each": CAP,
    }
    return rt.study(
        source, adjacency="add_remove", budget=20, ledger=ledger, override="made-up rows", **{**told, **more}
    )


@needs_spark
@pytest.mark.wide
def test_a_release_is_charged_to_the_one_ledger_of_the_three_names(
    rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another ledger for them is refused."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = study(tmp_path / "visits.ledger")
    found = first.release([rt.count(), rt.mean("cost").by("ward")], epsilon=10)
    kept = sum(min(CAP, many) for many in Counter(ROWS["patient"]).values())
    assert abs(found["count"].value - kept) < 60 < kept / 2
    assert "patient" not in str(found.certificate)
    with pytest.raises(LedgerError, match="already under"):
        study(tmp_path / "another.ledger")
    assert not (tmp_path / "another.ledger").exists()


@needs_spark
@pytest.mark.wide
@pytest.mark.parametrize(
    ("source", "more", "words"),
    [
        ("spark:clinic.records.visit", {}, "Spark has no table clinic.records.visit"),
        ("spark:clinics.records.visits", {}, "Spark has no table"),
        ("spark:clinic.records.VISITS", {}, "Spark has no table"),  # a plugin tells capitals from small letters
        (PLACE, {"columns": {"sage": rt.integer(0, 89)}}, "no column 'sage'"),
        (PLACE, {"person": "cost"}, "column cost holds double"),
    ],
)
def test_what_cannot_be_asked_of_the_table_is_refused_before_a_ledger_is_made(
    rows: Any, tmp_path: Path, source: str, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpecError, match=words):
        study(tmp_path / "visits.ledger", source, **more)
    assert not (tmp_path / "visits.ledger").exists()


@needs_spark
@pytest.mark.wide
def test_rows_that_change_while_they_are_read_end_in_a_fault_and_are_not_mixed(
    rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row is added after the first statement, so what the second one would find is of another table."""
    frame(rows, ROWS).writeTo("clinic.records.moving").create()
    told: list[str] = []
    opened = open_table("spark:clinic.records.moving", schema(), log=lambda _, words: told.append(words))
    read = SparkTables.rows
    added: list[Any] = []

    def adding(self: SparkTables, statement: str) -> list[tuple[Any, ...]]:
        found = read(self, statement)
        if not added:
            added.append(rows.sql("INSERT INTO clinic.records.moving VALUES (-1, 5, 'north', 2.5)"))
        return found

    monkeypatch.setattr(SparkTables, "rows", adding)
    try:
        with pytest.raises(EngineFailure):
            opened.run([PresentValues("age")], SECRET)
    finally:
        rows.sql("DROP TABLE clinic.records.moving")
    assert "the source changed while it was read" in told[0]


@needs_spark
@pytest.mark.audit
def test_the_command_line_publishes_from_a_plugin_that_the_configuration_names(rows: Any, tmp_path: Path) -> None:
    """By ``spark-defaults.conf`` alone, in a Java of its own, from a copy of the database in a folder.

    In the second tier the demonstration publishes a table of a server so, and Python one of the plugin.
    """
    copied = rows._jvm.java.sql.DriverManager.getConnection(MEMORY).createStatement()
    copied.execute(f"CALL SYSCS_UTIL.SYSCS_BACKUP_DATABASE('{tmp_path}')")
    told = {
        "spark.master": "local[2]",
        "spark.driver.bindAddress": HERE,
        "spark.driver.host": HERE,
        "spark.driver.extraJavaOptions": UNHEARD,
        "spark.sql.shuffle.partitions": "2",
        **plugged(f"jdbc:derby:{tmp_path}/clinic"),
    }
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in told.items()), "utf-8")
    (tmp_path / "visits.toml").write_text(STUDY, "utf-8")
    env = {**os.environ, "SPARK_CONF_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    asked = [sys.executable, "-m", "reticent", "release", "visits.toml", "--yes"]
    done = subprocess.run(
        asked, cwd=tmp_path, env={**env, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "people.json").exists()


STUDY: Final = """
[study]
source = "spark:clinic.records.visits"
ledger = "visits.ledger"

[person]
adjacency = "add_remove"
column = "patient"
rows = { at_most = 2 }

[budget]
epsilon = "3"

[columns.ward]
kind = "category"
among = ["north", "south"]

[[release]]
name = "people"
epsilon = "2"
ask = ["count"]
"""


@needs_spark
@pytest.mark.wide
def test_a_session_of_our_own_says_nothing_and_leaves_no_folder(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    asked = [sys.executable, "-m", "reticent", "init", "spark:spark_catalog.default.nosuch"]
    told = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == 5
    assert " ".join(told.stderr.split()).startswith("Spark has no table spark_catalog.default.nosuch")
    assert not any(word in told.stderr for word in ("WARN", "log4j"))
    assert list(tmp_path.iterdir()) == []
