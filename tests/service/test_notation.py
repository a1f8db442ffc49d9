"""Files of rows come back in the notation of the study's own file; files of answers have one form for all studies."""

from __future__ import annotations

import csv
import datetime
import pickle
from pathlib import Path

import pytest

import reticent as rt
from tests.support.cli_kit import run

STUDY = """
[study]
title = "Praxis"
source = "praxis.csv"
ledger = "praxis.ledger"
delimiter = ";"
encoding = "cp1252"
decimal = ","
na = ["k. A."]

[person]
rows = "one_each"
adjacency = "substitute"

[budget]
epsilon = "10"

[columns."Größe"]
kind = "real"
low = 100
high = 220

[columns.Aufnahme]
kind = "date"
low = 2024-01-01
high = 2024-12-31
format = "dd.mm.yyyy"
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    first = datetime.date(2024, 1, 1)
    days = [first + datetime.timedelta(days=k % 366) for k in range(2_000)]
    lines = [f"{150 + k % 50},{k % 10};{day:%d.%m.%Y}" for k, day in enumerate(days)]
    (tmp_path / "praxis.csv").write_bytes("\r\n".join(["Größe;Aufnahme", *lines, ""]).encode("cp1252"))
    (tmp_path / "praxis.toml").write_text(STUDY, "utf-8")
    return tmp_path / "praxis.toml"


def rows_of(path: Path) -> list[list[str]]:
    """Rows of a file, by the program that reads the study's own."""
    with open(path, encoding="cp1252", newline="") as stream:
        return list(csv.reader(stream, delimiter=";"))


def check_like_the_source(made: Path) -> None:
    head, *rows = rows_of(made)
    assert head == rows_of(Path("praxis.csv"))[0] == ["Größe", "Aufnahme"]
    for size, day in rows:
        assert 100 <= float(size.replace(",", ".")) <= 220
        assert "." not in size
        assert datetime.datetime.strptime(day, "%d.%m.%Y").year == 2024
    assert any("," in size for size, _ in rows)


@pytest.mark.wide
def test_made_up_rows_come_back_as_the_source_is_written(study: Path) -> None:
    made = rt.open(study).synthesize(["Größe", "Aufnahme"], epsilon=2, rows=50)
    check_like_the_source(made.to_csv("made_up.csv"))
    done = run("synth", study.name, "--columns", "Größe,Aufnahme", "--epsilon", "2", "--rows", "50")
    assert done.code == 0, done.said
    check_like_the_source(Path("synthetic.csv"))


@pytest.mark.wide
def test_the_same_study_file_reads_the_made_up_rows(study: Path) -> None:
    release = rt.open(study).release(["density(Größe)"], epsilon=2)
    pickle.loads(pickle.dumps(release)).synthetic(rows=2_000).to_csv("made_up.csv")
    Path("again.toml").write_text(study.read_text("utf-8").split("[columns.Auf")[0].replace("praxis.", "made_up."))
    mean = rt.open("again.toml").release(["mean(Größe)"], epsilon=5)["mean(Größe)"]
    assert mean.incomplete is not None
    assert isinstance(mean.incomplete.outcome, rt.Reply)
    assert mean.incomplete.outcome.value.value < 0.1  # every cell is a number there
    assert 120 < mean.value < 220


def test_a_certificate_alone_gives_rows_of_plain_csv(study: Path) -> None:
    made = rt.open(study).release(["density(Größe)"], epsilon=2).save("made.json")[0]
    text = rt.read_release(made).synthetic(rows=20).to_csv("rows.csv").read_text("utf-8")
    assert text.splitlines()[0] == "Größe"
    assert ";" not in text
    assert "," not in text


def test_a_file_of_answers_has_one_form_whatever_the_study_says(study: Path) -> None:
    release = rt.open(study).release(["mean(Größe)"], epsilon=2)
    here, there = release.save("here.csv")[0], Path("there.csv")
    rt.read_release(release.save("made.json")[0]).save(there)
    assert here.read_bytes() == there.read_bytes()
    ((mean,),) = [list(csv.DictReader(here.read_text("utf-8").splitlines()))]
    assert 100 < float(mean["value"]) < 220
