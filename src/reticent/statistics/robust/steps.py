"""From a question to a step of this package. No row is read."""

from __future__ import annotations

from fractions import Fraction

from reticent.errors import QuestionError
from reticent.statistics.asked import Iqr, Quantiles, Scale, TrimmedMean
from reticent.statistics.setting import Setting, Step


def quantile(asked: Quantiles, setting: Setting, epsilon: Fraction) -> Step:
    raise QuestionError("not yet")


def scale(asked: Scale | Iqr, setting: Setting, epsilon: Fraction) -> Step:
    raise QuestionError("not yet")


def trimmed_mean(asked: TrimmedMean, setting: Setting, epsilon: Fraction) -> Step:
    raise QuestionError("not yet")
