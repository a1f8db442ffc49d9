"""Shares of incomplete rows that an earlier release of the same declared snapshot told, shown again at no charge.

    Snapshot.of(spec, place)        the word a curator gave the rows, and what decides which of their cells are odd
    known(spec, place, ledger)      the shares told so far, by their columns, each with the release that told it
    EarlierShares.share, .marked    a share told earlier; a share told now, with the digest of what it is of
    recorded(shares)                what a ledger's entry holds of the shares that a release told

A share that was released is public, and showing it again is post-processing. That the rows are still the same is a
fact about them, so it is not looked up: the curator declares it by a word, ``[study] snapshot``. Without the word every
release buys its own share. A share belongs to the word and to the place of the source, as its ledger's fingerprint has
it. It belongs to who a person is, how text is read and how its columns are declared. Where one of these is another, a
new share is bought. Releases, fits and sessions look here, and leave here what they tell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from reticent.data.schema import Category, Schema
from reticent.data.source import identity_of
from reticent.outcome import Estimate, Reply
from reticent.privacy.serialization import LONGEST, canonical, digest_of
from reticent.statistics.answer import IncompleteRows
from reticent.statistics.prepare import calendar_of

if TYPE_CHECKING:
    from reticent.data.spec import Spec
    from reticent.ledger import Ledger

NUMBERS: Final = ("value", "low", "high", "noise")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows of a study as they are declared, under the curator's ``word`` for them.

    ``source`` is the digest of their place, or "in memory".
    """

    word: str
    source: str
    schema: Schema
    delimiter: str

    @classmethod
    def of(cls, spec: Spec, place: str) -> Snapshot | None:
        """Snapshot of a study whose rows are at ``place``, an empty text in memory; None where no word is declared."""
        if not spec.snapshot:
            return None
        from reticent.ledger.claim_file import place_of
        from reticent.ledger.fingerprint import source_at

        source = place_of(source_at(identity_of(place))) if place else "in memory"
        return cls(spec.snapshot, source, spec.schema, spec.delimiter)

    def marked(self, share: IncompleteRows) -> IncompleteRows:
        """A share that was told, with the digest of what it is of; others as they are."""
        return replace(share, of=self.digest(share.columns)) if isinstance(share.outcome, Reply) else share

    def digest(self, columns: Sequence[str]) -> str:
        """The digest of everything declared that the share of these columns depends on."""
        person, form = self.schema.person, self.schema.format
        sheet = [form.sheet] if form.sheet else []  # a digest of before there were sheets stays what it was
        symbols = [list(form.symbols)] if form.symbols else []
        return digest_of(
            canonical(
                {
                    "snapshot": self.word,
                    "source": self.source,
                    "person": [person.adjacency, person.column, person.rows],
                    "format": [
                        form.encoding,
                        form.decimal,
                        form.thousands,
                        list(form.na),
                        self.delimiter,
                        *sheet,
                        *symbols,
                    ],
                    "columns": {name: self._declared(name) for name in sorted(columns)},
                }
            )
        )

    def _declared(self, name: str) -> list[object]:
        column = self.schema.column(name)
        listed = list(column.among) if isinstance(column, Category) else None
        found: list[object] = [type(column).__name__, listed, column.constant]
        calendar = calendar_of(name, self.schema)  # a digest of before there were dates stays what it was
        if calendar is None:
            return found
        hundred = [calendar.century] if calendar.century else []
        return [*found, calendar.step, calendar.zone, calendar.format, *hundred]


@dataclass(frozen=True, slots=True)
class EarlierShares:
    """Shares told so far: by the digest of what each is of, the release that told it and its estimate."""

    snapshot: Snapshot | None = None
    told: Mapping[str, tuple[str, Estimate]] | None = None

    @property
    def word(self) -> str:
        """The curator's word for the rows; empty where none is declared."""
        return "" if self.snapshot is None else self.snapshot.word

    def share(self, columns: tuple[str, ...]) -> IncompleteRows | None:
        """The share of these columns that an earlier release told, or None."""
        if self.snapshot is None or not self.told:
            return None
        of = self.snapshot.digest(columns)
        found = self.told.get(of)
        return None if found is None else IncompleteRows(columns, Reply(found[1]), found[0], of)

    def marked(self, share: IncompleteRows) -> IncompleteRows:
        """A share that is told now, as ``Snapshot.marked`` says."""
        return share if self.snapshot is None else self.snapshot.marked(share)


def known(spec: Spec, place: str, ledger: Callable[[], Ledger | None]) -> EarlierShares:
    """Shares of a study's snapshot in the ledger's entries; of several the one with the least noise.

    Those of a withdrawn release are not shown again.

    The ledger is opened where a word is declared, and not otherwise.

    Parameters
    ----------
    spec : Spec
    place : str
        Fingerprint of the source.
    ledger : function
        Opens the ledger; None where there is none.

    Returns
    -------
    EarlierShares
    """
    snapshot = Snapshot.of(spec, place)
    opened = None if snapshot is None else ledger()
    if opened is None:
        return EarlierShares(snapshot)
    told: dict[str, tuple[str, Estimate]] = {}
    for release, shares in opened.told():
        for of, estimate in _read(shares):
            if of not in told or estimate.noise < told[of][1].noise:
                told[of] = (release, estimate)
    return EarlierShares(snapshot, told)


def recorded(shares: Sequence[IncompleteRows]) -> str | None:
    """The text of a ledger's entry: the shares that this release told for the first time; None where there are none.

    A share without the digest of a snapshot is not kept.

    What goes beyond the length of a text in a ledger is left out, and is bought anew.
    """
    kept: list[dict[str, object]] = []
    for share in shares:
        if isinstance(share.outcome, Reply) and share.of and not share.origin:
            numbers = {name: repr(float(getattr(share.outcome.value, name))) for name in NUMBERS}
            one: dict[str, object] = {"columns": list(share.columns), "of": share.of, **numbers}
            if len(canonical([*kept, one])) <= LONGEST:
                kept.append(one)
    return canonical(kept) if kept else None


def _read(text: str | None) -> list[tuple[str, Estimate]]:
    """The shares of an entry; none where it says anything else, and then they are bought anew."""
    if text is None:
        return []
    try:
        found: list[dict[str, Any]] = json.loads(text)
        return [(str(one["of"]), _estimate(*(float(one[name]) for name in NUMBERS))) for one in found]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def _estimate(value: float, low: float, high: float, noise: float) -> Estimate:
    return Estimate(value, low, high, noise, 0.0)


NOTHING: Final = EarlierShares()
