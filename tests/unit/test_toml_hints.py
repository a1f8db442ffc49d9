"""A line that is no TOML is shown with how it is written; no row of a table and no password is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import reticent as rt

STUDY = """[study]
source = "t.csv"
ledger = "t.ledger"
[person]
rows = "one_each"
adjacency = "add_remove"
[budget]
epsilon = "9"
[columns.x]
kind = "real"
low = 0
high = 2000
"""


def _said(tmp_path: Path, text: str) -> str:
    (tmp_path / "t.csv").write_text("x\n1\n", "utf-8")
    (tmp_path / "t.toml").write_text(text, "utf-8")
    with pytest.raises(rt.SpecError) as refused:
        rt.open(tmp_path / "t.toml")
    return str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"t.csv"', '"t.csv', 'The line: source = "t.csv. A quote is missing'),
        ('"t.csv"', "“t.csv”", "The line: source = “t.csv”. Texts stand in straight quotes"),
        ("= 2000", "= 2000,50", "The line: high = 2000,50. A decimal number has a point"),
        ("high = 2000", "high = 2000\n[columns.x]", "The line: [columns.x]. This table stands in the file already"),
        ("low = 0", "low = 0\nlow = 1", "The line: low = 1. This name stands in its table already"),
    ],
)
def test_a_mistake_of_toml_shows_its_line_and_what_to_write(tmp_path: Path, old: str, new: str, words: str) -> None:
    said = _said(tmp_path, STUDY.replace(old, new))
    assert words in said
    assert "A name with other signs" not in said


@pytest.mark.parametrize("line", ["ann,34,secret", 'ledger = "postgresql://me:secret@host/db'])
def test_neither_a_row_nor_a_password_is_shown(tmp_path: Path, line: str) -> None:
    assert "secret" not in _said(tmp_path, f"[study]\n{line}\n")


def test_a_study_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n", "utf-8")
    (tmp_path / "t.toml").write_text(STUDY, "utf-8-sig")
    assert rt.open(tmp_path / "t.toml").title == rt.open(tmp_path / "t.toml").title
    assert list(rt.open(tmp_path / "t.toml").schema.columns) == ["x"]


@pytest.mark.parametrize("encoding", ["latin1", "iso-8859-1"])
def test_a_header_of_another_encoding_names_windows_1252(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes("größe,x\n1,2\n".encode())
    (tmp_path / "t.toml").write_text(STUDY.replace("[person]", f'encoding = "{encoding}"\n[person]'), "utf-8")
    with pytest.raises(rt.SpecError, match='encoding = "windows-1252"'):
        rt.open(tmp_path / "t.toml").release(["count"], epsilon=1)
