"""A prepared test: integers of the table, one draw of noise, and what the noisy integers say of the hypothesis.

    results --protected--> integers --mechanism--> noisy integers --tell--> Told --> cells

A ``Hypothesis`` is one kind on public parameters. It knows the scale of the noise it will get and nothing of the rows.
Its result is post-processing of the noisy integers and charges nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Protocol

from reticent.data.query import Moments, Query
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Estimate, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.context import ALWAYS, ExpectedAccuracy, Setting, StepWork, guarantee_of, noisy, values_of
from reticent.statistics.hypotheses.null import PValue

P_VALUE: Final = "p-value"
STATISTIC: Final = "statistic"


@dataclass(frozen=True, slots=True)
class HypothesisResult:
    """Result of the noisy integers: the effect with its interval, the statistic, the p-value and words.

    ``words`` depend on noisy integers and public numbers only.
    """

    effect: Estimate
    statistic: float
    p: PValue
    words: tuple[str, ...] = ()


class Hypothesis(Protocol):
    """Hypothesis on noisy integers: one kind of test on the public parameters of one question."""

    @property
    def effect(self) -> str:
        """The name of the effect, as its cell is labelled: ``difference of means``."""
        ...

    def protected(self, results: Sequence[QueryResult]) -> list[tuple[int, ...]]:
        """The integers that get noise, whose L1 sensitivity together is that of the step's mechanism."""
        ...

    def tell(self, noisy: Sequence[tuple[int, ...]]) -> HypothesisResult:
        """Result of noisy integers of the shape of ``protected``. Deterministic."""
        ...

    def expected(self, people: int) -> ExpectedAccuracy:
        """Half-widths of the effect for an assumed shape, and the effect seen with power .8 at level .05 in words."""
        ...

    def power(self, effect: float, people: int, level: float) -> float:
        """P(p-value <= level) for a true effect of this size, of ``people`` persons of an assumed shape.

        Parameters
        ----------
        effect : float
            Effect, in the unit of the test.
        people : int
            Number of people.
        level : float
            Level of the test, in (0, 1).

        Returns
        -------
        float
            Probability of a rejection, in [0, 1].
        """
        ...


@dataclass(frozen=True, slots=True)
class HypothesisStep:
    """A test as a step."""

    work: ClassVar[StepWork] = StepWork(simulates=True)

    name: str
    queries: tuple[Query, ...]
    mechanism: Geometric
    hypothesis: Hypothesis
    setting: Setting
    caveats: tuple[str, ...] = ()
    estimand: str = ""

    @property
    def guarantee(self) -> Guarantee:
        return guarantee_of(self.mechanism, self.setting, self.name)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        told = self.hypothesis.tell(noisy(self.hypothesis.protected(results), self.mechanism, entropy))
        cells = (
            Cell((("test", self.hypothesis.effect),), Reply(told.effect)),
            Cell((("test", STATISTIC),), Reply(_exactly(told.statistic))),
            Cell((("test", P_VALUE),), Reply(Estimate(told.p.value, told.p.low, told.p.high, 0.0, 0.0))),
        )
        return Answer(self.name, cells, (*self.caveats, *told.words))

    def values(self, people: int) -> int:
        """Values that so many persons have in this test, by the public guess of their rows."""
        person = self.setting.schema.person
        averaged = any(isinstance(query, Moments) and query.per == "person" for query in self.queries)
        return values_of(people, 1 if averaged else person.rows, person)

    def expected(self, people: int) -> ExpectedAccuracy:
        return replace(self.hypothesis.expected(self.values(people)), replies=ALWAYS)

    def half_widths(self, people: int) -> ExpectedAccuracy:
        """Half-widths alone, for the search of a price; a test of ranks simulates the rest of its line."""
        hypothesis = self.hypothesis
        found = getattr(hypothesis, "half_widths", hypothesis.expected)
        return replace(found(self.values(people)), replies=ALWAYS)


def _exactly(value: float) -> Estimate:
    """A number of the noisy integers as it is: nothing is estimated by it."""
    return Estimate(value, value, value, 0.0, 0.0)


__all__ = ["P_VALUE", "STATISTIC", "Hypothesis", "HypothesisStep", "HypothesisResult"]
