"""Weights as people say them: study file, question, Python; refusals before the charge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.data.study_file import read_spec
from reticent.errors import QuestionError, Refusal, SpecError
from reticent.statistics.grammar import parse
from reticent.statistics.statistic import Ask

ROWS = {"w": [1.0, 2.0, 3.0, 4.0] * 50, "x": [1, 2, 3, 4] * 50, "g": ["a", "b", "b", "b"] * 50}
COLUMNS: dict[str, Column] = {"w": rt.real(0, 4), "x": rt.integer(0, 9), "g": rt.category(["a", "b"])}


def study(**given: Any) -> rt.Study:
    return rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, budget=5000, override="a test", **given)


MUCH = rt.Record(override="a test")


TEXTS = (
    "mean(x) weight w",
    "count weight w where x > 1 by g with totals",
    "mean(x, epsilon=0.1) weight w",
    'sum(x) weight w * 2 where g = "a"',
    "proportion(g, value=a) weight w by g",
    "persons weight 1",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_weighted_question_is_printed_as_it_is_read(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_a_column_called_weight_stands_in_conditions_and_groups() -> None:
    asked = parse("mean(x) where weight > 3 by cut(weight, 0:9:3)")
    assert asked.weights is None
    assert parse("mean(weight) weight weight where weight > 3").weights == "weight"


def test_python_and_text_ask_the_same() -> None:
    assert rt.mean("x").where("x > 1").weight("w").by("g") == parse("mean(x) weight w where x > 1 by g")
    assert str(rt.count().weight(rt.col("w") / 2)) == "count weight w / 2"


def test_a_weighted_release_estimates_the_population() -> None:
    held = study(design="fixed")
    found = held.release(
        [rt.mean("x").weight("w"), rt.count().weight("w"), "sum(x) weight w", "mean(x)"], epsilon=400, record=MUCH
    )
    assert found["mean(x) weight w"].value == pytest.approx(3.0, abs=0.05)
    assert found["count weight w"].value == pytest.approx(500, abs=5)
    assert found["sum(x) weight w"].value == pytest.approx(1500, abs=15)
    assert found["mean(x)"].value == pytest.approx(2.5, abs=0.05)
    assert found["count weight w"].estimand.startswith("size of the population: sum of w")
    assert any("nothing off for strata" in caveat for caveat in found["mean(x) weight w"].caveats)


def test_the_weight_of_a_study_is_that_of_every_question() -> None:
    held = study(weight="w", design={"weights": "fixed", "cluster": 3, "likeness": "0.5"})
    asked: list[Ask | str] = ["mean(x)", rt.mean("x").weight("1"), "histogram(g) where x > 0", "persons weight 1"]
    found = held.release(asked, epsilon=400, record=MUCH)
    assert [*found] == ["mean(x) weight w", "mean(x)", "histogram(g) weight w where x > 0", "persons"]
    sizes = [cell.outcome for cell in found["histogram(g) where x > 0"]]
    assert [round(one.value.value) for one in sizes if isinstance(one, rt.Reply)] == [50, 450]
    assert any("cluster of up to 3 are alike by 0.5" in caveat for caveat in found["mean(x) weight w"].caveats)


def test_margins_of_weighted_counts_add_up() -> None:
    answer = study(design="fixed").release(["count weight w by g with totals"], epsilon=400, record=MUCH)[
        "count weight w by g with totals"
    ]
    a, b, both = (cell.outcome.value.value for cell in answer)  # type: ignore[union-attr]
    assert both == pytest.approx(a + b)
    assert a == pytest.approx(50, abs=3)


REFUSED = (
    ("iqr(x, method=joint) weight w", "takes no weight"),
    ("scale(x) weight w", "takes no weight"),
    ("median(x, method=M) weight w", "takes no weight"),
    ("quantiles(x, 0.1 0.9, method=joint) weight w", "takes no weight"),
    ("test(x ~ g) weight w", "takes no weight"),
    ("regress(x ~ w, method=theil_sen) weight w", "takes no weight"),
    ("regress(x ~ w) weight w by g", "not asked by group"),
    ("mean(x, per=person) weight w", "leave out per=person"),
    ("mean(x, method=clipped) weight w", "takes no weight"),
    ("count(mechanism=gaussian) weight w", "takes no weight"),
    ("mean(x) weight nobody", "There is no column 'nobody'"),
    ("mean(x) weight g", "weight g: weights are numbers"),
    ("mean(x) weight x - 5", "weights are numbers of at least 0"),
)


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_cannot_be_weighted_is_refused_and_nothing_is_charged(text: str, words: str) -> None:
    held = study(design="fixed")
    before = held.ledger.left()
    with pytest.raises(Refusal, match=words):
        held.release([text], epsilon=1)
    assert held.ledger.left() == before


def test_a_weight_needs_a_word_of_how_it_was_made() -> None:
    with pytest.raises(QuestionError, match='design="fixed"'):
        study().release(["mean(x) weight w"], epsilon=1)
    with pytest.raises(SpecError, match='design="fixed"'):
        study(weight="w")
    with pytest.raises(SpecError, match="depend on everybody's rows"):
        study(weight="w", design="calibrated")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"x": rt.real(0, 1)}, "The weight of the study, w: There is no column 'w'"),
        ({"x": rt.real(0, 1), "w": rt.real()}, r"columns=\{\"w\": rt.real\(0, …\)\}"),
        ({"x": rt.real(0, 1), "w": rt.real(-1, 4)}, r"columns=\{\"w\": rt.real\(0, …\)\}"),
        ({"x": rt.real(0, 1), "w": rt.category(["1", "2"])}, r"columns=\{\"w\": rt.real\(0, …\)\}"),
    ],
)
def test_a_weight_of_the_study_is_declared_with_its_largest_value(columns: Mapping[str, Any], words: str) -> None:
    rows = {"x": [0.5], "w": ["1"]}
    held = rt.study(rows, adjacency="add_remove", columns=columns, weight="w", design="fixed", budget=1)
    with pytest.raises(QuestionError, match=words) as refused:
        held.plan(["mean(x)"], epsilon=1)
    assert "trimmed" not in str(refused.value)


def test_a_statistic_without_weights_is_asked_of_the_rows_of_a_weighted_study_by_name() -> None:
    held = study(weight="w", design="fixed")
    with pytest.raises(QuestionError, match=r"sd\(x\) weight 1"):
        held.plan(["sd(x)"], epsilon=1)
    held.plan(["sd(x) weight 1"], epsilon=1)


def test_the_weighted_distance_of_quartiles_is_that_of_the_population() -> None:
    """One statement of what is asked; the plan has a line of it."""
    held = study(weight="w", design="fixed")
    line = held.plan(["iqr(x)"], epsilon=5).lines[0]
    assert line.name == "iqr(x) weight w"
    assert {"weights all alike", "weights few of them large"} <= {name for name, _, _ in line.expected.others}
    found = held.release(["iqr(x)", "iqr(x) by g"], epsilon=900, record=MUCH)
    answer = found["iqr(x) weight w"]
    assert answer.value == 4 - 2  # of the weights a quarter lies at 2, and three quarters at 4
    assert answer.estimand.startswith("distance of the population quartiles of x, rows weighted by w")
    assert "weights of w above 4 count as that" in answer.caveats
    assert [
        cell.outcome.value.value for cell in found["iqr(x) weight w by g"] if isinstance(cell.outcome, rt.Reply)
    ] == [1]


def test_weighted_quantiles_are_those_of_the_population() -> None:
    """Of the rows 3 of 4 are at most 3; of the weights 4 in 10 lie above it."""
    held = study(weight="w", design="fixed")
    found = held.release(["median(x)", "median(x) weight 1", "quantiles(x, 0.2 0.7)"], epsilon=400, record=MUCH)
    assert found["median(x) weight w"].value == 3
    assert found["median(x)"].value in (2, 3)
    cells = [cell.outcome for cell in found["quantiles(x, 0.2 0.7) weight w"]]
    assert [one.value.value for one in cells if isinstance(one, rt.Reply)] == [2, 4]
    assert found["median(x) weight w"].estimand.startswith("population median of x, rows weighted by w")
    assert "weights of w above 4 count as that" in found["median(x) weight w"].caveats
    assert any("nothing off for strata" in caveat for caveat in found["median(x) weight w"].caveats)


@pytest.mark.wide
def test_weighted_least_squares_are_those_of_the_population() -> None:
    """A slope of 1 in a light half and of 3 in a heavy one: weights of 1 and 4 bring it to 2.6."""
    x, heavy = [0.0, 1.0, 2.0, 3.0] * 100, [0.0] * 200 + [1.0] * 200
    rows = {
        "x": x,
        "y": [a * (1 + 2 * h) for a, h in zip(x, heavy, strict=True)],
        "w": [1.0 + 3.0 * h for h in heavy],
        "u": x,
    }
    columns = {"x": rt.real(0, 3), "y": rt.real(0, 9), "w": rt.real(0, 4), "u": rt.real()}
    held = rt.study(rows, adjacency="add_remove", columns=columns, budget=5000, override="a test", design="fixed")
    found = held.release(["regress(y ~ x) weight w", "regress(y ~ x)"], epsilon=900, record=MUCH)
    weighted, plain = found["regress(y ~ x) weight w"], found["regress(y ~ x)"]
    slopes = [answer.cells[1].outcome.value.value for answer in (weighted, plain)]  # type: ignore[union-attr]
    assert slopes == pytest.approx([(1 + 4 * 3) / 5, 2], abs=0.02)
    assert ", rows weighted by w, every number cut to its bounds" in weighted.estimand
    assert any("nothing off for strata" in caveat for caveat in weighted.caveats)
    with pytest.raises(QuestionError, match="takes public bounds"):
        held.plan(["regress(y ~ u) weight w"], epsilon=1)


def test_a_plan_of_a_weighted_median_says_what_it_supposes() -> None:
    held = rt.study(ROWS, adjacency="add_remove", columns=COLUMNS, weight="w", design="fixed", budget=9, people=900)
    (line, *_) = held.plan(["median(x)"], epsilon=8).lines
    assert "weights as surveys have them: a mean of 0.12 of the largest; closer bounds" in line.expected.note


FILE = """
[study]
title = "weighted"
source = "rows.csv"
weight = "w"
design = {design}

[person]
adjacency = "add_remove"
rows = "one_each"

[budget]
epsilon = "1"

[columns.w]
kind = "real"
low = 0
high = 4
"""


def test_a_study_file_declares_weight_and_design(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(FILE.format(design='{ weights = "fixed", cluster = 5, likeness = "0.1", fraction = 0.25 }'))
    design = read_spec(file).schema.design
    assert design is not None
    assert (design.weight, design.cluster, str(design.likeness), str(design.fraction)) == ("w", 5, "1/10", "1/4")
    assert design.factor == (1 + 4 * design.likeness) * (1 - design.fraction)


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ('"raked"', "depend on everybody"),
        ('{ weights = "fixed", cluster = 0 }', "an integer from 1"),
        ('{ weights = "fixed", fraction = 1 }', "no sample"),
        ('{ weights = "fixed", stratum = "g" }', "Did you mean strata"),
        ("3", "a word or a table"),
    ],
)
def test_a_design_that_cannot_be_used_is_refused(tmp_path: Path, design: str, words: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(FILE.format(design=design))
    with pytest.raises(SpecError, match=words):
        read_spec(file)
