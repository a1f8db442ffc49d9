"""A table of Spark as a source: its rows stay in the cluster, and columns are brought to their storage there.

    DataFrame --by place, not by name--> k0, k1, ... --total casts--> text, int64, double, bool

Opening asks for names and types alone. Names are told apart letter by letter, though Spark takes capitals for small
letters. A text that is not UTF-8 is a missing cell. Texts are compared by bytes: a column that names persons has no
collation that can take different texts for equal, and of other columns the collation is left out.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reticent.data.columns import Reading, Storage, storage_of, unfit, wanted
from reticent.data.engines.engine import join_keys, refuse_collation
from reticent.data.engines.spark import Spark
from reticent.data.files import fixed_part, folder_columns, parquet_files, parquet_schema
from reticent.data.format import spark_name
from reticent.data.schema import Category, Schema
from reticent.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

MICRO: Final = 1_000_000
DAY: Final = 86_400


@dataclass(frozen=True, slots=True, repr=False)
class SparkTable:
    """A DataFrame, with the names and types of its columns."""

    frame: Any
    names: tuple[str, ...]
    types: Mapping[str, str]
    storage: Mapping[str, Storage]
    place: str | None = None
    reading: Reading = field(default_factory=Reading)

    @property
    def engine(self) -> Spark:
        """The Spark that has it."""
        return Spark(self.frame.sparkSession)

    def selected(self, columns: Mapping[str, str]) -> Any:
        """A DataFrame of some columns in their storage, by their names in the plan."""
        plain = self.frame.toDF(*(f"k{place}" for place in range(len(self.names))))
        found = {inside: (f"k{self.names.index(name)}", name) for inside, name in columns.items()}
        texts = [f"{self._stored(place, name)} AS {inside}" for inside, (place, name) in found.items()]
        return plain.selectExpr(*(texts or ["CAST(0 AS BIGINT) AS none"]))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Refuse: no row comes to the driver."""
        raise TypeError("the rows of this source stay where they are")

    def _stored(self, place: str, name: str) -> str:
        kind, storage = self.types[name], self.storage[name]
        if storage == "text" and kind.startswith(("string", "varchar", "char")):
            return f"try_validate_utf8(collate({place}, 'UTF8_BINARY'))"
        if storage == "seconds" and kind == "date":
            return f"CAST(unix_date({place}) AS BIGINT) * {DAY}L"
        if storage == "seconds" and kind == "timestamp_ntz":
            micros = f"timestampdiff(MICROSECOND, CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ), {place})"
            return f"({micros} - pmod({micros}, {MICRO}L)) div {MICRO}L"
        if storage == "instants":
            return f"unix_seconds({place})"
        return f"CAST({place} AS {SQL_TYPES[storage]})"

    def __repr__(self) -> str:
        return "<private rows in Spark>"


SQL_TYPES: Final[Mapping[Storage, str]] = {
    "text": "STRING",
    "whole": "BIGINT",
    "real": "DOUBLE",
    "truth": "BOOLEAN",
    "seconds": "BIGINT",
}


def open_frame(frame: Any, schema: Schema) -> SparkTable:
    """The source of a DataFrame. Names and types are asked for, no row.

    Parameters
    ----------
    frame : DataFrame
        Of Spark.
    schema : Schema

    Returns
    -------
    SparkTable

    Raises
    ------
    SpecError
        If a declared column is missing, there twice or of a type that cannot hold its declared kind.
    """
    import pyarrow as pa

    fields, asked = list(frame.schema.fields), wanted(schema)
    names = tuple(one.name for one in fields)
    kinds = pa.schema([(one.name, _arrow(one) if one.name in asked else pa.null()) for one in fields])
    storage = storage_of([kinds], schema, "the table")
    types = {one.name: one.dataType.simpleString() for one in fields if one.name in asked}
    for name, found in storage.items():
        if found == "real" and _as_text(schema, name):
            raise SpecError(
                f"column {name} holds {types[name]}, of which Spark writes other texts than other engines do. Cast it "
                "to BIGINT or STRING in a view. Nothing was read."
            )
        if " collate " in types[name] and schema.names_rows(name):  # a text of bytes has none in its type
            refuse_collation(name, "UTF8_BINARY")
    return SparkTable(frame, names, types, storage)


def open_catalog_table(source: str, schema: Schema) -> SparkTable:
    """The source of ``spark:catalog.schema.table``, in the Spark session that is active, or in a new one.

    Raises
    ------
    SpecError
        If pyspark is not installed, Spark does not start, or there is no such table.
    """
    name = spark_name(source)
    try:
        parts = ".".join(f"`{part}`" for part in name.split("."))
        return replace(open_frame(started().table(parts), schema), place=source)
    except SpecError:
        raise
    except Exception as cause:
        raise SpecError(_unreadable(name, cause)) from None


def fields_in_spark(source: str) -> list[tuple[str, str]]:
    """Names and types of a table of a catalog; for ``init``.

    Raises
    ------
    SpecError
        There is no such table.
    """
    parts = ".".join(f"`{part}`" for part in spark_name(source).split("."))
    try:
        fields = list(started().table(parts).schema.fields)
    except SpecError:
        raise
    except Exception as cause:
        raise SpecError(_unreadable(spark_name(source), cause)) from None
    return [(one.name, str(_arrow(one))) for one in fields]


def open_parquet(path: Path, schema: Schema) -> SparkTable:
    """The source of a Parquet file, or of a pattern of them, that Spark reads: every node must see the same files.

    Parameters
    ----------
    path : Path
    schema : Schema

    Returns
    -------
    SparkTable

    Raises
    ------
    SpecError
        Files that differ in their columns, or have names that Spark leaves out or takes for patterns.
        A column that folders name and files hold too.
    """
    files = parquet_files(path)
    for file in files:
        if file.name.startswith(("_", ".")) or set("*?[]{}\\") & set(str(file)):
            raise SpecError(
                f"Spark leaves out a file whose name begins with _ or a dot, and takes * ? [ ] {{ }} for a pattern. "
                f"Rename {path.name}, or leave [engine] name out. Nothing was read."
            )
    named = set(wanted(schema))
    kinds = [{one.name: one.type for one in parquet_schema(file) if one.name in named} for file in files]
    if any(one != kinds[0] for one in kinds):
        raise SpecError(
            f"The files of {path.name} differ in their columns, which Spark reads as one. Nothing was read."
        )
    folders = _folders_read(path, files, named)
    try:
        frame = _parquet_frame(path, files, folders)
        return replace(open_frame(frame, schema), place=str(path.resolve()))
    except SpecError:
        raise
    except Exception as cause:
        raise SpecError(f"Spark cannot read {path.name} ({type(cause).__name__}). Nothing was read.") from None


def _folders_read(path: Path, files: Sequence[Path], named: Collection[str]) -> list[str]:
    """All columns that folders name, ``day=2026-01-31``, where one of them is read."""
    found = {name for file in files for name in folder_columns(path, file)}
    held = {one.name for file in files for one in parquet_schema(file)}
    if not found & set(named) - held:
        return []
    if both := sorted(found & held):
        raise SpecError(
            f"The folders of {path.name} name column {both[0]}, and its files hold it too. Leave [engine] name out. "
            "Nothing was read."
        )
    return sorted(found)


def _parquet_frame(path: Path, files: Sequence[Path], folders: Sequence[str]) -> Any:
    """A DataFrame of files. What folders name is text, as elsewhere, whatever types Spark would see in it."""
    places = [f"file:{file}" for file in files]
    frame = started().read.options(**STRICT).parquet(*places)
    if not folders:
        return frame
    fields = frame.schema
    for name in folders:
        fields = fields.add(name, "string")
    told = STRICT | {"recursiveFileLookup": "false", "basePath": f"file:{fixed_part(path).resolve()}"}
    return started().read.options(**told).schema(fields).parquet(*places)


STRICT: Final = {  # of a session that is somebody else's: no file is left out, and no date makes a run fail
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "false",
    "recursiveFileLookup": "true",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}


def started() -> Any:
    """The active Spark session, or one by the environment: ``SPARK_REMOTE``, or ``spark-defaults.conf``."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SpecError("This source needs Spark: pip install 'reticent[spark]'. Nothing was read.") from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "SPARK_REMOTE" in os.environ:
        return SparkSession.builder.getOrCreate()
    try:
        return _started_in_silence()
    except Exception as cause:
        raise SpecError(
            f"Spark does not start here ({type(cause).__name__}). It needs Java 17 or newer, which JAVA_HOME names. "
            "The command pyspark tells more. Nothing was read."
        ) from None


def _started_in_silence() -> Any:
    """A session of this process alone: its Java writes nothing on the terminal, and leaves no folder behind."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        gateway = launch_gateway(popen_kwargs={"stderr": subprocess.DEVNULL})
        told = SparkConf(_jvm=gateway.jvm)  # with those of spark-defaults.conf
        told.setAll([*QUIET.items()]).setIfMissing("spark.app.name", "reticent")
        if told.get("spark.sql.catalogImplementation", "") != "hive" and not told.contains(WAREHOUSE):
            folder = tempfile.mkdtemp(prefix="reticent-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            told.set(WAREHOUSE, folder)  # Spark makes a folder of tables, here in the working folder, and uses it not
        SparkContext(conf=told, gateway=gateway)
    return SparkSession.builder.getOrCreate()


def _unreadable(name: str, cause: Exception) -> str:
    """Words for a table that Spark does not open, with the setting that brings the library of its format."""
    found = LACKING.search(str(cause))
    if found is None:
        return f"Spark has no table {name} that can be read ({type(cause).__name__}). Nothing was read."
    kind = found[1].capitalize()
    return (
        f"Spark lacks the library of {kind} for table {name}. Name it in spark-defaults.conf, in the release for your "
        f"Spark: spark.jars.packages {LIBRARIES[kind]}. Nothing was read."
    )


QUIET: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
WAREHOUSE: Final = "spark.sql.warehouse.dir"
LACKING: Final = re.compile(r"(?:catalog plugin class|the data source)\b[^\n]*\b(iceberg|delta)\b", re.IGNORECASE)
LIBRARIES: Final = {
    "Iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
    "Delta": "io.delta:delta-spark_2.13:4.0.0",
}


def _arrow(one: Any) -> pa.DataType:
    """The Arrow type of a column."""
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(one.dataType)
    except Exception:
        raise SpecError(unfit(one.name, one.dataType.typeName())) from None


def _as_text(schema: Schema, name: str) -> bool:
    """True if the plan takes the text of a column: a person, a key of a join, a free text, a category of texts."""
    declared = schema.columns.get(name)
    texts = isinstance(declared, Category) and isinstance(declared.among[0], str)
    return texts or name == schema.person.column or name in schema.texts or name in join_keys(schema)
