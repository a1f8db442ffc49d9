"""Quantiles over blocks of values: what is drawn has the law over all runs, whatever the blocks are."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from reticent.data import order_statistics, query_result
from reticent.data.candidates import Cells, Segment, cells_of
from reticent.data.order_statistics import counted
from reticent.data.query_result import Counts, SortedCells
from reticent.data.schema import Column, Integer, Real
from reticent.entropy import Entropy, Replayed
from reticent.exact.coins import bernoulli_exp, uniform
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Exponential
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import Linf
from reticent.statistics import magnitude, rank_blocks, ranks
from reticent.statistics.magnitude import between, by_binade
from reticent.statistics.quantiles.group_size import values_and_ties
from reticent.statistics.ranks import placed, runs
from tests.assurance.laws import ONE, Law, law_of

TWELVE = Cells((Segment(-4, 0, 3), Segment(0, 3, 1), Segment(4, 9, 2)), Fraction(1), True)
HELD = (-4, -4, -3, -1, 0, 0, 0, 1, 2, 4, 5, 5, 8)
ADDED = Adjacency("add_remove")
COLUMNS = (Real(Fraction(0), Fraction(100)), Real(), Real(resolution=Fraction(1, 4)), Integer(), Integer(0, 30))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_blocks, "BLOCK", 4)
    monkeypatch.setattr(rank_blocks, "FEW", 0)
    for module in (order_statistics, query_result):
        monkeypatch.setattr(module, "STRIDE", 4)
    monkeypatch.setattr(rank_blocks, "REFINED", 0)  # so that refining is left to the draw
    monkeypatch.setattr("reticent.data.query_result.PIECE", 8)


def sorted_cells(held: tuple[int, ...] = HELD) -> SortedCells:
    return SortedCells(np.array(held, dtype=np.int64))


def mechanism(level: Fraction, epsilon: Fraction) -> Exponential:
    return Exponential(Linf(Fraction(ranks.sensitivity(level, "add_remove")), ADDED), epsilon)


def law_over_blocks(level: Fraction, shift: Fraction, epsilon: Fraction) -> Law:
    made = mechanism(level, epsilon)

    def program(entropy: Entropy) -> int:
        found = rank_blocks.runs(TWELVE, sorted_cells())
        assert isinstance(found, rank_blocks.RankBlocks)
        return rank_blocks.draw(found, level, shift, made, entropy)

    return law_of(program, least=Fraction(1, 1 << 60))


def law_over_runs(level: Fraction, shift: Fraction, epsilon: Fraction) -> Law:
    found, made = runs(TWELVE, Counts(*counted(sorted_cells().each[:]))), mechanism(level, epsilon)
    return law_of(lambda entropy: rank_blocks.draw(found, level, shift, made, entropy), least=Fraction(1, 1 << 60))


def apart(one: Law, other: Law) -> float:
    """The largest distance of two probabilities of a cell, at least."""
    cells = one.masses.keys() | other.masses.keys()
    pairs = [(one.masses.get(cell, (0, 0)), other.masses.get(cell, (0, 0))) for cell in cells]
    return max(max(a[0] - b[1], b[0] - a[1], 0) for a, b in pairs) / ONE


LEVELS = (Fraction(1, 2), Fraction(1, 4), Fraction(9, 10))
SHIFTS = (Fraction(0), Fraction(2), Fraction(-30))


@pytest.mark.wide
@pytest.mark.loop(3)  # of which each level and each shift is one
@pytest.mark.parametrize(
    ("level", "shift"), [(LEVELS[(one + off) % 3], SHIFTS[one]) for one in range(3) for off in range(3)]
)
def test_the_law_over_blocks_is_the_law_over_runs(level: Fraction, shift: Fraction) -> None:
    """Both are enumerated, with all proposals that are not accepted; what is left out has mass below 2^-40."""
    blocks, whole = law_over_blocks(level, shift, Fraction(1, 2)), law_over_runs(level, shift, Fraction(1, 2))
    assert blocks.residual < ONE >> 40
    assert blocks.runs > 2 * whole.runs  # some proposals are not accepted
    assert apart(blocks, whole) < 2.0**-40


def _all_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_blocks, "bernoulli_exp", lambda x, entropy: True)


def _too_few_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_blocks, "bernoulli_exp", lambda x, entropy: bernoulli_exp(2 * x, entropy))


def _weights_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run within a block is as likely, whatever its public weight."""
    monkeypatch.setattr(rank_blocks, "_by_weight", lambda weights, entropy: uniform(len(weights), entropy))


@pytest.mark.wide
@pytest.mark.parametrize("mutant", [_all_accepted, _too_few_accepted, _weights_left_out])
def test_the_comparison_of_laws_rejects_a_mutant(
    monkeypatch: pytest.MonkeyPatch, mutant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    level, shift, epsilon = Fraction(1, 2), Fraction(0), Fraction(1, 2)
    whole = law_over_runs(level, shift, epsilon)
    mutant(monkeypatch)
    assert apart(law_over_blocks(level, shift, epsilon), whole) > 1e-3


def test_the_bound_of_a_block_is_below_each_score_within() -> None:
    for level in (Fraction(1, 2), Fraction(1, 5)):
        for shift in (Fraction(0), Fraction(3), Fraction(-20)):
            found = rank_blocks.runs(TWELVE, sorted_cells())
            assert isinstance(found, rank_blocks.RankBlocks)
            bounds = found.runs.scores(level.numerator, level.denominator, shift)
            for run, bound in enumerate(bounds.tolist()):
                inside = found.within(*found.runs.start[run : run + 2].tolist())
                scores = inside.scores(level.numerator, level.denominator, shift)
                assert bound <= scores.min()
                assert int(inside.weights.sum()) == int(found.runs.weights[run])


@pytest.mark.parametrize("column", COLUMNS, ids=repr)
def test_sorted_cells_and_counted_ones_are_the_same_column(column: Column) -> None:
    """Numbers of values and of ties, magnitudes, and runs among even cells, between some of them and in the prior."""
    stream = np.random.default_rng(20081114)
    for size, scale in ((1, 1.0), (40, 1e-3), (400, 30.0), (300, 1e6)):
        values = np.append(stream.normal(5, scale, size), np.repeat(stream.normal(5, scale, 3), size // 9))
        base = cells_of(column, "x")
        each = SortedCells(np.sort(base.index(values)))
        whole = Counts(*counted(each.each[:]))
        assert values_and_ties(each, 8, replaced=False) == values_and_ties(whole, 8, replaced=False)
        assert values_and_ties(each, 0, replaced=True) == values_and_ties(whole, 0, replaced=True)
        one, other = by_binade(base, each), by_binade(base, whole)
        assert np.array_equal(one.below, other.below)
        assert np.array_equal(one.start, other.start)
        for tied in (True, False):
            among = magnitude.candidates(base, 3 if base.free else None, tied=tied)
            held = placed(base, among, whole)
            assert np.array_equal(placed(base, among, each).cells, held.cells)
            for cells in (among, between(among, int(held.cells[0]), int(held.cells[len(held.cells) // 2]))):
                blocks = rank_blocks.runs(cells, placed(base, among, each))
                assert isinstance(blocks, rank_blocks.RankBlocks)
                assert_alike(blocks, runs(cells, held))


def assert_alike(blocks: rank_blocks.RankBlocks, whole: ranks.Runs) -> None:
    """Each run within each block has the score that it has among all."""
    known = blocks.runs
    scores = whole.scores(1, 3, Fraction(2, 3))
    for run in range(len(known.below)):
        inside = blocks.within(*known.start[run : run + 2].tolist())
        among = np.searchsorted(whole.start, inside.start[:-1], side="right") - 1
        assert np.array_equal(inside.scores(1, 3, Fraction(2, 3)), scores[among])
    assert sum(known.weights.tolist()) == sum(whole.weights.tolist())


def test_blocks_about_the_target_are_refined_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the draw seldom proposes a block; here one draw of a thousand does with probability 1e-9 at most."""
    monkeypatch.setattr(rank_blocks, "REFINED", 64)
    base = cells_of(Real(Fraction(0), Fraction(1)), "x")
    each = SortedCells(np.sort(base.index(np.random.default_rng(1).random(40_000))))
    found = rank_blocks.runs(base, each)
    assert isinstance(found, rank_blocks.RankBlocks)
    seen = list[tuple[int, int]]()
    honest = rank_blocks.RankBlocks.within

    def within(self: rank_blocks.RankBlocks, first: int, stop: int) -> ranks.Runs:
        seen.append((first, stop))
        return honest(self, first, stop)

    monkeypatch.setattr(rank_blocks.RankBlocks, "within", within)
    for nth in range(10):
        rank_blocks.draw(found, Fraction(1, 2), 0, mechanism(Fraction(1, 2), Fraction(1)), Replayed(f"draw {nth}"))
    assert len(seen) % 10 == 0
    assert 0 < len(seen) // 10 <= 64


def test_a_recorder_is_told_every_run() -> None:
    """An audit on made-up rows sees all candidates, as it does without blocks."""
    found = rank_blocks.runs(TWELVE, sorted_cells())
    recorder = gate.Recorder(lambda mechanism, exact, start: 4, Replayed("unused"))
    level = Fraction(1, 2)
    assert rank_blocks.draw(found, level, 0, mechanism(level, Fraction(1)), recorder) == 4
    (call,) = recorder.calls
    assert call.start is not None
    assert np.array_equal(call.start, runs(TWELVE, sorted_cells()).start)
