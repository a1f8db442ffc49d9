"""Kinds of files that hold tables, told by the ending of the name alone, and their compression.

    kind_of(path)               csv, parquet, workbook and so on
    bare(path)                  visits.csv.gz -> visits.csv
    text_of(path, encoding)     (stream of text, the file below it, whose place tells how much was read)
    bytes_of(path)              the same of bytes

Files of text may be plain, ``.gz`` or ``.zst``. A file is decompressed as it is read, and never written out. One that
is damaged or cut short makes its reader fail: a part of a table would pass for the whole of it.
"""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO, Final, Literal, TypeAlias, cast

from reticent.data.format import codec, in_database, in_spark, nearest
from reticent.errors import SpecError

ENDINGS: Final = (".gz", ".zst")
DAMAGED: Final = (OSError, EOFError, zlib.error)

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
    ".toml": "Is it a study file? Its table is meant.",
    ".json": "Write one object a line, and call it .jsonl.",
}


def bare(path: Path) -> Path:
    """The path without the ending that says how it is compressed."""
    return path.with_suffix("") if path.suffix.lower() in ENDINGS else path


def text_of(path: Path, encoding: str) -> tuple[io.TextIOWrapper, BinaryIO]:
    """The text of a file, line ends and undecodable bytes kept, and the file that it is read from.

    Raises
    ------
    OSError
        When it cannot be opened. Whoever reads on meets one of ``DAMAGED`` where the compression is broken.
    """
    found, below = bytes_of(path)
    # a bad byte is a cell that cannot be read, and no error: that would be a message about rows
    return io.TextIOWrapper(found, encoding=codec(encoding), errors="surrogateescape", newline=""), below


def bytes_of(path: Path) -> tuple[BinaryIO, BinaryIO]:
    """The bytes of a file without its compression, and the file that they are read from.

    Raises
    ------
    OSError
        When it cannot be opened.
    """
    below = open(path, "rb")  # noqa: SIM115 - closed with the stream above it, or by the caller
    found: BinaryIO = below
    if path.suffix.lower() == ".gz":
        found = cast(BinaryIO, gzip.GzipFile(fileobj=below, mode="rb"))  # its stub is no BinaryIO, and it reads as one
    elif path.suffix.lower() == ".zst":
        import pyarrow as pa

        found = pa.CompressedInputStream(below, "zstd")
    return found, below


def stem_of(place: str) -> str:
    """The name of a source without ending or schema, as SQL and file names use it; empty of a table in memory.

    A pattern is named by its letters, ``v*.parquet``, or else by the folder above it, ``visits/day=*/*.parquet``.
    """
    if not in_database(place):
        names = (bare(Path(place)).stem, *(folder.name for folder in Path(place).parents))
        letters = (name.strip("*?") for name in names if "=" not in name)
        return next((name for name in letters if name), "") if place else ""
    if in_spark(place):
        return place.rpartition(".")[2]
    from urllib.parse import parse_qs, urlsplit

    return parse_qs(urlsplit(place).query).get("table", [""])[0].rpartition(".")[2].strip('"')


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
