"""Keys that a release finds before it asks of groups: the list of ``keys``, without its numbers of persons.

    texts with persons --selection--> listed keys --> groups of the other questions

The list is drawn first, and all else of the release is about keys that are public by then. Proof:
docs/proofs/found_groups.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from reticent.data.query import KeyHolders, Query
from reticent.mechanisms import gate
from reticent.mechanisms.key_listing import KeyListing
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.context import ExpectedAccuracy, Setting, Step
from reticent.statistics.counts.key_list_step import chances, numbers_of, unlisted

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy

SHARE: Final = Fraction(1, 2)  # of the loss, as in ``keys``
MOST: Final = 1_000  # keys of one release
NONE_LISTED: Final = "no key is listed: there are no groups to tell of"


@dataclass(frozen=True, slots=True)
class FoundKeysStep:
    """The list of keys of a column of texts, of which the groups of a release are made.

    ``most`` keys are used, the first in order of their text; ``unfit`` are texts that count as missing.
    """

    query: KeyHolders
    listing: KeyListing
    setting: Setting
    most: int
    unfit: frozenset[str] = frozenset()
    estimand: str = "the keys that enough persons share"

    @property
    def name(self) -> str:
        return f"keys of {self.query.column}"

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.query,)

    @property
    def guarantee(self) -> Guarantee:
        return in_sequence([self.listing.guarantee], label=self.name)

    @property
    def candidates(self) -> tuple[str, ...]:
        """None: keys are not known beforehand."""
        return ()

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> tuple[str, ...]:
        """The keys that are listed, in order of their text."""
        (result,) = results
        return self.used(gate.draw(self.listing, numbers_of(self.listing, result), entropy))

    def used(self, listed: Sequence[str]) -> tuple[str, ...]:
        """The listed keys that make groups."""
        return tuple(key for key in listed if key not in self.unfit)[: self.most]

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        listed = float(len(self.draw(results, entropy)))
        return Answer(self.name, (Cell((), Reply(Estimate(listed, listed, listed, 0.0, 0.0))),), discrete=True)

    def told(self, listed: int) -> str:
        """The note of a release with so many keys."""
        column, many = self.query.column, f"{listed:,} keys of {self.query.column} were"
        many = {0: f"no key of {column} was", 1: f"1 key of {column} was"}.get(listed, many)
        told = f"{many} found privately, for {SHARE} of the loss: {unlisted(self.listing)}"
        return f"{told}; no more than the first {self.most:,} by their text are shown" if listed == self.most else told

    def to_json(self, listed: int) -> dict[str, object]:
        """The list as a certificate holds it."""
        rule = self.listing.selection
        half, nearly = rule.fewest(Fraction(1, 2)), rule.persons(Fraction(19, 20))
        return {
            "keys": {
                "column": self.query.column,
                "listed": listed,
                "at_least": self.listing.selection.at_least,
                "half_listed": half,
                "nearly_always_listed": nearly,
                "share": str(SHARE),
            }
        }

    def lengths(self, people: int) -> tuple[int, int]:
        """The most keys of the size that is listed half the time, and as many if sizes fall as 1, 1/2, 1/3, ..."""
        half = self.listing.selection.persons(Fraction(1, 2))
        held = people * self.query.touch
        most, every = held // half, 1.0
        for _ in range(20):  # the number of keys of at least one person
            every = max(held / (math.log(max(every, 1.0)) + 0.5772), 1.0)
        likely = int(every) // half
        return min(most, self.most), min(likely, self.most)

    def expected(self, people: int) -> ExpectedAccuracy:
        """A list has no width: the note says its share of the loss, its threshold and its length."""
        most, likely = self.lengths(people)
        held = f"{people:,} people" + (f" in {self.query.touch} keys each" if self.query.touch > 1 else "")
        length = f"{held} make about {likely:,} listed keys if sizes fall as 1/rank, at most {most:,}"
        note = f"{SHARE} of the loss; {unlisted(self.listing)}; {length}"
        return ExpectedAccuracy(None, None, note, chances(self.listing, people))


@dataclass(frozen=True, slots=True)
class UnlistedStep:
    """The answer of a question by groups of which none is listed: no reply, in place of what was planned."""

    planned: Step
    estimand: str = ""

    @property
    def name(self) -> str:
        return self.planned.name

    @property
    def queries(self) -> tuple[Query, ...]:
        return ()

    @property
    def guarantee(self) -> Guarantee:
        return self.planned.guarantee

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        return Answer(self.name, (Cell((), NO_REPLY),), (NONE_LISTED,))

    def expected(self, people: int) -> ExpectedAccuracy:
        return self.planned.expected(people)
