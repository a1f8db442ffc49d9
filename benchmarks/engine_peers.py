"""The main job of two peers beside ours, noise included: CPU over the raw query of each one's engine, memory, errors.

    python benchmarks/engine_peers.py [--rows 1000000] [--cap 25] [--only reticent opendp tumult]

The table is that of engines.py. Each library counts rows and persons, sums and averages by 1,000 public keys, with the
same cap on the rows of a person, bounds [0, 100] and epsilon 4 in all, in the way its documentation recommends.
Raw is the same without a cap and without noise, by the engine that the library runs on. Every job has a process of its
own, runs twice there, and the second run counts. CPU seconds and peak memory are those of the process and of all below
it: Java and its Python workers for Tumult Analytics, which has an environment of its own (see the Makefile).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
TUMULT: Final = ROOT / ".tumult-venv" / "bin" / "python"
KEYS: Final = 1_000
EPSILON: Final = 4
HIGH: Final = 100
ANSWERS: Final = ("rows", "persons", "total", "mean")
ENGINES: Final = {
    "reticent": "reticent, on DuckDB",
    "opendp": "OpenDP, on Polars",
    "tumult": "Tumult Analytics, on Spark",
}
TICKS: Final = os.sysconf("SC_CLK_TCK")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")
SQL: Final = "SELECT k, count(*), count(DISTINCT person), sum(x), avg(x) FROM {} GROUP BY k"

Found = dict[int, tuple[float, ...]]  # the answers of each key
Work = Callable[[], Found]


def cpu_of(process: int) -> float:
    """CPU seconds of a process, of those that ended below it, and of its children that run."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # it ended just now: the process above it has its time
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS + sum(map(cpu_of, children_of(process)))


def memory_of(process: int) -> float:
    """Resident memory of a process and of all below it, in MB; what two of them share counts twice."""
    try:
        own = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE / 1e6
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return own + sum(map(memory_of, children_of(process)))


def children_of(process: int) -> list[int]:
    """Those that any of its threads started."""
    found: list[int] = []
    for thread in Path(f"/proc/{process}/task").glob("*"):
        try:
            found += map(int, (thread / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def rows_of(found: Sequence[Sequence[Any]]) -> Found:
    return {int(key): tuple(map(float, cells)) for key, *cells in found}


# --- the libraries ----------------------------------------------------------------------------------------------------


def with_reticent(file: Path, cap: int) -> tuple[Work, Work]:
    import engines

    import reticent as rt
    from reticent.outcome import Reply

    def value_of(outcome: object) -> float:
        return float(outcome.value.value) if isinstance(outcome, Reply) else math.nan

    study = file.with_name("visits.toml")
    study.write_text(
        f'[study]\nsource = "{file.name}"\nledger = "{file.stem}.ledger"\n'
        f'[person]\ncolumn = "person"\nadjacency = "add_remove"\nrows = {{ at_most = {cap} }}\n'
        f'[budget]\nepsilon = "{2 * EPSILON}"\n'
        f'[columns.k]\nkind = "integer"\nlow = 0\nhigh = {KEYS - 1}\n'
        f'[columns.x]\nkind = "real"\nlow = 0\nhigh = {HIGH}\n'
    )
    asked = [rt.count(), rt.persons(), rt.sum("x"), rt.mean("x")]

    def work() -> Found:
        release = rt.open(study).by("k", among=range(KEYS)).release(asked, epsilon=EPSILON)
        columns = [[value_of(cell.outcome) for cell in answer.cells] for answer in release.answers]
        return rows_of(list(zip(range(KEYS), *columns, strict=True)))

    plain: Callable[[], Any] = engines.raw(file)  # rows of numbers
    return lambda: rows_of(plain()), work


def with_opendp(file: Path, cap: int) -> tuple[Work, Work]:
    import opendp.prelude as dp  # type: ignore[import-not-found]  # it lives in the peers' environment
    import polars as pl

    dp.enable_features("contrib")
    x: Any = pl.col("x")  # of which OpenDP makes its own
    person: Any = pl.col("person")
    keys = pl.LazyFrame({"k": range(KEYS)}, schema={"k": pl.Int64})
    most = pl.scan_parquet(file).select(pl.len()).collect().item()  # taken as public: sums need a bound on the rows

    def work() -> Found:
        context = dp.Context.compositor(
            data=pl.scan_parquet(file),
            privacy_unit=dp.unit_of(contributions=1, identifier=person),
            privacy_loss=dp.loss_of(epsilon=float(EPSILON)),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=["k"], max_length=most, max_groups=KEYS)],
        )
        asked = [
            dp.len(signed=True),
            person.dp.n_unique(signed=True),
            x.dp.sum((0.0, float(HIGH))).alias("total"),
            x.dp.mean((0.0, float(HIGH))).alias("mean"),
        ]
        query = context.query().truncate_per_group(cap).group_by("k").agg(asked).with_keys(keys)
        return rows_of(query.release().collect().rows())

    def raw() -> Found:
        plain = [pl.len(), person.n_unique(), x.sum().alias("total"), x.mean().alias("mean")]
        return rows_of(pl.scan_parquet(file).group_by("k").agg(plain).collect().rows())

    return raw, work


def with_tumult(file: Path, cap: int) -> tuple[Work, Work]:
    from pyspark.sql import SparkSession
    from tmlt.analytics import (  # type: ignore[import-not-found]  # it lives in an environment of its own
        AddRowsWithID,
        KeySet,
        MaxRowsPerID,
        PureDPBudget,
        QueryBuilder,
        Session,
    )

    os.environ["PYSPARK_PYTHON"] = sys.executable
    here = {f"spark.driver.{name}": "127.0.0.1" for name in ("host", "bindAddress")}
    settings = {**here, "spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    settings["spark.sql.warehouse.dir"] = str(file.parent / "warehouse")  # answers are kept as tables there
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    frame = spark.read.parquet(f"file:{file}")
    frame.createOrReplaceTempView("visits")

    def work() -> Found:
        session = Session.from_dataframe(
            privacy_budget=PureDPBudget(EPSILON),
            source_id="visits",
            dataframe=frame,
            protected_change=AddRowsWithID("person"),
        )
        by = QueryBuilder("visits").enforce(MaxRowsPerID(cap)).groupby(KeySet.from_dict({"k": range(KEYS)}))
        asked = [by.count(), by.count_distinct(["person"]), by.sum("x", 0, HIGH), by.average("x", 0, HIGH)]
        answers = [
            dict(map(tuple, session.evaluate(query, PureDPBudget(EPSILON / len(asked))).collect())) for query in asked
        ]
        return {key: tuple(float(answer[key]) for answer in answers) for key in range(KEYS)}

    return lambda: rows_of(spark.sql(SQL.format("visits")).collect()), work


MADE: Final = {"reticent": with_reticent, "opendp": with_opendp, "tumult": with_tumult}


# --- measuring --------------------------------------------------------------------------------------------------------


def measured(library: str, which: str, file: Path, cap: int) -> None:
    """Print CPU and wall seconds of the second run of a job, and its answers."""
    raw, main_job = MADE[library](file, cap)
    work = raw if which == "raw" else main_job
    work()
    time.sleep(1)  # what the first run left behind ends
    cpu, wall = cpu_of(os.getpid()), time.perf_counter()
    found = work()
    wall = time.perf_counter() - wall
    time.sleep(1)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    cpu = cpu_of(os.getpid()) - cpu
    print(json.dumps({"cpu": cpu, "wall": wall, "peak": own, "found": sorted(found.items())}))


def run(library: str, which: str, file: Path, cap: int) -> tuple[float, float, float, Found] | str:
    """CPU and wall seconds, peak memory in MB, and answers of a job; or the last words of what went wrong."""
    python = str(TUMULT) if library == "tumult" else sys.executable
    told = [python, __file__, "--job", f"{library} {which}", "--file", str(file), "--cap", str(cap)]
    with (file.parent / "errors").open("w+") as errors:
        job = subprocess.Popen(told, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=file.parent)
        peak = 0.0
        while job.poll() is None:
            peak = max(peak, memory_of(job.pid))
            time.sleep(0.1)
        assert job.stdout is not None
        text = job.stdout.read()
        if job.returncode:
            errors.seek(0)
            return (errors.read().strip().splitlines() or ["it ended without a word"])[-1]
    got = json.loads(text.strip().splitlines()[-1])
    return got["cpu"], got["wall"], max(peak, got["peak"]), {key: tuple(cells) for key, cells in got["found"]}


def errors_of(found: Found, truth: Found) -> str:
    """Median error of each answer over the keys with a reply, in percent of the median truth."""

    def middle(numbers: list[float]) -> float:
        return sorted(numbers)[len(numbers) // 2] if numbers else math.nan

    assert found.keys() == truth.keys(), "an answer for each key"
    shares = [
        middle([abs(found[key][at] - truth[key][at]) for key in truth if not math.isnan(found[key][at])])
        / middle([truth[key][at] for key in truth])
        for at in range(len(ANSWERS))
    ]
    return " | ".join(f"{100 * share:.1f} %" for share in shares)


def compared(library: str, file: Path, cap: int) -> Found:
    """Print one row of the table; the answers of the raw query."""
    jobs = [run(library, which, file, cap) for which in ("raw", "main")]
    broken = [job for job in jobs if isinstance(job, str)]
    if broken:
        print(f"| {ENGINES[library]} | does not run: {broken[0]} |", flush=True)
        return {}
    (plain, _, first, truth), (cpu, wall, peak, found) = (job for job in jobs if not isinstance(job, str))
    told = f"{plain:.2f} s, {first:.0f} MB | {cpu:.2f} s | {cpu / max(plain, 0.01):.1f} | {wall:.1f} s | {peak:.0f} MB"
    print(f"| {ENGINES[library]} | {told} | {errors_of(found, truth)} |", flush=True)
    return truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--cap", type=int, default=25)
    parser.add_argument("--only", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        library, which = given.job.split()
        measured(library, which, given.file, given.cap)
        return
    import engines

    print(f"{given.rows:,} rows, {given.rows // 10:,} persons, {KEYS:,} keys, at most {given.cap} rows a person\n")
    print("| library | its engine, raw | CPU | over raw | wall | peak memory | " + " | ".join(ANSWERS) + " |")
    print("|---|--:|--:|--:|--:|--:|" + "--:|" * len(ANSWERS))
    with tempfile.TemporaryDirectory() as name:
        engines.make(Path(name), given.rows, KEYS)
        for library in given.only:
            there = TUMULT.exists() if library == "tumult" else importlib.util.find_spec(library)
            if there:
                compared(library, Path(name) / engines.FILES[".parquet"], given.cap)
            else:
                print(f"| {ENGINES[library]} | is not installed: make bench |", flush=True)


if __name__ == "__main__":
    main()
