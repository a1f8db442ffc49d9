"""What a question can come back with: a reply, or no reply.

Declining is a value of its own type, never ``None``, ``NaN`` or an exception, and it never says why:
``NoReply`` has no fields, so there is nowhere for a reason, which would itself be an answer, to travel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

T_co = TypeVar("T_co", covariant=True)


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
    """

    value: float
    low: float
    high: float
    noise: float
    sampling: float
    level: float = 0.95

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __str__(self) -> str:
        return f"{_short(self.value)} ({100 * self.level:g} % {_short(self.low)} to {_short(self.high)})"


@dataclass(frozen=True, slots=True)
class Reply(Generic[T_co]):
    """The data could support a safe answer; here it is."""

    value: T_co


@dataclass(frozen=True, slots=True)
class NoReply:
    """The data could not support a safe answer. It carries nothing, on purpose."""


NO_REPLY: Final = NoReply()

Outcome: TypeAlias = Reply[T_co] | NoReply


def _short(number: float) -> str:
    """Four significant digits, thousands separated, as a journal prints it."""
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.4g}" if abs(number) < 1e6 else f"{number:,.0f}"
