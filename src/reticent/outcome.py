"""Outcome of a question: a reply, or no reply.

Declining is a value of its own type, never ``None``, ``NaN`` or an exception, and no rows are a reason that it tells:
``NoReply`` has no fields, since that reason would itself be an answer. A page says what would help by public facts.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Final, Generic, TypeAlias, TypeVar

from reticent import calendar
from reticent.errors import restored

T_co = TypeVar("T_co", covariant=True)

MOST_PLACES: Final = 8
MOST_DIGITS: Final = 17
WORTH: Final = 6  # digits of a number with a fraction that people are shown, however narrow its interval
SMALLEST: Final = -5  # the power of ten below which a number is written as one
LARGEST: Final = 10**15  # from here on a number is written as a power of ten


@restored
@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with the interval that belongs to it.

    Attributes
    ----------
    value : float
        The estimate, in the units of the column.
    low, high : float
        Ends of the interval; ``low <= value <= high`` need not hold after clipping is reported.
    noise : float
        Half-width of the part due to the privacy noise alone, at ``level``.
    sampling : float
        Half-width of the part due to sampling alone, at ``level``; 0 where the truth is a number of this table.
    level : float
        Coverage the interval aims at, 0.95 unless said otherwise.
    step : int
        Of a date or time the seconds that one unit of ``value`` stands for, from 1970 on; 0 of other numbers.
    unit : str
        Unit of the half-widths of a date, and of a spread of dates: "days"; empty of other numbers.
    years : bool
        True of a number of a column of years, which is written without a mark between thousands: 1967.4.
    """

    value: float
    low: float
    high: float
    noise: float
    sampling: float
    level: float = 0.95
    step: int = field(default=0, kw_only=True)
    unit: str = field(default="", kw_only=True)
    years: bool = field(default=False, kw_only=True)

    @property
    def date(self) -> datetime.date:
        """The date that ``value`` stands for, or the datetime; ``QuestionError`` of a number that is none."""
        return calendar.moment(self.value, self.step)

    @property
    def dates(self) -> tuple[str, str, str]:
        """Value, low and high of a date as texts of ISO 8601, the ends rounded outwards; empty of another number."""
        return calendar.interval(self.value, self.low, self.high, self.step)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __str__(self) -> str:
        text = shown(self)
        return f"{text.value} ({100 * self.level:g} % {text.low} to {text.high})"


@dataclass(frozen=True, slots=True)
class Reply(Generic[T_co]):
    """The data could support a safe answer; here it is."""

    value: T_co


@dataclass(frozen=True, slots=True)
class NoReply:
    """The data could not support a safe answer. It carries nothing of the rows, on purpose."""


NO_REPLY: Final = NoReply()

Outcome: TypeAlias = Reply[T_co] | NoReply


# --- as text ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EstimateText:
    """An estimate as text, rounded alike: ``2.857``, ``2.783``, ``2.932``, ``0.042``, ``0.061``."""

    value: str
    low: str
    high: str
    noise: str
    sampling: str


def shown(estimate: Estimate) -> EstimateText:
    """The numbers of an estimate to two digits of its interval; the ends are rounded outwards."""
    places = decimals(estimate)
    parts = (estimate.noise, estimate.sampling)
    if estimate.step:
        return EstimateText(*estimate.dates, *(calendar.distance(part, estimate.step) for part in parts))
    unit, mark = f" {estimate.unit}" if estimate.unit else "", "" if estimate.years else ","
    return EstimateText(
        number(estimate.value, places).replace(",", mark) + unit,
        number(estimate.low, places, ROUND_FLOOR).replace(",", mark),
        number(estimate.high, places, ROUND_CEILING).replace(",", mark) + unit,
        *(_half(part, places) + (unit if part > 0 else "") for part in parts),
    )


def decimals(estimate: Estimate) -> int | None:
    """Decimal places for two digits of a half-width, six digits in all at most; 0 or fewer where all ends are whole."""
    numbers = (estimate.value, estimate.low, estimate.high)
    half = max(abs(estimate.high - estimate.value), abs(estimate.value - estimate.low), estimate.noise)
    if not 0 < half < math.inf:
        return None
    worth = max(WORTH - 1 - math.floor(math.log10(max(map(abs, numbers)) or 1.0)), 0)
    places = 1 - math.floor(math.log10(half))
    return min(places, 0) if all(x == math.floor(x) for x in numbers) else min(places, worth)


def number(value: float, places: int | None = None, rounding: str = ROUND_HALF_EVEN) -> str:
    """``20,187`` or ``-2.86``: thousands separated; from 1e15 on and beyond eight places as a power of ten.

    Without ``places`` a whole number has all its digits and another one four.

    Parameters
    ----------
    value : float
    places : int, optional
        Digits after the point.
    rounding : str
        A rounding of ``decimal``.

    Returns
    -------
    str
    """
    exact = Decimal(repr(float(value)))
    if not exact.is_finite():
        return str(float(value))
    if places is None:
        places = 0 if exact == exact.to_integral_value() or abs(exact) >= 10_000 else 3 - exact.adjusted()
        if places > 0:
            return f"{float(exact.quantize(Decimal(1).scaleb(-places), rounding)):,.4g}"
    if places <= MOST_PLACES and abs(exact) < LARGEST:
        text = f"{exact.quantize(Decimal(1).scaleb(-max(places, 0)), rounding):,f}"
        return text.removeprefix("-") if not text.strip("-0.,") else text
    digits = min(max(exact.adjusted() + places + 1, 1), MOST_DIGITS)
    near = exact.quantize(Decimal(1).scaleb(exact.adjusted() + 1 - digits), rounding).normalize()
    power = near.adjusted()
    return f"{near:,f}" if near == 0 or SMALLEST <= power < 15 else f"{near.scaleb(-power):f}e{power:+03d}"


def _half(width: float, places: int | None) -> str:
    """A part of an interval; one that would be rounded away keeps a digit, and an absent one is a dash."""
    text, digit = number(width, places), f"{width:.1g}"
    small = f"<{number(10.0 ** -(places or 0), places)}" if "e" in digit else digit
    return "–" if width == 0 else text if text.strip("0.") else small
