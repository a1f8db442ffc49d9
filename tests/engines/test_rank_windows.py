"""Quantiles need the values about their ranks alone: all others stay in the engine, and scores are the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data import order_statistics
from reticent.data.candidates import cells_on
from reticent.data.engines import rank_windows
from reticent.data.order_statistics import RankWindows
from reticent.data.query import Keys, Query, Ranks, Rows
from reticent.data.query_result import QueryResult, ResultReader, WindowedCounts, content
from reticent.data.schema import Column, Integer, Person, Real, Schema
from reticent.data.table import Table, open_table
from reticent.entropy import Replayed
from reticent.mechanisms.exponential import Exponential
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import Linf
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.magnitude import by_binade
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.quantile_step import QuantileStep
from reticent.statistics.rank_blocks import ceiling
from reticent.statistics.ranks import Runs, runs
from tests.support.engine_places import EVERY, Place, placed
from tests.support.same_draws import recorder, same_law

Array = NDArray[np.int64]
KEY = bytes(range(32))
LOW, HIGH = Fraction(-5), Fraction(100)
LEVELS = (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))
WINDOWS = RankWindows(LEVELS, 60, 0.5, 2)
FREE = RankWindows(LEVELS, 60, 0.5, 2, Fraction(3, 4))
GROUPS = Keys("k", (1, 4, 7, 11), 2)
MECHANISM = Exponential(Linf(Fraction(1), Adjacency("add_remove")), Fraction(2))
COLUMNS: dict[str, Column] = {
    "k": Integer(0, 9),
    "y": Real(LOW, HIGH),
    "fine": Real(LOW, HIGH, resolution=Fraction(1, 100)),
    "free": Real(),
    "whole": Integer(),
    "halves": Real(resolution=Fraction(1, 2)),
    "age": Integer(0, 120),
}
TOGETHER = (
    ("quantiles(y, 0.25 0.5 0.75, method=joint)", None),
    ("quantiles(y, 0.3 0.6, method=joint, interval=no)", GROUPS),
    ("iqr(fine, method=joint)", None),
    ("iqr(free, method=joint)", None),
    ("quantiles(whole, 0.1 0.5 0.6, method=joint)", GROUPS),
    ("quantiles(free, 0.1 0.5 0.6, method=joint, interval=no)", None),
)
ASKED: list[Ranks] = [
    Ranks("y", windows=WINDOWS),
    Ranks("y", GROUPS, windows=WINDOWS),
    Ranks("y", None, "person", windows=WINDOWS),
    Ranks("y", GROUPS, "person", windows=WINDOWS),
    Ranks("fine", windows=WINDOWS),
    Ranks("age", windows=WINDOWS),
    Ranks("age", GROUPS, windows=WINDOWS),
    Ranks("free", windows=FREE),
    Ranks("free", GROUPS, windows=FREE),
    Ranks("whole", windows=FREE),
    Ranks("halves", windows=FREE),
    Ranks("halves", GROUPS, windows=FREE),
]


def schema() -> Schema:
    return Schema(COLUMNS, Person("add_remove", "who", rows=3))


def rows(size: int = 900) -> Mapping[str, Sequence[Any]]:
    """Rows of persons with one to ten rows; values tied, odd, and beside the edges of their cells."""
    stream = np.random.default_rng(20081114)
    y = stream.normal(0, 1, size)
    y[:40] = 0.25
    y[40:44] = [-0.0, 5e-324, 1e300, -1e300]
    free = stream.normal(0, 1, size) * 10.0 ** stream.integers(-30, 30, size)
    places = 1.0 + stream.integers(0, 3, 60) * 2.0**-40  # ends of cells of a binade, with what lies one double away
    free[:60] = np.nextafter(places, stream.choice([-math.inf, math.inf], 60)) * 2.0 ** stream.integers(-2, 2, 60)
    free[60:66] = [0.0, -0.0, 1e-320, 1e300, -1e300, 2.0**332]
    return {
        "who": [f"p{number}" for number in stream.integers(0, size // 3, size)],
        "k": stream.integers(0, 10, size).tolist(),
        "y": y.tolist(),
        "fine": np.round(stream.normal(20, 10, size), 2).tolist(),
        "free": free.tolist(),
        "whole": (stream.integers(-(1 << 60), 1 << 60, size) >> stream.integers(0, 60, size)).tolist(),
        "halves": (0.25 - 2.0 ** stream.integers(-1, 6, size)).tolist(),  # in the middle of two steps
        "age": stream.integers(0, 120, size).tolist(),
    }


@pytest.fixture(params=EVERY)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with placed(request.param) as put:
        yield put


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every engine for one apart, every table for a long one, and samples of a small part of it."""
    monkeypatch.setattr(ResultReader, "_apart", lambda self, query: True)
    monkeypatch.setattr(rank_windows, "NARROW", 1)
    monkeypatch.setattr(order_statistics, "SAMPLE", 200)
    monkeypatch.setattr(order_statistics, "SHARE", 0.3)


def test_all_values_are_read_where_most_lie_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small groups most values lie in a window; to read all of them is less work then."""
    monkeypatch.setattr(ResultReader, "_apart", lambda self, query: True)
    table, wide = open_table(rows(), schema()), RankWindows((Fraction(1, 2),), 200, 0.5, 2)
    near, every = table.run([Ranks("y", windows=replace(wide, ranks=20)), Ranks("y", windows=wide)], KEY)
    assert isinstance(near.ranks[0], WindowedCounts)
    assert not isinstance(every.ranks[0], WindowedCounts)
    assert content(every) == content(table.run([Ranks("y")], KEY)[0])


def clipped(found: Runs, level: Fraction, shift: int) -> tuple[Array, Array]:
    """The first cell of each stretch of equal scores, and the scores."""
    aim = level.numerator, level.denominator, shift
    scores = np.minimum(found.scores(*aim), ceiling(found.weights, aim, MECHANISM))
    first = np.append(True, scores[1:] != scores[:-1])
    return found.start[:-1][first], scores[first]


def have_one_law(one: Runs, other: Runs, levels: Sequence[Fraction], shifts: Sequence[int] = (0,)) -> bool:
    """Tell if every cell has the same score in both."""
    asked = [(level, shift) for level in levels for shift in shifts]
    return all(all(map(np.array_equal, clipped(one, *aim), clipped(other, *aim))) for aim in asked)


@pytest.mark.wide
def test_scores_are_those_of_all_values(place: Place, apart: None) -> None:
    table = open_table(place(rows()), schema())
    whole = open_table(rows(), schema()).answers([replace(query, windows=None) for query in ASKED], KEY, schema())
    stayed = 0
    for query, result, all_of_it in zip(ASKED, table.run([*ASKED, Rows()], KEY), whole, strict=False):
        cells, windows = cells_on(query.on, schema().column(query.column), query.column), query.windows
        assert windows is not None
        for held, every in zip(result.ranks, all_of_it.ranks, strict=True):
            assert isinstance(held, WindowedCounts)
            assert (held.total, held.beyond(windows.crowd)) == (every.total, every.beyond(windows.crowd))
            assert have_one_law(runs(cells, held), runs(cells, every), LEVELS, (-9, 0, 7))
            if windows.far is not None:
                assert have_one_law(by_binade(cells, held), by_binade(cells, every), [windows.far])
            stayed += sum(last - first for first, last in held.hidden)
    assert stayed > 900


@pytest.mark.wide
@pytest.mark.parametrize("column", ["y", "free"])
def test_all_values_are_read_where_a_window_is_too_narrow(monkeypatch: pytest.MonkeyPatch, column: str) -> None:
    """As the noise of a size makes it once in e^40 releases; the answer is that of all values by the same coins."""
    monkeypatch.setattr(ResultReader, "_apart", lambda self, query: True)
    read, answers = [], Table.answers

    def noted(self: Table, queries: Sequence[Query], *rest: Any, **more: Any) -> list[QueryResult]:
        read.append([query for query in queries if isinstance(query, Ranks)])
        return answers(self, queries, *rest, **more)

    monkeypatch.setattr(Table, "answers", noted)
    step = prepare(parse(f"median({column})"), Setting(schema(), None), Fraction(4))
    assert isinstance(step, QuantileStep)
    (query,) = step.queries
    assert isinstance(query, Ranks)
    opened = open_table(rows(20_000), schema())
    told = []
    for windows in (query.windows, RankWindows((Fraction(1, 2),), 9, 0.0, step.draws.pricing.crowd, step.draws.far)):
        (result,) = opened.run([replace(query, windows=windows)], KEY)
        told.append(step.answer([result], Replayed("narrow")))
    assert [one.windows for queries in read for one in queries] == [query.windows, windows, *[None] * (len(read) - 2)]
    assert len(read) >= 3
    assert all(isinstance(answer.outcome, Reply) for answer in told)
    every = step.answer(opened.run([replace(query, windows=None)], KEY), Replayed("all"))
    assert isinstance(every.outcome, Reply)
    for answer in told:
        assert isinstance(answer.outcome, Reply)
        assert answer.outcome.value.low <= every.outcome.value.high
        assert every.outcome.value.low <= answer.outcome.value.high


@pytest.mark.wide
def test_quantiles_drawn_together_are_those_of_all_values(place: Place, apart: None) -> None:
    """Each draw asks the same of its mechanism as of rows in memory, so that answers are the same by any noise."""
    held = rows(6_000)
    table, here, stayed = open_table(place(held), schema()), open_table(held, schema()), 0
    for seed, (asked, keys) in enumerate(TOGETHER):
        step = prepare(parse(asked), Setting(schema(), None, keys), Fraction(90))
        (query,) = step.queries
        assert isinstance(query, Ranks)
        (result,) = table.run([query], KEY)
        every = here.answers([replace(query, windows=None)], KEY, schema())
        stayed += sum(last - first for found in result.ranks for first, last in found.hidden)
        assert all(isinstance(found, WindowedCounts) for found in result.ranks)
        assert not any(isinstance(found, WindowedCounts) for found in every[0].ranks)
        for far in (0.0, 0.2):
            one, other = recorder(seed, far=far), recorder(seed, far=far)
            assert step.answer([result], one) == step.answer(every, other)
            pairs = list(zip(one.calls, other.calls, strict=True))
            assert all(same_law(*pair) and pair[0].output == pair[1].output for pair in pairs)
    assert stayed > 6_000


def test_all_values_are_read_where_most_are_equal_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ages there are few, and draws that cut ties need to know all of one cell."""
    monkeypatch.setattr(ResultReader, "_apart", lambda self, query: True)
    opened = open_table(rows(20_000), schema())
    step = prepare(parse("quantiles(age, 0.25 0.5 0.75, method=joint)"), Setting(schema(), None), Fraction(90))
    (query,) = step.queries
    assert isinstance(query, Ranks)
    assert query.windows is not None
    every, near = opened.run([query, replace(query, windows=replace(query.windows, sliced=False))], KEY)
    assert isinstance(near.ranks[0], WindowedCounts)
    assert not isinstance(every.ranks[0], WindowedCounts)
    assert content(every) == content(opened.run([replace(query, windows=None)], KEY)[0])


@pytest.mark.parametrize("keys", [None, GROUPS])
def test_all_values_are_read_once_where_many_draws_need_them(
    monkeypatch: pytest.MonkeyPatch, keys: Keys | None
) -> None:
    """Each level is one value of thousands, which lie on both sides of its window; of groups all are read at once."""
    monkeypatch.setattr(ResultReader, "_apart", lambda self, query: True)
    monkeypatch.setattr(rank_windows, "NARROW", 1)
    held = {**rows(20_000), "y": [0.25] * 11_000 + [0.5] * 2_000 + np.linspace(1, 2, 7_000).tolist()}
    opened, read, answers = open_table(held, schema()), list[int](), Table.answers

    def noted(self: Table, queries: Sequence[Query], *rest: Any, **more: Any) -> list[QueryResult]:
        read.append(len(queries))
        return answers(self, queries, *rest, **more)

    monkeypatch.setattr(Table, "answers", noted)
    step = prepare(parse("quantiles(y, 0.1 0.2 0.3 0.6, method=joint)"), Setting(schema(), None, keys), Fraction(90))
    (query,) = step.queries
    assert isinstance(query, Ranks)
    assert query.windows is not None
    (result,) = opened.run([replace(query, windows=replace(query.windows, ranks=9, root=1.0))], KEY)
    assert all(isinstance(held, WindowedCounts) for held in result.ranks)
    found = step.answer([result], recorder(1))
    assert read == [1, 1]
    assert found == step.answer(opened.run([replace(query, windows=None)], KEY), recorder(1))


def test_values_are_read_once_for_all_windows() -> None:
    """Questions of one column, of rows that are read in this process."""
    asked = ("median(y)", "iqr(y, method=joint)", "quantiles(y, 0.2 0.4 0.9, method=joint)")
    queries = [prepare(parse(text), Setting(schema(), None), Fraction(9)).queries[0] for text in asked]
    assert len(set(queries)) == len(asked)
    first, *others = open_table(rows(), schema()).run(queries, KEY)
    assert all(other.ranks[0] is first.ranks[0] for other in others)
