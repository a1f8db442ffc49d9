"""Remedies for the no replies of a release, from its certificate alone: epsilon, bounds, questions, groups, rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from reticent.certificate.record import CertificateRecord
from reticent.outcome import NoReply
from reticent.statistics.answer import Answer
from reticent.statistics.public_facts import CLAUSES, SEPARATELY, remedies_of
from reticent.statistics.shares import DECLARED

_RANKS: Final = re.compile(r"(median|quantiles?|iqr)\((?!.*(per|method|mode)=)")  # which may be of each person's mean
UNREAD: Final = "Most cells behind it could not be read, as the note on them says"


def cause(certificate: CertificateRecord) -> str:
    """The reason for the no replies of a release, as far as a released share tells one."""
    return UNREAD if _unread(certificate) else "It could not be shown that no one person matters"


def _unread(certificate: CertificateRecord) -> bool:
    """True if every silent answer has a released share of cells that says that most of them could not be read."""
    silent = [one for one in certificate.answers if any(isinstance(cell.outcome, NoReply) for cell in one)]
    return bool(silent) and all(any(DECLARED in text for text in one.caveats) for one in silent)


def likelier(certificate: CertificateRecord) -> list[str]:
    """Public facts that would make replies likelier, in words; none where every answer has its numbers."""
    silent = [one for one in certificate.answers if any(isinstance(cell.outcome, NoReply) for cell in one)]
    if not silent:
        return []
    larger = "a larger ε" if certificate.heading["charged"].get("delta", "0") == "0" else "a larger ε or δ"
    helps = remedies_of(
        unbounded=_unbounded(certificate, silent),
        grouped=any(_clauses(one)[2] for one in silent),
        questions=len(certificate.answers),
        rows=certificate.guarantee.adjacency.rows,
    )
    several = certificate.guarantee.adjacency.rows > 1
    ranks = [one.name for one in silent if several and _RANKS.match(_clauses(one)[0])]
    alone = [f"{_of_persons(ranks[0])}, which is about the mean of each person"] if ranks else []
    jointly = ["method=joint"] if any(SEPARATELY in one.caveats for one in silent) else []
    readable = ["a declaration of how those cells are written"] if _unread(certificate) else []
    return [*readable, larger, *alone, *jointly, *helps]


def _clauses(answer: Answer) -> Sequence[str]:
    """The text of a question without its clauses, its filter, and its groups."""
    match = CLAUSES.fullmatch(answer.name)
    return (answer.name, "", "") if match is None else match.groups(default="")


def _of_persons(question: str) -> str:
    """The whole question about the mean of each person, with its filter and its groups."""
    match = CLAUSES.fullmatch(question)
    call = question if match is None else match[1]
    return f"{call.removesuffix(')')}, per=person){question[len(call) :]}"


def _unbounded(certificate: CertificateRecord, silent: Sequence[Answer]) -> list[str]:
    """Columns of numbers without bounds that these answers are about."""
    texts = [_clauses(one)[0] for one in silent]
    return [
        name
        for name, declared in certificate.heading.get("columns", {}).items()
        if declared["kind"] in ("real", "integer") and None in (declared.get("low"), declared.get("high"))
        if any(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.=])", text) for text in texts)
    ]
