"""Totals of a ledger's entries, and every way in which entries can fail to fit together.

``Replay`` reads entries in order and keeps the totals. It is strict: the number, the link to the entry before, the
digest, the place of the event and the running total must all be right. Otherwise ``LedgerError`` names the wrong entry.
The same code serves a running ledger, ``verify`` and an exported file, so what is checked later is what was enforced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal, TypeAlias, assert_never

from reticent.errors import LedgerError, PublicParameterError
from reticent.ledger.events import (
    GENESIS,
    Amended,
    Closed,
    Committed,
    Described,
    Entry,
    Failed,
    Migrated,
    Opened,
    Refused,
    Reserved,
    Withdrawn,
    now,
    parse,
)
from reticent.outcome import restore
from reticent.privacy import filters
from reticent.privacy.loss import Loss
from reticent.privacy.serialization import digest_of

State: TypeAlias = Literal["reserved", "committed", "failed", "refused"]


@dataclass(frozen=True, slots=True)
class Row:
    """An entry as a store keeps it: the text and, beside it, the digest it had when written."""

    number: int
    body: str
    digest: str


def opening_row(opened: Opened) -> Row:
    """The first row of a ledger."""
    entry = Entry(1, now(), GENESIS, opened)
    return Row(1, entry.body, entry.digest)


@dataclass(frozen=True, slots=True)
class Line:
    """One request in a ledger, as a table of releases shows it.

    ``state`` is ``reserved`` (running, or lost in a crash: it counts as spent either way), ``committed``, ``failed``
    (spent) or ``refused`` (``charge`` is None: nothing was charged). ``digest`` is the certificate's, once committed;
    ``note`` the fault's reference or the code of the refusal. ``shares`` are released numbers to be shown again.
    ``withdrawn`` is the time at which a committed release was withdrawn, ``why`` the reason.
    """

    id: str
    when: str
    who: str
    what: str
    purpose: str
    charge: Loss | None
    state: State
    digest: str | None = None
    note: str = ""
    entry: str = ""
    shares: str | None = None
    withdrawn: str | None = None
    why: str = ""

    def __setstate__(self, state: Sequence[object]) -> None:
        restore(self, state)


@dataclass(slots=True)
class Replay:
    """Running totals over the entries read so far. ``feed`` is the only way forward."""

    opened: Opened | None = None
    budget: Loss | None = None
    spent: Loss | None = None
    ends: date | None = None
    source: str | None = None
    number: int = 0
    head: str = GENESIS
    last_day: date | None = None
    closed: str | None = None
    form: str | None = None
    lines: dict[str, Line] = field(default_factory=dict)
    keys: dict[tuple[str, str], Reserved] = field(default_factory=dict)

    @property
    def opening(self) -> Opened:
        if self.opened is None:
            raise LedgerError("it has no first entry")
        return self.opened

    @property
    def totals(self) -> tuple[Loss, Loss]:
        """Budget and spent."""
        if self.budget is None or self.spent is None:
            raise LedgerError("it has no first entry")
        return self.budget, self.spent

    def next_id(self) -> str:
        return f"r-{len(self.lines) + 1:04d}"

    def feed(self, row: Row, entry: Entry | None = None) -> Entry:
        """Take in the next entry; ``entry`` is that of ``row`` where its text was parsed already.

        Raises
        ------
        LedgerError
            With the number of the entry that does not fit; the totals are then as before it.
        """
        try:
            entry = parse(row.body) if entry is None else entry
            if digest_of(row.body) != row.digest:
                raise LedgerError("its digest does not match its text")
            if row.number != self.number + 1 or entry.number != row.number:
                raise LedgerError(f"entry {self.number + 1} was expected here")
            if entry.previous != self.head:
                raise LedgerError("it does not follow from the entry before it")
            day = date.fromisoformat(entry.when[:10])
            self._take(entry)
        except (LedgerError, PublicParameterError, ValueError) as problem:
            reason = problem if isinstance(problem, LedgerError) else "its values are out of range"
            raise LedgerError(f"entry {row.number}: {reason}") from None
        self.number, self.head = row.number, row.digest
        self.last_day = day if self.last_day is None else max(day, self.last_day)
        return entry

    def _take(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, Opened) != (self.opened is None):
            raise LedgerError("a ledger has one opening entry, and it is the first")
        match event:
            case Opened():
                self.opened, self.budget, self.spent = event, event.budget, filters.nothing(event.budget)
                self.ends, self.source = event.ends, event.source
            case Reserved():
                self._reserve(event, entry)
            case Committed():
                self._settle(event.id, "committed", event.digest, "", event.shares)
            case Failed():
                self._settle(event.id, "failed", None, event.reference)
            case Refused():
                self._new(event.id)
                self.lines[event.id] = Line(
                    event.id, entry.when, event.who, event.what, "", None, "refused", None, event.code, entry.digest
                )
            case Withdrawn():
                self._withdraw(event, entry)
            case Amended():
                self._amend(event)
            case Described():
                self.source = event.source
            case Closed():
                self.closed = event.reason
            case Migrated():
                self._migrate(event)
            case _:
                assert_never(event)

    def _reserve(self, event: Reserved, entry: Entry) -> None:
        budget, spent = self.totals
        if self.closed is not None:
            raise LedgerError("a charge after the ledger was closed")
        self._new(event.id)
        if filters.enter(event.charge, budget) != event.charge:
            raise LedgerError("a charge in another currency")
        if not filters.admits(budget, spent, event.charge):
            raise LedgerError("a charge above the budget")
        total = filters.add(spent, event.charge, budget)
        if total != event.spent:
            raise LedgerError("its total is not the sum of the charges")
        if event.key is not None and (event.who, event.key) in self.keys:
            raise LedgerError("an idempotency key charged twice")
        self.spent = total
        self.lines[event.id] = Line(
            event.id, entry.when, event.who, event.what, event.purpose, event.charge, "reserved", entry=entry.digest
        )
        if event.key is not None:
            self.keys[event.who, event.key] = event

    def _settle(self, release: str, state: State, digest: str | None, note: str, shares: str | None = None) -> None:
        line = self.lines.get(release)
        if line is None or line.state != "reserved":
            raise LedgerError(f"{release} is not an open reservation")
        self.lines[release] = replace(line, state=state, digest=digest, note=note, shares=shares)

    def _withdraw(self, event: Withdrawn, entry: Entry) -> None:
        line = self.lines.get(event.id)
        if line is None or line.state != "committed" or line.withdrawn is not None:
            raise LedgerError(f"{event.id} is no release that stands")
        self.lines[event.id] = replace(line, withdrawn=entry.when, why=event.reason)

    def _amend(self, event: Amended) -> None:
        budget, spent = self.totals
        if filters.currency(event.budget) != filters.currency(budget):
            raise LedgerError("an amended budget in another currency")
        if not filters.admits(event.budget, filters.nothing(budget), spent):
            raise LedgerError("an amended budget below what is spent")
        self.budget, self.ends = event.budget, event.ends

    def _migrate(self, event: Migrated) -> None:
        if not (event.old.isdecimal() and event.new.isdecimal() and int(event.old) < int(event.new)):
            raise LedgerError("a form that is not after the one before it")
        if self.form not in (None, event.old):
            raise LedgerError(f"it says the form was {event.old}, and it was {self.form}")
        self.form = event.new

    def _new(self, release: str) -> None:
        if release != self.next_id():
            raise LedgerError(f"{self.next_id()} was expected here")


def problems(rows: Iterable[Row]) -> tuple[Replay, tuple[str, ...]]:
    """Replay rows up to the first that does not fit; the totals so far and what was wrong, empty when nothing."""
    replay = Replay()
    try:
        for row in rows:
            replay.feed(row)
        replay.opening  # noqa: B018 - an empty ledger is a problem too
    except LedgerError as problem:
        return replay, (str(problem),)
    return replay, ()
