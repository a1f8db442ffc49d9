"""Windows of ranks: the values that quantiles look at, of a column that stays in its engine, and counts of all others.

A score that is as high as all those far away tells no cell from another. So values beyond a window of ranks may stand
anywhere on their side of it (docs/proofs/quantiles.md, "Far ranks"). They count with the last value before them.

    without groups   a sample --> brackets about the ranks --> the values within (``data/order_statistics.py``)
    by group         the rank of each value in its group --> the values within the windows
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, pairwise
from typing import Any, Final, Protocol, TypeAlias

import ibis
import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import MOST, REACH, Cells
from reticent.data.columns import values_of
from reticent.data.engines.casts import clamp, double
from reticent.data.engines.engine import Dialect, EngineSession, integer
from reticent.data.order_statistics import (
    Bracket,
    Brackets,
    Integers,
    RankWindows,
    RunLength,
    by_group,
    counted,
    windows_of,
)
from reticent.data.query import Keys
from reticent.data.query_expressions import EXACT, Scan

Expr: TypeAlias = Any  # Ibis is not typed
Held: TypeAlias = tuple[Integers, Integers, tuple[tuple[int, int], ...]]  # cells, counts, and places that are hidden
SIZES = "_sizes"  # the end of the name of a view of a table
NARROW: Final = Fraction(1, 4)  # of all values, at most, in windows
APART: Final = Fraction(1, 4)  # of all values, at most, no further ones of their cell, where most are equal to others
NUMBERS: Final = count()  # of the tables of windows: a session may have several
SPLIT: Final = 4097.0  # 2^12 + 1: parts the 53 bits of a double into 41 and 12 (Veltkamp, Dekker)
BEFORE: Final = 1.0 - 1.25 * 2.0**-41  # a double of 41 bits times this is nearest to the one before it


class ValueColumn(Brackets, Protocol):
    """A column in the engine, with the statements of its scans."""

    def text(self, asked: Scan, *numbers: float | int) -> str: ...


@dataclass(frozen=True, slots=True, repr=False)
class CellColumn:
    """Values in the engine as the numbers of their cells."""

    values: ValueColumn
    engine: EngineSession
    cells: Cells

    def sample(self, share: float) -> NDArray[np.float64]:
        return self.values.sample(share)

    def below(self, end: float) -> int:
        return self.values.below(end)

    def inside(self, bracket: Bracket) -> RunLength:
        """The cells of the values within the closed bracket."""
        told = self.engine.arrow(self.values.text("values", *bracket))
        held = self.cells.index(values_of(told.column("x")).astype(np.float64))
        each = by_group(np.zeros(len(held), np.int64), held, values_of(told.column("n")).astype(np.int64), 1)
        return RunLength(*each[0])


def windowed(
    engine: EngineSession,
    dialect: Dialect,
    cells: Cells,
    table: str,
    keys: Keys | None,
    windows: RankWindows,
    column: Callable[[str], ValueColumn],
) -> list[tuple[Held, int, Held | None]] | None:
    """The values of each group about the ranks that are asked for, and how many others there are.

    Parameters
    ----------
    engine : EngineSession
    dialect : Dialect
    cells : Cells
        Those of the column, as it was declared.
    table : str
        Name of the table of the values ``x``, with the ``place`` of their group. Those that are scanned stand for
        their cells.
    keys : Keys, optional
        The groups.
    windows : RankWindows
    column : callable
        Scans of such a table.

    Returns
    -------
    list of (values, int, sizes), or None
        Of each group its values, how many lie beyond the crowd of their cell, and the values without their signs. None
        where the windows hold most values, or most values of a column whose cells are cut are equal to others: to read
        all is less work then.
    """
    groups = 1 if keys is None else len(keys.among)
    held = {place: integer(n) for place, n in engine.rows(dialect.write(group_sizes(table)))}
    held = {place: held.get(place, 0) for place in range(groups)}
    asked = _WindowTable(engine, dialect, cells, table, windows, windows.levels, cells.lowest, held, column)
    if sum(last - first + 1 for _, first, last in asked.near) > NARROW * sum(held.values()):
        return None
    counting = crowds(table, None if windows.scanned else cells, windows.crowd)
    more = {place: integer(n) for place, n in (engine.rows(dialect.write(counting)) if windows.crowd else [])}
    if windows.sliced and sum(held.values()) - sum(more.values()) <= APART * sum(held.values()):
        return None
    read = _of_column if keys is None else _of_groups
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
    column: Callable[[str], ValueColumn]

    @property
    def near(self) -> list[tuple[int, int, int]]:
        """The windows: place of the group, first and last rank."""
        return [(at, *part) for at, n in self.held.items() for part in self.windows.together(self.levels, n)]


def _of_column(asked: _WindowTable) -> list[Held]:
    """The counts of one column, by brackets that a sample proposes."""
    near, size = [(first, last) for _, first, last in asked.near], asked.held[0]
    held = windows_of(CellColumn(asked.column(asked.table), asked.engine, asked.cells), near, size)
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


# --- statements -------------------------------------------------------------------------------------------------------


def value_rows(table: str) -> Expr:
    """A table of doubles ``x``, none missing, with the ``place`` of their group."""
    return ibis.table({"x": "float64", "place": "int64"}, name=table)


def sizes(table: str, cells: Cells) -> Expr:
    """The values of a table without their signs; of a column of steps the numbers of their cells.

    A value in the middle of two steps belongs to the upper one. So without its sign it may be in another cell.
    """
    rows = value_rows(table)
    return rows.select(x=(rows.x if cells.step is None else label(rows.x, cells)).abs(), place=rows.place)


def crowds(table: str, cells: Cells | None, crowd: int) -> Expr:
    """The number of values of each group beyond the crowd of their cell.

    Parameters
    ----------
    table : str
    cells : Cells or None
        Those of the column, as it was declared; None where each value stands for its cell.
    crowd : int
        Values of a cell that are not counted.

    Returns
    -------
    Expr
    """
    rows = value_rows(table)
    cell = rows.x if cells is None else label(rows.x, cells)
    held = rows.select("place", cell=cell).group_by(["place", "cell"]).aggregate(n=lambda t: t.count())
    held = held.filter(held.n > crowd)
    return held.group_by("place").aggregate(more=(held.n - crowd).cast(EXACT).sum())


def group_sizes(table: str) -> Expr:
    """The number of values of each group."""
    rows = value_rows(table)
    return rows.group_by("place").aggregate(n=rows.count())


def ranked(table: str, listed: str) -> Expr:
    """The values of each group within its windows of ranks, as a table lists them, with their ranks."""
    rows, windows = value_rows(table), ibis.table(dict.fromkeys(("place", "first", "last"), "int64"), name=listed)
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
    return label_inside(inside(x, cells), cells)


def inside(x: Expr, cells: Cells) -> Expr:
    """A value of the same cell, within the ends of all cells; first, so that no later number can overflow."""
    if cells.step is not None:
        ends = (float(place * cells.step) for place in (cells.lowest, cells.highest))
        return clamp(x, *ends)
    most = float(np.nextafter(2.0 ** (MOST if cells.least > -REACH else REACH), 0.0))
    return clamp(ibis.ifelse(x.abs() < double(2.0**cells.least), double(0.0), x), -most, most)


def label_inside(x: Expr, cells: Cells) -> Expr:
    """The label of a value within the ends of all cells: of steps the number of its cell, else its first 41 bits."""
    if cells.step is not None:
        exact = (cells.step.numerator * cells.step.denominator).bit_count() == 1
        ratio = x * double(float(1 / cells.step)) if exact else x / double(float(cells.step))
        return (ratio if cells.whole else ratio + double(0.5)).floor().cast("float64")
    near = _of_41_bits(x)
    return ibis.ifelse(near.abs() > x.abs(), _of_41_bits(near * double(BEFORE)), near)


def _of_41_bits(x: Expr) -> Expr:
    """The nearest double of 41 bits: as many as tell the cells of a binade apart."""
    wide = x * double(SPLIT)
    return wide - (wide - x)
