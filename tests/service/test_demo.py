"""The demonstration: eight answers and more, one no reply that is near certain, the truth beside them, all checked."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from reticent.certificate.certificate import read_certificate
from reticent.cli import demonstrate
from reticent.demo import prepare
from reticent.ledger import Ledger
from reticent.outcome import Reply
from reticent.study.memory import open as open_study
from tests.support.cli_kit import Run, run

FAR = "quantile(meddol, 0.999)"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path, float]:
    """One demonstration: what it said, its folder, and how long it took."""
    folder = tmp_path_factory.mktemp("demo") / "here"
    began = time.monotonic()
    done = run("demo", "--out", str(folder))
    return done, folder, time.monotonic() - began


@pytest.mark.wide
def test_it_ends_well_and_soon(shown: tuple[Run, Path, float]) -> None:
    done, folder, seconds = shown
    assert done.code == 0, done.said
    assert seconds < 20
    for name in ("table4.html", "table4.json", "table4.csv", "table4.svg", "rand.toml", "rand.ledger"):
        assert (folder / name).stat().st_size > 0


def test_it_shows_the_truth_odds_ledger_check_and_next_steps(shown: tuple[Run, Path, float]) -> None:
    said = shown[0].said
    for piece in (
        "this once you see the truth beside the answer",
        "One release with ε 2, of the ε 3",
        "It protects each person with all their rows, at most 5",
        "lets them change the odds by a factor of at most 7.39",
        "charged before a row was read",
        "throw-away key made for this run",
        "signature ok (Ed25519, throwaway.pub)",
        "losses re-derived: ε 2 equal",
    ):
        assert piece in said
    assert "FAILED" not in said
    assert [line.split()[:2] for line in shown[0].out.splitlines()[-3:]] == [
        ["reticent", "init"],
        ["reticent", "plan"],
        ["reticent", "release"],
    ]
    assert len(demonstrate.OWN) == 3


@pytest.mark.wide
def test_it_answers_all_but_one(shown: tuple[Run, Path, float]) -> None:
    answers = read_certificate(shown[1] / "table4.json").answers
    replied = [answer.name for answer in answers if all(isinstance(cell.outcome, Reply) for cell in answer)]
    assert len(replied) >= 8
    assert any(" by " in name for name in replied)
    assert [answer.name for answer in answers if answer.name not in replied] == [FAR]


@pytest.mark.wide
def test_the_no_reply_is_known_from_public_facts() -> None:
    study = open_study(Path(demonstrate.__file__).parents[1] / "demo" / "rand.toml")
    release = study.named()
    for people in (2_000, 5_912, 20_000):
        plan = study.plan(list(release.ask), epsilon=release.epsilon, people=people)
        notes = {line.name: line.expected.note for line in plan.lines}
        assert notes[FAR].startswith("no reply")


@pytest.mark.wide
def test_the_truth_is_that_of_the_file(tmp_path: Path) -> None:
    told = run("demo", "--out", str(tmp_path / "t"), "--json").document
    truth = {answer["name"]: [cell["truth"] for cell in answer["cells"]] for answer in told["answers"]}
    assert truth["count"] == [20190]
    assert truth["persons"] == [5912]
    assert truth["mean(mdvis)"] == [pytest.approx(2.8605, abs=1e-3)]
    assert sum(truth["histogram(mdvis, edges=0:50:10)"]) == 20190
    assert len(truth["mean(mdvis) by site"]) == 6
    assert None not in [number for numbers in truth.values() for number in numbers]
    inside = [
        cell["low"] <= cell["truth"] <= cell["high"]
        for answer in told["answers"]
        for cell in answer["cells"]
        if cell["outcome"] == "reply"
    ]
    assert sum(inside) >= len(inside) - 7  # 18 intervals of 95 %: seven or more misses in fewer than 1 of 10^6 runs
    assert told["verified"] is True
    assert set(told["left"]) == {"epsilon", "delta"}


@pytest.mark.wide
def test_a_second_run_leaves_the_first_as_it_is(
    shown: tuple[Run, Path, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [str(prepare()) for _ in range(3)] == ["reticent-demo", "reticent-demo-2", "reticent-demo-3"]
    again = run("demo", "--out", str(shown[1]))
    assert again.code == 5
    assert "is left as it is" in again.said
    assert len(Ledger.open(shown[1] / "rand.ledger").releases()) == 1


@pytest.mark.wide
def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for out in ("file", "file/inside"):
        done = run("demo", "--out", str(tmp_path / out))
        assert (done.code, "Nothing was charged" in done.said) == (5, True), done


def test_a_folder_without_its_option_is_answered_with_the_option() -> None:
    found = run("demo", "first")
    assert found.code == 2
    assert "The new folder is named by an option: --out first." in found.err


@pytest.mark.wide
def test_the_folder_lets_one_go_on(shown: tuple[Run, Path, float]) -> None:
    study = str(shown[1] / "rand.toml")
    assert run("check", study).code == 0
    assert re.search(r"left \(ε 1, δ 1e-8\)", run("ledger", "show", study).out)
    key = str(shown[1] / "throwaway.pub")
    assert run("verify", str(shown[1] / "table4.json"), "--ledger", study, "--key", key).code == 0
