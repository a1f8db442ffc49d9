"""A session that was paid for: its rows, its receipts, its lock; and what whoever holds one may ask.

``sessions`` opens them. The order is that of a release: reserve, then read and draw; the rows go when it ends. It
belongs to the process that opened it: it is not copied or pickled, a forked child is refused, and threads are answered
one at a time. Whatever interrupts an answer ends the session, so that what was drawn is never drawn again.

When a round ends, the certificate of the session so far is made. The ledger records its digest under the receipt of the
round, before the last answer is shown. A session of very many rounds has several certificates, one after the other,
each of ``VOLUME`` rounds at most: a single one would take longer to write from round to round.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import (
    TYPE_CHECKING,
    Final,
    Generic,
    Literal,
    NoReturn,
    TypeAlias,
    TypeVar,
)

from reticent.certificate.makers import Transcript, of_session
from reticent.certificate.snapshot import recorded
from reticent.data.columns import columns_of
from reticent.data.source import name_of as name_of_source
from reticent.data.table import EngineFailure
from reticent.entropy import Forks, SystemEntropy
from reticent.errors import Fault, PublicParameterError, QuestionError, bare, doors
from reticent.ledger.account import note_fault, protected_log
from reticent.mechanisms import gate
from reticent.privacy import compose
from reticent.privacy.convert import spent_delta
from reticent.privacy.cost import refuse_exposure
from reticent.privacy.explain import outline
from reticent.privacy.loss import words
from reticent.privacy.numbers import Number, read
from reticent.privacy.numbers import show as in_words
from reticent.sessions import above_threshold, holdout, leaderboard
from reticent.sessions.gaussian_answers import answer
from reticent.sessions.holdout import sigma
from reticent.sessions.row_functions import STEPS, checked, mean_steps, name_of, private_rows, query_of, steps

if TYPE_CHECKING:
    from types import TracebackType

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from reticent.certificate.certificate import Certificate
    from reticent.data.table import Table
    from reticent.ledger import Ledger, Receipt
    from reticent.mechanisms.gaussian import Gaussian
    from reticent.mechanisms.sparse_vector import Conversation, SparseVector
    from reticent.outcome import Estimate
    from reticent.privacy.guarantee import Guarantee
    from reticent.sessions.above_threshold import Found, RowCount
    from reticent.sessions.holdout import Checked
    from reticent.sessions.leaderboard import Standing
    from reticent.sessions.payer import Payer
    from reticent.sessions.row_count import MeanSize
    from reticent.sessions.row_functions import GridColumn, GridRows, Question
    from reticent.statistics.answer import IncompleteRows

T = TypeVar("T")
A = TypeVar("A")
Of: TypeAlias = Literal["means", "counts"]
VOLUME: Final = 64  # rounds of one certificate


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """Terms of a session, all of them public.

    ``size`` is the source of the number of rows, and ``sized`` tells if answers rest on one. ``parts`` are the rounds
    it may open. ``what`` and ``parameters`` identify the session in its certificate.
    """

    title: str
    purpose: str
    who: str
    override: str
    what: str
    parameters: Mapping[str, str]
    axes: Mapping[str, GridColumn]
    size: MeanSize
    part: Guarantee
    parts: int
    first: Guarantee
    sized: bool = True
    signer: Ed25519PrivateKey | None = None


class PaidSession(Generic[T]):
    """One session's rows, its receipts and its lock. ``T`` is what a part consists of once it is paid for."""

    __slots__ = (
        "_certificates",
        "_coins",
        "_ended",
        "_first",
        "_guarantees",
        "_lacking",
        "_ledger",
        "_lock",
        "_over",
        "_owner",
        "_plan",
        "_receipt",
        "_rows",
        "_schema",
        "_size",
        "_start",
        "_started",
        "_taken",
        "_told",
    )

    def __init__(self, study: Payer, plan: SessionTerms, start: Callable[[SystemEntropy], T]) -> None:
        self._plan, self._start, self._coins = plan, start, partial(gate.coins_for, study)
        self._lock, self._owner, self._over = threading.Lock(), (os.getpid(), Forks.count), False
        self._told: list[tuple[str, str]] = []
        self._guarantees: list[Guarantee] = []
        self._receipt: Receipt | None = None
        self._started: T | None = None
        self._rows: GridRows | None = None
        self._lacking: IncompleteRows | None = None
        self._ended: list[tuple[Receipt, str]] = []
        self._certificates: list[Certificate] = []
        self._first = (0, 0)  # round and answer of the certificate that is being written

        self._schema, self._taken = study.schema, name_of_source(study._place)
        columns_of([query_of(plan.axes)], study.schema)
        existing = study._existing()
        study._check_left(existing, plan.first.loss, plan.first.adjacency)
        table = study._table()
        self._ledger: Ledger = study.ledger if existing is None else existing
        study._probe(table)
        spent = spent_delta(plan.first.loss)  # each part that spends one is alone
        fits = partial(study._refuse_records, plan.axes, len(plan.axes))
        if counted := spent and study.schema.person.neighbours().size_public:
            fits()  # before persons are counted
        if spent:
            people = study._public_people(table, lambda: plan.first.loss, plan.who)
            refuse_exposure(spent, study.schema.person.people_at_risk(people))
        if not counted:
            fits()  # last: what else is refused is noted, whatever the size
        self._reserve(plan.first)
        try:
            self._size = self._read(table)
            self._started = start(self._coins())
        except BaseException as cause:
            reference = self._failed(cause)
            if not isinstance(cause, Exception):
                raise bare(cause) from None
        else:
            return
        # Raised here and not in the handler: the cause, whose frames hold private rows, is not even its __context__.
        raise Fault(reference, words(plan.first.loss))

    def answer(self, question: str, draw: Callable[[T, GridRows, RowCount, SystemEntropy], tuple[A, bool]]) -> A:
        """One answer, and whether it ended what was paid for. Whatever interrupts it ends the session."""
        if self._owner != (os.getpid(), Forks.count):
            raise QuestionError("This session belongs to the process that paid for it. Open one here.")
        with self._lock:
            if self._over or self._rows is None:
                raise QuestionError("This session is over. Open another, which is charged.")
            if self._receipt is None:
                self._next()
            self._over = True
            assert self._started is not None
            before = len(self._told)
            try:
                reply, ended = draw(self._started, self._rows, self._size, self._coins())
                self._told.append((question, repr(reply)))
                if ended:
                    self._commit()
            except BaseException as cause:
                del self._told[before:]  # a fault shows nothing
                reference = self._failed(cause)
                if not isinstance(cause, Exception):
                    raise bare(cause) from None
            else:
                self._over = False
                return reply
        raise Fault(reference, words(self._guarantees[-1].loss))

    def close(self) -> None:
        """End the session and let the rows go. Nothing is given back; closing twice is closing once."""
        if self._owner != (os.getpid(), Forks.count):
            self._rows = None  # the child's copy alone; the receipt is the parent's
            return
        with self._lock:
            self._over, self._rows, self._started = True, None, None
            if self._receipt is not None:
                self._commit()

    @property
    def opened(self) -> int:
        return len(self._guarantees)

    @property
    def over(self) -> bool:
        spent = self._receipt is None and len(self._guarantees) >= self._plan.parts
        return self._over or self._rows is None or spent

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        return tuple(self._told)

    @property
    def size(self) -> RowCount:
        return self._size

    @property
    def lacking(self) -> IncompleteRows | None:
        return self._lacking

    @property
    def caveats(self) -> tuple[str, ...]:
        lift = self._schema.lift_words("a session")
        return (*self._plan.size.caveats(self._lacking), *([lift] if lift else []))

    def guarantee(self) -> Guarantee:
        return compose.in_sequence(self._guarantees, label=self._plan.title)

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        if self._receipt is not None:
            raise QuestionError("A round is open, and the ledger records it when it ends: close the session first.")
        if not self._certificates:
            raise QuestionError("No round of this session came to its end: the ledger has its charge, and no answers.")
        return tuple(self._certificates)

    def _refuse(self, *_: object) -> NoReturn:
        raise QuestionError("A session is not copied or pickled: it was paid for once, in one process.")

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refuse

    def _next(self) -> None:
        """Open another part: reserved before anything of it is drawn."""
        if len(self._guarantees) >= self._plan.parts:
            raise QuestionError("All that this session may spend is spent. Open another, which is charged.")
        self._reserve(self._plan.part)
        if len(self._ended) >= VOLUME:
            self._first, self._ended = (len(self._guarantees) - 1, len(self._told)), []
        try:
            self._started = self._start(self._coins())
        except BaseException as cause:
            self._over = True
            reference = self._failed(cause)
            if not isinstance(cause, Exception):
                raise bare(cause) from None
        else:
            return
        raise Fault(reference, words(self._plan.part.loss))

    def _reserve(self, cost: Guarantee) -> None:
        nth = len(self._guarantees) + 1
        what = self._plan.title if self._plan.parts == 1 else f"{self._plan.title}, round {nth}"
        self._receipt = self._ledger.reserve(
            cost.loss, adjacency=cost.adjacency, what=what, who=self._plan.who, purpose=self._plan.purpose
        )
        self._guarantees.append(cost)

    def _read(self, table: Table) -> RowCount:
        """Read the rows once, and buy their number where it is not public."""
        entropy = self._coins()
        (found,) = table.run([query_of(self._plan.axes)], entropy.bits(256).to_bytes(32))
        assert found.records is not None
        self._rows = private_rows(self._plan.axes, found.records)
        table.close()
        size, self._lacking = self._plan.size.draw(self._rows.count, len(found.records) - self._rows.count, entropy)
        return size

    def _commit(self) -> None:
        """The digest of the certificate goes into the ledger before the last answer of a part is shown."""
        receipt, made = self._receipt, self._certified()
        assert receipt is not None
        if self._plan.signer is not None:
            made = made.sign(self._plan.signer)
        self._receipt, self._started = None, None
        told = [] if self._certificates or self._lacking is None else [self._lacking]

        self._ledger.commit(receipt, digest=made.digest, shares=recorded(told))
        self._certificates[len(self._certificates) - bool(self._ended) :] = [made]  # in place of that of fewer rounds
        self._ended.append((receipt, made.digest))

    def _certified(self) -> Certificate:
        plan, size = self._plan, self._size
        of_round, of_answer = self._first
        assert self._receipt is not None
        volume = len(self._certificates) + (not self._ended)
        after = {"volume": str(volume), "after": self._certificates[volume - 2].digest} if volume > 1 else {}
        told = Transcript(
            title=plan.title,
            what=plan.what,
            purpose=plan.purpose,
            who=plan.who,
            override=plan.override,
            parameters={**plan.parameters, **after},
            people=size.count if plan.size.source is None else self._schema.person.people,
            rows=(size.count, size.radius) if plan.sized else None,
            rounds=(*self._ended, (self._receipt, None)),
            transcript=self._told[of_answer:],
            caveats=self.caveats,
            incomplete=plan.size.shares(self._lacking),
            snapshot=plan.size.known.word,
        )
        guarantee = compose.in_sequence(self._guarantees[of_round:], label=plan.title)
        return of_session(told, self._schema, tuple(plan.axes), self._taken, guarantee, self._ledger)

    def _failed(self, cause: BaseException) -> str:
        """End in a fault: the charge stays, the rows go, the cause is for the protected log alone."""
        receipt, self._receipt, self._rows, self._started, self._over = self._receipt, None, None, None, True
        reference = "f-session" if receipt is None else f"f-{receipt.id.removeprefix('r-')}"
        if receipt is not None:
            note_fault(self._ledger, receipt, reference)
        if isinstance(cause, Exception) and not isinstance(cause, EngineFailure):
            protected_log(reference, type(cause).__name__)
        return reference


class OpenSession(Generic[T]):
    """Public face of every session: its answers, its charge, and a refusal to be copied."""

    __slots__ = ("_axes", "_paid")

    def __init__(self, paid: PaidSession[T], axes: Mapping[str, GridColumn]) -> None:
        self._paid, self._axes = paid, axes

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        doors(cls)

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of everything charged so far, derived from its parts."""
        return self._paid.guarantee()

    @property
    def over(self) -> bool:
        """True if nothing more is answered: the session is closed, interrupted, or has used all that it may charge."""
        return self._paid.over

    @property
    def rounds(self) -> int:
        """Number of rounds opened and charged."""
        return self._paid.opened

    @property
    def people(self) -> int:
        """The number of rows that means are over: public, or noisy and paid for."""
        return self._paid.size.count

    @property
    def incomplete(self) -> IncompleteRows | None:
        """The share of rows that lack a value in some columns and are left out, as the bought number of rows tells it.

        None where no row can be left out, or where no number of rows is bought; ``caveats`` say which.
        """
        return self._paid.lacking

    @property
    def caveats(self) -> tuple[str, ...]:
        """Sentences on rows that lack a value; the certificate has them too."""
        return self._paid.caveats

    def proof(self) -> str:
        """Every part of the guarantee with its loss, theorem and source."""
        return outline(self.guarantee)

    @property
    def transcript(self) -> tuple[tuple[str, str], ...]:
        """Questions and answers so far, in order; the certificate shows them."""
        return self._paid.told

    @property
    def certificate(self) -> Certificate:
        """Certificate of the rounds that have ended.

        It holds every answer, the proof, and the receipts, whose digests the ledger has.

        A session of more than 64 rounds has several ``certificates``; this is the last of them.

        Raises
        ------
        QuestionError
            While a round is open (``close`` ends it), and where none came to its end, as after a fault.
        """
        return self._paid.certificates[-1]

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """All of them, in order: of 64 rounds each, and of those since; each names the digest of the one before it.

        Raises
        ------
        QuestionError
            As ``certificate``.
        """
        return self._paid.certificates

    def close(self) -> None:
        """End the session; nothing is given back."""
        self._paid.close()

    def __enter__(self: A) -> A:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.transcript)} answers, {words(self.guarantee.loss)} charged>"

    def _refuse(self, *_: object) -> NoReturn:
        raise QuestionError("A session is not copied or pickled: it was paid for once, in one process.")

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refuse

    def _asked(self, question: object) -> Question:
        return checked(question, self._axes)


class Holdout(OpenSession["Conversation"]):
    """A reusable holdout that is open: ``check`` a question as often as the rounds last."""

    __slots__ = ("_made", "_threshold", "_training")

    def __init__(
        self,
        paid: PaidSession[Conversation],
        axes: Mapping[str, GridColumn],
        made: SparseVector,
        threshold: int,
        training: GridRows | None,
    ) -> None:
        super().__init__(paid, axes)
        self._made, self._threshold, self._training = made, threshold, training

    def check(self, question: Question, claimed: Number | None = None) -> Checked:
        """The training mean, or ``claimed``, where the study's rows agree; else theirs with noise, ending the round.

        Parameters
        ----------
        question : Level, Between, Product or Accuracy
            About the columns of the session.
        claimed : number, optional
            In [0, 1], for a session without public training rows: what earlier answers, a private model or the
            literature say. It must not be found in the private rows in any way that was not charged.

        Raises
        ------
        QuestionError
            For what is no question of this session, and when it is over; nothing is drawn or charged.
        BudgetError
            Where the ledger has too little for the round this question would open; nothing is drawn or charged.
        """
        asked = self._asked(question)
        name = name_of(asked)
        told: tuple[int, holdout.By]
        if claimed is not None:
            number = read(claimed, "claimed")
            told, name = (steps(number, "claimed"), "claim"), f"{name}, claimed {in_words(number)}"
        elif self._training is not None:
            told = mean_steps(asked, self._training), "training"
        else:
            raise QuestionError(
                "This holdout has no training rows: say what it is to be checked against, check(…, claimed=0.62). "
                "Nothing was drawn."
            )

        def draw(talk: Conversation, rows: GridRows, size: RowCount, entropy: SystemEntropy) -> tuple[Checked, bool]:
            found = holdout.check(talk, self._made, rows, asked, told, self._threshold, size, entropy)
            return found, found.by == "holdout"

        return self._paid.answer(name, draw)

    @property
    def sigma(self) -> float:
        """The scale of the noise on a mean that is shown; a round costs 2 / (sigma n)."""
        return float(sigma(self._made, self._paid.size))


class SparseVectorSession(OpenSession["Conversation"]):
    """A sparse vector that is open: ask which answers are ``above``, until its positives are used."""

    __slots__ = ("_made", "_of")

    def __init__(
        self, paid: PaidSession[Conversation], axes: Mapping[str, GridColumn], made: SparseVector, of: Of
    ) -> None:
        super().__init__(paid, axes)
        self._made, self._of = made, of

    def above(self, question: Question, at_least: Number) -> Found:
        """Tell if the mean (0 to 1), or the number of rows in a session that counts, is at least ``at_least``.

        Raises
        ------
        QuestionError
            For what is no question of this session, and when it is over; nothing is drawn or charged.
        """
        asked = self._asked(question)
        if self._of == "means":
            number = read(at_least, "at_least")  # once, and plain: what is told is what was compared with
            bar = steps(number, "at_least")
        elif isinstance(at_least, int) and not isinstance(at_least, bool):
            number = read(at_least, "at_least")
            bar = number.numerator
        else:
            raise PublicParameterError("a number of rows is a whole number")

        def draw(talk: Conversation, rows: GridRows, size: RowCount, entropy: SystemEntropy) -> tuple[Found, bool]:
            if self._of == "means":
                found = above_threshold.mean_above(talk, self._made, rows, asked, bar, size, entropy)
            else:
                found = above_threshold.count_above(talk, self._made, rows, asked, bar, entropy)
            return found, talk.left == 0

        return self._paid.answer(f"{name_of(asked)} >= {in_words(number)}", draw)


class Leaderboard(OpenSession["Conversation"]):
    """A leaderboard that is open: ``submit`` models until its improvements are used."""

    __slots__ = ("_best", "_made", "_step")

    def __init__(
        self, paid: PaidSession[Conversation], axes: Mapping[str, GridColumn], made: SparseVector, step: int, best: int
    ) -> None:
        super().__init__(paid, axes)
        self._made, self._step, self._best = made, step, best

    @property
    def best(self) -> float:
        """The best score shown so far."""
        return self._best / STEPS

    def submit(self, question: Question) -> Standing:
        """Tell if the score beats the best by a step; a score that does is shown, with noise.

        Raises
        ------
        QuestionError
            For what is no question of this session, and when it is over; nothing is drawn or charged.
        """
        asked = self._asked(question)

        def draw(talk: Conversation, rows: GridRows, size: RowCount, entropy: SystemEntropy) -> tuple[Standing, bool]:
            found, self._best = leaderboard.submit(talk, self._made, rows, asked, self._best, self._step, size, entropy)
            return found, talk.left == 0

        return self._paid.answer(name_of(asked), draw)


class Answers(OpenSession["list[int]"]):
    """Gaussian answers that are open: ``ask`` until their number is used."""

    __slots__ = ("_made",)

    def __init__(self, paid: PaidSession[list[int]], axes: Mapping[str, GridColumn], made: Gaussian) -> None:
        super().__init__(paid, axes)
        self._made = made

    def ask(self, question: Question) -> Estimate:
        """The mean, between 0 and 1 but for noise, with its interval.

        Raises
        ------
        QuestionError
            For what is no question of this session, and when it is over; nothing is drawn or charged.
        """
        asked = self._asked(question)

        def draw(left: list[int], rows: GridRows, size: RowCount, entropy: SystemEntropy) -> tuple[Estimate, bool]:
            left[0] -= 1
            return answer(self._made, rows, asked, size, entropy), left[0] == 0

        return self._paid.answer(name_of(asked), draw)
