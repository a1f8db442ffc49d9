"""Events of a ledger, each sealed into an entry that names the digest of the entry before.

    Opened                  the first entry, once: what is fixed for good (adjacency, currency) and what was approved
    Reserved                a charge; from here on it is spent
    Committed | Failed      what became of a reservation; neither gives anything back
    Refused                 a request that was declined; nothing charged
    Amended | Described     a new budget or date; the source's declared columns changed
    Closed                  no charge after this one
    Withdrawn               a release no longer stands; its charge does, and so does all that was said of it before
    Migrated                the file has a later form from here on; what was there before is copied beside it
    Checkpointed            the totals of all entries before it; a reader may begin here

Frozen data and functions, no files. The JSON text of an entry is canonical (sorted keys, no spaces, ASCII, no floats),
so equal entries have equal bytes. Its SHA-256 covers every field, including the digest before it: an edit, a deletion
or a swap anywhere changes every later digest. Fields may be added, never removed or given a new meaning. A field added
later is left out if it is None, so earlier entries keep their text and their digest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from typing import Any, Final, TypeAlias, assert_never

from reticent.errors import LedgerError, restored
from reticent.privacy.adjacency import Adjacency, Kind, Unit
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP, from_json, to_json
from reticent.privacy.serialization import LONGEST, canonical, digest_of

GENESIS: Final = "0" * 64
MAY_LACK: Final = ("person", "source", "approved", "key", "request_digest", "shares")  # texts an entry may be without
CHECKPOINT: Final = "checkpoint"  # names that entries are looked up by
SHARES: Final = "shares"
WITHDRAWN: Final = "withdrawn"

Json: TypeAlias = Mapping[str, object] | str | int | None


@dataclass(frozen=True, slots=True)
class Opened:
    """A ledger begins. ``identity`` is a random name, so that no two ledgers have the same first entry.

    ``person`` names the column that says who a person is; None where every row is a person of its own.
    """

    identity: str
    title: str
    adjacency: Adjacency
    budget: Loss
    source: str | None
    approved: str | None
    ends: date | None
    person: str | None = None


@dataclass(frozen=True, slots=True)
class Reserved:
    """``charge`` (in the ledger's currency) is spent from now on; ``spent`` is the total after it."""

    id: str
    charge: Loss
    spent: Loss
    what: str
    who: str
    purpose: str
    key: str | None
    request_digest: str | None


@restored
@dataclass(frozen=True, slots=True)
class Committed:
    """The release ``id`` left; ``digest`` is that of its certificate.

    ``shares`` is the text of released numbers that later releases may show again (``certificate.snapshot``). ``answer``
    is the digest of the text that is stored for whoever asks again under the same request id.
    """

    id: str
    digest: str
    shares: str | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The release ``id`` ended in a fault; its charge stays."""

    id: str
    reference: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A request was declined before anything was read or charged."""

    id: str
    what: str
    who: str
    code: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The release ``id`` no longer stands, for a reason; its charge stays."""

    id: str
    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class Amended:
    """From here on this budget and this last day hold."""

    budget: Loss
    reason: str
    approved: str | None
    ends: date | None


@dataclass(frozen=True, slots=True)
class Described:
    """The same source under other declared columns; ``source`` is the new fingerprint."""

    source: str


@dataclass(frozen=True, slots=True)
class Closed:
    """No charge is accepted any more."""

    reason: str


@dataclass(frozen=True, slots=True)
class Migrated:
    """The file had the form ``old`` and has ``new`` from here on; ``copy`` is the name of its copy of before."""

    old: str
    new: str
    copy: str


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """Totals after the entries before this one; ``first`` is the digest of entry 1.

    ``requests`` counts the ids that were given, ``last_day`` is the latest day of an entry, ``closed`` and ``form`` are
    what ``Closed`` and ``Migrated`` said. A replay of the whole chain must come to the same totals.
    """

    first: str
    budget: Loss
    spent: Loss
    ends: date | None
    source: str | None
    closed: str | None
    form: str | None
    requests: str
    last_day: date


Event: TypeAlias = (
    Opened
    | Reserved
    | Committed
    | Failed
    | Refused
    | Withdrawn
    | Amended
    | Described
    | Closed
    | Migrated
    | Checkpointed
)

_KINDS: Final = (
    Opened, Reserved, Committed, Failed, Refused, Withdrawn, Amended, Described, Closed, Migrated, Checkpointed
)  # fmt: skip
_BY_NAME: Final = {kind.__name__.lower(): kind for kind in _KINDS}
_ENVELOPE: Final = {"number", "when", "previous", "kind"}
_OPTIONAL: Final = {"source", "approved", "key", "request_digest", "closed", "form"}
_ADDED: Final = {"person", "shares", "answer"}  # absent from the text where None


@dataclass(frozen=True, slots=True)
class Entry:
    """One sealed event: its place, the time it was written (UTC, ISO 8601) and the digest before it."""

    number: int
    when: str
    previous: str
    event: Event

    @property
    def body(self) -> str:
        """The canonical JSON text; what is stored and hashed."""
        kind = type(self.event).__name__.lower()
        envelope = {"number": self.number, "when": self.when, "previous": self.previous, "kind": kind}
        inside = {field.name: _plain(getattr(self.event, field.name)) for field in fields(self.event)}
        told = {name: plain for name, plain in inside.items() if plain is not None or name not in _ADDED}
        return canonical({**envelope, **told})

    @property
    def digest(self) -> str:
        """SHA-256 of ``body``, as hex."""
        return digest_of(self.body)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that ``charge`` is spent; the one thing that lets noise be drawn.

    Attributes
    ----------
    id : str
        The release, ``r-0007``; requests are numbered in order, refused ones too.
    charge : Loss
        What was charged, in the ledger's currency.
    entry : str
        Digest of the ledger's entry.
    when : str
        UTC, ISO 8601.
    replayed : bool
        True when an idempotency key was used again. Such a receipt paid for the *first* run alone: hand out the stored
        answer; drawing again would be a second release for one charge, and ``commit`` refuses it.
    """

    id: str
    charge: Loss
    entry: str
    when: str
    replayed: bool = field(default=False, compare=False)


def receipt_again(earlier: Entry, request_digest: str | None) -> Receipt:
    """Receipt that an idempotency key got before; refused for another request.

    Raises
    ------
    LedgerError
        For another request under that key.
    """
    event = earlier.event
    assert isinstance(event, Reserved)
    if event.request_digest != request_digest:
        raise LedgerError(
            f"This request id was used for another request, {event.id}. Nothing was charged. Choose another id: with "
            "another cap, part of a source or notation of cells a request is another one."
        )
    return Receipt(event.id, event.charge, earlier.digest, earlier.when, replayed=True)


def of_release(release: str) -> str:
    """The name that entries about a release are looked up by."""
    return f"release {release}"


def under_key(who: str, key: str) -> str:
    """The name that the charge under an idempotency key of ``who`` is looked up by."""
    return f"key {digest_of(canonical([who, key]))}"


def names_of(event: Event) -> tuple[str, ...]:
    """The names that an entry with this event is looked up by, without a replay of the chain."""
    match event:
        case Reserved():
            return of_release(event.id), *([] if event.key is None else [under_key(event.who, event.key)])
        case Committed():
            return of_release(event.id), *([] if event.shares is None else [SHARES])
        case Withdrawn():
            return of_release(event.id), WITHDRAWN
        case Failed() | Refused():
            return (of_release(event.id),)
        case Checkpointed():
            return (CHECKPOINT,)
        case Opened() | Amended() | Described() | Closed() | Migrated():
            return ()
        case _:
            assert_never(event)


def now() -> str:
    """The time of an entry: UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def parse(body: str) -> Entry:
    """The entry whose ``body`` this is.

    Raises
    ------
    LedgerError
        When the text is not the canonical form of a known event.
    """
    try:
        found = json.loads(body, parse_float=_no_float)
        kind = _BY_NAME[found["kind"]]
        names = {field.name for field in fields(kind)}
        if not (names - _ADDED) | _ENVELOPE <= set(found) <= names | _ENVELOPE:
            raise ValueError("unknown or missing fields")
        values: dict[str, Any] = {
            name: _value(name, found[name]) for name in names & set(found)
        }  # each read as its name asks
        event = kind(**values)
        entry = Entry(_integer(found["number"]), _text(found["when"]), _text(found["previous"]), event)
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError, LedgerError):
        raise LedgerError("the text of the entry cannot be read") from None
    if entry.body != body:
        raise LedgerError("the text of the entry is not in its canonical form")
    return entry


def _plain(value: object) -> Json:
    match value:
        case None | str():
            return value
        case date():
            return value.isoformat()
        case Adjacency():
            named = {"named": value.named} if value.named else {}
            return {"kind": value.kind, "rows": value.rows, "unit": value.unit, **named}
        case PureDP() | ApproxDP() | ZCDP() | ApproxZCDP():
            return to_json(value)
        case _:  # pragma: no cover - no event of a ledger has such a field
            raise TypeError(type(value).__name__)


def _value(name: str, plain: object) -> str | date | Adjacency | Loss | None:
    match name, plain:
        case "adjacency", {"kind": kind, "rows": rows, "unit": unit, **named}:
            return Adjacency(_kind(kind), _integer(rows), _unit(unit), _text(named.get("named", "")))
        case (("budget" | "charge" | "spent"), dict()):
            return _counted(from_json({_text(key): _text(number) for key, number in plain.items()}))
        case (("ends" | "last_day"), str()):
            return date.fromisoformat(plain)
        case "ends", None:
            return None
        case _, None if name in _OPTIONAL:
            return None
        case _:
            return _text(plain)


def _counted(loss: Loss) -> Loss:
    """A loss that a ledger counts in; no other is ever written."""
    match loss:
        case PureDP() | ApproxDP() | ZCDP() | ApproxZCDP():
            return loss
        case _:
            raise ValueError("a loss in no currency")


def _kind(value: object) -> Kind:
    match value:
        case "add_remove" | "substitute" | "local":
            return value
        case _:
            raise ValueError("kind of adjacency")


def _unit(value: object) -> Unit:
    match value:
        case "person" | "row":
            return value
        case _:
            raise ValueError("unit of adjacency")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("integer expected")
    return value


def _no_float(text: str) -> float:
    raise ValueError("a float in a ledger")


def limited(**texts: str | None) -> None:
    """Refuse texts of an entry that are no text, or too long.

    Raises
    ------
    LedgerError
        Nothing was charged.
    """
    for name, text in texts.items():
        if not isinstance(text, str) and (text is not None or name not in MAY_LACK):
            raise LedgerError(f"{name} must be text in a ledger, got {type(text).__name__}. Nothing was charged.")
        if text is not None and len(text) > LONGEST:
            raise LedgerError(f"{name} may have at most {LONGEST:,} characters in a ledger. Nothing was charged.")
