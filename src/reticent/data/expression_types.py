"""Types of expressions: numbers in a public range, keys of a public list, truth values that bounds leave possible.

One function for each operation takes the types of its operands and gives that of its result, or refuses them.
Ranges follow by interval arithmetic from declared bounds alone: no cell is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import prod
from typing import Final, TypeAlias

from reticent import calendar
from reticent.data.expression_tree import MOST_CELLS, Key, key_text, number_text, refusal
from reticent.data.schema import EXACT_DOUBLE, LARGEST

MOST_INTEGERS: Final = 1_000  # of a range whose every integer is a group
SLACK: Final = Fraction(1, 1 << 40)  # libraries' logarithms differ in the last place


@dataclass(frozen=True, slots=True)
class Numbers:
    """Finite doubles within a public range, ends None where there is none; ``whole`` ones are integers within 2^53.

    Whole numbers with a ``step`` are its multiples, and so are their ends. Those with ``among`` are in it.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    whole: bool = False
    step: int = 1
    among: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Labels:
    """Keys of a public list."""

    among: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    """Truth values that public bounds leave possible, missing aside."""

    possible: frozenset[bool] = frozenset({True, False})


@dataclass(frozen=True, slots=True)
class Dates:
    """Dates or times within a public range, as integers of ``step`` seconds; of a ``period`` its first days."""

    low: int
    high: int
    step: int
    period: str = ""

    @property
    def first_days(self) -> bool:
        """True if these are first days of periods longer than a day, few enough to be listed."""
        return self.period not in ("", "day") and len(date_keys(self)) > 0


@dataclass(frozen=True, slots=True)
class Spans:
    """Distances of dates or times: integers of ``step`` seconds."""

    low: int
    high: int
    step: int


Type: TypeAlias = Numbers | Labels | Truth | Dates | Spans


# --- types of results -------------------------------------------------------------------------------------------------


def numbers_of(types: Sequence[Type], operation: str) -> list[Numbers]:
    found = [one for one in types if isinstance(one, Numbers)]
    if any(isinstance(one, Spans) for one in types):
        raise refusal(f"{operation} takes numbers. Say in what the difference of two dates counts: days(b - a).")
    if any(isinstance(one, Dates) for one in types):
        compared = " A date is compared with a date, x >= 2024-02-29." if operation[0] in "<>=!" else ""
        raise refusal(
            f"{operation} takes numbers.{compared} Of a date write days(b - a), "
            'year(x) or trunc(x, "month"); days are not added to a date: write days(b - a) > 2.'
        )
    if len(found) < len(types):
        lists = [one for one in types if not isinstance(one, Numbers | Truth)]
        if operation == "*":
            product = '(a and g = "x"), or case when g = "x" then y else 0 end'
            raise refusal(f"* takes numbers. The product with a category is {product}.")
        instead = ' Of a category write x = "a" or x in ("a", "b").' if lists else ""
        raise refusal(f"{operation} takes numbers.{instead}")
    return found


def truths_of(types: Sequence[Type], operation: str) -> list[Truth]:
    found = [one for one in types if isinstance(one, Truth)]
    if len(found) < len(types):
        raise refusal(f"{operation} takes conditions, such as x >= 3.")
    return found


def ranged(low: Fraction | None, high: Fraction | None, *, whole: bool) -> Numbers:
    """The type of numbers with these ends: whole only where every integer between them is a double.

    Parameters
    ----------
    low, high : Fraction or None
        Ends of the numbers; None for an end that is not known.
    whole : bool
        True if all of them are whole numbers.

    Returns
    -------
    Numbers
        Type with these ends, or without where one is missing or beyond the doubles.
    """
    if low is None or high is None or max(abs(low), abs(high)) > LARGEST:
        return Numbers()
    low, high = (Fraction(repr(float(end))) for end in (low, high))
    return Numbers(low, high, whole and max(abs(low), abs(high)) <= EXACT_DOUBLE)


def double(end: Fraction) -> Fraction:
    """The double that an end stands for, exactly: what an operation rounds lies between roundings of its corners."""
    return Fraction(float(end))


def corners(by: Callable[[Fraction, Fraction], Fraction], name: str) -> Callable[[Sequence[Type]], Type]:
    """The range of + - * lies between the values at the corners."""

    def kind(types: Sequence[Type]) -> Type:
        if name == "-" and all(isinstance(one, Dates) for one in types):
            return difference(types)
        a, b = numbers_of(types, name)
        if a.low is None or a.high is None or b.low is None or b.high is None:
            return Numbers()
        found = [by(double(x), double(y)) for x in (a.low, a.high) for y in (b.low, b.high)]
        made = ranged(min(found), max(found), whole=a.whole and b.whole)
        one, other = _multiple(a), _multiple(b)
        step = one * other if name == "*" else math.gcd(one, other)
        return replace(made, step=step) if made.whole and step else made

    return kind


def _multiple(one: Numbers) -> int:
    """The number of which all these whole numbers are multiples; of a public number it is itself."""
    if one.whole and one.low is not None and one.low == one.high:
        return abs(int(one.low))
    return one.step if one.whole else 1


def below(a: Numbers | Dates, b: Numbers | Dates) -> frozenset[bool]:
    always = a.high is not None and b.low is not None and float(a.high) < float(b.low)
    never = a.low is not None and b.high is not None and float(a.low) >= float(b.high)
    return frozenset({True} if always else {False} if never else {True, False})


def at_most(a: Numbers | Dates, b: Numbers | Dates) -> frozenset[bool]:
    return frozenset(not one for one in below(b, a))


Sure: TypeAlias = Callable[[Numbers | Dates, Numbers | Dates], frozenset[bool]]


def ordered(name: str, sure: Sure) -> Callable[[Sequence[Type]], Type]:
    """Bounds may leave one truth value of < <= > >= alone."""

    def kind(types: Sequence[Type]) -> Type:
        a, b = dates_of(types) or numbers_of(types, name)
        return Truth(sure(a, b))

    return kind


def dates_of(types: Sequence[Type]) -> list[Dates]:
    """The types of dates of one step; none where an operand is no date.

    Raises
    ------
    QuestionError
        Dates beside times, or times of several resolutions.
    """
    found = [one for one in types if isinstance(one, Dates)]
    if len(found) < len(types):
        return []
    if len({one.step for one in found}) > 1:
        raise refusal('Dates stand beside dates, and times beside times of one resolution: write trunc(x, "day").')
    return found


def difference(types: Sequence[Type]) -> Type:
    a, b = dates_of(types)
    return Spans(a.low - b.high, a.high - b.low, a.step)


def equality(types: Sequence[Type]) -> Type:
    match types:
        case (Dates(), Dates()):
            a, b = dates_of(types)
            apart = True not in at_most(a, b) or True not in at_most(b, a)
            point = a.low == a.high == b.low == b.high
            return Truth(frozenset({False} if apart else {True} if point else {True, False}))
        case (Numbers() as a, Numbers() as b):
            apart = True not in at_most(a, b) or True not in at_most(b, a)
            point = a.low is not None and a.low == a.high == b.low == b.high
            return Truth(frozenset({False} if apart else {True} if point else {True, False}))
        case (Labels(among=first), Labels(among=second)) if type(first[0]) is type(second[0]):
            alone = len(first) == len(second) == 1
            return Truth(frozenset({False} if not {*first} & {*second} else {True} if alone else {True, False}))
        case _:
            raise refusal("= compares numbers, dates such as 2024-02-29, or a category with its keys in quotes.")


def inequality(types: Sequence[Type]) -> Type:
    return negation([equality(types)])


def membership(types: Sequence[Type]) -> Type:
    possible = [one.possible for one in (equality([types[0], other]) for other in types[1:]) if isinstance(one, Truth)]
    never = {False} if all(False in one for one in possible) else set()
    return Truth(frozenset(never | {True for one in possible if True in one}))


def negation(types: Sequence[Type]) -> Type:
    (one,) = truths_of(types, "not")
    return Truth(frozenset(not value for value in one.possible))


def conjunction(types: Sequence[Type]) -> Type:
    found = [one.possible for one in truths_of(types, "and")]
    true, false = all(True in one for one in found), any(False in one for one in found)
    return Truth(frozenset({True} if true else ()) | frozenset({False} if false else ()))


def disjunction(types: Sequence[Type]) -> Type:
    found = [one.possible for one in truths_of(types, "or")]
    true, false = any(True in one for one in found), all(False in one for one in found)
    return Truth(frozenset({True} if true else ()) | frozenset({False} if false else ()))


def lack(types: Sequence[Type]) -> Type:
    if isinstance(types[0], Truth):
        raise refusal("is missing asks about a column or a number.")
    return Truth()


def absolute(types: Sequence[Type]) -> Type:
    (one,) = numbers_of(types, "abs")
    if one.low is None or one.high is None:
        return Numbers()
    least = Fraction(0) if one.low <= 0 <= one.high else min(abs(one.low), abs(one.high))
    return ranged(least, max(abs(one.low), abs(one.high)), whole=one.whole)


def extreme(pick: Callable[[list[Fraction]], Fraction], name: str) -> Callable[[Sequence[Type]], Type]:
    def kind(types: Sequence[Type]) -> Type:
        if dates := dates_of(types):
            ends = [pick([Fraction(getattr(one, end)) for one in dates]) for end in ("low", "high")]
            return Dates(int(ends[0]), int(ends[1]), dates[0].step)
        found = numbers_of(types, name)
        lows, highs = (
            [one.low for one in found if one.low is not None],
            [one.high for one in found if one.high is not None],
        )
        if len(lows) < len(found) or len(highs) < len(found):
            return Numbers()
        return ranged(pick(lows), pick(highs), whole=all(one.whole for one in found))

    return kind


def clamped(types: Sequence[Type]) -> Type:
    if dates := dates_of(types):
        x, first, last = dates
        if first.low != first.high or last.low != last.high or first.low >= last.low:
            raise refusal("clamp goes between rising public dates: clamp(x, 2020-01-01, 2024-12-31).")
        inner = [min(max(end, first.low), last.low) for end in (x.low, x.high)]
        return Dates(inner[0], inner[1], x.step)
    one, *ends = numbers_of(types, "clamp")
    low, high = (public_number(end, "clamp goes between public numbers: clamp(x, 0, 100)") for end in ends)
    if low >= high:
        raise refusal("clamp goes between rising numbers: clamp(x, 0, 100).")
    inside = [high if end is None else min(max(end, low), high) for end in (one.low, one.high)]
    if one.low is None or one.high is None:
        inside = [low, high]
    return ranged(inside[0], inside[1], whole=one.whole and low.denominator == high.denominator == 1)


def public_number(one: Type, words: str) -> Fraction:
    """The public number that an operand must be."""
    if not isinstance(one, Numbers) or one.low is None or one.low != one.high:
        raise refusal(f"{words}; a column cannot stand there.")
    return one.low


def divided(types: Sequence[Type]) -> Type:
    by, one = public_number(types[1], "/ divides by a public number, such as 10"), numbers_of(types, "/")[0]
    if not float(by):
        raise refusal("/ divides by a number that is not 0.")
    if one.low is None or one.high is None:
        return Numbers()
    low, high = sorted((double(one.low) / by, double(one.high) / by))
    return ranged(low, high, whole=False)


def floored(types: Sequence[Type]) -> Type:
    step, one = (
        public_number(types[1], "floor goes down to a multiple of a public number"),
        numbers_of(types, "floor")[0],
    )
    if step <= 0:
        raise refusal("floor goes down to a multiple of a number above 0.")
    if one.low is None or one.high is None:
        return Numbers()
    low, high = ((double(double(end) / step)).__floor__() * step for end in (one.low, one.high))
    if step.denominator > 1:
        return ranged(low - step, high + step, whole=False)
    found = ranged(low, high, whole=True)
    exact = found.whole and (found.low, found.high) == (low, high)  # not 2^53 for a multiple beyond it
    return replace(found, step=int(step)) if exact else found


def logged(types: Sequence[Type]) -> Type:
    (one,) = numbers_of(types, "log")
    if one.low is None or one.high is None or one.low <= 0:
        return Numbers()
    return Numbers(Fraction(math.log(one.low)) - SLACK, Fraction(math.log(one.high)) + SLACK)


def rooted(types: Sequence[Type]) -> Type:
    (one,) = numbers_of(types, "sqrt")
    if one.low is None or one.high is None or one.high < 0:
        return Numbers()
    return Numbers(Fraction(math.sqrt(max(one.low, Fraction(0)))), Fraction(math.sqrt(one.high)))


def coalesced(types: Sequence[Type]) -> Type:
    return common(types, "coalesce")


def choice(types: Sequence[Type]) -> Type:
    """The type of ``case``: conditions and values in turn, and what else."""
    truths_of(types[:-1:2], "case when")
    return common([*types[1:-1:2], types[-1]], "case")


def common(types: Sequence[Type], name: str) -> Type:
    """The type that holds every one of several."""
    numbers = [one for one in types if isinstance(one, Numbers)]
    labels = [one for one in types if isinstance(one, Labels)]
    truths = [one for one in types if isinstance(one, Truth)]
    if dates := dates_of(types):
        return Dates(min(one.low for one in dates), max(one.high for one in dates), dates[0].step)
    if len(numbers) == len(types):
        ends = [end for one in numbers for end in (one.low, one.high)]
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            return Numbers()
        return ranged(min(known), max(known), whole=all(one.whole for one in numbers))
    if len(labels) == len(types):
        keys = tuple(dict.fromkeys(key for one in labels for key in one.among))
        if len({type(key) for key in keys}) > 1:
            raise refusal(f"{name} gives keys of one kind: text, integers or truth values.")
        return Labels(keys)
    if len(truths) == len(types):
        return Truth(frozenset().union(*(one.possible for one in truths)))
    raise refusal(f"{name} gives numbers, dates, keys or conditions, not a mixture.")


def recoded(types: Sequence[Type]) -> Type:
    """The type of ``recode``: a category, then keys and what becomes of them in turn."""
    found = [one for one in types if isinstance(one, Labels)]
    if len(found) < len(types) or len(types) % 2 == 0:
        raise refusal('recode takes a category and pairs of keys: recode(ward, "n" = "north", "s" = "south").')
    return common(types[2::2], "recode")


def text_map(types: Sequence[Type], name: str, by: Callable[[str], str]) -> Type:
    """The type of a function of text: what becomes of each listed key is public.

    Parameters
    ----------
    types : sequence of Type
        Of the operands.
    name : str
        Of the function.
    by : function
        From a text to a text.

    Returns
    -------
    Type

    Raises
    ------
    QuestionError
        An operand that is no category of texts.
    """
    match types[0]:
        case Labels(among=(str(), *_) as among):
            return Labels(tuple(dict.fromkeys(by(str(key)) for key in among)))
        case _:
            raise refusal(f"{name} takes a category of texts.")


def beginning(types: Sequence[Type]) -> Type:
    count = public_number(types[1], "left takes a public number of characters: left(code, 3)")
    if count.denominator != 1 or count < 1:
        raise refusal("left takes a whole number of characters, 1 or more: left(code, 3).")
    return text_map(types[:1], "left", lambda text: text[: int(count)])


def classes(types: Sequence[Type]) -> Type:
    edges = [public_number(one, "cut takes public edges: cut(age, 0:100:10)") for one in types[1:]]
    numbers_of(types[:1], "cut")
    if any(a >= b for a, b in pairwise(edges)):
        raise refusal("cut takes edges that rise: cut(age, 0 18 65 120).")
    return Labels(cut_labels(edges))


def cut_labels(edges: Sequence[Fraction]) -> tuple[str, ...]:
    """The keys of the classes between edges: ``[0, 18)``, the last one with both its ends."""
    last = len(edges) - 2
    return tuple(
        f"[{number_text(low)}, {number_text(high)}{']' if place == last else ')'}"
        for place, (low, high) in enumerate(pairwise(edges))
    )


def crossed(types: Sequence[Type]) -> Type:
    """The type of ``cross``: the product of public lists, written side by side."""
    lists = tuple(map(part_keys, types))
    if len(lists) == 1:
        return Labels(lists[0])
    if (cells := prod(map(len, lists))) > MOST_CELLS:
        raise refusal(
            f"The groups are {' x '.join(f'{len(one):,}' for one in lists)} = {cells:,}, and at most {MOST_CELLS:,} "
            "can be asked for. Cut more coarsely, or take a column less."
        )
    return Labels(_side_by_side(tuple(tuple(map(cross_text, one)) for one in lists)))


@lru_cache(maxsize=16)
def _side_by_side(lists: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(map(", ".join, product(*lists)))


def date_keys(one: Dates) -> tuple[str, ...]:
    """The dates of a type as keys, of a period its first days; none of times, and where they are too many."""
    period = one.period or "day"
    longest = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}[period]
    if one.step != calendar.DAY or one.high - one.low >= MOST_INTEGERS * longest:
        return ()
    found = calendar.firsts(one.low, one.high, one.step, period)
    return tuple(calendar.text(place, one.step) for place in found) if len(found) <= MOST_INTEGERS else ()


def date_labels(types: Sequence[Type]) -> Type:
    """The type of dates as keys."""
    match types:
        case (Dates() as one,) if keys := date_keys(one):
            return Labels(keys)
        case _:
            raise refusal(
                f"Groups of dates are at most {MOST_INTEGERS:,} days or first days. Of a column x they are by "
                'year(x), by month(x) of any year, or by trunc(x, "month") of each.'
            )


def part_keys(one: Type) -> tuple[Key, ...]:
    """The public keys of one part of a product: listed ones, true and false, or the integers of a short range."""
    match one:
        case Labels(among=among):
            return among
        case Numbers(among=(_, *_) as listed):
            return tuple(listed)
        case Truth():
            return (False, True)
        case Dates():
            date_labels([one])
            return date_keys(one)
        case Numbers(low=low, high=high, whole=True, step=step) if low is not None and high is not None:
            first, last = math.ceil(low), math.floor(high)
            if (last - first) // step < MOST_INTEGERS:
                return tuple(range(first, last + 1, step))
            raise refusal(
                f"Groups of the integers {first} to {last} are more than {MOST_INTEGERS:,}. Cut them, such as "
                "cut(x, 0:100:10)."
            )
        case _:
            raise refusal(
                "Groups have public keys: those of a category, integers between declared bounds, or classes, such as "
                "cut(x, 0:100:10), or floor(x / 10) where x has bounds."
            )


def cross_text(key: Key) -> str:
    """A key as a part of a product: in quotes where a comma of its own would be taken for that between parts."""
    text = key_text(key)
    if not any(sign in text for sign in ',"\\'):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# --- dates ------------------------------------------------------------------------------------------------------------


def date_part(name: str) -> Callable[[Sequence[Type]], Type]:
    """The type of ``year`` and other parts of a date; the second operand is its step."""

    def kind(types: Sequence[Type]) -> Type:
        (one,) = dates_in(types[:1], f"{name} takes a date: {name}(admitted)")
        if name == "year":
            low, high = (calendar.part("year", end, one.step) for end in (one.low, one.high))
            return Numbers(Fraction(low), Fraction(high), whole=True)
        if name == "hour" and one.step == calendar.DAY:
            raise refusal("A date has no hour: declare the column as a datetime.")
        found = calendar.parts_between(name, one.low, one.high, one.step)
        return Numbers(Fraction(found[0]), Fraction(found[-1]), whole=True, among=found)

    return kind


def dates_in(types: Sequence[Type], words: str) -> list[Dates]:
    found = [one for one in types if isinstance(one, Dates)]
    if len(found) < len(types):
        raise refusal(f"{words}.")
    return found


def truncated(types: Sequence[Type]) -> Type:
    (one,) = dates_in(types[:1], 'trunc takes a date and a period: trunc(admitted, "month")')
    match types[1]:
        case Labels(among=(str(period),)) if period in calendar.PERIODS:
            low, high = (calendar.truncated(end, one.step, period) for end in (one.low, one.high))
            if low * calendar.DAY < calendar.FIRST:
                raise refusal("The first week of year 1 began before it.")
            return Dates(low, high, calendar.DAY, period)
        case _:
            raise refusal(f'trunc goes to the first day of a period: trunc(x, "month"); {", ".join(calendar.PERIODS)}.')


def spanned(name: str, size: int) -> Callable[[Sequence[Type]], Type]:
    """The type of ``days`` and ``hours`` of a difference; the second operand is its step."""

    def kind(types: Sequence[Type]) -> Type:
        match types[0]:
            case Spans(low=low, high=high, step=step):
                whole = step % size == 0
                return ranged(Fraction(low * step, size), Fraction(high * step, size), whole=whole)
            case _:
                raise refusal(f"{name} takes a difference of two dates: {name}(discharged - admitted).")

    return kind


def completed_years(types: Sequence[Type]) -> Type:
    born, at = dates_in(types[:2], "age takes two dates: age(birth, admitted)")
    low = calendar.age(born.high, born.step, at.low, at.step)
    high = calendar.age(born.low, born.step, at.high, at.step)
    return Numbers(Fraction(low), Fraction(high), whole=True)
