"""The engine of a study by its name, and the limits it keeps to: public words, refused before a row is read.

read_engine({"name": "spark"}, folder)      name and limits, as [engine] and rt.study(engine=...) state them
limited(limits, {"timeout": 600})            the limits of one release
check_engine_settings(engine, name, ...)    refuse an engine that cannot read these rows, or keeps no such limit
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reticent.data.format import Limits, in_database, in_database_file, in_spark, nearest
from reticent.errors import SpecError

if TYPE_CHECKING:
    from reticent.data.engines.engine import Engine

NAMES: Final = ("duckdb", "postgres", "spark")
OTHER_NAMES: Final = {"postgresql": "postgres", "pyspark": "spark", "duck": "duckdb"}
LIMITED: Final = ("memory", "spill", "threads", "temp")
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
    from reticent.data.file_kinds import kind_of

    if in_database_file(place):
        _check_name("duckdb", name)
    elif in_database(place):
        _check_name("spark" if in_spark(place) else "postgres", name)
    elif name != "spark" or kind_of(Path(place)) != "parquet":
        _check_name("duckdb", name)


def _check_name(here: str, name: str) -> None:
    if name and name != here:
        held = "" if here == "duckdb" else f"These rows stay with {here}, which reads them. "
        raise SpecError(
            f'[engine] name = "{name}" cannot read this source. {held}{BROUGHT[name]} Or leave the name out. '
            "Nothing was read."
        )


def check_engine_settings(engine: Engine, name: str, limits: Limits) -> None:
    """Refuse an engine that is not the one named, or a limit that it does not keep.

    Parameters
    ----------
    engine : Engine
        The engine that has the rows.
    name : str
        The one that is named; empty for any.
    limits : Limits

    Raises
    ------
    SpecError
        With what to write instead.
    """
    _check_name(engine.name, name)
    usual = Limits()
    if limits.partitions and engine.name != "duckdb":
        raise SpecError("[engine] partitions are folders of Parquet files that duckdb reads. Nothing was read.")
    for word in LIMITED:
        if word not in engine.keeps and getattr(limits, word) != getattr(usual, word):
            raise SpecError(
                f"[engine] {word} is a limit of rows that are read here. {ELSEWHERE[engine.name]}. Leave {word} out. "
                "Nothing was read."
            )
