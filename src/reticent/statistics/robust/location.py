"""``location(x)``: Huber's location."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.errors import PublicParameterError
from reticent.privacy.numbers import show
from reticent.statistics.options import read_bend
from reticent.statistics.public_facts import kept, subject
from reticent.statistics.statistic import Dice, OfColumn

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class Location(OfColumn):
    """Huber's M-estimator of location with its 95 % interval: the centre whose bent residuals balance.

    Parameters
    ----------
    column : str
    bend : number
        Between 1/8 and 8, where residuals are bent, in units of half the quartile distance.
    """

    verb: ClassVar[str] = "location"
    axis: ClassVar[str] = "values"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where the values cannot outweigh the public candidates at this ε"
    synonyms: ClassVar[tuple[str, ...]] = ("huber",)
    positions: ClassVar[tuple[str, ...]] = ("column", "bend")
    takes_per: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("location(x)", "location(x, bend=1.5)")

    bend: Fraction = attrs.field(default=Fraction(2), converter=read_bend)

    def __attrs_post_init__(self) -> None:
        if not Fraction(1, 8) <= self.bend <= 8:
            raise PublicParameterError(f"bend is between 1/8 and 8, got {show(self.bend)}")

    def estimand(self, setting: Setting) -> str:
        told = f"Huber's location of {subject(self.column, setting.per)} in the population"
        return f"{told}, at a scale that is released with it{kept(setting.per, setting.schema.person)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.unbounded import unbounded_step

        return unbounded_step.location(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Location:
        return cls(dice.pick(("x", "y", "k")), dice.pick(("1/8", "2", "8")))
