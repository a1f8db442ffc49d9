"""Quantiles that are drawn together look at windows of ranks alone: what they draw is drawn of all values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.candidates import Cells, Segment, cells_of
from reticent.data.engines.rank_windows import _with_others
from reticent.data.order_statistics import RankWindows, counted
from reticent.data.query import Ranks
from reticent.data.query_result import Counts, WindowedCounts
from reticent.data.schema import Column, Integer, Person, Real
from reticent.mechanisms import gate
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.statistics.column_step import PlannedStep
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.rank_blocks import HiddenValues
from reticent.statistics.unbounded import confidence_bounds, joint, rank_slices
from reticent.statistics.unbounded.column_counts import ColumnTerms
from reticent.statistics.unbounded.column_plan import ColumnPlan
from reticent.statistics.unbounded.joint import JointQuantiles, joint_quantiles
from reticent.statistics.unbounded.quantile_range import QuantileRange, iqr
from reticent.statistics.unbounded.rank_slices import cut, whole
from tests.support.same_draws import recorder, same_law
from tests.support.stat_fake import schema_of

Array = NDArray[np.int64]
COLUMNS: dict[str, Column] = {
    "bounds": Real(Fraction(0), Fraction(100)),
    "free": Real(),
    "ages": Integer(0, 120),
    "whole": Integer(),
    "steps": Real(resolution=Fraction(1, 100)),
    "negative": Real(Fraction(-(10**4)), Fraction(-10)),
}
ASKED = (
    "quantiles(x, 0.25 0.5 0.75, method=joint)",
    "quantiles(x, 0.02 0.04 0.5 0.9 0.95, method=joint)",
    "quantiles(x, 0.3 0.6, method=joint, interval=no)",
    "iqr(x, method=joint)",
)
SIZE = 200_000
PRICES = ((1, "0.3"), (1, "1"), (4, "2"), (1, "20"))


class FarColumn:
    """A column in its engine: the values in windows, and all of them where they are asked for once more."""

    def __init__(self, base: Cells, values: NDArray[np.float64], windows: RankWindows) -> None:
        self.each, self.read = np.sort(base.index(values)), 0
        near = windows.together(windows.levels, len(values))
        held = _with_others(base.lowest, len(values), [(first, self.each[first - 1 : last]) for first, last in near])
        sizes = None
        if windows.far is not None:
            size = np.sort(np.abs(self.each))
            near = windows.together((windows.far,), len(values))
            sizes = _with_others(0, len(values), [(first, size[first - 1 : last]) for first, last in near])
        self.near = WindowedCounts(held, self.all.beyond(windows.crowd), sizes, self._every)

    @property
    def all(self) -> Counts:
        return Counts(*counted(self.each))

    def _every(self) -> Counts:
        self.read += 1
        return self.all


def calls(made: JointQuantiles, data: Counts, asked: gate.Recorder) -> list[gate.Call]:
    assert isinstance(made.draw(data, asked), Reply)
    return asked.calls


def alike(found: list[gate.Call], honest: list[gate.Call]) -> bool:
    """Tell if two draws ask the same of their mechanisms, and draw the same."""
    pairs = zip(found, honest, strict=True)
    return all(same_law(one, other) and one.output == other.output for one, other in pairs)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule of refusal: any column is answered."""
    monkeypatch.setattr(JointQuantiles, "feasible", lambda self, size, among=None: True)


def columns(base: Cells) -> Iterator[NDArray[np.float64]]:
    """Values apart, some of them equal to many, most of them, and all."""
    stream = np.random.default_rng(20081114)
    for scale in (1e-3, 30.0, 1e6):
        values = stream.normal(5 if base.highest > 0 else -500, scale, 3_000)
        yield values
        values[: stream.integers(200, 1_500)] = values[0]
        yield values
        yield np.round(values / scale) * scale
    yield np.full(2_000, 7.0)


@pytest.mark.loop(3)
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("slices", [3, 1 << 10])
def test_draws_of_windows_are_those_of_all_values(
    monkeypatch: pytest.MonkeyPatch, always: None, name: str, slices: int
) -> None:
    """Whether windows are wide enough, or too narrow for a draw or a cut, which all values are read for then."""
    for module in (rank_slices, joint, confidence_bounds):
        monkeypatch.setattr(module, "SLICES", slices)
    base, terms, seen = cells_of(COLUMNS[name], "x"), ColumnTerms(Adjacency("add_remove")), set[bool]()
    levels = tuple(Fraction(tenth, 10) for tenth in (1, 3, 5, 6, 9))
    for made in (joint_quantiles(base, levels, terms, Fraction(60)), iqr(base, terms, Fraction(30)).joint):
        for seed, values in enumerate(columns(base)):
            whole, near = FarColumn(base, values, made.windows).all, ((0.0, 0.0), (0.3, 0.0), (0.1, 0.1))
            honest = {(far, beyond): calls(made, whole, recorder(seed, far=far, beyond=beyond)) for far, beyond in near}
            for ranks, root in ((made.windows.ranks, 0.4), (20, 0.1), (100, 1.0)):
                column = FarColumn(base, values, replace(made.windows, ranks=ranks, root=root))
                assert column.near.hidden or name == "ages"
                for (far, beyond), every in honest.items():
                    assert alike(calls(made, column.near, recorder(seed, far=far, beyond=beyond)), every)
                    seen.add(column.read > 0)
                    column.read = 0
    assert seen == ({True} if name == "ages" else {False, True})


@pytest.mark.parametrize("shift", [-90, -5, 0, 90])
def test_a_cut_is_known_or_fails(monkeypatch: pytest.MonkeyPatch, shift: int) -> None:
    """At each slice, wherever a stretch of values is hidden: both sides have as many as of all values."""
    monkeypatch.setattr(rank_slices, "SLICES", 4)
    cells = Cells((Segment(shift - 2, shift + 14, 1),), Fraction(1), True)
    each = np.array([0, 0, 1, 3, 3, 3, 4, 6, 6, 9, 9, 10], np.int64) + shift
    every, known, failed = whole(cells, Counts(*counted(each))), 0, 0
    for first, last in combinations(range(len(each) + 1), 2):
        seen = [(1, each[:first]), (last + 1, each[last:])]
        held = _with_others(cells.lowest, len(each), [(at, part) for at, part in seen if len(part)])
        near = whole(cells, Counts(*held))
        for at in range(near.first, near.stop):
            honest = tuple(side.data.total for side in cut(every, at))
            try:
                found = tuple(side.data.total for side in cut(near, at))
            except HiddenValues:
                failed += 1
            else:
                known += 1
                assert found == honest
    assert known > failed > 0


def joint_of(asked: str, column: Column, kind: Kind, rows: int, epsilon: str) -> JointQuantiles:
    units = 10**6 if kind == "substitute" else None
    step = prepare(parse(asked), Setting(schema_of(column, Person(kind, "who", rows=rows)), units), Fraction(epsilon))
    assert isinstance(step, PlannedStep)
    assert isinstance(step.plan, ColumnPlan)
    made = step.plan.made
    made = made.joint if isinstance(made, QuantileRange) else made
    assert isinstance(made, JointQuantiles)
    (query,) = step.queries
    assert isinstance(query, Ranks)
    assert query.windows == made.windows
    return made


def times_read(made: JointQuantiles, windows: RankWindows, how: Sequence[tuple[float, int]]) -> int:
    """How often all of many values that differ are read, for shares of draws as far off as may be, and noise."""
    values = np.random.default_rng(1).normal(40, 5, SIZE) if made.cells.step is None else np.linspace(9, 91, SIZE)
    column = FarColumn(made.cells, values * (1e6 if made.cells.step is not None and made.cells.free else 1), windows)
    for seed, (far, more) in enumerate(how):
        calls(made, column.near, recorder(seed, far=far, more=more))
    return column.read


@pytest.mark.loop(1)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", ["bounds", "free", "whole", "steps"])
def test_windows_hold_what_any_draw_needs(always: None, name: str, asked: str) -> None:
    """Of both adjacencies and many prices, also where each draw is as far off as may be; narrower windows do not."""
    narrow = 0
    for kind in ("add_remove", "substitute"):
        for rows, epsilon in PRICES:
            made = joint_of(asked, COLUMNS[name], kind, rows, epsilon)
            windows, census = made.windows, made.census
            noise = 0 if census is None else census.mechanism.radius(math.exp(-40.0))  # which makes values seem tied
            assert not times_read(made, windows, [(0.0, noise), (0.5, 0), (1.0, -noise), (1.0, noise)])
            less = replace(windows, ranks=windows.ranks // 16, root=windows.root / 16)
            narrow += times_read(made, less, [(1.0, 0)]) > 0
    assert narrow == 8
