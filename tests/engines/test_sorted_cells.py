"""A long column comes as one cell for each value, and answers are those of a table of distinct values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from reticent.data import order_statistics, query_result, sorted_cells
from reticent.data.engines import duckdb, postgres, spark
from reticent.data.format import Limits
from reticent.data.query import Keys, Query, Ranks, Rows, Total, Weighing
from reticent.data.query_result import SortedCells, content
from reticent.data.schema import Column, Integer, Person, Real, Schema, grid_by_size
from reticent.data.sorted_cells import Spool, Stretch, together
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
    monkeypatch.setattr(sorted_cells, "ASIDE", 40)
    monkeypatch.setattr(postgres, "BLOCK", 64)
    monkeypatch.setattr(spark, "WINDOW", 150)
    for module in (order_statistics, sorted_cells, query_result):
        monkeypatch.setattr(module, "STRIDE", 8)


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at_samples(monkeypatch)


@pytest.mark.wide
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


@pytest.mark.wide
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


@pytest.mark.wide
@pytest.mark.usefixtures("long")
def test_a_long_result_comes_in_parts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a part of the values is here at a time, whichever engine has them."""
    monkeypatch.setattr(duckdb, "BATCH", 64)
    seen, honest = list[int](), sorted_cells._ReadCells.add

    def add(self: sorted_cells._ReadCells, cells: Any, groups: Any) -> None:
        seen.append(len(cells))
        honest(self, cells, groups)

    monkeypatch.setattr(sorted_cells._ReadCells, "add", add)
    ((found,),) = (result.ranks for result in open_table(place(rows()), schema()).run([Ranks("y", None, "row")], KEY))
    assert sum(seen) == found.total
    assert max(seen) < found.total / 2


@pytest.mark.usefixtures("long")
def test_cells_that_are_many_stand_in_a_file_of_no_name(tmp_path: Path) -> None:
    """In the folder of temporary files: it is as large as they are, and a listing of the folder does not show it."""
    table = open_table(rows(), schema(), limits=Limits(temp=str(tmp_path)))
    for held in table.run([Ranks("y", FEW)], KEY)[0].ranks:
        assert isinstance(held, SortedCells)
        assert isinstance(held.each, Stretch)
        file = held.each.spool._file
        assert os.fstat(file.fileno()).st_size >= 8 * held.total
        assert os.fstat(file.fileno()).st_nlink == 0
        assert os.fstat(file.fileno()).st_dev == os.stat(tmp_path).st_dev
        assert str(tmp_path) in os.readlink(f"/proc/self/fd/{file.fileno()}")
    assert not [*tmp_path.iterdir()]


def test_a_file_that_was_cut_is_no_answer(tmp_path: Path) -> None:
    """It ends in an error, never in numbers that stood there by chance."""
    stretch = Spool(str(tmp_path)).put(np.arange(100))
    os.truncate(stretch.spool._file.fileno(), 8 * 50)
    with pytest.raises(OSError, match="shorter than"):
        stretch[40:60]


@given(
    st.lists(st.lists(st.integers(-30, 30), max_size=40), min_size=1, max_size=6),
    st.lists(st.integers(-35, 35), max_size=12),
    st.sampled_from([3, 8, 1 << 12]),
)
def test_parts_are_put_together_as_one_sort_does(parts: list[list[int]], asked: list[int], stride: int) -> None:
    """With equal cells, empty parts and cuts of any size; and places are found among them, moved or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_cells, "ASIDE", 4 * stride)
        patch.setattr(order_statistics, "TOGETHER", 2)
        for module in (order_statistics, sorted_cells, query_result):
            patch.setattr(module, "STRIDE", stride)
        spool = Spool("")
        found = SortedCells(together([spool.put(np.sort(np.array(part, np.int64))) for part in parts]))
        whole = np.sort(np.array([cell for part in parts for cell in part], np.int64))
        assert np.array_equal(found.held(0, found.total), whole)
        values = np.array(asked, np.int64)
        assert np.array_equal(found.below(values), np.searchsorted(whole, values))
        halved = found.moved(lambda cells: cells >> 1)
        assert np.array_equal(halved.below(values), np.searchsorted(whole >> 1, values))
        third = len(whole) // 3
        part = halved.part(third, len(whole))
        assert np.array_equal(part.below(values), np.searchsorted(whole[third:] >> 1, values))
        assert np.array_equal(part.cells, np.unique(whole[third:] >> 1))
