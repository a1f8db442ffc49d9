"""Parts of dates and times on an engine, from the integer of a calendar: years, months, ages, texts.

Parts are taken of timestamps without zone, never of the session's.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import ibis

from reticent.data.engines.casts import double, seconds_of, timestamp

Expr: TypeAlias = Any  # Ibis is not typed; expressions never leave ``plan`` but as SQL text


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
    return seconds_of(timestamp(found * double(step)).truncate(unit)) / double(86_400)


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
