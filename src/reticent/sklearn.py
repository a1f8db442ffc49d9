"""``reticent.learning`` under the name people look for it by: the same estimators, nothing more."""

from __future__ import annotations

from reticent.learning.classifiers import LinearSVC, LogisticRegression
from reticent.learning.handles import public
from reticent.learning.linear import HuberRegressor, LinearRegression, QuantileRegressor

__all__ = [
    "HuberRegressor",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "QuantileRegressor",
    "public",
]
