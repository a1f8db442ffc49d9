"""A filter proves columns readable by its structure alone, and no share of their odd cells is bought."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

import reticent as rt
from reticent.data.contradictions import readable_columns
from reticent.data.expression import Cell
from reticent.data.expression_text import read
from reticent.data.expression_tree import Application, ColumnName, NumberLiteral, Tree
from reticent.data.schema import Column, Person, Schema, category, integer, real
from reticent.data.transformations import computed, filtered
from tests.support.expression_reference import evaluate

COLUMNS: dict[str, Column] = {
    "age": integer(0, 3),
    "cost": real(0, 3),
    "zero": integer(0, 3, missing=2),
    "ward": category(["a", "b"]),
    "ill": category([True, False]),
}
PROVED = {
    "age >= 2": "age",
    "age between 1 and 2": "age",
    "age in (1, 2) and ward = 'a'": "age ward",
    "not age in (1, 2)": "age",
    "age > 1 or cost > 1": "",
    "age > 1 or age < 1": "age",
    "(age > 1 and cost > 1) or cost < 1": "cost",
    "not (age > 1 and cost > 1)": "",
    "not (age > 1 or cost > 1)": "age cost",
    "age is missing": "",
    "age is not missing": "age",
    "not (age is missing or cost is missing)": "age cost",
    "age is missing or age > 1": "",
    "age + cost > 2": "age cost",
    "coalesce(age, 3) > 2": "",
    "case when age > 1 then cost else 3 end > 2": "",
    "zero > 1": "",
    "zero + age > 1": "age",
    "ill": "ill",
    "not ill and age != 2": "age ill",
    "double > 2": "age double",
}


def _schema() -> Schema:
    return computed(Schema(COLUMNS, Person("add_remove")), "double", read("age * 2"))


@pytest.mark.parametrize("text", PROVED)
def test_a_filter_proves_just_these_columns(text: str) -> None:
    assert readable_columns(filtered(_schema(), read(text))) == {*PROVED[text].split()}


def test_a_study_that_is_filtered_twice_proves_what_either_does() -> None:
    assert readable_columns(filtered(filtered(_schema(), read("age > 1")), read("ward = 'a'"))) == {"age", "ward"}


def _condition(dice: random.Random, depth: int) -> Tree:
    """A random condition over age and cost."""
    names = [ColumnName("age"), ColumnName("cost")]
    if depth and dice.random() < 0.7:
        word = dice.choice(["and", "or", "not"])
        return Application(word, tuple(_condition(dice, depth - 1) for _ in range(1 if word == "not" else 2)))
    values: list[Tree] = [*names, Application("+", tuple(names)), Application("coalesce", tuple(names))]
    value = dice.choice(values)
    if dice.random() < 0.3:
        return Application("is missing", (value,))
    return Application(dice.choice(["=", "<", ">=", "in"]), (value, NumberLiteral(Fraction(1))))


def test_no_row_that_passes_lacks_a_cell_of_a_proved_column() -> None:
    dice, base, proved = random.Random(7), Schema(COLUMNS, Person("add_remove")), 0
    cells = [0.0, 1.0, 2.0, None]
    for _ in range(300):
        tree = _condition(dice, 3)
        found = readable_columns(replace(base, where=tree))
        proved += bool(found)
        for age, cost in product(cells, cells):
            row: Mapping[str, Cell] = {"age": age, "cost": cost}
            if evaluate(tree, row) is True:
                assert all(row[name] is not None for name in found), tree
    assert proved > 50  # of 300, or nothing was held against anything


def test_the_share_of_a_proved_column_is_not_bought_and_its_loss_goes_to_the_answer() -> None:
    study = rt.study(
        {"age": [70, 20] * 50, "cost": [1, 2] * 50},
        adjacency="add_remove",
        columns={"age": rt.integer(0, 110), "cost": rt.real(0, 9)},
        rows_each=1,
        budget=9,
    )
    whole = study.plan(["mean(age) where age >= 65"], epsilon=1)
    assert [line.name for line in whole.lines] == ["mean(age) where age >= 65"]
    other = study.plan(["mean(cost) where age >= 65"], epsilon=1)
    assert len(other.lines) == 2
    answer = study.release(["mean(age) where age >= 65"], epsilon=1)["mean(age) where age >= 65"]
    assert answer.incomplete is None
    assert "readable age" not in answer.estimand
