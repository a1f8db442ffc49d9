"""Intervals of a model's coefficients from a point, a noisy gradient there and a noisy curvature: all of it public.

    curvature   H + E of the losses at a point near by       noise E of a known law, entry by entry
    gradient    of the losses at the point, and noise         known law
    truth       H (truth - point) = score - gradient          score: normal, covariance H, times the rows of a person

So for the truth ``curvature (t - point) + gradient`` is a score, the gradient's noise and E (t - point), which grows
with the way from the point. A coefficient's interval holds every value that this does not refute. It widens as the
noise hides the curvature, and if no value is refuted there is none. Nothing here sees a row.

That the score's covariance is H supposes that chances follow the model. Rows of one person may be alike: then it is as
many times H as a person has rows, at most.

Source: Fieller 1954 and Anderson and Rubin 1949 (a set of what is not refuted, in place of a quotient's deviation);
Cornish and Fisher 1938 (tails). Deviations: E's part is that of the point tried, along the line on which the rest of
the coefficients fits best. The mean curvature on the way differs from that at one point by a term of its own.
docs/proofs/learning.md, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.privacy.adjacency import Adjacency
from reticent.statistics.convex import losses
from reticent.statistics.convex.losses import Loss
from reticent.statistics.scaling import UNIT, Floats, Integers, Norm, product, scored

AT_95: Final = 1.959963984540054
ROUNDS: Final = 200
NEAR: Final = 1e-4
HELD: Final = 2.0  # roots of the width of an entry's noise, about its spectral norm, that hold a step back
TURNS: Final = 0.5  # of (1 - 2p)^2 and products of squares over products of means, for usual rows
FARTHEST: Final = 100.0  # a coefficient further off than this, per half-width of its column, was not told


@dataclass(frozen=True, eq=False)
class ScoreKnowledge:
    """Public knowledge of the coefficients of one score.

    Attributes
    ----------
    at : array of shape (width,)
        The point.
    push : array of shape (width,)
        Minus the noisy gradient of the sum of losses there.
    bent : array of shape (width, width)
        The noisy curvature.
    away : array of shape (width,)
        How far from the point that curvature was taken.
    pull : array of shape (width,)
        The ridge that values have; intervals are for coefficients without one.
    loud, off : float
        Standard deviations of the noise in a coordinate of ``push``, and in an entry of ``bent``.
    tail : float
        Excess kurtosis of both noises: 3 of Laplace's, 0 of normal ones.
    alike : int
        The most rows of one person, which count as equal.
    """

    at: Floats
    push: Floats
    bent: Floats
    away: Floats
    pull: Floats
    loud: float
    off: float
    tail: float
    alike: int = 1

    @cached_property
    def inverse(self) -> Floats | None:
        """Inverse of the curvature, if it has one."""
        return _inverse(self.bent)

    @cached_property
    def score(self) -> Floats:
        """The covariance of the score: the curvature, no less in any direction than an entry's noise."""
        sizes, axes = np.linalg.eigh(self.bent)
        return np.asarray((axes * np.maximum(sizes, self.off)) @ axes.T)

    def noise(self, way: Floats) -> Floats:
        """The covariance of the gradient's noise and of E ``way``."""
        return np.asarray(self.loud**2 * np.eye(len(way)) + spread_of(np.full(self.bent.shape, self.off), way))

    def sampled(self, way: Floats) -> Floats:
        """The covariance of the score, and of how far the mean curvature may be from that of one point.

        The second: sum of w' x'v x'way x, v the middle of the way less ``away``, w' = w (1 - 2p), by mean squares.
        """
        middle, total = way / 2 - self.away, max(float(np.diag(self.bent).max()), 1.0)
        turned = TURNS * (middle @ self.score @ middle) * (way @ self.score @ way) / total
        return np.asarray(self.score * (self.alike + turned))

    def points(self, weights: Floats, way: Floats, variance: float) -> float:
        """So many deviations hold 95 %: 1.96, or more where a few Laplace noises are most of it.

        Parameters
        ----------
        weights : array of float
            Weights of the coordinates in a score, shape (scores,).
        way : array of float
            Distance from the released point, shape (scores,).
        variance : float
            Variance of the weighted score.

        Returns
        -------
        float
            Number of standard deviations.
        """
        turned = np.outer(weights, way) + np.outer(way, weights)
        np.fill_diagonal(turned, weights * way)
        fourth = self.loud**4 * float((weights**4).sum()) + self.off**4 * float((np.triu(turned) ** 4).sum())
        return AT_95 + self.tail * fourth / variance**2 * (AT_95**3 - 3 * AT_95) / 24

    def interval(self, row: Floats) -> tuple[float, float, float] | None:
        """Ends for row't, and the half-width due to sampling alone; None where the noise leaves it open."""
        if self.inverse is None or not row.any():
            return None
        weights, centre = np.asarray(self.inverse.T @ row), np.asarray(self.inverse @ self.push)
        if not weights @ row > 0:  # no curvature is negative: this one is noise
            return None
        farthest = FARTHEST * float(np.abs(row).sum())
        low, high = (self.end(weights, centre, side, farthest) for side in (-1.0, 1.0))
        if low is None or high is None:
            return None
        middle = float(row @ (self.at + centre))
        return middle - low, middle + high, AT_95 * math.sqrt(float(weights @ self.sampled(centre) @ weights))

    def end(self, weights: Floats, centre: Floats, side: float, farthest: float) -> float | None:
        """Greatest distance of row't from its centre to one side, weights = row'inverse.

        Parameters
        ----------
        weights : array of float
            The row times the inverse curvature, shape (scores,).
        centre : array of float
            Released point, shape (scores,).
        side : float
            1 for the upper end, -1 for the lower.
        farthest : float
            Greatest half-width that is still an answer.

        Returns
        -------
        float or None
            Half-width in units of bounds; None where none is found.
        """
        assert self.inverse is not None
        way, half = centre, 0.0
        for _ in range(ROUNDS):
            spread = self.noise(way) + self.sampled(way)
            variance = float(weights @ spread @ weights)
            found = self.points(weights, way, variance) * math.sqrt(variance)
            if not found <= farthest:
                return None
            if abs(found - half) <= NEAR * found:
                return found
            half, way = found, centre + side * found / variance * (self.inverse @ spread @ weights)
        return None

    @cached_property
    def told(self) -> tuple[bool, ...]:
        """Mask of the coefficients that have an interval."""
        return tuple(self.interval(row) is not None for row in np.eye(len(self.at)))

    @cached_property
    def values(self) -> Floats:
        """The coefficients, with the ridge asked for: a step of Newton's, held back for those without intervals."""
        push = self.push - self.pull * self.at
        sizes, axes = np.linalg.eigh(self.bent)
        heavy = np.maximum(sizes, 0.0) + HELD * self.off * math.sqrt(len(sizes))
        short = axes @ ((axes.T @ push) / heavy)
        inverse = _inverse(self.bent + np.diag(self.pull))
        return np.asarray(self.at + (short if inverse is None else np.where(self.told, inverse @ push, short)))


def _inverse(whole: Floats) -> Floats | None:
    try:
        found = np.asarray(np.linalg.inv(whole), np.float64)
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found).all() else None


def spread_of(deviations: Floats, vector: Floats) -> Floats:
    """Covariance of E v, E symmetric, its entries on and above the diagonal independent with these deviations."""
    squares = deviations**2
    found = squares * np.outer(vector, vector)
    np.fill_diagonal(found, squares @ vector**2)
    return np.asarray(found)


# --- the curvature ----------------------------------------------------------------------------------------------------


@np.errstate(under="ignore")  # below a step a part is zero
def curvature(loss: Loss, rows: Integers, data: Floats, targets: Floats, at: Floats) -> Integers:
    """The upper triangle of the sum of curvature x x', in squared steps; every row's part is rounded to zero.

    Parameters
    ----------
    loss : Loss
        Loss with one score.
    rows : array of int
        Rows in steps, shape (n, width).
    data : array of float
        The same rows as doubles, shape (n, width).
    targets : array of float
        Targets, shape (n,).
    at : array of float
        Coefficients, shape (1, width).

    Returns
    -------
    array of int
        Shape (width (width + 1) / 2,).
    """
    weight = losses.curvatures(loss, scored(data, at), targets)
    weight = np.clip(np.where(np.isfinite(weight), weight, 0.0), 0.0, losses.bend(loss))
    bent = np.trunc(rows * weight[:, None] * (1 - 2.0**-50)).astype(np.int64)
    whole = product(bent, rows)
    return np.asarray(whole[np.triu_indices(rows.shape[1])])


def whole(upper: tuple[int, ...], width: int) -> Floats:
    """The matrix of an upper triangle, in units of bounds."""
    found = np.zeros((width, width))
    found[np.triu_indices(width)] = np.array(upper, np.float64) / UNIT**2
    return np.asarray(found + np.triu(found, 1).T)


def moved(loss: Loss, reach: Fraction, width: int, norm: Norm, neighbours: Adjacency) -> Fraction:
    """Sensitivity of the curvature to one row, for ``Price.noise``: the sum of sizes of the triangle, or of squares.

    Sums over the diagonal hold no number below 0, so that replacing rows moves them less than twice.

    Parameters
    ----------
    loss : Loss
        Loss with one score.
    reach : Fraction
        Greatest size of a row, in steps: of its sum of sizes, or of its squares.
    width : int
        Number of coefficients.
    norm : Norm
        Norm of the price.
    neighbours : Adjacency
        Relation between neighbours.

    Returns
    -------
    Fraction
        Sensitivity, in squared steps for "l1" and in their squares for "l2".

    Guarantee
    ---------
    Times the rows that come and go (for squares, times its square) this bounds the distance of neighbours' triangles.
    docs/proofs/learning.md, section 4.
    """
    bend, d, one = Fraction(losses.bend(loss)), Fraction(width), Fraction(UNIT)
    if norm == "l2":
        most, on, all_on = bend**2, min(one**2 * reach, reach**2), d * one**4
        once, beside, times = (reach**2 + on) / 2, reach**2 * (1 - 1 / d) / 2, 4
    else:
        most, on, all_on = bend, min(d * one**2, one * reach, reach**2), d * one**2
        once, beside, times = (reach**2 + on) / 2, reach**2 * (1 - 1 / d) / 2, 2
    found = most * (once if neighbours.kind != "substitute" else min(once, beside + min(2 * on, all_on) / times))
    return found if norm == "l2" else Fraction(math.ceil(found))  # of whole numbers: the mechanism asks for one


__all__ = ["AT_95", "ScoreKnowledge", "curvature", "moved", "spread_of", "whole"]
