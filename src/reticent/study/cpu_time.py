"""Forecast of the processor time of a release, from public numbers: a rough figure that no clock enters.

A query takes a time for each row, by what it does with it; a release takes a constant time besides. The constants were
measured on tables of a million rows in memory on one processor of 2 to 3 GHz, in 2026. The draw itself is in the
constant: a method that is slow in itself, such as a density of several columns, takes longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from reticent.data.query import (
    CappedPersons,
    DistinctPersons,
    Incomplete,
    KeyHolders,
    Moments,
    OrderedValues,
    PresentValues,
    Query,
    Ranks,
    Records,
    Rows,
    Tally,
    Total,
    WeightedMoments,
    WeightedTally,
)

RELEASE: Final = 0.15  # seconds for a ledger entry, a certificate and what a query takes of itself
COUNTED: Final = 0.05e-6  # seconds a row, to add it up
ORDERED: Final = 0.9e-6  # to find its place among the others
CARRIED: Final = 0.8e-6  # to bring it out of the engine
CARRIED_CELL: Final = 0.25e-6  # and each of its cells


def seconds(queries: Iterable[Query], rows: int) -> float:
    """Seconds of one processor that these queries take on so many rows, besides ``RELEASE``."""
    return rows * sum(_each(query) for query in queries)


def of_records(columns: int, rows: int) -> float:
    """Seconds of a fit or a session, to which so many columns of all rows are brought."""
    return RELEASE + rows * (CARRIED + CARRIED_CELL * columns)


def _each(query: Query) -> float:
    match query:
        case KeyHolders() | Ranks() | OrderedValues():
            return ORDERED
        case Records(columns=columns):
            return CARRIED + CARRIED_CELL * len(columns)
        case (
            Rows()
            | DistinctPersons()
            | CappedPersons()
            | Incomplete()
            | PresentValues()
            | Total()
            | Moments()
            | Tally()
            | WeightedMoments()
            | WeightedTally()
        ):
            return COUNTED
        case _:
            assert_never(query)
