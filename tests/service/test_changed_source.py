"""A source that changed since its last release: each verb that reads rows refuses until the people are said to stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent.errors import LedgerError, Refusal
from reticent.learning import LinearRegression
from reticent.study.study import Study
from tests.support.cli_kit import run

FILE = """
[study]
title = "made up"
source = "people.csv"
ledger = "people.ledger"
[person]
adjacency = "add_remove"
rows = "one_each"
[budget]
epsilon = "9"
[columns]
x = { kind = "integer", low = 0, high = 9 }
y = { kind = "integer", low = 0, high = 9 }
"""


def _fit(study: Study) -> object:
    return LinearRegression(epsilon=1).fit(*study.xy(["x"], "y"))


def _session(study: Study) -> object:
    return study.sparse_vector(["x"], epsilon=1, positives=1)


VERBS: dict[str, Callable[[Study], object]] = {
    "release": lambda study: study.release(["count"], epsilon=1),
    "sql": lambda study: study.sql("SELECT COUNT(*) FROM study", epsilon=1),
    "synthesize": lambda study: study.synthesize(["x"], epsilon=1),
    "fit": _fit,
    "session": _session,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study in the current folder that released once, and whose file grew by a row since."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("x,y\n" + "1,2\n3,4\n" * 200, "utf-8")
    Path("people.toml").write_text(FILE, "utf-8")
    rt.open("people.toml").release(["count"], epsilon=1)
    with Path("people.csv").open("a", encoding="utf-8") as file:
        file.write("5,6\n")
    return tmp_path


def from_file() -> Study:
    return rt.open("people.toml")


def by_call() -> Study:
    columns = {"x": rt.integer(0, 9), "y": rt.integer(0, 9)}
    return rt.study("people.csv", columns=columns, adjacency="add_remove", budget=9, ledger="people.ledger")


@pytest.mark.parametrize("opened", [from_file, by_call])
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_refuses_changed_rows_until_the_people_are_the_same(
    verb: str, opened: Callable[[], Study], folder: Path
) -> None:
    before = opened().ledger.spent()
    with pytest.raises(LedgerError, match=r"has changed since r-0001.*study\.same_people\(\).*Nothing was charged"):
        VERBS[verb](opened())
    assert opened().ledger.spent() == before
    VERBS[verb](opened().same_people())
    assert opened().ledger.spent() != before


def test_a_fit_of_a_file_that_is_gone_is_not_charged(folder: Path) -> None:
    study = from_file().same_people()
    columns, before = study.xy(["x"], "y"), study.ledger.spent()
    Path("people.csv").unlink()
    with pytest.raises(Refusal, match=r"people\.csv"):
        LinearRegression(epsilon=1).fit(*columns)
    assert study.ledger.spent() == before


def test_what_reads_no_row_does_not_ask(folder: Path) -> None:
    study = from_file()
    study.plan(["mean(x)"], epsilon=1)
    study.rehearse(["mean(x)"], epsilon=1)
    assert study.where("x > 2").same_people().release(["count"], epsilon=1).receipt == "r-0002"


@pytest.mark.wide
def test_sql_at_the_command_line_takes_the_word_too(folder: Path) -> None:
    typed = ("sql", "people.toml", "SELECT COUNT(*) FROM study", "--epsilon", "1", "--yes")
    refused = run(*typed)
    assert refused.code == 5
    assert "--same-people" in refused.said
    assert run(*typed, "--same-people").code == 0


@pytest.mark.parametrize("pattern", ["visits/*.parquet", "visits/**/*.parquet"])
def test_a_file_that_a_folder_lost_since_asks_for_the_same_people_once(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits").mkdir()
    for name in "abc":
        pq.write_table(pa.table({"x": [1] * 200, "y": [2] * 200}), f"visits/{name}.parquet")
    Path("people.toml").write_text(FILE.replace("people.csv", pattern), "utf-8")
    from_file().release(["count"], epsilon=1)
    from_file().release(["count"], epsilon=1)
    Path("visits/b.parquet").rename(tmp_path / "b")
    for verb in (_session, _fit, VERBS["release"]):
        with pytest.raises(LedgerError, match=r"has changed since r-0002.*Nothing was charged"):
            verb(from_file())
    from_file().same_people().release(["count"], epsilon=1)
    from_file().release(["count"], epsilon=1)
    (tmp_path / "b").rename("visits/b.parquet")
    with pytest.raises(LedgerError, match=r"has changed since r-0004"):
        from_file().release(["count"], epsilon=1)


def test_another_pattern_of_some_of_the_files_is_no_folder_that_lost_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a1", "a2", "b1"):
        pq.write_table(pa.table({"x": [1] * 200, "y": [2] * 200}), f"{name}.parquet")
    for pattern in ("*.parquet", "a*.parquet", "*.parquet"):
        Path("people.toml").write_text(FILE.replace("people.csv", pattern), "utf-8")
        from_file().release(["count"], epsilon=1)
    Path("a1.parquet").unlink()
    for pattern in ("*.parquet", "a*.parquet"):
        Path("people.toml").write_text(FILE.replace("people.csv", pattern), "utf-8")
        with pytest.raises(LedgerError, match="has changed since"):
            from_file().release(["count"], epsilon=1)


@pytest.mark.parametrize("opened", [from_file, by_call])
@pytest.mark.parametrize("verb", ["release", "fit", "session"])
def test_rows_of_another_ledger_are_refused_whoever_has_them(
    verb: str, opened: Callable[[], Study], folder: Path
) -> None:
    study = opened()
    Path("others.csv").write_text("x,y\n" + "7,8\n" * 300, "utf-8")
    columns = {"x": rt.integer(0, 9), "y": rt.integer(0, 9)}
    others = rt.study("others.csv", columns=columns, adjacency="add_remove", budget=1, ledger="others.ledger")
    others.release(["count"], epsilon=1)
    left = study.left()
    Path("others.csv").replace("people.csv")  # under the name of an open study
    with pytest.raises(LedgerError, match=r"already under others\.ledger"):
        VERBS[verb](study.same_people())
    Path("people.csv").rename("others.csv")
    Path("people.csv").write_text("x,y\n" + "1,2\n3,4\n" * 200, "utf-8")
    assert opened().left() == left
