"""Plans of a session and of a model's fit: they promise what the session and the fit then do, and read no row."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent import learning
from reticent.data.schema import Column
from reticent.entropy import Replayed, simulated
from reticent.errors import PublicParameterError, QuestionError, Refusal
from reticent.learning import (
    PCA,
    Between,
    Clip,
    DecisionTreeClassifier,
    GaussianNB,
    GridSearchCV,
    HuberRegressor,
    KMeans,
    Level,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    StandardScaler,
    public,
)
from reticent.learning.classifiers import Classifier
from reticent.learning.fit.estimator import Estimator
from reticent.mechanisms.sparse_vector import SparseVector
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.sessions.above_threshold import Above, reach
from reticent.sessions.row_functions import STEPS
from reticent.study.plan import Plan
from reticent.study.study import Study
from tests.support.cli_kit import clinic, run
from tests.support.unfolded import unfolded

PEOPLE = 2_000
SHARES = (64, 102, 166)  # those of a sparse vector of means with one answer above


def made(kind: Kind = "add_remove", people: int = PEOPLE) -> Study:
    places = np.arange(people)
    rows = {"x": places % 11 / 10, "y": places % 7 / 6}
    return rt.study(
        rows,
        adjacency=kind,
        columns={name: rt.real(0, 1, complete=True) for name in rows},
        budget="20",
        delta="1e-6",
        override="a test",
    )


def _is_model(name: str) -> bool:
    kind = getattr(learning, name)
    return isinstance(kind, type) and issubclass(kind, Estimator) and kind is not Clip


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_a_session_costs_what_its_plan_says(kind: Kind) -> None:
    study = made(kind)
    planned = study.session_plan("sparse_vector", ["x"], answers=2, epsilon="1", people=PEOPLE)
    assert study.left() == study.spec.budget.loss
    with study.sparse_vector(["x"], epsilon="1", positives=2) as session:
        assert session.guarantee.loss == planned.guarantee.loss == planned.lines[0].loss
    rounds = study.session_plan("holdout", ["x"], answers=3, epsilon="1")
    board = study.session_plan("leaderboard", ["x"], answers=3, epsilon="1")
    answers = study.session_plan("noisy_answers", ["x"], answers=3, rho="0.01", delta="1e-7")
    assert rounds.guarantee.loss == board.guarantee.loss == rt.PureDP(Fraction(1))
    with study.noisy_answers(["x"], rho="0.01", answers=3, delta="1e-7") as noisy:
        assert noisy.guarantee.loss == answers.guarantee.loss


@pytest.mark.wide
def test_the_chance_of_an_answer_is_that_of_the_mechanism() -> None:
    """4,000 replayed draws: an honest frequency is within .03 of the chance but for 1e-4; half the noise is seen."""
    study = made()
    (line,) = study.session_plan("sparse_vector", ["x"], answers=1, epsilon="1", people=PEOPLE).lines
    sigma = float(line.expected.note.rsplit("σ = ", 1)[1].split(";")[0])

    def share(epsilon: int) -> float:
        vector = SparseVector(reach(Adjacency("add_remove")), Fraction(epsilon), 1, SHARES)
        far, stream = round(sigma * STEPS * PEOPLE), Replayed(b"above the threshold")
        return sum(vector.start(stream).ask(far, stream).above for _ in range(4_000)) / 4_000

    chances = dict(line.expected.replies)
    vector = chances["1 σ above the threshold"]
    assert abs(share(1) - vector) < 0.03
    assert abs(share(2) - vector) > 0.03
    assert vector < chances["2 σ above the threshold"] < chances["3 σ above the threshold"] < 1


def test_the_planned_noise_of_a_value_is_that_of_the_session() -> None:
    study = made("substitute")
    planned = study.session_plan("sparse_vector", ["x"], answers=1, epsilon="8", people=PEOPLE).lines[0].expected
    with study.sparse_vector(["x"], epsilon="8", positives=1) as session:
        found = session.above(Level("x"), "0.01")
    assert isinstance(found, Above)  # half of 1 is above .01 by fifty widths of the noise
    estimate = found.estimate
    assert estimate is not None
    assert planned.noise is not None
    assert estimate.noise == pytest.approx(planned.noise, rel=0.05)
    assert planned.sampling is not None
    assert estimate.sampling <= planned.sampling


def test_a_plan_of_a_model_has_its_price_and_the_width_of_its_rule() -> None:
    study = made("substitute")
    planned = study.model_plan(LinearRegression(epsilon=4), ["x"], "y")
    assert planned.people == 10_000
    assert planned.assumed
    assert planned.seconds is not None
    model = LinearRegression(epsilon=4)
    again = study.model_plan(model, ["x"], "y", people=PEOPLE)
    assert not hasattr(model, "guarantee_")
    model.fit(*study.xy(["x"], "y"))
    assert model.guarantee_.loss == again.guarantee.loss == planned.guarantee.loss
    asked = study.plan(["regress(y ~ x)"], epsilon=4, people=PEOPLE).lines[0].expected
    noise = again.lines[0].expected.noise
    assert noise is not None
    assert asked.noise is not None
    assert noise == pytest.approx(asked.noise, rel=0.2)
    each = again.lines[0].expected.numbers
    assert [(one.name, one.unit) for one in each] == [(one.name, one.unit) for one in asked.numbers]
    assert len(each) == len(model.coef_) + 1


def test_a_plan_of_a_line_has_a_row_for_each_coefficient_that_the_fit_tells() -> None:
    x = np.arange(PEOPLE) % 9
    rows = {"x": x, "g": ["a", "b", "c"] * (PEOPLE // 3) + ["a"] * (PEOPLE % 3)}
    columns: dict[str, Column] = {
        "x": rt.integer(0, 8, unit="years"),
        "g": rt.category(["a", "b", "c"]),
        "y": rt.real(0, 40, unit="euros"),
    }
    study = rt.study({**rows, "y": x * 3.0}, adjacency="add_remove", columns=columns, budget=9)
    of_study = study.model_plan(LinearRegression(epsilon=4), ["x", "g"], "y", people=PEOPLE)
    told = [(one.name, one.unit) for one in of_study.lines[0].expected.numbers]
    assert told == [("intercept", "euros"), ("x", "euros per year"), ("g=b", "euros"), ("g=c", "euros")]
    for name, unit in told:
        assert f"{name}, {unit}" in str(of_study)
    line = study.model_plan(LinearRegression(epsilon=4, fit_intercept=False), ["x"], "y", people=PEOPLE).lines[0]
    assert [one.name for one in line.expected.numbers] == ["x"]
    summary = LinearRegression(epsilon=4).fit(*study.xy(["x", "g"], "y")).summary().splitlines()
    assert summary[0].split() == ["coefficient", "95", "%", "interval", "half-width:", "noise"]
    assert [row.split()[0] for row in summary[1:6]] == ["intercept", "x", "g=a", "g=b", "g=c"]
    assert not any("e+" in row for row in summary)


@pytest.mark.parametrize("weights", [{"class_weight": "balanced"}, {"class_weight": {0: 1, 1: 3}}])
def test_a_plan_and_a_summary_say_why_weighed_rows_have_no_intervals(weights: dict[str, Any]) -> None:
    columns: dict[str, Column] = {"k": rt.integer(0, 1, complete=True), "x": rt.real(0, 1, complete=True)}
    study = rt.study(
        {"k": np.arange(PEOPLE) % 2, "x": np.arange(PEOPLE) % 5 / 4},
        adjacency="add_remove",
        columns=columns,
        budget=9,
        people=PEOPLE,
    )
    reason = "no intervals: their width is known only where all rows count alike"
    assert reason in study.model_plan(LogisticRegression(epsilon=3, **weights), ["x"], "k").lines[0].expected.note
    assert reason not in study.model_plan(LogisticRegression(epsilon=3), ["x"], "k").lines[0].expected.note
    x, y = study.xy(["x"], "k")
    assert reason in unfolded(LogisticRegression(epsilon=3, **weights).fit(x, y).summary())


@pytest.mark.wide
def test_a_scaler_is_as_wide_as_its_plan_says() -> None:
    """The root mean square of 240 errors of means is within 1.35 of the planned one but for 1 run in 1,000.

    A Laplace law has kurtosis 6, so its relative deviation is sqrt(5 / 240) / 2 = .072. Twice the noise, or half of it,
    is seen but for 1 run in 1,000.
    """
    study = made("add_remove")
    planned = study.model_plan(StandardScaler(epsilon="0.1"), ["x", "y"], people=PEOPLE).lines[0].expected
    assert planned.noise is not None
    assert "of its deviation ±" in planned.note
    exact = np.mean([study._rows["x"], study._rows["y"]], axis=1)  # type: ignore[index]  # rows of the test's own
    errors = [StandardScaler(epsilon="0.1").fit(*study.xy(["x", "y"])).mean_ - exact for _ in range(120)]
    found = 1.96 * float(np.sqrt(np.mean(np.square(errors))))
    assert planned.noise / 1.35 < found < 1.35 * planned.noise


def labelled() -> Study:
    """Rows as plans make them up: a line tells two classes, with odds that a deviation changes by e^2."""
    stream = simulated("labelled rows")
    x = np.clip(0.5 + stream.standard_normal((PEOPLE, 2)) / 6, 0, 1)
    odds = np.exp(2 * (x - 0.5).sum(axis=1) * 6 / np.sqrt(2))
    rows = {"x": x[:, 0], "y": x[:, 1], "t": np.where(stream.random(PEOPLE) < odds / (1 + odds), "yes", "no")}
    columns: dict[str, Column] = {name: rt.real(0, 1, complete=True) for name in "xy"}
    columns["t"] = rt.category(["no", "yes"], complete=True)
    return rt.study(rows, adjacency="substitute", columns=columns, budget="60", override="a test")


def told(plan: Plan) -> tuple[float, float]:
    """The score that a plan tells, and the most that it is below the best rule."""
    found = re.search(r"(0\.\d\d) on 5 tables.*?(0\.\d\d) more", plan.lines[0].expected.note)
    assert found is not None
    return float(found[1]), float(found[2])


@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC, GaussianNB, DecisionTreeClassifier])
def test_a_classifier_is_right_as_often_as_its_plan_says(model: type[Classifier]) -> None:
    """On rows of the planned shape within .05; at a hundredth of the price the plan says less."""
    study = labelled()
    score, _ = told(study.model_plan(model(epsilon=2), ["x", "y"], "t", people=PEOPLE))
    fitted = model(epsilon=2).fit(*study.xy(["x", "y"], "t"))
    exact = np.column_stack([study._rows[name] for name in "xy"])  # type: ignore[index]  # rows of the test's own
    assert fitted.score(public(exact), public(study._rows["t"])) == pytest.approx(score, abs=0.05)  # type: ignore[index]
    less, lost = told(study.model_plan(model(epsilon="0.02"), ["x", "y"], "t", people=PEOPLE))
    assert less < score - 0.02
    assert lost > 0.05


@pytest.mark.parametrize("model", [HuberRegressor, KMeans, PCA])
def test_more_epsilon_is_planned_to_score_higher(model: type[Estimator]) -> None:
    study, y = made("substitute"), "y" if issubclass(model, HuberRegressor) else None
    columns = ["x"] if y else ["x", "y"]
    little, much = (told(study.model_plan(model(epsilon=epsilon), columns, y)) for epsilon in ("0.03", 3))
    assert little[0] <= much[0]
    assert little[1] > much[1]


@pytest.mark.wide
def test_a_search_and_a_pipeline_have_the_price_of_their_fit() -> None:
    study = labelled()
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1, 3, 5, 8]}, epsilon=2)
    planned = study.model_plan(search, ["x", "y"], "t")
    line = planned.lines[0]
    assert line.name == "GridSearchCV of LogisticRegression(x, y; t)"
    assert "one of 5 is chosen" in line.expected.note
    assert "C=0.1: right in 0." in line.expected.note
    assert "and 1 more" in line.expected.note
    search.fit(*study.xy(["x", "y"], "t"))
    assert search.guarantee_.loss == planned.guarantee.loss
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(Clip(study.bounds), LogisticRegression(epsilon=1))
    alone = study.model_plan(LogisticRegression(epsilon=1), ["x", "y"], "t")
    assert study.model_plan(pipeline, ["x", "y"], "t").lines == alone.lines
    with pytest.raises(QuestionError, match="a plan"):
        study.model_plan(object(), ["x"], "t")


def test_a_session_that_counts_is_planned_in_rows() -> None:
    """The noise of a number of rows that is shown is that of the session."""
    study = made("substitute")
    planned = study.session_plan("sparse_vector of counts", ["x"], answers=1, epsilon="1").lines[0].expected
    with study.sparse_vector(["x"], epsilon="1", positives=1, of="counts") as session:
        found = session.above(Between("x", "0.5"), 100)
        assert session.guarantee.loss == rt.PureDP(Fraction(1))
    assert isinstance(found, Above)
    assert found.estimate is not None
    assert planned.noise == pytest.approx(found.estimate.noise, abs=1)
    assert planned.sampling is None


def test_no_row_is_read_and_no_ledger_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = rt.open(clinic(tmp_path))
    (tmp_path / "clinic.csv").unlink()
    assert study.session_plan("holdout", ["age"], answers=2, epsilon="1").affordable
    refused = study.session_plan("holdout", ["age"], answers=2, epsilon="4")
    assert not refused.affordable
    assert "4" in refused.reason
    assert not study.model_plan(KMeans(epsilon="3.5"), ["age"]).affordable
    assert not list(tmp_path.glob("*.ledger"))


def test_what_a_session_would_refuse_its_plan_refuses() -> None:
    study = made()
    with pytest.raises(PublicParameterError, match=r"kind is one of .holdout., .sparse_vector., .*got .counter."):
        study.session_plan("counter", ["x"], answers=1, epsilon="1")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(PublicParameterError, match="priced by rho"):
        study.session_plan("noisy_answers", ["x"], answers=1, epsilon="1")
    with pytest.raises(Refusal):
        study.session_plan("holdout", ["x"], answers=0, epsilon="1")
    with pytest.raises(QuestionError):
        study.session_plan("holdout", ["z"], answers=1, epsilon="1")


def test_the_verb_plans_a_session_and_a_model(tmp_path: Path) -> None:
    file = str(clinic(tmp_path))
    shared = ("--columns", "age", "--epsilon", "1", "--json")
    session = run("plan", file, "--session", "sparse_vector", "--answers", "2", *shared).document
    assert session["statistics"][0]["name"] == "sparse_vector(age)"
    assert set(session["statistics"][0]["reply"]) == {f"{times} σ above the threshold" for times in (1, 2, 3)}
    fit = run("plan", file, "--model", "LinearRegression", "--y", "age", "--columns", "town", *shared[2:]).document
    assert fit["statistics"][0]["name"] == "LinearRegression(town; age)"
    assert fit["guarantee"] == {"epsilon": "1", "delta": "0"}
    counts = run("plan", file, "--session", "sparse_vector of counts", "--answers", "2", *shared).document
    assert "number of rows" in counts["statistics"][0]["note"]
    assert "± noise" in run("plan", file, "--session", "holdout", "--answers", "2", *shared[:-1]).out
    assert run("plan", file, "--session", "holdout", *shared).code == 2
    assert run("plan", file, "--model", "Nothing", *shared).code == 2
    assert run("plan", file, "--model", "KMeans", "--epsilon", "1").code == 2


MODELS = [name for name in learning.__all__ if _is_model(name)]


@pytest.mark.parametrize("name", MODELS)
def test_a_wrong_or_missing_column_of_a_model_ends_in_words(name: str, tmp_path: Path) -> None:
    file = str(clinic(tmp_path))
    predicts = getattr(getattr(learning, name), "_estimator_type", None) in ("classifier", "regressor")
    for columns in ("age", "town", "age,town", "", "age,", "age,age", "nothing", "diagnosis"):
        for y in ("", "age", "nothing", "diagnosis", None):
            target = () if y is None else ("--y", y)
            ended = run(
                "plan", file, "--model", name, "--columns", columns, *target, "--epsilon", "1", "--people", "200"
            )
            assert ended.code in (0, 2, 5), (columns, y, ended.said)
            if predicts and y is None and columns == "age":
                assert f"{name} predicts a column: name it with y, or --y." in ended.said


def test_a_plan_says_roughly_what_time_it_takes() -> None:
    study = made()
    small, large = (study.plan(["mean(x)", "median(x)"], epsilon=1, people=people) for people in (1_000, 10_000_000))
    assert small.seconds is not None
    assert large.seconds is not None
    assert small.seconds < 0.1 < 2 < large.seconds
    mean, median = (line.seconds for line in large.lines[:2])
    assert mean is not None
    assert median is not None
    assert mean < median < large.seconds
    assert f"roughly {small.seconds:.1g} s of one processor" in small.footnote()
    assert small.to_json()["cpu_seconds"] == small.seconds
    assert pickle.loads(pickle.dumps(small)) == small


@pytest.mark.wide
def test_the_forecast_has_the_reading_of_the_file_and_every_fit(tmp_path: Path) -> None:
    study = rt.open(clinic(tmp_path))
    held = made()
    read, kept = (
        one.plan(["mean(age)" if one is study else "mean(x)"], epsilon=1, people=10**6) for one in (study, held)
    )
    assert read.seconds is not None
    assert kept.seconds is not None
    assert read.seconds > kept.seconds + 0.5  # a million rows of text, of which one column is read
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1, 3]}, epsilon=2)
    columns: dict[str, Column] = {"x": rt.real(0, 1, complete=True), "y": rt.category([0, 1])}
    rows = rt.study({"x": [0.5], "y": [1]}, adjacency="add_remove", columns=columns, budget=5)
    one = rows.model_plan(LogisticRegression(epsilon=2), ["x"], "y", people=10**6).seconds
    every = rows.model_plan(search, ["x"], "y", people=10**6).seconds
    assert one is not None
    assert every is not None
    assert search.fits == 4
    assert every > one + 5


@pytest.mark.wide
def test_made_up_rows_cost_what_their_plan_says() -> None:
    """The plan is that of the density, with its tables to check rows by; drawing rows costs nothing."""
    study = made("substitute")
    planned = study.synthesis_plan(["x", "y"], epsilon=2, people=PEOPLE)
    synthetic = study.synthesize(["x", "y"], epsilon=2)
    assert planned.guarantee.loss == synthetic.guarantee.loss
    assert planned.lines[0].expected.replies == (("any shape", 1.0),)
    assert planned.lines[0].expected.noise is not None
    assert planned.seconds is not None
    little = study.synthesis_plan(["x", "y"], epsilon="0.1", people=PEOPLE).lines[0].expected.noise
    assert little is not None
    assert planned.lines[0].expected.noise < little
    with pytest.raises(QuestionError, match="drawn from a density"):
        study.synthesis_plan(rt.mean("x").at(1), epsilon=1)


def test_the_verb_plans_made_up_rows(tmp_path: Path) -> None:
    file = str(clinic(tmp_path))
    found = run("plan", file, "--synth", "--columns", "age", "--epsilon", "1", "--json").document
    assert found["guarantee"] == {"epsilon": "1", "delta": "0"}
    assert "density(age" in found["statistics"][0]["name"]
    typed = run("plan", file, "--synth", "age,sex", "--epsilon", "1")
    assert typed.code == 2
    assert "Columns are named by an option: --columns age,sex." in typed.err
    assert "--release" not in typed.err
    assert "A release is named by an option: --release tail." in run("plan", file, "tail").err
    assert run("plan", file, "--synth", "--model", "KMeans", "--columns", "age", "--epsilon", "1").code == 2


# --- intervals of a logistic model ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("people", "told"), [(200, False), (6_000, True)])
def test_a_plan_says_from_how_many_people_on_a_logistic_model_has_intervals(people: int, told: bool) -> None:
    """A fit of 2,000 people had none at epsilon 1, and said that epsilon times rows of 300 were enough."""
    made = np.random.default_rng(1)
    columns: dict[str, Any] = {"x": rt.real(0, 100), "y": rt.integer(0, 1)}
    model = LogisticRegression(epsilon=1)
    needed = 10 * 50 * 2 * 3
    for _ in range(4):
        x = np.clip(made.normal(40, 12.5, people), 0, 100)
        y = (made.random(people) < 1 / (1 + np.exp(-(x - 40) / 10))).astype(int)
        study = rt.study({"x": x, "y": y}, adjacency="add_remove", columns=columns, budget=99, override="a test")
        words = "of coefficients are likely" if told else "are most likely hidden by noise"
        note = study.model_plan(model, ["x"], "y", people=people).lines[0].expected.note
        assert f"intervals {words}: they need about {needed:,} people at this ε" in note
        fitted = LogisticRegression(epsilon=1).fit(*study.xy(["x"], "y"))
        assert np.isfinite(fitted.estimates_[1].noise) == told
        if not told:
            assert (
                f"ε times rows of about 300 where columns vary evenly over their bounds, of {needed:,}" in fitted.note_
            )


def test_the_plan_of_a_session_says_from_where_on_a_reply_is_likely_and_what_helps() -> None:
    """P(reply) at one to three σ left a reader to guess what would make a reply likely."""

    def told(epsilon: str, people: int) -> float:
        (line,) = made().session_plan("sparse_vector", ["x"], answers=1, epsilon=epsilon, people=people).lines
        found = re.search(
            r"P\(reply\) is 0.95 from ([\d.]+) above the threshold on: a larger ε, more people or fewer answers help",
            line.expected.note,
        )
        assert found is not None
        sigma = float(line.expected.note.split("σ = ", 1)[1].split(";")[0])
        assert sigma < float(found[1]) < 3 * sigma
        return float(found[1])

    assert told("2", PEOPLE) < told("1", PEOPLE)
    assert told("1", 10 * PEOPLE) < told("1", PEOPLE)
