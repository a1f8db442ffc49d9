"""``variance(x)``: the variance of a bounded column."""

from __future__ import annotations

from abc import ABC
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import attrs

from reticent.statistics.options import check_bounds, read_high, read_low, read_yes
from reticent.statistics.public_facts import cut, kept, subject
from reticent.statistics.statistic import Dice, OfColumn, seldom_bounds

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class SpreadStatistic(OfColumn, ABC):
    """A measure of spread of a bounded column: the variance, or its root."""

    measure: ClassVar[str]  # in words
    takes_per: ClassVar[bool] = True

    low: Fraction | None = attrs.field(default=None, converter=read_low, kw_only=True)
    high: Fraction | None = attrs.field(default=None, converter=read_high, kw_only=True)
    interval: bool = attrs.field(default=True, converter=read_yes, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_bounds(self.low, self.high)

    @property
    def counts_values(self) -> bool:
        return True

    def estimand(self, setting: Setting) -> str:
        values, cap = subject(self.column, setting.per), kept(setting.per, setting.schema.person)
        return f"population {self.measure} of {values}{cut(self.column, self.low, self.high, setting)}{cap}"

    @classmethod
    def made_up(cls, dice: Dice) -> Self:
        low, high = seldom_bounds(dice)
        return cls(dice.pick(("x", "k")), low=low, high=high, interval=dice.chance(60))


@attrs.frozen
class Variance(SpreadStatistic):
    """The variance of a bounded column with its 95 % interval.

    Parameters
    ----------
    column : str
    low, high : number, optional
        Bounds for this question, known without the file; by default those of the study.
    interval : bool
        False spends everything on the value; the interval then covers the noise alone.
    """

    verb: ClassVar[str] = "variance"
    declines: ClassVar[str] = "where the noisy number of values is too small to divide by"
    synonyms: ClassVar[tuple[str, ...]] = ("var",)
    examples: ClassVar[tuple[str, ...]] = ("variance(x)",)
    measure: ClassVar[str] = "variance"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.moments import moment_step

        return moment_step.prepare(self, "variance", setting, epsilon)
