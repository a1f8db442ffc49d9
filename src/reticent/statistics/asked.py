"""What a person asks for: one frozen value per statistic, public parameters only.

    mean("mdvis")    quantile("x", 0.9)    histogram("mdvis", edges=range(0, 51, 5))    iqr("x", low=0, high=60)

``epsilon`` is a share of the question's own. ``low`` and ``high`` are bounds for this question alone, before those of
the schema. ``interval=False`` spends the whole share on the value; the interval then covers the noise alone.
The name of a question is the text ``ask.parse`` reads back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeAlias, get_args

from reticent.data.query import Per
from reticent.data.schema import Key
from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy.numbers import Number, positive, read, show

FINEST_LEVEL: Final = 10**6  # denominators of levels: scores are multiples of them and must fit 64 bits
MOST_BINS: Final = 1 << 20


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
    """The mean of a bounded column."""

    column: str
    _: KW_ONLY
    per: Per = "row"
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None
    interval: bool = True

    def __post_init__(self) -> None:
        _check(self.epsilon, self.low, self.high, self.per)

    @property
    def name(self) -> str:
        return _name("mean", self.column, *_bounds(self.low, self.high), *_manner(self.per, self.interval))

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
    per: Per = "row"
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None
    interval: bool = True

    def __post_init__(self) -> None:
        _check(self.epsilon, self.low, self.high, self.per)
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
        rest = (*_bounds(self.low, self.high), *_manner(self.per, self.interval))
        return _name(self.verb, self.column, *levels, *rest)

    @property
    def counts_rows(self) -> bool:
        return self.per == "row"


@dataclass(frozen=True, slots=True)
class Iqr:
    """The distance of the quartiles of a column."""

    column: str
    _: KW_ONLY
    per: Per = "row"
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None
    interval: bool = True

    def __post_init__(self) -> None:
        _check(self.epsilon, self.low, self.high, self.per)

    @property
    def name(self) -> str:
        return _name("iqr", self.column, *_bounds(self.low, self.high), *_manner(self.per, self.interval))

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


Statistic: TypeAlias = Count | People | Sum | Mean | Proportion | Variance | Histogram | Quantiles | Iqr | CapShare


def _check(
    epsilon: Fraction | None, low: Fraction | None = None, high: Fraction | None = None, per: Per = "row"
) -> None:
    if epsilon is not None:
        positive(epsilon, "epsilon")
    if (low is None) != (high is None):
        raise PublicParameterError("low and high come together: give both, or neither")
    if low is not None and high is not None and not low < high:
        raise PublicParameterError(f"low must be below high, got {show(low)} and {show(high)}")
    if per not in get_args(Per):
        raise PublicParameterError(f'per is "row" or "person", got {per!r}')


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


def _read(number: Number | None, name: str) -> Fraction | None:
    return None if number is None else read(number, name)


def count(*, epsilon: Number | None = None) -> Count:
    """The number of rows, at most the cap for each person.

    Parameters
    ----------
    epsilon : number, optional
        A share of its own; without it, an equal part of what the release has left.

    Returns
    -------
    Count
        A question; ``study.release([count()], epsilon=…)`` answers it. It always replies.
    """
    return Count(epsilon=_read(epsilon, "epsilon"))


def persons(*, epsilon: Number | None = None) -> People:
    """The number of distinct persons."""
    return People(epsilon=_read(epsilon, "epsilon"))


def sum(  # noqa: A001 - the public word; used as reticent.sum
    column: str,
    *,
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
) -> Sum:
    """The sum of a bounded column over persons; values outside the bounds count as the nearer one."""
    return Sum(column, low=_read(low, "low"), high=_read(high, "high"), epsilon=_read(epsilon, "epsilon"))


def mean(
    column: str,
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
) -> Mean:
    """The mean of a bounded column with its 95 % interval.

    Parameters
    ----------
    column : str
    per : "row" or "person"
        "person" averages the rows of each person first, so that every person weighs the same.
    low, high : number, optional
        Bounds for this question, known without the file; by default those of the study.
    epsilon : number, optional
        A share of its own.
    interval : bool
        False spends everything on the value; the interval then covers the noise alone.

    Returns
    -------
    Mean
        A question. It gives no reply where the noisy number of values is too small for a mean.
    """
    return Mean(
        column,
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
    )


def proportion(column: str, *, value: Key | None = None, epsilon: Number | None = None) -> Proportion:
    """The share of ``value`` in a category; by default of True, 1 or "yes", where the category has one of them."""
    return Proportion(column, value=value, epsilon=_read(epsilon, "epsilon"))


def variance(
    column: str,
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
) -> Variance:
    """The variance of a bounded column with its 95 % interval."""
    return Variance(
        column,
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
    )


def sd(
    column: str,
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
) -> Variance:
    """The standard deviation of a bounded column with its 95 % interval."""
    return Variance(
        column,
        root=True,
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
    )


def histogram(column: str, *, edges: Iterable[Number] = (), epsilon: Number | None = None) -> Histogram:
    """Counts between ``edges`` (each bin with its left edge, the last with both), or by the values of a category."""
    if not isinstance(edges, Iterable) or isinstance(edges, str):
        raise QuestionError("edges is a list of numbers known without looking at the file, such as range(0, 101, 10)")
    return Histogram(column, edges=tuple(read(edge, "edges") for edge in edges), epsilon=_read(epsilon, "epsilon"))


def median(
    column: str,
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
) -> Quantiles:
    """The median, with bounds or without; it may give no reply."""
    return Quantiles(
        column,
        (Fraction(1, 2),),
        verb="median",
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
    )


def quantile(
    column: str,
    level: Number,
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
) -> Quantiles:
    """The value that a share ``level`` of the rows does not exceed, 0 < level < 1."""
    return Quantiles(
        column,
        (read(level, "level"),),
        verb="quantile",
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
    )


def quantiles(
    column: str,
    levels: Sequence[Number],
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
) -> Quantiles:
    """Several quantiles of one column, sharing one epsilon equally."""
    if isinstance(levels, str):
        raise QuestionError('levels is a list of numbers, such as ["0.1", "0.5", "0.9"]')
    chosen = tuple(read(level, "levels") for level in levels)
    return Quantiles(
        column,
        chosen,
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
    )


def iqr(
    column: str,
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
) -> Iqr:
    """The distance between the quartiles, with bounds or without; it may give no reply."""
    return Iqr(
        column,
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
    )
