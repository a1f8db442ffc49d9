"""A quantile without an interval is shown by its value alone wherever people read it; certificates keep their form."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.certificate.render.figure import svg
from reticent.certificate.render.page import fragment, page
from reticent.certificate.render.tables import sheet
from reticent.certificate.render.workbook import workbook
from reticent.cli import layout
from reticent.statistics.answer import NO_ENDS
from reticent.study.release import Release

BARE = ["median(x, interval=no)", "iqr(x, interval=no)", "quantiles(x, 0.1 0.5 0.9, interval=no)"]
NUMBERS = ("low", "high", "noise", "sampling", "level")


@pytest.fixture(scope="module")
def made() -> Release:
    study = rt.study(
        {"x": np.random.default_rng(1).normal(10.0, 1.0, 3_000)},
        adjacency="add_remove",
        columns={"x": rt.real()},
        budget=10,
    )
    return study.release([*BARE, "median(x)"], epsilon=5)


@pytest.mark.wide
def test_no_printed_form_shows_the_ends_of_the_candidates(made: Release) -> None:
    table = layout.answers(made.answers)
    printed = ["\n".join(table.lines(4000, styled=False)), repr(made)]
    printed += [*map(str, made.answers), sheet(made.certificate), svg(made.certificate)]
    printed += [page(made.certificate), fragment(made.certificate)]
    for text in printed:
        assert not re.search(r"e\+?(99|100)\b", text)
    assert "see the table" not in svg(made.certificate)
    for text in printed[:2]:  # a value keeps its digits: the 1.35 of the quartiles was 1 beside such an interval
        assert re.search(r"(?<![\d.])1\.[2-5]\d", text)
    assert NO_ENDS in made[BARE[0]].caveats
    assert NO_ENDS in page(made.certificate)


def test_an_interval_that_was_bought_is_shown_beside(made: Release) -> None:
    bought = made["median(x)"]
    assert not bought.bare
    assert bought.shown == bought.cells
    _, interval, noise, _ = layout.numbers(bought.cells[0])
    assert " to " in interval
    assert noise != "–"


def test_tables_for_programs_leave_the_ends_empty(made: Release) -> None:
    frame: Any = made.frame()
    for row in frame.to_pylist():
        assert row["value"] is not None
        assert all((row[name] is None) == (row["name"] in BARE) for name in NUMBERS)
    for row in csv.DictReader(io.StringIO(sheet(made.certificate), newline="")):
        kept = row["level (group)"] if "interval=no" in row["name"] else None
        assert float(row["value"])
        assert (row["low"] == "") == (row["high"] == "") == (row["name"] in BARE)
        assert kept is None or row["outcome"] == "reply"


def test_a_workbook_leaves_them_empty_too(made: Release) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    heads, *found = openpyxl.load_workbook(io.BytesIO(workbook(made.certificate)))["Answers"].values
    rows = [dict(zip(heads, row, strict=True)) for row in found]
    assert {row["name"] for row in rows} == {*BARE[:2], "median(x)"}
    for row in rows:
        assert row["value"] is not None
        assert all((row[name] is None) == (row["name"] in BARE) for name in NUMBERS)
        assert (" to " in row["printed"]) == (row["name"] not in BARE)


def test_the_certificate_keeps_its_form(made: Release) -> None:
    answers = json.loads(made.certificate.to_json())["answers"]
    for answer in answers:
        for cell in answer["cells"]:
            assert set(cell) == {"label", "outcome", "value", *NUMBERS}
            assert cell["low"] < cell["value"] < cell["high"] or answer["name"].startswith("iqr")
