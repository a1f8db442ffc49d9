"""Groups by keys that nobody listed: ``by drug keys=found``, from the text to a certificate, and replayed.

A release of 300 and 200 persons by epsilon 1 misses either key, or lists one of 1 person, with probability below 1e-5.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.certificate.certificate import read_certificate
from reticent.conformance.replay import Tape, replay
from reticent.data.query import KeyHolders, Keys, Rows
from reticent.data.schema import Category, Column, Person, Schema, Text, category, real
from reticent.data.table import open_table
from reticent.errors import QuestionError
from reticent.outcome import Estimate, NoReply, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.statistics.answer import Cell
from reticent.statistics.grammar import parse
from reticent.study import found_keys
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import understand

KEY = bytes(range(32))
ODD: list[object] = [" statin ", "statin", "stating", "", "   ", None, "two\nlines", "é" * 9, "STATIN", "st atin"]


def estimate(cell: Cell) -> Estimate:
    assert isinstance(cell.outcome, Reply)
    return cell.outcome.value


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "count by drug keys=found",
        "mean(cost) where age > 3 by drug, ward keys=found at_least=20 groups=1 with totals",
        'count by drug keys="my drugs.csv"',
        "count by ward groups=2",
    ],
)
def test_a_question_is_printed_as_it_is_read(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_python_and_text_say_the_same() -> None:
    asked = rt.mean("cost").by("drug", keys="found", at_least=20, groups=1)
    assert asked == parse("mean(cost) by drug keys = found groups=1 at_least=20")


@pytest.mark.parametrize("text", ["count by g at_least=3", "count by g keys=found keys=found", "count by g groups=0"])
def test_words_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises((QuestionError, rt.PublicParameterError)):
        parse(text)


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_found_key_is_read_as_it_was_found() -> None:
    """Cells are cut alike for the list and for the groups of it, with few keys and with a long list."""
    rows = {"who": [f"p{n}" for n in range(len(ODD))], "t": ODD}
    person = Person("add_remove", "who", 1)
    (found,) = open_table(rows, Schema({}, person, texts={"t": Text(6)})).run([KeyHolders("t", 1)], KEY)
    assert found.holders is not None
    assert dict(found.holders) == Counter(["statin"] * 3 + ["é" * 6, "STATIN", "st ati"])
    for more in ((), tuple(f"k{n}" for n in range(100))):
        among = (*sorted(found.holders), *more)
        schema = Schema({"t": Category(among, longest=6)}, person)
        (counted,) = open_table(rows, schema).run([Rows(Keys("t", among, 1))], KEY)
        assert [n for (n,) in counted.vectors] == [found.holders.get(key, 0) for key in among]


# --- the plan ---------------------------------------------------------------------------------------------------------


def planned(
    asked: list[str], kind: Kind = "add_remove", rows: int = 2, epsilon: int = 2, units: int = 90_000
) -> PreparedRelease:
    schema = schema_of(kind, rows)
    within, people = Cost(Fraction(epsilon), delta=Fraction(1, 10**6)), units if kind == "substitute" else None
    return found_keys.settle_found(understand(asked, schema), within, schema, people, "approximate")


def schema_of(kind: Kind, rows: int) -> Schema:
    columns: dict[str, Column] = {"x": real(0, 1), "g": category(["a", "b"])}
    return Schema(columns, Person(kind, "who", rows), texts={"t": Text(20)})


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_the_price_is_that_of_any_list(kind: Kind) -> None:
    plan = planned(["mean(x) by t keys=found", "count by t, g keys=found", "median(x) by t keys=found", "count"], kind)
    assert plan.guarantee.loss == rt.ApproxDP(Fraction(2), Fraction(1, 10**6))
    assert plan.choice is not None
    assert plan.choice.guarantee.loss == rt.ApproxDP(Fraction(1), Fraction(1, 10**6))
    for many in (0, 1, 2, 3, 30):
        assert plan.at_keys is not None
        made = plan.at_keys(plan, [f"k{n}" for n in range(many)])
        assert made.guarantee.loss == plan.guarantee.loss
        assert made.chosen == many


def test_a_list_of_another_price_than_was_charged_is_not_asked_of() -> None:
    plan = planned(["mean(x) by t keys=found"])
    assert plan.at_keys is not None
    charged = replace(plan, guarantee=planned(["mean(x) by t keys=found"], epsilon=1).guarantee)
    with pytest.raises(rt.PublicParameterError, match="that of any list"):
        plan.at_keys(charged, ["k1", "k2"])


def test_a_plan_says_share_threshold_and_length() -> None:
    plan = str(
        rt.study(
            {"who": ["p1"], "t": ["a"], "x": [0.5]},
            adjacency="add_remove",
            person="who",
            rows_each=1,
            columns={"t": rt.text(), "x": rt.real(0, 1)},
            budget=4,
            delta="1e-5",
        ).plan(["mean(x) by t keys=found"], epsilon=2, delta="1e-6")
    )
    told = " ".join(plan.split())  # lines are folded
    assert "keys of t" in told
    assert "1/2 of the loss; keys of about fewer than 14 persons are not listed" in told
    assert "10,000 people make about 92 listed keys if sizes fall as 1/rank, at most 714" in told
    assert "in each group of t, whose keys were found privately" in told


def test_a_delta_is_shared_with_the_questions_that_need_one() -> None:
    plan = planned(["count(mechanism=gaussian) by t keys=found", "count by g"])
    assert plan.choice is not None
    assert plan.choice.guarantee.loss == rt.ApproxDP(Fraction(1), Fraction(1, 2 * 10**6))
    assert isinstance(plan.guarantee.loss, rt.ApproxDP)
    assert plan.guarantee.loss.delta == Fraction(1, 10**6)
    assert Fraction(199, 100) < plan.guarantee.loss.epsilon <= 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["count by t"], "keys=found"),
        (["count by g keys=found"], "column of texts"),
        (["count by t keys=found", "count by t keys=found at_least=3"], "one list of keys"),
        (["count by t keys=found", "count where x > 1/2 by t keys=found"], "one list of keys"),
        (["count by t keys=found", "keys(t, delta=1e-7)"], "pay for a list twice"),
        (['count where t = "a" by t keys=found'], "text without a public list|no column"),
        (["histogram(t) by t keys=found"], "text without a public list"),
        (["count by t keys=found", "histogram(t)"], "text without a public list"),
    ],
)
def test_what_cannot_be_found_is_refused_before_the_charge(asked: list[str], words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        planned(asked)


def test_a_list_needs_epsilon_and_delta() -> None:
    schema = schema_of("add_remove", 1)
    asked = understand(["count by t keys=found"], schema)
    for within in (Cost(Fraction(1)), Cost(rho=Fraction(1), delta=Fraction(1, 10**6))):
        with pytest.raises(QuestionError, match="needs"):
            found_keys.settle_found(asked, within, schema, None, "approximate")


def test_beside_a_cap_that_is_chosen_it_is_refused() -> None:
    schema = schema_of("add_remove", 1)
    with pytest.raises(QuestionError, match="found by themselves"):
        settle(understand(["count by t keys=found"], schema), Cost(Fraction(1)), schema, None, "approximate")


# --- replay -----------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_the_plan_is_replayed_on_neighbours_with_the_same_list(kind: Kind) -> None:
    more = ["median(x) by t keys=found"] if kind == "add_remove" else ["histogram(g) by t keys=found"]
    plan = planned(["mean(x) by t keys=found", "count", *more], kind, units=3)
    schema = schema_of(kind, 2)

    def table(*rows: tuple[str, str]) -> Any:
        columns = {"who": [who for who, _ in rows], "t": [cell for _, cell in rows]}
        return open_table({**columns, "x": [0.5] * len(rows), "g": ["a"] * len(rows)}, schema)

    mine, yours = [("p1", "a"), ("p1", "b"), ("p2", "b")], [("p9", "b"), ("p9", "c")]
    here = table(*mine, *yours)
    there = table(*mine) if kind == "add_remove" else table(*mine, ("p9", "d"))
    for style in ("law", "many", "still", "far"):
        found = replay(plan, here, there, tape=Tape(style=style))
        assert found.ok, found.findings
    assert len(replay(plan, here, there, tape=Tape(style="many")).calls) > len(replay(plan, here, there).calls)
    assert replay(plan, here, table(*yours, *mine), tape=Tape(style="many"), same=True).ok


def study_of(kind: Kind) -> rt.Study:
    rows: dict[str, list[object]] = {"who": ["p1"], "t": ["a"], "x": [0.5], "g": ["a"]}
    return rt.study(
        rows,
        adjacency=kind,
        person="who",
        rows_each=3,
        columns={"t": rt.text(longest=5), "x": rt.real(0, 1), "g": rt.category(["a", "b"])},
        budget=4,
        delta="1e-4",
    )


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
def test_an_audit_of_made_up_neighbours_passes(kind: Kind) -> None:
    asked = ["mean(x) where x > 1/10 by t, g keys=found", "count", "median(x) where x > 1/10 by t, g keys=found"]
    found = study_of(kind).audit(asked, epsilon=2, delta="1e-6", triples=6)
    assert found.findings == ()
    assert found.ratio == 1


@pytest.mark.wide
def test_a_person_in_more_keys_than_declared_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_keys, "holders_of", lambda column, touch, _: KeyHolders(column, touch + 1))
    found = study_of("add_remove").audit(["count by t keys=found groups=1"], epsilon=2, delta="1e-6", triples=16)
    assert any(one.kind == "sensitivity" for one in found.findings)


def unfolded(release: object) -> str:
    """The printed release without the ends of its lines, which stand where the drawn numbers leave room."""
    return " ".join(str(release).split())


# --- the study --------------------------------------------------------------------------------------------------------

STUDY = """
[study]
title = "drugs"
source = "drugs.csv"
ledger = "drugs.ledger"
na = ["aspirin"]

[person]
column = "who"
adjacency = "add_remove"
rows = { at_most = 2 }

[budget]
epsilon = "4"
delta = "1e-4"

[columns.drug]
kind = "text"
longest = 12

[columns.cost]
kind = "real"
low = 0
high = 10
"""


@pytest.fixture
def study(tmp_path: Path) -> rt.Study:
    drugs = ["statin"] * 300 + ["insulin"] * 200 + [f"rare {n}" for n in range(40)] + [" aspirin"] * 300
    lines = [f"p{n},{drug},{5 + (drug == 'insulin')}" for n, drug in enumerate(drugs)]
    (tmp_path / "drugs.csv").write_text("\n".join(["who,drug,cost", *lines]) + "\n", "utf-8")
    (tmp_path / "drugs.toml").write_text(STUDY, "utf-8")
    return rt.open(tmp_path / "drugs.toml")


def test_a_release_answers_by_found_keys_and_its_certificate_verifies(study: rt.Study) -> None:
    asked = ["mean(cost) by drug keys=found at_least=10", "count by drug keys=found at_least=10"]
    release = study.release(asked, epsilon="2", delta="1e-6")
    cells = release[asked[0]].cells
    assert [cell.label for cell in cells] == [(("drug", "insulin"),), (("drug", "statin"),)]  # a missing text is no key
    assert [estimate(cell).value for cell in cells] == pytest.approx([6, 5], abs=1)
    assert [estimate(cell).value for cell in release[asked[1]]] == pytest.approx([200, 300], abs=60)
    document = release.certificate.document
    assert document["keys"] == {
        "column": "drug",
        "listed": 2,
        "at_least": 10,
        "half_listed": 36,
        "nearly_always_listed": 41,
        "share": "1/2",
    }
    assert document["columns"]["drug"]["among"] == ["insulin", "statin"]
    assert "whose keys were found privately" in unfolded(release)
    assert "2 keys of drug were found privately, for 1/2 of the loss" in unfolded(release)
    assert read_certificate(release.certificate.to_json()).verify(study.ledger, allow_unsigned=True).ok
    assert study.ledger.spent() == rt.ApproxDP(Fraction(2), Fraction(1, 10**6))


def test_no_listed_key_is_no_reply_beside_the_other_answers(study: rt.Study) -> None:
    asked = "count by drug keys=found at_least=5000"
    release = study.release([asked, "count"], epsilon="2", delta="1e-6")
    assert [type(cell.outcome) for cell in release[asked]] == [NoReply]
    assert estimate(release["count"].cells[0]).value == pytest.approx(840, abs=100)
    assert "no key is listed" in unfolded(release)
    assert release.certificate.verify(study.ledger, allow_unsigned=True).ok
