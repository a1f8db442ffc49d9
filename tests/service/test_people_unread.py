"""Rows that cannot be read under substitution: a fault that costs what the release was to have, never a refusal."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import reticent as rt
from reticent.data.table import EngineFailure, Table
from reticent.errors import BudgetError, Fault, PublicParameterError
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tables whose persons cannot be counted; the list notes each time they are asked for."""
    asked: list[str] = []

    def fails(_: Table) -> int:
        asked.append("units")
        raise EngineFailure("made up")

    monkeypatch.setattr(Table, "units", fails)
    return asked


def study(budget: int | ApproxDP | ZCDP | ApproxZCDP) -> rt.Study:
    return rt.study({"x": [1, 2, 3] * 50}, adjacency="substitute", columns={"x": rt.integer(0, 9)}, budget=budget)


MEAN = rt.mean("x")
CASES: dict[str, tuple[Any, list[Any], dict[str, Any], Loss]] = {
    "a total": (4, ["mean(x)"], {"epsilon": 1}, PureDP(Fraction(1))),
    "own epsilons": (4, [MEAN.at("0.5"), "count"], {}, PureDP(Fraction(1, 2))),
    "own delta": (
        ApproxDP(Fraction(4), Fraction(1, 10**6)),
        [rt.scale("x").at("0.5", delta="1e-9")],
        {},
        ApproxDP(Fraction(1, 2), Fraction(1, 10**9)),
    ),
    "a width wanted": (4, ["mean(x)"], {"want": {"mean(x)": 1.0}}, PureDP(Fraction(4))),
    "rho": (ZCDP(Fraction(1)), ["mean(x)"], {"rho": "0.1"}, ZCDP(Fraction(1, 10))),
    "rho and a question's delta": (
        ApproxZCDP(Fraction(1), Fraction(1, 10**6)),
        [rt.scale("x").at(delta="1e-9")],
        {"rho": "0.1"},
        ApproxZCDP(Fraction(1, 10), Fraction(1, 10**9)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_costs_what_the_caller_was_ready_to_pay(case: str, read: list[str]) -> None:
    budget, questions, named, charge = CASES[case]
    of = study(budget)
    with pytest.raises(Fault):
        of.release(questions, **named)
    assert read == ["units"]
    spent: Loss = of.ledger.spent()
    assert spent == charge


def test_more_than_is_left_is_refused_before_persons_are_counted(read: list[str]) -> None:
    of = study(1)
    with pytest.raises(BudgetError, match="This needs ε 2; 1 of 1 is left"):
        of.release(["mean(x)"], epsilon=2)
    assert read == []
    assert not getattr(of.ledger.spent(), "epsilon", 0)


def test_a_release_that_names_no_loss_is_refused_before_a_row_is_read(read: list[str]) -> None:
    of = study(4)
    with pytest.raises(PublicParameterError, match="Say what the release may cost"):
        of.release(["mean(x)", "sum(x)"])
    assert (read, of.ledger.spent()) == ([], PureDP(Fraction(0)))
