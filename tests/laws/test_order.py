"""Every kind of ordered column gives the same order statistics, counts and sums, and what is fetched does not depend on
the sample that said where to look: not even on a bad one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reticent.data import order_statistics
from reticent.data.order_statistics import (
    LARGEST,
    Bracket,
    FetchedColumn,
    Needs,
    RunLength,
    SortedColumn,
    fetch,
    fetched,
    ordered,
)
from reticent.errors import PublicParameterError

VALUES = st.lists(
    st.one_of(st.integers(-3, 3), st.sampled_from((-LARGEST, LARGEST, 2**60 + 1, -(2**60) - 1, 2**42, -1 - 2**21))),
    max_size=12,
)
RANKS = st.tuples(st.integers(-4, 16), st.integers(0, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))
NEEDS = st.builds(
    Needs,
    st.lists(RANKS, min_size=1, max_size=3).map(tuple),
    st.lists(RANKS, max_size=2).map(tuple),
)
SAMPLES: dict[str, Callable[[list[float]], Sequence[float]]] = {  # of sorted values
    "fair": lambda x: x[::3],
    "empty": lambda x: (),
    "low": lambda x: x[:5] * 8,
    "high": lambda x: x[-5:] * 8,
    "one value": lambda x: [x[0]] * 40,
    "far below": lambda x: [-1e300] * 40,
    "far above": lambda x: [math.inf] * 40,
    "made up": lambda x: [place / 4 - 5 for place in range(40)],
}


def runs(values: Sequence[int]) -> RunLength:
    found, counts = np.unique(np.array(values, np.int64), return_counts=True)
    return RunLength(found, counts.astype(np.int64))


def listed(values: Sequence[int], first: int, last: int) -> list[int]:
    """By the words of the module: infinite beyond the ends."""
    inside = sorted(values)
    return [
        -LARGEST if rank < 1 else LARGEST if rank > len(inside) else inside[rank - 1] for rank in range(first, last + 1)
    ]


@given(VALUES, RANKS)
def test_sorted_values_and_runs_are_the_same_column(values: list[int], ranks: tuple[int, int]) -> None:
    for column in (ordered(np.array(values, np.int64)), runs(values)):
        assert column.window(*ranks).tolist() == listed(values, *ranks)
        assert column.total(*ranks) == sum(listed(values, *ranks))
        for end in (*values, -LARGEST, LARGEST, 0, 2**63, -(2**63)):
            assert column.below(end) == sum(value < end for value in values)


@given(VALUES, NEEDS)
def test_what_is_fetched_of_runs_is_what_is_fetched_of_sorted_values(values: list[int], needs: Needs) -> None:
    assert same(fetched(runs(values), needs), fetched(ordered(np.array(values, np.int64)), needs))


def test_sums_of_many_copies_are_exact() -> None:
    many = 1 << 40
    column = RunLength(np.array([-LARGEST, -1, LARGEST - 1], np.int64), np.array([many, many, many], np.int64))
    assert column.total(1, 3 * many) == many * (-LARGEST - 1 + LARGEST - 1)
    assert column.total(many, 2 * many + 2) == -LARGEST - many + 2 * (LARGEST - 1)
    assert column.window(2 * many, 2 * many + 1).tolist() == [-1, LARGEST - 1]


@pytest.mark.parametrize(
    ("values", "counts"),
    [([1, 1], [1, 1]), ([2, 1], [1, 1]), ([1], [0]), ([1], [1, 1]), ([LARGEST + 1], [1]), ([-LARGEST - 1], [1])],
)
def test_what_is_no_column_of_runs_is_refused(values: list[int], counts: list[int]) -> None:
    with pytest.raises(PublicParameterError):
        RunLength(np.array(values, np.int64), np.array(counts, np.int64))


def test_columns_show_nothing() -> None:
    for column in (SortedColumn(np.array([41], np.int64)), runs([41]), fetched(runs([41]), Needs(((1, 1),)))):
        assert "41" not in repr(column)


def test_needs_go_upwards() -> None:
    with pytest.raises(PublicParameterError):
        Needs(((2, 1),))


# --- fetching ---------------------------------------------------------------------------------------------------------


@dataclass
class Loops:
    """Scans by loops, with a sample of the caller's choice; counts what was fetched."""

    values: list[float]
    draw: Callable[[list[float]], Sequence[float]]
    seen: list[int] = field(default_factory=list)

    def step(self, x: float) -> int:
        return int(max(-float(LARGEST), min(float(LARGEST), x)) // 1)

    def size(self) -> int:
        return len(self.values)

    def sample(self, share: float) -> NDArray[np.float64]:
        return np.array(sorted(self.draw(sorted(self.values))), dtype=np.float64)[::-1]

    def below(self, end: float) -> int:
        return sum(x < end for x in self.values)

    def inside(self, bracket: Bracket) -> RunLength:
        found = [self.step(x) for x in self.values if bracket[0] <= x <= bracket[1]]
        self.seen.append(len(found))
        return runs(found)

    def between(self, low: int, high: int) -> tuple[int, int, int]:
        steps = [self.step(x) for x in self.values]
        return sum(q for q in steps if low < q < high), sum(q <= low for q in steps), sum(q < high for q in steps)

    def whole(self) -> SortedColumn:
        return ordered(np.array([self.step(x) for x in self.values], np.int64))


def same(one: FetchedColumn, other: FetchedColumn) -> bool:
    windows = [(a.tolist(), b.tolist()) for a, b in zip(one.windows, other.windows, strict=True)]
    return one.needs == other.needs and all(a == b for a, b in windows) and one.totals == other.totals


@pytest.mark.loop(4)
@pytest.mark.parametrize("name", SAMPLES)
@given(
    st.lists(st.one_of(st.sampled_from((-math.inf, math.inf, 0.0, 1.5, 2.5)), st.floats(-9, 9)), max_size=60),
    NEEDS,
)
def test_no_sample_changes_what_is_fetched(name: str, values: list[float], needs: Needs) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order_statistics, "SAMPLE", 8)
        patch.setattr(order_statistics, "WIDTHS", 0.5)  # narrow, so that brackets miss
        scans = Loops(values, SAMPLES[name])
        assert same(fetch(scans, needs), fetched(scans.whole(), needs))


def test_a_fair_sample_fetches_little_once_and_a_bad_one_widens() -> None:
    stream = np.random.default_rng(5).normal(0, 1e9, 30_000)
    needs = Needs(((7_400, 7_600), (22_400, 22_600)))
    fetched_rows = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order_statistics, "SAMPLE", 10_000)
        for name, draw in {"fair": SAMPLES["fair"], "poor": lambda x: x[7_000:8_000]}.items():
            scans = Loops(stream.tolist(), draw)
            assert same(fetch(scans, needs), fetched(scans.whole(), needs))
            fetched_rows[name] = scans.seen
    assert len(fetched_rows["fair"]) == 2
    assert sum(fetched_rows["fair"]) < 3_500
    assert len(fetched_rows["poor"]) > 2


def test_an_unverified_bracket_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant that trusts the sample is seen by the test above."""
    monkeypatch.setattr(order_statistics, "SAMPLE", 8)
    monkeypatch.setattr(order_statistics, "WIDTHS", 0.5)
    monkeypatch.setattr(order_statistics._RankRuns, "holds", lambda *_: True)
    scans, needs = Loops([float(x) for x in range(60)], SAMPLES["low"]), Needs(((40, 44),))
    assert not same(fetch(scans, needs), fetched(scans.whole(), needs))


def test_an_empty_column_is_infinite() -> None:
    needs = Needs(((-1, 2),), ((1, 2), (-3, 0), (0, 1)))
    found = fetch(Loops([], SAMPLES["fair"]), needs)
    assert found.windows[0].tolist() == [-LARGEST, -LARGEST, LARGEST, LARGEST]
    assert found.totals == (2 * LARGEST, -4 * LARGEST, 0)


def test_equal_values_are_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_statistics, "SAMPLE", 8)
    held: list[int] = []

    class Seen(Loops):
        def inside(self, bracket: Bracket) -> RunLength:
            found = super().inside(bracket)
            held.append(len(found.values))
            return found

    found = fetch(Seen([7.25] * 500, SAMPLES["fair"]), Needs(((200, 300),), ((1, 500),)))
    assert set(found.windows[0].tolist()) == {7}
    assert found.totals == (3500,)
    assert held
    assert set(held) == {1}
