"""PostgreSQL, where the rows are: a connection of its own for each run, and tables that end with it.

A run is one transaction, which sees one state of the database (repeatable read). Shells of temporary tables are made in
it, empty. Every statement that reads rows runs read-only, behind a savepoint: it may fill temporary tables and nothing
else. So the rows of a plain table may be read twice where that is cheaper than a copy, and they are the same rows.

Settings of the role or the server that would change a result or end a charged run are put back for the session:
the zone, the spelling of dates and doubles, time limits. The engine's words may quote rows: they go to ``table``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from reticent.data.engines.engine import Adopted, ColumnsInPlace
from reticent.data.engines.postgres_dialect import POSTGRES, PostgresDialect, definitions
from reticent.data.format import Limits
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

SETTINGS: Final = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "client_encoding": "UTF8",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "search_path": "pg_catalog",
    "default_transaction_read_only": "off",  # of the shells; rows are read in transactions that say what they are
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "synchronous_commit": "off",
    "jit": "off",
    "enable_nestloop": "off",  # our tables are small or large by what they hold, which no estimate knows
}
LIVING: Final = {
    "connect_timeout": 10,
    "tcp_user_timeout": 30_000,
    "keepalives_idle": 30,
}  # else a dead server holds us
RUN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE"  # statements that read rows are read-only in it
STATE: Final = """
    SELECT version(), pg_postmaster_start_time()::text, current_user::text, datcollate, datctype, datcollversion,
           (SELECT string_agg(name || '=' || setting, chr(10) ORDER BY name) FROM pg_catalog.pg_settings
            WHERE name <> 'application_name')
    FROM pg_catalog.pg_database WHERE datname = current_database()
"""
BLOCK: Final = 1 << 23  # bytes of text that are read at a time, of a long result
COPIED: Final = {"int64": "bigint", "double": "double precision", "bool": "boolean", "string": "text"}


@runtime_checkable
class ColumnSelector(Protocol):
    """A source in this engine."""

    def selection(self, columns: Mapping[str, str]) -> str:
        """A statement that selects columns under plain names."""
        ...

    @property
    def steady(self) -> bool:
        """True if two statements of a transaction find the same rows, and reading them is cheap."""
        ...


class PostgresSession:
    """One connection, with the functions of the dialect in its temporary schema."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._source: list[str] = []  # the kind of "source" that is there, if one is
        for name, value in SETTINGS.items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        for text in definitions():
            connection.execute(text)
        connection.execute(RUN)

    def put(self, name: str, table: pa.Table) -> None:
        """Keep a small public table."""
        self._copy(name, table.to_reader())
        self._read(f'ANALYZE "{name}"')

    def store(self, name: str, statement: str, rows: Adopted, *, steps: Mapping[str, str], light: bool) -> None:
        """Keep the outcome of ``statement`` as a table: the first step is a view of the source, the others are tables.

        What is ``light`` is a view, where the source is steady: no row is copied.

        Parameters
        ----------
        name : str
            Of the table.
        statement : str
            SQL over the last step.
        rows : RecordBatchReader or ColumnsInPlace
            What the first step reads.
        steps : mapping of name to SQL
            In order.
        light : bool
            True if cells are taken as they are, and few statements read them.
        """
        for kind in self._source:
            self._connection.execute(f'DROP {kind} "source" CASCADE')
        if isinstance(rows, ColumnsInPlace):
            assert isinstance(rows.source, ColumnSelector)
            self._connection.execute(f'CREATE TEMP VIEW "source" AS {rows.source.selection(rows.columns)}')
            self._source = ["VIEW"]
            light &= rows.source.steady
        else:
            self._copy("source", rows)
            self._source = ["TABLE"]
        (first, text), *later = steps.items()
        self._connection.execute(f'CREATE TEMP VIEW "{first}" AS {text}')
        for step, text in (*later, (name, statement)):
            (self.view if light else self.keep)(step, text)

    def view(self, name: str, statement: str) -> None:
        """Name a statement over what is stored; it runs whenever it is read."""
        self._connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {statement}')

    def keep(self, name: str, statement: str) -> None:
        """Keep the outcome of a statement over what is stored, in place of the one of the same name and its views."""
        self._connection.execute(f'DROP TABLE IF EXISTS "{name}" CASCADE')
        self._connection.execute(f'CREATE TEMP TABLE "{name}" AS {statement} WITH NO DATA')
        self._read(f'INSERT INTO "{name}" {statement}')
        self._read(f'ANALYZE "{name}"')

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a small result, with exact integers."""
        found: list[tuple[Any, ...]] = self._read(statement).fetchall()
        return found

    def arrow(self, statement: str) -> pa.Table:
        """A result as Arrow columns of int64, double and text."""
        import pyarrow as pa

        parts = [*self._arrow_parts(statement, 0)]
        return pa.concat_tables(parts)

    def about(self, name: str) -> int:
        """Number of rows of a table or view, as the server estimates it."""
        ((found,),) = self.rows(f'EXPLAIN (FORMAT JSON) SELECT 1 FROM "{name}"')  # noqa: S608 - a name of the plan
        return int(found[0]["Plan"]["Plan Rows"])

    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        """A long result as Arrow, a batch at a time."""
        for part in self._arrow_parts(statement, BLOCK):
            yield from part.to_batches()

    def _arrow_parts(self, statement: str, size: int) -> Iterator[pa.Table]:
        """A result in parts of about so many bytes of text, or at once for 0: texts may hold ends of lines."""
        nothing = f"SELECT * FROM ({statement}) AS found LIMIT 0"  # noqa: S608 - a statement of this package
        described = self._connection.execute(nothing).description
        kinds = {column.name: _ARROW.get(column.type_code, "string") for column in described}
        whole = not size or "string" in kinds.values()
        told = bytearray()
        with self._read_only(), self._connection.cursor().copy(f"COPY ({statement}) TO STDOUT (FORMAT csv)") as blocks:
            for block in blocks:
                told += block
                if not whole and len(told) >= size:
                    end = told.rindex(b"\n") + 1
                    yield _parsed(told[:end], kinds)
                    del told[:end]
        yield _parsed(told, kinds)

    def interrupt(self) -> None:
        """Stop what runs, from another thread."""
        self._connection.cancel_safe()

    def _read(self, statement: str) -> Any:
        """Run a statement that reads rows."""
        with self._read_only():
            return self._connection.execute(statement)

    @contextmanager
    def _read_only(self) -> Iterator[None]:
        """Until the savepoint is released, nothing but temporary tables can be written. After an error nothing runs."""
        self._connection.execute("SAVEPOINT reading")
        self._connection.execute("SET TRANSACTION READ ONLY")
        yield
        self._connection.execute("RELEASE SAVEPOINT reading")

    def _copy(self, name: str, rows: pa.RecordBatchReader) -> None:
        """Rows that come as a stream, into a temporary table; texts go by their bytes."""
        columns = ", ".join(
            f'"{field.name}" {COPIED[str(field.type)]}' + (' COLLATE "C"' if str(field.type) == "string" else "")
            for field in rows.schema
        )
        names = ", ".join(f'"{field.name}"' for field in rows.schema)
        self._connection.execute(f'CREATE TEMP TABLE "{name}" ({columns})')
        with self._connection.cursor().copy(f'COPY "{name}" ({names}) FROM STDIN') as target:
            for batch in rows:
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    target.write_row(row)


def _parsed(told: bytearray, kinds: Mapping[str, str]) -> pa.Table:
    """The rows of text as the server writes it, under the names of their columns and types."""
    import pyarrow as pa
    from pyarrow import csv

    types = {name: pa.type_for_alias(kind) for name, kind in kinds.items()}
    if not told:
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    return csv.read_csv(
        pa.BufferReader(told),
        read_options=csv.ReadOptions(column_names=list(types), use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )


_ARROW: Final = {20: "int64", 21: "int64", 23: "int64", 1700: "int64", 700: "double", 701: "double"}  # by type number


@dataclass(frozen=True, slots=True)
class Postgres:
    """A database by its connection string, which holds no password."""

    conninfo: str
    dialect: PostgresDialect = POSTGRES
    name: str = "postgres"
    packages: tuple[str, ...] = ("the server", "psycopg", "ibis-framework", "sqlglot")

    def session(self, limits: Limits) -> AbstractContextManager[PostgresSession]:
        """A fresh session, for one run, with so many workers for a statement; memory is for the server to grant."""
        return _connected(self.conninfo, limits.threads)

    def interrupted(self, cause: BaseException) -> bool:
        """Tell if an error is Ctrl-C: it is not, since Ctrl-C strikes outside this engine."""
        return False

    def tested(self, digest: str) -> bool:
        """Tell if this process passed the self-test, on the server that runs now and as it is set."""
        return self._state(digest) in _PASSED

    def note_tested(self, digest: str) -> None:
        """Remember that it did."""
        _PASSED.add(self._state(digest))

    def _state(self, digest: str) -> str:
        """Digest of what results could depend on: versions, the start of the server, settings, our functions."""
        packages = [version(name) for name in ("psycopg", "ibis-framework", "sqlglot")]
        with connect(self.conninfo) as connection:
            found = connection.execute(STATE).fetchall()
        told = (digest, self.conninfo, found, definitions(), packages)
        return hashlib.sha256(repr(told).encode()).hexdigest()


_PASSED: Final[set[str]] = set()  # of this process


@contextmanager
def _connected(conninfo: str, threads: int | None) -> Iterator[PostgresSession]:
    with connect(conninfo) as connection:
        session = PostgresSession(connection)
        if threads is not None:  # the one that leads works too
            workers = ("max_parallel_workers_per_gather", str(threads - 1))
            connection.execute("SELECT set_config(%s, %s, false)", workers)
        yield session


@contextmanager
def connect(conninfo: str) -> Iterator[Any]:
    """A connection that commits each statement, closed at the end.

    Parameters
    ----------
    conninfo : str
        Without a password: libpq takes one from PGPASSWORD, a pgpass file or a service file.

    Raises
    ------
    SpecError
        psycopg is not installed, or the server lets nobody in.
    """
    try:
        import psycopg
    except ImportError:
        raise SpecError("PostgreSQL needs psycopg: pip install 'reticent[postgres]'. Nothing was read.") from None
    try:
        own: dict[str, Any] = {name: value for name, value in LIVING.items() if f"{name}=" not in conninfo}
        connection = psycopg.connect(conninfo, autocommit=True, application_name="reticent", **own)
    except psycopg.Error:
        raise SpecError(
            "The database cannot be reached, or lets this role not in. Try the same with psql. A password comes from "
            "PGPASSWORD or a pgpass file. Nothing was read."
        ) from None
    try:
        yield connection
    finally:
        connection.close()
