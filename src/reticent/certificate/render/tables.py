"""The cells of a release as text: the numbers as a journal prints them, and the CSV.

The CSV holds every digit; the printed numbers as many as their interval is worth. Labels and titles were typed by
someone, so they are shown without control characters and are never a formula to a spreadsheet.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reticent.certificate.record import Record
from reticent.data.format import plain
from reticent.data.schema import Key
from reticent.outcome import Estimate, NoReply, Reply
from reticent.statistics.answer import Answer, Cell

NUMBERS: Final = ("value", "low", "high", "noise", "sampling", "level")
INCOMPLETE: Final = ("incomplete", "incomplete_low", "incomplete_high")
FORMULA: Final = "=+-@＝＋－＠\t\r\n"


@dataclass(frozen=True, slots=True)
class Shown:
    """An estimate as text, rounded alike: ``2.86``, ``2.79``, ``2.93``, ``0.04``, ``0.06``."""

    value: str
    low: str
    high: str
    noise: str
    sampling: str


def shown(estimate: Estimate) -> Shown:
    """The numbers of an estimate, to the digits that its interval is worth."""
    places = decimals(estimate)
    value, low, high = (number(part, places) for part in (estimate.value, estimate.low, estimate.high))
    noise, sampling = (_part(part, places) for part in (estimate.noise, estimate.sampling))
    return Shown(value, low, high, noise, sampling)


def decimals(estimate: Estimate) -> int | None:
    """Decimal places that the interval of an estimate is worth; None without an interval."""
    return _places(max(abs(estimate.high - estimate.value), abs(estimate.value - estimate.low), estimate.noise))


def number(value: float, places: int | None = None) -> str:
    """``20,187`` or ``2.86``: thousands separated; four significant digits where ``places`` is None or unsuitable."""
    size = abs(value)
    if places is None or places > 6 or size >= 1e12:
        text = f"{size:,.0f}" if 1e4 <= size < 1e12 else f"{size:,.4g}"
    else:
        text = f"{size:,.{places}f}"
    return f"−{text}" if value < 0 and text.strip("0.") else text


def _part(half: float, places: int | None) -> str:
    """A part of an interval; one that would be rounded away keeps a digit, and an absent one is a dash."""
    text = number(half, places)
    return "–" if half == 0 else text if text.strip("0.") else f"{half:.1g}"


def _places(half: float) -> int | None:
    """Decimal places that leave one or two significant digits of ``half``; None without an interval."""
    if not 0 < half < math.inf:
        return None
    power = math.floor(math.log10(half))
    return max(0, -power + (1 if half / 10.0**power < 3 else 0)) if power > -300 else None


def key_words(key: Key) -> str:
    """A key as people write it."""
    return plain(str(key)) if not isinstance(key, bool) else str(key).lower()


def label_words(cell: Cell) -> str:
    """``site 1 · sex f``; empty for the one cell of a plain answer. The parts of a test are named by themselves."""
    return " · ".join(
        key_words(key) if name == "test" else f"{plain(name)} {key_words(key)}" for name, key in cell.label
    )


def label_names(answers: Sequence[Answer]) -> tuple[str, ...]:
    """Every name that stands in a label, in order of appearance."""
    return tuple(dict.fromkeys(name for answer in answers for cell in answer for name, _ in cell.label))


def sheet(certificate: Record) -> str:
    """The answers as CSV (RFC 4180).

    Its columns are name, one column per label, outcome, value, low, high, noise, sampling and level. The last are the
    estimand and the share of incomplete rows beside the answer with its interval.

    A no reply has empty numbers, and an answer without an interval its value alone. Text that a spreadsheet would take
    for a formula is preceded by an apostrophe.
    """
    answers = certificate.answers
    names = label_names(answers)
    after = ("outcome", *NUMBERS, "estimand", *INCOMPLETE)
    taken = {"name", *after}
    header = ["name", *(f"{name} (group)" if name in taken else name for name in names), *after]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([safe(name) for name in header])
    for answer in answers:
        share = _share(answer)
        for cell in answer:
            labels = dict(cell.label)
            found = [_entry(labels[name]) if name in labels else "" for name in names]
            writer.writerow(
                [safe(answer.name), *found, *_numbers(cell, bare=answer.bare), safe(answer.estimand), *share]
            )
    return out.getvalue()


def _share(answer: Answer) -> list[str]:
    """The share of incomplete rows; empty where none is told."""
    match None if answer.incomplete is None else answer.incomplete.outcome:
        case Reply(estimate):
            return [_digits(number) for number in (estimate.value, estimate.low, estimate.high)]
        case _:
            return ["" for _ in INCOMPLETE]


def _numbers(cell: Cell, *, bare: bool) -> list[str]:
    match cell.outcome:
        case Reply(estimate) if bare:
            return ["reply", _digits(estimate.value), *("" for _ in NUMBERS[1:])]
        case Reply(estimate):
            return ["reply", *(_digits(getattr(estimate, name)) for name in NUMBERS)]
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
