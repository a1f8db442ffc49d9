"""Plans by propose-test-release: for a public number of values, for a bought one, and with a unit that is bought too.

    FixedSizePlan   the number of values is public, and so are ranks
    CountedPlan     a noisy number first: 1/20 of epsilon
    MagnitudePlan   no bounds, no unit: the magnitude of the column for 1/10 of epsilon, and a unit of 2^-40 of it

Integers of 61 bits hold no column of any size. The unit of ``MagnitudePlan`` is 2^-40 of the upper end of a released
binade, so a column is read out to 2^21 times its median size. The binade is that of the median of |x|, drawn as for
quantiles (``statistics/magnitude.py``). What follows is made for that unit, and each step is the one that a public
unit has. The loss is that of the sequence, and no released unit changes it (docs/proofs/robust.md, section 10).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Protocol

import numpy as np

from reticent.data.candidates import Cells
from reticent.data.order_statistics import LARGEST, Order, RunLength
from reticent.data.query_result import Counts
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import rough, to_digits
from reticent.privacy.sensitivity import Linf
from reticent.statistics.column_step import GroupResult
from reticent.statistics.context import NEVER, ExpectedAccuracy
from reticent.statistics.magnitude import binades, by_binade, reach
from reticent.statistics.options import Mode
from reticent.statistics.rank_blocks import draw
from reticent.statistics.ranks import sensitivity
from reticent.statistics.robust.answers import MechanismReport, StepUnit

CENSUS: Final = Fraction(1, 20)  # of epsilon, where the number of values is bought
DEFAULT_UNIT: Final = Fraction(1, 1 << 24)  # of a real column without a resolution: it reaches to 1.4e11
BITS: Final = 40  # of the magnitude: rows are kept in cells of 2^-40 of a binade, so a finer unit tells no more
HALF: Final = Fraction(1, 2)  # the level of |x| whose magnitude is bought
ANY_N: Final = 1 << 40  # the guarantee of mode exact does not depend on n
FEW: Final = "no reply: too few people for this ε and δ"


@dataclass(frozen=True, slots=True)
class PtrPrice:
    """Budget of a mechanism, and the adjacency it is for."""

    near: Adjacency
    epsilon: Fraction
    delta: Fraction
    mode: Mode

    def each(self, tests: int) -> Fraction | None:
        """The delta of one of so many tests; None in mode paper, where the threshold has its own."""
        return None if self.mode == "paper" else self.delta / tests

    @property
    def cap(self) -> Fraction | None:
        """In mode paper: the most that all tests of one part may have."""
        return self.delta if self.mode == "paper" else None


class MechanismMaker(Protocol):
    """Makes a mechanism for a number of values, or refuses that number with a QuestionError."""

    def __call__(self, n: int, price: PtrPrice) -> MechanismReport: ...


@dataclass(frozen=True, slots=True)
class FixedSizePlan:
    """A plan for a public number of values; ``reach`` is what it says of how far they are read."""

    made: MechanismReport
    n: int
    reach: str = ""

    @property
    def guarantee(self) -> Guarantee:
        return self.made.guarantee

    def draw(self, data: Order, entropy: Entropy) -> GroupResult:
        return self.made.draw(data, entropy)

    def expected(self, people: int) -> ExpectedAccuracy:
        return _reaching(self.made.expected(), self.reach)


@dataclass(frozen=True, slots=True)
class CountedPlan:
    """A plan that buys the number of values first. ``rows``: the most values that one unit has."""

    census: Geometric
    make: MechanismMaker
    price: PtrPrice
    label: str
    reach: str = ""

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([self.census.guarantee, self.make(ANY_N, self.price).guarantee], label=self.label)

    def draw(self, data: Order, entropy: Entropy) -> GroupResult:
        (noisy,) = gate.draw(self.census, (data.below(LARGEST + 1),), entropy)
        try:
            made = self.make(max(noisy, 1), self.price)
        except (QuestionError, PublicParameterError):  # refused by the noisy number alone, so it may show
            return GroupResult((NO_REPLY,))
        compose.check_charged(made.guarantee, self.make(ANY_N, self.price).guarantee)
        return made.draw(data, entropy)

    def expected(self, people: int) -> ExpectedAccuracy:
        try:
            return _reaching(self.make(people, self.price).expected(), self.reach)
        except (QuestionError, PublicParameterError):
            return ExpectedAccuracy(None, None, FEW, NEVER)


def _reaching(found: ExpectedAccuracy, reach: str) -> ExpectedAccuracy:
    return replace(found, note=f"{found.note}{reach}")


@dataclass(frozen=True, slots=True)
class MagnitudePlan:
    """A plan that buys the magnitude of a column without bounds, and the number of values where that is private.

    ``price`` is that of the steps behind both; ``make`` makes them for a unit.
    """

    cells: Cells
    magnitude: Exponential
    census: Geometric | None
    n: int | None
    make: Callable[[StepUnit, int, PtrPrice], MechanismReport]
    price: PtrPrice
    label: str

    @property
    def guarantee(self) -> Guarantee:
        """The sequence of all that is drawn; the steps have one guarantee in every unit."""
        made = self.make(unit_of(self.cells, None), self.n or ANY_N, self.price)
        before = [] if self.census is None else [self.census.guarantee]
        return compose.in_sequence([*before, self.magnitude.guarantee, made.guarantee], label=self.label)

    def draw(self, data: Counts, entropy: Entropy) -> GroupResult:
        n = self.n
        if self.census is not None:
            (noisy,) = gate.draw(self.census, (int(data.counts.sum()),), entropy)
            n = max(noisy, 1)
        assert n is not None
        binade = draw(by_binade(self.cells, data), HALF, 0, self.magnitude, entropy)
        grid = unit_of(self.cells, binade)
        try:
            made = self.make(grid, n, self.price)
        except (QuestionError, PublicParameterError):  # refused by the noisy number alone, so it may show
            return GroupResult((NO_REPLY,))
        charged = self.make(unit_of(self.cells, None), self.n or ANY_N, self.price)
        compose.check_charged(made.guarantee, charged.guarantee)
        drawn = made.draw(in_steps(self.cells, data, grid), entropy)
        return replace(drawn, words=(*drawn.words, *self._said(binade, grid)))

    def _said(self, binade: int, grid: StepUnit) -> tuple[str, ...]:
        """Words on the range and the grid of values, and on a magnitude that is the lowest of all."""
        far = float(min(LARGEST * grid.unit, self.cells.edges(self.cells.highest)[1]))
        read = f"values were read in steps of {to_digits(float(grid.unit), 3)}, and beyond ±{rough(far, 3)} as infinite"
        if binade == 0:
            least = rough(float(self.cells.edges(0)[1]), 3)
            return (f"{read}; the magnitude drawn is the lowest, for about half of the values lie within ±{least}",)
        return (read,)

    def expected(self, people: int) -> ExpectedAccuracy:
        try:
            found = self.make(unit_of(self.cells, None), self.n or people, self.price).expected()
        except (QuestionError, PublicParameterError):
            return ExpectedAccuracy(None, None, FEW, NEVER)
        sure = self.chance(self.n or people)
        replies = tuple((shape, likely * sure) for shape, likely in found.replies)
        told = f"{found.note}; the unit follows a magnitude that is bought{reach(self.cells)}"
        return replace(found, note=told, replies=replies)

    def chance(self, n: int) -> float:
        """A lower bound of the chance that the binade drawn is one of values, of ``n`` that share a usual one."""
        among = binades(self.cells)
        share = max(s.weight for s in among.segments) / sum((s.stop - s.first) * s.weight for s in among.segments)
        rate = float(self.magnitude.rate * HALF.denominator)
        return 1.0 - math.exp(min(-rate * n / 2.0 - math.log(share), 0.0))


def magnitude(near: Adjacency, epsilon: Fraction) -> Exponential:
    """The mechanism that draws the binade of the median of |x|."""
    return Exponential(Linf(Fraction(near.rows * sensitivity(HALF, near.kind)), near), epsilon)


def unit_of(cells: Cells, binade: int | None) -> StepUnit:
    """The grid for a released binade of |x|; the default one where there is none, or where most values are 0."""
    if not binade:
        return StepUnit(DEFAULT_UNIT, False)
    return StepUnit(Fraction(2) ** (cells.least + binade - BITS), False)


def in_steps(cells: Cells, data: Counts, grid: StepUnit) -> RunLength:
    """Counts by fine cell as a column of steps, each cell by itself: floor of its middle over the unit.

    The outermost cells hold all values beyond them, which count as infinite.

    Parameters
    ----------
    cells : Cells
        Cells that the counts are of.
    data : Counts
        Counts by cell.
    grid : StepUnit
        Unit of a step.

    Returns
    -------
    RunLength
        Values in steps, in order, with the number of each.
    """
    with np.errstate(over="ignore"):
        steps = np.floor(np.clip(cells.values(data.cells) / float(grid.unit), -float(LARGEST), float(LARGEST)))
    steps = np.where(data.cells >= cells.highest, LARGEST, np.where(data.cells <= cells.lowest, -LARGEST, steps))
    values, counts = steps.astype(np.int64), np.asarray(data.counts, dtype=np.int64)
    if not len(values):
        return RunLength(values, counts)
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))  # cells are in order, and so are steps
    return RunLength(values[first], np.add.reduceat(counts, first))
