"""The least point of a sum of convex losses with a ridge and a given slope, with a certificate of how near it is.

    gradient     in doubles, with a bound of its own error that holds whatever order sums are taken in
    newton       steps of Newton's, until the gradient and its error together are within a public tolerance
    least        the point in steps of a grid; where doubles did not get there, ``slowly`` does, which always ends

    J(t) = sum over rows of loss(x't) + ridge |t|^2 / 2 + tilt't,   |t - argmin J| <= |grad J(t)| / ridge

The tolerance is public, so that a distance is public too: how far the solver really got is never used. Scores are
x't = x'high + x'low with high so coarse that its products with whole numbers are exact. docs/proofs/learning.md,
section 8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from reticent.statistics.convex import losses
from reticent.statistics.convex.exact_solver import slowly
from reticent.statistics.convex.losses import Loss
from reticent.statistics.scaling import UNIT, Floats, Integers

STEPS: Final = 60  # of Newton's
HALVINGS: Final = 40
TOGETHER: Final = 64  # rows whose parts are added in doubles; what they give is added exactly
ROUND: Final = 2.0**-53
GENEROUS: Final = 1.0 + 2.0**-20  # for the few roundings in a bound itself
PART: Final = 8192  # rows of a curvature at a time


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A sum of losses of scores x't over rows of whole numbers in units of 1 / UNIT.

    Attributes
    ----------
    rows : integers of shape (n, width), in [-UNIT, UNIT]
    targets : doubles of shape (n,)
        NaN where there is none: then the row counts nothing.
    shares : integers of shape (n,), optional
        Of every row's loss, in steps of 1 / UNIT, at most UNIT: by them losses are multiplied.
    """

    loss: Loss
    rows: Integers
    targets: Floats
    shares: Integers | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Scores and width: of the coefficients."""
        return losses.scores_of(self.loss), self.rows.shape[1]

    def least(
        self, tilt: Sequence[int], exponent: int, ridge: Fraction, tolerance: Fraction, grid: int
    ) -> tuple[int, ...]:
        """Steps of 2^grid, score by score, nearest to a point where the gradient is at most ``tolerance`` long.

        Parameters
        ----------
        tilt : sequence of int
            Drawn linear term of J, one integer for each coefficient, in steps of 2^exponent.
        exponent : int
            Binary exponent of the steps of ``tilt``.
        ridge : Fraction
            Factor of the squares in J, > 0.
        tolerance : Fraction
            Greatest length of the gradient, > 0.
        grid : int
            Binary exponent of the steps of the answer.

        Returns
        -------
        tuple of int
            Coefficients in steps of 2^grid.
        """
        found = newton(LossSum(self), tilt, exponent, float(ridge), below(tolerance)) if exactly(ridge) else None
        if found is None:
            point = slowly(self.loss, self.rows, self.targets, tilt, exponent, ridge, tolerance, self.shares)
        else:
            point = [Fraction(value) for value in found.ravel().tolist()]
        step = Fraction(2) ** grid
        return tuple(round(value / step) for value in point)

    def gradient(self, at: Floats) -> tuple[Floats, float]:
        """The gradient of the losses at coefficients of shape (scores, width), and a bound of its Euclidean error."""
        return LossSum(self).gradient(at)

    def apart(self, other: Problem, block: int) -> Fraction:
        """A distance that the gradients of two problems have at some point, for audits: L1, or by blocks.

        The greatest over 24 points near and far, less what its rounding can be: no mechanism may be told less.
        """
        one, two, found = LossSum(self), LossSum(other), [Fraction(0)]
        place = np.arange(math.prod(self.shape)).reshape(self.shape) + 1.0
        for far in (0.1, 1.0, 10.0, 100.0):
            for turn in (0.0, 0.7, 1.3, 1.9, 2.6, math.pi):
                point = far * np.cos(turn * place)
                (here, off), (there, more) = one.gradient(point), two.gradient(point)
                far_off = float(np.abs(here - there).reshape(-1, block).max(axis=1).sum())
                found.append(Fraction(far_off - 2 * (off + more) * math.sqrt(place.size)))
        return max(found)


class LossSum:
    """A problem with its rows as doubles, for many evaluations."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.data = problem.rows.astype(np.float64)
        self.lengths = np.sqrt((problem.rows * problem.rows).sum(axis=1).astype(np.float64)) / UNIT
        self.sizes = float(np.abs(problem.rows).sum(axis=1).max(initial=0)) / UNIT
        self.shares = np.ones(1) if problem.shares is None else problem.shares / UNIT  # doubles that are exact

    def scores(self, at: Floats) -> tuple[Floats, Floats]:
        """x't of every row, and how far off it can be, both of shape (n, scores)."""
        k, d = at.shape
        largest = float(np.abs(at).sum(axis=1).max(initial=0.0))
        if not largest < 2.0**40:
            return np.full((len(self.data), k), np.nan), np.full((len(self.data), k), np.inf)
        bits = 39 - math.frexp(largest)[1]  # so UNIT (sum of |high| + d / 2) stays below 2^53
        moved = np.ldexp(at, bits)
        high = np.rint(moved)
        both = self.data @ np.vstack([high, moved - high]).T
        found = np.ldexp(both[:, :k] + both[:, k:], -bits) / UNIT
        error = 2 * ROUND * np.abs(found)
        return found, np.asarray((error + 2 * (d + 2) * ROUND * math.ldexp(self.sizes, -bits)) * GENEROUS)

    def gradient(self, at: Floats) -> tuple[Floats, float]:
        scores, off = self.scores(at)
        loss, y, k = self.problem.loss, self.problem.targets, at.shape[0]
        slope = losses.real_slopes(loss, scores, y) * self.shares[:, None]
        whole = len(self.data) // TOGETHER * TOGETHER
        blocks = slope[:whole].reshape(-1, TOGETHER, k).transpose(0, 2, 1) @ self.data[:whole].reshape(
            -1, TOGETHER, at.shape[1]
        )
        parts = np.concatenate([blocks, (slope[whole:].T @ self.data[whole:])[None]]).reshape(-1, at.size)
        total = np.array([math.fsum(column) for column in parts.T.tolist()]).reshape(at.shape) / UNIT
        curve, moved = float(losses.turns(loss)[1]) * GENEROUS, losses.shifts(loss, scores, y, off)
        each = k * (ROUND * (33 + 4 * k + 4 * curve) + moved)  # one more for the product with a share
        steep = math.sqrt(float(losses.steepest(loss)[1])) + each
        return total, float((self.lengths * (each + (TOGETHER + 8) * ROUND * steep)).sum()) * GENEROUS

    def curvature(self, at: Floats) -> Floats:
        """The second derivatives of the losses, shape (size, size), in doubles: no certificate rests on them."""
        k, d = at.shape
        bent = losses.turnings(self.problem.loss, self.data @ (at.T / UNIT), self.problem.targets)
        bent = bent * self.shares[:, None, None]
        found = np.zeros((k, d, k, d))
        for start in range(0, len(self.data), PART):
            rows, weight = self.data[start : start + PART], bent[start : start + PART]
            for a in range(k):
                for b in range(a, k):
                    if (weight[:, a, b] != 0).any():
                        found[a, :, b] += (rows * weight[:, a, b, None]).T @ rows
        for a in range(k):
            for b in range(a):
                found[a, :, b] = found[b, :, a].T
        return np.asarray(found.reshape(k * d, k * d) / UNIT**2)


def newton(
    problem: LossSum, tilt: Sequence[int], exponent: int, ridge: float, tolerance: float, steps: int = STEPS
) -> Floats | None:
    """A point where the gradient of J, error included, is at most ``tolerance`` long; None if none was reached.

    The bound: |grad J - total| <= the error of the losses' part + 4 units of rounding of the size of each part.

    Parameters
    ----------
    problem : LossSum
        Sum of the losses of the rows.
    tilt : sequence of int
        Drawn linear term of J, one integer for each coefficient, in steps of 2^exponent.
    exponent : int
        Binary exponent of the steps of ``tilt``.
    ridge : float
        Factor of the squares in J, > 0.
    tolerance : float
        Greatest length of the gradient, > 0.
    steps : int
        Most Newton steps.

    Returns
    -------
    array of float or None
        Coefficients, shape (scores, width), or None.
    """
    shape = problem.problem.shape
    try:
        slope = np.array([math.ldexp(value, exponent) for value in tilt], np.float64).reshape(shape)
    except OverflowError:
        return None
    at = np.zeros(shape)
    try:
        with np.errstate(all="ignore"):
            for _ in range(steps + 1):
                sums, error = problem.gradient(at)
                total = sums + ridge * at + slope
                parts = float(np.linalg.norm(sums)) + ridge * float(np.linalg.norm(at)) + float(np.linalg.norm(slope))
                if (float(np.linalg.norm(total)) + error + 4 * ROUND * parts) * GENEROUS <= tolerance:
                    return at
                full = problem.curvature(at) + ridge * np.eye(at.size)
                step: Floats = np.asarray(-np.linalg.solve(full, total.ravel()).reshape(shape), np.float64)
                at = at + pace(problem, at, step, slope, ridge) * step
    except (np.linalg.LinAlgError, ValueError, OverflowError):  # no number, or one beyond doubles, on the way
        return None
    return None


def pace(problem: LossSum, at: Floats, step: Floats, slope: Floats, ridge: float) -> float:
    """Length along ``step`` at which the slope of J along the step is at most half of its start.

    Parameters
    ----------
    problem : LossSum
        Sum of the losses of the rows.
    at : array of float
        Coefficients, shape (scores, width).
    step : array of float
        Direction, of the same shape.
    slope : array of float
        Linear term of J, of the same shape.
    ridge : float
        Factor of the squares in J.

    Returns
    -------
    float
        Factor of the step, > 0.
    """
    here, along = problem.data @ (at.T / UNIT), problem.data @ (step.T / UNIT)
    loss, targets = problem.problem.loss, problem.problem.targets

    def slant(t: float) -> float:
        slopes = losses.real_slopes(loss, here + t * along, targets) * problem.shares[:, None]
        of_rows = float((slopes * along).sum())
        return of_rows + float((step * (ridge * (at + t * step) + slope)).sum())

    enough = abs(slant(0.0)) / 2
    low, high, t = 0.0, math.inf, 1.0
    for _ in range(HALVINGS):
        found = slant(t)
        if abs(found) <= enough:
            break
        low, high = (low, t) if found > 0 else (t, high)
        t = 2 * t if math.isinf(high) else (low + high) / 2
    return t


def exactly(number: Fraction) -> bool:
    """Tell if a double is this number."""
    try:
        return Fraction(float(number)) == number
    except OverflowError:
        return False


def below(number: Fraction) -> float:
    """A double at or below a number."""
    return math.nextafter(float(number), 0.0)


__all__ = ["Problem", "LossSum", "exactly", "newton"]
