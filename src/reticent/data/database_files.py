"""Tables in DuckDB and SQLite files, named by a URL: ``duckdb:///clinic.duckdb?table=main.visits``, ``sqlite:///…``.

Opening asks the catalog of the file for names and types, and reads no row. A file is opened for reading alone, once
for each run, and its rows come as a stream. Nothing in it can reach another file. SQLite lets any cell hold anything,
so its cells come as texts, as those of a CSV file do: none makes a run fail.

A file is one source, as a workbook is: its tables share one ledger, whatever their names.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, quote

from reticent.data.columns import (
    BATCH,
    Reading,
    Storage,
    check_names,
    empty_batches,
    normal,
    storage_of,
    texts_of,
    wanted,
)
from reticent.data.engines.duckdb import LOCKED
from reticent.data.engines.engine import refuse_collation
from reticent.data.files import check_file
from reticent.data.format import Format
from reticent.data.schema import Schema
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

SHAPE: Final = re.compile(r"(duckdb|sqlite):///([^?]+)\?(.*)", re.IGNORECASE | re.DOTALL)
MARKS: Final = {"sqlite": (0, b"SQLite format 3\x00"), "duckdb": (8, b"DUCK")}  # where a file begins so
MEMORY: Final = "256MB"  # of the reader, besides what the engine may use
KINDS: Final = {"INT": "int64", "CHAR": "string", "CLOB": "string", "TEXT": "string"} | dict.fromkeys(
    ("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL"), "double"
)  # of types that a table of SQLite declares, by a part of their name
FOLDED: Final = "CASE typeof({{0}}) WHEN 'text' THEN {} ELSE {{0}} END"
ONE_TEXT: Final = {"NOCASE": FOLDED.format("lower({0})"), "RTRIM": FOLDED.format("rtrim({0}, ' ')")}  # by collation
BYTEWISE: Final = "C"  # the collation of DuckDB that compares bytes
COMPARED: Final = "{} = random()::VARCHAR"  # with a constant, what DuckDB knows of rows would decide it in the plan
TABLES: Final = {  # schema and name of every table and view
    "duckdb": "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database()",
    "sqlite": "SELECT '', name FROM sqlite_master WHERE type IN ('table', 'view')",
}


@dataclass(frozen=True, slots=True)
class FileAddress:
    """A table and the database file that it is in; ``kind`` is "duckdb" or "sqlite"."""

    kind: str
    file: Path
    table: str

    @property
    def url(self) -> str:
        """The URL that says so."""
        return f"{self.kind}:///{self.file}?table={quote(self.table)}"


def file_address(url: str, folder: Path | None = None) -> FileAddress:
    """The address that a URL states; a relative file is relative to ``folder``.

    Raises
    ------
    SpecError
        It names no file or no table.
    """
    found = SHAPE.fullmatch(url)
    tables = parse_qs(found[3]).get("table", []) if found else []
    if found is None or len(tables) != 1:
        raise SpecError(
            'Name the file and the table: source = "duckdb:///clinic.duckdb?table=visits", or sqlite:///… Nothing was '
            "read."
        )
    return FileAddress(found[1].lower(), (folder or Path()) / found[2], tables[0])


def kind_of_database(file: Path) -> str:
    """The kind of a database file by the mark it begins with, "duckdb" or "sqlite"; empty for any other file."""
    try:
        with open(file, "rb") as opened:
            begin = opened.read(16)
    except OSError:
        return ""
    return next((kind for kind, (at, mark) in MARKS.items() if begin[at : at + len(mark)] == mark), "")


@dataclass(frozen=True, slots=True, repr=False)
class DatabaseFile:
    """A table of a database file, whose rows come as a stream."""

    at: FileAddress
    relation: str
    storage: Mapping[str, Storage]
    form: Format
    texts: Mapping[str, str] = field(default_factory=dict)  # of names that a collation takes for equal
    reading: Reading = field(default_factory=Reading)

    @property
    def place(self) -> str:
        return self.at.url

    def __repr__(self) -> str:
        return "<private rows in a database file>"

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        cells = ", ".join(self.texts.get(name, "{0}").format(_quoted(name)) for name in names) or "count(*)"
        statement = f"SELECT {cells} FROM {self.relation}"  # noqa: S608 - names are quoted
        with _opened(self.at) as connection:
            if not names:
                yield from empty_batches(connection.execute(statement).fetchone()[0])
            elif self.at.kind == "sqlite":
                cursor = connection.execute(statement)
                while rows := cursor.fetchmany(BATCH):
                    columns = [texts_of([self._text(cell) for cell in column]) for column in zip(*rows, strict=True)]
                    yield pa.RecordBatch.from_arrays(columns, names=list(names))
            else:
                for batch in connection.sql(statement).to_arrow_reader(BATCH):
                    arrays = [normal(batch.column(place), self.storage[name]) for place, name in enumerate(names)]
                    yield pa.RecordBatch.from_arrays(arrays, names=list(names))

    def _text(self, cell: object) -> str:
        """The text of a cell of SQLite, as a CSV file would hold it; empty for a missing one, and for no text."""
        if isinstance(cell, float):
            return self.form.spelled(cell) or ""
        return str(cell) if isinstance(cell, int | str) else ""


def open_database_file(url: str, schema: Schema) -> DatabaseFile:
    """The source behind the URL of a table in a file. The catalog is asked; no row is read.

    Parameters
    ----------
    url : str
    schema : Schema

    Returns
    -------
    DatabaseFile

    Raises
    ------
    SpecError
        The file or the table is not there, the file is in use, or a declared column is missing or does not fit.
    """
    at = file_address(url)
    with _catalog(at) as connection:
        relation = _relation(at, connection)
        if at.kind == "sqlite":
            names = [name for name, _ in _sqlite_fields(connection, at.table)]
            check_names(names, schema, at.table)
            storage: dict[str, Storage] = dict.fromkeys(wanted(schema), "text")
            named = {name: _one_text(connection, relation, name) for name in filter(schema.names_rows, storage)}
            return DatabaseFile(at, relation, storage, schema.format, named)
        storage = storage_of([_shape(connection, relation)], schema, at.table)
        refuse_folded(connection.sql(f"SELECT * FROM {relation}"), filter(schema.names_rows, storage))  # noqa: S608
        return DatabaseFile(at, relation, storage, schema.format)


def fields_of_file(url: str) -> list[tuple[str, str]]:
    """Names and types of the columns of a table in a file, by its catalog; for ``init``.

    Raises
    ------
    SpecError
        The file or the table is not there, or is in use.
    """
    at = file_address(url)
    with _catalog(at) as connection:
        relation = _relation(at, connection)
        if at.kind == "duckdb":
            return [(one.name, str(one.type)) for one in _shape(connection, relation)]
        return [(name, _kind(declared)) for name, declared in _sqlite_fields(connection, at.table)]


def of_pair(connection: Any, table: str) -> Any:
    """A source of an open connection and the name of a table: a relation, or the URL of the table.

    Parameters
    ----------
    connection : connection of DuckDB, SQLite or Ibis, or engine of SQLAlchemy
    table : str

    Returns
    -------
    str or table

    Raises
    ------
    SpecError
        Another connection, one with a password or to a database in memory, or no such table.
    """
    module = type(connection).__module__
    if module.startswith(("duckdb", "_duckdb", "ibis")):
        try:
            return connection.table(table)
        except Exception:  # of another library, whose words may quote rows
            raise SpecError(f"The connection has no table {table}. Nothing was read.") from None
    if module.startswith("sqlite3"):
        listed = connection.execute("PRAGMA database_list").fetchall()
        return _url("sqlite", next(file for _, name, file in listed if name == "main"), table)
    if module.startswith("sqlalchemy"):
        return _of_engine(connection.url, connection.dialect.name, table)
    raise SpecError(f"A connection of {module} is not known: give one of DuckDB, SQLite, Ibis or SQLAlchemy.")


def _of_engine(url: Any, dialect: str, table: str) -> str:
    if dialect in ("duckdb", "sqlite"):
        return _url(dialect, url.database, table)
    if dialect != "postgresql":
        raise SpecError(f"{dialect} is no database that a study reads: PostgreSQL, DuckDB and SQLite are.")
    if url.password is not None:
        raise SpecError(
            "The engine holds a password, and a source is kept with its ledger. Take it out, and put it into "
            "PGPASSWORD or a pgpass file. Nothing was read."
        )
    who = f"{quote(url.username)}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    options = "".join(f"&{quote(name)}={quote(str(value))}" for name, value in url.query.items())
    return f"postgresql://{who}{url.host or ''}{port}/{quote(url.database or '')}?table={quote(table)}{options}"


def _url(kind: str, file: str | None, table: str) -> str:
    if not file or file == ":memory:":
        raise SpecError("This database is in memory. Give its table as a data frame or an Arrow table.")
    return FileAddress(kind, Path(file).resolve(), table).url


def tables_of_file(file: Path, kind: str) -> list[str]:
    """Names of the tables and views of a database file, by its catalog."""
    with _catalog(FileAddress(kind, file, "")) as connection:
        return sorted(name for _, name in connection.execute(TABLES[kind]).fetchall())


@contextmanager
def _opened(at: FileAddress) -> Iterator[Any]:
    """A connection that can read this file, and nothing else."""
    check_file(at.file)
    if kind_of_database(at.file) != at.kind:
        raise SpecError(f"{at.file.name} is no {at.kind} database. Nothing was read.")
    connection = _sqlite(at.file) if at.kind == "sqlite" else _duckdb(at.file)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def _catalog(at: FileAddress) -> Iterator[Any]:
    """A connection for what the catalog says. An engine's own words may quote rows, and are not shown."""
    try:
        with _opened(at) as connection:
            yield connection
    except SpecError:
        raise
    except Exception as cause:
        raise SpecError(
            f"The catalog of {at.file.name} cannot be read ({type(cause).__name__}). Nothing was read."
        ) from None


def _duckdb(file: Path) -> Any:
    import duckdb

    try:
        connection = duckdb.connect(str(file), read_only=True, config={**LOCKED, "memory_limit": MEMORY})
    except duckdb.Error:
        raise SpecError(
            f"{file.name} cannot be opened for reading: close the connection that has it, here or in another program, "
            'or pass it with the name of the table, rt.study((connection, "visits"), …). Nothing was read.'
        ) from None
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")
    return connection


def _sqlite(file: Path) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        connection.text_factory = _decoded
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
    except sqlite3.Error:
        raise SpecError(f"{file.name} cannot be opened for reading. Nothing was read.") from None
    return connection


def _decoded(cell: bytes) -> str:
    """A text; an empty one where it is no UTF-8, which counts as missing."""
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return ""


def _relation(at: FileAddress, connection: Any) -> str:
    """The quoted name of the table, as the catalog spells it."""
    found = connection.execute(TABLES[at.kind]).fetchall()
    fit = [(schema, name) for schema, name in found if at.table in (name, f"{schema}.{name}")]
    if len(fit) != 1:
        several = "several tables" if fit else "no table"
        raise SpecError(f"{at.file.name} has {several} called {at.table}. Write schema.table. Nothing was read.")
    return ".".join(_quoted(part) for part in fit[0] if part)


def _shape(connection: Any, relation: str) -> pa.Schema:
    return connection.sql(f"SELECT * FROM {relation} LIMIT 0").to_arrow_table().schema  # noqa: S608 - quoted


def _sqlite_fields(connection: Any, table: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = connection.execute(
        "SELECT name, type FROM pragma_table_xinfo(?)", (table,)
    ).fetchall()
    return found


def _one_text(connection: sqlite3.Connection, relation: str, name: str) -> str:
    """An expression by which texts of a column that its collation takes for equal are one; no statement is run."""
    column = _quoted(name)

    def compared(asked: str) -> Counter[str]:
        told = connection.execute(f"EXPLAIN SELECT {asked} FROM {relation}").fetchall()  # noqa: S608 - quoted
        by = [str(how) for _, code, _, _, _, how, *_ in told if code in ("Eq", "Ne")]
        return Counter(known for known in ONE_TEXT for one in by if known in one)

    try:
        found = [*(compared(f"{column} = {column}") - compared(column))]
    except sqlite3.OperationalError as cause:
        if "collation" not in str(cause):
            raise
        refuse_collation(name, "BINARY")
    return ONE_TEXT[found[0]] if found else "{0}"


def refuse_folded(relation: Any, names: Iterable[str]) -> None:
    """Refuse text columns of DuckDB whose collation is not that of bytes. Their plans are compared, and none is run.

    Parameters
    ----------
    relation : DuckDBPyRelation
    names : iterable of str
        The columns by which rows belong to persons.

    Raises
    ------
    SpecError
        A comparison with a text has another plan than one of bytes.
    """
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))  # Arrow's have several for a text
    for name in names:
        if types[name] == "VARCHAR":
            column = relation.project(f"{_quoted(name)} AS c")  # a long name would be cut in a plan
            sides = "c", f"(c COLLATE {BYTEWISE})"
            plain, bytewise = (column.project(COMPARED.format(side)).explain() for side in sides)
            if plain != bytewise:
                refuse_collation(name, BYTEWISE)


def _kind(declared: str) -> str:
    """The Arrow type of what a table of SQLite declares, as far as ``init`` wants to know it."""
    told = declared.upper()
    if told.startswith(("DATETIME", "TIMESTAMP")):
        return "timestamp"
    if told.startswith("DATE"):
        return "date"
    return next((kind for part, kind in KINDS.items() if part in told), "")


def _quoted(name: object) -> str:
    return '"' + str(name).replace('"', '""') + '"'
