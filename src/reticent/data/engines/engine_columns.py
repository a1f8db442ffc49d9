"""Columns of values that stay in their engine: what is looked at is told by statements over one table of doubles.

    EngineColumn    counts, a sample and brackets of one column (``data/order_statistics.py``)
    windowed        the values about the ranks that quantiles look at, and how many others there are

A score that is as high as all those far away tells no cell from another. So values beyond a window of ranks may stand
anywhere on their side of it (docs/proofs/quantiles.md, "Far ranks"). They count with the last value before them.

    without groups   a sample --> brackets about the ranks --> the values within
    by group         the rank of each value in its group --> the values within the windows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import count, pairwise
from typing import Any, Final, TypeAlias

import ibis
import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import MOST, REACH, Cells, cells_on
from reticent.data.columns import values_of
from reticent.data.engines.casts import clamp, double
from reticent.data.engines.engine import Dialect, EngineSession
from reticent.data.order_statistics import Bracket, Integers, RankWindows, RunLength, by_group, counted, windows_of
from reticent.data.query import OrderedValues, Ranks
from reticent.data.query_expressions import EXACT, Scan, scan_text
from reticent.data.schema import Schema

Expr: TypeAlias = Any  # Ibis is not typed
Held: TypeAlias = tuple[Integers, Integers, tuple[tuple[int, int], ...]]  # cells, counts, and places that are hidden
SEEN, KEPT, SIZES = "values_seen", "values_kept", "_sizes"  # a view, a table, and the end of the name of a view of it
NARROW: Final = Fraction(1, 4)  # of all values, at most, in windows
NUMBERS: Final = count()  # of the tables of windows: a session may have several
SPLIT: Final = 4097.0  # 2^12 + 1: parts the 53 bits of a double into 41 and 12 (Veltkamp, Dekker)
BEFORE: Final = 1.0 - 1.25 * 2.0**-41  # a double of 41 bits times this is nearest to the one before it


@dataclass(frozen=True, slots=True, repr=False)
class EngineColumn:
    """The values of one group, in the engine."""

    engine: EngineSession
    dialect: Dialect
    table: str
    unit: Fraction
    place: int | None

    def size(self) -> int:
        return _whole(self.engine.rows(self.text("size"))[0][0])

    def sample(self, share: float) -> NDArray[np.float64]:
        return values_of(self.engine.arrow(self.text("sample", share)).column("x")).astype(np.float64)

    def below(self, end: float) -> int:
        return _whole(self.engine.rows(self.text("below", end))[0][0])

    def inside(self, bracket: Bracket) -> RunLength:
        told = self.engine.arrow(self.text("inside", *bracket))
        steps, counts = (values_of(told.column(name)).astype(np.int64) for name in ("bin", "n"))
        order = np.argsort(steps)
        return RunLength(steps[order], counts[order])

    def between(self, low: int, high: int) -> tuple[int, int, int]:
        total, up_to, below = (_whole(cell) for cell in self.engine.rows(self.text("between", low, high))[0])
        return total, up_to, below

    def text(self, asked: Scan, *numbers: float | int) -> str:
        """The statement of a scan."""
        return scan_text(asked, self.table, self.unit, self.place, self.dialect, *numbers)


@dataclass(frozen=True, slots=True, repr=False)
class CellColumn(EngineColumn):
    """Values in the engine as the numbers of their cells."""

    cells: Cells

    def inside(self, bracket: Bracket) -> RunLength:
        """The cells of the values within the closed bracket."""
        told = self.engine.arrow(self.text("values", *bracket))
        held = self.cells.index(values_of(told.column("x")).astype(np.float64))
        each = by_group(np.zeros(len(held), np.int64), held, values_of(told.column("n")).astype(np.int64), 1)
        return RunLength(*each[0])


def columns(
    engine: EngineSession, dialect: Dialect, query: OrderedValues, text: str, schema: Schema
) -> list[EngineColumn]:
    """One column per group.

    Parameters
    ----------
    engine : EngineSession
    dialect : Dialect
    query : OrderedValues
    text : str
        Statement of each value ``x``, and of the ``place`` of its group.
    schema : Schema

    Returns
    -------
    list of EngineColumn
    """
    table = _table(engine, query, text, schema)
    groups: Sequence[int | None] = [None] if query.keys is None else range(len(query.keys.among))
    return [EngineColumn(engine, dialect, table, query.unit, place) for place in groups]


def _table(engine: EngineSession, query: OrderedValues | Ranks, text: str, schema: Schema) -> str:
    """The name of the table. Rows as they are stay where they are; whatever takes a sort or a hash is done once."""
    if query.keys is None and (query.per == "row" or schema.person.column is None):
        engine.view(SEEN, text)
        return SEEN
    engine.keep(KEPT, text)
    return KEPT


def windowed(
    engine: EngineSession, dialect: Dialect, query: Ranks, windows: RankWindows, text: str, schema: Schema
) -> list[tuple[Held, int, Held | None]] | None:
    """The values of each group about the ranks that are asked for, and how many others there are.

    Parameters
    ----------
    engine : EngineSession
    dialect : Dialect
    query : Ranks
        Without a weight.
    windows : RankWindows
    text : str
        Statement of each value ``x``, and of the ``place`` of its group.
    schema : Schema

    Returns
    -------
    list of (values, int, sizes), or None
        Of each group its values, how many lie beyond the crowd of their cell, and the values without their signs. None
        where the windows hold most values: to read all is less work then.
    """
    cells = cells_on(query.on, schema.column(query.column), query.column)
    table = _table(engine, query, text, schema)
    groups = 1 if query.keys is None else len(query.keys.among)
    held = {place: _whole(n) for place, n in engine.rows(dialect.write(group_sizes(table)))}
    held = {place: held.get(place, 0) for place in range(groups)}
    asked = _WindowTable(engine, dialect, cells, table, windows, windows.levels, cells.lowest, held)
    if sum(last - first + 1 for _, first, last in asked.near) > NARROW * sum(held.values()):
        return None
    more = {place: _whole(n) for place, n in engine.rows(dialect.write(crowds(table, cells, windows.crowd)))}
    read = _of_column if query.keys is None else _of_groups
    found, unsigned = read(asked), list[Held | None]([None]) * groups
    if windows.far is not None:
        engine.view(table + SIZES, dialect.write(sizes(table, cells)))
        if cells.step is not None:  # values there are numbers of cells
            asked = replace(asked, cells=replace(cells, step=Fraction(1), whole=True))
        unsigned = [*read(replace(asked, table=table + SIZES, levels=(windows.far,), lowest=0))]
    return [(found[place], more.get(place, 0), unsigned[place]) for place in range(groups)]


@dataclass(frozen=True, slots=True, repr=False)
class _WindowTable:
    """A table of the values ``x`` of groups, the levels that are looked at, and the lowest cell of any value.

    ``held`` is the number of values of each group, by its place.
    """

    engine: EngineSession
    dialect: Dialect
    cells: Cells
    table: str
    windows: RankWindows
    levels: tuple[Fraction, ...]
    lowest: int
    held: Mapping[int, int]

    @property
    def near(self) -> list[tuple[int, int, int]]:
        """The windows: place of the group, first and last rank."""
        return [(at, *part) for at, n in self.held.items() for part in self.windows.together(self.levels, n)]


def _of_column(asked: _WindowTable) -> list[Held]:
    """The counts of one column, by brackets that a sample proposes."""
    column = CellColumn(asked.engine, asked.dialect, asked.table, Fraction(1), None, asked.cells)
    near, size = [(first, last) for _, first, last in asked.near], asked.held[0]
    held = windows_of(column, near, size)
    return [_with_others(asked.lowest, size, [(first, held[first, last]) for first, last in near])]


def _of_groups(asked: _WindowTable) -> list[Held]:
    """The counts of each group, whose values are numbered in their order."""
    import pyarrow as pa

    engine, dialect, names = asked.engine, asked.dialect, enumerate(("place", "first", "last"))
    near = asked.near
    name = f"rank_windows{next(NUMBERS)}"
    engine.put(name, pa.table({word: pa.array([part[at] for part in near], pa.int64()) for at, word in names}))
    told = engine.arrow(dialect.write(ranked(asked.table, name)))
    where, ranks = (values_of(told.column(name)).astype(np.int64) for name in ("place", "rank"))
    order = np.lexsort((ranks, where))
    held = asked.cells.index(values_of(told.column("x")).astype(np.float64))[order]
    ends = np.searchsorted(where[order], np.arange(len(asked.held) + 1)).tolist()
    found = []
    for place, (low, high) in enumerate(pairwise(ends)):
        own = ranks[order][low:high]
        starts = np.flatnonzero(np.diff(own, prepend=-1) != 1)
        parts = zip(own[starts].tolist(), np.split(held[low:high], starts[1:]), strict=True) if len(own) else ()
        found.append(_with_others(asked.lowest, asked.held[place], list(parts)))
    return found


def _with_others(lowest: int, size: int, windows: Sequence[tuple[int, Integers]]) -> Held:
    """The counts of a column of ``size`` values, of which windows are known by their first rank and their cells.

    The others stand in the cell before them, and those before all windows in the lowest one.
    """
    held, counts, hidden = list[Integers](), list[Integers](), list[tuple[int, int]]()
    place, last = 0, lowest
    for first, inside in [*windows, (size + 1, np.empty(0, np.int64))]:
        if place < first - 1:
            hidden.append((place, first - 1))
            held.append(np.array([last], np.int64))
            counts.append(np.array([first - 1 - place], np.int64))
        if len(inside):
            each, many = counted(inside)
            held.append(each)
            counts.append(many)
            place, last = first - 1 + len(inside), int(inside[-1])
    nothing = np.empty(0, np.int64)
    values, numbers = np.concatenate([nothing, *held]), np.concatenate([nothing, *counts])
    ((values, numbers),) = by_group(np.zeros(len(values), np.int64), values, numbers, 1)
    return values, numbers, tuple(hidden)


def _whole(cell: int | Decimal | None) -> int:
    return 0 if cell is None else int(cell)


# --- statements -------------------------------------------------------------------------------------------------------


def _rows(table: str) -> Expr:
    return ibis.table({"x": "float64", "place": "int64"}, name=table)


def sizes(table: str, cells: Cells) -> Expr:
    """The values of a table without their signs; of a column of steps the numbers of their cells.

    A value in the middle of two steps belongs to the upper one. So without its sign it may be in another cell.
    """
    rows = _rows(table)
    return rows.select(x=(rows.x if cells.step is None else label(rows.x, cells)).abs(), place=rows.place)


def crowds(table: str, cells: Cells, crowd: int) -> Expr:
    """The number of values of each group beyond the crowd of their cell.

    Parameters
    ----------
    table : str
    cells : Cells
        Those of the column, as it was declared.
    crowd : int
        Values of a cell that are not counted.

    Returns
    -------
    Expr
    """
    rows = _rows(table)
    held = rows.select("place", cell=label(rows.x, cells)).group_by(["place", "cell"]).aggregate(n=lambda t: t.count())
    held = held.filter(held.n > crowd)
    return held.group_by("place").aggregate(more=(held.n - crowd).cast(EXACT).sum())


def group_sizes(table: str) -> Expr:
    """The number of values of each group."""
    rows = _rows(table)
    return rows.group_by("place").aggregate(n=rows.count())


def ranked(table: str, listed: str) -> Expr:
    """The values of each group within its windows of ranks, as a table lists them, with their ranks."""
    rows, windows = _rows(table), ibis.table(dict.fromkeys(("place", "first", "last"), "int64"), name=listed)
    rows = rows.mutate(rank=ibis.row_number().over(group_by="place", order_by="x") + 1)
    within = [rows.place == windows.place, ~(rows["rank"] < windows.first), ~(rows["rank"] > windows.last)]
    return rows.inner_join(windows, within).select(place=rows.place, x=rows.x, rank=rows["rank"])


def label(x: Expr, cells: Cells) -> Expr:
    """A double that is the same for two values if and only if they lie in one cell.

    Parameters
    ----------
    x : Expr
        Doubles of a column, none missing.
    cells : Cells
        Those of the column, as it was declared.

    Returns
    -------
    Expr
    """
    if cells.step is not None:
        ends = (float(place * cells.step) for place in (cells.lowest, cells.highest))
        inside = clamp(x, *ends)  # first, so that no later number can overflow
        exact = (cells.step.numerator * cells.step.denominator).bit_count() == 1
        ratio = inside * double(float(1 / cells.step)) if exact else inside / double(float(cells.step))
        return (ratio if cells.whole else ratio + double(0.5)).floor().cast("float64")
    most = MOST if cells.least > -REACH else REACH
    size = ibis.ifelse(x.abs() < double(2.0**cells.least), double(0.0), x.abs())
    size = clamp(size, 0.0, float(np.nextafter(2.0**most, 0.0)))
    near = _of_41_bits(size)
    below = ibis.ifelse(~(near > size), near, _of_41_bits(near * double(BEFORE)))
    return ibis.ifelse(x < double(0.0), -below, below)


def _of_41_bits(x: Expr) -> Expr:
    """The nearest double of 41 bits: as many as tell the cells of a binade apart."""
    wide = x * double(SPLIT)
    return wide - (wide - x)
