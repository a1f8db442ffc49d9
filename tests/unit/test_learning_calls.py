"""Calls that someone who knows scikit-learn makes, and that no model takes, are refused in words before a charge."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent import learning
from reticent.errors import PublicParameterError, Refusal
from reticent.learning import KMeans, LogisticRegression
from reticent.learning.fit.estimator import Estimator
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import PureDP
from tests.support.unfolded import unfolded

RNG = np.random.default_rng(5)
X = RNG.uniform(0, 10, (400, 2))
Y = (X[:, 0] + RNG.normal(0, 2, 400) > 5).astype(int)
FITTED = [
    made
    for made in vars(learning).values()
    if inspect.isclass(made) and issubclass(made, Estimator) and made is not learning.Clip
]
NEEDED: dict[str, dict[str, object]] = {
    "FunctionClassifier": {"train": lambda rows, signs: np.zeros, "stability": 2},
    "EmpiricalRiskClassifier": {"slope": np.tanh, "reach": 3},
    "EmpiricalRiskRegressor": {"slope": np.tanh},
}


def given(kind: Kind = "add_remove", **own: object) -> dict[str, Any]:
    ledger = Ledger.create(None, title="calls", adjacency=Adjacency(kind), budget=PureDP(Fraction(500)))
    return {"adjacency": kind, "ledger": ledger, "bounds": [(0, 10)] * 2, **own}


def model(made: Callable[..., Any]) -> Any:
    return made(**given(), **NEEDED.get(made.__name__, {}))


@pytest.mark.parametrize("made", FITTED, ids=lambda made: made.__name__)
def test_a_fit_refuses_a_request_id_in_words_and_charges_nothing(made: Callable[..., Any]) -> None:
    one = model(made)
    left = one.ledger.left()
    with pytest.raises(Refusal, match=r"takes no request_id.*Nothing was charged"):
        one.fit(X, Y, request_id="a")
    assert one.ledger.left() == left


@pytest.mark.parametrize("made", FITTED, ids=lambda made: made.__name__)
def test_a_fit_without_weights_refuses_them_in_words_and_takes_none_for_none(made: Callable[..., Any]) -> None:
    if "sample_weight" in inspect.signature(made.fit).parameters:  # type: ignore[attr-defined]  # a class has it
        return
    one = model(made)
    left = one.ledger.left()
    with pytest.raises(Refusal, match=r"has no sample_weight.*Nothing was charged"):
        one.fit(X, Y, sample_weight=np.ones(400))
    assert one.ledger.left() == left
    with pytest.raises(TypeError):
        one.fit(X, Y, other=1)


def test_no_weights_are_what_scikit_learn_passes_on_and_fit() -> None:
    found = learning.GaussianNB(classes=[0, 1], **given()).fit(X, Y, sample_weight=None)  # type: ignore[call-arg]
    assert found.predict(X).shape == (400,)


def test_a_search_refuses_a_request_id_too() -> None:
    search = learning.GridSearchCV(LogisticRegression(classes=[0, 1], **given()), {"C": [1, 10]})
    with pytest.raises(Refusal, match=r"GridSearchCV\.fit takes no request_id"):
        search.fit(X, Y, request_id="a")  # type: ignore[call-arg]


def test_a_score_of_arrays_without_a_price_names_public_before_it_asks_who_they_are() -> None:
    fitted = LogisticRegression(classes=[0, 1], **given()).fit(X, Y)
    fitted.adjacency = fitted.ledger = None
    with pytest.raises(Refusal, match=r"score\(public\(X\), public\(y\)\)"):
        fitted.score(X, Y)
    assert fitted.score(learning.public(X), learning.public(Y)) > 0.5


# --- clusters transform -----------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_clusters_give_distances_to_their_centres_with_names() -> None:
    found = KMeans(3, **given(epsilon=10)).fit(X)
    away = found.transform(X)
    assert away.shape == (400, 3)
    assert (away.argmin(axis=1) == found.predict(X)).all()
    assert found.get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2"]
    scaled = (X[0] - found.cluster_centers_[1]) / found.half_
    assert away[0, 1] == pytest.approx(np.sqrt((scaled**2).sum()))


@pytest.mark.wide
def test_clusters_give_the_table_that_is_asked_for() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    found = KMeans(2, **given()).set_output(transform="pandas").fit_transform(X)
    assert isinstance(found, pandas.DataFrame)
    assert list(found.columns) == ["kmeans0", "kmeans1"]


def test_axes_and_clusters_are_told_how_many_by_place_as_scikit_learn_has_it() -> None:
    assert KMeans(4).n_clusters == 4
    assert learning.PCA(1).n_components == 1


# --- why there are no intervals ---------------------------------------------------------------------------------------


def hidden(epsilon: int, kind: Kind, times: int = 1, **own: object) -> LogisticRegression:
    """A fit to columns that keep to a small part of their bounds, whose intervals the noise hides."""
    rows = np.tile(np.column_stack([X[:, 0] / 1e4, X[:, 0] / 1e4]), (times, 1))
    asked = given(kind, intervals="yes", classes=[0, 1], epsilon=epsilon, **own)
    return LogisticRegression(**asked).fit(rows, np.tile(Y, times))


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_a_fit_without_intervals_says_that_its_coefficients_are_pulled_towards_zero(kind: Kind) -> None:
    for epsilon in (1, 9):
        for found in (hidden(epsilon, kind), hidden(epsilon, kind, fit_intercept=False)):
            own = found.estimates_[int(not found.fit_intercept) :]
            told = any(np.isfinite(one.low) for one in own)  # the intercept may be
            assert f"pulls {'these coefficients' if told else 'coefficients'} towards 0" in unfolded(found.summary())
            # the card names the ridge that the numbers have: that of C where one was refined, else the heavier one
            assert found.ridge_ == 1 if told else f"a ridge of {found.ridge_:.3g} pulls" in found.note_
            assert told or epsilon > 1 or found.ridge_ > 1


def test_a_product_of_epsilon_and_rows_that_is_public_to_be_met_is_no_advice() -> None:
    met, unmet = (unfolded(one.summary()) for one in (hidden(9, "substitute", times=4), hidden(1, "substitute")))
    assert "ε times rows of about 1,200 where columns vary evenly over their bounds, of 12,000 where" in unmet
    assert "ε times rows" not in met
    assert "keep to a part of their bounds" in met
    assert "ε times rows of about 600 where" in unfolded(hidden(9, "add_remove").summary())


OTHER_TYPES: dict[str, tuple[object, ...]] = {
    "int": ("auto", 2.5, float("nan"), [1], None),
    "int | None": ("sqrt", 2.5, float("nan"), [1], {"a": 1}),
    "bool": ("yes", -1, None, 0.5, [True]),
    "Bounds": (7, float("nan"), "auto"),
    "Sequence[object] | None": (7, float("nan"), "auto"),
    "Sequence[Key]": (7, "auto"),
    "ClassWeight": (7, float("nan")),
}


@pytest.mark.loop(8)
@pytest.mark.parametrize("made", [*FITTED, learning.Clip], ids=lambda made: made.__name__)
@pytest.mark.few(100)
def test_a_parameter_of_another_type_is_refused_by_name_and_charges_nothing(made: Callable[..., Any]) -> None:
    wrong = {}
    for item in fields(made):  # type: ignore[arg-type]  # every estimator is a dataclass
        for value in OTHER_TYPES.get(str(item.type), ()):
            one = model(made).set_params(**{item.name: value})
            left = one.ledger.left()
            try:
                one.fit(X, Y)
            except PublicParameterError as refused:
                told = str(refused)
            except Exception as error:
                told = type(error).__name__
            else:
                told = "fitted"
            if not told.startswith(item.name) or one.ledger.left() != left:
                wrong[f"{item.name}={value}"] = told
    assert wrong == {}


def test_a_refused_parameter_that_holds_rows_is_not_quoted() -> None:
    forest = learning.RandomForestClassifier(**given(classes=[0, 1])).set_params(max_features=np.array([271828]))
    with pytest.raises(PublicParameterError, match=r"or None, got an? ndarray") as refused:
        forest.fit(X, Y)
    assert "271828" not in str(refused.value)


@pytest.mark.parametrize("few", [0, -1])
def test_a_number_of_features_or_levels_below_one_is_refused_before_the_charge(few: int) -> None:
    for name in ("max_features", "max_depth"):
        forest = learning.RandomForestClassifier(**given(classes=[0, 1])).set_params(**{name: few})
        with pytest.raises(PublicParameterError, match=name):
            forest.fit(X, Y)


def test_a_search_refuses_a_candidate_of_another_type_before_the_charge() -> None:
    ledger = given()["ledger"]
    tree = learning.DecisionTreeClassifier(bounds=[(0, 10)] * 2, classes=[0, 1], adjacency="add_remove", ledger=ledger)
    left = ledger.left()
    search = learning.GridSearchCV(tree, {"max_depth": [2, "deep"]}, epsilon=1)
    with pytest.raises(PublicParameterError, match="max_depth is a whole number or None, got 'deep'"):
        search.fit(X, Y)
    assert ledger.left() == left
