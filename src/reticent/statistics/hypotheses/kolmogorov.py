"""The law of Kolmogorov's distance of normal columns without noise, simulated: to the law they have, to the nearest.

The nearest law of a sorted column solves: the least d for which a line passes x_i at or above q(i / n - d) and at or
below q((i - 1) / n + d), q the normal quantile. Three constraints in turn (above, below, above, or the reverse) decide
it, as in the best approximation by lines. Remez's rule exchanges them until none is broken, all columns at once.

sqrt(n) D has a limit, approached like sqrt(n) / (sqrt(n) + c): columns of ``COUNTS`` values stand for all others. For a
named law c = .12 is Stephens's (1974), to which .11 / sqrt(n) belongs; for the nearest c = 1/4 is ours, by simulation
(docs/theory/hypotheses.md).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.statistics.hypotheses import null
from reticent.statistics.hypotheses.null import Floats, Integers

To: TypeAlias = Literal["named", "nearest"]

COLUMNS: Final = null.DRAWS
COUNTS: Final = (12, 16, 24, 32, 48, 64, 96, 128)
ROUNDS: Final = 30  # of exchange at most; a handful are usual
HALVINGS: Final = 34
MOST: Final = 0.8  # of the values of a simulated column at its mean
THIN: Final = 1e-4  # how far values at the mean are spread, so that none are equal
Signs: TypeAlias = NDArray[np.int64]


def distances(size: float, to: To) -> Floats:
    """n D of ``COLUMNS`` simulated columns of about ``size`` independent normal values."""
    held = max((count for count in COUNTS if count <= size), default=COUNTS[0])
    found: Floats = size * _distances(held, to) * _root(held, to) / _root(max(size, 1.0), to)
    return found


def heaped(size: float, to: To, away: float) -> Floats:
    """n D of simulated columns of a law that is ``away`` from all normal laws: normal, but for values at its mean.

    A share 2 ``away`` of the values lies there, so that the distribution function jumps by it and no continuous one is
    nearer than half of that. Columns of fewer values stand for larger ones, at as many standard errors.

    Parameters
    ----------
    size : float
        Number of values.
    to : To
        "named" for the distance to the named law, "nearest" to the nearest normal law.
    away : float
        Distance from all normal laws, in [0, 1/2].

    Returns
    -------
    array of float
        Simulated statistics, shape (PLANNED,).
    """
    from scipy.special import ndtr

    held = max((count for count in COUNTS if count <= size), default=COUNTS[0])
    share = 2.0 * away * math.sqrt(max(size, 1.0) / held)
    if share > MOST:
        return np.full(null.PLANNED, size * away)  # the heap decides, as it is
    source = null.stream("normal columns with values at the mean")
    values = source.standard_normal((null.PLANNED, held))
    heap = source.random((null.PLANNED, held)) < share
    columns = np.sort(np.where(heap, THIN * values, values), axis=1)
    least = _worst(ndtr(columns))[0] if to == "named" else nearest(columns)
    found: Floats = size * least * _root(held, to) / _root(max(size, 1.0), to)
    return found


def _root(size: float, to: To) -> float:
    root = math.sqrt(size)
    return root + 0.12 + 0.11 / root if to == "named" else root + 0.25


@lru_cache(maxsize=2 * len(COUNTS))
def _distances(count: int, to: To) -> Floats:
    from scipy.special import ndtr

    columns = np.sort(null.stream("normal columns").standard_normal((COLUMNS, count)), axis=1)
    found = _worst(ndtr(columns))[0] if to == "named" else nearest(columns)
    found.flags.writeable = False
    return found


def _worst(shares: Floats) -> tuple[Floats, Integers, Signs]:
    """Greatest distance of each column's distribution function from ``shares`` at its values.

    It comes with its place and its sign.
    """
    count, every = shares.shape[1], np.arange(len(shares))
    ranks = np.arange(count)
    above, below = (ranks + 1) / count - shares, shares - ranks / count
    i, j = above.argmax(axis=1), below.argmax(axis=1)
    up = above[every, i] >= below[every, j]
    return np.where(up, above[every, i], below[every, j]), np.where(up, i, j), np.where(up, 1, -1)


def nearest(columns: Floats) -> Floats:
    """The distance of sorted columns of shape (many, n), n >= 12, to the nearest normal law."""
    from scipy.special import ndtr

    every, count = np.arange(len(columns)), columns.shape[1]
    places = np.tile(np.array([count // 10, count // 2, count - 1 - count // 10]), (len(columns), 1))
    signs = np.tile(np.array([1, -1, 1]), (len(columns), 1))
    signs[_apart(columns, places, signs, np.zeros(len(columns)))[0] <= 0.0] *= -1
    found = np.ones(len(columns))
    for _ in range(ROUNDS):
        least, slope, start = _decided(columns, places, signs)
        worst, place, sign = _worst(ndtr(slope[:, None] * columns + start[:, None]))
        found[every] = np.minimum(found[every], worst)
        open_ = worst > least + 1e-9
        if not open_.any():
            break
        every, columns = every[open_], columns[open_]
        places, signs = _exchanged(places[open_], signs[open_], place[open_], sign[open_])
    return found


def _apart(columns: Floats, places: Integers, signs: Signs, allowed: Floats) -> tuple[Floats, Floats, Floats]:
    """Distance of three constraints from having a line at ``allowed``, and their places and heights."""
    from scipy.special import ndtri

    count = columns.shape[1]
    x = np.take_along_axis(columns, places, 1)
    levels = np.where(signs > 0, (places + 1) / count - allowed[:, None], places / count + allowed[:, None])
    y = ndtri(np.clip(levels, 1e-15, 1.0 - 1e-15))
    wide = np.maximum(x[:, 2] - x[:, 0], 1e-15)
    share = (x[:, 1] - x[:, 0]) / wide
    return signs[:, 0] * ((1.0 - share) * y[:, 0] + share * y[:, 2] - y[:, 1]), x, y


def _decided(columns: Floats, places: Integers, signs: Signs) -> tuple[Floats, Floats, Floats]:
    """The least distance that three constraints allow, and its line."""
    low, high = np.zeros(len(columns)), np.ones(len(columns))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        fits = _apart(columns, places, signs, middle)[0] <= 0.0
        low, high = np.where(fits, low, middle), np.where(fits, middle, high)
    _, x, y = _apart(columns, places, signs, high)
    slope = (y[:, 2] - y[:, 0]) / np.maximum(x[:, 2] - x[:, 0], 1e-15)
    return high, slope, y[:, 0] - slope * x[:, 0]


def _exchanged(places: Integers, signs: Signs, place: Integers, sign: Signs) -> tuple[Integers, Signs]:
    """A broken constraint takes the place of a neighbour with its sign, or beyond an end that of the other end."""
    rank = (places <= place[:, None]).sum(axis=1)
    new, turned = places.copy(), signs.copy()
    for before in range(4):
        here = np.flatnonzero(rank == before)
        held, kinds, coming = places[here], signs[here], place[here]
        next_to = kinds[:, max(before - 1, 0)] == sign[here]
        if before == 0:
            moved = np.stack([coming, held[:, 0], held[:, 1]], axis=1)
        elif before == 3:
            moved = np.stack([held[:, 1], held[:, 2], coming], axis=1)
        else:
            moved = held
        same = max(before - 1, 0)
        swapped = held.copy()
        swapped[:, same] = coming
        if 0 < before < 3:
            other = held.copy()
            other[:, before] = coming
            new[here] = np.where(next_to[:, None], swapped, other)
        else:
            new[here] = np.where(next_to[:, None], swapped, moved)
            turned[here] = np.where(next_to[:, None], kinds, -kinds)
    return new, turned


__all__ = ["To", "distances", "heaped", "nearest"]
