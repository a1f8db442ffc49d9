"""Tables in DuckDB and SQLite files: read as any other source is, by a name in the file, and by nothing else."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import reticent as rt
from reticent.data.database_files import FileAddress, file_address, kind_of_database, of_pair
from reticent.data.format import is_there
from reticent.data.query import DistinctPersons, PresentValues, Query, Ranks, Rows
from reticent.data.schema import Person, Schema, category, integer, real
from reticent.data.source import identity_of, name_of, open_source
from reticent.data.table import open_table
from reticent.ledger.fingerprint import source_at
from tests.engines.test_against_reference import SECRET, columns, expected, persons, queries, random_rows, shown
from tests.support.cli_kit import run
from tests.support.ledger_kit import eps

KEY = bytes(32)
ROWS: dict[str, list[Any]] = {
    "who": [f"p{place // 2}" for place in range(120)],
    "x": [place % 10 for place in range(120)],
}
Make = Callable[[Path, Mapping[str, Sequence[Any]]], str]
TYPES = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN"}


def declared(cells: Sequence[Any]) -> str:
    return next((TYPES[type(cell)] for cell in cells if cell is not None), "VARCHAR")


def made(connection: Any, rows: Mapping[str, Sequence[Any]]) -> None:
    shape = ", ".join(f'"{name}" {declared(cells)}' for name, cells in rows.items())
    connection.execute(f"CREATE TABLE visits ({shape})")
    places = ", ".join("?" * len(rows))
    if cells := list(zip(*rows.values(), strict=True)):
        connection.executemany(f"INSERT INTO visits VALUES ({places})", cells)


def in_duckdb(folder: Path, rows: Mapping[str, Sequence[Any]] = ROWS) -> str:
    import duckdb

    connection = duckdb.connect(str(folder / "clinic.duckdb"))
    made(connection, rows)
    connection.close()
    return f"duckdb:///{folder}/clinic.duckdb?table=visits"


def in_sqlite(folder: Path, rows: Mapping[str, Sequence[Any]] = ROWS) -> str:
    connection = sqlite3.connect(folder / "clinic.db")
    made(connection, rows)
    connection.commit()
    connection.close()
    return f"sqlite:///{folder}/clinic.db?table=visits"


EVERY = pytest.mark.parametrize("make", [in_duckdb, in_sqlite])


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def study(source: Any, **more: Any) -> rt.Study:
    return rt.study(
        source, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, person="who", rows_each=2, budget=9, **more
    )


@pytest.mark.wide
@EVERY
def test_a_table_of_a_file_gives_what_the_reference_gives(make: Make, tmp_path: Path) -> None:
    rows = random_rows(random.Random(7), 60)
    told = {name: [row[name] for row in rows] for name in rows[0]}
    if make is in_sqlite:  # it knows no truth values, and has their words as texts
        told = {
            name: [str(cell).lower() if isinstance(cell, bool) else cell for cell in cells]
            for name, cells in told.items()
        }
    url = make(tmp_path, told)
    asked, schema = queries()[::9], Schema(columns(), persons()[1])
    assert shown(open_table(url, schema).run(asked, SECRET)) == expected(schema, rows, asked)


@EVERY
def test_a_study_is_charged_for_its_file_by_any_spelling_of_it(make: Make, tmp_path: Path) -> None:
    url = make(tmp_path, ROWS)
    opened = study(url, ledger=tmp_path / "one.ledger")
    answer = opened.release(["count"], epsilon=5)
    assert answer["count"].value == pytest.approx(120, abs=20)
    assert name_of(url) == "visits"
    assert Path(identity_of(url)) == file_address(url).file
    other = url.replace("visits", "main.visits") if make is in_duckdb else url
    with pytest.raises(rt.LedgerError, match="already under"):
        study(other, ledger=tmp_path / "two.ledger").release(["count"], epsilon=1)
    assert opened.ledger.spent() == eps(5)


@EVERY
def test_a_study_file_names_a_table_beside_it(make: Make, tmp_path: Path) -> None:
    url = make(tmp_path, ROWS).replace(f"{tmp_path}/", "")
    (tmp_path / "s.toml").write_text(
        f'[study]\ntitle = "t"\nsource = "{url}"\nledger = "t.ledger"\n[person]\ncolumn = "who"\n'
        'adjacency = "add_remove"\nrows = { at_most = 2 }\n[budget]\nepsilon = "2"\n'
        '[columns.x]\nkind = "integer"\nlow = 0\nhigh = 9\n[[release]]\nname = "r"\nepsilon = "1"\nask = ["count"]\n'
    )
    assert file_address(rt.open(tmp_path / "s.toml").spec.source).file.parent == tmp_path
    assert run("check", str(tmp_path / "s.toml")).code == 0
    assert run("doctor", str(tmp_path / "s.toml")).code == 0
    out = ("--out", str(tmp_path / "out"), "--yes")
    assert run("release", str(tmp_path / "s.toml"), *out).code == 0


@EVERY
def test_init_writes_names_and_types_and_reads_no_row(make: Make, tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {**ROWS, "size": [0.5] * 120}
    url = make(tmp_path, rows)
    file, target = file_address(url).file, tmp_path / "study.toml"
    unnamed = run("init", str(file), "--out", str(target))
    assert unnamed.code != 0
    assert "Name a table: --table NAME" in unnamed.err
    assert run("init", str(file), "--table", "none", "--out", str(target)).code == 5
    assert not target.exists()
    for given in ((str(file), "--table", "visits"), (url,)):
        assert run("init", *given, "--out", str(target)).code == 0
        text = target.read_text()
        assert f'source = "{file_address(url).kind}:///{file.name}?table=visits"' in text
        assert '[columns.x]\nkind = "integer"\n# low' in text
        assert '[columns.size]\nkind = "real"\n# low' in text
        assert "p59" not in text
        target.unlink()


def test_any_cell_of_sqlite_is_read_or_missing(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "odd.db")
    connection.execute("CREATE TABLE visits (x INTEGER, g TEXT)")
    cells: list[Any] = [1, "2", 3.0, "four", None, b"\x01", 5.5, 2**62, "", float("inf")]
    connection.executemany("INSERT INTO visits VALUES (?, 'a')", [(cell,) for cell in cells])
    connection.execute("INSERT INTO visits VALUES (7, CAST(x'ff' AS TEXT))")
    connection.commit()
    connection.close()
    url = f"sqlite:///{tmp_path}/odd.db?table=visits"
    schema = Schema({"x": real(0, 9), "g": category(["a"])}, Person("add_remove"))
    asked: list[Query] = [Rows(), PresentValues("x"), PresentValues("g"), Ranks("x")]
    whole, x, g, _ = open_table(url, schema).run(asked, KEY)
    assert (whole.vectors, x.vectors, g.vectors) == (((11,),), ((7,),), ((10,),))


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("", [10**17, 1e17, "100000000000000000"]),
        ("TEXT COLLATE NOCASE", ["Ann", "ann", "ANN"]),
        ("TEXT COLLATE RTRIM", ["Ann", "Ann ", "Ann  "]),
        ("COLLATE NOCASE", [12, 12.0, "12"]),
    ],
)
def test_cells_that_are_equal_in_sqlite_are_one_person(kind: str, names: list[Any], tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute(f"CREATE TABLE t (who {kind}, x INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(name, nth) for nth, name in enumerate([*names, "bea"])])
        connection.execute("CREATE VIEW v AS SELECT * FROM t WHERE 'a' || x COLLATE NOCASE <> 'b' COLLATE RTRIM")
        connection.execute("CREATE VIEW exact AS SELECT who COLLATE BINARY AS who, x FROM t")
    schema = Schema({"x": integer(0, 9)}, Person("add_remove", "who", rows=1))

    def counted(table: str) -> int:
        url = f"sqlite:///{tmp_path}/t.sqlite?table={table}"
        (persons,) = open_table(url, schema).run([DistinctPersons()], SECRET)
        return persons.vectors[0][0]

    assert [counted("t"), counted("v")] == [2, 2]
    assert counted("exact") == (4 if kind.startswith("TEXT") else 2)


def test_persons_of_an_unknown_collation_are_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.create_collation("sound", lambda one, other: 0)
        connection.execute("CREATE TABLE t (who TEXT COLLATE sound, x INTEGER COLLATE sound)")
    for person, words in (("who", "column who has a collation that can take different texts for equal"), (None, "")):
        schema = Schema({"x": integer(0, 9)}, Person("add_remove", person))
        if words:
            with pytest.raises(rt.SpecError, match=words):
                open_table(f"sqlite:///{tmp_path}/t.sqlite?table=t", schema)
        else:
            open_table(f"sqlite:///{tmp_path}/t.sqlite?table=t", schema)


@pytest.mark.parametrize("kept", ["file", "relation"])
def test_persons_that_duckdb_compares_by_a_collation_are_refused(kept: str, tmp_path: Path) -> None:
    import duckdb

    connection = duckdb.connect(tmp_path / "t.duckdb")
    long = "w" * 128
    columns = f"who TEXT COLLATE NOCASE, plain TEXT, two TEXT COLLATE NOACCENT.NOCASE, {long} TEXT COLLATE NOCASE"
    connection.execute(f"CREATE TABLE t ({columns}, n INT)")
    connection.execute("INSERT INTO t VALUES ('Ann', 'Ann', 'é', 'A', 1), ('ann', 'ann', 'e', 'a', 1)")
    connection.execute("CREATE VIEW v AS SELECT who COLLATE C AS who, lower(who) AS plain, two, n FROM t")
    connection.execute("CREATE TABLE alike AS SELECT 'patient-' || who COLLATE NOCASE AS who, 1 AS n FROM t")
    connection.execute("CREATE TABLE one AS SELECT * FROM t WHERE who COLLATE C = 'Ann'")
    connection.execute("CREATE TABLE same AS SELECT 'Ann' AS who, 1 AS n FROM t")
    connection.execute("SET arrow_large_buffer_size = true")  # Arrow then has another type for a text
    tables: dict[str, Any] = {name: connection.table(name) for name in ("t", "v", "alike", "one", "same")}
    if kept == "file":
        connection.close()
        tables = {name: f"duckdb:///{tmp_path}/t.duckdb?table={name}" for name in tables}

    def persons(table: str, who: str) -> int:
        schema = Schema({"n": integer(0, 9)}, Person("add_remove", who, rows=1))
        return open_table(tables[table], schema).run([DistinctPersons()], SECRET)[0].vectors[0][0]

    for table, who in (("t", "who"), ("t", "two"), ("t", long), ("v", "two"), ("alike", "who"), ("one", "who")):
        with pytest.raises(rt.SpecError, match=f"column {who} has a collation .* with COLLATE C, if they are not"):
            persons(table, who)
    assert [persons("t", "plain"), persons("v", "who"), persons("same", "who")] == [2, 2, 1]
    open_table(tables["t"], Schema({"who": category(["Ann"])}, Person("add_remove")))


def test_nothing_in_a_duckdb_file_reaches_another_file(tmp_path: Path) -> None:
    import duckdb

    (tmp_path / "secret.csv").write_text("x,who\n1,a\n")
    url = in_duckdb(tmp_path)
    connection = duckdb.connect(str(tmp_path / "clinic.duckdb"))
    connection.execute(f"CREATE VIEW far AS SELECT * FROM '{tmp_path}/secret.csv'")
    connection.execute("CREATE VIEW near AS SELECT * FROM visits")
    connection.close()
    assert open_source(url.replace("=visits", "=near"), Schema({"x": integer(0, 9)}, Person("add_remove")))
    with pytest.raises(rt.SpecError, match="cannot be read") as refused:
        open_source(url.replace("=visits", "=far"), Schema({"x": integer(0, 9)}, Person("add_remove")))
    assert "secret" not in str(refused.value)


@EVERY
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("=visits", "=patients", "no table called patients"),
        ("?table=visits", "", "Name the file and the table"),
        ("?table=visits", "?table=a&table=b", "Name the file and the table"),
        ("clinic.d", "clinics.d", "There is no file"),
    ],
)
def test_what_is_not_there_is_refused_in_words(make: Make, tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(rt.SpecError, match=words):
        study(make(tmp_path, ROWS).replace(old, new))


@EVERY
def test_a_table_without_a_declared_column_is_refused(make: Make, tmp_path: Path) -> None:
    with pytest.raises(rt.SpecError, match="no column 'x'"):
        study(make(tmp_path, {"y": [1]}))


def test_a_file_of_another_kind_and_one_in_use_are_refused(tmp_path: Path) -> None:
    import duckdb

    url = in_duckdb(tmp_path)
    with pytest.raises(rt.SpecError, match="is no sqlite database"):
        study(url.replace("duckdb:", "sqlite:"))
    with pytest.raises(rt.SpecError, match="Name a table of it"):
        study(str(tmp_path / "clinic.duckdb"))
    writer = duckdb.connect(str(tmp_path / "clinic.duckdb"))
    with pytest.raises(rt.SpecError, match="close the connection that has it"):
        study(url)
    assert study((writer, "visits")).release(["count"], epsilon=5)["count"].value == pytest.approx(120, abs=20)
    with pytest.raises(rt.SpecError, match="has no table none"):
        study((writer, "none"))
    writer.close()
    assert kind_of_database(tmp_path / "none") == ""


def test_a_connection_of_sqlite_or_an_engine_of_sqlalchemy_names_its_file(tmp_path: Path) -> None:
    url = in_sqlite(tmp_path)
    connection = sqlite3.connect(tmp_path / "clinic.db")
    assert of_pair(connection, "visits") == FileAddress("sqlite", tmp_path / "clinic.db", "visits").url == url
    connection.close()
    memory = sqlite3.connect(":memory:")
    with pytest.raises(rt.SpecError, match="in memory"):
        of_pair(memory, "visits")
    memory.close()
    for kind, database in (("sqlite", str(tmp_path / "clinic.db")), ("duckdb", str(tmp_path / "c.duckdb"))):
        assert of_pair(engine(kind, database=database), "a.b").startswith(f"{kind}:///{tmp_path}/c")
    asked = engine("postgresql", username="reader", host="h", port=5433, database="d", query={"sslmode": "require"})
    assert of_pair(asked, "a.b") == "postgresql://reader@h:5433/d?table=a.b&sslmode=require"
    with pytest.raises(rt.SpecError, match="PGPASSWORD") as refused:
        of_pair(engine("postgresql", password="hidden", database="d"), "a.b")
    assert "hidden" not in str(refused.value)
    with pytest.raises(rt.SpecError, match="mysql is no database"):
        of_pair(engine("mysql"), "visits")


def engine(dialect: str, **url: Any) -> Any:
    """What is asked of an engine of SQLAlchemy, which is no dependency: its dialect and the parts of its URL."""
    parts = {"username": None, "password": None, "host": None, "port": None, "database": None, "query": {}, **url}
    kind = type("Engine", (SimpleNamespace,), {"__module__": "sqlalchemy.engine.base"})
    return kind(dialect=SimpleNamespace(name=dialect), url=SimpleNamespace(**parts))


def test_an_ibis_table_is_a_table_in_memory(tmp_path: Path) -> None:
    import ibis

    in_duckdb(tmp_path)
    connection = ibis.duckdb.connect(tmp_path / "clinic.duckdb", read_only=True)
    for source in (connection.table("visits"), (connection, "visits")):
        assert study(source).release(["count"], epsilon=5)["count"].value == pytest.approx(120, abs=20)
    connection.disconnect()


def test_a_changed_database_file_is_noticed(tmp_path: Path) -> None:
    url = in_sqlite(tmp_path)
    study(url, ledger=tmp_path / "one.ledger").release(["count"], epsilon=1)
    connection = sqlite3.connect(tmp_path / "clinic.db")
    connection.execute("INSERT INTO visits VALUES ('new', 1)")
    connection.commit()
    connection.close()
    with pytest.raises(rt.LedgerError, match="has changed since"):
        study(url, ledger=tmp_path / "one.ledger").release(["count"], epsilon=1)
    assert source_at(identity_of(url)) == tmp_path / "clinic.db"
    assert is_there(tmp_path / "clinic.db")
