"""Candidates for a quantile: a public, ordered list of cells with public integer weights.

With bounds, or with a declared resolution, the cells are one step wide around the multiples of the step. Without
bounds the public prior gives equal mass to every binade of |t| in [2^-20, 2^60] with both signs, uniform on the grid
inside a binade, and one binade's mass to a cell at 0 that takes everything smaller; so all weights are integers.
Where a resolution is declared the binades are of |t| in steps. Values beyond the last cell go to it.

A cell is identified by its index, an integer that grows with the value. Data enter as indices; a score is an
integer function of counts of indices, so an atom of the data is a cell that can win.

Source: notes on 003's successors (Smith 2011; Asi and Duchi 2020 for the score); the prior is our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.data.schema import Category, Column, Integer, Real
from reticent.errors import PublicParameterError, QuestionError

LEAST, MOST = -20, 60  # the binades of the prior
FINE: Final = 20  # bits of a real binade; bounded columns have about 2**FINE cells


@dataclass(frozen=True, slots=True)
class Segment:
    """Cells ``first <= index < stop``, each of integer weight ``weight``."""

    first: int
    stop: int
    weight: int


@dataclass(frozen=True, slots=True)
class Cells:
    """The candidates of one column. ``segments`` are disjoint and in order; gaps hold no candidate.

    ``step`` is the width of a bounded cell, None for the real prior; ``whole`` marks integer columns, where a cell
    is one integer and the value of the cell is that integer.
    """

    segments: tuple[Segment, ...]
    step: Fraction | None
    whole: bool

    @property
    def lowest(self) -> int:
        return self.segments[0].first

    @property
    def highest(self) -> int:
        return self.segments[-1].stop - 1

    def index(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The cell of each value; +-inf and values outside go to the end cells. No NaN may come in."""
        if self.step is not None:
            return self._index_even(values)
        return _index_binades(values)

    def _index_even(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        assert self.step is not None
        # Multiplying by a power of two is exact, so the cell is exact; other steps may put a value that lies within
        # one rounding of an edge into the neighbouring cell. The map stays monotone and row by row, which is all
        # that the sensitivity needs.
        with np.errstate(over="ignore"):
            steps = values / float(self.step) + (0.0 if self.whole else 0.5)
            scaled = np.clip(np.floor(steps), -(2.0**62), 2.0**62).astype(np.int64)
        return np.clip(scaled, self.lowest, self.highest)

    def value(self, index: int) -> Fraction:
        """The public value released for a cell: a multiple of the step, or the middle of the cell."""
        if self.step is not None:
            return index * self.step
        if index == 0:
            return Fraction(0)
        binade, within = divmod(abs(index) - 1, 1 << FINE)
        size = Fraction(2) ** (LEAST + binade) * (1 + Fraction(2 * within + 1, 2 << FINE))
        return size if index > 0 else -size

    def edges(self, index: int) -> tuple[Fraction, Fraction]:
        """The ends of a cell."""
        if self.whole:
            return Fraction(index), Fraction(index)
        if self.step is not None:
            return (index - Fraction(1, 2)) * self.step, (index + Fraction(1, 2)) * self.step
        if index == 0:
            return -(Fraction(2) ** LEAST), Fraction(2) ** LEAST
        middle = self.value(index)
        binade = (abs(index) - 1) >> FINE
        half = Fraction(2) ** (LEAST + binade) / (2 << FINE)
        return middle - half, middle + half


def cells_of(column: Column, name: str) -> Cells:
    """The candidates of a numeric column, from its public declaration alone."""
    match column:
        case Category():
            raise QuestionError(f"a quantile needs numbers, and {name} is a category. Ask for proportion or histogram.")
        case Integer(low=int() as low, high=int() as high):
            return Cells((Segment(low, high + 1, 1),), Fraction(1), True)
        case Integer():
            return Cells(_integer_prior(), Fraction(1), True)
        case Real(low=Fraction() as low, high=Fraction() as high, resolution=resolution):
            step = resolution if resolution is not None else _power_of_two_below((high - low) / (1 << FINE))
            first, last = (low / step).__floor__(), (high / step).__ceil__()
            if last - first > 1 << 40 or max(abs(first), abs(last)) > 1 << 52:
                raise PublicParameterError(f"resolution of {name} is too fine for its range: more than 2^40 steps")
            return Cells((Segment(first, last + 1, 1),), step, False)
        case Real(resolution=None):
            span = (MOST - LEAST) << FINE
            return Cells((Segment(-span, 0, 1), Segment(0, 1, 1 << FINE), Segment(1, span + 1, 1)), None, False)
        case Real(resolution=Fraction() as step):
            return Cells(_integer_prior(), step, False)  # the same prior, counted in steps
        case Real():  # pragma: no cover - low and high come together, so one of the cases above holds
            raise PublicParameterError(f"low and high of {name} come together")
        case _:
            assert_never(column)


def _integer_prior() -> tuple[Segment, ...]:
    """Binade e holds 2**e integers of weight 2**(MOST-1-e), so every binade and the cell 0 weigh the same."""
    upward = [Segment(1 << e, 1 << (e + 1), 1 << (MOST - 1 - e)) for e in range(MOST)]
    downward = [Segment(1 - s.stop, 1 - s.first, s.weight) for s in reversed(upward)]
    return (*downward, Segment(0, 1, 1 << (MOST - 1)), *upward)


def _index_binades(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Sign, binade and leading FINE bits of each double, as one ordered integer. ``frexp`` is exact."""
    size = np.minimum(np.abs(values), np.nextafter(2.0**MOST, 0.0))
    mantissa, exponent = np.frexp(size)  # size = mantissa 2^exponent, mantissa in [1/2, 1)
    binade = exponent.astype(np.int64) - 1 - LEAST
    within = np.floor((2.0 * mantissa - 1.0) * (1 << FINE)).astype(np.int64)
    index = 1 + (binade << FINE) + within
    near = size < 2.0**LEAST  # and 0 itself, whose exponent says nothing
    return np.where(near, 0, np.where(values < 0, -index, index)).astype(np.int64)


def _power_of_two_below(width: Fraction) -> Fraction:
    exponent = width.numerator.bit_length() - width.denominator.bit_length()
    step = Fraction(2) ** exponent
    return step if step <= width else step / 2
