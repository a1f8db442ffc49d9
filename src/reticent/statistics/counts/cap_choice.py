"""The cap on rows of a person, chosen privately among public candidates by counts of persons above each.

With a larger cap fewer rows are cut, and noise is larger in proportion. So a candidate c weighs c^(-11 k / 4), and
loses by persons with more than c rows. k is 1 for one count, and rises with the root of the number of answers that
share the loss. A mean counts as four: a row that is cut is not missing in it. A little is won by persons with no more
than c who have more than the candidate before: many of them and none above are a hard maximum. All scores of
neighbours move within ``PARTS`` of each other. Law, proof and the error it aims at: docs/proofs/caps.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from reticent.data.caps import CapLadder
from reticent.data.query import CappedPersons, Query
from reticent.errors import QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.outcome import Estimate, Reply
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import Spread
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.context import ALWAYS, ExpectedAccuracy, Setting

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy

NAME: Final = "cap on rows"
PARTS: Final = 12  # of a score: 1 for those between two candidates, 1 more if replaced, the rest for those above
MOST: Final = 8  # log-odds that those between two candidates are worth at most
FALL: Final = Fraction(11, 4)  # the power of its size by which a candidate weighs less
FINE: Final = 256  # the weight of the largest candidate is that power of it
IN_A_MEAN: Final = 4  # counts that a mean, a share or a quantile stands for, of which a cut row is not missing
STEEPEST: Final = 16  # times the power, at most


@dataclass(frozen=True, slots=True)
class CapChoiceStep:
    """The choice of a cap: an exponential mechanism over the rungs of a ladder, by counts of persons above each."""

    ladder: CapLadder
    mechanism: Exponential
    setting: Setting
    times: int = 1
    estimand: str = "the cap on rows of a person with the least estimated error of a count, cut rows and noise together"

    @property
    def name(self) -> str:
        return NAME

    @property
    def queries(self) -> tuple[Query, ...]:
        return (CappedPersons((0, *self.ladder.rungs[:-1])),)

    @property
    def guarantee(self) -> Guarantee:
        return in_sequence([self.mechanism.guarantee], label=NAME)

    @property
    def worth(self) -> float:
        """Persons by which fewer must be above a candidate for it to be as likely as one half as large."""
        return self.times * worth(self.mechanism)

    def scores(self, above: Sequence[int]) -> tuple[int, ...]:
        """The score of each rung: by all persons, then those above each rung but the last."""
        return scores(above, self.mechanism)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidates in words."""
        return tuple(f"a cap of {rung:,}" for rung in self.ladder.rungs)

    def choose(self, results: Sequence[QueryResult], entropy: Entropy) -> int:
        """The place of the cap drawn."""
        ((above,),) = (result.vectors for result in results)
        return drawn(self.mechanism, self.scores(above), self.ladder.rungs, entropy, self.times)

    def told(self, place: int) -> str:
        """The note of a release at the cap drawn."""
        return (
            f"the cap of {self.ladder.rungs[place]:,} rows of a person was chosen privately among {self.ladder.words}, "
            f"for {self.ladder.share} of the loss; a later release may keep it at no charge"
        )

    def to_json(self, place: int) -> dict[str, object]:
        """The choice as a certificate holds it."""
        return {"cap": {"rows": self.ladder.rungs[place], **self.ladder.to_json()}}

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        rows = float(self.ladder.rungs[self.choose(results, entropy)])
        return Answer(NAME, (Cell((), Reply(Estimate(rows, rows, rows, 0.0, 0.0))),), discrete=True)

    def expected(self, people: int) -> ExpectedAccuracy:
        """A choice has no width: the note says what it is made among, and when a larger one is worth its noise."""
        worth = f"a cap twice as large is worth its noise where {self.worth:,.0f} fewer people have more rows"
        return ExpectedAccuracy(None, None, f"chosen among {self.ladder.words}; {worth}", ALWAYS)


def of_spread(rows: int, setting: Setting, epsilon: Fraction) -> Exponential:
    """The mechanism for ``scores`` of things of which a person has ``rows`` at most.

    Parameters
    ----------
    rows : int
        Most things of one person.
    setting : Setting
        Public circumstances of the release.
    epsilon : Fraction
        Loss of the choice.

    Returns
    -------
    Exponential
        Mechanism with the spread of such scores.
    """
    return Exponential(Spread(Fraction(PARTS * rows), setting.neighbours), epsilon)


def _above(mechanism: Exponential) -> int:
    """The parts of a score that count those above a candidate."""
    return PARTS - (2 if mechanism.sensitivity.adjacency.kind == "substitute" else 1)


def scores(above: Sequence[int], mechanism: Exponential) -> tuple[int, ...]:
    """The score of each candidate: by the number of all, then of those above each candidate but the last.

    The parts for those above, less those between it and the candidate before, up to a public number. Between neighbours
    the changes at two candidates are apart by ``PARTS`` times the rows of a person at most.
    """
    most, parts = math.ceil(MOST / mechanism.rate), _above(mechanism)
    return tuple(parts * now - min(before - now, most) for before, now in pairwise((*above, 0)))


def worth(mechanism: Exponential) -> float:
    """The number by which fewer must be above a candidate for it to be as likely as one half as large."""
    return float(FALL) * math.log(2) / float(_above(mechanism) * mechanism.rate)


def times_of(counts: int, others: int) -> int:
    """Times the power by which a candidate weighs less, for answers that count rows or add them up, and for others."""
    return min(max(round(math.sqrt(counts + IN_A_MEAN * others)), 1), STEEPEST)


def weights(sizes: Sequence[int] | Sequence[Fraction], times: int = 1) -> tuple[int, ...]:
    """The public weight of each candidate: the larger, the less. It is an exact integer on every machine."""
    powers = ((Fraction(FINE * sizes[-1]) / size) ** (FALL.numerator * times) for size in sizes)
    return tuple(math.isqrt(math.isqrt(math.floor(power))) for power in powers)  # the floor of the fourth root


def drawn(
    mechanism: Exponential,
    scored: Sequence[int],
    sizes: Sequence[int] | Sequence[Fraction],
    entropy: Entropy,
    times: int = 1,
) -> int:
    """The place of a candidate by its score, weighing less beforehand the larger it is.

    Parameters
    ----------
    mechanism : Exponential
        Exponential mechanism of the choice.
    scored : sequence of int
        Score of each candidate, less being likelier.
    sizes : sequence of int or Fraction
        Public sizes of the candidates, rising.
    entropy : Entropy
        Source of the noise.
    times : int
        Times the power by which larger ones weigh less.

    Returns
    -------
    int
        Place of the candidate.
    """
    found = Candidates(np.array(scored, dtype=np.int64), np.array(weights(sizes, times), dtype=object))
    return int(gate.choose(mechanism, found, np.arange(len(scored) + 1), entropy))


def prepare(setting: Setting, epsilon: Fraction, times: int = 1) -> CapChoiceStep:
    """The choice of the cap of a person, for exactly ``epsilon``.

    Parameters
    ----------
    setting : Setting
        Public circumstances of the release.
    epsilon : Fraction
        Loss of the choice.
    times : int
        Times the power by which a larger cap weighs less (``times_of``).

    Returns
    -------
    CapChoiceStep

    Raises
    ------
    QuestionError
        Where the schema declares no candidates, or no person column.
    """
    person = setting.schema.person
    if person.ladder is None or person.column is None:
        raise QuestionError(f'{NAME}: say rows = {{ at_most = "auto" }} and a person column. Nothing was charged.')
    return CapChoiceStep(person.ladder, of_spread(1, setting, epsilon), setting, times)
