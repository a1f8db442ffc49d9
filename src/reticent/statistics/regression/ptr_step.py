"""R_S and R_H as plans: a budget split over their steps, and coefficients with intervals in units of the columns.

    R_S   p medians of block coefficients, each with its scale: two tests of the scale, one of the width, one release
    R_H   p scales, one test, p releases

In mode exact all losses of one algorithm are equal, and so are its deltas, so that together they are what was asked. In
mode paper thresholds are 003's; what delta they have must be within the delta asked, if one is, else within 1 / (10 n).

Intervals. The noise's scale is released: it is a proposed width over the loss of the release. The width is a known
part of the released scale of the blocks' coefficients. That scale bounds the distance of their quartiles. So it bounds
the sampling error of coefficients that are nearly normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from reticent.data.order_statistics import LARGEST
from reticent.entropy import Entropy
from reticent.errors import QuestionError
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.intervals import NONE, half_width, known, normal_half_width
from reticent.statistics.regression.block_medians import per_step
from reticent.statistics.regression.blocks import Blocks
from reticent.statistics.regression.coefficients import PLACES, Coefficients, RegressionDesign
from reticent.statistics.regression.r_s import ShortCut
from reticent.statistics.regression.robust import RobustRegression, robust_regression
from reticent.statistics.regression.rows import Integers
from reticent.statistics.robust.median import THIRD, ScaledMedian, level_for, scaled_median
from reticent.statistics.robust.ptr_test import Mode, Noisy
from reticent.statistics.robust.scale_ptr import scale

Printed: TypeAlias = Literal["R_S", "R_H"]

ROWS: Final = 2  # of a block for each coefficient
QUARTILES: Final = 1.349  # standard deviations between the quartiles of a normal law
MEDIAN: Final = math.sqrt(math.pi / 2.0)  # standard error of a median over that of a mean


@dataclass(frozen=True, slots=True)
class PtrRegression:
    """R_S or R_H for a design.

    Guarantee
    ---------
    That of ``inner``, derived from its parts: within the epsilon and delta it was made for.
    """

    design: RegressionDesign
    method: Printed
    inner: ShortCut[Noisy] | RobustRegression
    release: Fraction
    per_width: float  # quartile distance of the blocks' coefficients for each step of a released width
    places: int = PLACES

    @property
    def guarantee(self) -> Guarantee:
        return self.inner.guarantee

    def draw(self, table: Integers, entropy: Entropy) -> Outcome[Coefficients]:
        """The coefficients, or no reply where a test fails."""
        outcome = self.inner.sample(self.design.exact(table, self.places), entropy)
        if isinstance(outcome, NoReply):
            return NO_REPLY
        worth = per_step(self.design, self.places)
        estimates = tuple(self.estimate(noisy, step) for noisy, step in zip(outcome.value, worth, strict=True))
        words = {"R_S": "private medians of block coefficients", "R_H": "a solution of least sum of |residual| / |x|"}
        return Reply(Coefficients(self.design.names, estimates, f"{words[self.method]}, by propose-test-release"))

    def estimate(self, noisy: Noisy, worth: float) -> Estimate:
        value, noise = float(noisy.value) * worth, float(noisy.scale) * worth
        quartiles = noise * float(self.release) * self.per_width
        variance = (MEDIAN * quartiles / QUARTILES) ** 2 / self.inner.blocks.count * self.design.terms.rows
        half = half_width(known(variance), [noise])
        return Estimate(value, value - half, value + half, half_width(NONE, [noise]), normal_half_width(variance))


def by_test(
    design: RegressionDesign,
    method: Printed,
    *,
    epsilon: Fraction,
    delta: Fraction,
    mode: Mode = "exact",
    blocks: int | None = None,
    exponent: Fraction | None = None,
) -> PtrRegression:
    """R_S or R_H within (epsilon, delta).

    Parameters
    ----------
    design : RegressionDesign
        Names, units and public size of the regression.
    method : Printed
        "R_S" or "R_H".
    epsilon, delta : Fraction
        Loss of the whole regression.
    mode : Mode
        "exact", or "paper" for the printed thresholds.
    blocks : int, optional
        Number of blocks; None for one of ``ROWS`` rows for each coefficient.
    exponent : Fraction, optional
        Sides of the cells are scale n^-exponent; None for the default.

    Returns
    -------
    PtrRegression
        Step with its guarantee.

    Raises
    ------
    PublicParameterError, QuestionError
        Before rows are read: a budget too small for a reply, a printed threshold whose delta is above what was asked,
        persons with several rows under substitution.
    """
    near, columns = design.terms.neighbours, len(design.names)
    if near.kind == "substitute" and design.terms.values is None:
        raise QuestionError(
            f"{method} deals out a public number of rows, and a person with several has no public number. Declare one "
            "row each, or add/remove with the number of people. Nothing was charged."
        )
    if mode == "exact" and delta <= 0:
        raise QuestionError(f"{method} needs a delta in mode exact: the chance of a reply where it is unsafe.")
    count = blocks or max(1, design.size // (ROWS * columns))
    if count * columns > max(design.size, columns):
        raise QuestionError(
            f"{method}: a block needs a row for each coefficient, and {count:,} blocks of {columns} are more than "
            f"{design.size:,} rows. Nothing was charged."
        )
    dealt = Blocks(count, (LARGEST,) * columns, near)  # what determines nothing is never a reply
    if method == "R_S":
        return _short_cut(design, dealt, epsilon, delta, mode)
    each = epsilon / (3 * columns + 1)
    own = None if mode == "paper" else delta / (columns + 1)
    cap = delta / (columns + 1) if mode == "paper" and delta > 0 else None
    # the printed S tests both discretisations for themselves: 2 each, as much as one test and a release
    spread = scale(count, near, test=each, release=each, delta=own, mode=mode, most_delta=cap)
    inner = robust_regression(
        design.size, dealt, spread, test=each, release=each, delta=own, mode=mode, most_delta=cap, exponent=exponent
    )
    return PtrRegression(design, "R_H", inner, each, design.size ** float(inner.exponent))


def _short_cut(
    design: RegressionDesign, dealt: Blocks, epsilon: Fraction, delta: Fraction, mode: Mode
) -> PtrRegression:
    columns, near, count = len(design.names), design.terms.neighbours, dealt.count
    each = epsilon / (4 * columns)
    if mode == "exact":
        middle = scaled_median(count, near, scale_test=each, test=each, release=each, delta=delta / (3 * columns))
    else:
        cap = delta / (2 * columns) if delta > 0 else None
        spread = scale(count, near, test=each, release=each, mode=mode, most_delta=cap)
        asked = level_for(count, near, test=each, release=each, mode=mode, most_delta=cap)
        middle = ScaledMedian(asked, spread, count, THIRD)
    per_width = count ** float(middle.exponent) / middle.multiple
    return PtrRegression(design, "R_S", ShortCut(dealt, middle), each, per_width)
