"""Refused questions: a log beside the ledger, which stays short; the chain does not grow by them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import reticent as rt
from reticent.ledger import Ledger, book
from reticent.ledger.book import MOST_A_MINUTE, MOST_TEXT, RefusalLog
from tests.support.ledger_kit import charge, eps, forked, joined, ledger_at

NOON = "2026-11-23T12:00:00Z"


@pytest.fixture
def log(tmp_path: Path) -> RefusalLog:
    return RefusalLog(tmp_path / "rand.ledger")


def test_a_minute_has_a_most_and_the_next_line_says_how_many_were_left_out(log: RefusalLog) -> None:
    for number in range(MOST_A_MINUTE + 7):
        log.note(NOON, "anna", f"question {number}", "5")
    assert [line.what for line in log.lines()] == [f"question {n}" for n in range(MOST_A_MINUTE)]
    log.note("2026-11-23T12:01:00Z", "anna", "later", "5")
    assert log.lines()[-1].what == "later (7 more were left out)"


def test_processes_share_the_most_of_a_minute(log: RefusalLog) -> None:
    def child() -> None:
        for _ in range(MOST_A_MINUTE):
            RefusalLog(log.ledger).note(NOON, "anna", "x", "5")

    assert joined([forked(child) for _ in range(3)]) == [0] * 3
    assert MOST_A_MINUTE <= len(log.lines()) < MOST_A_MINUTE + 3


def test_a_full_log_is_put_aside_and_texts_are_cut(log: RefusalLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "MOST_BYTES", 5_000)
    for minute in range(49):
        log.note(f"2026-11-23T12:{minute:02d}:00Z", "anna", "ε" * 10_000, "5")
    assert log.file is not None
    assert {item.name for item in log.file.parent.iterdir()} == {"rand.ledger.refusals", "rand.ledger.refusals.1"}
    assert all(item.stat().st_size < 10_000 for item in log.file.parent.iterdir())
    assert all(stat.S_IMODE(item.stat().st_mode) == 0o600 for item in log.file.parent.iterdir())
    assert {len(line.what) for line in log.lines()} == {MOST_TEXT}


def test_a_log_that_cannot_be_written_or_read_changes_nothing(log: RefusalLog) -> None:
    assert log.file is not None
    log.file.mkdir()
    log.note(NOON, "anna", "x", "5")
    assert log.lines() == ()
    log.file.rmdir()
    log.file.write_bytes(b'\xff\n{"when": 1}\n[]\n"')
    assert log.lines() == ()
    log.note(NOON, "anna", "x", "5")


def test_a_link_in_the_place_of_the_log_is_not_followed(log: RefusalLog, tmp_path: Path) -> None:
    assert log.file is not None
    (tmp_path / "other").write_text("")
    os.symlink(tmp_path / "other", log.file)
    log.note(NOON, "anna", "x", "5")
    assert (tmp_path / "other").read_text() == ""


def test_refused_questions_make_the_ledger_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "rows.csv").write_text("x\n1\n2\n3\n")
    study = rt.study(
        tmp_path / "rows.csv",
        adjacency="add_remove",
        columns={"x": rt.integer(0, 9)},
        budget=2,
        ledger=tmp_path / "rows.ledger",
    )
    study.release(["count"], epsilon=1)
    file = tmp_path / "rows.ledger"
    before = file.read_bytes()
    for question, epsilon in (("count", 9), ("mean(y)", 1), ("nonsense(x)", 1)) * 20:
        with pytest.raises(rt.Refusal):
            study.release([question], epsilon=epsilon)
    assert file.read_bytes() == before
    assert len(Ledger.open(file).refusals()) <= 2 * MOST_A_MINUTE
    assert {line.note for line in Ledger.open(file).refusals()} == {"4", "5"}


def test_a_refusal_of_an_earlier_chain_keeps_its_number(tmp_path: Path) -> None:
    """Entries of refusals that earlier versions wrote are counted as they were."""
    from reticent.ledger.events import Refused

    ledger = ledger_at(tmp_path / "rand.ledger", eps(3))
    ledger._book.write(lambda replay, _: Refused(replay.next_id(), "x", "anna", "5"))
    assert charge(ledger) == "r-0002"
    assert [line.state for line in ledger.releases()] == ["refused", "reserved"]
    assert ledger.verify() == ()
