"""Coefficients of many columns without intervals, where noise would hide these: all of the price goes to prediction.

    point   the least point of half the squared errors, each counted up to ``CUT`` half-widths of y         19/20
    level   the sum of errors there, which moves the intercept to where they have none; the rows            1/20

``regress`` releases a coefficient only if its predicted error is less than ``FAINT`` of the largest plausible one. That
coefficient lets y cross its range as the column does. The prediction uses public numbers and covers noise and the ridge
penalty, which draws coefficients to 0.

Columns of 0 and 1 stay so, and rows of many columns are shortened, as for every model that buys no intervals. One pure
draw may have less noise than the many draws of a descent under delta. Then no delta is spent. A charge in rho keeps the
descent, since a pure draw of the same epsilon costs many times as much rho.
docs/proofs/learning.md, sections 2 and 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.convex import objective_perturbation
from reticent.statistics.convex.descent import Descent
from reticent.statistics.convex.losses import HuberLoss
from reticent.statistics.convex.objective_perturbation import Fit
from reticent.statistics.price import Noise, Price, deviation
from reticent.statistics.regression.frame import CategoryKeys, Frame
from reticent.statistics.regression.least_squares import AT_95, shrunk
from reticent.statistics.regression.products import SPREAD
from reticent.statistics.regression.squares import WORTH, SquaresFit
from reticent.statistics.scaling import UNIT, Bound, Scaling, scored

LEVEL: Final = Fraction(1, 20)
CUT: Final = Fraction(1, 2)  # half-widths of y, of one draw
CUT_OF_DESCENT: Final = Fraction(1, 4)
RIDGE: Final = Fraction(1)
SHORT: Final = Fraction(13, 20)  # of the longest row
FAINT: Final = 0.5  # of the largest plausible coefficient
DRAWN_ONCE: Final = 1.06  # times the noise of a gradient of all the price: up to it one draw predicts better
EVEN: Final = 0.25  # the variance of an even column of 0 and 1
INDICATOR: Final = (Fraction(0), Fraction(1))
BOX: Final = (Fraction(-1), Fraction(1))


@dataclass(frozen=True)
class PlainSquares:
    """Coefficients for prediction; attributes as for ``LeastSquares``.

    Guarantee
    ---------
    Within the price: a least point or a descent, then noisy sums of errors cut at half the range of y, in sequence.
    """

    frame: Frame
    price: Price
    people: int | None = None
    complete: bool = False
    clip: Fraction | None = None

    @property
    def errors(self) -> str:
        """Description of the loss, appended to the estimand: large errors count by their size."""
        share = "a quarter" if self.pure else "an eighth"
        return f", and errors beyond {share} of the range of y counted by their size; no intervals"

    @property
    def known(self) -> int | None:
        """The number of rows that lack nothing, where it is public."""
        return self.people if self.complete else None

    @cached_property
    def halved(self) -> tuple[bool, ...]:
        """Features of [-1, 1] that stand for 0 and 1."""
        blocks, centred = self.frame.blocks, self.frame.intercept
        places = [place for place, _ in self.frame.features if place >= 0]
        return tuple(centred and blocks[place] == INDICATOR for place in places)

    @cached_property
    def scaling(self) -> Scaling:
        keys = [key >= 0 for place, key in self.frame.features if place >= 0]
        found: list[Bound] = [INDICATOR if a or b else BOX for a, b in zip(keys, self.halved, strict=True)]
        return Scaling(tuple(found), self.frame.intercept)

    def _planned(self, price: Price, cut: Fraction) -> Fit:
        whole = int(self.frame.intercept) + sum(isinstance(block, CategoryKeys) for block in self.frame.blocks)
        numbers = len(self.frame.numbers)
        if self.clip is not None:
            length = self.clip
        elif price.delta:
            length = Fraction(math.ceil(math.sqrt(whole + float(SHORT) ** 2 * numbers) * 1024), 1024)
        else:
            length = whole + SHORT * numbers
        return objective_perturbation.planned("auto", HuberLoss(cut), self.scaling, price, length, RIDGE, self.people)

    @cached_property
    def _once(self) -> Fit:
        return self._planned(replace(self.spent, delta=Fraction(0)).within(1 - LEVEL), CUT)

    @cached_property
    def _slowly(self) -> Fit:
        return self._planned(self.price.within(1 - LEVEL), CUT_OF_DESCENT)

    @property
    def spent(self) -> Price:
        """The price as a pure one."""
        return replace(self.price, delta=Fraction(0), part=Fraction(1))

    @cached_property
    def pure(self) -> bool:
        """True if one pure draw is used and no delta spent: its public noise is less than that of a descent.

        In rho a pure draw at the descent's cost always has more noise.
        """
        if not self.price.delta:
            return True
        if self.price.currency == "zcdp":
            return False
        return _noise(self._once) <= DRAWN_ONCE * _noise(self._slowly)

    @property
    def plan(self) -> Fit:
        return self._once if self.pure else self._slowly

    @property
    def cut(self) -> Fraction:
        return CUT if self.pure else CUT_OF_DESCENT

    @property
    def hopeless(self) -> bool:
        """True if the public number of rows is too small for any slope."""
        return self.people is not None and WORTH * _noise(self.plan) > self.people

    def tells(self, rows: int) -> tuple[bool, ...]:
        """Tell for each coefficient if ``rows`` usual rows determine it in spite of noise and ridge.

        All entries are False if no slope is determined.
        """
        halved, first, squares = iter(self.halved), int(self.frame.intercept), []
        for place, _ in self.frame.features[first:]:
            block, indicator = self.frame.blocks[place], next(halved)
            squares.append(1.0 / block.count if isinstance(block, CategoryKeys) else EVEN if indicator else SPREAD**2)
        told = np.array([1.0] * first + squares) * max(rows, 1)
        pulled = self.plan.penalty if isinstance(self.plan, Descent) else self.plan.ridge
        moved = (AT_95 * _noise(self.plan) + float(pulled)) / (told + float(pulled))
        _, turn = self.frame.back
        shares = np.abs(turn) @ moved / np.maximum(np.abs(turn).sum(axis=1), 1e-300)
        return tuple((shares < FAINT).tolist()) if (shares[first:] < FAINT).any() else (False,) * len(shares)

    @cached_property
    def levelling(self) -> Noise:
        """Noise of the sum of errors and, if the number of rows is private, of that number."""
        price = self.spent if self.pure else self.price
        many, one = 1 + int(self.known is None), Fraction(UNIT)
        return price.noise(many * (one**2 if price.norm == "l2" else one), LEVEL)

    @property
    def noise_of_rows(self) -> float | None:
        """Standard deviation of the noise in the number of complete rows, in rows."""
        return deviation(self.levelling) / UNIT

    @cached_property
    def guarantee(self) -> Guarantee:
        price = self.spent if self.pure else self.price
        parts = self.plan.parts if isinstance(self.plan, Descent) else (self.plan.guarantee,)
        return price.whole([*parts, self.levelling.guarantee], "a least point and its level")

    def draw(
        self,
        values: np.ndarray[tuple[int, int], np.dtype[np.float64]],
        targets: np.ndarray[tuple[int], np.dtype[np.float64]],
        entropy: Entropy,
    ) -> SquaresFit:
        """The coefficients from rows of shape (n, blocks), keys by their place, and y of shape (n,).

        Parameters
        ----------
        values : array of shape (n, blocks), float
            Features; keys by their place.
        targets : array of shape (n,), float
        entropy : Entropy

        Returns
        -------
        SquaresFit
        """
        held, (start, turn), first = self.frame.held(values, targets), self.frame.back, int(self.frame.intercept)
        rows, y, halved = self.frame.featured(held), held.y, np.array(self.halved, np.bool_)
        plain = rows[:, first:] / UNIT
        plain[:, halved] = (plain[:, halved] + 1.0) / 2.0
        model = self.plan.draw(plain, y / UNIT, entropy).scaled[0].copy()
        model[first:][halved] /= 2.0
        if first:
            model[0] += model[first:][halved].sum()
        left = y / UNIT - scored(rows.astype(np.float64), model[None, :])[:, 0]
        cut = np.rint(np.clip(np.where(np.isfinite(left), left, 0.0), -1.0, 1.0) * UNIT).astype(np.int64)
        exact = [int(cut.sum()), *([len(cut) * UNIT] if self.known is None else [])]
        drawn = [value / UNIT for value in gate.draw(self.levelling, exact, entropy)]
        doubt = deviation(self.levelling) / UNIT
        n = max(float(self.known or drawn[-1]), doubt, 1.0)
        if first:
            model[0] += float(shrunk(drawn[0] / n, doubt / n))
        return SquaresFit(np.asarray(start + turn @ model), (None,) * len(model), n)


def _noise(fit: Fit) -> float:
    """Deviation of the noise in a coordinate of a gradient, were all of the price spent on one; in rows."""
    if isinstance(fit, Descent):
        return deviation(fit.price.noise(fit.slope, Fraction(1))) / UNIT**2
    assert isinstance(fit, objective_perturbation.ObjectivePerturbation)
    return fit.mechanism.deviation


__all__ = ["PlainSquares"]
