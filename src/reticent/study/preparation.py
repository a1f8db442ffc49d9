"""From the questions that a study is asked to priced steps: read, joined, shared out, and checked before the rows.

These functions take the study's terms. ``allocation`` shares a total out among questions; here each way of asking gets
the declarations of the study that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from reticent.data.expression_tree import day_doubts
from reticent.errors import BudgetError, PublicParameterError, QuestionError, Refusal
from reticent.privacy.convert import spent_delta
from reticent.privacy.cost import Cost, Written, refuse_exposure
from reticent.privacy.loss import Loss
from reticent.privacy.numbers import about
from reticent.statistics.context import DISTANT, HEAPED, LIKELY, USUAL, Replies, hopeless, shown, work_of
from reticent.statistics.context import most as likeliest
from reticent.statistics.grammar import parse
from reticent.statistics.public_facts import TooFewValues
from reticent.statistics.shares import ASSUMED, MANY
from reticent.statistics.statistic import Ask
from reticent.study.allocation import PreparedRelease, most, settle
from reticent.study.formulas import name_accepted, together_words, understand
from reticent.study.terms import StudyTerms, at_least_one

if TYPE_CHECKING:
    from reticent.data.table import Table
    from reticent.ledger import Ledger
    from reticent.statistics.context import ExpectedAccuracy
    from reticent.study.formulas import Questions
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


def join(study: S, questions: Questions, cost: Written) -> tuple[S, Questions, Written]:
    """The study of the rows that a SELECT joins, its questions and its cost; other questions as they are.

    Parameters
    ----------
    study : Study
    questions : questions, or text of a SELECT
    cost : tuple of number
        epsilon, rho and delta as they were written; None for those of the statement's options.

    Returns
    -------
    tuple of Study, questions and tuple of number
    """
    if not isinstance(questions, str):
        return study, questions, cost
    from reticent.study.selection import cost_of, is_select, joined_spec, statement_of

    if not is_select(questions):
        return study, questions, cost
    found = statement_of(str(questions), study.schema, study._place)
    return replace(study, spec=joined_spec(study.spec, found)), found.asks, cost_of(found, *cost)


def read_questions(study: StudyTerms, questions: Questions) -> tuple[Ask, ...]:
    """Statistics with their options, from text or values, of the groups that the study is asked by."""
    if isinstance(questions, str):
        joined, questions, _ = join(study, questions, (None, None, None))
        if joined.spec is not study.spec:
            raise QuestionError("A SELECT with JOIN is released by study.sql(…). Nothing was charged.")

    def folder() -> KeyFolder:
        from reticent.study.key_files import KeyFolder

        return KeyFolder(study.spec.folder, study._place, tuple(study._further_places().values()))

    try:
        return understand(questions, study.schema, study._groups, study.extensions, folder)
    except (QuestionError, PublicParameterError) as refused:
        from reticent.data.spelling_hints import CHARGED

        listed = questions if isinstance(questions, Sequence) and not isinstance(questions, str) else [questions]
        texts = [one for one in listed if isinstance(one, str)]
        meant = [f" Perhaps: {text}." for one in texts if (text := _readable(one))]
        if meant:
            refused.args = (f"{str(refused).removesuffix(CHARGED)}{''.join(meant)}", *refused.args[1:])
        raise


def _readable(text: str) -> str:
    """The question that a text of another tool means, where that can be read; else an empty text."""
    from reticent.data.spelling_hints import otherwise

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
    return wanted(questions, want, schema, read, people, within, known, passing=study._passing, in_rho=in_rho)


def settle_plan(
    study: StudyTerms, questions: Questions, within: Cost, people: int | None, want: Mapping[str, float] | None
) -> tuple[PreparedRelease, PublicTerms]:
    """Steps of a plan or an audit, and what they are planned for.

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
    tuple of PreparedRelease and PublicTerms
        The steps, and the questions with the number of persons.
    """
    units = people if people is not None else study.schema.person.people
    size = units if units is not None else ASSUMED
    with _hinting(study, questions):
        asked = tuple(
            read_questions(study, questions) if want is None else ask_for_widths(study, questions, want, size, within)
        )
    # Under add/remove an assumed number is no declared one: what too few people do is shown, not refused.
    public = size if study.schema.person.adjacency == "substitute" else study.schema.person.people
    made = prepare(study, asked, within, public, typed=questions)
    if made.key_files:
        from reticent.study.key_files import note_planned

        note_planned(made.key_files)
    return made, PublicTerms(study, asked, within, public, size)


def prepare(
    study: StudyTerms, questions: Questions, within: Cost, units: int | None, *, typed: Questions | None = None
) -> PreparedRelease:
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
    typed : statistic, text, or sequence of them, optional
        The questions as they were typed, for the words of a refusal.

    Returns
    -------
    PreparedRelease
        Its guarantee is derived from the steps.

    Raises
    ------
    SpecError
        It spends a delta of at least 1 / (10 people), where their number is public.
    """
    with _hinting(study, questions if typed is None else typed):
        try:
            made = _settled(study, questions, within, units)
        except QuestionError as refused:
            if refused.instead:
                asked = read_questions(study, questions)
                name_accepted(refused, asked, lambda item: prepare(study, [item], within, units))
            if isinstance(refused, TooFewValues):
                asked = read_questions(study, questions)
                told = together_words(refused, asked, lambda others: _settled(study, others, within, units))
                raise QuestionError(told) from None
            raise
    # a question's own delta counts like the release's
    refuse_exposure(spent_delta(made.guarantee.loss), study.schema.person.people_at_risk(units))
    for note in (*public_notes(study, within, made), study.schema.person.nobodys):
        made = _noting(made, note)
    if not (unit := study.schema.person.unit):
        return made
    note = f"one person of the guarantee, of the cap and of the caveats is one {unit}, with all who belong to it"
    if study.schema.person.household is not None:
        if study.schema.person.moved > 1:
            return made  # a note of its own says how many are kept
        note = f"the guarantee is about one {unit}, of which one person is kept"
    return _noting(made, note)


def public_notes(study: StudyTerms, within: Cost, made: PreparedRelease) -> tuple[str, ...]:
    """Notes on what was asked: a delta that no part spends, products without their columns, and days cut in two.

    Parameters
    ----------
    study : StudyTerms
    within : Cost
        Total of the release.
    made : PreparedRelease

    Returns
    -------
    tuple of str
    """
    found = [note for item in made.asked if (note := item.statistic.note)]
    named = (within.delta, *(item.delta for item in made.asked))
    delta = next((one for one in named if one is not None), None)
    if delta is not None and not spent_delta(made.guarantee.loss):
        found.append(f"δ {about(delta)} is not charged: nothing here spends a δ")
    asked = made.columns_asked(study.schema)
    seen = [made.schema_of(view) or study.schema for view in made.views]
    computed = (tree for schema in seen for name, tree in schema.computed.items() if name in asked)
    found += day_doubts([*(schema.where for schema in seen if schema.where is not None), *computed])
    return tuple(dict.fromkeys(found))


def warn_of_notation(study: StudyTerms, made: PreparedRelease) -> None:
    """Warn of columns asked for whose cells may be spelt otherwise than declared. Reads no row."""
    texts = {
        item.keys.column: item.keys.among
        for item in made.asked
        if item.keys is not None and not item.keys.is_found and item.keys.column in study.schema.texts
    }
    study._warn_of_notation({*made.columns_asked(study.schema), *texts}, texts)


def _noting(made: PreparedRelease, note: str) -> PreparedRelease:
    """The release with one more caveat of the whole; as it is where that is empty."""
    if not note:
        return made
    by_choice = tuple(replace(one, notes=(*one.notes, note)) for one in made.by_choice)
    return replace(made, notes=(*made.notes, note), by_choice=by_choice)


@contextmanager
def _hinting(study: StudyTerms, questions: Questions) -> Iterator[None]:
    """While it lasts, a refusal of the questions has the spelling that was meant."""
    try:
        yield
    except QuestionError as refused:
        from reticent.data.spelling_hints import hinted

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

    return study._public_people(table, charge, who)


def priced(
    study: StudyTerms,
    asked: Sequence[Ask],
    within: Cost,
    units: int | None,
    want: Mapping[str, float] | None,
    *,
    typed: Questions,
) -> tuple[PreparedRelease, PublicTerms]:
    """Steps of a release, and its public terms.

    Parameters
    ----------
    study : StudyTerms
    asked : sequence of Ask
    within : Cost
        Total of the release.
    units : int or None
        The public number of persons, if there is one.
    want : mapping of name to half-width, or None
    typed : statistic, text, or sequence of them
        The questions as they were typed, for the words of a refusal.

    Returns
    -------
    tuple of PreparedRelease and PublicTerms
    """
    if want is not None:
        asked = ask_for_widths(study, asked, want, units, within)
    made = prepare(study, asked, within, units, typed=typed)
    if made.key_files:
        from reticent.study.key_files import refuse_changed

        refuse_changed(made.key_files)
    return made, PublicTerms.of_release(study, asked, within, units)


def priced_unread(
    study: StudyTerms,
    ledger: Ledger | None,
    asked: Sequence[Ask],
    within: Cost,
    want: Mapping[str, float] | None,
    *,
    typed: Questions,
) -> tuple[PreparedRelease, PublicTerms] | None:
    """The release as ``priced``, where no persons are to be counted for it; a budget that is too small is refused.

    Where persons are counted, the price at a supposed number of them is compared with the budget: for wanted widths at
    the declared number, or at so many that no table needs less. Nothing is opened.

    Parameters
    ----------
    study : StudyTerms
    ledger : Ledger or None
        The one there is already.
    asked : sequence of Ask
    within : Cost
        Total of the release.
    want : mapping of name to half-width, or None
    typed : statistic, text, or sequence of them
        The questions as they were typed, for the words of a refusal.

    Returns
    -------
    tuple of PreparedRelease and PublicTerms, or None
        None where persons are counted.

    Raises
    ------
    BudgetError, LedgerError
        The ledger would not take the charge; of a study without one yet, its budget.
    """
    person = study.schema.person
    if not person.neighbours().size_public:
        prepared, terms = priced(study, asked, within, person.people, want, typed=typed)
        study._check_left(ledger, prepared.guarantee.loss, prepared.guarantee.adjacency)
        return prepared, terms
    if want is None:
        try:
            total = most(asked, within, study._currency, wants=False, left=study.left)
            study._check_left(ledger, total, person.protected)
        except BudgetError:  # some take less than their total, so the price decides
            made = None
            with suppress(Refusal):  # of a number of people that is not theirs
                made = prepare(study, asked, within, person.people or ASSUMED)
            if made is not None:
                study._check_left(ledger, made.guarantee.loss, made.guarantee.adjacency)
        return None
    supposed, made = person.people or MANY, None
    with suppress(Refusal):
        made = prepare(study, ask_for_widths(study, asked, want, supposed, within), within, supposed)
    if made is not None:  # more people than any table has need no larger loss for the same width
        study._check_left(ledger, made.guarantee.loss, made.guarantee.adjacency)
    return None


# --- replies that are unlikely ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnlikelyAnswer:
    """An answer that would most likely be no reply, by its place, with the probability of a reply by shape."""

    place: int
    asked: Ask
    replies: Replies

    @property
    def words(self) -> str:
        """The probability of a reply, and when there is none."""
        return f"P(reply) {shown(likeliest(self.replies) or 0.0)}: no reply {self.asked.statistic.declines}"

    def __str__(self) -> str:
        return f"{self.asked.name} ({self.words})"


@dataclass(frozen=True, slots=True)
class PublicTerms:
    """The questions of a release, its total, and the public numbers that chances of a reply are told for.

    ``units`` is the public number of persons of the steps, None where it is private. ``people`` are those supposed.
    """

    study: StudyTerms
    asked: tuple[Ask, ...]
    within: Cost
    units: int | None
    people: int

    @classmethod
    def of_release(cls, study: StudyTerms, asked: Sequence[Ask], within: Cost, units: int | None) -> PublicTerms:
        """Terms of a release, for the public number of people, else for the number that a plan was told last.

        Parameters
        ----------
        study : StudyTerms
        asked : sequence of Ask
        within : Cost
            Total of the release.
        units : int or None
            The public number of persons, if there is one.

        Returns
        -------
        PublicTerms
        """
        people, _ = study._guessed()
        return cls(study, tuple(asked), within, units, (people or ASSUMED) if units is None else units)

    def is_sure(self, made: PreparedRelease) -> bool:
        """True where a reply is likely for every public shape, so that nothing is refused or warned of."""
        _, rows = self.study._guessed()
        several = any(item.keys is not None and len(item.keys.parts) > 1 for item in made.asked)
        if rows is not None or several or made.by_choice:  # which take a closer look
            return False
        return all(chance >= LIKELY for one in self.of_checked(made).values() for _, chance in one.replies)

    def asking(self, others: Mapping[int, Ask]) -> PublicTerms:
        """The same with other questions at these places."""
        return replace(self, asked=tuple(others.get(place, item) for place, item in enumerate(self.asked)))

    def prepared(self) -> PreparedRelease:
        """The steps of these questions."""
        return prepare(self.study, self.asked, self.within, self.units)

    def expected(self, made: PreparedRelease, place: int, people: int | None = None) -> ExpectedAccuracy:
        """The expectation that a plan prints of an answer.

        Parameters
        ----------
        made : PreparedRelease
        place : int
            Of the answer.
        people : int, optional
            By default those supposed.

        Returns
        -------
        ExpectedAccuracy
        """
        people, passing, schema = people or self.people, self.study._passing, self.study.schema
        found = made.expected(place, people, passing=passing, schema=schema)
        if passing is not None or place >= len(made.steps) or not work_of(made.all_steps[place]).sorts:
            return found
        from reticent.study.missing_values import with_half_missing

        return with_half_missing(found, made, place, people, schema)

    def counted(self, made: PreparedRelease, place: int) -> int:
        """The people whose rows an answer is of, by the share of rows that is supposed to count."""
        return made.counted(place, self.people, passing=self.study._passing, schema=self.study.schema)

    def of_checked(self, made: PreparedRelease) -> dict[int, ExpectedAccuracy]:
        """The expectations of the answers whose method nobody named, by place."""
        return {place: self.expected(made, place) for place, item in enumerate(made.asked) if item.is_checked}

    def chance(self, made: PreparedRelease, place: int, people: int | None = None) -> float:
        """P(reply) of an answer, whether its values are usual, heaped or far from 0; of numbers of rows the likeliest.

        Parameters
        ----------
        made : PreparedRelease
        place : int
            Of the answer.
        people : int, optional
            By default those supposed.

        Returns
        -------
        float
        """
        parts: dict[str, list[float]] = {}
        for name, chance in self.expected(made, place, people).replies:
            shape, _, part = name.partition(", ")
            parts.setdefault(part if shape in (USUAL, HEAPED, DISTANT) else name, []).append(chance)
        return max(map(min, parts.values()), default=0.0)


def silent_of(
    terms: PublicTerms, prepared: PreparedRelease, expected: Mapping[int, ExpectedAccuracy]
) -> tuple[UnlikelyAnswer, ...]:
    """The answers that would most likely be no reply, at whatever cap or bounds may be chosen.

    Parameters
    ----------
    terms : PublicTerms
    prepared : PreparedRelease
    expected : mapping of place to ExpectedAccuracy
        Of the answers that are looked at.

    Returns
    -------
    tuple of UnlikelyAnswer
    """
    found = [UnlikelyAnswer(place, prepared.asked[place], one.replies) for place, one in expected.items()]
    silent = tuple(one for one in found if hopeless(one.replies))
    for made in prepared.by_choice if silent else ():  # a cap may be chosen at which there is hope
        silent = tuple(one for one in silent if hopeless(terms.expected(made, one.place).replies))
    return silent
