"""Sources of rows: a file or a table in memory, all as batches of declared columns only.

Opening looks at the header line or the schema, and checks that the file exists and may be read. It reads nothing else.
A source that cannot be used is refused here, with words. Rows are read later, by a run, through ``batches``.

A table in memory is a dict of arrays, pandas, Polars, Arrow or a DuckDB relation, none of them imported for it. Its
columns of Python objects go through their text, so that one odd cell is one missing cell and not an error that quotes
it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from urllib.parse import quote

from reticent.data.columns import (
    BATCH,
    Reading,
    Storage,
    calendar_of,
    check_names,
    empty_batches,
    moments_storage,
    normal,
    numbers,
    storage_of,
    takes_text,
    texts,
    truths,
    unfit,
    wanted,
)
from reticent.data.format import (
    LONGEST_NAME,
    cell_text,
    check_plain_names,
    exact,
    in_database,
    in_database_file,
    in_spark,
    is_spark,
    path_of,
    spark_name,
)
from reticent.data.schema import Category, Schema
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.data.engines.engine import Engine


TRUTHS: Final = frozenset(["true", "false", 0, 1])  # keys that truth values have; True is 1
Spell: TypeAlias = Callable[[Sequence[object]], "pa.Array"]


class Source(Protocol):
    """Rows to be read. ``place`` is the resolved path, or None for a table in memory."""

    @property
    def place(self) -> str | None: ...

    @property
    def reading(self) -> Reading:
        """Share of it that the run under way has read."""
        ...

    @property
    def storage(self) -> Mapping[str, Storage]:
        """Storage type of each declared column."""
        ...

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of some declared columns, each cast to its storage. This reads rows."""
        ...


def open_source(source: Any, schema: Schema, *, delimiter: str = ",", engine: str = "") -> Source:
    """The source behind a path (a file, or a glob of Parquet files) or a table in memory. No row is read.

    Parameters
    ----------
    source : path, or table in memory
    schema : Schema
    delimiter : str
        Of a CSV file.
    engine : str
        Name of the engine that is to read it; "spark" reads Parquet files where they lie.

    Returns
    -------
    Source

    Raises
    ------
    SpecError
        If a file is missing, unreadable or no table. If a declared column is missing, named twice or of a type that
        cannot hold its declared kind.
    """
    if isinstance(source, str) and in_database(source):
        if in_spark(source):
            from reticent.data.spark_table import open_catalog_table

            return open_catalog_table(source, schema)
        if in_database_file(source):
            from reticent.data.database_files import open_database_file

            return open_database_file(source, schema)
        from reticent.data.database import open_database

        return open_database(source, schema)
    if engine == "spark" and (path := path_of(source)):
        from reticent.data.file_kinds import kind_of
        from reticent.data.spark_table import open_parquet

        if kind_of(Path(path)) == "parquet":
            return open_parquet(Path(path), schema)
    if isinstance(source, str | os.PathLike):
        from reticent.data.files import open_files

        return open_files(Path(os.fspath(source)), schema, delimiter)
    if isinstance(source, Mapping):
        return open_arrays(source, schema)
    if is_spark(source):
        from reticent.data.spark_table import open_frame

        return open_frame(source, schema)
    if is_pandas(source):
        return open_pandas(source, schema)
    if hasattr(source, "collect_schema") and not hasattr(source, "__arrow_c_stream__"):
        return open_stream(source, schema, lambda names: source.select(list(names)).collect())
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "arrow"):
        return open_stream(source, schema, lambda names: select(source, names))
    raise SpecError(
        f"A {type(source).__name__} is not a table this version can read. Give a path to a file, a dict of "
        "arrays, or a pandas, Polars, Arrow, Ibis, DuckDB or Spark table. A table of an open connection is the pair "
        "(connection, name)."
    )


def with_numbers(source: Source, schema: Schema) -> Source:
    """The source of a main table: a CSV file with its numbers read as doubles, any other as it is."""
    if source.place is None:
        return source
    from reticent.data.files import CsvFile

    return source.with_numbers(schema) if isinstance(source, CsvFile) else source


def check_truths(source: Source, schema: Schema) -> None:
    """Refuse a list of other texts for a column of truth values: no row would have one of them."""
    for name, storage in source.storage.items():
        declared = schema.columns.get(name)
        if storage == "truth" and isinstance(declared, Category) and not TRUTHS & {*declared.among}:
            raise SpecError(f'column {name} holds truth values: write among = ["true", "false"]. Nothing was read.')


def name_of(place: str) -> str:
    """The name of a source as answers and ledgers print it: of the file, or of the table; "in memory" of no place."""
    if not place:
        return "in memory"
    if in_database(place):
        if in_spark(place):
            return spark_name(place)
        if in_database_file(place):
            from reticent.data.database_files import file_address

            return file_address(place).table
        from reticent.data.database import address

        return address(place).table
    return Path(place).name


def identity_of(place: str) -> str:
    """The place by which a ledger knows a source: a path as it is, a table by its server's identity. No row is read.

    A database file is known as a whole, as a workbook is: its tables share one ledger. A server is asked each time: a
    view may show another table by now, and the same words may name another server.
    """
    if in_database_file(place):
        from reticent.data.database_files import file_address

        return str(file_address(place).file)
    if in_spark(place):
        return f"spark://catalog?table={spark_name(place).lower()}"  # as Spark takes names, whoever has the cluster
    if not in_database(place):
        return place
    from reticent.data.database import catalog_of

    found = catalog_of(place)
    database, table = found.identity
    shown = ",".join(quote(name, safe="") for name in found.shows)
    return f"{database}{'#' if shown else ''}{shown}?table={table}"


def engine_of(source: object) -> Engine:
    """The engine that reads a source: its own where the rows stay, else the one that this package brings."""
    from reticent.data.engines.engine import SourceInPlace

    if isinstance(source, SourceInPlace):
        return source.engine
    from reticent.data.engines.duckdb import DUCKDB

    return DUCKDB


def names_of(
    path: str | Path,
    *,
    delimiter: str = ",",
    encoding: str = "utf-8",
    sheet: str = "",
    longest: int = LONGEST_NAME,
) -> dict[str, str]:
    """Names and, for Parquet, types: what ``init`` may look at. ``""`` where the file states no type.

    Parameters
    ----------
    path : str or Path
    delimiter, encoding : str
        Of a CSV file.
    sheet : str
        Sheet of a workbook; empty for the only one.
    longest : int
        Characters that a name of a file of text or of Parquet may have.

    Returns
    -------
    dict of name to type
    """
    return dict(fields_of(path, delimiter=delimiter, encoding=encoding, sheet=sheet, longest=longest))


def _fields_in_database(place: str) -> list[tuple[str, str]]:
    if in_database_file(place):
        from reticent.data.database_files import fields_of_file

        return fields_of_file(place)
    if in_spark(place):
        from reticent.data.spark_table import fields_in_spark

        return fields_in_spark(place)
    from reticent.data.database import fields_in_postgres

    return fields_in_postgres(place)


def fields_of(
    path: str | Path,
    *,
    delimiter: str = ",",
    encoding: str = "utf-8",
    sheet: str = "",
    longest: int = LONGEST_NAME,
) -> list[tuple[str, str]]:
    """Names with types as ``names_of`` has them, a name that is there twice included; none for JSON lines.

    Parameters
    ----------
    path : str or Path
        A file, or the URL of a table in a database.
    delimiter, encoding : str
        Of a CSV file.
    sheet : str
        Sheet of a workbook; empty for the only one.
    longest : int
        Characters that a name of a file of text or of Parquet may have.

    Returns
    -------
    list of (name, type)
    """
    from reticent.data.file_kinds import kind_of
    from reticent.data.files import (
        check_file,
        folder_columns,
        folder_types,
        header_of,
        parquet_files,
        parquet_schema,
        with_folders,
    )

    if in_database(path):
        return _fields_in_database(str(path))
    path = Path(path)
    kind = kind_of(path)
    if kind == "parquet":
        files = parquet_files(path)
        held = parquet_schema(files[0])
        fields = with_folders(held, folder_columns(path, files[0]))
        check_plain_names(fields.names, f"The schema of {path.name}", longest)
        kinds = folder_types(path, files)
        return [(field.name, str(field.type) if field.name in held.names else kinds[field.name]) for field in fields]
    check_file(path)
    if kind == "json lines":
        return []
    if kind == "statistical":
        from reticent.data.statistical_files import stat_fields

        return stat_fields(path)
    if kind == "workbook":
        from reticent.data.spreadsheet import spreadsheet_header

        return [(name, "") for name in spreadsheet_header(path, sheet)]
    return [(name, "") for name in header_of(path, delimiter, encoding, longest)]


@dataclass(frozen=True, slots=True, repr=False)
class MemorySource:
    """A table in memory: ``read`` gives Arrow columns when the rows are wanted."""

    storage: Mapping[str, Storage]
    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    reading: Reading = field(default_factory=Reading)

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


def open_arrays(arrays: Mapping[Any, Any], schema: Schema) -> MemorySource:
    named = [(exact(name), arrays[name]) for name in arrays]
    names, arrays = tuple(name for name, _ in named), dict(named)
    check_names(names, schema, "the table")
    sizes = set()
    for name in names:
        column = arrays[name]
        if getattr(column, "ndim", 1) != 1 or isinstance(column, str | bytes) or not hasattr(column, "__len__"):
            which = f"column {name}" if name in wanted(schema) else "a column that is not declared"
            raise SpecError(f"{which} must be a list or a one-dimensional array. Nothing was read.")
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
            raise SpecError(unfit(name, f"numpy {column.dtype}"))
        if kind == "u" and column.dtype.itemsize == 8:
            found = "text"
        if _has_zone(column) and calendar_of(schema, name) is not None:
            moments_storage(schema, name, aware=True)  # refused where no zone is declared
        if _is_extension(column):
            found = _pandas_storage(column.dtype, schema, name)
        elif kind == "M" and calendar_of(schema, name) is not None:
            found = "seconds"
        elif str(getattr(column, "dtype", "")).startswith(("period", "interval")):
            found = _pandas_storage(column.dtype, schema, name)
        elif kind in "Mm" and not takes_text(schema, name):
            raise SpecError(unfit(name, f"numpy {column.dtype}"))
        storage[name] = found

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        if not names:
            yield from empty_batches(size)
            return
        columns = [
            (_from_series if _is_extension(arrays[name]) else _from_array)(
                arrays[name], storage[name], _spell(schema, name)
            )
            for name in names
        ]
        yield pa.RecordBatch.from_arrays(columns, names=list(names))

    return MemorySource(storage, read)


def _has_zone(column: Any) -> bool:
    """True for times of a zone in an array of Arrow or Polars, whose cells are read as texts with an offset."""
    kind = getattr(column, "type", None), getattr(column, "dtype", None)
    return any(getattr(one, name, None) is not None for one in kind for name in ("tz", "time_zone"))


def _is_extension(column: Any) -> bool:
    """True for times of a zone, or of Arrow, in a column of pandas: NumPy has no type for them."""
    import numpy as np

    dtype = getattr(column, "dtype", None)
    return getattr(dtype, "kind", "") == "M" and not isinstance(dtype, np.dtype)


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


def _spell(schema: Schema, name: str) -> Spell:
    """The texts of objects in a column: equal ones have one text where they name persons or keys."""

    def spelled(cells: Sequence[object]) -> pa.Array:
        kinds = set(map(type, cells)) - {type(None)}
        # most lists; of these names are equal where their texts are
        if kinds in ({str}, {int}) or (not schema.names_rows(name) and kinds <= {str, int, float}):
            with suppress(ValueError):  # no UTF-8, or more digits than Python writes
                return texts(list(map(cell_text, cells)))
        from reticent.data.object_texts import names_of_objects, texts_of_objects

        return names_of_objects(cells) if schema.names_rows(name) else texts_of_objects(cells, schema.columns.get(name))

    return spelled


def _from_array(column: Any, storage: Storage, spell: Spell) -> pa.Array:
    """An Arrow column from a list or an array; objects that are not all of one kind go through their text."""
    import numpy as np
    import pyarrow as pa

    if isinstance(column, np.ma.MaskedArray):
        data, mask = np.ma.getdata(column), np.ma.getmaskarray(column)
        column = [None if hidden else cell for cell, hidden in zip(data.tolist(), mask.tolist(), strict=True)]
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        with np.errstate(all="ignore"):  # a warning that a long double is too large would be about a row
            return numbers(np.asarray(column, dtype=np.float64))
    if isinstance(dtype, np.dtype) and dtype.kind in "biu":
        if dtype.kind == "b":
            return truths(np.asarray(column))
        return pa.array(np.asarray(column)) if storage == "text" else numbers(np.asarray(column))
    if isinstance(dtype, np.dtype) and dtype.kind == "M" and storage in ("seconds", "instants"):
        moments = np.asarray(column).astype("datetime64[s]")
        return numbers(moments.astype(np.int64), np.isnat(moments))
    cells = column.tolist() if isinstance(dtype, np.dtype) and dtype.kind == "U" else list(_dated(column))
    if isinstance(dtype, np.dtype) and dtype.kind in "Mm":
        cells = [None if cell == "NaT" else cell for cell in np.asarray(column).astype(str).tolist()]
    found = spell(cells)
    return found if storage == "text" else normal(found, storage)


def _dated(column: Any) -> Any:
    """A column of objects of which none fails to be made."""
    if isinstance(column, list | tuple):
        return column
    from reticent.data.object_texts import within_years

    return within_years(column)


def is_pandas(source: object) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def open_pandas(frame: Any, schema: Schema) -> MemorySource:
    import pyarrow as pa

    names = tuple(exact(name) for name in frame.columns)
    check_names(names, schema, "the table")
    position = {name: place for place, name in enumerate(names)}
    storage: dict[str, Storage] = {}
    for name in wanted(schema):
        dtype = frame.dtypes.iloc[position[name]]
        storage[name] = _pandas_storage(dtype, schema, name)

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            yield from empty_batches(len(frame))
            return
        columns = [_from_series(frame.iloc[:, position[name]], storage[name], _spell(schema, name)) for name in names]
        yield pa.RecordBatch.from_arrays(columns, names=list(names))

    return MemorySource(storage, read)


def _pandas_storage(dtype: Any, schema: Schema, name: str) -> Storage:
    text = str(dtype).lower()
    if text.startswith(("int", "uint8", "uint16", "uint32")) and "[" not in text:
        return "whole"
    if text.startswith(("float", "double")):
        return "real"
    if text.startswith("bool"):
        return "truth"
    if text.startswith(("datetime64", "timestamp", "date32", "date64")) and calendar_of(schema, name) is not None:
        return moments_storage(schema, name, aware="," in text or "tz=" in text)
    if text == "period[d]" and (days := calendar_of(schema, name)) is not None and not days.format:
        return "text"  # which spells each as ISO 8601
    if text.startswith(("datetime", "timedelta", "period", "interval", "complex")) and not takes_text(schema, name):
        raise SpecError(unfit(name, text.partition("[")[0]))
    return "text"


def _from_series(series: Any, storage: Storage, spell: Spell) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf":
        return _from_array(series.to_numpy(), storage, spell)
    if storage in ("seconds", "instants") and str(series.dtype).startswith("datetime64"):
        moments = series.to_numpy(dtype="datetime64[ns]" if storage == "instants" else None)
        return _from_array(moments, storage, spell)
    if storage == "text":
        return _from_array(_dated(series).astype(object).tolist(), storage, spell)
    array = pa.array(series, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def open_stream(source: Any, schema: Schema, read_columns: Callable[[Sequence[str]], Any]) -> MemorySource:
    """The source of a table that gives its columns by name.

    Parameters
    ----------
    source : object
        The table of another library.
    schema : Schema
    read_columns : function
        From names to a stream of Arrow batches.

    Returns
    -------
    MemorySource

    Raises
    ------
    SpecError
        A stream that can be read only once, or persons whose collation can take different texts for equal.
    """
    import pyarrow as pa

    if isinstance(source, pa.RecordBatchReader):
        raise SpecError("A record batch reader can be read only once. Give a table: reader.read_all().")
    storage = storage_of([_stream_schema(source)], schema, "the table")
    if hasattr(source, "project"):
        from reticent.data.database_files import refuse_folded

        refuse_folded(source, filter(schema.names_rows, storage))

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            for batch in _table(read_columns(wanted(schema)[:1])).to_batches(BATCH):
                yield from empty_batches(batch.num_rows)
            return
        yield from _table(read_columns(names)).select(list(names)).to_batches(BATCH)

    return MemorySource(storage, read)


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


def select(source: Any, names: Sequence[str]) -> Any:
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
