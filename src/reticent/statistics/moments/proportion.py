"""``proportion(g, value=1)``: the share of one value of a category."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.data.schema import Key
from reticent.statistics.estimand import kept
from reticent.statistics.statistic import Dice, OfColumn

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


def bare(text: str) -> str:
    """The text of a value without the quotes it may stand in."""
    return text.strip("\"'")


@attrs.frozen
class Proportion(OfColumn):
    """The share of one value of a category among the rows where it is not missing.

    Parameters
    ----------
    column : str
    value : key, optional
        By default True, 1 or "yes", where the category has one of them.
    """

    verb: ClassVar[str] = "proportion"
    axis: ClassVar[str] = "share"
    declines: ClassVar[str] = "where the noisy number of values is too small to divide by"
    synonyms: ClassVar[tuple[str, ...]] = ("share",)
    examples: ClassVar[tuple[str, ...]] = ("proportion(g, value=a)",)

    value: Key | None = attrs.field(default=None, kw_only=True, metadata={"build": lambda texts: bare(texts["value"])})

    @property
    def takes_weight(self) -> bool:
        return True

    def estimand(self, setting: Setting) -> str:
        which = "" if self.value is None else f" = {self.value}"
        return f"population share of {self.column}{which} among readable values{kept('row', setting.schema.person)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.moments import proportion_step

        return proportion_step.prepare(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Proportion:
        return cls(dice.pick(("g", "h", "b")), value=dice.pick((None, "a", "1", "True")))
