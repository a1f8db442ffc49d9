"""From the questions that a study is asked to priced steps: read, joined, shared out, and checked before the rows.

These functions take the study's terms. ``allocation`` shares a total out among questions; here each way of asking gets
the declarations of the study that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import attrs

from reticent.errors import QuestionError
from reticent.privacy.cost import Cost, Written
from reticent.privacy.loss import Loss
from reticent.study.allocation import at_least_one, most, public_people, settle, understand
from reticent.study.terms import StudyTerms

if TYPE_CHECKING:
    from reticent.data.table import Table
    from reticent.statistics.statistic import Ask
    from reticent.study.allocation import PreparedRelease, Questions
    from reticent.study.key_files import KeyFolder

S = TypeVar("S", bound=StudyTerms)


def cost_of_plan(study: StudyTerms, given: Written, override: str, people: int | None) -> Cost:
    """Read the cost of a plan.

    Parameters
    ----------
    study : StudyTerms
        Its declared number of persons is the default of ``people``.
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
    return Cost.read(*given, override, study.schema.person.people if people is None else people)


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

    return understand(questions, study.schema, study._groups, study.extensions, folder)


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
    """
    made = _of_persons(study, questions, within, units)
    if not (unit := study.schema.person.unit):
        return made
    note = f"one person of the guarantee, of the cap and of the caveats is one {unit}, with all who belong to it"
    if study.schema.person.household is not None:
        if study.schema.person.moved > 1:
            return made  # a note of its own says how many are kept
        note = f"the guarantee is about one {unit}, of which one person is kept"
    by_choice = tuple(replace(one, notes=(*one.notes, note)) for one in made.by_choice)
    return replace(made, notes=(*made.notes, note), by_choice=by_choice)


def _of_persons(study: StudyTerms, questions: Questions, within: Cost, units: int | None) -> PreparedRelease:
    try:
        return _settled(study, questions, within, units)
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
    from reticent.study.reply_check import Remedies, check_replies

    def dearer(times: int) -> PreparedRelease:
        return prepare(study, asked, within.times(times), units)

    def bare() -> PreparedRelease:
        return prepare(study, [_bare(item) for item in asked], within, units)

    def capped(rows: int) -> PreparedRelease:
        schema = replace(study.schema, person=study.schema.person.capped_at(rows))
        return prepare(replace(study, spec=replace(study.spec, schema=schema)), asked, within, units)

    check_replies(prepared, study.schema, units, Remedies(dearer, bare, capped))


def _bare(asked: Ask) -> Ask:
    """The same question without its interval; a statistic that always has one, or never, is itself."""
    names = {field.name for field in attrs.fields(type(asked.statistic))} & {"interval"}
    return attrs.evolve(asked, statistic=attrs.evolve(asked.statistic, **dict.fromkeys(names, False)))
