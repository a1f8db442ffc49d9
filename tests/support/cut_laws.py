"""Laws with heavy, skewed, contaminated, heaped or infinite values, and their means cut to any interval.

The mean of X cut to [a, b] is a + int_a^b P(X > x) dx: it needs the share above x alone, whatever the tails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tests.support.unbounded_reference import Draw

Array = NDArray[np.float64]
Above = Callable[[Array], Array]
POINTS = 2_000


@dataclass(frozen=True)
class CutLaw:
    """A law by its draws and by the share of it above x; ``mean`` may be infinite. ``knots`` are where it is rough."""

    name: str
    draw: Draw
    above: Above
    mean: float
    knots: tuple[float, ...] = (0.0,)

    def cut_mean(self, low: float, high: float) -> float:
        """The mean of values cut to [low, high]."""
        ends = [np.linspace(low, high, 4 * POINTS + 1)]
        powers = np.geomspace(1e-7, 1e19, POINTS)
        for knot in self.knots:
            around = np.concatenate([knot - powers, [knot], knot + powers])
            ends.append(around[(around > low) & (around < high)])
        x = np.unique(np.concatenate(ends))
        return low + float(np.sum(self.above((x[1:] + x[:-1]) / 2.0) * np.diff(x)))


def _normal(centre: float, spread: float) -> tuple[Draw, Above]:
    return (
        lambda g, n: g.normal(centre, spread, n),
        lambda x: np.asarray(scipy.stats.norm.sf(x, centre, spread)),
    )


def _lognormal(spread: float) -> CutLaw:
    def above(x: Array) -> Array:
        return np.where(x <= 0.0, 1.0, scipy.stats.norm.sf(np.log(np.maximum(x, 1e-300)) / spread))

    name = f"lognormal(0, {spread:g})"
    return CutLaw(name, lambda g, n: g.lognormal(0.0, spread, n), above, math.exp(spread**2 / 2.0))


def mixed(name: str, share: float, usual: tuple[Draw, Above], other: tuple[Draw, Above], mean: float) -> CutLaw:
    """``other`` in a share of the cases."""

    def draw(generator: np.random.Generator, size: int) -> Array:
        which = generator.random(size) < share
        return np.where(which, other[0](generator, size), usual[0](generator, size))

    return CutLaw(name, draw, lambda x: (1.0 - share) * usual[1](x) + share * other[1](x), mean, (0.0, 50.0, 1000.0))


def _heaped() -> CutLaw:
    """Three in ten are 0, the others whole multiples of 5, as answers about costs are."""

    def draw(generator: np.random.Generator, size: int) -> Array:
        return np.where(generator.random(size) < 0.3, 0.0, np.rint(generator.lognormal(2.0, 1.0, size) / 5.0) * 5.0)

    def above(x: Array) -> Array:
        next_edge = np.floor(x / 5.0) * 5.0 + 2.5  # above x means rounded from beyond this
        return np.where(x < 0.0, 1.0, 0.7 * scipy.stats.norm.sf(np.log(np.maximum(next_edge, 1e-9)) - 2.0))

    edges = 5.0 * np.arange(1, 1_000_000) - 2.5
    return CutLaw("heaped at fives", draw, above, float(0.7 * 5.0 * scipy.special.ndtr(2.0 - np.log(edges)).sum()))


def _infinite(generator: np.random.Generator, size: int) -> Array:
    return np.full(size, np.inf)


NORMAL = _normal(0.0, 1.0)
CUT_LAWS = {
    law.name: law
    for law in (
        CutLaw("normal", *_normal(100.0, 1.0), 100.0, (100.0,)),
        _lognormal(1.0),
        _lognormal(2.0),
        CutLaw(
            "Pareto(1.5)",
            lambda g, n: 1.0 + g.pareto(1.5, n),
            lambda x: np.where(x < 1.0, 1.0, np.maximum(x, 1.0) ** -1.5),
            3.0,
        ),
        CutLaw(
            "exponential",
            lambda g, n: g.exponential(1.0, n),
            lambda x: np.where(x < 0.0, 1.0, np.exp(-np.maximum(x, 0.0))),
            1.0,
        ),
        CutLaw("t2", lambda g, n: g.standard_t(2, n), lambda x: np.asarray(scipy.stats.t.sf(x, 2)), 0.0),
        mixed("5 % outliers", 0.05, NORMAL, _normal(1000.0, 10.0), 50.0),
        _heaped(),
        mixed("1 % infinite", 0.01, NORMAL, (_infinite, lambda x: np.ones(len(x))), math.inf),
    )
}
