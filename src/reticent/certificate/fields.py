"""Fields of every certificate: the requester, the purpose, the neighbours, the proof, the charge, the bounds.

    stated(…)   the part that releases, models and sessions have alike; each adds what it let out
    software    versions of what computed it

Everything here is public: names somebody typed, the study file, the ledger, losses.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from typing import Final

from reticent.data.expression_text import write
from reticent.data.schema import Category, Column, Integer, Real, Schema, kind_of, value_words
from reticent.ledger import Ledger, Receipt
from reticent.privacy import loss as losses
from reticent.privacy import serialization
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import Loss

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
