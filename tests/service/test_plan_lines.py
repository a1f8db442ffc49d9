"""Lines of plans of tests, densities, models and sessions: price, accuracy, P(reply), processor time."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.privacy.adjacency import Kind
from reticent.study.study import Study

PEOPLE: Final = 2_000
TESTS: Final = {
    "means": "test(x ~ g)",
    "proportions": "test(k ~ g, kind=proportions, value=1)",
    "independence": "test(g ~ h)",
    "ranks": "test(x ~ h)",
    "correlation": "test(x ~ y)",
    "normal": "test(x, kind=normal)",
    "density": "test(x, kind=density, density=1)",
}


def made(kind: Kind = "add_remove", budget: rt.ZCDP | int = 9, people: int = PEOPLE) -> Study:
    """A study whose rows no plan reads."""
    rows: dict[str, object] = {name: np.zeros(people) for name in "xyk"}
    columns: dict[str, Column] = {name: rt.real(0, 1, complete=True) for name in "xy"}
    columns["k"] = rt.integer(0, 1, complete=True)
    for name, keys in (("g", ("a", "b")), ("h", ("p", "q", "r"))):
        rows[name], columns[name] = np.full(people, keys[0]), rt.category(list(keys), complete=True)
    return rt.study(rows, adjacency=kind, columns=columns, budget=budget)


@pytest.mark.parametrize("total", ["rho", "epsilon"])
def test_the_lines_of_a_plan_in_rho_add_up_to_its_price(total: str) -> None:
    """A ledger in rho has lines in rho: a price in another currency could not be added to them."""
    asked = [*TESTS.values(), "mean(x)", "median(y)", "density(x)", "regress(y ~ x)"]
    study = made(budget=rt.ZCDP(Fraction(1, 4)))
    plan = study.plan(asked, rho="0.2") if total == "rho" else study.plan(asked, epsilon="0.3")
    assert isinstance(plan.guarantee.loss, rt.ZCDP)
    lines = [line.loss.rho for line in plan.lines if isinstance(line.loss, rt.ZCDP)]
    assert len(lines) == len(asked)
    assert sum(lines) == plan.guarantee.loss.rho


def test_no_line_of_a_printed_plan_is_longer_than_80_columns() -> None:
    study = made()
    plan = study.plan([*TESTS.values(), "density(x)", "density(x, y, checks=0.1, method=sparse, cells=64)"], epsilon=9)
    for printed in (plan, study.session_plan("sparse_vector", ["x"], answers=3, epsilon=1)):
        assert max(map(len, repr(printed).splitlines())) <= 80
    assert "\ndensity(x, y, method=sparse, cells=64, checks=0.1)\n" in repr(plan)  # a long name is above its numbers
