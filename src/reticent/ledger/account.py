"""The account of one study: reserve, then draw, then commit.

A ``Ledger`` is a handle on a chain of entries (``events``) in a store (``store``). ``reserve`` asks the filter, writes
the charge and returns only when it is on the disk; whatever happens afterwards, it is spent. ``commit`` and ``fail``
record how the release ended and give nothing back. A crash can therefore lose an answer, never a debit:
docs/theory/ledger.md.

Adjacency, unit, person column and currency are fixed at creation. Whoever asks, through whichever process, draws on the
one budget.

What a handle tells without a charge is in ``reader``. What must be known of an earlier request is looked up by name.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TypeVar

from reticent.errors import LedgerError, Refusal
from reticent.ledger.book import Witness, charge_under, line_about
from reticent.ledger.events import (
    Closed,
    Committed,
    Described,
    Event,
    Failed,
    Opened,
    Receipt,
    Reserved,
    limited,
    now,
    receipt_again,
)
from reticent.ledger.reader import LedgerReader
from reticent.ledger.replay import Replay, opening_row, price
from reticent.ledger.store import Extract, MemoryStore, Store
from reticent.ledger.terms import agree, amended, in_currency, withdrawn
from reticent.privacy import filters
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import Loss
from reticent.privacy.serialization import digest_of

T = TypeVar("T")


class Ledger(LedgerReader):
    """A handle on the ledger of one study. Make one with ``create``, ``open`` or ``open_or_create``.

    Copies and threads share the account. A pickled handle on a file reopens it, and refuses a file that has been put
    back to an older state since.
    """

    __slots__ = ()

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
            A file that does not exist yet, or ``postgresql://host/database?schema=name``; None for memory.
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
        kept = store_at(path)
        if kept.found():
            raise _there(kept)
        made = cls(kept)
        if (earlier := made._book.kept.witness) is not None and earlier.kept() is not None:
            raise LedgerError(
                f"{kept.name}, which was used from this machine, is gone. What was released under it is spent all the "
                f"same. Put its newest copy back; delete {earlier.file} only if nothing was ever released under it."
            )
        if not kept.build(first):
            raise _there(kept)
        return made

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """The ledger at ``path``. It is checked when it is used, from its last checkpoint on; ``verify`` checks all.

        Raises
        ------
        LedgerError
            When there is none, or the file is unreadable, damaged, not a ledger, or of another format.
        """
        kept = store_at(path)
        with kept.reading() as view:
            view.head()
        return cls(kept)

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
            The ledger's file or URL; None for a new one in memory.
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
        if path is None or not store_at(path).found():
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
                if path is None or not store_at(path).found():
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

    # copies

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        """The same account: a copy of a budget would be a second budget."""
        return Ledger(self._book.kept, self._book.witnesses) if self.durable else self

    def __reduce__(self) -> tuple[Callable[..., Ledger], tuple[str, int, str, tuple[Witness, ...]]]:
        place = self._book.kept.place
        if place is None:
            raise LedgerError(
                "A ledger in memory cannot be pickled: the copy would hold the budget a second time. Give it a file."
            )
        number, head = self._read(lambda replay: (replay.number, replay.head))
        return _reopened, (place, number, head, self._book.witnesses)

    # within

    def tell(self, witness: Witness) -> None:
        """Tell ``witness`` of every entry that this handle adds from here on, before the call that adds it returns."""
        if witness not in self._book.witnesses:
            self._book.witnesses = (*self._book.witnesses, witness)

    def forget_head(self) -> None:
        """Drop the head that this machine keeps of a ledger on a server: what is there now counts from here on."""
        if self._book.kept.witness is not None:
            self._book.kept.witness.forget()

    def _settle(self, receipt: Receipt, event: Committed | Failed, answer: str | None = None) -> None:
        def decide(replay: Replay, view: Extract) -> Event:
            found = line_about(replay, view, receipt.id)
            if found is None or found.entry != receipt.entry:
                raise LedgerError(f"{receipt.id} was not issued by this ledger.")
            if found.state != "reserved":
                raise LedgerError(f"{receipt.id} is {found.state} already.")
            return event

        self._book.write(decide, answer)


def note_fault(ledger: Ledger, receipt: Receipt, reference: str) -> None:
    """Note the fault; if even that cannot be written, the reservation alone keeps the charge.

    Parameters
    ----------
    ledger : Ledger
    receipt : Receipt
        Of the charge that the fault came after.
    reference : str
        Name of the fault that the caller is told.
    """
    try:
        ledger.fail(receipt, reference)
    except Exception:  # the charge is already durable, and the fault that follows is what the caller must see
        return


def protected_log(reference: str, text: str) -> None:
    """Write to the curator's protected log: silent unless a handler was put on this logger by name."""
    logger = logging.getLogger("reticent.protected")
    if logger.handlers:
        logger.error("%s %s", reference, text)


def _there(kept: Store) -> LedgerError:
    return LedgerError(f"There is already a ledger at {kept.name}. Open it: a second would count from zero.")


def _reopened(path: str, number: int, head: str, witnesses: tuple[Witness, ...] = ()) -> Ledger:
    """A pickled handle: the same file, which must still hold the entry that was last when it was pickled."""
    ledger = Ledger.open(path)
    rows = ledger._book.seen(lambda view: view.rows(number))
    if not rows or (rows[0].number, rows[0].digest) != (number, head):
        raise LedgerError("The ledger of this handle is not the file it was: entries that were there are gone.")
    return Ledger(ledger._book.kept, witnesses)


# --- places of ledgers: a file, tables on a PostgreSQL server, or memory ----------------------------------------------


def _in_database(place: str | Path) -> bool:
    from reticent.database_url import is_url

    return is_url(place)


def store_at(place: str | Path | None) -> Store:
    """The store that a place names, kept absolute from now on; nothing is opened yet.

    Parameters
    ----------
    place : str, Path or None
        A file; ``postgresql://host/database?schema=name``; None for a new one in memory.

    Raises
    ------
    SpecError
        A URL that holds a password, or is none.
    """
    if place is None:
        return MemoryStore()
    if _in_database(place):
        from reticent.ledger.postgres_store import PostgresStore

        return PostgresStore.at(str(place))
    from reticent.ledger.sqlite_store import SqliteStore

    return SqliteStore(str(place), Path(place).expanduser().absolute())


def ledger_at(place: str | Path) -> bool:
    """Tell if there is something at a place that a ledger would be opened from.

    Raises
    ------
    LedgerError
        The server cannot be reached, so nobody knows.
    """
    return store_at(place).found() if _in_database(place) else Path(place).expanduser().exists()


def may_make_ledger(url: str) -> bool:
    """Tell if the role of a URL may make the ledger that it names.

    Raises
    ------
    LedgerError
        The server cannot be reached, so nobody knows.
    """
    from reticent.ledger.postgres_store import PostgresStore

    return PostgresStore.at(url).may_build()
