"""A table: a handle on private rows that answers queries with integers, and shows nothing else.

``open_table`` reads no row. ``run`` reads them after the charge. Any failure inside it becomes one ``EngineFailure``
with a constant text. The engine's own words may quote rows, and go to the curator's log only.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from reticent.calendar import Calendar
from reticent.data.candidates import cells_on
from reticent.data.columns import arrow_type, values_of
from reticent.data.engine_settings import check_engine_settings
from reticent.data.engines.engine import (
    Adopted,
    ColumnsInPlace,
    Dialect,
    Engine,
    EngineSession,
    Names,
    SourceInPlace,
    TestedEngine,
    join_keys,
)
from reticent.data.format import Limits
from reticent.data.order_statistics import (
    Bracket,
    FetchedColumn,
    Integers,
    Needs,
    Order,
    RunLength,
    SortedColumn,
    fetch,
)
from reticent.data.query import (
    PARTS,
    CappedPersons,
    DistinctPersons,
    KeyHolders,
    Keys,
    KeyShares,
    Moments,
    OrderedValues,
    PresentValues,
    Query,
    Ranks,
    Records,
    Rows,
    Tally,
    Total,
    WeightedTally,
    keys_of,
)
from reticent.data.schema import Category, Column, Integer, Person, Real, Schema, Text, grid_by_width, grid_whole
from reticent.data.source import Source, engine_of, open_source, with_numbers
from reticent.data.transformations import flat, unfiltered
from reticent.errors import QuestionError, Refusal, ReticentError, SpecError

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.data.query_compiler import Scan

Log = Callable[[str, str], None]
Seen = Callable[[int, float], None]

KEY_BYTES: Final = 32


class EngineFailure(ReticentError):
    """The engine failed while rows were being read. The text is constant but for the reference."""

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(
            f"The engine failed. Reference {reference}. The cause is in the curator's protected log, if one was set up."
        )


class Counts(NamedTuple):
    """Cells that hold values, ascending, and how many each holds."""

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __repr__(self) -> str:
        return "<private counts>"


@dataclass(frozen=True, slots=True, repr=False)
class QueryResult:
    """Exact integers, before any noise: one entry per key in the order of ``among``, or one entry without keys.

    The entries of ``Ranks`` are in ``ranks``, those of ``OrderedValues`` in ``orders``. The array of ``Records`` (n,
    columns) is in ``records``, with their persons in ``owners`` if the query asks for them. ``holders`` has the
    texts of ``KeyHolders``, and ``degrees`` their persons in one text, in two and so on, if it asks for them. The sums
    of their shares are in ``returned``, in the same places. Those of every other query are in ``vectors``. The rest is
    empty.
    """

    vectors: tuple[tuple[int, ...], ...] = ()
    ranks: tuple[Counts, ...] = ()
    orders: tuple[Order, ...] = ()
    records: Integers | None = None
    owners: Integers | None = None
    holders: Mapping[str, int] | None = None
    degrees: Mapping[str, tuple[int, ...]] | None = None
    returned: Mapping[str, tuple[int, ...]] | None = None

    def __repr__(self) -> str:
        return "<private aggregates>"


def content(result: QueryResult) -> Hashable:
    """All that a result holds, so that two results are alike if and only if their contents are equal. Private."""
    ranks = tuple((tuple(found.cells.tolist()), tuple(found.counts.tolist())) for found in result.ranks)
    records = None if result.records is None else tuple(map(tuple, result.records.tolist()))
    found: tuple[Hashable, ...] = (
        result.vectors,
        ranks,
        tuple(_order_content(order) for order in result.orders),
        records,
    )
    if result.holders is not None:
        found = (*found, tuple(sorted(result.holders.items())))
    if result.degrees is not None:
        found = (*found, tuple(sorted(result.degrees.items())))
    if result.returned is not None:
        found = (*found, tuple(sorted(result.returned.items())))
    return found if result.owners is None else (*found, tuple(result.owners.tolist()))


def _order_content(order: Order) -> Hashable:
    match order:
        case RunLength(values=values, counts=counts):
            return tuple(values.tolist()), tuple(counts.tolist())
        case FetchedColumn(needs=needs, windows=windows, totals=totals):
            return needs, tuple(tuple(window.tolist()) for window in windows), totals
        case SortedColumn(values=values):
            return tuple(values.tolist())
        case _:
            raise TypeError(f"unknown kind of order: {type(order).__name__}")


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

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        """The answers, in order. Rows are kept by a hash keyed with ``key``: fresh, secret, 32 bytes.

        ``schema`` is that of a view of the table, with rows chosen or columns computed; by default the table's own.

        Parameters
        ----------
        queries : sequence of Query
        key : bytes of length 32
            Fresh and secret: chooses the rows that are kept.
        schema : Schema, optional
            Of a view; by default the table's own.

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
        return self.answers(queries, key, view)

    def answers(
        self, queries: Sequence[Query], key: bytes, view: Schema, part: Source | None = None
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

        Returns
        -------
        list of QueryResult
        """
        from reticent.data import query_compiler

        source = self.source if part is None else part
        used = query_compiler.columns_of(queries, view)
        told = query_compiler.statements(queries, view, source.storage, key, self._engine.dialect)

        def work(engine: EngineSession) -> list[QueryResult]:
            self._store_further(engine, view, used, key)
            for name, table in told.lists.items():
                engine.put(name, table)
            engine.store(*told.first, self._adopted(source, view, used), steps=told.steps, light=told.light)
            for how, name, text in told.further:
                (engine.keep if how == "keep" else engine.view)(name, text)
            reading = _Reading(engine, self._engine.dialect, view)
            return [reading.read(*one) for one in zip(queries, told.asked, told.places, strict=True)]

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

    def probe(self) -> None:
        """Run made-up rows through the engine and compare with the known digest; before any charge.

        Raises
        ------
        EngineFailure
            Where the engine cannot be started or computes something else than it should.
        """
        remembers = self._engine if isinstance(self._engine, TestedEngine) else None
        limits = replace(self._limits, timeout=None)
        state = f"{PROBE_DIGEST} {limits}"  # under limits that are too tight the engine does not start
        with suppress(Exception):  # of an engine that does not start: the test itself says so
            if remembers is not None and remembers.tested(state):
                return
        rows, schema = _probe_rows(), _probe_schema()
        table = Table(open_source(rows, schema), schema, limits, self._log, engine=self._engine)
        results = table.run(_probe_queries(), bytes(range(KEY_BYTES)))
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
        declared = {f"z{nth}": _zoned(zone) for nth, zone in enumerate(zones)}
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
        from reticent.data import query_compiler

        names, used = Names(view, used), query_compiler.read_columns(view, used)
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
    if limits.temp and not (Path(limits.temp).is_dir() and os.access(limits.temp, os.W_OK)):
        raise SpecError("[engine] temp must be a folder that this program may write to. Nothing was read.")
    found = with_numbers(open_source(source, schema, delimiter=delimiter, engine=engine), schema)
    if engine or limits != Limits():
        check_engine_settings(engine_of(found), engine, limits)
    return Table(found, schema, limits, log, seen, swallowed=swallowed, further=further)


def _reference() -> str:
    return f"f-{time.time_ns():x}"


# --- reading results --------------------------------------------------------------------------------------------------


class _Reading:
    """The results of one run. A statement that several queries share runs once."""

    def __init__(self, engine: EngineSession, dialect: Dialect, schema: Schema) -> None:
        self._engine, self._dialect, self._schema = engine, dialect, schema
        self._found: dict[str, list[tuple[Any, ...]]] = {}

    def read(self, query: Query, text: str, first: int) -> QueryResult:
        """The result of a query, whose integers begin at ``first``."""
        engine, keys = self._engine, keys_of(query)
        groups = 1 if keys is None else len(keys.among)
        match query:
            case Records():
                return _read_records(engine.arrow(text), query)
            case KeyHolders():
                return _read_holders(engine.arrow(text), query)
            case OrderedValues(needs=None):
                return QueryResult(orders=_read_runs(engine.arrow(text), groups))
            case OrderedValues(needs=Needs() as needs):
                columns = _columns(engine, self._dialect, query, text, self._schema)
                return QueryResult(orders=tuple(fetch(column, needs) for column in columns))
            case Ranks():
                return QueryResult(ranks=_read_ranks(engine.arrow(text), query, self._schema, groups))
            case WeightedTally():
                return QueryResult(vectors=_read_weights(engine.arrow(text), query, groups))
            case Tally(edges=(_, *_)):
                return QueryResult(vectors=_read_bins(engine.arrow(text), query, groups))
            case Tally():
                return QueryResult(vectors=_read_listed(engine.rows(text), query, groups))
            case _:
                return QueryResult(vectors=_read_vectors(self._rows(text), query, first, groups))

    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        if text not in self._found:
            self._found[text] = self._engine.rows(text)
        return self._found[text]


def _read_listed(rows: Sequence[tuple[Any, ...]], query: Tally, groups: int) -> tuple[tuple[int, ...], ...]:
    from reticent.data.engines.casts import key_text

    vectors = [[0] * query.bins for _ in range(groups)]
    bins = {key_text(key): place for place, key in enumerate(query.among)}
    for *place, key, count in rows:
        vectors[place[0] if place else 0][bins[key]] += _integer(count)
    return tuple(map(tuple, vectors))


def _read_vectors(
    rows: Sequence[tuple[Any, ...]], query: Query, first: int, groups: int
) -> tuple[tuple[int, ...], ...]:
    from reticent.data.query_compiler import integers_of

    size, grouped = integers_of(query), keys_of(query) is not None
    first += grouped
    nothing = (0,) * size
    vectors = [nothing] * groups
    for row in rows:
        vectors[row[0] if grouped else 0] = tuple(map(_integer, row[first : first + size]))
    return tuple(vectors)


def _integer(cell: int | Decimal | None) -> int:
    return 0 if cell is None else int(cell)


def _read_bins(found: pa.Table, query: Tally, groups: int) -> tuple[tuple[int, ...], ...]:
    """Values sorted into [e0, e1), ..., [e_{m-1}, e_m], those outside into the end bins, by comparing doubles."""
    inner = np.array([float(edge) for edge in query.edges[1:-1]], dtype=np.float64)
    vectors = np.zeros((groups, query.bins), dtype=np.int64)
    values, counts, where = _values_of(found)
    np.add.at(vectors, (where, np.searchsorted(inner, values, side="right")), counts)
    return tuple(tuple(vector) for vector in vectors.tolist())


def _read_weights(found: pa.Table, query: WeightedTally, groups: int) -> tuple[tuple[int, ...], ...]:
    """The parts of the weights of each bin, one bin after the other."""
    from reticent.data.engines.casts import key_text

    if query.edges:
        inner = [float(edge) for edge in query.edges[1:-1]]
        where = np.searchsorted(inner, values_of(found.column("bin")).astype(np.float64), side="right").tolist()
    else:
        bins = {key_text(key): place for place, key in enumerate(query.among)}
        where = [bins[key] for key in found.column("bin").to_pylist()]
    places = _places_of(found).tolist()
    vectors = [[0] * (PARTS * query.bins) for _ in range(groups)]
    for part in range(PARTS):
        for place, at, own in zip(places, where, found.column(f"n{part}_0").to_pylist(), strict=True):
            vectors[place][PARTS * at + part] += _integer(own)
    return tuple(map(tuple, vectors))


def _read_ranks(found: pa.Table, query: Ranks, schema: Schema, groups: int) -> tuple[Counts, ...]:
    cells = cells_on(query.on, schema.column(query.column), query.column)
    values, counts, where = _values_of(found)
    return tuple(Counts(*held) for held in by_group(where, cells.index(values), counts, groups))


def _values_of(found: pa.Table) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Values, how often each occurs, and the place of its group."""
    values, counts = (values_of(found.column(name)) for name in ("bin", "n"))
    return values.astype(np.float64), counts.astype(np.int64), _places_of(found)


def _places_of(found: pa.Table) -> NDArray[np.int64]:
    if "place" in found.column_names:
        return values_of(found.column("place")).astype(np.int64)
    return np.zeros(found.num_rows, np.int64)


def by_group(where: Integers, values: Integers, counts: Integers, groups: int) -> list[tuple[Integers, Integers]]:
    """Ascending values of each group with how often each occurs: one sort, whatever the number of groups.

    Parameters
    ----------
    where : array of shape (n,), int
        Group of each value.
    values, counts : array of shape (n,), int
        Values, which may repeat, and how often each occurs.
    groups : int

    Returns
    -------
    list of (values, counts)
        One pair for each group.
    """
    order = np.lexsort((values, where))
    where, values = where[order], values[order]
    first = np.flatnonzero(np.append(True, (where[1:] != where[:-1]) | (values[1:] != values[:-1]))[: len(where)])
    sums = np.add.reduceat(counts[order], first) if len(first) else counts
    ends = np.searchsorted(where[first], np.arange(groups + 1)).tolist()
    values = values[first]
    return [(values[low:high], sums[low:high]) for low, high in pairwise(ends)]


def _read_holders(found: pa.Table, query: KeyHolders) -> QueryResult:
    """Persons of each text, and those in one text, in two and so on with what returns to them."""
    keys = found.column("key").to_pylist()
    if not query.by_degree:
        return QueryResult(holders=dict(zip(keys, found.column("n").to_pylist(), strict=True)))
    places = list(zip(keys, found.column("degree").to_pylist(), strict=True))

    def told(name: str) -> dict[str, tuple[int, ...]]:
        numbers = {key: [0] * query.touch for key in keys}
        if name in found.column_names:  # no weight returns where each row is a person
            for (key, degree), number in zip(places, found.column(name).to_pylist(), strict=True):
                numbers[key][degree - 1] = int(number)
        return {key: tuple(each) for key, each in numbers.items()}

    degrees = told("n")
    holders = {key: sum(counts) for key, counts in degrees.items()}
    return QueryResult(holders=holders, degrees=degrees, returned=None if query.shares is None else told("back"))


def _read_records(found: pa.Table, query: Records) -> QueryResult:
    """Records in lexicographic order, and whose they are where that is asked for."""
    columns = [values_of(column).astype(np.int64) for column in found.columns]
    order = np.lexsort(columns[::-1])
    records = np.column_stack(columns[: len(query.columns)])[order]
    if query.owners == "untold":
        return QueryResult(records=records)
    persons = columns[-1][order] if len(columns) > len(query.columns) else np.arange(len(records))  # a row is a person
    return QueryResult(records=records, owners=persons)


def _read_runs(found: pa.Table, groups: int) -> tuple[RunLength, ...]:
    return tuple(RunLength(*runs) for runs in by_group(_places_of(found), *_steps_of(found), groups))


def _steps_of(found: pa.Table) -> tuple[Integers, Integers]:
    return values_of(found.column("bin")).astype(np.int64), values_of(found.column("n")).astype(np.int64)


def _ascending(steps: Integers, counts: Integers) -> tuple[Integers, Integers]:
    order = np.argsort(steps)
    return steps[order], counts[order]


@dataclass(frozen=True, slots=True, repr=False)
class _Column:
    """The values of one group, in the engine."""

    engine: EngineSession
    dialect: Dialect
    table: str
    unit: Fraction
    place: int | None

    def size(self) -> int:
        return _integer(self.engine.rows(self._text("size"))[0][0])

    def sample(self, share: float) -> NDArray[np.float64]:
        return values_of(self.engine.arrow(self._text("sample", share)).column("x")).astype(np.float64)

    def below(self, end: float) -> int:
        return _integer(self.engine.rows(self._text("below", end))[0][0])

    def inside(self, bracket: Bracket) -> RunLength:
        return RunLength(*_ascending(*_steps_of(self.engine.arrow(self._text("inside", *bracket)))))

    def between(self, low: int, high: int) -> tuple[int, int, int]:
        total, up_to, below = (_integer(cell) for cell in self.engine.rows(self._text("between", low, high))[0])
        return total, up_to, below

    def _text(self, asked: Scan, *numbers: float | int) -> str:
        from reticent.data.query_compiler import scan_text

        return scan_text(asked, self.table, self.unit, self.place, self.dialect, *numbers)


def _columns(engine: EngineSession, dialect: Dialect, query: OrderedValues, text: str, schema: Schema) -> list[_Column]:
    """One column per group. Rows as they are stay where they are; whatever takes a sort or a hash is done once."""
    if query.keys is None and (query.per == "row" or schema.person.column is None):
        engine.view("values_seen", text)
        return [_Column(engine, dialect, "values_seen", query.unit, None)]
    engine.keep("values_kept", text)
    groups: Sequence[int | None] = [None] if query.keys is None else range(len(query.keys.among))
    return [_Column(engine, dialect, "values_kept", query.unit, place) for place in groups]


def _zoned(zone: str) -> Integer:
    """Seconds of the year 2023 on the clocks of a zone."""
    first, last = (int(datetime.datetime(year, 1, 1, tzinfo=datetime.UTC).timestamp()) for year in (2022, 2025))
    return Integer(first, last, calendar=Calendar(1, zone))


# --- the self-test ----------------------------------------------------------------------------------------------------

PROBE_DIGEST: Final = "f6195e9a9727ef100cd0dd1b1cfc76ba61c3b807deb0cf19c36ab21221e80a26"


def _probe_schema() -> Schema:
    columns: dict[str, Column] = {
        "x": Real(Fraction(-3, 2), Fraction(3)),
        "k": Integer(0, 9),
        "d": Real(Fraction(-2), Fraction(5)),
        "w": Integer(),
        "g": Category(("a", "B", "b", "c")),
    }
    return Schema(columns, Person("add_remove", "who", rows=2), texts={"t": Text(24)})


def _probe_rows() -> dict[str, object]:
    """Made-up rows with what engines are known to read in two ways: see the comments."""
    xs: list[object] = ["1", " 2.5 ", "x", "", "1e400", "-inf", "nan", "-0.0", "0.1", "3", "Infinity", "1_0"]
    people = ["a", "B", "b", "A", "é", "aB", "Ab", ""]  # ties but for case: collations order and join them in two ways
    doubles = [math.nan, 2.5, -math.inf, math.inf, -0.0, 5e-324, 2.0**53, -1e300]  # NaN is missing
    whole = [2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, None, 0, 7]  # the last integers that are doubles, and beyond
    texts = ["x" * 23 + "Yz", "x" * 24, "y" * 30, "z" * 23 + " q", "tab\there", " é", "É", None, "B", "b"]
    many = range(48)
    return {
        "who": [people[(5 * i + i // 8) % 8] if i % 11 else None for i in many],
        "x": [xs[i % 12] for i in many],
        "k": [i % 11 if i % 3 else 2.5 for i in many],
        "d": np.array([doubles[i % 8] for i in many]),
        "w": [whole[i % 7] for i in many],
        "g": ["aBbcd"[i % 5] for i in many],
        "t": [texts[(i + i // 8) % 10] for i in many],
    }


def _probe_queries() -> list[Query]:
    keys, few = Keys("g", ("b", "a", "B", "c"), 1), Keys("g", ("a", "B", "b"), 2)
    grid = grid_by_width(Fraction(-3, 2), Fraction(3))
    return [
        Rows(keys),
        Rows(few),
        DistinctPersons(),
        CappedPersons(),
        PresentValues("x", keys, "person"),
        PresentValues("d"),
        Total("k", grid_whole(Fraction(0), Fraction(9)), keys),
        Total("k", grid_whole(Fraction(0), Fraction(9))),
        Moments("x", grid, 4),
        Moments("d", grid_by_width(Fraction(-2), Fraction(5)), 2, few),
        Tally("x", edges=(Fraction(-1), Fraction(1, 10), Fraction(1), Fraction(4))),
        Tally("g", among=("a", "c")),
        Tally("w", among=(2**53 - 1, 2**53, 7)),
        Ranks("x", keys),
        Ranks("d"),
        Ranks("k", None, "person"),
        KeyHolders("t", 1),
        KeyHolders("t", 2),
        KeyHolders("t", 2, by_degree=True),
        KeyHolders("t", 2, by_degree=True, shares=KeyShares((1 << 20, 741455), ((2 << 20, 8 << 20, 1 << 32),))),
        OrderedValues("x", Fraction(1, 8)),
        OrderedValues("w", Fraction(1)),
        OrderedValues("k", Fraction(3), Needs(((-1, 3), (6, 8)), ((0, 4), (2, 5)))),
        OrderedValues("x", Fraction(1, 8), Needs(((1, 3),)), keys),
        Records(("x", "k"), (Fraction(1, 8), Fraction(1))),
    ]
