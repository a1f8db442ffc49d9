"""Results of queries: exact integers as a table answers with them, read from what an engine hands over."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import cells_on
from reticent.data.columns import Storage, values_of
from reticent.data.engines.engine import Dialect, EngineSession, LongResults, WorksInParts, integer
from reticent.data.format import LISTED_EDGES
from reticent.data.order_statistics import (
    STRIDE,
    Bracket,
    FetchedColumn,
    Integers,
    IntegerSequence,
    Needs,
    Order,
    RunLength,
    SortedColumn,
    by_group,
    counted,
    fetch,
    places_below,
    stretch,
)
from reticent.data.query import PARTS, KeyHolders, OrderedValues, Query, Ranks, Records, Tally, WeightedTally, keys_of
from reticent.data.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.data.engines.rank_windows import Held
    from reticent.data.query_expressions import Scan
    from reticent.data.sorted_cells import Spool
    from reticent.data.value_scans import ValueScans


LONG: Final = 1 << 18  # rows of a table from which on a sample of its values is taken
PIECE: Final = 1 << 18  # values that are looked at together


class Counts:
    """Cells that hold values, ascending, and how many each holds; they may be known as one for each value.

    ``hidden`` are places, from each first to before each last, of values that stayed in their engine. They are counted
    with the values on one of their sides.
    """

    __slots__ = ("_cells", "_counts", "hidden")
    scans: ValueScans | None = None  # of values in their engine, while it has them

    def __init__(self, cells: Integers, counts: Integers, hidden: tuple[tuple[int, int], ...] = ()) -> None:
        self._cells, self._counts, self.hidden = cells, counts, hidden

    @property
    def cells(self) -> Integers:
        """Cells that hold values, ascending."""
        return self._cells

    @property
    def counts(self) -> Integers:
        """Number of values of each cell, or the sum of their weights."""
        return self._counts

    @property
    def total(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    def beyond(self, crowd: int) -> int:
        """Number of values beyond the ``crowd``-th of their cell."""
        return int(np.maximum(self.counts - crowd, 0).sum())

    def pieces(self) -> Iterator[Counts]:
        """The same in parts, in order; a cell may be in two of them."""
        yield self

    @property
    def sizes(self) -> Counts:
        """The cells of the values without their signs, where all values are not here."""
        return self

    def every(self) -> Counts:
        """All values, where some stayed in their engine."""
        return self

    def __repr__(self) -> str:
        return "<private counts>"


class SortedCells(Counts):
    """Cells that hold values, one for each value, ascending; those equal are counted when they are asked for.

    Parameters
    ----------
    each : array of int, or a sequence that is read as one is
        Cells, ascending.
    move : callable, optional
        Monotone map of cells that is applied to what is looked at.
    """

    __slots__ = ("_index", "_move", "each")

    def __init__(self, each: IntegerSequence, move: Callable[[Integers], Integers] | None = None) -> None:
        super().__init__(np.empty(0, np.int64), np.empty(0, np.int64))
        self.each, self._move = each, move
        self._index: Integers | None = None

    def held(self, first: int, last: int) -> Integers:
        """Cells of the values from place ``first`` to before ``last``."""
        found = self.each[first:last]
        return found if self._move is None else self._move(found)

    def at(self, places: Integers) -> Integers:
        """Cells of the values at some places."""
        found = self.each[places]
        return found if self._move is None else self._move(found)

    def moved(self, move: Callable[[Integers], Integers]) -> SortedCells:
        """The same values in other cells, by a monotone map; nothing is moved before it is looked at."""
        before = self._move
        both = move if before is None else lambda cells: move(before(cells))
        return SortedCells(self.each, both)

    def part(self, first: int, last: int) -> SortedCells:
        """The values from place ``first`` to before ``last``; they are not copied."""
        return SortedCells(stretch(self.each, first, last), self._move)

    def below(self, cells: Integers) -> Integers:
        """Number of values in cells strictly below each of some."""
        if self._index is None:
            self._index = self.at(np.arange(0, self.total, STRIDE))
        return places_below(self.each, self._index, cells, self._move)

    @property
    def total(self) -> int:
        return len(self.each)

    def beyond(self, crowd: int) -> int:
        size = self.total
        firsts = range(crowd, size, PIECE)
        # a value is beyond the crowd of its cell if the one so many places before it is in the same cell
        return sum(
            int(
                np.count_nonzero(
                    self.held(at, min(at + PIECE, size)) == self.held(at - crowd, min(at + PIECE, size) - crowd)
                )
            )
            for at in firsts
        )

    def pieces(self) -> Iterator[Counts]:
        size = self.total
        for first in range(0, size, PIECE):
            held = self.held(first, min(first + PIECE, size))
            yield Counts(*counted(held))

    @property
    def cells(self) -> Integers:
        return self._counted()[0]

    @property
    def counts(self) -> Integers:
        return self._counted()[1]

    def _counted(self) -> tuple[Integers, Integers]:
        if self.total and not len(self._cells):
            self._cells, self._counts = counted(self.held(0, self.total))
        return self._cells, self._counts


class WindowedCounts(Counts):
    """Counts of a column of which the values about some ranks are known one by one.

    Parameters
    ----------
    held : cells, counts and hidden places
        All values, those that stayed in the engine beside the others.
    beyond : int
        Number of values beyond the crowd of their cell.
    sizes : cells, counts and hidden places, optional
        The same of the values without their signs.
    every : callable
        Reads all values.
    scans : ValueScans, optional
        Those of the values in their engine, while it has them.
    """

    __slots__ = ("_beyond", "_sizes", "every", "scans")

    def __init__(
        self, held: Held, beyond: int, sizes: Held | None, every: Callable[[], Counts], scans: ValueScans | None = None
    ) -> None:
        super().__init__(*held)
        self._beyond, self._sizes, self.scans = beyond, Counts(*(sizes or held)), scans
        self.every: Callable[[], Counts] = every

    def beyond(self, crowd: int) -> int:
        """Number of values beyond the ``crowd``-th of their cell, as the engine counted them."""
        return self._beyond

    @property
    def sizes(self) -> Counts:
        """The cells of the values without their signs."""
        return self._sizes


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
    told = [each for each in (result.holders, result.degrees, result.returned) if each is not None]
    texts = (tuple(sorted(each.items())) for each in told)
    owners = () if result.owners is None else (tuple(result.owners.tolist()),)
    return (result.vectors, ranks, tuple(map(_order_content, result.orders)), records, *texts, *owners)


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


def is_sorted(result: QueryResult) -> bool:
    """Tell if a result has cells one by one, whose parts are merged once all are there."""
    return any(isinstance(held, SortedCells) for held in result.ranks)


class ResultReader:
    """The results of one run. A statement that several queries share runs once.

    ``stored`` is the table of its rows, and temporary files stand in ``folder``. ``again`` reads all ranks of a query
    in a run of its own, once this one has ended. While it ``stays``, what is drawn may ask for more. The rest is what
    its statements were made of.
    """

    def __init__(
        self,
        engine: EngineSession,
        stored: str,
        queries: Sequence[Query],
        schema: Schema,
        storage: Mapping[str, Storage],
        key: bytes,
        dialect: Dialect,
        folder: str,
        again: Callable[[Ranks], tuple[Counts, ...]],
        *,
        stays: bool = False,
    ) -> None:
        self._folder, self._again, self._stays, self.ended = folder, again, stays, False
        self._engine, self._dialect, self._schema, self._stored = engine, dialect, schema, stored
        self._asked = queries, schema, storage, key, dialect
        self._long: dict[Query, str] = {}  # statements of each value, empty for what is short
        self._put = set[str]()  # names of public tables that scans have put beside the rows
        self._spools: dict[Query, Spool] = {}
        self.begin()

    def begin(self, *, many: bool = False) -> None:
        """Forget what was read: other rows stand in the table, one part of many. What is long stays so."""
        self._found: dict[str, list[tuple[Any, ...]]] = {}
        self._ranks: dict[Ranks, tuple[Counts, ...]] = {}
        self._many = many

    def end(self, results: Sequence[QueryResult]) -> None:
        """Let the engine go: nothing more is asked of it."""
        self.ended = True
        for held in (held for result in results for held in result.ranks):
            if isinstance(held, WindowedCounts):
                held.scans = None

    def read(self, query: Query, text: str, first: int) -> QueryResult:
        """The result of a query.

        Parameters
        ----------
        query : Query
        text : str
            Statement that answers it.
        first : int
            Place of its first integer in a row of the answer.

        Returns
        -------
        QueryResult
        """
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
                table = _value_table(engine, query, text, self._schema)
                places: Sequence[int | None] = [None] if keys is None else range(groups)
                held = (EngineColumn(engine, self._dialect, table, query.unit, place) for place in places)
                return QueryResult(orders=tuple(fetch(column, needs) for column in held))
            case Ranks():
                near = self._near_ranks(query, partial(self._every_rank, query, text, groups))
                return QueryResult(ranks=near or self._every_rank(query, text, groups))
            case WeightedTally():
                return QueryResult(vectors=_read_weights(engine.arrow(text), query, groups))
            case Tally(edges=(_, *_)):
                return QueryResult(vectors=_read_bins(engine.arrow(text), query, groups))
            case Tally():
                return QueryResult(vectors=_read_listed(engine.rows(text), query, groups))
            case _:
                return QueryResult(vectors=_read_vectors(self._rows(text), query, first, groups))

    def _every_rank(self, query: Ranks, text: str, groups: int) -> tuple[Counts, ...]:
        """The cells of each group, which are read once for queries that differ in their windows alone."""
        plain = replace(query, windows=None)
        if plain not in self._ranks and self.ended:
            self._ranks[plain] = self._again(plain)
        if plain not in self._ranks:
            long = self._long_ranks(query)
            self._ranks[plain] = long or _read_ranks(self._engine.arrow(text), query, self._schema, groups)
        return self._ranks[plain]

    def _long_ranks(self, query: Ranks) -> tuple[Counts, ...] | None:
        """The cells of each group of a long table whose values differ; None of others."""
        engine = self._engine
        if query.weight is not None or not isinstance(engine, LongResults):
            return None
        if not self._long.get(query):
            self._long[query] = self._each_value(query) if self._many or engine.about(self._stored) >= LONG else ""
        if not self._long[query]:
            return None
        from reticent.data.sorted_cells import Spool, read_sorted

        spool = self._spools.setdefault(query, Spool(self._folder))
        return tuple(map(SortedCells, read_sorted(engine, query, self._long[query], self._schema, spool)))

    def _each_value(self, query: Ranks) -> str:
        """The statement of each value where most of a sample differ; else empty."""
        from reticent.data import sorted_cells
        from reticent.data.query_expressions import scan_text

        if not sorted_cells.may_be_long(query):
            return ""
        text, view = self._singly(query), f"values{len(self._long)}"
        self._engine.view(view, text)
        asked: Scan = "sample" if keys_of(query) is None else "pairs"
        seen = scan_text(asked, view, Fraction(1), None, self._dialect, sorted_cells.SAMPLED)
        return text if sorted_cells.differ(*map(values_of, self._engine.arrow(seen).columns)) else ""

    def _near_ranks(self, query: Ranks, every: Callable[[], tuple[Counts, ...]]) -> tuple[Counts, ...] | None:
        """The values near the wanted ranks, of a long column in an engine apart; None of others."""
        windows = query.windows
        if windows is None or not self._apart(query) or (windows.scanned and not self._stays):
            return None
        from reticent.data.engines.column_scans import ColumnScans, keep_cells
        from reticent.data.engines.rank_windows import windowed

        engine, dialect = self._engine, self._dialect
        name = f"scanned{self._asked[0].index(query)}" if windows.scanned else "values"
        table = _value_table(engine, query, self._singly(query), self._schema, name)
        cells = cells_on(query.on, self._schema.column(query.column), query.column)
        table = keep_cells(engine, dialect, cells, table) if windows.scanned else table
        columns = partial(EngineColumn, engine, dialect, unit=Fraction(1), place=None)
        found = windowed(engine, dialect, cells, table, query.keys, windows, columns)
        if found is None:
            return None
        scans = ColumnScans(engine, dialect, cells, table, self._put) if windows.scanned else None
        return tuple(
            WindowedCounts(*part, partial(lambda place: every()[place], place), scans)
            for place, part in enumerate(found)
        )

    def _apart(self, query: Ranks) -> bool:
        """True of a long column in an engine of its own, which is no part of this process."""
        engine = self._engine
        if query.weight is not None or isinstance(engine, WorksInParts) or not isinstance(engine, LongResults):
            return False
        return engine.about(self._stored) >= LONG

    def _singly(self, query: Ranks) -> str:
        """The statement of each value."""
        from reticent.data.query_compiler import statements
        from reticent.data.sorted_cells import one_by_one

        queries, schema, storage, key, dialect = self._asked
        told = statements([*map(one_by_one, queries)], schema, storage, key, dialect)
        return told.asked[queries.index(query)]

    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        if text not in self._found:
            self._found[text] = self._engine.rows(text)
        return self._found[text]


def _read_listed(rows: Sequence[tuple[Any, ...]], query: Tally, groups: int) -> tuple[tuple[int, ...], ...]:
    from reticent.data.engines.casts import key_text

    vectors = [[0] * query.bins for _ in range(groups)]
    bins = {key_text(key): place for place, key in enumerate(query.among)}
    for *place, key, count in rows:
        vectors[place[0] if place else 0][bins[key]] += integer(count)
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
        vectors[row[0] if grouped else 0] = tuple(map(integer, row[first : first + size]))
    return tuple(vectors)


def _read_bins(found: pa.Table, query: Tally, groups: int) -> tuple[tuple[int, ...], ...]:
    """Values sorted into [e0, e1), ..., [e_{m-1}, e_m], those outside into the end bins, by comparing doubles."""
    vectors = np.zeros((groups, query.bins), dtype=np.int64)
    np.add.at(vectors, (_places_of(found), _bins_of(found, query.edges)), values_of(found.column("n")).astype(np.int64))
    return tuple(tuple(vector) for vector in vectors.tolist())


def _bins_of(found: pa.Table, edges: Sequence[Fraction]) -> Integers:
    """The bin of each row of a result: as the engine has it, or found by the value where edges are many."""
    told = values_of(found.column("bin"))
    if len(edges) <= LISTED_EDGES:
        return told.astype(np.int64)
    return np.searchsorted([float(edge) for edge in edges[1:-1]], told.astype(np.float64), side="right")


def _read_weights(found: pa.Table, query: WeightedTally, groups: int) -> tuple[tuple[int, ...], ...]:
    """The parts of the weights of each bin, one bin after the other."""
    from reticent.data.engines.casts import key_text

    if query.edges:
        where = _bins_of(found, query.edges).tolist()
    else:
        bins = {key_text(key): place for place, key in enumerate(query.among)}
        where = [bins[key] for key in found.column("bin").to_pylist()]
    places = _places_of(found).tolist()
    vectors = [[0] * (PARTS * query.bins) for _ in range(groups)]
    for part in range(PARTS):
        for place, at, own in zip(places, where, found.column(f"n{part}_0").to_pylist(), strict=True):
            vectors[place][PARTS * at + part] += integer(own)
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
    beside = columns[-1][order] if len(columns) > len(query.columns) else None
    if query.owners == "untold":
        return QueryResult(records=records if beside is None else np.repeat(records, beside, axis=0))
    persons = np.arange(len(records)) if beside is None else beside  # a row is a person
    return QueryResult(records=records, owners=persons)


def _read_runs(found: pa.Table, groups: int) -> tuple[RunLength, ...]:
    return tuple(RunLength(*runs) for runs in by_group(_places_of(found), *_steps_of(found), groups))


def _steps_of(found: pa.Table) -> tuple[Integers, Integers]:
    return values_of(found.column("bin")).astype(np.int64), values_of(found.column("n")).astype(np.int64)


@dataclass(frozen=True, slots=True, repr=False)
class EngineColumn:
    """The values of one group, in the engine."""

    engine: EngineSession
    dialect: Dialect
    table: str
    unit: Fraction
    place: int | None

    def size(self) -> int:
        return integer(self.engine.rows(self.text("size"))[0][0])

    def sample(self, share: float) -> NDArray[np.float64]:
        return values_of(self.engine.arrow(self.text("sample", share)).column("x")).astype(np.float64)

    def below(self, end: float) -> int:
        return integer(self.engine.rows(self.text("below", end))[0][0])

    def inside(self, bracket: Bracket) -> RunLength:
        steps, counts = _steps_of(self.engine.arrow(self.text("inside", *bracket)))
        order = np.argsort(steps)
        return RunLength(steps[order], counts[order])

    def between(self, low: int, high: int) -> tuple[int, int, int]:
        total, up_to, below = (integer(cell) for cell in self.engine.rows(self.text("between", low, high))[0])
        return total, up_to, below

    def text(self, asked: Scan, *numbers: float | int) -> str:
        """The statement of a scan."""
        from reticent.data.query_expressions import scan_text

        return scan_text(asked, self.table, self.unit, self.place, self.dialect, *numbers)


def _value_table(
    engine: EngineSession, query: OrderedValues | Ranks, text: str, schema: Schema, name: str = "values"
) -> str:
    """The name of a table of values. Rows as they are stay where they are; a sort or a hash is done once."""
    seen = query.keys is None and (query.per == "row" or schema.person.column is None)
    (engine.view if seen else engine.keep)(told := f"{name}_{'seen' if seen else 'kept'}", text)
    return told
