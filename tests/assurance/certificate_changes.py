"""Changed copies of a certificate: each must fail to verify, by its signature or by the ledger where it has none.

check()      a line for each change, of certificates in epsilon and in rho
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import reticent as rt
from reticent.certificate.certificate import read_certificate
from reticent.certificate.verify import verify
from reticent.conformance.kit import CaseCheck, KitReport
from reticent.conformance.scratch_ledger import holds
from reticent.errors import ReticentError

if TYPE_CHECKING:
    from reticent.certificate.certificate import Certificate
    from reticent.ledger import Ledger

Document = dict[str, Any]  # a certificate as JSON

CASE: Final = "certificates, changed"
QUESTIONS: Final = ("count", "mean(x)", "sum(x)")


def check() -> KitReport:
    """All lines; nothing depends on chance."""
    return KitReport(tuple(_lines()))


def _lines() -> Iterator[CaseCheck]:
    for name, certificate, ledger in (("epsilon", *_in_epsilon()), ("rho", *_in_rho())):
        held = list(unnoticed(certificate, ledger))
        check = f"a changed copy is noticed, charged in {name}"
        yield CaseCheck(CASE, check, "fail" if held else "pass", "; ".join(held) or f"{len(CHANGES)} changes")


def _in_epsilon() -> tuple[Certificate, Ledger]:
    study = _study(9)
    return study.release(QUESTIONS, epsilon=3).certificate, study.ledger


def _in_rho() -> tuple[Certificate, Ledger]:
    study = _study(rt.ZCDP(Fraction(1, 2)))
    return study.release(QUESTIONS, rho="1/10").certificate, study.ledger


def _study(budget: int | rt.ZCDP) -> rt.Study:
    return rt.study({"x": [1, 2, 3, 4] * 25}, adjacency="add_remove", columns={"x": rt.integer(0, 9)}, budget=budget)


def unnoticed(certificate: Certificate, ledger: Ledger) -> Iterator[str]:
    """Changes whose copies verify, and what keeps the certificate itself from it.

    Parameters
    ----------
    certificate : Certificate
    ledger : Ledger
        That of its release.

    Yields
    ------
    str
        Words for each change.
    """
    key = Ed25519PrivateKey.generate()  # thrown away
    signed, public = certificate.sign(key), key.public_key().public_bytes_raw()
    for copy, officer in ((certificate, None), (signed, public)):
        if not holds(verify(read_certificate(copy.to_json()), ledger, officer, officer is None)):
            yield "nothing changed, and it does not verify"
    for place, (what, change) in enumerate(CHANGES):
        copy, officer = (signed, public) if place % 2 else (certificate, None)  # by its signature, or by the ledger
        document = json.loads(copy.to_json())
        if not change(document):
            yield f"{what}: nothing of that kind is in it"
            continue
        try:
            if holds(verify(read_certificate(json.dumps(document)), ledger, officer, officer is None)):
                yield what
        except ReticentError:
            continue


# --- changes that must be noticed -------------------------------------------------------------------------------------


def _halved(loss: Document) -> bool:
    """Half of a loss, in whatever it is stated."""
    for name in ("epsilon", "rho"):
        if loss.get(name) not in (None, "0"):
            loss[name] = f"{loss[name]}/2" if "/" not in loss[name] else f"{loss[name]}0"
            return True
    return False


def _charge(document: Document) -> bool:
    return _halved(document["charged"])


def _root(document: Document) -> bool:
    return _halved(document["guarantee"]["loss"])


def _everywhere(document: Document) -> bool:
    """The charge and the root alike, as one who lies would have it."""
    return _charge(document) and _root(document)


def _part(document: Document) -> bool:
    parts = document["guarantee"]["parts"]
    return bool(parts) and parts.pop() is not None


def _neighbours(document: Document) -> bool:
    for stated in (document["adjacency"], document["guarantee"]["adjacency"]):
        stated["kind"] = "substitute" if stated["kind"] == "add_remove" else "add_remove"
    return True


def _answer(document: Document) -> bool:
    for answer in document["answers"]:
        for cell in answer["cells"]:
            if cell.get("value") is not None:
                cell["value"] = cell["value"] / 2 or 1.0  # adding 1 leaves a large number what it is
                return True
    return False


def _spent(document: Document) -> bool:
    return _halved(document["budget"]["spent"])


def _release(document: Document) -> bool:
    document["release"] += "0"
    return True


CHANGES: Final[tuple[tuple[str, Callable[[Document], bool]], ...]] = (
    ("half the charge and half the loss", _everywhere),
    ("half the charge and half the loss", _everywhere),
    ("half the charge", _charge),
    ("another answer", _answer),
    ("another answer", _answer),
    ("half the loss at its root", _root),
    ("a part of its proof left out", _part),
    ("less spent", _spent),
    ("other neighbours", _neighbours),
    ("another entry of the ledger", _release),
)
