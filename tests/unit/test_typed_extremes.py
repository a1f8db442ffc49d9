"""The ends of a type are cells like others: one row never decides between an answer and a fault.

A row whose cell no library can make an object of, or that is beyond an integer, counts as missing or as far away.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest

import reticent as rt
from reticent.data.query import DistinctPersons, PresentValues, Query, Records, Rows, Tally
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.data.table import open_table
from reticent.errors import SpecError

DECLARED: Final[dict[str, Column]] = {
    "real": real(-5, 5),
    "integer": integer(-5, 5),
    "free": integer(),
    "texts": category(["a", "1"]),
    "whole": category([1, 2]),
    "truth": category([True, False]),
    "date": rt.date("2020-01-01", "2024-12-31"),
    "datetime": rt.datetime("2020-01-01", "2024-12-31"),
    "zoned": rt.datetime("2020-01-01", "2024-12-31", zone="Europe/Berlin"),
}
IN_DUCKDB: Final = {
    "HUGEINT": ("170141183460469231731687303715884105727", "1"),
    "UBIGINT": ("18446744073709551615", "1"),
    "DECIMAL(38, 30)": ("99999999.999999999999999999999999999999", "1"),
    "DATE": ("5881580-07-10", "2020-01-01"),
    "TIMESTAMP_S": ("infinity", "2020-01-01"),
    "TIMESTAMP_MS": ("-infinity", "2020-01-01"),
    "TIMESTAMP": ("infinity", "2020-01-01"),
    "TIMESTAMP_NS": ("infinity", "2020-01-01"),
    "TIMESTAMPTZ": ("-infinity", "2020-01-01"),
    "DOUBLE": ("nan", "1"),
    "FLOAT": ("-inf", "1"),
}
FAR: Final = 2**63 - 1
DAY: Final = 86_400


def of_arrow(cells: list[int], kind: str) -> Any:
    """A column of pandas in a type of Arrow."""
    import pandas as pd
    import pyarrow as pa

    width = pa.int32() if kind == "date32" else pa.int64()
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(cells, width).view(pa.type_for_alias(kind))))


def of_pandas(cells: list[int], kind: str) -> Any:
    import pandas as pd

    return pd.Series(cells, dtype=kind)


def of_polars(cells: list[int], kind: str) -> Any:
    """A column of Polars in a type that it keeps as integers."""
    import polars

    kept = polars.Int32 if kind == "Date" else polars.Int64
    return polars.Series(cells, dtype=kept).cast(polars.Datetime("ms") if kind == "Datetime" else getattr(polars, kind))


MADE: Final[dict[str, Callable[[int], Any]]] = {
    "numpy seconds": lambda odd: np.array([odd] + [18_000 * DAY] * 9).view("datetime64[s]"),
    "pandas Int64": lambda odd: of_pandas([odd] + [1] * 9, "Int64"),
    "pandas date32": lambda odd: of_arrow([min(odd, 2**31 - 1)] + [18_500] * 9, "date32"),
    "pandas seconds": lambda odd: of_arrow([odd] + [18_000 * DAY] * 9, "timestamp[s]"),
    "polars dates": lambda odd: of_polars([min(odd, 2**31 - 1)] + [18_500] * 9, "Date"),
    "polars years": lambda odd: of_polars([min(odd, 2_940_000)] + [18_500] * 9, "Date"),
    "polars times": lambda odd: of_polars([odd] + [18_000 * DAY * 1000] * 9, "Datetime"),
    "polars integers": lambda odd: of_polars([odd] + [1] * 9, "Int128"),
}


def answered(source: Any) -> int:
    """The number of declarations under which rows are read; others are refused before."""
    asked = 0
    for name, column in DECLARED.items():
        for person in (None, "c"):
            schema = Schema({"c": column}, Person("add_remove", person, rows=2 if person else 1))
            queries: list[Query] = [Rows(), DistinctPersons()] if person else [Rows(), PresentValues("c")]
            if not person and name not in ("texts", "whole", "truth"):
                queries += [Records(("c",), (Fraction(1),)), Tally("c", edges=(Fraction(0), Fraction(10**9)))]
            try:
                table = open_table(source, schema)
            except SpecError:
                continue
            (rows,) = table.run(queries, bytes(32))[0].vectors[0]
            assert rows >= 2 if person else rows == 10
            asked += 1
    return asked


@pytest.mark.parametrize("kind", MADE)
def test_an_extreme_in_memory_is_one_cell(kind: str) -> None:
    usual, extreme = (answered({"c": MADE[kind](odd)}) for odd in (1, FAR))
    assert usual == extreme > 0


@pytest.mark.parametrize("kind", IN_DUCKDB)
def test_an_extreme_of_a_relation_is_one_cell(kind: str) -> None:
    import duckdb

    odd, other = IN_DUCKDB[kind]

    def relation(cell: str) -> Any:
        text = f"SELECT CAST(CASE WHEN i = 0 THEN '{cell}' ELSE '{other}' END AS {kind}) AS c FROM range(10) q(i)"
        return duckdb.connect().sql(text)

    assert answered(relation(odd)) == answered(relation(other)) > 0
