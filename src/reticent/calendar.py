"""Calendars: days and times as integers, which count steps of a fixed size from 1970-01-01T00:00.

    count("2024-02-29", DAY)  19782        text(19782, DAY)  "2024-02-29"        text(28486025, 60)  "2024-02-29T13:05"

A day has 24 hours here: times are those that a clock on the wall shows, and no zone stands in an integer. The years are
those of Python, 1 to 9999, Gregorian throughout.
"""

from __future__ import annotations

import datetime
import math
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from reticent.errors import PublicParameterError, QuestionError, restored

DAY: Final = 86_400


def _of_any_case(word: str) -> str:
    """The pattern of a word in capitals, small letters, or both."""
    return "".join(f"[{letter.lower()}{letter.upper()}]" for letter in word)


STEPS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": DAY}
PERIODS: Final = ("day", "week", "month", "quarter", "year")
DATE_PARTS: Final = {
    "year": "the year",
    "quarter": "the quarter, 1 to 4",
    "month": "the month, 1 to 12",
    "week": "the week of ISO 8601, 1 to 53",
    "weekday": "the day of the week, 1 for Monday to 7",
    "day": "the day of the month",
    "hour": "the hour, 0 to 23",
}
PART_ENDS: Final = {
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "weekday": (1, 7),
    "day": (1, 31),
    "hour": (0, 23),
}
LONG_SPAN: Final = 8 * 366  # days, or hours: every part there is lies within, a week 53 too
SPANS: Final = {"days": 86_400, "hours": 3_600}
START: Final = datetime.datetime(1970, 1, 1)
FIRST: Final = -719_162 * DAY  # 0001-01-01, in seconds
LAST: Final = 2_932_897 * DAY - 1  # 9999-12-31T23:59:59
PARTS: Final = {
    "%Y": r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])",
    "%m": r"(0?[1-9]|1[0-2])",
    "%d": r"(0?[1-9]|[12][0-9]|3[01])",
    "%H": r"(0?[0-9]|1[0-9]|2[0-3])",
    "%M": r"(0?[0-9]|[1-5][0-9])",
    "%S": r"(0?[0-9]|[1-5][0-9])",
}
MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_NAMED: Final = {  # years without their century, names of months in English, and the twelve hours of half a day
    "%y": r"([0-9]{2})",
    "%b": f"({'|'.join(_of_any_case(month[:3]) for month in MONTHS)})",
    "%B": f"({'|'.join(map(_of_any_case, MONTHS))})",
    "%I": r"(0?[1-9]|1[0-2])",
    "%p": "([aApP][mM])",
}
_TWO: Final = {name: digits.replace("0?", "0") for name, digits in (PARTS | _NAMED).items()}  # with all their digits
_LETTERS: Final = {
    "yyyy": "%Y",
    "yy": "%y",
    "mmm": "%b",
    "mmmm": "%B",
    "am/pm": "%p",
    **dict.fromkeys(("d", "dd"), "%d"),
    **dict.fromkeys(("m", "mm"), "%m"),
    **dict.fromkeys(("h", "hh"), "%H"),
    **dict.fromkeys(("s", "ss"), "%S"),
}
_KINDS: Final = {"%y": "%Y", "%b": "%m", "%B": "%m", "%I": "%H"}  # other spellings of the same part
TIME: Final = "2024-12-31T13:45:00"
_BEFORE: Final = r"^[ \t\r\n]*"
_ISO: Final = (
    rf"{_BEFORE}{_TWO['%Y']}-{_TWO['%m']}-{_TWO['%d']}"
    rf"(?:[T ]{_TWO['%H']}:{_TWO['%M']}(?::{_TWO['%S']}(?:\.[0-9]+)?)?)?"
)
_OFFSET: Final = r"(Z|[+-](?:0[0-9]|1[0-4]):?[0-5][0-9])?"
_AFTER: Final = r"[ \t\r\n]*$"

Moment: TypeAlias = str | datetime.date  # a datetime is a date


@restored
@dataclass(frozen=True, slots=True)
class Calendar:
    """Declaration of a column of days or times.

    Attributes
    ----------
    step : int
        Seconds between two integers of the column: 86,400 for dates.
    zone : str
        The zone whose clocks the times are told by. Cells with an offset are converted to it; others are taken as they
        stand. Without one, a cell with an offset cannot be read.
    format : str
        Spelling of cells that are text, such as ``%d.%m.%Y``; ISO 8601 where it is empty. The letters of offices,
        ``dd.mm.yyyy``, are turned into that.
    century : int
        The first of the hundred years that two digits of a year may mean; 0 where years have four, or no bounds do.
    """

    step: int = DAY
    zone: str = ""
    format: str = ""
    century: int = 0

    def __post_init__(self) -> None:
        if self.step not in STEPS.values():
            raise PublicParameterError(f"resolution is second, minute, hour or day, got {self.step} seconds")
        if not (isinstance(self.zone, str) and isinstance(self.format, str)):
            raise PublicParameterError('zone and format are texts, such as "Europe/Berlin" and "%d.%m.%Y %H:%M"')
        if self.zone and (self.step == DAY or not _known(self.zone)):
            raise PublicParameterError(
                f"zone names a time zone of a datetime, such as Europe/Berlin or UTC, got {self.zone[:60]!r}"
            )
        if self.format:
            given = self.format
            object.__setattr__(self, "format", _of_letters(given))
            _check_format(self.format, self.step, given)

    @property
    def kind(self) -> Literal["date", "datetime"]:
        return "date" if self.step == DAY else "datetime"

    @property
    def resolution(self) -> str:
        """The word of the step: second, minute, hour or day."""
        return next(word for word, step in STEPS.items() if step == self.step)

    @property
    def units(self) -> str:
        """The unit of distances: days, hours, minutes or seconds."""
        return f"{self.resolution}s"

    @property
    def example(self) -> str:
        """The last day of 2024 as a cell spells it."""
        if self.format:
            return spelled(datetime.datetime(2024, 12, 31, 13, 45), self.format)
        return "2024-12-31" if self.step == DAY else "2024-12-31 13:45"

    @property
    def forms(self) -> str:
        """Every form in which a cell may spell the last day of 2024, in words."""
        offset = [f"{TIME}Z", f"{TIME}+01:00"] if self.zone else []
        others = [] if self.format else [TIME, *offset]
        return " or ".join((self.example, *others))

    @property
    def pattern(self) -> str:
        """The regular expression of a cell that is text; its groups are what ``order`` says, then the offset."""
        if not self.format:
            return _ISO + (_OFFSET if self.zone else "") + _AFTER
        pieces = re.split(r"(%[A-Za-z])", self.format)
        parts = _TWO if "" in pieces[2:-1:2] else PARTS | _NAMED
        return _BEFORE + "".join(parts.get(piece, re.escape(piece)) for piece in pieces) + _AFTER

    @property
    def order(self) -> tuple[str, ...]:
        """The directives of the groups of ``pattern``, in their order."""
        return tuple(re.findall(r"%[A-Za-z]", self.format)) or tuple(PARTS)

    def within(self, low: int | None, high: int | None) -> Calendar:
        """The calendar of a column of such bounds, in steps: they say of which hundred years two digits are.

        Raises
        ------
        PublicParameterError
            Years of two digits without bounds, or with bounds of more than a hundred years.
        """
        if "%y" not in self.format:
            return self
        years = [part("year", end, self.step) for end in (low, high) if end is not None]
        if len(years) < 2 or years[1] - years[0] >= 100:
            raise PublicParameterError(
                "Two digits of a year do not say which century, unless low and high are less than 100 years apart"
            )
        return replace(self, century=min(max(1, (years[0] + years[1] - 99) // 2), 9900))


def spelled(moment: datetime.datetime | datetime.date, spelling: str) -> str:
    """A moment as a format spells it; names of months are English whatever the system's language."""
    hour, minute, second = (getattr(moment, name, 0) for name in ("hour", "minute", "second"))
    name = MONTHS[moment.month - 1]
    told = {"%Y": f"{moment.year:04}", "%B": name, "%b": name[:3], "%p": "AM" if hour < 12 else "PM"}
    parts = {"%y": moment.year % 100, "%m": moment.month, "%d": moment.day, "%H": hour, "%M": minute, "%S": second}
    told |= {directive: f"{part:02}" for directive, part in (parts | {"%I": (hour + 11) % 12 + 1}).items()}
    return "".join(told.get(piece, piece) for piece in re.split(r"(%[A-Za-z])", spelling))


def _known(zone: str) -> bool:
    from zoneinfo import available_timezones

    return zone in available_timezones()


def _of_letters(spelling: str) -> str:
    """The spelling of letters, such as dd.mm.yyyy, in directives; any other as it is.

    An m behind the hour is of minutes: yyyy-mm-dd hh:mm:ss. With AM/PM the hour is one of twelve.
    """
    if "%" in spelling:
        return spelling
    made, before = [], ""
    for piece in re.split(r"(am/pm|yyyy|yy|dd?|m{1,4}|hh?|ss?)", spelling, flags=re.IGNORECASE):
        found = _LETTERS.get(piece.lower(), "")
        if found == "%m" and before == "%H":
            found = "%M"
        before = found or before
        made.append(found or piece)
    if "%p" in made:
        made = ["%I" if piece == "%H" else piece for piece in made]
    unread = "".join(made[::2]).replace("T", "")
    return spelling if any(letter.isalpha() for letter in unread) else "".join(made)


def _check_format(spelling: str, step: int, given: str) -> None:
    found = re.findall(r"%.?", spelling, re.DOTALL)
    kinds = [_KINDS.get(piece, piece) for piece in found]
    if (
        not {*kinds} <= {*PARTS, "%p"}
        or len({*kinds}) < len(kinds)
        or not {"%Y", "%m", "%d"} <= {*kinds}
        or ("%p" in found) != ("%I" in found)
        or len(spelling) > 60
        or not spelling.isprintable()
    ):
        raise PublicParameterError(
            "format spells year, month and day once each, and of times the hour, minute and second too: dd.mm.yyyy, "
            f"%d.%m.%Y or m/d/yyyy h:mm AM/PM; got {given[:60]!r}"
        )
    if step < DAY and "%H" not in kinds:
        raise PublicParameterError(f"format of a datetime says the hour, %H; got {given[:60]!r}")


# --- public values ----------------------------------------------------------------------------------------------------


def seconds(moment: Moment) -> tuple[int, int]:
    """Seconds since 1970, and the step that the moment is written to: 86,400 of a day, 60 of 13:05.

    Raises
    ------
    PublicParameterError
        What is no date or time; one with an offset or with parts of a second.
    """
    if isinstance(moment, str):
        return _read(moment)
    if not isinstance(moment, datetime.datetime):
        return (moment - START.date()).days * DAY, DAY
    if moment.tzinfo is not None or moment.microsecond:
        raise PublicParameterError(f"a time is written without zone and without parts of a second, got {moment}")
    return int((moment - START).total_seconds()), 1 if moment.second else 60 if moment.minute else 3_600


def _read(text: str) -> tuple[int, int]:
    found = re.fullmatch(_ISO + _AFTER, text)
    if found is not None and "." not in text:
        parts = found.groups()
        try:
            moment = datetime.datetime(*(int(part or 0) for part in parts))  # type: ignore[arg-type]  # six integers
        except ValueError:
            pass
        else:
            return int((moment - START).total_seconds()), DAY if parts[3] is None else 60 if parts[5] is None else 1
    if re.fullmatch(r"\s*\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?\s*", text):
        raise PublicParameterError(f"there is no {text.strip()}")
    raise PublicParameterError(
        "a date is written 2024-02-29, a time 2024-02-29T13:05, however the cells of the file are written; got "
        f"{text[:60]!r}{_meant(text)}"
    )


def _meant(text: str) -> str:
    """``. Did you mean 2024-02-01?`` of a day that is written otherwise; empty where two days could be meant."""
    day = re.fullmatch(r"\s*(?:(\d{4})[./](\d{1,2})[./](\d{1,2})|(\d{1,2})([./-])(\d{1,2})\5(\d{4}))\s*", text)
    if day is None:
        return ""
    if day[1]:
        readings = [(day[1], day[2], day[3])]
    else:
        readings = [(day[7], day[6], day[4]), *([] if day[5] == "." else [(day[7], day[4], day[6])])]
    found = set()
    for parts in readings:
        with suppress(ValueError):
            found.add(datetime.date(*map(int, parts)).isoformat())
    return f". Did you mean {found.pop()}?" if len(found) == 1 else ""


def count(moment: Moment, step: int, name: str = "a date") -> int:
    """The integer of a public moment.

    Parameters
    ----------
    moment : Moment
        A date or time, as ISO 8601 text or as an object of ``datetime``.
    step : int
        Seconds of one step of the column, >= 1.
    name : str
        Word for the moment in a refusal.

    Returns
    -------
    int
        Steps since 1 January 1970.

    Raises
    ------
    PublicParameterError
        A moment that is written more finely than the step, or is none.
    """
    if not isinstance(moment, str | datetime.date):
        raise PublicParameterError(f'{name} is a date such as "2024-02-29", got {moment!r}')
    try:
        found, _ = seconds(moment)
    except PublicParameterError as error:
        raise PublicParameterError(f"{name}: {error}") from None
    if found % step:
        word = next(word for word, seconds in STEPS.items() if seconds == step)
        raise PublicParameterError(f"{name} = {moment} is no whole {word}, the resolution of the column")
    return found // step


class DayCount(Fraction):
    """A public day or time in a question: days since 1970, which a text writes as a date."""

    def __repr__(self) -> str:
        return repr(self.iso)

    @property
    def iso(self) -> str:
        """The text that reads back to it: a day, or the time to the minute or the second."""
        seconds = int(self * DAY)
        return text(seconds, 1)[: 10 if not seconds % DAY else 16 if not seconds % 60 else 19]

    def steps(self, step: int, name: str) -> Fraction:
        """The integer of a column with steps of so many seconds.

        Raises
        ------
        PublicParameterError
            A time between two steps.
        """
        found = Fraction(self) * DAY / step
        if found.denominator != 1:
            word = next(word for word, seconds in STEPS.items() if seconds == step)
            raise PublicParameterError(f"{name} = {self.iso} is no whole {word}, the resolution of the column")
        return found


def is_moment(value: object) -> bool:
    """True for a date or datetime, and for a text that begins like one."""
    return isinstance(value, datetime.date) or (
        isinstance(value, str) and re.match(r"\s*[0-9]{4}-[0-9]{1,2}-[0-9]", value) is not None
    )


def day_count(moment: Moment, name: str) -> DayCount:
    """The days since 1970 of a public date or time; ``PublicParameterError`` of what is none."""
    return DayCount(count(moment, 1, name), DAY)


def exists(number: int, step: int) -> bool:
    """True for a step of a resolution and a moment of the years 1 to 9999."""
    return step in STEPS.values() and FIRST <= number * step <= LAST


def up(number: float, step: int) -> str:
    """The moment of an integer; of a number between two the one above."""
    return text(math.ceil(number) if math.isfinite(number) else number, step)


def text(number: float, step: int) -> str:
    """The moment of an integer; of a number between two the one below. Beyond all years it is the first or the last."""
    seconds = math.floor(min(max(number, FIRST // step), LAST // step)) * step
    moment = START + datetime.timedelta(seconds=seconds)
    if step == DAY:
        return moment.date().isoformat()
    return moment.isoformat(timespec={1: "seconds", 60: "minutes", 3_600: "minutes"}[step])


def moment(number: float, step: int) -> datetime.date:
    """The date of a number of days, or the datetime of a number of shorter steps."""
    if not step:
        raise QuestionError("This answer is a number and no date.")
    found = datetime.datetime.fromisoformat(text(number, step))
    return found.date() if step == DAY else found


def interval(value: float, low: float, high: float, step: int) -> tuple[str, str, str]:
    """A number and its ends as texts, the ends rounded outwards; empty where the step is 0.

    Parameters
    ----------
    value, low, high : float
        A released number and the ends of its interval, in steps.
    step : int
        Seconds of one step; 0 for a column of numbers.

    Returns
    -------
    tuple of str, str and str
        Number, lower end and upper end.
    """
    return (text(value, step), text(low, step), up(high, step)) if step else ("", "", "")


def distance(width: float, step: int) -> str:
    """A half-width of a date in days, or in the shorter unit that has two of it: ``2.4 days``, ``40 hours``."""
    units, steps = larger_unit(width, step)
    return "–" if width == 0 else f"{width / steps:,.1f}".removesuffix(".0") + f" {units}"


def larger_unit(width: float, step: int) -> tuple[str, float]:
    """The largest unit of which a distance has two, ``("days", 1440)`` of minutes, with the steps of one."""
    units = {word: size for word, size in STEPS.items() if size >= step}
    word = next((word for word in reversed(units) if width * step >= 2 * units[word]), next(iter(units)))
    return f"{word}s", units[word] / step


# --- parts ------------------------------------------------------------------------------------------------------------


def part(name: str, number: float, step: int) -> int:
    """The year, quarter, month, ISO week, weekday (Monday is 1), day or hour of a moment.

    Parameters
    ----------
    name : str
        Part of a moment, such as "month".
    number : float
        A moment, in steps.
    step : int
        Seconds of one step.

    Returns
    -------
    int
        The part as a whole number.

    Raises
    ------
    ValueError
        A name of no part.
    """
    found = START + datetime.timedelta(seconds=int(number) * step)
    match name:
        case "year":
            return found.year
        case "quarter":
            return (found.month + 2) // 3
        case "month":
            return found.month
        case "week":
            return found.isocalendar().week
        case "weekday":
            return found.isoweekday()
        case "day":
            return found.day
        case "hour":
            return found.hour
        case _:
            raise ValueError(f"no part of a date: {name}")


@lru_cache(maxsize=64)
def parts_between(name: str, low: int, high: int, step: int) -> tuple[int, ...]:
    """The parts, such as months, that moments between two bounds can have, in order.

    Parameters
    ----------
    name : str
        Part of a moment, such as "month"; but for "year".
    low, high : int
        Least and greatest moment, in steps. One outside counts as the nearer.
    step : int
        Seconds of one step.

    Returns
    -------
    tuple of int
    """
    first, last = PART_ENDS[name]
    pace = STEPS["hour"] if name == "hour" else DAY
    start, end = low * step // pace, ((high + 1) * step - 1) // pace
    if end - start >= LONG_SPAN:
        return tuple(range(first, last + 1))
    return tuple(sorted({part(name, place, pace) for place in range(start, end + 1)}))


def truncated(number: float, step: int, period: str) -> int:
    """The first day of the period that a moment lies in, as a number of days.

    Parameters
    ----------
    number : float
        A moment, in steps.
    step : int
        Seconds of one step.
    period : str
        "day", "week", "month", "quarter" or "year".

    Returns
    -------
    int
        Days since 1 January 1970.

    Raises
    ------
    ValueError
        A word that names no period.
    """
    found = (START + datetime.timedelta(seconds=int(number) * step)).date()
    match period:
        case "day":
            first = found
        case "week":
            first = found - datetime.timedelta(days=found.weekday())
        case "month":
            first = found.replace(day=1)
        case "quarter":
            first = found.replace(month=(found.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            first = found.replace(month=1, day=1)
        case _:
            raise ValueError(f"no period: {period}")
    return (first - START.date()).days


def firsts(low: int, high: int, step: int, period: str) -> list[int]:
    """The first days, as numbers of days, of the periods between two moments.

    Parameters
    ----------
    low, high : int
        Least and greatest moment, in steps.
    step : int
        Seconds of one step.
    period : str
        "day", "week", "month", "quarter" or "year".

    Returns
    -------
    list of int
        Days since 1 January 1970, in order.
    """
    place, last = truncated(low, step, period), truncated(high, step, period)
    longest = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}[period]
    found = [place]
    while place < last:
        place = truncated(min(place + longest, last), DAY, period)
        found.append(place)
    return found


def age(born: float, born_step: int, at: float, at_step: int) -> int:
    """Completed years of life; who was born on 29 February is a year older on 1 March of a common year.

    Parameters
    ----------
    born, at : float
        Moments of birth and of the question, each in its own steps.
    born_step, at_step : int
        Seconds of one step of each.

    Returns
    -------
    int
        Whole years; below 0 for a question before the birth.
    """
    one, other = (
        (START + datetime.timedelta(seconds=int(number) * step)).date()
        for number, step in ((born, born_step), (at, at_step))
    )
    return other.year - one.year - ((other.month, other.day) < (one.month, one.day))
