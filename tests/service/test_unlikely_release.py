"""A release that would most likely be no reply is refused beforehand, by public facts, unless it is to be tried."""

from __future__ import annotations

import json
import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from tests.support.cli_kit import run as command

PEOPLE = 300
LITTLE = "0.01"  # of which a mean of 300 values gives a reply once in 300 releases


def study(*, people: int | None = PEOPLE, adjacency: Any = "add_remove") -> rt.Study:
    draw = np.random.default_rng(5)
    rows = {"y": draw.normal(50, 15, PEOPLE).clip(0, 100), "g": ["a", "b", "c", "d"] * (PEOPLE // 4)}
    columns: dict[str, Any] = {"y": rt.real(0, 100, complete=True), "g": rt.category(["a", "b", "c", "d"])}
    return rt.study(rows, adjacency=adjacency, columns=columns, budget=5, delta="1e-5", people=people)


def spent(of: rt.Study) -> Any:
    return getattr(of.ledger.spent(), "epsilon", None)


@pytest.mark.parametrize("question", ["mean(y)", "sd(y)", "mean(y) by g", "proportion(g, value=a)", "density(y)"])
def test_a_hopeless_release_is_refused_with_the_ledger_untouched(question: str) -> None:
    of = study()
    before = of.ledger.spent()
    with pytest.raises(rt.QuestionError, match=r"Nothing was charged") as told:
        of.release([question], epsilon=LITTLE)
    assert question in str(told.value)
    assert of.ledger.spent() == before


def test_the_refusal_names_the_answers_and_what_would_help() -> None:
    of = study()
    with pytest.raises(rt.QuestionError) as told:
        of.release(["count", "mean(y) by g"], epsilon="0.02")
    words = str(told.value)
    assert "mean(y) by g (P(reply) " in words
    assert "count" not in words
    for piece in ('epsilon="', "fewer groups", " people; ", "record=rt.Record(try_anyway=True)"):
        assert piece in words


@pytest.mark.loop(3)
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize("question", ["median(y)", "mean(y) by g", "iqr(y)"])
def test_a_refusal_names_the_smaller_cap_that_would_help(question: str, adjacency: Any) -> None:
    """Of people with far fewer rows than the cap: one below gives a reply for the same loss."""
    who = np.repeat(np.arange(PEOPLE), 4)
    rows = {"who": who, "y": np.random.default_rng(5).normal(50, 15, len(who)).clip(0, 100), "g": who % 2}
    columns: dict[str, Any] = {"y": rt.real(0, 100, complete=True), "g": rt.category([0, 1], constant=True)}
    given: dict[str, Any] = {"adjacency": adjacency, "columns": columns, "budget": 9, "person": "who"}

    def capped(at_most: int, **more: int) -> rt.Study:
        return rt.study(
            rows, rows_each={"at_most": at_most, "typical": min(4, at_most), **more}, people=PEOPLE, **given
        )

    with pytest.raises(rt.QuestionError) as told:
        capped(200).release([question], epsilon=3)
    found = re.search(
        r'a smaller cap, rows_each={"at_most": (\d+), "ceiling": 200} \(P\(reply\) at least (\S+)\)', str(told.value)
    )
    assert found is not None, str(told.value)
    assert "of 4 and at most 200 rows each" in str(told.value)
    assert capped(int(found[1]), ceiling=200).release([question], epsilon=3).receipt
    with pytest.raises(rt.QuestionError) as without:
        capped(4).release([question], epsilon="0.004")
    assert "a smaller cap" not in str(without.value)  # everybody has as many rows as are kept


def test_the_epsilon_that_a_refusal_names_is_enough() -> None:
    of = study()
    with pytest.raises(rt.QuestionError) as told:
        of.release(["mean(y)"], epsilon=LITTLE)
    found = re.search(r'epsilon="([\d.]+)" in place of 0\.01 \(P\(reply\) at least (\.\d+)\)', str(told.value))
    assert found is not None, str(told.value)

    def reply(epsilon: Fraction) -> float:
        return of.plan(["mean(y)"], epsilon=epsilon).lines[0].expected.replies[0][1]

    assert f"{reply(Fraction(found[1])):.3f}" == f"0{found[2]}"
    assert reply(Fraction(found[1])) >= 0.9 > reply(Fraction(found[1]) * Fraction(8, 10))  # and nearly the least
    of.release(["mean(y)"], epsilon=found[1])  # not refused


@pytest.mark.wide
def test_a_refusal_names_interval_no_where_replies_are_likely_without_intervals() -> None:
    of = study()
    told_of_interval = (
        r"What helps: .*; interval=no in the question, quantile\(y, 0\.8, interval=no\) by g "
        r"\(P\(reply\) at least \.\d+\); .*fewer groups"
    )
    with pytest.raises(rt.QuestionError, match=told_of_interval):
        of.release(["quantile(y, 0.8) by g"], epsilon="4.9")
    of.release(["quantile(y, 0.8, interval=no) by g"], epsilon="4.9")  # not refused
    with pytest.raises(rt.QuestionError) as told:
        study().release(["median(y) by g"], epsilon="1.2")
    assert "interval=no" not in str(told.value)


@pytest.mark.parametrize(
    ("question", "helps"),
    [
        ("median(y) by g", r"fewer groups or more people helps\."),
        (
            "quantile(y, 0.9)",
            r"a level nearer the middle or more people helps\.",
        ),
        ("iqr(y) by g", r"fewer groups or more people helps\."),
        (
            "iqr(z)",
            r"bounds known without the file or more people helps\.",
        ),
    ],
)
def test_a_refused_guess_names_its_groups_and_only_what_would_help(question: str, helps: str) -> None:
    rows = {"y": [float(k % 97) for k in range(PEOPLE)], "z": [1.0] * PEOPLE, "g": ["a", "b"] * (PEOPLE // 2)}
    columns: dict[str, Any] = {
        "y": rt.real(0, 100, complete=True),
        "z": rt.real(complete=True),
        "g": rt.category(["a", "b"]),
    }
    of = rt.study(rows, adjacency="substitute", columns=columns, budget=5)
    with pytest.raises(rt.QuestionError) as told:
        of.release([question], epsilon=LITTLE)
    words = str(told.value)
    assert words.startswith(f"{question} at this ε"), words
    assert re.search(r"ε [\d.]+ for this question \(it has [\d.]+\), " + helps, words), words
    enough = re.search(r"ε ([\d.]+) for this question", words)
    assert enough is not None
    whole = Fraction(enough[1]) / Fraction(95, 100)  # beside the share of incomplete rows, where g may be unlisted
    of.plan([question], epsilon=whole, people=PEOPLE)  # not refused


def test_a_refusal_names_an_epsilon_that_would_do_and_nearly_the_least() -> None:
    of = rt.study({"z": [1.0] * 300}, adjacency="substitute", columns={"z": rt.real(complete=True)}, budget=5)
    with pytest.raises(rt.QuestionError) as told:
        of.release(["median(z)"], epsilon="0.1")
    found = re.search(r"ε ([\d.]+) for this question", str(told.value))
    assert found is not None
    enough = Fraction(found[1])
    of.plan(["median(z)"], epsilon=enough, people=300)
    with pytest.raises(rt.QuestionError, match="for this question"):
        of.plan(["median(z)"], epsilon=enough * Fraction(8, 10), people=300)
    with pytest.raises(rt.QuestionError, match="A larger ε, bounds"):  # none up to 10
        of.plan(["median(z)"], epsilon=1, people=9)


@pytest.mark.wide
def test_a_refusal_names_bounds_only_where_none_are_declared() -> None:
    with pytest.raises(rt.QuestionError) as told:
        study().release(["median(y) by g"], epsilon="1.2")
    assert "bounds" not in str(told.value)


def test_whoever_wants_it_tried_is_charged_and_answered() -> None:
    of = study()
    release = of.release(["mean(y)"], epsilon=LITTLE, record=rt.Record(try_anyway=True))
    assert isinstance(release["mean(y)"].outcome, rt.Reply | rt.NoReply)
    assert float(spent(of)) == float(LITTLE)
    with pytest.raises(rt.PublicParameterError, match="try_anyway"):
        rt.Record(try_anyway="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "question", ["density(y, method=series)", "scale(y, method=stable)", "scale(y, mode=paper)", "median(y, method=M)"]
)
def test_a_method_by_name_and_the_mode_of_the_papers_are_tried(question: str) -> None:
    assert rt.mean("y").by_name is False
    from reticent.statistics.grammar import parse

    assert parse(question).statistic.by_name


def test_a_named_method_goes_on() -> None:
    of = study()
    of.release(["mean(y, method=bounded)"], epsilon=LITTLE)
    assert float(spent(of)) == float(LITTLE)


def test_a_private_number_of_people_is_only_warned_of() -> None:
    of = study(people=None)
    with pytest.warns(UserWarning, match=r"No reply is likely with 10,000 people, which nobody told.*: mean\(y\)"):
        of.release(["mean(y)"], epsilon="0.0005")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of.release(["mean(y)"], epsilon="0.5")


def _warned(of: rt.Study, question: str, epsilon: str) -> str:
    """The words of warnings of a release."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        of.release([question], epsilon=epsilon)
    return " ".join(str(one.message) for one in found)


def test_a_warning_is_about_the_people_that_a_plan_was_told() -> None:
    of = study(people=None)
    assert _warned(of, "mean(y)", LITTLE) == ""  # of 10,000 people it is sure
    plan = of.by("g", among=["a"]).plan(["mean(y)"], epsilon=LITTLE, people=PEOPLE)
    assert plan.unlikely
    told = _warned(of, "mean(y)", LITTLE)
    assert "No reply is likely with 300 people, as a plan was told: mean(y) (P(reply) " in told
    assert f"What helps: {'; '.join(of.plan(['mean(y)'], epsilon=LITTLE, people=PEOPLE).helps)}." in told
    of.plan(["mean(y)"], epsilon=LITTLE)  # which tells nothing new
    assert "with 300 people" in _warned(of, "mean(y)", LITTLE)
    of.plan(["mean(y)"], epsilon=LITTLE, people=20_000)
    assert _warned(of, "mean(y)", LITTLE) == ""


@pytest.mark.parametrize(("rows", "warns"), [(1, True), (4, False)])
def test_a_warning_is_about_the_rows_that_a_plan_was_told(rows: int, warns: bool) -> None:
    of = _several()
    of.plan(["median(y)"], epsilon="0.3", people=1_000)
    assert "rows of a person that nobody told. With 1,000 people" in _warned(of, "median(y)", "0.3")
    of.plan(["median(y)"], epsilon="0.3", people=1_000, rows=rows)
    told = _warned(of, "median(y)", "0.3")
    assert (
        told.startswith("No reply is likely with 1,000 people of 1 and at most 4 rows each, as") if warns else not told
    )


@pytest.mark.wide
def test_a_guess_moves_no_price_and_refuses_nothing() -> None:
    one, other = _several(), _several(people=1_000)
    other.plan(["median(y)"], epsilon="0.3", people=10, rows=1)
    made = [of.release(["median(y)", "mean(y)"], epsilon="0.8").certificate.proof() for of in (one, _several())]
    assert made[0] == made[1]
    with pytest.warns(
        UserWarning, match=r"with 1,000 people of 1 and at most 4 rows each, as a plan was told: median\(y\)"
    ):
        other.release(["median(y)"], epsilon="0.3")  # people are declared, their rows guessed: a warning, no refusal
    other.plan(["median(y)"], epsilon="0.3", people=10, rows=4)
    _several(people=1_000).where("y > 1").passing("0.5").release(["count"], epsilon="0.1")
    assert other._guessed() == (10, Fraction(4))


def test_a_warning_supposes_the_share_that_passes_a_filter() -> None:
    of = study(people=None).where("y >= 90")
    of.plan(["mean(y)"], epsilon="0.1", people=PEOPLE)
    assert "is as low as .003 if a tenth of the rows pass" in _warned(of, "mean(y)", "0.1")
    assert "No reply is likely with 300 people" in _warned(of.passing("0.05"), "mean(y)", "0.1")


def _several(**more: Any) -> rt.Study:
    who = np.repeat(np.arange(1_000), 4)
    rows = {"who": who, "y": np.random.default_rng(5).normal(50, 15, len(who)).clip(0, 100)}
    columns: dict[str, Any] = {"y": rt.real(0, 100, complete=True)}
    return rt.study(
        rows, columns=columns, person="who", rows_each={"at_most": 4}, adjacency="add_remove", budget=9, **more
    )


@pytest.mark.parametrize("question", ["median(y)", "iqr(y)", "mean(y)", "median(y, method=M)"])
def test_what_a_plan_says_helps_does_help(question: str) -> None:
    of = _several()
    epsilon = "0.004" if question == "mean(y)" else "0.15"
    given: dict[str, Any] = {"people": 300, "rows": 4} | ({"delta": "1e-6"} if "=M" in question else {})
    plan = of.plan([question], epsilon=epsilon, **given)
    assert plan.silent == (question,)
    assert plan.unlikely == (() if "=M" in question else (question,))
    assert plan.to_json()["helps"] == list(plan.helps)
    assert f"Most likely no reply: {question}. What helps: " in " ".join(str(plan).split())
    said = " ".join(plan.helps)
    total = re.search(r'epsilon="([\d.]+)"', said)
    assert total is not None, said
    dearer = of.plan([question], epsilon=total[1], **given).lines[0].expected
    assert max(chance for _, chance in dearer.replies) >= 0.9
    for other in re.findall(r"the mean of each person, \"?(.*?\))\"? \(P", said):
        each = of.plan([other], epsilon=epsilon, **given).lines[0].expected
        assert max(chance for _, chance in each.replies) >= 0.5
    people = re.search(r"([\d,]+) people", said)
    assert people is not None
    more = of.plan([question], epsilon=epsilon, **(given | {"people": int(people[1].replace(",", ""))}))
    assert max(chance for _, chance in more.lines[0].expected.replies) >= 0.9


def test_a_question_with_an_epsilon_of_its_own_is_told_its_own() -> None:
    plan = study().plan(["mean(y, epsilon=0.01)", "count"], epsilon="0.5")
    found = re.search(r'epsilon="([\d.]+)" in place of 0\.5 with (mean\(y, epsilon=[\d.]+\))', " ".join(plan.helps))
    assert found is not None, plan.helps
    assert study().plan([found[2], "count"], epsilon=found[1]).unlikely == ()


def test_under_substitution_the_number_of_people_is_public_and_so_is_the_refusal() -> None:
    of = study(people=None, adjacency="substitute")
    before = of.ledger.spent()
    with pytest.raises(rt.QuestionError, match="with 300 people"):
        of.release(["mean(y) by g"], epsilon=LITTLE)
    assert of.ledger.spent() == before


def test_the_plan_names_what_is_unlikely() -> None:
    plan = study().plan(["mean(y)", "count"], epsilon=LITTLE)
    assert plan.unlikely == ("mean(y)",)
    assert plan.to_json()["unlikely"] == ["mean(y)"]
    assert "Most likely no reply: mean(y)." in " ".join(str(plan).split())
    assert study().plan(["mean(y)"], epsilon=1).unlikely == ()


def file_of(folder: Path, extra: str = "") -> Path:
    if not (folder / "t.csv").exists():
        (folder / "t.csv").write_text("y\n" + "\n".join("50" for _ in range(PEOPLE)) + "\n")
    place = folder / "t.toml"
    place.write_text(
        f"""
[study]
title = "T"
source = "t.csv"
ledger = "t.ledger"
[person]
rows = "one_each"
adjacency = "add_remove"
people = {PEOPLE}
[budget]
epsilon = "3"
[columns.y]
kind = "real"
low = 0
high = 100
complete = true
[[release]]
name = "one"
epsilon = "{LITTLE}"
ask = ["mean(y)"]
{extra}
"""
    )
    return place


def test_the_study_file_and_the_command_line_say_try_anyway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = file_of(tmp_path)
    refused = command("release", str(place), "--yes", "--json")
    assert refused.code == 5
    assert "Most likely no reply" in refused.out + refused.err
    assert command("release", str(place), "--yes", "--try-anyway", "--json").code in (0, 3)
    place = file_of(tmp_path, "try_anyway = true")
    assert command("release", str(place), "--yes", "--force", "--json").code in (0, 3)
    planned = json.loads(command("plan", str(place), "--json").out)
    assert planned["unlikely"] == planned["silent"] == ["mean(y)"]
    assert planned["helps"][0].startswith('epsilon="')
    assert "What helps: --epsilon 0.0" in " ".join(command("plan", str(place)).out.split())
    assert planned["statistics"][0]["reply"]["any shape"] < 0.01


def test_the_command_line_warns_of_the_people_that_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = file_of(tmp_path)
    place.write_text(place.read_text().replace(f"people = {PEOPLE}\n", ""))
    silent = command("release", str(place), "--yes")
    assert "No reply is likely" not in silent.err
    told = command("release", str(place), "--yes", "--force", "--people", "300")
    said = " ".join(told.err.split())
    assert "No reply is likely with 300 people, as a plan was told: mean(y)" in said
    assert "What helps: --epsilon 0.0" in said


@pytest.mark.wide
def test_an_epsilon_that_helps_and_is_above_the_budget_says_so() -> None:
    """A plan of a budget of 3 had named an epsilon of 4.8, which no release could pay."""
    rows = {"y": [float(place) for place in range(40)]}
    few = rt.study(rows, adjacency="add_remove", columns={"y": rt.real(0, 90)}, budget="0.5", rows_each=1)
    helps = " ".join(few.plan(["median(y)"], epsilon="0.4", people=40).helps)
    assert re.search(r'epsilon="[\d.]+" in place of 0\.4, above the budget of 0\.5 \(P\(reply\)', helps), helps
    ample = rt.study(rows, adjacency="add_remove", columns={"y": rt.real(0, 90)}, budget="10", rows_each=1)
    assert "above the budget" not in " ".join(ample.plan(["median(y)"], epsilon="0.4", people=40).helps)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("median(y) where y > 5 by g", r"if a tenth of the rows pass and \.\d+ in a group a tenth as large"),
        ("median(y) where y > 5", "if a tenth of the rows pass"),
        ("median(y) by g", "in a group a tenth as large as others"),
        ("mean(b) where b > 5 by g", ""),
    ],
)
def test_a_reply_that_hangs_on_the_rows_that_are_left_is_warned_of(question: str, said: str) -> None:
    """A median by ward of the old had paid for two no replies without a word."""
    rows = {"y": np.arange(3000.0), "b": np.arange(3000.0) % 100, "g": ["a", "b"] * 1500, "id": np.arange(3000) % 1500}
    columns: dict[str, Any] = {"y": rt.real(), "b": rt.real(0, 100), "g": rt.category(["a", "b"])}
    of = rt.study(rows, adjacency="add_remove", person="id", rows_each=12, columns=columns, budget=5)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        of.release([question], epsilon=1)
    words = " ".join(str(one.message) for one in found)
    assert ("A reply hangs on the rows that are left" in words) is bool(said)
    assert re.search(said, words)


def _of_two_columns(people: int | None) -> rt.Study:
    rows, columns = {"y": [1.0] * 500, "z": [1.0] * 500}, {"y": rt.real(complete=True), "z": rt.real(complete=True)}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=5, people=people)


APART = ("quantile(y, 0.25)", "median(y)", "quantile(y, 0.75)")


@pytest.mark.wide
def test_quantiles_that_are_asked_one_by_one_name_the_question_that_draws_them_together() -> None:
    of = _of_two_columns(None)
    helps = of.plan(APART, epsilon=1, people=500).helps
    (told,) = [words for words in helps if words.startswith("one question for all levels")]
    assert told.startswith("one question for all levels, quantiles(y, 0.25 0.5 0.75) (P(reply) at least ")
    assert of.plan(["quantiles(y, 0.25 0.5 0.75)"], epsilon=1, people=500).silent == ()
    for other in (
        ["quantile(y, 0.25)", "quantile(z, 0.75)"],
        ["quantile(y, 0.25)", "quantile(y, 0.75) where z > 1"],
        ["quantile(y, 0.25)", "quantile(y, 0.75, interval=no)"],
    ):
        assert not any("one question" in words for words in of.plan(other, epsilon=1, people=500).helps)


def test_a_refused_guess_names_the_one_question_for_all_levels() -> None:
    of = _of_two_columns(500)
    with pytest.raises(rt.QuestionError, match=r"So does one question for all levels: quantiles\(y, 0.25 0.5 0.75\)\."):
        of.release(APART, epsilon=1)
    of.plan(["quantiles(y, 0.25 0.5 0.75)"], epsilon=1)
    with pytest.raises(rt.QuestionError, match=r"more people helps\. Nothing was charged\."):
        of.release(APART, epsilon="0.1")
