"""A store of entries in one SQLite file that only grows.

* WAL with ``synchronous=FULL``: every commit is synced before it is acknowledged; read back on every connection.
* ``BEGIN IMMEDIATE``: who decides holds the write lock, so two processes cannot both see the last of a budget.
* Triggers refuse UPDATE and DELETE, and the schema is compared with ours on every connection.
* A connection lives for one operation. Nothing is inherited by a fork, shared by threads or left open.
* The log is copied into the file only by the last connection to close, which then holds the file alone. SQLite before
  3.51.3 can lose pages when one connection copies while another writes (its "WAL-reset bug"); here they never meet.
* A new file is built under another name and linked into place, so a ledger is never seen half made.
* A file with a second name (a hard link) is refused at every operation: SQLite names its log after the path, so two
  names would be two logs, and the last of a budget could be granted through each.

A file has a form, in SQLite's ``user_version``. One of an earlier form is read as it is. Before its first new entry it
is brought to today's, in one exclusive transaction: copy, statements of each step, an entry that names both forms. The
copy is made by SQLite into a new file beside it and synced. A crash on the way leaves the old file, and a spare copy. A
later form than today's is refused.

The file is never opened except through SQLite: closing any other descriptor of it would drop SQLite's locks.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reticent.errors import LedgerError
from reticent.ledger import store
from reticent.ledger.replay import Row
from reticent.ledger.store import NAMED, PATIENCE, Addition, Decide, EarlierForm, Extract, Seal, SqlExtract, SyncError

APPLICATION: Final = 0x52455449  # "RETI"
JOURNAL: Final = "wal"
SYNCHRONOUS: Final = 2  # FULL
OWNER: Final = 0o600  # a ledger names who asked what; SQLite gives its log the same mode
MOST_COPIES: Final = 100  # of one ledger, that migrations left beside it
BIRTH: Final = 1.0  # seconds to wait for the process that makes the file to drop the name it was built under

ENTRIES: Final = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, digest TEXT NOT NULL)",
    "CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END",
    "CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END",
    "CREATE TRIGGER entries_are_not_replaced BEFORE INSERT ON entries "
    "WHEN NEW.number <> (SELECT COALESCE(MAX(number), 0) + 1 FROM entries) "
    "BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END",
)
BESIDE: Final = (
    "CREATE TABLE names (name TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (name, number)) WITHOUT ROWID",
    "CREATE TABLE answers (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
)
SCHEMA: Final = (*ENTRIES, *BESIDE)


@dataclass(frozen=True, slots=True)
class Form:
    """Tables and triggers of one form of a ledger, and the statements that make them of the form before it."""

    schema: tuple[str, ...]
    from_before: tuple[str, ...] = ()


FORMS: Final[Mapping[int, Form]] = {1: Form(ENTRIES), 2: Form(SCHEMA, BESIDE)}  # all that were written; today's last


def extract(connection: sqlite3.Connection) -> SqlExtract:
    """The rows of a file, over one connection."""

    def run(statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return connection.execute(statement.replace("@", ""), values).fetchall()

    return SqlExtract(run, lambda: _form(connection))


@dataclass(frozen=True, slots=True)
class SqliteStore:
    """Rows in the SQLite file at ``file``; ``name`` is the path as the user typed it."""

    name: str
    file: Path
    durable: bool = True

    @property
    def place(self) -> str:
        return str(self.file)

    @property
    def beside(self) -> Path:
        return self.file

    @property
    def witness(self) -> None:
        return None

    def found(self) -> bool:
        try:  # looked at once: another process may make it meanwhile
            mode = self.file.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            if not self.file.parent.is_dir():
                raise LedgerError(f"There is no folder to hold {self.name}. Create it first.") from None
            return False
        except OSError:
            raise LedgerError(f"{self.name} cannot be reached: check the permissions of its folder.") from None
        if not stat.S_ISREG(mode):
            raise LedgerError(f"{self.name} is not a file, so it cannot be a ledger.")
        return True

    def build(self, first: Row) -> bool:
        draft = self.file.with_name(f".{self.file.name}.{uuid.uuid4().hex}")
        try:
            with _words(self.name):
                _draft(draft, first)
            os.link(draft, self.file)
            draft.unlink(missing_ok=True)  # before the slow step: until then the file has two names
            _sync_folder(self.file.parent)
        except FileExistsError:
            return False
        except OSError:
            raise LedgerError(
                f"{self.name} cannot be made there: the folder is not writable, full, or without hard links."
            ) from None
        finally:
            for left in (draft, draft.with_name(draft.name + "-wal"), draft.with_name(draft.name + "-shm")):
                with contextlib.suppress(OSError):
                    left.unlink()
        return True

    @contextlib.contextmanager
    def reading(self) -> Iterator[Extract]:
        with _words(self.name), _connected(self) as connection, _snapshot(connection):
            yield extract(connection)

    def append(self, decide: Decide, after: Callable[[Extract], None] | None = None) -> None:
        with _words(self.name), _connected(self) as connection:
            _patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            view = extract(connection)
            added = decide(view)
            if not added.rows:
                return  # closing the connection ends the transaction, as it does when decide raises
            if _form(connection) < store.FORMAT:
                raise EarlierForm
            with _sync(self.name):
                view.add(added)
                connection.execute("COMMIT")
            if after is not None:
                after(view)

    def migrate(self, seal: Seal) -> None:
        with _words(self.name), _connected(self) as connection:
            _patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            old = _form(connection)
            if old >= store.FORMAT:
                return  # another process was first
            copy, view = _copied(self, old), extract(connection)
            earlier = view.rows(1)
            row = seal(earlier, old, copy.name)
            with _sync(self.name):
                for form in range(old + 1, store.FORMAT + 1):
                    for statement in FORMS[form].from_before:
                        connection.execute(statement)
                    if form == NAMED:
                        for known in earlier:
                            view.name(known)
                connection.execute(f"PRAGMA user_version = {store.FORMAT}")
                view.add(Addition((row,)))
                if _schema(connection) != set(FORMS[store.FORMAT].schema):
                    raise LedgerError(
                        f"{self.name} could not be migrated: its tables are not those of form {store.FORMAT}."
                    )
                connection.execute("COMMIT")

    def form(self) -> int:
        with _words(self.name), _connected(self) as connection:
            return _form(connection)

    def damage(self) -> str | None:
        with _words(self.name), _connected(self) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
        return None if found == ("ok",) else "the file is damaged"


def _draft(file: Path, first: Row) -> None:
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), OWNER))
    with contextlib.closing(_connect(file, "rwc")) as connection:
        _settings(connection)
        connection.execute("BEGIN IMMEDIATE")
        for statement in FORMS[store.FORMAT].schema:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {store.FORMAT}")
        extract(connection).add(Addition((first,)))
        connection.execute("COMMIT")
        # The draft is published without its log, so all of it must be in the file: closing would hide a failure.
        busy, logged, copied = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy or logged != copied:
            raise sqlite3.OperationalError("the log of a new ledger was not copied into its file")


def _sync_folder(folder: Path) -> None:
    """Make a new name in ``folder`` survive a power cut, where the system lets folders be synced."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _connected(kept: SqliteStore) -> Iterator[sqlite3.Connection]:
    """A checked connection for one operation."""
    if not kept.found():
        raise LedgerError(f"There is no ledger at {kept.name}.")
    _one_name(kept)
    with contextlib.closing(_connect(kept.file, "rw")) as connection:
        _patiently(lambda: _check(connection, kept.name))
        yield connection


def _one_name(kept: SqliteStore) -> None:
    """Refuse a file with a second hard link, once its maker had the time to drop the name it was built under."""
    until = time.monotonic() + BIRTH
    try:
        while kept.file.stat().st_nlink > 1:
            if time.monotonic() > until:
                raise LedgerError(
                    f"{kept.name} has a second name (a hard link). A ledger must have one: through two names its "
                    "budget could be spent twice. Delete the other name. Nothing was charged."
                )
            time.sleep(0.005)
    except OSError:
        raise LedgerError(f"{kept.name} cannot be reached: check the permissions of its folder.") from None


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{file.as_uri()}?mode={mode}", uri=True, timeout=PATIENCE, isolation_level=None)
    connection.text_factory = lambda text: text.decode("ascii", "backslashreplace")  # a damaged byte is no exception
    return connection


def _check(connection: sqlite3.Connection, name: str) -> None:
    """Refuse a file that is not ours, another format, a changed schema, or a disk that cannot keep the promise."""
    with _snapshot(connection):  # a migration beside us must not come between the form and the tables
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        version = _form(connection)
        schema = _schema(connection)
    if application != APPLICATION:
        raise LedgerError(f"{name} is not a ledger of reticent.")
    if version not in FORMS:
        later = " It was written by a later one: use that, or a later one still." if version > store.FORMAT else ""
        raise LedgerError(f"{name} has ledger format {version}; this reticent reads format {store.FORMAT}.{later}")
    if schema != set(FORMS[version].schema):
        raise LedgerError(f"{name} is damaged: its table or triggers were changed.")
    _settings(connection)


@contextlib.contextmanager
def _snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One read transaction: all that is read within is of one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _form(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _schema(connection: sqlite3.Connection) -> set[str]:
    return {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")}


def _copied(kept: SqliteStore, form: int) -> Path:
    """A copy of the file beside it, under a name that was free, complete and synced; the caller holds the lock."""
    try:
        copy = _free_name(kept, form)
        with (
            contextlib.closing(_connect(kept.file, "rw")) as source,
            contextlib.closing(_connect(copy, "rw")) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file: its log is nowhere else
        descriptor = os.open(copy, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _sync_folder(copy.parent)
    except OSError:
        raise LedgerError(
            f"{kept.name} has an earlier form, and no copy of it can be made beside it: the folder is not writable or "
            "full. Nothing was changed or charged."
        ) from None
    return copy


def _free_name(kept: SqliteStore, form: int) -> Path:
    """An empty file for the copy, made under a name that no file had."""
    for place in range(1, MOST_COPIES + 1):
        copy = kept.file.with_name(f"{kept.file.name}.form-{form}{f'-{place}' if place > 1 else ''}.copy")
        with contextlib.suppress(FileExistsError):
            os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), OWNER))
            return copy
    raise LedgerError(f"There are {MOST_COPIES} copies of {kept.name} beside it. Move them away. Nothing was charged.")


def _settings(connection: sqlite3.Connection) -> None:
    """WAL and FULL, asked for and then read back: on a disk that cannot, there is no ledger."""
    connection.execute(f"PRAGMA journal_mode = {JOURNAL}")
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA checkpoint_fullfsync = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    if not synced(connection):
        raise LedgerError(
            "This disk cannot promise to keep an entry through a power cut. Put the ledger on a local one."
        )


def synced(connection: sqlite3.Connection) -> bool:
    """Tell if a commit on this connection is synced to the disk before it returns."""
    (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
    (level,) = connection.execute("PRAGMA synchronous").fetchone()
    return bool(journal == "wal" and level >= 2)


def _patiently(step: Callable[[], object]) -> None:
    """Repeat a step that wrote nothing while another process holds the file, for at most ``PATIENCE`` seconds."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            step()
        except sqlite3.OperationalError as problem:
            if not _busy(problem) or time.monotonic() > until:
                raise
            time.sleep(0.005)
        else:
            return


def _busy(problem: sqlite3.Error) -> bool:
    return _code(problem) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _code(problem: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 when Python raised the error itself."""
    return getattr(problem, "sqlite_errorcode", 0) & 0xFF


@contextlib.contextmanager
def _sync(name: str) -> Iterator[None]:
    """From the first byte written on, an error means that the disk's state is unknown: stop, do not retry."""
    try:
        yield
    except sqlite3.Error:
        raise SyncError(
            f"The disk did not take the entry for {name}. Whether it is there is unknown, so nothing may be drawn; if "
            "it is there, it counts as spent. Check the disk, then start again."
        ) from None


@contextlib.contextmanager
def _words(name: str) -> Iterator[None]:
    """SQLite's errors as ours: no SQL, no values, no path but the one that was typed."""
    try:
        yield
    except sqlite3.Error as problem:
        raise LedgerError(_explain(name, _code(problem))) from None
    except UnicodeError:  # of a damaged name in SQLite's own message
        raise LedgerError(_explain(name, sqlite3.SQLITE_CORRUPT)) from None


def _explain(name: str, code: int) -> str:
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{name} is held by another process. Nothing was charged; try again when it has finished."
        case sqlite3.SQLITE_NOTADB:
            return f"{name} is not a ledger of reticent, or its beginning is damaged."
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_MISMATCH:
            return (
                f"{name} is damaged. Nothing was charged. Take its newest copy; compare its head with your last export."
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return f"{name} cannot be opened for writing: check its permissions and those of its folder."
        case sqlite3.SQLITE_FULL:
            return f"The disk of {name} is full. Nothing was charged."
        case _:
            return f"{name} cannot be used: the database or its disk reported an error. Nothing was charged."
