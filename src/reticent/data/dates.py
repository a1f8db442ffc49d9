"""Declarations of dates and times: integer columns with a calendar, from dates, texts, or a table of a study file."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from reticent.calendar import STEPS, Calendar, Moment, count
from reticent.data.schema import Integer, Missing, truth_of
from reticent.errors import PublicParameterError, called_as


@called_as('rt.date("2020-01-01", "2026-12-31"), the first and the last day, known without looking')
def date(
    low: Moment,
    high: Moment,
    *,
    why: str = "",
    missing: Moment = "drop",
    complete: bool = False,
    format: str = "",  # noqa: A002 - the word of the study file
    label: str = "",
) -> Integer:
    """A column of dates, from a first possible day to a last.

    Parameters
    ----------
    low, high : date or str
        ``"2020-01-01"`` or ``datetime.date(2020, 1, 1)``, known without looking at the rows.
    why : str
        Where the range comes from; the certificate says it.
    missing : "drop" or date
        The public date that stands in for a cell that cannot be read.
    complete : bool
        You vouch that every cell is a date, as for ``real``.
    format : str
        Spelling of cells that are text, such as ``"%d.%m.%Y"``; by default ISO 8601, ``2024-02-29``.
    label : str
        What people call the column, as for ``real``.

    Returns
    -------
    Integer
        The declaration, for ``study(columns={...})``: the column holds days since 1970-01-01.

    Raises
    ------
    PublicParameterError
        What is no date, or low not before high.
    """
    return moments(low, high, Calendar(format=format), why=why, missing=missing, complete=complete, label=label)


@called_as('rt.datetime("2020-01-01", "2026-12-31T23:59"), the first and the last moment, known without looking')
def datetime(
    low: Moment,
    high: Moment,
    *,
    resolution: str = "second",
    zone: str = "",
    why: str = "",
    missing: Moment = "drop",
    complete: bool = False,
    format: str = "",  # noqa: A002 - the word of the study file
) -> Integer:
    """A column of times: days with the hour, the minute or the second.

    Parameters
    ----------
    low, high : datetime or str
        ``"2024-02-29T13:05"``, or a day, which means its midnight.
    resolution : "second", "minute" or "hour"
        The step on which times are counted; what is finer is cut off.
    zone : str
        The zone that cells with an offset are converted to, such as ``"Europe/Berlin"``; without one they cannot be
        read. Cells without offset are taken as they stand.
    why, missing, complete, format
        As for ``date``; a format says the time as well: ``"%d.%m.%Y %H:%M"``.

    Returns
    -------
    Integer
        The declaration: the column holds steps of the resolution since 1970-01-01T00:00.

    Raises
    ------
    PublicParameterError
        What is no time, low not before high, or a bound between two steps.
    """
    calendar = Calendar(step_of(resolution), zone, format)
    return moments(low, high, calendar, why=why, missing=missing, complete=complete, label="")


def step_of(resolution: object) -> int:
    """Seconds of a resolution of times.

    Raises
    ------
    PublicParameterError
        For another word than second, minute and hour.
    """
    if not isinstance(resolution, str) or resolution not in STEPS or resolution == "day":
        raise PublicParameterError(f'resolution is "second", "minute" or "hour", got {str(resolution)[:60]!r}')
    return STEPS[resolution]


def moments(
    low: object,
    high: object,
    calendar: Calendar,
    *,
    why: str,
    missing: object,
    complete: bool,
    label: str,
    constant: bool = False,
) -> Integer:
    """The integer column of a calendar, with its bounds as dates, texts or None.

    Parameters
    ----------
    low, high : object
        Bounds as dates, texts or None.
    calendar : Calendar
        Step and zone of the column.
    why : str
        Source of the bounds.
    missing : object
        "drop", or the date that stands in for a missing cell.
    complete : bool
        True if no cell is missing.
    label : str
        Words for people in place of the name.
    constant : bool
        True if all rows of a person have one value.

    Returns
    -------
    Integer
        Column whose integers count steps since 1 January 1970.

    Raises
    ------
    PublicParameterError
        A bound or a stand-in that is no date, or a stand-in outside of the bounds.
    """
    ends = [
        None if end is None else count(end, calendar.step, name)  # type: ignore[arg-type]  # refused if no date
        for name, end in (("low", low), ("high", high))
    ]
    stands_in: Missing = "drop"
    if not (isinstance(missing, str) and missing == "drop"):
        stands_in = Fraction(count(missing, calendar.step, "missing"))  # type: ignore[arg-type]
        if None not in ends and not ends[0] <= stands_in <= ends[1]:  # type: ignore[operator]
            raise PublicParameterError("missing is a date from low to high: rows that take it count as of that date")
    vouched, within = truth_of(complete, "complete"), calendar.within(ends[0], ends[1])
    return Integer(ends[0], ends[1], why, stands_in, constant, vouched, label=label, calendar=within)


def from_table(table: Mapping[str, Any], texts: Mapping[str, str]) -> Integer:
    """The column of a table of a study file, of which ``texts`` are the values that must be text.

    Raises
    ------
    PublicParameterError
        What is no date or time; bounds that are left out.
    """
    step = STEPS["day"] if table["kind"] == "date" else step_of(texts.get("resolution", "second"))
    calendar = Calendar(step, texts.get("zone", ""), texts.get("format", ""))
    return moments(
        table.get("low"),
        table.get("high"),
        calendar,
        why=texts.get("why", ""),
        missing=table.get("missing", "drop"),
        complete=table.get("complete", False),
        label=texts.get("label", ""),
        constant=truth_of(table.get("constant", False), "constant"),
    )
