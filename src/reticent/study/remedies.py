"""Refusal of answers that would most likely be no reply, and the changes that would give one.

    a larger epsilon, the mean of each person, no interval, a smaller cap, more people --prepare--> P(reply)

Plans, refusals and warnings have the same words, and each change is planned before it is named. Fewer groups and bounds
known without the file are named untried.

Answers that would most likely be no reply are refused by public facts alone, before anything is charged. An answer is
hopeless where a reply is less likely than none for every public shape of its column that its statistic states. So is a
count of so many groups that noise is all there is in each. It is refused where the number of persons is public or
declared. Where that is private, a warning says what it supposes: what a plan was told, else ``ASSUMED``. Such a guess
moves no price and no step. Whoever named the method, or said ``try_anyway``, is not refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import attrs

from reticent.data.schema import Integer, Real
from reticent.data.spec import sizes_of
from reticent.errors import NAMED, QuestionError, Refusal, first_of, warn
from reticent.exact.rounding import round_up
from reticent.privacy.cost import MOST_EPSILON
from reticent.privacy.loss import ZCDP, ApproxZCDP
from reticent.privacy.numbers import show
from reticent.statistics.context import A_TENTH, DISTANT, LIKELY, TENTH, hopeless, of_part, shown, without
from reticent.statistics.public_facts import remedies_of
from reticent.statistics.statistic import Statistic
from reticent.study.formulas import joint_questions
from reticent.study.preparation import PublicTerms, UnlikelyAnswer, silent_of

if TYPE_CHECKING:
    from reticent.statistics.context import ExpectedAccuracy, Step
    from reticent.study.allocation import PreparedRelease

TIMES: Final = (2, 4, 8, 16, 32, 64)  # of the loss, and of the people, tried for what would help
CLOSE: Final = 1.1  # times the least epsilon that would do, at most
ENOUGH: Final = 0.9  # the probability of a reply that help is to reach
SIZES: Final = {A_TENTH: "if a tenth of the rows pass", TENTH: "in a group a tenth as large as others"}
ANYWAY: Final = "record=rt.Record(try_anyway=True)"


def refuse_hopeless(terms: PublicTerms, prepared: PreparedRelease) -> None:
    """Refuse answers that would most likely be no reply, or noise alone; warn where the number of people is private.

    What a plan of the study was told last is what a warning supposes.

    Raises
    ------
    QuestionError
        Before any row is read.
    """
    study, expected = terms.study, terms.of_checked(prepared)
    if terms.units is not None:
        _refuse_crowded(prepared, terms.units)
        if found := silent_of(terms, prepared, expected):
            raise QuestionError(
                f"Most likely no reply, by public facts, with {_people(terms)}: {_told(found)}. "
                f"{helps_words(terms, prepared, found)} To ask all the same: {ANYWAY}. Nothing was charged."
            )
    people, rows = study._guessed()
    if rows is not None:
        terms = replace(terms, study=study._supposing(rows))
        prepared = terms.prepared()
        expected = terms.of_checked(prepared)
    found = silent_of(terms, prepared, expected)
    if not found:
        _warn_of_rows(terms, prepared, expected)
        _warn_of_sizes(terms, prepared, expected)
        return
    told = ", as a plan was told" if terms.units or people else ", which nobody told (plan with people=…)"
    typical = "" if study.schema.person.rows == 1 else " and rows = { at_most = …, typical = … }"
    declared = f"Such a release is refused before it is charged if the study declares people = …{typical}."
    warn(
        f"No reply is likely with {_people(terms)}{told}: {_told(found)}. "
        f"{helps_words(terms, prepared, found)} {study._worded(declared)}"
    )


def _told(found: Sequence[UnlikelyAnswer]) -> str:
    """The answers with their probabilities of a reply; of many, those of the same words together."""
    if len(found) <= NAMED:
        return "; ".join(map(str, found))
    alike: dict[str, list[str]] = {}
    for one in found:
        alike.setdefault(one.words, []).append(one.asked.name)
    return "; ".join(f"{first_of(names)} ({words})" for words, names in alike.items())


def _people(terms: PublicTerms) -> str:
    """The people of a refusal or a warning, with their rows."""
    person = terms.study.schema.person
    told = "" if person.usual_rows is None else f" {show(person.usual_rows)} and"
    return f"{terms.people:,} people" + (f" of{told} at most {person.rows} rows each" if person.rows > 1 else "")


def _refuse_crowded(prepared: PreparedRelease, people: int) -> None:
    """Refuse answers with more groups than their loss can count."""
    if crowded := "; ".join(_crowded(prepared, people)):
        raise QuestionError(
            f"Too many groups for the loss, by public facts, with {people:,} people: {crowded}. What helps: fewer "
            f"groups, a larger ε. To ask all the same: {ANYWAY}. Nothing was charged."
        )


def _crowded(prepared: PreparedRelease, people: int) -> list[str]:
    """The words about answers with more groups than their loss can count, at whatever cap may be chosen."""
    if not any(item.keys is not None and len(item.keys.parts) > 1 for item in prepared.asked):
        return []
    found = _crowds(prepared.steps, people)
    for made in prepared.by_choice if any(found) else ():
        again = _crowds(made.steps, people)
        found = found if all(again) else []
    return [words for words in found if words]


def _crowds(steps: Sequence[Step], people: int) -> list[str]:
    """The words of each step that tells of too many groups; no text where they are not too many."""
    found: list[Callable[[int], str] | None] = [getattr(step, "crowded", None) for step in steps]
    return [crowded(people) for crowded in found if crowded is not None]


def _warn_of_rows(terms: PublicTerms, prepared: PreparedRelease, found: Mapping[int, ExpectedAccuracy]) -> None:
    """Warn of answers that rows of a person, or caps on them, which nobody told would make no reply."""
    told: dict[str, list[str]] = {}
    for place, one in found.items():
        expected = prepared.at_each_cap(place, terms.people, one)
        chances = {name: max(of_part(expected.replies, name)) for name in expected.apart}
        if chances and min(chances.values()) < LIKELY <= max(chances.values()):
            words = ", ".join(f"{shown(chance)} with {name}" for name, chance in chances.items())
            told.setdefault(words, []).append(prepared.asked[place].name)
    if told:
        listed = "; ".join(f"P(reply) of {first_of(names)} is {words}" for words, names in told.items())
        words = (
            f"A reply hangs on rows of a person that nobody told. With {terms.people:,} people: {listed}. Declare how "
            "many a person has on average, rows = { at_most = …, typical = … }: a release that is unlikely then is "
            "refused before it is charged."
        )
        warn(terms.study._worded(words))


def _warn_of_sizes(terms: PublicTerms, prepared: PreparedRelease, found: Mapping[int, ExpectedAccuracy]) -> None:
    """Warn of answers that have a reply of all rows, or of equal groups, and most likely none of a tenth as many."""
    told: dict[str, list[str]] = {}
    for place, one in found.items():
        replies = [one for one in without(one.replies, one.typical) if DISTANT not in one[0].split(", ")]
        few = {name: min(chances) for name in SIZES if (chances := of_part(tuple(replies), name))}
        words = " and ".join(f"{shown(chance)} {SIZES[name]}" for name, chance in few.items() if chance < LIKELY)
        if words and not hopeless(one.replies):
            told.setdefault(words, []).append(prepared.asked[place].name)
    if told:
        listed = "; ".join(f"P(reply) of {first_of(names)} is as low as {words}" for words, names in told.items())
        warn(
            terms.study._worded(
                f"A reply hangs on the rows that are left. With {_people(terms)}: {listed}. A plan tells it for yours, "
                "with people=… and passing=…. A larger ε, bounds or fewer groups help."
            )
        )


# --- what helps -------------------------------------------------------------------------------------------------------


def helps_words(terms: PublicTerms, prepared: PreparedRelease, found: Sequence[UnlikelyAnswer]) -> str:
    """A sentence of the changes that help these answers.

    Parameters
    ----------
    terms : PublicTerms
    prepared : PreparedRelease
    found : sequence of UnlikelyAnswer

    Returns
    -------
    str
    """
    return in_a_sentence(helps_of(terms, prepared, [one.place for one in found]))


def in_a_sentence(helps: Sequence[str]) -> str:
    """The changes that help, as plans, refusals and warnings say them."""
    return f"What helps: {'; '.join(helps)}."


def helps_of(terms: PublicTerms, prepared: PreparedRelease, places: Sequence[int]) -> tuple[str, ...]:
    """The changes that give a reply to answers which most likely have none, each in words.

    All but fewer groups and bounds were tried: the release was planned again with them.

    Parameters
    ----------
    terms : PublicTerms
    prepared : PreparedRelease
        The steps of its questions.
    places : sequence of int
        Of the answers.

    Returns
    -------
    tuple of str
    """
    silent = [prepared.asked[place] for place in places]
    tried = (
        _dearer(terms, places),
        _together(terms, places),
        _of_each_person(terms, places),
        _without_intervals(terms, places),
        _smaller_cap(terms, places),
        _more_people(terms, prepared, places),
    )
    candidates = [one.statistic for one in silent if "candidates" in one.statistic.declines]
    untried = remedies_of(
        unbounded=not all(_has_bounds(terms, one) for one in candidates),
        grouped=any(one.groups is not None for one in silent),
    )
    found = [words for words in tried if words] + [one for one in untried if one != "more people"]
    return tuple(map(terms.study._worded, found)) or ("a larger ε and more people",)


def _dearer(terms: PublicTerms, places: Sequence[int]) -> str:
    """Words of the least total, and the least shares of the answers' own, at which a reply is nearly sure."""

    def at(times: Fraction) -> PublicTerms:
        asked = tuple(
            item
            if item.epsilon is None or place not in places
            else item.at(round_up(item.epsilon * times, 2), delta=item.delta)
            for place, item in enumerate(terms.asked)
        )
        within = terms.within
        if within.epsilon is not None:
            within = replace(within, epsilon=round_up(within.epsilon * times, 2))
        elif within.rho is not None:
            within = replace(within, rho=round_up(within.rho * times**2, 2))
        return replace(terms, asked=asked, within=within)

    chances = dict[Fraction, float]()

    def enough(times: Fraction) -> bool:
        try:
            chances[times] = _least_chance(at(times), places)
        except Refusal:  # an epsilon above 10, without a reason
            return False
        return chances[times] >= ENOUGH

    tried = sorted({*map(Fraction, TIMES), *([MOST_EPSILON / epsilon] if (epsilon := terms.within.epsilon) else [])})
    reached = next((times for times in tried if times > 1 and enough(times)), None)
    if reached is None:
        return ""
    low = max([times for times in tried if 1 < times < reached], default=Fraction(1))
    while reached > low * Fraction(CLOSE):
        middle = round_up(Fraction(math.sqrt(low * reached)), 3)
        low, reached = (low, middle) if enough(middle) else (middle, reached)
    dearer = at(reached)
    totals = (
        ("epsilon", dearer.within.epsilon, terms.within.epsilon),
        ("rho", dearer.within.rho, terms.within.rho),
    )
    budget = terms.study.spec.budget.loss
    limits = {"rho" if isinstance(budget, ZCDP | ApproxZCDP) else "epsilon": sizes_of(budget)[0]}
    said = [
        f'{word}="{show(new)}" in place of {show(old)}'
        + (f", above the budget of {show(limits[word])}" if word in limits and new > limits[word] else "")
        for word, new, old in totals
        if new and old
    ]
    said += [str(one) for one, old in zip(dearer.asked, terms.asked, strict=True) if one.epsilon != old.epsilon]
    return f"{' with '.join(said)} (P(reply) at least {shown(chances[reached])})"


def _least_chance(terms: PublicTerms, places: Sequence[int]) -> float:
    """P(reply) of the least likely answer, for the public shape that has it least; 0 of a release that is refused."""
    try:
        made = terms.prepared()
    except Refusal:
        return 0.0
    return min(terms.chance(made, place) for place in places)


def _of_each_person(terms: PublicTerms, places: Sequence[int]) -> str:
    """Words of ``per=person``, which weighs every person alike, for the answers to which it gives a reply."""
    if terms.study.schema.person.rows == 1:
        return ""
    said = []
    for place in places:
        item = terms.asked[place]
        if item.unit == "row" and item.statistic.takes_per and item.weighed_by is None:
            other = item.per("person")
            chance = _least_chance(terms.asking({place: other}), [place])
            said += [f"{other.name} (P(reply) at least {shown(chance)})"] if chance >= LIKELY else []
    return f"the mean of each person, {', '.join(said)}" if said else ""


def _together(terms: PublicTerms, places: Sequence[int]) -> str:
    """Words of one question for quantiles of one column that are asked one by one, where that gives a reply."""
    said = []
    for joint, found in joint_questions(terms.asked):
        others = [one for place, one in enumerate(terms.asked) if place not in found]
        if {*found} & {*places}:
            chance = _least_chance(replace(terms, asked=(joint, *others)), [0])
            said += [f"{joint.name} (P(reply) at least {shown(chance)})"] if chance >= LIKELY else []
    return f"one question for all levels, {', '.join(said)}" if said else ""


def _without_intervals(terms: PublicTerms, places: Sequence[int]) -> str:
    """The words about ``interval=no``, where replies are then likelier than none; empty where they are not."""
    bare = {place: terms.asked[place] for place in places}
    if not all(getattr(item.statistic, "interval", False) for item in bare.values()):
        return ""
    for place, item in bare.items():
        settled = attrs.evolve(item.statistic, **{"interval": False})
        bare[place] = attrs.evolve(item, statistic=settled)
    chance = _least_chance(terms.asking(bare), places)
    return (
        f"interval=no in the question, {bare[places[0]].name} (P(reply) at least {shown(chance)})"
        if chance >= LIKELY
        else ""
    )


def _smaller_cap(terms: PublicTerms, places: Sequence[int]) -> str:
    """The words about the largest of a few smaller caps at which replies are likelier than none; empty for none."""
    person, spec = terms.study.schema.person, terms.study.spec
    cap = person.rows if person.ladder is None else 1  # none where a release chooses the cap
    while cap > 1:
        cap //= 2
        schema = replace(terms.study.schema, person=person.capped_at(cap))
        capped = replace(terms, study=replace(terms.study, spec=replace(spec, schema=schema)))
        chance = _least_chance(capped, places)
        if chance >= LIKELY:
            told = f"rows = {{ at_most = {cap}, ceiling = {person.ceiling or person.rows} }}"
            return f"a smaller cap, {told} (P(reply) at least {shown(chance)})"
    return ""


def _more_people(terms: PublicTerms, prepared: PreparedRelease, places: Sequence[int]) -> str:
    """The words about the least of a few larger numbers of people at which replies are nearly sure; empty for none."""
    for times in TIMES:
        people = terms.people * times
        if min(terms.chance(prepared, place, people) for place in places) >= ENOUGH:
            return f"{people:,} people"
    return ""


def _has_bounds(terms: PublicTerms, asked: Statistic) -> bool:
    """True where the question names both bounds, or its columns declare them."""
    if getattr(asked, "low", None) is not None and getattr(asked, "high", None) is not None:
        return True
    declared = [terms.study.schema.columns.get(name) for name in asked.columns]
    return all(isinstance(one, Real | Integer) and one.low is not None and one.high is not None for one in declared)
