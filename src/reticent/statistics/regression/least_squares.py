"""Least squares from noisy sums, shrunk as far as their noise asks. No row is read here.

    slopes      a ridge among public multiples of the noise, the one of least estimated risk; no slopes is one of the
                choices, so where the noise hides everything the mean of y is left
    intercept   the line through the noisy means: noise of the mean of y moves no slope
    means       moved to the middle of the bounds by what is noise, as no interval rests on them

Source: Wang 2018, Algorithm 1 (AdaSSP); Stein 1981 for the estimate of risk.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from reticent.statistics.regression.sums import NoisySums
from reticent.statistics.scaling import Floats

RIDGES: Final = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)  # in spectral norms of the noise
CLEAR: Final = 2.0  # spectral norms of the noise beyond which directions are told apart
DOUBT: Final = 1.0  # standard deviations of half a risk's noise that a slope has to be worth
STEEPEST: Final = 4.0  # half-widths of y per half-width of a column
AT_95: Final = 1.959963984540054
MIDDLING: Final = 1.0 / 12.0  # variance of means of columns among tables: evenly in the middle half of the bounds


def solved(sums: NoisySums, *, intercept: bool) -> Floats:
    """Coefficients of the features with the ridge of least estimated risk."""
    if not intercept:
        return _slopes(sums.gram, sums.cross, blur_of(sums.of_gram), float(sums.of_cross.max()))
    n, blur = max(float(sums.gram[0, 0]), 1.0), blur_of(sums.of_gram[1:, 1:])
    middle = shrunk(sums.cross[0] / n, sums.of_cross[0] / n)
    if sums.width == 1:
        return np.array([float(middle)])
    mean = shrunk(sums.gram[0, 1:] / n, sums.of_gram[0, 1:] / n)
    inner = sums.gram[1:, 1:] - n * np.outer(mean, mean)
    right = sums.cross[1:] - middle * n * mean
    slopes = _slopes(inner, right, blur, float(sums.of_cross[-1]))
    return np.array([float(middle - slopes @ mean), *slopes])


def _slopes(inner: Floats, right: Floats, blur: float, of_cross: float) -> Floats:
    values, turned = np.linalg.eigh(inner)
    values, along = np.maximum(values, 0.0), turned.T @ right
    ridge = _ridge(values, along, turned, blur, of_cross)
    return np.asarray(turned @ (along / np.maximum(values + ridge, 1e-300)))  # none at an infinite ridge


def blur_of(deviations: Floats) -> float:
    """About the spectral norm of a symmetric matrix of noise."""
    return 2.0 * math.sqrt(float((deviations**2).sum(axis=1).max(initial=0.0)))


def hidden(of_gram: Floats, squares: Floats) -> float:
    """Relative size of the noise of X'X, whose diagonal is ``squares``; from 1 on, no interval or no inverse exists.

    It is the larger of two numbers: 3.92 deviations of a square's noise (``sandwich.CLEAR``) and the spectral norm.
    """
    relative = of_gram / np.sqrt(np.outer(squares, squares))
    return max(2 * AT_95 * float(np.diag(relative).max()), blur_of(relative))


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


__all__ = ["blur_of", "hidden", "shrunk", "solved"]
