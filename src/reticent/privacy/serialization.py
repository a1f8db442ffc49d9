"""Guarantees as JSON and back, and the one text of a JSON value with its digest.

Fields may be added in later versions, never removed or given a new meaning.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final, cast

from reticent.errors import CheckError, PublicParameterError
from reticent.privacy import loss as losses
from reticent.privacy.adjacency import Adjacency, Kind, Unit
from reticent.privacy.guarantee import Guarantee, Theorem

LONGEST: Final = 20_000  # characters of a text that an entry of a ledger holds


def adjacency_to_json(adjacency: Adjacency) -> dict[str, object]:
    return {
        "kind": adjacency.kind,
        "unit": adjacency.unit,
        "rows": adjacency.rows,
        **({"named": adjacency.named} if adjacency.named else {}),
        "size_public": adjacency.size_public,
        "words": adjacency.words(),
    }


def adjacency_from_json(fields: dict[str, object]) -> Adjacency:
    # The constructor checks the values that the casts only name.
    kind, unit, named = cast(Kind, fields["kind"]), cast(Unit, fields["unit"]), cast(str, fields.get("named", ""))
    return Adjacency(kind, int(str(fields["rows"])), unit, named)


def to_json(tree: Guarantee) -> dict[str, object]:
    """The whole tree: enough for ``rederivation.rederive`` to compute every loss again."""
    return {
        "label": tree.label,
        "loss": losses.to_json(tree.loss),
        "adjacency": adjacency_to_json(tree.adjacency),
        "theorem": {"name": tree.by.name, "statement": tree.by.statement, "source": tree.by.source},
        "parameters": dict(tree.parameters),
        "parts": [to_json(part) for part in tree.parts],
    }


def from_json(fields: dict[str, Any]) -> Guarantee:
    """The tree ``to_json`` wrote. Nothing in it is believed until ``rederivation.rederive`` has been through it."""
    try:
        theorem = fields["theorem"]
        return Guarantee(
            losses.from_json(fields["loss"]),
            adjacency_from_json(fields["adjacency"]),
            Theorem(str(theorem["name"]), str(theorem["statement"]), str(theorem["source"])),
            tuple(from_json(part) for part in fields["parts"]),
            tuple(sorted((str(name), str(text)) for name, text in fields["parameters"].items())),
            str(fields["label"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, PublicParameterError):
        raise CheckError("the guarantee in this certificate cannot be read") from None


def canonical(value: object) -> str:
    """The one JSON text of a value made of dicts, lists, text, integers and null."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest_of(text: str) -> str:
    """SHA-256 of ASCII text, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("ascii", "backslashreplace")).hexdigest()
