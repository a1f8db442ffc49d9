"""Header line of a CSV file: read alone, held to a form that no row has by accident, and never quoted.

    first_line(path, encoding)    that line, and nothing behind it
    delimiter_of(line)            the sign between its names
    check_form(names, …)          names are short text without line ends
    check_header(names, where)    names do not look like a row of data

A name has at most 128 characters and no line end, and its quotes are closed on the line. So a quote that is never
closed cannot take rows into the header, and no refusal here repeats what the line holds: it may be a person's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from reticent.data.columns import MOST_COLUMNS, is_utf8
from reticent.data.file_kinds import DAMAGED, text_of
from reticent.data.format import LONGEST_NAME, check_plain_names, nearest, usual_name
from reticent.errors import SpecError, first_of

LONGEST_HEADER: Final = 1 << 20  # characters
DELIMITERS: Final = ",;\t|"  # as programs write them, the usual one first
TAB: Final = "\t"
MONTHS: Final = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
MARKS: Final = {  # how files of other kinds begin, the ending by which one is read, and what to do
    b"\xff\xfe": ("", "is UTF-16 text. Save it as UTF-8 (in Excel: CSV UTF-8)."),
    b"\xfe\xff": ("", "is UTF-16 text. Save it as UTF-8 (in Excel: CSV UTF-8)."),
    b"\x1f\x8b": (".gz", "is compressed by gzip. Let its name end in .gz."),
    b"\x28\xb5\x2f\xfd": (".zst", "is compressed by zstd. Let its name end in .zst."),
    b"BZh91AY&": ("", "is compressed by bzip2. Unpack it, or compress it as .gz."),
    b"\xfd7zXZ\x00": ("", "is compressed by xz. Unpack it, or compress it as .gz."),
    b"PK\x03\x04": ("", "is a zip archive or a workbook. Unpack it, or let its name end in .xlsx."),
    b"PAR1\x15": ("", "is a Parquet file. Let its name end in .parquet."),
    b"\xd0\xcf\x11\xe0": ("", "is an old Excel workbook. Save it as .xlsx."),
}
WORDS: Final = frozenset(["true", "false", "yes", "na", "n/a", "nan", "nil", "none", "null", "inf", "infinity"])
DATA: Final = re.compile(
    r"[+-]?[.,]?[0-9].*"  # begins as a number, a date or a time does
    r"|.*[0-9]{5}.*"  # an identifier
    r"|.*@.*"
    rf"|.*\b({MONTHS})[a-z]*\W+[0-9].*"  # a date with the month in letters
    r"|[0-9a-f]{8}-[0-9a-f]{4}-.*",
    re.IGNORECASE | re.DOTALL,
)


def check_form(names: Sequence[str], where: str, encoding: str, longest: int = LONGEST_NAME) -> None:
    """Refuse a header line that no table has, in words that repeat nothing of it.

    Parameters
    ----------
    names : sequence of str
        Cells of the header line.
    where : str
        Name of the file, for the message.
    encoding : str
    longest : int
        Characters that a name may have.

    Raises
    ------
    SpecError
        For names that are none, too many or too long, not text, or hold a line end.
    """
    if not names:
        raise SpecError(f"{where} is empty: its first line must name the columns.")
    if len(names) > MOST_COLUMNS:
        raise SpecError(f"{where} has more than {MOST_COLUMNS:,} columns. Keep the ones you need.")
    spelt = usual_name(encoding).upper()
    if not all(is_utf8(name) for name in names):
        raise SpecError(
            f"The header of {where} is not {spelt} text. Save the file as UTF-8, or say its encoding: "
            '[study] encoding = "windows-1252", init --encoding windows-1252.'
        )
    if any("\x00" in name for name in names):
        raise SpecError(f"The header of {where} is not text. Is it a CSV file?")
    if any("\x80" <= sign <= "\x9f" for name in names for sign in name):  # no letter, in whatever encoding
        raise SpecError(
            f"The header of {where} is not {spelt} text. Most likely it is windows-1252, or UTF-8: "
            '[study] encoding = "windows-1252", init --encoding windows-1252. No row was read.'
        )
    check_plain_names(names, f"The header of {where}", longest)


def check_header(names: Sequence[str], where: str) -> None:
    """Refuse names of which one looks like a value, by rules about the names alone.

    Raises
    ------
    SpecError
        The same words whichever name it is, and why.
    """
    if looks_like_data(names):
        raise SpecError(
            f"{where} looks like data. It may be a person's, so it is not shown, and no study file was written. Look "
            "at it. Is a name there twice, or empty? Rename it. Is it a title above the names? Delete it. Is it a row? "
            "Write a header above it. Does a name only look like a number, a date, an identifier or an address? Say "
            "so: --header-is-names"
        )


def looks_like_data(names: Sequence[str]) -> bool:
    """Tell if one of the names may be a value: a public rule about the first line alone.

    A first name that is empty is none: R and pandas write the names of rows under it. Nor is a last one, which is what
    stands behind a delimiter at the end of each line.
    """
    plain = [name.strip() for name in names]
    plain = plain[1:] if len(plain) > 1 and not names[0] else plain
    plain = plain[:-1] if len(plain) > 1 and not names[-1] else plain
    return len({name.casefold() for name in plain}) < len(plain) or any(map(_is_value, plain))


def _is_value(name: str) -> bool:
    return not any(c.isalpha() for c in name) or name.lower() in WORDS or DATA.fullmatch(name) is not None


def delimiter_of(line: str) -> str:
    """The sign that stands most often between the names of a header line, outside quotes; a comma where none does."""
    outside = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def encoding_of(path: Path, usual: str = "utf-8") -> str:
    """The encoding that the header line of a text file is most likely in.

    Parameters
    ----------
    path : path
    usual : str
        That of the files beside it, which a line of plain letters is in too.

    Returns
    -------
    str
        "utf-8" where accents are UTF-8; else the usual one, or windows-1252 if that is UTF-8.
    """
    line = first_line(path, "utf-8")
    if is_utf8(line):
        return usual if line.isascii() else "utf-8"
    return "windows-1252" if usual == "utf-8" else usual


def meant_names(missing: Sequence[str], names: Sequence[str], declared: Collection[str]) -> str:
    """A question for the names of a header that misspelt ones most likely mean; empty where a row may stand there.

    Names are public where a declared one is among them, letter by letter, and none looks like a value.

    Parameters
    ----------
    missing : sequence of str
        Declared names that the header has not.
    names : sequence of str
        Names of the header.
    declared : collection of str
        All declared names.

    Returns
    -------
    str
    """
    if looks_like_data(names) or not {*names} & {*declared}:
        return ""
    others = [name for name in names if name and name not in declared]
    near = [found for name in missing if (found := nearest(name, others)) is not None]
    return f" Did you mean {first_of(near)}?" if near else ""


def delimiter_hint(line: str, delimiter: str) -> str:
    """A question for a delimiter that the header line has more often than the declared one; else empty."""
    seen, outside = delimiter_of(line), "".join(line.split('"')[::2])
    if outside.count(seen) <= outside.count(delimiter):
        return ""
    written = json.dumps(seen)
    return f" The first line has {'a tab' if seen == TAB else repr(seen)} in it: delimiter = {written}?"


def _check_marks(path: Path) -> None:
    """Refuse a file that begins as one of another kind does; its first eight bytes are looked at."""
    try:
        with open(path, "rb") as opened:
            begin = opened.read(8)
    except OSError:
        return  # refused in its words where the header is read
    for mark, (ending, words) in MARKS.items():
        if begin.startswith(mark) and path.suffix.lower() != ending:
            raise SpecError(f"{path.name} {words} No row was read.")


def first_line(path: Path, encoding: str) -> str:
    """The first line of a text file, without its end; nothing behind it is looked at."""
    _check_marks(path)
    try:
        stream, below = text_of(path, encoding)
        with below, stream:
            line = stream.readline(LONGEST_HEADER + 1)
    except DAMAGED:
        raise SpecError(f"{path.name} cannot be read, or its compression is damaged. No row was read.") from None
    if len(line) > LONGEST_HEADER:
        raise SpecError(f"The header line of {path.name} is longer than 1 MiB. No row was read.")
    return line.rstrip("\r\n")
