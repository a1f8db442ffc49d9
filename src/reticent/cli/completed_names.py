"""Names that a shell completes after a verb: study files, releases, columns, receipts.

They come from study files and ledgers. No source is opened, and what cannot be read completes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from reticent.database_url import is_url
from reticent.errors import ReticentError

if TYPE_CHECKING:
    from reticent.data.spec import Spec

Found = list[CompletionItem]


def study_files(_: click.Context, typed: str) -> Found:
    """Study files of the folder that is typed; where it has none, any file."""
    folder = Path(typed).parent if typed and not typed.endswith("/") else Path(typed)
    try:
        found = [str(one) for one in sorted(folder.glob("*.toml")) if str(one).startswith(typed.removeprefix("./"))]
    except (OSError, ValueError):
        found = []
    return _items(found) or [CompletionItem(typed, type="file")]


def releases(context: click.Context, typed: str) -> Found:
    """Names of the releases of the study file."""
    spec = _spec(context)
    return [] if spec is None else _items(one.name for one in spec.releases if one.name.startswith(typed))


def columns(context: click.Context, typed: str) -> Found:
    """Columns of the study file, at the end of a question or of a list."""
    spec = _spec(context)
    if spec is None:
        return []
    begun = re.search(r"\w*$", typed)
    assert begun is not None  # it matches the empty text
    before, part = typed[: begun.start()], begun[0]
    return _items(before + name for name in spec.schema.columns if name.startswith(part))


def receipts(context: click.Context, typed: str) -> Found:
    """Receipts of the ledger that can be withdrawn; where none begins so, a certificate."""
    from reticent.data.study_file import read_spec
    from reticent.ledger import Ledger

    where = _typed(context, "ledger") or ""
    try:
        where = (read_spec(where).ledger or "") if where.lower().endswith(".toml") else where
        # a ledger on a server is not asked at each press of a key
        lines = Ledger.open(where).releases() if not is_url(where) and Path(where).is_file() else ()
    except (ReticentError, OSError):
        lines = ()
    found = [line.id for line in lines if line.id and line.withdrawn is None and line.id.startswith(typed)]
    return _items(found) or [CompletionItem(typed, type="file")]


def _items(names: Iterable[str]) -> Found:
    """One item for each name that is a text of one line."""
    return [CompletionItem(name) for name in names if name.isprintable()]


def _typed(context: click.Context, name: str) -> str | None:
    """The first word after the verb; where an option still lacks its value, click leaves it among the arguments."""
    found = context.params.get(name) or next(iter(context.args), None)
    return None if found is None else str(found)


def _spec(context: click.Context) -> Spec | None:
    """The study file typed so far; None where there is none that can be read."""
    from reticent.data.study_file import read_spec

    path = _typed(context, "study")
    try:
        return None if path is None else read_spec(Path(path))
    except (ReticentError, OSError):
        return None


ALL: Final = (study_files, releases, columns, receipts)
