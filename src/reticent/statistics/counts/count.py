"""``count``: the number of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.data.query import Rows
from reticent.statistics.options import GEOMETRIC, read_mechanism
from reticent.statistics.public_facts import capped
from reticent.statistics.statistic import Dice, Statistic

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class Count(Statistic):
    """The number of rows, at most the cap for each person. It always replies.

    ``study.release([rt.count()], epsilon=…)`` answers it.

    Parameters
    ----------
    mechanism : "geometric", "gaussian" or a name
        Noise. "gaussian" needs a delta, or a release in rho; another name is that of a module of an extension.
    """

    verb: ClassVar[str] = "count"
    adds_up: ClassVar[bool] = True
    axis: ClassVar[str] = "rows"
    declines: ClassVar[str] = ""
    may_be_public: ClassVar[bool] = True
    synonyms: ClassVar[tuple[str, ...]] = ("n",)
    has_delta: ClassVar[bool] = True
    delta_in_rho: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("count", "count(mechanism=gaussian)")

    mechanism: str = attrs.field(default=GEOMETRIC, converter=read_mechanism, kw_only=True)

    @property
    def takes_weight(self) -> bool:
        return self.mechanism == GEOMETRIC

    @property
    def spends_delta(self) -> bool:
        return self.mechanism == "gaussian"

    def estimand(self, setting: Setting) -> str:
        return f"number of rows of this table{capped(setting.schema.person, drawn=setting.keys is not None)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.counts import count_step

        return count_step.count(self, Rows(setting.keys), setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Count:
        return cls(mechanism=dice.pick((GEOMETRIC, GEOMETRIC, GEOMETRIC, "gaussian")))
