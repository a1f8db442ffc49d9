"""Options of statistics: numbers and words as people write them, read into exact values.

    low: Fraction | None = attrs.field(default=None, converter=read_low)

Each converter takes a number or its text, so that Python, the study file and the command line share it. ``PTR``,
``Clipped`` and ``CoinPress`` are options of methods. A value like these stands in a text by its ``words``.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from operator import index
from typing import Any, ClassVar, Final, Literal, SupportsIndex, TypeAlias, get_args

import attrs

from reticent.calendar import DAY, PERIODS, DayCount, Moment, day_count, firsts, is_moment
from reticent.calendar import text as moment_text
from reticent.data.format import nearest, on_one_line
from reticent.data.query import Per
from reticent.data.schema import Key
from reticent.errors import PublicParameterError, QuestionError, made_as
from reticent.privacy.numbers import Number, positive, read, show
from reticent.statistics.tails import Tail, check_tail, read_tail

Mode: TypeAlias = Literal["exact", "paper"]
YesNo: TypeAlias = bool | Literal["yes", "no"]
Words: TypeAlias = tuple[tuple[str, str], ...]  # options of a text: name and value

FINEST_LEVEL: Final = 10**6  # denominators of levels: scores are multiples of them and must fit 64 bits
GEOMETRIC: Final = "geometric"  # noise of integers where a question names no other
MOST_BINS: Final = 1 << 20
FOUND: Final = "found"  # in place of a file of keys
LONGEST_PATH: Final = 1000
_KEYS: Final = re.compile(
    r"""(?<=\S)\s+(keys|at_least|groups)\s*=\s*("[^"]*"|'[^']*'|\[[^\]]*\]|[^\s,()"']+)\s*$""", re.I
)


# --- converters -------------------------------------------------------------------------------------------------------


def _optional(number: Number | None, name: str) -> Fraction | None:
    return None if number is None else read(number, name)


def read_value(value: Number | Moment, name: str) -> Fraction:
    """A number exactly, or a date as its ``DayCount``.

    Parameters
    ----------
    value : number, date or str
    name : str
        Word for the value in a refusal.

    Returns
    -------
    Fraction
    """
    if isinstance(value, DayCount):
        return value
    if isinstance(value, datetime.date) or (isinstance(value, str) and is_moment(value)):
        return day_count(value.strip() if isinstance(value, str) else value, name)
    return read(value, name)


def read_low(value: Number | Moment | None) -> Fraction | None:
    """Exact lower bound, a number or a date."""
    return None if value is None else read_value(value, "low")


def read_high(value: Number | Moment | None) -> Fraction | None:
    """Exact upper bound, a number or a date."""
    return None if value is None else read_value(value, "high")


def read_epsilon(number: Number | None) -> Fraction | None:
    """Exact share of epsilon."""
    return _optional(number, "epsilon")


def read_delta(number: Number | None) -> Fraction | None:
    """Exact share of delta."""
    return _optional(number, "delta")


def read_unit(number: Number | None) -> Fraction | None:
    """Exact step of a grid of values."""
    return _optional(number, "unit")


def read_width(number: Number | None) -> Fraction | None:
    """Exact width that is proposed."""
    return _optional(number, "width")


def read_centre(number: Number) -> Fraction:
    """Exact centre of a range or a law."""
    return read(number, "centre")


def read_radius(number: Number) -> Fraction:
    """Exact radius of a range."""
    return read(number, "radius")


def read_deviation(number: Number) -> Fraction:
    """Exact standard deviation."""
    return read(number, "deviation")


def read_level(number: Number) -> Fraction:
    """Exact level of a quantile."""
    return read(number, "level")


def read_trim(number: Number) -> Fraction:
    """Exact share of values left out at either end."""
    return read(number, "trim")


def read_bend(number: Number) -> Fraction:
    """Exact point at which residuals are bent, in units of half the quartile distance."""
    return read(number, "bend")


def read_mechanism(word: str) -> str:
    """Name of the noise of integers; the settings of a study say which names there are."""
    if not isinstance(word, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", word):
        raise QuestionError(f"mechanism is a word, such as geometric or gaussian, got {word!r}")
    if word == "laplace":
        raise QuestionError("Laplace noise on integers is geometric noise: mechanism=geometric, the default.")
    return word


def read_levels(levels: Sequence[Number]) -> tuple[Fraction, ...]:
    """Exact levels of several quantiles."""
    if isinstance(levels, str) or not isinstance(levels, Iterable):
        raise QuestionError('levels is a list of numbers, such as ["0.1", "0.5", "0.9"]')
    return tuple(read(level, "levels") for level in levels)


def read_edges(edges: Iterable[Number | Moment] | str) -> tuple[Fraction, ...]:
    """Exact edges of bins: a list of numbers or dates, or the text ``start:stop:step``, whose stop is the last edge.

    Of dates a step is a number of days, or a period such as ``month``: its first days between start and stop.
    """
    if isinstance(edges, str) and steps_in(edges):
        return _stepped(edges)
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise QuestionError("edges is a list of numbers known without looking at the file, such as range(0, 101, 10)")
    return tuple(read_value(edge, "edges") for edge in edges)


def steps_in(text: str) -> bool:
    """True for the text ``start:stop:step``, and not for a list of times, which have colons too."""
    return ":" in text and re.search(r"[0-9]T[0-9]", text) is None


def edges_text(edges: tuple[Fraction, ...]) -> str:
    """Text of edges, which ``read_edges`` reads back: ``start:stop:step`` if they are evenly spaced."""
    if edges and isinstance(edges[0], DayCount):
        return _dates_text(edges)
    widths = {right - left for left, right in pairwise(edges)}
    if len(widths) == 1 and len(edges) > 2:
        return f"{show(edges[0])}:{show(edges[-1])}:{show(widths.pop())}"
    return shown(edges)


def _dates_text(edges: tuple[Fraction, ...]) -> str:
    start, stop = shown(edges[0]), shown(edges[-1])
    widths = {right - left for left, right in pairwise(edges)}
    if len(edges) > 2 and all(edge.denominator == 1 for edge in edges):
        days = int(edges[0]), int(edges[-1])
        for period in PERIODS[:0:-1]:  # a day is 1 day
            if [*edges] == _firsts(*days, period):
                return f"{start}:{stop}:{period}"
        if len(widths) == 1:
            return f"{start}:{stop}:{show(widths.pop())}"
    return shown(edges)


def _firsts(start: int, stop: int, period: str) -> list[int]:
    """A first and a last day, and the first days of the periods between them."""
    return [start, *(day for day in firsts(start, stop, DAY, period) if start < day < stop), stop]


def _stepped(text: str) -> tuple[Fraction, ...]:
    parts = text.split(":")
    if len(parts) != 3:
        raise QuestionError("edges=start:stop:step needs three numbers, such as edges=0:50:5")
    if is_moment(parts[0]) or is_moment(parts[1]):
        return _stepped_dates(text, *parts)
    start, stop, step = (read(part, "edges") for part in parts)
    if step <= 0 or stop <= start:
        raise QuestionError("edges=start:stop:step needs start below stop and a step above 0")
    if (stop - start) / step > MOST_BINS:
        raise QuestionError(f"edges={text} has more than {MOST_BINS:,} bins")
    if ((stop - start) / step).denominator != 1:
        raise QuestionError(_missed(text, start, stop, step, show))
    return tuple(start + i * step for i in range(int((stop - start) / step) + 1))


def _missed(text: str, start: Fraction, stop: Fraction, step: Fraction, shown: Callable[[Fraction], str]) -> str:
    """Words for steps that do not reach the last edge, with the nearest ranges that they do."""
    first, last, width = text.split(":")
    steps = (stop - start) // step
    others = [f"edges={first}:{shown(start + nth * step)}:{width}" for nth in (steps, steps + 1) if nth]
    return f"edges={text}: the steps do not reach {last}. Write {' or '.join(others)}"


def _stepped_dates(text: str, first: str, last: str, step: str) -> tuple[Fraction, ...]:
    start, stop = (day_count(part.strip(), "edges") for part in (first, last))
    if stop <= start:
        raise QuestionError(f"edges={text}: the first day is before the last")
    if step.strip() in PERIODS:
        return tuple(map(DayCount, _firsts(int(start), int(stop), step.strip())))
    if not re.fullmatch(r"\s*[1-9][0-9]{0,5}\s*", step):
        raise QuestionError(f"edges={text}: a step of dates is a number of days, or {', '.join(PERIODS)}")
    days = range(int(start), int(stop) + 1, int(step))
    if days[-1] != stop:
        raise QuestionError(_missed(text, start, stop, Fraction(step), lambda day: moment_text(int(day), DAY)))
    return tuple(map(DayCount, days))


def read_yes(answer: YesNo) -> bool:
    """True or False, which a text writes yes or no."""
    if isinstance(answer, str):
        if answer not in ("yes", "no"):
            raise QuestionError(unknown("value of interval", answer, ["yes", "no"]))
        return answer == "yes"
    if not isinstance(answer, bool):
        raise PublicParameterError(f"interval is True or False, got {answer!r}")
    return answer


def whole(number: SupportsIndex | None, name: str) -> int | None:
    """A whole number as it was given; text, a fraction or a yes is none."""
    if number is None:
        return None
    if not isinstance(number, bool):
        try:
            return int.__index__(index(number))  # and no subclass, whose arithmetic is its own
        except TypeError:
            pass
    raise PublicParameterError(f"{name} must be a whole number >= 1, got {number!r}")


def whole_of(text: str, name: str) -> int:
    """A whole number of its digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise QuestionError(f"{name} is a whole number of up to nine digits, got '{text}'")
    return int(text)


def read_blocks(number: SupportsIndex | str | None) -> int | None:
    """A number of blocks of rows."""
    return whole_of(number, "blocks") if isinstance(number, str) else whole(number, "blocks")


def read_keys(keys: Key | Sequence[Key]) -> tuple[Key, ...]:
    """Keys of a category; one key alone stands for a list of it."""
    return (keys,) if isinstance(keys, str | int) else tuple(keys)


def read_key_source(keys: str | None) -> str:
    """``found``, or the path of a public file; empty for declared keys.

    Raises
    ------
    PublicParameterError
        What is no text on one line, or has a quotation mark in it.
    """
    if keys is None:
        return ""
    if type(keys) is not str or not keys or '"' in keys or len(keys) > LONGEST_PATH or not on_one_line(keys):
        raise PublicParameterError(f'keys is "found" or the path of a public file, got {keys!r}')
    if keys.startswith("["):
        raise QuestionError(f'keys is "found" or the path of a public file. A column declares its list: among = {keys}')
    return keys


def read_number(number: int | str | None) -> int | None:
    """A whole number >= 1, in digits or as it is.

    Raises
    ------
    PublicParameterError
    """
    try:
        found = number if number is None or type(number) is int else int(str(number))
    except ValueError:
        found = 0
    if found is not None and found < 1:
        raise PublicParameterError(f"a whole number >= 1 is needed, got {number!r}")
    return found


# --- words ------------------------------------------------------------------------------------------------------------


def unknown(what: str, word: str, known: Iterable[str], meant: str | None = None) -> str:
    """The refusal of a word that is not known, with the nearest one that is.

    Parameters
    ----------
    what : str
        Kind of word, such as "method".
    word : str
        The word given.
    known : iterable of str
        Words that there are.
    meant : str, optional
        The word that is offered in its place.

    Returns
    -------
    str
    """
    listed = list(known)
    near = meant or nearest(word, listed)
    hint = f" Did you mean {near}?" if near else ""
    return f"There is no {what} '{word}'.{hint} Known: {', '.join(listed)}."


def check_word(option: str, word: object, choices: object, *more: str) -> None:
    """Refuse a word that is none of a ``Literal``; ``more`` is what else the option may be.

    Parameters
    ----------
    option : str
        Name of the option.
    word : object
        The word given.
    choices : Literal
        Words that the option takes.
    more : str
        Further words.

    Raises
    ------
    PublicParameterError
        For any other word.
    """
    known = get_args(choices)
    if not isinstance(word, str) or word not in known:
        raise QuestionError(unknown(f"value of {option}", str(word), [*known, *more]))


def check_per(per: object) -> None:
    """Refuse a unit of analysis that is neither a row nor a person."""
    check_word("per", per, Per)


def check_bounds(low: Fraction | None, high: Fraction | None) -> None:
    """Refuse one bound alone, and bounds that do not rise."""
    if (low is None) != (high is None):
        raise PublicParameterError("low and high come together: give both, or neither")
    if isinstance(low, DayCount) != isinstance(high, DayCount):
        raise PublicParameterError("low and high are two numbers, or two dates")
    if low is not None and high is not None and not low < high:
        raise PublicParameterError(
            f"low must be below high, got {shown(low)} and {shown(high)}. The smaller one is low."
        )


def check_edges(edges: Sequence[Fraction]) -> None:
    """Refuse one edge alone, edges that do not rise, and too many."""
    if len({isinstance(edge, DayCount) for edge in edges}) > 1:
        raise PublicParameterError("edges are numbers, or dates")
    if len(edges) == 1 or any(left >= right for left, right in pairwise(edges)):
        raise PublicParameterError("edges must be at least two numbers in increasing order")
    if len(edges) > MOST_BINS:
        raise PublicParameterError(f"a histogram has at most {MOST_BINS} bins")


def check_level(level: Fraction) -> None:
    """Refuse a level that is no share, or too fine for the scores of candidates."""
    if not 0 < level < 1:
        raise PublicParameterError(f"a level must lie between 0 and 1, got {show(level)}{_as_share(level)}")
    if level.denominator > FINEST_LEVEL:
        raise PublicParameterError(f"a level has at most 6 decimals, got {show(level)}")


def _as_share(level: Fraction) -> str:
    """A hint at the level that a number of per cent means."""
    return f". {show(level)} % is written {show(level / 100)}" if 1 < level < 100 else ""


# --- options of methods -----------------------------------------------------------------------------------------------


@made_as('rt.PTR(mode="paper")')
@attrs.frozen
class PTR:
    """Options of propose-test-release, by which S, M, TM, R_S and R_H answer.

    Parameters
    ----------
    mode : "exact" or "paper"
        "paper" has the thresholds and splits that 003 prints, with the loss and delta they really have.
    unit : number, optional
        Public step of the grid on which values are read; by default that of the column.
    width : number, optional
        For M: the width proposed, in units of the column; by default it is bought.
    """

    mode: Mode = "exact"
    unit: Fraction | None = attrs.field(default=None, converter=read_unit, kw_only=True)
    width: Fraction | None = attrs.field(default=None, converter=read_width, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_word("mode", self.mode, Mode)
        for name, number in (("unit", self.unit), ("width", self.width)):
            if number is not None:
                positive(number, name)

    @property
    def words(self) -> Words:
        """The options as a text has them, without those left at their default."""
        return (
            *(() if self.mode == "exact" else (("mode", self.mode),)),
            *(() if self.unit is None else (("unit", show(self.unit)),)),
            *(() if self.width is None else (("width", show(self.width)),)),
        )


PLAIN: Final = PTR()


def read_ptr(options: PTR) -> PTR:
    """Options of propose-test-release."""
    if not isinstance(options, PTR):
        raise QuestionError(f'ptr is a value such as rt.PTR(mode="paper"), got {options!r}')
    return options


def read_widthless(options: PTR) -> PTR:
    """Options of a test that proposes no width."""
    if read_ptr(options).width is not None:
        raise PublicParameterError("width is for a median or a quantile with method=M")
    return options


WIDTHLESS: Final[Mapping[str, object]] = {"unfold": ("mode", "unit"), "build": lambda texts: PTR(**texts)}


@made_as('rt.Clipped(tail="normal")')
@attrs.frozen
class Clipped:
    """The clipped mean, and the tails that are declared for it.

    Parameters
    ----------
    tail : "normal" or number, optional
        Vouched for: tails no heavier than normal, or falling at least like distance^-tail, tail > 1. The mean of all
        values is then estimated, unless a noisy count of values far out refutes it.
    """

    word: ClassVar[str] = "clipped"
    tail: Tail | None = attrs.field(default=None, converter=read_tail)

    def __attrs_post_init__(self) -> None:
        check_tail(self.tail)

    @property
    def words(self) -> Words:
        """The method and its tail, as a text has them."""
        tail = () if self.tail is None else (("tail", self.tail if self.tail == "normal" else show(self.tail)),)
        return (("method", self.word), *tail)


@made_as("rt.CoinPress(centre=0, radius=1000, deviation=50)")
@attrs.frozen(kw_only=True)
class CoinPress:
    """CoinPress, and what is known without the file of the mean it estimates.

    Parameters
    ----------
    centre, radius : number
        A range that holds the mean; it may be very generous.
    deviation : number
        The standard deviation is at most this.
    """

    word: ClassVar[str] = "coinpress"
    centre: Fraction = attrs.field(converter=read_centre)
    radius: Fraction = attrs.field(converter=read_radius)
    deviation: Fraction = attrs.field(converter=read_deviation)

    def __attrs_post_init__(self) -> None:
        positive(self.radius, "radius")
        positive(self.deviation, "deviation")

    @property
    def words(self) -> Words:
        """The method and what is known, as a text has them."""
        known = (("centre", self.centre), ("radius", self.radius), ("deviation", self.deviation))
        return (("method", self.word), *((name, show(number)) for name, number in known))


@attrs.frozen
class KeySource:
    """Keys of the groups of a question, as it says behind the columns.

    Attributes
    ----------
    keys : str
        ``found`` for keys that the release finds privately, the path of a public file of keys, or empty for the keys
        that the schema declares.
    at_least : int or None
        A key of fewer persons is not found, for certain.
    groups : int or None
        Most groups that one person counts in; by default as many as rows are kept.
    """

    keys: str = attrs.field(default=None, converter=read_key_source)
    at_least: int | None = attrs.field(default=None, converter=read_number)
    groups: int | None = attrs.field(default=None, converter=read_number)

    def __attrs_post_init__(self) -> None:
        if self.at_least is not None and not self.is_found:
            raise QuestionError("at_least is of keys that are found: by drug keys=found at_least=20.")

    @property
    def is_found(self) -> bool:
        """True if the release finds the keys privately."""
        return self.keys == FOUND

    @property
    def file(self) -> str:
        """The path of the public file of keys; empty where there is none."""
        return "" if self.is_found else self.keys

    def __str__(self) -> str:
        keys = f'"{self.keys}"' if self.file else self.keys
        told = (("keys", keys), ("at_least", self.at_least), ("groups", self.groups))
        return " ".join(f"{name}={value}" for name, value in told if value)


def source_of(clause: str) -> tuple[str, KeySource | None]:
    """The columns of the text behind ``by``, and what it says of their keys, if anything."""
    found: dict[str, str] = {}
    columns = clause.rstrip()
    while (last := _KEYS.search(columns)) is not None:
        name = last.group(1).lower()
        if name in found:
            raise QuestionError(f"{name} is given twice")
        found[name] = last.group(2).strip("\"'")
        columns = columns[: last.start()]
    return columns, KeySource(found.get("keys"), found.get("at_least"), found.get("groups")) if found else None


def shown(value: Any) -> str:
    """The text of an option's value: numbers exactly, lists with spaces, yes and no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, DayCount):
        return value.iso
    if isinstance(value, Fraction):
        return show(value)
    if isinstance(value, tuple):
        return " ".join(shown(item) for item in value)
    return str(value)
