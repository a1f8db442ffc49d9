"""Expressions: text and tree name one another, ranges hold, and what is no expression is refused in words."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

import reticent as rt
from reticent.data import expression_text, expression_tree, formula
from reticent.data.dates import date, datetime
from reticent.data.expression import OPERATIONS, bind
from reticent.data.expression_tree import Application, ColumnName, NumberLiteral, Tree
from reticent.data.expression_types import Dates, Labels, Numbers, Truth
from reticent.data.schema import Column, category, integer, real
from reticent.errors import QuestionError, Refusal
from tests.support.expression_reference import cell_of, evaluate
from tests.support.expressions import Maker

COLUMNS: dict[str, Column] = {
    "age": integer(0, 120),
    "cost": real(-10, 1000),
    "u": real(),
    "ward": category(["North ", "south", "é"]),
    "level": category([1, 2, 30]),
    "ill": category([True, False]),
    "hours-per-week": integer(0, 99),
    "born": date("0001-01-01", "9999-12-31"),
    "came": date("2020-01-01", "2024-12-31"),
    "left": datetime("2019-12-31T23:00", "2025-01-01", resolution="minute"),
}


def kind_of(text: str) -> object:
    return bind(expression_text.read(text), COLUMNS)[1]


def random_row(chance: random.Random) -> dict[str, float | str | bool | None]:
    cells: dict[str, float | str | None] = {
        "age": chance.choice([None, 0.0, 17.0, 120.0, 500.0]),
        "cost": chance.choice([None, -10.0, -0.0, 0.1, 999.5, math.inf]),
        "u": chance.choice([None, 0.0, -1e308, 1e308, 5e-324, 2.0**53 + 2, math.inf, -math.inf]),
        "ward": chance.choice([None, "North ", "south", "é"]),
        "level": chance.choice([None, "1", "2", "30"]),
        "ill": chance.choice([None, "true", "false"]),
        "hours-per-week": chance.choice([None, 40.0]),
        "born": chance.choice([None, -719162.0, 2932896.0, 11016.0, -1.0]),
        "came": chance.choice([None, 18321.0, 18262.0, 20088.0, 1e9]),
        "left": chance.choice([None, 26297279.0, 27000000.0, 28927999.0, -1e9]),
    }
    return {name: cell_of(cell, COLUMNS[name]) for name, cell in cells.items()}


@pytest.mark.parametrize("seed", range(3))
def test_text_and_tree_name_one_another(seed: int) -> None:
    maker = Maker(COLUMNS, random.Random(seed))
    for _ in range(300):
        made = maker.truth(4) if maker.chance.random() < 0.5 else maker.number(4)
        try:
            tree, kind = bind(made, COLUMNS)
        except Refusal:
            continue
        text = expression_tree.write(tree)
        assert bind(expression_text.read(text), COLUMNS) == (tree, kind), text


@pytest.mark.parametrize("seed", range(3))
def test_values_lie_within_the_range_that_is_derived(seed: int) -> None:
    maker, found = Maker(COLUMNS, random.Random(seed)), set()
    for _ in range(300):
        try:
            make = maker.chance.choice((maker.number, maker.number, maker.truth, maker.date, maker.of_dates))
            tree, kind = bind(make(3), COLUMNS)
        except Refusal:
            continue
        for _ in range(10):
            value = evaluate(tree, random_row(maker.chance))
            found.add(type(value))
            if value is None:
                continue
            match kind:
                case Numbers(low=low, high=high, whole=whole, step=step):
                    assert isinstance(value, float)
                    assert math.isfinite(value)
                    assert low is None or value >= float(low), expression_tree.write(tree)
                    assert high is None or value <= float(high), expression_tree.write(tree)
                    assert not whole or value % step == 0, expression_tree.write(tree)
                case Dates(low=low, high=high):
                    assert isinstance(value, float)
                    assert low <= value <= high, expression_tree.write(tree)
                    assert value == math.floor(value)
                case Truth(possible=possible):
                    assert value in possible, expression_tree.write(tree)
    assert found == {float, bool, type(None)}


def test_a_range_holds_what_rounding_leaves() -> None:
    tree, kind = bind(expression_text.read("clamp(u, 0.1, 0.2) + 1e16 - 1e16"), COLUMNS)
    assert evaluate(tree, {"u": 0.1}) == 0
    assert kind == Numbers(Fraction(0), Fraction(0))
    assert kind_of("clamp(u, 0, 1) / 10 * 10") == Numbers(Fraction(0), Fraction(1))


def test_a_range_follows_from_the_bounds_of_the_columns() -> None:
    assert kind_of("age * 2 - 10") == Numbers(Fraction(-10), Fraction(230), whole=True, step=2)
    assert kind_of("abs(cost)") == Numbers(Fraction(0), Fraction(1000))
    assert kind_of("floor(cost, 10)") == Numbers(Fraction(-10), Fraction(1000), whole=True, step=10)
    assert kind_of("clamp(u, 0, 5)") == Numbers(Fraction(0), Fraction(5))
    assert kind_of("u + age") == Numbers()
    assert kind_of("age >= 121") == Truth(frozenset({False}))
    assert kind_of("age < 121") == Truth(frozenset({True}))
    assert kind_of("cut(age, 0 18 65 120)") == Labels(("[0, 18)", "[18, 65)", "[65, 120]"))
    assert kind_of("left(lower(trim(ward)), 1)") == Labels(("n", "s", "é"))


@pytest.mark.parametrize(
    ("text", "row", "value"),
    [
        ("age = 3 or u > 0", {"age": None, "u": 1.0}, True),
        ("age = 3 and u > 0", {"age": None, "u": -1.0}, False),
        ("age = 3 or u > 0", {"age": None, "u": -1.0}, None),
        ("age is missing", {"age": None}, True),
        ("coalesce(age, 5) + 1", {"age": None}, 6.0),
        ("u * 10", {"u": 1e308}, None),
        ("log(u)", {"u": 0.0}, None),
        ("sqrt(u)", {"u": -1.0}, None),
        ("floor(u, 0.5)", {"u": -0.3}, -0.5),
        ("case when age >= 18 then 1 else 0 end", {"age": None}, 0.0),
        ('recode(ward, "south" = "S")', {"ward": "é"}, None),
        ("cut(age, 0 18 65)", {"age": 65.0}, "[18, 65]"),
        ("cut(age, 0 18 65)", {"age": 66.0}, None),
        ("level in (1, 30)", {"level": "30"}, True),
        ("ill = true", {"ill": "false"}, False),
        ("age not between 1 and 9", {"age": 9.0}, False),
    ],
)
def test_an_operation_means_what_the_table_says(text: str, row: dict[str, float | str | None], value: object) -> None:
    tree, _ = bind(expression_text.read(text), COLUMNS)
    assert evaluate(tree, row) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hours >= 40", "hours-per-week"),
        ("age in ()", "one value or more"),
        ("cost / age", "public number"),
        ("cost / 0", "not 0"),
        ('ward = "nort"', "not among the listed keys"),
        ('age = "3"', "without quotes"),
        ("ward > 3", "takes numbers"),
        ("0 <= age <= 9", "between"),
        ("case when age > 3 then 1 end", "else"),
        ("frob(age)", "no function"),
        ("age >", "expected"),
        ("cut(age, 9 3)", "rise"),
        ("cut(age, 0:1e9:1)", "at most"),
        ("age >= 1e301", "1e300"),
        ("not " * 200 + "ill = true", "levels"),
        ("(" * 200 + "age" + ")" * 200, "levels"),
        ("ward = true", "not among"),
        ("age is 3", "cannot be read"),
        ("", "expected"),
        ("age % 2 = 0", "cannot be read"),
    ],
)
def test_what_is_no_expression_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words) as refused:
        bind(expression_text.read(text), COLUMNS)
    assert "Nothing was charged" in str(refused.value)


def test_a_formula_of_python_is_the_tree_of_its_text() -> None:
    age, ward, cost = rt.col("age"), rt.col("ward"), rt.col("cost")
    listed = [
        ((age >= 65) & ward.isin(["south", "é"]), 'age >= 65 and ward in ("south", "é")'),
        (~(age < 3) | (cost == 1), "not age < 3 or cost = 1"),
        ((2 * cost - 1) / 4, "(2 * cost - 1) / 4"),
        (age.between(1, 9) & (1 - age != 0), "age >= 1 and age <= 9 and 1 - age != 0"),
        (ward.recode({"south": "s"}), 'recode(ward, "south" = "s")'),
        (age.cut([0, 18, 65]), "cut(age, 0, 18, 65)"),
        (rt.case([(age > 3, cost)], 0), "case when age > 3 then cost else 0 end"),
        (abs(-cost).clamp(0, 5).floor(2).log().sqrt(), "sqrt(log(floor(clamp(abs(0 - cost), 0, 5), 2)))"),
        (
            rt.col("hours-per-week").coalesce(0).least(9).greatest(1),
            "greatest(least(coalesce(`hours-per-week`, 0), 9), 1)",
        ),
        (ward.lower().trim().left(2), "left(trim(lower(ward)), 2)"),
        (age.is_missing(), "age is missing"),
        (~age.is_missing() & (cost > 1), "age is not missing and cost > 1"),
        (~ward.isin(["south"]), 'ward not in ("south")'),
        (~(age.is_missing() | ~age.isin([1])), "not (age is missing or age not in (1))"),
    ]
    for made, text in listed:
        assert repr(made) == text
        assert bind(formula.read(made), COLUMNS) == bind(expression_text.read(text), COLUMNS)


def test_a_formula_has_no_truth_value_of_its_own() -> None:
    with pytest.raises(QuestionError, match="each in brackets"):
        bool(rt.col("age") > 3)
    with pytest.raises(QuestionError, match="one value or more"):
        rt.col("ward").isin("south")
    with pytest.raises(QuestionError, match="made of columns"):
        rt.col("age").greatest(object())  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_no_text_ends_in_anything_but_a_tree_or_a_refusal(seed: int) -> None:
    maker, kept = Maker(COLUMNS, random.Random(seed)), 0
    for _ in range(2_500):
        text = maker.noise()
        try:
            tree, _ = bind(expression_text.read(text), COLUMNS)
        except Refusal:
            continue
        kept += 1
        evaluate(tree, random_row(maker.chance))
    assert kept > 10


def test_every_operation_is_made_up_and_met() -> None:
    maker, met = Maker(COLUMNS, random.Random(5)), set()

    def meet(tree: Tree) -> None:
        if isinstance(tree, Application):
            met.add(tree.operation)
            for one in tree.operands:
                meet(one)

    for _ in range(1_000):
        meet(maker.truth(4))
    assert met == set(OPERATIONS) - {"date key"}  # it has no text: a group makes it of a date
    assert isinstance(expression_text.read("age"), ColumnName)


def test_a_tree_by_hand_is_made_of_plain_parts() -> None:
    class Text(str):
        """Says more than its letters."""

        def isidentifier(self) -> bool:
            raise AssertionError("it was asked beside private values")

        __str__ = isidentifier  # type: ignore[assignment]

    tree = Application(Text(">="), (ColumnName(Text("age")), NumberLiteral(Fraction(3))))
    asked = rt.Ask(rt.count(), condition=tree)
    assert asked.name == "count where age >= 3"
    assert isinstance(asked.condition, Application)
    assert type(asked.condition.operation) is str
    assert [type(getattr(one, "column", "")) for one in asked.condition.operands] == [str, str]
    assert all(type(key) is str for key in rt.category([Text("a"), "b"]).among)
    halved = Application("case", (tree, NumberLiteral(Fraction(1)), tree, NumberLiteral(Fraction(2))))
    with pytest.raises(QuestionError, match="one value for all other rows"):
        bind(halved, COLUMNS)
    for wrong in ("age > 3", object(), Application("frob", ()), Application("=", [ColumnName("age")])):  # type: ignore[arg-type]
        with pytest.raises(QuestionError):
            rt.Ask(rt.count(), condition=wrong)  # type: ignore[arg-type]


def test_a_tree_that_shares_its_parts_is_refused_at_once() -> None:
    tree = rt.col("age")
    for _ in range(35):
        tree = tree + tree
    with pytest.raises(QuestionError, match="at most"):
        bind(tree.tree, COLUMNS)


def test_a_name_with_a_backtick_is_read_back() -> None:
    columns = {"a` >= 0 or `b": integer(0, 9)}
    tree, _ = bind(ColumnName("a` >= 0 or `b"), columns)
    assert bind(expression_text.read(expression_tree.write(tree)), columns)[0] == tree


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age is null", "x is missing"),
        ("age > 3 && ill = true", "Write and"),
        ("level = 4", "1, 2, 30"),
        ("age in (u, 3)", "public list"),
    ],
)
def test_words_of_other_languages_are_answered_with_ours(text: str, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        bind(expression_text.read(text), COLUMNS)


def test_a_category_of_truth_values_is_a_condition() -> None:
    assert (
        expression_tree.write(bind(expression_text.read("not ill and age > 3"), COLUMNS)[0])
        == "not ill = true and age > 3"
    )
    assert bind(expression_text.read('ill = "true"'), COLUMNS) == bind(expression_text.read("ill = true"), COLUMNS)
    with pytest.raises(QuestionError, match="in brackets"):
        65 & rt.col("age")


@pytest.mark.parametrize("text", ["cut(y, [0, 5, 9])", "cut(y, (0, 5, 9))", "cut(y, [0 5 9])", "cut(y, (0:5:5, 9))"])
def test_edges_may_stand_in_brackets(text: str) -> None:
    assert expression_text.read(text) == expression_text.read("cut(y, 0, 5, 9)")
    assert expression_tree.write(expression_text.read(text)) == "cut(y, 0, 5, 9)"


def test_a_list_of_values_may_stand_in_square_brackets() -> None:
    assert expression_text.read("g in ['a', \"b\"]") == expression_text.read("g in ('a', 'b')")
    with pytest.raises(QuestionError, match="list one value or more"):
        expression_text.read("g in []")


@pytest.mark.parametrize(("typed", "meant"), [("male", "Male"), ("FEMALE", "Female"), ("Mal", "Male")])
def test_a_key_in_other_capitals_is_the_one_that_was_meant(typed: str, meant: str) -> None:
    """Letter by letter "male" is nearer to Female, which would answer of the others."""
    with pytest.raises(Refusal, match=rf"Did you mean {meant}\?"):
        bind(expression_text.read(f'sex = "{typed}"'), {"sex": category(["Female", "Male"])})
