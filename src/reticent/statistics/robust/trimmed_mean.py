"""``trimmed_mean(x)``: the mean without a share of the values at either end."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import attrs

from reticent.errors import PublicParameterError
from reticent.privacy.numbers import show
from reticent.statistics.options import PLAIN, PTR, WIDTHLESS, check_word, read_trim, read_widthless
from reticent.statistics.public_facts import cut, kept, subject
from reticent.statistics.quantiles.rank_statistic import refuse_options
from reticent.statistics.statistic import Dice, OfColumn

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step

OfTrimmed: TypeAlias = Literal["auto", "inverse", "TM", "smooth"]


@attrs.frozen
class TrimmedMean(OfColumn):
    """The mean without a share ``trim`` of the values at either end; it may give no reply.

    Parameters
    ----------
    column : str
    trim : number
        Between 0 and 1/2, left out at either end.
    method : "auto", "inverse", "TM" or "smooth"
        "inverse" is an exponential mechanism on rows to change, with delta 0. "TM" is 003's by propose-test-release.
        "smooth" adds noise in proportion to a smooth sensitivity.
    ptr : PTR
        Options of "TM" but for the width, and the unit of "smooth".
    """

    verb: ClassVar[str] = "trimmed_mean"
    axis: ClassVar[str] = "values"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = (
        "where the values cannot outweigh the public candidates, or few rows could change the answer"
    )
    synonyms: ClassVar[tuple[str, ...]] = ("trimmed", "tm")
    positions: ClassVar[tuple[str, ...]] = ("column", "trim")
    takes_per: ClassVar[bool] = True
    has_delta: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("trimmed_mean(x)", "trimmed_mean(x, trim=0.2)", "trimmed_mean(x, method=TM)")

    trim: Fraction = attrs.field(default=Fraction(1, 10), converter=read_trim)
    method: OfTrimmed = attrs.field(default="auto", kw_only=True)
    ptr: PTR = attrs.field(default=PLAIN, converter=read_widthless, kw_only=True, metadata=WIDTHLESS)

    def __attrs_post_init__(self) -> None:
        check_word("method", self.method, OfTrimmed)
        if not 0 < self.trim < Fraction(1, 2):
            raise PublicParameterError(f"trim is a share at either end, between 0 and 1/2, got {show(self.trim)}")

    @property
    def spends_delta(self) -> bool:
        return self.method == "TM"

    def estimand(self, setting: Setting) -> str:
        ends = f"its quantiles {show(self.trim)} and {show(1 - self.trim)}"
        within = cut(self.column, None, None, setting)
        values, cap = subject(self.column, setting.per), kept(setting.per, setting.schema.person)
        return f"population mean of {values} between {ends}{within}{cap}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        if not self.spends_delta:
            refuse_options(self.name, self.ptr, smooth=self.method == "smooth")
        if self.method in ("TM", "smooth"):
            from reticent.statistics.robust import robust_step as robust

            return robust.trimmed_mean(self, setting, epsilon)
        from reticent.statistics.unbounded import unbounded_step as unbounded

        return unbounded.trimmed_mean(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> TrimmedMean:
        return cls(dice.pick(("x", "k")), dice.pick(("1/10", "1/4", "49/100")))
