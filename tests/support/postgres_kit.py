"""A PostgreSQL server for tests, and tables in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from reticent.data.columns import Storage
from reticent.demo.postgres_server import PostgresServer, programs, server

TYPES: Final[Mapping[Storage, str]] = {
    "text": "text",
    "whole": "bigint",
    "real": "double precision",
    "truth": "boolean",
}
READER: Final = "reader"


def excused() -> bool:
    """The tests may be left out: no server is installed, and this is not CI or CI says so by ``CI_WITHOUT``."""
    return programs() is None and ("CI" not in os.environ or "postgres" in os.environ.get("CI_WITHOUT", "").split(","))


@dataclass(frozen=True)
class Database:
    """A database whose default order of texts is that of a language, with a role that may read and no more."""

    server: PostgresServer
    connection: Any
    numbers: Iterator[int]

    def run(self, statement: str) -> None:
        self.connection.execute(statement)

    def table(self, columns: Mapping[str, str], rows: Sequence[Sequence[object]]) -> str:
        """The URL of a new table, for the reader."""
        name = f"t{next(self.numbers)}"
        shape = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        self.run(f"CREATE TABLE private.{name} ({shape})")
        with self.connection.cursor().copy(f"COPY private.{name} FROM STDIN") as target:
            for row in rows:
                target.write_row(row)
        return self.server.url(READER, f"private.{name}")


@contextmanager
def database() -> Iterator[Database]:
    """A server of its own, ended when done."""
    import psycopg

    with server(collation="en-US") as started, psycopg.connect(started.url("postgres"), autocommit=True) as connection:
        made = Database(started, connection, count())
        made.run(f"CREATE ROLE {READER} LOGIN")
        made.run("CREATE SCHEMA private")
        made.run(f"GRANT USAGE ON SCHEMA private TO {READER}")
        made.run(f"ALTER DEFAULT PRIVILEGES IN SCHEMA private GRANT SELECT ON TABLES TO {READER}")
        yield made
