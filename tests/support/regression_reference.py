"""Robust regression by brute force on tiny tables: every crossing, every sign, every neighbour.

Nothing here is shared with the product but the definition of the objective: rows (y, x), weights floor(2^30 / |x|).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

Row = tuple[int, ...]  # y, then x
Table = tuple[Row, ...]
Point = tuple[Fraction, ...]

UNIT = 1 << 30


def weight(x: tuple[int, ...]) -> int:
    size = sum(part * part for part in x)
    return math.isqrt(UNIT * UNIT // size) if size else 0


def lift(row: Row, places: int) -> tuple[int, tuple[int, ...], int]:
    return row[0] << places, row[1:], weight(row[1:])


def objective(table: Table, point: Point, places: int) -> Fraction:
    total = Fraction(0)
    for row in table:
        y, x, w = lift(row, places)
        total += w * abs(y - sum((a * b for a, b in zip(x, point, strict=True)), Fraction(0)))
    return total


def crossings(table: Table, places: int) -> set[Point]:
    """All points where the hyperplanes of p rows meet in one point, p = 1 or 2."""
    found: set[Point] = set()
    lifted = [lift(row, places) for row in table]
    if table and len(table[0]) == 2:
        return {(Fraction(y, x[0]),) for y, x, _ in lifted if x[0]}
    for (y, x, _), (v, z, _) in combinations(lifted, 2):
        det = x[0] * z[1] - x[1] * z[0]
        if det:
            found.add((Fraction(y * z[1] - v * x[1], det), Fraction(x[0] * v - z[0] * y, det)))
    return found


def best(table: Table, places: int) -> set[Point]:
    """The corners of B(D); none where it is unbounded."""
    points = crossings(table, places)
    heights = {point: objective(table, point, places) for point in points}
    return {point for point in points if heights[point] == min(heights.values())}


def subgradients(table: Table, point: Point, places: int) -> list[tuple[int, ...]]:
    """All sums of signs w x, each row whose residual is 0 with either sign: their hull is the subdifferential."""
    columns = len(point)
    base, free = [0] * columns, []
    for row in table:
        y, x, w = lift(row, places)
        left = y - sum((a * b for a, b in zip(x, point, strict=True)), Fraction(0))
        pull = [w * part for part in x]
        if left == 0:
            free.append(pull)
        else:
            base = [b - part if left > 0 else b + part for b, part in zip(base, pull, strict=True)]
    found = []
    for signs in product((-1, 1), repeat=len(free)):
        found.append(
            tuple(b + sum(s * pull[d] for s, pull in zip(signs, free, strict=True)) for d, b in enumerate(base))
        )
    return sorted(set(found))


def squared_distance(points: list[tuple[int, ...]]) -> Fraction:
    """Squared distance of the origin from the hull of points on a line or in the plane."""
    if len(points[0]) == 1:
        low, high = min(points)[0], max(points)[0]
        return Fraction(0) if low <= 0 <= high else Fraction(min(low * low, high * high))
    if len(points) == 1:
        return Fraction(points[0][0] ** 2 + points[0][1] ** 2)
    if not separated(points):
        return Fraction(0)
    return min(segment(p, q) for p, q in combinations(points, 2))


def separated(points: list[tuple[int, ...]]) -> bool:
    """Whether some line through the origin leaves all points strictly on one side."""
    # the nearest point of the hull is a normal that does: it is one of the points, or at right angles to two of them
    across = [n for p, q in combinations(points, 2) for n in ((p[1] - q[1], q[0] - p[0]), (q[1] - p[1], p[0] - q[0]))]
    candidates = [(a, b) for a, b in points] + across
    return any(all(n[0] * a + n[1] * b > 0 for a, b in points) for n in candidates)


def segment(p: tuple[int, ...], q: tuple[int, ...]) -> Fraction:
    d = (q[0] - p[0], q[1] - p[1])
    size = d[0] ** 2 + d[1] ** 2
    along = min(max(Fraction(-(p[0] * d[0] + p[1] * d[1]), size), Fraction(0)), Fraction(1))
    near = (p[0] + along * d[0], p[1] + along * d[1])
    return near[0] ** 2 + near[1] ** 2


def outside(table: Table, low: tuple[int, ...], high: tuple[int, ...], places: int) -> Fraction:
    """Least squared subgradient over all points outside the open cell: crossings and the far ends of all lines."""
    points = crossings(table, places)
    if not points:
        return Fraction(0)
    far = 1 + max(max(abs(part) for part in point) for point in points) + max(map(abs, (*low, *high)))
    if len(low) == 1:
        tried = [*points, (Fraction(low[0]),), (Fraction(high[0]),), (-far,), (far,)]
    else:
        tried = [*points, *ends(table, far, places), *edges(table, low, high, places)]
    beyond = [p for p in tried if any(not a < b < c for a, b, c in zip(low, p, high, strict=True))]
    return min(squared_distance(subgradients(table, point, places)) for point in beyond)


def ends(table: Table, far: Fraction, places: int) -> Iterator[Point]:
    """Two points on every line, beyond all crossings and the cell."""
    for row in table:
        y, x, _ = lift(row, places)
        if any(x):
            size = x[0] ** 2 + x[1] ** 2
            foot = (Fraction(y * x[0], size), Fraction(y * x[1], size))
            reach = 4 * far * (abs(x[0]) + abs(x[1]) + 1)
            for way in (reach, -reach):
                yield (foot[0] - way * x[1], foot[1] + way * x[0])


def edges(table: Table, low: tuple[int, ...], high: tuple[int, ...], places: int) -> Iterator[Point]:
    """Where lines meet the edges of the cell, and its corners: the other points that may count.

    A face of the arrangement that is outside the open cell only in its edge has none of its corners outside.
    """
    yield from ((Fraction(a), Fraction(b)) for a, b in product((low[0], high[0]), (low[1], high[1])))
    for row in table:
        y, x, _ = lift(row, places)
        for axis in (0, 1):
            for at in (low[axis], high[axis]):
                if x[1 - axis]:
                    other = Fraction(y - x[axis] * at, x[1 - axis])
                    if low[1 - axis] <= other <= high[1 - axis]:
                        yield (Fraction(at), other) if axis == 0 else (other, Fraction(at))


def neighbours(table: Table, domain: list[Row], kind: str) -> Iterator[Table]:
    """Every table one step away, rows in any order."""
    for index in range(len(table)):
        rest = table[:index] + table[index + 1 :]
        if kind == "add_remove":
            yield rest
        else:
            yield from ((*rest, row) for row in domain)
    if kind == "add_remove":
        yield from ((*table, row) for row in domain)
