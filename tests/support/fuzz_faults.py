"""Disks that fail: every call on a ledger made to fail once, every limit on the size of a file, every byte changed.

    failing calls   strace lets one system call of a writer on the ledger's files fail (EIO, ENOSPC)
    short writes    a limit on the size of files lets the kernel write a part and refuse the rest
    failing steps   in this process, one statement of SQLite or one call on files fails, before or after it was done,
                    while a whole release runs
    tampering       bytes flipped, the file cut, rows swapped, repeated, removed

What is judged is always the same: a charge that was acknowledged is in the ledger, a refusal that says nothing was
charged tells the truth, and the file can be read or says that it cannot.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest import mock

import reticent as rt
from reticent.errors import Fault, LedgerError, Refusal, ReticentError
from reticent.ledger import Ledger, sqlite_store
from reticent.ledger.store import SyncError
from tests.support.fuzz_study import BASE
from tests.support.ledger_kit import PERSON, charge, eps, forked, joined, ledger_at

ROOT: Final = Path(__file__).parents[2]
NAME: Final = "rand.ledger"
DRAFT: Final = "0" * 32
ERRORS: Final = ("EIO", "ENOSPC")
CALL: Final = re.compile(r"^(?:\d+ +)?(\w+)\(")


@dataclass(frozen=True, slots=True)
class Harm:
    """What faults did. ``unknown`` is a refusal that cannot tell whether it was charged; the last five must be 0.

    ``stillborn`` is a ledger that was said to be made and then refuses every use: nothing is lost, but nothing works.
    """

    points: int = 0
    answered: int = 0
    refused: int = 0
    unknown: int = 0
    faults: int = 0
    lost: int = 0
    untrue: int = 0
    unreadable: int = 0
    untyped: int = 0
    stillborn: int = 0

    def __add__(self, other: Harm) -> Harm:
        return Harm(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def bad(self) -> int:
        return self.lost + self.untrue + self.unreadable + self.untyped


# --- a writer whose disk fails ----------------------------------------------------------------------------------------


def spender(folder: Path, said: Path, spend: Callable[[Ledger, str], object] | None = None) -> None:
    """Make a ledger, unless there is one, and charge it three times; a line in ``said`` for each step, synced."""
    steps: list[tuple[str, Callable[[], object]]] = []
    if not (folder / NAME).exists():
        steps.append(("made", lambda: ledger_at(folder / NAME, eps(100))))
    for token in ("t0", "t1", "t2"):
        steps.append((token, partial(_spend, folder, token, spend)))
    with said.open("ab", buffering=0) as file:
        for token, step in steps:
            try:
                step()
                ending = "done"
            except SyncError:
                ending = "unknown"
            except Refusal:
                ending = "refused"
            except Exception as error:
                ending = f"untyped {type(error).__name__}"
            file.write(json.dumps([token, ending]).encode() + b"\n")
            os.fsync(file.fileno())


def _spend(folder: Path, token: str, spend: Callable[[Ledger, str], object] | None) -> None:
    ledger = Ledger.open(folder / NAME)
    if spend is None:
        charge(ledger, what=token)
    else:
        spend(ledger, token)


def judged(folder: Path, said: Path) -> Harm:
    """What is in the ledger afterwards against what was said."""
    endings = dict(json.loads(line) for line in said.read_text().splitlines()) if said.exists() else {}
    answered, refused, unknown = (list(endings.values()).count(kind) for kind in ("done", "refused", "unknown"))
    untyped = sum(ending.startswith("untyped") for ending in endings.values())
    counted = Harm(1, answered, refused, unknown, untyped=untyped)
    if not (folder / NAME).exists():
        return counted + Harm(lost=sum(ending == "done" for ending in endings.values()))
    try:
        ledger = Ledger.open(folder / NAME)
        broken = ledger.verify() != ()
        kept = [line.what for line in ledger.releases()] if not broken else []
    except LedgerError:
        broken, kept = True, []
    done = [token for token, ending in endings.items() if ending == "done" and token != "made"]
    broken_as = "unreadable" if done or not broken else "stillborn"
    untrue = sum(endings.get(token) == "refused" for token in kept) + len(kept) - len(set(kept))
    return counted + Harm(lost=len(set(done) - set(kept)), untrue=untrue, **{broken_as: int(broken)})


def calls_of(folder: Path) -> list[tuple[str, int]]:
    """Every system call of a writer on the ledger's files: its name and its place among those of that name."""
    log = _strace(folder, [])
    seen: dict[str, int] = {}
    found = []
    for line in log.read_text(errors="replace").splitlines():
        match = CALL.match(line)
        if match:
            seen[match[1]] = seen.get(match[1], 0) + 1
            found.append((match[1], seen[match[1]]))
    return found


def call_fails(folder: Path, call: str, place: int, error: str, spend: str = "None") -> Harm:
    """One of those calls fails with ``error``."""
    log = _strace(folder, ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={place}"], spend)
    assert "INJECTED" in log.read_text(errors="replace") or call in ("close", "fcntl", "newfstatat"), (call, place)
    return judged(folder / "disk", folder / "said")


def _strace(folder: Path, more: list[str], spend: str = "None") -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    disk = folder / "disk"
    disk.mkdir(parents=True)
    names = [NAME, f".{NAME}.{DRAFT}"]
    paths = [disk, *(disk / f"{name}{ending}" for name in names for ending in ("", "-wal", "-shm", "-journal"))]
    watched = [word for path in paths for word in ("-P", str(path))]
    run = f"spender(Path({str(disk)!r}), Path({str(folder / 'said')!r}), {spend})"
    code = f"from tests.support.fuzz_faults import *; fixed(); {run}"
    line = ["strace", "-f", "-o", str(folder / "log"), *watched, *more, sys.executable, "-c", code]
    subprocess.run(line, cwd=ROOT, capture_output=True, check=False, timeout=300)
    return folder / "log"


def fixed() -> None:
    """The name a ledger is built under, which is random, must be known to be watched."""
    name = types.SimpleNamespace(hex=DRAFT)
    mock.patch("reticent.ledger.sqlite_store.uuid.uuid4", return_value=name).start()


def hasty(ledger: Ledger, token: str) -> None:
    """The mutant: whatever the ledger says, the answer leaves."""
    with contextlib.suppress(ReticentError):
        charge(ledger, what=token)


def limited_files(folder: Path, most: int, spend: Callable[[Ledger, str], object] | None = None) -> Harm:
    """No file of the writer may grow beyond ``most`` bytes: the write that reaches it is a short one.

    A reader beside the writer keeps the log, which then grows from charge to charge, and the shared memory, which has
    its size before the limit is set.
    """
    shutil.rmtree(folder, ignore_errors=True)
    disk = folder / "disk"
    disk.mkdir(parents=True)

    def child() -> None:
        ledger_at(disk / NAME, eps(100))
        with contextlib.closing(sqlite3.connect(disk / NAME)) as reader:
            reader.execute("SELECT COUNT(*) FROM entries").fetchone()
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
            spender(disk, folder / "said", spend)

    joined([forked(child)])
    return judged(disk, folder / "said")


# --- a release whose steps fail ---------------------------------------------------------------------------------------


class Failing:
    """Counts the steps that touch the ledger or a file of ``folder``; the one numbered ``at`` fails."""

    def __init__(self, folder: Path, at: int, *, after: bool) -> None:
        self.folder, self.at, self.after, self.steps = folder, at, after, 0

    def step(self, call: Callable[..., Any], error: Exception, *words: Any, **named: Any) -> Any:
        self.steps += 1
        if self.steps != self.at:
            return call(*words, **named)
        if self.after:
            call(*words, **named)
        raise error

    def connection(self) -> type[sqlite3.Connection]:
        outer = self

        class Connection(sqlite3.Connection):
            def execute(self, *words: Any) -> sqlite3.Cursor:
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR
                done: sqlite3.Cursor = outer.step(super().execute, error, *words)
                return done

        return Connection

    @contextlib.contextmanager
    def disk(self) -> Iterator[None]:
        """While this is open, steps are counted."""

        def counted(call: Callable[..., Any]) -> Callable[..., Any]:
            def wrapped(*words: Any, **named: Any) -> Any:
                first = words[0] if words else None
                mine = not isinstance(first, str | os.PathLike) or str(first).startswith(str(self.folder))
                if not mine:
                    return call(*words, **named)
                return self.step(call, OSError(5, "Input/output error"), *words, **named)

            return wrapped

        connect, factory = sqlite3.connect, self.connection()
        with contextlib.ExitStack() as patched:
            patched.enter_context(
                mock.patch.object(sqlite3, "connect", lambda *w, **n: connect(*w, **{**n, "factory": factory}))
            )
            for holder, name in (
                (os, "fsync"),
                (os, "link"),
                (os, "replace"),
                (os, "unlink"),
                (io, "open"),
                (builtins, "open"),
            ):
                patched.enter_context(mock.patch.object(holder, name, counted(getattr(holder, name))))
            yield


def clinic(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.csv").write_text("pid,age,cost,town\n" + "\n".join(f"{n},{n},{n},{'ab'[n % 2]}" for n in range(20)))
    (folder / "study.toml").write_text(BASE)
    return folder / "study.toml"


def release_fails(folder: Path, at: int, *, after: bool) -> tuple[Harm, int]:
    """A whole release in which one step fails; what came of it, and how many steps there were."""
    shutil.rmtree(folder, ignore_errors=True)
    study = rt.open(clinic(folder))
    failing = Failing(folder, at, after=after)
    ending: BaseException | None = None
    home = {"XDG_STATE_HOME": str(folder / "home")}  # where a claim goes that cannot be written beside its source
    with mock.patch.dict(os.environ, home), failing.disk():
        try:
            study.release(["count"], epsilon="1")
        except Exception as error:
            ending = error
    harm = Harm(points=1)
    ledger = folder / "rows.ledger"
    try:
        spent = ledger.exists() and Ledger.open(ledger).spent() != eps(0)
        broken = ledger.exists() and Ledger.open(ledger).verify() != ()
    except LedgerError:
        spent = broken = True
    match ending:
        case None:
            harm += Harm(answered=1, lost=int(not spent))
        case Fault():
            harm += Harm(faults=1, lost=int(not spent))
        case SyncError():
            harm += Harm(unknown=1)
        case Refusal():
            harm += Harm(refused=1, untrue=int(spent))
        case _:
            harm += Harm(untyped=1)
    return harm + Harm(unreadable=int(broken)), failing.steps


# --- tampering --------------------------------------------------------------------------------------------------------

SWAPS: Final = (
    "DELETE FROM entries WHERE number = {0}",
    "UPDATE entries SET body = (SELECT body FROM entries WHERE number = {1}) WHERE number = {0}",
    "UPDATE entries SET digest = (SELECT digest FROM entries WHERE number = {1}) WHERE number = {0}",
    "UPDATE entries SET number = -1 WHERE number = {0}; UPDATE entries SET number = {0} WHERE number = {1}; "
    "UPDATE entries SET number = {1} WHERE number = -1",
    "INSERT INTO entries SELECT number + 100, body, digest FROM entries WHERE number = {0}",
    "UPDATE entries SET body = replace(body, '1', '2') WHERE number = {0}",
)


def tamperable(folder: Path) -> tuple[Path, str, dict[str, object]]:
    """A ledger with charges and a commit, its head and what it exports."""
    folder.mkdir(parents=True, exist_ok=True)
    ledger = ledger_at(folder / NAME, eps(10))
    for what in ("table 1", "table 2"):
        charge(ledger, what=what)
    ledger.commit(ledger.reserve(eps(1), adjacency=PERSON, what="table 3"), digest="d")
    return folder / NAME, ledger.head, ledger.export()


def tampered(file: Path, head: str, before: dict[str, object]) -> str:
    """``noticed``, ``harmless``, or ``missed``."""
    try:
        ledger = Ledger.open(file)
        if ledger.verify(head=head):
            return "noticed"
        return "harmless" if ledger.export() == before else "missed"
    except LedgerError:
        return "noticed"
    except Exception:
        return "untyped"


def flipped(file: Path, whole: bytes, place: int, mask: int) -> None:
    file.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])


def swapped(file: Path, chance: random.Random) -> None:
    """Rows changed by someone who takes the triggers away and puts them back."""
    first, second = chance.sample(range(1, 6), 2)
    statement = chance.choice(SWAPS).format(first, second)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for trigger in sqlite_store.ENTRIES[1:]:
            connection.execute(f"DROP TRIGGER {trigger.split()[2]}")
        for text in (*statement.split("; "), *sqlite_store.ENTRIES[1:]):
            connection.execute(text)


def tampering(folder: Path, chance: random.Random, number: int) -> dict[str, int]:
    """``number`` changes to one ledger: two thirds bytes, the rest cuts and rows."""
    shutil.rmtree(folder, ignore_errors=True)
    file, head, before = tamperable(folder)
    whole, counted = file.read_bytes(), {"noticed": 0, "harmless": 0, "missed": 0, "untyped": 0}
    for _ in range(number):
        file.write_bytes(whole)
        match chance.randrange(6):
            case 0:
                file.write_bytes(whole[: chance.randrange(len(whole))])
            case 1:
                swapped(file, chance)
            case _:
                flipped(file, whole, chance.randrange(len(whole)), 1 << chance.randrange(8))
        counted[tampered(file, head, before)] += 1
        for left in folder.glob(f"{NAME}-*"):
            left.unlink()
    return counted
