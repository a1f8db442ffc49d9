"""Kinds of files, told by the ending of the name."""

from __future__ import annotations

from pathlib import Path

import pytest

from reticent.data.file_kinds import kind_of
from reticent.errors import SpecError


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.csv", "csv"),
        ("a", "csv"),
        ("a.txt.gz", "csv"),
        ("A.XLSX", "workbook"),
        ("a.xlsm", "workbook"),
        ("a.jsonl.zst", "json lines"),
        ("a-*.parquet", "parquet"),
    ],
)
def test_the_ending_tells(name: str, kind: str) -> None:
    assert kind_of(Path(name)) == kind


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.xls", "a.xls is of a kind that is not read. Save it as .xlsx. Nothing was read."),
        ("a.json", "Write one object a line, and call it .jsonl."),
        ("a.parquet.gz", "Unpack it."),
    ],
)
def test_other_tables_are_refused_with_what_to_do(name: str, said: str) -> None:
    with pytest.raises(SpecError) as why:
        kind_of(Path(name))
    assert said in str(why.value)
