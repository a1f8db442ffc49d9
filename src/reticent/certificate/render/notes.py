"""Notes beside the numbers of a release: each once, with the answer that it is about.

    notes(certificate)     notes of the whole, and notes of each answer
    lines_of(certificate)  a line for each answer: its name, what it estimates, its notes

A note that only says again what the estimand beside it says is left out. Certificates hold every one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reticent.certificate.record import MOST_NAMES, CertificateRecord
from reticent.errors import NAMED, first_of
from reticent.statistics.public_facts import CommonClause, sharing_lines
from reticent.statistics.shares import in_short

BOUNDS: Final = re.compile(r"values of (.+) outside (\[.+\]) count as the nearer bound")
EVERY: Final = "every number cut to its bounds"
CAP: Final = re.compile(r"at most (\d+) rows? of each person counts?(; the sampling part allows for their likeness)?")
LIKENESS: Final = "the sampling part takes all rows of one person for alike, and is too wide where they differ"


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes of the release, or of several answers; and, in the order of the answers, those of each alone."""

    whole: tuple[str, ...]
    each: tuple[tuple[str, ...], ...]


def notes(certificate: CertificateRecord) -> Notes:
    """The caveats of a release, each where it belongs: of one answer with that, of others above all."""
    answers = certificate.answers
    each: list[list[str]] = [[] for _ in answers]
    whole = []
    shared = CommonClause.of([answer.name for answer in answers])
    names = [shared.without(answer.name) for answer in answers]
    for text, places in _told(certificate):
        if len(places) == 1 and len(answers) > 1:
            each[places[0]].append(text)
        else:
            whole.append(_attributed(text, places, names))
    return Notes(tuple(whole), tuple(map(tuple, each)))


def lines_of(certificate: CertificateRecord) -> tuple[tuple[str, str], ...]:
    """The name of each answer with its estimand and the notes of it alone; none for an answer without either.

    A filter, and groups, that all answers have stand in a first line, and in no other. Of many answers, those that
    differ in their columns alone share a line.
    """
    answers = certificate.answers
    shared = CommonClause.of([answer.name for answer in answers])
    first = (shared.line,) if shared else ()
    each = zip(answers, notes(certificate).each, strict=True)
    lines = [
        (shared.without(answer.name), "; ".join((*filter(None, [shared.beside(answer.estimand)]), *own)))
        for answer, own in each
    ]
    told = [(name, text) for name, text in lines if text]
    if len(told) > NAMED:
        told = sharing_lines(told, tuple(certificate.heading["columns"]))
    return (*first, *told)


def _told(certificate: CertificateRecord) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Each text with the places of its answers; none for a text of the whole release."""
    answers = certificate.answers
    every = dict.fromkeys([*certificate.heading["caveats"], *(text for one in answers for text in one.caveats)])
    found: dict[str, list[int]] = {}
    for text in every:
        of = [place for place, answer in enumerate(answers) if text in answer.caveats]
        if not of:
            found.setdefault(text, [])
        for place in of:
            found.setdefault(_beside(text, answers[place].estimand), []).append(place)
    yield from ((text, tuple(places)) for text, places in found.items() if text)


def _beside(text: str, estimand: str) -> str:
    """The part of a caveat that the estimand beside it does not say: not its bounds, the cap, or which rows count."""
    bounds, cap = BOUNDS.fullmatch(text), CAP.fullmatch(text)
    if bounds is not None:
        named = bounds[1] in estimand and f"values cut to {bounds[2]}" in estimand
        return "" if named or EVERY in estimand else text
    if cap is not None and re.search(rf"\bat most {cap[1]}( rows)? of each person", estimand):
        return LIKENESS if cap[2] else ""
    return in_short(text) if ", among rows with " in estimand else text


def _attributed(text: str, places: tuple[int, ...], names: Sequence[str]) -> str:
    if len(places) in (0, len(names)):
        return text
    return f"{first_of((names[place] for place in places), MOST_NAMES)}: {text}"


__all__ = ["Notes", "lines_of", "notes"]
