"""Order statistics of a large column where it is: time against one SUM scan, and how much of the column was fetched.

    python benchmarks/scale_out.py [--rows 20000000] [--repeat 5]

What is asked is what the exact A0 of the interquartile range needs: 400 ranks on either side of either quartile. Times
are wall clock, the least of the repeats, of one session of the engine that holds the rows; the SUM is the engine's own,
of doubles. "whole run" is ``Table.run`` with the reading of the rows, against the same for ``Total``. Every answer is
compared, bit for bit, with the sorted column in memory.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data import query_compiler
from reticent.data.engines.duckdb import DUCKDB
from reticent.data.engines.engine import EngineSession, Names
from reticent.data.format import Limits
from reticent.data.order_statistics import (
    Bracket,
    FetchedColumn,
    Needs,
    RunLength,
    SortedColumn,
    around,
    fetch,
    fetched,
)
from reticent.data.query import OrderedValues, Query, Total
from reticent.data.query_result import EngineColumn, QueryResult
from reticent.data.schema import Person, Schema, grid_by_size, real
from reticent.data.table import open_table
from reticent.statistics.robust.reach import LogGrid, leave, ranks_of, reach

Floats = NDArray[np.float64]

UNIT = Fraction(1, 1 << 20)
MOST = 400  # the cap of the distance: threshold and noise at a test epsilon of about 0.1
KEY = bytes(32)
SCHEMA = Schema({"x": real()}, Person("substitute"))
TARGET_TIME, TARGET_SHARE = 25.0, 0.05


def columns(n: int) -> dict[str, Callable[[], Floats]]:
    draw = np.random.default_rng(20081114)
    return {
        "lognormal": lambda: draw.lognormal(0, 1, n),
        "lognormal, sorted file": lambda: np.sort(draw.lognormal(0, 1, n)),
        "half of the rows 0": lambda: np.where(draw.random(n) < 0.5, 0.0, draw.normal(0, 1, n)),
        "all rows equal": lambda: np.full(n, 2.5),
    }


@dataclass(frozen=True, slots=True, repr=False)
class Counting:
    """The scans of a column, and the sizes of what they brought in."""

    column: EngineColumn
    rows: list[int]
    runs: list[int]

    def size(self) -> int:
        return self.column.size()

    def sample(self, share: float) -> Floats:
        found = self.column.sample(share)
        self.rows.append(len(found))
        self.runs.append(len(found))
        return found

    def below(self, end: float) -> int:
        return self.column.below(end)

    def inside(self, bracket: Bracket) -> RunLength:
        found = self.column.inside(bracket)
        self.rows.append(found.size)
        self.runs.append(len(found.values))
        return found

    def between(self, low: int, high: int) -> tuple[int, int, int]:
        return self.column.between(low, high)


def least(repeat: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def stored(engine: EngineSession, values: Floats, query: OrderedValues) -> EngineColumn:
    """The column in the engine, as ``Table.run`` stores it."""
    told = query_compiler.statements([query], SCHEMA, {"x": "real"}, KEY, DUCKDB.dialect)
    name = Names(SCHEMA, ("x",))["x"]
    table = pa.table({name: values})
    engine.store(*told.first, table.to_reader(), steps=told.steps, light=told.light)
    engine.view("values_seen", told.asked[0])
    return EngineColumn(engine, DUCKDB.dialect, "values_seen", query.unit, None)


def same(one: FetchedColumn, other: FetchedColumn) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.windows, other.windows, strict=True))


def distance(data: FetchedColumn | SortedColumn, ranks: tuple[int, int]) -> int:
    """A0 of the interquartile range, capped."""
    grid = LogGrid(2, 2)
    found = reach(data, *ranks, MOST)
    return leave(found, grid.bounds(found.width, 0))


def measure(name: str, values: Floats, repeat: int) -> bool:
    n = len(values)
    ranks = ranks_of(n, (Fraction(1, 4), Fraction(3, 4)))
    needs = Needs(around(ranks, MOST))
    query = OrderedValues("x", UNIT, needs)
    with DUCKDB.session(Limits()) as engine:
        column = stored(engine, values, query)
        one_sum = least(repeat, lambda: engine.rows("SELECT sum(c0) FROM base"))
        found: list[FetchedColumn] = []
        seen: list[Counting] = []

        def work() -> None:
            seen.append(Counting(column, [], []))
            found.append(fetch(seen[-1], needs))

        asked = least(repeat, work)
    in_memory = SortedColumn(np.sort(np.floor(values * float(1 / UNIT)).astype(np.int64)))
    wanted = fetched(in_memory, needs)
    equal = all(same(one, wanted) and distance(one, ranks) == distance(in_memory, ranks) for one in found)
    rows, runs = (max(sum(part) for part in parts) / n for parts in zip(*((s.rows, s.runs) for s in seen), strict=True))
    print(
        f"| {name} | {one_sum * 1e3:.0f} ms | {asked / one_sum:.1f} | {rows:.2%} | {runs:.2%} "
        f"| {distance(in_memory, ranks)} | {'equal' if equal else 'DIFFERENT'} |",
        flush=True,
    )
    return equal and asked <= TARGET_TIME * one_sum and (runs <= TARGET_SHARE)


def whole_run(values: Floats, repeat: int) -> None:
    table = open_table({"x": values}, Schema({"x": real(0, 1000)}, Person("substitute")))
    needs = Needs(around(ranks_of(len(values), (Fraction(1, 4), Fraction(3, 4))), MOST))
    asked: dict[str, Query] = {
        "Total": Total("x", grid_by_size(Fraction(0), Fraction(1000))),
        "Ordered, two windows": OrderedValues("x", UNIT, needs),
    }
    for name, query in asked.items():

        def work(query: Query = query) -> list[QueryResult]:
            return table.run([query], KEY)

        print(f"whole run, {name}: {least(repeat, work):.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    print(f"{given.rows:,} rows, {os.cpu_count()} cores. Targets: {TARGET_TIME:.0f} SUMs, {TARGET_SHARE:.0%} fetched.")
    print("| column | SUM | time, in SUMs | rows in brackets and sample | fetched | A0 | against memory |")
    print("|---|--:|--:|--:|--:|--:|---|")
    missed = [name for name, make in columns(given.rows).items() if not measure(name, make(), given.repeat)]
    whole_run(next(iter(columns(given.rows).values()))(), max(1, given.repeat // 2))
    print("all targets reached" if not missed else f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
