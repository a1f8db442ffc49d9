"""The certificate of a release: what was answered, at what price, by which proof, signed, and checkable by a stranger.

    document --of--> Certificate --sign--> Certificate --to_json--> file --read_certificate--> Certificate --verify

A certificate is immutable text. Its digest is the SHA-256 of its canonical JSON without the signature, so the ledger
can hold the digest before an officer signs. Nothing in a file is believed because it says so: the form is checked when
it is read, the losses are derived again from the leaves of the proof when it is verified.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reticent.errors import CheckError, LedgerError, PublicParameterError
from reticent.ledger import Ledger
from reticent.ledger.events import Committed, Reserved
from reticent.mechanisms import axiom_again
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy import compose, convert, explain, filters, ptr, record
from reticent.privacy.groups import largest
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP, Loss, from_json, words
from reticent.statistics.answer import Answer, Cell
from reticent.study import form

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from matplotlib.figure import Figure

    from reticent.synthesis.density import Density

NOT_DURABLE: Final = "The ledger of this release was not durable: it ended with the program that held it."
UNSIGNED: Final = "unsigned: nothing ties this certificate to an officer"
RUN: Final = "reticent audit STUDY"
LIMIT: Final = 1000  # the largest epsilon, and the largest group with delta > 0, that is derived again
ONE_PART: Final = {
    compose.GROUP.name,
    compose.PROCESSED.name,
    *convert.NAMES,
}


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a certificate: what was checked, whether it holds, and in words."""

    name: str
    ok: bool
    words: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Every check that was made. ``ok`` is that all of them hold."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(check.words for check in self.checks)

    def __str__(self) -> str:
        return " · ".join(self.lines)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate, version 1. Make one with ``Certificate.of`` or ``read_certificate``.

    Attributes
    ----------
    text : str
        Its canonical JSON, the signature included.
    """

    text: str

    def __post_init__(self) -> None:
        document = form.parsed(self.text)
        form.well_formed(document)
        _readable(document)

    @classmethod
    def of(cls, document: dict[str, object]) -> Certificate:
        """The certificate with this content.

        Raises
        ------
        CheckError
            When a field is missing, has another form, or holds NaN or an infinity.
        """
        try:
            return cls(form.canonical(document).decode())
        except (TypeError, ValueError, RecursionError):
            raise CheckError("This certificate is malformed: it holds something that is not JSON.") from None

    # content

    @property
    def document(self) -> dict[str, Any]:
        """The content as JSON values; a copy, so changing it changes nothing here."""
        return dict(json.loads(self.text))

    @property
    def canonical(self) -> bytes:
        """The bytes that are signed and whose digest the ledger holds: everything but the signature."""
        return form.canonical({name: value for name, value in self.document.items() if name != "signature"})

    @property
    def digest(self) -> str:
        """SHA-256 of ``canonical``, as hex."""
        return hashlib.sha256(self.canonical).hexdigest()

    @property
    def guarantee(self) -> Guarantee:
        """The proof as stated; ``verify`` derives it again."""
        return record.from_json(self.document["guarantee"])

    @property
    def charged(self) -> Loss:
        """What the ledger was charged, in its currency."""
        return from_json(self.document["charged"])

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers as the release gave them."""
        return tuple(
            Answer(
                str(found["name"]),
                tuple(_cell(cell) for cell in found["cells"]),
                tuple(found["caveats"]),
                bool(found["discrete"]),
                _density(found),
            )
            for found in self.document["answers"]
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """Every caveat, of the release and of its answers, each once."""
        found = [*self.document["caveats"], *(text for answer in self.answers for text in answer.caveats)]
        return tuple(dict.fromkeys(found))

    @property
    def signed(self) -> bool:
        return self.document["signature"] is not None

    @property
    def durable(self) -> bool:
        return bool(self.document["ledger"]["durable"])

    # writing

    def sign(self, private: Ed25519PrivateKey) -> Certificate:
        """The same certificate with an Ed25519 signature; an earlier signature is replaced, the digest is the same."""
        signature = {
            "algorithm": "Ed25519",
            "public_key": private.public_key().public_bytes_raw().hex(),
            "value": private.sign(self.canonical).hex(),
        }
        return Certificate.of({**self.document, "signature": signature})

    def to_json(self) -> str:
        """The file: indented, in the order a person reads."""
        document = self.document
        known = [name.removesuffix("?") for name in form.DOCUMENT]
        ordered = {name: document[name] for name in [*known, *sorted(set(document) - set(known))] if name in document}
        return json.dumps(ordered, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    # reading

    def verify(
        self,
        ledger: Ledger | str | Path | None = None,
        key: bytes | str | Path | None = None,
        *,
        allow_unsigned: bool = False,
    ) -> Verification:
        """Check the signature, the ledger's entry, the chain, and derive every loss again.

        An audit that is stated is compared with itself and with the answers; it is not run again.

        Parameters
        ----------
        ledger : Ledger or path, optional
            The ledger that was charged. Without it the entry is not looked up, and the words say so.
        key : 32 bytes or path, optional
            The officer's public key. Without it a signature proves nothing about who signed: that counts as unsigned.
        allow_unsigned : bool
            Accept a certificate that is unsigned, or whose signer is not checked. A wrong signature always fails.

        Raises
        ------
        CheckError, LedgerError
            When the key file or the ledger file cannot be read at all.
        """
        opened = ledger if ledger is None or isinstance(ledger, Ledger) else Ledger.open(ledger)
        signature = _signature(self, key, allow_unsigned)
        return Verification((signature, *_in_ledger(self, opened), *_derivation(self), *_audit(self)))

    def explain(self, prior: float = 0.1) -> str:
        """What the release means for one person, in odds, for someone who believed with probability ``prior``."""
        document, tree = self.document, self.guarantee
        budget = document["budget"]
        lines = explain.meaning(
            tree.loss,
            tree.adjacency,
            prior=prior,
            spent=from_json(budget["spent"]),
            budget=from_json(budget["approved"]),
        )
        more = [f"Why: {methods(tree)}; each theorem is listed with --proof."]
        if document.get("override"):
            more.append(f"The limit on the loss of one release was lifted, with this reason: {document['override']}")
        if not self.durable:
            more.append(NOT_DURABLE)
        return "\n".join([*lines, *more])

    def proof(self) -> str:
        """The outline of the proof: each part, its loss, its theorem and the source."""
        return explain.outline(self.guarantee)

    def checklist(self) -> str:
        """The officer's questions in the order of NIST SP 800-226, with what this certificate can and cannot answer."""
        from reticent.study.review import checklist

        return checklist(self)

    def to_registry(self, tier: int = 3) -> dict[str, object]:
        """An entry for a registry of deployments, by tier 1 to 3; what the certificate does not know is null."""
        from reticent.study.review import registry

        return registry(self, tier)

    def odds_plot(self, path: str | Path | None = None) -> Figure:
        """What was believed on x, the least and most believed afterwards on y.

        One band for this release, one for everything released so far, one for the whole budget. With ``path`` the
        figure is saved too, in the format of its ending: .svg, .png or .pdf.
        """
        from reticent.study import odds

        bands = odds.of(self)
        if path is not None:
            bands.save(path)
        return bands.plot()

    def __repr__(self) -> str:
        state = "signed" if self.signed else "unsigned"
        return f"<Certificate {self.document['release']}, {words(self.charged)}, {state}>"


def read_certificate(source: str | Path) -> Certificate:
    """The certificate in a file, or in JSON text that begins with ``{``.

    Raises
    ------
    CheckError
        When it cannot be read, is larger than 64 MiB, or is not a certificate of this version.
    """
    if isinstance(source, str) and source.lstrip().startswith("{"):
        text = source
    else:
        try:
            with Path(source).open("rb") as opened:
                text = opened.read(form.LARGEST + 1).decode("utf-8")
        except UnicodeDecodeError:
            raise CheckError("This is not a certificate: it is not UTF-8 text.") from None
        except (OSError, ValueError):
            raise CheckError(f"The certificate {source} cannot be read.") from None
    if len(text) > form.LARGEST:
        raise CheckError("This is not a certificate: it is larger than 64 MiB.")
    return Certificate.of(form.parsed(text))


def cell_to_json(cell: Cell) -> dict[str, object]:
    """One cell as a certificate holds it. A no reply has nothing but its label."""
    label = [[name, key] for name, key in cell.label]
    match cell.outcome:
        case Reply(Estimate(value, low, high, noise, sampling, level)):
            numbers = {"value": value, "low": low, "high": high, "noise": noise, "sampling": sampling, "level": level}
            return {"label": label, "outcome": "reply", **numbers}
        case _:
            return {"label": label, "outcome": "no_reply"}


def answer_to_json(answer: Answer) -> dict[str, object]:
    """One answer as a certificate holds it."""
    law = {} if answer.density is None else {"density": json.loads(answer.density.to_json())}
    return {
        "name": answer.name,
        "discrete": answer.discrete,
        "caveats": list(answer.caveats),
        "cells": [cell_to_json(cell) for cell in answer],
        **law,
    }


def methods(tree: Guarantee) -> str:
    """``geometric (6 parts), exponential (2 parts)``: what the leaves of a proof are."""
    counted = Counter(leaf.by.name.replace("_", " ") for leaf in _nodes(tree) if not leaf.parts)
    return ", ".join(f"{name} ({count} {'part' if count == 1 else 'parts'})" for name, count in counted.items())


def _density(found: dict[str, Any]) -> Density | None:
    from reticent.synthesis.density import from_json as density_from_json

    return density_from_json(json.dumps(found["density"])) if found.get("density") is not None else None


def _cell(found: dict[str, Any]) -> Cell:
    label = tuple((str(name), key) for name, key in found["label"])
    if found["outcome"] == "no_reply":
        return Cell(label, NO_REPLY)
    numbers = (found[name] for name in ("value", "low", "high", "noise", "sampling", "level"))
    return Cell(label, Reply(Estimate(*(float(number) for number in numbers))))


def _readable(document: dict[str, Any]) -> None:
    """Refuse losses, neighbours or proofs that have the right form but no meaning, such as a delta of 7."""
    budget = document["budget"]
    try:
        record.from_json(document["guarantee"])
        record.adjacency_from_json(document["adjacency"])
        for fields in (document["charged"], budget["approved"], budget["spent"], budget["left"]):
            from_json(fields)
        for answer in document["answers"]:
            _density(answer)
    except (PublicParameterError, KeyError, TypeError, ValueError):
        raise CheckError("This certificate is malformed: a loss or its neighbours have no meaning.") from None


# checks


def _signature(certificate: Certificate, key: bytes | str | Path | None, allow_unsigned: bool) -> Check:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from reticent.study.keys import load_public

    public = load_public(key) if isinstance(key, str | Path) else key
    if public is not None and len(public) != 32:
        raise CheckError("A public key of Ed25519 has 32 bytes.")
    stated = certificate.document["signature"]
    if stated is not None and set(stated) != {"algorithm", "public_key", "value"}:
        return Check("signature", False, "signature wrong: it holds fields that nobody signed")
    if stated is None:
        return Check("signature", allow_unsigned, UNSIGNED)
    signer = bytes.fromhex(stated["public_key"])
    name = Path(key).name if isinstance(key, str | Path) else f"key {stated['public_key'][:16]}…"
    try:
        Ed25519PublicKey.from_public_bytes(signer).verify(bytes.fromhex(stated["value"]), certificate.canonical)
    except (InvalidSignature, ValueError):
        return Check("signature", False, "signature wrong: the certificate was changed after it was signed")
    if public is None:
        return Check(
            "signature", allow_unsigned, f"signed by {name}, but whose key that is was not checked: no key was given"
        )
    if public != signer:
        return Check("signature", False, f"signature by another key than {name}")
    return Check("signature", True, f"signature ok (Ed25519, {name})")


def _in_ledger(certificate: Certificate, ledger: Ledger | None) -> Iterator[Check]:
    document = certificate.document
    if ledger is None:
        yield Check("ledger", True, "no ledger given: the entry was not looked up")
        return
    release, stated = document["release"], document["ledger"]["entry"]
    try:
        problems = ledger.verify()
        entries = () if problems else ledger.entries()
    except LedgerError as problem:
        problems, entries = (str(problem),), ()
    if problems:
        yield Check("chain", False, f"ledger chain broken: {problems[0]}")
        return
    charges = [e for e in entries if isinstance(e.event, Reserved) and e.event.id == release and e.digest == stated]
    ends = [e.event.digest for e in entries if isinstance(e.event, Committed) and e.event.id == release]
    if not charges:
        yield Check("entry", False, f"entry {release} not found in this ledger")
    elif ends != [certificate.digest]:
        why = "digest differs" if ends else "no certificate was recorded for it"
        yield Check("entry", False, f"entry {release} found, {why}")
    else:
        yield Check("entry", True, f"entry {release} found, digest equal")
    yield Check("chain", True, "ledger chain ok")
    yield from (_totals(certificate, ledger, entry.event) for entry in charges if isinstance(entry.event, Reserved))


def _totals(certificate: Certificate, ledger: Ledger, event: Reserved) -> Check:
    """Charge and neighbours are the ledger's. Others may have charged since, so spent is at least the entry's."""
    document = certificate.document
    if event.charge != certificate.charged:
        return Check("charge", False, f"charge differs: the ledger says {words(event.charge)}")
    if ledger.adjacency != certificate.guarantee.adjacency:
        return Check("charge", False, f"neighbours differ: the ledger says {ledger.adjacency.words()}")
    spent = filters.parts(from_json(document["budget"]["spent"]))
    if any(mine < theirs for mine, theirs in zip(spent, filters.parts(event.spent), strict=True)):
        return Check("charge", False, "total differs: the certificate says less was spent than the ledger")
    return Check("charge", True, "charge and neighbours equal")


def _derivation(certificate: Certificate) -> Iterator[Check]:
    """Every loss again from the leaves, then against the charge; the neighbours of the root against the stated ones."""
    document, tree = certificate.document, certificate.guarantee
    try:
        _derivable(tree)
        derived = compose.rederive(tree, axiom_again)
    except CheckError as problem:
        yield Check("losses", False, f"losses not derived: {problem}")
    except (PublicParameterError, ValueError, ArithmeticError, LookupError, RecursionError):
        yield Check("losses", False, "losses not derived: the numbers of the proof do not fit its theorems")
    else:
        same = certificate.charged in (derived, _entered(derived, from_json(document["budget"]["approved"])))
        ending = "equal" if same else f"not equal to the charge {words(certificate.charged)}"
        yield Check("losses", same, f"losses re-derived: {words(derived)} {ending}")
    honest = document["adjacency"] == record.adjacency_to_json(tree.adjacency) and _own_words(document["guarantee"])
    yield Check("neighbours", honest, "neighbours equal" if honest else "neighbours differ from those of the proof")


def _audit(certificate: Certificate) -> Iterator[Check]:
    """Whether a stated plan audit is one of these answers and passed. Running it again takes the study file."""
    document = certificate.document
    stated = document["audit"]
    if stated is None:
        return
    names, asked = [one["name"] for one in stated["answers"]], [answer["name"] for answer in document["answers"]]
    shares = [stated["greatest_share_of_loss"], *(one["ratio"] for one in stated["answers"])]
    if stated["verdict"] != "passed" or stated["findings"] or stated["findings_in_all"]:
        yield Check("audit", False, "plan audit: it found an error in what was released")
    elif names[: len(asked)] != asked or len(names) > len(asked) + 1:
        yield Check("audit", False, "plan audit: it is of another plan than that of these answers")
    elif (
        any(share is not None and not 0 <= share <= 1 for share in shares)
        or sum(one["calls"] for one in stated["answers"]) != stated["noise_calls"]
        or source_of(stated) is None
    ):
        yield Check("audit", False, "plan audit: its numbers do not fit each other")
    else:
        source = f", by a program of source sha256 {source_of(stated)}" if source_of(stated) else ""
        yield Check("audit", True, f"stated, not run again: {audit_words(stated)}{source}; to run it: {RUN}")


def source_of(stated: dict[str, Any]) -> str | None:
    """The digest of the source that ran an audit; empty where none is stated, None where it is no digest."""
    source = stated.get("source", "")
    return source if isinstance(source, str) and re.fullmatch(f"({form.HEX})?", source) else None


def audit_words(stated: dict[str, Any]) -> str:
    """``plan audit passed: 50 made-up pairs of neighbours, 342 noise calls``, from the numbers."""
    return (
        f"plan audit {stated['verdict']}: {stated['triples']:,} made-up pairs of neighbours, "
        f"{stated['noise_calls']:,} noise calls"
    )


def _derivable(tree: Guarantee) -> None:
    """What ``rederive`` takes for granted: one part where the theorem has one, and numbers that can be worked with."""
    try:
        ptr.chargeable(tree)
    except PublicParameterError as problem:
        raise CheckError(str(problem)) from None
    for node in _nodes(tree):
        if node.by.name in ONE_PART and len(node.parts) != 1:
            raise CheckError(f"'{node.by.name}' is about one part, and here are {len(node.parts)}")
        if largest(node.loss) > LIMIT:
            raise CheckError(f"a loss above {LIMIT} protects no one and is not derived")
        if node.by.name == compose.GROUP.name:
            size = int(node.parameter("size"))
            if size > LIMIT and isinstance(node.loss, ApproxDP):
                raise CheckError(f"groups of more than {LIMIT} with δ > 0 are not derived")


def _nodes(tree: Guarantee) -> Iterator[Guarantee]:
    yield tree
    for part in tree.parts:
        yield from _nodes(part)


def _own_words(tree: dict[str, Any]) -> bool:
    """Whether the neighbours at every node are described in the words that belong to them."""
    stated = tree["adjacency"]
    return stated == record.adjacency_to_json(record.adjacency_from_json(stated)) and all(
        _own_words(part) for part in tree["parts"]
    )


def _entered(loss: Loss, budget: Loss) -> Loss | None:
    """``loss`` in the currency of ``budget``, if it has a price there."""
    try:
        return filters.enter(loss, budget)
    except PublicParameterError:
        return None
