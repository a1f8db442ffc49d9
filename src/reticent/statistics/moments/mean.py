"""``mean(x)``: the mean of a column, with bounds or without."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, assert_never

import attrs

from reticent.errors import QuestionError
from reticent.statistics.options import (
    Clipped,
    CoinPress,
    check_bounds,
    read_high,
    read_low,
    read_yes,
    unknown,
)
from reticent.statistics.public_facts import cut, kept, subject
from reticent.statistics.statistic import Dice, OfColumn, seldom_bounds
from reticent.statistics.tails import declared, near

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step

OfMean: TypeAlias = Literal["auto", "bounded", "clipped", "coinpress"]
WORDS = ("auto", "bounded", "clipped", "coinpress")
Method: TypeAlias = Literal["auto", "bounded"] | Clipped | CoinPress


def read_method(method: OfMean | Clipped | CoinPress) -> Method:
    """A method by its word, or with its options."""
    if isinstance(method, Clipped | CoinPress):
        return method
    match method:
        case "auto" | "bounded":
            return method
        case "clipped":
            return Clipped()
        case "coinpress":
            raise QuestionError(
                "CoinPress needs what is known without the file: mean(x, method=coinpress, centre=…, radius=…, "
                "deviation=…), or method=rt.CoinPress(centre=…, radius=…, deviation=…). The mean is within radius of "
                "centre, and the standard deviation at most deviation. mean(x, method=clipped) needs none. "
                "Nothing was charged."
            )
        case _:
            raise QuestionError(unknown("value of method", str(method), WORDS))


def build(texts: Mapping[str, str]) -> OfMean | Clipped | CoinPress:
    """The method of texts, such as ``method=coinpress, centre=0, radius=9, deviation=2``."""
    word = texts.get("method", "auto")
    others = {name: text for name, text in texts.items() if name != "method"}
    if word == "clipped" and set(others) <= {"tail"}:
        return Clipped(**others)
    if word == "coinpress" and set(others) == {"centre", "radius", "deviation"}:
        return CoinPress(**others)
    if word == "coinpress" and others and "tail" not in others:
        raise QuestionError("centre, radius and deviation come together: give all three, or none")
    if "tail" in others:
        raise QuestionError("tail is for a mean with method=clipped")
    if others:
        raise QuestionError("centre, radius and deviation of a mean are for method=coinpress")
    return word  # type: ignore[return-value]  # read_method refuses a word it does not know


@attrs.frozen
class Mean(OfColumn):
    """The mean of a column with its 95 % interval, with bounds or without.

    It gives no reply where the noisy number of values is too small for a mean.

    Parameters
    ----------
    column : str
    method : "auto", "bounded", "clipped", ``rt.Clipped(tail=…)`` or ``rt.CoinPress(…)``
        "bounded", which "auto" means, needs bounds. "clipped" needs none: it cuts values where the data reach, says
        where, and estimates the mean of what was cut. CoinPress needs a centre, a radius, a deviation, and a delta.
    low, high : number, optional
        Bounds for this question, known without the file; by default those of the study.
    interval : bool
        False spends everything on the value; the interval then covers the noise alone. Not for "clipped", CoinPress.
    """

    verb: ClassVar[str] = "mean"
    axis: ClassVar[str] = "values"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where the noisy number of values is too small to divide by"
    synonyms: ClassVar[tuple[str, ...]] = ("average", "avg", "coinpress")
    takes_per: ClassVar[bool] = True
    has_delta: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "mean(x)",
        "mean(x, method=clipped)",
        "mean(x, method=coinpress, centre=0, radius=1000, deviation=2)",
    )

    method: Method = attrs.field(
        default="auto",
        converter=read_method,
        kw_only=True,
        metadata={"unfold": ("method", "tail", "centre", "radius", "deviation"), "build": build},
    )
    low: Fraction | None = attrs.field(default=None, converter=read_low, kw_only=True)
    high: Fraction | None = attrs.field(default=None, converter=read_high, kw_only=True)
    interval: bool = attrs.field(default=True, converter=read_yes, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_bounds(self.low, self.high)

    @property
    def takes_weight(self) -> bool:
        return isinstance(self.method, str)

    @property
    def counts_values(self) -> bool:
        return self.method in ("auto", "bounded")

    @property
    def spends_delta(self) -> bool:
        return isinstance(self.method, CoinPress)

    def estimand(self, setting: Setting) -> str:
        values, cap = subject(self.column, setting.per), kept(setting.per, setting.schema.person)
        match self.method:
            case "auto" | "bounded":
                return f"population mean of {values}{cut(self.column, self.low, self.high, setting)}{cap}"
            case Clipped(tail=None):
                return f"mean of {values} cut to ends that are released with it, in the population{cap}"
            case Clipped(tail=tail):
                assert tail is not None
                return f"population mean of {values}, {declared(tail)}{cap}"
            case CoinPress(centre=centre, radius=radius, deviation=deviation):
                return f"population mean of {values}, {near(centre, radius, deviation)}{cap}"
            case _:
                assert_never(self.method)

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        if isinstance(self.method, str):
            from reticent.statistics.moments import moment_step

            return moment_step.prepare(self, "mean", setting, epsilon)
        from reticent.statistics.unbounded import unbounded_step

        return unbounded_step.mean(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Mean:
        low, high = seldom_bounds(dice)
        if dice.chance(30):
            tail = dice.pick((None, None, "normal", 3))
            return cls(dice.pick(("x", "y", "k")), method=Clipped(tail=tail), low=low, high=high)
        if dice.chance(15):
            near = CoinPress(centre=dice.pick((0, 5, -(10**6))), radius=1000, deviation=2)
            return cls(dice.pick(("x", "y", "k")), method=near)
        return cls(dice.pick(("x", "k")), low=low, high=high, interval=dice.chance(70))
