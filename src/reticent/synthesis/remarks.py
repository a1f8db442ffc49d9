"""Values of a column with a mass of their own that a search would have found, with the least share of records for it.

Noticed("cost", "0 and 600", .001), Noticed("cost", "any value", .06) -> words
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from reticent import calendar
from reticent.errors import PublicParameterError
from reticent.privacy.numbers import show


@dataclass(frozen=True, slots=True)
class NoticedAtoms:
    """Atoms of a column that a search with noise finds.

    Attributes
    ----------
    column : str
    among : str
        The public values that were looked at, in words.
    share : float
        The least share of the records at one of them, in (0, 1], that is found in 95 % of releases; 1 where none is.
    """

    column: str
    among: str
    share: float

    def __post_init__(self) -> None:
        if isinstance(self.share, bool) or not 0.0 < self.share <= 1.0:
            raise PublicParameterError(f"the share that is found is above 0 and at most 1, got {self.share}")

    @property
    def words(self) -> str:
        return f"{100.0 * self.share:.2g} % ({self.among})"

    def to_json(self) -> dict[str, object]:
        return {"column": self.column, "among": self.among, "share": self.share}


def public_values(values: Sequence[Fraction], bounds: tuple[float, float], step: int) -> str:
    """The words for values that are looked at by themselves; a bound is said to be one, since it has what is beyond it.

    Parameters
    ----------
    values : sequence of Fraction
        In the unit of the column.
    bounds : pair of float
        Its lowest and its highest value.
    step : int
        Seconds of a step of a column of dates; 0 of numbers.

    Returns
    -------
    str
        ``5 and its bounds 0 and 600, where values beyond count too``.
    """
    ends, inner = list[str](), list[str]()
    for value in values:
        told = calendar.text(float(value), step) if step else show(value)
        (ends if float(value) in bounds else inner).append(told)
    bound = f"its bound{'s' * (len(ends) > 1)} {' and '.join(ends)}, where values beyond count too"
    listed = [*inner, *([bound] if ends else [])]
    return " and ".join(filter(None, [", ".join(listed[:-1]), *listed[-1:]]))


def whole_word(step: int) -> str:
    """The words for every value of a column of whole numbers, or of dates with so many seconds of a step."""
    return f"any {calendar.Calendar(step).resolution}" if step else "any whole number"


def from_json(fields: Mapping[str, Any]) -> NoticedAtoms:
    """Inverse of ``to_json``."""
    return NoticedAtoms(str(fields["column"]), str(fields["among"]), float(fields["share"]))


def sentence(column: str, noticed: Iterable[NoticedAtoms]) -> str:
    """Sentence on the use of rows for single values of a column."""
    found = [one for one in noticed if one.column == column]
    if not found:
        return f"not single values of {column}: none that many records share was looked for, and such a one is spread"
    seen = [one.words for one in found if one.share < 1.0]
    if not seen:
        return f"not single values of {column}: the noise hides how many records share one"
    rest = "rarer ones are" if any("any" in one.among for one in found if one.share < 1.0) else "all others are"
    least = f"one that at least {' or '.join(seen)} of the records share"
    return f"single values of {column}: {least} keeps its share; {rest} spread over those near"
