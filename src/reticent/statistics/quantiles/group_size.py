"""Numbers of values and ties of a group, which are released before any quantile."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from reticent.data.query_result import Counts
from reticent.mechanisms.geometric import Geometric
from reticent.statistics.context import beyond
from reticent.statistics.intervals import two_laplace_tail
from reticent.statistics.quantiles.shapes import TIED

BETA: Final = 1e-3  # a drawn cell is the prior's and not the data's with at most this probability
FLATTERED: Final = 5e-3  # noise makes few values look like enough with at most this probability
TOLD: Final = 2e-2  # noise alone is as many ties, up or down, with this probability
PERHAPS: Final = 3e-1  # the same where values are few: one atom of many of them would not be told
LUCKY: Final = 5e-2  # the same of values too few to be told from the candidates, where an interval is wide and holds
LESS: Final = two_laplace_tail(LUCKY) / two_laplace_tail(FLATTERED)
STEPS_OF_SCALE: Final = 512
UNHELD: Final = 1e18  # rows that no table has
CROWD: Final = 8  # values equal to fewer others than this are no ties: an end may well stop within so many ranks


@dataclass(frozen=True, slots=True)
class GroupSize:
    """Noisy number of values of a group, and a verdict on ties; both are released before any quantile.

    ``surely`` is a lower confidence bound of the number of values. ``tied`` is None where ties were not counted. Values
    of weighted rows count as their weights. ``variance`` is that of the sampling error of a rank, where it was bought.
    ``perhaps`` tells of ties that may be noise: where values are few, they are taken for ties.
    """

    values: float
    tied: bool | None
    surely: float
    variance: float | None = None
    perhaps: bool = False

    @property
    def likely(self) -> float:
        """Number of values that noise makes of fewer with probability ``LUCKY`` at most."""
        return max(self.values - LESS * (self.values - self.surely), 0.0)


def values_and_ties(data: Counts, crowd: int, *, replaced: bool) -> tuple[int, int]:
    """Two numbers that tell how many values there are, and how many of them lie beyond the ``crowd``-th of their cell.

    The pair is (others, ties); a row added or removed changes one of them by one. With ``replaced``, the first number
    is values plus others. A replaced row then moves the pair by at most two, also when it loses its value. Half the
    sum of both is the number of values and has half the noise (docs/proofs/quantiles.md).

    Parameters
    ----------
    data : Counts
        Values by candidate, private.
    crowd : int
        Values of a cell that do not count as tied.
    replaced : bool
        True where neighbours replace a row.

    Returns
    -------
    pair of int
    """
    values, ties = data.total, data.beyond(crowd)
    return (2 * values if replaced else values) - ties, ties


def size_of(pair: tuple[int, ...], mechanism: Geometric, *, replaced: bool) -> GroupSize:
    """Estimate the number of values and detect ties from the two noisy numbers.

    Parameters
    ----------
    pair : tuple of int
        The two noisy numbers.
    mechanism : Geometric
        Their noise.
    replaced : bool
        True where neighbours replace a row.

    Returns
    -------
    GroupSize
    """
    first, ties = pair
    values = (first + ties) / (2.0 if replaced else 1.0)
    tied, perhaps = (ties > max(mechanism.radius(beta), TIED * values) for beta in (TOLD, PERHAPS))
    return GroupSize(values, tied, values - unsure(mechanism, replaced=replaced), perhaps=perhaps)


def unsure(mechanism: Geometric, *, replaced: bool) -> float:
    """Values that noise may have made of none, but for probability ``FLATTERED``."""
    return two_laplace_tail(FLATTERED) * float(mechanism.scale) / (2.0 if replaced else 1.0)


def chance_of(
    found: dict[Hashable, float], rule: Hashable, holds: Callable[[float], bool], number: float, scale: float
) -> float:
    """P(holds(number + noise)) of two Laplace parts, as of ``passing``, for a condition asked of many numbers.

    Parameters
    ----------
    found : dict
        Least numbers by rule: one is searched for once, for all groups and all numbers of people of a plan.
    rule : hashable
        Name of the condition there.
    holds : callable
        The rule of a release: it decides by a released number alone, and not at 0.
    number : float
        The true number, as a plan supposes it.
    scale : float
        That of either part; 0 where the number is public.

    Returns
    -------
    float
    """
    if not scale:
        return 1.0 if holds(number) else 0.0
    if rule not in found:
        found[rule] = _least_passing(holds, scale)
    return beyond(found[rule] - number, [scale, scale])


def _least_passing(holds: Callable[[float], bool], scale: float) -> float:
    """The number from which on a condition holds, to .2 % of a scale; infinite where no table has so many rows."""
    low, high = 0.0, scale
    while not holds(high):
        low, high = high, 2.0 * high
        if high > UNHELD:
            return math.inf
    # at a scale below the distance of doubles none may lie between
    while high - low > scale / STEPS_OF_SCALE and low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
