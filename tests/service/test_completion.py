"""Names that a shell completes: study files, releases, columns and receipts, without a look at rows."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from reticent.cli.app import app
from reticent.cli.parser import ListedVerb
from tests.support.cli_kit import CANARIES, clinic, run


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    clinic(tmp_path)
    return Path("clinic.toml")


def completed(*typed: str) -> list[str]:
    """What a shell is offered for the last word; the signs <> for its own completion of files."""
    found = ShellComplete(app, {}, "reticent", "_RETICENT_COMPLETE").get_completions(list(typed[:-1]), typed[-1])
    return ["<>" if item.type == "file" else str(item.value) for item in found]


def test_names_of_a_study_file_are_completed(study: Path) -> None:
    file = str(study)
    for verb in ("check", "plan", "rehearse", "release", "sql", "synth", "audit", "doctor"):
        assert completed(verb, "") == [file]
    assert completed("plan", "cli") == [file]
    assert completed("plan", "x") == ["<>"]
    for verb in ("plan", "rehearse", "release", "audit"):
        assert completed(verb, file, "--release", "") == ["table 4", "tail"]
        assert completed(verb, file, "--release", "tab") == ["table 4"]
        assert completed(verb, file, "--ask", "mean(a") == ["mean(age"]
    assert completed("plan", file, "--columns", "age,") == ["age,age", "age,cost", "age,town"]
    assert completed("synth", file, "--columns", "c") == ["cost"]


def test_receipts_that_can_be_withdrawn_are_completed(study: Path) -> None:
    for _ in range(2):
        assert run("release", str(study), "--ask", "count", "--epsilon", "0.1", "--yes").code == 0
    assert completed("withdraw", str(study), "r-") == ["r-0001", "r-0002"]
    assert run("withdraw", str(study), "r-0001", "--reason", "wrong", "--yes").code == 0
    assert completed("withdraw", str(study), "r-") == ["r-0002"]
    assert completed("withdraw", str(study), "x") == ["<>"]


def test_what_cannot_be_read_completes_nothing(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.toml").write_text("[study\n")
    for place in ("bad.toml", "none.toml", "clinic.csv", str(Path("x" * 5000))):
        assert completed("plan", place, "--release", "") == []
        assert completed("plan", place, "--ask", "mean(") == []
        assert completed("withdraw", place, "r") == ["<>"]


def test_completing_reads_no_row_and_writes_nothing(study: Path) -> None:
    before = {name: os.stat(name).st_mtime_ns for name in os.listdir()}
    os.unlink("clinic.csv")
    del before["clinic.csv"]
    offered = [completed("release", str(study), option, "") for option in ("--release", "--ask")]
    assert not any(canary in text for texts in offered for text in texts for canary in CANARIES)
    assert offered[1] == ["age", "cost", "town"]
    assert {name: os.stat(name).st_mtime_ns for name in os.listdir()} == before


def test_every_parameter_that_is_a_study_or_its_release_is_completed() -> None:
    context = click.Context(app)
    for name in app.list_commands(context):
        verb = app.get_command(context, name)
        whole = verb.command() if isinstance(verb, ListedVerb) else verb
        assert whole is not None
        named = {one.human_readable_name: one for one in whole.params}
        for wanted in {"STUDY", "study", "named"} & set(named):
            assert named[wanted]._custom_shell_complete is not None, (name, wanted)
