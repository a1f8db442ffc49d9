"""The clipped mean: intervals for what they name, whatever the law, and a declared tail for the mean of all values.

Replies of both relations and two sizes are pooled for each law. A count of covered replies is refused where it would
have probability below ERROR at coverage .93, or above .97; intervals of .7 and of 1.6 times the width are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from reticent.data.candidates import cells_of
from reticent.data.query_result import Counts
from reticent.data.schema import Column, Person, real
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.statistics import tails
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.unbounded.clipped_mean import ClippedEstimate, ClippedMean, ClippingInterval
from reticent.statistics.unbounded.clipping_radii import LADDER
from reticent.statistics.unbounded.column_counts import ColumnTerms
from tests.support.cut_laws import CUT_LAWS, CutLaw, mixed
from tests.support.stat_fake import Fake, answered, schema_of
from tests.support.unbounded_reference import counted

CELLS = cells_of(real(), "x")
KINDS: tuple[Kind, ...] = ("substitute", "add_remove")
ERROR = 1e-2
CASES: tuple[tuple[Kind, int, str], ...] = tuple(
    (kind, n, epsilon) for kind in KINDS for n, epsilon in ((1_000, "1"), (10_000, "0.1"))
)


def plan(kind: Kind, n: int, epsilon: str, tail: tails.Tail | None = None) -> ClippedMean:
    about = ColumnTerms(Adjacency(kind), n if kind == "substitute" else None)
    return ClippedMean(CELLS, about, Fraction(epsilon), tail=tail)


def replies(law: CutLaw, runs: int, tail: tails.Tail | None = None) -> Iterator[ClippedEstimate]:
    """Of all cases; a law that is drawn from without a seed of its own would not be replayed."""
    for kind, n, epsilon in CASES:
        made, generator = plan(kind, n, epsilon, tail), np.random.default_rng(11)
        for run in range(runs):
            key = f"{law.name} {kind} {n} {run} {tail}"
            outcome = made.draw(counted(CELLS, law.draw(generator, n)), Replayed(key))
            if isinstance(outcome, Reply):
                yield outcome.value


def stretches(found: list[tuple[Estimate, float]]) -> NDArray[np.float64]:
    """The factor by which each interval must be stretched about its middle to hold the truth."""
    return np.array([abs(truth - (e.low + e.high) / 2) / ((e.high - e.low) / 2) for e, truth in found])


def too_low(covered: int, runs: int) -> bool:
    return bool(scipy.stats.binom.cdf(covered, runs, 0.93) < ERROR)


def too_high(covered: int, runs: int) -> bool:
    return bool(scipy.stats.binom.sf(covered - 1, runs, 0.97) < ERROR)


# --- what is named is covered ----------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("name", [name for name in CUT_LAWS if "infinite" not in name])
def test_the_mean_of_values_cut_to_the_released_ends_is_covered_whatever_the_law(name: str) -> None:
    law = CUT_LAWS[name]
    made = list(replies(law, 100))
    assert len(made) > 0.95 * 400
    assert not any("population mean" in clipped.estimand("x") for clipped in made)
    found = stretches([(clipped.estimate, law.cut_mean(clipped.low, clipped.high)) for clipped in made])
    covered, narrow, wide = (int((found <= factor).sum()) for factor in (1.0, 0.7, 1.6))
    assert not too_low(covered, len(found)), covered / len(found)
    assert not too_high(covered, len(found)), covered / len(found)
    assert too_low(narrow, len(found)), narrow / len(found)
    assert too_high(wide, len(found)), wide / len(found)


@pytest.mark.parametrize("name", ["lognormal(0, 1)", "Pareto(1.5)", "5 % outliers"])
def test_the_claim_of_0_1_0_is_refuted_by_the_same_judgement(name: str) -> None:
    """The same intervals do not hold the mean of all values, which was said of them."""
    law = CUT_LAWS[name]
    found = [c.estimate.low <= law.mean <= c.estimate.high for c in replies(law, 12)]
    assert too_low(sum(found), len(found)), sum(found) / len(found)


@pytest.mark.parametrize("kind", KINDS)
def test_infinite_cells_and_far_lumps_are_cut_and_counted(kind: Kind) -> None:
    generator = np.random.default_rng(4)
    for far in (np.inf, 1e6):
        values = np.concatenate([generator.normal(0.0, 1.0, 39_960), np.full(40, far)])
        outcome = plan(kind, 40_000, "1").draw(counted(CELLS, values), Replayed(f"far {far}"))
        assert isinstance(outcome, Reply)
        found = outcome.value
        truth = float(np.clip(values, found.low, found.high).mean())
        assert abs(found.estimate.value - truth) < 3.0 * found.estimate.noise
        assert found.high < 1e3
        assert not found.reach
        assert 0.001 < found.beyond < 0.005  # at most so many of the values lie beyond: .1 % do
        assert any(re.match(r"at most 0\.\d+ % of the values lie beyond \[", text) for text in found.words)


@pytest.mark.wide
def test_a_cut_at_the_last_candidates_is_said() -> None:
    values = np.concatenate([np.zeros(1_000), np.full(19_000, np.inf)])
    outcome = plan("add_remove", 20_000, "1").draw(counted(CELLS, values), Replayed("all far"))
    assert isinstance(outcome, Reply)
    assert outcome.value.reach
    assert any("last of the public candidates" in text for text in outcome.value.words)


# --- declared tails --------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(("tail", "spare", "narrow"), [("normal", 0.8, 0.6), (Fraction(3), 0.5, 0.4)])
def test_with_a_declared_tail_a_normal_column_is_told_its_population_mean(
    tail: tails.Tail, spare: float, narrow: float
) -> None:
    """The interval allows for all that the tail may hide, and a normal column hides less: it is judged on both sides.

    The whole covers .93 at least, and ``spare`` of it .97 at most; either is refused by chance at most once in 100. An
    interval of ``narrow`` times the width is refused by the first, and one of 2.5 times the width by the second.
    """
    law = CUT_LAWS["normal"]
    made = list(replies(law, 50, tail))
    said = [clipped for clipped in made if clipped.tail is not None]
    assert len(said) >= 0.9 * len(made)
    assert said[0].estimand("x").startswith("population mean of x, if its tails")
    needed = stretches([(clipped.estimate, 100.0) for clipped in said])
    whole, part, cheap, dear = (int((needed <= f).sum()) for f in (1.0, spare, narrow, 2.5 * spare))
    assert not too_low(whole, len(said)), whole / len(said)
    assert not too_high(part, len(said)), part / len(said)
    assert too_low(cheap, len(said)), cheap / len(said)
    assert too_high(dear, len(said)), dear / len(said)


@pytest.mark.wide
def test_a_power_tail_that_holds_gives_the_mean_of_all_values() -> None:
    """Student's law with 3 degrees of freedom falls like the cube of the distance, within the factor allowed."""
    law = CutLaw("t3", lambda g, n: g.standard_t(3, n), lambda x: np.asarray(scipy.stats.t.sf(x, 3)), 0.0)
    said = [clipped for clipped in replies(law, 20, Fraction(3)) if clipped.tail is not None]
    assert len(said) > 60
    covered = sum(clipped.estimate.low <= 0.0 <= clipped.estimate.high for clipped in said)
    assert not too_low(covered, len(said)), covered / len(said)


@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
def test_a_declared_tail_that_the_noisy_count_refutes_is_not_used(kind: Kind) -> None:
    law = mixed(
        "3 % outliers",
        0.03,
        (CUT_LAWS["t2"].draw, CUT_LAWS["t2"].above),
        (lambda g, n: np.full(n, 1e6), lambda x: np.ones(len(x))),
        3e4,
    )
    made, generator = plan(kind, 10_000, "1", "normal"), np.random.default_rng(3)
    for run in range(10):
        outcome = made.draw(counted(CELLS, law.draw(generator, 10_000)), Replayed(f"refuted {run}"))
        assert isinstance(outcome, Reply)
        # the radius may follow the outliers; a cut that holds them in holds the mean
        if outcome.value.high < 1e6:
            assert outcome.value.refuted
            assert outcome.value.estimand("x").startswith("mean of x cut to [")
            assert any("more than the declared tail can hold" in text for text in outcome.value.words)


@pytest.mark.wide
@pytest.mark.parametrize("tail", ["normal", Fraction(3, 2), Fraction(3)])
def test_what_a_tail_allows_bounds_what_cutting_moves(tail: tails.Tail) -> None:
    """Laws at the edge of the declaration, by quadrature: the bound holds, and half of it does not."""
    outside, cut = 0.1, tails.stretch(tail)
    bound = tails.allowed(tail, outside, 1.0)
    s = np.geomspace(1.0, 1e6, 400_001)
    most = min(tails.RANKS * outside, 1.0)
    if tail == "normal":
        z = float(scipy.stats.norm.isf(most / 2.0))
        share = tails.SLACK * most * scipy.stats.norm.sf(z * s) / scipy.stats.norm.sf(z)
    else:
        share = tails.SLACK * most * s ** -float(tail)
    inside = s >= cut
    moved = float(np.trapezoid(share[inside], s[inside]))
    assert bound.share == pytest.approx(float(np.interp(cut, s, share)), rel=1e-3)
    assert moved <= bound.moved * (1.0 + 1e-4)
    assert bound.moved < 2.0 * moved


@pytest.mark.wide
def test_fewer_values_beyond_narrow_what_is_added_and_more_refute() -> None:
    made = plan("substitute", 10_000, "1", Fraction(3))
    size, mean = GroupSize(1e4, False, 1e4), Estimate(0.1, 0.0, 0.2, 0.05, 0.05)
    outside, at = made.outside(size), int(np.searchsorted(LADDER, 1.0))
    cut = ClippingInterval(5.0, -3.0, 3.0)
    few, some, many = (made._clipped(mean, cut, at, beyond, size, outside) for beyond in (-400, 0, 400))
    assert few.estimate.high - few.estimate.low < some.estimate.high - some.estimate.low
    assert (few.tail, some.tail) == (Fraction(3), Fraction(3))
    assert many.refuted
    assert many.tail is None
    assert many.estimate.high - many.estimate.low < some.estimate.high - some.estimate.low
    assert made._clipped(mean, cut, 0, 0, size, outside).refuted  # no radius, no tail beyond it


# --- asked -----------------------------------------------------------------------------------------------------------


def step_of(text: str, column: Column, kind: Kind, n: int = 10_000, epsilon: str = "1"):  # type: ignore[no-untyped-def]
    schema = schema_of(column, Person(kind))
    return schema, prepare(parse(text), Setting(schema, n if kind == "substitute" else None), Fraction(epsilon))


@pytest.mark.wide
def test_bounds_hold_the_ends_in_and_a_cut_at_both_of_them_leaves_nothing_beyond() -> None:
    generator = np.random.default_rng(5)
    for column, low, high in ((real(0, 1000), 0.0, None), (real(-3, 3), -3.0, 3.0)):
        schema, step = step_of("mean(x, method=clipped)", column, "add_remove")
        values = generator.normal(0.5 if high else 2.0, 1.0, 10_000)
        answer = answered(step, Fake(schema, {"x": values}), Replayed("bounds"))
        match = re.fullmatch(r"mean of x cut to \[(\S+), (\S+)\], in the population", answer.estimand)
        assert match is not None
        assert float(match.group(1)) == low
        if high is not None:
            assert float(match.group(2)) == high
            assert not any("beyond" in text for text in answer.caveats)


@pytest.mark.wide
def test_the_plan_says_what_is_estimated_and_what_a_tail_adds() -> None:
    _, plain = step_of("mean(x, method=clipped)", real(), "add_remove")
    assert plain.estimand == "mean of x cut to ends that are released with it, in the population"
    _, tailed = step_of("mean(x, method=clipped, tail=3)", real(), "add_remove")
    assert tailed.estimand == (
        "population mean of x, if its tails fall at least like distance^-3 from the median, beyond a third of the cut"
    )
    assert "more for the declared tail" in tailed.expected(10_000).note
    _, normal = step_of("mean(x, method=clipped, tail=normal)", real(), "add_remove")
    noise = [step.expected(10_000).noise for step in (normal, plain)]
    assert noise[0] < noise[1]  # a normal tail is cut nearer, so there is less noise


@pytest.mark.wide
@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("mean(x, tail=3)", "method=clipped"),
        ("mean(x, method=clipped, tail=1)", "between 1.1 and 100"),
        ("mean(x, method=clipped, tail=cauchy)", "normal"),
    ],
)
def test_a_tail_that_means_nothing_is_refused(text: str, refusal: str) -> None:
    with pytest.raises((PublicParameterError, QuestionError), match=refusal):
        parse(text)


@pytest.mark.wide
def test_too_few_values_have_no_reply() -> None:
    data = counted(CELLS, np.random.default_rng(1).normal(0.0, 1.0, 300))
    assert plan("add_remove", 300, "0.1").draw(data, Replayed("few")) == NO_REPLY
    none = Counts(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert plan("add_remove", 0, "1").draw(none, Replayed("none")) == NO_REPLY
