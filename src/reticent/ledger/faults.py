"""Faults of a release that was charged: their note in the ledger, and the protected log of the curator."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reticent.ledger.account import Ledger
    from reticent.ledger.receipt import Receipt


def note_fault(ledger: Ledger, receipt: Receipt, reference: str) -> None:
    """Note the fault; if even that cannot be written, the reservation alone keeps the charge.

    Parameters
    ----------
    ledger : Ledger
    receipt : Receipt
        Of the charge that the fault came after.
    reference : str
        Name of the fault that the caller is told.
    """
    try:
        ledger.fail(receipt, reference)
    except Exception:  # the charge is already durable, and the fault that follows is what the caller must see
        return


def protected_log(reference: str, text: str) -> None:
    """Write to the curator's protected log: silent unless a handler was put on this logger by name."""
    logger = logging.getLogger("reticent.protected")
    if logger.handlers:
        logger.error("%s %s", reference, text)
