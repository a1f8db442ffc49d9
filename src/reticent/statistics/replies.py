"""Probability of a reply for public shapes of the columns, which a plan tells before any row is read.

``SHAPES`` are those of numbers between bounds, by which a plan tells ranges of half-widths. The first is that of
rehearsals. ``OFF_MIDDLE`` is nearest to real columns. Of 50 columns of public tables half had a deviation below .12 of
the range. Half had a mean more than .15 of it off the middle. Their bounds were known without them. The others are
extremes: values that crowd at one end of wide bounds, as incomes and counts do, and values from bound to bound.

The chance of a reply for the file itself would be an answer of its own. A statistic states it for shapes that are
public: from the law of its noise where a released number decides, else from made-up tables of each shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Replies: TypeAlias = tuple[tuple[str, float], ...]  # shapes, and the probability of a reply for each

ANY: Final = "any shape"
USUAL: Final = "usual"  # normal, as plans and rehearsals assume
HEAPED: Final = "heaped"  # many values are equal
OFF_MIDDLE: Final = "off the middle"  # by .15 of the range, with a deviation of an eighth of it
RARE: Final = 0.05  # share of a rare value
COMMON: Final = 0.25  # share of a typical value, and of the smaller of two groups: the median of 7 public columns
UNEVEN: Final = "one group of a quarter"
SMALLER: Final = 0.1  # share of the rows that one of two groups has, where they are not equal
SMALL: Final = "one group of a tenth"
TENTH: Final = "a group a tenth as large"
TENTH_PASSES: Final = "if a tenth of rows pass"
HUNDREDTH: Final = "a group a hundredth as large"
ALWAYS: Final[Replies] = ((ANY, 1.0),)
NEVER: Final[Replies] = ((ANY, 0.0),)
ALIKE: Final = 1.2  # half-widths of two shapes that a plan does not tell apart
LIKELY: Final = 0.5  # below it for every shape a release is refused
SURE: Final = 0.95  # chance of a reply from which on more values would hardly help
TERMS: Final = 512
FAR: Final = 40.0  # scales of noise, beyond which its probability counts as nothing


@dataclass(frozen=True, slots=True)
class AssumedShape:
    """Mean, standard deviation and kurtosis of values between the bounds -1 and 1."""

    name: str
    mean: float
    deviation: float
    kurtosis: float


SHAPES: Final = (
    AssumedShape(USUAL, 0.0, 1 / 3, 3.0),  # normal, a sixth of the range as deviation
    AssumedShape(OFF_MIDDLE, -0.3, 1 / 4, 3.0),
    AssumedShape("at one end", -0.9, 0.1, 9.0),  # exponential, a twentieth of the range as its mean
    AssumedShape("narrow near one end", -0.8, 0.04, 3.0),  # normal, a fiftieth of the range as deviation
    AssumedShape("even", 0.0, 1 / math.sqrt(3.0), 1.8),
)


def of_any(chance: float) -> Replies:
    """The same probability for all shapes."""
    return ((ANY, chance),)


def of_tables(replies: int, tables: int) -> float:
    """The probability by so many replies on so many made-up tables, which are too few to tell it from 0 or 1."""
    return (replies + 0.5) / (tables + 1.0)


def tables_words(replies: int, tables: int) -> str:
    """Words on a probability by made-up tables, with the number of replies that it stands for."""
    every = f"all {tables}" if replies == tables else f"{replies} of them"
    chance = shown(of_tables(replies, tables))
    return f"P(reply) is estimated from {tables} made-up tables: {chance} means that {every} replied"


def most(replies: Replies) -> float | None:
    """The greatest probability of all shapes; None where none is stated."""
    return max((chance for _, chance in replies), default=None)


def hopeless(replies: Replies) -> bool:
    """Tell if no reply is likelier than a reply for every shape that is stated."""
    return bool(replies) and all(chance < LIKELY for _, chance in replies)


def of_part(replies: Replies, which: str) -> list[float]:
    """The probabilities of the shapes that have this part of a name, as ``joined`` gives it."""
    return [chance for shape, chance in replies if which in shape.split(", ")]


def joined(*parts: tuple[str, Replies]) -> Replies:
    """The probabilities of several public numbers of rows, by the names of these where they differ.

    Parameters
    ----------
    parts : pairs of a name and Replies
        Names of numbers of rows, and probabilities by public shape.

    Returns
    -------
    Replies
    """
    told = [(which, replies) for which, replies in parts if replies]
    if len({replies for _, replies in told}) < 2:
        return told[0][1] if told else ()
    return tuple(one for which, replies in told for one in _named(replies, which))


def _named(replies: Replies, which: str) -> Replies:
    return tuple((which if shape == ANY else f"{shape}, {which}", chance) for shape, chance in replies)


def passing(holds: Callable[[float], bool], number: float, scales: Sequence[float]) -> float:
    """P(holds(number + noise)), for a condition that holds from some number on.

    Parameters
    ----------
    holds : callable
        The rule of a release: it decides by a released number alone.
    number : float
        The true number, as a plan supposes it.
    scales : sequence of float
        Those of the independent Laplace parts of the noise; none where the number is public.

    Returns
    -------
    float
        Probability in [0, 1].
    """
    widths = [abs(scale) for scale in scales if scale]
    if not widths:
        return 1.0 if holds(number) else 0.0
    reach = FAR * sum(widths)
    if holds(number - reach):
        return 1.0
    if not holds(number + reach):
        return 0.0
    low, high = number - reach, number + reach
    for _ in range(24):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return beyond(high - number, widths)


def beyond(distance: float, widths: Sequence[float]) -> float:
    """P(noise >= distance) of a sum of independent Laplace parts, by the series of ``intervals.half_width``."""
    if distance < 0.0:
        return 1.0 - beyond(-distance, widths)
    if len(widths) == 1:
        return 0.5 * math.exp(-distance / widths[0])
    period = 20.0 * max(widths) * math.sqrt(len(widths))
    if distance >= period:
        return 0.0
    within = distance / period
    for k in range(1, TERMS + 1):
        u = k * (math.pi / period)
        falls = math.prod(1.0 + (width * u) ** 2 for width in widths)
        within += (2.0 / math.pi) * math.sin(u * distance) / (k * falls)
    return min(max(0.5 * (1.0 - within), 0.0), 1.0)


def normally(number: float, least: float, deviation: float) -> float:
    """P(number + noise >= least) for noise that is nearly normal.

    Parameters
    ----------
    number, least : float
        In rows.
    deviation : float
        Standard deviation of the noise, in rows.

    Returns
    -------
    float
        In [0, 1].
    """
    if deviation <= 0.0:
        return 1.0 if number >= least else 0.0
    return 0.5 * math.erfc((least - number) / (deviation * math.sqrt(2.0)))


def shown(chance: float) -> str:
    """A probability as a plan prints it, to three digits; certainty is printed where it is exact."""
    if chance in (0.0, 1.0):
        return f"{chance:.0f}"
    return f"{min(max(chance, 0.001), 0.999):.3f}".removeprefix("0")
