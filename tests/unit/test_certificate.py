"""Certificates: what is changed is noticed, what is forged does not add up, what is garbage is refused in words."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.certificate import schema
from reticent.certificate.certificate import Certificate, read_certificate
from reticent.certificate.keys import load_private, load_public, make_keys
from reticent.certificate.officer import TIERS
from reticent.certificate.record import NOT_DURABLE, answer_to_json
from reticent.certificate.render.page import page
from reticent.certificate.verify import derivable
from reticent.errors import CheckError, LedgerError, PublicParameterError
from reticent.ledger import Ledger
from reticent.mechanisms.gaussian import Gaussian
from reticent.outcome import Estimate, Reply
from reticent.privacy import ptr, serialization
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import in_sequence
from reticent.privacy.convert import as_approx
from reticent.privacy.loss import ZCDP, from_json, to_json
from reticent.privacy.sensitivity import L2
from reticent.statistics.answer import Answer, Cell
from tests.unit.test_certificate_example import (
    PERSON,
    answers,
    document,
    model_document,
    released,
    session_document,
    tree,
)

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads((Path(schema.__file__).parent / "certificate.schema.json").read_text("utf-8"))

Path_ = tuple[str | int, ...]


def audit(found: int = 0) -> dict[str, Any]:
    """What a release says of the audit of the example's plan, with ``found`` findings."""
    names = [*(answer.name for answer in answers()), "capped"]
    findings = [{"kind": "answer", "answer": names[0], "words": "it differs"}] * found
    return {
        "verdict": "refuted" if found else "passed",
        "triples": 50,
        "noise_calls": 50 * len(names),
        "greatest_share_of_loss": 0.5,
        "answers": [{"name": name, "calls": 50, "ratio": None if name == "capped" else 1.0} for name in names],
        "findings": findings,
        "findings_in_all": found,
        "words": "plan audit",
    }


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every place in a JSON value, the inner ones too."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (*path, name)
        yield from places(inner, (*path, name))


def changed(value: Any, path: Path_, new: Any) -> Any:
    """A copy of ``value`` with ``new`` at ``path``; the place is deleted where ``new`` is Ellipsis."""
    found = copy.deepcopy(value)
    inner = found
    for step in path[:-1]:
        inner = inner[step]
    if new is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return found


def at(value: Any, path: Path_) -> Any:
    for step in path:
        value = value[step]
    return value


def failing(certificate: Certificate, ledger: Ledger | None = None) -> list[str]:
    verification = certificate.verify(ledger, allow_unsigned=True)
    return [check.name for check in verification.checks if not check.ok]


# form


def test_what_is_written_is_read() -> None:
    certificate, _ = released(None)
    again = read_certificate(certificate.to_json())
    assert again == certificate
    assert again.digest == certificate.digest
    assert again.guarantee == tree()
    assert again.answers == answers()


def test_a_file_is_read(tmp_path: Path) -> None:
    certificate, _ = released(None)
    file = tmp_path / "table4.json"
    file.write_text(certificate.to_json(), encoding="utf-8")
    assert read_certificate(file) == read_certificate(str(file)) == certificate


def test_the_file_begins_with_what_it_is() -> None:
    assert list(json.loads(released(None)[0].to_json()))[:3] == ["format", "version", "release"]


def test_a_certificate_cannot_be_changed_through_its_document() -> None:
    certificate, _ = released(None)
    certificate.document["answers"].clear()
    assert len(certificate.document["answers"]) == len(answers())


def test_fields_of_a_later_version_are_kept_and_part_of_the_digest() -> None:
    more = Certificate.of({**document(), "weather": "rain"})
    assert read_certificate(more.to_json()).document["weather"] == "rain"
    assert more.digest != Certificate.of(document()).digest


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_no_number_is_nan_or_infinite(number: float) -> None:
    answer = answer_to_json(Answer("mean(x)", (Cell((), Reply(Estimate(number, 0, 1, 1, 1))),)))
    with pytest.raises(CheckError):
        Certificate.of({**document(), "answers": [answer]})


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_no_number_is_read_as_nan_or_infinite(text: str) -> None:
    certificate = Certificate.of(document())
    with pytest.raises(CheckError):
        read_certificate(certificate.to_json().replace("20187", text, 1))


def test_a_no_reply_that_says_more_is_refused() -> None:
    found = document()
    found["answers"][3]["cells"][0]["value"] = 3
    with pytest.raises(CheckError, match="says something"):
        Certificate.of(found)


def test_every_missing_field_is_refused_by_name() -> None:
    for name in document():
        found = {key: value for key, value in document().items() if key != name}
        with pytest.raises(CheckError, match=name):
            Certificate.of(found)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("part", range(4))
def test_the_schema_says_what_the_code_says(part: int) -> None:
    """Every fourth place of a document deleted and replaced by values of every kind: both accept or both refuse."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    signed = {"algorithm": "Ed25519", "public_key": "a" * 64, "value": "b" * 128}
    whole = {**document(), "override": "", "people": 20000, "signature": signed, "audit": audit(found=1)}
    whole["answers"] = [whole["answers"][0], whole["answers"][3], whole["answers"][5]]
    whole["guarantee"]["parts"] = whole["guarantee"]["parts"][:1]
    validator.validate(whole)
    schema.well_formed(whole)
    others: tuple[Any, ...] = (..., None, True, "x", "1/3", -1, 0.5, [], {}, [["a", 1]], {"rho": "1"})
    seen = set()
    for path in islice(places(whole), part, None, 4):
        for other in others:
            made = changed(whole, path, other)
            try:
                schema.well_formed(made)
                accepted = True
            except CheckError:
                accepted = False
            seen.add(accepted)
            assert validator.is_valid(made) == accepted, (path, other)
    assert seen == {True, False}


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("made", "kind"), [(model_document, "model"), (session_document, "session")])
def test_the_schema_says_what_the_code_says_of_models_and_sessions(made: Callable[[], Any], kind: str) -> None:
    validator, whole = jsonschema.Draft202012Validator(SCHEMA), made()
    whole["guarantee"]["parts"] = []
    validator.validate(whole)
    assert Certificate.of(whole).kind == kind
    others: tuple[Any, ...] = (..., None, True, "x", "1/3", "model", "a" * 64, 0, 1, 2, 3, -1, 0.5, [], {}, [["a", 1]])
    seen = set()
    for path in [("version",), ("kind",), *((kind, *inner) for inner in places(whole[kind])), (kind,)]:
        for other in others:
            changed_ = changed(whole, path, other)
            try:
                schema.well_formed(changed_)
                accepted = True
            except CheckError:
                accepted = False
            seen.add(accepted)
            assert validator.is_valid(changed_) == accepted, (path, other)
    assert seen == {True, False}


def test_a_release_is_of_version_one_and_what_later_versions_add_is_not_asked_of_it() -> None:
    assert Certificate.of(document()).kind == "release"
    assert Certificate.of({**document(), "kind": "weather", "model": 3}).kind == "release"
    for version in (0, 3, "2", 2.5, True, None):
        with pytest.raises(CheckError):
            Certificate.of({**model_document(), "version": version})


# audit


@pytest.mark.wide
def test_an_audit_that_fits_is_told_and_not_believed_to_be_run_again() -> None:
    made = Certificate.of({**document(), "audit": audit()})
    assert failing(made) == []
    assert (
        made.verify().lines[-1].startswith("stated, not run again: plan audit passed: 50 made-up pairs of neighbours, ")
    )
    assert "to run it: reticent audit STUDY" in made.verify().lines[-1]
    assert "[x] plan audit passed: 50 made-up pairs" in made.checklist()
    assert "Before the release its program was run on made-up rows (plan audit passed: 50 " in page(made)
    assert made.to_registry()["audit"] == audit()


@pytest.mark.wide
def test_without_an_audit_nothing_is_said_of_one_but_in_the_checklist() -> None:
    made = Certificate.of(document())
    assert [check.name for check in made.verify().checks if check.name == "audit"] == []
    assert "[ ] no audit of the running program is attached" in made.checklist()
    assert "made-up rows" not in page(made)


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (("verdict",), "refuted"),
        (("findings_in_all",), 1),
        (("answers", 0, "ratio"), 1.5),
        (("answers", 0, "ratio"), -0.5),
        (("greatest_share_of_loss",), 1.01),
        (("noise_calls",), 7),
        (("answers", 0, "calls"), 0),
        (("answers", 0, "name"), "mean(else)"),
        (("answers", 0), ...),
        (("answers",), []),
    ],
)
def test_an_audit_that_does_not_fit_fails(path: Path_, new: Any) -> None:
    assert failing(Certificate.of({**document(), "audit": changed(audit(), path, new)})) == ["audit"]


@pytest.mark.wide
def test_an_audit_that_found_something_is_said_wherever_it_is_shown() -> None:
    made = Certificate.of({**document(), "audit": audit(found=1)})
    assert failing(made) == ["audit"]
    assert "[!] plan audit refuted" in made.checklist()
    assert "these answers should not be used" in page(made)


def test_an_audit_of_another_form_is_refused() -> None:
    for wrong in ({}, {**audit(), "triples": 0}, {**audit(), "verdict": "fine"}, "passed"):
        with pytest.raises(CheckError, match="audit"):
            Certificate.of({**document(), "audit": wrong})


# garbage


@pytest.mark.wide
@given(st.one_of(st.text(max_size=200), st.binary(max_size=200).map(lambda raw: raw.decode("latin-1"))))
@settings(deadline=None, max_examples=150)
def test_garbage_is_refused_in_words(text: str) -> None:
    with pytest.raises(CheckError):
        read_certificate("{" + text)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        '{"a": ' * 100_000,
        '{"format": "reticent certificate", "format": "reticent certificate"}',
        '{"format": "reticent certificate", "version": 2}',
        '{"format": "reticent certificate", "version": true}',
        '{"format": "\\ud800"}',
        '{"format": ' + "9" * 10_000 + "}",
        "{}",
    ],
)
def test_crafted_garbage_is_refused_in_words(text: str) -> None:
    with pytest.raises(CheckError):
        read_certificate(text)


def test_files_that_are_none_are_refused_in_words(tmp_path: Path) -> None:
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe{}")
    for source in (tmp_path / "absent.json", tmp_path, binary, "\x00", "no such file"):
        with pytest.raises(CheckError):
            read_certificate(source)


def test_a_certificate_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "large.json"
    file.write_text(Certificate.of(document()).to_json(), encoding="utf-8")
    monkeypatch.setattr(schema, "LARGEST", 1000)
    with pytest.raises(CheckError, match="larger"):
        read_certificate(file)


PLAIN = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "1/0", "7", "1e99999", "substitute"])
JSON = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["size", "rho"]), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.wide
@given(st.data())
@settings(deadline=None, max_examples=150)
def test_a_document_with_one_strange_place_is_read_or_refused_and_verified_or_not(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([document, model_document, session_document]))()
    path = data.draw(st.sampled_from(list(places(whole))))
    made = changed(whole, path, data.draw(JSON))
    try:
        certificate = Certificate.of(made)
    except CheckError:
        return
    certificate.verify(allow_unsigned=True)
    assert "" not in (certificate.explain(), certificate.proof(), certificate.checklist())
    assert certificate.to_registry()["tier"] == 3
    if certificate.kind != "release":
        assert "What was let out" in page(certificate)
        assert "What was let out" in certificate.explain()


def nested(levels: int) -> dict[str, Any]:
    inner = serialization.to_json(tree())
    for _ in range(levels):
        inner = {**inner, "parts": [inner]}
    return inner


def test_a_proof_too_deep_to_walk_is_refused() -> None:
    with pytest.raises(CheckError, match="levels"):
        Certificate.of({**document(), "guarantee": nested(80)})


# signature and ledger


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_keys(tmp_path_factory.mktemp("keys") / "officer")


def test_a_signed_certificate_with_its_ledger_verifies(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    certificate, _ = released(tmp_path / "rand.ledger")
    signed = certificate.sign(load_private(keys[0]))
    assert signed.digest == certificate.digest
    verification = signed.verify(tmp_path / "rand.ledger", keys[1])
    assert verification.ok
    assert str(verification) == (
        "signature ok (Ed25519, officer.pub) · entry r-0001 found, digest equal · ledger chain ok · "
        "charge equal · losses re-derived: ε 1 equal · neighbours equal"
    )
    assert signed.verify(key=load_public(keys[1])).ok


def test_without_a_signature_it_is_unsigned() -> None:
    certificate = Certificate.of(document())
    assert not certificate.verify().ok
    assert certificate.verify().lines[0].startswith("unsigned")
    allowed = certificate.verify(allow_unsigned=True)
    assert allowed.ok
    assert [check.state for check in allowed.checks[:2]] == ["not checked", "not checked"]  # signature and ledger
    assert {check.state for check in allowed.checks[2:]} == {"ok"}


def test_a_signature_without_a_key_to_compare_counts_as_unsigned(keys: tuple[Path, Path]) -> None:
    signed = Certificate.of(document()).sign(load_private(keys[0]))
    assert not signed.verify().ok
    assert signed.verify(allow_unsigned=True).ok


def test_a_signature_by_another_key_fails(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    other, _ = make_keys(tmp_path / "other")
    verification = Certificate.of(document()).sign(load_private(other)).verify(key=keys[1], allow_unsigned=True)
    assert [check.name for check in verification.checks if not check.ok] == ["signature"]
    assert "another key" in verification.lines[0]


def test_a_signature_that_fits_every_text_is_worthless() -> None:
    identity = "01" + "00" * 31  # as a key, and as the first half of a signature, it verifies whatever was signed
    signed = {"algorithm": "Ed25519", "public_key": identity, "value": identity + "00" * 32}
    verification = Certificate.of({**document(), "signature": signed}).verify(allow_unsigned=True)
    assert [check.name for check in verification.checks if not check.ok] == ["signature"]
    assert "worthless" in verification.lines[0]


@pytest.mark.wide
def test_a_change_at_any_place_is_noticed(keys: tuple[Path, Path]) -> None:
    certificate, ledger = released(None)
    whole = certificate.sign(load_private(keys[0])).document
    public = load_public(keys[1])
    for path in places(whole):
        old = at(whole, path)
        if isinstance(old, dict | list):
            continue
        new = not old if isinstance(old, bool) else old + 1 if isinstance(old, int | float) else f"{old}0"
        try:
            made = Certificate.of(changed(whole, path, new))
        except CheckError:
            continue
        assert not made.verify(ledger, public, allow_unsigned=True).ok, path


@pytest.mark.wide
@given(st.data())
@settings(deadline=None, max_examples=200)
def test_one_byte_changed_is_noticed(keys: tuple[Path, Path], data: st.DataObject) -> None:
    signed = Certificate.of(document()).sign(load_private(keys[0]))
    raw = bytearray(signed.text.encode())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 6))
    try:
        made = read_certificate("{" + raw.decode("utf-8")[1:])
    except (CheckError, UnicodeDecodeError):
        return
    assert made == signed or not made.verify(key=load_public(keys[1]), allow_unsigned=True).ok


def test_a_certificate_of_another_ledger_is_not_found() -> None:
    certificate, _ = released(None)
    _, other = released(None)
    assert failing(certificate, other) == ["entry"]


def test_an_answer_changed_after_the_release_has_another_digest_than_the_ledger() -> None:
    certificate, ledger = released(None)
    made = Certificate.of({**certificate.document, "who": "someone else"})
    assert failing(made, ledger) == ["entry"]


def test_a_release_that_was_not_committed_is_said() -> None:
    certificate, _ = released(None)
    ledger = Ledger.create(None, title="RAND", adjacency=PERSON, budget=from_json({"epsilon": "3", "delta": "0"}))
    receipt = ledger.reserve(tree().loss, adjacency=PERSON, what="x")
    made = Certificate.of({**certificate.document, "ledger": {"durable": False, "entry": receipt.entry}})
    assert failing(made, ledger) == ["entry"]


def test_a_broken_chain_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, ledger = released(None)
    monkeypatch.setattr(Ledger, "verify", lambda self: ("entry 2: the digest differs",))
    assert failing(certificate, ledger) == ["chain"]
    with pytest.raises(LedgerError):
        certificate.verify(tmp_path / "absent.ledger")


# forged proofs


def forged(path: Path_, new: Any) -> Certificate:
    return Certificate.of(changed(document(), ("guarantee", *path), new))


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (("parts", 0, "parts", 0, "loss"), {"epsilon": "0.01", "delta": "0"}),  # a leaf's epsilon lowered
        (("parts", 0, "parts", 0, "parameters", "scale"), "100"),
        (("parts", 0, "parameters", "size"), "1"),
        (("parts", 0, "parameters", "size"), "4"),
        (("parts", 0, "loss"), {"epsilon": "0.02", "delta": "0"}),
        (("parts", 4), ...),
        (("parts",), []),
        (("parts", 3, "parts"), []),
        (("loss",), {"epsilon": "0.5", "delta": "0"}),
        (
            ("parts", 2, "parts"),
            [serialization.to_json(tree().parts[2].parts[0]), serialization.to_json(tree().parts[1])],
        ),
        (("parts", 1, "theorem", "name"), "processed"),
        (("theorem", "name"), "across_add_remove"),
        (("parts", 0, "parts", 0, "theorem", "name"), "magic"),
        (("parts", 0, "parts", 0, "parameters"), {}),
        (("parts", 0, "parts", 0, "parameters", "scale"), "0"),
    ],
)
def test_a_forged_proof_does_not_add_up(path: Path_, new: Any) -> None:
    assert failing(forged(path, new)) == ["losses"]


@pytest.mark.parametrize(
    "path", [("adjacency", "rows"), ("parts", 0, "adjacency", "words"), ("adjacency", "size_public")]
)
def test_forged_neighbours_are_noticed(path: Path_) -> None:
    old = at(document()["guarantee"], path)
    new = not old if isinstance(old, bool) else 1 if isinstance(old, int) else "add or remove one hair"
    assert "neighbours" in failing(forged(path, new))


def test_a_proof_forged_throughout_adds_up_but_is_not_the_ledgers() -> None:
    certificate, ledger = released(None)
    cheap = in_sequence(tree().parts[:4], label="table 4")
    made = {**certificate.document, "guarantee": serialization.to_json(cheap), "charged": to_json(cheap.loss)}
    assert failing(Certificate.of(made)) == []
    assert failing(Certificate.of(made), ledger) == ["entry", "charge"]


def test_a_total_below_that_of_the_ledger_is_noticed() -> None:
    certificate, ledger = released(None)
    made = changed(certificate.document, ("budget", "spent"), {"epsilon": "0.5", "delta": "0"})
    assert failing(Certificate.of(made), ledger) == ["entry", "charge"]


def test_proofs_that_would_take_for_ever_are_not_derived() -> None:
    grouped = tree().parts[0].parts[0]
    huge = serialization.to_json(grouped)
    for size in ("100000", "9999999"):
        inner = {
            **huge,
            "theorem": {"name": "grouped", "statement": "", "source": ""},
            "loss": {"epsilon": "1", "delta": "1e-9"},
            "parameters": {"size": size},
            "parts": [{**huge, "loss": {"epsilon": "1", "delta": "1e-9"}}],
        }
        assert "losses" in failing(Certificate.of({**document(), "guarantee": inner}))


# other currencies


def test_a_release_in_rho_and_its_view_at_a_delta_verify() -> None:
    rho = Gaussian(L2(Fraction(25), PERSON), Fraction(1, 8)).guarantee
    view = as_approx(rho, Fraction(1, 10**9))
    for proof in (rho, view):
        loss = to_json(proof.loss)
        budget = {"approved": loss, "spent": loss, "left": loss}
        made = {**document(), "guarantee": serialization.to_json(proof), "charged": loss, "budget": budget}
        assert failing(Certificate.of(made)) == []
        assert "factor of at most" in Certificate.of(made).explain()


def test_a_pure_release_charged_to_a_ledger_in_rho_verifies() -> None:
    ledger = Ledger.create(None, title="x", adjacency=PERSON, budget=ZCDP(Fraction(2)))
    receipt = ledger.reserve(tree().loss, adjacency=PERSON, what="x")
    rho, budget = to_json(receipt.charge), to_json(ledger.budget)
    found = {**document(entry=receipt.entry), "charged": rho, "budget": {"approved": budget, "spent": rho, "left": rho}}
    certificate = Certificate.of(found)
    ledger.commit(receipt, digest=certificate.digest)
    assert rho == {"rho": "0.5"}
    assert failing(certificate, ledger) == []


# in words


def test_explain_says_what_the_release_means_and_what_is_missing() -> None:
    certificate, _ = released(None)
    said = certificate.explain(prior=0.1)
    assert "factor of at most 2.72" in said
    assert "From 10 % to no more than 23.2 %" in said
    assert "Why: geometric (6 parts), exponential (1 part)" in said
    assert NOT_DURABLE in said
    assert NOT_DURABLE not in Certificate.of(document()).explain()
    assert "because" in Certificate.of({**document(), "override": "because"}).explain()
    with pytest.raises(PublicParameterError):
        certificate.explain(prior=1)


def test_proof_names_every_part() -> None:
    said = Certificate.of(document()).proof()
    for name in ("count", "mean(mdvis)", "median(disea)", "McSherry 2009", "in sequence"):
        assert name in said


def test_checklist_follows_its_order_and_says_what_it_cannot_know() -> None:
    said = released(None)[0].checklist()
    heads = ["1 Parameters", "2 Unit", "3 What could undermine", "4 Collection"]
    assert sorted(heads, key=said.index) == heads
    assert NOT_DURABLE in said
    assert "unsigned" in said
    assert "cannot" in said
    for caveat in released(None)[0].caveats:
        assert caveat in said


def test_checklist_points_at_bounds_without_a_reason() -> None:
    found = changed(document(), ("columns", "mdvis", "why"), "")
    assert "the bounds of mdvis have no reason" in Certificate.of(found).checklist()


def test_registry_entries_mark_what_is_missing() -> None:
    certificate = Certificate.of(document())
    for tier in (1, 2, 3):
        entry = certificate.to_registry(tier)
        assert set(entry) == {"tier", "missing", *(name for level in range(1, tier + 1) for name in TIERS[level])}
        assert entry["missing"] == [name for name, value in entry.items() if value is None]
        json.dumps(entry, allow_nan=False)
    with pytest.raises(PublicParameterError):
        certificate.to_registry(4)


def test_a_proof_that_rests_on_declared_steps_is_not_verified() -> None:
    step = ptr.declared(Fraction(1, 10**9), Fraction(1, 10**12), Adjacency("substitute"), label="the median", law="v")
    with pytest.raises(CheckError, match="the median: only declared"):
        derivable(ptr.one_test(step))


def test_answers_are_read_once_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release has its answers, so making its certificate reads none. Its text, page and notes read them once."""
    from reticent.certificate import record
    from reticent.certificate.render.listing import listing
    from reticent.certificate.render.page import page

    read, told = record.answer_from_json, list[str]()

    def noted(found: dict[str, Any]) -> Answer:
        told.append(found["name"])
        return read(found)

    monkeypatch.setattr(record, "answer_from_json", noted)
    certificate = Certificate.of(document())
    assert certificate.digest
    assert not told
    assert certificate.answers is certificate.answers
    assert listing(certificate)
    assert page(certificate)
    assert told == [answer.name for answer in answers()]
