"""Power cuts: on every disk that may be found after one, each charge that anyone was told of is there."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.ledger_power import can_trace, survivors, traced

pytestmark = pytest.mark.skipif(not can_trace(), reason="strace is not here or may not trace")


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("beside", [0, 1], ids=["alone", "beside a reader"])
def test_no_power_cut_loses_a_charge(tmp_path: Path, beside: int) -> None:
    (tmp_path / "work").mkdir()
    calls = traced(tmp_path / "work" / "rand.ledger", charges=2, beside=beside)
    tried, lost, unreadable = survivors(calls, tmp_path / "image", random.Random(1))
    assert tried > 100
    assert (lost, unreadable) == (0, 0)


def test_a_ledger_that_syncs_at_checkpoints_only_is_caught(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    calls = traced(tmp_path / "work" / "rand.ledger", charges=2, level="NORMAL", beside=1)
    assert survivors(calls, tmp_path / "image", random.Random(1))[1] > 0


@pytest.mark.audit
def test_a_ledger_that_never_syncs_is_caught(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    calls = traced(tmp_path / "work" / "rand.ledger", charges=2, level="OFF")
    _, lost, unreadable = survivors(calls, tmp_path / "image", random.Random(1))
    assert lost > 0
    assert unreadable > 0


@pytest.mark.audit
@pytest.mark.parametrize("beside", [0, 1], ids=["alone", "beside a reader"])
def test_no_power_cut_loses_one_of_forty_charges(tmp_path: Path, beside: int) -> None:
    (tmp_path / "work").mkdir()
    calls = traced(tmp_path / "work" / "rand.ledger", charges=40, beside=beside)
    tried, lost, unreadable = survivors(calls, tmp_path / "image", random.Random(2), most=400)
    print(f"power cuts: {tried} disks, {lost} lost, {unreadable} unreadable")
    assert (lost, unreadable) == (0, 0)
