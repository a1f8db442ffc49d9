"""Least squares from noisy sums, shrunk as far as their noise asks. No row is read here.

    slopes      a ridge among public multiples of the noise, the one of least estimated risk; no slopes is one of the
                choices, so where the noise hides everything the mean of y is left
    intercept   the line through the noisy means: noise of the mean of y moves no slope
    means       moved to the middle of the bounds by what is noise, where no interval rests on them
    intervals   the sandwich of docs/proofs/regression.md, section 12, of sampling and of the noise of every sum; where
                a ridge was needed there is none, as its bias cannot be told

Source: Wang 2018, Algorithm 1 (AdaSSP); Stein 1981 for the estimate of risk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.learning.descent import Linear
from reticent.learning.scaling import Floats

RIDGES: Final = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)  # in spectral norms of the noise
CLEAR: Final = 2.0  # spectral norms of the noise beyond which directions are told apart
DOUBT: Final = 1.0  # standard deviations of half a risk's noise that a slope has to be worth
STEEPEST: Final = 4.0  # half-widths of y per half-width of a column
MIDDLING: Final = 1.0 / 12.0  # variance of means of columns among tables: evenly in the middle half of the bounds


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Noisy sums of columns and y in [-1, 1], and the standard deviations of their noise; infinite where none is told.

    Attributes
    ----------
    gram : array of shape (1 + columns, 1 + columns)
        Of products of (1, x).
    cross : array of shape (1 + columns,)
        Of y (1, x).
    square : float
        Of y^2.
    """

    gram: Floats
    cross: Floats
    square: float
    of_gram: Floats
    of_cross: Floats
    of_square: float

    @property
    def blur(self) -> float:
        """About the spectral norm of the noise of x x'."""
        return 2.0 * math.sqrt(float((self.of_gram[1:, 1:] ** 2).sum(axis=1).max()))


def solved(sums: Sums) -> Linear:
    """Coefficients (intercept first) with the ridge of least estimated risk, and their covariances."""
    d, n, blur = len(sums.cross) - 1, float(sums.gram[0, 0]), sums.blur
    middle = shrunk(sums.cross[0] / n, sums.of_cross[0] / n)
    if not math.isfinite(blur):
        return Linear(np.array([[float(middle), *[0.0] * d]]), n)
    mean = shrunk(sums.gram[0, 1:] / n, sums.of_gram[0, 1:] / n)
    inner = sums.gram[1:, 1:] - n * np.outer(mean, mean)
    right = sums.cross[1:] - middle * n * mean
    values, turned = np.linalg.eigh(inner)
    values, along = np.maximum(values, 0.0), turned.T @ right
    ridge = _ridge(values, along, turned, blur, float(sums.of_cross[-1]))
    if ridge == 0.0:
        return _with_intervals(sums)
    slopes = turned @ (along / (values + ridge))  # none at an infinite ridge
    return Linear(np.array([[float(middle - slopes @ mean), *slopes]]), n)


def shrunk(means: Floats | float, spread: Floats | float) -> Floats:
    """Noisy means in [-1, 1], moved to its middle by as much as is noise of deviation ``spread``."""
    return np.asarray(np.clip(means, -1.0, 1.0) * MIDDLING / (MIDDLING + np.asarray(spread) ** 2))


def _ridge(values: Floats, along: Floats, turned: Floats, blur: float, of_cross: float) -> float:
    """The ridge of least estimated risk; infinite where no slopes are better than any."""
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
        found = float(values @ slope**2 - 2 * slope @ along) + 2 * of_cross**2 * float((1 / weight).sum())
        found += blur * float(slope @ slope) + DOUBT * of_cross * float(np.linalg.norm(slope))
        if found < best:
            best, ridge = found, ridge_at
    return ridge


def _with_intervals(sums: Sums) -> Linear:
    """Without a ridge, and without moving the means: nothing here has a bias to tell."""
    n = float(sums.gram[0, 0])
    inverse = np.asarray(np.linalg.inv(sums.gram), np.float64)
    beta = np.asarray(inverse @ sums.cross, np.float64)
    left = sums.square - 2.0 * float(beta @ sums.cross) + float(beta @ sums.gram @ beta)
    of_noise = _spread(sums.of_gram, beta) + np.diag(sums.of_cross**2)
    doubt = math.sqrt(sums.of_square**2 + 4.0 * float(beta**2 @ sums.of_cross**2) + float(beta @ of_noise @ beta))
    left = max(left, 0.0) + doubt**2 / max(left, doubt, 1e-300)  # wider by the square of the doubt, where it is small
    variance = left / max(n - len(beta), 1.0)
    sampled = variance * inverse @ sums.gram @ inverse
    return Linear(beta[None, :], n, sampled, inverse @ of_noise @ inverse)


def _spread(deviations: Floats, vector: Floats) -> Floats:
    """Covariance of E v, E symmetric, its entries on and above the diagonal uncorrelated with these deviations."""
    squares = deviations**2
    found = squares * np.outer(vector, vector)
    np.fill_diagonal(found, squares @ vector**2)
    return np.asarray(found)


__all__ = ["Sums", "solved"]
