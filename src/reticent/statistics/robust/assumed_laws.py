"""Probability of a reply for a public shape and a public n, simulated on made-up tables.

The chance of a reply depends on the rows, so for the file it would be an answer of its own. What a plan may show is its
mean over tables drawn from a shape that the asker names. A shape has no unit: every made-up table gets a location and
a scale of its own, so that bins fall anywhere.

``AssumedTable`` is the type a mechanism's ``chance`` takes; nothing but ``made_up`` makes one, and a release has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, assert_never, final

import numpy as np
from numpy.typing import NDArray

from reticent.data.order_statistics import SortedColumn, ordered
from reticent.entropy import Replayed
from reticent.statistics.robust.ptr_test import whole

Floats = NDArray[np.float64]
Shape: TypeAlias = Literal["normal", "lognormal", "cauchy", "uniform"]

UNIT: Final = 1 << 24  # grid steps in one unit of a shape
FARTHEST: Final = 2.0**60  # values of a heavy tail end here
MOST: Final = 4_000_000  # values made up in all for one probability
TABLES: Final = 60


@final
@dataclass(frozen=True, slots=True)
class AssumedTable:
    """A table drawn from a public shape."""

    table: SortedColumn


class Chance(Protocol):
    """A mechanism that can tell the chance of its reply on a public table."""

    def chance(self, public: AssumedTable) -> float: ...


def made_up(shape: Shape, n: int, key: int) -> AssumedTable:
    """``n`` >= 0 values of ``shape`` on the integer grid, with location and scale drawn anew; the same for equal keys.

    One unit of the shape is 2^24 to 2^25 grid steps, its origin within 2^10 units of zero.

    Parameters
    ----------
    shape : name of a law
    n : int
        Number of values, >= 0.
    key : int
        Names the public stream.

    Returns
    -------
    AssumedTable
    """
    words = Replayed(f"made up {shape} {whole(n, 'n', 0)} {key}").words(n + 2)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    unit = UNIT * 2.0 ** float(uniform[0])
    values = _quantile(shape)(uniform[2:]) * unit + (float(uniform[1]) - 0.5) * 2.0**11 * unit
    return AssumedTable(ordered(np.rint(np.clip(values, -FARTHEST, FARTHEST)).astype(np.int64)))


def reply_probability(mechanism: Chance, shape: Shape, n: int, *, tables: int = TABLES) -> float:
    """The mean chance of a reply over tables of ``n`` values made up from ``shape``.

    Parameters
    ----------
    mechanism : Chance
        Prepared for ``n`` values.
    shape : "normal" | "lognormal" | "cauchy" | "uniform"
        Assumed by whoever asks, never found in the file.
    n : int
        Number of values of a table.
    tables : int
        Tables to average over, fewer where n is large; at least 3.

    Returns
    -------
    float
        Probability in [0, 1].

    Accuracy
    --------
    An average of ``tables`` chances: its standard error is at most 1 / (2 sqrt(tables)). No guarantee depends on it.
    """
    runs = max(3, min(tables, MOST // max(n, 1)))
    return math.fsum(mechanism.chance(made_up(shape, n, key)) for key in range(runs)) / runs


def _quantile(shape: Shape) -> Callable[[Floats], Floats]:
    from scipy.special import ndtri

    match shape:
        case "normal":
            return lambda u: np.asarray(ndtri(u))
        case "lognormal":
            return lambda u: np.exp(ndtri(u))
        case "cauchy":
            return lambda u: np.tan(np.pi * (u - 0.5))
        case "uniform":
            return lambda u: u
        case _:
            assert_never(shape)
