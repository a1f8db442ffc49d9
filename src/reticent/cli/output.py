"""Output of one run: results on standard output, messages on standard error, or one JSON object.

Texts from files (titles, names, certificates) are shown without control characters: none can repaint a terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TextIO

from reticent.cli.table import Passage, fold

if TYPE_CHECKING:
    from reticent.cli.progress import Progress

WIDEST: Final = 120  # columns of a terminal used at most: longer lines are hard to read
NARROW: Final = 80  # columns of a terminal that does not say how many it has
PIPED: Final = 100  # columns of prose in a file or a pipe, where a pager or a log may break nothing
UNBROKEN: Final = 4000  # columns of a table in a file or a pipe, so that each of its rows is one line

SWALLOWED: Final = (
    "A quoted cell of the source has more than 100 lines, or its quote is never closed: rows may have been read as one "
    "cell, and the answers leave them out. Look at its quotes. This line is for you alone: it tells of rows."
)

# hints for Python, and the same for the command line
OPTIONS: Final = (
    ('record=rt.Record(override="…"), and override="…" of a plan', '--override "…"'),
    ("record=rt.Record(try_anyway=True)", "--try-anyway, or try_anyway = true in its [[release]]"),
    (" with extensions=[", " with --with ["),
    ("Ledger.amend, or reticent ledger amend", "reticent ledger amend"),
    ('Ask a list of questions: [rt.count()], or ["count", "mean(x)"]', '--ask count --ask "mean(x)"'),
    ("For example: [rt.count()].", "For example: --ask count."),
)
ARGUMENT: Final = re.compile(r'\b(epsilon|delta|rho|people|rows|passing)=(?:"([^"]*)"|…|\.\.\.)')

# C0 but tab and newline, DEL, C1, and the characters that reorder the text around them
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """``text`` without characters that act on a terminal instead of being shown."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)


def typed(text: str) -> str:
    """A hint for Python as one for the command line: ``epsilon="1"`` is typed ``--epsilon 1``."""
    for python, option in OPTIONS:
        text = text.replace(python, option)
    return ARGUMENT.sub(lambda found: f"--{found[1]} {found[2] or _sign(found[1])}", text)


def _sign(option: str) -> str:
    """The word that stands for the value of an option, as its help has it."""
    return "SHARE" if option == "passing" else "NUMBER"


@dataclass(slots=True)
class Voice:
    """The two streams of one run.

    Attributes
    ----------
    as_json : bool
        Whether standard output gets one JSON object instead of text.
    charged : str
        What this run has charged: ``nothing``, ``unknown`` while a charge may be under way, then the loss in words.
    spends : bool
        Whether the verb is one that may charge, so that its refusals say that nothing was.
    quiet : bool
        Whether stages and progress are left out.
    """

    as_json: bool = False
    charged: str = "nothing"
    spends: bool = False
    quiet: bool = False
    _midline: bool = False
    _progress: Progress | None = None
    _swallowed: bool = False
    _changed: list[str] = field(default_factory=list)
    _doubts: list[str] = field(default_factory=list)

    @property
    def at_terminal(self) -> bool:
        """True if somebody watches the progress on standard error, who may see how many rows there are."""
        return not self.quiet and self.curator

    @property
    def curator(self) -> bool:
        """True if standard error is a terminal, so that the one who reads it may know facts about rows."""
        return sys.stderr.isatty()

    def result(self, document: Mapping[str, object], *parts: Passage) -> None:
        """The result of a verb: ``document`` for programs, ``parts`` for people."""
        self.rest()
        if self.as_json:
            put(document, sys.stdout)
        else:
            write(parts, sys.stdout)

    def say(self, *parts: Passage) -> None:
        """A message beside the result."""
        self.rest()
        self._midline = False
        write(parts, sys.stderr)

    @contextmanager
    def warning(self) -> Iterator[None]:
        """While it lasts, warnings of this package are messages, said as they come, and each of them once."""
        import warnings

        def said(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if category is UserWarning and str(message) not in self._doubts:
                self._doubts.append(str(message))
                self.say(f"warning  {typed(str(message))}")

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = said
            yield

    def receipt(self, name: str) -> None:
        """The receipt of what was charged, behind the stages where they were told."""
        self.rest()
        self.say(f"   {name}" if self._midline else name)
        if self._swallowed:
            self.say(f"warning  {SWALLOWED}")
        if self._changed:
            told = ", ".join(dict.fromkeys(self._changed))
            self.say(f"warning  Files of a partition changed, which should never change, and were read again: {told}.")

    def swallowed(self) -> None:
        """A quoted cell took in many lines: told when the release has ended, on the curator's terminal alone."""
        self._swallowed = True

    def changed(self, partition: str) -> None:
        """Files of a partition changed: told when the release has ended, on the curator's terminal alone."""
        self._changed.append(partition)

    def stage(self, name: str) -> None:
        """The stage that begins, all on one line: ``reserve … read … draw … commit``."""
        words = clean(name) if name == "commit" else f"{clean(name)} … "
        if self.quiet:
            return
        self._midline = True
        if not self.at_terminal:
            _out(words, sys.stderr)
            return
        if self._progress is None:
            from reticent.cli.progress import Progress

            self._progress = Progress(sys.stderr)
        self._progress.stage(words)

    @contextmanager
    def waiting(self, words: str) -> Iterator[None]:
        """While it lasts, after two seconds, ``words`` and a clock at a terminal alone; nothing stays of them."""
        if not self.at_terminal or self._progress is not None:
            yield
            return
        from reticent.cli.progress import Progress

        self._progress = Progress(sys.stderr, waiting=words)
        self._progress.start()
        try:
            yield
        finally:
            self.rest()

    def rows(self, count: int, share: float) -> None:
        """Rows read so far, for whoever sits at the terminal."""
        if self._progress is not None:
            self._progress.rows(count, share)

    def end_line(self) -> None:
        """End the line of stages where a run ends in the middle of it."""
        self.rest()
        if self._midline:
            self._midline = False
            _out("\n", sys.stderr)

    def rest(self) -> None:
        """Take the progress away, before anything else is written."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def write(parts: Iterable[Passage], stream: TextIO) -> None:
    """Each part on lines of its own, without spaces at the end: folded on a terminal, elsewhere prose alone.

    Elsewhere a table with heads stays as wide as it is, but for its ranges, and a word whole: it may be a path that a
    program reads.
    """
    width, styled = _terminal(stream)
    lines: list[str] = []
    for part in parts:
        if isinstance(part, str):
            lines += fold(clean(part), width or PIPED, whole=not width)
        else:
            wide = UNBROKEN if part.heads and not part.ranges else PIPED
            lines += part.lines(width or wide, styled=styled, whole=not width)
    _out("".join(f"{line.rstrip()}\n" for line in lines), stream)


def put(document: Mapping[str, object], stream: TextIO, indent: int | None = None) -> None:
    """A JSON object, on one line unless told otherwise.

    Parameters
    ----------
    document : mapping of str to object
        Values that JSON knows; NaN is refused.
    stream : text file
        Open text file, such as standard output.
    indent : int, optional
        Spaces of a level; None for one line.
    """
    _out(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent) + "\n", stream)


def _out(text: str, stream: TextIO) -> None:
    """Write now; a reader that has gone away is no fault of this run, which still ends with its own code."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # or the interpreter fails on it again at its end
        if not isinstance(error, BrokenPipeError):
            raise


def _terminal(stream: TextIO) -> tuple[int, bool]:
    """Columns of a line, none where it is no terminal, and whether the stream shows styles."""
    if not stream.isatty():
        return 0, False
    told = os.environ.get("COLUMNS", "")
    try:
        width = int(told) if told.isdecimal() else os.get_terminal_size(stream.fileno()).columns
    except OSError:
        width = 0
    return min(width or NARROW, WIDEST), "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
