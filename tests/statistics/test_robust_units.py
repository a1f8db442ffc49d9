"""S, M, TM and the stable bin of columns without bounds: the unit follows a magnitude that is bought, and says so.

Replayed entropy and fixed tables: a red test means a change. Coverage is judged as in ``test_coverage``: a count fails
where it would have probability below ERROR (1e-2) at coverage .93.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

import reticent as rt
from reticent.data.schema import Column, Person, category, integer, real
from reticent.entropy import Entropy, Replayed
from reticent.errors import QuestionError
from reticent.mechanisms import gate
from reticent.outcome import NoReply, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import ApproxDP
from reticent.statistics.answer import Answer
from reticent.statistics.column_step import PlannedStep
from reticent.statistics.context import Setting, Step
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.quantile_draws import MAGNITUDE_SHARE
from reticent.statistics.quantiles.quantile_step import QuantileStep
from reticent.statistics.robust import plans
from reticent.statistics.robust.answers import StepUnit
from reticent.statistics.robust.plans import CENSUS, CountedPlan, FixedSizePlan, MagnitudePlan
from reticent.study.formulas import keys_of
from tests.statistics.test_coverage import too_low
from tests.support.stat_fake import Fake, answered, schema_of

DELTA = Fraction(1, 10**6)
KINDS: tuple[Kind, ...] = ("add_remove", "substitute")
SIZES = (1e-90, 1e-9, 1.0, 1e12, 1e90)
IQR = math.sqrt(8 / 3)  # of Student's t with two degrees of freedom
TRUTHS = {
    "scale(x)": IQR,
    "scale(x, method=stable)": IQR,
    "median(x, method=M)": 5.0,
    "trimmed_mean(x, method=TM)": 5.0,
}


def t2() -> Any:
    """Student's t with two degrees of freedom about 5."""
    return scipy.stats.t(2, 5.0)


def column_of(kind: Kind) -> Column:
    return real(missing=0 if kind == "substitute" else "drop")


def made(question: str, kind: Kind, n: int, epsilon: str, column: Column | None = None) -> Step:
    schema = schema_of(column or column_of(kind), Person(kind))
    public = n if kind == "substitute" else None
    return prepare(parse(question), Setting(schema, public, None, DELTA), Fraction(epsilon))


def asked(question: str, kind: Kind, values: NDArray[np.float64], entropy: Entropy, epsilon: str = "2") -> Answer:
    step = made(question, kind, len(values), epsilon)
    return answered(step, Fake(schema_of(column_of(kind), Person(kind)), {"x": values}), entropy)


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("question", TRUTHS)
def test_a_column_of_any_size_has_replies_that_cover(question: str, kind: Kind) -> None:
    """Student's law of two degrees of freedom about 5, at sizes that are 180 powers of ten apart."""
    generator, found, runs = np.random.default_rng(3), [], 16
    for size in SIZES:
        for run in range(runs):
            values = size * t2().rvs(2_000, random_state=generator)
            outcome = asked(question, kind, values, Replayed(f"{question} {kind} {size} {run}")).outcome
            if isinstance(outcome, Reply):
                found.append((outcome.value, TRUTHS[question] * size, size))
    assert len(found) >= 0.98 * runs * len(SIZES)
    assert not too_low(sum(e.low <= truth <= e.high for e, truth, _ in found), len(found))
    assert all((e.high - e.low) / size < 6.0 for e, _, size in found)
    if question != "scale(x, method=stable)":  # whose bin is twice as wide as its lower end whatever the size
        near = sum(abs(truth - e.value) <= (e.high - e.low) / 6.0 for e, truth, _ in found)
        assert too_low(near, len(found))


@pytest.mark.parametrize("size", [1e-9, 1e12])
def test_a_fixed_unit_would_tell_nothing_there(monkeypatch: pytest.MonkeyPatch, size: float) -> None:
    """The unit as it was, 2^-24: too far out there is no reply, and too near in all values are one."""
    monkeypatch.setattr(plans, "unit_of", lambda cells, binade: StepUnit(plans.DEFAULT_UNIT, False))
    values = size * t2().rvs(2_000, random_state=1)
    for question in TRUTHS:
        outcome = asked(question, "add_remove", values, Replayed(question)).outcome
        assert isinstance(outcome, NoReply) or (outcome.value.high - outcome.value.low) / size > 10.0


# --- what it costs ----------------------------------------------------------------------------------------------------


def parts_of(step: Step) -> list[Fraction]:
    """Epsilon of the steps in sequence."""
    losses = [part.loss for part in step.guarantee.parts]
    return [Fraction(loss.epsilon) for loss in losses]  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("question", TRUTHS)
def test_the_magnitude_is_a_step_in_the_sequence(question: str, kind: Kind) -> None:
    """A tenth, and a twentieth for a private number of values; in all what was asked, and the delta of the tests."""
    step = made(question, kind, 20_000, "1")
    assert isinstance(step, PlannedStep)
    assert isinstance(step.plan, MagnitudePlan)
    first = [MAGNITUDE_SHARE] if kind == "substitute" else [CENSUS, MAGNITUDE_SHARE]
    assert parts_of(step) == [*first, 1 - sum(first)]
    loss = step.guarantee.loss
    assert isinstance(loss, ApproxDP)
    assert loss.epsilon == 1
    assert DELTA / 3 < loss.delta <= DELTA
    usual = made("median(x)", kind, 20_000, "1")
    assert isinstance(usual, QuantileStep)
    # the mechanism that quantiles have, and its proof; a single one pays more for it
    priced = replace(usual.draws.pricing, plain=replace(usual.draws.pricing.plain, magnitude=MAGNITUDE_SHARE))
    assert step.plan.magnitude == replace(usual.draws, pricing=priced).of_magnitude()[0]


def spent(question: str, kind: Kind) -> tuple[Fraction, Fraction]:
    """Epsilon of all draws of one answer, and what its guarantee says."""
    total, real_draw, real_choose, real_passes = Fraction(0), gate.draw, gate.choose, gate.passes

    def counted(real: object) -> object:
        def drawn(mechanism: object, *rest: object) -> object:
            nonlocal total
            total += mechanism.epsilon  # type: ignore[attr-defined]
            return real(mechanism, *rest)  # type: ignore[operator]

        return drawn

    with pytest.MonkeyPatch.context() as patch:
        for name, real in (("draw", real_draw), ("choose", real_choose), ("passes", real_passes)):
            patch.setattr(gate, name, counted(real))
        step = made(question, kind, 4_000, "2")
        values = 1e12 * t2().rvs(4_000, random_state=2)
        answer = answered(step, Fake(schema_of(column_of(kind), Person(kind)), {"x": values}), Replayed("spent"))
    assert isinstance(answer.outcome, Reply)
    return total, step.guarantee.loss.epsilon  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_costs_what_the_guarantee_says(monkeypatch: pytest.MonkeyPatch, kind: Kind) -> None:
    for question in TRUTHS:
        drawn, claimed = spent(question, kind)
        assert drawn == claimed
    dearer = plans.magnitude
    monkeypatch.setattr(
        "reticent.statistics.robust.robust_step.magnitude", lambda near, epsilon: dearer(near, 2 * epsilon)
    )
    assert spent("scale(x)", kind)[1] > 2  # a dearer magnitude shows in the guarantee


@pytest.mark.parametrize("kind", KINDS)
def test_by_group_each_has_its_own_magnitude(kind: Kind) -> None:
    schema = schema_of(real(), Person(kind), groups=category([0, 1]))
    step = prepare(parse("scale(x)"), Setting(schema, None, keys_of(schema, "g"), DELTA), Fraction(8))
    assert step.guarantee.loss.epsilon <= 8  # type: ignore[union-attr]
    groups = np.repeat([0.0, 1.0], 4_000)
    values = t2().rvs(8_000, random_state=3) * np.where(groups == 0, 1e-9, 1e12)
    answer = answered(step, Fake(schema, {"x": values, "g": groups}), Replayed(f"groups {kind}"))
    found = [cell.outcome.value.value for cell in answer.cells if isinstance(cell.outcome, Reply)]
    assert np.allclose(np.array(found) / [1e-9, 1e12], TRUTHS["scale(x)"], rtol=0.5)


def test_a_public_unit_buys_no_magnitude() -> None:
    for question, column in (
        ("scale(x, unit=0.001)", real(missing=0)),
        ("scale(x, mode=paper)", real(missing=0)),
        ("scale(x)", real(missing=0, resolution="0.01")),
        ("scale(x)", real(-10, 10, missing=0)),
        ("scale(x)", integer(missing=0)),
        ("median(x, method=M, width=2)", real(missing=0)),
    ):
        step = made(question, "substitute", 20_000, "2", column)
        assert isinstance(step, PlannedStep)
        assert isinstance(step.plan, FixedSizePlan), question
    bought = made("scale(x, unit=0.001)", "add_remove", 20_000, "2")
    assert isinstance(bought, PlannedStep)
    assert isinstance(bought.plan, CountedPlan)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_a_width_that_is_named_is_a_size_too(size: float) -> None:
    values = size * t2().rvs(4_000, random_state=4)
    question = f"median(x, method=M, width={0.5 * size!r})"
    found = [asked(question, "add_remove", values, Replayed(f"{size} {run}")).outcome for run in range(20)]
    inside = [o.value.low <= 5.0 * size <= o.value.high for o in found if isinstance(o, Reply)]
    assert len(inside) == 20
    assert sum(inside) >= 17  # of 20 at .95 this or fewer has probability .07, and 16 has .016


# --- what is said -----------------------------------------------------------------------------------------------------


def test_plan_and_answer_state_the_reach() -> None:
    study = rt.study(
        {"x": 1e12 * t2().rvs(6_000, random_state=5)},
        adjacency="add_remove",
        columns={"x": rt.real()},
        budget=9,
        delta="1e-5",
    )
    plan = study.plan(["scale(x)"], epsilon=2, delta="1e-6", people=6_000)
    said = "the unit follows a magnitude that is bought; reads values of up to 8.7 × 10⁹⁹ in size"
    assert said in plan.lines[0].expected.note
    answer = study.release(["scale(x)"], epsilon=2, delta="1e-6")["scale(x)"]
    assert any("the unit follows its magnitude, which is bought first" in text for text in answer.caveats)
    assert any("and beyond ±1." in text and "10¹⁹ as infinite" in text for text in answer.caveats)
    assert isinstance(answer.outcome, Reply)


@pytest.mark.parametrize("kind", KINDS)
def test_values_beyond_all_candidates_are_infinite(kind: Kind) -> None:
    for question in TRUTHS:
        for values in (np.full(4_000, np.inf), np.full(4_000, 1e300), np.linspace(-2e100, -1e100, 4_000)):
            assert isinstance(asked(question, kind, values, Replayed(question)).outcome, NoReply)


def test_a_magnitude_of_zero_is_told() -> None:
    """Half of the values are 0: the unit is 2^-24, and an answer beyond its reach is no reply."""
    generator = np.random.default_rng(6)
    values = np.where(generator.random(4_000) < 0.6, 0.0, generator.lognormal(3.0, 1.0, 4_000))
    answer = asked("scale(x, method=stable)", "add_remove", values, Replayed("zeros"))
    assert isinstance(answer.outcome, Reply)
    assert any("the magnitude drawn is the lowest" in text for text in answer.caveats)
    assert answer.low <= float(np.subtract(*np.quantile(values, [0.75, 0.25]))) <= answer.high
    assert isinstance(asked("scale(x, method=stable)", "add_remove", values * 1e12, Replayed("far")).outcome, NoReply)


def test_the_plan_counts_a_magnitude_that_fails() -> None:
    """Where few values make a magnitude likely to be the candidates' own, the chance of a reply is lower."""
    step = made("scale(x)", "substitute", 4_000, "1")
    assert isinstance(step, PlannedStep)
    plan = step.plan
    assert isinstance(plan, MagnitudePlan)
    chances = [plan.chance(n) for n in (50, 400, 800, 4_000)]
    assert chances == sorted(chances)
    assert chances[0] < 0.5 < 0.99 < chances[-1]
    with pytest.raises(QuestionError, match="cannot reply"):
        made("scale(x)", "substitute", 40, "1")
