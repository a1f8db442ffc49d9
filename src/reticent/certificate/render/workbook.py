"""A release as an Excel workbook: a sheet for the answers, one for each table, and one of notes.

    Answers     one line for each answer of one number: value, interval, parts of it, and the quantity it estimates
    (a table)   one line for each cell of a histogram or of an answer by group, its labels in columns of their own
    Notes       the guarantee, caveats, receipt and digest, so that the numbers never travel without them

Text that somebody typed is written as text, never as a formula; dates are text, since Excel has none before 1900. A
cell holds 15 digits of a number, and shows as many as its interval is worth. Excel rounds the ends it shows to the
nearest; the column "printed" has them rounded outwards, as on the page. The CSV and the certificate have every digit.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from reticent.certificate.record import CertificateRecord
from reticent.certificate.render.notes import lines_of, notes
from reticent.certificate.render.tables import INCOMPLETE, NUMBERS, column_words, label_names, share_of
from reticent.data.format import plain
from reticent.errors import SpecError
from reticent.outcome import MOST_PLACES, Estimate, NoReply, Reply, decimals
from reticent.privacy.explain import sentence
from reticent.statistics.answer import Answer, Cell, on_a_line

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell import Cell as SheetCell
    from openpyxl.worksheet.worksheet import Worksheet

LONGEST: Final = 31  # characters of the name of a sheet, which Excel sets
WIDEST: Final = 60  # characters of a column
MISSING: Final = "A workbook needs openpyxl: pip install 'reticent[files]'. Nothing was charged."

HEADS: Final = ("outcome", *NUMBERS, "printed", *INCOMPLETE)

Entry = str | int | float | bool | None


def ready() -> None:
    """Refuse, before anything is charged, where no workbook could be written.

    Raises
    ------
    SpecError
        Without openpyxl.
    """
    try:
        import openpyxl  # noqa: F401 - whether it is there
    except ImportError:
        raise SpecError(MISSING) from None


def workbook(certificate: CertificateRecord) -> bytes:
    """The bytes of an .xlsx file with the answers of a release."""
    ready()
    from openpyxl import Workbook

    book = Workbook()
    del book["Sheet"]
    answers = certificate.answers
    single = [answer for answer in answers if len(answer.cells) == 1 and not answer.cells[0].label]
    if single:
        sheet = _sheet(book, "Answers", ["name", "estimates", *HEADS])
        for answer in single:
            _line(sheet, [answer.name, answer.estimand], answer, answer.shown[0])
    for answer in answers:
        if answer not in single:
            names = label_names([answer])
            sheet = _sheet(book, answer.name, [*names, *HEADS])
            for cell in answer.shown:
                labels = dict(cell.label)
                _line(sheet, [labels.get(name) for name in names], answer, cell)
    notes = _sheet(book, "Notes", ["about", "words"])
    for entry in _notes(certificate, answers):
        _append(notes, entry)
    for sheet in book.worksheets:
        _fit(sheet)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _notes(certificate: CertificateRecord, answers: Sequence[Answer]) -> list[tuple[Entry, ...]]:
    document, guarantee = certificate.heading, certificate.guarantee
    head = [
        ("release", document["release"]),
        ("name", document["name"]),
        ("study", document["study"]["title"]),
        ("when (UTC)", document["when"]),
        ("guarantee", sentence(guarantee.loss, guarantee.adjacency)),
        ("interval", "low to high covers the quantity named with the level stated; noise protects people"),
    ]
    called = [("column", text) for text in column_words(certificate)]
    estimands = [("estimates", f"{name}: {text}") for name, text in lines_of(certificate)]
    margins = any(len(answer.body) < len(answer.cells) for answer in answers)
    called += [("empty label", "all groups of that column together")] * margins
    caveats = [("note", text) for text in notes(certificate).whole]
    silent = any(isinstance(cell.outcome, NoReply) for answer in answers for cell in answer)
    declined = [("no reply", "it could not be shown that no one person matters")] * silent
    return [*head, *estimands, *called, *caveats, *declined, ("certificate digest (SHA-256)", certificate.digest)]


def _sheet(book: Workbook, title: str, heads: Sequence[str]) -> Worksheet:
    from openpyxl.styles import Font

    sheet = book.create_sheet(_name(title, {name.lower() for name in book.sheetnames}))
    _append(sheet, heads)
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    sheet.freeze_panes = "A2"
    return sheet


def _name(title: str, taken: set[str]) -> str:
    """A name that Excel takes, and that no other sheet has; it compares without regard to case."""
    name = re.sub(r"[\[\]:*?/\\]", " ", plain(title)).strip(" '")[:LONGEST] or "answers"
    place = 2
    found = name
    while found.lower() in taken:
        found = f"{name[: LONGEST - len(str(place)) - 1]} {place}"
        place += 1
    return found


def _line(sheet: Worksheet, labels: Sequence[Entry], answer: Answer, cell: Cell) -> None:
    share = share_of(answer)
    told: list[Entry] = [None] * len(INCOMPLETE) if share is None else [share.value, share.low, share.high]
    _append(sheet, [*labels, *_entries(answer, cell), *told])
    written = sheet[sheet.max_row][len(labels) + 1 :]
    if isinstance(cell.outcome, Reply) and answer.has_interval(cell):
        _show(written[: len(NUMBERS) - 1], cell.outcome.value)
    if share is not None:
        _show(written[-len(INCOMPLETE) :], share)


def _entries(answer: Answer, cell: Cell) -> list[Entry]:
    """Outcome, numbers and their printed words of one cell."""
    match cell.outcome:
        case NoReply():
            return ["no reply", *(None for _ in NUMBERS), None]
        case Reply(estimate) if not answer.has_interval(cell):
            ends = (None for _ in NUMBERS[1:])
            return ["reply", estimate.dates[0] or estimate.value, *ends, on_a_line(cell, bare=answer.bare)]
        case Reply(estimate):
            found: list[Entry] = [getattr(estimate, name) for name in NUMBERS]
            return ["reply", *(estimate.dates if estimate.step else found[:3]), *found[3:], on_a_line(cell)]


def _show(cells: Sequence[SheetCell], estimate: Estimate) -> None:
    """Show numbers with as many digits as the interval of an estimate is worth."""
    places = None if estimate.step else decimals(estimate)
    shown = ("0" if estimate.years else "#,##0") + ("." + "0" * places if places and places > 0 else "")
    for cell in cells:
        cell.number_format = shown if places is not None and places <= MOST_PLACES else "General"


def _append(sheet: Worksheet, entries: Sequence[Entry]) -> None:
    """A line of entries; text stays text, whatever it begins with."""
    row = sheet.max_row + 1 if sheet.max_row > 1 or sheet["A1"].value is not None else 1
    for place, entry in enumerate(entries, start=1):
        cell = sheet.cell(row, place)
        cell.value = plain(entry) if isinstance(entry, str) else entry
        if isinstance(entry, str):
            cell.data_type = "s"


def _fit(sheet: Worksheet) -> None:
    """Columns as wide as what stands in them."""
    from openpyxl.utils import get_column_letter

    for place, column in enumerate(sheet.columns, start=1):
        widest = max(len(str(cell.value)) for cell in column if cell.value is not None)
        numbers = any(isinstance(cell.value, float) for cell in column)
        sheet.column_dimensions[get_column_letter(place)].width = 14 if numbers else min(widest, WIDEST) + 2
