"""Planned widths beside those of releases, statistic by statistic, on made-up columns of laws that no shape is.

A table of statistics and laws: the median width of releases lies in the bracket of the plan, and the first width is not
far from it where the column is typical. Columns are skewed within bounds that are far, weights those of a survey.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import median
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.outcome import Reply
from reticent.statistics.context import ExpectedAccuracy
from reticent.study.study import Study

PEOPLE = 6_000
RUNS = 5  # of which the median width is compared: widths of means and totals move by a few hundredths
WITHIN = 1.5  # of either end of the bracket
CLOSE = 2.5  # of the first width, for a column that is typical
TYPICAL = {"score", "share", "w"}
COLUMNS: dict[str, Column] = {
    "score": rt.real(0, 100),  # a tenth of the range as deviation, off the middle
    "hours": rt.real(0, 60),  # the same, correlated with it
    "visits": rt.real(0, 100),  # far below the upper bound
    "share": rt.integer(0, 1),
    "g": rt.category(["a", "b", "c"]),  # of unequal size
    "w": rt.real(0, 20, complete=True),
}


def rows() -> dict[str, Any]:
    made = np.random.default_rng(20)
    weights = made.lognormal(0.75, 0.55, PEOPLE).clip(0, 20)  # of a mean of an eighth of the largest
    score = made.normal(38, 11, PEOPLE)
    return {
        "score": (2 * score).round().clip(0, 200) / 2,
        "hours": (24 + 0.25 * (score - 38) + made.normal(0, 5, PEOPLE)).clip(0, 60),
        "visits": made.negative_binomial(1, 0.2, PEOPLE).astype(float),
        "share": (made.random(PEOPLE) < 0.3).astype(int),
        "g": made.choice(["a", "b", "c"], PEOPLE, p=[0.75, 0.17, 0.08]),
        "w": weights,
    }


@cache
def study(weight: str) -> Study:
    told: dict[str, Any] = {"weight": weight, "design": "fixed"} if weight else {}
    return rt.study(
        rows(), adjacency="add_remove", columns=COLUMNS, budget=10_000, override="a test", rows_each=1, **told
    )


def found(of: Study, question: str) -> list[tuple[float, float]]:
    """The median half-widths of noise and sampling of each number of an answer."""
    cells: dict[int, list[tuple[float, float]]] = {}
    for _ in range(RUNS):
        for place, cell in enumerate(of.release([question], epsilon=2).answers[0].cells):
            assert isinstance(cell.outcome, Reply)
            cells.setdefault(place, []).append((cell.outcome.value.noise, cell.outcome.value.sampling))
    return [(median(noise for noise, _ in each), median(sampling for _, sampling in each)) for each in cells.values()]


def bracket(line: ExpectedAccuracy, part: int) -> tuple[float, float]:
    """The least and the most half-width of noise, or of sampling, over public shapes."""
    each = [(line.noise, line.sampling), *((noise, sampling) for _, noise, sampling in line.others)]
    told = [one for widths in each if (one := widths[part]) is not None]
    return min(told), max(told)


UNWEIGHTED = (
    "mean(score)",
    "mean(visits)",
    "sd(score)",
    "sd(visits)",
    "variance(score)",
    "variance(visits)",
    "proportion(share, value=1)",
    "mean(score) by g",
    "proportion(share, value=1) by g",
    "regress(score ~ hours)",
)
WEIGHTED = (
    "count",
    "sum(score)",
    "sum(visits)",
    "mean(score)",
    "mean(visits)",
    "proportion(share, value=1)",
    "mean(score) by g",
    "sum(visits) by g",
    "median(score)",
    "regress(score ~ hours)",
)


@pytest.mark.loop(5)
@pytest.mark.parametrize(
    ("weight", "question"), [*(("", one) for one in UNWEIGHTED), *(("w", one) for one in WEIGHTED)]
)
def test_releases_have_widths_within_the_bracket_of_their_plan(weight: str, question: str) -> None:
    """A weighted sum was planned at a fifth, or at ten times, of its sampling width, without any bracket for values."""
    of = study(weight)
    line = of.plan([question], epsilon=2, people=PEOPLE).lines[0].expected
    widths = found(of, question)[1:] if question.startswith("regress") else found(of, question)
    for part in (0, 1):
        least, most = bracket(line, part)
        for one in widths:
            assert least / WITHIN <= one[part] <= most * WITHIN, (part, one, least, most)
    if " by " in question or not {*question.replace("(", " ").replace(")", " ").replace(",", " ").split()} & TYPICAL:
        return
    planned, reached = math.hypot(*(one or 0.0 for one in line.headline)), math.hypot(*widths[0])
    assert 1 / CLOSE <= planned / reached <= CLOSE, (planned, reached)


def test_a_plan_of_weights_takes_their_mean_from_public_facts() -> None:
    """The bounds of a weight tell its mean roughly, margins tell it: their total is what the weights add up to."""

    def planned(design: Any, low: int) -> ExpectedAccuracy:
        columns = {**COLUMNS, "w": rt.real(low, 20, complete=True)}
        told: dict[str, Any] = {"weight": "w", "design": design, "budget": 9}
        of = rt.study(rows(), adjacency="add_remove", columns=columns, rows_each=1, **told)
        return of.plan(["proportion(share, value=1)"], epsilon=1, people=PEOPLE).lines[0].expected

    far, near = planned("fixed", 0), planned("fixed", 5)
    assert "weights as surveys have them: a mean of 0.12 of the largest; closer bounds" in far.note
    assert "a mean of 0.5 of the largest" in near.note
    assert near.headline[0] == pytest.approx((far.headline[0] or 0.0) / 4, rel=0.1)  # noise goes with 1 / their mean
    sizes = {"a": 72_000, "b": 15_300, "c": 2_700}  # 15 for each row
    assert (
        "weights that add up to the margins: a mean of 0.75"
        in planned({"weights": "fixed", "margins": {"g": sizes}}, 0).note
    )


def test_a_question_by_group_has_a_bracket_for_a_group_of_nearly_all_rows() -> None:
    of = study("")
    line = of.plan(["mean(score) by g"], epsilon=2, people=PEOPLE).lines[0].expected
    told = {shape: noise for shape, noise, _ in line.others}
    assert told["a group of nine rows in ten"] == pytest.approx((line.headline[0] or 0.0) / 2.7, rel=0.01)
    one = of.plan(["count by g"], epsilon=2, people=PEOPLE).lines[0].expected
    assert all(shape != "a group of nine rows in ten" for shape, *_ in one.others)  # noise of a count is what it is


@pytest.mark.loop(4)
@pytest.mark.parametrize("told", ["3.25", "5", None])
@pytest.mark.parametrize("question", ["median(x)", "iqr(x)", "mean(x, low=0, high=1000)"])
def test_persons_of_uneven_rows_have_widths_within_the_bracket(question: str, told: str | None) -> None:
    """Half of them keep one row of five: a median was a third wider than the widest of its plan, a mean two thirds."""
    made = np.random.default_rng(7)
    each = np.where(made.random(3_000) < 0.5, 1, 12)
    who = np.repeat(np.arange(3_000), each)
    x = made.lognormal(3.0, 1.2, len(who)).round(1)
    columns: dict[str, Column] = {"x": rt.real()}
    of = rt.study(
        {"who": who, "x": x},
        adjacency="add_remove",
        columns=columns,
        budget=10_000,
        override="a test",
        person="who",
        rows_each=5,
    )
    line = of.plan([question], epsilon=2, people=3_000, rows=told).lines[0].expected
    unit = float(np.quantile(x, 0.75) - np.quantile(x, 0.25)) if line.unit else 1.0
    ((noise, sampling),) = found(of, question)
    for part, one in enumerate((noise / unit, sampling / unit)):
        least, most = bracket(line, part)
        assert least / WITHIN <= one <= most * 1.1, (part, one, least, most)
    assert ("half as many rows" in {name for name, *_ in line.others}) == (told is not None)
