"""The file: synced on every connection, refused in plain words when it cannot be used, and tampering noticed."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from reticent.errors import LedgerError
from reticent.ledger import Ledger, sqlite_store, store
from reticent.ledger.account import store_at
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, Loss
from tests.support.ledger_kit import ONE, PERSON, charge, eps, forked, joined, ledger_at, rows_at


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger with three charges and a commit."""
    ledger = ledger_at(tmp_path / "rand.ledger", eps(10))
    for what in ("table 1", "table 2"):
        charge(ledger, what=what)
    ledger.commit(ledger.reserve(ONE, adjacency=PERSON, what="table 3"), digest="d")
    return tmp_path / "rand.ledger"


@contextlib.contextmanager
def sql(file: Path) -> Iterator[sqlite3.Connection]:
    """The file as a tamperer has it."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        yield connection


def test_every_connection_is_synced(file: Path) -> None:
    with sqlite_store._connected(sqlite_store.SqliteStore(str(file), file)) as connection:
        assert sqlite_store.synced(connection)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)
        connection.execute("PRAGMA synchronous = OFF")
        assert not sqlite_store.synced(connection)


@pytest.mark.parametrize(("name", "value"), [("SYNCHRONOUS", 0), ("SYNCHRONOUS", 1), ("JOURNAL", "memory")])
def test_a_store_that_does_not_sync_is_refused(
    file: Path, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, name, value)
    with pytest.raises(LedgerError, match="cannot promise to keep an entry through a power cut"):
        charge(Ledger.open(file))
    with pytest.raises(LedgerError, match="cannot promise"):
        ledger_at(file.with_name("new.ledger"))
    monkeypatch.undo()
    assert Ledger.open(file).spent() == eps(3)
    assert [item.name for item in file.parent.iterdir()] == ["rand.ledger"]


def test_a_ledger_with_a_second_name_is_refused_by_either(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "BIRTH", 0.0)
    second = file.with_name("second.ledger")
    os.link(file, second)
    for name in (file, second):
        with pytest.raises(LedgerError, match=r"has a second name \(a hard link\).*Nothing was charged"):
            Ledger.open(name)
    second.unlink()
    assert Ledger.open(file).spent() == eps(3)


def test_a_second_name_made_after_opening_stops_every_operation(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "BIRTH", 0.0)
    ledger = Ledger.open(file)
    os.link(file, file.with_name("second.ledger"))
    uses = (ledger.spent, ledger.entries, ledger.export, lambda: charge(ledger), lambda: ledger.close("over"))
    for use in uses:
        with pytest.raises(LedgerError, match="second name"):
            use()
    assert "second name" in ledger.verify()[0]
    file.with_name("second.ledger").unlink()
    charge(ledger)
    assert (ledger.spent(), ledger.verify()) == (eps(4), ())


def test_a_second_name_by_a_symbolic_link_is_the_same_ledger(file: Path) -> None:
    link = file.with_name("link.ledger")
    link.symlink_to(file)
    charge(Ledger.open(link))
    assert Ledger.open(file).spent() == eps(4)


def test_the_name_a_ledger_is_built_under_does_not_refuse_it(file: Path) -> None:
    draft = file.with_name("draft")
    os.link(file, draft)
    timer = threading.Timer(0.05, draft.unlink)
    timer.start()
    assert Ledger.open(file).spent() == eps(3)
    timer.join()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}' WHERE number = 2",
        "DELETE FROM entries WHERE number = 4",
        "INSERT OR REPLACE INTO entries VALUES (2, '{}', '')",
        "INSERT INTO entries VALUES (99, '{}', '')",
    ],
)
def test_the_table_only_grows(file: Path, statement: str) -> None:
    with sql(file) as connection, pytest.raises(sqlite3.IntegrityError, match="only grows"):
        connection.execute(statement)
    assert Ledger.open(file).verify() == ()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entries_are_not_changed",
        "CREATE TRIGGER spare AFTER INSERT ON entries BEGIN SELECT 1; END",
        "CREATE TABLE more (a)",
    ],
)
def test_a_changed_schema_is_refused(file: Path, statement: str) -> None:
    with sql(file) as connection:
        connection.execute(statement)
    with pytest.raises(LedgerError, match="its table or triggers were changed"):
        Ledger.open(file)


def without_triggers(file: Path, *statements: str) -> None:
    """Change entries as someone would who takes the triggers away and puts them back."""
    with sql(file) as connection:
        for statement in sqlite_store.ENTRIES[1:]:
            connection.execute(f"DROP TRIGGER {statement.split()[2]}")
        for statement in (*statements, *sqlite_store.ENTRIES[1:]):
            connection.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE entries SET body = replace(body, 'table 1', 'table 9')"],
        ['UPDATE entries SET body = replace(body, \'"epsilon":"1"\', \'"epsilon":"0"\') WHERE number = 2'],
        ["UPDATE entries SET digest = 'g' || substr(digest, 2) WHERE number = 3"],
        ["DELETE FROM entries WHERE number = 3"],
        ["DELETE FROM entries WHERE number = 1"],
        ["DELETE FROM entries"],
        ["UPDATE entries SET number = -2 WHERE number = 2", "UPDATE entries SET number = 2 WHERE number = 3",
         "UPDATE entries SET number = 3 WHERE number = -2"],
        ["UPDATE entries SET body = CAST(x'ff00' AS TEXT) WHERE number = 2"],
        ["UPDATE entries SET body = x'ff00' WHERE number = 2"],
        ["INSERT INTO entries SELECT 6, body, digest FROM entries WHERE number = 2"],
    ],
)  # fmt: skip
def test_a_tampered_entry_is_noticed_and_stops_the_ledger(file: Path, statements: list[str]) -> None:
    without_triggers(file, *statements)
    ledger = Ledger.open(file) if "x'ff00' AS" not in statements[0] else Ledger(store_at(file))
    assert ledger.verify() != ()
    for use in (ledger.spent, lambda: charge(ledger), ledger.export):
        with pytest.raises(LedgerError) as refusal:
            use()
        assert "SELECT" not in str(refusal.value)


def test_a_ledger_cut_short_is_noticed_by_its_head(file: Path) -> None:
    head = Ledger.open(file).head
    without_triggers(file, "DELETE FROM entries WHERE number = 5")
    assert "do not fit the entries" in Ledger.open(file).verify()[0]
    without_triggers(file, "DELETE FROM names WHERE number = 5")
    assert Ledger.open(file).verify() == ()
    assert "older copy" in Ledger.open(file).verify(head=head)[0]


def test_an_open_handle_notices_an_older_copy(file: Path) -> None:
    ledger = Ledger.open(file)
    assert ledger.spent() == eps(3)
    without_triggers(file, "DELETE FROM entries WHERE number = 5")
    with pytest.raises(LedgerError, match="An older copy was put in its place"):
        charge(ledger)


@pytest.mark.wide
def test_any_flipped_byte_of_the_file_is_harmless_or_noticed(file: Path) -> None:
    """400 bytes, evenly and at random: the ledger then reads as before, or it says that it cannot be used."""
    whole, before = file.read_bytes(), Ledger.open(file).export()
    chance = random.Random(7)
    places = {*range(0, len(whole), len(whole) // 200), *(chance.randrange(len(whole)) for _ in range(200))}
    noticed = 0
    for place in places:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << chance.randrange(8))]) + whole[place + 1 :])
        try:
            ledger = Ledger.open(file)
            problems = ledger.verify()
        except LedgerError:
            noticed += 1
            continue
        noticed += problems != ()
        assert problems or ledger.export() == before
    assert noticed > 25


@pytest.mark.parametrize("cell", [None, "x", b"\0", 1.5], ids=["none", "text", "bytes", "fraction"])
@pytest.mark.parametrize("read", ["rows", "named", "names"])
def test_a_damaged_number_of_an_entry_is_refused_in_words(read: str, cell: object) -> None:
    def run(statement: str, *_: object) -> list[tuple[object, ...]]:
        return [("x", cell)] if statement.startswith("SELECT name") else [(cell, "{}", "")]

    view = store.SqlExtract(run, lambda: store.NAMED)
    asked = {"rows": lambda: view.rows(1), "named": lambda: view.named("x"), "names": view.names}
    with pytest.raises(LedgerError, match="the number of an entry cannot be read"):
        asked[read]()


@pytest.mark.parametrize("length", [0, 1, 99, 100, 4095, 4096, 6000])
def test_a_file_cut_short_is_refused_in_words(file: Path, length: int) -> None:
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(LedgerError) as refusal:
        charge(Ledger.open(file))
    words = str(refusal.value)
    assert words.startswith(str(file))
    assert "not a ledger" in words or "damaged" in words
    with pytest.raises(LedgerError):
        Ledger.open_or_create(file, title="t", adjacency=PERSON, budget=eps(10))


def test_what_is_not_a_ledger_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database\n" * 100)
    with sql(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE t (a)")
    (tmp_path / "folder").mkdir()
    for name, words in {
        "text": "is not a ledger of reticent",
        "other": "is not a ledger of reticent",
        "folder": "is not a file",
        "none": "There is no ledger at",
        "nowhere/rand.ledger": "There is no folder to hold",
    }.items():
        with pytest.raises(LedgerError, match=words):
            Ledger.open(tmp_path / name)
    with pytest.raises(LedgerError, match="There is no folder to hold"):
        ledger_at(tmp_path / "nowhere" / "rand.ledger")


def test_another_format_is_refused(file: Path) -> None:
    with sql(file) as connection:
        connection.execute("PRAGMA user_version = 3")
    with pytest.raises(LedgerError, match="has ledger format 3; this reticent reads format 2"):
        Ledger.open(file)


def test_a_held_ledger_is_refused_after_a_wait(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "PATIENCE", 0.2)
    ledger = Ledger.open(file)
    with sql(file) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"held by another process\. Nothing was charged"):
            charge(ledger)
        assert ledger.spent() == eps(3)
    assert charge(ledger) == "r-0004"


def test_a_ledger_without_permission_is_refused() -> None:
    """Tried by an ordinary user, since permissions do not bind root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger_at(folder / "rand.ledger", eps(3))
        (folder / "rand.ledger").chmod(0o444)
        folder.chmod(0o555)

        def child() -> None:
            if os.geteuid() == 0:
                os.setuid(65534)
            for attempt in (
                lambda: charge(Ledger.open(folder / "rand.ledger")),
                lambda: Ledger.open(folder / "a" / "b"),
            ):
                with pytest.raises(LedgerError, match=r"check its permissions|no folder"):
                    attempt()
            with pytest.raises(LedgerError, match=r"cannot be made there|check its permissions"):
                ledger_at(folder / "new.ledger")

        assert joined([forked(child)]) == [0]
        folder.chmod(0o700)


def test_a_folder_that_cannot_be_entered_is_refused() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger_at(folder / "rand.ledger", eps(3))
        folder.chmod(0o000)

        def child() -> None:
            if os.geteuid() == 0:
                os.setuid(65534)
            with pytest.raises(LedgerError, match="check the permissions of its folder"):
                Ledger.open(folder / "rand.ledger")

        assert joined([forked(child)]) == [0]
        folder.chmod(0o700)


def test_a_disk_that_takes_no_more_stops_the_ledger(file: Path) -> None:
    def child() -> None:
        ledger = Ledger.open(file)
        assert ledger.spent() == eps(3)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        with pytest.raises(LedgerError) as refusal:
            charge(ledger)
        assert "INSERT" not in str(refusal.value)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

    assert joined([forked(child)]) == [0]
    ledger = Ledger.open(file)
    assert ledger.verify() == ()
    assert ledger.spent() == eps(3)


def test_after_a_failed_sync_a_handle_charges_no_more(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = True
    append = sqlite_store.SqliteStore.append

    def failing(
        self: sqlite_store.SqliteStore, decide: store.Decide, after: Callable[[store.Extract], None] | None = None
    ) -> None:
        if broken:
            raise store.SyncError("The disk did not take the entry.")
        append(self, decide, after)

    monkeypatch.setattr(sqlite_store.SqliteStore, "append", failing)
    ledger = Ledger.open(file)
    with pytest.raises(LedgerError, match="did not take"):
        charge(ledger)
    broken = False
    with pytest.raises(LedgerError, match="stopped after a disk error"):
        charge(ledger)
    assert charge(Ledger.open(file)) == "r-0004"


def test_a_ledger_is_made_once(tmp_path: Path) -> None:
    ledger_at(tmp_path / "rand.ledger", eps(3))
    with pytest.raises(LedgerError, match="There is already a ledger"):
        ledger_at(tmp_path / "rand.ledger", eps(3))
    first = rows_at(tmp_path / "rand.ledger")[0]
    assert not store_at(tmp_path / "rand.ledger").build(first)
    assert [item.name for item in tmp_path.iterdir()] == ["rand.ledger"]


def test_processes_that_make_the_same_ledger_share_it(tmp_path: Path) -> None:
    def child() -> None:
        ledger = Ledger.open_or_create(tmp_path / "rand.ledger", title="t", adjacency=PERSON, budget=eps(9))
        charge(ledger)

    assert joined([forked(child) for _ in range(6)]) == [0] * 6
    assert Ledger.open(tmp_path / "rand.ledger").spent() == eps(6)


def test_a_ledger_that_is_made_while_another_process_looks_for_it_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not there at the first look, and is at any later one: it is no other thing than a file for that."""
    path, looked, made = tmp_path / "rand.ledger", Path.stat, list[Ledger]()

    def late(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        try:
            return looked(self, follow_symlinks=follow_symlinks)
        except FileNotFoundError:
            if self == path and not made:
                monkeypatch.undo()
                made.append(Ledger.open_or_create(path, title="t", adjacency=PERSON, budget=eps(9)))
            raise

    monkeypatch.setattr(Path, "stat", late)
    charge(Ledger.open_or_create(path, title="t", adjacency=PERSON, budget=eps(9)))
    charge(made[0])
    assert Ledger.open(path).spent() == eps(2)


@pytest.mark.parametrize(
    ("adjacency", "budget", "source", "ends", "words"),
    [
        (Adjacency("substitute"), eps(3), "a b", None, "do not add up"),
        (Adjacency("add_remove", 2), eps(3), "a b", None, "do not add up"),
        (PERSON, ZCDP(eps(3).epsilon), "a b", None, r"counts \(ε, δ\), the study ρ \(zCDP\)"),
        (PERSON, eps(4), "a b", None, "budget of ε 3, the study says ε 4"),
        (PERSON, eps(3), "x b", None, "ledger of another source"),
        (PERSON, eps(3), None, None, "ledger of another source"),
        (PERSON, eps(3), "a b", date(2999, 1, 1), "ends on no day, the study says on 2999-01-01"),
    ],
)
def test_a_ledger_of_other_terms_is_refused(
    tmp_path: Path, adjacency: Adjacency, budget: Loss, source: str | None, ends: date | None, words: str
) -> None:
    path = tmp_path / "rand.ledger"
    Ledger.open_or_create(path, title="t", adjacency=PERSON, budget=eps(3), source="a b")
    with pytest.raises(LedgerError, match=words):
        Ledger.open_or_create(path, title="t", adjacency=adjacency, budget=budget, source=source, ends=ends)
    again = Ledger.open_or_create(path, title="t", adjacency=PERSON, budget=eps(3), source="a c")
    assert (again.source, len(again.entries())) == ("a c", 2)


def test_an_amended_budget_is_the_one_to_agree_with(tmp_path: Path) -> None:
    path = tmp_path / "rand.ledger"
    ledger_at(path, eps(3)).amend(eps(4), reason="board of March")
    assert Ledger.open_or_create(path, title="t", adjacency=PERSON, budget=eps(4)).left() == eps(4)
    with pytest.raises(LedgerError, match="budget of ε 4, the study says ε 3"):
        Ledger.open_or_create(path, title="t", adjacency=PERSON, budget=eps(3))


def test_a_handle_survives_a_change_of_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.create("rand.ledger", title="t", adjacency=PERSON, budget=eps(3))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert (charge(ledger), ledger.name) == ("r-0001", "rand.ledger")
    with pytest.raises(LedgerError) as refusal:
        Ledger.open("rand.ledger")
    assert str(tmp_path) not in str(refusal.value)
