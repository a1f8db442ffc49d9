"""Made-up rows through the readers of real tables: arrays, text, CSV and Parquet.

    engine()                            opens tables of families on one engine that is started once
    opened(form, made, place, folder)   one table of a family, written in a form and opened as a study's would be

Every pair of an audit is read in one of these forms, so a reader that looks at other rows changes what is compared.
The source tree tries each reader row by row besides (``tests/assurance/reader_rows.py``).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from reticent.conformance.neighbours import Cell, Family, MemoizedTable, stored
from reticent.data.engines.duckdb import DUCKDB, DuckDBSession
from reticent.data.engines.engine import EngineSession
from reticent.data.format import Limits
from reticent.data.query_result import QueryResult
from reticent.data.schema import Schema
from reticent.data.source import Source, open_source, with_numbers
from reticent.data.table import EngineFailure, Table

if TYPE_CHECKING:
    import pyarrow as pa

Form: TypeAlias = Literal["arrays", "csv", "parquet", "text"]

FORMS: Final[tuple[Form, ...]] = ("arrays", "parquet", "csv", "text")  # in which families are opened, in turn
GROUP: Final = 3  # rows of a row group in a Parquet file


def opened(form: Form, made: Family, place: int, folder: Path) -> Source:
    """One table of a family as a source; files are written to ``folder``.

    ``arrays`` has columns in their storage, ``text`` the same with every column as text. ``csv`` is one file,
    ``parquet`` two files read as one pattern.

    Parameters
    ----------
    form : "arrays", "text", "csv" or "parquet"
    made : Family
        Made-up tables.
    place : int
        Of the table in the family.
    folder : Path
        For files.

    Returns
    -------
    Source
    """
    match form:
        case "arrays":
            return open_source(made.columns(place), made.schema)
        case "text":
            return open_source(as_text(made).columns(place), made.schema)
        case "csv":
            lines = [record([row[name] for name in made.storage]) for row in made.tables[place]]
            return with_numbers(open_source(write_csv(folder, made, lines), made.schema), made.schema)
        case "parquet":
            return open_source(_parquet(folder, arrow_table(made, place)), made.schema)


def as_text(made: Family) -> Family:
    """The same tables with every column as text, as a file without types has them."""
    return replace(made, storage=dict.fromkeys(made.storage, "text"))


def record(cells: Sequence[Cell]) -> bytes:
    """A line of a CSV file (RFC 4180), its end included."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(["" if cell is None else spelled(cell) for cell in cells])
    return line.getvalue().encode("utf-8", "surrogateescape")


def spelled(cell: Cell) -> str:
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def write_csv(folder: Path, made: Family, lines: Sequence[bytes]) -> Path:
    """One CSV file of lines under the names of a family.

    Parameters
    ----------
    folder : Path
        For the file.
    made : Family
        Names its columns.
    lines : sequence of bytes
        As ``record`` makes them.

    Returns
    -------
    Path
    """
    path = folder / "table.csv"
    path.write_bytes(record(list(made.storage)) + b"".join(lines))
    return path


def arrow_table(made: Family, place: int) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    kinds = {"text": pa.string(), "whole": pa.int64(), "real": pa.float64(), "truth": pa.bool_()}
    columns = []
    for name, storage in made.storage.items():
        cells = [row[name] for row in made.tables[place]]
        if storage == "text":
            columns.append(pa.array([None if cell is None else spelled(cell) for cell in cells], pa.string()))
            continue
        values = stored(cells, storage)
        mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
        columns.append(pa.array(np.ma.getdata(values), kinds[storage], mask=mask))
    return pa.table(columns, names=list(made.storage))


def _parquet(folder: Path, table: pa.Table) -> Path:
    """Two files, the rows in groups of a few."""
    import pyarrow.parquet as pq

    half = table.num_rows // 2
    for name, part in (("part-0", table.slice(0, half)), ("part-1", table.slice(half))):
        pq.write_table(part, folder / f"{name}.parquet", row_group_size=GROUP)
    return folder / "part-*.parquet"


# --- on the engine ----------------------------------------------------------------------------------------------------


class Opener(Protocol):
    """Opens a table of a family, by its place, in one of the forms."""

    def __call__(self, made: Family, place: int, form: Form = "arrays") -> MemoizedTable: ...


class _WarmTable(Table):
    """A table whose runs share one engine; each has a connection of its own. All else is as in a release."""

    __slots__ = ("_connect",)

    def __init__(self, source: Source, schema: Schema, connect: Callable[[], Any]) -> None:
        super().__init__(source, schema, Limits(threads=1), None)
        self._connect = connect

    def _reading(self, work: Callable[[EngineSession], list[QueryResult]], key: bytes) -> list[QueryResult]:
        connection = self._connect()
        try:
            return work(DuckDBSession(connection))
        except Exception as cause:
            raise EngineFailure(f"audit: {type(cause).__name__}") from cause  # made-up rows: the cause may be shown
        finally:
            connection.close()


@contextmanager
def engine() -> Iterator[Opener]:
    """Opens tables of families, for as long as it lasts, on one engine that is started once."""
    count = 0
    with DUCKDB.session(Limits(threads=1)) as started, TemporaryDirectory(prefix="reticent-audit-") as name:

        def open_table(made: Family, place: int, form: Form = "arrays") -> MemoizedTable:
            nonlocal count
            count += 1
            folder = Path(name) / str(count)  # a file is read anew by every run
            folder.mkdir()
            return MemoizedTable(_WarmTable(opened(form, made, place, folder), made.schema, started._connection.cursor))

        yield open_table
