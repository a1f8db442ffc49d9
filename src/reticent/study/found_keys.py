"""Releases by groups that nobody listed: the keys are found first, then all questions are asked of them.

    settle_found(questions, ...)    half of the loss for the list of keys, the rest for the release at any keys
    draw_keys(prepared, ...)        the keys that are listed, from the rows

The release is prepared at made-up keys for its price, and again at the keys that are listed. Its loss is the same for
any keys: that is checked for one key and for several before the charge, and for the listed ones before the first draw
about them. So list and release are a sequence, whatever is listed (docs/proofs/found_groups.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import attrs

from reticent.certificate.snapshot import NOTHING
from reticent.data.expression_tree import MOST_CELLS, divided, write
from reticent.data.schema import Schema
from reticent.data.transformations import filtered
from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy import ptr
from reticent.privacy.compose import together
from reticent.privacy.convert import epsilon_delta
from reticent.privacy.cost import NO_TOTAL, Cost
from reticent.statistics.context import Setting
from reticent.statistics.counts.found_keys import MOST, SHARE, FoundKeysStep, UnlistedStep
from reticent.statistics.counts.key_list_step import holders_of, listing_of
from reticent.statistics.statistic import Ask
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import keys_of, listed_texts

if TYPE_CHECKING:
    from reticent.data.table import Table
    from reticent.entropy import Entropy
    from reticent.statistics.extensions import Extension

KEY: Final = bytes(32)  # which rows of a person count for the list is a rule inside that person, for any key
SUPPOSED: Final = 100  # most keys that a plan supposes
ASSUMED: Final = 10_000  # people of a plan, where no number is known


@dataclass(frozen=True, slots=True)
class FoundGroups:
    """The questions of a release, to be prepared at keys of a column of texts."""

    column: str
    asked: tuple[Ask, ...]
    within: Cost
    schema: Schema
    units: int | None
    currency: str
    extensions: tuple[Extension, ...]

    def at(self, keys: Sequence[str]) -> PreparedRelease:
        """Steps and guarantee of the questions by these keys, without the list."""
        schema = listed_texts(self.schema, self.column, keys)
        asked = [self._grouped(item, schema) if is_found(item) else item for item in self.asked]
        made = settle(asked, self.within, schema, self.units, self.currency, NOTHING, self.extensions)
        return replace(made, schema=made.schema or schema)

    def released(self, prepared: PreparedRelease, keys: Sequence[str]) -> PreparedRelease:
        """The release at listed keys, with the guarantee of list and release; without any, no reply in their place."""
        choice = prepared.choice
        assert isinstance(choice, FoundKeysStep)
        notes = (*prepared.notes, choice.told(len(keys)))
        if not keys:
            steps = tuple(
                UnlistedStep(step, step.estimand) if is_found(item) else step
                for item, step in zip(self.asked, prepared.steps, strict=True)
            )
            return replace(prepared, steps=steps, notes=notes, chosen=0)
        made = self.at(keys)
        whole = together([choice.guarantee, made.guarantee], self.within, self.currency)
        if whole.loss != prepared.guarantee.loss:  # what was charged
            raise PublicParameterError("the price of groups that are found is that of any list")
        return replace(made, guarantee=whole, choice=choice, notes=notes, chosen=len(keys), at_keys=prepared.at_keys)

    def _grouped(self, asked: Ask, schema: Schema) -> Ask:
        assert isinstance(asked.groups, str)
        assert asked.source is not None
        touch, rows = asked.source.groups, schema.person.rows
        keys = keys_of(schema, asked.groups, None, touch)
        touch = min(rows, touch or rows)  # and not fewer where few keys are listed: the price is that of any list
        return attrs.evolve(asked, groups=replace(keys, touch=touch, told=str(asked.source)), source=None)


def is_found(asked: Ask) -> bool:
    """True if the keys of the question's groups are still to be found."""
    return asked.source is not None and asked.source.is_found


def settle_found(
    asked: Sequence[Ask],
    within: Cost,
    schema: Schema,
    units: int | None,
    currency: str,
    extensions: Sequence[Extension] = (),
) -> PreparedRelease:
    """Steps and guarantee of a release, as ``settle`` gives them, of which some groups are to be found.

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
    extensions : sequence of Extension
        Statistics of third parties.

    Returns
    -------
    PreparedRelease
        Release that lists its groups before it answers.

    Raises
    ------
    QuestionError
        Groups of no column of texts, or of several; lists that differ; a total in rho, or no delta.
    """
    column, found = _column(asked, schema)
    source, condition = found.source, found.condition
    assert source is not None
    aside, rest = _shared_out(asked, within)
    of_rows = schema if condition is None else filtered(schema, condition)
    for item in asked:
        if item.condition is not None:
            filtered(schema, item.condition)  # of declared columns alone: listed keys are no part of a filter
    setting = Setting(
        of_rows,
        None if of_rows.person.filtered else units,
        delta=aside[1],
        where="" if condition is None else write(condition),
    )
    touch, at_least = min(schema.person.rows, source.groups or schema.person.rows), source.at_least or 1
    listing = listing_of(found.name, setting, *aside, touch, at_least)
    groups = FoundGroups(column, tuple(asked), rest, schema, units, currency, tuple(extensions))
    one = groups.at(_names(1))
    cells = max(len(item.keys.among) for item in one.asked if item.keys is not None and item.keys.is_found)
    most = min(MOST, MOST_CELLS // cells)
    choice = FoundKeysStep(holders_of(column, touch, listing), listing, setting, most, frozenset(schema.format.na))
    _, likely = choice.lengths(units or schema.person.people or ASSUMED)
    several = groups.at(_names(max(2, min(likely, most, SUPPOSED))))
    if several.guarantee.loss != one.guarantee.loss:
        raise QuestionError(f"The price of {found.name} depends on the number of keys. Nothing was charged.")
    whole = together([choice.guarantee, several.guarantee], within, currency)
    within.admit(ptr.chargeable(whole).loss, epsilon_delta(whole.loss)[0])
    return replace(several, guarantee=whole, choice=choice, at_keys=groups.released)


def draw_keys(prepared: PreparedRelease, table: Table, entropy: Entropy) -> tuple[str, ...]:
    """The keys that are listed now, from the rows.

    Parameters
    ----------
    prepared : PreparedRelease
        Release, already charged.
    table : Table
        Open rows.
    entropy : Entropy
        Source of the noise.

    Returns
    -------
    tuple of str
        Keys, in the order of the list.
    """
    choice = prepared.choice
    assert isinstance(choice, FoundKeysStep)
    return choice.draw(table.run(choice.queries, KEY, choice.setting.schema), entropy)


def _column(asked: Sequence[Ask], schema: Schema) -> tuple[str, Ask]:
    """The column of texts whose keys are found, and a question by it."""
    lists: dict[tuple[object, ...], Ask] = {}
    for item in asked:
        if not is_found(item):
            if item.statistic.verb == "keys":
                raise QuestionError(
                    f"{item.name} beside groups that are found would pay for a list twice: ask for their count, or in "
                    "another release. Nothing was charged."
                )
            continue
        assert isinstance(item.groups, str)
        assert item.source is not None
        texts = [part for part in divided(item.groups) if schema.canonical(part) in schema.texts]
        if len(texts) != 1:
            raise QuestionError(
                f"keys=found is of one column of texts, and by {item.groups} has {len(texts) or 'none'}. Declare the "
                'keys, or the column with kind = "text". Nothing was charged.'
            )
        condition = None if item.condition is None else write(item.condition)
        lists[texts[0], item.source, condition] = item
    if len(lists) != 1:
        raise QuestionError(
            "Groups that are found have one list of keys for a release: the same column, at_least, groups and filter. "
            "Ask in several releases. Nothing was charged."
        )
    ((column, *_), item) = next(iter(lists.items()))
    return schema.canonical(str(column)), item


def _shared_out(asked: Sequence[Ask], within: Cost) -> tuple[tuple[Fraction, Fraction], Cost]:
    """Epsilon and delta of the list, and what is left for the answers."""
    if within.rho is not None:
        raise QuestionError(
            "keys=found needs an ε and a δ: say epsilon and delta in place of rho. Nothing was charged."
        )
    if within.delta is None:
        raise QuestionError(
            "keys=found needs a δ, the probability that a key of one person is listed: say delta, such as 1e-9, well "
            "below one in the number of people. Nothing was charged."
        )
    own = [item.epsilon for item in asked]
    if within.epsilon is None and None in own:
        raise PublicParameterError(NO_TOTAL)
    named = sum((amount for amount in own if amount is not None), Fraction(0))
    open_ones = sum(item.spends_delta and item.delta is None for item in asked)
    spent = sum((item.delta for item in asked if item.delta is not None), Fraction(0))
    if spent >= within.delta:
        raise PublicParameterError("the questions' own deltas leave nothing for the list of keys")
    delta = (within.delta - spent) / (1 + open_ones)
    left = within.delta - delta
    if within.epsilon is None:
        return (named * SHARE / (1 - SHARE), delta), replace(within, delta=left or None)
    return (within.epsilon * SHARE, delta), replace(within, epsilon=within.epsilon * (1 - SHARE), delta=left or None)


def _names(many: int) -> tuple[str, ...]:
    """Keys that stand for those that will be listed."""
    return tuple(f"key {place}" for place in range(1, many + 1))


__all__ = ["FoundGroups", "draw_keys", "is_found", "settle_found"]
