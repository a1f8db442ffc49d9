"""``reticent synth`` with checks: the price is the same, what is said stands in the certificate, and is verified."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import reticent as rt
from reticent.cli.app import app

STUDY = """
[study]
title = "Costs"
source = "costs.csv"
ledger = "costs.ledger"

[person]
rows = "one_each"
adjacency = "{adjacency}"

[budget]
epsilon = "4"

[columns.cost]
kind = "real"
low = 0
high = 100

[columns.age]
kind = "integer"
low = 18
high = 99
"""


@pytest.fixture(params=["add_remove", "substitute"])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    rows = np.random.default_rng(5)
    lines = [
        f"{'' if k % 9 == 0 else round(float(rows.gamma(2, 12)), 2)},{rows.integers(18, 90)}" for k in range(3_000)
    ]
    (tmp_path / "costs.csv").write_text("cost,age\n" + "\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "costs.toml"
    path.write_text(STUDY.format(adjacency=request.param), encoding="utf-8")
    return path


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


@pytest.mark.wide
def test_checks_are_paid_for_by_default_and_said(study: Path) -> None:
    out = study.with_name("rows.csv")
    code, text = run("synth", study, "--columns", "cost,age", "--epsilon", "2", "--out", out, "--yes", "--json")
    assert code == 0, text
    told = json.loads(text[text.index("{") :])
    assert told["charged"] == {"epsilon": "2", "delta": "0"}
    assert [line.split(":")[0].removeprefix("not ") for line in told["good_for"][:3]] == [
        "the table of cost",
        "the table of age",
        "the table of cost × age",
    ]
    (answer,) = told["certificate"]["answers"]
    assert answer["name"] == "density(cost, age, checks=0.1)"
    assert len(answer["density"]["checks"]) == 3
    certificate = study.with_name("rows.json")
    assert run("verify", certificate, "--allow-unsigned")[0] == 0
    document = json.loads(certificate.read_text(encoding="utf-8"))
    document["answers"][0]["density"]["checks"][0]["n"] = 0
    certificate.write_text(json.dumps(document), encoding="utf-8")
    assert run("verify", certificate, "--allow-unsigned")[0] != 0


@pytest.mark.parametrize("more", [{}, {"complete": True}, {"missing": 3}, {"atoms": True}])
def test_made_up_rows_say_what_becomes_of_records_without_a_value(more: dict[str, Any]) -> None:
    """By what is declared and asked, whatever the rows hold: these hold nothing odd, and those do."""
    asked = rt.density("x", atoms=["missing"]) if more.pop("atoms", False) else "x"
    said = set()
    for rows in ([7, 8, 9] * 200, [7, None, "?"] * 200):
        columns = {"x": rt.integer(0, 20, **more)}
        made = rt.study({"x": rows}, adjacency="add_remove", columns=columns, budget=3).synthesize(asked, epsilon=2)
        told = [one for one in made.good_for() if "readable x" in one or "lack a value" in one]
        said.add(" ".join(told))
        assert all(one in repr(made) for one in told)
    assert said == {
        {
            (): "records without a readable x are left out, so no made-up row lacks one",
            ("complete",): "",
            ("missing",): "an unreadable x counts as 3",
        }[tuple(more)]
        if isinstance(asked, str)
        else "rows lack a value as often as the release says"
    }


def test_a_refusal_names_the_call_that_was_made(study: Path) -> None:
    opened = rt.study({"x": [1], "y": [1]}, adjacency="add_remove", columns={"x": rt.real(), "y": rt.real()}, budget=3)
    for asked, call in (
        ("x", 'synthesize("x")'),
        (["x", "y"], 'synthesize(["x", "y"])'),
        (rt.density("x"), "density(x)"),
    ):
        for verb in (opened.synthesize, opened.synthesis_plan):
            with pytest.raises(rt.QuestionError) as caught:
                verb(asked, epsilon=1)
            assert str(caught.value).startswith(f"{call} needs a range known without looking")
    text = study.read_text(encoding="utf-8").replace("low = 0\nhigh = 100\n", "")
    bare = study.with_name("bare.toml")
    bare.write_text(text, encoding="utf-8")
    code, told = run("synth", bare, "--columns", "cost", "--epsilon", "2", "--out", study.with_name("o.csv"), "--yes")
    assert (code, "density(" in told) == (5, False), told


def test_few_rows_are_judged_by_more_of_the_same_density() -> None:
    x = np.random.default_rng(7).normal(50, 9, 4_000)
    columns = {"x": rt.real(0, 100), "y": rt.real(0, 100)}
    study = rt.study({"x": x, "y": 100 - x}, adjacency="add_remove", columns=columns, budget=9)
    release = study.release(["density(x, y)"], epsilon=4)
    first, *rest = release.synthetic(rows=10).good_for()
    drawn = release["density(x, y)"].density.n
    assert first == f"10 rows are too few to judge by: what follows is of {drawn:,} rows drawn from the same density"
    assert any(line.startswith("relation of x and y kept") for line in rest)
    assert "too few" not in release.synthetic().good_for()[0]


@pytest.mark.wide
def test_the_shell_is_told_its_own_spelling_of_checks(study: Path) -> None:
    words = ("--epsilon", "2", "--rows", "10", "--yes", "--out")
    code, text = run("synth", study, "--columns", "cost", "--checks", "0", *words, study.with_name("a.csv"))
    assert (code, "--checks 0.1 would" in text, "checks=0.1" in text) == (0, True, False), text
    code, text = run("synth", study, "--ask", "density(cost)", *words, study.with_name("b.csv"))
    assert (code, "checks=0.1 would" in text) == (0, True), text


@pytest.mark.wide
def test_what_rows_are_good_for_is_said_once(study: Path) -> None:
    out = study.with_name("rows.csv")
    code, text = run("synth", study, "--columns", "cost,age", "--epsilon", "2", "--out", out, "--yes")
    assert code == 0, text
    told = " ".join(text.split())
    assert told.count("single values of cost") == 1
    assert told.count("single values of age") == 1


@pytest.mark.wide
def test_none_are_bought_where_none_are_wanted_and_a_question_has_its_own(study: Path) -> None:
    out = study.with_name("rows.csv")
    code, text = run(
        "synth", study, "--columns", "cost", "--checks", "0", "--epsilon", "1", "--out", out, "--yes", "--json"
    )
    assert code == 0, text
    told = json.loads(text[text.index("{") :])
    assert any("not checked" in line for line in told["good_for"])
    assert "checks" not in told["certificate"]["answers"][0]["density"]
    code, text = run(
        "synth", study, "--ask", "density(cost)", "--checks", "0.1", "--epsilon", "1", "--out", out, "--yes"
    )
    assert code == 2
    assert "--checks goes with --columns" in " ".join(text.split())
    code, text = run("synth", study, "--columns", "cost", "--checks", "0.7", "--epsilon", "1", "--out", out, "--yes")
    assert code not in (0, 3)
    assert "share of epsilon" in " ".join(text.split())


def test_the_range_that_is_said_holds_every_row() -> None:
    """Rows at a declared bound are drawn by themselves, beyond the cells that have any: they were forgotten."""
    made = np.random.default_rng(6)
    told = 0
    for _ in range(3):
        children = np.minimum(made.poisson(1.2, 6_000), 4)
        age = np.clip(np.round(2 * made.normal(24, 1, 6_000)) / 2, 20, 28)
        study = rt.study(
            {"age": age, "children": children},
            rows_each=1,
            adjacency="add_remove",
            budget=10,
            override="a test",
            columns={"age": rt.real(17, 45, resolution="0.5"), "children": rt.integer(0, 12)},
        )
        rows = study.synthesize(["age", "children"], epsilon=2)
        frame: Any = rows.frame()
        for line in rows.good_for():
            name = line.split(":")[0].removeprefix("values of ")
            if found := re.search(r"all rows lie from (\S+) to ([^,]+),", line):
                told += 1
                values = np.asarray(frame[name], dtype=float)
                low, high = map(float, found.groups())
                assert low <= values.min()
                assert values.max() <= high
    assert told >= 1


def test_the_note_on_bars_counts_the_records_that_are_in_none() -> None:
    x = np.append(np.random.default_rng(3).uniform(0, 100, 3_000), np.zeros(1_000))
    study = rt.study({"x": x}, adjacency="add_remove", columns={"x": rt.real(0, 100)}, budget=9)
    told = study.release(["density(x)"], epsilon=8).certificate.caveats
    (bars,) = [found for line in told if (found := re.search(r"together they hold ([\d,]+) records", line))]
    (beside,) = [found for line in told if (found := re.match(r"([\d,]+) more records are at a single value", line))]
    assert int(bars[1].replace(",", "")) == pytest.approx(3_000, abs=120)
    assert int(beside[1].replace(",", "")) == pytest.approx(1_000, abs=40)
