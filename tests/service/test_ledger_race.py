"""Races for the last of a budget: as many grants as the budget holds, whoever asks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from reticent.ledger import Ledger
from reticent.ledger.replay import Row
from reticent.ledger.sqlite_store import SqliteStore
from reticent.ledger.store import Addition, Decide, Extract
from tests.support.ledger_kit import eps, ledger_at, stampede


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("race", range(5))
def test_sixteen_processes_get_exactly_twenty_of_twenty(race: int, tmp_path: Path) -> None:
    file = tmp_path / f"{race}.ledger"
    ledger = ledger_at(file, eps(20))
    assert sum(stampede(file, tmp_path, writers=16)) == 20
    assert (ledger.spent(), ledger.left()) == (eps(20), eps(0))
    assert [line.id for line in ledger.releases()] == [f"r-{n:04d}" for n in range(1, 21)]
    assert ledger.verify() == ()


def test_a_store_that_decides_before_it_holds_the_lock_fails_the_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant reads, decides, then writes what it decided: grants pass the budget, or the chain refuses to fit."""
    append = SqliteStore.append

    def careless(self: SqliteStore, decide: Decide, after: object = None) -> None:
        with self.reading() as view:
            rows = decide(view).rows
        time.sleep(0.01)

        def late(view: Extract) -> Addition:
            last = view.rows(1)[-1].number
            return Addition(tuple(Row(last + nth, row.body, row.digest) for nth, row in enumerate(rows, start=1)))

        append(self, late)

    monkeypatch.setattr(SqliteStore, "append", careless)
    file = tmp_path / "rand.ledger"
    ledger_at(file, eps(20))
    try:
        broken = sum(stampede(file, tmp_path, writers=16)) != 20
    except AssertionError:
        broken = True
    monkeypatch.undo()
    assert broken
    assert Ledger.open(file).verify() != ()
