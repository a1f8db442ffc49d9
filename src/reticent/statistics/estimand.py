"""Estimands: the quantity of a population or table that each answer estimates, in plain words.

    estimand(asked, setting)   for every statistic, from public facts alone

A step whose method estimates another quantity, or one that is known only after a draw, names it itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, assert_never

from reticent.data.query import Per
from reticent.data.schema import Category, Person, Schema
from reticent.privacy.numbers import show
from reticent.statistics.context import Setting
from reticent.statistics.density import DensityOf
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.logarithms import LogMean
from reticent.statistics.specs import (
    CapShare,
    Count,
    Histogram,
    IncompleteShare,
    Iqr,
    Location,
    Mean,
    People,
    Proportion,
    Quantiles,
    Regression,
    Scale,
    Statistic,
    Sum,
    TrimmedMean,
    Variance,
)
from reticent.statistics.unbounded.tails import declared, near

DETAIL: Final[Mapping[str, str]] = {
    "auto": ", smoothed",
    "histogram": ", by the shares of its cells",
    "sparse": ", by the shares of its cells",
    "adaptive": ", by the shares of its cells",
    "tree": ", by the shares of its cells",
    "ks": ", by a small table near it",
    "series": ", by its lowest frequencies",
    "kernel": ", smoothed",
    "bernstein": ", smoothed",
}


def estimand(asked: Statistic, setting: Setting) -> str:
    """The quantity that ``asked`` estimates, of the population or this table, with bounds, caps and groups in words."""
    return f"{_of_one(asked, setting)}{among_groups(setting)}"


def _of_one(asked: Statistic, setting: Setting) -> str:
    """Of one group."""
    person = setting.schema.person
    match asked:
        case Count():
            return f"number of rows of this table{_capped(person)}"
        case People():
            return "number of persons in this table"
        case CapShare():
            return "share of persons of this table with more rows than are kept"
        case IncompleteShare(columns=columns):
            return f"share of rows of this table with {odd_cells(columns, setting.schema)}{_capped(person)}"
        case Sum(column=column, low=low, high=high):
            return f"sum of {column} over this table{_cut(column, low, high, setting)}{_capped(person)}"
        case Mean(column=column, low=low, high=high, per=per):
            if asked.method in ("auto", "bounded"):
                return f"population mean of {subject(column, per)}{_cut(column, low, high, setting)}{kept(per, person)}"
            return f"{_unbounded(asked)}{kept(per, person)}"
        case LogMean(column=column, per=per, verb=verb):
            word = "geometric mean" if verb == "geometric_mean" else "mean of the natural logarithms"
            return f"population {word} of {subject(column, per)} above 0{kept(per, person)}"
        case Variance(column=column, low=low, high=high, per=per):
            word = "standard deviation" if asked.root else "variance"
            return f"population {word} of {subject(column, per)}{_cut(column, low, high, setting)}{kept(per, person)}"
        case Proportion(column=column, value=value):
            which = "" if value is None else f" = {value}"
            return f"population share of {column}{which} among readable values{kept('row', person)}"
        case Histogram(column=column):
            return f"number of rows of this table in each bin of {column}{_capped(person)}"
        case Quantiles(column=column, per=per, levels=levels, low=low, high=high):
            told = f"population {_levels(levels)} of {subject(column, per)}{_gap(asked)}"
            return f"{told}{_cut(column, low, high, setting)}{kept(per, person)}"
        case Iqr(column=column, per=per, low=low, high=high):
            told = f"distance of the population quartiles of {subject(column, per)}{_gap(asked)}"
            return f"{told}{_cut(column, low, high, setting)}{kept(per, person)}"
        case Scale(column=column, per=per, levels=(low, high)):
            told = f"distance of the population quantiles {show(low)} and {show(high)} of {subject(column, per)}"
            return f"{'public interval that holds the ' if asked.method == 'stable' else ''}{told}{kept(per, person)}"
        case TrimmedMean(column=column, per=per, trim=trim):
            ends = f"its quantiles {show(trim)} and {show(1 - trim)}"
            within = _cut(column, None, None, setting).replace("values cut to", "if that lies within", 1)
            reads = within if asked.method == "TM" else ""  # the others move values to bounds
            return f"population mean of {subject(column, per)} between {ends}{reads}{kept(per, person)}"
        case Location(column=column, per=per):
            told = f"Huber's location of {subject(column, per)} in the population, at a scale that is released with it"
            return f"{told}{kept(per, person)}"
        case Regression():
            return f"coefficients of {asked.formula} in the population{kept('row', person)}"
        case DensityOf(columns=columns):
            return f"population law of {', '.join(columns)}{DETAIL[asked.method]}{kept('row', person)}"
        case HypothesisTest(kind="density", column=column):
            return f"rows of this table to change until another verdict on the density of {column} is right"
        case HypothesisTest():
            return f"effect in {asked.formula} in the population"
        case _:
            assert_never(asked)


def among_groups(setting: Setting) -> str:
    """The part of an estimand that says that each group has its own."""
    return "" if setting.keys is None else f", in each group of {setting.keys.column}"


def _levels(levels: tuple[Fraction, ...]) -> str:
    """The words for quantiles at these levels."""
    if levels == (Fraction(1, 2),):
        return "median"
    listed = [show(level) for level in levels]
    return f"quantile {listed[0]}" if len(listed) == 1 else f"quantiles {', '.join(listed[:-1])} and {listed[-1]}"


def _gap(asked: Quantiles | Iqr) -> str:
    """What counts as a quantile where next to no values lie around it; propose-test-release gives no reply there."""
    return "" if asked.method in ("M", "S", "smooth") else " (any of them where there are several)"


def _unbounded(asked: Mean) -> str:
    """Of a mean without bounds, before its ends are released."""
    values = subject(asked.column, asked.per)
    if asked.tail is not None:
        return f"population mean of {values}, {declared(asked.tail)}"
    if asked.method == "coinpress" and asked.around is not None:
        return f"population mean of {values}, {near(*asked.around)}"
    return f"mean of {values} cut to ends that are released with it, in the population"


def subject(column: str, per: Per) -> str:
    """The values that a statistic of a column is about."""
    return f"each person's mean of {column}" if per == "person" else column


def _cut(column: str, low: Fraction | None, high: Fraction | None, setting: Setting) -> str:
    """The bounds that values are cut to, if any are named or declared."""
    declared = setting.schema.column(column)
    if low is None or high is None:
        if isinstance(declared, Category) or declared.low is None or declared.high is None:
            return ""
        low, high = Fraction(declared.low), Fraction(declared.high)
    return f", values cut to [{show(low)}, {show(high)}]"


def kept(per: Per, person: Person) -> str:
    """The cap on rows where it can change a population value: nothing where a person has one row."""
    return "" if person.column is None or person.rows == 1 else f", of at most {person.rows} rows of each person"


def _capped(person: Person) -> str:
    if person.column is None:
        return ""
    return f", at most {person.rows} of each person"


def odd_cells(columns: Sequence[str], schema: Schema) -> str:
    """Cells that say nothing: ``a missing or unreadable age, or a missing or unlisted town``."""
    numbers, categories = _by_kind(columns, schema)
    told = (("unreadable", numbers), ("unlisted", categories))
    return ", or ".join(f"a missing or {word} {listed(names, 'or')}" for word, names in told if names)


def whole_cells(columns: Sequence[str], schema: Schema) -> str:
    """Cells that count: ``a readable age and visits and a listed town``."""
    numbers, categories = _by_kind(columns, schema)
    told = (("readable", numbers), ("listed", categories))
    return " and ".join(f"a {word} {listed(names, 'and')}" for word, names in told if names)


def listed(names: Sequence[str], last: str) -> str:
    """Names with commas, and a word before the last: ``age, visits or town``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _by_kind(columns: Sequence[str], schema: Schema) -> tuple[list[str], list[str]]:
    """Columns of numbers, and those of categories, whose values are listed."""
    categories = [name for name in columns if isinstance(schema.column(name), Category)]
    return [name for name in columns if name not in categories], categories
