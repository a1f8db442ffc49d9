"""The least value of the objective on a public box, certified: a point, and a lower bound that integers prove.

For any integers a with |a_i| <= w_i 2^22 and any B, f(B) >= sum a_i residual_i(B) 2^-22, which is linear in B: a *cut*.
Its minimum on a box is explicit, so every vector a proves a bound, wherever it comes from. An interior-point method in
floats proposes a as a solution of the dual problem. If its bound misses the public tolerance, an exact method follows,
which always ends.

    Cut      a lower bound of f everywhere, in exact integers
    least    a point of the box and a cut, f(point) - (least value of the cut on the box) <= tolerance

Source. Koenker and Bassett 1978 and Portnoy and Koenker 1997 for the float method; Kelley 1960 and Seidel 1991 for
the exact one. Proof that it ends: docs/proofs/regression.md, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.statistics.regression.candidates import FINE
from reticent.statistics.regression.rows import ONE, Integers, RegressionRows, exact_dot, value

Floats: TypeAlias = NDArray[np.float64]
Corner: TypeAlias = tuple[int, ...]  # in fine steps
Half: TypeAlias = tuple[tuple[Fraction, ...], Fraction]  # a . x <= b

SHARP: Final = 22  # binary places of a multiplier below those of a weight
ROUNDS: Final = 80  # of the interior-point method
STEP: Final = 0.9995
WALLED: Final = 2.0**36  # wider boxes are searched without walls


@dataclass(frozen=True, slots=True)
class CuttingPlane:
    """f(B) >= (height + slope . (B - origin)) 2^-22 for every B, in the units of f at fine points."""

    origin: Corner
    height: int
    slope: tuple[int, ...]

    def least(self, low: Corner, high: Corner) -> int:
        """Its least value on a box, times 2^22."""
        found = self.height
        for start, a, b, slope in zip(self.origin, low, high, self.slope, strict=True):
            found += min(slope * (a - start), slope * (b - start))
        return found


@dataclass(frozen=True, slots=True)
class BoxMinimum:
    """A point of the box, in fine steps, and a lower bound of 2^22 f on it, at most the tolerance below f there."""

    point: tuple[Fraction, ...]
    bound: int


def cut_at(data: RegressionRows, origin: Corner, multipliers: Integers) -> CuttingPlane:
    """The cut of integers a, clamped to |a_i| <= w_i 2^22.

    Parameters
    ----------
    data : RegressionRows
        Rows in steps, with weights.
    origin : Corner
        Point of the cut, in fine steps.
    multipliers : array of int
        Integers a, shape (n,).

    Returns
    -------
    CuttingPlane
        Plane that lies below f.
    """
    most = data.weight << SHARP
    kept = np.clip(multipliers, -most, most)
    height = exact_dot(kept, data.residuals(origin, fine=FINE))
    return CuttingPlane(origin, height, tuple(-exact_dot(kept, column) for column in data.x.T))


def tangent(data: RegressionRows, point: Corner) -> CuttingPlane:
    """The cut that touches f at a fine point."""
    return cut_at(data, point, np.sign(data.residuals(point, fine=FINE)) * data.weight << SHARP)


def least(data: RegressionRows, low: Corner, high: Corner, tolerance: int) -> BoxMinimum:
    """The least value of f on the box from ``low`` to ``high``, to within ``tolerance`` >= 0 (times 2^22).

    Parameters
    ----------
    data : RegressionRows
        Rows in steps, with weights.
    low, high : Corner
        Corners of the box, in fine steps.
    tolerance : int
        Greatest error of the value, times 2^22.

    Returns
    -------
    BoxMinimum
        Value with its bounds, and the point.
    """
    middle = tuple((a + b) // 2 for a, b in zip(low, high, strict=True))
    for _ in range(3):
        proposal = propose(data, low, high, middle, tolerance)
        if proposal is None:
            break
        middle, multipliers = proposal
        bound = cut_at(data, middle, multipliers).least(low, high)
        height = value(data, data.residuals(middle, fine=FINE)) << SHARP
        if height - bound <= tolerance:
            return BoxMinimum(tuple(map(Fraction, middle)), bound)
    return exactly(data, low, high)


def propose(
    data: RegressionRows, low: Corner, high: Corner, around: Corner, tolerance: int
) -> tuple[Corner, Integers] | None:
    """A nearly least point and its multipliers, by floats: nothing is promised of them.

    Parameters
    ----------
    data : RegressionRows
        Rows in steps, with weights.
    low, high : Corner
        Corners of the box, in fine steps.
    around : Corner
        Point to start from.
    tolerance : int
        Greatest error of the value, times 2^22.

    Returns
    -------
    tuple of Corner and array of int or None
        Point and multipliers of shape (n,); None where the floats fail.
    """
    free = [d for d in range(data.columns) if low[d] < high[d]]
    left = data.residuals(around, fine=FINE)
    if not free or not data.weight.any():
        return around, np.sign(left) * data.weight << SHARP
    half = np.array([(high[d] - low[d]) / 2 for d in free])
    pull = data.pull[:, free].astype(np.float64) / ONE
    target = left.astype(np.float64) * (data.weight / ONE)
    walled = bool(half.max() <= WALLED)
    if not walled:
        half = np.full(len(free), 2.0**FINE)
    unit = float(half.max())
    design, target = pull * (half / unit), target / unit
    if walled:  # two rows for each coordinate that hold the point in the box: steeper than all others together
        steep = np.abs(design).sum(axis=0) * 0.55 + 1
        ends = [np.array([(side[d] - around[d]) for d in free]) / half for side in (low, high)]
        design = np.vstack([design, np.diag(steep), np.diag(steep)])
        target = np.concatenate([target, steep * ends[0], steep * ends[1]])
    with np.errstate(all="ignore"):
        found = interior(design, target, tolerance / (ONE << SHARP) / unit / 64)
    if found is None:
        return None
    point = list(around)
    for d, move in zip(free, found[0] * half, strict=True):
        if not abs(move) < 2.0**62:
            return None
        point[d] = min(max(around[d] + round(float(move)), low[d]), high[d])
    multipliers = np.rint(found[1][: len(data)] * (data.weight << SHARP)).astype(np.int64)
    return tuple(point), multipliers


def interior(design: Floats, target: Floats, enough: float) -> tuple[Floats, Floats] | None:
    """b of least sum |target - design b|, to a gap of ``enough``, and a in [-1, 1] with design' a = 0: Mehrotra.

    Parameters
    ----------
    design : array of float
        Shape (n, columns).
    target : array of float
        Shape (n,).
    enough : float
        Gap at which the search ends.

    Returns
    -------
    pair of arrays of float or None
        b of shape (columns,) and a of shape (n,); None where the floats fail.
    """
    try:
        b = np.asarray(np.linalg.lstsq(design, target, rcond=None)[0])
        left = target - design @ b
        start = 0.1 * float(np.abs(left).mean()) + 1e-9
        u, v, a = np.maximum(left, 0) + start, np.maximum(-left, 0) + start, np.zeros(len(target))
        first = float((u + v).sum())
        for _ in range(ROUNDS):
            up, down = 1 - a, 1 + a
            gap = float(u @ up + v @ down)
            if gap <= max(enough, 1e-13 * first):
                break
            newton = _Newton(design, u, v, up, down, target - design @ b - u + v, -(design.T @ a))
            _, da, du, dv = newton.step(-u * up, -v * down)
            size, pace = _fits((u, du), (v, dv)), _fits((up, -da), (down, da))
            ahead = float((u + size * du) @ (up - pace * da) + (v + size * dv) @ (down + pace * da))
            mu = (ahead / gap) ** 3 * gap / (2 * len(target))
            db, da, du, dv = newton.step(mu - u * up + du * da, mu - v * down - dv * da)
            size, pace = _fits((u, du), (v, dv)), _fits((up, -da), (down, da))
            if not (np.isfinite(size) and np.isfinite(pace)) or max(size, pace) < 1e-8:
                break
            b, u, v, a = b + size * db, u + size * du, v + size * dv, a + pace * da
        slack = 1 - np.abs(a)
        for _ in range(2):  # design' a = 0 to the last digits
            a = a - slack * (design @ np.linalg.solve(_gram(design, slack), design.T @ a))
    except np.linalg.LinAlgError:
        return None
    return (b, np.clip(a, -1, 1)) if bool(np.isfinite(b).all() and np.isfinite(a).all()) else None


class _Newton:
    """The linear equations of one round: design b + u - v = target, design' a = 0, u (1 - a) and v (1 + a) as asked."""

    __slots__ = ("design", "down", "inverse", "q", "rest", "tilt", "u", "up", "v")

    def __init__(self, design: Floats, u: Floats, v: Floats, up: Floats, down: Floats, rest: Floats, tilt: Floats):
        self.design, self.u, self.v, self.up, self.down, self.rest, self.tilt = design, u, v, up, down, rest, tilt
        self.q = 1 / (u / up + v / down)
        self.inverse = np.linalg.inv(_gram(design, self.q))

    def step(self, one: Floats, two: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        right = self.rest - one / self.up + two / self.down
        db = self.inverse @ (self.design.T @ (self.q * right) - self.tilt)
        da = self.q * (right - self.design @ db)
        return db, da, (one + self.u * da) / self.up, (two - self.v * da) / self.down


def _gram(design: Floats, weight: Floats) -> Floats:
    return np.asarray(np.einsum("ni,nj->ij", design * weight[:, None], design))


def _fits(*pairs: tuple[Floats, Floats]) -> float:
    """The longest step <= 1 that keeps all of these positive."""
    longest = 1.0
    for here, move in pairs:
        back = move < 0
        if back.any():
            longest = min(longest, STEP * float((-here[back] / move[back]).min()))
    return longest


def exactly(data: RegressionRows, low: Corner, high: Corner) -> BoxMinimum:
    """The least value itself, by exact cutting planes: slow, and always ends.

    Parameters
    ----------
    data : RegressionRows
        Rows in steps, with weights.
    low, high : Corner
        Corners of the box, in fine steps.

    Returns
    -------
    BoxMinimum
        The value, exactly, and the point.
    """
    free = [d for d in range(data.columns) if low[d] < high[d]]
    sides = [(Fraction(low[d]), Fraction(high[d])) for d in free]
    point = tuple(Fraction((a + b) // 2) for a, b in zip(low, high, strict=True))
    halves: list[Half] = []
    top: tuple[Fraction, ...] | None = None
    first: Fraction | None = None
    while True:
        height, slope = _touch(data, point)
        if top is not None and height <= top[-1]:
            return BoxMinimum(point, math.floor(top[-1] * (1 << SHARP)))
        # height + slope . (B - point) <= z
        start = height - sum((slope[d] * point[d] for d in free), Fraction(0))
        halves.append(((*(slope[d] for d in free), Fraction(-1)), -start))
        first = height if first is None else first
        goal = (*(Fraction(0) for _ in free), Fraction(1))
        top = lowest(goal, halves, [*sides, (Fraction(0), first)])
        moved = dict(zip(free, top, strict=False))
        point = tuple(moved.get(d, here) for d, here in enumerate(point))


def _touch(data: RegressionRows, point: tuple[Fraction, ...]) -> tuple[Fraction, tuple[Fraction, ...]]:
    """f and a subgradient at a rational point, in fine steps: 0 for the rows whose residual is 0."""
    bottom = math.lcm(*(part.denominator for part in point))
    left = (data.target.astype(object) << FINE) * bottom
    for column, part in enumerate(point):
        left = left - data.x[:, column].astype(object) * int(part * bottom)
    signs = np.sign(left).astype(np.int64)
    height = Fraction(int((data.weight * np.abs(left)).sum()), bottom)
    return height, tuple(Fraction(-int(part)) for part in (signs[:, None] * data.pull).sum(axis=0))


def lowest(
    goal: tuple[Fraction, ...], halves: Sequence[Half], bounds: Sequence[tuple[Fraction, Fraction]]
) -> tuple[Fraction, ...]:
    """argmin goal . x subject to a . x <= b and bounds that leave some x: Seidel's method, exact.

    Parameters
    ----------
    goal : tuple of Fraction
        Coefficients of the goal.
    halves : sequence of Half
        Half-spaces, each a and b of a . x <= b.
    bounds : sequence of tuple of Fraction and Fraction
        Least and greatest value of each coordinate.

    Returns
    -------
    tuple of Fraction
        The point.
    """
    x = tuple(low if part >= 0 else high for part, (low, high) in zip(goal, bounds, strict=True))
    for index, (a, b) in enumerate(halves):
        if _product(a, x) <= b:
            continue
        k = max(range(len(a)), key=[abs(part) for part in a].__getitem__)
        # the least point is on a . x = b: x_k = (b - the others) / a_k is put into everything before
        fewer: list[Half] = [(_without(k, s, a), t - s[k] * b / a[k]) for s, t in halves[:index]]
        unit = _without(k, tuple(Fraction(j == k) for j in range(len(a))), a)
        fewer.append((unit, bounds[k][1] - b / a[k]))
        fewer.append((tuple(-part for part in unit), b / a[k] - bounds[k][0]))
        rest = lowest(_without(k, goal, a), fewer, [*bounds[:k], *bounds[k + 1 :]])
        x = (*rest[:k], (b - _product((*a[:k], *a[k + 1 :]), rest)) / a[k], *rest[k:])
    return x


def _product(a: tuple[Fraction, ...], x: tuple[Fraction, ...]) -> Fraction:
    return sum((s * t for s, t in zip(a, x, strict=True)), Fraction(0))


def _without(k: int, part: tuple[Fraction, ...], a: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """The coefficients of part . x once x_k is what a . x = b says."""
    return tuple(s - part[k] * t / a[k] for j, (s, t) in enumerate(zip(part, a, strict=True)) if j != k)
