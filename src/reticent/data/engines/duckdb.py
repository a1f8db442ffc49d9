"""DuckDB, embedded and locked down: no files, no extensions, no Python variables, a limit on memory and on spill.

A session lives for one run. Rows come in as a stream of Arrow batches, so the engine never opens a file; its
configuration is locked before the first row. Whatever it raises stays inside ``table``, since it may quote rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from reticent.data.engines.engine import Adopted, ColumnsInPlace, normalised
from reticent.data.format import Limits

if TYPE_CHECKING:
    import pyarrow as pa

LOCKED: Final = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}
INTERRUPTED: Final = "Query interrupted"  # its words when Ctrl-C struck inside it


@dataclass(frozen=True, slots=True)
class DuckDBDialect:
    """Its SQL as Ibis writes it: nothing is put right."""

    def write(self, expression: Any) -> str:
        """The text of an Ibis expression."""
        import ibis

        return str(ibis.to_sql(expression, dialect="duckdb"))


class DuckDBSession:
    """One locked connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def put(self, name: str, table: pa.Table) -> None:
        """Keep a small public table."""
        self._connection.register("put", table)
        try:
            self._connection.execute(f'CREATE TEMP TABLE "{name}" AS FROM put')
        finally:
            self._connection.unregister("put")

    def store(self, name: str, statement: str, rows: Adopted, *, steps: Mapping[str, str]) -> None:
        """Keep the outcome of ``statement`` as a table: the first step is a view of the stream, the others are tables.

        Each of those is there until the next is: inlined, the columns that it uses several times would double at each.

        Parameters
        ----------
        name : str
            Of the table.
        statement : str
            SQL over the last step.
        rows : RecordBatchReader
            The rows, as Arrow batches.
        steps : mapping of name to SQL
            In order.

        Raises
        ------
        TypeError
            Rows that are no Arrow batches.
        """
        if isinstance(rows, ColumnsInPlace):
            raise TypeError("this engine opens nothing: rows come to it as a stream")
        (first, text), *later = steps.items()
        self._connection.register("source", rows)
        try:
            self._connection.execute(f'CREATE TEMP VIEW "{first}" AS {text}')
            before = ""
            for step, text in (*later, (name, statement)):
                self._connection.execute(f'CREATE TEMP TABLE "{step}" AS {text}')
                if before:
                    self._connection.execute(f'DROP TABLE "{before}"')
                before = step
        finally:
            self._connection.unregister("source")

    def view(self, name: str, statement: str) -> None:
        """Name a statement over what is stored; it runs whenever it is read."""
        self._connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {statement}')

    def keep(self, name: str, statement: str) -> None:
        """Keep the outcome of a statement over what is stored, in place of the one of the same name."""
        self._connection.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {statement}')

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a small result, with exact integers."""
        fetched: list[tuple[Any, ...]] = self._connection.execute(statement).fetchall()
        return fetched

    def arrow(self, statement: str) -> pa.Table:
        """A result as Arrow."""
        return normalised(self._connection.sql(statement).to_arrow_table())

    def interrupt(self) -> None:
        """Stop what runs, from another thread."""
        self._connection.interrupt()


@dataclass(frozen=True, slots=True)
class DuckDB:
    """The engine that this package brings."""

    dialect: DuckDBDialect = DuckDBDialect()
    name: str = "duckdb"
    keeps: tuple[str, ...] = ("memory", "spill", "threads", "temp")
    packages: tuple[str, ...] = ("duckdb", "ibis-framework", "sqlglot")

    def session(self, limits: Limits) -> AbstractContextManager[DuckDBSession]:
        """A fresh session, for one run."""
        return _locked(limits)

    def interrupted(self, cause: BaseException) -> bool:
        """Tell if an error is Ctrl-C."""
        return str(cause) == INTERRUPTED

    def tested(self, digest: str) -> bool:
        """Tell if this process passed the self-test, at these versions."""
        return _state(digest) in _PASSED

    def note_tested(self, digest: str) -> None:
        """Remember that it did."""
        _PASSED.add(_state(digest))


_PASSED: Final[set[tuple[str, ...]]] = set()  # of this process; results depend on versions and on nothing else


def _state(digest: str) -> tuple[str, ...]:
    return digest, *(version(name) for name in ("duckdb", "ibis-framework", "sqlglot"))


DUCKDB: Final = DuckDB()


@contextmanager
def _locked(limits: Limits) -> Iterator[DuckDBSession]:
    """A fresh database in memory; its temporary folder is private and removed at the end."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="reticent-", dir=limits.temp or None) as folder:
        config: dict[str, Any] = {
            **LOCKED,
            "memory_limit": limits.memory,
            "max_temp_directory_size": limits.spill,
            "temp_directory": f"{folder}/spill",
        }
        if limits.threads is not None:
            config["threads"] = str(limits.threads)
        connection = duckdb.connect(":memory:", config=config)
        try:
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET lock_configuration = true")
            yield DuckDBSession(connection)
        finally:
            connection.close()
