"""Cells of a long column, one for each value and in order: no table of distinct values is made of them.

    sample --> most values differ?  no: the engine groups equal values
                                    yes: values --cells--> sorted runs, put aside in a file --> one sorted sequence

The sample is a work plan and nothing else: whoever asks for cells and counts gets the same ones either way. A group by
distinct values hashes each of them, which takes the engine many times as long and as much memory as a sort here.

Cells that are many stand in a temporary file without a name, so that nothing of it outlives the process. It stands in
the folder that the engine's temporary files stand in, and takes 16 to 24 bytes for each value.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import IO, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import cells_on
from reticent.data.columns import values_of
from reticent.data.engines.engine import LongResults
from reticent.data.order_statistics import STRIDE, Integers, IntegerSequence, Needs, places_below
from reticent.data.query import OrderedValues, Query, Ranks, keys_of
from reticent.data.schema import Schema

SAMPLED: Final = 1 / 256  # of the rows
DIFFERENT: Final = 0.9  # of a sample, where a table of distinct values would be long
ASIDE: Final = 1 << 20  # cells that are held in memory, at most, before they are put aside
HELD: Final = 1 << 16  # cells of a part of the rows, at most, that stay in memory


def may_be_long(query: Query) -> TypeGuard[Ranks]:
    """Tell if values of a query may be looked at one by one: each counts as one."""
    return isinstance(query, Ranks) and query.weight is None


def one_by_one(query: Query) -> Query:
    """The query of each value by itself, for one that may be answered so; others as they are."""
    if not may_be_long(query):
        return query
    return OrderedValues(query.column, Fraction(1), Needs(()), query.keys, query.per)


def differ(*sample: NDArray[np.generic]) -> bool:
    """Tell if most rows of a sample differ, of which columns are given."""
    rows = np.unique(np.column_stack([column.astype(np.float64) for column in sample]), axis=0)
    return len(rows) >= max(DIFFERENT * len(sample[0]), 1)


class Spool:
    """A temporary file without a name, of cells that are put aside; it is made when the first of them come.

    Parameters
    ----------
    folder : str
        Where it stands; empty for the system's folder of temporary files.
    """

    def __init__(self, folder: str) -> None:
        self._folder, self._size = folder, 0

    @cached_property
    def _file(self) -> IO[bytes]:
        made = tempfile.TemporaryFile(prefix="reticent-", dir=self._folder or None)  # noqa: SIM115 - closed below
        weakref.finalize(self, made.close)
        return made

    def put(self, cells: Integers) -> Stretch:
        """Write cells behind those that are there."""
        self._file.seek(0, os.SEEK_END)
        self._file.write(np.ascontiguousarray(cells, np.int64).data)
        self._file.flush()
        self._size += len(cells)
        return Stretch(self, self._size - len(cells), len(cells))

    def read(self, first: int, size: int) -> Integers:
        """So many cells, from the one at place ``first`` of the file."""
        cells = np.empty(size, np.int64)
        self._file.seek(first * cells.itemsize)
        if self._file.readinto(cells.data.cast("B")) != cells.nbytes:  # type: ignore[attr-defined]
            raise OSError("a temporary file is shorter than what was written to it")
        return cells


@dataclass(frozen=True, slots=True, repr=False)
class Stretch:
    """Cells of a file from one place on, read as those of an array are."""

    spool: Spool
    first: int
    size: int

    def part(self, first: int, last: int) -> Stretch:
        """The cells from place ``first`` to before ``last``, which are not read."""
        return replace(self, first=self.first + first, size=last - first)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, wanted: slice | Integers) -> Integers:
        if isinstance(wanted, slice):
            first, last, _ = wanted.indices(self.size)
            return self.spool.read(self.first + first, max(last - first, 0))
        read, found = self.spool.read, np.empty(len(wanted), np.int64)
        for nth, place in enumerate(wanted.tolist()):
            found[nth] = read(self.first + place, 1)[0]
        return found


def read_sorted(engine: LongResults, query: Ranks, text: str, schema: Schema, spool: Spool) -> list[IntegerSequence]:
    """The cell of each value, ascending, of each group.

    Parameters
    ----------
    engine : LongResults
    query : Ranks
    text : str
        Statement of each value.
    schema : Schema
    spool : Spool
        Where cells that are many are put aside.

    Returns
    -------
    list of array or Stretch
    """
    keys = keys_of(query)
    found = _ReadCells(1 if keys is None else len(keys.among), spool)
    cells = cells_on(query.on, schema.column(query.column), query.column)
    for batch in engine.batches(text):
        index = cells.index(values_of(batch.column("x")).astype(np.float64))
        found.add(index, None if keys is None else values_of(batch.column("place")).astype(np.int64))
    return found.sorted()


class _ReadCells:
    """Cells of each group as they come: held while they are few, then put aside in sorted runs."""

    def __init__(self, groups: int, spool: Spool) -> None:
        self._spool, self._held = spool, 0
        self._cells, self._groups = list[Integers](), list[Integers]()
        self._runs: list[list[IntegerSequence]] = [[] for _ in range(groups)]

    def add(self, cells: Integers, groups: Integers | None) -> None:
        """Take cells, and the place of the group of each where there are groups."""
        self._cells.append(cells)
        if groups is not None:
            small = len(self._runs) <= 1 << 16  # numbers of 16 bits are sorted in one pass
            self._groups.append(groups.astype(np.uint16 if small else np.int64))
        self._held += len(cells)
        if self._held >= ASIDE:
            self._sort(aside=True)

    def sorted(self) -> list[IntegerSequence]:
        """All cells of each group, ascending."""
        self._sort(aside=any(self._runs) or self._held > HELD)
        return [together(runs) for runs in self._runs]

    def _sort(self, *, aside: bool) -> None:
        if not self._held:
            return
        cells, ends = np.concatenate(self._cells), [0, self._held]
        if self._groups:
            groups = np.concatenate(self._groups)
            order = np.argsort(groups, kind="stable")
            cells, ends = cells[order], np.searchsorted(groups[order], np.arange(len(self._runs) + 1)).tolist()
        for first, last in pairwise(ends):
            cells[first:last].sort()
        whole = self._spool.put(cells) if aside else None
        for runs, (first, last) in zip(self._runs, pairwise(ends), strict=True):
            if first < last:
                runs.append(cells[first:last] if whole is None else whole.part(first, last))
        self._cells.clear()
        self._groups.clear()
        self._held = 0


def repeated(cells: Integers, counts: Integers) -> Integers | RepeatedCells:
    """Cells as often as each occurs; many of them are made when they are looked at."""
    found = RepeatedCells(cells, np.cumsum(counts))
    return found[:] if len(found) <= ASIDE else found


@dataclass(frozen=True, slots=True, repr=False)
class RepeatedCells:
    """Cells as often as each occurs, by the places where each ends."""

    cells: Integers
    ends: Integers
    first: int = 0

    def part(self, first: int, last: int) -> RepeatedCells:
        """The cells from place ``first`` to before ``last``."""
        ends = np.minimum(self.ends, self.first + last)
        return replace(self, ends=ends, first=self.first + first)

    def __len__(self) -> int:
        return max(int(self.ends[-1]) - self.first, 0) if len(self.ends) else 0

    def __getitem__(self, wanted: slice | Integers) -> Integers:
        places = np.arange(*wanted.indices(len(self))) if isinstance(wanted, slice) else wanted
        return self.cells[np.searchsorted(self.ends, self.first + places, "right")]


def together(parts: Sequence[IntegerSequence]) -> IntegerSequence:
    """The cells of ascending parts in one, ascending.

    Parameters
    ----------
    parts : sequence of array or Stretch

    Returns
    -------
    array or Stretch
        A stretch of a file if a part is one, so that few cells are in memory at a time.
    """
    spool = next((part.spool for part in parts if isinstance(part, Stretch)), None)
    if spool is None:
        return _merged([part[:] for part in parts])
    indexes = [part[np.arange(0, len(part), STRIDE)] for part in parts]
    cuts = np.unique(np.sort(np.concatenate(indexes))[:: max(ASIDE // STRIDE, 1)])[1:]
    ends = [
        [0, *places_below(part, index, cuts).tolist(), len(part)] for part, index in zip(parts, indexes, strict=True)
    ]
    written = [
        spool.put(_merged([part[first:last] for part, (first, last) in zip(parts, each, strict=True)]))
        for each in zip(*map(pairwise, ends), strict=True)
    ]
    return Stretch(spool, written[0].first, sum(map(len, written)))


def _merged(parts: Sequence[Integers]) -> Integers:
    joined = np.concatenate([np.empty(0, np.int64), *parts])
    joined.sort(kind="stable")  # which merges what is sorted already
    return joined
