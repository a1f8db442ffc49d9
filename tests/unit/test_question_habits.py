"""A question that is written as other tools write it is refused with how it is written here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.errors import Refusal

ROWS = {"income": np.arange(400) % 40, "age": np.arange(400) % 70, "vote": ["a", "b"] * 200}
COLUMNS: dict[str, Any] = {
    "income": rt.integer(0, 40),
    "age": rt.integer(0, 100),
    "vote": rt.category(["a", "b"]),
}


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("regress(income, age)", "regress(income ~ age)"),
        ("test(age, income)", "test(age ~ income)"),
        ("mean(age^2)", "mean(age * age)"),
        ("mean(age ** 2)", "mean(age * age)"),
        ("mean(log age)", "mean(log(age))"),
        ("histogram(age, edges=0-100)", "histogram(age, edges=0:100:10)"),
        ("mean(age) per vote", "mean(age) by vote"),
        ("mean(age) group by vote", "mean(age) by vote"),
        ("mean(age) by vote with total", "mean(age) by vote with totals"),
    ],
)
def test_a_question_of_other_tools_is_refused_with_its_spelling_here(question: str, meant: str) -> None:
    study = rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, budget=9, rows_each=1)
    for ask in (study.plan, study.release):
        with pytest.raises(Refusal) as refused:
            ask([question], epsilon=1)
        assert f"Perhaps: {meant}." in str(refused.value)
    if "log" not in meant:  # of which the range is asked next
        study.plan(meant, epsilon=1)


def test_a_test_by_groups_is_told_to_have_none() -> None:
    columns = {**COLUMNS, "sex": rt.category(["f", "m"])}
    study = rt.study({**ROWS, "sex": ["f", "m"] * 200}, adjacency="add_remove", columns=columns, budget=9, rows_each=1)
    with pytest.raises(Refusal, match="takes no by: its groups stand in the formula"):
        study.plan("test(age ~ vote) by sex", epsilon=1)
