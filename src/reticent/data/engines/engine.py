"""The protocol of an engine: it compiles a plan to its SQL, takes rows in, keeps tables for one run, reads results.

    source --engine_of--> engine --dialect.write--> texts --session.store--> "base" --rows, arrow--> integers

A source in memory or in a file comes as a stream of Arrow batches. One that stays where it is names its engine, and
comes as ``ColumnsInPlace``. Results are Python integers, or Arrow columns of int64, double and text. What an engine
raises stays inside ``table``, since it may quote rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from reticent.data.format import Limits
from reticent.data.joined_table import table_at
from reticent.data.schema import Schema
from reticent.data.transformations import needed

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.data.columns import Storage


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
class StoresPieces(Protocol):
    """A session that takes a stream a piece at a time, and makes each piece small before it reads the next."""

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


class Engine(Protocol):
    """Starts sessions. It holds no row and no open connection."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def name(self) -> str:
        """Its name in [engine]."""
        ...

    @property
    def keeps(self) -> tuple[str, ...]:
        """Names of the limits that it keeps to; others are for its own server to say."""
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
