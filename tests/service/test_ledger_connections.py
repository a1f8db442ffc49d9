"""A release opens its ledger three times, however long it is: for its terms, for the charge and for its end."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.ledger import Ledger
from tests.support.ledger_kit import eps, forked, joined

STUDY = """
[study]
title = "clinic"
source = "rows.csv"
ledger = "rows.ledger"

[person]
adjacency = "add_remove"
rows = "one_each"

[budget]
epsilon = "5"

[columns.x]
kind = "integer"
low = 0
high = 9
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rt.Study:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "rows.csv").write_text("x\n1\n2\n3\n")
    (tmp_path / "study.toml").write_text(STUDY)
    made = rt.open(tmp_path / "study.toml")
    made.release(["count"], epsilon="0.1")
    return made


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that SQLite was asked for."""
    connect, asked = sqlite3.connect, list[str]()

    def counted(*words: Any, **named: Any) -> sqlite3.Connection:
        asked.append(str(words[0]))
        made: sqlite3.Connection = connect(*words, **named)
        return made

    monkeypatch.setattr(sqlite3, "connect", counted)
    return asked


def test_a_release_connects_three_times(study: rt.Study, opened: list[str]) -> None:
    for of in (study, study.where("x > 1"), study):
        opened.clear()
        of.release(["count"], epsilon="0.1")
        assert len(opened) == 3


def test_a_first_release_of_a_process_connects_three_times(study: rt.Study, tmp_path: Path, opened: list[str]) -> None:
    again = rt.open(tmp_path / "study.toml")
    opened.clear()
    again.release(["count"], epsilon="0.1")
    assert len(opened) == 3


def test_a_study_has_one_handle_that_copies_and_derived_studies_share(study: rt.Study) -> None:
    assert study.ledger is study.where("x > 1").ledger
    loaded = pickle.loads(pickle.dumps(study))
    assert loaded.ledger is not study.ledger
    assert loaded.ledger.spent() == study.ledger.spent()


def test_a_shared_handle_notices_an_amendment_another_ledger_and_an_older_copy(study: rt.Study, tmp_path: Path) -> None:
    file = tmp_path / "rows.ledger"
    shutil.copy(file, tmp_path / "older")
    study.release(["count"], epsilon="0.1")
    newest = file.read_bytes()
    shutil.copy(tmp_path / "older", file)
    with pytest.raises(rt.LedgerError, match="An older copy was put in its place"):
        study.release(["count"], epsilon="0.1")
    file.write_bytes(newest)
    study.release(["count"], epsilon="0.1")
    Ledger.open(file).amend(eps(6), reason="board")
    with pytest.raises(rt.LedgerError, match="has a budget of ε 6, the study says ε 5"):
        study.release(["count"], epsilon="0.1")


def test_the_claims_hold_the_head_once_a_charge_is_made(study: rt.Study, tmp_path: Path) -> None:
    """Whatever charges through a claimed handle: a release, a session, a model, a fork of it."""
    claim = tmp_path / "rows.csv.reticent"
    ledger = study.ledger
    assert ledger.head in claim.read_text()
    receipt = ledger.reserve(eps(1), adjacency=ledger.adjacency, what="x")
    assert receipt.entry in claim.read_text()
    ledger.fail(receipt, "f-1")
    assert ledger.head in claim.read_text()
    assert joined([forked(lambda: print(study.release(["count"], epsilon="0.1").receipt))]) == [0]
    assert ledger.head in claim.read_text()
    loaded = pickle.loads(pickle.dumps(ledger))
    loaded.close("over")
    assert loaded.head in claim.read_text()


def test_threads_of_one_study_share_the_handle(study: rt.Study) -> None:
    made: list[str] = []

    def release() -> None:
        made.append(study.release(["count"], epsilon="0.1").receipt)

    work = [threading.Thread(target=release) for _ in range(4)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert sorted(made) == ["r-0002", "r-0003", "r-0004", "r-0005"]
    assert study.ledger.verify() == ()
