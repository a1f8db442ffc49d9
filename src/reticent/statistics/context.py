"""Public input and output of the preparation of a statistic; it reads no row.

    asked (Statistic) --prepare(setting, epsilon)--> Step --run queries--> integers --answer(entropy)--> Answer

A ``Step`` has its guarantee before any row is read. ``answer`` turns exact integers into noisy ones by the step's
mechanisms and everything after that is post-processing. ``noisy`` draws for vectors of integers, one for each group.

    count by ward, year with totals        cells for each ward, for each year, for all: a label lacks what is summed

Margins are sums of released integers over groups, free, with intervals from the law of all noises. A margin reads the
noisy integers of the cells and nothing else, so it agrees with them to the last digit.

A plan tells the probability of a reply for public shapes of the columns. ``SHAPES`` are those of numbers between
bounds. The first is that of rehearsals. ``OFF_MIDDLE`` is nearest to real columns. Of 50 columns of public tables half
had a deviation below .12 of the range. Half had a mean more than .15 of it off the middle. Their bounds were known
without them. The others are extremes: values that crowd at one end of wide bounds, as incomes and counts do, and values
from bound to bound. The chance for the file itself would be an answer of its own. A statistic states it for public
shapes: from the law of its noise where a released number decides, else from made-up tables of each shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from reticent.data.query import Keys, Per, Query
from reticent.data.schema import Person, Schema
from reticent.errors import restored
from reticent.mechanisms import gate
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.filters import Currency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import rough, show
from reticent.privacy.sensitivity import L1
from reticent.statistics.answer import Answer, Label

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy

Margin: TypeAlias = tuple[Label, tuple[int, ...]]  # the label, and the places of the groups that are summed


class IntegerNoise(Protocol):
    """A mechanism for a vector of integers, with the half-width that its noise stays within."""

    @property
    def guarantee(self) -> Guarantee: ...

    def sample(self, exact: Sequence[int], entropy: Entropy, /) -> tuple[int, ...]: ...

    def radius(self, beta: float, /) -> int:
        """Least integer z with P(abs(noise) > z) <= ``beta`` in one coordinate."""
        ...


EQUAL_GROUPS: Final = "; groups of equal size: a smaller one has a wider interval"
ShapeWidths: TypeAlias = tuple[str, float | None, float | None]  # a public shape, its noise and its sampling
Figures: TypeAlias = tuple[tuple[str, float], ...]  # what a note tells beside half-widths
OnIntegers: TypeAlias = Callable[[L1, Fraction, int], IntegerNoise]  # of a vector of so many integers


@dataclass(frozen=True, slots=True)
class Setting:
    """The public circumstances of a question.

    Attributes
    ----------
    schema : Schema
    units : int or None
        The public number of persons: read under substitution, declared as ``people`` otherwise, else None.
    size_public : bool
        Whether ``units`` is exact (substitution) and may stand for the number of rows where each person has one.
    keys : Keys or None
        Public groups, if the question is asked by group.
    delta : Fraction or None
        The delta that this question may spend; None where none is offered, or none is needed.
    currency : "approximate" or "zcdp"
        In which the question is charged: in rho where its release or its ledger is.
    per : "row" or "person"
        The unit of analysis: "person" averages the rows of each person first.
    noises : tuple of word and maker
        Mechanisms of third parties that fit integers.
    where : str
        The text of the question's own filter; the schema is that of the rows it leaves.
    totals : bool
        The answer has margins of its groups, too.
    weight : str or None
        The column by which rows are weighted.
    """

    schema: Schema
    units: int | None
    keys: Keys | None = None
    delta: Fraction | None = None
    currency: Currency = "approximate"
    per: Per = "row"
    noises: tuple[tuple[str, OnIntegers], ...] = ()
    where: str = ""
    totals: bool = False
    weight: str | None = None

    @property
    def neighbours(self) -> Adjacency:
        return self.schema.person.neighbours()

    @property
    def size_public(self) -> bool:
        return self.schema.person.size_public and self.units is not None


@restored
@dataclass(frozen=True, slots=True)
class NumberWidths:
    """Expected half-widths and replies of one of several numbers, as of an answer; None where it is seldom told."""

    name: str
    noise: float | None
    sampling: float | None
    unit: str = ""
    others: tuple[ShapeWidths, ...] = ()
    replies: Replies = ()


@restored
@dataclass(frozen=True, slots=True)
class ExpectedAccuracy:
    """Expected half-widths at 95 % that a plan shows, for an assumed shape and a public n.

    ``noise`` and ``sampling`` are in the unit of the answer, for the usual shape, which rehearsals have. ``others`` has
    both for other public shapes. ``typical`` names the one that real columns come nearest to, whose half-widths a plan
    prints first; empty where that is the usual one. ``replies`` has the probability of a reply for each public shape,
    of one group where there are several; empty where it is not stated. ``figures`` has numbers of the note by name: the
    effect that a test sees, the score of a model, the distance of a density from its law. ``unit`` is that of the
    half-widths where no public number gives the answer's own: "sd", standard deviations of the column, "iqr", distances
    of its quartiles, or "of it", a share of the answer. No field is taken from the file. ``numbers`` has half-widths of
    each coefficient of a model, for the shape that is printed. ``apart`` names numbers of rows, or caps on them, that
    nobody told and a reply hangs on: a plan has a line for each.
    """

    noise: float | None
    sampling: float | None
    note: str = ""
    replies: Replies = ()
    others: tuple[ShapeWidths, ...] = ()
    figures: Figures = ()
    unit: str = ""
    numbers: tuple[NumberWidths, ...] = ()
    typical: str = ""
    apart: tuple[str, ...] = ()

    @property
    def headline(self) -> tuple[float | None, float | None]:
        """Half-widths of noise and sampling that a release reaches about as often as not."""
        found = ((noise, sampling) for shape, noise, sampling in self.others if shape == self.typical)
        return next(found, (self.noise, self.sampling))


def of_persons(expected: Callable[[int], ExpectedAccuracy], people: int, rows: int, person: Person) -> ExpectedAccuracy:
    """The plan for persons with the rows that a plan supposes, and ends for the fewer rows that uneven persons keep.

    Where nobody told rows, ends are of one row each and of all. An end is that over all shapes.

    Parameters
    ----------
    expected : callable
        The plan for a number of values, as if each were another person's.
    people, rows : int
        Persons, and the most values of one in one answer.
    person : Person
        Whose ``supposed_rows`` are those of every line of the plan.

    Returns
    -------
    ExpectedAccuracy
        Half-widths at 95 %, in the unit of the answer.
    """
    values = values_of(people, rows, person)
    found = told = expected(values)
    if rows > 1 and person.usual_rows is None:
        each = values_of_each(people, rows, person)
        parts = [(name, found if one == values else expected(one)) for name, one in each.items()]
        told = at_each(parts, found)
        if not told.apart:
            note = _with_ends(found.note, [parts[0][1], parts[-1][1]], rows)
            return replace(told, note=note, others=(*found.others, *_end(*parts[0], max), *_end(*parts[-1], min)))
    fewer = max(people, values // 2)
    return told if fewer >= values else replace(told, others=(*told.others, *_end(FEWER_ROWS, expected(fewer), max)))


def _end(name: str, found: ExpectedAccuracy, end: Callable[[Sequence[float]], float]) -> tuple[ShapeWidths, ...]:
    """The end of the half-widths of noise and of sampling over all shapes; none where a plan tells no width."""
    each = [(found.noise, found.sampling), *((noise, sampling) for _, noise, sampling in found.others)]
    noises, samplings = ([width for pair in each if (width := pair[part])] for part in (0, 1))
    return ((name, end(noises), end(samplings) if samplings else None),) if found.headline[0] and noises else ()


def values_of_each(people: int, rows: int, person: Person) -> dict[str, int]:
    """Numbers of values by the rows of a person where nobody told them: one, as many as a plan supposes, and all.

    Parameters
    ----------
    people, rows : int
    person : Person

    Returns
    -------
    dict of name to number
    """
    return {
        "one row each": people,
        f"{show(person.supposed_rows)} rows each": values_of(people, rows, person),
        f"{rows} rows each": people * rows,
    }


def at_each(parts: Sequence[tuple[str, ExpectedAccuracy]], found: ExpectedAccuracy) -> ExpectedAccuracy:
    """An expectation with the replies of several numbers of rows, which stand apart where a reply hangs on them.

    Those apart are other shapes with the half-widths that a plan prints first.

    Parameters
    ----------
    parts : pairs of a name and ExpectedAccuracy
        Numbers of rows, or caps on them.
    found : ExpectedAccuracy
        For the one that is supposed.

    Returns
    -------
    ExpectedAccuracy
    """
    chances = [most(one.replies) or 0.0 for _, one in parts if one.replies]
    hangs = bool(chances) and min(chances) < SURE and shown(min(chances)) != shown(max(chances))
    replies = joined(*((name, one.replies) for name, one in parts))
    if not hangs:
        return replace(found, replies=replies)
    apart = {name: one.headline for name, one in parts}
    others = [one for one in found.others if one[0] not in apart]
    others += [(name, *widths) for name, widths in apart.items() if widths[0] is not None]
    unit = next((one.unit for _, one in parts if one.unit), found.unit)
    return replace(found, replies=replies, others=tuple(others), unit=unit, apart=tuple(apart))


def _with_ends(note: str, ends: Sequence[ExpectedAccuracy], rows: int) -> str:
    """The note of a plan, with the noise of persons of one row, and of all of them."""
    least, greatest = (
        "no reply" if (noise := one.headline[0]) is None else f"noise ± {rough(noise, 3)}" for one in ends
    )
    shorter = greatest.removeprefix("noise ") if least.startswith("noise") else greatest
    told = f"{least} if each person has one row, {shorter} if {rows}" if least != greatest else ""
    return "; ".join(text for text in (told, note) if text)


def values_of(people: int, rows: int, person: Person) -> int:
    """Values that so many persons have, of at most ``rows`` each, as every line of a plan supposes.

    Parameters
    ----------
    people, rows : int
    person : Person
        Whose ``supposed_rows`` are the average.

    Returns
    -------
    int
    """
    return round(people * min(person.supposed_rows, Fraction(rows)))


class Step(Protocol):
    """A prepared question."""

    @property
    def name(self) -> str: ...

    @property
    def estimand(self) -> str:
        """The quantity that the answer estimates, in words, from public facts."""
        ...

    @property
    def queries(self) -> tuple[Query, ...]: ...

    @property
    def guarantee(self) -> Guarantee: ...

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer: ...

    def expected(self, people: int) -> ExpectedAccuracy: ...


@dataclass(frozen=True, slots=True)
class StepWork:
    """Work of a step beside its queries, by which a plan forecasts time and memory.

    ``simulates`` is true where a p-value is read off simulated tables, ``pairs`` where slopes of pairs of rows are
    taken. With ``sorts``, values of a long column are sorted one by one. ``searched`` are the columns of a density that
    searches or solves. ``half_widths`` are those of one cell, with draws that look at its values, which take as long.
    """

    simulates: bool = False
    pairs: bool = False
    sorts: bool = False
    searched: int = 0
    half_widths: int = 0


NO_WORK: Final = StepWork()


def work_of(step: Step) -> StepWork:
    """Work that a step tells of itself as ``work``; a step without it has none."""
    work: StepWork = getattr(step, "work", NO_WORK)
    return work


def noisy(
    vectors: Sequence[tuple[int, ...]], mechanism: IntegerNoise | None, entropy: Entropy
) -> list[tuple[int, ...]]:
    """The vectors with noise, drawn for all groups at once; unchanged where they are public.

    Parameters
    ----------
    vectors : sequence of tuple of int
        Exact integers of each group.
    mechanism : mechanism for integers, or None
        None where they are public.
    entropy : Entropy

    Returns
    -------
    list of tuple of int
    """
    if mechanism is None:
        return list(vectors)
    flat = [number for vector in vectors for number in vector]
    drawn = iter(gate.draw(mechanism, flat, entropy))
    return [tuple(next(drawn) for _ in vector) for vector in vectors]


def guarantee_of(mechanism: IntegerNoise | None, setting: Setting, label: str) -> Guarantee:
    """The guarantee of a step that draws from one mechanism, or from none.

    Parameters
    ----------
    mechanism : mechanism for integers, or None
        None where the numbers are public.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    label : str

    Returns
    -------
    Guarantee
    """
    if mechanism is None:
        return compose.public(setting.neighbours, label=label)
    return compose.in_sequence([mechanism.guarantee], label=label)


def margins_of(keys: Keys) -> tuple[Margin, ...]:
    """The margins of a product of groups, those of most columns first; the sum over all groups is the last."""
    labels = keys.labels
    columns = range(len(labels[0]))
    found: list[Margin] = []
    for size in reversed(columns):
        for chosen in combinations(columns, size):
            places: dict[Label, list[int]] = {}
            for place, label in enumerate(labels):
                places.setdefault(tuple(label[column] for column in chosen), []).append(place)
            found += [(label, tuple(several)) for label, several in places.items()]
    return tuple(found)


def summed(vectors: Sequence[tuple[int, ...]], places: Sequence[int]) -> tuple[int, ...]:
    """The sum of the vectors at some places."""
    return tuple(map(sum, zip(*(vectors[place] for place in places), strict=True)))


Replies: TypeAlias = tuple[tuple[str, float], ...]  # shapes, and the probability of a reply for each

ANY: Final = "any shape"
USUAL: Final = "usual"  # normal, as plans and rehearsals assume
HEAPED: Final = "heaped"  # many values are equal
DISTANT: Final = "about 100,000 steps from 0"  # without bounds: incomes in whole units, times in minutes
OFF_MIDDLE: Final = "off the middle"  # by .15 of the range, with a deviation of an eighth of it
EVEN: Final = "even"  # from one bound to the other
RARE: Final = 0.05  # share of a rare value
COMMON: Final = 0.25  # share of a typical value, and of the smaller of two groups: the median of 7 public columns
UNEVEN: Final = "one group of a quarter"
SMALLER: Final = 0.1  # share of the rows that one of two groups has, where they are not equal
SMALL: Final = "one group of a tenth"
FEWER_ROWS: Final = "half as many rows"
TENTH: Final = "a group a tenth as large"
TENTH_PASSES: Final = "if a tenth of rows pass"
EVERY: Final = "if every row passes"
A_TENTH: Final = "if a tenth does"
HUNDREDTH: Final = "a group a hundredth as large"
LARGER: Final = "a group of nine rows in ten"
ALWAYS: Final[Replies] = ((ANY, 1.0),)
NEVER: Final[Replies] = ((ANY, 0.0),)
ALIKE: Final = 1.2  # half-widths of two shapes that a plan does not tell apart
LIKELY: Final = 0.5  # below it for every shape a release is refused
SURE: Final = 0.95  # chance of a reply from which on more values would hardly help
TERMS: Final = 512
HALVED: Final = 16  # times; a probability is told to three digits, and is known to .3 % then
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
    AssumedShape(EVEN, 0.0, 1 / math.sqrt(3.0), 1.8),
)


def of_any(chance: float) -> Replies:
    """The same probability for all shapes."""
    return ((ANY, chance),)


def of_tables(replies: int, tables: int) -> float:
    """The probability by so many replies on so many made-up tables, which are too few to tell it from 0 or 1."""
    return (replies + 0.5) / (tables + 1.0)


def tables_words(replies: int, tables: int) -> str:
    """Words on a probability by made-up tables, with the number of replies that it stands for."""
    least = " at least" if replies == tables else ""
    return f"{replies} of {tables} made-up tables replied: P(reply) is {shown(of_tables(replies, tables))}{least}"


def most(replies: Replies) -> float | None:
    """The greatest probability of all shapes; None where none is stated."""
    return max((chance for _, chance in replies), default=None)


def hopeless(replies: Replies) -> bool:
    """Tell if no reply is likelier than a reply for every shape that is stated."""
    return bool(replies) and all(chance < LIKELY for _, chance in replies)


def sure(replies: Replies) -> bool:
    """Tell if a reply is near certain for every shape, so that more values would hardly help."""
    return all(chance >= SURE for _, chance in replies)


def least_percentage(likely: Callable[[int], bool], people: int, fewer: int) -> int:
    """The percentage of rows from which on a reply is likely, by halving ratios: at most a sixth too many.

    Parameters
    ----------
    likely : callable
        Tells it of so many people; true of all of them, and false of one in ``fewer``.
    people : int
    fewer : int

    Returns
    -------
    int
        At most 100.
    """
    low, high = people / fewer, float(people)
    for _ in range(4):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if likely(round(middle)) else (middle, high)
    return math.ceil(100 * high / people)


def without(replies: Replies, which: str) -> Replies:
    """The probabilities of the shapes that have this part of a name, by the other parts; all where none has it."""
    named = [(shape.split(", "), chance) for shape, chance in replies]
    found = [
        (", ".join(part for part in parts if part != which) or ANY, chance) for parts, chance in named if which in parts
    ]
    return tuple(found) or replies


def of_part(replies: Replies, which: str) -> list[float]:
    """The probabilities of the shapes that have this part of a name, as ``joined`` gives it."""
    return [chance for shape, chance in replies if which in shape.split(", ")]


def joined(*parts: tuple[str, Replies]) -> Replies:
    """The probabilities of several public numbers of rows, by the names of these where they differ.

    Parameters
    ----------
    parts : pairs of a name and Replies

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
    for _ in range(HALVED):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return beyond(high - number, widths)


def beyond(distance: float, widths: Sequence[float]) -> float:
    """P(noise >= distance) of a sum of independent Laplace parts, by the series of ``intervals.half_width``."""
    if distance < 0.0:
        return 1.0 - beyond(-distance, widths)
    if len(widths) == 1:
        return 0.5 * math.exp(-distance / widths[0])
    if len(widths) == 2 and widths[0] == widths[1]:  # the tail of Gamma(2)s, folded: no series
        return (0.5 + 0.25 * distance / widths[0]) * math.exp(-distance / widths[0])
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
