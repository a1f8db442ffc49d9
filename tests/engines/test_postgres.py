"""PostgreSQL gives what the reference gives, and what DuckDB gives, bit for bit; no cell makes it fail.

The database sorts texts as English does, so that a plan that leaned on the database's order would keep other rows.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data.database import address, open_database
from reticent.data.dates import date, datetime
from reticent.data.engines.postgres import Postgres
from reticent.data.engines.postgres_dialect import POSTGRES, definitions
from reticent.data.file_kinds import stem_of
from reticent.data.format import Limits
from reticent.data.order_statistics import ABSENT, LARGEST, RunLength
from reticent.data.query import (
    CappedPersons,
    DistinctPersons,
    KeyHolders,
    Keys,
    OrderedValues,
    PresentValues,
    Query,
    Ranks,
    Records,
    Rows,
    Tally,
)
from reticent.data.schema import Column, Person, Schema, Text, category, integer, real
from reticent.data.source import engine_of, identity_of, name_of, open_source
from reticent.data.table import EngineFailure, Table, check_engine, open_table
from reticent.errors import LedgerError, Refusal, SpecError
from tests.engines import test_exponents as exponents
from tests.engines import test_expressions as expressions
from tests.engines.test_against_reference import SECRET, columns, expected, persons, queries, random_rows, shown
from tests.engines.test_zones import ZONED
from tests.support import date_texts
from tests.support.data_reference import Row, number_of
from tests.support.date_texts import DATES, SPELT
from tests.support.number_texts import FORMATS, SENT, meant, read_by, schema_of
from tests.support.postgres_kit import READER, TYPES, Database, database, excused

pytestmark = pytest.mark.skipif(excused(), reason="no PostgreSQL is installed (Debian: postgresql)")


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with database() as started:
        yield started


STORAGE = {"who": "text", "word": "text", "town": "text", "flag": "truth", "whole_town": "text", "whole_flag": "truth"}
STORAGE |= dict.fromkeys(("x", "free", "stands", "whole_x"), "real")
STORAGE |= dict.fromkeys(("whole", "site", "code", "whole_site", "whole_k", "whole_code"), "whole")


def placed(db: Database, rows: list[Row]) -> str:
    names = list(STORAGE)
    kinds = {name: TYPES[STORAGE[name]] for name in names}  # type: ignore[index]
    return db.table(kinds, [[row[name] for name in names] for row in rows])


@pytest.mark.wide
@pytest.mark.loop(3)  # every query once
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("person", persons())
def test_rows_in_place_give_what_the_reference_gives(db: Database, person: Person, part: int) -> None:
    rows, asked = random_rows(random.Random(5), 60), queries()[part::3]
    schema = Schema(columns(), person)
    assert shown(open_table(placed(db, rows), schema).run(asked, SECRET)) == expected(schema, rows, asked)


@pytest.mark.wide
def test_some_queries_of_rows_in_place_give_what_the_reference_gives(db: Database) -> None:
    rows, asked = random_rows(random.Random(6), 60), queries()[::14]
    schema = Schema(columns(), persons()[1])
    assert shown(open_table(placed(db, rows), schema).run(asked, SECRET)) == expected(schema, rows, asked)


@pytest.mark.loop(2)
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.wide if seed < 4 else pytest.mark.audit) for seed in range(8)]
)
def test_random_plans_on_random_tables_agree(db: Database, seed: int) -> None:
    engine = Postgres(address(db.server.url(READER, "x")).conninfo)
    for number, (plain, schema) in enumerate(expressions.views(seed, 6)):
        rows = expressions.random_rows(random.Random(1000 * seed + number), 80)
        expressions.agree(plain, schema, rows, engine)


@pytest.mark.wide
def test_a_random_plan_agrees(db: Database) -> None:
    engine = Postgres(address(db.server.url(READER, "x")).conninfo)
    plain, schema = next(expressions.views(100, 1))
    expressions.agree(plain, schema, expressions.random_rows(random.Random(1), 60), engine)


def opener(db: Database) -> Callable[[list[Row], Schema], Table]:
    """A function that opens made-up rows of expressions in this database."""
    engine = Postgres(address(db.server.url(READER, "x")).conninfo)
    return lambda rows, plain: Table(
        open_source(expressions.as_table(rows), plain), plain, Limits(), None, engine=engine
    )


@pytest.mark.wide
def test_logarithms_and_roots_are_within_a_step_of_those_of_python(db: Database) -> None:
    expressions.within_a_step(opener(db))


@pytest.mark.wide
def test_a_cell_depends_on_its_own_row_alone(db: Database) -> None:
    """Logarithms and roots included: their last place may differ from Python's, and not from run to run."""
    expressions.alone(opener(db))


def test_a_table_without_rows_gives_zeros(db: Database) -> None:
    schema = Schema(columns(), persons()[2])
    asked = queries()[::30]
    assert shown(open_table(placed(db, []), schema).run(asked, SECRET)) == expected(schema, [], asked)


NUMBERS = """
    1e400 -1e400 1e-400 0e99999999999 1e99999999999999 -1e-99999999999999 1e+000000000000001 1.7976931348623157e308
    1.7976931348623159e308 2.4703282292062327e-324 2.4703282292062328e-324 5e-324 -0 0.0 .5 5. . + e5 1e 1e+ inf
    -Infinity +INF infinite nan NaN 0x10 1_000 １２ ٣ 1e5.5 --1 1,5 12abc 000000000000000000000000000000000012.50
"""


def odd_numbers(chance: random.Random) -> Iterator[str]:
    yield from NUMBERS.split()
    for _ in range(300):
        yield repr(struct.unpack("d", chance.randbytes(8))[0])
        yield "".join(chance.choice("0123456789.eE+-") for _ in range(chance.randrange(1, 12)))
        zeros, tail, power = chance.randrange(400), chance.randrange(10**9), chance.randrange(-700, 700)
        yield f"{chance.randrange(10**30)}.{'0' * zeros}{tail}e{power}"
    for x in (1.0, math.pi, 1e-5, 123456789.0):
        tie = Decimal(x) + (Decimal(math.nextafter(x, math.inf)) - Decimal(x)) / 2
        yield from (f"{tie:f}", f"{tie:f}" + "0" * 900 + "1")  # between two doubles, and just above
    yield from ("9" * 1500 + "." + "9" * 18000, "0." + "0" * 18000 + "1", "1" + "0" * 308 + ".5", "9" * 309)


def test_no_text_makes_a_cast_fail_and_each_is_the_nearest_double(db: Database) -> None:
    texts = list(odd_numbers(random.Random(4)))
    engine = Postgres(address(db.server.url(READER, "x")).conninfo)
    with engine.session(Limits()) as session:
        session._connection.execute("CREATE TEMP TABLE cells (place int, cell text)")
        with session._connection.cursor().copy("COPY cells FROM STDIN") as target:
            for row in enumerate(texts):
                target.write_row(row)
        found = session.rows("SELECT pg_temp.number(cell) FROM cells ORDER BY place")
    wanted = [number_of(text) for text in texts]
    assert [cell for (cell,) in found] == wanted


@pytest.mark.wide
def test_the_server_reads_the_numbers_that_each_format_says(db: Database) -> None:
    url = db.table({"x": "text", "k": "int"}, [(text, place) for place, text in enumerate(SENT)])
    for form in FORMATS:
        assert read_by(open_table(url, schema_of(form)), len(SENT)) == meant(SENT, form)


@pytest.mark.wide
def test_the_server_reads_dates_of_every_spelling(db: Database) -> None:
    url = db.table({"x": "text"}, [(text,) for text in DATES])
    for column in SPELT:
        assert date_texts.read_by(open_table(url, date_texts.table_of(column))) == date_texts.meant(DATES, column)


def doubles(chance: random.Random) -> float:
    match chance.randrange(3):
        case 0:
            return chance.choice(
                (0.0, -0.0, 5e-324, 2.0**-1022, 1.7976931348623157e308, 1.0, -1.0, math.inf, 2.0**1023)
            )
        case 1:
            found: float = struct.unpack("d", chance.randbytes(8))[0]
            return 1.0 if math.isnan(found) else found
        case _:
            return math.ldexp(chance.uniform(-1, 1), chance.choice((-1070, -540, -537, 0, 511, 1000, 1023)))


def test_arithmetic_is_total_and_rounds_as_ieee_says(db: Database) -> None:
    chance = random.Random(9)
    pairs = [(doubles(chance), doubles(chance)) for _ in range(1500)]
    for a, _ in list(pairs):
        for edge in (1.7976931348623157e308, 2.0**-1074):
            with np.errstate(all="ignore"):
                near = float(np.float64(edge) / np.float64(a))
            if math.isfinite(near) and near:
                pairs += [(a, math.nextafter(near, 0)), (a, near), (a, math.nextafter(near, math.inf))]
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    with np.errstate(all="ignore"):
        wanted = {"plus": left + right, "times": left * right, "over": left / right}
    engine = Postgres(address(db.server.url(READER, "x")).conninfo)
    with engine.session(Limits()) as session:
        session._connection.execute("CREATE TEMP TABLE pairs (place int, a float8, b float8)")
        with session._connection.cursor().copy("COPY pairs FROM STDIN") as target:
            for place, (a, b) in enumerate(pairs):
                target.write_row((place, a, b))
        for name, values in wanted.items():
            told = session.rows(f"SELECT pg_temp.{name}(a, b) FROM pairs ORDER BY place")
            found = np.array([math.nan if cell is None else cell for (cell,) in told])
            divided = right != 0 if name == "over" else np.full(len(right), True)  # a plan divides by no zero
            same = (found == values) | (np.isnan(found) & np.isnan(values))
            assert np.array_equal(same | ~divided, np.full(len(right), True))


@pytest.mark.wide
def test_random_arithmetic_never_fails_and_is_that_of_ieee(db: Database) -> None:
    """With the engine's own operations where exponents say that they are safe."""
    engine = Postgres(address(db.server.url(READER, "x")).conninfo)
    with engine.session(Limits()) as session:
        session._connection.execute("CREATE TEMP TABLE t (place int, x float8, n bigint)")
        with session._connection.cursor().copy("COPY t FROM STDIN") as target:
            for place, (x, n) in enumerate(zip(exponents.X.tolist(), exponents.N.tolist(), strict=True)):
                target.write_row((place, x, n))
        for expression, values in exponents.computed(60):
            told = session.rows(POSTGRES.write(exponents.ROWS.select("place", z=expression)))
            found = np.array([math.nan if cell is None else cell for _, cell in sorted(told)])
            same = (found == values) | ~np.isfinite(values)  # a plan divides by no zero
            assert same.all(), expression


def test_persons_of_a_collation_that_blurs_texts_are_refused(db: Database) -> None:
    db.run("CREATE COLLATION IF NOT EXISTS blurred (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    url = db.table(
        {"who": "text COLLATE blurred", "x": "integer", "g": "text COLLATE blurred"},
        [["a", 1, "a"], ["b", 1, "A"], ["c", 2, "A"]],
    )
    columns: dict[str, Column] = {"x": integer(0, 9), "g": category(["a", "A"])}
    (found,) = open_table(url, Schema(columns, Person("add_remove"))).run([Tally("g", among=("a", "A"))], SECRET)
    assert found.vectors == ((1, 2),)  # listed texts are compared by their letters
    with pytest.raises(SpecError, match="column who has a collation that can take different texts for equal"):
        open_table(url, Schema(columns, Person("add_remove", "who")))


@pytest.mark.parametrize(("kind", "names"), [("numeric", ["12", "12.00", "12.5"]), ("citext", ["a", "A", "b"])])
def test_cells_that_are_equal_in_the_database_are_one_person(db: Database, kind: str, names: list[str]) -> None:
    db.run("CREATE EXTENSION IF NOT EXISTS citext")
    url = db.table({"who": kind, "x": "integer"}, [[who, place] for place, who in enumerate(names)])
    schema = Schema({"x": integer(0, 9)}, Person("add_remove", "who", rows=1))
    persons, rows = open_table(url, schema).run([DistinctPersons(), Rows()], SECRET)
    assert (persons.vectors, rows.vectors) == (((2,),), ((2,),))


def test_every_type_of_a_column_is_read_and_no_cell_of_it_fails(db: Database) -> None:
    kinds = {
        "small": "smallint", "big": "bigint", "f": "real", "n": "numeric", "c": "char(6)", "v": "varchar(9)",
        "b": "boolean", "u": "uuid", "d": "date", "t": "timestamp", "z": "timestamptz", "l": "text",
    }  # fmt: skip
    one = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    moments = [
        ("2024-02-29", "2024-02-29 13:05:59.9", "2024-02-29 13:05:00+02"),
        ("infinity", "-infinity", "infinity"),
        ("0044-03-15 BC", "9999-12-31 23:59", "0001-01-01 00:00+00"),
    ]
    rows: list[list[object]] = [
        [1, 2**62, 0.5, "1.5", "Ab", "Ab", True, one, *moments[0], "long " * 40_000],
        [-3, -5, "NaN", "NaN", "ab    ", "ab", False, None, *moments[1], "ok"],
        [None, 2**53 + 1, "-Infinity", "Infinity", None, "", None, None, *moments[2], ""],
    ]
    url = db.table(kinds, rows)
    schema = Schema(
        {
            "small": integer(-9, 9), "big": integer(), "f": real(), "n": real(), "c": category(["Ab", "ab"]),
            "v": category(["Ab", "ab"]), "b": category([True, False]),
            "u": category([one]),
            "d": date("1900-01-01", "2100-12-31"), "t": datetime("1900-01-01", "2100-12-31", resolution="minute"),
            "z": datetime("1900-01-01", "2100-12-31", resolution="minute", zone="Europe/Berlin"),
        },
        Person("add_remove"),
        texts={"l": Text(8)},
    )  # fmt: skip
    assert dict(open_source(url, schema).storage)["n"] == "text"
    asked: list[Query] = [
        Records((name,), (Fraction(1),), (name,) if name in "cvbu" else ()) for name in schema.columns
    ]
    found = open_table(url, schema).run([*asked, KeyHolders("l", 1)], SECRET)
    shown_records = {
        name: sorted(map(tuple, result.records.tolist()))
        for name, result in zip(schema.columns, found, strict=False)
        if result.records is not None
    }
    assert shown_records["small"] == [(ABSENT,), (-3,), (1,)]
    assert shown_records["big"] == [(-5,), (2**53,), (LARGEST,)]
    assert shown_records["f"] == [(-LARGEST,), (ABSENT,), (0,)] or set(shown_records["f"]) == {
        (-LARGEST,),
        (ABSENT,),
        (0,),
    }
    assert set(shown_records["n"]) == {(1,), (ABSENT,), (LARGEST,)}
    assert shown_records["c"] == [(ABSENT,), (0,), (1,)]
    assert shown_records["v"] == [(ABSENT,), (0,), (1,)]
    assert shown_records["b"] == [(ABSENT,), (0,), (1,)]
    assert shown_records["u"] == [(ABSENT,), (ABSENT,), (0,)]
    assert (19_782,) in shown_records["d"]
    assert (19_782 * 1440 + 13 * 60 + 5,) in shown_records["t"]
    assert (19_782 * 1440 + 12 * 60 + 5,) in shown_records["z"]
    assert found[-1].holders == {"long lon": 1, "ok": 1}


def test_the_rows_that_are_kept_do_not_follow_the_order_of_the_database(db: Database) -> None:
    """Mixed-case texts, more rows than the cap: DuckDB, which sorts by bytes, keeps the same ones under every key."""
    rows = [
        (str(nth % 3), text)
        for nth, text in enumerate(["a", "B", "A", "b", "Aa", "aB", "AB", "ä", "Z", "z", "_", "é", "É"] * 3)
    ]
    url = db.table({"who": "text", "g": "text"}, rows)
    schema = Schema({"g": category(sorted({text for _, text in rows}))}, Person("add_remove", "who", rows=2))
    held = {"who": [who for who, _ in rows], "g": [text for _, text in rows]}
    asked: list[Query] = [Tally("g", among=tuple(sorted({text for _, text in rows})))]
    for key in range(4):
        secret = bytes([key] * 32)
        assert shown(open_table(url, schema).run(asked, secret)) == shown(open_table(held, schema).run(asked, secret))


def test_declared_time_zones_are_converted_as_in_python(db: Database) -> None:
    url = db.table(dict.fromkeys(ZONED, "text"), [])
    open_table(url, Schema(ZONED, Person("add_remove"))).probe_zones()


@pytest.mark.wide
def test_the_probe_passes_and_tells_an_engine_that_computes_something_else(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = db.table({"x": "float8"}, [[1.0]])
    table = open_table(url, Schema({"x": real(0, 1)}, Person("add_remove")))
    assert engine_of(table._open()) is not engine_of({})
    check_engine(table)
    from reticent.data.engines import postgres

    def broken() -> list[str]:
        return [text.replace("'Infinity'::float8", "1.0::float8") for text in made]

    made = definitions()
    monkeypatch.setattr(postgres, "definitions", broken)
    with pytest.raises(Refusal, match="Check the installed versions of the server, psycopg"):
        check_engine(table)


def test_statements_that_read_rows_are_read_only_and_of_one_state(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = db.table({"x": "float8"}, [[1.0]])
    relation = address(url).table
    said: list[tuple[str, str]] = []
    table = open_table(url, Schema({"x": real(0, 1)}, Person("add_remove")), log=lambda *entry: said.append(entry))
    from reticent.data.engines.postgres import PostgresSession

    states: list[Any] = []
    plain = PostgresSession.rows

    asked = "SELECT current_setting('transaction_read_only'), current_setting('transaction_isolation')"

    def watched(self: PostgresSession, statement: str) -> list[tuple[Any, ...]]:
        states.extend(plain(self, asked))
        return plain(self, statement)

    monkeypatch.setattr(PostgresSession, "rows", watched)
    assert table.run([Rows()], SECRET)[0].vectors == ((1,),)
    assert states == [("on", "repeatable read")]

    def writes(self: PostgresSession, statement: str) -> list[tuple[Any, ...]]:
        return plain(self, f"INSERT INTO {relation} VALUES (2) RETURNING x")

    monkeypatch.setattr(PostgresSession, "rows", writes)
    with pytest.raises(EngineFailure):
        table.run([Rows()], SECRET)
    assert "read-only transaction" in said[0][1]


WHO_X = Schema({"x": real(0, 9)}, Person("add_remove", "who", rows=1))


def test_rows_that_come_in_while_a_run_reads_are_not_seen(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person with one row when rows are counted, and two when they are summed up, would be in the answer twice."""
    from reticent.data.engines.postgres import PostgresSession

    url = db.table({"who": "bigint", "x": "float8"}, [[1, 1.0], [2, 5.0]])
    relation, plain = address(url).table, PostgresSession.keep

    def meanwhile(self: PostgresSession, name: str, statement: str) -> None:
        plain(self, name, statement)
        db.run(f"INSERT INTO {relation} VALUES (1, 9)")

    monkeypatch.setattr(PostgresSession, "keep", meanwhile)
    assert [found.vectors for found in open_table(url, WHO_X).run([Rows(), DistinctPersons()], SECRET)] == [((2,),)] * 2
    monkeypatch.undo()
    assert open_table(url, WHO_X).run([CappedPersons()], SECRET)[0].vectors == ((1,),)


ONCE: list[Query] = [PresentValues("x")]
THRICE: list[Query] = [*ONCE, Ranks("x"), Ranks("x", None, "person")]
STEADY = {
    "CREATE TABLE private.{0} (who bigint, x float8)": True,
    "CREATE TABLE private.{0} (who bigint, x text)": False,  # a text is read as a number once, and kept
    "CREATE TABLE private.{0} (who bigint, x float8, note1 text, note2 char(400), note3 text, note4 uuid)": True,
    f"CREATE TABLE private.{{0}} (who bigint, x float8, {', '.join(f'a{nth} float8' for nth in range(40))})": False,
    "CREATE TABLE private.{0} (who bigint, x float8) PARTITION BY HASH (who)": True,
    "CREATE VIEW private.{0} AS SELECT 1::bigint AS who, random() AS x": False,
    "CREATE MATERIALIZED VIEW private.{0} AS SELECT 1::bigint AS who, random() AS x": True,
    "CREATE TABLE private.{0} (who bigint, x float8); ALTER TABLE private.{0} ENABLE ROW LEVEL SECURITY": False,
}


@pytest.mark.wide
def test_narrow_tables_of_the_server_are_read_where_they_are_and_others_are_copied(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reticent.data.engines.postgres import PostgresSession

    copied: list[str] = []
    plain = PostgresSession.keep

    def watched(self: PostgresSession, name: str, statement: str) -> None:
        copied.append(name)
        plain(self, name, statement)

    monkeypatch.setattr(PostgresSession, "keep", watched)
    for nth, (made, in_place) in enumerate(STEADY.items()):
        db.run(made.format(f"steady{nth}"))
        url = db.server.url(READER, f"private.steady{nth}")
        for asked in ONCE, THRICE:
            copied.clear()
            open_table(url, WHO_X).run(asked, SECRET)
            assert copied == [*(() if in_place and len(asked) == 1 else ("typed",)), "over", "numbered"], made


def test_a_table_that_another_server_has_a_part_of_is_copied(db: Database) -> None:
    db.run("CREATE EXTENSION IF NOT EXISTS file_fdw")
    db.run("CREATE SERVER files FOREIGN DATA WRAPPER file_fdw")
    db.run("CREATE TABLE private.parted (who bigint, x float8) PARTITION BY LIST (who)")
    schema = Schema({"x": real(0, 9)}, Person("add_remove", "who", rows=1))
    source = open_database(db.server.url(READER, "private.parted"), schema)
    assert source.steady
    db.run(
        "CREATE FOREIGN TABLE private.part PARTITION OF private.parted FOR VALUES IN (1) SERVER files "
        "OPTIONS (filename '/dev/null')"
    )
    assert not open_database(db.server.url(READER, "private.parted"), schema).steady


def test_an_error_of_the_server_is_one_constant_text(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    url = db.table({"x": "text"}, [["zebra77"]])
    said: list[tuple[str, str]] = []
    table = open_table(url, Schema({"x": real(0, 1)}, Person("add_remove")), log=lambda *entry: said.append(entry))
    from reticent.data.engines.postgres import PostgresSession

    plain = PostgresSession.rows
    monkeypatch.setattr(PostgresSession, "rows", lambda self, _: plain(self, 'SELECT x::int FROM "source"'))
    monkeypatch.setattr("reticent.data.database._cell", lambda column, *_: f"{column}::text")
    with pytest.raises(EngineFailure) as failed:
        table.run([Rows()], SECRET)
    assert "zebra" not in str(failed.value)
    assert failed.value.__context__ is None
    assert said


def test_a_session_puts_settings_of_the_role_back(db: Database) -> None:
    db.run(f"ALTER ROLE {READER} SET TimeZone = 'Asia/Tokyo'")
    db.run(f"ALTER ROLE {READER} SET statement_timeout = '7s'")
    db.run(f"ALTER ROLE {READER} SET default_transaction_read_only = on")
    db.run(f"ALTER ROLE {READER} SET extra_float_digits = -15")
    try:
        url = db.table({"x": "float8"}, [[0.1], [0.30000000000000004]])
        table = open_table(url, Schema({"x": real()}, Person("add_remove")))
        check_engine(table)
        found = table.run([OrderedValues("x", Fraction(1, 2**52))], SECRET)[0].orders[0]
        assert isinstance(found, RunLength)
        assert found.values.tolist() == [math.floor(0.1 * 2**52), math.floor(0.30000000000000004 * 2**52)]
    finally:
        db.run(f"ALTER ROLE {READER} RESET ALL")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://reader:hunter2@/db?table=t", "holds a password"),
        ("postgresql:///db?password=hunter2&table=t", "holds a password"),
        ("postgresql:///db?sslpassword=hunter2&table=t", "holds a password"),
        ("postgresql:///db", "Name the table"),
    ],
)
def test_a_url_with_a_password_or_without_a_table_is_refused(url: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as refused:
        address(url)
    assert "hunter2" not in str(refused.value)


def test_a_role_that_can_write_and_a_table_that_does_not_fit_are_refused(db: Database) -> None:
    url = db.table({"x": "float8", "raw": "bytea", "at": "interval"}, [])
    schema = Schema({"x": real(0, 1)}, Person("add_remove"))
    open_database(url, schema)
    name = address(url).table
    with pytest.raises(SpecError, match="may write"):
        open_database(db.server.url("postgres", name), schema)
    for right in ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "INSERT (x)", "UPDATE (x)"):
        db.run(f"GRANT {right} ON {name} TO {READER}")
        with pytest.raises(SpecError, match=f"GRANT SELECT ON {name}"):
            open_database(url, schema)
        db.run(f"REVOKE {right} ON {name} FROM {READER}")
    for column, said in (("raw", "holds bytea"), ("at", "holds interval"), ("X", "no column 'X'")):
        with pytest.raises(SpecError, match=said):
            open_database(url, Schema({column: real(0, 1)}, Person("add_remove")))
    with pytest.raises(SpecError, match="There is no table"):
        open_database(db.server.url(READER, "private.nowhere"), schema)
    db.run(f"REVOKE SELECT ON {name} FROM {READER}")
    with pytest.raises(SpecError, match="may not read"):
        open_database(url, schema)
    with pytest.raises(SpecError, match="cannot be reached"):
        open_database(db.server.url("nobody", name), schema)


def test_one_table_has_one_ledger_by_any_name_of_its_server(db: Database, tmp_path: Any) -> None:
    url = db.table({"x": "float8"}, [[0.5]] * 200)
    about = {"adjacency": "add_remove", "columns": {"x": rt.real(0, 1)}, "budget": 2}
    study = rt.study(url, ledger=tmp_path / "a.ledger", **about)  # type: ignore[arg-type]
    study.release(["count"], epsilon=1)
    assert study.left().epsilon == 1  # type: ignore[union-attr]
    other = url.replace("postgresql://", "postgres://") + "&application_name=other"
    assert identity_of(other) == identity_of(url)
    assert name_of(url).startswith("private.t")
    assert stem_of(url) == name_of(url).removeprefix("private.")
    with pytest.raises(LedgerError, match="already under"):
        rt.study(other, ledger=tmp_path / "b.ledger", **about)  # type: ignore[arg-type]


SHOWING = {
    "a view": "CREATE VIEW private.{0} AS SELECT x FROM private.{1}",
    "a view of a view": "CREATE VIEW private.in_{0} AS SELECT * FROM private.{1}; "
    "CREATE VIEW private.{0} AS SELECT x FROM private.in_{0} WHERE x IN (SELECT x FROM private.in_{0})",
    "a stored view": "CREATE MATERIALIZED VIEW private.{0} AS SELECT x FROM private.{1}",
    "a part": "CREATE TABLE private.{0} () INHERITS (private.{1})",
}


@pytest.mark.parametrize("kind", SHOWING)
@pytest.mark.parametrize("first", ["table", "view"])
def test_what_shows_the_rows_of_a_table_has_its_ledger(db: Database, tmp_path: Any, kind: str, first: str) -> None:
    about = {"adjacency": "add_remove", "columns": {"x": rt.real(0, 1)}, "budget": 2}
    table = db.table({"x": "float8"}, [[0.5]] * 200)
    name = f"shows_{address(table).table.removeprefix('private.')}, ?#&="  # quoted, as the catalog has it
    db.run(
        SHOWING[kind]
        .replace("private.{0}", f'private."{name}"')
        .replace("private.in_{0}", f'private."in {name}"')
        .format("", address(table).table.removeprefix("private."))
    )
    quoted = f'private."{name}"'.replace("%", "%25").replace("?", "%3F").replace("#", "%23").replace("&", "%26")
    view = db.server.url(READER, quoted.replace("=", "%3D").replace(" ", "%20").replace('"', "%22"))
    one, other = (table, view) if first == "table" else (view, table)
    study = rt.study(one, ledger=tmp_path / "a.ledger", **about)  # type: ignore[arg-type]
    study.release(["count"], epsilon=1)
    with pytest.raises(LedgerError, match="already under"):
        rt.study(other, ledger=tmp_path / "b.ledger", **about)  # type: ignore[arg-type]
    again = rt.study(other, ledger=tmp_path / "a.ledger", **about)  # type: ignore[arg-type]
    assert again.left().epsilon == 1  # type: ignore[union-attr]
    apart = rt.study(db.table({"x": "float8"}, [[0.5]]), ledger=tmp_path / "b.ledger", **about)  # type: ignore[arg-type]
    assert apart.left().epsilon == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("spent", [True, False])
def test_a_view_that_shows_another_table_by_now_has_the_ledger_of_that_one(
    db: Database, tmp_path: Any, spent: bool
) -> None:
    about: dict[str, Any] = {"adjacency": "add_remove", "columns": {"x": rt.real(0, 1)}, "budget": 2}
    first, second = (db.table({"x": "float8"}, [[0.5]] * 200) for _ in range(2))
    view = f"private.now{int(spent)}"
    shown = f"VIEW {view} AS SELECT x FROM {{}}"
    db.run("CREATE " + shown.format(address(first).table))
    study = rt.study(db.server.url(READER, view), ledger=tmp_path / "now.ledger", **about)
    study.release(["count"], epsilon=1)
    db.run("CREATE OR REPLACE " + shown.format(address(second).table))
    if spent:  # a ledger counts for that table already
        rt.study(second, ledger=tmp_path / "own.ledger", **about).release(["count"], epsilon=2)
        for one in (study, study.same_people()):
            with pytest.raises(LedgerError, match=r"already under .*own\.ledger"):
                one.release(["count"], epsilon=1)
        assert study.left().epsilon == 1  # type: ignore[union-attr]
    else:  # from here on that of the view does
        study.release(["count"], epsilon=1)
        with pytest.raises(LedgerError, match=r"already under .*now\.ledger"):
            rt.study(second, ledger=tmp_path / "own.ledger", **about)


def test_a_running_statement_can_be_stopped(db: Database) -> None:
    import threading
    import time

    url = db.table({"x": "float8"}, [[0.5]])
    engine = Postgres(address(url).conninfo)
    with engine.session(Limits()) as session:
        threading.Timer(0.3, session.interrupt).start()
        start = time.perf_counter()
        with pytest.raises(Exception, match="cancel"):
            session.rows("SELECT pg_sleep(20)")
        assert time.perf_counter() - start < 10


def test_the_probe_runs_on_the_server_of_the_rows(db: Database) -> None:
    """A table in memory goes through the same session as rows in place, as a stream."""
    schema = Schema({"x": real(0, 9)}, Person("add_remove"))
    engine = Postgres(address(db.server.url(READER, "x")).conninfo)
    table = Table(open_source({"x": [1.0, None, 3.0]}, schema), schema, Limits(), None, engine=engine)
    assert table.run([Rows()], SECRET)[0].vectors == ((3,),)


def test_a_public_table_stands_beside_rows_in_place_as_beside_rows_in_memory(db: Database) -> None:
    rows = [(nth % 7, "Ab"[nth % 2], nth / 8) for nth in range(60)]
    url = db.table({"who": "int", "ward": "text", "x": "float8"}, rows)
    held = {"who": [row[0] for row in rows], "ward": [row[1] for row in rows], "x": [row[2] for row in rows]}
    found = []
    for source in (url, held):
        study = rt.study(
            source,
            adjacency="add_remove",
            columns={"ward": rt.category(["A", "b"]), "x": rt.real(0, 8)},
            person="who",
            rows_each=3,
            budget=1,
            ledger=None,
            tables={"wards": rt.table({"ward": ["A", "b"], "beds": [4, 9]}, public=True, key="ward")},
        )
        found.append(study._table().run([Rows(Keys("wards.beds", (4, 9), 2)), Tally("ward", among=("A", "b"))], SECRET))
    assert shown(found[0]) == shown(found[1])


def three_tables() -> dict[str, dict[str, list[Any]]]:
    """Visits, their patients and accounts, and wards; some patients are missing, and some accounts have two owners."""
    return {
        "visits": {
            "who": [i % 40 for i in range(120)],
            "account": [i % 50 for i in range(120)],
            "ward": ["Ab"[i % 2] for i in range(120)],
            "x": [i % 8 / 4 for i in range(120)],
        },
        "patients": {"who": list(range(30)), "age": [i * 7 % 90 for i in range(30)]},
        "accounts": {"account": [*range(50), 3, 4], "who": [*(i % 37 for i in range(50)), 9, 9]},
        "wards": {"ward": ["A", "b"], "beds": [4, 9], "open": [True, False]},
    }


def rows_of(table: Mapping[str, Sequence[object]]) -> list[tuple[object, ...]]:
    return [*zip(*table.values(), strict=True)]


KINDS = {int: "bigint", str: "text", float: "double precision", bool: "boolean"}


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["left", "inner", "key"])
def test_further_tables_in_the_database_stand_beside_rows_as_in_memory(db: Database, kind: str) -> None:
    """Patients on the person, public wards by a key, and accounts of people, in one database and in memory."""
    held = three_tables()
    urls = {
        name: db.table(
            {one: KINDS[type(cells[0])] for one, cells in table.items()}, [*zip(*table.values(), strict=True)]
        )
        for name, table in held.items()
    }
    found = []
    arrays = {name: {one: np.array(cells) for one, cells in table.items()} for name, table in held.items()}
    for sources in (urls, arrays):
        tables = {
            "patients": rt.table(
                sources["patients"], columns={"age": rt.integer(0, 99)}, join="inner" if kind == "inner" else "left"
            ),
            "wards": rt.table(sources["wards"], public=True, key="ward"),
        }
        if kind == "key":
            tables["accounts"] = rt.table(sources["accounts"], key="account", rows_each={"keys": 1, "owners": 2})
        study = rt.study(
            sources["visits"],
            person="accounts.who" if kind == "key" else "who",
            rows_each=2,
            adjacency="add_remove",
            budget=1,
            ledger=None,
            columns={"x": rt.real(0, 8)},
            tables=tables,
        )
        asked: list[Query] = [
            Rows(),
            Rows(Keys("wards.beds", (4, 9), 2)),
            Rows(Keys("wards.open", (False, True), 2)),
            Tally("patients.age", among=tuple(range(100))),
        ]
        found.append((shown(study._table().run(asked, SECRET)), tables["wards"].joined.digest))
    assert found[0] == found[1]


def test_a_further_table_elsewhere_and_one_that_is_counted_for_are_refused(db: Database, tmp_path: Any) -> None:
    held = three_tables()
    patients = held["patients"]
    url = db.table({"who": "bigint", "age": "bigint"}, rows_of(patients))
    age = {"age": rt.integer(0, 99)}

    def study(source: Any, ledger: Any, **tables: Any) -> rt.Study:
        return rt.study(
            source,
            person="who",
            rows_each=2,
            adjacency="add_remove",
            budget=1,
            ledger=ledger,
            columns={"x": rt.real(0, 8)},
            tables=tables,
        )

    with pytest.raises(SpecError, match="stays in another database"):
        study(held["visits"], None, patients=rt.table(url, columns=age))._table()
    visits = held["visits"]
    main = db.table(
        {"who": "bigint", "account": "bigint", "ward": "text", "x": "double precision"},
        rows_of(visits),
    )
    study(main, tmp_path / "one.ledger", patients=rt.table(url, columns=age))
    with pytest.raises(LedgerError, match=r"one\.ledger"):
        rt.study(
            url,
            person="who",
            rows_each=1,
            adjacency="add_remove",
            budget=1,
            ledger=tmp_path / "two.ledger",
            columns=age,
        )
    with pytest.raises(SpecError, match=r"declared public, and .* holds rows of people under .*one.ledger"):
        rt.table(url, public=True, key="who")
    with pytest.raises(SpecError, match="may write to"):
        study(main, None, patients=rt.table(url.replace(READER, "postgres"), columns=age))._table()


@pytest.mark.wide
def test_the_demonstration_runs_on_a_server_of_its_own(tmp_path: Any) -> None:
    from reticent.demo.postgres import demonstrate

    found = demonstrate(tmp_path / "demo")
    assert found.verification.ok
    assert "postgresql://reader@" in (tmp_path / "demo" / "rand.toml").read_text("utf-8")


def test_without_a_server_the_demonstration_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from reticent.demo import postgres

    monkeypatch.setattr(postgres, "programs", lambda: None)
    assert postgres.main() == 2
    assert "apt-get install postgresql" in capsys.readouterr().err
