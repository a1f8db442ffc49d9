"""The exponential mechanism over coefficients with R_H's distance as score: one or two of them, on a public grid.

    score    rows to add or delete until B solves 003 (23): the least subgradient of the objective at B, rounded up
    value    one draw from the grid
    turns    one more draw for each coefficient, of the B whose gradient is some rows in its direction: the interval

No cells, no scale, no test, no delta, no reply lost to an unlucky bin. Adding or removing a row changes the score by at
most 1 at every B (docs/proofs/regression.md, Theorem 1), and replacing one by at most 2. Subtracting a target from the
gradient leaves that sensitivity as it is.

The grid is public: named, or laid around the intervals of block medians released first (``first``), for half of
epsilon. Without it nothing says where to look: beyond the data the score tells directions, not distances.

Intervals. The objective's gradient at the true coefficients is a sum of independent pulls of at most one row. Its
variance is therefore at most n in any direction. The turns estimate how far such a gradient moves the solution. Where
a turn ends at the edge of the grid, the interval is the grid.

Source: 003 section 7.2 for the distance; McSherry and Talwar 2007; Asi and Duchi 2020 for distances as scores. Proof:
docs/proofs/regression.md, section 13.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import Linf
from reticent.statistics.intervals import NONE, half_width, known, normal_half_width
from reticent.statistics.regression.block_medians import BlockMedians, per_step
from reticent.statistics.regression.coefficients import PLACES, Coefficients, RegressionDesign
from reticent.statistics.regression.lines import rows_for, squared_norm
from reticent.statistics.regression.robust import moves
from reticent.statistics.regression.rows import ONE, REACH, Integers, RegressionRows
from reticent.statistics.unbounded.column_counts import against_prior

POINTS: Final = 129  # of each coefficient
VALUE: Final = Fraction(3, 5)  # of what the grid's place leaves
AROUND: Final = 3.0  # half-widths of the first intervals on either side
CLOSE: Final = 1e-6  # a float distance so near a whole number is decided by integers


@dataclass(frozen=True, slots=True)
class CoefficientAxis:
    """Candidates of one coefficient: low, low + step, ..., ``count`` of them, in steps of the coefficients' grid."""

    low: int
    step: int
    count: int

    def __post_init__(self) -> None:
        if self.step < 1 or self.count < 1 or self.low < -REACH or self.high > REACH:
            raise PublicParameterError("an axis rises by at least 1 and lies where coefficients are looked at")

    @property
    def high(self) -> int:
        return self.low + self.step * (self.count - 1)


@dataclass(frozen=True)
class ExponentialRegression:
    """Coefficients by the exponential mechanism over a grid, for ``epsilon`` in all, that of ``first`` included.

    Guarantee
    ---------
    epsilon-differential privacy for the neighbours of the design: exponential mechanisms in sequence, after the block
    medians that place the grid where it is not named.
    """

    design: RegressionDesign
    epsilon: Fraction
    axes: tuple[CoefficientAxis, ...] = ()
    first: BlockMedians | None = None
    points: int = POINTS
    places: int = PLACES

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if len(self.design.names) > 2:
            raise PublicParameterError(
                "the distance is exact for at most two coefficients; take block medians for more"
            )
        if (self.first is None) == (not self.axes) or len(self.axes) not in (0, len(self.design.names)):
            raise PublicParameterError("a grid is named, one axis for each coefficient, or placed by block medians")
        if self.first is not None and (self.first.design != self.design or self.first.epsilon >= self.epsilon):
            raise PublicParameterError("the first step is of this design, and leaves some epsilon")
        if not self.hopeful:
            raise QuestionError(
                "the exponential mechanism over coefficients at this ε would be a guess among the candidates. "
                "A coarser grid, a larger ε or more rows would do. Nothing was charged."
            )

    @property
    def hopeful(self) -> bool:
        """True if the score of half of the rows outweighs the prior weight of the whole grid."""
        size = math.prod(axis.count for axis in self.axes) or self.points ** len(self.design.names)
        return float(self.value.rate) * self.design.size / 2.0 >= against_prior(1.0 / size)

    def _choice(self, share: Fraction) -> Exponential:
        left = self.epsilon - (Fraction(0) if self.first is None else self.first.epsilon)
        near = self.design.terms.neighbours
        return Exponential(Linf(Fraction(moves(near)), near), left * share)

    @cached_property
    def value(self) -> Exponential:
        return self._choice(VALUE)

    @cached_property
    def turn(self) -> Exponential:
        return self._choice((1 - VALUE) / len(self.design.names))

    @property
    def guarantee(self) -> Guarantee:
        parts = [] if self.first is None else [self.first.guarantee]
        parts += [self.value.guarantee] + [self.turn.guarantee] * len(self.design.names)
        return compose.in_sequence(parts, label="exponential mechanism over coefficients")

    def draw(self, table: Integers, entropy: Entropy) -> Outcome[Coefficients]:
        """The coefficients; no reply where the grid has no place, or its edge was drawn."""
        axes = self.axes
        if self.first is not None:
            placed = self.first.draw(table, entropy)
            if isinstance(placed, NoReply):
                return NO_REPLY
            axes = around(placed.value, per_step(self.design, self.places), self.points)
        data = self.design.exact(table, self.places)
        value = self._point(data, axes, (0,) * len(axes), self.value, entropy)
        turns = [
            self._point(data, axes, tuple(self.rows * (e == d) for e in range(len(axes))), self.turn, entropy)
            for d in range(len(axes))
        ]
        if any(part in (axis.low, axis.high) and axis.count > 1 for part, axis in zip(value, axes, strict=True)):
            return NO_REPLY
        scales = per_step(self.design, self.places)
        estimates = tuple(self._estimate(d, axes, value, turn) for d, turn in enumerate(turns))
        scaled = tuple(
            Estimate(*(part * scale for part in (e.value, e.low, e.high, e.noise, e.sampling)))
            for e, scale in zip(estimates, scales, strict=True)
        )
        words = "a solution of least sum of |residual| / |x|, by the rows to change until it is one"
        return Reply(Coefficients(self.design.names, scaled, words))

    @property
    def rows(self) -> int:
        """Rows that a turn's gradient is off the value's: beyond sampling and its own noise; public."""
        return math.ceil(max(3.0 * math.sqrt(self.design.size), 10.0 / float(self.turn.rate)))

    def _point(
        self,
        data: RegressionRows,
        axes: tuple[CoefficientAxis, ...],
        target: tuple[int, ...],
        mechanism: Exponential,
        entropy: Entropy,
    ) -> tuple[int, ...]:
        found = scores(data, axes, target)
        candidates = Candidates(found.reshape(-1), np.ones(found.size, np.int64))
        at = gate.choose(mechanism, candidates, np.arange(found.size + 1), entropy)
        place = np.unravel_index(at, found.shape)
        return tuple(axis.low + axis.step * int(k) for axis, k in zip(axes, place, strict=True))

    def _estimate(
        self, d: int, axes: tuple[CoefficientAxis, ...], value: tuple[int, ...], turn: tuple[int, ...]
    ) -> Estimate:
        """A row of the inverse curvature, which is symmetric: how far a gradient in this direction moved the value."""
        p, axis, at = len(axes), axes[d], float(value[d])
        per_row = math.hypot(*(float(a - b) for a, b in zip(turn, value, strict=True))) / self.rows
        off = math.sqrt((p + 1) * (p + 2) / 6.0) / float(self.value.rate)
        variance = float(self.design.terms.rows * self.design.size)
        half = half_width(known(variance), [off]) * per_row + axis.step / 2.0
        low, high = at - half, at + half
        if any(part in (other.low, other.high) for part, other in zip(turn, axes, strict=True)):
            low, high = min(low, float(axis.low)), max(high, float(axis.high))
        noise = half_width(NONE, [off]) * per_row + axis.step / 2.0
        return Estimate(at, low, high, noise, normal_half_width(variance) * per_row)


def around(found: Coefficients, scales: list[float], points: int) -> tuple[CoefficientAxis, ...]:
    """A grid around released intervals.

    Parameters
    ----------
    found : Coefficients
        Released coefficients with their intervals.
    scales : list of float
        Unit of one step of each coefficient.
    points : int
        Most candidates of a coefficient.

    Returns
    -------
    tuple of CoefficientAxis
        One axis for each coefficient.
    """
    axes = []
    for estimate, scale in zip(found.estimates, scales, strict=True):
        half = AROUND * max(estimate.high - estimate.value, estimate.value - estimate.low) / scale
        step = max(1, math.ceil(min(2.0 * half, 2.0 * REACH) / (points - 1)))
        low = round(min(max(estimate.value / scale, -float(REACH)), float(REACH))) - step * (points // 2)
        low = min(max(low, -REACH), REACH - step * (points - 1))
        axes.append(CoefficientAxis(max(low, -REACH), step, min(points, 2 * REACH // step + 1)))
    return tuple(axes)


def scores(data: RegressionRows, axes: tuple[CoefficientAxis, ...], target: tuple[int, ...]) -> Integers:
    """Rows to add or delete until the gradient can be ``target`` (in rows) at each candidate, of the axes' shape.

    Parameters
    ----------
    data : RegressionRows
        Rows in steps.
    axes : tuple of CoefficientAxis
        Candidates of each coefficient, one or two.
    target : tuple of int
        Gradient that is aimed at, in rows, one number for each coefficient.

    Returns
    -------
    array of int
        Distances in rows, of the shape of the axes.
    """
    if len(axes) == 1:
        return _line(data, axes[0], 0, np.zeros(len(data), np.int64), target)
    first, second = axes
    found = np.empty((first.count, second.count), np.int64)
    for k in range(first.count):
        found[k] = _line(data, second, 1, data.x[:, 0] * (first.low + k * first.step), target)
    return np.asarray(found)


def _line(
    data: RegressionRows, axis: CoefficientAxis, column: int, gone: Integers, target: tuple[int, ...]
) -> Integers:
    """The scores along one axis, ``gone`` being what the other coefficient takes of the target."""
    left, run, pull = data.target - gone, data.x[:, column], data.pull
    way, size = np.sign(run), np.maximum(np.abs(run), 1)
    top, bottom = left * way - axis.low * size, axis.step * size
    first = np.clip(-(-top // bottom), 0, axis.count)  # the first candidate at or beyond the row's crossing
    met = (way != 0) & (top % bottom == 0) & (top >= 0) & (first < axis.count)
    turned = np.where((way != 0)[:, None], way[:, None] * pull, 0)
    steps = np.zeros((axis.count + 2, data.columns), np.int64)
    np.add.at(steps, first, np.where(met[:, None], turned, 2 * turned))
    np.add.at(steps, first[met] + 1, turned[met])
    flat = way == 0
    start = -turned.sum(axis=0) - (np.sign(left)[:, None] * pull)[flat].sum(axis=0)
    centres = start + np.cumsum(steps, axis=0)[: axis.count] - np.array(target, np.int64) * ONE
    always = pull[flat & (left == 0) & (data.weight > 0)]
    far = np.sqrt((centres.astype(np.float64) ** 2).sum(axis=1)) / ONE
    found: Integers = np.ceil(far).astype(np.int64)
    unsure = np.abs(far - np.rint(far)) < CLOSE
    order = np.argsort(first[met], kind="stable")
    at, held = first[met][order], pull[met][order]
    places = np.flatnonzero(unsure) if not len(always) else np.arange(axis.count)
    for k in np.union1d(places, at):
        tight = np.vstack([held[np.searchsorted(at, k) : np.searchsorted(at, k, side="right")], always])
        found[k] = _exact(centres[k], tight)
    return np.asarray(found)


def _exact(centre: Integers, tight: Integers) -> int:
    """The least integer at or above the distance of the origin from centre + sum of [-1, 1] tight pulls."""
    if len(centre) == 1:
        return -(-max(0, abs(int(centre[0])) - int(np.abs(tight).sum())) // ONE)
    pulls = [(int(a), int(b)) for a, b in tight]
    return rows_for(squared_norm((int(centre[0]), int(centre[1])), pulls))
