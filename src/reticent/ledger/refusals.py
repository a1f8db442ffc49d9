"""Requests that were declined: a log beside the ledger, outside its chain, which stays short whoever asks how often.

A refusal charges nothing and tells nothing of the rows, so nothing depends on this log: a line that is lost, cut or
made up changes no sum. Of one minute at most ``MOST_A_MINUTE`` lines are kept, by all processes together; the next line
that is kept says how many were left out here. A log of ``MOST_BYTES`` is put aside as ``.1``, in place of the one
before.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reticent.ledger.replay import Line
from reticent.privacy.serialization import canonical

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
