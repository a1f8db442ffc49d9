"""Preparation of a question: from it and its setting to a step of bounds, queries, sensitivities and mechanisms.

No row is read. Every refusal that public facts can justify is raised here, with nothing charged.

A column of dates counts days, or shorter steps, from 1970 on, so a statistic of integers answers in these. A value, or
an average of values, is a date again; a spread is a number of days. Sums of dates mean nothing, and are refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs

from reticent.calendar import DAY, STEPS, Calendar, DayCount
from reticent.data.expression_tree import write
from reticent.data.format import are_years
from reticent.data.query import Per
from reticent.data.schema import Integer, Real, Schema
from reticent.errors import PublicParameterError, QuestionError
from reticent.exact.rounding import round_up
from reticent.outcome import Reply
from reticent.privacy.cost import MOST_EPSILON as MOST
from reticent.privacy.cost import Cost
from reticent.privacy.numbers import positive, show
from reticent.statistics import public_facts
from reticent.statistics.context import Setting
from reticent.statistics.public_facts import among_groups
from reticent.statistics.statistic import Ask, Statistic, ask

if TYPE_CHECKING:
    from reticent.privacy.filters import Currency
    from reticent.statistics.answer import Answer, Cell
    from reticent.statistics.context import ExpectedAccuracy, Step
    from reticent.statistics.statistic import Statistic

T = TypeVar("T", bound="Statistic")
DAYS: Final = {  # options that are values of the column
    "low": "low is a day here, such as low=2024-02-29",
    "high": "high is a day here, such as high=2024-02-29",
    "edges": "edges are days here, such as edges=2024-01-01:2024-12-31:month",
    "atoms": "atoms are days here, such as atoms=2024-02-29",
}


def calendar_of(column: str, schema: Schema) -> Calendar | None:
    """The calendar of a declared column of dates; None of any other."""
    declared = schema.columns.get(column)
    return declared.calendar if isinstance(declared, Integer) else None


def check_dates(statistic: Statistic, schema: Schema) -> None:
    """Refuse a statistic that means nothing of dates, before anything is charged.

    Raises
    ------
    QuestionError
        With what to write instead.
    """
    if statistic.takes_dates:
        return
    for column in statistic.columns:
        if calendar_of(column, schema) is not None:
            raise QuestionError(
                f"{column} is a date, and {statistic.verb} of dates is not told. Compute a number and ask of that: "
                f"{_asked_of(statistic, column, 'days({} - 2024-01-01)')}, or "
                f"{_asked_of(statistic, column, 'year({})')}. Nothing was charged."
            )


def _asked_of(statistic: Statistic, column: str, number: str) -> str:
    """The question with a number that is made of a column of dates in its place."""
    return statistic.renamed(lambda one: number.format(one) if one == column else one).name


def in_steps(statistic: T, schema: Schema) -> T:
    """The statistic with its dates as integers of its column.

    Raises
    ------
    QuestionError
        Dates of a column of numbers, numbers of a column of dates, or a time between two steps of the column.
    """
    dated = any(calendar_of(column, schema) is not None for column in statistic.named)
    for name, given in _options(statistic).items() if dated else ():
        if name in DAYS and _has_numbers(given):
            raise QuestionError(f"{statistic.name}: {DAYS[name]}. Nothing was charged.")
    if not any(map(_has_dates, _options(statistic).values())):
        return statistic
    found = {name: calendar_of(name, schema) for name in statistic.named}
    calendars = {one.step for one in found.values() if one is not None}
    if len(found) != 1 or not calendars:
        raise QuestionError(
            f"{statistic.name} has dates among its options, and {', '.join(found)} is no date. Nothing was charged."
        )
    numbered: T = _numbered(statistic, calendars.pop())
    return numbered


def _options(value: Any) -> dict[str, object]:
    return {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}


def _has_numbers(value: object) -> bool:
    """True for a number that is no date, or one inside a list or a part of an option."""
    if isinstance(value, tuple):
        return any(map(_has_numbers, value))
    if attrs.has(type(value)):
        return any(map(_has_numbers, _options(value).values()))
    return isinstance(value, Fraction) and not isinstance(value, DayCount)


def _has_dates(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_dates, value))
    return isinstance(value, DayCount) or (attrs.has(type(value)) and any(map(_has_dates, _options(value).values())))


def _numbered(value: Any, step: int) -> Any:
    """A value of an option with every date in it as a number of steps."""
    if isinstance(value, DayCount):
        try:
            return value.steps(step, "a date")
        except PublicParameterError as error:
            raise QuestionError(f"{error}. Nothing was charged.") from None
    if isinstance(value, tuple):
        return tuple(_numbered(item, step) for item in value)
    if attrs.has(type(value)):
        options = _options(value)
        return attrs.evolve(value, **{name: _numbered(one, step) for name, one in options.items() if _has_dates(one)})
    return value


def calendar_told(statistic: Statistic, schema: Schema) -> Calendar | None:
    """The calendar that the numbers of a statistic are told in; None where they are no dates and no spread of dates."""
    if statistic.axis not in ("values", "spread") or not statistic.columns:
        return None
    return calendar_of(statistic.columns[0], schema)


def years_told(statistic: Statistic, schema: Schema) -> bool:
    """True for a value, or an average of values, of a column whose declared bounds are years."""
    column = schema.columns.get(statistic.columns[0]) if statistic.axis == "values" and statistic.columns else None
    if not isinstance(column, Real | Integer) or column.low is None or column.high is None:
        return False
    dated = isinstance(column, Integer) and column.calendar is not None
    return not dated and column.unit.lower() in ("", "year", "years") and are_years(column.low, column.high)


def of_years(answer: Answer) -> Answer:
    """The answer of a statistic of years, which are written without a mark between thousands."""
    cells = (
        replace(cell, outcome=Reply(replace(cell.outcome.value, years=True)))
        if isinstance(cell.outcome, Reply)
        else cell
        for cell in answer.cells
    )
    return replace(answer, cells=tuple(cells))


def dated(answer: Answer, statistic: Statistic, found: Calendar) -> Answer:
    """The answer of a statistic of dates, with its numbers as dates or as distances of dates.

    A spread of times is in hours.

    Parameters
    ----------
    answer : Answer
        Answer in steps of the calendar.
    statistic : Statistic
        Its statistic, which is a place or a distance.
    found : Calendar
        Calendar of the column.

    Returns
    -------
    Answer
        Answer with dates, or in days or hours.
    """
    if statistic.axis == "values":
        return replace(answer, cells=tuple(_cell(cell, found.step, found.units, 1.0) for cell in answer.cells))
    unit, factor = _of_spread(found)
    return replace(answer, cells=tuple(_cell(cell, 0, unit, factor) for cell in answer.cells))


def _of_spread(found: Calendar) -> tuple[str, float]:
    """The unit of a distance of dates, and a step of the calendar in it."""
    return ("days", 1.0) if found.step == DAY else ("hours", found.step / STEPS["hour"])


def in_its_unit(expected: ExpectedAccuracy, statistic: Statistic | None, schema: Schema) -> ExpectedAccuracy:
    """The expectation of a statistic with half-widths in the unit of its answer: days, hours, minutes or seconds.

    Parameters
    ----------
    expected : ExpectedAccuracy
        With half-widths in steps of the column.
    statistic : Statistic or None
        None for a share beside the answers.
    schema : Schema

    Returns
    -------
    ExpectedAccuracy
        As it is where the numbers are no dates and no distances of dates, or in standard deviations.
    """
    found = None if expected.unit or statistic is None else calendar_told(statistic, schema)
    if found is None or statistic is None:
        return expected
    unit, factor = (found.units, 1.0) if statistic.axis == "values" else _of_spread(found)

    def told(width: float | None) -> float | None:
        return None if width is None else width * factor

    noise, sampling = told(expected.noise), told(expected.sampling)
    others = tuple((shape, told(wide), told(drawn)) for shape, wide, drawn in expected.others)
    return replace(expected, noise=noise, sampling=sampling, others=others, unit=unit)


def _cell(cell: Cell, step: int, unit: str, factor: float) -> Cell:
    match cell.outcome:
        case Reply(e):
            numbers = {name: factor * getattr(e, name) for name in ("value", "low", "high", "noise", "sampling")}
            law = cell.error if factor == 1.0 else None
            return replace(cell, outcome=Reply(replace(e, **numbers, step=step, unit=unit)), error=law)
        case _:
            return cell


def prepare(question: Statistic | Ask, setting: Setting, epsilon: Fraction) -> Step:
    """The step that answers a question for exactly ``epsilon``.

    Parameters
    ----------
    question : Statistic or Ask
    setting : Setting
        Its groups and its delta count; the unit of analysis is the question's.
    epsilon : Fraction
        What the step may cost, > 0; a question's own ``epsilon`` is not looked at here.

    Returns
    -------
    Step
        Its guarantee has at most this loss: less where some of its numbers are public.

    Raises
    ------
    QuestionError
        Before rows are read: unknown column, a category where numbers are needed, missing bounds, or a quantile that
        so few people cannot support.
    """
    positive(epsilon, "epsilon")
    try:
        return _prepared(question, setting, epsilon)
    except public_facts.TooFewValues as refusal:
        enough = _enough(question, setting, epsilon)
        both = None if enough is None else (enough, epsilon)
        raise public_facts.TooFewValues(refusal.reason, refusal.remedies, both) from None


def _enough(question: Statistic | Ask, setting: Setting, epsilon: Fraction) -> Fraction | None:
    """An epsilon that would do, within a tenth of the least one, in two digits; None where ``MOST`` would not."""

    def fails(at: Fraction) -> bool:
        try:
            _prepared(question, setting, at)
        except public_facts.TooFewValues:
            return True
        return False

    low, high = epsilon, Fraction(MOST)
    if low >= high or fails(high):
        return None
    while high > low * Fraction(11, 10):
        middle = round_up(Fraction(math.sqrt(low * high)), 2)
        if middle >= high:
            break
        low, high = (middle, high) if fails(middle) else (low, middle)
    return high


def _prepared(question: Statistic | Ask, setting: Setting, epsilon: Fraction) -> Step:
    """The step, or the refusal of its statistic."""
    asked = ask(question)
    check_dates(asked.statistic, setting.schema)
    own = replace(setting, per=_unit(question, setting), delta=_delta(asked, setting))
    name = public_facts.title(asked.statistic, own)
    asked = attrs.evolve(asked, statistic=in_steps(asked.statistic, setting.schema))
    if own.weight is None:
        step = asked.statistic.prepare(own, epsilon)
    else:
        from reticent.statistics.weighted import preparation

        step = preparation.prepare(asked, own, epsilon)
    if own.totals:
        from reticent.statistics.totals import with_totals

        step = with_totals(step, own)
    # Every step is a frozen dataclass, which a protocol cannot say.
    if step.name == public_facts.title(asked.statistic, own) != name:
        step = replace(step, name=name)  # type: ignore[type-var]
    if not step.estimand:
        return replace(step, estimand=estimand(asked.statistic, own))  # type: ignore[type-var]
    return replace(step, estimand=step.estimand + rows_of(own)) if rows_of(own) else step  # type: ignore[type-var]


def estimand(question: Statistic | Ask, setting: Setting) -> str:
    """The quantity that a question estimates, of the population or this table, in words."""
    asked = ask(question)
    words = asked.statistic.estimand(replace(setting, per=_unit(question, setting)))
    return f"{words}{rows_of(setting)}{among_groups(setting)}"


def rows_of(setting: Setting) -> str:
    """The part of an estimand that says which rows a join and a filter left: ``, of rows where age >= 65``."""
    tables = setting.schema.tables.items()
    several = "".join(f", joined with at most {table.rows} rows of {name}" for name, table in tables if table.rows > 1)
    partners = "".join(f", of rows with a partner in {name}" for name, table in tables if table.join == "inner")
    chosen = "" if setting.schema.where is None else f", of rows where {write(setting.schema.where)}"
    return f"{several}{partners}{chosen}"


def _unit(question: Statistic | Ask, setting: Setting) -> Per:
    """The unit of analysis of a question; that of the setting for a statistic that says none."""
    return question.unit if isinstance(question, Ask) else setting.per


def _delta(asked: Ask, setting: Setting) -> Fraction | None:
    """The delta that the answer may spend: what the release offers it, else, as planned from a width, its own."""
    if not asked.spends_delta:
        return None
    return asked.delta if setting.delta is None else setting.delta


def deltas(asked: Sequence[Ask], within: Cost, charged: Currency = "approximate") -> tuple[Fraction | None, ...]:
    """The delta each question may spend: its own, or an equal part of what those leave; None where it needs none.

    A question that is ``charged`` in rho may need none there.

    Parameters
    ----------
    asked : sequence of Ask
    within : Cost
        The price of the whole release.
    charged : "approximate" or "zcdp"
        Currency of the charge.

    Returns
    -------
    tuple of Fraction or None
        A delta for each question.

    Raises
    ------
    PublicParameterError, QuestionError
        Where a question needs a delta and there is none; where the questions' own come to more than the release's.
    """
    needs = [item.statistic.delta_in_rho or charged == "approximate" for item in asked]
    spends = [item.delta is not None or (item.spends_delta and need) for item, need in zip(asked, needs, strict=True)]
    own = [item.delta for item, spent in zip(asked, spends, strict=True) if spent]
    if not own:
        return (None,) * len(asked)
    named = sum((amount for amount in own if amount is not None), Fraction(0))
    open_ones = own.count(None)
    if within.rho is not None and open_ones:
        raise QuestionError(
            f"{_first_open(asked, spends)} spends a δ of its own: give it one, such as delta=1e-9; the δ of a release "
            "in ρ names the conversion. Nothing was charged."
        )
    if within.rho is not None:
        return tuple(item.delta if spent else None for item, spent in zip(asked, spends, strict=True))
    if within.delta is None and open_ones:
        raise QuestionError(
            f"{_first_open(asked, spends)} needs a δ, the probability of a reply where there should be none or, with "
            "Gaussian noise, of a larger loss: say delta, such as 1e-9, well below one in the number of people. "
            "Nothing was charged."
        )
    if within.delta is not None and (named > within.delta or (named == within.delta and open_ones)):
        raise PublicParameterError(
            f"the questions' own deltas come to {show(named)}, which leaves nothing of {show(within.delta)} for the "
            "others"
        )
    each = (within.delta - named) / open_ones if open_ones and within.delta is not None else None
    return tuple((item.delta or each) if spent else None for item, spent in zip(asked, spends, strict=True))


def _first_open(asked: Sequence[Ask], spends: Sequence[bool]) -> str:
    """The name of the first question that needs a delta and has none of its own."""
    for item, spent in zip(asked, spends, strict=True):
        if spent and item.delta is None:
            return item.name
    raise AssertionError("every question has a delta of its own")
