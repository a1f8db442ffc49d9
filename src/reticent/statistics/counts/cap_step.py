"""Share of persons with more rows than are kept: the caveat beside every answer that counts rows.

Persons above the cap and persons not above it are protected together: adding or removing a person moves the pair by
1, and where persons are replaced their number is public and the first alone is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from reticent.data.query import CappedPersons, DistinctPersons, Query
from reticent.errors import QuestionError
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.context import ExpectedAccuracy, Setting, guarantee_of, noisy, of_any, passing
from reticent.statistics.intervals import NONE, half_width, too_few
from reticent.statistics.public_facts import at_most
from reticent.statistics.shares import idle, percent

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy

CAPPED: Final = "answers are of capped rows or totals, as each says"  # a sum by groups is of rows, without of totals


@dataclass(frozen=True, slots=True)
class CapStep:
    """The share of persons above the cap; ``units`` is the number of persons where it is public."""

    mechanism: Geometric
    setting: Setting
    units: int | None
    estimand: str = ""

    @property
    def name(self) -> str:
        return f"capped where {self.setting.where}" if self.setting.where else "capped"

    @property
    def words_of_rows(self) -> str:
        """Beginning of the caveats about the cap, of other answers."""
        return at_most(self.setting.schema.person)

    def beside(self, answer: Answer, share: Outcome[Estimate]) -> Answer:
        """The answer with the released share; words of a cap that is shown to change nothing are left out."""
        kept = tuple(text for text in answer.caveats if not (idle(share) and text.startswith(self.words_of_rows)))
        return replace(answer, capped=share, caveats=kept)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (CappedPersons(), DistinctPersons())

    @property
    def guarantee(self) -> Guarantee:
        return guarantee_of(self.mechanism, self.setting, "share of people above the cap")

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        ((above,),), ((people,),) = results[0].vectors, results[1].vectors
        if self.units is None:
            ((above, rest),) = noisy([(above, people - above)], self.mechanism, entropy)
            outcome = self._share(above, above + rest)
        else:
            ((above,),) = noisy([(above,)], self.mechanism, entropy)
            outcome = self._share(above, self.units)
        return Answer(self.name, (Cell((), outcome),), () if idle(outcome) else (self.words(outcome),))

    def _share(self, above: int, people: int) -> Outcome[Estimate]:
        scale = float(self.mechanism.scale)
        if too_few(people, [] if self.units is not None else [scale, scale]):
            return NO_REPLY
        share = min(max(above / people, 0.0), 1.0)
        scales = [scale] if self.units is not None else [scale * (1.0 - share), scale * share]
        radius = half_width(NONE, scales) / people
        return Reply(Estimate(share, max(share - radius, 0.0), min(share + radius, 1.0), radius, 0.0))

    def words(self, outcome: Outcome[Estimate]) -> str:
        """The caveat, such as ``77 % ± 2 % of people had more than 20 rows: …``, with what is so of the answers."""
        rows = self.setting.schema.person.rows
        many = "1 row" if rows == 1 else f"{rows} rows"
        if not isinstance(outcome, Reply):
            return f"how many people had more than {many} could not be told: {CAPPED}"
        return f"{percent(outcome.value)} of people had more than {many}: {CAPPED}"

    def expected(self, people: int) -> ExpectedAccuracy:
        scale = float(self.mechanism.scale)
        radius = half_width(NONE, [scale]) / people
        drawn = [] if self.units is not None else [scale, scale]
        likely = passing(lambda number: not too_few(number, drawn), people, drawn)
        return ExpectedAccuracy(radius, None, replies=of_any(likely))


def prepare(setting: Setting, epsilon: Fraction) -> CapStep:
    """Persons above the cap and persons in all, as two counts that together change by one at most (two if replaced)."""
    if setting.schema.person.column is None:
        raise QuestionError("Every row is another person: there is no cap. Nothing was charged.")
    if setting.keys is not None:
        raise QuestionError("capped is of the whole table: ask it without groups. Nothing was charged.")
    substitute = setting.neighbours.kind == "substitute"
    units = setting.units if substitute else None
    bound = Fraction(2 if substitute and units is None else 1)
    return CapStep(Geometric(L1(bound, setting.neighbours), epsilon), setting, units)
