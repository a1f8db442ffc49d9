"""Scans about a released centre: a column in its engine gives the integers that its values give in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data import order_statistics
from reticent.data.candidates import cells_on
from reticent.data.engines import rank_windows
from reticent.data.engines.duckdb import DuckDBSession
from reticent.data.order_statistics import RankWindows
from reticent.data.query import Keys, Query, Ranks
from reticent.data.query_result import QueryResult, ResultReader, WindowedCounts
from reticent.data.schema import Column, Integer, Person, Real, Schema
from reticent.data.table import open_table
from reticent.data.value_scans import CentredRange, HeldScans, ValueScans
from reticent.statistics.answer import Answer
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.unbounded.clipping_radii import LADDER
from tests.support.engine_places import EVERY, Place, placed
from tests.support.same_draws import recorder, same_law

KEY = bytes(range(32))
WINDOWS = RankWindows((Fraction(1, 2),), 60, 0.0, 8, scanned=True)
COLUMNS: dict[str, Column] = {
    "y": Real(Fraction(-5), Fraction(100)),
    "fine": Real(Fraction(-5), Fraction(100), resolution=Fraction(1, 100)),
    "free": Real(),
    "far": Real(),
    "whole": Integer(),
    "halves": Real(resolution=Fraction(1, 2)),
    "k": Integer(0, 9),
}
ASKED = (
    "mean(free, method=clipped)",
    "mean(far, method=clipped)",
    "mean(y, method=clipped)",
    "mean(halves, method=clipped, tail=normal)",
    "location(free)",
    "location(far, bend=1/2)",
    "location(whole)",
    "mean(y, method=coinpress, centre=20, radius=100, deviation=9)",
)


def schema() -> Schema:
    return Schema(COLUMNS, Person("add_remove", "who", rows=3))


def rows(size: int) -> Mapping[str, Sequence[Any]]:
    """Rows of persons with one to ten rows; values tied, odd, huge, and beside the edges of their cells."""
    stream = np.random.default_rng(20091211)
    free = stream.normal(3, 2, size)
    places = 1.0 + stream.integers(0, 3, 60) * 2.0**-40  # ends of cells of a binade, with what lies one double away
    free[:60] = np.nextafter(places, stream.choice([-math.inf, math.inf], 60)) * 2.0 ** stream.integers(-2, 2, 60)
    free[60:66] = [0.0, -0.0, 1e-320, 1e300, -1e300, 2.0**332]
    return {
        "who": [f"p{number}" for number in stream.integers(0, size // 3, size)],
        "y": stream.normal(20, 9, size).tolist(),
        "fine": np.round(stream.normal(20, 10, size), 2).tolist(),
        "free": free.tolist(),
        "far": (1e9 + stream.standard_t(2, size)).tolist(),
        "whole": (stream.integers(-(1 << 60), 1 << 60, size) >> stream.integers(0, 60, size)).tolist(),
        "halves": (0.25 - 2.0 ** stream.integers(-1, 6, size)).tolist(),  # in the middle of two steps
        "k": stream.integers(0, 10, size).tolist(),
    }


@pytest.fixture(params=[EVERY[0], EVERY[2]])  # PostgreSQL brings the values
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


def told(scans: ValueScans, centre: float, half: float) -> list[object]:
    """All that one centre and one width are asked."""
    even, aside = CentredRange(centre, 0.0, half), CentredRange(centre, half / 3.0, half, 7.5)
    sums = [scans.cut(even, half), scans.cut(replace(aside, reach=1.0), 3.0 * half)]
    steps = [scans.steps(even, 1 << 12), scans.steps(aside, 1 << 10)]
    return [scans.by_distance(centre, LADDER).tolist(), *sums, *[tuple(map(np.ndarray.tolist, pair)) for pair in steps]]


@pytest.mark.wide
def test_scans_give_what_values_in_memory_give(place: Place, apart: None, request: pytest.FixtureRequest) -> None:
    held, few = rows(900), "spark" in request.node.name  # where each statement takes a third of a second
    asked = [Ranks(name, windows=WINDOWS) for name in (("free",) if few else COLUMNS)]
    asked += [] if few else [Ranks("free", None, "person", windows=WINDOWS)]
    whole = open_table(held, schema()).answers([replace(query, windows=None) for query in asked], KEY, schema())
    seen = []

    def compare(results: Sequence[QueryResult]) -> None:
        for query, result, every in zip(asked, results, whole, strict=True):
            cells = cells_on(query.on, schema().column(query.column), query.column)
            scans, (data,) = result.ranks[0].scans, every.ranks
            assert scans is not None
            here = HeldScans(cells, data.cells, data.counts)
            middle = float(cells.value(int(np.median(np.repeat(data.cells, data.counts)))))
            centre = middle + 1 / 3
            found = told(scans, centre, 40.0)
            assert found == told(here, centre, 40.0), query
            assert found != told(here, float(np.nextafter(centre, math.inf)) + 0.125, 40.0), query
            assert told(scans, 0.0, 1e-3) == told(here, 0.0, 1e-3), query
            seen.append(query)

    open_table(place(held), schema()).run(asked, KEY, then=compare)
    assert seen == asked


@pytest.mark.wide
def test_answers_are_those_of_all_values(place: Place, apart: None) -> None:
    """Each draw asks the same of its mechanism as of rows in memory, so that answers are the same by any noise."""
    held = rows(3_000)
    setting = Setting(schema(), None, delta=Fraction(1, 10**6))
    steps = [prepare(parse(asked), setting, Fraction(90)) for asked in ASKED]
    queries: list[Query] = [query for step in steps for query in step.queries]
    plain = [replace(query, windows=None) for query in queries if isinstance(query, Ranks)]
    every = open_table(held, schema()).answers(plain, KEY, schema())
    wanted = [recorder(seed) for seed in range(len(steps))]
    honest = [step.answer([one], asks) for step, one, asks in zip(steps, every, wanted, strict=True)]
    found, made = list[Answer](), [recorder(seed) for seed in range(len(steps))]

    def answer(results: Sequence[QueryResult]) -> None:
        assert all(isinstance(result.ranks[0], WindowedCounts) for result in results)
        found.extend(step.answer([one], asks) for step, one, asks in zip(steps, results, made, strict=True))

    open_table(place(held), schema()).run(queries, KEY, then=answer)
    assert found == honest
    assert not any(isinstance(one.outcome, type(rt.NO_REPLY)) for one in found)
    for one, other in zip(made, wanted, strict=True):
        assert all(
            same_law(*pair) and pair[0].output == pair[1].output for pair in zip(one.calls, other.calls, strict=True)
        )


def test_a_release_draws_while_the_engine_has_the_rows(apart: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values near the median alone leave the engine, and the sample by which they are found."""
    monkeypatch.setattr(rank_windows, "NARROW", 1 / 4)
    monkeypatch.setattr(order_statistics, "SAMPLE", 1 << 14)
    brought, arrow = list[int](), DuckDBSession.arrow

    def noted(self: DuckDBSession, statement: str) -> Any:
        table = arrow(self, statement)
        brought.append(table.num_rows)
        return table

    monkeypatch.setattr(DuckDBSession, "arrow", noted)
    size = 200_000
    stream = np.random.default_rng(7)
    table = {"x": stream.normal(5, 2, size).tolist(), "k": [*range(8)] * (size // 8)}
    study = rt.study(table, adjacency="add_remove", columns={"x": rt.real(), "k": rt.integer(0, 7)}, budget=9)
    release = study.release(["mean(x, method=clipped)", "location(x)", "count"], epsilon=4)
    assert abs(release["mean(x, method=clipped)"].value - 5) < 0.5
    assert abs(release["location(x)"].value - 5) < 0.5
    assert sum(brought) < size / 3
    brought.clear()
    by_group = study.release(["mean(x, method=clipped) by k"], epsilon=4)
    assert all(abs(cell.value - 5) < 2 for cell in by_group["mean(x, method=clipped) by k"])
    assert sum(brought) >= size


def test_scans_end_with_the_run(apart: None) -> None:
    """Nobody asks an engine that is gone: without a caller who draws there, all values are read."""
    (result,) = open_table(rows(900), schema()).run([Ranks("free", windows=WINDOWS)], KEY)
    assert not isinstance(result.ranks[0], WindowedCounts)
    (kept,) = open_table(rows(900), schema()).run([Ranks("free", windows=WINDOWS)], KEY, then=lambda results: None)
    assert isinstance(kept.ranks[0], WindowedCounts)
    assert kept.ranks[0].scans is None
    assert kept.ranks[0].every().total == result.ranks[0].total


def test_groups_bring_their_values() -> None:
    keys = Keys("k", (1, 2), 1)
    (query,) = prepare(parse("mean(free, method=clipped)"), Setting(schema(), None, keys), Fraction(9)).queries
    assert isinstance(query, Ranks)
    assert query.windows is None
