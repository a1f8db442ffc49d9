"""Places of ledgers: a file, tables on a PostgreSQL server, or memory."""

from __future__ import annotations

from pathlib import Path

from reticent.database_url import is_url
from reticent.ledger.store import MemoryStore, Store


def store_at(place: str | Path | None) -> Store:
    """The store that a place names, kept absolute from now on; nothing is opened yet.

    Parameters
    ----------
    place : str, Path or None
        A file; ``postgresql://host/database?schema=name``; None for a new one in memory.

    Raises
    ------
    SpecError
        A URL that holds a password, or is none.
    """
    if place is None:
        return MemoryStore()
    if is_url(place):
        from reticent.ledger.postgres_store import PostgresStore

        return PostgresStore.at(str(place))
    from reticent.ledger.sqlite_store import SqliteStore

    return SqliteStore(str(place), Path(place).expanduser().absolute())


def ledger_at(place: str | Path) -> bool:
    """Tell if there is something at a place that a ledger would be opened from.

    Raises
    ------
    LedgerError
        The server cannot be reached, so nobody knows.
    """
    return store_at(place).found() if is_url(place) else Path(place).expanduser().exists()
