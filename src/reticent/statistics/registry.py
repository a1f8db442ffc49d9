"""Every statistic: the one list that grammar, docs, audits and tests read.

A new statistic is a module with a class, and a line here. Its class is handed out under its verb: ``rt.mean`` is
``Mean``.
"""

from __future__ import annotations

from typing import Final

from reticent.statistics.counts.cap_share import CapShare
from reticent.statistics.counts.count import Count
from reticent.statistics.counts.histogram import Histogram
from reticent.statistics.counts.incomplete_share import IncompleteShare
from reticent.statistics.counts.key_list import KeyList
from reticent.statistics.counts.persons import Persons
from reticent.statistics.counts.total import Sum
from reticent.statistics.density import DensityOf
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.moments.geometric_mean import GeometricMean
from reticent.statistics.moments.log_mean import LogMean
from reticent.statistics.moments.mean import Mean
from reticent.statistics.moments.proportion import Proportion
from reticent.statistics.moments.sd import Sd
from reticent.statistics.moments.variance import Variance
from reticent.statistics.quantiles.iqr import Iqr
from reticent.statistics.quantiles.median import Median
from reticent.statistics.quantiles.quantile import Quantile
from reticent.statistics.quantiles.quantiles import Quantiles
from reticent.statistics.regression.regress import Regression
from reticent.statistics.robust.location import Location
from reticent.statistics.robust.scale import Scale
from reticent.statistics.robust.trimmed_mean import TrimmedMean
from reticent.statistics.statistic import Statistic

ALL: Final[tuple[type[Statistic], ...]] = (
    Count,
    Persons,
    KeyList,
    CapShare,
    IncompleteShare,
    Sum,
    Histogram,
    Mean,
    LogMean,
    GeometricMean,
    Proportion,
    Variance,
    Sd,
    Median,
    Quantile,
    Quantiles,
    Iqr,
    Scale,
    TrimmedMean,
    Location,
    Regression,
    HypothesisTest,
    DensityOf,
)
