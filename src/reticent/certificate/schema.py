"""The form of a certificate: which fields it has and what may stand in them, checked on the way in and on the way out.

``certificate.schema.json`` says the same for other programs; a test keeps the two in agreement. Whatever the bytes are,
``parsed`` and ``well_formed`` end, with a value or with ``CheckError`` in words.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from reticent.errors import CheckError

LARGEST: Final = 64 * 1024 * 1024  # bytes of a certificate that are read at most
DEEPEST: Final = 64  # levels of a proof
VERSIONS: Final = (1, 2)  # of a release; of a model or a session, which has a part that version 1 does not know
FORMAT: Final = "reticent certificate"

NUMBER: Final = r"-?[0-9]{1,1000}(\.[0-9]{1,1000})?(e-?[0-9]{1,3})?|-?[0-9]{1,1000}/[0-9]{1,1000}"
HEX: Final = r"[0-9a-f]{64}"

_OR: Final = " or ".join(map(str, VERSIONS))

Shape: TypeAlias = "str | Any | list[Any] | dict[str, Any] | tuple[Any, ...]"


@dataclass(frozen=True, slots=True)
class Text:
    """Text that matches ``pattern`` from end to end."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Each:
    """An object with any names, each holding ``shape``."""

    shape: Any


# A shape is "text", "whole", "tally", "integer", "number", "size", "flag", "null", "tree", a Text, an Each, a list (of
# one shape), a tuple (one of several), or a dict whose keys are required, unless they end in "?"; further keys are
# allowed and ignored.
LOSS: Final = (
    {"epsilon": Text(NUMBER), "delta": Text(NUMBER)},
    {"rho": Text(NUMBER)},
)
ADJACENCY: Final = {
    "kind": Text("add_remove|substitute|local"),
    "unit": Text("person|row"),
    "rows": "whole",
    "size_public": "flag",
    "words": "text",
}
TREE: Final = {
    "label": "text",
    "loss": LOSS,
    "adjacency": ADJACENCY,
    "theorem": {"name": "text", "statement": "text", "source": "text"},
    "parameters": Each("text"),
    "parts": ["tree"],
}
CELL: Final = {
    "label": [["key"]],
    "outcome": Text("reply|no_reply"),
}
REPLY: Final = dict.fromkeys(("value", "low", "high", "noise", "sampling", "level"), "number")
AXES: Final = [{"column": "text", "edges": [Text(NUMBER)], "whole": "flag", "atoms?": [Text(NUMBER)]}]
CHECK: Final = {  # noisy counts of a coarse table
    "axes": AXES,
    "atoms": ["number"],
    "counts": ["integer"],
    "radius": "tally",
    "n": "whole",
    "off": "tally",
}
DENSITY: Final = {
    "axes": AXES,
    "masses": "any",  # a list, nested as deep as there are columns; read as an array
    "atoms": [["number"]],
    "missing": ("number", "null"),
    "wander": ("number", "null"),
    "n": "whole",
    "method": "text",
    "words": ["text"],
    "guarantee": "tree",
    "checks?": [CHECK],
    "beside?": ("null", "size"),
    "noticed?": [{"column": "text", "among": "text", "share": "size"}],
}
AUDIT: Final = {
    "verdict": Text("passed|refuted"),
    "triples": "whole",
    "noise_calls": "tally",
    "greatest_share_of_loss": ("number", "null"),
    "answers": [{"name": "text", "calls": "tally", "ratio": ("number", "null")}],
    "findings": [{"kind": "text", "answer": "text", "words": "text"}],
    "findings_in_all": "tally",
    "words": "text",
}
DOCUMENT: Final = {
    "format": Text(FORMAT),
    "version": "whole",
    "release": "text",
    "name": "text",
    "purpose": "text",
    "who": "text",
    "when": "text",
    "override?": ("text", "null"),
    "study": {
        "title": "text",
        "approved": ("text", "null"),
        "ends": ("text", "null"),
        "source": "text",
        "snapshot?": "text",
    },
    "software": Each("text"),
    "adjacency": ADJACENCY,
    "people": ("whole", "null"),
    "guarantee": "tree",
    "charged": LOSS,
    "budget": {"approved": LOSS, "spent": LOSS, "left": LOSS},
    "columns": Each({"kind": "text"}),
    "answers": [
        {
            "name": "text",
            "discrete": "flag",
            "estimand?": "text",
            "caveats": ["text"],
            "cells": ["cell"],
            "incomplete?": ("null", "share"),
            "density?": ("null", DENSITY),
        }
    ],
    "caveats": ["text"],
    "ledger": {"durable": "flag", "entry": Text(HEX)},
    "audit": ("null", AUDIT),
    "signature": ("null", {"algorithm": Text("Ed25519"), "public_key": Text(HEX), "value": Text("[0-9a-f]{128}")}),
}
PARTS: Final[dict[str, dict[str, Any]]] = {
    "model": {
        "name": "text",
        "what": "text",
        "parameters": Each("any"),
        "columns": ["text"],
        "bounds": [[Text(NUMBER)]],
        "target": ("text", "null"),
        "released": Each("any"),
        "incomplete?": ["share"],
    },
    "session": {
        "what": "text",
        "parameters": Each("text"),
        "rows": ("null", {"count": "whole", "noise": "tally"}),
        "rounds": [{"release": "text", "entry": Text(HEX), "digest": (Text(HEX), "null")}],
        "transcript": [["text"]],
        "incomplete?": ["share"],
    },
}


def ordered(document: Mapping[str, object]) -> dict[str, object]:
    """The fields in the order a person reads: what it is first, what is unknown here last."""
    names = [name.removesuffix("?") for name in DOCUMENT]
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
    problem = _problem(DOCUMENT, document, "certificate", 0) or (_odd_part(document) if version == 2 else None)
    if problem:
        raise CheckError(f"This certificate is malformed: {problem}.")


def _odd_part(document: Mapping[str, object]) -> str | None:
    """Problem of the part that the kind of a version 2 document names, or None."""
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in PARTS:
        return "certificate.kind is missing or has another form"
    return _problem({kind: PARTS[kind]}, dict(document), "certificate", 0)


def _problem(shape: Shape, value: object, where: str, depth: int) -> str | None:
    """Problem of ``value``, or None."""
    match shape:
        case "tree":
            if depth > DEEPEST:
                return f"the proof has more than {DEEPEST} levels"
            return _problem(TREE, value, where, depth + 1) or _unworkable(value, where)
        case "cell":
            return _problem(CELL, value, where, depth) or _odd_cell(value, where)
        case "share":
            return _odd_share(value, where)
        case str():
            return None if _is(shape, value) else f"{where} is not {_A[shape]}"
        case Text(pattern):
            return None if isinstance(value, str) and re.fullmatch(pattern, value) else f"{where} has another form"
        case Each(inner):
            if not isinstance(value, dict):
                return f"{where} is not an object"
            return _first(inner, [(f"{where}.{_brief(name)}", item) for name, item in value.items()], depth)
        case list():
            if not isinstance(value, list):
                return f"{where} is not a list"
            if shape == ["key"]:
                return None if _is("label", value) else f"{where} is not a name with its key"
            return _first(shape[0], [(f"{where}[{place}]", item) for place, item in enumerate(value)], depth)
        case tuple():
            found = [_problem(one, value, where, depth) for one in shape]
            objects = [problem for one, problem in zip(shape, found, strict=True) if isinstance(one, dict)]
            closest = objects[0] if len(objects) == 1 and isinstance(value, dict) else None
            return None if None in found else closest or f"{where} has another form"
        case dict():
            return _odd_object(shape, value, where, depth)
        case _:  # pragma: no cover - the shapes are written above
            raise TypeError(type(shape).__name__)


def _first(shape: Shape, items: list[tuple[str, object]], depth: int) -> str | None:
    for where, item in items:
        problem = _problem(shape, item, where, depth)
        if problem:
            return problem
    return None


def _odd_object(shape: dict[str, Any], value: object, where: str, depth: int) -> str | None:
    if not isinstance(value, dict):
        return f"{where} is not an object"
    for name, inner in shape.items():
        key = name.removesuffix("?")
        if key not in value:
            if name == key:
                return f"{where}.{key} is missing"
            continue
        problem = _problem(inner, value[key], f"{where}.{key}", depth)
        if problem:
            return problem
    return None


_A: Final = {
    "text": "text",
    "whole": "a whole number >= 1",
    "tally": "a whole number >= 0",
    "integer": "a whole number",
    "number": "a number",
    "size": "a number >= 0",
    "flag": "true or false",
    "null": "null",
}


def _is(kind: str, value: object) -> bool:
    finite = isinstance(value, int | float) and not isinstance(value, bool) and _told(value)
    match kind:
        case "text":
            return isinstance(value, str)
        case "whole":
            return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1 << 63
        case "tally":
            return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
        case "number":
            return finite
        case "size":
            return finite and isinstance(value, int | float) and value >= 0
        case "flag":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "label":
            match value:
                case [str(), str() | int()]:
                    return True
            return False
        case _:
            return True


def _told(value: float) -> bool:
    return abs(value) <= 1.7e308 and math.isfinite(value)


def _odd_cell(cell: Any, where: str) -> str | None:
    """A reply has its six numbers; a no reply has nothing else, since anything more would be a reason."""
    if cell["outcome"] == "no_reply":
        return None if set(cell) == {"label", "outcome"} else f"{where} is no reply and yet says something"
    problem = _problem(REPLY, cell, where, 0)
    if problem:
        return problem
    return None if 0 < cell["level"] < 1 else f"{where}.level is not between 0 and 1"


def _odd_share(share: Any, where: str) -> str | None:
    """The share of incomplete rows: its columns, and a number as a cell has it, or the word that it was left out."""
    problem = _problem({"columns": ["text"], "outcome": "text", "from?": "text", "of?": Text(HEX)}, share, where, 0)
    if problem or share["outcome"] == "left_out":
        return problem
    told = {"label": [], **{name: value for name, value in share.items() if name not in ("columns", "from", "of")}}
    return _problem("cell", told, where, 0)


def _unworkable(tree: Any, where: str) -> str | None:
    """Numbers too long to compute with: deriving a loss from them would not end in a day."""
    for name, text in tree["parameters"].items():
        if len(text) > 2000 or re.search(r"[eE][+-]?[\d_]{4,}", text):
            return f"{where}.parameters.{_brief(name)} is too large a number"
        if name == "size" and not re.fullmatch(r"[0-9]{1,7}", text):
            return f"{where}.parameters.size has another form"
    return None


def _brief(name: str) -> str:
    return name if re.fullmatch(r"\w{1,40}", name) else "…"


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
