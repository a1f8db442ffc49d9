"""Failing disks, changed bytes: each fault is a refusal before the charge or a charged fault, tampering is noticed."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter
from pathlib import Path

import pytest

from reticent.ledger import Ledger, sqlite_store
from tests.support import fuzz_faults
from tests.support.fuzz_faults import (
    Harm,
    call_fails,
    calls_of,
    flipped,
    hasty,
    limited_files,
    release_fails,
    tamperable,
    tampered,
    tampering,
)
from tests.support.ledger_power import can_trace

traced = pytest.mark.skipif(not can_trace(), reason="strace is not here or may not trace")


@traced
@pytest.mark.parametrize(
    ("call", "place", "error"),
    [("pwrite64", 30, "EIO"), ("fdatasync", 9, "ENOSPC"), ("link", 1, "EIO"), ("ftruncate", 4, "ENOSPC")],
)
def test_a_call_that_fails_leads_to_no_answer_without_a_debit(
    call: str, place: int, error: str, tmp_path: Path
) -> None:
    assert call_fails(tmp_path / "a", call, place, error).bad == 0


@pytest.mark.wide
@traced
def test_a_ledger_whose_making_failed_is_not_said_to_be_made(tmp_path: Path) -> None:
    calls = calls_of(tmp_path / "a")
    synced = [place for name, place in calls[: calls.index(("link", 1))] if name == "fdatasync"]
    assert sum(call_fails(tmp_path / "a", "fdatasync", place, "EIO").stillborn for place in synced) == 0


@pytest.mark.wide
@traced
def test_a_writer_that_answers_all_the_same_is_caught(tmp_path: Path) -> None:
    places = [place for name, place in calls_of(tmp_path / "a") if name == "pwrite64"]
    spoiled = (call_fails(tmp_path / "a", "pwrite64", place, "EIO", "hasty") for place in reversed(places))
    assert any(harm.lost for harm in spoiled)


@pytest.mark.wide
def test_a_short_write_leads_to_no_answer_without_a_debit(tmp_path: Path) -> None:
    seen = sum((limited_files(tmp_path / "a", most) for most in (5000, 14_700, 23_000)), Harm())
    assert seen.unknown > 0 < seen.answered
    assert seen.bad == 0
    assert limited_files(tmp_path / "a", 5000, hasty).lost > 0


@pytest.mark.wide
def test_a_step_that_fails_ends_a_release_without_an_answer_or_with_a_debit(tmp_path: Path) -> None:
    _, steps = release_fails(tmp_path / "a", 0, after=False)
    assert steps > 100
    for at in range(7, steps, steps // 5):
        assert release_fails(tmp_path / "a", at, after=at % 2 == 0)[0].bad == 0


@pytest.mark.wide
def test_a_release_that_takes_an_error_for_a_charge_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant swallows every error of the disk from the first byte written on."""
    _, steps = release_fails(tmp_path / "a", 0, after=False)
    monkeypatch.setattr(sqlite_store, "_sync", lambda name: contextlib.suppress(Exception))
    monkeypatch.setattr(Ledger, "commit", lambda self, receipt, **_: None)
    monkeypatch.setattr(fuzz_faults, "eps", lambda _: Ledger.open(tmp_path / "a" / "rows.ledger").spent())
    assert release_fails(tmp_path / "a", steps, after=False)[0].lost == 1


@pytest.mark.wide
def test_sampled_tampering_is_noticed_or_harmless(tmp_path: Path) -> None:
    seen = tampering(tmp_path / "a", random.Random(5), 60)
    assert (seen["missed"], seen["untyped"]) == (0, 0)
    assert seen["noticed"] > 10


@pytest.mark.wide
def test_tampering_that_is_not_looked_for_is_counted_as_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "verify", lambda self, head=None: ())
    told = itertools.count()
    monkeypatch.setattr(Ledger, "export", lambda self: {"spent": next(told)})
    assert tampering(tmp_path / "a", random.Random(5), 20)["missed"] > 0


# --- the long tier ----------------------------------------------------------------------------------------------------


@pytest.mark.audit
@traced
@pytest.mark.parametrize("error", fuzz_faults.ERRORS)
@pytest.mark.parametrize("part", range(8))
def test_every_call_fails_once_and_no_answer_leaves_without_a_debit(part: int, error: str, tmp_path: Path) -> None:
    seen = Harm()
    for call, place in calls_of(tmp_path / "a")[part::8]:
        harm = call_fails(tmp_path / "b", call, place, error)
        assert harm.bad == 0, (call, place, harm)
        seen += harm
    print(f"calls that fail with {error}: {seen}")
    assert seen.points > 60
    assert seen.refused + seen.unknown > 0


@pytest.mark.audit
def test_every_short_write_leads_to_no_answer_without_a_debit(tmp_path: Path) -> None:
    seen = sum((limited_files(tmp_path / "a", most) for most in range(200, 48_000, 96)), Harm())
    print(f"short writes: {seen}")
    assert seen.bad == 0


@pytest.mark.audit
@pytest.mark.parametrize("after", [False, True], ids=["before it is done", "after it was done"])
@pytest.mark.parametrize("part", range(4))
def test_every_step_of_a_release_fails_once(part: int, after: bool, tmp_path: Path) -> None:
    _, steps = release_fails(tmp_path / "a", 0, after=after)
    seen = Harm()
    for at in range(1 + part, steps + 1, 4):
        harm, _ = release_fails(tmp_path / "a", at, after=after)
        assert harm.bad == 0, (at, harm)
        seen += harm
    print(f"steps that fail: {seen}")


@pytest.mark.audit
@pytest.mark.parametrize("part", range(8))
def test_every_flipped_byte_is_noticed_or_harmless(part: int, tmp_path: Path) -> None:
    file, head, before = tamperable(tmp_path / "a")
    whole, counted = file.read_bytes(), Counter[str]()
    for place in range(part, len(whole), 8):
        flipped(file, whole, place, 1 << (place // 8 % 8))
        counted[tampered(file, head, before)] += 1
        for left in file.parent.glob(f"{file.name}-*"):
            left.unlink()
    print(f"flipped bytes: {dict(counted)}")
    assert (counted["missed"], counted["untyped"]) == (0, 0)
