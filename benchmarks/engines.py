"""The main job beside the engine's own raw group-by: CPU seconds and peak memory, each job in a process of its own.

    python benchmarks/engines.py [--rows 1000000] [--keys 1000]
    python benchmarks/engines.py --rows 1000000 --forecast

Rows are of rows / 10 persons, drawn evenly over persons and keys, values lognormal. "raw" is DuckDB's count, distinct
persons, sum and mean by key, over the Parquet file. "main" is ``Table.run`` of the same four without noise, at a cap of
25 rows a person (nobody is above it) and of 10 (two fifths are). Each job runs twice in its process, and the second run
counts: statements are compiled by then. Ratios are to the raw job of the same call of this program.

With ``--forecast`` each job is a whole release in a process of its own, without a limit that it could reach. Its peak
memory stands beside the forecast that the curator's terminal is told.
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
RELEASES: Final = {  # cap, or None where each row is another person, and questions
    "main job, nobody above the cap": (25, ["count by k", "persons by k", "sum(x) by k", "mean(x) by k"]),
    "main job, 42 % of persons above the cap": (10, ["count by k", "persons by k", "sum(x) by k", "mean(x) by k"]),
    "a mean": (25, ["mean(x)"]),
    "ten means": (25, [f"mean(w{nth})" for nth in range(10)]),
    "a histogram of distinct values": (25, ["histogram(y, -5 0 10 20 50 100)"]),
    "a histogram": (25, ["histogram(x, 0 10 20 50 100)"]),
    "a median of few values": (25, ["median(x)"]),
    "a median of distinct values": (25, ["median(y)"]),
    "a median by key": (25, ["median(x) by k"]),
    "a mean, a row each": (None, ["mean(x)"]),
    "histograms of few and of distinct values, a row each": (None, ["histogram(x)", "histogram(y)"]),
    "ten means, a row each": (None, [f"mean(w{nth})" for nth in range(10)]),
    "five quantiles, a row each": (None, ["quantiles(y, [0.1, 0.25, 0.5, 0.75, 0.9])"]),
    "quartiles of few values, a row each": (None, ["iqr(x)"]),
    "quartiles of distinct values, a row each": (None, ["iqr(y)"]),
    "a test of correlation": (25, ["test(x ~ y, kind=correlation)"]),
    "least squares": (25, ["regress(y ~ x + z)"]),
    "a density": (25, ["density(y)"]),
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


def make_more(folder: Path, rows: int, keys: int) -> None:
    """Write the table of the releases whose memory is forecast."""
    draw = np.random.default_rng(20081114)
    table = {
        "person": draw.integers(0, rows // 10, rows),
        "k": draw.integers(0, keys, rows),
        "x": np.round(draw.lognormal(2, 1, rows), 3),
        "y": draw.normal(0, 1, rows),
        "z": draw.random(rows),
        **{f"w{nth}": np.round(100 * draw.random(rows), 2) for nth in range(10)},
    }
    pa.parquet.write_table(pa.table(table), folder / FILES[".parquet"])


def released(job: str, folder: Path, keys: int) -> None:
    """Print forecast and peak memory in MB, and CPU seconds forecast and taken, of a release in this process."""
    import reticent as rt
    from reticent.study.size_forecast import size_forecast

    cap, asked = RELEASES[job]
    whose = 'rows = "one_each"' if cap is None else f'column = "person"\nrows = {{ at_most = {cap} }}'
    named = {name for name in ("x", "y", "z", *(f"w{nth}" for nth in range(10))) if name in " ".join(asked)}
    columns = [f'[columns.{name}]\nkind = "real"\nlow = {-5 * (name == "y")}\nhigh = 100\n' for name in named]
    by_key = asked[0].endswith(" by k")
    columns += [f'[columns.k]\nkind = "integer"\nlow = 0\nhigh = {keys - 1}\n'] * by_key
    own = folder / f"{len(list(folder.iterdir()))}"
    own.mkdir()
    os.environ["XDG_STATE_HOME"] = str(own)  # each is the first release of this table
    (own / FILES[".parquet"]).hardlink_to(folder / FILES[".parquet"])
    (own / "study.toml").write_text(
        f'[study]\nsource = "{FILES[".parquet"]}"\nledger = "a.ledger"\n[engine]\nmemory = "500GB"\n'
        f'[person]\nadjacency = "add_remove"\n{whose}\n[budget]\nepsilon = "8"\ndelta = "1e-9"\n{"".join(columns)}'
    )
    study = rt.open(own / "study.toml")
    view = study.by("k", among=range(keys)) if by_key else study
    questions = [text.removesuffix(" by k") for text in asked]
    start = time.process_time()
    view.release(questions, epsilon=4)
    cpu, peak = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = size_forecast(study, view.plan(questions, epsilon=4)._prepared)
    assert found is not None
    print(found.memory / 1e6, peak * 1.048576, found.seconds, cpu)


def forecast(rows: int, keys: int) -> None:
    """Print the forecast of each release beside what it took."""
    print("| release | forecast | peak memory | forecast over it | CPU |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        make_more(Path(name), rows, keys)
        for job in RELEASES:
            told = [sys.executable, __file__, "--forecast", "--job", job, "--folder", name, "--keys", str(keys)]
            text = subprocess.run(told, check=True, capture_output=True, text=True).stdout
            memory, peak, seconds, cpu = map(float, text.split())
            print(
                f"| {job} | {memory:.0f} MB | {peak:.0f} MB | {memory / peak:.2f} | {seconds:.1f} and {cpu:.1f} s |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--forecast", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.forecast and not given.job:
        forecast(given.rows, given.keys)
        return
    if given.forecast:
        released(given.job, given.folder, given.keys)
        return
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
