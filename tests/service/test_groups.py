"""Expressions in place of columns, and groups of several columns, in text, Python, study file and command line."""

from __future__ import annotations

import json
import time
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import reticent as rt
from reticent.conformance.plan_audit import audit
from reticent.data.formula import Expression
from reticent.data.query import Rows
from reticent.data.schema import Column, Person, Schema, category
from reticent.data.table import open_table
from reticent.entropy import Replayed
from reticent.outcome import Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.statistics.grammar import parse
from reticent.study.allocation import settle
from reticent.study.formulas import extended, keys_of, understand
from reticent.study.release import draw
from tests.support.cli_kit import run

FILE = """
[study]
title = "stays"
source = "stays.csv"
ledger = "stays.ledger"
[person]
column = "who"
adjacency = "add_remove"
rows = { at_most = 2 }
[budget]
epsilon = "8"
[columns.age]
kind = "integer"
low = 0
high = 120
[columns.ward]
kind = "category"
among = ["north", "south, old"]
[columns.hours-per-week]
kind = "integer"
low = 0
high = 3
[[release]]
name = "table 1"
epsilon = "8"
ask = ["mean(age * 2) by ward, cut(age, 0:120:60)", "count by hours-per-week, age >= 65"]
"""
ASKED = ("mean(age * 2) by ward, cut(age, 0:120:60)", "count by hours-per-week, age >= 65")
PEOPLE = 1_000


def rows() -> dict[str, list[int | str]]:
    return {
        "who": [place // 2 for place in range(2 * PEOPLE)],
        "age": [place * 7 % 100 for place in range(2 * PEOPLE)],
        "ward": ["north" if place % 3 else "south, old" for place in range(2 * PEOPLE)],
        "hours-per-week": [place % 5 - 1 for place in range(2 * PEOPLE)],
    }


def study(kind: Kind = "add_remove", each: int = 2, **more: Column | Expression) -> rt.Study:
    declared: dict[str, Column | Expression] = {
        "age": rt.integer(0, 120),
        "ward": rt.category(["north", "south, old"]),
        "hours-per-week": rt.integer(0, 3),
        **more,
    }
    return rt.study(rows(), adjacency=kind, columns=declared, person="who", rows_each=each, budget=8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = rows()
    lines = [",".join(table)]
    lines += [",".join(f'"{cell}"' for cell in row) for row in zip(*table.values(), strict=True)]
    (tmp_path / "stays.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "study.toml").write_text(FILE)
    return tmp_path


def counted() -> dict[tuple[int, bool], int]:
    """Rows by hours and age, of which those beyond the bounds count as the nearer bound."""
    table, found = rows(), dict.fromkeys(product(range(4), (False, True)), 0)
    for age, hours in zip(table["age"], table["hours-per-week"], strict=True):
        found[min(max(int(hours), 0), 3), int(age) >= 65] += 1
    return found


@pytest.mark.wide
def test_text_python_and_command_line_ask_the_same_question(folder: Path) -> None:
    in_python = [
        rt.mean(rt.col("age") * 2).by("ward", rt.col("age").cut([0, 60, 120])),
        rt.count().by("hours-per-week", rt.col("age") >= 65),
    ]
    assert [one.name for one in in_python] == ["mean(age * 2) by ward, cut(age, 0, 60, 120)", ASKED[1]]
    opened, memory = rt.open(folder / "study.toml"), study()
    first, second, third = (
        one.plan(asked, epsilon=8) for one, asked in ((opened, ASKED), (memory, ASKED), (memory, in_python))
    )
    assert first.guarantee == second.guarantee == third.guarantee
    assert [line.expected for line in first.lines] == [line.expected for line in third.lines]
    release = memory.release(in_python, epsilon=8)
    for cell in release["count by hours-per-week,age>=65"]:
        hours, old = (key for _, key in cell.label)
        assert isinstance(cell.outcome, Reply)
        # noise of scale 1 goes further less than once in 10^9 runs
        assert abs(cell.outcome.value.value - counted()[int(hours), bool(old)]) < 30
    done = run("release", str(folder / "study.toml"), "--out", str(folder / "out"))
    assert done.code == 0, done.said
    document = json.loads((folder / "out.json").read_text())
    assert [answer["name"] for answer in document["answers"]] == [
        "mean(age * 2) by ward, cut(age, 0, 60, 120)",
        ASKED[1],
    ]
    assert document["columns"]["age * 2"]["from"] == "age * 2"
    assert document["columns"]["age * 2"]["high"] == "240"
    assert document["columns"]["cross(ward, cut(age, 0, 60, 120))"]["among"] == [
        'north, "[0, 60)"',
        'north, "[60, 120]"',
        '"south, old", "[0, 60)"',
        '"south, old", "[60, 120]"',
    ]
    assert "losses re-derived: ε 8 equal" in run("verify", str(folder / "out.json")).said


def test_exact_counts_of_a_product_are_those_of_its_rows() -> None:
    schema = study().schema
    groups = "`hours-per-week`, age >= 65"
    keys = keys_of(schema, groups)
    (asked,) = understand([f"count by {groups}"], schema)
    assert asked.keys == keys
    (found,) = open_table(rows(), schema).run([Rows(keys)], bytes(32), extended(schema, [asked]))
    exact = {label: vector[0] for label, vector in zip(keys.labels, found.vectors, strict=True)}
    assert [*exact.values()] == [*counted().values()]


def test_a_number_floored_to_a_step_has_a_group_for_each_multiple() -> None:
    columns: dict[str, Column] = {"age": rt.integer(5, 120), "cost": rt.real(-60, 2000)}
    schema = Schema(columns, Person("add_remove"))
    assert keys_of(schema, "floor(age, 50)").among == (0, 50, 100)
    assert keys_of(schema, "floor(cost, 1000)").among == (-1000, 0, 1000, 2000)
    assert len(keys_of(schema, "floor(age, 1) + floor(age, 10)").among) == 236
    ages = {"age": [9, 10, 19, 20]}
    told = rt.study(ages, adjacency="add_remove", rows_each=1, columns={"age": rt.integer(0, 29)}, budget=5)
    cells = told.release(["count by floor(age, 10)"], epsilon=5)["count by floor(age, 10)"].cells
    assert [cell.label[0][1] for cell in cells] == [0, 10, 20]


def test_an_expression_is_named_as_it_is_read() -> None:
    texts = (
        "mean(x * 2)",
        "quantile(log(cost), 0.9)",
        "count by a, cut(age, 0:100:10), month",
        'count by recode(a, "x, y" = "z"), b',
        "regress(y ~ (a + b) + log(c))",
        "test(x * 2 ~ cut(y, 0 5 9))",
        'proportion((a = "x"), value=true)',
        "incomplete(log(x), y)",
        "mean(`a, b` * 2)",
        "sum(case when a > 2 then b else 0 end) where c in (1, 2) by d, e",
    )
    for text in texts:
        asked = parse(text)
        assert str(asked) == text
        assert parse(str(asked)) == asked
    assert rt.mean(rt.col("x") * 2) == rt.mean("x * 2")
    assert rt.mean(rt.col("hours-per-week")) == rt.mean("hours-per-week")
    assert repr(rt.mean(rt.col("x") * 2)) == repr(rt.mean("x * 2"))
    assert rt.count().by(rt.col("g") == "a") == rt.count().by('(g = "a")')


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("mean(agee)", "no column 'agee'. Did you mean age"),
        ("mean(agee + 1)", "no column 'agee"),
        ("mean(length * 2)", "no column 'length'"),
        ("mean(log(age)", "cannot be read"),
        ("mean(log(age, ))", "cannot be read"),
        ("mean(5)", "no column '5'"),
        ("mean(who + 1)", "who names the person"),
        ("median(who)", "who names the person: ask for persons"),
        ("count by who", "who names the person"),
        ("mean(log(age))", "low=…, high=… in the question, or clamp"),
        ("regress(log(age) ~ ward)", "needs a range known without looking at the file: clamp.log"),
        ("regress(log(age) ~ age + ward)", "needs a range .* clamp.log.*a robust line of log.age. on age"),
        ("test(age ~ ward, among=[north, south])", "'south' is not one of the values of ward: north, \"south, old\""),
        (
            'test(log(age) ~ ward, among=[north, "south, old"])',
            "known without looking at the file: low=…, high=… in the question",
        ),
        ("mean(age) per person", "mean.x, per=person"),
        ("mean(age * 0)", "one value in every row"),
        ("mean(ward)", "category"),
        ("count by age / 2", "public keys"),
        ("count by ward, ward", "twice"),
        ("count by ward, ", "empty place"),
        ("count by age, cut(age, 0:120:1), cut(age, 0:120:1)", "twice"),
        ("count by age, cut(age, 0:120:1), cut(age, 0:120:0.5)", "121 x 120 x 240 = 3,484,800"),
        ("count by age * age", "more than 1,000"),
    ],
)
def test_what_cannot_stand_in_place_of_a_column_is_refused_before_the_charge(asked: str, words: str) -> None:
    opened = study()
    with pytest.raises(rt.Refusal, match=words):
        opened.release([asked], epsilon=1)
    assert opened.ledger.spent() == rt.PureDP(Fraction(0))


def test_the_person_is_no_group() -> None:
    shown: dict[str, Column | Expression] = {"who": rt.category(["a", "b"]), "x": rt.integer(0, 9)}
    held = rt.study(
        {"who": ["a"], "x": [1]}, adjacency="add_remove", columns=shown, person="who", rows_each=1, budget=1
    )
    for asked in ("count by who", "count by x, who", "mean(x) by left(who, 1)"):
        with pytest.raises(rt.QuestionError, match="names the person"):
            held.plan([asked], epsilon=1)


@pytest.mark.parametrize(("each", "groups", "touch"), [(1, None, 1), (2, None, 2), (9, None, 8), (9, 3, 3)])
def test_the_reach_of_a_person_is_counted_over_the_whole_product(each: int, groups: int | None, touch: int) -> None:
    held = study(each=each).by("hours-per-week", rt.col("age") >= 65, groups=groups)
    assert held._groups is not None
    assert held._groups.touch == touch
    (line, *_) = held.plan(["persons"], epsilon=1).lines
    assert ("of which a person counts in 3 at most" in line.estimand) == (groups == 3)
    alone = study().by("ward", groups=1).plan(["persons"], epsilon=1).lines[0]
    assert line.expected.noise is not None
    assert alone.expected.noise is not None
    assert line.expected.noise / alone.expected.noise == pytest.approx(touch, rel=0.35)


def test_a_product_is_constant_for_a_person_only_where_every_part_is() -> None:
    fixed, free = rt.category(["a", "b"], constant=True), rt.category(["a", "b"])
    schema = Schema({"g": fixed, "h": fixed, "ward": free}, Person("add_remove", "who", 2))
    assert keys_of(schema, "g, h").touch == 1
    assert keys_of(schema, "g, ward").touch == 2


AUDITED = (("count by g, k", "mean(x) by g, x >= 5"), ("sum(x * k) by cut(x, 0:10:5), g", "median(x + k)"))


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize("questions", AUDITED)
@pytest.mark.parametrize(("kind", "most"), [("substitute", 1), ("add_remove", 2), ("substitute", 2)])
def test_plans_of_products_pass_the_audit(questions: tuple[str, ...], kind: Kind, most: int) -> None:
    """The compiled plan moves no exact number further than declared, on made-up neighbours."""
    columns: dict[str, Column | Expression] = {
        "x": rt.real(0, 10),
        "k": rt.integer(0, 2, missing=0),
        "g": rt.category(["a", "b"]),
    }
    held = rt.study(
        {"x": [1.0], "k": [1], "g": ["a"], "who": ["p"]},
        adjacency=kind,
        columns=columns,
        person=None if most == 1 else "who",
        rows_each=None if most == 1 else most,
        budget=10,
    )
    units = 10_000 if kind == "substitute" else None
    plan = settle(understand(questions, held.schema), Cost(Fraction(8)), held.schema, units, "approximate")
    found = audit(plan, held.schema, triples=24)
    assert found.verdict == "passed", found.reason
    assert found.ratio is not None
    # a row that enters or leaves a cell moves half of a count; none of 24 pairs does with chance 1e-6
    assert found.ratio >= Fraction(1, 2)


def test_totals_are_asked_in_the_same_words_everywhere_and_cost_nothing(tmp_path: Path) -> None:
    asked = rt.count().by("ward", rt.col("age") >= 65).with_totals()
    assert asked.name == "count by ward, age >= 65 with totals"
    assert parse(asked.name) == asked
    held = study()
    prices = [held.plan([text], epsilon=1).guarantee.loss for text in (asked.name, "count by ward, age >= 65")]
    assert prices[0] == prices[1]
    release = held.release([asked], epsilon=2)
    answer = release[asked]
    assert [len(cell.label) for cell in answer] == [2, 2, 2, 2, 1, 1, 1, 1, 0]
    frame = release.frame()
    assert frame.column("ward").to_pylist()[-1] is None  # type: ignore[attr-defined]  # an Arrow table
    assert frame.num_rows == 9  # type: ignore[attr-defined]
    said = repr(release)
    assert "ward down, age >= 65 across" in said
    assert any(line.split()[0] == "total" for line in said.splitlines() if line.strip())
    page = release.save(tmp_path / "out", files=[".html"])[0].read_text()
    assert '<p class="of-cross" id="cross-1"><strong>count by ward, age &gt;= 65 with totals</strong>' in page
    assert '<table class="cross" aria-labelledby="cross-1">' in page
    assert page.count('<th scope="row">total</th>') == 1
    whole = release.total(of=asked).value
    assert whole == answer.cells[-1].outcome.value.value  # type: ignore[union-attr]
    with pytest.raises(rt.QuestionError, match="totals are of groups"):
        held.plan(["count with totals"], epsilon=1)


def test_a_plan_says_where_groups_are_too_many_for_the_budget() -> None:
    note = study().plan(["count by hours-per-week, age"], epsilon="1/10", people=500).lines[0].expected.note
    assert note.startswith("484 groups of about 1.5 rows, fewer than the noise")


def test_a_product_that_is_too_wide_for_the_loss_is_refused_before_the_charge() -> None:
    columns: dict[str, Column] = {"age": rt.integer(0, 120), "ward": rt.category(["a", "b", "c"])}
    rows = {"age": [n % 120 for n in range(300)], "ward": ["abc"[n % 3] for n in range(300)]}
    study = rt.study(rows, adjacency="substitute", rows_each=1, columns=columns, budget=5)
    with pytest.raises(rt.QuestionError, match=r"count by ward, age has 363 groups of about 0\.83 rows, with a"):
        study.release(["count by ward, age"], epsilon="1/5")
    assert study.ledger.spent() == rt.PureDP(Fraction(0))
    assert study.release(["count by ward, cut(age, 0:120:60)"], epsilon="1/5").replied
    assert study.release(["count by ward, age"], epsilon="1/5", record=rt.Record(try_anyway=True)).replied


def test_text_python_and_the_same_noise_give_the_same_numbers() -> None:
    """Every spelling of a question compiles to the same draws: with one stream of noise the answers are equal."""
    held, found = study(), []
    for asked in (
        ["mean(age*2) where age>=20 by ward,cut(age,0:120:20) with totals"],
        [
            rt.mean(rt.col("age") * 2)
            .where(rt.col("age") >= 20)
            .by("ward", rt.col("age").cut(range(0, 121, 20)))
            .with_totals()
        ],
    ):
        prepared = settle(understand(asked, held.schema), Cost(Fraction(4)), held.schema, None, "approximate")
        answers, _ = draw(prepared, open_table(rows(), held.schema), Replayed("same"), lambda _: None)
        found.append(answers)
    assert found[0] == found[1]


def test_a_long_list_is_understood_in_time_that_its_length_says() -> None:
    """A key was looked for from the start of the list: 30,000 took 10 seconds of the processor, and take .05."""
    listed = [f"k{number}" for number in range(30_000)]
    schema = Schema({"g": category(listed)}, Person("add_remove"))
    start = time.process_time()
    assert keys_of(schema, "g").among == tuple(listed)
    assert keys_of(schema, "g", listed[::-1]).among == tuple(listed[::-1])
    for odd in ("nobody", None, [listed[0]], (listed[0],)):
        with pytest.raises(rt.QuestionError, match=r"is not among the declared values of g: k0, .* and 29,980 more\.$"):
            keys_of(schema, "g", [odd])  # type: ignore[list-item]
    assert time.process_time() - start < 2


def wide_study(people: int = 400) -> rt.Study:
    columns: dict[str, Column] = {"x": rt.real(0, 1)}
    columns |= {name: rt.integer(0, 999) for name in ("a", "b", "c")}
    rows: dict[str, list[float]] = {"x": [0.5] * people}
    rows |= {name: [n * step % 1000 for n in range(people)] for name, step in (("a", 1), ("b", 7), ("c", 3))}
    return rt.study(rows, adjacency="add_remove", columns=columns, budget=9)


@pytest.mark.wide
def test_a_product_of_more_groups_than_work_well_is_refused_in_words() -> None:
    study = wide_study()
    assert study.plan(["count by floor(a, 10), b"], epsilon=1).lines[0].name == "count by floor(a, 10), b"  # 100,000
    with pytest.raises(rt.QuestionError, match=r"1,000 x 1,000 = 1,000,000, and at most 100,000 can be asked for"):
        study.plan(["count by a, b"], epsilon=1)


@pytest.mark.wide
def test_groups_that_are_drawn_one_by_one_are_refused_where_no_certificate_holds_them() -> None:
    study = wide_study()
    with pytest.raises(rt.QuestionError, match=r"median\(x\) by floor\(a, 20\), b makes 100,001 draws one by one"):
        study.plan(["median(x) by floor(a, 20), b"], epsilon=1)
    assert study.plan(["mean(x) by floor(a, 20), b"], epsilon=1).lines


@pytest.mark.wide
def test_a_wide_product_is_answered_cell_by_cell(tmp_path: Path) -> None:
    study = wide_study(3_000)
    made = study.release(["count by floor(a, 40), floor(b, 2)"], epsilon=9, record=rt.Record(try_anyway=True))
    answer = made["count by floor(a, 40), floor(b, 2)"]
    assert len(answer.cells) == 12_500
    true: Counter[tuple[object, ...]] = Counter((n % 1000 // 40 * 40, n * 7 % 1000 // 2 * 2) for n in range(3_000))
    found = {tuple(key for _, key in cell.label): cell.outcome for cell in answer}
    inside = [
        reply.value.low <= true.get(key, 0) <= reply.value.high
        for key, reply in found.items()
        if isinstance(reply, Reply)
    ]
    assert len(inside) == 12_500
    assert sum(inside) > 11_900
    made.save(tmp_path / "wide", files=(".csv",))
    assert (tmp_path / "wide.csv").read_text("utf-8").count("\n") == 12_501
