"""Noisy sums of products of a linear model's features and y, each with what every single noise adds to it.

Features and y are scaled to [-1, 1]. The noises of the released numbers are independent, and every sum is a linear
combination of these numbers. So ``loads`` determines the law of every sum and of every coefficient. This module reads
no row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reticent.statistics.scaling import Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Loads:
    """A matrix of few entries: what one unit of each released number adds to each sum.

    Attributes
    ----------
    sums, numbers : int arrays of shape (entries,)
        Where each entry stands: its row and its column.
    values : array of shape (entries,)
    shape : (sums, numbers)
    """

    sums: Integers
    numbers: Integers
    values: Floats
    shape: tuple[int, int]

    @staticmethod
    def of(dense: Floats) -> Loads:
        rows, columns = np.nonzero(dense)
        return Loads(rows.astype(np.int64), columns.astype(np.int64), dense[rows, columns], dense.shape)

    def told(self, released: Floats) -> Floats:
        """All sums of released numbers."""
        return np.asarray(np.bincount(self.sums, self.values * released[self.numbers], self.shape[0]))

    def within(self, combined: Floats) -> Floats:
        """Coefficients of the released numbers in a linear combination of the sums, of shape (released,)."""
        return np.asarray(np.bincount(self.numbers, self.values * combined[self.sums], self.shape[1]))

    def spreads(self, deviations: Floats) -> Floats:
        """Standard deviations of all sums."""
        parts = (self.values * deviations[self.numbers]) ** 2
        return np.asarray(np.sqrt(np.bincount(self.sums, parts, self.shape[0])))


@dataclass(frozen=True, eq=False)
class NoisySums:
    """Noisy sums, and the noise in them.

    Attributes
    ----------
    gram : array of shape (features, features)
        Of products of two features.
    cross : array of shape (features,)
        Of y and a feature.
    square, n : float
        Of y^2, and the number of rows.
    loads : Loads
        Of the upper triangle of ``gram`` row by row, then ``cross``, ``square`` and ``n``.
    deviations : array of shape (numbers,)
        Of the noise of each released number.
    tail : float
        Excess kurtosis of the noise: 3 of Laplace's, 0 of normal ones.
    """

    gram: Floats
    cross: Floats
    square: float
    n: float
    loads: Loads
    deviations: Floats
    tail: float

    @property
    def width(self) -> int:
        return len(self.cross)

    @cached_property
    def spreads(self) -> Floats:
        """Standard deviations of the noise of all sums, in the order of ``loads``."""
        return self.loads.spreads(self.deviations)

    @cached_property
    def of_gram(self) -> Floats:
        """Standard deviations of the noise of ``gram``."""
        found = np.zeros((self.width, self.width))
        upper = np.triu_indices(self.width)
        found[upper] = self.spreads[: len(upper[0])]
        return np.asarray(np.maximum(found, found.T))

    @property
    def of_cross(self) -> Floats:
        first = self.width * (self.width + 1) // 2
        return np.asarray(self.spreads[first : first + self.width])

    @property
    def of_square(self) -> float:
        return float(self.spreads[-2])

    def weights(self, at: Floats, model: Floats) -> Floats:
        """Deviation that each released number adds to at'(c - A model), where c is ``cross`` and A is ``gram``."""
        rows, columns = np.triu_indices(self.width)
        both = at[rows] * model[columns] + at[columns] * model[rows]
        once = np.where(rows == columns, at[rows] * model[rows], both)
        combined = np.concatenate([-once, at, np.zeros(2)])
        return np.asarray(self.loads.within(combined) * self.deviations)

    def of_rest(self, model: Floats) -> float:
        """Standard deviation of the noise in the sum of squares that ``model`` leaves."""
        rows, columns = np.triu_indices(self.width)
        times = np.where(rows == columns, 1.0, 2.0) * model[rows] * model[columns]
        combined = np.concatenate([times, -2.0 * model, [1.0, 0.0]])
        return float(np.linalg.norm(self.loads.within(combined) * self.deviations))

    def rest(self, model: Floats) -> float:
        """The sum of squares that ``model`` leaves."""
        return float(self.square - 2.0 * model @ self.cross + model @ self.gram @ model)


__all__ = ["Loads", "NoisySums"]
