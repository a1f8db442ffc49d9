"""Partitions that never change: exact counts of each are kept beside the files, so that a release reads the new ones.

    day=2026-01-30  --kept counts-----------+
    day=2026-01-31  --read, then kept-------+--merged--> the integers that one reading of all rows gives

Each row is another person here, so no row is left out for what stands in another partition. Every query but records is
then a sum, or a list of values with counts. Merged partitions give what all rows give, integer by integer.
Sensitivities, noise and charge are those of that table: none of them can tell that counts were kept.

Counts are exact, hence as private as rows. They stand in files that only their owner can read. An entry is found by a
digest of the statements, the query and the versions of the engine, and by the looks of its files: names, sizes, times.
A partition that looks different is read again. So is one whose counts are missing, damaged or of another version.
"""

from __future__ import annotations

import base64
import contextlib
import glob
import hashlib
import json
import os
import stat
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent.atomic_file import replace as replace_file
from reticent.data.engines.engine import PROBE_DIGEST
from reticent.data.files import ParquetFiles
from reticent.data.format import NO_PARTITIONS, NOT_PARTED
from reticent.data.order_statistics import Integers, Needs, Order, RunLength, fetched
from reticent.data.query import OrderedValues, Query, Ranks, Records
from reticent.data.query_result import Counts, QueryResult
from reticent.data.result_parts import counted_together
from reticent.data.schema import Schema
from reticent.data.source import Source
from reticent.data.table import Table, Then
from reticent.errors import SpecError

FOLDER: Final = ".reticent-partitions"  # beside the partitions; no pattern fits a name that begins with a dot
FORM: Final = 1
Look = list[list[str | int]]


@dataclass(frozen=True, slots=True, repr=False)
class Partition:
    """Files of one value of a folder column."""

    name: str
    source: ParquetFiles

    def look(self) -> Look:
        """Names, sizes and times of its files. They change when the files do."""
        found = [(file, file.stat()) for file in self.source.files]
        return [[str(file), seen.st_size, seen.st_mtime_ns] for file, seen in found]


def in_partitions(table: Table, column: str, changed: Callable[[str], None] | None = None) -> PartitionedTable:
    """A table whose counts are kept for each value of a folder column. No row is read.

    Parameters
    ----------
    table : Table
    column : str
        The name in the folders: "day" of ``day=2026-01-31``.
    changed : function, optional
        Told the name of a partition whose files changed, for the curator alone.

    Returns
    -------
    PartitionedTable

    Raises
    ------
    SpecError
        The source has no such folders, a person may have several rows, or counts cannot be kept beside it safely.
    """
    source, schema = table.source, table.schema
    if not isinstance(source, ParquetFiles) or not all(column in named for named in source.folders):
        raise SpecError(f"{NO_PARTITIONS.format(column)} Nothing was read.")
    if schema.person.column is not None or schema.tables:
        raise SpecError(f"{NOT_PARTED} Nothing was read.")
    values = [named[column] for named in source.folders]
    parts = []
    for value in dict.fromkeys(values):
        at = [place for place, own in enumerate(values) if own == value]
        files, folders = tuple(source.files[place] for place in at), tuple(source.folders[place] for place in at)
        name = f"{column}={'(missing)' if value is None else value}"
        parts.append(Partition(name, replace(source, files=files, folders=folders)))
    return PartitionedTable(table, tuple(parts), _folder(source.pattern), changed)


def _folder(pattern: Path) -> Path:
    """The folder of counts, which is checked and not made."""
    fixed = pattern
    while glob.has_magic(str(fixed)) and not fixed.exists():
        fixed = fixed.parent
    folder = fixed / FOLDER
    if not os.path.lexists(folder):
        if not os.access(fixed, os.W_OK):
            raise SpecError(f"[engine] partitions keeps counts in {fixed.name}, where nothing can be written.")
        return folder
    seen = folder.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_mode & 0o077 or (hasattr(os, "getuid") and seen.st_uid != os.getuid()):
        raise SpecError(
            f"{fixed.name}/{FOLDER} holds exact counts, and others may read it. Remove it, or make it yours alone: "
            "chmod 700. Nothing was read."
        )
    return folder


class PartitionedTable(Table):
    """A table that reads partitions one by one, and those it knows not at all."""

    __slots__ = ("_changed", "_folder", "_parts")

    def __init__(
        self, table: Table, parts: tuple[Partition, ...], folder: Path, changed: Callable[[str], None] | None
    ) -> None:
        self.take(table)
        self._parts, self._folder, self._changed = parts, folder, changed

    def answers(
        self,
        queries: Sequence[Query],
        key: bytes,
        view: Schema,
        part: Source | None = None,
        then: Then | None = None,
    ) -> list[QueryResult]:
        """Merged answers of the partitions; records are read from all rows.

        Parameters
        ----------
        queries : sequence of Query
        key : bytes of length 32
        view : Schema
        part : Source, optional
            Rows that are read as they are.
        then : callable, optional
            Not called: partitions have ended when their answers are merged.

        Returns
        -------
        list of QueryResult
        """
        if part is not None:
            return super().answers(queries, key, view, part)
        summed = [at for at, query in enumerate(queries) if not isinstance(query, Records)]
        whole = [at for at in range(len(queries)) if at not in summed]
        found: dict[int, QueryResult] = {}
        if whole:
            read = super().answers([queries[at] for at in whole], key, view)
            found |= zip(whole, read, strict=True)
        asked = [_all_runs(queries[at]) for at in summed]
        told = [self._digest(query, key, view) for query in asked]
        parts = [self._of(part, asked, told, key, view) for part in self._parts] if asked else []
        for nth, at in enumerate(summed):
            found[at] = merged([part[nth] for part in parts], queries[at])
        return [found[at] for at in range(len(queries))]

    def _of(
        self, part: Partition, queries: Sequence[Query], told: Sequence[str], key: bytes, view: Schema
    ) -> list[QueryResult]:
        """The answers of one partition: kept ones, and others read and kept from now on."""
        file = self._folder / f"{hashlib.sha256(part.name.encode()).hexdigest()[:32]}.json"
        look = part.look()
        kept, seen = _read(file)
        if kept and seen != look:
            kept = {}
            if self._changed is not None:
                self._changed(part.name)
        missing = [at for at, digest in enumerate(told) if digest not in kept]
        if missing:
            read = super().answers([queries[at] for at in missing], key, view, part.source)
            kept |= {told[at]: result for at, result in zip(missing, read, strict=True)}
            if part.look() == look:  # else it changed while it was read
                with contextlib.suppress(OSError):  # the charge is made: a disk that is full decides nothing
                    self._folder.mkdir(mode=0o700, exist_ok=True)
                    _write(file, kept, look)
        return [kept[digest] for digest in told]

    def _digest(self, query: Query, key: bytes, view: Schema) -> str:
        """Everything that an answer depends on but the rows."""
        from reticent.data import query_compiler

        storage = self.source.storage
        texts = query_compiler.statements([query], view, storage, key, self.dialect)
        lists = {name: listed.to_pydict() for name, listed in texts.lists.items()}
        used = [(name, repr(view.cells[name])) for name in query_compiler.columns_of([query], view)]
        all_of = (FORM, PROBE_DIGEST, _versions(), repr(query), used, sorted(storage.items()), repr(view.format), lists)
        return hashlib.sha256(repr((all_of, texts.steps, texts.first, texts.further, texts.asked)).encode()).hexdigest()


@lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    """Versions of what reads the rows: looking them up reads files, and a process has one of each."""
    return tuple(version(name) for name in ("reticent", "duckdb", "ibis-framework", "sqlglot", "pyarrow"))


def _all_runs(query: Query) -> Query:
    """The query of a partition: where ranks of all rows are needed, every value with its count."""
    match query:
        case OrderedValues():
            return replace(query, needs=None)
        case Ranks():
            return replace(query, windows=None)
        case _:
            return query


def merged(results: Sequence[QueryResult], query: Query) -> QueryResult:
    """The result of all rows, from those of parts of them.

    Parameters
    ----------
    results : sequence of QueryResult
        One for each part, at least one.
    query : Query

    Returns
    -------
    QueryResult
    """
    first = results[0]
    vectors = tuple(
        tuple(map(sum, zip(*(result.vectors[place] for result in results), strict=True)))
        for place in range(len(first.vectors))
    )
    ranks = tuple(
        Counts(*pair)
        for pair in counted_together([[(one.cells, one.counts) for one in result.ranks] for result in results])
    )
    runs = [
        RunLength(*pair) for pair in counted_together([[_pair(one) for one in result.orders] for result in results])
    ]
    orders: tuple[Order, ...] = tuple(runs)
    if isinstance(query, OrderedValues) and isinstance(query.needs, Needs):
        orders = tuple(fetched(run, query.needs) for run in runs)
    if first.holders is None:
        return QueryResult(vectors, ranks, orders)
    holders: dict[str, int] = {}
    for result in results:
        for text, persons in (result.holders or {}).items():
            holders[text] = holders.get(text, 0) + persons
    return QueryResult(vectors, ranks, orders, holders=holders)


def _pair(order: Order) -> tuple[Integers, Integers]:
    assert isinstance(order, RunLength)
    return order.values, order.counts


# --- files of counts --------------------------------------------------------------------------------------------------


def _read(file: Path) -> tuple[dict[str, QueryResult], Look]:
    """The kept answers by their digests, and the looks that the files had; none where anything is wrong with them."""
    try:
        digest, _, body = file.read_bytes().partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != digest:
            return {}, []
        told = json.loads(body)
        return {name: _of_json(entry) for name, entry in told["answers"].items()}, told["look"]
    except Exception:  # whatever is wrong with it, the rows are there
        return {}, []


def _write(file: Path, answers: Mapping[str, QueryResult], look: Look) -> None:
    told = {"answers": {name: _as_json(answer) for name, answer in answers.items()}, "look": look}
    body = json.dumps(told).encode()
    replace_file(file, hashlib.sha256(body).hexdigest().encode() + b"\n" + body, mode=0o600)


def _as_json(result: QueryResult) -> dict[str, Any]:
    return {
        "vectors": result.vectors,
        "ranks": [[_packed(one.cells), _packed(one.counts)] for one in result.ranks],
        "orders": [[_packed(one) for one in _pair(order)] for order in result.orders],
        "holders": result.holders,
    }


def _of_json(entry: Mapping[str, Any]) -> QueryResult:
    return QueryResult(
        tuple(map(tuple, entry["vectors"])),
        tuple(Counts(_unpacked(cells), _unpacked(counts)) for cells, counts in entry["ranks"]),
        tuple(RunLength(*map(_unpacked, pair)) for pair in entry["orders"]),
        holders=entry["holders"],
    )


def _packed(integers: Integers) -> str:
    return base64.b64encode(zlib.compress(integers.astype("<i8").tobytes(), 1)).decode()


def _unpacked(text: str) -> Integers:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i8").astype(np.int64)
