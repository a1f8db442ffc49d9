"""``Clip``, which charges nothing, and a grid search that reserves once and selects privately.

    trained    every candidate of the grid on the rows whose coin fell on "train"    half of the price, shared equally
    chosen     one by the exponential mechanism, by wrong labels among the other rows    1/10
    refitted   the one chosen, on all rows                                               2/5

All three look at the same rows, so their losses add up; that the coins keep train and test apart is used for honesty
of the scores and not for the price. A row's coin does not look at it, and the count of wrong labels moves by at most
one for each of a neighbour's rows. Source: McSherry and Talwar 2007 for the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.learning.circumstances import Bounds, Found, names_of, paid, price_of, read_bounds
from reticent.learning.classifiers import Classifier
from reticent.learning.estimator import APART, Estimator, Work, not_fitted, same_as, worded
from reticent.learning.given import cells, table
from reticent.learning.handles import Handle, Public
from reticent.learning.scaling import Floats, filled
from reticent.learning.shown import shown
from reticent.learning.summaries import page
from reticent.mechanisms import Candidates, Exponential, gate
from reticent.privacy import compose
from reticent.privacy.explain import sentence
from reticent.privacy.numbers import Number, show
from reticent.privacy.sensitivity import Linf

TRAINED: Final = Fraction(1, 2)
CHOSEN: Final = Fraction(1, 10)
REFITTED: Final = Fraction(2, 5)
TESTS: Final = 4  # one row in so many is for the scores
MOST: Final = 1000
Named: TypeAlias = dict[str, object]


@runtime_checkable
class Framed(Protocol):
    """What is asked of a pandas data frame: another one with its names."""

    def __init__(self, data: Floats, *, index: object, columns: object) -> None: ...

    @property
    def index(self) -> object: ...

    @property
    def columns(self) -> object: ...

    @property
    def iloc(self) -> object: ...


@dataclass(kw_only=True, eq=False, repr=False)
class Clip(Estimator):
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
            rows = X.rows if isinstance(X, Public) else X
            self.bounds_ = read_bounds(self.bounds, names_of(rows) or table(rows).shape[1])
        self.n_features_in_ = len(self.bounds_)
        names = X.columns if isinstance(X, Handle) else names_of(X.rows if isinstance(X, Public) else X)
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
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        if isinstance(X, Handle):
            self._named(X.columns)
            return X.clipped(self.bounds_)
        if isinstance(X, Public):
            return Public(self._moved(X.rows))
        return self._moved(X)

    def _moved(self, rows: object) -> object:
        self._named(names_of(rows))
        low, high = np.array(self.bounds_, np.float64).T
        found = cells(table(rows))
        self._width(found.shape[1])
        moved = np.clip(found, low, high)
        if isinstance(rows, Framed):
            return type(rows)(moved, index=rows.index, columns=rows.columns)
        return moved


@dataclass(kw_only=True, eq=False, repr=False)
class GridSearchCV:
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

    _estimator_type = "classifier"

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in ("estimator", "param_grid", "epsilon", "delta")}

    def set_params(self, **params: object) -> GridSearchCV:
        """Set parameters by name."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"Invalid parameter {name!r} for estimator GridSearchCV.")
            setattr(self, name, value)
        return self

    def summary(self) -> str:
        """What was chosen, and among how many; then the summary of the refit, and the guarantee of the whole search."""
        best = self._best()
        chosen = ", ".join(f"{name}={worded(value)}" for name, value in self.best_params_.items())
        whole = sentence(self.guarantee_.loss, self.guarantee_.adjacency)
        return f"{chosen}, chosen privately among {len(self.candidates())}\n{best.summary()}\nThe whole search: {whole}"

    def __repr__(self) -> str:
        rest = f", delta={self.delta!r}" if self.delta else ""
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

    def fit(self, X: object, y: object) -> GridSearchCV:
        """Charge once, try every candidate, choose, refit; returns the search.

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
        here = self.estimator._here(X, y)
        whole = price_of(self.epsilon, self.delta, here)
        listed = self.candidates()
        tried = [self._made(params, whole.epsilon * TRAINED, whole.delta * TRAINED, len(listed)) for params in listed]
        last = [self._made(params, whole.epsilon * REFITTED, whole.delta * REFITTED, 1) for params in listed]
        with np.errstate(all="ignore"):
            works, refits = ([one._work(here, y) for one in made] for made in (tried, last))
        choice = Exponential(Linf(Fraction(whole.neighbours.rows), whole.neighbours), _digits(whole.epsilon * CHOSEN))
        dearest = max(refits, key=lambda work: _size(work))
        guarantee = compose.in_sequence(
            [*[work.guarantee for work in works], choice.guarantee, dearest.guarantee], label="a grid search"
        )

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> tuple[int, Named]:
            assert targets is not None
            test = entropy.words(len(values)) % TESTS == 0
            wrong = []
            for one, work in zip(tried, works, strict=True):
                work.draw(np.where(test[:, None], np.nan, values), targets, entropy)
                there = test & np.isfinite(values).all(axis=1)
                labelled = one._labelled(filled(values, there))
                wrong.append(int((there & np.asarray(labelled != targets, np.bool_)).sum()))
            scores = Candidates(np.array(wrong, np.int64), np.ones(len(wrong), np.int64))
            best = gate.draw(choice, scores, entropy)
            return best, last[best]._drawn(refits[best], values, targets, entropy)

        tell = self._stating()
        (best, _), made = paid(
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

    def _made(self, params: Mapping[str, object], epsilon: Fraction, delta: Fraction, among: int) -> Classifier:
        for name in ("epsilon", "delta", "ledger", "study", "adjacency", "bounds"):
            if name in params:
                raise QuestionError(f"{name} is not searched for: it is public and fixed")
        one = copy(self.estimator).set_params(**params)
        one._forget()
        return one.set_params(epsilon=_digits(epsilon / among), delta=delta / among)

    def _stating(self) -> Callable[[Mapping[str, object]], Found]:
        """What a certificate will say of the search: what is tried, then what was chosen and what the refit found."""
        inner = {name: value for name, value in self.estimator.get_params().items() if name not in APART}
        searched = {"estimator": inner, "param_grid": self.param_grid, "epsilon": self.epsilon, "delta": self.delta}
        name, public = type(self.estimator).__name__, shown(searched)
        return lambda found: Found(name, "grid search", public, shown(found))

    def predict(self, X: object) -> NDArray[np.generic]:
        """By the estimator chosen."""
        return self._best().predict(X)

    def score(self, X: object, y: object, *, epsilon: Number | None = None) -> float:
        """By the estimator chosen; of private rows charged."""
        return self._best().score(X, y, epsilon=epsilon)

    def _best(self) -> Classifier:
        if "best_estimator_" not in vars(self):
            raise not_fitted(self)
        return self.best_estimator_


def _size(work: Work) -> Fraction:
    from reticent.privacy.convert import zcdp_of
    from reticent.privacy.loss import ZCDP, ApproxZCDP

    found = zcdp_of(work.guarantee.loss)
    assert isinstance(found, ZCDP | ApproxZCDP)
    return found.rho


def _digits(epsilon: Fraction) -> Fraction:
    """An epsilon rounded down to few digits, so that it reads well."""
    from reticent.exact.rounding import round_down

    return round_down(epsilon, 9)


__all__ = ["Clip", "GridSearchCV"]
