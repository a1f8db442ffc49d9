"""``reticent synth`` with checks: the price is the same, what is said stands in the certificate, and is verified."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

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


@pytest.mark.wide
def test_what_rows_are_good_for_is_said_once(study: Path) -> None:
    out = study.with_name("rows.csv")
    code, text = run("synth", study, "--columns", "cost,age", "--epsilon", "2", "--out", out, "--yes")
    assert code == 0, text
    told = " ".join(text.split())
    assert told.count("single values of cost") == 1
    assert told.count("single values of age") == 1


@pytest.mark.few(1)
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
