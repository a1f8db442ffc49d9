"""Models and sessions of studies whose neighbours are several steps apart: households, and rows behind a key."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import pytest

import reticent as rt
from reticent.learning import (
    DecisionTreeClassifier,
    GaussianNB,
    GridSearchCV,
    Level,
    LinearRegression,
    LogisticRegression,
    cross_val_score,
    folds,
)
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP

COLUMNS: dict[str, Any] = {"x": rt.integer(0, 9), "y": rt.integer(0, 9), "sex": rt.category(["f", "m"])}
PEOPLE = 600


def rows(**names: list[int]) -> dict[str, list[int] | list[str]]:
    found = {name: [i * step % 10 for i in range(PEOPLE)] for name, step in (("x", 3), ("y", 7))}
    return {**names, **found, "sex": ["f", "m"] * (PEOPLE // 2)}


def opened(kind: str, budget: Any = 300) -> rt.Study:
    """A study of so many steps: plain has one, a filter two, a household of three persons three, two accounts four."""
    given: dict[str, Any] = {"adjacency": "add_remove", "rows_each": 2, "budget": budget, "columns": COLUMNS}
    people = list(range(PEOPLE))
    if kind == "plain":
        return rt.study(rows(patient=people), person="patient", override="made-up rows", **given)
    if kind == "filter":
        given["adjacency"] = "substitute"
        whole = rt.study(rows(patient=people), person="patient", override="made-up rows", **given)
        return whole.where("x != 3")
    if kind == "household":
        data = rows(patient=people, home=[i // 3 for i in people])
        return rt.study(data, person="patient", household="home", per_household=3, override="made-up rows", **given)
    accounts = {"account": people, "patient": people}
    return rt.study(
        rows(account=people),
        person="accounts.patient",
        tables={"accounts": rt.table(accounts, key="account", rows_each={"keys": 2})},
        override="made-up rows",
        **given,
    )


STEPS = {"filter": 2, "household": 3, "accounts": 4}


def made(study: rt.Study, what: str, epsilon: Fraction) -> Guarantee:
    """What one purchase promises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a share of incomplete rows that is left out
        return _bought(study, what, epsilon)


def _bought(study: rt.Study, what: str, epsilon: Fraction) -> Guarantee:
    numbers, classes = study.xy(["x"], "y"), study.xy(["x"], "sex")
    match what:
        case "regression":
            return LinearRegression(epsilon=epsilon).fit(*numbers).guarantee_
        case "classes":
            return LogisticRegression(epsilon=epsilon).fit(*classes).guarantee_
        case "tree":
            return DecisionTreeClassifier(epsilon=epsilon, max_depth=2).fit(*classes).guarantee_
        case "bayes":
            return GaussianNB(epsilon=epsilon).fit(*classes).guarantee_
        case "search":
            return (
                GridSearchCV(LinearRegression(), {"fit_intercept": [True, False]}, epsilon=epsilon)
                .fit(*numbers)
                .guarantee_
            )
        case "folds":
            model = LinearRegression(epsilon=epsilon)
            return cross_val_score(model, *numbers, cv=folds(3), score_epsilon=epsilon).guarantee
        case "score":
            model = LinearRegression(epsilon=epsilon).fit(*numbers)
            model.score(*numbers, epsilon=epsilon)
            return model.score_certificate_.guarantee
        case "holdout":
            with study.holdout(["x"], epsilon=epsilon, rounds=1, threshold="0.1") as holdout:
                return holdout.guarantee
        case "vector":
            with study.sparse_vector(["x"], epsilon=epsilon, positives=1) as vector:
                return vector.guarantee
        case "board":
            with study.leaderboard(["x"], epsilon=epsilon, improvements=1, step="0.01") as board:
                return board.guarantee
        case _:
            raise AssertionError(what)


def charged(guarantee: Guarantee) -> Fraction:
    assert isinstance(guarantee.loss, rt.PureDP)
    return guarantee.loss.epsilon


def leaves(guarantee: Guarantee) -> list[Guarantee]:
    return [guarantee] if not guarantee.parts else [leaf for part in guarantee.parts for leaf in leaves(part)]


@pytest.mark.parametrize("what", ["regression", "classes"])
def test_a_model_of_filtered_rows_under_substitution_is_two_steps(what: str) -> None:
    """One person leaves the rows that pass, another enters: the model is that of people who come and go."""
    _compare("filter", what)


@pytest.mark.wide
@pytest.mark.parametrize("what", ["tree", "bayes", "search", "folds", "score"])
def test_other_models_of_filtered_rows_are_two_steps_too(what: str) -> None:
    _compare("filter", what)


def test_a_model_of_filtered_rows_finds_the_line_of_these_rows() -> None:
    study = rt.study(
        {
            "x": [n % 10 for n in range(4000)],
            "y": [n % 10 if n % 3 else 9 - n % 10 for n in range(4000)],
            "third": [n % 3 for n in range(4000)],
        },
        adjacency="substitute",
        rows_each=1,
        columns={"x": rt.integer(0, 9), "y": rt.integer(0, 9), "third": rt.integer(0, 2)},
        budget=10,
    )
    told = [LinearRegression(epsilon=4).fit(*study.where(text).xy(["x"], "y")) for text in ("third = 0", "third > 0")]
    assert [float(model.coef_[0]) for model in told] == pytest.approx([-1, 1], abs=0.2)
    said = (
        "a person who is replaced may leave them and another enter them, so a fit is 2 steps, each of 1/2 of its loss"
    )
    for model in told:
        assert model.guarantee_.adjacency == study.ledger.adjacency
        assert model.certificate_.verify(allow_unsigned=True).ok
        assert any(said in caveat for caveat in model.certificate_.document["caveats"])
    assert study.ledger.spent() == rt.PureDP(Fraction(8))


@pytest.mark.parametrize("kind", ["household", "accounts"])
@pytest.mark.parametrize("what", ["regression", "vector"])
def test_what_is_drawn_is_that_of_one_step_at_its_share_of_the_loss(kind: str, what: str) -> None:
    _compare(kind, what)


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["household", "accounts"])
@pytest.mark.parametrize("what", ["classes", "tree", "bayes", "search", "folds", "score", "holdout", "board"])
def test_other_models_and_sessions_are_lifted_too(kind: str, what: str) -> None:
    _compare(kind, what)


def _compare(kind: str, what: str) -> None:
    """The leaves of the proof are those of a study of one step at 1 / m of epsilon; m times the loss is charged."""
    study, one, steps = opened(kind), opened("plain"), STEPS[kind]
    whole = made(study, what, Fraction(6))
    part = made(one, what, Fraction(6, steps))
    assert whole.adjacency == study.ledger.adjacency
    assert charged(whole) == steps * charged(part)
    assert [leaf.parameters for leaf in leaves(whole)] == [leaf.parameters for leaf in leaves(part)]
    spent, once = (one.ledger.spent() for one in (study, one))
    assert isinstance(spent, rt.PureDP)
    assert isinstance(once, rt.PureDP)
    assert spent.epsilon == steps * once.epsilon


@pytest.mark.parametrize("kind", ["household", "accounts"])
def test_certificates_say_why_a_model_and_a_session_have_several_steps(kind: str) -> None:
    study = opened(kind)
    model = LinearRegression(epsilon=6).fit(*study.xy(["x"], "y"))
    with study.sparse_vector(["x"], epsilon=6, positives=1) as vector:
        vector.above(Level("x"), "0.99")
    for certificate, what in ((model.certificate_, "a fit"), (vector.certificate, "a session")):
        assert certificate.verify(allow_unsigned=True).ok
        said = f"so {what} is {STEPS[kind]} steps, each of 1/{STEPS[kind]} of its loss"
        assert any(said in caveat for caveat in certificate.document["caveats"])
        likeness = any(
            "persons of one household for drawn one by one" in one for one in certificate.document["caveats"]
        )
        assert likeness == (kind == "household" and what == "a fit")
        assert certificate.document["study"].get("household") == (
            "home, at most 3 persons of each" if kind == "household" else None
        )
    for plan, what in (
        (study.model_plan(LinearRegression(epsilon=6), ["x"], "y"), "a fit"),
        (study.session_plan("holdout", ["x"], answers=1, epsilon=6), "a session"),
    ):
        assert f"so {what} is {STEPS[kind]} steps" in " ".join(str(plan).split())


def test_a_ledger_in_rho_is_charged_the_square_of_the_steps() -> None:
    study = opened("household", rt.ZCDP(Fraction(50)))
    with study.noisy_answers(["x"], rho="9", answers=2) as answers:
        assert answers.guarantee.loss == ZCDP(Fraction(9))
        number, *each = (leaf.loss for leaf in leaves(answers.guarantee))
        assert number == ZCDP(Fraction(1, 20))  # rho 1 of one step, a twentieth of it for the number of rows
        assert each == 2 * [ZCDP(Fraction(19, 40))]
    assert study.ledger.spent() == ZCDP(Fraction(9))
    plain, moved = (
        opened(kind).session_prices(questions=10, positives=2, width=0.1, people=PEOPLE)["gaussian"].rho
        for kind in ("plain", "household")
    )
    assert moved == pytest.approx(9 * plain)


def test_a_household_of_which_one_person_is_kept_is_one_step() -> None:
    study = rt.study(
        rows(patient=list(range(PEOPLE)), home=[i // 3 for i in range(PEOPLE)]),
        person="patient",
        household="home",
        per_household=1,
        rows_each=2,
        adjacency="add_remove",
        budget=10,
        columns=COLUMNS,
    )
    guarantee = study.release(["count"], epsilon=1).guarantee
    assert guarantee.adjacency.words() == "add or remove one household (at most 2 rows each)"
    assert made(study, "vector", Fraction(1)).adjacency.who == "household"


def test_a_column_of_another_table_goes_by_its_short_name_in_models_and_sessions() -> None:
    people = list(range(PEOPLE))
    study = rt.study(
        {"patient": people, "cost": [i % 9 for i in people]},
        person="patient",
        rows_each=1,
        adjacency="add_remove",
        budget=10,
        columns={"cost": rt.integer(0, 9)},
        tables={
            "patients": rt.table(
                {"patient": people, "age": [i % 90 for i in people]}, columns={"age": rt.integer(0, 99)}
            )
        },
    )
    X, _ = study.xy(["age"], "cost")
    assert X.columns == ("patients.age",)
    _, target = study.xy(["cost"], "age")
    assert target is not None
    assert target.columns == ("patients.age",)
    with study.sparse_vector(["age"], epsilon=1, positives=1) as vector:
        vector.above(Level("age"), "0.99")
        vector.above(Level("patients.age"), "0.99")
        with pytest.raises(rt.QuestionError, match="not among them"):
            vector.above(Level("cost"), "0.99")
    assert vector.transcript[0][0].startswith("level(patients.age)")
