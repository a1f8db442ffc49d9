"""Tables in files: one CSV file, or Parquet files of the same columns.

A CSV file is comma-separated UTF-8 (RFC 4180; another delimiter may be declared). Every cell is text: nothing is
guessed. A row that is too short has missing cells at its end, one that is too long loses the rest, a blank line is no
row, an empty cell or one that is not UTF-8 is missing. A quote that is never closed runs to the end of the file, and
then the read fails as soon as the cell passes 131,072 characters.
"""

from __future__ import annotations

import csv
import glob
import io
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.data.columns import (
    BATCH,
    MOST_COLUMNS,
    Storage,
    check_names,
    empty_batches,
    is_utf8,
    normal,
    storage_of,
    wanted,
)
from reticent.data.schema import Schema
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_HEADER: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class CsvFile:
    """One CSV file, every column as text."""

    path: Path
    header: tuple[str, ...]
    delimiter: str
    storage: Mapping[str, Storage]

    @property
    def place(self) -> str:
        return str(self.path)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        where = [self.header.index(name) for name in names]
        with open(self.path, encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
            rows = csv.reader(stream, delimiter=self.delimiter)
            next(rows, None)
            while block := list(islice(rows, BATCH)):
                block = [row for row in block if row]
                if not names:
                    yield from empty_batches(len(block))
                    continue
                columns = [[row[at] if len(row) > at else "" for row in block] for at in where]
                yield pa.RecordBatch.from_arrays([_texts(column) for column in columns], names=list(names))


def _texts(cells: list[str]) -> pa.Array:
    import pyarrow as pa

    try:
        "".join(cells).encode()
        return pa.array([cell or None for cell in cells], pa.string())
    except UnicodeEncodeError:
        return pa.array([cell if cell and is_utf8(cell) else None for cell in cells], pa.string())


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """One or several Parquet files of the same columns, read one after the other."""

    pattern: Path
    files: tuple[Path, ...]
    storage: Mapping[str, Storage]

    @property
    def place(self) -> str:
        return str(self.pattern)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for path in self.files:
            with pq.ParquetFile(path, memory_map=False) as file:
                if not names:
                    yield from empty_batches(file.metadata.num_rows)
                    continue
                for batch in file.iter_batches(batch_size=BATCH, columns=list(names)):
                    arrays = [normal(batch.column(name), self.storage[name]) for name in names]
                    yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def open_files(path: Path, schema: Schema, delimiter: str) -> CsvFile | ParquetFiles:
    if is_parquet(path):
        files = parquet_files(path)
        fields = [parquet_schema(file) for file in files]
        return ParquetFiles(path.resolve(), files, storage_of(fields, schema, path.name))
    header = header_of(path, delimiter)
    check_names(header, schema, f"the header of {path.name}")
    return CsvFile(path.resolve(), header, delimiter, dict.fromkeys(wanted(schema), "text"))


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() in {".parquet", ".pq"}


def _check_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise SpecError(f"There is no file {path.name}. Nothing was read.") from None
    except OSError:
        raise SpecError(f"{path.name} cannot be reached. Nothing was read.") from None
    if stat.S_ISDIR(mode):
        raise SpecError(f"{path.name} is a folder. Give a file, or a pattern such as {path.name}/*.parquet.")
    if not stat.S_ISREG(mode):
        raise SpecError(f"{path.name} is not a regular file: a table must be readable more than once.")
    if not os.access(path, os.R_OK):
        raise SpecError(f"{path.name} may not be read by this user. Nothing was read.")


def parquet_files(path: Path) -> tuple[Path, ...]:
    if not glob.has_magic(str(path)) or path.exists():
        _check_file(path)
        return (path.resolve(),)
    # a folder may itself be called "[a]"; only a pattern is read as one
    folder = glob.escape(str(path.parent)) if path.parent.is_dir() else str(path.parent)
    files = tuple(Path(name).resolve() for name in sorted(glob.glob(f"{folder}/{path.name}", recursive=True)))
    if not files:
        raise SpecError(f"No file fits {path.name}. Nothing was read.")
    for file in files:
        _check_file(file)
    return files


def parquet_schema(path: Path) -> pa.Schema:
    import pyarrow.parquet as pq

    try:
        return pq.read_schema(path)
    except Exception:  # whatever the reader says of a broken footer may quote it
        raise SpecError(f"{path.name} is not a Parquet file, or its footer is damaged. No row was read.") from None


def header_of(path: Path, delimiter: str) -> tuple[str, ...]:
    """The names in the first line of a CSV file; only that line is looked at."""
    _check_file(path)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise SpecError("delimiter must be one character, such as ',' or ';'")
    left = LONGEST_HEADER

    def lines(stream: io.TextIOBase) -> Iterator[str]:
        nonlocal left
        while line := stream.readline(left + 1):
            left -= len(line)
            if left < 0:
                raise SpecError(f"The header line of {path.name} is longer than 1 MiB. No row was read.")
            yield line

    try:
        # a bad byte behind the header must not be noticed here: that would be a message about rows
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
            names = tuple(next(csv.reader(lines(stream), delimiter=delimiter), ()))
    except csv.Error:
        raise SpecError(f"The header of {path.name} cannot be read: is a quote left open? No row was read.") from None
    except OSError:
        raise SpecError(f"{path.name} cannot be read. No row was read.") from None
    if not names:
        raise SpecError(f"{path.name} is empty: its first line must name the columns.")
    if len(names) > MOST_COLUMNS:
        raise SpecError(f"{path.name} has more than {MOST_COLUMNS:,} columns. Keep the ones you need.")
    if not all(is_utf8(name) for name in names):
        raise SpecError(f"The header of {path.name} is not UTF-8 text. Save the file as UTF-8.")
    if any("\x00" in name for name in names):
        raise SpecError(f"The header of {path.name} is not text. Is it a CSV file?")
    return names
