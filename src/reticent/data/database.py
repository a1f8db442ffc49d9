"""Tables in a PostgreSQL database, named by a URL: ``postgresql://host/db?table=schema.visits``.

Opening asks the catalog for names, types and rights, and reads no row. The rows stay: a run reads them there
(``engines/postgres.py``). Every column is selected as one of the four types that any source arrives in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from reticent.data.columns import Reading, Storage, calendar_of, check_names, moments_storage, takes_text, unfit, wanted
from reticent.data.engines.engine import refuse_collation
from reticent.data.engines.postgres import Postgres, connect
from reticent.data.schema import Schema
from reticent.database_url import parted
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

ABOUT: Final = """
    SELECT current_database(), n.nspname, c.relname, c.relkind,
           has_table_privilege(c.oid, 'SELECT'),
           has_table_privilege(c.oid, 'DELETE, TRUNCATE') OR has_any_column_privilege(c.oid, 'INSERT, UPDATE'),
           has_database_privilege(current_database(), 'TEMPORARY'),
           (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user),
           (SELECT system_identifier FROM pg_catalog.pg_control_system()),
           current_setting('server_encoding'), pg_is_in_recovery(), c.oid,
           (SELECT sum(CASE WHEN a.attlen > 0 THEN a.attlen ELSE 32 END) FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = to_regclass(%s)
"""
COLUMNS: Final = """
    SELECT a.attname, CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, NULL) WHEN 'e' THEN 'enum'
                      ELSE format_type(a.atttypid, NULL) END,
           EXISTS (SELECT FROM pg_catalog.pg_collation c WHERE c.oid = a.attcollation AND NOT c.collisdeterministic)
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
REACHED: Final = """
    WITH RECURSIVE reached (oid) AS (
        SELECT %s::oid
        UNION
        SELECT next.oid FROM reached, LATERAL (
            SELECT d.refobjid AS oid FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d
            ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
               AND d.refclassid = 'pg_catalog.pg_class'::regclass
            WHERE r.ev_class = reached.oid
            UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = reached.oid
        ) AS next
    )
    SELECT n.nspname, c.relname, c.relkind, c.relrowsecurity
    FROM reached JOIN pg_catalog.pg_class c USING (oid) JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2
"""
NARROW: Final = 256  # bytes of a row, by its types: of wider ones a copy of some columns is read faster
KINDS: Final = {"r": "table", "p": "partitioned table", "v": "view", "m": "materialized view", "f": "foreign table"}
WHOLE: Final = ("smallint", "integer", "bigint")
REAL: Final = ("real", "double precision")
ARROW: Final = (
    *((kind, "int64") for kind in ("smallint", "integer", "bigint")),
    *((kind, "double") for kind in ("real", "double precision", "numeric")),
    ("date", "date"),
    ("timestamp", "timestamp"),
    ("time", "time"),
)
TEXT: Final = ("text", "character varying", "character", "numeric", "uuid", "enum", "name", "citext")
ONE_TEXT: Final = {"numeric": "trim_scale({})", "citext": "lower({})"}  # of 12 and 12.00, of a and A


@dataclass(frozen=True, slots=True)
class Address:
    """A table and the database it is in, without a password."""

    conninfo: str
    table: str


def address(url: str) -> Address:
    """The address that a URL states.

    Raises
    ------
    SpecError
        It names no table, or holds a password, which is not repeated.
    """
    conninfo, own = parted(url, ("table",), "source")
    tables = own["table"]
    if len(tables) != 1 or not tables[0]:
        raise SpecError('Name the table: source = "postgresql://host/database?table=schema.visits". Nothing was read.')
    return Address(conninfo, tables[0])


@dataclass(frozen=True, slots=True)
class Catalog:
    """Facts of the catalog about one table: none of them is about a row.

    ``shows`` are the tables and views that a view reads, and the parts of a table, down to the last.
    ``nondeterministic`` are columns with a collation that takes different texts for equal.
    """

    server: str
    database: str
    schema: str
    name: str
    columns: tuple[tuple[str, str], ...]
    writable: bool
    steady: bool = False
    shows: tuple[str, ...] = ()
    nondeterministic: frozenset[str] = frozenset()

    @property
    def relation(self) -> str:
        """The quoted name of the table."""
        return f"{_quoted(self.schema)}.{_quoted(self.name)}"

    @property
    def identity(self) -> tuple[str, str]:
        """The database by the identity of its server, and the table: the same by any host name."""
        return f"postgresql://{self.server}/{self.database}", f"{self.schema}.{self.name}"


def catalog_of(url: str) -> Catalog:
    """The catalog's facts about the table of a URL. No row is read.

    Raises
    ------
    SpecError
        No such table, or no right to read it or to make temporary tables.
    """
    at = address(url)
    with connect(at.conninfo) as connection:
        found = connection.execute(ABOUT, (at.table,)).fetchone()
        if found is None:
            raise SpecError(
                f"There is no table {at.table} in the database, or this role may not see it. Write schema.table as "
                'the catalog does, with "double quotes" where capitals count. Nothing was read.'
            )
        database, schema, name, kind, reads, writes, temporary, above, server, encoding, standby, number, width = found
        columns = connection.execute(COLUMNS, (number,)).fetchall()
        reached = connection.execute(REACHED, (number,)).fetchall()
    if kind not in KINDS:
        raise SpecError(f"{at.table} is no table and no view. Nothing was read.")
    if not reads:
        raise SpecError(f"This role may not read {at.table}: GRANT SELECT ON {at.table} TO it. Nothing was read.")
    if encoding != "UTF8":
        raise SpecError("The database does not store UTF-8, so texts have no one order. Nothing was read.")
    if standby or not temporary:
        raise SpecError(
            "A run keeps what it computes in temporary tables, which this role may not make here (a standby makes "
            "none). GRANT TEMPORARY ON DATABASE, or read from the primary server. Nothing was read."
        )
    steady = kind != "v" and not any(each == "f" or policies for *_, each, policies in reached)
    return Catalog(
        str(server),
        database,
        schema,
        name,
        tuple((each, told) for each, told, _ in columns),
        bool(writes or above),
        steady and (width or 0) <= NARROW,
        tuple(f"{space}.{each}" for space, each, *_ in reached if (space, each) != (schema, name)),
        frozenset(each for each, _, blurred in columns if blurred),
    )


def fields_in_postgres(url: str) -> list[tuple[str, str]]:
    """Names and types of the columns of a table, by the catalog, in the words of Arrow; for ``init``."""
    return [(name, next((arrow for known, arrow in ARROW if kind.startswith(known)), "string")) for name, kind in (
        catalog_of(url).columns
    )]  # fmt: skip


def check_reader(found: Catalog) -> None:
    """Refuse a role that may change the table: what reads private rows needs no such right.

    Raises
    ------
    SpecError
        With the statements that make a role for reading.
    """
    if found.writable:
        raise SpecError(
            f"This role may write to {found.schema}.{found.name}. A study reads with a role that cannot: CREATE ROLE "
            f"reader LOGIN; GRANT USAGE ON SCHEMA {found.schema} TO reader; GRANT SELECT ON "
            f"{found.schema}.{found.name} TO reader. Then write postgresql://reader@… Nothing was read."
        )


@dataclass(frozen=True, slots=True, repr=False)
class DatabaseSource:
    """A table that stays in its database."""

    engine: Postgres
    catalog: Catalog
    storage: Mapping[str, Storage]
    reading: Reading = field(default_factory=Reading)
    named: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        database, table = self.catalog.identity
        return f"{database}?table={table}"

    @property
    def steady(self) -> bool:
        """True of a table of the server itself, with narrow rows: what a view or another server gives may change."""
        return self.catalog.steady

    def __repr__(self) -> str:
        return "<private rows in a database>"

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        raise TypeError("these rows stay in their database")

    def selection(self, columns: Mapping[str, str]) -> str:
        """A statement that selects columns in their storage, under plain names."""
        types = dict(self.catalog.columns)
        cells = [
            f"{_cell(self._told(column, types[column]), types[column], self.storage[column])} AS {_quoted(inside)}"
            for inside, column in columns.items()
        ]
        wanted_cells = ", ".join(cells) or "NULL::bigint AS none"
        return f"SELECT {wanted_cells} FROM {self.catalog.relation}"  # noqa: S608 - names are quoted

    def _told(self, column: str, kind: str) -> str:
        """The column; where it names persons or keys, so that cells which are equal in the database have one text."""
        one_text = ONE_TEXT.get(kind) if column in self.named else None
        return _quoted(column) if one_text is None else one_text.format(_quoted(column))


def open_database(url: str, schema: Schema) -> DatabaseSource:
    """The source behind the URL of a table. The catalog is asked; no row is read.

    Parameters
    ----------
    url : str
    schema : Schema

    Returns
    -------
    DatabaseSource

    Raises
    ------
    SpecError
        The table cannot be read, can be written to, lacks a declared column, or has one of a type that does not fit.
    """
    found = catalog_of(url)
    check_reader(found)
    check_names([name for name, _ in found.columns], schema, f"{found.schema}.{found.name}")
    types = dict(found.columns)
    storage = {name: _storage(types[name], schema, name) for name in wanted(schema)}
    if odd := [name for name in filter(schema.names_rows, storage) if name in found.nondeterministic]:
        refuse_collation(odd[0], '"C"')
    return DatabaseSource(
        Postgres(address(url).conninfo), found, storage, named=frozenset(filter(schema.names_rows, storage))
    )


def _storage(kind: str, schema: Schema, name: str) -> Storage:
    if kind in WHOLE:
        return "whole"
    if kind in REAL:
        return "real"
    if kind == "boolean":
        return "truth"
    if kind in TEXT:
        return "text"
    if kind == "date" and takes_text(schema, name):
        return "text"
    if kind == "date" and calendar_of(schema, name) is not None:
        return "seconds"
    if kind.startswith("timestamp") and calendar_of(schema, name) is not None:
        return moments_storage(schema, name, aware=kind == "timestamp with time zone")
    raise SpecError(unfit(name, kind))


def _cell(column: str, kind: str, storage: Storage) -> str:
    """The cell in its storage. No cell makes it fail; an infinite date is a missing one."""
    match storage:
        case "whole":
            return f"{column}::bigint"
        case "real":
            return f"{column}::double precision"
        case "truth":
            return f"{column}::boolean"
        case "seconds" | "instants":
            if kind == "date":
                days = f"({column} - DATE '1970-01-01')::bigint * 86400"
                return f"CASE WHEN isfinite({column}) THEN {days} END"
            return f"CASE WHEN isfinite({column}) THEN floor(extract(epoch FROM {column}))::bigint END"
        case _:
            return f'{column}::text COLLATE "C"'


def _quoted(name: Any) -> str:
    return '"' + str(name).replace('"', '""') + '"'
