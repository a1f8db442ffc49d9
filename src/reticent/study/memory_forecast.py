"""Forecast of the memory of a release, for a number of rows: a rough figure.

    memory = the program
           + the rows that are kept, compressed where nothing is asked by key; of rows that are persons a piece
           + what is counted by person, in one set of persons after another
           + values and cells that leave the engine

The constants were measured with DuckDB on .1 to 10 million rows of two to eleven columns, in 2026.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Final

from reticent.data.format import BYTES, LISTED_EDGES, MOST_SETS, SET
from reticent.data.query import (
    KeyHolders,
    OrderedValues,
    Query,
    Ranks,
    Records,
    Tally,
    WeightedTally,
    columns_read,
    keys_of,
)
from reticent.data.schema import Category, Integer, Real, Schema, Text, needed
from reticent.statistics.context import Step, work_of
from reticent.study.cpu_time import asked_once, of_records

if TYPE_CHECKING:
    from pathlib import Path

    from reticent.study.allocation import PreparedRelease

STARTED: Final = 220_000_000  # bytes of this process and its engine, of no row
READ, READ_CELLS = 8_000_000, 400_000  # of a column that is read, from so many cells on
FITTING, FITTING_ROWS = 60_000_000, 50_000  # of what fits records, from so many rows on
IN_PASSING: Final = 40_000_000  # of rows that are looked at a piece at a time
TURN: Final = 1  # bytes that a row has beside its cells
NUMBER, TEXT = 8, 40  # of a cell as it is; a text has 16 and its letters
SHORT_NUMBER, SHORT_TEXT = 7, 16  # of a compressed one
PERSONS, PERSONS_BY_KEY = 30, 80  # of a row of the persons who are looked at together
VALUE, HELD = 90, 16  # of a distinct value that leaves the engine, and once it is sorted
DRAWN: Final = 200  # of a distinct value, to draw one of them
SORTED: Final = 16  # of a value that is sorted in a file: in runs, and merged
BROUGHT: Final = 5  # of a row of a long column whose values differ, to bring it; sorted, they stand in a file
CARRIED, FITTED = 60, 120  # of a cell of records, to carry it, and to fit a model or a law
PAIRED: Final = 440  # of a row, for the slopes of a robust line
FULL: Final = 7  # bytes that a compressed number has where most values differ
FEW: Final = 100_000  # distinct values of a column whose numbers are shorter


@dataclass(frozen=True, slots=True)
class StoredCells:
    """Bytes of a cell of a column in its file, on average: compressed, and as it is."""

    short: float
    plain: float
    is_text: bool


def memory_of_release(
    prepared: PreparedRelease, schema: Schema, rows: int, stored: Mapping[str, StoredCells] | None = None
) -> int:
    """Bytes that a release takes in DuckDB, temporary files included: those of its largest view of the table.

    Parameters
    ----------
    prepared : PreparedRelease
    schema : Schema
        Of the study.
    rows : int
    stored : mapping of name to StoredCells, optional
        Columns of the file, where its footer tells of them.

    Returns
    -------
    int
    """
    return max(memory_of(steps, seen, rows, stored) for seen, steps in _views(prepared, schema))


def kept_in_engine(
    prepared: PreparedRelease, schema: Schema, rows: int, stored: Mapping[str, StoredCells] | None = None
) -> int:
    """Bytes of the compressed rows that the engine has to keep at once, in memory or in temporary files.

    Nothing is told behind filters, joins and computed columns, which may leave few rows or short ones. What leaves the
    engine takes no part of this.

    Parameters
    ----------
    prepared : PreparedRelease
    schema : Schema
        Of the study.
    rows : int
    stored : mapping of name to StoredCells, optional
        Columns of the file, where its footer tells of them.

    Returns
    -------
    int
    """
    views = [(seen, asked_once(steps), _columns(seen, steps)) for seen, steps in _views(prepared, schema)]
    return max(_compressed(seen, asked, columns, rows, stored) for seen, asked, columns in views)


def _compressed(
    schema: Schema,
    asked: Collection[Query],
    columns: Collection[str],
    rows: int,
    stored: Mapping[str, StoredCells] | None = None,
) -> int:
    """Bytes of the compressed rows of a view; 0 where it has filters, joins or computed columns, or keeps none."""
    if _may_leave_out(schema) or _passes(asked, schema, columns):
        return 0
    cells = _Cells(schema, stored or {}, as_they_are=False)
    return ceil(rows * (sum(map(cells.kept, columns)) + cells.of_person))


def _may_leave_out(schema: Schema) -> bool:
    """True of a view whose filters, joins or computed columns may leave few rows, or short ones."""
    return schema.where is not None or bool(schema.computed or schema.tables or schema.owner)


def _views(prepared: PreparedRelease, schema: Schema) -> list[tuple[Schema, list[Step]]]:
    """The views of the table of a release, each with its steps."""
    views = [
        (prepared.schema_of(view) or schema, [*(prepared.steps[place] for place in view.places), *view.besides])
        for view in prepared.views
    ]
    return views + ([] if prepared.choice is None else [(schema, [prepared.choice])])


def _columns(schema: Schema, steps: Iterable[Step]) -> tuple[str, ...]:
    """The columns that are kept for some steps."""
    asked = asked_once(steps)
    return tuple(needed(schema, [*set[str]().union(*map(columns_read, asked)) & schema.cells.keys()]))


def memory_of(steps: Iterable[Step], schema: Schema, rows: int, stored: Mapping[str, StoredCells] | None = None) -> int:
    """Bytes that the steps of one view take.

    Parameters
    ----------
    steps : iterable of Step
    schema : Schema
        Of the view.
    rows : int
    stored : mapping of name to StoredCells, optional

    Returns
    -------
    int
    """
    each = [*steps]
    asked = asked_once(each)
    columns = _columns(schema, each)
    cells = _Cells(schema, stored or {}, _is_by_key(asked) or _stays(schema, columns))
    paired = rows * PAIRED * any(work_of(step).pairs for step in each)
    return _in_engine(asked, columns, cells, rows) + _carried(each, cells, rows) + paired


def _in_engine(asked: Collection[Query], columns: Collection[str], cells: _Cells, rows: int) -> int:
    """Bytes of the program and of what the engine holds for the columns of some queries."""
    schema = cells.schema
    read = (len(columns) + (schema.person.column is not None)) * READ * min(rows, READ_CELLS) // READ_CELLS
    copies = 2 if _is_in_steps(schema) else 1  # one stands while the next is made
    kept = ceil(rows * (TURN + sum(map(cells.kept, columns)) + cells.of_person)) * copies
    if _passes(asked, schema, columns):
        kept = min(kept, IN_PASSING)
    return STARTED + read + kept + _counted(asked, cells, rows, by_key=_is_by_key(asked))


def _passes(asked: Collection[Query], schema: Schema, columns: Collection[str]) -> bool:
    """Tell if rows, each of them a person, are looked at a piece at a time, so that none are kept."""
    apart = schema.person.column is not None or _is_by_key(asked) or _stays(schema, columns)
    return not apart and not _looks_at_all(asked)


def _looks_at_all(asked: Iterable[Query]) -> bool:
    """Tell if a query needs all rows at once: the answers for parts of them do not add up."""
    return any(
        isinstance(query, Records | KeyHolders) or (isinstance(query, OrderedValues) and query.needs is not None)
        for query in asked
    )


def _is_by_key(asked: Iterable[Query]) -> bool:
    return any(keys_of(query) is not None for query in asked)


def _is_in_steps(schema: Schema) -> bool:
    """Tell if one table of rows is made of another."""
    return bool(schema.computed) or schema.where is not None


def _of_records(cells: _Cells, rows: int, each: int) -> int:
    """Bytes of whole records outside of the engine, of which each takes some; 0 of none."""
    return cells.kept_rows(rows) * each + (FITTING * min(rows, FITTING_ROWS) // FITTING_ROWS if each else 0)


def most_of(schema: Schema, rows: int) -> int:
    """Bytes that no release of the declared columns takes more of, but for columns that it computes."""
    columns = len(schema.cells) + 1
    each = 2 * (TURN + TEXT * columns) + PERSONS_BY_KEY + (CARRIED + FITTED + HELD) * columns + VALUE + DRAWN + PAIRED
    return STARTED + rows * each + columns * READ * min(rows, READ_CELLS) // READ_CELLS


@dataclass(frozen=True, slots=True)
class BroughtRecords:
    """Records that a fit or a session brings out of the engine, and what it does with each.

    ``columns`` are the declared ones; none where persons are counted alone. ``cells`` are the numbers of a row: of a
    category one for each key. ``seconds`` and ``room`` are those that all fits of a row take, and the bytes that one
    has beside its cells.
    """

    columns: tuple[str, ...]
    cells: int
    seconds: float = 0.0
    room: int = 0

    def seconds_of(self, schema: Schema, source: Path | None, rows: int) -> float:
        """Seconds of one processor, of so many rows.

        Parameters
        ----------
        schema : Schema
            Of the study.
        source : Path or None
            File that is read; None for rows in memory.
        rows : int

        Returns
        -------
        float
        """
        return of_records(source, len(self.columns) + (schema.person.column is not None), rows, self.seconds)

    def memory_of(self, schema: Schema, rows: int, stored: Mapping[str, StoredCells] | None = None) -> int:
        """Bytes, of so many rows.

        Parameters
        ----------
        schema : Schema
            Of the study.
        rows : int
        stored : mapping of name to StoredCells, optional
            Columns of the file, where its footer tells of them.

        Returns
        -------
        int
        """
        columns = tuple(needed(schema, self.columns))
        cells = _Cells(schema, stored or {}, _stays(schema, columns))
        return _in_engine(self._asked, columns, cells, rows) + _of_records(
            cells, rows, CARRIED * self.cells + self.room
        )

    def kept(self, schema: Schema, rows: int, stored: Mapping[str, StoredCells] | None = None) -> int:
        """Bytes that the engine has to keep at once, as ``kept_in_engine``.

        Parameters
        ----------
        schema : Schema
        rows : int
        stored : mapping of name to StoredCells, optional

        Returns
        -------
        int
        """
        return _compressed(schema, self._asked, tuple(needed(schema, self.columns)), rows, stored)

    @property
    def _asked(self) -> set[Query]:
        return {Records(self.columns, (Fraction(1),) * len(self.columns))} if self.columns else set()


@dataclass(frozen=True, slots=True)
class _Cells:
    """Bytes of the cells that the engine keeps, compressed unless rows stay as they are."""

    schema: Schema
    stored: Mapping[str, StoredCells]
    as_they_are: bool

    @property
    def of_person(self) -> float:
        name = self.schema.person.column
        return 0 if name is None else self._of(name, is_text=name not in self.stored or self.stored[name].is_text)

    def kept(self, name: str) -> float:
        """Bytes of a cell of a declared column."""
        column = self.schema.cells.get(name)
        if isinstance(column, Category) and self.as_they_are:
            return 16 + max(len(str(key)) for key in column.among)
        return self._of(name, is_text=isinstance(column, Category | Text))

    def _of(self, name: str, *, is_text: bool) -> float:
        found = self.stored.get(name)
        if self.as_they_are:
            return NUMBER if not is_text else max(TEXT, 0 if found is None else found.plain + 12)
        usual = SHORT_TEXT if is_text else SHORT_NUMBER
        return usual if found is None else found.short if is_text else min(found.short, NUMBER)

    def kept_rows(self, rows: int) -> int:
        """Rows that count: of so many declared people no more than the cap of each."""
        person = self.schema.person
        return rows if person.people is None or person.column is None else min(rows, person.people * person.rows)

    def values(self, query: Query, rows: int) -> int:
        """Distinct values that a query brings out of the engine, at most."""
        match query:
            case Tally(edges=edges) | WeightedTally(edges=edges) if len(edges) <= LISTED_EDGES:
                return 0
            case OrderedValues(needs=None) | Ranks() | Tally() | WeightedTally():
                keys = keys_of(query)
                return min(
                    self.kept_rows(rows), self._distinct(query.column, rows) * (1 if keys is None else len(keys.among))
                )
            case _:
                return 0

    def _distinct(self, name: str, rows: int) -> int:
        column, found = self.schema.cells.get(name), self.stored.get(name)
        match column:
            case Integer(low=int() as low, high=int() as high):
                return high - low + 1
            case Real(low=Fraction() as low, high=Fraction() as high, resolution=Fraction() as step):
                return ceil((high - low) / step)
            case _:
                return rows if found is None or found.short >= FULL else FEW


def _stays(schema: Schema, columns: Collection[str]) -> bool:
    """Tell if a row that is kept is made in steps, or of more than itself, so that rows stay as they are."""
    joined = bool(schema.tables or schema.owner) or schema.person.household is not None
    return joined or _is_in_steps(schema) or any(schema.cells[name].constant for name in columns)


def _counted(asked: Collection[Query], cells: _Cells, rows: int, *, by_key: bool) -> int:
    """Bytes of what is counted by person."""
    name = cells.schema.person.column
    if name is None:
        return 0
    sets = 1 if _looks_at_all(asked) else max(min(-(-rows // SET), MOST_SETS), 1)
    found = cells.stored.get(name)
    letters = ceil(found.plain) if found is not None and found.is_text else 0
    return rows // sets * (PERSONS_BY_KEY + letters if by_key else PERSONS)


def _carried(steps: Collection[Step], cells: _Cells, rows: int) -> int:
    """Bytes of what leaves the engine, and is drawn from or fitted."""
    values = {query: cells.values(query, rows) for query in asked_once(steps)}
    long = _long(steps, cells, rows)
    drawn = [BROUGHT * cells.kept_rows(rows) for _ in long]
    values = {query: many for query, many in values.items() if query not in long}
    drawn += [VALUE * many + (DRAWN * many if keys_of(query) is None else 0) for query, many in values.items()]
    carried = [
        len(query.columns) * (CARRIED if work_of(step).simulates else CARRIED + FITTED)
        for step in steps
        for query in step.queries
        if isinstance(query, Records)
    ]
    return max(drawn, default=0) + HELD * sum(values.values()) + _of_records(cells, rows, max(carried, default=0))


def put_aside(
    prepared: PreparedRelease, schema: Schema, rows: int, stored: Mapping[str, StoredCells] | None = None
) -> int:
    """Bytes of the temporary file in which the values of a quantile are sorted; 0 where few differ, or a filter may be.

    Parameters
    ----------
    prepared : PreparedRelease
    schema : Schema
        Of the study.
    rows : int
    stored : mapping of name to StoredCells, optional
        Columns of the file, where its footer tells of them.

    Returns
    -------
    int
    """
    from reticent.data.sorted_cells import ASIDE

    views = [(_Cells(seen, stored or {}, as_they_are=False), steps) for seen, steps in _views(prepared, schema)]
    kept = [
        cells.kept_rows(rows)
        for cells, steps in views
        if not _may_leave_out(cells.schema) and _long(steps, cells, rows)
    ]
    return max((SORTED * many for many in kept if many >= ASIDE), default=0)


def _long(steps: Collection[Step], cells: _Cells, rows: int) -> set[Query]:
    """The queries whose values are sorted one by one: many values that differ."""
    asked = asked_once(step for step in steps if work_of(step).sorts)
    return {query for query in asked if _may_be_long(query, rows) and cells.values(query, rows) > FEW}


def _may_be_long(query: Query, rows: int) -> bool:
    """Tell if values are brought one by one where they differ."""
    from reticent.data.query_result import LONG
    from reticent.data.sorted_cells import may_be_long

    return rows >= LONG and may_be_long(query)


def told_bytes(number: int) -> str:
    """Bytes in words: 1.4 GB."""
    name, unit = next((name, unit) for name, unit in reversed(BYTES.items()) if number >= unit or name == "MB")
    return f"{number / unit:.2g} {name}" if number < 99.5 * unit else f"{number / unit:.0f} {name}"
