"""Candidates for a quantile: a public, ordered list of cells with public integer weights.

With bounds, or with a declared resolution, the cells are one step wide around the multiples of the step. Without bounds
the public prior gives equal mass to every binade of |t| in [2^-20, 2^60] with both signs. Every other binade in
[2^-332, 2^332] has a 16th of it. The prior is uniform on the grid inside a binade. A cell at 0 takes everything smaller
and has one usual binade's mass, so all weights are integers. Where a resolution is declared the binades are of |t| in
steps. Values beyond the last cell go to it.

Rows are put into fine cells (2^40 of a range or a binade), so that values which merely lie close are no ties. Draws
that must tell an atom from all other candidates merge them into fewer (``coarser``). Draws about a released magnitude
put them into even cells of that size (``even``, ``moved``). Both look at one value at a time.

A cell is identified by its index, an integer that grows with the value. Data enter as indices. A score is an integer
function of counts of indices, so an atom of the data is a cell that can win.

Source: notes on 003's successors (Smith 2011; Asi and Duchi 2020 for the score); the prior is our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.data.query import On, Records
from reticent.data.schema import Category, Column, Integer, Real
from reticent.errors import PublicParameterError, QuestionError

LEAST, MOST = -20, 60  # the usual binades
REACH: Final = 332  # binades of either sign of exponent that a real column without bounds has: 1e-100 to 1e100
USUAL: Final = 16  # how often a cell of a usual binade outweighs one of another
FINE: Final = 20  # bits of a binade where atoms must be told from all other candidates
FINEST: Final = 40  # bits in which rows are kept: of a binade, or of declared bounds
LISTED: Final = 1 << 16  # different records that are counted where the rows are
EXACT: Final = 1 << 52  # doubles hold whole numbers of steps up to here, and half steps


@dataclass(frozen=True, slots=True)
class Segment:
    """Cells ``first <= index < stop``, each of integer weight ``weight``."""

    first: int
    stop: int
    weight: int


@dataclass(frozen=True, slots=True)
class Cells:
    """The candidates of one column. ``segments`` are disjoint and in order; gaps hold no candidate.

    ``step`` is the width of a bounded cell. It is None for the real prior, whose binades start at 2^``least`` and have
    2^``fine`` cells each. ``whole`` marks integer columns, whose cells are one integer each, with that integer as
    value. Even cells are numbered from ``origin`` steps on, so that numbers are small in a range far from 0.
    """

    segments: tuple[Segment, ...]
    step: Fraction | None
    whole: bool
    fine: int = FINE
    least: int = LEAST
    origin: int = 0

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
        return self._index_binades(values)

    @property
    def free(self) -> bool:
        """True if no bounds have been declared or named, so that every candidate of the prior is there."""
        if self.step is None:
            return self.segments == _real_prior(self.fine, self.least)
        return len(self.segments) > 1 and self.segments == _integer_prior()

    def _index_binades(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Sign, binade and leading bits of each double, as one ordered integer. ``frexp`` is exact."""
        most = MOST if self.least == LEAST else REACH
        size = np.minimum(np.abs(values), np.nextafter(2.0**most, 0.0))
        mantissa, exponent = np.frexp(size)  # size = mantissa 2^exponent, mantissa in [1/2, 1)
        binade = exponent.astype(np.int64) - 1 - self.least
        within = np.floor((2.0 * mantissa - 1.0) * (1 << self.fine)).astype(np.int64)
        index = 1 + (binade << self.fine) + within
        near = size < 2.0**self.least  # and 0 itself, whose exponent says nothing
        return np.where(near, 0, np.where(values < 0, -index, index)).astype(np.int64)

    def _index_even(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        assert self.step is not None
        # Multiplying by a power of two is exact, so the cell is exact; other steps may put a value that lies within
        # one rounding of an edge into the neighbouring cell. The map stays monotone and row by row, which is all
        # that the sensitivity needs.
        with np.errstate(over="ignore"):
            steps = values / float(self.step) + (0.0 if self.whole else 0.5)
            scaled = np.clip(np.floor(steps), -(2.0**62), 2.0**62).astype(np.int64) - self.origin
        return np.clip(scaled, self.lowest, self.highest)

    def value(self, index: int) -> Fraction:
        """The public value released for a cell: a multiple of the step, or the middle of the cell."""
        if self.step is not None:
            return (index + self.origin) * self.step
        if index == 0:
            return Fraction(0)
        binade, within = divmod(abs(index) - 1, 1 << self.fine)
        size = Fraction(2) ** (self.least + binade) * (1 + Fraction(2 * within + 1, 2 << self.fine))
        return size if index > 0 else -size

    def edges(self, index: int) -> tuple[Fraction, Fraction]:
        """The ends of a cell."""
        if self.step is not None:
            half, at = 0 if self.whole else self.step / 2, self.value(index)
            return at - half, at + half
        if index == 0:
            return -(Fraction(2) ** self.least), Fraction(2) ** self.least
        middle = self.value(index)
        binade = (abs(index) - 1) >> self.fine
        half = Fraction(2) ** (self.least + binade) / (2 << self.fine)
        return middle - half, middle + half

    def values(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """The public value of each cell, as ``value`` gives it, as a double (exact without a declared step)."""
        if self.step is not None:
            return np.asarray((index + self.origin) * float(self.step), dtype=np.float64)
        size = np.maximum(np.abs(index) - 1, 0)
        binade, inside = size >> self.fine, size & ((1 << self.fine) - 1)
        made = np.ldexp(1.0 + (2.0 * inside + 1.0) / (2 << self.fine), (self.least + binade).astype(np.int32))
        return np.asarray(np.sign(index) * made, dtype=np.float64)


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
            if resolution is None:
                return even(low, high, FINEST)
            first, last = (low / resolution).__floor__(), (high / resolution).__ceil__()
            if last - first > 1 << 40 or max(abs(first), abs(last)) > EXACT:
                raise PublicParameterError(f"resolution of {name} is too fine for its range: more than 2^40 steps")
            return Cells((Segment(first, last + 1, 1),), resolution, False)
        case Real(resolution=None):
            return Cells(_real_prior(FINEST, -REACH), None, False, FINEST, -REACH)
        case Real(resolution=Fraction() as step):
            return Cells(_integer_prior(), step, False)  # the same prior, counted in steps
        case Real():  # pragma: no cover - low and high come together, so one of the cases above holds
            raise PublicParameterError(f"low and high of {name} come together")
        case _:
            assert_never(column)


def are_counted(query: Records, columns: Mapping[str, Column]) -> bool:
    """Tell if few different records are declared: the engine counts equal ones, and brings each of them once.

    Values beyond their bounds, or between the steps of a resolution, make further records and change no answer.

    Parameters
    ----------
    query : Records
    columns : mapping of name to Column
        As declared.

    Returns
    -------
    bool
        False where persons are numbered, and where a column has no bounds.
    """
    many = 1 if query.owners == "untold" else LISTED + 1
    for name, unit in zip(query.columns, query.units, strict=True):
        match columns.get(name):
            case Category(among=among):
                many *= len(among)
            case Integer(low=int() as low, high=int() as high):
                many *= (high - low) // max(unit, Fraction(1)) + 1
            case Real(low=Fraction() as low, high=Fraction() as high, resolution=resolution):
                many *= (high - low) // max(unit, resolution or unit) + 2
            case _:
                return False
    return many <= LISTED


def cells_on(on: On, column: Column, name: str) -> Cells:
    """The cells that ``Ranks`` counts in: those of the column, or those of a real one without bounds.

    Parameters
    ----------
    on : On
        Kind of candidates that the query names.
    column : Column
    name : str
        Of the column, for the message.

    Returns
    -------
    Cells
    """
    if on == "binades" and not isinstance(column, Category):  # a resolution too fine for a grid is no matter here
        return cells_of(Real(), name)
    return cells_of(column, name)


def prior(fine: int = FINE) -> Cells:
    """The usual binades alone, all alike, with 2^``fine`` cells each."""
    return Cells(_real_prior(fine, LEAST), None, False, fine, LEAST)


def even(low: Fraction, high: Fraction, bits: int) -> Cells:
    """About 2^``bits`` cells of equal weight from ``low`` to ``high``, as wide as a power of two.

    Parameters
    ----------
    low, high : Fraction
        Ends, in the unit of the column.
    bits : int
        Logarithm of the number of cells, to the base 2.

    Returns
    -------
    Cells
    """
    step = _power_of_two_below((high - low) / (1 << bits))
    first, last = (low / step).__floor__(), (high / step).__ceil__()
    while max(abs(first), abs(last)) > EXACT:  # a range far from 0: no finer than doubles are
        step *= 2
        first, last = (low / step).__floor__(), (high / step).__ceil__()
    return Cells((Segment(first, last + 1, 1),), step, False)


def coarser(cells: Cells, bits: int) -> Cells:
    """The same candidates with at most 2^``bits`` cells in a binade, or about so many between bounds."""
    if cells.step is None:
        by = max(cells.fine - bits, 0)
        kept = tuple(_merged(s, by) for s in cells.segments)
        return Cells(kept, None, False, cells.fine - by, cells.least)
    if cells.whole or len(cells.segments) > 1:
        return cells
    by = max((cells.highest - cells.lowest).bit_length() - 1 - bits, 0)
    half = (1 << by) >> 1
    first, last = (cells.lowest + half) >> by, (cells.highest + half) >> by
    return Cells((Segment(first, last + 1, 1),), cells.step * (1 << by), False)


def numbered(cells: Cells, bits: int) -> Cells:
    """Even cells of equal weight, at most 2^``bits`` of them and with numbers about 0, by merging and by an origin."""
    assert cells.step is not None
    by = max((cells.highest - cells.lowest).bit_length() - bits, 0)
    half = (1 << by) >> 1
    first, last = (cells.lowest + half) >> by, (cells.highest + half) >> by
    middle = (first + last) >> 1 if max(abs(first), abs(last)) >> bits else 0
    kept = (Segment(first - middle, last + 1 - middle, 1),)
    return Cells(kept, cells.step * (1 << by), cells.whole and not by, origin=cells.origin + middle)


def moved(base: Cells, to: Cells, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cell of ``to`` that each cell of ``base`` belongs to: monotone, and each by itself.

    Parameters
    ----------
    base, to : Cells
    index : array of shape (n,), int
        Cells of ``base``.

    Returns
    -------
    array of shape (n,), int
        Cells of ``to``.
    """
    if to.step is None and base.step is None and to.least == base.least:
        by = base.fine - to.fine
        return np.sign(index) * (((np.abs(index) - 1) >> by) + 1) if by else index
    if to.step is not None and to.step == base.step:
        return np.clip(index + (base.origin - to.origin), to.lowest, to.highest)
    return to.index(base.values(index))


def _merged(segment: Segment, by: int) -> Segment:
    """A segment of binades whose cells are merged 2^``by`` at a time; the cell at 0 stays one with the mass it has."""

    def outwards(edge: int) -> int:  # the cells 1 .. edge - 1 become 1 .. outwards(edge) - 1
        return ((edge - 2) >> by) + 2

    if segment.first == 0:
        return Segment(0, 1, max(segment.weight >> by, 1))
    if segment.first > 0:
        return Segment(((segment.first - 1) >> by) + 1, outwards(segment.stop), segment.weight)
    mirrored = _merged(Segment(1 - segment.stop, 1 - segment.first, segment.weight), by)
    return Segment(1 - mirrored.stop, 1 - mirrored.first, segment.weight)


@lru_cache(maxsize=8)
def _real_prior(fine: int, least: int) -> tuple[Segment, ...]:
    """The usual binades, with the other ones around them where ``least`` is lower."""
    if least == LEAST:
        upward = [Segment(1, ((MOST - LEAST) << fine) + 1, 1)]
        heavy = 1
    else:
        ends = [0, LEAST - least, MOST - least, REACH - least]
        upward = [
            Segment((a << fine) + 1, (b << fine) + 1, weight)
            for a, b, weight in zip(ends, ends[1:], (1, USUAL, 1), strict=False)
        ]
        heavy = USUAL
    downward = [Segment(1 - s.stop, 1 - s.first, s.weight) for s in reversed(upward)]
    return (*downward, Segment(0, 1, heavy << fine), *upward)


@lru_cache(maxsize=1)
def _integer_prior() -> tuple[Segment, ...]:
    """Binade e holds 2**e integers of weight 2**(MOST-1-e), so every binade and the cell 0 weigh the same."""
    upward = [Segment(1 << e, 1 << (e + 1), 1 << (MOST - 1 - e)) for e in range(MOST)]
    downward = [Segment(1 - s.stop, 1 - s.first, s.weight) for s in reversed(upward)]
    return (*downward, Segment(0, 1, 1 << (MOST - 1)), *upward)


def _power_of_two_below(width: Fraction) -> Fraction:
    exponent = width.numerator.bit_length() - width.denominator.bit_length()
    step = Fraction(2) ** exponent
    return step if step <= width else step / 2
