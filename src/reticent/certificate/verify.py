"""Checks of ``verify`` on a certificate: signature, ledger entries, chain, charge, losses re-derived, neighbours.

Nothing in a certificate is believed because it says so. What it let out, whatever it is of, stands behind one digest:
that of the whole certificate, which the ledger recorded when the last receipt was settled. A session has a receipt for
each round; the digests of the earlier rounds stand in the certificate and in the ledger.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final

from reticent.certificate import extension_check as theirs
from reticent.certificate import schema, void
from reticent.certificate.keys import load_public, small_order
from reticent.certificate.record import UNSIGNED, CertificateRecord, audit_words
from reticent.data import joins
from reticent.errors import CheckError, LedgerError, PublicParameterError, SpecError, restored
from reticent.ledger import Ledger
from reticent.ledger.events import Committed, Entry, Reserved, Withdrawn
from reticent.privacy import compose, convert, filters, ptr, serialization
from reticent.privacy.convert import largest
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP, Loss, words
from reticent.privacy.rederivation import rederive
from reticent.statistics.extensions import Extension, axioms_of

RUN: Final = "reticent audit STUDY"
LIMIT: Final = 1000  # the largest epsilon, and the largest group with delta > 0, that is derived again
ONE_PART: Final = {
    compose.CAPPED.name,
    compose.GROUP.name,
    compose.PROCESSED.name,
    *convert.NAMES,
}


@restored
@dataclass(frozen=True, slots=True)
class Check:
    """One check of a certificate: what was checked, whether it holds, and in words.

    ``looked`` is False where the caller gave nothing to check against.
    """

    name: str
    ok: bool
    words: str
    looked: bool = True

    @property
    def state(self) -> str:
        """The word in front of it: ok, not checked, or FAILED."""
        return ("ok" if self.looked else "not checked") if self.ok else "FAILED"


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


def verify(
    certificate: CertificateRecord,
    ledger: Ledger | None,
    key: bytes | str | Path | None,
    allow_unsigned: bool,
    extensions: Sequence[Extension] = (),
) -> Verification:
    """Every check of ``certificate``; those of the ledger where one is given, and ``extensions`` where it names one.

    Parameters
    ----------
    certificate : CertificateRecord
    ledger : Ledger or None
        None leaves out the checks of the ledger.
    key : bytes, str, Path or None
        The public key, or its file.
    allow_unsigned : bool
        True lets a certificate without a signature pass.
    extensions : sequence of Extension
        Modules of third parties that the certificate may name.

    Returns
    -------
    Verification
        A line for each check.
    """
    found = (
        _signature(certificate, key, allow_unsigned),
        *_in_ledger(certificate, ledger),
        *(Check("extension", ok, text) for ok, text in theirs.problems(certificate, extensions)),
        *_derivation(certificate, theirs.used(certificate, extensions)),
        *_joins(certificate),
        *_audit(certificate),
        *_void(certificate),
    )
    failed = {check.name for check in found if not check.ok}
    return Verification(tuple(check for check in found if not (check.ok and check.name in failed)))


def _signature(certificate: CertificateRecord, key: bytes | str | Path | None, allow_unsigned: bool) -> Check:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    public = load_public(key) if isinstance(key, str | Path) else key
    if public is not None and len(public) != 32:
        raise CheckError("A public key of Ed25519 has 32 bytes.")
    stated = certificate.heading["signature"]
    if stated is not None and set(stated) != {"algorithm", "public_key", "value"}:
        return Check("signature", False, "signature wrong: it holds fields that nobody signed")
    if stated is None:
        return Check("signature", allow_unsigned, UNSIGNED, looked=False)
    signer = bytes.fromhex(stated["public_key"])
    if small_order(signer):
        return Check("signature", False, "signature worthless: its key is weak, and signatures under it fit every text")
    name = Path(key).name if isinstance(key, str | Path) else f"key {stated['public_key'][:16]}…"
    try:
        Ed25519PublicKey.from_public_bytes(signer).verify(bytes.fromhex(stated["value"]), certificate.canonical)
    except (InvalidSignature, ValueError):
        return Check("signature", False, "signature wrong: the certificate was changed after it was signed")
    if public is None:
        return Check(
            "signature",
            allow_unsigned,
            f"signed by {name}, but whose key that is was not checked: no key was given",
            looked=False,
        )
    if public != signer:
        return Check("signature", False, f"signature by another key than {name}")
    return Check("signature", True, f"signature ok (Ed25519, {name})")


def _in_ledger(certificate: CertificateRecord, ledger: Ledger | None) -> Iterator[Check]:
    if ledger is None:
        yield Check("ledger", True, "no ledger given: the entry was not looked up", looked=False)
        return
    try:
        problems = ledger.verify()
        entries = () if problems else ledger.entries()
    except LedgerError as problem:
        problems, entries = (str(problem),), ()
    if problems:
        yield Check("chain", False, f"ledger chain broken: {problems[0]}")
        return
    rounds = _rounds(certificate)
    charges = [event for stated in rounds if (event := _reserved(entries, stated)) is not None]
    yield _entries(rounds, charges, entries)
    yield Check("chain", True, "ledger chain ok")
    yield from _withdrawn(rounds, entries)
    yield from _shown_again(certificate, entries)
    if len(charges) == len(rounds):
        yield _totals(certificate, ledger, charges)
        if ledger.adjacency != certificate.guarantee.adjacency:
            yield Check("neighbours", False, f"neighbours differ: the ledger says {ledger.adjacency.words()}")


@dataclass(frozen=True, slots=True)
class _Round:
    """Reservation at one time: the request, the digest of its entry, and that of the certificate that ended it."""

    release: str
    entry: str
    digest: str


def _rounds(certificate: CertificateRecord) -> list[_Round]:
    """One for a release or a model; of a session all, the last of them the one this certificate was recorded under."""
    document = certificate.heading
    last = _Round(document["release"], document["ledger"]["entry"], certificate.digest)
    if certificate.kind != "session":
        return [last]
    earlier = [_Round(one["release"], one["entry"], str(one["digest"])) for one in document["session"]["rounds"][:-1]]
    return [*earlier, last]


def _reserved(entries: tuple[Entry, ...], stated: _Round) -> Reserved | None:
    """The reservation that a certificate names."""
    for entry in entries:
        if isinstance(entry.event, Reserved) and entry.event.id == stated.release and entry.digest == stated.entry:
            return entry.event
    return None


def _entries(rounds: list[_Round], charges: list[Reserved], entries: tuple[Entry, ...]) -> Check:
    """Check that each round was reserved, once, and settled with its certificate."""
    names = [one.release for one in rounds]
    there = {event.id for event in charges}
    for one in rounds:
        if one.release not in there:
            return Check("entry", False, f"entry {one.release} not found in this ledger")
        ends = [e.event.digest for e in entries if isinstance(e.event, Committed) and e.event.id == one.release]
        if ends != [one.digest]:
            why = "digest differs" if ends else "no certificate was recorded for it"
            return Check("entry", False, f"entry {one.release} found, {why}")
    if len(set(names)) != len(names):
        return Check("entry", False, "one entry stands for two rounds")
    if len(names) == 1:
        return Check("entry", True, f"entry {names[0]} found, digest equal")
    return Check("entry", True, f"{len(names)} entries found, {names[0]} to {names[-1]}, digests equal")


def _withdrawn(rounds: list[_Round], entries: tuple[Entry, ...]) -> Iterator[Check]:
    """One check that fails for each round that the ledger withdraws; none where all stand."""
    names = {one.release for one in rounds}
    for entry in entries:
        if isinstance(entry.event, Withdrawn) and entry.event.id in names:
            said = f"withdrawn on {entry.when[:10]} by {entry.event.who}: {entry.event.reason}"
            yield Check("withdrawn", False, f"{entry.event.id} was {said}")


def _shown_again(certificate: CertificateRecord, entries: tuple[Entry, ...]) -> Iterator[Check]:
    """Check that each share of incomplete rows taken from an earlier release stands in that release's entry.

    There is no check if none is taken.

    Such a share costs nothing here, so that it was told, and paid for, is the ledger's word: the columns, the digest of
    the snapshot and the numbers are those that its release left.
    """
    document = certificate.document
    shares = [answer.get("incomplete") for answer in document["answers"]]
    shares += [share for part in ("model", "session") for share in document.get(part, {}).get("incomplete", [])]
    again = [share for share in shares if share and share.get("from")]
    events = {entry.event.id: entry.event for entry in entries if isinstance(entry.event, Committed)}
    for share in again:
        origin = str(share["from"])
        if origin not in events or _numbers(share) not in _kept(events[origin].shares):
            which = ", ".join(share["columns"])
            yield Check("shares", False, f"share of incomplete rows of {which}: entry {origin} does not tell it")
            return
    if again:
        named = ", ".join(dict.fromkeys(str(share["from"]) for share in again))
        yield Check("shares", True, f"shares of incomplete rows equal to those of {named}")


def _numbers(share: dict[str, Any]) -> tuple[list[str], str, list[float]] | None:
    """The columns of a share, the digest of its snapshot, and its numbers; None of one that is no reply."""
    numbers = ("value", "low", "high", "noise")
    if any(name not in share for name in numbers):
        return None
    return sorted(share["columns"]), str(share.get("of", "")), [float(share[name]) for name in numbers]


def _kept(text: str | None) -> list[tuple[list[str], str, list[float]] | None]:
    """The shares that an entry of the ledger holds; none where it says anything else."""
    try:
        found = [_numbers(one) for one in json.loads(text or "[]")]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return [one for one in found if one is not None]


def _totals(certificate: CertificateRecord, ledger: Ledger, charges: list[Reserved]) -> Check:
    """The charge is the ledger's. Others may have charged since, so spent is at least the last entry's."""
    charged = reduce(
        lambda total, event: filters.add(total, event.charge, ledger.budget), charges[1:], charges[0].charge
    )
    if charged != certificate.charged:
        return Check("charge", False, f"charge differs: the ledger says {words(charged)}")
    spent = filters.parts(certificate.spent)
    if any(mine < theirs for mine, theirs in zip(spent, filters.parts(charges[-1].spent), strict=True)):
        return Check("charge", False, "total differs: the certificate says less was spent than the ledger")
    return Check("charge", True, "charge equal")


def _derivation(certificate: CertificateRecord, extensions: Sequence[Extension]) -> Iterator[Check]:
    """Every loss again from the leaves, then against the charge; the neighbours of the root against the stated ones."""
    document, tree = certificate.heading, certificate.guarantee
    try:
        derivable(tree)
        derived = rederive(tree, axioms_of(extensions))
    except CheckError as problem:
        yield Check("losses", False, f"losses not derived: {problem}")
    except (PublicParameterError, ValueError, ArithmeticError, LookupError, RecursionError):
        yield Check("losses", False, "losses not derived: the numbers of the proof do not fit its theorems")
    else:
        same = certificate.charged in (derived, _entered(derived, certificate.approved))
        ending = "equal" if same else f"not equal to the charge {words(certificate.charged)}"
        yield Check("losses", same, f"losses re-derived: {words(derived)} {ending}")
    honest = document["adjacency"] == serialization.adjacency_to_json(tree.adjacency) and _own_words(
        document["guarantee"]
    )
    yield Check("neighbours", honest, "neighbours equal" if honest else "neighbours differ from those of the proof")


def _joins(certificate: CertificateRecord) -> Iterator[Check]:
    """Check that each line of a further table says a join in its one spelling, and that each column has its table."""
    document = certificate.heading
    stated = document["study"].get("tables", [])
    if not stated:
        return

    try:
        found = [joins.read(line) for line in stated]
    except SpecError:
        yield Check("tables", False, "tables: a line says no join")
        return
    names = [name for name, _ in found]
    if [joins.write(name, dict(found)) for name in names] != stated or len(set(names)) < len(names):
        yield Check("tables", False, "tables: a join is not spelled as it is written")
    else:
        yield Check("tables", True, f"joined tables read again: {', '.join(names)}")


def _audit(certificate: CertificateRecord) -> Iterator[Check]:
    """Check that a stated plan audit is of these answers and passed. Running it again takes the study file."""
    stated = certificate.heading["audit"]
    if stated is None:
        return
    names, asked = [one["name"] for one in stated["answers"]], [answer.name for answer in certificate.answers]
    shares = [stated["greatest_share_of_loss"], *(one["ratio"] for one in stated["answers"])]
    if stated["verdict"] != "passed" or stated["findings"] or stated["findings_in_all"]:
        yield Check("audit", False, "plan audit: it found an error in what was released")
    elif names[: len(asked)] != asked or not _beside(certificate, asked, names[len(asked) :]):
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


def _beside(certificate: CertificateRecord, asked: list[str], rest: list[str]) -> bool:
    """Tell if the names of an audit after the answers are those that a release adds.

    These are a cap, then shares of incomplete rows.

    A share that an answer's own noisy count tells is no part of the proof, and no audit runs it.
    """
    told = [answer.get("incomplete") for answer in certificate.document["answers"]]
    names = [f"incomplete({', '.join(one['columns'])})" for one in told if one and one["outcome"] != "left_out"]
    bought = {node.label for node in nodes(certificate.guarantee)}
    shares = [name for name in dict.fromkeys(names) if name not in asked and name in bought]
    after = len(rest) - len(shares)
    return after in (0, 1) and rest[after:] == shares


def _void(certificate: CertificateRecord) -> Iterator[Check]:
    """One check that fails for each reason why the claim itself is withdrawn; none where there is no reason."""
    for reason in void.reasons(certificate):
        yield Check("void", False, f"void: {reason}")


def source_of(stated: dict[str, Any]) -> str | None:
    """The digest of the source that ran an audit; empty where none is stated, None where it is no digest."""
    source = stated.get("source", "")
    return source if isinstance(source, str) and re.fullmatch(f"({schema.HEX})?", source) else None


def derivable(tree: Guarantee) -> None:
    """Refuse a tree that ``rederive`` cannot take: it needs one part if the theorem has one, and workable numbers."""
    try:
        ptr.chargeable(tree)
    except PublicParameterError as problem:
        raise CheckError(str(problem)) from None
    for node in nodes(tree):
        if node.by.name in ONE_PART and len(node.parts) != 1:
            raise CheckError(f"'{node.by.name}' is about one part, and here are {len(node.parts)}")
        if largest(node.loss) > LIMIT:
            raise CheckError(f"a loss above {LIMIT} protects no one and is not derived")
        if node.by.name == compose.GROUP.name:
            size = int(node.parameter("size"))
            if size > LIMIT and isinstance(node.loss, ApproxDP):
                raise CheckError(f"groups of more than {LIMIT} with δ > 0 are not derived")


def nodes(tree: Guarantee) -> Iterator[Guarantee]:
    yield tree
    for part in tree.parts:
        yield from nodes(part)


def _own_words(tree: dict[str, Any]) -> bool:
    """Tell if the words on the neighbours at every node belong to its adjacency."""
    stated = tree["adjacency"]
    return stated == serialization.adjacency_to_json(serialization.adjacency_from_json(stated)) and all(
        _own_words(part) for part in tree["parts"]
    )


def _entered(loss: Loss, budget: Loss) -> Loss | None:
    """``loss`` in the currency of ``budget``, if it has a price there."""
    try:
        return filters.enter(loss, budget)
    except PublicParameterError:
        return None
