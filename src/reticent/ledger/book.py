"""The book of a ledger: its store, and a running replay of it, read and added to by one thread at a time.

A book reads the entries since the last checkpoint once, and from then on those that others have added. What must be
known of an earlier request is looked up by name (``charge_under``, ``line_about``). Every ``EVERY`` entries it writes a
checkpoint, in the transaction of the entry that comes next, so that none stands alone and none is lost.

Requests that were declined stand in a log beside the ledger, outside its chain (``keep``, ``kept``). A refusal charges
nothing and tells nothing of the rows, so nothing depends on this log: a line that is lost, cut or made up changes no
sum. Of one minute at most ``MOST_A_MINUTE`` lines are kept, by all processes together; the next line that is kept says
how many were left out here. A log of ``MOST_BYTES`` is put aside as ``.1``, in place of the one before.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeVar

from reticent.errors import LedgerError
from reticent.ledger import store
from reticent.ledger.events import (
    Committed,
    Entry,
    Event,
    Migrated,
    Reserved,
    names_of,
    now,
    of_release,
    parse,
    under_key,
)
from reticent.ledger.replay import Line, Replay, Row, begun, line_of, sealed, whole
from reticent.ledger.store import Addition, EarlierForm, Extract, LostReply, Store, SyncError
from reticent.privacy.serialization import canonical, digest_of

EVERY: Final = 64  # entries from one checkpoint to the next, which is what opening a ledger reads at most

T = TypeVar("T")


class Witness(Protocol):
    """Something outside the ledger that keeps its head. It never raises: the charge is made by then."""

    def __call__(self, ledger: str, event: Event, head: Callable[[], str]) -> None:
        """Keep the head of the ledger of this identity, to which ``event`` was just added."""


class Book:
    """The entries of one store with their totals, shared by the threads of a process.

    A fork begins afresh, since the lock of its parent may have been held and a connection must not be shared.
    """

    __slots__ = ("_expected", "_lock", "_process", "_stopped", "_view", "kept", "refusals", "replay", "witnesses")

    def __init__(self, kept: Store, witnesses: Sequence[Witness] = ()) -> None:
        self.kept = kept
        self.witnesses = tuple(witnesses)
        self._view: Extract | None = None
        self._stopped = False
        self._start()

    def recall(self, pick: Callable[[Replay], T]) -> T:
        """Value that ``pick`` takes from the totals as they were read last, without asking the store again."""
        with self._alone():
            return self.look(lambda replay, _: pick(replay)) if self.replay.opened is None else pick(self.replay)

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """One moment: all that is read of the ledger within is of it, over one connection."""
        with self._alone():
            if self._view is not None:
                yield
                return
            self._recollect()
            with self.kept.reading() as view:
                self._catch_up(view)
                self._view = view
                try:
                    yield
                finally:
                    self._view = None

    def look(self, pick: Callable[[Replay, Extract], T]) -> T:
        """Value that ``pick`` takes from the totals and from the rows of the same moment."""
        with self.still():
            assert self._view is not None
            return pick(self.replay, self._view)

    def seen(self, pick: Callable[[Extract], T]) -> T:
        """Value that ``pick`` takes from the rows as they are, unchecked."""
        with self.kept.reading() as view:
            return pick(view)

    def whole(self, replay: Replay, view: Extract) -> Replay:
        """The replay from the first entry on."""
        if replay.whole:
            return replay
        with self._damaged():
            return whole(view.rows(1))

    def write(self, choose: Callable[[Replay, Extract], Event | None], answer: str | None = None) -> Entry | None:
        """Add the event ``choose`` returns, decided while no one else can write; None when it returns None.

        A checkpoint goes before it, in the same transaction, where the last one is too far back.
        """
        written: list[tuple[Row, Entry]] = []

        def decide(view: Extract) -> Addition:
            written.clear()
            self._catch_up(view)
            event = choose(self.replay, view)
            if event is None:
                return Addition()
            known = self.replay
            due = known.number - known.checkpoint >= EVERY
            number, previous = known.number, known.head
            for one in (*((known.checkpointed(),) if due else ()), event):
                made = Entry(number + 1, now(), previous, one)
                entry = parse(made.body)  # what could not be read back would make the file useless: it is not written
                row = Row(entry.number, entry.body, entry.digest, names_of(entry.event))
                written.append((row, entry))
                number, previous = row.number, row.digest
            kept = ((of_release(event.id), answer),) if isinstance(event, Committed) and answer is not None else ()
            return Addition(tuple(row for row, _ in written), kept)

        with self._alone():
            if self._stopped:
                raise LedgerError(f"{self.kept.name} stopped after a disk error. Check the disk, then start again.")
            self._recollect()
            try:
                self._append(decide, lambda view: self._told(written, view))
            except SyncError as problem:
                self._stopped = not isinstance(problem, LostReply)
                raise
            return written[-1][1] if written else None

    def migrate(self) -> None:
        """Bring the store to today's form, with a copy beside it."""
        with self._alone():
            self.kept.migrate(self._sealed)

    def _start(self) -> None:
        self.replay = Replay()
        self._lock = threading.RLock()
        self._view = None
        self._expected: tuple[str, str] | None = None
        self.refusals = RefusalLog(self.kept.beside)
        self._process = os.getpid()
        self._stopped = False

    def _append(self, decide: Callable[[Extract], Addition], after: Callable[[Extract], None]) -> None:
        """Add rows to the store, migrated first where it has an earlier form."""
        try:
            self.kept.append(decide, after)
        except EarlierForm:
            self.kept.migrate(self._sealed)
            self.kept.append(decide, after)

    def _told(self, written: Sequence[tuple[Row, Entry]], view: Extract) -> None:
        """Take in what was written, and tell the witnesses of it."""
        for row, entry in written:
            self.replay.feed(row, entry)
        own = () if self.kept.witness is None else (self.kept.witness,)
        for witness in (*own, *self.witnesses) if written else ():
            witness(self.replay.opening.identity, written[-1][1].event, view.head)

    def _sealed(self, rows: Sequence[Row], old: int, copy: str) -> Row:
        """The entry of a migration, after the last of all ``rows``, which must add up."""
        self._take(rows[max(self.replay.number - 1, 0) :])
        moved = Migrated(str(old), str(store.FORMAT), copy)
        entry = Entry(self.replay.number + 1, now(), self.replay.head, moved)
        return Row(entry.number, entry.body, entry.digest)

    def _catch_up(self, view: Extract) -> None:
        """Read what was added since this handle last looked; at first, from the last checkpoint on."""
        if self.replay.number:
            self._take(view.rows(self.replay.number))
            return
        self._take(view.tail())
        try:
            self._compare(view)
        except LedgerError:
            self.replay = Replay()  # whatever is asked next is refused too
            raise

    def _recollect(self) -> None:
        """Read the head that this machine keeps: before the entries are, since another process may be adding one."""
        if not self.replay.number:
            self._expected = None if self.kept.witness is None else self.kept.witness.kept()

    def _compare(self, view: Extract) -> None:
        """Look for the head that this machine keeps of the ledger."""
        if self._expected is None:
            return
        identity, head = self._expected
        if identity != self.replay.opening.identity:
            raise LedgerError(
                f"{self.kept.name} is not the ledger that was there. What was released under that one is spent all the "
                "same. Put its newest copy back. Nothing was charged."
            )
        if head not in self.replay.seen and head not in self.whole(self.replay, view).seen:
            raise LedgerError(
                f"{self.kept.name} is an older copy: entries it had are gone. Releases made since the copy are spent "
                "all the same. Put its newest copy back; if that is lost, adopt this one, and what is left counts as "
                "spent. Nothing was charged."
            )

    def _take(self, rows: Sequence[Row]) -> None:
        """Feed the rows after the last known one, having seen that one unchanged."""
        known = self.replay
        if known.number > 0 and (not rows or (rows[0].number, rows[0].digest) != (known.number, known.head)):
            raise LedgerError(
                f"{self.kept.name} is not the file it was: entries that were there are gone. An older copy was put in "
                "its place. Put the newest one back; releases made since the copy are spent all the same."
            )
        with self._damaged():
            if known.number == 0:
                self.replay = begun(rows)
            for row in rows[1:] if known.number > 0 else ():
                known.feed(row)

    @contextlib.contextmanager
    def _damaged(self) -> Iterator[None]:
        """A chain that does not add up, in words."""
        try:
            yield
        except LedgerError as problem:
            raise LedgerError(f"{self.kept.name} is damaged: {problem}. Nothing was charged. Run verify.") from None

    def _alone(self) -> threading.RLock:
        """Lock of this handle; a forked child begins afresh, since the parent's lock may have been held."""
        if os.getpid() != self._process:
            self._start()
        return self._lock


def charge_under(replay: Replay, view: Extract, who: str, key: str) -> Entry | None:
    """The charge under an idempotency key.

    Parameters
    ----------
    replay : Replay
        Totals as they are known.
    view : Extract
        Rows of the same moment.
    who : str
        Person who asked.
    key : str
        Idempotency key of the request.

    Returns
    -------
    Entry or None
        Entry of the charge, or None.
    """
    if replay.whole or (who, key) in replay.keys:
        return replay.keys.get((who, key))
    for row in view.named(under_key(who, key)):
        entry = sealed(row)
        if isinstance(entry.event, Reserved) and (entry.event.who, entry.event.key) == (who, key):
            return entry
    return None


def line_about(replay: Replay, view: Extract, release: str) -> Line | None:
    """The line of a request, looked up by name where it is from before the checkpoint that the replay began at.

    Parameters
    ----------
    replay : Replay
        Totals as they are known.
    view : Extract
        Rows of the same moment.
    release : str
        Id of the request, such as "r-0007".

    Returns
    -------
    Line or None
        Line, or None where there is no such request.
    """
    return line_of(view.named(of_release(release))) if replay.is_earlier(release) else replay.lines.get(release)


def problems_beside(view: Extract) -> tuple[str, ...]:
    """Problems of what a store keeps beside its entries: names that do not fit them, answers that are not theirs."""
    found: list[str] = []
    events = []
    for row in view.rows(1):
        try:
            events.append((row.number, parse(row.body).event))
        except LedgerError:
            return ()  # which the chain says already
    names = view.names()
    if names is not None and names != {(name, number) for number, event in events for name in names_of(event)}:
        found.append("the names that entries are looked up by do not fit the entries")
    for _, event in events:
        if isinstance(event, Committed) and event.answer is not None:
            text = view.answer(of_release(event.id))
            if text is None or digest_of(text) != event.answer:
                found.append(f"the stored answer of {event.id} is gone or was changed")
    return tuple(found)


# --- refusals that are written ----------------------------------------------------------------------------------------


SUFFIX: Final = ".refusals"
MOST_A_MINUTE: Final = 30
MOST_BYTES: Final = 1_000_000
MOST_TEXT: Final = 500  # characters of what was asked
MOST_IN_MEMORY: Final = 1_000  # lines of a ledger without a file
OWNER: Final = 0o600  # a log names who asked what


@dataclass(slots=True)
class RefusalLog:
    """The log of one ledger, beside its ``ledger`` file, or in memory where there is none."""

    ledger: Path | None
    _memory: list[str] = field(default_factory=list)
    _left_out: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def file(self) -> Path | None:
        """The file of the log, which need not be there."""
        return None if self.ledger is None else self.ledger.with_name(self.ledger.name + SUFFIX)

    def note(self, when: str, who: str, what: str, code: str) -> None:
        """Add a line, unless this minute has enough; a disk that takes none changes nothing.

        Parameters
        ----------
        when : str
            UTC, ISO 8601.
        who, what, code : str
            Who asked, what, and the exit code of the refusal.
        """
        with self._lock, contextlib.suppress(OSError):
            if sum(line.when[:16] == when[:16] for line in _read(self._latest())) >= MOST_A_MINUTE:
                self._left_out += 1
                return
            more = f" ({self._left_out} more were left out)" if self._left_out else ""
            one = {"when": when, "who": who[:MOST_TEXT], "what": what[:MOST_TEXT] + more, "code": code[:MOST_TEXT]}
            self._add(canonical(one))
            self._left_out = 0

    def lines(self) -> tuple[Line, ...]:
        """Lines of the log, oldest first; what is no line of it is passed over."""
        if self.file is None:
            return _read(self._memory)
        kept: list[str] = []
        for file in (self.file.with_name(self.file.name + ".1"), self.file):
            with contextlib.suppress(OSError):
                kept += file.read_text(encoding="ascii", errors="replace").splitlines()
        return _read(kept)

    def _add(self, text: str) -> None:
        if self.file is None:
            self._memory = [*self._memory[1 - MOST_IN_MEMORY :], text]
            return
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # of a ledger on a server, in the state folder
        flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.file, flags, OWNER)
        try:
            os.write(descriptor, f"{text}\n".encode("ascii"))
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if size > MOST_BYTES:
            os.replace(self.file, self.file.with_name(self.file.name + ".1"))

    def _latest(self) -> list[str]:
        """The last lines, enough for a minute."""
        if self.file is None:
            return self._memory[-MOST_A_MINUTE:]
        if not self.file.exists():
            return []
        with self.file.open("rb") as opened:
            opened.seek(max(0, os.fstat(opened.fileno()).st_size - MOST_A_MINUTE * 6 * MOST_TEXT * 3))
            return opened.read().decode("ascii", "replace").splitlines()[-MOST_A_MINUTE:]


def _read(texts: list[str]) -> tuple[Line, ...]:
    found = []
    for text in texts:
        with contextlib.suppress(ValueError, RecursionError):
            match json.loads(text):
                case {"when": str(when), "who": str(who), "what": str(what), "code": str(code)}:
                    found.append(Line("", when, who, what, "", None, "refused", note=code))
                case _:
                    pass
    return tuple(found)
