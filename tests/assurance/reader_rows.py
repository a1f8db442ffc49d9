"""Readers of tables, row by row: a row is read alone as it is read among others, in every form a study can have.

    uneven(schema)    what a reader makes of a row because of the rows beside it, if anything
    check()           the same for schemas of each kind of person, as lines of the report

A guarantee counts the rows in which neighbours differ. That is the number of *persons'* rows only if a reader makes the
same of a row whatever else is in the table: reading must commute with putting tables one after the other. So a table is
read whole, cut in two at several places, and row by row, and the cells are compared. The CSV file also has rows that
are cut short, too long, not UTF-8, or quoted over several lines. Some have a cell longer than the reader's limit.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias
from xml.sax.saxutils import escape

from reticent.conformance.built_in_plans import COLUMNS, PERSONS
from reticent.conformance.kit import CaseCheck, KitReport
from reticent.conformance.neighbours import Cell, Family, KeyedDice, Row, families
from reticent.conformance.reader_replay import arrow_table, opened, record, write_csv
from reticent.data.files import LONGEST_CELL
from reticent.data.schema import Person, Schema
from reticent.data.source import Source, open_source, with_numbers

Form: TypeAlias = Literal["arrays", "text", "arrow", "csv", "parquet", "lines", "workbook"]
Fault: TypeAlias = Literal["none", "short", "more", "bytes", "wide"]
Read: TypeAlias = list[tuple[object, ...]]

CASE: Final = "readers of tables"
EACH: Final[tuple[Form, ...]] = ("arrays", "text", "arrow", "csv", "parquet", "lines", "workbook")
FAULTS: Final[tuple[Fault, ...]] = ("none", "none", "short", "more", "bytes", "wide")  # of a line of a CSV file
MOST: Final = 24  # rows that are read one by one
LONG: Final = "9" * (LONGEST_CELL + 2)
ODD_TEXTS: Final[tuple[str, ...]] = ('a "quoted" one', "two\nlines", "a,b", "\r", '"', "a\x00b", "é", LONG)


def check() -> KitReport:
    """A line for each kind of person, with many columns and with few; nothing depends on chance."""
    lines = []
    for names in (tuple(COLUMNS), ("x", "k", "g"), ("k",)):  # rows of few columns are often the same
        for kind, rows in PERSONS:
            columns = {name: COLUMNS[name] for name in names}
            schema = Schema(columns, Person(kind, None if rows == 1 else "who", rows))
            found = [f"{form}: {words}" for form, words in uneven(schema)]
            name = f"rows of {len(names)} columns are read alone as among others, {kind}, at most {rows}"
            lines.append(CaseCheck(CASE, name, "fail" if found else "pass", "; ".join(found) or ", ".join(EACH)))
    return KitReport(tuple(lines))


def uneven(schema: Schema, key: str = "readers") -> Iterator[tuple[Form, str]]:
    """Rows that a reader reads otherwise because of other rows: the form of the table, and words.

    Parameters
    ----------
    schema : Schema
        The public schema; no row of a study is opened.
    key : str
        What the made-up rows follow from.
    """
    made = _table(schema, key)
    lines = _lines(made, KeyedDice(f"lines {key}"))
    with TemporaryDirectory(prefix="reticent-audit-") as folder:
        for form in EACH:
            try:
                told = _RowFile(form, made, lines, Path(folder)).unlike()
            except Exception as cause:  # a reader takes any row; these are made up, so the cause may be shown
                told = f"the reader raises {type(cause).__name__}: {cause}"
            if told:
                yield form, told


@dataclass(frozen=True, slots=True)
class _RowFile:
    """A table of which any stretch of rows can be written and read alone."""

    form: Form
    made: Family
    lines: Sequence[bytes]
    folder: Path

    def read(self, first: int, stop: int) -> Read:
        part = replace(self.made, tables=(self.made.tables[0][first:stop],))
        if self.form == "csv":
            source = open_source(write_csv(self.folder, self.made, self.lines[first:stop]), self.made.schema)
            return cells_of(with_numbers(source, self.made.schema), part)
        return cells_of(read_in(self.form, part, self.folder), part)

    def unlike(self) -> str:
        """Words about the first cut at which the parts, read alone, are not the whole; empty if there is none."""
        size = len(self.lines)
        for stop in (size, size - 1):  # one of them is even
            whole = self.read(0, stop)
            if len(whole) != stop:
                return f"a table of {stop} rows is read as {len(whole)} rows"
            for cut in (1, stop // 2, stop - 1):
                if self.read(0, cut) + self.read(cut, stop) != whole:
                    return f"{stop} rows are read as something else than the first {cut} and the other {stop - cut}"
        for place, row in enumerate(self.read(0, size)):
            if self.read(place, place + 1) != [row]:
                return f"row {place + 1} of {size} is read as something else than the same row alone"
        return ""


def _table(schema: Schema, key: str) -> Family:
    """A family whose only table has a few rows of every mood, with texts that a file has to quote."""
    dice = KeyedDice(f"rows {key}")
    first, second = islice(families(schema, f"rows {key}"), 2)
    rows = [row for made in (first, second) for row in dice.shuffled(made.tables[-1])[: MOST // 2]]
    texts = [name for name, storage in first.storage.items() if storage == "text"]
    for place, text in enumerate(ODD_TEXTS[: len(rows)]):
        if texts:
            rows[place] = {**rows[place], dice.pick(texts): text}
    return replace(first, tables=(tuple(dice.shuffled(rows)),), pairs=())


def _lines(made: Family, dice: KeyedDice) -> list[bytes]:
    """The table as lines of a CSV file, some of them faulty."""
    return [_faulty(record([row[name] for name in made.storage]), dice.pick(FAULTS)) for row in made.tables[0]]


def _faulty(line: bytes, fault: Fault) -> bytes:
    match fault:
        case "none":
            return line
        case "short":
            return b"1\r\n"
        case "more":
            return line.removesuffix(b"\r\n") + b",more,and more\r\n"
        case "bytes":
            return b"\xff\xfe" + line
        case "wide":
            return line.removesuffix(b"\r\n") + b"," + LONG.encode() + b"\r\n"


def cells_of(source: Source, made: Family) -> Read:
    """Every row of a source with the types and the bits of its cells."""
    names = list(made.storage)
    rows: Read = []
    for batch in source.batches(names):
        columns = [[_bits(cell) for cell in batch.column(place).to_pylist()] for place in range(len(names))]
        rows += zip(*columns, strict=True)
    return rows


def _bits(cell: object) -> object:
    return type(cell).__name__, cell.hex() if isinstance(cell, float) else cell


def read_in(form: Form, made: Family, folder: Path) -> Source:
    """The first table of a family as a source, in any of the forms."""
    match form:
        case "arrow":
            return open_source(arrow_table(made, 0), made.schema)
        case "lines":
            return open_source(_lines_of(folder, made, made.tables[0]), made.schema)
        case "workbook":
            return open_source(_workbook(folder, made, made.tables[0]), made.schema)
        case _:
            return opened(form, made, 0, folder)


def _lines_of(folder: Path, made: Family, rows: Sequence[Row]) -> Path:
    path = folder / "table.jsonl"
    lines = (json.dumps({name: row[name] for name in made.storage}) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def _workbook(folder: Path, made: Family, rows: Sequence[Row]) -> Path:
    """A workbook of the parts that a sheet needs, its texts shared.

    Like a sheet of an office it has a column more than is declared: without it a row that lacks every cell is none.
    """
    cells: list[list[Cell]] = [[*made.storage, "line"], *([*(row[name] for name in made.storage), 1] for row in rows)]
    texts = [*dict.fromkeys(cell for row in cells for cell in row if isinstance(cell, str))]
    sheet = "".join(f"<row>{''.join(_cell(cell, texts) for cell in row)}</row>" for row in cells)
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {
        "_rels/.rels": f'<R><Relationship Id="a" Type="{relations}/officeDocument" Target="xl/workbook.xml"/></R>',
        "xl/workbook.xml": f'<w xmlns:r="{relations}"><sheet name="rows" r:id="a"/></w>',
        "xl/_rels/workbook.xml.rels": f'<R><Relationship Id="a" Type="{relations}/worksheet" Target="rows.xml"/>'
        f'<Relationship Id="b" Type="{relations}/sharedStrings" Target="texts.xml"/></R>',
        "xl/rows.xml": f"<w><sheetData>{sheet}</sheetData></w>",
        "xl/texts.xml": f"<s>{''.join(f'<si><t>{_escaped(text)}</t></si>' for text in texts)}</s>",
    }
    path = folder / "table.xlsx"
    with zipfile.ZipFile(path, "w") as package:
        for name, text in parts.items():
            package.writestr(name, text)
    return path


def _cell(cell: Cell, texts: Sequence[str]) -> str:
    match cell:
        case None:
            return '<c><f>""</f></c>'
        case str():
            return f'<c t="s"><v>{texts.index(cell)}</v></c>'
        case bool():
            return f'<c t="b"><v>{int(cell)}</v></c>'
        case _:
            return f"<c><v>{cell!r}</v></c>"


def _escaped(text: str) -> str:
    """A text as Excel writes it: characters that XML lacks by their number."""
    text = text.replace("_x", "_x005F_x").encode("utf-8", "replace").decode()
    text = "".join(c if c in "\t\n" or c >= " " else f"_x{ord(c):04X}_" for c in text)
    return escape(text)
