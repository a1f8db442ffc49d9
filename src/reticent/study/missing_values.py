"""A plan of quantiles whose reply or width hangs on rows without a value, of which nobody told the share."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

from reticent.statistics.context import joined, sure

if TYPE_CHECKING:
    from reticent.data.schema import Schema
    from reticent.statistics.context import ExpectedAccuracy
    from reticent.study.allocation import PreparedRelease

ALL: Final = "no value missing"
HALF: Final = "half of the values missing"
PART: Final = Fraction(1, 2)
IN_PROPORTION: Final = 2.2  # times the widest noise: half of the values have twice, and a little more


def with_half_missing(
    found: ExpectedAccuracy, made: PreparedRelease, place: int, people: int, schema: Schema
) -> ExpectedAccuracy:
    """An expectation with the replies and the widest noise of half of the values, where these are much worse.

    Parameters
    ----------
    found : ExpectedAccuracy
        Where every row has a value, which nobody told.
    made : PreparedRelease
    place : int
        Of the answer, which is made of sorted values.
    people : int
        Supposed number of persons.
    schema : Schema
        Of the study.

    Returns
    -------
    ExpectedAccuracy
        ``found`` itself of columns whose missing cells have a public value, and of rows that a filter chose.
    """
    if made.filters(where=schema.where is not None):
        return found
    if made.counted(place, people, passing=PART, schema=schema) == people:
        return found
    fewer = made.expected(place, people, passing=PART, schema=schema)
    replies = joined((ALL, found.replies), (HALF, fewer.replies))
    hangs = sure(found.replies) and not sure(fewer.replies)
    noise, most = _widest(fewer, "noise"), _widest(found, "noise")
    others = found.others
    if noise is not None and most is not None and (hangs or noise > IN_PROPORTION * most):
        others = (*others, (HALF, noise, _widest(fewer, "sampling")))
    return replace(found, replies=replies if hangs else found.replies, others=others)


def _widest(found: ExpectedAccuracy, part: Literal["noise", "sampling"]) -> float | None:
    """The greatest half-width of one part over all public shapes."""
    every = [(found.noise, found.sampling), *((noise, sampling) for _, noise, sampling in found.others)]
    return max((width for pair in every if (width := pair[part == "sampling"]) is not None), default=None)
