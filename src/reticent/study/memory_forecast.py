"""Forecast of the memory of a release, for a number of rows: a rough figure.

The constants were measured with DuckDB on .1 to 10 million rows of three to six columns, in 2026.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from reticent.data.query import Records
from reticent.data.schema import Category, Schema

if TYPE_CHECKING:
    from reticent.statistics.context import Step

STARTED: Final = 230_000_000  # bytes of this process and its engine, of no row
EACH_ROW, EACH_CELL, EACH_TEXT = 60, 18, 25  # bytes of a row, of each of its cells, and of a text besides
CARRIED: Final = 24  # bytes of a cell that leaves the engine
UNITS: Final = {"MB": 10**6, "GB": 10**9, "TB": 10**12}


def memory_of(steps: Iterable[Step], schema: Schema, columns: Collection[str], rows: int) -> int:
    """Bytes that a release takes in DuckDB, temporary files included.

    Parameters
    ----------
    steps : iterable of Step
    schema : Schema
    columns : collection of str
        Declared columns that are read.
    rows : int

    Returns
    -------
    int
    """
    person = schema.person.column is not None
    texts = sum(not _is_number(schema, name) for name in columns) + person  # what persons are called is not declared
    asked = {query for step in steps for query in step.queries}  # each is run once
    carried = sum(len(query.columns) for query in asked if isinstance(query, Records))
    return STARTED + rows * (EACH_ROW + EACH_CELL * (len(columns) + person) + EACH_TEXT * texts + CARRIED * carried)


def _is_number(schema: Schema, name: str) -> bool:
    column = schema.cells.get(name)
    return not isinstance(column, Category) or type(column.among[0]) is int


def told_bytes(number: int) -> str:
    """Bytes in words: 1.4 GB."""
    name, unit = next((name, unit) for name, unit in reversed(UNITS.items()) if number >= unit or name == "MB")
    return f"{number / unit:.2g} {name}" if number < 99.5 * unit else f"{number / unit:.0f} {name}"
