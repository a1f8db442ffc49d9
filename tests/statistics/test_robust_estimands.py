"""Location, trimmed mean and CoinPress cover what they name on laws that are skewed, heavy, contaminated or heaped.

Location is judged at the distance it released, CoinPress at the ends it released. Coverage below .93 is refused at an
error rate of ERROR. Where the grid of candidates misses the answer there is no reply, and not a number from its edge.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.data.candidates import cells_of
from reticent.data.schema import real
from reticent.entropy import Replayed
from reticent.mechanisms import gate
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.statistics.unbounded import trimmed_mean as trimmed
from reticent.statistics.unbounded.clipping_radii import Choice
from reticent.statistics.unbounded.coinpress import CoinPressMean
from reticent.statistics.unbounded.column_counts import ColumnTerms
from reticent.statistics.unbounded.location import Huber
from reticent.statistics.unbounded.trimmed_mean import UnboundedTrimmedMean
from tests.support.cut_laws import CUT_LAWS
from tests.support.unbounded_reference import counted

CELLS = cells_of(real(), "x")
ERROR = 1e-2
RUNS = 120


def terms(kind: Kind, n: int) -> ColumnTerms:
    return ColumnTerms(Adjacency(kind), n if kind == "substitute" else None)


def too_low(covered: int, runs: int) -> bool:
    return bool(scipy.stats.binom.cdf(covered, runs, 0.93) < ERROR)


def hubers(values: NDArray[np.float64], bend: float) -> float:
    """The centre whose bent residuals balance, by bisection."""
    low, high = float(values.min()), float(np.quantile(values, 0.99))
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if np.clip((values - middle) / bend, -1.0, 1.0).sum() > 0 else (low, middle)
    return (low + high) / 2.0


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("name", ["lognormal(0, 2)", "Pareto(1.5)", "5 % outliers", "heaped at fives"])
def test_location_covers_its_functional_at_the_released_distance(name: str) -> None:
    law, many = CUT_LAWS[name], CUT_LAWS[name].draw(np.random.default_rng(1), 40_000)
    truths: dict[float, float] = {}
    found: list[tuple[Estimate, float]] = []
    cases: tuple[tuple[Kind, int, str], ...] = (("add_remove", 10_000, "0.1"), ("substitute", 2_000, "2"))
    for kind, n, epsilon in cases:
        made, generator = Huber(CELLS, terms(kind, n), Fraction(epsilon)), np.random.default_rng(2)
        for run in range(RUNS // 2):
            outcome = made.draw(counted(CELLS, law.draw(generator, n)), Replayed(f"{name} {kind} {run}"))
            if isinstance(outcome, Reply):
                bend = outcome.value.bend
                truths.setdefault(bend, hubers(many, bend))
                found.append((outcome.value.estimate, truths[bend]))
                assert f"residuals bent at {bend:.6g}" in outcome.value.estimand("x")
    assert len(found) > 0.8 * RUNS
    covered = sum(e.low <= truth <= e.high for e, truth in found)
    assert not too_low(covered, len(found)), covered / len(found)
    narrow = sum(abs(truth - (e.low + e.high) / 2.0) <= (e.high - e.low) / 6.0 for e, truth in found)
    assert too_low(narrow, len(found))


@pytest.mark.loop(2)
@pytest.mark.parametrize("name", ["lognormal(0, 2)", "Pareto(1.5)", "exponential", "heaped at fives"])
def test_the_trimmed_mean_covers_that_of_the_population_where_sampling_is_most_of_its_error(name: str) -> None:
    law, many = CUT_LAWS[name], np.sort(CUT_LAWS[name].draw(np.random.default_rng(1), 1_000_000))
    truth = float(many[100_000:-100_000].mean())
    made, generator = UnboundedTrimmedMean(CELLS, terms("substitute", 10_000), Fraction(4)), np.random.default_rng(2)
    found = []
    for run in range(RUNS):
        outcome = made.draw(counted(CELLS, law.draw(generator, 10_000)), Replayed(f"{name} {run}"))
        assert isinstance(outcome, Reply)
        found.append(outcome.value)
    assert not too_low(sum(e.low <= truth <= e.high for e in found), RUNS)
    assert too_low(sum(abs(truth - (e.low + e.high) / 2.0) <= 0.3 * (e.high - e.low) for e in found), RUNS)


@pytest.mark.wide
@pytest.mark.parametrize("name", ["lognormal(0, 1)", "Pareto(1.5)", "5 % outliers"])
def test_coinpress_covers_the_mean_of_values_cut_to_its_last_ball(name: str) -> None:
    """The deviation that was declared is too small for these laws, and the radius is right."""
    law, found = CUT_LAWS[name], []
    cases: tuple[tuple[Kind, int], ...] = (("substitute", 1_000), ("add_remove", 4_000))
    for kind, n in cases:
        made = CoinPressMean(CELLS, terms(kind, n), Fraction(1, 2), Fraction(0), Fraction(1000), Fraction(2))
        generator = np.random.default_rng(3)
        for run in range(RUNS // 2):
            outcome = made.draw(counted(CELLS, law.draw(generator, n)), Replayed(f"{name} {kind} {run}"))
            assert isinstance(outcome, Reply)
            e, truth = outcome.value.estimate, law.cut_mean(outcome.value.low, outcome.value.high)
            found.append(abs(truth - e.value) / (e.high - e.value))
    stretches = np.array(found)
    assert not too_low(int((stretches <= 1.0).sum()), RUNS)
    assert too_low(int((stretches <= 0.6).sum()), RUNS)


@pytest.mark.wide
def test_a_grid_that_misses_the_answer_gives_no_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    """A radius from the public ladder and not from the values once gave the edge of a grid as the answer."""
    values = np.random.default_rng(1).normal(5.0, 1.0, 10_000)
    monkeypatch.setattr(Choice, "centre", lambda self, cells, data, entropy: 0.0)
    monkeypatch.setattr(Choice, "rung", lambda self, steps, outside, entropy: 40)
    kinds: tuple[Kind, ...] = ("substitute", "add_remove")
    for kind in kinds:
        made = Huber(CELLS, terms(kind, 10_000), Fraction(1))
        assert [made.draw(counted(CELLS, values), Replayed(f"{run}")) for run in range(10)] == [NO_REPLY] * 10
    inverse = UnboundedTrimmedMean(CELLS, terms("substitute", 10_000), Fraction(1))
    for sign in (-1.0, 1.0):
        data = counted(CELLS, sign * values)
        assert [inverse.draw(data, Replayed(f"{run}")) for run in range(10)] == [NO_REPLY] * 10


@pytest.mark.wide
def test_outermost_candidates_have_the_best_score_beyond_them() -> None:
    """By brute force on a wider grid, for several aims."""
    wide, step = 400, 40
    values = np.random.default_rng(2).integers(-3 * step, 3 * step, 60)
    sums = np.array([np.clip(values - t, -step, step).sum() for t in range(-wide, wide + 1)])
    inner = slice(wide - 50, wide + 51)
    drawn: list[NDArray[np.int64]] = []

    def kept(mechanism: object, candidates: object, starts: object, entropy: object) -> int:
        drawn.append(candidates.scores)  # type: ignore[attr-defined]
        return 50

    made = Huber(CELLS, terms("add_remove", 0), Fraction(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "choose", kept)
        for aim in (-2_000, -300, 0, 300, 2_000):
            made._pick(sums[inner], aim, 1, made.value, Replayed("x"))
            scores = np.abs(sums - aim)
            for outermost, beyond in ((0, scores[: wide - 50 + 1]), (-1, scores[wide + 50 :])):
                assert 0 <= beyond.min() - drawn[-1][outermost] <= 60  # between two steps the sum moves by 60 at most
            assert np.array_equal(drawn[-1][1:-1], scores[inner][1:-1])


@pytest.mark.wide
def test_outermost_candidates_of_a_trimmed_mean_likewise() -> None:
    values = np.sort(np.random.default_rng(3).integers(-9_000, 9_000, 41))
    moved, inside = trimmed.windows(values, 10), 21
    far = np.arange(-20_000, 20_001)
    ranks = np.searchsorted(moved, inside * far, side="left") - 10
    down = 11 - np.searchsorted(moved, inside * far, side="right")
    whole = np.maximum(np.maximum(ranks, down), 0)
    drawn: list[NDArray[np.int64]] = []

    def kept(mechanism: object, candidates: object, starts: object, entropy: object) -> int:
        drawn.append(candidates.scores)  # type: ignore[attr-defined]
        return 0

    made = UnboundedTrimmedMean(CELLS, terms("substitute", 41), Fraction(1), Fraction(1, 4))
    left, right = 20_000 - trimmed.STEPS, 20_000 + trimmed.STEPS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "choose", kept)
        inner = trimmed.kappa(moved, inside)
        made._pick(trimmed.distance(moved, inside), inner, 0, made.value, Replayed("x"))
        assert (drawn[-1][0], drawn[-1][-1]) == (whole[: left + 1].min(), whole[right:].min())
        for aim in (-8, 0, 5, 10):
            made._pick(np.abs(inner - aim), inner, aim, made.end, Replayed("x"))
            scores = np.abs(ranks - aim)
            assert (drawn[-1][0], drawn[-1][-1]) == (scores[: left + 1].min(), scores[right:].min())
