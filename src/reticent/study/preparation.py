"""From the questions that a study is asked to priced steps: read, joined, shared out, and checked before the rows.

These functions take the study's terms. ``allocation`` shares a total out among questions; here each way of asking gets
the declarations of the study that it needs.

Answers that would most likely be no reply are refused by public facts alone, before anything is charged. An answer is
hopeless where a reply is less likely than none for every public shape of its column that its statistic states. So is a
count of so many groups that noise is all there is in each. It is refused where the number of persons is public or
declared. Where that is private, a plan can only suppose one, so a warning says what it supposed. Whoever named the
method, or said ``try_anyway``, is not refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

import attrs

from reticent.data.schema import Integer, Person, Real, Schema
from reticent.data.spelling_hints import CHARGED, hinted, otherwise
from reticent.errors import PublicParameterError, QuestionError, Refusal, warn
from reticent.privacy.convert import spent_delta
from reticent.privacy.cost import Cost, Written, refuse_exposure
from reticent.privacy.loss import Loss
from reticent.privacy.numbers import about, show
from reticent.statistics.context import Step
from reticent.statistics.grammar import parse
from reticent.statistics.public_facts import remedies_of
from reticent.statistics.replies import LIKELY, Replies, hopeless, of_part, shown
from reticent.statistics.replies import most as likeliest
from reticent.statistics.shares import ASSUMED
from reticent.statistics.statistic import Ask, Statistic
from reticent.study.allocation import PreparedRelease, at_least_one, most, public_people, settle, understand
from reticent.study.terms import StudyTerms

if TYPE_CHECKING:
    from reticent.data.table import Table
    from reticent.study.allocation import Questions
    from reticent.study.key_files import KeyFolder


S = TypeVar("S", bound=StudyTerms)


def cost_of_plan(given: Written, override: str, people: int | None) -> Cost:
    """Read the cost of a plan.

    Parameters
    ----------
    given : tuple of number
        epsilon, rho and delta as they were written.
    override : str
        The reason for an epsilon above 10.
    people : int or None
        Assumed number of persons.

    Returns
    -------
    Cost
        Of the whole plan.
    """
    at_least_one(people)
    return Cost.read(*given, override)


def join(study: S, questions: Questions) -> tuple[S, Questions]:
    """The study of the rows that a SELECT joins, and its questions; other questions as they are."""
    if not isinstance(questions, str):
        return study, questions
    from reticent.study.selection import is_select, joined_spec, statement_of

    if not is_select(questions):
        return study, questions
    found = statement_of(str(questions), study.schema, study._place)
    return replace(study, spec=joined_spec(study.spec, found)), found.asks


def read_questions(study: StudyTerms, questions: Questions) -> tuple[Ask, ...]:
    """Statistics with their options, from text or values, of the groups that the study is asked by."""
    if isinstance(questions, str):
        joined, questions = join(study, questions)
        if joined.spec is not study.spec:
            raise QuestionError("A SELECT with JOIN is released by study.sql(…). Nothing was charged.")

    def folder() -> KeyFolder:
        from reticent.study.key_files import KeyFolder

        return KeyFolder(study.spec.folder, study._place, tuple(study._further_places().values()))

    try:
        return understand(questions, study.schema, study._groups, study.extensions, folder)
    except (QuestionError, PublicParameterError) as refused:
        listed = questions if isinstance(questions, Sequence) and not isinstance(questions, str) else [questions]
        texts = [one for one in listed if isinstance(one, str)]
        meant = [f" Perhaps: {text}." for one in texts if (text := _readable(one))]
        if meant:
            refused.args = (f"{str(refused).removesuffix(CHARGED)}{''.join(meant)}", *refused.args[1:])
        raise


def _readable(text: str) -> str:
    """The question that a text of another tool means, where that can be read; else an empty text."""
    meant = otherwise(text)
    if not meant:
        return ""
    try:
        parse(meant)
    except Refusal:
        return ""
    return meant


def ask_for_widths(
    study: StudyTerms, questions: Questions, want: Mapping[str, float], people: int | None, within: Cost
) -> Sequence[Ask]:
    """The questions, each with the least epsilon that reaches its half-width.

    Parameters
    ----------
    study : StudyTerms
        Whose columns are asked.
    questions : statistic, text, or sequence of them
        May be empty: the names in ``want`` are then the questions.
    want : mapping of name to half-width
        At 95 %, in the unit of the answer.
    people : int or None
        Number of persons that the noise is divided by.
    within : Cost
        Total of the release.

    Returns
    -------
    sequence of Ask
        Each with its epsilon, or rho.
    """
    from reticent.study.accuracy_target import wanted

    in_rho = study._currency == "zcdp" or within.rho is not None
    known = study._known()

    def read(texts: Questions) -> tuple[Ask, ...]:
        return read_questions(study, texts)

    schema = replace(study.schema, person=study.schema.person.as_declared)
    return wanted(questions, want, schema, read, people, within, known, in_rho=in_rho)


def settle_plan(
    study: StudyTerms, questions: Questions, within: Cost, people: int | None, want: Mapping[str, float] | None
) -> tuple[PreparedRelease, int]:
    """Steps of a plan or an audit, and the number of people assumed.

    Parameters
    ----------
    study : StudyTerms
        Whose columns are asked.
    questions : statistic, text, or sequence of them
        Of the plan.
    within : Cost
        Total of the plan.
    people : int or None
        Assumed number of persons; by default the declared number, else 10,000.
    want : mapping of name to half-width, or None
        At 95 %, in the unit of the answer.

    Returns
    -------
    tuple of PreparedRelease and int
        The steps, and the number of persons.
    """
    from reticent.study.plan import ASSUMED

    units = people if people is not None else study.schema.person.people
    size = units if units is not None else ASSUMED
    asked = questions if want is None else ask_for_widths(study, questions, want, size, within)
    # Under add/remove an assumed number is no declared one: what too few people do is shown, not refused.
    public = size if study.schema.person.adjacency == "substitute" else study.schema.person.people
    made = prepare(study, asked, within, public)
    if made.key_files:
        from reticent.study.key_files import note_planned

        note_planned(made.key_files)
    return made, size


def prepare(study: StudyTerms, questions: Questions, within: Cost, units: int | None) -> PreparedRelease:
    """Steps of a release, with the total shared out among them.

    Parameters
    ----------
    study : StudyTerms
        Whose columns are asked.
    questions : statistic, text, or sequence of them
        Of the release.
    within : Cost
        Total of the release.
    units : int or None
        The public number of persons, if there is one.

    Returns
    -------
    PreparedRelease
        Its guarantee is derived from the steps.

    Raises
    ------
    SpecError
        It spends a delta of at least 1 / (10 people), where their number is public.
    """
    made, person = _of_persons(study, questions, within, units), study.schema.person
    if spent := spent_delta(made.guarantee.loss):  # a question's own counts like the release's
        refuse_exposure(spent, units if person.neighbours().size_public else person.people)
    for note in (*public_notes(within, made), study.schema.person.nobodys):
        made = _noting(made, note)
    if not (unit := study.schema.person.unit):
        return made
    note = f"one person of the guarantee, of the cap and of the caveats is one {unit}, with all who belong to it"
    if study.schema.person.household is not None:
        if study.schema.person.moved > 1:
            return made  # a note of its own says how many are kept
        note = f"the guarantee is about one {unit}, of which one person is kept"
    return _noting(made, note)


def public_notes(within: Cost, made: PreparedRelease) -> tuple[str, ...]:
    """Notes on what was asked: a delta that no part spends, and products without the columns they are made of."""
    found = [note for item in made.asked if (note := item.statistic.note)]
    named = (within.delta, *(item.delta for item in made.asked))
    delta = next((one for one in named if one is not None), None)
    if delta is not None and not spent_delta(made.guarantee.loss):
        found.append(f"δ {about(delta)} is not charged: nothing here spends a δ")
    return tuple(dict.fromkeys(found))


def _noting(made: PreparedRelease, note: str) -> PreparedRelease:
    """The release with one more caveat of the whole; as it is where that is empty."""
    if not note:
        return made
    by_choice = tuple(replace(one, notes=(*one.notes, note)) for one in made.by_choice)
    return replace(made, notes=(*made.notes, note), by_choice=by_choice)


def _of_persons(study: StudyTerms, questions: Questions, within: Cost, units: int | None) -> PreparedRelease:
    try:
        return _settled(study, questions, within, units)
    except QuestionError as refused:
        texts = [str(one) for one in questions] if isinstance(questions, Sequence) else []
        refused.args = (hinted(str(refused), texts, study.schema.cells),)
        raise


def _settled(study: StudyTerms, questions: Questions, within: Cost, units: int | None) -> PreparedRelease:
    asked, person = read_questions(study, questions), study.schema.person
    if person.moved > 1:
        from reticent.study.moved_persons import settle_moved

        return settle_moved(asked, within, study.schema, units, study._currency, study.extensions)
    given = study.schema, units, study._currency, study._known(), study.extensions
    chosen = any(getattr(column, "auto", None) for column in study.schema.columns.values())
    if person.ladder is None and person.ceiling is None and not chosen:
        if any(item.source is not None for item in asked):
            from reticent.study.found_keys import settle_found

            return settle_found(asked, within, study.schema, units, study._currency, study.extensions)
        return settle(asked, within, *given)
    from reticent.study.bounds_candidates import settle_bounded

    return settle_bounded(asked, within, *given)


def count_people(
    study: StudyTerms, table: Table, asked: Sequence[Ask], within: Cost, who: str, *, wants: bool
) -> int | None:
    """The public number of persons, if there is one.

    Parameters
    ----------
    study : StudyTerms
        Whose ledger is asked if it covers the release, before rows are counted.
    table : Table
        Open rows.
    asked : sequence of Ask
        Questions of the release.
    within : Cost
        Total of the release.
    who : str
        The person who asks.
    wants : bool
        True if the epsilons follow from half-widths.

    Returns
    -------
    int or None
        None where the number is private.
    """

    def charge() -> Loss:
        return most(asked, within, study._currency, wants=wants, left=lambda: study.ledger.left())

    return public_people(table, study.schema.person, lambda: study.ledger, charge, who)


def refuse_hopeless(study: S, asked: Sequence[Ask], prepared: PreparedRelease, within: Cost, units: int | None) -> None:
    """Refuse a release that would most likely be no reply.

    Parameters
    ----------
    study : StudyTerms
        Whose columns are asked.
    asked : sequence of Ask
        Questions of the release.
    prepared : PreparedRelease
        Their steps.
    within : Cost
        Total of the release.
    units : int or None
        The public number of persons, if there is one.
    """

    def dearer(times: int) -> PreparedRelease:
        return prepare(study, asked, within.times(times), units)

    def bare() -> PreparedRelease:
        return prepare(study, [_bare(item) for item in asked], within, units)

    def capped(rows: int) -> PreparedRelease:
        schema = replace(study.schema, person=study.schema.person.capped_at(rows))
        return prepare(replace(study, spec=replace(study.spec, schema=schema)), asked, within, units)

    if doubt := check_replies(prepared, study.schema, units, Remedies(dearer, bare, capped)):
        warn(study._worded(doubt))


def _bare(asked: Ask) -> Ask:
    """The same question without its interval; a statistic that always has one, or never, is itself."""
    names = {field.name for field in attrs.fields(type(asked.statistic))} & {"interval"}
    return attrs.evolve(asked, statistic=attrs.evolve(asked.statistic, **dict.fromkeys(names, False)))


# --- replies that are hopeless ----------------------------------------------------------------------------------------


TIMES: Final = (2, 4, 8, 16, 32, 64)  # of the loss, tried for what would help
ENOUGH: Final = 0.9  # the probability of a reply that help is to reach
ANYWAY: Final = "record=rt.Record(try_anyway=True)"


@dataclass(frozen=True, slots=True)
class UnlikelyAnswer:
    """An answer that would most likely be no reply, with the probability of a reply by shape."""

    asked: Ask
    replies: Replies

    def __str__(self) -> str:
        reply = shown(likeliest(self.replies) or 0.0)
        return f"{self.asked.name} (P(reply) {reply}: no reply {self.asked.statistic.declines})"


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
) -> str:
    """Refuse answers that would most likely be no reply, or noise alone; doubt them where people are private.

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

    Returns
    -------
    str
        Doubts of a reply, to warn of; empty where there are none.

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
    doubts = [_doubt_of_rows(prepared, ASSUMED if people is None else people)] if not found or people is None else []
    if people is None and found:
        doubts.append(
            f"No reply is likely even with {ASSUMED:,} people: {'; '.join(map(str, found))}. If the study declares "
            "their number, people = …, this is refused before it is charged."
        )
    if not found or people is None:
        return " ".join(filter(None, doubts))
    helps = (
        _enough(people, found, tried.dearer) or "a larger ε",
        _without_intervals(prepared, people, found, tried.bare),
        _smaller_cap(schema.person, people, found, tried.capped),
    )
    raise QuestionError(refusal(found, people, prepared.schema or schema, tuple(filter(None, helps))))


def _doubt_of_rows(prepared: PreparedRelease, people: int) -> str:
    """The words about answers that rows of a person, or caps on them, which nobody told would make no reply."""
    told: dict[str, list[str]] = {}
    for place, (item, step) in enumerate(pairs_of(prepared)):
        expected = prepared.at_each_cap(place, people, step.expected(people))
        chances = {name: max(of_part(expected.replies, name)) for name in expected.apart}
        if item.is_checked and chances and min(chances.values()) < LIKELY <= max(chances.values()):
            words = ", ".join(f"{shown(chance)} with {name}" for name, chance in chances.items())
            told.setdefault(words, []).append(item.name)
    if not told:
        return ""
    listed = "; ".join(f"P(reply) of {', '.join(names)} is {words}" for words, names in told.items())
    return (
        f"A reply hangs on rows of a person that nobody told. With {people:,} people: {listed}. Declare how many a "
        "person has on average, rows = { at_most = …, typical = … }: a release that is unlikely then is refused before "
        "it is charged."
    )


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
    chance = min(likeliest(again[place][1].expected(people).replies) or 0.0 for place in places)
    if chance < LIKELY:
        return ""
    return f"interval=no in the question, {again[places[0]][0].name} (P(reply) up to {shown(chance)})"


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
        chance = min(likeliest(step.expected(people).replies) or 0.0 for _, step in again)
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
    return (likeliest(step.expected(people).replies) or 0.0) >= ENOUGH
