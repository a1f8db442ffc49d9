"""Tables of text without rules, as wide as a terminal: columns that may be folded give way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias
from unicodedata import combining, east_asian_width

GAP: Final = 2  # blanks between columns
LEAST: Final = 10  # columns of a terminal that a folded column keeps
TIE: Final = "\ue000"  # stands for a blank of what is copied to a shell
COPIED: Final = re.compile(  # a command up to its file, or a file in quotes
    r"\breticent(?: [\w=-]+){1,4} (?:'[^'\n]+'|\S*[./]\S+)|(?<!\w)'[^'\n]*(?:/[^'\n]*|\.\w{1,8})'(?!\w)"
)
MARK: Final = re.compile(r"[(,/.=:;_&+|]|(?<=[^\W\d])-")  # signs in a name behind which it may be broken
TIED: Final = re.compile(
    r"\d %$|[±εδρ] [\d.]$|\([\d.]+, \d$|\d, δ$|\[-?\d+, -?\d$|± [\d.,]+ (?:[a-z]|of i)$"
)  # up to a blank and what follows it
SEEN: Final = 16  # signs before a blank that are looked at
STYLES: Final = {"dim": "\x1b[2m", "bold": "\x1b[1m", "yellow": "\x1b[33m"}
PLAIN: Final = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of text under heads, if there are any.

    Attributes
    ----------
    right, folded, ranges : frozenset of int
        Columns that are aligned to the right, those whose text goes on in the next line, and those that do so at blanks
        alone. The latter give way in a file or a pipe, too.
    first, head : str
        Style of the first column and of the heads, a key of ``STYLES``, or nothing.
    """

    rows: tuple[tuple[str, ...], ...]
    folded: frozenset[int]
    heads: tuple[str, ...] = ()
    right: frozenset[int] = frozenset()
    ranges: frozenset[int] = frozenset()
    first: str = ""
    head: str = ""

    def lines(self, width: int, *, styled: bool, whole: bool = False) -> Iterator[str]:
        """Lines of at most ``width`` columns, as far as the columns that are not folded leave room.

        Parameters
        ----------
        width : int
            Most columns of a line.
        styled : bool
            True on a terminal that shows styles.
        whole : bool
            True if a word longer than its column is kept whole instead of cut.

        Returns
        -------
        iterator of str
        """
        least = self._least(whole=whole)
        widths = self._widths(width, least)
        for row in ([self.heads] if self.heads else []) + list(self.rows):
            if self._is_across(row):
                yield from fold(row[0], width, hanging=True, whole=whole)
                continue
            parts = [
                fold(text, size, hanging=place == 0 and bool(self.heads), whole=whole)
                if place in least
                else text.split("\n")
                for place, (text, size) in enumerate(zip(row, widths, strict=False))
            ]
            for line in range(max(map(len, parts), default=0)):
                found = [
                    self._set(part[line] if line < len(part) else "", size, place)
                    for place, (part, size) in enumerate(zip(parts, widths, strict=False))
                ]
                if styled and row is self.heads and self.head:
                    found = [_in_style(text, self.head) for text in found]
                elif styled and self.first:
                    found[0] = _in_style(found[0], self.first)
                yield (" " * GAP).join(found).rstrip()

    def _is_across(self, row: tuple[str, ...]) -> bool:
        """True for a name alone under heads, which stands across the table and makes no column wider."""
        return len(row) == 1 < len(self.heads)

    def _least(self, *, whole: bool) -> dict[int, int]:
        """The columns that give way, and the least width of each; of ranges that of the longest word."""
        listed = [self.heads, *self.rows]
        words = {
            place: max((size(word) for row in listed for word in _apart(row[place])), default=0)
            for place in self.ranges
        }
        return words if whole and self.ranges else {**dict.fromkeys(self.folded, LEAST), **words}

    def _widths(self, width: int, least: Mapping[int, int]) -> list[int]:
        listed = [self.heads, *(row for row in self.rows if not self._is_across(row))]
        count = max(map(len, listed))
        widths = [max((size(row[place]) for row in listed if place < len(row)), default=0) for place in range(count)]
        over = sum(widths) + GAP * (count - 1) - width
        while over > 0 and (loose := [place for place in least if place < count and widths[place] > least[place]]):
            widths[max(loose, key=lambda place: widths[place])] -= 1
            over -= 1
        return widths

    def _set(self, text: str, width: int, place: int) -> str:
        blanks = " " * (width - size(text))
        return blanks + text if place in self.right else text + blanks


Passage: TypeAlias = str | TextTable  # of what a verb prints


def _apart(text: str) -> list[str]:
    """The parts of a range that stay on one line: a sign with its number, and a unit with what it is of."""
    ends = [-1, *_loose(text), len(text)]
    return [text[before + 1 : end] for before, end in pairwise(ends)]


def _in_style(text: str, style: str) -> str:
    return f"{STYLES[style]}{text}{PLAIN}" if text.strip() else text


def size(text: str) -> int:
    """Columns of a terminal that the longest line of ``text`` takes."""
    return max(map(_size, text.split("\n")))


def _size(line: str) -> int:
    if line.isascii():
        return len(line)
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in line)


def fold(text: str, width: int, *, hanging: bool = False, whole: bool = False) -> Sequence[str]:
    """Lines of at most ``width`` columns, broken at blanks; a longer word is cut, behind a mark if it has one.

    An indented line goes on further in, so that what follows does not look like a line of its own. A number stays with
    its sign and with its per cent.

    Parameters
    ----------
    text : str
        Lines of any length.
    width : int
        Most columns of a line.
    hanging : bool
        True if lines that are not indented go on further in, too.
    whole : bool
        True if a word longer than a line is kept whole instead of cut, and what is copied to a shell: a command with
        its file, and a name in quotes.

    Returns
    -------
    sequence of str
        Lines, at least one.
    """
    found = []
    kept = COPIED.sub(lambda found: found[0].replace(" ", TIE), text) if whole else text
    for line in kept.split("\n"):
        rest = line
        further = _further(line, width, hanging=hanging)
        while (most := _most(rest, width)) < len(rest):
            blank = _blank(rest, most)
            if rest[: max(blank, 0)].strip():
                stop = blank
            elif whole:
                stop = _behind_the_word(rest)
            else:
                stop = _behind_a_mark(rest, most)
            if not rest[stop:].strip(" "):
                break
            found.append(rest[:stop].rstrip(" "))
            rest = rest[stop:].lstrip(" ")
            rest = rest if _fits_alone(rest, width, further) else further + rest
        found.append(rest)
    return [line.replace(TIE, " ") for line in found] if whole else found


def _most(text: str, width: int) -> int:
    """Signs of ``text`` that ``width`` columns hold, at least one; no sign beyond them is looked at."""
    taken = 0
    for place, sign in enumerate(text):
        taken += _size(sign)
        if taken > width:
            return max(place, 1)
    return len(text)


def _further(line: str, width: int, *, hanging: bool) -> str:
    """Blanks before what a line goes on with, of one that is indented or hangs; none where they leave little room."""
    blanks = len(line) - len(line.lstrip(" "))
    return " " * (blanks + GAP) if (blanks > 0 or hanging) and 2 * (blanks + GAP) < width else ""


def _fits_alone(text: str, width: int, further: str) -> bool:
    """True if the first word of a text would be cut for the blanks before it alone."""
    word = text[: text.find(" ")] if " " in text[: width + 1] else text[: width + 1]
    return _size(word) <= width < _size(further) + _size(word)


def _blank(line: str, most: int) -> int:
    """The last blank before ``most`` at which a line may end, or the last of all; -1 without one."""
    return max(_loose(line, most) or [line.rfind(" ", 0, most + 1)])


def _loose(line: str, most: int | None = None) -> list[int]:
    """Blanks up to ``most``, or all, that do not tie what is on both sides."""
    blanks = (place for place, sign in enumerate(line[: None if most is None else most + 1]) if sign == " ")
    return [place for place in blanks if not TIED.search(line[max(place - SEEN, 0) : place + 2])]


def _behind_the_word(line: str) -> int:
    """The end of the first word of a line."""
    blank = line.find(" ", len(line) - len(line.lstrip(" ")))
    return blank if blank >= 0 else len(line)


def _behind_a_mark(word: str, most: int) -> int:
    """The end of what is shown of a long word: behind the last of its marks that stands in time, else ``most``."""
    ends = [found.end() for found in MARK.finditer(word, 0, most)]
    return ends[-1] if ends and MARK.sub("", word[: ends[-1]]).strip() else most
