"""Kinds of files that hold tables, told by the ending of the name alone."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeAlias

from reticent.data.compression import bare
from reticent.data.format import in_database, nearest
from reticent.errors import SpecError

FileKind: TypeAlias = Literal["csv", "database", "json lines", "parquet", "statistical", "workbook"]

KINDS: Final[dict[str, FileKind]] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "workbook",
    ".xlsm": "workbook",
    **dict.fromkeys((".dta", ".sav", ".zsav", ".sas7bdat", ".xpt"), "statistical"),
    ".jsonl": "json lines",
    ".ndjson": "json lines",
}
TABLES: Final = frozenset({*KINDS, ".csv", ".tsv", ".txt"})
TEXT: Final = ("csv", "json lines")
OTHERS: Final = {
    ".xls": "Save it as .xlsx.",
    ".xlsb": "Save it as .xlsx.",
    ".ods": "Save it as .xlsx.",
    ".numbers": "Export it as .xlsx.",
    ".rds": "Write it as .parquet or .csv.",
    ".rdata": "Write it as .parquet or .csv.",
    **dict.fromkeys((".duckdb", ".ddb"), 'Name a table of it: source = "duckdb:///FILE?table=NAME".'),
    **dict.fromkeys((".sqlite", ".sqlite3"), 'Name a table of it: source = "sqlite:///FILE?table=NAME".'),
    ".json": "Write one object a line, and call it .jsonl.",
}


def meant_file(path: Path) -> str:
    """A hint at the table beside a missing file whose name is nearest, ``" Did you mean visits.csv?"``; else empty."""
    try:
        names = [one for one in sorted(path.expanduser().parent.iterdir()) if bare(one).suffix.lower() in TABLES]
    except (OSError, RuntimeError):  # no such folder, or no such home
        return ""
    stems = {bare(one).stem: one.name for one in reversed(names)}
    near = nearest(bare(path).stem, stems)
    return "" if near is None else f" Did you mean {stems[near]}?"


def kind_of(path: Path) -> FileKind:
    """The kind of a file; CSV where the ending says nothing else.

    Raises
    ------
    SpecError
        For the endings of other tables, with what to do.
    """
    if in_database(path):
        return "database"
    ending = bare(path).suffix.lower()
    if ending in OTHERS:
        raise SpecError(f"{path.name} is of a kind that is not read. {OTHERS[ending]} Nothing was read.")
    found = KINDS.get(ending, "csv")
    if found not in TEXT and ending != path.suffix.lower():
        raise SpecError(f"{path.name} is compressed, which only files of text may be. Unpack it. Nothing was read.")
    return found
