"""One made-up release of a plan, charged to a scratch ledger: the ledger against what was drawn, and the certificate.

    found(plan, schema, rows, calls)     what is wrong, in words; empty where nothing is

The program that releases runs once, on made-up rows, with the system's coins and a ledger of its own in a temporary
folder. The study's ledger and rows are not touched. Looked at from outside, through the ledger's file:

    before rows are read   the whole charge is on the disk, reserved and not settled
    afterwards             it is there once, committed with the digest of the certificate that came out
    the charge             what the proof costs when it is derived again; and the proof pays for every call drawn
    neighbours             in ledger and certificate those the study file declares
    the certificate        verifies against the ledger, signed and unsigned
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, cast

from reticent.certificate.certificate import read_certificate
from reticent.certificate.record import ReleaseMetadata
from reticent.certificate.verify import verify
from reticent.conformance.branch_charge import unpaid
from reticent.conformance.findings import Finding, cause_of
from reticent.conformance.proofs import as_drawn
from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.data.schema import Schema
from reticent.entropy import system
from reticent.errors import CheckError, Fault, ReticentError
from reticent.ledger import Ledger
from reticent.ledger.events import Committed, Reserved
from reticent.mechanisms.gate import Call
from reticent.privacy import filters
from reticent.privacy.loss import ZCDP, ApproxDP, ApproxZCDP, Counted, Loss, PureDP, words
from reticent.privacy.rederivation import rederive
from reticent.statistics.extensions import Extension, axioms_of
from reticent.study import release

if TYPE_CHECKING:
    from reticent.certificate.certificate import Certificate
    from reticent.certificate.verify import Verification
    from reticent.conformance.couplings import QueryRunner
    from reticent.data.table import Table
    from reticent.study.allocation import PreparedRelease

ROOM: Final = 3  # releases that the scratch ledger has room for: a charge made twice is seen, not refused


@dataclass(slots=True)
class WatchedRows:
    """Made-up rows that note, when they are asked for, what the ledger's file holds by then."""

    rows: QueryRunner
    path: Path
    held: list[tuple[Loss, tuple[str, ...]]] = field(default_factory=list)

    def run(self, queries: Sequence[Query], key: bytes, schema: Schema | None = None) -> list[QueryResult]:
        """Exact answers, with the state of the ledger noted.

        Parameters
        ----------
        queries : sequence of Query
        key : bytes of length 32
            Chooses the rows that are kept.
        schema : Schema, optional
            Of a view; by default the table's own.

        Returns
        -------
        list of QueryResult
            Exact integers, in the order of the queries.
        """
        file = Ledger.open(self.path)
        self.held.append((file.spent(), tuple(line.state for line in file.releases())))
        return self.rows.run(queries, key, schema)


def found(plan: PreparedRelease, schema: Schema, rows: QueryRunner, calls: Sequence[Call]) -> Iterator[Finding]:
    """Findings on the release of a plan.

    Parameters
    ----------
    plan : Prepared
    schema : Schema
        Whose declaration of a person says what the neighbours are.
    rows : tables
        Made up; as many as are public, where their number is.
    calls : sequence of Call
        What a run of the plan drew (``replay``).

    Yields
    ------
    Finding
        One finding at a time; none where ledger and certificate hold what they should.
    """
    yield from (Finding("proof", "", text) for text in unpaid(as_drawn(plan, calls).guarantee, calls))
    neighbours = schema.person.protected
    try:
        cost = rederive(plan.guarantee, axioms_of(plan.extensions))
        budget = _room(cost)
    except ReticentError as problem:
        yield Finding("proof", "", f"the guarantee cannot be derived again: {problem}")
        return
    with TemporaryDirectory(prefix="reticent-audit-") as folder:
        path = Path(folder) / "scratch.ledger"
        ledger = Ledger.create(path, title="made up", adjacency=neighbours, budget=budget)
        watched = WatchedRows(rows, path)
        try:
            certificate = _released(plan, schema, ledger, watched)
        except Fault:
            yield Finding("release", "", "a made-up release ends in a fault")
            return
        except Exception as cause:
            yield Finding("release", "", f"a made-up release is not made: {cause_of(cause)}")
            return
        yield from _charged(Ledger.open(path), watched, filters.enter(cost, budget), certificate)
        if certificate.guarantee.adjacency != neighbours or plan.guarantee.adjacency != neighbours:
            stated = certificate.guarantee.adjacency.words()
            yield Finding("ledger", "", f"the study declares {neighbours.words()}, and what is certified is {stated}")
        yield from _certificate(certificate, Ledger.open(path), plan.extensions)


def _room(cost: Loss) -> Counted:
    """A budget for a few releases, in the currency of the charge."""
    match cost:
        case PureDP(epsilon):
            return PureDP(ROOM * epsilon)
        case ApproxDP(epsilon, delta):
            return ApproxDP(ROOM * epsilon, min(ROOM * delta, (1 + delta) / 2))
        case ZCDP(rho):
            return ZCDP(ROOM * rho)
        case ApproxZCDP(rho, delta):
            return ApproxZCDP(ROOM * rho, min(ROOM * delta, (1 + delta) / 2))
        case other:
            raise CheckError(f"{words(other)} is no charge")


def _released(plan: PreparedRelease, schema: Schema, ledger: Ledger, watched: WatchedRows) -> Certificate:
    about = ReleaseMetadata("made up", "audit", "audit", "audit", "made up", "", None, schema.person.people)
    table = cast("Table", watched)  # all that a release asks of a table is run
    return release.run(plan, table, schema, ledger, about, system(), None, lambda stage: None).certificate


def _charged(ledger: Ledger, watched: WatchedRows, cost: Loss, certificate: Certificate) -> Iterator[Finding]:
    """The ledger's file, as it was when rows were read and as it is now, against what the proof costs."""
    spent = ledger.spent()
    if spent != cost:
        yield Finding("ledger", "", f"the ledger holds {words(spent)} for draws that cost {words(cost)}")
    if not watched.held:
        yield Finding("ledger", "", "no row was asked for")
    for at_reading, states in watched.held:
        if at_reading != cost or states != ("reserved",):
            what = f"the ledger held {words(at_reading)} ({', '.join(states) or 'no entry'})"
            yield Finding("ledger", "", f"{what} when rows were read, and {words(cost)} was to be reserved by then")
    events = [entry.event for entry in ledger.entries()]
    reserved = [event.id for event in events if isinstance(event, Reserved)]
    ended = [(event.id, event.digest) for event in events if isinstance(event, Committed)]
    if len(reserved) != 1 or ended != [(reserved[0], certificate.digest)]:
        what = f"{len(reserved)} reservations and {len(ended)} commitments of this certificate"
        yield Finding("ledger", "", f"one release left {what}; one of each is right")
    yield from (Finding("ledger", "", f"the chain of entries is broken: {problem}") for problem in ledger.verify())


def _certificate(certificate: Certificate, ledger: Ledger, extensions: Sequence[Extension]) -> Iterator[Finding]:
    """The certificate as its file has it verifies, by a signature and by the ledger alone."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()  # thrown away
    signed, public = certificate.sign(key), key.public_key().public_bytes_raw()
    for copy, officer in ((certificate, None), (signed, public)):
        verified = verify(read_certificate(copy.to_json()), ledger, officer, officer is None, extensions)
        if not holds(verified):
            yield Finding("certificate", "", f"the certificate does not verify: {verified}")


def holds(verified: Verification) -> bool:
    """Tell if all checks hold but that of shares of earlier releases: the made-up ledger has none of these."""
    return all(check.ok for check in verified.checks if check.name != "shares")


__all__ = ["WatchedRows", "found", "holds"]
