"""Texts of dates in many spellings, with the columns that read them, and what an engine should make of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from reticent.data.dates import date, datetime
from reticent.data.order_statistics import ABSENT
from reticent.data.query import Records
from reticent.data.schema import Integer, Person, Schema
from reticent.data.table import Table
from tests.support.data_reference import moment_of

_NEAR: Final = ("1990-01-01", "2030-12-31")
SPELT: Final = (
    date(*_NEAR, format="%d.%m.%Y"),
    date(*_NEAR, format="dd.mm.yy"),
    date("1905-01-01", "2004-12-31", format="m/d/yy"),
    date(*_NEAR, format="mmm d, yyyy"),
    date(*_NEAR, format="ddmmmyyyy"),
    date(*_NEAR, format="d. mmmm yyyy"),
    date(*_NEAR, format="yymmdd"),
    datetime(*_NEAR, format="m/d/yyyy h:mm AM/PM"),
    datetime(*_NEAR, resolution="hour", format="%b %d %Y %I:%M:%S %p"),
    datetime(*_NEAR, format="dd-mmm-yy hh:mm"),
)
DATES: Final = (
    *("29.02.2024", "29.2.2024", "29.02.2023", "2024-02-29", "1.1.24", "29.02.24", "29.02.23", "31.12.29", "1.1.90"),
    *("2/29/24", "2/29/04", "2/29/00", "12/31/05", "13/1/05", "1/1/99", "7/4/1976"),
    *("Feb 29, 2024", "feb 29, 2024", "FEB 29, 2023", "Sept 1, 2024", "May 1, 2024", "Mai 1, 2024", "Jun 12, 1998"),
    *("29FEB2024", "29feb2024", "1FEB2024", "01JAN1990", "29. February 2024", "1. may 2024", "1. Feb 2024"),
    *("240229", "230229", "24229", "891231", "290101"),
    *("2/29/2024 12:05 AM", "2/29/2024 12:05 pm", "2/29/2024 1:05 PM", "2/29/2024 13:05 PM", "2/29/2024 0:05 AM"),
    *("12/31/2024 11:59 PM", "2/29/2023 1:05 PM", "2/29/2024 1:05", "2/29/2024 01:05 a.m."),
    *(
        "Feb 29 2024 11:59:59 PM",
        "Dec 01 2024 12:00:00 AM",
        "29-Feb-24 13:45",
        "29-Feb-24 24:00",
        "",
        "x",
        " 29.02.2024 ",
    ),
)


def table_of(column: Integer) -> Schema:
    """The schema of one column of dates, ``x``."""
    return Schema({"x": column}, Person("add_remove"))


def read_by(table: Table) -> list[int]:
    """The integers that the engine makes of the cells, in order, those without first."""
    (found,) = table.run([Records(("x",), (Fraction(1),))], bytes(32))
    assert found.records is not None
    return sorted(row[0] for row in found.records.tolist())


def meant(texts: Sequence[str], column: Integer) -> list[int]:
    """The integers that Python reads in the cells, in order; bounds cut none of them yet."""
    assert column.calendar is not None
    found = (moment_of(text, column.calendar) for text in texts)
    return sorted(ABSENT if value is None else int(value) for value in found)
