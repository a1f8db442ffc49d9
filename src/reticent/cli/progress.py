"""Progress of a run that takes longer than two seconds: its stage for everybody, rows and time left at a terminal.

A verb without stages has a name and a clock at a terminal, which leave no trace.

How many rows there are, and so how long reading takes, can be private. Rows and time left are therefore drawn on
standard error alone, and only where that is a terminal: never in output, in a notebook, or in the log of a job.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Final, TextIO

PATIENCE: Final = 2.0  # seconds before a bar is drawn
TICK: Final = 0.2  # seconds between two drawings
WIDTH: Final = 24  # signs of a bar
CLEAR: Final = "\r\x1b[K"
FULL, EMPTY = "█", "░"


@dataclass(slots=True)
class Progress:
    """One line that is drawn again and again; ``stages`` are the words that stay in front of it.

    Attributes
    ----------
    stream : TextIO
        A terminal.
    stages : str
        Stages so far, the last of them under way.
    waiting : str
        Name of work without stages, drawn with its clock and taken away with it.
    """

    stream: TextIO
    stages: str = ""
    waiting: str = ""
    _began: float = field(default_factory=time.monotonic)
    _rows: int = 0
    _share: float = 0.0
    _drawn: bool = False
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def stage(self, words: str) -> None:
        """Begin a stage: its words stay, and its clock starts."""
        with self._lock:
            self._clear()
            self.stream.write(words)
            self.stream.flush()
            self.stages += words
            self._began, self._rows, self._share = time.monotonic(), 0, 0.0
        self.start()

    def start(self) -> None:
        """Let the clock run; nothing is written before it is drawn."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def rows(self, count: int, share: float) -> None:
        """Rows read so far, and the share of the source that they are; 0 where the whole is not known."""
        self._rows, self._share = count, share

    def stop(self) -> None:
        """Take the line away; stages stay."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._clear()

    def _run(self) -> None:
        while not self._over.wait(TICK):
            with self._lock:
                spent = time.monotonic() - self._began
                if spent > PATIENCE and not self._over.is_set():
                    self._clear()
                    before = f"{self.waiting} … " if self.waiting else "" if self.stages.endswith(" ") else " "
                    self.stream.write(before + line(spent, self._rows, self._share))
                    self.stream.flush()
                    self._drawn = True

    def _clear(self) -> None:
        if self._drawn:
            self.stream.write(f"{CLEAR}{self.stages}")
            self.stream.flush()
            self._drawn = False


def line(spent: float, rows: int, share: float) -> str:
    """The bar after ``spent`` seconds: of a known share with the time left, else the time spent.

    Parameters
    ----------
    spent : float
        Seconds since the start.
    rows : int
        Rows read so far; 0 leaves them out.
    share : float
        Part of the work that is done, in (0, 1]; any other number for an unknown share.

    Returns
    -------
    str
        One line of text.
    """
    read = f"  {rows:,} rows" if rows else ""
    if not 0 < share <= 1:
        return f"{clock(spent)}{read}"
    full = round(WIDTH * share)
    left = clock(spent / share - spent)
    return f"{FULL * full}{EMPTY * (WIDTH - full)} {share:4.0%}{read}  {left} left"


def clock(seconds: float) -> str:
    """``1:05`` of 65 seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
