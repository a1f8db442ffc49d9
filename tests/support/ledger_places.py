"""Places of ledgers for tests that run over both stores, and the tamperer's way into each."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from reticent.database_url import is_url
from reticent.demo.postgres_server import PostgresServer
from reticent.ledger import postgres_store, sqlite_store
from reticent.ledger.replay import Row
from reticent.ledger.store import Addition, SqlExtract

Place: TypeAlias = Path | str
Run: TypeAlias = Callable[..., Sequence[tuple[Any, ...]]]

OWNER: Final = "postgres"
NUMBERS: Final = itertools.count()


@dataclass(frozen=True)
class Places:
    """Fresh places of one kind: files in ``folder``, or schemas of ``server``."""

    folder: Path
    server: PostgresServer | None = None

    def new(self, name: str = "rand") -> Place:
        if self.server is None:
            return self.folder / f"{name}.ledger"
        return f"{self.server.url(OWNER)}&schema={name}_{os.getpid()}_{next(NUMBERS)}"


@contextlib.contextmanager
def connected(place: str) -> Iterator[Any]:
    """A connection of the owner to the database of a ledger, its schema first on the search path."""
    import psycopg

    kept = postgres_store.PostgresStore.at(place)
    with psycopg.connect(kept.conninfo, autocommit=True) as connection:
        connection.execute(f'SET search_path = "{kept.schema}"')
        yield connection


@contextlib.contextmanager
def tampering(place: Place) -> Iterator[Run]:
    """The tables as someone has them who takes the triggers away and puts them back."""
    if is_url(place):
        with connected(str(place)) as connection:

            def ask(statement: str, *values: Any) -> Sequence[tuple[Any, ...]]:
                done = connection.execute(statement.replace("?", "%s").replace("@", ""), values or None)
                return done.fetchall() if done.description is not None else ()

            connection.execute("ALTER TABLE entries DISABLE TRIGGER USER")
            yield ask
            for trigger in ("grow", "stay", "truncate"):
                connection.execute(f"ALTER TABLE entries ENABLE ALWAYS TRIGGER {trigger}")
        return
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as file:
        for statement in sqlite_store.ENTRIES[1:]:
            file.execute(f"DROP TRIGGER {statement.split()[2]}")
        yield lambda statement, *values: file.execute(statement.replace("@", ""), values).fetchall()
        for statement in sqlite_store.ENTRIES[1:]:
            file.execute(statement)


def rewritten(place: Place, rows: Sequence[Row]) -> None:
    """These rows in place of those there, with the names that belong to them."""
    with tampering(place) as run:
        run("DELETE FROM entries")
        run("DELETE FROM names")
        SqlExtract(run, lambda: 2).add(Addition(tuple(rows)))
