"""Releases at caps on rows that are below the ledger's ceiling: one for each candidate, if the cap is chosen privately.

    settle_capped(questions, ...)    a share for the choice, the rest for the release at whichever cap is chosen
    at_chosen(prepared, ...)         the release at the cap that is drawn

Whatever public facts can refuse is refused for every candidate before the charge. The guarantee is the sequence of the
choice and ``one_of`` the releases, each ``capped``: lifted to persons with as many rows as the ceiling. The ledger is
charged for all that before the choice is drawn (docs/proofs/caps.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeVar

import attrs

from reticent.certificate.snapshot import NOTHING, EarlierShares
from reticent.data.schema import Schema
from reticent.errors import PublicParameterError, Refusal
from reticent.exact.rounding import round_down, sqrt_down
from reticent.privacy import compose, ptr
from reticent.privacy.compose import together
from reticent.privacy.convert import epsilon_delta, zcdp_of
from reticent.privacy.cost import NO_TOTAL, Cost
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.context import Setting
from reticent.statistics.counts import cap_choice
from reticent.statistics.counts.bounds_choice import BoundsChoiceStep
from reticent.statistics.counts.cap_choice import CapChoiceStep
from reticent.statistics.statistic import Ask
from reticent.study.allocation import DIGITS, PreparedRelease, caveat_is_due, settle

if TYPE_CHECKING:
    from reticent.data.table import Table
    from reticent.entropy import Entropy
    from reticent.statistics.extensions import Extension

KEY: Final = bytes(32)  # which rows of a person are kept for a choice is a rule inside that person, for any key
C = TypeVar("C", CapChoiceStep, BoundsChoiceStep)


def settle_capped(
    asked: Sequence[Ask],
    within: Cost,
    schema: Schema,
    units: int | None,
    currency: str,
    known: EarlierShares = NOTHING,
    extensions: Sequence[Extension] = (),
) -> PreparedRelease:
    """Steps and guarantee of a release, as ``settle`` gives them, for a schema whose cap may be chosen privately.

    Parameters
    ----------
    asked : sequence of Ask
        Questions of the release.
    within : Cost
        Total of the release.
    schema : Schema
        Schema of the study.
    units : int or None
        The public number of persons, if there is one.
    currency : str
        Currency of the ledger.
    known : EarlierShares
        Shares that earlier releases told.
    extensions : sequence of Extension
        Statistics of third parties.

    Returns
    -------
    PreparedRelease
        Release with one version for each candidate.

    Raises
    ------
    QuestionError, PublicParameterError
        What ``settle`` refuses for any candidate, with the cap.
    """
    person = schema.person
    if person.ladder is None and person.protected == person.neighbours():
        return settle(asked, within, schema, units, currency, known, extensions)
    inner = currency if within.rho is None else "zcdp"  # converted once, at the root
    if person.ladder is None:
        made = settle(asked, within, schema, units, inner, known, extensions)
        return replace(made, guarantee=together([_lifted(made, schema)], within, currency))
    if not any(caveat_is_due(item, schema) for item in asked):
        return settle(asked, within, schema, units, currency, known, extensions)
    setting = Setting(schema, units)
    of_rows = [item.statistic.adds_up for item in asked if item.counts_rows]
    times = cap_choice.times_of(sum(of_rows), len(of_rows) - sum(of_rows))
    choice, rest = shared_out(
        asked, within, person.ladder.share, lambda epsilon: cap_choice.prepare(setting, epsilon, times)
    )
    each = []
    for cap in person.ladder.rungs:
        view = replace(schema, person=person.capped_at(cap))
        try:
            made = settle([_within(item, cap) for item in asked], rest, view, units, inner, NOTHING, extensions)
        except Refusal as refusal:
            raise type(refusal)(f"With a cap of {cap:,} rows, which may be chosen: {refusal}") from None
        made = replace(made, schema=made.schema or view)
        each.append(replace(made, guarantee=_lifted(made, made.schema or schema)))
    rungs = person.ladder.rungs
    supposed = min(cap for cap in rungs if cap >= min(person.usual_rows or person.ladder.supposed, person.rows))
    found = priced(choice.guarantee, each, "at the cap", within, currency)
    return replace(found[rungs.index(supposed)], choice=choice, by_choice=found)


def priced(
    choice: Guarantee, each: Sequence[PreparedRelease], label: str, within: Cost, currency: str
) -> tuple[PreparedRelease, ...]:
    """The candidates at one guarantee: the sequence of the choice and ``one_of`` them, whichever is chosen.

    Parameters
    ----------
    choice : Guarantee
        Of the choice.
    each : sequence of PreparedRelease
        The release at each candidate, with its own guarantee.
    label : str
        Of the candidates in the certificate.
    within : Cost
        Total of the release.
    currency : str
        Currency of the ledger.

    Returns
    -------
    tuple of PreparedRelease
        In the same order.

    Raises
    ------
    PublicParameterError
        The guarantee is beyond what the total admits.
    """
    releases = compose.one_of([made.guarantee for made in each], label=label)
    whole = together([choice, releases], within, currency)
    within.admit(ptr.chargeable(whole).loss, epsilon_delta(whole.loss)[0])
    return tuple(replace(made, guarantee=whole) for made in each)


def at_chosen(prepared: PreparedRelease, table: Table, entropy: Entropy) -> PreparedRelease:
    """The release at the candidate that is chosen now, from the rows.

    Parameters
    ----------
    prepared : PreparedRelease
        Release with its candidates.
    table : Table
        Open rows.
    entropy : Entropy
        Source of the noise.

    Returns
    -------
    PreparedRelease
        The version of the chosen candidate.
    """
    choice = prepared.choice
    assert isinstance(choice, CapChoiceStep | BoundsChoiceStep)
    found = table.run(choice.queries, KEY, choice.setting.schema)
    place = choice.choose(found, entropy)
    made = prepared.by_choice[place]
    return replace(made, notes=(*made.notes, choice.told(place)), choice=choice, chosen=place)


def _within(asked: Ask, cap: int) -> Ask:
    """The question with groups of which a person can be in as many as they have kept rows."""
    if asked.keys is None or asked.keys.touch <= cap:
        return asked
    return attrs.evolve(asked, groups=replace(asked.keys, touch=cap))


def shared_out(asked: Sequence[Ask], within: Cost, share: Fraction, prepare: Callable[[Fraction], C]) -> tuple[C, Cost]:
    """The choice at its share of the loss, and what is left for the answers.

    Parameters
    ----------
    asked : sequence of Ask
        Questions of the release.
    within : Cost
        Total of the release.
    share : Fraction
        Part of the loss that pays for the choice.
    prepare : function
        Makes the choice for an epsilon.

    Returns
    -------
    tuple of C and Cost
        Choice, and the cost of the answers.

    Raises
    ------
    PublicParameterError
        Neither the release nor every question names a loss.
    """
    if within.rho is not None:
        made = prepare(round_down(sqrt_down(2 * within.rho * share), DIGITS))
        cost = zcdp_of(compose.in_zcdp(made.guarantee).loss).rho
        made = prepare(round_down(made.mechanism.epsilon * sqrt_down(within.rho * share / cost), DIGITS))
        return made, replace(within, rho=within.rho - zcdp_of(compose.in_zcdp(made.guarantee).loss).rho)
    own = [item.epsilon for item in asked]
    named = sum((amount for amount in own if amount is not None), Fraction(0))
    if within.epsilon is not None:
        aside = within.epsilon * share
        return prepare(aside), replace(within, epsilon=within.epsilon - aside)
    if None in own:
        raise PublicParameterError(NO_TOTAL)
    return prepare(named * share / (1 - share)), within


def _lifted(made: PreparedRelease, schema: Schema) -> Guarantee:
    """The guarantee of a release at a cap, about persons with as many rows as the ceiling."""
    return compose.capped(made.guarantee, neighbours=schema.person.protected)
