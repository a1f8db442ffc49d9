"""Counts, persons, sums and histograms: integers of this table plus noise of one mechanism, geometric by default.

The interval is for the value of this table, so it has no sampling part. Noise is an integer, and the half-width is
the least integer that covers: coverage is at least 95 %, and more where one step of noise weighs much.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, assert_never

from reticent.calendar import DAY, firsts, moment
from reticent.data.query import DistinctPersons as PersonsQuery
from reticent.data.query import Query, Rows, Tally, Total, squared_stability
from reticent.data.schema import Category, Column, Integer, Key, Real, grid_by_size, grid_whole, value_words
from reticent.errors import QuestionError
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Estimate, Reply
from reticent.privacy import compose
from reticent.privacy.convert import as_approx, rho_within
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import PureDP, words
from reticent.privacy.numbers import rough, two_digits
from reticent.privacy.sensitivity import L1, L2
from reticent.statistics import public_facts
from reticent.statistics.answer import CLIPPED, Answer, Cell, Label, ValueCount
from reticent.statistics.context import (
    ALWAYS,
    ExpectedAccuracy,
    IntegerNoise,
    Margin,
    OnIntegers,
    Setting,
    noisy,
    summed,
    values_of,
)
from reticent.statistics.counts.count import Count
from reticent.statistics.counts.histogram import Histogram
from reticent.statistics.counts.persons import Persons
from reticent.statistics.counts.total import Sum
from reticent.statistics.error_law import ErrorLaw, combined
from reticent.statistics.options import GEOMETRIC, unknown
from reticent.statistics.public_facts import sums_of_kept

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy

BETA: Final = 0.05
WIDE: Final = 10  # the noise of a product that is too wide, to the rows of a group
SLIP: Final = 1e-6  # of a double, that makes no integer of the next one

# noises of integers in pure epsilon; Gaussian noise has a delta or is charged in rho
OURS: Final[Mapping[str, OnIntegers]] = {
    GEOMETRIC: lambda moved, epsilon, size: Geometric(moved, epsilon),
}


@dataclass(frozen=True, slots=True)
class Noise:
    """The mechanism of a step, None where its integers are public, and the delta that its loss is converted at."""

    mechanism: IntegerNoise | None
    delta: Fraction | None = None

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the mechanism, in the currency of the question."""
        assert self.mechanism is not None
        own = self.mechanism.guarantee
        return own if self.delta is None else as_approx(own, self.delta)


@dataclass(frozen=True, slots=True)
class CountStep:
    """One vector of integers per group, protected by one mechanism; ``mechanism`` None where public.

    ``unit`` is what one integer step stands for, ``labels`` has one entry per number of the answer, and ``positive``
    says that the true number cannot be below 0: what the noise moved there is shown as 0. With
    ``delta`` the loss in rho is converted at it.
    """

    name: str
    query: Query
    mechanism: IntegerNoise | None
    setting: Setting
    unit: Fraction
    labels: tuple[Label, ...]
    positive: bool = True
    caveats: tuple[str, ...] = ()
    estimand: str = ""
    delta: Fraction | None = None
    margins: tuple[Margin, ...] = ()

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.query,)

    @property
    def guarantee(self) -> Guarantee:
        if self.mechanism is None:
            return compose.public(self.setting.neighbours, label=self.name)
        return compose.in_sequence([Noise(self.mechanism, self.delta).guarantee], label=self.name)

    @property
    def noise_law(self) -> ErrorLaw | None:
        """Law of the noise of a cell; None where it is not on a grid, or is public."""
        if not isinstance(self.mechanism, Geometric):
            return None
        unit = float(self.unit)
        return ErrorLaw(0.0, (float(self.mechanism.scale) * unit,), step=unit)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        (result,) = results
        numbers = noisy(result.vectors, self.mechanism, entropy)
        flat = [number for vector in numbers for number in vector]
        radius = self._radius()
        law = self._error(0)
        values = [_product(number, self.unit) for number in flat]
        laws = [None if law is None else ErrorLaw(value, law.scales, law.normal, law.step) for value in values]
        estimates = self._estimates(flat, radius)
        cells = tuple(
            Cell(label, Reply(estimate), one) for label, estimate, one in zip(self.labels, estimates, laws, strict=True)
        )
        clipped = (CLIPPED,) if self.positive and any(number < radius for number in flat) else ()
        return Answer(
            self.name,
            (*cells, *self._totals(numbers)),
            (*self.caveats, *clipped),
            discrete=self.unit == 1,
            values=self._counted(flat),
        )

    def _counted(self, numbers: Sequence[int]) -> ValueCount | None:
        """The sum of all cells, which are as many independent noises."""
        if not (isinstance(self.query, Rows | Tally) and isinstance(self.mechanism, Geometric)):
            return None
        return ValueCount(float(sum(numbers)), (float(self.mechanism.scale),) * len(numbers))

    def _totals(self, numbers: Sequence[tuple[int, ...]]) -> Iterator[Cell]:
        """The cells of the margins. They have no law of their own in the answer: their noise is that of other cells."""
        for label, places in self.margins:
            several = summed(numbers, places)
            radius = self._radius_of(len(places))
            for (*_, own), estimate in zip(self.labels, self._estimates(several, radius), strict=False):
                inner = (own,) if len(several) > 1 else ()
                yield Cell((*label, *inner), Reply(estimate))

    def _radius_of(self, count: int) -> int:
        """Half-width of the sum of the noises of ``count`` cells, in integers."""
        law = self._error(0)
        if law is None or self.mechanism is None:
            return 0
        return math.ceil(combined((1.0,) * count, (law,) * count, {}).half_width() / float(self.unit) - SLIP)

    def _estimates(self, numbers: Sequence[int], radius: int) -> list[Estimate]:
        unit, noise = self.unit, _product(radius, self.unit)
        ends = (
            not_below_zero(number, radius) if self.positive else (number, number - radius, number + radius)
            for number in numbers
        )
        return [
            Estimate(_product(value, unit), _product(low, unit), _product(high, unit), noise, 0.0)
            for value, low, high in ends
        ]

    def _error(self, number: int) -> ErrorLaw | None:
        """The law of the error of one noisy integer; None for a mechanism whose noises may go together."""
        unit = float(self.unit)
        match self.mechanism:
            case None:
                return ErrorLaw(number * unit)
            case Geometric(scale=scale):
                return ErrorLaw(float(number * self.unit), (float(scale * self.unit),), step=unit)
            case Gaussian(variance=variance):
                return ErrorLaw(float(number * self.unit), normal=float(variance) * unit * unit, step=unit)
            case _:
                return None

    def _radius(self) -> int:
        return 0 if self.mechanism is None else self.mechanism.radius(BETA)

    def _size(self, rows: int) -> float | None:
        """Rows of a group where all are alike; None where there are no groups of expressions."""
        keys = self.setting.keys
        if keys is None or not keys.parts or not isinstance(self.query, Rows):
            return None
        return rows / len(keys.among)

    def crowded(self, people: int) -> str:
        """The words about a product of groups with so little in each that noise is all there is; empty for others.

        As it refuses, it supposes as many rows of a person as there may be, where nobody told them.
        """
        keys, person = self.setting.keys, self.setting.schema.person
        rows = people * person.rows if person.usual_rows is None else values_of(people, person.rows, person)
        size = self._size(rows)
        if keys is None or size is None or len(keys.parts) < 2 or self._radius() <= WIDE * size:
            return ""
        each = f"groups of about {_rows(size)} rows, with a noise of ± {self._radius()}"
        return f"{self.name} has {len(keys.among):,} {each}"

    def expected(self, people: int) -> ExpectedAccuracy:
        """The noise does not depend on the rows: the same for any ``people``."""
        notes = ["public: no noise"] if self.mechanism is None else []
        keys, person = self.setting.keys, self.setting.schema.person
        size = self._size(values_of(people, person.rows, person))
        if keys is not None and size is not None:
            wide = ", fewer than the noise: ask for fewer groups" if size < self._radius() else ""
            notes.append(f"{len(keys.among):,} groups of about {_rows(size)} rows{wide}")
        if self.margins and self.mechanism is not None:
            count = len(self.margins[-1][1])
            whole = float(self._radius_of(count) * self.unit)
            notes.append(f"totals are free, noise ± {rough(whole, 3)} for all {count:,} groups")
        return ExpectedAccuracy(float(self._radius() * self.unit), None, "; ".join(notes), ALWAYS)


def not_below_zero(number: int, radius: int) -> tuple[int, int, int]:
    """A noisy count as it is shown, with its interval, which ends a half-width above what is shown."""
    shown = max(number, 0)
    return shown, max(shown - radius, 0), shown + radius


def _product(number: int, unit: Fraction) -> float:
    """The float nearest to the product, without making a fraction for each cell."""
    return number * unit.numerator / unit.denominator


MIDNIGHT: Final = re.compile("T00:00(:00)?$")  # an edge there is its day
MOST_BINS: Final = 20  # of a round width, in a histogram without edges
EACH: Final = 128  # integers that have a bin each in a histogram without edges: ages, years, points; more are no figure
MOST_PERIODS: Final = 31  # of days, weeks, months, quarters or years, in a histogram of dates without edges
SPANS: Final = (  # a period, its days, and the years of which a first one is a multiple
    ("day", 1, 1),
    ("week", 7, 1),
    ("month", 31, 1),
    ("quarter", 92, 1),
    *(("year", 366 * years, years) for years in (1, 2, 5, 10, 20, 50, 100, 1000)),
)


def count(asked: Count | Persons, query: Rows | PersonsQuery, setting: Setting, epsilon: Fraction) -> CountStep:
    """The step of a number of rows or of persons.

    Parameters
    ----------
    asked : Count or Persons
        The question.
    query : Rows or PersonsQuery
        Query of its integers.
    setting : Setting
        Public circumstances of the release.
    epsilon : Fraction
        Loss of the step.

    Returns
    -------
    CountStep
        Step with its guarantee.
    """
    word = asked.mechanism if isinstance(asked, Count) else GEOMETRIC
    made = noise(word, asked.name, query, setting, epsilon, public_facts.groups(setting))
    caveats: tuple[str, ...] = ()
    person = setting.schema.person
    if isinstance(query, Rows) and person.column is not None:
        caveats = (public_facts.at_most(person),)
    return CountStep(
        public_facts.title(asked, setting),
        query,
        made.mechanism,
        setting,
        Fraction(1),
        public_facts.labels(setting.keys),
        True,
        caveats,
        delta=made.delta,
    )


def total(asked: Sum, setting: Setting, epsilon: Fraction) -> CountStep:
    """The step that answers the question.

    Parameters
    ----------
    asked : Sum
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    CountStep
    """
    low, high = public_facts.bounds(asked.name, setting, asked.column, asked.low, asked.high)
    whole = isinstance(setting.schema.column(asked.column), Integer)  # then noisy sums are integers, as sums are
    grid = grid_whole(low, high) if whole else grid_by_size(low, high)
    query = Total(asked.column, grid, setting.keys, "kept" if sums_of_kept(setting) else "all")
    made = noise(asked.mechanism, asked.name, query, setting, epsilon, public_facts.groups(setting))
    caveats = public_facts.caveats_of(asked.column, (low, high), setting, "person")
    return CountStep(
        public_facts.title(asked, setting),
        query,
        made.mechanism,
        setting,
        grid.unit,
        public_facts.labels(setting.keys),
        grid.lowest >= 0,
        tuple(caveats),
        delta=made.delta,
    )


def histogram(asked: Histogram, setting: Setting, epsilon: Fraction) -> CountStep:
    """The step that answers the question.

    Parameters
    ----------
    asked : Histogram
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    CountStep
    """
    query, bins = binned(asked, setting)
    made = noise(asked.mechanism, asked.name, query, setting, epsilon, len(bins) * public_facts.groups(setting))
    return CountStep(
        public_facts.title(asked, setting),
        query,
        made.mechanism,
        setting,
        Fraction(1),
        public_facts.labels(setting.keys, bins),
        True,
        of_bins(asked, query, setting),
        delta=made.delta,
    )


def even_edges(column: Real | Integer) -> tuple[Fraction, ...]:
    """Edges between the bounds of a column, of 8 to 20 bins of a round width, or of whole periods; else none."""
    if column.low is None or column.high is None:
        return ()
    if isinstance(column, Integer) and column.calendar is not None:
        return _even_periods(int(column.low), int(column.high), column.calendar.step)
    low, high = Fraction(column.low), Fraction(column.high)
    power = Fraction(10) ** (math.floor(math.log10((high - low) / MOST_BINS)))
    width = next(power * times for times in (1, 2, 5, 10) if power * times * MOST_BINS >= high - low)
    if isinstance(column, Integer):
        width = max(width, Fraction(1))
    inner = (width * place for place in range(math.floor(low / width) + 1, math.ceil(high / width)))
    return (low, *inner, high)


def _even_periods(low: int, high: int, step: int) -> tuple[Fraction, ...]:
    """Edges at the first days of the finest periods, or round numbers of years, that are at most 31 bins."""
    for period, days, years in SPANS:
        if (high - low) * step > (MOST_PERIODS + 1) * days * DAY:
            continue
        starts = (day * DAY // step for day in firsts(low, high, step, period))
        inner = [place for place in starts if low < place < high and moment(place, step).year % years == 0]
        if len(inner) < MOST_PERIODS:
            return tuple(map(Fraction, (low, *inner, high))) if inner else ()
    return ()


def binned(asked: Histogram, setting: Setting) -> tuple[Tally, tuple[Label, ...]]:
    """The bins of a histogram and their labels.

    Raises
    ------
    QuestionError
        Edges of a category; a number without edges that has too many values.
    """
    declared = setting.schema.column(asked.column)
    match declared:
        case Category(among=among):
            if asked.edges:
                raise QuestionError(
                    f"{asked.column} is a category: a histogram of it has no edges. Nothing was charged."
                )
            query = Tally(asked.column, among=among, keys=setting.keys)
            bins: tuple[Label, ...] = tuple(((asked.column, key),) for key in among)
        case Integer(low=int() as low, high=int() as high) if _of_values(asked, declared):
            values = declared.among or range(low, high + 1)
            query = Tally(asked.column, edges=tuple(map(Fraction, (*values, high + 1))), keys=setting.keys)
            bins = tuple(((asked.column, _key(value, declared)),) for value in values)
        case Real() | Integer():
            edges = asked.edges or even_edges(declared)
            if not edges:
                raise QuestionError(
                    f"histogram({asked.column}) needs edges known without looking at the file: "
                    f"histogram({asked.column}, edges=0:50:5). Numbers with bounds need none. "
                    "Nothing was charged."
                )
            query = Tally(asked.column, edges=edges, keys=setting.keys)
            bins = tuple((("bin", text),) for text in _intervals(edges, declared))
        case _:
            assert_never(declared)
    return query, bins


def of_bins(asked: Histogram, query: Tally, setting: Setting) -> tuple[str, ...]:
    """The caveats of bins: where values outside count, and the cap.

    Parameters
    ----------
    asked : Histogram
        The histogram.
    query : Tally
        Counts of its bins, with their edges.
    setting : Setting
        Public circumstances of the release.

    Returns
    -------
    tuple of str
        Sentences without their stop.
    """
    caveats = []
    if query.edges:
        declared = setting.schema.column(asked.column)
        last = query.edges[-1] - _of_values(asked, declared)
        ends = f"[{value_words(query.edges[0], declared)}, {value_words(last, declared)}]"
        caveats.append(f"values of {asked.column} outside {ends} count in the nearer end bin")
    if setting.schema.person.column is not None:
        caveats.append(public_facts.at_most(setting.schema.person))
    return tuple(caveats)


def _key(value: int, declared: Integer) -> Key:
    """An integer as the key of its bin; a day as its date."""
    return value if declared.calendar is None else value_words(value, declared)


def _of_values(asked: Histogram, declared: Column) -> bool:
    """Tell if a histogram has a bin for each value: of integers whose bounds allow few, where no edges are named."""
    if asked.edges or not isinstance(declared, Integer) or declared.low is None or declared.high is None:
        return False
    values = len(declared.among) or declared.high - declared.low + 1
    return values <= (EACH if declared.calendar is None else MOST_PERIODS)


def _rows(size: float) -> str:
    """A number of rows to two digits, written out."""
    return f"{two_digits(round(size)):,}" if size >= 10 else f"{size:.2g}"


def _intervals(edges: tuple[Fraction, ...], declared: Column) -> list[str]:
    words, last = [MIDNIGHT.sub("", value_words(edge, declared)) for edge in edges], len(edges) - 2
    return [f"[{words[i]}, {words[i + 1]}{']' if i == last else ')'}" for i in range(last + 1)]


# --- noise ------------------------------------------------------------------------------------------------------------


def noise(word: str, name: str, query: Query, setting: Setting, epsilon: Fraction, size: int) -> Noise:
    """The noise of the ``size`` integers of a query for ``epsilon``, by the mechanism ``word`` of question ``name``.

    Parameters
    ----------
    word : str
        Name of the mechanism.
    name : str
        The question, for the message.
    query : Query
    setting : Setting
    epsilon : Fraction
        Price of the question.
    size : int
        Number of integers.

    Returns
    -------
    Noise

    Raises
    ------
    QuestionError
        No mechanism of that name fits integers here; the currency cannot charge it.
    """
    bound = public_facts.stability_of(query, setting)
    theirs = dict(setting.noises)
    known = (*OURS, "gaussian", *theirs)
    if word not in known:
        raise QuestionError(f"{unknown('mechanism', word, known)} One of your own comes with its module.")
    if bound == 0:
        return Noise(None)
    if word == "gaussian":
        return _gaussian(name, query, setting, epsilon)
    return Noise(_made({**OURS, **theirs}[word], name, L1(bound, setting.neighbours), epsilon, size))


def _gaussian(name: str, query: Query, setting: Setting, epsilon: Fraction) -> Noise:
    moved = L2(squared_stability(query, setting.schema.person), setting.neighbours)
    if setting.currency == "zcdp":
        if setting.delta is not None:
            raise QuestionError(f"{name} is charged in ρ, and spends no δ there: leave its delta out.")
        return Noise(Gaussian(moved, epsilon**2 / 2))
    if setting.delta is None:
        raise QuestionError(
            f"{name} has no pure ε: Gaussian noise needs a δ, such as delta=1e-9, or a release in ρ. Nothing was "
            "charged."
        )
    return Noise(Gaussian(moved, rho_within(epsilon, setting.delta)), setting.delta)


def _made(make: OnIntegers, name: str, moved: L1, epsilon: Fraction, size: int) -> IntegerNoise:
    """The mechanism of a maker, if it is one for these neighbours and costs no more than it may."""
    made = make(moved, epsilon, size)
    loss, near = made.guarantee.loss, made.guarantee.adjacency
    if not isinstance(loss, PureDP) or loss.epsilon > epsilon or near != moved.adjacency:
        raise QuestionError(
            f"{name}: its mechanism was asked for {words(PureDP(epsilon))} and states another guarantee."
        )
    return made
