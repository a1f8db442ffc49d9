"""A plan and a rehearsal of twelve studies agree: half-widths within a fifth, and whether there is a reply.

Both suppose the same rows: a normal law in the middle of the bounds, the typical rows of each person, those rows alike.
A rehearsal draws its rows from a public stream, so the comparison is the same each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.data.schema import Category, Column, Integer, Real
from reticent.errors import PublicParameterError
from reticent.outcome import Reply
from reticent.privacy.convert import epsilon_delta
from tests.support.cli_kit import clinic, run

CLOSE = 1.2
DRAWN = ("median", "quantile", "iqr", "location")  # ends of their intervals are drawn, so a mean is compared
MANY = 16  # one width varies by a fifth, and their mean by a twentieth
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
    passing: str = ""


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
    "a sixth passes": Shape(  # the made-up k is normal: 2,667 is one deviation above its middle
        "add_remove",
        6_000,
        tuple(f"{question} where k >= 2667" for question in ("count", "mean(y)", "sd(y)", "sum(x)", "median(y)")),
        passing="0.1587",
    ),
    "visits, a sixth of the people passes": Shape(
        "add_remove",
        6_000,
        tuple(f"{question} where k >= 2667" for question in ("count", "mean(y)", "mean(y) by g", "sd(y)", "median(y)")),
        "4",
        rows=20,
        typical="5",
        passing="0.1587",
    ),
    "visits of which nobody told how many": Shape(
        "add_remove", 2_000, (*USUAL, "median(y)", "mean(y) by g", "mean(y, per=person)"), "4", 20
    ),
    "purchases": Shape("add_remove", 1_000, (*USUAL, "mean(y) by g", "iqr(y)"), "8", 20, "20"),
}


FIRST = ("small", "visits", "a sixth passes")


@pytest.mark.wide
@pytest.mark.parametrize("name", FIRST)
def test_a_plan_and_a_rehearsal_agree(name: str) -> None:
    compare(STUDIES[name])


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize("name", [name for name in STUDIES if name not in FIRST])
def test_a_plan_and_a_rehearsal_of_every_shape_agree(name: str) -> None:
    compare(STUDIES[name])


def compare(shape: Shape) -> None:
    row: dict[str, Any] = {"who": ["p"], "y": [1.0], "x": [1.0], "g": ["a"], "k": [1], "w": [1.0]}
    persons: dict[str, Any] = {"person": "who", "rows_each": shape.rows} if shape.rows > 1 else {}
    study = rt.study(row, adjacency=shape.adjacency, columns=COLUMNS, budget=10, **persons)
    typical, passing = shape.typical or None, shape.passing or None
    for question in shape.questions:
        line = (
            study.passing(passing).plan([question], epsilon=shape.epsilon, people=shape.people, rows=typical).lines[0]
        )
        found = [
            study.rehearse([question], epsilon=shape.epsilon, people=shape.people + more, rows=typical)
            .answers[0]
            .cells[0]
            .outcome
            for more in range(MANY if question.startswith(DRAWN) else 1)
        ]
        replies = [one.value for one in found if isinstance(one, Reply)]
        ranked = line.expected.unit == "iqr" or (line.expected.unit == "of it" and question.startswith("iqr"))
        unit = 2 * 0.67449 if ranked else 1.0  # the quartile distance of made-up rows, of a deviation of 1
        assert len(replies) == (0 if line.expected.noise is None else len(found)), question
        for planned, seen in (
            (line.expected.noise, [one.noise / unit for one in replies]),
            (line.expected.sampling, [one.sampling / unit for one in replies]),
        ):
            assert (planned or 0.0) / CLOSE <= fmean(seen) <= (planned or 0.0) * CLOSE, (question, line.expected, seen)


def test_a_share_that_passes_widens_filtered_answers_alone() -> None:
    study = rt.study(
        {"y": [1.0], "k": [1]}, adjacency="add_remove", columns={"y": COLUMNS["y"], "k": COLUMNS["k"]}, budget=10
    )
    asked = ["mean(y)", "mean(y) where k >= 2667"]
    every, some = (study.passing(passing).plan(asked, epsilon=2, people=5_000).lines for passing in (None, "0.1"))
    assert every[0] == some[0]
    assert some[1].loss == every[1].loss
    assert some[1].expected.noise is not None
    assert every[1].expected.noise is not None
    assert some[1].expected.noise == pytest.approx(10 * every[1].expected.noise, rel=0.05)
    tenth = {shape: noise for shape, noise, _ in every[1].expected.others}["if a tenth of rows pass"]
    assert tenth == pytest.approx(some[1].expected.headline[0], rel=0.05)
    assert "as if 0.1 of the rows passed" in some[1].expected.note
    (whole,) = study.where("k >= 2667").passing("0.1").plan(["mean(y)"], epsilon=1, people=5_000).lines[:1]
    assert whole.expected.noise == pytest.approx(some[1].expected.noise, rel=0.05)
    medians = ["median(y) where k >= 2667"]
    (unknown, known) = (study.passing(share).plan(medians, epsilon=1, people=800).lines[0] for share in (None, 1))
    replies = dict(unknown.expected.replies)
    assert {name.split(", ")[-1] for name in replies} == {"if every row passes", "if a tenth does"}
    assert max(replies.values()) == max(chance for _, chance in known.expected.replies) > 0.9
    assert min(replies.values()) < 0.5  # a plan once said .999 of cells of which none was answered
    assert ("if a tenth of rows pass", None, None) in unknown.expected.others
    for wrong in ("0", "1.5", "-1"):
        with pytest.raises(PublicParameterError, match="above 0 and at most 1"):
            study.passing(wrong)


def test_the_study_file_and_the_verb_state_the_share(tmp_path: Path) -> None:
    file = clinic(tmp_path)
    named = 'name = "old"\nepsilon = "1"\nask = ["mean(age) where age >= 60"]\npassing = 0.25\n'
    file.write_text(f"{file.read_text()}\n[[release]]\n{named}")
    asked = ("plan", str(file), "--release", "old", "--json")
    quarter, tenth = run(*asked).document["statistics"][0], run(*asked, "--passing", "0.1").document["statistics"][0]
    assert "as if 0.25 of the rows passed" in quarter["note"]
    assert tenth["noise"] == pytest.approx(2.5 * quarter["noise"], rel=0.1)
    file.write_text(file.read_text().replace("passing = 0.25", "passing = 2"))
    assert "passing is a share" in run("check", str(file)).said


def test_a_plan_without_a_filter_says_that_passing_tells_nothing() -> None:
    study = rt.study({"y": [0.0]}, adjacency="add_remove", columns={"y": rt.real(0, 100)}, budget=9)
    idle = "passing tells of rows that pass a filter or have a value, and every question here is of all rows"
    assert idle in study.passing("0.5").plan(["count"], epsilon=1, people=100).noted
    assert idle not in study.plan(["count"], epsilon=1, people=100).noted
    for held, asked in ((study.where("y > 1"), "count"), (study, "count where y > 1")):
        assert held.passing("0.5").plan([asked], epsilon=1, people=100).noted == ()


@pytest.mark.parametrize("question", ["mean(y)", "sd(y)", "mean(y) by g", "regress(z ~ y)"])
def test_a_plan_that_is_told_of_missing_cells_has_the_noise_of_the_release(question: str) -> None:
    """Half of the values are missing: the plan for all of them had half of the noise."""
    made = np.random.default_rng(7).normal(35, 12.5, (2, 4_000)).clip(0, 100)
    z, gaps = made[0] / 2 + made[1] / 2, np.arange(4_000) % 2 == 0
    rows = {"y": np.where(gaps, np.nan, made[0]), "z": z, "g": ["a", "b", "b", "a"] * 1_000}
    columns: dict[str, Column] = {
        "y": rt.real(0, 100),
        "z": rt.real(0, 100, complete=True),
        "g": rt.category(["a", "b"], complete=True),
    }
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=9)
    whole, half = (study.passing(share).plan([question], epsilon=2, people=4_000) for share in (None, "0.5"))
    released = study.release([question], epsilon=2).answers[0]
    found = [cell.outcome.value for cell in released.cells if isinstance(cell.outcome, Reply)]
    noise = found[1 if question.startswith("regress") else 0].noise
    near = {"regress(z ~ y)": 1.5, "sd(y)": 1.3}.get(
        question, 1.1
    )  # a tenth of the range is supposed, an eighth is true
    planned, unaware = half.lines[0].expected.headline[0], whole.lines[0].expected.headline[0]
    assert planned is not None
    assert unaware is not None
    assert planned == pytest.approx(2 * unaware, rel=0.1)
    assert planned / near <= noise <= planned * near
    assert "as if 0.5 of the rows had a value" in half.lines[0].expected.note
    assert any("passing=… tells" in line.expected.note for line in whole.lines)
    assert half.noted == ()


def test_a_wanted_width_is_bought_for_the_rows_with_a_value() -> None:
    columns = {"y": rt.real(0, 100), "z": rt.real(0, 100, complete=True)}
    study = rt.study({"y": [1.0], "z": [1.0]}, adjacency="add_remove", columns=columns, budget=9)
    want = {"mean(y)": 0.5, "mean(z)": 0.5}
    whole, half = (study.passing(share).plan(want=want, people=4_000) for share in (None, "0.5"))
    dearer, cheaper = (float(epsilon_delta(plan.lines[0].loss)[0]) for plan in (half, whole))
    assert dearer == pytest.approx(2 * cheaper, rel=0.02)
    assert half.lines[1].loss == whole.lines[1].loss  # every cell of it is declared to be readable
    assert all((line.expected.headline[0] or 0.0) <= 0.5 for line in half.lines[:2])


def test_the_study_file_tells_a_plan_of_missing_cells(tmp_path: Path) -> None:
    file = clinic(tmp_path)
    named = 'name = "gaps"\nepsilon = "1"\nask = ["mean(age)"]\npassing = 0.5\n'
    file.write_text(f"{file.read_text()}\n[[release]]\n{named}")
    asked = ("plan", str(file), "--release", "gaps", "--json")
    half, all_of_them = (run(*asked, *more).document["statistics"][0] for more in ((), ("--passing", "1")))
    assert "as if 0.5 of the rows had a value" in half["note"]
    assert half["noise"] == pytest.approx(2 * all_of_them["noise"], rel=0.1)
