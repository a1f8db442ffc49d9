"""A study from the outside: what is refused before rows are read, what is charged, what comes back."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent.entropy import Replayed
from reticent.errors import QuestionError, SpecError
from reticent.ledger import Ledger
from reticent.mechanisms.registry import axiom_again
from reticent.privacy.cost import Cost
from reticent.privacy.loss import Loss
from reticent.privacy.rederivation import rederive
from reticent.study import preparation
from reticent.study.release import Release, draw
from reticent.study.study import Study

SPEC = """
[study]
title  = "visits"
source = "{source}"
ledger = "visits.ledger"

[person]
column    = "id"
rows      = {{ at_most = 3 }}
adjacency = "add_remove"

[budget]
epsilon = "3"
delta   = "1e-8"

[columns.visits]
kind = "integer"
low  = 0
high = 20
[columns.pain]
kind = "real"
[columns.site]
kind  = "category"
among = ["north", "south"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = np.random.default_rng(5)
    people = 3000
    rows = {
        "id": np.repeat(np.arange(people), 2),
        "visits": made.poisson(3, 2 * people),
        "pain": made.normal(100, 5, 2 * people),
        "site": np.where(made.random(2 * people) < 0.4, "north", "south"),
    }
    pq.write_table(pa.table(rows), tmp_path / "visits.parquet")
    (tmp_path / "visits.toml").write_text(SPEC.format(source="visits.parquet"))
    return tmp_path


def spent(folder: Path) -> Loss:
    return Ledger.open(folder / "visits.ledger").spent()


def test_opening_planning_and_rehearsing_touch_neither_rows_nor_ledger(folder: Path) -> None:
    study = rt.open(folder / "visits.toml")
    (folder / "visits.parquet").unlink()
    plan = study.plan([rt.count(), rt.mean("visits")], epsilon=1, people=3000)
    rehearsal = study.rehearse([rt.count(), rt.mean("visits")], epsilon=1)
    assert [line.name for line in plan.lines] == ["count", "mean(visits)", "capped"]
    assert "tells at no charge the share of rows with" in " ".join(repr(plan).split())  # beside a count
    assert plan.affordable
    assert set(rehearsal) == {"count", "mean(visits)"}
    assert repr(rehearsal) == repr(study.rehearse([rt.count(), rt.mean("visits")], epsilon=1))
    assert not (folder / "visits.ledger").exists()


@pytest.mark.wide
def test_a_release_takes_no_entropy_but_the_system_s(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = rt.open(folder / "visits.toml")
    study.release([rt.count()], epsilon="0.1")
    before = spent(folder)
    monkeypatch.setattr("reticent.entropy.system", lambda: Replayed("a test"))
    with pytest.raises(rt.Refusal, match="from the operating system and from nothing else"):
        study.release([rt.count()], epsilon="0.1")
    assert spent(folder) == before


@pytest.mark.wide
def test_a_release_answers_charges_once_and_certifies(folder: Path) -> None:
    study = rt.open(folder / "visits.toml")
    release = study.release([rt.count(), rt.mean("visits"), rt.median("pain"), "mean(visits) by site"], epsilon="1.2")
    assert abs(release["count"].value - 6000) < 400
    mean = release["mean(visits)"]
    assert mean.low < mean.value < mean.high
    assert abs(mean.value - 3) < 1
    assert isinstance(release["median(pain)"].outcome, rt.Reply)
    assert [dict(cell.label)["site"] for cell in release["mean(visits) by site"]] == ["north", "south"]
    assert release.guarantee.loss == rt.PureDP(Fraction("1.2"))
    assert rederive(release.guarantee, axiom_again) == release.guarantee.loss
    assert release.guarantee.adjacency == rt.Adjacency("add_remove", 3)
    assert spent(folder) == rt.ApproxDP(Fraction("1.2"), Fraction(0)) or spent(folder) == rt.PureDP(Fraction("1.2"))
    verified = release.certificate.verify(ledger=study.ledger, allow_unsigned=True)
    assert verified.ok, verified
    assert release.caveats
    assert "more than 3 rows" in release.caveats[0]


@pytest.mark.wide
@pytest.mark.parametrize(
    ("question", "words"),
    [
        (rt.mean("vists"), "There is no column 'vists'. Did you mean visits?"),
        (rt.mean("pain"), "mean(pain) needs a range known without looking at the file"),
        (rt.mean("site"), "needs numbers"),
        ("mean(visits) by pain", "The groups of 'pain' might name someone"),
        ("menu(visits)", "mean"),
    ],
)
def test_a_question_that_does_not_fit_is_refused_and_nothing_is_charged(
    folder: Path, question: object, words: str
) -> None:
    study = rt.open(folder / "visits.toml")
    with pytest.raises(rt.Refusal) as refusal:
        study.release([question], epsilon=1)  # type: ignore[list-item]  # text and statistics
    assert words in str(refusal.value)
    assert not (folder / "visits.ledger").exists()


@pytest.mark.wide
@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", 0.1 + 0.2, "fifty", True, 50])
def test_an_epsilon_that_is_none_is_refused(folder: Path, epsilon: object) -> None:
    with pytest.raises(rt.Refusal):
        rt.open(folder / "visits.toml").release([rt.count()], epsilon=epsilon)  # type: ignore[arg-type]
    assert not (folder / "visits.ledger").exists()


@pytest.mark.wide
def test_more_than_is_left_is_refused_with_what_is_left(folder: Path) -> None:
    study = rt.open(folder / "visits.toml")
    study.release([rt.count()], epsilon=2)
    with pytest.raises(rt.BudgetError, match=r"This needs ε 2; 1 of 3 is left\. Nothing was charged\."):
        study.release([rt.count()], epsilon=2)
    assert study.left().epsilon == 1  # type: ignore[union-attr]  # the ledger is in (ε, δ)
    assert not study.plan([rt.count()], epsilon=2).affordable


@pytest.mark.wide
@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize(
    ("epsilon", "delta", "budget_delta"), [(1, "1e-9", ""), (1, "1e-7", "1e-8"), (4, None, "1e-8")]
)
def test_a_plan_gives_the_reason_that_the_release_would_give(
    folder: Path, opened: bool, epsilon: int, delta: str | None, budget_delta: str
) -> None:
    place = folder / "visits.toml"
    declared = f'delta   = "{budget_delta}"' if budget_delta else ""
    place.write_text(place.read_text("utf-8").replace('delta   = "1e-8"', declared), encoding="utf-8")
    study = rt.open(place)
    if opened:
        study.release([rt.count()], epsilon=1)
    asked = [rt.count()] if delta is None else ["median(pain, method=M)"]
    planned = study.plan(asked, epsilon=epsilon, delta=delta)
    with pytest.raises(rt.BudgetError) as refused:
        study.release(asked, epsilon=epsilon, delta=delta)
    assert not planned.affordable
    assert planned.reason == str(refused.value)
    assert planned.footnote().endswith(str(refused.value))
    assert "This budget has no δ" in planned.reason or budget_delta


@pytest.mark.wide
def test_a_fault_while_rows_are_read_stays_charged_and_says_nothing_of_them(folder: Path) -> None:
    path = folder / "visits.parquet"
    rows = pa.table(
        {
            "id": [f"canary-{i}" for i in range(50_000)],
            "visits": list(range(50_000)),
            "pain": [1.5] * 50_000,
            "site": ["north"] * 50_000,
        }
    )
    pq.write_table(rows, path, compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4)  # pages destroyed, footer kept
    path.write_bytes(bytes(data))
    study = rt.open(folder / "visits.toml")
    with pytest.raises(rt.Fault) as fault:
        study.release([rt.count(), rt.mean("visits")], epsilon=1)
    assert "stays spent" in str(fault.value)
    assert "canary" not in str(fault.value)
    assert fault.value.__cause__ is None
    assert spent(folder).epsilon == 1  # type: ignore[union-attr]
    (line,) = Ledger.open(folder / "visits.ledger").releases()
    assert line.state == "failed"


@pytest.mark.wide
def test_the_guarantee_of_a_group_question_does_not_grow_with_the_groups(folder: Path) -> None:
    study = rt.open(folder / "visits.toml")
    by_site = study.by("site").release([rt.count(), rt.median("pain", low=0, high=200)], epsilon=1)
    assert by_site.guarantee.loss == rt.PureDP(Fraction(1))
    assert len(by_site["count by site"].cells) == 2
    assert rederive(by_site.guarantee, axiom_again) == rt.PureDP(Fraction(1))


@pytest.mark.wide
def test_under_substitution_the_number_of_people_is_public_and_free() -> None:
    study = rt.study(
        {"x": np.arange(500) % 10}, adjacency="substitute", columns={"x": rt.integer(0, 9, missing=0)}, budget=3
    )
    release = study.release([rt.persons(), rt.mean("x")], epsilon=1)
    assert release["persons"].value == 500
    assert release["persons"].low == release["persons"].high == 500
    assert release.guarantee.loss == rt.PureDP(Fraction(1))


@pytest.mark.wide
def test_a_declared_number_of_people_that_is_wrong_is_refused_under_substitution() -> None:
    study = rt.study({"x": [1, 2, 3]}, adjacency="substitute", columns={"x": rt.integer(0, 9)}, budget=3, people=4)
    with pytest.raises(rt.SpecError, match="people"):
        study.release([rt.mean("x")], epsilon=1)
    assert study.left() == rt.PureDP(Fraction(3))


def test_a_table_without_a_declared_column_is_refused_where_the_study_is_made(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n1\n")
    tables: list[object] = [{"age": [1, 2]}, pa.table({"age": [1]}), tmp_path / "t.csv", str(tmp_path / "t.csv")]
    for rows in tables:
        with pytest.raises(SpecError, match="There is no column 'agee'"):
            rt.study(
                rows, adjacency="add_remove", columns={"agee": rt.integer(0, 9)}, budget="1", ledger=tmp_path / "l"
            )
    assert not (tmp_path / "l").exists()


@pytest.mark.wide
def test_there_is_no_default_adjacency() -> None:
    with pytest.raises(rt.Refusal, match="There is no default"):
        rt.study({"x": [1]}, adjacency=None, columns={"x": rt.real()}, budget=1)


@pytest.mark.wide
def test_a_person_of_several_rows_needs_a_cap() -> None:
    with pytest.raises(rt.Refusal, match="One person may have any number of rows"):
        rt.study({"x": [1], "id": [1]}, adjacency="add_remove", columns={"x": rt.real()}, budget=1, person="id")


@pytest.mark.wide
def test_rho_is_shared_converted_and_charged() -> None:
    rows = {"x": np.arange(2000) % 100}
    in_rho = rt.study(rows, adjacency="add_remove", columns={"x": rt.integer(0, 99)}, budget=rt.ZCDP(Fraction(1, 2)))
    release = in_rho.release([rt.count(), rt.mean("x")], rho="0.1")
    assert isinstance(release.guarantee.loss, rt.ZCDP)
    assert Fraction("0.0999") < release.guarantee.loss.rho <= Fraction("0.1")
    assert rederive(release.guarantee, axiom_again) == release.guarantee.loss
    in_delta = rt.study(rows, adjacency="add_remove", columns={"x": rt.integer(0, 99)}, budget=3, delta="1e-6")
    with pytest.raises(rt.Refusal, match="named δ"):
        in_delta.release([rt.count()], rho="0.1")
    converted = in_delta.release([rt.count()], rho="0.1", delta="1e-7")
    assert isinstance(converted.guarantee.loss, rt.ApproxDP)
    assert converted.guarantee.loss.delta == Fraction(1, 10**7)


@pytest.mark.wide
def test_epsilon_spent_in_a_rho_ledger_costs_half_its_square() -> None:
    study = rt.study(
        {"x": [1] * 900}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=rt.ZCDP(Fraction(1, 2))
    )
    study.release([rt.count()], epsilon="0.2")
    assert study.ledger.spent() == rt.ZCDP(Fraction(2, 100))


@pytest.mark.wide
def test_own_epsilons_are_taken_and_the_rest_share_equally() -> None:
    column = rt.integer(0, 9, complete=True)
    study = rt.study({"x": [1] * 900}, adjacency="add_remove", columns={"x": column}, budget=9)
    release = study.release([rt.count().at("0.5"), rt.sum("x"), rt.persons()], epsilon=1)
    losses = {part.label: part.loss for part in release.guarantee.parts}
    assert losses == {
        "count": rt.PureDP(Fraction(1, 2)),
        "sum(x)": rt.PureDP(Fraction(1, 4)),
        "persons": rt.PureDP(Fraction(1, 4)),
    }
    with pytest.raises(rt.Refusal, match="leaves nothing"):
        study.release([rt.count().at(1), rt.sum("x")], epsilon=1)


@pytest.mark.wide
def test_want_finds_the_least_epsilon_for_several_answers_at_once() -> None:
    study = rt.study({"x": [1] * 900}, adjacency="add_remove", columns={"x": rt.real(0, 9)}, budget=9)
    plan = study.plan(want={"count": 5, "mean(x)": 0.05}, people=20_000)
    for line in plan.lines:
        assert line.expected.noise is not None
        assert line.expected.noise <= {"count": 5, "mean(x)": 0.05}[line.name]
    tighter = study.plan(want={"count": 5}, people=20_000).lines[0].loss
    assert isinstance(tighter, rt.PureDP)
    step = Fraction(1, 1000)
    less = study.plan([rt.count().at(tighter.epsilon - step)], people=20_000).lines[0].expected.noise
    assert less is not None
    assert less > 5
    with pytest.raises(rt.Refusal):
        study.plan(want={"mean(x)": 0})


@pytest.mark.wide
def test_a_handle_shows_no_row_and_cannot_be_counted_or_carried_away(folder: Path) -> None:
    study = rt.open(folder / "visits.toml")
    assert "visits (integer 0 to 20)" in repr(study)
    assert "6000" not in repr(study)
    for wrong in (len, list):
        with pytest.raises(rt.QuestionError, match="handle on private rows"):
            wrong(study)
    assert copy.deepcopy(study) is study
    again = pickle.loads(pickle.dumps(study))
    assert isinstance(again, Study)
    study.release([rt.count()], epsilon=2)
    with pytest.raises(rt.BudgetError):
        again.release([rt.count()], epsilon=2)
    memory = rt.study({"x": [1]}, adjacency="add_remove", columns={"x": rt.real()}, budget=1)
    assert copy.deepcopy(memory) is memory
    with pytest.raises(rt.QuestionError, match="cannot be pickled"):
        pickle.dumps(memory)


@pytest.mark.wide
def test_a_release_travels_as_arrow_files_and_pickle(folder: Path) -> None:
    import polars as pl

    study = rt.open(folder / "visits.toml")
    release = study.release([rt.count(), rt.histogram("visits", edges=[0, 5, 20]), "count by site"], epsilon=1)
    frame = pl.DataFrame(release)
    assert frame.shape[0] == 5
    assert {"name", "outcome", "value", "low", "high", "noise", "sampling"} <= set(frame.columns)
    paths = release.save(folder / "table")
    assert sorted(path.suffix for path in paths) == [".csv", ".html", ".json", ".svg"]
    assert rt.read_certificate(folder / "table.json").digest == release.certificate.digest
    again = pickle.loads(pickle.dumps(release))
    assert isinstance(again, Release)
    assert again["count"].value == release["count"].value
    assert "<table" in release._repr_html_()


@pytest.mark.wide
def test_two_ledgers_for_one_source_are_refused(folder: Path) -> None:
    rt.open(folder / "visits.toml").release([rt.count()], epsilon=1)
    other = (folder / "visits.toml").read_text().replace("visits.ledger", "other.ledger")
    (folder / "other.toml").write_text(other)
    with pytest.raises(rt.LedgerError, match=r"already under .*visits\.ledger"):
        rt.open(folder / "other.toml").release([rt.count()], epsilon=1)
    assert not (folder / "other.ledger").exists()


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ("adjacency", 'Choose adjacency: "add_remove" hides'),
        ("budget", 'such as budget="3"'),
        ("columns", 'columns={"age": rt.integer(0, 110)}'),
    ],
)
def test_what_a_study_needs_is_told_where_it_is_left_out(left_out: str, said: str) -> None:
    """Python's own words for a missing argument say nothing of what to choose."""
    given: dict[str, Any] = {"adjacency": "add_remove", "columns": {"x": rt.integer(0, 9)}, "budget": 2}
    del given[left_out]
    with pytest.raises(rt.SpecError, match=re.escape(said)):
        rt.study({"x": [1]}, **given)


def test_a_budget_above_ten_says_where_its_reason_stands() -> None:
    """The words had been those of a release, which no argument of ``rt.study`` follows."""
    given: dict[str, Any] = {"adjacency": "add_remove", "columns": {"x": rt.integer(0, 9)}, "budget": 20}
    with pytest.raises(rt.SpecError, match=r'a budget needs a reason.*override="…" of rt\.study'):
        rt.study({"x": [1]}, **given)
    assert rt.study({"x": [1]}, **given, override="a lesson").left()


@pytest.mark.wide
def test_an_epsilon_above_ten_needs_a_reason_which_the_certificate_prints() -> None:
    study = rt.study(
        {"x": [1] * 900}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=100, override="test"
    )
    with pytest.raises(rt.Refusal, match="protects no one"):
        study.release([rt.count()], epsilon=20)
    release = study.release([rt.count()], epsilon=20, record=rt.Record(override="public test data"))
    assert release.certificate.document["override"] == "public test data"


@pytest.mark.wide
def test_a_no_reply_is_a_type_and_its_value_raises() -> None:
    study = rt.study({"x": [1.0] * 100}, adjacency="add_remove", columns={"x": rt.real()}, budget=5)
    answer = study.release([rt.median("x")], epsilon="0.5")["median(x)"]
    assert answer.outcome == rt.NO_REPLY
    for read in (lambda: answer.value, lambda: answer.low, lambda: float(answer), lambda: f"{answer:.1f}"):
        with pytest.raises(rt.NoReplyError, match=r"median\(x\) gave no reply"):
            read()


@pytest.mark.wide
def test_stages_are_told_as_they_begin_and_the_charge_comes_first(folder: Path) -> None:
    study = rt.open(folder / "visits.toml")
    seen: list[tuple[str, bool]] = []

    def tell(stage: str) -> None:
        ledger = folder / "visits.ledger"
        charged = ledger.exists() and len(Ledger.open(ledger).releases()) == 1
        seen.append((stage, charged))

    replace(study, on_stage=tell).release([rt.count()], epsilon=1)
    assert seen == [("reserve", False), ("read", True), ("draw", True), ("commit", True)]


@pytest.mark.wide
def test_a_declined_request_is_a_line_in_the_log_of_the_ledger_and_costs_nothing(folder: Path) -> None:
    study = rt.open(folder / "visits.toml")
    study.release([rt.count()], epsilon=1, record=rt.Record(name="first"))
    with pytest.raises(rt.BudgetError):
        study.release([rt.count()], epsilon=9, record=rt.Record(name="too much"))
    with pytest.raises(rt.QuestionError):
        study.release([rt.mean("pain")], epsilon=1, record=rt.Record(name="no bounds", who="anna"))
    lines = (*study.ledger.releases(), *study.ledger.refusals())
    assert [(line.what, line.who, line.state) for line in lines] == [
        ("first", "curator", "committed"),
        ("too much", "curator", "refused"),
        ("no bounds", "anna", "refused"),
    ]
    assert spent(folder).epsilon == 1  # type: ignore[union-attr]
    assert study.ledger.verify() == ()


@pytest.mark.wide
def test_a_release_by_width_needs_a_public_number_of_people_and_pays_for_the_cap(folder: Path) -> None:
    study = rt.open(folder / "visits.toml")
    with pytest.raises(rt.QuestionError, match="public number of people"):
        study.release(want={"mean(visits)": 0.5})
    text = (folder / "visits.toml").read_text().replace("adjacency =", "people = 3000\nadjacency =")
    (folder / "visits.toml").write_text(text)
    study = rt.open(folder / "visits.toml")
    plan = study.plan(want={"mean(visits)": 0.5})
    assert plan.lines[0].expected.noise is not None
    assert plan.lines[0].expected.noise <= 0.5
    assert study.release(want={"mean(visits)": 0.5}).guarantee.loss == plan.guarantee.loss


@pytest.mark.wide
@pytest.mark.parametrize("people", [0, -5, 2.5, True])
def test_nobody_is_no_number_of_people(people: object) -> None:
    study = rt.study({"x": [1]}, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget=1)
    with pytest.raises(rt.PublicParameterError, match="people must be"):
        study.plan([rt.count()], epsilon=1, people=people)  # type: ignore[arg-type]
    with pytest.raises(rt.PublicParameterError, match="people must be"):
        study.rehearse([rt.count()], epsilon=1, people=people)  # type: ignore[arg-type]


@pytest.mark.wide
@pytest.mark.parametrize("epsilon", ["1e400", "1e9999999", "1e-9999", "9" * 5000, "1/" + "9" * 700])
def test_a_number_that_would_stop_the_machine_is_refused_at_once(epsilon: str) -> None:
    study = rt.study({"x": [1]}, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget=1)
    with pytest.raises(rt.Refusal):
        study.plan([rt.count()], epsilon=epsilon)


@pytest.mark.wide
def test_groups_take_the_declared_spelling_of_a_key() -> None:
    study = rt.study({"g": [1, 0, 1]}, adjacency="add_remove", columns={"g": rt.category([1, 0])}, budget=10)
    release = study.by("g", among=[True]).release([rt.count()], epsilon=9)
    (cell,) = release["count by g"].cells
    assert cell.label == (("g", 1),)
    assert isinstance(cell.outcome, rt.Reply)
    assert abs(cell.outcome.value.value - 2) < 9


@pytest.mark.wide
def test_a_public_number_is_free_in_rho_too() -> None:
    study = rt.study(
        {"x": np.arange(400) % 10},
        adjacency="substitute",
        columns={"x": rt.integer(0, 9, missing=0)},
        budget=rt.ZCDP(Fraction(1, 2)),
    )
    release = study.release([rt.persons(), rt.sum("x")], rho="0.1")
    assert release["persons"].value == 400
    assert release["sum(x)"].value == int(release["sum(x)"].value)


@pytest.mark.wide
def test_a_study_file_without_a_ledger_releases_nothing(folder: Path) -> None:
    text = (folder / "visits.toml").read_text().replace('ledger = "visits.ledger"\n', "")
    (folder / "visits.toml").write_text(text)
    study = rt.open(folder / "visits.toml")
    assert study.plan([rt.count()], epsilon=1).affordable
    for _ in range(2):
        with pytest.raises(rt.SpecError, match="Name a ledger"):
            study.release([rt.count()], epsilon=1)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("questions", "price"),
    [([rt.count().at(500)], {}), ([rt.count()], {"epsilon": 500}), ([rt.count()], {"rho": 5000})],
)
def test_no_way_of_saying_a_price_avoids_the_reason(questions: list[object], price: dict[str, object]) -> None:
    budget = rt.ZCDP(Fraction(10**6)) if "rho" in price else 10**6
    study = rt.study(
        {"x": [1] * 900}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=budget, override="test"
    )
    with pytest.raises(rt.Refusal, match="protects no one"):
        study.release(questions, **price)  # type: ignore[arg-type]
    with pytest.raises(rt.Refusal, match="protects no one"):
        rt.study({"x": [1]}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=budget)


@pytest.mark.wide
def test_a_budget_of_delta_that_exposes_people_is_refused() -> None:
    with pytest.raises(rt.Refusal, match="exposed outright"):
        rt.study(
            {"x": [1]}, adjacency="add_remove", columns={"x": rt.real(0, 1)}, budget=1, delta="0.01", people=20_000
        )


@pytest.mark.wide
def test_rows_that_cannot_be_read_for_their_number_are_a_charged_fault(folder: Path) -> None:
    text = (folder / "visits.toml").read_text().replace("add_remove", "substitute")
    (folder / "visits.toml").write_text(text)
    path = folder / "visits.parquet"
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4)
    path.write_bytes(bytes(data))
    with pytest.raises(rt.Fault, match="stays spent"):
        rt.open(folder / "visits.toml").release([rt.mean("visits")], epsilon="0.7")
    assert spent(folder).epsilon == Fraction(7, 10)  # type: ignore[union-attr]


@pytest.mark.wide
def test_free_numbers_buy_no_caveat_and_take_no_share() -> None:
    study = rt.study(
        {"who": list(range(50)), "x": [1] * 50},
        adjacency="substitute",
        columns={"x": rt.integer(0, 9)},
        person="who",
        rows_each=1,
        budget=3,
    )
    assert study.release([rt.count(), rt.persons()], epsilon=1).guarantee.loss == rt.PureDP(Fraction(0))
    assert study.release([rt.count(), rt.mean("x")], epsilon=1).guarantee.loss == rt.PureDP(Fraction(1))


@pytest.mark.wide
def test_a_proportion_is_of_the_value_spelled_that_way() -> None:
    study = rt.study(
        {"g": ["a"] * 900 + ["A"] * 100},
        adjacency="add_remove",
        columns={"g": rt.category(["A", "a"])},
        budget=9,
    )
    assert study.release([rt.proportion("g", value="a")], epsilon=5)["proportion(g, value=a)"].value > 0.8


@pytest.mark.wide
def test_a_median_of_nobody_is_no_reply() -> None:
    """At most 5e-3 of releases about an empty table may reply: more than 4 of 100 has a chance below 2e-4."""
    study = rt.study(
        {"x": np.array([], dtype=float)},
        adjacency="add_remove",
        columns={"x": rt.real(0, 100)},
        budget=1000,
        override="test",
    )
    prepared = preparation.prepare(study, [rt.median("x", interval=False)], Cost.read(1, None, None), None)
    table = study._table()
    replies = 0
    for run in range(100):
        answers, _ = draw(prepared, table, Replayed(f"nobody {run}"), lambda stage: None)
        replies += isinstance(answers[0].outcome, rt.Reply)
    assert replies <= 4


@pytest.mark.wide
def test_a_fault_keeps_nothing_of_its_cause(folder: Path) -> None:
    path = folder / "visits.parquet"
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4)
    path.write_bytes(bytes(data))
    with pytest.raises(rt.Fault) as fault:
        rt.open(folder / "visits.toml").release([rt.count(), rt.mean("visits")], epsilon=1)
    assert fault.value.__cause__ is None
    assert fault.value.__context__ is None


@pytest.mark.wide
@pytest.mark.parametrize("wrong", [np.mean, [np.mean], [3], 7, [["count"]]])
def test_what_is_no_question_is_refused_with_words(folder: Path, wrong: object) -> None:
    with pytest.raises(rt.QuestionError):
        rt.open(folder / "visits.toml").release(wrong, epsilon=1)  # type: ignore[arg-type]


@pytest.mark.wide
def test_numbers_of_numpy_are_numbers() -> None:
    study = rt.study(
        {"x": np.arange(400) % 10}, adjacency="add_remove", columns={"x": rt.real(np.float64(0), np.int64(9))}, budget=3
    )
    study.release([rt.histogram("x", edges=np.linspace(0, 9, 4))], epsilon=np.float64(0.5))
    with pytest.raises(rt.Refusal, match="integer"):
        rt.integer(0, 110.5)  # type: ignore[arg-type]
    with pytest.raises(rt.Refusal, match="list of values"):
        rt.category("north")
    with pytest.raises(rt.Refusal, match="edges"):
        rt.histogram("x", edges=10)  # type: ignore[arg-type]


@pytest.mark.wide
def test_the_person_of_a_ledger_cannot_be_exchanged(folder: Path) -> None:
    rt.open(folder / "visits.toml").release([rt.count()], epsilon="0.5")
    text = (folder / "visits.toml").read_text().replace('column    = "id"', 'column    = "visits"')
    (folder / "visits.toml").write_text(text.replace("[columns.visits]", "[columns.other]"))
    with pytest.raises(rt.Refusal):
        rt.open(folder / "visits.toml").release([rt.count()], epsilon="0.5")


@pytest.mark.wide
def test_an_interrupted_release_cannot_be_undone_by_an_older_copy_of_the_ledger(folder: Path) -> None:
    import shutil

    study = rt.open(folder / "visits.toml")
    study.release([rt.count()], epsilon="0.5")
    shutil.copy(folder / "visits.ledger", folder / "older")

    def interrupt(stage: str) -> None:
        if stage == "draw":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace(study, on_stage=interrupt).release([rt.count()], epsilon="0.5")
    for path in folder.glob("visits.ledger*"):
        path.unlink()
    shutil.copy(folder / "older", folder / "visits.ledger")
    with pytest.raises(rt.LedgerError, match="older copy"):
        rt.open(folder / "visits.toml").release([rt.count()], epsilon="0.5")


@pytest.mark.parametrize(
    "text", ["mean(x)", "count()", "sum(x)", "median(x)", "variance(x)", "test(x ~ y)", "regress(y ~ x)"]
)
def test_no_people_under_substitution_are_refused_before_the_charge(text: str) -> None:
    """Their number is public there: an empty table once ended in a charged fault."""
    study = rt.study(
        {"x": [], "y": []}, adjacency="substitute", columns={"x": rt.real(0, 1), "y": rt.real(0, 1)}, budget=5
    )
    with pytest.raises(QuestionError, match="no people, which is public here"):
        study.release([text], epsilon=1)
    assert {line.state for line in study.ledger.refusals()} == {"refused"}


@pytest.mark.parametrize("form", ["arrays", "objects", "pandas", "arrow"])
def test_a_list_of_other_texts_for_truth_values_is_refused_before_the_charge(form: str) -> None:
    import pandas as pd

    cells = [True, False] * 20
    rows: Any = {
        "arrays": {"s": np.array(cells)},
        "objects": {"s": cells},
        "pandas": pd.DataFrame({"s": cells}),
        "arrow": pa.table({"s": cells}),
    }[form]
    for among in (["True", "False"], ["yes", "no"]):
        study = rt.study(rows, adjacency="add_remove", columns={"s": rt.category(among)}, budget=9)
        if form == "objects":  # of objects no type is public
            assert study.release([rt.count().by("s")], epsilon=2)["count by s"].cells
            continue
        with pytest.raises(rt.SpecError, match=r"truth values: .*\"true\", \"false\""):
            study.release([rt.count().by("s")], epsilon=2)
        assert study.ledger.releases() == ()
    keys: Any
    for keys in (["true", "false"], [True, False], [0, 1]):
        study = rt.study(rows, adjacency="add_remove", columns={"s": rt.category(keys)}, budget=9)
        assert len(study.release([rt.count().by("s")], epsilon=2)["count by s"].cells) == 2
