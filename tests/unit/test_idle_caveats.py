"""Caveats that the released numbers show to change nothing are said nowhere, and their numbers are kept.

An interval at 95 % misses a share of 0 in one release of 40, and then the caveat is told. So these releases have a loss
at which the noise of a share, of epsilon 8 or more, is 0 in all runs but one in 1,000.
"""

from __future__ import annotations

import numpy as np
import pytest

import reticent as rt
from reticent.certificate.certificate import Certificate
from reticent.data.schema import Column
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.statistics.public_facts import CommonClause
from reticent.statistics.shares import IDLE, idle

CUT = "count as the nearer bound"
LARGE = rt.Record(override="made-up rows, and noise that is 0")


@pytest.mark.parametrize(
    ("share", "silent"),
    [
        (Reply(Estimate(0.0, 0.0, 0.01, 0.01, 0.0)), True),
        (Reply(Estimate(0.004, 0.0, 0.009, 0.005, 0.0)), True),
        (Reply(Estimate(0.004, 0.001, 0.007, 0.003, 0.0)), False),
        (Reply(Estimate(0.0, 0.0, 0.011, 0.011, 0.0)), False),
        (NO_REPLY, False),
        (None, False),
    ],
)
def test_a_share_is_idle_where_it_may_be_none_and_is_at_most_one_percent(
    share: Outcome[Estimate] | None, silent: bool
) -> None:
    assert idle(share) is silent
    assert IDLE == 0.01


def people(rows: int, most: int) -> rt.Study:
    who = np.repeat(np.arange(3000), rows)
    return rt.study(
        {"who": who, "x": who % 101},
        adjacency="add_remove",
        person="who",
        rows_each=most,
        columns={"x": rt.integer(0, 100)},
        budget="400",
        override="a test",
    )


def test_a_cap_that_caps_nobody_is_not_told_and_its_share_is_kept() -> None:
    made = people(2, 2).release(["mean(x)", "count"], epsilon="200", record=LARGE)
    assert "of capped rows" not in repr(made)
    assert "rows of each person count" not in repr(made)
    again = Certificate.of(made.certificate.document).answers
    for answer in (*made.answers, *again):
        assert isinstance(answer.capped, Reply)
        assert answer.capped.value.high <= 0.01
    assert made.certificate.document["answers"][0]["capped"]["outcome"] == "reply"


def test_a_cap_that_caps_everybody_is_told() -> None:
    made = people(3, 2).release(["mean(x)"], epsilon="8")
    said = " ".join(repr(made).split()).partition("guarantee")[0]
    assert "% of people had more than 2 rows: answers are of capped rows or totals, as each says" in said
    assert said.count("at most 2 rows") == 1  # with what is estimated
    assert "the sampling part takes all rows of one person for alike, and is too wide where they differ" in said
    said = " ".join(repr(people(2, 1).release(["count"], epsilon="8")).split()).partition("guarantee")[0]
    assert said.count("at most 1") == 1


def test_a_share_of_incomplete_rows_that_may_be_none_is_not_told_and_is_kept() -> None:
    for missing, told in ((0, False), (900, True)):
        x = [None] * missing + [float(k % 97) for k in range(3000 - missing)]
        made = rt.study(
            {"x": x}, adjacency="add_remove", columns={"x": rt.real(0, 100)}, budget="400", override="a"
        ).release(["mean(x)"], epsilon="200", record=LARGE)
        assert ("% of rows lack a readable value and are left out" in " ".join(repr(made).split())) is told
        assert made["mean(x)"].incomplete is not None
        assert "missing or unreadable" in made["mean(x)"].estimand or "readable x" in made["mean(x)"].estimand


def test_bounds_that_cut_no_quantile_are_not_told() -> None:
    rows = {"x": [*range(101)] * 50, "y": [0] * 4000 + [100] * 1050, "g": ["a", "b"] * 2525}
    columns: dict[str, Column] = {"x": rt.integer(0, 100), "y": rt.integer(0, 100), "g": rt.category(["a", "b"])}
    made = rt.study(rows, adjacency="add_remove", columns=columns, budget="40", override="a").release(
        ["median(x)", "median(y)", "mean(x)", "iqr(x)", "median(x) by g"], epsilon="10"
    )
    cut = {answer.name: any(CUT in text for text in answer.caveats) for answer in made.answers}
    assert cut == {"median(x)": False, "median(y)": True, "mean(x)": True, "iqr(x)": True, "median(x) by g": False}


def test_a_caveat_of_every_group_is_told_once() -> None:
    rows = {"x": [7] * 4000, "g": ["a", "b"] * 2000}
    columns: dict[str, Column] = {"x": rt.integer(0, 100), "g": rt.category(["a", "b"])}
    made = rt.study(rows, adjacency="add_remove", columns=columns, budget="10").release(["median(x) by g"], epsilon="5")
    found = [text for text in made["median(x) by g"].caveats if "many values may count as equal" in text]
    assert len(found) == 1
    assert found[0].startswith("many values may count as equal")


def test_a_caveat_of_some_groups_of_two_columns_names_their_whole_keys() -> None:
    keys = [(g, h) for g in ("a", "b") for h in (1, 2)]
    tied = ("b", 1)
    rows = {
        "x": [7.0 if key == tied else 0.001 * k for key in keys for k in range(2000)],
        "g": [g for g, _ in keys for _ in range(2000)],
        "h": [h for _, h in keys for _ in range(2000)],
    }
    columns: dict[str, Column] = {"x": rt.real(0, 100), "g": rt.category(["a", "b"]), "h": rt.integer(1, 2)}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget="400", override="a")
    made = study.release(["median(x) by g, h"], epsilon="50", record=LARGE)
    found = [text for text in made["median(x) by g, h"].caveats if "many values may count as equal" in text]
    assert [text.partition(":")[0] for text in found] == ["g b · h 1"]


# --- what all answers have in common ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "where", "by", "left"),
    [
        (["mean(x) where a > 1 by g", "count where a > 1 by g"], " where a > 1", " by g", ["mean(x)", "count"]),
        (["mean(x) where a > 1 by g", "capped where a > 1"], " where a > 1", "", ["mean(x) by g", "capped"]),
        (["mean(x) by g", "count by g"], "", " by g", ["mean(x)", "count"]),
        (['count where t = "u by v"', 'mean(x) where t = "u by v"'], ' where t = "u', ' by v"', ["count", "mean(x)"]),
        (["count where a > 1", "count where a > 2"], "", "", ["count where a > 1", "count where a > 2"]),
        (["count by g", "count by h"], "", "", ["count by g", "count by h"]),
        (["count where a > 1"], "", "", ["count where a > 1"]),
        (["mean(x)", "count"], "", "", ["mean(x)", "count"]),
        (["count by g where a > 1", "count where a > 1"], "", "", ["count by g where a > 1", "count where a > 1"]),
    ],
)
def test_a_clause_that_all_names_share_is_left_out_of_each(
    names: list[str], where: str, by: str, left: list[str]
) -> None:
    shared = CommonClause.of(names)
    assert (shared.where, shared.by) == (where, by)
    assert [shared.without(name) for name in names] == left


def test_a_filter_and_groups_of_all_answers_are_said_once() -> None:
    """In the print of a release and of its plan; the names beside numbers stay whole, to be copied."""
    study = rt.study(
        {"x": [1, 2, 3, 4] * 400, "g": ["a", "b"] * 800},
        adjacency="add_remove",
        columns={"x": rt.integer(0, 9), "g": rt.category(["a", "b"])},
        budget=4,
    )
    asked = ["mean(x) where x > 1 by g", "sum(x) where x > 1 by g"]
    for made in (study.plan(asked, epsilon=1), study.release(asked, epsilon=2)):
        said = " ".join(str(made).partition("estimates")[2].split() or str(made).partition("every answer")[2].split())
        assert "where x > 1" in said
        assert said.count("of rows where x > 1") == 0
        assert "mean(x)" in said
        assert "mean(x) where" not in said
        assert "mean(x) where x > 1 by g" in str(made)


def test_each_answer_beside_the_words_on_a_cap_says_what_it_keeps() -> None:
    """A count, a mean and a sum by groups are of the kept rows; a sum is of totals; persons are all there."""
    asked = ["count", "mean(x)", "sum(x) by g", "sum(x)", "persons"]
    who = np.repeat(np.arange(500), 3)
    study = rt.study(
        {"who": who, "x": who % 101, "g": np.arange(1500) % 3},
        adjacency="add_remove",
        person="who",
        rows_each=2,
        columns={"x": rt.integer(0, 100), "g": rt.category([0, 1, 2])},
        budget="8",
    )
    told = {answer.name: answer.estimand for answer in study.release(asked, epsilon="8").answers}
    for name in asked[:3]:
        assert "at most 2 of each person" in told[name] or "of at most 2 rows of each person" in told[name], told[name]
    assert "the total of each person cut to [0, 200]" in told["sum(x)"]
    assert "at most" not in told["persons"]
