"""Documents that a release writes of its answers, on a made-up ledger: the certificate and its renderings.

    paper = Paper.of(plan, schema)
    paper.write(answers, caveats)      the texts, which may depend on the answers and on public facts alone

Record-replay gives both neighbours the same noisy numbers, so these texts must be equal to the last letter. The one
thing that may differ is the time at which they were written; it is taken out, but only where a time stands there. The
page and its figure are not drawn: they are given a certificate and nothing else, and drawing takes a second.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from reticent.certificate import certificate, schema
from reticent.certificate.record import ReleaseMetadata
from reticent.certificate.render import page, tables
from reticent.ledger import Ledger, Receipt
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from reticent.study import release

if TYPE_CHECKING:
    from reticent.data.schema import Schema
    from reticent.statistics.answer import Answer
    from reticent.study.allocation import PreparedRelease

Written: TypeAlias = Mapping[str, str]

CLOCK: Final = "%Y-%m-%dT%H:%M:%SZ"
NEVER: Final = "0001-01-01T00:00:00Z"  # stands in for the time of writing
SHOWN: Final = 60


@dataclass(frozen=True, slots=True, eq=False)
class CertificateInputs:
    """All that is public and goes onto the paper: the plan, the schema, a ledger that was charged for it."""

    plan: PreparedRelease
    schema: Schema
    about: ReleaseMetadata
    receipt: Receipt
    ledger: Ledger

    @classmethod
    def of(cls, plan: PreparedRelease, schema: Schema) -> CertificateInputs | None:
        """None where no ledger takes the loss of the plan."""
        budget = _above(plan.guarantee.loss)
        if budget is None:
            return None
        ledger = Ledger.create(None, title="made up", adjacency=plan.guarantee.adjacency, budget=budget)
        about = ReleaseMetadata("made up", "audit", "audit", "audit", "made up", "", None, schema.person.people)
        return cls(plan, schema, about, release.charge(plan, ledger, about), ledger)

    def write(self, answers: tuple[Answer, ...], caveats: tuple[str, ...], *, files: bool = False) -> Written:
        """Each text by its name; with ``files`` also what is made of the certificate, which takes longer.

        The functions are looked up at every call, so that what runs is what a release would run.

        Parameters
        ----------
        answers : tuple of Answer
        caveats : tuple of str
            Of the whole release.
        files : bool
            True for the printed forms too.

        Returns
        -------
        dict of name to text
        """
        before = datetime.now(UTC)
        document = release.certified(self.plan, answers, caveats, self.schema, self.about, self.receipt, self.ledger)
        timeless = _timeless(document, before)
        if not files:
            return {"certificate": schema.canonical(timeless).decode()}
        made = certificate.Certificate.of(timeless)
        texts = {"certificate": made.text, "sheet": tables.sheet(made), "proof": made.proof()}
        if any(answer.cells for answer in answers):
            texts |= {"text": repr(release.Release(answers, caveats, made)), "table": page.fragment(made)}
        return texts | {"explanation": made.explain(), "checklist": made.checklist()}


def _above(loss: Loss) -> Loss | None:
    """A budget that ``loss`` fits into."""
    more = Fraction(1)
    match loss:
        case PureDP(epsilon):
            return PureDP(epsilon + more)
        case ApproxDP(epsilon, delta):
            return ApproxDP(epsilon + more, delta)
        case ZCDP(rho):
            return ZCDP(rho + more)
        case ApproxZCDP(rho, delta):
            return ApproxZCDP(rho + more, delta)
        case _:
            return None


def _timeless(document: dict[str, object], before: datetime) -> dict[str, object]:
    """The document without the time of writing, if what stands there is one between ``before`` and now."""
    stated = document.get("when")
    try:
        when = datetime.strptime(str(stated), CLOCK).replace(tzinfo=UTC)
    except ValueError:
        return document
    inside = before.replace(microsecond=0) <= when <= datetime.now(UTC)
    return {**document, "when": NEVER} if inside else document


IDS: Final = ("release", "entry", "digest", "receipt", "receipts")  # which certificate it is, and not what of


def said(document: Mapping[str, object], before: datetime) -> object:
    """Content of the certificate of a fit or a session, without its times and its numbers of the ledger."""
    return _unnumbered(_timeless(dict(document), before))


def _unnumbered(part: object) -> object:
    match part:
        case dict():
            return {name: _unnumbered(value) for name, value in part.items() if name not in IDS}
        case list():
            return [_unnumbered(value) for value in part]
        case _:
            return part


def first_difference(one: Written, other: Written) -> str:
    """First difference of two papers, in words: ``the certificate says 3 at people, and 4 on the other neighbour``."""
    for name in dict.fromkeys((*one, *other)):
        mine, theirs = one.get(name), other.get(name)
        if mine is None or theirs is None:
            return f"the {name} is written for one neighbour only"
        if mine != theirs and name == "certificate":
            where, a, b = next(_apart(json.loads(mine), json.loads(theirs), ""), ("its text", mine, theirs))
            return f"the certificate says {_brief(a)} at {where}, and {_brief(b)} on the other neighbour"
        if mine != theirs:
            lines = zip(mine.split("\n"), theirs.split("\n"), strict=False)
            a, b = next(((a, b) for a, b in lines if a != b), (mine, theirs))
            return f"the {name} says {_brief(a)}, and {_brief(b)} on the other neighbour"
    return "nothing differs"


def _apart(one: object, other: object, where: str) -> Iterator[tuple[str, object, object]]:
    match one, other:
        case dict(), dict():
            for name in dict.fromkeys((*one, *other)):
                yield from _apart(one.get(name), other.get(name), f"{where}.{name}" if where else str(name))
        case list(), list() if len(one) == len(other):
            for place, (a, b) in enumerate(zip(one, other, strict=True)):
                yield from _apart(a, b, f"{where}[{place}]")
        case _ if one != other:
            yield where, one, other
        case _:
            return


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
