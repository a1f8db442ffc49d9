"""Linear regressions for scikit-learn's users, their intervals and ``summary()``.

    LinearRegression       least squares by noisy sums; ``method=`` the robust ones, which may give no reply
    HuberRegressor         Huber's loss, by objective perturbation or noisy gradients
    QuantileRegressor      the smoothed check function, in the same ways

Nothing is taken from the rows: bounds of X and y and the longest row are public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.data.schema import Key
from reticent.entropy import Entropy
from reticent.errors import NoReplyError, PublicParameterError
from reticent.learning.fit.estimator import Work
from reticent.learning.fit.fit_release import Circumstances, numbers, outward, price_of, vouched
from reticent.learning.fit.handles import Handle
from reticent.learning.fit.linear_model import (
    ANY_N,
    HIDDEN,
    NONE_BOUGHT,
    LinearModel,
    LossModel,
    bias_words,
    enough,
    enough_words,
    refined,
    told_about,
)
from reticent.learning.fit.odd_rows import FitOddShare
from reticent.learning.fit.scoring import ScoreQuestion, Scoring, of_numbers, r_squared
from reticent.learning.fit.weights import RowWeights
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy.numbers import Number, read
from reticent.statistics.convex import losses
from reticent.statistics.convex.descent import Descent
from reticent.statistics.convex.objective_perturbation import (
    MOST,
    ObjectivePerturbation,
    Solver,
    planned,
)
from reticent.statistics.price import Price
from reticent.statistics.regression.regress import robust_regression
from reticent.statistics.scaling import UNIT, Bound, Floats, Integers, Scaling, filled, weighed

if TYPE_CHECKING:
    from reticent.statistics.regression.coefficients import Coefficients
    from reticent.statistics.regression.plans import Method as OfRegression

Method: TypeAlias = Literal["least_squares", "robust", "theil_sen", "tukey", "block_medians", "R_S", "R_H", "adassp"]
SQUARES: Final = "least-squares coefficients, every number cut to its bounds"
WHOLE: Final = ", among rows that lack none"
PREDICTS: Final = (
    f"{NONE_BOUGHT}: by public numbers these columns predict better without; rt.regress has those that noise does not "
    "hide"
)
WORTH: Final = 0.02  # of the variance of y, that intervals may cost a prediction


def kept_rows(here: Circumstances, price: Price) -> str:
    """The rows that a fit is of, behind what it estimates: at most so many of each person, which lack nothing."""
    most = price.neighbours.rows
    return f"{f', of at most {most} rows of each person' if most > 1 else ''}{'' if here.complete else WHOLE}"


# --- regression -------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class Regressor(LinearModel):
    """Regression on a bounded target: the base of all regressions.

    Parameters
    ----------
    y_bounds : (low, high), optional
        Of y, public; with a handle those of the study by default.
    score_epsilon : number, optional
        What a score of private rows costs where ``score`` is not told: for ``cross_val_score``.
    """

    y_bounds: Sequence[object] | None = None
    score_epsilon: Number | None = None

    _estimator_type = "regressor"

    def predict(self, X: object) -> Floats:
        """Predictions of shape (n,) for rows the caller holds."""
        return self._predicted(self._rows(X))

    def _predicted(self, rows: Floats) -> Floats:
        self._replied()
        return np.asarray(weighed(rows, self._coef[:1], self._start[:1])[:, 0])

    def score(
        self,
        X: object,
        y: object,
        *,
        epsilon: Number | None = None,
    ) -> float:
        """R squared: of public rows free, of private rows charged ``epsilon``.

        Parameters
        ----------
        X : array of shape (n, columns), or handle of a study
            Features in their own units.
        y : array of shape (n,), or handle of a study
            Targets in their unit.
        epsilon : number, optional
            Price of a score of private rows; by default ``score_epsilon``. Public rows cost nothing.

        Returns
        -------
        float
            At most 1; without a unit.
        """
        if self.__sklearn_is_fitted__():
            self._replied()
        return r_squared(self._scored(X, y, epsilon), self._predicted, lambda: _middle(self._y_bounds(y)))

    def _scoring(self, y: object) -> Scoring:
        return of_numbers(self._predicted, *_middle(self._y_bounds(y)))

    def _missed(self, y: object) -> tuple[int, Callable[[Floats, NDArray[np.generic]], Integers]]:
        """Errors of predictions in steps: squares in half-widths of y, cut to 2, over 4."""
        middle, half = _middle(self._y_bounds(y))

        @np.errstate(all="ignore")  # far beyond its bounds a row may have no prediction, which counts as wrong
        def wrong(values: Floats, targets: NDArray[np.generic]) -> Integers:
            target = (numbers(targets) - middle) / half
            there = np.isfinite(values).all(axis=1) & np.isfinite(target)
            if getattr(self, "outcome_", None) is NO_REPLY:
                return np.asarray(np.where(there, UNIT, 0), np.int64)
            off = (self._predicted(filled(values, there)) - middle) / half - np.clip(target, -1.0, 1.0)
            shares = np.clip(np.nan_to_num(off, nan=2.0), -2.0, 2.0) ** 2 / 4
            return np.asarray(np.where(there, np.floor(shares * UNIT), 0), np.int64)

        return UNIT, wrong

    def _odd(self, here: Circumstances, y: object, epsilon: Fraction) -> FitOddShare:
        """The share of incomplete rows beside a search."""
        return FitOddShare.of(here, epsilon, known=here.complete)

    def _scored(self, x: object, y: object, epsilon: Number | None) -> ScoreQuestion:
        return ScoreQuestion(self, x, y, self.score_epsilon if epsilon is None else epsilon)

    def _vouched(self, here: Circumstances, y: object) -> Circumstances:
        return vouched(here, self._y_bounds(y))

    def _y_bounds(self, y: object) -> Bound:
        if self.y_bounds is not None:
            low, high = self.y_bounds
            return outward(low), outward(high)
        if isinstance(y, Handle):
            return y.bounds[0]
        raise PublicParameterError("Name y_bounds=(low, high), known without looking at the rows. Nothing was charged.")

    @property
    def coef_(self) -> Floats:
        """Coefficients of shape (columns,), in units of y per unit of the column."""
        self._replied()
        return np.asarray(self._coef[0])

    @property
    def intercept_(self) -> float:
        self._replied()
        return float(self._start[0])

    def _replied(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise AttributeError("this model is not fitted yet")
        if getattr(self, "outcome_", None) is NO_REPLY:
            raise NoReplyError("this fit gave no reply, so it has no coefficients. Handle it: match model.outcome_ …")

    def _planned(
        self, here: Circumstances, y: object, loss: losses.Loss, penalty: Number, steps: int | None, solver: Solver
    ) -> Work:
        middle, half = _middle(self._y_bounds(y))
        scaling, price = Scaling(here.bounds, self.fit_intercept), price_of(self.epsilon, self.delta, here)
        length = self._length(scaling.width, price, whole=False, choices=here.choices)
        weight = read(penalty, "alpha")
        weights = RowWeights(price, here.most_weight)
        weight /= weights.greatest
        plan = planned(solver, loss, scaling, price, length, weight, here.people, steps=steps)
        if solver == "auto" and isinstance(plan, Descent) and steps is None:
            plan = self._drawn_once(plan, here) or plan

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            y_scaled = (numbers(targets) - middle) / half
            values, shares, _ = weights.draw(values, y_scaled, entropy)
            self._keep(plan.draw(values, y_scaled, entropy, shares), scaling, half, middle)
            self._tell(plan)

        return Work(plan.guarantee, draw)

    def _drawn_once(self, plan: Descent, here: Circumstances) -> ObjectivePerturbation | None:
        """The least point of squares by one pure draw, where its ridge is light: a descent with a delta ends before it.

        In a budget of rho a pure draw costs many times as much, and a clip is of another length: there is none.
        """
        fits = isinstance(plan.loss, losses.HuberLoss) and plan.penalty > 0 and plan.scaling.width <= MOST
        if not fits or not plan.price.delta or self.clip is not None or plan.price.currency == "zcdp":
            return None
        price = replace(plan.price, delta=Fraction(0))
        length = self._length(plan.scaling.width, price, whole=False, choices=here.choices)
        once = ObjectivePerturbation(plan.loss, plan.scaling, price, length, plan.penalty, here.people)
        return once if once.light else None


def _middle(bounds: Bound) -> tuple[float, float]:
    low, high = bounds
    if not low < high:
        raise PublicParameterError("y needs public bounds low < high")
    return float(low + high) / 2, float(high - low) / 2


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(Regressor):
    """Least squares with intervals, by noisy sums of products; or a robust regression.

    The engine is that of ``rt.regress``: sums are told by cells, with far less noise, for few columns. A coefficient
    hidden by the noise has no interval, and a ridge shrinks the line as a whole. If the noise hides all of them, the
    mean of y is left: at once, where a public number of rows is too small. Of three columns or more, where public
    numbers say that intervals would cost a prediction more than 1/50 of the variance of y, none are bought. A category
    of a study is told from its first key, which has a 0. With a delta the noise of the smaller predicted error is
    drawn: of few columns that spends no delta, but in a ledger of rho.

    Parameters
    ----------
    method : str
        "least_squares", or one of the other methods of ``rt.regress``: "theil_sen", "tukey", "block_medians", "R_S",
        "R_H", "adassp" (at most eight coefficients; may give no reply, then ``outcome_`` is NoReply() and there are no
        coefficients). "robust" is "R_H" with a delta, else "theil_sen" for one column and "tukey" for more. The robust
        ones need a public number of rows.
    reference : sequence of keys
        Of categories of a handle, in place of their first keys.

    Attributes
    ----------
    coef_, intercept_ : array of shape (columns,), float
    estimates_ : tuple of Estimate
        Intercept first, with 95 % intervals that include the noise. Where the line is shrunk, ``coef_`` are its
        coefficients, and each interval holds its coefficient and that of the line without a ridge.
    estimand_ : str
        The line that is estimated, in words.
    guarantee_ : Guarantee
    """

    method: Method = "least_squares"
    reference: Sequence[Key] = ()

    _counts = True

    def _of_row(self, columns: int, y: object) -> tuple[float, int]:
        return 0.5e-6, 350 if self.method == "least_squares" else 440  # of errors; of slopes

    def _work(self, here: Circumstances, y: object) -> Work:
        bounds, price = self._y_bounds(y), price_of(self.epsilon, self.delta, here)
        if self.method == "least_squares":
            return self._least_squares(here, bounds, price)
        return self._robust(here, bounds, price)

    def _least_squares(self, here: Circumstances, bounds: Bound, price: Price) -> Work:
        from reticent.learning.fit.designs import coefficients, design
        from reticent.statistics.regression.engine import engine
        from reticent.statistics.regression.prediction import PlainSquares
        from reticent.statistics.regression.squares_step import Squares

        _middle(bounds)
        made = design(here, bounds, tuple(self.reference), intercept=self.fit_intercept)
        clip = None if self.clip is None else read(self.clip, "clip")
        known = here.known is not None
        plan = engine(made.frame, price, here.people, complete=known, clip=clip, worth=WORTH, supposed=here.supposed)

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            found = plan.draw(made.placed(values), numbers(targets), entropy)
            self._found(found.values, found.estimates, made.features)
            self.note_ = PREDICTS if isinstance(plan, PlainSquares) else HIDDEN if None in found.estimates else ""
            self.estimand_ = f"{SQUARES}{plan.errors}{kept_rows(here, price)}"
            self.outcome_: Outcome[None] = Reply(None)
            if plan.noise_of_rows is not None:
                self._lacking(found.n, plan.noise_of_rows, here)

        return Work(
            plan.guarantee, draw, plan.noise_of_rows is not None, Squares(plan, (), coefficients(made, here)).expected
        )

    def _found(self, values: Floats, estimates: Sequence[Estimate | None], features: Sequence[int | None]) -> None:
        """Coefficients of all columns, every one of the same line; the reference of a category has 0.

        Where the line is shrunk, an interval is for the one that is not: it is made to hold both.
        """
        told = [told_about(float(value), one) for value, one in zip(values, estimates, strict=True)]
        none, first = Estimate(0.0, 0.0, 0.0, 0.0, 0.0), int(self.fit_intercept)
        by_column = [none if place is None else told[first + place] for place in features]
        self.estimates_ = (told[0] if self.fit_intercept else none, *by_column)
        coef = np.array([one.value for one in self.estimates_])
        self._coef, self._start = coef[None, 1:], coef[:1]

    def _robust(self, here: Circumstances, bounds: Bound, price: Price) -> Work:
        from reticent.statistics.regression.plans import plan
        from reticent.statistics.unbounded.column_counts import ColumnTerms

        method, size = self._method(len(here.bounds)), here.people
        if self.reference:
            raise PublicParameterError('reference is for method="least_squares"')
        if size is None and method == "adassp":
            size = ANY_N  # its sums ask for none
        if size is None:
            raise PublicParameterError(
                f'method="{method}" needs a public number of rows: people=…, for handles that of their study. '
                "study.release([rt.regress(…)], …) buys a noisy one. Nothing was charged."
            )
        public = size if price.neighbours.kind == "substitute" and price.neighbours.rows == 1 else None
        chosen = plan(
            method,
            columns=("y", tuple(f"x{i}" for i in range(len(here.bounds)))),
            terms=ColumnTerms(price.neighbours, public),
            epsilon=price.epsilon,
            delta=price.delta,
            n=size,
            bounds=(bounds, *here.bounds),
            intercept=self.fit_intercept,
        )
        units = np.array([float(unit) for unit in chosen.design.units])

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            found = chosen.draw(_records(values, numbers(targets), units), entropy)
            self.outcome_ = NO_REPLY
            if isinstance(found, Reply):
                self._from(found.value)
                self.estimand_ = chosen.estimand

        return Work(chosen.guarantee, draw)

    def _method(self, columns: int) -> OfRegression:
        """The robust method meant."""
        match self.method:
            case "robust":
                return robust_regression(columns, intercept=self.fit_intercept, delta=bool(read(self.delta, "delta")))
            case "theil_sen" | "tukey" | "block_medians" | "R_S" | "R_H" | "adassp":
                return self.method
            case other:
                raise PublicParameterError(f"method is one of {', '.join(get_args(Method))}, got {other!r}")

    def _from(self, found: Coefficients) -> None:
        none = (Estimate(0.0, 0.0, 0.0, 0.0, 0.0),)
        self.estimates_ = found.estimates if self.fit_intercept else none + found.estimates
        values = np.array([estimate.value for estimate in self.estimates_])
        self._coef, self._start = values[None, 1:], values[:1]
        self.outcome_ = Reply(None)


def _records(values: Floats, targets: Floats, units: Floats) -> NDArray[np.int64]:
    """Rows as the robust regressions take them: y first, floor(x / unit); a row that lacks a value is marked."""
    both = np.column_stack([targets, values])
    there = np.asarray(np.isfinite(both).all(axis=1), np.bool_)
    steps = np.floor(np.clip(np.where(there[:, None], both, 0.0) / units, -(2.0**61), 2.0**61)).astype(np.int64)
    steps[~there, 0] = ABSENT
    return np.asarray(steps)


@dataclass(kw_only=True, eq=False, repr=False)
class HuberRegressor(LossModel, Regressor):
    """Regression whose loss is linear beyond ``cut`` half-widths of y, by objective perturbation or noisy gradients.

    Parameters
    ----------
    cut : number
        Where a residual begins to count less, as a share of half the range of y; in (0, 2].
    alpha : number
        Penalty: half of alpha times the squared length of the scaled coefficients, against the sum of losses.
    steps : int, optional
        Of the descent.
    solver : "auto", "descent", "objective" or "output"
        Noisy gradients; or the least point, of a perturbed objective (pure) or with noise on it. With a delta "auto"
        takes one pure draw, and leaves the delta, if public numbers say that its ridge is light. It never does so in a
        budget of rho, nor with ``clip``.
    """

    cut: Number = "0.1"
    alpha: Number = 1
    steps: int | None = None
    solver: Solver = "auto"

    def _work(self, here: Circumstances, y: object) -> Work:
        return self._planned(here, y, losses.HuberLoss(read(self.cut, "cut")), self.alpha, self.steps, self.solver)


@dataclass(kw_only=True, eq=False, repr=False)
class QuantileRegressor(LossModel, Regressor):
    """Regression of a quantile, by noisy gradient descent of a smoothed check function.

    Parameters
    ----------
    quantile : number
        In (0, 1).
    bend : number
        Half-width of the smoothed kink, as a share of half the range of y.
    alpha : number
        Penalty: half of alpha times the squared length of the scaled coefficients, against the sum of losses.
    steps : int, optional
        Of the descent; by default a public rule.
    solver : "auto", "descent", "objective" or "output"
        Noisy gradients; or the least point, of a perturbed objective (pure) or with noise on it.
    """

    quantile: Number = "0.5"
    bend: Number = "0.05"
    alpha: Number = 1
    steps: int | None = None
    solver: Solver = "auto"

    def _work(self, here: Circumstances, y: object) -> Work:
        loss = losses.CheckLoss(read(self.quantile, "quantile"), read(self.bend, "bend"))
        return self._planned(here, y, loss, self.alpha, self.steps, self.solver)


__all__ = [
    "HuberRegressor",
    "LinearModel",
    "LossModel",
    "LinearRegression",
    "QuantileRegressor",
    "Regressor",
    "bias_words",
    "enough",
    "enough_words",
    "numbers",
    "refined",
]
