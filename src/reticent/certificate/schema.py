"""The form of a certificate: which fields it has and what may stand in them, checked on the way in and on the way out.

``certificate.schema.json`` says it, for this program and for others. Whatever the bytes are, ``parsed`` and
``well_formed`` end, with a value or with ``CheckError`` in words.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Final

from reticent.certificate import rules
from reticent.errors import CheckError

LARGEST: Final = 64 * 1024 * 1024  # bytes of a certificate that are read at most
VERSIONS: Final = (1, 2)  # of a release; of a model or a session, which has a part that version 1 does not know
FORMAT: Final = "reticent certificate"
PARTS: Final = ("model", "session")  # of version 2

HEX: Final = r"[0-9a-f]{64}"

_OR: Final = " or ".join(map(str, VERSIONS))


def ordered(document: Mapping[str, object]) -> dict[str, object]:
    """The fields in the order a person reads: what it is first, what is unknown here last."""
    names = list(rules.schema()["properties"])
    after = names.index("answers") + 1
    names = ["format", "version", "kind", *names[2:after], *PARTS, *names[after:]]
    return {name: document[name] for name in [*names, *sorted(set(document) - set(names))] if name in document}


def parsed(text: str) -> dict[str, object]:
    """The JSON object in ``text``: no repeated names, no NaN, no infinity, no lone surrogates.

    Raises
    ------
    CheckError
        For anything else.
    """
    try:
        text.encode("utf-8")
        found = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once)
        canonical(found)
    except (ValueError, RecursionError):
        raise CheckError("This is not a certificate: it is not JSON that can be read.") from None
    if not isinstance(found, dict):
        raise CheckError("This is not a certificate: it is not a JSON object.")
    return found


def canonical(value: object) -> bytes:
    """The one text of a JSON value: sorted names, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8")


def well_formed(document: Mapping[str, object]) -> None:
    """Refuse a document that is not a certificate of a version this program reads.

    Raises
    ------
    CheckError
        Naming the first field that is missing or of another form.
    """
    if document.get("format") != FORMAT:
        raise CheckError(f'This is not a certificate: its format is not "{FORMAT}".')
    version = document.get("version")
    if version not in VERSIONS or isinstance(version, bool):
        raise CheckError(f"This certificate has another version than {_OR}, those this reticent reads.")
    problem = rules.problem_of(document)
    if problem:
        raise CheckError(f"This certificate is malformed: {problem}.")


def _no_constant(text: str) -> float:
    raise ValueError("NaN or an infinity")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("an infinity")
    return number


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name given twice")
    return found
