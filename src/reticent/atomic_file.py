"""Atomic files: a reader sees the old content or the new, and a link of that name is never followed.

    create(path, content)     a new file; FileExistsError where the name is taken, a dangling link included
    replace(path, content)    the file of that name from now on; a link is replaced, and what it led to is not

Both write a draft beside it, under a name that was free, and sync it before it gets its name.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

EVERYONE: Final = 0o666  # less what the user's mask takes away
FRESH: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def create(path: Path, content: bytes, *, mode: int = EVERYONE) -> None:
    """Write a file that is not there yet.

    Parameters
    ----------
    path : Path
    content : bytes
    mode : int
        Permissions of the file.

    Raises
    ------
    FileExistsError
        When anything has that name.
    OSError
        When it cannot be written; nothing is left then.
    """
    if os.path.lexists(path):
        raise FileExistsError(path)
    with _draft(path, content, mode) as draft:
        try:
            os.link(draft, path)
        except FileExistsError:
            raise
        except OSError:  # a disk without hard links
            _write(path, content, mode)


def replace(path: Path, content: bytes, *, mode: int = EVERYONE) -> None:
    """Write a file, in place of one that has its name.

    Parameters
    ----------
    path : Path
    content : bytes
    mode : int
        Permissions of the file.

    Raises
    ------
    OSError
        When it cannot be written; what was there stays.
    """
    with _draft(path, content, mode) as draft:
        os.replace(draft, path)


@contextlib.contextmanager
def _draft(path: Path, content: bytes, mode: int) -> Iterator[Path]:
    draft = path.with_name(f".{uuid.uuid4().hex}.draft")
    try:
        _write(draft, content, mode)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _write(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, FRESH, mode), "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
