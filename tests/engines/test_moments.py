"""Dates and times from every kind of source are the same integers, and no cell makes a reader fail."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from reticent import calendar
from reticent.data.dates import date, datetime
from reticent.data.order_statistics import ABSENT
from reticent.data.query import Records
from reticent.data.schema import Integer, Person, Schema, integer
from reticent.data.table import open_table
from reticent.errors import SpecError
from tests.support.date_texts import DATES, SPELT, meant, read_by, table_of

KEY = bytes(32)
DAY = date("1900-01-01", "2100-12-31")
MINUTE = datetime("1900-01-01", "2100-12-31", resolution="minute")
BERLIN = datetime("1900-01-01", "2100-12-31", resolution="minute", zone="Europe/Berlin")
MOMENTS = [
    None,
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    dt.datetime(2024, 2, 29, 13, 5, 59),
    dt.datetime(2021, 3, 28, 1, 30),
]


def read(cells: object, column: Integer) -> list[str | None]:
    """The cells of a column as texts, in order of their integers."""
    schema = Schema({"x": column}, Person("add_remove"))
    (found,) = open_table({"x": cells} if isinstance(cells, list | np.ndarray) else cells, schema).run(
        [Records(("x",), (Fraction(1),))], KEY
    )
    assert found.records is not None
    assert column.calendar is not None
    step = column.calendar.step
    return [None if row[0] == ABSENT else calendar.text(row[0], step) for row in found.records.tolist()]


def tables(kind: pa.DataType) -> Any:
    return pa.table({"x": pa.array(MOMENTS, pa.timestamp("us")).cast(kind, safe=False)})


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit_are_the_same_minutes(unit: str) -> None:
    wanted = [None, "1969-12-31T23:59", "2021-03-28T01:30", "2024-02-29T13:05"]
    made = tables(pa.timestamp(unit))
    if unit in ("s", "ms"):  # Arrow rounds towards zero when it makes them, before this program sees one
        wanted[1] = "1970-01-01T00:00"
    assert read(made, MINUTE) == wanted
    assert read(made["x"].to_numpy(), MINUTE) == wanted
    assert read(made.to_pandas(), MINUTE) == wanted
    assert read([str(moment) if moment else None for moment in MOMENTS], MINUTE) == [
        *wanted[:1],
        "1969-12-31T23:59",
        *wanted[2:],
    ]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_days_of_every_type_are_the_same(kind: pa.DataType, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    days = [None, dt.date(1969, 12, 31), dt.date(2021, 3, 28), dt.date(2024, 2, 29)]
    wanted = [None, *(day.isoformat() for day in days if day)]
    table = pa.table({"x": pa.array(days, kind)})
    pq.write_table(table, tmp_path / "days.parquet")
    assert read(table, DAY) == read(str(tmp_path / "days.parquet"), DAY) == wanted
    assert read(np.array(days, "datetime64[D]"), DAY) == wanted
    assert read(table.to_pandas(date_as_object=True), DAY) == wanted
    assert read([None if day is None else f"{day}T10:00" for day in days], DAY) == wanted


def test_polars_frames_hold_dates_and_times() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": MOMENTS})
    assert read(frame, MINUTE) == [None, "1969-12-31T23:59", "2021-03-28T01:30", "2024-02-29T13:05"]
    assert read(frame.select(pl.col("x").dt.date()), DAY) == [None, "1969-12-31", "2021-03-28", "2024-02-29"]


def test_times_of_a_zone_are_converted_to_the_declared_one() -> None:
    utc = pa.table({"x": pa.array(MOMENTS, pa.timestamp("us", "UTC"))})
    wanted = [None, "1970-01-01T00:59", "2021-03-28T03:30", "2024-02-29T14:05"]
    assert read(utc, BERLIN) == wanted
    assert read(utc.to_pandas(), BERLIN) == wanted
    assert read([f"{moment}+00:00" if moment else None for moment in MOMENTS], BERLIN) == wanted
    naive = pa.table({"x": pa.array(MOMENTS, pa.timestamp("us"))})
    assert read(naive, BERLIN) == [None, "1969-12-31T23:59", "2021-03-28T01:30", "2024-02-29T13:05"]


def test_times_of_a_zone_need_a_declared_one() -> None:
    utc = pa.table({"x": pa.array(MOMENTS, pa.timestamp("us", "UTC"))})
    for table in (utc, utc.to_pandas()):
        with pytest.raises(SpecError, match="times of a zone"):
            read(table, MINUTE)
    assert read(["2024-02-29T13:05Z", "2024-02-29T13:05"], MINUTE) == [None, "2024-02-29T13:05"]


def test_dates_in_a_column_of_numbers_are_refused_by_their_type() -> None:
    schema = Schema({"x": integer(0, 9)}, Person("add_remove"))
    for kind in (pa.date32(), pa.timestamp("ms")):
        with pytest.raises(SpecError, match='Declare it by kind = "date"'):
            open_table(tables(kind), schema)


def test_dates_beyond_all_years_count_as_the_last_and_the_first() -> None:
    far = pa.array([-(2**63) + 1, 2**63 - 1, 0, None], pa.int64()).cast(pa.timestamp("s"))
    assert read(pa.table({"x": far}), MINUTE) == [None, "0001-01-01T00:00", "1970-01-01T00:00", "9999-12-31T23:59"]
    utc = pa.table({"x": far.cast(pa.timestamp("s", "UTC"))})
    assert len(read(utc, BERLIN)) == 4


@pytest.mark.parametrize(
    ("spelling", "cells", "wanted"),
    [
        ("%d.%m.%Y", ["29.02.2024", "29.2.2024", "29.02.2023", "2024-02-29", "1.1.24"], 2),
        ("%Y%m%d", ["20240229", "20230229", "202429", 20240229], 2),
        ("%m/%d/%Y", ["2/29/2024", "29/2/2024"], 1),
    ],
)
def test_a_declared_spelling_is_read_and_no_other(spelling: str, cells: list[object], wanted: int) -> None:
    found = read(cells, date("1900-01-01", "2100-12-31", format=spelling))
    assert found == [None] * (len(cells) - wanted) + ["2024-02-29"] * wanted


@pytest.mark.parametrize("column", SPELT, ids=lambda column: column.calendar.format)
def test_every_spelling_is_read_as_python_reads_it(column: Integer) -> None:
    assert read_by(open_table({"x": list(DATES)}, table_of(column))) == meant(DATES, column)
    assert column.calendar is not None
    assert read([column.calendar.example], column) != [None]


@pytest.mark.parametrize(
    ("spelling", "cell", "wanted"),
    [
        ("mmm d, yyyy", "Jun 12, 1998", "1998-06-12"),
        ("ddmmmyyyy", "01JAN2024", "2024-01-01"),
        ("d mmmm yyyy", "5 december 2021", "2021-12-05"),
        ("dd.mm.yy", "29.02.24", "2024-02-29"),
        ("m/d/yy", "7/4/76", "1976-07-04"),
    ],
)
def test_names_of_months_and_years_of_two_digits_are_read(spelling: str, cell: str, wanted: str) -> None:
    assert read([cell], date("1960-01-01", "2030-12-31", format=spelling)) == [wanted]


def test_a_year_just_outside_the_bounds_is_the_near_one() -> None:
    """The hundred years lie about the bounds: 19 is 2019, which counts as the lower one, and not 2119."""
    column = date("2020-01-01", "2024-12-31", format="dd.mm.yy")
    assert read(["31.12.19", "01.01.25"], column) == ["2019-12-31", "2025-01-01"]


def test_a_date_that_stands_for_nothing_is_missing_in_every_source() -> None:
    from reticent.data.format import Format

    for cells in (["9999-12-31", "2024-02-29"], np.array(["9999-12-31", "2024-02-29"], "datetime64[D]")):
        schema = Schema({"x": DAY}, Person("add_remove"), Format(na=("9999-12-31",)))
        (found,) = open_table({"x": cells}, schema).run([Records(("x",), (Fraction(1),))], KEY)
        assert found.records is not None
        assert found.records.tolist() == [[ABSENT], [19_782]]
