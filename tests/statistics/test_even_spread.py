"""Equal values spread over even cells: what a row moves, which widths are taken, and the intervals that follow.

Coverage is judged as in ``test_coverage``: a count fails where it would have probability below ERROR (1e-2) at coverage
.93, or above .97. Rounded values cover more, as their intervals reach to the ends of cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from statistics import median

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.candidates import Cells, Segment, merged
from reticent.data.schema import integer
from reticent.data.table import Counts
from reticent.entropy import Replayed
from reticent.outcome import Reply
from reticent.privacy.adjacency import Kind
from reticent.statistics import even_spread
from reticent.statistics.quantiles.quantile_step import TIES
from reticent.statistics.ranks import sensitivity
from reticent.statistics.unbounded.rank_slices import SLICES
from tests.statistics.test_coverage import too_low
from tests.statistics.test_quantile_ends import answers
from tests.statistics.test_quantile_intervals import KINDS, step_of
from tests.support.stat_fake import answered

AMONG = Cells((Segment(-2, 9, 1),), Fraction(1, 4), False)


def counts(rows: tuple[int, ...]) -> Counts:
    cells, held = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return Counts(cells, held.astype(np.int64))


def at(rows: tuple[int, ...], by: int) -> Counts:
    return even_spread.placed(AMONG, merged(AMONG, by), counts(rows))


# --- what a row moves -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [0, 1, 2])
def test_a_row_moves_what_stands_out_by_two_at_most(by: int) -> None:
    """All tables of up to four rows in eleven cells, and every row added; the bound is reached."""
    moved = set()
    for size in range(5):
        for rows in combinations_with_replacement(range(-2, 9), size):
            before = even_spread.standing_out(at(rows, by))
            moved |= {even_spread.standing_out(at(tuple(sorted((*rows, one))), by)) - before for one in range(-2, 9)}
    assert moved == {-2, -1, 0, 1}
    assert max(map(abs, moved)) == even_spread.MOVED


def test_a_row_replaced_moves_what_stands_out_by_three_at_most() -> None:
    """All tables of three rows, and every value in place of the last; the bound is reached."""
    moved = set()
    for rows in combinations_with_replacement(range(-2, 9), 3):
        before = even_spread.standing_out(at(rows, 0))
        for place in range(3):
            rest = rows[:place] + rows[place + 1 :]
            moved |= {even_spread.standing_out(at(tuple(sorted((*rest, x))), 0)) - before for x in range(-2, 9)}
    assert max(map(abs, moved)) == even_spread.REPLACED


@pytest.mark.parametrize(("kind", "level"), [("add_remove", Fraction(1, 4)), ("substitute", Fraction(1, 4))])
def test_scores_among_parts_move_as_scores_among_cells_do(kind: Kind, level: Fraction) -> None:
    """Every part of every cell, for all tables of three rows and each row added, or put in place of the last."""
    cells, most = merged(AMONG, 1), 0
    parts = np.arange(cells.lowest * SLICES, (cells.highest + 1) * SLICES, 64)

    def scores(rows: tuple[int, ...], shift: int) -> NDArray[np.int64]:
        found = even_spread.spread(cells, even_spread.placed(AMONG, cells, counts(tuple(sorted(rows)))))
        place = np.searchsorted(found.start, parts, side="right") - 1
        return found.scores(level.numerator, level.denominator, shift)[place]

    for rows in combinations_with_replacement(range(-2, 9, 2), 3):
        for one in range(-2, 9, 2):
            other = (*rows, one) if kind == "add_remove" else (*rows[:2], one)
            for shift in (-1, 2):
                most = max(most, int(np.abs(scores(rows, shift) - scores(other, shift)).max()))
    assert most == sensitivity(level, kind)


def test_cells_are_merged_about_multiples_of_their_width() -> None:
    for origin in (0, 5, -3):
        cells = Cells((Segment(-20, 20, 1),), Fraction(1, 2), False, origin=origin)
        wide = merged(cells, 2)
        assert wide.step == 2
        for place in range(-20, 20):
            (to,) = even_spread.placed(cells, wide, Counts(np.array([place]), np.array([1]))).cells.tolist()
            low, high = wide.edges(to)
            assert low <= cells.value(place) < high
            assert wide.value(to) % 2 == 0


# --- which width is taken ---------------------------------------------------------------------------------------------


def test_the_finest_width_is_taken_of_which_little_stands_out() -> None:
    """Multiples of 4 stand out until cells are four wide; noise that could decide takes none."""
    rows = tuple(4 * place for place in (-1, 0, 0, 0, 1, 1, 1, 2, 2))
    wide = Cells((Segment(-8, 16, 1),), Fraction(1), True)
    standing = [even_spread.standing_out(even_spread.placed(wide, merged(wide, by), counts(rows))) for by in range(3)]
    assert standing[:2] == [9, 9]
    assert standing[2] == 0
    assert even_spread.chosen(standing, 9.0, 1.0) == 2
    assert even_spread.chosen(standing, 9.0, 4.0) is None
    assert even_spread.chosen(standing[:2], 9.0, 1.0) is None
    assert even_spread.standing_out(counts(())) == 0


# --- intervals --------------------------------------------------------------------------------------------------------

Law = Callable[[np.random.Generator, int], NDArray[np.float64]]


def rounded(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    return np.round(generator.lognormal(3.0, 0.8, n), 1)


def ages(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    return np.round(generator.normal(45.0, 15.0, n))


def zeros_far_away(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    """A quarter of zeros, and a gap before all others: no width should be taken for even."""
    return np.where(generator.random(n) < 0.24, 0.0, np.round(generator.normal(100.0, 5.0, n), 1))


def released(question: str, law: Law, kind: Kind, epsilon: str, n: int, runs: int) -> list[tuple[float, float, bool]]:
    """Low end, high end, and whether the interval allows for gaps, of each table that has a reply."""
    generator = np.random.default_rng(29)
    found = []
    for answer in answers(question, kind, epsilon, [law(generator, n) for _ in range(runs)]):
        for outcome in (cell.outcome for cell in answer.cells):
            if isinstance(outcome, Reply):
                found.append((outcome.value.low, outcome.value.high, TIES in answer.caveats))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("question", "law", "truth", "times"),
    [
        ("median(x)", rounded, 20.1, 2.0),
        ("median(x)", ages, 45.0, 1.3),
        ("iqr(x)", rounded, 22.8, 2.0),
        ("iqr(x, method=separate)", ages, 20.0, 2.0),
    ],
)
def test_intervals_of_rounded_values_are_short_and_hold_the_truth(
    monkeypatch: pytest.MonkeyPatch, question: str, law: Law, truth: float, times: float, kind: Kind
) -> None:
    """5,000 values at ε 1. Without the spread the intervals were ``times`` as wide at least."""
    runs = 30
    short = released(question, law, kind, "1", 5_000, runs)
    assert len(short) == runs
    assert sum(gaps for *_, gaps in short) <= runs / 6
    assert not too_low(sum(low <= truth <= high for low, high, _ in short), runs)
    monkeypatch.setattr(even_spread, "DECIDED", -1.0)
    wide = released(question, law, kind, "1", 5_000, runs)
    assert all(gaps for *_, gaps in wide)
    assert median(high - low for low, high, _ in wide) > times * median(high - low for low, high, _ in short)


def test_a_gap_beside_an_atom_is_not_taken_for_even(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quantile just inside of the zeros, at (20,000, .3): .39 of intervals held it if a quarter may stand out."""

    def held(runs: int) -> int:
        found = released("quantile(x, 0.235)", zeros_far_away, "add_remove", "0.3", 20_000, runs)
        assert len(found) == runs
        return sum(low <= 0.0 <= high for low, high, _ in found)

    assert not too_low(held(40), 40)
    monkeypatch.setattr(even_spread, "STANDING", 0.3)
    assert too_low(held(40), 40)


@pytest.mark.parametrize("question", ["median(x)", "iqr(x)", "iqr(x, method=separate)"])
def test_the_plan_of_whole_numbers_is_what_is_released(question: str) -> None:
    """A normal column between bounds of 0 and 90, as the usual shape of a plan is."""
    step, _ = step_of(question, integer(0, 90), "add_remove", "1", 5_000)
    told = step.expected(5_000)
    assert told.noise is not None
    assert told.sampling is not None
    generator = np.random.default_rng(31)
    tables = [np.round(generator.normal(45.0, 15.0, 5_000)) for _ in range(30)]
    halves = [(high - low) / 2.0 for low, high, _ in of_whole(question, tables)]
    assert 0.6 * median(halves) < told.noise + told.sampling < 1.7 * median(halves)


def of_whole(question: str, tables: list[NDArray[np.float64]]) -> list[tuple[float, float, bool]]:
    step, table = step_of(question, integer(0, 90), "add_remove", "1", len(tables[0]))
    found = []
    for run, values in enumerate(tables):
        answer = answered(step, replace(table, rows={"x": values}), Replayed(f"{question} {run}"))
        (outcome,) = (cell.outcome for cell in answer.cells)
        assert isinstance(outcome, Reply)
        found.append((outcome.value.low, outcome.value.high, TIES in answer.caveats))
    return found


def test_a_quantile_of_costs_of_which_most_are_zero_has_the_size_of_the_others() -> None:
    """The level .8 lies among 60 % of zeros and e^(4 + Z): its magnitude was 0, and the answer off by half."""

    def costs(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
        return np.where(generator.random(n) < 0.6, 0.0, np.round(generator.lognormal(4.0, 1.0, n)))

    found = released("quantile(x, 0.8)", costs, "add_remove", "0.3", 20_000, 20)
    assert len(found) == 20
    assert not too_low(sum(low <= 55.0 <= high for low, high, _ in found), 20)
    assert median(high - low for low, high, _ in found) < 60.0


def test_a_real_column_of_few_values_keeps_the_wide_interval() -> None:
    def three(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
        return generator.choice([0.0, 1.0, 5.0], n, p=[0.4, 0.3, 0.3])

    assert all(gaps for *_, gaps in released("median(x)", three, "add_remove", "1", 5_000, 5))
