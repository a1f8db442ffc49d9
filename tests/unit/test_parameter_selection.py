"""A detail chosen privately: one mechanism for all, how far one record moves a score, what decides, and in words."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest

import reticent as rt
from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import NoReply, Reply
from reticent.privacy.adjacency import Adjacency
from reticent.statistics.density import DensityOf
from reticent.statistics.grammar import parse
from reticent.statistics.statistic import ask
from reticent.synthesis import parameter_selection as module
from reticent.synthesis.density import Density
from reticent.synthesis.linear_queries import DensityTerms, Floats, LinearSums
from reticent.synthesis.mixed_columns import mixed
from reticent.synthesis.options import Method, Options, plan_for
from reticent.synthesis.parameter_selection import LADDER, OPTION, Kind, TunedDensity, tuned
from tests.support.densities import density_of

Near = Literal["add_remove", "substitute"]

X = [("x", Fraction(0), Fraction(1), False)]
PLAIN = DensityTerms(Adjacency("add_remove"))
MILLIONTH = Fraction(1, 10**6)
NEAR: tuple[Near, ...] = ("add_remove", "substitute")
KINDS: tuple[Kind, ...] = ("histogram", "series", "kernel", "bernstein")


def terms(near: Near, n: int | None = None) -> DensityTerms:
    return DensityTerms(Adjacency(near), n, 1, near == "substitute" and n is not None)


def columns(count: int) -> list[tuple[str, Fraction, Fraction, bool]]:
    return [(f"x{k}", Fraction(0), Fraction(1), False) for k in range(count)]


def made(kind: Kind, about: DensityTerms = PLAIN, count: int = 1, delta: Fraction = Fraction(0)) -> TunedDensity:
    return tuned(kind, columns(count), about, Fraction(1), delta, "simplex")


def asked(method: Method) -> Options:
    return Options(method, **{OPTION[method]: "auto"})  # type: ignore[arg-type, index]  # the one option it has


# --- privacy ----------------------------------------------------------------------------------------------------------


@pytest.mark.loop(5)
@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("near", ["add_remove", "substitute"])
@pytest.mark.parametrize("delta", [Fraction(0), MILLIONTH])
def test_every_candidate_draws_by_one_mechanism_made_for_the_farthest_of_all(
    kind: Kind, near: Near, delta: Fraction
) -> None:
    """The exact sensitivity of each table is at most the common one, which some table has: nothing less would do."""
    found = made(kind, terms(near, 1_000 if near == "substitute" else None), delta=delta)
    kept = [found.sized(one, 1_000) for one in found.ladder.candidates]
    assert len({one.sums.mechanism for one in kept}) == 1
    assert len({one.guarantee for one in kept}) == len({one.method for one in kept})  # but for the method's name
    own = [LinearSums(one.sums.table, found.terms, Fraction(1), found.delta).moved for one in kept]
    assert max(own) == found.ladder.bound
    assert min(own) >= 0.99 * found.ladder.bound
    loss = found.guarantee.loss
    if delta and kind != "histogram":
        assert isinstance(loss, rt.ApproxDP)
        assert Fraction(99, 100) < loss.epsilon <= 1
        assert loss.delta == delta
    else:
        assert loss == rt.PureDP(Fraction(1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("near", ["add_remove", "substitute"])
@pytest.mark.parametrize("count", [1, 2])
def test_all_neighbours_of_small_tables_move_no_score_further_than_declared_and_some_nearly(
    kind: Kind, near: Near, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every record of a small grid added to, removed from or replaced in several tables, with a penalty and without;
    half of what is declared is refuted."""
    monkeypatch.setitem(LADDER, kind, {1: (2, 4), 2: (2,)})
    whole = [(name, Fraction(0), Fraction(11 if count == 1 else 4), True) for name in "xy"[:count]]
    found = tuned(kind, whole, terms(near, 9 if near == "substitute" else None), Fraction(1), Fraction(0), "simplex")
    cells = int(np.prod([one.cells for one in found.axes]))
    declared, most, generator = found.ladder.moved, 0, np.random.default_rng(5)
    tables = [np.zeros(cells, np.int64), generator.integers(0, 9, cells), 1_000 * np.eye(cells, dtype=np.int64)[0]]
    for one in found.ladder.candidates:
        for table in tables:
            for first in range(cells):
                more = table + np.eye(cells, dtype=np.int64)[first]
                others = range(cells) if near == "substitute" else (None,)
                for other in others:
                    beside = table.copy()
                    if other is not None:
                        beside[other] += 1
                    for penalty in (0.0, 2.5):
                        most = max(most, abs(one.score(more, penalty) - one.score(beside, penalty)))
    assert most <= declared
    assert most > 0.5 * declared


@pytest.mark.wide
def test_the_audit_of_a_plan_passes_and_refutes_noise_made_for_half_the_sensitivity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = rt.study({"k": [1] * 500}, adjacency="substitute", columns={"k": rt.integer(0, 9)}, budget=10)
    for kind in KINDS:
        found, _share = study.audit([f"density(k, method={kind}, {OPTION[kind]}=auto)"], epsilon=8, triples=14).answers
        assert found.ratio == 1
    monkeypatch.setattr(module.PaddedSums, "moved", property(lambda sums: max(sums.bound // 2, 1)))
    for kind in KINDS:
        assert (
            study.audit([f"density(k, method={kind}, {OPTION[kind]}=auto)"], epsilon=8, triples=8).verdict == "refuted"
        )


@pytest.mark.wide
def test_a_person_of_three_rows_pays_for_three_in_every_part() -> None:
    one, three = (made("series", DensityTerms(Adjacency("add_remove", rows), None, rows)) for rows in (1, 3))
    assert one.choice is not None
    assert three.choice is not None
    assert three.choice.sensitivity.bound == 3 * one.choice.sensitivity.bound
    for few, more in zip(one.ladder.candidates, three.ladder.candidates, strict=True):  # of counts
        assert three.deviation**2 * more.energy == pytest.approx(9 * one.deviation**2 * few.energy, rel=1e-3)
    assert three.census is not None
    assert three.census.sensitivity.bound == 3
    assert three.guarantee.loss == rt.PureDP(Fraction(1))


@pytest.mark.wide
def test_the_parts_of_the_charge_are_number_choice_and_release() -> None:
    private, public = made("kernel"), made("kernel", terms("substitute", 1_000))
    assert [part.loss for part in private.guarantee.parts] == [
        rt.PureDP(Fraction(share)) for share in (Fraction(1, 20), Fraction(1, 5), Fraction(3, 4))
    ]
    assert [part.loss for part in public.guarantee.parts] == [rt.PureDP(Fraction(1, 5)), rt.PureDP(Fraction(4, 5))]


# --- what is chosen ---------------------------------------------------------------------------------------------------


def needles(generator: np.random.Generator, n: int) -> Floats:
    values = generator.random(n)
    held = generator.random(n) < 0.7
    values[held] = np.where(generator.random(n) < 0.5, 0.2, 0.65)[held] + generator.normal(0, 0.004, n)[held]
    return values


def density(plan: TunedDensity, values: Floats, name: str) -> Density:
    counts = np.histogram(values, plan.axes[0].cuts)[0]
    outcome = plan.draw([QueryResult(vectors=(tuple(counts.tolist()),))], Replayed(name))
    assert isinstance(outcome, Reply)
    return outcome.value


def detail(kind: Kind, words: str) -> float:
    """A share of the range that the words tell: 1 / cells, 1 / degree, or the bandwidth."""
    number = float(words.split()[0 if kind == "histogram" else 1].strip(",").replace(",", ""))
    return number if kind == "kernel" else 1.0 / number


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(
    ("kind", "near"), [(kind, near) for at, kind in enumerate(KINDS) for near in NEAR[:: -1 if at % 2 else 1]]
)
def test_needles_are_given_fine_detail_and_an_even_shape_coarse_detail(kind: Kind, near: Near) -> None:
    """10,000 rows: needles of 1/250 of the range take one of the finest three of every ladder, six times of six; an
    even shape does so by the noise of the choice alone, with a chance of at most .12: more than three have 3e-3."""
    plan = made(kind, terms(near, 10_000 if near == "substitute" else None))
    finest, blind = [one.detail for one in plan.ladder.candidates][-3:], 0
    for run in range(6):
        generator = np.random.default_rng(run)
        fine = density(plan, needles(generator, 10_000), f"needles {kind} {near} {run}").words[0]
        even = density(plan, generator.random(10_000), f"even {kind} {near} {run}").words[0]
        assert detail(kind, fine) < 1.05 / finest[0]
        blind += detail(kind, even) < 1.05 / finest[0]
    assert blind <= 3


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("kind", KINDS)
def test_the_nearer_to_the_rule_the_less_a_candidate_is_set_back(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a prior of 1,000 nats a step, the rule's; the rule itself is finer for more records, and never hopeless."""
    plan = made(kind, terms("substitute", 1_000))
    ruled = [plan.ruled(plan.worth(n), n).detail for n in (50, 1_000, 30_000, 10**6)]
    assert ruled == sorted(ruled)
    assert ruled[0] < ruled[-1]
    monkeypatch.setattr(module, "PRIOR", Fraction(1_000))
    said = density(plan, needles(np.random.default_rng(1), 1_000), "prior").words[0]
    assert "as its public rule would have it" in said


@pytest.mark.loop(5)
@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_choice_of_each_number_of_columns_comes_near_the_records(kind: Kind, count: int) -> None:
    """20,000 rows of one column each Beta(2, 4): means within .08 of 1/3, and the plan says what to expect."""
    plan = plan_for(asked(kind), columns(count), PLAIN, Fraction(1), Fraction(0))
    assert isinstance(plan, TunedDensity)
    cells = plan.axes[0].cells
    cell = np.floor(np.random.default_rng(7).beta(2, 4, (20_000, count)) * cells).astype(np.int64)
    place = np.ravel_multi_index(tuple(cell.T), [cells] * count)
    counts = np.bincount(place, minlength=cells**count).astype(np.int64)
    if count == 1:
        held = QueryResult(vectors=(tuple(counts.tolist()),))
    else:
        steps = round(1 / (cells * float(plan.queries[0].units[0])))  # type: ignore[union-attr]  # Records
        held = QueryResult(records=cell * steps + steps // 2)
    outcome = plan.draw([held], Replayed(f"{kind} {count}"))
    assert isinstance(outcome, Reply)
    np.testing.assert_allclose(outcome.value.mean(), 1 / 3, atol=0.08)
    told = plan.expected(20_000)
    assert 0.0 < told.noise < 1.0
    assert "chosen privately, for ε 0.2, among" in told.note


def test_an_empty_table_gives_no_reply() -> None:
    plan = made("series")
    empty = QueryResult(vectors=((0,) * plan.axes[0].cells,))
    said = [isinstance(plan.draw([empty], Replayed(f"empty {run}")), NoReply) for run in range(20)]
    assert said.count(True) >= 15  # two deviations of a Laplace number: a chance of 3 % each


@pytest.mark.wide
@pytest.mark.parametrize("values", [2, 5, 81, 1024])
def test_few_whole_numbers_have_at_most_a_cell_each(values: int) -> None:
    plan = tuned("histogram", [("x", Fraction(0), Fraction(values - 1), True)], PLAIN, Fraction(1), Fraction(0), "clip")
    found = [one.detail for one in plan.ladder.candidates]
    assert found == sorted({*(one for one in LADDER["histogram"][1] if one < values), values})
    if values == 2:
        assert plan.choice is None
        assert plan.left == Fraction(19, 20)
        assert plan.guarantee.loss == rt.PureDP(Fraction(1))


# --- bands ------------------------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("near", ["add_remove", "substitute"])
def test_intervals_of_a_chosen_histogram_hold_and_are_not_wide(near: Near) -> None:
    """P(.25 <= x <= .5) of 60 tables of 2,000 Beta(2, 3): held in 52 or more (6e-4 for 95 %); at a third of the
    half-width it would be held in fewer than 45."""
    plan = made("histogram", terms(near, 2_000 if near == "substitute" else None))
    truth, held, third = 0.6875 - 0.26171875, 0, 0
    for run in range(60):
        values = np.random.default_rng(run).beta(2, 3, 2_000)
        found = density(plan, values, f"interval {near} {run}").probability(0.25, 0.5)
        held += found.low <= truth <= found.high
        third += abs(found.value - truth) <= (found.high - found.low) / 6
    assert held >= 52
    assert third < 45


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        rt.density("x", method="histogram", detail=rt.Detail(cells="auto")),
        rt.density("x", method="series", atoms=[0, "missing"], detail=rt.Detail(degree="auto")),
        rt.density(["x", "y"], method="kernel", detail=rt.Detail(bandwidth="auto", settle="clip")),
        rt.density("x", method="bernstein", detail=rt.Detail(degree="auto")),
    ],
)
def test_the_name_of_a_private_detail_reads_back_as_the_same_question(question: DensityOf) -> None:
    assert "=auto" in question.name
    assert parse(question.name) == ask(question)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            lambda: Options("sparse", cells="auto"),
            "cells=auto of method=sparse: .* cells of histogram, degree of series",
        ),
        (lambda: Options("series", cells="auto"), "cells=auto of method=series"),
        (lambda: Options("bernstein", bandwidth="auto"), "bandwidth=auto of method=bernstein"),
        (lambda: Options("bernstein", degree="auto", bandwidth="auto"), "degree=auto and bandwidth=auto"),
        (lambda: Options("series", degree="auto", cells=64), "degree=auto sets cells as well: leave it out"),
        (lambda: Options("bernstein", degree="auto", bandwidth=Fraction(1, 9)), "sets bandwidth as well"),
        (lambda: Options("auto", cells="auto"), "cells has no use in method=auto"),
        (lambda: parse("density(x, method=series, degree=best)"), "no value of degree 'best'"),
        (lambda: rt.density("x", method="kernel", detail=rt.Detail(bandwidth="wide")), "bandwidth"),
        (lambda: parse("density(x, method=histogram, cells=atuo)"), "Did you mean auto"),
        (
            lambda: plan_for(asked("histogram"), columns(4), PLAIN, Fraction(1), Fraction(0)),
            "for 1 to 3 columns, got 4",
        ),
        (
            lambda: tuned("series", [("x", Fraction(3), Fraction(3), True)], PLAIN, Fraction(1), Fraction(0), "clip"),
            "room",
        ),
    ],
)
def test_what_cannot_be_chosen_is_refused_in_words(options: Callable[[], object], said: str) -> None:
    with pytest.raises((PublicParameterError, QuestionError), match=said):
        options()


def test_a_word_that_is_no_detail_is_refused_where_it_is_written() -> None:
    with pytest.raises(PublicParameterError, match=r"degree must be a whole number >= 1, or .auto., got 'best'"):
        rt.density("x", method="series", detail=rt.Detail(degree="best"))  # type: ignore[arg-type]  # refused here


@pytest.mark.wide
@pytest.mark.loop(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("near", ["add_remove", "substitute"])
def test_atoms_and_missing_values_stand_beside_a_private_choice(kind: Kind, near: Near) -> None:
    whole = mixed(asked(kind), X, terms(near), Fraction(1), Fraction(0), atoms=[Fraction(0)], missing=True)
    assert isinstance(whole.plan, TunedDensity)
    assert whole.guarantee.loss == rt.PureDP(Fraction(1))
    assert whole.epsilon == (1 if near == "add_remove" else Fraction(1, 2))


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("near", ["add_remove", "substitute"])
def test_a_study_plans_charges_and_tells_the_choice(near: Near) -> None:
    generator = np.random.default_rng(2)
    cost = np.where(generator.random(6_000) < 0.25, 0.0, generator.gamma(2.0, 60.0, 6_000))
    study = rt.study(
        {"cost": cost, "age": generator.integers(18, 90, 6_000)},
        adjacency=near,
        columns={"cost": rt.real(0, 600, complete=True), "age": rt.integer(0, 99, complete=True)},
        budget=4,
    )
    text = "density(cost, method=kernel, bandwidth=auto)"
    assert "chosen privately, for ε 0.2, among 10 from 0.25 to 0.0104" in str(study.plan([text], epsilon=1))
    found = study.release(
        [rt.density("cost", method="histogram", atoms=[0], detail=rt.Detail(cells="auto"))], epsilon=1
    )
    assert density_of(found).atoms[0][1] == pytest.approx(0.25, abs=0.03)
    each = "0.2" if near == "add_remove" else "0.1"  # beside atoms a replaced record is two rows
    assert f"cells, chosen privately, for ε {each} a row" in "".join(found.answers[0].caveats)
    proof = found.proof()
    assert "histogram with cells chosen privately" in proof
    assert "permute_and_flip" in proof
    smooth = density_of(
        study.release([rt.density("age", method="bernstein", detail=rt.Detail(degree="auto"))], epsilon=1)
    )
    assert smooth.sample(100).shape[0] == 100
    assert study.release([text.replace("cost", "age")], epsilon=1).guarantee.loss == rt.PureDP(Fraction(1))
