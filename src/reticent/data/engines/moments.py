"""Dates and times on an engine: from a cell to the integer of its calendar, and from such an integer to its parts.

A cell of text that the calendar's pattern takes is put in ISO order and cast; 30 February becomes null there. Seconds
of a typed source are taken as they stand, or are converted from UTC to the declared zone. No cell makes it fail: far
dates are moved into the years 1 to 9999 first. Parts are taken of timestamps without zone, never of the session's.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeAlias

import ibis

from reticent.calendar import FIRST, LAST, MONTHS, Calendar, seconds
from reticent.data.columns import Storage
from reticent.data.engines.numbers import clamp, double
from reticent.data.format import Format
from reticent.errors import PublicParameterError

Expr: TypeAlias = Any  # Ibis is not typed; expressions never leave ``plan`` but as SQL text


@ibis.udf.scalar.builtin(name="timezone", signature=(("string", "timestamp"), "timestamp('UTC')"))  # type: ignore[untyped-decorator]
def _instant(zone: str, wall: Any) -> Any:
    """The instant at which clocks of a zone show a time."""


@ibis.udf.scalar.builtin(name="timezone", signature=(("string", "timestamp('UTC')"), "timestamp"))  # type: ignore[untyped-decorator]
def _wall(zone: str, instant: Any) -> Any:
    """The time that clocks of a zone show at an instant."""


def cell(raw: Expr, text: Expr, storage: Storage, calendar: Calendar, form: Format) -> Expr:
    """The integer of a cell as a double, or null.

    Parameters
    ----------
    raw : Expr
        The cell as the source stores it.
    text : Expr
        The cell as text, null where ``na`` lists it.
    storage : Storage
        Storage of the column.
    calendar : Calendar
        Step and zone of the column.
    form : Format
        Notation of missing cells.

    Returns
    -------
    Expr
        Steps since 1 January 1970 as a double, or null.
    """
    match storage:
        case "seconds":
            found = _listed(raw.cast("float64"), form)
        case "instants":
            found = _listed(_local(raw.cast("float64"), calendar.zone), form)
        case _:
            found = _read(text, calendar)
    return (found / double(calendar.step)).floor().cast("float64")


def _listed(found: Expr, form: Format) -> Expr:
    """Seconds, or null where ``na`` lists their date."""
    absent = []
    for word in form.na:
        try:
            absent.append(float(seconds(word)[0]))
        except PublicParameterError:
            continue
    return ibis.ifelse(found.isin([double(one) for one in absent]), ibis.null("float64"), found) if absent else found


def _read(text: Expr, calendar: Calendar) -> Expr:
    """Seconds of a cell that is text."""
    pattern = calendar.pattern
    text = ibis.ifelse(text.re_search(pattern), text, ibis.null("string"))
    parts = {name: text.re_extract(pattern, nth) for nth, name in enumerate(calendar.order, start=1)}
    parts = {name: ibis.ifelse(part == "", "0", part) for name, part in parts.items()}
    day = _year(parts, calendar.century) + "-" + _month(parts) + "-" + parts["%d"]
    time = [_hour(parts), *(parts.get(name, ibis.literal("0")) for name in ("%M", "%S"))]
    wall = (day + " " + time[0] + ":" + time[1] + ":" + time[2]).try_cast("timestamp")
    found = _seconds(wall)
    if not calendar.zone or calendar.format:
        return found
    offset = text.re_extract(pattern, len(parts) + 1)
    digits = ibis.ifelse((offset == "") | (offset == "Z"), "+0000", offset.replace(":", ""))
    minutes = digits.substr(1, 2).cast("float64") * double(60) + digits.substr(3, 2).cast("float64")
    east = ibis.ifelse(digits.substr(0, 1) == "-", double(60), double(-60)) * minutes
    return ibis.ifelse(offset == "", found, _local(found + east, calendar.zone))


def _year(parts: Mapping[str, Expr], century: int) -> Expr:
    """Four digits of the year; of two, those that lie in the hundred years from ``century`` on."""
    if "%y" not in parts:
        return parts["%Y"]
    first, rest = divmod(century, 100)
    return ibis.ifelse(parts["%y"] >= f"{rest:02}", f"{first:02}", f"{first + 1:02}") + parts["%y"]


def _month(parts: Mapping[str, Expr]) -> Expr:
    """The digits of the month, of its English name too."""
    if "%m" in parts:
        return parts["%m"]
    name = parts.get("%b", parts.get("%B")).substr(0, 3).lower()
    return ibis.cases(*((name == month[:3].lower(), f"{nth:02}") for nth, month in enumerate(MONTHS, 1)), else_="0")


def _hour(parts: Mapping[str, Expr]) -> Expr:
    """The hour of the day; of AM and PM, 12 AM is 0 and 12 PM is 12."""
    if "%I" not in parts:
        return parts.get("%H", ibis.literal("0"))
    hour, late = parts["%I"], parts["%p"].lower() == "pm"
    named = ((hour.isin([str(nth), f"{nth:02}"]), nth % 12) for nth in range(1, 13))
    return ibis.cases(*((found, ibis.ifelse(late, f"{nth + 12}", f"{nth:02}")) for found, nth in named), else_="0")


def _local(utc: Expr, zone: str) -> Expr:
    """Seconds on the clocks of a zone."""
    return _seconds(_wall(zone, _instant("UTC", timestamp(utc))))


def timestamp(found: Expr) -> Expr:
    """The timestamp of seconds since 1970, within the years 1 to 9999."""
    inside = clamp(found, float(FIRST), float(LAST))
    return ibis.literal(datetime.datetime(1970, 1, 1), "timestamp") + inside.floor().cast("int64").as_interval("s")


def _seconds(moment: Expr) -> Expr:
    return moment.epoch_seconds().cast("float64")


def part(name: str, found: Expr, step: int) -> Expr:
    """A part of the moment of an integer, as a double; weekdays count from Monday, 1.

    Parameters
    ----------
    name : str
        Part of a moment, such as "month".
    found : Expr
        Moment, in steps.
    step : int
        Seconds of one step.

    Returns
    -------
    Expr
        Double.

    Raises
    ------
    TypeError
        A name of no part.
    """
    moment = timestamp(found * double(step))
    match name:
        case "year":
            whole = moment.year()
        case "quarter":
            whole = moment.quarter()
        case "month":
            whole = moment.month()
        case "week":
            whole = moment.week_of_year()
        case "weekday":
            whole = moment.day_of_week.index() + 1
        case "day":
            whole = moment.day()
        case "hour":
            whole = moment.hour()
        case _:
            raise TypeError(f"no engine formula for {name}")
    return whole.cast("float64")


def truncated(found: Expr, step: int, period: str) -> Expr:
    """The first day of the period that a moment lies in, in days.

    Parameters
    ----------
    found : Expr
        Moment, in steps.
    step : int
        Seconds of one step.
    period : str
        "day", "week", "month", "quarter" or "year".

    Returns
    -------
    Expr
        Double, in days.
    """
    unit = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}[period]
    return _seconds(timestamp(found * double(step)).truncate(unit)) / double(86_400)


def age(born: Expr, born_step: int, at: Expr, at_step: int) -> Expr:
    """Completed years of life.

    Parameters
    ----------
    born, at : Expr
        Moments of birth and of the question, each in its own steps.
    born_step, at_step : int
        Seconds of one step of each.

    Returns
    -------
    Expr
        Double, in years.
    """
    years = part("year", at, at_step) - part("year", born, born_step)
    one, other = (
        part("month", found, step) * double(100) + part("day", found, step)
        for found, step in ((born, born_step), (at, at_step))
    )
    return ibis.cases((other < one, years - double(1)), (other >= one, years), else_=ibis.null("float64"))


def spelt(found: Expr) -> Expr:
    """The ISO text of a number of days, which is a key of a list of dates."""
    return timestamp(found * double(86_400)).strftime("%Y-%m-%d")
