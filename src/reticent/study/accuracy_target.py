"""Accuracy first: from wanted half-widths to the least epsilons that give them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import chain
from typing import Final

from reticent.certificate.snapshot import NOTHING, EarlierShares
from reticent.data.schema import Schema
from reticent.errors import PublicParameterError, QuestionError
from reticent.exact.rounding import sqrt_down
from reticent.privacy.cost import Cost
from reticent.privacy.filters import Currency
from reticent.privacy.numbers import show
from reticent.statistics.context import Setting, Step
from reticent.statistics.counts.incomplete_share import leaves_out
from reticent.statistics.least_epsilon import least_epsilon
from reticent.statistics.prepare import deltas, prepare
from reticent.statistics.shares import SHARE
from reticent.statistics.statistic import Ask
from reticent.study.allocation import CAVEAT_SHARE, caveat_is_due
from reticent.study.bounds_candidates import columns_chosen
from reticent.study.formulas import Questions, extended
from reticent.study.incomplete_shares import due
from reticent.study.linked_widths import LinkedWidth, least_epsilons, linked_width

STEPS: Final = 1000  # of the grid of epsilons
NO_LIMIT: Final = Cost()


def wanted(
    questions: Questions,
    want: Mapping[str, float],
    schema: Schema,
    understood: Callable[[Questions], tuple[Ask, ...]],
    people: int | None,
    within: Cost = NO_LIMIT,
    known: EarlierShares = NOTHING,
    *,
    passing: Fraction | None = None,
    in_rho: bool = False,
) -> tuple[Ask, ...]:
    """The questions, each named one with the least epsilon on a grid of 1/1000 that reaches its half-width.

    A name that was not asked is asked. ``want`` is the noise half-width at 95 %, in the answer's units; ``understood``
    reads questions. The answers of a difference or a total, ``difference(mean(x), mean(y))``, get the epsilons with the
    least sum. Where the ledger or the total is ``in_rho`` the sum of their squares is least. The delta of ``within`` is
    shared by those that need one; ``known`` is what earlier releases told of incomplete rows.

    Parameters
    ----------
    questions : statistic, text, or sequence of them
    want : mapping of name to half-width
        Half-widths of the noise at 95 %, in the units of the answers.
    schema : Schema
    understood : function
        Reads questions.
    people : int or None
        The public or assumed number of people.
    within : Cost
        The price that is not exceeded.
    known : EarlierShares
        Shares of incomplete rows that earlier releases told.
    passing : Fraction or None
        Share of rows that is supposed to have a value; None for all.
    in_rho : bool
        True if the price is searched in rho.

    Returns
    -------
    tuple of Ask
        Each named question with the least price of its own.

    Raises
    ------
    QuestionError
        Where no epsilon reaches the width, with the reason; where the number of people is not public. Where the widths
        need more than the epsilon of ``within``, with what they need.
    PublicParameterError
        A half-width that is not a positive number.
    """
    if people is None:
        raise QuestionError(
            "A width needs a public number of people: declare [person] people, or plan with people=… and release "
            "with the epsilon it names."
        )
    if schema.person.ladder is not None:
        raise QuestionError(
            "A width cannot be wanted where the cap on rows is chosen privately: say epsilon. Nothing was charged."
        )
    asked = list(understood(questions)) if questions else []
    places = {item.name: place for place, item in enumerate(asked)}
    alone: dict[str, float] = {}
    together: list[LinkedWidth] = []
    for name, width in want.items():
        if isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width < float("inf"):
            raise PublicParameterError(f"want[{name!r}] is the half-width wanted, a number > 0, got {width!r}")
        comparison = linked_width(name, float(width))
        if comparison is None:
            alone[_place(name, asked, places, understood)] = float(width)
        else:
            together.append(comparison.of([_place(one, asked, places, understood) for one in comparison.answers]))
    if schema.person.filtered or schema.person.moved > 1 or any(item.condition is not None for item in asked):
        raise QuestionError(
            "A width of filtered rows cannot be wanted: how many pass is private. Say epsilon. Nothing was charged."
        )
    if found := columns_chosen(asked, schema):
        raise QuestionError(
            f"A width cannot be wanted where the bounds of {found[0]} are chosen privately: say epsilon. Nothing was "
            "charged."
        )
    declared, schema = schema, extended(schema, asked)
    if schema is not declared:
        known = NOTHING
    charged: Currency = "zcdp" if in_rho else "approximate"
    offered = deltas(asked, Cost(rho=within.rho, delta=within.delta), charged)
    public = people if schema.person.adjacency == "substitute" else schema.person.people
    bought = due(asked, schema, public, known)

    def setting(name: str) -> Setting:
        return Setting(schema, public, asked[places[name]].keys, offered[places[name]], charged)

    def counted(names: Iterable[str]) -> int:
        fewer = any(leaves_out(asked[places[name]], schema) for name in names)
        return max(round(people * (passing or 1)), 1) if fewer else people

    least = {
        name: least_epsilon(asked[places[name]], setting(name), width, counted([name])) for name, width in alone.items()
    }
    if together:

        def step(name: str, epsilon: Fraction) -> Step:
            return prepare(asked[places[name]], setting(name), epsilon)

        least |= least_epsilons(
            together, least, step, counted(chain(*(one.answers for one in together))), in_rho=in_rho
        )
    for name, needed in least.items():
        item = asked[places[name]]
        # the answer keeps all but what is set aside for caveats, so it needs that much more
        aside = CAVEAT_SHARE * caveat_is_due(item, schema)
        aside += SHARE * bought[places[name]]
        kept = 1 - aside if within.rho is None else sqrt_down(1 - aside)  # a part of rho is less of its epsilon
        epsilon = Fraction((needed * STEPS / kept).__ceil__(), STEPS)
        asked[places[name]] = item.at(epsilon, delta=item.delta)
    total = sum((item.epsilon for item in asked if item.epsilon is not None), Fraction(0))
    if within.epsilon is not None and total > within.epsilon:
        raise QuestionError(
            f"These half-widths need ε {show(total)} at least, and the release has {show(within.epsilon)}. "
            "Nothing was charged."
        )
    return tuple(asked)


def _place(
    name: str, asked: list[Ask], places: dict[str, int], understood: Callable[[Questions], tuple[Ask, ...]]
) -> str:
    """The name of an answer as it is spelt in the release; one that was not asked is asked now."""
    if name not in places:
        (item,) = understood([name])
        name = item.name
        if name not in places:
            places[name] = len(asked)
            asked.append(item)
            return name
    if asked[places[name]].epsilon is not None:
        raise QuestionError(f"{name} has an epsilon of its own: say either that or the width wanted")
    return name
