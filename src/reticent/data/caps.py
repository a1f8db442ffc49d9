"""Public candidates of a cap on the rows of a person that a release chooses privately.

``{ at_most = "auto", ceiling = 256, share = "1/5" }`` declares them: every small number, then ten to a decade, up to a
public ceiling. The ledger's unit is a person with at most ``ceiling`` rows, whichever cap is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.data.bounds import SERIES
from reticent.errors import PublicParameterError
from reticent.privacy.numbers import show

CEILING: Final = 1024
SUPPOSED: Final = 8
SHARE: Final = Fraction(1, 5)
HIGHEST: Final = 1 << 20  # of a ceiling: more candidates than a certificate should hold beyond it
SMALL: Final = tuple(range(1, 9))  # fine where a table may have a hard maximum; then 10, 13, 16, 20, 25, ...


@dataclass(frozen=True, slots=True)
class CapLadder:
    """Ladder of candidate caps up to ``ceiling``; ``share`` of each release pays for the choice."""

    ceiling: int = CEILING
    share: Fraction = SHARE

    def __post_init__(self) -> None:
        if type(self.ceiling) is not int or not 2 <= self.ceiling <= HIGHEST:
            raise PublicParameterError(f"ceiling of the rows of a person is an integer from 2 to {HIGHEST:,}")
        if not isinstance(self.share, Fraction) or not 0 < self.share < 1:
            raise PublicParameterError(f"share of a choice lies between 0 and 1, got {show(Fraction(self.share))}")

    @property
    def rungs(self) -> tuple[int, ...]:
        """The candidates, rising; the last is the ceiling."""
        wide = (size.__ceil__() for size in SERIES if size > SMALL[-1])
        return (*(rung for rung in (*SMALL, *wide) if rung < self.ceiling), self.ceiling)

    @property
    def supposed(self) -> int:
        """The most rows of a person that plans and made-up rows suppose, where no typical number is declared."""
        return SUPPOSED

    @property
    def words(self) -> str:
        """The candidates in short: ``30 caps from 1 to 1,024``."""
        return f"{len(self.rungs)} caps from 1 to {self.ceiling:,}"

    def to_json(self) -> dict[str, object]:
        """For a certificate."""
        return {"ceiling": self.ceiling, "among": list(self.rungs), "share": show(self.share)}
