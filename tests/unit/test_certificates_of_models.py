"""Certificates of models: they show what a fit left, the ledger has their digest, and they hold nothing of a row."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent import learning as private
from reticent.certificate.certificate import Certificate, read_certificate
from reticent.certificate.keys import load_private, make_keys
from reticent.certificate.render.page import page
from reticent.entropy import Replayed
from reticent.errors import BudgetError, CheckError, Fault, PublicParameterError
from reticent.learning.fit.estimator import Estimator
from reticent.learning.fit.serialization import MOST, shown
from reticent.ledger import Ledger
from reticent.mechanisms import gate
from reticent.outcome import NO_REPLY, Reply
from reticent.privacy.loss import ZCDP, PureDP
from tests.unit.test_learning_estimators import ALL, CLASSIFIERS, LABELS, REGRESSORS, X, account, fitted, given

OURS = (  # charges nothing; take a program, and have tests of their own
    private.Clip,
    private.FunctionClassifier,
    private.EmpiricalRiskClassifier,
    private.EmpiricalRiskRegressor,
)


def failing(certificate: Certificate, ledger: Ledger) -> list[str]:
    return [check.name for check in certificate.verify(ledger, allow_unsigned=True).checks if not check.ok]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a JSON value that holds a number."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        if isinstance(inner, int | float) and not isinstance(inner, bool):
            yield (*path, name)
        yield from leaves(inner, (*path, name))


def moved(document: dict[str, Any], path: tuple[Any, ...], by: float = 1) -> Certificate:
    """The certificate with one number of it moved."""
    found = copy.deepcopy(document)
    inner: Any = found
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] += by
    return Certificate.of(found)


def replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits draw coins that repeat."""
    monkeypatch.setattr(gate, "coins_for", lambda _: Replayed(b"certificates of models"))


# --- every estimator --------------------------------------------------------------------------------------------------


def test_every_estimator_is_tested_here() -> None:
    listed = [getattr(private, name) for name in private.__all__]
    made = {one for one in listed if isinstance(one, type) and issubclass(one, Estimator)}
    assert made - set(OURS) == set(ALL)


@pytest.mark.parametrize("made", ALL)
def test_a_fit_verifies_and_whatever_is_changed_in_it_does_not(made: Callable[..., Any]) -> None:
    ledger = account()
    certificate = fitted(made, ledger).certificate_
    assert failing(certificate, ledger) == []
    assert read_certificate(certificate.to_json()) == certificate
    document = certificate.document
    numbers = list(leaves(document["model"]["released"]))
    assert len(numbers) >= 2
    for path in (numbers[0], numbers[-1]):
        assert failing(moved(document, ("model", "released", *path), 0.5), ledger) == ["entry"]
    less = {**document, "guarantee": {**document["guarantee"], "loss": {"epsilon": "0.1", "delta": "0"}}}
    assert failing(Certificate.of(less), ledger) == ["entry", "losses"]
    for name in ("purpose", "people", "kind"):
        other = {"purpose": "another", "people": 12, "kind": "session"}[name]
        if name == "kind":
            with pytest.raises(CheckError):
                Certificate.of({**document, name: other})
        else:
            assert failing(Certificate.of({**document, name: other}), ledger) == ["entry"]


@pytest.mark.parametrize("made", ALL)
def test_a_certificate_shows_every_number_that_is_in_the_model(made: Callable[..., Any]) -> None:
    model = fitted(made, delta="1e-6")
    released = model.certificate_.document["model"]["released"]
    for name in [name for name in model._left if isinstance(getattr(model, name), np.ndarray)]:
        stated = released["intercept" if name == "_start" else name.strip("_")]
        assert np.array_equal(np.array(stated), getattr(model, name)), name
    assert "<" not in json.dumps(released)  # nothing is named in place of its numbers
    noted = {"guarantee_", "certificate_", "n_features_in_", "_left"}
    parameters = set(model.get_params())
    assert set(vars(model)) - noted - parameters == set(model._left)


def test_another_ledger_or_a_commit_of_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = fitted(private.LinearRegression).certificate_
    assert failing(certificate, account()) == ["entry"]
    other = account()
    fitted(private.LinearRegression, other)
    assert failing(certificate, other) == ["entry"]
    honest, ledger = Ledger.commit, account()
    monkeypatch.setattr(Ledger, "commit", lambda self, receipt, **told: honest(self, receipt, digest="0" * 64))
    assert failing(fitted(private.LinearRegression, ledger).certificate_, ledger) == ["entry"]


def test_a_ledger_in_rho_has_the_proof_in_rho() -> None:
    ledger = account(ZCDP(Fraction(2)))
    certificate = fitted(private.GaussianNB, ledger, delta="1e-6").certificate_
    assert failing(certificate, ledger) == []
    assert certificate.charged == ledger.spent()
    assert isinstance(certificate.guarantee.loss, ZCDP)


@pytest.mark.parametrize(("method", "replies"), [("theil_sen", True), ("R_S", False)])
def test_a_robust_fit_says_whether_it_replied(method: str, replies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On coins that repeat, of 400 rows: Theil-Sen replies, and R_S has blocks too few to."""
    replayed(monkeypatch)
    ledger = account()
    model = fitted(private.LinearRegression, ledger, X[:, :1], method=method, delta="1e-6", people=400, epsilon=10)
    assert failing(model.certificate_, ledger) == []
    released = model.certificate_.document["model"]["released"]
    if replies:
        assert released["coef"] == model._coef.tolist()
        assert released["outcome"] == {"outcome": "reply"}
    else:
        assert released["outcome"] == {"outcome": "no_reply"}
        assert set(released) == {"outcome", "incomplete_rows"}  # and no coefficient
        assert "no_reply" in page(model.certificate_)


# --- one fit, and no other --------------------------------------------------------------------------------------------


def test_a_second_fit_has_its_own_certificate_and_nothing_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed(monkeypatch)
    ledger = account()
    model = fitted(private.LinearRegression, ledger, X[:, :1])
    first = model.certificate_
    model.set_params(method="R_S", delta="1e-6", people=400, epsilon=10).fit(X[:, :1], X[:, 0])
    assert failing(first, ledger) == failing(model.certificate_, ledger) == []
    assert model.certificate_.document["release"] != first.document["release"]
    assert "coef" in first.document["model"]["released"]
    assert set(model.certificate_.document["model"]["released"]) == {"outcome", "incomplete_rows"}  # no reply
    assert not hasattr(model, "_coef")


def test_a_fault_leaves_no_number_that_no_certificate_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Ledger, receipt: object, *, digest: str) -> None:
        raise OSError

    model = fitted(private.LinearRegression)
    monkeypatch.setattr(Ledger, "commit", broken)
    with pytest.raises(Fault):
        model.fit(X, X[:, 0])
    assert set(vars(model)) == set(model.get_params())


def test_a_refused_fit_leaves_the_one_before_it() -> None:
    ledger = account(PureDP(Fraction(1)))
    model = fitted(private.LinearRegression, ledger)
    first, coefficients = model.certificate_, model.coef_
    with pytest.raises(BudgetError):
        model.fit(X, X[:, 0])
    assert model.certificate_ is first
    assert np.array_equal(model.coef_, coefficients)


def test_what_a_fit_is_for_and_who_made_it_stand_in_ledger_and_certificate() -> None:
    ledger = account()
    certificate = fitted(private.KMeans, ledger, purpose="segments", who="anna").certificate_
    (line,) = ledger.releases()
    assert (line.purpose, line.who) == ("segments", "anna")
    assert (certificate.document["purpose"], certificate.document["who"]) == ("segments", "anna")
    assert certificate.document["study"]["title"] == "models"
    assert not {"ledger", "study"} & set(certificate.document["model"]["parameters"])


def test_a_search_has_one_certificate_for_all_of_it() -> None:
    ledger = account()
    model = private.LogisticRegression(**given(ledger, classes=[0, 1], intervals="no", purpose="which C"))
    search = private.GridSearchCV(estimator=model, param_grid={"C": ["0.1", 1]}, epsilon=1).fit(X, LABELS)
    certificate = search.certificate_
    assert search.best_estimator_.certificate_ is certificate  # type: ignore[attr-defined]  # no pipeline
    assert failing(certificate, ledger) == []
    assert certificate.guarantee == search.guarantee_
    stated = certificate.document["model"]
    assert (stated["what"], stated["parameters"]["param_grid"]) == ("grid search", {"C": ["0.1", 1]})
    assert stated["released"]["best_params"] == search.best_params_
    best: Any = search.best_estimator_
    assert stated["released"]["coef"] == best.coef_.tolist()
    assert not hasattr(model, "certificate_")
    assert "a grid search of LogisticRegression on x0 and x1" in certificate.explain()


def test_a_score_of_private_rows_has_a_certificate_that_names_the_model() -> None:
    ledger = account()
    for made, y in ((private.GaussianNB, LABELS), (private.LinearRegression, X[:, 0])):
        model = fitted(made, ledger)
        assert not hasattr(model, "score_certificate_")
        value = model.score(X, y, epsilon="0.5")
        certificate = model.score_certificate_
        released = certificate.document["model"]["released"]
        assert (released["score"], released["of"]) == (value, model.certificate_.digest)
        assert failing(certificate, ledger) == []
        assert certificate.charged == PureDP(Fraction(1, 2))
        model.score(private.public(X), private.public(y))
        assert model.score_certificate_ is certificate


@pytest.mark.wide
def test_each_step_of_a_pipeline_has_its_own() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    ledger = account()
    model = pipeline.make_pipeline(
        private.Clip(bounds=[(-1, 1), (-1, 1)]),
        private.PCA(**given(ledger)),
        private.GaussianNB(**given(ledger, classes=[0, 1], bounds=(-3, 3))),
    ).fit(X, LABELS)
    assert not hasattr(model[0], "certificate_")
    assert [failing(model[place].certificate_, ledger) for place in (1, 2)] == [[], []]
    assert [model[place].certificate_.document["release"] for place in (1, 2)] == ["r-0001", "r-0002"]


# --- on a study -------------------------------------------------------------------------------------------------------


def study(ledger: Path | None = None) -> rt.Study:
    columns: dict[str, Any] = {
        "age": rt.real(-1, 1, why="a protocol"),
        "educ": rt.real(-1, 1),
        "town": rt.category(["a", "b"]),
        "sick": rt.integer(0, 1, why="yes or no"),
    }
    rows = {"age": X[:, 0], "educ": X[:, 1], "town": ["a"] * len(X), "sick": LABELS}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=10, ledger=ledger, title="clinic")


def test_a_fit_on_a_study_states_its_columns_and_reads_for_an_officer(tmp_path: Path) -> None:
    of = study(tmp_path / "clinic.ledger")
    certificate = private.LogisticRegression(epsilon=1).fit(*of.xy(["age", "educ"], "sick")).certificate_
    private_key, public_key = make_keys(tmp_path / "officer")
    assert certificate.sign(load_private(private_key)).verify(tmp_path / "clinic.ledger", public_key).ok
    document = certificate.document
    assert {name: column["why"] for name, column in document["columns"].items()} == {
        "age": "a protocol",
        "educ": "",
        "sick": "yes or no",
    }
    assert (document["study"]["title"], document["study"]["source"]) == ("clinic", "in memory")
    said = "a fit of LogisticRegression to age and educ, target sick"
    assert said in certificate.explain()
    listed = certificate.checklist()
    assert f"[x] let out: {said}" in listed
    assert "[!] the bounds of educ have no reason" in listed
    assert "the bounds of age have no reason" not in listed
    assert certificate.to_registry()["hyperparameters"] == document["model"]["parameters"]
    shown_page = page(certificate)
    assert certificate.proof().splitlines()[0] in shown_page
    assert "What was let out" in shown_page
    slope = document["model"]["released"]["coef"][0][0]
    cell = re.search(r'<th scope="row">age</th><td>([^< ]+)', shown_page)  # digits by the interval, where one is told
    assert cell is not None
    assert float(cell[1].replace("−", "-")) == pytest.approx(slope, rel=0.05, abs=0.05)
    assert certificate.save(tmp_path / "model.html").read_text("utf-8") == shown_page
    assert read_certificate(certificate.save(tmp_path / "model.json")) == certificate
    with pytest.raises(PublicParameterError, match=r"\.json or \.html"):
        certificate.save(tmp_path / "model.txt")


def test_a_category_is_stated_under_its_own_name() -> None:
    of = study()
    certificate = private.LogisticRegression(epsilon=1).fit(*of.xy(["age", "town"], "sick")).certificate_
    assert failing(certificate, of.ledger) == []
    assert certificate.document["model"]["columns"] == ["age", "town=a", "town=b"]
    assert set(certificate.document["columns"]) == {"age", "town", "sick"}


def test_bounds_named_in_a_program_are_said_to_be_its_writers_word() -> None:
    certificate = fitted(private.LinearRegression).certificate_
    assert certificate.document["columns"] == {}
    assert certificate.document["model"]["bounds"] == [["-1", "1"], ["-1", "1"]]
    assert "[ ] bounds were named in a program" in certificate.checklist()


# --- nothing of a row -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", ALL)
def test_nothing_of_a_row_is_in_a_certificate_and_a_pickle_carries_it(made: Callable[..., Any], tmp_path: Path) -> None:
    rows = X.copy()
    rows[0] = [0.7853981633974483, -0.7853981633974483]
    ledger = account(path=tmp_path / "a.ledger")
    model = fitted(made, ledger, rows)
    text = model.certificate_.to_json() + page(model.certificate_)
    assert [value for row in rows[:50] for value in row.tolist() if repr(value)[1:14] in text] == []
    again = pickle.loads(pickle.dumps(model))
    assert again.certificate_ == model.certificate_
    assert failing(again.certificate_, ledger) == []


def test_a_row_that_a_fit_keeps_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.learning.moments import ClassMoments

    honest = ClassMoments.draw
    model: Any = private.StandardScaler(**given())

    def keeping(self: ClassMoments, values: Any, *rest: Any) -> Any:
        model.kept_ = values[:1].copy()
        return honest(self, values, *rest)

    monkeypatch.setattr(ClassMoments, "draw", keeping)
    assert repr(float(X[0, 0])) in model.fit(X).certificate_.to_json()


@dataclass
class Trainer:
    """A program of the caller's that keeps what it was given."""

    rows: Any = None

    def __call__(self, rows: Any, signs: Any) -> Callable[[Any], Any]:
        self.rows = rows
        return lambda points: np.zeros(len(points))


def test_a_program_of_the_callers_is_stated_by_name_whatever_it_keeps() -> None:
    ledger, trainer = account(), Trainer()
    for _ in range(2):
        model = private.FunctionClassifier(**given(ledger, classes=[0, 1], train=trainer, stability="0.1")).fit(
            X, LABELS
        )
        assert trainer.rows is not None
        assert model.certificate_.document["model"]["parameters"]["train"] == "<Trainer>"
        assert failing(model.certificate_, ledger) == []
        assert repr(float(trainer.rows[0, 0]))[:14] not in model.certificate_.to_json()


# --- numbers as JSON --------------------------------------------------------------------------------------------------


def test_large_arrays_are_shown_by_shape_and_digest() -> None:
    """The digest of 0.0 and 1.0 by turns, as little-endian doubles."""
    import hashlib
    import struct

    many = np.arange(MOST + 2, dtype=float).reshape(2, -1) % 2
    found: Any = shown({"trees": [{"counts": many}], "coef_": np.array([1.5])})
    assert found["trees"][0]["counts"] == {
        "shape": [2, MOST // 2 + 1],
        "sha256": hashlib.sha256(b"".join(struct.pack("<d", i % 2) for i in range(MOST + 2))).hexdigest(),
    }
    assert shown({"_start": np.array([1.5, np.nan, np.inf])}) == {"intercept": [1.5, None, None]}


def test_values_of_every_kind_are_json() -> None:
    given_: dict[str, object] = {
        "classes_": np.array(["a", None], dtype=object),
        "flag": np.bool_(True),
        "count": np.int64(3),
        "share": Fraction(1, 3),
        "levels": (0.5, {2, 1}),
        "odd": "\udc80",
        "reply": Reply(None),
        "told": Reply(2.5),
        "none": NO_REPLY,
        "function": len,
        "other": object(),
    }
    found = shown(given_)
    assert json.loads(json.dumps(found, allow_nan=False)) == {
        "classes": ["a", None],
        "flag": True,
        "count": 3,
        "share": "1/3",
        "levels": [0.5, [1, 2]],
        "odd": "\\udc80",
        "reply": {"outcome": "reply"},
        "told": {"outcome": "reply", "value": 2.5},
        "none": {"outcome": "no_reply"},
        "function": "<len>",
        "other": "<object>",
    }


def test_the_made_up_rows_are_of_use() -> None:
    assert len(ALL) >= len(CLASSIFIERS) + len(REGRESSORS)
    assert 0 < LABELS.mean() < 1
