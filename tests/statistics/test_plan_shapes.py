"""Plans of quantiles between bounds tell a range over public shapes, and releases of ordinary columns lie in it.

The shapes were chosen by the first list of laws. The second list was met afterwards, with the shapes as they are. Noise
is replayed, so that the comparison is the same each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import reticent as rt
from reticent.data.schema import Column
from reticent.outcome import Reply
from reticent.statistics.context import ExpectedAccuracy
from reticent.statistics.quantiles import shapes
from tests.support.replayed_noise import same_noise as same_noise

CLOSE = 1.2
RUNS = 12  # of so many tables in all
TABLES = 6
ROWS = 4_000
QUESTIONS = ("median(x)", "iqr(x)", "quantile(x, 0.9)", "iqr(x, method=separate)")

pytestmark = pytest.mark.usefixtures("replayed")

Law = Callable[[np.random.Generator, int], NDArray[np.float64]]
CHOSEN_BY: dict[str, Law] = {
    "uniform": lambda made, n: made.uniform(0, 100, n),
    "narrow normal": lambda made, n: made.normal(50, 2, n),
    "wide normal": lambda made, n: made.normal(50, 25, n),
    "exponential": lambda made, n: made.exponential(20, n),
    "lognormal": lambda made, n: np.exp(made.normal(2, 1, n)),
    "zeros": lambda made, n: np.where(made.random(n) < 0.4, 0.0, made.uniform(0, 100, n)),
}
MET_LATER: dict[str, Law] = {
    "gamma": lambda made, n: made.gamma(2, 8, n),
    "uniform in part": lambda made, n: made.uniform(20, 60, n),
    "triangular": lambda made, n: made.triangular(0, 30, 100, n),
    "normal off the middle": lambda made, n: made.normal(30, 10, n),
    "beta": lambda made, n: 100 * made.beta(2, 5, n),
    "a third of zeros": lambda made, n: np.where(made.random(n) < 0.33, 0.0, made.gamma(3, 10, n)),
    "peaked": lambda made, n: made.laplace(60, 8, n),
}


@pytest.fixture
def replayed(same_noise: Callable[[], None]) -> None:
    same_noise()


def studied(law: Law, question: str, *, whole: bool, rows: int = ROWS) -> tuple[ExpectedAccuracy, list[object]]:
    """The plan of a question, and what releases of some tables gave.

    The half-width of one table is off by a tenth, as far as its values about the median lie apart by chance.
    """
    column, found = rt.integer(0, 100) if whole else rt.real(0, 100), list[object]()
    for table in range(TABLES):
        made = np.clip(law(np.random.default_rng([7, table]), rows), 0, 100)
        study = rt.study(
            {"x": np.round(made) if whole else made},
            adjacency="add_remove",
            columns={"x": column},
            budget=1000,
            override="a test",
        )
        (line, *_) = study.plan([question], epsilon=1, people=rows).lines
        found += [study.release([question], epsilon=1)[question].outcome for _ in range(RUNS // TABLES)]
    return line.expected, found


def check(law: Law, question: str, *, whole: bool) -> None:
    planned, found = studied(law, question, whole=whole)
    estimates = [one.value for one in found if isinstance(one, Reply)]
    assert len(estimates) == len(found)
    assert min(chance for _, chance in planned.replies) > 0.99
    step = 0.5 if whole else 0.0  # an interval has whole ends
    for kind in ("noise", "sampling"):
        usual = planned.noise if kind == "noise" else planned.sampling
        shapes = [noise if kind == "noise" else sampling for _, noise, sampling in planned.others]
        every = [one for one in (usual, *shapes) if one is not None]
        seen = fmean(getattr(one, kind) for one in estimates)
        assert min(every) / CLOSE - step <= seen <= max(every) * CLOSE + step, (kind, question, every, seen)


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("whole", [False, True], ids=["real", "integer"])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", CHOSEN_BY)
def test_an_ordinary_column_lies_in_the_range_of_its_plan(name: str, question: str, whole: bool) -> None:
    check(CHOSEN_BY[name], question, whole=whole)


@pytest.mark.wide
@pytest.mark.loop(4)
@pytest.mark.parametrize("whole", [False, True], ids=["real", "integer"])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", MET_LATER)
def test_a_column_by_which_no_shape_was_chosen_lies_in_the_range(name: str, question: str, whole: bool) -> None:
    check(MET_LATER[name], question, whole=whole)


FEW: dict[str, tuple[Law, Column]] = {
    "five answers": (
        lambda made, n: made.choice([1.0, 2.0, 3.0, 4.0, 5.0], n, p=[0.1, 0.2, 0.4, 0.2, 0.1]),
        rt.integer(1, 5),
    ),
    "eleven numbers": (lambda made, n: np.floor(made.uniform(0, 11, n)), rt.integer(0, 10)),
    "steps of five": (lambda made, n: np.round(made.normal(50, 18, n).clip(0, 100) / 5) * 5, rt.real(0, 100)),
    "partly steps of five": (
        lambda made, n: np.where(made.random(n) < 0.6, made.integers(0, 21, n) * 5, made.uniform(0, 100, n)),
        rt.real(0, 100),
    ),
    "two values": (lambda made, n: made.choice([0.0, 100.0], n, p=[0.4, 0.6]), rt.real(0, 100)),
    "ages": (lambda made, n: made.normal(45, 20, n).clip(18, 90).round(), rt.integer(0, 120)),
}


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("question", ["median(x)", "quantile(x, 0.25)", "quantile(x, 0.9)"])
@pytest.mark.parametrize("name", FEW)
def test_no_column_of_few_values_has_more_noise_than_its_plan_tells(name: str, question: str) -> None:
    """Where two values meet at the level the interval reaches over a step: five times the range that was told."""
    law, column = FEW[name]
    rows = {"x": law(np.random.default_rng(7), ROWS)}
    study = rt.study(rows, adjacency="add_remove", columns={"x": column}, budget=1000, override="a test")
    for epsilon in (1, 4):
        planned = study.plan([question], epsilon=epsilon, people=ROWS).lines[0].expected
        found = [study.release([question], epsilon=epsilon)[question].outcome for _ in range(RUNS)]
        widths = [one.value.noise for one in found if isinstance(one, Reply)]
        every = [noise for _, noise, _ in planned.others if noise is not None]
        assert fmean(widths) <= max(every) * CLOSE, (epsilon, fmean(widths), every)


@pytest.mark.wide
@pytest.mark.loop(3)
@pytest.mark.parametrize("question", ["quantiles(x, 0.25 0.5 0.75, method=joint)", "iqr(x)"])
@pytest.mark.parametrize("name", ["even", "many at one bound", "rounded values"])
def test_levels_drawn_together_are_planned_as_wide_as_their_ends_reach_among_ties(name: str, question: str) -> None:
    """Ends that aim beyond the next quantile reach to its end, or to the bounds: four times as far as was told."""
    rows, whole = 1_000, name != "rounded values"
    shape = next(one for one in (*shapes.OTHERS, shapes.rounded(0.25, shapes.ROUNDED)) if one.name == name)
    values = 100.0 * np.clip([shape.at(level) for level in np.random.default_rng(5).random(rows)], 0, 1)
    study = rt.study(
        {"x": np.round(values) if whole else values},
        adjacency="add_remove",
        columns={"x": rt.integer(0, 100) if whole else rt.real(0, 100)},
        budget=1000,
        override="a test",
    )
    planned = study.plan([question], epsilon="0.65", people=rows).lines[0].expected
    others = {shape: noise for shape, noise, _ in planned.others}
    expected = others.get(name) or planned.noise
    found = [study.release([question], epsilon="0.65")[question] for _ in range(RUNS)]
    seen = fmean(
        max(cell.outcome.value.noise for cell in one.cells if isinstance(cell.outcome, Reply)) for one in found
    )
    assert expected is not None
    assert expected / 1.4 <= seen <= expected * 1.4, (expected, seen)


@pytest.mark.wide
def test_the_planned_number_is_still_that_of_the_usual_shape() -> None:
    """The usual column is the one a rehearsal makes: the number beside the range agrees with it."""
    planned, found = studied(lambda made, n: made.normal(50, 100 / 6, n), "median(x)", whole=False)
    assert planned.noise is not None
    seen = fmean(one.value.noise for one in found if isinstance(one, Reply))
    assert planned.noise / CLOSE <= seen <= planned.noise * CLOSE


@pytest.mark.wide
def test_dates_of_some_years_lie_in_the_range_of_a_decade() -> None:
    days = np.datetime64("2012-01-01") + np.arange(1461)
    study = rt.study(
        {"day": days},
        adjacency="substitute",
        columns={"day": rt.date("2010-01-01", "2019-12-31")},
        budget=1000,
        override="a test",
    )
    planned = study.plan(["median(day)"], epsilon="4", people=1461).lines[0].expected
    widths = [width for width in (planned.noise, *(noise for _, noise, _ in planned.others)) if width is not None]
    found = fmean(study.release(["median(day)"], epsilon="4")["median(day)"].noise for _ in range(RUNS))
    assert min(widths) / CLOSE <= found <= max(widths) * CLOSE, (widths, found)


@pytest.mark.wide
def test_a_weighted_median_has_a_range_over_public_shapes_of_weights() -> None:
    """Weights of a survey: their sum, in units of the largest, is an eighth of the rows and not half of them."""
    made = np.random.default_rng(7)
    rows = {"x": made.normal(50, 100 / 6, ROWS).clip(0, 100), "w": made.gamma(2, 10 / 16, ROWS).clip(0, 10)}
    study = rt.study(
        rows,
        adjacency="add_remove",
        columns={"x": rt.real(0, 100), "w": rt.real(0, 10)},
        budget=1000,
        override="a test",
        weight="w",
        design="fixed",
    )
    planned = study.plan(["median(x)"], epsilon=4, people=ROWS).lines[0].expected
    found = fmean(study.release(["median(x)"], epsilon=4)["median(x)"].noise for _ in range(RUNS))
    of_weights = {name: noise for name, noise, _ in planned.others if noise is not None}
    assert planned.noise is not None
    assert found > 2 * planned.noise
    typical = of_weights["weights as surveys have them"]
    assert typical / CLOSE <= found <= typical * CLOSE
    assert of_weights["weights few of them large"] > typical
    assert of_weights["weights all alike"] < planned.noise


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("people", [60, 200, 350, 600, 900, 2_500])
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("column", [rt.real(), rt.real(0, 100), rt.integer(0, 100)], ids=["free", "real", "whole"])
def test_no_plan_of_ranks_prints_what_is_no_number(column: Any, kind: Any, people: int) -> None:
    """An end that is open without bounds had made the width of a quartile distance nan."""
    study = rt.study({"x": [1.0]}, adjacency=kind, columns={"x": column}, budget=100, override="a test")
    for epsilon in ("0.5", "2"):
        for asked in ("median(x)", "iqr(x)", "quantiles(x, 0.25 0.5 0.75)", "quantile(x, 0.9)"):
            try:
                expected = study.plan([asked], epsilon=epsilon, people=people).lines[0].expected
            except rt.QuestionError:  # refused in words
                continue
            widths = [expected.noise, expected.sampling, *(width for _, *two in expected.others for width in two)]
            assert all(width is None or math.isfinite(width) for width in widths), (epsilon, asked)


def test_a_line_has_the_typical_width_and_the_range() -> None:
    study = rt.study({"x": [1.0]}, adjacency="add_remove", columns={"x": rt.real(0, 100)}, budget=10)
    plan = study.plan(["median(x)", "count"], epsilon=2, people=2_000)
    expected, cells = plan.lines[0].expected, plan.rows()
    widths = [width for _, width, _ in expected.others if width is not None]
    typical = expected.headline[0]
    assert typical is not None
    assert expected.noise is not None
    assert typical > expected.noise  # rounded values off the middle, where the usual ones lie apart in it
    assert cells[0][2] == f"± {typical:.2g} ({min(widths):.2g}–{max(widths):.2g})"
    assert "(" not in cells[1][2]
    assert {name for name, *_ in expected.others} >= {
        "narrow",
        "at one end",
        "a long tail",
        "even",
        "many at one bound",
    }


@pytest.mark.parametrize("question", ["median(x)", "iqr(x)", "quantiles(x, 0.25 0.5 0.75)"])
def test_the_range_of_a_plan_without_bounds_has_a_long_tail(question: str) -> None:
    """Released widths of money lay outside the range, whose shapes were normal or in deviations."""
    values = np.random.default_rng(4).lognormal(5, 1.5, 3_000)
    study = rt.study({"x": values}, adjacency="add_remove", columns={"x": rt.real()}, budget=1000, override="a test")
    planned = study.plan([question], epsilon=2, people=3_000).lines[0].expected
    release = study.release([question], epsilon=2)
    seen = max(cell.outcome.value.noise for cell in release.answers[0].cells if isinstance(cell.outcome, Reply))
    shapes = {shape: noise for shape, noise, _ in planned.others}
    widths = [width for width in (planned.noise, *shapes.values()) if width is not None]
    quartiles = math.exp(5) * 2.0 * math.sinh(1.5 * 0.67449)
    assert min(widths) / 2 < seen / quartiles < max(widths)
    assert 0.4 < seen / quartiles / (shapes["a long tail"] or 1.0) < 2.5


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("question", ["mean(x)", "regress(y ~ x + z)", "sd(x)", "median(x)", "quantile(a, 0.9)"])
def test_no_first_width_falls_as_epsilon_falls(question: str) -> None:
    """A slope had been planned at ± 0.129 for ε 1 and at ± 0.106 for ε .3, silently of columns with a wider spread."""
    columns: dict[str, Column] = {"x": rt.real(-90, 600), "y": rt.real(-60, 600), "z": rt.real(0, 5000), "a": rt.real()}
    table = {"id": [1], **{name: [1.0] for name in columns}}
    rows = {"at_most": 100, "typical": 80}
    study = rt.study(table, adjacency="add_remove", person="id", rows_each=rows, columns=columns, budget=9, people=4000)
    lines = []
    for epsilon in ("0.2", "0.3", "0.5", "1"):
        try:
            lines.append(study.plan([question], epsilon=epsilon).lines[0])
        except rt.QuestionError:  # a guess, which is refused
            continue
    widths = [line.noise for line in lines if line.noise is not None]
    assert widths
    assert widths == sorted(widths, reverse=True)
    assert len({line.expected.typical for line in lines if line.noise is not None}) == 1
    for line in lines:  # without a width, the probability is that of the same column
        chance = dict(line.expected.replies).get(line.expected.typical)
        assert (line.noise is None) == (chance is not None and chance < 0.5)
    if question.startswith("regress"):
        row = next(row for row in study.plan([question], epsilon="0.3").rows() if "1/4" in row[0])
        assert row[0] == "  with a deviation of 1/4"
        assert row[2].startswith("±")
