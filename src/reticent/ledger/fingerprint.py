"""One source, one ledger: who holds the budget of a file or table, whoever asks and whatever columns they declare.

A fingerprint is ``<digest of the place> <digest of the declared columns>``. The place (a resolved path, or a database
and table) is the key: two studies of one file share its people, so they share its budget, and declaring other columns
must not open a second one. The columns are recorded, and a change of them is an entry in the ledger.

A pattern such as ``parts/*.parquet`` stands for the files that it fits. Each of them is claimed, so another spelling of
the pattern, or the path of one file, finds the same ledger. A file added later is claimed at the next opening.

The claim is a small JSON file, ``<source>.reticent`` beside the source, and a second one in the user's state folder. It
names the ledger by its random identity and its head, so a new ledger or an older copy in its place is noticed. If
somebody puts back the whole folder, with source, claim and ledger, the second claim notices it. A claim also holds size
and time of the source at the last release. Of a pattern it holds a digest of the places of its files. Any listing of
the folder shows them, and none enters the ledger or a certificate. A digest of the content is kept nowhere: it would
answer guesses about the rows.

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
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from reticent.database_url import is_url
from reticent.errors import LedgerError, SpecError
from reticent.ledger.account import Ledger, ledger_at, store_at
from reticent.ledger.claim_file import (
    Claim,
    DatabaseTable,
    Source,
    all_claims,
    claimed_here,
    claims_of,
    create_claim,
    files_of,
    fingerprint,
    is_here,
    is_still,
    kept_claim,
    outside_place,
    place_by_inode,
    place_of,
    places_of,
    read_claim,
    together,
    write_claim,
)
from reticent.ledger.events import Committed, Event
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.filters import parts
from reticent.privacy.loss import Loss

DATABASE: Final = b"SQLite format 3\x00"  # a file of it begins so


def source_at(place: str) -> Source:
    """The source of a place: a path, or ``postgresql://server/database#shown,shown?table=name``, quoted names shown.

    The server is named by its identity.
    """
    if not place.startswith(("postgresql://", "spark://")):
        return Path(place)
    database, _, table = place.partition("?table=")
    database, _, shown = database.partition("#")
    return DatabaseTable(database, table, tuple(unquote(name) for name in shown.split(",") if name))


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
    claims = [*all_claims(source), *(claim for file in beside for claim in all_claims(file))]
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
        if ledger.source is not None and any(claimed_here(file) for file in files_of(source)):
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
    for claimed in all_claims(source):
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
    _same(all_claims(source), ledger)
    _claim_all(source, columns, ledger)


def claim_each(sources: Iterable[Source], columns: Sequence[str], ledger: Ledger) -> None:
    """Claim each source for a ledger that is kept; of one that ends with this process, refuse what another has.

    Parameters
    ----------
    sources : iterable of Source
    columns : sequence of str
        Names of the declared columns.
    ledger : Ledger

    Raises
    ------
    LedgerError
        As ``claim`` does.
    """
    for source in sources:
        if ledger.durable:
            claim(source, columns, ledger)
        else:  # not one to be found again
            claimed_by(source, ledger)


def _claim_all(source: Source, columns: Sequence[str], ledger: Ledger) -> None:
    for file in files_of(source):
        _claim(file, _mine(file, columns, ledger), ledger)
    ledger.tell(SourceWitness(source))


def _claim(source: Source, mine: Claim, ledger: Ledger) -> None:
    """Put ``mine`` in every place that can be written; one of those that go by the path must take it."""
    moved = place_by_inode(source)
    by_path = [_put(place, mine, ledger) for place in places_of(source)]
    if not any(by_path):
        raise LedgerError(
            "Which ledger counts for this source can be recorded neither beside it nor in your state folder "
            "(XDG_STATE_HOME). Make one of them writable. Nothing was charged."
        )
    if moved is not None:
        place, file = moved
        earlier = read_claim(place)
        if earlier is not None and not is_still(earlier, place, file):
            place.unlink(missing_ok=True)  # the number of a file that is gone, given to this one
        _put(place, replace(mine, file=file), ledger)


def _put(place: Path, mine: Claim, ledger: Ledger) -> bool:
    """Write a claim, or bring the one that is there up to date; False where neither could be done."""
    found = read_claim(place)
    if found is None:
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_claim(place, mine)
        except FileExistsError:
            found = read_claim(place)
        except OSError:
            return False
    if found is not None and replace(found, seen=None, among={}) != mine:
        _same([found], ledger)
        with contextlib.suppress(LedgerError):  # an older head in a claim that is now read-only still holds
            write_claim(place, replace(mine, seen=found.seen, among=found.among))
    return True


def claimed_by(source: Source, ledger: Ledger) -> bool:
    """Tell if the source names ``ledger``; False if it names none yet.

    Raises
    ------
    LedgerError
        When it names another one, or an entry that this one no longer has.
    """
    found = all_claims(source)
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
    private = [file for source in people for file in files_of(source)]
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
    if found := all_claims(file):
        raise SpecError(
            f"It is declared public, and {file.name} holds rows of people under {found[0].ledger}. They are asked "
            "about there."
        )


def refuse_replacing(file: Path, inputs: Sequence[str | Path] = ()) -> None:
    """Refuse to write where rows of people or a ledger are: at a claimed file, a database, or one of ``inputs``.

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
    read = [one for place in given if glob.has_magic(str(place)) or place.exists() for one in files_of(place)]
    if _is_database(file) or claims_of(file) or any(_one_file(one, file) for one in read):
        raise SpecError(f"{file} is a table or a ledger that is read, and is never overwritten. Choose another name.")


def _is_database(file: Path) -> bool:
    """Tell if a file begins as SQLite's do, of which every ledger is one."""
    with contextlib.suppress(OSError), file.open("rb") as stream:
        return stream.read(len(DATABASE)) == DATABASE
    return False


def _one_file(one: Source, other: Source) -> bool:
    """Tell if two names lead to one file."""
    with contextlib.suppress(OSError):
        if isinstance(one, Path) and isinstance(other, Path):
            return os.path.samefile(one.expanduser(), other.expanduser())
    return False


def disown(source: Path) -> None:
    """Drop the claims on a file that was made a moment ago from public rows: the table of the demonstration."""
    for place in kept_claim(source):
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
    for file in files_of(source):
        for place in kept_claim(file):
            found = read_claim(place)
            if found is not None:
                write_claim(place, replace(_mine(file, columns, ledger), file=found.file))
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
                files = files_of(self.source)
                beside = together(self.source, files) if isinstance(event, Committed) else {}
                for file in files:
                    for place in kept_claim(file):
                        with contextlib.suppress(LedgerError):
                            found = read_claim(place)
                            if found is not None and found.identity == ledger:
                                here = None if found.file is None else is_here(file)
                                seen = outside_place(file, event.id) if isinstance(event, Committed) else found.seen
                                among = {**found.among, **beside}
                                write_claim(place, replace(found, head=noted, file=here, seen=seen, among=among))


def source_changed(source: Source, word: str = "--same-people") -> str | None:
    """The curator's note that the source looks different since the last release; None when it does not.

    It depends on the data, so it must reach nobody but the curator. ``word`` is how he says that the people stayed.
    """
    files = files_of(source)
    claims = {file: claims_of(file) for file in files}
    looks = {file: [found.seen for found in each if found.seen is not None] for file, each in claims.items()}
    noted = [seen for each in looks.values() for seen in each]
    changed = [seen for file, each in looks.items() for seen in each if outside_place(file, seen.release) != seen]
    for pattern, found in together(source, files).items():  # a file that was in the last release, and is gone
        several = [one for each in claims.values() for one in each if one.among.get(pattern, found) != found]
        changed += [one.seen for one in several if one.seen is not None]
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
