"""Spark, where the rows are: plans run in the cluster, small tables of integers come to the driver.

A session of this package is a guest in a Spark session: its tables are temporary views of a name that nobody else has.
What it keeps is persisted for one run, and let go at the end. It sets one setting for the run: what is kept
then has as many parts as its size asks for. No answer depends on that. No Python runs in the cluster. Noise is drawn at
the driver alone, when all aggregates are there, so a task that Spark runs twice draws nothing.
"""

# ruff: noqa: S608 - statements are the plan's; names are quoted

from __future__ import annotations

import hashlib
import logging
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from reticent.data.engines.engine import Adopted, ColumnsInPlace, normalised
from reticent.data.engines.spark_sql import SPACE, SPARK_SQL, SparkDialect, limbs
from reticent.data.format import Limits

if TYPE_CHECKING:
    import pyarrow as pa

TESTED: Final = "spark.reticent.tested"  # a setting that nothing reads but this module
FEW_PARTS: Final = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"  # else as many as a shuffle has: 200
WINDOW: Final = 1 << 21  # rows at the driver, about, at a time
LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # they print statements and messages


OF_SPARK: Final = "org.apache.spark.sql.catalyst."  # where the classes of built-in functions stand
CALLED: Final = re.compile(r"\b([A-Za-z]\w*)\(")
FUNCTIONS: Final = frozenset(
    [
        "abs",
        "btrim",
        "coalesce",
        "concat",
        "conv",
        "convert_timezone",
        "count",
        "decode",
        "dense_rank",
        "exp",
        "floor",
        "if",
        "isnan",
        "lag",
        "ln",
        "log",
        "log10",
        "lower",
        "max",
        "min",
        "pmod",
        "power",
        "regexp_extract",
        "regexp_like",
        "row_number",
        "sha2",
        "shiftright",
        "sqrt",
        "substring",
        "sum",
        "trunc",
        "unhex",
        "weekday",
        "weekofyear",
        "xxhash64",
    ]
)


@runtime_checkable
class FramedSource(Protocol):
    """A source of which Spark has the rows."""

    def selected(self, columns: Mapping[str, str]) -> Any:
        """A DataFrame of some columns in their storage, by their names in the plan."""
        ...


class SparkTables:
    """The tables of one run."""

    def __init__(self, spark: Any, space: str) -> None:
        self._spark, self._space = spark, space
        self._views: list[str] = []
        self._kept: dict[str, Any] = {}
        self._stored: dict[str, tuple[Any, ...]] = {}
        self._built_in = set[str]()

    def store(self, name: str, statement: str, rows: Adopted, *, steps: Mapping[str, str], light: bool) -> None:
        """Keep the outcome of ``statement``: the first step is a view, each later one is kept until the next is there.

        Spark would inline them, and what a step uses several times would double at each.

        Parameters
        ----------
        name : str
            Of the table.
        statement : str
            SQL over the last step.
        rows : RecordBatchReader or ColumnsInPlace
            The rows; a stream is small, since it goes through the driver.
        steps : mapping of name to SQL
            In order.
        light : bool
            Makes no difference here.
        """
        (first, text), *later = steps.items()
        self._name("source", self._adopted(rows))
        self.view(first, text)
        before = ""
        for step, told in (*later, (name, statement)):
            frame = self._frame(told)
            # rows of a person side by side: no later statement has to bring them together once more
            self._persist(step, frame.repartition("who") if "who" in frame.columns else frame)
            digest = self._digest(step)  # its first reader, for which persisting waits
            self._drop(before)
            before = step
        self._stored[name] = digest

    def put(self, name: str, table: pa.Table) -> None:
        """Keep a small public table, such as a list of keys; every node gets the whole of it."""
        from pyspark.sql.functions import broadcast

        self._name(name, broadcast(self._spark.createDataFrame(table)))

    def view(self, name: str, statement: str) -> None:
        """Name a statement over what is stored; it runs whenever it is read."""
        self._name(name, self._frame(statement))

    def keep(self, name: str, statement: str) -> None:
        """Keep the outcome of a statement over what is stored, in place of the one of the same name."""
        self._persist(name, self._frame(statement))
        self._kept[name].count()  # persisting waits for a first reader, and how large it is decides how it is joined

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a small result, with exact integers."""
        return [tuple(row) for row in self._frame(statement).collect()]

    def arrow(self, statement: str) -> pa.Table:
        """A result as Arrow columns of int64, double and text."""
        return normalised(self._frame(statement).toArrow())

    def about(self, name: str) -> int:
        """Number of rows of a stored table, counted when it was kept; 0 of a view."""
        return int(self._stored[name][0]) if name in self._stored else 0

    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        """A long result as Arrow, a batch at a time: those of one remainder of a hash after the other."""
        frame = self._frame(statement)
        hashed = f"xxhash64({', '.join(frame.columns)})"
        times = max([1, *(-(-int(found[0]) // WINDOW) for found in self._stored.values())])
        for nth in range(times):
            yield from normalised(frame.where(f"pmod({hashed}, {times}) = {nth}").toArrow()).to_batches()

    def interrupt(self) -> None:
        """Stop what runs, from another thread."""
        if _is_classic(self._spark):
            self._spark.sparkContext.cancelJobsWithTag(self._space)
        else:
            self._spark.interruptTag(self._space)

    def check(self) -> None:
        """Fail if what is stored was made again from other rows: a node was lost, and the source had changed."""
        if any(self._digest(name) != digest for name, digest in self._stored.items()):
            raise RuntimeError("the source changed while it was read, and a part of it had to be read again")

    def close(self) -> None:
        """Let everything go."""
        for name in list(self._kept):
            self._drop(name)
        for view in self._views:
            self._spark.catalog.dropTempView(view)

    def _frame(self, statement: str) -> Any:
        """A frame of a statement, all functions of which are Spark's own: a person's may stand in place of them."""
        called = {name.lower() for name in CALLED.findall(statement)} - self._built_in
        if found := replaced(self._spark, called):
            raise RuntimeError(f"functions of the session stand in place of built-in ones: {', '.join(found)}")
        self._built_in |= called
        return self._spark.sql(statement.replace(SPACE, self._space))

    def _digest(self, name: str) -> tuple[Any, ...]:
        """Number of rows of a table and sums of parts of their hashes: the same for the same rows in any order."""
        import sqlglot.expressions as sge

        parts = ", ".join(f"sum({part.sql(dialect='spark')})" for part in limbs(sge.column("h")))
        hashed = f"SELECT xxhash64(*) AS h FROM `{SPACE}{name}`"
        (found,) = self.rows(f"SELECT count(*), {parts} FROM ({hashed})")
        return found

    def _persist(self, name: str, frame: Any) -> None:
        """Keep a frame from its first reader on, in place of the one of the same name."""
        self._drop(name)
        self._kept[name] = frame.persist()
        self._name(name, frame)

    def _name(self, name: str, frame: Any) -> None:
        frame.createOrReplaceTempView(self._space + name)
        self._views.append(self._space + name)

    def _drop(self, name: str) -> None:
        if (frame := self._kept.pop(name, None)) is not None:
            frame.unpersist()

    def _adopted(self, rows: Adopted) -> Any:
        if not isinstance(rows, ColumnsInPlace):
            return self._spark.createDataFrame(rows.read_all())
        if not isinstance(rows.source, FramedSource):
            raise TypeError("another engine has these rows")
        return rows.source.selected(rows.columns)


@dataclass(frozen=True, slots=True)
class Spark:
    """A session of Spark: that of a DataFrame, the active one, or a new one."""

    spark: Any
    dialect: SparkDialect = SPARK_SQL
    name: str = "spark"
    packages: tuple[str, ...] = ("Spark", "pyspark", "ibis-framework", "sqlglot")

    def session(self, limits: Limits) -> AbstractContextManager[SparkTables]:
        """A fresh session, for one run; what Spark may take of its cluster is for its own configuration to say."""
        return _guest(self.spark)

    def interrupted(self, cause: BaseException) -> bool:
        """Tell if an error is Ctrl-C: it is raised as one here."""
        return False

    def replaced(self) -> list[str]:
        """Names of built-in functions in place of which this session has functions of its own."""
        return replaced(self.spark, FUNCTIONS)

    def tested(self, digest: str) -> bool:
        """Tell if this session passed the self-test, at these versions and under the configuration that it has."""
        return bool(self.spark.conf.get(TESTED, "") == _state(self.spark, digest))

    def note_tested(self, digest: str) -> None:
        """Remember in the session that it passed."""
        self.spark.conf.set(TESTED, _state(self.spark, digest))


def replaced(spark: Any, names: Iterable[str]) -> list[str]:
    """Those of some built-in functions in place of which a session has its own, as ``spark.udf.register`` sets them.

    Such a function would be told cells of rows, and no name leads past it.
    """
    found = list[str]()
    for name in sorted(names):
        with suppress(Exception):  # of a word of the grammar, which is no function
            held = spark.catalog.getFunction(name)
            found += [name] if held.isTemporary and not str(held.className).startswith(OF_SPARK) else []
    return found


def _is_classic(spark: Any) -> bool:
    """True for a session with a JVM of its own, whose tags of jobs are known to every thread."""
    return not type(spark).__module__.startswith("pyspark.sql.connect")


def _state(spark: Any, digest: str) -> str:
    """Digest of what results could depend on: versions, and every setting of the session but this."""
    found = sorted((str(name), str(value)) for name, value in spark.sql("SET").collect() if name != TESTED)
    packages = [version(name) for name in ("ibis-framework", "sqlglot")]
    return hashlib.sha256(repr((digest, spark.version, packages, found)).encode()).hexdigest()


@contextmanager
def _guest(spark: Any) -> Iterator[SparkTables]:
    """Tables of one run under a name of their own; what fails or is interrupted leaves nothing behind."""
    space = f"reticent_{uuid.uuid4().hex}_"
    tables = SparkTables(spark, space)
    loggers = [logging.getLogger(name) for name in LOGGERS]
    were = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    tagged = spark.sparkContext if _is_classic(spark) else None
    (spark.addTag if tagged is None else tagged.addJobTag)(space)
    try:
        with _few_parts(spark):
            yield tables
            tables.check()
    except BaseException:
        tables.interrupt()
        raise
    finally:
        tables.close()
        (spark.removeTag if tagged is None else tagged.removeJobTag)(space)
        for logger, was in zip(loggers, were, strict=True):
            logger.disabled = was


@contextmanager
def _few_parts(spark: Any) -> Iterator[None]:
    """Let adaptive execution choose how many parts a kept table has, as it does for a result.

    Else 200 tasks run for each scan of a small table, and there are some twenty. A session that lets nobody set it, as
    some services have them, takes longer.
    """
    mine = False
    with suppress(Exception):
        if spark.conf.getAll.get(FEW_PARTS) is None:
            spark.conf.set(FEW_PARTS, "true")
            mine = True
    try:
        yield
    finally:
        if mine:
            spark.conf.unset(FEW_PARTS)
