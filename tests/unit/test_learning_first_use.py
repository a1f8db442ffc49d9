"""What someone who knows scikit-learn does first: names in another order, several classes, a fit without intervals."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.errors import PublicParameterError, QuestionError
from reticent.learning import (
    Clip,
    GridSearchCV,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    StandardScaler,
    public,
)
from reticent.ledger import Ledger
from reticent.outcome import NO_REPLY, number
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from tests.support.unfolded import unfolded

RNG = np.random.default_rng(3)
N = 3000
AGE, EDUC = RNG.integers(18, 91, N), RNG.integers(6, 21, N)
GRADE = np.clip((AGE - 18) // 25, 0, 2)
LIMITS = {"age": (18, 90), "educ": (6, 20)}
TURNED = ["educ", "age"]


@cache
def frame() -> Any:
    """A frame of pandas, loaded where a test first asks."""
    import pandas as pd

    return pd.DataFrame({"age": AGE, "educ": EDUC})


def study() -> rt.Study:
    columns = {"age": rt.integer(18, 90), "educ": rt.integer(6, 20), "grade": rt.integer(0, 2), "old": rt.integer(0, 1)}
    rows = {"age": AGE, "educ": EDUC, "grade": GRADE, "old": (AGE > 50).astype(int)}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=10)


def who() -> dict[str, Any]:
    budget = PureDP(Fraction(100))
    ledger = Ledger.create(None, title="first", adjacency=Adjacency("add_remove"), budget=budget)
    return {"adjacency": "add_remove", "ledger": ledger, "bounds": LIMITS}


def fitted(**own: object) -> tuple[LogisticRegression, rt.Study]:
    of = study()
    return LogisticRegression(epsilon=1, **own).fit(*of.xy(["age", "educ"], "old")), of  # type: ignore[arg-type]


# --- columns in another order -----------------------------------------------------------------------------------------


def test_a_score_of_columns_in_another_order_is_refused_and_nothing_is_charged() -> None:
    model, of = fitted()
    left = of.ledger.left()
    with pytest.raises(ValueError, match="In this order: age, educ"):
        model.score(*of.xy(TURNED, "old"), epsilon=1)
    assert of.ledger.left() == left
    model.score(*of.xy(["age", "educ"], "old"), epsilon=1)
    assert of.ledger.left() != left


def test_a_score_of_a_frame_in_another_order_is_refused_and_nothing_is_charged() -> None:
    given = who()
    model = LogisticRegression(epsilon=1, classes=[0, 1], **given).fit(frame(), AGE > 50)
    left = given["ledger"].left()
    with pytest.raises(ValueError, match="In this order: age, educ"):
        model.score(frame()[TURNED], AGE > 50, epsilon=1)
    assert given["ledger"].left() == left


def test_clip_keeps_the_names_of_a_frame_and_the_model_behind_it_is_told_of_another_order() -> None:
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(Clip(LIMITS), LogisticRegression(epsilon=1, classes=[0, 1], **who())).fit(frame(), AGE > 50)
    assert list(model[-1].feature_names_in_) == ["age", "educ"]
    assert len(model.predict(frame())) == N
    with pytest.raises(ValueError, match="In this order: age, educ"):
        model.predict(frame()[TURNED])


def test_clip_moves_a_frame_as_it_moves_an_array_and_leaves_other_tables_arrays() -> None:
    import pandas as pd

    wild = pd.DataFrame({"age": [0.0, 30.0, np.nan], "educ": [100.0, 7.0, 8.0]}, index=[5, 6, 7])
    clip = Clip(LIMITS).fit(wild)
    moved = clip.transform(wild)
    assert isinstance(moved, pd.DataFrame)
    assert list(moved.index) == [5, 6, 7]
    np.testing.assert_array_equal(moved.to_numpy(), [[18, 20], [30, 7], [np.nan, 8]])
    np.testing.assert_array_equal(clip.transform(wild.to_numpy()), moved.to_numpy())
    assert isinstance(clip.transform(public(wild)).rows, pd.DataFrame)  # type: ignore[attr-defined]  # public in, public out
    with pytest.raises(ValueError, match="In this order: age, educ"):
        clip.transform(wild[TURNED])


def test_rows_with_words_are_answered_with_the_columns_that_a_model_of_categories_has() -> None:
    import pandas as pd

    of = rt.study(
        {"age": AGE, "work": np.where(AGE > 40, "on", "off"), "old": (AGE > 50).astype(int)},
        adjacency="add_remove",
        columns={"age": rt.integer(18, 90), "work": rt.category(["on", "off"]), "old": rt.integer(0, 1)},
        budget=10,
    )
    model = LogisticRegression(epsilon=1).fit(*of.xy(["age", "work"], "old"))
    rows = pd.DataFrame({"age": [30, 60], "work": ["on", "off"]})
    with pytest.raises(ValueError, match=r"age, work=on, work=off\. A category is a column for each key"):
        model.predict(rows)
    names = model.feature_names_in_
    given = pd.get_dummies(rows, prefix_sep="=").reindex(columns=names, fill_value=0)
    assert len(model.predict(given)) == 2


# --- what a summary says ----------------------------------------------------------------------------------------------


def test_the_summary_of_three_classes_lists_the_coefficients_of_each() -> None:
    model = LogisticRegression(epsilon=5).fit(*study().xy(["age", "educ"], "grade"))
    lines = unfolded(model.summary()).splitlines()
    assert [line.split()[:2] for line in lines[1:10:3]] == [
        ["0:", "intercept"],
        ["1:", "intercept"],
        ["2:", "intercept"],
    ]
    assert number(float(model.coef_[2, 0])) in next(line for line in lines if line.startswith("2: age"))
    assert "no intervals" in lines[10]
    bare = LogisticRegression(epsilon=5, fit_intercept=False).fit(*study().xy(["age", "educ"], "grade"))
    assert "intercept" not in unfolded(bare.summary())


def test_a_summary_of_two_classes_says_which_one_a_coefficient_makes_likelier() -> None:
    made = LogisticRegression(epsilon=5).fit(*study().xy(["age"], "old"))
    assert "A positive coefficient makes 1 likelier, a negative one 0." in unfolded(made.summary())
    draw = np.random.default_rng(0)
    held = {"x": draw.uniform(0, 1, 2_000), "y": draw.choice(["yes", "no"], 2_000)}
    columns: dict[str, Any] = {"x": rt.real(0, 1), "y": rt.category(["yes", "no"])}
    words = rt.study(held, adjacency="add_remove", columns=columns, budget=5)
    fitted_words = LogisticRegression(epsilon=5).fit(*words.xy(["x"], "y"))
    assert f"makes {fitted_words.classes_[1]} likelier" in unfolded(fitted_words.summary())


def test_a_plan_of_a_model_takes_the_handles_that_a_fit_takes() -> None:
    opened, model = study(), LogisticRegression(epsilon=1)
    planned = opened.model_plan(model, *opened.xy(["age", "grade"], "old"), people=500)
    assert str(planned) == str(opened.model_plan(model, ["age", "grade"], "old", people=500))


@pytest.mark.wide
def test_a_summary_says_why_there_are_no_intervals() -> None:
    assert "the noise hides" in fitted(clip=100, intervals="yes")[0].summary()
    assert "no intervals were bought" in fitted(solver="descent", intervals="no")[0].summary()
    assert (
        "no intervals were bought" in LinearSVC(epsilon=1, solver="descent").fit(*study().xy(["age"], "old")).summary()
    )
    blind = LinearRegression(epsilon="0.001").fit(*study().xy(["age"], "educ"))
    assert "the noise hides" in unfolded(blind.summary())
    clear = LinearRegression(epsilon=5).fit(*study().xy(["age"], "educ"))
    assert "the noise hides" not in unfolded(clear.summary())


def test_the_summary_of_a_fit_that_gave_no_reply_says_so() -> None:
    flat = rt.study(
        {"x": np.zeros(2000), "y": np.zeros(2000)},
        adjacency="substitute",
        columns={"x": rt.real(0, 1), "y": rt.real(0, 1)},
        budget=10,
        people=2000,
    )
    model = LinearRegression(epsilon=1, method="block_medians").fit(*flat.xy(["x"], "y"))
    assert model.outcome_ is NO_REPLY
    said = unfolded(model.summary()).split("\n")
    assert (said[0], said[-1][:4]) == ("no reply", "ε 1,")
    assert "lack a value" in said[1]


# --- words ------------------------------------------------------------------------------------------------------------


def test_the_robust_method_is_chosen_as_rt_regress_chooses_it() -> None:
    model = LinearRegression(epsilon=5, method="robust", y_bounds=(6, 20), people=N, **{**who(), "bounds": (18, 90)})
    alone = model.fit(frame()[["age"]], EDUC)
    assert [part.by.name for part in alone.guarantee_.parts] == [
        part.by.name for part in alone.set_params(method="theil_sen").fit(frame()[["age"]], EDUC).guarantee_.parts
    ]
    assert model._method(2) == "theil_sen"
    model.set_params(method="robust")
    assert model._method(2) == "tukey"
    assert model.set_params(delta="1e-9")._method(1) == "R_H"
    with pytest.raises(PublicParameterError, match="method is one of least_squares, robust, theil_sen"):
        model.set_params(method="huber").fit(frame()[["age"]], EDUC)
    with pytest.raises(PublicParameterError, match='method="theil_sen" needs a public number of rows: people='):
        model.set_params(method="theil_sen", people=None, delta=0).fit(frame()[["age"]], EDUC)


def test_refusals_say_what_was_given_and_what_is_meant() -> None:
    from sklearn.pipeline import make_pipeline

    given = who()
    with pytest.raises(PublicParameterError, match=r"Ledger.open\(path\)"):
        LogisticRegression(classes=[0, 1], **{**given, "ledger": "a.ledger"}).fit(frame(), AGE > 50)
    with pytest.raises(PublicParameterError, match="Got 'add'"):
        LogisticRegression(classes=[0, 1], **{**given, "adjacency": "add"}).fit(frame(), AGE > 50)
    with pytest.raises(PublicParameterError, match="There is no default"):
        LogisticRegression(classes=[0, 1], **{**given, "adjacency": None}).fit(frame(), AGE > 50)
    with pytest.raises(PublicParameterError, match="delta of a tenth of one person"):
        LogisticRegression(classes=[0, 1], delta="0.5", **given).fit(frame(), AGE > 50)
    assert given["ledger"].spent() == PureDP(Fraction(0))
    model = make_pipeline(StandardScaler(), LogisticRegression(classes=[0, 1], **given))
    with pytest.raises(QuestionError, match=r"a pipeline of Clip and one of them, and got Pipeline\. On arrays"):
        GridSearchCV(model, {"logisticregression__C": [1]}).fit(frame(), AGE > 50)
    with pytest.raises(QuestionError, match="leave StandardScaler out of the pipeline"):
        make_pipeline(StandardScaler(), LogisticRegression()).fit(*study().xy(["age"], "old"))


@pytest.mark.wide
def test_a_summary_names_the_line_and_the_rows_that_count() -> None:
    of = study()
    handles, target = of.xy(["age"], "grade")
    model = LinearRegression(epsilon=1).fit(handles, target)
    assert f"Estimates: {model.estimand_}." in unfolded(model.summary()).splitlines()
    assert model.estimand_ == "least-squares coefficients, every number cut to its bounds, among rows that lack none"
    whole = {"age": rt.integer(18, 90, complete=True), "grade": rt.integer(0, 2, complete=True)}
    vouched = rt.study({"age": AGE, "grade": GRADE}, adjacency="substitute", columns=whole, budget=10, people=N)
    assert "that lack none" not in LinearRegression(epsilon=1).fit(*vouched.xy(["age"], "grade")).summary()
