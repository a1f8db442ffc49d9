"""One table on each engine, so that one test body runs over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pytest

from tests.support import postgres_kit, spark_kit

Place = Callable[[Mapping[str, Sequence[Any]]], Any]  # from columns to the source that holds them

EVERY: Final = (
    "duckdb",
    pytest.param(
        "postgres", marks=pytest.mark.skipif(postgres_kit.excused(), reason="no PostgreSQL (Debian: postgresql)")
    ),
    pytest.param(
        "spark",
        marks=[
            spark_kit.needs_spark,
            pytest.mark.wide,
            # pyspark leaves the closing of its sockets to the garbage collector
            pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
        ],
    ),
)
SQL_TYPES: Final = {int: "bigint", float: "double precision", str: "text", bool: "boolean"}


@contextmanager
def placed(engine: str) -> Iterator[Place]:
    """A way to put a table where this engine reads it, for as long as it runs."""
    match engine:
        case "duckdb":
            yield dict
        case "postgres":
            with postgres_kit.database() as db:

                def put(columns: Mapping[str, Sequence[Any]]) -> str:
                    kinds = {name: SQL_TYPES[type(cells[0])] for name, cells in columns.items()}
                    return db.table(kinds, list(zip(*columns.values(), strict=True)))

                yield put
        case _:
            spark = spark_kit.started()
            yield lambda columns: spark_kit.frame(spark, columns)
