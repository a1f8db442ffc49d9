"""The demonstration with its rows in PostgreSQL: ``make demo-postgres``, on a server of its own that ends with it."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.demo.postgres_server import OWNER, PostgresServer, programs, server
from reticent.demo.run import STUDY, TABLE, Demonstration, prepare, publish

if TYPE_CHECKING:
    import pyarrow as pa

READER: Final = "reader"
INSTALL: Final = "PostgreSQL is not installed. On Debian and Ubuntu: apt-get install postgresql"
KINDS: Final = {"int64": "bigint", "int32": "integer", "int16": "smallint", "int8": "smallint", "double": "float8"}


def load(started: PostgresServer) -> str:
    """The URL of the public table in a server, for a role that can only read."""
    import psycopg
    import pyarrow.parquet as pq

    with resources.as_file(resources.files("reticent.demo") / TABLE) as path:
        rows: pa.Table = pq.read_table(path)
    columns = ", ".join(f'"{field.name}" {KINDS.get(str(field.type), "text")}' for field in rows.schema)
    with psycopg.connect(started.url(OWNER), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE randhie ({columns})")  # type: ignore[call-overload, unused-ignore]
        with connection.cursor().copy("COPY randhie FROM STDIN") as target:
            for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                target.write_row(row)
        connection.execute(f"CREATE ROLE {READER} LOGIN")
        connection.execute(f"GRANT SELECT ON randhie TO {READER}")
    return started.url(READER, "public.randhie")


def demonstrate(out: Path | None = None) -> Demonstration:
    """Publish what the demonstration's study file plans, from rows in a server of this call's own."""
    folder = prepare(out)
    with server() as started:
        file = folder / STUDY
        file.write_text(file.read_text("utf-8").replace(f'"{TABLE}"', f'"{load(started)}"'), "utf-8")
        return publish(folder)


def main() -> int:
    """Run the demonstration; the exit status is 2 where no PostgreSQL is installed."""
    if programs() is None:
        print(INSTALL, file=sys.stderr)
        return 2
    found = demonstrate(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print(found.release)
    print(f"wrote {', '.join(str(file) for file in found.files)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
