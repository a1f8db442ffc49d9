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
from reticent.ledger.claim_file import DatabaseTable, Source, fingerprint
from reticent.ledger.fingerprint import adopt, claim, open_for, source_changed
from reticent.privacy.serialization import canonical, digest_of
from tests.support.ledger_kit import PERSON, charge, eps, forked, joined, ledger_at, note_head, note_release

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
        "promise twice what is true. Use that ledger: rand.ledger."
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


@pytest.fixture
def parts() -> Path:
    """A folder with one file, to be found by many patterns."""
    Path("parts").mkdir()
    Path("parts/p1.parquet").write_bytes(b"x")
    return Path("parts")


SPELLINGS = ("parts/p1.parquet", "parts/*.parquet", "parts/p*.parquet", "parts/p[1].parquet", "p*ts/p1.parquet")


@pytest.mark.parametrize("first", SPELLINGS)
def test_every_spelling_of_a_pattern_finds_the_one_ledger(parts: Path, first: str) -> None:
    charge(opened(Path(first), "rand.ledger"))
    for other in (*SPELLINGS, "parts/**/*.parquet", "parts/../parts/*1.parquet", str(parts.resolve() / "p?.parquet")):
        with pytest.raises(LedgerError, match=r"already under rand\.ledger"):
            opened(Path(other), "second.ledger")
        again = opened(Path(other), "rand.ledger")
        assert (again.spent(), len(again.entries())) == (eps(1), 2)
    assert not Path("second.ledger").exists()
    assert sorted(item.name for item in parts.iterdir()) == ["p1.parquet", "p1.parquet.reticent"]


def test_a_file_in_two_patterns_is_under_one_ledger(parts: Path) -> None:
    (parts / "p2.parquet").write_bytes(b"yy")
    (parts / "q1.parquet").write_bytes(b"z")
    opened(Path("parts/p*.parquet"), "rand.ledger")
    opened(Path("parts/q*.parquet"), "other.ledger")
    for wide in ("rand.ledger", "other.ledger", "third.ledger", None):
        with pytest.raises(LedgerError, match="already under"):
            opened(Path("parts/*.parquet"), wide)
    with pytest.raises(LedgerError, match="already under"):
        opened(Path("parts/p2.parquet"), "other.ledger")


def test_no_file_of_a_pattern_is_claimed_when_one_is_refused(parts: Path) -> None:
    (parts / "p2.parquet").write_bytes(b"yy")
    opened(parts / "p2.parquet", "rand.ledger")
    with pytest.raises(LedgerError, match="already under"):
        claim(parts / "*.parquet", COLUMNS, ledger_at(Path("other.ledger"), eps(3)))
    assert not (parts / "p1.parquet.reticent").exists()


def test_a_file_reached_by_a_symbolic_link_in_a_pattern_is_claimed_where_it_is(parts: Path) -> None:
    opened(parts / "p1.parquet", "rand.ledger")
    Path("links").mkdir()
    Path("links/a.parquet").symlink_to((parts / "p1.parquet").resolve())
    with pytest.raises(LedgerError, match="already under"):
        opened(Path("links/*.parquet"), "second.ledger")


def test_a_file_added_to_a_pattern_is_claimed_at_the_next_opening(parts: Path) -> None:
    pattern = parts / "*.parquet"
    charge(opened(pattern, "rand.ledger"))
    (parts / "p2.parquet").write_bytes(b"yy")
    assert opened(pattern, "rand.ledger").spent() == eps(1)
    with pytest.raises(LedgerError, match="already under"):
        opened(parts / "p2.parquet", "second.ledger")
    (parts / "p3.parquet").write_bytes(b"z")
    opened(parts / "p3.parquet", "second.ledger")
    with pytest.raises(LedgerError, match=r"already under second\.ledger"):
        opened(pattern, "rand.ledger")


def test_a_pattern_that_fits_no_file_opens_no_ledger(parts: Path) -> None:
    for nothing in ("parts/z*.parquet", "parts/*.reticent", "pa*"):
        with pytest.raises(LedgerError, match="No file fits"):
            opened(Path(nothing), "rand.ledger")
    assert not Path("rand.ledger").exists()


def test_a_name_with_brackets_is_a_plain_file(parts: Path) -> None:
    (parts / "[p1].parquet").write_bytes(b"y")
    opened(parts / "[p1].parquet", "rand.ledger")
    assert (parts / "[p1].parquet.reticent").exists()
    opened(parts / "p1.parquet", "second.ledger")


def test_a_changed_or_added_file_of_a_pattern_is_noted(parts: Path) -> None:
    pattern = parts / "*.parquet"
    ledger = opened(pattern, "rand.ledger")
    (parts / "p2.parquet").write_bytes(b"yy")
    assert source_changed(pattern) is None
    note_release(pattern, opened(pattern, "rand.ledger"), "r-0001")
    assert source_changed(pattern) is None
    (parts / "p3.parquet").write_bytes(b"z")
    assert "since r-0001" in (source_changed(pattern) or "")
    note_release(pattern, opened(pattern, "rand.ledger"), "r-0002")
    assert source_changed(pattern) is None
    (parts / "p1.parquet").write_bytes(b"longer")
    assert "since r-0002" in (source_changed(pattern) or "")
    assert source_changed(parts / "p2.parquet") is None
    assert ledger.verify() == ()


def test_an_older_copy_is_adopted_for_every_file_of_a_pattern(parts: Path) -> None:
    (parts / "p2.parquet").write_bytes(b"yy")
    pattern = parts / "*.parquet"
    ledger = opened(pattern, "rand.ledger")
    backup = Path("rand.ledger").read_bytes()
    charge(ledger)
    note_head(pattern, ledger)
    Path("rand.ledger").write_bytes(backup)
    for source in (pattern, parts / "p1.parquet", parts / "p2.parquet"):
        with pytest.raises(LedgerError, match="older copy"):
            opened(source, "rand.ledger")
    adopt(pattern, COLUMNS, Ledger.open("rand.ledger"), reason="disk failed on Monday")
    for source in (pattern, parts / "p1.parquet", parts / "p2.parquet"):
        assert opened(source, "rand.ledger").left() == eps(0)


def test_a_ledger_restored_after_a_crash_is_noticed(source: Path) -> None:
    charge(opened(source, "rand.ledger"))
    backup = Path("rand.ledger").read_bytes()

    def child() -> None:
        ledger = opened(source, "rand.ledger")
        charge(ledger)
        note_head(source, ledger)
        os._exit(9)  # while it draws: neither commit nor note_release

    assert joined([forked(child)]) == [9]
    assert Ledger.open("rand.ledger").spent() == eps(2)
    Path("rand.ledger").write_bytes(backup)
    with pytest.raises(LedgerError, match=r"rand\.ledger is an older copy: entries it had are gone"):
        opened(source, "rand.ledger")


def test_a_noted_head_is_not_a_release(source: Path) -> None:
    ledger = opened(source, "rand.ledger")
    note_release(source, ledger, charge(ledger))
    before = json.loads(Path("randhie.csv.reticent").read_text())
    charge(ledger)
    source.write_text("mdvis,disea\n1,2\n3,4\n")
    note_head(source, ledger)
    after = json.loads(Path("randhie.csv.reticent").read_text())
    assert after == {**before, "head": ledger.head}
    assert "since r-0001" in (source_changed(source) or "")


def test_a_head_is_noted_in_every_claim_that_can_be_written(source: Path, home: Path) -> None:
    ledger = opened(source, "rand.ledger")
    beside = Path("randhie.csv.reticent")
    own = home / "state" / "reticent" / "sources" / (fingerprint(source, COLUMNS).split()[0] + ".reticent")
    assert own.read_bytes() == beside.read_bytes()
    charge(ledger)
    beside.write_text("damaged")
    note_head(source, ledger)
    assert json.loads(own.read_text())["head"] == ledger.head
    own.unlink()
    note_head(source, ledger)
    note_head(Path("z*.parquet"), ledger)
    Path("rand.ledger").unlink()
    note_head(source, ledger)


def test_a_head_is_not_noted_in_the_claim_of_another_ledger(source: Path) -> None:
    charge(opened(source, "rand.ledger"))
    before = Path("randhie.csv.reticent").read_text()
    note_head(source, ledger_at(Path("other.ledger"), eps(3)))
    assert Path("randhie.csv.reticent").read_text() == before


def test_a_newer_head_that_was_overwritten_is_put_back(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened(source, "rand.ledger")
    charge(ledger)
    replace, late = os.replace, [True]

    def slow(draft: Path, place: Path) -> None:
        if late and late.pop():  # another process charges and notes its head while this one is about to write
            charge(Ledger.open("rand.ledger"))
            note_head(source, Ledger.open("rand.ledger"))
        replace(draft, place)

    monkeypatch.setattr(os, "replace", slow)
    note_head(source, ledger)
    assert json.loads(Path("randhie.csv.reticent").read_text())["head"] == Ledger.open("rand.ledger").head


@pytest.mark.wide
def test_processes_that_charge_at_once_leave_the_newest_head(source: Path) -> None:
    open_for(source, COLUMNS, "rand.ledger", title="RAND", adjacency=PERSON, budget=eps(99))

    def child() -> None:
        ledger = Ledger.open("rand.ledger")
        for _ in range(5):
            charge(ledger)
            note_head(source, ledger)

    assert joined([forked(child) for _ in range(6)]) == [0] * 6
    assert json.loads(Path("randhie.csv.reticent").read_text())["head"] == Ledger.open("rand.ledger").head


def test_another_person_column_is_refused_on_the_ledger_of_a_source(source: Path) -> None:
    def person(column: str | None) -> Ledger:
        return open_for(source, COLUMNS, "rand.ledger", title="t", adjacency=PERSON, budget=eps(3), person=column)

    charge(person("fam"))
    for other in ("who", None):
        with pytest.raises(LedgerError, match="protects each 'fam'; the study now says"):
            person(other)
    assert person("fam").spent() == eps(1)


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
    anna = DatabaseTable("postgresql://anna:secret@db.example/health?sslmode=require", "visits")
    opened(anna, "rand.ledger")
    with pytest.raises(LedgerError, match="already under"):
        opened(DatabaseTable("postgresql://bob@db.example/health", "visits"), "second.ledger")
    opened(DatabaseTable("postgresql://db.example/health", "other"), "second.ledger")
    opened(DatabaseTable("postgresql://db.example:5433/health", "visits"), "third.ledger")
    assert source_changed(anna) is None
    assert "secret" not in "".join(path.read_text() for path in Path("../state").rglob("*.reticent"))


def test_a_table_in_a_file_is_known_by_the_resolved_file() -> None:
    opened(DatabaseTable("health.duckdb", "visits"), "rand.ledger")
    with pytest.raises(LedgerError, match="already under"):
        opened(DatabaseTable(str(Path("health.duckdb").resolve()), "visits"), "second.ledger")


def test_two_processes_claim_one_source_for_one_ledger(source: Path) -> None:
    def child(name: str) -> None:
        try:
            opened(source, name)
        except LedgerError:
            os._exit(7)

    codes = joined([forked(lambda name=f"{n}.ledger": child(name)) for n in range(6)])  # type: ignore[misc]
    assert sorted(codes) == [0, 7, 7, 7, 7, 7]


# --- the second witness, and a file by its inode ----------------------------------------------------------------------


def test_a_folder_put_back_as_it_was_is_noticed_by_the_second_witness(source: Path) -> None:
    ledger = opened(source, "rand.ledger")
    before = {path: path.read_bytes() for path in (Path("rand.ledger"), Path("randhie.csv.reticent"))}
    charge(ledger)
    note_head(source, ledger)
    for path, text in before.items():
        path.write_bytes(text)
    with pytest.raises(LedgerError, match=r"rand\.ledger is an older copy"):
        opened(source, "rand.ledger")


def test_a_ledger_deleted_with_its_claim_is_not_made_anew(source: Path) -> None:
    charge(opened(source, "rand.ledger"))
    Path("rand.ledger").unlink()
    Path("randhie.csv.reticent").unlink()
    with pytest.raises(LedgerError, match="is gone"):
        opened(source, "rand.ledger")


def test_a_moved_file_and_a_second_name_are_the_same_source(source: Path, home: Path) -> None:
    opened(source, "rand.ledger")
    os.link(source, "again.csv")
    with source.open("a") as file:
        file.write("3,4\n")
    with pytest.raises(LedgerError, match=r"already under rand\.ledger"):
        opened(Path("again.csv"), "second.ledger")
    Path("again.csv").unlink()
    opened(source, "rand.ledger")
    (home / "elsewhere").mkdir()
    moved = source.rename(home / "elsewhere" / "new.csv")
    with pytest.raises(LedgerError, match=r"already under rand\.ledger"):
        opened(moved, "second.ledger")
    opened(moved, "rand.ledger")


def test_a_number_of_a_deleted_file_that_is_given_to_another_is_no_claim(source: Path, home: Path) -> None:
    opened(source, "rand.ledger")
    (kept,) = [file for file in (home / "state" / "reticent" / "sources").iterdir() if '"file"' in file.read_text()]
    other = Path("other.csv")
    other.write_text("mdvis,disea\n7,8\n9,9\n")
    facts = other.stat()
    name = digest_of(canonical(["inode", facts.st_dev, facts.st_ino]))
    kept.rename(kept.with_name(f"{name}.reticent"))  # as if the system had given the number again
    opened(other, "other.ledger")
    with pytest.raises(LedgerError, match=r"already under other\.ledger"):
        opened(other, "third.ledger")


def test_an_export_that_replaces_the_file_stays_under_its_ledger(source: Path) -> None:
    ledger = opened(source, "rand.ledger")
    charge(ledger)
    fresh = Path("export.tmp")
    fresh.write_text("mdvis,disea\n5,6\n")
    fresh.replace(source)
    assert opened(source, "rand.ledger").spent() == ledger.spent()


def test_a_claim_of_an_earlier_version_gains_its_witnesses(source: Path, home: Path) -> None:
    charge(opened(source, "rand.ledger"))
    folder = home / "state" / "reticent" / "sources"
    for file in folder.iterdir():
        file.unlink()
    opened(source, "rand.ledger")
    assert len(list(folder.iterdir())) == 2
