"""Certificates of what is no release of questions: a model that was fitted or scored, a session that has ended.

    of_model     the numbers found, the public parameters, the bounds as they were used
    of_session   the transcript, the public parameters, and a receipt for each round

The certificate is made after the draw and before the commit, so that its digest is what the ledger records. Models ask
for theirs from below (``learning.circumstances``): the one step upwards, since a certificate knows more than a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.privacy import compose, filters
from reticent.privacy.adjacency import HANDED
from reticent.privacy.numbers import show
from reticent.study.certificate import Certificate
from reticent.study.document import by_ledger, column_to_json, stated

if TYPE_CHECKING:
    from reticent.data.schema import Schema
    from reticent.learning.circumstances import Circumstances, Found
    from reticent.ledger import Ledger, Receipt
    from reticent.privacy.guarantee import Guarantee
    from reticent.privacy.loss import Loss

VERSION: Final = 2
ARRAYS: Final = "arrays the caller held"


def of_model(
    here: Circumstances, guarantee: Guarantee, receipt: Receipt, found: Found, about: tuple[str, str, str]
) -> Certificate:
    """The certificate of a fit, a search or a score, whose numbers are in ``found``; ``about``: name, purpose, who."""
    from reticent.study.handles import Columns

    proof = compose.in_zcdp(guarantee) if here.ledger.currency == "zcdp" else guarantee
    source, declared = ARRAYS, {}
    if isinstance(here.shelf, Columns):
        study = here.shelf.study
        source = Path(study._place).name if study._place else "in memory"
        names = (*(here.names or ()), *(() if here.target is None else (here.target,)))
        columns = dict.fromkeys(here.shelf.category(name) or name for name in names)
        declared = {name: column_to_json(study.schema.column(name)) for name in columns}
    public = by_ledger(here.ledger, *about, source, here.people or None)
    return Certificate.of(
        {
            **stated(VERSION, proof, receipt.charge, declared, public, receipt, here.ledger),
            "caveats": [*found.caveats, *((HANDED,) if source == ARRAYS else ())],
            "kind": "model",
            "model": {
                "name": found.model,
                "what": found.what,
                "parameters": dict(found.parameters),
                "columns": list(here.names or (f"x{place}" for place in range(len(here.bounds)))),
                "bounds": [[show(low), show(high)] for low, high in here.bounds],
                "target": here.target,
                "released": dict(found.released),
            },
        }
    )


@dataclass(frozen=True, slots=True)
class Told:
    """What a session has let out so far, and under what.

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


def of_session(
    told: Told, schema: Schema, columns: Sequence[str], source: str, guarantee: Guarantee, ledger: Ledger
) -> Certificate:
    """The certificate of a session whose last receipt is about to be committed."""
    receipts = [receipt for receipt, _ in told.rounds]
    about = replace(by_ledger(ledger, told.title, told.purpose, told.who, source, told.people), override=told.override)
    declared = {name: column_to_json(schema.column(name)) for name in columns}
    return Certificate.of(
        {
            **stated(VERSION, guarantee, charged(receipts, ledger), declared, about, receipts[-1], ledger),
            "kind": "session",
            "session": {
                "what": told.what,
                "parameters": dict(told.parameters),
                "rows": None if told.rows is None else {"count": told.rows[0], "noise": told.rows[1]},
                "rounds": [
                    {"release": receipt.id, "entry": receipt.entry, "digest": digest} for receipt, digest in told.rounds
                ],
                "transcript": [list(pair) for pair in told.transcript],
            },
        }
    )


def charged(receipts: Sequence[Receipt], ledger: Ledger) -> Loss:
    """What several receipts come to, in the ledger's currency."""
    budget = ledger.budget
    first, *rest = (receipt.charge for receipt in receipts)
    return reduce(lambda total, charge: filters.add(total, charge, budget), rest, first)


def text_of(value: object) -> str:
    """A public parameter as text."""
    return show(value) if isinstance(value, Fraction) else str(value)
