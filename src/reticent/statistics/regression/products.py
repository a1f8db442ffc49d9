"""Noisy sums of products of bounded columns and y, in one of two ways; which one is public. Least squares follow.

``cells``, of few columns. Each row is divided among cells. Let t in [0, 1] be the place of a number between its bounds.
A number, or y, has the two parts t and 1 - t. Where there are one or two numbers, each has (1 - t)^2, 2 t (1 - t) and
t^2, which give the sum of squares as well. A category has the part 1 in the cell of its key. The parts of different
columns are multiplied, so each row adds 1 to the cells in total. Every sum of products is a weighted sum of cells with
public weights, and so is the number of rows.

    cells     what is left of the price
    own       1/20: the sum of y^2 - 1/2
    squares   3/20: sums of x^2 - 1/2, moved by 1/2 for each number, of three numbers or more
    again     1/10: the sum of y once more, of ``MANY`` numbers or more

``sums``, else: products one by one, of rows shortened to a public length.

    ones      the number of rows (where it is not known) and the sum of y      1/5 of the price
    first     the sums of x                                                    1/10
    gram      the upper triangle of x x'                                       3/10
    cross     the sums of x y                                                  3/10
    square    the sum of y^2                                                   1/10

Public numbers choose the way with less noise in a slope, for numbers that vary evenly about their middles. Incomplete
rows are left out of all sums. So the release draws the number of complete rows and never takes it from n.

Weighted rows add their parts times a weight of at most 1, which moves no sum further. The number of rows is then the
sum of their weights, in units of the largest, and is never public.

Source: Wang 2018, Algorithm 1 (AdaSSP); Barak et al. 2007 for cells and signs. Proof: docs/proofs/regression.md,
section 14. Deviations: cells, shares of the price in place of one draw, discrete noise, a choice by public numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np

from reticent.data.query import WEIGHT_ONE
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.price import Noise, Price, deviation
from reticent.statistics.regression.frame import CategoryKeys, CompleteRows, Frame
from reticent.statistics.regression.least_squares import hidden
from reticent.statistics.regression.sums import Loads, NoisySums
from reticent.statistics.scaling import PART, UNIT, Floats, Integers, product, refuse_too_many, shortened

Way: TypeAlias = Literal["cells", "sums"]

ONES: Final = Fraction(1, 5)
FIRST: Final = Fraction(1, 10)
GRAM: Final = Fraction(3, 10)
CROSS: Final = Fraction(3, 10)
SQUARE: Final = Fraction(1, 10)

SQUARES: Final = Fraction(3, 20)
OWN: Final = Fraction(1, 20)
AGAIN: Final = Fraction(1, 10)
FEW: Final = 2  # numbers whose cells tell their squares
MANY: Final = 5
MOST_CELLS: Final = 1 << 10
AT_ONCE: Final = 1 << 20  # products of weighted rows that are held at once
WHOLE: Final = 1 << 30  # of one row, which is shared out

SPREAD: Final = 0.25  # of a number about its middle, in half-widths, for the choice of the way
LAPLACE: Final = 3.0  # excess kurtosis


@dataclass(frozen=True)
class Products:
    """Noisy sums of products of the columns of ``frame``, for ``part`` of ``price``.

    Attributes
    ----------
    frame : Frame
    price : Price
    clip : Fraction or None
        Length of the longest row without the constant, for sums one by one: a sum of sizes where the price is pure,
        else Euclidean. None for what bounds allow.
    rows : int or None
        The number of rows, where it is public and none of them can lack a value.
    part : Fraction

    Guarantee
    ---------
    Within the part: geometric noise and adding up, or discrete Gaussian noise, zCDP and one conversion.
    """

    frame: Frame
    price: Price
    clip: Fraction | None = None
    rows: int | None = None
    part: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if (self.clip is not None and self.clip <= 0) or (self.rows is not None and self.rows < 1):
            raise PublicParameterError("clip must be > 0, and the number of rows >= 1")

    # --- which way, and what it costs ---------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """Features, the constant left out."""
        return len(self.frame.features) - int(self.frame.intercept)

    @property
    def bases(self) -> tuple[int, ...]:
        """Cells that each block is shared out among, y last."""
        three = 3 if len(self.frame.numbers) <= FEW else 2
        return (*(block.count if isinstance(block, CategoryKeys) else three for block in self.frame.blocks), 2)

    @cached_property
    def way(self) -> Way:
        """By public numbers: the one whose noise moves slopes less."""
        if math.prod(self.bases) > MOST_CELLS:
            return "sums"
        return "cells" if self.error("cells") <= self.error("sums") else "sums"

    def error(self, way: Way) -> float:
        """Standard deviation of the noise in a slope of a number, times rows: for columns of ``SPREAD`` at random."""
        many = len(self.frame.numbers)
        slope = math.sqrt(0.5 / max(many, 1))  # half of the variance of y, of the same spread, is told
        model, size = self._usual(slope)
        sums = self._noise(way)
        errors = [
            float(np.linalg.norm(sums.weights(np.eye(len(size))[at], model))) / size[at] for at in range(len(size))
        ]
        return float(max(errors[int(self.frame.intercept) :]))

    def hidden(self, rows: int) -> float:
        """Relative noise of the squares and products of ``rows`` rows of usual columns (``least_squares.hidden``)."""
        first, (_, size) = int(self.frame.intercept), self._usual(0.0)
        return hidden(self.noise.of_gram[first:, first:], size[first:] * rows)

    @property
    def noise(self) -> NoisySums:
        """The sums of no rows, with their noise."""
        return self._noise(self.way)

    def _noise(self, way: Way) -> NoisySums:
        size, (loads, _) = len(self.frame.features), self._linear(way)
        return NoisySums(np.zeros((size, size)), np.zeros(size), 0.0, 0.0, loads, self._deviations(way), 0.0)

    @property
    def noise_of_cross(self) -> float:
        """Standard deviation of the noise in a sum of x y, in rows; the greatest of all columns."""
        loads, _ = self._linear(self.way)
        first = len(self.frame.features) * (len(self.frame.features) + 1) // 2
        spreads = loads.spreads(self._deviations(self.way))
        return float(spreads[first + int(self.frame.intercept) : first + len(self.frame.features)].max())

    @property
    def noise_of_rows(self) -> float:
        """Standard deviation of the noise in the number of rows."""
        loads, _ = self._linear(self.way)
        return float(loads.spreads(self._deviations(self.way))[-1])

    def _usual(self, slope: float) -> tuple[Floats, Floats]:
        """Coefficients of usual columns, and their mean squares."""
        model, size = [], []
        for place, key in self.frame.features:
            block = self.frame.blocks[place]
            numeric = place >= 0 and key < 0
            model.append(slope if numeric else 0.0)
            share = 1.0 / block.count if isinstance(block, CategoryKeys) else SPREAD**2
            size.append(1.0 if place < 0 else share)
        return np.array(model), np.array(size)

    @cached_property
    def noises(self) -> tuple[Noise, ...]:
        """Noise of each draw, in the order of the draws."""
        return self._noises(self.way)

    def _noises(self, way: Way) -> tuple[Noise, ...]:
        price, one = self.price, Fraction(UNIT)
        squared = price.norm == "l2"
        if way == "cells":
            halves = [(1, OWN), (len(self.squared), SQUARES)]
            rest = [
                price.noise(many * (one**4 / 4 if squared else one**2 / 2), share * self.part)
                for many, share in halves
                if many
            ]
            again = [price.noise(one**4 if squared else one**2, AGAIN * self.part)] if self.again else []
            return (self._celled, *rest, *again)
        reach, many = self.reach, int(self.frame.intercept) + int(self.rows is None)
        squares = min(self.width * one**2, reach * one, reach**2)
        gram = reach**2 if squared else Fraction(int((reach**2 + squares) / 2))  # of integers, hence an integer
        own = one**4 if squared else one**2
        along = one**2 * reach if squared else one * reach
        return (
            *([price.noise(many * own, ONES * self.part)] if many else []),
            *([price.noise(along, FIRST * self.part)] if self.frame.intercept else []),
            price.noise(gram, GRAM * self.part),
            price.noise(along, CROSS * self.part),
            price.noise(own, SQUARE * self.part),
        )

    @property
    def squared(self) -> tuple[int, ...]:
        """Places of the blocks whose squares are summed apart from the cells."""
        if len(self.frame.numbers) <= FEW:
            return ()
        return tuple(place for place, block in enumerate(self.frame.blocks) if not isinstance(block, CategoryKeys))

    @property
    def again(self) -> bool:
        """True if the sum of y is drawn a second time."""
        return self.frame.intercept and len(self.frame.numbers) >= MANY

    @cached_property
    def _celled(self) -> Noise:
        """Shares of a row are not negative and add up to one row: replaced, their squares move by two at most."""
        others = OWN + (SQUARES if self.squared else 0) + (AGAIN if self.again else 0)
        row = Fraction(WHOLE)
        if self.price.norm == "l2":
            row = row**2 / (2 if self.price.neighbours.kind == "substitute" else 1)
        return self.price.noise(row, (1 - others) * self.part)

    @cached_property
    def reach(self) -> Fraction:
        """The greatest length of a row of features in steps, squared for l2."""
        most = len(self.frame.blocks) * (UNIT**2 if self.price.norm == "l2" else UNIT)
        if self.clip is None:
            return Fraction(most)
        given = (self.clip * UNIT) ** 2 if self.price.norm == "l2" else self.clip * UNIT
        return Fraction(min(int(given), most))

    @cached_property
    def guarantees(self) -> tuple[Guarantee, ...]:
        return tuple(noise.guarantee for noise in self.noises)

    # --- sums from released numbers -----------------------------------------------------------------------------------

    def _linear(self, way: Way) -> tuple[Loads, Floats]:
        """Loads, and what is added for every row of a known number of rows."""
        return self._of_cells() if way == "cells" else self._of_sums()

    def _deviations(self, way: Way) -> Floats:
        """Standard deviations of the noise of all released numbers, in rows."""
        found: list[float] = []
        for noise, size in zip(self._noises(way), self._sizes(way), strict=True):
            unit = WHOLE if way == "cells" and not found else UNIT**2
            found += [deviation(noise) / unit] * size
        return np.array(found)

    def _sizes(self, way: Way) -> tuple[int, ...]:
        """Number of integers in each draw."""
        if way == "cells":
            apart = (len(self.squared),) if self.squared else ()
            return (math.prod(self.bases), 1, *apart, *((1,) if self.again else ()))
        many, d = int(self.frame.intercept) + int(self.rows is None), self.width
        return (
            *((many,) if many else ()),
            *((d,) if self.frame.intercept else ()),
            d * (d + 1) // 2,
            d,
            1,
        )

    def _of_cells(self) -> tuple[Loads, Floats]:
        """Every sum as weights of cells, then of y^2, of squares and of y once more."""
        features, plain = self.frame.features, self._weights({}, 0)
        size, numbers = len(features), sum(self._sizes("cells"))
        cells = len(plain)
        upper = _pairs(size)
        loads, added = np.zeros((len(upper) + size + 2, numbers)), np.zeros(len(upper) + size + 2)
        count = np.concatenate([plain, np.zeros(numbers - cells)])
        for at, (i, j) in enumerate(upper):
            found = self._paired(features[i], features[j])
            if found is None:  # a square that is summed apart, less a half
                loads[at] = count / 2
                loads[at, cells + 1 + self.squared.index(features[i][0])] = 1.0
            else:
                loads[at, :cells] = found
        for i, feature in enumerate(features):
            loads[len(upper) + i, :cells] = self._weights(self._factor(feature), 1)
        loads[-2] = count / 2
        loads[-2, cells] = 1.0
        loads[-1] = count
        if self.rows is not None:  # the cells are known to hold so many rows
            mean = loads[:, :cells].mean(axis=1)
            loads[:, :cells] -= mean[:, None]
            added += mean
        if self.again:
            self._twice(loads, added, len(upper), cells)
        return Loads.of(loads), added

    def _twice(self, loads: Floats, added: Floats, first: int, cells: int) -> None:
        """The sum of y from two answers, weighed by their noise."""
        told, other = (deviation(noise) for noise in (self._celled, self._noises("cells")[-1]))
        one = float((loads[first, :cells] ** 2).sum()) * (told / WHOLE) ** 2
        weight = one / (one + (other / UNIT**2) ** 2)
        loads[first] *= 1.0 - weight
        added[first] *= 1.0 - weight
        loads[first, -1] = weight

    def _factor(self, feature: tuple[int, int]) -> dict[int, Floats]:
        """The weights of a feature in the cells of its block."""
        place, key = feature
        if place < 0:
            return {}
        if key >= 0:
            return {place: np.eye(self.bases[place])[key]}
        return {place: np.array([-1.0, 1.0] if self.bases[place] == 2 else [-1.0, 0.0, 1.0])}

    def _paired(self, one: tuple[int, int], other: tuple[int, int]) -> Floats | None:
        """The weights of a product of two features; None for the square of a number that cells do not tell."""
        if one[0] == other[0] >= 0:
            if one[1] < 0:
                return self._weights({one[0]: np.array([1.0, -1.0, 1.0])}, 0) if self.bases[one[0]] == 3 else None
            same = np.eye(self.bases[one[0]])[one[1]] * (one[1] == other[1])
            return self._weights({one[0]: np.asarray(same)}, 0)
        return self._weights({**self._factor(one), **self._factor(other)}, 0)

    def _weights(self, factors: dict[int, Floats], of_y: int) -> Floats:
        """Weights of all cells, of shape (cells,): products of the blocks' ``factors``, and of -1 and 1 for y.

        A block that is not in ``factors`` has the factor 1; y has it where ``of_y`` is 0.
        """
        found = np.ones(1)
        for place, size in enumerate(self.bases[:-1]):
            found = np.concatenate([found * part for part in factors.get(place, np.ones(size))])
        return np.concatenate([found * part for part in ((-1.0, 1.0) if of_y else (1.0, 1.0))])

    def _of_sums(self) -> tuple[Loads, Floats]:
        """Every sum is a released number, or known."""
        size, d = len(self.frame.features), self.width
        constant, sizes = int(self.frame.intercept), self._sizes("sums")
        first = np.cumsum([0, *sizes])
        many = len(sizes) - 3 - constant  # of the draws before those of x alone
        upper, gram = _pairs(size), int(first[many + constant])
        cross = gram + d * (d + 1) // 2
        inner = {pair: gram + at for at, pair in enumerate(_pairs(d))}
        number = [
            (0 if j == 0 else int(first[many]) + j - 1) if constant and i == 0 else inner[i - constant, j - constant]
            for i, j in upper
        ]
        number += [int(first[1]) - 1 if constant and i == 0 else cross + i - constant for i in range(size)]
        number += [int(first[-1]) - 1, 0]
        values, added = np.ones(len(number)), np.zeros(len(number))
        if self.rows is not None:  # known, and in no number
            counts = [-1, *([0] if constant else [])]
            values[counts], added[counts] = 0.0, 1.0
        return Loads(np.arange(len(number)), np.array(number), values, (len(number), int(first[-1]))), added

    # --- the draws ----------------------------------------------------------------------------------------------------

    def draw(self, held: CompleteRows, entropy: Entropy) -> NoisySums:
        """The noisy sums; the only step that sees rows."""
        exact = self._cells(held) if self.way == "cells" else self._one_by_one(held)
        found: list[float] = []
        for noise, numbers in zip(self.noises, exact, strict=True):
            unit = WHOLE if self.way == "cells" and not found else UNIT**2
            found += [value / unit for value in gate.draw(noise, numbers, entropy)]
        loads, added = self._linear(self.way)
        told = loads.told(np.array(found, np.float64)) + added * (self.rows or 0)
        size = len(self.frame.features)
        gram, upper = np.zeros((size, size)), np.triu_indices(size)
        gram[upper] = told[: len(upper[0])]
        gram = gram + np.triu(gram, 1).T
        cross = told[len(upper[0]) : len(upper[0]) + size]
        tail = LAPLACE if isinstance(self.noises[0], Geometric) else 0.0
        return NoisySums(gram, cross, float(told[-2]), float(told[-1]), loads, self._deviations(self.way), tail)

    def _cells(self, held: CompleteRows) -> list[list[int]]:
        """Rows of each cell in parts of ``WHOLE``; sums of y^2 and x^2 less a half; the sum of y."""
        total = np.zeros(math.prod(self.bases), np.int64)
        whole = np.ones(len(held.y)) if held.weights is None else held.weights / WEIGHT_ONE
        for first in range(0, len(held.y), PART):
            part = slice(first, first + PART)
            shared = self._shared(held.steps[part], held.y[part]) * whole[part, None]
            shares = np.floor(shared * WHOLE).astype(np.int64)
            # That shares add up to at most a row is looked at in integers.
            total += shortened(shares, Fraction(WHOLE), "l1").sum(axis=0)
        half, steps = UNIT**2 // 2, held.steps
        found = [total.tolist(), [_weighed(held.y * held.y - half, held)]]
        if self.squared:
            found.append([_weighed(steps[:, at] * steps[:, at] - half, held) for at in self.squared])
        if self.again:
            found.append([_weighed(held.y * UNIT, held)])
        return found

    def _shared(self, steps: Integers, y: Integers) -> Floats:
        """Shares of every row in each cell, of shape (n, cells); each row's shares add up to 1."""
        found = np.ones((len(y), 1))
        for place, size in enumerate(self.bases):
            if place < len(self.frame.blocks) and isinstance(self.frame.blocks[place], CategoryKeys):
                parts = [np.asarray(steps[:, place] == key, np.float64) for key in range(size)]
            else:
                column = y if place == len(self.frame.blocks) else steps[:, place]
                high = (column + UNIT) / (2.0 * UNIT)
                low = 1.0 - high
                parts = [low, high] if size == 2 else [low * low, 2.0 * high * low, high * high]
            found = np.concatenate([found * part[:, None] for part in parts], axis=1)
        return found

    def _one_by_one(self, held: CompleteRows) -> list[list[int]]:
        constant = int(self.frame.intercept)
        rows = shortened(self.frame.featured(held)[:, constant:], self.reach, self.price.norm)
        y, one = held.y[:, None], np.full((len(held.y), 1), UNIT, np.int64)
        ones = [] if self.rows is not None else [_weighed(one[:, 0] * UNIT, held)]
        ones += [_weighed(held.y * UNIT, held)] if constant else []
        found = [ones] if ones else []
        if constant:
            found.append(_product(one, rows, held).ravel().tolist())
        found.append(_product(rows, rows, held)[np.triu_indices(self.width)].tolist())
        found.append(_product(rows, y, held).ravel().tolist())
        return [*found, _product(y, y, held).ravel().tolist()]


def _times(values: Integers, weights: Integers) -> Integers:
    """Whole numbers times weights of at most 1, rounded towards 0: none grows in size."""
    return np.asarray(np.sign(values) * (np.abs(values) * weights // WEIGHT_ONE))


def _weighed(values: Integers, held: CompleteRows) -> int:
    """The sum of one number of every row, times its weight."""
    return int((values if held.weights is None else _times(values, held.weights)).sum())


def _product(left: Integers, right: Integers, held: CompleteRows) -> Integers:
    """left' right, each row times its weight: product by product, so that none of them grows."""
    if held.weights is None:
        return product(left, right)
    refuse_too_many(len(left))
    found = np.zeros((left.shape[1], right.shape[1]), np.int64)
    step = max(AT_ONCE // found.size, 1)
    for first in range(0, len(left), step):
        part = slice(first, first + step)
        products = left[part, :, None] * right[part, None, :]
        found += _times(products, held.weights[part, None, None]).sum(axis=0)
    return found


def _pairs(size: int) -> list[tuple[int, int]]:
    """Places of an upper triangle, row by row."""
    return [(i, j) for i in range(size) for j in range(i, size)]


__all__ = ["MOST_CELLS", "Products", "Way"]
