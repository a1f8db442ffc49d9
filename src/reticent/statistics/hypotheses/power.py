"""A power curve: how often a test of a plan would say no, by the size of the true effect. No row is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Final

from reticent.errors import PublicParameterError
from reticent.privacy.loss import Loss, words
from reticent.statistics.column_step import PlannedStep
from reticent.statistics.context import Step, values_of
from reticent.statistics.hypotheses.null import LEVEL, SEEN
from reticent.statistics.hypotheses.step import HypothesisStep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS: Final = 10
INK, MARK, GREY = "#0b4f85", "#7db8e8", "#6b7280"


@dataclass(frozen=True, slots=True)
class PowerCurve:
    """P(p-value <= ``level``) by effect, noise included, for ``people`` persons of the shape the plan's note names.

    Attributes
    ----------
    name : str
        The test.
    effect : str
        What the effects are: ``difference of means (f less m)``, in the unit of the column.
    effects, power : tuple of float
        Effects, rising as given, and the power at each; at effect 0 it is the level.
    people : int
    level : float
    loss : Loss
        What the test costs.
    """

    name: str
    effect: str
    effects: tuple[float, ...]
    power: tuple[float, ...]
    people: int
    level: float
    loss: Loss

    @property
    def seen(self) -> float | None:
        """The least of the effects that is seen with power .8."""
        return next((at for at, found in zip(self.effects, self.power, strict=True) if found >= SEEN), None)

    def plot(self) -> Figure:
        """The curve, with the level and the power of .8 as lines."""
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = drawn.add_subplot()
        axes.axhline(self.level, color=GREY, linewidth=0.8, linestyle=":")
        axes.axhline(SEEN, color=GREY, linewidth=0.8, linestyle=":")
        axes.plot(self.effects, self.power, color=INK, marker="o", markerfacecolor=MARK)
        axes.set_xlabel(self.effect)
        axes.set_ylabel(f"power at level {self.level:g}")
        axes.set_ylim(0.0, 1.02)
        axes.set_title(f"{self.name} · {words(self.loss)} · {self.people:,} people", loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        return drawn

    def __repr__(self) -> str:
        head = f"{self.name} · {words(self.loss)} · {self.people:,} people · level {self.level:g}"
        wide = max(len(f"{at:.4g}") for at in self.effects)
        lines = [f"{at:>{wide}.4g}  {found:.3f}" for at, found in zip(self.effects, self.power, strict=True)]
        return "\n".join([head, f"{self.effect}, power:", *lines])


@dataclass(frozen=True, slots=True)
class PoweredTest:
    """A prepared test whose power a plan tells, at an effect, a number of people and a level.

    ``usual`` are effects from the hypothesis to where the test is nearly sure, of a number of people.
    """

    name: str
    effect: str
    loss: Loss
    power: Callable[[float, int, float], float]
    usual: Callable[[int], tuple[float, ...]]


def powered(step: Step) -> PoweredTest | None:
    """The test that a step is; None where it is another question."""
    if isinstance(step, HypothesisStep):
        return _of_hypothesis(step)
    from reticent.statistics.hypotheses.dense import WHAT, DensityPlan

    if not isinstance(step, PlannedStep) or not isinstance(step.plan, DensityPlan):
        return None
    plan, rows, person = step.plan, step.rows, step.setting.schema.person

    def power(effect: float, people: int, level: float) -> float:
        return plan.power(effect, values_of(people, rows, person), level)

    def usual(people: int) -> tuple[float, ...]:
        least = plan.least(values_of(people, rows, person))
        null = min(float(plan.density), least)
        return tuple(null + 2 * (least - null) * place / (POINTS - 1) for place in range(POINTS))

    return PoweredTest(step.name, WHAT, step.guarantee.loss, power, usual)


def _of_hypothesis(step: HypothesisStep) -> PoweredTest:
    def power(effect: float, people: int, level: float) -> float:
        return step.hypothesis.power(effect, step.values(people), level)

    def usual(people: int) -> tuple[float, ...]:
        return _usual(step, people, power)

    return PoweredTest(step.name, step.hypothesis.effect, step.guarantee.loss, power, usual)


def power_curve(test: PoweredTest, *, effects: Sequence[float] = (), people: int, level: float = LEVEL) -> PowerCurve:
    """The power of a prepared test at effects of these sizes; without any, at ten up to where it is nearly sure.

    Parameters
    ----------
    test : PoweredTest
    effects : sequence of float
        In the unit of the effect.
    people : int
        Number of people.
    level : float
        Of the test, in (0, 1).

    Returns
    -------
    PowerCurve

    Raises
    ------
    PublicParameterError
        For a level outside (0, 1), no people, effects that are no numbers, or one that the test cannot have.
    """
    if not _is_number(level) or not 0.0 < level < 1.0:
        raise PublicParameterError(f"level must lie between 0 and 1, got {level!r}")
    if isinstance(people, bool) or not isinstance(people, int) or people < 1:
        raise PublicParameterError(f"people must be an integer >= 1, got {people!r}")
    chosen = _numbers(effects) or test.usual(people)
    found = tuple(test.power(effect, people, level) for effect in chosen)
    return PowerCurve(test.name, test.effect, chosen, found, people, level, test.loss)


def _numbers(effects: object) -> tuple[float, ...]:
    """A list of numbers; anything else is refused, and so is a word, whose letters are a list."""
    found: list[object] = []
    if isinstance(effects, Iterable) and not isinstance(effects, str | bytes):
        found = list(effects)
    if isinstance(effects, Sized) and not len(effects):
        return ()
    if not found or not all(_is_number(effect) for effect in found):
        raise PublicParameterError(f"effects is a list of numbers, such as [0, 0.1, 0.2], got {effects!r}")
    return tuple(float(effect) for effect in found if isinstance(effect, Real))


def _is_number(value: object) -> bool:
    """Tell if a value is a finite number of Python or numpy."""
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def _usual(step: HypothesisStep, people: int, power: Callable[[float, int, float], float]) -> tuple[float, ...]:
    """Effects from 0 to 2.25 half-widths at 95 %, as far as there are such."""
    expected = step.expected(people)
    if expected.noise is None:
        raise PublicParameterError(f"{people:,} people are too few for {step.name} at this loss: {expected.note}")
    wide, found = math.hypot(expected.noise, expected.sampling or 0.0), [0.0]
    for quarter in range(1, POINTS):
        try:
            power(wide * quarter / 4, people, LEVEL)
        except PublicParameterError:  # beyond the largest effect there can be
            break
        found.append(wide * quarter / 4)
    return tuple(found)


__all__ = ["PowerCurve", "PoweredTest", "power_curve", "powered"]
