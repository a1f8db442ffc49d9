"""Certificates of what is no release of questions: a model that was fitted or scored, a session that has ended.

    of_model     the numbers found, the public parameters, the bounds as they were used
    of_session   the transcript, the public parameters, and a receipt for each round

The certificate is made after the draw and before the commit, so that its digest is what the ledger records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Final

from reticent.certificate.certificate import Certificate
from reticent.certificate.record import ReleaseMetadata, by_ledger, columns_to_json, incomplete_to_json, stated
from reticent.data.expression_tree import write
from reticent.data.joins import lines
from reticent.data.schema import Schema, needed
from reticent.ledger import Ledger, Receipt
from reticent.privacy import filters
from reticent.privacy.adjacency import HANDED
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import Loss
from reticent.privacy.numbers import show
from reticent.statistics.answer import IncompleteRows

VERSION: Final = 2
ARRAYS: Final = "arrays the caller held"


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """Statement of a certificate on a fit, a search or a score, beside its price.

    Attributes
    ----------
    model, what : str
        The estimator, and what was done with it: "fit", "grid search", "accuracy", "R squared".
    parameters, released : mapping of name to JSON value
        Public parameters of the estimator, and every number that was found: ``learning.fit.serialization``.
    caveats : tuple of str
        In words, from public facts and released numbers.
    incomplete : tuple of IncompleteRows
        Shares of incomplete rows of declared columns, told now or shown again.
    """

    model: str
    what: str
    parameters: Mapping[str, object]
    released: Mapping[str, object]
    caveats: tuple[str, ...] = ()
    incomplete: tuple[IncompleteRows, ...] = ()


@dataclass(frozen=True, slots=True)
class FitColumns:
    """The columns of a fit: their names and bounds as used, the name of the target, and the columns as declared."""

    columns: Sequence[str]
    bounds: Sequence[tuple[Fraction, Fraction]]
    target: str | None
    declared: Mapping[str, object]


def of_model(
    found: Statement, axes: FitColumns, about: ReleaseMetadata, proof: Guarantee, receipt: Receipt, ledger: Ledger
) -> Certificate:
    """The certificate of a fit, a search or a score. ``proof`` is in the ledger's currency.

    Parameters
    ----------
    found : Statement
        Facts of the fit that the certificate shows.
    axes : FitColumns
    about : ReleaseMetadata
    proof : Guarantee
        In the ledger's currency.
    receipt : Receipt
    ledger : Ledger

    Returns
    -------
    Certificate
        Unsigned.
    """
    return Certificate.of(
        {
            **stated(VERSION, proof, receipt.charge, axes.declared, about, receipt, ledger),
            "caveats": [*found.caveats, *((HANDED,) if about.source == ARRAYS else ())],
            "kind": "model",
            "model": {
                "name": found.model,
                "what": found.what,
                "parameters": dict(found.parameters),
                "columns": list(axes.columns),
                "bounds": [[show(low), show(high)] for low, high in axes.bounds],
                "target": axes.target,
                "released": dict(found.released),
                **_shares(found.incomplete),
            },
        }
    )


@dataclass(frozen=True, slots=True)
class Transcript:
    """Transcript of a session: its terms, and all answers so far.

    Attributes
    ----------
    what, purpose, who, override : str
        As they were agreed; ``title`` is what the ledger calls it.
    parameters : mapping of name to text
    rows : (count, noise) or None
        The number of rows that means are over, where there are means.
    rounds : sequence of (Receipt, digest)
        The digest of the certificate each earlier round ended with; None for the last.
    transcript : sequence of (question, answer)
    caveats : sequence of str
    incomplete : sequence of IncompleteRows
        Shares of incomplete rows, told now or shown again.
    """

    title: str
    what: str
    purpose: str
    who: str
    override: str
    parameters: Mapping[str, str]
    people: int | None
    rows: tuple[int, int] | None
    rounds: Sequence[tuple[Receipt, str | None]]
    transcript: Sequence[tuple[str, str]]
    caveats: Sequence[str] = ()
    incomplete: Sequence[IncompleteRows] = ()
    snapshot: str = ""


def of_session(
    told: Transcript, schema: Schema, columns: Sequence[str], source: str, guarantee: Guarantee, ledger: Ledger
) -> Certificate:
    """The certificate of a session whose last receipt is about to be committed.

    Parameters
    ----------
    told : Transcript
        Questions and answers of the session.
    schema : Schema
    columns : sequence of str
    source : str
        Name of the file, without its folder.
    guarantee : Guarantee
        In the ledger's currency.
    ledger : Ledger

    Returns
    -------
    Certificate
    """
    receipts = [receipt for receipt, _ in told.rounds]
    about = by_ledger(ledger, told.title, told.purpose, told.who, source, told.people)
    about = replace(about, override=told.override, snapshot=told.snapshot)
    where = "" if schema.where is None else write(schema.where)
    about = replace(about, where=where, tables=tuple(lines(schema)), unit=schema.person.unit)
    about = replace(about, household=schema.person.household_words)
    declared = columns_to_json(schema, needed(schema, columns))
    return Certificate.of(
        {
            **stated(VERSION, guarantee, charged(receipts, ledger), declared, about, receipts[-1], ledger),
            "caveats": list(told.caveats),
            "kind": "session",
            "session": {
                "what": told.what,
                "parameters": dict(told.parameters),
                "rows": None if told.rows is None else {"count": told.rows[0], "noise": told.rows[1]},
                "rounds": [
                    {"release": receipt.id, "entry": receipt.entry, "digest": digest} for receipt, digest in told.rounds
                ],
                "transcript": [list(pair) for pair in told.transcript],
                **_shares(told.incomplete),
            },
        }
    )


def _shares(told: Sequence[IncompleteRows]) -> dict[str, object]:
    """The field of the shares of incomplete rows; none where there are none."""
    return {"incomplete": [incomplete_to_json(share) for share in told]} if told else {}


def charged(receipts: Sequence[Receipt], ledger: Ledger) -> Loss:
    """Sum of several receipts, in the ledger's currency."""
    budget = ledger.budget
    first, *rest = (receipt.charge for receipt in receipts)
    return reduce(lambda total, charge: filters.add(total, charge, budget), rest, first)


def text_of(value: object) -> str:
    """A public parameter as text."""
    return show(value) if isinstance(value, Fraction) else str(value)
