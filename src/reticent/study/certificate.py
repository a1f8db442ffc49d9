"""The certificate: what was let out, at what price, by which proof, signed, and checkable by a stranger.

Of a release the answers, of a model its numbers, of a session its transcript.

    document --of--> Certificate --sign--> Certificate --to_json--> file --read_certificate--> Certificate --verify

A certificate is immutable text. Its digest is the SHA-256 of its canonical JSON without the signature, so the ledger
can hold the digest before an officer signs. Nothing in a file is believed because it says so: the form is checked when
it is read, the losses are derived again from the leaves of the proof when it is verified.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from reticent.errors import CheckError, PublicParameterError
from reticent.ledger import Ledger
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy import explain, record
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import Loss, from_json, words
from reticent.statistics.answer import Answer, Cell, IncompleteRows
from reticent.study import form
from reticent.study.checks import Verification, nodes, verified

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from matplotlib.figure import Figure

    from reticent.synthesis.density import Density

Kind: TypeAlias = Literal["release", "model", "session"]
NOT_DURABLE: Final = "The ledger of this release was not durable: it ended with the program that held it."


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate, version 1 or 2. Make one with ``Certificate.of`` or ``read_certificate``.

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
    def kind(self) -> Kind:
        """What it is of: ``"release"``, ``"model"`` or ``"session"``."""
        document = self.document
        return "release" if document["version"] == 1 else cast(Kind, document["kind"])  # checked when it was read

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
                str(found.get("estimand", "")),
                _incomplete(found.get("incomplete")),
            )
            for found in self.document["answers"]
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """Every caveat, of the release and of its answers, each once; those of a test, of several answers, by name."""
        answers = self.answers
        found = [*self.document["caveats"]]
        for answer in answers:
            own = [text for text in answer.caveats if text not in found]
            if len(answers) > 1 and answer.name.startswith("test(") and own:
                found.append(f"{answer.name}: {'; '.join(own)}")
            else:
                found += own
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
        return json.dumps(form.ordered(self.document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write it to ``path``: the certificate itself where that ends in .json, its page where it ends in .html.

        Raises
        ------
        PublicParameterError
            For another ending.
        """
        from reticent.study.page import page

        file = Path(path)
        if file.suffix not in (".json", ".html"):
            raise PublicParameterError(f"a certificate is saved as .json or .html, not as '{file.suffix}'")
        file.write_text(self.to_json() if file.suffix == ".json" else page(self), encoding="utf-8")
        return file

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
        return verified(self, opened, key, allow_unsigned)

    def explain(self, prior: float = 0.1) -> str:
        """What the release means for one person, in odds, for someone who believed with probability ``prior``."""
        from reticent.study import void
        from reticent.study.parts import subject

        document, tree = self.document, self.guarantee
        budget = document["budget"]
        lines = explain.meaning(
            tree.loss,
            tree.adjacency,
            prior=prior,
            spent=from_json(budget["spent"]),
            budget=from_json(budget["approved"]),
        )
        of = subject(self)
        more = [f"What was let out: {of}."] if of else []
        more.append(f"Why: {methods(tree)}; each theorem is listed with --proof.")
        if document.get("override"):
            more.append(f"The limit on the loss of one release was lifted, with this reason: {document['override']}")
        if not self.durable:
            more.append(NOT_DURABLE)
        withdrawn = [f"This certificate is void: {reason}. What follows was claimed." for reason in void.reasons(self)]
        return "\n".join([*withdrawn, *lines, *more])

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
        "estimand": answer.estimand,
        "caveats": list(answer.caveats),
        "cells": [cell_to_json(cell) for cell in answer],
        "incomplete": incomplete_to_json(answer.incomplete),
        **law,
    }


def incomplete_to_json(found: IncompleteRows | None) -> dict[str, object] | None:
    """The share of incomplete rows beside an answer; "left_out" where the plan said that none is told."""
    if found is None:
        return None
    told = {"outcome": "left_out"} if found.outcome is None else cell_to_json(Cell((), found.outcome))
    return {"columns": list(found.columns), **{name: value for name, value in told.items() if name != "label"}}


def methods(tree: Guarantee) -> str:
    """``geometric (6 parts), exponential (2 parts)``: what the leaves of a proof are."""
    counted = Counter(leaf.by.name.replace("_", " ") for leaf in nodes(tree) if not leaf.parts)
    return ", ".join(f"{name} ({count} {'part' if count == 1 else 'parts'})" for name, count in counted.items())


def _density(found: dict[str, Any]) -> Density | None:
    from reticent.synthesis.density import from_json as density_from_json

    return density_from_json(json.dumps(found["density"])) if found.get("density") is not None else None


def _incomplete(found: dict[str, Any] | None) -> IncompleteRows | None:
    if found is None:
        return None
    outcome = None if found["outcome"] == "left_out" else _cell({**found, "label": []}).outcome
    return IncompleteRows(tuple(found["columns"]), outcome)


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
