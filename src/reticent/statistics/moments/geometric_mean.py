"""``geometric_mean(x)``: the exponential of the mean of logarithms."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.statistics.moments.log_mean import LogStatistic

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class GeometricMean(LogStatistic):
    """The geometric mean of the values above 0, with its 95 % interval: the exponential of ``log_mean``.

    It is the median of a law that is symmetric on the scale of logarithms, and it is not the mean.

    Parameters
    ----------
    column : str
    low, high : number, optional
        Above 0, in the unit of the column and known without the file. Values beyond count as the nearer one. By
        default those of the study where they are above 0, else 2^-20 and 2^60.
    """

    verb: ClassVar[str] = "geometric_mean"
    axis: ClassVar[str] = "values"
    declines: ClassVar[str] = "where the noisy number of values above 0 is too small to divide by"
    synonyms: ClassVar[tuple[str, ...]] = ("gmean", "geomean")
    examples: ClassVar[tuple[str, ...]] = ("geometric_mean(x)",)
    measure: ClassVar[str] = "geometric mean"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.unbounded import logs

        return logs.log_mean(self, setting, epsilon, geometric=True)
