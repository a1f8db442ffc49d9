"""A lower bound of the distance for every p: rows to add or delete until the solutions leave a cell.

For a cell C, a public cover of its boundary by boxes Q and public points c inside it,

    G_C = min over Q of max over c of (min_Q f - f(c) - slack) / max_{b in Q} |b - c|,   cut at 0

Every row moves G_C by at most 1, G_C is at most the distance, and it is 0 for any cell that does not hold every B
whose f is within ``slack`` of the least (docs/proofs/regression.md, section 4). So a centre that is certified to be
within ``slack`` lies in the only cell of each lattice that can count, and so does every neighbour's.

Deviations. The issue of a lower bound does not arise in 003, which visits all crossings, O(n^{p+1}). One point for
each piece in place of one for the whole cell, and facets cut into pieces, more than double the bound.

Floats: ``radii`` are public and rounded up; the quotient is a float of exact differences, off by less than 2^-6. With
the solver's tolerance of 1/8 that is ``SPREAD`` = 1/4 in all, which is in the sensitivity: the distance released to the
test is ceil(G / (1 + SPREAD)).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from reticent.statistics.regression.cells import FINE, Cell, Cells, Cover, cover
from reticent.statistics.regression.minimum import SHARP, Corner, Floats, least, tangent
from reticent.statistics.regression.rows import ONE, REACH, Integers, Rows, value

SPREAD: Final = 0.25
EIGHTH: Final = 8


@dataclass(frozen=True, slots=True)
class Found:
    """For every shift the bound in rows, before rounding, and the point that is released with noise, in steps."""

    bounds: tuple[float, ...]
    centre: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Public:
    """What the bound uses of the sides alone."""

    lattice: Cells
    cover: Cover
    radii: Floats

    @property
    def slack(self) -> int:
        """Of the centre, and of every minimum: an eighth of a row at the least radius, times 2^22."""
        return math.floor(float(self.radii.min())) * (ONE << SHARP) // EIGHTH


def public(lattice: Cells) -> Public:
    found = cover(lattice.sides)
    return Public(lattice, found, found.radii())


def rows_of(bound: float) -> int:
    """The integer distance of a bound: it moves by at most k where k rows are added or deleted."""
    return math.ceil(bound / (1 + SPREAD))


def greatest(data: Rows, known: Public, *, most: float = math.inf) -> tuple[float, tuple[Fraction, ...]]:
    """The greatest G over the shifts, or some G >= ``most``, and the centre."""
    centre = centre_of(data, known)
    if centre is None:
        return 0.0, (Fraction(0),) * data.columns
    best = 0.0
    for cell in known.lattice.around(centre):
        if best < most:
            best = max(best, bound_of(data, cell, known, most=most, least_wanted=best))
    return best, centre


def lower_bounds(data: Rows, known: Public) -> Found:
    """G for every shift."""
    columns, centre = data.columns, centre_of(data, known)
    if centre is None:
        return Found((0.0,) * (columns + 1), (Fraction(0),) * columns)
    return Found(tuple(bound_of(data, cell, known) for cell in known.lattice.around(centre)), centre)


def centre_of(data: Rows, known: Public) -> tuple[Fraction, ...] | None:
    """A point whose objective is certified to be within the slack of the least; None where solutions are unbounded."""
    if not data.spanned():
        return None
    end = REACH << FINE
    near = least(data, (-end,) * data.columns, (end,) * data.columns, known.slack)
    return tuple(part / (1 << FINE) for part in near.point)


def bound_of(data: Rows, cell: Cell, known: Public, *, most: float = math.inf, least_wanted: float = 0.0) -> float:
    """G of one cell, told exactly between ``least_wanted`` and ``most`` only: least bounds are solved first."""
    if not cell.near:
        return 0.0
    corner = np.array(cell.low, np.int64) << FINE
    heights = [value(data, data.residuals(_at(corner, point), fine=FINE)) << SHARP for point in known.cover.points]
    base = min(heights)
    above = np.array([float(height - base) for height in heights])
    base += known.slack

    def bound(piece: int, low: int) -> float:
        return float(((float(low - base) - above) / known.radii[piece]).max()) / (ONE << SHARP)

    queue: list[tuple[float, int, bool]] = []
    for piece, (low, high) in enumerate(zip(known.cover.low, known.cover.high, strict=True)):
        start, stop = _at(corner, low), _at(corner, high)
        touching = tangent(data, _at(corner, (low + high) // 2))
        queue.append((bound(piece, touching.least(start, stop)), piece, False))
    heapq.heapify(queue)
    while True:
        best, piece, solved = queue[0]
        if solved or best >= most:
            return max(best, 0.0)
        start, stop = _at(corner, known.cover.low[piece]), _at(corner, known.cover.high[piece])
        tolerance = math.floor(float(known.radii[piece].min())) * (ONE << SHARP) // EIGHTH
        best = bound(piece, least(data, start, stop, tolerance).bound)
        if best <= least_wanted:
            return max(best, 0.0)
        heapq.heapreplace(queue, (best, piece, True))


def _at(corner: Integers, offset: Integers) -> Corner:
    return tuple(int(part) for part in corner + offset)
