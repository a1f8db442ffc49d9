"""Fuzzed study files, tables, certificates and command lines: no traceback, no canary, no answer without a debit."""

from __future__ import annotations

import dataclasses
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.certificate import schema
from reticent.data import files, study_file
from reticent.errors import SpecError
from reticent.ledger import Ledger
from reticent.ledger.events import Receipt
from reticent.study import release
from tests.support import fuzz_cli, fuzz_study
from tests.support.fuzz_kit import Canaries, Room, room, run_here, shown, tried
from tests.support.fuzz_runs import MIX, PARTS, apart, batch


@pytest.mark.parametrize(
    ("part", "number"), [("study", 25), ("certificate", 20), ("cli", 12), ("data", 3), ("process", 1)]
)
def test_fuzzed_inputs_end_in_words_and_tell_nothing(part: str, number: int, tmp_path: Path) -> None:
    assert [str(finding) for finding in batch(part, "change", 0, number, tmp_path).findings] == []


@pytest.mark.wide
def test_every_part_is_in_the_mix() -> None:
    assert MIX.keys() == PARTS.keys()
    assert sum(MIX.values()) == 1000


@pytest.mark.wide
def test_an_input_is_made_again_from_its_key() -> None:
    made = [fuzz_study.study_bytes(random.Random("key/study/7")) for _ in range(2)]
    assert made[0] == made[1] != fuzz_study.study_bytes(random.Random("key/study/8"))


# --- canaries ---------------------------------------------------------------------------------------------------------

CANARIES = Canaries((18273647, 91827363), ("qzxjkvwqzxjkvwqz",))


@pytest.mark.wide
@pytest.mark.parametrize(
    "text",
    [
        "bad cell 18273647",
        "-18273647.0",
        '["18273647"]',
        "1.8273647e+07",
        "18,273,647 people",
        "xqzxjkvwqzxjkvwqzx",
        "x=91827363,",
    ],
)
def test_a_canary_is_found_in_text(text: str) -> None:
    assert len(CANARIES.found(text.encode())) == 1


@pytest.mark.wide
@pytest.mark.parametrize(
    "text", ["118273647", "0.18273647", "a18273647f", "182736470", "1.82736470", "f-18d0b18273647a"]
)
def test_digits_inside_another_number_are_no_canary(text: str) -> None:
    assert CANARIES.found(text.encode()) == []


@pytest.mark.wide
@pytest.mark.parametrize("value", [18273647, [91827363.0], {"a": "qzxjkvwqzxjkvwqz"}, (1, 18273647)])
def test_a_canary_is_found_in_a_pickle(value: object) -> None:
    class Quiet:
        def __reduce__(self) -> tuple[Any, ...]:
            return (list, ([value],))

    assert len(CANARIES.found(shown(Quiet()))) == 1


@pytest.mark.wide
def test_a_canary_is_found_in_the_cause_of_an_exception() -> None:
    def fails() -> None:
        try:
            raise ValueError("18273647")
        except ValueError:
            raise SpecError("nothing to see") from None

    assert len(CANARIES.found(tried(fails, "it").said)) == 1


@pytest.mark.wide
def test_a_file_left_behind_is_looked_at_and_removed(tmp_path: Path) -> None:
    here = Room(tmp_path, CANARIES)
    here.work.mkdir()
    (here.work / "kept").write_text("as it was")
    here.keep()
    (tmp_path / "spill").write_text("1,18273647,3")
    (here.work / "kept").write_text("changed")
    assert [trouble.words for trouble in here.swept(b"")] == ["18273647 in spill"]
    assert (here.files(), (here.work / "kept").read_text()) == ([here.work / "kept"], "as it was")


# --- mutants ----------------------------------------------------------------------------------------------------------


def kinds(part: str, number: int, folder: Path) -> set[str]:
    return {finding.kind for finding in batch(part, "mutant", 0, number, folder).findings}


@pytest.mark.wide
def test_a_value_in_the_message_of_an_exception_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def talkative(path: Path, *_: str) -> tuple[str, ...]:
        lines = path.read_text(errors="replace").splitlines()
        raise SpecError(f"The last line of {path.name} is odd: {lines[-1] if lines else ''}")

    monkeypatch.setattr(files, "header_of", talkative)
    assert "canary" in kinds("data", 8, tmp_path)


@pytest.mark.wide
def test_a_value_in_the_cause_of_a_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault itself is opaque; what is raised from it is not."""

    def chained(*words: Any) -> object:
        try:
            raise KeyError(fuzz_study.rows_csv(Canaries.drawn(random.Random("mutant"))))
        except KeyError:
            raise rt.Fault("f-1", "ε 0.01") from None

    monkeypatch.setattr(release, "run", chained)
    assert "canary" in kinds("data", 4, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("part", "where", "name"), [("study", study_file, "read_numbers"), ("certificate", schema, "well_formed")]
)
def test_an_exception_of_no_type_of_ours_is_found(
    part: str, where: object, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant fails where an input is odd, not on the sound ones the room is furnished with."""
    sound = getattr(where, name)

    def brittle(*given: Any) -> object:
        try:
            return sound(*given)
        except Exception:
            raise IndexError("list index out of range") from None

    monkeypatch.setattr(where, name, brittle)
    runs = (batch(part, "mutant", first, 20, tmp_path) for first in range(0, 160, 20))
    assert any("traceback" in {finding.kind for finding in run.findings} for run in runs)


@pytest.mark.wide
def test_an_internal_fault_before_any_charge_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(study_file, "read_spec", broken)
    ran = run_here(["check", str(tmp_path / "x.toml")])
    assert [trouble.kind for trouble in ran.troubles()] == ["internal"]


@pytest.fixture
def generous(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: releases that charge nothing."""

    def free(prepared: Any, ledger: Ledger, about: object) -> Receipt:
        return Receipt("r-0001", prepared.guarantee.loss, "0" * 64, "2026-01-01")

    monkeypatch.setattr(release, "charge", free)
    monkeypatch.setattr(Ledger, "commit", lambda self, receipt, **_: None)


@pytest.mark.wide
@pytest.mark.usefixtures("generous")
def test_an_answer_that_was_not_charged_is_found(tmp_path: Path) -> None:
    assert "charge" in kinds("data", 5, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("json_or_not", [[], ["--json"]])
def test_an_answer_of_a_command_that_was_not_charged_is_found(
    json_or_not: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    words = ["release", "study.toml", "--ask", "count", "--epsilon", "0.1", "--out", "o", *json_or_not]
    with room(tmp_path / "room", Canaries.drawn(random.Random(1))) as here:
        fuzz_cli.furnish(here)
        assert fuzz_cli.judged(words, here, run_here) == []
        request.getfixturevalue("generous")
        assert [trouble.kind for trouble in fuzz_cli.judged(words, here, run_here)] == ["charge"]


@pytest.mark.wide
def test_a_changed_certificate_that_verifies_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.certificate import verify

    monkeypatch.setattr(verify, "_signature", lambda *_: verify.Check("signature", True, "fine"))
    monkeypatch.setattr(verify, "_in_ledger", lambda *_: iter(()))
    monkeypatch.setattr(verify, "_derivation", lambda *_: iter(()))
    assert "believed" in kinds("certificate", 60, tmp_path)


# --- the long tier ----------------------------------------------------------------------------------------------------

CHUNKS = 20


@pytest.mark.audit
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_hundred_thousand_fuzzed_inputs_end_in_words_and_tell_nothing(chunk: int) -> None:
    """In chunks of five thousand, so that ``make audit`` goes on where it stopped; figures go to build/fuzz.jsonl."""
    log = Path(os.environ.get("AUDIT_LOG", "build/audit.jsonl")).with_name("fuzz.jsonl")
    log.parent.mkdir(parents=True, exist_ok=True)
    for part, number in MIX.items():
        done = apart(part, "long", chunk * 5 * number, 5 * number)
        with log.open("a") as file:
            file.write(json.dumps({"chunk": chunk, **dataclasses.asdict(done)}) + "\n")
        assert [str(finding) for finding in done.findings] == []
