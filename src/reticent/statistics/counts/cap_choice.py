"""The cap on rows of a person, chosen privately among public candidates by counts of persons above each.

With a larger cap fewer rows are cut, and noise is larger in proportion. The next candidate is worth its noise where
enough fewer persons have more rows than it: ln(12) / epsilon of them. So candidate c is drawn with probability in
proportion to 12^-(its place) exp(-epsilon N(c)), where N(c) persons have more than c rows. Under substitution it is
exp(-epsilon N(c) / 2). Law, sensitivity and the error it aims at: docs/proofs/caps.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from reticent.data.caps import CapLadder
from reticent.data.query import CappedPersons, Query
from reticent.errors import QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.outcome import Estimate, Reply
from reticent.privacy.adjacency import Kind
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import Linf
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.context import ExpectedAccuracy, Setting
from reticent.statistics.replies import ALWAYS

if TYPE_CHECKING:
    from reticent.data.table import QueryResult
    from reticent.entropy import Entropy

NAME: Final = "cap on rows"
FALL: Final = 12  # each candidate weighs so many times less than the one before


@dataclass(frozen=True, slots=True)
class CapChoiceStep:
    """The choice of a cap: an exponential mechanism over the rungs of a ladder, by counts of persons above each."""

    ladder: CapLadder
    mechanism: Exponential
    setting: Setting
    estimand: str = "the cap on rows of a person with the least estimated total error, cut rows and noise together"

    @property
    def name(self) -> str:
        return NAME

    @property
    def queries(self) -> tuple[Query, ...]:
        return (CappedPersons(self.ladder.rungs[:-1]),)

    @property
    def guarantee(self) -> Guarantee:
        return in_sequence([self.mechanism.guarantee], label=NAME)

    @property
    def worth(self) -> float:
        """Persons by which fewer must be above the next candidate for it to be as likely as the one before."""
        halved = 2 if self.setting.neighbours.kind == "substitute" else 1
        return halved * math.log(FALL) / float(self.mechanism.epsilon)

    def scores(self, above: Sequence[int]) -> tuple[int, ...]:
        """The score of each rung by the numbers of persons above all but the last, which no one may keep more than.

        Between neighbours each number moves by 1 at most. Under add/remove all that move go the same way, and the first
        is among them: twice a number less the first one moves by 1 at most.
        """
        return monotone(above, self.setting.neighbours.kind)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidates in words."""
        return tuple(f"a cap of {rung:,}" for rung in self.ladder.rungs)

    def choose(self, results: Sequence[QueryResult], entropy: Entropy) -> int:
        """The place of the cap drawn."""
        ((above,),) = (result.vectors for result in results)
        return drawn(self.mechanism, self.scores(above), entropy)

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
        worth = f"the next one is worth its noise where {self.worth:,.0f} fewer people have more rows"
        return ExpectedAccuracy(None, None, f"chosen among {self.ladder.words}; {worth}", ALWAYS)


def monotone(above: Sequence[int], kind: Kind) -> tuple[int, ...]:
    """Scores of candidates by numbers above all but the last, which move together and the first of them furthest.

    Under add/remove all that move go the same way, and the first moves at least as far as any other. So twice a number
    less the first one moves no further than the first. Under substitution the numbers are the scores.
    """
    counted = (*above, 0)
    return counted if kind == "substitute" else tuple(2 * number - counted[0] for number in counted)


def drawn(mechanism: Exponential, scores: Sequence[int], entropy: Entropy) -> int:
    """The place of a candidate by its score, each weighing ``FALL`` times less beforehand than the one before.

    Parameters
    ----------
    mechanism : Exponential
        Exponential mechanism of the choice.
    scores : sequence of int
        Score of each candidate, less being likelier.
    entropy : Entropy
        Source of the noise.

    Returns
    -------
    int
        Place of the candidate.
    """
    weights = np.array([FALL**place for place in reversed(range(len(scores)))], dtype=object)
    found = Candidates(np.array(scores, dtype=np.int64), weights)
    return int(gate.choose(mechanism, found, np.arange(len(scores) + 1), entropy))


def prepare(setting: Setting, epsilon: Fraction) -> CapChoiceStep:
    """The choice of the cap of a person, for exactly ``epsilon``.

    Raises
    ------
    QuestionError
        Where the schema declares no candidates, or no person column.
    """
    person = setting.schema.person
    if person.ladder is None or person.column is None:
        raise QuestionError(f'{NAME}: say rows = {{ at_most = "auto" }} and a person column. Nothing was charged.')
    return CapChoiceStep(person.ladder, Exponential(Linf(Fraction(1), setting.neighbours), epsilon), setting)
