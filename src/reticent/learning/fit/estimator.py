"""Base of every estimator: parameters in scikit-learn's form, the circumstances of a fit, and refusals.

An estimator is a dataclass whose fields are its parameters, so that ``clone`` and ``set_params`` work and nothing is
computed before ``fit``. What a fit found ends in an underscore, is post-processing of noisy numbers, and holds no row.
scikit-learn itself is imported only when it asks (tags, errors): the models work without it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import Field, dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, ParamSpec, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.makers import Statement
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError, doors
from reticent.former_names import refuse_options
from reticent.learning.fit.array_check import cells, table
from reticent.learning.fit.fit_release import (
    ONE,
    Between,
    Bounds,
    Circumstances,
    bought,
    default_words,
    names_of,
    of_arrays,
    of_handles,
    price_of,
    vouched,
)
from reticent.learning.fit.handles import Handle, PublicRows
from reticent.learning.fit.held_arrays import held
from reticent.learning.fit.odd_rows import ATTRIBUTE, FitOddShare, by_complete
from reticent.learning.fit.parameter_check import check_parameters
from reticent.learning.fit.serialization import shown
from reticent.learning.fit.summaries import page, summary
from reticent.ledger import Ledger
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number
from reticent.statistics.context import ExpectedAccuracy
from reticent.statistics.scaling import Floats

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from sklearn.utils.metadata_routing import MetadataRequest

    from reticent.certificate.certificate import Certificate

E = TypeVar("E", bound="Estimator")
T = TypeVar("T")
P = ParamSpec("P")
NOTED = ("_left", "guarantee_", "certificate_", "score_certificate_", "n_features_in_", "feature_names_in_")
PRICES = frozenset({"epsilon", "eps", "delta", "rho", "mu", "budget", "epsilon_delta", "score_epsilon"})
WEIGHTS = frozenset({"class_weight", "most_weight", "sample_weight"})
APART = frozenset({"ledger", "study", "bounds", "purpose", "who"})  # parameters that a certificate states elsewhere


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """One fit, understood and priced, before anything is read: ``draw`` leaves its findings in the estimator.

    ``counts`` is whether it buys the number of complete rows, which tells the share of the others where the number of
    all is public (``_lacking``). ``expected`` tells a plan of so many people how wide the fit is, where a public rule
    says so.
    """

    guarantee: Guarantee
    draw: Callable[[Floats, NDArray[np.generic] | None, Entropy], None]
    counts: bool = False
    expected: Callable[[int], ExpectedAccuracy] | None = None


@runtime_checkable
class FitStudy(Protocol):
    """Study as an estimator sees it."""

    @property
    def ledger(self) -> Ledger: ...


class PriceRefusal:
    """Refusal of a price that is not taken, in place of Python's words for an unknown argument."""

    def __new__(cls, *given: object, **named: object) -> Self:
        refuse_prices(cls.__name__, [name for name in named if name not in cls.__dataclass_fields__])
        return super().__new__(cls)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        doors(cls)

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


def refusing_options(fit: Callable[P, T]) -> Callable[P, T]:
    """A decorator for ``fit``: weights and request ids that it does not take are refused in words.

    ``sample_weight=None`` is what scikit-learn passes on where there are no weights, and is no option.
    """

    @functools.wraps(fit)
    def called(*given: P.args, **named: P.kwargs) -> T:
        extra = [name for name in named if name not in known]
        if extra and given:
            who = type(given[0]).__name__
            refuse_options(f"{who}.fit", extra, known)
            refuse_prices(who, [name for name in extra if named[name] is not None])
            if "sample_weight" in extra:
                named.pop("sample_weight")
        return fit(*given, **named)

    known = inspect.signature(fit).parameters.keys()
    return called


@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(PriceRefusal):
    """Parameters every private estimator has.

    Parameters
    ----------
    epsilon, delta : number
        What one fit costs: ε 1 where none is named, which plans and certificates say. delta 0 is pure: geometric noise;
        above 0 noise is discrete Gaussian.
    bounds : (low, high) or list of pairs
        Of the columns of X, public; with a handle those of the study by default.
    adjacency : "add_remove" or "substitute"
        Of the rows in an array; a study has its own. A fit to arrays cannot see who picked their rows, and its
        guarantee holds where no row was looked at for that: for ``cv=folds(5)``, and not for an integer ``cv``, for
        stratified, grouped or seeded splitters, nor under bagging, bootstrap, oversampling or calibration.
    ledger : Ledger
        For arrays; charged by every fit. Copies of the estimator share it.
    study : Study, optional
        In place of adjacency and ledger.
    people : int, optional
        The public number of rows under "add_remove", if there is one; else a noisy one is bought.
    rows_each : int
        Most rows of one person in an array.
    complete : bool
        You vouch that no row of an array lacks a value: one that does has the middle of the bounds in its place, and no
        share of such rows is bought. Columns of a study are declared complete there.
    purpose, who : str
        For the ledger and the certificate.

    Attributes
    ----------
    guarantee_ : Guarantee
    certificate_ : Certificate
        With every number the fit found; its digest is in the ledger. A copy or a pickle of the model carries it; a
        pickle of a fitted model leaves ledger and study behind.
    score_certificate_ : Certificate
        Of the last score of private rows.
    incomplete_rows_ : Outcome of Estimate
        The share of rows that lack a value: they do not count. It is free where the fit buys the number of complete
        rows and that of all is public; else it costs 5 % of epsilon. Not there where no row can lack a value, or where
        it would be known to no better than 10 %, which is said before the charge.
    """

    epsilon: Number = ONE
    delta: Number = 0
    bounds: Bounds = None
    adjacency: Between | None = None
    ledger: Ledger | None = None
    study: object = None
    people: int | None = None
    rows_each: int = 1
    complete: bool = False
    purpose: str = ""
    who: str = "curator"

    _counts = False  # whether a fit may buy the number of complete rows

    @refusing_options
    def fit(self: E, X: object, y: object = None) -> E:
        """Charge the ledger, read the rows, draw the noise; returns the estimator.

        Parameters
        ----------
        X : handle or array of shape (n, columns)
        y : handle or array of shape (n,)
            Not looked at where the estimator has no target.

        Raises
        ------
        Refusal
            Before any row is read; nothing was charged.
        Fault
            After the charge; the charge stays, and what an earlier fit found is forgotten.
        """
        return self._fit(self._here(X, y), y)

    def _fit(self: E, here: Circumstances, y: object) -> E:
        """The fit in its public circumstances."""
        if here.people == 0:
            shape = (0, len(here.bounds))
            raise ValueError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
        with np.errstate(all="ignore"):  # of public numbers, and still no business of the caller's settings
            work, beside = self._planned_with(here, y)
        beside.announce()
        guarantee = here.lifted(beside.whole(work.guarantee))

        def draw(entropy: Entropy) -> dict[str, object]:
            values, given = here.read()
            targets, odd = beside.judged(values, given)
            found = self._drawn(work, values, targets, entropy)
            return {**found, **self._left_by(beside.draw(odd, entropy))}

        try:
            _, made = bought(
                here,
                guarantee,
                type(self).__name__,
                draw,
                beside.telling(self._stating("fit")),
                of_row=self._of_row_read(here, y),
                purpose=self.purpose,
                who=self.who,
            )
        except BaseException:
            if not self.__sklearn_is_fitted__():  # what was drawn and is in no certificate is not kept
                self._forget()
            raise
        self._note(here, guarantee, made)
        return self

    def _planned_with(self, here: Circumstances, y: object) -> tuple[Work, FitOddShare]:
        """The fit, and the share of rows that lack a value beside it, which is not bought where the fit tells it."""
        if here.complete or (self._counts and here.exact is not None):
            work = self._work(here, y)
            if here.complete or work.counts:
                return work, FitOddShare.of(here, Fraction(0), known=True)
        beside = FitOddShare.of(here, price_of(self.epsilon, self.delta, here).epsilon)
        work = self._work(replace(here, aside=beside.share), y)
        return work, beside

    def _lacking(self, complete: float, spread: float, here: Circumstances) -> None:
        """Keep the share of rows that lack a value, as a noisy number of complete ones tells it, if it is not bought.

        ``spread`` is the standard deviation of the noise.
        """
        if here.exact is not None and not here.complete and not here.aside:
            vars(self)[ATTRIBUTE] = by_complete(complete, spread, here.exact)

    def _left_by(self, found: Mapping[str, object]) -> Mapping[str, object]:
        """Keep what was drawn beside a fit, with what the fit found."""
        vars(self).update(found)
        self._left: tuple[str, ...] = (*self._left, *found)
        return found

    def _of_row(self, columns: int, y: object) -> tuple[float, int]:
        """Seconds that a fit takes of a row of X, and bytes beside its cells: measured on one to four million rows."""
        return 0.5e-6, 0

    def _of_row_read(self, here: Circumstances, y: object) -> tuple[float, int]:
        """The same of a row of a study; nothing of arrays that are there."""
        return (0.0, 0) if here.shelf is None else self._of_row(len(here.bounds), y)

    def _work(self, here: Circumstances, y: object) -> Work:
        raise TypeError("an estimator says what a fit is")

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The parameters by name; ``deep`` is scikit-learn's and changes nothing here."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.init}

    def set_params(self: E, **params: object) -> E:
        """Set parameters by name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                refuse_prices(type(self).__name__, [name])
                raise ValueError(f"Invalid parameter {name!r} for estimator {type(self).__name__}.")
            setattr(self, name, value)
        return self

    def summary(self) -> str:
        """Summary of the fit: its numbers, their noise in multiples of one person's influence, and the guarantee.

        All of it is in the certificate, which has every number; here long lists are cut short.
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return summary(self)

    def card(self) -> str:
        """The model card of the fit: what it predicts and from what, its penalty and intervals, what it is not for.

        All of it is in the certificate, whose page has the same card.
        """
        from reticent.certificate.render.card import card

        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return "\n".join(f"{name}: {text}" for name, text in card(self.certificate_))

    def __repr__(self) -> str:
        changed = []
        for item in fields(self):
            value = getattr(self, item.name) if item.init else None
            if item.init and not _same(value, item.default):
                changed.append(f"{item.name}={worded(value)}")
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        return page(f"{self!r}\n\n{self.summary()}" if self.__sklearn_is_fitted__() else repr(self))

    def __copy__(self: E) -> E:
        return same_as(self, vars(self))

    def __deepcopy__(self: E, memo: dict[int, object]) -> E:
        return same_as(self, deepcopy(vars(self), memo))

    def __getstate__(self) -> dict[str, object]:
        """For a pickle: what was fitted is kept without the way to the rows' ledger, which is a place on this machine.

        An estimator that is not fitted keeps its ledger, or a process that is to fit it would have none to charge.
        """
        away: dict[str, object] = {"ledger": None, "study": None} if self.__sklearn_is_fitted__() else {}
        return {**vars(self), **away}

    def __sklearn_tags__(self) -> Tags:
        return tags_of(self)

    def get_metadata_routing(self) -> MetadataRequest:
        """Metadata that scikit-learn's pipelines pass to ``score`` if routing is enabled: ``epsilon``."""
        return routing_of(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "guarantee_" in vars(self)

    def _here(self, x: object, y: object | None, columns: int | None = None) -> Circumstances:
        """Public circumstances of a fit to X and y, of y only if the estimator has a target.

        ``columns`` is how many a list has, where a fit has made that public.
        """
        check_parameters(self)
        kind = getattr(self, "_estimator_type", None)
        if kind not in ("classifier", "regressor"):
            y = None
        elif y is None:
            name = type(self).__name__
            if isinstance(x, Handle):
                raise QuestionError(f"{name} predicts a column: name it with y, or --y. Nothing was charged.")
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        if isinstance(x, PublicRows) or isinstance(y, PublicRows):
            raise PublicParameterError("a fit to public rows needs no privacy: use scikit-learn's own estimator")
        if isinstance(x, Handle):
            if y is not None and not isinstance(y, Handle):
                raise QuestionError('y must be a handle where X is one: X, y = study.xy([...], "y")')
            if self.complete:
                names = ", ".join((*x.columns, *(() if y is None else y.columns)))
                raise QuestionError(
                    f"Say complete=True of the columns {names} in their study, which knows who vouches for them. "
                    "Nothing was charged."
                )
            here = of_handles(x, y, self.bounds)
        else:
            ledger, adjacency = self.ledger, self.adjacency
            if isinstance(self.study, FitStudy):
                ledger = self.study.ledger
                adjacency = "substitute" if ledger.adjacency.kind == "substitute" else "add_remove"
            found = of_arrays(x, y, self.bounds, adjacency, ledger, self.people, self.rows_each, columns)
            here = replace(found, source=self.study)
            here = self._vouched(here, y) if self.complete else here
        return here

    def _vouched(self, here: Circumstances, y: object) -> Circumstances:
        """Arrays whose rows lack nothing: in the place of what is missing stands the middle of its bounds."""
        return vouched(here, None)

    def _drawn(
        self, work: Work, values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy
    ) -> dict[str, object]:
        """Every attribute that the draw of ``work`` leaves in this estimator, which first forgets an earlier fit."""
        self._forget()
        before = dict(vars(self))
        try:
            work.draw(values, targets, entropy)
        finally:
            self._left = tuple(name for name, value in vars(self).items() if value is not before.get(name, before))
        return {name: getattr(self, name) for name in self._left}

    def _forget(self) -> None:
        """Let go of what a fit left, so that a certificate shows the numbers of one fit and of no other."""
        for name in (*vars(self).get("_left", ()), *NOTED):
            vars(self).pop(name, None)

    def _stating(self, what: str) -> Callable[[Mapping[str, object]], Statement]:
        """Function that states released numbers of this estimator for a certificate.

        It has the parameters as they are before a row is read.
        """
        public = shown({name: value for name, value in self.get_params().items() if name not in APART})
        unnamed = default_words(self.epsilon) if what == "fit" else ()
        return lambda found: Statement(type(self).__name__, what, public, shown(found), unnamed)

    def _keep_score(self, made: Certificate) -> None:
        self.score_certificate_ = made

    def _note(self, here: Circumstances, guarantee: Guarantee, made: Certificate) -> None:
        """Keep the attributes of every fit: the guarantee, the certificate and the public shape of X."""
        self.guarantee_, self.certificate_ = guarantee, made
        self.n_features_in_ = len(here.bounds)
        if here.names is not None:
            self.feature_names_in_ = np.array(here.names, dtype=object)
        elif "feature_names_in_" in vars(self):
            del self.feature_names_in_

    def _width(self, columns: int) -> None:
        """Refuse rows of another width than the model was fitted to."""
        if columns != self.n_features_in_:
            raise ValueError(
                f"X has {columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )

    def _named(self, names: tuple[str, ...] | None) -> None:
        """Refuse columns of other names than the model was fitted to, or in another order."""
        fitted = tuple(vars(self).get("feature_names_in_", ()))
        if not fitted or names is None or names == fitted:
            return
        keys = " A category is a column for each key, 1 or 0." if any("=" in name for name in fitted) else ""
        raise ValueError(
            "The feature names should match those that were passed during fit. "
            f"In this order: {', '.join(fitted)}.{keys}"
        )

    def _rows(self, x: object) -> Floats:
        """Rows to predict for, as a table of the width the model was fitted to."""
        given = self._given(x)
        found = cells(table(given))
        if not np.isfinite(found).all():
            raise ValueError("Input X contains NaN or infinity.")
        self._width(found.shape[1])
        return found

    def _moving(self, x: object) -> Floats:
        """Rows to transform, which a pipeline hands on to a fit: what is missing stays missing, and none is refused."""
        kept = held(self._given(x), None, self.n_features_in_, "private")
        self._width(kept.columns)
        found, _ = kept.read()
        there: NDArray[np.bool_] = np.asarray(np.isfinite(found).all(axis=1))
        return np.where(there[:, None], found, np.nan)

    def _given(self, x: object) -> object:
        """Rows the caller holds, of the columns that were fitted."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        if isinstance(x, Handle):
            raise QuestionError(
                "Predictions of private rows would be rows. Ask score(X, y, epsilon=…), which is charged."
                if hasattr(self, "predict")
                else "Transformed private rows would be rows. A model divides the columns of handles by their public "
                f"bounds itself: leave {type(self).__name__} out of the pipeline."
            )
        given = x.rows if isinstance(x, PublicRows) else x
        self._named(names_of(given))
        return given


def refuse_prices(who: str, names: Iterable[str]) -> None:
    """Refuse names of prices, and of weights, that are not taken.

    Raises
    ------
    PublicParameterError
        With the name of the one that is.
    """
    for name in names:
        if name in WEIGHTS:
            raise PublicParameterError(
                f"{who} has no {name}: what rows that weigh more can move has no proof there. LogisticRegression, "
                "LinearSVC and the other models of a sum of losses take weights. Nothing was charged."
            )
        if name in PRICES:
            raise PublicParameterError(
                f"{who} has no {name}: a fit is priced by epsilon=, and by delta= where its noise is Gaussian. A "
                "ledger in ρ is charged the ρ of that fit. Nothing was charged."
            )


def same_as(estimator: T, parts: dict[str, object]) -> T:
    """Another estimator of the same parts; in this process it shares the ledger."""
    made = object.__new__(type(estimator))
    vars(made).update(parts)
    return made


def worded(value: object) -> str:
    """A parameter as ``repr`` shows it: programs, ledgers and studies by name, for they may hold what they saw."""
    if isinstance(value, Ledger | FitStudy):
        return f"<{type(value).__name__}>"
    return f"<{getattr(value, '__name__', type(value).__name__)}>" if callable(value) else repr(value)


def _same(value: object, default: object) -> bool:
    return value is default or (isinstance(value, int | str | float) and value == default)


def not_fitted(estimator: object) -> Exception:
    """scikit-learn's error where it is installed."""
    text = f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments first."
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return QuestionError(text)
    return NotFittedError(text)  # type: ignore[no-any-return]  # scikit-learn has no types


def tags_of(estimator: object) -> Tags:
    """scikit-learn's tags of an estimator, by what it can do."""
    from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

    kind = getattr(estimator, "_estimator_type", None)
    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=kind in ("classifier", "regressor")),
        transformer_tags=TransformerTags() if hasattr(estimator, "transform") else None,
        classifier_tags=ClassifierTags() if kind == "classifier" else None,
        regressor_tags=RegressorTags() if kind == "regressor" else None,
        non_deterministic=True,
        requires_fit=True,
        input_tags=InputTags(allow_nan=False, string=True),  # a text is a missing value
    )


def routing_of(estimator: object) -> MetadataRequest:
    """scikit-learn's request for the metadata of an estimator: the price of a score."""
    from sklearn.utils.metadata_routing import MetadataRequest

    found = MetadataRequest(owner=type(estimator).__name__)
    if hasattr(estimator, "score"):
        found.score.add_request(param="epsilon", alias=True)
        found.score.add_request(param="sample_weight", alias=None)  # a pipeline names it even where there is none
    return found


__all__ = [
    "Estimator",
    "PriceRefusal",
    "Work",
    "not_fitted",
    "refuse_prices",
    "refusing_options",
    "same_as",
    "tags_of",
    "worded",
]
