"""``sd(x)``: the standard deviation of a bounded column."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.statistics.moments.variance import SpreadStatistic

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class Sd(SpreadStatistic):
    """The standard deviation of a bounded column with its 95 % interval.

    Parameters
    ----------
    column : str
    low, high : number, optional
        Bounds for this question, known without the file; by default those of the study.
    interval : bool
        False spends everything on the value; the interval then covers the noise alone.
    """

    verb: ClassVar[str] = "sd"
    axis: ClassVar[str] = "spread"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where the noisy number of values is too small to divide by"
    synonyms: ClassVar[tuple[str, ...]] = ("std", "stddev")
    examples: ClassVar[tuple[str, ...]] = ("sd(x)",)
    measure: ClassVar[str] = "standard deviation"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.moments import moment_step

        return moment_step.prepare(self, "sd", setting, epsilon)
