"""``Clip``, which charges nothing, and a grid search that reserves once and selects privately.

    trained    every candidate of the grid on the rows whose coin fell on "train"    half of the price, shared equally
    chosen     one by the exponential mechanism, by wrong labels among the other rows    1/10
    refitted   the one chosen, on all rows                                               2/5

All three look at the same rows, so their losses add up. Of the refits one is run, named by the choice, which is paid
for: they cost the maximum of all refits in every currency (``one_of``), since the dearest in epsilon need not be the
dearest in rho. Coins are those of ``folds``, one for each person: by default those on one fold of four test. With
``cv=folds(5)`` every candidate is fitted in all folds, of which a person is in all but one, and tested on all rows. A
row is tested once, so the count of wrong labels moves by at most one for each of a neighbour's rows.
Source: McSherry and Talwar 2007 for the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.makers import Statement
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.learning.classifiers import Classifier
from reticent.learning.estimator import APART, PriceRefusal, Work, not_fitted, refuse_prices, same_as, worded
from reticent.learning.fit_release import Bounds, bought, columns_of, names_of, price_of, read_bounds
from reticent.learning.fold_coins import Deal, persons_named
from reticent.learning.folds import Folds, of_person
from reticent.learning.handles import Handle, PublicRows
from reticent.learning.held_arrays import held
from reticent.learning.serialization import shown
from reticent.learning.summaries import page
from reticent.learning.transformers import NamedOutput
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.privacy import compose
from reticent.privacy.explain import sentence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number, show
from reticent.privacy.sensitivity import Linf
from reticent.statistics.price import Price
from reticent.statistics.scaling import Floats, filled

TRAINED: Final = Fraction(1, 2)
CHOSEN: Final = Fraction(1, 10)
REFITTED: Final = Fraction(2, 5)
TESTS: Final = 4  # one row in so many is for the scores
MOST: Final = 1000
Named: TypeAlias = dict[str, object]


@runtime_checkable
class FrameLike(Protocol):
    """Operations of a pandas data frame used here: another one with its names."""

    def __init__(self, data: Floats, *, index: object, columns: object) -> None: ...

    @property
    def index(self) -> object: ...

    @property
    def columns(self) -> object: ...

    @property
    def iloc(self) -> object: ...


@dataclass(kw_only=True, eq=False, repr=False)
class Clip(NamedOutput):
    """Move every value to the nearer of public ``bounds``: row by row, so it learns nothing and charges nothing.

    In a pipeline it stands before a private estimator, whose bounds are the same or wider.

    Parameters
    ----------
    bounds : (low, high), list of pairs, or mapping of name to pair
        By name for columns with names: ``Clip(study.bounds)``. A column of a handle that is not named keeps its own.
    """

    bounds: Bounds = field(default=None, kw_only=False)

    def fit(self, X: object, y: object = None) -> Clip:
        """Nothing is learned; returns the transformer."""
        if isinstance(X, Handle):
            self.bounds_ = read_bounds(self.bounds, X.columns, X.bounds)
        else:
            rows = X.rows if isinstance(X, PublicRows) else X
            self.bounds_ = read_bounds(
                self.bounds, names_of(rows) or held(rows, None, columns_of(self.bounds), "private").columns
            )
        self.n_features_in_ = len(self.bounds_)
        names = X.columns if isinstance(X, Handle) else names_of(X.rows if isinstance(X, PublicRows) else X)
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def summary(self) -> str:
        """The bounds; there is no guarantee to tell, as nothing is learned."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        names = vars(self).get("feature_names_in_", [f"x{place}" for place in range(self.n_features_in_)])
        told = [f"{name}  {show(low)} to {show(high)}" for name, (low, high) in zip(names, self.bounds_, strict=True)]
        return "\n".join(["Clip", *told, "Nothing was learned and nothing charged."])

    def __sklearn_is_fitted__(self) -> bool:
        return "bounds_" in vars(self)

    def fit_transform(self, X: object, y: object = None) -> object:
        """``transform``, as nothing is learned."""
        return self.fit(X).transform(X)

    def transform(self, X: object) -> object:
        """A handle with narrower bounds, or rows of shape (n, columns) moved to them; missing values stay missing.

        A pandas frame stays one, so that the names of its columns reach the model; whatever else comes out as an array.
        Where ``set_output`` asks for a table, that comes out.
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        if isinstance(X, Handle):
            self._named(X.columns)
            return X.clipped(self.bounds_)
        if isinstance(X, PublicRows):
            return PublicRows(self._moved(X.rows))
        return self._moved(X)

    def _moved(self, rows: object) -> object:
        self._named(names_of(rows))
        low, high = np.array(self.bounds_, np.float64).T
        kept = held(rows, None, len(self.bounds_), "private")  # a row of another length is missing, and fails nothing
        self._width(kept.columns)
        found, _ = kept.read()
        moved = np.clip(found, low, high)
        if self._output is None and isinstance(rows, FrameLike):
            return type(rows)(moved, index=rows.index, columns=rows.columns)
        return self._framed(moved, rows)


@dataclass(kw_only=True, eq=False, repr=False)
class GridSearchCV(PriceRefusal):
    """The candidate of a grid with the fewest wrong labels, selected privately, refitted on all rows: one reservation.

    Parameters
    ----------
    estimator : classifier of this package
    param_grid : mapping of name to values
        Public; every combination is a candidate.
    epsilon : number
        Of the whole search, refit included.
    delta : number
        Where the estimator's noise is Gaussian; shared as epsilon is.
    cv : Folds, optional
        ``folds(5)``: every candidate is fitted to all folds but one, each time with a fourth of its share, and scored
        on all rows. By default the persons whose coin falls on one of four test, and all others train.

    Attributes
    ----------
    best_params_ : dict
    best_estimator_ : the classifier refitted on all rows
    guarantee_ : Guarantee
    certificate_ : Certificate
        Of the whole search: the candidates, the choice and the numbers of the refit. ``best_estimator_`` has the same.

    Guarantee
    ---------
    Training, choice and refit in sequence; one entry in the ledger, made before any row is read.
    """

    estimator: Classifier = field(kw_only=False)
    param_grid: Mapping[str, Sequence[object]] = field(kw_only=False)
    epsilon: Number = 1
    delta: Number = 0
    cv: Folds | None = None

    _estimator_type = "classifier"

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in ("estimator", "param_grid", "epsilon", "delta", "cv")}

    def set_params(self, **params: object) -> GridSearchCV:
        """Set parameters by name."""
        for name, value in params.items():
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
        chosen = ", ".join(f"{name}={worded(value)}" for name, value in self.best_params_.items())
        whole = sentence(self.guarantee_.loss, self.guarantee_.adjacency)
        return f"{chosen}, chosen privately among {len(self.candidates())}\n{best.summary()}\nThe whole search: {whole}"

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
        return {**vars(self), "estimator": copy(self.estimator).set_params(ledger=None, study=None)}

    def candidates(self) -> list[dict[str, object]]:
        """Every combination of the grid."""
        names = list(self.param_grid)
        found = [dict(zip(names, values, strict=True)) for values in product(*self.param_grid.values())]
        if not found or len(found) > MOST:
            raise PublicParameterError(f"a grid has 1 to {MOST} candidates, got {len(found)}")
        return found

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
        if not isinstance(self.estimator, Classifier):
            raise QuestionError(
                "GridSearchCV chooses between classifiers of this package, by the fewest wrong labels, and got "
                f"{type(self.estimator).__name__}. For a pipeline or a regressor take scikit-learn's: every fit and "
                "score_epsilon=… is then charged. Nothing was charged."
            )
        here, listed, cv = self.estimator._here(X, y), self.candidates(), self._folds()
        if self.cv is not None:
            persons_named(here, groups)
        beside = self.estimator._odd(here, y, price_of(self.epsilon, self.delta, here).epsilon)
        beside.announce(2)
        whole, deal = price_of(self.epsilon, self.delta, replace(here, aside=beside.share)), Deal.of(here, cv, groups)
        rounds = [0] if self.cv is None else list(range(cv.count))
        among = len(listed) * max(1, len(rounds) - 1)
        with np.errstate(all="ignore"):
            tried = [Round.of(self, listed, whole, among, deal, fold, y) for fold in rounds]
            last = [self._made(params, whole.epsilon * REFITTED, whole.delta * REFITTED, 1) for params in listed]
            refits = [one._work(here, y) for one in last]
        choice = Exponential(Linf(Fraction(whole.neighbours.rows), whole.neighbours), _digits(whole.epsilon * CHOSEN))
        # Which refit is run follows from the choice, which is paid for; the price is the maximum in every currency.
        refit = compose.one_of([work.guarantee for work in refits], label="the refit of the one chosen")
        tries = [work.guarantee for work in tried[0].works]
        if self.cv is not None:
            tries = [of_person([one.guarantee for one in tried], [], f"candidates in {cv.count} folds")]
        share = [] if beside.odd is None else [beside.odd.mechanism.guarantee]
        guarantee = compose.in_sequence([*tries, choice.guarantee, *share, refit], label="a grid search")

        def draw(entropy: Entropy) -> tuple[int, Named]:
            values, given, owners = deal.rows()
            targets, odd = beside.judged(values, given)
            assert targets is not None
            dealt = deal.coins(owners, entropy)
            wrong = np.sum([one.wrong(values, targets, dealt == one.fold, entropy) for one in tried], axis=0)
            best = gate.draw(choice, Candidates(wrong, np.ones(len(wrong), np.int64)), entropy)
            found = last[best]._drawn(refits[best], values, targets, entropy)
            return best, {**found, **last[best]._left_by(beside.draw(odd, entropy))}

        tell = beside.telling(self._stating())
        (best, _), made = bought(
            here,
            guarantee,
            f"a grid search of {type(self.estimator).__name__}",
            draw,
            lambda drawn: tell({"best_params": listed[drawn[0]], "best_index": drawn[0], **drawn[1]}),
            purpose=self.estimator.purpose,
            who=self.estimator.who,
        )
        self.best_params_, self.best_index_ = listed[best], best
        self.best_estimator_ = last[best]
        self.best_estimator_._note(here, refits[best].guarantee, made)
        self.classes_, self.guarantee_ = self.best_estimator_._labels(y), guarantee
        self.certificate_ = made
        self.n_features_in_ = self.best_estimator_.n_features_in_
        return self

    def _folds(self) -> Folds:
        """The folds named; else four, of which one tests."""
        if self.cv is not None and not isinstance(self.cv, Folds):
            raise PublicParameterError("name cv=folds(5), or leave cv out. Nothing was charged.")
        return Folds(TESTS) if self.cv is None else self.cv

    def _made(self, params: Mapping[str, object], epsilon: Fraction, delta: Fraction, among: int) -> Classifier:
        for name in ("epsilon", "delta", "ledger", "study", "adjacency", "bounds"):
            if name in params:
                raise QuestionError(f"{name} is not searched for: it is public and fixed")
        one = copy(self.estimator).set_params(**params)
        one._forget()
        return one.set_params(epsilon=_digits(epsilon / among), delta=delta / among)

    def _stating(self) -> Callable[[Mapping[str, object]], Statement]:
        """Function that states the search for a certificate.

        It states the candidates, then the choice and the numbers of the refit.
        """
        inner = {name: value for name, value in self.estimator.get_params().items() if name not in APART}
        searched = {"estimator": inner, "param_grid": self.param_grid, "epsilon": self.epsilon, "delta": self.delta}
        searched |= {} if self.cv is None else {"folds": self.cv.count}
        name, public = type(self.estimator).__name__, shown(searched)
        return lambda found: Statement(name, "grid search", public, shown(found))

    def predict(self, X: object) -> NDArray[np.generic]:
        """By the estimator chosen."""
        return self._best().predict(X)

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
        return self._best().score(X, y, epsilon=epsilon)

    def _best(self) -> Classifier:
        if "best_estimator_" not in vars(self):
            raise not_fitted(self)
        return self.best_estimator_


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """Every candidate, fitted to the rows outside of one fold and tested on those within."""

    fold: int
    made: Sequence[Classifier]
    works: Sequence[Work]

    @classmethod
    def of(
        cls,
        search: GridSearchCV,
        listed: Sequence[Mapping[str, object]],
        whole: Price,
        among: int,
        deal: Deal,
        fold: int,
        y: object,
    ) -> Round:
        """Understood and priced: each fit has one of ``among`` shares of what training costs."""
        price = whole.epsilon * TRAINED, whole.delta * TRAINED
        made = [search._made(params, *price, among) for params in listed]
        return cls(fold, made, [one._work(deal.trained(fold), y) for one in made])

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([work.guarantee for work in self.works], label="every candidate")

    def wrong(
        self, values: Floats, targets: NDArray[np.generic], test: NDArray[np.bool_], entropy: Entropy
    ) -> NDArray[np.int64]:
        """Test rows that each candidate labels wrong."""
        found, there = [], np.asarray(np.isfinite(values[test]).all(axis=1), np.bool_)
        for one, work in zip(self.made, self.works, strict=True):
            work.draw(values[~test], targets[~test], entropy)
            labelled = one._labelled(filled(values[test], there))
            found.append(int((there & np.asarray(labelled != targets[test], np.bool_)).sum()))
        return np.array(found, np.int64)


def _digits(epsilon: Fraction) -> Fraction:
    """An epsilon rounded down to few digits, so that it reads well."""
    from reticent.exact.rounding import round_down

    return round_down(epsilon, 9)


__all__ = ["Clip", "GridSearchCV"]
