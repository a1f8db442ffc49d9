"""Models of a study's columns: categories by their public keys, bounds by name, and the questions asked at once."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.errors import PublicParameterError, QuestionError, Refusal
from reticent.learning import (
    BernsteinClassifier,
    Clip,
    DecisionTreeClassifier,
    GridSearchCV,
    LinearRegression,
    LogisticRegression,
    StandardScaler,
    public,
)
from reticent.learning.fit.linear_model import USUAL
from reticent.ledger import Ledger
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from reticent.statistics.context import Setting
from reticent.statistics.prepare import prepare
from reticent.statistics.price import Price
from reticent.statistics.regression.regress import OfRegression
from reticent.statistics.scaling import UNIT, Scaling, lengths

N = 4000
RNG = np.random.default_rng(11)
WORK = np.array(["Private", "State", "None"])[RNG.integers(0, 3, N)]
AGE = RNG.integers(18, 91, N)
EDUC = RNG.integers(6, 21, N)
RELIGIOUS = RNG.integers(1, 6, N)
YES = (AGE > 50) ^ (WORK == "State")
DISEA = np.clip(5 + 0.2 * AGE - 0.3 * EDUC + 3 * RNG.normal(size=N), 0, 60)
COLUMNS: dict[str, Column] = {
    "work": rt.category(["Private", "State", "None"]),
    "age": rt.integer(18, 90),
    "educ": rt.integer(6, 20),
    "religious": rt.integer(1, 5),
    "disea": rt.real(0, 60),
    "free": rt.real(),
    "answer": rt.category(["yes", "no"]),
    "affair": rt.integer(0, 1),
    "truth": rt.category([True, False]),
}


def study(work: object = WORK) -> rt.Study:
    rows = {"work": work, "age": AGE, "educ": EDUC, "religious": RELIGIOUS, "disea": DISEA, "free": DISEA}
    rows |= {"answer": np.where(YES, "yes", "no"), "affair": YES.astype(int), "truth": YES}
    return rt.study({name: np.asarray(values).tolist() for name, values in rows.items()}, **_about())  # type: ignore[arg-type]


def _about() -> dict[str, object]:
    return {"adjacency": "add_remove", "columns": COLUMNS, "budget": 9}


# --- categories -------------------------------------------------------------------------------------------------------


def test_a_category_is_a_column_for_each_declared_key_and_a_row_has_one_of_them() -> None:
    work = WORK.copy()
    work[:40] = "elsewhere"  # no declared key: a missing value
    x, _ = study(work).xy(["age", "work"])
    assert x.columns == ("age", "work=Private", "work=State", "work=None")
    assert [(int(low), int(high)) for low, high in x.bounds] == [(18, 90), (0, 1), (0, 1), (0, 1)]
    rows = x.shelf.read(x.columns)
    there = np.isfinite(rows).all(axis=1)
    assert np.isnan(rows[~there]).all()
    assert (~there).sum() == 40
    assert set(rows[there][:, 1:].sum(axis=1)) == {1.0}
    for place, key in enumerate(["Private", "State", "None"], start=1):
        found = sorted(rows[there & (rows[:, place] == 1)][:, 0])
        assert found == sorted(AGE[40:][WORK[40:] == key].tolist())


def test_keys_are_never_learned_from_the_rows() -> None:
    x, _ = study(np.full(N, "Private")).xy(["work"])
    assert x.columns == ("work=Private", "work=State", "work=None")
    assert x.shelf.read(x.columns).sum(axis=0).tolist() == [N, 0, 0]


@pytest.mark.wide
@pytest.mark.parametrize(("target", "labels"), [("answer", ["no", "yes"]), ("truth", [False, True])])
def test_a_category_as_y_has_its_keys_as_classes(target: str, labels: list[object]) -> None:
    of = study()
    x, y = of.xy(["age", "work"], target)
    for made in (DecisionTreeClassifier(epsilon=1, max_depth=3), BernsteinClassifier(epsilon=1)):
        model: Any = made.fit(x, y)
        assert model.classes_.tolist() == labels
        assert model.score(x, y, epsilon=1) > 0.9
        assert model.predict([[80, 1, 0, 0], [80, 0, 1, 0]]).tolist() == labels[::-1]
    assert of.left() == PureDP(Fraction(5))
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, epsilon=4).fit(x, y)
    assert search.best_params_ == {"max_depth": 3}


def test_rows_whose_label_is_missing_say_nothing() -> None:
    _, y = study().xy(["age"], "answer")
    assert y is not None
    found = y.shelf.named("answer", np.array([0.0, np.nan, 1.0]))
    assert found.tolist() == ["yes", None, "no"]


def test_a_row_is_as_long_as_its_categories_are_many() -> None:
    """One 1 for each category: the longest row is public, known from the columns alone, and it is reached."""
    x, _ = study().xy(["age", "work", "answer", "truth"])
    assert x.choices == (7, 3)
    for delta in (Fraction(0), Fraction(1, 10**6)):
        price = Price(Fraction(1), delta, Adjacency("add_remove"))
        scaling = Scaling(x.bounds)
        length = LogisticRegression()._length(scaling.width, price, choices=x.choices)
        reach = lengths(scaling.whole(x.shelf.read(x.columns)), price.norm)
        squared = length if not delta else length**2
        assert int(reach.max()) <= squared * (UNIT if not delta else UNIT**2)
        assert int(reach.max()) > Fraction(96, 100) * squared * (UNIT if not delta else UNIT**2)
        assert length < LogisticRegression()._length(scaling.width, price)
        few = LogisticRegression()._length(scaling.width, price, whole=False, choices=x.choices)
        assert 3 * USUAL < few < length
    assert LogisticRegression(clip=2)._length(9, price, choices=x.choices) == 2
    moved = x.clipped(tuple((low, high / 2) if name == "work=None" else (low, high) for name, (low, high) in _named(x)))
    assert moved.choices == (4, 2)  # a key with other bounds is no longer 0 or 1


def _named(x: object) -> list[tuple[str, tuple[Fraction, Fraction]]]:
    assert hasattr(x, "columns")
    assert hasattr(x, "bounds")
    return list(zip(x.columns, x.bounds, strict=True))


def test_a_category_is_told_from_its_first_key_or_the_one_that_is_named() -> None:
    """The reference has the coefficient 0, and keys of one category share a block of the model."""
    x, y = study().xy(["work", "answer", "truth"], "age")
    model = LinearRegression(epsilon=1).fit(x, y)
    names = list(model.feature_names_in_)
    firsts = [next(name for name in names if name.startswith(of)) for of in ("work=", "answer=", "truth=")]
    assert [name for name, told in zip(names, model.estimates_[1:], strict=True) if told.noise == 0] == firsts
    named = LinearRegression(epsilon=1, reference=["no"]).fit(x, y)
    assert named.coef_[names.index("answer=no")] == 0.0
    with pytest.raises(PublicParameterError, match="no key of a category"):
        LinearRegression(epsilon=1, reference=["nobody"]).fit(x, y)


@pytest.mark.parametrize(
    ("columns", "y", "words"),
    [
        (["work", "work"], None, "twice"),
        (["free"], None, "needs a range"),
        (["age"], "free", "needs a range"),
        (["work"], "work", "column of X already"),
        (["nowhere"], None, "no column"),
        ("work", None, "list of columns"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(columns: list[str], y: str | None, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        study().xy(columns, y)


def test_a_category_of_many_keys_and_one_as_a_number_are_refused() -> None:
    many: dict[str, Column] = {"code": rt.category(list(range(101))), "x": rt.real(0, 1)}
    of = rt.study({"code": [1, 2], "x": [0.0, 1.0]}, adjacency="add_remove", columns=many, budget=1)
    for columns, y in ((["code"], None), (["x"], "code")):
        with pytest.raises(QuestionError, match="more than 100 keys"):
            of.xy(columns, y)
    x, y_handle = study().xy(["age"], "answer")
    with pytest.raises(QuestionError, match="is a category"):
        LinearRegression(epsilon=1).fit(x, y_handle)


def test_a_fit_to_a_category_has_a_certificate_of_the_declared_columns() -> None:
    x, y = study().xy(["age", "work"], "answer")
    model: Any = DecisionTreeClassifier(epsilon=1, max_depth=2).fit(x, y)
    assert model.feature_names_in_.tolist() == ["age", "work=Private", "work=State", "work=None"]
    assert "Private" in str(model.certificate_.to_json())
    assert pickle.dumps(model.classes_)


# --- bounds by name ---------------------------------------------------------------------------------------------------


def test_bounds_of_a_study_are_those_of_its_numeric_columns_in_order() -> None:
    found = study().bounds
    assert list(found) == ["age", "educ", "religious", "disea", "affair"]
    assert found["disea"] == (Fraction(0), Fraction(60))
    assert study().bounds is not found  # nobody can change a study through them


def test_clip_takes_bounds_by_name_of_handles_and_of_frames_alike() -> None:
    x, _ = study().xy(["educ", "work", "age"])
    moved = Clip({"age": (30, 40)}).fit(x).transform(x)
    assert getattr(moved, "bounds", None) == ((6, 20), (0, 1), (0, 1), (0, 1), (30, 40))

    class Frame:
        columns = ("age", "educ")

        def __array__(
            self, dtype: object = None, copy: object = None
        ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
            return np.array([[10.0, 30.0], [50.0, np.nan]])

    frame, of = Frame(), study().bounds
    clip = Clip(of).fit(public(frame))
    assert clip.bounds_ == (of["age"], of["educ"])
    with pytest.raises(PublicParameterError, match="names"):
        Clip(of).fit(np.zeros((3, 2)))
    with pytest.raises(PublicParameterError, match="no pair for educ"):
        Clip({"age": (1, 2)}).fit(public(frame))
    scaler = StandardScaler(epsilon=1, bounds=study().bounds)
    assert scaler._here(study().xy(["age"])[0], None).bounds == (of["age"],)


# --- users.md by line -------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_the_statisticians_block_runs_as_it_is_written() -> None:
    """The score of a pipeline, in its words, needs scikit-learn's routing enabled: else epsilon is not handed on."""
    make_pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline
    of = study()
    X, y = of.xy(["age", "educ", "religious"], "affair")
    model = make_pipeline(
        Clip(of.bounds),
        LogisticRegression(epsilon=1, study=of),
    ).fit(X, y)
    assert "95%" not in model[-1].summary()
    assert "religious" in model[-1].summary()
    assert len(model[-1].estimates_) == 4
    assert model[-1].estimates_[0].low < model[-1].estimates_[0].high
    search = GridSearchCV(LogisticRegression(study=of), {"C": [0.1, 1, 10]}, epsilon=1)
    search.fit(X, y)
    assert search.best_params_["C"] in (0.1, 1, 10)
    spent = [model[-1].guarantee_.loss, search.guarantee_.loss]
    assert of.left() == PureDP(
        Fraction(9) - sum((loss.epsilon for loss in spent if isinstance(loss, PureDP)), Fraction(0))
    )
    assert 0.4 < model[-1].score(X, y, epsilon=0.1) <= 1
    with pytest.raises(QuestionError, match="A pipeline hands epsilon on after"):
        model.score(X, y, epsilon=0.1)
    with pytest.importorskip("sklearn").config_context(enable_metadata_routing=True):
        before = of.left()
        assert 0.4 < model.score(X, y, epsilon=0.1) <= 1
        assert isinstance(before, PureDP)
        assert of.left() == PureDP(before.epsilon - Fraction(1, 10))
    model[-1].set_params(score_epsilon=0.1)
    assert 0.4 < model.score(X, y) <= 1


@pytest.mark.wide
def test_a_robust_regression_takes_the_method_that_its_columns_allow() -> None:
    of = study()
    asked = rt.regress("disea ~ age + educ", method="robust")
    found = of.release([asked], epsilon=2)[asked.name]
    assert isinstance(found.cells[0].outcome, Reply)
    assert of.left() == PureDP(Fraction(7))
    named: tuple[tuple[str, OfRegression, Fraction | None], ...] = (
        ("disea ~ age + educ", "tukey", None),
        ("disea ~ age", "theil_sen", None),
        ("disea ~ 0 + age", "tukey", None),
    )
    for formula, method, delta in (*named, ("disea ~ age + educ", "R_H", Fraction(1, 10**9))):
        setting = Setting(of.schema, 4_000_000, delta=delta)
        meant = prepare(rt.regress(formula, method=method).at(delta=delta), setting, Fraction(2))
        made = prepare(rt.regress(formula, method="robust").at(delta=delta), setting, Fraction(2))
        assert (made.guarantee.loss, made.estimand) == (meant.guarantee.loss, meant.estimand)
    assert rt.regress("disea ~ age").at("0.5").epsilon == Fraction(1, 2)


def test_two_columns_of_a_density_are_a_list() -> None:
    assert rt.density("disea", method="bernstein").columns == ("disea",)
    with pytest.raises(Refusal, match="too many positional arguments"):
        rt.density("disea", "age")  # type: ignore[call-arg, arg-type]
    with pytest.raises(QuestionError):
        rt.density(study())


@pytest.mark.parametrize("wrong", [(0, 5), "real", None, float])
def test_a_column_of_a_study_is_declared_by_what_it_is(wrong: object) -> None:
    with pytest.raises(Refusal, match=r"rt\.real\(0, 5\).*Nothing was read"):
        rt.study({"x": [1.0, 2.0]}, adjacency="substitute", columns={"x": wrong}, budget=1)  # type: ignore[dict-item]


# --- the number of rows -----------------------------------------------------------------------------------------------


def fitted(adjacency: str, rows: int = N, people: int | None = None) -> LinearRegression:
    table = {"age": AGE[:rows].tolist(), "disea": DISEA[:rows].tolist()}
    columns = {"age": rt.integer(18, 90, complete=True), "disea": rt.real(0, 60, complete=True)}
    made = rt.study(table, adjacency=adjacency, columns=columns, people=people, budget=9)  # type: ignore[arg-type]
    return LinearRegression(epsilon=2).fit(*made.xy(["age"], "disea"))


def test_under_substitution_a_fit_to_a_study_knows_the_number_of_rows_as_one_to_arrays_does() -> None:
    """It is public there, declared or not: nothing is bought, and the plan is that of an array of so many rows."""
    ledger = Ledger.create(None, title="rows", adjacency=Adjacency("substitute"), budget=PureDP(Fraction(9)))
    arrays = LinearRegression(epsilon=2, bounds=[(18, 90)], y_bounds=(0, 60), ledger=ledger, complete=True)
    arrays = arrays.set_params(adjacency="substitute").fit(AGE[:, None].astype(float), DISEA)
    undeclared, declared = fitted("substitute"), fitted("substitute", people=N)
    for made in (declared, arrays):
        assert undeclared.guarantee_.parts == made.guarantee_.parts


def test_under_add_remove_the_number_of_rows_is_not_looked_at() -> None:
    assert fitted("add_remove", 3_000).guarantee_ == fitted("add_remove", 2_000).guarantee_


def test_under_substitution_another_declared_number_is_refused_before_the_charge() -> None:
    with pytest.raises(rt.SpecError, match="is public and it is another"):
        fitted("substitute", people=N + 1)


def test_a_ledger_names_the_columns_of_a_model_and_what_was_refused() -> None:
    columns: dict[str, Any] = {"x": rt.real(0, 1, complete=True), "y": rt.real(0, 1, complete=True)}
    rows = {"x": np.linspace(0, 1, 1_000), "y": np.linspace(0, 1, 1_000)}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=2)
    model = LinearRegression(epsilon=1).fit(*study.xy(["x"], "y"))
    with pytest.raises(Refusal):
        study.release(["mean(x)", "count"], epsilon=3)
    assert [line.what for line in study.ledger.releases()] == ["LinearRegression: y ~ x"]
    assert [line.what for line in study.ledger.refusals()] == ["mean(x), count"]
    assert model.certificate_.to_json().count('"name": "LinearRegression"') == 2
