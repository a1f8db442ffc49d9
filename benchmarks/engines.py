"""The main job beside the engine's own raw group-by: CPU seconds and peak memory, each job in a process of its own.

    python benchmarks/engines.py [--rows 1000000] [--keys 1000]

Rows are of rows / 10 persons, drawn evenly over persons and keys, values lognormal. "raw" is DuckDB's count, distinct
persons, sum and mean by key, over the Parquet file. "main" is ``Table.run`` of the same four without noise, at a cap of
25 rows a person (nobody is above it) and of 10 (two fifths are). Each job runs twice in its process, and the second run
counts: statements are compiled by then. Ratios are to the raw job of the same call of this program.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from reticent.data.query import DistinctPersons, Keys, Moments, Query, Ranks, Rows, Total
from reticent.data.schema import Integer, Person, Real, Schema, grid_by_size, grid_by_width
from reticent.data.table import open_table

LOW, HIGH = Fraction(0), Fraction(100)
FILES: Final = {".parquet": "table.parquet", ".csv": "table.csv"}
JOBS: Final = {
    "raw": "DuckDB, raw, distinct",
    "main 25": "main job, nobody above the cap",
    "main 10": "main job, 42 % of persons above the cap",
    "groups 25": "ranks for a median by key",
    "ranks 25": "ranks for one median",
    "csv raw": "CSV, DuckDB, raw, distinct",
    "csv arrow": "CSV, Arrow, read alone",
    "csv read": "CSV, our reader alone",
    "csv main 25": "CSV, main job",
    "csv main 10": "CSV, main job, 42 % of persons above the cap",
}


def make(folder: Path, rows: int, keys: int) -> None:
    """Write the table as Parquet and as CSV."""
    draw = np.random.default_rng(20081114)
    table = pa.table(
        {
            "person": draw.integers(0, rows // 10, rows),
            "k": draw.integers(0, keys, rows),
            "x": np.round(draw.lognormal(2, 1, rows), 3),
        }
    )
    pa.parquet.write_table(table, folder / FILES[".parquet"])
    pa.csv.write_csv(table, folder / FILES[".csv"], pa.csv.WriteOptions(quoting_style="none"))


def schema_of(keys: int, cap: int) -> Schema:
    return Schema({"k": Integer(0, keys - 1), "x": Real(LOW, HIGH)}, Person("add_remove", "person", rows=cap))


def raw(path: Path) -> Callable[[], object]:
    import duckdb

    found = f"FROM '{path}'"
    text = f"SELECT k, count(*), count(DISTINCT person), sum(x), avg(x) {found} GROUP BY k"
    return lambda: duckdb.connect().execute(text).fetchall()


def ours(path: Path, keys: int, cap: int, kind: str) -> Callable[[], object]:
    among = Keys("k", tuple(range(keys)), min(cap, keys))
    table = open_table(path, schema_of(keys, cap))
    main: list[Query] = [
        Rows(among),
        DistinctPersons(among),
        Total("x", grid_by_size(LOW, HIGH), among),
        Moments("x", grid_by_width(LOW, HIGH), 2, among),
    ]
    asked: dict[str, list[Query]] = {"main": main, "groups": [Ranks("x", among)], "ranks": [Ranks("x")]}
    return lambda: table.run(asked[kind], bytes(32))


def reading(path: Path, keys: int) -> Callable[[], object]:
    from reticent.data.source import open_source, with_numbers

    schema = schema_of(keys, 25)
    source = with_numbers(open_source(path, schema), schema)
    return lambda: sum(batch.num_rows for batch in source.batches(("person", "k", "x")))


def work_of(job: str, folder: Path, keys: int) -> Callable[[], object]:
    """What one job does, once."""
    path = folder / FILES[".csv" if job.startswith("csv") else ".parquet"]
    match job.removeprefix("csv ").split():
        case ["raw"]:
            return raw(path)
        case ["arrow"]:
            return lambda: pa.csv.read_csv(path)
        case ["read"]:
            return reading(path, keys)
        case [kind, cap]:
            return ours(path, keys, int(cap), kind)
        case _:
            raise ValueError(job)


def measured(job: str, folder: Path, keys: int) -> None:
    """Print CPU seconds, wall seconds and peak memory in MB of the second run of a job."""
    work = work_of(job, folder, keys)
    work()
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(cpu, time.perf_counter() - start, after.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        measured(given.job, given.folder, given.keys)
        return
    print(f"{given.rows:,} rows, {given.rows // 10:,} persons, {given.keys:,} keys, {os.cpu_count()} cores\n")
    print("| job | CPU | over raw | peak memory | over raw |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), given.rows, given.keys)
        first: tuple[float, float] | None = None
        for job, words in JOBS.items():
            told = [sys.executable, __file__, "--job", job, "--folder", name, "--keys", str(given.keys)]
            found = subprocess.run(told, check=True, capture_output=True, text=True).stdout.split()
            cpu, memory = float(found[0]), float(found[2])
            first = first or (cpu, memory)
            print(
                f"| {words} | {cpu:.2f} s | {cpu / first[0]:.1f} | {memory:.0f} MB | {memory / first[1]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
