"""A PostgreSQL server of its own in a temporary folder, on a socket only, stopped and removed at the end."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PLACES: Final = ("/usr/lib/postgresql/*/bin",)
OWNER: Final = "postgres"  # whom the server runs as where this process is root, which it refuses to be


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server: the folder of its socket, and the programs beside it."""

    folder: Path
    programs: Path

    def url(self, role: str, table: str = "") -> str:
        """The URL of the database for a role, or of a table in it."""
        about = f"&table={table}" if table else ""
        return f"postgresql://{role}@/{OWNER}?host={self.folder}{about}"


def programs() -> Path | None:
    """The newest folder that holds initdb and pg_ctl, or None."""
    named = shutil.which("initdb")
    found = [Path(named).resolve().parent] if named else []
    found += [Path(name) for place in PLACES for name in sorted(glob.glob(place), reverse=True)]
    return next((folder for folder in found if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


@contextmanager
def server(*, collation: str = "C", durable: bool = False) -> Iterator[PostgresServer]:
    """A running server whose superuser is ``postgres``; everybody on the socket is trusted, and nobody else is let in.

    Parameters
    ----------
    collation : str
        Of the database: "C", or an ICU locale such as "en-US", which sorts unlike bytes.
    durable : bool
        True to write as a server must that outlives this process.

    Raises
    ------
    FileNotFoundError
        No PostgreSQL is installed.
    """
    where = programs()
    if where is None:
        raise FileNotFoundError("initdb")
    with tempfile.TemporaryDirectory(prefix="reticent-pg-", dir="/tmp") as name:
        folder = Path(name)
        _given_away(folder)
        locale = ["--locale=C"] if collation == "C" else ["--locale-provider=icu", f"--icu-locale={collation}"]
        _run(where / "initdb", "-D", f"{name}/data", "-A", "trust", "-U", OWNER, "-E", "UTF8", "-N", *locale)
        told = f"-k {name} -c listen_addresses= {'' if durable else '-c fsync=off '}-c shared_buffers=128MB"
        _run(where / "pg_ctl", "-D", f"{name}/data", "-w", "-l", f"{name}/log", "-o", told, "start")
        try:
            yield PostgresServer(folder, where)
        finally:
            _run(where / "pg_ctl", "-D", f"{name}/data", "-w", "-m", "immediate", "stop")


def _given_away(folder: Path) -> None:
    if os.name == "posix" and os.geteuid() == 0:
        shutil.chown(folder, OWNER)


def _run(program: Path, *arguments: str) -> None:
    asked: Sequence[str] = [str(program), *arguments]
    if os.name == "posix" and os.geteuid() == 0:
        asked = ["runuser", "-u", OWNER, "--", *asked]
    subprocess.run(asked, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")  # noqa: S603
