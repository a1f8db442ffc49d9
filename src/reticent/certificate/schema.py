"""The form of a certificate: which fields it has and what may stand in them, checked on the way in and on the way out.

``certificate.schema.json`` says it, for this program and for others. Whatever the bytes are, ``parsed`` and
``well_formed`` end, with a value or with ``CheckError`` in words.

The rules of the file are compiled into functions: the part of JSON Schema (2020-12) that it uses. A keyword that is not
known here is refused when the rules are compiled, so the file never says more than is checked. Four readings are
stricter than the standard. An integer is never ``1.0``. A number is finite and fits a float. An anchored pattern
matches from end to end. A rule that holds itself is followed ``DEEPEST`` levels down.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final, TypeAlias

from reticent.errors import CheckError

LARGEST: Final = 64 * 1024 * 1024  # bytes of a certificate that are read at most
VERSIONS: Final = (1, 2)  # of a release; of a model or a session, which has a part that version 1 does not know
FORMAT: Final = "reticent certificate"
PARTS: Final = ("model", "session")  # of version 2

HEX: Final = r"[0-9a-f]{64}"

_OR: Final = " or ".join(map(str, VERSIONS))


def ordered(document: Mapping[str, object]) -> dict[str, object]:
    """The fields in the order a person reads: what it is first, what is unknown here last."""
    names = list(schema()["properties"])
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


def settled(text: str) -> tuple[dict[str, object], str]:
    """The JSON object in ``text``, and its canonical text.

    Text that its own value is written as is canonical: each name stands once in it, and every number is finite.

    Raises
    ------
    CheckError
        As ``parsed`` does.
    """
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
        if isinstance(found, dict) and canonical(found) == text.encode("utf-8"):
            return found, text
    read = parsed(text)
    return read, canonical(read).decode()


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
    problem = problem_of(document)
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


# --- rules ------------------------------------------------------------------------------------------------------------


DEEPEST: Final = 64  # levels of a proof
FILE: Final = "certificate.schema.json"
DEFS: Final = "#/$defs/"
LARGEST_NUMBER: Final = 1.7e308

Rule: TypeAlias = Mapping[str, Any]
Problem: TypeAlias = tuple[tuple[str | int, ...], str]  # the path of a value, and what it is or is not
Check: TypeAlias = Callable[[Any, int], Problem | None]  # of a value, at a depth

IGNORED: Final = {"$schema", "$defs", "title", "description"}
HANDLED: Final = (
    {"$ref", "type", "const", "enum", "pattern", "maxLength", "not"},
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    {"required", "properties", "additionalProperties", "items", "prefixItems", "minItems", "maxItems"},
    {"anyOf", "oneOf", "if", "then"},
)
NAMES: Final = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}


@cache
def schema() -> dict[str, Any]:
    """Published schema of certificates."""
    return dict(json.loads(Path(__file__).with_name(FILE).read_text("utf-8")))


@cache
def checked() -> Check:
    """Check of a whole certificate."""
    return compiled(schema())


def problem_of(document: object, check: Check | None = None) -> str | None:
    """First problem of a document in words, with the path of the field; None where there is none."""
    found = (check or checked())(document, 0)
    return None if found is None else f"{_where(found[0])} {found[1]}"


def compiled(whole: Rule) -> Check:
    """Check of the values that a schema describes.

    Raises
    ------
    ValueError
        For a keyword that is not known here.
    """
    return _Compiler(whole.get("$defs", {})).check(whole)


class _Compiler:
    """Compiler of the rules of one schema; a named rule is compiled once."""

    def __init__(self, named: Mapping[str, Rule]) -> None:
        self._named = named
        self._known: dict[str, Check] = {}

    def check(self, rule: Rule) -> Check:
        unknown = rule.keys() - IGNORED - set().union(*HANDLED)
        if unknown:
            raise ValueError(f"no rule is known for {', '.join(sorted(unknown))}")
        parts = [
            make(rule)
            for words, make in (
                ({"$ref"}, self._reference),
                ({"type"}, _typed),
                (HANDLED[0] - {"$ref", "type", "not"}, _literal),
                (HANDLED[1], _bounded),
                ({"required", "properties", "additionalProperties"}, self._object),
                ({"items", "prefixItems", "minItems", "maxItems"}, self._array),
                ({"not"}, self._negation),
                ({"anyOf"}, self._any),
                ({"oneOf"}, self._one),
                ({"if"}, self._condition),
            )
            if rule.keys() & words
        ]
        if len(parts) == 1:
            return parts[0]

        def check(value: Any, depth: int) -> Problem | None:
            for part in parts:
                found = part(value, depth)
                if found:
                    return found
            return None

        return check

    def _reference(self, rule: Rule) -> Check:
        name = rule["$ref"].removeprefix(DEFS)
        inner = self._named[name]
        if f'"{DEFS}{name}"' not in json.dumps(inner):
            if name not in self._known:
                self._known[name] = self.check(inner)
            return self._known[name]

        def check(value: Any, depth: int) -> Problem | None:
            if depth > DEEPEST:
                return (), f"has more than {DEEPEST} levels"
            if name not in self._known:
                self._known[name] = self.check(inner)
            return self._known[name](value, depth + 1)

        return check

    def _object(self, rule: Rule) -> Check:
        required = tuple(rule.get("required", ()))
        properties = {name: self.check(inner) for name, inner in rule.get("properties", {}).items()}
        more = rule.get("additionalProperties", True)
        extra = self.check(more) if isinstance(more, Mapping) else None
        pairs, known = tuple(properties.items()), properties.keys()

        def check(value: Any, depth: int) -> Problem | None:
            if not isinstance(value, dict):
                return None
            for name in required:
                if name not in value:
                    return (name,), "is missing"
            for name, inner in pairs:
                if name in value and (found := inner(value[name], depth)):
                    return (name, *found[0]), found[1]
            if more is True or value.keys() <= known:
                return None
            for name in value.keys() - known:
                if extra is None:
                    return (), f"says something that has no place there: {_brief(name)}"
                if found := extra(value[name], depth):
                    return (name, *found[0]), found[1]
            return None

        return check

    def _array(self, rule: Rule) -> Check:
        first = [self.check(inner) for inner in rule.get("prefixItems", ())]
        rest = self.check(rule["items"]) if "items" in rule else None
        least, most = rule.get("minItems", 0), rule.get("maxItems")

        def check(value: Any, depth: int) -> Problem | None:
            if not isinstance(value, list):
                return None
            if len(value) < least or (most is not None and len(value) > most):
                return (), f"is a list of {len(value)}"
            for place, (inner, item) in enumerate(zip(chain(first, repeat(rest)), value, strict=False)):
                if inner and (found := inner(item, depth)):
                    return (place, *found[0]), found[1]
            return None

        return check

    def _negation(self, rule: Rule) -> Check:
        inner = self.check(rule["not"])
        return lambda value, depth: ((), "has another form") if inner(value, depth) is None else None

    def _any(self, rule: Rule) -> Check:
        return self._choice(rule["anyOf"], many=True)

    def _one(self, rule: Rule) -> Check:
        return self._choice(rule["oneOf"], many=False)

    def _choice(self, rules: list[Rule], many: bool) -> Check:
        checks = [self.check(inner) for inner in rules]
        plain = [self._named[inner["$ref"].removeprefix(DEFS)] if "$ref" in inner else inner for inner in rules]
        consts = [
            {name: inner["const"] for name, inner in one.get("properties", {}).items() if "const" in inner}
            for one in plain
        ]
        objects = [place for place, one in enumerate(plain) if one.get("type") == "object"]

        def possible(place: int, fields: dict[str, Any]) -> bool:
            """Tell if no field has another constant, with which the choice is wrong whatever else there is."""
            return all(_same(fields.get(name, one), one) for name, one in consts[place].items())

        def check(value: Any, depth: int) -> Problem | None:
            fields = value if isinstance(value, dict) else {}
            found = [inner(value, depth) for place, inner in enumerate(checks) if possible(place, fields)]
            right = found.count(None)
            if right == 1 or (many and right):
                return None
            if right == 0 and isinstance(value, dict):
                meant = [n for n, one in enumerate(consts) if one and all(value.get(k) == v for k, v in one.items())]
                for several in (meant, objects):
                    if len(several) == 1:
                        return checks[several[0]](value, depth)
            return (), "has another form"

        return check

    def _condition(self, rule: Rule) -> Check:
        condition, then = self.check(rule["if"]), self.check(rule["then"])
        return lambda value, depth: then(value, depth) if condition(value, depth) is None else None


def _typed(rule: Rule) -> Check:
    kinds = (rule["type"],) if isinstance(rule["type"], str) else tuple(rule["type"])
    least = rule.get("minimum")
    words = " or ".join(NAMES[kind] for kind in kinds) + ("" if least not in (0, 1) else f" >= {least}")

    problem: Problem = (), f"is not {words}"
    first, *others = (KINDS[kind] for kind in kinds)
    if not others:
        return lambda value, depth: None if first(value) else problem
    return lambda value, depth: None if first(value) or any(other(value) for other in others) else problem


def _same(value: object, one: object) -> bool:
    return type(value) is type(one) and value == one


def _is_number(value: object) -> bool:
    number = type(value) is float or (isinstance(value, int | float) and not isinstance(value, bool))
    return number and -LARGEST_NUMBER <= value <= LARGEST_NUMBER  # type: ignore[operator]  # a number


KINDS: Final[Mapping[str, Callable[[object], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _is_number,
}


def _literal(rule: Rule) -> Check:
    allowed = [rule["const"]] if "const" in rule else rule.get("enum")
    pattern, longest = rule.get("pattern"), rule.get("maxLength")
    whole = pattern is not None and pattern.startswith("^") and pattern.endswith("$")
    written = None if pattern is None else re.compile(f"(?:{pattern[1:-1]})" if whole else pattern)
    matches = None if written is None else written.fullmatch if whole else written.search

    def check(value: Any, depth: int) -> Problem | None:
        if allowed is not None and not any(_same(value, one) for one in allowed):
            return (), "has another form"
        if isinstance(value, str):
            if longest is not None and len(value) > longest:
                return (), f"is longer than {longest:,} characters"
            if matches is not None and not matches(value):
                return (), "has another form"
        return None

    return check


def _bounded(rule: Rule) -> Check:
    low, high = rule.get("minimum"), rule.get("maximum")
    above, below = rule.get("exclusiveMinimum"), rule.get("exclusiveMaximum")
    ends = [f"{word} {end}" for word, end in ((">=", low), ("<=", high), (">", above), ("<", below)) if end is not None]
    words = f"is not {' and '.join(ends)}"

    def check(value: Any, depth: int) -> Problem | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        inside = (low is None or value >= low) and (high is None or value <= high)
        inside = inside and (above is None or value > above) and (below is None or value < below)
        return None if inside else ((), words)

    return check


def _where(path: tuple[str | int, ...]) -> str:
    return "certificate" + "".join(f"[{step}]" if isinstance(step, int) else f".{_brief(step)}" for step in path)


def _brief(name: str) -> str:
    return name if re.fullmatch(r"\w{1,40}", name) else "…"


__all__ = [
    "DEEPEST",
    "FORMAT",
    "HEX",
    "LARGEST",
    "PARTS",
    "VERSIONS",
    "canonical",
    "checked",
    "compiled",
    "ordered",
    "parsed",
    "problem_of",
    "schema",
    "well_formed",
]
