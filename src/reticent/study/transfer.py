"""Cells that a question brings out of a database or a cluster, told by its plan; most bring integers alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reticent.data.candidates import are_counted
from reticent.data.format import LISTED_EDGES, SCANS
from reticent.data.order_statistics import RankWindows
from reticent.data.query import KeyHolders, OrderedValues, Query, Ranks, Records, Tally, WeightedTally
from reticent.data.schema import Column

PLACES: Final = {"postgres": "the database", "spark": "the cluster"}
ROWS: Final = "the cells of its columns, row by row,"
COUNTS: Final = "the different rows of its columns, with the number of each,"
VALUES: Final = "values of its column, without their persons,"
NEAR: Final = "values of its column near its ranks, and a sample, without their persons, or all where they are few,"
FEW: Final = "values of its column, without their persons, where they are few,"
NEAR_OR_TIED: Final = NEAR.replace("few,", "few or many of them are equal,")
TEXTS: Final = "the texts that it finds, with their numbers of persons,"


def cells_of(query: Query, columns: Mapping[str, Column]) -> str:
    """Words on the cells that a query of columns brings out of an engine; empty where it brings integers alone."""
    match query:
        case Records() if are_counted(query, columns):
            return COUNTS
        case Records():
            return ROWS
        case Tally(edges=edges) | WeightedTally(edges=edges):
            return VALUES if len(edges) > LISTED_EDGES else ""
        case Ranks(windows=RankWindows(sliced=True)):
            return NEAR_OR_TIED
        case Ranks(windows=RankWindows(levels=())):
            return FEW
        case Ranks(windows=RankWindows()):
            return NEAR
        case Ranks() | OrderedValues():
            return VALUES
        case KeyHolders():
            return TEXTS
        case _:
            return ""


def _asked(query: Query, engine: str) -> Query:
    """The query as an engine answers it: one that scans slowly brings the values instead."""
    if isinstance(query, Ranks) and query.windows is not None and query.windows.scanned and engine not in SCANS:
        return replace(query, windows=None)
    return query


def notes(
    engine: str, brought: Iterable[tuple[str, Sequence[Query] | None]], columns: Mapping[str, Column]
) -> tuple[str, ...]:
    """Notes of a plan on what leaves the place of the rows; none where they are read in this process.

    Parameters
    ----------
    engine : str
        Name of the engine that reads the rows.
    brought : iterable of (name, queries)
        Questions with their queries; None of those that read whole rows.
    columns : mapping of name to Column
        As declared.

    Returns
    -------
    tuple of str
        One note for each kind of cells.
    """
    if engine not in PLACES:
        return ()
    found: dict[str, dict[str, None]] = {}
    for name, queries in brought:
        for cells in [ROWS] if queries is None else (cells_of(_asked(query, engine), columns) for query in queries):
            found.setdefault(cells, {})[name] = None
    return tuple(
        f"{', '.join(names)}: {cells} leave {PLACES[engine]} for this process, which draws the noise"
        for cells, names in found.items()
        if cells
    )
