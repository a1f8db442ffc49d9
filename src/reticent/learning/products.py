"""Noisy sums of products of bounded columns and y, in one of three ways; which one is public. Least squares follow.

``corners``, of few columns, pure. With t in [0, 1] the place of a value between its bounds, a row is shared out among
the 2^(d + 1) corners of the box of x and y, by products of t and 1 - t: whatever its values, it moves all corners
together by one row. A sum of products of different columns is a sum of all corners with signs, so each of them has
2^((d + 1) / 2) deviations of one noise, however many are told; and so is the number of rows.

    corners   7/10 of the price, or what is left; of one column (1 - t)^2, 2 t (1 - t), t^2 take the place of t and
              1 - t, which adds up to 1 as well and tells the sum of x^2
    own       1/20: the sum of y^2 - 1/2
    squares   3/20: sums of x^2 - 1/2, moved by 1/2 for each column, of two columns or more
    mean      1/10: the sum of y once more, of ``MANY`` columns or more

``sums``, else: products one by one, of rows shortened to a public length.

    ones      the number of rows (where private) and the sum of y      1/5 of the price
    first     the sums of x                                            1/10
    gram      the upper triangle of x x'                               3/10
    cross     the sums of x y                                          3/10
    square    the sum of y^2                                           1/10

``mean``, where a public number of rows is too small for slopes at this price: the sum of y, for all of it.

Source: Wang 2018, Algorithm 1 (AdaSSP); Barak et al. 2007 for the signs. Proof: docs/proofs/learning.md, section 5.
Deviations: corners, shares of the price in place of one draw, discrete noise, a choice of the way by public numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.learning.descent import Linear
from reticent.learning.least_squares import Sums, solved
from reticent.learning.price import Noise, Price, deviation
from reticent.learning.scaling import PART, UNIT, Floats, Integers, Scaling, longest, product, shortened
from reticent.mechanisms import gate
from reticent.privacy.guarantee import Guarantee

Way: TypeAlias = Literal["corners", "sums", "mean"]

ONES: Final = Fraction(1, 5)
FIRST: Final = Fraction(1, 10)
GRAM: Final = Fraction(3, 10)
CROSS: Final = Fraction(3, 10)
SQUARE: Final = Fraction(1, 10)

SQUARES: Final = Fraction(3, 20)
OWN: Final = Fraction(1, 20)
MEAN: Final = Fraction(1, 10)
MANY: Final = 5
MOST: Final = 7  # columns: 2^8 corners
WHOLE: Final = 1 << 30  # of one row, which is shared out

BACK: Final = np.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 1.0]])  # number, sum, squares of three shares

FEWEST: Final = 1.0
WORTH: Final = 12.0  # no slopes where the noise of a sum of x y is more than one row in so many


@dataclass(frozen=True)
class Products:
    """Least squares of y in [-1, 1] on columns scaled by ``scaling``, which has no intercept of its own.

    Attributes
    ----------
    scaling : Scaling
    price : Price
    clip : Fraction
        Length of the longest row without the constant: a sum of sizes where the price is pure, else Euclidean. Rows
        that are shared out among corners are not shortened.
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

    # --- which way, and what it costs ---------------------------------------------------------------------------------

    @cached_property
    def way(self) -> Way:
        """By public numbers: the one with less noise in the sums of x y, or neither."""
        way: Way = "sums"
        if self.price.norm == "l1" and self.scaling.width <= MOST and self._of_corners < deviation(self._cross):
            way = "corners"
        noise = (self._of_corners if way == "corners" else deviation(self._cross)) / UNIT**2
        if self.people is not None and WORTH * noise > self.people:
            return "mean"
        return way

    @cached_property
    def noises(self) -> tuple[Noise, ...]:
        """Of the draws in their order."""
        price, d, one = self.price, self.scaling.width, Fraction(UNIT)
        squared = price.norm == "l2"
        match self.way:
            case "mean":
                return (price.noise(one**4 if squared else one**2, Fraction(1)),)
            case "corners":
                shares = [(one**2 / 2, OWN), (Fraction(d * UNIT**2, 2), SQUARES), (one**2, MEAN)]
                bought = shares[: 1 if d == 1 else 3 if d >= MANY else 2]
                return (self._corners, *[price.noise(row, share) for row, share in bought])
            case "sums":
                reach, known = self.reach, self.people is not None
                ones = (1 if known else 2) * (one**4 if squared else one**2)
                first = one**2 * reach if squared else one * reach
                squares = min(d * one**2, reach * one, reach**2)
                gram = reach**2 if squared else (reach**2 + squares) / 2
                own = one**4 if squared else one**2
                return (
                    price.noise(ones, ONES),
                    price.noise(first, FIRST),
                    price.noise(gram, GRAM),
                    self._cross,
                    price.noise(own, SQUARE),
                )

    @cached_property
    def reach(self) -> Fraction:
        """The greatest length of a row in steps, squared for l2."""
        given = (self.clip * UNIT) ** 2 if self.price.norm == "l2" else self.clip * UNIT
        return min(Fraction(int(given)), longest(self.scaling.width, self.price.norm))

    @cached_property
    def _cross(self) -> Noise:
        one = Fraction(UNIT)
        return self.price.noise(one**2 * self.reach if self.price.norm == "l2" else one * self.reach, CROSS)

    @cached_property
    def _corners(self) -> Noise:
        d = self.scaling.width
        others = OWN + (SQUARES if d > 1 else 0) + (MEAN if d >= MANY else 0)
        return self.price.noise(Fraction(WHOLE), 1 - others)

    @property
    def _of_number(self) -> float:
        """Deviation of the number of rows, by corners."""
        corners = 6 if self.scaling.width == 1 else 1 << (self.scaling.width + 1)
        return deviation(self._corners) * math.sqrt(corners) / WHOLE

    @property
    def _of_corners(self) -> float:
        """Deviation of a sum of products by corners, in squared steps."""
        return deviation(self._corners) * math.sqrt(2.0 ** (self.scaling.width + 1)) * UNIT**2 / WHOLE

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.price.whole([noise.guarantee for noise in self.noises], "noisy sums of products")

    # --- the draws ----------------------------------------------------------------------------------------------------

    def draw(self, values: Floats, targets: Floats, entropy: Entropy) -> Linear:
        """The model from rows of shape (n, columns) and targets in [-1, 1] of shape (n,)."""
        return solved(self.sums(values, targets, entropy))

    def sums(self, values: Floats, targets: Floats, entropy: Entropy) -> Sums:
        """The noisy sums; the only step that sees rows."""
        there = np.asarray(np.isfinite(values).all(axis=1) & np.isfinite(targets), np.bool_)
        y = np.rint(np.clip(np.where(there, targets, 0.0), -1.0, 1.0) * UNIT).astype(np.int64)[:, None]
        rows = np.where(there[:, None], self.scaling.whole(values), 0)
        match self.way:
            case "mean":
                return self._mean(y, entropy)
            case "corners":
                return self._by_corners(rows, y, there, entropy)
            case "sums":
                return self._one_by_one(rows, y, there, entropy)

    def _mean(self, y: Integers, entropy: Entropy) -> Sums:
        (noise,), d = self.noises, self.scaling.width
        (total,) = _drawn(noise, y.sum(axis=0) * UNIT, entropy)
        gram, unknown = np.zeros((d + 1, d + 1)), np.full((d + 1, d + 1), math.inf)
        gram[0, 0] = float(self.people or 1)
        of_cross = np.concatenate([[deviation(noise) / UNIT**2], np.full(d, math.inf)])
        return Sums(gram, np.array([total, *[0.0] * d]), 0.0, unknown, of_cross, math.inf)

    def _by_corners(self, rows: Integers, y: Integers, there: NDArray[np.bool_], entropy: Entropy) -> Sums:
        # a row that says nothing is a row of zeros where rows are counted, and else none
        counted, half = there | (self.people is not None), UNIT**2 // 2
        shares = np.array(gate.draw(self.noises[0], self._shares(rows, y, counted), entropy), np.float64) / WHOLE
        n = max(float(shares.sum()) if self.people is None else float(self.people), FEWEST)
        (of_y,) = _drawn(self.noises[1], (y * y - half)[counted].sum(axis=0), entropy) + n / 2
        of_half = 0.0 if self.people is not None else self._of_number / 2
        of_square = math.hypot(deviation(self.noises[1]) / UNIT**2, of_half)
        if self.scaling.width == 1:
            return self._by_middle(shares.reshape(2, 3), n, float(of_y), of_square)
        d, signed, spread = self.scaling.width, signs(shares), self._of_corners / UNIT**2
        of_x = _drawn(self.noises[2], (rows * rows - half)[counted].sum(axis=0), entropy) + n / 2
        gram, of_gram = np.zeros((d + 1, d + 1)), np.full((d + 1, d + 1), spread)
        for i in range(1, d + 1):
            gram[0, i] = signed[1 << (i - 1)]
            for j in range(1, i):
                gram[j, i] = signed[(1 << (i - 1)) | (1 << (j - 1))]
        gram = gram + gram.T + np.diag([n, *of_x])
        np.fill_diagonal(of_gram, math.hypot(deviation(self.noises[2]) / UNIT**2, of_half))
        of_gram[0, 0] = 2 * of_half
        cross, of_cross = signed[[1 << d, *[(1 << d) | (1 << i) for i in range(d)]]], np.full(d + 1, spread)
        if d >= MANY:
            cross[0], of_cross[0] = self._twice(float(cross[0]), spread, self.noises[3], y, entropy)
        return Sums(gram, cross, float(of_y), of_gram, of_cross, of_square)

    def _by_middle(self, shares: Floats, n: float, of_y: float, of_square: float) -> Sums:
        """Of one column: shares of (side of y; low, middle or high of x), which tell the sum of x^2 as well."""
        told, one = BACK @ shares.T @ np.array([[1.0, -1.0], [1.0, 1.0]]), deviation(self._corners) / WHOLE
        square, of_x2 = float(told[2, 0]), math.sqrt(6.0) * one
        if self.people is not None:  # what the number of rows was off is a third of it in x^2, on average
            square, of_x2 = square - (float(told[0, 0]) - n) / 3, math.sqrt(16.0 / 3.0) * one
        gram = np.array([[n, told[1, 0]], [told[1, 0], square]])
        of_n = 0.0 if self.people is not None else self._of_number
        of_gram = np.array([[of_n, 2.0 * one], [2.0 * one, of_x2]])
        of_cross = np.array([math.sqrt(6.0) * one, 2.0 * one])
        return Sums(gram, told[:2, 1].copy(), of_y, of_gram, of_cross, of_square)

    def _twice(self, told: float, spread: float, noise: Noise, y: Integers, entropy: Entropy) -> tuple[float, float]:
        """The sum of y from two answers, weighed by their noise, and its deviation."""
        (again,), other = _drawn(noise, y.sum(axis=0) * UNIT, entropy), deviation(noise) / UNIT**2
        weight = spread**2 / (spread**2 + other**2)
        return told + weight * (float(again) - told), spread * other / math.hypot(spread, other)

    def _shares(self, rows: Integers, y: Integers, counted: NDArray[np.bool_]) -> list[int]:
        """Rows at each corner, in parts of ``WHOLE``; bit i of a corner is the side of column i, the last that of y.

        The shares of a row are floats rounded down. That they add up to at most ``WHOLE`` is looked at in integers.
        """
        middle = self.scaling.width == 1
        total = np.zeros(6 if middle else 1 << (self.scaling.width + 1), np.int64)
        for first in range(0, len(rows), PART):
            held = counted[first : first + PART]
            part = np.column_stack([rows[first : first + PART], y[first : first + PART]])[held]
            shares = np.floor((shared_in_three(part) if middle else shared(part)) * WHOLE).astype(np.int64)
            total += shortened(shares, Fraction(WHOLE), "l1").sum(axis=0)
        return [int(count) for count in total]

    def _one_by_one(self, whole: Integers, y: Integers, there: NDArray[np.bool_], entropy: Entropy) -> Sums:
        rows = np.asarray(np.where(there[:, None], shortened(whole, self.reach, self.price.norm), 0))
        one = np.where(there, UNIT, 0).astype(np.int64)[:, None]
        ones, first, gram, cross, square = self.noises
        of_y = product(one, y).ravel()
        if self.people is None:
            of_ones = _drawn(ones, np.concatenate([product(one, one).ravel(), of_y]), entropy)
        else:
            of_ones = np.concatenate([[float(self.people)], _drawn(ones, of_y, entropy)])
        d = self.scaling.width
        upper = np.triu_indices(d)
        sums = np.zeros((d + 1, d + 1))
        sums[0, 0] = max(of_ones[0], FEWEST)
        sums[0, 1:] = _drawn(first, product(one, rows).ravel(), entropy)
        inner = np.zeros((d, d))
        inner[upper] = _drawn(gram, product(rows, rows)[upper], entropy)
        sums[1:, 1:] = inner
        sums = np.triu(sums) + np.triu(sums, 1).T
        of_cross = np.concatenate([of_ones[1:], _drawn(cross, product(rows, y).ravel(), entropy)])
        (of_square,) = _drawn(square, product(y, y).ravel(), entropy)
        spread = np.full((d + 1, d + 1), deviation(gram)) / UNIT**2
        spread[0, 1:] = spread[1:, 0] = deviation(first) / UNIT**2
        spread[0, 0] = 0.0 if self.people is not None else deviation(ones) / UNIT**2
        of = np.concatenate([[deviation(ones)], np.full(d, deviation(cross))]) / UNIT**2
        return Sums(sums, of_cross, float(of_square), spread, of, deviation(square) / UNIT**2)


def _drawn(noise: Noise, exact: Integers, entropy: Entropy) -> Floats:
    return np.array(gate.draw(noise, exact.tolist(), entropy), np.float64) / UNIT**2


def shared(rows: Integers) -> Floats:
    """How much of every row, in steps of [-1, 1], is at each corner: shape (n, 2^columns), entry by entry."""
    found = np.ones((len(rows), 1))
    for column in rows.T:
        high = ((column + UNIT) / (2.0 * UNIT))[:, None]
        found = np.concatenate([found * (1.0 - high), found * high], axis=1)
    return found


def shared_in_three(rows: Integers) -> Floats:
    """Of rows of x and y: t^0, t^1 and t^2 of Bernstein's for x in each half of y, shape (n, 6), entry by entry."""
    high, up = ((column + UNIT) / (2.0 * UNIT) for column in rows.T)
    parts = [(1.0 - high) * (1.0 - high), 2.0 * high * (1.0 - high), high * high]
    return np.stack([part * side for side in (1.0 - up, up) for part in parts], axis=1)


def signs(corners: Floats) -> Floats:
    """The sum of all corners, each with the sign (-1)^(low sides among the bits of k), for every k: Walsh's transform.

    Of exact counts it is, at k, the sum over rows of the product of the columns whose bits are in k.
    """
    found, size = corners, 1
    while size < len(corners):
        pairs = found.reshape(-1, 2, size)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 1] - pairs[:, 0]], axis=1).reshape(-1)
        size *= 2
    return np.asarray(found)


__all__ = ["Products", "Sums", "shared", "shared_in_three", "signs", "solved"]
