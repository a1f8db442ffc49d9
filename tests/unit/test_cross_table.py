"""Cross tables in a terminal: at most 80 characters in a line, every number once, as asked where that fits."""

from __future__ import annotations

import random

import pytest

from reticent.certificate.render.cross import CrossTable

WIDTH = 78


def table(rows: int, columns: int, seed: int = 0) -> CrossTable:
    chance = random.Random(seed)
    heads = tuple("h" * chance.randint(1, 12) + str(place) for place in range(columns))
    cells = [
        tuple(f"v{1000 * row + column} ± {chance.randint(1, 10**6)}" for column in range(columns))
        for row in range(rows)
    ]
    return CrossTable("ward", "month", heads, tuple((f"row {row}", *cells[row]) for row in range(rows)))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 4), (2, 30), (30, 2), (12, 40)])
def test_no_line_is_too_long_and_every_number_stands_once(rows: int, columns: int) -> None:
    for made in (table(rows, columns), table(rows, columns).turned()):
        lines = made.lines(WIDTH)
        assert max(map(len, lines)) <= WIDTH
        words = " ".join(lines).split()
        for row in range(rows):
            for column in range(columns):
                assert words.count(f"v{1000 * row + column}") == 1


def test_turned_twice_it_is_itself() -> None:
    made = table(3, 5)
    assert made.turned().turned() == made
    assert made.turned().title.startswith("month down, ward across")


def test_a_column_wider_than_a_line_stands_alone() -> None:
    made = CrossTable("a", "b", ("x" * 90, "y"), (("r", "1", "2"),))
    assert [len(line) for line in made.lines(WIDTH)][1:3] == [93, 93]
