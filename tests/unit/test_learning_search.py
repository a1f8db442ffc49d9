"""A private grid search as scikit-learn's users handle it: pipelines, regressions, chances, tags, clones."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.errors import PublicParameterError, QuestionError
from reticent.learning import (
    Clip,
    GridSearchCV,
    HuberRegressor,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    folds,
    public,
)
from reticent.ledger import Ledger
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.outcome import NO_REPLY
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.statistics.scaling import UNIT

RNG = np.random.default_rng(12)
X = RNG.uniform(-1, 1, (3000, 2))
LABELS = (X[:, 0] > 0).astype(int)
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=3000)


def given(kind: Any = "substitute") -> dict[str, Any]:
    ledger = Ledger.create(None, title="search", adjacency=Adjacency(kind), budget=PureDP(Fraction(1000)))
    return {"bounds": (-1, 1), "adjacency": kind, "ledger": ledger, "complete": True}


def classes(**own: Any) -> LogisticRegression:
    return LogisticRegression(**given(), classes=[0, 1], intervals="no", **own)


def numbers(**own: Any) -> HuberRegressor:
    return HuberRegressor(**given(), y_bounds=(-1, 1), **own)


def test_a_regression_is_searched_by_its_squared_errors_at_the_price_of_the_search() -> None:
    """A penalty of 10^6 leaves the mean of y; the sums of squared errors differ by some 400 rows' worth."""
    model = numbers()
    search = GridSearchCV(model, {"alpha": [10**6, 1]}, epsilon=5).fit(X, NUMBERS)
    assert search.best_params_ == {"alpha": 1}
    assert search.best_index_ == 1
    assert search.predict(X[:3]).shape == (3,)
    assert search.score(public(X), public(NUMBERS)) > 0.8
    assert model.ledger is not None
    assert model.ledger.spent() == search.guarantee_.loss
    assert Fraction(49, 10) < search.guarantee_.loss.epsilon <= 5  # type: ignore[union-attr]  # it is pure
    assert search.certificate_.verify(model.ledger, allow_unsigned=True).ok
    assert not hasattr(search, "classes_")
    assert not hasattr(search, "predict_proba")
    assert GridSearchCV(numbers(), {"alpha": [10**6, 1]}, epsilon=10, cv=folds(3)).fit(X, NUMBERS).best_index_ == 1


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("value", [0.0, 1.0, 1e9, -1e300, np.nan])
def test_a_row_moves_the_errors_of_a_regression_by_what_the_choice_declares(
    kind: Any, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test row alone has errors; every other row trains."""
    seen: list[tuple[Fraction, int]] = []
    kept = gate.draw

    def spy(mechanism: Any, exact: Any, entropy: Any) -> Any:
        if isinstance(mechanism, Exponential) and isinstance(exact, Candidates):
            seen.append((mechanism.sensitivity.bound, int(np.abs(exact.scores).max())))
        return kept(mechanism, exact, entropy)

    monkeypatch.setattr(gate, "draw", spy)
    monkeypatch.setattr("reticent.learning.search.TESTS", 1)  # every row tests
    model = HuberRegressor(**given(kind), y_bounds=(-1, 1))
    for y in (-1e9, 1.0, np.nan):
        GridSearchCV(model, {"alpha": [1, 100]}, epsilon=1).fit(np.array([[value, value]]), np.array([y]))
    assert all(moved <= bound == UNIT for bound, moved in seen)
    assert len(seen) == 3


def test_errors_that_are_not_cut_move_the_choice_further_and_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = numbers()
    model.set_params(epsilon=5).fit(X, NUMBERS)
    most, wrong = model._missed(NUMBERS)
    far = np.array([[99.0, 0.0]])
    assert wrong(far, np.array([-1.0])).tolist() == [most]
    monkeypatch.setattr(np, "clip", lambda x, low, high: x)
    assert wrong(far, np.array([-1.0]))[0] > most


def test_the_steps_of_a_descent_are_no_steps_of_a_pipeline() -> None:
    for steps in (None, 5):
        search = GridSearchCV(numbers(solver="descent", steps=steps), {"alpha": [1, 10]}, epsilon=5).fit(X, NUMBERS)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict(X), search.predict(X))


def test_chances_scores_and_decisions_are_those_of_the_estimator_chosen() -> None:
    search = GridSearchCV(classes(score_epsilon="0.5"), {"C": ["0.01", 1]}, epsilon=5).fit(X, LABELS)
    best: Any = search.best_estimator_
    np.testing.assert_array_equal(search.predict_proba(X), best.predict_proba(X))
    np.testing.assert_array_equal(search.predict_log_proba(X), best.predict_log_proba(X))
    np.testing.assert_array_equal(search.decision_function(X), best.decision_function(X))
    assert search.score(public(X), public(LABELS)) > 0.9
    before = best.ledger.spent()
    assert 0.8 < search.score(X, LABELS) <= 1
    assert best.ledger.spent().epsilon == before.epsilon + Fraction(1, 2)
    assert search.cv_results_ == {"params": [{"C": "0.01"}, {"C": 1}], "param_C": ["0.01", 1]}
    assert not hasattr(search, "best_score_")  # scores are private
    with pytest.raises(PublicParameterError, match=r"name cv=folds\(3\), or leave cv out"):
        GridSearchCV(LinearSVC(**given(), classes=[0, 1]), {"C": [1]}, cv=3).fit(X, LABELS)  # type: ignore[arg-type]
    svc = GridSearchCV(LinearSVC(**given(), classes=[0, 1]), {"C": [1]})
    assert not hasattr(svc, "predict_proba")
    assert hasattr(svc, "decision_function")


def test_a_pipeline_of_clip_is_searched_by_the_names_of_its_last_step() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    steps = pipeline.make_pipeline(Clip((-1, 1)), classes())
    search = GridSearchCV(steps, {"logisticregression__C": ["0.01", 1]}, epsilon=5).fit(5 * X, LABELS)
    assert set(search.best_params_) == {"logisticregression__C"}
    assert isinstance(search.best_estimator_, pipeline.Pipeline)
    np.testing.assert_array_equal(search.predict(5 * X), search.best_estimator_.predict(5 * X))
    np.testing.assert_array_equal(search.predict_proba([[1, 1]]), search.predict_proba([[9, 9]]))  # moved to bounds
    assert search.score(public(5 * X), public(LABELS)) > 0.9
    assert "chosen privately among 2" in search.summary()
    assert search.card().startswith("Model: ")
    assert "chosen by a private grid search" in search.card()
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert again.estimator[-1].ledger is None
    assert steps[-1].ledger is not None  # the pipeline that was given keeps its own
    with pytest.raises(QuestionError, match="logisticregression__"):
        GridSearchCV(steps, {"C": [1]}).fit(X, LABELS)


def test_what_cannot_be_scored_is_refused_uncharged() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    from sklearn.preprocessing import StandardScaler

    model = classes()
    with pytest.raises(QuestionError, match="pipeline of Clip"):
        GridSearchCV(pipeline.make_pipeline(StandardScaler(), model), {"logisticregression__C": [1]}).fit(X, LABELS)
    with pytest.raises(QuestionError, match="GridSearchCV takes a classifier or a regressor"):
        GridSearchCV(Clip((-1, 1)), {"bounds": [(0, 1)]}).fit(X, LABELS)
    assert model.ledger is not None
    assert not list(model.ledger.releases())


def test_a_search_is_cloned_tagged_and_set_as_scikit_learn_does() -> None:
    base = pytest.importorskip("sklearn.base")
    search = GridSearchCV(numbers(), {"alpha": [1, 10]}, epsilon=2)
    copied = base.clone(search).set_params(estimator__cut="0.3", epsilon=3)
    assert copied.get_params()["estimator__cut"] == "0.3"
    assert search.get_params()["estimator__cut"] == "0.1"
    assert base.is_regressor(search)
    assert base.is_classifier(GridSearchCV(classes(), {"C": [1]}))
    with pytest.raises(Exception, match="not fitted"):
        search.predict(X)


def test_a_search_on_handles_keeps_the_names_of_the_columns() -> None:
    columns: Any = {"a": rt.real(-1, 1), "b": rt.real(-1, 1), "y": rt.real(-1, 1)}
    rows = {"a": X[:, 0], "b": X[:, 1], "y": NUMBERS}
    study = rt.study(rows, adjacency="substitute", columns=columns, budget=10)
    x, y = study.xy(["a", "b"], "y")
    search = GridSearchCV(HuberRegressor(), {"alpha": [10**6, 1]}, epsilon=6).fit(x, y)
    assert search.feature_names_in_.tolist() == ["a", "b"]
    assert search.best_params_ == {"alpha": 1}
    assert search.score(x, y, epsilon=1) > 0.5


def test_a_candidate_without_a_reply_errs_on_every_row() -> None:
    robust: Any = LinearRegression(**given(), y_bounds=(-1, 1))
    robust.outcome_ = NO_REPLY
    most, wrong = robust._missed(NUMBERS)
    assert wrong(X[:3], np.array([0.0, 1.0, np.nan])).tolist() == [most, most, 0]
