"""Accuracy first: the least epsilon whose noise is no wider than wanted. No row is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Final

from reticent.data.schema import Person, Real
from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy.cost import MOST_EPSILON as MOST
from reticent.privacy.numbers import rough, show
from reticent.statistics.context import EVEN, HEAPED, LIKELY, ExpectedAccuracy, Setting, Step
from reticent.statistics.density import DensityOf
from reticent.statistics.prepare import in_its_unit, prepare
from reticent.statistics.statistic import Ask

GRID: Final = 1000  # epsilons are multiples of 1 / GRID
LOWEST, STEPS = 1 / 8, 8  # the part of a price above which a lower one is looked for, and the prices that are tried
WIDEST: Final = 4.0  # deviations or quartile distances of a column, within which nearly all of its values lie
SHARE: Final = "of it"
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

    def reaches(units: int) -> bool:
        return _reaches(asked, setting, Fraction(units, GRID), half_width, people)

    def least(low: int, high: int) -> int:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reaches(middle) else (middle, high)
        return high

    high = least(low, high)
    # An interval with both ends may be wider than one of fewer values, so a lower price may do.
    below = [units for step in range(STEPS, 0, -1) if 0 < (units := round(high * LOWEST ** (step / STEPS))) < high - 1]
    for low, units in pairwise((0, *below)):
        if reaches(units):
            return Fraction(least(low, units), GRID)
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
    unit = _half_widths(step, people).unit
    if unit in (*UNITS, SHARE) and half_width > WIDEST:
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

    Nothing public tells how often values are equal, so it is that of equal values where a typical column has none. With
    a declared resolution it is that of a typical column between bounds, and dates come evenly.
    """
    prepare(asked, setting, Fraction(MOST))  # what is wrong at every epsilon is said at once
    try:
        expected = _expected(asked, setting, epsilon, people)
    except QuestionError:
        return None
    typical = expected.headline[0]
    if typical is None or expected.typical == EVEN or (expected.unit not in UNITS and _has_resolution(asked, setting)):
        return typical
    chances = _heaped(expected, setting.schema.person)
    if chances and max(chances) < LIKELY:
        return None
    return max([typical, *(noise or 0.0 for name, noise, _ in expected.others if name == HEAPED)])


def _expected(asked: Ask, setting: Setting, epsilon: Fraction, people: int) -> ExpectedAccuracy:
    """The expectation with half-widths as the plan prints them."""
    return in_its_unit(_half_widths(prepare(asked, setting, epsilon), people), asked.statistic, setting.schema)


def _half_widths(step: Step, people: int) -> ExpectedAccuracy:
    """The expectation of a step; of a test without the effect that is seen, which no width depends on."""
    expected: Callable[[int], ExpectedAccuracy] = getattr(step, "half_widths", step.expected)
    return expected(people)


def _heaped(expected: ExpectedAccuracy, person: Person) -> list[float]:
    """Probabilities of a reply of equal values, at the rows of a person that the plan supposes."""
    supposed = f"{show(person.supposed_rows)} rows each"
    found = [(shape.split(", "), chance) for shape, chance in expected.replies]
    found = [(parts, chance) for parts, chance in found if HEAPED in parts]
    return [chance for parts, chance in found if supposed in parts] or [chance for _, chance in found]


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
    unit = _expected(asked, setting, Fraction(MOST), people).unit
    after = f" {unit}" if unit else ""
    return (
        f"{asked.name} cannot be planned to ± {half_width:g}{after}: at ε {MOST} the noise is still "
        f"± {rough(noise, 3)}{after} for {people:,} people. Nothing was charged."
    )
