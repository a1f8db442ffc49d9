"""One source, one ledger: who holds the budget of a file or table, whoever asks and whatever columns they declare.

A fingerprint is ``<digest of the place> <digest of the declared columns>``. The place (a resolved path, or a database
and table) is the key: two studies of one file share its people, so they share its budget, and declaring other columns
must not open a second one. The columns are recorded, and a change of them is an entry in the ledger.

A pattern such as ``parts/*.parquet`` stands for the files that it fits. Each of them is claimed, so another spelling of
the pattern, or the path of one file, finds the same ledger. A file added later is claimed at the next opening.

The claim is a small JSON file, ``<source>.reticent`` beside the source, and a second one in the user's state folder. It
names the ledger by its random identity and its head, so a new ledger or an older copy in its place is noticed. If
somebody puts back the whole folder, with source, claim and ledger, the second claim notices it. A claim also holds size
and time of the source at the last release, which any listing of the folder shows. Neither enters the ledger or a
certificate. A digest of the content is kept nowhere: it would answer guesses about the rows.

A view or a partitioned table of PostgreSQL stands for the tables whose rows it shows, by the catalog. Each is claimed.

A third claim goes by the file itself, its device and inode: a file that was moved, or has a second name, is the same
source. It counts while the file looks as it did, or while its former path still leads to it. A number that the system
gave to another file does not count. An export that replaces a file has a new inode and the old path, and stays under
its ledger.

What escapes: a copied file; a file that was moved and then changed; a file inside a folder that is itself a source. A
table that a function in a view reads, a foreign or Spark table under another name, and another user's state folder are
the others. More in docs/theory/ledger.md.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import stat
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from reticent.database_url import is_url
from reticent.errors import LedgerError, SpecError
from reticent.ledger.account import Ledger, ledger_at, store_at
from reticent.ledger.events import Committed, Event
from reticent.ledger.state import state_folder
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.filters import parts
from reticent.privacy.loss import Loss
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


def source_at(place: str) -> Source:
    """The source of a place: a path, or ``postgresql://server/database#shown,shown?table=name``, quoted names shown.

    The server is named by its identity.
    """
    if not place.startswith(("postgresql://", "spark://")):
        return Path(place)
    database, _, table = place.partition("?table=")
    database, _, shown = database.partition("#")
    return DatabaseTable(database, table, tuple(unquote(name) for name in shown.split(",") if name))


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
    """``ledger`` (as it was typed, and by its identity) counts for the source, and once had ``head``."""

    ledger: str
    identity: str
    fingerprint: str
    head: str
    seen: SourceState | None = None
    file: FileIdentity | None = None


def fingerprint(source: Source, columns: Sequence[str]) -> str:
    """The text a ledger records about its source; the first word alone says where it is, a pattern as it is written."""
    return f"{place_of(source)} {digest_of(canonical(sorted(columns)))}"


def open_for(
    source: Source,
    columns: Sequence[str],
    path: str | Path | None,
    *,
    title: str,
    adjacency: Adjacency,
    budget: Loss,
    person: str | None = None,
    approved: str | None = None,
    ends: date | None = None,
    further: Mapping[str, Source] | None = None,
    handle: Ledger | None = None,
) -> Ledger:
    """The ledger at ``path`` for this source: opened on these terms, or created, and claimed either way.

    Parameters
    ----------
    source : Source
    columns : sequence of str
        Names of the declared columns.
    path : str, Path or None
        File or URL of the ledger; None for a new one in memory.
    title : str
        Title of the study, of a new ledger.
    adjacency : Adjacency
    budget : Loss
    person : str, optional
        The column that says who a person is.
    approved : str, optional
        Who approved the budget.
    ends : date, optional
        The last day of charges.
    further : mapping of name to Source, optional
        Files of further tables about the same people, which are claimed as the source is.
    handle : Ledger, optional
        A handle on the ledger at ``path`` that is open already, which saves reading it again.

    Returns
    -------
    Ledger

    Raises
    ------
    LedgerError
        When another ledger counts for the source or for one of its files. When its ledger is gone, its terms differ, or
        no file fits a pattern. Nothing is created then.
    """
    beside = tuple((further or {}).values())
    claims = [*_all_claims(source), *(claim for file in beside for claim in _all_claims(file))]
    if claims and not (path is not None and ledger_at(path)):
        raise _not_there(claims[0], path)
    text = fingerprint(source, columns)
    if path is None or not claims:
        ledger = Ledger.open_or_create(
            path,
            title=title,
            adjacency=adjacency,
            budget=budget,
            person=person,
            source=text,
            approved=approved,
            ends=ends,
        )
        for file in (source, *beside) if ledger.durable else ():
            claim(file, columns, ledger)
        return ledger
    ledger = Ledger(store_at(path)) if handle is None else handle
    with ledger.still():
        _same(claims, ledger)
        if ledger.source is not None and any(_claimed_here(file) for file in _files(source)):
            text = " ".join([ledger.source.split(" ")[0], text.split(" ")[1]])  # known to it under another spelling
        ledger.agree(adjacency=adjacency, budget=budget, person=person, source=text, ends=ends)
    ledger.describe(text)
    for file in (source, *beside):
        _claim_all(file, columns, ledger)
    return ledger


def refuse_new_ledger(source: Source, path: str | Path) -> None:
    """Refuse a ledger that ``path`` would make where one counts for the source already.

    Raises
    ------
    LedgerError
        The ledger of the source is gone, or another one counts for it.
    """
    for claimed in _all_claims(source):
        raise _not_there(claimed, path)


def further_names(columns: Sequence[str], files: Mapping[str, Source]) -> list[str]:
    """Names by which a ledger knows the columns of further tables and the files of those about people."""
    return list(dict.fromkeys([*columns, *(f"{name} at {place_of(file)}" for name, file in files.items())]))


def claim(source: Source, columns: Sequence[str], ledger: Ledger) -> None:
    """Record that ``ledger`` counts for ``source``, for every file of a pattern, or refuse because another one does.

    Parameters
    ----------
    source : Source
    columns : sequence of str
        Names of the declared columns.
    ledger : Ledger

    Raises
    ------
    LedgerError
        When the source or a file of it is under another ledger, or a claim can be written nowhere.
    """
    _same(_all_claims(source), ledger)
    _claim_all(source, columns, ledger)


def _claim_all(source: Source, columns: Sequence[str], ledger: Ledger) -> None:
    for file in _files(source):
        _claim(file, _mine(file, columns, ledger), ledger)
    ledger.tell(SourceWitness(source))


def _claim(source: Source, mine: Claim, ledger: Ledger) -> None:
    """Put ``mine`` in every place that can be written; one of those that go by the path must take it."""
    moved = _by_inode(source)
    by_path = [_put(place, mine, ledger) for place in _places(source)]
    if not any(by_path):
        raise LedgerError(
            "Which ledger counts for this source can be recorded neither beside it nor in your state folder "
            "(XDG_STATE_HOME). Make one of them writable. Nothing was charged."
        )
    if moved is not None:
        place, file = moved
        earlier = _read(place)
        if earlier is not None and not _still(earlier, place, file):
            place.unlink(missing_ok=True)  # the number of a file that is gone, given to this one
        _put(place, replace(mine, file=file), ledger)


def _put(place: Path, mine: Claim, ledger: Ledger) -> bool:
    """Write a claim, or bring the one that is there up to date; False where neither could be done."""
    found = _read(place)
    if found is None:
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _create(place, mine)
        except FileExistsError:
            found = _read(place)
        except OSError:
            return False
    if found is not None and replace(found, seen=None) != mine:
        _same([found], ledger)
        with contextlib.suppress(LedgerError):  # an older head in a claim that is now read-only still holds
            _write(place, replace(mine, seen=found.seen))
    return True


def claimed_by(source: Source, ledger: Ledger) -> bool:
    """Tell if the source names ``ledger``; False if it names none yet.

    Raises
    ------
    LedgerError
        When it names another one, or an entry that this one no longer has.
    """
    found = _all_claims(source)
    _same(found, ledger)
    return bool(found)


def refuse_public(files: Mapping[str, Source], people: Sequence[Source]) -> None:
    """Refuse a table that is said to be about nobody where its file is one about people.

    Parameters
    ----------
    files : mapping of name to Source
        Files of public tables.
    people : sequence of Source
        The sources about people of the same study.

    Raises
    ------
    SpecError
        A file that is one of those.
    """
    private = [file for source in people for file in _files(source)]
    for name, file in files.items():
        said = f"{name} is declared public, and {file.name}"
        if any(place_of(one) == place_of(file) or _one_file(one, file) for one in private):
            raise SpecError(
                f"{said} holds rows of people in this study. Its cells would be published. A file counts as a whole: "
                "put a public table into a file of its own."
            )


def refuse_claimed(file: Source) -> None:
    """Refuse a file of a table that is said to be about nobody, where a ledger counts for it; it is not read.

    Raises
    ------
    SpecError
        A file that is under a ledger.
    """
    if found := _all_claims(file):
        raise SpecError(
            f"It is declared public, and {file.name} holds rows of people under {found[0].ledger}. They are asked "
            "about there."
        )


def refuse_replacing(file: Path, inputs: Sequence[str | Path] = ()) -> None:
    """Refuse to write where rows of people are: at a file under a ledger, or at one of ``inputs``.

    Parameters
    ----------
    file : Path
        Where something would be written.
    inputs : sequence of str or Path
        Files that are read, patterns among them; a URL is none.

    Raises
    ------
    SpecError
        A file that would be lost.
    """
    if not os.path.lexists(file):
        return
    given = [Path(place) for place in inputs if not is_url(str(place))]
    read = [one for place in given if glob.has_magic(str(place)) or place.exists() for one in _files(place)]
    if _claims(file) or any(_one_file(one, file) for one in read):
        raise SpecError(f"{file} is a table or a ledger that is read, and is never overwritten. Choose another name.")


def _one_file(one: Source, other: Source) -> bool:
    """Tell if two names lead to one file."""
    with contextlib.suppress(OSError):
        if isinstance(one, Path) and isinstance(other, Path):
            return os.path.samefile(one.expanduser(), other.expanduser())
    return False


def disown(source: Path) -> None:
    """Drop the claims on a file that was made a moment ago from public rows: the table of the demonstration."""
    for place in _kept(source):
        place.unlink(missing_ok=True)


def adopt(source: Source, columns: Sequence[str], ledger: Ledger, *, reason: str) -> None:
    """Go on with an older copy, or another ledger, when the newest is lost for good: all that is left is charged first.

    What the lost entries spent is unknown and at most the budget, so only a later ``amend`` opens room again.

    Parameters
    ----------
    source : Source
    columns : sequence of str
        Names of the declared columns.
    ledger : Ledger
        The copy that counts from now on.
    reason : str
        Written into the ledger.
    """
    ledger.forget_head()
    rest = ledger.left()
    if any(parts(rest)) and not ledger.closed:
        ledger.reserve(rest, adjacency=ledger.adjacency, what=f"entries lost with the ledger file: {reason}")
    for file in _files(source):
        for place in _kept(file):
            found = _read(place)
            if found is not None:
                _write(place, replace(_mine(file, columns, ledger), file=found.file))
    claim(source, columns, ledger)


@dataclass(frozen=True, slots=True)
class SourceWitness:
    """The claims on ``source``, which keep the head of its ledger.

    They take it with each charge, before the first draw. From then on an older copy of the ledger is refused, even when
    the release never ends. When a release has left they also keep how the source looks from outside. The charge is made
    by then, so nothing is raised here: a claim that cannot be written stays as it was.
    """

    source: Source

    def __call__(self, ledger: str, event: Event, head: Callable[[], str]) -> None:
        with contextlib.suppress(Exception):  # of a disk, a folder or the ledger: the charge stands whatever happens
            noted = None
            while noted != (newest := head()):  # another process charged meanwhile, whose head we may have replaced
                noted = newest
                for file in _files(self.source):
                    for place in _kept(file):
                        with contextlib.suppress(LedgerError):
                            found = _read(place)
                            if found is not None and found.identity == ledger:
                                here = None if found.file is None else _here(file)
                                seen = _outside(file, event.id) if isinstance(event, Committed) else found.seen
                                _write(place, replace(found, head=noted, file=here, seen=seen))


def source_changed(source: Source, word: str = "--same-people") -> str | None:
    """The curator's note that the source looks different since the last release; None when it does not.

    It depends on the data, so it must reach nobody but the curator. ``word`` is how he says that the people stayed.
    """
    looks = {file: [found.seen for found in _claims(file) if found.seen is not None] for file in _files(source)}
    noted = [seen for each in looks.values() for seen in each]
    changed = [seen for file, each in looks.items() for seen in each if _outside(file, seen.release) != seen]
    added = noted if not all(looks.values()) else []  # a file that was in no release, beside one that was
    if not (changed or added):
        return None
    release = (*changed, *added)[0].release
    return (
        f"The source has changed since {release}. Releases on old and new rows of the same people still add up. "
        f"Continue with {word}, or start a new study with new people."
    )


def _mine(source: Source, columns: Sequence[str], ledger: Ledger) -> Claim:
    known = ledger.known
    return Claim(ledger.name, known.opening.identity, fingerprint(source, columns), known.head)


def _same(claims: Sequence[Claim], ledger: Ledger) -> None:
    """Refuse unless ``ledger`` is the one of every claim, with every entry it had."""
    for found in {(found.identity, found.head): found for found in claims}.values():
        if found.identity != ledger.identity:
            if found.ledger == ledger.name:
                raise LedgerError(
                    f"This source is under an earlier {found.ledger}, and this file is not it. What was released under "
                    "that one is spent all the same. Put its newest copy back."
                )
            raise _taken(found)
        if not ledger.holds(found.head):
            raise LedgerError(
                f"{ledger.name} is an older copy: entries it had are gone. Releases made since the copy are spent all "
                "the same. Put its newest copy back; if that is lost, adopt this one, and what is left counts as spent."
            )


def _not_there(claimed: Claim, path: str | Path | None) -> LedgerError:
    if path is None or str(path) != claimed.ledger:
        return _taken(claimed)
    return LedgerError(
        f"{claimed.ledger}, the ledger of this source, is gone. What was released under it is spent all the same. Put "
        "its newest copy back."
    )


def _taken(claimed: Claim) -> LedgerError:
    return LedgerError(
        f"This source is already under {claimed.ledger} (fingerprint of its path and schema). Two ledgers for one file "
        f"would promise twice what is true. Use that ledger: {claimed.ledger}."
    )


def _files(source: Source) -> list[Source]:
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


def _places(source: Source) -> list[Path]:
    """Places of a claim by the path of ``source``: beside it, and in the user's state folder."""
    own = _state() / f"{place_of(source)}{SUFFIX}"
    if isinstance(source, DatabaseTable):
        return [own]
    file = source.expanduser().resolve()
    return [file.with_name(file.name + SUFFIX), own]


def _by_inode(source: Source) -> tuple[Path, FileIdentity] | None:
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


def _here(source: Source) -> FileIdentity | None:
    """Present state of the file."""
    found = _by_inode(source)
    return None if found is None else found[1]


def _still(found: Claim, place: Path, now: FileIdentity) -> bool:
    """Tell if a claim by inode is about the present file and not about an earlier one of the same number."""
    if found.file is None:
        return False
    if (found.file.size, found.file.modified) == (now.size, now.modified):
        return True
    there = _by_inode(Path(found.file.path))
    return there is not None and there[0] == place


def _kept(source: Source) -> list[Path]:
    """Every place where a claim on ``source`` may be."""
    by_inode = _by_inode(source)
    return [*_places(source), *([] if by_inode is None else [by_inode[0]])]


def _claims(source: Source) -> list[Claim]:
    found = [one for one in map(_read, _places(source)) if one is not None]
    moved = _by_inode(source)
    one = None if moved is None else _read(moved[0])
    if moved is not None and one is not None and _still(one, *moved):
        found.append(one)
    return found


def _all_claims(source: Source) -> list[Claim]:
    return [found for file in _files(source) for found in _claims(file)]


def _claimed_here(source: Source) -> bool:
    """Tell if a claim was made for this place or this very file, and was not moved or copied to it."""
    return any(
        found.file is not None or found.fingerprint.split(" ")[0] == place_of(source) for found in _claims(source)
    )


def _read(place: Path) -> Claim | None:
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
                return Claim(
                    ledger, identity, text, head, SourceState(*seen) if seen else None, _file(rest.get("file"))
                )
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


def _create(place: Path, claimed: Claim) -> None:
    """Write a claim where there is none; FileExistsError when there is one."""
    draft = _draft(place, claimed)
    try:
        os.link(draft, place)
    finally:
        draft.unlink()


def _write(place: Path, claimed: Claim) -> None:
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


def _outside(source: Source, release: str) -> SourceState | None:
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
