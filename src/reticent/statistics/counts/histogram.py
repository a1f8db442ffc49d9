"""``histogram(x, edges=0:50:5)``: counts by bin or by key."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.statistics.options import GEOMETRIC, check_edges, edges_text, read_edges, read_mechanism
from reticent.statistics.public_facts import capped
from reticent.statistics.statistic import Dice, OfColumn

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


@attrs.frozen
class Histogram(OfColumn):
    """Counts by bin of a number, or by key of a category.

    Parameters
    ----------
    column : str
    edges : sequence of number or date, optional
        Edges known without the file, or the text "0:50:5": start, stop (included) and step. Bins hold their left edge,
        the last one both. A step of dates is a number of days or a period: "2024-01-01:2025-01-01:month". Left out
        between bounds: integers with at most 128 possible values have a bin each, other numbers 8 to 20 bins of a round
        width. Dates have at most 31 bins of whole days, weeks, months, quarters or years.
    mechanism : "geometric", "gaussian" or a name
        Noise. "gaussian" needs a delta, or a release in rho; another name is that of a module of an extension.
    """

    verb: ClassVar[str] = "histogram"
    adds_up: ClassVar[bool] = True
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = ""
    synonyms: ClassVar[tuple[str, ...]] = ("hist",)
    has_delta: ClassVar[bool] = True
    delta_in_rho: ClassVar[bool] = False
    positions: ClassVar[tuple[str, ...]] = ("column", "edges")
    examples: ClassVar[tuple[str, ...]] = ("histogram(x, edges=0:50:5)", "histogram(g)")

    edges: tuple[Fraction, ...] = attrs.field(
        default=(), converter=read_edges, kw_only=True, metadata={"show": edges_text}
    )
    mechanism: str = attrs.field(default=GEOMETRIC, converter=read_mechanism, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_edges(self.edges)

    @property
    def takes_weight(self) -> bool:
        return self.mechanism == GEOMETRIC

    @property
    def spends_delta(self) -> bool:
        return self.mechanism == "gaussian"

    def estimand(self, setting: Setting) -> str:
        fixed = setting.schema.column(self.column).constant
        cap = capped(setting.schema.person, drawn=not fixed)
        return f"number of rows of this table in each bin of {self.column}{cap}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.counts import count_step

        return count_step.histogram(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Histogram:
        if dice.chance(50):
            return cls(dice.pick(("g", "h", "b")), mechanism=dice.pick((GEOMETRIC, GEOMETRIC, "gaussian")))
        edges = dice.pick((("-1", "0", "1", "3"), ("0", "1/10"), ("-2", "-1/2", "2.5", "1000000")))
        return cls(dice.pick(("x", "y", "k")), edges=edges)
