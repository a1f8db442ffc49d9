"""The scores of quantiles: sensitivity by enumerating neighbours, zeros, and the law of what is drawn."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from reticent.data.candidates import Cells, Segment, cells_of
from reticent.data.query_result import Counts
from reticent.data.schema import real
from reticent.entropy import Replayed
from reticent.mechanisms.exponential import Exponential
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import Linf
from reticent.statistics.rank_blocks import draw
from reticent.statistics.ranks import Runs, cell_share, runs, sensitivity, within

SMALL = Cells((Segment(-2, 0, 3), Segment(0, 2, 1), Segment(2, 5, 2)), Fraction(1), True)
LEVELS = [Fraction(1, 2), Fraction(1, 4), Fraction(2, 3), Fraction(9, 10), Fraction(1, 1000)]
Table = tuple[int, ...]


def found(table: Table, cells: Cells = SMALL) -> Runs:
    held, counts = np.unique(np.array(table, dtype=np.int64), return_counts=True)
    return runs(cells, Counts(held, counts.astype(np.int64)))


def by_cell(table: Table, level: Fraction, shift: int | Fraction) -> list[int]:
    """The score of every single cell."""
    made = found(table)
    scores = made.scores(level.numerator, level.denominator, shift)
    each = []
    for cell in range(SMALL.lowest, SMALL.highest + 1):
        each.append(int(scores[np.searchsorted(made.start, cell, side="right") - 1]))
    return each


def tables(size: int) -> list[Table]:
    return [tuple(t) for t in itertools.combinations_with_replacement(range(-2, 5), size)]


@pytest.mark.loop(10)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("parts", [0, -1, 2, 5])
def test_adding_a_row_moves_no_score_by_more_than_the_sensitivity(level: Fraction, parts: int) -> None:
    """For ends aimed at any part 1/b of a rank."""
    worst, shift = 0, Fraction(parts, level.denominator)
    for size in range(4):
        for table in tables(size):
            before = by_cell(table, level, shift)
            for row in range(-2, 5):
                after = by_cell((*table, row), level, shift)
                worst = max(worst, *(abs(a - b) for a, b in zip(before, after, strict=True)))
    assert worst == sensitivity(level, "add_remove")


@pytest.mark.loop(3)
@pytest.mark.parametrize("level", LEVELS)
def test_replacing_a_row_moves_no_score_by_more_than_the_sensitivity(level: Fraction) -> None:
    worst = 0
    for rest in [t for size in range(3) for t in tables(size)]:
        for old, new in itertools.combinations(range(-2, 5), 2):
            for shift in (Fraction(0), Fraction(1, level.denominator)):
                before, after = by_cell((*rest, old), level, shift), by_cell((*rest, new), level, shift)
                worst = max(worst, *(abs(a - b) for a, b in zip(before, after, strict=True)))
    assert worst == sensitivity(level, "substitute")


@pytest.mark.wide
@pytest.mark.parametrize("level", LEVELS)
def test_the_score_is_zero_exactly_on_quantiles(level: Fraction) -> None:
    for table in [t for size in range(1, 5) for t in tables(size)]:
        for cell, score in zip(range(-2, 5), by_cell(table, level, 0), strict=True):
            below = sum(row < cell for row in table)
            through = sum(row <= cell for row in table)
            assert (score == 0) == (below <= level * len(table) <= through)


@pytest.mark.wide
def test_with_n_fixed_the_score_is_the_familiar_one() -> None:
    level = Fraction(1, 4)
    for table in tables(4):
        for cell, score in zip(range(-2, 5), by_cell(table, level, 0), strict=True):
            below = sum(row < cell for row in table)
            through = sum(row <= cell for row in table)
            assert score == max(0, 4 * below - 4, 4 - 4 * through)


@pytest.mark.wide
def test_runs_carry_the_weight_of_their_cells() -> None:
    made = found((0, 0, 3))
    assert list(made.start) == [-2, 0, 1, 2, 3, 4, 5]
    assert list(made.weights) == [6, 1, 1, 2, 2, 2]
    assert list(made.below) == [0, 0, 2, 2, 2, 3]
    assert list(made.above) == [3, 1, 1, 1, 0, 0]
    empty = found(())
    assert int(empty.weights.sum()) == 6 + 2 + 6
    assert not empty.scores(1, 2, 0).any()


def pair(table: Table) -> tuple[int, int]:
    """Different cells, and values in a cell that is already held."""
    return len(set(table)), len(table) - len(set(table))


@pytest.mark.wide
def test_a_row_changes_one_of_different_cells_and_ties() -> None:
    for table in [t for size in range(4) for t in tables(size)]:
        for row in range(-2, 5):
            (cells, ties), (more_cells, more_ties) = pair(table), pair((*table, row))
            assert (more_cells - cells, more_ties - ties) in {(1, 0), (0, 1)}
    for rest in [t for size in range(3) for t in tables(size)]:
        for old, new in itertools.combinations(range(-2, 5), 2):
            assert abs(pair((*rest, old))[1] - pair((*rest, new))[1]) <= 1


def law(table: Table, level: Fraction, epsilon: Fraction) -> dict[int, float]:
    """The exact law of the cell, from the definition."""
    rate = float(epsilon) / (2 * sensitivity(level, "add_remove"))
    weight = {cell: s.weight for s in SMALL.segments for cell in range(s.first, s.stop)}
    masses = {
        cell: weight[cell] * math.exp(-rate * score)
        for cell, score in zip(range(-2, 5), by_cell(table, level, 0), strict=True)
    }
    total = sum(masses.values())
    return {cell: mass / total for cell, mass in masses.items()}


def distance(table: Table, drawn_at: Fraction, claimed: Fraction) -> float:
    """Chi-square of 8,000 draws against the law; six degrees of freedom."""
    level = Fraction(1, 4)
    bound = Linf(Fraction(sensitivity(level, "add_remove")), Adjacency("add_remove"))
    mechanism, stream, made = Exponential(bound, drawn_at), Replayed("quantile law"), found(table)
    counts = Counter(draw(made, level, 0, mechanism, stream) for _ in range(8_000))
    return sum((counts[cell] - 8_000 * p) ** 2 / (8_000 * p) for cell, p in law(table, level, claimed).items())


@pytest.mark.wide
def test_the_cell_drawn_has_the_stated_law() -> None:
    # chi-square with 6 degrees of freedom exceeds 38 with probability 1e-6
    assert distance((-1, 0, 0, 1, 3), Fraction(1), Fraction(1)) < 38


@pytest.mark.wide
@pytest.mark.parametrize("mutant", [Fraction(4, 5), Fraction(5, 4)])
def test_the_test_of_the_law_rejects_too_much_and_too_little_noise(mutant: Fraction) -> None:
    assert distance((-1, 0, 0, 1, 3), mutant, Fraction(1)) > 38


@pytest.mark.wide
def test_an_atom_wins_against_a_wide_range() -> None:
    """Constant columns: the single cell of the data beats a million others once the data outweigh the prior."""
    cells = cells_of(real(0, 100), "x")
    made = runs(cells, Counts(cells.index(np.array([37.0])), np.array([1000], dtype=np.int64)))
    mechanism = Exponential(Linf(Fraction(1), Adjacency("add_remove")), Fraction(1, 10))
    stream = Replayed("atom")
    assert {draw(made, Fraction(1, 2), 0, mechanism, stream) for _ in range(50)} == {
        int(cells.index(np.array([37.0]))[0])
    }


@pytest.mark.wide
def test_bounds_of_a_question_cut_the_candidates() -> None:
    cells = within(cells_of(real(0, 100), "x"), Fraction(10), Fraction(20))
    assert float(cells.edges(cells.lowest)[0]) <= 10 <= float(cells.edges(cells.lowest)[1])
    assert float(cells.edges(cells.highest)[0]) < 20 <= float(cells.edges(cells.highest)[1])
    free = within(cells_of(real(), "x"), Fraction(-3), Fraction(5))
    assert free.edges(free.lowest)[0] <= -3 <= free.edges(free.lowest)[1]
    assert 0 < cell_share(cells) < 1
    assert 0 < cell_share(cells_of(real(), "x")) < cell_share(cells)
