"""What ``check`` knows and a plan should say too: files that are not there, cells that may be spelt otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli_kit import run

STUDY = """
[study]
source = "stays.csv"
ledger = "stays.ledger"
[person]
rows = "one_each"
adjacency = "add_remove"
[budget]
epsilon = "2"
[columns.came]
kind = "date"
low = 2024-01-01
high = 2024-12-31
format = "%d.%m.%Y"
[columns.went]
kind = "date"
low = 2024-01-01
high = 2024-12-31
[columns.nights]
from = "days(went - came)"
[columns.age]
kind = "integer"
low = 0
high = 110
"""
ROWS = "came,went,age\n01.01.2024,02.01.2024,40\n"


def study(folder: Path, text: str = STUDY, *, source: bool = True) -> str:
    if source:
        (folder / "stays.csv").write_text(ROWS, "utf-8")
    (folder / "s.toml").write_text(text, "utf-8")
    return str(folder / "s.toml")


@pytest.mark.parametrize("source", ["stays.csv", "stays*.csv", "stays-2024.parquet"])
def test_a_check_fails_where_no_file_is_the_source_and_says_how_it_need_not(source: str, tmp_path: Path) -> None:
    file = study(tmp_path, STUDY.replace("stays.csv", source), source=False)
    done = run("check", file)
    assert (done.code, "FAILED" in done.out, "--no-source" in done.err) == (6, True, True)
    assert f"There is no file {source}" in " ".join(done.err.split())
    assert run("check", file, "--json").document["ok"] is False
    meant = run("check", file, "--no-source")
    assert (meant.code, "FAILED" in meant.out, f"no file {source}" in " ".join(meant.err.split())) == (0, False, True)


def test_a_check_passes_where_every_file_is_there(tmp_path: Path) -> None:
    done = run("check", study(tmp_path, STUDY), "--json")
    assert (done.code, done.document["ok"]) == (0, True)


@pytest.mark.parametrize(
    ("asked", "warned"),
    [("mean(age)", False), ("mean(nights)", True), ("median(went)", True), ("count where went > 2024-02-01", True)],
)
def test_a_plan_warns_of_the_columns_it_asks_about_alone(asked: str, warned: bool, tmp_path: Path) -> None:
    file = study(tmp_path, STUDY)
    done = run("plan", file, "--ask", asked, "--epsilon", "1", "--people", "5000")
    assert done.code == 0, done.said
    assert ("went has no format" in " ".join(done.err.split())) is warned
    assert "went has no format" in " ".join(run("check", file).err.split())
