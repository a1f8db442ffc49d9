"""A table: a handle on private rows that answers queries with integers, and shows nothing else.

``open_table`` reads no row. ``run`` reads them after the charge. Any failure inside it becomes one ``EngineFailure``
with a constant text. The engine's own words may quote rows, and go to the curator's log only.
"""

from __future__ import annotations

import datetime
import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NoReturn
from zoneinfo import ZoneInfo

from reticent.calendar import Calendar
from reticent.data.columns import arrow_type
from reticent.data.engines.engine import (
    PROBE_DIGEST,
    Adopted,
    ColumnsInPlace,
    Dialect,
    Engine,
    EngineSession,
    GuestEngine,
    Names,
    SourceInPlace,
    TestedEngine,
    WorksInParts,
    check_engine_settings,
    join_keys,
    probe_queries,
    probe_rows,
    probe_schema,
)
from reticent.data.format import SCANS, Limits
from reticent.data.order_statistics import RunLength
from reticent.data.query import (
    DistinctPersons,
    OrderedValues,
    Query,
    Ranks,
)
from reticent.data.query_result import Counts, QueryResult, ResultReader, content, is_sorted
from reticent.data.schema import (
    Integer,
    Person,
    Schema,
    flat,
    read_columns,
    unfiltered,
)
from reticent.data.source import Source, check_truths, engine_of, open_source, with_numbers
from reticent.errors import QuestionError, Refusal, ReticentError, SpecError

if TYPE_CHECKING:
    import pyarrow as pa

Log = Callable[[str, str], None]
Seen = Callable[[int, float], None]
Then = Callable[[Sequence[QueryResult]], None]

KEY_BYTES: Final = 32
TOGETHER: Final = 16  # results of parts of the rows that are added up


class EngineFailure(ReticentError):
    """The engine failed while rows were being read. The text is constant but for the reference."""

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(
            f"The engine failed. Reference {reference}. The cause is in the curator's protected log, if one was set up."
        )


class Table:
    """A handle on private rows."""

    __slots__ = (
        "_ends",
        "_engine",
        "_further",
        "_limits",
        "_lock",
        "_log",
        "_read",
        "_running",
        "_seen",
        "_source",
        "_stopped",
        "_swallowed",
        "schema",
    )

    def __init__(
        self,
        source: Source,
        schema: Schema,
        limits: Limits,
        log: Log | None,
        seen: Seen | None = None,
        *,
        swallowed: Callable[[], None] | None = None,
        engine: Engine | None = None,
        further: Mapping[str, Source] | None = None,
    ) -> None:
        self.schema = schema
        self._engine = engine_of(source) if engine is None else engine
        self._source: Source | None = source
        self._further = dict(further or {})
        if any(isinstance(one, SourceInPlace) and one.engine != self._engine for one in self._further.values()):
            raise SpecError("A further table stays in another database than the main one. Export one of them first.")
        self._limits, self._log, self._seen, self._swallowed = limits, log, seen, swallowed
        self._stopped = False
        self._lock = threading.Lock()
        self._ends: float | None = None
        self._read = 0.0
        self._running: EngineSession | None = None

    def take(self, other: Table) -> None:
        """Become a table of the same rows, engine and limits."""
        for name in Table.__slots__:
            setattr(self, name, getattr(other, name))

    @property
    def source(self) -> Source:
        """The source, refused after ``close``."""
        return self._open()

    @property
    def dialect(self) -> Dialect:
        """The SQL of its engine."""
        return self._engine.dialect

    @property
    def place(self) -> str | None:
        """The resolved path of the source, or None for a table in memory."""
        return self._open().place

    @property
    def packages(self) -> str:
        """Names of what its engine is made of."""
        *names, last = self._engine.packages
        return f"{', '.join(names)} and {last}"

    def run(
        self, queries: Sequence[Query], key: bytes, schema: Schema | None = None, then: Then | None = None
    ) -> list[QueryResult]:
        """The answers, in order. Rows are kept by a hash keyed with ``key``: fresh, secret, 32 bytes.

        ``schema`` is that of a view of the table, with rows chosen or columns computed; by default the table's own.

        Parameters
        ----------
        queries : sequence of Query
        key : bytes of length 32
            Fresh and secret: chooses the rows that are kept.
        schema : Schema, optional
            Of a view; by default the table's own.
        then : callable, optional
            Told the answers while the engine has the rows, so that what it draws may ask for more.

        Returns
        -------
        list of QueryResult
            Exact integers, in the order of the queries.

        Raises
        ------
        QuestionError
            Before any row is read, where a query does not fit the schema.
        EngineFailure
            Where reading failed; nothing of the cause is shown.
        """
        if len(key) != KEY_BYTES:
            raise ValueError(f"the key must have {KEY_BYTES} bytes")
        view = self.schema if schema is None else schema
        view = flat(view) if not self.schema.tables else view  # made-up rows are joined already
        return self.answers(queries, key, view, then=then)

    def answers(
        self,
        queries: Sequence[Query],
        key: bytes,
        view: Schema,
        part: Source | None = None,
        then: Then | None = None,
    ) -> list[QueryResult]:
        """The answers of ``run``, or those of a part of the rows.

        Parameters
        ----------
        queries : sequence of Query
        key : bytes of length 32
        view : Schema
            Of the columns, flat.
        part : Source, optional
            Some of the rows, in the storage of the whole; by default all.
        then : callable, optional
            As of ``run``.

        Returns
        -------
        list of QueryResult
        """
        from reticent.data import query_compiler

        source = self.source if part is None else part
        used = query_compiler.columns_of(queries, view)
        asked = queries, view, source.storage, key, self._engine.dialect
        told = query_compiler.statements(*asked)

        def work(engine: EngineSession) -> list[QueryResult]:
            self._store_further(engine, view, used, key)
            for name, table in told.lists.items():
                engine.put(name, table)
            rows = self._adopted(source, view, used)
            parts = engine if isinstance(engine, WorksInParts) else None
            turns: Iterable[bool] = [False]
            if told.small and parts is not None and not isinstance(rows, ColumnsInPlace):
                step = next(iter(told.steps.items()))
                if told.adds_up and view.person.column is None:  # then no row need be kept
                    turns = parts.store_in_turn(*told.first, rows, step=step)
                else:
                    parts.store_in_pieces(*told.first, rows, step=step)
            else:
                engine.store(*told.first, rows, steps=told.steps, light=told.light)
            if parts is not None and told.adds_up and view.person.column is not None:
                turns = parts.person_sets(told.first[0])
            found, stays = list[list[QueryResult]](), then is not None and self._engine.name in SCANS
            reading = ResultReader(engine, told.first[0], *asked, self._limits.temp, again, stays=stays)
            for many in turns:
                for how, name, text in told.further:
                    (engine.keep if how == "keep" else engine.view)(name, text)
                reading.begin(many=many)
                found.append([reading.read(*one) for one in zip(queries, told.asked, told.places, strict=True)])
                if len(found) == TOGETHER and not any(map(is_sorted, found[-1])):
                    found = [_together(found)]
            results = found[0] if len(found) == 1 else _together(found)
            if then is not None:
                then(results)
            reading.end(results)
            return results

        def again(query: Ranks) -> tuple[Counts, ...]:
            return self.answers([query], key, view)[0].ranks

        return self._reading(work, key)

    def units(self) -> int:
        """The number of persons, or of rows where each row is a person: public under substitution, refused otherwise.

        Raises
        ------
        QuestionError
            Under add/remove, where the number is private.
        """
        if self.schema.person.adjacency != "substitute":
            raise QuestionError(
                "The number of people is private here: adjacency add_remove hides whether someone is in the file. "
                "Ask for rt.count(), or declare [person] people."
            )
        return self.run([DistinctPersons()], bytes(KEY_BYTES), unfiltered(self.schema))[0].vectors[0][0]

    def probe(self, limits: Limits | None = None) -> None:
        """Run made-up rows through the engine and compare with the known digest; before any charge.

        Raises
        ------
        EngineFailure
            Where the engine cannot be started or computes something else than it should.
        Refusal
            Where its session has functions of its own in place of built-in ones.
        """
        if isinstance(self._engine, GuestEngine) and (names := self._engine.replaced()):
            raise Refusal(
                f"The session of {self._engine.name} has functions of its own in place of built-in ones: "
                f"{', '.join(names)}. They would see rows. Register them under other names, in a new session. "
                "Nothing was charged."
            )
        remembers = self._engine if isinstance(self._engine, TestedEngine) else None
        limits = replace(limits or self._limits, timeout=None)
        state = f"{PROBE_DIGEST} {limits}"  # under limits that are too tight the engine does not start
        with suppress(Exception):  # of an engine that does not start: the test itself says so
            if remembers is not None and remembers.tested(state):
                return
        rows, schema = probe_rows(), probe_schema()
        table = Table(open_source(rows, schema), schema, limits, self._log, engine=self._engine)
        results = table.run(probe_queries(), bytes(range(KEY_BYTES)))
        found = hashlib.sha256(repr([content(result) for result in results]).encode())
        if found.hexdigest() != PROBE_DIGEST:
            raise EngineFailure(_reference())
        with suppress(Exception):  # one that may not be told is tested again
            if remembers is not None:
                remembers.note_tested(state)

    def probe_zones(self) -> None:
        """Convert times of the declared zones in the engine, as Python does; before any charge.

        Raises
        ------
        EngineFailure
            Where the engine does not know a zone, or has other rules for it.
        """
        moments = [datetime.datetime(2023, month, 15, 12, tzinfo=datetime.UTC) for month in (1, 7)]
        calendars = {column.calendar for column in self.schema.columns.values() if isinstance(column, Integer)}
        zones = sorted({calendar.zone for calendar in calendars if calendar is not None and calendar.zone})
        first, last = (int(datetime.datetime(year, 1, 1, tzinfo=datetime.UTC).timestamp()) for year in (2022, 2025))
        declared = {f"z{nth}": Integer(first, last, calendar=Calendar(1, zone)) for nth, zone in enumerate(zones)}
        schema = Schema(declared, Person("add_remove"))
        rows = {name: [moment.isoformat() for moment in moments] for name in declared}
        table = Table(
            open_source(rows, schema), schema, replace(self._limits, timeout=None), self._log, engine=self._engine
        )
        asked = [OrderedValues(name, Fraction(1)) for name in declared]
        for zone, found in zip(zones, table.run(asked, bytes(KEY_BYTES)) if asked else [], strict=True):
            walls = [moment.astimezone(ZoneInfo(zone)).replace(tzinfo=datetime.UTC) for moment in moments]
            expected = sorted(int(wall.timestamp()) for wall in walls)
            (order,) = found.orders
            if not isinstance(order, RunLength) or order.values.tolist() != expected:
                raise EngineFailure(_reference())

    def interrupt(self) -> None:
        """Stop a running query, from another thread; its run ends in an EngineFailure."""
        running = self._running
        if running is not None:
            running.interrupt()

    def close(self) -> None:
        """Let the rows go; nothing else is held between runs. A later run is refused."""
        self._source = None
        self._further.clear()

    def _store_further(self, engine: EngineSession, view: Schema, used: tuple[str, ...], key: bytes) -> None:
        """Keep the rows of further tables that are to stand beside those of this one."""
        if not view.tables:
            return
        from reticent.data import query_compiler
        from reticent.data.engines import joins

        for table in joins.stored_in_order(view, used):
            source, told = self._further[table], joins.stream_names(view, used, table)
            steps, name, text = query_compiler.side_statements(
                table, view, used, source.storage, key, self._engine.dialect
            )
            rows = self._under_names(source, [inside for inside, _ in told], [own for _, own in told])
            engine.store(name, text, rows, steps=steps, light=False)

    def _adopted(self, source: Source, view: Schema, used: Sequence[str]) -> Adopted:
        """The rows that are read, under their plain names: a stream, or a selection where the engine has them."""
        names, used = Names(view, used), read_columns(view, used)
        person, keys = view.person_here, join_keys(view)
        columns = [*used, *([person] if person is not None else []), *keys]
        inside = [*(names[name] for name in used), *(["who"] if person is not None else []), *keys.values()]
        return self._under_names(source, inside, columns)

    def _under_names(self, source: Source, inside: Sequence[str], columns: Sequence[str]) -> Adopted:
        """Columns of a source under their names inside the engine."""
        import pyarrow as pa

        if isinstance(source, SourceInPlace):
            return ColumnsInPlace(source, dict(zip(inside, columns, strict=True)))
        fields = [
            pa.field(name, arrow_type(source.storage[column])) for name, column in zip(inside, columns, strict=True)
        ]
        schema = pa.schema(fields or [pa.field("none", pa.int64())])
        once = list(dict.fromkeys(columns))  # the person column may be declared as a column too
        places = [once.index(column) for column in columns] or [0]
        return pa.RecordBatchReader.from_batches(schema, self._watched(source, once, places, schema))

    def _watched(
        self, source: Source, names: Sequence[str], places: Sequence[int], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """The batches, told one by one to whoever watches. An interrupt is noted, since the engine forgets it."""
        import pyarrow as pa

        rows = 0
        try:
            for batch in source.batches(names):
                rows += batch.num_rows
                if self._late():
                    raise TimeoutError("the time that was given is over")
                if self._seen is not None:
                    self._seen(rows, source.reading.share)
                yield pa.RecordBatch.from_arrays([batch.column(place) for place in places], schema=schema)
            if self._swallowed is not None and source.reading.swallowed:
                self._swallowed()
        except KeyboardInterrupt:
            self._stopped = True
            raise

    def _late(self) -> bool:
        return self._ends is not None and time.monotonic() >= self._ends

    @contextmanager
    def _until_the_end(self, engine: EngineSession) -> Iterator[None]:
        """Interrupt the engine from the end of its time on, until it has stopped; none reads after that time."""
        if self._ends is None:
            yield
            return
        done, ends = threading.Event(), self._ends

        def watch() -> None:
            if not done.wait(max(0.0, ends - time.monotonic())):
                while not done.wait(0.05):
                    with suppress(Exception):  # of an engine that has nothing to interrupt
                        engine.interrupt()

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield
            if self._late():
                raise TimeoutError("the time that was given is over")
        finally:
            done.set()
            watching.join()

    def _open(self) -> Source:
        if self._source is None:
            raise QuestionError("This table was closed. Open the study again.")
        return self._source

    def _reading(self, work: Callable[[EngineSession], list[QueryResult]], key: bytes) -> list[QueryResult]:
        self._stopped = False
        begun, timeout = time.monotonic(), self._limits.timeout
        self._ends = None if timeout is None else begun + timeout - self._read
        try:
            with self._lock, self._engine.session(self._limits) as engine:
                self._running = engine
                try:
                    with self._until_the_end(engine):
                        return work(engine)
                finally:
                    self._running = None
        except Exception as cause:
            self._stopped |= self._engine.interrupted(cause) and not self._late()
            reference = _reference()
            if self._log is not None:
                self._log(reference, f"{type(cause).__name__}: {cause}".replace(key.hex(), "…"))
        finally:
            self._read += time.monotonic() - begun  # and not what passes between readings, such as an audit
        # Raised here and not in the handler, so that the cause is not even its __context__.
        if self._stopped:
            raise KeyboardInterrupt
        raise EngineFailure(reference)

    def __repr__(self) -> str:
        return "<table of private rows>"

    def _refuse(self, *_: object) -> NoReturn:
        raise QuestionError(
            "X is a handle on private rows. Its length is a statistic: study.release([rt.count()], epsilon=…)."
        )

    def _refuse_copy(self, *_: object) -> NoReturn:
        raise QuestionError("X is a handle on private rows. It cannot be copied or pickled.")

    __len__ = __iter__ = __bool__ = __contains__ = __getitem__ = __array__ = _refuse
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refuse_copy


def _together(found: Sequence[Sequence[QueryResult]]) -> list[QueryResult]:
    """The results of all rows, of those of parts of them."""
    from reticent.data.result_parts import added

    return [added(each) for each in zip(*found, strict=True)]


def check_engine(table: Table) -> None:
    """Refuse an engine that does not compute what it should, before anything is charged."""
    try:
        table.probe()
    except EngineFailure as failure:
        raise Refusal(
            f"The engine does not compute here what it should ({failure.reference}). Check the installed versions "
            f"of {table.packages}. Nothing was charged."
        ) from None
    try:
        table.probe_zones()
    except EngineFailure as failure:
        raise Refusal(
            f"The engine does not know a declared time zone, or has other rules for it ({failure.reference}). Declare "
            f"another zone, or install the time zones of {table.packages}. Nothing was charged."
        ) from None


def open_table(
    source: object,
    schema: Schema,
    *,
    delimiter: str = ",",
    limits: Limits | None = None,
    log: Log | None = None,
    seen: Seen | None = None,
    swallowed: Callable[[], None] | None = None,
    further: Mapping[str, Source] | None = None,
    engine: str = "",
) -> Table:
    """A table over a path (CSV, Parquet, glob) or a table in memory. No row is read.

    Parameters
    ----------
    source : path, table in memory or mapping of name to array
    schema : Schema
    delimiter : str
        Of a CSV file.
    limits : Limits, optional
        Threads and memory of the engine.
    log : Log, optional
        Told the reference of a failure and the engine's words, for the curator alone.
    seen : Seen, optional
        Told the number of rows read and their share, for the curator alone.
    swallowed : function, optional
        Called where a quoted cell took in many lines, for the curator alone.
    further : mapping of name to Source, optional
        The sources of the schema's further tables.
    engine : str
        Name of the engine that is to read; empty for the one that has the rows.

    Returns
    -------
    Table
        A handle; no row is read.

    Raises
    ------
    SpecError
        Where the source is missing, unreadable, or does not have the declared columns. An engine that cannot read it.
    """
    limits = limits or Limits()
    found = with_numbers(open_source(source, schema, delimiter=delimiter, engine=engine), schema)
    check_truths(found, schema)
    if engine or limits != Limits():
        check_engine_settings(engine_of(found), engine, limits, schema)
    return Table(found, schema, limits, log, seen, swallowed=swallowed, further=further)


def _reference() -> str:
    return f"f-{time.time_ns():x}"
