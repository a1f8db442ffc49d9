"""Refused dates: a public date is ISO 8601, however the cells of a file are written, and the day meant is proposed."""

from __future__ import annotations

import pytest

import reticent as rt
from reticent.data.schema import Column
from reticent.errors import PublicParameterError, QuestionError


@pytest.mark.parametrize(
    ("low", "words"),
    [
        ("01.02.2024", "Did you mean 2024-02-01?"),
        ("2024/02/01", "Did you mean 2024-02-01?"),
        ("13/02/2024", "Did you mean 2024-02-13?"),
        ("02/13/2024", "Did you mean 2024-02-13?"),
        ("2/2/2024", "Did you mean 2024-02-02?"),
        ("2024-02-30", "low: there is no 2024-02-30"),
        (2024, 'low is a date such as "2024-02-29", got 2024'),
    ],
)
def test_a_bound_that_is_no_iso_date_is_answered_with_the_day_that_it_means(low: object, words: str) -> None:
    with pytest.raises(PublicParameterError) as refused:
        rt.date(low, "2025-12-31", format="dd.mm.yyyy")  # type: ignore[arg-type]  # which is refused
    assert words in str(refused.value)
    if "Did you mean" in words:
        day = words.removeprefix("Did you mean ").removesuffix("?")
        assert rt.date(day, "2025-12-31", format="dd.mm.yyyy").low is not None


@pytest.mark.parametrize("low", ["01/02/2024", "1-2-2024", "31.02.2024", "yesterday"])
def test_no_day_is_proposed_where_two_could_be_meant_or_none(low: str) -> None:
    with pytest.raises(PublicParameterError) as refused:
        rt.date(low, "2025-12-31")
    assert "Did you mean" not in str(refused.value)
    assert "however the cells of the file are written" in str(refused.value)


@pytest.mark.parametrize("missing", ["2023-12-31", "2026-01-01"])
def test_a_date_that_stands_in_lies_between_the_bounds(missing: str) -> None:
    assert rt.date("2024-01-01", "2025-12-31", missing="2025-12-31").stand_in is not None
    for declared in (rt.date, rt.datetime):
        with pytest.raises(PublicParameterError, match="missing is a date from low to high"):
            declared("2024-01-01", "2025-12-31", missing=missing)


@pytest.mark.parametrize("asked", ["d, 2024-01-01:2025-12-31:month", "d, 2024-01-01 2025-12-31", "d, 2024-01-01"])
def test_a_cut_of_dates_is_told_what_does_it(asked: str) -> None:
    rows = {"d": ["2024-03-01"]}
    study = rt.study(rows, adjacency="add_remove", columns={"d": rt.date("2024-01-01", "2025-12-31")}, budget=5)
    with pytest.raises(QuestionError, match=r'Groups of a date are periods: trunc\(x, "month"\)'):
        study.plan([f"count by cut({asked})"], epsilon=1)


def test_multiples_down_to_a_whole_number_are_public_groups() -> None:
    columns = {"cost": rt.real(0, 50), "wild": rt.real()}
    rows = {"cost": [float(k % 50) for k in range(900)], "wild": [1.0] * 900}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=5)
    release = study.release(["count by floor(cost / 10)"], epsilon=4)
    assert [cell.label[0][1] for cell in release["count by floor(cost / 10)"]] == [0, 1, 2, 3, 4, 5]
    assert release["count by floor(cost / 10, 1)"] is release["count by floor(cost / 10)"]
    assert "count by floor(cost / 10)" in str(release)  # as it was asked
    assert ", 1)" not in str(release)
    for asked, keys in (
        ("floor(cost / 10) * 10", [0, 10, 20, 30, 40, 50]),
        ("floor(cost / 10) * -10 + 30", [-20, -10, 0, 10, 20, 30]),
        ("floor(cost / 10) * 10 + 5", [*range(5, 56, 5)]),  # multiples of 5
        ("floor(cost, 20) - floor(cost, 30)", [*range(-30, 41, 10)]),
    ):
        assert [cell.label[0][1] for cell in study.rehearse([f"count by {asked}"], epsilon=1).answers[0]] == keys
    by = study.by(rt.col("cost").floor(10)).release(["count"], epsilon="0.5")
    assert [cell.label[0][1] for cell in by.answers[0]] == [0, 10, 20, 30, 40, 50]
    with pytest.raises(QuestionError, match=r"floor\(x / 10\) where x has bounds"):
        study.plan(["count by floor(wild / 10)"], epsilon=1)


@pytest.mark.parametrize("by", ["year(day)", "month(day)", 'trunc(day, "month")'])
def test_days_that_are_too_many_for_groups_are_refused_with_what_groups_them(by: str) -> None:
    columns: dict[str, Column] = {"x": rt.real(0, 100), "day": rt.date("2010-01-01", "2024-12-31")}
    study = rt.study({"x": [1.0], "day": ["2020-01-01"]}, adjacency="add_remove", columns=columns, budget=9)
    with pytest.raises(QuestionError) as refused:
        study.plan(["mean(x) by day"], epsilon=1)
    assert f"by {by.replace('day', 'x', 1)}" in str(refused.value)
    assert study.plan([f"mean(x) by {by}"], epsilon=1).lines
