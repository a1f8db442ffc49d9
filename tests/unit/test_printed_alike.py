"""Terminal, page, notebook, figure, CSV and workbook print an answer alike, its interval rounded outwards."""

from __future__ import annotations

import csv
import html
import io
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.certificate.certificate import Certificate
from reticent.certificate.record import answer_to_json
from reticent.certificate.render import panels
from reticent.certificate.render.figure import beside, svg
from reticent.certificate.render.listing import listing
from reticent.certificate.render.page import fragment, page
from reticent.certificate.render.tables import safe, sheet
from reticent.certificate.render.workbook import workbook
from reticent.cli import layout
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.statistics.answer import NO_ENDS, Answer, Cell
from reticent.statistics.comparison import title
from reticent.study.release_files import table
from tests.unit.test_certificate_example import document

DAY = 86_400
NAMES = ("count", "mean(a)", "median(b)", "quantile(c, 0.9)", "sum(d)")


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome[Estimate]:
    """A number of any size with its interval, a count, a date, a spread of dates, or no reply."""
    kind = draw(st.sampled_from(("number", "number", "count", "date", "spread", "none")))
    half = draw(st.floats(1e-6, 1e6)) if kind in ("number", "spread") else float(draw(st.integers(1, 5000)))
    value = draw(st.floats(-1e12, 1e12)) if kind == "number" else float(draw(st.integers(0, 20_000)))
    lean, part = draw(st.floats(0, 1)), draw(st.floats(0, 1))
    low, high = value - half * lean, value + half * (1 - lean)
    match kind:
        case "none":
            return NO_REPLY
        case "count":
            return Reply(Estimate(value, value - half, value + half, half, 0.0))
        case "date":
            return Reply(Estimate(value, low, high, half * part, half * (1 - part), step=DAY))
        case "spread":
            return Reply(Estimate(value, low, high, half * part, half * (1 - part), unit="days"))
        case _:
            return Reply(Estimate(value, low, high, half * part, half * (1 - part)))


@st.composite
def asked(draw: st.DrawFn) -> list[Answer]:
    """Answers of one number, some without an interval, and one by group."""
    single = [
        Answer(name, (Cell((), draw(outcomes())),), (NO_ENDS,) if draw(st.booleans()) else ())
        for name in NAMES[: draw(st.integers(1, len(NAMES)))]
    ]
    cells = tuple(Cell((("g", key),), draw(outcomes())) for key in ("p", "q"))
    return [*single, Answer("mean(e) by g", cells)]


def certificate(answers: list[Answer]) -> Certificate:
    return Certificate.of({**document(), "answers": [answer_to_json(answer) for answer in answers]})


def hyphens(text: str) -> str:
    """Text of a page as it is read, with hyphens for its minus signs."""
    return html.unescape(text).replace("−", "-")


def cells_of(text: str, name: str) -> list[str]:
    """Cells of the line of a table of HTML whose head ends with ``name``."""
    row = re.search(rf"<th[^>]*>(?:[^<]* · )?{re.escape(html.escape(name))}</th>(.*?)</tr>", text, flags=re.DOTALL)
    assert row is not None, name
    return [hyphens(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.findall(r"<td.*?</td>", row[1], re.DOTALL)]


def agree(answers: list[Answer]) -> None:
    made = certificate(answers)
    told = list(csv.DictReader(io.StringIO(sheet(made))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reticent.certificate.render.page.svg", lambda _: "")  # drawn apart: it takes a second
        shown, notebook, printed = page(made), fragment(made), listing(made)
    figures = {
        cell: text for panel in panels.panels(made) for cell, text in zip(panel.cells, beside(panel), strict=True)
    }
    place = 0
    for answer in answers:
        for cell, inside in zip(answer.shown, answer.cells, strict=True):
            value, interval, *parts = layout.numbers(cell, bare=answer.bare)
            whole = value if interval in ("", "–") else f"{value} (95 % {interval})"
            assert told[place]["printed"] == safe(whole)
            name = f"{cell.label[0][0]} {cell.label[0][1]}" if cell.label else answer.name
            line = next(line for line in printed.splitlines() if line.strip().startswith(f"{name} "))
            if isinstance(cell.outcome, Reply):
                assert (interval != "–") == answer.has_interval(inside)
                halves = [half.removeprefix("± ") for half in parts]
                assert cells_of(shown, name) == [value, interval, *halves]
                assert line.strip().removeprefix(name).split() == [
                    *value.split(),
                    *interval.split(),
                    *" ".join(halves).split(),
                ]
                assert cells_of(notebook, name)[:2] == [value, interval]
                assert hyphens(figures[cell]) == (value if interval == "–" else f"{value} ({interval})")
                if interval != "–":
                    holds(cell.outcome.value, interval)
            else:
                assert value == "no reply"
                assert cells_of(shown, name)[0].startswith("no reply")
                assert cells_of(notebook, name) == ["no reply"]
                assert line.endswith(" no reply")
            place += 1


def holds(estimate: Estimate, interval: str) -> None:
    """The printed interval holds the one that was drawn, exactly."""
    low, high = interval.removesuffix(" days").split(" to ")
    if estimate.step:
        start = datetime(1970, 1, 1, tzinfo=UTC)
        first, last = (start + timedelta(days=end) for end in (estimate.low, estimate.high))
        assert datetime.fromisoformat(low).replace(tzinfo=UTC) <= first + timedelta(milliseconds=1)
        assert datetime.fromisoformat(high).replace(tzinfo=UTC) >= last - timedelta(milliseconds=1)
    else:
        assert Fraction(low.replace(",", "")) <= Fraction(repr(estimate.low))
        assert Fraction(high.replace(",", "")) >= Fraction(repr(estimate.high))


def test_a_figure_has_the_numbers_of_the_terminal_beside_its_dots() -> None:
    answers = [
        Answer("mean(a)", (Cell((), Reply(Estimate(-1.234, -1.5, -1.0, 0.1, 0.2))),)),
        Answer("median(b)", (Cell((), Reply(Estimate(5.25, -1e9, 1e9, 1.0, 1.0))),), (NO_ENDS,)),
    ]
    drawn = hyphens(svg(certificate(answers)))
    assert ">-1.23 (-1.50 to -1.00)<" in drawn
    assert ">5.25<" in drawn


@settings(max_examples=15, deadline=None)
@given(asked())
def test_every_form_prints_the_same_numbers(answers: list[Answer]) -> None:
    agree(answers)


@pytest.mark.wide
@settings(max_examples=40, deadline=None)
@given(asked())
def test_every_form_prints_the_same_numbers_of_many_releases(answers: list[Answer]) -> None:
    agree(answers)


@settings(max_examples=8, deadline=None)
@given(asked())
def test_a_workbook_prints_the_same_numbers(answers: list[Answer]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(workbook(certificate(answers))))
    for answer in answers:
        page_of = book["Answers" if not answer.cells[0].label else answer.name]
        heads, *rows = page_of.values
        found = [dict(zip(heads, row, strict=True)) for row in rows]
        of = found if answer.cells[0].label else [row for row in found if row["name"] == answer.name]
        for row, cell in zip(of, answer.shown, strict=True):
            value, interval, *_ = layout.numbers(cell, bare=answer.bare)
            whole = value if interval in ("", "–") else f"{value} (95 % {interval})"
            assert row["printed"] == (whole if isinstance(cell.outcome, Reply) else None)
            assert (row["low"] is None) == (interval in ("", "–"))


def test_keys_of_two_columns_are_written_alike_wherever_they_stand() -> None:
    sexes, places = ("f", "m"), ("Innere, m", "Nord")
    cells = tuple(
        Cell((("ward", ward), ("old", old), ("sex", sex)), Reply(Estimate(4.0, 3.0, 5.0, 1.0, 0.0)))
        for ward in places
        for old in (True, False)
        for sex in sexes
    )
    answer = Answer("mean(age) by ward, old, sex", cells)
    made, keys, named = certificate([answer]), "Innere, m · true · f", "ward Innere, m · old true · sex f"
    assert cells[0].where == keys
    assert title(answer, cells[0]) == f"{answer.name} · {keys}"
    assert str(answer).startswith(f"{answer.name} · {named}: ")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reticent.certificate.render.page.svg", lambda _: "")
        texts = page(made), fragment(made), listing(made)
    assert all(named in text for text in texts)
    assert keys in panels.panels(made)[0].names
    for spelling in (keys, named, "Innere, m, True, f"):
        assert answer[spelling].cells == (cells[0],)


def test_a_table_by_two_columns_stands_once_on_a_page() -> None:
    cells = tuple(
        Cell(
            (("ward", ward), ("sex", sex)), Reply(Estimate(value := 100.0 * at + place, value - 3, value + 3, 3.0, 0.0))
        )
        for at, ward in enumerate("abcdefghi", 1)
        for place, sex in enumerate("fmx", 1)
    )
    single = [Answer(name, (Cell((), Reply(Estimate(7.0, 3.0, 9.0, 1.0, 0.0))),)) for name in ("count", "persons")]
    for names in (("ward", "sex"), ("sex", "ward")):
        turned = tuple(Cell(tuple((name, dict(cell.label)[name]) for name in names), cell.outcome) for cell in cells)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("reticent.certificate.render.page.svg", lambda _: "")
            shown = page(certificate([single[0], Answer(f"count by {', '.join(names)}", turned), single[1]]))
        assert all(
            shown.count(f">{int(100 * at + place)} ±\N{NO-BREAK SPACE}3</td>") == 1
            for at in range(1, 10)
            for place in (1, 2, 3)
        )
        assert (shown.count('<table class="numbers">'), shown.count('<table class="cross"')) == (2, 1)
        assert "ward down, sex across" in shown  # the longer side goes down
        assert ">101</td>" not in shown


def test_frame_csv_and_workbook_have_one_head_for_the_answer_and_keep_every_label() -> None:
    """``frame()`` said "answer" where the CSV says "name", and lost labels that are called as a column is."""
    quantiles = Answer(
        "quantiles(x, 0.25 0.75)",
        tuple(Cell((("level", level),), Reply(Estimate(4.0, 3.0, 5.0, 1.0, 0.0))) for level in ("0.25", "0.75")),
    )
    keys = Answer(
        "count by name",
        tuple(Cell((("name", key),), Reply(Estimate(4.0, 3.0, 5.0, 1.0, 0.0))) for key in ("a", "b")),
    )
    whole = Answer("count", (Cell((), Reply(Estimate(9.0, 8.0, 10.0, 1.0, 0.0))),))
    answers = [quantiles, keys, whole]
    rows = [*csv.DictReader(io.StringIO(sheet(certificate(answers))))]
    frame = table(answers).to_pylist()
    for row, told in zip(frame, rows, strict=True):
        assert row["name"] == told["name"]
        for label in ("level (group)", "name (group)"):
            assert (row[label] or "") == told[label]
        assert row["level"] == 0.95
    assert "answer" not in frame[0]
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(workbook(certificate(answers))))
    assert next(book["Answers"].values)[0] == "name"


def test_parts_of_an_interval_are_called_half_widths_where_they_stand_beside_it() -> None:
    """± beside an interval that reaches further on one side was added up to ends that nobody released."""
    lean = Answer("median(x)", (Cell((), Reply(Estimate(9.0, 8.9, 12.0, 1.3, 1.2))),))
    of = certificate([lean])
    printed = listing(of)
    over, heads, *_ = printed.splitlines()
    assert (over.split(), heads.split()[-2:]) == (["half-widths:"], ["noise", "sampling"])
    assert len(over) == len(heads)
    assert ">noise, half-width<" in page(of)
    over, heads, *_ = layout.answers([lean]).lines(80, styled=False)
    assert (over.split(), heads.split()[-2:]) == (["half-widths:"], ["noise", "sampling"])
    assert "±" not in "".join(printed.splitlines()[:3])
    assert "±" not in "".join(layout.numbers(lean.cells[0]))


def test_an_interval_of_another_level_than_the_head_names_says_its_own() -> None:
    """A difference of medians at 90 % stood below "95 % interval", and a page said no level at all."""
    usual = Answer("mean(x)", (Cell((), Reply(Estimate(9.0, 8.0, 10.0, 1.0, 0.0))),))
    lower = Answer("median(x)", (Cell((), Reply(Estimate(9.0, 7.0, 11.0, 1.0, 0.0, 0.9))),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reticent.certificate.render.page.svg", lambda _: "")
        for answers, head, marked in (([usual, lower], "95 % interval", True), ([lower], "90 % interval", False)):
            made = certificate(answers)
            terminal = "\n".join(layout.answers(answers).lines(80, styled=False))
            texts = [plainly(text) for text in (terminal, listing(made), page(made), fragment(made))]
            for text in texts:
                assert head in text
                assert ("7 to 11 (90 %)" in text) is marked
                assert "8 to 10 (9" not in text


def plainly(text: str) -> str:
    """The words of a page or a table."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_a_page_of_a_study_that_nobody_named_has_its_receipt_for_a_title() -> None:
    held = rt.study({"y": [0.0] * 50}, adjacency="add_remove", columns={"y": rt.real(0, 100)}, budget=9)
    shown = page(held.release(["count"], epsilon=1).certificate)
    assert "<h1>r-0001</h1>" in shown
    assert re.search(r'<p class="about">20\d\d-\d\d-\d\d</p>', shown)
