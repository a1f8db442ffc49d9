"""Public candidates of the bounds of a column that a release chooses privately.

    [columns.cost] low = 0, high = "auto"            0 to one of 1, 1.25, 1.6, 2, 2.5, ..., 10^9
    [columns.change] low = "auto", high = "auto"     -r to r, r among the same numbers

An end that is declared stays. Candidates are public, and so is the share of each release that pays for the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.errors import PublicParameterError
from reticent.privacy.numbers import show

FLOOR: Final = Fraction(1)
CEILING: Final = Fraction(10**9)
SHARE: Final = Fraction(1, 5)
DECADES: Final = range(-12, 15)
STEPS: Final = tuple(map(Fraction, ("1", "1.25", "1.6", "2", "2.5", "3.2", "4", "5", "6.4", "8")))  # of a decade
SERIES: Final = tuple(step * Fraction(10) ** decade for decade in DECADES for step in STEPS)
SUPPOSED: Final = 100  # the end that plans suppose, where it is a candidate


@dataclass(frozen=True, slots=True)
class BoundsLadder:
    """Ladder of candidate bounds; ``share`` of each release pays for the choice.

    Attributes
    ----------
    low, high : Fraction or None
        The end that is declared, if one is.
    ceiling, floor : Fraction
        The largest and the least size of an end that may be chosen.
    whole : bool
        Ends are integers.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    ceiling: Fraction = CEILING
    share: Fraction = SHARE
    whole: bool = False
    floor: Fraction = FLOOR

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None:
            raise PublicParameterError("bounds that are both declared are not chosen")
        if not isinstance(self.share, Fraction) or not 0 < self.share < 1:
            raise PublicParameterError(f"share of a choice lies between 0 and 1, got {self.share}")
        if self.whole and any(end is not None and end.denominator != 1 for end in (self.low, self.high)):
            raise PublicParameterError("an end of an integer column is an integer")
        if len(self.rungs) < 2:
            raise PublicParameterError(
                f"floor and ceiling are the least and the largest end that may be chosen, up to {show(SERIES[-1])}: "
                f"{show(self.floor)} and {show(self.ceiling)} leave no two candidates"
            )

    @property
    def rungs(self) -> tuple[Fraction, ...]:
        """The sizes of the ends that may be chosen, rising; the last is the ceiling."""
        least = max(Fraction(0), self.low or Fraction(0), -(self.high or Fraction(0)))
        most = Fraction(self.ceiling.__floor__()) if self.whole else self.ceiling
        if not least < most <= SERIES[-1]:
            return ()
        sizes = dict.fromkeys(Fraction(size.__ceil__()) if self.whole else size for size in SERIES)
        return (*(size for size in sizes if least < size < most and size >= self.floor), most)

    def at(self, rung: Fraction) -> tuple[Fraction, Fraction]:
        """The bounds of a candidate."""
        return (-rung if self.low is None else self.low, rung if self.high is None else self.high)

    @property
    def supposed(self) -> Fraction:
        """The candidate that plans and made-up rows suppose."""
        return next((rung for rung in self.rungs if rung >= SUPPOSED), self.rungs[-1])

    @property
    def words(self) -> str:
        """The candidates in short: ``37 bounds from [0, 1/1000] to [0, 1000000000]``."""
        first, last = (", ".join(map(show, self.at(rung))) for rung in (self.rungs[0], self.rungs[-1]))
        return f"{len(self.rungs)} bounds from [{first}] to [{last}]"

    def to_json(self) -> dict[str, object]:
        """For a certificate."""
        return {"among": [list(map(show, self.at(rung))) for rung in self.rungs], "share": show(self.share)}
