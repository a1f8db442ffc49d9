"""JSON lines: an object a line, every odd field a missing cell, and no line that makes the reader fail."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from reticent.data import json_lines
from reticent.data.format import Format
from reticent.data.query import Rows
from reticent.data.schema import Person, Schema, category, real
from reticent.data.source import names_of, open_source
from reticent.data.table import EngineFailure, open_table
from reticent.data.template import skeleton, skeleton_words
from tests.support.fuzz_bytes import spoiled
from tests.support.workbooks import rows_in

XY = Schema({"x": real(), "y": category(["a"])}, Person("add_remove"))


def cells(folder: Path, content: str | bytes, form: Format | None = None) -> list[tuple[object, ...]]:
    path = folder / "t.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return rows_in(open_source(path, Schema(XY.columns, XY.person, form or Format())), "x", "y")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("7", "7"),
        ("7.0", "7"),
        ("-0", "0"),
        ("1.25", "1.25"),
        ("1e400", "inf"),
        ("1e17", "1" + "0" * 17),
        ("9007199254740993.0", "9007199254740993"),
        ("1.0e+23", "1" + "0" * 23),
        ("-1e23", "-1" + "0" * 23),
        ("123456789012345678901.5", "1.2345678901234568e+20"),
        ("0e999999999", "0"),
        ("-Infinity", "-inf"),
        ("NaN", None),
        ("9" * 5000, "9" * 5000),
        ('"word"', "word"),
        ('""', None),
        ("true", "true"),
        ("null", None),
        ("[1]", None),
        ('{"x": 1}', None),
        ('"\\ud800"', None),
        ('"\\u00e9"', "é"),
        ("[" * 500_000, None),
        ("1 2", None),
    ],
)
def test_a_field_is_the_cell_that_csv_would_have(cell: str, text: str | None, tmp_path: Path) -> None:
    found = cells(tmp_path, f'{{"y": "a", "x": 1}}\n{{"x": {cell}, "other": {{}}}}\n{{"x": 3}}\n')
    assert found == [("1", "a"), (text, None), ("3", None)]


def test_numbers_are_read_as_they_are_whatever_the_notation_of_texts(tmp_path: Path) -> None:
    form = Format(decimal=",", thousands=".")
    assert cells(tmp_path, '{"x": 1.234, "y": "1.234"}', form) == [("1,234", "1.234")]


def test_blank_lines_are_no_rows_and_lines_without_an_object_are(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"x": 1}\r\n\n  \n[1]\nnull\n"x"\n{"x": 2\n\xff\n{"x": 3}'
    assert [x for x, _ in cells(tmp_path, content)] == ["1", None, None, None, None, None, "3"]
    (counted,) = open_table(tmp_path / "t.jsonl", XY).run([Rows()], bytes(32))
    assert counted.vectors == ((7,),)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [20, 21, 22, 23, 24, 41])
def test_a_line_that_is_too_long_is_a_row_of_missing_cells(
    end: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "LONGEST_LINE", 22)
    line = f'{{"x": "{"9" * (size - 9)}"}}'
    found = cells(tmp_path, f'{{"x": 1}}{end}{line}{end}{{"x": 3}}{end}')
    assert len(found) == 3
    assert (found[0][0], found[2][0]) == ("1", "3")
    assert found[1][0] in ("9" * (size - 9), None)
    assert (found[1][0] is None) is (size >= 22) or size == 22


@pytest.mark.parametrize("name", ["t.jsonl.gz", "t.ndjson", "t.NDJSON.gz"])
def test_a_compressed_file_is_read_as_its_text_is(name: str, tmp_path: Path) -> None:
    content = b'{"x": 1}\n' * 70_000
    packed = gzip.compress(content) if name.endswith(".gz") else content
    (tmp_path / name).write_bytes(packed)
    assert rows_in(open_source(tmp_path / name, XY), "x") == [("1",)] * 70_000
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(packed[:-9])
        with pytest.raises(EngineFailure):
            open_table(tmp_path / name, XY).run([Rows()], bytes(32))


def test_no_name_is_taken_from_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"Jane Doe": 3}\n')
    assert names_of(path) == {}
    text = skeleton(path)
    assert "Jane" not in text + skeleton_words(names_of(path), "t.toml", kind="json lines")
    assert "JSON lines have no header" in text


@pytest.mark.wide
def test_spoiled_bytes_give_rows(tmp_path: Path) -> None:
    """2,000 spoiled files: rows, never an error."""
    whole = b"".join(b'{"x": %d.5, "y": "a\\u00e9", "z": [1, {"b": null}]}\n' % n for n in range(20))
    chance = random.Random(5)
    for _ in range(2000):
        assert len(cells(tmp_path, spoiled(whole, chance))) >= 0
