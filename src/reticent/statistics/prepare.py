"""From a question and its setting to a step: bounds, queries, sensitivities and mechanisms. No row is read.

Every refusal that public facts can justify is raised here, with nothing charged.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, assert_never

from reticent.data.query import (
    Persons,
    Rows,
)
from reticent.errors import QuestionError
from reticent.privacy.numbers import positive
from reticent.statistics.context import Setting
from reticent.statistics.counts import count_step as counts
from reticent.statistics.density import DensityOf
from reticent.statistics.estimand import estimand
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.logarithms import LogMean
from reticent.statistics.specs import (
    PLAIN,
    CapShare,
    Count,
    Histogram,
    IncompleteShare,
    Iqr,
    Location,
    Mean,
    People,
    Proportion,
    Quantiles,
    Regression,
    Scale,
    Statistic,
    Sum,
    TrimmedMean,
    Variance,
    delta_of,
)

if TYPE_CHECKING:
    from reticent.statistics.context import Step

EACH: Final = 400  # integers that have a bin each in a histogram without edges


def prepare(asked: Statistic, setting: Setting, epsilon: Fraction) -> Step:
    """The step that answers ``asked`` for exactly ``epsilon``.

    Parameters
    ----------
    asked : Statistic
    setting : Setting
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
    _has_use_for(asked)
    step = _prepared(asked, setting, epsilon)
    # Every step is a frozen dataclass, which a protocol cannot say.
    return step if step.estimand else replace(step, estimand=estimand(asked, setting))  # type: ignore[type-var]


def _prepared(asked: Statistic, setting: Setting, epsilon: Fraction) -> Step:
    """The step of one statistic. Its family is imported at first use: few releases need more than one."""
    own = delta_of(asked)
    if setting.delta is None and own is not None and own.delta is not None:  # planned from a width alone
        setting = replace(setting, delta=own.delta)
    match asked:
        case Count():
            return counts.count(asked.name, Rows(setting.keys), setting, epsilon)
        case People():
            return counts.count(asked.name, Persons(setting.keys), setting, epsilon)
        case Sum():
            return counts.total(asked, setting, epsilon)
        case Histogram():
            return counts.histogram(asked, setting, epsilon)
        case Mean(method="auto" | "bounded") | Variance():
            from reticent.statistics.moments import moment_step as moments

            return moments.prepare(asked, setting, epsilon)
        case Proportion():
            from reticent.statistics.moments import proportion_step as proportions

            return proportions.prepare(asked, setting, epsilon)
        case Quantiles(method="M" | "smooth") | Iqr(method="S") | Scale() | TrimmedMean(method="TM" | "smooth"):
            return _robust(asked, setting, epsilon)
        case Quantiles() | Iqr():
            return _quantiles(asked, setting, epsilon)
        case Mean() | LogMean() | TrimmedMean() | Location():
            return _unbounded(asked, setting, epsilon)
        case Regression():
            from reticent.statistics.regression import steps as regression

            return regression.regress(asked, setting, epsilon)
        case CapShare():
            from reticent.statistics.counts import cap_step as row_cap

            return row_cap.prepare(setting, epsilon)
        case IncompleteShare(columns=columns):
            from reticent.statistics import incomplete

            return incomplete.incomplete_step(columns, setting, epsilon)
        case HypothesisTest():
            from reticent.statistics.hypotheses import steps as hypotheses

            return hypotheses.test(asked, setting, epsilon)
        case DensityOf():  # study/density_step.py prepares it: it is no number
            raise QuestionError(f"{asked.name} is no number, so no half-width is planned for it. Nothing was charged.")
        case _:
            assert_never(asked)


def _robust(asked: Quantiles | Iqr | Scale | TrimmedMean, setting: Setting, epsilon: Fraction) -> Step:
    """The steps of Propose-Test-Release and of smooth sensitivity."""
    from reticent.statistics.robust import steps as robust

    match asked:
        case Quantiles():
            return robust.quantile(asked, setting, epsilon)
        case Iqr() | Scale():
            return robust.scale(asked, setting, epsilon)
        case TrimmedMean():
            return robust.trimmed_mean(asked, setting, epsilon)
        case _:
            assert_never(asked)


def _quantiles(asked: Quantiles | Iqr, setting: Setting, epsilon: Fraction) -> Step:
    """Quantiles by exponential mechanisms: joint ones where these win, else one for each level."""
    from reticent.statistics.quantiles import quantile_step as quantiles
    from reticent.statistics.unbounded import steps as unbounded

    if isinstance(asked, Iqr):
        return (quantiles.prepare if asked.method == "separate" else unbounded.iqr)(asked, setting, epsilon)
    wins = unbounded.joint_wins(len(asked.levels), interval=asked.interval)
    joint = asked.method == "joint" or (asked.method == "auto" and wins)
    return (unbounded.quantiles if joint else quantiles.prepare)(asked, setting, epsilon)


def _unbounded(asked: Mean | LogMean | TrimmedMean | Location, setting: Setting, epsilon: Fraction) -> Step:
    """Means and locations that need no declared bounds."""
    from reticent.statistics.unbounded import logs
    from reticent.statistics.unbounded import steps as unbounded

    match asked:
        case Mean():
            return unbounded.mean(asked, setting, epsilon)
        case LogMean():
            return logs.log_mean(asked, setting, epsilon)
        case TrimmedMean():
            return unbounded.trimmed_mean(asked, setting, epsilon)
        case Location():
            return unbounded.location(asked, setting, epsilon)
        case _:
            assert_never(asked)


def _has_use_for(asked: Statistic) -> None:
    """Refuse options of propose-test-release beside a method that spends no delta: they would change nothing."""
    if not isinstance(asked, Quantiles | Iqr | TrimmedMean) or delta_of(asked) is not None:
        return
    if replace(asked.tested, unit=None if asked.method == "smooth" else asked.tested.unit) != PLAIN:
        raise QuestionError(
            f"mode, delta, unit and width have no use in {asked.name}: name a method that spends a δ, such as M for a "
            "median, S for an iqr, TM for a trimmed mean. Nothing was charged."
        )
