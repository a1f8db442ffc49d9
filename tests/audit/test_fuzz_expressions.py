"""Fuzzed expressions in questions: a typed refusal, a plan or an answer; never a traceback, never a cell.

Cells are canaries of eight digits and sixteen letters, far outside the declared bounds: no answer can come near one.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import reticent as rt
from reticent.data.dates import date
from reticent.data.expression_tree import write
from reticent.data.schema import Column
from reticent.errors import Refusal
from tests.support.expressions import Maker
from tests.support.fuzz_kit import Canaries

COLUMNS: dict[str, Column] = {
    "age": rt.integer(0, 120),
    "cost": rt.real(-10, 1000),
    "ward": rt.category(["north", "south"]),
    "born": date("1900-01-01", "2020-12-31"),
}
CANARIES = Canaries.drawn(random.Random("expressions"))
ROWS = 24


def study() -> rt.Study:
    numbers, words = CANARIES.numbers, CANARIES.words
    rows: dict[str, list[object]] = {
        "who": [words[place % 4] for place in range(ROWS)],
        "age": [numbers[place % 6] for place in range(ROWS)],
        "cost": [float(numbers[place % 5]) for place in range(ROWS)],
        "ward": [words[place % 3] if place % 2 else "north" for place in range(ROWS)],
        "born": [words[place % 2] if place % 5 else "1950-02-28" for place in range(ROWS)],
    }
    return rt.study(rows, adjacency="add_remove", person="who", rows_each=9, columns=COLUMNS, budget=10, delta="1e-6")


def asked(maker: Maker) -> str:
    """A question with an expression in one of its places, well made or noise."""
    chance = maker.chance
    depth = chance.randint(0, 4)
    text = maker.noise() if chance.random() < 0.5 else write(maker.truth(depth))
    return chance.choice(
        [
            f"count where {text}",
            f"mean({text})",
            f"mean(cost) where {text} by ward",
            f"count by {text}",
            f"count by ward, {text} with totals",
            f"proportion({text}, value=True)",
            f"median(age) where {text}",
            f"sum(cost) weight {text}",
            f"histogram({text})",
            f"count by {text} keys=found at_least=3",
        ]
    )


def fuzzed(seed: int, number: int, released: float) -> int:
    """So many questions; returns how many had a plan."""
    maker, of, planned = Maker(COLUMNS, random.Random(f"fuzz {seed}")), study(), 0
    for _ in range(number):
        text = asked(maker)
        try:
            told = str(of.plan([text], epsilon=1))
            planned += 1
            if maker.chance.random() < released:
                told += str(study().release([text], epsilon=Fraction(1), record=rt.Record(try_anyway=True)))
        except Refusal as refusal:
            told = str(refusal)
        assert CANARIES.found(told.encode("utf-8", "replace")) == [], text
    return planned


def test_fuzzed_expressions_end_in_words() -> None:
    assert fuzzed(0, 40, 0) > 4


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("seed", range(1, 4))
def test_more_fuzzed_expressions_end_in_words_and_tell_nothing(seed: int) -> None:
    assert fuzzed(seed, 400, 0.02) > 40


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(100, 200))
def test_a_hundred_thousand_fuzzed_expressions_end_in_words_and_tell_nothing(seed: int) -> None:
    assert fuzzed(seed, 1_000, 0.01) > 100
