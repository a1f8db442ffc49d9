"""Releases with bounds that are chosen privately: one for each candidate, of one column.

    settle_bounded(questions, ...)    a share for the choice, the rest for the release at whichever bounds are chosen

It is what ``cap_candidates`` does for a cap on rows: all candidates are prepared and priced before the charge, and the
guarantee is the sequence of the choice and ``one_of`` the releases (docs/proofs/caps.md). Each release tells the share
of values that its bounds cut, as an answer of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from reticent.certificate.snapshot import NOTHING
from reticent.data import expression_text
from reticent.data.expression_tree import ColumnName, column_text
from reticent.data.schema import Category, Integer, Schema, needed
from reticent.data.transformations import computed
from reticent.errors import QuestionError, Refusal
from reticent.privacy import compose
from reticent.privacy.cost import Cost
from reticent.privacy.numbers import show
from reticent.statistics.context import Setting
from reticent.statistics.counts import bounds_choice
from reticent.statistics.grammar import parse
from reticent.statistics.moments.proportion import Proportion
from reticent.statistics.statistic import UNWEIGHTED, Ask
from reticent.study.allocation import PreparedRelease
from reticent.study.cap_candidates import priced, settle_capped, shared_out
from reticent.study.formulas import extended, resolved

if TYPE_CHECKING:
    from reticent.certificate.snapshot import EarlierShares
    from reticent.data.bounds import BoundsLadder
    from reticent.statistics.extensions import Extension

CUT_SHARE: Final = Fraction(1, 40)  # of what is left, for the share of values that are cut


def ladders_of(schema: Schema) -> dict[str, BoundsLadder]:
    """The columns whose bounds are chosen privately, with their candidates."""
    numbers = {name: column for name, column in schema.columns.items() if not isinstance(column, Category)}
    return {name: column.auto for name, column in numbers.items() if column.auto is not None}


def columns_chosen(asked: Sequence[Ask], schema: Schema) -> list[str]:
    """The columns of the questions whose bounds are chosen privately, those behind expressions included."""
    ladders = ladders_of(schema)
    named = [name for item in asked for name in (*item.statistic.named, *_others(item))]
    return [name for name in needed(extended(schema, asked), named) if name in ladders] if ladders else []


def settle_bounded(
    asked: Sequence[Ask],
    within: Cost,
    schema: Schema,
    units: int | None,
    currency: str,
    known: EarlierShares = NOTHING,
    extensions: Sequence[Extension] = (),
) -> PreparedRelease:
    """Steps and guarantee of a release, as ``settle`` gives them, where bounds of a column may be chosen privately.

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
    QuestionError
        Questions about two such columns; such a column beside a cap that is chosen; what ``settle`` refuses for any
        candidate, with the bounds.
    """
    ladders, found = ladders_of(schema), columns_chosen(asked, schema)
    if not found:
        return settle_capped(asked, within, schema, units, currency, known, extensions)
    if len(found) > 1:
        raise QuestionError(
            f"The bounds of {' and '.join(found)} are chosen privately: ask of one such column in a release, and keep "
            f"what it chose for the next. {_together(*(ladders[name].rungs for name in found))} Nothing was charged."
        )
    if schema.person.ladder is not None:
        raise QuestionError(
            f"The bounds of {found[0]} and the cap on rows are both chosen privately: declare one of them, such as the "
            "one that an earlier release chose. "
            f"{_together(ladders[found[0]].rungs, schema.person.ladder.rungs)} Nothing was charged."
        )
    (column,) = found
    ladder = ladders[column]
    setting, near = Setting(schema, units), schema.person.protected

    def of_choice(epsilon: Fraction) -> bounds_choice.BoundsChoiceStep:
        return bounds_choice.prepare(column, ladder, setting, epsilon)

    choice, rest = shared_out(asked, within, ladder.share, of_choice)
    inner = currency if within.rho is None else "zcdp"  # converted once, at the root
    ends = map(ladder.at, ladder.rungs)
    each = [_at(column, bounds, asked, rest, schema, units, inner, extensions) for bounds in ends]
    first = choice.guarantee if near == setting.neighbours else compose.capped(choice.guarantee, neighbours=near)
    found_at = priced(first, each, "at the bounds", within, currency)
    return replace(found_at[ladder.rungs.index(ladder.supposed)], choice=choice, by_choice=found_at)


def _together(*candidates: Sequence[object]) -> str:
    """The reason why two choices are not made in one release, in words."""
    count = math.prod(map(len, candidates))
    return f"Together they have {count:,} candidates, and a release at each is prepared before the charge."


def _others(asked: Ask) -> tuple[str, ...]:
    """The columns of a question's groups and weight."""
    return tuple(name for name in (None if asked.keys is None else asked.keys.column, asked.weighed_by) if name)


def _at(
    column: str,
    bounds: tuple[Fraction, Fraction],
    asked: Sequence[Ask],
    within: Cost,
    schema: Schema,
    units: int | None,
    currency: str,
    extensions: Sequence[Extension],
) -> PreparedRelease:
    """The release at a candidate, with the share of values that it cuts."""
    low, high = bounds
    declared = schema.columns[column]
    assert not isinstance(declared, Category)
    at = (
        replace(declared, low=int(low), high=int(high), auto=None)
        if isinstance(declared, Integer)
        else replace(declared, low=low, high=high, auto=None)
    )
    view = replace(schema, columns=MappingProxyType({**schema.columns, column: at}))
    try:
        view, share = cut_share(view, column, bounds)
        own = [item.epsilon for item in asked]
        if None not in own and within.epsilon is None and within.rho is None:  # every price is named, but for this one
            share = share.at(sum(one for one in own if one is not None) * CUT_SHARE)
        elif within.epsilon is not None:
            named = sum((one for one in own if one is not None), within.epsilon * 0)
            share = share.at((within.epsilon - named) * CUT_SHARE)
        made = settle_capped([*asked, share], within, view, units, currency, NOTHING, extensions)
    except Refusal as refusal:
        raise type(refusal)(f"With bounds [{show(low)}, {show(high)}], which may be chosen: {refusal}") from None
    return replace(made, schema=made.schema or view)


def cut_share(schema: Schema, column: str, bounds: tuple[Fraction, Fraction]) -> tuple[Schema, Ask]:
    """The schema that tells which values lie outside bounds, and the question for their share of all rows.

    Parameters
    ----------
    schema : Schema
        Schema at the chosen bounds.
    column : str
        Column whose bounds are chosen.
    bounds : tuple of Fraction and Fraction
        Lower and upper bound.

    Returns
    -------
    tuple of Schema and Ask
        Schema with the computed column, and the question.
    """
    name, (low, high) = column_text(ColumnName(column)), map(show, bounds)
    outside = f"{name} < {low} or {name} > {high}"
    share = resolved(parse(f"proportion({outside}, value=true) weight {UNWEIGHTED}"), schema)
    assert isinstance(share.statistic, Proportion)
    cell = Category((False, True), complete=True)  # a row without a value is not cut
    return computed(schema, share.statistic.column, expression_text.read(outside), cell), share
