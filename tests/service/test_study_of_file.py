"""A file that is asked by ``rt.study`` is under one ledger, as one that a study file names."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import reticent as rt
from reticent.errors import LedgerError
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def rows(folder: Path) -> Path:
    file = folder / "rows.csv"
    file.write_text("x\n" + "1\n2\n" * 500)
    return file


def asked(source: str | Path, ledger: Path | None) -> rt.Study:
    return rt.study(source, adjacency="add_remove", columns={"x": rt.real(0, 10)}, budget="1", ledger=ledger)


def test_a_second_ledger_for_a_file_is_refused_under_any_of_its_names(tmp_path: Path) -> None:
    file = rows(tmp_path)
    asked(file, tmp_path / "one.ledger").release(["mean(x)"], epsilon="1")
    link = tmp_path / "link.csv"
    link.symlink_to(file)
    for name in (file, str(file), link):
        for other in (tmp_path / "two.ledger", None):
            with pytest.raises(LedgerError, match="already under"):
                asked(name, other)
    assert not (tmp_path / "two.ledger").exists()
    assert asked(file, tmp_path / "one.ledger").left() == rt.PureDP(Fraction(0))


@pytest.mark.wide
def test_a_ledger_that_names_no_source_goes_on_and_counts_for_the_file(tmp_path: Path) -> None:
    """Version 0.1.0 made such ledgers for files."""
    file, old = rows(tmp_path), tmp_path / "old.ledger"
    Ledger.create(old, title="study", adjacency=Adjacency("add_remove"), budget=rt.PureDP(Fraction(1)))
    for _ in range(2):
        asked(file, old).release(["mean(x)"], epsilon="0.5")
    with pytest.raises(LedgerError, match="already under"):
        asked(file, tmp_path / "two.ledger")


def test_an_older_copy_of_its_ledger_is_noticed_after_a_release(tmp_path: Path) -> None:
    file, ledger = rows(tmp_path), tmp_path / "one.ledger"
    study = asked(file, ledger)
    copy = ledger.read_bytes()
    study.release(["mean(x)"], epsilon="1")
    ledger.write_bytes(copy)
    with pytest.raises(LedgerError, match="older copy"):
        asked(file, ledger)
