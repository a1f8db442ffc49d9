"""Privacy-loss distributions by listing all outputs, in extended precision: what the fast numerics are held against.

Written from the definitions of the mechanisms, not from the formulas of the product; what is left out in the tails
makes the reference smaller, never larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.privacy.pairs import Coin, DiscreteGaussianShift, GeometricShift, Pair, SampledPair

NEGLIGIBLE = 1e-27
Long: TypeAlias = NDArray[np.longdouble]
Laws: TypeAlias = tuple[Long, Long]  # the masses of the outputs under P and under Q


def long(x: Fraction | int) -> Any:
    return np.longdouble(Fraction(x).numerator) / np.longdouble(Fraction(x).denominator)


def listed(pair: Pair) -> Laws:
    """All outputs; noise is listed until it weighs below 1e-40."""
    match pair:
        case Coin(epsilon, delta):
            odds, lost = np.exp(long(epsilon)), long(delta)
            right = (1 - lost) * odds / (1 + odds)
            return np.array([lost, right, 1 - lost - right, 0]), np.array([0, 1 - lost - right, right, lost])
        case GeometricShift(scale, shift):
            reach = int(100 * scale) + shift + 5
            k = np.arange(-reach, reach + 1).astype(np.longdouble)
            ratio = np.exp(-1 / long(scale))
            front = (1 - ratio) / (1 + ratio)
            return front * np.exp(-np.abs(k) / long(scale)), front * np.exp(-np.abs(k - shift) / long(scale))
        case DiscreteGaussianShift(variance, shift):
            reach = isqrt(int(200 * variance)) + shift + 5
            k = np.arange(-reach, reach + 1).astype(np.longdouble)
            p, q = np.exp(-k * k / (2 * long(variance))), np.exp(-((k - shift) ** 2) / (2 * long(variance)))
            whole = p.sum()
            return p / whole, q / whole
        case SampledPair(inner, rate):
            p, q = listed(inner)
            return (1 - long(rate)) * q + long(rate) * p, q
        case _:
            raise AssertionError("not a list of outputs")


def product(laws: Sequence[Laws]) -> Laws:
    """Independent outputs; those with one ratio are counted together."""
    p, q = np.ones(1, np.longdouble), np.ones(1, np.longdouble)
    for more_p, more_q in laws:
        p, q = merged(np.outer(p, more_p).ravel(), np.outer(q, more_q).ravel())
    return p, q


def merged(p: Long, q: Long) -> Laws:
    held = p > NEGLIGIBLE  # what is left out makes the reference smaller
    p, q = p[held], q[held]
    with np.errstate(divide="ignore"):
        loss = np.round((np.log(p) - np.log(q)).astype(np.float64), 11)
    loss = np.where(q == 0, np.inf, np.where(p == 0, -np.inf, loss))
    _, group = np.unique(loss, return_inverse=True)
    found_p, found_q = np.zeros(group.max() + 1, np.longdouble), np.zeros(group.max() + 1, np.longdouble)
    np.add.at(found_p, group, p)
    np.add.at(found_q, group, q)
    return found_p, found_q


def laws_of(parts: Sequence[tuple[Pair, int]]) -> list[Laws]:
    """The product in each direction."""
    forward = [listed(pair) for pair, times in parts for _ in range(times)]
    return [product(forward), product([(q, p) for p, q in forward])]


def delta_at(laws: Sequence[Laws], epsilon: float) -> float:
    return float(max(np.maximum(p - np.exp(np.longdouble(epsilon)) * q, 0).sum() for p, q in laws))


def epsilon_at(laws: Sequence[Laws], delta: float) -> float:
    """The least epsilon >= 0, from below, to 1e-13 of it."""
    low, high = 0.0, 1.0
    if delta_at(laws, 0.0) <= delta:
        return 0.0
    while delta_at(laws, high) > delta and high < 1000:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(laws, middle) > delta else (low, middle)
    return low
