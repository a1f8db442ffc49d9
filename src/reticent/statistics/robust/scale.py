"""``scale(x)``: S of 003, the distance of two quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

import attrs

from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy.numbers import Number, show
from reticent.statistics.options import PLAIN, PTR, WIDTHLESS, check_word, read_levels, read_widthless, shown
from reticent.statistics.public_facts import cut, kept, subject
from reticent.statistics.statistic import Dice, OfColumn

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step

OfScale: TypeAlias = Literal["S", "stable"]
QUARTILES: Final = (Fraction(1, 4), Fraction(3, 4))


def read_pair(levels: Sequence[Number]) -> tuple[Fraction, Fraction]:
    """Exact levels of two quantiles."""
    found = () if isinstance(levels, str) else read_levels(levels)
    if len(found) != 2:
        raise QuestionError('levels of a scale are two numbers, such as ["0.25", "0.75"]')
    return found[0], found[1]


@attrs.frozen
class Scale(OfColumn):
    """S: the distance of two quantiles by propose-test-release, within a factor; it may give no reply.

    Parameters
    ----------
    column : str
    levels : two numbers
        Levels p < q, strictly between 0 and 1; the quartiles by default.
    method : "S" or "stable"
        "S" adds noise to the logarithm; "stable" releases the bin that holds the distance, an upper bound of it.
    ptr : PTR
        Options of the test, but for the width.

    Source
    ------
    003 section 4, algorithm S; Theorem 7.
    """

    verb: ClassVar[str] = "scale"
    axis: ClassVar[str] = "spread"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where a private test finds that few rows could change the answer"
    synonyms: ClassVar[tuple[str, ...]] = ("s",)
    positions: ClassVar[tuple[str, ...]] = ("column", "levels")
    takes_per: ClassVar[bool] = True
    has_delta: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("scale(x)", "scale(x, 0.1 0.9)", "scale(x, method=stable)")

    levels: tuple[Fraction, Fraction] = attrs.field(default=QUARTILES, converter=read_pair)
    method: OfScale = attrs.field(default="S", kw_only=True)
    ptr: PTR = attrs.field(default=PLAIN, converter=read_widthless, kw_only=True, metadata=WIDTHLESS)

    def __attrs_post_init__(self) -> None:
        check_word("method", self.method, OfScale)
        low, high = self.levels
        if not 0 < low < high < 1:
            raise PublicParameterError("the levels of a scale rise and lie between 0 and 1")

    @property
    def spends_delta(self) -> bool:
        return True

    @property
    def positional(self) -> tuple[str, ...]:
        return self.positions

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.column,) if self.levels == QUARTILES else (self.column, shown(self.levels))

    def estimand(self, setting: Setting) -> str:
        low, high = self.levels
        told = (
            f"distance of the population quantiles {show(low)} and {show(high)} of {subject(self.column, setting.per)}"
        )
        within = "public interval that holds the " if self.method == "stable" else ""
        ends = cut(self.column, None, None, setting)
        return f"{within}{told}{ends}{kept(setting.per, setting.schema.person)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.robust import robust_step

        return robust_step.scale(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Scale:
        return cls(dice.pick(("x", "y", "k")), method=dice.pick(("S", "stable")))
