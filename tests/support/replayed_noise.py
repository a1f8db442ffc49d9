"""Noise of a test, drawn from a stream that the test names: a test that was green is green until the code changes.

The operating system's bits stay with the long tier, with tests marked ``fresh``, with forked children and with the
processes a test starts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import getpid

import pytest

from reticent import entropy
from reticent.entropy import Replayed
from reticent.exact import gaussian, laplace

Read = Callable[[int], bytes]

SYSTEM: Read = entropy._read


def stream(name: str) -> Read:
    """A reader of the stream of that name, for the threads of this process."""
    replayed, lock, owner = Replayed(name), threading.RLock(), getpid()

    def read(size: int) -> bytes:
        if getpid() != owner:
            return SYSTEM(size)
        with lock:
            return replayed._read(size)

    return read


def draw_from(read: Read) -> None:
    """Let whatever is drawn from now on come from ``read``: values drawn ahead are dropped."""
    entropy._read = read  # type: ignore[assignment]
    for kept in (laplace._ahead, gaussian._ahead):
        kept.blocks.clear()


@contextmanager
def drawn_from(read: Read) -> Iterator[None]:
    """Draw from ``read``, and afterwards from what was read before."""
    before = entropy._read
    draw_from(read)
    try:
        yield
    finally:
        draw_from(before)


@pytest.fixture
def same_noise() -> Iterator[Callable[[], None]]:
    """Whatever is drawn after a call is drawn again after the next one."""
    with drawn_from(entropy._read):
        yield lambda: draw_from(stream("noise"))
