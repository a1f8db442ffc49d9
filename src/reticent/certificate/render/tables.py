"""The cells of a release as text: the numbers as a journal prints them, and the CSV.

The CSV holds every digit; the printed numbers, which are its last column, as many as their interval is worth. Labels
and titles were typed by someone, so they are shown without control characters and are never a formula to a spreadsheet.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Final

from reticent import outcome
from reticent.certificate.record import CertificateRecord
from reticent.data.format import plain
from reticent.data.schema import Key
from reticent.outcome import Estimate, EstimateText, NoReply, Reply
from reticent.statistics.answer import UNCALLED, Answer, Cell, group_words, key_words, on_a_line

NUMBERS: Final = ("value", "low", "high", "noise", "sampling", "level")
INCOMPLETE: Final = ("incomplete", "incomplete_low", "incomplete_high")
FORMULA: Final = "=+-@＝＋－＠\t\r\n"


def shown(estimate: Estimate) -> EstimateText:
    """The numbers of an estimate as a page prints them, with a minus sign in place of a hyphen."""
    text = outcome.shown(estimate)
    return EstimateText(*(signed(getattr(text, field.name)) for field in fields(text)))


def number(value: float, places: int | None = None) -> str:
    """A number as a page prints it: ``−2.86``."""
    return signed(outcome.number(value, places))


def signed(text: str) -> str:
    """Text of one number, or of an interval, with minus signs in place of hyphens: ``−2.9 to −1.1``."""
    return " to ".join(f"−{part[1:]}" if part.startswith("-") else part for part in text.split(" to "))


def row_words(answer: Answer, cell: Cell, called: Mapping[str, str] = UNCALLED) -> str:
    """The name of a number in the table of its answer; that of all groups together is ``total``.

    Parameters
    ----------
    answer : Answer
        Answer of the table.
    cell : Cell
        One of its cells.
    called : mapping of str to str
        Labels of columns and keys, by name.

    Returns
    -------
    str
        Text of the first column.
    """
    return group_words(answer, cell, called) or (answer.name if len(answer.cells) == 1 else "total")


def labels_of(certificate: CertificateRecord) -> dict[str, str]:
    """Names for people of the columns that have one."""
    declared = certificate.heading["columns"].items()
    return {name: told["label"] for name, told in declared if isinstance(told.get("label"), str) and told["label"]}


def column_words(certificate: CertificateRecord) -> tuple[str, ...]:
    """``cost: Cost of stay (EUR)``: the columns that have a label, since names of answers keep the names of columns."""
    declared = certificate.heading["columns"]
    units = ((name, label, declared[name].get("unit")) for name, label in labels_of(certificate).items())
    return tuple(plain(f"{name}: {label} ({unit})" if unit else f"{name}: {label}") for name, label, unit in units)


def label_names(answers: Sequence[Answer]) -> tuple[str, ...]:
    """Every name that stands in a label, in order of appearance."""
    return tuple(dict.fromkeys(name for answer in answers for cell in answer for name, _ in cell.label))


def beside(names: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """The heads of labels in a table with these columns: ``level (group)`` of one that is called as a column is."""
    return {name: f"{name} (group)" if name in columns else name for name in names}


def sheet(certificate: CertificateRecord) -> str:
    """The answers as CSV (RFC 4180).

    Its columns are name, one column per label, outcome, value, low, high, noise, sampling and level. Then follow the
    estimand, the share of incomplete rows beside the answer with its interval, and the numbers as the page prints them.

    A no reply has empty numbers, and an answer without an interval its value alone. Text that a spreadsheet would take
    for a formula is preceded by an apostrophe.
    """
    answers = certificate.answers
    names = label_names(answers)
    after = ("outcome", *NUMBERS, "estimand", *INCOMPLETE, "printed")
    header = ["name", *beside(names, ("name", *after)).values(), *after]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([safe(name) for name in header])
    for answer in answers:
        share = _share(answer)
        for cell in answer.shown:
            labels = dict(cell.label)
            found = [_entry(labels[name]) if name in labels else "" for name in names]
            numbers, told = _numbers(answer, cell), safe(on_a_line(cell, bare=answer.bare))
            writer.writerow([safe(answer.name), *found, *numbers, safe(answer.estimand), *share, told])
    return out.getvalue()


def share_of(answer: Answer) -> Estimate | None:
    """The share of incomplete rows beside an answer; None where none is told."""
    match None if answer.incomplete is None else answer.incomplete.outcome:
        case Reply(estimate):
            return estimate
        case _:
            return None


def _share(answer: Answer) -> list[str]:
    share = share_of(answer)
    return ["" for _ in INCOMPLETE] if share is None else [_digits(x) for x in (share.value, share.low, share.high)]


def _numbers(answer: Answer, cell: Cell) -> list[str]:
    match cell.outcome:
        case Reply(estimate) if not answer.has_interval(cell):
            return ["reply", estimate.dates[0] or _digits(estimate.value), *("" for _ in NUMBERS[1:])]
        case Reply(estimate):
            found = [_digits(getattr(estimate, name)) for name in NUMBERS]
            return ["reply", *(estimate.dates if estimate.step else found[:3]), *found[3:]]
        case NoReply():
            return ["no_reply", *("" for _ in NUMBERS)]


def _digits(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _entry(key: Key) -> str:
    return safe(key) if isinstance(key, str) else key_words(key)


def safe(text: str) -> str:
    """Text that no spreadsheet runs. A number written as text stays as it is."""
    if text.startswith(tuple(FORMULA)) and not re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", text):
        return f"'{text}"
    return text
