"""Stata, SPSS and SAS files: cells as a CSV file has them, labels as comments, and words where a file is broken."""

from __future__ import annotations

import builtins
import datetime
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reticent.data import statistical_files
from reticent.data.format import Format
from reticent.data.query import Rows, Tally
from reticent.data.schema import Person, Schema, category, real
from reticent.data.source import names_of, open_source
from reticent.data.table import open_table
from reticent.data.template import skeleton, skeleton_words
from reticent.errors import SpecError
from tests.support.fuzz_bytes import spoiled
from tests.support.workbooks import rows_in

SCHEMA = Schema({"a": category([1, 2]), "s": category(["x"]), "d": category(["x"]), "f": real()}, Person("add_remove"))
ENDINGS = (".dta", ".sav", ".xpt")


def written(folder: Path, ending: str, **more: Any) -> Path:
    pd, pyreadstat = pytest.importorskip("pandas"), pytest.importorskip("pyreadstat")
    days = [datetime.date(2020, 1, 5), None, datetime.date(1950, 1, 1)]
    frame = pd.DataFrame({"a": [1, 2, None], "s": ["x", "", "é"], "d": days, "f": [1.25, None, 3.0]})
    writers: dict[str, Callable[..., None]] = {
        ".dta": pyreadstat.write_dta,
        ".sav": pyreadstat.write_sav,
        ".xpt": pyreadstat.write_xport,
    }
    path = folder / f"t{ending}"
    writers[ending](frame, str(path), **more)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_text_in_another_encoding_is_an_odd_cell_of_its_own_row(ending: str, tmp_path: Path) -> None:
    """The reader fails for the whole file at such a cell, so one person's text decided about the release."""
    pd, pyreadstat = pytest.importorskip("pandas"), pytest.importorskip("pyreadstat")
    path = tmp_path / f"t{ending}"
    writers = {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav, ".xpt": pyreadstat.write_xport}
    writers[ending](pd.DataFrame({"s": ["äbc", "QQQQ", "x"], "f": [1.0, 2.0, 3.0]}), str(path))
    path.write_bytes(path.read_bytes().replace(b"QQQQ", b"\xc3(\x81Q"))
    schema = Schema({"s": category(["x"]), "f": real()}, Person("add_remove"))
    assert rows_in(open_source(path, schema), "s", "f") == [("äbc", "1"), (None, "2"), ("x", "3")]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("size", [1, 2, 3, 1 << 16])
def test_cells_are_those_of_csv_whatever_the_pieces(
    ending: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistical_files, "BATCH", size)
    path = written(tmp_path, ending)
    assert rows_in(open_source(path, SCHEMA), "s", "a", "f", "d") == [
        ("x", "1", "1.25", "2020-01-05"),
        (None, "2", None, None),
        ("é", None, "3", "1950-01-01"),
    ]
    (counted,) = open_table(path, SCHEMA).run([Rows()], bytes(32))
    assert counted.vectors == ((3,),)
    german = Schema(SCHEMA.columns, SCHEMA.person, Format(decimal=",", thousands="."))
    assert rows_in(open_source(path, german), "f")[0] == ("1,25",)


def test_values_declared_missing_are_missing(tmp_path: Path) -> None:
    path = written(tmp_path, ".sav", missing_ranges={"f": [3]})
    assert rows_in(open_source(path, SCHEMA), "f") == [("1.25",), (None,), (None,)]


@pytest.mark.parametrize("ending", [".dta", ".sav"])
def test_labels_are_comments_on_one_line_until_they_are_confirmed(ending: str, tmp_path: Path) -> None:
    labels = {1: "male", 2: "fe\nmale", 7: "in no row"}
    called = {"a": "Se\nx", "s": 'His "word"', "d": "x" * 61}
    path = written(tmp_path, ending, variable_value_labels={"a": labels}, column_labels=called)
    text = skeleton(path)
    assert '[columns.a]\n# label = "Se\ufffdx"\n# The header labels codes' in text
    assert '[columns.s]\n# label = "His \\"word\\""\n' in text
    assert text.count("# label = ") == 2
    assert "# The header labels codes: 1 male, 2 fe\ufffdmale, 7 in no row. If that is public:" in text
    assert "# among = [1, 2, 7]" in text
    assert "\nmale" not in text
    assert names_of(path) == {"a": "double", "s": "string", "d": "date", "f": "double"}
    assert '[columns.d]\nkind = "date"' in text
    assert "Confirm each label" in skeleton_words(names_of(path), "t.toml", kind="statistical")


@pytest.mark.parametrize("ending", [".dta", ".sav"])
def test_codes_with_a_declared_label_count_as_it(ending: str, tmp_path: Path) -> None:
    """The labels of the header, in place of codes, are keys of groups; what is declared decides, and no row does."""
    labels = {1: "male", 2: "female", 7: "in no row"}
    path = written(tmp_path, ending, variable_value_labels={"a": labels})
    assert '# among = ["male", "female", "in no row"]' in skeleton(path)

    def cells(*among: str | int) -> list[object]:
        schema = Schema({"a": category(list(among))}, Person("add_remove"))
        return [cell for (cell,) in rows_in(open_source(path, schema), "a")]

    assert cells("male", "female") == ["male", "female", None]
    assert cells("male") == ["male", "2", None]
    assert cells(1, 2) == cells("1", "2") == cells("other") == ["1", "2", None]
    both = cells("male", "1", "2")
    assert both == ["1", "2", None]  # a declared code stays what it is
    held = open_table(path, Schema({"a": category(["female", "male"])}, Person("add_remove")))
    (found,) = held.run([Tally("a", among=("male", "female"))], bytes(32))
    assert found.vectors == ((1, 1),)
    written(tmp_path, ending, variable_value_labels={"a": {1: " male", 2: "female "}})
    assert cells("male", "female") == ["male", "female", None]
    twins = written(tmp_path, ending, variable_value_labels={"a": {1: "male", 2: "male"}})
    assert "# among = [1, 2]" in skeleton(twins)


@pytest.mark.parametrize(("ending", "form"), [(".dta", "%tc"), (".sav", "DATETIME20"), (".xpt", "DATETIME20.")])
def test_moments_become_texts_as_in_a_workbook(ending: str, form: str, tmp_path: Path) -> None:
    """Midnight is the day alone, so a column of days that was saved as moments is read as days."""
    pd, pyreadstat = pytest.importorskip("pandas"), pytest.importorskip("pyreadstat")
    moments = [datetime.datetime(2024, 2, 29, 13, 45), datetime.datetime(1959, 12, 31), None]
    writers = {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav, ".xpt": pyreadstat.write_xport}
    path = tmp_path / f"t{ending}"
    writers[ending](pd.DataFrame({"d": pd.Series(moments, dtype="datetime64[ns]")}), str(path))
    assert statistical_files.days_of(path, form) is not None
    assert rows_in(open_source(path, Schema({"d": category(["x"])}, Person("add_remove"))), "d") == [
        ("2024-02-29T13:45:00",),
        ("1959-12-31",),
        (None,),
    ]


def test_a_day_that_no_calendar_has_is_missing() -> None:
    for number in (1e300, -1e300, 1e10, -1e10):
        assert statistical_files.day_text(number, statistical_files.SINCE_1960, 1) == ""
    assert statistical_files.day_text(-0.5, statistical_files.SINCE_1960, 1) == "1959-12-31"


def test_without_its_library_a_file_is_refused_and_the_extra_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.dta").write_bytes(b"")
    honest = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "pyreadstat":
            raise ImportError
        return honest(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SpecError, match=r"t.dta needs pyreadstat: pip install 'reticent\[stat\]'"):
        open_source(tmp_path / "t.dta", SCHEMA)


@pytest.mark.parametrize("ending", ENDINGS)
def test_spoiled_bytes_give_rows_or_words(ending: str, tmp_path: Path) -> None:
    """300 spoiled files of each kind: a refusal, a fault that an engine makes opaque, or rows."""
    whole = written(tmp_path, ending).read_bytes()
    chance, refused = random.Random(ending), 0
    for _ in range(300):
        path = tmp_path / f"u{ending}"
        path.write_bytes(spoiled(whole, chance))
        try:
            source = open_source(path, SCHEMA)
        except SpecError as refusal:
            refused += 1
            said = str(refusal)
            known = ("cannot be read", "There is no column", "The header of", "names a twice", "more than", "is empty")
            if not any(words in said for words in known):
                raise
            continue
        try:
            rows_in(source, "s", "a", "f", "d")
        except Exception as fault:
            if "1.25" in str(fault):
                raise
    assert refused > 5
