"""``keys``: the keys of a column of texts that enough persons share, and how many hold each."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.statistics.options import read_number
from reticent.statistics.statistic import Dice, Statistic, read_column

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class KeyList(Statistic):
    """The keys of a column of texts that enough persons share, with a noisy number of persons for each.

    Half of epsilon and all of delta list the keys, the rest counts the persons of those that are listed, with noise of
    its own. Which keys there are is not told otherwise.

    Parameters
    ----------
    column : str
        A column declared as text.
    at_least : int
        A key of fewer persons is not listed, for certain.
    groups : int, optional
        Most keys that one person counts in; by default as many as rows are kept of a person. Fewer cost less.
    """

    verb: ClassVar[str] = "keys"
    axis: ClassVar[str] = "persons"
    declines: ClassVar[str] = "where no key is listed"
    positions: ClassVar[tuple[str, ...]] = ("column",)
    has_delta: ClassVar[bool] = True
    counts_rows: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("keys(t)", "keys(t, at_least=5, groups=1)")

    column: str = attrs.field(converter=read_column)
    at_least: int = attrs.field(default=1, converter=read_number, kw_only=True)
    groups: int | None = attrs.field(default=None, converter=read_number, kw_only=True)

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def spends_delta(self) -> bool:
        return True

    def estimand(self, setting: Setting) -> str:
        most = "" if setting.schema.person.rows == 1 else f", each person in at most {self.touch(setting)}"
        return f"number of persons of this table with each listed key of {self.column}{most}"

    def touch(self, setting: Setting) -> int:
        """Most keys that one person counts in."""
        return min(setting.schema.person.rows, self.groups or setting.schema.person.rows)

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.counts import key_list_step

        return key_list_step.key_list(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> KeyList:
        return cls("t", at_least=dice.pick((1, 1, 2)), groups=dice.pick((None, 1, 2)))
