"""Totals of a step: the margins that its answer gets, or the refusal of a step that has none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reticent.errors import QuestionError
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.statistics.context import margins_of
from reticent.statistics.counts.count_step import CountStep
from reticent.statistics.counts.persons import Persons
from reticent.statistics.moments.moment_step import MomentStep
from reticent.statistics.moments.proportion_step import ProportionStep
from reticent.statistics.weighted.weighted_step import WeightedStep

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step

LISTED: Final = "totals are of the groups that are listed"


def with_totals(step: Step, setting: Setting) -> Step:
    """The step that gives margins, too.

    Raises
    ------
    QuestionError
        An answer that is no function of sums of released integers.
    """
    keys = setting.keys
    assert keys is not None  # a question with totals has groups
    several = keys.touch > 1 and setting.schema.person.column is not None
    counts_persons = step.name.startswith(Persons.verb) or setting.per == "person"
    if several and counts_persons:
        raise QuestionError(
            f"{step.name}: a person can be in {keys.touch} groups, and would count in a total as often. Ask it again "
            "without by. Nothing was charged."
        )
    match step:
        case CountStep(mechanism=None | Geometric() | Gaussian()) | MomentStep() | ProportionStep() | WeightedStep():
            return replace(step, margins=margins_of(keys), caveats=(*step.caveats, LISTED))
        case _:
            raise QuestionError(
                f"{step.name}: only counts, sums, histograms, proportions, and means, variances and sds of bounded "
                "columns have totals. Ask for the whole as a question of its own, without by. Nothing was charged."
            )
