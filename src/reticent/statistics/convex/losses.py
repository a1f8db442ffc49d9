"""Convex losses of a score and a target: the slope, cut to a public size and put into whole steps row by row.

    logistic   one score per class: chances minus the indicator of the class. Two classes: one score, p - y
    hinge      1 - m below 1, a parabola where the margin m is within ``bend`` of 1 (Rennie and Srebro 2005)
    squared    z - y, cut at ``cut``: the loss is Huber's where residuals reach the cut
    quantile   level of the check function, a parabola within ``bend`` of its kink (Fernandes, Guerre and Horta 2021)
    tabled     any rising slope that a caller names, by its table (``tabled``)

A slope is a multiple of 1 / UNIT, towards zero, and its length over the scores of a row is checked in integers: what is
longer counts as zeros. So one row adds to the gradient x times a vector of length at most ``most``, whatever rounding
did. Targets are indices of classes, or numbers in units of the half-width of y; NaN says that there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError
from reticent.statistics.convex.tabulated_loss import TabulatedLoss
from reticent.statistics.scaling import UNIT, Floats, Integers, Norm, lengths


@dataclass(frozen=True, slots=True)
class Logistic:
    """Minus the logarithm of the chance of the class, among ``classes`` >= 2."""

    classes: int = 2

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise PublicParameterError("a classifier needs two classes or more")


@dataclass(frozen=True, slots=True)
class Hinge:
    """The hinge, rounded off within ``bend`` of its kink; one score per class against the rest, one for two."""

    classes: int = 2
    bend: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        _width(self.bend, "bend")


@dataclass(frozen=True, slots=True)
class HuberLoss:
    """Half the square of the residual up to ``cut``, then its tangent: Huber's loss."""

    cut: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        _width(self.cut, "cut")


@dataclass(frozen=True, slots=True)
class CheckLoss:
    """The check function of ``level``, rounded off within ``bend`` of its kink."""

    level: Fraction = Fraction(1, 2)
    bend: Fraction = Fraction(1, 50)

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise PublicParameterError("the level of a quantile lies between 0 and 1")
        _width(self.bend, "bend")


def _width(width: Fraction, name: str) -> None:
    """Refuse a parabola of no width, or one whose curvature doubles tell from no other."""
    if not NARROWEST <= width <= 1 / NARROWEST:
        raise PublicParameterError(f"{name} must lie between {NARROWEST} and {1 / NARROWEST}")


Loss: TypeAlias = Logistic | Hinge | HuberLoss | CheckLoss | TabulatedLoss
FLAT: Final = 1e-12
NARROWEST: Final = Fraction(1, 10**6)


def scores_of(loss: Loss) -> int:
    """Scores of a row: one, or one for each of more than two classes."""
    match loss:
        case Logistic(classes) | Hinge(classes):
            return 1 if classes == 2 else classes
        case HuberLoss() | CheckLoss():
            return 1
        case TabulatedLoss():
            return loss.scores
        case _:
            assert_never(loss)


def of_numbers(loss: Loss) -> bool:
    """Tell if targets are numbers in [-1, 1], and not classes."""
    return isinstance(loss, HuberLoss | CheckLoss) or (isinstance(loss, TabulatedLoss) and not loss.classes)


def most(loss: Loss, norm: Norm) -> Fraction:
    """The greatest length of the slopes of one row, in steps; for l2 its square."""
    match loss:
        case Logistic(classes):
            size = 1 if classes == 2 else 2  # |p - e|: sum of sizes at most 2, of squares at most 2
        case Hinge(classes):
            size = 1 if classes == 2 else classes
        case HuberLoss() | CheckLoss():
            size = 1
        case TabulatedLoss():
            size = loss.scores
        case _:
            assert_never(loss)
    return Fraction(size * (UNIT**2 if norm == "l2" else UNIT))


def halves(loss: Loss) -> bool:
    """Tell if slopes are p - y = (p - 1/2) - (y - 1/2): the second half does not move with the coefficients."""
    return isinstance(loss, Logistic) and loss.classes == 2


def fixed(targets: Floats) -> Integers:
    """The half of the slopes of two classes that does not move: 1/2 - y, in steps; zeros without a target."""
    found: Integers = np.where(targets == 1, -UNIT // 2, np.where(targets == 0, UNIT // 2, 0)).astype(np.int64)
    return found[:, None]


def moving(scores: Floats, targets: Floats) -> Integers:
    """The half of the slopes of two classes that moves: p - 1/2, in steps, at most UNIT / 2 in size."""
    there = (targets == 0) | (targets == 1)
    found = np.where(there[:, None], chances(scores)[:, 1:] - 0.5, 0.0)
    steps: Integers = np.trunc(np.clip(found, -0.5, 0.5) * UNIT).astype(np.int64)
    return steps


def real_slopes(loss: Loss, scores: Floats, targets: Floats) -> Floats:
    """The slope of every row in each of its scores, as doubles and not in steps; zeros without a target.

    Parameters
    ----------
    loss : Loss
    scores : array of shape (n, scores), float
    targets : array of shape (n,), float
        NaN where a row has none.

    Returns
    -------
    array of shape (n, scores), float

    Accuracy
    --------
    Off by at most 2^-53 (32 + 4 scores + 4 b) + b' s in each score, where scores are off by at most s, b bounds the
    curvature, and b' (``bent_most``) the curvature near: every case below is a handful of operations correct to a unit
    in the last place, exp to four.
    docs/proofs/learning.md, section 8.
    """
    there = np.isfinite(targets)
    return np.asarray(np.where(there[:, None], _slopes(loss, scores, np.where(there, targets, 0.0)), 0.0))


def steepest(loss: Loss) -> tuple[Fraction, Fraction]:
    """The greatest length of the real slopes of one row: the sum of sizes, and the sum of squares."""
    match loss:
        case CheckLoss(level):  # the level is the double next to it, as in the slopes
            side = max(Fraction(float(level)), 1 - Fraction(float(level)))
            return side, side**2
        case Logistic() | Hinge() | HuberLoss() | TabulatedLoss():
            return most(loss, "l1") / UNIT, most(loss, "l2") / UNIT**2
        case _:
            assert_never(loss)


def turns(loss: Loss) -> tuple[int, Fraction]:
    """In how many directions one row can bend the objective, and the greatest curvature in any of them.

    Of every loss with the doubles next to its parameters, which are what the slopes are computed with.
    """
    match loss:
        case Logistic(classes):  # diag(p) - p p' has rank classes - 1 and eigenvalues of at most 1/2
            return classes - 1, Fraction(1, 4) if classes == 2 else Fraction(1, 2)
        case Hinge(_, round_off) | CheckLoss(_, round_off):
            return scores_of(loss), 1 / (2 * Fraction(float(round_off)))
        case HuberLoss(cut):
            return 1, 1 / Fraction(float(cut))
        case TabulatedLoss():
            return loss.scores, loss.bent
        case _:
            assert_never(loss)


def stretched(loss: Loss) -> tuple[int, Fraction]:
    """In how many directions k one row can bend the objective, and a curvature B that bounds its Jacobian.

    The product of 1 + c / R over the curvatures c of one row is at most (1 + B / R)^k, for every ridge R > 0. Of
    ``classes`` by chances the curvatures sum to 1 - |p|^2 <= 1 - 1 / classes, so that k = classes - 1 and
    B = 1 / classes: a geometric mean is at most the arithmetic one. Other losses have the greatest curvature in all
    directions at once.
    """
    match loss:
        case Logistic(classes):
            return classes - 1, Fraction(1, 4) if classes == 2 else Fraction(1, classes)
        case Hinge() | HuberLoss() | CheckLoss() | TabulatedLoss():
            return turns(loss)
        case _:
            assert_never(loss)


def turnings(loss: Loss, scores: Floats, targets: Floats) -> Floats:
    """The second derivatives of every row in its scores, shape (n, scores, scores); zeros without a target.

    Parameters
    ----------
    loss : Loss
    scores : array of shape (n, scores), float
    targets : array of shape (n,), float
        NaN where a row has none.

    Returns
    -------
    array of shape (n, scores, scores), float
    """
    there = np.isfinite(targets)
    match loss:
        case Logistic(2):
            p = chances(scores)[:, 1:]
            found = (p * (1.0 - p))[:, :, None]
        case Logistic():
            p = chances(scores)
            found = p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])
        case Hinge() | HuberLoss() | CheckLoss():
            on = _bent(loss, scores, np.where(there, targets, 0.0))
            found = np.where(on, float(turns(loss)[1]), 0.0)[:, :, None] * np.eye(scores.shape[1])
        case TabulatedLoss():
            bent = loss.curvatures(scores, np.where(there, targets, 0.0))
            found = bent[:, :, None] * np.eye(scores.shape[1])
        case _:
            assert_never(loss)
    return np.asarray(np.where(there[:, None, None], found, 0.0))


@np.errstate(under="ignore")  # far from its middle a loss is straight
def bent_most(loss: Loss, scores: Floats, targets: Floats, off: Floats) -> Floats:
    """A bound of the curvature of every row at any scores within ``off``, shape (n,), of the given ones.

    Parameters
    ----------
    loss : Loss
    scores : array of shape (n, scores), float
    targets : array of shape (n,), float
    off : array of shape (n,), float
        Distance within which the true scores are.

    Returns
    -------
    array of shape (n,), float
    """
    most = np.full(len(scores), float(turns(loss)[1]))
    match loss:
        case Logistic(2):  # p (1 - p) <= e^{-|s|}
            return np.asarray(np.minimum(most, np.exp(off - np.abs(scores[:, 0]))))
        case Logistic(classes):  # the trace, 1 - sum p^2 <= 2 (1 - p_top) <= 2 classes e^{-lead}
            low, top = np.partition(scores, classes - 2, axis=1)[:, classes - 2 :].T
            return np.asarray(np.minimum(most, 2 * classes * np.exp(2 * off - (top - low))))
        case Hinge() | HuberLoss() | CheckLoss():
            there = np.where(np.isfinite(targets), targets, 0.0)
            return np.asarray(np.where(_bent(loss, scores, there, 2 * off[:, None] + FLAT).any(axis=1), most, 0.0))
        case TabulatedLoss():
            there = np.where(np.isfinite(targets), targets, 0.0)
            return np.asarray(loss.near(scores, there, off[:, None]).max(axis=1))
        case _:
            assert_never(loss)


def shifts(loss: Loss, scores: Floats, targets: Floats, off: Floats) -> Floats:
    """Greatest change of the slopes of a row, shape (n,), if its scores move by ``off``, shape (n, scores).

    Parameters
    ----------
    loss : Loss
        Loss of a row.
    scores : array of float
        Scores, shape (n, scores).
    targets : array of float
        Targets, shape (n,).
    off : array of float
        Movement of each score, shape (n, scores), >= 0.

    Returns
    -------
    array of float
        Shape (n,).
    """
    if isinstance(loss, TabulatedLoss):  # every slope by its own score
        return np.asarray((loss.near(scores, np.where(np.isfinite(targets), targets, 0.0), off) * off).max(axis=1))
    most = off.max(axis=1)
    return np.asarray(bent_most(loss, scores, targets, most) * most)


def _bent(
    loss: Hinge | HuberLoss | CheckLoss, scores: Floats, targets: Floats, near: Floats | float = 0.0
) -> NDArray[np.bool_]:
    """Mask of the scores on the parabola of their loss, or ``near`` it."""
    match loss:
        case Hinge(classes, round_off):
            here = targets[:, None] == (np.arange(classes) if classes > 2 else 1)
            return np.asarray(np.abs(1.0 - np.where(here, 1.0, -1.0) * scores) <= float(round_off) + near)
        case HuberLoss(cut):
            return np.asarray(np.abs(scores - targets[:, None]) <= float(cut) + near)
        case CheckLoss(_, round_off):
            return np.asarray(np.abs(scores - targets[:, None]) <= float(round_off) + near)
        case _:
            assert_never(loss)


def bend(loss: Loss) -> float:
    """The greatest curvature of the loss in one score, where the slope is in units of its bound."""
    match loss:
        case Logistic(classes):
            return 0.25 if classes == 2 else 0.5
        case Hinge():
            return float(1 / (2 * loss.bend))
        case HuberLoss():
            return 1.0 / float(loss.cut)
        case CheckLoss():
            return float(1 / (2 * loss.bend))
        case TabulatedLoss():
            return float(loss.bent)
        case _:
            assert_never(loss)


@np.errstate(under="ignore")  # a class far behind has chance 0
def chances(scores: Floats) -> Floats:
    """Chances of the classes, shape (n, classes), from one score or one per class."""
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def slopes(loss: Loss, scores: Floats, targets: Floats, norm: Norm) -> Integers:
    """The slope of every row in each of its scores, in steps, of length at most ``most``; zeros without a target.

    Parameters
    ----------
    loss : Loss
    scores : array of shape (n, scores), float
    targets : array of shape (n,), float
        NaN where a row has none.
    norm : "l1" or "l2"
        Of the slopes of one row.

    Returns
    -------
    array of shape (n, scores), int
        In steps.
    """
    there = np.isfinite(targets)
    found = np.where(there[:, None], _slopes(loss, scores, np.where(there, targets, 0.0)), 0.0)
    steps: Integers = np.trunc(np.clip(found, -1.0, 1.0) * UNIT).astype(np.int64)
    steps[lengths(steps, norm) > int(most(loss, norm))] = 0
    return steps


def _slopes(loss: Loss, scores: Floats, targets: Floats) -> Floats:
    match loss:
        case Logistic(2):
            return np.asarray(chances(scores)[:, 1:] - (targets[:, None] == 1))
        case Logistic(classes):
            return np.asarray(chances(scores) - (targets[:, None] == np.arange(classes)))
        case Hinge(classes, round_off):
            here = targets[:, None] == (np.arange(classes) if classes > 2 else 1)
            sign, h = np.where(here, 1.0, -1.0), float(round_off)
            return np.asarray(-sign * np.clip((1.0 + h - sign * scores) / (2 * h), 0.0, 1.0))
        case HuberLoss(cut):
            return np.asarray(np.clip((scores[:, 0] - targets) / float(cut), -1.0, 1.0)[:, None])
        case CheckLoss(level, round_off):
            over = np.clip((scores[:, 0] - targets) / (2 * float(round_off)) + 0.5, 0.0, 1.0)
            return np.asarray((over - float(level))[:, None])
        case TabulatedLoss():
            return loss.slopes(scores, targets)
        case _:
            assert_never(loss)


def curvatures(loss: Loss, scores: Floats, targets: Floats) -> Floats:
    """The curvature of every row of a loss with one score, in [0, bend]; for intervals.

    Parameters
    ----------
    loss : Loss
        With one score.
    scores : array of float
    targets : array of shape (n,), float
        NaN where a row has none.

    Returns
    -------
    array of float

    Raises
    ------
    PublicParameterError
        Another loss.
    """
    match loss:
        case Logistic(2):
            p = chances(scores)[:, 1]
            return np.asarray(p * (1 - p))
        case HuberLoss(cut):
            return np.asarray(np.where(np.abs(scores[:, 0] - targets) <= float(cut), 1.0 / float(cut), 0.0))
        case Logistic() | Hinge() | CheckLoss() | TabulatedLoss():
            raise PublicParameterError("intervals are known for two classes by the logistic loss, and for squares")
        case _:
            assert_never(loss)


__all__ = [
    "Hinge",
    "Logistic",
    "Loss",
    "CheckLoss",
    "HuberLoss",
    "TabulatedLoss",
    "bend",
    "bent_most",
    "chances",
    "curvatures",
    "fixed",
    "halves",
    "most",
    "moving",
    "of_numbers",
    "real_slopes",
    "scores_of",
    "shifts",
    "slopes",
    "steepest",
    "stretched",
    "turnings",
    "turns",
]
