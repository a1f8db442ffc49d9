"""Tables in files: one CSV file, or Parquet files of the same columns.

A CSV file is comma-separated UTF-8 (RFC 4180; another delimiter and encoding may be declared), plain or compressed
(``.csv.gz``, ``.csv.zst``). Every cell is text:
nothing is guessed. A row that is too short has missing cells at its end. A row that is too long loses the rest, and a
blank line is no row. An empty cell is missing, and so is one that is not text in its encoding or has more than 131,072
characters. A quote that is never closed runs to the end of the file. No text makes the reader fail, and none makes it
hold more than a block; only a compressed file that is damaged does.
"""

from __future__ import annotations

import csv
import glob
import io
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import unquote

from reticent.data.columns import (
    BATCH,
    MOST_COLUMNS,
    Reading,
    Storage,
    check_names,
    empty_batches,
    normal,
    storage_of,
    texts,
    texts_of,
    wanted,
)
from reticent.data.csv_blocks import CsvBlocks, plain_columns
from reticent.data.file_kinds import bare, bytes_of, kind_of, meant_file, text_of
from reticent.data.format import LONGEST_NAME, PLAIN, Format
from reticent.data.header import check_form, delimiter_hint, delimiter_of, first_line, meant_names
from reticent.data.schema import Schema
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.data.json_lines import JsonLines
    from reticent.data.spreadsheet import Spreadsheet
    from reticent.data.statistical_files import StatFile

LONGEST_CELL: Final = 131_072  # characters
NO_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"  # the folder of rows without a value
FOLDER_OF_DAY: Final = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]")
FOLDER_OF_WHOLE: Final = re.compile(r"-?[0-9]{1,15}")
BLOCK: Final = 1 << 24  # characters
BUFFER: Final = 1 << 20  # bytes of a column of a Parquet file that are read ahead
MAGIC: Final = b"PAR1"  # both ends of a Parquet file
ENDS: Final = 8  # bytes behind its footer: the length of that, and the end
DAMAGED: Final = "{} is not a Parquet file, or its footer is damaged. No row was read."
MOST_LINES: Final = 100  # of a record, beyond which the curator is told of its quotes


@dataclass(frozen=True, slots=True)
class CsvFile:
    """One CSV file. Every column is text, but for those that are read as numbers of a format."""

    path: Path
    header: tuple[str, ...]
    delimiter: str
    encoding: str
    storage: Mapping[str, Storage]
    reading: Reading = field(default_factory=Reading)
    form: Format = PLAIN

    @property
    def place(self) -> str:
        return str(self.path)

    def with_numbers(self, schema: Schema) -> CsvFile:
        """The same file with columns of numbers read as doubles, and the others as text."""
        from reticent.data.text_numbers import number_columns

        found = number_columns(schema) & set(self.storage)
        return replace(self, storage={**self.storage, **dict.fromkeys(found, "real")}, form=schema.format)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        where, width = [self.header.index(name) for name in names], len(self.header)
        if self.encoding != "utf-8":
            yield from self._by_records(names, where)
            return
        stream, below = bytes_of(self.path)
        with below, stream:
            blocks = CsvBlocks(stream)
            records = _Records(blocks, self.delimiter, max(where, default=0) + 1)
            records.next()
            size = os.fstat(below.fileno()).st_size
            while block := blocks.take() or blocks.block():
                self.reading.share = below.tell() / max(size, 1)
                odd = blocks.cut or records.ahead
                columns = None if odd else plain_columns(block, self.delimiter, width, where, LONGEST_CELL)
                if columns is None:
                    blocks.give(block)
                    for rows in records.blocks(lambda: blocks.dry):
                        yield from self._batch_of(rows, names, where)
                elif not names:
                    yield from empty_batches(len(columns[0]))
                elif len(columns[0]):
                    yield self._typed(columns, names)
            self.reading.swallowed |= records.swallowed

    def _by_records(self, names: Sequence[str], where: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The rows of a file in another encoding than UTF-8, record by record."""
        stream, below = text_of(self.path, self.encoding)
        with below, stream:
            records = _Records(stream, self.delimiter, max(where, default=0) + 1)
            records.next()
            size = os.fstat(below.fileno()).st_size
            for rows in records.blocks(lambda: False):
                self.reading.share = below.tell() / max(size, 1)
                yield from self._batch_of(rows, names, where)
            self.reading.swallowed |= records.swallowed

    def _batch_of(self, rows: list[list[str]], names: Sequence[str], where: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Records as a batch."""
        if not names:
            yield from empty_batches(len(rows))
            return
        columns = [[row[at] if len(row) > at else "" for row in rows] for at in where]
        yield self._typed([texts_of(column) for column in columns], names)

    def _typed(self, texts: Sequence[pa.Array], names: Sequence[str]) -> pa.RecordBatch:
        import pyarrow as pa

        from reticent.data.text_numbers import numbers_of

        columns = [
            numbers_of(column, self.form) if self.storage[name] == "real" else column
            for name, column in zip(names, texts, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, names=list(names))


class _Lines(Protocol):
    """Text that is read line by line, or so many characters of a line."""

    def readline(self, most: int, /) -> str: ...


class _LongRecord(Exception):
    """The lines of one record have more than LONGEST_CELL characters."""


class _Records:
    """The records of a CSV file, whatever it holds, each with at least its first ``width`` cells.

    ``csv.reader`` takes the records it can take. If it gives up, or if a cell might be too long for it, ``_total``
    reads the same record again. ``_total`` holds no more than one cell at a time beside the ones it returns.
    """

    def __init__(self, stream: _Lines, delimiter: str, width: int) -> None:
        self._stream, self._width, self._delimiter = stream, width, delimiter
        self._end = re.compile(f"[\\r\\n{re.escape(delimiter)}]")
        self._lines: list[str] = []  # of the record under way
        self._read = self._start = 0  # characters: in all, and before the record under way
        self._ahead = ""
        self.swallowed = False  # True if a record has many lines, or a quote is open at the end of the file
        self._reader = csv.reader(self._taking(), delimiter=delimiter)

    @property
    def ahead(self) -> bool:
        """True if a character behind the record under way is read already."""
        return bool(self._ahead)

    def blocks(self, dry: Callable[[], bool]) -> Iterator[list[list[str]]]:
        """All records up to the end of the file, or to the one after which ``dry`` is true, a block at a time."""
        while found := self.block(dry):
            yield found

    def block(self, dry: Callable[[], bool] = lambda: False) -> list[list[str]]:
        """Up to BATCH records, fewer where they are long; none at the end. A blank line is no record."""
        found: list[list[str]] = []
        most = self._read + BLOCK
        while len(found) < BATCH and self._read < most and (self._ahead or not dry()):
            row = self.next()
            if row is None:
                break
            if row:
                found.append(row)
        return found

    def next(self) -> list[str] | None:
        """The next record, without cells for a blank line; None at the end."""
        self._lines.clear()
        self._start = self._read
        try:
            return next(self._reader, None)
        except (csv.Error, _LongRecord):
            found = self._total([*self._lines])
            self._reader = csv.reader(self._taking(), delimiter=self._delimiter)  # a generator that raised has ended
            return found

    def _taking(self) -> Iterator[str]:
        lines, readline = self._lines, self._stream.readline
        while line := self._line() if self._ahead else readline(LONGEST_CELL + 1):
            if len(line) > LONGEST_CELL:
                line = self._whole_end(line)
            lines.append(line)
            self._read += len(line)
            self.swallowed |= len(lines) > MOST_LINES
            if self._read - self._start > LONGEST_CELL:
                raise _LongRecord
            yield line
        self.swallowed |= bool(lines)  # a record that is not over asks for more

    def _line(self) -> str:
        """A line with its end, or a part of one that is too long; empty at the end of the file."""
        ahead, self._ahead = self._ahead, ""
        if ahead.endswith(("\r", "\n")):
            return ahead
        return ahead + self._stream.readline(LONGEST_CELL + 1)

    def _more(self) -> str:
        line = self._whole_end(self._line())
        self._read += len(line)
        return line

    def _whole_end(self, line: str) -> str:
        """Handle a long line that was cut inside its end, a carriage return and a line feed."""
        if line.endswith("\r") and len(line) > LONGEST_CELL:
            after = self._stream.readline(1)
            if after == "\n":
                return line + after
            self._ahead = after
        return line

    def _total(self, lines: list[str]) -> list[str]:
        """One record, by the states of RFC 4180: at the start of a cell, in a plain one, in quotes, behind a quote."""
        cells: list[str] = []
        cell: list[str] = []
        size, state = 0, "start"
        lines.reverse()
        while line := lines.pop() if lines else self._more():
            at = 0
            while at < len(line):
                if state in ("start", "behind") and line[at] == '"':
                    piece, at = ('"' if state == "behind" else ""), at + 1
                    state = "quoted"
                elif state == "quoted":
                    stop = line.find('"', at)
                    piece, at = (line[at:], len(line)) if stop < 0 else (line[at:stop], stop + 1)
                    state = "quoted" if stop < 0 else "behind"
                else:
                    end = self._end.search(line, at)
                    piece, at = (line[at:], len(line)) if end is None else (line[at : end.start()], end.end())
                    state = "plain" if end is None else "start" if end.group() == self._delimiter else "end"
                size += len(piece)
                if size <= LONGEST_CELL:
                    cell.append(piece)
                if state in ("start", "end"):
                    if len(cells) < self._width:
                        cells.append("".join(cell) if size <= LONGEST_CELL else "")
                    cell, size = [], 0
                if state == "end":
                    return cells
        self.swallowed |= state == "quoted"
        if len(cells) < self._width:
            cells.append("".join(cell) if size <= LONGEST_CELL else "")
        return cells


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """One or several Parquet files of the same columns, read one after the other.

    ``folders`` has for each file the columns that its folders name, ``year=2013``: one value for all its rows.
    """

    pattern: Path
    files: tuple[Path, ...]
    storage: Mapping[str, Storage]
    folders: tuple[Mapping[str, str | None], ...] = ()
    reading: Reading = field(default_factory=Reading)

    @property
    def place(self) -> str:
        return str(self.pattern)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for place, path in enumerate(self.files):
            named = self.folders[place] if self.folders else {}
            with pq.ParquetFile(path, memory_map=False, pre_buffer=False, buffer_size=BUFFER) as file:
                done, whole = 0, max(file.metadata.num_rows, 1)
                if not names:
                    yield from empty_batches(file.metadata.num_rows)
                    continue
                own = set(file.schema_arrow.names)
                read = [name for name in names if name in own] or list(own)[:1]  # for the number of rows
                for batch in file.iter_batches(batch_size=BATCH, columns=read):
                    done += batch.num_rows
                    self.reading.share = (place + done / whole) / len(self.files)
                    arrays = [
                        normal(
                            batch.column(name) if name in own else texts([named[name]] * batch.num_rows),
                            self.storage[name],
                        )
                        for name in names
                    ]
                    yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def open_files(
    path: Path, schema: Schema, delimiter: str
) -> CsvFile | JsonLines | ParquetFiles | Spreadsheet | StatFile:
    """The source of a file, or of Parquet files of one pattern.

    Parameters
    ----------
    path : Path
        A file, or a pattern of Parquet files.
    schema : Schema
    delimiter : str
        Of a CSV file.

    Returns
    -------
    CsvFile, JsonLines, ParquetFiles, Spreadsheet or StatFile

    Raises
    ------
    SpecError
        A sheet of a file that is no workbook, and files that cannot be read.
    """
    kind = kind_of(path)
    if schema.format.sheet and kind != "workbook":
        raise SpecError(f"{path.name} is no workbook, and has no sheet: leave [study] sheet out. Nothing was read.")
    if kind == "parquet":
        files = parquet_files(path)
        folders = tuple(folder_columns(path, file) for file in files)
        fields = [with_folders(parquet_schema(file), named) for file, named in zip(files, folders, strict=True)]
        for file, held in zip(files, fields, strict=True):
            check_names(held.names, schema, file.name)
        return ParquetFiles(path.resolve(), files, storage_of(fields, schema, path.name), folders)
    check_file(path)
    if kind == "workbook":
        from reticent.data.spreadsheet import open_spreadsheet

        return open_spreadsheet(path.resolve(), schema)
    if kind == "statistical":
        from reticent.data.statistical_files import open_stat_file

        return open_stat_file(path.resolve(), schema)
    if kind == "json lines":
        from reticent.data.json_lines import open_json_lines

        return open_json_lines(path.resolve(), schema)
    encoding = schema.format.encoding
    header = header_of(path, delimiter, encoding)
    hint = delimiter_hint(first_line(path, encoding), delimiter)
    names = wanted(schema)
    check_names(header, schema, f"the header of {path.name}", hint, lambda name: meant_names([name], header, names))
    return CsvFile(path.resolve(), header, delimiter, encoding, dict.fromkeys(names, "text"))


def delimiter_in(path: Path, encoding: str) -> str | None:
    """The delimiter that the header line of a CSV file shows; None for another file, which has none."""
    kind = kind_of(path)
    if kind == "parquet":
        return None
    check_file(path)
    return delimiter_of(first_line(path, encoding)) if kind == "csv" else None


def check_file(path: Path) -> None:
    """Refuse a path that is no file that can be read more than once."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if glob.has_magic(path.name) or (glob.has_magic(str(path)) and not path.parent.is_dir()):
            raise SpecError(
                f"{path.name} is a pattern, and several files are one table where they are Parquet: write them as "
                f"such, {bare(path).with_suffix('.parquet').name}, or put their rows into one file. Nothing was read."
            ) from None
        raise SpecError(f"There is no file {path.name}.{meant_file(path)} Nothing was read.") from None
    except OSError:
        raise SpecError(f"{path.name} cannot be reached. Nothing was read.") from None
    if stat.S_ISDIR(mode):
        raise SpecError(f"{path.name} is a folder. Give a file, or a pattern such as {path.name}/**/*.parquet.")
    if not stat.S_ISREG(mode):
        raise SpecError(f"{path.name} is not a regular file: a table must be readable more than once.")
    if not os.access(path, os.R_OK):
        raise SpecError(f"{path.name} may not be read by this user. Nothing was read.")


def parquet_files(path: Path) -> tuple[Path, ...]:
    if not glob.has_magic(str(path)) or path.exists():
        check_file(path)
        return (path.resolve(),)
    # a folder may itself be called "[a]"; only a pattern is read as one
    folder = glob.escape(str(path.parent)) if path.parent.is_dir() else str(path.parent)
    files = tuple(Path(name).resolve() for name in sorted(glob.glob(f"{folder}/{path.name}", recursive=True)))
    if not files:
        raise SpecError(f"No file fits {path.name}. Nothing was read.")
    for file in files:
        check_file(file)
    return files


def folder_columns(pattern: Path, file: Path) -> dict[str, str | None]:
    """The columns that the folders of a file name below the fixed part of a pattern: ``year=2013`` is year, 2013."""
    if pattern.exists():
        return {}
    try:
        parts = file.relative_to(fixed_part(pattern).resolve()).parts[:-1]
    except ValueError:  # a link that leads elsewhere
        return {}
    pairs = [part.partition("=") for part in parts]
    return {unquote(name): None if value == NO_FOLDER else unquote(value) for name, sign, value in pairs if sign}


def folder_types(pattern: Path, files: Sequence[Path]) -> dict[str, str]:
    """Types of the columns that folders name: a date or a whole number where every folder has one, else a text."""
    found = dict[str, set[str]]()
    for file in files:
        for name, value in folder_columns(pattern, file).items():
            texts = found.setdefault(name, set())
            texts |= set() if value is None else {value}
    return {name: _type_of(texts) for name, texts in found.items()}


def _type_of(texts: Collection[str]) -> str:
    """The type that texts of folders have in common."""
    if texts and all(FOLDER_OF_DAY.fullmatch(text) for text in texts):
        return "date"
    return "int64" if texts and all(FOLDER_OF_WHOLE.fullmatch(text) for text in texts) else "string"


def is_parted(pattern: Path, column: str) -> bool:
    """False if files of a pattern lie in no folders that name a column; True where there are no files yet."""
    if kind_of(pattern) != "parquet":
        return False
    with suppress(SpecError):  # of files that are not there, which is refused in other words
        return all(column in folder_columns(pattern, file) for file in parquet_files(pattern))
    return True


def fixed_part(pattern: Path) -> Path:
    """The folder above all that a pattern may stand for."""
    return next(folder for folder in (pattern, *pattern.parents) if not glob.has_magic(str(folder)))


def with_folders(fields: pa.Schema, named: Mapping[str, str | None]) -> pa.Schema:
    """The columns of a Parquet file, and those that its folders name and it does not hold."""
    import pyarrow as pa

    for name in named:
        if name not in fields.names:
            fields = fields.append(pa.field(name, pa.string()))
    return fields


def parquet_schema(path: Path) -> pa.Schema:
    """The columns of a Parquet file, by its footer, whose pieces of columns have to lie inside of the file."""
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(path)
        groups = [footer.row_group(nth) for nth in range(footer.num_row_groups)]
        filled = [group for group in groups if group.num_rows]  # some writers give pieces of no row no place
        parts = [group.column(place) for group in filled for place in range(footer.num_columns)]
        starts = [part.dictionary_page_offset or part.data_page_offset for part in parts]
        end = path.stat().st_size - footer.serialized_size - ENDS
        whole = footer.num_rows == sum(group.num_rows for group in groups) and has_ends(path)
        whole &= all(4 <= at <= end - part.total_compressed_size for at, part in zip(starts, parts, strict=True))
        fields = footer.schema.to_arrow_schema()
    except Exception:  # whatever the reader says of a broken footer may quote it
        raise SpecError(DAMAGED.format(path.name)) from None
    if not whole:
        raise SpecError(f"{path.name} is damaged: its footer tells of rows that it lacks. No row was read.")
    return fields


def has_ends(path: Path) -> bool:
    """True if a file begins and ends as a Parquet file does, with a footer that has room in it."""
    with path.open("rb") as file:
        head, size = file.read(4), file.seek(0, os.SEEK_END)
        file.seek(max(size - ENDS, 0))
        length, tail = file.read(4), file.read(4)
    return head == tail == MAGIC and int.from_bytes(length, "little") <= size - ENDS - len(MAGIC)


def damaged(path: Path) -> list[str]:
    """Refusals of all Parquet files that were cut, by their ends alone."""
    try:
        return [DAMAGED.format(file.name) for file in parquet_files(path) if not has_ends(file)]
    except SpecError as refused:
        return list(refused.problems)


def header_of(path: Path, delimiter: str, encoding: str = "utf-8", longest: int = LONGEST_NAME) -> tuple[str, ...]:
    """The names in the first line of a CSV file; only that line is looked at.

    Parameters
    ----------
    path : Path
    delimiter, encoding : str
    longest : int
        Characters that a name may have.

    Returns
    -------
    tuple of str

    Raises
    ------
    SpecError
        For a line that is no header. The words repeat nothing of it, since it may be a person's.
    """
    check_file(path)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise SpecError("delimiter must be one character, such as ',' or ';'")
    line = first_line(path, encoding)
    # read by the reader of rows, which must skip the same; a line of our own behind it tells an open quote
    records = _Records(io.StringIO(f"{line}\nend\n", newline=""), delimiter, MOST_COLUMNS + 1)
    names, after = tuple(records.next() or ()), records.next()
    if after != ["end"]:
        raise SpecError(f"The header of {path.name} leaves a quote open: a name has no line end. No row was read.")
    try:
        check_form(names, path.name, encoding, longest)
    except SpecError as error:  # a tab between names is a control character in a name
        raise SpecError(f"{error}{delimiter_hint(line, delimiter)}") from None
    return names
