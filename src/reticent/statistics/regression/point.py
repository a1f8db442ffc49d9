"""Least squares of many columns from the least point of perturbed squares, where sums of products are mostly noise.

    point   of half the squared errors, each counted up to half the range of y, by a perturbed objective or a descent,
            with the noisy curvature there                                                         4/5 of the price
    left    the sum of squared errors there, cut alike                                             1/20
    meat    the spread of errors beside every coefficient                                          3/20

A point carries noise in one number for each column, sums in one for each pair. A Newton step by the noisy curvature
leads from the point to least squares. Its interval is the sandwich of ``regress`` about the point instead of 0
(docs/proofs/regression.md, section 14). So the noise of the curvature is multiplied by that step alone.
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
from reticent.statistics.convex.descent import LAPLACE, Descent
from reticent.statistics.convex.losses import HuberLoss
from reticent.statistics.convex.objective_perturbation import CurvaturePerturbation, planned
from reticent.statistics.price import Noise, Price, deviation
from reticent.statistics.regression.frame import CategoryKeys, Frame
from reticent.statistics.regression.least_squares import hidden
from reticent.statistics.regression.products import SPREAD
from reticent.statistics.regression.sandwich import Meat, SandwichTerms
from reticent.statistics.regression.squares import MEAT, WORTH, SquaresFit
from reticent.statistics.regression.sums import Loads, NoisySums
from reticent.statistics.scaling import UNIT, Floats, Scaling, scored

LEFT: Final = Fraction(1, 20)
CUT: Final = Fraction(1)  # half-widths of y
RIDGE: Final = Fraction(1)


@dataclass(frozen=True)
class Point:
    """Least squares by a least point and its sandwich.

    Attributes
    ----------
    frame : Frame
        The columns, scaled into [-1, 1].
    price : Price
    people : int or None
        A public number of rows.
    clip : Fraction or None
        Length of the longest row without the constant; None for what bounds allow.
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

    @cached_property
    def plan(self) -> CurvaturePerturbation | Descent:
        """The point with its curvature, for what the meat leaves."""
        price, constant = self.price.within(1 - MEAT - LEFT), int(self.frame.intercept)
        length = self.clip or Fraction(constant + len(self.frame.blocks))
        if self.clip is None and price.delta:
            length = Fraction(math.ceil(math.sqrt(length) * 1024), 1024)
        found = planned("auto", HuberLoss(CUT), self.scaling, price, length, RIDGE, self.people, refined=True)
        assert isinstance(found, CurvaturePerturbation | Descent)
        return found

    @property
    def noise(self) -> float:
        """Standard deviation of the noise in a coordinate of the point's gradient, in rows."""
        if isinstance(self.plan, CurvaturePerturbation):
            return math.sqrt(2.0) * float(self.plan.mechanism.scale)
        assert self.plan.last is not None
        return deviation(self.plan.last) / UNIT**2

    def error(self) -> float:
        """Error of a slope, times rows, for columns of a usual spread."""
        return self.noise / SPREAD**2

    @property
    def hopeless(self) -> bool:
        """True if the public number of rows is too small for any slope."""
        return self.people is not None and WORTH * self.noise > self.people

    @property
    def errors(self) -> str:
        """Words of a plan about errors: the width that they are cut to."""
        return ", and errors to half the range of y"

    def hidden(self, rows: int) -> float:
        """Relative noise of the curvature of ``rows`` rows of usual columns."""
        assert self.plan.curved is not None
        keys = [(place, key) for place, key in self.frame.features if place >= 0]
        blocks = [self.frame.blocks[place] for place, _ in keys]
        squares = np.array([1.0 / block.count if isinstance(block, CategoryKeys) else SPREAD**2 for block in blocks])
        return hidden(np.full((len(squares),) * 2, deviation(self.plan.curved) / UNIT**2), squares * rows)

    @cached_property
    def leaving(self) -> Noise:
        """Noise of the sum of squared errors, each cut at 1, less a half."""
        return self.price.noise(Fraction(UNIT**4, 4) if self.price.delta else Fraction(UNIT**2, 2), LEFT)

    @cached_property
    def meat(self) -> Meat:
        return Meat(self.price, len(self.frame.features), MEAT)

    @property
    def noise_of_rows(self) -> float | None:
        """No noise of its own: the curvature counts the rows whose errors are not cut."""
        return None

    @cached_property
    def guarantee(self) -> Guarantee:
        parts = [*self.plan.parts, self.leaving.guarantee, self.meat.noise.guarantee]
        return self.price.whole(parts, "a least point, its curvature and what it leaves")

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
        held, (start, turn) = self.frame.held(values, targets), self.frame.back
        rows, y = self.frame.featured(held), held.y
        plain = rows[:, int(self.frame.intercept) :] / UNIT
        around = self.plan.draw(plain, y / UNIT, entropy).around
        assert around is not None
        left = y[:, None] / UNIT - scored(rows.astype(np.float64), around.at[None, :])
        cut = np.floor(np.clip(left, -1.0, 1.0) ** 2 * UNIT**2).astype(np.int64) - UNIT**2 // 2
        (half,) = gate.draw(self.leaving, [int(cut.sum())], entropy)
        n = float(around.bent[0, 0]) if self.frame.intercept else float(self.people or len(start))
        sums = self._sums(around.bent, around.push, n, around.off, around.loud)
        whole = max(half / UNIT**2 + n / 2, deviation(self.leaving) / UNIT**2)
        told = SandwichTerms(sums, turn, self.meat, max(n, 1.0), self.price.neighbours.rows, around.at, whole)
        meat = self.meat.draw(rows, y, told, entropy)
        estimates = told.estimates(meat, start)
        model = told.whole if None not in estimates else around.at
        return SquaresFit(start + turn @ model, estimates, n)

    @property
    def noise_of_sums(self) -> NoisySums:
        """The curvature and the slope of no rows, with their noise."""
        assert self.plan.curved is not None
        size = len(self.frame.features)
        return self._sums(
            np.zeros((size, size)), np.zeros(size), 0.0, deviation(self.plan.curved) / UNIT**2, self.noise
        )

    def _sums(self, bent: Floats, push: Floats, n: float, off: float, loud: float) -> NoisySums:
        """The curvature and the slope at the point, every entry with noise of its own."""
        size = len(push)
        upper = size * (size + 1) // 2
        loads = Loads.of(np.vstack([np.eye(upper + size), np.zeros((2, upper + size))]))
        deviations = np.concatenate([np.full(upper, off), np.full(size, loud)])
        return NoisySums(bent, push, 0.0, n, loads, deviations, 0.0 if self.price.delta else LAPLACE)


__all__ = ["Point"]
