"""Forecast of the processor time of a release, from public numbers: a rough figure that no clock enters.

A query takes a time for each row, by what it does with it. A cell of an answer takes one for its draw and its
half-widths, and a release a constant time besides. The constants were measured on tables of ten thousand to ten
million rows on one processor of 2 to 3 GHz, in 2026. A test has one more, since its p-value is read off simulated
tables; so has a density that searches. An answer that is most likely no reply has one for the changes that are tried,
of which a warning tells.
Reading a file takes a time for each row and each declared column that is asked about, once for all questions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final, assert_never

from reticent.data.file_kinds import TEXT, bare, kind_of
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
    keys_of,
)
from reticent.data.schema import Person
from reticent.statistics.context import Step, work_of

RELEASE: Final = 0.01  # seconds for a certificate and what a query takes of itself
FROM_FILE: Final = 0.06  # to open a file, and for an entry of a ledger on the disk
ANSWERED: Final = 0.013  # to write the statement of a question, and its line of the certificate
GROUPED: Final = 0.01  # the same of its groups
CELL: Final = 0.1e-3  # to draw and write one cell
HALF_WIDTH: Final = 0.6e-3  # for a half-width of a cell, or a draw that looks at its values
HELPED: Final = 0.4  # to try what would help an answer that is most likely no reply
PERSONS: Final = 0.015  # of several rows each, to tell who has more than the cap
PERSON_ROW: Final = 0.3e-6  # and for each row
GROUPED_ROW: Final = 0.2e-6  # to find its group
COUNTED: Final = 0.015e-6  # seconds a row, to add it up
RANKED: Final = 0.25e-6  # to find its place among the others
ORDERED: Final = 0.9e-6  # the same by keys, or among windows of ranks
CARRIED: Final = 0.8e-6  # to bring it out of the engine
CARRIED_CELL: Final = 0.25e-6  # and each of its cells
SIMULATED: Final = 0.4  # seconds of the tables that a p-value is read off
SEARCHED: Final = (0.3, 0.8, 1.6, 1.6)  # seconds of a density that searches or solves, by the number of columns
TEXT_ROW: Final = 0.3e-6  # to find a row in a file of text
TEXT_CELL: Final = 0.35e-6  # and to read one of its cells
UNPACKED: Final = 0.25e-6  # and to unpack it
TYPED_CELL: Final = 0.03e-6  # to read a cell of a file that knows types


def asked_once(steps: Iterable[Step]) -> set[Query]:
    """The queries of some steps, each of which is run once: all ranks are read for any windows of them."""
    asked = (query for step in steps for query in step.queries)
    return {replace(query, windows=None) if isinstance(query, Ranks) else query for query in asked}


def seconds(queries: Iterable[Query], rows: int) -> float:
    """Seconds of one processor that these queries take on so many rows, besides ``RELEASE``."""
    return rows * sum(_each(query) for query in queries)


def of_reading(source: Path | None, columns: int, rows: int) -> float:
    """Seconds to read so many columns of a file; 0 of rows in memory, in a database or on a cluster.

    Parameters
    ----------
    source : Path or None
        None for rows in memory.
    columns, rows : int

    Returns
    -------
    float
    """
    if source is None or (kind := kind_of(source)) == "database":
        return 0.0
    if kind not in TEXT:
        return TYPED_CELL * columns * rows
    unpacked = UNPACKED if bare(source).suffix != source.suffix else 0.0
    return (TEXT_ROW + unpacked + TEXT_CELL * columns) * rows


def of_drawing(step: Step) -> float:
    """Seconds that a draw takes whatever the number of rows, beside ``RELEASE``."""
    work, cells = work_of(step), len(getattr(step, "labels", ()))
    drawn = (CELL + HALF_WIDTH * work.half_widths) * cells + (GROUPED if cells > 1 else 0.0)
    return drawn + (SIMULATED if work.simulates else 0.0) + (SEARCHED[work.searched - 1] if work.searched else 0.0)


def of_release(
    steps: Iterable[Step], source: Path | None, columns: int, rows: int, person: Person, *, silent: bool = False
) -> float:
    """Seconds of a whole release of so many rows.

    Parameters
    ----------
    steps : iterable of Step
    source : Path or None
        File that is read; None for rows in memory.
    columns, rows : int
        The declared columns that are asked about, without that of persons, and the number of rows.
    person : Person
    silent : bool
        True if a checked answer is most likely no reply.

    Returns
    -------
    float
    """
    each = list(steps)
    drawn = sum(of_drawing(step) for step in each) + ANSWERED * len(each) + (HELPED if silent else 0.0)
    started = RELEASE + (0.0 if source is None else FROM_FILE) + (0.0 if person.column is None else PERSONS)
    return started + drawn + of_rows(each, source, columns, rows, person)


def of_rows(steps: Iterable[Step], source: Path | None, columns: int, rows: int, person: Person) -> float:
    """Seconds of a release that grow with its rows: to read them, and to ask of them.

    Parameters
    ----------
    steps : iterable of Step
    source : Path or None
        File that is read; None for rows in memory.
    columns, rows : int
        The declared columns that are asked about, without that of persons, and the number of rows.
    person : Person

    Returns
    -------
    float
    """
    asked = asked_once(steps)
    told = person.column is not None
    each = PERSON_ROW * told + GROUPED_ROW * any(keys_of(query) is not None for query in asked)
    return seconds(asked, rows) + of_reading(source, columns + told, rows) + each * rows


def of_records(source: Path | None, columns: int, rows: int, each: float = 0.0) -> float:
    """Seconds of a session, or of fits of a model, to which so many columns of all rows are brought once.

    Parameters
    ----------
    source : Path or None
        File that is read; None for rows in memory.
    columns, rows : int
    each : float
        Seconds of all fits for each row.

    Returns
    -------
    float
    """
    brought = rows * (CARRIED + CARRIED_CELL * columns + each)
    return RELEASE + (0.0 if source is None else FROM_FILE) + of_reading(source, columns, rows) + brought


def _each(query: Query) -> float:
    match query:
        case Ranks(keys=None, weight=None):
            return RANKED
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
