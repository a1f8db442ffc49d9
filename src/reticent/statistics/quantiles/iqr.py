"""``iqr(x)``: the distance of the quartiles of a column."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import attrs

from reticent.statistics.options import (
    PLAIN,
    PTR,
    WIDTHLESS,
    check_bounds,
    check_word,
    read_high,
    read_low,
    read_widthless,
    read_yes,
)
from reticent.statistics.public_facts import cut, kept, subject
from reticent.statistics.quantiles.rank_statistic import GAP, refuse_options, weighted_by
from reticent.statistics.statistic import Dice, OfColumn, seldom_bounds

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step

OfIqr: TypeAlias = Literal["auto", "separate", "joint", "S"]


@attrs.frozen
class Iqr(OfColumn):
    """The distance of the quartiles with its 95 % interval, with bounds or without; it may give no reply.

    Parameters
    ----------
    column : str
    method : "auto", "separate", "joint" or "S"
        "auto" draws both quartiles together. "S" is 003's by propose-test-release, and needs a delta; see ``scale``.
    low, high : number, optional
        Bounds for this question, known without the file; by default those of the study.
    interval : bool
        False spends everything on the value, which then has no interval.
    ptr : PTR
        Options of "S", but for the width.
    """

    verb: ClassVar[str] = "iqr"
    axis: ClassVar[str] = "spread"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where the values cannot outweigh the public candidates at this ε"
    takes_per: ClassVar[bool] = True
    has_delta: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("iqr(x)", "iqr(x, method=S)")

    method: OfIqr = attrs.field(default="auto", kw_only=True)
    low: Fraction | None = attrs.field(default=None, converter=read_low, kw_only=True)
    high: Fraction | None = attrs.field(default=None, converter=read_high, kw_only=True)
    interval: bool = attrs.field(default=True, converter=read_yes, kw_only=True)
    ptr: PTR = attrs.field(default=PLAIN, converter=read_widthless, kw_only=True, metadata=WIDTHLESS)

    def __attrs_post_init__(self) -> None:
        check_bounds(self.low, self.high)
        check_word("method", self.method, OfIqr)

    @property
    def spends_delta(self) -> bool:
        return self.method == "S"

    @property
    def takes_weight(self) -> bool:
        return self.method in ("auto", "separate")

    def estimand(self, setting: Setting) -> str:
        told = f"distance of the population quartiles of {subject(self.column, setting.per)}"
        told += weighted_by(setting)
        gap = "" if self.method == "S" else GAP  # S gives no reply there
        ends = cut(self.column, self.low, self.high, setting)
        return f"{told}{gap}{ends}{kept(setting.per, setting.schema.person)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        if self.spends_delta:
            from reticent.statistics.robust import robust_step as robust

            return robust.scale(self, setting, epsilon)
        refuse_options(self.name, self.ptr, smooth=False)
        from reticent.statistics.quantiles import quantile_step
        from reticent.statistics.unbounded import unbounded_step as unbounded

        if self.method == "separate":
            return quantile_step.prepare(self, setting, epsilon)
        return (unbounded.iqr if self.method == "joint" else unbounded.chosen)(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Iqr:
        low, high = seldom_bounds(dice)
        method: OfIqr = dice.pick(("auto", "separate", "joint"))
        return cls(dice.pick(("x", "y", "k")), method=method, low=low, high=high, interval=dice.chance(60))
