"""Power cuts: every disk that may be found after one, worked out from the system calls of a writer.

A kill leaves the page cache, a power cut does not. So a writer is traced, and for every moment in its trace every state
of the disk that the promises of the system allow is built and opened: of the writes since a file's last sync any subset
may have arrived, one of them torn; of the changes to the folder since its last sync, any first few. The shared-memory
file is left out, since SQLite builds it anew.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

from reticent.errors import LedgerError
from reticent.ledger import Ledger, sqlite_store
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP

ROOT = Path(__file__).parents[2]
SECTOR = 512
CALLS = "openat,pwrite64,write,fdatasync,fsync,ftruncate,link,unlink,rename"
LINE = re.compile(r"^(?:\[?(?:pid +)?\d+\]? +)?(?P<call>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+)")
QUOTED = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
HELD = re.compile(r"^\d+<((?:\\x[0-9a-f]{2})*)>")


@dataclass(frozen=True, slots=True)
class Call:
    """One change to the disk: ``name`` and, for link and rename, ``other`` are names in the traced folder."""

    kind: Literal["write", "truncate", "sync", "create", "link", "unlink", "sync folder", "say"]
    name: str = ""
    data: bytes = b""
    at: int = 0
    other: str = ""


def write_and_say(file: Path, charges: int, level: str, beside: int) -> None:
    """The writer that is traced: it makes a ledger and charges, and says so after each.

    With a reader ``beside`` it, closing a connection no longer copies the log into the file, so that a charge rests on
    the sync of the log alone.
    """
    if level != "FULL":  # the mutants
        sqlite_store.SYNCHRONOUS = {"OFF": 0, "NORMAL": 1}[level]  # type: ignore[misc]
        sqlite_store.synced = lambda connection: True
    person = Adjacency("add_remove")
    ledger = Ledger.create(file, title="t", adjacency=person, budget=PureDP(Fraction(100)))
    _say(file.parent)
    with contextlib.ExitStack() as open_ones:
        for _ in range(beside):
            reader = open_ones.enter_context(contextlib.closing(sqlite3.connect(file)))
            reader.execute("SELECT COUNT(*) FROM entries").fetchone()
        for number in range(charges):
            ledger.reserve(PureDP(Fraction(1)), adjacency=person, what=f"table {number}")
            _say(file.parent)


def traced(file: Path, charges: int, level: str = "FULL", beside: int = 0) -> list[Call]:
    """What ``write_and_say`` did to the folder of ``file``, in order."""
    log = file.parent.with_name(file.parent.name + ".trace")
    command = ["strace", "-f", "-y", "-xx", "-s", "10000000", "-e", f"trace={CALLS}", "-o", str(log), sys.executable]
    run = f"write_and_say(Path({str(file)!r}), {charges}, {level!r}, {beside})"
    code = f"from tests.support.ledger_power import *; {run}"
    subprocess.run([*command, "-c", code], check=True, capture_output=True, cwd=ROOT)
    return list(_calls(log.read_text(errors="replace").splitlines(), file.parent))


def can_trace() -> bool:
    """Whether strace is there and may trace."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0


@dataclass(slots=True)
class Disk:
    """Files by number, names in a folder; what is certain, and what may or may not have arrived."""

    certain: dict[int, bytes] = field(default_factory=dict)
    pending: dict[int, list[Call]] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    certain_names: dict[str, int] = field(default_factory=dict)
    changes: list[dict[str, int]] = field(default_factory=list)
    said: int = -1

    def take(self, call: Call) -> None:
        match call.kind:
            case "create":
                if call.name not in self.names:
                    number = len(self.certain)
                    self.certain[number], self.pending[number] = b"", []
                    self._renamed({**self.names, call.name: number})
            case "link":
                self._renamed({**self.names, call.other: self.names[call.name]})
            case "unlink":
                self._renamed({name: number for name, number in self.names.items() if name != call.name})
            case "sync folder":
                self.certain_names, self.changes = self.names, []
            case "sync":
                number = self.names[call.name]
                self.certain[number] = _applied(self.certain[number], self.pending[number])
                self.pending[number] = []
            case "write" | "truncate":
                self.pending[self.names[call.name]].append(call)
            case "say":
                self.said += 1

    def _renamed(self, names: dict[str, int]) -> None:
        self.names = names
        self.changes.append(names)

    def images(self, chance: random.Random, most: int) -> Iterator[dict[str, bytes]]:
        """Folders that may be found after a cut now; at most ``most`` for each state of the names."""
        for names in [self.certain_names, *self.changes]:
            numbers = sorted(set(names.values()))
            choices = [list(_arrivals(self.pending[number])) for number in numbers]
            combinations: Sequence[tuple[list[Call], ...]] = list(
                itertools.islice(itertools.product(*choices), 100_000)
            )
            if len(combinations) > most:
                combinations = [combinations[0], combinations[-1], *chance.sample(combinations, most)]
            for arrived in combinations:
                content = {n: _applied(self.certain[n], calls) for n, calls in zip(numbers, arrived, strict=True)}
                yield {name: content[number] for name, number in names.items()}


def survivors(calls: Sequence[Call], folder: Path, chance: random.Random, most: int = 40) -> tuple[int, int, int]:
    """Images opened, images in which a charge that was spoken of is missing, and images that cannot be read."""
    disk, tried, lost, unreadable = Disk(), 0, 0, 0
    seen: set[tuple[int, int]] = set()
    for call in [Call("sync folder"), *calls]:
        disk.take(call)
        for image in disk.images(chance, most):
            mark = (hash(tuple(sorted(image.items()))), disk.said)
            if mark in seen:
                continue
            seen.add(mark)
            tried += 1
            kept = _charges_in(image, folder)
            unreadable += kept is None and disk.said >= 0
            lost += kept is not None and not disk.said <= kept <= disk.said + 1 and disk.said >= 0
    return tried, lost, unreadable


def _charges_in(image: dict[str, bytes], folder: Path) -> int | None:
    """Charges a ledger opened on this disk knows of; None when there is no sound ledger."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in image.items():
        if not name.endswith("-shm"):
            (folder / name).write_bytes(content)
    try:
        ledger = Ledger.open(folder / "rand.ledger")
        return None if ledger.verify() else len(ledger.releases())
    except LedgerError:
        return None


def _arrivals(pending: list[Call]) -> Iterator[list[Call]]:
    """Every subset of the writes, in order, and each subset with its last write torn."""
    for size in range(len(pending) + 1):
        for chosen in itertools.combinations(pending, size):
            yield list(chosen)
            if chosen and chosen[-1].kind == "write" and len(chosen[-1].data) > SECTOR:
                torn = chosen[-1]
                half = len(torn.data) // 2 // SECTOR * SECTOR
                yield [*chosen[:-1], Call("write", torn.name, torn.data[:half], torn.at)]


def _applied(content: bytes, calls: Sequence[Call]) -> bytes:
    for call in calls:
        if call.kind == "truncate":
            content = content[: call.at].ljust(call.at, b"\0")
        else:
            content = content.ljust(call.at, b"\0")
            content = content[: call.at] + call.data + content[call.at + len(call.data) :]
    return content


def _say(folder: Path) -> None:
    """Tell the trace that one more step (first the making of the ledger, then each charge) is acknowledged."""
    with (folder.parent / f"{folder.name}.said").open("ab", buffering=0) as file:
        file.write(b"said")


def _calls(lines: Sequence[str], folder: Path) -> Iterator[Call]:
    for line in lines:
        found = LINE.match(line)
        if found is None or int(found["result"]) < 0:
            continue
        arguments, texts = found["arguments"], [_text(text) for text in QUOTED.findall(found["arguments"])]
        held = HELD.match(arguments)
        path = Path(_text(held[1]).decode() if held else "/")
        match found["call"]:
            case "openat" if "O_CREAT" in arguments and Path(texts[0].decode()).parent == folder:
                yield Call("create", Path(texts[0].decode()).name)
            case "pwrite64" if path.parent == folder:
                yield Call("write", path.name, texts[0], int(arguments.rsplit(", ", 1)[1]))
            case "ftruncate" if path.parent == folder:
                yield Call("truncate", path.name, at=int(arguments.rsplit(", ", 1)[1]))
            case "fsync" | "fdatasync" if path == folder:
                yield Call("sync folder")
            case "fsync" | "fdatasync" if path.parent == folder:
                yield Call("sync", path.name)
            case "link" if Path(texts[1].decode()).parent == folder:
                yield Call("link", Path(texts[0].decode()).name, other=Path(texts[1].decode()).name)
            case "unlink" if Path(texts[0].decode()).parent == folder:
                yield Call("unlink", Path(texts[0].decode()).name)
            case "write" if path.name == f"{folder.name}.said":
                yield Call("say")


def _text(quoted: str) -> bytes:
    return bytes.fromhex(quoted.replace("\\x", ""))
