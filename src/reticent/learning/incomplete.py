"""Share of rows that lack a value, told by the number of complete rows that a fit buys: post-processing, free.

    incomplete_rows(complete, spread, here)   the share by the noisy number of complete rows; None where it tells none
    words(share)                              the caveat

It needs a public and exact number of rows. Least squares, principal axes and clusters buy the number of complete rows
wherever a row can lack a value.
"""

from __future__ import annotations

import math
from typing import Final

from reticent.learning.circumstances import Circumstances
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply

ATTRIBUTE: Final = "incomplete_rows_"
AT_95: Final = math.log(20) / math.sqrt(2)  # deviations of Laplace's law; a normal law has .966 within as many
WHICH: Final = "lack a value that can be read"


def incomplete_rows(complete: float, spread: float, here: Circumstances) -> Outcome[Estimate] | None:
    """The share of rows that lack a value, from ``complete`` noisy rows with noise of deviation ``spread``."""
    near, rows = here.neighbours, here.people
    if rows is None or here.complete or near.kind != "substitute" or near.rows != 1:
        return None
    if rows < 1:
        return NO_REPLY
    share, radius = 1.0 - complete / rows, AT_95 * spread / rows
    value, low, high = (min(max(x, 0.0), 1.0) for x in (share, share - radius, share + radius))
    return Reply(Estimate(value, low, high, radius, 0.0))


def words(found: Outcome[Estimate]) -> str:
    """The caveat beside a model."""
    match found:
        case Reply(share):
            value, low, high = (f"{100 * part:.1f}" for part in (share.value, share.low, share.high))
            told = f"{value} % of rows, {low} to {high} %, {WHICH}"
        case NoReply():
            told = f"how many rows {WHICH} could not be told"
    return f"{told}: they do not count"


__all__ = ["ATTRIBUTE", "incomplete_rows", "words"]
