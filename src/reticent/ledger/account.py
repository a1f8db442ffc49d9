"""The account of one study: reserve, then draw, then commit.

A ``Ledger`` is a handle on a chain of entries (``events``) in a store (``store``). ``reserve`` asks the filter, writes
the charge and returns only when it is on the disk; whatever happens afterwards, it is spent. ``commit`` and ``fail``
record how the release ended and give nothing back. A crash can therefore lose an answer, never a debit:
docs/theory/ledger.md.

Adjacency, unit, person column and currency are fixed at creation. Whoever asks, through whichever process, draws on the
one budget.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TypeVar

from reticent.errors import LedgerError
from reticent.ledger import store
from reticent.ledger.events import (
    Closed,
    Committed,
    Described,
    Entry,
    Event,
    Failed,
    Migrated,
    Opened,
    Refused,
    Reserved,
    limited,
    now,
    parse,
)
from reticent.ledger.export import chain_problems, exported
from reticent.ledger.receipt import Receipt, receipt_again
from reticent.ledger.replay import Line, Replay, Row, opening_row
from reticent.ledger.store import EarlierForm, MemoryStore, SqliteStore, Store, SyncError
from reticent.ledger.terms import agree, amended, in_currency, price, withdrawn
from reticent.privacy import filters
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.filters import Currency
from reticent.privacy.loss import Loss

T = TypeVar("T")


class Ledger:
    """A handle on the ledger of one study. Make one with ``create``, ``open`` or ``open_or_create``.

    Copies and threads share the account. A pickled handle on a file reopens it, and refuses a file that has been put
    back to an older state since.
    """

    __slots__ = ("_lock", "_process", "_replay", "_stopped", "_store")

    def __init__(self, kept: Store) -> None:
        self._store = kept
        self._start()

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
            memory.append(0, lambda _: first)
            return cls(memory)
        place = store.at(path)
        if store.found(place) or not store.build(place, first):
            raise LedgerError(f"There is already a ledger at {place.name}. Open it: a second would count from zero.")
        return cls(place)

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """The ledger at ``path``. What it holds is checked when it is used; ``verify`` tells all.

        Raises
        ------
        LedgerError
            When there is none, or the file is unreadable, damaged, not a ledger, or of another format.
        """
        place = store.at(path)
        place.rows(1)
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
        self._read(lambda replay: agree(replay, self.name, adjacency, person, budget, source, ends))
        if source is not None:
            self._write(lambda replay: None if replay.source == source else Described(source))
        return self

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

        def decide(replay: Replay) -> Event | None:
            earlier = replay.keys.get((who, key)) if key is not None else None
            if earlier is not None:
                receipts.append(receipt_again(earlier, request_digest, replay))
                return None
            cost = price(replay, charge, adjacency)
            budget, spent = replay.totals
            total = filters.add(spent, cost, budget)
            return Reserved(replay.next_id(), cost, total, what, who, purpose, key, request_digest)

        entry = self._write(decide)
        if entry is None:
            return receipts[0]
        assert isinstance(entry.event, Reserved)
        return Receipt(entry.event.id, entry.event.charge, entry.digest, entry.when)

    def check(self, charge: Loss, *, adjacency: Adjacency) -> None:
        """Raise what ``reserve`` would raise now; charge nothing."""
        self._read(lambda replay: price(replay, charge, adjacency))

    def commit(self, receipt: Receipt, *, digest: str, shares: str | None = None) -> None:
        """Record the digest of the certificate that left under ``receipt``: once, before the answer is shown.

        Parameters
        ----------
        receipt : Receipt
            A reservation of this ledger that is not settled yet.
        digest : str
            SHA-256 of the certificate, in hexadecimal digits.
        shares : str, optional
            Released shares of incomplete rows, as JSON text, which a later release may show again.

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
        self._settle(receipt, Committed(receipt.id, digest, shares))

    def fail(self, receipt: Receipt, reference: str) -> None:
        """Record that the release ended in a fault. The charge stays."""
        limited(reference=reference)
        self._settle(receipt, Failed(receipt.id, reference))

    def note_refusal(self, what: str, *, who: str = "curator", code: str) -> str:
        """Record a request that was declined before anything was read; it charges nothing.

        Parameters
        ----------
        what : str
            The request, in words.
        who : str
            Who asked; by default the curator.
        code : str
            Exit code of the refusal, such as "5".

        Returns
        -------
        str
            The entry's id.
        """
        limited(what=what, who=who, code=code)
        entry = self._write(lambda replay: Refused(replay.next_id(), what, who, code))
        assert entry is not None
        assert isinstance(entry.event, Refused)
        return entry.event.id

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
        self._write(lambda replay: withdrawn(replay, release, reason, who))

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
        self._write(lambda replay: amended(replay, budget, reason, approved, ends))

    def close(self, reason: str) -> None:
        """Accept no charge from now on. Runs that hold a receipt may still end."""
        limited(reason=reason)

        def decide(replay: Replay) -> Event | None:
            return None if replay.closed is not None else Closed(reason)

        self._write(decide)

    def migrate(self) -> tuple[int, int]:
        """Bring the file to today's form, with a copy beside it: its form before and the form it has now."""
        before = self.form
        with self._alone():
            self._store.migrate(self._sealed)
        return before, self.form

    # reading

    @property
    def form(self) -> int:
        """The form of the file; in memory, and of a file that this version made, ``store.FORMAT``."""
        return self._store.form() if isinstance(self._store, SqliteStore) else store.FORMAT

    @property
    def path(self) -> Path | None:
        """The file, absolute; None in memory."""
        return self._store.file if isinstance(self._store, SqliteStore) else None

    @property
    def name(self) -> str:
        """The path as it was typed."""
        return self._store.name

    @property
    def durable(self) -> bool:
        """True if a charge outlives this process."""
        return self._store.durable

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
        """Tell if ``head`` is in the chain. False for a head that this ledger once had means: an older copy."""
        return any(row.digest == head for row in self._store.rows(1))

    def spent(self) -> Loss:
        """The sum of every reservation, whatever became of it."""
        return self._read(lambda replay: replay.totals[1])

    def left(self) -> Loss:
        """Budget minus spent; any charge within it fits."""
        return self._read(lambda replay: filters.left(*replay.totals))

    def releases(self) -> tuple[Line, ...]:
        """One line per request, in order. ``reserved`` is running or lost in a crash; it counts as spent either way."""
        return self._read(lambda replay: tuple(replay.lines.values()))

    def entries(self) -> tuple[Entry, ...]:
        """Every entry, in order."""
        return tuple(parse(row.body) for row in self._store.rows(1))

    def verify(self, *, head: str | None = None) -> tuple[str, ...]:
        """Problems of the chain, none if it holds: digests, order, totals, orphans, the file itself.

        Parameters
        ----------
        head : str, optional
            A head exported earlier. If it is no longer in the chain, the file is an older copy or another ledger.
        """
        try:
            rows = self._store.rows(1)
            damage = self._store.damage() if isinstance(self._store, SqliteStore) else None
        except LedgerError as problem:
            return (str(problem),)
        return (*((damage,) if damage else ()), *chain_problems(rows, head))

    def export(self) -> dict[str, object]:
        """Everything, as plain JSON values: for a registry, an auditor, or a place the operator cannot reach."""
        return exported(self._store.rows(1), self.name)

    # copies

    def __repr__(self) -> str:
        return f"<Ledger {self.name}>"

    def __str__(self) -> str:
        return f"{self.name}: {self.spent()} spent, {self.left()} left"

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        """The same account: a copy of a budget would be a second budget."""
        return Ledger(self._store) if self.durable else self

    def __reduce__(self) -> tuple[Callable[[str, int, str], Ledger], tuple[str, int, str]]:
        if self.path is None:
            raise LedgerError(
                "A ledger in memory cannot be pickled: the copy would hold the budget a second time. Give it a file."
            )
        number, head = self._read(lambda replay: (replay.number, replay.head))
        return _reopened, (str(self.path), number, head)

    # within

    def _start(self) -> None:
        self._replay = Replay()
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._stopped = False

    def _read(self, pick: Callable[[Replay], T]) -> T:
        """Value that ``pick`` takes from the totals up to the last entry in the store."""
        with self._alone():
            self._catch_up(self._store.rows(max(self._replay.number, 1)))
            return pick(self._replay)

    def _write(self, choose: Callable[[Replay], Event | None]) -> Entry | None:
        """Add the event ``choose`` returns, decided while no one else can write; None when it returns None."""
        written: list[tuple[Row, Entry]] = []

        def decide(rows: Sequence[Row]) -> Row | None:
            self._catch_up(rows)
            event = choose(self._replay)
            if event is None:
                return None
            made = Entry(self._replay.number + 1, now(), self._replay.head, event)
            entry = parse(made.body)  # what could not be read back would make the file useless: it is not written
            row = Row(entry.number, entry.body, entry.digest)
            written.append((row, entry))
            return row

        with self._alone():
            if self._stopped:
                raise LedgerError(f"{self.name} stopped after a disk error. Check the disk, then start again.")
            try:
                self._append(decide)
            except SyncError:
                self._stopped = True
                raise
            if not written:
                return None
            row, entry = written[0]
            self._replay.feed(row, entry)
            return entry

    def _append(self, decide: Callable[[Sequence[Row]], Row | None]) -> None:
        """Add a row to the store, migrated first where it has an earlier form."""
        try:
            self._store.append(max(self._replay.number, 1), decide)
        except EarlierForm:
            self._store.migrate(self._sealed)
            self._store.append(max(self._replay.number, 1), decide)

    def _sealed(self, rows: Sequence[Row], old: int, copy: str) -> Row:
        """The entry of a migration, after the last of all ``rows``, which must add up."""
        self._catch_up(rows[max(self._replay.number - 1, 0) :])
        moved = Migrated(str(old), str(store.FORMAT), copy)
        entry = Entry(self._replay.number + 1, now(), self._replay.head, moved)
        return Row(entry.number, entry.body, entry.digest)

    def _catch_up(self, rows: Sequence[Row]) -> None:
        """Feed the rows after the last known one, having seen that one unchanged."""
        known = self._replay
        if known.number > 0 and (not rows or (rows[0].number, rows[0].digest) != (known.number, known.head)):
            raise LedgerError(
                f"{self.name} is not the file it was: entries that were there are gone. An older copy was put in its "
                "place. Put the newest one back; releases made since the copy are spent all the same."
            )
        try:
            for row in rows[1 if known.number > 0 else 0 :]:
                known.feed(row)
            known.opening  # noqa: B018
        except LedgerError as problem:
            raise LedgerError(f"{self.name} is damaged: {problem}. Nothing was charged. Run verify.") from None

    def _alone(self) -> threading.Lock:
        """Lock of this handle; a forked child begins afresh, since the parent's lock may have been held."""
        if os.getpid() != self._process:
            self._start()
        return self._lock

    def _settle(self, receipt: Receipt, event: Committed | Failed) -> None:
        def decide(replay: Replay) -> Event:
            line = replay.lines.get(receipt.id)
            if line is None or line.entry != receipt.entry:
                raise LedgerError(f"{receipt.id} was not issued by this ledger.")
            if line.state != "reserved":
                raise LedgerError(f"{receipt.id} is {line.state} already.")
            return event

        self._write(decide)


def _reopened(path: str, number: int, head: str) -> Ledger:
    """A pickled handle: the same file, which must still hold the entry that was last when it was pickled."""
    ledger = Ledger.open(path)
    rows = ledger._store.rows(number)
    if not rows or (rows[0].number, rows[0].digest) != (number, head):
        raise LedgerError("The ledger of this handle is not the file it was: entries that were there are gone.")
    return ledger
