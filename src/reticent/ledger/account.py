"""The account of one study: reserve, then draw, then commit.

A ``Ledger`` is a handle on a chain of entries (``events``) in a store (``store``). ``reserve`` asks the filter, writes
the charge and returns only when it is on the disk; whatever happens afterwards, it is spent. ``commit`` and ``fail``
record how the release ended and give nothing back. A crash can therefore lose an answer, never a debit:
docs/theory/ledger.md.

Adjacency, unit, person column and currency are fixed at creation. Whoever asks, through whichever process, draws on the
one budget.

A handle reads the entries since the last checkpoint once, and from then on what others have added. What must be known
of an earlier request is looked up by name. ``verify``, ``releases`` and ``export`` read everything.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import TypeVar

from reticent.errors import LedgerError, Refusal
from reticent.ledger import store
from reticent.ledger.book import Book, Witness, charge_under, line_about, problems_beside
from reticent.ledger.events import (
    SHARES,
    WITHDRAWN,
    Closed,
    Committed,
    Described,
    Entry,
    Event,
    Failed,
    Opened,
    Reserved,
    Withdrawn,
    limited,
    now,
    of_release,
    parse,
)
from reticent.ledger.export import chain_problems, exported
from reticent.ledger.receipt import Receipt, receipt_again
from reticent.ledger.replay import Balance, Line, Replay, opening_row, sealed
from reticent.ledger.store import Addition, Extract, MemoryStore, SqliteStore, Store
from reticent.ledger.terms import agree, amended, in_currency, price, withdrawn
from reticent.privacy import filters
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.filters import Currency
from reticent.privacy.loss import Loss
from reticent.privacy.serialization import digest_of

T = TypeVar("T")


class Ledger:
    """A handle on the ledger of one study. Make one with ``create``, ``open`` or ``open_or_create``.

    Copies and threads share the account. A pickled handle on a file reopens it, and refuses a file that has been put
    back to an older state since.
    """

    __slots__ = ("_book",)

    def __init__(self, kept: Store, witnesses: Sequence[Witness] = ()) -> None:
        self._book = Book(kept, witnesses)

    # opening

    @classmethod
    def create(
        cls,
        path: str | Path | None,
        *,
        title: str,
        adjacency: Adjacency,
        budget: Loss,
        person: str | None = None,
        source: str | None = None,
        approved: str | None = None,
        ends: date | None = None,
    ) -> Ledger:
        """Create a ledger, on the disk when this returns; in memory when ``path`` is None.

        Parameters
        ----------
        path : str or Path, or None
            A file that does not exist yet; None for memory.
        title, approved : str
            Title of the study and, optionally, who approved the budget.
        adjacency : Adjacency
            Neighbours of every charge; "local" has no ledger.
        budget : Loss
            The total, as epsilon, epsilon and delta, or rho. Its currency is fixed for good.
        person : str, optional
            The column that says who a person is; None where every row is one. It is fixed for good.
        source : str, optional
            Fingerprint of the table that the charges are about.
        ends : date, optional
            The last day of charges; None for no end.

        Returns
        -------
        Ledger
            With the budget unspent.

        Raises
        ------
        LedgerError
            When the file exists, or cannot be made there, or the budget is no (epsilon, delta) and no rho.
        """
        if adjacency.kind == "local":
            raise LedgerError("Local-model losses are each respondent's own; they never enter a ledger.")
        budget = in_currency(budget)
        limited(title=title, person=person, source=source, approved=approved)
        first = opening_row(Opened(uuid.uuid4().hex, title, adjacency, budget, source, approved, ends, person))
        if path is None:
            memory = MemoryStore()
            memory.append(lambda _: Addition((first,)))
            return cls(memory)
        place = store.at(path)
        if store.found(place) or not store.build(place, first):
            raise LedgerError(f"There is already a ledger at {place.name}. Open it: a second would count from zero.")
        return cls(place)

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """The ledger at ``path``. It is checked when it is used, from its last checkpoint on; ``verify`` checks all.

        Raises
        ------
        LedgerError
            When there is none, or the file is unreadable, damaged, not a ledger, or of another format.
        """
        place = store.at(path)
        with place.reading() as view:
            view.head()
        return cls(place)

    @classmethod
    def open_or_create(
        cls,
        path: str | Path | None,
        *,
        title: str,
        adjacency: Adjacency,
        budget: Loss,
        person: str | None = None,
        source: str | None = None,
        approved: str | None = None,
        ends: date | None = None,
    ) -> Ledger:
        """Open the ledger at ``path`` if it was made on these terms; create one if there is none.

        Parameters
        ----------
        path : str or Path, or None
            The ledger's file; None for a new one in memory.
        title, approved : str
            Title of the study, and who approved the budget: of a new ledger alone.
        adjacency : Adjacency
            Neighbours of every charge.
        budget : Loss
            The total, as epsilon, epsilon and delta, or rho.
        person : str, optional
            The column that says who a person is; None where every row is one.
        source : str, optional
            Fingerprint of the table that the charges are about.
        ends : date, optional
            The last day of charges; None for no end.

        Returns
        -------
        Ledger
            At its present total.

        Raises
        ------
        LedgerError
            When the ledger there has another adjacency, person column, currency, budget, last day or source.
        """
        if path is None or not store.found(store.at(path)):
            try:
                return cls.create(
                    path,
                    title=title,
                    adjacency=adjacency,
                    budget=budget,
                    person=person,
                    source=source,
                    approved=approved,
                    ends=ends,
                )
            except LedgerError:
                if path is None or not store.found(store.at(path)):
                    raise  # else another process made it in between: open that one
        return cls.open(path).on_terms(adjacency=adjacency, budget=budget, person=person, source=source, ends=ends)

    def on_terms(
        self, *, adjacency: Adjacency, budget: Loss, person: str | None, source: str | None, ends: date | None
    ) -> Ledger:
        """Check the terms of this ledger, and record other declared columns of its source.

        Parameters
        ----------
        adjacency : Adjacency
            Neighbours of every charge.
        budget : Loss
            The total, in the ledger's currency.
        person : str or None
            The column that says who a person is; None where every row is one.
        source : str or None
            Fingerprint of the table; None is not compared.
        ends : date or None
            The last day of charges; None for no end.

        Returns
        -------
        Ledger
            This ledger.

        Raises
        ------
        LedgerError
            When it has another adjacency, person column, currency, budget, last day or source.
        """
        self.agree(adjacency=adjacency, budget=budget, person=person, source=source, ends=ends)
        if source is not None:
            self.describe(source)
        return self

    def agree(
        self, *, adjacency: Adjacency, budget: Loss, person: str | None, source: str | None, ends: date | None
    ) -> None:
        """Refuse other terms than those of this ledger, as ``on_terms`` does; nothing is recorded.

        Parameters
        ----------
        adjacency : Adjacency
            Neighbours of every charge.
        budget : Loss
            The total, in the ledger's currency.
        person : str or None
            The column that says who a person is.
        source : str or None
            Fingerprint of the table; None is not compared.
        ends : date or None
            The last day of charges; None for no end.

        Raises
        ------
        LedgerError
            When one of them is another.
        """
        self._read(lambda replay: agree(replay, self.name, adjacency, person, budget, source, ends))

    def describe(self, source: str) -> None:
        """Record the source under other declared columns; nothing where they are those it has."""
        if self.known.source != source:
            self._book.write(lambda replay, _: None if replay.source == source else Described(source))

    # charging

    def reserve(
        self,
        charge: Loss,
        *,
        adjacency: Adjacency,
        what: str,
        who: str = "curator",
        purpose: str = "",
        key: str | None = None,
        request_digest: str | None = None,
    ) -> Receipt:
        """Charge, durably, before anything is drawn.

        Parameters
        ----------
        charge : Loss
            The whole loss of the release, which enters a zCDP ledger as ``filters`` says.
        adjacency : Adjacency
            What the loss was proved for; must be the ledger's.
        what, who, purpose : str
            For the record. No values of the data.
        key, request_digest : str, optional
            An idempotency key of ``who`` and the digest of the request it stands for. The same pair again returns the
            first receipt, marked ``replayed``, and charges nothing.

        Returns
        -------
        Receipt
            When this returns, the charge is on the disk.

        Raises
        ------
        BudgetError
            What is left does not cover the charge, or the approval has ended. Nothing was charged.
        LedgerError
            Another adjacency or currency, a key used for another request, or a file that cannot be used.
        """
        limited(what=what, who=who, purpose=purpose, key=key, request_digest=request_digest)
        receipts: list[Receipt] = []

        def decide(replay: Replay, view: Extract) -> Event | None:
            earlier = None if key is None else charge_under(replay, view, who, key)
            if earlier is not None:
                receipts.append(receipt_again(earlier, request_digest))
                return None
            cost = price(replay, charge, adjacency)
            budget, spent = replay.totals
            total = filters.add(spent, cost, budget)
            return Reserved(replay.next_id(), cost, total, what, who, purpose, key, request_digest)

        entry = self._book.write(decide)
        if entry is None:
            return receipts[0]
        assert isinstance(entry.event, Reserved)
        return Receipt(entry.event.id, entry.event.charge, entry.digest, entry.when)

    def check(self, charge: Loss, *, adjacency: Adjacency) -> None:
        """Raise what ``reserve`` would raise now; charge nothing."""
        try:
            self._book.recall(lambda replay: price(replay, charge, adjacency))
        except Refusal:  # as far as this handle has read; meanwhile the budget may have been amended
            self._read(lambda replay: price(replay, charge, adjacency))

    def asked_before(self, key: str, request_digest: str, *, who: str = "curator") -> Line | None:
        """The request that ``who`` made under this key, if there is one; nothing is charged.

        Parameters
        ----------
        key, request_digest : str
            As ``reserve`` takes them.
        who : str
            Who asks; by default the curator.

        Returns
        -------
        Line or None

        Raises
        ------
        LedgerError
            The key was used for another request.
        """

        def pick(replay: Replay, view: Extract) -> Line | None:
            earlier = charge_under(replay, view, who, key)
            return None if earlier is None else line_about(replay, view, receipt_again(earlier, request_digest).id)

        return self._book.look(pick)

    def commit(self, receipt: Receipt, *, digest: str, shares: str | None = None, answer: str | None = None) -> None:
        """Record the digest of the certificate that left under ``receipt``: once, before the answer is shown.

        Parameters
        ----------
        receipt : Receipt
            A reservation of this ledger that is not settled yet.
        digest : str
            SHA-256 of the certificate, in hexadecimal digits.
        shares : str, optional
            Released shares of incomplete rows, as JSON text, which a later release may show again.
        answer : str, optional
            The answer as text, to be kept for whoever asks again under the same key; its digest enters the chain.

        Raises
        ------
        LedgerError
            When the receipt is another ledger's, is settled already, or was only replayed by an idempotency key.
        """
        limited(digest=digest, shares=shares)
        if receipt.replayed:
            raise LedgerError(
                f"{receipt.id} was charged once, by an earlier request with the same key. Hand out its stored answer; "
                "a new answer needs a new key and a new charge."
            )
        kept = None if answer is None else digest_of(answer)
        self._settle(receipt, Committed(receipt.id, digest, shares, kept), answer)

    def fail(self, receipt: Receipt, reference: str) -> None:
        """Record that the release ended in a fault. The charge stays."""
        limited(reference=reference)
        self._settle(receipt, Failed(receipt.id, reference))

    def answer(self, release: str) -> str | None:
        """The text that is stored as the answer of a release; None where none is.

        Raises
        ------
        LedgerError
            When the text is gone, or is not the one whose digest the chain has.
        """

        def pick(replay: Replay, view: Extract) -> str | None:
            line = line_about(replay, view, release)
            if line is None or line.answer is None:
                return None
            found = view.answer(of_release(release))
            if found is None or digest_of(found) != line.answer:
                raise LedgerError(
                    f"The stored answer of {release} is gone or was changed. Its charge stands. Run verify. "
                    "Nothing more was charged."
                )
            return found

        return self._book.look(pick)

    def note_refusal(self, what: str, *, who: str = "curator", code: str) -> None:
        """Note a request that was declined before anything was read, in a log beside the ledger; it charges nothing.

        The chain does not grow by it. Of many refusals in one minute only the first are kept.

        Parameters
        ----------
        what : str
            The request, in words.
        who : str
            Who asked; by default the curator.
        code : str
            Exit code of the refusal, such as "5".
        """
        limited(what=what, who=who, code=code)
        self._book.refusals.note(now(), who, what, code)

    def withdraw(self, release: str, *, reason: str, who: str = "curator") -> None:
        """Record that a release no longer stands. What it was charged stays spent, and its entries stay.

        Parameters
        ----------
        release : str
            The id of a committed release, such as "r-0007".
        reason, who : str
            Why, and who says so. No values of the data.

        Raises
        ------
        LedgerError
            When nothing left under that id, or it was withdrawn before.
        """
        limited(reason=reason, who=who)
        self._book.write(lambda replay, view: withdrawn(line_about(replay, view, release), release, reason, who))

    def amend(self, budget: Loss, *, reason: str, approved: str | None = None, ends: date | None = None) -> None:
        """Change the budget, as an entry with its reason.

        Parameters
        ----------
        budget : Loss
            The new total, in the currency of the ledger; at least what is spent.
        reason, approved : str
            Why it changes and, optionally, who approved it.
        ends : date, optional
            The new last day of charges; None keeps the present one.

        Raises
        ------
        LedgerError
            When the currency differs, or the new budget is below what is spent. A zCDP budget may gain a delta.
        """
        limited(reason=reason, approved=approved)
        budget = in_currency(budget)
        self._book.write(lambda replay, _: amended(replay, budget, reason, approved, ends))

    def close(self, reason: str) -> None:
        """Accept no charge from now on. Runs that hold a receipt may still end."""
        limited(reason=reason)

        def decide(replay: Replay, _: Extract) -> Event | None:
            return None if replay.closed is not None else Closed(reason)

        self._book.write(decide)

    def migrate(self) -> tuple[int, int]:
        """Bring the file to today's form, with a copy beside it: its form before and the form it has now."""
        before = self.form
        self._book.migrate()
        return before, self.form

    # reading

    @property
    def form(self) -> int:
        """The form of the file; in memory, and of a file that this version made, ``store.FORMAT``."""
        return self._book.kept.form() if isinstance(self._book.kept, SqliteStore) else store.FORMAT

    @property
    def path(self) -> Path | None:
        """The file, absolute; None in memory."""
        return self._book.kept.file if isinstance(self._book.kept, SqliteStore) else None

    @property
    def name(self) -> str:
        """The path as it was typed."""
        return self._book.kept.name

    @property
    def durable(self) -> bool:
        """True if a charge outlives this process."""
        return self._book.kept.durable

    def standing(self) -> Balance:
        """The balance of this moment: all that is fixed, spent and left, and the head."""
        return self._read(lambda replay: replay.standing)

    @property
    def known(self) -> Balance:
        """The standing that this handle saw last, such as that of its latest charge; the store is not asked again."""
        return self._book.recall(lambda replay: replay.standing)

    @property
    def title(self) -> str:
        return self._read(lambda replay: replay.opening.title)

    @property
    def identity(self) -> str:
        """A random name given at creation; a file put in this one's place has another."""
        return self._read(lambda replay: replay.opening.identity)

    @property
    def adjacency(self) -> Adjacency:
        return self._read(lambda replay: replay.opening.adjacency)

    @property
    def person(self) -> str | None:
        """The column that says who a person is; None where every row is one."""
        return self._read(lambda replay: replay.opening.person)

    @property
    def currency(self) -> Currency:
        return filters.currency(self.budget)

    @property
    def budget(self) -> Loss:
        return self._read(lambda replay: replay.totals[0])

    @property
    def approved(self) -> str | None:
        return self._read(lambda replay: replay.opening.approved)

    @property
    def ends(self) -> date | None:
        """The last day on which a release may be charged."""
        return self._read(lambda replay: replay.ends)

    @property
    def source(self) -> str | None:
        """Fingerprint of the source the budget belongs to."""
        return self._read(lambda replay: replay.source)

    @property
    def closed(self) -> bool:
        return self._read(lambda replay: replay.closed is not None)

    @property
    def head(self) -> str:
        """Digest of the last entry. Keep it elsewhere: ``verify(head=...)`` then notices an older copy of the file."""
        return self._read(lambda replay: replay.head)

    def holds(self, head: str) -> bool:
        """Tell if ``head`` is in the chain. False for a head that this ledger once had means: an older copy.

        A head from before the last checkpoint is believed after a whole replay alone.
        """
        return self._book.look(lambda replay, view: head in replay.seen or head in self._book.whole(replay, view).seen)

    def spent(self) -> Loss:
        """The sum of every reservation, whatever became of it."""
        return self._read(lambda replay: replay.totals[1])

    def left(self) -> Loss:
        """Budget minus spent; any charge within it fits."""
        return self._read(lambda replay: filters.left(*replay.totals))

    def releases(self) -> tuple[Line, ...]:
        """One line per request, in order. ``reserved`` is running or lost in a crash; it counts as spent either way."""
        return self._book.look(lambda replay, view: tuple(self._book.whole(replay, view).lines.values()))

    def refusals(self) -> tuple[Line, ...]:
        """The latest requests that were declined and charged nothing, from the log beside the ledger."""
        return self._book.refusals.lines()

    def told(self) -> tuple[tuple[str, str], ...]:
        """The shares that releases told and did not withdraw, each with the release."""

        def pick(replay: Replay, view: Extract) -> tuple[tuple[str, str], ...]:
            if replay.whole:
                lines = list(replay.lines.values())
                return tuple((line.id, line.shares) for line in lines if line.shares and line.withdrawn is None)
            events = [sealed(row).event for row in view.named(SHARES)]
            ended = [sealed(row).event for row in view.named(WITHDRAWN)]
            gone = {event.id for event in ended if isinstance(event, Withdrawn)}
            return tuple(
                (event.id, event.shares)
                for event in events
                if isinstance(event, Committed) and event.shares and event.id not in gone
            )

        return self._book.look(pick)

    def entries(self, *, after: int = 0) -> tuple[Entry, ...]:
        """Every entry, in order; those after the one numbered ``after``."""
        return self._book.seen(lambda view: tuple(parse(row.body) for row in view.rows(after + 1)))

    def verify(self, *, head: str | None = None) -> tuple[str, ...]:
        """Problems of the ledger, none if it holds: digests, order, totals, checkpoints, names, answers, its file.

        Every entry is read and replayed from the first on; no checkpoint is relied on.

        Parameters
        ----------
        head : str, optional
            A head exported earlier. If it is no longer in the chain, the file is an older copy or another ledger.
        """
        try:
            rows, more = self._book.seen(lambda view: (view.rows(1), problems_beside(view)))
            damage = self._book.kept.damage() if isinstance(self._book.kept, SqliteStore) else None
        except LedgerError as problem:
            return (str(problem),)
        return (*((damage,) if damage else ()), *chain_problems(rows, head), *more)

    def export(self) -> dict[str, object]:
        """Everything, as plain JSON values: for a registry, an auditor, or a place the operator cannot reach."""
        return exported(self._book.seen(lambda view: view.rows(1)), self.name)

    # copies

    def __repr__(self) -> str:
        return f"<Ledger {self.name}>"

    def __str__(self) -> str:
        return f"{self.name}: {self.spent()} spent, {self.left()} left"

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        """The same account: a copy of a budget would be a second budget."""
        return Ledger(self._book.kept, self._book.witnesses) if self.durable else self

    def __reduce__(self) -> tuple[Callable[..., Ledger], tuple[str, int, str, tuple[Witness, ...]]]:
        if self.path is None:
            raise LedgerError(
                "A ledger in memory cannot be pickled: the copy would hold the budget a second time. Give it a file."
            )
        number, head = self._read(lambda replay: (replay.number, replay.head))
        return _reopened, (str(self.path), number, head, self._book.witnesses)

    # within

    def tell(self, witness: Witness) -> None:
        """Tell ``witness`` of every entry that this handle adds from here on, before the call that adds it returns."""
        if witness not in self._book.witnesses:
            self._book.witnesses = (*self._book.witnesses, witness)

    def still(self) -> AbstractContextManager[None]:
        """One moment: all that is read of the ledger within is of it, over one connection."""
        return self._book.still()

    def _read(self, pick: Callable[[Replay], T]) -> T:
        """Value that ``pick`` takes from the totals up to the last entry in the store."""
        return self._book.look(lambda replay, _: pick(replay))

    def _settle(self, receipt: Receipt, event: Committed | Failed, answer: str | None = None) -> None:
        def decide(replay: Replay, view: Extract) -> Event:
            found = line_about(replay, view, receipt.id)
            if found is None or found.entry != receipt.entry:
                raise LedgerError(f"{receipt.id} was not issued by this ledger.")
            if found.state != "reserved":
                raise LedgerError(f"{receipt.id} is {found.state} already.")
            return event

        self._book.write(decide, answer)


def _reopened(path: str, number: int, head: str, witnesses: tuple[Witness, ...] = ()) -> Ledger:
    """A pickled handle: the same file, which must still hold the entry that was last when it was pickled."""
    ledger = Ledger.open(path)
    rows = ledger._book.seen(lambda view: view.rows(number))
    if not rows or (rows[0].number, rows[0].digest) != (number, head):
        raise LedgerError("The ledger of this handle is not the file it was: entries that were there are gone.")
    return Ledger(ledger._book.kept, witnesses)
