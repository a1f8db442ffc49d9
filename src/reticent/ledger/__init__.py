"""The ledger: charged before anything is drawn, and never poorer in debits than in draws.

ledger = Ledger.open_or_create("rand.ledger", title=..., adjacency=..., budget=...)
receipt = ledger.reserve(charge, adjacency=..., what="table 4")      on the disk when this returns
...                                                                  draw
ledger.commit(receipt, digest=certificate_digest)                    or ledger.fail(receipt, "f-31")
"""

from reticent.ledger.account import Ledger
from reticent.ledger.events import Entry, Receipt
from reticent.ledger.reader import verify_export
from reticent.ledger.replay import Line

__all__ = ["Entry", "Ledger", "Line", "Receipt", "verify_export"]
