"""Reading a ledger: its terms, its balance, its lines and its problems. Nothing here adds an entry.

``LedgerReader`` is the value below ``account.Ledger``, which adds the verbs that charge. A handle reads the entries
since the last checkpoint once, and from then on what others have added. ``verify``, ``releases`` and ``export`` read
everything. An export holds every entry's text and digest: its holder can replay the chain and the totals without the
file, and can later ask the file for this export's ``head``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import Final, TypeVar

from reticent.errors import LedgerError
from reticent.ledger.book import Book, Witness, charge_under, line_about, problems_beside
from reticent.ledger.events import SHARES, WITHDRAWN, Committed, Entry, Withdrawn, of_release, parse, receipt_again
from reticent.ledger.replay import Balance, Line, Replay, Row, problems, sealed
from reticent.ledger.store import Extract, Store
from reticent.privacy import filters
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.filters import Currency
from reticent.privacy.loss import Loss, to_json
from reticent.privacy.serialization import digest_of

EXPORT_FORMAT: Final = 1

T = TypeVar("T")


class LedgerReader:
    """A handle on the entries of one ledger, as far as they are read."""

    __slots__ = ("_book",)

    def __init__(self, kept: Store, witnesses: Sequence[Witness] = ()) -> None:
        self._book = Book(kept, witnesses)

    @property
    def form(self) -> int:
        """The form of the store; of one that this version made, ``store.FORMAT``."""
        return self._book.kept.form()

    @property
    def path(self) -> Path | None:
        """The file, absolute; None in memory and on a server."""
        return self._book.kept.file

    @property
    def name(self) -> str:
        """The path or URL as it was typed."""
        return self._book.kept.name

    @property
    def durable(self) -> bool:
        """True if a charge outlives this process."""
        return self._book.kept.durable

    def standing(self) -> Balance:
        """The balance of this moment: all that is fixed, spent and left, and the head."""
        return self._read(lambda replay: replay.standing)

    @property
    def known(self) -> Balance:
        """The standing that this handle saw last, such as that of its latest charge; the store is not asked again."""
        return self._book.recall(lambda replay: replay.standing)

    @property
    def title(self) -> str:
        return self._read(lambda replay: replay.opening.title)

    @property
    def identity(self) -> str:
        """A random name given at creation; a file put in this one's place has another."""
        return self._read(lambda replay: replay.opening.identity)

    @property
    def adjacency(self) -> Adjacency:
        return self._read(lambda replay: replay.opening.adjacency)

    @property
    def person(self) -> str | None:
        """The column that says who a person is; None where every row is one."""
        return self._read(lambda replay: replay.opening.person)

    @property
    def currency(self) -> Currency:
        return filters.currency(self.budget)

    @property
    def budget(self) -> Loss:
        return self._read(lambda replay: replay.totals[0])

    @property
    def approved(self) -> str | None:
        return self._read(lambda replay: replay.opening.approved)

    @property
    def ends(self) -> date | None:
        """The last day on which a release may be charged."""
        return self._read(lambda replay: replay.ends)

    @property
    def source(self) -> str | None:
        """Fingerprint of the source the budget belongs to."""
        return self._read(lambda replay: replay.source)

    @property
    def closed(self) -> bool:
        return self._read(lambda replay: replay.closed is not None)

    @property
    def head(self) -> str:
        """Digest of the last entry. Keep it elsewhere: ``verify(head=...)`` then notices an older copy of the file."""
        return self._read(lambda replay: replay.head)

    def holds(self, head: str) -> bool:
        """Tell if ``head`` is in the chain. False for a head that this ledger once had means: an older copy.

        A head from before the last checkpoint is believed after a whole replay alone.
        """
        return self._book.look(lambda replay, view: head in replay.seen or head in self._book.whole(replay, view).seen)

    def spent(self) -> Loss:
        """The sum of every reservation, whatever became of it."""
        return self._read(lambda replay: replay.totals[1])

    def left(self) -> Loss:
        """Budget minus spent; any charge within it fits."""
        return self._read(lambda replay: filters.left(*replay.totals))

    def releases(self) -> tuple[Line, ...]:
        """One line per request, in order. ``reserved`` is running or lost in a crash; it counts as spent either way."""
        return self._book.look(lambda replay, view: tuple(self._book.whole(replay, view).lines.values()))

    def refusals(self) -> tuple[Line, ...]:
        """The latest requests that were declined and charged nothing, from the log beside the ledger."""
        return self._book.refusals.lines()

    def told(self) -> tuple[tuple[str, str], ...]:
        """The shares that releases told and did not withdraw, each with the release."""

        def pick(replay: Replay, view: Extract) -> tuple[tuple[str, str], ...]:
            if replay.whole:
                lines = list(replay.lines.values())
                return tuple((line.id, line.shares) for line in lines if line.shares and line.withdrawn is None)
            events = [sealed(row).event for row in view.named(SHARES)]
            ended = [sealed(row).event for row in view.named(WITHDRAWN)]
            gone = {event.id for event in ended if isinstance(event, Withdrawn)}
            return tuple(
                (event.id, event.shares)
                for event in events
                if isinstance(event, Committed) and event.shares and event.id not in gone
            )

        return self._book.look(pick)

    def entries(self, *, after: int = 0) -> tuple[Entry, ...]:
        """Every entry, in order; those after the one numbered ``after``."""
        return self._book.seen(lambda view: tuple(parse(row.body) for row in view.rows(after + 1)))

    def verify(self, *, head: str | None = None) -> tuple[str, ...]:
        """Problems of the ledger, none if it holds: digests, order, totals, checkpoints, names, answers, its file.

        Every entry is read and replayed from the first on; no checkpoint is relied on.

        Parameters
        ----------
        head : str, optional
            A head exported earlier. If it is no longer in the chain, the file is an older copy or another ledger.
        """
        try:
            witness = self._book.kept.witness
            kept = None if witness is None else witness.kept()  # before the entries are read
            rows, more = self._book.seen(lambda view: (view.rows(1), problems_beside(view)))
            damage = self._book.kept.damage()
        except LedgerError as problem:
            return (str(problem),)
        if kept is not None and kept[1] not in {row.digest for row in rows}:
            more = (*more, "the head that this machine keeps is not in the chain: an older copy, or another ledger")
        return (*((damage,) if damage else ()), *chain_problems(rows, head), *more)

    def export(self) -> dict[str, object]:
        """Everything, as plain JSON values: for a registry, an auditor, or a place the operator cannot reach."""
        return exported(self._book.seen(lambda view: view.rows(1)), self.name)

    def asked_before(self, key: str, request_digest: str, *, who: str = "curator") -> Line | None:
        """The request that ``who`` made under this key, if there is one; nothing is charged.

        Parameters
        ----------
        key, request_digest : str
            As ``reserve`` takes them.
        who : str
            Who asks; by default the curator.

        Returns
        -------
        Line or None

        Raises
        ------
        LedgerError
            The key was used for another request.
        """

        def pick(replay: Replay, view: Extract) -> Line | None:
            earlier = charge_under(replay, view, who, key)
            return None if earlier is None else line_about(replay, view, receipt_again(earlier, request_digest).id)

        return self._book.look(pick)

    def answer(self, release: str) -> str | None:
        """The text that is stored as the answer of a release; None where none is.

        Raises
        ------
        LedgerError
            When the text is gone, or is not the one whose digest the chain has.
        """

        def pick(replay: Replay, view: Extract) -> str | None:
            line = line_about(replay, view, release)
            if line is None or line.answer is None:
                return None
            found = view.answer(of_release(release))
            if found is None or digest_of(found) != line.answer:
                raise LedgerError(
                    f"The stored answer of {release} is gone or was changed. Its charge stands. Run verify. "
                    "Nothing more was charged."
                )
            return found

        return self._book.look(pick)

    def still(self) -> AbstractContextManager[None]:
        """One moment: all that is read of the ledger within is of it, over one connection."""
        return self._book.still()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def __str__(self) -> str:
        return f"{self.name}: {self.spent()} spent, {self.left()} left"

    def _read(self, pick: Callable[[Replay], T]) -> T:
        """Value that ``pick`` takes from the totals up to the last entry in the store."""
        return self._book.look(lambda replay, _: pick(replay))


# --- exports ----------------------------------------------------------------------------------------------------------


def exported(rows: Sequence[Row], name: str) -> dict[str, object]:
    """The whole ledger ``name`` with its totals.

    Raises
    ------
    LedgerError
        When the rows do not add up: a broken ledger is not exported as if it were whole.
    """
    replay, found = problems(rows)
    if found:
        raise LedgerError(f"{name} is damaged: {found[0]}. Run verify.")
    budget, spent = replay.totals
    return {
        "format": EXPORT_FORMAT,
        "title": replay.opening.title,
        "protects": replay.opening.adjacency.words(),
        "budget": to_json(budget),
        "spent": to_json(spent),
        "left": to_json(filters.left(budget, spent)),
        "head": replay.head,
        "entries": [{"body": row.body, "digest": row.digest} for row in rows],
    }


def verify_export(document: Mapping[str, object], *, head: str | None = None) -> tuple[str, ...]:
    """Problems of an exported ledger, none if its chain and its totals hold.

    Parameters
    ----------
    document : mapping
        What ``Ledger.export`` gave, read back from JSON.
    head : str, optional
        A head known from elsewhere that must be in the chain.
    """
    entries = document.get("entries")
    if document.get("format") != EXPORT_FORMAT or not isinstance(entries, list):
        return (f"this is not a ledger export of format {EXPORT_FORMAT}",)
    rows = []
    for place, item in enumerate(entries, start=1):
        match item:
            case {"body": str(body), "digest": str(digest)}:
                rows.append(Row(place, body, digest))
            case _:
                return (f"entry {place}: it cannot be read",)
    found = chain_problems(rows, head)
    if found:
        return found
    derived = exported(rows, "the export")
    return tuple(
        f"{name} does not follow from the entries" for name, value in derived.items() if document.get(name) != value
    )


def chain_problems(rows: Sequence[Row], head: str | None) -> tuple[str, ...]:
    """The first entry that does not fit, and whether ``head`` is missing from the chain; empty when all is well."""
    _, found = problems(rows)
    if head is not None and head not in {row.digest for row in rows}:
        found = (*found, "the given head is not in the chain: this is an older copy, or another ledger")
    return found
