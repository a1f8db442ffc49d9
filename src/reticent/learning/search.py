"""A grid search that reserves once and selects privately.

    trained    every candidate of the grid on the rows whose coin fell on "train"    half of the price, shared equally
    chosen     one by the exponential mechanism, by the errors on the other rows    1/10
    refitted   the one chosen, on all rows                                               2/5

All three look at the same rows, so their losses add up. Of the refits one is run, named by the choice, which is paid
for: they cost the maximum of all refits in every currency (``one_of``), since the dearest in epsilon need not be the
dearest in rho. Coins are those of ``folds``, one for each person: by default those on one fold of four test. With
``cv=folds(5)`` every candidate is fitted in all folds, of which a person is in all but one, and tested on all rows. A
row is tested once, so the count of wrong labels moves by at most one for each of a neighbour's rows. Squared errors
are cut to public bounds and put into steps; their sum moves by the steps of one.
Source: McSherry and Talwar 2007 for the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.makers import Statement
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.exact.rounding import round_down
from reticent.learning.classifiers import Classifier
from reticent.learning.fit.estimator import (
    APART,
    Estimator,
    PriceRefusal,
    Work,
    not_fitted,
    refuse_prices,
    refusing_options,
    same_as,
    tags_of,
    worded,
)
from reticent.learning.fit.fit_release import ONE, Circumstances, bought, default_words, price_of
from reticent.learning.fit.odd_rows import FitOddShare
from reticent.learning.fit.parameter_check import check_parameters
from reticent.learning.fit.serialization import shown
from reticent.learning.fit.summaries import page, prose
from reticent.learning.fold_coins import Deal, persons_named
from reticent.learning.folds import Folds, of_person
from reticent.learning.linear import Regressor
from reticent.learning.made_up_fits import expected
from reticent.learning.transformers import unpacked
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.privacy import compose
from reticent.privacy.explain import sentence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number, show
from reticent.privacy.sensitivity import Linf
from reticent.statistics.context import ALWAYS, ExpectedAccuracy
from reticent.statistics.price import Price
from reticent.statistics.scaling import Floats, Integers

if TYPE_CHECKING:
    from sklearn.utils import Tags

TRAINED: Final = Fraction(1, 2)
CHOSEN: Final = Fraction(1, 10)
REFITTED: Final = Fraction(2, 5)
TESTS: Final = 4  # one row in so many is for the scores
MOST: Final = 1000
SHOWN: Final = 4  # candidates whose made-up scores a plan tells
Named: TypeAlias = dict[str, object]
M = TypeVar("M", bound=Estimator)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SearchPlan:
    """A search before a row is read: candidates in rounds, the choice among them, and the refits that it is among."""

    here: Circumstances
    guarantee: Guarantee
    beside: FitOddShare
    deal: Deal
    tried: tuple[Round, ...]
    choice: Exponential
    last: tuple[Classifier | Regressor, ...]
    refits: tuple[Work, ...]


@dataclass(kw_only=True, eq=False, repr=False)
class GridSearchCV(PriceRefusal):
    """The candidate of a grid with the least errors, selected privately, refitted on all rows: one reservation.

    Errors are wrong labels, or of a regression squared errors within the bounds of y.

    Parameters
    ----------
    estimator : classifier or regressor of this package
        Or a scikit-learn pipeline of ``Clip`` and one of them.
    param_grid : mapping of name to values
        Public; every combination is a candidate. In a pipeline names begin with that of its last step, ``step__name``.
    epsilon : number
        Of the whole search, refit included.
    delta : number
        Where the estimator's noise is Gaussian; shared as epsilon is.
    cv : Folds, optional
        ``folds(5)``: every candidate is fitted to all folds but one, each time with a fourth of its share, and scored
        on all rows. By default the persons whose coin falls on one of four test, and all others train.

    Attributes
    ----------
    best_params_, best_index_ : dict, int
    best_estimator_ : the estimator refitted on all rows, in its pipeline if it came in one
    cv_results_ : dict
        The candidates alone, as scikit-learn lists them: scores are private, and none is told.
    guarantee_ : Guarantee
    certificate_ : Certificate
        Of the whole search: the candidates, the choice and the numbers of the refit. ``best_estimator_`` has the same.

    Guarantee
    ---------
    Training, choice and refit in sequence; one entry in the ledger, made before any row is read.
    """

    estimator: object = field(kw_only=False)
    param_grid: Mapping[str, Sequence[object]] = field(kw_only=False)
    epsilon: Number = ONE
    delta: Number = 0
    cv: Folds | None = None

    @property
    def _estimator_type(self) -> object:
        return getattr(self._last, "_estimator_type", None)

    @property
    def _steps(self) -> list[tuple[str, object]]:
        """The steps of a pipeline; a model's own parameter of that name is a number."""
        return [] if isinstance(self.estimator, Estimator) else list(getattr(self.estimator, "steps", []))

    @property
    def _last(self) -> object:
        """The estimator, or the last step of its pipeline."""
        steps = self._steps
        return steps[-1][1] if steps else self.estimator

    def __sklearn_tags__(self) -> Tags:
        return tags_of(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in vars(self)

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The parameters by name; ``deep`` adds those of the estimator, as ``estimator__name``."""
        own = {name: getattr(self, name) for name in ("estimator", "param_grid", "epsilon", "delta", "cv")}
        inner = getattr(self.estimator, "get_params", None) if deep else None
        return own | ({f"estimator__{name}": value for name, value in inner().items()} if inner else {})

    def set_params(self, **params: object) -> GridSearchCV:
        """Set parameters by name."""
        for name, value in params.items():
            head, _, tail = name.partition("__")
            if head == "estimator" and tail and hasattr(self.estimator, "set_params"):
                self.estimator.set_params(**{tail: value})
                continue
            if name not in self.get_params():
                refuse_prices("GridSearchCV", [name])
                raise ValueError(f"Invalid parameter {name!r} for estimator GridSearchCV.")
            setattr(self, name, value)
        return self

    def summary(self) -> str:
        """Summary of the search.

        It has the choice and the number of candidates, then the summary of the refit and the guarantee of the whole.
        """
        best = self._best()
        assert isinstance(best, Estimator)
        chosen = ", ".join(f"{name}={worded(value)}" for name, value in self.best_params_.items())
        whole = sentence(self.guarantee_.loss, self.guarantee_.adjacency)
        choice = prose(f"{chosen}, chosen privately among {len(self.candidates())}")
        return "\n".join([choice, best.summary(), prose(f"The whole search: {whole}")])

    def card(self) -> str:
        """The model card of the refit, which says that a search chose it."""
        best = self._best()
        assert isinstance(best, Estimator)
        return best.card()

    def __repr__(self) -> str:
        rest = f", delta={self.delta!r}" if self.delta else ""
        rest += f", cv={self.cv!r}" if self.cv is not None else ""
        grid = ", ".join(f"{name!r}: [{', '.join(map(worded, tried))}]" for name, tried in self.param_grid.items())
        return f"GridSearchCV({self.estimator!r}, {{{grid}}}, epsilon={self.epsilon!r}{rest})"

    def _repr_html_(self) -> str:
        return page(f"{self!r}\n\n{self.summary()}" if "best_estimator_" in vars(self) else repr(self))

    def __copy__(self) -> GridSearchCV:
        return same_as(self, vars(self))

    def __deepcopy__(self, memo: dict[int, object]) -> GridSearchCV:
        return same_as(self, deepcopy(vars(self), memo))

    def __getstate__(self) -> dict[str, object]:
        """For a pickle, as of an estimator: what was fitted is kept without the way to a ledger."""
        if "best_estimator_" not in vars(self):
            return vars(self)
        bare = copy(self._last).set_params(ledger=None, study=None)  # type: ignore[attr-defined]  # a fit has asked
        return {**vars(self), "estimator": self._piped(self._steps[:-1], bare)}

    def _piped(self, before: list[tuple[str, object]], last: object) -> object:
        """An estimator in a pipeline like the one that was given; by itself where there was none."""
        steps = self._steps
        return type(self.estimator)([*before, (steps[-1][0], last)]) if steps else last  # type: ignore[call-arg]

    def candidates(self) -> list[dict[str, object]]:
        """Every combination of the grid."""
        names = list(self.param_grid)
        found = [dict(zip(names, values, strict=True)) for values in product(*self.param_grid.values())]
        if not found or len(found) > MOST:
            raise PublicParameterError(f"a grid has 1 to {MOST} candidates, got {len(found)}")
        return found

    @refusing_options
    def fit(self, X: object, y: object, groups: object = None) -> GridSearchCV:
        """Charge once, try every candidate, choose, refit; returns the search.

        ``groups`` is the person of each row of an array, where ``rows_each`` is above 1; ``cv=`` asks for it there.

        Parameters
        ----------
        X : array of shape (n, columns), frame or handle
            The rows, private unless wrapped by ``public``.
        y : array of shape (n,) or handle
            The targets.
        groups : array of shape (n,), optional
            The person of each row.

        Returns
        -------
        GridSearchCV
            This search, fitted.

        Raises
        ------
        Refusal
            Before any row is read; nothing was charged.
        Fault
            After the charge.
        """
        model, clips, x = unpacked(self.estimator, X, "GridSearchCV")
        plan = self._planned(model, x, y, groups)
        here, beside, last = plan.here, plan.beside, plan.last
        beside.announce()

        def draw(entropy: Entropy) -> tuple[int, Named]:
            values, given, owners = plan.deal.rows()
            targets, odd = beside.judged(values, given)
            assert targets is not None
            dealt = plan.deal.coins(owners, entropy)
            wrong = np.sum([one.errors(values, targets, dealt == one.fold, entropy) for one in plan.tried], axis=0)
            best = gate.draw(plan.choice, Candidates(wrong, np.ones(len(wrong), np.int64)), entropy)
            found = last[best]._drawn(plan.refits[best], values, targets, entropy)
            return best, {**found, **last[best]._left_by(beside.draw(odd, entropy))}

        tell = beside.telling(self._stating(model))
        seconds, room = last[0]._of_row_read(here, y)
        (best, _), made = bought(
            here,
            plan.guarantee,
            f"a grid search of {type(model).__name__}",
            draw,
            lambda drawn: tell({"best_params": self.candidates()[drawn[0]], "best_index": drawn[0], **drawn[1]}),
            of_row=(self.fits * seconds, room),
            purpose=model.purpose,
            who=model.who,
        )
        one = last[best]
        one._note(here, here.lifted(plan.refits[best].guarantee), made)
        grid = self.candidates()
        self.best_params_, self.best_index_ = grid[best], best
        self._clips, self._model = clips, one
        self.best_estimator_ = self._piped(list(clips), one)
        self.cv_results_ = {
            "params": grid,
            **{f"param_{name}": [params[name] for params in grid] for name in self.param_grid},
        }
        vars(self).pop("feature_names_in_", None)
        if "feature_names_in_" in vars(one):
            self.feature_names_in_ = one.feature_names_in_
        if isinstance(one, Classifier):
            self.classes_ = one._labels(y)
        self.guarantee_, self.certificate_, self.n_features_in_ = plan.guarantee, made, one.n_features_in_
        return self

    @property
    def fits(self) -> int:
        """Fits of the whole search: of each candidate in each fold, and of the chosen one to all rows."""
        folds = 1 if self.cv is None else self._folds().count
        return folds * len(list(self.candidates())) + 1

    def expect(self, X: object, y: object = None, *, people: int) -> tuple[Guarantee, ExpectedAccuracy]:
        """The guarantee of the whole search, and what a plan says of it: for ``study.model_plan``.

        Parameters
        ----------
        X, y : handle
            As for ``fit``; no row of them is read.
        people : int
            The number of persons to suppose.

        Returns
        -------
        (Guarantee, ExpectedAccuracy)
            The score of refits of each candidate to made-up rows.

        Raises
        ------
        Refusal
            As ``fit`` would be refused.
        """
        model, _, x = unpacked(self.estimator, X, "GridSearchCV")
        plan = self._planned(model, x, y, None)
        each = [expected(one, x, y, people, steps=1)[1] for one in plan.last[:SHOWN]]
        named = [", ".join(f"{name}={worded(value)}" for name, value in params.items()) for params in self.candidates()]
        told = [f"{params}: {one.note}" for params, one in zip(named, each, strict=False)]
        figures = tuple(
            (f"{params}: {name}", value)
            for params, one in zip(named, each, strict=False)
            for name, value in one.figures
        )
        more = len(plan.last) - len(told)
        told += [f"and {more} more"] if more else []
        head = f"one of {len(plan.last)} is chosen privately and refitted at {show(REFITTED)} of the price"
        lift = [] if plan.here.shelf is None else list(filter(None, [plan.here.shelf.lift_words]))
        note = "; ".join((head, *told, *plan.beside.sentences, *lift, *default_words(self.epsilon)))
        return plan.guarantee, ExpectedAccuracy(None, None, note, ALWAYS, figures=figures)

    def _planned(self, model: Estimator, x: object, y: object, groups: object) -> SearchPlan:
        """The search, understood and priced; no row is read."""
        assert isinstance(model, Classifier | Regressor)  # which alone are scored
        here, listed, cv = model._here(x, y), self._named(self.candidates()), self._folds()
        if self.cv is not None:
            persons_named(here, groups)
        beside = model._odd(here, y, price_of(self.epsilon, self.delta, here).epsilon)
        whole = price_of(self.epsilon, self.delta, replace(here, aside=beside.share))
        here = replace(here, steps=1)  # shares of that price are of one step already
        deal = Deal.of(here, cv, groups)
        rounds = [0] if self.cv is None else list(range(cv.count))
        among = len(listed) * max(1, len(rounds) - 1)
        with np.errstate(all="ignore"):
            tried = [Round.of(self, model, listed, whole, among, deal, fold, y) for fold in rounds]
            last = [self._made(model, params, whole.epsilon * REFITTED, whole.delta * REFITTED, 1) for params in listed]
            refits = [one._work(here, y) for one in last]
        most = Fraction(whole.neighbours.rows * model._missed(y)[0])
        choice = Exponential(Linf(most, whole.neighbours), _digits(whole.epsilon * CHOSEN))
        # Which refit is run follows from the choice, which is paid for; the price is the maximum in every currency.
        refit = compose.one_of([work.guarantee for work in refits], label="the refit of the one chosen")
        tries = [work.guarantee for work in tried[0].works]
        if self.cv is not None:
            tries = [of_person([one.guarantee for one in tried], [], f"candidates in {cv.count} folds")]
        share = [] if beside.odd is None else [beside.odd.mechanism.guarantee]
        guarantee = here.lifted(compose.in_sequence([*tries, choice.guarantee, *share, refit], label="a grid search"))
        return SearchPlan(here, guarantee, beside, deal, tuple(tried), choice, tuple(last), tuple(refits))

    def _named(self, listed: list[dict[str, object]]) -> list[dict[str, object]]:
        """The candidates by the names of the model's own parameters."""
        steps = self._steps
        if not steps:
            return listed
        head = f"{steps[-1][0]}__"
        for name in self.param_grid:
            if not name.startswith(head):
                raise QuestionError(f"in this pipeline a search is over parameters {head}…, got {name!r}")
        return [{name.removeprefix(head): value for name, value in params.items()} for params in listed]

    def _folds(self) -> Folds:
        """The folds named; else four, of which one tests."""
        given: object = self.cv
        if given is not None and not isinstance(given, Folds):
            number = given if isinstance(given, int) and given > 1 else 5
            raise PublicParameterError(f"name cv=folds({number}), or leave cv out. Nothing was charged.")
        return Folds(TESTS) if given is None else given

    @staticmethod
    def _made(model: M, params: Mapping[str, object], epsilon: Fraction, delta: Fraction, among: int) -> M:
        for name in ("epsilon", "delta", "ledger", "study", "adjacency", "bounds"):
            if name in params:
                raise QuestionError(f"{name} is not searched for: it is public and fixed")
        one = copy(model).set_params(**params)
        check_parameters(one)
        one._forget()
        return one.set_params(epsilon=_digits(epsilon / among), delta=delta / among)

    def _stating(self, model: Estimator) -> Callable[[Mapping[str, object]], Statement]:
        """Function that states the search for a certificate.

        It states the candidates, then the choice and the numbers of the refit.
        """
        inner = {name: value for name, value in model.get_params().items() if name not in APART}
        searched = {"estimator": inner, "param_grid": self.param_grid, "epsilon": self.epsilon, "delta": self.delta}
        searched |= {} if self.cv is None else {"folds": self.cv.count}
        name, public = type(model).__name__, shown(searched)
        unnamed = default_words(self.epsilon)
        return lambda found: Statement(name, "grid search", public, shown(found), unnamed)

    def predict(self, X: object) -> NDArray[np.generic]:
        """By the estimator chosen."""
        return np.asarray(self._asked("predict")(X))

    @property
    def predict_proba(self) -> Callable[[object], Floats]:
        """Chances of the classes by the estimator chosen, of shape (n, classes), where it has them."""
        return self._asked("predict_proba")

    @property
    def predict_log_proba(self) -> Callable[[object], Floats]:
        """Logarithms of the chances, where the estimator has them."""
        return self._asked("predict_log_proba")

    @property
    def decision_function(self) -> Callable[[object], Floats]:
        """Scores by the estimator chosen, where it has them."""
        return self._asked("decision_function")

    def _asked(self, method: str) -> Callable[[object], Floats]:
        """A method of the estimator chosen, for rows that its pipeline would move to their bounds.

        Raises
        ------
        AttributeError
            Where the estimator has no such method, fitted or not.
        """
        if not hasattr(type(self._last), method):
            raise AttributeError(f"{type(self._last).__name__} has no {method}")
        return lambda rows: getattr(self._best(), method)(self._clipped(rows))

    def _clipped(self, rows: object) -> object:
        for _, clip in vars(self).get("_clips", ()):  # 0.1.0 had none
            rows = clip.transform(rows)
        return rows

    def score(self, X: object, y: object, *, epsilon: Number | None = None) -> float:
        """By the estimator chosen; of private rows charged.

        Parameters
        ----------
        X : array of shape (n, columns), frame or handle
            The rows, private unless wrapped by ``public``.
        y : array of shape (n,) or handle
            The targets.
        epsilon : number, optional
            Price of the score of private rows; by default the estimator's ``score_epsilon``.

        Returns
        -------
        float
            Accuracy or R squared, with noise for private rows.
        """
        return self._best().score(self._clipped(X), y, epsilon=epsilon)

    def _best(self) -> Classifier | Regressor:
        if "best_estimator_" not in vars(self):
            raise not_fitted(self)
        found = vars(self).get("_model", self.best_estimator_)  # 0.1.0 pickled the second alone
        assert isinstance(found, Classifier | Regressor)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """Every candidate, fitted to the rows outside of one fold and tested on those within."""

    fold: int
    made: Sequence[Classifier | Regressor]
    wrong: Sequence[Callable[[Floats, NDArray[np.generic]], Integers]]
    works: Sequence[Work]

    @classmethod
    def of(
        cls,
        search: GridSearchCV,
        model: Classifier | Regressor,
        listed: Sequence[Mapping[str, object]],
        whole: Price,
        among: int,
        deal: Deal,
        fold: int,
        y: object,
    ) -> Round:
        """Understood and priced: each fit has one of ``among`` shares of what training costs.

        Parameters
        ----------
        search : GridSearchCV
            The search.
        model : Classifier or Regressor
            Estimator whose parameters are tried.
        listed : sequence of mapping of str to object
            Candidates, each a mapping of parameters.
        whole : Price
            Price of the whole search.
        among : int
            Number of fits that share the price.
        deal : Deal
            Deal of rows to folds.
        fold : int
            Fold that is held out.
        y : object
            Target as it was passed.

        Returns
        -------
        Round
            The round, with the price of each of its fits.
        """
        price = whole.epsilon * TRAINED, whole.delta * TRAINED
        made = [search._made(model, params, *price, among) for params in listed]
        counted = [one._missed(y)[1] for one in made]
        return cls(fold, made, counted, [one._work(deal.trained(fold), y) for one in made])

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([work.guarantee for work in self.works], label="every candidate")

    def errors(
        self, values: Floats, targets: NDArray[np.generic], test: NDArray[np.bool_], entropy: Entropy
    ) -> Integers:
        """Errors of each candidate on the test rows.

        Parameters
        ----------
        values : array of shape (n, columns), float
        targets : array of shape (n,)
        test : array of shape (n,), bool
            Rows that are scored.
        entropy : Entropy

        Returns
        -------
        array of shape (candidates,), int
            Exact sums.
        """
        found = []
        for one, work, wrong in zip(self.made, self.works, self.wrong, strict=True):
            work.draw(values[~test], targets[~test], entropy)
            one.guarantee_ = work.guarantee  # as of a fit, so that it predicts
            found.append(int(wrong(values[test], targets[test]).sum()))
        return np.array(found, np.int64)


def _digits(epsilon: Fraction) -> Fraction:
    """An epsilon rounded down to few digits, so that it reads well."""
    return round_down(epsilon, 9)


__all__ = ["GridSearchCV"]
