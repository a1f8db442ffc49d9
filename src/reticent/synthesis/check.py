"""Comparison of made-up rows with released counts of the real records: free, since the counts were released.

    TableCheck.fit(rows) -> Discrepancy: the share that is farthest off, with one interval for all tables together

A check is a table of coarse cells with noisy counts of the real records. Both sides of a comparison are functions of
one record's value alone. A share of made-up rows and a share of records therefore mean the same thing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError
from reticent.outcome import Estimate
from reticent.privacy.numbers import rough, show
from reticent.synthesis import axis as axes
from reticent.synthesis.axis import Axis

Floats = NDArray[np.float64]

MISSING: Final = "missing"
VAGUE: Final = 0.2  # of all records: a check that holds no share closer tells nothing
CLOSE: Final = 0.02  # of all records: a share that is farther off for sure is not reproduced
SEEN: Final = 1.6  # half-widths of a count: its own, and what its noise is off where that is most
LARGE: Final = 0.2  # of all records: a large share of a table, which an uncertain number of records moves most
LEAST: Final = 2  # times as much epsilon: fewer are no advice


def closeness(radius: float, n: float, off: float) -> float:
    """Typical upper end of the largest difference where made-up rows are like the records, as a share of the records.

    Parameters
    ----------
    radius, off : float
        Half-widths of every count, and of the number of records.
    n : float
        Number of records.

    Returns
    -------
    float
        At most 1.
    """
    return min((SEEN * radius + LARGE * off) / (n - off), 1.0) if n > off else 1.0


def enough(radius: float, n: float, off: float) -> int:
    """The least whole multiple of epsilon, from 2 on, at which ``closeness`` is at most ``VAGUE``.

    Half-widths fall with epsilon. So (SEEN radius + LARGE off) / t = VAGUE (n - off / t), solved for t.

    Parameters
    ----------
    radius, off : float
        Half-widths of every count, and of the number of records.
    n : float
        Number of records, >= 1.

    Returns
    -------
    int
    """
    return max(math.ceil((SEEN * radius + (LARGE + VAGUE) * off) / (VAGUE * n)), LEAST)


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """Largest difference between made-up rows and the records in one table.

    Attributes
    ----------
    columns : tuple of str
    apart : Estimate
        The largest difference of two shares of the table; its interval holds for the tables of a release together, with
        95 %. There is no sampling in it: it is about these records.
    where : str
        The cell that seems farthest off.
    times : int
        So many times as much epsilon for checks would most likely tell, if this table could not be checked.
    """

    columns: tuple[str, ...]
    apart: Estimate
    where: str
    times: int

    @property
    def reproduced(self) -> bool:
        """True if no share is certain to be off by more than ``CLOSE``."""
        return self.apart.low <= CLOSE

    @property
    def words(self) -> str:
        name, most = " × ".join(self.columns), rough(100.0 * self.apart.high)
        if self.reproduced and self.apart.high > VAGUE:
            return (
                f"the table of {name} could not be checked: a share may be off by {most} points for noise (95 %). "
                f"{self.times} times as much ε for checks would do: a larger ε, or a larger share, at most "
                "checks=0.5"
            )
        if self.reproduced:
            return f"the table of {name}: every share within {most} points of the real one (checked, 95 %)"
        return (
            f"not the table of {name}: {self.where} is off by {rough(100.0 * self.apart.value)} points, some share by "
            f"{rough(100.0 * self.apart.low)} to {most} (checked, 95 %)"
        )


@dataclass(frozen=True, slots=True)
class TableCheck:
    """Noisy counts of one table of the real records.

    Attributes
    ----------
    axes : tuple of Axis
        One column, or two; their public cells are those of the table.
    atoms : tuple of float
        Values of one column that are counted by themselves.
    counts : tuple of int
        Of cells in row-major order, atoms, and records without a value.
    radius : int
        Half-width of every count of every table of the release, together, at 95 %; that of ``n``, too.
    n : int
        The number of records, public or released, >= 1.
    off : int
        Half-width of ``n``: 0 where it is public.
    """

    axes: tuple[Axis, ...]
    atoms: tuple[float, ...]
    counts: tuple[int, ...]
    radius: int
    n: int
    off: int = 0

    def __post_init__(self) -> None:
        if len(self.counts) != self.cells + len(self.atoms) + 1:
            raise PublicParameterError("a check has a count for each cell, each atom and the missing")
        if self.n < 1 or self.radius < 0 or self.off < 0:
            raise PublicParameterError("a check has n >= 1 and half-widths >= 0")

    @property
    def cells(self) -> int:
        return math.prod(one.cells for one in self.axes)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(one.column for one in self.axes)

    def fit(self, rows: Mapping[str, Floats], *, absent: bool) -> Discrepancy:
        """Made-up rows against the counts.

        Parameters
        ----------
        rows : mapping from columns to arrays of one length >= 1
            NaN for a missing value.
        absent : bool
            Whether the rows have missing values where records had; without them the records that have a value count.

        Notes
        -----
        With probability 95 % no count c of the release is off by more than ``radius``, and n by no more than ``off``.
        Then every share lies in [(c - radius) / (n + off), (c + radius) / (n - off)]. The largest difference lies
        between the largest of the least distances to these and the largest of the greatest.
        """
        own = self._places([np.asarray(rows[name], np.float64) for name in self.columns])
        n, off, counts = float(self.n), float(self.off), np.array(self.counts, np.float64)
        if not absent:
            n, off, counts, own = max(n - counts[-1], 1.0), off + self.radius, counts[:-1], own[:-1]
        made = own / max(own.sum(), 1.0)
        least = np.clip((counts - self.radius) / (n + off), 0.0, 1.0)
        most = np.clip((counts + self.radius) / (n - off), 0.0, 1.0) if n > off else np.ones(len(counts))
        differences = np.abs(made - np.clip(counts / n, least, most))
        place = int(np.argmax(differences))
        low = float(np.maximum(least - made, made - most).max())
        high = float(np.maximum(np.abs(made - least), np.abs(made - most)).max())
        found = Estimate(float(differences[place]), max(low, 0.0), high, (high - max(low, 0.0)) / 2.0, 0.0)
        return Discrepancy(self.columns, found, self._label(place), enough(self.radius, n, off))

    def _places(self, columns: Sequence[Floats]) -> Floats:
        """Number of rows in each cell of the table."""
        place = np.zeros(len(columns[0]), np.int64)
        for one, values in zip(self.axes, columns, strict=True):
            place = place * one.cells + np.maximum(one.cell(np.clip(values, one.low, one.high)), 0)
        for number, atom in enumerate(self.atoms):
            place[columns[0] == atom] = self.cells + number
        place[np.isnan(np.stack(columns)).any(axis=0)] = self.cells + len(self.atoms)
        return np.bincount(place, minlength=len(self.counts)).astype(np.float64)

    def _label(self, place: int) -> str:
        if place >= self.cells + len(self.atoms):
            return MISSING
        if place >= self.cells:
            return f"= {self.axes[0].words(self.atoms[place - self.cells])}"
        at = np.unravel_index(place, [one.cells for one in self.axes])
        return ", ".join(f"{one.column} {_of_cell(one, k)}" for one, k in zip(self.axes, map(int, at), strict=True))

    def to_json(self) -> dict[str, object]:
        return {
            "axes": [one.to_json() for one in self.axes],
            "atoms": list(self.atoms),
            "counts": list(self.counts),
            "radius": self.radius,
            "n": self.n,
            "off": self.off,
        }


def _of_cell(one: Axis, place: int) -> str:
    """A cell in words: its ends, or its one value."""
    start, stop = one.edges[place], one.edges[place + 1] - one.whole
    low, high = (
        one.words(end) if one.step else show(end) if one.whole else f"{float(end):.4g}" for end in (start, stop)
    )
    return low if low == high else f"{low} to {high}"


def from_json(fields: Mapping[str, Any]) -> TableCheck:
    """The check ``to_json`` wrote.

    Raises
    ------
    ValueError
        Where the numbers are none; KeyError and TypeError where fields are not there.
    """
    whole = [*fields["counts"], fields["radius"], fields["n"], fields["off"]]
    atoms = list(fields["atoms"])
    if not all(type(number) is int for number in whole) or not all(type(atom) is float for atom in atoms):
        raise ValueError("counts are whole numbers and atoms are numbers")
    return TableCheck(
        tuple(map(axes.from_json, fields["axes"])),
        tuple(atoms),
        tuple(whole[:-3]),
        *whole[-3:],
    )


Check = TableCheck  # pickles of version 0.1.0 name it
