"""Statistics without bounds asked as people ask: through a study's release, by group, audited, and planned.

Replayed entropy and fixed tables: a red test means a change. A coverage passes unless its count would have probability
below ERROR at .93. A mutant at either side is rejected: intervals of half the width, and intervals of twice the width
where they are to be told from exact ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

import reticent as rt
from reticent.conformance.diffs import alike
from reticent.conformance.plan_audit import PlanAudit, audit
from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.data.table import Table, open_table
from reticent.entropy import Replayed
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.privacy.sensitivity import L1, Linf
from reticent.statistics.answer import Answer
from reticent.statistics.intervals import RankErrors, Side, distance
from reticent.statistics.quantiles import quantile_step
from reticent.statistics.unbounded import (
    clipped_mean as clipped,
)
from reticent.statistics.unbounded import (
    clipping_radii,
    coinpress,
    joint,
    location,
    logs,
    quantile_range,
)
from reticent.statistics.unbounded import (
    trimmed_mean as trimmed,
)
from reticent.statistics.unbounded.scaled_level import UNIT
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import understand
from reticent.study.release import draw
from tests.support.stat_fake import Fake
from tests.support.unbounded_reference import LAWS

ERROR = 1e-2  # of one assertion, were the coverage exactly .93
KINDS: list[Kind] = ["add_remove", "substitute"]
COIN = "mean(x, method=coinpress, centre=0, radius=1000, deviation=2)"
Rows = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Read:
    """What a release asks of a table, answered by NumPy."""

    table: Fake

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        return [self.table.run(query) for query in queries]


def priced(texts: Sequence[str], schema: Schema, n: int, epsilon: str) -> PreparedRelease:
    units = n if schema.person.adjacency == "substitute" else None
    delta = "1e-7" if n < 10**6 else "1e-9"  # which exposes nobody of so many
    return settle(understand(texts, schema), Cost.read(epsilon, None, delta), schema, units, "approximate")


def released(prepared: PreparedRelease, schema: Schema, rows: Rows, key: str) -> tuple[Answer, ...]:
    """The answers of a release, by the release's own code, on replayed entropy."""
    return draw(prepared, cast("Table", Read(Fake(schema, rows))), Replayed(key), lambda stage: None)[0]


def schema_of(kind: Kind, x: Column | None = None) -> Schema:
    return Schema({"x": x or real(missing=0), "g": category([1, 2])}, Person(kind))


def too_low(covered: int, runs: int) -> bool:
    return bool(scipy.stats.binom.cdf(covered, runs, 0.93) < ERROR)


def too_high(covered: int, runs: int) -> bool:
    return bool(scipy.stats.binom.sf(covered - 1, runs, 0.97) < ERROR)


# --- coverage --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """``tight``: sampling is most of the interval, so that twice its width is rejected as well."""

    text: str
    law: str
    kind: Kind
    n: int
    epsilon: str
    tight: bool = False
    runs: int = 160

    def __str__(self) -> str:
        return f"{self.text}-{self.law}-{self.kind}"


CASES = [
    Case("mean(x, method=clipped)", "normal", "add_remove", 2_000, "1", tight=True),
    Case("mean(x, method=clipped)", "lognormal", "substitute", 4_000, "1"),
    Case(COIN, "normal", "substitute", 2_000, "1"),
    Case(COIN, "normal", "add_remove", 4_000, "2", tight=True),
    Case("iqr(x)", "normal", "substitute", 4_000, "1"),
    Case("iqr(x)", "lognormal", "add_remove", 4_000, "4", tight=True),
    Case("location(x)", "cauchy", "add_remove", 4_000, "2", tight=True),
    Case("location(x)", "normal", "substitute", 2_000, "1"),
    Case("trimmed_mean(x)", "normal", "substitute", 4_000, "2", tight=True),
]


def evenly(value: float, sides: tuple[Side, Side], errors: RankErrors) -> Estimate:
    apart = 2.0 * min(side.slope for side in sides)
    low, high = (replace(side, apart=apart * side.shift) for side in sides)
    return distance(value, (low, high), errors)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("method", "module"), [("joint", quantile_range), ("separate", quantile_step)])
def test_the_distance_of_quartiles_is_covered_where_one_of_them_is_among_sparse_values(
    method: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """exp of two standard normals: values are fifteen times as sparse at the upper quartile as at the lower one."""
    schema, quarter = schema_of("substitute"), 2.0 * float(scipy.stats.norm.ppf(0.75))
    prepared, true, runs = (
        priced([f"iqr(x, method={method})"], schema, 2_000, "4"),
        math.exp(quarter) - math.exp(-quarter),
        130,
    )

    mutants: list[Estimate] = []

    def noted(value: float, sides: tuple[Side, Side], errors: RankErrors) -> Estimate:
        mutants.append(evenly(value, sides, errors))  # an interval as if values were as dense at both
        return distance(value, sides, errors)

    monkeypatch.setattr(module, "distance", noted)
    covered = 0
    for run in range(runs):
        rows = {"x": np.random.default_rng(run).lognormal(0.0, 2.0, 2_000)}
        estimate = released(prepared, schema, rows, f"sparse {run}")[0].estimate
        covered += estimate.low <= true <= estimate.high
    assert not too_low(covered, runs)
    assert not too_high(covered, runs)
    assert len(mutants) > 0.9 * runs
    assert too_low(sum(one.low <= true <= one.high for one in mutants), len(mutants))


def truth_of(case: Case) -> float:
    law = LAWS[case.law]
    if case.text.startswith("iqr"):
        return law.quantile(0.75) - law.quantile(0.25)
    return law.mean if case.text.startswith("mean") else law.quantile(0.5)


@pytest.mark.loop(2)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_intervals_of_a_release_cover_and_their_mutants_do_not(case: Case) -> None:
    schema, law, truth = schema_of(case.kind), LAWS[case.law], truth_of(case)
    prepared, generator = priced([case.text], schema, case.n, case.epsilon), np.random.default_rng(8)
    stretch = []
    for run in range(case.runs):
        (answer,) = released(prepared, schema, {"x": law.draw(generator, case.n)}, f"{case} {run}")
        if isinstance(answer.outcome, Reply):
            e = answer.outcome.value
            stretch.append(abs(truth - (e.low + e.high) / 2) / ((e.high - e.low) / 2))
    found = np.array(stretch)
    assert len(found) > 0.95 * case.runs
    covered, narrow, wide = (int((found <= factor).sum()) for factor in (1.0, 0.5, 2.0))
    assert not too_low(covered, len(found)), covered / len(found)
    assert too_low(narrow, len(found)), narrow / len(found)
    if case.tight:
        assert not too_high(covered, len(found)), covered / len(found)
        assert too_high(wide, len(found)), wide / len(found)


@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
def test_joint_quantiles_by_group_cover_in_the_order_asked(kind: Kind) -> None:
    schema, generator, levels = schema_of(kind), np.random.default_rng(9), (0.9, 0.25, 0.5)
    prepared = priced(["quantiles(x, 0.9 0.25 0.5) by g"], schema, 6_000, "4")
    normal, hits, cells = LAWS["normal"], 0, 0
    for run in range(30):
        groups = np.repeat([1.0, 2.0], [3_500, 2_500])
        rows = {"x": normal.draw(generator, 6_000) * groups, "g": groups}
        (answer,) = released(prepared, schema, rows, f"groups {kind} {run}")
        assert [cell.label for cell in answer] == [
            (("g", g), ("level", str(level))) for g in (1, 2) for level in levels
        ]
        assert answer.caveats[0] == "by joint exponential mechanisms"
        for place, cell in enumerate(answer):
            assert isinstance(cell.outcome, Reply)
            truth = (1 + place // 3) * normal.quantile(levels[place % 3])
            hits, cells = hits + (cell.outcome.value.low <= truth <= cell.outcome.value.high), cells + 1
    assert not too_low(hits, cells), hits / cells


@pytest.mark.wide
@pytest.mark.parametrize("text", ["mean(x, method=clipped)", "location(x)", "iqr(x)"])
def test_a_plan_expects_the_noise_that_comes(text: str) -> None:
    """Noise drawn at half or twice the epsilon is told apart."""
    schema, generator = schema_of("add_remove"), np.random.default_rng(10)
    found = {}
    for epsilon in ("1", "2", "4"):
        (step,) = priced([text], schema, 0, epsilon).steps
        said = step.expected(5_000).noise
        unit = 2.0 * 0.67449 if text == "iqr(x)" else 1.0  # in distances of its quartiles
        prepared, noise = priced([text], schema, 0, epsilon), []
        for run in range(9):
            (answer,) = released(prepared, schema, {"x": LAWS["normal"].draw(generator, 5_000)}, f"{text} {run}")
            noise.append(answer.noise / unit)
        assert said is not None
        found[epsilon] = (said, float(np.median(noise)))
    for said, median in found.values():
        assert 0.75 < median / said < 1.35
    assert not 0.75 < found["1"][1] / found["2"][0] < 1.35
    assert not 0.75 < found["4"][1] / found["2"][0] < 1.35


# --- what is said beside the number -----------------------------------------------------------------------------------


@pytest.mark.wide
def test_what_was_clipped_is_said_of_each_group_and_reaches_the_certificate() -> None:
    generator, n = np.random.default_rng(3), 8_000
    groups = np.repeat([1, 2], n // 2)
    rows = {"x": generator.normal(0.0, 1.0, n) * groups, "g": groups}
    study = rt.study(rows, adjacency="add_remove", columns={"x": rt.real(), "g": rt.category([1, 2])}, budget=10)
    release = study.release(["mean(x, method=clipped) by g"], epsilon=4)
    (answer,) = release.answers
    said = [caveat for caveat in answer.caveats if caveat.startswith("g ")]  # the other is about readable cells
    for key, caveat in zip((1, 2), said, strict=True):
        assert caveat.startswith(f"g {key}: ")
        assert "of the values lie beyond [-" in caveat
    named = answer.estimand.split("; ")
    assert [text.partition(" to [")[0] for text in named] == ["g 1: mean of x cut", "g 2: mean of x cut"]
    assert all(caveat in release.certificate.to_json() for caveat in answer.caveats)


@pytest.mark.wide
def test_declining_is_said_and_only_the_group_declines_that_is_too_small() -> None:
    schema, groups = schema_of("add_remove"), np.repeat([1.0, 2.0], [20, 6_000])
    rows = {"x": LAWS["normal"].draw(np.random.default_rng(4), 6_020), "g": groups}
    for text in ("iqr(x) by g", "location(x) by g", "mean(x, method=clipped) by g"):
        (answer,) = released(priced([text], schema, 0, "2"), schema, rows, text)
        small, large = answer
        assert small.outcome == NO_REPLY
        assert isinstance(large.outcome, Reply)
        assert any(caveat.startswith("g 1: no reply where") for caveat in answer.caveats)
        assert not any(caveat.startswith("g 2: no reply") for caveat in answer.caveats)


@pytest.mark.wide
def test_missing_values_integers_and_a_resolution_are_answered() -> None:
    generator, n = np.random.default_rng(6), 6_000
    values = np.where(generator.random(n) < 0.2, np.nan, np.rint(generator.normal(40.0, 6.0, n)))
    for column in (integer(), real(resolution="0.5"), real(-100, 200), integer(0, 100)):
        for kind in KINDS:
            schema = schema_of(kind, column)
            texts = ["mean(x, method=clipped)", "location(x)", "iqr(x)", "quantiles(x, 0.5 0.9)", COIN]
            answers = released(priced(texts, schema, n, "10"), schema, {"x": values}, "odd")
            for answer, truth in zip(answers, (40.0, 40.0, 8.0, 40.0, 40.0), strict=True):
                outcome = answer.cells[0].outcome
                assert isinstance(outcome, Reply)
                assert abs(outcome.value.value - truth) < 1.5, (column, kind, answer)


@pytest.mark.wide
def test_a_bounded_column_is_never_answered_beyond_its_bounds() -> None:
    schema = schema_of("add_remove", real(0, 10))
    values = np.minimum(np.random.default_rng(5).exponential(0.5, 5_000), 10.0)
    for text in ("mean(x, method=clipped)", "location(x)", "quantiles(x, 0.01 0.02)"):
        prepared = priced([text], schema, 0, "2")
        for run in range(5):
            (answer,) = released(prepared, schema, {"x": values}, f"{text} {run}")
            for cell in answer:
                if isinstance(cell.outcome, Reply):
                    e = cell.outcome.value
                    assert 0.0 <= e.low <= e.value <= e.high <= 10.0


@pytest.mark.wide
def test_an_engine_and_numpy_give_the_same_answers() -> None:
    schema = schema_of("substitute")
    rows = {
        "x": LAWS["lognormal"].draw(np.random.default_rng(2), 3_000),
        "g": np.repeat([1.0, 2.0], 1_500),
    }
    texts = ["iqr(x)", "mean(x, method=clipped) by g", "trimmed_mean(x)", "quantiles(x, 0.3 0.6) by g", COIN]
    prepared = priced(texts, schema, 3_000, "10")
    table = open_table({"x": rows["x"], "g": rows["g"].astype(np.int64)}, schema)
    engine = draw(prepared, table, Replayed("same"), lambda stage: None)[0]
    assert alike(engine, released(prepared, schema, rows, "same"))


# --- record-replay ----------------------------------------------------------------------------------------------------

AUDITED = [
    "mean(x, method=clipped)",
    COIN,
    "iqr(x)",
    "quantiles(x, 0.1 0.5 0.6 0.9)",
    "quantiles(x, 0.1 0.5 0.6 0.9, method=joint)",
    "iqr(x, method=joint)",
    "location(k)",
    "mean(k, method=clipped) by g",
    "mean(x, method=clipped, tail=3)",
    "log_mean(x)",
    "geometric_mean(k) by g",
    "iqr(x, per=person) by g",
    "location(x) by g",
    COIN + " by g",
]


def audited(texts: Sequence[str], kind: Kind, rows: int, triples: int) -> PlanAudit:
    columns: dict[str, Column] = {"x": real(missing=0), "k": integer(-50, 50), "g": category(["a", "b"])}
    schema = Schema(columns, Person(kind, None if rows == 1 else "who", rows))
    return audit(priced(texts, schema, 10_000_000, "8"), schema, triples=triples)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("kind", "rows"), [("add_remove", 1), ("substitute", 1), ("substitute", 2), ("add_remove", 2)])
def test_no_made_up_neighbours_move_a_number_further_than_declared(kind: Kind, rows: int) -> None:
    texts = [*AUDITED, "trimmed_mean(x, per=person)"] if kind == "substitute" else AUDITED
    found = audited(texts, kind, rows, 6)
    assert found.verdict == "passed", found.words
    assert all(moved.calls and moved.ratio is not None for moved in found.answers)
    assert found.ratio is not None
    assert found.ratio > Fraction(9, 10)


MUTANTS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "joint": ("quantiles(x, 0.1 0.5 0.6 0.9, method=joint)", lambda patch: patch.setattr(joint, "UNIT", UNIT // 2)),
    "spread by group": ("iqr(x, method=joint) by g", lambda patch: patch.setattr(joint, "UNIT", UNIT // 2)),
    "logs": ("log_mean(x)", lambda patch: patch.setattr(logs.LogMoments, "mechanism", property(_halved))),
    "clipped": ("mean(x, method=clipped)", lambda patch: patch.setattr(clipping_radii, "UNIT", UNIT // 2)),
    "huber": ("location(x)", lambda patch: patch.setattr(location.Huber, "_choice", _finer)),
    "coinpress": (COIN, lambda patch: patch.setattr(coinpress.CoinPressMean, "_squared", _quarter)),
    "trimmed": ("trimmed_mean(x, trim=0.4)", lambda patch: patch.setattr(trimmed, "distance", _doubled)),
}


def _halved(plan: logs.LogMoments) -> Geometric:
    bound = clipped.moments_of(plan.terms, plan.epsilon, sized=False).mechanism.sensitivity.bound
    return Geometric(L1(Fraction(bound // 2), plan.terms.neighbours), plan.epsilon)


def _finer(plan: location.Huber, share: Fraction) -> Any:
    bound = Fraction(plan.terms.steps * location.UNIT, 2)
    return Exponential(Linf(bound, plan.terms.neighbours), plan.epsilon * share)


def _quarter(plan: coinpress.CoinPressMean, *, last: bool) -> Fraction:
    return Fraction(coinpress.UNIT**2)


def _doubled(sums: NDArray[np.int64], inside: int) -> NDArray[np.int64]:
    return 2 * DISTANCE(sums, inside)


DISTANCE = trimmed.distance


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("name", MUTANTS)
def test_half_the_sensitivity_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    text, mutate = MUTANTS[name]
    mutate(monkeypatch)
    assert audited([text], "substitute", 1, 10).verdict == "refuted"


@pytest.mark.wide
def test_the_width_of_an_interval_shrinks_as_it_should() -> None:
    """Sampling falls with the root of n: the interval is not a constant."""
    schema, half = schema_of("add_remove"), []
    for n in (4_000, 16_000):
        values = LAWS["normal"].draw(np.random.default_rng(1), n)
        (answer,) = released(priced(["location(x)"], schema, 0, "4"), schema, {"x": values}, f"width {n}")
        half.append((answer.high - answer.low) / 2)
    assert math.log2(half[0] / half[1]) == pytest.approx(1.0, abs=0.35)
