"""Stores of entries: what each promises, the statements that those in SQL share, and a store in memory.

A store knows nothing of budgets. ``append`` gives a view of its rows to a function inside one exclusive transaction,
and adds the rows it returns. When ``append`` has returned, they are on the disk. ``reading`` gives a view of one
moment.

Beside the entries a store has an index of them, by name (``events.names_of``), and answers that are stored for whoever
asks again. Neither is believed: an entry that was found by name has its own digest, and each answer's is in the chain.

    sqlite_store.py      one file, on a local disk
    postgres_store.py    tables of one schema, on a server that several machines reach
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from reticent.errors import LedgerError
from reticent.ledger.events import CHECKPOINT, names_of, parse
from reticent.ledger.replay import Row

if TYPE_CHECKING:
    from reticent.ledger.state import HeadWitness

FORMAT: Final = 2  # of every store that is made today
NAMED: Final = 2  # the first form with an index of names
PATIENCE: Final = 20.0  # seconds to wait for another writer


class Extract(Protocol):
    """The rows of a store at one moment; while it is given to ``append``, no one else can write."""

    def rows(self, since: int) -> tuple[Row, ...]:
        """The rows numbered ``since`` or later, in order."""

    def tail(self) -> tuple[Row, ...]:
        """The first row and those from the last checkpoint on; all where there is no checkpoint."""

    def named(self, name: str) -> tuple[Row, ...]:
        """The rows that are looked up by ``name``, in order."""

    def names(self) -> set[tuple[str, int]] | None:
        """Every name with the number of its row; None where the store keeps no names."""

    def answer(self, name: str) -> str | None:
        """The stored text of an answer."""

    def head(self) -> str:
        """Digest of the last row."""


@dataclass(frozen=True, slots=True)
class Addition:
    """Rows to be added, in order, and texts of answers by name; nothing is added where there are no rows."""

    rows: tuple[Row, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()


Decide: TypeAlias = Callable[[Extract], Addition]
Seal: TypeAlias = Callable[[Sequence[Row], int, str], Row]


class SyncError(LedgerError):
    """The disk refused an entry, so what is on it is unknown; the process must not go on charging."""


class LostReply(SyncError):
    """The server did not say if it has an entry. Nothing may be drawn for it; a handle that reads again goes on."""


class EarlierForm(Exception):
    """An entry was to be added to a file of an earlier form; nothing was written. The account migrates and goes on."""


class Store(Protocol):
    """Rows in order. ``name`` is what the user typed; ``durable`` says whether they outlive the process.

    ``place`` opens the store again in another process, and is None in memory. ``file`` is the file of one in SQLite.
    ``beside`` begins the names of the files that belong to it on this machine. ``witness`` keeps its last head
    here, where no other rule on this machine would notice an older copy of it.
    """

    @property
    def name(self) -> str: ...

    @property
    def durable(self) -> bool: ...

    @property
    def place(self) -> str | None: ...

    @property
    def file(self) -> Path | None: ...

    @property
    def beside(self) -> Path | None: ...

    @property
    def witness(self) -> HeadWitness | None: ...

    def found(self) -> bool:
        """Tell if there is a ledger.

        Raises
        ------
        LedgerError
            When there is something else in its place, or the place cannot be reached.
        """

    def build(self, first: Row) -> bool:
        """Make the store with its first row, all at once; False when another process was first."""

    def form(self) -> int:
        """The form that it has."""

    def damage(self) -> str | None:
        """Damage of the store below its entries, in our words; None if none is found."""

    def reading(self) -> AbstractContextManager[Extract]:
        """The rows of one moment."""

    def append(self, decide: Decide, after: Callable[[Extract], None] | None = None) -> None:
        """Add what ``decide`` returns for the rows that are there; nothing when that is nothing, or when it raises.

        ``after`` is called once it is on the disk, on the same connection.

        Raises
        ------
        EarlierForm
            Before anything is written, where the file has to be migrated first; ``decide`` is then asked again.
        """

    def migrate(self, seal: Seal) -> None:
        """Bring the file to today's form, with the row ``seal`` returns for its rows, its form and the copy's name."""


@dataclass(frozen=True, slots=True)
class SqlExtract:
    """The rows of the tables, over one connection.

    ``run`` takes a statement with ``@`` before the name of each table and ``?`` for each value.
    """

    run: Callable[..., Sequence[tuple[Any, ...]]]
    form: Callable[[], int]

    def rows(self, since: int) -> tuple[Row, ...]:
        return self._rows("FROM @entries WHERE number >= ? ORDER BY number", since)

    def tail(self) -> tuple[Row, ...]:
        if self.form() >= NAMED:
            ((last,),) = self.run("SELECT MAX(number) FROM @names WHERE name = ?", CHECKPOINT)
            if last is not None:
                rows = self._rows("FROM @entries WHERE number = 1 OR number >= ? ORDER BY number", last)
                if len(rows) > 1 and rows[1].number == last:  # a name that leads nowhere must not hide the rest
                    return rows
        return self.rows(1)

    def named(self, name: str) -> tuple[Row, ...]:
        if self.form() < NAMED:
            return ()
        return self._rows("FROM @names JOIN @entries USING (number) WHERE name = ? ORDER BY number", name)

    def names(self) -> set[tuple[str, int]] | None:
        if self.form() < NAMED:
            return None
        return {(str(name), _whole(number)) for name, number in self.run("SELECT name, number FROM @names")}

    def answer(self, name: str) -> str | None:
        if self.form() < NAMED:
            return None
        found = self.run("SELECT text FROM @answers WHERE name = ?", name)
        return str(found[0][0]) if found else None

    def head(self) -> str:
        found = self.run("SELECT digest FROM @entries ORDER BY number DESC LIMIT 1")
        return str(found[0][0]) if found else ""

    def add(self, addition: Addition) -> None:
        """Insert rows with their names, and answers."""
        for row in addition.rows:
            self.run("INSERT INTO @entries VALUES (?, ?, ?)", row.number, row.body, row.digest)
            if self.form() >= NAMED:
                self.name(row)
        for name, text in addition.answers:
            self.run("INSERT INTO @answers VALUES (?, ?)", name, text)

    def name(self, row: Row) -> None:
        """Insert the names that a row is looked up by."""
        for name in row.names if row.names is not None else names_of(parse(row.body).event):
            self.run("INSERT INTO @names VALUES (?, ?)", name, row.number)

    def _rows(self, clause: str, value: object) -> tuple[Row, ...]:
        found = self.run(f"SELECT number, body, digest {clause}", value)
        return tuple(Row(_whole(number), str(body), str(digest)) for number, body, digest in found)


def _whole(value: object) -> int:
    """The number of a row; a damaged page may hold anything in its place."""
    if type(value) is not int:
        raise LedgerError("The ledger is damaged: the number of an entry cannot be read. Run verify.")
    return value


@dataclass(slots=True)
class MemoryStore:
    """Rows in a list: for notebooks and tests. It does not outlive the process and refuses to work in a fork."""

    name: str = "the ledger in memory"
    durable: bool = False
    place: None = None
    file: None = None
    beside: None = None
    witness: None = None
    _rows: list[Row] = field(default_factory=list)
    _answers: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _process: int = field(default_factory=os.getpid)

    def rows(self, since: int) -> tuple[Row, ...]:
        self._same_process()
        return tuple(self._rows[max(since - 1, 0) :])

    def tail(self) -> tuple[Row, ...]:
        return self.rows(1)

    def named(self, name: str) -> tuple[Row, ...]:
        return tuple(row for row in self.rows(1) if name in names_of(parse(row.body).event))

    def names(self) -> None:
        return None

    def answer(self, name: str) -> str | None:
        self._same_process()
        return self._answers.get(name)

    def head(self) -> str:
        return self.rows(1)[-1].digest

    def found(self) -> bool:
        return bool(self.rows(1))

    def build(self, first: Row) -> bool:
        self._same_process()
        self._rows.append(first)
        return True

    def form(self) -> int:
        return FORMAT

    def damage(self) -> None:
        return None

    @contextlib.contextmanager
    def reading(self) -> Iterator[Extract]:
        self._same_process()
        yield self

    def append(self, decide: Decide, after: Callable[[Extract], None] | None = None) -> None:
        self._same_process()
        with self._lock:
            added = decide(self)
            self._rows.extend(added.rows)
            self._answers.update(added.answers)
        if after is not None:
            after(self)

    def migrate(self, seal: Seal) -> None:
        """Do nothing: a store in memory always has today's form."""

    def _same_process(self) -> None:
        if os.getpid() != self._process:
            raise LedgerError(
                "A ledger in memory cannot be used by a second process: its budget would be there twice. "
                "Give the ledger a file. Nothing was charged."
            )
