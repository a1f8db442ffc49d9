"""The question of a hospital: one line of a study file, of Python or of SQL, with the same numbers and noise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import reticent as rt
from reticent.outcome import Reply
from tests.support.cli_kit import run
from tests.support.replayed_noise import same_noise as same_noise

FILE = """
[study]
title = "stays"
source = "stays.csv"
ledger = "stays.ledger"
[person]
column = "patient"
adjacency = "add_remove"
rows = { at_most = 2 }
[budget]
epsilon = "9"
[columns]
cost = { kind = "real", low = 0, high = 20000 }
age = { kind = "integer", low = 0, high = 110 }
ward = { kind = "category", among = ["north", "south"] }
admitted = { kind = "date", low = 2024-01-01, high = 2024-12-31 }
discharged = { kind = "date", low = 2024-01-01, high = 2025-03-31 }
nights = { from = "days(discharged - admitted)" }
[[release]]
name = "table 1"
epsilon = "3"
ask = ["mean(cost) where age >= 65 and nights > 2 by ward, month(admitted) with totals"]
"""
SQL = """SELECT ward, MONTH(admitted) AS month, AVG(cost) AS cost FROM stays
         WHERE age >= 65 AND DATE_DIFF('day', admitted, discharged) > 2 GROUP BY ward, month"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    generator, people = np.random.default_rng(65), 12_000
    first = np.datetime64("2024-01-01") + generator.integers(0, 366, people)
    last = first + generator.integers(0, 12, people)
    cost, age = generator.gamma(2.0, 2000.0, people).round(2), generator.integers(40, 100, people)
    ward = generator.choice(["north", "south"], people)
    rows = zip(generator.integers(0, 8_000, people), cost, age, ward, first, last, strict=True)
    lines = ["patient,cost,age,ward,admitted,discharged", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "stays.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "stays.toml").write_text(FILE, "utf-8")
    return tmp_path / "stays.toml"


def test_one_line_of_file_python_and_sql_says_the_same(study: Path, same_noise: Callable[[], None]) -> None:
    asked = (
        rt.mean("cost")
        .where((rt.col("age") >= 65) & (rt.col("nights") > 2))
        .by("ward", rt.col("admitted").month())
        .with_totals()
    )
    assert "by ward, month(admitted) with totals" in str(rt.open(study).plan([asked], epsilon=3))
    same_noise()
    done = run("release", str(study), "--yes", "--json", "--out", str(study.parent / "file"))
    assert done.code == 0, done.err
    (filed,) = json.loads(done.out)["answers"]
    same_noise()
    release = rt.open(study).release([asked], epsilon=3)
    answer = release[asked]
    values = [cell.outcome.value.value for cell in answer if isinstance(cell.outcome, Reply)]
    assert len(values) == len(answer.cells) == 3 * 13
    assert [cell["value"] for cell in filed["cells"]] == values
    assert all(2_000 < value < 7_000 for value in values)  # means of 4,000, of 100 to 150 rows a cell
    assert release.certificate.verify(allow_unsigned=True).ok
    same_noise()
    selected = rt.open(study).sql(SQL, epsilon=3).columns()
    keys = list(zip(map(str, selected["ward"]), map(str, selected["month"]), strict=True))
    told = dict(zip(keys, selected["cost"], strict=True))
    cells = {tuple(str(key) for _, key in cell.label): cell.outcome for cell in answer}
    assert len(told) == 24
    for key, value in told.items():
        outcome = cells[key]
        assert isinstance(outcome, Reply)
        assert outcome.value.value == value
