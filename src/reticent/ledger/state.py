"""The folder of what a user keeps on this machine between runs, and the last head of a ledger on a server there.

A ledger that lies on a server can be put back to an older state without a trace on this machine. So its head is kept
here with every entry, and looked for in the chain when the ledger is first read.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reticent.atomic_file import replace
from reticent.errors import LedgerError
from reticent.ledger.events import Event
from reticent.privacy.serialization import canonical

OWNER: Final = 0o600


def state_folder() -> Path:
    """The folder of what this user keeps between runs."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "reticent"


@dataclass(frozen=True, slots=True)
class HeadWitness:
    """The file that keeps the last head of a ledger. It is told of each entry, and never raises: the charge is made."""

    file: Path

    def __call__(self, ledger: str, event: Event, head: Callable[[], str]) -> None:
        with contextlib.suppress(Exception):  # of a folder or of the connection: an older head still holds
            noted = None
            while noted != (newest := head()):  # another process charged meanwhile, whose head we may have replaced
                noted = newest
                self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                replace(self.file, canonical({"identity": ledger, "head": noted}).encode("ascii"), mode=OWNER)

    def kept(self) -> tuple[str, str] | None:
        """Identity and head that were kept; None where none were.

        Raises
        ------
        LedgerError
            The file is there and cannot be read.
        """
        try:
            match json.loads(self.file.read_text(encoding="ascii")):
                case {"identity": str(identity), "head": str(head)}:
                    return identity, head
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, RecursionError):
            pass
        raise LedgerError(
            f"{self.file} keeps the last head of this ledger, and cannot be read. Restore it; delete it only if "
            "nothing was ever released under this ledger."
        )

    def forget(self) -> None:
        """Drop what is kept."""
        self.file.unlink(missing_ok=True)
