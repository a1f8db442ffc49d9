"""One or two coefficients, exactly: the set of solutions, and the distance to tables whose solutions leave a cell.

    solutions   vertices of B(D) = argmin f, or none where it is unbounded
    gap         min of |gamma|, gamma a subgradient of f at a point outside the open cell: rows to add or delete

Statement. For p <= 2 the gap is attained on the boundary of the cell (Theorem 2 of docs/proofs/regression.md): the
least subgradient shrinks along the steepest descent, which crosses the boundary. So A2 takes one sort for each edge,
O(n log n), where 003 visits all O(n^2) crossings of lines, O(n^3).

Everything is integer arithmetic; floats only pick which crossings are looked at exactly, with a margin far above
their error.

Source. 003 section 7.2 and Lemma 22. Deviations: a solution on the edge of a cell counts as outside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from reticent.errors import PublicParameterError
from reticent.statistics.regression.candidates import CoefficientBox
from reticent.statistics.regression.rows import BITS, ONE, Integers, RegressionRows

Point: TypeAlias = tuple[Fraction, ...]
Vector: TypeAlias = tuple[int, int]

MARGIN: Final = 1024.0  # of a float distance in 2^-30 rows: its error is below 2^-49 of the sum of all pulls


@dataclass(frozen=True, slots=True)
class Solutions:
    """The corners of B(D), in steps; none where it is unbounded. One corner or two ends where it is thin."""

    corners: tuple[Point, ...]

    @property
    def centre(self) -> Point | None:
        """The mean of the corners, itself a solution: the one that is released, with noise."""
        if not self.corners:
            return None
        size = len(self.corners)
        return tuple(sum(parts, Fraction(0)) / size for parts in zip(*self.corners, strict=True))


def solutions(data: RegressionRows) -> Solutions:
    """B(D) for p <= 2, by exact descent from crossing to crossing."""
    if not data.spanned():
        return Solutions(())
    if data.columns == 1:
        top, bottom = data.target * np.sign(data.x[:, 0]), np.abs(data.x[:, 0])
        used = bottom > 0
        low, high = _median(top[used], bottom[used], data.weight[used] * bottom[used], 1)
        return Solutions(tuple((end,) for end in sorted({low, high})))
    if data.columns != 2:
        raise PublicParameterError("the whole set of solutions is found for at most two coefficients")
    row = int(np.flatnonzero(data.weight)[0])
    while True:
        corner, _ = _flat(data, row)
        place = _Place.at(data, corner)
        if squared_norm(place.centre, place.tight) == 0:
            return Solutions(_corners(data, corner))
        row = next(line for line, slope in place.lines() if slope < 0)


def _corners(data: RegressionRows, first: Point) -> tuple[Point, ...]:
    """All corners of B(D): from one, along every line through it on which f stays level."""
    found, todo = {first}, [first]
    while todo:
        for line, slope in _Place.at(data, todo.pop()).lines():
            if slope == 0:
                new = set(_flat(data, line)) - found
                found |= new
                todo += new
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class _Place:
    """A crossing of lines: the gradient without the rows whose lines meet there, and those rows."""

    data: RegressionRows
    centre: Vector
    rows: tuple[int, ...]

    @staticmethod
    def at(data: RegressionRows, point: Point) -> _Place:
        bottom = math.lcm(point[0].denominator, point[1].denominator)
        left = data.target.astype(object) * bottom
        for column in (0, 1):
            left = left - data.x[:, column].astype(object) * int(point[column] * bottom)
        signs = np.sign(left).astype(np.int64)
        gradient = -(signs[:, None] * data.pull).sum(axis=0)
        tight = np.flatnonzero((signs == 0) & (data.weight > 0))
        return _Place(data, (int(gradient[0]), int(gradient[1])), tuple(int(row) for row in tight))

    @property
    def tight(self) -> list[Vector]:
        return [(int(a), int(b)) for a, b in self.data.pull[list(self.rows)]]

    def lines(self) -> Iterator[tuple[int, int]]:
        """Rows whose lines meet here, and for either way along each the derivative of f (times the row's length)."""
        pulls = self.tight
        for row in self.rows:
            x0, x1 = (int(part) for part in self.data.x[row])
            for way in ((-x1, x0), (x1, -x0)):
                along = sum(g * d for g, d in zip(self.centre, way, strict=True))
                yield row, along + sum(abs(a * way[0] + b * way[1]) for a, b in pulls)


def _flat(data: RegressionRows, row: int) -> tuple[Point, Point]:
    """Ends of the part of a row's line on which f is least: exact weighted medians of the crossings."""
    x, own = data.x, int(data.target[row])
    run = 0 if x[row, 1] != 0 else 1  # the coordinate that runs along the line
    a, b = int(x[row, run]), int(x[row, 1 - run])
    top = data.target * b - own * x[:, 1 - run]  # below 2^62
    bottom = x[:, run] * b - a * x[:, 1 - run]
    crossing = bottom != 0
    top, bottom = (top * np.sign(bottom))[crossing], np.abs(bottom)[crossing]
    ends = []
    for at in _median(top, bottom, data.weight[crossing], bottom):
        other = (own - a * at) / b
        ends.append((at, other) if run == 0 else (other, at))
    return ends[0], ends[1]


def _median(top: Integers, bottom: Integers, weight: Integers, more: Integers | int) -> tuple[Fraction, Fraction]:
    """Lower and upper median of top / bottom, weighted by weight x more; bottom in 1..2^31, exact."""
    whole = top // bottom
    part = ((top - whole * bottom) << 31) // bottom  # 31 digits behind the point
    order = np.lexsort((part, whole))
    heavy = (weight * more)[order]  # below 2^61
    highs, lows = np.cumsum(heavy >> BITS), np.cumsum(heavy & (ONE - 1))

    def below(k: int) -> int:
        """Weight of the first k, exact."""
        return (int(highs[k - 1]) << BITS) + int(lows[k - 1]) if k else 0

    total, size = below(len(order)), len(order)
    keys = whole[order], part[order]
    found = []
    for needed in ((total + 1) // 2, total // 2 + 1):  # the least sums that reach, and pass, half of the weight
        first, last = 0, size - 1
        while first < last:
            middle = (first + last) // 2
            first, last = (first, middle) if below(middle + 1) >= needed else (middle + 1, last)
        same = np.flatnonzero((keys[0] == keys[0][first]) & (keys[1] == keys[1][first]))
        start, rows = int(same[0]), order[same]
        tied = zip(top[rows], bottom[rows], heavy[same], strict=True)
        sum_ = below(start)
        for at, more_weight in sorted((Fraction(int(a), int(b)), int(w)) for a, b, w in tied):  # equal to 31 digits
            sum_ += more_weight
            if sum_ >= needed:
                found.append(at)
                break
    return found[0], found[1]


def gap(data: RegressionRows, cell: CoefficientBox) -> Fraction:
    """Least squared subgradient on the boundary of ``cell``, in 4^-30 rows; exact, p <= 2.

    Where B(D) meets the open cell this is the least one outside it, and 0 iff B(D) is not inside.
    """
    if data.columns == 1:
        ends = [_end(data, edge) for edge in (cell.low[0], cell.high[0])]
        return Fraction(min(ends) ** 2)
    if data.columns != 2:
        raise PublicParameterError("the exact distance is computed for at most two coefficients")
    edges = [(axis, at[axis]) for axis in (0, 1) for at in (cell.low, cell.high)]
    return min(_edge(data, axis, at, cell.low[1 - axis], cell.high[1 - axis]) for axis, at in edges)


def rows_for(squared: Fraction) -> int:
    """The least k >= 0 with k rows >= the square root, for a square in 4^-30 rows: the integer distance."""
    k = math.isqrt(squared.numerator // (squared.denominator * ONE * ONE))
    while k * k * ONE * ONE * squared.denominator < squared.numerator:
        k += 1
    return k


def _end(data: RegressionRows, at: int) -> int:
    left = data.target - data.x[:, 0] * at
    pull = data.pull[:, 0]
    return max(0, abs(int((np.sign(left) * pull).sum())) - int(np.abs(pull[left == 0]).sum()))


def _edge(data: RegressionRows, axis: int, at: int, low: int, high: int) -> Fraction:
    """Least squared subgradient on {B: B_axis = at, low <= the other <= high}."""
    left, run = data.target - data.x[:, axis] * at, data.x[:, 1 - axis]
    way = np.sign(run)
    whole, size = np.zeros_like(left), np.maximum(np.abs(run), 1)
    whole = (left * way) // size
    part = ((left * way - whole * size) << 33) // size  # fractions of denominators up to 2^15 differ by 2^-30 or more
    before = (way != 0) & (whole < low)
    inside = (way != 0) & (whole >= low) & ((whole < high) | ((whole == high) & (part == 0)))
    pull = data.pull
    signs = np.where(way == 0, np.sign(left), np.where(before, -way, way))
    start = -(signs[:, None] * pull).sum(axis=0)
    always = [(int(a), int(b)) for a, b in pull[(way == 0) & (left == 0) & (data.weight > 0)]]
    turned = (way[:, None] * pull)[inside]
    if not len(turned):
        return squared_norm((int(start[0]), int(start[1])), always)
    order = np.lexsort((part[inside], whole[inside]))
    turned, keys = turned[order], (whole[inside][order], part[inside][order])
    first = np.flatnonzero(np.r_[True, (keys[0][1:] != keys[0][:-1]) | (keys[1][1:] != keys[1][:-1])])
    sums = np.add.reduceat(turned, first, axis=0)
    centres = start + 2 * np.cumsum(sums, axis=0) - sums
    return _least(centres, turned, first, always)


def _least(centres: Integers, pulls: Integers, first: Integers, always: list[Vector]) -> Fraction:
    """The least squared norm over the crossings: floats find those that may have it, integers decide."""
    middle, sums = centres.astype(np.float64), np.add.reduceat(np.abs(pulls), first, axis=0).astype(np.float64)
    counts = np.diff(np.r_[first, len(pulls)])
    one = pulls[first].astype(np.float64)
    along = np.clip(-(middle * one).sum(axis=1) / np.maximum((one * one).sum(axis=1), 1.0), -1.0, 1.0)
    segment = np.hypot(*(middle + along[:, None] * one).T)
    rough = np.hypot(*middle.T) - np.hypot(*sums.T) - sum(math.hypot(*pull) for pull in always)
    below = segment if not always else rough
    below = np.where(counts == 1, below, rough)  # a lower bound, but for rounding
    stops, best = np.r_[first[1:], len(pulls)], None
    for k in np.argsort(below, kind="stable"):
        if best is not None and (best == 0 or below[k] - MARGIN > math.sqrt(best) * (1 + 2.0**-40)):
            break
        tight = [(int(a), int(b)) for a, b in pulls[first[k] : stops[k]]] + always
        norm = squared_norm((int(centres[k, 0]), int(centres[k, 1])), tight)
        best = norm if best is None else min(best, norm)
    assert best is not None  # there is at least one crossing
    return best


def squared_norm(centre: Vector, pulls: list[Vector]) -> Fraction:
    """Least squared norm over the zonogon centre + sum of [-1, 1] pull: exact."""
    sides = _directions(pulls)
    start = (centre[0] - sum(a for a, _ in sides), centre[1] - sum(b for _, b in sides))
    corners = [start]
    for a, b in [*sides, *((-a, -b) for a, b in sides)]:  # counter-clockwise, back to the start
        corners.append((corners[-1][0] + 2 * a, corners[-1][1] + 2 * b))
    ends = list(pairwise(corners)) or [(start, start)]
    if len(sides) > 1 and all(p[0] * q[1] - p[1] * q[0] >= 0 for p, q in ends):
        return Fraction(0)
    return min(_segment(p, q) for p, q in ends)


def _directions(pulls: list[Vector]) -> list[Vector]:
    """Pulls in the upper half-plane by angle, parallel ones added up."""
    found: dict[Vector, Vector] = {}
    for a, b in pulls:
        if (b, a) < (0, 0):
            a, b = -a, -b
        common = math.gcd(a, b)
        key = (a // common, b // common)
        had = found.get(key, (0, 0))
        found[key] = (had[0] + a, had[1] + b)
    # by angle in [0, pi): the cotangent falls
    flat = [found[key] for key in found if key[1] == 0]
    return flat + [found[key] for key in sorted((k for k in found if k[1]), key=lambda k: Fraction(-k[0], k[1]))]


def _segment(p: Vector, q: Vector) -> Fraction:
    """Squared distance of the origin from the segment pq."""
    d = (q[0] - p[0], q[1] - p[1])
    length, along = d[0] ** 2 + d[1] ** 2, -(p[0] * d[0] + p[1] * d[1])
    if length == 0 or along <= 0:
        return Fraction(p[0] ** 2 + p[1] ** 2)
    if along >= length:
        return Fraction(q[0] ** 2 + q[1] ** 2)
    return Fraction((p[0] * d[1] - p[1] * d[0]) ** 2, length)
