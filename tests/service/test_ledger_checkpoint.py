"""Checkpoints: a ledger is read from the last one on, and no tampered past changes a sum or passes a check of all."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reticent.errors import LedgerError
from reticent.ledger import Ledger, book, store
from reticent.ledger.account import store_at
from reticent.ledger.events import CHECKPOINT, Checkpointed, Event, Reserved, parse
from reticent.ledger.fingerprint import open_for
from reticent.ledger.replay import Row, begun, problems
from reticent.privacy import filters
from reticent.privacy.serialization import digest_of
from tests.support.ledger_kit import ONE, PERSON, charge, eps, forked, joined, ledger_at, rows_at, storm
from tests.support.ledger_places import Place, Places, rewritten, tampering

EVERY = 4


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A checkpoint every few entries, and a state folder of our own."""
    monkeypatch.setattr(book, "EVERY", EVERY)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def file(places: Places) -> Place:
    """The place of a ledger with twelve charges, each of which was committed."""
    place = places.new()
    ledger = ledger_at(place, eps(1000))
    for number in range(12):
        receipt = ledger.reserve(ONE, adjacency=PERSON, what=f"table {number}", key=f"k{number}", request_digest="q")
        ledger.commit(receipt, digest=f"d{number}", shares=f"s{number}")
    return place


def checkpoints(file: Place) -> list[int]:
    return [row.number for row in rows_at(file) if isinstance(parse(row.body).event, Checkpointed)]


def relinked(rows: list[Row], events: dict[int, Event]) -> list[Row]:
    """The rows with other events at some numbers, every later entry linked anew."""
    done: list[Row] = []
    for row in rows:
        entry = parse(row.body)
        made = replace(
            entry,
            previous=done[-1].digest if done else entry.previous,
            event=events.get(row.number, entry.event),
        )
        done.append(Row(row.number, made.body, made.digest))
    return done


def test_checkpoints_are_entries_and_what_follows_reads_as_the_whole_does(file: Place) -> None:
    found = checkpoints(file)
    assert len(found) > 3
    assert all(1 < later - earlier <= EVERY + 1 for earlier, later in itertools.pairwise(found))
    with store_at(file).reading() as view:
        short = begun(view.tail())
    whole, wrong = problems(rows_at(file))
    assert (wrong, short.whole, whole.whole) == ((), False, True)
    assert short.standing == whole.standing
    assert (short.next_id(), short.last_day, short.form) == (whole.next_id(), whole.last_day, whole.form)
    assert len(short.seen) < EVERY + 4


def test_a_ledger_opened_at_a_checkpoint_does_all_that_one_read_whole_does(file: Place) -> None:
    ledger = Ledger.open(file)
    assert ledger.spent() == eps(12)
    assert not ledger._book.replay.whole
    again = ledger.reserve(ONE, adjacency=PERSON, what="table 0", key="k0", request_digest="q")
    assert (again.id, again.replayed, ledger.spent()) == ("r-0001", True, eps(12))
    with pytest.raises(LedgerError, match="used for another request, r-0002"):
        ledger.reserve(ONE, adjacency=PERSON, what="x", key="k1", request_digest="other")
    with pytest.raises(LedgerError, match="r-0001 is committed already"):
        ledger.commit(replace(again, replayed=False), digest="d")
    with pytest.raises(LedgerError, match="not issued by this ledger"):
        ledger.fail(replace(again, entry="0" * 64), "f")
    assert dict(ledger.told()) == {f"r-{n + 1:04d}": f"s{n}" for n in range(12)}
    ledger.withdraw("r-0002", reason="an error")
    assert "r-0002" not in dict(ledger.told())
    assert [line.withdrawn is not None for line in ledger.releases()] == [n == 1 for n in range(12)]
    assert charge(ledger) == "r-0013"
    assert (ledger.spent(), ledger.verify()) == (eps(13), ())
    assert ledger.verify(head=rows_at(file)[2].digest) == ()


def test_a_receipt_from_before_the_checkpoint_is_settled_once(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "rand.ledger", eps(100))
    early = ledger.reserve(ONE, adjacency=PERSON, what="slow")
    for _ in range(3 * EVERY):
        charge(ledger)
    other = Ledger.open(tmp_path / "rand.ledger")
    other.commit(early, digest="d")
    with pytest.raises(LedgerError, match="committed already"):
        Ledger.open(tmp_path / "rand.ledger").fail(early, "f")
    assert (ledger.spent(), ledger.verify(), ledger.releases()[0].digest) == (eps(1 + 3 * EVERY), (), "d")


def test_a_handle_reads_no_more_than_the_tail(file: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    rows = store.SqlExtract._rows

    def counted(self: store.SqlExtract, clause: str, value: object) -> tuple[Row, ...]:
        found = rows(self, clause, value)
        read.append(len(found))
        return found

    monkeypatch.setattr(store.SqlExtract, "_rows", counted)
    ledger = Ledger.open(file)
    ledger.reserve(ONE, adjacency=PERSON, what="x")
    ledger.spent()
    assert 0 < sum(read) <= EVERY + 6
    assert ledger.verify() == ()
    assert max(read) > 2 * EVERY  # a check of all reads all


# --- tampering --------------------------------------------------------------------------------------------------------


def test_a_changed_past_moves_no_sum_and_a_check_of_all_sees_it(file: Place) -> None:
    with tampering(file) as run:
        run('UPDATE entries SET body = replace(body, \'"epsilon":"1"\', \'"epsilon":"0"\') WHERE number = 2')
    ledger = Ledger.open(file)
    assert ledger.spent() == eps(12)
    assert "entry 2" in ledger.verify()[0]
    with pytest.raises(LedgerError, match="damaged: entry 2"):
        ledger.releases()
    with pytest.raises(LedgerError, match="damaged"):
        ledger.export()


@pytest.mark.parametrize("spent", ["0", "10", "13"])
def test_a_checkpoint_of_another_sum_does_not_pass(spent: str, places: Places, tmp_path: Path) -> None:
    """Changed alone it breaks the chain; with its digest and every later one made anew it loses the head."""
    source = tmp_path / "rows.csv"
    source.write_text("a\n1\n")
    place = places.new("claimed")
    ledger = open_for(source, ["a"], place, title="t", adjacency=PERSON, budget=eps(1000))
    for _ in range(12):
        charge(ledger)
    rows, head = rows_at(place), ledger.head
    number = checkpoints(place)[-1]
    told = parse(rows[number - 1].body).event
    assert isinstance(told, Checkpointed)
    forged = relinked(rows, {number: replace(told, spent=eps(spent))})

    alone = [forged[number - 1] if row.number == number else row for row in rows]
    rewritten(place, alone)
    with pytest.raises(LedgerError, match="does not follow from the entry before it"):
        Ledger.open(place).spent()

    rewritten(place, forged)
    assert "what the entries before it add up to" in Ledger.open(place).verify()[0]
    assert "older copy" in Ledger.open(place).verify(head=head)[-1]
    with pytest.raises(LedgerError, match=r"damaged: entry \d+"):
        open_for(source, ["a"], place, title="t", adjacency=PERSON, budget=eps(1000))


def test_every_flipped_byte_of_a_checkpoint_is_refused_at_opening(file: Place) -> None:
    number = checkpoints(file)[-1]
    rows = rows_at(file)
    body = rows[number - 1].body
    with store_at(file).reading() as view:
        tail = view.tail()
    assert tail[1].number == number
    for at in range(len(body)):
        other = body[:at] + ("~" if body[at] != "~" else "!") + body[at + 1 :]
        for digest in (rows[number - 1].digest, digest_of(other)):
            with pytest.raises(LedgerError):
                begun([tail[0], Row(number, other, digest), *tail[2:]])


def test_a_checkpoint_rolled_back_with_what_follows_is_an_older_copy(places: Places, tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("a\n1\n")
    place = places.new("claimed")
    ledger = open_for(source, ["a"], place, title="t", adjacency=PERSON, budget=eps(1000))
    for _ in range(20):
        charge(ledger)
    rows = rows_at(place)
    for number in checkpoints(place)[-3:]:
        rewritten(place, rows[:number])
        with pytest.raises(LedgerError, match="older copy"):
            open_for(source, ["a"], place, title="t", adjacency=PERSON, budget=eps(1000))
        with pytest.raises(LedgerError, match="An older copy was put in its place"):
            charge(ledger)
    rewritten(place, rows)
    assert charge(open_for(source, ["a"], place, title="t", adjacency=PERSON, budget=eps(1000))) == "r-0021"


def test_an_earlier_checkpoint_in_place_of_the_last_gives_the_same_sum(file: Place) -> None:
    last = checkpoints(file)[-1]
    with tampering(file) as run:
        run("DELETE FROM names WHERE name = ? AND number = ?", CHECKPOINT, last)
    ledger = Ledger.open(file)
    assert ledger.spent() == eps(12)
    assert "do not fit the entries" in ledger.verify()[0]
    with tampering(file) as run:
        run("DELETE FROM names")
    assert Ledger.open(file).spent() == eps(12)


@pytest.mark.parametrize("number", [1, 3, 99])
def test_a_name_that_leads_elsewhere_is_damage_or_a_whole_reading(file: Place, number: int) -> None:
    """A checkpoint that is none, and one after the end of the chain."""
    with tampering(file) as run:
        run("DELETE FROM names WHERE name = ?", CHECKPOINT)
        run("INSERT INTO names VALUES (?, ?)", CHECKPOINT, number)
    ledger = Ledger.open(file)
    if number == 3:
        with pytest.raises(LedgerError, match="damaged"):
            ledger.spent()
    else:
        assert ledger.spent() == eps(12)
    assert ledger.verify() != ()


def test_a_checkpoint_after_the_end_of_the_chain_is_refused(file: Place) -> None:
    """Entries before it were cut out: what it says is newer than what there is."""
    rows = rows_at(file)
    number = checkpoints(file)[-1]
    with tampering(file) as run:
        run("DELETE FROM entries WHERE number > 3 AND number < ?", number)
    assert Ledger.open(file).spent() == eps(12)
    assert "entry 4 was expected here" in Ledger.open(file).verify()[0]
    with tampering(file) as run:
        run("UPDATE entries SET number = 4 WHERE number = ?", number)
        run("DELETE FROM entries WHERE number > 4")
    assert rows[number - 1].number != 4
    with pytest.raises(LedgerError, match="damaged"):
        Ledger.open(file).spent()


def test_an_old_head_is_believed_after_a_whole_reading_alone(file: Place) -> None:
    """The head of a witness, planted in the digests of a chain that was cut short before it, is not found there."""
    rows = rows_at(file)
    head = rows[-1].digest
    assert Ledger.open(file).holds(rows[3].digest)
    short = rows[: checkpoints(file)[-2]]
    rewritten(file, short)
    with tampering(file) as run:
        run("UPDATE entries SET digest = ? WHERE number = 3", head)
    ledger = Ledger.open(file)
    ledger.forget_head()  # which a ledger on a server would compare first
    assert ledger.spent() != eps(12)
    with pytest.raises(LedgerError, match="damaged: entry 3"):
        ledger.holds(head)


# --- crashes ----------------------------------------------------------------------------------------------------------


def steps(file: Place, at: int) -> bool:
    """A charge that is due to write a checkpoint, killed at its statement number ``at``; False when it ended."""

    def child() -> None:
        count = [0]

        class Killed(sqlite3.Connection):
            def execute(self, *words: Any) -> sqlite3.Cursor:
                done = super().execute(*words)
                count[0] += 1
                if count[0] == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return done

        connect = sqlite3.connect
        sqlite3.connect = lambda *w, **n: connect(*w, **{**n, "factory": Killed})
        charge(Ledger.open(file), what="killed")

    return joined([forked(child)]) != [0]


@pytest.mark.wide
def test_a_kill_at_any_statement_between_checkpoint_and_commit_leaves_both_or_neither(tmp_path: Path) -> None:
    file = tmp_path / "rand.ledger"
    ledger = ledger_at(file, eps(1000))
    while (ledger.standing().number - 1) % EVERY or ledger.standing().number < 2 * EVERY:
        charge(ledger)
    whole, at, outcomes = file.read_bytes(), 0, set()
    before = (len(checkpoints(file)), ledger.spent())
    while True:
        at += 1
        for left in file.parent.glob("rand.ledger-*"):
            left.unlink()
        file.write_bytes(whole)
        killed = steps(file, at)
        found = Ledger.open(file)
        assert found.verify() == ()
        now = (len(checkpoints(file)), found.spent())
        outcomes.add(now)
        assert charge(found)
        if not killed:
            break
    assert outcomes == {before, (before[0] + 1, filters.add(before[1], ONE, ledger.budget))}
    assert at > 15


@pytest.mark.wide
@pytest.mark.parametrize("rounds", [8, pytest.param(12, marks=pytest.mark.audit)])
def test_a_storm_of_kills_with_many_checkpoints_loses_no_charge(tmp_path: Path, rounds: int) -> None:
    seen = storm(tmp_path / "rand.ledger", tmp_path, [4] * rounds, random.Random(5))
    assert seen.acknowledged > 5
    assert (seen.lost, seen.excess, seen.broken) == (0, 0, 0)
    assert checkpoints(tmp_path / "rand.ledger")
    assert any(isinstance(parse(row.body).event, Reserved) for row in rows_at(tmp_path / "rand.ledger"))
