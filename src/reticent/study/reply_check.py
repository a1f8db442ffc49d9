"""Refusal of answers that would most likely be no reply, by public facts alone: no row is read, nothing is charged.

An answer is hopeless where a reply is less likely than none for every public shape of its column that its statistic
states. So is a count of so many groups that noise is all there is in each. It is refused where the number of persons is
public or declared. Where that is private, a plan can only suppose one, so a warning says what it supposed. Whoever
named the method, or said ``try_anyway``, is not refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reticent.data.schema import Integer, Person, Real, Schema
from reticent.errors import QuestionError, Refusal, warn
from reticent.privacy.numbers import show
from reticent.statistics.context import Step
from reticent.statistics.public_facts import remedies_of
from reticent.statistics.replies import LIKELY, Replies, hopeless, most, shown
from reticent.statistics.shares import ASSUMED
from reticent.statistics.statistic import Ask, Statistic
from reticent.study.allocation import PreparedRelease

TIMES: Final = (2, 4, 8, 16, 32, 64)  # of the loss, tried for what would help
ENOUGH: Final = 0.9  # the probability of a reply that help is to reach
ANYWAY: Final = "try_anyway = true in the [[release]], --try-anyway or rt.Record(try_anyway=True)"


@dataclass(frozen=True, slots=True)
class UnlikelyAnswer:
    """An answer that would most likely be no reply, with the probability of a reply by shape."""

    asked: Ask
    replies: Replies

    def __str__(self) -> str:
        return (
            f"{self.asked.name} (P(reply) {shown(most(self.replies) or 0.0)}: no reply {self.asked.statistic.declines})"
        )


@dataclass(frozen=True, slots=True)
class Remedies:
    """The same questions otherwise asked, or a refusal: at so many times the loss, bare of intervals, at a cap."""

    dearer: Callable[[int], PreparedRelease]
    bare: Callable[[], PreparedRelease]
    capped: Callable[[int], PreparedRelease]


def unlikely(prepared: PreparedRelease, people: int) -> tuple[UnlikelyAnswer, ...]:
    """The answers that would most likely be no reply of so many persons, but for methods asked for by name."""
    found = [
        UnlikelyAnswer(item, step.expected(people).replies) for item, step in pairs_of(prepared) if item.is_checked
    ]
    hopeless_ones = tuple(one for one in found if hopeless(one.replies))
    for made in prepared.by_choice if hopeless_ones else ():  # a cap may be chosen at which there is hope
        again = {item.name for item, step in pairs_of(made) if hopeless(step.expected(people).replies)}
        hopeless_ones = tuple(one for one in hopeless_ones if one.asked.name in again)
    return hopeless_ones


def _crowded(prepared: PreparedRelease, people: int) -> list[str]:
    """The words about answers with more groups than their loss can count, at whatever cap may be chosen."""
    if not any(item.keys is not None and len(item.keys.parts) > 1 for item in prepared.asked):
        return []
    from reticent.statistics.counts.count_step import CountStep

    found = [step.crowded(people) for step in prepared.steps if isinstance(step, CountStep)]
    for made in prepared.by_choice if any(found) else ():
        again = [step.crowded(people) for step in made.steps if isinstance(step, CountStep)]
        found = found if all(again) else []
    return [words for words in found if words]


def pairs_of(prepared: PreparedRelease) -> Iterator[tuple[Ask, Step]]:
    """Questions with their steps."""
    return zip(prepared.asked, prepared.steps, strict=True)


def refusal(found: Sequence[UnlikelyAnswer], people: int, schema: Schema, helps: Sequence[str]) -> str:
    """The words of a refusal: the answers, what would help, and how to go on.

    Parameters
    ----------
    found : sequence of UnlikelyAnswer
    people : int
        Number of people that the chances are for.
    schema : Schema
        Who a person is, and which columns have bounds.
    helps : sequence of str
        What was tried and helps, in words.

    Returns
    -------
    str
    """
    listed = "; ".join(map(str, found))
    candidates = [one.asked.statistic for one in found if "candidates" in one.asked.statistic.declines]
    unbounded = not all(_has_bounds(one, schema) for one in candidates)
    helps = [*helps, *remedies_of(unbounded=unbounded, grouped=any(one.asked.groups is not None for one in found))]
    person = schema.person
    told = "" if person.usual_rows is None else f" {show(person.usual_rows)} and"
    rows = f" of{told} at most {person.rows} rows each" if person.rows > 1 else ""
    return (
        f"Most likely no reply, by public facts, with {people:,} people{rows}: {listed}. "
        f"What helps: {', '.join(helps)}. To ask all the same: {ANYWAY}. "
        "Nothing was charged."
    )


def _has_bounds(asked: Statistic, schema: Schema) -> bool:
    """True where the question names both bounds, or its columns declare them."""
    if getattr(asked, "low", None) is not None and getattr(asked, "high", None) is not None:
        return True
    declared = [schema.columns.get(name) for name in asked.columns]
    return all(isinstance(one, Real | Integer) and one.low is not None and one.high is not None for one in declared)


def check_replies(
    prepared: PreparedRelease,
    schema: Schema,
    people: int | None,
    tried: Remedies,
) -> None:
    """Refuse answers that would most likely be no reply, or noise alone; warn where the number of people is private.

    Parameters
    ----------
    prepared
        The steps, with their questions.
    schema : Schema
        Who a person is, and which columns have bounds.
    people : int or None
        The public or declared number of persons.
    tried : Remedies
        What is tried for what would help.

    Raises
    ------
    QuestionError
        Before any row is read.
    """
    crowded = "; ".join(_crowded(prepared, people)) if people is not None else ""
    if crowded:
        raise QuestionError(
            f"Too many groups for the loss, by public facts, with {people:,} people: {crowded}. What helps: fewer "
            f"groups, a larger ε. To ask all the same: {ANYWAY}. Nothing was charged."
        )
    found = unlikely(prepared, ASSUMED if people is None else people)
    if not found:
        return
    if people is None:
        listed = "; ".join(map(str, found))
        warn(
            f"No reply is likely even with {ASSUMED:,} people: {listed}. If the study declares their number, "
            "people = …, this is refused before it is charged."
        )
        return
    helps = (
        _enough(people, found, tried.dearer) or "a larger ε",
        _without_intervals(prepared, people, found, tried.bare),
        _smaller_cap(schema.person, people, found, tried.capped),
    )
    raise QuestionError(refusal(found, people, prepared.schema or schema, tuple(filter(None, helps))))


def _enough(people: int, found: Sequence[UnlikelyAnswer], dearer: Callable[[int], PreparedRelease]) -> str:
    """The least of a few multiples of the loss at which replies are nearly sure, in words; empty for none."""
    names = {one.asked.name for one in found}
    for times in TIMES:
        try:
            again = dearer(times)
        except Refusal:
            return ""
        if all(_nearly_sure(item, step, people) for item, step in pairs_of(again) if item.name in names):
            return f"about {times} times the ε"
    return ""


def _without_intervals(
    prepared: PreparedRelease, people: int, found: Sequence[UnlikelyAnswer], bare: Callable[[], PreparedRelease]
) -> str:
    """The words about ``interval=no``, where replies are then likelier than none; empty where they are not."""
    names = {one.asked.name for one in found}
    places = [place for place, item in enumerate(prepared.asked) if item.name in names]
    if not all(getattr(prepared.asked[place].statistic, "interval", False) for place in places):
        return ""
    try:
        again = list(pairs_of(bare()))
    except Refusal:
        return ""
    chance = min(most(again[place][1].expected(people).replies) or 0.0 for place in places)
    return f"interval=no (P(reply) up to {shown(chance)})" if chance >= LIKELY else ""


def _smaller_cap(
    person: Person, people: int, found: Sequence[UnlikelyAnswer], capped: Callable[[int], PreparedRelease]
) -> str:
    """The words about the largest of a few smaller caps at which replies are likelier than none; empty for none."""
    names = {one.asked.name for one in found}
    for cap in _smaller(person):
        try:
            again = [(item, step) for item, step in pairs_of(capped(cap)) if item.name in names]
        except Refusal:
            continue
        chance = min(most(step.expected(people).replies) or 0.0 for _, step in again)
        if chance >= LIKELY:
            told = f"rows = {{ at_most = {cap}, ceiling = {person.ceiling or person.rows} }}"
            return f"a smaller cap, {told} (P(reply) up to {shown(chance)})"
    return ""


def _smaller(person: Person) -> Iterator[int]:
    """Caps below the declared one, each about half of the one before; none where a release chooses the cap."""
    cap = person.rows if person.ladder is None else 1
    while cap > 1:
        cap //= 2
        yield cap


def _nearly_sure(asked: Ask, step: Step, people: int) -> bool:
    return (most(step.expected(people).replies) or 0.0) >= ENOUGH
