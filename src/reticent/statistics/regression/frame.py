"""Columns of a linear model as integers: numbers between public bounds, and categories by their public keys.

    number     (x - middle) / half-width of its bounds, in [-1, 1], rounded to a multiple of 1 / UNIT
    category   the place of its key; a feature, 0 or 1, for every key but the reference
    y          as a number

Without an intercept nothing takes a middle up, so numbers are divided by their largest size. A row that lacks a value
anywhere, or whose key is no public one, is left out of everything. Every row is put into integers by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError
from reticent.statistics.scaling import UNIT, WIDEST, Bound, Floats, Integers, refuse_too_many

MOST_KEYS: Final = 100


@dataclass(frozen=True, slots=True)
class CategoryKeys:
    """A category of ``count`` public keys; the one at place ``reference`` has no coefficient of its own."""

    count: int
    reference: int = 0

    def __post_init__(self) -> None:
        if not 2 <= self.count <= MOST_KEYS or not 0 <= self.reference < self.count:
            raise PublicParameterError(f"a category has 2 to {MOST_KEYS} keys in a linear model, one the reference")

    @property
    def others(self) -> tuple[int, ...]:
        """Places of the keys that have a coefficient."""
        return tuple(place for place in range(self.count) if place != self.reference)


Block: TypeAlias = Bound | CategoryKeys


@dataclass(frozen=True, slots=True, eq=False)
class CompleteRows:
    """Rows that lack nothing: ``steps`` of shape (n, blocks), and ``y``, in multiples of 1 / UNIT; places of keys.

    ``weights`` of shape (n,) are whole numbers from 0 to WEIGHT_ONE; None where every row counts once.
    """

    steps: Integers
    y: Integers
    weights: Integers | None = None


@dataclass(frozen=True)
class Frame:
    """The columns on the right, and y.

    Attributes
    ----------
    blocks : tuple of bounds and Keys
        In their order.
    y : (low, high)
    intercept : bool
    """

    blocks: tuple[Block, ...]
    y: Bound
    intercept: bool = True

    def __post_init__(self) -> None:
        if not self.blocks:
            raise PublicParameterError("a linear model has a column on the right")
        for low, high in (self.y, *self.numbers):
            if not low < high:
                raise PublicParameterError("every column needs public bounds low < high")
            if max(abs(low), abs(high)) > WIDEST or high - low < 1 / WIDEST:
                raise PublicParameterError("bounds lie within 1e300 and are at least 1e-300 apart")
        if not self.intercept and len(self.numbers) < len(self.blocks):
            raise PublicParameterError("a category is told from its reference, which takes an intercept")

    @property
    def numbers(self) -> tuple[Bound, ...]:
        """Bounds of the blocks that are numbers."""
        return tuple(block for block in self.blocks if not isinstance(block, CategoryKeys))

    @cached_property
    def features(self) -> tuple[tuple[int, int], ...]:
        """Block and key place of every feature; -1 for the constant, and for the key of a number."""
        found = [(-1, -1)] if self.intercept else []
        for place, block in enumerate(self.blocks):
            found += [(place, key) for key in block.others] if isinstance(block, CategoryKeys) else [(place, -1)]
        return tuple(found)

    def centre(self, bounds: Bound) -> tuple[float, float]:
        """Middle and half-width of a number."""
        low, high = bounds
        if self.intercept:
            return float(low + high) / 2, float(high - low) / 2
        return 0.0, float(max(abs(low), abs(high)))

    def held(self, values: Floats, targets: Floats, weights: Integers | None = None) -> CompleteRows:
        """The rows of shape (n, blocks) and y of shape (n,) that lack nothing; keys are given by their place.

        Parameters
        ----------
        values : array of shape (n, blocks), float
        targets : array of shape (n,), float
        weights : array of shape (n,), int, optional
            From 0 to WEIGHT_ONE.

        Returns
        -------
        CompleteRows

        Raises
        ------
        PublicParameterError
            Arrays of another shape than the frame's.
        """
        if values.ndim != 2 or values.shape[1] != len(self.blocks) or len(targets) != len(values):
            raise PublicParameterError(f"rows have {len(self.blocks)} columns, and y as many rows")
        refuse_too_many(len(values))
        there = self.complete(values, targets)
        kept = values[there]
        steps = np.empty((len(kept), len(self.blocks)), np.int64)
        for place, block in enumerate(self.blocks):
            column = kept[:, place]
            steps[:, place] = column.astype(np.int64) if isinstance(block, CategoryKeys) else self._steps(column, block)
        return CompleteRows(steps, self._steps(targets[there], self.y), None if weights is None else weights[there])

    def complete(self, values: Floats, targets: Floats) -> NDArray[np.bool_]:
        """Mask of complete rows, of shape (n,): every value is finite and every key is declared."""
        there = np.isfinite(values).all(axis=1) & np.isfinite(targets)
        for place, block in enumerate(self.blocks):
            if isinstance(block, CategoryKeys):
                column = np.where(there, values[:, place], 0.0)
                there &= (column >= 0) & (column < block.count) & (np.floor(column) == column)
        return np.asarray(there, np.bool_)

    def _steps(self, column: Floats, bounds: Bound) -> Integers:
        low, high = float(bounds[0]), float(bounds[1])
        middle, half = self.centre(bounds)
        moved = (np.clip(column, low, high) - middle) / half
        return np.asarray(np.rint(np.clip(moved, -1.0, 1.0) * UNIT).astype(np.int64))

    def featured(self, held: CompleteRows) -> Integers:
        """Rows of shape (n, features) in multiples of 1 / UNIT."""
        columns = [
            np.full(len(held.y), UNIT, np.int64)
            if place < 0
            else held.steps[:, place]
            if key < 0
            else np.where(held.steps[:, place] == key, UNIT, 0)
            for place, key in self.features
        ]
        return np.column_stack(columns).astype(np.int64)

    @cached_property
    def back(self) -> tuple[Floats, Floats]:
        """Coefficients in units of the columns are start + turn @ those of the features."""
        middle, half = self.centre(self.y)
        size = len(self.features)
        start, turn = np.zeros(size), np.zeros((size, size))
        if self.intercept:
            start[0], turn[0, 0] = middle, half
        for at, (place, _) in enumerate(self.features):
            if place < 0:
                continue
            block = self.blocks[place]
            centre, wide = (0.0, 1.0) if isinstance(block, CategoryKeys) else self.centre(block)
            turn[at, at] = half / wide
            if self.intercept:
                turn[0, at] = -centre * half / wide
        return start, turn


__all__ = ["Block", "Frame", "CompleteRows", "CategoryKeys"]
