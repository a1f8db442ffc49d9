"""Storms: writers are killed at moments they cannot foresee; no charge that anyone was told of may be lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.ledger_kit import Damage, hasty, storm


def storms(folder: Path, rounds: int, seed: int) -> Damage:
    """``rounds`` kills of 1 to 8 writers, ten rounds to a file."""
    chance = random.Random(seed)
    total = Damage()
    for number in range(rounds // 10):
        (folder / str(number)).mkdir()
        writers = [chance.randint(1, 8) for _ in range(10)]
        total += storm(folder / str(number) / "rand.ledger", folder / str(number), writers, chance)
    return total


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("seed", range(2))
def test_ten_kills_lose_no_acknowledged_charge(seed: int, tmp_path: Path) -> None:
    seen = storms(tmp_path, rounds=10, seed=seed)
    assert seen.acknowledged > 10
    assert (seen.lost, seen.excess, seen.broken) == (0, 0, 0)


def test_a_writer_that_acknowledges_first_is_caught(tmp_path: Path) -> None:
    chance = random.Random(2)
    assert storm(tmp_path / "rand.ledger", tmp_path, [4] * 5, chance, hasty).lost > 0


@pytest.mark.audit
def test_a_thousand_kills_lose_no_acknowledged_charge(tmp_path: Path) -> None:
    seen = storms(tmp_path, rounds=1000, seed=3)
    print(f"crash storm: {seen}")
    assert seen.acknowledged > 300
    assert (seen.lost, seen.excess, seen.broken) == (0, 0, 0)
