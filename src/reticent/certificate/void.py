"""Void certificates: kinds that earlier versions issued and that claim more than was proved.

A certificate is void where its own document shows that the charge may be too small. ``verify`` fails it, with the
reason, whatever its signature and its ledger say. Void is a statement about the claim: the answers were drawn, and the
ledger holds less than they cost.

To add a kind, append a ``VoidKind`` to ``KINDS``. Its predicate reads the certificate alone: what it is of, the version
of the program (``document["software"]``), theorem names, parameters. It is true where a charge that is too small cannot
be ruled out. A golden certificate in tests/golden shows one of the kind, and one beside it that stays valid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from reticent.certificate.record import CertificateRecord
from reticent.errors import PublicParameterError
from reticent.exact.rounding import round_down
from reticent.privacy.compose import ONE_OF
from reticent.privacy.loss import ZCDP
from reticent.privacy.numbers import read


@dataclass(frozen=True, slots=True)
class VoidKind:
    """A kind of certificate that is void.

    Attributes
    ----------
    name : str
        What the certificates are of, for the changelog and the documentation.
    reason : str
        One sentence that ``verify`` prints.
    holds : callable
        Whether a certificate is of this kind.
    """

    name: str
    reason: str
    holds: Callable[[CertificateRecord], bool]


def reasons(certificate: CertificateRecord) -> tuple[str, ...]:
    """Every reason for which ``certificate`` is void; empty for one that is not."""
    return tuple(kind.reason for kind in KINDS if kind.holds(certificate))


# --- grid searches in rho ---------------------------------------------------------------------------------------------

REFITTED: Final = Fraction(2, 5)  # share of the epsilon of a search that its refit had


def _grid_search_in_rho(certificate: CertificateRecord) -> bool:
    """Tell if an uncharged refit may cost more in rho than the charged one.

    Version 0.1.0 charged the refit with the largest epsilon; later ones charge ``one_of`` all, as their proof shows.
    That one refit covers every other where there is one candidate, and where its rho is epsilon^2 / 2, which no pure
    refit exceeds. Beyond these the certificate cannot tell.
    """
    document, tree = certificate.heading, certificate.guarantee
    model: dict[str, Any] = document.get("model") or {}
    if model.get("what") != "grid search" or "rho" not in document["charged"]:
        return False
    if tree.parts and tree.parts[-1].by.name == ONE_OF.name:  # the maximum of all refits, in rho
        return False
    if len(tree.parts) <= 3:  # one candidate trained, chosen and refitted
        return False
    try:
        epsilon = round_down(REFITTED * read(model["parameters"]["epsilon"], "epsilon"), 9)
        delta = read(model["parameters"]["delta"], "delta")
    except (KeyError, TypeError, PublicParameterError):
        return True
    match tree.parts[-1].loss:
        case ZCDP(rho):
            return delta > 0 or rho < epsilon**2 / 2
        case _:
            return True


# --- the list ---------------------------------------------------------------------------------------------------------

KINDS: Final = (
    VoidKind(
        "GridSearchCV of two or more candidates, charged to a ledger in rho by version 0.1.0",
        "the refit with the largest ε was charged, and another refit of the grid may have cost more ρ",
        _grid_search_in_rho,
    ),
)


__all__ = ["KINDS", "VoidKind", "reasons"]
