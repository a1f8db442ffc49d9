"""Statistics without bounds as a person meets them: coverage, what is said of heavy tails, declining, odd tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy

from reticent.data.candidates import Cells, cells_of
from reticent.data.query_result import Counts
from reticent.data.schema import integer, real
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError
from reticent.outcome import NO_REPLY, Estimate, NoReply, Reply
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import ZCDP, PureDP
from reticent.statistics.unbounded.clipped_mean import ClippedEstimate, ClippedMean
from reticent.statistics.unbounded.coinpress import CoinPressEstimate, CoinPressMean
from reticent.statistics.unbounded.column_counts import ColumnTerms
from reticent.statistics.unbounded.joint import joint_quantiles
from reticent.statistics.unbounded.location import Huber, LocationEstimate
from reticent.statistics.unbounded.quantile_range import between, iqr
from reticent.statistics.unbounded.trimmed_mean import UnboundedTrimmedMean
from tests.support.unbounded_reference import LAWS, counted

CELLS, WHOLE = cells_of(real(), "x"), cells_of(integer(), "x")
LEVELS = tuple(Fraction(k, 4) for k in range(1, 4))
ERROR = 1e-2  # of one assertion, were the coverage exactly .93
DECLARED: tuple[Cells, ...] = (CELLS, WHOLE, cells_of(real(resolution="0.5"), "x"), cells_of(real(-8, 8), "x"))


def terms(kind: Kind, n: int) -> ColumnTerms:
    return ColumnTerms(Adjacency(kind), n if kind == "substitute" else None)


def plan(name: str, cells: Cells, kind: Kind, n: int, epsilon: str) -> Any:
    """The statistic of a name, about a table of n values."""
    about, budget = terms(kind, n), Fraction(epsilon)
    match name:
        case "joint":
            return joint_quantiles(cells, LEVELS, about, budget)
        case "iqr":
            return iqr(cells, about, budget)
        case "mean":
            return ClippedMean(cells, about, budget)
        case "huber":
            return Huber(cells, about, budget)
        case "trimmed":
            return UnboundedTrimmedMean(cells, about, budget)
        case _:
            return CoinPressMean(cells, about, budget**2 / 2, Fraction(0), Fraction(1000), Fraction(2))


def estimate_of(found: object) -> Estimate:
    if isinstance(found, ClippedEstimate | LocationEstimate | CoinPressEstimate):
        return found.estimate
    assert isinstance(found, Estimate)
    return found


def truth_of(name: str, law: str) -> float:
    made = LAWS[law]
    match name:
        case "iqr":
            return made.quantile(0.75) - made.quantile(0.25)
        case "mean" | "coinpress":
            return made.mean
        case _:
            return made.quantile(0.5)


def too_low(covered: int, runs: int) -> bool:
    return bool(scipy.stats.binom.cdf(covered, runs, 0.93) < ERROR)


# --- coverage --------------------------------------------------------------------------------------------------------

CASES: list[tuple[str, str, Kind, int, str]] = [
    ("mean", "normal", "add_remove", 1_000, "1"),
    ("mean", "lognormal", "substitute", 4_000, "0.3"),
    ("mean", "bernoulli", "substitute", 1_000, "1"),
    ("iqr", "normal", "substitute", 1_000, "1"),
    ("iqr", "cauchy", "add_remove", 1_000, "1"),
    ("iqr", "tied", "add_remove", 1_000, "1"),
    ("huber", "normal", "add_remove", 1_000, "1"),
    ("huber", "cauchy", "substitute", 1_000, "1"),
    ("trimmed", "normal", "substitute", 4_000, "1"),
    ("coinpress", "normal", "substitute", 1_000, "1"),
]


@pytest.mark.wide
@pytest.mark.loop(5)
@pytest.mark.parametrize(("name", "law", "kind", "n", "epsilon"), CASES)
def test_intervals_cover(name: str, law: str, kind: Kind, n: int, epsilon: str) -> None:
    made, generator = plan(name, CELLS, kind, n, epsilon), np.random.default_rng(5)
    runs, covered, replies = 80, 0, 0
    for run in range(runs):
        outcome = made.draw(counted(CELLS, LAWS[law].draw(generator, n)), Replayed(f"{name} {law} {run}"))
        if isinstance(outcome, Reply):
            found = estimate_of(outcome.value)
            replies += 1
            covered += found.low <= truth_of(name, law) <= found.high
            assert found.low <= found.value <= found.high
    assert replies > 0.95 * runs
    assert not too_low(covered, replies), covered / replies


def trimmed_of(values: Callable[[np.random.Generator], np.ndarray], runs: int) -> list[Estimate]:
    """Trimmed means of tables of 5,000 values at epsilon 2."""
    made, generator, found = plan("trimmed", CELLS, "substitute", 5_000, "2"), np.random.default_rng(8), []
    for run in range(runs):
        outcome = made.draw(counted(CELLS, values(generator)), Replayed(f"few values {run}"))
        assert isinstance(outcome, Reply)
        found.append(estimate_of(outcome.value))
    return found


@pytest.mark.wide
def test_intervals_of_a_trimmed_mean_of_two_values_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their window is as wide as the radius, not twice; without the deviation of the values intervals cover .85.

    200 tables; honest intervals are refused with a chance below 1e-3. Those of normal values become no wider.
    """

    def two(generator: np.random.Generator) -> np.ndarray:
        return generator.integers(0, 2, 5_000).astype(float)

    def normal(generator: np.random.Generator) -> np.ndarray:
        return generator.normal(size=5_000)

    told, usual = trimmed_of(two, 200), trimmed_of(normal, 30)
    assert not too_low(sum(found.low <= 0.5 <= found.high for found in told), 200)
    monkeypatch.setattr(UnboundedTrimmedMean, "_deviation", lambda self, spread, radius: 0.0)
    short, narrow = trimmed_of(two, 200), trimmed_of(normal, 30)
    assert too_low(sum(found.low <= 0.5 <= found.high for found in short), 200)
    before = np.mean([found.high - found.low for found in narrow])
    assert np.mean([found.high - found.low for found in usual]) < 1.1 * before


@pytest.mark.wide
@pytest.mark.parametrize("law", ["lognormal", "tied"])
def test_joint_quantiles_rise_and_their_intervals_cover(law: str) -> None:
    made, generator = joint_quantiles(CELLS, LEVELS, terms("add_remove", 0), Fraction(1)), np.random.default_rng(6)
    covered = np.zeros(3, dtype=np.int64)
    for run in range(60):
        outcome = made.draw(counted(CELLS, LAWS[law].draw(generator, 1_500)), Replayed(f"joint {law} {run}"))
        assert isinstance(outcome, Reply)
        found = made.estimates(outcome.value)
        assert [e.value for e in found] == sorted(e.value for e in found)
        covered += [e.low <= LAWS[law].quantile(float(q)) <= e.high for q, e in zip(LEVELS, found, strict=True)]
    assert not any(too_low(int(hits), 60) for hits in covered), covered


@pytest.mark.wide
def test_the_test_of_coverage_rejects_intervals_without_their_ends() -> None:
    """A third of every interval covers too rarely: the judgement has the power to say so."""
    made, generator = plan("huber", CELLS, "add_remove", 1_000, "1"), np.random.default_rng(5)
    covered = 0
    for run in range(80):
        outcome = made.draw(counted(CELLS, LAWS["normal"].draw(generator, 1_000)), Replayed(f"half {run}"))
        assert isinstance(outcome, Reply)
        found = estimate_of(outcome.value)
        covered += abs(found.value - 100.0) <= (found.high - found.low) / 6.0
    assert too_low(covered, 80)


# --- declining, and odd tables ---------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("name", ["joint", "iqr", "mean", "huber", "trimmed"])
def test_too_few_values_for_epsilon_give_no_reply(name: str) -> None:
    kinds: tuple[Kind, ...] = ("substitute",) if name == "trimmed" else ("substitute", "add_remove")
    for kind in kinds:
        made = plan(name, CELLS, kind, 300, "0.1")
        data = counted(CELLS, LAWS["normal"].draw(np.random.default_rng(1), 300))
        assert [made.draw(data, Replayed(f"few {run}")) for run in range(20)] == [NO_REPLY] * 20


@pytest.mark.wide
def test_the_quartile_distance_is_never_silent_garbage() -> None:
    """(10^3, .1): no reply, or within 5 standard deviations; and at the least n that replies, too."""
    generator = np.random.default_rng(3)
    for n, epsilon in ((1_000, "0.1"), (2_000, "0.1"), (4_000, "0.1"), (400, "1")):
        made = plan("iqr", CELLS, "add_remove", n, epsilon)
        for run in range(25):
            outcome = made.draw(counted(CELLS, LAWS["normal"].draw(generator, n)), Replayed(f"garbage {n} {run}"))
            assert isinstance(outcome, NoReply) or abs(outcome.value.value - 1.349) < 5.0


ODD: dict[str, list[float]] = {
    "none": [],
    "one": [3.0],
    "two": [3.0, -7.0],
    "three": [1.0, 1.0, 2.0],
    "constant": [5.0] * 2_000,
    "two values": [0.0] * 1_000 + [1.0] * 1_000,
    "extremes": [-1e300, 1e300, math.inf, -math.inf] * 500,
    "zero": [0.0, -0.0] * 1_000,
    "one far": [0.0] * 1_999 + [1e300],
}


@pytest.mark.wide
@pytest.mark.parametrize("table", ODD)
@pytest.mark.parametrize("name", ["joint", "iqr", "mean", "huber", "trimmed", "coinpress"])
def test_odd_tables_give_a_finite_reply_or_none(name: str, table: str) -> None:
    values = np.array(ODD[table])
    for cells in DECLARED:
        for kind in ("substitute", "add_remove"):
            if name == "trimmed" and kind == "add_remove":
                continue
            made = plan(name, cells, kind, len(values), "2")
            data = counted(cells, values) if len(values) else Counts(np.zeros(0, np.int64), np.zeros(0, np.int64))
            outcome = made.draw(data, Replayed(f"{name} {table}"))
            if len(values) < 4 and kind == "substitute":
                assert outcome == NO_REPLY
            if isinstance(outcome, Reply):
                found = made.estimates(outcome.value) if name == "joint" else [estimate_of(outcome.value)]
                numbers = [x for e in found for x in (e.value, e.low, e.high, e.noise, e.sampling)]
                assert all(math.isfinite(x) for x in numbers)


@pytest.mark.wide
@pytest.mark.parametrize("cells", [CELLS, WHOLE])
def test_a_constant_column_is_told(cells: Cells) -> None:
    data = counted(cells, np.full(4_000, 5.0))
    for kind in ("substitute", "add_remove"):
        joint = plan("joint", cells, kind, 4_000, "1")
        outcome = joint.draw(data, Replayed("constant"))
        assert isinstance(outcome, Reply)
        assert joint.values_of(outcome.value) == pytest.approx([5.0] * 3, abs=1e-4)
        spread = plan("iqr", cells, kind, 4_000, "1").draw(data, Replayed("constant"))
        assert isinstance(spread, Reply)
        assert spread.value.value < 1e-4
        mean = plan("mean", cells, kind, 4_000, "1").draw(data, Replayed("constant"))
        assert isinstance(mean, Reply)
        assert mean.value.estimate.value == pytest.approx(5.0, abs=1e-3)


# --- guarantees and refusals -----------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("name", ["joint", "iqr", "mean", "huber", "trimmed", "coinpress"])
@pytest.mark.parametrize(("kind", "rows"), [("substitute", 1), ("add_remove", 1), ("add_remove", 5), ("substitute", 5)])
def test_the_whole_costs_epsilon_and_no_more(name: str, kind: Kind, rows: int) -> None:
    about = ColumnTerms(Adjacency(kind, rows), 1_000 if kind == "substitute" and rows == 1 else None)
    if name == "trimmed" and about.values is None:
        return
    made = plan(name, CELLS, "substitute", 1_000, "0.7")
    made = replace(made, joint=replace(made.joint, terms=about)) if name == "iqr" else replace(made, terms=about)
    guarantee = made.guarantee
    assert guarantee.adjacency == Adjacency(kind, rows)
    if name == "coinpress":
        assert guarantee.loss == ZCDP(Fraction("0.7") ** 2 / 2)
        return
    assert isinstance(guarantee.loss, PureDP)
    assert guarantee.loss.epsilon == Fraction("0.7")


@pytest.mark.wide
def test_depths_and_not_levels_are_paid_for() -> None:
    """Seven quantiles at the price of three depths: each draw has 1/3 of epsilon where separate ones have 1/7."""
    levels = [Fraction(k, 8) for k in range(1, 8)]
    made = joint_quantiles(CELLS, levels, ColumnTerms(Adjacency("add_remove")), Fraction(1), interval=False)
    left = Fraction(17, 20)  # a twentieth buys the number of values, a tenth the magnitude
    assert set(made.depths) == {left / 3}
    both = joint_quantiles(CELLS, levels, ColumnTerms(Adjacency("add_remove")), Fraction(1))
    assert both.depths == (left * Fraction(3, 5) / 3,) * 3
    assert both.end_depths == (left * Fraction(2, 5) / 2,) * 2


def test_what_cannot_be_answered_is_refused_beforehand() -> None:
    about = ColumnTerms(Adjacency("add_remove"))
    with pytest.raises(PublicParameterError, match="number of values"):
        UnboundedTrimmedMean(CELLS, about, Fraction(1))
    with pytest.raises(PublicParameterError, match="public only"):
        ColumnTerms(Adjacency("add_remove"), 10)
    with pytest.raises(PublicParameterError, match="public only"):
        ColumnTerms(Adjacency("substitute", 2), 10)
    with pytest.raises(PublicParameterError, match="level"):
        joint_quantiles(CELLS, [], about, Fraction(1))
    with pytest.raises(PublicParameterError, match="two quantiles"):
        joint_quantiles(CELLS, [Fraction(1, 2)], about, Fraction(1))
    with pytest.raises(PublicParameterError, match="levels rise"):
        between(CELLS, Fraction(3, 4), Fraction(1, 4), about, Fraction(1))
    with pytest.raises(PublicParameterError, match="bend"):
        Huber(CELLS, about, Fraction(1), Fraction(100))
    with pytest.raises(PublicParameterError, match="rounds"):
        CoinPressMean(CELLS, about, Fraction(1), Fraction(0), Fraction(1), Fraction(1), rounds=0)


@pytest.mark.wide
def test_values_of_cells_are_those_of_the_cells() -> None:
    for cells in DECLARED:
        index = np.unique(cells.index(np.array([-1e9, -3.25, -1e-9, 0.0, 1e-5, 0.7, 5.5, 1e18])))
        assert cells.values(index).tolist() == [float(cells.value(int(i))) for i in index]


@pytest.mark.parametrize("stream", range(3))
def test_the_parts_of_a_distance_reach_no_further_than_its_interval(stream: int) -> None:
    """An end beyond all candidates was cut in the interval, and its noise was told as 8e99."""
    import reticent as rt

    values = [float(place % 3 * 100) for place in range(400)]
    study = rt.study({"x": values}, adjacency="add_remove", columns={"x": rt.real()}, budget="10")
    outcome = study.release(["iqr(x)"], epsilon=str(1 + stream)).answers[0].outcome
    if isinstance(outcome, Reply):
        found = outcome.value
        assert found.noise + found.sampling <= max(found.value - found.low, found.high - found.value) * (1 + 1e-9)
