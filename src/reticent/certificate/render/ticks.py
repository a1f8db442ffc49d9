"""Ticks along the axes of a figure: few, round, apart from each other, and written alike.

date_ticks(low, high, step)    firsts of periods between two dates
apart(ticks, most)             those that stand apart on a scale of square roots
formatter(ticks)               the same decimals on every tick
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from reticent import calendar
from reticent.certificate.render.tables import number

if TYPE_CHECKING:
    from matplotlib.ticker import MaxNLocator

MOST_DATES: Final = 4  # on an axis: their texts are long
MOST_TIMES: Final = 3
TICKS_APART: Final = 0.16  # of the height of a scale of shades


def date_ticks(low: float, high: float, step: int) -> list[int]:
    """Ticks between two dates: firsts of the longest period that has two, so few that their texts stand apart.

    Parameters
    ----------
    low, high : float
        The dates, in steps since 1970.
    step : int
        Seconds of a step.

    Returns
    -------
    list of int
        In steps; empty where no day lies between.
    """
    first = max(math.ceil(low), calendar.FIRST // step)
    last = min(math.floor(high), calendar.LAST // step)
    if first > last:
        return []
    most = MOST_DATES if step == calendar.DAY else MOST_TIMES
    for period in calendar.PERIODS[::-1]:
        days = calendar.firsts(first, last, step, period)
        found = [place for day in days if (place := day * calendar.DAY // step) >= first]
        if len(found) > 1:
            return found[:: -(-len(found) // most)]
    return sorted({first, last})


def few() -> MaxNLocator:
    """Round numbers, about four."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def apart(ticks: Iterable[float], most: float) -> list[float]:
    """Those of rising ticks that stand apart on a scale of square roots that ends at ``most``, the last of them too."""
    found: list[float] = []
    for tick in sorted((float(tick) for tick in ticks if 0.0 <= tick <= most), reverse=True):
        if not found or math.sqrt(found[0] / most) - math.sqrt(tick / most) >= TICKS_APART:
            found.insert(0, tick)
    return found


def formatter(ticks: Sequence[float], *, years: bool = False) -> Callable[[float, float], str]:
    """The same decimals on every tick of an axis, as few as their step allows; years have no mark between thousands.

    Parameters
    ----------
    ticks : sequence of float
    years : bool

    Returns
    -------
    function
    """
    step = abs(ticks[1] - ticks[0]) if len(ticks) > 1 else 1.0
    places = next((d for d in range(7) if abs(step * 10**d - round(step * 10**d)) < 1e-6 * step * 10**d), None)
    if places is None or max(map(abs, ticks)) >= 1e12:
        return lambda value, _: f"{value:.4g}"
    return lambda value, _: number(value, places).replace("," if years else "", "")
