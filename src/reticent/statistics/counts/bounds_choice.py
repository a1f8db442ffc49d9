"""The bounds of a column, chosen privately among public candidates by counts of values beyond each.

With wider bounds fewer values are cut, and noise is larger in proportion. The choice is that of a cap on rows
(``cap_choice``), of values in place of persons. Law, sensitivity and the error it aims at: docs/proofs/caps.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from reticent.data.bounds import BoundsLadder
from reticent.data.query import Query, Tally
from reticent.mechanisms.exponential import Exponential
from reticent.outcome import Estimate, Reply
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.context import ALWAYS, ExpectedAccuracy, Setting
from reticent.statistics.counts.cap_choice import drawn, of_spread, scores, worth

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy


@dataclass(frozen=True, slots=True)
class BoundsChoiceStep:
    """The choice of bounds: an exponential mechanism over the rungs of a ladder, by counts of values beyond each."""

    column: str
    ladder: BoundsLadder
    mechanism: Exponential
    setting: Setting
    estimand: str = "the bounds with the least estimated total error, cut values and noise together"

    @property
    def name(self) -> str:
        return f"bounds of {self.column}"

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidates in words."""
        return tuple(f"bounds [{', '.join(map(show, self.ladder.at(rung)))}]" for rung in self.ladder.rungs)

    @property
    def _ends(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Edges below which values are cut, falling, and from which on they are, rising: one for all but the last."""
        sizes = self.ladder.rungs[:-1]
        below = () if self.ladder.low is not None else tuple(-size for size in sizes)
        next_double = (Fraction(math.nextafter(float(size), math.inf)) for size in sizes)
        return below, (() if self.ladder.high is not None else tuple(next_double))

    @property
    def queries(self) -> tuple[Query, ...]:
        below, above = self._ends
        inner = (*reversed(below), *above)
        return (Tally(self.column, (inner[0] - 1, *inner, inner[-1] + 1)),)

    @property
    def guarantee(self) -> Guarantee:
        return in_sequence([self.mechanism.guarantee], label=self.name)

    def beyond(self, bins: Sequence[int]) -> tuple[int, ...]:
        """The number of all values, then of those beyond each rung but the last, from the counts of the query."""
        below, above = self._ends
        first = [sum(bins[: len(below) - place]) for place in range(len(below))]
        last = [sum(bins[len(below) + 1 + place :]) for place in range(len(above))]
        places = range(len(self.ladder.rungs) - 1)
        each = ((first[place] if below else 0) + (last[place] if above else 0) for place in places)
        return (sum(bins), *each)

    def scores(self, beyond: Sequence[int]) -> tuple[int, ...]:
        """The score of each rung: by the number of all values, then of those beyond each rung but the last."""
        return scores(beyond, self.mechanism)

    def choose(self, results: Sequence[QueryResult], entropy: Entropy) -> int:
        """The place of the rung drawn."""
        ((bins,),) = (result.vectors for result in results)
        return drawn(self.mechanism, self.scores(self.beyond(bins)), self.ladder.rungs, entropy)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        size = float(self.ladder.rungs[self.choose(results, entropy)])
        return Answer(self.name, (Cell((), Reply(Estimate(size, size, size, 0.0, 0.0))),))

    def told(self, place: int) -> str:
        """The note of a release at the rung drawn."""
        return (
            f"the {self.candidates[place]} of {self.column} were chosen privately among {self.ladder.words}, for "
            f"{self.ladder.share} of the loss; a later release may keep them at no charge. "
            "Intervals are of values moved into them, and tell nothing of what was cut"
        )

    def to_json(self, place: int) -> dict[str, object]:
        """The choice as a certificate holds it."""
        low, high = map(show, self.ladder.at(self.ladder.rungs[place]))
        return {"bounds": {"column": self.column, "low": low, "high": high, **self.ladder.to_json()}}

    def reach(self, people: int) -> int:
        """The place of the furthest candidate that so many values can outweigh the weights of."""
        first, *further = self.ladder.rungs
        far = people * math.log(2) / worth(self.mechanism)  # the least one weighs so many times more, in logarithms
        return sum(math.log(rung / first) <= far for rung in further)

    def expected(self, people: int) -> ExpectedAccuracy:
        """A choice has no width: the note says what it is made among, and how far it can see."""
        reached = self.candidates[self.reach(people)].removeprefix("bounds ")
        twice = f"a range twice as wide takes {worth(self.mechanism):,.0f} values beyond it"
        told = f"chosen among {self.ladder.words}; {twice}; {people:,} can reach {reached}"
        return ExpectedAccuracy(None, None, told, ALWAYS)


def prepare(column: str, ladder: BoundsLadder, setting: Setting, epsilon: Fraction) -> BoundsChoiceStep:
    """The choice of the bounds of a column, for exactly ``epsilon``.

    Parameters
    ----------
    column : str
        Column whose bounds are chosen.
    ladder : BoundsLadder
        Public candidates of its bounds.
    setting : Setting
        Public circumstances of the release.
    epsilon : Fraction
        Loss of the choice.

    Returns
    -------
    BoundsChoiceStep
        Step with its guarantee.
    """
    return BoundsChoiceStep(column, ladder, of_spread(setting.schema.person.rows, setting, epsilon), setting)
