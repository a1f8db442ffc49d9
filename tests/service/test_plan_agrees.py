"""A plan and a rehearsal of ten studies agree: half-widths within a fifth, and whether there is a reply.

Both suppose the same rows: a normal law in the middle of the bounds, the typical rows of each person, those rows alike.
A rehearsal draws its rows from a public stream, so the comparison is the same each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

import pytest

import reticent as rt
from reticent.data.schema import Category, Integer, Real
from reticent.outcome import Reply

CLOSE = 1.25  # a fifth, either way
DRAWN = ("median", "quantile", "iqr", "location")  # ends of their intervals are drawn: the mean of five is compared
COLUMNS: dict[str, Real | Integer | Category] = {
    "y": rt.real(0, 100),
    "x": rt.real(-5, 5),
    "g": rt.category(["a", "b"]),
    "k": rt.integer(0, 4000),
    "w": rt.real(),
}
USUAL = ("count", "sum(y)", "mean(y)", "variance(y)", "sd(x)", "proportion(g, value=a)", "histogram(g)")


@dataclass(frozen=True)
class Shape:
    """A study: who is a person, how many there are, and what is asked at which loss."""

    adjacency: Any
    people: int
    questions: tuple[str, ...]
    epsilon: str = "1"
    rows: int = 1
    typical: str = ""


STUDIES = {
    "survey": Shape("add_remove", 2_000, (*USUAL, "mean(y) by g", "test(y ~ g)")),
    "survey, substitute": Shape("substitute", 2_000, (*USUAL, "mean(y) by g", "test(y ~ g)")),
    "small": Shape("add_remove", 300, ("mean(y)", "median(y)", "sd(y)"), "2"),
    "large at a small loss": Shape("add_remove", 50_000, (*USUAL, "median(y)", "median(k)", "iqr(y)"), "0.2"),
    "ranks": Shape("add_remove", 20_000, ("median(y)", "median(w)", "quantile(w, 0.9)", "iqr(w)", "median(k)")),
    "ranks, substitute": Shape("substitute", 20_000, ("median(y)", "median(w)", "quantile(w, 0.9)", "iqr(w)")),
    "without bounds": Shape("add_remove", 5_000, ("mean(w, method=clipped)", "location(w)", "median(w)")),
    "visits": Shape("add_remove", 2_000, (*USUAL, "median(y)", "mean(y, per=person)"), "4", 20, "5"),
    "visits, substitute": Shape("substitute", 2_000, (*USUAL, "median(y)", "mean(y, per=person)"), "4", 20, "5.5"),
    "purchases": Shape("add_remove", 1_000, (*USUAL, "mean(y) by g", "iqr(y)"), "8", 20, "20"),
}


FIRST = ("small", "visits")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FIRST)
def test_a_plan_and_a_rehearsal_agree(name: str) -> None:
    compare(STUDIES[name])


@pytest.mark.wide
@pytest.mark.parametrize("name", [name for name in STUDIES if name not in FIRST])
def test_a_plan_and_a_rehearsal_of_every_shape_agree(name: str) -> None:
    compare(STUDIES[name])


def compare(shape: Shape) -> None:
    row: dict[str, Any] = {"who": ["p"], "y": [1.0], "x": [1.0], "g": ["a"], "k": [1], "w": [1.0]}
    persons: dict[str, Any] = {"person": "who", "rows_each": shape.rows} if shape.rows > 1 else {}
    study = rt.study(row, adjacency=shape.adjacency, columns=COLUMNS, budget=10, **persons)
    typical = shape.typical or None
    for question in shape.questions:
        line = study.plan([question], epsilon=shape.epsilon, people=shape.people, rows=typical).lines[0]
        found = [
            study.rehearse([question], epsilon=shape.epsilon, people=shape.people + more, rows=typical)
            .answers[0]
            .cells[0]
            .outcome
            for more in range(5 if question.startswith(DRAWN) else 1)
        ]
        replies = [one.value for one in found if isinstance(one, Reply)]
        assert len(replies) == (0 if line.expected.noise is None else len(found)), question
        for planned, seen in (
            (line.expected.noise, [one.noise for one in replies]),
            (line.expected.sampling, [one.sampling for one in replies]),
        ):
            assert (planned or 0.0) / CLOSE <= fmean(seen) <= (planned or 0.0) * CLOSE, (question, line.expected, seen)
