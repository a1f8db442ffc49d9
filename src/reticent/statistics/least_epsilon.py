"""Accuracy first: the least epsilon whose noise is no wider than wanted. No row is read."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

from reticent.data.schema import Real
from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy.cost import MOST_EPSILON as MOST
from reticent.privacy.numbers import rough
from reticent.statistics.context import HEAPED, ExpectedAccuracy, Setting, Step
from reticent.statistics.density import DensityOf
from reticent.statistics.prepare import prepare
from reticent.statistics.statistic import Ask

GRID: Final = 1000  # epsilons are multiples of 1 / GRID
WIDEST: Final = 4.0  # deviations or quartile distances of a column, within which nearly all of its values lie
UNITS: Final = {"sd": "standard deviations of its column", "iqr": "quartile distances of its column"}


def least_epsilon(asked: Ask, setting: Setting, half_width: float, people: int) -> Fraction:
    """The least multiple of 1/1000 at which the noise half-width at 95 % is at most ``half_width``.

    Parameters
    ----------
    asked : Ask
    setting : Setting
    half_width : float
        Of the noise alone, since sampling does not depend on epsilon. In the answer's units, or in that of its plan
        where a column has no bounds.
    people : int
        The size the plan assumes.

    Returns
    -------
    Fraction
        Epsilon, a multiple of 1/1000.

    Raises
    ------
    QuestionError
        Where no epsilon up to 10 reaches it, with the reason.
    """
    if not half_width > 0:
        raise PublicParameterError(f"the half-width wanted must be > 0, got {half_width}")
    if isinstance(asked.statistic, DensityOf):
        raise QuestionError(f"{asked.name} is no number, so no half-width is planned for it. Nothing was charged.")
    refuse_unit(asked.name, prepare(asked, setting, Fraction(MOST)), half_width, people)
    low, high = 0, MOST * GRID
    if not _reaches(asked, setting, Fraction(MOST), half_width, people):
        raise QuestionError(_reason(asked, setting, half_width, people))
    while high - low > 1:
        middle = (low + high) // 2
        if _reaches(asked, setting, Fraction(middle, GRID), half_width, people):
            high = middle
        else:
            low = middle
    return Fraction(high, GRID)


def refuse_unit(name: str, step: Step, half_width: float, people: int) -> None:
    """Refuse a half-width that is meant in the unit of the answer where the plan is in deviations, distances or shares.

    Parameters
    ----------
    name : str
        The answer.
    step : Step
        What is planned for it.
    half_width : float
        At most this is wanted.
    people : int
        The size the plan assumes.

    Raises
    ------
    QuestionError
        The column has no bounds, and the width is more than ``WIDEST`` of its units, which says nothing.
    """
    unit = step.expected(people).unit
    if unit and half_width > WIDEST:
        told = UNITS.get(unit, "shares of the answer")
        raise QuestionError(
            f"{name} has no bounds, so its width is planned in {told}, and {half_width:g} of them say nothing. Want a "
            "part of one, such as 0.05, or say low and high known without the file. Nothing was charged."
        )


def _reaches(asked: Ask, setting: Setting, epsilon: Fraction, half_width: float, people: int) -> bool:
    noise = _noise(asked, setting, epsilon, people)
    return noise is not None and noise <= half_width


def _noise(asked: Ask, setting: Setting, epsilon: Fraction, people: int) -> float | None:
    """The expected noise half-width; None where the question would be refused or unanswered at this epsilon.

    Nothing public tells how often values are equal, so it is that of equal values where a typical column has none. A
    declared resolution tells it between bounds.
    """
    prepare(asked, setting, Fraction(MOST))  # what is wrong at every epsilon is said at once
    try:
        expected = prepare(asked, setting, epsilon).expected(people)
    except QuestionError:
        return None
    typical = expected.headline[0]
    if typical is None or (not expected.unit and _has_resolution(asked, setting)):
        return typical
    equal = max([noise or 0.0 for name, noise, _ in expected.others if name == HEAPED], default=0.0)
    return typical if equal < 2.0 * typical else equal  # a typical column of many people has equal values itself


def _has_resolution(asked: Ask, setting: Setting) -> bool:
    """Tell if the question is of a real column with a declared step."""
    column = setting.schema.columns.get(getattr(asked.statistic, "column", ""))
    return isinstance(column, Real) and column.resolution is not None


def bought_for_equal_values(expected: ExpectedAccuracy, half_width: float) -> ExpectedAccuracy:
    """The plan of an answer whose wanted half-width was bought for equal values, with a note that says so.

    Parameters
    ----------
    expected : ExpectedAccuracy
    half_width : float
        At most this was wanted.

    Returns
    -------
    ExpectedAccuracy
        As it is where a release is about as wide as wanted.
    """
    typical = expected.headline[0]
    if typical is None or 2.0 * typical > half_width or all(name != HEAPED for name, *_ in expected.others):
        return expected
    told = f"± {half_width:g} is bought for many equal values, which nothing public rules out: a resolution costs less"
    return replace(expected, note="; ".join(filter(None, (expected.note, told))))


def _reason(asked: Ask, setting: Setting, half_width: float, people: int) -> str:
    noise = _noise(asked, setting, Fraction(MOST), people)
    if noise is None:
        return f"{asked.name} gives no reply for {people:,} people even at ε {MOST}. More people are needed."
    return (
        f"{asked.name} cannot be planned to ± {half_width:g}: at ε {MOST} the noise is still ± {rough(noise, 3)} "
        f"for {people:,} people. Nothing was charged."
    )
