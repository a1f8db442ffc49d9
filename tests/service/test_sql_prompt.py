"""The prompt of ``reticent sql STUDY``: statements typed or piped, each agreed to before its charge."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pexpect
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

import reticent as rt
from reticent.cli.sql_prompt import completer, history_place, lines, statements
from tests.support.cli_kit import CANARIES, clinic, run

BY_TOWN = "SELECT town,\n  COUNT(*) AS n\nFROM clinic GROUP BY town;\n"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return clinic(tmp_path)


def typed(*given: str | type[BaseException]) -> list[str]:
    """The statements of lines at a terminal; an exception stands for Ctrl-C or Ctrl-D."""
    rest: Iterator[str | type[BaseException]] = iter((*given, EOFError))

    def line(_: str) -> str:
        found = next(rest)
        if isinstance(found, str):
            return found
        raise found

    return list(statements(line, at_terminal=True))


def test_a_script_is_read_statement_by_statement_and_each_pays_for_itself(study: Path) -> None:
    script = f".left\n.plan SELECT AVG(age) FROM clinic;\n{BY_TOWN}.epsilon 0.2\nselect count(*) from study"
    done = run("sql", str(study), "--epsilon", "0.1", typed_in=script)
    assert done.code == 0, done.err
    assert "(ε 3, δ 1e-8) is left" in done.out
    assert "mean(age)" in done.out
    assert done.out.index("mean(age)") < done.out.index("count by town") < done.out.index("epsilon 0.2")
    assert rt.open(study).ledger.spent() == rt.PureDP(Fraction(3, 10))
    for receipt in ("r-0001", "r-0002"):
        assert run("verify", str(study.parent / f"{receipt}.json"), "--allow-unsigned").code == 0


def test_a_script_ends_at_the_first_statement_that_fails(study: Path) -> None:
    done = run("sql", str(study), "--epsilon", "0.1", typed_in=f"SELECT MAX(age) FROM clinic;\n{BY_TOWN}")
    assert done.code == 5
    assert "PERCENTILE_CONT(0.99)" in done.err
    assert not (study.parent / "clinic.ledger").exists()
    assert run("sql", str(study), typed_in=".drop\n").code == 5
    assert run("sql", str(study), typed_in="").code == 0
    assert run("sql", str(study), "--epsilon", "9", typed_in=BY_TOWN).code == 4


def test_a_plan_of_every_statement_spends_nothing(study: Path) -> None:
    done = run("sql", str(study), "--plan", "--epsilon", "1", typed_in=BY_TOWN)
    assert done.code == 0
    assert "count by town" in done.out
    assert not (study.parent / "clinic.ledger").exists()


def test_a_plan_assumes_the_people_rows_and_share_that_are_said(study: Path) -> None:
    every = "SELECT AVG(age) FROM clinic"
    asked = f"{every} WHERE town = 'a'"

    def planned(*more: str, asked: str = asked) -> float:
        (line, *_) = run("sql", str(study), asked, "--plan", "--epsilon", "1", "--json", *more).document["statistics"]
        return float(line["noise"])

    assert planned("--people", "400") > planned() > planned("--people", "40000")
    assert planned(asked=every) > planned("--rows", "3", asked=every)
    assert planned("--passing", "0.1") > planned()
    within = run("sql", str(study), "--epsilon", "1", "--people", "400", "--json", typed_in=f".plan {asked};").document
    assert within["people"] == 400


def test_each_statement_and_word_is_one_object_of_json(study: Path) -> None:
    done = run("sql", str(study), "--json", "--epsilon", "0.5", typed_in=f".tables\n.columns\n.left\n.help\n{BY_TOWN}")
    documents = [json.loads(line) for line in done.out.splitlines()]
    assert [document["verb"] for document in documents] == ["sql"] * 5
    assert documents[0]["tables"] == ["study", "clinic"]
    assert documents[1]["columns"] == {"age": "integer 0 to 100", "cost": "real", "town": "category of 2"}
    assert documents[4]["columns"]["town"] == ["a", "b"]


def test_files_are_named_by_their_receipt_in_a_folder(study: Path) -> None:
    assert run("sql", str(study), "--out", "found", "--epsilon", "0.1", typed_in=BY_TOWN).code == 0
    assert (study.parent / "found" / "r-0001.csv").exists()
    (study.parent / "answers").write_text("a file")
    assert "names a folder" in run("sql", str(study), "--out", "answers", "--epsilon", "0.1", typed_in=BY_TOWN).err


def test_a_statement_ends_with_a_semicolon_or_an_empty_line() -> None:
    assert typed("select 1", "  from x;", "", "select 2", "", ".left", ".quit", "select 3;") == [
        "select 1\n  from x;",
        "select 2",
        ".left",
    ]
    assert typed(".plan select 1", "from x;") == [".plan select 1\nfrom x;"]


def test_control_c_drops_what_was_typed_and_control_d_leaves() -> None:
    assert typed("select 1", KeyboardInterrupt, KeyboardInterrupt, "select 2;", EOFError, "select 3;") == ["select 2;"]
    assert typed("select 1", EOFError) == []


def test_tables_columns_and_words_are_completed(study: Path) -> None:
    found = completer(rt.open(study))

    def completed(text: str) -> set[str]:
        return {one.text for one in found.get_completions(Document(text), CompleteEvent())}

    assert completed("SELECT AVG(a") >= {"age", "AND"}
    assert completed("SELECT 1 FROM CLI") == {"clinic"}
    assert completed("SELECT AVG(c.ag") == {"age"}
    assert completed(".col") == {".columns"}
    assert completed("diag") == set()  # no column that was not declared


def test_history_is_for_its_owner_alone(study: Path) -> None:
    place = history_place()
    assert place is not None
    assert place.is_relative_to(study.parent / "state")
    assert place.stat().st_mode & 0o077 == 0


def test_without_the_library_lines_are_read_as_they_are(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    assert lines(rt.open(study)).__name__ == "_plain"


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("library", [False, True])
def test_at_a_terminal_the_price_is_shown_and_agreed_to(study: Path, library: bool) -> None:
    """A whole conversation: no, Ctrl-C, yes, Ctrl-D; with prompt_toolkit, and with plain lines."""
    hidden = "" if library else "import sys; sys.modules['prompt_toolkit'] = None; "
    program = f"{hidden}from reticent.cli import main; main()"
    shell = pexpect.spawn(
        sys.executable,
        ["-c", program, "sql", str(study), "--epsilon", "0.5"],
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "PROMPT_TOOLKIT_NO_CPR": "1"},
        encoding="utf-8",
        timeout=60,
    )
    statement = "SELECT AVG(age) FROM clinic;\r"
    shell.expect("is left")
    shell.expect("sql>")
    shell.send(statement)
    shell.expect("mean\\(age\\)")
    shell.expect("y/N")
    shell.send("n\r")
    shell.expect("Stopped. Nothing was charged.")
    shell.expect("sql>")
    shell.send("SELECT garbage")
    shell.sendintr()
    shell.expect("sql>")
    shell.send("SELECT nothing;\r")
    shell.expect("names no table")
    shell.expect("sql>")
    shell.send(statement)
    shell.expect("y/N")
    shell.send("y\r")
    shell.expect("r-0001")
    shell.expect("ε 2.5, δ 1e-8\\) of")
    shell.expect("sql>")
    shell.sendeof()
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 0
    assert rt.open(study).ledger.spent() == rt.PureDP(Fraction(1, 2))
    assert not [canary for canary in CANARIES if canary in str(shell.before)]
