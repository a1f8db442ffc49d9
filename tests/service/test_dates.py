"""Dates from declaration to answer: at every door they are dates, and what means nothing of them is refused."""

from __future__ import annotations

import datetime
import json
import random
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import reticent as rt
from reticent.calendar import Calendar
from reticent.data.formula import Expression
from reticent.data.schema import Category, Column, Integer
from reticent.data.study_file import read_spec, warnings
from reticent.errors import Refusal
from reticent.outcome import Estimate, Reply
from reticent.study.plan_text import cells_of
from reticent.study.release import Release

FIRST = datetime.date(2020, 1, 1)
HEAD = """
[study]
source = "stays.csv"
ledger = "stays.ledger"
[person]
rows = "one_each"
adjacency = "add_remove"
[budget]
epsilon = "10"
[columns.admitted]
kind = "date"
low = 2020-01-01
high = "2025-12-31"
"""


def stays(count: int = 2_000) -> dict[str, list[object]]:
    chance = random.Random(7)
    days = [FIRST + datetime.timedelta(days=chance.randint(0, 2_191)) for _ in range(count)]
    left = [
        datetime.datetime.combine(day, datetime.time(10, 30)) + datetime.timedelta(days=chance.randint(1, 20))
        for day in days
    ]
    return {"admitted": [*days], "left": [*left], "cost": [chance.randint(0, 500) for _ in days]}


COLUMNS: dict[str, Column | Expression] = {
    "admitted": rt.date("2020-01-01", "2025-12-31"),
    "left": rt.datetime("2020-01-01", "2026-02-01", resolution="minute"),
    "cost": rt.integer(0, 500),
    "month": rt.col("admitted").trunc("month"),
}


def study(epsilon: str = "1000") -> rt.Study:
    return rt.study(stays(), adjacency="add_remove", columns=COLUMNS, budget=epsilon, override="a test")


@pytest.fixture(scope="module")
def release() -> Release:
    asked = ["median(admitted)", "mean(admitted)", "iqr(admitted)", "median(left)", "iqr(left)", "histogram(month)"]
    return study().release(
        [*asked, "mean(cost) where admitted >= 2024-03-01 and month(admitted) < 7"],
        epsilon="400",
        record=rt.Record(override="a test"),
    )


def test_a_study_file_declares_dates(tmp_path: Path) -> None:
    (tmp_path / "stays.csv").write_text("admitted\n2024-02-29\n", "utf-8")
    path = tmp_path / "stays.toml"
    more = """[columns.left]
kind = "datetime"
low = 2020-01-01T00:00:00
high = 2026-02-01
resolution = "hour"
zone = "Europe/Berlin"
missing = "2020-01-01T05:00"
[columns.quarter]
from = 'trunc(admitted, "quarter")'
"""
    path.write_text(HEAD + more, "utf-8")
    columns = read_spec(path).schema.columns
    assert columns["admitted"] == Integer(18_262, 20_453, calendar=Calendar()) == rt.date("2020-01-01", "2025-12-31")
    hours = Integer(438_288, 491_640, "", Fraction(438_293), calendar=Calendar(3_600, "Europe/Berlin"))
    assert columns["left"] == hours
    quarter = columns["quarter"]
    assert isinstance(quarter, Category)
    assert quarter.among[:2] == ("2020-01-01", "2020-04-01")
    assert len(quarter.among) == 24


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('kind = "date"', "a date needs low and high"),
        ('kind = "date"\nlow = 2024-01-01\nhigh = 2020-01-01', "low must be below high, got 2024-01-01 and 2020-01-01"),
        ('kind = "date"\nlow = "2023-02-29"\nhigh = 2024-01-01', "low: there is no 2023-02-29"),
        ('kind = "date"\nlow = 5\nhigh = 9', 'low is a date such as "2024-02-29"'),
        ('kind = "date"\nlow = 2020-01-01T05:00:00\nhigh = 2024-01-01', "no whole day"),
        ('kind = "date"\nlow = 2020-01-01\nhigh = 2024-01-01\nzone = "UTC"', "unknown key 'zone'"),
        ('kind = "datetime"\nlow = 2020-01-01\nhigh = 2024-01-01\nresolution = "week"', "resolution is"),
        ('kind = "datetime"\nlow = 2020-01-01T00:00:00Z\nhigh = 2024-01-01', "without zone"),
        ('from = "x - admitted"', "takes numbers. Of a date"),
        ('from = "admitted - admitted"', "difference of dates: write days"),
        ('kind = "date"\nfrom = "year(admitted)"\nlow = 2020-01-01\nhigh = 2024-01-01', "computed as no dates"),
        ('kind = "integer"\nfrom = \'trunc(admitted, "day")\'\nlow = 0\nhigh = 9', "computed as dates or times"),
        ('kind = "category"\nfrom = "x > 0"\namong = ["true", "false"]', "without quotes: among = [true, false]"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(lines: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "stays.toml"
    path.write_text(f'{HEAD}[columns.x]\nkind = "integer"\n[columns.y]\n{lines}\n', "utf-8")
    with pytest.raises(rt.SpecError) as refused:
        read_spec(path)
    assert said in str(refused.value)


@pytest.mark.wide
def test_answers_come_out_as_dates(release: Release, tmp_path: Path) -> None:
    true = sorted(stays()["admitted"])[1_000]  # type: ignore[type-var]
    median = release["median(admitted)"]
    assert isinstance(true, datetime.date)
    assert abs((median.date - true).days) <= 5
    assert str(median).startswith(f"median(admitted): {median.date} (95 % 202")
    assert isinstance(release["median(left)"].date, datetime.datetime)
    assert str(release["mean(admitted)"].date) == release["mean(admitted)"].estimate.dates[0]
    printed = repr(release)
    assert f"{median.date}" in printed
    assert " days\n" in printed
    assert "values cut to [2020-01-01, 2025-12-31]" in printed.replace("\n           ", " ")
    assert release["iqr(left)"].estimate.unit == "hours"
    assert release["iqr(left)"].value == pytest.approx(24 * release["iqr(admitted)"].value, rel=0.05)
    bins = [cell.label for cell in release["histogram(month)"]]
    assert bins[2] == (("month", "2020-03-01"),)
    files = release.save(tmp_path / "out")
    csv, document, page = (path.read_text("utf-8") for path in files[:3])
    assert f"median(admitted),,reply,{median.date},{median.estimate.dates[1]},{median.estimate.dates[2]}," in csv
    assert str(median.date) in page
    cell = next(one for one in json.loads(document)["answers"] if one["name"] == "median(admitted)")["cells"][0]
    assert cell["dates"] == dict(zip(("value", "low", "high"), median.estimate.dates, strict=True))
    assert cell["unit"] == "days"
    again = rt.read_release(tmp_path / "out.json")
    assert again["median(admitted)"] == median
    frame = release.frame().to_pylist()  # type: ignore[attr-defined]  # a pyarrow table
    assert [row["date"] for row in frame if row["name"] == "median(admitted)"] == [str(median.date)]
    assert all(row["date"] is None for row in frame if row["name"].startswith(("iqr", "hist", "mean(cost)")))


def test_certificates_record_kind_and_bounds(release: Release) -> None:
    columns = release.certificate.document["columns"]
    found = {name: (one["kind"], one["low"], one["high"]) for name, one in columns.items()}
    assert found["admitted"] == ("date", "2020-01-01", "2025-12-31")
    assert found["left"] == ("datetime", "2020-01-01T00:00", "2026-02-01T00:00")
    assert columns["left"]["resolution"] == "minute"
    assert columns["month"]["from"] == 'trunc(admitted, "month")'


def test_filters_of_dates_choose_their_rows(release: Release) -> None:
    rows = stays()
    kept = [
        cost
        for cost, day in zip(rows["cost"], rows["admitted"], strict=True)
        if isinstance(day, datetime.date) and day >= datetime.date(2024, 3, 1) and day.month < 7
    ]
    found = release["mean(cost) where admitted >= 2024-03-01 and month(admitted) < 7"]
    assert found.value == pytest.approx(sum(map(float, map(str, kept))) / len(kept), abs=2)


@pytest.mark.parametrize(
    "question",
    ["sum(admitted)", "variance(left)", "regress(cost ~ admitted)", "log_mean(admitted)"],
)
def test_statistics_that_mean_nothing_of_dates_are_refused(question: str) -> None:
    one = study()
    with pytest.raises(rt.QuestionError, match=r"of dates is not told.*days\(.*Nothing was charged"):
        one.release([question], epsilon="1")
    assert one.ledger.spent() == rt.PureDP(Fraction(0))


def test_a_plan_and_a_rehearsal_make_up_dates() -> None:
    one = study()
    assert "median(admitted)" in str(one.plan(["median(admitted)"], epsilon="1", people=2_000))
    assert one.rehearse(["median(admitted)", "iqr(left)"], epsilon="2", people=2_000)


def test_an_estimate_of_a_date_says_so_and_a_number_has_none() -> None:
    found = Estimate(19_782.0, 19_781.5, 19_782.5, 0.4, 2.0, step=86_400, unit="days")
    assert str(found) == "2024-02-29 (95 % 2024-02-28 to 2024-03-01)"
    assert found.dates == ("2024-02-29", "2024-02-28", "2024-03-01")
    with pytest.raises(rt.QuestionError, match="no date"):
        _ = Estimate(1.0, 0.0, 2.0, 1.0, 0.0).date
    times = Estimate(28_486_025.0, 28_486_000.0, 28_486_100.0, 2_425.0, 30.0, step=60, unit="minutes")
    from reticent.statistics.answer import Cell, printed

    text = printed(Cell((), Reply(times)))
    assert text is not None
    assert (text.noise, text.sampling) == ("40.4 hours", "30 minutes")


def test_odd_cells_and_stand_ins_are_those_of_integers() -> None:
    cells = ["2024-02-29", "2023-02-29", "x", "", "3000-01-01"]
    for column, years in (
        (rt.date("2020-01-01", "2025-12-31"), (2024, 2025)),
        (rt.date("2020-01-01", "2025-12-31", missing="2021-05-01"), (2021, 2021, 2021, 2024, 2025)),
        (rt.date("2020-01-01", "2025-12-31", complete=True), (2022, 2022, 2022, 2024, 2025)),
    ):
        columns: dict[str, Column | Expression] = {"x": column, "y": rt.col("x").year()}
        one = rt.study({"x": cells}, adjacency="add_remove", columns=columns, budget="4000", override="a test")
        found = one.release(["histogram(y)"], epsilon="2000", record=rt.Record(override="a test"))["histogram(y)"]
        counts = {
            dict(cell.label)["y"]: round(cell.outcome.value.value) for cell in found if isinstance(cell.outcome, Reply)
        }
        assert counts == {year: years.count(year) for year in range(2020, 2026)}


@pytest.mark.parametrize(
    ("source", "of_in", "of_out", "told"),
    [
        ("t.csv", 'kind = "date", format = "%d.%m.%Y"', 'kind = "date"', ["out has no format", 'in has "%d.%m.%Y"']),
        ("t.csv", 'kind = "date", format = "%d.%m.%Y"', 'kind = "date", format = "%d/%m/%Y"', []),
        (
            "t.csv",
            'kind = "date"',
            'kind = "date"',
            ["in, out have no format", 'format = "dd.mm.yyyy" or "yyyy-mm-dd"'],
        ),
        ("t.csv", 'kind = "date", format = "yyyy-mm-dd"', 'kind = "date", format = "yyyy-mm-dd"', []),
        ("sqlite:///t.db?table=t", 'kind = "date"', 'kind = "date"', ["in, out have no format"]),
        ("duckdb:///t.duckdb?table=t", 'kind = "date"', 'kind = "date"', []),
        ("t.jsonl", 'kind = "date"', 'kind = "datetime", zone = "UTC"', ["in has no format"]),
        ("t.xlsx", 'kind = "date"', 'kind = "date"', []),
        ("t.csv", 'kind = "date"', 'kind = "datetime"', ["columns.out has no zone"]),
        (
            "t.csv",
            'kind = "datetime"',
            'kind = "datetime"',
            ["read like 2024-12-31 13:45 or 2024-12-31T13:45:00, and", '"dd.mm.yyyy hh:mm" or "yyyy-mm-dd hh:mm"'],
        ),
        (
            "t.csv",
            'kind = "date"',
            'kind = "datetime"',
            ["cells of a date are read like 2024-12-31", "and cells of a datetime are read like 2024-12-31 13:45 or"],
        ),
        ("t.csv", 'kind = "datetime", zone = "UTC"', 'kind = "datetime", zone = "UTC"', []),
        ("t.csv", 'kind = "date"', 'kind = "datetime", format = "%d.%m.%Y %H:%M"', ["in has no format"]),
        ("t.parquet", 'kind = "date", format = "%d.%m.%Y"', 'kind = "datetime"', []),
    ],
)
def test_check_doubts_a_spelling_of_dates_that_was_perhaps_forgotten(
    source: str, of_in: str, of_out: str, told: list[str], tmp_path: Path
) -> None:
    """By the declarations alone: the file is not there."""
    ends = "low = 2024-01-01, high = 2024-12-31"
    (tmp_path / "t.toml").write_text(
        f'[study]\nsource = "{source}"\n[person]\nrows = "one_each"\nadjacency = "add_remove"\n'
        f'[budget]\nepsilon = "1"\n[columns]\nin = {{ {of_in}, {ends} }}\nout = {{ {of_out}, {ends} }}\n'
        'month = { from = "month(`in`)" }\n',
        "utf-8",
    )
    said = " ".join(warnings(read_spec(tmp_path / "t.toml")))
    assert all(words in said for words in told)
    assert (" no format" in said or " has no zone" in said) is bool(told)


PARTS = [
    ("2025-03-01", "2025-09-30", "month", [3, 4, 5, 6, 7, 8, 9]),
    ("2025-03-01", "2025-09-30", "quarter", [1, 2, 3]),
    ("2024-11-03", "2025-02-03", "month", [1, 2, 11, 12]),
    ("2024-11-03", "2025-02-03", "quarter", [1, 4]),
    ("2024-12-28", "2025-01-02", "day", [1, 2, 28, 29, 30, 31]),
    ("2024-12-28", "2025-01-02", "weekday", [1, 2, 3, 4, 6, 7]),
    ("2024-12-28", "2025-01-02", "week", [1, 52]),
    ("2025-01-01", "2025-12-31", "week", list(range(1, 53))),
    ("2020-01-01", "2025-12-31", "week", list(range(1, 54))),
    ("2020-01-01", "2025-12-31", "month", list(range(1, 13))),
    ("1900-01-01", "2025-12-31", "day", list(range(1, 32))),
    ("2025-03-05", "2025-03-09", "month", [3]),
]


@pytest.mark.parametrize(("low", "high", "part", "listed"), PARTS)
def test_groups_by_a_part_of_a_date_are_those_within_the_bounds(
    low: str, high: str, part: str, listed: list[int]
) -> None:
    """Months that no date can have were listed, with counts. Dates outside count as the nearer bound, a listed one."""
    days = [datetime.date(2019, 1, 1) + datetime.timedelta(days=place) for place in range(0, 2_900, 3)]
    study = rt.study(
        {"day": days}, adjacency="add_remove", columns={"day": rt.date(low, high, complete=True)}, budget=10
    )
    (answer,) = study.release([f"count by {part}(day)"], epsilon=10).answers
    found = {int(dict(cell.label)[f"{part}(day)"]): cell.outcome for cell in answer}
    assert sorted(found) == listed
    whole = sum(outcome.value.value for outcome in found.values() if isinstance(outcome, Reply))
    assert whole == pytest.approx(len(days), abs=60)


def test_hours_within_bounds_of_one_day() -> None:
    column = rt.datetime("2025-03-01T22:10", "2025-03-02T01:30")
    study = rt.study({"at": ["2025-03-01T23:00"]}, adjacency="add_remove", columns={"at": column}, budget=1)
    (answer,) = study.release(["count by hour(at)"], epsilon=1).answers
    assert [dict(cell.label)["hour(at)"] for cell in answer] == [0, 1, 22, 23]


def test_a_plan_tells_widths_of_dates_in_the_units_that_answers_have() -> None:
    """Minutes had been told without their name, ± 23,000, and a release said 5.7 days."""
    columns = {
        "t": rt.datetime("2020-01-01", "2020-12-31T23:59", resolution="minute"),
        "d": rt.date("2020-01-01", "2020-12-31"),
    }
    study = rt.study({"t": [], "d": []}, adjacency="add_remove", columns=columns, budget=9)
    lines = study.plan(["median(t)", "mean(d)", "iqr(t)", "iqr(d)", "count"], epsilon=5, people=5_000).lines
    found = {line.name: (line.expected.unit, line.expected.headline[0]) for line in lines}
    assert [found[name][0] for name in ("median(t)", "mean(d)", "iqr(t)", "iqr(d)", "count")] == [
        *("minutes", "days", "hours", "days", ""),
    ]
    assert {line.expected.typical for line in lines} == {"even", ""}
    assert "for dates that lie evenly in the range" in lines[0].expected.note
    cells = {line.name: cells_of(line.name, line.loss, line.expected)[0][2] for line in lines}
    assert " hours (" in cells["median(t)"]
    assert " days (" in cells["mean(d)"]
    assert " hours (" in cells["iqr(t)"] or " days (" in cells["iqr(t)"]
    assert re.fullmatch(r"± [\d.]+", cells["count"])


@pytest.mark.parametrize("question", ["median(d)", "mean(d)", "quantile(d, 0.9)"])
def test_a_plan_of_dates_that_come_all_the_time_meets_the_release(question: str) -> None:
    """Of orders, bookings and stops the release was 3.3 times as wide as the plan of a column about its middle."""
    days = np.random.default_rng(4).integers(0, 366, 4_000) + np.datetime64("2020-01-01")
    columns = {"d": rt.date("2020-01-01", "2020-12-31", complete=True)}
    study = rt.study({"d": days}, adjacency="add_remove", columns=columns, budget=100, override="a test")
    line = study.plan([question], epsilon=1, people=4_000).lines[0].expected
    outcomes = [study.release([question], epsilon=1)[question].outcome for _ in range(5)]
    found = [one.value for one in outcomes if isinstance(one, Reply)]
    for planned, given in zip(line.headline, ("noise", "sampling"), strict=True):
        assert planned is not None
        assert 0.5 < float(np.median([getattr(one, given) for one in found])) / planned < 2


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("regress(cost ~ admitted)", r"regress\(cost ~ days\(admitted - 2024-01-01\)\), or regress\(cost ~ year"),
        (
            "density(admitted, atoms=2031-01-01)",
            r"atoms are dates within the bounds, 20.*-.* to .*got 2031-01-01",
        ),
        ("median(admitted, low=2023, high=2025)", "low is a day here, such as low=2024-02-29"),
        ("histogram(admitted, edges=18500:19500:500)", "edges are days here, such as"),
        ("density(admitted, atoms=19000)", "atoms are days here, such as atoms=2024-02-29"),
        ("density(admitted, atoms=2024-02-29 19000)", "atoms are days here"),
    ],
)
def test_a_refusal_about_a_date_says_what_to_write_in_dates(question: str, said: str) -> None:
    one = study()
    with pytest.raises(Refusal, match=said):
        one.release([question], epsilon="1")
    assert one.ledger.spent() == rt.PureDP(Fraction(0))


def test_a_share_of_dates_in_other_spellings_says_how_they_are_read() -> None:
    came = [("2024-03-01", "01.03.2024", "Mar 1, 2024")[n % 3] for n in range(3_000)]
    columns: dict[str, Column] = {"came": rt.date("2024-01-01", "2024-12-31")}
    one = rt.study({"came": came}, adjacency="add_remove", rows_each=1, columns=columns, budget=9)
    (said,) = [text for text in one.release(["median(came)"], epsilon=8)["median(came)"].caveats if "of rows" in text]
    assert "they are left out; text of came is read like 2024-12-31" in said
    assert "compare a cell of the file" in said


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("kind", ["Series", "PeriodIndex"])
def test_days_that_are_periods_are_read_and_months_are_refused_before_the_charge(kind: str, frame: bool) -> None:
    import pandas as pd

    def study(freq: str) -> rt.Study:
        periods = pd.period_range("2024-03-01", periods=600, freq=freq)
        rows = {"came": pd.Series(periods) if kind == "Series" else periods}
        columns: dict[str, Column] = {"came": rt.date("2024-01-01", "2074-01-01")}
        return rt.study(
            pd.DataFrame(rows) if frame else rows, adjacency="add_remove", rows_each=1, columns=columns, budget=10
        )

    with pytest.raises(Refusal, match=r"column came holds periods.*\.to_timestamp\(\).*Nothing was read"):
        study("M").release(["count"], epsilon=1)
    found = study("D").release(["count where came < 2024-04-01"], epsilon=9)
    assert found["count where came < 2024-04-01"].value == pytest.approx(31, abs=6)


@pytest.mark.parametrize("kind", ["Series", "DatetimeIndex", "array", "arrow", "polars"])
def test_times_of_a_zone_in_a_dict_of_arrays_are_read_or_refused_before_the_charge(kind: str) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    index = pd.date_range("2024-03-01", periods=600, freq="h", tz="Europe/Berlin")
    forms: dict[str, Callable[[], object]] = {
        "Series": lambda: pd.Series(index),
        "DatetimeIndex": lambda: index,
        "array": lambda: pd.Series(index).array,
        "arrow": lambda: pa.array(index),
        "polars": lambda: pl.Series(pd.Series(index)),
    }
    came = forms[kind]()

    def study(**given: str) -> rt.Study:
        columns: dict[str, Column] = {"came": rt.datetime("2024-01-01", "2025-01-01", **given)}  # type: ignore[arg-type]
        return rt.study({"came": came}, adjacency="add_remove", columns=columns, budget=9)

    with pytest.raises(Refusal, match="column came holds times of a zone"):
        study().release(["count"], epsilon=1)
    found = study(zone="UTC").release(["count where came < 2024-03-02T00:00"], epsilon=8)
    # the first hour is 23:00 of the day before, in UTC
    assert found["count where came < 2024-03-02T00:00"].value == pytest.approx(25, abs=8)
