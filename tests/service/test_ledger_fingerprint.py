"""One source, one ledger: claims, and what the curator is told when a source or a ledger is not what it was."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from reticent.errors import LedgerError
from reticent.ledger import Ledger
from reticent.ledger.fingerprint import (
    Source,
    Table,
    adopt,
    claim,
    fingerprint,
    note_release,
    open_for,
    source_changed,
)
from tests.support.ledger_kit import PERSON, charge, eps, forked, joined, ledger_at

COLUMNS = ("mdvis", "disea")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, and a state folder of our own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.fixture
def source() -> Path:
    Path("randhie.csv").write_text("mdvis,disea\n1,2\n")
    return Path("randhie.csv")


def opened(source: Source, path: str | None, columns: Sequence[str] = COLUMNS) -> Ledger:
    return open_for(source, columns, path, title="RAND", adjacency=PERSON, budget=eps(3))


def test_a_second_ledger_for_one_source_is_refused_and_not_made(source: Path) -> None:
    opened(source, "rand.ledger")
    assert Path("randhie.csv.reticent").exists()
    words = (
        "This source is already under rand.ledger (fingerprint of its path and schema). Two ledgers for one file would "
        "promise twice what is true. Use --ledger rand.ledger."
    )
    for second in ("second.ledger", None):
        with pytest.raises(LedgerError) as refusal:
            opened(source, second)
        assert str(refusal.value) == words
    assert not Path("second.ledger").exists()
    ledger_at(Path("third.ledger"), eps(3))
    with pytest.raises(LedgerError) as refusal:
        opened(source, "third.ledger")
    assert str(refusal.value) == words


def test_other_columns_do_not_open_a_second_budget(source: Path) -> None:
    charge(opened(source, "rand.ledger"))
    with pytest.raises(LedgerError, match=r"already under rand\.ledger"):
        opened(source, "second.ledger", ["income"])
    again = opened(source, "rand.ledger", ["income"])
    assert again.spent() == eps(1)
    assert again.source == fingerprint(source, ["income"])
    assert len(again.entries()) == 3
    assert again.verify() == ()


def test_the_same_file_by_another_path_is_the_same_source(source: Path, home: Path) -> None:
    opened(source, "rand.ledger")
    Path("link.csv").symlink_to(source)
    for other in (source.resolve(), Path("..") / "work" / source, Path("link.csv")):
        assert fingerprint(other, COLUMNS) == fingerprint(source, COLUMNS[::-1])
        with pytest.raises(LedgerError, match="already under"):
            opened(other, "second.ledger")


def test_a_copied_file_escapes(source: Path) -> None:
    opened(source, "rand.ledger")
    Path("copy.csv").write_bytes(source.read_bytes())
    assert opened(Path("copy.csv"), "second.ledger").spent() == eps(0)


def test_one_ledger_serves_one_source(source: Path) -> None:
    opened(source, "rand.ledger")
    Path("other.csv").write_text("a\n")
    with pytest.raises(LedgerError, match="ledger of another source"):
        opened(Path("other.csv"), "rand.ledger")


def test_a_ledger_that_is_gone_or_replaced_is_not_made_anew(source: Path) -> None:
    charge(opened(source, "rand.ledger"))
    Path("rand.ledger").rename("kept")
    with pytest.raises(LedgerError, match=r"rand\.ledger, the ledger of this source, is gone"):
        opened(source, "rand.ledger")
    assert not Path("rand.ledger").exists()
    Ledger.create("rand.ledger", title="t", adjacency=PERSON, budget=eps(3), source=fingerprint(source, COLUMNS))
    with pytest.raises(LedgerError, match=r"under an earlier rand\.ledger, and this file is not it"):
        opened(source, "rand.ledger")
    assert opened(source, "kept").spent() == eps(1)


def test_an_older_copy_is_refused_until_what_is_left_counts_as_spent(source: Path) -> None:
    ledger = opened(source, "rand.ledger")
    charge(ledger)
    backup = Path("rand.ledger").read_bytes()
    note_release(source, ledger, charge(ledger))
    Path("rand.ledger").write_bytes(backup)
    with pytest.raises(LedgerError, match=r"rand\.ledger is an older copy: entries it had are gone"):
        opened(source, "rand.ledger")
    older = Ledger.open("rand.ledger")
    adopt(source, COLUMNS, older, reason="disk failed on Monday")
    again = opened(source, "rand.ledger")
    assert (again.spent(), again.left()) == (eps(3), eps(0))
    assert "disk failed on Monday" in again.releases()[-1].what


def test_a_changed_source_is_noted(source: Path) -> None:
    ledger = opened(source, "rand.ledger")
    assert source_changed(source) is None
    note_release(source, ledger, "r-0008")
    assert source_changed(source) is None
    source.write_text("mdvis,disea\n1,2\n3,4\n")
    assert source_changed(source) == (
        "The source has changed since r-0008. Releases on old and new rows of the same people still add up. Continue "
        "with --same-people, or start a new study with new people."
    )
    opened(source, "rand.ledger")
    assert source_changed(source) is not None
    note_release(source, ledger, "r-0009")
    assert source_changed(source) is None


def test_a_touched_source_of_equal_size_is_noted(source: Path) -> None:
    note_release(source, opened(source, "rand.ledger"), "r-0001")
    os.utime(source, ns=(0, 0))
    assert source_changed(source) is not None


def test_a_note_that_cannot_be_written_does_not_take_the_answer_away(source: Path) -> None:
    ledger = opened(source, "rand.ledger")
    Path("randhie.csv.reticent").write_text("damaged")
    note_release(source, ledger, charge(ledger))


def test_a_claim_that_became_read_only_still_holds(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charge(opened(source, "rand.ledger"))

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "replace", refuse)
    assert opened(source, "rand.ledger").spent() == eps(1)
    with pytest.raises(LedgerError, match="already under"):
        opened(source, "second.ledger")


def test_a_folder_of_files_is_a_source() -> None:
    Path("parts").mkdir()
    Path("parts/1.parquet").write_bytes(b"x")
    note_release(Path("parts"), opened(Path("parts"), "rand.ledger"), "r-0001")
    assert source_changed(Path("parts")) is None
    Path("parts/2.parquet").write_bytes(b"yy")
    assert source_changed(Path("parts")) is not None


def test_the_claim_holds_no_digest_of_the_content(source: Path) -> None:
    opened(source, "rand.ledger")
    first = json.loads(Path("randhie.csv.reticent").read_text())
    source.write_text("mdvis,disea\n9,9\n")
    assert fingerprint(source, COLUMNS) == first["fingerprint"]
    assert set(first) == {"format", "ledger", "identity", "fingerprint", "head", "seen"}


def test_the_ledger_and_its_export_never_hold_the_size_of_the_source(source: Path) -> None:
    source.write_text("x" * 31_415)
    ledger = opened(source, "rand.ledger")
    note_release(source, ledger, charge(ledger))
    assert "31415" in Path("randhie.csv.reticent").read_text()
    assert "31415" not in json.dumps(ledger.export())


def test_a_source_in_a_place_that_cannot_be_written_is_claimed_in_the_state_folder(home: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").mkdir()
        (folder / "own").mkdir()
        source = folder / "data" / "randhie.csv"
        source.write_text("a\n")
        os.chmod(folder / "data", 0o555)
        for place in (folder, folder / "own"):
            place.chmod(0o777)

        def child() -> None:
            os.environ["XDG_STATE_HOME"] = str(folder / "own" / "state")
            if os.geteuid() == 0:
                os.setuid(65534)
            opened(source, str(folder / "own" / "rand.ledger"))
            assert not (folder / "data" / "randhie.csv.reticent").exists()
            opened(source, str(folder / "own" / "rand.ledger"))
            with pytest.raises(LedgerError, match="already under"):
                opened(source, str(folder / "own" / "second.ledger"))

        assert joined([forked(child)]) == [0]
        os.chmod(folder / "data", 0o755)


def test_a_claim_that_can_be_written_nowhere_is_refused(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    ledger = ledger_at(None, eps(3))
    with pytest.raises(LedgerError, match="neither beside it nor in your state folder"):
        claim(source, COLUMNS, ledger)
    assert not list(Path().glob("*reticent*"))


@pytest.mark.parametrize("text", ["", "{}", "[1]", "\u00e9", '{"format":2}', "[" * 100_000])
def test_a_damaged_claim_is_refused_in_words(source: Path, text: str) -> None:
    Path("randhie.csv.reticent").write_text(text)
    for use in (lambda: opened(source, "rand.ledger"), lambda: source_changed(source)):
        with pytest.raises(LedgerError, match=r"randhie\.csv\.reticent says which ledger counts"):
            use()
    assert not Path("rand.ledger").exists()


def test_tables_are_known_by_database_and_name() -> None:
    anna = Table("postgresql://anna:secret@db.example/health?sslmode=require", "visits")
    opened(anna, "rand.ledger")
    with pytest.raises(LedgerError, match="already under"):
        opened(Table("postgresql://bob@db.example/health", "visits"), "second.ledger")
    opened(Table("postgresql://db.example/health", "other"), "second.ledger")
    opened(Table("postgresql://db.example:5433/health", "visits"), "third.ledger")
    assert source_changed(anna) is None
    assert "secret" not in "".join(path.read_text() for path in Path("../state").rglob("*.reticent"))


def test_a_table_in_a_file_is_known_by_the_resolved_file() -> None:
    opened(Table("health.duckdb", "visits"), "rand.ledger")
    with pytest.raises(LedgerError, match="already under"):
        opened(Table(str(Path("health.duckdb").resolve()), "visits"), "second.ledger")


def test_two_processes_claim_one_source_for_one_ledger(source: Path) -> None:
    def child(name: str) -> None:
        try:
            opened(source, name)
        except LedgerError:
            os._exit(7)

    codes = joined([forked(lambda name=f"{n}.ledger": child(name)) for n in range(6)])  # type: ignore[misc]
    assert sorted(codes) == [0, 7, 7, 7, 7, 7]
