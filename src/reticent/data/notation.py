"""Notation of a file of text: the sign between its cells, and how it writes numbers, dates and letters.

    Notation.of(place, delimiter, schema)   that of a study's own file; the plain one of every other source
    notation.table(names, rows)              the bytes of a table which the same program reads as it reads that file

Of a declared notation every part is public: nothing here looks at a row of the source.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reticent.data.file_kinds import kind_of
from reticent.data.format import PLAIN, Format, codec
from reticent.data.schema import Integer, Schema


@dataclass(frozen=True, slots=True)
class Notation:
    """Delimiter, number format, encoding and date formats of a CSV file; without arguments those of RFC 4180 in UTF-8.

    ``dates`` has the spelling of each column of dates that is not written in ISO 8601.
    """

    delimiter: str = ","
    form: Format = PLAIN
    dates: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, place: str, delimiter: str, schema: Schema) -> Notation:
        """The notation that a study declares for its source; the plain one where the source is no file of CSV.

        Parameters
        ----------
        place : str
            Path of the source, or URL of its database; empty of a table in memory.
        delimiter : str
            Declared for the source.
        schema : Schema
            Has the format, and the columns of dates with theirs.

        Returns
        -------
        Notation
        """
        if not place or kind_of(Path(place)) != "csv":
            return cls()
        stored = schema.stored.items()
        dated = {name: one.calendar for name, one in stored if isinstance(one, Integer) and one.calendar is not None}
        return cls(delimiter, schema.format, {name: one.format for name, one in dated.items() if one.format})

    def table(self, names: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> bytes:
        """A header and rows as a file, numbers with the decimal sign; a missing value is an empty cell.

        Parameters
        ----------
        names : sequence of str
            Names of the columns, which the encoding has where they come from such a file.
        rows : iterable of sequences
            Texts, numbers and None.

        Returns
        -------
        bytes
        """
        made = io.StringIO()
        writer = csv.writer(made, delimiter=self.delimiter, lineterminator="\r\n")
        writer.writerow(names)
        for row in rows:
            writer.writerow([self._cell(value) for value in row])
        return made.getvalue().encode(codec(self.form.encoding).removesuffix("-sig"))

    def _cell(self, value: str | float | None) -> str:
        return value if isinstance(value, str) else "" if value is None else self.form.spelled(value) or ""
