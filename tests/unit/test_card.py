"""The card of a model: all of it from the certificate, escaped, and on no page of another kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.certificate.certificate import Certificate
from reticent.certificate.render.card import OF_KIND, card
from reticent.certificate.render.page import page
from reticent.learning import DecisionTreeClassifier, KMeans, LogisticRegression, StandardScaler
from tests.unit.test_certificate_example import document, model_document, session_document


def test_a_card_says_what_the_model_predicts_from_what_and_what_it_is_not_for() -> None:
    told = dict(card(Certificate.of(model_document())))
    assert told["Model"] == "LogisticRegression"
    assert told["Predicts"] == "physlm"
    assert told["From"] == "mdvis from 0 to 50; disea from -1/3 to 1e3"
    assert "moved to them" in told["Clipped"]
    assert told["Coefficients"].startswith("1 of 2 have an interval")
    assert "Not for a finding about one person" in told["Not for"]


def test_clips_weights_classes_and_a_search_are_told() -> None:
    made: dict[str, Any] = model_document()
    model = made["model"]
    made["model"] = {
        **model,
        "what": "grid search",
        "parameters": {"clip": "3/2", "most_weight": 4, "class_weight": "balanced"},
        "released": {**model["released"], "classes": [0, 1], "note": "a dash stands where noise hides it"},
    }
    told = dict(card(Certificate.of(made)))
    assert told["Model"] == "LogisticRegression, chosen by a private grid search"
    assert told["Predicts"] == "physlm, one of 0, 1"
    for words in ("longer than 3/2 half-widths", "cut to 4", "Classes have weights"):
        assert words in told["Clipped"]
    assert "a dash stands" in told["Coefficients"]


@pytest.mark.parametrize("made", [document(), session_document()])
def test_answers_and_sessions_have_no_card(made: dict[str, Any]) -> None:
    certificate = Certificate.of(made)
    assert card(certificate) == ()
    assert "Model card" not in page(certificate)


def test_the_score_of_a_model_has_no_card() -> None:
    made = model_document()
    made["model"] = {**made["model"], "what": "accuracy"}
    assert card(Certificate.of(made)) == ()


def test_the_page_of_a_fit_has_its_card_and_names_are_escaped(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, 3000)
    rows = {"a<b>": x, "y": (x > 0.5).astype(int)}
    columns: Any = {"a<b>": rt.real(0, 1), "y": rt.integer(0, 1)}
    study = rt.study(rows, adjacency="substitute", columns=columns, budget=9)
    handles, target = study.xy(["a<b>"], "y")
    model = LogisticRegression(epsilon=3).fit(handles, target)
    text = model.certificate_.save(tmp_path / "model.html").read_text()
    assert "<h2>Model card</h2>" in text
    assert "a&lt;b&gt; from 0 to 1" in text
    assert "a<b>" not in text
    assert "y, one of 0, 1" in text
    scaler = dict(card(StandardScaler(epsilon=1).fit(handles).certificate_))
    assert "Predicts" not in scaler
    assert "Coefficients" not in scaler


def fitted(model: Any, *columns: str, y: str | None = "y") -> Any:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (3000, 2))
    rows = {"a": x[:, 0], "b": x[:, 1], "y": (x[:, 0] > 0.9).astype(int)}
    declared: Any = {"a": rt.real(0, 1), "b": rt.real(0, 1), "y": rt.integer(0, 1)}
    study = rt.study(rows, adjacency="substitute", columns=declared, budget=9)
    handles, target = study.xy(columns or ["a", "b"], y)
    return model.fit(handles) if y is None else model.fit(handles, target)


def test_a_ridge_that_is_heavier_than_asked_is_told_on_the_card() -> None:
    balanced = fitted(LogisticRegression(epsilon=1, class_weight="balanced"))
    assert balanced.ridge_ > 2
    told = dict(card(balanced.certificate_))
    assert f"a ridge of {balanced.ridge_:.4g}, where C asks for 1" in told["Penalty"]
    assert "rare classes are found less often" in told["Penalty"]
    assert "ridge" not in told["Coefficients"]
    assert f"Penalty: {told['Penalty']}" in balanced.card()
    light = fitted(LogisticRegression(epsilon=1, C="0.001"))
    assert dict(card(light.certificate_))["Penalty"] == "a ridge of 1,000, as C asks."
    weighed = fitted(LogisticRegression(epsilon=1, C="0.001", class_weight={0: 1, 1: 4}))
    assert "as C asks" in dict(card(weighed.certificate_))["Penalty"]


@pytest.mark.parametrize("given", [{"C": "x"}, {"C": 0}, {"C": 1, "class_weight": {"0": [1]}}, {}])
def test_a_penalty_without_a_public_measure_is_told_by_itself(given: dict[str, Any]) -> None:
    made: dict[str, Any] = model_document()
    model = made["model"]
    made["model"] = {**model, "parameters": given, "released": {**model["released"], "ridge": 3.5}}
    assert dict(card(Certificate.of(made)))["Penalty"] == "a ridge of 3.5."


def test_each_kind_of_model_has_its_own_words_of_misuse() -> None:
    """Every estimator that fits is named, but the scaler, whose numbers are means."""
    from reticent import learning
    from reticent.learning.fit.estimator import Estimator

    everything = {name: getattr(learning, name) for name in learning.__all__}
    kinds = {name for name, one in everything.items() if isinstance(one, type) and issubclass(one, Estimator)}
    assert kinds - set(OF_KIND) == {"StandardScaler", "Clip"}
    clusters = fitted(KMeans(epsilon=1, n_clusters=2), y=None)
    assert clusters.card().endswith(OF_KIND["KMeans"])


def test_the_page_of_a_model_tells_each_number_once() -> None:
    from reticent.certificate.summary import found

    model = fitted(LogisticRegression(epsilon=3))
    lines = dict(found(model.certificate_))
    assert {"intercept", "a", "b", "ridge"} <= set(lines)
    assert not {"coef", "note", "incomplete_rows", "incomplete rows"} & set(lines)
    assert [name for name, _ in found(model.certificate_)].count("intercept") == 1
    text = page(model.certificate_)
    assert "outcome&#34;" not in text
    assert not re.search(r"[0-9]\.[0-9]{7}", text.partition("What was let out")[2].partition("Privacy label")[0])
    tree = dict(found(fitted(DecisionTreeClassifier(epsilon=1)).certificate_))
    assert tree["trees"].startswith("1 of ")


def test_centres_and_axes_name_their_columns_and_none_has_an_interval_in_one_word() -> None:
    made: dict[str, Any] = model_document()
    columns = made["model"]["columns"]
    made["model"]["released"] = {"cluster_centers": [[1.5] * len(columns), [-2.0] * len(columns)], "n_iter": 3}
    shown = page(Certificate.of(made))
    assert "centre 1" in shown
    assert f"{columns[0]} −2, {columns[1]} −2" in shown
    none = {"low": None, "high": None, "value": 1.0}
    made["model"]["released"] = {"estimates": [none, none, none], "note": "no intervals: such a model has none"}
    assert dict(card(Certificate.of(made)))["Coefficients"] == "None has an interval: such a model has none."
