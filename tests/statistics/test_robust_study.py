"""S, M, TM and the stable bin as a person meets them: what they cost, what they cover, when they decline or refuse.

Replayed entropy and fixed tables: a red test means a change. Coverage is of the population's number; a count of
misses is refused where its probability would be below ERROR at the edge of what is stated.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
import scipy

import reticent as rt
from reticent.data.order_statistics import FetchedColumn, fetched
from reticent.data.query import OrderedValues
from reticent.data.schema import Person, category, integer, real
from reticent.entropy import Replayed
from reticent.errors import QuestionError, Refusal
from reticent.outcome import Estimate, NoReply, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import ApproxDP, ApproxZCDP, PureDP
from reticent.statistics.context import Setting, Step
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.robust.plans import CountedPlan, FixedSizePlan
from reticent.study.formulas import keys_of
from tests.support.stat_fake import Fake, answered, schema_of

ERROR = 1e-3
DELTA = Fraction(1, 10**6)
QUESTIONS = ["scale(x)", "scale(x, method=stable)", "scale(x, 0.1 0.9)", "iqr(x, method=S)", "median(x, method=M)"]
QUESTIONS += ["median(x, method=M, width=0.2)", "quantile(x, 0.3, method=M)", "trimmed_mean(x, method=TM)"]


def made(question: str, kind: Kind, n: int | None, epsilon: str = "1", *, person: Person | None = None) -> Step:
    schema = schema_of(real(missing=0 if kind == "substitute" else "drop"), person or Person(kind))
    return prepare(parse(question), Setting(schema, n, None, DELTA), Fraction(epsilon))


def epsilon_delta(loss: object) -> ApproxDP:
    assert isinstance(loss, ApproxDP)
    return loss


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_derived_is_within_what_was_asked(question: str, kind: Kind) -> None:
    for person in (Person(kind), Person(kind, "who", rows=3)):
        loss = epsilon_delta(made(question, kind, 20_000, person=person).guarantee.loss)
        assert Fraction(9, 10) < loss.epsilon <= 1
        assert DELTA / 3 < loss.delta <= DELTA


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_by_group_what_is_derived_is_within_what_was_asked(question: str, kind: Kind) -> None:
    for person in (Person(kind), Person(kind, "who", rows=2)):
        schema = schema_of(real(), person, groups=category([0, 1, 2]))
        setting = Setting(schema, None, keys_of(schema, "g"), DELTA)
        loss = epsilon_delta(prepare(parse(question), setting, Fraction(2)).guarantee.loss)
        assert loss.epsilon <= 2
        assert 0 < loss.delta <= DELTA
        assert loss.epsilon > Fraction(9, 5)


def test_mode_paper_costs_what_its_thresholds_cost() -> None:
    for question, tests in (("scale(x, mode=paper)", 2), ("median(x, method=M, mode=paper)", 4)):
        loss = epsilon_delta(made(question, "substitute", 20_000, "2").guarantee.loss)
        assert loss.epsilon == 2
        assert 0 < loss.delta < DELTA
        with pytest.raises(Refusal, match="the threshold printed for"):
            made(question, "substitute", 2_000, f"{tests / 10}")  # delta of ln^2 n + 1 at so small an epsilon


@dataclass(frozen=True)
class Case:
    """``most``: the greatest coverage that is believed."""

    question: str
    kind: Kind
    size: int
    epsilon: str
    truth: float
    most: float = 0.985
    runs: int = 700


Q = NormalDist().inv_cdf(0.75)
CASES = [
    Case("scale(x)", "substitute", 4_000, "2", 2 * Q),
    Case("median(x, method=M)", "substitute", 4_000, "2", 100.0, runs=1_200),
    Case("trimmed_mean(x, method=TM)", "add_remove", 4_000, "1", 100.0),
    Case("median(x, method=M)", "add_remove", 4_000, "2", 100.0, runs=1_200),
]


def stretches(case: Case) -> list[float]:
    """For every reply, the factor by which its interval must be stretched about its value to reach the truth."""
    schema = schema_of(real(missing=0 if case.kind == "substitute" else "drop"), Person(case.kind))
    step = made(case.question, case.kind, case.size if case.kind == "substitute" else None, case.epsilon)
    generator, found = np.random.default_rng(2027), []
    for run in range(case.runs):
        rows = Fake(schema, {"x": generator.normal(100.0, 1.0, case.size)})
        outcome = answered(step, rows, Replayed(f"{case} {run}")).outcome
        if isinstance(outcome, Reply):
            found.append(stretch(outcome.value, case.truth))
    return found


def stretch(estimate: Estimate, truth: float) -> float:
    side = estimate.high - estimate.value if truth > estimate.value else estimate.value - estimate.low
    return abs(truth - estimate.value) / side


def believed(found: list[float], factor: float, most: float) -> bool:
    """Whether intervals stretched by ``factor`` cover with at least .93 and at most ``most``, but for ERROR."""
    hits, runs = sum(ratio <= factor for ratio in found), len(found)
    enough = scipy.stats.binom.cdf(hits, runs, 0.93) > ERROR
    return bool(enough and scipy.stats.binom.sf(hits - 1, runs, most) > ERROR)


@pytest.mark.loop(1)
@pytest.mark.wide
@pytest.mark.parametrize("case", CASES, ids=str)
def test_intervals_cover_and_others_would_not(case: Case) -> None:
    found = stretches(case)
    assert len(found) >= 0.99 * case.runs
    assert believed(found, 1.0, case.most)
    assert not believed(found, 0.5, case.most)
    assert not believed(found, 2.0, case.most)


@pytest.mark.wide
def test_the_stable_bin_holds_the_width_of_the_table() -> None:
    step, schema = (
        made("scale(x, method=stable)", "substitute", 4_000, "2"),
        schema_of(real(missing=0), Person("substitute")),
    )
    generator, below = np.random.default_rng(5), 0
    for run in range(60):
        values = generator.lognormal(0.0, 1.0, 4_000)
        outcome = answered(step, Fake(schema, {"x": values}), Replayed(f"bin {run}")).outcome
        assert isinstance(outcome, Reply)
        found, ends = np.quantile(values, 0.75) - np.quantile(values, 0.25), outcome.value
        sampling = ends.sampling / ends.value
        assert ends.low / (1 - sampling) * 0.99 <= found <= ends.high / (1 + sampling) * 1.01
        below += int(found > ends.high / (1 + sampling) / 2)
    assert below > 10  # half the upper end would not hold it


@pytest.mark.parametrize(
    "question", ["scale(x, unit=1e-7)", "median(x, method=M, unit=1e-7)", "quantile(x, 0.9, method=M, unit=1e-7)"]
)
def test_windows_of_public_ranks_give_the_answer_of_the_whole_column(question: str) -> None:
    step = made(question, "substitute", 3_000, "1")
    (query,) = step.queries
    assert isinstance(query, OrderedValues)
    assert query.needs is not None
    assert sum(last - first + 1 for first, last in query.needs.windows) < 1_500
    schema = schema_of(real(missing=0), Person("substitute"))
    for run in range(20):
        values = np.random.default_rng(run).standard_cauchy(3_000).round(run % 4)
        rows = Fake(schema, {"x": values})
        (part,) = rows.run(query).orders
        (whole,) = rows.run(OrderedValues("x", query.unit)).orders
        assert isinstance(part, FetchedColumn)
        assert np.array_equal(part.windows[0], fetched(whole, query.needs).windows[0])
        drawn = [step.plan.draw(data, Replayed(f"{run}")) for data in (part, whole)]  # type: ignore[attr-defined]
        assert drawn[0] == drawn[1]


def test_n_is_public_where_every_row_has_a_value_and_bought_elsewhere() -> None:
    assert isinstance(made("scale(x, unit=1e-7)", "substitute", 9_000).plan, FixedSizePlan)  # type: ignore[attr-defined]
    assert isinstance(made("scale(x, unit=1e-7)", "add_remove", None).plan, CountedPlan)  # type: ignore[attr-defined]
    assert made("scale(x)", "substitute", 9_000).plan.n == 9_000  # type: ignore[attr-defined]
    assert made("scale(x)", "add_remove", None).plan.n is None  # type: ignore[attr-defined]
    dropping = schema_of(real(), Person("substitute"))
    assert isinstance(
        prepare(parse("scale(x, unit=1e-7)"), Setting(dropping, 9_000, None, DELTA), Fraction(1)).plan,  # type: ignore[attr-defined]
        CountedPlan,
    )


def test_a_bought_number_that_is_too_small_is_no_reply() -> None:
    for question in QUESTIONS:
        step = made(question, "add_remove", None, "0.5")
        rows = Fake(schema_of(real(), Person("add_remove")), {"x": np.arange(12.0)})
        assert isinstance(answered(step, rows, Replayed(question)).outcome, NoReply)


@pytest.mark.parametrize(
    ("question", "kind", "n", "says"),
    [
        ("scale(x)", "substitute", 40, "cannot reply"),
        ("median(x, method=M)", "add_remove", 40, "cannot reply"),
        ("scale(x)", "substitute", 900, "would be a guess"),
        ("median(x, method=M, mode=paper)", "add_remove", None, "mode paper has thresholds made from a public number"),
        ("quantiles(x, 0.1 0.9, method=M)", "substitute", 9_000, "method M answers one level at a time"),
        ("quantiles(x, 0.1 0.9, method=smooth)", "substitute", 9_000, "method smooth answers one level at a time"),
        ("median(x, method=M, interval=no)", "substitute", 9_000, "interval=no would change nothing"),
        ("median(x, method=M, low=0, high=9)", "substitute", 9_000, "low and high would change nothing"),
        ("iqr(x, method=S, low=0, high=9)", "substitute", 9_000, "S takes no bounds"),
        ("median(x, method=M, unit=1e200)", "substitute", 9_000, "between 1e-60 and 1e60"),
        ("scale(x, unit=1e-200)", "add_remove", None, "between 1e-60 and 1e60"),
        ("median(x, method=M, unit=1e-3, width=1e20)", "add_remove", None, "Name a coarser unit"),
        ("median(x, method=smooth, low=-1e30, high=1e30)", "add_remove", None, "Name a coarser unit"),
    ],
)
def test_what_public_numbers_rule_out_is_refused(question: str, kind: Kind, n: int | None, says: str) -> None:
    with pytest.raises(QuestionError, match=says):
        made(question, kind, n, "0.5")


def test_an_empty_a_constant_and_an_endless_column() -> None:
    schema = schema_of(real(missing=0), Person("substitute"))
    for value, replies in ((3.0, True), (np.inf, False), (-np.inf, False)):
        rows = Fake(schema, {"x": np.full(9_000, value)})
        outcome = answered(made("scale(x)", "substitute", 9_000, "2"), rows, Replayed("constant")).outcome
        assert isinstance(outcome, Reply) == replies
        if isinstance(outcome, Reply):
            assert outcome.value.value == 0.0
            assert outcome.value.high <= 1e-7
    nothing = Fake(schema_of(real(), Person("add_remove")), {"x": np.zeros(0)})
    assert isinstance(answered(made("scale(x)", "add_remove", None), nothing, Replayed("none")).outcome, NoReply)


def test_whole_numbers_are_read_as_they_are() -> None:
    schema = schema_of(integer(missing=0), Person("substitute"))
    setting = Setting(schema, 9_000, None, DELTA)
    rows = Fake(schema, {"x": np.random.default_rng(1).integers(0, 101, 9_000).astype(float)})
    step = prepare(parse("median(x, method=M)"), setting, Fraction(4))
    (query,) = step.queries
    assert isinstance(query, OrderedValues)
    assert query.unit == 1
    outcome = answered(step, rows, Replayed("whole")).outcome
    assert isinstance(outcome, Reply)
    assert outcome.value.value == round(outcome.value.value)
    assert abs(outcome.value.value - 50) < 10


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("question", ["median(x, method=smooth)", "trimmed_mean(x, method=smooth)"])
def test_smooth_sensitivity_costs_no_delta_needs_bounds_and_tells_no_accuracy(question: str, kind: Kind) -> None:
    missing = {} if kind == "add_remove" else {"missing": 0}
    schema = schema_of(real(0, 200, **missing), Person(kind))  # type: ignore[arg-type]  # one of the two options
    step = prepare(parse(question), Setting(schema, 4_000), Fraction(1))
    assert step.guarantee.loss == PureDP(Fraction(1))
    rows = Fake(schema, {"x": np.random.default_rng(4).normal(100, 1, 4_000)})
    found = [answered(step, rows, Replayed(f"smooth {run}")).estimate for run in range(40)]
    assert {(one.low, one.high) for one in found} == {(0.0, 200.0)}
    assert 0.0005 < np.median([abs(one.value - 100) for one in found]) < 0.2
    with pytest.raises(QuestionError, match="needs a range"):
        prepare(parse(question), Setting(schema_of(real(), Person(kind)), 4_000), Fraction(1))


def test_smooth_sensitivity_reads_values_on_the_unit_asked_for_and_stays_within_the_bounds() -> None:
    schema = schema_of(real(), Person("add_remove"))
    rows = Fake(schema, {"x": np.full(4_000, 3.0)})
    for text, low, high in (("median", -0.5, 0.5), ("trimmed_mean", -0.5, 0.5)):
        bounds = "low=-0.5, high=0.5, " if text == "median" else ""
        declared = schema if bounds else schema_of(real("-0.5", "0.5"), Person("add_remove"))
        asked = parse(f"{text}(x, method=smooth, {bounds}unit=0.25)")
        step = prepare(asked, Setting(declared, None), Fraction(2))
        found = [answered(step, rows, Replayed(f"{text} {run}")).estimate for run in range(20)]
        assert all((one.low, one.high) == (low, high) and low <= one.value <= high for one in found)
        assert max(one.value for one in found) == high  # beyond it by half a step before
    with pytest.raises(QuestionError, match=r"^mode would change nothing in median"):
        prepare(parse("median(x, method=smooth, low=0, high=9, mode=paper)"), Setting(schema, None), Fraction(2))


def test_a_plan_says_what_it_takes_for_granted_where_persons_may_have_several_rows() -> None:
    few, many = (made("scale(x)", "add_remove", None, "4", person=Person("add_remove", "who", rows=9)) for _ in "ab")
    short, long = few.expected(3), many.expected(120)
    assert (short.noise, short.note) == (None, "no reply: too few people for this ε and δ")
    assert long.noise is not None
    assert long.apart == ("one row each", "4.5 rows each", "9 rows each")
    assert {name for name, *_ in long.others} & {*long.apart} == {*long.apart[1:]}  # no reply of one row each
    assert "if each" not in made("scale(x)", "add_remove", None, "4").expected(600).note


@pytest.mark.wide
def test_a_release_names_its_method_charges_its_delta_and_verifies() -> None:
    rows = {"x": np.random.default_rng(3).normal(100, 1, 6_000)}
    study = rt.study(rows, adjacency="add_remove", columns={"x": rt.real()}, budget=4, delta="1e-5")
    with pytest.raises(QuestionError, match="needs a δ"):
        study.plan(["scale(x)"], epsilon=1)
    for text in ("scale(x)", "median(x, method=M)"):
        asked = f"{text[:-1]}, delta=1e-7)"
        line, *_ = study.plan([asked], want={text: 2}, people=6_000).lines  # the share of odd cells stands behind
        assert line.expected.noise is not None
        assert line.expected.noise <= 2
    plan = study.plan(["scale(x)", "median(x)"], epsilon=2, delta="1e-6", people=6_000)
    assert dict(plan.lines[0].expected.replies)["normal"] > 0.99
    assert set(dict(plan.lines[1].expected.replies)) == {"usual", "heaped"}
    release = study.release([rt.scale("x"), rt.median("x", method="M").at(delta="5e-7")], epsilon=2, delta="1e-6")
    loss = epsilon_delta(release.guarantee.loss)
    assert loss.epsilon == 2
    assert 0 < loss.delta <= Fraction(1, 10**6)
    assert any("S, by propose-test-release" in text for text in release["scale(x)"].caveats)
    certificate = rt.read_certificate(release.certificate.to_json())
    assert certificate.guarantee == release.guarantee


@pytest.mark.wide
def test_a_width_is_planned_with_the_delta_of_the_release() -> None:
    rows = {"x": np.random.default_rng(3).normal(100, 1, 10_000)}
    study = rt.study(rows, adjacency="substitute", columns={"x": rt.real(missing=0)}, budget=4, delta="1e-5")
    name = "trimmed_mean(x, method=TM)"
    plan = study.plan(want={name: 0.05}, delta="1e-6", people=10_000)
    assert 0.04 < (plan.lines[0].expected.noise or 0) <= 0.05
    with pytest.raises(QuestionError, match="needs a δ"):
        study.plan(want={name: 0.05}, people=10_000)


def test_a_budget_in_rho_with_a_delta_takes_a_question_with_a_delta() -> None:
    budget = ApproxZCDP(Fraction(1), Fraction(1, 10**6))
    rows = {"x": np.random.default_rng(3).normal(100, 1, 10_000)}
    study = rt.study(rows, adjacency="substitute", columns={"x": rt.real(missing=0)}, budget=budget)
    release = study.release(["scale(x, delta=1e-8)"], rho="0.2")
    assert isinstance(release.guarantee.loss, ApproxZCDP)
    assert release.guarantee.loss.rho <= Fraction(1, 5)


def test_nobody_can_be_exposed_in_an_empty_table() -> None:
    study = rt.study(
        {"x": np.zeros(0)}, adjacency="substitute", columns={"x": rt.real(missing=0)}, budget=4, delta="1e-5"
    )
    with pytest.raises(QuestionError, match="has no people, which is public"):
        study.release(["scale(x)"], epsilon=1, delta="1e-6")


# --- declared bounds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize(
    ("question", "truth"),
    [
        ("quantile(x, 0.9, method=M)", 10.0),
        ("scale(x, 0.1 0.9)", 8.75),
        ("scale(x, 0.1 0.9, method=stable)", 8.75),
        ("trimmed_mean(x, 0.1, method=TM)", (5.625 * 0.7 + 10.0 * 0.1) / 0.8),
    ],
)
def test_values_are_moved_to_declared_bounds_before_anything_is_made_of_them(
    question: str, truth: float, kind: Kind
) -> None:
    """A fifth lie far beyond; the answer is that of the moved values, by ten of its half-widths, and within bounds."""
    generator = np.random.default_rng(6)
    column = np.where(np.arange(20_000) % 5 == 0, 1_000.0, generator.uniform(0.0, 10.0, 20_000))
    study = rt.study(
        {"x": column}, adjacency=kind, columns={"x": rt.real(0, 10, complete=True)}, budget=9, delta="1e-5"
    )
    answer = study.release([question], epsilon=4, delta="1e-6")[question.replace("0.1, method=TM", "method=TM")]
    assert isinstance(answer.outcome, Reply)
    assert isinstance(answer.outcome.value, Estimate)
    found = answer.outcome.value
    assert found.high <= 10.0
    assert abs(found.value - truth) < 10 * (found.high - found.low) / 2
    assert "values cut to [0, 10]" in answer.estimand
    assert any("values of x outside [0, 10] count as the nearer bound" in text for text in answer.caveats)
