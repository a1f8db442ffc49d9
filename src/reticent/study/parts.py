"""What a model or a session let out, in words: for an officer's checklist, the page and the terminal.

subject   one phrase: "a fit of LogisticRegression to age and educ, target affair"
found     (name, text) pairs: the numbers of a model, the questions and answers of a session
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, assert_never

from reticent.outcome import Estimate
from reticent.study.certificate import Certificate
from reticent.study.sheet import number
from reticent.study.sheet import shown as rounded

MOST_LINES: Final = 1000
LONGEST: Final = 400  # characters of one line; the certificate itself has every digit
NUMBERS: Final = ("value", "low", "high", "noise", "sampling", "level")


def subject(certificate: Certificate) -> str:
    """What the certificate is of, in a phrase; empty for a release of questions, whose answers speak for themselves."""
    document = certificate.document
    match certificate.kind:
        case "release":
            return ""
        case "model":
            model = document["model"]
            columns = _listed(model["columns"])
            target = f", target {model['target']}" if model["target"] else ""
            return f"{_article(model['what'])} of {model['name']} {_on(model['what'])} {columns}{target}"
        case "session":
            session = document["session"]
            answers, rounds = len(session["transcript"]), len(session["rounds"])
            said = f"{answers:,} answer{'s' * (answers != 1)} of a session ({session['what']})"
            return said if rounds == 1 else f"{said} in {rounds:,} rounds"
        case other:
            assert_never(other)


def found(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """What was let out, line by line; long ones are cut, and what is left out is counted."""
    for place, (name, text) in enumerate(_lines(certificate)):
        if place == MOST_LINES:
            yield "…", "the rest is in the certificate"
            return
        yield _cut(name), _cut(text)


def parameters(certificate: Certificate) -> dict[str, object] | None:
    """The public parameters of a model or a session."""
    kind = certificate.kind
    return None if kind == "release" else dict(certificate.document[kind]["parameters"])


def _lines(certificate: Certificate) -> Iterator[tuple[str, str]]:
    document = certificate.document
    match certificate.kind:
        case "release":
            return
        case "model":
            for name, value in document["model"]["released"].items():
                if name == "estimates" and isinstance(value, list):
                    yield from _estimates(["intercept", *document["model"]["columns"]], value)
                else:
                    yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        case "session":
            rows = document["session"]["rows"]
            if rows is not None:
                yield (
                    "number of rows",
                    f"{rows['count']:,}" + (f" ± {rows['noise']:,}" if rows["noise"] else ", public"),
                )
            yield from (("; ".join(pair[:1]), "; ".join(pair[1:])) for pair in document["session"]["transcript"])
        case other:
            assert_never(other)


def _estimates(names: list[str], values: list[Any]) -> Iterator[tuple[str, str]]:
    """Coefficients with their intervals, where they have any."""
    for place, value in enumerate(values):
        name = names[place] if place < len(names) else f"coefficient {place}"
        if not isinstance(value, dict) or not isinstance(value.get("value"), float):
            yield name, json.dumps(value, ensure_ascii=False)
        elif all(isinstance(value.get(part), float) for part in NUMBERS):
            estimate = Estimate(*(value[part] for part in NUMBERS))
            text = rounded(estimate)
            yield name, f"{text.value} ({100 * estimate.level:g} % {text.low} to {text.high}, noise ±{text.noise})"
        else:
            yield name, number(value["value"])


def _article(what: str) -> str:
    return {"fit": "a fit", "grid search": "a grid search", "accuracy": "the accuracy"}.get(what, f"the {what}")


def _on(what: str) -> str:
    return "to" if what == "fit" else "on"


def _listed(names: list[str]) -> str:
    if len(names) > 6:
        return f"{len(names)} columns"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "no column"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
