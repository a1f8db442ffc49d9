"""A test whether the density at the median is above a public number: ``test("x", kind="density", density="0.01")``.

    census   a noisy number of values, where it is private       1/20 of epsilon
    test     the rows to change until another verdict is right   the rest: statistics/robust/density_test.py

Hypothesis: values are independent with a continuous law. Its density is at most ``density`` per unit of the column
everywhere between two public ranks around the median. A column is *dense* where these ranks are within a
public width, and at most ``SAMPLE`` of all columns under the hypothesis are. The number of rows A to change has noise
Z; on a column that is not dense A <= 0, so P(A + Z >= v) <= SAMPLE + P(Z >= v), which is the p-value. A noisy number of
values is taken for larger than it is, for the width alone: more values have narrower ranks, so the width errs towards
"not dense", but for probability ``COUNTED``, which is in the p-value too.

Source. 003 section 10; docs/proofs/robust.md, section 9. Pure epsilon: nothing is let out that the verdict would have
to be right for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Final

from reticent.data.order_statistics import LARGEST, Needs, Order
from reticent.data.query import OrderedValues
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.column_step import GroupResult, PlannedStep
from reticent.statistics.context import ExpectedAccuracy, Replies, Setting, normally, of_any, passing
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.hypotheses.independence import seeing
from reticent.statistics.hypotheses.null import least_seen
from reticent.statistics.hypotheses.step import P_VALUE, STATISTIC
from reticent.statistics.options import PLAIN
from reticent.statistics.robust.answers import StepUnit
from reticent.statistics.robust.density_test import LEVEL, DensityTest, density_test
from reticent.statistics.robust.plans import CENSUS, FEW
from reticent.statistics.robust.robust_step import grid_of, public_values

EFFECT: Final = "rows to change"
COUNTED: Final = LEVEL / 10  # that there are more values than the width was made for
SAMPLE: Final = LEVEL / 2  # that a column under the hypothesis is dense, the number of values included
INTERVAL: Final = 0.05
WHAT: Final = "density at the median"


@dataclass(frozen=True, slots=True)
class DensityPlan:
    """The test as a plan: for a public ``n``, or one that ``census`` buys first.

    Attributes
    ----------
    density : Fraction
        Of the hypothesis, for each unit of the column.
    epsilon : Fraction
        Of the test, without the census.
    """

    grid: StepUnit
    density: Fraction
    neighbours: Adjacency
    epsilon: Fraction
    n: int | None = None
    census: Geometric | None = None

    @property
    def noise(self) -> Geometric:
        return Geometric(L1(Fraction(self.neighbours.rows), self.neighbours), self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        bought = [] if self.census is None else [self.census.guarantee]
        return compose.in_sequence([*bought, self.noise.guarantee], label="density test")

    @property
    def needs(self) -> Needs | None:
        """Public ranks that are enough, where the number of values is public."""
        return None if self.n is None else self.made(self.n).needs

    def made(self, n: int) -> DensityTest:
        """The test for ``n`` values, public or noisy.

        Raises
        ------
        QuestionError, PublicParameterError
            Where so few values can never be called dense.
        """
        most = n if self.census is None else n + self.census.radius(2 * float(COUNTED))
        found = density_test(
            n,
            self.neighbours,
            density=self.density * self.grid.unit,
            epsilon=self.epsilon,
            alpha=LEVEL,
            sample=SAMPLE - (0 if self.census is None else COUNTED),
            at_most=most,
        )
        if found.noise != self.noise:
            raise PublicParameterError("a test has other noise than is charged")
        return found

    def draw(self, data: Order, entropy: Entropy) -> GroupResult:
        n = self.n
        if self.census is not None:
            (n,) = gate.draw(self.census, (data.below(LARGEST + 1),), entropy)
        try:
            test = self.made(max(n or 0, 1))
        except (QuestionError, PublicParameterError):  # refused by the noisy number alone, so it may show
            return GroupResult((NO_REPLY,) * 3)
        (noisy,) = gate.draw(test.noise, (test.distance(data),), entropy)
        return GroupResult(self._told(test, noisy), (self._words(test, noisy >= test.threshold),))

    def _told(self, test: DensityTest, noisy: int) -> tuple[Outcome[Estimate], ...]:
        off, p = float(test.noise.radius(INTERVAL)), p_value(test, noisy)
        effect = Estimate(float(noisy), noisy - off, noisy + off, off, 0.0)
        return Reply(effect), Reply(_exactly(float(noisy))), Reply(_exactly(p))

    def _words(self, test: DensityTest, dense: bool) -> str:
        verdict = "dense" if dense else "not shown to be dense"
        return (
            f"{verdict}: density above {show(self.density)} at the median, level {float(LEVEL):g}; it takes "
            f"{test.threshold:,} rows to change, noise included; ranks {test.ranks[0]:,} and {test.ranks[1]:,} "
            f"within {self.grid.length(test.width):.4g}"
        )

    def expected(self, people: int) -> ExpectedAccuracy:
        try:
            test = self.made(self.n or people)
        except (QuestionError, PublicParameterError):
            return ExpectedAccuracy(None, None, FEW, self._replies(people))
        n, length = self.n or people, self.grid.length(test.width)
        least = least_seen(lambda density: _power(test, n, density * length, test.threshold), 1.0 / length, near=1e-3)
        found = seeing(float(test.noise.radius(INTERVAL)), 0.0, least, WHAT, "an even law there")
        note = (
            f"rows to change; dense from {test.threshold:,} on, ranks {test.ranks[0]:,} and {test.ranks[1]:,} within "
            f"{length:.4g}; {found.note}"
        )
        return replace(found, note=note, replies=self._replies(people))

    def power(self, effect: float, people: int, level: float) -> float:
        """P(p-value <= level) where the density at the median is ``effect``, even there, about.

        Parameters
        ----------
        effect : float
            Density for each unit of the column.
        people : int
            Number of values.
        level : float
            Level of the test, in (0, 1).

        Returns
        -------
        float
            Probability of a rejection, in [0, 1]; 0 at a level that no p-value reaches.

        Raises
        ------
        PublicParameterError
            A negative density, or so few values that the test cannot reject.
        """
        if effect < 0.0:
            raise PublicParameterError(f"a density must be >= 0, got {effect:g}")
        test, least = self._sized(people), float(SAMPLE)
        if level <= least:  # the p-value has the chance of a dense sample in it
            return 0.0
        at = test.threshold
        if level != float(LEVEL):
            at = next(noisy for noisy in count(-test.noise.radius(1e-12)) if p_value(test, noisy) <= level)
        return _power(test, people, min(1.0, effect * self.grid.length(test.width)), at)

    def least(self, people: int) -> float:
        """The least density that is seen with power .8 at level .05, or the greatest that the width can tell.

        Raises
        ------
        PublicParameterError
            So few values that the test cannot reject.
        """
        most = 1.0 / self.grid.length(self._sized(people).width)
        return least_seen(lambda density: self.power(density, people, float(LEVEL)), most, near=1e-3) or most

    def _sized(self, people: int) -> DensityTest:
        try:
            return self.made(people)
        except QuestionError as few:
            raise PublicParameterError(f"{people:,} values are too few: {few}") from None

    def _replies(self, people: int) -> Replies:
        """The chance that the noisy number of values is large enough for a test."""

        def enough(number: float) -> bool:
            try:
                self.made(max(round(number), 1))
            except (QuestionError, PublicParameterError):
                return False
            return True

        return of_any(passing(enough, self.n or people, [] if self.census is None else [float(self.census.scale)]))


def _power(test: DensityTest, n: int, mass: float, least: int) -> float:
    """P(``least`` rows to change) where so much of an even law is within the width, about: its values and the noise."""
    deviation = math.sqrt(n * mass * max(1.0 - mass, 0.0) + 2.0 * float(test.noise.scale) ** 2)
    return normally(n * mass - (test.ranks[1] - test.ranks[0]), least, deviation)


def p_value(test: DensityTest, noisy: int) -> float:
    """An upper bound of the chance, under the hypothesis, of a number of rows to change of ``noisy`` or more."""
    ratio = math.exp(-1 / float(test.noise.scale))
    above = ratio**noisy / (1 + ratio) if noisy > 0 else 1 - ratio ** (1 - noisy) / (1 + ratio)
    return min(1.0, float(SAMPLE) + above)


def step(asked: HypothesisTest, setting: Setting, epsilon: Fraction) -> PlannedStep[Order]:
    """The density test of a column, for exactly ``epsilon``.

    Parameters
    ----------
    asked : HypothesisTest
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    PlannedStep[Order]

    Raises
    ------
    QuestionError
        Before rows are read: a category, bounds of its own, or a public number of values that is too small.
    """
    if asked.low is not None:
        raise QuestionError(f"{asked.name}: a test of the density takes no bounds. Nothing was charged.")
    assert asked.density is not None  # the question has seen to it
    grid = grid_of(asked.column, PLAIN, setting)
    near, n = setting.neighbours, public_values(asked.column, "row", setting)
    if n is not None:
        plan = DensityPlan(grid, asked.density, near, epsilon, n)
        plan.made(n)
    else:
        census = Geometric(L1(Fraction(near.rows), near), epsilon * CENSUS)
        plan = DensityPlan(grid, asked.density, near, epsilon * (1 - CENSUS), None, census)
        if setting.units is not None:
            plan.made(setting.units * setting.schema.person.rows)  # not even all of them together would do
    return PlannedStep(
        public_facts.name_of(asked.name, setting),
        OrderedValues(asked.column, grid.unit, plan.needs),
        _orders,
        plan,
        setting,
        setting.schema.person.rows,
        tuple((("test", name),) for name in (EFFECT, STATISTIC, P_VALUE)),
        _caveats(setting),
    )


def _caveats(setting: Setting) -> tuple[str, ...]:
    if setting.schema.person.rows == 1:
        return ()
    return ("rows of one person are taken for independent values, which the p-value rests on",)


def _orders(result: QueryResult) -> Sequence[Order]:
    return result.orders


def _exactly(value: float) -> Estimate:
    """A number of the noisy ones as it is: nothing is estimated by it."""
    return Estimate(value, value, value, 0.0, 0.0)


__all__ = ["EFFECT", "DensityPlan", "p_value", "step"]
