"""A condition that names a column of odd signs, or a date in another spelling, is told how each is written."""

from __future__ import annotations

import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.errors import QuestionError

ODD = ("Age (years)", "hours.per.week", "Total cost €", "Patient No.", "in", "2nd visit", "cost/day", "a-b")
COLUMNS: dict[str, Column] = {name: rt.integer(0, 100) for name in ODD}
COLUMNS |= {"admitted": rt.date("2020-01-01", "2025-12-31"), "x": rt.real(), "y": rt.integer(0, 9)}


@pytest.fixture(scope="module")
def study() -> rt.Study:
    cells = {name: ["2024-01-01"] * 50 if name == "admitted" else list(range(50)) for name in COLUMNS}
    return rt.study(cells, adjacency="add_remove", columns=COLUMNS, budget=5)


def refused(study: rt.Study, question: str) -> str:
    with pytest.raises(QuestionError) as found:
        study.plan([question], epsilon=1)
    return str(found.value)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("written", ["{}", '"{}"', "[{}]", "y > 1 and {}"])
def test_a_bare_column_of_odd_signs_is_named_in_backticks_once(study: rt.Study, name: str, written: str) -> None:
    said = refused(study, f"mean(y) where {written.format(name)} > 4")
    assert said.count(f"The column {name} stands in backticks: `{name}`.") == 1
    assert said.count("backticks") == 1
    with pytest.raises(QuestionError, match="backticks"):
        study.where(f"{written.format(name)} > 4")


@pytest.mark.parametrize("name", ODD)
def test_in_backticks_it_is_read_and_elsewhere_it_is_no_matter(study: rt.Study, name: str) -> None:
    assert study.plan([f"mean(y) where `{name}` > 4"], epsilon=1).lines
    assert study.where(f"`{name}` > 4") is not None
    for question in (f"mean(y) where `{name}` > 'a'", f"mean(x) where `{name}` > 4", f"median({name}, trimm=1)"):
        assert "backticks" not in refused(study, question)


@pytest.mark.parametrize("date", ["2024/02/01", "01.02.2024", "1/2/2024", '"2024/02/01"', "'01.02.2024'"])
def test_a_date_in_another_spelling_is_told_the_one_that_is_read(study: rt.Study, date: str) -> None:
    said = refused(study, f"count where admitted >= {date}")
    assert said.count("date is written 2024-02-29") == 1
    assert said.endswith("Nothing was charged.")
    assert study.plan(["count where admitted >= 2024-02-01"], epsilon=1).lines


def test_a_column_of_a_further_table_is_not_odd() -> None:
    wards = rt.table({"ward": ["a", "b"], "beds": [3, 4]}, public=True, key="ward")
    columns = {"age": rt.integer(0, 110), "ward": rt.category(["a", "b"])}
    rows = {"age": [30] * 50, "ward": ["a"] * 50}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=5, tables={"wards": wards})
    assert "backticks" not in refused(study, "mean(age) where wards.beds > 'x'")
