"""One column of a released density: public edges, and how much of the column lies up to a value.

A *measure* along an axis is length for a real column and a number of integers for a whole-number one. With ``weights``
it is that of a released density of the column. Mass is spread evenly over it: ``upto(x)`` measures what is <= x.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent import calendar
from reticent.errors import PublicParameterError
from reticent.privacy.numbers import read, show

Floats = NDArray[np.float64]
Steps: TypeAlias = Mapping[str, int | Fraction]  # of columns of dates the seconds of a unit, of others a resolution

NARROW = Fraction(1, 1 << 40)  # of the range of a real column: the width of an atom
MOST = 1 << 20  # cells along one axis: seconds of arithmetic with fractions
EDGE = 200  # bytes of an edge, about
MOST_UNITS = 58  # bits of the bounds in the unit that values are read in: an integer of 64 bits holds them
ROUNDED = 1e-9  # of a number of steps: what rounding may put it off by


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
    atoms : tuple of Fraction
        Ascending values that have a cell of their own, where records may crowd: of a real column the cell that begins
        there, or the last one for the largest value. All that is in such a cell has that one value.
    step : int
        Of a column of dates or times the seconds that one unit stands for, from 1970 on; 0 of numbers.
    weights : tuple of float
        Measure of each cell, > 0, evenly spread inside it; empty where its length is its measure.
    resolution : Fraction or None
        Declared step of a real column: its values are the multiples within the bounds, and each has what is spread
        over half a step on either side.
    """

    column: str
    edges: tuple[Fraction, ...]
    whole: bool = False
    atoms: tuple[Fraction, ...] = ()
    step: int = 0
    weights: tuple[float, ...] = ()
    resolution: Fraction | None = None

    def __post_init__(self) -> None:
        if not all(isinstance(edge, Fraction) for edge in self.edges):
            raise PublicParameterError("edges of an axis are fractions")
        if not 2 <= len(self.edges) <= MOST + 1:
            raise PublicParameterError(f"an axis has 1 to {MOST} cells, got {len(self.edges) - 1}")
        if any(float(low) >= float(high) for low, high in pairwise(self.edges)):
            raise PublicParameterError("edges of an axis ascend, and no two of them are one double")
        if self.whole and any(edge.denominator != 1 for edge in self.edges):
            raise PublicParameterError("edges of a whole-number axis are integers")
        if self.step and not (self.whole and self.step in calendar.STEPS.values()):
            raise PublicParameterError("dates and times are whole numbers of seconds, minutes, hours or days")
        if self.weights and (
            len(self.weights) != self.cells
            or not all(type(weight) is float and 0.0 < weight < math.inf for weight in self.weights)
        ):
            raise PublicParameterError("weights of an axis are one number above 0 for each cell")
        if self.resolution is not None and (
            self.whole or self.resolution <= 0 or not _has_multiple(self.edges[0], self.edges[-1], self.resolution)
        ):
            raise PublicParameterError("a resolution is above 0, of a real column that has a multiple of it")
        if self.atoms:
            self._check_atoms()

    def _check_atoms(self) -> None:
        if any(not isinstance(atom, Fraction) for atom in self.atoms) or list(self.atoms) != sorted({*self.atoms}):
            raise PublicParameterError("atoms of an axis are fractions that ascend")
        if not {*self.atoms} <= {*(self.edges[:-1] if self.whole else self.edges)}:
            raise PublicParameterError("an atom of an axis has a cell of its own, which begins there")
        if len({*self.lone.tolist()}) < len(self.atoms) or (self.whole and (self.lengths[self.lone] != 1.0).any()):
            raise PublicParameterError("an atom of an axis has a cell to itself")

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
        return _fixed(np.concatenate([[0.0], np.cumsum(self.weights)])) if self.weights else self._ruler

    @cached_property
    def sizes(self) -> Floats:
        """The measure of each cell."""
        return _fixed(np.array(self.weights)) if self.weights else self.lengths

    @cached_property
    def lengths(self) -> Floats:
        """Length of each cell, or how many whole numbers it has."""
        return _fixed(np.array([float(high - low) for low, high in pairwise(self.edges)]))

    @cached_property
    def _ruler(self) -> Floats:
        """Length up to each edge, from 0."""
        return _fixed(np.array([float(edge - self.edges[0]) for edge in self.edges]))

    @cached_property
    def shape(self) -> Axis:
        """The same cells between 0 and 1, without a name."""
        low, length = self.edges[0], self.edges[-1] - self.edges[0]
        return Axis("", tuple((edge - low) / length for edge in self.edges))

    @cached_property
    def lone(self) -> NDArray[np.int64]:
        """The cells of the atoms."""
        places = {edge: place for place, edge in enumerate(self.edges)}
        found = np.array([min(places[atom], self.cells - 1) for atom in self.atoms], np.int64)
        found.setflags(write=False)
        return found

    def unit(self, width: Fraction, bits: int) -> Fraction:
        """A power of two about 2^-bits of a width, and at least so large that the bounds are below 2^60 units.

        Parameters
        ----------
        width : Fraction
        bits : int

        Returns
        -------
        Fraction
        """
        far = max(abs(self.edges[0]), abs(self.edges[-1]))
        return Fraction(2) ** max(_binade(width) - bits, _binade(far) - MOST_UNITS)

    def upto(self, points: ArrayLike) -> Floats:
        """Measure of the values <= each point; of an atom all of its cell."""
        values = np.asarray(points, np.float64)
        run = np.floor(values) - self.low + 1.0 if self.whole else self.reach(values) - self.low
        found: Floats = np.clip(run, 0.0, float(self.edges[-1] - self.edges[0]))
        for place, atom in self._real_atoms:
            start, stop = self._ruler[place], self._ruler[place + 1]
            found = np.where(values >= atom, np.maximum(found, stop), np.minimum(found, start))
        return self._measure(found)

    def under(self, points: ArrayLike) -> Floats:
        """Measure of the values < each point; of an atom all of its cell."""
        values = np.asarray(points, np.float64)
        run = np.ceil(values) - self.low if self.whole else self.reach(values, _before) - self.low
        found: Floats = np.clip(run, 0.0, float(self.edges[-1] - self.edges[0]))
        for place, atom in self._real_atoms:
            start, stop = self._ruler[place], self._ruler[place + 1]
            found = np.where(values > atom, np.maximum(found, stop), np.minimum(found, start))
        return self._measure(found)

    def _measure(self, lengths: Floats) -> Floats:
        """The measure up to so much length."""
        if not self.weights:
            return lengths
        found: Floats = np.interp(lengths, self._ruler, self.steps)
        return found

    @property
    def _real_atoms(self) -> tuple[tuple[int, float], ...]:
        """Cells and values of the atoms of a real column; whole numbers are as far apart as their cells anyway."""
        if self.whole:
            return ()
        values = self.snapped(np.array([float(atom) for atom in self.atoms]))
        return tuple(zip(self.lone.tolist(), values.tolist(), strict=True))

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
        steps = share * self.lengths[place]
        found: Floats = self.cuts[place] + (np.floor(steps) if self.whole else steps)
        for lone, atom in self._real_atoms:
            found = np.where(place == lone, atom, found)
        return found

    # --- a declared resolution ----------------------------------------------------------------------------------------

    @cached_property
    def middles(self) -> Floats:
        """The mean of what is evenly spread over each cell."""
        if self.resolution is None:
            found: Floats = (self.cuts[:-1] + self.cuts[1:] - (1.0 if self.whole else 0.0)) / 2.0
            return found
        first, last = self._multiples
        steps = np.array([float(edge / self.resolution - first) for edge in self.edges])  # none of them is far from 0
        place = np.clip(np.ceil(steps - 0.5), 0, last - first)
        upto = place * steps - place**2 / 2.0  # the integral of the nearest multiple
        return _fixed(float(first * self.resolution) + float(self.resolution) * np.diff(upto) / np.diff(steps))

    def snapped(self, values: Floats) -> Floats:
        """The nearest multiple of the resolution within the bounds; values as they are without one."""
        if self.resolution is None:
            return values
        return self._multiple(np.ceil(self._in_steps(values) - 0.5))

    def reach(self, values: Floats, turned: Callable[[Floats], Floats] = np.floor) -> Floats:
        """End of what is spread around the last multiple up to each value; the value itself without a resolution.

        Parameters
        ----------
        values : array of float
        turned : callable
            The number of that multiple, from the value in steps.

        Returns
        -------
        array of float
        """
        if self.resolution is None:
            return values
        place, (first, last) = turned(self._in_steps(values)), self._multiples
        inside = self._multiple(place + 0.5)
        found: Floats = np.where(place < first, -math.inf, np.where(place >= last, math.inf, inside))
        return found

    @cached_property
    def _multiples(self) -> tuple[int, int]:
        """The numbers of the first and last multiple of the resolution within the bounds."""
        assert self.resolution is not None
        return _multiples(self.edges[0], self.edges[-1], self.resolution)

    def _in_steps(self, values: Floats) -> Floats:
        """Values in steps of the resolution; a whole number where they differ by rounding alone."""
        assert self.resolution is not None
        steps = values * float(1 / self.resolution)
        near = np.rint(steps)
        found: Floats = np.where(np.abs(steps - near) <= ROUNDED * np.maximum(np.abs(steps), 1.0), near, steps)
        return found

    def _multiple(self, place: Floats) -> Floats:
        """So many steps of the resolution, as the double next to it, within the multiples there are."""
        assert self.resolution is not None
        found: Floats = (
            np.clip(place, *self._multiples) * float(self.resolution.numerator) / float(self.resolution.denominator)
            + 0.0  # no negative zero
        )
        return found

    # --- dates --------------------------------------------------------------------------------------------------------

    def words(self, value: float | Fraction) -> str:
        """A value as people read it: a number, or the date that it stands for."""
        return calendar.text(float(value), self.step) if self.step else f"{float(value):g}"

    def spelled(self, value: float, spelling: str = "") -> str:
        """A date as a file spells it: ``%d.%m.%Y`` and the like, else ISO 8601."""
        moment = calendar.moment(value, self.step)
        return calendar.spelled(moment, spelling) if spelling else calendar.text(value, self.step)

    def numbers(self, values: object) -> Floats:
        """Values as numbers: of a column of dates also dates, their texts and ``datetime64``, cut to its steps.

        Raises
        ------
        PublicParameterError
            A text that is no date, of a column of dates.
        """
        if not self.step:
            return np.asarray(values, np.float64)
        given = np.asarray(values)
        if given.dtype.kind in "biuf":
            return given.astype(np.float64)
        if given.dtype.kind == "M":
            found: Floats = np.floor(given.astype("datetime64[s]").astype(np.float64) / self.step)
            return np.where(np.isnat(given), np.nan, found)
        return np.array([self._number(one) for one in given.ravel().tolist()], np.float64).reshape(given.shape)

    def _number(self, value: Any) -> float:
        return float(calendar.seconds(value)[0] // self.step) if calendar.is_moment(value) else float(value)

    def moments(self, values: Floats) -> NDArray[Any]:
        """Numbers of a column of dates as ``datetime64``, the step below; of another column as they are."""
        if not self.step:
            return values
        whole = np.floor(np.where(np.isnan(values), 0.0, values)).astype(np.int64) * self.step
        found = np.where(np.isnan(values), np.datetime64("NaT"), whole.astype("datetime64[s]"))
        return found.astype("datetime64[D]" if self.step == calendar.DAY else "datetime64[s]")

    def to_json(self) -> dict[str, object]:
        told: dict[str, object] = {
            "column": self.column,
            "edges": [show(edge) for edge in self.edges],
            "whole": self.whole,
        }
        if self.step:
            told["step"] = self.step
        if self.weights:
            told["weights"] = list(self.weights)
        if self.resolution is not None:
            told["resolution"] = show(self.resolution)
        return {**told, "atoms": [show(atom) for atom in self.atoms]} if self.atoms else told


def axis(
    column: str,
    edges: Sequence[Fraction | int],
    *,
    whole: bool = False,
    atoms: Sequence[Fraction | int] = (),
    step: int = 0,
) -> Axis:
    """An axis with these edges, and atoms among them.

    Parameters
    ----------
    column : str
        Name of the column.
    edges : sequence of Fraction or int
        Rising ends of the cells, in the unit of the column.
    whole : bool
        True for a column of whole numbers.
    atoms : sequence of Fraction or int
        Values with a mass of their own, in the unit of the column.
    step : int
        Seconds that one unit of a column of dates stands for.

    Returns
    -------
    Axis
        With ``len(edges) - 1`` cells.
    """
    return Axis(column, tuple(Fraction(edge) for edge in edges), whole, tuple(Fraction(atom) for atom in atoms), step)


def from_json(fields: Mapping[str, Any]) -> Axis:
    """The axis ``to_json`` wrote."""
    edges, atoms = ([read(edge, "edge") for edge in listed] for listed in (fields["edges"], fields.get("atoms", ())))
    step = fields.get("step", 0)
    if type(step) is not int:
        raise ValueError("a step is a number of seconds")
    found = axis(str(fields["column"]), edges, whole=bool(fields["whole"]), atoms=atoms, step=step)
    resolution = None if fields.get("resolution") is None else read(fields["resolution"], "resolution")
    return replace(found, weights=tuple(fields.get("weights", ())), resolution=resolution)


def shapes(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The same cells between 0 and 1, without names: what columns share that differ in bounds alone."""
    return tuple(one.shape for one in axes)


def declared(axes: Sequence[Axis], steps: Steps) -> tuple[Axis, ...]:
    """The same axes, with what is declared of their columns: seconds of a date's unit, or a resolution."""
    return tuple(_declared(one, steps.get(one.column, 0)) for one in axes)


def resolution_of(steps: Steps, column: str) -> Fraction | None:
    """The declared resolution of a column, None without one."""
    found = steps.get(column)
    return found if isinstance(found, Fraction) else None


def _declared(one: Axis, step: int | Fraction) -> Axis:
    if not isinstance(step, Fraction):
        return replace(one, step=step)
    return replace(one, resolution=step) if _has_multiple(one.edges[0], one.edges[-1], step) else one


def _binade(number: Fraction) -> int:
    """The power of two nearest to a number, from below or above; a low one of 0."""
    return number.numerator.bit_length() - number.denominator.bit_length()


def _before(steps: Floats) -> Floats:
    """The last whole number below each."""
    found: Floats = np.ceil(steps) - 1.0
    return found


def _multiples(low: Fraction, high: Fraction, step: Fraction) -> tuple[int, int]:
    """The numbers of the first and the last multiple of a step between two bounds."""
    return math.ceil(low / step), math.floor(high / step)


def _has_multiple(low: Fraction, high: Fraction, step: Fraction) -> bool:
    first, last = _multiples(low, high, step)
    return first <= last


def table(axes: Sequence[Axis], points: Any) -> Floats:
    """Points as numbers: shape (p, columns).

    Parameters
    ----------
    axes : sequence of Axis
    points : array, shape (p,) for one column, (p, columns) for several
        Numbers, or dates where a column has them.

    Returns
    -------
    array of float64

    Raises
    ------
    PublicParameterError
        Another shape.
    """
    given = np.asarray(points, object) if any(one.step for one in axes) and len(axes) > 1 else np.asarray(points)
    if len(axes) == 1:
        return axes[0].numbers(given).reshape(-1, 1)
    if given.ndim != 2 or given.shape[1] != len(axes):
        raise PublicParameterError(f"points have shape (p, {len(axes)})")
    return np.stack([one.numbers(given[:, place]) for place, one in enumerate(axes)], axis=1)


def told(axes: Sequence[Axis], rows: Floats) -> NDArray[Any]:
    """Rows of numbers as people read them: of one column of dates ``datetime64``, of several Python's own dates.

    Parameters
    ----------
    axes : sequence of Axis
    rows : array of float64, shape (count,) for one column, (count, columns) for several

    Returns
    -------
    array
        Of the same shape; of objects where one of several columns holds dates.
    """
    if len(axes) == 1:
        return axes[0].moments(rows)
    if not any(one.step for one in axes):
        return rows
    found = np.empty(rows.shape, object)
    for place, one in enumerate(axes):
        found[:, place] = one.moments(rows[:, place]).astype(object)
    return found


def corner(axes: Sequence[Axis], end: Any) -> Floats:
    """One point as numbers: that of one column may stand by itself.

    Parameters
    ----------
    axes : sequence of Axis
    end : number, date or sequence of them

    Returns
    -------
    array of float64, shape (columns,)

    Raises
    ------
    PublicParameterError
        Another number of columns.
    """
    several = isinstance(end, np.ndarray | Sequence) and not isinstance(end, str)
    given = list(end) if several and np.ndim(end) else [end]
    if len(given) != len(axes):
        raise PublicParameterError(f"low and high have one number for each of {len(axes)} columns")
    return np.array([float(one.numbers(value)) for one, value in zip(axes, given, strict=True)])


def with_atoms(one: Axis, atoms: Sequence[Fraction]) -> Axis:
    """The same axis with a cell for each of these values, which lie within its bounds.

    Raises
    ------
    PublicParameterError
        For values so close to each other or to an edge, beside the doubles there, that they have no cell.
    """
    if one.whole:
        ends = {end for atom in atoms for end in (atom, atom + 1)}
        return axis(one.column, sorted({*one.edges, *ends}), whole=True, atoms=sorted(atoms), step=one.step)
    width = (one.edges[-1] - one.edges[0]) * NARROW
    cells = [(atom, atom + width) if atom < one.edges[-1] else (atom - width, atom) for atom in sorted(atoms)]
    near = {
        edge
        for low, high in cells
        for edge in one.edges[bisect_right(one.edges, low - width) : bisect_left(one.edges, high + width)]
    }
    kept = [edge for edge in one.edges if edge not in near] if near else one.edges
    fine = axis(one.column, sorted({*kept, *sum(cells, ()), one.edges[0], one.edges[-1]}), atoms=sorted(atoms))
    return replace(fine, resolution=one.resolution)


def even(
    column: str, low: Fraction, high: Fraction, cells: int, *, whole: bool = False, resolution: Fraction | None = None
) -> Axis:
    """An axis from the public bounds of a column, in at most ``cells`` cells as equal as its values allow.

    Parameters
    ----------
    column : str
        Name of the column.
    low, high : Fraction
        Public bounds, in the unit of the column.
    cells : int
        At least 1.
    whole : bool
        True for a column of whole numbers.
    resolution : Fraction or None
        Declared step of a real column. Cells then end halfway between two multiples.

    Returns
    -------
    Axis

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
    if resolution is not None and _has_multiple(low, high, resolution):
        return _halfway(column, low, high, cells, resolution)
    if not whole:
        return Axis(column, tuple(low + (high - low) * Fraction(place, cells) for place in range(cells + 1)))
    return Axis(column, tuple(Fraction(first + values * place // parts) for place in range(parts + 1)), True)


def _halfway(column: str, low: Fraction, high: Fraction, cells: int, resolution: Fraction) -> Axis:
    """Cells that hold as equally many multiples of the resolution as there can be."""
    first, last = _multiples(low, high, resolution)
    values = last - first + 1
    parts = min(cells, values)
    inner = ((first + values * place // parts - Fraction(1, 2)) * resolution for place in range(1, parts))
    return Axis(column, (low, *inner, high), resolution=resolution)


def _fixed(values: Floats) -> Floats:
    values.setflags(write=False)
    return values
