"""Least squares of many columns from the least point of perturbed squares, where sums of products are mostly noise.

    point   of half the squared errors, each counted up to half the range of y, by a perturbed objective or a descent,
            with the noisy curvature there                                                         4/5 of the price
    left    the sum of squared errors there, cut alike                                             1/20
    meat    the spread of errors beside every coefficient                                          3/20

The noise of a point has one number for each column, that of sums one for each pair. From the point a step by the noisy
curvature leads to least squares; its interval is the sandwich of ``regress`` (docs/proofs/regression.md, section 14),
about the point instead of 0, so that the noise of the curvature enters times the step alone. Where public numbers say
that the curvature is mostly noise as well, all of the price goes to the point, and there are no intervals.

Without intervals, a point whose noise is one pure draw may have less of it than a descent that a delta pays for: then
the delta is left. ``level``, 1/20 of the price, moves the intercept to where errors cut alike have no mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.convex import erm
from reticent.statistics.convex.descent import LAPLACE, Descent
from reticent.statistics.convex.erm import Fit, Inferred
from reticent.statistics.convex.losses import Squared
from reticent.statistics.price import Noise, Price, deviation
from reticent.statistics.regression.frame import Frame
from reticent.statistics.regression.products import SPREAD
from reticent.statistics.regression.sandwich import Meat, Told
from reticent.statistics.regression.squares import MEAT, WORTH, Fitted
from reticent.statistics.regression.sums import Loads, Sums
from reticent.statistics.scaling import UNIT, Scaling, scored

LEFT: Final = Fraction(1, 20)
CUT: Final = Fraction(1)  # half-widths of y
RIDGE: Final = Fraction(1)
EVEN: Final = 1.0 / 3.0  # mean square of a number that fills its bounds evenly
SHORT: Final = Fraction(13, 20)  # of the longest row, where no interval rests on the rows
USUAL: Final = 10_000  # rows, for the choice of the way, where their number is not public


@dataclass(frozen=True)
class Point:
    """Least squares by a least point and, where it may be told, its sandwich.

    Attributes
    ----------
    frame, price, people, clip
        As for ``LeastSquares``.
    """

    frame: Frame
    price: Price
    people: int | None = None
    clip: Fraction | None = None

    @property
    def scaling(self) -> Scaling:
        """Features as they are: within [-1, 1], the constant first."""
        count = len(self.frame.features) - int(self.frame.intercept)
        return Scaling(((Fraction(-1), Fraction(1)),) * count, self.frame.intercept)

    def _planned(self, price: Price, refined: bool) -> Fit:
        blocks, constant = len(self.frame.blocks), int(self.frame.intercept)
        if self.clip is not None:
            length = self.clip
        elif price.delta:
            inner = float(1 if refined else SHORT**2) * blocks
            length = Fraction(math.ceil(math.sqrt(inner + constant) * 1024), 1024)
        else:
            length = constant + (Fraction(1) if refined else SHORT) * blocks
        people, scaling = self.people, self.scaling
        return erm.planned("auto", Squared(CUT), scaling, price, length, RIDGE, people, refined=refined)

    @cached_property
    def told(self) -> Fit:
        """The point with its curvature, for what the meat leaves."""
        return self._planned(self.price.within(1 - MEAT - LEFT), True)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise in a coordinate of the point's gradient, in rows."""
        match self.told:
            case Inferred():
                return math.sqrt(2.0) * float(self.told.mechanism.scale)
            case Descent() if self.told.last is not None:
                return deviation(self.told.last) / UNIT**2
            case _:
                return math.inf

    def error(self) -> float:
        """As ``Products.error``: of a slope, times rows, for columns of a usual spread."""
        return self.noise / SPREAD**2

    @property
    def hopeless(self) -> bool:
        """Whether a public number of rows is too small for any slope."""
        return self.people is not None and WORTH * self.noise > self.people

    @cached_property
    def refined(self) -> bool:
        """Whether the curvature of columns that fill their bounds would stand out of its noise in every direction."""
        curved = self.told.curved if isinstance(self.told, Inferred | Descent) else None
        if curved is None:
            return False
        rows = float(self.people or USUAL)
        norm = 2.0 * math.sqrt(len(self.frame.features)) * deviation(curved) / UNIT**2  # spectral, of the noise
        return norm < EVEN * rows

    @cached_property
    def plan(self) -> Fit:
        return self.told if self.refined else self._planned(self.price, False)

    @cached_property
    def leaving(self) -> Noise:
        """Of the sum of squared errors, each cut at 1, less a half."""
        return self.price.noise(Fraction(UNIT**4, 4) if self.price.delta else Fraction(UNIT**2, 2), LEFT)

    @cached_property
    def meat(self) -> Meat:
        return Meat(self.price, len(self.frame.features), MEAT)

    @cached_property
    def guarantee(self) -> Guarantee:
        if not self.refined:
            return self.plan.guarantee
        assert isinstance(self.plan, Inferred | Descent)
        parts = [*self.plan.parts, self.leaving.guarantee, self.meat.noise.guarantee]
        return self.price.whole(parts, "a least point, its curvature and what it leaves")

    def draw(
        self,
        values: np.ndarray[tuple[int, int], np.dtype[np.float64]],
        targets: np.ndarray[tuple[int], np.dtype[np.float64]],
        entropy: Entropy,
    ) -> Fitted:
        """The coefficients from rows of shape (n, blocks), keys by their place, and y of shape (n,)."""
        held, (start, turn) = self.frame.held(values, targets), self.frame.back
        rows, y = self.frame.featured(held), held.y
        plain = rows[:, int(self.frame.intercept) :] / UNIT
        found = self.plan.draw(plain, y / UNIT, entropy)
        if found.around is None:
            return Fitted(start + turn @ found.scaled[0], (None,) * len(start), found.rows)
        around, size = found.around, len(start)
        left = y[:, None] / UNIT - scored(rows.astype(np.float64), around.at[None, :])
        cut = np.floor(np.clip(left, -1.0, 1.0) ** 2 * UNIT**2).astype(np.int64) - UNIT**2 // 2
        (half,) = gate.draw(self.leaving, [int(cut.sum())], entropy)
        upper = size * (size + 1) // 2
        n = float(around.bent[0, 0]) if self.frame.intercept else float(self.people or len(start))
        loads = Loads.of(np.vstack([np.eye(upper + size), np.zeros((2, upper + size))]))
        deviations = np.concatenate([np.full(upper, around.off), np.full(size, around.loud)])
        tail = 0.0 if self.price.delta else LAPLACE
        sums = Sums(around.bent, around.push, 0.0, n, loads, deviations, tail)
        whole = max(half / UNIT**2 + n / 2, deviation(self.leaving) / UNIT**2)
        times = self.meat.times(max(n, 1.0))
        told = Told(sums, turn, times, self.price.neighbours.rows, around.at, whole)
        meat = self.meat.draw(rows, y, told, entropy)
        estimates = told.estimates(meat, self.meat.deviation, start)
        model = told.whole if None not in estimates else around.at
        return Fitted(start + turn @ model, estimates, n)


__all__ = ["Point"]
