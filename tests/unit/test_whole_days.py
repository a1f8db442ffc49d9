"""A day that stands where a time is compared is its 00:00: plans, checks and releases say where that cuts a day."""

from __future__ import annotations

from pathlib import Path

import pytest

import reticent as rt
from reticent.data.schema import Integer
from reticent.data.study_file import high_doubt
from tests.support.cli_kit import run

STUDY = """
[study]
source = "visits.csv"
ledger = "visits.ledger"

[person]
rows = "one_each"
adjacency = "add_remove"

[budget]
epsilon = "9"

[columns.t]
kind = "datetime"
low = 2018-01-01
high = {high}
resolution = "minute"
zone = "UTC"
format = "yyyy-mm-dd hh:mm"

[[release]]
name = "year"
epsilon = "1"
ask = ["count where t between 2018-01-01 and 2018-12-31"]
"""


def of_times() -> rt.Study:
    return rt.study(
        {"t": [f"2018-12-31T{hour:02}:30" for hour in range(12)]},
        adjacency="add_remove",
        columns={"t": rt.datetime("2018-01-01", "2021-12-31"), "d": rt.col("t").trunc("day")},
        budget="9",
    )


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("t between 2018-01-01 and 2018-12-31", "for the whole day write t < 2019-01-01"),
        ("not 2018-12-31 >= t", "for the whole day write t < 2019-01-01"),
        ("t > 2018-12-31", "for later days write t >= 2019-01-01"),
        ("t in (2018-12-31, 2019-02-01T05:00)", 'for the whole day write trunc(t, "day") = 2018-12-31'),
        ("t != 2018-12-31", 'for the whole day write trunc(t, "day") != 2018-12-31'),
        ("t >= 2018-01-01 and t < 2019-01-01", ""),
        ("t <= 2018-12-31T23:59", ""),
        ("d <= 2018-12-31 and d > 2018-01-01", ""),
    ],
)
def test_a_plan_and_a_release_say_that_a_comparison_cuts_a_day_in_two(condition: str, said: str) -> None:
    held, asked = of_times(), [f"count where {condition}"]
    told = [note for note in held.plan(asked, epsilon="1", people=20).noted if "write" in note]
    assert len(told) == bool(said)
    assert all(said in note for note in told)
    assert [note for note in held.release(asked, epsilon="1").certificate.caveats if "write" in note] == told


def test_the_words_that_are_advised_count_the_whole_day() -> None:
    held = of_times()
    cut, whole = held.release(
        ["count where t between 2018-12-31 and 2018-12-31", "count where t >= 2018-12-31 and t < 2019-01-01"],
        epsilon="8",
    ).answers
    assert cut.value < 6 < whole.value  # 0 and 12 rows, with noise of scale 1/4: beyond 6 but for 1e-10


@pytest.mark.parametrize(
    ("high", "warned"), [("2018-12-31", True), ("2019-01-01", False), ("2018-12-31T23:59:00", False)]
)
def test_check_warns_of_days_that_are_cut(high: str, warned: bool, tmp_path: Path) -> None:
    file = tmp_path / "visits.toml"
    file.write_text(STUDY.format(high=high))
    (tmp_path / "visits.csv").write_text("t\n2018-12-31 10:30\n")
    said = run("check", str(file)).said
    assert "[[release]] 'year': t <= 2018-12-31 leaves out 2018-12-31 after 00:00" in said
    assert ("write high = 2018-12-31T23:59:00." in said) is warned
    assert ("write high = 2018-12-31T23:59:00." in run("plan", str(file), "--release", "year").said) is warned


def test_a_bound_that_is_advised_is_no_longer_doubted() -> None:
    for resolution in ("second", "minute", "hour"):
        column = rt.datetime("2018-01-01", "2021-12-31", resolution=resolution)
        last = high_doubt("t", column).rpartition("high = ")[2].rstrip(".")
        assert last.startswith("2021-12-31T23:")
        better = rt.datetime("2018-01-01", last, resolution=resolution)
        assert isinstance(better, Integer)
        assert high_doubt("t", better) == ""
