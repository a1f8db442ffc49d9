"""A ledger of an earlier form is copied, then migrated, under the lock and as an entry; a later form is refused.

Form 1 is that of 0.1.0. Form 2 has names beside its entries, and answers. These tests begin with form 1 as today's.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reticent.errors import LedgerError
from reticent.ledger import Ledger, sqlite_store, store
from reticent.ledger.events import Entry, Migrated, Opened, Reserved, parse
from reticent.ledger.reader import verify_export
from reticent.ledger.replay import Replay, Row
from reticent.privacy import filters
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP
from tests.support.cli_kit import run
from tests.support.golden import FIGURES, FOLDER
from tests.support.ledger_kit import ONE, charge, eps, forked, joined, ledger_at, rows_at

GOLDEN = ("epsilon_open", "epsilon_delta_reserved", "rho_open", "rho_delta_reserved")


@pytest.fixture(autouse=True)
def first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Today's form is 1."""
    monkeypatch.setattr(sqlite_store, "FORMS", {1: sqlite_store.Form(sqlite_store.ENTRIES)})
    monkeypatch.setattr(store, "FORMAT", 1)


def second(monkeypatch: pytest.MonkeyPatch, *statements: str) -> None:
    """From here on today's form is 2."""
    forms = {
        1: sqlite_store.Form(sqlite_store.ENTRIES),
        2: sqlite_store.Form(sqlite_store.SCHEMA, statements or sqlite_store.BESIDE),
    }
    monkeypatch.setattr(sqlite_store, "FORMS", forms)
    monkeypatch.setattr(store, "FORMAT", 2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger of form 1 with a charge that was never settled."""
    charge(ledger_at(tmp_path / "rand.ledger", eps(10)))
    return tmp_path / "rand.ledger"


def form_of(file: Path) -> int:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def copies(file: Path) -> list[Path]:
    return sorted(file.parent.glob(f"{file.name}.form-*"))


def moved(ledger: Ledger) -> list[Migrated]:
    return [entry.event for entry in ledger.entries() if isinstance(entry.event, Migrated)]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_ledger_goes_on_in_the_new_form(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(shutil.copy(FOLDER / "ledgers" / f"{name}.ledger", tmp_path / f"{name}.ledger"))
    before = Ledger.open(file)
    entries, spent, head = before.entries(), before.spent(), before.head
    second(monkeypatch)
    ledger = Ledger.open(file)
    assert (ledger.spent(), ledger.entries(), form_of(file)) == (spent, entries, 1)  # reading changes nothing
    first = ledger.releases()[0].charge
    assert first is not None
    ledger.reserve(first, adjacency=ledger.adjacency, what="in the new form")
    assert form_of(file) == 2
    (copy,) = copies(file)
    assert moved(ledger) == [Migrated("1", "2", copy.name)]
    assert ledger.entries()[: len(entries)] == entries
    assert ledger.entries()[len(entries)].previous == head
    assert ledger.spent() == filters.add(spent, first, ledger.budget)
    assert [line.state for line in ledger.releases()] == [*FIGURES["ledgers"][name]["states"], "reserved"]
    assert ledger.verify(head=head) == ()
    assert verify_export(ledger.export(), head=head) == ()


def test_the_copy_is_the_ledger_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = Ledger.open(file).entries()
    with monkeypatch.context() as later:
        second(later)
        charge(Ledger.open(file))
    (copy,) = copies(file)
    assert copy.name == "rand.ledger.form-1.copy"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert form_of(copy) == 1
    kept = Ledger.open(copy)  # form 1 is today's again
    assert (kept.entries(), kept.verify(), kept.spent()) == (entries, (), eps(1))


def test_it_is_migrated_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second(monkeypatch)
    for _ in range(3):
        charge(Ledger.open(file))
    assert len(copies(file)) == 1
    assert len(moved(Ledger.open(file))) == 1
    assert Ledger.open(file).spent() == eps(4)


def test_handles_processes_and_threads_that_were_open_before_go_on(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight writers at once, all of which find form 1: one migrates."""
    handle = Ledger.open(file)
    assert handle.spent() == eps(1)
    second(monkeypatch)
    children = [forked(lambda: print(charge(Ledger.open(file)), end="")) for _ in range(4)]
    threads = [threading.Thread(target=charge, args=(handle,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert joined(children) == [0] * 4
    assert handle.spent() == eps(9)
    assert len(moved(handle)) == len(copies(file)) == 1
    assert handle.verify() == ()


def test_a_migration_between_two_reads_of_a_check_is_no_damage(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Form and tables are of one moment: who reads the old form sees the old tables."""
    second(monkeypatch)
    form, migrating = sqlite_store._form, False

    def then_migrated(connection: sqlite3.Connection) -> int:
        nonlocal migrating
        read = form(connection)
        if not migrating:
            migrating = True
            charge(Ledger.open(file))
        return read

    monkeypatch.setattr(sqlite_store, "_form", then_migrated)
    assert rows_at(file)
    assert form_of(file) == 2


def test_a_new_ledger_has_todays_form_and_no_entry_of_a_migration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second(monkeypatch)
    ledger = ledger_at(tmp_path / "new.ledger", eps(10))
    charge(ledger)
    assert form_of(tmp_path / "new.ledger") == 2
    assert moved(ledger) == []
    assert copies(tmp_path / "new.ledger") == []


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the copy: the old file still holds and is charged by the old version; the next try takes another name."""
    head = Ledger.open(file).head
    with monkeypatch.context() as broken:
        second(broken, *sqlite_store.BESIDE, "CREATE INDEX another_one ON entries (body)")
        with pytest.raises(LedgerError, match="could not be migrated: its tables are not those of form 2"):
            charge(Ledger.open(file))
    assert (form_of(file), Ledger.open(file).head) == (1, head)
    assert Ledger.open(file).verify() == ()
    second(monkeypatch)
    charge(Ledger.open(file))
    assert [copy.name for copy in copies(file)] == ["rand.ledger.form-1-2.copy", "rand.ledger.form-1.copy"]
    assert moved(Ledger.open(file)) == [Migrated("1", "2", "rand.ledger.form-1-2.copy")]


def test_no_copy_no_migration(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second(monkeypatch)

    def full(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(sqlite_store, "_sync_folder", full)
    with pytest.raises(LedgerError, match=r"no copy of it can be made beside it.*Nothing was changed or charged"):
        charge(Ledger.open(file))
    assert form_of(file) == 1
    assert Ledger.open(file).spent() == eps(1)


def test_copies_are_never_overwritten(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second(monkeypatch)
    monkeypatch.setattr(sqlite_store, "MOST_COPIES", 2)
    kept = [file.with_name(name) for name in ("rand.ledger.form-1.copy", "rand.ledger.form-1-2.copy")]
    for copy in kept:
        copy.write_text("somebody's", encoding="ascii")
    with pytest.raises(LedgerError, match="There are 2 copies of"):
        charge(Ledger.open(file))
    assert {copy.read_text("ascii") for copy in kept} == {"somebody's"}
    assert form_of(file) == 1


def test_a_form_written_by_a_later_version_is_refused_with_words(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        second(later)
        charge(Ledger.open(file))
    with pytest.raises(
        LedgerError, match=r"has ledger format 2; this reticent reads format 1\. It was written by a later"
    ):
        Ledger.open(file)


def rows(*events: object) -> Iterator[Row]:
    """A chain of these events."""
    previous = "0" * 64
    for number, event in enumerate(events, start=1):
        assert isinstance(event, Opened | Migrated | Reserved)
        entry = Entry(number, "2026-01-01T00:00:00Z", previous, event)
        assert parse(entry.body) == entry
        yield Row(number, entry.body, entry.digest)
        previous = entry.digest


OPENED = Opened("i", "t", Adjacency("add_remove"), PureDP(ONE.epsilon), None, None, None)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((Migrated("1", "2", "c"), Migrated("2", "3", "c")), None),
        ((Migrated("1", "1", "c"),), "not after the one before"),
        ((Migrated("2", "1", "c"),), "not after the one before"),
        ((Migrated("one", "2", "c"),), "not after the one before"),
        ((Migrated("1", "2", "c"), Migrated("1", "3", "c")), "it says the form was 1, and it was 2"),
    ],
)
def test_entries_of_migrations_must_follow_each_other(events: tuple[Migrated, ...], words: str | None) -> None:
    replay = Replay()
    chain = list(rows(OPENED, *events))
    if words is None:
        for row in chain:
            replay.feed(row)
        assert replay.form == "3"
        return
    for row in chain[:-1]:
        replay.feed(row)
    with pytest.raises(LedgerError, match=words):
        replay.feed(chain[-1])


def test_a_changed_entry_of_a_migration_breaks_the_chain(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second(monkeypatch)
    charge(Ledger.open(file))
    raw = file.read_bytes()
    file.write_bytes(raw.replace(b"form-1.copy", b"form-7.copy"))
    assert Ledger.open(file).verify() != ()


def test_the_verb_says_what_it_would_do_then_does_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    today = run("migrate", str(file), "--json").document
    assert today == {"verb": "migrate", "form": 1, "today": 1, "due": False, "dry_run": False}
    second(monkeypatch)
    before = file.read_bytes()
    dry = run("migrate", str(file), "--dry-run")
    assert dry.code == 0
    assert "form-1.copy" in dry.said
    assert "Nothing was changed" in dry.said
    assert (file.read_bytes(), copies(file)) == (before, [])
    assert run("migrate", str(file)).code == 0
    assert form_of(file) == 2
    assert len(copies(file)) == len(moved(Ledger.open(file))) == 1
    assert "nothing to migrate" in run("migrate", str(file)).said
