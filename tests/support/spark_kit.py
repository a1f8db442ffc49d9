"""Spark for tests: one session of this process, tables in it, and what a client of a server prints.

As a program, with the address of a master as its argument or ``SPARK_REMOTE`` in its environment, it prints the answers
of one table.
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pytest

from reticent.data.format import Limits
from reticent.data.query import Query
from reticent.data.schema import Person, Schema
from reticent.data.spark_table import open_frame
from reticent.data.table import Table
from reticent.demo.spark_server import HERE, QUIET, SHORT_LIVED, lacking

PERSON: Final = Person("add_remove", "who", rows=3)


def excused() -> bool:
    """The tests may be left out: no Spark is installed, and this is not CI or CI says so by ``CI_WITHOUT``."""
    return bool(lacking()) and ("CI" not in os.environ or "spark" in os.environ.get("CI_WITHOUT", "").split(","))


needs_spark = pytest.mark.skipif(
    excused(), reason="no Spark is installed: its engine was not tested (a JRE, and pip install 'reticent[spark]')"
)


def started(master: str = "local[2]") -> Any:
    """A classic session in a far time zone, whose plans are for little data."""
    from pyspark.sql import SparkSession

    settings = {
        **QUIET,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/Sao_Paulo",
        "spark.driver.host": HERE,
        "spark.driver.bindAddress": HERE,
        "spark.executor.memory": "512m",
        "spark.sql.adaptive.enabled": "false",  # plans anew at each step, which takes longer than little data
        **dict.fromkeys(("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"), SHORT_LIVED),
    }
    return SparkSession.builder.master(master).config(map=settings).getOrCreate()


def frame(spark: Any, columns: Mapping[str, Sequence[object]]) -> Any:
    """A DataFrame of columns."""
    return spark.createDataFrame(pa.table({name: pa.array(cells) for name, cells in columns.items()}))


def table(made: Any, schema: Schema) -> Table:
    return Table(open_frame(made, schema), schema, Limits(), None)


def asked(every: int = 11) -> list[Query]:
    """A few queries of every kind; fewer where a cluster or a server is what is tested, for each takes seconds."""
    from tests.engines.test_against_reference import queries

    return queries()[::every]


def main(address: str) -> None:
    from pyspark.sql import SparkSession

    from tests.engines.test_against_reference import SECRET, arrays, columns, random_rows, shown

    warnings.simplefilter("ignore")
    spark = started(address) if address else SparkSession.builder.getOrCreate()
    rows = random_rows(random.Random(5), 60)
    opened = table(frame(spark, arrays(rows)), Schema(columns(), PERSON))
    opened.probe()
    print(repr(shown(opened.run(asked(33), SECRET))))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:2] or [""])
