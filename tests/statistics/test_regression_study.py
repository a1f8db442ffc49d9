"""Linear models as questions of a release: what they cost, what public circumstances refuse, when they decline."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column, Person, Real, Schema, real
from reticent.entropy import Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import NoReply
from reticent.privacy.adjacency import Kind
from reticent.privacy.loss import ApproxDP, Loss, PureDP
from reticent.statistics.column_step import PlannedStep
from reticent.statistics.context import Setting
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.regression.regress import OfRegression
from reticent.statistics.regression.regression_step import CountedRegression, FixedSizeRegression
from reticent.statistics.regression.rows import Integers
from tests.support.stat_fake import Fake, answered

DELTA = Fraction(1, 10**6)
METHODS = [method for method in get_args(OfRegression) if method not in ("auto", "least_squares")]
TESTED = ("R_S", "R_H")
SPENDS = (*TESTED, "adassp")
FREE = Real(resolution=Fraction(1, 1 << 10))
BOUNDED = real(-4, 4)


def schema_of(person: Person, column: Column) -> Schema:
    return Schema({"y": column, "a": column}, person)


def made(question: str, person: Person, units: int | None, epsilon: int = 8) -> PlannedStep[Integers]:
    method = question.partition("method=")[2].rstrip(")")
    setting = Setting(schema_of(person, BOUNDED if method == "adassp" else FREE), units, None, DELTA)
    asked = parse(question)
    step = prepare(asked.at(delta=DELTA) if method == "adassp" else asked, setting, Fraction(epsilon))
    assert isinstance(step, PlannedStep)
    return step


def within(loss: Loss, tested: bool) -> bool:
    match loss:
        case ApproxDP(epsilon=epsilon, delta=delta):
            return tested and 7.99 < epsilon <= 8 and 0 < delta <= DELTA
        case PureDP(epsilon=epsilon):
            return not tested and 7.99 < epsilon <= 8
        case _:
            return False


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("method", METHODS)
def test_what_is_derived_is_within_what_was_asked(method: str, kind: Kind) -> None:
    public = made(f"regress(y ~ a, method={method})", Person(kind), 60_000)
    assert isinstance(public.plan, FixedSizeRegression)
    assert within(public.guarantee.loss, method in SPENDS)
    if kind == "add_remove":
        bought = made(f"regress(y ~ a, method={method})", Person(kind, "who", rows=2), None)
        assert isinstance(bought.plan, CountedRegression)
        assert within(bought.guarantee.loss, method in SPENDS)


@pytest.mark.parametrize("method", METHODS)
def test_what_a_bought_number_of_rows_makes_costs_what_was_charged(method: str) -> None:
    plan = made(f"regress(y ~ a, method={method})", Person("add_remove"), None).plan
    assert isinstance(plan, CountedRegression)
    charged, seen = plan.make(1 << 30, plan.method, plan.epsilon).guarantee, 0
    for size in (1, 2, 30, 997, 4_001, 30_011, 400_009):
        try:
            found = plan.make(size, plan.method, plan.epsilon).guarantee
        except (QuestionError, PublicParameterError):
            continue
        seen += 1
        assert found.loss == charged.loss
        assert found.adjacency == charged.adjacency
    assert seen >= 3


@pytest.mark.parametrize("method", TESTED)
def test_mode_paper_needs_a_public_number_of_rows(method: str) -> None:
    """Its delta is made of n: made of a bought n it would not be the one that was charged."""
    question = f"regress(y ~ a, method={method}, mode=paper)"
    for person in (Person("add_remove"), Person("add_remove", "who", rows=2), Person("substitute", "who", rows=2)):
        setting = Setting(schema_of(person, FREE), None, None, DELTA)
        with pytest.raises(QuestionError, match="public number of rows"):
            prepare(parse(question), setting, Fraction(8))
    for kind in ("substitute", "add_remove"):
        setting = Setting(schema_of(Person(kind), FREE), 60_000, None, DELTA)
        loss = prepare(parse(question), setting, Fraction(8)).guarantee.loss
        assert isinstance(loss, ApproxDP)
        assert 0 < loss.delta < DELTA


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("method=theil_sen, mode=paper", "mode would change nothing"),
        ("mode=paper", "mode would change nothing"),
        ("method=tukey, delta=1e-9", "delta would change nothing"),
        ("method=theil_sen, blocks=30", "blocks would change nothing"),
        ("method=over_beta, blocks=30, mode=paper", "mode and blocks would change nothing"),
    ],
)
def test_options_that_a_method_would_not_look_at_are_refused(options: str, says: str) -> None:
    setting = Setting(schema_of(Person("substitute"), FREE), 60_000, None, DELTA)
    with pytest.raises(QuestionError, match=says):
        prepare(parse(f"regress(y ~ a, {options})"), setting, Fraction(1))


def test_numbers_that_doubles_do_not_hold_are_refused() -> None:
    for column in (real("-1e200", "1e200"), Real(resolution=Fraction(10**90))):
        for method in METHODS:
            setting = Setting(schema_of(Person("substitute"), column), 60_000, None, DELTA)
            asked = parse(f"regress(y ~ a, method={method})")
            with pytest.raises(QuestionError, match=r"between 1e-60 and 1e60|needs public bounds"):
                prepare(asked, setting, Fraction(8))
    with pytest.raises(QuestionError, match="a row for each coefficient"):
        made("regress(y ~ a, blocks=40000, method=R_S)", Person("substitute"), 60_000)


@pytest.mark.parametrize("kind", ["substitute", "add_remove"])
@pytest.mark.parametrize("method", [method for method in METHODS if method != "adassp"])
def test_a_column_that_does_not_vary_gets_no_reply(method: str, kind: Kind) -> None:
    person = Person(kind)
    step = made(f"regress(y ~ a, method={method})", person, 20_000 if kind == "substitute" else None)
    rows = {"y": np.arange(20_000.0) % 7, "a": np.full(20_000, 3.0)}
    cells = answered(step, Fake(schema_of(person, FREE), rows), Replayed(method)).cells
    assert all(isinstance(cell.outcome, NoReply) for cell in cells)
    assert [cell.label for cell in cells] == [(("coefficient", "intercept"),), (("coefficient", "a"),)]


def test_a_step_too_fine_for_a_column_is_said_with_what_helps() -> None:
    rows = np.random.default_rng(4)
    a = rows.normal(50, 10, 20_000)
    study = rt.study(
        {"a": a, "y": 1 + 2 * a + rows.normal(size=20_000)},
        adjacency="add_remove",
        columns={"a": rt.real(resolution="0.001"), "y": rt.real(resolution="0.001")},
        budget=8,
    )
    (fine,) = study.release(["regress(y ~ a, method=tukey)"], epsilon=4).answers
    assert "values of a beyond 32.768 in size count as that; a coarser unit reaches farther" in fine.caveats
    (coarse,) = study.release(["regress(y ~ a, method=tukey, unit=0.01)"], epsilon=4).answers
    assert "values of a beyond 327.68 in size count as that; a coarser unit reaches farther" in coarse.caveats
    outcome = coarse.cells[1].outcome
    assert isinstance(outcome, rt.Reply)
    assert abs(outcome.value.value - 2) < 0.05
