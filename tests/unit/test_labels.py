"""Labels of columns: words for people in every table and figure, and in no name that a program reads."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import reticent as rt
from reticent.certificate.render import page, panels
from reticent.certificate.render.figure import svg
from reticent.certificate.render.tables import sheet
from reticent.data.schema import LONGEST_LABEL, Column
from reticent.errors import PublicParameterError, SpecError
from reticent.outcome import Estimate, Reply
from reticent.statistics.answer import Answer, Cell
from reticent.study.release import Release
from tests.support.cli_kit import clinic, run

EVIL = "<script>alert(1)</script>\u202e{{7*7}}\x1b"[:-1]
ROWS = {"cost": [1.0, 2.0] * 400, "ward": ["a", "b"] * 400}


def release(cost: str, ward: str = "Ward of stay") -> Release:
    declared: dict[str, Column] = {
        "cost": rt.real(0, 9, unit="EUR", label=cost),
        "ward": rt.category(["a", "b"], label=ward),
    }
    study = rt.study(ROWS, adjacency="add_remove", columns=declared, budget="9")
    return study.release([rt.mean("cost").by("ward"), rt.histogram("cost", edges=(0, 5, 9))], epsilon="4")


@pytest.fixture(scope="module")
def told() -> Release:
    return release("Cost of stay")


@pytest.mark.wide
def test_people_read_the_label(told: Release) -> None:
    certificate = told.certificate
    for text in (str(told), page.page(certificate), page.fragment(certificate)):
        assert "cost: Cost of stay (EUR)" in text
        assert "Ward of stay a" in text
    assert "Cost of stay (EUR)" in svg(certificate)
    for title in ("mean(Cost of stay) by Ward of stay", "histogram(Cost of stay, edges=0 5 9)"):
        assert title in svg(certificate)
    assert "Ward of stay a" not in svg(certificate)  # the title says it, and each row its key


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mean(a) where b == 'a' by b", "mean(Age) where Ward == 'a' by Ward"),
        ("density(a, b, a=3)", "density(Age, Ward, a=3)"),  # an option of the same name is none of the column
        ("mean(t.a)", "mean(t.a)"),
        ("regress(a ~ b + ab)", "regress(Age ~ Ward + ab)"),
        ("mean(long)", "mean(long)"),  # which would not fit
    ],
)
def test_a_title_has_the_labels_of_columns_and_of_nothing_else(name: str, shown: str) -> None:
    declared = {"a": {"label": "Age"}, "b": {"label": "Ward"}, "long": {"label": "x" * 60}}
    assert panels._title(name, declared) == shown


def test_every_axis_has_the_label() -> None:
    told = {"cost": {"kind": "real", "label": "Cost of stay"}, "ward": {"kind": "category", "label": "Ward of stay"}}
    told |= {"age": {"kind": "integer", "label": "Age in years"}, "day": {"kind": "date", "label": "First day"}}
    slopes = ("intercept", "age", "ward=b")
    cells = tuple(Cell((("coefficient", name),), Reply(Estimate(1.0, 0.5, 1.5, 0.1, 0.1))) for name in slopes)
    found = panels.panels_of([Answer("regress(cost ~ age + ward)", cells)], told)
    assert [(panel.scale.label, panel.names) for panel in found] == [
        ("Cost of stay", ("intercept",)),
        ("Cost of stay per Age in years", ("Age in years",)),
        ("Cost of stay", ("Ward of stay=b",)),
    ]
    day = Estimate(9.0, 8.0, 10.0, 1.0, 1.0, step=86_400)
    (dated,) = panels.panels_of([Answer("median(day)", (Cell((), Reply(day)),))], told)
    assert dated.scale.label == "First day"


def test_programs_read_the_name(told: Release) -> None:
    heads, *lines = csv.reader(io.StringIO(sheet(told.certificate)))
    assert "ward" in heads
    assert {line[0] for line in lines} == {"mean(cost) by ward", "histogram(cost, edges=0 5 9)"}
    assert "Cost of stay" not in sheet(told.certificate)
    assert told.certificate.document["columns"]["cost"]["label"] == "Cost of stay"
    assert [name for name, _ in told["mean(cost) by ward"].cells[0].label] == ["ward"]


@pytest.mark.wide
def test_a_label_is_shown_and_never_acts() -> None:
    certificate = release(EVIL, EVIL).certificate
    for text in (page.page(certificate), page.fragment(certificate), svg(certificate)):
        assert "<script" not in text
        assert "\u202e" not in text
        assert "&lt;script&gt;" in text
        assert "49" not in re.findall(r"alert\(1\)[^{]*(.{6})", text)


def test_a_release_without_labels_is_as_it_was() -> None:
    found = release("", "")
    assert not any("label" in told for told in found.certificate.document["columns"].values())
    assert "\ncolumns" not in str(found)


@pytest.mark.parametrize("label", ["x" * (LONGEST_LABEL + 1), "two\nlines", "bell\x07", 7])
def test_a_label_is_a_short_line(label: str) -> None:
    for declare in (rt.real, rt.integer, lambda label: rt.category(["a"], label=label)):
        with pytest.raises(PublicParameterError, match="label is text of at most 60 characters on one line"):
            declare(label=label)


def test_a_study_file_labels_columns_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = clinic(tmp_path).read_text("utf-8")
    text = text.replace('among = ["a", "b"]\n', 'among = ["a", "b"]\nlabel = "Home town"\n')
    text = text.replace("[columns.town]", '[columns.decades]\nfrom = "age / 10"\nlabel = "Decades"\n\n[columns.town]')
    (tmp_path / "clinic.toml").write_text(text, "utf-8")
    columns = rt.open("clinic.toml").spec.schema.columns
    assert (columns["town"].label, columns["decades"].label, columns["age"].label) == ("Home town", "Decades", "")
    done = run("release", "clinic.toml", "--ask", "persons by town", "--epsilon", "0.5")
    assert done.code == 0, done.said
    assert "Home town a" in done.said
    assert "town: Home town" in done.said
    (tmp_path / "clinic.toml").write_text(text.replace('"Home town"', '"two\\nlines"'), "utf-8")
    with pytest.raises(SpecError, match=r"\[columns.town\] label is text"):
        rt.open("clinic.toml")
