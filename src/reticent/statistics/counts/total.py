"""``sum(x)``: the sum of a bounded column."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.statistics.options import GEOMETRIC, check_bounds, read_high, read_low, read_mechanism
from reticent.statistics.public_facts import capped, cut, person_totals, sums_of_kept
from reticent.statistics.statistic import Dice, OfColumn, seldom_bounds

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class Sum(OfColumn):
    """The sum of a bounded column over persons, each person's total cut to what the cap allows.

    By groups of which a person can be in several, it is the sum over the rows that are kept of each person.

    Parameters
    ----------
    column : str
    low, high : number, optional
        Bounds known without the file; values outside count as the nearer one. By default those of the study.
    mechanism : "geometric", "gaussian" or a name
        Noise. "gaussian" needs a delta, or a release in rho; another name is that of a module of an extension.
    """

    verb: ClassVar[str] = "sum"
    adds_up: ClassVar[bool] = True
    declines: ClassVar[str] = ""
    synonyms: ClassVar[tuple[str, ...]] = ("total",)
    has_delta: ClassVar[bool] = True
    delta_in_rho: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("sum(x)", "sum(x, mechanism=gaussian)")

    low: Fraction | None = attrs.field(default=None, converter=read_low, kw_only=True)
    high: Fraction | None = attrs.field(default=None, converter=read_high, kw_only=True)
    mechanism: str = attrs.field(default=GEOMETRIC, converter=read_mechanism, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_bounds(self.low, self.high)

    @property
    def takes_weight(self) -> bool:
        return self.mechanism == GEOMETRIC

    @property
    def spends_delta(self) -> bool:
        return self.mechanism == "gaussian"

    def estimand(self, setting: Setting) -> str:
        ends = cut(self.column, self.low, self.high, setting)
        if setting.weight is not None or sums_of_kept(setting):
            return f"sum of {self.column} over this table{ends}{capped(setting.schema.person, drawn=True)}"
        return f"sum of {self.column} over this table{ends}{person_totals(self.column, self.low, self.high, setting)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.counts import count_step

        return count_step.total(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Sum:
        low, high = seldom_bounds(dice)
        return cls(dice.pick(("x", "k")), low=low, high=high, mechanism=dice.pick((GEOMETRIC, GEOMETRIC, "gaussian")))
