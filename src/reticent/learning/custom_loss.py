"""Empirical risk of any convex loss of a score and a target, named by its slope.

    EmpiricalRiskClassifier    the target of a score is 1 for its class and -1 for the others
    EmpiricalRiskRegressor     scores and targets within public ranges; ``inverse_link`` makes predictions of scores

The caller's functions are asked on a public grid, before the charge, and never meet a row (``tabled``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.learning.classifiers import LinearClassifier
from reticent.learning.fit.estimator import Work
from reticent.learning.fit.fit_release import Circumstances, numbers, outward, price_of
from reticent.learning.fit.linear_model import LossModel
from reticent.learning.fit.weights import RowWeights
from reticent.learning.linear import Regressor
from reticent.privacy.numbers import Number, read
from reticent.statistics.convex.objective_perturbation import Solver, planned
from reticent.statistics.convex.tabulated_loss import (
    CELLS,
    NODES,
    Slope,
    asked,
    between,
    of_classes,
    of_numbers,
    placed,
)
from reticent.statistics.scaling import Floats, Scaling

Link: TypeAlias = Callable[[Floats], object]  # or of one float


@dataclass(kw_only=True, eq=False, repr=False)
class EmpiricalRiskClassifier(LinearClassifier):
    """A linear classifier by any convex loss of the margin, or of a score and -1 or 1.

    Two classes have one score, and the later class in order is 1; more have a score each, against the rest.

    Parameters
    ----------
    slope : callable
        ``slope(score, target)``, the derivative of the loss in the score: of two arrays of equal shape, or of two
        numbers. Target is -1 or 1. Must be finite and must not fall as the score rises. Public: it must not know rows.
    reach : number
        Scores are tabled from -reach to reach; beyond, the slope is that of the end. In [2^-20, 2^20], public.
    steepest : number, optional
        Slopes are cut to this size; > 0, public. By default the greatest within reach. The loss is divided by it.
    C : number
        > 0, public: one over the penalty. ``LogisticRegression`` is ``slope=lambda z, t: -t / (1 + np.exp(t * z))``.
    steps : int, optional
        Of the descent; by default a public rule.
    solver : "auto", "descent", "objective" or "output"
        Noisy gradients; or the least point, of a perturbed objective (pure) or with noise on it. "auto" perturbs the
        objective where there is no delta and no ``steps`` are asked for.

    Attributes
    ----------
    coef_, intercept_, classes_ : arrays
    steepest_ : float
        The slope by which the loss was divided.
    table_ : str
        SHA-256 of the table of slopes.
    guarantee_ : Guarantee

    Guarantee
    ---------
    Within epsilon and delta, whatever ``slope`` is: docs/proofs/learning.md, sections 2, 8 and 9.
    """

    slope: Slope | None = None
    reach: Number = 8
    steepest: Number | None = None

    def _work(self, here: Circumstances, y: object) -> Work:
        classes = len(self._labels(y))
        loss, bound = of_classes(_named(self.slope), classes, read(self.reach, "reach"), _most(self.steepest))
        work = self._planned(here, y, lambda _: loss, lambda *_: False)

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            work.draw(values, targets, entropy)
            self.steepest_, self.table_ = bound, loss.digest

        return Work(work.guarantee, draw)


@dataclass(kw_only=True, eq=False, repr=False)
class EmpiricalRiskRegressor(LossModel, Regressor):
    """A linear score by any convex loss of the score and a number.

    Parameters
    ----------
    slope : callable
        ``slope(score, y)``, the derivative of the loss in the score: of two arrays of equal shape, or of two numbers,
        y in its own units. Must be finite and must not fall as the score rises. Public: it must not know rows.
    reach : (low, high), optional
        Of scores, public; beyond, the slope is that of the end. By default the bounds of y. Scores and the penalty
        are in half-widths of it.
    steepest : number, optional
        Slopes are cut to this size; > 0, public. By default the greatest within reach. The loss is divided by it.
    inverse_link : callable, optional
        What ``predict`` makes of scores, such as ``np.exp``: of an array, or of a number. Asked on a grid of 1,025
        scores within reach, straight in between and constant beyond. By default a prediction is its score.
    alpha : number
        Penalty: half of alpha times the squared length of the scaled coefficients, against the sum of losses.
    steps : int, optional
        Of the descent; by default a public rule.
    solver : "auto", "descent", "objective" or "output"
        Noisy gradients; or the least point, of a perturbed objective (pure) or with noise on it.

    Attributes
    ----------
    coef_, intercept_ : array of shape (columns,), float
        Of scores.
    steepest_ : float
        The slope by which the loss was divided.
    table_ : str
        SHA-256 of the table of slopes.
    guarantee_ : Guarantee

    Guarantee
    ---------
    Within epsilon and delta, whatever ``slope`` is: docs/proofs/learning.md, sections 2, 8 and 9.
    """

    slope: Slope | None = None
    reach: Sequence[object] | None = None
    steepest: Number | None = None
    inverse_link: Link | None = None
    alpha: Number = 1
    steps: int | None = None
    solver: Solver = "auto"

    def _work(self, here: Circumstances, y: object) -> Work:
        bounds = _pair(self._y_bounds(y), "y_bounds")
        ends = bounds if self.reach is None else _pair(self.reach, "reach")
        loss, bound = of_numbers(_named(self.slope), ends, bounds, _most(self.steepest))
        link = None if self.inverse_link is None else linked(self.inverse_link, ends)
        scaling, price = Scaling(here.bounds, self.fit_intercept), price_of(self.epsilon, self.delta, here)
        length = self._length(scaling.width, price, whole=False, choices=here.choices)
        weights = RowWeights(price, here.most_weight)
        penalty = read(self.alpha, "alpha") / weights.greatest
        plan = planned(self.solver, loss, scaling, price, length, penalty, here.people, steps=self.steps)
        (middle, half), (centre, unit) = _frame(bounds), _frame(ends)

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            placed_y = (numbers(targets) - middle) / half
            values, shares, _ = weights.draw(values, placed_y, entropy)
            self._keep(plan.draw(values, placed_y, entropy, shares), scaling, unit, centre)
            self._tell(plan)
            self.steepest_, self.table_ = bound, loss.digest
            self.reach_, self._link = tuple(ends.tolist()), link

        return Work(plan.guarantee, draw)

    def linear_predictor(self, X: object) -> Floats:
        """Scores, of shape (n,), before ``inverse_link``; scikit-learn lets no regressor have a decision function."""
        return super()._predicted(self._rows(X))

    def _predicted(self, rows: Floats) -> Floats:
        scores = super()._predicted(rows)
        if self._link is None:
            return scores
        centre, unit = _frame(np.array(self.reach_))
        return between(self._link, (scores - centre) / unit)


def linked(link: Link, ends: Floats) -> Floats:
    """An inverse link at ``CELLS`` + 1 scores between two ends."""
    found = asked(lambda scores, _: link(scores), placed(NODES, ends), np.zeros(1), "inverse_link")
    assert found.shape == (1, CELLS + 1)
    return np.asarray(found[0], np.float64)


def _named(slope: Slope | None) -> Slope:
    if slope is None:
        raise PublicParameterError(
            "Name slope=…, the derivative of a convex loss in the score: a function of scores and targets. Nothing "
            "was charged."
        )
    return slope


def _most(steepest: Number | None) -> Fraction | None:
    return None if steepest is None else read(steepest, "steepest")


def _pair(ends: Sequence[object], name: str) -> Floats:
    """Two public ends as doubles."""
    if len(ends) != 2:
        raise PublicParameterError(f"{name} is a pair (low, high)")
    low, high = (float(outward(end)) for end in ends)
    if not (low < high and high - low < 1e300):
        raise PublicParameterError(f"{name} needs low < high")
    return np.array([low, high])


def _frame(ends: Floats) -> tuple[float, float]:
    """Middle and half-width."""
    low, high = ends.tolist()
    return (low + high) / 2, (high - low) / 2


__all__ = ["EmpiricalRiskClassifier", "EmpiricalRiskRegressor"]
