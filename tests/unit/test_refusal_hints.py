"""Hints of refusals: each says what to type instead, in the words of where it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

import reticent as rt
from reticent.errors import Refusal
from tests.support.cli_kit import clinic, run


@pytest.mark.parametrize(
    ("question", "hint"),
    [
        ("mean(x) by a and b", "Several columns stand with commas: a, b."),
        ("mean(x) by a b", "Several columns stand with commas: a, b."),
        ("mean(admitted + 2)", "days are not added to a date: write days(b - a) > 2"),
        ("count where admitted + 2 > 3", "days are not added to a date"),
        ("density(admitted)", "density(days(admitted - 2024-01-01))"),
        ("mean(y + 2)", "There is no column"),
    ],
)
def test_a_refused_question_says_what_to_write(question: str, hint: str) -> None:
    study = rt.study(
        {"x": [1.0], "a": ["p"], "b": ["p"], "admitted": ["2024-01-01"]},
        adjacency="add_remove",
        columns={
            "x": rt.real(0, 10),
            "a": rt.category(["p", "q"]),
            "b": rt.category(["p", "q"]),
            "admitted": rt.date("2020-01-01", "2025-12-31"),
        },
        budget=5,
    )
    with pytest.raises(Refusal) as refused:
        study.plan([question], epsilon=1)
    assert hint in str(refused.value)


def test_the_command_line_is_told_its_own_options(tmp_path: Path) -> None:
    said = run("release", str(clinic(tmp_path)), "--ask", "count").said
    assert "--epsilon 1" in said
    assert 'epsilon="1"' not in said
