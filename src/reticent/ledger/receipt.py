"""Proof of a charge: the receipt of a reservation, and the one that an idempotency key got before."""

from __future__ import annotations

from dataclasses import dataclass, field

from reticent.errors import LedgerError
from reticent.ledger.events import Entry, Reserved
from reticent.privacy.loss import Loss


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that ``charge`` is spent; the one thing that lets noise be drawn.

    Attributes
    ----------
    id : str
        The release, ``r-0007``; requests are numbered in order, refused ones too.
    charge : Loss
        What was charged, in the ledger's currency.
    entry : str
        Digest of the ledger's entry.
    when : str
        UTC, ISO 8601.
    replayed : bool
        True when an idempotency key was used again. Such a receipt paid for the *first* run alone: hand out the stored
        answer; drawing again would be a second release for one charge, and ``commit`` refuses it.
    """

    id: str
    charge: Loss
    entry: str
    when: str
    replayed: bool = field(default=False, compare=False)


def receipt_again(earlier: Entry, request_digest: str | None) -> Receipt:
    """Receipt that an idempotency key got before; refused for another request.

    Raises
    ------
    LedgerError
        For another request under that key.
    """
    event = earlier.event
    assert isinstance(event, Reserved)
    if event.request_digest != request_digest:
        raise LedgerError(
            f"This request id was used for another request, {event.id}. Nothing was charged. Choose another id."
        )
    return Receipt(event.id, event.charge, earlier.digest, earlier.when, replayed=True)
