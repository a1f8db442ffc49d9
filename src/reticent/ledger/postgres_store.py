"""A store of entries in the tables of one schema on a PostgreSQL server, for studies that run on several machines.

It promises what the file does:

* A transaction commits with ``synchronous_commit`` on. ``fsync`` and ``full_page_writes`` must be on, the server the
  primary one, and the tables logged: asked of the server in each transaction, and refused where it is otherwise.
* Who decides holds an advisory lock until its transaction ends, so two machines cannot both see the last of a budget.
* The server may undo a transaction to keep its order (a serialisation failure, a deadlock, a number that somebody
  inserted without the lock). Nothing is written then. ``decide`` is asked again, with what is there by now.
* Triggers refuse UPDATE, DELETE and TRUNCATE, for every role. The catalog's account of tables, keys, triggers, rules
  and row policies is compared with ours in each transaction.
* A connection lives for one operation. Every setting is one of the transaction, so a pooler may stand between.
* The tables, their triggers and the first entry are made in one transaction: a ledger is never seen half made.

A connection that is lost before COMMIT was sent has written nothing. One that is lost while COMMIT is on its way may
have: then nothing is drawn, and an entry that is there counts as spent. The server's words may quote rows of entries;
they are not repeated.

Credentials come from PGPASSWORD, a pgpass file or a service file. A URL that holds a password is refused. Whoever may
charge needs SELECT and INSERT on the tables; only the owner could take the triggers away.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reticent.database_url import parted, server_of
from reticent.errors import LedgerError, SpecError
from reticent.ledger import store
from reticent.ledger.replay import Row
from reticent.ledger.state import HeadWitness, state_folder
from reticent.ledger.store import PATIENCE, Addition, Decide, Extract, LostReply, Seal, SqlExtract
from reticent.privacy.serialization import canonical, digest_of

if TYPE_CHECKING:
    import psycopg

LOCK: Final = 0x52455449  # "RETI"; the second half of the lock is the number of the table
SCHEMA: Final = "reticent"  # where the URL names none
LONGEST: Final = 63  # bytes of a name in PostgreSQL
ALONE: Final = 60  # seconds after which the server ends a transaction whose client has gone silent
TRIES: Final = {  # errors after which the server has undone the transaction: asking again is safe
    "40001": "serialization_failure",
    "40P01": "deadlock_detected",
    "23505": "unique_violation",
    "P0001": "a ledger only grows",
}
GROWS: Final = """
BEGIN
  IF TG_OP = 'INSERT' THEN
    DECLARE due bigint;
    BEGIN
      EXECUTE format('SELECT coalesce(max(number), 0) + 1 FROM %I.%I', TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO due;
      IF NEW.number = due THEN RETURN NEW; END IF;
    END;
  END IF;
  RAISE EXCEPTION 'a ledger only grows';
END
"""
TABLES: Final = (
    "CREATE TABLE {s}.entries (number bigint PRIMARY KEY, body text NOT NULL, digest text NOT NULL)",
    "CREATE TABLE {s}.names (name text NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))",
    "CREATE TABLE {s}.answers (name text PRIMARY KEY, text text NOT NULL)",
    f"CREATE FUNCTION {{s}}.only_grows() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $${GROWS}$$",
    "CREATE TRIGGER grow BEFORE INSERT ON {s}.entries FOR EACH ROW EXECUTE FUNCTION {s}.only_grows()",
    "CREATE TRIGGER stay BEFORE UPDATE OR DELETE ON {s}.entries FOR EACH ROW EXECUTE FUNCTION {s}.only_grows()",
    "CREATE TRIGGER truncate BEFORE TRUNCATE ON {s}.entries FOR EACH STATEMENT EXECUTE FUNCTION {s}.only_grows()",
    "ALTER TABLE {s}.entries ENABLE ALWAYS TRIGGER grow",
    "ALTER TABLE {s}.entries ENABLE ALWAYS TRIGGER stay",
    "ALTER TABLE {s}.entries ENABLE ALWAYS TRIGGER truncate",
    "COMMENT ON TABLE {s}.entries IS 'ledger of reticent, form {form}'",
)
FACTS: Final = """
    SELECT c.relname::text, concat(c.relkind, c.relpersistence), c.relhasrules OR c.relrowsecurity OR c.relhassubclass,
      (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
                         || CASE WHEN a.attnotnull THEN '!' ELSE '' END, ', ' ORDER BY a.attnum)
       FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
      (SELECT string_agg(pg_get_constraintdef(k.oid), ', ' ORDER BY k.conname)
       FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype <> 'n'),
      (SELECT coalesce(string_agg(concat(t.tgname, ' ', t.tgtype, t.tgenabled, t.tgqual IS NULL,
                                         p.prosrc = %s::text AND l.lanname = 'plpgsql'), ', ' ORDER BY t.tgname), '')
       FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_language l ON l.oid = p.prolang
       WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname IN ('entries', 'names', 'answers') ORDER BY c.relname
"""
EXPECTED: Final = [
    ("answers", "rp", False, "name text!, text text!", "PRIMARY KEY (name)", ""),
    (
        "entries",
        "rp",
        False,
        "number bigint!, body text!, digest text!",
        "PRIMARY KEY (number)",
        "grow 7Att, stay 27Att, truncate 34Att",
    ),
    ("names", "rp", False, "name text!, number bigint!", "PRIMARY KEY (name, number)", ""),
]
SERVER: Final = """
    SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
           pg_is_in_recovery(), current_setting('server_encoding'),
           (SELECT obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = %s AND c.relname = 'entries')
"""
MAY_BUILD: Final = """
    SELECT CASE WHEN EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = %s)
           THEN has_schema_privilege(%s::text, 'CREATE')
           ELSE has_database_privilege(current_database(), 'CREATE') END
"""
BEGUN: Final = (
    "SET LOCAL search_path = pg_catalog; SET LOCAL statement_timeout = 0; "
    f"SET LOCAL lock_timeout = '{PATIENCE:.0f}s'; SET LOCAL idle_in_transaction_session_timeout = '{ALONE}s'; "
    "SELECT set_config('synchronous_commit', "
    "CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"
)
WRITING: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "


@dataclass(frozen=True, slots=True)
class PostgresStore:
    """Rows in the tables of ``schema``; ``name`` is the URL as the user typed it, ``conninfo`` that of the database."""

    name: str
    conninfo: str
    schema: str
    durable: bool = True

    @classmethod
    def at(cls, url: str) -> PostgresStore:
        """The store of ``postgresql://host/database?schema=name``; nothing is opened yet.

        Raises
        ------
        SpecError
            The URL holds a password, or names two schemas or one that is too long.
        """
        conninfo, own = parted(url, ("schema",), "ledger")
        named = own["schema"] or [SCHEMA]
        if len(named) != 1 or not named[0] or len(named[0].encode()) > LONGEST or "\x00" in named[0]:
            raise SpecError('Name one schema: ledger = "postgresql://host/database?schema=ledger". Nothing was read.')
        return cls(url, conninfo, named[0])

    @property
    def place(self) -> str:
        return self.name

    @property
    def file(self) -> None:
        return None

    @property
    def beside(self) -> Path:
        return state_folder() / "ledgers" / digest_of(canonical(["ledger", *server_of(self.conninfo), self.schema]))

    @property
    def witness(self) -> HeadWitness:
        return HeadWitness(self.beside.with_name(self.beside.name + ".head"))

    def found(self) -> bool:
        with _words(self.name), _connected(self) as connection:
            return _number(connection, self) is not None

    def may_build(self) -> bool:
        """Tell if the role of the URL may make the tables, and the schema where there is none."""
        with _words(self.name), _connected(self) as connection:
            ((may,),) = connection.execute(MAY_BUILD, (self.schema, self.schema)).fetchall()
        return bool(may)

    def build(self, first: Row) -> bool:
        with _words(self.name), _connected(self) as connection:
            connection.execute(WRITING + BEGUN)
            connection.execute("SELECT pg_advisory_xact_lock(%s::int4, hashtext(%s::text))", (LOCK, self.schema))
            if _number(connection, self) is not None:
                return False
            if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self.schema,)).fetchone():
                connection.execute(f"CREATE SCHEMA {self._quoted}")
            for statement in TABLES:
                connection.execute(statement.replace("{s}", self._quoted).replace("{form}", str(store.FORMAT)))
            _check(connection, self)
            _extract(connection, self).add(Addition((first,)))
            _commit(connection, self.name)
        return True

    @contextlib.contextmanager
    def reading(self) -> Iterator[Extract]:
        with _words(self.name), _connected(self) as connection:
            connection.execute(READING + BEGUN)
            _check(connection, self)
            yield _extract(connection, self)

    def append(self, decide: Decide, after: Callable[[Extract], None] | None = None) -> None:
        until = time.monotonic() + PATIENCE
        while not self._appended(decide, after, until):
            time.sleep(0.01)

    def _appended(self, decide: Decide, after: Callable[[Extract], None] | None, until: float) -> bool:
        """One attempt; False where the server undid it and there is time for another."""
        import psycopg

        with _words(self.name), _connected(self) as connection:
            view = _extract(connection, self)
            try:
                connection.execute(WRITING + BEGUN)
                _locked(connection, self)
                _check(connection, self)
                added = decide(view)
                if not added.rows:
                    return True  # closing the connection ends the transaction, as it does when decide raises
                view.add(added)
                _commit(connection, self.name)
            except psycopg.Error as problem:
                if problem.sqlstate in TRIES and time.monotonic() < until:
                    return False
                raise
            if after is not None:
                after(view)
        return True

    def migrate(self, seal: Seal) -> None:
        """Do nothing: every ledger on a server has today's form."""

    def form(self) -> int:
        with self.reading():
            return store.FORMAT  # what has another was refused

    def damage(self) -> None:
        return None

    @property
    def _quoted(self) -> str:
        return '"' + self.schema.replace('"', '""') + '"'


def _extract(connection: psycopg.Connection[Any], kept: PostgresStore) -> SqlExtract:
    def run(statement: str, *values: Any) -> Sequence[tuple[Any, ...]]:
        done = connection.execute(statement.replace("?", "%s").replace("@", schema), values)
        return done.fetchall() if done.description is not None else ()

    schema = f"{kept._quoted}.".replace("%", "%%")
    return SqlExtract(run, lambda: store.FORMAT)


@contextlib.contextmanager
def _connected(kept: PostgresStore) -> Iterator[psycopg.Connection[Any]]:
    """A connection for one operation; what it has not committed is undone at the end."""
    try:
        import psycopg
    except ImportError:
        raise SpecError("PostgreSQL needs psycopg: pip install 'reticent[postgres]'. Nothing was charged.") from None
    connection: psycopg.Connection[Any] = psycopg.connect(
        kept.conninfo,
        autocommit=True,  # transactions are begun and ended by the statements here
        prepare_threshold=None,
        application_name="reticent",
        client_encoding="utf8",
        connect_timeout=10,
        tcp_user_timeout=30_000,
    )
    with contextlib.closing(connection):
        yield connection


def _number(connection: psycopg.Connection[Any], kept: PostgresStore) -> int | None:
    """The catalog's number of the table of entries; None where there is none."""
    found = connection.execute(
        "SELECT c.oid::bigint FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = 'entries'",
        (kept.schema,),
    ).fetchone()
    return None if found is None else int(found[0])


def _locked(connection: psycopg.Connection[Any], kept: PostgresStore) -> None:
    """Hold the lock of this ledger until the transaction ends; what is read afterwards is of that time."""
    number = _number(connection, kept)
    if number is None:
        raise LedgerError(f"There is no ledger at {kept.name}.")
    connection.execute("SELECT pg_advisory_xact_lock(%s::int4, %s::int4)", (LOCK, number % 2**31))


def _check(connection: psycopg.Connection[Any], kept: PostgresStore) -> None:
    """Refuse a server that cannot keep the promise, tables of another form, and tables that were changed."""
    found = connection.execute(SERVER, (kept.schema,)).fetchone()
    assert found is not None
    synced, whole, commit, standby, encoding, comment = found
    if comment is None and _number(connection, kept) is None:
        raise LedgerError(f"There is no ledger at {kept.name}.")
    if not durable(synced, whole, commit):
        raise LedgerError(
            f"The server of {kept.name} cannot promise to keep an entry through a power cut: fsync, full_page_writes "
            "and synchronous_commit must be on. Nothing was charged."
        )
    if standby:
        raise LedgerError(f"{kept.name} is on a standby server. Name the primary one. Nothing was charged.")
    if encoding != "UTF8":
        raise LedgerError(f"The database of {kept.name} does not store UTF-8. Nothing was charged.")
    today = f"ledger of reticent, form {store.FORMAT}"
    if comment != today:
        other = str(comment).startswith(today.rstrip("0123456789"))
        words = f"{comment}; this reticent reads form {store.FORMAT}" if other else "not a ledger of reticent"
        raise LedgerError(f"{kept.name} is {words}. Nothing was charged.")
    if connection.execute(FACTS, (GROWS, kept.schema)).fetchall() != EXPECTED:
        raise LedgerError(
            f"{kept.name} is damaged: its tables, triggers, rules or policies were changed. Nothing was charged."
        )


def durable(fsync: str, full_page_writes: str, synchronous_commit: str) -> bool:
    """Tell if a commit is on the server's disk, whole, before it is acknowledged.

    Parameters
    ----------
    fsync, full_page_writes, synchronous_commit : str
        Settings of the transaction, as the server tells them.

    Returns
    -------
    bool
    """
    return (fsync, full_page_writes) == ("on", "on") and synchronous_commit in ("on", "remote_apply")


def _commit(connection: psycopg.Connection[Any], name: str) -> None:
    """Commit; from here on an error that does not say "undone" means that the outcome is unknown.

    Raises
    ------
    LostReply
        The entry may be there.
    """
    import psycopg

    try:
        done = connection.execute("COMMIT").statusmessage
    except psycopg.Error as problem:
        if problem.sqlstate in TRIES:
            raise
        raise LostReply(
            f"The server of {name} did not say if it took the entry. Whether it is there is unknown, so nothing may be "
            "drawn; if it is there, it counts as spent. See: reticent ledger show."
        ) from None
    if done != "COMMIT":
        raise LedgerError(f"The server of {name} undid the entry. Nothing was charged.")


@contextlib.contextmanager
def _words(name: str) -> Iterator[None]:
    """Errors of the server as ours: no SQL, no values, no address but the one that was typed."""
    try:
        yield
    except Exception as problem:
        import psycopg

        if not isinstance(problem, psycopg.Error):
            raise
        raise LedgerError(_explain(name, problem.sqlstate)) from None


def _explain(name: str, state: str | None) -> str:
    match state:
        case None | "57P01" | "57P02" | "57P03" | "08006" | "08003" | "08001":
            return (
                f"{name} cannot be reached, or the connection was lost. Try the same with psql; a password comes from "
                "PGPASSWORD or a pgpass file. Nothing was charged."
            )
        case "55P03" | "40001" | "40P01":
            return f"{name} is held by another process. Nothing was charged; try again when it has finished."
        case "23505" | "P0001":
            return f"{name} gets entries from a program that takes no lock. Nothing was charged."
        case "42501":
            return (
                f"This role may not use {name}. To make a ledger it needs CREATE on the database or the schema. To "
                "charge one it needs USAGE on the schema, SELECT and INSERT on its tables. Nothing was charged."
            )
        case "25006":
            return f"{name} is on a server that takes no changes. Name the primary one. Nothing was charged."
        case "53100":
            return f"The disk of {name} is full. Nothing was charged."
        case "28P01" | "28000" | "3D000":
            return (
                f"{name} lets this role not in, or has no such database. A password comes from PGPASSWORD or a pgpass "
                "file. Nothing was charged."
            )
        case _:
            return f"{name} cannot be used: the server reported error {state}. Nothing was charged."
