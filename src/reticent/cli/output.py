"""Output of one run: results on standard output, messages on standard error, or one JSON object.

Texts from files (titles, names, certificates) are shown without control characters: none can repaint a terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDEST: Final = 120  # columns of a terminal used at most: longer lines are hard to read
UNBROKEN: Final = 4000  # columns assumed where the output is a file or a pipe, so that no line is broken

# C0 but tab and newline, DEL, C1, and the characters that reorder the text around them
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """``text`` without characters that act on a terminal instead of being shown."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)


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
    """

    as_json: bool = False
    charged: str = "nothing"
    spends: bool = False

    def result(self, document: Mapping[str, object], *parts: RenderableType) -> None:
        """The result of a verb: ``document`` for programs, ``parts`` for people."""
        if self.as_json:
            put(document, sys.stdout)
        else:
            write(parts, sys.stdout)

    def say(self, *parts: RenderableType) -> None:
        """A message beside the result."""
        write(parts, sys.stderr)

    def stage(self, name: str) -> None:
        """The stage that begins, all on one line: ``reserve … read … draw … commit``."""
        _out(clean(name) if name == "commit" else f"{clean(name)} … ", sys.stderr)


def write(parts: Iterable[RenderableType], stream: TextIO) -> None:
    """Each part on lines of its own: wrapped on a terminal, never broken elsewhere, without spaces at the end."""
    from rich.text import Text

    console = _console(stream)
    with console.capture() as caught:
        for part in parts:
            console.print(Text(clean(part)) if isinstance(part, str) else part)
    lines = caught.get().splitlines()
    _out("".join(f"{line.rstrip()}\n" for line in lines), stream)


def put(document: Mapping[str, object], stream: TextIO, indent: int | None = None) -> None:
    """A JSON object, on one line unless told otherwise."""
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


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    console.width = min(console.width, WIDEST) if console.is_terminal else UNBROKEN
    return console
