"""Intervals of medians of records of which many are equal: by ranks, within what was paid, covering and narrow."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reticent.data.schema import Person, Schema, real
from reticent.entropy import Replayed
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gate import Call, Recorder
from reticent.outcome import Estimate, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import PureDP
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.regression.plans import CELLS, plan
from reticent.statistics.regression.rows import Integers
from reticent.statistics.regression.theil_sen import ORDERS, TheilSen, pair_slopes
from reticent.statistics.regression.tukey_point import RADII, Middle, ends
from reticent.statistics.unbounded.column_counts import ColumnTerms

N, RUNS = 4_000, 60
Floats = NDArray[np.float64]


def middle(epsilon: int = 2) -> Middle:
    """Of single records under substitution."""
    return Middle(CELLS, Adjacency("substitute"), 1, 2, 900, 1, Fraction(epsilon))


def calls(made: Middle, records: Floats, answers: list[object] | None) -> list[Call]:
    told, stream = iter(answers or []), Replayed("tied")

    def respond(mechanism: object, exact: object, start: NDArray[np.int64] | None) -> object:
        if answers is not None:
            return next(told)
        if start is not None:
            assert isinstance(mechanism, Exponential)
            assert isinstance(exact, Candidates)
            run = int(mechanism.sample(exact, stream))
            return int(start[run])
        return mechanism.sample(exact, stream)  # type: ignore[attr-defined]  # every mechanism has it

    recorder = Recorder(respond, Replayed("coins"))
    assert isinstance(made.draw([records], recorder), Reply)
    return recorder.calls


def test_an_end_moves_by_what_it_declares_and_costs_a_width() -> None:
    made, rng = middle(), np.random.default_rng(1)
    most = 0
    for _ in range(20):
        records = rng.choice([0.0, 0.0, 1.0, 2.0, -1.0, 0.25], 900)
        other = records.copy()
        other[rng.integers(900)] = rng.choice([-1e9, 1e9, 0.0, 2.0])
        one = calls(made, records, None)
        again = calls(made, other, [call.output for call in one])
        assert [call.mechanism for call in one] == [call.mechanism for call in again]
        census, value, end = [call.mechanism for call in one]
        assert end == made.width
        assert one[2].start is None  # tied: not the median distance, which is drawn by runs
        assert isinstance(one[2].exact, Candidates)
        assert isinstance(again[2].exact, Candidates)
        most = max(most, int(np.abs(one[2].exact.scores - again[2].exact.scores).max()))
        drawn = [mechanism.guarantee for mechanism in (census, value, end)]  # type: ignore[attr-defined]
        assert compose.in_sequence(drawn, label="drawn").loss == made.guarantee.loss == PureDP(Fraction(2))
    assert most == made.width.sensitivity.bound


@pytest.mark.wide
@given(st.lists(st.integers(-4, 4), max_size=9), st.integers(-4, 4), st.integers(0, 3))
def test_every_score_moves_by_one_for_a_record_more_and_is_0_at_the_least_radius(
    records: list[int], more: int, ranks: int
) -> None:
    """Small tables: also what the score means, from the definition."""
    one, other = ends(np.array(records, float), ranks), ends(np.array([*records, more], float), ranks)
    assert int(np.abs(one - other).max()) <= 1
    enough = [
        min(sum(r <= radius for r in records), sum(-r <= radius for r in records)) * 2 >= len(records) + 2 * ranks
        for radius in RADII
    ]
    if any(enough) and not enough[0]:
        assert one[enough.index(True)] == 0
        assert one[enough.index(True) - 1] > 0
    assert not any(score == 0 for score, held in zip(one, enough, strict=True) if not held)


@pytest.mark.wide
def test_records_that_differ_keep_their_width() -> None:
    made = middle()
    found = calls(made, np.random.default_rng(2).normal(size=900), None)
    assert [call.mechanism for call in found[2:]] == [made.width]
    assert found[2].start is not None


def visits(generator: np.random.Generator, n: int) -> Integers:
    """Whole numbers: 0 to 10 of x, and counts y that rise with it, skewed, a fifth of them 0."""
    x = generator.integers(0, 11, n)
    return np.column_stack([np.floor(generator.lognormal(0.4, 1.0, n) * (1 + 0.1 * x)), x]).astype(np.int64)


def line(generator: np.random.Generator, n: int) -> Integers:
    """y = 2 x and an error, told in fives by half of the rows."""
    x = generator.integers(0, 30, n)
    y = 2 * x + 9 * generator.normal(size=n)
    return np.column_stack([np.where(generator.random(n) < 0.5, 5 * np.rint(y / 5), np.rint(y)), x]).astype(np.int64)


LAWS: dict[str, tuple[Callable[[np.random.Generator, int], Integers], float]] = {
    "visits": (visits, 0.4),  # many pairs have equal counts, so their median slope is 0
    "line": (line, 0.25),
}


def theil_sen(kind: Kind) -> TheilSen:
    terms = ColumnTerms(Adjacency(kind), N if kind == "substitute" else None)
    units = (Fraction(1), Fraction(1))
    made = plan("theil_sen", columns=("y", ("x",)), terms=terms, epsilon=Fraction(1), n=N, units=units).plan
    assert isinstance(made, TheilSen)
    return made


def true_median(draw: Callable[[np.random.Generator, int], Integers]) -> float:
    """Of 150,000 random pairs, whatever the adjacency."""
    size = 300_000
    return float(np.median(pair_slopes(draw(np.random.default_rng(4), size), np.arange(size) // 2 * ORDERS)))


def slopes(draw: Callable[[np.random.Generator, int], Integers], kind: Kind) -> list[Estimate]:
    made, found = theil_sen(kind), []
    for key in range(RUNS):
        outcome = made.draw(draw(np.random.default_rng(key), N), Replayed(f"slope {kind} {key}"))
        assert isinstance(outcome, Reply)
        found.append(outcome.value.estimates[1])
    return found


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("name", LAWS)
def test_intervals_of_heaped_columns_cover_and_are_narrow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """60 tables of 4,000 rows at epsilon 1; fewer than 51 at .95 has a chance of 1e-3.

    Ends as near as sampling alone, or nearer, cover less. Widths are those of theory: the distance of slopes by ranks.
    """
    draw, wide = LAWS[name]
    true, told = true_median(draw), slopes(draw, "add_remove")
    assert sum(one.low <= true <= one.high for one in told) >= 51
    assert float(np.mean([one.high - one.low for one in told])) / 2 < wide
    assert all(one.noise < one.high - one.low for one in told)
    if name == "line":  # its median is that of many slopes, and any end covers it
        return
    honest = Middle.ranks
    monkeypatch.setattr(Middle, "ranks", lambda self, size: max(honest(self, size) // 20, 1))
    assert sum(one.low <= true <= one.high for one in slopes(draw, "add_remove")) < 51


def wedge(generator: np.random.Generator, n: int) -> Integers:
    """Prices that rise faster than x, and spread with it: slopes of pairs and of larger cells differ."""
    x = generator.lognormal(0, 0.5, n)
    return np.column_stack([np.rint(1000 * x**2 * generator.lognormal(0, 0.3, n)), np.rint(100 * x)]).astype(np.int64)


@pytest.mark.wide
def test_a_private_number_of_rows_changes_no_estimand() -> None:
    """40 tables of 4,000 rows: intervals hold the median slope of pairs, and not that of least squares of three rows.

    Fewer than 31 of 40 at .93 has a chance of 1e-4.
    """
    true, told = true_median(wedge), slopes(wedge, "add_remove")[:40]
    assert sum(one.low <= true <= one.high for one in told) >= 31
    rows = wedge(np.random.default_rng(5), 300_000).astype(float).reshape(-1, 3, 2)
    away = rows - rows.mean(axis=1, keepdims=True)
    squares = (away[..., 1] ** 2).sum(axis=1)
    other = float(np.median((away[..., 0] * away[..., 1]).sum(axis=1)[squares > 0] / squares[squares > 0]))
    assert sum(one.low <= other <= one.high for one in told) <= 20


def test_the_pair_of_a_cell_is_its_first_two_rows() -> None:
    """By their places, whatever order the rows come in; a cell of one row, or of equal x, has no slope."""
    rows = np.array([[0, 0], [6, 2], [100, 3], [5, 5], [7, 1], [9, 1]], np.int64)
    dealt = np.array([1, 2, 3, ORDERS, 2 * ORDERS, 2 * ORDERS + 1], np.int64)
    for order in (np.arange(6), np.arange(6)[::-1]):
        assert pair_slopes(rows[order], dealt[order]).tolist() == [3.0]
    assert pair_slopes(rows[:0], dealt[:0]).tolist() == []


def test_a_slope_of_pairs_says_what_its_interval_supposes() -> None:
    """By whoever chose the method; least squares supposes nothing of the kind."""
    for bounds, asked in ((None, "regress(y ~ x)"), (None, "regress(y ~ x, method=theil_sen)"), (9, "regress(y ~ x)")):
        columns = {name: real() if bounds is None else real(0, bounds) for name in "yx"}
        setting = Setting(Schema(columns, Person("add_remove", people=50_000)), None)
        caveats = prepare(parse(asked), setting, Fraction(1)).caveats  # type: ignore[attr-defined]
        supposed = any("spreads nearly alike at every x" in text for text in caveats)
        assert supposed == (bounds is None), asked
