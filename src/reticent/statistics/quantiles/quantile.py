"""``quantile(x, 0.9)``: one quantile of a column."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import attrs

from reticent.privacy.numbers import show
from reticent.statistics.options import check_level, read_level
from reticent.statistics.quantiles.rank_statistic import RankStatistic
from reticent.statistics.statistic import Dice, seldom_bounds

LEVELS = ("1/2", "1/4", "9/10", "1/100")


@attrs.frozen
class Quantile(RankStatistic):
    """The value that a share ``level`` of the rows does not exceed, with its 95 % interval; it may give no reply.

    Parameters
    ----------
    column : str
    level : number
        Strictly between 0 and 1, of at most six decimals.
    method : "auto", "separate", "joint", "M" or "smooth"
        "auto" is the exponential mechanism, with delta 0; "M" is propose-test-release; "smooth" is smooth sensitivity.
    low, high : number, optional
        Bounds for this question, in the unit of the column and known without the file; by default those of the study.
    interval : bool
        False spends everything on the value, which then has no interval.
    ptr : PTR
        Options of "M", and the unit of "smooth".
    """

    verb: ClassVar[str] = "quantile"
    axis: ClassVar[str] = "values"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where the values cannot outweigh the public candidates at this ε"
    synonyms: ClassVar[tuple[str, ...]] = ("percentile",)
    positions: ClassVar[tuple[str, ...]] = ("column", "level")
    examples: ClassVar[tuple[str, ...]] = ("quantile(x, 0.9)",)

    level: Fraction = attrs.field(converter=read_level)

    def __attrs_post_init__(self) -> None:
        RankStatistic.__attrs_post_init__(self)
        check_level(self.level)

    @property
    def levels(self) -> tuple[Fraction, ...]:
        return (self.level,)

    @property
    def positional(self) -> tuple[str, ...]:
        return self.positions

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.column, show(self.level))

    @classmethod
    def made_up(cls, dice: Dice) -> Quantile:
        low, high = seldom_bounds(dice)
        return cls(dice.pick(("x", "y", "k")), dice.pick(LEVELS), low=low, high=high, interval=dice.chance(60))
