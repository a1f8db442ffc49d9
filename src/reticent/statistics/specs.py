"""What a person asks for: one frozen value per statistic, public parameters only.

    mean("mdvis")    quantile("x", 0.9)    histogram("mdvis", edges=range(0, 51, 5))    iqr("x", low=0, high=60)

``epsilon`` is a share of the question's own. ``low`` and ``high`` are bounds for this question alone, before those of
the schema. ``interval=False`` spends the whole share on the value; the interval then covers the noise alone.
``method`` names an algorithm; "auto" lets ``prepare`` choose by public circumstances, and the answer says which.
The name of a question is the text ``grammar.parse`` reads back. ``questions`` has the functions people call.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, Literal, TypeAlias, get_args

from reticent.data.query import Per
from reticent.data.schema import Key
from reticent.errors import PublicParameterError
from reticent.privacy.numbers import positive, show
from reticent.statistics.density import DensityOf
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.limits import check_limits
from reticent.statistics.logarithms import LogMean
from reticent.statistics.unbounded.tails import Tail, check_tail

FINEST_LEVEL: Final = 10**6  # denominators of levels: scores are multiples of them and must fit 64 bits
MOST_BINS: Final = 1 << 20
QUARTILES: Final = (Fraction(1, 4), Fraction(3, 4))

Mode: TypeAlias = Literal["exact", "paper"]
OfMean: TypeAlias = Literal["auto", "bounded", "clipped", "coinpress"]
OfQuantiles: TypeAlias = Literal["auto", "separate", "joint", "M", "smooth"]
OfIqr: TypeAlias = Literal["auto", "separate", "joint", "S"]
OfScale: TypeAlias = Literal["S", "stable"]
OfTrimmed: TypeAlias = Literal["auto", "inverse", "TM", "smooth"]
OfRegression: TypeAlias = Literal[
    "auto", "least_squares", "R_S", "R_H", "theil_sen", "block_medians", "tukey", "adassp", "over_beta"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """Options of a question that is answered by propose-test-release, or needs a delta for another reason.

    Attributes
    ----------
    mode : "exact" or "paper"
        "paper" has the thresholds and splits that 003 prints, with the loss and delta they really have.
    delta : Fraction or None
        A share of the question's own; without it, an equal part of what the release offers.
    unit : Fraction or None
        Public step of the grid on which values are read; None for that of the column.
    width : Fraction or None
        For M with a given scale: the width proposed, in units of the column.
    """

    mode: Mode = "exact"
    delta: Fraction | None = None
    unit: Fraction | None = None
    width: Fraction | None = None

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise PublicParameterError(f'mode is "exact" or "paper", got {self.mode!r}')
        for name, number in (("delta", self.delta), ("unit", self.unit), ("width", self.width)):
            if number is not None:
                positive(number, name)
        if self.delta is not None and self.delta >= 1:
            raise PublicParameterError(f"delta must be below 1, got {show(self.delta)}")

    @property
    def words(self) -> tuple[str, ...]:
        """The options that belong to a question's name."""
        return (
            *(() if self.mode == "exact" else (f"mode={self.mode}",)),
            *(() if self.unit is None else (f"unit={show(self.unit)}",)),
            *(() if self.width is None else (f"width={show(self.width)}",)),
        )


PLAIN: Final = Tested()


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The number of rows, at most the cap for each person."""

    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        _check(self.epsilon)

    @property
    def name(self) -> str:
        return "count"

    @property
    def counts_rows(self) -> bool:
        """Whether a cap on rows per person can change what is estimated."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The number of distinct persons."""

    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        _check(self.epsilon)

    @property
    def name(self) -> str:
        return "persons"

    @property
    def counts_rows(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a bounded column over persons, each person's total clamped to what the cap allows."""

    column: str
    _: KW_ONLY
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        _check(self.epsilon, self.low, self.high)

    @property
    def name(self) -> str:
        return _name("sum", self.column, *_bounds(self.low, self.high))

    @property
    def counts_rows(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a column, with bounds or without.

    For the clipped mean ``tail`` is what is declared of its tails, so that the mean of all values can be meant.
    For CoinPress ``around`` is what is known without the file: centre and radius of a range that holds the mean, and a
    bound of the standard deviation; ``delta`` a share of the question's own.
    """

    column: str
    _: KW_ONLY
    method: OfMean = "auto"
    tail: Tail | None = None
    around: tuple[Fraction, Fraction, Fraction] | None = None
    delta: Fraction | None = None
    per: Per = "row"
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None
    interval: bool = True

    def __post_init__(self) -> None:
        _check(self.epsilon, self.low, self.high, self.per)
        _one_of(self.method, OfMean)
        if self.method != "coinpress" and (self.around is not None or self.delta is not None):
            raise PublicParameterError("centre, radius, deviation and delta of a mean are for method=coinpress")
        if self.method != "clipped" and self.tail is not None:
            raise PublicParameterError("tail is for a mean with method=clipped")
        check_tail(self.tail)
        if self.around is not None:
            positive(self.around[1], "radius")
            positive(self.around[2], "deviation")
        Tested(delta=self.delta)

    @property
    def name(self) -> str:
        words = ("centre", "radius", "deviation")
        known = [f"{word}={show(x)}" for word, x in zip(words, self.around or (), strict=False)]
        rest = (*_bounds(self.low, self.high), *_manner(self.per, self.interval))
        tail = () if self.tail is None else (f"tail={'normal' if self.tail == 'normal' else show(self.tail)}",)
        return _name("mean", self.column, *_method(self.method), *tail, *known, *rest)

    @property
    def counts_rows(self) -> bool:
        return self.per == "row"


@dataclass(frozen=True, slots=True)
class Proportion:
    """The share of one value of a category among the rows where it is not missing."""

    column: str
    _: KW_ONLY
    value: Key | None = None
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        _check(self.epsilon)

    @property
    def name(self) -> str:
        return _name("proportion", self.column, *([] if self.value is None else [f"value={self.value}"]))

    @property
    def counts_rows(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of a bounded column; the standard deviation where ``root``."""

    column: str
    _: KW_ONLY
    root: bool = False
    per: Per = "row"
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None
    interval: bool = True

    def __post_init__(self) -> None:
        _check(self.epsilon, self.low, self.high, self.per)

    @property
    def name(self) -> str:
        verb = "sd" if self.root else "variance"
        return _name(verb, self.column, *_bounds(self.low, self.high), *_manner(self.per, self.interval))

    @property
    def counts_rows(self) -> bool:
        return self.per == "row"


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts by bin: between ``edges``, or by the values of a category."""

    column: str
    _: KW_ONLY
    edges: tuple[Fraction, ...] = ()
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        _check(self.epsilon)
        pairs = pairwise(self.edges)
        if len(self.edges) == 1 or any(left >= right for left, right in pairs):
            raise PublicParameterError("edges must be at least two numbers in increasing order")
        if len(self.edges) > MOST_BINS:
            raise PublicParameterError(f"a histogram has at most {MOST_BINS} bins")

    @property
    def name(self) -> str:
        return _name("histogram", self.column, *([f"edges={_edges(self.edges)}"] if self.edges else []))

    @property
    def counts_rows(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Quantiles:
    """One or more quantiles of a column; ``verb`` is the word it was asked with."""

    column: str
    levels: tuple[Fraction, ...]
    _: KW_ONLY
    verb: str = "quantiles"
    method: OfQuantiles = "auto"
    per: Per = "row"
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None
    interval: bool = True
    tested: Tested = PLAIN

    def __post_init__(self) -> None:
        _check(self.epsilon, self.low, self.high, self.per)
        _one_of(self.method, OfQuantiles)
        if not self.levels:
            raise PublicParameterError("quantiles need at least one level")
        for level in self.levels:
            if not 0 < level < 1:
                raise PublicParameterError(f"a level must lie between 0 and 1, got {show(level)}")
            if level.denominator > FINEST_LEVEL:
                raise PublicParameterError(f"a level has at most 6 decimals, got {show(level)}")
        if len(set(self.levels)) != len(self.levels):
            raise PublicParameterError("levels name one level twice")

    @property
    def name(self) -> str:
        levels = [] if self.verb == "median" else [" ".join(show(level) for level in self.levels)]
        rest = (*_bounds(self.low, self.high), *_manner(self.per, self.interval), *self.tested.words)
        return _name(self.verb, self.column, *levels, *_method(self.method), *rest)

    @property
    def counts_rows(self) -> bool:
        return self.per == "row"


@dataclass(frozen=True, slots=True)
class Iqr:
    """The distance of the quartiles of a column."""

    column: str
    _: KW_ONLY
    method: OfIqr = "auto"
    per: Per = "row"
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None
    interval: bool = True
    tested: Tested = PLAIN

    def __post_init__(self) -> None:
        _check(self.epsilon, self.low, self.high, self.per)
        _one_of(self.method, OfIqr)

    @property
    def name(self) -> str:
        rest = (*_bounds(self.low, self.high), *_manner(self.per, self.interval), *self.tested.words)
        return _name("iqr", self.column, *_method(self.method), *rest)

    @property
    def counts_rows(self) -> bool:
        return self.per == "row"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapShare:
    """The share of persons with more rows than the cap: how far the cap can have changed what is estimated."""

    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        _check(self.epsilon)

    @property
    def name(self) -> str:
        return "capped"

    @property
    def counts_rows(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class IncompleteShare:
    """The share of rows with a cell of ``columns`` that is missing, cannot be read, or is not listed."""

    columns: tuple[str, ...]
    _: KW_ONLY
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        _check(self.epsilon)
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise PublicParameterError("incomplete is of one column or more, each named once")

    @property
    def name(self) -> str:
        return _name("incomplete", *self.columns)

    @property
    def counts_rows(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Scale:
    """S of 003: the distance of two quantiles, on a logarithmic scale; the bin that holds it for method "stable"."""

    column: str
    _: KW_ONLY
    levels: tuple[Fraction, Fraction] = QUARTILES
    method: OfScale = "S"
    per: Per = "row"
    epsilon: Fraction | None = None
    tested: Tested = PLAIN

    def __post_init__(self) -> None:
        _check(self.epsilon, per=self.per)
        _one_of(self.method, OfScale)
        low, high = self.levels
        if not 0 < low < high < 1:
            raise PublicParameterError("the levels of a scale rise and lie between 0 and 1")

    @property
    def name(self) -> str:
        levels = [] if self.levels == QUARTILES else [" ".join(show(level) for level in self.levels)]
        method = () if self.method == "S" else (f"method={self.method}",)
        return _name("scale", self.column, *levels, *method, *_manner(self.per, True), *self.tested.words)

    @property
    def counts_rows(self) -> bool:
        return self.per == "row"


@dataclass(frozen=True, slots=True)
class TrimmedMean:
    """The mean without a share ``trim`` of the values at either end."""

    column: str
    trim: Fraction = Fraction(1, 10)
    _: KW_ONLY
    method: OfTrimmed = "auto"
    per: Per = "row"
    epsilon: Fraction | None = None
    tested: Tested = PLAIN

    def __post_init__(self) -> None:
        _check(self.epsilon, per=self.per)
        _one_of(self.method, OfTrimmed)
        if not 0 < self.trim < Fraction(1, 2):
            raise PublicParameterError(f"trim is a share at either end, between 0 and 1/2, got {show(self.trim)}")

    @property
    def name(self) -> str:
        share = [] if self.trim == Fraction(1, 10) else [f"trim={show(self.trim)}"]
        rest = (*_method(self.method), *_manner(self.per, True), *self.tested.words)
        return _name("trimmed_mean", self.column, *share, *rest)

    @property
    def counts_rows(self) -> bool:
        return self.per == "row"


@dataclass(frozen=True, slots=True)
class Location:
    """Huber's location: the centre whose bent residuals balance; ``bend`` in units of half the quartile distance."""

    column: str
    bend: Fraction = Fraction(2)
    _: KW_ONLY
    per: Per = "row"
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        _check(self.epsilon, per=self.per)
        if not Fraction(1, 8) <= self.bend <= 8:
            raise PublicParameterError(f"bend is between 1/8 and 8, got {show(self.bend)}")

    @property
    def name(self) -> str:
        bend = [] if self.bend == 2 else [f"bend={show(self.bend)}"]
        return _name("location", self.column, *bend, *_manner(self.per, True))

    @property
    def counts_rows(self) -> bool:
        return self.per == "row"


@dataclass(frozen=True, slots=True)
class Regression:
    """Coefficients of a linear model of ``y`` on the columns ``on``, with an intercept unless it is left out.

    ``blocks`` is the public number of blocks of R_S, R_H and the block medians; None for one made for n.
    ``reference`` names keys of categories on the right that have no coefficient of their own, in place of their first.
    """

    y: str
    on: tuple[str, ...]
    _: KW_ONLY
    method: OfRegression = "auto"
    intercept: bool = True
    blocks: int | None = None
    reference: tuple[Key, ...] = ()
    epsilon: Fraction | None = None
    tested: Tested = PLAIN

    def __post_init__(self) -> None:
        _check(self.epsilon)
        _one_of(self.method, OfRegression)
        if not self.on or len({self.y, *self.on}) != 1 + len(self.on):
            raise PublicParameterError("a regression has one column left of ~, and others on its right, each once")
        if self.blocks is not None and self.blocks < 1:
            raise PublicParameterError(f"blocks must be >= 1, got {self.blocks}")

    @property
    def formula(self) -> str:
        return f"{self.y} ~ {' + '.join([*([] if self.intercept else ['0']), *self.on])}"

    @property
    def name(self) -> str:
        blocks = () if self.blocks is None else (f"blocks={self.blocks}",)
        keys = (f"reference={' '.join(str(key) for key in self.reference)}",) if self.reference else ()
        return _name("regress", self.formula, *_method(self.method), *blocks, *keys, *self.tested.words)

    @property
    def counts_rows(self) -> bool:
        return True


Robust: TypeAlias = Scale | TrimmedMean | Location | Regression
Simple: TypeAlias = (
    Count
    | People
    | Sum
    | Mean
    | Proportion
    | Variance
    | Histogram
    | Quantiles
    | Iqr
    | CapShare
    | IncompleteShare
    | LogMean
)
Statistic: TypeAlias = Simple | Robust | DensityOf | HypothesisTest


def robust_regression(columns: int, *, intercept: bool, delta: bool) -> Literal["R_H", "theil_sen", "tukey"]:
    """The method that "robust" means for so many columns: few rows cannot move it, and it needs no bounds."""
    if delta:
        return "R_H"
    return "theil_sen" if columns == 1 and intercept else "tukey"


def delta_of(asked: Statistic) -> Tested | None:
    """The options of a question that spends a delta, or None where it is answered with delta 0."""
    match asked:
        case Mean(method="coinpress"):
            return Tested(delta=asked.delta)
        case DensityOf(delta=Fraction()):
            return Tested(delta=asked.delta)
        case Quantiles(method="M") | Iqr(method="S") | Scale() | TrimmedMean(method="TM"):
            return asked.tested
        case Regression(method="R_S" | "R_H"):
            return asked.tested
        case Regression(method="auto" | "least_squares" | "adassp", tested=Tested(delta=Fraction())):
            return asked.tested
        case _:
            return None


def _check(
    epsilon: Fraction | None, low: Fraction | None = None, high: Fraction | None = None, per: Per = "row"
) -> None:
    check_limits(epsilon, low, high)
    if per not in get_args(Per):
        raise PublicParameterError(f'per is "row" or "person", got {per!r}')


def _one_of(method: str, known: object) -> None:
    if method not in get_args(known):
        raise PublicParameterError(f"there is no method {method!r} here: {', '.join(get_args(known))}")


def _method(method: str) -> tuple[str, ...]:
    return () if method == "auto" else (f"method={method}",)


def _name(verb: str, *arguments: str) -> str:
    return f"{verb}({', '.join(arguments)})"


def _bounds(low: Fraction | None, high: Fraction | None) -> tuple[str, ...]:
    return () if low is None or high is None else (f"low={show(low)}", f"high={show(high)}")


def _manner(per: Per, interval: bool) -> tuple[str, ...]:
    return (*(("per=person",) if per == "person" else ()), *(() if interval else ("interval=no",)))


def _edges(edges: tuple[Fraction, ...]) -> str:
    steps = {right - left for left, right in pairwise(edges)}
    if len(steps) == 1 and len(edges) > 2:
        return f"{show(edges[0])}:{show(edges[-1])}:{show(steps.pop())}"
    return " ".join(show(edge) for edge in edges)
