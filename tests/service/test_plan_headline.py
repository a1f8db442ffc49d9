"""First lines and first numbers of a plan: what it supposes, what was asked, and widths that releases reach."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Column, Real
from reticent.statistics.context import HEAPED, ExpectedAccuracy
from reticent.study.plan import BESIDE
from reticent.study.study import Study
from tests.service.test_plans_of_real_tables import TABLES, opened, widths
from tests.support.cli_kit import clinic, run, streamed

FEW = """
[study]
title = "few"
source = "few.csv"
ledger = "few.ledger"
[person]
adjacency = "add_remove"
rows = "one_each"
[budget]
epsilon = "1"
[columns]
x = { kind = "integer", low = 0, high = 9 }
"""


def visits(people: int | None = None) -> Study:
    """A study of persons with rows that no plan reads."""
    rows = {"who": np.arange(200), "y": np.zeros(200), "x": np.zeros(200)}
    columns = {"y": rt.real(0, 100), "x": rt.real()}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=9, person="who", rows_each=5, people=people)


# --- what is supposed -------------------------------------------------------------------------------------------------


def test_a_plan_says_beside_its_heading_what_nobody_told_it() -> None:
    """Ten thousand people stood in a footnote alone, and the curator had three hundred."""
    study = visits()
    said = (
        "supposed: 10,000 people, 3 rows each, every row passes the filter. Say "
        "people=…, rows=… and passing=… for yours."
    )
    plan = study.where("y > 50").plan(["mean(y)"], epsilon=1)
    printed = " ".join(repr(plan).split())
    assert said in printed.partition("statistic")[0]
    assert said in plan._repr_html_().partition("consulted")[0]
    told = study.where("y > 50").passing("0.3").plan(["mean(y)"], epsilon=1, people=300, rows=2)
    assert "supposed" not in repr(told)
    assert repr(told).splitlines()[1] == "for 300 people, 2 rows each. Your file was not consulted."
    assert plan.to_json()["passing_assumed"] is True
    assert told.to_json()["passing_assumed"] is False


def test_the_command_line_says_it_with_the_options_that_change_it(tmp_path: Path) -> None:
    study = clinic(tmp_path)
    said = "supposed: 10,000 people, 2 rows each. Say --people NUMBER and --rows NUMBER"
    assert said in run("plan", str(study), "--release", "tail").said.partition("statistic")[0]
    filtered = run("plan", str(study), "--ask", "mean(age) where age > 50", "--epsilon", "1").said
    assert "and --passing SHARE for yours" in " ".join(filtered.split())  # as its help calls it
    told = run("plan", str(study), "--release", "table 4", "--people", "300", "--rows", "1").said
    assert "for 300 people, 1 row each." in told.partition("statistic")[0]


@pytest.mark.wide
def test_a_release_at_a_terminal_plans_for_the_numbers_that_plan_takes(tmp_path: Path) -> None:
    """The plan before the question took no numbers. It leaves out what the answers will say."""
    study = clinic(tmp_path)
    numbers = "--epsilon", "1", "--people", "300", "--rows", "1", "--passing", "0.5"
    done = streamed("release", str(study), "--ask", "mean(age) where age > 50", *numbers, answer="n")
    assert "for 300 people, 1 row each." in done.said
    assert "as if 0.5 of the rows passed" in done.said
    assert "population mean" not in done.said


# --- what was asked ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", [("--passing", "2"), ("--passing", "nan"), ("--rows", "0"), ("--rows", "3")])
def test_numbers_of_a_plan_that_are_typed_wrong_are_refused_before_the_charge(
    typed: tuple[str, str], tmp_path: Path
) -> None:
    """Without a terminal nothing had been planned, so nothing had looked at them: the release was charged."""
    study = tmp_path / "study.toml"
    study.write_text(FEW, "utf-8")
    (tmp_path / "few.csv").write_text("x\n" + "1\n2\n" * 100, "utf-8")
    refused = run("release", str(study), "--ask", "mean(x)", "--epsilon", "0.5", "--yes", *typed)
    assert refused.code == 5, refused.said  # a refusal
    assert rt.open(study).ledger.spent() == rt.PureDP(Fraction(0))


def test_lines_that_nobody_asked_for_stand_apart() -> None:
    plan = visits().plan(["mean(y)", "median(y)"], epsilon=1)
    names = [name for name, *_ in plan.rows()]
    assert names == ["mean(y)", "median(y)", BESIDE, "capped", "incomplete(y)"]
    assert [line.beside for line in plan.lines] == [False, False, True, True]
    assert repr(plan).count("with more rows than are kept") == 1  # by its estimand, and by no note


def test_a_reply_that_hangs_on_the_share_that_passes_has_the_share_it_needs() -> None:
    """P(reply) was told as .001 to 1, and no word said what to declare."""
    study = rt.study({"y": [1.0]}, adjacency="add_remove", columns={"y": rt.real(0, 100)}, budget=10)
    asked = ["quantile(y, 0.9) where y > 50"]

    def line(share: str | None) -> list[tuple[str, ...]]:
        return study.passing(share).plan(asked, epsilon="1/2", people=10_000).rows()

    every, tenth, *_ = line(None)
    assert (every[4], tenth[4], tenth[2]) == ("1", ".001", "no reply")
    assert "P(reply)" not in every[5]
    told = re.search("a reply is likely if ([0-9]+) % of the rows or more pass", every[5])
    assert told is not None
    enough = int(told[1])
    assert line(f"{enough}/100")[0][4] in ("1", ".999")
    assert line(f"{enough * 3 // 4}/100")[0][4] < ".95"
    ((whole, *_), (few, *_)) = (study.plan(asked, epsilon="1/2", people=people).rows() for people in (10**6, 1_000))
    assert "likely" not in whole[5] + few[5]  # a tenth is enough, or all are too few


def test_a_filter_whose_share_is_not_told_has_its_own_line() -> None:
    """Widths for all rows stood alone where a fifth passed: they were four times too small."""
    plan = visits().plan(["mean(y) where y > 50"], epsilon=4)
    (whole, tenth, *_) = plan.rows()
    assert tenth[0] == "  if a tenth of rows pass"
    noise = {shape: width for shape, width, _ in plan.lines[0].expected.others}[tenth[0].strip()]
    assert noise == pytest.approx(10 * (plan.lines[0].expected.headline[0] or 0.0), rel=0.05)
    assert noise is not None
    assert str(round(noise, 2))[:3] not in whole[2].partition("(")[2]  # no part of the range over shapes of columns


# --- widths that are reached ------------------------------------------------------------------------------------------


def test_the_first_width_is_that_of_the_typical_shape() -> None:
    plan = visits().plan(["mean(y)", "median(y)", "median(x)", "iqr(x)", "count"], epsilon=2, rows=1)
    shapes = ["off the middle", "rounded and off the middle", "heaped", "heaped", ""]
    assert [line.expected.typical for line in plan.lines if not line.beside] == shapes
    for line in plan.lines[:4]:
        others = {shape: (noise, sampling) for shape, noise, sampling in line.expected.others}
        assert line.expected.headline == others[line.expected.typical]
        assert replace(line.expected, typical="").headline == (line.expected.noise, line.expected.sampling)
    assert "iqr is the column's quartile distance, which a plan cannot know: if it is 10" in plan.footnote()
    few = visits(500).plan(["median(y)", "median(x)", "iqr(x)"], epsilon=30, rows=1, override="a test")
    assert [line.expected.typical for line in few.lines[:3]] == ["rounded and off the middle", "", ""]
    for line in few.lines[:3]:  # the range holds heaped values all the same
        tied = {shape: noise for shape, noise, _ in line.expected.others}[HEAPED]
        assert (tied or 0.0) > 3 * (line.expected.headline[0] or 0.0)


@pytest.mark.parametrize("question", ["median(x)", "iqr(x)"])
def test_quantiles_without_bounds_are_planned_in_distances_of_quartiles(question: str) -> None:
    """In deviations a long tail had a seventh of the planned noise, and the first width was the upper end."""
    values = np.random.default_rng(3).lognormal(0.0, 1.5, 4_000).round(1)
    told: dict[str, Any] = {"people": 4_000, "budget": 100, "override": "a test"}
    free = rt.study({"x": values}, adjacency="add_remove", rows_each=1, columns={"x": rt.real()}, **told)
    line = free.plan([question], epsilon=4).lines[0].expected
    assert line.unit == {"median(x)": "iqr", "iqr(x)": "of it"}[question]
    assert line.headline[0] is not None
    assert line.headline[0] < 0.95 * max(noise for _, noise, _ in line.others if noise is not None)
    unit = float(np.quantile(values, 0.75) - np.quantile(values, 0.25))
    found = median(free.release([question], epsilon=4)[question].noise for _ in range(7)) / unit
    assert line.headline[0] / 3 < found < 3 * line.headline[0]


EVERY = (
    "proportion(g, value=a)",
    "log_mean(y)",
    "geometric_mean(y)",
    "mean(y)",
    "median(y)",
    "test(y ~ g)",
    "test(y ~ g, kind=ranks)",
    "test(g ~ h, kind=proportions, value=a)",
    "test(g ~ h)",
    "test(x ~ y)",
    "regress(x ~ y)",
)


@pytest.mark.parametrize("question", EVERY)
def test_every_line_with_a_range_begins_with_a_typical_shape(question: str) -> None:
    """Ranks, proportions, independence and logarithms had begun with equal groups and shares of one half."""
    columns: dict[str, Column] = {
        "y": rt.real(1, 100),
        "x": rt.real(-5, 5),
        "g": rt.category(["a", "b"]),
        "h": rt.category(["p", "q"]),
    }
    rows = {"y": np.ones(9), "x": np.zeros(9), "g": ["a"] * 9, "h": ["p"] * 9}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=9)
    line = study.plan([question], epsilon=2, people=20_000).lines[0].expected
    others = {shape: (noise, sampling) for shape, noise, sampling in line.others}
    assert line.headline == others[line.typical]
    assert line.headline != (line.noise, line.sampling)
    few = study.plan([question], epsilon=2, people=20).lines[0].expected  # one group of a quarter would be left out
    assert few.headline in {(few.noise, few.sampling), *((noise, sampling) for _, noise, sampling in few.others)}


def test_a_reply_by_made_up_tables_says_how_many_of_them_reply() -> None:
    """P(reply) of .917 was printed where five of five made-up tables replied, and so did every release."""
    said = "{0} of {0} made-up tables replied: P(reply) is {1} at least"
    study = rt.study(
        {"y": [0.0], "x": [0.0], "w": [0.0], "v": [0.0]},
        adjacency="add_remove",
        columns={"y": rt.real(-10, 10), "x": rt.real(-10, 10), "w": rt.real(), "v": rt.real()},
        budget=9,
    )
    bounded, free = study.plan(["regress(y ~ x)", "regress(w ~ v)"], epsilon=8, people=5_000).lines[:2]
    assert said.format(5, ".917") in bounded.expected.note
    assert said.format(3, ".875") in free.expected.note
    printed = study.plan(["regress(y ~ x)"], epsilon=8, people=5_000).rows()[0][4]
    assert printed.startswith(".917 (")  # of the typical shape, with the range


@pytest.mark.wide
def test_a_wanted_width_is_the_first_that_the_plan_prints() -> None:
    study = rt.study({"y": [0.0]}, adjacency="add_remove", columns={"y": rt.real(0, 100)}, budget=9)
    for question in ("mean(y)", "sd(y)", "median(y)"):
        plan = study.plan([], want={question: 2.0}, people=5_000)
        found = plan.lines[0].expected.headline[0]
        assert found is not None
        assert 1.8 <= found <= 2.0


@pytest.mark.loop(2)
@pytest.mark.wide
@pytest.mark.parametrize("question", ["median(x)", "iqr(x)", "quantiles(x, 0.1 0.5 0.9, method=joint)"])
def test_few_values_of_real_columns_are_planned_as_values_apart(question: str) -> None:
    """They are rounded, as most columns are, but seldom to one of few values: the plan had been ten times too wide."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

    reached, before = [], []
    for load, names in (
        (load_wine, ("alcohol", "flavanoids", "hue")),
        (load_diabetes, ("bmi", "s2", "s5")),
        (load_breast_cancer, ("mean radius", "mean texture", "mean symmetry", "texture error", "worst area")),
    ):
        for name in names:
            rows = load(as_frame=True).frame[name].to_numpy()
            study = rt.study(
                {"x": rows},
                adjacency="add_remove",
                columns={"x": rt.real(complete=True)},
                budget="100",
                override="a test",
            )
            line = study.plan([question], epsilon=6, people=len(rows)).lines[0].expected
            if line.headline[0] is None:
                continue
            found = [one.noise for _ in range(3) for one in widths(study.release([question], epsilon=6).answers[0])]
            noise = fmean(found) / float(np.quantile(rows, 0.75) - np.quantile(rows, 0.25))
            heaped = {shape: width for shape, width, _ in line.others}[HEAPED]
            reached.append(noise / line.headline[0])
            before.append(noise / (heaped or 1.0))
    assert len(reached) >= 8
    assert 0.6 <= median(reached) <= 1.7, reached
    assert median(before) < 0.35, before


@pytest.mark.loop(3)
@pytest.mark.parametrize("bounds", [(0, 100), ()])
@pytest.mark.parametrize("question", ["median(x)", "iqr(x)", "iqr(x, method=joint)"])
def test_a_declared_resolution_is_the_step_that_a_plan_rounds_to(question: str, bounds: tuple[int, ...]) -> None:
    """Values were taken for as often equal as in public columns: an iqr was planned 25 times too wide."""
    rows = np.clip(np.round(65 + np.random.default_rng(1).normal(0, 12.5, 4_000), 2), 0, 100)

    def planned(resolution: str | None) -> tuple[Study, ExpectedAccuracy]:
        columns = {"x": rt.real(*bounds, resolution=resolution)}
        study = rt.study({"x": rows}, adjacency="add_remove", columns=columns, budget=1000, override="a test")
        return study, study.plan([question], epsilon=2, people=4_000).lines[0].expected

    study, fine = planned("0.01")
    unit = 1.0 if bounds else float(np.quantile(rows, 0.75) - np.quantile(rows, 0.25))
    found = [one.noise for _ in range(8) for one in widths(study.release([question], epsilon=2).answers[0])]
    first = unit * (fine.headline[0] or 0.0)
    assert 0.5 <= fmean(found) / first <= 1.7
    every = [width * unit for width in (fine.noise, *(noise for _, noise, _ in fine.others)) if width]
    assert min(every) / 2 <= fmean(found) <= max(every)  # the range holds heaped values all the same
    untold = planned(None)[1]
    assert (untold.headline[0] or 0.0) * unit > 3 * first
    assert "values as often equal as in public columns; noise is less if they are not," in untold.note
    if bounds:
        coarse = planned("0.1")[1]  # 13 values of a step: they are tied
        assert (coarse.headline[0] or 0.0) > 3 * first
        assert "rounded to 0.1" in coarse.note
    else:
        assert "values apart, as where the standard deviation is above 1." in fine.note
        more = study.plan([question], epsilon=2, people=100_000).lines[0].expected.note
        assert "values many of them equal, as where the standard deviation is below" in more


@pytest.mark.wide
def test_real_releases_reach_the_first_width_about_as_often_as_not() -> None:
    """Of releases of public tables the noise was 1.7 times the first number in the median, and 27 times in a tenth."""
    reached, before = [], []
    for name in ("cars", "days of weather", "planes", "voters", "penguins"):
        table = TABLES[name]
        study, people, typical = opened(table)
        free = rt.study(
            table.rows()[[*table.columns]],
            adjacency=table.adjacency,
            columns={column: rt.real() for column, kind in table.columns.items() if isinstance(kind, Real)},
            budget="2000",
            override="a test",
        )
        asked = [(study, one) for one in table.questions if " by " not in one and not one.startswith("count")]
        asked += [(study, f"{kind}({column})") for kind in ("sd", "iqr") for column in free.schema.columns]
        asked += [(free, f"{kind}({column})") for kind in ("median", "iqr") for column in free.schema.columns]
        for of, question in dict.fromkeys(asked):
            line = of.plan([question], epsilon=table.epsilon, people=people, rows=typical).lines[0].expected
            found = widths(of.release([question], epsilon=table.epsilon).answers[0])
            if line.headline[0] is None or line.noise is None or not found or not fmean(one.noise for one in found):
                continue
            column = table.rows()[question.partition("(")[2][:-1]] if line.unit in ("sd", "iqr", "of it") else None
            unit = 1.0 if column is None else float(column.quantile(0.75) - column.quantile(0.25))
            noise = fmean(one.noise for one in found) / unit
            reached.append(noise / line.headline[0])
            before.append(noise / line.noise)
    assert len(reached) >= 30
    assert 0.7 <= median(reached) <= 1.3
    assert np.quantile(reached, 0.9) <= 3
    assert np.quantile(before, 0.9) > 6
