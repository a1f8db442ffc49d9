"""``capped``: the share of persons with more rows than are kept."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.statistics.statistic import Dice, Statistic

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class CapShare(Statistic):
    """The share of persons with more rows than the cap: how far the cap can have changed what is estimated."""

    verb: ClassVar[str] = "capped"
    axis: ClassVar[str] = "share"
    declines: ClassVar[str] = "where noise hides how many people there are"
    counts_rows: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("capped",)

    def estimand(self, setting: Setting) -> str:
        return "share of persons of this table with more rows than are kept"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.counts import cap_step

        return cap_step.prepare(setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> CapShare:
        return cls()
