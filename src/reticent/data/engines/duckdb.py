"""DuckDB, embedded and locked down: no files, no extensions, no Python variables, a limit on memory and on spill.

A session lives for one run. Rows come in as a stream of Arrow batches, so the engine never opens a file; its
configuration is locked before the first row. Whatever it raises stays inside ``table``, since it may quote rows.

Starting a database takes longer than a small release. So an empty one waits for the next run of the same limits, if
the last run ended well and left no file. Nothing of a run stays in it, and two runs never share one.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from reticent.data.engines.engine import Adopted, ColumnsInPlace, normalised
from reticent.data.format import MOST_SETS, SET, Limits

if TYPE_CHECKING:
    import pyarrow as pa

LOCKED: Final = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}
PIECE: Final = 1 << 23  # bytes of rows that are stored at a time, at least
ROW_GROUP: Final = 122_880  # rows that DuckDB compresses together
WIDEST: Final = 1 << 27  # bytes of rows that are stored at a time, at most
OF_THREAD: Final = 40_000_000  # bytes of memory that each thread needs, since it groups and sorts parts of its own
BATCH: Final = 1 << 17  # rows of a long result that are handed over together
AS_WRITTEN: Final = "build_side_probe_side"  # the plan joins rows to what is small; DuckDB has kept the rows instead
_NUMBERS: Final = count(1)  # of databases whose tables are compressed
INTERRUPTED: Final = "Query interrupted"  # its words when Ctrl-C struck inside it


@dataclass(frozen=True, slots=True)
class DuckDBDialect:
    """Its SQL as Ibis writes it, but for hexadecimal digits and exact sums."""

    def write(self, expression: Any) -> str:
        """The text of an Ibis expression."""
        made = _compiler()
        return str(made.to_sqlglot(expression.unbind()).sql(dialect=made.dialect, pretty=True))


@lru_cache(maxsize=1)
def _compiler() -> Any:
    """Ibis's compiler for this engine; made when it is first needed, since Ibis is slow to load."""
    import ibis.expr.datatypes as dt
    import ibis.expr.operations as ops
    import sqlglot.expressions as sge
    from ibis.backends.sql.compilers.duckdb import DuckDBCompiler

    class Compiler(DuckDBCompiler):  # type: ignore[misc]
        """Statements of the plan as DuckDB runs them."""

        __slots__ = ()

        def visit_ScalarUDF(self, op: Any, **operands: Any) -> Any:
            if op.__func_name__ != "hexadecimal":
                return super().visit_ScalarUDF(op, **operands)
            (digits,) = operands.values()
            return self.cast(sge.DPipe(this=sge.convert("0x"), expression=digits), dt.int64)

        def visit_Sum(self, op: Any, *, arg: Any, where: Any) -> Any:
            """A sum of 64-bit integers, which is of 128 bits here: its terms need not be made decimal first."""
            if not (isinstance(op.arg, ops.Cast) and op.arg.to.is_decimal() and op.arg.arg.dtype == dt.int64):
                return super().visit_Sum(op, arg=arg, where=where)
            return self.agg.sum(arg.this, where=where)  # alone, since a window may stand behind it

    return Compiler()


class DuckDBSession:
    """One locked connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._made: dict[str, str] = {}
        self._compressed = ""  # a database in memory whose tables are compressed, of this run alone
        self._running, self._lock = True, threading.Lock()

    def put(self, name: str, table: pa.Table) -> None:
        """Keep a small public table."""
        self._connection.register("put", table)
        try:
            self._make("TABLE", name, "FROM put")
        finally:
            self._connection.unregister("put")

    def store(self, name: str, statement: str, rows: Adopted, *, steps: Mapping[str, str], light: bool) -> None:
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
        light : bool
            Makes no difference here.

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
            self._make("VIEW", first, text)
            before = ""
            for step, text in (*later, (name, statement)):
                self._make("TABLE", step, text)
                if before:
                    self._drop(before)
                before = step
        finally:
            self._connection.unregister("source")

    def store_in_pieces(self, name: str, statement: str, rows: pa.RecordBatchReader, *, step: tuple[str, str]) -> None:
        """Keep the outcome of ``statement``, which makes each row of one row of the stream, one piece after the other.

        Tables are compressed when they are written out, and until then they take several times the memory.

        Parameters
        ----------
        name : str
            Of the table.
        statement : str
            SQL over the step.
        rows : RecordBatchReader
            The rows, as Arrow batches.
        step : (name, SQL)
            A view of the stream.
        """
        import pyarrow as pa

        for piece, last in _pieces(rows):
            if last and not self._compressed:  # so few rows that they take no memory worth the time
                self.store(name, statement, piece, steps=dict([step]), light=False)
                return
            self._connection.register("source", piece)
            try:
                if self._compressed:
                    self._connection.execute(f'INSERT INTO {self._compressed}."{name}" {statement}')
                else:
                    self._compressed = f"kept_{next(_NUMBERS)}"
                    self._connection.execute(f"ATTACH ':memory:' AS {self._compressed} (COMPRESS)")
                    self._make("VIEW", *step)
                    self._connection.execute(f'CREATE TABLE {self._compressed}."{name}" AS {statement}')
            finally:
                self._connection.unregister("source")
            self._connection.execute(f"CHECKPOINT {self._compressed}")
        self._make("VIEW", name, f'FROM {self._compressed}."{name}"')
        pa.default_memory_pool().release_unused()  # what the reader held for further batches

    def store_in_turn(
        self, name: str, statement: str, rows: pa.RecordBatchReader, *, step: tuple[str, str]
    ) -> Iterator[bool]:
        """Let a table hold the outcome of ``statement`` for one piece of the stream after another.

        Parameters
        ----------
        name : str
            Of the table.
        statement : str
            SQL over the step, which makes each row of one row of the stream.
        rows : RecordBatchReader
            The rows, as Arrow batches.
        step : (name, SQL)
            A view of the stream.

        Yields
        ------
        bool
            True of a piece that is not the last; at least once.
        """
        for piece, last in _pieces(rows):
            self.store(name, statement, piece, steps=dict([step]), light=False)
            yield not last

    def person_sets(self, name: str) -> Iterator[bool]:
        """Let a table hold the rows of one set of persons after another, by a hash; of all at once where it is short.

        What is counted by person takes memory by the number of persons, and what fits a cache is counted faster.

        Parameters
        ----------
        name : str
            Of a stored table with the column "who".

        Yields
        ------
        bool
            True where there are several sets of persons.
        """
        sets = min(-(-self.about(name) // SET), MOST_SETS)
        if sets < 2:
            yield False
            return
        whole = f'{self._compressed}."{name}"' if self._made[name] == "VIEW" else f'"all_{name}"'
        if self._made[name] == "TABLE":
            self._connection.execute(f'ALTER TABLE "{name}" RENAME TO "all_{name}"')
            self._made[f"all_{name}"] = self._made.pop(name)
        for nth in range(sets):
            self._make("VIEW", name, f"FROM {whole} WHERE (hash(who) >> 32) % {sets} = {nth}")
            yield True

    def view(self, name: str, statement: str) -> None:
        """Name a statement over what is stored; it runs whenever it is read."""
        self._make("VIEW", name, statement)

    def keep(self, name: str, statement: str) -> None:
        """Keep the outcome of a statement over what is stored, in place of the one of the same name."""
        self._make("TABLE", name, statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a small result, with exact integers."""
        fetched: list[tuple[Any, ...]] = self._connection.execute(statement).fetchall()
        return fetched

    def arrow(self, statement: str) -> pa.Table:
        """A result as Arrow."""
        return normalised(self._connection.sql(statement).to_arrow_table())

    def about(self, name: str) -> int:
        """Number of rows of a stored table."""
        ((rows,),) = self.rows(f'SELECT count(*) FROM "{name}"')  # noqa: S608 - a name of the plan
        return int(rows)

    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        """A long result as Arrow, a batch at a time."""
        yield from self._connection.sql(statement).to_arrow_reader(BATCH)

    def interrupt(self) -> None:
        """Stop what runs, from another thread; nothing where the session is over."""
        with self._lock:
            if self._running:
                self._connection.interrupt()

    def end(self) -> None:
        """Drop all that was made; no interrupt strikes after."""
        with self._lock:
            self._running = False
        for name in [*reversed(self._made)]:
            self._drop(name)
        if self._compressed:
            self._connection.execute(f"DETACH {self._compressed}")
            self._compressed = ""

    def _make(self, kind: str, name: str, statement: str) -> None:
        if name in self._made:
            self._drop(name)
        self._connection.execute(f'CREATE TEMP {kind} "{name}" AS {statement}')
        self._made[name] = kind

    def _drop(self, name: str) -> None:
        self._connection.execute(f'DROP {self._made.pop(name)} "{name}"')


def _pieces(rows: pa.RecordBatchReader) -> Iterator[tuple[pa.RecordBatchReader, bool]]:
    """The rows in pieces of about the same size in memory, each with the word if it is the last.

    A piece ends where a group of rows does, unless its rows are too wide: a group that several pieces fill is
    compressed anew by each.
    """
    import pyarrow as pa

    kept, last = list[pa.RecordBatch](), False
    while not last:
        size, many = sum(batch.nbytes for batch in kept), sum(batch.num_rows for batch in kept)
        while (size < PIECE or many < ROW_GROUP) and size < WIDEST and not last:
            batch = next(rows, None)
            last = batch is None
            if batch is not None:
                kept.append(batch)
                size, many = size + batch.nbytes, many + batch.num_rows
        table = pa.Table.from_batches(kept, rows.schema)
        many -= 0 if last or many < ROW_GROUP else many % ROW_GROUP
        kept = table.slice(many).to_batches()
        yield table.slice(0, many).to_reader(), last


@dataclass(frozen=True, slots=True)
class DuckDB:
    """The engine that this package brings."""

    dialect: DuckDBDialect = DuckDBDialect()
    name: str = "duckdb"
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


@lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    return tuple(version(name) for name in ("duckdb", "ibis-framework", "sqlglot"))


def _state(digest: str) -> tuple[str, ...]:
    return digest, *_versions()


DUCKDB: Final = DuckDB()


class _Database:
    """A locked database in memory, with a temporary folder of its own that stands while it works."""

    def __init__(self, limits: Limits) -> None:
        import duckdb

        self.folder = tempfile.mkdtemp(prefix="reticent-", dir=limits.temp or None)
        try:
            config: dict[str, Any] = {
                **LOCKED,
                "preserve_insertion_order": "false",  # no statement means an order that it does not name
                "memory_limit": limits.memory,
                "max_temp_directory_size": limits.spill,
                "temp_directory": f"{self.folder}/spill",
            }
            fit = max(limits.memory_bytes // OF_THREAD, 1)
            if limits.threads is not None or (os.cpu_count() or 1) > fit:
                config["threads"] = str(min(limits.threads or fit, fit))
            self.connection = duckdb.connect(":memory:", config=config)
            self.connection.execute("SET enable_progress_bar = false")
            self.connection.execute(f"SET disabled_optimizers = '{AS_WRITTEN}'")
            self.connection.execute("SET lock_configuration = true")
        except BaseException:
            self._remove()
            raise

    def works_again(self) -> bool:
        """Tell if its folder could be made again; one of that name is somebody else's."""
        try:
            os.mkdir(self.folder, 0o700)
        except OSError:
            self.connection.close()
            return False
        return True

    def rests(self) -> bool:
        """Remove its folder. Tell if no file was left there."""
        left = any(files for *_, files in os.walk(self.folder))
        self._remove()
        return not left

    def close(self) -> None:
        try:
            self.connection.close()
        finally:
            self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


_WAITING: Final[dict[tuple[str | int | None, ...], _Database]] = {}  # one for each set of limits
MOST_WAITING: Final = 2


def close_waiting() -> None:
    """Close the databases that wait for a run."""
    while _WAITING:
        _WAITING.popitem()[1].connection.close()


atexit.register(close_waiting)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=close_waiting)  # a child process has none of the threads of a database


@contextmanager
def _locked(limits: Limits) -> Iterator[DuckDBSession]:
    """An empty locked database, for one run."""
    kind = limits.memory, limits.spill, limits.threads, limits.temp
    database = _WAITING.pop(kind, None)
    if database is None or not database.works_again():
        database = _Database(limits)
    waits = False
    try:
        session = DuckDBSession(database.connection)
        yield session
        session.end()
        if database.rests() and len(_WAITING) < MOST_WAITING:
            waits = _WAITING.setdefault(kind, database) is database
    finally:
        if not waits:
            database.close()
