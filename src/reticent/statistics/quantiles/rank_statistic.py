"""Statistics of ranks: what the median, a quantile and several quantiles declare alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import attrs

from reticent.errors import QuestionError
from reticent.statistics.options import PLAIN, PTR, check_bounds, check_word, read_high, read_low, read_ptr, read_yes
from reticent.statistics.public_facts import cut, kept, levels_in_words, subject
from reticent.statistics.statistic import OfColumn

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step

OfQuantiles: TypeAlias = Literal["auto", "separate", "joint", "M", "smooth"]
GAP = " (any of them where there are several)"  # quantiles around which next to no values lie


def weighted_by(setting: Setting) -> str:
    """The part of an estimand that names the weights; empty without them."""
    return "" if setting.weight is None else f", rows weighted by {setting.weight}"


def refuse_options(name: str, ptr: PTR, *, smooth: bool) -> None:
    """Refuse options of propose-test-release beside a method that spends no delta: they would change nothing.

    Parameters
    ----------
    name : str
        The question, for the message.
    ptr : PTR
    smooth : bool
        True for the method "smooth", which has a unit.

    Raises
    ------
    QuestionError
        For an option that would change nothing.
    """
    given = {
        "mode": ptr.mode != PLAIN.mode,
        "unit": ptr.unit is not None and not smooth,
        "width": ptr.width is not None,
    }
    unused = [option for option, used in given.items() if used]
    if unused:
        raise QuestionError(
            f"{' and '.join(unused)} would change nothing in {name}: name a method that spends a δ, such as M for a "
            "median, S for an iqr, TM for a trimmed mean. Nothing was charged."
        )


@attrs.frozen
class RankStatistic(OfColumn, ABC):
    """Quantiles of one column at public levels."""

    takes_per: ClassVar[bool] = True
    has_delta: ClassVar[bool] = True

    method: OfQuantiles = attrs.field(default="auto", kw_only=True)
    low: Fraction | None = attrs.field(default=None, converter=read_low, kw_only=True)
    high: Fraction | None = attrs.field(default=None, converter=read_high, kw_only=True)
    interval: bool = attrs.field(default=True, converter=read_yes, kw_only=True)
    ptr: PTR = attrs.field(
        default=PLAIN,
        converter=read_ptr,
        kw_only=True,
        metadata={"unfold": ("mode", "unit", "width"), "build": lambda texts: PTR(**texts)},
    )

    def __attrs_post_init__(self) -> None:
        check_bounds(self.low, self.high)
        check_word("method", self.method, OfQuantiles)

    @property
    @abstractmethod
    def levels(self) -> tuple[Fraction, ...]:
        """The levels, each strictly between 0 and 1."""

    @property
    def spends_delta(self) -> bool:
        return self.method == "M"

    @property
    def takes_weight(self) -> bool:
        return self.method in ("auto", "separate")

    def estimand(self, setting: Setting) -> str:
        told = f"population {levels_in_words(self.levels)} of {subject(self.column, setting.per)}"
        told += weighted_by(setting)
        gap = "" if self.method in ("M", "smooth") else GAP  # these give no reply there
        ends = cut(self.column, self.low, self.high, setting)
        return f"{told}{gap}{ends}{kept(setting.per, setting.schema.person)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        if not self.spends_delta:
            refuse_options(self.name, self.ptr, smooth=self.method == "smooth")
        if self.method in ("M", "smooth"):
            from reticent.statistics.robust import robust_step as robust

            return robust.quantile(self, setting, epsilon)
        from reticent.statistics.quantiles import quantile_step
        from reticent.statistics.unbounded import unbounded_step as unbounded

        if self.method == "separate":
            return quantile_step.prepare(self, setting, epsilon)
        return (unbounded.quantiles if self.method == "joint" else unbounded.chosen)(self, setting, epsilon)
