"""Spark for tests: one session of a process, tables in it, and what a client of a server prints.

The session is never stopped: a Java that has run a while takes half of what a new one takes, and its engine is tested.

As a program it prints the answers of one table. Its argument is the address of a master; without one it takes the
server of ``SPARK_REMOTE``. With a second argument the engine is tested first.
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
from reticent.demo.spark_server import HERE, QUIET, SHORT_LIVED, SMALL, lacking

PLUGIN: Final = {
    "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    ".driver": "org.apache.derby.jdbc.EmbeddedDriver",
}
MEMORY: Final = "jdbc:derby:memory:clinic;create=true"
UNHEARD: Final = f"-Dderby.stream.error.file={os.devnull}"
COMPILED: Final = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}  # by default
# A session of Spark's own settings publishes the demonstration; other tests have these, which change no answer.
ODD: Final = {
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "Pacific/Apia",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}
LENIENT: Final = {"spark.sql.ansi.enabled": "false", "spark.sql.adaptive.enabled": "true"}
PERSON: Final = Person("add_remove", "who", rows=3)


def excused() -> bool:
    """The tests may be left out: no Spark is installed, and this is not CI or CI says so by ``CI_WITHOUT``."""
    return bool(lacking()) and ("CI" not in os.environ or "spark" in os.environ.get("CI_WITHOUT", "").split(","))


needs_spark = pytest.mark.skipif(
    excused(), reason="no Spark is installed: its engine was not tested (a JRE, and pip install 'reticent[spark]')"
)


def plugged(url: str) -> dict[str, str]:
    """Settings of Spark that name the catalog "clinic", which is a database behind a plugin."""
    return {f"spark.sql.catalog.clinic{name}": value for name, value in {**PLUGIN, ".url": url}.items()}


def started(master: str = "") -> Any:
    """The classic session of this process, with odd settings; but of a master its statements are not compiled."""
    from pyspark.sql import SparkSession

    settings = {
        **QUIET,
        **SMALL,
        **ODD,
        **(COMPILED | LENIENT if master else {}),
        "spark.driver.host": HERE,
        "spark.driver.bindAddress": HERE,
        "spark.executor.memory": "512m",
        "spark.driver.extraJavaOptions": f"{SHORT_LIVED} {UNHEARD}",
        "spark.executor.extraJavaOptions": SHORT_LIVED,
        **plugged(MEMORY),
    }
    return SparkSession.builder.master(master or "local[2]").config(map=settings).getOrCreate()


def frame(spark: Any, columns: Mapping[str, Sequence[object]]) -> Any:
    """A DataFrame of columns."""
    return spark.createDataFrame(pa.table({name: pa.array(cells) for name, cells in columns.items()}))


def table(made: Any, schema: Schema) -> Table:
    return Table(open_frame(made, schema), schema, Limits(), None)


def asked(every: int = 11) -> list[Query]:
    """A few queries of every kind; fewer where a cluster or a server is what is tested, for each takes seconds."""
    from tests.engines.test_against_reference import queries

    return queries()[::every]


def main(address: str = "", *tested: str) -> None:
    from pyspark.sql import SparkSession

    from tests.engines.test_against_reference import SECRET, arrays, columns, random_rows, shown

    warnings.simplefilter("ignore")
    spark = started(address) if address else SparkSession.builder.getOrCreate()
    rows = random_rows(random.Random(5), 60)
    opened = table(frame(spark, arrays(rows)), Schema(columns(), PERSON))
    if tested:
        opened.probe()
    print(repr(shown(opened.run(asked(66), SECRET))))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
