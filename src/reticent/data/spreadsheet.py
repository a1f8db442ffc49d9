"""Tables in Excel workbooks: one sheet of an .xlsx file, its first row that holds anything being the header.

A cell becomes the text that a CSV file would have in its place:

    a number            in the notation of the study, 7.0 as 7
    a date, a time      2026-11-21, 2026-11-21T13:45:00, 13:45:00
    true, false         true, false
    a formula           the result that was saved with it
    #N/A, any error     nothing: the cell is missing

A row in which no cell holds anything is no row. Rows that a filter hides are rows. No cell makes the reader fail, and
what a row is read as depends on that row alone. Only a damaged file makes it fail; before the charge only the names of
sheets, the styles and the header are read. docs/decisions/0025 says why no library reads the cells.
"""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.data.columns import (
    BATCH,
    MOST_COLUMNS,
    Reading,
    Storage,
    check_names,
    empty_batches,
    texts_of,
    wanted,
)
from reticent.data.format import PLAIN, Format
from reticent.data.header import check_form, meant_names
from reticent.data.schema import Schema
from reticent.data.spreadsheet_parts import Gathering, SheetParts, Texts, feed, local, sheet_of, unescaped
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")
NUMBER: Final = re.compile(PLAIN.pattern)
LETTERS: Final = re.compile("[A-Za-z]{1,3}")
DIGITS: Final = "0123456789"
TRUTHS: Final = {"1": "true", "true": "true", "0": "false", "false": "false"}
FIRST_DAY: Final = datetime.datetime(1899, 12, 31)
FIRST_DAY_1904: Final = datetime.datetime(1904, 1, 1)
NO_DAY: Final = 60  # 1900-02-29, which Excel counts and no calendar has


@dataclass(frozen=True, slots=True)
class Spreadsheet:
    """One sheet of a workbook, every column as text."""

    parts: SheetParts
    header: tuple[str, ...]
    form: Format
    storage: Mapping[str, Storage]
    reading: Reading = field(default_factory=Reading)

    @property
    def place(self) -> str:
        return str(self.parts.path)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with zipfile.ZipFile(self.parts.path) as package:
            texts = Texts.of(package, self.parts.texts) if names else []
            rows = SheetRows(self.parts, texts, [self.header.index(name) for name in names], self.form)
            size = max(package.getinfo(self.parts.sheet).file_size, 1)
            with package.open(self.parts.sheet) as stream:
                for read in feed(stream, start=rows.start, end=rows.end, text=rows.text):
                    self.reading.share = min(read / size, 1.0)
                    yield from _batches(rows.take(BATCH), names)
            yield from _batches(rows.take(1), names)


def _batches(rows: list[list[str | None]], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    if rows and not names:
        yield from empty_batches(len(rows))
    elif rows:
        columns = [texts_of([row[at] or "" for row in rows]) for at in range(len(names))]
        yield pa.RecordBatch.from_arrays(columns, names=list(names))


def open_spreadsheet(path: Path, schema: Schema) -> Spreadsheet:
    parts = sheet_of(path, schema.format.sheet)
    header = _header(parts)
    names = wanted(schema)
    check_names(header, schema, f"the header of {path.name}", meant=lambda name: meant_names([name], header, names))
    return Spreadsheet(parts, header, schema.format, dict.fromkeys(names, "text"))


def spreadsheet_header(path: Path, sheet: str) -> tuple[str, ...]:
    """The names in the first row of a sheet; only that row and the texts in it are looked at.

    Raises
    ------
    SpecError
        For a file that is no workbook or a row that is no header, in words that repeat nothing of it.
    """
    return _header(sheet_of(path, sheet))


def _header(parts: SheetParts) -> tuple[str, ...]:
    where = parts.path.name
    try:
        cells = _first_row(parts)
    except Exception:  # whatever the readers of zip and XML say may quote the file
        raise SpecError(f"{where} is not an .xlsx workbook, or is damaged. No row was read.") from None
    if cells and max(cells) >= MOST_COLUMNS:
        raise SpecError(f"{where} has more than {MOST_COLUMNS:,} columns. Keep the ones you need.")
    names = tuple(cells.get(place, "") for place in range(max(cells, default=-1) + 1))
    check_form(names, where, "utf-8")
    return names


class _HeaderEnd(Exception):
    """The first row that holds anything has ended."""


def _first_row(parts: SheetParts) -> dict[int, str]:
    """The cells of the first row that holds anything, by place."""
    first = _FirstRow(parts, [], range(0), PLAIN)
    with zipfile.ZipFile(parts.path) as package:
        with package.open(parts.sheet) as stream:
            try:
                for _ in feed(stream, start=first.start, end=first.end, text=first.text):
                    pass
            except _HeaderEnd:
                pass
        shared = [int(raw) for kind, raw in first.cells.values() if kind == "s" and raw.isdecimal() and len(raw) < 8]
        texts = Texts.of(package, parts.texts, max(shared, default=-1))
    cells = {place: cell_text(parts, texts, PLAIN, kind, "", raw) for place, (kind, raw) in first.cells.items()}
    return {place: text for place, text in cells.items() if text}


class SheetRows:
    """Rows as the parser meets them, without the header, each with the cells of some columns."""

    def __init__(self, parts: SheetParts, texts: Sequence[str | None], columns: Sequence[int], form: Format) -> None:
        self._parts, self._texts, self._form = parts, texts, form
        self._places: dict[int, list[int]] = {}
        for place, column in enumerate(columns):
            self._places.setdefault(column, []).append(place)
        self._empty: list[str | None] = [None] * len(columns)
        self._rows: list[list[str | None]] = []
        self._row = [*self._empty]
        self._headed = self._filled = self._inside = self._reading = self._among_rows = False
        self._column, self._kind, self._style, self._gathering = -1, "n", "", Gathering([])

    def take(self, least: int) -> list[list[str | None]]:
        """The rows so far, if there are as many as that."""
        if len(self._rows) < least:
            return []
        found, self._rows = self._rows, []
        return found

    def start(self, name: str, given: Mapping[str, str]) -> None:
        kind = local(name)
        if kind == "c":
            self._column += 1
            if reference := given.get("r"):
                place = place_of(reference.rstrip(DIGITS))
                self._column = self._column if place is None else place
            self._kind, self._style = given.get("t", "n"), given.get("s", "")
        elif kind in ("v", "t"):
            self._inside = not self._reading
        elif kind == "rPh":
            self._reading = True
        elif kind == "sheetData":
            self._among_rows = True
        elif kind == "row":
            self._column = -1

    def text(self, piece: str) -> None:
        if self._inside:
            self._gathering.add(piece)

    def end(self, name: str) -> None:
        kind = local(name)
        if kind in ("v", "t"):
            self._inside = False
        elif kind == "c":
            self._reading = False
            if self._gathering.size:
                self._filled = True
                self.cell(self._column, self._kind, self._gathering.take())
        elif kind == "rPh":
            self._reading = False
        elif kind == "row" and self._among_rows:
            if self._filled:
                self.row()
            self._filled = False
        elif kind == "sheetData":
            self._among_rows = False

    def cell(self, column: int, kind: str, raw: str | None) -> None:
        """Take one cell of the present row.

        Parameters
        ----------
        column : int
            Place of the column, from 0.
        kind : str
            Type of the cell.
        raw : str or None
            Text of the element, if it has one.
        """
        places = self._places.get(column)
        if places is not None and raw is not None:
            text = cell_text(self._parts, self._texts, self._form, kind, self._style, raw)
            for place in places:
                self._row[place] = text

    def row(self) -> None:
        if self._headed:
            self._rows.append(self._row)
        self._headed = True
        self._row = [*self._empty]


class _FirstRow(SheetRows):
    """The first row that holds anything, and no other."""

    def __init__(self, parts: SheetParts, texts: Sequence[str | None], columns: Sequence[int], form: Format) -> None:
        super().__init__(parts, texts, columns, form)
        self.cells: dict[int, tuple[str, str]] = {}

    def cell(self, column: int, kind: str, raw: str | None) -> None:
        self.cells[column] = kind, raw or ""

    def row(self) -> None:
        raise _HeaderEnd


@lru_cache(maxsize=1 << 14)
def place_of(letters: str) -> int | None:
    """The column with these letters, from 0: B is 1; None where they are none."""
    if not LETTERS.fullmatch(letters):
        return None
    place = 0
    for letter in letters.upper():
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1


def cell_text(
    parts: SheetParts, texts: Sequence[str | None], form: Format, kind: str, style: str, raw: str
) -> str | None:
    """The text of one cell, None where it cannot be read.

    Parameters
    ----------
    parts : SheetParts
        Parts of the workbook.
    texts : sequence of str or None
        Its shared texts, by place.
    form : Format
        Notation of the file.
    kind, style : str
        Attributes of the cell: its type and the place of its style.
    raw : str
        Text of the element.

    Returns
    -------
    str or None
        Text, or None.
    """
    match kind:
        case "s":
            place = int(raw) if raw.isdecimal() and len(raw) < 10 else len(texts)
            return texts[place] if place < len(texts) else None
        case "str" | "inlineStr":
            return unescaped(raw)
        case "b":
            return TRUTHS.get(raw.strip().lower())
        case "d":
            return raw.strip()
        case "e":
            return None
        case _:
            return _number_text(raw, form, style in parts.dates, parts.since_1904)


def _number_text(raw: str, form: Format, shows_date: bool, since_1904: bool) -> str | None:
    raw = raw.strip()
    if WHOLE.fullmatch(raw) and not shows_date:
        return str(int(raw))
    if not NUMBER.fullmatch(raw):
        return None
    number = float(raw)
    return date_text(number, since_1904) if shows_date else form.spelled(number)


def date_text(days: float, since_1904: bool) -> str | None:
    """A number of days as Excel counts them, in ISO 8601: a day, a time of day, or both; None where it has no date."""
    if not 0 <= days < 2_958_467:
        return None
    whole, part = divmod(days, 1)
    milliseconds = round(part * 86_400_000)
    moment = datetime.timedelta(milliseconds=milliseconds)
    if not whole and milliseconds < 86_400_000 and not since_1904:
        return _time((datetime.datetime.min + moment).time())
    if since_1904:
        first = FIRST_DAY_1904
    elif NO_DAY <= whole < NO_DAY + 1:
        return None
    else:
        first = FIRST_DAY if whole < NO_DAY else FIRST_DAY - datetime.timedelta(days=1)
    try:
        found = first + datetime.timedelta(days=whole) + moment
    except OverflowError:
        return None
    day = found.date().isoformat()
    return day if found.time() == datetime.time() else f"{day}T{_time(found.time())}"


def _time(time: datetime.time) -> str:
    return time.isoformat("milliseconds" if time.microsecond else "seconds")
