"""Withdrawing a release: the ledger keeps it, ``verify`` fails it, its page says so, and nothing is given back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import reticent as rt
from reticent.certificate.render.page import page
from reticent.errors import LedgerError
from reticent.ledger import Ledger
from reticent.ledger.events import Withdrawn
from reticent.ledger.replay import Replay, Row
from tests.support.cli_kit import run

WHY = "the file lacked a ward"


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[rt.Study, Path]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    study = rt.study(
        {"x": [1, 2, 3] * 100},
        adjacency="add_remove",
        columns={"x": rt.integer(0, 9)},
        budget="2",
        ledger=tmp_path / "s.ledger",
    )
    study.release(["count"], epsilon="1").save(tmp_path / "one")
    return study, tmp_path / "one.json"


def test_a_withdrawn_release_fails_verify_and_stays_spent(released: tuple[rt.Study, Path]) -> None:
    study, file = released
    certificate = rt.read_certificate(file)
    assert certificate.verify(study.ledger, allow_unsigned=True).ok
    left = study.left()
    study.ledger.withdraw("r-0001", reason=WHY)
    assert study.left() == left == rt.PureDP(Fraction(1))
    (line,) = study.ledger.releases()
    assert (line.state, line.why) == ("committed", WHY)
    assert line.withdrawn is not None
    assert study.ledger.verify() == ()
    assert isinstance(study.ledger.entries()[-1].event, Withdrawn)
    (failed,) = [check for check in certificate.verify(study.ledger, allow_unsigned=True).checks if not check.ok]
    assert failed.name == "withdrawn"
    assert failed.words == f"r-0001 was withdrawn on {line.withdrawn[:10]} by curator: {WHY}"
    study.release(["count"], epsilon="1")  # another release stands


def test_what_was_not_published_cannot_be_withdrawn(released: tuple[rt.Study, Path]) -> None:
    ledger = released[0].ledger
    ledger.reserve(rt.PureDP(Fraction(1, 2)), adjacency=ledger.adjacency, what="running")
    with pytest.raises(LedgerError, match="There is no r-0009"):
        ledger.withdraw("r-0009", reason=WHY)
    with pytest.raises(LedgerError, match="r-0002 is reserved"):
        ledger.withdraw("r-0002", reason=WHY)
    ledger.withdraw("r-0001", reason=WHY)
    with pytest.raises(LedgerError, match=f"already: {WHY}"):
        ledger.withdraw("r-0001", reason="again")
    assert len(ledger.entries()) == 5


def test_a_withdrawal_of_nothing_is_no_chain(released: tuple[rt.Study, Path]) -> None:
    from reticent.ledger.events import Entry

    ledger = released[0].ledger
    ledger.withdraw("r-0001", reason=WHY)
    replay = Replay()
    for entry in ledger.entries():
        replay.feed(Row(entry.number, entry.body, entry.digest))
    again = Entry(replay.number + 1, ledger.entries()[-1].when, replay.head, Withdrawn("r-0001", "curator", WHY))
    with pytest.raises(LedgerError, match="no release that stands"):
        replay.feed(Row(again.number, again.body, again.digest))


def test_the_page_says_first_that_it_was_withdrawn(released: tuple[rt.Study, Path]) -> None:
    certificate = rt.read_certificate(released[1])
    text = page(certificate, withdrawn=f"2026-11-23, <{WHY}>")
    assert text.index("This release was withdrawn") < text.index("Answers")
    assert f"&lt;{WHY}&gt;" in text
    assert "withdrawn" not in page(certificate)


def test_another_process_sees_the_withdrawal(released: tuple[rt.Study, Path], tmp_path: Path) -> None:
    other = Ledger.open(tmp_path / "s.ledger")
    released[0].ledger.withdraw("r-0001", reason=WHY)
    assert other.releases()[0].why == WHY


def test_the_verb_records_it_and_marks_the_page(released: tuple[rt.Study, Path], tmp_path: Path) -> None:
    ledger, file = str(tmp_path / "s.ledger"), str(released[1])
    assert run("verify", file, "--ledger", ledger, "--allow-unsigned").code == 0
    done = run("withdraw", ledger, file, "--reason", WHY, "--who", "the board")
    assert done.code == 0
    assert "ε 1 stays spent" in done.said
    assert "This release was withdrawn" in (tmp_path / "one.html").read_text("utf-8")
    assert WHY in (tmp_path / "one.html").read_text("utf-8")
    assert run("verify", file, "--ledger", ledger, "--allow-unsigned").code == 6
    assert f"withdrawn {released[0].ledger.entries()[-1].when[:10]}: {WHY}" in run("ledger", "show", ledger).said
    (line,) = run("ledger", "show", ledger, "--json").document["releases"]
    assert line["why"] == WHY
    assert f"withdrawn: {WHY}" in _sheet(tmp_path)


def _sheet(folder: Path) -> str:
    assert run("registry", str(folder), "--csv", str(folder / "all.csv")).code == 0
    return (folder / "all.csv").read_text("utf-8")


def test_a_page_is_marked_after_a_withdrawal_by_id(released: tuple[rt.Study, Path], tmp_path: Path) -> None:
    ledger = str(tmp_path / "s.ledger")
    assert run("withdraw", ledger, "r-0001", "--reason", WHY, "--json").document["files"] == []
    assert "withdrawn" not in (tmp_path / "one.html").read_text("utf-8")
    again = run("withdraw", ledger, str(released[1]), "--reason", "another")
    assert again.code == 0
    assert f"was withdrawn before: {WHY}" in again.said
    assert WHY in (tmp_path / "one.html").read_text("utf-8")
    assert len(Ledger.open(ledger).entries()) == 4


@pytest.mark.parametrize("reason", [WHY, f"{WHY}."])
def test_a_reason_ends_with_one_stop_wherever_it_is_told(tmp_path: Path, reason: str) -> None:
    study = rt.study(
        {"x": [1, 2, 3] * 100},
        adjacency="add_remove",
        columns={"x": rt.integer(0, 9)},
        budget="2",
        ledger=tmp_path / "t.ledger",
    )
    study.release(["count"], epsilon="1", record=rt.Record(request_id="once")).save(tmp_path / "two")
    typed = ("withdraw", str(tmp_path / "t.ledger"), str(tmp_path / "two.json"), "--reason", reason)
    told = [run(*typed).said, run(*typed).said]  # the second time: that it was withdrawn before
    with pytest.raises(LedgerError) as refused:
        study.release(["count"], epsilon="1", record=rt.Record(request_id="once"))
    assert all(f"{WHY}. " in text and ".." not in text for text in (*told, str(refused.value)))


def test_another_certificate_withdraws_nothing(released: tuple[rt.Study, Path], tmp_path: Path) -> None:
    text = released[1].read_text("utf-8").replace('"purpose": ""', '"purpose": "x"')
    (tmp_path / "other.json").write_text(text, "utf-8")
    for named in (str(tmp_path / "other.json"), "r-0009"):
        refused = run("withdraw", str(tmp_path / "s.ledger"), named, "--reason", WHY)
        assert refused.code in (5, 6)
    assert released[0].ledger.releases()[0].withdrawn is None
