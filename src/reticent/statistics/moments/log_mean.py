"""``log_mean(x)``: the mean of natural logarithms.

A mean of skewed values cannot be had from a released interval of them; the mean of their logarithms can. Eighty binades
of public candidates are a range of 55 on that scale, so no value has to be cut where the data reach.
"""

from __future__ import annotations

from abc import ABC
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import attrs

from reticent.privacy.numbers import positive
from reticent.statistics.options import check_bounds, read_high, read_low
from reticent.statistics.public_facts import kept, subject
from reticent.statistics.statistic import Dice, OfColumn, seldom_bounds

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class LogStatistic(OfColumn, ABC):
    """A mean on the scale of logarithms, of the values above 0."""

    measure: ClassVar[str]  # in words
    takes_per: ClassVar[bool] = True

    low: Fraction | None = attrs.field(default=None, converter=read_low, kw_only=True)
    high: Fraction | None = attrs.field(default=None, converter=read_high, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_bounds(self.low, self.high)
        if self.low is not None:
            positive(self.low, "low")

    def estimand(self, setting: Setting) -> str:
        cap = kept(setting.per, setting.schema.person)
        return f"population {self.measure} of {subject(self.column, setting.per)} above 0{cap}"

    @classmethod
    def made_up(cls, dice: Dice) -> Self:
        low, high = seldom_bounds(dice, "1/2")
        return cls(dice.pick(("x", "y", "k")), low=low, high=high)


@attrs.frozen
class LogMean(LogStatistic):
    """The mean of the natural logarithms of the values above 0, with its 95 % interval.

    Values of 0 and below have no logarithm: they are left out, and their noisy share is told. It gives no reply where
    the noisy number of the others is too small for a mean.

    Parameters
    ----------
    column : str
    low, high : number, optional
        Above 0 and known without the file: values above 0 that lie beyond count as the nearer one. Closer ones make
        less noise. By default those of the study where they are above 0, else the public reach, 2^-20 to 2^60.
    """

    verb: ClassVar[str] = "log_mean"
    declines: ClassVar[str] = "where the noisy number of values above 0 is too small to divide by"
    synonyms: ClassVar[tuple[str, ...]] = ("meanlog",)
    examples: ClassVar[tuple[str, ...]] = ("log_mean(x)",)
    measure: ClassVar[str] = "mean of the natural logarithms"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.unbounded import logs

        return logs.log_mean(self, setting, epsilon, geometric=False)
