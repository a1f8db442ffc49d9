"""What people ask for: statistics made of mechanisms, each with an interval and a derived guarantee."""

from __future__ import annotations

from reticent.statistics.answer import Answer, Cell
from reticent.statistics.ask import parse
from reticent.statistics.asked import (
    CapShare,
    Count,
    Histogram,
    Iqr,
    Mean,
    People,
    Proportion,
    Quantiles,
    Statistic,
    Sum,
    Variance,
    count,
    histogram,
    iqr,
    mean,
    median,
    persons,
    proportion,
    quantile,
    quantiles,
    sd,
    sum,  # noqa: A004 - the public word
    variance,
)
from reticent.statistics.planning import least_epsilon
from reticent.statistics.prepare import prepare

__all__ = [
    "Answer",
    "CapShare",
    "Cell",
    "Count",
    "Histogram",
    "Iqr",
    "Mean",
    "People",
    "Proportion",
    "Quantiles",
    "Statistic",
    "Sum",
    "Variance",
    "count",
    "histogram",
    "iqr",
    "least_epsilon",
    "mean",
    "median",
    "parse",
    "persons",
    "prepare",
    "proportion",
    "quantile",
    "quantiles",
    "sd",
    "sum",
    "variance",
]
