"""Linear classifiers for scikit-learn's users.

    LogisticRegression     the logistic loss, by objective perturbation or noisy gradients; intervals by a curvature
    LinearSVC              the same of the smoothed hinge

Bounds of X, the classes and the longest row are public; no label is taken from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.learning.fit.array_check import plain
from reticent.learning.fit.estimator import Estimator, Work
from reticent.learning.fit.fit_release import Circumstances, price_of
from reticent.learning.fit.handles import Handle
from reticent.learning.fit.linear_model import (
    NARROWER,
    NONE_BOUGHT,
    LossModel,
    bias_words,
    enough,
    enough_words,
    refined,
    told,
)
from reticent.learning.fit.odd_rows import FitOddShare
from reticent.learning.fit.scoring import ScoreQuestion, Scoring, accuracy, of_labels
from reticent.learning.fit.weights import ClassWeight, RowWeights
from reticent.learning.linear import kept_rows
from reticent.privacy.numbers import Number, read, two_digits
from reticent.statistics.convex import losses
from reticent.statistics.convex.descent import UNWEIGHED
from reticent.statistics.convex.objective_perturbation import Fit, Solver, planned
from reticent.statistics.scaling import Floats, Integers, Scaling, filled, weighed

MOST_LABEL: Final = 1 << 53  # beyond it a frame with one missing value, read as doubles, mixes labels up
PENALISED: Final = "coefficients of least penalised loss, every number cut to its bounds and every row to the clip"
UNPENALISED: Final = (
    "; intervals are for those without a penalty, and suppose that the chances of the classes follow the model: where "
    "they do not, intervals may be too narrow"
)
FEW: Final = 12  # columns up to which intervals are bought by default


@dataclass(kw_only=True, eq=False, repr=False)
class Classifier(Estimator):
    """Classifier with public labels: the base of all classifiers.

    Parameters
    ----------
    classes : sequence
        The labels there can be, two or more, public. A row with any other label is incomplete and does not count.
    score_epsilon : number, optional
        What a score of private rows costs where ``score`` is not told: for ``cross_val_score``.
    complete : bool
        As for every estimator, and that every label is one of ``classes``: any other counts as the first of them.

    Attributes
    ----------
    incomplete_rows_ : Outcome of Estimate
        As for every estimator: the share of rows that lack a value, or a label that is one of ``classes``.
    """

    classes: Sequence[object] | None = None
    score_epsilon: Number | None = None

    _estimator_type = "classifier"

    def predict(self, X: object) -> NDArray[np.generic]:
        """The likeliest class of every row the caller holds."""
        return self._labelled(self._rows(X))

    def score(
        self,
        X: object,
        y: object,
        *,
        epsilon: Number | None = None,
    ) -> float:
        """The share of right labels: of public rows free, of private rows charged ``epsilon``.

        Parameters
        ----------
        X : array of shape (n, columns), or handle of a study
            Features in their own units.
        y : array of shape (n,), or handle of a study
            Labels.
        epsilon : number, optional
            Price of a score of private rows; by default ``score_epsilon``. Public rows cost nothing.

        Returns
        -------
        float
            A share in [0, 1].
        """
        asked = ScoreQuestion(self, X, y, self.score_epsilon if epsilon is None else epsilon)
        return accuracy(asked, self._labelled)

    def _scoring(self, y: object) -> Scoring:
        return of_labels(self._labelled)

    def _missed(self, y: object) -> tuple[int, Callable[[Floats, NDArray[np.generic]], Integers]]:
        """The most that a row can add to the errors a search counts, and these errors row by row: wrong labels."""

        def wrong(values: Floats, targets: NDArray[np.generic]) -> Integers:
            there = np.asarray(np.isfinite(values).all(axis=1), np.bool_)
            labelled = self._labelled(filled(values, there))
            return np.asarray(there & np.asarray(labelled != targets, np.bool_), np.int64)

        return 1, wrong

    def _planned_with(self, here: Circumstances, y: object) -> tuple[Work, FitOddShare]:
        """The fit, and the share of incomplete rows beside it."""
        beside = self._odd(here, y, price_of(self.epsilon, self.delta, here).epsilon)
        return self._work(replace(here, aside=beside.share), y), beside

    def _odd(self, here: Circumstances, y: object, epsilon: Fraction) -> FitOddShare:
        """The share of incomplete rows for a part of ``epsilon``, or for none where it is known without."""
        vouched = here.complete or (isinstance(y, Handle) and y.shelf.vouched(y.columns[0]))
        known = here.complete or (self._counts and here.exact is not None)
        return FitOddShare.of(here, epsilon, self._labels(y), vouched=vouched, known=known)

    def _labelled(self, rows: Floats) -> NDArray[np.generic]:
        raise TypeError("a classifier says how rows are labelled")

    def _labels(self, y: object) -> NDArray[np.generic]:
        """The declared classes, in order."""
        if self.classes is not None:
            found = np.array(sorted(declared(self.classes), key=_order))
        elif isinstance(y, Handle):
            found = np.array(y.shelf.labels(y.columns[0]))
        else:
            raise PublicParameterError(
                "Name classes=[…]: the labels there can be. A label is never taken from the rows. Nothing was charged."
            )
        if len(found) < 2:
            raise PublicParameterError("a classifier needs two classes or more")
        return found


def declared(classes: Iterable[object]) -> set[object]:
    """Labels whose comparisons run no code of the caller's: they are compared with private ones.

    Raises
    ------
    PublicParameterError
        For other objects, numbers among texts, and whole numbers that a table of doubles cannot tell apart.
    """
    found = [plain(label) for label in classes]
    numbers = [label for label in found if isinstance(label, int | float | Fraction)]
    kinds = {int if isinstance(label, int | float | Fraction) else type(label) for label in found}
    if None in found or len(kinds) > 1:
        raise PublicParameterError("classes are all numbers, or all texts. Nothing was charged.")
    if any(not -MOST_LABEL <= label <= MOST_LABEL for label in numbers):
        raise PublicParameterError("classes that are numbers are at most 2^53 in size. Nothing was charged.")
    return set(found)


def _order(label: object) -> tuple[str, object]:
    return ("", label) if isinstance(label, int | float | np.number) else (type(label).__name__, label)


def indices(targets: NDArray[np.generic] | None, labels: NDArray[np.generic]) -> Floats:
    """The place of every label among the declared ones; NaN for any other."""
    assert targets is not None
    found = np.full(len(targets), np.nan)
    for place, label in enumerate(labels.tolist()):
        found[np.asarray(targets == label, dtype=bool)] = place
    return found


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(LossModel, Classifier):
    """Linear classifiers: ``C`` weighs the sum of losses against half the squared length, as in scikit-learn.

    Parameters
    ----------
    C : number
        > 0, public.
    steps : int, optional
        Of the descent; by default a public rule.
    solver : "auto", "descent", "objective" or "output"
        Noisy gradients; or the least point, of a perturbed objective (pure) or with noise on it. "auto" perturbs the
        objective where there is no delta and neither intervals nor ``steps`` are asked for. A least point pays the
        penalty for its intercept too.
    class_weight : mapping of labels to numbers, or "balanced", optional
        Public weights of the losses by class, > 0. "balanced" buys noisy numbers of rows by class for a twentieth of
        the price. A class then weighs the number of the rarest class over its own, so that ``C`` is for the rarest.
        Weights, these or ``sample_weight``, go without intervals.

    Attributes
    ----------
    ridge_ : float
        What stood in the place of 1 / C: more, where epsilon could not pay for so flat an objective.
    estimand_ : str
        What the coefficients estimate.
    class_weight_ : array of shape (classes,)
        With "balanced": the weights, of noisy numbers.
    """

    C: Number = 1
    steps: int | None = None
    solver: Solver = "auto"
    class_weight: ClassWeight = None

    def _of_row(self, columns: int, y: object) -> tuple[float, int]:
        classes = len(self._labels(y))
        return (6e-6, 0) if classes < 3 else (3e-6 * classes, 180 * classes)  # a loss of each class

    def decision_function(self, X: object) -> Floats:
        """Scores, of shape (n,) for two classes and (n, classes) for more."""
        found = weighed(self._rows(X), self.coef_, self.intercept_)
        return np.asarray(found[:, 0] if found.shape[1] == 1 else found)

    @property
    def coef_(self) -> Floats:
        """Coefficients of shape (1, columns) for two classes, (classes, columns) for more."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("this model is not fitted yet")
        return self._coef

    @property
    def intercept_(self) -> Floats:
        if not self.__sklearn_is_fitted__():
            raise AttributeError("this model is not fitted yet")
        return self._start

    def _labelled(self, rows: Floats) -> NDArray[np.generic]:
        scores = weighed(rows, self._coef, self._start)
        place = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[place])

    def _planned(
        self,
        here: Circumstances,
        y: object,
        loss: Callable[[int], losses.Loss],
        refined: Callable[[int, int, bool], bool],
    ) -> Work:
        labels = self._labels(y)
        scaling, price = Scaling(here.bounds, self.fit_intercept), price_of(self.epsilon, self.delta, here)
        weight = read(self.C, "C")
        if weight <= 0:
            raise PublicParameterError("C must be > 0")
        weights = RowWeights.of(price, here.most_weight, self.class_weight, labels)
        likely = not weights.used and here.supposed * price.epsilon >= enough(scaling.width, price)
        bought = refined(len(labels), scaling.width, likely)
        if bought and weights.used:
            raise QuestionError(f"{UNWEIGHED}. Nothing was charged.")
        plan: Fit = planned(
            self.solver,
            loss(len(labels)),
            scaling,
            weights.left,
            self._length(scaling.width, price, bought, here.choices),
            1 / (weight * weights.greatest),
            here.people,
            steps=self.steps,
            refined=bought,
        )

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            places = indices(targets, labels)
            values, shares, balanced = weights.draw(values, places, entropy)
            self._keep(plan.draw(values, places, entropy, shares), scaling)
            self._tell(plan)
            self.classes_ = labels
            if balanced is not None:
                self.class_weight_ = balanced
            self.estimand_ = (
                f"{PENALISED}{', rows by their weights' if weights.used else ''}{kept_rows(here, price)}"
                f"{UNPENALISED if any(told(self.estimates_[int(not self.fit_intercept) :])) else ''}"
            )

        return Work(weights.whole(plan), draw)


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(LinearClassifier):
    """Logistic regression by objective perturbation or noisy gradient descent; for two classes with intervals.

    Parameters
    ----------
    intervals : "auto", "yes" or "no"
        True if three tenths of epsilon (half if rows are few) buy a curvature. It gives 95 % intervals for the
        population's coefficients without a penalty. With a delta or ``solver="descent"`` the share is three tenths of
        the price, and as much for one more gradient. "yes" goes with every ``solver`` but "output". "auto" buys them
        for two classes, at most 12 coefficients and enough rows unless "objective" or "output" is named. Enough for d
        coefficients with the intercept are epsilon times rows of 50 d (d + 1), times the cap on rows of a person, and
        twice that under substitution. Where no number of rows is public, the rule supposes as many as a plan does. That
        many tell coefficients of columns that vary independently over their bounds. Columns that go together, or keep
        to a part of their bounds, need more. ``summary()`` says why there are none, and has a dash where the noise
        hides one.

    Attributes
    ----------
    coef_, intercept_, classes_ : arrays
    estimates_ : tuple of Estimate
        For two classes: intercept first; ends are NaN without intervals.
    guarantee_ : Guarantee
    """

    intervals: Literal["auto", "yes", "no"] = "auto"

    def _work(self, here: Circumstances, y: object) -> Work:
        return self._planned(here, y, losses.Logistic, self._bought)

    def _bought(self, classes: int, width: int, likely: bool) -> bool:
        """Tell if intervals are bought; ``likely``: public numbers say that noise does not hide them."""
        match self.intervals:
            case "yes":
                if classes > 2:
                    raise QuestionError("intervals are known for two classes")
                return True
            case "no":
                return False
            case "auto":
                return classes == 2 and width <= FEW and likely and self.solver in ("auto", "descent")
            case other:
                raise PublicParameterError(f'intervals is "auto", "yes" or "no", got {other!r}')

    def interval_rows(self, here: Circumstances, y: object) -> int | None:
        """Rows from which noise hides no interval, where the deviations of columns are 1/8 of their bounds.

        Parameters
        ----------
        here : Circumstances
            Public ones of the fit.
        y : handle or array
            Its labels are read from the declaration alone.

        Returns
        -------
        int or None
            None where intervals are not to be had, however many rows there are.
        """
        width, classes = Scaling(here.bounds, self.fit_intercept).width, len(self._labels(y))
        if self._weighed or classes > 2 or not self._bought(classes, width, likely=True):
            return None
        price = price_of(self.epsilon, self.delta, here)
        return two_digits(int(NARROWER * enough(width, price) / price.epsilon))

    def _tell(self, plan: Fit) -> None:
        super()._tell(plan)
        few = (
            not self._weighed
            and plan.loss == losses.Logistic(2)
            and plan.scaling.width <= FEW
            and self.solver in ("auto", "descent")
        )
        if self.intervals == "auto" and few and not refined(plan):
            self.note_ = (
                f"{NONE_BOUGHT}, as noise would hide them and they would cost accuracy; {bias_words(self.ridge_)}; "
                f'{enough_words(plan)}; intervals="yes" buys them all the same'
            )

    def predict_proba(self, X: object) -> Floats:
        """Chances of the classes, of shape (n, classes)."""
        return losses.chances(weighed(self._rows(X), self.coef_, self.intercept_))

    def predict_log_proba(self, X: object) -> Floats:
        """Logarithms of the chances."""
        return np.asarray(np.log(self.predict_proba(X)))


@dataclass(kw_only=True, eq=False, repr=False)
class LinearSVC(LinearClassifier):
    """A linear support vector machine: a smoothed hinge, by objective perturbation or noisy gradient descent.

    Parameters
    ----------
    bend : number
        Half-width of the smoothed kink of the hinge; > 0.
    """

    bend: Number = "0.5"

    def _work(self, here: Circumstances, y: object) -> Work:
        bend = read(self.bend, "bend")
        return self._planned(here, y, lambda classes: losses.Hinge(classes, bend), lambda *_: False)


__all__ = ["Classifier", "LinearSVC", "LogisticRegression", "indices"]
