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
    for piece in ("times the ε", "fewer groups", "more people", "record=rt.Record(try_anyway=True)"):
        assert piece in words


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
        r'a smaller cap, rows_each={"at_most": (\d+), "ceiling": 200} \(P\(reply\) up to (\S+)\)', str(told.value)
    )
    assert found is not None, str(told.value)
    assert "of 4 and at most 200 rows each" in str(told.value)
    assert capped(int(found[1]), ceiling=200).release([question], epsilon=3).receipt
    with pytest.raises(rt.QuestionError) as without:
        capped(4).release([question], epsilon="0.004")
    assert "a smaller cap" not in str(without.value)  # everybody has as many rows as are kept


def test_the_epsilon_that_a_refusal_names_is_enough() -> None:
    of = study()
    with pytest.raises(rt.QuestionError, match=r"about 8 times the ε"):
        of.release(["mean(y)"], epsilon=LITTLE)
    assert of.release(["mean(y)"], epsilon="0.08").replied


def test_a_refusal_names_interval_no_where_replies_are_likely_without_intervals() -> None:
    of = study()
    told_of_interval = (
        r"What helps: .* ε, interval=no in the question, quantile\(y, 0\.8, interval=no\) by g "
        r"\(P\(reply\) up to \.\d+\), fewer"
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
    with pytest.warns(UserWarning, match=r"No reply is likely even with 10,000 people: mean\(y\)"):
        of.release(["mean(y)"], epsilon="0.0005")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of.release(["mean(y)"], epsilon="0.5")


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
    assert "Most likely no reply: mean(y)." in str(plan)
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
    assert planned["unlikely"] == ["mean(y)"]
    assert planned["statistics"][0]["reply"]["any shape"] < 0.01
