"""Numbers, missing values and encodings as a study declares them; whatever a cell holds, reading it does not fail."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reticent as rt
from reticent.data.format import ENCODINGS, WINDOWS, Format, section
from reticent.data.query import DistinctPersons, Incomplete, Query, Ranks, Rows, Tally
from reticent.data.schema import Person, Schema, category, integer, real
from reticent.data.study_file import parse_spec
from reticent.data.table import open_table
from reticent.errors import LedgerError, PublicParameterError, QuestionError, SpecError
from tests.support.number_texts import FORMATS, WRITTEN, meant, read_by, schema_of

ALL = Person("add_remove")
KEY = bytes(32)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: f"{form.decimal}{form.thousands}{' '.join(form.symbols)}")
def test_the_engine_reads_the_numbers_that_the_format_says(form: Format) -> None:
    table = open_table({"x": WRITTEN, "k": list(range(len(WRITTEN)))}, schema_of(form))
    assert read_by(table, len(WRITTEN)) == meant(WRITTEN, form)


@example(text="1,977.61")
@example(text="1 977,61")
@given(text=st.text("0123456789.,'\u2019 _\u00a0\u202f+-eEinf\n\t\x00xé", max_size=12))
def test_every_text_is_a_number_or_it_is_none(text: str) -> None:
    for form in FORMATS:
        found = form.number(text)
        assert found is None or not math.isnan(found)
        if found is not None and form.thousands:
            plain = Format(decimal=form.decimal)
            bare = text
            for sign in form.dropped:
                bare = bare.replace(sign, "")
            assert plain.number(bare) == found


@pytest.mark.parametrize(
    ("text", "value"),
    [("€ 1.234,50", 1234.5), ("-€5", -5), ("€ -5", -5), ("5 %", 5), ("1,5 EUR", 1.5), ("EUR 1e3", 1000)],
)
def test_a_number_is_read_without_the_symbol_beside_it(text: str, value: float) -> None:
    assert Format(decimal=",", thousands=".", symbols=("€", "%", "EUR")).number(text) == value
    assert Format(decimal=",", thousands=".").number(text) is None


@pytest.mark.parametrize("text", ["€€5", "5 € %", "€", "5€5", "--€5", "-€-5", "5 eur", "€ 5 -", "5 $"])
def test_a_number_has_one_listed_symbol_on_a_side(text: str) -> None:
    assert Format(symbols=("€", "%", "EUR")).number(text) is None


@pytest.mark.parametrize("text", ["infg", "abinf", "inffg", "biinf"])
@pytest.mark.parametrize("symbols", [("g", "fg"), ("bi", "ab"), ("fg", "g", "bi", "ab")])
def test_no_symbol_stands_beside_inf(text: str, symbols: tuple[str, ...]) -> None:
    """``inf`` lost its letters to the longer symbol, and one cell made a release fail after its charge."""
    assert Format(symbols=symbols).number(text) is None
    assert Format(symbols=symbols).number("inf") == math.inf


@given(
    symbols=st.lists(st.text("ginfteE.,abx€%'", min_size=1, max_size=4), min_size=1, max_size=5, unique=True),
    parts=st.lists(st.sampled_from(["0", "1", "23", ".", ",", "e5", "inf", "+", "-", " "]), max_size=5),
    places=st.lists(st.integers(0, 9), max_size=3),
)
def test_what_is_left_without_symbols_is_always_a_number(
    symbols: list[str], parts: list[str], places: list[int]
) -> None:
    try:
        form = Format(symbols=tuple(symbols))
    except PublicParameterError:
        return
    for nth, place in enumerate(places):
        parts.insert(place % (len(parts) + 1), symbols[nth % len(symbols)])
    text = "".join(parts)
    if re.fullmatch(form.pattern[1:-1], text):
        bare = text
        for dropped in form.dropped:
            bare = bare.replace(dropped, "")
        assert Format().number(bare) is not None


@pytest.mark.parametrize(
    "symbols", [("5",), ("-",), ("",), (" €",), ("e",), ("inf",), (".",), ("'",), ("€", "€"), ("a\nb",), ("x" * 9,)]
)
def test_a_symbol_that_could_be_part_of_a_number_is_refused(symbols: tuple[str, ...]) -> None:
    with pytest.raises(PublicParameterError):
        Format(symbols=symbols)


def test_a_column_of_money_is_read_from_a_file_and_a_frame(tmp_path: Path) -> None:
    """Of 400 cells with a currency all count, where none did; the share of odd cells stands beside the mean."""
    cells = [f"{n % 90},50 €" for n in range(400)]
    (tmp_path / "money.csv").write_text("paid (€)\n" + "\n".join(f'"{cell}"' for cell in cells) + "\n", "utf-8")
    for rows in (tmp_path / "money.csv", {"paid (€)": cells}):
        study = rt.study(
            rows,  # type: ignore[arg-type,unused-ignore]
            adjacency="substitute",
            people=400,
            columns={"paid (€)": rt.real(0, 100)},
            budget=10,
            decimal=",",
            symbols=["€"],
        )
        found = study.release(["mean(`paid (€)`)"], epsilon=10)["mean(`paid (€)`)"]
        assert abs(found.value - sum(n % 90 + 0.5 for n in range(400)) / 400) < 1


def test_a_person_whose_number_is_listed_as_missing_is_nobody() -> None:
    """By its text, letter by letter: 7 is listed as 7 and not as 007."""
    listed = ("-999", "007", "x", "9" * 30, "-9223372036854775808")
    schema = Schema({"k": integer(0, 9)}, Person("add_remove", "who", rows=3), Format(na=listed))
    people = [-999, 7, 7, 8, -(2**63), 2**63 - 1]
    table = open_table({"who": people, "k": [1] * len(people)}, schema)
    persons, rows = table.run([DistinctPersons(), Rows()], KEY)
    assert (persons.vectors, rows.vectors) == (((3,),), ((4,),))


def test_a_column_with_thousands_is_read_whole_and_without_them_its_loss_is_seen() -> None:
    prices = [f"{50 + 300 * place:,.2f}" for place in range(10)]
    for form, odd in ((Format(), 6), (Format(thousands=","), 0)):
        table = open_table({"x": prices}, Schema({"x": real()}, ALL, form))
        assert [found.vectors[0][0] for found in table.run([Rows(), Incomplete(("x",))], KEY)] == [10, odd]


@pytest.mark.parametrize(
    "cells",
    [["NA", "3", "-999", "-"], [None, 3, -999, None], [math.nan, 3.0, -999.0, math.nan], ["", "3", " -999 ", "x"]],
)
def test_what_na_lists_is_missing_wherever_the_cells_come_from(cells: list[Any]) -> None:
    form = Format(na=("NA", "-999", "-"))
    schema = Schema({"x": real(), "k": category([3, 4])}, ALL, form)
    found = open_table({"x": cells, "k": cells}, schema).run([Incomplete(("x",)), Incomplete(("k",)), Ranks("x")], KEY)
    assert [result.vectors[0][0] for result in found[:2]] == [3, 3]
    assert found[2].ranks[0].counts.tolist() == [1]


def test_na_holds_for_words_for_truth_and_for_persons() -> None:
    form = Format(na=("none", "unknown", "0"))
    who = ["a", "unknown", "b", "unknown"]
    columns = {"town": category(["x", "y"]), "flag": category([True])}
    schema = Schema(columns, Person("add_remove", "who", rows=1), form)
    rows = {"who": who, "town": ["x", "x", "none", "y"], "flag": ["1", "1", "0", "true"]}
    found = open_table(rows, schema).run([Rows(), Tally("town", among=("x", "y")), Incomplete(("flag",))], KEY)
    assert [result.vectors[0] for result in found] == [(2,), (1, 0), (1,)]


@pytest.mark.parametrize("encoding", sorted(ENCODINGS | WINDOWS))
def test_an_encoding_reads_every_byte_and_a_bad_one_is_a_missing_cell(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = b"".join(b"1," + bytes([byte]) + b"2\n" for byte in range(256) if byte not in b',"\r\n')
    path.write_bytes(b"x,y\n" + rows)
    table = open_table(path, Schema({"x": real(), "y": real()}, ALL, Format(encoding)))
    found = [result.vectors[0][0] for result in table.run([Rows(), Incomplete(("x",)), Incomplete(("y",))], KEY)]
    assert found[:2] == [252, 0]
    assert found[2] >= 252 - 16  # digits, blanks, signs and a point before the 2


def test_names_and_values_in_another_encoding_are_those_declared(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe;straße\n1.977,5;Überall\n2;Köln\n".encode("cp1252"))
    form = Format("windows-1252", ",", ".")
    assert form.encoding == "cp1252"
    schema = Schema({"größe": real(), "straße": category(["Köln", "Überall"])}, ALL, form)
    asked: list[Query] = [Tally("straße", among=("Überall", "Köln")), Incomplete(("größe",))]
    table = open_table(path, schema, delimiter=";")
    assert [result.vectors[0] for result in table.run(asked, KEY)] == [(1, 1), (0,)]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("decimal", "x", 'decimal is "." or ","'),
        ("thousands", ".", "another sign than decimal"),
        ("thousands", "..", "thousands is one of"),
        ("encoding", "utf-16", "encoding is utf-8"),
        ("encoding", "no such", "encoding is utf-8"),
        ("encoding", "rot13", "encoding is utf-8"),
        ("encoding", "\udce9", "encoding is utf-8"),
        ("na", ["NA", "NA"], "different texts"),
        ("na", [""], "an empty cell is missing anyway"),
        ("na", ["a" * 129], "1 to 128 characters"),
        ("na", "NA", "na must list texts"),
        ("na", [1], "na must list texts"),
        ("delimiter", ";;", "one character"),
        ("delimiter", '"', "one character"),
        ("symbols", "€", "symbols must list texts"),
        ("symbols", ["€", "5"], "a symbol holds no digit"),
        ("na", ["a"], "lists 'a', and na says that it is missing"),
    ],
)
def test_a_format_that_is_none_is_refused_with_its_words(key: str, value: object, said: str) -> None:
    tables = {
        "study": {"source": "t.csv", key: value},
        "person": {"adjacency": "add_remove", "rows": "one_each"},
        "budget": {"epsilon": "1"},
        "columns": {"g": {"kind": "category", "among": ["a", "b"]}},
    }
    with pytest.raises(SpecError) as refusal:
        parse_spec(tables, Path())
    assert said in str(refusal.value)


@pytest.mark.wide
def test_a_study_file_and_a_study_in_memory_declare_the_same(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('x;g\n"1.977,5";a\n-999;?\n')
    (tmp_path / "t.toml").write_text(
        '[study]\nsource = "t.csv"\nledger = "t.ledger"\ndelimiter = ";"\ndecimal = ","\nthousands = "."\n'
        'na = ["-999", "?"]\nencoding = "latin-1"\n[person]\nadjacency = "substitute"\nrows = "one_each"\n'
        '[budget]\nepsilon = "9"\n[columns.x]\nkind = "real"\nlow = 0\nhigh = 9000\n'
    )
    opened = rt.open(tmp_path / "t.toml")
    made = rt.study(
        tmp_path / "t.csv",
        adjacency="substitute",
        columns={"x": rt.real(0, 9000)},
        budget="9",
        delimiter=";",
        decimal=",",
        thousands=".",
        na=["-999", "?"],
        encoding="iso-8859-1",
    )
    assert opened.schema.format == made.schema.format
    for study in (made, opened):  # once the ledger of the file counts, a study in memory is refused
        # noise of scale 2/9 at most: 60 of them have a probability below 1e-26
        assert study.release(["count"], epsilon="1")["count"].value == 2
        assert abs(study.release(["incomplete(x)"], epsilon="8")["incomplete(x)"].value - 0.5) < 60
    with pytest.raises(LedgerError, match="already under"):
        made.release(["count"], epsilon="1")


def test_a_single_text_for_na_is_not_taken_letter_by_letter() -> None:
    study = rt.study({"x": [1]}, adjacency="add_remove", columns={"x": rt.real()}, budget="1", na="NA")
    assert study.schema.format.na == ("NA",)
    with pytest.raises(PublicParameterError, match="1 to 128 characters"):
        rt.study({"x": [1]}, adjacency="add_remove", columns={"x": rt.real()}, budget="1", na=[""])


@pytest.mark.parametrize(
    ("decimal", "thousands", "text", "value"),
    [
        (".", ",", "1,977.61", 1977.61),
        (".", "", "1,977.61", None),
        (",", ".", "1.977,61", 1977.61),
        (",", ".", "1.5", None),
        (",", "", "1,5", 1.5),
        (".", " ", "1\u202f977", 1977.0),
        (".", "'", "1\u2019977.5", 1977.5),
        (".", ",", "19,77", None),
        (".", ",", "1977,000", None),
        (",", "", "1.5", None),
    ],
)
def test_numbers_are_those_that_people_write(decimal: Any, thousands: str, text: str, value: float | None) -> None:
    assert Format(decimal=decimal, thousands=thousands).number(text) == value


@pytest.mark.parametrize("name", ["age", "Total cost €", "Age (years)", "Pat.No", 'say "hi"', "a\\b", "x\x7f", "Größe"])
def test_the_section_that_a_refusal_names_can_be_pasted(name: str) -> None:
    """The words of the refusal, put into TOML, declare that column."""
    if name.isprintable():  # others are no name of a column
        with pytest.raises(QuestionError) as refused:
            Schema({name: real()}, Person("add_remove")).bounded(name, "mean")
        assert section(name) in str(refused.value)
    assert tomllib.loads(f"{section(name)}\nlow = 0")["columns"] == {name: {"low": 0}}
