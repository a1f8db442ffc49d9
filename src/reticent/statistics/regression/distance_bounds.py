"""A lower bound of the distance for every p: rows to add or delete until the solutions leave a cell.

For a cell C, boxes Q that cover its boundary and points c inside it, both public,

    G_C = min over Q of max over c of (min_Q f - f(c) - slack) / max_{b in Q} |b - c|,   cut at 0

Each row changes G_C by at most 1, and G_C is at most the distance. G_C is 0 unless the cell holds every B whose f is
within ``slack`` of the minimum (docs/proofs/regression.md, section 4). So a centre that is certified to be within
``slack`` lies in the only cell of each lattice that can count, and so does every neighbour's.

The boxes are the leaves of public trees: facets are halved ``depth`` times across their longest edges. The points c of
a leaf are those of a lattice and a few between the leaf's middle and the cell's. An inner box has only points of the
second kind. An inner box has fewer points, a lower minimum and a greater radius. So its bound is at most that of its
leaves, and a best-first search visits few leaves.

Deviations. 003 has no lower bound; it visits all crossings, O(n^{p+1}).

Floats: radii are public and rounded up; the quotient is a float of exact differences, off by less than 2^-6. With
the solver's tolerance of 1/8 that is ``SPREAD`` = 1/4 in all, which is in the sensitivity: the distance released to the
test is ceil(G / (1 + SPREAD)).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np

from reticent.statistics.regression.candidates import FINE, CoefficientBox, CoefficientCells, inner_points
from reticent.statistics.regression.rows import ONE, REACH, Integers, RegressionRows, value
from reticent.statistics.regression.subset_minimum import SHARP, Corner, Floats, least, tangent

SPREAD: Final = 0.25
ROW: Final = ONE << SHARP  # of f in fine steps, times 2^22
INWARDS: Final = ((1, 16), (1, 8), (1, 4), (1, 2))  # of the half of a cell, straight inwards from a box's middle
CENTRED: Final = ((1, 8), (1, 4), (1, 2))  # of the way from a box's middle to that of the cell

Points: TypeAlias = tuple[Floats, Floats]  # points of a cell, and f there above a common base


@dataclass(frozen=True, slots=True)
class DistanceBounds:
    """For every shift the bound in rows, before rounding, and the point that is released with noise, in steps."""

    bounds: tuple[float, ...]
    centre: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PublicLattice:
    """Public input of the bound: lattice, points and depth of the trees; made by ``public``."""

    lattice: CoefficientCells
    points: Integers
    depth: int

    @property
    def slack(self) -> int:
        """Largest excess of the centre's objective over the minimum, in the scaled integers of ``height``.

        It is the effect of one row's pull over 1/256 of the shortest side.
        """
        return (min(self.lattice.sides) << FINE) * ROW // 256


def public(lattice: CoefficientCells) -> PublicLattice:
    columns = len(lattice.sides)
    depth = min(4 * (columns - 1), 10 if columns < 5 else 6)  # a tree of 2^depth leaves on each facet
    return PublicLattice(lattice, inner_points(lattice.sides), depth)


def rows_of(bound: float) -> int:
    """The integer distance of a bound: it moves by at most k where k rows are added or deleted."""
    return math.ceil(bound / (1 + SPREAD))


def greatest(
    data: RegressionRows, known: PublicLattice, *, most: float = math.inf
) -> tuple[float, tuple[Fraction, ...]]:
    """The greatest G over the shifts, or some G >= ``most``, and the centre.

    Parameters
    ----------
    data : RegressionRows
        Rows in steps.
    known : PublicLattice
        Lattice of cells, with the points and the depth of the search.
    most : float
        Bound at which the search may stop.

    Returns
    -------
    tuple of float and tuple of Fraction
        G in rows, and the centre in steps of the lattice.
    """
    centre = centre_of(data, known)
    if centre is None:
        return 0.0, (Fraction(0),) * data.columns
    best = 0.0
    for cell in known.lattice.around(centre):
        if best < most:
            best = max(best, bound_of(data, cell, known, most=most, least_wanted=best))
    return best, centre


def lower_bounds(data: RegressionRows, known: PublicLattice) -> DistanceBounds:
    """G for every shift."""
    columns, centre = data.columns, centre_of(data, known)
    if centre is None:
        return DistanceBounds((0.0,) * (columns + 1), (Fraction(0),) * columns)
    return DistanceBounds(tuple(bound_of(data, cell, known) for cell in known.lattice.around(centre)), centre)


def centre_of(data: RegressionRows, known: PublicLattice) -> tuple[Fraction, ...] | None:
    """A point whose objective is certified to be within the slack of the least; None where solutions are unbounded."""
    if not data.spanned():
        return None
    end = REACH << FINE
    near = least(data, (-end,) * data.columns, (end,) * data.columns, known.slack)
    return tuple(part / (1 << FINE) for part in near.point)


@dataclass(frozen=True, slots=True, eq=False)
class _Box:
    """A box on a facet, in fine steps from the low corner of its cell, with the points of all boxes above it."""

    low: Corner
    high: Corner
    depth: int
    points: Points


class _Search:
    """One cell: the objective at its points, and the bounds of boxes."""

    __slots__ = ("base", "corner", "data", "middle", "points")

    def __init__(self, data: RegressionRows, cell: CoefficientBox, known: PublicLattice) -> None:
        self.data, self.corner = data, tuple(edge << FINE for edge in cell.low)
        self.middle = tuple((high - low) << FINE - 1 for low, high in zip(cell.low, cell.high, strict=True))
        heights = [self.height(tuple(map(int, point))) for point in known.points]
        self.base = min(heights)
        self.points: Points = (
            known.points.astype(np.float64),
            np.array([float(height - self.base) for height in heights]),
        )
        self.base += known.slack  # so that the numerators are short of it

    def moved(self, offset: Corner) -> Corner:
        return tuple(a + b for a, b in zip(self.corner, offset, strict=True))

    def height(self, offset: Corner) -> int:
        """2^22 f."""
        return value(self.data, self.data.residuals(self.moved(offset), fine=FINE)) << SHARP

    def box(self, low: Corner, high: Corner, above: _Box | None, slack: int) -> _Box:
        """A box with its own points and those of the boxes above."""
        middle = tuple((a + b) // 2 for a, b in zip(low, high, strict=True))
        facet = next(d for d, (a, b) in enumerate(zip(low, high, strict=True)) if a == b)
        own = [tuple(m + (c - m) * a // b for m, c in zip(middle, self.middle, strict=True)) for a, b in CENTRED]
        for a, b in INWARDS:
            inwards = middle[facet] + (self.middle[facet] - middle[facet]) * a // b
            own.append((*middle[:facet], inwards, *middle[facet + 1 :]))
        heights = np.array([float(self.height(point) - (self.base - slack)) for point in own])
        inherited = self.points if above is None else above.points
        points = np.vstack([inherited[0], np.array(own, np.float64)]), np.concatenate([inherited[1], heights])
        return _Box(low, high, 0 if above is None else above.depth + 1, points)

    def radii(self, box: _Box) -> Floats:
        """Greatest distance of every point from the box, rounded up; public."""
        away = np.maximum(np.abs(box.points[0] - np.array(box.low)), np.abs(box.points[0] - np.array(box.high)))
        return np.asarray(np.sqrt((away * away).sum(axis=1)) * (1 + 2.0**-48))

    def bound(self, box: _Box, lowest: int) -> float:
        """The bound of a box on which 2^22 f is at least ``lowest``."""
        return float(((float(lowest - self.base) - box.points[1]) / self.radii(box)).max()) / ROW

    def roughly(self, box: _Box) -> float:
        """By the tangent at the middle of the box: at most its bound."""
        low, high = self.moved(box.low), self.moved(box.high)
        return self.bound(
            box, tangent(self.data, tuple((a + b) // 2 for a, b in zip(low, high, strict=True))).least(low, high)
        )

    def solved(self, box: _Box) -> float:
        """By its minimum, to an eighth of a row."""
        tolerance = math.floor(float(self.radii(box).min()) / 8) * ROW
        return self.bound(box, least(self.data, self.moved(box.low), self.moved(box.high), tolerance).bound)


def bound_of(
    data: RegressionRows,
    cell: CoefficientBox,
    known: PublicLattice,
    *,
    most: float = math.inf,
    least_wanted: float = 0.0,
) -> float:
    """G of one cell, told exactly between ``least_wanted`` and ``most`` only: least bounds are looked at first.

    Parameters
    ----------
    data : RegressionRows
        Rows in steps.
    cell : CoefficientBox
        Box of coefficients.
    known : PublicLattice
        Lattice of cells, with the points and the depth of the search.
    most : float
        Bound at which the search may stop.
    least_wanted : float
        Bound below which the answer need not be exact.

    Returns
    -------
    float
        G in rows, >= 0.
    """
    if not cell.near:
        return 0.0
    search, queue, count = _Search(data, cell, known), list[tuple[float, int, _Box, bool]](), 0
    todo: list[tuple[Corner, Corner, _Box | None, float]]
    todo = [(low, high, None, -math.inf) for low, high in _facets(cell)]
    while True:
        for low, high, above, floor in todo:
            box = search.box(low, high, above, known.slack)
            heapq.heappush(queue, (max(floor, search.roughly(box)), count, box, False))
            count += 1
        best, _, box, solved = heapq.heappop(queue)
        if solved or best >= most:
            return max(best, 0.0)
        todo = []
        if box.depth < known.depth:
            todo = [(low, high, box, best) for low, high in _halves(box)]
            continue
        best = search.solved(box)
        if best <= least_wanted:
            return max(best, 0.0)
        heapq.heappush(queue, (best, count, box, True))
        count += 1


def _facets(cell: CoefficientBox) -> list[tuple[Corner, Corner]]:
    far = tuple((high - low) << FINE for low, high in zip(cell.low, cell.high, strict=True))
    zero, found = (0,) * len(far), list[tuple[Corner, Corner]]()
    for d in range(len(far)):
        found.append((zero, (*far[:d], 0, *far[d + 1 :])))
        found.append(((*zero[:d], far[d], *zero[d + 1 :]), far))
    return found


def _halves(box: _Box) -> list[tuple[Corner, Corner]]:
    k = max(range(len(box.low)), key=[b - a for a, b in zip(box.low, box.high, strict=True)].__getitem__)
    middle = (box.low[k] + box.high[k]) // 2
    return [
        (box.low, (*box.high[:k], middle, *box.high[k + 1 :])),
        ((*box.low[:k], middle, *box.low[k + 1 :]), box.high),
    ]
