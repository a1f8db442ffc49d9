"""Every answer names its estimand: in the plan, the release, the certificate, the page and the sheet."""

import csv
import html
import io
import pickle
from typing import Literal

import numpy as np
import pytest

import reticent as rt
from reticent.certificate.render.page import page
from reticent.certificate.render.tables import sheet
from reticent.data.schema import Column
from reticent.outcome import Estimate, Reply

QUESTIONS = [
    "count",
    "persons",
    "sum(x)",
    "mean(x)",
    "variance(x)",
    "sd(x)",
    "proportion(g, value=a)",
    "histogram(g)",
    "median(x)",
    "quantiles(x, 0.1 0.9)",
    "iqr(x)",
    "location(x)",
    "mean(x) by g",
    "regress(x ~ y)",
    "test(x ~ g)",
    "density(x)",
]


@pytest.fixture(scope="module")
def study() -> rt.Study:
    numbers = np.arange(4000) % 97
    return rt.study(
        {"x": numbers, "y": numbers[::-1].copy(), "g": ["a", "b"] * 2000},
        adjacency="add_remove",
        columns={"x": rt.integer(0, 100), "y": rt.integer(0, 100), "g": rt.category(["a", "b"])},
        budget="10",
    )


@pytest.mark.wide
def test_every_line_of_a_plan_names_its_estimand(study: rt.Study) -> None:
    plan = study.plan(QUESTIONS, epsilon="10")
    assert all(line.estimand for line in plan.lines)
    assert "population mean of x, values cut to [0, 100]" in repr(plan)


@pytest.mark.wide
def test_every_answer_names_its_estimand_wherever_it_is_shown(study: rt.Study) -> None:
    release = study.release(QUESTIONS, epsilon="10")
    assert all(answer.estimand for answer in release.answers)
    again = {answer.name: answer.estimand for answer in release.certificate.answers}
    assert again == {answer.name: answer.estimand for answer in release.answers}
    shown = html.unescape(page(release.certificate))
    rows = list(csv.DictReader(io.StringIO(sheet(release.certificate))))
    for answer in release.answers:
        assert f"{answer.name}: {answer.estimand}" in " ".join(repr(release).split())
        said = answer.estimand
        assert f'<span class="estimand">{said}</span>' in shown or f'<td colspan="5">{said}</td>' in shown
        assert {row["estimand"] for row in rows if row["name"] == answer.name} == {answer.estimand}


def test_bounds_and_caps_stand_in_the_estimand() -> None:
    study = rt.study(
        {"x": [1.0] * 50, "p": list(range(25)) * 2},
        adjacency="add_remove",
        person="p",
        rows_each=2,
        columns={"x": rt.real(0, 9, complete=True)},
        budget="9",
    )
    lines = {line.name: line.estimand for line in study.plan(["sum(x)", "mean(x, low=2, high=4)"], epsilon="1").lines}
    assert lines["sum(x)"] == "sum of x over this table, values cut to [0, 9], the total of each person cut to [0, 18]"
    assert lines["mean(x, low=2, high=4)"] == (
        "population mean of x, values cut to [2, 4], of at most 2 rows of each person"
    )


def test_a_sum_adds_all_rows_of_a_person_up_to_what_the_cap_can_reach_and_says_so() -> None:
    """The words had been "at most 2 of each person", which is a third of the sum of six rows each."""
    study = rt.study(
        {"x": [1.0] * 600, "g": [1, 2] * 300, "p": list(range(100)) * 6},
        adjacency="add_remove",
        person="p",
        rows_each=2,
        columns={"x": rt.real(-1, 9, complete=True), "g": rt.category([1, 2])},
        budget="9",
    )
    one, by = study.release(["sum(x)", "sum(x) by g"], epsilon=9).answers
    assert one.value == pytest.approx(600, abs=40)
    assert one.estimand == "sum of x over this table, values cut to [-1, 9], the total of each person cut to [-2, 18]"
    assert "values cut to [-1, 9], at most 2 of each person, drawn for this release, in each group of g" in by.estimand


@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
@pytest.mark.parametrize(("constant", "words"), [(True, "the total of each person in a group"), (False, "at most 25")])
def test_a_sum_by_group_is_as_noisy_as_one_of_the_rows_that_a_person_keeps(
    adjacency: Literal["add_remove", "substitute"], constant: bool, words: str
) -> None:
    """It had the noise of 25 rows in each of ten groups, ten times as much."""
    study = rt.study(
        {"x": [1.0] * 600, "g": [1] * 600, "p": list(range(100)) * 6},
        adjacency=adjacency,
        person="p",
        rows_each=25,
        columns={
            "x": rt.real(0, 4, complete=True),
            "g": rt.category([*range(1, 11)], constant=constant, complete=True),
        },
        budget="9",
    )
    plan = study.plan([rt.sum("x").by("g")], epsilon=9, people=100, rows=6)
    assert words in " ".join(str(plan).split())
    found = study.release([rt.sum("x").by("g")], epsilon=9).answers[0].cells[0].outcome
    assert isinstance(found, Reply)
    assert isinstance(found.value, Estimate)
    moved = 25 * 4 * (2 if adjacency == "substitute" else 1)
    assert found.value.noise == pytest.approx(moved * 3 / 9, rel=0.3)  # a half-width at 95 % is 3 scales
    assert found.value.value == pytest.approx(600, abs=20 * moved / 9)


def test_a_plan_says_each_estimand_and_each_note_once_below_its_table() -> None:
    columns: dict[str, Column] = {
        "cost": rt.real(),
        "rent": rt.real(),
        "age": rt.integer(0, 99, complete=True),
        "cost_2": rt.real(),
    }
    study = rt.study({name: [1.0] * 50 for name in columns}, adjacency="add_remove", columns=columns, budget="9")
    asked = ["median(cost)", "median(rent)", "median(cost_2)", "iqr(cost)", "mean(age)", "quantile(cost, 0.9)"]
    plan = study.plan(asked, epsilon="1", people=9_000)
    told = dict(plan.estimands())
    assert (
        told["median(…)"]
        == "population median of … (any of them where there are several), among rows with a readable …"
    )
    quartiles = "distance of the population quartiles of cost (any of them where there are several)"
    assert told["iqr(cost)"] == f"{quartiles}, among rows with a readable cost"
    assert told["mean(age)"] == "population mean of age, values cut to [0, 99]"
    assert told["incomplete(…)"] == "share of rows of this table with a missing or unreadable cell"
    assert len(told) == 5
    printed = " ".join(repr(plan).split())
    for shown in (printed, plan._repr_html_()):
        assert shown.count("population median of") == 1
    note = plan.lines[0].expected.note
    assert printed.count(note) == 1
    assert max(map(len, repr(plan).splitlines())) <= 80
    read = pickle.loads(pickle.dumps(plan))  # without its schema: a line for each
    assert len(read.estimands()) == len(plan.lines)


def test_questions_that_differ_in_more_than_columns_share_no_line() -> None:
    """Conditions with "and" and "or", keys and bounds that are spelled like columns, and a column like a statistic."""
    columns: dict[str, Column] = {name: rt.real(0, 1) for name in ("p", "q", "r", "s", "knee", "hip", "mean")}
    columns |= {"e": rt.real(0, 9), "2": rt.real(0, 2), "3": rt.real(0, 3), "site": rt.category(["knee", "hip"])}
    rows: dict[str, list[object]] = {name: [1.0] * 50 for name in columns}
    rows["site"] = ["knee"] * 50
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget="9")
    alone = [
        "count where p > q and r > s",
        "count where p > q or r > s",
        'count where site = "knee"',
        'count where site = "hip"',
        "count where e > 2",
        "count where e > 3",
        "proportion(site, value=knee)",
        "proportion(site, value=hip)",
        "mean(2)",
        "mean(3)",
    ]
    plan = study.plan([*alone, "mean(p)", "mean(q)"], epsilon="9", people=9_000)
    told = dict(plan.estimands())
    assert {*alone} <= told.keys()
    assert told["mean(…)"].startswith("population mean of …, values cut to [0, 1]")


def test_names_that_would_read_alike_are_written_out() -> None:
    columns: dict[str, Column] = {"x": rt.real(), "y": rt.real(), "k": rt.category(["n"]), "g": rt.category(["n"])}
    rows = {"x": [1.0], "y": [1.0], "k": ["n"], "g": ["n"]}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget="9")
    plan = study.plan([f"incomplete({name})" for name in columns], epsilon="1", people=900)
    assert plan.estimands() == [
        ("incomplete(x), incomplete(y)", "share of rows of this table with a missing or unreadable cell"),
        ("incomplete(k), incomplete(g)", "share of rows of this table with a missing or unlisted cell"),
    ]
