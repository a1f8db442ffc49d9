"""Tables of statistical programs: Stata (``.dta``), SPSS (``.sav``, ``.zsav``) and SAS (``.sas7bdat``, ``.xpt``).

pyreadstat reads them, some rows at a time. A cell becomes the text that a CSV file would have in its place: a number in
the notation of the study, a day as 2026-11-21. A value that the file or the program declares as missing is missing.
Labels of codes stand in the header, whichever values are there: ``init`` writes them as a comment, for the curator to
confirm. A code whose label is a declared key counts as that key; all other codes stay codes.

Before the charge the header alone is read. Texts are read as bytes and decoded cell by cell: one that is not in the
encoding which the header states is missing. A damaged file makes the reader fail.
"""

from __future__ import annotations

import codecs
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import whitespace
from typing import TYPE_CHECKING, Any, Final

from reticent.data.columns import BATCH, Reading, Storage, check_names, empty_batches, texts_of, wanted
from reticent.data.format import Format, plain
from reticent.data.header import check_form
from reticent.data.schema import LONGEST_LABEL, Category, Schema
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

READERS: Final = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
MISSING: Final = "needs pyreadstat: pip install 'reticent[stat]'. Nothing was read."
SINCE_1960: Final = datetime.date(1960, 1, 1).toordinal()  # days of Stata and SAS
SINCE_1582: Final = datetime.date(1582, 10, 14).toordinal()  # seconds of SPSS
SPSS_DAYS: Final = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE")
SPSS_TIMES: Final = ("DATETIME", "YMDHMS")
SAS_TIMES: Final = ("DATETIME", "DATEAMPM", "E8601DT", "IS8601DT", "B8601DT")
SAS_DAYS: Final = ("DATE", "YYMMDD", "MMDDYY", "DDMMYY", "E8601DA", "IS8601DA")
MOST_LABELS: Final = 100
BYTES: Final = "latin1"  # each byte is a character, so that no text of a cell can be wrong


@dataclass(frozen=True, slots=True)
class StatHeader:
    """Names, types, formats and labels of the columns of a file, and labels of their values."""

    names: tuple[str, ...]
    types: Mapping[str, str]
    formats: Mapping[str, str]
    labels: Mapping[str, Mapping[object, str]]
    encoding: str = "utf-8"
    as_bytes: Mapping[str, str] = field(default_factory=dict)  # each name as a reader of single bytes has it
    titles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StatFile:
    """One file of a statistical program, every column as text."""

    path: Path
    form: Format
    header: StatHeader
    storage: Mapping[str, Storage]
    meant: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of each column the declared keys of codes
    reading: Reading = field(default_factory=Reading)

    @property
    def place(self) -> str:
        return str(self.path)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        columns = list(dict.fromkeys(names)) or [self.header.names[0]]
        done = 0
        while True:
            own = [self.header.as_bytes[name] for name in columns]
            told, _ = _read(self.path, usecols=own, row_offset=done, row_limit=BATCH, encoding=BYTES)
            found = {name: told[mine] for name, mine in zip(columns, own, strict=True)}
            size = len(found[columns[0]])
            if not size:
                return
            done += size
            if not names:
                yield from empty_batches(size)
                continue
            texts = [[self._key(self._text(cell, name), name) for cell in found[name]] for name in names]
            yield pa.RecordBatch.from_arrays([texts_of(column) for column in texts], names=list(names))

    def _key(self, text: str, name: str) -> str:
        """The declared key that a text stands for, or the text."""
        return self.meant[name].get(text, text) if name in self.meant else text

    def _text(self, cell: object, name: str) -> str:
        """The text of a cell, empty where it is missing."""
        if isinstance(cell, str):
            return decoded(cell, self.header.encoding)
        if not isinstance(cell, int | float):
            return ""
        per_day = days_of(self.path, self.header.formats.get(name, ""))
        return (self.form.spelled(float(cell)) or "") if per_day is None else day_text(float(cell), *per_day)


def decoded(cell: str, encoding: str) -> str:
    """The text of a cell that was read as single bytes, empty where it is none in that encoding.

    The reader itself fails for the whole file where one cell is in another encoding: one row would decide.
    """
    written = cell.encode(BYTES)
    for known in (encoding,) if encoding else ("utf-8", "cp1252"):
        try:
            return written.decode(known)
        except (UnicodeDecodeError, LookupError):
            continue
    return ""


def days_of(path: Path, shown: str) -> tuple[int, int, bool] | None:
    """The first day, the steps of a day, and True for times too, where a format shows moments; None of another."""
    kind, word = path.suffix.lower(), shown.upper().rstrip("0123456789.")
    if kind == ".dta":
        if shown.startswith(("%tc", "%-tc")):
            return SINCE_1960, 86_400_000, True
        return (SINCE_1960, 1, False) if shown.startswith(("%td", "%d", "%-td", "%-d")) else None
    if kind in (".sav", ".zsav"):
        return (SINCE_1582, 86_400, word in SPSS_TIMES) if word in (*SPSS_DAYS, *SPSS_TIMES) else None
    if word in SAS_TIMES:
        return SINCE_1960, 86_400, True
    return (SINCE_1960, 1, False) if word in SAS_DAYS else None


def day_text(number: float, first: int, steps: int, timed: bool = False) -> str:
    """A day in ISO 8601 with its time where that is not midnight, empty where the calendar has none.

    Parameters
    ----------
    number : float
        Moment as the file counts it.
    first : int
        Ordinal of the day that the file counts from.
    steps : int
        Steps of a day in that count.
    timed : bool
        True where the time of the day counts.

    Returns
    -------
    str
        Date, date and time to the millisecond, or an empty text.
    """
    day, rest = divmod(number, steps)
    if not 1 <= day + first <= datetime.date.max.toordinal():
        return ""
    date = datetime.date.fromordinal(int(day) + first)
    milliseconds = int(rest * (86_400_000 // steps))
    if not timed or not milliseconds:
        return date.isoformat()
    found = datetime.datetime(date.year, date.month, date.day) + datetime.timedelta(milliseconds=milliseconds)
    return found.isoformat(timespec="milliseconds" if found.microsecond else "seconds")


def open_stat_file(path: Path, schema: Schema) -> StatFile:
    header = stat_header(path)
    check_names(header.names, schema, f"the header of {path.name}")
    return StatFile(path, schema.format, header, dict.fromkeys(wanted(schema), "text"), _meant(header, schema))


def _meant(header: StatHeader, schema: Schema) -> dict[str, dict[str, str]]:
    """Declared keys of codes, by the texts of these: public, of the header and the declarations alone."""
    found = {}
    for name, column in schema.columns.items():
        if isinstance(column, Category) and name in header.labels:
            keys = set(map(str, column.among))
            labels = {
                code: label.strip(whitespace) if column.trimmed else label
                for code, label in header.labels[name].items()
            }
            codes = {_code(code, schema.format): label for code, label in labels.items() if label in keys}
            found[name] = {code: label for code, label in codes.items() if code not in keys}
    return found


def _code(code: object, form: Format) -> str:
    """The text of a code, as its cells have it."""
    return code if isinstance(code, str) else form.spelled(float(str(code))) or ""


def stat_header(path: Path) -> StatHeader:
    """The header of a file; no row is read.

    Raises
    ------
    SpecError
        Without pyreadstat, and for a file that it cannot read. The words repeat nothing of the file.
    """
    try:
        import pyreadstat  # noqa: F401 - whether it is there
    except ImportError:
        raise SpecError(f"{path.name} {MISSING}") from None
    try:
        _, told = _read(path, metadataonly=True)
        _, plain = _read(path, metadataonly=True, encoding=BYTES)
        names = tuple(map(str, told.column_names))
        as_bytes = dict(zip(names, map(str, plain.column_names), strict=True))
        encoding = codecs.lookup(str(told.file_encoding)).name if told.file_encoding else ""
        types = {name: str(told.readstat_variable_types.get(name, "")) for name in names}
        formats = {name: str(told.original_variable_types.get(name) or "") for name in names}
        labels = {str(name): dict(listed) for name, listed in told.variable_value_labels.items()}
        titles = {str(name): str(title) for name, title in told.column_names_to_labels.items() if title}
    except Exception:  # whatever the reader says may quote the file
        said = f"{path.name} cannot be read: its header is damaged, or of another kind. No row was read."
        raise SpecError(said) from None
    check_form(names, path.name, "utf-8")
    return StatHeader(names, types, formats, labels, encoding, as_bytes, titles)


def _read(path: Path, **asked: Any) -> tuple[Mapping[str, list[object]], Any]:
    import pyreadstat

    reader = getattr(pyreadstat, READERS[path.suffix.lower()])
    found: tuple[Mapping[str, list[object]], Any] = reader(
        str(path), output_format="dict", disable_datetime_conversion=True, **asked
    )
    return found


def stat_fields(path: Path) -> list[tuple[str, str]]:
    """Names with types: text, a day, a moment, or a number."""
    header = stat_header(path)

    def kind(name: str) -> str:
        if header.types[name] == "string":
            return "string"
        shown = days_of(path, header.formats.get(name, ""))
        return "double" if shown is None else "timestamp" if shown[2] else "date"

    return [(name, kind(name)) for name in header.names]


def _is_key(label: str) -> bool:
    """True of a label that can be the key of a category as it stands."""
    return 0 < len(label) <= LONGEST_LABEL and label == label.strip() and label.isprintable()


def label_lines(path: Path) -> dict[str, str]:
    """For each column what it is called, and its codes and what they mean, as lines of comment for a study file."""
    import json

    header = stat_header(path)
    lines = {}
    for name, listed in header.labels.items():
        codes = [int(code) if isinstance(code, float) and code.is_integer() else code for code in listed]
        if listed and len(listed) <= MOST_LABELS and all(isinstance(code, int | str) for code in codes):
            meant = ", ".join(f"{code} {plain(str(label))}" for code, label in zip(codes, listed.values(), strict=True))
            named = [str(label) for label in listed.values()]
            apart = len(set(named)) == len(named) and all(_is_key(one) for one in named)
            among = json.dumps(named if apart else codes, ensure_ascii=not apart)
            said = f"# The header labels codes: {plain(meant)}. If that is public:"
            lines[name] = f'{said}\n# kind  = "category"\n# among = {among}\n'
    for name, title in header.titles.items():
        if (shown := plain(title).strip()) and len(shown) <= LONGEST_LABEL:
            lines[name] = f"# label = {json.dumps(shown, ensure_ascii=False)}\n{lines.get(name, '')}"
    return lines
