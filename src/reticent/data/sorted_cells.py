"""Cells of a long column, one for each value and in order: no table of distinct values is made of them.

    sample --> most values differ?  no: the engine groups equal values
                                    yes: values --cells--> one sorted array, eight bytes for each

The sample is a work plan and nothing else: whoever asks for cells and counts gets the same ones either way. A group by
distinct values hashes each of them, which takes the engine many times as long and as much memory as a sort here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import cells_on
from reticent.data.columns import values_of
from reticent.data.engines.engine import LongResults
from reticent.data.order_statistics import Integers, Needs
from reticent.data.query import OrderedValues, Query, Ranks, keys_of
from reticent.data.schema import Schema

GROUPS: Final = 64  # at most, of a question whose values are looked at one by one
SAMPLED: Final = 1 / 256  # of the rows
DIFFERENT: Final = 0.9  # of a sample, where a table of distinct values would be long
ROOM: Final = 1 << 18  # cells of an array that grows, at first


def may_be_long(query: Query) -> TypeGuard[Ranks]:
    """Tell if values of a query may be looked at one by one: each counts as one, and groups are few."""
    if not isinstance(query, Ranks) or query.weight is not None:
        return False
    return query.keys is None or len(query.keys.among) <= GROUPS


def one_by_one(query: Query) -> Query:
    """The query of each value by itself, for one that may be answered so; others as they are."""
    if not may_be_long(query):
        return query
    return OrderedValues(query.column, Fraction(1), Needs(()), query.keys, query.per)


def differ(sample: NDArray[np.generic]) -> bool:
    """Tell if most values of a sample differ."""
    return len(np.unique(sample)) >= max(DIFFERENT * len(sample), 1)


def read_sorted(engine: LongResults, query: Ranks, text: str, schema: Schema) -> list[Integers]:
    """The cell of each value, ascending, of each group.

    Parameters
    ----------
    engine : LongResults
    query : Ranks
    text : str
        Statement of each value.
    schema : Schema

    Returns
    -------
    list of array
    """
    keys = keys_of(query)
    columns = [_GrowingCells() for _ in range(1 if keys is None else len(keys.among))]
    cells = cells_on(query.on, schema.column(query.column), query.column)
    for batch in engine.batches(text):
        index = cells.index(values_of(batch.column("x")).astype(np.float64))
        if keys is None:
            columns[0].add(index)
            continue
        places = values_of(batch.column("place"))
        for place in np.unique(places).tolist():
            columns[place].add(index[places == place])
    return [column.sorted() for column in columns]


class _GrowingCells:
    """An array that grows; memory that is not written to is not taken."""

    def __init__(self) -> None:
        self._each, self._size = np.empty(ROOM, np.int64), 0

    def add(self, more: Integers) -> None:
        last = self._size + len(more)
        if last > len(self._each):
            self._each.resize(max(last, 2 * len(self._each)), refcheck=False)
        self._each[self._size : last] = more
        self._size = last

    def sorted(self) -> Integers:
        self._each.resize(self._size, refcheck=False)
        self._each.sort()
        return self._each
