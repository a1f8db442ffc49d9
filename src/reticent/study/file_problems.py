"""Problems of a study file that cannot be opened: questions and names of columns, beside what keeps it from opening.

    more_problems(path, extensions)   what can be said although other parts of the file are wrong

So one ``check`` tells them all. No row is read: questions are parsed, and the names of columns are looked at.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from reticent.data.expression_tree import columns_of, divided
from reticent.data.format import in_database
from reticent.data.schema import unknown_column
from reticent.data.source import names_of
from reticent.data.study_file import absence
from reticent.errors import Refusal
from reticent.statistics.extensions import kinds_of, read_extensions
from reticent.statistics.grammar import parse
from reticent.statistics.statistic import Ask
from reticent.study.formulas import of_question

Tables: TypeAlias = dict[str, object]


def more_problems(path: Path, extensions: Sequence[ModuleType] = ()) -> tuple[str, ...]:
    """Refusals of questions, and declared columns that the source has not; none of a file that is not TOML.

    Parameters
    ----------
    path : Path
        The study file.
    extensions : sequence of module
        Modules with statistics of their own.

    Returns
    -------
    tuple of str
        In the words that they have in a file that can be opened.
    """
    try:
        tables = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return ()
    return (*_of_questions(tables, extensions), *_of_header(tables, path.resolve().parent))


def _part(tables: Tables, name: str) -> Tables:
    found = tables.get(name)
    return found if isinstance(found, dict) else {}


def _of_questions(tables: Tables, extensions: Sequence[ModuleType]) -> Iterator[str]:
    """Each question that cannot be read, or that names a column which no table declares."""
    kinds = kinds_of(read_extensions(extensions))
    further = [_part(one, "columns") for one in _part(tables, "tables").values() if isinstance(one, dict)]
    known = [name for columns in (_part(tables, "columns"), *further) for name in columns]
    person, releases = _part(tables, "person").get("column"), tables.get("release")
    for item in releases if isinstance(releases, list) else ():
        listed = item.get("ask") if isinstance(item, dict) else None
        asked = listed if isinstance(listed, list) else []
        for text in asked:
            if not isinstance(text, str):
                continue
            where = f"[[release]] '{item.get('name')}'"
            try:
                columns = _columns_of(parse(text, kinds))
            except Refusal as problem:
                yield f"{where}: {of_question(text, str(problem)) if len(asked) > 1 else problem}"
                continue
            yield from (
                f"{where}: {text}: {unknown_column(name, known)}"
                for name in dict.fromkeys(columns)
                if known and name.isidentifier() and name not in known and name != person
            )


def _columns_of(asked: Ask) -> Iterator[str]:
    """The names in place of columns: of the statistic, of the filter and of the groups."""
    yield from asked.statistic.columns
    if asked.condition is not None:
        yield from columns_of(asked.condition)
    if isinstance(asked.groups, str):
        yield from divided(asked.groups)


def _of_header(tables: Tables, folder: Path) -> Iterator[str]:
    """The declared columns that the names in the source lack, where it can be said how to read them."""
    study = _part(tables, "study")
    source, delimiter, encoding, sheet = (
        str(study.get(name, usual))
        for name, usual in (("source", ""), ("delimiter", ","), ("encoding", "utf-8"), ("sheet", ""))
    )
    try:
        if in_database(source) or not (folder / source).is_file():
            return
        names = names_of(folder / source, delimiter=delimiter, encoding=encoding, sheet=sheet)
    except (Refusal, LookupError, OSError, ValueError):  # of the source or of how it is read: told with the rest
        return
    stored = [
        name for name, column in _part(tables, "columns").items() if not (isinstance(column, dict) and "from" in column)
    ]
    missing = [name for name in stored if names and name not in names]
    if missing:
        yield absence(missing, folder / source, delimiter=delimiter, encoding=encoding, declared=stored)
