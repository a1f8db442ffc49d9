"""Parts of an .xlsx workbook (ECMA-376): a zip of XML files, each read as a stream and no farther than it is needed.

    sheet_of(path, name)        the parts that the cells of one sheet are made of; no row, and no text of a cell
    Texts                       texts that cells share, in the order of the file
    feed(stream, handlers)      elements of a part, as the parser meets them

Names of elements are taken without their namespace: the two editions of the standard differ in it alone. A part
that declares entities is refused, as the standard has it.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final
from xml.parsers import expat

from reticent.errors import SpecError

CHUNK: Final = 1 << 16  # bytes
LONGEST_TEXT: Final = 131_072  # characters of a cell; Excel itself stops at 32,767
OLD: Final = b"\xd0\xcf\x11\xe0"  # first bytes of an .xls, and of a workbook behind a password
BUILT_IN: Final = frozenset([*range(14, 23), *range(27, 37), 45, 47, *range(50, 59)])  # formats of dates and times
UNSEEN: Final = re.compile(r'"[^"]*"|\\.|[*_].|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE | re.DOTALL)
ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")


class _Enough(Exception):
    """All that was asked of a part was met."""


@dataclass(frozen=True, slots=True)
class SheetParts:
    """The parts of one sheet of a workbook.

    Attributes
    ----------
    sheet, texts : str
        Names in the zip; ``texts`` is empty where cells share none.
    dates : frozenset of str
        Numbers of the cell styles that show a number as a date or a time.
    since_1904 : bool
        Days are counted from 1904, as in old workbooks of the Macintosh.
    """

    path: Path
    sheet: str
    texts: str
    dates: frozenset[str]
    since_1904: bool


def sheet_of(path: Path, name: str) -> SheetParts:
    """The parts of the sheet that is called ``name``, or of the only one.

    Raises
    ------
    SpecError
        For a file that is no workbook, a sheet that is not there, or several where none is named. The words repeat
        nothing of the file.
    """
    with open(path, "rb") as stream:
        old = stream.read(len(OLD)) == OLD
    if old:
        raise SpecError(
            f"{path.name} has a password, or is an .xls of before 2007. Save it as .xlsx without a password. "
            "No row was read."
        )
    try:
        found = _sheets(path)
    except Exception:  # whatever the readers of zip and XML say may quote the file
        raise _damaged(path) from None
    chosen = [parts for title, parts in found if title == name] if name else [parts for _, parts in found]
    if name and not chosen:
        raise SpecError(f"{path.name} has no sheet called '{name}'. Names agree letter by letter. No row was read.")
    if len(chosen) > 1:
        raise SpecError(
            f'{path.name} has more than one sheet. Name one: [study] sheet = "…", init --sheet NAME. Their names are '
            "not shown: they may be values. No row was read."
        )
    if not chosen:
        raise SpecError(f"{path.name} has no sheet with cells. No row was read.")
    return chosen[0]


def _damaged(path: Path) -> SpecError:
    return SpecError(f"{path.name} is not an .xlsx workbook, or is damaged. No row was read.")


def _sheets(path: Path) -> list[tuple[str, SheetParts]]:
    """Names of the sheets that have cells, with their parts."""
    with zipfile.ZipFile(path) as package:
        names = {name.replace("\\", "/").casefold(): name for name in package.namelist()}

        def actual(name: str) -> str:
            return names.get(name.lstrip("/").casefold(), "")

        roots = [given for kind, given in _elements(package, actual("_rels/.rels")) if kind == "Relationship"]
        main = next((given["Target"] for given in roots if given.get("Type", "").endswith("/officeDocument")), "")
        main = main.lstrip("/") or "xl/workbook.xml"
        folder, file = posixpath.split(main)
        targets: dict[str, tuple[str, str]] = {}  # identity of a relation: its kind, and the part
        for kind, given in _elements(package, actual(posixpath.join(folder, "_rels", f"{file}.rels"))):
            if kind == "Relationship":
                part = posixpath.normpath(posixpath.join("/", folder, given.get("Target", "")))
                targets[given.get("Id", "")] = given.get("Type", "").rpartition("/")[2], actual(part)
        of_kind = dict(reversed(targets.values()))
        dates = _dates(package, of_kind.get("styles", ""))
        texts, since_1904, found = of_kind.get("sharedStrings", ""), False, []
        for kind, given in _elements(package, actual(main)):
            if kind == "workbookPr":
                since_1904 = given.get("date1904", "") in ("1", "true", "on")
            if kind == "sheet":
                relation = next((text for key, text in given.items() if key.endswith(":id")), "")
                sort, part = targets.get(relation, ("", ""))
                if sort == "worksheet" and part:
                    found.append((given.get("name", ""), part))
        return [(title, SheetParts(path, part, texts, dates, since_1904)) for title, part in found]


def _dates(package: zipfile.ZipFile, part: str) -> frozenset[str]:
    """Numbers of the cell styles whose format shows a date or a time."""
    shown, styles, among_cells = set(BUILT_IN), [], False
    for kind, given in _elements(package, part) if part else ():
        number = given.get("numFmtId", "")
        if kind == "numFmt" and number.isdecimal():
            (shown.add if shows_date(given.get("formatCode", "")) else shown.discard)(int(number))
        if kind in ("cellXfs", "cellStyleXfs", "cellStyles", "dxfs"):
            among_cells = kind == "cellXfs"
        elif kind == "xf" and among_cells:
            styles.append(number)
    return frozenset(str(at) for at, number in enumerate(styles) if number.isdecimal() and int(number) in shown)


def shows_date(code: str) -> bool:
    """Tell if a number format shows a date or a time of day; one of elapsed hours, ``[h]:mm``, shows a number."""
    seen = UNSEEN.sub("", code).partition(";")[0].lower()
    return "[" not in seen and "general" not in seen and any(sign in seen for sign in "ymdhs")


def _elements(package: zipfile.ZipFile, part: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The elements of a small part, by local name, with their attributes."""
    found: list[tuple[str, dict[str, str]]] = []
    with package.open(part) as stream:
        for _ in feed(stream, start=lambda name, given: found.append((local(name), given))):
            pass
    yield from found


def local(name: str) -> str:
    """The name of an element without its namespace."""
    return name.rpartition(":")[2] if ":" in name else name


def feed(
    stream: IO[bytes],
    *,
    start: Callable[[str, dict[str, str]], object],
    end: Callable[[str], object] | None = None,
    text: Callable[[str], object] | None = None,
) -> Iterator[int]:
    """Hand the elements of a part to functions, and yield the number of bytes read after each piece of it.

    Parameters
    ----------
    stream : binary file
        The part, open in bytes.
    start : function
        Called with the name and the attributes of each element.
    end : function, optional
        Called with the name of each element that ends.
    text : function, optional
        Called with the text between.

    Yields
    ------
    int
        Bytes read with each piece.

    Raises
    ------
    SpecError
        A part that declares entities.
    """

    def refuse(*_: object) -> None:
        raise SpecError("a part of a workbook declares entities")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    read = 0
    while piece := stream.read(CHUNK):
        read += len(piece)
        parser.Parse(piece)
        yield read
    parser.Parse(b"", True)
    yield read


@dataclass(slots=True, repr=False)
class Gathering:
    """The text of one cell as it comes in, None where it is longer than a cell may be."""

    pieces: list[str]
    size: int = 0

    def add(self, piece: str) -> None:
        self.size += len(piece)
        if self.size <= LONGEST_TEXT:
            self.pieces.append(piece)

    def take(self) -> str | None:
        found = "".join(self.pieces) if self.size <= LONGEST_TEXT else None
        self.pieces, self.size = [], 0
        return found


class Texts:
    """Texts that cells share, without their format and without readings of Japanese words."""

    def __init__(self, last: int | None = None) -> None:
        self.found: list[str | None] = []
        self._last, self._gathering, self._inside, self._reading = last, Gathering([]), False, False

    @classmethod
    def of(cls, package: zipfile.ZipFile, part: str, last: int | None = None) -> list[str | None]:
        """The texts of a part, up to the place of the last that is wanted.

        Parameters
        ----------
        package : ZipFile
            The workbook.
        part : str
            Name of the part with shared texts; empty where there is none.
        last : int, optional
            Greatest place that is wanted; -1 for none, None for all.

        Returns
        -------
        list of str or None
            Texts by place, None for a text that cannot be read.
        """
        texts = cls(last)
        if part and last != -1:
            with package.open(part) as stream:
                try:
                    for _ in feed(stream, start=texts._start, end=texts._end, text=texts._text):
                        pass
                except _Enough:
                    pass
        return texts.found

    def _start(self, name: str, given: Mapping[str, str]) -> None:
        kind = local(name)
        self._reading |= kind == "rPh"
        self._inside = kind == "t" and not self._reading

    def _text(self, piece: str) -> None:
        if self._inside:
            self._gathering.add(piece)

    def _end(self, name: str) -> None:
        kind = local(name)
        self._inside = False
        if kind == "rPh":
            self._reading = False
        if kind == "si":
            self.found.append(unescaped(self._gathering.take()))
            if self._last is not None and len(self.found) > self._last:
                raise _Enough


def unescaped(text: str | None) -> str | None:
    """A text as it was typed: ``_x000D_`` stands for a carriage return."""
    if text is None or "_x" not in text:
        return text
    return ESCAPE.sub(lambda found: chr(int(found.group(1), 16)), text)
