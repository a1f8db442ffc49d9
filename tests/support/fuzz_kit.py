"""What every fuzzer shares: canaries, a room in which all that is written can be seen, and the rules of an ending.

Row cells hold canaries: numbers of eight digits and words of sixteen letters. A canary counts as found where it stands
as a number of its own (plain, with separators, in exponent form), as a word, or in the bytes a pickle or an array would
hold. Declared bounds keep every released number below 10^6; noise would have to exceed its scale 10,000-fold to reach
eight digits, which has probability below exp(-10,000). A word has 7^16 > 3e13 forms, all outside hexadecimal.

Input ``number`` of a part depends on ``key`` and ``number`` alone, so that a finding can be made again.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import pickle
import random
import re
import shutil
import signal
import struct
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, Final

import reticent as rt
from reticent.errors import Fault, ReticentError
from reticent.ledger import Ledger

CODES: Final = (0, 2, 3, 4, 5, 6, 70, 130)
SLOW: Final = 20.0  # seconds of CPU that one input may take
GOING_ON: Final = (".ledger", ".ledger-wal", ".ledger-shm", ".reticent")  # ledgers and claims stay from input to input
LETTERS: Final = "qzxjkvw"
TRACEBACK: Final = b"Traceback (most recent call last)"
BROKEN: Final = b"An object that cannot be shown: "


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that must not happen: ``kind`` is canary, traceback, internal, code, charge, believed, slow, crash."""

    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Canaries:
    """Values that stand in rows and may stand nowhere else."""

    numbers: tuple[int, ...]
    words: tuple[str, ...]

    @classmethod
    def drawn(cls, chance: random.Random) -> Canaries:
        numbers = tuple(10 * chance.randrange(10**6, 10**7) + chance.choice([1, 3, 7, 9]) for _ in range(6))
        return cls(numbers, tuple("".join(chance.choices(LETTERS, k=16)) for _ in range(4)))

    def found(self, said: bytes) -> list[str]:
        """The canaries in ``said``."""
        hits = [word for word in self.words if word.encode() in said]
        return hits + [str(number) for number in self.numbers if _holds(said, number)]


def _holds(said: bytes, number: int) -> bool:
    plain = str(number).encode()
    if plain in said and re.search(rb"(?<![0-9a-fA-F.])%s(?![0-9a-fA-F])" % plain, said):
        return True
    grouped, exponent = f"{number:,}".encode(), f"{plain[:1].decode()}.{plain[1:].decode()}e".encode()
    raw = (struct.pack("<q", number), struct.pack("<d", number), struct.pack(">d", number), struct.pack(">q", number))
    return grouped in said or exponent in said.lower() or any(form in said for form in raw) or _pickled(said, number)


def _pickled(said: bytes, number: int) -> bool:
    return b"J" + struct.pack("<i", number) in said


@dataclass(slots=True)
class Room:
    """Where a fuzzed process lives: everything below ``root``, and every log record, is looked at after each input."""

    root: Path
    canaries: Canaries
    log: io.StringIO = field(default_factory=io.StringIO)
    kept: dict[Path, bytes] = field(default_factory=dict)
    endings: Counter[str] = field(default_factory=Counter)
    seen: dict[Path, tuple[int, int, int]] = field(default_factory=dict)  # as they were when last looked at

    @property
    def work(self) -> Path:
        return self.root / "work"

    def keep(self) -> None:
        """What lies here now is put back after each input, but for ledgers and claims, which go on."""
        self.kept = {file: file.read_bytes() for file in self.files() if not file.name.endswith(GOING_ON)}
        self.seen = {file: _state(file) for file in self.files()}

    def files(self) -> list[Path]:
        return [path for path in self.root.rglob("*") if path.is_file()]

    def swept(self, said: bytes, *sources: Path) -> list[Trouble]:
        """Look for canaries in ``said``, the log and every file but ``sources``; then put the room back."""
        places = {"output": said, "log": self.log.getvalue().encode(errors="backslashreplace")}
        self.log.seek(0)
        self.log.truncate()
        for file in self.files():
            state = _state(file)
            if self.seen.get(file) == state:
                continue
            if file not in sources and file.suffix != ".key":
                places[str(file.relative_to(self.root))] = file.read_bytes()
            if not file.name.endswith(GOING_ON):
                if file not in self.kept:
                    file.unlink()
                    continue
                file.write_bytes(self.kept[file])
            self.seen[file] = _state(file)
        for folder in sorted((path for path in self.root.glob("*/**/") if path.parent != self.root), reverse=True):
            if not any(folder.iterdir()):
                folder.rmdir()
        found = [Trouble("traceback", f"{piece[:200]!r}") for piece in said.split(BROKEN)[1:]]
        return found + [
            Trouble("canary", f"{hit} in {where}") for where, blob in places.items() for hit in self.found(blob)
        ]

    def found(self, blob: bytes) -> list[str]:
        return self.canaries.found(blob)


def _state(file: Path) -> tuple[int, int, int]:
    found = file.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextlib.contextmanager
def room(root: Path, canaries: Canaries) -> Iterator[Room]:
    """A new room at ``root``; working folder, temporary folder, home and log are inside until the end."""
    made = Room(root, canaries)
    for folder in ("work", "tmp", "home"):
        (root / folder).mkdir(parents=True)
    handler = logging.StreamHandler(made.log)
    places = {"TMPDIR": str(root / "tmp"), "HOME": str(root / "home"), "XDG_STATE_HOME": str(root / "home")}
    before, cwd, temporary = {name: os.environ.get(name) for name in places}, Path.cwd(), tempfile.tempdir
    level = logging.getLogger().level
    _warm()
    try:
        os.environ.update(places)
        tempfile.tempdir = str(root / "tmp")
        os.chdir(made.work)
        logging.getLogger().addHandler(handler)
        logging.getLogger().setLevel(logging.DEBUG)
        yield made
    finally:
        logging.getLogger().setLevel(level)
        logging.getLogger().removeHandler(handler)
        os.chdir(cwd)
        tempfile.tempdir = temporary
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
        shutil.rmtree(root, ignore_errors=True)


@cache
def _warm() -> None:
    """Caches of fonts and the like belong to the user and not to the room."""
    with contextlib.suppress(ImportError):
        import matplotlib.pyplot  # noqa: F401


# --- endings ----------------------------------------------------------------------------------------------------------


class Slow(BaseException):
    """An input took more CPU than any input may."""


@contextlib.contextmanager
def limited(seconds: float = SLOW) -> Iterator[None]:
    """Raise ``Slow`` after this much CPU; the main thread only."""

    def stop(_: int, __: FrameType | None) -> None:
        raise Slow

    kept = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, kept)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended and every byte it wrote to its streams."""

    words: tuple[str, ...]
    code: object
    out: bytes
    err: bytes

    @property
    def said(self) -> bytes:
        return self.out + b"\n" + self.err

    def troubles(self) -> list[Trouble]:
        """What the table of exit codes does not allow."""
        shown = " ".join(self.words)[:300]
        found = [] if self.code in CODES else [Trouble("code", f"{self.code!r} from: {shown}")]
        if TRACEBACK in self.said:
            found.append(Trouble("traceback", shown))
        if self.code == 70 and b"Internal fault" in self.err and b"after the charge" not in self.err:
            found.append(
                Trouble("internal", f"{self.err.decode(errors='replace').splitlines()[-1][:200]} from: {shown}")
            )
        return found


@cache
def _command() -> Any:
    from reticent.cli.app import app

    return app


def run_here(words: Sequence[str]) -> Ran:
    """A command line in this process; what C libraries write to the streams is caught too."""
    kept = sys.stdin, sys.stdout, sys.stderr
    code: object = 0
    with _caught(1) as out, _caught(2) as err:
        sys.stdin = io.StringIO()
        sys.stdout, sys.stderr = (io.TextIOWrapper(os.fdopen(os.dup(n), "wb"), encoding="utf-8") for n in (1, 2))
        try:
            _command().main(list(words), prog_name="reticent")
        except SystemExit as ending:
            code = 0 if ending.code is None else ending.code
        except Exception:
            sys.stderr.write(traceback.format_exc())
            code = "exception"
        finally:
            sys.stdout.close()
            sys.stderr.close()
            sys.stdin, sys.stdout, sys.stderr = kept
    return Ran(tuple(words), code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _caught(descriptor: int) -> Iterator[io.BytesIO]:
    said, kept = io.BytesIO(), os.dup(descriptor)
    with tempfile.TemporaryFile(dir="/tmp") as file:
        os.dup2(file.fileno(), descriptor)
        try:
            yield said
        finally:
            os.dup2(kept, descriptor)
            os.close(kept)
            file.seek(0)
            said.write(file.read())


# --- objects ----------------------------------------------------------------------------------------------------------


def shown(*objects: object) -> bytes:
    """What a notebook can make these objects say: repr, str, HTML, fields, pickle."""
    said = io.BytesIO()
    ways: tuple[Callable[[object], str | bytes], ...] = (repr, str, _html, _fields, pickle.dumps)
    for one in objects:
        for way in ways:
            try:
                found = way(one)
            except (ReticentError, pickle.PicklingError) as error:
                found = told(error)
            except Exception as error:
                unpicklable = way is pickle.dumps and isinstance(error, TypeError | AttributeError)
                found = told(error) if unpicklable else BROKEN + repr(error).encode() + told(error)
            said.write(found if isinstance(found, bytes) else str(found).encode(errors="backslashreplace"))
            said.write(b"\n")
    return said.getvalue()


def _html(one: Any) -> str:
    return str(one._repr_html_()) if hasattr(one, "_repr_html_") else ""


def _fields(one: object) -> str:
    names = [name for name in dir(one) if not name.startswith("_")]
    said = []
    for name in names:
        try:
            value = getattr(one, name)
        except ReticentError as error:
            value = error
        said.append("" if callable(value) else repr(value))
    return " ".join(said)


def told(error: BaseException) -> bytes:
    """What an exception says: itself, its causes and contexts, the traceback without locals, its pickle."""
    said = [repr(error), *traceback.format_exception(error)]
    chain: list[BaseException] = [error]
    for one in chain:
        said += [repr(one), str(one), repr(one.args), repr(vars(one))]
        chain += [more for more in (one.__cause__, one.__context__) if more is not None and more not in chain]
    pickled = b""
    with contextlib.suppress(TypeError, AttributeError, pickle.PicklingError):
        pickled = pickle.dumps(error)
    return "\n".join(said).encode(errors="backslashreplace") + pickled


@dataclass(frozen=True, slots=True)
class Tried:
    """What calling the library came to: a value, a typed ending, or a trouble."""

    value: Any
    ending: ReticentError | None
    said: bytes
    troubles: tuple[Trouble, ...] = ()

    @property
    def name(self) -> str:
        """How it ended, in a word."""
        return "exception" if self.troubles else "done" if self.ending is None else type(self.ending).__name__


def tried(call: Any, what: str) -> Tried:
    """Call the library; an exception that is none of its own is a trouble."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        value: Any = None
        ending: ReticentError | None = None
        said, found = b"", list[Trouble]()
        try:
            value = call()
        except ReticentError as error:
            ending, said = error, told(error)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{what}: {type(error).__name__}: {str(error)[:120]} ({Path(where.filename).name}:{where.lineno})"
            said, found = told(error), [Trouble("traceback", words)]
    said += b"\n".join(str(one.message).encode(errors="backslashreplace") for one in heard)
    return Tried(value, ending, said, tuple(found))


def debts(done: Tried, moved: Any) -> list[Trouble]:
    """What is wrong where a release ended like this and the ledger went up by ``moved``; some answers cost nothing."""
    owed = size(done.value.certificate.charged) if done.value is not None else 0
    if isinstance(done.ending, Fault):
        return [] if moved > 0 else [Trouble("charge", "a fault without a debit")]
    return [] if moved == owed else [Trouble("charge", f"{owed} was owed and {moved} charged: {done.name}")]


def balance(ledger: Path) -> object:
    """What a ledger says is spent; None where there is none yet."""
    return Ledger.open(ledger).spent() if ledger.exists() else None


def released(study: rt.Study, ask: Sequence[Any], epsilon: str) -> Tried:
    """A release by the library, with the books compared before and after."""
    place = Path(str(study.spec.ledger))
    before = size(balance(place))
    done = tried(lambda: study.release(ask, epsilon=epsilon), f"release {list(ask)}"[:200])
    moved = size(balance(place)) - before
    found = [*done.troubles, *debts(done, moved)]
    return Tried(done.value, done.ending, done.said, tuple(found))


def size(loss: object) -> Any:
    """The size of a loss, in whatever currency."""
    return 0 if loss is None else getattr(loss, "epsilon", None) or getattr(loss, "rho", 0)
