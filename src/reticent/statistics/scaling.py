"""Rows as integers on a public grid, one row at a time, and shortened to a public length that integers certify.

    column in [low, high]   (x - middle) / half-width, in [-1, 1]; a column in [0, 1] stays as it is, so that zeros stay
    value                   rounded to a multiple of 1 / UNIT, after it was moved to the nearer bound
    missing                 a row with a NaN or an infinity anywhere is a row of zeros: it is there and says nothing
    length                  a row longer than ``clip`` is made shorter; what is still longer then becomes zeros

Every row is put into numbers by itself, by public rules, so neighbours stay neighbours. The length of a row is computed
in integers, so a bound of a sensitivity rests on no rounding. docs/proofs/learning.md, section 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Bound: TypeAlias = tuple[Fraction, Fraction]
Norm: TypeAlias = Literal["l1", "l2"]

BITS: Final = 12
UNIT: Final = 1 << BITS  # a value at its bound is so many steps
MOST_ROWS: Final = 1 << 28  # so many products of two numbers of BITS bits sum exactly in a double
SHORTER: Final = 1.0 - 2.0**-30
WIDEST: Final = Fraction(10**300)
FARTHEST: Final = 2.0**1000
PART: Final = 4096  # rows at a time, so that their columns stay at hand


@dataclass(frozen=True, slots=True)
class Scaling:
    """Map of columns with public ``bounds`` to integers in [-UNIT, UNIT]; ``intercept`` puts a column of UNIT first.

    Attributes
    ----------
    bounds : tuple of (low, high)
        One pair for each column, low < high.
    intercept : bool
        Whether every row that says something begins with a 1.
    """

    bounds: tuple[Bound, ...]
    intercept: bool = True

    def __post_init__(self) -> None:
        if not self.bounds or any(not low < high for low, high in self.bounds):
            raise PublicParameterError("every column needs public bounds low < high")
        for low, high in self.bounds:
            if max(abs(low), abs(high)) > WIDEST or high - low < 1 / WIDEST:
                raise PublicParameterError("bounds lie within 1e300 and are at least 1e-300 apart")

    @property
    def width(self) -> int:
        """Columns of the integers."""
        return len(self.bounds) + int(self.intercept)

    @property
    def frame(self) -> tuple[Floats, Floats]:
        """Middle and half-width of every column."""
        pairs = [(0.0, 1.0) if low == 0 and high == 1 else _centred(low, high) for low, high in self.bounds]
        middle, half = np.array(pairs, np.float64).T
        return middle, half

    def whole(self, values: Floats) -> Integers:
        """Rows of shape (n, columns) as integers of shape (n, width)."""
        if values.ndim != 2 or values.shape[1] != len(self.bounds):
            raise PublicParameterError(f"rows need {len(self.bounds)} columns, one for each pair of bounds")
        refuse_too_many(len(values))
        there: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(axis=1))
        low, high = np.array(self.bounds, np.float64).T
        middle, half = self.frame
        moved = (np.clip(np.where(there[:, None], values, 0.0), low, high) - middle) / half
        steps = np.rint(np.clip(moved, -1.0, 1.0) * UNIT).astype(np.int64)
        if self.intercept:
            steps = np.column_stack([np.full(len(steps), UNIT, np.int64), steps])
        return np.asarray(np.where(there[:, None], steps, 0))

    def back(self, scaled: Floats) -> tuple[Floats, Floats]:
        """Coefficients of shape (outputs, width) of scaled columns, as those of the columns and the intercepts."""
        middle, half = self.frame
        slopes = scaled[:, int(self.intercept) :] / half
        start = scaled[:, 0] if self.intercept else np.zeros(len(scaled))
        return slopes, start - slopes @ middle

    @property
    def turn(self) -> Floats:
        """The matrix that takes scaled coefficients (intercept first, if any) to those of the columns."""
        middle, half = self.frame
        if not self.intercept:
            return np.asarray(np.diag(1.0 / half))
        turn = np.diag(np.concatenate([[1.0], 1.0 / half]))
        turn[0, 1:] = -middle / half
        return np.asarray(turn)


def _centred(low: Fraction, high: Fraction) -> tuple[float, float]:
    return float(low + high) / 2, float(high - low) / 2


def longest(width: int, norm: Norm) -> Fraction:
    """A length that no row of ``width`` integers in [-UNIT, UNIT] exceeds: its square for l2, in squared steps."""
    return Fraction(width * (UNIT * UNIT if norm == "l2" else UNIT))


def shortened(rows: Integers, most: Fraction, norm: Norm) -> Integers:
    """``rows``, each of length at most ``most`` (for l2: of squared length), in steps.

    Parameters
    ----------
    rows : array of shape (n, columns), int
        In steps.
    most : Fraction
        Length, or squared length for "l2", in steps.
    norm : "l1" or "l2"

    Returns
    -------
    array of shape (n, columns), int

    Guarantee
    ---------
    Of every row returned the length was computed in integers and is at most ``most``.
    """
    limit = int(most)  # lengths are integers
    size = lengths(rows, norm)
    over = size > limit
    if not over.any():
        return rows
    ratio = limit / size[over].astype(np.float64)
    factor = (np.sqrt(ratio) if norm == "l2" else ratio) * SHORTER
    cut = np.trunc(rows[over] * factor[:, None]).astype(np.int64)
    cut[lengths(cut, norm) > limit] = 0
    found = rows.copy()
    found[over] = cut
    return found


def refuse_too_many(rows: int | None) -> None:
    """Refuse a number of rows, where it is known, whose sums a double would not hold exactly."""
    if rows is not None and rows > MOST_ROWS:
        raise PublicParameterError(f"at most {MOST_ROWS:,} rows are summed exactly")


def lengths(rows: Integers, norm: Norm) -> Integers:
    """Sum of sizes, or of squares, of every row."""
    return np.asarray((rows * rows).sum(axis=1) if norm == "l2" else np.abs(rows).sum(axis=1))


def product(left: Integers, right: Integers | Floats) -> Integers:
    """left' right, exactly: whole entries within UNIT, and so few rows that every partial sum stays below 2^53.

    ``right`` may be whole numbers held as doubles, so that many products need one conversion.
    """
    refuse_too_many(len(left))
    return np.asarray(left.astype(np.float64).T @ np.asarray(right, np.float64)).astype(np.int64)


def filled(values: Floats, there: NDArray[np.bool_]) -> Floats:
    """Rows with zeros for those that are not ``there``, in C order, as layouts round sums differently."""
    return np.ascontiguousarray(np.where(there[:, None], values, 0.0))


def scored(data: Floats, at: Floats) -> Floats:
    """x't of rows x of whole numbers in steps, shape (n, scores), for coefficients t of shape (scores, width).

    Guarantee
    ---------
    A row's scores depend on that row and ``at`` alone. ``at`` is the same for neighbours. It is rounded to a grid on
    which every partial sum is a whole number below 2^53, hence exact in any order of addition. A plain product of
    matrices in floats may round one row differently according to the other rows.
    """
    size = float(np.abs(at).sum(axis=1).max(initial=0.0))
    if not 0.0 < size < FARTHEST:
        return np.zeros((len(data), len(at)))
    bits = 51 - BITS - math.frexp(size)[1]  # UNIT (sum of |whole| + width / 2) stays below 2^53
    return np.asarray(np.ldexp(data @ np.rint(np.ldexp(at, bits)).T, -bits) / UNIT)


def weighed(rows: Floats, weights: Floats, start: Floats) -> Floats:
    """rows weights' + start, shape (n, outputs), for weights of shape (outputs, columns).

    Parameters
    ----------
    rows : array of shape (n, columns), float
    weights : array of shape (outputs, columns), float
    start : array of shape (outputs,), float

    Returns
    -------
    array of shape (n, outputs), float

    Guarantee
    ---------
    A row's numbers follow from that row alone: columns are multiplied and added one by one, entry by entry.
    """
    found = np.empty((len(rows), len(weights)))
    for first in range(0, len(rows), PART):
        part = np.ascontiguousarray(rows[first : first + PART].T)
        total = np.repeat(np.asarray(start, np.float64)[:, None], part.shape[1], axis=1)
        for column, weight in zip(part, weights.T, strict=True):
            total += weight[:, None] * column
        found[first : first + PART] = total.T
    return found


__all__ = [
    "UNIT",
    "Bound",
    "Floats",
    "Integers",
    "Norm",
    "Scaling",
    "filled",
    "lengths",
    "longest",
    "product",
    "scored",
    "shortened",
    "weighed",
]
