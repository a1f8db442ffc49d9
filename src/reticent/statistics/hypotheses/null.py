"""Laws under a hypothesis by simulation: one public stream, a p-value that counts, the effect that is mostly seen.

The stream is fixed and no part of the release's randomness: a p-value is a function of the released numbers, the same
on every run, and whoever has those numbers may compute it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Simulation, simulated

DRAWS: Final = 9_999
PLANNED: Final = 1_999  # for a plan, where a rough figure will do
HYPOTHESIS: Final = "the law under a hypothesis"  # the stream of every p-value
SEEN, LEVEL = 0.8, 0.05  # what a plan calls seen, and the level it means

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PValue:
    """A p-value with the 95 % range that the number of simulated tables leaves; both ends equal where it is exact."""

    value: float
    low: float
    high: float


def stream(name: str = HYPOTHESIS) -> Simulation:
    """A fresh copy of the public stream of this name."""
    return simulated(name)


def geometric(scale: float, shape: tuple[int, ...], source: Simulation) -> Integers:
    """Two-sided geometric noise of this scale (that of ``Geometric``); 0 where the scale is 0.

    Parameters
    ----------
    scale : float
        In integers.
    shape : tuple of int
    source : Simulation
        The public stream.

    Returns
    -------
    array of that shape, int
    """
    if scale <= 0.0:
        return np.zeros(shape, np.int64)
    stop = -np.expm1(-1.0 / scale)  # P(stop) of either side
    found: Integers = source.geometric(stop, shape) - source.geometric(stop, shape)
    return found


def p_value(observed: float, under: Floats) -> PValue:
    """(1 + number of ``under`` that are at least ``observed``) / (1 + their number): never too small at any number.

    The statistic of the released numbers and those of N simulated tables are exchangeable under the simulated law.
    Hence P(p <= a) <= a for every a = k / (1 + N) (Davison and Hinkley 1997, section 4.2).
    """
    count, reached = len(under), int(np.count_nonzero(under >= observed))
    return PValue((1 + reached) / (1 + count), *_range(reached, count))


def _range(reached: int, count: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % range of a share."""
    from scipy.special import betaincinv

    low = 0.0 if reached == 0 else float(betaincinv(reached, count - reached + 1, 0.025))
    high = 1.0 if reached == count else float(betaincinv(reached + 1, count - reached, 0.975))
    return low, high


def critical(under: Floats, level: float) -> float:
    """The least value that the statistic exceeds with at most ``level`` under the simulated law."""
    ordered = np.sort(under)
    return float(ordered[min(len(ordered) - 1, int(np.ceil((1.0 - level) * (1 + len(ordered)))) - 1)])


def least_seen(power: Callable[[float], float], most: float, *, near: float = 0.05) -> float | None:
    """The least effect in (0, most] with power ``SEEN``, within a share ``near``; None where not even ``most`` has it.

    Parameters
    ----------
    power : callable
        Power by effect, which rises with the effect.
    most : float
        The largest effect there can be.
    near : float
        Largest relative error of the effect.

    Returns
    -------
    float or None
    """
    if power(most) < SEEN:
        return None
    low, high = 0.0, most
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if power(middle) >= SEEN else (middle, high)
        if high - low <= near * high:
            break
    return high
