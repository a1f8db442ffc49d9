"""The parts of a study that a session reads: its public schema, its ledger, and the table that it opens once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from reticent.certificate.snapshot import EarlierShares
    from reticent.data.schema import Schema
    from reticent.data.table import Table
    from reticent.errors import Refusal
    from reticent.ledger import Ledger
    from reticent.privacy.adjacency import Adjacency
    from reticent.privacy.loss import Loss


class Payer(Protocol):
    """A study, as a session sees it. ``study.Study`` is one; sessions stand below it and do not import it."""

    @property
    def schema(self) -> Schema: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def _rows(self) -> object: ...

    @property
    def _groups(self) -> object: ...

    @property
    def _place(self) -> str: ...

    @property
    def _currency(self) -> str: ...

    def _known(self) -> EarlierShares: ...

    def _refuse_records(self, columns: Collection[str], cells: int) -> None: ...

    def _table(self) -> Table: ...

    def _probe(self, table: Table) -> None: ...

    def _existing(self) -> Ledger | None: ...

    def _check_left(self, ledger: Ledger | None, charge: Loss, adjacency: Adjacency) -> None: ...

    def _public_people(self, table: Table, charge: Callable[[], Loss], who: str) -> int | None: ...

    def _warn_of_notation(self, asked: Collection[str]) -> None: ...

    def _note(self, refusal: Refusal, what: str, who: str) -> None: ...
