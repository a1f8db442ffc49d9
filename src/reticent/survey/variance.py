"""Precision of an estimate: variances, design effects and the number of people for a margin, from a design alone.

With c = P(supported | true), d = P(supported | not true) and s = f c + (1 - f) d, the estimate (heard - d) / (c - d) of
a share f has the variance s (1 - s) / (n (c - d)^2) for every design of shares (docs/proofs/local.md, 1).
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError
from reticent.mechanisms.local_mean import LocalMean
from reticent.survey.design_record import DesignRecord, chances, whole_up

MOST = 10**15


def of_share(hit: Fraction, miss: Fraction, share: float) -> float:
    """n times the variance of the estimate of one share.

    Parameters
    ----------
    hit, miss : Fraction
        Chance that the answer is supported by a truth that is it, and by another.
    share : float
        True share, in [0, 1].

    Returns
    -------
    float
    """
    heard = share * float(hit) + (1 - share) * float(miss)
    return heard * (1 - heard) / float(hit - miss) ** 2


def worst_share(hit: Fraction, miss: Fraction) -> float:
    """The share at which ``of_share`` is largest."""
    return min(1.0, max(0.0, (0.5 - float(miss)) / float(hit - miss)))


def of_places(made: LocalMean) -> NDArray[np.float64]:
    """The variance of the value heard for each truth 0 .. cells, in cells squared.

    The mean of value^2 is that over all places plus what the window has more, by running sums.
    """
    places = np.arange(made.places, dtype=np.float64)
    slope = float((made.ratio * made.width + made.cells) / ((made.ratio - 1) * made.width))
    value = slope * places + float(made.value(0))
    below = np.concatenate([[0.0], np.cumsum(value**2)])
    window = below[made.width :] - below[: made.cells + 1]
    weight = float(made.ratio * made.width + made.cells)
    second = (below[-1] + float(made.ratio - 1) * window) / weight
    return np.asarray(second - np.arange(made.cells + 1, dtype=np.float64) ** 2)


def worst_mean(made: LocalMean) -> float:
    """The largest variance of one value heard, rounding to the grid included, in units of the range squared."""
    at = of_places(made)
    share = np.linspace(0, 1, 9)[:, None]
    between = (1 - share) * at[:-1] + share * at[1:] + share * (1 - share)
    return float(max(at.max(), between.max())) / made.cells**2


def design_effect(design: DesignRecord, share: float | None) -> float:
    """See ``Design.design_effect``."""
    made = design.mechanism
    if isinstance(made, LocalMean):
        if share is None or not share > 0:
            raise PublicParameterError("name the standard deviation of the truths, above 0, in units of the answer")
        return 1 + worst_mean(made) * width(design) ** 2 / share**2
    if share is None or not 0 < share < 1:
        raise PublicParameterError("name a share between 0 and 1")
    return of_share(*chances(design), share) / (share * (1 - share))


def people_for(design: DesignRecord, margin: float, *, share: float | None, level: float) -> int:
    """See ``Design.people_for``.

    Parameters
    ----------
    design : DesignRecord
    margin : float
        Half-width: a share, or the unit of a number.
    share : float or None
        Expected share, or standard deviation; None for the worst case.
    level : float
        Coverage, in (0, 1).

    Returns
    -------
    int
        Number of answers, >= 1.

    Raises
    ------
    PublicParameterError
        A margin or level out of range, or one that no survey reaches.
    """
    if not 0 < margin < math.inf or not 0 < level < 1:
        raise PublicParameterError("margin is above 0, level between 0 and 1")
    made = design.mechanism
    if isinstance(made, LocalMean):
        spread = width(design) / 2 if share is None else share  # no number in the range has a larger one
        one = worst_mean(made) * width(design) ** 2 + spread**2
    else:
        hit, miss = chances(design)
        one = of_share(hit, miss, worst_share(hit, miss) if share is None else share)
    people = quantile(level) ** 2 * one / margin**2
    if people > MOST:
        raise PublicParameterError("no survey is that large: a wider margin, or a larger ε")
    return max(1, whole_up(people))


def width(design: DesignRecord) -> float:
    """high - low."""
    if design.low is None or design.high is None:
        raise PublicParameterError("this design is not about a number")
    return float(design.high - design.low)


def quantile(level: float) -> float:
    """The normal deviate beyond which (1 - level) / 2 lies on each side."""
    return NormalDist().inv_cdf((1 + level) / 2)
