"""The least point again, in whole numbers and slowly: for what doubles could not certify. It always ends.

Gradient descent with the step 1 / M, M a bound of the curvature: in rationals, rounded to P bits at each step, slopes
with certified error. Take ridge L and an error of at most e in each step's gradient, rounding included. Then |grad
J(t_{i+1})| <= (1 - L / M) |grad J(t_i)| + e, so the gradient falls below 2 e M / L. The error e is chosen to make that
half the tolerance. Nothing bounds rows, slope or tolerance here. docs/proofs/learning.md, section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from reticent.exact.rounding import exp_bounds, sqrt_up
from reticent.statistics.convex import losses
from reticent.statistics.convex.losses import CheckLoss, Hinge, HuberLoss, Logistic, Loss, TabulatedLoss
from reticent.statistics.scaling import UNIT, Floats, Integers

Row = tuple[list[int], Fraction]


def slowly(
    loss: Loss,
    rows: Integers,
    targets: Floats,
    tilt: Sequence[int],
    exponent: int,
    ridge: Fraction,
    tolerance: Fraction,
    shares: Integers | None = None,
) -> list[Fraction]:
    """A point where the gradient of J is at most ``tolerance`` long, coefficients score by score.

    ``shares`` multiply the losses of the rows, in steps of 1 / UNIT, at most UNIT: bounds of whole losses hold.

    Parameters
    ----------
    loss : Loss
        Loss of a row.
    rows : array of int
        Rows in steps, shape (n, width).
    targets : array of float
        Targets, shape (n,); rows without one are left out.
    tilt : sequence of int
        Drawn linear term of J, one integer for each coefficient, in steps of 2^exponent.
    exponent : int
        Binary exponent of the steps of ``tilt``.
    ridge : Fraction
        Factor of the squares in J, > 0.
    tolerance : Fraction
        Greatest length of the gradient, > 0.
    shares : array of int, optional
        Shares of the losses of the rows, in steps, shape (n,); None for whole losses.

    Returns
    -------
    list of Fraction
        Coefficients as fractions.
    """
    of_rows = [UNIT] * len(rows) if shares is None else shares.tolist()
    kept = [
        (row, Fraction(y), Fraction(share, UNIT))
        for row, y, share in zip(rows.tolist(), targets.tolist(), of_rows, strict=True)
        if y == y and abs(y) < float("inf") and any(row)
    ]
    k, d = losses.scores_of(loss), rows.shape[1]
    squares = sum(x * x for row, _, _ in kept for x in row)
    most = ridge + losses.turns(loss)[1] * Fraction(squares, UNIT**2)  # the trace bounds every eigenvalue
    error = tolerance * ridge / (8 * most)
    of_slopes = _bits(k * sum((sqrt_up(Fraction(sum(x * x for x in row))) for row, _, _ in kept), Fraction(0)) / error)
    grain = Fraction(1, 1 << _bits(most * sqrt_up(Fraction(k * d)) / error))
    slope = [value * Fraction(2) ** exponent for value in tilt]
    at = [Fraction(0)] * (k * d)
    while True:
        total = [s + ridge * t for s, t in zip(slope, at, strict=True)]
        for row, y, share in kept:
            scores = [
                sum((x * t for x, t in zip(row, at[a * d : (a + 1) * d], strict=True)), Fraction(0)) / UNIT
                for a in range(k)
            ]
            for a, part in enumerate(slopes(loss, scores, y, of_slopes)):
                for place, x in enumerate(row):
                    total[a * d + place] += share * part * x / UNIT
        if sum((value**2 for value in total), Fraction(0)) <= (tolerance - error) ** 2:
            return at
        at = [round((t - g / most) / grain) * grain for t, g in zip(at, total, strict=True)]


def slopes(loss: Loss, scores: Sequence[Fraction], y: Fraction, bits: int) -> list[Fraction]:
    """The slope of one row in each of its scores, each within 2^-bits, of the loss with doubles as parameters.

    Parameters
    ----------
    loss : Loss
        Loss of a row.
    scores : sequence of Fraction
        Scores of the row, one for each class or one alone.
    y : Fraction
        Target of the row.
    bits : int
        Accuracy, in binary places.

    Returns
    -------
    list of Fraction
        One slope for each score.
    """
    match loss:
        case Logistic(2):
            return [_chances([Fraction(0), scores[0]], bits)[1] - (y == 1)]
        case Logistic(classes):
            return [p - (y == a) for a, p in zip(range(classes), _chances(scores, bits), strict=True)]
        case Hinge(classes, round_off):
            h, places = Fraction(float(round_off)), range(classes) if classes > 2 else (1,)
            signs = [1 if y == a else -1 for a in places]
            return [
                -sign * _between((1 + h - sign * score) / (2 * h)) for sign, score in zip(signs, scores, strict=True)
            ]
        case HuberLoss(cut):
            return [min(max((scores[0] - y) / Fraction(float(cut)), Fraction(-1)), Fraction(1))]
        case CheckLoss(level, round_off):
            over = _between((scores[0] - y) / (2 * Fraction(float(round_off))) + Fraction(1, 2))
            return [over - Fraction(float(level))]
        case TabulatedLoss():
            return loss.exactly(scores, y)
        case _:
            assert_never(loss)


def _between(value: Fraction) -> Fraction:
    return min(max(value, Fraction(0)), Fraction(1))


def _chances(scores: Sequence[Fraction], bits: int) -> list[Fraction]:
    """e^{s_a} over their sum: every term within 2^-work of 1 at most, the sum at least 1."""
    work, top = bits + len(scores).bit_length() + 3, max(scores)
    # a score so far below the greatest adds less than 2^-work; scores are rounded so that exp reads few digits
    grain = 1 << (work + 2)
    raised = [
        Fraction(0) if s - top < -work else exp_bounds(Fraction(round((s - top) * grain), grain), work + 2)[0]
        for s in scores
    ]
    whole = sum(raised, Fraction(0))
    return [Fraction(round(value / whole * grain), grain) for value in raised]


def _bits(x: Fraction) -> int:
    """Bits b with 2^b >= x, x >= 0."""
    return max(1, x.__ceil__().bit_length())


__all__ = ["slowly"]
