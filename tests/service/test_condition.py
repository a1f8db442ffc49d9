"""A study of which every release would be refused fails ``doctor``, and ``check`` in the same words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.cli_kit import run
from tests.support.workbooks import workbook

Write: TypeAlias = Callable[[Path], object]

STUDY: Final = """
[study]
source = "{}"
ledger = "t.ledger"
[person]
{}
adjacency = "add_remove"
[budget]
epsilon = "2"
[columns.rate]
kind = "integer"
low = 0
high = 100
"""
ONE_EACH: Final = 'rows = "one_each"'


def text(line: str) -> Write:
    return lambda path: path.write_text(f"{line}\n1,2,3\n", "utf-8")


def cells(*names: str) -> Write:
    row = "".join(f'<c t="str"><v>{name}</v></c>' for name in names)
    return lambda path: workbook(path, f"<row>{row}</row>")


def twice(path: Path) -> None:
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["rate", "rate"]), path)


def lists(path: Path) -> None:
    pq.write_table(pa.table({"rate": [[1], [2, 3]]}), path)


SPOILT: Final[dict[str, tuple[str, Write, str, str]]] = {
    "twice": ("t.csv", text("id,rate,rate"), ONE_EACH, "names rate twice"),
    "twice in a workbook": ("t.xlsx", cells("id", "rate", "rate"), ONE_EACH, "names rate twice"),
    "twice in parquet": ("t.parquet", twice, ONE_EACH, "names rate twice"),
    "a list": ("t.parquet", lists, ONE_EACH, "has several values"),
    "the person twice": ("t.csv", text("id,rate,id"), 'column = "id"\nrows = { at_most = 2 }', "names id twice"),
    "a capital": ("t.csv", text("id,Rate"), ONE_EACH, "rate"),
    "a blank": ("t.csv", text("id,rate "), ONE_EACH, "rate"),
    "a mark before a quote": ("t.csv", text('\ufeff"rate'), ONE_EACH, "leaves a quote open"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_what_a_release_refuses_of_a_header_is_refused_by_check_and_fails_doctor(case: str, tmp_path: Path) -> None:
    name, write, person, words = SPOILT[case]
    write(tmp_path / name)
    study = tmp_path / "t.toml"
    study.write_text(STUDY.format(name, person), "utf-8")
    doctor, check = run("doctor", str(study)), run("check", str(study))
    release = run("release", str(study), "--ask", "mean(rate)", "--epsilon", "1", "--out", str(tmp_path / "out"))
    assert (doctor.code, check.code, release.code) == (6, 5, 5)
    for told in (doctor, check, release):
        assert words in " ".join(told.said.split())
    assert not (tmp_path / "t.ledger").exists()


@pytest.mark.parametrize("header", ["id,rate", "\ufeffrate,id", "x,rate,x", ",rate,", '"rate","id"'])
def test_a_header_that_a_release_reads_passes(header: str, tmp_path: Path) -> None:
    text(header)(tmp_path / "t.csv")
    (tmp_path / "t.toml").write_text(STUDY.format("t.csv", ONE_EACH), "utf-8")
    for verb in ("doctor", "check"):
        assert run(verb, str(tmp_path / "t.toml")).code == 0


def test_limits_that_the_engine_refuses_fail_doctor(tmp_path: Path) -> None:
    text("id,rate")(tmp_path / "t.csv")
    (tmp_path / "t.toml").write_text(f'{STUDY.format("t.csv", ONE_EACH)}[engine]\ntemp = "nowhere"\n', "utf-8")
    done = run("doctor", str(tmp_path / "t.toml"), "--json")
    assert (done.code, done.document["findings"][-2]["about"]) == (6, "engine")
    released = run("release", str(tmp_path / "t.toml"), "--ask", "mean(rate)", "--epsilon", "1")
    assert (released.code, done.document["findings"][-2]["words"] in " ".join(released.err.split())) == (5, True)
