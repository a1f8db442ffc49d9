"""Scans of a column that stays in its engine, about a released centre: a few integers leave it, and no value.

The engine computes the public value of each cell as ``Cells.values`` does, double by double. So every integer is the
one that the same values give in memory (``HeldScans``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

import ibis
import numpy as np

from reticent.data.candidates import Cells
from reticent.data.columns import values_of
from reticent.data.engines.casts import binned, clamp, double, edge_tables
from reticent.data.engines.engine import Dialect, EngineSession, integer
from reticent.data.engines.rank_windows import inside, label, label_inside, value_rows
from reticent.data.query_expressions import powers_of
from reticent.data.value_scans import GRID, UNIT, CentredRange, Floats, Integers, RangeSums

Expr: TypeAlias = Any  # Ibis is not typed
SPLIT: Final = 2049.0  # 2^11 + 1: parts the 53 bits of a double into 42 and 11 (Veltkamp, Dekker)
BEHIND: Final = 1.0 + 0.6 * 2.0**-41  # a double of 41 bits times this is nearest to the middle of its cell, of 42 bits
WHOLE: Final = 1.5 * 2.0**52  # added and taken away it leaves the nearest whole number, of doubles below 2^51


@dataclass(frozen=True, slots=True, repr=False)
class ColumnScans:
    """The public values ``x`` of the cells of one column, in the engine; ``put`` names the tables of edges."""

    engine: EngineSession
    dialect: Dialect
    cells: Cells
    table: str
    put: set[str]

    def by_distance(self, centre: float, edges: Floats) -> Integers:
        # an edge lies below a distance if and only if the next double is not above that
        beside = [*map(Fraction, np.nextafter(edges, np.inf).tolist())]
        around = (beside[0], *beside, beside[-1])
        for name, listed in edge_tables([around]).items():
            if name not in self.put:
                self.engine.put(name, listed)
                self.put.add(name)
        rows = self._rows(centre)
        rows = binned(rows.select(x=rows.away.abs()), around)
        told = self._arrow(rows.group_by("bin").aggregate(n=lambda t: t.count()))
        sums = np.zeros(len(edges) + 1, dtype=np.int64)
        sums[values_of(told.column("bin")).astype(np.int64)] = values_of(told.column("n")).astype(np.int64)
        return sums

    def cut(self, within: CentredRange, far: float) -> RangeSums:
        rows = self._rows(within.centre)
        least, most = self.cells.values(np.array([self.cells.lowest, self.cells.highest])).tolist()
        beyond = rows.away.abs() > double(far)
        ended = beyond | ~(rows.x > double(least)) | ~(rows.x < double(most))
        counts = {name: ibis.ifelse(one, 1, 0).cast("int64") for name, one in (("beyond", beyond), ("ended", ended))}
        placed = rows.select(y=_steps(rows.away, within, UNIT), **counts)
        sums = {name: placed[name].sum() for name in counts}
        told = placed.aggregate(**sums, n=placed.count(), **powers_of(GRID, 2, "y"))
        ((outer, last, *powers),) = self.engine.rows(self.dialect.write(told))
        n, first, second = map(integer, powers)
        return RangeSums(integer(outer), integer(last), (n, first, second))

    def steps(self, within: CentredRange, unit: int) -> tuple[Integers, Integers]:
        rows = self._rows(within.centre)
        placed = rows.select(step=_steps(rows.away, within, unit))
        told = self._arrow(placed.group_by("step").aggregate(n=lambda t: t.count()))
        held, counts = (values_of(told.column(name)).astype(np.int64) for name in ("step", "n"))
        order = np.argsort(held)
        return held[order], counts[order]

    def _rows(self, centre: float) -> Expr:
        """Each value, and its distance ``away`` from the centre."""
        rows = value_rows(self.table)
        return rows.mutate(away=rows.x - double(centre))

    def _arrow(self, told: Expr) -> Any:
        return self.engine.arrow(self.dialect.write(told))

    def __repr__(self) -> str:
        return "<private values>"


def keep_cells(engine: EngineSession, dialect: Dialect, cells: Cells, table: str) -> str:
    """Keep each value of a table as the public value of its cell, as ``Cells.values`` has it.

    Parameters
    ----------
    engine : EngineSession
    dialect : Dialect
    cells : Cells
        Those of the column, as it was declared.
    table : str
        Name of a table of doubles ``x``, none missing, with the ``place`` of their group.

    Returns
    -------
    str
        Name of the table that is kept.
    """
    whole, near, kept = value_rows(table), f"{table}_near", f"{table}_cells"
    if cells.step is not None:
        engine.keep(
            kept, dialect.write(whole.select(x=label(whole.x, cells) * double(float(cells.step)), place=whole.place))
        )
        return kept
    # in two steps: a term that names a term several times is computed as often
    engine.keep(near, dialect.write(whole.select(x=inside(whole.x, cells), place=whole.place)))
    rows = value_rows(near)
    rows = rows.select(x=label_inside(rows.x, cells) * double(BEHIND), place=rows.place)
    wide = rows.x * double(SPLIT)
    engine.keep(kept, dialect.write(rows.select(x=wide - (wide - rows.x), place=rows.place)))
    return kept


def _steps(away: Expr, within: CentredRange, unit: int) -> Expr:
    """Whole steps from the middle of a range, rounded to the nearest one, and to an even one in the middle of two."""
    place = clamp((away - double(within.middle)) / double(within.half), -within.reach, within.reach)
    return (place * double(unit) + double(WHOLE) - double(WHOLE)).cast("int64")
