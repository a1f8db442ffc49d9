"""Calendars: integers and dates name one another, parts agree with Python's datetime, and odd spellings are refused."""

from __future__ import annotations

import datetime
import random
import re
from operator import methodcaller

import pytest

from reticent import calendar
from reticent.calendar import DAY, FIRST, LAST, Calendar
from reticent.errors import PublicParameterError

START = datetime.datetime(1970, 1, 1)


@pytest.mark.parametrize("step", calendar.STEPS.values())
def test_an_integer_and_its_text_name_one_another(step: int) -> None:
    chance = random.Random(step)
    places = [FIRST // step, LAST // step, 0, -1, *(chance.randint(FIRST // step, LAST // step) for _ in range(300))]
    for place in places:
        text = calendar.text(place, step)
        assert calendar.count(text, step) == place
        moment = START + datetime.timedelta(seconds=place * step)
        assert calendar.moment(place, step) == (moment.date() if step == DAY else moment)
        assert calendar.count(moment, step) == place


def test_a_number_between_two_days_is_the_one_below_and_its_upper_end_the_one_above() -> None:
    assert calendar.text(19_782.9, DAY) == "2024-02-29"
    assert calendar.up(19_782.1, DAY) == "2024-03-01"
    assert calendar.up(19_782.0, DAY) == "2024-02-29"
    assert calendar.text(-0.5, DAY) == "1969-12-31"
    for far in (1e300, float("inf")):
        assert calendar.text(far, DAY) == calendar.up(far, DAY) == "9999-12-31"
        assert calendar.text(-far, 60) == "0001-01-01T00:00"


@pytest.mark.parametrize(
    ("born", "at", "years"),
    [
        ("2000-02-29", "2001-02-28", 0),
        ("2000-02-29", "2001-03-01", 1),
        ("2000-02-29", "2004-02-28", 3),
        ("2000-02-29", "2004-02-29", 4),
        ("1959-03-01", "2024-02-29", 64),
        ("1959-03-01", "2024-03-01", 65),
        ("2024-12-31", "2024-01-01", -1),
        ("0001-01-01", "9999-12-31", 9998),
    ],
)
def test_an_age_has_its_leap_days_right(born: str, at: str, years: int) -> None:
    assert calendar.age(calendar.count(born, DAY), DAY, calendar.count(at, 60), 60) == years


def test_weeks_are_those_of_iso_8601() -> None:
    found = {
        text: calendar.part("week", calendar.count(text, DAY), DAY)
        for text in ("2020-12-31", "2021-01-03", "2021-01-04", "2018-12-31", "2026-12-31")
    }
    assert found == {"2020-12-31": 53, "2021-01-03": 53, "2021-01-04": 1, "2018-12-31": 1, "2026-12-31": 53}
    assert [calendar.part("weekday", calendar.count(f"2024-02-{day}", DAY), DAY) for day in (26, 29)] == [1, 4]


@pytest.mark.parametrize("period", calendar.PERIODS)
def test_the_first_days_of_periods_are_all_there(period: str) -> None:
    low, high = calendar.count("2019-12-30", DAY), calendar.count("2024-03-01", DAY)
    wanted = sorted({calendar.truncated(place, DAY, period) for place in range(low, high + 1)})
    assert calendar.firsts(low, high, DAY, period) == wanted


@pytest.mark.parametrize("text", ["24-01-01", "x", "2024-1-1"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(PublicParameterError, match="a date is written 2024-02-29"):
        calendar.count(text, DAY)


@pytest.mark.parametrize("text", ["2023-02-29", "2024-13-01", "2024-01-01T24:00", "0000-01-01"])
def test_a_day_that_is_none_is_said_to_be_none(text: str) -> None:
    with pytest.raises(PublicParameterError, match=f"there is no {text}"):
        calendar.count(text, DAY)


def test_a_moment_between_two_steps_is_refused() -> None:
    assert calendar.count("2024-02-29T00:00", DAY) == 19_782
    with pytest.raises(PublicParameterError, match="no whole day"):
        calendar.count("2024-02-29T13:05", DAY)
    with pytest.raises(PublicParameterError, match="without zone"):
        calendar.count(datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), 60)


LETTERS = (
    ("dd.mm.yyyy", "%d.%m.%Y", 86_400),
    ("DD.MM.YYYY", "%d.%m.%Y", 86_400),
    ("d.m.yyyy", "%d.%m.%Y", 86_400),
    ("yyyy-mm-dd", "%Y-%m-%d", 86_400),
    ("mm/dd/yyyy", "%m/%d/%Y", 86_400),
    ("yyyymmdd", "%Y%m%d", 86_400),
    ("dd.MM.yyyy HH:mm", "%d.%m.%Y %H:%M", 60),
    ("yyyy-mm-ddThh:mm:ss", "%Y-%m-%dT%H:%M:%S", 1),
    ("HH:mm dd.MM.yyyy", "%H:%M %d.%m.%Y", 60),
    ("dd.mm.yy", "%d.%m.%y", 86_400),
    ("mmm d, yyyy", "%b %d, %Y", 86_400),
    ("d. mmmm yyyy", "%d. %B %Y", 86_400),
    ("DDMMMYYYY", "%d%b%Y", 86_400),
    ("m/d/yyyy h:mm AM/PM", "%m/%d/%Y %I:%M %p", 60),
)


@pytest.mark.parametrize(("letters", "directives", "step"), LETTERS)
def test_the_letters_of_offices_spell_the_same_format(letters: str, directives: str, step: int) -> None:
    """One format and no second: a snapshot of the study is the same by either spelling."""
    assert Calendar(step, "", letters) == Calendar(step, "", directives)
    assert Calendar(step, "", letters).format == directives


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"format": "%d.%m"}, "once each"),
        ({"format": "dd.mm"}, "once each"),
        ({"format": "dd.mm.mmm.yyyy"}, "got 'dd.mm.mmm.yyyy'"),
        ({"format": "dd.mm.yy yyyy"}, "once each"),
        ({"format": "dd.mm.yyyy %I"}, "once each"),
        ({"format": "%d.%m.%Y %p", "step": 60}, "once each"),
        ({"format": "%d.%m.%Y %H %p", "step": 60}, "once each"),
        ({"format": "dd.mm.yyyy hh:mm am"}, "got 'dd.mm.yyyy hh:mm am'"),
        ({"format": "dd.mm.yyyy", "step": 60}, "says the hour"),
        ({"format": "%d.%m.%Y %Y"}, "once each"),
        ({"format": "%d.%m.%Y", "step": 60}, "says the hour"),
        ({"zone": "Europe/Nowhere", "step": 60}, "zone names a time zone"),
        ({"zone": "UTC"}, "zone names a time zone"),
        ({"step": 7}, "resolution is second, minute, hour or day"),
    ],
)
def test_a_calendar_that_cannot_be_is_refused(made: dict[str, str | int], said: str) -> None:
    with pytest.raises(PublicParameterError, match=said):
        Calendar(**made)  # type: ignore[arg-type]


@pytest.mark.parametrize(("low", "high"), [(None, None), (0, None), (-36_525, 36_525)])
def test_two_digits_of_a_year_need_bounds_of_less_than_a_century(low: int | None, high: int | None) -> None:
    with pytest.raises(PublicParameterError, match="less than 100 years apart"):
        Calendar(format="dd.mm.yy").within(low, high)
    assert Calendar(format="dd.mm.yyyy").within(low, high).century == 0


@pytest.mark.parametrize(
    ("low", "high", "century"), [("9950-01-01", "9999-12-31", 9900), ("0001-01-01", "0050-01-01", 1)]
)
def test_the_hundred_years_of_two_digits_are_years_that_there_are(low: str, high: str, century: int) -> None:
    """Years of two digits near 9999 were read as 10020 and fell on the far bound."""
    ends = calendar.count(low, DAY), calendar.count(high, DAY)
    assert Calendar(format="dd.mm.yy").within(*ends).century == century


def test_a_spelling_is_written_in_english_whatever_the_language() -> None:
    at = datetime.datetime(2024, 3, 5, 0, 7, 9)
    assert calendar.spelled(at, "%b %d, %y %I:%M:%S %p") == "Mar 05, 24 12:07:09 AM"
    assert calendar.spelled(at.date(), "%d. %B %Y") == "05. March 2024"


def test_a_pickle_of_before_there_were_centuries_opens() -> None:
    made = Calendar.__new__(Calendar)
    methodcaller("__setstate__", [60, "UTC", ""])(made)
    assert made == Calendar(60, "UTC")


@pytest.mark.parametrize(
    "made",
    [
        Calendar(),
        Calendar(1),
        Calendar(60, "UTC"),
        Calendar(format="%d/%m/%Y"),
        Calendar(60, format="%d/%m/%Y %H:%M"),
        Calendar(60, format="m/d/yy h:mm AM/PM"),
    ],
)
def test_every_form_that_is_named_is_read_and_so_is_that_of_a_zone(made: Calendar) -> None:
    forms = made.forms.split(" or ")
    assert all(re.search(made.pattern, form) for form in forms)
    others = (f"2024-12-31{between}13:45:00{offset}" for between in " T" for offset in ("", "Z"))
    for other in others:  # whatever of these is read is named, but for a blank in place of the T
        if re.search(made.pattern, other):
            assert other.replace(" ", "T") in forms
