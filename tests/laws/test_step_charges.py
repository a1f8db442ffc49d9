"""Every step charges what it was given: a guarantee that lost a part would charge less."""

from __future__ import annotations

import warnings
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from reticent.conformance.neighbours import KeyedDice
from reticent.conformance.schemas import random_plan, random_schema
from reticent.data.schema import Person, Schema, real
from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy import compose
from reticent.privacy.adjacency import Kind
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP, PureDP
from reticent.statistics.context import Setting, Step
from reticent.statistics.grammar import parse
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.quantile_step import QuantileStep
from reticent.study import allocation

PLANS = 250
ROUNDED = Fraction(1, 10**6)  # a variance is rounded up


def shortfalls(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], Counter[str]]:
    """Questions of random plans whose step charges another epsilon than it was given, and how often each verb came."""
    found: list[str] = []
    seen: Counter[str] = Counter()

    def noted(asked: Any, setting: Any, epsilon: Fraction, *rest: Any, **named: Any) -> Step:
        step = prepare(asked, setting, epsilon, *rest, **named)
        loss = step.guarantee.loss
        if isinstance(loss, PureDP | ApproxDP) and epsilon and step.guarantee.by.name != "public":
            seen[asked.statistic.verb] += 1
            if not epsilon * (1 - ROUNDED) <= loss.epsilon <= epsilon:
                found.append(f"{asked.name}: {loss.epsilon} of {epsilon}")
        return step

    monkeypatch.setattr(allocation, "prepare", noted)
    for number in range(PLANS):
        dice = KeyedDice(f"spent {number}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                random_plan(random_schema(dice), dice)
            except PublicParameterError:  # every question was refused
                continue
    return found, seen


@pytest.mark.wide
def test_a_step_charges_the_epsilon_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    found, seen = shortfalls(monkeypatch)
    assert found == []
    usual = ("count", "persons", "sum", "mean", "variance", "median", "quantile", "iqr", "proportion", "test")
    assert min(seen[verb] for verb in usual) > 10


@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("interval", ["", ", interval=no"])
@pytest.mark.parametrize(
    "text",
    [
        "median(x)",
        "quantile(free, 0.1)",
        "quantiles(x, 0.25 0.75)",
        "quantiles(free, 0.25 0.75, method=separate)",
        "iqr(free)",
        "iqr(free, method=separate)",
        "mean(x)",
        "variance(x)",
        "sd(x)",
        "location(free)",
        "regress(y ~ x)",
        "density(x)",
        "density(x, y)",
        "density(x, method=histogram)",
        "density(x, method=kernel)",
        "density(x, method=bernstein)",
        "density(x, method=series)",
    ],
)
def test_one_question_charges_all_of_its_epsilon(text: str, interval: str, kind: Kind) -> None:
    """With an interval and without: fewer draws share what more would have."""
    columns = {"x": real(0, 10), "y": real(0, 10), "free": real()}
    setting = Setting(Schema(columns, Person(kind)), 5_000)
    try:
        asked = parse(text.removesuffix(")") + interval + ")")
    except QuestionError:  # it has no interval to leave out
        assert interval
        return
    for epsilon in (Fraction(1), Fraction(7, 3)):
        loss = prepare(asked, setting, epsilon).guarantee.loss
        assert isinstance(loss, PureDP | ApproxDP)
        assert epsilon * (1 - ROUNDED) <= loss.epsilon <= epsilon


@pytest.mark.wide
def test_a_guarantee_that_lost_a_part_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts taken out of a sequence of one draw are those of the draw: none."""

    def spliced(self: QuantileStep) -> Guarantee:
        each = self.draws.of_group(self.draws.pricing.plain)
        first = [] if self.draws.pricing.size is None else [self.draws.pricing.size.guarantee]
        return compose.in_sequence([*first, *each.parts], label=self.name) if first or each.parts else each

    monkeypatch.setattr(QuantileStep, "guarantee", property(spliced))
    assert shortfalls(monkeypatch)[0]
