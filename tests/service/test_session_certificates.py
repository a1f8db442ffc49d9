"""Certificates of sessions: a receipt for every round, the transcript behind the digests, the officer's commands."""

from __future__ import annotations

import copy
import html
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.certificate.certificate import Certificate, read_certificate
from reticent.certificate.keys import load_private, make_keys
from reticent.certificate.render.page import page
from reticent.errors import Fault, QuestionError
from reticent.learning import Accuracy, Level, LogisticRegression
from reticent.ledger import Ledger
from reticent.privacy.loss import ZCDP, PureDP
from reticent.sessions import session as paid
from reticent.study.study import Study
from tests.service.test_session_ledger import ROWS, opened, study
from tests.support.cli_kit import run

SESSIONS: dict[str, Callable[[Study], Any]] = {
    "holdout": lambda of: opened(of, rounds=2, epsilon=4),
    "sparse vector": lambda of: of.sparse_vector(["y"], epsilon=2, positives=1),
    "ladder": lambda of: of.leaderboard(["x", "y"], epsilon=2, improvements=2, step="0.05"),
    "noisy answers": lambda of: of.noisy_answers(["x", "y"], rho="0.1", answers=3, delta="1e-9"),
}


def asked(session: Any) -> None:
    """A question of every session's own kind, answered."""
    ask = {
        "Holdout": lambda: session.check(Level("y")),
        "SparseVectorSession": lambda: session.above(Level("y"), "0.1"),
        "Leaderboard": lambda: session.submit(Accuracy({"x": 1.0}, "y")),
        "Answers": lambda: session.ask(Level("y")),
    }
    ask[type(session).__name__]()


def failing(certificate: Certificate, ledger: Ledger) -> list[str]:
    return [check.name for check in certificate.verify(ledger, allow_unsigned=True).checks if not check.ok]


def with_part(certificate: Certificate, change: Callable[[dict[str, Any]], object]) -> Certificate:
    """The certificate with its session changed."""
    document = copy.deepcopy(certificate.document)
    change(document["session"])
    return Certificate.of(document)


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_that_ended_verifies(name: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    of = study(file, kind=kind, delta="1e-6")
    with SESSIONS[name](of) as session:
        asked(session)
    certificate = session.certificate
    assert failing(certificate, Ledger.open(file)) == []
    assert read_certificate(certificate.to_json()) == certificate
    assert (certificate.kind, certificate.charged) == ("session", of.ledger.spent())
    assert certificate.guarantee == session.guarantee
    stated = certificate.document["session"]
    assert stated["what"] == name
    assert [tuple(pair) for pair in stated["transcript"]] == list(session.transcript)
    assert stated["rows"]["count"] == session.people
    assert (stated["rows"]["noise"] == 0) == (kind == "substitute")
    assert certificate.document["people"] == (400 if kind == "substitute" else None)
    assert f"1 answer of a session ({name})" in certificate.explain()
    assert f"[x] let out: 1 answer of a session ({name})" in certificate.checklist()
    assert html.escape(session.transcript[0][0]) in page(certificate)
    assert certificate.to_registry()["hyperparameters"] == stated["parameters"]


def test_a_key_signs_the_certificate_of_a_session_and_the_ledger_has_the_signed_one(tmp_path: Path) -> None:
    private, public = make_keys(tmp_path / "officer")
    of = study()
    with of.sparse_vector(["y"], epsilon=1, positives=1, record=rt.Record(key=private)) as session:
        session.above(Level("y"), "0.9")
    assert session.certificate.verify(of.ledger, public).ok
    with pytest.raises(rt.PublicParameterError, match=r"record is rt\.Record"):
        of.holdout(["y"], epsilon=1, rounds=1, threshold="0.1", record="anna")  # type: ignore[arg-type]


def test_what_was_agreed_is_stated() -> None:
    of = study()
    about = rt.Record(name="ages", who="anna")
    with of.sparse_vector(
        ["y"], epsilon=1, positives=3, of="counts", show="above", purpose="table 2", record=about
    ) as session:
        pass
    document = session.certificate.document
    assert (document["name"], document["purpose"], document["who"]) == ("ages", "table 2", "anna")
    assert document["session"]["parameters"] == {"epsilon": "1", "positives": "3", "of": "counts", "show": "above"}
    assert (document["session"]["rows"], document["session"]["transcript"]) == (None, [])  # counts need no number
    assert set(document["columns"]) == {"y"}
    about = rt.Record(override="a pilot")
    with study(budget=8).leaderboard(["y"], epsilon=1, improvements=2, step="0.05", record=about) as board:
        pass
    assert board.certificate.document["override"] == "a pilot"
    assert board.certificate.document["session"]["parameters"]["start"] == "0.5"


def test_every_round_has_its_receipt_and_every_certificate_on_the_way_verifies() -> None:
    of = study()
    session = opened(of, rounds=3, epsilon=3)
    seen: list[Certificate] = []
    for _ in range(3):
        session.check(Level("x"))  # agrees, so its round stays open
        with pytest.raises(QuestionError, match="close the session first"):
            _ = session.certificate
        session.check(Level("y"))
        seen.append(session.certificate)
    assert len({certificate.digest for certificate in seen}) == 3
    for place, certificate in enumerate(seen, start=1):
        assert failing(certificate, of.ledger) == []
        assert certificate.charged == PureDP(Fraction(place))
        rounds = certificate.document["session"]["rounds"]
        assert [one["digest"] for one in rounds] == [*(earlier.digest for earlier in seen[: place - 1]), None]
    told = [check.words for check in seen[-1].verify(of.ledger).checks]
    names = [one["release"] for one in seen[-1].document["session"]["rounds"]]
    assert f"3 entries found, {names[0]} to {names[-1]}, digests equal" in told


@pytest.mark.wide
def test_many_rounds_have_several_certificates_each_of_which_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Together they have every round and every answer once, and what they charge is what the session charged."""
    monkeypatch.setattr(paid, "VOLUME", 3)
    of = study()
    session = opened(of, rounds=8, epsilon=8)
    for _ in range(7):
        session.check(Level("x"))  # agrees
        session.check(Level("y"))
        assert failing(session.certificate, of.ledger) == []
    found = session.certificates
    assert [len(one.document["session"]["rounds"]) for one in found] == [3, 3, 1]
    assert session.certificate is found[-1]
    assert [failing(one, of.ledger) for one in found] == [[], [], []]
    assert [one.charged for one in found] == [PureDP(Fraction(3)), PureDP(Fraction(3)), PureDP(Fraction(1))]
    told = [tuple(pair) for one in found for pair in one.document["session"]["transcript"]]
    assert tuple(told) == session.transcript
    names = [one["release"] for part in found for one in part.document["session"]["rounds"]]
    assert names == [line.id for line in of.ledger.releases()]
    stated = [one.document["session"]["parameters"] for one in found]
    assert "volume" not in stated[0]
    assert [(one["volume"], one["after"]) for one in stated[1:]] == [("2", found[0].digest), ("3", found[1].digest)]
    assert session.guarantee.loss == of.ledger.spent() == PureDP(Fraction(7))


@pytest.mark.wide
def test_a_fault_in_a_later_volume_loses_none_of_the_rounds_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paid, "VOLUME", 2)
    of = study()
    session = opened(of, rounds=6, epsilon=6)
    for _ in range(4):
        session.check(Level("y"))
    before = session.certificates

    def broken(self: Ledger, receipt: Any, *, digest: str) -> None:
        raise OSError

    monkeypatch.setattr(Ledger, "commit", broken)
    with pytest.raises(Fault):
        session.check(Level("y"))
    assert session.certificates == before
    assert [failing(one, of.ledger) for one in before] == [[], []]
    assert of.ledger.spent() == PureDP(Fraction(5))


@pytest.mark.wide
def test_what_a_round_writes_does_not_grow_with_the_rounds_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paid, "VOLUME", 2)
    session = opened(study(), rounds=12, epsilon=8)
    sizes = []
    for _ in range(12):
        session.check(Level("y"))  # off by 13 times the scale of its noise
        sizes.append(len(session.certificate.text))
    assert max(sizes[8:]) < 1.1 * max(sizes[2:6])
    assert max(sizes) < 2 * sizes[0]


@pytest.mark.wide
def test_whatever_is_changed_is_found() -> None:
    of = study()
    with opened(of, rounds=3, epsilon=3) as session:
        for _ in range(3):
            session.check(Level("y"))
    certificate = session.certificate
    changes: dict[str, Callable[[dict[str, Any]], object]] = {
        "an answer": lambda part: part["transcript"][0].__setitem__(1, "Checked(value=0.9, by='holdout')"),
        "an answer less": lambda part: part["transcript"].pop(),
        "the number of rows": lambda part: part["rows"].update(count=399),
        "a parameter": lambda part: part["parameters"].update(threshold="0.01"),
        "the digest of a round": lambda part: part["rounds"][0].update(digest="0" * 64),
        "a round less": lambda part: part["rounds"].pop(1),
        "a round twice": lambda part: part["rounds"].insert(1, part["rounds"][0]),
        "a round of no ledger": lambda part: part["rounds"][1].update(entry="0" * 64),
    }
    assert failing(certificate, of.ledger) == []
    for name, change in changes.items():
        assert "entry" in failing(with_part(certificate, change), of.ledger), name
    assert failing(certificate, study().ledger) == ["entry"]
    less = certificate.document
    less["guarantee"]["loss"] = less["charged"] = {"epsilon": "1", "delta": "0"}
    assert failing(Certificate.of(less), of.ledger) == ["entry", "charge", "losses"]


@pytest.mark.wide
def test_a_round_that_is_missing_in_the_ledger_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    of = study()
    with opened(of, rounds=2, epsilon=2) as session:
        session.check(Level("y"))
        session.check(Level("y"))
    certificate, entries = session.certificate, Ledger.entries
    first = certificate.document["session"]["rounds"][0]["release"]
    monkeypatch.setattr(
        Ledger, "entries", lambda self: tuple(e for e in entries(self) if getattr(e.event, "id", "") != first)
    )
    assert failing(certificate, of.ledger) == ["entry"]


@pytest.mark.wide
def test_a_commit_of_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, of = Ledger.commit, study()
    monkeypatch.setattr(Ledger, "commit", lambda self, receipt, *, digest, **_: honest(self, receipt, digest="0" * 64))
    with opened(of) as session:
        session.check(Level("x"))
    assert failing(session.certificate, of.ledger) == ["entry"]


@pytest.mark.wide
def test_a_ledger_in_rho_and_rows_lost_to_missing_values_verify() -> None:
    of = study(budget=ZCDP(Fraction(1, 2)), kind="add_remove", missing="drop")
    with opened(of, rounds=2, epsilon="0.4") as session:
        session.check(Level("y"))
        session.check(Level("y"))
    assert failing(session.certificate, of.ledger) == []
    assert isinstance(session.certificate.charged, ZCDP)


@pytest.mark.wide
def test_after_a_fault_there_is_the_certificate_of_the_rounds_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    of = study()
    session = opened(of)
    session.check(Level("y"))
    before = session.certificate
    session.check(Level("x"))
    honest = Ledger.commit

    def broken(self: Ledger, receipt: Any, *, digest: str) -> None:
        raise OSError

    monkeypatch.setattr(Ledger, "commit", broken)
    with pytest.raises(Fault):
        session.check(Level("y"))
    assert session.certificate is before
    assert failing(before, of.ledger) == []
    monkeypatch.setattr(Ledger, "commit", honest)
    session.close()
    assert session.certificate is before
    never = opened(of)
    monkeypatch.setattr(Ledger, "commit", broken)
    with pytest.raises(Fault):
        never.check(Level("y"))
    with pytest.raises(QuestionError, match="No round of this session"):
        _ = never.certificate


@pytest.mark.wide
def test_no_row_is_in_a_certificate() -> None:
    rows: dict[str, Any] = {**ROWS, "x": [0.7316498251 + 1e-10 * place for place in range(400)]}
    columns: Any = {"x": rt.real(0, 1, missing=0), "y": rt.integer(0, 1, missing=0), "g": rt.category(["a", "b"])}
    of = rt.study(rows, adjacency="substitute", columns=columns, budget=8)
    mine = {"x": [0.1284756391, 0.9], "y": [1, 1]}
    with opened(of, training=mine) as session:
        session.check(Level("y"))
        session.check(Level("x"))
    text = session.certificate.to_json() + page(session.certificate)
    assert "0.73164982" not in text
    assert "0.1284756391" not in text
    rows_seen = with_part(session.certificate, lambda part: part["transcript"].append(["x", repr(rows["x"][0])]))
    assert "0.73164982" in rows_seen.to_json()  # the search finds one that is there


@pytest.mark.wide
@pytest.mark.parametrize("name", ["session", "model"])
def test_the_officers_commands_take_models_and_sessions(name: str, tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    of = study(file)
    private, public = make_keys(tmp_path / "officer")
    if name == "session":
        with opened(of, rounds=2) as session:
            session.check(Level("y"))
            session.check(Level("x"))
        certificate = session.certificate
    else:
        certificate = LogisticRegression(epsilon=1).fit(*of.xy(["x"], "y")).certificate_
    written = str(certificate.sign(load_private(private)).save(tmp_path / "made.json"))
    done = run("verify", written, "--ledger", str(file), "--key", str(public))
    assert done.code == 0
    assert "found" in done.out
    said = run("explain", written, "--proof", "--checklist")
    assert said.code == 0
    for words in ("What was let out", "[x] let out", "Who is protected"):
        assert words in said.out
    part = certificate.document[name]
    part["what"] = "another"
    changed = Certificate.of({**certificate.document, name: part}).save(tmp_path / "changed.json")
    assert run("verify", str(changed), "--ledger", str(file), "--allow-unsigned").code == 6
    other = tmp_path / "other.ledger"
    study(other).ledger.verify()
    assert run("verify", written, "--ledger", str(other), "--key", str(public)).code == 6
