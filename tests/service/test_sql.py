"""SELECT from notebook and command line: the numbers of a release, arithmetic on them, and what stays free."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reticent as rt
from reticent.cli.release import release as release_verb
from reticent.cli.sql import sql as sql_verb
from reticent.data.schema import Column
from reticent.errors import QuestionError, Refusal
from reticent.outcome import Estimate
from reticent.statistics.answer import Answer, Cell, printed
from reticent.statistics.comparison import ReleasedCell, Terms, quotient
from reticent.statistics.error_law import ErrorLaw
from reticent.study.selection import Selection
from tests.support.cli_kit import run
from tests.support.replayed_noise import same_noise as same_noise

WARDS = ("north", "south", "west")
FILE = """
[study]
title = "visits"
source = "visits.csv"
ledger = "visits.ledger"
[person]
adjacency = "add_remove"
rows = "one_each"
[budget]
epsilon = "5"
[columns]
age = { kind = "integer", low = 18, high = 110 }
cost = { kind = "real", low = 0, high = 1000 }
ward = { kind = "category", among = ["north", "south", "west"] }
"""
CLAUSES = "FROM study WHERE age >= 65 GROUP BY ward"


def rows(people: int = 6_000) -> dict[str, list[float] | list[str] | list[int]]:
    generator = np.random.default_rng(19)
    return {
        "who": list(range(people)),
        "age": generator.integers(18, 100, people).tolist(),
        "cost": generator.gamma(2.0, 50.0, people).clip(0, 999).tolist(),
        "ward": [WARDS[place % 3] for place in range(people)],
    }


def study() -> rt.Study:
    columns: dict[str, Column | rt.Expression] = {
        "age": rt.integer(18, 110),
        "cost": rt.real(0, 1000),
        "ward": rt.category(WARDS),
    }
    return rt.study(rows(), adjacency="add_remove", columns=columns, budget=10)


def test_aggregates_are_those_of_a_release(same_noise: Callable[[], None]) -> None:
    same_noise()
    found = study().sql(f"SELECT ward, AVG(cost) AS cost, COUNT(*) AS n {CLAUSES} ORDER BY ward DESC", epsilon=2)
    same_noise()
    questions = [rt.mean("cost").where("age >= 65").by("ward"), rt.count().where("age >= 65").by("ward")]
    means, counts = study().release(questions, epsilon=2).answers
    table = pa.table(found)
    assert table.column("ward").to_pylist() == ["west", "south", "north"]
    assert table.column_names == ["ward", "cost", "cost_low", "cost_high", "n", "n_low", "n_high", "no_reply"]
    for name, answer in (("cost", means), ("n", counts)):
        cells = [cell.outcome for cell in reversed(answer.cells)]
        estimates = [cell.value for cell in cells if isinstance(cell, rt.Reply)]
        assert table.column(name).to_pylist() == [e.value for e in estimates]
        assert table.column(f"{name}_low").to_pylist() == [e.low for e in estimates]
        assert table.column(f"{name}_high").to_pylist() == [e.high for e in estimates]
    assert "west" in str(found).splitlines()[1]


def test_groups_may_be_several_and_expressions_stand_for_columns(same_noise: Callable[[], None]) -> None:
    same_noise()
    text = """SELECT ward,
              CASE WHEN age >= 65 THEN 'old' ELSE 'young' END AS age_class, AVG(cost / 10) AS tens, COUNT(*) AS n
              FROM study GROUP BY 1, age_class ORDER BY ward, age_class"""
    found = study().sql(text, epsilon=4)
    same_noise()
    old = rt.case([(rt.col("age") >= 65, "old")], otherwise="young")
    questions = [rt.mean(rt.col("cost") / 10).by("ward", old), rt.count().by("ward", old)]
    release = study().release(questions, epsilon=4)
    columns = found.columns()
    assert list(zip(columns["ward"], columns["age_class"], strict=True)) == [
        (ward, age) for ward in WARDS for age in ("old", "young")
    ]
    cells = sorted(release.answers[1].cells, key=lambda cell: cell.label)
    assert columns["n"] == [Answer("", (cell,)).value for cell in cells]
    assert all(4 < ten < 16 for ten in columns["tens"])  # type: ignore[operator]  # means of 100, divided by 10


def test_arithmetic_is_free_and_agrees_with_the_comparisons(same_noise: Callable[[], None]) -> None:
    same_noise()
    opened = study()
    text = "SELECT SUM(cost) / COUNT(*) AS r, COUNT(*) - COUNT_IF(age >= 65) AS d, 2 * COUNT(*) + 3 AS t FROM study"
    found = opened.sql(text, epsilon=3)
    assert opened.ledger.spent() == rt.PureDP(Fraction(3))
    release, columns = found.release, found.columns()
    ratio = release.ratio("sum(cost)", "count")
    difference = release.difference("count", "count where age >= 65")
    count = release["count"]
    assert (columns["r"], columns["r_low"], columns["r_high"]) == ([ratio.value], [ratio.low], [ratio.high])
    assert (columns["d"], columns["d_low"]) == ([difference.value], [difference.low])
    assert (columns["t"], columns["t_low"], columns["t_high"]) == (
        [2 * count.value + 3],
        [2 * count.low + 3],
        [2 * count.high + 3],
    )


@pytest.mark.wide
@pytest.mark.parametrize("draws", [240, pytest.param(400, marks=pytest.mark.audit)])
def test_a_quotient_knows_the_noise_that_both_sides_share(draws: int) -> None:
    """Of (count - old) / count the noise of the count stands on both sides.

    Of 240 draws .95 are covered, with a standard error of .014; of 400 it is .011. Half-widths of .7 and 1.4 are
    rejected. So is the interval from the ends of both sides, which knows nothing of what they share.
    """
    generator, scale, everybody, old = np.random.default_rng(7), 20.0, 2_000.0, 860.0
    truth = (everybody - old) / everybody

    def cell(name: str, value: float) -> ReleasedCell:
        law = ErrorLaw(value, (scale,))
        radius = law.half_width()
        estimate = rt.Reply(Estimate(value, value - radius, value + radius, radius, 0.0))
        return ReleasedCell(Answer(name, (Cell((), estimate, law),)), Cell((), estimate, law))

    stretches, loose, parts = [], 0, (("a", everybody), ("b", old))
    for _ in range(draws):
        whole, part = (cell(name, number + generator.laplace(0, scale)) for name, number in parts)
        found = quotient("q", "", Terms(((1.0, whole), (-1.0, part))), Terms(((1.0, whole),))).estimate
        stretches.append(abs(truth - (found.low + found.high) / 2) / ((found.high - found.low) / 2))
        loose += abs(truth - found.value) <= 2 * (whole.answer.noise + part.answer.noise) / everybody
    covered = np.array(stretches)
    assert 0.92 <= np.mean(covered <= 1.0) <= 0.98
    assert np.mean(covered <= 0.7) < 0.92
    assert np.mean(covered <= 1.4) > 0.98
    assert loose / draws > 0.98


def test_rows_are_chosen_by_released_numbers_and_the_result_says_so() -> None:
    opened = study()
    found = opened.sql(
        f"SELECT ward, COUNT(*) AS n {CLAUSES} HAVING ward <> 'south' AND n BETWEEN 1 AND 9999 ORDER BY n DESC LIMIT 1",
        epsilon=1,
    )
    assert len(found) == 1
    assert found.columns()["ward"][0] in ("north", "west")
    assert "chosen or sorted by released numbers" in str(found)
    assert "chosen" not in str(opened.sql("SELECT COUNT(*) FROM study", epsilon=1))
    assert opened.sql("SELECT COUNT(*) AS n FROM study HAVING n > 1e6", epsilon=1).columns()["n"] == []


def test_totals_are_sums_of_released_cells_and_null_keys(same_noise: Callable[[], None]) -> None:
    columns: dict[str, Column] = {"ward": rt.category(WARDS), "sex": rt.category([0, 1]), "cost": rt.real(0, 1000)}
    data = {**rows(3_000), "sex": [place % 2 for place in range(3_000)]}

    def opened() -> rt.Study:
        return rt.study(data, adjacency="add_remove", columns=columns, budget=10)

    same_noise()
    text = """SELECT ward, sex, COUNT(*) AS n, AVG(cost) AS m, GROUPING(sex) AS of_sexes FROM study
              GROUP BY ROLLUP (ward, sex) HAVING n > 0 ORDER BY GROUPING(ward), ward, sex"""
    found = opened().sql(text, epsilon=4)
    same_noise()
    asked = [rt.count().by("ward", "sex").with_totals(), rt.mean("cost").by("ward", "sex").with_totals()]
    release = opened().release(asked, epsilon=4)
    told = found.columns()
    keys = list(zip(told["ward"], told["sex"], strict=True))
    assert keys == [*((ward, sex) for ward in WARDS for sex in (0, 1, None)), (None, None)]
    assert told["of_sexes"] == [0, 0, 1] * 3 + [1]
    assert told["no_reply"] == [""] * 10
    for name, answer in (("n", release.answers[0]), ("m", release.answers[1])):
        cells: dict[tuple[object, ...], float] = {
            tuple(key for _, key in cell.label): Answer("", (cell,)).value for cell in answer
        }
        assert told[name] == [cells[key] for key in (tuple(one for one in key if one is not None) for key in keys)]
    assert "total" in str(found)
    assert found.columns().keys() == pa.table(found).to_pydict().keys()
    with pytest.raises(QuestionError, match="have totals"):
        opened().sql("SELECT MEDIAN(cost) FROM study GROUP BY ROLLUP (ward)", epsilon=1)


def test_a_share_beside_groups_is_named_and_bought_once() -> None:
    columns: dict[str, Column] = {"ward": rt.category(WARDS), "sex": rt.category([0, 1]), "cost": rt.real(0, 1000)}
    data = {**rows(3_000), "sex": [place % 2 for place in range(3_000)]}
    opened = rt.study(data, adjacency="add_remove", columns=columns, budget=10)
    plan = opened.plan(
        ["count by ward, sex", "test(ward ~ sex)", "sum(cost) by sex, cost > 9, cost * 0 > 1"], epsilon=5
    )
    names = [line.name for line in plan.lines if line.name.startswith("incomplete")]
    assert names == ["incomplete(ward, sex)", "incomplete(sex, cost, cost > 9, cost * 0 > 1)"]
    grouped = opened.sql("SELECT ward, sex, COUNT(*) AS n FROM study GROUP BY ward, sex", epsilon=1)
    assert not [answer.name for answer in grouped.release.answers if "cross" in answer.name]


def test_a_union_is_one_table_and_costs_what_its_filter_costs(same_noise: Callable[[], None]) -> None:
    sides = """SELECT 'old' AS class, cost / 2 AS c FROM study WHERE age >= 65
               UNION ALL SELECT 'young', cost FROM study WHERE age < 65 AND ward <> 'west'"""
    same_noise()
    found = study().sql(f"SELECT class, AVG(c) AS m, COUNT(*) AS n FROM ({sides}) t GROUP BY class", epsilon=2)
    same_noise()
    old = rt.col("age") >= 65
    condition = old | ((rt.col("age") < 65) & (rt.col("ward") != "west"))
    c = rt.case([(old, rt.col("cost") / 2)], otherwise=rt.col("cost"))
    label = rt.case([(old, "old")], otherwise="young")
    asked = [rt.mean(c).where(condition).by(label), rt.count().where(condition).by(label)]
    release = study().release(asked, epsilon=2)
    assert found.release.guarantee.loss == release.guarantee.loss
    told = found.columns()
    for name, answer in (("m", release.answers[0]), ("n", release.answers[1])):
        assert dict(zip(told["class"], told[name], strict=True)) == {
            cell.label[0][1]: Answer("", (cell,)).value for cell in answer
        }
    mixed = "SELECT ward AS c FROM study WHERE age >= 65 UNION ALL SELECT cost FROM study WHERE age < 65"
    with pytest.raises(QuestionError):
        study().plan(f"SELECT AVG(c) FROM ({mixed}) t", epsilon=1)


def test_a_selection_prints_and_draws_each_number_once() -> None:
    found = study().sql(
        f"SELECT ward, AVG(cost) AS mean_cost, COUNT(*) AS n, SUM(cost) / COUNT(*) AS each {CLAUSES} ORDER BY n",
        epsilon=5,
    )
    text = " ".join(str(found).split())
    assert text.startswith("ward mean_cost (95 %) n (95 %) each (95 %)")
    assert "mean_cost (95 %)" in found._repr_html_()
    for row in found:
        for value in row.values[1:]:
            assert isinstance(value, Answer)
            number = printed(value.cells[0])  # with its interval: two answers may share a rounded value
            assert number is not None
            assert text.count(f" {number.value} ({number.interval})") == 1
    assert text.count("guarantee ε 5") == 1
    assert "mean(cost): population mean of cost" in text
    drawn = found.plot()
    titles = [axes.get_title("left") for axes in drawn.axes]
    assert titles == ["mean(cost) where age >= 65 by ward", "count where age >= 65 by ward", "each"]
    for axes, place in zip(drawn.axes, (1, 2, 3), strict=True):
        beside = {one.get_text() for one in axes.texts}
        for row in found:
            number = printed(row.values[place].cells[0])  # type: ignore[union-attr]  # answers
            assert number is not None
            assert f"{number.value} ({number.interval})" in beside


def test_a_wide_selection_is_printed_in_eighty_characters_with_its_groups_beside_every_number() -> None:
    numbers = ", ".join(f"AVG(cost) AS average_cost_of_a_stay_{place}, COUNT(*) AS n_{place}" for place in range(3))
    found = study().sql(f"SELECT {numbers}, ward {CLAUSES}", epsilon=5)
    lines = str(found).split("\n")
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if line.startswith("ward ")]
    assert [head.split()[1] for head in heads] == [
        "average_cost_of_a_stay_0",
        "average_cost_of_a_stay_1",
        "average_cost_of_a_stay_2",
    ]
    assert all(sum(line.startswith(f"{ward} ") for line in lines) == 3 for ward in WARDS)


def test_a_long_selection_prints_as_many_rows_as_a_release_does() -> None:
    found = study().sql("SELECT age, COUNT(*) AS n FROM study GROUP BY age", epsilon=5)
    lines = str(found).split("\n")
    assert lines.index("… 53 more: frame() has all") == 41
    assert len(found) == 93


def test_every_result_with_answers_is_drawn() -> None:
    opened, asked = study(), ["mean(cost) by ward", "count"]
    for made in (
        opened.release(asked, epsilon=1),
        opened.rehearse(asked, epsilon=1),
        opened.sql("SELECT COUNT(*) FROM study", epsilon=1),
    ):
        assert made.plot().axes[-1].get_xlabel() == "rows"


def test_a_selection_without_a_row_or_a_number_is_drawn() -> None:
    opened = study()
    assert opened.sql("SELECT COUNT(*) AS n FROM study HAVING n > 1e6", epsilon=1).plot() is not None
    assert opened.sql("SELECT ward, COUNT(*) AS n FROM study GROUP BY ward LIMIT 1", epsilon=1).plot() is not None


def test_no_reply_is_named_and_has_no_number() -> None:
    few = rt.study(
        {"x": [1.0, 2.0], "g": ["a", "a"]},
        adjacency="add_remove",
        columns={"x": rt.real(0, 10), "g": rt.category(["a", "b"])},
        budget=1,
    )
    found = few.sql("SELECT g, AVG(x) AS m, 1 / COUNT(*) AS c FROM study GROUP BY g ORDER BY m", epsilon="0.1")
    columns = found.columns()
    assert columns["m"] == [None, None]
    assert [str(text).split(", ")[0] for text in columns["no_reply"]] == ["m", "m"]
    assert "no reply" in str(found)


def test_a_select_is_planned_and_rehearsed_free() -> None:
    opened = study()
    text = f"SELECT ward, AVG(cost) {CLAUSES}"
    assert "mean(cost) where age >= 65 by ward" in str(opened.plan(text, epsilon=1))
    assert opened.rehearse(text, epsilon=1).answers[0].name == "mean(cost) where age >= 65 by ward"
    assert opened.ledger.spent() == rt.PureDP(Fraction(0))


def test_the_cost_may_stand_in_the_statement() -> None:
    opened = study()
    opened.sql("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) FROM study")
    assert opened.ledger.spent() == rt.PureDP(Fraction(1, 2))
    with pytest.raises(Refusal, match="Say what the release may cost"):
        opened.sql("SELECT COUNT(*) FROM study")


def test_nothing_is_charged_for_what_is_refused() -> None:
    opened = study()
    for text in ("SELECT * FROM study", "SELECT MAX(cost) FROM study", "SELECT COUNT(*) FROM elsewhere", "SELECT"):
        with pytest.raises(QuestionError, match=r"Nothing was charged\."):
            opened.sql(text, epsilon=1)
    assert opened.ledger.spent() == rt.PureDP(Fraction(0))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    data = rows(3_000)
    lines = [",".join(data), *(",".join(map(str, row)) for row in zip(*data.values(), strict=True))]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "visits.toml").write_text(FILE, "utf-8")
    return tmp_path / "visits.toml"


@pytest.mark.wide
def test_the_command_line_has_the_options_of_a_release(file: Path) -> None:
    """But those that a statement says itself, and an extension, whose statistics have no word in SQL."""
    by_hand = {"named", "ask", "columns", "extensions"}
    assert {one.name for one in release_verb.params} - {one.name for one in sql_verb.params} <= by_hand
    folder = file.parent
    assert run("init", "--key", str(folder / "officer")).code == 0
    more = ("--key", str(folder / "officer.key"), "--xlsx", "--ledger", str(folder / "other.ledger"), "--audit")
    text = "SELECT COUNT(*) FROM visits"
    done = run("sql", str(file), text, "--epsilon", "1", "--yes", "--out", str(folder / "out"), *more)
    assert done.code == 0, done.said
    assert (folder / "out.xlsx").exists()
    assert (folder / "other.ledger").exists()
    signed = ("--ledger", str(folder / "other.ledger"), "--key", str(folder / "officer.pub"))
    assert run("verify", str(folder / "out.json"), *signed).code == 0


def test_the_command_line_plans_and_releases(file: Path, same_noise: Callable[[], None]) -> None:
    text = "SELECT ward, AVG(cost) AS mean_cost FROM visits GROUP BY ward"
    planned = run("sql", str(file), text, "--epsilon", "1", "--plan")
    assert planned.code == 0
    assert "mean(cost) by ward" in planned.out
    assert not (file.parent / "visits.ledger").exists()
    same_noise()
    done = run("sql", str(file), text, "--epsilon", "1", "--yes", "--json", "--out", str(file.parent / "out"))
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["verb"] == "sql"
    same_noise()
    python = rt.open(file).sql(text, epsilon=1)
    assert isinstance(python, Selection)
    assert document["columns"] == python.columns()
    assert run("verify", str(file.parent / "out.json"), "--allow-unsigned").code == 0
    shown = run("sql", str(file), text, "--epsilon", "1", "--yes")
    assert shown.code == 0
    assert "mean_cost" in shown.out
    assert run("sql", str(file), "SELECT * FROM visits", "--epsilon", "1").code == 5
