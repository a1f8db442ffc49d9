"""Least squares from noisy sums of products of bounded columns, shrunk as far as the noise asks: AdaSSP for any width.

    ones      the number of rows (where private) and the sum of y      1/5 of the price
    first     the sums of x                                            1/10
    gram      the upper triangle of x x'                               3/10
    cross     the sums of x y                                          3/10
    square    the sum of y^2                                           1/10

A ridge on the slopes is chosen among public multiples of the noise by an estimate of the risk from the noisy sums, in
which no slopes at all is one of the choices; so where the noise hides everything, the mean of y is left. The interval
is the sandwich of docs/proofs/regression.md, section 12, of sampling and the noise of every sum; where a ridge was
needed there is none, as its bias cannot be told.

Source: Wang 2018, Algorithm 1 (AdaSSP); Stein 1981 for the estimate of risk. Deviations: shares of the price in place
of one draw, rows shortened to a public length, the ridge by an estimate of risk, discrete noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.learning.descent import Linear, spread_of
from reticent.learning.price import Noise, Price, deviation
from reticent.learning.scaling import UNIT, Floats, Integers, Scaling, longest, product, shortened
from reticent.mechanisms import gate
from reticent.privacy.guarantee import Guarantee

ONES: Final = Fraction(1, 5)
FIRST: Final = Fraction(1, 10)
GRAM: Final = Fraction(3, 10)
CROSS: Final = Fraction(3, 10)
SQUARE: Final = Fraction(1, 10)
RIDGES: Final = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)  # in spectral norms of the noise
FEWEST: Final = 1.0
CLEAR: Final = 3.0  # spectral norms of the noise beyond which directions are told apart
DOUBT: Final = 4.0  # standard deviations of half a risk's noise that a slope has to be worth
STEEPEST: Final = 4.0  # half-widths of y per half-width of a column


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Noisy sums in units of bounds, and the standard deviations of their noise."""

    gram: Floats  # of (1, x)
    cross: Floats
    square: float
    of_gram: Floats
    of_cross: Floats


@dataclass(frozen=True)
class Products:
    """Least squares of y in [-1, 1] on columns scaled by ``scaling``, which has no intercept of its own.

    Attributes
    ----------
    scaling : Scaling
    price : Price
    clip : Fraction
        Length of the longest row without the constant: a sum of sizes where the price is pure, else Euclidean.
    people : int or None
        The public number of rows; None buys one.

    Guarantee
    ---------
    Within the price: geometric noise and adding up, or discrete Gaussian noise, zCDP and one conversion.
    """

    scaling: Scaling
    price: Price
    clip: Fraction
    people: int | None = None

    def __post_init__(self) -> None:
        if self.scaling.intercept:
            raise PublicParameterError("the constant is summed apart from the columns")
        if self.clip <= 0 or (self.people is not None and self.people < 1):
            raise PublicParameterError("clip must be > 0, and people >= 1")

    @cached_property
    def reach(self) -> Fraction:
        """The greatest length of a row in steps, squared for l2."""
        given = (self.clip * UNIT) ** 2 if self.price.norm == "l2" else self.clip * UNIT
        return min(Fraction(int(given)), longest(self.scaling.width, self.price.norm))

    @cached_property
    def noises(self) -> tuple[Noise, Noise, Noise, Noise, Noise]:
        """Of ones, first, gram, cross and square."""
        price, reach, one = self.price, self.reach, Fraction(UNIT)
        known = self.people is not None
        if price.norm == "l2":
            ones = (1 if known else 2) * one**4
            rows = (ones, one**2 * reach, reach**2, one**2 * reach, one**4)
        else:
            squares = min(self.scaling.width * one**2, reach * one, reach**2)
            ones = (1 if known else 2) * one**2
            rows = (ones, one * reach, (reach**2 + squares) / 2, one * reach, one**2)
        shares = (ONES, FIRST, GRAM, CROSS, SQUARE)
        a, b, c, d, e = (price.noise(row, share) for row, share in zip(rows, shares, strict=True))
        return a, b, c, d, e

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.price.whole([noise.guarantee for noise in self.noises], "noisy sums of products")

    def draw(self, values: Floats, targets: Floats, entropy: Entropy) -> Linear:
        """The model from rows of shape (n, columns) and targets in [-1, 1] of shape (n,)."""
        return solved(self.sums(values, targets, entropy))

    def sums(self, values: Floats, targets: Floats, entropy: Entropy) -> Sums:
        """The noisy sums; the only step that sees rows."""
        there = np.isfinite(values).all(axis=1) & np.isfinite(targets)
        rows = shortened(self.scaling.whole(values), self.reach, self.price.norm)
        rows = np.asarray(np.where(there[:, None], rows, 0))
        y = np.rint(np.clip(np.where(there, targets, 0.0), -1.0, 1.0) * UNIT).astype(np.int64)[:, None]
        one = np.where(there, UNIT, 0).astype(np.int64)[:, None]
        ones, first, gram, cross, square = self.noises
        of_y = product(one, y).ravel()
        if self.people is None:
            of_ones = _drawn(ones, np.concatenate([product(one, one).ravel(), of_y]), entropy)
        else:
            of_ones = np.concatenate([[float(self.people)], _drawn(ones, of_y, entropy)])
        d = self.scaling.width
        upper = np.triu_indices(d)
        whole = np.zeros((d + 1, d + 1))
        whole[0, 0] = max(of_ones[0], FEWEST)
        whole[0, 1:] = _drawn(first, product(one, rows).ravel(), entropy)
        inner = np.zeros((d, d))
        inner[upper] = _drawn(gram, product(rows, rows)[upper], entropy)
        whole[1:, 1:] = inner
        whole = np.triu(whole) + np.triu(whole, 1).T
        of_cross = np.concatenate([of_ones[1:], _drawn(cross, product(rows, y).ravel(), entropy)])
        (of_square,) = _drawn(square, product(y, y).ravel(), entropy)
        spread = np.full((d + 1, d + 1), deviation(gram)) / UNIT**2
        spread[0, 1:] = spread[1:, 0] = deviation(first) / UNIT**2
        spread[0, 0] = 0.0 if self.people is not None else deviation(ones) / UNIT**2
        of = np.concatenate([[deviation(ones)], np.full(d, deviation(cross))]) / UNIT**2
        return Sums(whole, of_cross, float(of_square), spread, of)


def _drawn(noise: Noise, exact: Integers, entropy: Entropy) -> Floats:
    return np.array(gate.draw(noise, exact.tolist(), entropy), np.float64) / UNIT**2


def solved(sums: Sums) -> Linear:
    """Coefficients (intercept first) with the ridge of least estimated risk, and their covariances."""
    d = len(sums.cross) - 1
    n = float(sums.gram[0, 0])
    mean, at_zero = sums.gram[0, 1:] / n, float(np.clip(sums.cross[0] / n, -1.0, 1.0))
    inner = sums.gram[1:, 1:] - n * np.outer(mean, mean)
    right = sums.cross[1:] - at_zero * n * mean
    values, turned = np.linalg.eigh(inner)
    blur = 2.0 * math.sqrt(d) * float(sums.of_gram[-1, -1])
    values = np.maximum(values, 0.0)
    along = turned.T @ right
    best, ridge = 0.0, math.inf
    if float(values.min()) > CLEAR * blur:
        best, ridge = -math.inf, 0.0  # the columns differ clearly: no ridge, no bias
    for ridge_at in [blur * times for times in RIDGES] if blur else [0.0]:
        weight = values + ridge_at
        if float(weight.min()) <= blur or float(weight.min()) <= 0:
            continue  # the least direction could be noise alone
        slope = along / weight
        if float(np.abs(turned @ slope).max()) > STEEPEST:
            continue  # no table of columns and y in [-1, 1] is told better so
        # slope' S slope - 2 slope' c, unbiased for c's noise; the noise of S enters by its spectral norm
        found = float(values @ slope**2 - 2 * slope @ along) + 2 * float(sums.of_cross[-1]) ** 2 * float(
            (1 / weight).sum()
        )
        found += blur * float(slope @ slope) + DOUBT * float(sums.of_cross[-1]) * float(np.linalg.norm(slope))
        if found < best:
            best, ridge = found, ridge_at
    if math.isinf(ridge):
        return Linear(np.array([[at_zero, *[0.0] * d]]), n)
    full = sums.gram + np.diag([0.0, *[ridge] * d])
    inverse = np.asarray(np.linalg.inv(full), np.float64)
    beta = inverse @ sums.cross
    if ridge:
        return Linear(np.asarray(beta)[None, :], n)  # how far the ridge moved them cannot be told
    return _with_intervals(sums, inverse, np.asarray(beta, np.float64), n)


def _with_intervals(sums: Sums, inverse: Floats, beta: Floats, n: float) -> Linear:
    left = sums.square - 2.0 * float(beta @ sums.cross) + float(beta @ sums.gram @ beta)
    doubt = float(sums.of_cross[-1]) * (1.0 + float(beta @ beta))
    variance = (max(left, 0.0) + doubt) / max(n - len(beta), 1.0)
    of_noise = spread_of(sums.of_gram, beta) + np.diag(sums.of_cross**2)
    sampled = variance * inverse @ sums.gram @ inverse
    return Linear(beta[None, :], n, sampled, inverse @ of_noise @ inverse)


__all__ = ["Products", "Sums", "solved"]
