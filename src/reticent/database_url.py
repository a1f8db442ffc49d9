"""URLs of databases, as study files write them: which server, which part of it, and no password.

is_url(place)                        "postgresql://host/db?schema=ledger" is one, "rows.csv" is none
parted(url, ("schema",), "ledger")   the connection string, and the options that are ours
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from reticent.errors import SpecError

SCHEMES: Final = ("postgresql:/", "postgres:/")  # a path has lost one of the slashes
SECRETS: Final = ("password", "sslpassword")
SERVER: Final = ("host", "hostaddr", "port", "dbname")


def is_url(place: object) -> bool:
    """Tell if a place is the URL of a PostgreSQL database."""
    return str(place).lower().startswith(SCHEMES)


def parted(url: str, own: Sequence[str], about: str) -> tuple[str, Mapping[str, Sequence[str]]]:
    """The connection string of a URL, and the options in it that are ours, each with the values it was given.

    Parameters
    ----------
    url : str
    own : sequence of str
        Names of options that the server does not know.
    about : str
        The key of the study file, for the refusal: "source" or "ledger".

    Returns
    -------
    (str, mapping of str to values)

    Raises
    ------
    SpecError
        It holds a password, which is not repeated, or cannot be read.
    """
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True)
        secret = parts.password is not None or any(name in SECRETS for name, _ in options)
    except ValueError:
        raise SpecError(f"The {about} is no URL of a database. Nothing was read.") from None
    if secret:
        raise SpecError(
            f"The {about} holds a password, and a study file is read by many. Take it out, and put it into PGPASSWORD "
            "or a pgpass file. Nothing was read."
        )
    rest = urlencode([pair for pair in options if pair[0] not in own])
    found = {name: [value for key, value in options if key == name] for name in own}
    return f"postgresql://{parts.netloc}{parts.path}{'?' if rest else ''}{rest}", found


def server_of(conninfo: str) -> list[str]:
    """Host, port and database of a connection string, without who asks and how."""
    parts = urlsplit(conninfo)
    options = dict(parse_qsl(parts.query))
    return [(parts.netloc.rpartition("@")[2] + parts.path).lower(), *(options.get(name, "") for name in SERVER)]
