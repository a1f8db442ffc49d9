"""``median(x)``: the median of a column."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import attrs

from reticent.statistics.quantiles.rank_statistic import RankStatistic
from reticent.statistics.statistic import Dice, seldom_bounds

HALF = Fraction(1, 2)


@attrs.frozen
class Median(RankStatistic):
    """The median of a column with its 95 % interval, with bounds or without; it may give no reply.

    Parameters
    ----------
    column : str
    method : "auto", "separate", "joint", "M" or "smooth"
        "auto" is the exponential mechanism, with delta 0. "M" is 003's, by propose-test-release with a scale of its
        own or with ``ptr.width``. "smooth" adds noise in proportion to a smooth sensitivity.
    low, high : number, optional
        Bounds for this question, known without the file; by default those of the study.
    interval : bool
        False spends everything on the value, which then has no interval.
    ptr : PTR
        Options of "M", and the unit of "smooth".
    """

    verb: ClassVar[str] = "median"
    axis: ClassVar[str] = "values"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where the values cannot outweigh the public candidates at this ε"
    synonyms: ClassVar[tuple[str, ...]] = ("m",)
    examples: ClassVar[tuple[str, ...]] = ("median(x)", "median(x, method=M)", "median(x, method=smooth)")

    @property
    def levels(self) -> tuple[Fraction, ...]:
        return (HALF,)

    @classmethod
    def made_up(cls, dice: Dice) -> Median:
        low, high = seldom_bounds(dice)
        return cls(dice.pick(("x", "y", "k")), low=low, high=high, interval=dice.chance(60))
