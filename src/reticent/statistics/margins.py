"""Margins of grouped answers: sums of released integers over groups, free, with intervals from the law of all noises.

    count by ward, year with totals        cells for each ward, for each year, for all: a label lacks what is summed

A margin is post-processing: it reads the noisy integers of the cells and nothing else, so it costs nothing and agrees
with them to the last digit. The noises of its cells are independent, and its interval is that of their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias

from reticent.data.query import Keys
from reticent.errors import QuestionError
from reticent.statistics.answer import Label

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step

Margin: TypeAlias = tuple[Label, tuple[int, ...]]  # the label, and the places of the groups that are summed
LISTED: Final = "totals are of the groups that are listed"


def margins_of(keys: Keys) -> tuple[Margin, ...]:
    """The margins of a product of groups, those of most columns first; the sum over all groups is the last."""
    labels = keys.labels
    columns = range(len(labels[0]))
    found: list[Margin] = []
    for size in reversed(columns):
        for chosen in combinations(columns, size):
            places: dict[Label, list[int]] = {}
            for place, label in enumerate(labels):
                places.setdefault(tuple(label[column] for column in chosen), []).append(place)
            found += [(label, tuple(several)) for label, several in places.items()]
    return tuple(found)


def with_totals(step: Step, setting: Setting) -> Step:
    """The step that gives margins, too.

    Raises
    ------
    QuestionError
        An answer that is no function of sums of released integers.
    """
    from reticent.mechanisms.gaussian import Gaussian
    from reticent.mechanisms.geometric import Geometric
    from reticent.statistics.counts.count_step import CountStep
    from reticent.statistics.counts.persons import Persons
    from reticent.statistics.moments.moment_step import MomentStep
    from reticent.statistics.moments.proportion_step import ProportionStep

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
        case CountStep(mechanism=None | Geometric() | Gaussian()) | MomentStep() | ProportionStep():
            return replace(step, margins=margins_of(keys), caveats=(*step.caveats, LISTED))
        case _:
            raise QuestionError(
                f"{step.name}: only counts, sums, histograms, proportions, and means, variances and sds of bounded "
                "columns have totals. Ask for the whole as a question of its own, without by. Nothing was charged."
            )


def summed(vectors: Sequence[tuple[int, ...]], places: Sequence[int]) -> tuple[int, ...]:
    """The sum of the vectors at some places."""
    return tuple(map(sum, zip(*(vectors[place] for place in places), strict=True)))
