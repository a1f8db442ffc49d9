"""Share of odd rows in all rows, by noisy counts: its 95 % interval, and the words in which it is told.

share_of(odd, rows, scales)    the share by a noisy number of odd rows, or by rows less those that are not odd
share_of_both(odd, rest, ...)  the share by the noisy odd rows and the noisy rest
words(found, which, then)      the share in words, or that it is left out, or could not be told
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.statistics.intervals import NONE, half_width, too_few

SHARE: Final = Fraction(1, 20)  # of the loss of what a share stands beside
WIDEST: Final = 0.1  # a share that would be known less well than this is not bought
ASSUMED: Final = 10_000  # rows, where their number is private and was not declared


def share_of(odd: float, rows: float, scales: Sequence[float]) -> Outcome[Estimate]:
    """The share of noisy ``odd`` in ``rows``, with the scales of the noises in ``odd - share x rows``."""
    if rows < 1:
        return NO_REPLY
    share, radius = min(max(odd / rows, 0.0), 1.0), half_width(NONE, list(scales)) / rows
    return Reply(Estimate(share, max(share - radius, 0.0), min(share + radius, 1.0), radius, 0.0))


def share_of_both(odd: float, rest: float, scale: float) -> Outcome[Estimate]:
    """The share of noisy ``odd`` rows in these and a noisy ``rest``, both with noise of ``scale``.

    No reply where the noise hides how many rows there are.
    """
    if too_few(odd + rest, [scale, scale]):
        return NO_REPLY
    share = min(max(odd / (odd + rest), 0.0), 1.0)
    return share_of(odd, odd + rest, [scale * (1.0 - share), scale * share])


def words(found: Outcome[Estimate] | None, which: str, then: str) -> str:
    """The share of rows ``which`` have something odd, and ``then`` what becomes of these; None: it is left out."""
    match found:
        case None:
            return f"how many rows {which} is not told, as it would be known to no better than ± 10 %: {then}"
        case Reply(estimate):
            return f"{_percent(estimate)} of rows {which}: {then}"
        case _:
            return f"how many rows {which} could not be told: {then}"


def _percent(estimate: Estimate) -> str:
    """``1.2 % ± 0.4 %``, to the digits that the half-width is worth; ``at most 0.4 %`` where none may be there."""
    radius = 100 * estimate.noise
    digits = 0 if radius >= 0.95 else min(max(1, -math.floor(math.log10(radius))), 6) if radius > 0 else 1
    if estimate.low <= 0.0:
        step = 10.0**-digits
        return f"at most {math.ceil(100 * estimate.high / step - 1e-9) * step:.{digits}f} %"
    return f"{100 * estimate.value:.{digits}f} % ± {radius:.{digits}f} %"


__all__ = ["ASSUMED", "SHARE", "WIDEST", "share_of", "share_of_both", "words"]
