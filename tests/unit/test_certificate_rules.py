"""The schema of certificates as rules: attacks are refused in words, and no keyword of the file goes unheeded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.certificate import schema
from reticent.certificate.certificate import Certificate
from reticent.certificate.record import CertificateRecord
from reticent.errors import CheckError
from tests.conventions.tree import ROOT
from tests.unit.test_certificate_example import document

jsonschema = pytest.importorskip("jsonschema")
FOLDER = ROOT / "tests" / "golden" / "v0_1_0" / "certificates"
Place = tuple[str | int, ...]


def whole() -> dict[str, Any]:
    """A certificate of version 0.1.0, with a proof, a density and cells."""
    return dict(json.loads((FOLDER / "persons_density.json").read_text("utf-8")))


def changed(place: Place, new: object) -> dict[str, Any]:
    """The certificate with ``new`` at a place; the field is left out where ``new`` is Ellipsis."""
    found: Any = whole()
    inner = found
    for step in place[:-1]:
        inner = inner[step]
    if new is ...:
        del inner[place[-1]]
    else:
        inner[place[-1]] = new
    return dict(found)


def nested(levels: int) -> dict[str, Any]:
    """The certificate with a proof of so many levels."""
    found = whole()
    leaf = {**found["guarantee"], "parts": []}
    for _ in range(levels - 1):
        leaf = {**leaf, "parts": [leaf]}
    return {**found, "guarantee": leaf}


@pytest.mark.parametrize(
    ("place", "new", "words"),
    [
        (("purpose",), ..., "certificate.purpose is missing"),
        (("purpose",), 3, "certificate.purpose is not text"),
        (("study", "title"), None, "certificate.study.title is not text"),
        (("answers",), {}, "certificate.answers is not a list"),
        (("answers", 0), [], r"certificate.answers\[0\] is not an object"),
        (("answers", 0, "discrete"), 1, r"answers\[0\].discrete is not true or false"),
        (("people",), 0, "certificate.people has another form"),
        (("people",), 1.0, "certificate.people has another form"),
        (("people",), True, "certificate.people has another form"),
        (("people",), 1 << 63, "certificate.people has another form"),
        (("adjacency", "rows"), 0, "certificate.adjacency.rows is not >= 1"),
        (("adjacency", "rows"), 10**400, "certificate.adjacency.rows is not >= 1 and <= 9223372036854775807"),
        (("adjacency", "kind"), "add_remove\n", "certificate.adjacency.kind has another form"),
        (("charged",), {"rho": "1\n"}, "certificate.charged has another form"),
        (("charged",), {"epsilon": "1e9999", "delta": "0"}, "certificate.charged has another form"),
        (("charged",), {"epsilon": 1, "delta": "0"}, "certificate.charged has another form"),
        (("charged",), {"mu_squared": "1"}, "certificate.charged has another form"),
        (("ledger", "entry"), "A" * 64, "certificate.ledger.entry has another form"),
        (("ledger", "entry"), "a" * 64 + "\n", "certificate.ledger.entry has another form"),
        (("software",), {"x" * 50: 1}, "certificate.software.… is not text"),
        (("guarantee", "parameters"), {"a": "1e9999"}, "certificate.guarantee.parameters.a has another form"),
        (("guarantee", "parameters"), {"a": "1" * 2001}, "parameters.a is longer than 2,000 characters"),
        (("guarantee", "parameters"), {"size": "1" * 8}, "certificate.guarantee.parameters.size has another form"),
        (("signature",), {"algorithm": "none"}, "certificate.signature"),
        (("answers", 0, "density", "n"), 10**400, r"answers\[0\].density.n is not >= 1 and <= "),
        (("answers", 0, "density", "atoms"), [[10**400]], r"density.atoms\[0\]\[0\] is not a number"),
    ],
)
def test_an_attack_is_refused_by_the_path_of_its_field(place: Place, new: object, words: str) -> None:
    schema.well_formed(whole())
    with pytest.raises(CheckError, match=words):
        schema.well_formed(changed(place, new))


def test_a_proof_is_followed_down_to_a_bound() -> None:
    schema.well_formed(nested(schema.DEEPEST))
    for levels in (schema.DEEPEST + 2, 300):
        with pytest.raises(CheckError, match=f"more than {schema.DEEPEST} levels"):
            schema.well_formed(nested(levels))


def test_a_reply_without_a_level_and_a_no_reply_with_a_reason_are_refused() -> None:
    reply = dict.fromkeys(("value", "low", "high", "noise", "sampling"), 1)
    cell = {"label": [], "outcome": "reply", **reply, "level": 0.95}
    answer = {"name": "count", "discrete": True, "caveats": [], "cells": [cell]}
    schema.well_formed({**whole(), "answers": [answer]})
    for wrong, words in (
        ({**cell, "level": 1}, "level is not > 0 and < 1"),
        ({**cell, "outcome": "no_reply"}, "says something"),
        ({key: value for key, value in cell.items() if key != "level"}, "level is missing"),
        ({**cell, "label": [["g", 1.5]]}, r"label\[0\]\[1\] is not text or a whole number"),
        ({**cell, "label": [["g"]]}, r"label\[0\] is a list of 1"),
    ):
        with pytest.raises(CheckError, match=words):
            schema.well_formed({**whole(), "answers": [{**answer, "cells": [wrong]}]})


def test_a_share_of_incomplete_rows_has_the_form_of_its_outcome() -> None:
    told = {"columns": ["x"], "outcome": "reply", **dict.fromkeys(("value", "low", "high", "noise", "sampling"), 0)}
    answer = {"name": "count", "discrete": True, "caveats": [], "cells": []}
    for share, right in (
        ({**told, "level": 0.95}, True),
        (told, False),
        ({"columns": ["x"], "outcome": "left_out"}, True),
        ({"columns": ["x"], "outcome": "no_reply", "from": "r-0001"}, True),
        ({**told, "outcome": "no_reply"}, False),
        ({"columns": "x", "outcome": "left_out"}, False),
        ({"columns": ["x"], "outcome": "hidden"}, False),
    ):
        document = {**whole(), "answers": [{**answer, "incomplete": share}]}
        assert (schema.problem_of(document) is None) == right, share
        assert jsonschema.Draft202012Validator(schema.schema()).is_valid(document) == right, share


@pytest.mark.parametrize("rule", [{"minLength": 3}, {"properties": {"a": {"format": "date"}}}, {"$dynamicRef": "#"}])
def test_a_keyword_that_is_not_known_is_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no rule is known for"):
        schema.compiled(rule)


@pytest.mark.parametrize("name", ["required", "pattern", "items", "additionalProperties", "not", "maximum"])
def test_a_rule_left_out_is_noticed(name: str) -> None:
    """Without one of the keywords some attack above would pass."""

    left_out = {name, "not"} if name == "pattern" else {name}  # nothing is the negation of no rule

    def without(rule: Any) -> Any:
        if isinstance(rule, dict):
            return {key: without(inner) for key, inner in rule.items() if key not in left_out}
        return [without(inner) for inner in rule] if isinstance(rule, list) else rule

    attacks: tuple[tuple[Place, object], ...] = (
        (("purpose",), ...),
        (("ledger", "entry"), "A" * 64),
        (("caveats",), [1]),
        (("software",), {"x": 1}),
        (("guarantee", "parameters"), {"a": "1e9999"}),
        (("adjacency", "rows"), 10**400),
    )
    loose = schema.compiled(without(schema.schema()))
    assert all(schema.problem_of(changed(place, new)) for place, new in attacks)
    assert not all(schema.problem_of(changed(place, new), loose) for place, new in attacks)


def test_the_schema_is_in_the_folder_of_the_package() -> None:
    jsonschema.Draft202012Validator.check_schema(schema.schema())
    assert (Path(schema.__file__).parent / schema.FILE).is_file()


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"weather": {"seen": 1, "signature": None}},
        {"weather": ',"signature":null', "purpose": '"a",\\"signature":null'},
        {"signature": {"algorithm": "Ed25519", "public_key": "0" * 64, "value": "1" * 128}},
        {
            "signature": {"algorithm": "Ed25519", "public_key": "0" * 64, "value": "1" * 128},
            "weather": {"seen": 1, "signature": None},
        },
    ],
)
def test_the_bytes_that_are_signed_are_the_document_without_its_signature(more: dict[str, Any]) -> None:
    """They are cut out of the text, which a field of the same name further down must not mislead."""
    made = Certificate.of({**document(), **more})
    expected = schema.canonical({name: value for name, value in made.document.items() if name != "signature"})
    assert made.canonical == expected
    assert CertificateRecord(json.dumps(made.document, indent=2)).canonical == expected


def test_canonical_text_is_read_by_one_plain_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that a release makes is parsed once. The rest holds by its text."""
    made, parse, told = Certificate.of(document()).text, json.loads, list[bool]()

    def loads(text: str, **hooks: Any) -> Any:
        told.append(bool(hooks))
        return parse(text, **hooks)

    monkeypatch.setattr(json, "loads", loads)
    assert schema.settled(made) == (parse(made), made)
    assert Certificate.of(parse(made)).digest
    assert told == [False, False]


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', '{"a":1e999}', '{"a":NaN}', '{"a":"\\ud800"}', "[]"])
def test_text_that_is_not_canonical_is_held_to_the_same_rules(text: str) -> None:
    with pytest.raises(CheckError):
        schema.settled(text)
    assert schema.settled('{"b": 2,  "a": 1}') == ({"a": 1, "b": 2}, '{"a":1,"b":2}')


@pytest.mark.wide
@given(
    st.dictionaries(
        st.sampled_from(["kind", "a", "b"]), st.one_of(st.booleans(), st.integers(0, 2), st.text(max_size=1))
    )
)
def test_a_choice_that_is_ruled_out_by_a_constant_is_not_looked_at(value: dict[str, Any]) -> None:
    """The verdict and the words are those of looking at every choice, as the standard says."""
    one = {"type": "object", "required": ["a"], "properties": {"kind": {"const": True}, "a": {"type": "integer"}}}
    other = {"properties": {"kind": {"const": 1}, "b": {"type": "string"}}}
    for word in ("oneOf", "anyOf"):
        rule = {word: [one, other]}
        found = schema.compiled(rule)(value, 0)
        assert (found is None) == jsonschema.Draft202012Validator(rule).is_valid(value)
