"""Sources of rows: a file or a table in memory, all as batches of declared columns only.

Opening looks at the header line or the schema, and checks that the file exists and may be read. It reads nothing else.
A source that cannot be used is refused here, with words. Rows are read later, by a run, through ``batches``.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from reticent.data.columns import Reading, Storage, wanted
from reticent.data.format import check_plain_names, in_database, in_database_file, in_spark, spark_name
from reticent.data.memory import is_pandas, open_arrays, open_pandas, open_stream, select
from reticent.data.schema import Schema
from reticent.errors import SpecError, first_of

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.data.engines.engine import Engine


def path_of(rows: object) -> str:
    """The path of rows that are a file, empty for a table in memory.

    It goes by the type alone: ``isinstance`` may ask an object for its class, and rows are asked nothing here.
    """
    return str(rows) if issubclass(type(rows), str | Path) else ""


def is_spark(source: object) -> bool:
    """True for a DataFrame of Spark, classic or Connect, going by its type alone."""
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")


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


def is_there(source: Path) -> bool:
    """Tell if a file is there, or a pattern of files is given; a missing one is refused by its reader."""
    return glob.has_magic(str(source)) or os.path.exists(source.expanduser())  # False where no file can have the name


def identity_of(place: str) -> str:
    """The place by which a ledger knows a source: a path as it is, a table by its server's identity. No row is read.

    A database file is known as a whole, as a workbook is: its tables share one ledger.
    """
    if in_database_file(place):
        from reticent.data.database_files import file_address

        return str(file_address(place).file)
    return _identity(place)


@lru_cache(maxsize=16)
def _identity(place: str) -> str:
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


def names_of(path: str | Path, *, delimiter: str = ",", encoding: str = "utf-8", sheet: str = "") -> dict[str, str]:
    """Names and, for Parquet, types: what ``init`` may look at. ``""`` where the file states no type.

    Parameters
    ----------
    path : str or Path
    delimiter, encoding : str
        Of a CSV file.
    sheet : str
        Sheet of a workbook; empty for the only one.

    Returns
    -------
    dict of name to type
    """
    return dict(fields_of(path, delimiter=delimiter, encoding=encoding, sheet=sheet))


def absent_columns(path: Path, schema: Schema, delimiter: str) -> list[str]:
    """Declared columns that a file has not, by the names of its columns alone; none of a file without a header.

    Parameters
    ----------
    path : Path
        The file, of which the header or the schema is read and no row.
    schema : Schema
        Schema of the study.
    delimiter : str
        Sign between the cells of a CSV file.

    Returns
    -------
    list of str
        Names, in the order of the schema.

    Raises
    ------
    SpecError
        A file whose names of columns cannot be read.
    """
    form = schema.format
    names = names_of(path, delimiter=delimiter, encoding=form.encoding, sheet=form.sheet)
    return [name for name in wanted(schema) if names and name not in names]


def absence(
    missing: Sequence[str], path: Path, *, delimiter: str, encoding: str, declared: Collection[str] = ()
) -> str:
    """Words for declared columns that a file has not, with its likely delimiter where that is another one.

    Parameters
    ----------
    missing : sequence of str
        Declared names.
    path : Path
        The file, of which the header line is read and no row.
    delimiter, encoding : str
        Of a CSV file, as declared.
    declared : collection of str
        All declared names: where the header has one of them, a name that is near a missing one is said.

    Returns
    -------
    str
    """
    from reticent.data.file_kinds import kind_of
    from reticent.data.header import delimiter_hint, first_line, meant_names

    said = f"no column is called {first_of(missing)}, which the study file declares."
    if kind_of(path) != "csv":
        return said
    names = list(names_of(path, delimiter=delimiter, encoding=encoding))
    hint = delimiter_hint(first_line(path, encoding), delimiter)
    return said + meant_names(missing, names, declared) + hint


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
    path: str | Path, *, delimiter: str = ",", encoding: str = "utf-8", sheet: str = ""
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

    Returns
    -------
    list of (name, type)
    """
    from reticent.data.file_kinds import kind_of
    from reticent.data.files import check_file, folder_columns, header_of, parquet_files, parquet_schema, with_folders

    if in_database(path):
        return _fields_in_database(str(path))
    path = Path(path)
    kind = kind_of(path)
    if kind == "parquet":
        first = parquet_files(path)[0]
        fields = with_folders(parquet_schema(first), folder_columns(path, first))
        check_plain_names(fields.names, f"The schema of {path.name}")
        return [(field.name, str(field.type)) for field in fields]
    check_file(path)
    if kind == "json lines":
        return []
    if kind == "statistical":
        from reticent.data.statistical_files import stat_fields

        return stat_fields(path)
    if kind == "workbook":
        from reticent.data.spreadsheet import spreadsheet_header

        return [(name, "") for name in spreadsheet_header(path, sheet)]
    return [(name, "") for name in header_of(path, delimiter, encoding)]
