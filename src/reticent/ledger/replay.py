"""Totals of a ledger's entries, and every way in which entries can fail to fit together.

``Replay`` reads entries in order and keeps the totals. It is strict: the number, the link to the entry before, the
digest, the place of the event and the running total must all be right. Otherwise ``LedgerError`` names the wrong entry.
The same code serves a running ledger, ``verify`` and an exported file, so what is checked later is what was enforced.

A replay may begin at a checkpoint, an entry that holds the totals of all before it (``begun``). It then knows the
totals and all later entries, and of earlier requests nothing: ``whole`` says so. A whole replay compares each
checkpoint with the totals that it came to itself. ``price`` says from these totals if a charge can be paid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Literal, TypeAlias, assert_never

from reticent.errors import BudgetError, LedgerError, PublicParameterError, restored
from reticent.ledger.events import (
    GENESIS,
    Amended,
    Checkpointed,
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
from reticent.privacy import filters
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import Loss
from reticent.privacy.serialization import digest_of

State: TypeAlias = Literal["reserved", "committed", "failed", "refused"]


@dataclass(frozen=True, slots=True)
class Row:
    """An entry as a store keeps it: the text and, beside it, the digest it had when written.

    ``names`` are those that the entry is looked up by, of a row that is about to be written; else they are in its text.
    """

    number: int
    body: str
    digest: str
    names: tuple[str, ...] | None = field(default=None, compare=False)


def opening_row(opened: Opened) -> Row:
    """The first row of a ledger."""
    entry = Entry(1, now(), GENESIS, opened)
    return Row(1, entry.body, entry.digest)


@restored
@dataclass(frozen=True, slots=True)
class Line:
    """One request in a ledger, as a table of releases shows it.

    ``state`` is ``reserved`` (running, or lost in a crash: it counts as spent either way), ``committed``, ``failed``
    (spent) or ``refused`` (``charge`` is None: nothing was charged). ``digest`` is the certificate's, once committed;
    ``note`` the fault's reference or the code of the refusal. ``shares`` are released numbers to be shown again.
    ``withdrawn`` is the time at which a committed release was withdrawn, ``why`` the reason. ``answer`` is the
    digest of the stored text of an answer, if one is stored.
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
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Balance:
    """State of a ledger at one moment: what is fixed, what is spent, and where its chain ends."""

    opening: Opened
    budget: Loss
    spent: Loss
    ends: date | None
    source: str | None
    closed: bool
    number: int
    head: str

    @property
    def left(self) -> Loss:
        """Budget minus spent."""
        return filters.left(self.budget, self.spent)


@dataclass(slots=True)
class Replay:
    """Running totals over the entries read so far. ``feed`` is the only way forward.

    ``lines`` and ``keys`` are of the entries read: of all where ``whole``, else of those after the checkpoint at which
    ``earlier`` requests had been numbered. ``seen`` holds the digests of the entries read, ``checkpoint`` the number of
    the last checkpoint among them.
    """

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
    first: str = GENESIS
    requests: int = 0
    earlier: int = 0
    checkpoint: int = 0
    whole: bool = True
    lines: dict[str, Line] = field(default_factory=dict)
    keys: dict[tuple[str, str], Entry] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

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

    @property
    def standing(self) -> Balance:
        """The totals, to be kept."""
        return Balance(
            self.opening, *self.totals, self.ends, self.source, self.closed is not None, self.number, self.head
        )

    def next_id(self) -> str:
        return f"r-{self.requests + 1:04d}"

    def checkpointed(self) -> Checkpointed:
        """The event that says what has been read so far."""
        budget, spent = self.totals
        assert self.last_day is not None
        return Checkpointed(
            self.first,
            budget,
            spent,
            self.ends,
            self.source,
            self.closed,
            self.form,
            str(self.requests),
            self.last_day,
        )

    def is_earlier(self, release: str) -> bool:
        """Tell if a request was numbered before the checkpoint that this replay began at."""
        number = release.removeprefix("r-")
        return not self.whole and number.isdecimal() and 0 < int(number) <= self.earlier

    def feed(self, row: Row, entry: Entry | None = None) -> Entry:
        """Take in the next entry; ``entry`` is that of ``row`` where its text was parsed already.

        Raises
        ------
        LedgerError
            With the number of the entry that does not fit; the totals are then as before it.
        """
        try:
            entry = sealed(row) if entry is None else entry
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
        self.first = row.digest if row.number == 1 else self.first
        self.seen.add(row.digest)
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
                self._settle(event)
            case Failed():
                self._settle(event)
            case Refused():
                self._new(event.id)
                self.lines[event.id] = Line(
                    event.id, entry.when, event.who, event.what, "", None, "refused", None, event.code, entry.digest
                )
                self.requests += 1
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
            case Checkpointed():
                if event != self.checkpointed():
                    raise LedgerError("it does not say what the entries before it add up to")
                self.checkpoint = entry.number
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
        self.lines[event.id] = reserved_line(event, entry)
        self.requests += 1
        if event.key is not None:
            self.keys[event.who, event.key] = entry

    def _settle(self, event: Committed | Failed) -> None:
        line = self.lines.get(event.id)
        if line is None and self.is_earlier(event.id):
            return  # a whole replay looks at it
        if line is None or line.state != "reserved":
            raise LedgerError(f"{event.id} is not an open reservation")
        self.lines[event.id] = settled_line(line, event)

    def _withdraw(self, event: Withdrawn, entry: Entry) -> None:
        line = self.lines.get(event.id)
        if line is None and self.is_earlier(event.id):
            return
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


def sealed(row: Row) -> Entry:
    """The entry of a row whose text has the digest beside it.

    Raises
    ------
    LedgerError
        When it cannot be read, or was changed.
    """
    entry = parse(row.body)
    if digest_of(row.body) != row.digest:
        raise LedgerError("its digest does not match its text")
    return entry


def reserved_line(event: Reserved, entry: Entry) -> Line:
    """The line of a request that was just charged."""
    return Line(
        event.id, entry.when, event.who, event.what, event.purpose, event.charge, "reserved", entry=entry.digest
    )


def settled_line(line: Line, event: Committed | Failed) -> Line:
    """The line of a request that has ended."""
    match event:
        case Committed():
            return replace(line, state="committed", digest=event.digest, shares=event.shares, answer=event.answer)
        case Failed():
            return replace(line, state="failed", note=event.reference)
        case _:
            assert_never(event)


def line_of(rows: Iterable[Row]) -> Line | None:
    """The line of one request, from the entries about it alone; None where it was never charged.

    Raises
    ------
    LedgerError
        When an entry cannot be read, or was changed.
    """
    line: Line | None = None
    for row in rows:
        entry = sealed(row)
        match entry.event:
            case Reserved():
                line = reserved_line(entry.event, entry)
            case Committed() | Failed() if line is not None:
                line = settled_line(line, entry.event)
            case Withdrawn() if line is not None:
                line = replace(line, withdrawn=entry.when, why=entry.event.reason)
            case _:
                pass
    return line


def begun(rows: Sequence[Row]) -> Replay:
    """A replay of all rows or, where the second is not entry 2, of the first and of those from a checkpoint on.

    Raises
    ------
    LedgerError
        With the number of the entry that does not fit.
    """
    if len(rows) < 2 or rows[1].number <= 2:
        replay, rest = Replay(), rows
    else:
        replay, rest = _resumed(rows[0], rows[1]), rows[2:]
    for row in rest:
        replay.feed(row)
    replay.opening  # noqa: B018 - an empty ledger is refused
    return replay


def _resumed(first: Row, row: Row) -> Replay:
    """The replay that a checkpoint stands for: its own text, and entry 1, must have the digests written beside them."""
    replay = Replay()
    replay.feed(first)
    try:
        entry = sealed(row)
        told = entry.event
        if not isinstance(told, Checkpointed) or entry.number != row.number:
            raise LedgerError(f"entry {replay.number + 1} was expected here")
        if told.first != first.digest or not told.requests.isdecimal():
            raise LedgerError("it is a checkpoint of another ledger")
        day = date.fromisoformat(entry.when[:10])
        opening = replay.opening
        if filters.currency(told.budget) != filters.currency(opening.budget) or not filters.admits(
            told.budget, filters.nothing(told.budget), told.spent
        ):
            raise LedgerError("its totals are not those of a ledger")
    except (LedgerError, PublicParameterError, ValueError) as problem:
        reason = problem if isinstance(problem, LedgerError) else "its values are out of range"
        raise LedgerError(f"entry {row.number}: {reason}") from None
    requests = int(told.requests)
    return Replay(
        opened=opening,
        budget=told.budget,
        spent=told.spent,
        ends=told.ends,
        source=told.source,
        number=row.number,
        head=row.digest,
        last_day=max(told.last_day, day),
        closed=told.closed,
        form=told.form,
        first=first.digest,
        requests=requests,
        earlier=requests,
        checkpoint=row.number,
        whole=False,
        seen={first.digest, row.digest},
    )


def whole(rows: Sequence[Row]) -> Replay:
    """A replay of all rows, from the first on.

    Raises
    ------
    LedgerError
        With the number of the entry that does not fit.
    """
    replay, found = problems(rows)
    if found:
        raise LedgerError(found[0])
    return replay


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


def price(replay: Replay, charge: Loss, adjacency: Adjacency) -> Loss:
    """``charge`` in the ledger's currency, once every reason to refuse it is ruled out.

    Parameters
    ----------
    replay : Replay
        State of the ledger.
    charge : Loss
    adjacency : Adjacency
        Neighbours that the charge is proved for.

    Returns
    -------
    Loss

    Raises
    ------
    BudgetError
        When too little is left, the approval has ended, or the ledger is closed.
    LedgerError
        For another adjacency, or a loss that has no price in this currency.
    """
    budget, spent = replay.totals
    if replay.opening.adjacency != adjacency:
        raise LedgerError(other_adjacency(replay.opening.adjacency, adjacency))
    if replay.closed is not None:
        raise BudgetError("This ledger is closed. Nothing was charged.")
    if replay.ends is not None and today(replay) > replay.ends:
        raise BudgetError(
            f"The approval ended on {replay.ends.isoformat()}. Nothing was charged. A later day is an amendment of the "
            "ledger, with its reason."
        )
    try:
        cost = filters.enter(charge, budget)
    except PublicParameterError as problem:
        raise LedgerError(f"{problem} Nothing was charged.") from None
    if not filters.admits(budget, spent, cost):
        from reticent.privacy.shortfall import too_little

        raise BudgetError(too_little(charge, budget, spent))
    return cost


def today(replay: Replay) -> date:
    """Today, or the day of the latest entry if the clock was put back since."""
    today = datetime.now(UTC).date()
    return today if replay.last_day is None else max(today, replay.last_day)


def other_adjacency(mine: Adjacency, asked: Adjacency) -> str:
    fewer = asked.kind == mine.kind and asked.unit == mine.unit and asked.rows < mine.rows
    both = f"at_most = {asked.rows}, ceiling = {mine.rows}"
    cure = f" Fewer rows of a person under the same ledger are rows = {{ {both} }}." if fewer else ""
    return (
        f"This ledger counts losses for: {mine.words()}. This request is about: {asked.words()}. The two do not add "
        f"up. Nothing was charged.{cure}"
    )
