"""``incomplete(x, y)``: the share of rows with an odd cell in some columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import attrs

from reticent.data.formula import Expression
from reticent.errors import PublicParameterError
from reticent.statistics.estimand import capped, odd_cells
from reticent.statistics.statistic import Dice, Statistic, read_column

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


def _names(columns: str | Expression | Iterable[str | Expression]) -> tuple[str, ...]:
    """The names of one column or several."""
    return tuple(map(read_column, (columns,) if isinstance(columns, str | Expression) else columns))


@attrs.frozen
class IncompleteShare(Statistic):
    """The share of rows with a cell that is missing, cannot be read, or is not listed.

    Parameters
    ----------
    of : str or sequence of str
        The columns.
    """

    verb: ClassVar[str] = "incomplete"
    axis: ClassVar[str] = "share"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where noise hides how many rows there are"
    synonyms: ClassVar[tuple[str, ...]] = ("missing", "unreadable")
    positions: ClassVar[tuple[str, ...]] = ("of",)
    examples: ClassVar[tuple[str, ...]] = ("incomplete(x)", "incomplete(x, g)")

    of: tuple[str, ...] = attrs.field(converter=_names)

    def __attrs_post_init__(self) -> None:
        if not self.of or len(set(self.of)) != len(self.of):
            raise PublicParameterError("incomplete is of one column or more, each named once")

    @property
    def columns(self) -> tuple[str, ...]:
        """None: it counts odd cells itself."""
        return ()

    def renamed(self, of: Callable[[str], str]) -> IncompleteShare:
        return attrs.evolve(self, of=tuple(map(of, self.of)))

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.of

    def estimand(self, setting: Setting) -> str:
        return f"share of rows of this table with {odd_cells(self.of, setting.schema)}{capped(setting.schema.person)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.incomplete_rows import incomplete_step

        return incomplete_step(self.of, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> IncompleteShare:
        return cls(dice.some(("x", "y", "k", "g", "h", "b"), 3))
