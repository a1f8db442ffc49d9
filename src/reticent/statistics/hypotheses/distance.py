"""Kolmogorov's distance of a column of integers from normal laws, exactly, in steps of a quarter of a row.

With c(e) the number of values <= e, n that of all, and q a rising table of normal quantiles:

    named    least s with |c(e) - n F(e)| <= s / 4 for every e, F(e) the share of one law up to e, by the table
    any      least s for which a line a e + b lies between q((c(e) - s/4) / n) and q((c(e) + s/4) / n) for every e

which is n times Kolmogorov's distance to one normal law, or to the nearest of all (a line through normal quantiles is
a normal law: a = 1 / deviation). A row that comes, goes or is replaced moves s by at most 4, whatever the table says as
long as it rises: docs/theory/hypotheses.md. So only integers are compared here, and lines by the exact cutting planes
of Kelley (1960) in one variable: no rounding of the table can cost privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from reticent.statistics.hypotheses.null import Integers

STEPS: Final = 4  # of one row
LEVELS: Final = 1 << 18
BITS: Final = 24  # of a quantile
REACH: Final = 1 << 30  # values lie within it, so that all products fit 64 bits
FAR: Final = 1 << 62
STEEP: Final = 1 << 28  # steeper than from any quantile to any other within one step


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DistanceSteps:
    """Corners of an empirical distribution function of ``size`` values, where its distance from a law is largest.

    All arrays ascend and have shape (k,). ``low`` counts the values at most ``left``, and ``high`` those at most
    ``right``. At any other place the function is nearer to a rising law than at one of these.
    """

    left: Integers
    low: Integers
    right: Integers
    high: Integers
    size: int

    def __repr__(self) -> str:
        return "<private counts>"


def steps(values: Integers, counts: Integers) -> DistanceSteps:
    """From distinct ascending values, moved to +-REACH, and how often each occurs: each jump, and just before it."""
    moved = np.clip(values, -REACH, REACH)
    kept = np.append(moved[1:] != moved[:-1], True)[: len(moved)]
    places, below = moved[kept], np.cumsum(counts)[kept]
    before = np.concatenate([[0], below[:-1]])[: len(below)]
    return DistanceSteps(places, below, places - 1, before, int(below[-1]) if len(below) else 0)


def binned(edges: Integers, counts: Integers) -> DistanceSteps:
    """From the counts of bins and the edges between them: the distribution function is known there alone."""
    below = np.cumsum(counts)
    return DistanceSteps(edges, below[:-1], edges, below[:-1], int(below[-1]))


@lru_cache(maxsize=1)
def quantiles() -> Integers:
    """Normal quantiles of k / LEVELS in units of 2^-BITS, rising; the ends, which are infinite, are never looked at."""
    from scipy.special import ndtri

    found = np.rint(ndtri(np.arange(1, LEVELS) / LEVELS) * (1 << BITS)).astype(np.int64)
    ends = np.array([found[0]]), np.array([found[-1]])
    return np.maximum.accumulate(np.concatenate([ends[0], found, ends[1]]))


def from_named(data: DistanceSteps, numerator: int, denominator: int, shift: int) -> int:
    """From the law whose share up to e is that of the normal quantile (e numerator + shift) / denominator.

    ``numerator`` and ``denominator`` are positive; the quantile is in units of 2^-BITS.

    Parameters
    ----------
    data : DistanceSteps
        Steps of the distribution function of the rows.
    numerator, denominator : int
        Positive integers of the scale.
    shift : int
        Integer of the place, in units of 2^-BITS.

    Returns
    -------
    int
        Greatest difference of the shares, in rows times ``LEVELS``.
    """
    worst = 0
    for places, count in ((data.left, data.low), (data.right, data.high)):
        if numerator * (REACH + 1) + abs(shift) < FAR and denominator < FAR:
            reached = (places * numerator + shift) // denominator
        else:
            far = [max(-FAR, min((int(e) * numerator + shift) // denominator, FAR)) for e in places]
            reached = np.array(far, np.int64)
        share = np.searchsorted(quantiles()[1:-1], reached, side="right")
        worst = max(worst, int(np.abs(count * LEVELS - data.size * share).max(initial=0)))
    return -(-STEPS * worst // LEVELS)


def from_any(data: DistanceSteps) -> int:
    """From the nearest normal law."""
    low, high = 0, STEPS * data.size  # not near, near
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _near(data, middle) else (middle, high)
    return high


def _near(data: DistanceSteps, allowed: int) -> bool:
    """Tell if a line lies between the quantiles of the shares less and more ``allowed`` >= 1 quarter rows."""
    whole = STEPS * data.size
    lower = (STEPS * data.low - allowed) * LEVELS // whole
    upper = -(-(STEPS * data.high + allowed) * LEVELS // whole)
    bottom, top = lower > 0, upper < LEVELS
    if not bottom.any() or not top.any():
        return True
    return _between(data.left[bottom], quantiles()[lower[bottom]], data.right[top], quantiles()[upper[top]])


def _between(left: Integers, low: Integers, right: Integers, high: Integers) -> bool:
    """Tell if some line is at least ``low`` at every ``left`` and at most ``high`` at every ``right``.

    Let g(a) = max (low - a left) - min (high - a right), the largest violation at slope a. It is convex, as a maximum
    of lines alpha - beta a. A falling and a rising one of these lines meet below the minimum of g.
    """

    def most(top: int, bottom: int) -> tuple[int, int, int]:
        """g(top / bottom) bottom, and alpha and beta of a line that reaches it."""
        short, over = low * bottom - top * left, high * bottom - top * right
        i, j = int(short.argmax()), int(over.argmin())
        return int(short[i]) - int(over[j]), int(low[i]) - int(high[j]), int(left[i]) - int(right[j])

    falling: tuple[int, int] | None = None
    rising: tuple[int, int] | None = None
    slope = (0, 1)
    while True:
        value, alpha, beta = most(*slope)
        if value <= 0:
            return True
        if beta == 0:
            return False
        if beta > 0:
            falling = (alpha, beta)
        else:
            rising = (alpha, beta)
        if falling is None:
            return False  # already at slope 0 it should be less, and no column falls
        if rising is None:
            slope = (STEEP, 1)
            continue
        slope = (falling[0] - rising[0], falling[1] - rising[1])
        if falling[0] * slope[1] > falling[1] * slope[0]:
            return False  # where they meet, both are above 0


__all__ = [
    "BITS",
    "LEVELS",
    "REACH",
    "STEPS",
    "DistanceSteps",
    "binned",
    "from_any",
    "from_named",
    "quantiles",
    "steps",
]
