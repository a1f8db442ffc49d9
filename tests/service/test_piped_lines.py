"""Lines of output that goes to a file, a pager or a log: prose of at most 100 columns, tables and data whole."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from reticent.cli.layout import columns
from reticent.cli.output import PIPED, write
from reticent.cli.table import COPIED
from tests.support.cli_kit import Run, clinic, run
from tests.support.cli_reference import VERBS

ROW = re.compile(r"(\S.*?\s{2,}){3,}\S")  # of a table with heads: four columns or more
LATER = {"demo": "made of other verbs", "survey collect": "serves until it is stopped"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a release, and a survey with a design."""
    made = tmp_path_factory.mktemp("a folder whose name is long enough to be broken where prose is broken into lines")
    clinic(made, 60)
    return made


def commands(folder: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Every verb, answered or refused, in an order in which each has what it needs."""
    study, ledger, survey = (str(folder / name) for name in ("clinic.toml", "clinic.ledger", "a.survey.toml"))
    certificate, answers, form = (str(folder / name) for name in ("t.json", "answers.csv", "form.html"))
    every = "--ask", "mean(age) by town", "--ask", "quantile(cost, 0.9)", "--epsilon", "1", "--delta", "1e-9"
    return [
        ("init", (str(folder / "clinic.csv"), "--out", str(folder / "new.toml"))),
        ("check", (study,)),
        ("plan", (study, *every, "--people", "5000")),
        ("rehearse", (study, "--release", "table 4")),
        ("release", (study, "--release", "table 4", "--yes", "--out", str(folder / "t"))),
        ("release", (study, "--ask", "mean(nothing)", "--epsilon", "0.1", "--yes")),
        ("sql", (study, "SELECT town, AVG(age) FROM study GROUP BY town", "--epsilon", "0.1", "--yes")),
        ("synth", (study, "--columns", "age", "--epsilon", "0.5", "--yes", "--out", str(folder / "m.csv"))),
        ("compare", (certificate, certificate)),
        ("ledger show", (ledger,)),
        ("ledger verify", (ledger,)),
        ("ledger export", (ledger,)),
        ("ledger amend", (ledger,)),
        ("ledger adopt", (ledger,)),
        ("explain", (certificate,)),
        ("explain", ("no-reply",)),
        ("verify", (certificate, "--ledger", ledger, "--allow-unsigned")),
        ("audit", (study, "--release", "tail", "--triples", "3")),
        ("withdraw", (certificate, "--reason", "a wrong column")),
        ("ledger close", (ledger,)),
        ("migrate", (study,)),
        ("registry", (str(folder),)),
        ("doctor", (study,)),
        ("survey design", ("Did you ever?", "--out", survey)),
        ("survey check", (survey,)),
        ("survey form", (survey, "--out", form)),
        ("survey cards", (survey,)),
        ("survey simulate", (survey,)),
        ("survey estimate", (answers, "--design", survey)),
    ]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def long_lines(done: Run) -> list[str]:
    """Lines of prose that are too long: none is a row of a table, or one word."""
    found = []
    for line in (done.out + done.err).splitlines():
        told = COPIED.sub("", line)  # a command with its file is one word
        if len(told) > PIPED and not ROW.search(line) and len(told.split()) > 1:
            found.append(line)
    return found


@pytest.mark.wide
def test_no_verb_prints_a_line_of_prose_above_a_hundred_columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # some verbs write beside where they run
    listed = commands(folder)
    assert {verb for verb, _ in listed} | {*LATER} == {*VERBS}
    for verb, typed in listed:
        done = run(*verb.split(), *typed)
        assert done.out + done.err, verb
        assert is_json(done.out) or long_lines(done) == [], verb


def test_a_long_word_stays_whole_and_a_table_keeps_its_rows(folder: Path) -> None:
    """What a program reads: the path of a file, the rows of a table, one object of JSON."""
    missing = f"{'x' * 120}.toml"
    assert missing in run("check", missing).err
    out = io.StringIO()
    write([columns(["what", "told"], [["a", "b " * 99]], right=[], wrap=[1])], out)
    assert len(out.getvalue().splitlines()) == 2
    assert len(run("plan", *commands(folder)[2][1], "--json").out.splitlines()) == 1


def test_a_piped_command_can_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that broke inside of quotes named a file with a line end in it."""
    place = tmp_path / "My Project Data for the Third Wave" / "Survey of households in the north"
    place.mkdir(parents=True)
    (place / "v.csv").write_text("a,b\n1,2\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    said = run("init", str(place / "v.csv")).said
    assert f"reticent check '{place / 'v.toml'}'" in said.splitlines()[-1]
    signed = run("init", "--key", str(place / "the officer")).said
    assert f"reticent release STUDY --key '{place / 'the officer.key'}'" in signed


def test_a_row_of_a_plan_is_no_longer_than_its_prose_and_its_names_are_whole(folder: Path) -> None:
    """With the letter of its note a row had 102 columns and more."""
    asked = "iqr(cost)", "median(cost) by town", "quantiles(cost, 0.25 0.5 0.75)", "mean(age)"
    questions = [part for one in asked for part in ("--ask", one)]
    done = run("plan", str(folder / "clinic.toml"), *questions, "--epsilon", "2")
    rows = [line for line in done.out.splitlines() if line.startswith(asked)]
    assert len(rows) >= len(asked)
    assert max(map(len, rows)) <= PIPED
    assert all(any(row.startswith(f"{one} ") for row in rows) for one in asked)
