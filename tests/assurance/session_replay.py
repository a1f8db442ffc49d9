"""Record-replay of sessions: one list of questions on two neighbouring made-up tables, with the same noise on both.

    Talk          how a session is opened, and what it is asked
    Talks         compares runs of one on pairs of tables: what ``Replayer`` is for plans
    built_in()    every kind of session, under both relations

A session is opened by the public functions, on a study of made-up rows with a ledger in memory. Given equal outputs of
the gate all that is told must be equal, the calls must be the same calls, no exact number may move further than
declared, and the calls must be those that were charged (``rules``). The charge must be whole, and made before rows are
read. What is asked does not depend on the rows; that it may depend on earlier answers changes nothing, for those are
the same on both tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from itertools import cycle, product
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from reticent.conformance.certificate_replay import said
from reticent.conformance.diffs import alike
from reticent.conformance.findings import Finding, RunComparison, cause_of, excess, raised, seen_of, unlike
from reticent.conformance.tape import Tape, recorded
from reticent.data.query import DistinctPersons, Query
from reticent.data.query_result import QueryResult
from reticent.data.schema import Column, Integer, Person, Real, Schema
from reticent.data.table import KEY_BYTES
from reticent.entropy import SystemEntropy
from reticent.errors import QuestionError
from reticent.learning import Accuracy, Between, Level, Product
from reticent.mechanisms.gate import Call, Recorder
from reticent.privacy.adjacency import Kind
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, Counted, Loss, PureDP, words
from reticent.sessions.row_functions import Question
from reticent.sessions.session import Answers, Holdout, Leaderboard, OpenSession, SparseVectorSession
from reticent.study.memory import study as in_memory
from reticent.study.study import Study
from tests.assurance.session_rules import by_rules

if TYPE_CHECKING:
    from reticent.conformance.replay import QueryRunner
    from reticent.data.table import Table

KEY: Final = (256,)  # the one thing a session tosses outside the gate: by which rows are kept
Session: TypeAlias = OpenSession[Any]  # what a part consists of differs from session to session
Ask: TypeAlias = Callable[[Any], object]  # and so does what may be asked


@dataclass(frozen=True, slots=True)
class Talk:
    """A session over ``schema``: how it is opened on a study, and its questions, asked while it lasts."""

    name: str
    schema: Schema
    budget: Counted
    start: Callable[[Study], Session]
    questions: tuple[Ask, ...]


@dataclass(slots=True)
class Made:
    """A table of made-up rows as a session sees it; ``read`` has what was charged when its rows were asked for.

    ``key``, by which rows are kept, in place of one that is tossed from the system's coins.
    """

    rows: QueryRunner
    spent: Callable[[], Loss]
    key: bytes | None = None
    read: list[Loss] = field(default_factory=list)

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        self.read.append(self.spent())
        return self.rows.run(queries, key if self.key is None else self.key, schema)

    def units(self) -> int:
        """The number of persons, which is read before the charge where it is public."""
        return self.rows.run([DistinctPersons()], bytes(KEY_BYTES))[0].vectors[0][0]

    def close(self) -> None:
        """Made-up rows are used again."""


@dataclass(frozen=True, slots=True, eq=False)
class Watched(Study):
    """A study of made-up rows, which hands out a recorder where a study has the system's coins."""

    made: Made = field(kw_only=True)
    recorder: Recorder = field(kw_only=True)

    def _table(self, limits: Mapping[str, object] | None = None) -> Table:
        return cast("Table", self.made)  # all that a session asks of a table is run and close

    def _probe(self, table: Table) -> None:
        """There is no engine to try."""

    def coins(self) -> SystemEntropy:
        return cast(SystemEntropy, self.recorder)  # it has the same two methods


@dataclass(frozen=True, slots=True)
class Told:
    """What one run of a session did and showed.

    ``reserved`` is how many parts were when each call was made, ``asked`` the calls made for each answer, ``wrong``
    what is wrong with the charge, in words.
    """

    calls: tuple[Call, ...]
    tossed: tuple[int, ...]
    published: tuple[object, ...]
    guarantee: Guarantee | None
    reserved: tuple[int, ...]
    asked: tuple[tuple[int, int], ...]
    wrong: tuple[str, ...]
    raised: str | None


class Talks:
    """Compares runs of one session on pairs of tables."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk

    def compare(self, here: QueryRunner, there: QueryRunner, tape: Tape, *, same: bool = False) -> RunComparison:
        """Two runs with the same outputs of the gate; the ``same`` rows in another order may change nothing at all."""
        first = ran(self.talk, here, tape)
        second = ran(self.talk, there, tape, first.calls)
        name = self.talk.name
        found = raised(first.raised, second.raised) or [*_tossed(first, second), *unlike(first.calls, second.calls)]
        if found or first.guarantee is None:
            return RunComparison((), None, tuple(found))
        found = [Finding("loss", name, text) for text in dict.fromkeys((*first.wrong, *second.wrong))]
        pairs, seen = list(zip(first.calls, second.calls, strict=True)), []
        for call, other in pairs:
            seen.append(seen_of(call, other, name))
            found += excess(call, other, seen[-1], same=same)
        share, broken = by_rules(pairs, first.reserved, first.asked, first.guarantee)
        found += [Finding("proof", name, text) for text in broken]
        if not alike(first.published, second.published):
            found.append(Finding("answer", name, _differing(first, second)))
        return RunComparison(tuple(seen), share, tuple(found), len(first.asked))


def ran(talk: Talk, rows: QueryRunner, tape: Tape, earlier: Sequence[Call] = ()) -> Told:
    """One run: open, ask the questions while the session lasts, close."""
    person = talk.schema.person
    made_up = in_memory(
        {name: [] for name in (*talk.schema.columns, *filter(None, [person.column]))},
        adjacency=person.adjacency,
        columns=talk.schema.columns,
        budget=talk.budget,
        person=person.column,
        rows_each=person.rows,
        people=person.people,
        override="made up",
    )
    ledger, reserved = made_up.ledger, []
    recorder = recorded(tape, earlier, lambda: reserved.append(len(ledger.releases())))
    made = Made(rows, ledger.spent)
    study = Watched(made_up.spec, {}, ledger, made=made, recorder=recorder)
    start = datetime.now(UTC)
    told: list[object] = []
    asked: list[tuple[int, int]] = []
    guarantee, failed, wrong = None, None, []
    try:
        with talk.start(study) as session:
            wrong += [] if made.read == [session.guarantee.loss] else ["rows are read before their part is charged"]
            for question in talk.questions:
                before = len(recorder.calls)
                try:
                    told.append(question(session))
                except QuestionError as refusal:  # it is over
                    told.append(str(refusal))
                else:
                    asked.append((before, len(recorder.calls)))
                told.append((session.rounds, session.over))
        guarantee = session.guarantee
        if ledger.spent() != guarantee.loss:
            wrong.append(f"{words(ledger.spent())} is charged for what costs {words(guarantee.loss)}")
        lines = [(line.what, line.charge, line.state, line.purpose) for line in ledger.releases()]
        told += [session.transcript, session.people, session.proof(), repr(session), lines]
        told.append(said(session.certificate.document, start))
    except Exception as cause:
        failed = cause_of(cause)
    calls, tossed = tuple(recorder.calls), tuple(recorder.tossed)
    return Told(calls, tossed, tuple(told), guarantee, tuple(reserved), tuple(asked), tuple(wrong), failed)


def _tossed(first: Told, second: Told) -> list[Finding]:
    if first.tossed == second.tossed == KEY:
        return []
    sizes = " and ".join(str(list(told.tossed)[:8]) for told in (first, second))
    return [Finding("bypass", "", f"coins are tossed outside the gate, in bits: {sizes}; expected {list(KEY)}")]


def _differing(first: Told, second: Told) -> str:
    """The first thing told that differs, on either side."""
    for one, other in zip(first.published, second.published, strict=False):
        if not alike(one, other):
            return (
                f"{one!r} is told on one neighbour and {other!r} on the other, though every noisy number was the same"
            )
    return "more is told on one neighbour than on the other, though every noisy number was the same"


# --- the sessions there are -------------------------------------------------------------------------------------------

NUMBERS: Final[dict[str, Column]] = {
    "x": Real(Fraction(-1), Fraction(3), missing=Fraction(0)),
    "k": Integer(0, 5, missing=Fraction(0)),
    "y": Integer(0, 1, missing=Fraction(0)),
}
DROPPED: Final[dict[str, Column]] = {**NUMBERS, "x": Real(Fraction(-1), Fraction(3))}  # so that the number is bought
PUBLIC: Final[dict[str, list[float]]] = {"x": [0.0, 3.0, -1.0], "k": [5, 0, 1], "y": [1.0, 1.0, 0.0]}
ASKED: Final[tuple[Question, ...]] = (
    Level("x"),
    Between("k", high=2),
    Product("x", "k"),
    Accuracy({"x": 1.5, "k": -0.3}, "y", intercept=0.2),
    Level("y"),
    Between("x", low="0.5"),
)
EPSILON: Final = Fraction(2)


def built_in() -> Iterator[Talk]:
    """Every kind of session, under both relations, for persons of one row and of several, n public and bought."""
    kinds: tuple[Kind, ...] = ("add_remove", "substitute")
    for kind, rows, columns in product(kinds, (1, 2), (NUMBERS, DROPPED)):
        if rows > 1 and columns is DROPPED:
            continue
        schema = Schema(columns, Person(kind, None if rows == 1 else "who", rows))
        where = f"{kind}, at most {rows} {'row' if rows == 1 else 'rows'} each" + (
            ", values may lack" if columns is DROPPED else ""
        )
        for name, budget, start, questions in _kinds():
            yield Talk(f"{name}, {where}", schema, budget, start, questions)


def _kinds() -> Iterator[tuple[str, Counted, Callable[[Study], Session], tuple[Ask, ...]]]:
    names, pure, rho = list(NUMBERS), PureDP(2 * EPSILON), ZCDP(EPSILON)

    def holdout(study: Study) -> Session:
        return study.holdout(names, public=PUBLIC, epsilon=EPSILON, rounds=2, threshold="0.1")

    def claims(study: Study) -> Session:
        return study.holdout(names, epsilon=EPSILON, rounds=2, threshold="0.1")

    def means(study: Study) -> Session:
        return study.sparse_vector(names, epsilon=EPSILON, positives=2)

    def counts(study: Study) -> Session:
        return study.sparse_vector(names, epsilon=EPSILON, positives=3, of="counts", show="above")

    def leaderboard(study: Study) -> Session:
        return study.leaderboard(names, epsilon=EPSILON, improvements=2, step="0.05")

    def answers(study: Study) -> Session:
        return study.noisy_answers(names, rho=Fraction(1, 2), answers=len(ASKED) - 1)

    def above(*bars: str | int) -> tuple[Ask, ...]:
        pairs = zip(ASKED, cycle(bars), strict=False)
        return tuple(partial(_above, question, bar) for question, bar in pairs)

    yield "holdout", pure, holdout, tuple(partial(_check, question) for question in ASKED)
    claimed = zip(ASKED, cycle(("0.5", "0.1", "0.9")), strict=False)
    yield "holdout of claims", pure, claims, tuple(partial(_claim, question, one) for question, one in claimed)
    yield "sparse vector of means", pure, means, above("0.2", "0.9", "0.5")
    yield "sparse vector of counts", pure, counts, above(0, 5, 2)
    yield "sparse vector of counts in ρ", rho, counts, above(1, 3)
    yield "leaderboard", pure, leaderboard, tuple(partial(_submit, question) for question in ASKED)
    yield "noisy answers", rho, answers, tuple(partial(_ask, question) for question in ASKED)


def _check(question: Question, session: Holdout) -> object:
    return session.check(question)


def _claim(question: Question, claimed: str, session: Holdout) -> object:
    return session.check(question, claimed)


def _above(question: Question, bar: str | int, session: SparseVectorSession) -> object:
    return session.above(question, bar)


def _submit(question: Question, session: Leaderboard) -> object:
    return session.submit(question)


def _ask(question: Question, session: Answers) -> object:
    return session.ask(question)


__all__ = ["Talk", "Talks", "Told", "Watched", "built_in", "ran"]
