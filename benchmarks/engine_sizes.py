"""The main job on each engine by the number of rows, beside the engine's own raw group-by.

    python benchmarks/engine_sizes.py [--rows 10000 100000 1000000]

Rows are of rows / 10 persons, drawn evenly over persons and 1,000 keys. The main job is a count, distinct persons, a
sum and a mean by key, at a cap of 25 rows a person, without noise. Raw is the same by one statement of the engine's
own, without a cap. Each job runs twice, and the second run counts. CPU seconds are those of this process and of the
engine: of the PostgreSQL server with its workers, and of the Java that runs Spark on two cores of this machine.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import engines
from engine_peers import cpu_of

from reticent.data.query import DistinctPersons, Keys, Moments, Query, Rows, Total
from reticent.data.schema import grid_by_size, grid_by_width
from reticent.data.table import open_table

CAP: Final = 25
KEYS: Final = 1_000
RAW: Final = "SELECT k, count(*), count(DISTINCT person), sum(x), avg(x) FROM {} GROUP BY k"
AMONG: Final = Keys("k", tuple(range(KEYS)), CAP)
ASKED: Final[list[Query]] = [
    Rows(AMONG),
    DistinctPersons(AMONG),
    Total("x", grid_by_size(engines.LOW, engines.HIGH), AMONG),
    Moments("x", grid_by_width(engines.LOW, engines.HIGH), 2, AMONG),
]
Work = Callable[[], object]


def taken(work: Work, process: int | None) -> tuple[float, float]:
    """CPU and wall seconds of the second run."""
    work()
    time.sleep(0.5)  # sessions of the first end
    cpu, wall = time.process_time() + (cpu_of(process) if process else 0.0), time.perf_counter()
    work()
    wall = time.perf_counter() - wall
    time.sleep(0.5)  # those of the second are counted when they have ended
    return time.process_time() + (cpu_of(process) if process else 0.0) - cpu, wall


def ours(source: Any) -> Work:
    table = open_table(source, engines.schema_of(KEYS, CAP))
    return lambda: table.run(ASKED, bytes(32))


def in_duckdb(file: Path, _: ExitStack) -> tuple[Work, Work, int | None]:
    return engines.raw(file), ours(file), None


def in_postgres(file: Path, stack: ExitStack) -> tuple[Work, Work, int | None]:
    import psycopg

    from reticent.demo.postgres_server import server

    at = stack.enter_context(server())
    with psycopg.connect(at.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("CREATE TABLE visits (person bigint, k bigint, x double precision)")
        written = file.with_name(engines.FILES[".csv"]).open("rb")
        with written, connection.cursor().copy("COPY visits FROM STDIN (FORMAT csv, HEADER)") as target:
            while block := written.read(1 << 20):
                target.write(block)
        connection.execute("GRANT SELECT ON visits TO reader")
        connection.execute("ANALYZE visits")

    def raw() -> object:
        with psycopg.connect(at.url("reader")) as reader:
            return reader.execute(RAW.format("public.visits")).fetchall()

    master = int((at.folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
    return raw, ours(at.url("reader", "public.visits")), master


def in_spark(file: Path, stack: ExitStack) -> tuple[Work, Work, int | None]:
    from pyspark.sql import SparkSession

    from reticent.demo.spark_server import HERE, QUIET

    settings = {**QUIET, "spark.driver.host": HERE, "spark.driver.bindAddress": HERE, "spark.driver.memory": "3g"}
    settings["spark.sql.shuffle.partitions"] = "4"
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    stack.callback(spark.stop)
    frame = spark.read.parquet(f"file:{file}")
    frame.createOrReplaceTempView("visits")
    java = int(spark._jvm.java.lang.ProcessHandle.current().pid())
    return lambda: spark.sql(RAW.format("visits")).collect(), ours(frame), java


ENGINES: Final = {"DuckDB": in_duckdb, "PostgreSQL": in_postgres, "Spark": in_spark}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--engines", nargs="+", default=list(ENGINES))
    given = parser.parse_args()
    print("| rows | engine | raw, CPU | main job, CPU | over raw | main job, wall |\n|--:|---|--:|--:|--:|--:|")
    for rows in given.rows:
        with tempfile.TemporaryDirectory() as name:
            engines.make(Path(name), rows, KEYS)
            for engine in given.engines:
                with ExitStack() as stack:
                    raw, main_job, process = ENGINES[engine](Path(name) / engines.FILES[".parquet"], stack)
                    (plain, _), (cpu, wall) = taken(raw, process), taken(main_job, process)
                    told = f"{plain:.2f} s | {cpu:.2f} s | {cpu / max(plain, 0.01):.1f} | {wall:.1f} s"
                    print(f"| {rows:,} | {engine} | {told} |", flush=True)


if __name__ == "__main__":
    main()
