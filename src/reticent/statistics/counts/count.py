"""``count``: the number of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.data.query import Rows
from reticent.statistics.estimand import capped
from reticent.statistics.statistic import Dice, Statistic

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class Count(Statistic):
    """The number of rows, at most the cap for each person. It always replies.

    ``study.release([rt.count()], epsilon=…)`` answers it.
    """

    verb: ClassVar[str] = "count"
    synonyms: ClassVar[tuple[str, ...]] = ("n",)
    examples: ClassVar[tuple[str, ...]] = ("count",)

    def estimand(self, setting: Setting) -> str:
        return f"number of rows of this table{capped(setting.schema.person)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.counts import count_step

        return count_step.count(self, Rows(setting.keys), setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Count:
        return cls()
