"""Joint quantiles of a long column: parts are cut, and slices drawn, as of a table of distinct values."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import cast

import numpy as np
import pytest

from reticent.data import order_statistics, query_result
from reticent.data.candidates import Cells, Segment, cells_of
from reticent.data.order_statistics import counted
from reticent.data.query_result import Counts, SortedCells
from reticent.data.schema import Column, Integer, Real
from reticent.entropy import Entropy, Replayed
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import Linf
from reticent.statistics import rank_blocks, ranks
from reticent.statistics.unbounded import confidence_bounds, joint, rank_slices, scaled_level
from reticent.statistics.unbounded.column_counts import ROW, ColumnTerms
from reticent.statistics.unbounded.joint import JointQuantiles, joint_quantiles
from reticent.statistics.unbounded.quantile_range import iqr
from reticent.statistics.unbounded.rank_slices import CandidateRange, SortedSlices, cut, runs_of, spread, whole
from reticent.statistics.unbounded.scaled_level import UNIT, LevelFraction, level_of, pick
from tests.assurance.laws import ONE, Law, law_of

TWELVE = Cells((Segment(-4, 0, 3), Segment(0, 3, 1), Segment(4, 9, 2)), Fraction(1), True)
HELD = (-4, -4, -3, -1, 0, 0, 0, 0, 1, 2, 4, 5, 5, 8)
COLUMNS = (Real(Fraction(0), Fraction(100)), Real(), Real(resolution=Fraction(1, 4)), Integer(), Integer(0, 30))
FOUR, FEW = Cells((Segment(0, 2, 1), Segment(2, 4, 3)), Fraction(1), True), (0, 0, 1, 1, 1, 1, 2, 3)
LEVELS = tuple(Fraction(tenth, 10) for tenth in (1, 3, 5, 6, 9))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_blocks, "BLOCK", 4)
    monkeypatch.setattr(rank_blocks, "FEW", 0)
    for module in (order_statistics, query_result):
        monkeypatch.setattr(module, "STRIDE", 4)
    monkeypatch.setattr(rank_blocks, "REFINED", 0)  # so that refining is left to the draw
    for module in (rank_slices, joint, confidence_bounds):
        monkeypatch.setattr(module, "SLICES", 3)


def long(held: tuple[int, ...] = HELD) -> SortedCells:
    return SortedCells(np.array(held, dtype=np.int64))


def short(held: tuple[int, ...] = HELD) -> Counts:
    return Counts(*counted(long(held).each[:]))


def content(part: CandidateRange) -> tuple[list[int], list[int], int, int]:
    return part.cells.tolist(), part.counts.tolist(), part.first, part.stop


def cuts(data: Counts) -> list[CandidateRange]:
    """A column, both sides of each cut, and those of each second cut of a side."""
    found = [whole(TWELVE, data)]
    for first in range(-12, 27):
        sides = cut(found[0], first)
        found += [*sides, *(part for side in sides for at in range(side.first, side.stop, 4) for part in cut(side, at))]
    return [part for part in found if part.first < part.stop]


def test_a_long_column_is_cut_as_its_counts_are() -> None:
    for one, other in zip(cuts(long()), cuts(short()), strict=True):
        assert isinstance(one.data, SortedCells)
        assert content(one) == content(other)


@pytest.mark.parametrize("slices", [1, 3, 64])
def test_slices_of_a_long_column_are_those_of_its_counts(monkeypatch: pytest.MonkeyPatch, slices: int) -> None:
    """Values stand in fewer slices than they are, in as many, and in more; looked at from each place to each other."""
    monkeypatch.setattr(rank_slices, "SLICES", slices)
    held = (*HELD[:4], *[0] * 9, *HELD[8:])
    halves = [part for at in (-4, 0, 1, 2) for part in cut(whole(TWELVE, long(held)), at * slices + slices // 3)]
    for part in (whole(TWELVE, long(held)), *halves):
        assert isinstance(part.data, SortedCells)
        found = SortedSlices(part.data, part.first, part.stop)
        each = np.repeat(*spread(part))
        assert np.array_equal(found.at(np.arange(found.total)), each)
        for first in range(found.total):
            for last in range(first, found.total + 1):
                assert np.array_equal(found.held(first, last), each[first:last])
        edges = np.arange(part.first, part.stop + 1)
        assert np.array_equal(found.below(edges), np.searchsorted(each, edges))


def mechanism(epsilon: Fraction) -> Exponential:
    return Exponential(Linf(Fraction(UNIT), ROW), epsilon)


def law(part: CandidateRange, level: LevelFraction) -> Law:
    def program(entropy: Entropy) -> int:
        return pick(runs_of(FOUR, part), level, mechanism(Fraction(2)), entropy)

    return law_of(program, least=Fraction(1, 1 << 60))


def apart(one: Law, other: Law) -> float:
    """The largest distance of two probabilities of a slice, at least."""
    slices = one.masses.keys() | other.masses.keys()
    pairs = [(one.masses.get(at, (0, 0)), other.masses.get(at, (0, 0))) for at in slices]
    return max(max(a[0] - b[1], b[0] - a[1], 0) for a, b in pairs) / ONE


PARTS: dict[str, Callable[[CandidateRange], CandidateRange]] = {
    "all": lambda part: part,
    "below": lambda part: cut(part, 6)[0],
    "above": lambda part: cut(part, 3)[1],
}


@pytest.mark.loop(3)
@pytest.mark.wide
@pytest.mark.parametrize("side", PARTS)
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(2, 3)])
def test_the_law_over_blocks_of_slices_is_the_law_over_slices(side: str, share: Fraction) -> None:
    """Both are enumerated, of a column and of its parts; what is left out has mass below 2^-40."""
    one, other = PARTS[side](whole(FOUR, long(FEW))), PARTS[side](whole(FOUR, short(FEW)))
    assert isinstance(runs_of(FOUR, one), rank_blocks.RankBlocks)
    level = level_of(share, ROW.kind)
    blocks, runs = law(one, level), law(other, level)
    assert blocks.residual < ONE >> 40
    assert blocks.runs > 2 * runs.runs  # some proposals are not accepted
    assert apart(blocks, runs) < 2.0**-40


@pytest.mark.wide
def test_the_comparison_of_laws_rejects_reduced_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of 1 / 2 move by one for a row, where the mechanism is made for a million."""
    level, honest = level_of(Fraction(1, 2), ROW.kind), rank_blocks.draw_at
    runs = law(whole(FOUR, short(FEW)), level)

    def reduced(found: rank_blocks.Drawn, aim: rank_blocks.Aim, mechanism: Exponential, entropy: Entropy) -> int:
        return honest(found, (*Fraction(*aim[:2]).as_integer_ratio(), 0), mechanism, entropy)

    monkeypatch.setattr(scaled_level, "draw_at", reduced)
    assert apart(law(whole(FOUR, long(FEW)), level), runs) > 1e-3


def test_values_beyond_the_candidates_are_looked_at_one_by_one() -> None:
    """A cut in a gap of candidates leaves slices before the first of them: then all runs are made, as of counts."""
    gap = 3 * 3  # slices of a cell without candidates
    one, other = (cut(whole(TWELVE, data), gap - 1)[1] for data in (long(), short()))
    found, honest = runs_of(TWELVE, one), runs_of(TWELVE, other)
    assert isinstance(found, ranks.Runs)
    assert isinstance(honest, ranks.Runs)
    assert np.array_equal(found.start, honest.start)
    assert np.array_equal(found.below, honest.below)


# --- whole draws -----------------------------------------------------------------------------------------------------


def calls(made: JointQuantiles, data: Counts, seed: int) -> list[gate.Call]:
    """What a draw asks of its mechanisms, each answered by a candidate about the best, or by any."""
    stream = np.random.default_rng(seed)

    def respond(asked: object, exact: object, start: object) -> object:
        if not isinstance(exact, Candidates):
            return exact
        begins = cast("np.ndarray[tuple[int], np.dtype[np.int64]]", start)
        best = int(np.argmin(np.where(exact.weights > 0, exact.scores, 1 << 62)))
        likely = np.flatnonzero(exact.weights > 0)
        run = best if stream.random() < 0.8 else int(stream.choice(likely))
        return int(begins[run]) + int(stream.integers(int(begins[run + 1] - begins[run])))

    recorder = gate.Recorder(respond, Replayed("unused"))
    assert isinstance(made.draw(data, recorder), Reply)
    return recorder.calls


@pytest.mark.parametrize("column", COLUMNS, ids=repr)
@pytest.mark.parametrize("slices", [3, 1 << 10])
def test_all_draws_of_a_long_column_are_asked_what_those_of_its_counts_are(
    monkeypatch: pytest.MonkeyPatch, column: Column, slices: int
) -> None:
    """Census, magnitude, values and ends, of several quantiles and of a distance: scores, weights and candidates."""
    monkeypatch.setattr(JointQuantiles, "feasible", lambda self, size, among=None: True)
    for module in (rank_slices, joint, confidence_bounds):
        monkeypatch.setattr(module, "SLICES", slices)
    stream, terms, base = np.random.default_rng(20081114), ColumnTerms(Adjacency("add_remove")), cells_of(column, "x")
    for seed, (size, scale) in enumerate(((1, 1.0), (40, 1e-3), (400, 30.0), (300, 1e6))):
        values = np.append(stream.normal(5, scale, size), np.repeat(stream.normal(5, scale, 3), size // 9))
        each = SortedCells(np.sort(base.index(values)))
        for made in (joint_quantiles(base, LEVELS, terms, Fraction(1)), iqr(base, terms, Fraction(1)).joint):
            found, honest = (calls(made, data, seed) for data in (each, Counts(*counted(each.each[:]))))
            for one, other in zip(found, honest, strict=True):
                assert one.mechanism == other.mechanism
                assert one.output == other.output
                if isinstance(one.exact, Candidates) and isinstance(other.exact, Candidates):
                    assert np.array_equal(one.exact.scores, other.exact.scores)
                    assert np.array_equal(one.exact.weights, other.exact.weights)
                    assert np.array_equal(cast("object", one.start), cast("object", other.start))  # type: ignore[arg-type]
                else:
                    assert one.exact == other.exact


def test_few_slices_of_a_long_column_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """No draw of a quartile distance counts all values by cell."""
    monkeypatch.setattr(rank_blocks, "BLOCK", 1 << 8)
    monkeypatch.setattr(rank_blocks, "REFINED", 64)
    monkeypatch.setattr(SortedCells, "_counted", lambda self: pytest.fail("each value was looked at"))
    base = cells_of(Real(Fraction(0), Fraction(1)), "x")
    each = SortedCells(np.sort(base.index(np.random.default_rng(1).random(40_000))))
    terms = ColumnTerms(Adjacency("add_remove"))
    match iqr(base, terms, Fraction(2)).draw(each, Replayed("a long column")):
        case Reply(found):
            assert found.low < 0.5 < found.high
        case _:
            pytest.fail("no reply")
