"""Propose-test-release and choices draw by draw, from rows to answers: what holds is proved, each mutant is refuted.

Nothing here is random. A mutant is planted in the program; the line that is part of ``reticent audit --exact`` must not
hold any more. Without it, it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from reticent.data.candidates import Cells
from reticent.data.order_statistics import INFINITE, LARGEST
from reticent.data.query_result import Counts, QueryResult, content
from reticent.data.schema import Schema
from reticent.entropy import Entropy
from reticent.errors import CheckError
from reticent.exact import sampling
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.statistics import magnitude
from reticent.statistics.context import Step
from reticent.statistics.moments.log_mean import LogMean
from reticent.statistics.moments.mean import Mean
from reticent.statistics.quantiles import quantile_step as quantiles
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.quantiles.iqr import Iqr
from reticent.statistics.quantiles.median import Median
from reticent.statistics.quantiles.quantiles import Quantiles
from reticent.statistics.ranks import Runs, placed, runs
from reticent.statistics.regression.regress import Regression
from reticent.statistics.robust import median as ranks
from reticent.statistics.robust import ptr_test
from reticent.statistics.robust import scale_ptr as scale
from reticent.statistics.robust.median import OrderStatisticTest as Ranked
from reticent.statistics.robust.plans import ANY_N, CountedPlan, MagnitudePlan, unit_of
from reticent.statistics.robust.reach import reach
from reticent.statistics.robust.scale import Scale
from reticent.statistics.robust.trimmed_mean import TrimmedMean
from reticent.statistics.unbounded import trimmed_mean as inverse
from reticent.statistics.unbounded.column_counts import Census
from tests.assurance import exact, exact_gate, exact_ptr, stepwise
from tests.assurance.claims import Line
from tests.assurance.exact_ptr import FEW, NEAR, SOME, STABLE, TRIMMED, TWICE, Case, median
from tests.assurance.stepwise import Case as Drawn

SIXTEEN = Fraction(16)
S = Case(Scale("x"), "substitute", 5, (5,), SIXTEEN, SOME)
BIN = Case(STABLE, "add_remove", 5, (5, 6), SIXTEEN, SOME)
M = Case(median(2), "substitute", 5, (5,), SIXTEEN, NEAR)
WITH_SCALE = Case(median(), "substitute", 5, (5,), Fraction(24), FEW)
TM = Case(TRIMMED, "substitute", 6, (6,), Fraction(24), FEW)
SMOOTH = Case(exact_ptr.SMOOTH, "substitute", 5, (5,), Fraction(2), SOME)
BOUGHT = Case(STABLE, "add_remove", None, (5, 6), Fraction(56), FEW)
MAGNITUDE = Case(exact_ptr.SIZED, "add_remove", 5, (5, 6), Fraction(24), FEW)
PTR = (S, BIN, M, WITH_SCALE, TM)
OUGHT = ("S", "the stable bin", "M", "M with its scale", "TM")

MANY = Fraction(600)
JOINT = Drawn(Quantiles("x", stepwise.QUARTERS, method="joint"), "substitute", (5,), MANY, ((0,), (9,)))
SPREAD = Drawn(Iqr("x", method="joint"), "add_remove", (5, 6), MANY, ((0,), (9,)))
CLIPPED = Drawn(Mean("x", method="clipped"), "add_remove", (5, 6), MANY, ((0,), (9,)))
LOGS = Drawn(LogMean("x"), "substitute", (12,), MANY, ((0,), (9,)))
INVERSE = Drawn(TrimmedMean("x", Fraction(1, 5), method="inverse"), "substitute", (5,), MANY, ((0,), (9,)))
FREE = Drawn(Median("free"), "add_remove", (12, 13), MANY, ((-3,), (1000,)))
FREE_IQR = Drawn(Iqr("free"), "substitute", (12,), MANY, ((-3,), (1000,)))
TIED = Drawn(Median("x"), "add_remove", (15, 16), Fraction(50), ((0,), (3,), (9,)))
TIED_REPLACED = Drawn(Median("x"), "substitute", (24,), Fraction(70), ((0,), (3,), (9,)))
SLOPES = Drawn(Regression("y ~ x", method="theil_sen"), "substitute", (6,), MANY, stepwise.LINE)


@pytest.fixture(autouse=True, scope="module")
def _tables_read_once() -> Iterator[None]:
    """No mutant here changes what the engine reads of a table."""
    known: dict[tuple[object, ...], tuple[QueryResult, ...]] = {}
    honest = stepwise.read

    def read(table: stepwise.Rows, step: Step, schema: Schema) -> tuple[QueryResult, ...]:
        asked = table, step.queries, repr(schema)
        if asked not in known:
            known[asked] = honest(table, step, schema)
        return known[asked]

    with patch.object(stepwise, "read", read):
        yield


def verdict(case: Case) -> str:
    return exact_ptr.verified(case, every=100).verdict


def drawn(case: Drawn) -> Line:
    return stepwise.verified(case)


# --- what holds ------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(
    "case", [S, BIN, M, WITH_SCALE, TM, SMOOTH, BOUGHT, MAGNITUDE], ids=lambda case: case.asked.name
)
def test_a_statistic_by_its_test_keeps_its_guarantee_and_hardly_less(case: Case) -> None:
    line = exact_ptr.verified(case)
    assert line.verdict == "holds"
    assert line.attained is not None
    assert line.attained > Fraction(9, 10)
    assert line.residual < Fraction(1, 1 << 60)


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(
    "case",
    [JOINT, SPREAD, CLIPPED, LOGS, INVERSE, SLOPES, FREE, FREE_IQR, TIED, TIED_REPLACED],
    ids=lambda case: case.asked.name,
)
def test_choices_and_integers_lose_no_more_than_their_sum(case: Drawn) -> None:
    assert drawn(case).verdict == "holds"


@pytest.mark.audit
def test_statistics_without_bounds_keep_their_guarantee_from_rows_to_answers() -> None:
    lines = list(exact.robust())
    assert [str(line) for line in lines if line.verdict != "holds"] == []
    names = " ".join(line.name for line in lines)
    for word in (
        "scale(x)",
        "scale(free, method=stable)",
        "stable",
        "method=M",
        "width=2",
        "TM",
        "smooth",
        "joint",
        "iqr",
        "inverse",
        "clipped",
        "log_mean",
    ):
        assert word in names
    for word in ("theil_sen", "block_medians", "n public", "n declared", "n bought", "substitute", "add_remove"):
        assert word in names
    whole = {line.name: line for line in lines if line.outcomes and "all draws" in line.what}
    assert all(line.attained and line.attained > Fraction(8, 10) for line in whole.values())
    assert sum(line.attained is not None and line.attained > Fraction(99, 100) for line in whole.values()) >= 8
    assert all(line.residual < Fraction(1, 1 << 60) for line in lines)


@pytest.mark.audit
def test_persons_with_two_rows_and_a_bought_number_of_values() -> None:
    assert verdict(TWICE) == "holds"


@pytest.mark.wide
def test_a_test_is_two_branches_with_the_law_of_its_noise() -> None:
    """P(1 + Z >= 3) for Z of scale 1 is q**2 / (1 + q), q = 1 / e, whatever branches the noise has."""
    noise = Geometric(L1(Fraction(1), Adjacency("substitute")), Fraction(1))
    bar = gate.Bar(3, 1)
    law = exact_gate.through_gate(lambda entropy: gate.passes(noise, 1, bar, entropy), least=Fraction(1, 1 << 90))
    low, high = law.bounds(True)
    q = Fraction(367879441171442321595523770161, 10**30)
    assert len(law.masses) == 2
    assert abs(low - q**2 / (1 + q)) < Fraction(1, 10**25)
    assert high - low < Fraction(1, 1 << 80)


def test_coins_outside_of_a_mechanism_are_refused() -> None:
    with pytest.raises(CheckError, match="coins"):
        exact_gate.through_gate(lambda entropy: sampling.uniform(3, entropy), least=Fraction(1, 100))


@pytest.mark.wide
def test_the_engine_reads_what_is_put_in_order() -> None:
    step, schema = exact_ptr.prepared(BIN)
    assert exact_ptr.read((0, 7, 7, 15, 15), step, schema) is not None
    for column in ((0, 0, 7, 7, 15), (15,) * 6, (-3, 0, 7, 15, 40)):
        assert content(exact_ptr.held(column, step)) == content(exact_ptr.read(column, step, schema))


# --- mutants of propose-test-release ---------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.loop(3)
@pytest.mark.parametrize("case", PTR, ids=OUGHT)
def test_a_threshold_off_by_one(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def lower(self: ptr_test.Test, distance: int, entropy: Entropy) -> bool:
        return gate.passes(self.noise, min(distance, self.cap), gate.Bar(self.threshold - 1, self.unsafe), entropy)

    monkeypatch.setattr(ptr_test.Test, "passes", lower)
    assert verdict(case) == "refuted"


@pytest.mark.wide
def test_a_distance_that_moves_by_two_with_noise_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unsafe up to 2, and threshold and delta are right for that distance: only the noise is for one row."""
    honest = ranks.narrow

    def doubled(sensitivity: int) -> str:
        def made(epsilon: Fraction, delta: Fraction, neighbours: Adjacency, **_: int) -> ptr_test.Test:
            return ptr_test.Test(neighbours, epsilon, 3, 2, sensitivity)

        monkeypatch.setattr(scale, "exact_test", made)
        monkeypatch.setattr(ranks, "narrow", lambda *given: 2 * honest(*given) + 2)
        monkeypatch.setattr(ranks, "refuse_unreachable", lambda *_: None)
        return verdict(replace(M, epsilon=Fraction(4)))

    assert doubled(2) == "holds"
    assert doubled(1) == "refuted"


def less(factor: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """All released integers get that much of their noise; tests keep theirs."""
    honest = gate.draw

    def draw(mechanism: Any, exact_numbers: Any, entropy: Entropy) -> Any:
        if isinstance(mechanism, Geometric):
            mechanism = Geometric(mechanism.sensitivity, mechanism.epsilon / factor)
        return honest(mechanism, exact_numbers, entropy)

    monkeypatch.setattr(gate, "draw", draw)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("case", "share"), [(S, Fraction(4, 5)), (M, Fraction(4, 5)), (TM, Fraction(1, 2))], ids=["S", "M", "TM"]
)
def test_a_release_with_less_noise(case: Case, share: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """TM pays for two tests, of which these tables use one: a release may lose a quarter of all more unnoticed."""
    less(share, monkeypatch)
    assert verdict(case) == "refuted"


@pytest.mark.parametrize("case", [BIN, pytest.param(TM, marks=pytest.mark.audit)], ids=["the stable bin", "TM"])
def test_the_edge_of_what_is_there_in_place_of_the_certified_one(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scale of the noise then tells the width of the table."""
    honest = scale.StableScale.distances

    def bare(self: scale.StableScale, data: Any) -> tuple[tuple[int, int], ...]:
        width = max(1, reach(data, *self.ranks, self.test.cap).width)
        return tuple((distance, width if edge < INFINITE - 1 else edge) for distance, edge in honest(self, data))

    monkeypatch.setattr(scale.StableScale, "distances", bare)
    assert verdict(replace(case, kind="substitute", n=6, sizes=(6,), grid=(0, 14, 15))) == "refuted"


@pytest.mark.wide
def test_ranks_of_the_true_number_of_values_in_place_of_the_noisy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(self: CountedPlan, data: Any, entropy: Entropy) -> Any:
        gate.draw(self.census, (data.below(LARGEST + 1),), entropy)
        return self.make(data.below(LARGEST + 1), self.price).draw(data, entropy)

    monkeypatch.setattr(CountedPlan, "draw", draw)
    assert verdict(BOUGHT) == "refuted"


@pytest.mark.wide
def test_a_magnitude_drawn_at_four_times_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """At twice its rate it hides behind the tests, which these tables leave at .88 of their claim."""
    honest = gate.choose

    def choose(mechanism: Any, *given: Any) -> int:
        return honest(Exponential(mechanism.sensitivity, 4 * mechanism.epsilon), *given)

    monkeypatch.setattr(gate, "choose", choose)
    assert verdict(replace(MAGNITUDE, kind="substitute", sizes=(5,))) == "refuted"


@pytest.mark.wide
def test_a_magnitude_that_nothing_pays_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def unpaid(self: MagnitudePlan) -> Guarantee:
        return self.make(unit_of(self.cells, None), self.n or ANY_N, self.price).guarantee

    monkeypatch.setattr(MagnitudePlan, "guarantee", property(unpaid))
    assert verdict(MAGNITUDE) == "refuted"


@pytest.mark.wide
def test_a_median_that_replies_without_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranked, "distances", lambda self, data, width: (self.test.cap,))
    assert verdict(M) == "refuted"


@pytest.mark.wide
def test_squares_that_move_further_than_they_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.statistics.robust import answers

    honest = answers.squares_of
    monkeypatch.setattr(answers, "squares_of", lambda *given: 2 * honest(*given))
    assert verdict(TM) == "refuted"


@pytest.mark.wide
def test_a_smooth_bound_that_looks_at_the_table_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local sensitivity is no smooth bound."""
    from reticent.mechanisms.smooth_noise import UNIT
    from reticent.statistics.robust.smooth_sensitivity import SmoothMean

    monkeypatch.setattr(SmoothMean, "bound", lambda self, data: max(self.moves(data)[0] * UNIT, 1))
    assert verdict(SMOOTH) == "refuted"


# --- mutants of choices ----------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("case", [JOINT, INVERSE], ids=["joint", "inverse"])
def test_choices_at_twice_their_rate(case: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = gate.choose

    def choose(mechanism: Any, *given: Any) -> int:
        return honest(Exponential(mechanism.sensitivity, 2 * mechanism.epsilon), *given)

    monkeypatch.setattr(gate, "choose", choose)
    assert drawn(case).verdict == "refuted"


@pytest.mark.wide
def test_a_true_number_of_values_for_a_noisy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Census.draw

    def true(self: Census, data: Any, entropy: Entropy) -> GroupSize:
        n = float(data.counts.sum())
        return replace(honest(self, data, entropy), values=n)

    monkeypatch.setattr(Census, "draw", true)
    assert drawn(SPREAD).verdict == "refuted"


@pytest.mark.wide
def test_a_magnitude_whose_score_moves_by_two(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = magnitude.by_binade

    def twice(base: Cells, data: Counts) -> Runs:
        return honest(base, Counts(data.cells, 2 * data.counts))

    monkeypatch.setattr(quantiles, "by_binade", twice)
    assert drawn(FREE).verdict == "refuted"


@pytest.mark.wide
def test_a_magnitude_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The binade of the greatest value, in place of the one that was drawn."""
    honest = quantiles.QuantileStep._among

    def true(self: quantiles.QuantileStep, data: Counts, size: GroupSize, entropy: Entropy) -> Cells:
        honest(self, data, size, entropy)
        binade = int(magnitude.by_binade(self.draws.cells, data).start[-2])
        return magnitude.candidates(self.draws.cells, int(data.cells.max() > 0) + binade, tied=size.tied)

    monkeypatch.setattr(quantiles.QuantileStep, "_among", true)
    assert drawn(FREE).verdict == "refuted"


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("case", [TIED, TIED_REPLACED], ids=["add_remove", "substitute"])
def test_a_value_among_ties_is_a_draw_of_its_own(case: Drawn) -> None:
    """The numbers of values and ties, two ends, and the value between them: the cases above reach this way."""
    assert "4 draws" in drawn(case).what


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("case", [TIED, TIED_REPLACED], ids=["add_remove", "substitute"])
def test_candidates_between_ends_that_are_read(case: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value is looked for between the least and the greatest of all, and not between the ends drawn."""
    honest, seen = placed, list[Counts]()

    def noted(base: Cells, to: Cells, data: Counts) -> Counts:
        seen.append(honest(base, to, data))
        return seen[-1]

    def true(among: Cells, first: int, last: int) -> Cells:
        held = seen[-2].cells  # of the column; the last are of squares
        return magnitude.between(among, int(held.min()), int(held.max()))

    monkeypatch.setattr(quantiles, "placed", noted)
    monkeypatch.setattr(quantiles, "between", true)
    assert drawn(case).verdict == "refuted"


@pytest.mark.wide
def test_ranks_of_a_quantile_that_move_by_two(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = runs
    monkeypatch.setattr(quantiles, "runs", lambda among, data: honest(among, Counts(data.cells, 2 * data.counts)))
    assert drawn(TIED).verdict == "refuted"


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("case", [TIED, TIED_REPLACED], ids=["add_remove", "substitute"])
def test_a_value_that_nothing_pays_for(case: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles.QuantileStep, "guarantee", property(_without_value))
    assert drawn(case).verdict == "refuted"


def _without_value(step: quantiles.QuantileStep) -> Guarantee:
    assert step.draws.pricing.size is not None
    ends = replace(step.draws.pricing.among_ties, value=Fraction(0))
    return compose.in_sequence([step.draws.pricing.size.guarantee, step.draws.of_group(ends)])


@pytest.mark.wide
def test_a_score_that_moves_by_two(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = inverse.kappa
    monkeypatch.setattr(inverse, "kappa", lambda sums, inside: 2 * honest(sums, inside))
    assert drawn(INVERSE).verdict == "refuted"


@pytest.mark.wide
def test_moments_with_half_of_their_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    less(Fraction(1, 2), monkeypatch)
    assert drawn(CLIPPED).verdict == "refuted"


@pytest.mark.wide
def test_a_clip_that_follows_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.statistics.unbounded.clipping_radii import Choice

    honest = Choice.centre

    def true(self: Choice, cells: Any, data: Any, entropy: Entropy) -> float:
        honest(self, cells, data, entropy)
        return float(np.median(np.repeat(data.cells, data.counts)))

    monkeypatch.setattr(Choice, "centre", true)
    assert drawn(CLIPPED).verdict == "refuted"


@pytest.mark.wide
def test_slopes_of_eight_rounds_paid_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.statistics.regression.theil_sen import TheilSen

    honest: Any = vars(TheilSen)["middle"]

    def cheap(self: TheilSen) -> Any:
        made = honest.func(self)
        return replace(made, changed=made.changed // made.rounds, moved=made.moved // made.rounds)

    monkeypatch.setattr(TheilSen, "middle", property(cheap))
    assert drawn(SLOPES).verdict == "refuted"


@pytest.mark.wide
def test_rows_keep_their_places_between_neighbours() -> None:
    tables, pairs = stepwise.neighbouring(SLOPES)
    assert all(sum(a != b for a, b in zip(tables[i], tables[j], strict=True)) == 1 for i, j in pairs)
    assert len(pairs) > len(tables) == len(set(tables))
