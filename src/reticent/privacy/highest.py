"""The finite law whose privacy profile is the pointwise maximum of several, at the points of a grid.

    law(pair, composed)   losses, and their masses under P: of a pair that dominates every branch

The profile of a pair, h(a) = E_Q (p/q - a)+, is convex in a = e^epsilon, and so is the maximum f of several. Points of
a grid carry upper bounds of f. The lower convex hull g of these points is at or above f: between two of its corners g
is a chord of bounds, which is above the chord of f, and that is above f. Let g be convex and fall from slope -1 to
slope 0. It is the profile of the pair with mass q = (rise of the slope) and p = a q at each corner a. All of this is
exact.

The branches are symmetric, so h(1/a) = 1 - 1/a + h(a) / a, and the maximum is symmetric too; the points below 1 come
from those above. Proof: docs/proofs/composition.md, section One of several.
Source: Zhu, Dong and Wang 2022, Proposition 8 (which functions are profiles); the rest is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import log
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.exact.rounding import exp_up
from reticent.privacy.pairs import Bounded, Highest, most_of

Floats: TypeAlias = NDArray[np.float64]
Branch: TypeAlias = tuple[tuple[Bounded, int], ...]
Point: TypeAlias = tuple[Fraction, Fraction, float]  # a = e^loss, a bound of the profile there, the loss
POINTS: Final = 256
PLACES: Final = 64  # binary places of a
UNIT: Final = 2.0**-53


class Profile(Protocol):
    """The profile of a product of pairs, at or above the exact one."""

    def delta(self, epsilon: Fraction) -> Fraction: ...


@lru_cache(maxsize=256)
def law(pair: Highest, composed: Callable[[Branch], Profile]) -> tuple[Floats, Floats]:
    """Losses and the logarithms of their masses under P, each at or above the exact one.

    ``composed`` gives the profile of a branch; it stands above this file, since it may ask for a law in turn.
    """
    corners = _hull(_points(pair, composed))
    slopes = [
        Fraction(-1),
        *(_slope(one, other) for one, other in pairwise(corners)),
        Fraction(0),
    ]
    masses = [at * (after - before) for (at, _, _), before, after in zip(corners, slopes, slopes[1:], strict=False)]
    return np.array([loss for _, _, loss in corners]), np.array([_log_up(mass) for mass in masses])


def _points(pair: Highest, composed: Callable[[Branch], Profile]) -> list[Point]:
    """Bounds of the highest profile, from the left to the right; 0 at the largest loss."""
    most = pair.most
    ends = {sum((most_of(part) * times for part, times in branch), Fraction(0)) for branch in pair.branches}
    profiles = [composed(branch) for branch in pair.branches]
    right: list[Point] = []
    for loss in sorted({most * place / POINTS for place in range(1, POINTS + 1)} | ends):
        at = Fraction((exp_up(loss) * (1 << PLACES)).__ceil__(), 1 << PLACES)
        right.append((at, max(profile.delta(loss) for profile in profiles), float(loss)))
    left = [(1 / at, 1 - 1 / at + height / at, -loss) for at, height, loss in reversed(right)]
    return left + right


def _hull(points: list[Point]) -> list[Point]:
    """The corners of the lower convex hull of points that stand in order."""
    found: list[Point] = []
    for point in points:
        while len(found) > 1 and _slope(found[-2], found[-1]) >= _slope(found[-1], point):
            found.pop()
        found.append(point)
    return found


def _slope(one: Point, other: Point) -> Fraction:
    return (other[1] - one[1]) / (other[0] - one[0])


def _log_up(mass: Fraction) -> float:
    """ln of a mass, at or above; -inf for none."""
    if not mass:
        return -np.inf
    above, below = log(mass.numerator), log(mass.denominator)
    return above - below + 8 * UNIT * (above + below + 1)


__all__ = ["law"]
