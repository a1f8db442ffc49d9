"""Weights of rows and classes: what they move, what they cost, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.errors import Fault, PublicParameterError, QuestionError
from reticent.learning import (
    EmpiricalRiskRegressor,
    GaussianNB,
    GridSearchCV,
    HuberRegressor,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
)
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ApproxDP, PureDP

RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (6000, 2))
Y = (X[:, 0] + 0.5 * RNG.normal(size=6000) > 0.9).astype(int)  # one of eight
HEAVY = np.where(Y == 1, 9.0, 1.0)


def account(kind: Any = "substitute") -> Ledger:
    budget = ApproxDP(Fraction(1000), Fraction(1, 100))
    return Ledger.create(None, title="weights", adjacency=Adjacency(kind), budget=budget)


def made(model: Any = LogisticRegression, **own: Any) -> Any:
    ledger = own.pop("ledger", account())
    given = {"epsilon": 3, "bounds": (-1, 1), "adjacency": "substitute", "ledger": ledger, "complete": True}
    target = {"y_bounds": (0, 1)} if model in (HuberRegressor, EmpiricalRiskRegressor) else {}
    return model(**{**given, **target, **own})


def recall(model: Any) -> float:
    return float(model.predict(X)[Y == 1].mean())


@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("own", [{}, {"delta": "1e-6"}, {"solver": "output", "C": "0.1"}, {"solver": "descent"}])
def test_a_class_that_weighs_more_is_found_more_often(model: Any, own: dict[str, Any]) -> None:
    """Without weights at most half of the rare class is found; noise moves a share by less than .2."""
    found = {}
    for name, weights in (("none", None), ("public", {0: 1, 1: 9}), ("balanced", "balanced")):
        fitted = made(model, classes=[0, 1], class_weight=weights, **own).fit(X, Y)
        found[name] = recall(fitted)
        assert ("by their weights" in fitted.estimand_) is (weights is not None)
    assert found["none"] < 0.5
    if own.get("solver") != "output":
        assert found["public"] > 0.7
    assert found["balanced"] > 0.7


def test_balanced_weights_are_counted_charged_and_shown() -> None:
    ledger = account()
    model = made(classes=[0, 1], class_weight="balanced", ledger=ledger).fit(X, Y)
    counted, *fit = model.guarantee_.parts
    assert counted.loss == PureDP(Fraction(3, 20))  # a twentieth of 3
    assert sum(part.loss.epsilon for part in fit) <= 3 - Fraction(3, 20)
    assert ledger.spent() == model.guarantee_.loss
    assert model.class_weight_[1] == 1
    assert model.class_weight_[0] == pytest.approx(Y.mean() / (1 - Y.mean()), abs=0.03)  # noise of some 20 rows
    shown = model.certificate_.document["model"]["released"]["class_weight"]
    assert shown == model.class_weight_.tolist()
    assert model.certificate_.document["model"]["parameters"]["class_weight"] == "balanced"
    assert model.certificate_.verify(ledger, allow_unsigned=True).ok


def test_public_weights_cost_nothing_and_are_shown() -> None:
    ledger, other = account(), account()
    plain = made(classes=[0, 1], intervals="no", ledger=other).fit(X, Y)
    model = made(classes=[0, 1], class_weight={0: 1, 1: "2.5"}, ledger=ledger).fit(X, Y)
    assert ledger.spent() == other.spent() == plain.guarantee_.loss
    assert model.certificate_.document["model"]["parameters"]["class_weight"] == {"0": 1, "1": "2.5"}


def test_a_weight_counts_as_so_many_rows_and_beyond_the_greatest_as_that() -> None:
    """Of the least point: ridge and noise are those of rows that weigh 1 / 9 and 1."""
    declared = made(classes=[0, 1], most_weight=9)
    whole = recall(declared.fit(X, Y, sample_weight=HEAVY))
    assert whole > 0.7
    assert declared.fit(X, Y, sample_weight=1e9 * HEAVY).coef_[0, 0] > 0  # all are cut to 9
    assert recall(declared) < 0.5
    for number in (made(HuberRegressor, epsilon=10), made(EmpiricalRiskRegressor, epsilon=10, slope=np.subtract)):
        number.set_params(most_weight=9)
        light, heavy = (number.fit(X, Y, sample_weight=some).predict(X).mean() for some in (np.ones(6000), HEAVY))
        assert heavy > light + 0.1


def test_a_weight_that_is_no_number_makes_a_row_that_does_not_count() -> None:
    ledger = account()
    model = made(classes=[0, 1], most_weight=1, ledger=ledger, epsilon=10).set_params(complete=False)
    weights: Any = np.where(np.arange(6000) < 3000, 1.0, np.nan)
    share = model.fit(X, Y, sample_weight=weights).incomplete_rows_.value
    assert share.value == pytest.approx(0.5, abs=0.02)  # Laplace noise of two rows in 6,000


@pytest.mark.parametrize(
    ("model", "own", "weights", "said"),
    [
        (LogisticRegression, {"classes": [0, 1]}, HEAVY, "Name most_weight"),
        (LogisticRegression, {"classes": [0, 1], "most_weight": 0}, HEAVY, "most_weight must be > 0"),
        (LogisticRegression, {"classes": [0, 1], "most_weight": 9, "intervals": "yes"}, HEAVY, "count alike"),
        (LogisticRegression, {"classes": [0, 1], "class_weight": "balanced", "intervals": "yes"}, None, "count alike"),
        (LogisticRegression, {"classes": [0, 1], "class_weight": {0: 1}}, None, "one weight for each of the classes"),
        (LogisticRegression, {"classes": [0, 1], "class_weight": {0: 1, 1: 0}}, None, "must be > 0"),
        (LogisticRegression, {"classes": [0, 1], "class_weight": "even"}, None, "balanced"),
    ],
)
def test_what_has_no_proof_is_refused_uncharged(model: Any, own: Any, weights: Any, said: str) -> None:
    ledger = account()
    with pytest.raises((QuestionError, PublicParameterError), match=said):
        made(model, ledger=ledger, **own).fit(X, Y, sample_weight=weights)
    assert not list(ledger.releases())


def test_models_without_a_proof_of_weights_say_so() -> None:
    with pytest.raises(PublicParameterError, match="GaussianNB has no class_weight"):
        GaussianNB(class_weight="balanced")  # type: ignore[call-arg]
    with pytest.raises(PublicParameterError, match="LinearRegression has no most_weight"):
        LinearRegression(most_weight=2)  # type: ignore[call-arg]
    with pytest.raises(PublicParameterError, match="GaussianNB has no most_weight"):
        GaussianNB().set_params(most_weight=3)


def test_a_number_of_weights_that_is_private_fails_after_the_charge_alone() -> None:
    with pytest.raises(ValueError, match="expected \\(6000,\\)"):
        made(classes=[0, 1], most_weight=9).fit(X, Y, sample_weight=HEAVY[:-1])
    ledger = account("add_remove")
    model = made(classes=[0, 1], most_weight=9, ledger=ledger).set_params(adjacency="add_remove")
    with pytest.raises(Fault):
        model.fit(X, Y, sample_weight=HEAVY[:-1])
    assert list(ledger.releases())


def test_handles_take_class_weights_and_searches_too() -> None:
    rows = {"a": X[:, 0], "b": X[:, 1], "y": Y}
    columns: Any = {"a": rt.real(-1, 1), "b": rt.real(-1, 1), "y": rt.integer(0, 1)}
    study = rt.study(rows, adjacency="substitute", columns=columns, budget=10)
    handles, target = study.xy(["a", "b"], "y")
    search = GridSearchCV(LogisticRegression(class_weight="balanced"), {"C": [1, 10]}, epsilon=5).fit(handles, target)
    assert recall(search) > 0.7
    assert search.certificate_.verify(study.ledger, allow_unsigned=True).ok
    with pytest.raises(QuestionError, match="name of the column"):
        LogisticRegression(most_weight=2).fit(handles, target, sample_weight=HEAVY)


def weighed_study() -> tuple[rt.Study, Any, Any]:
    rows = {"a": X[:, 0], "b": X[:, 1], "y": Y, "w": HEAVY, "u": HEAVY}
    rows["u"] = np.where(np.arange(6000) < 3000, HEAVY, np.nan)
    columns: Any = {name: rt.real(-1, 1, complete=True) for name in "ab"} | {"y": rt.integer(0, 1, complete=True)}
    columns |= {"w": rt.integer(0, 20, complete=True), "u": rt.real(0, 20), "v": rt.real()}
    rows["v"] = HEAVY
    study = rt.study(rows, adjacency="substitute", columns=columns, budget=50, override="a test")
    return study, *study.xy(["a", "b"], "y")


@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC])
def test_rows_of_a_study_are_weighed_by_one_of_its_columns(model: Any) -> None:
    study, handles, target = weighed_study()
    light = model(epsilon=3, most_weight=9).fit(handles, target)
    heavy = model(epsilon=3, most_weight=9).fit(handles, target, sample_weight="w")
    assert recall(light) < 0.5
    assert recall(heavy) > 0.7
    certificate = heavy.certificate_
    assert certificate.verify(study.ledger, allow_unsigned=True).ok
    assert set(certificate.document["columns"]) == {"a", "b", "y", "w"}
    assert heavy.guarantee_.loss == light.guarantee_.loss


def test_a_row_of_a_study_without_a_weight_does_not_count() -> None:
    _, handles, target = weighed_study()
    made = LogisticRegression(epsilon=9, most_weight=9)
    assert not hasattr(made.fit(handles, target, sample_weight="w"), "incomplete_rows_")  # no column lacks a value
    fitted: Any = made.fit(handles, target, sample_weight="u")
    share = fitted.incomplete_rows_
    assert share.value.value == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("weights", "said"), [("z", "no column 'z'"), ("v", "bounds|range"), (None, "Name most_weight")]
)
def test_weights_of_a_study_are_refused_uncharged(weights: str | None, said: str) -> None:
    study, handles, target = weighed_study()
    most = 9 if weights else None
    with pytest.raises((rt.Refusal, PublicParameterError), match=said):
        LogisticRegression(most_weight=most).fit(handles, target, sample_weight=weights or "w")
    assert not list(study.ledger.releases())


@pytest.mark.parametrize("shape", [(6000, 1), (6000, 2), ()])
def test_weights_of_another_shape_are_refused_in_their_own_words(shape: tuple[int, ...]) -> None:
    ledger = account()
    with pytest.raises(ValueError, match="sample_weight has one weight for each row: got an array of"):
        made(classes=[0, 1], most_weight=9, ledger=ledger).fit(X, Y, sample_weight=np.ones(shape))
    assert not list(ledger.releases())
