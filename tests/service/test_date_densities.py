"""Densities and histograms of dates: asked with dates, answered in dates, drawn and stored as dates."""

from __future__ import annotations

import datetime
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import reticent as rt
from reticent.calendar import DAY, DayCount
from reticent.data.schema import Column, Integer
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.statistics.grammar import parse
from reticent.study.release import Release
from reticent.synthesis.axis import axis, even
from reticent.synthesis.density import Density
from reticent.synthesis.drawing import dates_at
from reticent.synthesis.search import period_of, search_for

FIRST = datetime.date(2020, 1, 1)
LAST = datetime.date(2025, 12, 31)
TEST = rt.Record(override="a test")
CROWD = datetime.date(2021, 7, 1)


def rows(count: int = 3_000) -> dict[str, list[object]]:
    chance = random.Random(11)
    days = [FIRST + datetime.timedelta(days=chance.randint(0, 2_191)) for _ in range(count)]
    days[: count // 5] = [CROWD] * (count // 5)
    return {
        "admitted": [*days],
        "left": [datetime.datetime.combine(day, datetime.time(chance.randint(0, 23), 30)) for day in days],
        "cost": [chance.randint(0, 500) for _ in days],
    }


def study() -> rt.Study:
    columns: dict[str, Column] = {
        "admitted": rt.date(FIRST, LAST),
        "left": rt.datetime("2020-01-01", "2026-01-01", resolution="minute"),
        "cost": rt.integer(0, 500),
    }
    return rt.study(rows(), adjacency="add_remove", columns=columns, budget="5000", override="a test")


@pytest.fixture(scope="module")
def release() -> Release:
    asked = ["density(admitted)", "density(left, method=histogram, cells=12)"]
    return study().release(asked, epsilon="400", record=TEST)


def law(release: Release, name: str) -> Density:
    found = release[name].density
    assert isinstance(found, Density)
    return found


# --- histograms -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("histogram(admitted, edges=2020-01-01:2023-01-01:year)", 4),
        ("histogram(admitted, edges=2020-01-15:2020-04-10:month)", 5),  # 15 January, three first days, 10 April
        ("histogram(admitted, edges=2020-01-05:2020-02-02:7)", 5),
        ("histogram(admitted, edges=2020-01-01 2021-03-01 2025-12-31)", 3),
        ("histogram(left, edges=2020-01-01T00:30 2021-01-01T13:05:09 2026-01-01)", 3),
        ("quantile(admitted, 0.5, low=2021-01-01, high=2024-01-01)", 0),
        ("density(left, atoms=2021-07-01T12:30)", 0),
    ],
)
def test_dates_in_a_question_are_printed_as_they_are_read(text: str, edges: int) -> None:
    asked = parse(text)
    assert asked.name == text
    assert parse(asked.name) == asked
    assert len(getattr(asked.statistic, "edges", ())) == edges


def test_edges_of_dates_are_the_same_from_text_and_from_python() -> None:
    asked = rt.histogram("admitted", edges=[FIRST, "2020-02-01", datetime.datetime(2020, 2, 2, 12)])
    assert asked == parse("histogram(admitted, edges=2020-01-01 2020-02-01 2020-02-02T12:00)").statistic
    assert asked.edges == (Fraction(18_262), Fraction(18_293), Fraction(36_589, 2))
    assert parse(repr(asked)).statistic == asked


def test_bins_between_dates_count_the_days_between_them() -> None:
    name = "histogram(admitted, edges=2020-01-01:2026-01-01:year)"
    found = study().release(
        [name, "histogram(left, edges=2020-01-01T00:30 2023-07-01 2026-01-01)"], epsilon="2000", record=TEST
    )
    years = [day.year for day in rows()["admitted"] if isinstance(day, datetime.date)]
    cells = list(found[name])
    assert [round(cell.outcome.value.value) for cell in cells if isinstance(cell.outcome, Reply)] == [
        years.count(year) for year in range(2020, 2026)
    ]
    assert cells[0].label == (("bin", "[2020-01-01, 2021-01-01)"),)
    assert cells[-1].label == (("bin", "[2025-01-01, 2026-01-01]"),)
    other = next(iter(found["histogram(left, edges=2020-01-01T00:30 2023-07-01 2026-01-01)"]))
    assert other.label == (("bin", "[2020-01-01T00:30, 2023-07-01)"),)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("histogram(cost, edges=2020-01-01 2021-01-01)", "cost is no date"),
        ("mean(cost, low=2020-01-01, high=2021-01-01)", "cost is no date"),
        ("histogram(admitted, edges=2020-01-01T05:00 2021-01-01)", "no whole day"),
        ("histogram(admitted, edges=2020-01-01 5000000)", "edges are numbers, or dates"),
        ("histogram(admitted, edges=2021-01-01 2020-01-01)", "in increasing order"),
        ("histogram(admitted, edges=2020-01-32 2021-01-01)", "edges: there is no 2020-01-32"),
        ("histogram(admitted, edges=2020-01-01:2020-12-01:fortnight)", "a number of days, or day, week"),
        (
            "histogram(admitted, edges=2020-01-01:2020-01-10:7)",
            "do not reach 2020-01-10. Write edges=2020-01-01:2020-01-08:7 or edges=2020-01-01:2020-01-15:7",
        ),
        ("median(admitted, low=2021-01-01, high=5)", "two numbers, or two dates"),
        ("median(admitted, low=2021-01-01, high=2020-01-01)", "low must be below high, got 2021-01-01 and 2020"),
        ("density(admitted, cost, atoms=2021-01-01)", "for a density of one column"),
    ],
)
def test_dates_that_fit_no_column_are_refused_before_the_charge(question: str, said: str) -> None:
    one = study()
    with pytest.raises(rt.ReticentError, match=said):
        one.release([question], epsilon="1")
    assert one.ledger.spent() == rt.PureDP(Fraction(0))


def test_a_count_of_days_is_a_date_of_any_resolution() -> None:
    assert DayCount(19_782).iso == "2024-02-29"
    assert DayCount(19_782) + Fraction(1, 2) == Fraction(39_565, 2)
    assert DayCount(39_565, 2).iso == "2024-02-29T12:00"
    assert DayCount(39_565, 2).steps(3_600, "x") == 474_780
    with pytest.raises(rt.PublicParameterError, match="no whole day"):
        DayCount(39_565, 2).steps(DAY, "x")


# --- densities --------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_density_of_dates_answers_in_dates(release: Release) -> None:
    found = law(release, "density(admitted)")
    days = sorted(day for day in rows()["admitted"] if isinstance(day, datetime.date))
    middle = found.quantile(0.9)
    assert middle.dtype == np.dtype("datetime64[D]")
    assert abs((middle.item() - days[2_700]).days) <= 30
    assert found.quantile_interval(0.9).date == middle.item()
    assert abs((found.mean().item() - FIRST).days - sum((day - FIRST).days for day in days) / 3_000) <= 20
    drawn = found.sample(50)
    assert drawn.dtype == np.dtype("datetime64[D]")
    assert all(FIRST <= day <= LAST for day in drawn.tolist())
    share = sum(day < datetime.date(2022, 1, 1) for day in days) / 3_000
    for low, high in (("2020-01-01", "2021-12-31"), (FIRST, datetime.date(2021, 12, 31)), (18_262, 18_992)):
        assert found.probability(low, high).value == pytest.approx(share, abs=0.02)
    assert found.cdf(["2021-12-31", "2025-12-31"]).tolist() == pytest.approx([share, 1.0], abs=0.02)
    assert found.cdf(np.array(["2021-12-31"], "datetime64[D]")) == found.cdf([datetime.date(2021, 12, 31)])
    with pytest.raises(rt.PublicParameterError, match="there is no 2021-02-31"):
        found.cdf(["2021-02-31"])
    assert next(cell.label for cell in release["density(admitted)"]) == (("admitted", "2020-01-01 to 2020-08-06"),)


def test_a_density_of_times_answers_in_times(release: Release) -> None:
    found = law(release, "density(left, method=histogram, cells=12)")
    assert found.quantile([0.5]).dtype == np.dtype("datetime64[s]")
    assert isinstance(found.quantile_interval(0.5).date, datetime.datetime)
    noon = found.cdf([datetime.datetime(2022, 1, 1, 12)])
    assert found.cdf(["2022-01-01T12:00"]) == noon
    assert found.cdf(["2022-01-01T12:00:59"]) == noon  # cut to the minute


def test_a_date_that_many_records_share_is_found_and_told_as_a_date(release: Release) -> None:
    answer = release["density(admitted)"]
    (crowd,) = [cell for cell in answer if cell.label == (("admitted", "= 2021-07-01"),)]
    assert isinstance(crowd.outcome, Reply)
    assert crowd.outcome.value.value == pytest.approx(0.2, abs=0.02)
    assert any("2020-01-01 and 2025-12-31" in text and "first days of a month" in text for text in answer.caveats)


@pytest.mark.wide
def test_a_density_of_dates_is_stored_drawn_and_written_as_dates(release: Release, tmp_path: Path) -> None:
    files = release.save(tmp_path / "out")
    again = rt.read_release(tmp_path / "out.json")
    for name in ("density(admitted)", "density(left, method=histogram, cells=12)"):
        stored = law(again, name)
        assert stored == law(release, name)
        assert [one.step for one in stored.axes] == [DAY if "admitted" in name else 60]
    assert "2020-01-01 to 2020-08-06" in files[0].read_text("utf-8")
    single = study().release(["density(admitted, method=histogram, cells=3)"], epsilon="100", record=TEST)
    table = single.save(tmp_path / "one.cells.csv")[0].read_text("utf-8").splitlines()
    assert table[0] == "admitted low,admitted high,mass,noise,density"
    assert [line.split(",")[:2] for line in table[1:4]] == [
        ["2020-01-01", "2021-12-31"],
        ["2021-12-31", "2024-01-01"],
        ["2024-01-01", "2026-01-01"],
    ]
    drawn = law(release, "density(admitted)").plot()
    ticks = [label.get_text() for label in drawn.axes[0].get_xticklabels()]
    assert ticks == ["2020", "2021", "2022", "2023", "2024", "2025"]
    assert drawn.axes[0].get_ylabel() == "probability of each day"


@pytest.mark.wide
def test_made_up_rows_of_dates_are_dates(tmp_path: Path) -> None:
    made = study().synthesize(["admitted", "left", "cost"], epsilon="20", rows=40, record=TEST)
    frame = made.frame()
    assert [str(field.type) for field in frame.schema] == ["date32[day]", "timestamp[s]", "int64"]  # type: ignore[attr-defined]  # a pyarrow table
    lines = made.to_csv(tmp_path / "rows.csv").read_text("utf-8").splitlines()
    assert len(lines) == 41
    for day, time, _ in (line.split(",") for line in lines[1:]):
        assert FIRST <= datetime.date.fromisoformat(day) <= LAST
        assert datetime.datetime.fromisoformat(time)
    assert any("admitted" in text for text in made.good_for())
    pair = made.density
    assert pair.probability(["2020-01-01", "2020-01-01", 0], [LAST, "2026-01-01", 500]).value == pytest.approx(1.0)
    assert pair.marginal("left").quantile(0.5).dtype == np.dtype("datetime64[s]")


@pytest.mark.wide
def test_rows_and_means_of_several_columns_hold_dates() -> None:
    """Dates and times are Python's own, numbers are floats; what was drawn can be asked about again."""
    joint = study().synthesize(["admitted", "left", "cost"], epsilon="20", rows=1, record=TEST).density
    drawn = joint.sample(60)
    assert drawn.shape == (60, 3)
    assert [{type(cell) for cell in column} for column in drawn.T] == [{datetime.date}, {datetime.datetime}, {float}]
    assert all(FIRST <= day <= LAST for day in drawn[:, 0])
    day, time, cost = joint.mean()
    assert (type(day), type(time), type(cost)) == (datetime.date, datetime.datetime, float)
    assert abs((day - joint.marginal("admitted").mean().item()).days) <= 1
    assert abs(time - joint.marginal("left").mean().item()) <= datetime.timedelta(minutes=1)
    assert joint.cdf(drawn).shape == joint.pdf(drawn).shape == (60,)
    assert joint.probability(drawn[0], drawn[0]).value >= 0
    plain = study().synthesize(["cost"], epsilon="20", rows=1, record=TEST).density
    assert plain.sample(3).dtype == plain.mean().dtype == np.float64


# --- the search for single dates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "period", "count"),
    [
        (rt.date("2020-01-15", "2025-12-31"), "month", 71),
        (rt.date("1900-01-01", "2025-12-31"), "year", 126),
        (rt.datetime("2024-01-01", "2026-01-01", resolution="hour"), "day", 732),
        (rt.datetime("2020-01-01T05:00", "2026-01-01", resolution="minute"), "month", 72),
    ],
)
def test_round_dates_are_first_days_and_every_value_keeps_one_place(column: Integer, period: str, count: int) -> None:
    """The search counts each value once: told and other values together are all of them."""
    assert column.calendar is not None
    assert column.low is not None
    assert column.high is not None
    step = column.calendar.step
    bounds = axis("x", (column.low, column.high + 1), whole=True, step=step)
    assert period_of(bounds) == period
    search = search_for(bounds, Adjacency("add_remove"), Fraction(1))
    assert len(search.told) == count
    days = [datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=(column.low + n) * step) for n in search.told]
    assert all((day.hour, day.minute) == (0, 0) for day in days)
    assert period == "day" or all(day.day == 1 for day in days)
    places = np.array([*range(min(search.values, 5_000)), *search.told[-3:], search.values - 1], np.int64)
    unique = np.unique(places)
    order = search._ordered(unique)
    assert len(np.unique(order)) == len(unique)
    assert order.min() >= 0
    assert order.max() < search.values


def test_axes_of_numbers_and_of_dates_are_searched_alike_but_for_the_round_values() -> None:
    numbers = even("x", Fraction(18_262), Fraction(20_453), 1, whole=True)
    dates = axis("x", numbers.edges, whole=True, step=DAY)
    near, one = Adjacency("substitute"), Fraction(1)
    plain, dated = search_for(numbers, near, one), search_for(dates, near, one)
    assert plain.mechanism.guarantee.loss == dated.mechanism.guarantee.loss
    assert plain.values == dated.values


# --- ticks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "step", "words"),
    [
        (0, 40_000, DAY, ["1980", "2000", "2020", "2040", "2060"]),
        (18_262, 18_500, DAY, ["2020-01", "2020-04", "2020-07"]),
        (18_263, 18_270, DAY, ["2020-01-02", "2020-01-05", "2020-01-09"]),
        (100, 160, 60, ["1970-01-01T01:40", "1970-01-01T02:10", "1970-01-01T02:40"]),
    ],
)
def test_ticks_of_dates_are_few_and_round(low: int, high: int, step: int, words: list[str]) -> None:
    ticks, told = dates_at(low, high, step)
    assert 2 <= len(ticks) <= 6
    assert all(low <= tick <= high for tick in ticks)
    assert told == words
