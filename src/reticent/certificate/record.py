"""Record of a certificate: immutable text whose form was checked, the values it holds, and how it is made.

    Record      particulars that a caller gives: the words and the key that a ledger entry and a certificate keep
    stated(…)   fields that releases, models and sessions have alike: who asked, the neighbours, the charge, the bounds
    answer_to_json, software    an answer as a certificate holds it, and versions of what computed it

Everything here is public: names somebody typed, the study file, the ledger, losses, answers.

The digest of a record is the SHA-256 of its canonical JSON without the signature. So the ledger can hold it before an
officer signs. Whatever reads, draws or checks a certificate takes its record; ``Certificate`` adds the verbs.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from reticent.certificate import schema
from reticent.data.expression_tree import write
from reticent.data.format import check_title, exact
from reticent.data.schema import Category, Column, Integer, Real, Schema, kind_of, value_words
from reticent.errors import CheckError, PublicParameterError, first_of, made_as, restored
from reticent.ledger import Ledger, Receipt
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy import loss as losses
from reticent.privacy import serialization
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import Loss, from_json
from reticent.statistics.answer import Answer, Cell, IncompleteRows
from reticent.statistics.error_law import law_from_json

if TYPE_CHECKING:
    from reticent.synthesis.density import Density

LONGEST_ID: Final = 200  # characters of a request id


@made_as('rt.Record(name="table 1")')
@dataclass(frozen=True, slots=True)
class Record:
    """Words that a ledger entry and a certificate keep of a release or a session, and the key that signs it.

    Attributes
    ----------
    name : str
        Of the release.
    who : str
        The person who releases.
    key : path, optional
        An Ed25519 private key: the certificate is signed.
    override : str
        The reason for an epsilon above 10; printed in the certificate.
    try_anyway : bool
        Go on where an answer would most likely be no reply by public facts; without it such a release is refused.
    audit : "quick" or int, optional
        Run the compiled plan on made-up neighbours before the charge, that many pairs or 50 ("quick", about a second).
        The certificate keeps what was found; a finding refuses the release.
    request_id : str, optional
        A name for this request, of whoever asks. The same name gives the stored answer again, with no second charge;
        for another question it is refused.
    """

    name: str = ""
    who: str = "curator"
    key: str | Path | None = None
    override: str = ""
    try_anyway: bool = False
    audit: int | Literal["quick"] | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        for word in ("name", "who", "override"):
            check_text(getattr(self, word), word)
            object.__setattr__(self, word, exact(getattr(self, word)))
        check_title(self.name, "The name of a release")
        check_title(self.who, "The name of who releases")
        if not isinstance(self.try_anyway, bool):
            raise PublicParameterError(f"try_anyway is True or False, got {self.try_anyway!r}")
        if self.key is not None and not isinstance(self.key, str | Path):
            raise PublicParameterError(f"key is the path of a private key, got {type(self.key).__name__}")
        pairs = self.audit if isinstance(self.audit, int) and not isinstance(self.audit, bool) else 0
        if self.audit is not None and self.audit != "quick" and pairs < 1:
            raise PublicParameterError(f'audit is "quick" or a number of pairs >= 1, got {self.audit!r}')
        asked = self.request_id
        if asked is not None and not (isinstance(asked, str) and 0 < len(asked) <= LONGEST_ID):
            raise PublicParameterError(f"request_id is text of 1 to {LONGEST_ID} characters")


def record_of(record: Record | None, name: str = "") -> Record:
    """The record of a caller; ``name`` where it names nothing.

    Raises
    ------
    PublicParameterError
        For a value of another type.
    """
    found = Record() if record is None else record
    if not isinstance(found, Record):
        raise PublicParameterError(
            "record is rt.Record(name=…, who=…, key=…, override=…, try_anyway=…, audit=…, request_id=…)"
        )
    return found if found.name else replace(found, name=name)


def check_text(text: object, name: str) -> None:
    """Refuse what a ledger or a certificate cannot hold: it is kept as it is given.

    Raises
    ------
    PublicParameterError
        For no text, or one that cannot be written.
    """
    if not isinstance(text, str):
        raise PublicParameterError(f"{name} must be text, got {type(text).__name__}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise PublicParameterError(f"{name} must be text that can be written: it has half a character") from None


_NO_BOUNDS: Final = {"low": None, "high": None, "missing": "drop"}


@dataclass(frozen=True, slots=True)
class ReleaseMetadata:
    """The public facts a certificate states beside the answers."""

    title: str
    name: str
    purpose: str
    who: str
    source: str
    approved: str
    ends: str | None
    people: int | None
    override: str = ""
    audit: Mapping[str, object] | None = None
    snapshot: str = ""
    where: str = ""
    tables: tuple[str, ...] = ()
    unit: str = ""
    household: str = ""
    request: tuple[str, str] | None = None  # its id and the digest of what it asks; for the ledger alone


def stated(
    version: int,
    guarantee: Guarantee,
    charged: Loss,
    columns: Mapping[str, object],
    about: ReleaseMetadata,
    receipt: Receipt,
    ledger: Ledger,
) -> dict[str, object]:
    """The fields that every certificate has, but for what was let out: ``answers`` is empty.

    Parameters
    ----------
    version : int
        1 for a release, 2 for a model or a session.
    guarantee : Guarantee
        The proof, in the ledger's currency.
    charged : Loss
    columns : mapping
        Declared facts of each column that was used.
    about : ReleaseMetadata
    receipt : Receipt
    ledger : Ledger

    Returns
    -------
    dict
        Values that JSON can hold.
    """
    standing = ledger.known
    return {
        "format": "reticent certificate",
        "version": version,
        "release": receipt.id,
        "name": about.name,
        "purpose": about.purpose,
        "who": about.who,
        "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "override": about.override,
        "study": {
            "title": about.title,
            "approved": about.approved,
            "ends": about.ends,
            "source": about.source,
            **({"snapshot": about.snapshot} if about.snapshot else {}),
            **({"where": about.where} if about.where else {}),
            **({"tables": list(about.tables)} if about.tables else {}),
            **({"unit": about.unit} if about.unit else {}),
            **({"household": about.household} if about.household else {}),
        },
        "software": software(),
        "adjacency": serialization.adjacency_to_json(guarantee.adjacency),
        "people": about.people,
        "guarantee": serialization.to_json(guarantee),
        "charged": losses.to_json(charged),
        "budget": {
            "approved": losses.to_json(standing.budget),
            "spent": losses.to_json(standing.spent),
            "left": losses.to_json(standing.left),
        },
        "columns": dict(columns),
        "answers": [],
        "caveats": [],
        "ledger": {"durable": ledger.durable, "entry": receipt.entry},
        "audit": None if about.audit is None else dict(about.audit),
        "signature": None,
    }


def by_ledger(ledger: Ledger, name: str, purpose: str, who: str, source: str, people: int | None) -> ReleaseMetadata:
    """ReleaseMetadata whose title, approval and last day are those the ledger was opened with.

    Parameters
    ----------
    ledger : Ledger
    name, purpose, who : str
        Of the release.
    source : str
        Name of the file, without its folder.
    people : int or None
        The public number of people.

    Returns
    -------
    ReleaseMetadata
    """
    ends = ledger.ends
    return ReleaseMetadata(
        title=ledger.title,
        name=name,
        purpose=purpose,
        who=who,
        source=source,
        approved=ledger.approved or "",
        ends=None if ends is None else ends.isoformat(),
        people=people,
    )


def columns_to_json(schema: Schema, used: Collection[str]) -> dict[str, object]:
    """The declarations of some columns, with the expression of each that is computed."""
    found: dict[str, object] = {
        name: column_to_json(column) | ({"from": write(schema.computed[name])} if name in schema.computed else {})
        for name, column in schema.columns.items()
        if name in used
    }
    for name, text in schema.texts.items():
        if name in used:
            found[name] = {**_NO_BOUNDS, "kind": "text", "longest": text.longest, "why": text.why}
    return found


def column_to_json(column: Column) -> dict[str, object]:
    """A declared column: kind, bounds with their reason, and how missing values count."""
    label = {"label": column.label} if column.label else {}
    if isinstance(column, Category):
        listed: dict[str, object] = {"among": list(column.among), "why": column.why, "complete": column.complete}
        if column.longest is not None:
            return {
                **_NO_BOUNDS,
                "kind": "text",
                "longest": column.longest,
                "among": listed["among"],
                "why": column.why,
            }
        return {**_NO_BOUNDS, "kind": "category", **listed, **label}
    return {
        "kind": kind_of(column),
        "low": None if column.low is None else value_words(column.low, column),
        "high": None if column.high is None else value_words(column.high, column),
        "among": None,
        "why": column.why,
        "missing": column.missing if isinstance(column.missing, str) else value_words(column.missing, column),
        "complete": column.complete,
        **({"unit": column.unit} if column.unit else {}),
        **label,
        **_calendar(column),
    }


def _calendar(column: Real | Integer) -> dict[str, object]:
    """The resolution, zone and spelling of dates; empty of numbers."""
    dated = column.calendar if isinstance(column, Integer) else None
    if dated is None:
        return {}
    words = {"resolution": dated.resolution, "zone": dated.zone, "format": dated.format}
    return {name: word for name, word in words.items() if word}


def software() -> dict[str, str]:
    """Versions of what computed the answers."""
    return dict(_versions())


@cache
def _versions() -> Mapping[str, str]:
    found = {"python": platform.python_version()}
    for name in ("reticent", "numpy", "duckdb", "ibis-framework"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def cell_to_json(cell: Cell) -> dict[str, object]:
    """One cell as a certificate holds it. A no reply has nothing but its label."""
    label = [[name, key] for name, key in cell.label]
    match cell.outcome:
        case Reply(Estimate(value, low, high, noise, sampling, level) as estimate):
            numbers = {"value": value, "low": low, "high": high, "noise": noise, "sampling": sampling, "level": level}
            error = {} if cell.error is None else {"error": cell.error.to_json()}
            return {"label": label, "outcome": "reply", **numbers, **_dates(estimate), **error}
        case _:
            return {"label": label, "outcome": "no_reply"}


def _dates(estimate: Estimate) -> dict[str, object]:
    """A date as text beside its numbers, which count steps of so many seconds from 1970; the unit of a spread."""
    if estimate.step:
        value, low, high = estimate.dates
        dates = {"value": value, "low": low, "high": high}
        return {"dates": dates, "step": estimate.step, "unit": estimate.unit}
    return {"unit": estimate.unit} if estimate.unit else {"years": True} if estimate.years else {}


def answer_to_json(answer: Answer) -> dict[str, object]:
    """One answer as a certificate holds it."""
    capped = {} if answer.capped is None else {"capped": cell_to_json(Cell((), answer.capped))}
    law = {} if answer.law is None else {"density": json.loads(answer.law.to_json())}
    return {
        "name": answer.name,
        "discrete": answer.discrete,
        "estimand": answer.estimand,
        "caveats": list(answer.caveats),
        "cells": [cell_to_json(cell) for cell in answer],
        "incomplete": incomplete_to_json(answer.incomplete),
        **capped,
        **({"apart": True} if answer.apart else {}),
        **law,
    }


def incomplete_to_json(found: IncompleteRows | None) -> dict[str, object] | None:
    """The share of incomplete rows beside an answer; "left_out" where the plan said that none is told.

    ``from`` is the earlier release that told it, where it is shown again; ``of`` the digest of the declared snapshot.
    """
    if found is None:
        return None
    told = {"outcome": "left_out"} if found.outcome is None else cell_to_json(Cell((), found.outcome))
    earlier = {name: text for name, text in (("from", found.origin), ("of", found.of)) if text}
    shown = {name: value for name, value in told.items() if name != "label"}
    return {"columns": list(found.columns), **shown, **earlier}


def answer_from_json(found: Mapping[str, Any]) -> Answer:
    """One answer as the release gave it.

    Raises
    ------
    PublicParameterError, KeyError, TypeError, ValueError
        A density has the right form but no meaning.
    """
    return Answer(
        str(found["name"]),
        tuple(_cell(cell) for cell in found["cells"]),
        tuple(found["caveats"]),
        bool(found["discrete"]),
        _density(found.get("density")),
        str(found.get("estimand", "")),
        _incomplete(found.get("incomplete")),
        apart=bool(found.get("apart", False)),
        capped=None if found.get("capped") is None else _cell(found["capped"]).outcome,
    )


def _density(found: object) -> Density | None:
    if found is None:
        return None
    from reticent.synthesis import density

    return density.from_json(json.dumps(found))


def _incomplete(found: dict[str, Any] | None) -> IncompleteRows | None:
    if found is None:
        return None
    outcome = None if found["outcome"] == "left_out" else _cell({**found, "label": []}).outcome
    return IncompleteRows(tuple(found["columns"]), outcome, str(found.get("from", "")), str(found.get("of", "")))


def _cell(found: dict[str, Any]) -> Cell:
    label = tuple((str(name), key) for name, key in found["label"])
    if found["outcome"] == "no_reply":
        return Cell(label, NO_REPLY)
    numbers = (found[name] for name in ("value", "low", "high", "noise", "sampling", "level"))
    error = found.get("error")
    law = None if error is None else law_from_json(error)
    dated = {"step": int(found.get("step", 0)), "unit": str(found.get("unit", "")), "years": bool(found.get("years"))}
    return Cell(label, Reply(Estimate(*(float(number) for number in numbers), **dated)), law)  # type: ignore[arg-type]


Kind: TypeAlias = Literal["release", "model", "session"]
UNSIGNED: Final = "unsigned: nothing ties this certificate to an officer"
NOT_DURABLE: Final = "The ledger of this release was not durable: it ended with the program that held it."

MOST_NAMES: Final = 4  # answers that are named before a caveat


@restored
@dataclass(frozen=True, slots=True)
class CertificateRecord:
    """Record of a release: the canonical JSON of its certificate.

    Attributes
    ----------
    text : str
        Its canonical JSON, the signature included.
    guarantee : Guarantee
        The proof as stated; ``verify`` derives it again.
    charged : Loss
        Charge to the ledger, in its currency.
    approved, spent, left : Loss
        The budget of the ledger, what it had spent with this charge, and what was left.
    heading : mapping
        The document without its answers, parsed once. It is read and never written.
    """

    text: str
    guarantee: Guarantee = field(init=False, repr=False, compare=False)
    charged: Loss = field(init=False, repr=False, compare=False)
    approved: Loss = field(init=False, repr=False, compare=False)
    spent: Loss = field(init=False, repr=False, compare=False)
    left: Loss = field(init=False, repr=False, compare=False)
    heading: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    _answers: tuple[Answer, ...] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        document, text = schema.settled(self.text)
        object.__setattr__(self, "text", text)
        schema.well_formed(document)
        for name, value in _stated(document).items():
            object.__setattr__(self, name, value)
        heading = MappingProxyType({name: value for name, value in document.items() if name != "answers"})
        object.__setattr__(self, "heading", heading)
        object.__setattr__(self, "_answers", None)

    def __reduce__(self) -> tuple[type[CertificateRecord], tuple[str]]:
        return type(self), (self.text,)

    def _fill(self, state: Sequence[object]) -> None:
        """Fill the record from a pickle of version 0.1.0, which holds the text alone."""
        object.__setattr__(self, "text", state[0])
        self.__post_init__()

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers as the release gave them, read when they are first asked for: a release has them already."""
        if self._answers is None:
            found = tuple(answer_from_json(answer) for answer in self.document["answers"])
            object.__setattr__(self, "_answers", found)
        return cast(tuple[Answer, ...], self._answers)  # it is there now

    @property
    def document(self) -> dict[str, Any]:
        """The content as JSON values; a copy, so changing it changes nothing here. Each call parses all answers."""
        return dict(json.loads(self.text))

    @property
    def kind(self) -> Kind:
        """Kind of the certificate: ``"release"``, ``"model"`` or ``"session"``."""
        heading = self.heading
        return "release" if heading["version"] == 1 else cast(Kind, heading["kind"])  # checked when it was read

    @property
    def canonical(self) -> bytes:
        """The bytes that are signed and whose digest the ledger holds: everything but the signature."""
        # a quote inside of text has a backslash before it, so what is found is a field
        field_text = f',"signature":{schema.canonical(self.heading["signature"]).decode()}'
        if self.text.count(field_text) == 1:
            return self.text.replace(field_text, "").encode()
        return schema.canonical({name: value for name, value in self.document.items() if name != "signature"})

    @property
    def digest(self) -> str:
        """SHA-256 of ``canonical``, as hex."""
        return hashlib.sha256(self.canonical).hexdigest()

    @property
    def caveats(self) -> tuple[str, ...]:
        """Every caveat of the release and of its answers, each once, after the names of the answers it is about.

        No name stands before a caveat of every answer, or of the release alone.
        """
        answers = self.answers
        of: dict[str, list[str]] = {text: [] for text in self.heading["caveats"]}
        for answer in answers:
            for text in dict.fromkeys(answer.caveats):
                of.setdefault(text, []).append(answer.name)
        return tuple(
            text if len(names) in (0, len(answers)) else f"{first_of(names, MOST_NAMES)}: {text}"
            for text, names in of.items()
        )

    @property
    def signed(self) -> bool:
        return self.heading["signature"] is not None

    @property
    def durable(self) -> bool:
        return bool(self.heading["ledger"]["durable"])


def audit_words(stated: dict[str, Any]) -> str:
    """``plan audit passed: 50 made-up pairs of neighbours, 342 noise calls``, from the numbers."""
    return (
        f"plan audit {stated['verdict']}: {stated['triples']:,} made-up pairs of neighbours, "
        f"{stated['noise_calls']:,} noise calls"
    )


def _stated(document: dict[str, Any]) -> dict[str, Guarantee | Loss]:
    """The proof and the losses of a document. Densities of its answers are read too, since their form says too little.

    Raises
    ------
    CheckError
        For losses, neighbours or proofs that have the right form but no meaning, such as a delta of 7.
    """
    budget = document["budget"]
    try:
        found: dict[str, Guarantee | Loss] = {"guarantee": serialization.from_json(document["guarantee"])}
        serialization.adjacency_from_json(document["adjacency"])
        found["charged"] = from_json(document["charged"])
        for name in ("approved", "spent", "left"):
            found[name] = from_json(budget[name])
        for answer in document["answers"]:
            _density(answer.get("density"))
    except (PublicParameterError, KeyError, TypeError, ValueError):
        raise CheckError("This certificate is malformed: a loss or its neighbours have no meaning.") from None
    return found
