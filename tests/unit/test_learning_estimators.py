"""Estimators: the ledger counts every fit, nothing is taken from the rows, and nothing of a row is kept."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent import learning as private
from reticent.data.schema import Column
from reticent.errors import BudgetError, Fault, NoReplyError, PublicParameterError, QuestionError, Refusal
from reticent.ledger import Ledger
from reticent.outcome import NO_REPLY
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, ApproxDP, Counted, PureDP

CANARY = 3.141592653589793  # a value no computation of noisy sums gives back
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (400, 2))
LABELS = (X[:, 0] + RNG.normal(size=400) > 0).astype(int)
NUMBERS = X @ np.array([1.0, -2.0])


def account(budget: Counted | None = None, path: Path | None = None) -> Ledger:
    budget = budget or ApproxDP(Fraction(10**4), Fraction(1, 1000))
    return Ledger.create(path, title="models", adjacency=Adjacency("add_remove"), budget=budget)


def given(ledger: Ledger | None = None, **own: object) -> dict[str, Any]:
    return {"epsilon": 1, "bounds": (-1, 1), "adjacency": "add_remove", "ledger": ledger or account(), **own}


CLASSIFIERS: tuple[Callable[..., Any], ...] = (
    private.LogisticRegression,
    private.LinearSVC,
    private.GaussianNB,
    private.DecisionTreeClassifier,
    private.RandomForestClassifier,
    private.BernsteinClassifier,
)
REGRESSORS: tuple[Callable[..., Any], ...] = (
    private.LinearRegression,
    private.HuberRegressor,
    private.QuantileRegressor,
)
OTHERS: tuple[Callable[..., Any], ...] = (private.StandardScaler, private.PCA, private.KMeans)
ALL = (*CLASSIFIERS, *REGRESSORS, *OTHERS)


def fitted(made: Callable[..., Any], ledger: Ledger | None = None, x: object = X, **own: object) -> Any:
    if made in CLASSIFIERS:
        return made(**given(ledger, classes=[0, 1], **own)).fit(x, LABELS)
    if made in REGRESSORS:
        return made(**given(ledger, y_bounds=(-4, 4), **own)).fit(x, NUMBERS)
    return made(**given(ledger, **own)).fit(x)


@pytest.mark.parametrize("made", ALL)
def test_a_fit_is_one_line_of_the_ledger(made: Callable[..., Any]) -> None:
    ledger = account()
    model = fitted(made, ledger)
    (line,) = ledger.releases()
    assert line.state == "committed"
    assert ledger.spent() == model.guarantee_.loss
    assert model.guarantee_.loss.epsilon <= 1
    assert model.guarantee_.loss.epsilon > Fraction(99, 100)


@pytest.mark.parametrize("made", ALL)
def test_a_delta_is_charged_where_noise_is_gaussian_and_not_else(made: Callable[..., Any]) -> None:
    model = fitted(made, delta="1e-6")
    pure = made in (private.DecisionTreeClassifier, private.RandomForestClassifier, private.LinearRegression)
    assert isinstance(model.guarantee_.loss, PureDP if pure else ApproxDP)


def test_a_zcdp_ledger_is_charged_in_rho() -> None:
    ledger = account(ZCDP(Fraction(2)))
    fitted(private.LogisticRegression, ledger, delta="1e-6")
    spent = ledger.spent()
    assert isinstance(spent, ZCDP)
    assert 0 < spent.rho < Fraction(1, 20)  # the sum of the rhos, not epsilon squared over two


@pytest.mark.parametrize("made", ALL)
def test_nothing_fitted_holds_a_row(made: Callable[..., Any], tmp_path: Path) -> None:
    rows = X.copy()
    rows[0] = [CANARY / 4, -CANARY / 4]
    model = fitted(made, account(path=tmp_path / "a.ledger"), rows)
    whole = pickle.dumps(model)
    for value in (rows[0, 0], rows[0, 1], rows[1, 0]):
        assert np.float64(value).tobytes() not in whole
        assert repr(float(value)) not in repr(model)
    sizes = [np.size(value) for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")]
    assert max(sizes) < len(rows)  # no attribute has one entry for each row
    assert pickle.loads(whole).predict is not None if hasattr(model, "predict") else True


def test_the_search_for_rows_finds_them(tmp_path: Path) -> None:
    model = fitted(private.LinearRegression, account(path=tmp_path / "a.ledger"))
    model.kept_ = X[:3].copy()
    assert np.float64(X[1, 0]).tobytes() in pickle.dumps(model)


@pytest.mark.parametrize(
    ("missing", "word"),
    [("bounds", "bounds"), ("adjacency", "adjacency"), ("ledger", "ledger"), ("classes", "classes")],
)
def test_what_is_public_must_be_named(missing: str, word: str) -> None:
    ledger = account()
    with pytest.raises(PublicParameterError, match=word):
        private.LogisticRegression(**{**given(ledger, classes=[0, 1]), missing: None}).fit(X, LABELS)
    assert ledger.spent() == PureDP(Fraction(0))


def test_a_budget_that_is_spent_refuses_before_rows_are_looked_at() -> None:
    ledger = account(PureDP(Fraction(1)))
    fitted(private.LogisticRegression, ledger)
    with pytest.raises(BudgetError):
        fitted(private.LogisticRegression, ledger)


def test_labels_that_were_not_declared_change_nothing_one_can_see() -> None:
    strange = np.where(np.arange(400) < 3, 7, LABELS)
    model: Any = private.GaussianNB(**given(classes=[0, 1])).fit(X, strange)
    assert model.classes_.tolist() == [0, 1]


def test_a_fault_after_the_charge_is_opaque_and_stays_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.statistics.regression.products import Products

    def broken(*_: object) -> object:
        raise ValueError(f"row {CANARY}")

    monkeypatch.setattr(Products, "draw", broken)
    ledger = account()
    with pytest.raises(Fault) as caught:
        fitted(private.LinearRegression, ledger)
    assert str(CANARY) not in str(caught.value)
    assert caught.value.__context__ is None
    (line,) = ledger.releases()
    assert line.state == "failed"
    assert ledger.spent() == PureDP(Fraction(1))


@pytest.mark.parametrize("made", [*CLASSIFIERS, *REGRESSORS])
def test_a_score_of_private_rows_is_refused_or_charged(made: Callable[..., Any]) -> None:
    ledger = account()
    model, y = fitted(made, ledger), LABELS if made in CLASSIFIERS else NUMBERS
    before = ledger.spent()
    with pytest.raises(QuestionError, match="A score of private rows is a release"):
        model.score(X, y)
    assert ledger.spent() == before
    assert model.score(X, y, epsilon="0.5") <= 1
    assert ledger.spent() == PureDP(before.epsilon + Fraction(1, 2))  # type: ignore[union-attr]  # both are pure
    assert math.isfinite(model.score(private.public(X), private.public(y)))
    assert len(ledger.releases()) == 2


@pytest.mark.wide
def test_five_folds_and_a_grid_charge_exactly(tmp_path: Path) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    ledger = account(path=tmp_path / "a.ledger")
    model = private.LogisticRegression(**given(ledger, classes=[0, 1], score_epsilon="0.1", intervals="no"))
    selection.cross_val_score(model, X, LABELS, cv=5)
    assert ledger.spent() == PureDP(Fraction(11, 2))
    selection.GridSearchCV(model, {"C": [1, 10]}, cv=3).fit(X, LABELS)
    assert ledger.spent() == PureDP(Fraction(11, 2) + 2 * 3 * Fraction(11, 10) + 1)


@pytest.mark.wide
def test_fits_in_other_processes_charge_the_same_ledger(tmp_path: Path) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    ledger = account(path=tmp_path / "a.ledger")
    model = private.GaussianNB(**given(ledger, classes=[0, 1], score_epsilon="0.1"))
    selection.cross_val_score(model, X, LABELS, cv=2, n_jobs=2)
    assert ledger.spent() == PureDP(Fraction(11, 5))


def test_clones_share_the_ledger_and_not_what_was_fitted() -> None:
    base = pytest.importorskip("sklearn.base")
    ledger = account(PureDP(Fraction(1)))
    model = fitted(private.LogisticRegression, ledger)
    again = base.clone(model)
    assert not hasattr(again, "guarantee_")
    with pytest.raises(BudgetError):
        again.fit(X, LABELS)


def test_a_grid_search_of_ours_reserves_once() -> None:
    ledger = account()
    model = private.LogisticRegression(**given(ledger, classes=[0, 1], intervals="no"))
    search = private.GridSearchCV(estimator=model, param_grid={"C": ["0.1", 1, 10]}, epsilon=1).fit(X, LABELS)
    (line,) = ledger.releases()
    assert line.state == "committed"
    spent = ledger.spent()
    assert isinstance(spent, PureDP)
    assert Fraction(999, 1000) < spent.epsilon <= 1
    assert spent == search.guarantee_.loss
    assert search.best_params_["C"] in ("0.1", 1, 10)
    assert set(np.unique(search.predict(X))) <= {0, 1}


def test_a_grid_does_not_search_what_is_public() -> None:
    model = private.LogisticRegression(**given(classes=[0, 1]))
    with pytest.raises(QuestionError, match="epsilon"):
        private.GridSearchCV(estimator=model, param_grid={"epsilon": [1, 2]}).fit(X, LABELS)


def _study() -> rt.Study:
    columns: dict[str, Column] = {"a": rt.real(-1, 1), "b": rt.real(-1, 1), "y": rt.integer(0, 1), "z": rt.real(-4, 4)}
    rows = {"a": X[:, 0], "b": X[:, 1], "y": LABELS, "z": NUMBERS}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=10)


def test_a_study_is_charged_and_shows_no_row() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    study = _study()
    x, y = study.xy(["a", "b"], "y")
    clip = private.Clip(bounds=[(-1, 1), (-1, 1)])
    model = pipeline.make_pipeline(clip, private.LogisticRegression(epsilon=1)).fit(x, y)
    assert study.left() == PureDP(Fraction(9))
    assert "a" in model[-1].summary()
    asks: tuple[Callable[[Any], object], ...] = (len, list, np.asarray, model[-1].predict)
    for ask in asks:
        with pytest.raises(QuestionError):
            ask(x)
    assert str(x) == "<a handle on private rows: a, b>"
    assert model[-1].score(x, y, epsilon=1) >= 0


def test_handles_and_arrays_give_the_same_integers() -> None:
    study = _study()
    x, _ = study.xy(["a", "b"], "z")
    from reticent.statistics.scaling import UNIT, Scaling

    ours = Scaling(x.bounds).whole(x.shelf.read(["a", "b"]))
    theirs = Scaling(x.bounds).whole(X)
    assert np.abs(np.sort(ours, axis=0) - np.sort(theirs, axis=0)).max() <= 1 < UNIT


def test_a_robust_fit_that_declines_has_no_coefficients() -> None:
    model: Any = private.LinearRegression(
        **given(y_bounds=(-4, 4), method="R_H", delta="1e-9", people=400, epsilon="0.5")
    )
    try:
        model.fit(X[:, :1], NUMBERS)
    except Refusal:
        return  # R_H refuses beforehand what it would never answer
    if model.outcome_ is NO_REPLY:
        with pytest.raises(NoReplyError):
            _ = model.coef_


def test_an_epsilon_that_protects_no_one_is_refused() -> None:
    with pytest.raises(PublicParameterError, match="protects no one"):
        fitted(private.LinearRegression, epsilon=50)
    with pytest.raises(PublicParameterError, match="floating-point"):
        fitted(private.LinearRegression, epsilon=0.1 + 0.2)
