"""The file beside a source that names its ledger: written whole, read strictly, looked for in all its places."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import stat
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from reticent.errors import LedgerError
from reticent.ledger.state import state_folder
from reticent.privacy.serialization import canonical, digest_of

FORMAT: Final = 1
SUFFIX: Final = ".reticent"


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table as a source. ``database`` is a URL or a file; user, password and options in a URL are not part of it.

    ``shows`` are tables of the same database whose rows it shows: what a view reads, and the parts of a table. Each of
    them is claimed.
    """

    database: str
    table: str
    shows: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.table


Source: TypeAlias = Path | DatabaseTable


@dataclass(frozen=True, slots=True)
class SourceState:
    """State of the source file, seen from outside, when ``release`` was made."""

    release: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """The file of a claim by device and inode: where it was, and how it looked then."""

    path: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class Claim:
    """``ledger`` (as it was typed, and by its identity) counts for the source, and once had ``head``.

    ``among`` has for each pattern by which a release read the file a digest of the places of all its files.
    """

    ledger: str
    identity: str
    fingerprint: str
    head: str
    seen: SourceState | None = None
    file: FileIdentity | None = None
    among: Mapping[str, str] = field(default_factory=dict)


def fingerprint(source: Source, columns: Sequence[str]) -> str:
    """The text a ledger records about its source; the first word alone says where it is, a pattern as it is written."""
    return f"{place_of(source)} {digest_of(canonical(sorted(columns)))}"


def files_of(source: Source) -> list[Source]:
    """The source itself and the tables it shows or, for a pattern, the files it fits; only names are looked at."""
    if isinstance(source, DatabaseTable):
        return [source, *(DatabaseTable(source.database, name) for name in source.shows)]
    if not glob.has_magic(str(source)) or os.path.exists(source.expanduser()):
        return [source]
    pattern = source.expanduser()
    # a folder may itself be called "[a]"; only a pattern is read as one
    folder = glob.escape(str(pattern.parent)) if pattern.parent.is_dir() else str(pattern.parent)
    names = glob.glob(f"{folder}/{pattern.name}", recursive=True)
    found = {Path(name).resolve() for name in names if os.path.isfile(name) and not name.endswith(SUFFIX)}
    if not found:
        raise LedgerError(f"No file fits {source.name}, so there is nothing to count for. Nothing was charged.")
    return [*sorted(found)]


def together(source: Source, files: Sequence[Source]) -> dict[str, str]:
    """A digest of the places of the files of a pattern, by that of the pattern; nothing of another source."""
    if files == [source] or isinstance(source, DatabaseTable):
        return {}
    return {place_of(source): digest_of(canonical(sorted(map(place_of, files))))}


def place_of(source: Source) -> str:
    """Digest of where the source is: the first word of its fingerprint."""
    match source:
        case Path():
            where = ["file", os.path.normcase(source.expanduser().resolve())]
        case DatabaseTable(database=database, table=table):
            where = ["table", _database(database), table]
    return digest_of(canonical(where))


def _database(database: str) -> str:
    """A database without who asks: a URL loses user, password and options; a file becomes its resolved path."""
    url = urlsplit(database)
    if "://" in database and url.scheme != "file":
        port = f":{url.port}" if url.port else ""
        return f"{url.scheme.split('+')[0]}://{url.hostname or ''}{port}{url.path}"
    file = Path(url.path if url.scheme == "file" else database)
    return os.path.normcase(file.expanduser().resolve())


def _state() -> Path:
    """The folder of claims of this user."""
    return state_folder() / "sources"


def places_of(source: Source) -> list[Path]:
    """Places of a claim by the path of ``source``: beside it, and in the user's state folder."""
    own = _state() / f"{place_of(source)}{SUFFIX}"
    if isinstance(source, DatabaseTable):
        return [own]
    file = source.expanduser().resolve()
    return [file.with_name(file.name + SUFFIX), own]


def place_by_inode(source: Source) -> tuple[Path, FileIdentity] | None:
    """Place of a claim on this very file under any name, with the file's present state; None if it is no file."""
    if isinstance(source, DatabaseTable):
        return None
    try:
        path = source.expanduser().resolve()
        facts = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(facts.st_mode) or not facts.st_ino:
        return None
    name = digest_of(canonical(["inode", facts.st_dev, facts.st_ino]))
    return _state() / f"{name}{SUFFIX}", FileIdentity(str(path), facts.st_size, facts.st_mtime_ns)


def is_here(source: Source) -> FileIdentity | None:
    """Present state of the file."""
    found = place_by_inode(source)
    return None if found is None else found[1]


def is_still(found: Claim, place: Path, now: FileIdentity) -> bool:
    """Tell if a claim by inode is about the present file and not about an earlier one of the same number.

    Parameters
    ----------
    found : Claim
        The claim as it was read.
    place : Path
        File of the claim.
    now : FileIdentity
        Identity of the present file.

    Returns
    -------
    bool
    """
    if found.file is None:
        return False
    if (found.file.size, found.file.modified) == (now.size, now.modified):
        return True
    there = place_by_inode(Path(found.file.path))
    return there is not None and there[0] == place


def kept_claim(source: Source) -> list[Path]:
    """Every place where a claim on ``source`` may be."""
    by_inode = place_by_inode(source)
    return [*places_of(source), *([] if by_inode is None else [by_inode[0]])]


def claims_of(source: Source) -> list[Claim]:
    found = [one for one in map(read_claim, places_of(source)) if one is not None]
    moved = place_by_inode(source)
    one = None if moved is None else read_claim(moved[0])
    if moved is not None and one is not None and is_still(one, *moved):
        found.append(one)
    return found


def all_claims(source: Source) -> list[Claim]:
    return [found for file in files_of(source) for found in claims_of(file)]


def claimed_here(source: Source) -> bool:
    """Tell if a claim was made for this place or this very file, and was not moved or copied to it."""
    return any(
        found.file is not None or found.fingerprint.split(" ")[0] == place_of(source) for found in claims_of(source)
    )


def read_claim(place: Path) -> Claim | None:
    try:
        match json.loads(place.read_text(encoding="ascii")):
            case {
                "format": 1,
                "ledger": str(ledger),
                "identity": str(identity),
                "fingerprint": str(text),
                "head": str(head),
                "seen": None | [str(), int(), int()] as seen,
                **rest,
            }:
                looked = SourceState(*seen) if seen else None
                among = rest.get("among", {})
                if not isinstance(among, dict) or not all(isinstance(one, str) for one in among.values()):
                    raise ValueError("the files beside that of a claim")
                return Claim(ledger, identity, text, head, looked, _file(rest.get("file")), among)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError):
        pass
    raise LedgerError(
        f"{place.name} says which ledger counts for this source, and cannot be read. Restore it; delete it only if "
        "nothing was ever released from this source."
    )


def _file(found: object) -> FileIdentity | None:
    match found:
        case None:
            return None
        case [str(path), int(size), int(modified)]:
            return FileIdentity(path, size, modified)
        case _:
            raise ValueError("the file of a claim")


def create_claim(place: Path, claimed: Claim) -> None:
    """Write a claim where there is none; FileExistsError when there is one."""
    draft = _draft(place, claimed)
    try:
        os.link(draft, place)
    finally:
        draft.unlink()


def write_claim(place: Path, claimed: Claim) -> None:
    """Put a claim in the place of the one that is there, all at once."""
    try:
        draft = _draft(place, claimed)
        os.replace(draft, place)
    except OSError:
        raise LedgerError(f"{place.name} cannot be written: check its permissions.") from None


def _draft(place: Path, claimed: Claim) -> Path:
    seen, file = claimed.seen, claimed.file
    fields = {
        "format": FORMAT,
        "ledger": claimed.ledger,
        "identity": claimed.identity,
        "fingerprint": claimed.fingerprint,
        "head": claimed.head,
        "seen": None if seen is None else [seen.release, seen.size, seen.modified],
        **({} if file is None else {"file": [file.path, file.size, file.modified]}),
        **({"among": {**claimed.among}} if claimed.among else {}),
    }
    draft = place.with_name(f".{place.name}.{uuid.uuid4().hex}")
    with contextlib.ExitStack() as undo:
        undo.callback(draft.unlink, missing_ok=True)
        with draft.open("x", encoding="ascii") as opened:
            opened.write(canonical(fields) + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        undo.pop_all()
    return draft


def outside_place(source: Source, release: str) -> SourceState | None:
    """Size and time of a file, or of all files below a folder; None for a table and where there is nothing."""
    if isinstance(source, DatabaseTable):
        return None
    try:
        files = [source] if not source.is_dir() else sorted(item for item in source.rglob("*") if item.is_file())
        facts = [file.stat() for file in files]
    except OSError:
        return None
    return SourceState(
        release, sum(fact.st_size for fact in facts), max((fact.st_mtime_ns for fact in facts), default=0)
    )
