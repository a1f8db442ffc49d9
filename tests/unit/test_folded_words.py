"""Summaries of models, and words on made-up rows, are folded to the width of a release that is printed."""

from __future__ import annotations

import numpy as np

import reticent as rt
from reticent.certificate.render.listing import WIDTH, folded
from reticent.data.format import slope_unit
from reticent.learning import LinearRegression, LogisticRegression
from reticent.statistics.context import tables_words
from reticent.study.plan_text import _span
from reticent.study.study import Study


def _study() -> Study:
    x = np.arange(4_000) % 100
    return rt.study(
        {"x": x, "y": x // 2, "c": np.where(x > 50, "yes", "no")},
        adjacency="add_remove",
        columns={"x": rt.integer(0, 100), "y": rt.integer(0, 100), "c": rt.category(["no", "yes"])},
        rows_each=1,
        budget=99,
        override="made-up rows",
    )


def _narrow(text: str) -> bool:
    """True where every line fits, or is one word behind its mark."""
    return all(len(line) <= WIDTH or " " not in line.strip() for line in text.split("\n"))


def test_summaries_of_models_are_folded() -> None:
    study = _study()
    line = LinearRegression(epsilon=4).fit(*study.xy(["x"], "y")).summary()
    odds = LogisticRegression(epsilon=4).fit(*study.xy(["x", "y"], "c")).summary()
    for text in (line, odds):
        assert _narrow(text), text
        assert "Estimates: " in text


def test_words_on_made_up_rows_are_folded_where_they_are_printed() -> None:
    told = _study().synthesize(["x", "y"], epsilon=4).good_for()
    assert max(map(len, told)) > WIDTH  # each entry is one text, as programs take it
    assert _narrow(str(told))
    assert " ".join(str(told).split()) == " ".join(" ".join(told).split())


def test_a_text_without_a_mark_hangs_below_its_first_line() -> None:
    first, second = folded("", "word " * 30)[:2]
    assert not first.startswith(" ")
    assert second.startswith("  word")


def test_made_up_tables_are_counted_and_every_one_is_a_bound() -> None:
    assert tables_words(5, 5) == "5 of 5 made-up tables replied: P(reply) is .917 at least"
    assert tables_words(2, 5) == "2 of 5 made-up tables replied: P(reply) is .417"


def test_intervals_stay_whole_in_a_range_of_shapes() -> None:
    assert _span("bounds [0, 1]", "bounds [0, 1000000000]") == "bounds [0, 1] to [0, 1000000000]"
    assert _span("a cap of 1", "a cap of 20") == "a cap of 1 to 20"


def test_the_unit_of_a_slope_is_that_of_one() -> None:
    assert slope_unit("price", "USD", "age", "years") == "USD per year"
    assert slope_unit("price", "USD", "tax", "USD") == "price per tax"
    assert slope_unit("price", "", "years", "") == "price per years"
    assert slope_unit("price", "USD", "ward", "") == "USD per ward"


def test_shares_of_odd_cells_of_several_columns_are_said_in_one_clause() -> None:
    columns = {name: rt.real(0, 9) for name in ("cost", "fee")} | {
        name: rt.category(["x", "z"]) for name in ("ward", "town")
    }
    study = rt.study({name: ["1"] for name in columns}, adjacency="add_remove", columns=columns, budget=9)
    told = study.plan(["mean(cost) by ward", "mean(fee) by town"], epsilon=4, people=10_000).estimands()
    shares = [text for name, text in told if name.startswith("incomplete")]
    assert shares == ["share of rows of this table with a missing, unreadable or unlisted cell"]
