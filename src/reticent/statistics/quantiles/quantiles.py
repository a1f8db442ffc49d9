"""``quantiles(x, 0.1 0.5 0.9)``: several quantiles of one column."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import attrs

from reticent.errors import PublicParameterError
from reticent.statistics.options import check_level, read_levels, shown
from reticent.statistics.quantiles.quantile import LEVELS
from reticent.statistics.quantiles.rank_statistic import OfQuantiles, RankStatistic
from reticent.statistics.statistic import Dice, seldom_bounds


@attrs.frozen
class Quantiles(RankStatistic):
    """Several quantiles of one column with their 95 % intervals: drawn together, or sharing epsilon equally.

    Parameters
    ----------
    column : str
    levels : sequence of number
        Each strictly between 0 and 1, of at most six decimals.
    method : "auto", "separate" or "joint"
        "joint" draws them together, "separate" shares epsilon equally; "auto" takes the better by public facts.
    low, high : number, optional
        Bounds for this question, in the unit of the column and known without the file; by default those of the study.
    interval : bool
        False spends everything on the values, which then have no interval.
    ptr : PTR
        Options of "M", and the unit of "smooth".
    """

    verb: ClassVar[str] = "quantiles"
    axis: ClassVar[str] = "values"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where the values cannot outweigh the public candidates at this ε"
    positions: ClassVar[tuple[str, ...]] = ("column", "levels")
    examples: ClassVar[tuple[str, ...]] = ("quantiles(x, 0.1 0.9)",)

    levels: tuple[Fraction, ...] = attrs.field(converter=read_levels)

    def __attrs_post_init__(self) -> None:
        RankStatistic.__attrs_post_init__(self)
        if not self.levels:
            raise PublicParameterError("quantiles need at least one level")
        for level in self.levels:
            check_level(level)
        if len(set(self.levels)) != len(self.levels):
            raise PublicParameterError("levels name one level twice")

    @property
    def positional(self) -> tuple[str, ...]:
        return self.positions

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.column, shown(self.levels))

    @classmethod
    def made_up(cls, dice: Dice) -> Quantiles:
        levels, (low, high) = dice.some(LEVELS, 3), seldom_bounds(dice)
        method: OfQuantiles = dice.pick(("auto", "separate", "joint")) if len(levels) > 1 else "auto"
        column, interval = dice.pick(("x", "y", "k")), dice.chance(60)
        return cls(column, levels, method=method, low=low, high=high, interval=interval)
