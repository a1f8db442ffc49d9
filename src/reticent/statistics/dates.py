"""Statistics of dates: which there are, and their answers as dates.

A column of dates counts days, or shorter steps, from 1970 on, so a statistic of integers answers in these. A value, or
an average of values, is a date again; a spread is a number of days. Sums of dates mean nothing, and are refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from reticent.calendar import DAY, STEPS, Calendar, DayCount
from reticent.data.schema import Integer, Schema
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import Reply

if TYPE_CHECKING:
    from reticent.statistics.answer import Answer, Cell
    from reticent.statistics.statistic import Statistic

T = TypeVar("T", bound="Statistic")


def calendar_of(column: str, schema: Schema) -> Calendar | None:
    """The calendar of a declared column of dates; None of any other."""
    declared = schema.columns.get(column)
    return declared.calendar if isinstance(declared, Integer) else None


def check_dates(statistic: Statistic, schema: Schema) -> None:
    """Refuse a statistic that means nothing of dates, before anything is charged.

    Raises
    ------
    QuestionError
        With what to write instead.
    """
    if statistic.takes_dates:
        return
    for column in statistic.columns:
        if calendar_of(column, schema) is not None:
            verb = statistic.verb
            raise QuestionError(
                f"{column} is a date, and {verb} of dates is not told. Compute a number and ask of that: "
                f"{verb}(days({column} - 2024-01-01)), or {verb}(year({column})). Nothing was charged."
            )


def in_steps(statistic: T, schema: Schema) -> T:
    """The statistic with its dates as integers of its column.

    Raises
    ------
    QuestionError
        Dates of a column of numbers, or a time between two steps of the column.
    """
    if not any(map(_has_dates, _options(statistic).values())):
        return statistic
    found = {name: calendar_of(name, schema) for name in statistic.named}
    calendars = {one.step for one in found.values() if one is not None}
    if len(found) != 1 or not calendars:
        raise QuestionError(
            f"{statistic.name} has dates among its options, and {', '.join(found)} is no date. Nothing was charged."
        )
    numbered: T = _numbered(statistic, calendars.pop())
    return numbered


def _options(value: Any) -> dict[str, object]:
    return {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}


def _has_dates(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_dates, value))
    return isinstance(value, DayCount) or (attrs.has(type(value)) and any(map(_has_dates, _options(value).values())))


def _numbered(value: Any, step: int) -> Any:
    """A value of an option with every date in it as a number of steps."""
    if isinstance(value, DayCount):
        try:
            return value.steps(step, "a date")
        except PublicParameterError as error:
            raise QuestionError(f"{error}. Nothing was charged.") from None
    if isinstance(value, tuple):
        return tuple(_numbered(item, step) for item in value)
    if attrs.has(type(value)):
        options = _options(value)
        return attrs.evolve(value, **{name: _numbered(one, step) for name, one in options.items() if _has_dates(one)})
    return value


def calendar_told(statistic: Statistic, schema: Schema) -> Calendar | None:
    """The calendar that the numbers of a statistic are told in; None where they are no dates and no spread of dates."""
    if statistic.axis not in ("values", "spread") or not statistic.columns:
        return None
    return calendar_of(statistic.columns[0], schema)


def dated(answer: Answer, statistic: Statistic, found: Calendar) -> Answer:
    """The answer of a statistic of dates, with its numbers as dates or as distances of dates.

    A spread of times is in hours.

    Parameters
    ----------
    answer : Answer
        Answer in steps of the calendar.
    statistic : Statistic
        Its statistic, which is a place or a distance.
    found : Calendar
        Calendar of the column.

    Returns
    -------
    Answer
        Answer with dates, or in days or hours.
    """
    if statistic.axis == "values":
        return replace(answer, cells=tuple(_cell(cell, found.step, found.units, 1.0) for cell in answer.cells))
    unit, factor = ("days", 1.0) if found.step == DAY else ("hours", found.step / STEPS["hour"])
    return replace(answer, cells=tuple(_cell(cell, 0, unit, factor) for cell in answer.cells))


def _cell(cell: Cell, step: int, unit: str, factor: float) -> Cell:
    match cell.outcome:
        case Reply(e):
            numbers = {name: factor * getattr(e, name) for name in ("value", "low", "high", "noise", "sampling")}
            law = cell.error if factor == 1.0 else None
            return replace(cell, outcome=Reply(replace(e, **numbers, step=step, unit=unit)), error=law)
        case _:
            return cell
