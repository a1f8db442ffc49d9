"""Possible values of an answer, from public bounds: a draw beyond them is shown at the nearest one, and so are ends.

possible(asked, setting)    least and greatest value; None where nothing is known
nearest(outcome, ends)      post-processing: what is estimated lies between the ends, so no interval loses it
"""

from __future__ import annotations

import math
from typing import TypeAlias

from reticent.outcome import Estimate, NoReply, Outcome, Reply
from reticent.statistics import ranks
from reticent.statistics.context import Setting
from reticent.statistics.intervals import within_bounds
from reticent.statistics.moments.mean import Mean
from reticent.statistics.quantiles.iqr import Iqr
from reticent.statistics.quantiles.rank_statistic import RankStatistic
from reticent.statistics.robust.location import Location
from reticent.statistics.robust.scale import Scale
from reticent.statistics.robust.trimmed_mean import TrimmedMean

Ends: TypeAlias = tuple[float, float]


def possible(asked: Mean | RankStatistic | Iqr | Scale | TrimmedMean | Location, setting: Setting) -> Ends | None:
    """Between bounds named or declared; the distance of two quantiles from 0 to the distance of bounds."""
    _, bounds = ranks.candidates(asked.column, getattr(asked, "low", None), getattr(asked, "high", None), setting)
    distance = asked.axis == "spread"
    if bounds is None:
        return (0.0, math.inf) if distance else None
    low, high = float(bounds[0]), float(bounds[1])
    return (0.0, float(bounds[1] - bounds[0])) if distance else (low, high)


def nearest(outcome: Outcome[Estimate], ends: Ends | None) -> Outcome[Estimate]:
    """The outcome with its value moved to the nearest possible one, and its interval with it."""
    match outcome:
        case Reply(found) if ends is not None:
            return Reply(within_bounds(found, *ends))
        case Reply() | NoReply():
            return outcome
