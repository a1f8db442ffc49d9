"""Work on private rows as the caller's settings leave it: none of them changes what it does, or tells of a row.

A caller may have asked for errors or warnings on overflow. The fault or the warning would then tell the caller that
some row made a number overflow. Within ``undisturbed`` both are off.

Settings of floating-point errors belong to a thread, those of warnings to the process. So warnings are off while any
thread is within, and the former setting is put back when the last thread leaves. With a count of its own, a thread
could restore last a setting that another thread had switched off.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class Silence:
    """Warnings of this process, off from the first who enters until the last one leaves."""

    __slots__ = ("_held", "_lock", "_within")

    def __init__(self) -> None:
        self._lock, self._within = threading.Lock(), 0
        self._held = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            self._within += 1
            if self._within == 1:
                self._held = warnings.catch_warnings(action="ignore")
                self._held.__enter__()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._within -= 1
            if self._within == 0:
                self._held.__exit__(None, None, None)


SILENCE = Silence()  # the filters of warnings are one list for the whole process, and so is the count


@contextmanager
def undisturbed() -> Iterator[None]:
    """Neither warnings nor floating-point errors, whatever the caller set."""
    import numpy as np  # here, so that importing the package stays light

    with SILENCE, np.errstate(all="ignore"):
        yield


__all__ = ["undisturbed"]
