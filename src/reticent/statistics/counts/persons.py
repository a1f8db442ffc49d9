"""``persons``: the number of distinct persons."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.data.query import DistinctPersons as PersonsQuery
from reticent.statistics.statistic import Dice, Statistic

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class Persons(Statistic):
    """The number of distinct persons. It always replies, and costs nothing where that number is public."""

    verb: ClassVar[str] = "persons"
    axis: ClassVar[str] = "persons"
    declines: ClassVar[str] = ""
    may_be_public: ClassVar[bool] = True
    synonyms: ClassVar[tuple[str, ...]] = ("people",)
    counts_rows: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("persons",)

    def estimand(self, setting: Setting) -> str:
        return "number of persons in this table"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.counts import count_step

        return count_step.count(self, PersonsQuery(setting.keys), setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Persons:
        return cls()
