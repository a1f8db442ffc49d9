"""Keys that are found: a list by ``key_selection``, then the number of persons of each listed key with fresh noise.

    texts with persons --selection--> listed keys, sorted --geometric noise--> numbers of persons

The two draws are in sequence, and the second is about the keys that the first has told. So its noise does not know why
a key is listed, and its intervals hold for every listed key. Proof: docs/proofs/found_groups.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from reticent.data.query import KeyHolders, KeyShares, Query
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.key_listing import KeyListing, best_listing
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.answer import CLIPPED, Answer, Cell
from reticent.statistics.context import ExpectedAccuracy, Replies, Setting
from reticent.statistics.counts.count_step import not_below_zero
from reticent.statistics.counts.key_list import KeyList
from reticent.statistics.error_law import ErrorLaw

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy

BETA: Final = 0.05
MOST: Final = 10_000  # keys of one answer


@dataclass(frozen=True, slots=True)
class KeyListStep:
    """A list of keys and their noisy numbers of persons."""

    name: str
    query: KeyHolders
    listing: KeyListing
    noise: Geometric
    longest: int
    estimand: str = ""

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.query,)

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([self.listing.guarantee, self.noise.guarantee], label=self.name)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        (result,) = results
        assert result.holders is not None
        listed = gate.draw(self.listing, numbers_of(self.listing, result), entropy)
        shown = listed[:MOST]
        words: tuple[str, ...] = (unlisted(self.listing), f"texts count by their first {self.longest} characters")
        if len(listed) > MOST:
            words = (*words, f"of {len(listed):,} listed keys the first {MOST:,} in order of their text are shown")
        if not shown:
            return Answer(self.name, (Cell((), NO_REPLY),), words, discrete=True)
        numbers = gate.draw(self.noise, [result.holders.get(key, 0) for key in shown], entropy)
        radius = self.noise.radius(BETA)
        cells = tuple(self._cell(key, number, radius) for key, number in zip(shown, numbers, strict=True))
        clipped = (CLIPPED,) if any(number < radius for number in numbers) else ()
        return Answer(self.name, cells, (*words, *clipped), discrete=True)

    def _cell(self, key: str, number: int, radius: int) -> Cell:
        value, low, high = map(float, not_below_zero(number, radius))
        error = ErrorLaw(float(number), (float(self.noise.scale),), step=1.0)
        return Cell(((self.query.column, key),), Reply(Estimate(value, low, high, float(radius), 0.0)), error)

    def expected(self, people: int) -> ExpectedAccuracy:
        """The noise does not depend on the rows. Whether any key is listed does: for two shapes it is known."""
        replies = chances(self.listing, people)
        return ExpectedAccuracy(float(self.noise.radius(BETA)), None, unlisted(self.listing), replies)


def unlisted(listing: KeyListing) -> str:
    """The public words about keys that are not listed."""
    half, nearly = listing.selection.fewest(Fraction(1, 2)), listing.selection.persons(Fraction(19, 20))
    told = f"keys of about fewer than {half:,} persons are not listed, those of {nearly:,} nearly always are"
    return told if not listing.is_weighted else f"{told}, however many keys each has"


def numbers_of(listing: KeyListing, result: QueryResult) -> Mapping[str, int]:
    """The exact input of a listing."""
    assert result.holders is not None
    return listing.numbers(result.holders, result.degrees or {}, result.returned or {})


def holders_of(column: str, touch: int, listing: KeyListing) -> KeyHolders:
    """The query of a listing of the texts of a column.

    Parameters
    ----------
    column : str
    touch : int
        Most texts that a person counts in.
    listing : KeyListing

    Returns
    -------
    KeyHolders
    """
    back = listing.returns
    shares = None if back is None else KeyShares(back.weights, back.pieces)
    return KeyHolders(column, touch, listing.is_weighted, shares)


def chances(listing: KeyListing, people: int) -> Replies:
    """The probability that any key is listed, for two shapes of which it is known."""
    shared, alone = (float(listing.selection.chance(persons)) for persons in (people, 1))
    lucky = 1.0 if alone == 1.0 else -math.expm1(people * math.log1p(-alone))
    return (("one key of all", shared), ("a key of each", lucky))


def listing_of(
    name: str, setting: Setting, epsilon: Fraction, delta: Fraction, touch: int, at_least: int
) -> KeyListing:
    """The list of keys for exactly ``epsilon`` and ``delta``.

    Parameters
    ----------
    name : str
        The question, for the message.
    setting : Setting
    epsilon, delta : Fraction
    touch : int
        Most keys that a person counts in.
    at_least : int
        A key of fewer persons is not listed.

    Returns
    -------
    KeyListing

    Raises
    ------
    QuestionError
        Where no key of fewer than a million persons would be listed for certain.
    """
    try:
        return best_listing(setting.neighbours, epsilon, delta, groups=touch, at_least=at_least)
    except PublicParameterError as refusal:
        raise QuestionError(f"{name}: {refusal} Nothing was charged.") from None


def key_list(asked: KeyList, setting: Setting, epsilon: Fraction) -> KeyListStep:
    """The step of a question, for ``epsilon`` and the delta of the setting together.

    Parameters
    ----------
    asked : KeyList
        The question.
    setting : Setting
        Public circumstances, with the delta of the question.
    epsilon : Fraction
        Loss of selection and counts together.

    Returns
    -------
    KeyListStep
        Step with its guarantee.

    Raises
    ------
    QuestionError
        Groups beside the question, no delta, or a loss too small to list any key.
    """
    declared, touch = setting.schema.text(asked.column), asked.touch(setting)
    if setting.keys is not None:
        raise QuestionError("keys is of the whole table: ask it without groups. Nothing was charged.")
    if setting.delta is None:
        raise QuestionError(f"{asked.name} needs a δ, such as delta=1e-9. Nothing was charged.")
    listing = listing_of(asked.name, setting, epsilon / 2, setting.delta, touch, asked.at_least)
    noise = Geometric(L1(Fraction(listing.selection.changes), setting.neighbours), epsilon / 2)
    return KeyListStep(
        public_facts.title(asked, setting),
        holders_of(asked.column, touch, listing),
        listing,
        noise,
        declared.longest,
        asked.estimand(setting),
    )
