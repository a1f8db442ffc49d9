"""Documents for an officer: the checklist before a signature, and the entry of a public registry.

Both are drawn from the certificate alone. What it cannot know is said, not guessed: an empty line in a checklist reads
like a tick.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from reticent.certificate.record import NOT_DURABLE, UNSIGNED, CertificateRecord, audit_words
from reticent.certificate.summary import methods, parameters, subject
from reticent.errors import PublicParameterError
from reticent.privacy.convert import epsilon_delta
from reticent.privacy.explain import odds
from reticent.privacy.loss import words
from reticent.privacy.numbers import at_most, percent_most

TIERS: Final = {
    1: ("name", "description", "organisation", "contact", "date", "data_source", "publication"),
    2: ("flavour", "model", "unit", "neighbours", "parameters", "people"),
    3: ("accounting", "budget", "mechanisms", "implementation", "justification", "hyperparameters", "audit"),
}


def checklist(certificate: CertificateRecord) -> str:
    """The questions in the order of NIST SP 800-226, each with what the certificate says or cannot say."""
    sections = {
        "1 Parameters": _parameters,
        "2 Unit of privacy": _unit,
        "3 What could undermine it": _undermining,
        "4 Collection of the data": _collection,
    }
    blocks = ["\n".join([title, *(f"  {line}" for line in lines(certificate))]) for title, lines in sections.items()]
    return "\n\n".join(blocks) + "\n"


def _parameters(certificate: CertificateRecord) -> Iterator[str]:
    document, tree = certificate.heading, certificate.guarantee
    epsilon, _ = epsilon_delta(tree.loss)
    spent, approved = certificate.spent, certificate.approved
    yield f"[x] loss of this release: {words(tree.loss)}; odds about one person change by at most {_factor(epsilon)}"
    yield f"[x] so far: {words(spent)} of the approved {words(approved)}"
    yield f"[x] if all of it is spent: at most {_factor(epsilon_delta(approved)[0])}"
    yield _told("approval", document["study"]["approved"])
    yield _told("ends", document["study"]["ends"])
    if document.get("override"):
        yield f"[!] the limit on one release was lifted: {document['override']}"
    yield "[ ] whether this loss is acceptable for these people is a judgement; the certificate cannot make it"


def _unit(certificate: CertificateRecord) -> Iterator[str]:
    document, adjacency = certificate.heading, certificate.guarantee.adjacency
    people = document["people"]
    yield f"[x] neighbours: {adjacency.words()}"
    yield f"[x] number of people: {f'{people:,}, public or declared' if people else 'not declared, kept private'}"
    if chosen := document.get("cap"):
        yield f"[x] at most {chosen['rows']} rows of one person are used, a cap that was chosen privately"
    elif adjacency.rows > 1:
        yield f"[x] at most {adjacency.rows} rows of one {adjacency.who} are used; the rest are left out"
    yield "[ ] that every person is one value of the person column (no second identifier) is the curator's word"
    yield "[ ] families or others whose records go together are protected less: epsilon times their number"


def _undermining(certificate: CertificateRecord) -> Iterator[str]:
    document = certificate.heading
    yield f"[x] mechanisms: {methods(certificate.guarantee)}; each loss can be derived again with verify"
    for one in document.get("extensions", ()):
        yield f"[ ] {one['module']} {one['version']} is code of a third party: its proofs are its author's word"
    unexplained = [name for name, column in document["columns"].items() if column.get("low") and not column.get("why")]
    for name in unexplained:
        yield f"[!] the bounds of {name} have no reason: bounds taken from the file would be one person's value"
    if certificate.kind == "model" and not document["columns"]:
        yield "[ ] bounds were named in a program: that they were known without the rows is its writer's word"
    if document["columns"] and not unexplained:
        yield "[x] every bound has a reason in its own words; whether it is true the certificate cannot know"
    yield "[x] the charge outlives the program" if certificate.durable else f"[!] {NOT_DURABLE}"
    yield "[x] signed; verify says by whom" if certificate.signed else f"[!] {UNSIGNED}"
    if document["audit"] is None:
        yield "[ ] no audit of the running program is attached"
    else:
        mark = "x" if document["audit"]["verdict"] == "passed" else "!"
        yield f"[{mark}] {audit_words(document['audit'])}, before the release; it can refute and cannot prove"
    yield "[ ] a copy of the file under another ledger, or the same people in another study, would add to the loss"
    yield "[ ] time, memory and other side channels of the machine are not covered by the guarantee"


def _collection(certificate: CertificateRecord) -> Iterator[str]:
    document = certificate.heading
    yield f"[x] source: {document['study']['source']}; study: {document['study']['title']}"
    if of := subject(certificate):
        yield f"[x] let out: {of}"
    for caveat in certificate.caveats:
        yield f"[!] {caveat}"
    yield "[ ] how the data were collected, with what consent, and who can read the raw file: not in a certificate"
    yield "[ ] the privacy of the raw file, its copies and its logs is not what differential privacy protects"


def _told(name: str, value: str | None) -> str:
    return f"[x] {name}: {value}" if value else f"[!] {name}: not stated"


def _factor(epsilon: Fraction) -> str:
    """``×2.72 (10 % becomes at most 23.2 %)``."""
    seen = odds(epsilon, 0.1)
    return f"×{at_most(seen.factor)} (10 % becomes at most {percent_most(seen.high)})"


def registry(certificate: CertificateRecord, tier: int) -> dict[str, object]:
    """Every field of the tiers up to ``tier``; null, and named as missing, where the certificate does not know."""
    if tier not in TIERS:
        raise PublicParameterError(f"tier is 1, 2 or 3, got {tier}")
    known = _known(certificate)
    names = [name for level in range(1, tier + 1) for name in TIERS[level]]
    entry = {name: known.get(name) for name in names}
    return {"tier": tier, **entry, "missing": [name for name in names if entry[name] is None]}


def _known(certificate: CertificateRecord) -> dict[str, object]:
    document, tree = certificate.heading, certificate.guarantee
    return {
        "name": document["study"]["title"] or None,
        "description": document["purpose"] or document["name"] or None,
        "date": document["when"],
        "data_source": document["study"]["source"],
        "flavour": type(tree.loss).__name__,
        "model": "local" if tree.adjacency.kind == "local" else "central",
        "unit": tree.adjacency.who,
        "neighbours": tree.adjacency.words(),
        "parameters": document["charged"],
        "people": document["people"],
        "accounting": f"{tree.by.statement} [{tree.by.source}]",
        "budget": document["budget"],
        "mechanisms": methods(tree),
        "implementation": document["software"],
        "justification": document["study"]["approved"],
        "hyperparameters": parameters(certificate),
        "audit": document["audit"],
    }
