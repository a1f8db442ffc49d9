"""Accuracy first: from wanted half-widths to the least epsilons that give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from reticent.certificate.snapshot import NOTHING, Known
from reticent.data.schema import Schema
from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy.cost import Cost
from reticent.statistics.context import Setting
from reticent.statistics.least_epsilon import least_epsilon
from reticent.statistics.shares import SHARE
from reticent.statistics.statistic import Ask
from reticent.study.allocation import CAVEAT_SHARE, Question, caveat_is_due, deltas
from reticent.study.incomplete import due

STEPS: Final = 1000  # of the grid of epsilons


def wanted(
    questions: Sequence[Question],
    want: Mapping[str, float],
    schema: Schema,
    understood: Callable[[Sequence[Question]], tuple[Ask, ...]],
    people: int | None,
    delta: Fraction | None = None,
    known: Known = NOTHING,
) -> tuple[Ask, ...]:
    """The questions, each named one with the least epsilon on a grid of 1/1000 that reaches its half-width.

    A name that was not asked is asked. ``want`` is the noise half-width at 95 %, in the answer's units; ``understood``
    reads questions. ``delta`` is shared by those that need one; ``known`` is what earlier releases told of incomplete
    rows.

    Raises
    ------
    QuestionError
        Where no epsilon reaches the width, with the reason; where the number of people is not public.
    PublicParameterError
        A half-width that is not a positive number.
    """
    if people is None:
        raise QuestionError(
            "A width needs a public number of people: declare [person] people, or plan with people=… and release "
            "with the epsilon it names."
        )
    asked = list(understood(questions)) if questions else []
    places = {item.name: place for place, item in enumerate(asked)}
    for name, width in want.items():
        if isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width < float("inf"):
            raise PublicParameterError(f"want[{name!r}] is the half-width wanted, a number > 0, got {width!r}")
        if name not in places:
            (item,) = understood([name])
            places[name] = len(asked)
            asked.append(item)
        if asked[places[name]].epsilon is not None:
            raise QuestionError(f"{name} has an epsilon of its own: say either that or the width wanted")
    offered = deltas(asked, Cost(delta=delta))
    public = people if schema.person.adjacency == "substitute" else schema.person.people
    bought = due(asked, schema, public, known)
    for name, width in want.items():
        item = asked[places[name]]
        setting = Setting(schema, public, item.keys, offered[places[name]])
        epsilon = least_epsilon(item, setting, float(width), people)
        # the answer keeps all but what is set aside for caveats, so it needs that much more
        aside = CAVEAT_SHARE * caveat_is_due(item, schema)
        aside += SHARE * bought[places[name]]
        epsilon = Fraction((epsilon * STEPS / (1 - aside)).__ceil__(), STEPS)
        asked[places[name]] = item.at(epsilon, delta=item.delta)
    return tuple(asked)
