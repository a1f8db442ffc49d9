"""Half-widths wanted of differences and totals: the least epsilons of their answers, together. No row is read.

The noise of an answer falls like 1 / epsilon, and the half-width of a sum of independent noises rises in each of their
scales. So "each half-width is at most what is wanted" is a convex set of epsilons, and their sum has one minimum there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from reticent.errors import QuestionError, Refusal
from reticent.privacy.cost import MOST_EPSILON as MOST
from reticent.privacy.numbers import rough
from reticent.statistics.answer import SEPARATOR
from reticent.statistics.comparison import read_comparison
from reticent.statistics.context import Step
from reticent.statistics.error_law import ErrorLaw, combined
from reticent.statistics.grammar import parse, spelt
from reticent.statistics.least_epsilon import GRID, refuse_unit

NORMAL: Final = 1.959963984540054
STEP: Final = 1e-3  # of the logarithm of an epsilon

Prepare = Callable[[str, Fraction], Step]


@dataclass(frozen=True, slots=True)
class LinkedWidth:
    """A half-width wanted of a difference or a total: ``name``, its ``parts`` and what is wanted at most."""

    name: str
    parts: tuple[str, ...]
    width: float

    @property
    def answers(self) -> tuple[str, ...]:
        """The name of the answer of each part, without its group or bin."""
        return tuple(part.partition(SEPARATOR)[0] for part in self.parts)

    def of(self, names: Sequence[str]) -> LinkedWidth:
        """The same width, its answers spelt as in the release."""
        spelt = [name + "".join(part.partition(SEPARATOR)[1:]) for name, part in zip(names, self.parts, strict=True)]
        return replace(self, parts=tuple(spelt))


def linked_width(name: str, width: float) -> LinkedWidth | None:
    """The wanted half-width of a comparison, ``difference(mean(x), mean(y))``; None where the name is an answer's.

    Raises
    ------
    QuestionError
        A ratio, whose width depends on the answers; a difference of other than two.
    """
    found = read_comparison(name, _is_question)
    if found is None:
        return None
    verb, parts = found
    if verb == "ratio":
        raise QuestionError(f"{name} is as wide as its answers make it: want widths of its parts. Nothing was charged.")
    if verb == "difference" and len(parts) != 2:
        raise QuestionError(f"{name} is a difference of two answers, got {len(parts)}")
    return LinkedWidth(name, parts, width)


def _is_question(part: str) -> bool:
    try:
        parse(part.partition(SEPARATOR)[0])
    except Refusal:
        return False
    return True


def planned_widths(want: Mapping[str, float], steps: Sequence[Step], people: int) -> tuple[tuple[str, float], ...]:
    """The comparisons among ``want``, each with the half-width of its noise that these steps give.

    Parameters
    ----------
    want : mapping of str to float
        Half-widths by name, some of them of comparisons.
    steps : sequence of Step
        Steps of the plan.
    people : int
        Supposed number of persons.

    Returns
    -------
    tuple of tuple of str and float
        Names with half-widths at 95 %, in the unit of the answer.
    """
    named, found = {step.name: step for step in steps}, []
    for name, width in want.items():
        comparison = linked_width(name, width)
        if comparison is not None:
            told = comparison.of([spelt(one, named) for one in comparison.answers])
            found.append((name, _half_width(told, named, people)))
    return tuple(found)


def least_epsilons(
    wanted: Sequence[LinkedWidth], least: Mapping[str, Fraction], prepare: Prepare, people: int, *, in_rho: bool
) -> dict[str, Fraction]:
    """The epsilons of all answers of ``wanted`` with the least sum, or in rho the least sum of squares.

    Each is a multiple of 1/1000, rounded outwards until every planned half-width is at most what is wanted.

    Parameters
    ----------
    wanted : sequence of LinkedWidth
        Comparisons with their half-widths.
    least : mapping of name to epsilon
        What an answer needs by itself.
    prepare : callable
        The step of a named answer for an epsilon.
    people : int
        Supposed number of persons.
    in_rho : bool
        True if the sum of squares is made least.

    Returns
    -------
    dict of str to Fraction
        Epsilon of each answer, by name.

    Raises
    ------
    QuestionError
        No epsilon up to 10 reaches a width; the noise of an answer cannot be planned.
    """
    names = list(dict.fromkeys(name for one in wanted for name in one.answers))
    at_most = {name: prepare(name, Fraction(MOST)) for name in names}
    for one in wanted:
        for name in one.answers:
            refuse_unit(name, at_most[name], one.width, people)
        reached = _half_width(one, at_most, people)
        if not reached <= one.width:
            raise QuestionError(
                f"{one.name} cannot be planned to ± {one.width:g}: at ε {MOST} for each answer the noise is still "
                f"± {rough(reached, 3)} for {people:,} people. Nothing was charged."
            )
    sought = _solved(wanted, names, at_most, least, people, in_rho=in_rho)
    steps: dict[tuple[str, int], Step] = {}

    def met(units: Mapping[str, int]) -> bool:
        for name, unit in units.items():
            if (name, unit) not in steps:
                try:
                    steps[name, unit] = prepare(name, Fraction(unit, GRID))
                except QuestionError:  # too little for a reply of so few people
                    return False
        made = {name: steps[name, unit] for name, unit in units.items()}
        return all(_half_width(one, made, people) <= one.width for one in wanted)

    units = {name: max(math.ceil(sought[name] * GRID - 1e-6), _units(least.get(name))) for name in names}
    while not met(units):  # at the most all widths are reached, so this ends
        units = {name: min(max(unit + 1, math.ceil(unit * 1.002)), MOST * GRID) for name, unit in units.items()}
    for name in sorted(names, key=lambda name: -units[name]):
        while units[name] - 1 >= max(_units(least.get(name)), 1) and met({**units, name: units[name] - 1}):
            units[name] -= 1
    return {name: Fraction(unit, GRID) for name, unit in units.items()}


def _units(epsilon: Fraction | None) -> int:
    return 1 if epsilon is None else (epsilon * GRID).__ceil__()


def _solved(
    wanted: Sequence[LinkedWidth],
    names: Sequence[str],
    at_most: Mapping[str, Step],
    least: Mapping[str, Fraction],
    people: int,
    *,
    in_rho: bool,
) -> dict[str, float]:
    """The minimum over real epsilons, in logarithms, with noise that is exactly as 1 / epsilon and has no steps."""
    import numpy as np
    from scipy.optimize import minimize

    power = 2.0 if in_rho else 1.0
    low = np.log([float(least.get(name, Fraction(1, GRID))) for name in names])
    high = np.full(len(names), math.log(MOST))

    def margin(one: LinkedWidth, logs: object) -> float:
        widths = dict(zip(names, np.exp(math.log(MOST) - np.asarray(logs, float)).tolist(), strict=True))
        return math.log(one.width) - math.log(_half_width(one, at_most, people, widths))

    def slope(one: LinkedWidth, logs: object) -> list[float]:
        """Derivatives of the margin, by differences that rounding in a half-width cannot reach."""
        moves = STEP * np.eye(len(names))
        return [(margin(one, logs + move) - margin(one, logs - move)) / (2.0 * STEP) for move in moves]

    start = high.copy()
    for _ in range(40):  # all answers at one epsilon: the start is allowed, and near
        middle = np.maximum(low, start - 0.2)
        if any(margin(one, middle) < 0.0 for one in wanted):
            break
        start = middle
    found = minimize(
        lambda logs: float(np.exp(power * logs).sum()),
        start,
        jac=lambda logs: power * np.exp(power * logs),
        method="SLSQP",
        bounds=list(zip(low, high, strict=True)),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda logs, one=one: margin(one, logs),
                "jac": lambda logs, one=one: slope(one, logs),
            }
            for one in wanted
        ],
        options={"ftol": 1e-8, "maxiter": 200},
    )
    return dict(zip(names, np.exp(found.x if found.success else start).tolist(), strict=True))


def _half_width(
    one: LinkedWidth, steps: Mapping[str, Step], people: int, wider: Mapping[str, float] | None = None
) -> float:
    """Planned 95 % half-width of the noise of a difference or total; ``wider`` scales noises and drops their steps."""
    laws = []
    for name, part in zip(one.answers, one.parts, strict=True):
        law = _noise(steps[name], people)
        if law is None:
            return math.inf
        if wider is not None:
            factor = wider[name]
            law = ErrorLaw(0.0, tuple(factor * scale for scale in law.scales), factor**2 * law.normal)
        labels = getattr(steps[name], "labels", ((),))
        laws += [law] * (1 if SEPARATOR in part else len(labels))
    return combined([1.0] * len(laws), laws, {}).half_width()


def _noise(step: Step, people: int) -> ErrorLaw | None:
    """The planned law of the noise of one cell: that of counts is known, others are taken as normal, which is wider."""
    law: ErrorLaw | None = getattr(step, "noise_law", None)
    if law is not None:
        return law
    noise = step.expected(people).headline[0]
    return None if noise is None else ErrorLaw(0.0, normal=(noise / NORMAL) ** 2)
