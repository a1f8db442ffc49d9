"""One column of a released density: public edges, and how much of the column lies up to a value.

A *measure* along an axis is length for a real column and a number of integers for a whole-number one, so that mass is
spread evenly over it in both cases: ``upto(x)`` is the measure of what is <= x, ``at(t)`` the value where it is t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import PublicParameterError
from reticent.privacy.numbers import show

Floats = NDArray[np.float64]

MOST = 1 << 20  # cells along one axis: seconds of arithmetic with fractions
EDGE = 200  # bytes of an edge, about


@dataclass(frozen=True)  # no slots: the doubles below are worked out once, and there may be a million of them
class Axis:
    """A column cut into cells by public edges.

    Attributes
    ----------
    column : str
    edges : tuple of Fraction
        Ascending, at least two. Cell i is [e_i, e_{i+1}), the last one closed.
    whole : bool
        The column holds whole numbers: the edges are integers and cell i holds e_i, ..., e_{i+1} - 1, so that the last
        edge is one above the largest value.
    """

    column: str
    edges: tuple[Fraction, ...]
    whole: bool = False

    def __post_init__(self) -> None:
        if not all(isinstance(edge, Fraction) for edge in self.edges):
            raise PublicParameterError("edges of an axis are fractions")
        if not 2 <= len(self.edges) <= MOST + 1:
            raise PublicParameterError(f"an axis has 1 to {MOST} cells, got {len(self.edges) - 1}")
        if any(float(low) >= float(high) for low, high in pairwise(self.edges)):
            raise PublicParameterError("edges of an axis ascend, and no two of them are one double")
        if self.whole and any(edge.denominator != 1 for edge in self.edges):
            raise PublicParameterError("edges of a whole-number axis are integers")

    @property
    def cells(self) -> int:
        return len(self.edges) - 1

    @property
    def low(self) -> float:
        return float(self.edges[0])

    @property
    def high(self) -> float:
        """The largest possible value."""
        return float(self.edges[-1] - 1 if self.whole else self.edges[-1])

    @cached_property
    def cuts(self) -> Floats:
        """The edges as doubles."""
        return _fixed(np.array([float(edge) for edge in self.edges]))

    @cached_property
    def steps(self) -> Floats:
        """The measure up to each edge, from 0."""
        return _fixed(np.array([float(edge - self.edges[0]) for edge in self.edges]))

    @cached_property
    def sizes(self) -> Floats:
        """The measure of each cell."""
        return _fixed(np.array([float(high - low) for low, high in pairwise(self.edges)]))

    def upto(self, points: ArrayLike) -> Floats:
        """Measure of the values <= each point."""
        values = np.asarray(points, np.float64)
        run = np.floor(values) - self.low + 1.0 if self.whole else values - self.low
        return np.clip(run, 0.0, float(self.edges[-1] - self.edges[0]))

    def under(self, points: ArrayLike) -> Floats:
        """Measure of the values < each point."""
        values = np.asarray(points, np.float64)
        run = np.ceil(values) - self.low if self.whole else values - self.low
        return np.clip(run, 0.0, float(self.edges[-1] - self.edges[0]))

    def share(self, low: float, high: float) -> Floats:
        """The share of each cell that lies in [low, high]."""
        first, last = float(self.under(low)), float(self.upto(high))
        ends = self.steps
        inside = np.clip(np.minimum(ends[1:], last) - np.maximum(ends[:-1], first), 0.0, None)
        found: Floats = inside / self.sizes
        return found

    def cell(self, points: ArrayLike) -> NDArray[np.int64]:
        """The cell of each point, -1 for what lies outside (or is no whole number on a whole-number axis)."""
        values = np.asarray(points, np.float64)
        place = np.searchsorted(self.cuts, values, side="right").astype(np.int64) - 1
        place = np.where((place == self.cells) & (values == self.high), self.cells - 1, place)
        inside = (values >= self.low) & (values <= self.high)
        if self.whole:
            inside &= values == np.floor(values)
        return np.where(inside, place, -1).astype(np.int64)

    def within(self, place: NDArray[np.int64], share: Floats) -> Floats:
        """The value a share in [0, 1) of the way through each cell."""
        steps = share * self.sizes[place]
        return self.cuts[place] + (np.floor(steps) if self.whole else steps)

    def to_json(self) -> dict[str, object]:
        return {"column": self.column, "edges": [show(edge) for edge in self.edges], "whole": self.whole}


def axis(column: str, edges: Sequence[Fraction | int], *, whole: bool = False) -> Axis:
    """An axis with these edges."""
    return Axis(column, tuple(Fraction(edge) for edge in edges), whole)


def even(column: str, low: Fraction, high: Fraction, cells: int, *, whole: bool = False) -> Axis:
    """An axis from the public bounds of a column, in at most ``cells`` cells as equal as its values allow.

    Raises
    ------
    PublicParameterError
        For bounds that are not in order, fewer than one cell, or more than ``MOST``, before their edges are made.
    """
    if not low < high and not (whole and low == high):
        raise PublicParameterError(f"low must be below high, got {show(low)} and {show(high)}")
    if cells < 1:
        raise PublicParameterError(f"cells must be >= 1, got {cells}")
    first, values = int(low), int(high) - int(low) + 1
    parts = min(cells, values) if whole else cells
    if parts > MOST:
        raise PublicParameterError(
            f"{column}: {parts:,} cells along one column, about {parts * EDGE // 10**6:,} MB of edges: at most "
            f"{MOST:,}. Nothing was charged."
        )
    if not whole:
        return Axis(column, tuple(low + (high - low) * Fraction(place, cells) for place in range(cells + 1)))
    return Axis(column, tuple(Fraction(first + values * place // parts) for place in range(parts + 1)), True)


def _fixed(values: Floats) -> Floats:
    values.setflags(write=False)
    return values
