"""Workbooks: cells as a CSV file would have them, headers held to its rules, and words where a file is broken."""

from __future__ import annotations

import datetime
import random
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from reticent.data.format import Format
from reticent.data.query import Rows
from reticent.data.schema import Person, Schema, category, real
from reticent.data.source import names_of, open_source
from reticent.data.spreadsheet import date_text
from reticent.data.spreadsheet_parts import shows_date
from reticent.data.table import EngineFailure, open_table
from reticent.data.template import skeleton
from reticent.errors import SpecError
from tests.support.fuzz_bytes import spoiled
from tests.support.workbooks import rows_in, workbook

X = Schema({"x": real()}, Person("add_remove"))
XY = Schema({"x": real(), "y": category(["a"])}, Person("add_remove"))
HEAD = '<row><c t="inlineStr"><is><t>x</t></is></c><c t="inlineStr"><is><t>y</t></is></c></row>'


def cells(folder: Path, *given: str, form: Format | None = None, **parts: Any) -> list[object]:
    """The texts of cells, each in a row of its own with a full cell beside it."""
    rows = HEAD + "".join(f'<row>{cell}<c r="B1"><v>1</v></c></row>' for cell in given)
    schema = Schema({"x": real()}, Person("add_remove"), form or Format())
    return [x for (x,) in rows_in(open_source(workbook(folder / "t.xlsx", rows, **parts), schema), "x")]


def refused(path: Path, schema: Schema = X) -> str:
    with pytest.raises(SpecError) as why:
        open_source(path, schema)
    return str(why.value)


# --- cells ------------------------------------------------------------------------------------------------------------


def test_numbers_are_read_as_they_are_whatever_the_notation_of_texts(tmp_path: Path) -> None:
    given = [f"<c><v>{text}</v></c>" for text in ("7", "7.0", "-0", "0.1", "1E-3", "1.25", "12345678901234567890")]
    assert cells(tmp_path, *given) == ["7", "7", "0", "0.1", "0.001", "1.25", "1.2345678901234567e+19"]
    german = Format(decimal=",", thousands=".")
    assert cells(tmp_path, *given, form=german)[3:6] == ["0,1", "0,001", "1,25"]
    assert german.number("1,25") == 1.25


def test_texts_errors_truth_values_and_results_of_formulas(tmp_path: Path) -> None:
    texts = (
        '<si><t xml:space="preserve"> a </t></si><si><r><t>b</t></r><r><t>c</t></r><rPh sb="0"><t>no</t></rPh></si>'
        "<si><t>l_x000D_m_x005F_x0041_</t></si>"
    )
    shared = [f'<c t="s"><v>{n}</v></c>' for n in range(3)]
    assert cells(tmp_path, *shared, texts=texts) == [" a ", "bc", "l\rm_x0041_"]
    assert cells(
        tmp_path,
        '<c t="b"><v>1</v></c>',
        '<c t="b"><v>0</v></c>',
        '<c t="e"><v>#N/A</v></c>',
        "<c><f>1+1</f><v>2</v></c>",
        '<c t="str"><f>A1</f><v>word</v></c>',
        "<c><f>never computed</f></c>",
        '<c t="d"><v>2026-11-21</v></c>',
        '<c t="inlineStr"><is><t>in </t><rPh><t>no</t></rPh><t>line</t></is></c>',
    ) == ["true", "false", None, "2", "word", None, "2026-11-21", "in line"]


@pytest.mark.parametrize(
    "cell",
    [
        "<c><v>abc</v></c>",
        "<c><v>0x10</v></c>",
        "<c><v>1_0</v></c>",
        "<c><v>nan</v></c>",
        '<c t="s"><v>-1</v></c>',
        '<c t="s"><v>99999999999999999999</v></c>',
        '<c t="s"><v>x</v></c>',
        '<c t="b"><v>perhaps</v></c>',
        '<c t="unheard"><v>word</v></c>',
        '<c s="1"><v>1e300</v></c>',
        '<c s="1"><v>-5</v></c>',
        '<c s="1"><v>60</v></c>',
        '<c s="99999999999999999999999"><v></v></c>',
        '<c t="str"><v>_xD800_</v></c>',
        f'<c t="str"><v>{"9" * 140_000}</v></c>',
        "<c/>",
    ],
)
def test_an_odd_cell_is_missing_and_says_nothing(cell: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cells(tmp_path, "<c><v>1</v></c>", cell, "<c><v>3</v></c>", formats=("yyyy-mm-dd",))
    assert found == ["1", None, "3"]


def test_cells_are_found_by_their_place_and_an_odd_place_is_the_next(tmp_path: Path) -> None:
    rows = HEAD + (
        '<row><c r="B2"><v>2</v></c></row><row r="9"><c r="ZZZZ9"><v>1</v></c><c r="?"><v>2</v></c></row>'
        '<row r="-1"><c r="B3"><v>2</v></c><c r="A3"><v>1</v></c></row>'
        '<row r="4000000000"><c r="XFD9"><v>7</v></c></row>'
        '<row/><row><c r="A1" s="4"/></row><row><c r="A1"><f>""</f><v></v></c></row>'
    )
    found = rows_in(open_source(workbook(tmp_path / "t.xlsx", rows), XY), "x", "y")
    assert found == [(None, "2"), ("1", "2"), ("1", "2"), (None, None)]  # a row that holds nothing is no row
    (counted,) = open_table(tmp_path / "t.xlsx", XY).run([Rows()], bytes(32))
    assert counted.vectors == ((4,),)


def test_dates_become_texts_of_iso_8601(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    given: list[datetime.date | datetime.time] = [
        datetime.date(2026, 11, 21),
        datetime.datetime(2026, 11, 21, 13, 45),
        datetime.datetime(1999, 12, 31, 23, 59, 59),
        datetime.time(13, 45),
        datetime.date(1900, 1, 1),
        datetime.date(1900, 2, 28),
        datetime.date(1900, 3, 1),
        datetime.date(9999, 12, 31),
    ]
    for mac in (False, True):
        book = openpyxl.Workbook()
        if mac:
            book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
        sheet = book.active
        sheet.append(["x"])
        for cell in given[:3] if mac else given:
            sheet.append([cell])
        sheet.append([datetime.timedelta(hours=36)])  # a number of days, not a date
        book.save(tmp_path / "t.xlsx")
        found = [x for (x,) in rows_in(open_source(tmp_path / "t.xlsx", X), "x")]
        assert found == [cell.isoformat() for cell in (given[:3] if mac else given)] + ["1.5"]


def test_milliseconds_are_the_nearest_and_carry_over() -> None:
    assert date_text(45000.5 + 0.25 / 86400, False) == "2023-03-15T12:00:00.250"
    assert date_text(45000.9999999999, False) == "2023-03-16"
    assert date_text(0.0, False) == "00:00:00"
    assert date_text(2958465.9999999999, False) is None


@pytest.mark.parametrize(
    ("code", "date"),
    [
        ("yyyy-mm-dd", True),
        ("[$-409]d/m/yy h:mm AM/PM;@", True),
        ("mm:ss.0", True),
        ("General", False),
        ("0.00E+00", False),
        ('0 "days"', False),
        ("[Red]0;[Blue]-0", False),
        ("[h]:mm", False),
        ("#,##0\\ \\d", False),
        ("_-* #,##0_d", False),
    ],
)
def test_a_number_format_shows_a_date_or_it_does_not(code: str, date: bool) -> None:
    assert shows_date(code) is date


def test_what_a_second_reader_finds(tmp_path: Path) -> None:
    """The cells of random workbooks, as openpyxl has them."""
    openpyxl = pytest.importorskip("openpyxl")
    dice = random.Random(1)
    pool = [None, 1, -2.5, 1e-7, 1e300, 2**60, "word", " é\n", "true", True, False, "#N/A", "<&>", "=1+1"]
    book = openpyxl.Workbook()
    book.active.append(["x", "y", "z"])
    for _ in range(300):
        book.active.append([dice.choice(pool) for _ in range(3)])
    book.save(tmp_path / "t.xlsx")
    schema = Schema({name: real() for name in "xyz"}, Person("add_remove"))
    found = rows_in(open_source(tmp_path / "t.xlsx", schema), "x", "y", "z")

    def text(cell: object) -> object:
        if isinstance(cell, bool):
            return str(cell).lower()
        if cell is None or cell == "#N/A":
            return None
        return Format().spelled(cell) if isinstance(cell, float) else str(cell)

    there = openpyxl.load_workbook(tmp_path / "t.xlsx", data_only=True).active
    rows = [row for row in there.iter_rows(min_row=2, values_only=True) if any(cell is not None for cell in row)]
    assert len(rows) > 250
    assert found == [tuple(map(text, row)) for row in rows]


# --- sheets and headers -----------------------------------------------------------------------------------------------


def test_one_of_several_sheets_is_named_and_none_is_shown(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", f"{HEAD}<row><c><v>1</v></c></row>", sheets=("Jane Doe", "Visits"))
    said = refused(path)
    assert said.startswith('t.xlsx has more than one sheet. Name one: [study] sheet = "…"')
    assert "Jane" not in said
    for sheet, there in (("Visits", True), ("visits", False)):
        schema = Schema({"x": real()}, Person("add_remove"), Format(sheet=sheet))
        if there:
            assert rows_in(open_source(path, schema), "x") == [("1",)]
        else:
            assert refused(path, schema).startswith("t.xlsx has no sheet called 'visits'.")
    assert '\nsheet = "Visits"\n' in skeleton(path, form=Format(sheet="Visits"))


def test_only_a_workbook_has_sheets(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    schema = Schema({"x": real()}, Person("add_remove"), Format(sheet="Visits"))
    assert "leave [study] sheet out" in refused(tmp_path / "t.csv", schema)


def test_the_first_row_that_holds_anything_names_the_columns(tmp_path: Path) -> None:
    texts = "<si><t>y</t></si><si><t>x</t></si>" + "<si><t>secret</t></si>" * 3
    head = '<row r="2"/><row r="3"><c t="s"><v>0</v></c><c r="C3" t="s"><v>1</v></c></row>'
    rows = f'{head}<row><c r="C4"><v>5</v></c></row>'
    path = workbook(tmp_path / "t.xlsx", rows, texts=texts)
    assert list(names_of(path)) == ["y", "", "x"]
    assert rows_in(open_source(path, X), "x") == [("5",)]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("", "t.xlsx is empty: its first line must name the columns."),
        (
            f'<row><c t="str"><v>{"y" * 129}</v></c></row>',
            "The header of t.xlsx has a name of more than 128 characters",
        ),
        ('<row><c t="str"><v>a&#10;b</v></c></row>', "The header of t.xlsx has a line end"),
        ('<row><c r="XFD1"><v>1</v></c></row>', "t.xlsx has more than 4,096 columns"),
        ('<row><c t="str"><v>Jane</v></c></row>', "There is no column 'x' in the header of t.xlsx"),
        ('<row><c t="str"><v>x</v></c><c t="str"><v>x</v></c></row>', "the header of t.xlsx names x twice"),
    ],
)
def test_a_header_is_held_to_the_rules_of_csv(head: str, said: str, tmp_path: Path) -> None:
    found = refused(workbook(tmp_path / "t.xlsx", head))
    assert found.startswith(said)
    assert "Jane" not in found


def test_init_stops_at_a_first_row_that_looks_like_data(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", '<row><c t="str"><v>Jane Doe</v></c><c><v>54321</v></c></row>')
    with pytest.raises(SpecError, match="looks like data") as why:
        skeleton(path)
    assert "Jane" not in str(why.value)


def test_opening_reads_no_row_and_no_text_behind_the_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and texts of several pieces, of which only the first piece is taken."""
    texts = "<si><t>x</t></si>" + "".join(f"<si><t>{n}{random.Random(n).random()}</t></si>" for n in range(50_000))
    rows = '<row><c t="s"><v>0</v></c></row>' + '<row><c t="s"><v>9</v></c></row>' * 50_000
    path = workbook(tmp_path / "t.xlsx", rows, texts=texts)
    taken: dict[str, int] = {}
    read = zipfile.ZipExtFile.read

    def watched(stream: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        found = read(stream, n)
        taken[stream.name] = taken.get(stream.name, 0) + len(found)
        return found

    monkeypatch.setattr(zipfile.ZipExtFile, "read", watched)
    open_source(path, X)
    assert taken["xl/worksheets/sheet1.xml"] <= 1 << 16
    assert taken["xl/sharedStrings.xml"] <= 1 << 16


# --- broken files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "t.xlsx is not an .xlsx workbook, or is damaged. No row was read."),
        (b"PK\x03\x04secret", "t.xlsx is not an .xlsx workbook, or is damaged. No row was read."),
        (b"\xd0\xcf\x11\xe0secret", "t.xlsx has a password, or is an .xls of before 2007."),
    ],
)
def test_a_file_that_is_no_workbook(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(content)
    assert refused(tmp_path / "t.xlsx").startswith(said)


def test_entities_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "secret"><!ENTITY c "&b;&b;&b;">]><worksheet><sheetData/></worksheet>'
    path = workbook(tmp_path / "t.xlsx", "", parts={"xl/worksheets/sheet1.xml": bomb})
    assert refused(path) == "t.xlsx is not an .xlsx workbook, or is damaged. No row was read."


def test_a_sheet_that_breaks_off_behind_its_header_is_an_opaque_fault(tmp_path: Path) -> None:
    broken = f"<worksheet><sheetData>{HEAD}<row><c><v>11223344</v></c></row><row><c"
    path = workbook(tmp_path / "t.xlsx", "", parts={"xl/worksheets/sheet1.xml": broken})
    table = open_table(path, X)
    with pytest.raises(EngineFailure) as why:
        table.run([Rows()], bytes(32))
    assert "11223344" not in str(why.value)
    assert why.value.__cause__ is None


@pytest.mark.wide
def test_spoiled_bytes_give_rows_or_words(tmp_path: Path) -> None:
    """600 spoiled workbooks and 600 with a spoiled part: a refusal, a fault or rows, and no cell in the words."""
    rows = HEAD + "".join(f'<row><c><v>8{n:07}</v></c><c t="s"><v>{n % 3}</v></c></row>' for n in range(9))
    texts = "<si><t>qzxjkvw</t></si>" * 3
    whole = workbook(tmp_path / "whole.xlsx", rows, texts=texts, formats=("d/m/y",)).read_bytes()
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as package:
        parts = {name: package.read(name) for name in package.namelist()}
    chance = random.Random(3)
    endings: dict[str, int] = {}
    for number in range(1200):
        path = tmp_path / "t.xlsx"
        if number % 2:
            path.write_bytes(spoiled(whole, chance))
        else:
            name = chance.choice(sorted(parts))
            with zipfile.ZipFile(path, "w") as package:
                for part, content in {**parts, name: spoiled(parts[name], chance)}.items():
                    package.writestr(part, content)
        ending, said = outcome(path)
        assert not any(secret in said for secret in ("8000000", "qzxjkvw"))
        endings[ending] = endings.get(ending, 0) + 1
    assert min(endings.get(ending, 0) for ending in ("refused", "failed", "read")) > 20, endings


def outcome(path: Path) -> tuple[str, str]:
    """How opening and reading end, and the words."""
    try:
        source = open_source(path, XY)
    except SpecError as refusal:
        return "refused", str(refusal)
    try:
        rows_in(source, "x", "y")
    except Exception as fault:  # which a table makes opaque; its words go to the curator's own log
        return "failed", str(fault)
    return "read", ""
