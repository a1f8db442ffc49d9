"""A release as an Excel workbook: every number, intervals as columns, a sheet for each table, and no formula."""

from __future__ import annotations

import builtins
import csv
import io
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.certificate.render.tables import sheet
from reticent.certificate.render.workbook import workbook
from reticent.errors import PublicParameterError, SpecError
from reticent.outcome import Reply
from reticent.study.release import Release
from tests.support.cli_kit import clinic, run

NUMBERS_OF_CSV = (
    *("outcome", "value", "low", "high", "noise", "sampling", "level"),
    *("incomplete", "incomplete_low", "incomplete_high"),
)
QUESTIONS = ["count", "mean(x)", "median(y)", "mean(x) by g", "histogram(x, edges=0:100:25)", "histogram(g)"]


@pytest.fixture(scope="module")
def release() -> Release:
    study = rt.study(
        {"x": np.arange(3000) % 97, "y": [1.0] * 3000, "g": ["=1+1", "b"] * 1500},
        adjacency="add_remove",
        columns={"x": rt.integer(0, 100), "y": rt.real(), "g": rt.category(["=1+1", "b"])},
        budget="10",
        title="@SUM(A1)",
    )
    return study.release(QUESTIONS, epsilon="5", record=rt.Record(name="table/4"))


@pytest.fixture(scope="module")
def book(release: Release) -> Any:
    import openpyxl

    return openpyxl.load_workbook(io.BytesIO(workbook(release.certificate)))


def test_every_cell_holds_the_number_of_the_csv(release: Release, book: Any) -> None:
    """Ends once stood rounded beside a value with every digit; nothing of the CSV is left out."""
    held = {row["name"]: row for row in csv.DictReader(io.StringIO(sheet(release.certificate))) if not row["g"]}
    heads, *rows = book["Answers"].values
    assert heads[2:] == (*NUMBERS_OF_CSV[:7], "printed", *NUMBERS_OF_CSV[7:])
    assert {row[0] for row in rows} == {"count", "mean(x)", "median(y)"}
    for row in rows:
        of = dict(zip(heads, row, strict=True))
        assert of["outcome"] == held[row[0]]["outcome"].replace("_", " ")
        assert of["estimates"] == release[row[0]].estimand
        for name in NUMBERS_OF_CSV[1:]:
            text = held[row[0]][name]
            assert of[name] == (pytest.approx(float(text), rel=1e-14) if text else None), name
    assert any(dict(zip(heads, row, strict=True))["incomplete_high"] is not None for row in rows)


def test_the_printed_column_rounds_ends_outwards_as_the_page_does(release: Release, book: Any) -> None:
    heads, *rows = book["Answers"].values
    for row in rows:
        outcome = release[row[0]].outcome
        printed = row[heads.index("printed")]
        assert printed == (str(outcome.value) if isinstance(outcome, Reply) else None)


def test_each_table_is_a_sheet_and_its_labels_are_columns(release: Release, book: Any) -> None:
    assert book.sheetnames == [
        *("Answers", "mean(x) by g", "histogram(x, edges=0 100 25)", "histogram(g)", "Notes"),
    ]
    heads, *rows = book["mean(x) by g"].values
    assert heads[:3] == ("g", "outcome", "value")
    assert [row[0] for row in rows] == ["=1+1", "b"]
    values = [cell.outcome.value.value for cell in release["mean(x) by g"] if isinstance(cell.outcome, Reply)]
    assert [row[2] for row in rows] == pytest.approx(values, rel=1e-14)


def test_no_text_is_a_formula(book: Any) -> None:
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert any(cell.value == "=1+1" for cell in cells)


def test_the_notes_carry_guarantee_caveats_and_digest(release: Release, book: Any) -> None:
    said = dict(book["Notes"].values)
    assert "ε 5" in said["guarantee"]
    assert said["certificate digest (SHA-256)"] == release.certificate.digest
    told = [text for about, text in book["Notes"].values if about in ("note", "estimates")]
    for answer in release.answers:
        for text in answer.caveats:
            short = re.sub(
                r" of rows have .+: they are left out", " of rows lack a readable value and are left out", text
            )
            assert sum(short in line for line in told) >= 1 or "count as the nearer bound" in text, text


def test_the_notes_tell_the_cap_and_the_bounds_once() -> None:
    rows = {"who": [*range(900)] * 3, "x": [float(k % 9) for k in range(2700)]}
    made = rt.study(
        rows, adjacency="add_remove", person="who", rows_each=2, columns={"x": rt.real(0, 8)}, budget="9"
    ).release(["mean(x)", "count"], epsilon="9")
    import openpyxl

    told = [text for _, text in openpyxl.load_workbook(io.BytesIO(workbook(made.certificate)))["Notes"].values]
    assert sum("at most 2 rows of each person" in text for text in told if text) == 1
    assert not any("count as the nearer bound" in text for text in told if text)
    alike = "the sampling part takes all rows of one person for alike, and is too wide where they differ"
    assert sum(alike in text for text in told if text) == 1


def test_an_empty_label_of_a_total_is_explained(book: Any) -> None:
    study = rt.study(
        {"g": ["a", "b"] * 300}, adjacency="add_remove", columns={"g": rt.category(["a", "b"])}, budget="1"
    )
    made = study.release(["count by g with totals"], epsilon="1")
    import openpyxl

    totals = openpyxl.load_workbook(io.BytesIO(workbook(made.certificate)))
    assert [row[0] for row in totals.worksheets[0].values] == ["g", "a", "b", None]
    assert ("empty label", "all groups of that column together") in set(totals["Notes"].values)
    assert "empty label" not in dict(book["Notes"].values)


def test_names_of_sheets_are_short_and_differ(release: Release) -> None:
    from reticent.certificate.render.workbook import _name

    first = _name("mean(a column with a very long name) by ward", set())
    assert len(first) <= 31
    assert len({first.lower(), _name("mean(a column with a very long name) by site", {first.lower()}).lower()}) == 2


def test_a_link_is_replaced_and_not_followed(release: Release, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    os.symlink(tmp_path / "kept.txt", tmp_path / "table.csv")
    release.save(tmp_path / "table", files=[".csv"])
    assert (tmp_path / "kept.txt").read_text() == "mine"
    assert not (tmp_path / "table.csv").is_symlink()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    with pytest.raises(PublicParameterError, match="saved as"):
        release.save(tmp_path / "table", files=[".doc"])


def test_the_command_line_writes_it_or_refuses_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import openpyxl

    study = clinic(tmp_path, people=40)
    asked = ("release", str(study), "--ask", "count", "--epsilon", "0.5", "--xlsx", "--out", str(tmp_path / "table"))
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name == "openpyxl":
            raise ImportError
        return real(name, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", without)
        done = run(*asked)
    assert done.code == 5
    assert "reticent[files]" in done.said
    assert not (tmp_path / "clinic.ledger").exists()
    assert run(*asked).code == 0
    assert openpyxl.load_workbook(tmp_path / "table.xlsx").sheetnames == ["Answers", "Notes"]


def test_without_the_library_it_is_refused_in_words(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(SpecError, match=r"reticent\[files\]"):
        workbook(release.certificate)
