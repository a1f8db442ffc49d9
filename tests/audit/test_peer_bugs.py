"""Each privacy or correctness bug known of a peer, and what keeps it away from here.

Every line names a test that passes on our code and whose mutant, there or beside it, fails; or says why it cannot
exist. ``here`` is this file; other places are below ``tests``. Replayed entropy or no chance at all.

    # of our list of peers
    1   OpenDP #2949        column redefined after truncation     audit/test_replay::test_a_forgotten_cap_of_rows_is_found
    2   OpenDP #2945        largest group taken for change        audit/test_replay::test_a_histogram_at_the_price_of_one_bin_is_found_under_substitution
    3   OpenDP #2922        mass at the threshold not in delta    here::test_an_unsafe_proposal_is_answered_as_rarely_as_delta_says
    4   OpenDP #2933        one sample used for many answers      laws/test_amplify::test_two_answers_from_one_sample_cost_more_than_two_amplified_losses
    5   OpenDP #2930        length of a vector not protected      audit/test_replay::test_groups_read_from_the_data_are_found
    6   OpenDP #2911        rho of the other algorithm            here::test_permute_and_flip_is_not_charged_as_if_of_bounded_range
    7   OpenDP PR #2708     off by one in bit vectors             none: no bit-vector response is shipped
    8   OpenDP PR #2820     conversion of zCDP to a delta         here::test_a_conversion_of_rho_covers_the_law_of_its_mechanism
    8   OpenDP PR #2802     rounding direction of tails           here::test_an_unsafe_proposal_is_answered_as_rarely_as_delta_says
    8   OpenDP PR #2837     counts cast to an unsigned type       audit/test_replay::test_an_int8_that_wraps_is_found
    8   OpenDP PR #2696     distances before thresholding         audit/test_replay::test_half_the_sensitivity_is_found
    8   OpenDP PR #2639     biased sampler of noise               audit/test_exact::test_samplers_with_a_bias_are_refuted
    8   OpenDP PR #2805     scale of a sparse sketch              none: no sketch is shipped
    9   OpenDP PR #2345     fill value for public keys            audit/test_replay::test_groups_read_from_the_data_are_found
    10  OpenDP #414         bits of float noise                   audit/test_replay::test_a_float_at_the_gate_is_found
    10  OpenDP #941         thresholded Laplace noise             here::test_an_unsafe_proposal_is_answered_as_rarely_as_delta_says
    11  OpenDP #314         sensitivity by integer division       audit/test_exact::test_a_mean_with_noise_for_half_a_row
    12  OpenDP #1908        ran although its map failed           here::test_what_has_no_price_reads_no_row
    13  diffprivlib #105    lower bound used twice                here::test_bounds_of_either_sign_are_paid_for
    14  diffprivlib #23     Wishart noise                         none: no matrix noise is shipped
    15  diffprivlib #94     bits of float noise                   audit/test_replay::test_a_float_at_the_gate_is_found
    16  diffprivlib #107    quantile fails on ties                here::test_quantiles_of_ties_fail_for_nobody
    17  diffprivlib PR #98  noise scaled too large                audit/test_exact::test_too_much_noise_holds_and_is_called_loose
    18  diffprivlib         does not import with new libraries    conventions/test_files::test_every_dependency_is_pinned
    19  SmartNoise #622     clipped copy made, raw one used       here::test_a_value_beyond_the_bounds_may_be_any_value
    20  SmartNoise #621     epsilon in place of its exponential   laws/test_optimal::test_epsilon_in_place_of_its_exponential_is_caught
    21  SmartNoise #572     quantile fails on some data           here::test_quantiles_of_ties_fail_for_nobody
    22  SmartNoise #356     sensitivity from the present n        audit/test_exact::test_a_statistic_that_reads_the_number_of_rows_without_noise
    23  Google PR #84       distinct values of several people     here::test_whoever_shares_values_is_one_person
    24  Google PR #101      threshold cut to an integer           here::test_an_unsafe_proposal_is_answered_as_rarely_as_delta_says
    25  Google #126         sums round, by order                  audit/test_replay::test_what_depends_on_the_order_of_rows_is_found
    26  Google PR #405      NaN passes the clamp                  audit/test_replay::test_a_nan_that_passes_through_is_found
    27  Google #110         two parts (0, delta), one key         here::test_two_failures_are_more_than_one
    28  Google              means of integers, overflow           audit/test_replay::test_an_int8_that_wraps_is_found
    29  PipelineDP #551     vector clipped part by part           audit/test_replay::test_a_forgotten_clip_is_found
    29  PipelineDP #552     noise against the size of a vector    audit/test_replay::test_noise_that_nobody_pays_for_is_found
    29  PipelineDP #430     composition by loss distributions     laws/test_pld::test_a_cut_that_is_forgotten_is_found
    30  Tumult Core         groups that share a person            audit/test_replay::test_parallel_groups_that_one_person_shares_are_found
    31  autodp #2           inverse of sampling                    laws/test_amplify::test_epsilon_times_rate_is_caught
    31  autodp #39          calibrated to too little              laws/test_calibrate::test_a_search_that_stops_one_step_early_is_caught
    31  autodp PR #46       conversion of Renyi to a delta        here::test_a_conversion_of_rho_covers_the_law_of_its_mechanism
    31  autodp PR #27       noise of sparse vectors               none: no sparse vector is shipped
    32  Qrlew               noise by the engine's RANDOM()        engines/test_plan_operations::test_the_plan_uses_allowed_operations_only
    33  Opacus #616         four floats mixed for one             audit/test_gallery::test_what_is_broken_is_refuted_and_ours_withstands
    33  Opacus #819         batch normalisation                   none: no gradient is shipped

    the other issues of OpenDP in 2025 and 2026
    -   OpenDP #2344        one draw for many cells               here::test_cells_have_noise_of_their_own
    -   OpenDP #2923        deviations from a rounded mean        here::test_spread_is_paid_for_whatever_the_mean
    -   OpenDP #2938        a cast that makes nulls               audit/test_replay::test_a_group_count_without_noise_is_found
    -   OpenDP #2939        NaN cut into bins                     audit/test_replay::test_a_group_count_without_noise_is_found
    -   OpenDP #2940        remainder by 0 makes nulls            audit/test_replay::test_a_group_count_without_noise_is_found
    -   OpenDP #2941        32-bit floats bounded as 64-bit       here::test_the_storage_of_a_column_changes_nothing
    -   OpenDP #2944        codes by order of appearance          audit/test_replay::test_what_depends_on_the_order_of_rows_is_found
    -   OpenDP #2950        cut to an even number of rows         audit/test_replay::test_truncation_to_an_even_number_of_rows_is_found
"""  # noqa: E501 - a table

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.conformance.diffs import alike
from reticent.conformance.plan_audit import audit
from reticent.data import query_compiler, query_expressions, source
from reticent.data.engines import row_choice
from reticent.data.engines.row_choice import RowChoice
from reticent.data.query import Query, Total, stability
from reticent.data.query_result import QueryResult
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.data.table import Table, open_table
from reticent.entropy import Entropy
from reticent.errors import CheckError, ReticentError
from reticent.exact import sampling
from reticent.mechanisms import geometric
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.privacy import compose, convert, profiles, ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.cost import Cost
from reticent.privacy.loss import ApproxDP, PureDP, pld_of
from reticent.privacy.pairs import Range
from reticent.privacy.sensitivity import L1, L2, Linf
from reticent.statistics import public_facts, ranks
from reticent.statistics.moments import moment_step as moment_basis
from reticent.statistics.quantiles import quantile_step as quantiles
from reticent.study import preparation
from reticent.study.allocation import settle
from reticent.study.formulas import understand
from tests.assurance.broken.exhibit import QUICK
from tests.assurance.broken.pipelines import OWNER, SHARED, Replay, people
from tests.assurance.claims import verify
from tests.assurance.laws import law_of

NEAR = Adjacency("add_remove")
PUBLIC = compose.public(Adjacency("substitute"))
TESTS = Path(__file__).parents[1]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    forget()
    yield monkeypatch
    forget()


def forget() -> None:
    query_compiler.forget()


# --- the table --------------------------------------------------------------------------------------------------------

ROWS = re.findall(r"^    (\d+|-) +(.+?)  +(.+?)  +(here::\w+|[\w/]+::\w+|none: .+)$", __doc__ or "", re.MULTILINE)


def test_every_line_names_a_test_or_a_reason() -> None:
    for _, thread, _, kept in ROWS:
        if kept.startswith("none: "):
            continue
        place, _, name = kept.partition("::")
        file = Path(__file__) if place == "here" else (TESTS / place).with_suffix(".py")
        assert re.search(rf"^def {name}\(", file.read_text("utf-8"), re.MULTILINE), thread


def test_no_bug_is_left_out() -> None:
    assert {int(row[0]) for row in ROWS if row[0] != "-"} == set(range(1, 34))
    issues = {2344, 2911, 2922, 2923, 2930, 2933, 2938, 2939, 2940, 2941, 2944, 2945, 2949, 2950}
    assert issues <= {int(number) for row in ROWS for number in re.findall(r"OpenDP #(\d+)", row[1])}


# --- deltas and rates -------------------------------------------------------------------------------------------------


def answered(scale: Fraction, margin: int) -> tuple[Fraction, Fraction]:
    """Certified bounds of P(noise >= margin), from the law of the program."""
    return law_of(lambda entropy: sampling.one_discrete_laplace(scale, entropy) >= margin).bounds(True)


def margins_keep_delta() -> bool:
    asked = [(Fraction(s), d) for s in (1, Fraction(7, 3), 5) for d in (Fraction(1, 200), Fraction(1, 37))]
    return all(answered(scale, ptr.least_margin(scale, delta))[1] <= delta for scale, delta in asked)


def test_an_unsafe_proposal_is_answered_as_rarely_as_delta_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert margins_keep_delta()
    chance, margin = ptr.reply_chance, ptr.least_margin
    with monkeypatch.context() as mutant:  # "> margin" for ">= margin"
        mutant.setattr(ptr, "reply_chance", lambda scale, m: chance(scale, m + 1))
        assert not margins_keep_delta()
    with monkeypatch.context() as mutant:  # cut to the integer below
        mutant.setattr(ptr, "least_margin", lambda scale, delta: margin(scale, delta) - 1)
        assert not margins_keep_delta()


def flips_keep_rho() -> bool:
    made = PermuteAndFlip(Linf(Fraction(1), NEAR), Fraction(1))
    claim = convert.as_zcdp(made.guarantee).loss
    return verify("flips", made.sample, [(0, 1), (1, 0)], [(0, 1)], claim).verdict == "holds"


def test_permute_and_flip_is_not_charged_as_if_of_bounded_range(monkeypatch: pytest.MonkeyPatch) -> None:
    assert flips_keep_rho()
    honest: Any = PermuteAndFlip.guarantee
    ranged = property(lambda self: replace(honest.fget(self), pair=Range(self.epsilon)))
    monkeypatch.setattr(PermuteAndFlip, "guarantee", ranged)
    assert not flips_keep_rho()


def conversions_hold() -> bool:
    verdicts = []
    for rho in (Fraction(1, 8), Fraction(1, 2)):
        made = Gaussian(L2(Fraction(1), NEAR), rho)
        for delta in (Fraction(1, 10**5), Fraction(1, 100)):
            claim = convert.approx_of(made.guarantee.loss, delta)
            verdicts.append(verify("gaussian", made.sample, [(0,), (1,)], [(0, 1)], claim).verdict)
    return set(verdicts) == {"holds"}


def test_a_conversion_of_rho_covers_the_law_of_its_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant forgets the 2 before the root."""
    assert conversions_hold()

    def short(loss: Any, delta: Fraction) -> Fraction:
        return Fraction(loss.rho + Fraction(float(loss.rho * Fraction(np.log(float(1 / delta)))) ** 0.5))

    monkeypatch.setattr(profiles, "epsilon", short)
    assert not conversions_hold()


def two_failures(first: ApproxDP, second: ApproxDP) -> Fraction:
    pairs = [item for loss in (first, second) for item in convert.pld_view(loss).pairs]
    parts = [replace(PUBLIC, loss=pld_of([pair])) for pair in pairs]
    return profiles.delta(compose.in_sequence(parts).loss, Fraction(0))


def test_two_failures_are_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two equal parts (0, delta) fail together with probability 2 delta - delta^2; a dictionary would hold one."""
    delta = Fraction(1, 100)
    part, least = ApproxDP(Fraction(0), delta), 1 - (1 - delta) ** 2
    assert least <= two_failures(part, part) <= least * Fraction(1001, 1000)
    assert two_failures(part, ApproxDP(Fraction(0), delta / 2)) > delta
    monkeypatch.setattr(compose, "pld_of", lambda pairs: pld_of(list(dict(pairs).items())))
    assert two_failures(part, part) < least


def cells_are_independent() -> bool:
    made = Geometric(L1(Fraction(1), NEAR), Fraction(2))
    return verify("cells", made.sample, [(1, 1), (0, 1)], [(0, 1)], PureDP(Fraction(2))).verdict == "holds"


def test_cells_have_noise_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cells_are_independent()

    def once(scale: Any, size: int, entropy: Entropy) -> Any:
        return np.repeat(sampling.one_discrete_laplace(scale, entropy), size)

    monkeypatch.setattr(geometric, "discrete_laplace", once)
    assert not cells_are_independent()


# --- sensitivities ----------------------------------------------------------------------------------------------------


def excess(questions: Sequence[str], column: Column, kind: Any = "add_remove", triples: int = 20) -> set[str]:
    """Kinds of what the audit of a plan finds, compiled anew."""
    forget()
    schema = Schema({"x": column, "g": category(["a", "b"])}, Person(kind, "who"))
    units = 10_000 if kind == "substitute" else None
    prepared = settle(understand(questions, schema), Cost.read("10", None, None), schema, units, "approximate")
    return {found.kind for found in audit(prepared, schema, triples=triples).findings}


@pytest.mark.wide
@pytest.mark.loop(3)
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize(("low", "high"), [(-10, -1), (1, 10), (-1, 10), (0, 10), (-10, 1)])
def test_bounds_of_either_sign_are_paid_for(low: int, high: int, kind: Any) -> None:
    assert excess(["sum(x)", "mean(x)"], real(low, high), kind) == set()


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
def test_a_sum_that_moves_by_its_lower_bound_is_found(kind: Any, broken: pytest.MonkeyPatch) -> None:
    honest = stability

    def low_twice(query: Query, person: Person, *, stands_in: bool) -> tuple[Fraction, ...]:
        if not isinstance(query, Total):
            return honest(query, person, stands_in=stands_in)
        return (Fraction(max(1, abs(query.grid.lowest))),)

    broken.setattr(public_facts, "stability", low_twice)
    assert "sensitivity" in excess(["sum(x)"], real(0, 10), kind)
    assert "sensitivity" in excess(["sum(x)"], real(1, 10), kind)


@pytest.mark.wide
def test_spread_is_paid_for_whatever_the_mean(broken: pytest.MonkeyPatch) -> None:
    """The mutant pays for squares as if the exact mean were taken off first, which moves a quarter of the range."""
    assert excess(["variance(x)", "sd(x)"], real(0, 10), triples=32) == set()
    honest = moment_basis.MomentBasis.sensitivity

    def centred(self: moment_basis.MomentBasis, rows: int, groups: int) -> Fraction:
        return Fraction(honest(self, rows, groups) * 3 // 4)

    broken.setattr(moment_basis.MomentBasis, "sensitivity", centred)
    assert "sensitivity" in excess(["variance(x)"], real(0, 10), triples=32)


QUESTIONS = ("count", "sum(x)", "mean(x)", "variance(x)", "median(x)", "histogram(x, edges=0:10:5)")


def read(values: Any, column: Column) -> list[QueryResult]:
    """Every exact number that the questions take from a table with these values."""
    forget()
    schema = Schema({"x": column, "g": category(["a", "b"])}, Person("add_remove", "who"))
    prepared = settle(understand(QUESTIONS, schema), Cost.read("1", None, None), schema, None, "approximate")
    queries = list(dict.fromkeys(query for step in prepared.all_steps for query in step.queries))
    size = len(values)
    table = {"who": [f"p{place}" for place in range(size)], "x": values, "g": ["a", "b"] * (size // 2)}
    return open_table(table, schema).run(queries, bytes(32))


def far_values_are_alike(column: Column) -> bool:
    near, far = ([1.0, 2.0, 4.0, beyond] for beyond in (11.0, 1e9))
    try:
        return alike(read(near, column), read(far, column))
    except ReticentError:
        return False


@pytest.mark.wide
def test_a_value_beyond_the_bounds_may_be_any_value(broken: pytest.MonkeyPatch) -> None:
    assert far_values_are_alike(real(0, 10))
    assert far_values_are_alike(integer(0, 10))
    broken.setattr(query_expressions, "clamp", lambda x, low, high: x)
    assert not far_values_are_alike(real(0, 10))
    assert not far_values_are_alike(integer(0, 10))


LARGE = 2**21
STORED: list[tuple[str, list[float], Column]] = [
    ("float32", [LARGE + 1.0] * 1023 + [float(LARGE)], real(LARGE, LARGE + 1)),
    ("float16", [0.0, 1.5, 2048.0, 2050.0], real(0, 4096)),
    ("int8", [100.0, 100.0, 127.0, -128.0], real(-128, 127)),
    ("uint8", [200.0, 255.0, 0.0, 255.0], real(0, 255)),
    ("int64", [0.0, 1.0, 2.0, 3.0], real(0, 10)),
]


def storage_is_nothing(kinds: Sequence[str]) -> bool:
    chosen = [(kind, np.array(values), column) for kind, values, column in STORED if kind in kinds]
    return all(alike(read(values, column), read(values.astype(kind), column)) for kind, values, column in chosen)


@pytest.mark.wide
def test_the_storage_of_a_column_changes_nothing(broken: pytest.MonkeyPatch) -> None:
    """The mutant keeps narrow floats narrow and lets their bound be that of wide ones."""
    assert storage_is_nothing([kind for kind, _, _ in STORED])
    honest = source._from_array

    def narrow(column: Any, *of: Any) -> Any:
        if getattr(column, "dtype", None) == np.float32:
            column = np.clip(column, -60_000, 60_000).astype(np.float16)
        return honest(column, *of)

    broken.setattr(source, "_from_array", narrow)
    assert not storage_is_nothing(["float32"])


def sharing(question: str) -> bool:
    return Replay(SHARED, (*OWNER, *SHARED), real(0, 10)).on(question, QUICK).verdict == "withstood"


@pytest.mark.wide
def test_whoever_shares_values_is_one_person(broken: pytest.MonkeyPatch) -> None:
    """One who shares all values with others comes and goes. The mutant keeps every row, as a bound by value does."""
    assert sharing("persons")
    assert sharing("count by g")

    honest = RowChoice.rows
    broken.setattr(RowChoice, "rows", lambda choice, of: honest(choice, "all"))
    broken.setattr(RowChoice, "bound", lambda choice, keys, of: None)
    broken.setattr(row_choice, "_counts", lambda rows: rows.turn < 100)  # of persons with more rows than are kept
    forget()
    assert not sharing("count by g")


# --- failing ----------------------------------------------------------------------------------------------------------


def ties(question: str) -> str:
    return Replay(people([5.0] * 40), people([5.0] * 41), real(0, 10)).on(question, QUICK).words


@pytest.mark.wide
def test_quantiles_of_ties_fail_for_nobody(broken: pytest.MonkeyPatch) -> None:
    """The mutant divides by the distance of two values in the data."""
    for question in ("median(x)", "quantile(x, 0.9)", "quantiles(x, 0.25 0.75)", "iqr(x)"):
        assert ties(question).startswith("moved 1 times")
    honest = ranks.runs

    def spaced(cells: Any, data: Any) -> Any:
        1 / int(data.cells[-1] - data.cells[0])
        return honest(cells, data)

    broken.setattr(quantiles, "runs", spaced)
    assert ties("median(x)").startswith("exception")


def reads_a_row(monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a release whose total cannot be derived reaches the rows, or the ledger."""
    reached: list[object] = []
    honest: Callable[..., Any] = Table.run

    def run(self: Table, queries: Sequence[Query], key: bytes, *rest: Any) -> Any:
        reached.extend(queries if len(queries) == 1 else ())  # more are asked of the rows that test the engine
        return honest(self, queries, key)

    def fails(parts: object, *, label: str = "") -> Any:
        raise CheckError("no price")

    study = rt.study({"x": [1, 2]}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=1)
    monkeypatch.setattr(Table, "run", run)
    monkeypatch.setattr(compose, "in_sequence", fails)
    with suppress(CheckError):
        study.release(["count"], epsilon=1)
    return bool(reached) or study.ledger.spent() != PureDP(Fraction(0))


@pytest.mark.wide
def test_what_has_no_price_reads_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant takes the price of the first answer where that of all cannot be derived."""
    honest_settle, in_sequence = settle, compose.in_sequence
    with monkeypatch.context() as patched:
        assert not reads_a_row(patched)

    def careless(*given: Any) -> Any:
        try:
            return honest_settle(*given)
        except CheckError:
            monkeypatch.setattr(compose, "in_sequence", in_sequence)
            return honest_settle(*given)

    monkeypatch.setattr(preparation, "settle", careless)
    assert reads_a_row(monkeypatch)
