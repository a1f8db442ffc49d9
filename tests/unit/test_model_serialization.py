"""What a person sees of a model, and what a file of it holds: all that was paid for, and no row, handle or ledger."""

from __future__ import annotations

import copy
import io
import pickle
import pickletools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent import learning as private
from reticent.errors import PublicParameterError
from reticent.learning.fit import odd_rows, summaries
from reticent.ledger import Ledger
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.privacy.sensitivity import L1
from reticent.statistics.scaling import Floats
from tests.support.unfolded import unfolded

CANARY = 0.5772156649015329  # a value no computation of noisy sums gives back
FOLDER = "folder-of-the-ledger"
ROWS = np.random.default_rng(8).uniform(-1, 1, (60, 2))
ROWS[0] = [CANARY, -CANARY]
SIDES = (ROWS[:, 0] > 0).astype(int)
NEW = np.random.default_rng(9).uniform(-1, 1, (7, 2))


def log_cosh(scores: Floats, targets: Floats) -> Floats:
    return np.asarray(np.tanh(scores - targets))


def flat(rows: Floats, signs: Floats) -> Callable[[Floats], Floats]:
    return lambda points: np.zeros(len(points))


CLASSES: dict[str, object] = {"classes": [0, 1]}
NUMBERS: dict[str, object] = {"y_bounds": (0, 1)}
MODELS: tuple[tuple[Callable[..., Any], dict[str, object]], ...] = (
    (private.LinearRegression, NUMBERS),
    (private.HuberRegressor, NUMBERS),
    (private.QuantileRegressor, NUMBERS),
    (private.EmpiricalRiskRegressor, {**NUMBERS, "slope": log_cosh}),
    (private.LogisticRegression, CLASSES),
    (private.LinearSVC, CLASSES),
    (private.EmpiricalRiskClassifier, {**CLASSES, "slope": log_cosh}),
    (private.GaussianNB, CLASSES),
    (private.DecisionTreeClassifier, CLASSES),
    (private.RandomForestClassifier, {**CLASSES, "n_estimators": 2}),
    (private.BernsteinClassifier, CLASSES),
    (private.FunctionClassifier, {**CLASSES, "train": flat, "stability": 1}),
    (private.KMeans, {"n_clusters": 2}),
    (private.PCA, {}),
    (private.StandardScaler, {}),
)


def account(folder: Path) -> Ledger:
    place = folder / FOLDER
    place.mkdir(exist_ok=True)
    budget = PureDP(Fraction(100))
    return Ledger.create(place / "kept.ledger", title="kept", adjacency=Adjacency("add_remove"), budget=budget)


def named(ledger: Ledger | None, **own: object) -> dict[str, Any]:
    return {"epsilon": 1, "bounds": (-1, 1), "adjacency": "add_remove", "ledger": ledger, **own}


def answers(model: Any) -> list[Floats]:
    return [getattr(model, way)(NEW) for way in ("predict", "predict_proba", "transform") if hasattr(model, way)]


def by_joblib(model: Any) -> tuple[Any, bytes]:
    joblib = pytest.importorskip("joblib")
    file = io.BytesIO()
    joblib.dump(model, file)
    return joblib.load(io.BytesIO(file.getvalue())), file.getvalue()


def by_pickle(model: Any) -> tuple[Any, bytes]:
    whole = pickle.dumps(model)
    return pickle.loads(whole), whole


@pytest.mark.loop(18)
@pytest.mark.parametrize("way", [by_pickle, by_joblib])
@pytest.mark.parametrize(("made", "own"), MODELS, ids=lambda part: getattr(part, "__name__", ""))
def test_a_file_of_a_model_predicts_the_same_and_holds_no_row_and_no_ledger(
    made: Callable[..., Any], own: dict[str, object], way: Callable[[Any], tuple[Any, bytes]], tmp_path: Path
) -> None:
    ledger = account(tmp_path)
    model = made(**named(ledger, **own)).fit(ROWS, SIDES)
    again, whole = way(model)
    for mine, theirs in zip(answers(model), answers(again), strict=True):
        assert np.array_equal(mine, theirs)
    for secret in (np.float64(CANARY).tobytes(), repr(CANARY).encode(), FOLDER.encode(), str(tmp_path).encode()):
        assert secret not in whole
    assert again.certificate_ == model.certificate_
    assert again.summary() == model.summary()
    assert b"learning.fit" not in whole  # the files of that room may move
    assert (again.ledger, model.ledger) == (None, ledger)
    with pytest.raises(PublicParameterError, match="ledger"):
        again.fit(ROWS, SIDES)  # whoever has the file alone can charge nothing, and so read nothing
    assert again.set_params(ledger=ledger).fit(ROWS, SIDES).guarantee_ == model.guarantee_


def test_the_search_in_files_finds_what_is_there(tmp_path: Path) -> None:
    """A model that is not fitted keeps its ledger, for a process that is to fit it."""
    model: Any = private.StandardScaler(**named(account(tmp_path)))
    assert FOLDER.encode() in pickle.dumps(model)
    assert pickle.loads(pickle.dumps(model)).fit(ROWS).ledger.spent() == PureDP(Fraction(1))
    model.fit(ROWS).kept_ = ROWS[:1].copy()
    assert np.float64(CANARY).tobytes() in pickle.dumps(model)


def test_a_model_of_a_study_is_kept_without_the_study() -> None:
    columns: Any = {"x": rt.real(-1, 1), "y": rt.integer(0, 1)}
    of = rt.study({"x": ROWS[:, 0].copy(), "y": SIDES}, adjacency="add_remove", columns=columns, budget=8)
    model: Any = private.LogisticRegression(epsilon=1, study=of).fit(*of.xy(["x"], "y"))
    again, whole = by_pickle(model)
    assert np.array_equal(again.predict(NEW[:, :1]), model.predict(NEW[:, :1]))
    assert again.study is None
    names = {str(argument) for _, argument, _ in pickletools.genops(whole) if isinstance(argument, str)}
    modules = {name for name in names if name.startswith("reticent.") and " " not in name}
    assert not {name for name in modules if name.split(".")[1] in ("data", "ledger") or "handles" in name}
    assert "reticent.study.study" not in modules


def test_a_search_is_kept_like_a_model(tmp_path: Path) -> None:
    ledger = account(tmp_path)
    inner = private.DecisionTreeClassifier(**named(ledger, **CLASSES))
    search: Any = private.GridSearchCV(inner, {"max_depth": [1, 2]}, epsilon=1)
    assert FOLDER.encode() in pickle.dumps(search)
    again, whole = by_pickle(search.fit(ROWS, SIDES))
    assert FOLDER.encode() not in whole
    assert b"learning.fit" not in whole
    assert np.array_equal(again.predict(NEW), search.predict(NEW))
    assert "chosen privately among 2" in again.summary()
    assert "The whole search: ε 1" in again.summary().replace("0.999999999", "1")
    for twin in (copy.copy(search), copy.deepcopy(search)):
        assert twin.estimator.ledger.spent() == ledger.spent()  # another handle on the one ledger
    assert "DecisionTreeClassifier(" in repr(search)


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy])
def test_a_copy_in_this_process_shares_the_ledger(twin: Callable[[Any], Any], tmp_path: Path) -> None:
    ledger = account(tmp_path)
    model: Any = private.GaussianNB(**named(ledger, **CLASSES)).fit(ROWS, SIDES)
    other = twin(model)
    other.fit(ROWS, SIDES)
    assert ledger.spent() == PureDP(Fraction(2))
    assert other.certificate_ != model.certificate_


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("made", "own"), MODELS, ids=lambda part: getattr(part, "__name__", ""))
def test_what_is_shown_of_a_model_has_its_guarantee_and_no_row(
    made: Callable[..., Any], own: dict[str, object], tmp_path: Path
) -> None:
    model = made(**named(account(tmp_path), **own))
    assert model._repr_html_().startswith(f"<pre>{made.__name__}(")
    model.fit(ROWS, SIDES)
    shown = unfolded(model.summary()) + model._repr_html_() + repr(model)
    assert "Someone who thought it 10 % likely" in unfolded(model.summary())
    assert unfolded(model.summary()).splitlines()[-1][:2] == "ε "
    assert repr(CANARY)[:9] not in shown
    assert FOLDER not in shown
    assert "0x" not in repr(model)  # no address of a program, and no text of one: it may hold what it saw


def test_a_summary_tells_the_size_of_the_noise_in_people(tmp_path: Path) -> None:
    model: Any = private.GaussianNB(**named(account(tmp_path), **CLASSES)).fit(ROWS, SIDES)
    told = model.summary().splitlines()
    assert told[:3] == ["GaussianNB", "columns      x0, x1", "classes      0, 1"]
    assert " 15.8 × what one person moves, geometric" in model.summary()  # ln 20 over a fifth of 95 % of epsilon
    assert "share of incomplete rows: ± " in model.summary()
    assert [line.split(":")[0].split()[-1] for line in told if ": " in line][:4] == ["0", "1", "0", "1"]
    tree: Any = private.DecisionTreeClassifier(**named(account(tmp_path / FOLDER), max_depth=1, **CLASSES))
    text = tree.fit(ROWS, SIDES).summary()
    assert text.count("noisy counts") == 2
    assert "exponential" in text
    forest = {"column": {"shape": [7]}, "threshold": {"shape": [7]}, "counts": {"shape": [8, 2]}}
    assert summaries._lines("trees", {"trees": [forest] * 3}, ["x0"]) == ["3 of 7 splits and 8 leaves each"]


def test_gaussian_noise_is_told_by_its_deviation() -> None:
    from reticent.mechanisms.gaussian import Gaussian
    from reticent.privacy.sensitivity import L2

    made = Gaussian(L2(Fraction(4), Adjacency("add_remove")), Fraction(1, 8)).guarantee
    (line,) = summaries.noises(made)
    assert line == "± 3.92 × what one person moves, gaussian"  # variance 16 over a squared length of 4


def test_noise_is_told_by_stage_with_its_least_and_greatest_width() -> None:
    from reticent.privacy.compose import in_sequence

    near = Adjacency("add_remove")
    wide, narrow = (Geometric(L1(Fraction(1), near), Fraction(1, times)).guarantee for times in (20, 2))
    rounds = in_sequence([wide, narrow, narrow], label="rounds")
    told = list(summaries.noises(in_sequence([rounds, wide], label=f"{odd_rows.BESIDE}share of incomplete rows")))
    assert told == [
        "rounds: ± 5.99 to 59.9 × what one person moves, geometric",
        "share of incomplete rows: ± 59.9 × what one person moves, geometric",
    ]


def test_what_charges_nothing_says_so_and_what_is_not_fitted_has_no_summary() -> None:
    clip: Any = private.Clip(bounds=[(-1, 1), ("0.5", 2)])
    for model in (clip, private.StandardScaler(), private.GridSearchCV(private.GaussianNB(), {})):
        with pytest.raises(Exception, match="not fitted"):
            model.summary()
    assert clip.fit(ROWS).summary().splitlines()[1:3] == ["x0  -1 to 1", "x1  0.5 to 2"]


def test_a_program_is_shown_by_its_name_alone() -> None:
    import functools

    made = private.FunctionClassifier(train=functools.partial(flat, ROWS[:1]), stability=1)
    assert repr(made) == "FunctionClassifier(train=<partial>, stability=1)"
    search = private.GridSearchCV(private.EmpiricalRiskClassifier(), {"slope": [functools.partial(flat, ROWS)]})
    assert repr(search) == "GridSearchCV(EmpiricalRiskClassifier(), {'slope': [<partial>]}, epsilon=1)"
    assert str(ROWS[0, 0])[:6] not in repr(search)


def test_a_pipeline_is_shown_and_kept_with_its_models(tmp_path: Path) -> None:
    make_pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline
    model = make_pipeline(private.Clip(bounds=(-1, 1)), private.GaussianNB(**named(account(tmp_path), **CLASSES)))
    assert "GaussianNB" in model._repr_html_()
    again, whole = by_pickle(model.fit(ROWS, SIDES))
    assert "GaussianNB" in again._repr_html_()
    assert np.array_equal(again.predict(NEW), model.predict(NEW))
    assert FOLDER.encode() not in whole
