"""Values that a computed column can have are known by its expression, whether it has a name or stands in a question."""

from __future__ import annotations

import datetime

import pytest

import reticent as rt
from reticent.data.expression_text import read
from reticent.data.schema import Integer
from reticent.data.transformations import computed
from reticent.study.formulas import keys_of

MADE = {
    "10 * floor(year / 10)": 5,
    "floor(year, 20)": 3,
    "3 * (year - floor(year, 10))": 90,
    "month(day)": 4,
    "year - 1900": 50,
}


def study_of(rows: int) -> rt.Study:
    columns: dict[str, Integer | rt.Expression] = {
        "year": rt.integer(1950, 1999),
        "day": rt.date("2024-11-05", "2025-02-07"),
        "decade": 10 * (rt.col("year") / 10).floor(),
    }
    table = {"year": [1950, 1963, 1969] * rows, "day": [datetime.date(2024, 12, 1)] * 3 * rows}
    return rt.study(table, adjacency="add_remove", columns=columns, budget="9")


@pytest.mark.parametrize(("expression", "values"), MADE.items())
def test_a_computed_column_has_the_groups_of_its_expression(expression: str, values: int) -> None:
    schema = study_of(1).schema
    named = computed(schema, "made", read(expression))
    declared = named.columns["made"]
    assert isinstance(declared, Integer)
    assert len(keys_of(named, "made").among) == values
    assert keys_of(named, "made").among == keys_of(schema, expression).among
    assert keys_of(named, "made * 2").among == keys_of(schema, f"({expression}) * 2").among


def test_a_histogram_of_decades_has_a_bar_for_each_and_counts_every_row() -> None:
    release = study_of(200).release(["histogram(decade)", "count by decade"], epsilon="9")
    for answer in release.answers:
        assert [dict(cell.label)["decade"] for cell in answer] == [1950, 1960, 1970, 1980, 1990]
        assert [cell.value for cell in answer] == pytest.approx([200, 400, 0, 0, 0], abs=20)
