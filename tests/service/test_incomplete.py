"""Cells that are missing, cannot be read or are not listed: a noisy share of them stands beside every answer."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pytest

import reticent as rt
from reticent.certificate.certificate import Certificate
from reticent.certificate.render.page import page
from reticent.certificate.render.tables import sheet
from reticent.data.schema import Column, Person, Schema
from reticent.errors import QuestionError
from reticent.mechanisms.registry import axiom_again
from reticent.privacy.cost import Cost
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.rederivation import rederive
from reticent.statistics.answer import IncompleteRows
from reticent.statistics.context import Setting
from reticent.statistics.counts.incomplete_share import _ways, counts_complete, incomplete_step
from reticent.study.allocation import settle
from reticent.study.formulas import understand
from reticent.study.plan import PlanLine

if TYPE_CHECKING:
    from reticent.privacy.adjacency import Kind

SIZE = 4000
PRICES = [f"{1000 + 900 * np.sin(i):,.2f}" for i in range(SIZE)]  # above 999.99 with a comma: no number as declared
ODD = sum("," in price for price in PRICES) / SIZE
NUMBERS: dict[str, Column] = {"price": rt.real(0, 10_000), "site": rt.category(["a", "b"])}
ROWS = {"price": PRICES, "site": ["a", "b", "c", "a"] * (SIZE // 4)}


def study(adjacency: Kind = "add_remove", columns: Mapping[str, Column] | None = None, **more: Any) -> rt.Study:
    return rt.study(ROWS, adjacency=adjacency, columns=NUMBERS if columns is None else columns, budget="10", **more)


def leaves(tree: Guarantee) -> dict[str, Guarantee]:
    return {part.label: part for part in tree.parts}


@pytest.mark.parametrize("adjacency", ["add_remove", "substitute"])
def test_a_share_of_odd_cells_stands_beside_the_answer_wherever_it_is_shown(adjacency: Kind) -> None:
    release = study(adjacency).release(["mean(price)", "count by site"], epsilon="4")
    share = release["mean(price)"].incomplete
    assert share is not None
    assert share.columns == ("price",)
    assert isinstance(share.outcome, rt.Reply)
    # the noise is of scale 10 rows at most, so 25 times that is missed with a probability below 1e-10
    assert abs(share.outcome.value.value - ODD) < 1000 / SIZE / 4
    caveat = next(text for text in release["mean(price)"].caveats if "readable" in text)
    assert float(caveat.split(" %")[0]) == pytest.approx(100 * share.outcome.value.value, abs=0.5)
    assert caveat.endswith("of rows have a missing or unreadable price: they are left out")
    assert release["mean(price)"].estimand.endswith(", among rows with a readable price")
    share_of_rows, _, _ = caveat.partition(" have ")
    shown = f"among rows with a readable price; {share_of_rows} lack a readable value and are left out"
    assert shown in " ".join(repr(release).split())
    assert f"mean(price): {caveat}" in release.certificate.caveats
    assert f"{share_of_rows} lack a readable value and are left out" in page(release.certificate)
    row = next(csv.DictReader(io.StringIO(sheet(release.certificate))))
    assert float(row["incomplete"]) == share.outcome.value.value
    assert rt.read_certificate(release.certificate.to_json()).answers == release.answers
    assert release.certificate.verify(allow_unsigned=True).ok
    by_site = release["count by site"].incomplete
    assert by_site is not None
    assert by_site.columns == ("site",)


def test_a_column_that_is_written_otherwise_than_declared_is_told_of() -> None:
    """Nearly all cells odd: the share asks for the form of the cells. Nothing but the released share decides."""
    advice = "; if most of those cells are filled, declare how they are written: decimal, thousands, na, symbols"
    whole = [f"{number},{number % 100:02d}" for number in range(SIZE)]
    for cells, expected in ((whole, True), (PRICES, False)):
        made = rt.study({"price": cells}, adjacency="add_remove", columns={"price": rt.real(0, 10_000)}, budget="10")
        release = made.release(["median(price)"], epsilon="8")  # the noise of the share is below .1 but for 1e-10
        caveat = next(text for text in release["median(price)"].caveats if "readable" in text)
        assert caveat.endswith(advice) is expected


def test_advice_on_odd_cells_of_a_further_table_names_keys_too() -> None:
    """It ended with a colon and nothing behind it: the columns of further tables were not looked at."""
    columns = {"patients.age": rt.integer(0, 110)}
    schema = rt.study(
        {"id": ["a"], "k": [1]},
        adjacency="add_remove",
        columns={"k": rt.integer(0, 9)},
        person="id",
        rows_each=1,
        budget=1,
        tables={
            "patients": rt.table(
                {"id": ["a"], "age": ["1"]}, key="id", person="id", columns={"age": columns["patients.age"]}
            )
        },
    ).schema
    assert _ways(("patients.age",), schema) == ["decimal", "thousands", "na", "symbols"]


@pytest.mark.parametrize(
    ("column", "asked", "words"),
    [
        (rt.category(["a", "b"]), "proportion(x, value=a)", "encoding, na, among"),
        (rt.date("2024-01-01", "2024-12-31"), "median(x)", "na, format"),
        (rt.date("2024-01-01", "2024-12-31"), "count by month(x)", "na, format"),
    ],
)
def test_advice_on_odd_cells_names_what_a_column_of_its_kind_can_declare(column: Any, asked: str, words: str) -> None:
    made = rt.study({"x": ["31.12."] * SIZE}, adjacency="add_remove", columns={"x": column}, budget="10")
    release = made.release([asked], epsilon="8", record=rt.Record(try_anyway=True))
    caveat = next(text for text in release.answers[0].caveats if "missing or un" in text)
    assert caveat.endswith(f"declare how they are written: {words}")


@pytest.mark.parametrize(
    ("adjacency", "rows_each", "moves"), [("add_remove", 1, 1), ("add_remove", 3, 3), ("substitute", 3, 6)]
)
def test_the_share_costs_a_twentieth_and_its_noise_is_that_of_a_person(
    adjacency: Kind, rows_each: int, moves: int
) -> None:
    person: dict[str, Any] = {} if rows_each == 1 else {"person": "site", "rows_each": rows_each}
    asked = study(adjacency, **person).plan(["mean(price)"], epsilon="1", people=SIZE)
    tree = leaves(asked.guarantee)
    share = tree["incomplete(price)"]
    assert share.loss == rt.PureDP(Fraction(1, 20))
    assert asked.guarantee.loss == rt.PureDP(Fraction(1))
    assert dict(share.parameters)["scale"] == str(20 * moves)
    assert rederive(asked.guarantee, axiom_again) == asked.guarantee.loss


def test_with_a_public_number_of_rows_one_number_is_drawn_that_a_person_moves_by_one() -> None:
    asked = study("substitute").plan(["median(price)"], epsilon="1", people=SIZE)
    assert dict(leaves(asked.guarantee)["incomplete(price)"].parameters)["scale"] == "20"


def test_one_share_serves_every_answer_on_the_column_and_one_that_is_asked_for_is_not_bought_again() -> None:
    names = [line.name for line in study().plan(["mean(price)", "median(price)", "sum(price)"], epsilon="1").lines]
    assert names == ["mean(price)", "median(price)", "sum(price)", "incomplete(price)"]
    release = study().release(["mean(price)", "incomplete(price)"], epsilon="4")
    beside = release["mean(price)"].incomplete
    assert beside is not None
    assert beside.outcome == release["incomplete(price)"].outcome
    assert set(leaves(release.guarantee)) == {"mean(price)", "incomplete(price)"}


def test_a_complete_column_buys_nothing_and_an_odd_cell_takes_a_public_value() -> None:
    columns: dict[str, Column] = {
        "price": rt.real(0, 10_000, complete=True),
        "site": rt.category(["a", "b"], complete=True),
    }
    release = study("substitute", columns).release(["mean(price)", "count by site"], epsilon="10")
    assert set(leaves(release.guarantee)) == {"mean(price)", "count by site"}
    assert release["mean(price)"].incomplete is None
    assert not any("readable" in text for text in release.certificate.caveats)
    known = [5000.0 if "," in price else float(price) for price in PRICES]
    # noise of the mean has the scale of half a row, 1.25, and that of the counts too: 40 of them have probability 1e-16
    assert release["mean(price)"].value == pytest.approx(np.mean(known), abs=100)
    assert [cell.outcome.value.value for cell in release["count by site"] if isinstance(cell.outcome, rt.Reply)] == (
        pytest.approx([3000, 1000], abs=40)
    )


def test_a_value_that_stands_in_is_said_and_counted() -> None:
    columns: dict[str, Column] = {"price": rt.real(0, 10_000, missing=0)}
    release = study("substitute", columns).release(["mean(price)"], epsilon="10")
    answer = release["mean(price)"]
    assert answer.incomplete is not None
    assert any(
        text.endswith("of rows have a missing or unreadable price: 0 stands in for price") for text in answer.caveats
    )
    assert answer.estimand.endswith(", an unreadable price counting as 0")


def test_a_share_known_to_no_better_than_a_tenth_is_left_out_and_the_plan_says_so_first() -> None:
    poor = "0.005"  # of 10,000 people assumed: a scale of 4,000 rows for a twentieth of it
    plan = study().plan(["mean(price)"], epsilon=poor)
    assert [line.name for line in plan.lines] == ["mean(price)"]
    words = "how many rows have a missing or unreadable price is not told"
    assert "how many rows lack a readable value and are left out is not told" in plan.lines[0].expected.note
    release = study().release(["mean(price)"], epsilon=poor)
    share = release["mean(price)"].incomplete
    assert share is not None
    assert share.outcome is None
    assert any(text.startswith(words) for text in release.certificate.caveats)
    assert release.guarantee.loss == rt.PureDP(Fraction(poor))
    assert rt.read_certificate(release.certificate.to_json()).answers == release.answers


def test_a_plan_says_once_for_all_answers_that_shares_are_left_out() -> None:
    plan = study().plan(["mean(price)", "count by site"], epsilon="0.005")
    assert len({line.expected.note.rpartition("; ")[2] for line in plan.lines}) == 1
    assert " ".join(str(plan).split()).count("price is not told") == 0


def test_whether_a_share_is_bought_does_not_depend_on_the_rows() -> None:
    whole = {"price": ["1"] * SIZE, "site": ["a"] * SIZE}
    made = [
        rt.study(rows, adjacency="add_remove", columns=NUMBERS, budget="10").release(["mean(price)"], epsilon="1")
        for rows in (ROWS, whole)
    ]
    assert [release.guarantee for release in made] == [made[0].guarantee] * 2
    said = [[text.split(" of rows")[1] for text in release.caveats] for release in made]
    assert said[0] == said[1]
    assert made[1].caveats[0].startswith("at most ") or " ± " in made[1].caveats[0]


@pytest.mark.parametrize("question", ["regress(price ~ k)", "test(price ~ k)", "density(price, k)"])
def test_a_question_of_several_columns_has_the_share_of_rows_incomplete_in_any(question: str) -> None:
    columns: dict[str, Column] = {
        "price": rt.real(0, 10_000),
        "k": rt.integer(0, 9),
        "done": rt.integer(0, 9, complete=True),
    }
    rows = {"price": PRICES, "k": [i % 10 for i in range(SIZE)], "done": [1] * SIZE}
    asked = rt.study(rows, adjacency="add_remove", columns=columns, budget="10")
    assert [line.name for line in asked.plan([question], epsilon="2").lines][-1] == "incomplete(price, k)"
    without = asked.plan([question.replace("k", "done")], epsilon="2")
    assert [line.name for line in without.lines][-1] == "incomplete(price)"


def test_the_width_wanted_is_reached_although_a_share_is_bought() -> None:
    plan = study(people=SIZE).plan(want={"mean(price)": 40.0})
    noise = next(line.expected.noise for line in plan.lines if line.name == "mean(price)")
    assert noise is not None
    assert noise <= 40.0


@pytest.mark.parametrize("question", ["mean(price)", "sd(price)", "proportion(site, value=a)"])
def test_an_answer_that_counts_its_values_beside_public_rows_tells_the_share_free(question: str) -> None:
    asked = study("substitute")
    plan = asked.plan([question, "median(price)"], epsilon="4", people=SIZE)
    bought = [line.name for line in plan.lines if line.name.startswith("incomplete")]
    assert bought == (["incomplete(price)"] if "site" in question else [])
    answer = asked.release([question], epsilon="4")[question]
    assert answer.incomplete is not None
    assert isinstance(answer.incomplete.outcome, rt.Reply)
    share = answer.incomplete.outcome.value
    true = ODD if answer.incomplete.columns == ("price",) else 0.25
    # the noise has the scale of one row or less; 50 of them have a probability below 1e-20
    assert abs(share.value - true) < 50 / SIZE
    assert 0 < share.noise < 50 / SIZE
    odd = "unlisted site" if "site" in question else "unreadable price"
    assert any(f"of rows have a missing or {odd}" in text for text in answer.caveats)
    again = asked.release([question, "iqr(price)"], epsilon="4")
    assert set(leaves(again.guarantee)) >= {question, "iqr(price)"}


@pytest.mark.parametrize(
    ("asked", "columns", "told"),
    [
        ("count by site", ("site",), True),
        ("count by site with totals", ("site",), True),
        ("histogram(price, edges=0:2000:100) by site", ("price", "site"), True),
        ("histogram(price, edges=0:2000:1) by site", ("price", "site"), False),  # too many noises in the sum
        ("mean(price) by site", ("price", "site"), False),
        ("persons by site", ("site",), False),
    ],
)
def test_cells_that_hold_every_complete_row_tell_the_share_beside_a_count(
    asked: str, columns: tuple[str, ...], told: bool
) -> None:
    one = study(people=SIZE)
    alone = [line.name for line in one.plan([asked], epsilon="8").lines]
    assert [name.startswith("incomplete") for name in alone] == [False, True]
    assert [line.name for line in one.plan(["count", asked], epsilon="8").lines][2:] == ([] if told else alone[1:])
    if told:
        share = one.release(["count", asked], epsilon="8")[asked].incomplete
        assert share is not None
        assert share.columns == columns
        assert isinstance(share.outcome, rt.Reply)
        bad = [i for i in range(SIZE) if ROWS["site"][i] == "c" or (len(columns) == 2 and "," in PRICES[i])]
        # at most 41 noises of scale 1/4 row: 60 rows are 23 of their standard deviations
        assert abs(share.outcome.value.value - len(bad) / SIZE) < 60 / SIZE


def test_the_sum_of_some_groups_tells_no_share() -> None:
    """Of groups that leave out a key, a row may be complete and in no cell."""
    some = study(people=SIZE).by("site", among=["a"])
    assert [line.name for line in some.plan(["count"], epsilon="8").lines] == ["count by site", "incomplete(site)"]
    schema = Schema(NUMBERS, Person("add_remove"))
    by = understand(["count by site"], schema)[0]
    assert counts_complete(by, schema)
    assert by.keys is not None
    assert not counts_complete(attrs.evolve(by, groups=replace(by.keys, among=("a",))), schema)
    assert not counts_complete(by, Schema(NUMBERS, Person("add_remove", "site", 2)))
    assert not counts_complete(by, Schema({**NUMBERS, "site": rt.category(["a", "b"], complete=True)}, schema.person))
    assert not counts_complete(understand(["count(mechanism=gaussian) by site"], schema)[0], schema)


def test_a_share_behind_a_filter_is_planned_for_the_people_declared_however_many() -> None:
    """It was left out for a million as for 10,000, though it was known to half a row in a hundred."""

    def lines(people: int | None) -> list[PlanLine]:
        more: dict[str, Any] = {} if people is None else {"people": people}
        both = {"x": rt.real(0, 9), "y": rt.real(0, 9)}
        study = rt.study({"x": [1.0], "y": [3.0]}, adjacency="add_remove", columns=both, budget=9, **more)
        return [*study.where("y > 2").plan(["mean(x)"], epsilon="0.01").lines]

    for people, bought in ((None, False), (10_000, False), (1_000_000, True), (300, False)):
        assert (len(lines(people)) == 2) is bought, people
        noise = [line.expected.noise for line in lines(people)[1:]]
        assert all(width is not None and width < 0.1 for width in noise)


def test_a_plan_says_what_leaves_out_a_share_that_tells_nothing() -> None:
    """A guess of the people changes no price: the plan says that declared people would."""
    study = rt.study({"x": [1.0]}, adjacency="add_remove", columns={"x": rt.real(0, 9)}, budget=9)
    _, share = study.plan(["mean(x)"], epsilon="0.2", people=300).lines
    said = "of 300 people it tells nothing: declared, people=…, they leave it out and save its price"
    assert share.expected.note.endswith(said)
    _, share = study.plan(["mean(x)"], epsilon="0.2").lines
    assert "tells nothing" not in share.expected.note
    declared = rt.study({"x": [1.0]}, adjacency="add_remove", columns={"x": rt.real(0, 9)}, budget=9, people=300)
    assert len(declared.plan(["mean(x)"], epsilon="0.2").lines) == 1


@pytest.mark.parametrize(("readable", "said"), [(0, True), (SIZE, False)])
def test_complete_rows_far_below_the_people_declared_are_said_where_no_share_is(readable: int, said: bool) -> None:
    """A forgotten form of dates had been counts of 0 and a clause."""
    days = ["2024-02-03"] * readable + ["3.2.2024"] * (SIZE - readable)
    column = {"day": rt.date("2024-01-01", "2024-12-31")}
    one = rt.study({"day": days}, adjacency="add_remove", columns=column, budget="10", people=SIZE)
    release = one.release(["count by month(day)"], epsilon="0.04")  # the sum has a deviation of 122 rows
    share = release.answers[0].incomplete
    assert share is not None
    assert share.outcome is None
    (told,) = (text for text in release.caveats if "readable" in text)
    assert "text of day is read like 2024-12-31 or 2024-12-31T13:45:00 and in no other form" in told
    few = re.search(r"at most ([\d,]+) rows have a readable month\(day\), of 4,000 people declared; if most", told)
    assert (few is not None) is said
    assert few is None or int(few[1].replace(",", "")) < 2000


@pytest.mark.parametrize("adjacency", ["substitute", "add_remove"])
def test_an_audited_certificate_verifies_whether_a_share_is_told_free_or_bought(adjacency: Kind) -> None:
    asked = study(adjacency)
    for questions in (["mean(price)"], ["median(price)"], ["mean(price)", "sum(price)", "mean(price) by site"]):
        made = asked.release(questions, epsilon="1", record=rt.Record(audit=1)).certificate
        assert made.verify(ledger=asked.ledger, allow_unsigned=True).ok, questions
        document = json.loads(made.to_json())
        document["audit"]["answers"][-1]["name"] = "incomplete(another)"
        checks = {check.name: check.ok for check in Certificate.of(document).verify(allow_unsigned=True).checks}
        assert checks["audit"] is False


@pytest.mark.wide
def test_a_table_without_rows_is_answered_like_any_other() -> None:
    rows: dict[str, list[str]] = {"price": [], "site": []}
    asked = rt.study(rows, adjacency="add_remove", columns=NUMBERS, budget="10")
    for question in ("mean(price)", "sum(price)", "proportion(site, value=a)", "incomplete(price, site)"):
        answer = asked.release([question], epsilon="1")[question]
        assert isinstance(answer.incomplete, type(None) | IncompleteRows)


def test_a_table_of_nobody_is_refused_and_a_share_of_it_would_have_no_width() -> None:
    schema = Schema(NUMBERS, Person("substitute"))
    asked = understand(["sum(price)", "mean(price)", "count by site"], schema)
    with pytest.raises(QuestionError, match=r"has no people, which is public here\. Nothing was charged"):
        settle(asked, Cost.read("1", None, None), schema, 0, "approximate")
    assert incomplete_step(("price",), Setting(schema, 0), Fraction(1)).expected(0).noise is None


@pytest.mark.wide
def test_words_tell_a_number_that_cannot_be_read_from_a_value_that_is_not_listed() -> None:
    release = study().release(["mean(price)", "mean(price) by site", "count by site"], epsilon="4")
    numbers, both, listed = release["mean(price)"], release["mean(price) by site"], release["count by site"]
    assert numbers.estimand.endswith(", among rows with a readable price")
    assert both.estimand.endswith(", among rows with a readable price and a listed site")
    assert listed.estimand.endswith(", among rows with a listed site")
    told = release.certificate.caveats
    for odd in ("unreadable price", "unlisted site", "unreadable price, or a missing or unlisted site"):
        assert sum(f"of rows have a missing or {odd}: they are left out" in text for text in told) == 1, odd
    bought = study().plan(["incomplete(price, site)"], epsilon="1").lines[0].estimand
    assert bought == "share of rows of this table with a missing or unreadable price, or a missing or unlisted site"
