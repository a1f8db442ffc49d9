"""``geometric_mean(x)``: the exponential of the mean of logarithms."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.privacy.numbers import positive
from reticent.statistics.estimand import kept, subject
from reticent.statistics.options import check_bounds, read_high, read_low
from reticent.statistics.statistic import Dice, OfColumn

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class GeometricMean(OfColumn):
    """The geometric mean of the values above 0, with its 95 % interval: the exponential of ``log_mean``.

    It is the median of a law that is symmetric on the scale of logarithms, and it is not the mean.

    Parameters
    ----------
    column : str
    low, high : number, optional
        As for ``log_mean``.
    """

    verb: ClassVar[str] = "geometric_mean"
    synonyms: ClassVar[tuple[str, ...]] = ("gmean", "geomean")
    takes_per: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("geometric_mean(x)",)

    low: Fraction | None = attrs.field(default=None, converter=read_low, kw_only=True)
    high: Fraction | None = attrs.field(default=None, converter=read_high, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_bounds(self.low, self.high)
        if self.low is not None:
            positive(self.low, "low")

    def estimand(self, setting: Setting) -> str:
        cap = kept(setting.per, setting.schema.person)
        return f"population geometric mean of {subject(self.column, setting.per)} above 0{cap}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.unbounded import logs

        return logs.log_mean(self, setting, epsilon, geometric=True)

    @classmethod
    def made_up(cls, dice: Dice) -> GeometricMean:
        low, high = ("1/2", 2) if dice.chance(10) else (None, None)
        return cls(dice.pick(("x", "y", "k")), low=low, high=high)
