"""Where rows come from: a CSV file, Parquet files, or a table in memory, all as batches of declared columns only.

Opening looks at the header line or the schema, whether the file exists and may be read, and nothing else; whatever
cannot be used is refused here, with words. Rows are read later, by the engine, through ``batches``.

A CSV file is comma-separated UTF-8 (RFC 4180; another delimiter may be declared). Every cell is text: nothing is
guessed. A row that is too short has missing cells at its end, one that is too long loses the rest, a blank line is no
row, an empty cell or one that is not UTF-8 is missing. A quote that is never closed runs to the end of the file, and
then the read fails as soon as the cell passes 131,072 characters.
"""

from __future__ import annotations

import csv
import difflib
import glob
import io
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from reticent.data.schema import Category, Column, Schema
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

Storage: TypeAlias = Literal["text", "whole", "real", "truth"]

LONGEST_HEADER: Final = 1 << 20
MOST_COLUMNS: Final = 4096
BATCH: Final = 1 << 16


class Source(Protocol):
    """Rows to be read. ``place`` is the resolved path, or None for a table in memory."""

    @property
    def place(self) -> str | None: ...

    @property
    def storage(self) -> Mapping[str, Storage]:
        """How each declared column arrives."""
        ...

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of some declared columns, each cast to its storage. This reads rows."""
        ...


def open_source(source: Any, schema: Schema, *, delimiter: str = ",") -> Source:
    """The source behind a path (CSV, Parquet, glob of Parquet) or a table in memory. No row is read.

    Raises
    ------
    SpecError
        Where a file is missing, unreadable or no table, a declared column is missing, named twice or of a type that
        cannot be what it is declared to be.
    """
    if isinstance(source, str) and source.lower().startswith(("postgres://", "postgresql://")):
        raise SpecError("Postgres sources are not in this version: export the table to Parquet. Nothing was read.")
    if isinstance(source, str | os.PathLike):
        return _open_files(Path(os.fspath(source)), schema, delimiter)
    if isinstance(source, Mapping):
        return _open_arrays(source, schema)
    if _is_pandas(source):
        return _open_pandas(source, schema)
    if hasattr(source, "collect_schema") and not hasattr(source, "__arrow_c_stream__"):
        return _open_stream(source, schema, lambda names: source.select(list(names)).collect())
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "arrow"):
        return _open_stream(source, schema, lambda names: _select(source, names))
    raise SpecError(
        f"A {type(source).__name__} is not a table this version can read. Give a path to .csv or .parquet, a dict of "
        "arrays, or a pandas, Polars, Arrow or DuckDB table."
    )


def wanted(schema: Schema) -> tuple[str, ...]:
    """The columns that may ever be read: the declared ones and the person column."""
    person = schema.person.column
    return (*schema.columns, person) if person is not None and person not in schema.columns else tuple(schema.columns)


def names_of(path: Path, *, delimiter: str = ",") -> dict[str, str]:
    """Names and, for Parquet, types: what ``init`` may look at. ``""`` where the file states no type."""
    if _is_parquet(path):
        fields = _parquet_schema(_parquet_files(path)[0])
        return {field.name: str(field.type) for field in fields}
    return dict.fromkeys(_header(path, delimiter), "")


# --- files ------------------------------------------------------------------------------------------------------------


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
                    yield from _empty_batches(len(block))
                    continue
                columns = [[row[at] if len(row) > at else "" for row in block] for at in where]
                yield pa.RecordBatch.from_arrays([_texts(column) for column in columns], names=list(names))


def _texts(cells: list[str]) -> pa.Array:
    import pyarrow as pa

    try:
        "".join(cells).encode()
        return pa.array([cell or None for cell in cells], pa.string())
    except UnicodeEncodeError:
        return pa.array([cell if cell and _is_utf8(cell) else None for cell in cells], pa.string())


def _is_utf8(cell: str) -> bool:
    try:
        cell.encode()
    except UnicodeEncodeError:
        return False
    return True


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
                    yield from _empty_batches(file.metadata.num_rows)
                    continue
                for batch in file.iter_batches(batch_size=BATCH, columns=list(names)):
                    arrays = [normal(batch.column(name), self.storage[name]) for name in names]
                    yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def _open_files(path: Path, schema: Schema, delimiter: str) -> Source:
    if _is_parquet(path):
        files = _parquet_files(path)
        fields = [_parquet_schema(file) for file in files]
        return ParquetFiles(path.resolve(), files, _storage_of(fields, schema, path.name))
    header = _header(path, delimiter)
    _check_names(header, schema, f"the header of {path.name}")
    return CsvFile(path.resolve(), header, delimiter, dict.fromkeys(wanted(schema), "text"))


def _is_parquet(path: Path) -> bool:
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


def _parquet_files(path: Path) -> tuple[Path, ...]:
    if not glob.has_magic(str(path)) or path.exists():
        _check_file(path)
        return (path.resolve(),)
    files = tuple(Path(name).resolve() for name in sorted(glob.glob(str(path), recursive=True)))
    if not files:
        raise SpecError(f"No file fits {path.name}. Nothing was read.")
    for file in files:
        _check_file(file)
    return files


def _parquet_schema(path: Path) -> pa.Schema:
    import pyarrow.parquet as pq

    try:
        return pq.read_schema(path)
    except Exception:  # whatever the reader says of a broken footer may quote it
        raise SpecError(f"{path.name} is not a Parquet file, or its footer is damaged. No row was read.") from None


def _header(path: Path, delimiter: str) -> tuple[str, ...]:
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
    if not all(_is_utf8(name) for name in names):
        raise SpecError(f"The header of {path.name} is not UTF-8 text. Save the file as UTF-8.")
    if any("\x00" in name for name in names):
        raise SpecError(f"The header of {path.name} is not text. Is it a CSV file?")
    return names


# --- tables in memory -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class InMemory:
    """A table in memory: ``read`` gives Arrow columns when the rows are wanted."""

    storage: Mapping[str, Storage]
    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]

    @property
    def place(self) -> None:
        return None

    def __repr__(self) -> str:
        return "<private rows in memory>"

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in self.read(names):
            if not names:
                yield batch
                continue
            arrays = [normal(batch.column(place), self.storage[name]) for place, name in enumerate(names)]
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def _open_arrays(arrays: Mapping[Any, Any], schema: Schema) -> Source:
    names = tuple(str(name) for name in arrays)
    _check_names(names, schema, "the table")
    sizes = set()
    for name in names:
        column = arrays[name]
        if getattr(column, "ndim", 1) != 1 or isinstance(column, str | bytes) or not hasattr(column, "__len__"):
            raise SpecError(f"column {name} must be a list or a one-dimensional array")
        sizes.add(len(column))
    if len(sizes) > 1:
        raise SpecError("The columns have different lengths. Nothing was read.")
    size = sizes.pop() if sizes else 0
    storage: dict[str, Storage] = {}
    for name in wanted(schema):
        column = arrays[name]
        kind = getattr(getattr(column, "dtype", None), "kind", "O")
        found = _KINDS.get(kind)
        if found is None:
            raise SpecError(_unfit(name, f"numpy {column.dtype}"))
        if kind == "u" and column.dtype.itemsize == 8:
            found = "text"
        if kind in "Mm" and not _takes_text(schema, name):
            raise SpecError(_unfit(name, f"numpy {column.dtype}"))
        storage[name] = found

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        if not names:
            yield from _empty_batches(size)
            return
        columns = [_from_array(arrays[name], storage[name]) for name in names]
        yield pa.RecordBatch.from_arrays(columns, names=list(names))

    return InMemory(storage, read)


_KINDS: Final[Mapping[str, Storage]] = {
    "b": "truth",
    "i": "whole",
    "u": "whole",
    "f": "real",
    "U": "text",
    "T": "text",
    "O": "text",
    "M": "text",
    "m": "text",
}


def _from_array(column: Any, storage: Storage) -> pa.Array:
    """An Arrow column from a list or an array; objects that are not all of one kind go through their text."""
    import numpy as np
    import pyarrow as pa

    if isinstance(column, np.ma.MaskedArray):
        data, mask = np.ma.getdata(column), np.ma.getmaskarray(column)
        column = [None if hidden else cell for cell, hidden in zip(data.tolist(), mask.tolist(), strict=True)]
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return pa.array(np.asarray(column, dtype=np.float64))
    if isinstance(dtype, np.dtype) and dtype.kind in "biu":
        return pa.array(np.asarray(column))
    cells = list(column)
    if isinstance(dtype, np.dtype) and dtype.kind in "Mm":
        cells = [None if cell == "NaT" else cell for cell in np.asarray(column).astype(str).tolist()]
    texts = pa.array([_cell_text(cell) for cell in cells], pa.string())
    return texts if storage == "text" else normal(texts, storage)


def _cell_text(cell: object) -> str | None:
    """The text of one cell; equal numbers of different types have equal text."""
    import numpy as np

    if isinstance(cell, np.generic):
        cell = cell.item()
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        if math.isnan(cell):
            return None
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    try:
        text = cell.decode() if isinstance(cell, bytes) else str(cell)
    except UnicodeDecodeError:
        return None
    return text if _is_utf8(text) else None


def _is_pandas(source: object) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def _open_pandas(frame: Any, schema: Schema) -> Source:
    import pyarrow as pa

    names = tuple(str(name) for name in frame.columns)
    _check_names(names, schema, "the table")
    position = {name: place for place, name in enumerate(names)}
    storage: dict[str, Storage] = {}
    for name in wanted(schema):
        dtype = frame.dtypes.iloc[position[name]]
        storage[name] = _pandas_storage(dtype, schema, name)

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            yield from _empty_batches(len(frame))
            return
        columns = [_from_series(frame.iloc[:, position[name]], storage[name]) for name in names]
        yield pa.RecordBatch.from_arrays(columns, names=list(names))

    return InMemory(storage, read)


def _pandas_storage(dtype: Any, schema: Schema, name: str) -> Storage:
    text = str(dtype).lower()
    if text.startswith(("int", "uint8", "uint16", "uint32")) and "[" not in text:
        return "whole"
    if text.startswith(("float", "double")):
        return "real"
    if text.startswith("bool"):
        return "truth"
    if text.startswith(("datetime", "timedelta", "period", "interval", "complex")) and not _takes_text(schema, name):
        raise SpecError(_unfit(name, text.partition("[")[0]))
    return "text"


def _from_series(series: Any, storage: Storage) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf":
        return _from_array(series.to_numpy(), storage)
    if storage == "text":
        return _from_array(series.astype(object).tolist(), storage)
    array = pa.array(series, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _open_stream(source: Any, schema: Schema, read_columns: Callable[[Sequence[str]], Any]) -> Source:
    import pyarrow as pa

    if isinstance(source, pa.RecordBatchReader):
        raise SpecError("A record batch reader can be read only once. Give a table: reader.read_all().")
    fields = _stream_schema(source)
    storage = _storage_of([fields], schema, "the table")

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            for batch in _table(read_columns(wanted(schema)[:1])).to_batches(BATCH):
                yield from _empty_batches(batch.num_rows)
            return
        yield from _table(read_columns(names)).to_batches(BATCH)

    return InMemory(storage, read)


def _stream_schema(source: Any) -> pa.Schema:
    import pyarrow as pa

    try:
        if isinstance(source, pa.Table | pa.RecordBatch):
            return source.schema
        if hasattr(source, "limit"):
            nothing = source.limit(0)
            return _table(nothing.collect() if hasattr(nothing, "collect") else nothing).schema
        return pa.RecordBatchReader.from_stream(source).schema
    except Exception:  # the words of a foreign library may quote rows
        raise SpecError("The columns of the table cannot be listed. Convert it to an Arrow table first.") from None


def _select(source: Any, names: Sequence[str]) -> Any:
    if hasattr(source, "project"):  # a DuckDB relation
        return source.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
    return source.select(list(names)) if hasattr(source, "select") else source


def _table(source: Any) -> pa.Table:
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    found = source.arrow()
    return found.read_all() if isinstance(found, pa.RecordBatchReader) else found


# --- names and types --------------------------------------------------------------------------------------------------


def _check_names(found: Sequence[str], schema: Schema, where: str) -> None:
    for name in wanted(schema):
        if found.count(name) > 1:
            raise SpecError(f"{where} names {name} twice. Nothing was read.")
        if name not in found:
            near = difflib.get_close_matches(name, found, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise SpecError(f"There is no column '{name}' in {where}.{hint} Nothing was read.")


def _storage_of(schemas: Sequence[pa.Schema], schema: Schema, where: str) -> dict[str, Storage]:
    """How each column arrives; the same for all files of a pattern."""
    kinds: dict[str, set[Storage]] = {}
    for fields in schemas:
        if len(fields.names) > MOST_COLUMNS:
            raise SpecError(f"{where} has more than {MOST_COLUMNS:,} columns. Keep the ones you need.")
        _check_names(fields.names, schema, where)
        for name in wanted(schema):
            kinds.setdefault(name, set()).add(_storage(fields.field(name).type, schema, name))
    return {
        name: next(iter(found)) if len(found) == 1 else "real" if found == {"whole", "real"} else "text"
        for name, found in kinds.items()
    }


def _storage(kind: pa.DataType, schema: Schema, name: str) -> Storage:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _storage(kind.value_type, schema, name)
    if types.is_boolean(kind):
        return "truth"
    if types.is_integer(kind):
        return "text" if kind.bit_width == 64 and types.is_unsigned_integer(kind) else "whole"
    if types.is_floating(kind):
        return "real"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_decimal(kind) or types.is_null(kind):
        return "text"
    if "string_view" in str(kind):
        return "text"
    if types.is_temporal(kind) and _takes_text(schema, name):
        return "text"
    raise SpecError(_unfit(name, str(kind).partition("<")[0].partition("[")[0]))


def _takes_text(schema: Schema, name: str) -> bool:
    declared: Column | None = schema.columns.get(name)
    return declared is None or isinstance(declared, Category)


def _unfit(name: str, found: str) -> str:
    return f"column {name} holds {found}, which cannot be what it is declared to be. Nothing was read."


def normal(array: pa.Array, storage: Storage) -> pa.Array:
    """An Arrow column in its storage type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    target = {"text": pa.string(), "whole": pa.int64(), "real": pa.float64(), "truth": pa.bool_()}[storage]
    if array.type == target:
        return array
    return pc.cast(array, target)


def _empty_batches(size: int) -> Iterator[pa.RecordBatch]:
    """Rows without columns still have a number: one column of nulls stands for them."""
    import pyarrow as pa

    for first in range(0, size, BATCH):
        yield pa.RecordBatch.from_arrays([pa.nulls(min(BATCH, size - first), pa.int64())], names=["none"])
