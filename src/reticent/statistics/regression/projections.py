"""The ray test for two coefficients: a lower bound of the distance from outward slopes along the rays of a cell.

    A' = min over b on the boundary of the derivative of f at b along (b - c) / |b - c|, from the inside, cut at 0

with c the centre of the cell. For a subgradient gamma at a point beyond b on the ray, gamma . d >= that derivative,
so A' is at most the distance; a row contributes between -1 and 1, so it moves by at most one row. One sort for each
edge.

Superseded by ``lines.gap``, which is exact at the same cost; kept because its terms are sums of signs, which an engine
can add up. The quotient is a float of exact integers: a bound, not a decision.
"""

from __future__ import annotations

import numpy as np

from reticent.errors import PublicParameterError
from reticent.statistics.regression.candidates import CoefficientBox
from reticent.statistics.regression.rows import ONE, RegressionRows


def ray_bound(data: RegressionRows, cell: CoefficientBox) -> float:
    """A' in rows. On an open piece of an edge the slope, where not negative, is least at an end of it."""
    if data.columns != 2:
        raise PublicParameterError("rays are followed for two coefficients")
    found = [_edge(data, cell, axis, at) for axis in (0, 1) for at in (cell.low[axis], cell.high[axis])]
    return max(0.0, min(found))


def _edge(data: RegressionRows, cell: CoefficientBox, axis: int, at: int) -> float:
    low, high = cell.low[1 - axis], cell.high[1 - axis]
    centre = [(a + b) / 2 for a, b in zip(cell.low, cell.high, strict=True)]
    left, run = data.target - data.x[:, axis] * at, data.x[:, 1 - axis]
    way = np.sign(run)
    where = np.where(way != 0, left / np.where(run == 0, 1, run), np.inf)
    inside = (where >= low) & (where <= high)
    stops = np.unique(np.concatenate([where[inside], [float(low), float(high)]]))
    # the gradient between crossings, a sum of integers; crossings in an edge turn their rows
    pull = data.pull
    signs = np.where(way == 0, np.sign(left), np.where(where < low, -way, way))
    turned, order = (way[:, None] * pull)[inside], np.argsort(where[inside], kind="stable")
    sums = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(turned[order], axis=0)])
    first = np.searchsorted(where[inside][order], stops, side="left")
    last = np.searchsorted(where[inside][order], stops, side="right")
    start = -(signs[:, None] * pull).sum(axis=0)
    before, after = start + 2 * sums[first], start + 2 * sums[last]
    ray = np.empty((len(stops), 2))
    ray[:, axis], ray[:, 1 - axis] = at - centre[axis], stops - centre[1 - axis]
    ray /= np.hypot(*ray.T)[:, None]
    # rows tight at a stop count against the ray whatever their side
    slope = ((before + after) / 2 * ray).sum(axis=1)
    tight = np.array([np.abs(turned[order][a:b] @ r).sum() for a, b, r in zip(first, last, ray, strict=True)])
    always = np.abs(ray @ pull[(way == 0) & (left == 0)].T).sum(axis=1)
    return float((slope - tight - always).min()) / ONE
