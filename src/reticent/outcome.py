"""Outcome of a question: a reply, or no reply.

Declining is a value of its own type, never ``None``, ``NaN`` or an exception, and it never says why:
``NoReply`` has no fields, so there is nowhere for a reason, which would itself be an answer, to travel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

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
        value, low, high = (_short(x, self._digits) for x in (self.value, self.low, self.high))
        return f"{value} ({100 * self.level:g} % {low} to {high})"

    @property
    def _digits(self) -> int:
        """Significant digits that tell the ends of the interval apart: four, and more where it is far from 0."""
        width, size = self.high - self.low, max(abs(self.low), abs(self.high))
        if not 0.0 < width < size < math.inf:
            return 4
        return min(max(math.ceil(math.log10(size) - math.log10(width)) + 1, 4), 17)


@dataclass(frozen=True, slots=True)
class Reply(Generic[T_co]):
    """The data could support a safe answer; here it is."""

    value: T_co


@dataclass(frozen=True, slots=True)
class NoReply:
    """The data could not support a safe answer. It carries nothing, on purpose."""


NO_REPLY: Final = NoReply()

Outcome: TypeAlias = Reply[T_co] | NoReply


def restore(value: DataclassInstance, state: Sequence[object]) -> None:
    """Fill ``value`` from its pickled fields; one that a later version added at the end has its default.

    For ``__setstate__`` of a frozen class with slots whose pickles people keep: without it the field would be missing.
    """
    for place, field in enumerate(fields(value)):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        object.__setattr__(value, field.name, state[place] if place < len(state) else default)


def _short(number: float, digits: int = 4) -> str:
    """So many significant digits, thousands separated, as a journal prints it; beyond 1e15 as a power of ten."""
    if abs(number) >= 1e15:
        return f"{number:.{digits}g}"
    if number == int(number):
        return f"{int(number):,}"
    return f"{number:,.{digits}g}" if abs(number) < 10.0**digits else f"{number:,.0f}"
