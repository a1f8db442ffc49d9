"""Files as offices have them: init, check, plan, release and doctor work from each, and each has one ledger."""

from __future__ import annotations

import csv
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.cli_kit import CANARIES, clinic, run
from tests.support.workbooks import workbook

Rows = list[dict[str, str]]


def cells_of(row: list[str]) -> str:
    return "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row)


def as_workbook(rows: Rows, folder: Path) -> Path:
    lines = [[*rows[0]], *([*row.values()] for row in rows)]
    return workbook(folder / "rows.xlsx", "".join(f"<row>{cells_of(line)}</row>" for line in lines))


def as_json_lines(rows: Rows, folder: Path) -> Path:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder / "rows.jsonl"


def as_stata(rows: Rows, folder: Path) -> Path:
    import pandas as pd
    import pyreadstat

    pyreadstat.write_dta(pd.DataFrame(rows), str(folder / "rows.dta"))
    return folder / "rows.dta"


FORMS: dict[str, Callable[[Rows, Path], Path]] = {"workbook": as_workbook, "lines": as_json_lines, "stata": as_stata}


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    monkeypatch.chdir(tmp_path)
    clinic(tmp_path)
    with open("clinic.csv", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_pattern_is_named_by_its_letters_or_the_folder_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is called ``*.ledger``, which a shell takes for every ledger."""
    folder = tmp_path / "stays" / "visits" / "day=2026-01-01"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"age": [40]}), folder / "a.parquet")
    pq.write_table(pa.table({"age": [40]}), tmp_path / "stays" / "ages1.parquet")
    monkeypatch.chdir(tmp_path / "stays")
    for place, (pattern, name) in enumerate(
        [
            ("visits/day=*/*.parquet", "visits"),
            ("visits/**/*.parquet", "visits_2"),
            ("ages*.parquet", "ages"),
            ("*.parquet", "stays"),
            ("*1.parquet", "1"),
        ]
    ):
        assert run("init", pattern, "--out", f"{place}.toml").code == 0
        begun = tomllib.loads(Path(f"{place}.toml").read_text("utf-8"))["study"]
        assert (begun["source"], begun["ledger"]) == (pattern, f"{name}.ledger")
        assert begun["title"] == name.removesuffix("_2")


@pytest.mark.wide
@pytest.mark.parametrize("form", FORMS)
def test_every_verb_works_from_each_form(form: str, rows: Rows, tmp_path: Path) -> None:
    source = FORMS[form](rows, tmp_path).name
    begun = run("init", source, "--out", "begun.toml")
    assert begun.code == 0, begun.said
    begun_with = (tmp_path / "begun.toml").read_text("utf-8")
    assert ("\n[columns.town]" in begun_with) is (form != "lines")
    study = (tmp_path / "clinic.toml").read_text("utf-8")
    (tmp_path / "rows.toml").write_text(study.replace("clinic.csv", source).replace("clinic.ledger", "rows.ledger"))
    said = begun.said + begun_with
    for words in (["check"], ["plan", "--release", "table 4"], ["release", "--release", "table 4"], ["doctor"]):
        done = run(words[0], "rows.toml", *words[1:])
        assert done.code == 0, done.said
        said += done.said
    assert not [secret for secret in CANARIES if secret in said]


@pytest.mark.parametrize("form", FORMS)
def test_a_source_of_each_form_has_one_ledger_under_every_name(form: str, rows: Rows, tmp_path: Path) -> None:
    source = FORMS[form](rows, tmp_path)
    other = source.with_name(f"other{source.suffix}")
    os.link(source, other)
    study = (tmp_path / "clinic.toml").read_text("utf-8")
    for name, ledger in ((source.name, "one"), (source.name, "two"), (other.name, "three")):
        (tmp_path / f"{ledger}.toml").write_text(
            study.replace("clinic.csv", name).replace("clinic.led", f"{ledger}.led")
        )
    words = ("--ask", "count", "--epsilon", "0.1")
    assert run("release", "one.toml", *words).code == 0
    for ledger in ("two", "three"):
        refused = run("release", f"{ledger}.toml", *words, "--out", ledger)
        assert refused.code == 5
        assert "This source is already under" in refused.said
