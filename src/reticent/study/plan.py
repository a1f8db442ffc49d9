"""A plan: what a release would cost and how wide its intervals would be. It reads no row and spends nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.data.schema import Person, Schema
from reticent.errors import NAMED, QuestionError, Refusal, first_of, restored
from reticent.privacy import compose
from reticent.privacy import loss as losses
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import Loss, words
from reticent.privacy.numbers import show
from reticent.statistics.context import ExpectedAccuracy, Step, hopeless, values_of
from reticent.statistics.counts.incomplete_share import IncompleteStep
from reticent.statistics.grammar import spelt
from reticent.statistics.prepare import in_its_unit
from reticent.statistics.public_facts import CommonClause, listed, sharing_lines, without_columns
from reticent.statistics.shares import ASSUMED as ASSUMED
from reticent.statistics.shares import WIDEST
from reticent.study.allocation import PreparedRelease
from reticent.study.cpu_time import of_drawing, of_release, seconds
from reticent.study.plan_text import (
    HEADS,
    cells_of,
    folded,
    half,
    letter,
    number_json,
    other_shapes,
    table,
    widths_words,
)
from reticent.study.preparation import PublicTerms, silent_of
from reticent.study.terms import check_left

if TYPE_CHECKING:
    from reticent.ledger import Ledger
    from reticent.statistics.hypotheses.power import PowerCurve
    from reticent.study.memory_forecast import BroughtRecords
    from reticent.study.terms import Budget

FREE: Final = "free, of the answers above"
BESIDE: Final = "beside the answers"  # head of the lines that nobody asked for
NONE_MISSING: Final = "the widths above suppose no such row: passing=… tells the share of the others"
MUCH: Final = 10**9  # bytes from which a plan tells them


@restored
@dataclass(frozen=True, slots=True)
class PlanLine:
    """One question of a plan: its share of the loss and the half-widths to expect at 95 %.

    ``seconds`` is the processor time that its rows take by a rough forecast; None where there is none. ``beside`` is
    true of a number that nobody asked for. ``noise`` and ``sampling`` are those printed first, not the usual ones.
    """

    name: str
    loss: Loss
    expected: ExpectedAccuracy
    estimand: str = ""
    seconds: float | None = None
    beside: bool = False

    @property
    def noise(self) -> float | None:
        return self.expected.headline[0]

    @property
    def sampling(self) -> float | None:
        return self.expected.headline[1]


def _of_persons(schema: Schema) -> str:
    """Sentences on rows that belong to nobody, and on the steps that one person makes."""
    text, person = "", schema.person
    if nobodys := person.nobodys:
        text += f" {nobodys[0].upper()}{nobodys[1:]}."
    if person.moved > 1:
        steps = f"{person.moved} steps, and the losses above are those of one."
        if person.household is not None and person.unit:
            text += f" The guarantee is about one {person.unit}: its persons are {steps}"
            text += f" {person.likeness_words[0].upper()}{person.likeness_words[1:]}."
        else:
            text += f" Rows reach their person through {' and '.join(schema.owners)}: one person makes {steps}"
    return text


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a release: its cost and its expected accuracy, for ``people`` persons of an assumed shape.

    It holds the compiled steps too, for an audit; they are no part of what it says, compares or saves. ``reason`` says
    why a release of it would be refused, empty where it would not. ``silent`` are answers that are most likely no reply
    for every public shape, and ``helps`` the changes that would give one, each planned. ``unlikely`` are those of them
    whose method nobody named: a release needs ``try_anyway`` where the number of people is public.
    """

    lines: tuple[PlanLine, ...]
    guarantee: Guarantee
    people: int
    assumed: bool
    left: Loss | None
    affordable: bool
    reason: str = ""
    _prepared: PreparedRelease | None = field(default=None, repr=False, compare=False)
    _schema: Schema | None = field(default=None, repr=False, compare=False)
    typical: Fraction | None = None
    unlikely: tuple[str, ...] = ()
    seconds: float | None = None
    comparisons: tuple[tuple[str, float], ...] = ()
    memory: int | None = None
    rows_assumed: bool = False
    passing_assumed: bool = False
    of_persons: str = ""  # sentences of the footnote, which a plan that is read again has, too
    noted: tuple[str, ...] = ()  # on what was asked, as the release says it
    silent: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    _brought: BroughtRecords | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._schema is not None:
            object.__setattr__(self, "of_persons", _of_persons(self._schema))

    def prepared_for(self, schema: Schema) -> PreparedRelease:
        """The compiled steps, if they were compiled for this public schema.

        Raises
        ------
        QuestionError
            The plan is another study's, or was saved and read again, which keeps what it says alone.
        """
        if self._prepared is None or self._schema != schema:
            raise QuestionError("This plan was not made by this study as it is now. Make it again with study.plan.")
        return self._prepared

    def power(
        self, test: str, *, effects: Sequence[float] = (), people: int | None = None, level: float = 0.05
    ) -> PowerCurve:
        """Power of a test of this plan: its probability of rejection, by the size of the true effect.

        It reads no row and spends nothing.

        Parameters
        ----------
        test : str
            The test as it is named in the plan, or as it was asked.
        effects : sequence of float
            In the unit of the test's effect; by default ten from the hypothesis to where the test is nearly sure.
        people : int, optional
            By default those of the plan.
        level : float

        Returns
        -------
        PowerCurve
            Effects, and the probability of rejection at each.

        Raises
        ------
        QuestionError
            The plan has no such test, or was saved and read again.
        PublicParameterError
            A level or effects that the test cannot have, or too few people.
        """
        from reticent.statistics.hypotheses.power import power_curve, powered

        tests = [one for step in self._steps() if (one := powered(step)) is not None]
        name = spelt(test, [one.name for one in tests])
        for one in tests:
            if one.name == name:
                return power_curve(one, effects=effects, people=self.people if people is None else people, level=level)
        known = ", ".join(one.name for one in tests) or "none"
        raise QuestionError(f"This plan has no test '{test}'. Its tests: {known}.")

    def _refused_too(self, words: Sequence[str]) -> Plan:
        """The plan, with further reasons for which a release would be refused."""
        return replace(self, reason=" ".join(filter(None, (self.reason, *words))))

    def _steps(self) -> tuple[Step, ...]:
        if self._prepared is None:
            raise QuestionError("This plan was saved and read again, which keeps what it says alone. Plan again.")
        return self._prepared.all_steps

    def to_json(self) -> dict[str, object]:
        return {
            "guarantee": losses.to_json(self.guarantee.loss),
            "adjacency": self.guarantee.adjacency.words(),
            "people": self.people,
            "people_assumed": self.assumed,
            **(
                {}
                if self.typical is None
                else {"rows_each": show(self.typical), "rows_each_assumed": self.rows_assumed}
            ),
            "passing_assumed": self.passing_assumed,
            "affordable": self.affordable,
            **({"reason": self.reason} if self.reason else {}),
            "left": None if self.left is None else losses.to_json(self.left),
            "unlikely": list(self.unlikely),
            "silent": list(self.silent),
            "helps": list(self.helps),
            "cpu_seconds": self.seconds,
            **({} if self.memory is None else {"memory_bytes": self.memory}),
            **({"comparisons": dict(self.comparisons)} if self.comparisons else {}),
            "statistics": [
                {
                    "name": line.name,
                    "estimand": line.estimand,
                    "charge": losses.to_json(line.loss),
                    "noise": line.noise,
                    "sampling": line.sampling,
                    **({"typical": line.expected.typical} if line.expected.typical else {}),
                    **({"beside": True} if line.beside else {}),
                    **({"unit": line.expected.unit} if line.expected.unit else {}),
                    "other_shapes": other_shapes(line.expected),
                    **({"coefficients": list(map(number_json, found))} if (found := line.expected.numbers) else {}),
                    "reply": dict(line.expected.replies),
                    "figures": dict(line.expected.figures),
                    "note": line.expected.note,
                    "cpu_seconds": line.seconds,
                }
                for line in self.lines
            ],
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Name, loss, noise, sampling, probability of a reply, note, as text: a cell for each of ``HEADS``."""
        asked, beside = (
            [row for line in self.lines if line.beside is one for row in cells_of(line.name, line.loss, line.expected)]
            for one in (False, True)
        )
        compared = [(name, "", half(noise), "", "", FREE) for name, noise in self.comparisons]
        return [*asked, *compared, *([(BESIDE, "", "", "", "", "")] if beside else []), *beside]

    def marked(self) -> tuple[list[tuple[str, ...]], list[tuple[str, str]]]:
        """The rows with a letter for their note, and the notes with their letters, each once."""
        rows, marks = self.rows(), dict[str, str]()
        if len({row[-1] for row in rows}) > NAMED and self._schema is not None:
            columns = tuple(self._schema.columns)
            rows = [(*cells, without_columns(cells[0], note, columns)[1]) for *cells, note in rows]
        shown = [(*cells, marks.setdefault(note, letter(len(marks))) if note else "") for *cells, note in rows]
        return shown, [(mark, note) for note, mark in marks.items()]

    def estimands(self) -> list[tuple[str, str]]:
        """Names and estimands; questions that differ in their columns alone share a line, with … for the columns.

        A filter, and groups, that all lines have stand in a first line, and in no other.
        """
        columns = () if self._schema is None else tuple(self._schema.columns)
        shared = CommonClause.of([line.name for line in self.lines if line.estimand])
        lines = [(shared.without(line.name), shared.beside(line.estimand)) for line in self.lines if line.estimand]
        return [*([shared.line] if shared else []), *sharing_lines(lines, columns)]

    def supposition(self) -> str:
        """The people that the plan is for, their rows, and those that pass a filter; what nobody told, with its key."""
        people = f"{self.people:,} people"
        each = "" if self.typical is None else f"{show(self.typical)} row{'' if self.typical == 1 else 's'} each"
        told = [] if self.assumed else [f"for {people}", *([each] if each and not self.rows_assumed else [])]
        untold = [people, *([each] if each and not self.rows_assumed else [])] if self.assumed else []
        untold += [each] if self.rows_assumed else []
        untold += ["every row passes the filter"] if self.passing_assumed else []
        flags = {"people": self.assumed, "rows": self.rows_assumed, "passing": self.passing_assumed}
        keys = [f"{name}=…" for name, supposed in flags.items() if supposed]
        said = [", ".join(told)] if told else []
        said += [f"supposed: {', '.join(untold)}. Say {listed(keys, 'and')} for yours"] if untold else []
        return f"{'; '.join(said)}. Your file was not consulted."

    def footnote(self) -> str:
        text = f"*{widths_words([line.expected for line in self.lines])}"
        if self.assumed and self.guarantee.adjacency.kind == "substitute":
            text += " The number of people is public here: people=… plans for it."
        text += self.of_persons
        text += "".join(f" {note}." for note in self.noted)
        if self.seconds is not None:
            text += f" Once asked for, it takes roughly {self.seconds:.1g} s of one processor"
            text += f"{self._room()}, after some 3 s of start-up."
        if self.left is not None:
            text += f" {words(self.left)} is left."
        if self.reason or not self.affordable:
            text += f" {self.reason or 'That is not enough.'}"
        if self.silent:
            from reticent.study.remedies import in_a_sentence

            text += f" Most likely no reply: {first_of(self.silent)}. {in_a_sentence(self.helps)}"
        if self.unlikely:
            all_of_them = "it" if len(self.silent) == 1 else "them"
            which = all_of_them if self.unlikely == self.silent else first_of(self.unlikely)
            text += f" A release refuses {which} without record=rt.Record(try_anyway=True), where the number of people "
            text += "is public or declared."
        return text

    def _room(self) -> str:
        if self.memory is None or self.memory < MUCH:
            return ""
        from reticent.study.memory_forecast import told_bytes

        return f" and {told_bytes(self.memory)} of memory"

    def __reduce__(self) -> tuple[object, ...]:
        return Plan, (
            self.lines,
            self.guarantee,
            self.people,
            self.assumed,
            self.left,
            self.affordable,
            self.reason,
            None,
            None,
            self.typical,
            self.unlikely,
            self.seconds,
            self.comparisons,
            self.memory,
            self.rows_assumed,
            self.passing_assumed,
            self.of_persons,
            self.noted,
            self.silent,
            self.helps,
        )

    def __repr__(self) -> str:
        rows, notes = self.marked()
        return "\n".join(
            [
                *folded("", f"{words(self.guarantee.loss)} · {self.guarantee.adjacency.words()}"),
                *folded("", self.supposition()),
                *table([HEADS, *rows]),
                *(line for mark, note in notes for line in folded(f"{mark}: ", note)),
                *folded("* ", self.footnote().removeprefix("* ")),
                *(line for names, text in self.estimands() for line in folded("", f"{names}: {text}")),
            ]
        )

    def _repr_html_(self) -> str:
        from reticent.pages.markup import render

        return render(
            "plan_table",
            {
                "caption": f"{words(self.guarantee.loss)} · {self.guarantee.adjacency.words()}",
                "heads": (*HEADS[:-1], "note"),
                "rows": self.rows(),
                "told": (
                    self.supposition(),
                    self.footnote(),
                    *(f"{names}: {text}" for names, text in self.estimands()),
                ),
            },
        )


def plan_of(
    prepared: PreparedRelease,
    terms: PublicTerms,
    *,
    assumed: bool,
    left: Loss,
    ledger: Ledger | None,
    want: Mapping[str, float] | None = None,
    source: Path | None = None,
) -> Plan:
    """The plan of prepared steps for the public numbers that are supposed.

    Parameters
    ----------
    prepared : PreparedRelease
    terms : PublicTerms
        The questions, and the number of persons that the plan is for.
    assumed : bool
        True if that number is an assumption.
    left : Loss
        Rest of the budget.
    ledger : Ledger or None
        None where there is none yet.
    want : mapping of name to half-width, or None
        Names the comparisons that it tells of.
    source : Path or None
        File that is read, for the forecast of time and memory; None for rows in memory.

    Returns
    -------
    Plan
        Cost, and half-widths at 95 % in the unit of each answer.
    """
    schema, people, passing = terms.study.schema, terms.people, terms.study._passing
    rows = values_of(people, schema.person.rows, schema.person)
    in_rho = terms.study._currency == "zcdp" or terms.within.rho is not None  # in which the release is shared out
    lines = tuple(
        PlanLine(
            step.name,
            (compose.in_zcdp(step.guarantee) if in_rho else step.guarantee).loss,
            in_its_unit(
                _at_candidates(
                    prepared,
                    place,
                    _with_distance(step, terms.expected(prepared, place), terms.counted(prepared, place)),
                    people,
                ),
                prepared.asked[place].statistic if place < len(prepared.asked) else None,
                prepared.schema or schema,
            )
            if not isinstance(step, IncompleteStep)
            else _share_beside(terms, terms.expected(prepared, place)),
            prepared.estimand(place, step.estimand),
            seconds(step.queries, rows) + of_drawing(step),
            place >= len(prepared.steps),
        )
        for place, step in enumerate(prepared.all_steps)
    )
    if want:
        lines = _bought(want, lines)
    silent = silent_of(terms, prepared, {place: lines[place].expected for place in range(len(prepared.asked))})
    read = prepared.columns_asked(schema)
    reason = _refused(prepared.guarantee, ledger, left)
    each, rows_assumed = _rows_of_each(schema.person)
    unlikely = tuple(one.asked.name for one in silent if one.asked.is_checked)
    made = (
        prepared,
        schema,
        each,
        unlikely,
        of_release(prepared.all_steps, source, len(read), rows, schema.person, silent=bool(unlikely)),
        _comparisons(want, prepared, min(terms.counted(prepared, place) for place in range(len(prepared.steps)))),
        None if source is None else _memory(prepared, schema, rows),
        rows_assumed,
        passing is None and prepared.filters(where=schema.where is not None),
    )
    return Plan(
        lines,
        prepared.guarantee,
        people,
        assumed,
        left,
        not reason,
        reason,
        *made,
        silent=tuple(one.asked.name for one in silent),
        helps=_helps(terms, prepared, [one.place for one in silent]),
    )


def _helps(terms: PublicTerms, prepared: PreparedRelease, silent: Sequence[int]) -> tuple[str, ...]:
    """The changes that would give a reply to answers that have none; they are tried where there are such answers."""
    if not silent:
        return ()
    from reticent.study.remedies import helps_of

    return helps_of(terms, prepared, silent)


def _share_beside(terms: PublicTerms, found: ExpectedAccuracy) -> ExpectedAccuracy:
    """The expectation of a share that stands beside answers; what tells a plan of it, and what declares it away."""
    if terms.study._passing is None:
        found = replace(found, note="; ".join(filter(None, (found.note, terms.study._worded(NONE_MISSING)))))
    if terms.study.schema.person.people is not None or terms.units is not None:
        return found
    if found.noise is not None and found.noise <= WIDEST and not hopeless(found.replies):
        return found
    idle = f"of {terms.people:,} people it tells nothing: declared, people = …, they leave it out and save its price"
    return replace(found, note="; ".join(filter(None, (found.note, terms.study._worded(idle)))))


def _rows_of_each(person: Person) -> tuple[Fraction | None, bool]:
    """The rows of a person that a plan supposes, and whether nobody told them; None where each has one."""
    return (None, False) if person.rows == 1 else (person.supposed_rows, person.usual_rows is None)


def _with_distance(step: Step, found: ExpectedAccuracy, people: int) -> ExpectedAccuracy:
    """The expectation of a step; of a density with its distance from the law, which takes a few draws."""
    printed: Callable[[ExpectedAccuracy, int], ExpectedAccuracy] | None = getattr(step, "as_printed", None)
    return found if printed is None else printed(found, people)


def _printed(step: Step, people: int) -> ExpectedAccuracy:
    """The expectation of a step in its own unit."""
    return _with_distance(step, step.expected(people), people)


def _memory(prepared: PreparedRelease, schema: Schema, rows: int) -> int:
    from reticent.study.memory_forecast import memory_of_release

    return memory_of_release(prepared, schema, rows)


def _at_candidates(prepared: PreparedRelease, place: int, found: ExpectedAccuracy, people: int) -> ExpectedAccuracy:
    """The expectation at the supposed candidate, with the widths at every other that may be chosen."""
    if not prepared.by_choice or place >= len(prepared.steps):
        return found
    assert prepared.choice is not None
    several = [*zip(prepared.choice.candidates, prepared.by_choice, strict=True)]
    few = several[:: -(-len(several) // 4)]
    listed = few if hasattr(prepared.steps[place], "as_printed") else several  # draws of a density take their time
    each = {words: _printed(one.steps[place], people) for words, one in listed}
    told = [f"{half(each[words].headline[0])} at {words}" for words, _ in few if each[words].noise is not None]
    supposed = "".join(f"supposes {words}" for words, one in several if one.schema == prepared.schema)
    others = tuple((words, *one.headline) for words, one in each.items() if one.noise is not None)
    note = "; ".join(filter(None, (found.note, ": ".join((supposed, ", ".join(told))))))
    found = replace(found, note=note, others=(*found.others, *others))
    return prepared.at_each_cap(place, people, found, _printed)


def _bought(want: Mapping[str, float], lines: tuple[PlanLine, ...]) -> tuple[PlanLine, ...]:
    from reticent.statistics.least_epsilon import bought_for_equal_values as bought

    return tuple(
        replace(line, expected=bought(line.expected, want[line.name])) if line.name in want else line for line in lines
    )


def _comparisons(
    want: Mapping[str, float] | None, prepared: PreparedRelease, people: int
) -> tuple[tuple[str, float], ...]:
    if want is None:
        return ()
    from reticent.study.linked_widths import planned_widths

    return planned_widths(want, prepared.steps, people)


def plan_of_one(
    name: str,
    guarantee: Guarantee,
    expected: ExpectedAccuracy,
    people: int,
    schema: Schema,
    brought: BroughtRecords,
    *,
    source: Path | None,
    assumed: bool,
    budget: Budget,
    helps: tuple[str, ...] = (),
) -> Plan:
    """The plan of one thing that is bought by itself: a model, or a session.

    Parameters
    ----------
    name : str
        Name of the line.
    guarantee : Guarantee
        Guarantee of the thing.
    expected : ExpectedAccuracy
        Its expected accuracy.
    people : int
        Number of persons of the plan.
    schema : Schema
        Of the study, whose persons have the supposed rows.
    brought : BroughtRecords
        What it takes of the rows.
    source : Path or None
        File that is read; None for rows in memory.
    assumed : bool
        True if that number is only assumed.
    budget : Budget
        Remaining budget, and the ledger if there is one.
    helps : tuple of str, optional
        The changes that would give a reply, where there is most likely none.

    Returns
    -------
    Plan
        Plan of one line.
    """
    left, ledger = budget
    reason = _refused(guarantee, ledger, left)
    rows = values_of(people, schema.person.rows, schema.person)
    takes = brought.seconds_of(schema, source, rows)
    line = PlanLine(name, guarantee.loss, expected, seconds=takes)
    each, rows_assumed = _rows_of_each(schema.person)
    return Plan(
        (line,),
        guarantee,
        people,
        assumed,
        left,
        not reason,
        reason,
        typical=each,
        seconds=takes,
        memory=None if source is None else brought.memory_of(schema, rows),
        rows_assumed=rows_assumed,
        silent=(name,) if helps else (),
        helps=helps,
        _brought=brought,
    )


def _refused(of: Guarantee, ledger: Ledger | None, left: Loss) -> str:
    try:
        check_left(of.loss, of.adjacency, ledger, left)
    except Refusal as refusal:
        return str(refusal)
    return ""
