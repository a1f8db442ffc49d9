"""Tables in JSON lines: one object a line, plain or compressed (``.jsonl``, ``.ndjson``, and with ``.gz`` or ``.zst``).

A cell becomes the text that a CSV file would have in its place: a number in the notation of the study, true and false
by these words. A field that a line lacks, null and NaN are missing. So are a list and an object, which are no cell.
Fields that the study does not declare are ignored. A line that is no object is a row of missing cells, and a blank
line is no row. No line makes the reader fail; only a compressed file that is damaged does.

There is no header: names of fields stand in the rows. So none is read before the charge, and ``init`` lists none.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reticent.data.columns import BATCH, Reading, Storage, empty_batches, texts_of, wanted
from reticent.data.file_kinds import text_of
from reticent.data.format import Format
from reticent.data.schema import EXACT_DOUBLE, Schema

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_LINE: Final = 1 << 24  # characters
BLANK: Final = " \t\r\n"
ENDS: Final = ("\n", "\r")


@dataclass(frozen=True, slots=True)
class JsonLines:
    """One file of JSON lines, every column as text."""

    path: Path
    form: Format
    storage: Mapping[str, Storage]
    reading: Reading = field(default_factory=Reading)

    @property
    def place(self) -> str:
        return str(self.path)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        read = reader_of(self.form)
        stream, below = text_of(self.path, self.form.encoding)
        with below, stream:
            size = max(os.fstat(below.fileno()).st_size, 1)
            lines = lines_of(stream)
            while block := _block(lines):
                self.reading.share = below.tell() / size
                if not names:
                    yield from empty_batches(len(block))
                    continue
                rows = [read(line) for line in block]
                columns = [[_text(row.get(name)) for row in rows] for name in names]
                yield pa.RecordBatch.from_arrays([texts_of(column) for column in columns], names=list(names))


def open_json_lines(path: Path, schema: Schema) -> JsonLines:
    return JsonLines(path, schema.format, dict.fromkeys(wanted(schema), "text"))


def lines_of(stream: io.TextIOBase) -> Iterator[str]:
    """The lines that are not blank; of one that is too long its beginning, which is no object."""
    while line := stream.readline(LONGEST_LINE):
        whole = line.endswith(ENDS) or len(line) < LONGEST_LINE
        rest = line
        while not whole:
            rest = stream.readline(LONGEST_LINE)
            whole = rest.endswith(ENDS) or len(rest) < LONGEST_LINE
        if line.strip(BLANK):
            yield line if rest is line else "…"


def _block(lines: Iterator[str]) -> list[str]:
    """Up to BATCH lines, fewer where they are long; none at the end of the file."""
    found: list[str] = []
    size = 0
    for line in lines:
        found.append(line)
        size += len(line)
        if len(found) >= BATCH or size >= LONGEST_LINE:
            break
    return found


def reader_of(form: Format) -> Callable[[str], Mapping[str, Any]]:
    """A reader of lines whose numbers are texts in the notation of the study; a line that is no object has no field."""
    decoder = json.JSONDecoder(
        parse_int=lambda digits: "0" if digits == "-0" else digits,
        parse_float=lambda digits: _number_text(digits, form),
        parse_constant={"Infinity": "inf", "-Infinity": "-inf"}.get,
    )

    def read(line: str) -> Mapping[str, Any]:
        try:
            found = decoder.decode(line)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    return read


def _number_text(digits: str, form: Format) -> str | None:
    """The text of a number with a point or an exponent: of a whole one all of its digits, as the integer has."""
    number = float(digits)
    if abs(number) >= EXACT_DOUBLE and number.is_integer() and (exact := Decimal(digits)) == exact.to_integral_value():
        return str(int(exact))
    return form.spelled(number)


def _text(cell: object) -> str:
    """The text of a cell, empty where it is missing."""
    if isinstance(cell, str):
        return cell
    return {True: "true", False: "false"}[cell] if isinstance(cell, bool) else ""
