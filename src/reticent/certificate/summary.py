"""Summary of the released numbers of a model or a session, for an officer's checklist, the page and the terminal.

subject   one phrase: "a fit of LogisticRegression to age and educ, target affair"
found     (name, text) pairs: the numbers of a model, the questions and answers of a session
meaning   the release in odds for one person
methods   what the leaves of a proof are
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, assert_never

from reticent.certificate import void
from reticent.certificate.record import NOT_DURABLE, CertificateRecord
from reticent.certificate.render.tables import number
from reticent.certificate.render.tables import shown as rounded
from reticent.certificate.verify import nodes
from reticent.outcome import Estimate
from reticent.privacy import explain
from reticent.privacy.guarantee import Guarantee

MOST_LINES: Final = 1000
LONGEST: Final = 400  # characters of one line; the certificate itself has every digit
TREE: Final = {"column", "threshold", "counts"}
BY_COLUMN: Final = {"cluster_centers": "centre", "components": "axis"}  # rows with a number for each column
NUMBERS: Final = ("value", "low", "high", "noise", "sampling", "level")


def subject(certificate: CertificateRecord) -> str:
    """Subject of the certificate, in a phrase; empty for a release of questions, whose answers speak for themselves."""
    document = certificate.heading
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


def found(certificate: CertificateRecord) -> Iterator[tuple[str, str]]:
    """Released numbers, line by line; long lines are cut, and those left out are counted."""
    for place, (name, text) in enumerate(_lines(certificate)):
        if place == MOST_LINES:
            yield "…", "the rest is in the certificate"
            return
        yield _cut(name), _cut(text)


def parameters(certificate: CertificateRecord) -> dict[str, object] | None:
    """The public parameters of a model or a session."""
    kind = certificate.kind
    return None if kind == "release" else dict(certificate.heading[kind]["parameters"])


def meaning(certificate: CertificateRecord, prior: float) -> str:
    """The release in odds for one person, for someone who believed with probability ``prior``."""
    document, tree = certificate.heading, certificate.guarantee
    lines = explain.meaning(
        tree.loss,
        tree.adjacency,
        prior=prior,
        spent=certificate.spent,
        budget=certificate.approved,
    )
    of = subject(certificate)
    more = [f"What was let out: {of}."] if of else []
    more.append(f"Why: {methods(tree)}; each theorem is listed with --proof.")
    if document.get("override"):
        more.append(f"The limit on the loss of one release was lifted, with this reason: {document['override']}")
    if not certificate.durable:
        more.append(NOT_DURABLE)
    withdrawn = [
        f"This certificate is void: {reason}. What follows was claimed." for reason in void.reasons(certificate)
    ]
    return "\n".join([*withdrawn, *lines, *more])


def methods(tree: Guarantee) -> str:
    """``geometric (6 parts), exponential (2 parts)``: what the leaves of a proof are."""
    counted = Counter(leaf.by.name.replace("_", " ") for leaf in nodes(tree) if not leaf.parts)
    return ", ".join(f"{name} ({count} {'part' if count == 1 else 'parts'})" for name, count in counted.items())


def _lines(certificate: CertificateRecord) -> Iterator[tuple[str, str]]:
    document = certificate.heading
    match certificate.kind:
        case "release":
            return
        case "model":
            released = document["model"]["released"]
            for name, value in released.items():
                if name == "estimates" and isinstance(value, list):
                    yield from _estimates(["intercept", *document["model"]["columns"]], value)
                elif name in BY_COLUMN and _is_rows(value, len(document["model"]["columns"])):
                    for place, row in enumerate(value, start=1):
                        told = zip(document["model"]["columns"], row, strict=True)
                        yield f"{BY_COLUMN[name]} {place}", ", ".join(f"{of} {_digits(one)}" for of, one in told)
                elif name not in _elsewhere(released):
                    yield name.replace("_", " "), value if isinstance(value, str) else _digits(value)
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


def _is_rows(value: object, count: int) -> bool:
    """True for rows with a number for each of ``count`` columns."""
    return isinstance(value, list) and all(isinstance(row, list) and len(row) == count for row in value)


def _elsewhere(released: dict[str, Any]) -> set[str]:
    """Names of what a page tells elsewhere: the note on its card, a share of rows among the caveats, coefficients."""
    told = {"note", "incomplete_rows"}
    estimates, lines = released.get("estimates"), released.get("coef")
    if isinstance(estimates, list) and isinstance(lines, list) and len(lines) == 1 and isinstance(lines[0], list):
        told |= {"coef", "intercept"} if len(estimates) == len(lines[0]) + 1 else set()
    return told


def _digits(value: object) -> str:
    """Numbers as a page prints them, with lists in brackets; trees by their size, and whatever else as JSON."""
    if isinstance(value, list) and value and all(isinstance(one, dict) and one.keys() == TREE for one in value):
        splits = len(value[0]["threshold"]) if isinstance(value[0]["threshold"], list) else 0
        return f"{len(value)} of {splits} splits each, with noisy numbers of rows by class in every leaf"
    if isinstance(value, list):
        return f"[{', '.join(map(_digits, value))}]"
    return number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _estimates(names: list[str], values: list[Any]) -> Iterator[tuple[str, str]]:
    """Coefficients with their intervals, where they have any."""
    for place, value in enumerate(values):
        name = names[place] if place < len(names) else f"coefficient {place}"
        if not isinstance(value, dict) or not isinstance(value.get("value"), float):
            yield name, json.dumps(value, ensure_ascii=False)
        elif all(isinstance(value.get(part), float) for part in NUMBERS):
            estimate = Estimate(*(value[part] for part in NUMBERS))
            text = rounded(estimate)
            yield name, f"{text.value} ({100 * estimate.level:g} % {text.low} to {text.high}, noise ± {text.noise})"
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
