"""On the engine itself: one person more, fewer or replaced moves no integer further than its stability.

The columns are adversarial for sums: values near 2^50 and 2^53, of both signs, infinite, missing, and far outside the
bounds. The person who changes has the most rows, many of them equal.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from reticent.data.query import (
    CappedPersons,
    DistinctPersons,
    Keys,
    Moments,
    PresentValues,
    Query,
    Rows,
    Tally,
    Total,
    stability,
)
from reticent.data.schema import Person, Schema, category, grid_by_size, grid_by_width, real
from reticent.data.table import open_table
from reticent.privacy.adjacency import Kind
from tests.support.data_reference import Cell, Row

KEY = bytes(range(32))
LOW, HIGH = Fraction(-(2**50)), Fraction(2**50) + 1
EXTREME: tuple[Cell, ...] = (None, 2.0**50, 2.0**50 + 1, -(2.0**50), 2.0**53, 1e300, -1e300, float("inf"), 0.1, 1.0)


def queries() -> list[Query]:
    asked: list[Query] = [CappedPersons()]
    for keys in (None, Keys("g", ("a", "b", "c"), 1), Keys("g", ("a", "b", "c"), 2)):
        asked += [Rows(keys), DistinctPersons(keys), Total("x", grid_by_size(LOW, HIGH), keys)]
        asked += [Total("x", grid_by_size(LOW, HIGH), keys, "kept")]
        asked += [Tally("x", edges=(LOW, Fraction(0), Fraction(1), HIGH), keys=keys)]
        for per in ("row", "person"):
            asked += [PresentValues("x", keys, per), Moments("x", grid_by_width(LOW, HIGH), 3, keys, per)]
    return asked


def rows_of(stream: random.Random, who: str, size: int) -> list[Row]:
    return [{"who": who, "g": stream.choice("abcz"), "x": stream.choice(EXTREME)} for _ in range(size)]


def answers(person: Person, rows: list[Row]) -> list[list[list[int]]]:
    schema = Schema({"g": category(["a", "b", "c"]), "x": real(LOW, HIGH)}, person)
    columns = {name: [row[name] for row in rows] for name in ("who", "g", "x")}
    return [[list(vector) for vector in r.vectors] for r in open_table(columns, schema).run(queries(), KEY)]


@pytest.mark.loop(4)  # two by each adjacency
@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize("seed", range(6))
def test_one_person_moves_no_integer_too_far(adjacency: Kind, seed: int) -> None:
    stream = random.Random(seed)
    person = Person(adjacency, "who", rows=1 + seed % 3)
    others = [row for place in range(6) for row in rows_of(stream, f"p{place}", stream.randrange(1, 6))]
    before = answers(person, others + rows_of(stream, "me", 7))
    after = answers(person, others + (rows_of(stream, "me", 7) if adjacency == "substitute" else []))
    for query, one, other in zip(queries(), before, after, strict=True):
        moved = np.abs(np.array(one, dtype=object) - np.array(other, dtype=object))
        found = [moved.sum()] if isinstance(query, Tally) else list(moved.sum(axis=0))
        claimed = stability(query, person, stands_in=False)
        assert all(m <= c for m, c in zip(found, claimed, strict=True)), (query, found, claimed)
