"""From a question and its setting to a step: bounds, queries, sensitivities and mechanisms. No row is read.

Every refusal that public facts can justify is raised here, with nothing charged.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from reticent.data.expression_text import write
from reticent.data.query import Per
from reticent.errors import QuestionError
from reticent.exact.rounding import round_up
from reticent.privacy.cost import MOST_EPSILON as MOST
from reticent.privacy.numbers import positive
from reticent.statistics import public_facts
from reticent.statistics.context import Setting
from reticent.statistics.dates import check_dates, in_steps
from reticent.statistics.estimand import among_groups
from reticent.statistics.statistic import Ask, Statistic, ask

if TYPE_CHECKING:
    from reticent.statistics.context import Step


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
        words = str(public_facts.TooFewValues(refusal.reason, refusal.remedies, both))
        raise QuestionError(words) from None


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
