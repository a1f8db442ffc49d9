"""A ledger as plain JSON values, and the check that needs nothing but them.

An export holds every entry's text and digest. Its holder can replay the chain and the totals without the file, and can
later ask the file for this export's ``head``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from reticent.errors import LedgerError
from reticent.ledger.replay import Row, problems
from reticent.privacy import filters
from reticent.privacy.loss import to_json

EXPORT_FORMAT: Final = 1


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
