"""Base of linear models, regressions and classifiers alike: coefficients with their intervals, and words about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np

from reticent.learning.fit.estimator import Estimator, not_fitted, refusing_options
from reticent.learning.fit.summaries import coefficient_table, promise, prose
from reticent.learning.fit.weights import weighed_by
from reticent.outcome import NO_REPLY, Estimate
from reticent.privacy.numbers import Number, read, rough
from reticent.statistics.convex import losses
from reticent.statistics.convex.descent import Descent, LinearFit
from reticent.statistics.convex.intervals import AT_95, ScoreKnowledge
from reticent.statistics.convex.objective_perturbation import CurvaturePerturbation, Fit
from reticent.statistics.price import Price
from reticent.statistics.scaling import Floats, Scaling

HIDDEN: Final = (
    "a dash stands where the noise hides how far off a number may be, and a ridge may shrink the whole line. A larger "
    "ε, more rows or fewer columns would help"
)
HIDES: Final = "the noise hides how far off"
ENOUGH: Final = 50  # times d (d + 1): epsilon times rows from which eight or nine coefficients of ten are told
NARROWER: Final = 10  # times as many for deviations of 1/8 of the range, by simulation: a variance 3/16 of an even one
ANY_N: Final = 1 << 30
NONE_BOUGHT: Final = "no intervals were bought"
WEIGHED: Final = "their width is known only where all rows count alike, so they are told without weights"
USUAL: Final = Fraction(13, 20)  # of the longest row in the box: few rows of a real table reach further


@dataclass(kw_only=True, eq=False, repr=False)
class LinearModel(Estimator):
    """Linear model: the base of all linear models.

    Parameters
    ----------
    fit_intercept : bool
    clip : number, optional
        Length of the longest row after every column is divided by its half-width, the constant included: Euclidean
        with a delta, the sum of sizes without. Public; longer rows are shortened. By default what bounds allow, or
        13/20 of it where no intervals are bought.
    """

    fit_intercept: bool = True
    clip: Number | None = None

    def summary(self) -> str:
        """Every coefficient with its 95 % interval, noise included, why there is none, the estimand, the guarantee.

        Of more than two classes, the coefficients of each class, which have no intervals; of no reply, that.
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        promised = promise(self)
        if getattr(self, "outcome_", None) is NO_REPLY:
            return f"no reply\n{promised}"
        lines = coefficient_table(self._listed())
        note, classes = getattr(self, "note_", ""), [str(label) for label in getattr(self, "classes_", ())]
        said = [f"{note}."] if note else []
        if len(classes) == 2:
            said = [f"A positive coefficient makes {classes[1]} likelier, a negative one {classes[0]}.", *said]
        return "\n".join([*lines, *([prose(*said)] if said else []), promised])

    def _listed(self) -> list[tuple[str, Estimate]]:
        """Every coefficient by name: of each class in turn, where there are more than two."""
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        first = 0 if self.fit_intercept else 1
        if len(self._coef) == 1:
            return list(zip(["intercept", *names], self.estimates_, strict=True))[first:]
        return [
            (f"{label}: {name}", Estimate(float(value), *[np.nan] * 4))
            for label, start, slopes in zip(getattr(self, "classes_", ()), self._start, self._coef, strict=True)
            for name, value in list(zip(["intercept", *names], [start, *slopes], strict=True))[first:]
        ]

    def _length(self, width: int, price: Price, whole: bool = True, choices: tuple[int, int] = (0, 0)) -> Fraction:
        """The given clip; else the longest row there can be, or ``USUAL`` of it where no interval rests on the rows.

        ``choices``: so many of the ``width`` columns are keys of so many categories, and a row has one 1 for each of
        these, no more and no fewer.
        """
        if self.clip is not None:
            return read(self.clip, "clip")
        keys, categories = choices
        share = Fraction(1) if whole else USUAL
        if price.norm == "l1":
            return categories + share * (width - keys)
        return Fraction(int(np.ceil(np.sqrt(float(categories + share**2 * (width - keys))) * 1024)), 1024)

    def _keep(self, found: LinearFit, scaling: Scaling, times: float = 1.0, plus: float = 0.0) -> None:
        """Coefficients in units of the columns; ``times`` and ``plus`` lead back to units of y."""
        slopes, start = scaling.back(found.scaled)
        self.estimates_: tuple[Estimate, ...] = ()
        coef, intercept = slopes * times, start * times + plus
        if len(coef) == 1:
            self.estimates_ = _estimates(found, scaling, coef[0], float(intercept[0]), times)
        self._coef, self._start = coef, intercept

    @property
    def _weighed(self) -> bool:
        """True if rows do not count alike, by parameters that some models have."""
        return any(getattr(self, name, None) is not None for name in ("class_weight", "most_weight"))

    def _tell(self, plan: Fit) -> None:
        """State the public facts of a solution: its ridge, and a line of the summary if numbers have no intervals."""
        if isinstance(
            plan, Descent | CurvaturePerturbation
        ):  # of these a step of Newton's leads to the ridge asked for
            self.ridge_ = float(plan.penalty)
        else:
            self.ridge_ = float(plan.ridge)
        if refined(plan):
            found = told(self.estimates_[int(not self.fit_intercept) :])
            some = f"a dash stands where {HIDES} a number may be" if any(found) else f"no intervals: {HIDES} all may be"
            ridge = self.ridge_ if isinstance(plan, Descent) else float(plan.ridge)
            if not any(found):  # no step of Newton's was taken
                self.ridge_ = ridge
            pulled = bias_words(ridge, "these coefficients" if any(found) else "coefficients")
            self.note_ = "" if all(found) else f"{some}; {pulled}; {enough_words(plan)}"
        elif isinstance(plan, Descent):
            self.note_ = f"{NONE_BOUGHT}: {_instead(plan.loss, weighed=self._weighed)}"
        else:
            self.note_ = f"{plan.note}: {_instead(plan.loss, weighed=self._weighed)}"


def told(estimates: Sequence[Estimate]) -> list[bool]:
    """Mask of the coefficients that have an interval."""
    return [math.isfinite(found.noise) for found in estimates]


def refined(plan: Fit) -> bool:
    """Tell if a plan buys a curvature, for intervals."""
    return isinstance(plan, CurvaturePerturbation) or (isinstance(plan, Descent) and plan.refined)


def enough(width: int, price: Price) -> int:
    """Epsilon times rows from which most coefficients of even columns are told by a curvature.

    ``width`` is the number of coefficients. Of people who are replaced twice as much is needed.
    """
    return ENOUGH * width * (width + 1) * price.moves


def enough_words(plan: Fit) -> str:
    """From where on a curvature is told, in words; without a number that is public to be met."""
    needed, cap = enough(plan.scaling.width, plan.price), plan.price.neighbours.rows
    least = (
        f"intervals need ε times rows of about {needed:,} where columns vary evenly over their bounds, "
        f"of {rough(float(NARROWER * needed))} where their deviations are 1/8 of these"
        f"{f', at a cap of {cap} rows of a person' if cap > 1 else ''}; more where they go together"
    )
    if (plan.people or 0) * plan.price.epsilon >= NARROWER * needed:
        least = "columns that go together, or keep to a part of their bounds, need more of both than others"
    smaller = "a smaller cap if few people have as many rows, " if cap > 1 else ""
    return f"{least}: tighter bounds, fewer columns, {smaller}a larger ε or more rows would help"


def bias_words(ridge: float, which: str = "coefficients") -> str:
    """Coefficients whose interval is not told have the penalty in them, in words."""
    return f"a ridge of {ridge:.3g} pulls {which} towards 0, the more the fewer rows"


def _instead(loss: losses.Loss, *, weighed: bool) -> str:
    """The one thing to change for intervals."""
    if weighed:
        return WEIGHED
    if loss == losses.Logistic(2):
        return 'intervals="yes" and solver="auto" buy them'
    if losses.of_numbers(loss):
        return "LinearRegression has them"
    return "LogisticRegression of two classes has them"


def _estimates(
    found: LinearFit, scaling: Scaling, coef: Floats, intercept: float, times: float
) -> tuple[Estimate, ...]:
    """The intercept first (0 without one), each with its interval; without intervals their ends are NaN."""
    values, turn = [intercept, *coef.tolist()], scaling.turn * times
    if not scaling.intercept:
        turn = np.vstack([np.zeros(turn.shape[1]), turn])
    if found.around is not None:
        return tuple(_told(value, row, found.around) for value, row in zip(values, turn, strict=True))
    sampled = noisy = np.full(len(values), np.nan)
    if found.sampled is not None and found.noisy is not None:
        sampled, noisy = (np.einsum("ij,jk,ik->i", turn, of, turn) for of in (found.sampled, found.noisy))
    half, noise, sampling = (AT_95 * np.sqrt(np.maximum(v, 0.0)) for v in (sampled + noisy, noisy, sampled))
    return tuple(
        Estimate(v, v - float(h), v + float(h), float(a), float(b))
        for v, h, a, b in zip(values, half, noise, sampling, strict=True)
    )


def told_about(value: float, found: Estimate | None) -> Estimate:
    """A coefficient of a line with an interval that may be about another value; without one its ends are NaN."""
    if found is None:
        return Estimate(value, *[np.nan] * 4)
    return Estimate(value, min(found.low, value), max(found.high, value), found.noise, found.sampling)


def _told(value: float, row: Floats, around: ScoreKnowledge) -> Estimate:
    """A number with what is not refuted about it; its noise is what the half-width has beside sampling.

    The value has the ridge that was asked for, and the interval is for the one without: it is made to hold both.
    """
    if not row.any():  # of an intercept that there is not
        return Estimate(value, value, value, 0.0, 0.0)
    found = around.interval(row)
    if found is None:
        return Estimate(value, *[np.nan] * 4)
    low, high, sampling = found
    noise = np.sqrt(max(((high - low) / 2) ** 2 - sampling**2, 0.0))
    return told_about(value, Estimate(value, low, high, float(noise), sampling))


@dataclass(kw_only=True, eq=False, repr=False)
class LossModel(LinearModel):
    """Least point of a sum of losses, or a descent to it, whose rows may have weights: the base of all of these.

    Parameters
    ----------
    most_weight : number, optional
        The greatest ``sample_weight`` of a row, > 0, public: the loss of a row with that weight counts so many times.
    """

    most_weight: Number | None = None

    @refusing_options
    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Charge the ledger, read the rows, draw the noise; returns the estimator.

        Parameters
        ----------
        X : handle or array of shape (n, columns)
        y : handle or array of shape (n,)
        sample_weight : array of shape (n,), or str, optional
            The weight of every row in the sum of losses, private: it asks for ``most_weight``. With handles it is the
            name of a column of their study. A weight
            is cut to [0, most_weight]; a row whose weight is no number does not count.

        Returns
        -------
        LossModel
            This estimator, fitted.

        Raises
        ------
        Refusal
            Before any row is read; nothing was charged.
        Fault
            After the charge; the charge stays, and what an earlier fit found is forgotten.
        """
        here = self._here(X, y)
        if sample_weight is not None:
            here = weighed_by(here, sample_weight, self.most_weight, complete=self.complete)
        return self._fit(here, y)
