"""The target laws, computed apart from the product: 80 decimal digits, and floats for goodness of fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

DIGITS = 80


def exp_minus(x: Fraction) -> Decimal:
    """exp(-x) to 80 digits."""
    with localcontext() as context:
        context.prec = DIGITS
        return (-Decimal(x.numerator) / Decimal(x.denominator)).exp()


def shares(weights: dict[int, Decimal], bits: int) -> dict[int, int]:
    """The integer part of each normalised weight times 2**bits; fails if 80 digits cannot tell."""
    with localcontext() as context:
        context.prec = DIGITS
        total = sum(weights.values(), Decimal(0))
        floors = {}
        for value, weight in weights.items():
            exact = weight / total * (1 << bits)
            floor = int(exact)
            assert floor == 0 or min(exact - floor, floor + 1 - exact) > Decimal(10) ** -40
            floors[value] = floor
        return floors


def laplace_weights(scale: Fraction, reach: int) -> dict[int, Decimal]:
    """exp(-abs(k) / scale) for abs(k) <= reach; reach is far in the tail."""
    return {k: exp_minus(abs(k) / scale) for k in range(-reach, reach + 1)}


def gaussian_weights(variance: Fraction, reach: int) -> dict[int, Decimal]:
    """exp(-k**2 / (2 variance)) for abs(k) <= reach."""
    return {k: exp_minus(Fraction(k * k) / (2 * variance)) for k in range(-reach, reach + 1)}


def chi_square(values: NDArray[np.int64], weight: Callable[[float], float], reach: int) -> float:
    """The p-value of Pearson's test of integers against weights on [-reach, reach]; cells are pooled to 10 expected."""
    from scipy.stats import chi2

    support = np.arange(-reach, reach + 1)
    law = np.array([weight(float(k)) for k in support])
    law /= law.sum()
    seen = np.bincount(np.clip(values, -reach, reach) + reach, minlength=len(support)).astype(float)
    expected, observed, cells = law * len(values), [], []
    hope = count = 0.0
    for e, o in zip(expected, seen, strict=True):
        hope, count = hope + e, count + o
        if hope >= 10:
            cells.append(hope)
            observed.append(count)
            hope = count = 0.0
    cells[-1] += hope
    observed[-1] += count
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, cells, strict=True))
    return float(chi2.sf(statistic, len(cells) - 1))


def kolmogorov(values: NDArray[np.int64], cdf: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float:
    """The p-value of the Kolmogorov-Smirnov test, by the leading term of its limit law (an upper bound)."""
    ordered = np.sort(values.astype(np.float64))
    n = len(ordered)
    below = cdf(ordered)
    grid = np.arange(n + 1) / n
    distance = max(float(np.max(grid[1:] - below)), float(np.max(below - grid[:-1])))
    return min(1.0, 2 * math.exp(-2 * n * distance**2))
