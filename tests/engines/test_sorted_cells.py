"""A long column comes as one cell for each value, and answers are those of a table of distinct values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent.data import query_result, sorted_cells
from reticent.data.engines import duckdb
from reticent.data.query import Keys, Query, Ranks, Rows, Total, Weighing
from reticent.data.query_result import SortedCells, content
from reticent.data.schema import Column, Integer, Person, Real, Schema, grid_by_size
from reticent.data.table import open_table
from tests.support.engine_places import EVERY, Place, placed

KEY = bytes(range(32))
LOW, HIGH = Fraction(-5), Fraction(100)
FEW, MANY = Keys("k", (1, 4, 7), 2), Keys("k", tuple(range(100, 200)), 2)
LONG: list[Query] = [
    Ranks("y"),
    Ranks("y", FEW),
    Ranks("free"),
    Ranks("y", None, "person"),
    Ranks("free", None, "row", "binades"),
    Ranks("whole"),
]
SHORT: list[Query] = [Ranks("x"), Ranks("y", MANY), Ranks("y", weight=Weighing("w", Fraction(3)))]
BESIDE: list[Query] = [Rows(FEW), Total("y", grid_by_size(LOW, HIGH))]


def schema() -> Schema:
    columns: dict[str, Column] = {
        "k": Integer(0, 9),
        "x": Real(LOW, HIGH),
        "y": Real(LOW, HIGH),
        "w": Real(Fraction(0), Fraction(3)),
        "free": Real(),
        "whole": Integer(),
    }
    return Schema(columns, Person("add_remove", "who", rows=3))


def rows(size: int = 400) -> Mapping[str, Sequence[Any]]:
    """Rows of persons with one to ten rows; most values of ``y`` differ, and some are equal or odd."""
    draw = np.random.default_rng(20081114)
    y = draw.normal(0, 1, size)
    y[:12] = 0.25
    y[12:16] = [-0.0, 5e-324, 1e300, -1e300]
    return {
        "who": [f"p{number}" for number in draw.integers(0, size // 4, size)],
        "k": draw.integers(0, 10, size).tolist(),
        "x": draw.integers(0, 9, size).astype(float).tolist(),
        "y": y.tolist(),
        "w": (draw.random(size) * 3).tolist(),
        "free": (draw.normal(0, 1, size) * 10.0 ** draw.integers(-30, 30, size)).tolist(),
        "whole": draw.integers(-(1 << 60), 1 << 60, size).tolist(),
    }


@pytest.fixture(params=EVERY)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with placed(request.param) as put:
        yield put


def look_at_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every table for a long one."""
    monkeypatch.setattr(query_result, "LONG", 1)
    monkeypatch.setattr(sorted_cells, "SAMPLED", 1.0)
    monkeypatch.setattr(query_result, "PIECE", 16)
    monkeypatch.setattr(sorted_cells, "ROOM", 16)


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at_samples(monkeypatch)


def test_long_columns_are_those_of_distinct_values(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows, of persons and by group, with odd doubles among them; beside other questions too."""
    table, asked = open_table(place(rows()), schema()), [*LONG, *SHORT, *BESIDE]
    plain = table.run(asked, KEY)
    assert not any(isinstance(held, SortedCells) for result in plain for held in result.ranks)
    look_at_samples(monkeypatch)
    found = table.run(asked, KEY)
    for query, one, other in zip(asked, found, plain, strict=True):
        assert content(one) == content(other)
        assert all(isinstance(held, SortedCells) == (query in LONG) for held in one.ranks)


@pytest.mark.usefixtures("long")
def test_sets_of_persons_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_table(rows(), schema())
    whole = list(map(content, table.run(LONG, KEY)))
    monkeypatch.setattr(duckdb, "SET", 120)
    found = table.run(LONG, KEY)
    assert list(map(content, found)) == whole
    assert all(isinstance(held, SortedCells) for result in found for held in result.ranks)


@pytest.mark.usefixtures("long")
def test_no_value_is_no_cell() -> None:
    empty = {"who": ["a"], "k": [1], "x": [1.0], "y": [None], "w": [1.0], "free": [None], "whole": [None]}
    for result in open_table(empty, schema()).run([Ranks("y"), Ranks("y", FEW), Ranks("x", FEW)], KEY):
        assert [held.total for held in result.ranks[1:]] == [0] * (len(result.ranks) - 1)
        assert all(len(held.cells) == len(held.counts) for held in result.ranks)


@pytest.mark.usefixtures("long")
def test_a_bad_sample_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of few values is taken for one of many, and the other way round."""
    table = open_table(rows(), schema())
    whole = content(table.run([Ranks("x")], KEY)[0])
    monkeypatch.setattr(sorted_cells, "DIFFERENT", 0.0)
    assert content(table.run([Ranks("x")], KEY)[0]) == whole
    many = content(table.run([Ranks("y")], KEY)[0])
    monkeypatch.setattr(sorted_cells, "DIFFERENT", 2.0)
    assert content(table.run([Ranks("y")], KEY)[0]) == many
