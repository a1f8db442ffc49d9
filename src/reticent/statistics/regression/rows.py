"""Rows of a regression as integers, and the objective of 003 (23) in exact arithmetic.

    row           (y, x_1, ..., x_p), integers on public grids
    coefficients  multiples of 2^-places of one step of y per step of x: beta_d = B_d 2^-places, B_d an integer or
    rational residual      y 2^places - x . B
    objective     f(B) = sum of w |residual|, w = floor(2^30 / |x|) (0 where x = 0): 2^30 times 003's, in steps of B
    pull          w x, the gradient one row can have; |w x| <= 2^30 = ONE, so one row pulls by at most one row

A row beyond the limits is clamped: that is a map of each row by itself, so neighbours stay neighbours.

Deviations. 003 divides by the irrational |x|. Here 1/|x| is rounded down to a multiple of 2^-30. So the objective is a
sum of integers and no row pulls by more than one, which is all that the proofs need. A row with x = 0 has weight 0 in
both.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError

Integers = NDArray[np.int64]

BITS: Final = 30
ONE: Final = 1 << BITS  # the pull of one row
LARGEST_X: Final = 1 << 15
LARGEST_TARGET: Final = 1 << 46  # of y 2^places
REACH: Final = 1 << 30  # coefficients looked at, in steps of their grid
MOST_COLUMNS: Final = 8
CHUNK: Final = 1 << 15
LIMB: Final = 21
HALF: Final = 26


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RegressionRows:
    """The rows of one table, within the limits; made by ``rows``."""

    target: Integers  # y 2^places
    x: Integers  # shape (n, p)
    weight: Integers
    places: int

    @property
    def columns(self) -> int:
        return int(self.x.shape[1])

    def __len__(self) -> int:
        return len(self.target)

    @property
    def pull(self) -> Integers:
        """w x of every row, shape (n, p), in units of 2^-30 rows."""
        return self.weight[:, None] * self.x

    def residuals(self, point: tuple[int, ...], *, fine: int = 0) -> Integers:
        """2^fine times the residuals at B = point 2^-fine; |point| <= REACH 2^fine, fine <= 14."""
        return (self.target << fine) - self.x @ np.array(point, np.int64)

    def spanned(self) -> bool:
        """Tell if the rows span all p directions, which holds exactly when the set of solutions is bounded."""
        gram = self.x.T @ self.x  # below 2^30 n
        return determinant([[int(value) for value in line] for line in gram]) != 0


def rows(y: Integers, x: Integers, *, places: int) -> RegressionRows:
    """``y`` of shape (n,) and ``x`` of shape (n, p), 1 <= p <= 8, both int64; ``places`` in 0..30 is public.

    Parameters
    ----------
    y : array of shape (n,), int64
    x : array of shape (n, p), int64
        With 1 <= p <= 8.
    places : int
        Public number of binary places, 0 to 30.

    Returns
    -------
    RegressionRows

    Raises
    ------
    PublicParameterError
        For other shapes or types.
    """
    if y.dtype != np.int64 or x.dtype != np.int64 or y.ndim != 1 or x.ndim != 2 or len(x) != len(y):
        raise PublicParameterError("a regression takes int64 arrays of shapes (n,) and (n, p)")
    if not 1 <= x.shape[1] <= MOST_COLUMNS:
        raise PublicParameterError(f"a regression has 1 to {MOST_COLUMNS} columns, got {x.shape[1]}")
    if isinstance(places, bool) or not isinstance(places, int) or not 0 <= places <= 30:
        raise PublicParameterError(f"places must be an integer in 0..30, got {places}")
    most = LARGEST_TARGET >> places
    kept = np.ascontiguousarray(np.clip(x, -LARGEST_X, LARGEST_X))
    return RegressionRows(np.clip(y, -most, most) << places, kept, weights(kept), places)


def weights(x: Integers) -> Integers:
    """floor(2^30 / |x|) of every row, 0 where x = 0: exact."""
    squares = (x * x).sum(axis=1)
    found = np.where(squares > 0, (1 << 2 * BITS) // np.maximum(squares, 1), 0)
    root = np.sqrt(found.astype(np.float64)).astype(np.int64)  # within one of the truth
    root -= root * root > found
    root += (root + 1) * (root + 1) <= found
    return root


def exact_dot(a: Integers, b: Integers) -> int:
    """Sum of a_i b_i without overflow, |a| < 2^52 and |b| < 2^63."""
    total = 0
    for start in range(0, len(a), CHUNK):
        left, right = a[start : start + CHUNK], b[start : start + CHUNK]
        for half, first in ((HALF, left >> HALF), (0, left & ((1 << HALF) - 1))):
            for limb in (2 * LIMB, LIMB, 0):
                second = right >> limb if limb == 2 * LIMB else (right >> limb) & ((1 << LIMB) - 1)
                total += int(first @ second) << (half + limb)  # below 2^(26 + 21 + 15)
    return total


def value(data: RegressionRows, residuals: Integers) -> int:
    """The objective where the residuals are these, in their units times 2^30."""
    return exact_dot(data.weight, np.abs(residuals))


def value_at(data: RegressionRows, point: tuple[Fraction, ...]) -> Fraction:
    """The objective at any rational point, times 2^30: exact and slow."""
    bottom = 1
    for part in point:
        bottom = bottom * part.denominator // _gcd(bottom, part.denominator)
    tops = [int(part * bottom) for part in point]
    left = data.target.astype(object) * bottom
    for column, top in enumerate(tops):
        left = left - data.x[:, column].astype(object) * top
    return Fraction(sum(int(w) * abs(int(r)) for w, r in zip(data.weight, left, strict=True)), bottom)


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def determinant(matrix: list[list[int]]) -> int:
    """Determinant of a positive semidefinite integer matrix, by Bareiss: a leading minor of 0 makes it 0."""
    work, before = [list(line) for line in matrix], 1
    size = len(work)
    for k in range(size - 1):
        if work[k][k] == 0:
            return 0
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                work[i][j] = (work[i][j] * work[k][k] - work[i][k] * work[k][j]) // before
        before = work[k][k]
    return work[-1][-1]
