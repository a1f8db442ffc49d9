"""A delta is a probability at every door, and one that nothing spends is said to be left, not dropped in silence."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.errors import Refusal
from reticent.learning import LinearRegression, LogisticRegression
from reticent.privacy.cost import Cost
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.statistics.grammar import parse
from tests.support.cli_kit import run

rehearsal = import_module("reticent.study.rehearsal")  # the package has a function of its name

ROWS = {"x": np.arange(400) % 40, "y": np.arange(400) % 7}
COLUMNS: dict[str, Any] = {"x": rt.integer(0, 40), "y": rt.integer(0, 6)}
RANGE = "δ must be a probability, above 0 and below 1, such as 1e-9, got {}"
FILE = """[study]
source = "t.csv"
ledger = "t.ledger"
[person]
rows = "one_each"
adjacency = "add_remove"
[budget]
epsilon = "9"
[columns.x]
kind = "integer"
low = 0
high = 40
"""


def _study(**more: Any) -> rt.Study:
    return rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, budget=9, rows_each=1, **more)


DOORS: dict[str, Callable[[rt.Study, Any], object]] = {
    "release": lambda study, delta: study.release("mean(x)", epsilon=1, delta=delta),
    "plan": lambda study, delta: study.plan("mean(x)", epsilon=1, delta=delta),
    "rehearse": lambda study, delta: study.rehearse("mean(x)", epsilon=1, delta=delta),
    "audit": lambda study, delta: study.audit("mean(x)", epsilon=1, delta=delta),
    "sql": lambda study, delta: study.sql("SELECT AVG(x) FROM study", epsilon=1, delta=delta),
    "synthesize": lambda study, delta: study.synthesize("x", epsilon=1, delta=delta),
    "synthesis_plan": lambda study, delta: study.synthesis_plan("x", epsilon=1, delta=delta),
    "noisy_answers": lambda study, delta: study.noisy_answers(["x"], rho="0.1", answers=3, delta=delta),
    "session_prices": lambda study, delta: study.session_prices(
        questions=9, positives=1, width=0.1, people=99, delta=delta
    ),
    "linear": lambda study, delta: LinearRegression(epsilon=1, delta=delta).fit(*study.xy(["x"], "y")),
    "logistic": lambda study, delta: LogisticRegression(epsilon=1, delta=delta).fit(*study.xy(["x"], "y")),
    "model_plan": lambda study, delta: study.model_plan(LinearRegression(epsilon=1, delta=delta), ["x"], "y"),
    "question": lambda _, delta: parse(f"median(x, method=M, delta={delta})"),
    "budget": lambda _, delta: _study(delta=delta),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("delta", ["2", "1", "-0.1"])
def test_a_delta_that_is_no_probability_is_refused_and_nothing_charged(door: str, delta: str) -> None:
    study = _study()
    with pytest.raises(Refusal, match=re.escape(RANGE.format(delta))):
        DOORS[door](study, delta)
    assert study.left() == PureDP(Fraction(9))


def test_a_cost_made_by_hand_has_the_same_range() -> None:
    with pytest.raises(Refusal, match="delta must be below 1"):
        Cost(Fraction(1), delta=Fraction(2))


def test_a_study_file_and_the_command_line_refuse_it_too(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n2\n", "utf-8")
    place = tmp_path / "t.toml"
    place.write_text(FILE + '[[release]]\nname = "a"\nask = ["mean(x)"]\nepsilon = "1"\ndelta = "2"\n', "utf-8")
    said = " ".join(run("check", str(place)).said.split())
    assert RANGE.format(2) in said
    place.write_text(FILE, "utf-8")
    for verb in ("plan", "release"):
        done = run(verb, str(place), "--ask", "mean(x)", "--epsilon", "1", "--delta", "2")
        assert done.code != 0
        assert RANGE.format(2) in " ".join(done.said.split())


LEFT = "δ 1e-6 is not charged: nothing here spends a δ"


def test_a_delta_that_nothing_spends_is_left_and_said_to_be(tmp_path: Path) -> None:
    for budget in ({}, {"delta": "1e-5"}):
        study = _study(**budget)
        planned = study.plan("mean(x)", epsilon=1, delta="1e-6")
        assert LEFT in " ".join(repr(planned).split())
        assert planned.noted == (LEFT,)
        released = study.release("mean(x)", epsilon=1, delta="1e-6")
        assert LEFT in released.caveats
        assert released.guarantee.loss == PureDP(Fraction(1))
        assert LEFT in " ".join(repr(released).split())


@pytest.mark.parametrize("adjacency", ["substitute", "add_remove"])
def test_only_a_delta_that_is_spent_is_compared_with_the_number_of_people(adjacency: Any, tmp_path: Path) -> None:
    """One that nothing spends exposes nobody: it is named and left, as in every other study."""
    people: dict[str, Any] = {"people": 400} if adjacency == "add_remove" else {}
    study = rt.study(ROWS, adjacency=adjacency, columns=COLUMNS, budget=9, delta="1e-5", rows_each=1, **people)
    left = LEFT.replace("1e-6", "0.001")
    assert study.plan("mean(x)", epsilon=1, delta="0.001", people=400).noted == (left,)
    assert left in study.release("mean(x)", epsilon=1, delta="0.001").caveats
    for asked, delta in (("median(x, method=M)", "0.001"), ("median(x, method=M, delta=0.001)", None)):
        with pytest.raises(Refusal, match="exposed outright"):
            study.plan(asked, epsilon=8, people=400, delta=delta)
        with pytest.raises(Refusal, match="exposed outright"):
            study.release(asked, epsilon=8, delta=delta)
    (tmp_path / "t.csv").write_text("x\n" + "1\n2\n" * 200, "utf-8")
    place = tmp_path / "t.toml"
    public = FILE.replace("[budget]", "people = 400\n[budget]").replace("add_remove", adjacency)
    place.write_text(public + '[[release]]\nname = "a"\nask = ["mean(x)"]\nepsilon = "1"\ndelta = "0.001"\n', "utf-8")
    assert left in " ".join(run("plan", str(place), "--release", "a").said.split())


@pytest.mark.parametrize(("adjacency", "declared"), [("substitute", None), ("substitute", 400), ("add_remove", 400)])
def test_a_session_compares_its_delta_with_the_people_as_a_release_does(adjacency: Any, declared: int | None) -> None:
    """Their number is public under substitution, declared or not: sessions compared with declared people alone."""
    delta = "1e-5" if declared else "0.002"  # of declared people the budget's own is compared
    study = rt.study(ROWS, adjacency=adjacency, columns=COLUMNS, budget=9, delta=delta, rows_each=1, people=declared)
    given: dict[str, Any] = {"rho": "0.1", "answers": 5}
    with pytest.raises(Refusal, match=r"0\.4 of 400 people to be exposed outright"):
        study.noisy_answers(["x"], delta="0.001", **given)
    with pytest.raises(Refusal, match=r"0\.4 of 400 people to be exposed outright"):
        study.session_plan("noisy_answers", ["x"], delta="0.001", people=400, **given)
    assert not getattr(study.ledger.spent(), "epsilon", 0)
    study.noisy_answers(["x"], delta="1e-5", **given).close()


def test_a_delta_of_a_question_that_nothing_spends_is_said_to_be_left() -> None:
    asked = "regress(y ~ x, delta=1e-6)"
    assert LEFT in _study().plan(asked, epsilon=1).noted
    assert LEFT in _study().release(asked, epsilon=1).caveats


def test_a_delta_that_is_spent_has_no_such_note() -> None:
    study = rt.study(ROWS, adjacency="substitute", columns=COLUMNS, budget=9, delta="1e-5", rows_each=1)
    planned = study.plan("median(x, method=M)", epsilon=1, delta="1e-6", people=9_000)
    assert isinstance(planned.guarantee.loss, ApproxDP)
    assert not planned.noted
    assert "not charged" not in repr(planned)


@pytest.mark.parametrize("call", ["release", "sql", "synthesize"])
@pytest.mark.parametrize("option", [field.name for field in fields(rt.Record)])
def test_what_a_record_keeps_is_told_to_stand_in_it(call: str, option: str) -> None:
    study = _study()
    with pytest.raises(rt.QuestionError, match=rf"record=rt\.Record\({option}="):
        getattr(study, call)("SELECT AVG(x) FROM study" if call == "sql" else "x", epsilon=1, **{option: True})


@pytest.mark.parametrize("call", ["plan", "rehearse"])
def test_try_anyway_is_of_a_release_and_a_plan_says_so(call: str) -> None:
    with pytest.raises(rt.QuestionError, match=r"record=rt\.Record\(try_anyway=True\)"):
        getattr(_study(), call)("mean(x)", epsilon=1, try_anyway=True)


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("regress(y ~ x * z)", "y ~ x * z fits x * z without x and z: with them it is regress(y ~ x + z + x * z)"),
        ("regress(y ~ x + x * z)", "y ~ x + x * z fits x * z without z: with them it is regress(y ~ z + x + x * z)"),
        ("regress(y ~ x + z + x * z)", ""),
        ("regress(y ~ x + z)", ""),
    ],
)
def test_a_product_without_its_columns_is_told_by_plan_and_release(question: str, note: str) -> None:
    rows = {**ROWS, "z": np.arange(400) % 11}
    study = rt.study(
        rows, adjacency="substitute", columns={**COLUMNS, "z": rt.integer(0, 10)}, budget=99, rows_each=1, override="a"
    )
    assert study.plan(question, epsilon=9, people=400).noted == ((note,) if note else ())
    record = rt.Record(override="a", try_anyway=True)
    told = study.release(question, epsilon=40, record=record).caveats
    assert [text for text in told if " fits " in text] == ([note] if note else [])


def test_a_delta_that_rho_does_not_spend_is_named_and_compared_with_nobody() -> None:
    """A loss in rho has a delta where it is viewed as (ε, δ); the ledger is charged none."""
    budget = rt.ZCDP(Fraction(5000))
    study = rt.study(ROWS, adjacency="substitute", columns=COLUMNS, budget=budget, rows_each=1, override="a")
    assert "δ 0.9 is not charged: nothing here spends a δ" in study.release("mean(x)", rho="0.1", delta="0.9").caveats
    many = rt.study(
        ROWS, adjacency="add_remove", columns=COLUMNS, budget=budget, rows_each=1, override="a", people=100_000_000
    )
    assert many.plan("mean(x)", rho="0.1").noted == ()


@pytest.mark.parametrize(("people", "made"), [(3500, 3500), (None, 1000), (5_000_000, 100_000)])
def test_a_rehearsal_makes_up_the_declared_people(
    people: int | None, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(rehearsal, "rehearse", lambda prepared, schema, people: told.append(people))
    of = rt.study({"x": [1] * 9}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=1, people=people)
    of.rehearse(["count"], epsilon=1)
    of.rehearse(["count"], epsilon=1, people=70)
    assert told == [made, 70]


@pytest.mark.parametrize(("delta", "told"), [("1e-8", "1e-8"), (None, "1e-6")])
def test_prices_of_sessions_are_told_at_the_delta_of_the_budget(delta: str | None, told: str) -> None:
    of = rt.study({"x": [1] * 9}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget="1", delta=delta or 0)

    def prices(delta: str | None) -> object:
        return of.session_prices(questions=20, positives=10, width=0.05, people=5_000, delta=delta)

    assert prices(None) == prices(told)
    assert prices(None) != prices("1e-7")
