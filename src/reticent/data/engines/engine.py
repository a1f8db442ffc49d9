"""The protocol of an engine: it compiles a plan to its SQL, takes rows in, keeps tables for one run, reads results.

    source --engine_of--> engine --dialect.write--> texts --session.store--> "base" --rows, arrow--> integers

A source in memory or in a file comes as a stream of Arrow batches. One that stays where it is names its engine, and
comes as ``ColumnsInPlace``. Results are Python integers, or Arrow columns of int64, double and text. What an engine
raises stays inside ``table``, since it may quote rows.

The name of an engine and the limits it keeps to are public words, refused before a row is read:

    read_engine({"name": "spark"}, folder)      name and limits, as [engine] and rt.study(engine=...) state them
    limited(limits, {"timeout": 600})           the limits of one release
    refused_settings(engine, limits, ...)       words of what a release refuses of them: check, plan and release say it
    check_engine_settings(engine, name, ...)    refuse an engine that cannot read these rows, or such a limit
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeAlias, runtime_checkable

import numpy as np

from reticent.data.format import (
    LEAST_MEMORY,
    NO_PARTITIONS,
    NO_TEMP,
    NOT_PARTED,
    TIGHT,
    Limits,
    in_database,
    in_database_file,
    in_spark,
    nearest,
)
from reticent.data.joined_table import table_at
from reticent.data.query import (
    DistinctPersons,
    KeyHolders,
    Keys,
    KeyShares,
    Moments,
    PresentValues,
    Query,
    Ranks,
    Records,
    Tally,
    Total,
)
from reticent.data.schema import (
    Category,
    Column,
    Integer,
    Person,
    Real,
    Schema,
    Text,
    grid_by_width,
    grid_whole,
    needed,
)
from reticent.errors import SpecError

if TYPE_CHECKING:
    from decimal import Decimal

    import pyarrow as pa

    from reticent.data.columns import Storage


def refuse_collation(column: str, binary: str) -> NoReturn:
    """Refuse a column that names persons, of which the source may take different texts for equal.

    Parameters
    ----------
    column : str
    binary : str
        The collation of the source that compares bytes.

    Raises
    ------
    SpecError
        Always: two texts could be one person, whose cap would be that of two.
    """
    raise SpecError(
        f"column {column} has a collation that can take different texts for equal, so two texts could be one person. "
        f"Select it in a view with COLLATE {binary}, if they are not. Nothing was read."
    )


def integer(cell: int | Decimal | None) -> int:
    """An exact integer of a result; 0 for a sum of no rows."""
    return 0 if cell is None else int(cell)


class Dialect(Protocol):
    """The SQL of an engine. It is a frozen value, since texts are kept by it."""

    def write(self, expression: Any) -> str:
        """The text of an Ibis expression, with what this engine computes otherwise put right."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True, repr=False)
class ColumnsInPlace:
    """Columns of a source that stays with its engine, by their plain names there."""

    source: SourceInPlace
    columns: Mapping[str, str]

    def __repr__(self) -> str:
        return "<private rows in place>"


Adopted: TypeAlias = "pa.RecordBatchReader | ColumnsInPlace"


class EngineSession(Protocol):
    """Tables of one run, gone at its end."""

    def put(self, name: str, table: pa.Table) -> None:
        """Keep a small public table of integers and texts, such as a list of keys."""
        ...

    def store(self, name: str, statement: str, rows: Adopted, *, steps: Mapping[str, str], light: bool) -> None:
        """Keep the outcome of ``statement`` as a table. It reads the last step, and each step reads the one before.

        What is ``light`` may be a view of a source in place, where every statement of the run finds the same rows.

        Parameters
        ----------
        name : str
            Of the table.
        statement : str
            SQL over the last step.
        rows : RecordBatchReader or ColumnsInPlace
            What the first step reads, under the name "source".
        steps : mapping of name to SQL
            In order.
        light : bool
            True if cells are taken as they are, and few statements read them.
        """
        ...

    def view(self, name: str, statement: str) -> None:
        """Name a statement over what is stored; it runs whenever it is read."""
        ...

    def keep(self, name: str, statement: str) -> None:
        """Keep the outcome of a statement over what is stored, in place of the one of the same name."""
        ...

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a small result, with exact integers."""
        ...

    def arrow(self, statement: str) -> pa.Table:
        """A result as Arrow columns of int64, double and text."""
        ...

    def interrupt(self) -> None:
        """Stop what runs, from another thread."""
        ...


@runtime_checkable
class WorksInParts(Protocol):
    """A session that takes a stream a piece at a time, and works through the persons of a long table in sets."""

    def store_in_pieces(self, name: str, statement: str, rows: pa.RecordBatchReader, *, step: tuple[str, str]) -> None:
        """Keep the outcome of ``statement``, which makes each row of one row of the stream.

        Parameters
        ----------
        name : str
            Of the table.
        statement : str
            SQL over the step.
        rows : RecordBatchReader
            What the step reads, under the name "source".
        step : (name, SQL)
        """
        ...

    def store_in_turn(
        self, name: str, statement: str, rows: pa.RecordBatchReader, *, step: tuple[str, str]
    ) -> Iterator[bool]:
        """Let a table hold the outcome of ``statement`` for one piece of the stream after another.

        Parameters
        ----------
        name : str
            Of the table.
        statement : str
            SQL over the step, which makes each row of one row of the stream.
        rows : RecordBatchReader
            What the step reads, under the name "source".
        step : (name, SQL)

        Returns
        -------
        iterator of bool
            True of a piece that is not the last; at least once.
        """
        ...

    def person_sets(self, name: str) -> Iterator[bool]:
        """Let a stored table hold the rows of one set of persons after another, all where it is short; True if many."""
        ...


@runtime_checkable
class LongResults(Protocol):
    """A session that tells how long a stored table is about, and hands a long result over in batches."""

    def about(self, name: str) -> int:
        """Number of rows of a stored table, or of a view of the source; an estimate is enough."""
        ...

    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        """A long result as Arrow columns of int64 and double, a batch at a time."""
        ...


class Engine(Protocol):
    """Starts sessions. It holds no row and no open connection."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def name(self) -> str:
        """Its name in [engine]."""
        ...

    @property
    def packages(self) -> tuple[str, ...]:
        """Names of what to look at when it computes something else than it should."""
        ...

    def session(self, limits: Limits) -> AbstractContextManager[EngineSession]:
        """A fresh session, for one run."""
        ...

    def interrupted(self, cause: BaseException) -> bool:
        """Tell if an error of this engine is Ctrl-C, which struck inside it."""
        ...


@runtime_checkable
class TestedEngine(Protocol):
    """An engine that remembers that it passed the self-test: once for a process, its versions and its settings."""

    def tested(self, digest: str) -> bool:
        """Tell if the self-test of this digest was passed, and nothing has changed since."""
        ...

    def note_tested(self, digest: str) -> None:
        """Remember that it was."""
        ...


@runtime_checkable
class GuestEngine(Protocol):
    """An engine whose session is somebody's, who may have set functions in place of built-in ones."""

    def replaced(self) -> list[str]:
        """Names of such functions."""
        ...


@runtime_checkable
class SourceInPlace(Protocol):
    """A source whose rows stay with an engine of their own."""

    @property
    def engine(self) -> Engine: ...

    @property
    def storage(self) -> Mapping[str, Storage]: ...


def normalised(table: pa.Table) -> pa.Table:
    """A result with every column as int64, double or text. No column is rounded: what does not fit is an error."""
    import pyarrow as pa

    def kind(found: pa.DataType) -> pa.DataType:
        if pa.types.is_floating(found):
            return pa.float64()
        return pa.int64() if pa.types.is_integer(found) or pa.types.is_decimal(found) else pa.string()

    return table.cast(pa.schema([(field.name, kind(field.type)) for field in table.schema]))


# --- names inside the engine ------------------------------------------------------------------------------------------


class Names:
    """Plain names inside the engine: declared names may differ only in case, or hold any character."""

    def __init__(self, schema: Schema, used: Sequence[str]) -> None:
        self.columns = {name: f"c{place}" for place, name in enumerate(needed(schema, used))}
        self.person = None if schema.person.column is None else "who"

    def __getitem__(self, name: str) -> str:
        return self.columns[name]


def join_keys(schema: Schema) -> dict[str, str]:
    """The columns of the main table by which others are reached, and its household, with their names in the engine."""
    ours = dict.fromkeys(ours for table in schema.tables.values() for ours, _ in table.keys)
    ours |= dict.fromkeys([] if schema.household_here is None else [schema.household_here])
    return {name: f"k{place}" for place, name in enumerate(name for name in ours if not table_at(schema.tables, name))}


NAMES: Final = ("duckdb", "postgres", "spark")
OTHER_NAMES: Final = {"postgresql": "postgres", "pyspark": "spark", "duck": "duckdb"}
LIMITED: Final = ("memory", "spill", "threads", "temp")
KEPT: Final[Mapping[str, tuple[str, ...]]] = {
    "duckdb": LIMITED,
    "postgres": ("threads", "temp"),
    "spark": ("temp",),
}
OF_RELEASE: Final = (*LIMITED, "timeout")  # which of a study would end every release, whoever asks
ELSEWHERE: Final = {  # where an engine that reads rows in place gets the others from
    "postgres": "PostgreSQL grants its own: ALTER ROLE reader SET work_mem",
    "spark": "Spark has its own: spark.executor.memory, spark.executor.cores, spark.local.dir",
}
BROUGHT: Final = {  # how rows that lie elsewhere come to an engine
    "duckdb": "DuckDB reads files and tables in memory.",
    "postgres": 'PostgreSQL reads what is in it. Load the rows there: source = "postgresql:///database?table=visits".',
    "spark": "Spark reads DataFrames, tables of its catalog and Parquet files. Write the rows as .parquet.",
}


def read_engine(given: str | Mapping[str, Any] | None, folder: Path, where: str = "[engine]") -> tuple[str, Limits]:
    """The name of an engine, empty for that of the source, and its limits.

    Parameters
    ----------
    given : str, mapping or None
        A name, or the words of [engine].
    folder : Path
        Folder that ``temp`` is relative to.
    where : str
        Place of the words, for a refusal.

    Returns
    -------
    (str, Limits)

    Raises
    ------
    SpecError, PublicParameterError
        A word that is none, an unknown engine, or a limit that is none.
    """
    words: Mapping[str, Any] = {"name": given} if isinstance(given, str) else given or {}
    name = words.get("name", "")
    if not isinstance(name, str):
        raise SpecError(f"{where} name is text in quotes: {', '.join(NAMES)}")
    if name and name not in NAMES:
        near = nearest(name, NAMES, OTHER_NAMES)
        raise SpecError(
            f"{where} name has no such engine.{f' Did you mean {near}?' if near else ''} Known: {', '.join(NAMES)}."
        )
    parted = words.get("partitions", "")
    if not isinstance(parted, str):
        raise SpecError(f"{where} partitions names a column of folders, as text in quotes: day of day=2026-01-31.")
    own = ("name", "partitions")
    found = limited(Limits(), {key: word for key, word in words.items() if key not in own}, LIMITED, where)
    return name, replace(found, temp=str(folder / found.temp) if found.temp else "", partitions=parted)


def limited(
    limits: Limits, given: Mapping[str, Any], known: Sequence[str] = OF_RELEASE, where: str = "limits"
) -> Limits:
    """Limits with some of them replaced.

    Parameters
    ----------
    limits : Limits
        Those of the study.
    given : mapping of name to limit
        Others for this release.
    known : sequence of str
        Names that may be given.
    where : str
        Place of the words, for a refusal.

    Returns
    -------
    Limits

    Raises
    ------
    SpecError, PublicParameterError
        A word that is none, or a limit that is none.
    """
    for word, limit in given.items():
        if word not in known:
            near = nearest(str(word), known)
            raise SpecError(
                f"{where} has an unknown key '{word}'.{f' Did you mean {near}?' if near else ''} Known: "
                f"{', '.join(known)}."
            )
        if word not in ("threads", "timeout") and not isinstance(limit, str):
            raise SpecError(f"{where} {word} must be text in quotes")
    return replace(limits, **dict(given))


def check_place(place: str, name: str) -> None:
    """Refuse an engine that cannot read a source, by the name of the source alone.

    Raises
    ------
    SpecError
        With what to write instead.
    """
    _check_name(engine_at(place, name), name)


def engine_at(place: str, name: str) -> str:
    """The name of the engine that reads a source, by its path or URL and the name in [engine]."""
    from reticent.data.file_kinds import kind_of

    if in_database(place) and not in_database_file(place):
        return "spark" if in_spark(place) else "postgres"
    by_spark = name == "spark" and not in_database(place) and kind_of(Path(place)) == "parquet"
    return "spark" if by_spark else "duckdb"


def _check_name(here: str, name: str) -> None:
    if name and name != here:
        held = "" if here == "duckdb" else f"These rows stay with {here}, which reads them. "
        raise SpecError(
            f'[engine] name = "{name}" cannot read this source. {held}{BROUGHT[name]} Or leave the name out. '
            "Nothing was read."
        )


def refused_settings(engine: str, limits: Limits, schema: Schema, place: str = "") -> list[str]:
    """Words of what a release refuses of its limits, known without its rows and without the engine.

    Parameters
    ----------
    engine : str
        Name of the engine that has the rows.
    limits : Limits
    schema : Schema
    place : str
        Path of the source, of which names of folders alone are looked at; empty for rows in memory.

    Returns
    -------
    list of str
        None of limits that it takes.
    """
    found, usual = [], Limits()
    for word in LIMITED:
        if word not in KEPT[engine] and getattr(limits, word) != getattr(usual, word):
            found.append(
                f"[engine] {word} is a limit of rows that are read here. {ELSEWHERE[engine]}. Leave {word} out."
            )
    if "memory" in KEPT[engine] and limits.memory_bytes < LEAST_MEMORY:
        found.append(TIGHT.format(limits.memory))
    if limits.temp:
        found += [] if Path(limits.temp).is_dir() and os.access(limits.temp, os.W_OK | os.X_OK) else [NO_TEMP]
    if not limits.partitions:
        return found
    if engine != "duckdb":
        found.append("[engine] partitions are folders of Parquet files that duckdb reads.")
    elif schema.person.column is not None or schema.tables:
        found.append(NOT_PARTED)
    elif place:
        from reticent.data.files import is_parted

        found += [] if is_parted(Path(place), limits.partitions) else [NO_PARTITIONS.format(limits.partitions)]
    return found


def check_engine_settings(engine: Engine, name: str, limits: Limits, schema: Schema) -> None:
    """Refuse an engine that is not the one named, or limits that it cannot work within.

    Parameters
    ----------
    engine : Engine
        The engine that has the rows.
    name : str
        The one that is named; empty for any.
    limits : Limits
    schema : Schema

    Raises
    ------
    SpecError
        With what to write instead.
    """
    _check_name(engine.name, name)
    for words in refused_settings(engine.name, limits, schema):
        raise SpecError(f"{words} Nothing was read.")


# --- the self-test ----------------------------------------------------------------------------------------------------

PROBE_DIGEST: Final = "943cf90782934b4b9589628d6ccbccdc2b3220aec2f5715dec09c0fa83def756"


def probe_schema() -> Schema:
    """The schema of the self-test."""
    columns: dict[str, Column] = {
        "x": Real(Fraction(-3, 2), Fraction(3)),
        "k": Integer(0, 9),
        "d": Real(Fraction(-2), Fraction(5)),
        "w": Integer(),
        "g": Category(("a", "B", "b", "c")),
    }
    return Schema(columns, Person("add_remove", "who", rows=3), texts={"t": Text(24)})


def probe_rows() -> dict[str, object]:
    """Made-up rows with what engines are known to read in two ways: see the comments."""
    xs: list[object] = ["1", " 2.5 ", "x", "", "1e400", "-inf", "nan", "-0.0", "0.1", "-0.3", "Infinity", "1_0"]
    people = ["a", "B", "b", "A", "é", "aB", "Ab", ""]  # ties but for case: collations order and join them in two ways
    doubles = [math.nan, 2.5, -math.inf, math.inf, -0.0, 5e-324, 2.0**53, -1e300]  # NaN is missing
    whole = [2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, None, 0, 7]  # the last integers that are doubles, and beyond
    texts = ["x" * 23 + "Yz", "x" * 24, "y" * 30, "z" * 23 + " q", "tab\there", " é", "É", None, "B", "b"]
    many = range(48)
    return {
        "who": [people[(5 * i + i // 8) % 8] if i % 11 else None for i in many],
        "x": [xs[i % 12] for i in many],
        "k": [i % 11 if i % 3 else 2.5 for i in many],
        "d": np.array([doubles[i % 8] for i in many]),
        "w": [whole[i % 7] for i in many],
        "g": ["aBbcd"[i % 5] for i in many],
        "t": [texts[(i + i // 8) % 10] for i in many],
    }


def probe_queries() -> list[Query]:
    """Queries with every operation that plans are made of, in few statements: Spark compiles each of them anew."""
    groups = ("b", "a", "B", "c")
    return [
        DistinctPersons(),
        PresentValues("d"),
        Moments("x", grid_by_width(Fraction(-3, 2), Fraction(3)), 2),
        Total("k", grid_whole(Fraction(0), Fraction(9)), Keys("g", groups, 1)),
        Ranks("d", Keys("g", groups, 3)),
        Tally("w", among=(2**53 - 1, 2**53, 7)),
        KeyHolders("t", 2, by_degree=True, shares=KeyShares((1 << 20, 741455), ((2 << 20, 8 << 20, 1 << 32),))),
        Records(("x", "k"), (Fraction(1, 8), Fraction(1))),
    ]
