"""A small made-up data set near the true one in Kolmogorov-Smirnov distance: the exponential mechanism of 002 6.1.

    counts per public cell (Tally) -> running counts -> k places of the grid -> how far they came out -> Density

k is a public number, or is drawn together with the places among powers of two ("auto"): few for records at few values,
many for smooth ones. Data sets of every k weigh the same together, so a large k has to be nearer by as much as there
are more of them. That is the evidence of Bayes' rule, and it costs no epsilon.

The last step pays a tenth of epsilon for geometric noise on the level that was reached: the band is then right for any
data. The law of the level alone says little without data: with all records in one cell it reaches across the whole
range at n epsilon = 100. A table made up from the release then misses the true one too often.

For when a small sample with pure epsilon is itself wanted, or n epsilon is small; histograms and trees are more
accurate otherwise (docs/theory/synthesis.md). No grid without public bounds: 002 section 5 shows that there is no
consistent release on a continuum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final, Literal, get_args

import numpy as np

from reticent.data.query import Query, Tally
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.ks import KolmogorovSmirnov, level_of
from reticent.outcome import NO_REPLY, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1, Linf
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import LEFT_OUT, NORMAL, Density, sampling_error
from reticent.synthesis.size import SHARE, DistributionAccuracy, RecordCount, buy, root

METHOD: Final = "exponential mechanism under KS distance"
MEASURED: Final = Fraction(1, 10)  # of epsilon, for how far the release came out from the records
WORK: Final = 1 << 34  # additions of doubles: about a minute
WORK_BOUGHT: Final = 1 << 30  # where n is bought: as many points as this allows, if fewer save anything
ASSUMED: Final = 10_000  # records for which a grid must not be too large where their number is private
FEW: Final = 8  # n epsilon below which nothing but the uniform comes out

SMALL: Final = (1_000, 200, 128)  # records, points and cells that stand for more of them where a plan is shown

FEWEST: Final = 16  # the root over the least number of points that is tried
Growth = Literal["root", "two_thirds", "auto"]


@dataclass(frozen=True, slots=True)
class KSRelease:
    """Draws the places of ``mechanism.points`` records on the grid of ``axis``, or as many as ``growth`` says.

    ``growth`` chooses the number from a bought number of records; None where ``mechanism.points`` is what is drawn.
    ``measure`` hides the level that was reached: given the release one person moves it by their records at most.
    """

    axis: Axis
    mechanism: KolmogorovSmirnov
    measure: Geometric
    size: RecordCount
    growth: Growth | None = None

    @property
    def guarantee(self) -> Guarantee:
        parts = [*self.size.parts, self.mechanism.guarantee, self.measure.guarantee]
        return compose.in_sequence(parts, label=METHOD)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (Tally(self.axis.column, self.axis.edges),)

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        """The density; no reply where the bought number of records is more than can be worked through."""
        (result,) = results
        running = tuple(accumulate(result.vectors[0]))
        n = self.size.draw(running[-1], entropy)
        assert n is not None  # a plan has a size, public or bought
        made = self._mechanism(n)
        if self.size.bought is not None and self._work(made.numbers, n) > WORK:
            return NO_REPLY
        counts = gate.draw(made, running, entropy)
        (level,) = gate.draw(self.measure, (level_of(running, counts),), entropy)
        points = sum(counts)
        masses = np.array(counts, np.float64) / points
        wander = self._reached(level, n)
        whole = min(wander + sampling_error(n), 1.0)
        words: tuple[str, ...] = (
            f"{points} places of a public grid of {self.axis.cells} cells; records without a value do not count",
            f"at the edges of cells the distribution function is within ±{wander:.2g} of that of the records, and "
            f"±{whole:.2g} of that of the law they came from, at 95 %",
        )
        if len(made.numbers) > 1:
            tried = f"{made.numbers[0]:,} to {made.numbers[-1]:,}"
            words = (
                *words,
                f"{points} was drawn with the places, among the powers of two from {tried}, at no further ε",
            )
        return Reply(Density((self.axis,), masses, METHOD, self.guarantee, n, wander=wander, words=words))

    def _reached(self, level: int, n: int) -> float:
        """Above the distance to the records but for ``LEFT_OUT``, and with the sampling error at n above both.

        The level is below ``most`` and a bought n above ``least``, each but for its share; the sampling error at
        ``least`` is in the sum, whatever the released n.
        """
        bought = self.size.bought
        share = LEFT_OUT if bought is None else LEFT_OUT / 2
        most = max(level + self.measure.radius(2 * share), 0)  # one side of the noise
        least = n if bought is None else n - bought.radius(2 * share)
        if least < 1:
            return 1.0
        return min(most / least + sampling_error(least) - sampling_error(n), 1.0)

    def _mechanism(self, n: int) -> KolmogorovSmirnov:
        if self.growth is None:
            return self.mechanism
        near, epsilon = self.mechanism.sensitivity, self.mechanism.epsilon
        most = max(WORK_BOUGHT, 2 * self._work((1,), n))
        if self.growth == "auto":
            return KolmogorovSmirnov(near, epsilon, tried(self.axis.cells, n, epsilon / near.bound, most))
        points = points_for(n, epsilon / near.bound, self.growth)
        while points > 1 and self._work((points,), n) > most:
            points //= 2
        return KolmogorovSmirnov(near, epsilon, points)

    def _work(self, numbers: Sequence[int], n: int) -> float:
        return sum(work(self.axis.cells, points, n, self.mechanism.rate) for points in numbers)

    def expected(self, people: int) -> DistributionAccuracy:
        """The band for ``people`` records spread evenly over the grid, about: of a smaller table with as much noise."""
        n, made = max(people, 1), self._mechanism(max(people, 1))
        if self._work(made.numbers, n) > WORK:
            return DistributionAccuracy(
                None, None, f"no reply: {n:,} records on {self.axis.cells:,} cells take too long"
            )
        few, cells = min(n, SMALL[0]), min(self.axis.cells, SMALL[2])
        numbers = sorted({min(points, SMALL[1]) for points in made.numbers})
        small = KolmogorovSmirnov(made.sensitivity, made.epsilon * n / few, tuple(numbers))
        level = round(small.reach(evenly(cells, few), 0.5) * n / few)
        return DistributionAccuracy(
            self._reached(level, n), NORMAL / (2.0 * math.sqrt(n)), f"{listed(made.numbers)} points, even spread"
        )


def evenly(cells: int, n: int) -> tuple[int, ...]:
    """Running counts of n records spread over all cells."""
    return tuple(n * (cell + 1) // cells for cell in range(cells))


def listed(numbers: Sequence[int]) -> str:
    """``94``, or ``4 to 1,024``."""
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"


def points_for(n: int, epsilon: Fraction, growth: Literal["root", "two_thirds"]) -> int:
    """sqrt(n epsilon), for which the error is O((n epsilon)^-1/2); or n^(2/3) as in 002, whose rate is n^-1/3.

    Proof of the first: docs/proofs/synthesis.md, section 1.

    Parameters
    ----------
    n : int
        Number of records.
    epsilon : Fraction
    growth : "root" or "two_thirds"

    Returns
    -------
    int
    """
    if growth == "root":
        return max(root(n * epsilon), 1)
    return max(int(float(n) ** (2.0 / 3.0) + 0.5), 1)


def tried(cells: int, n: int, epsilon: Fraction, most: float) -> tuple[int, ...]:
    """Powers of two from a ``FEWEST``-th of the root to 2 n^(2/3) or above.

    There are as many as ``most`` additions draw, and at least one.

    Parameters
    ----------
    cells, n : int
        Number of cells, and of records.
    epsilon : Fraction
    most : float
        Additions that one draw may take.

    Returns
    -------
    tuple of int
    """
    first = max(points_for(n, epsilon, "root") // FEWEST, 1).bit_length() - 1
    last = max((2 * points_for(n, epsilon, "two_thirds") - 1).bit_length(), first)
    found, left = [1 << first], most - work(cells, 1 << first, n, epsilon / 2)
    for power in range(first + 1, last + 1):
        left -= work(cells, 1 << power, n, epsilon / 2)
        if left < 0:
            break
        found.append(1 << power)
    return tuple(found)


def ks_release(
    axis: Axis,
    neighbours: Adjacency,
    epsilon: Fraction,
    *,
    people: int | None = None,
    points: int | Growth = "root",
) -> KSRelease:
    """The plan.

    Parameters
    ----------
    axis : Axis
        The public grid.
    neighbours : Adjacency
        Of persons with at most ``neighbours.rows`` records.
    epsilon : Fraction
        Epsilon of the whole release. A tenth of it measures the distance of the release from the data. One twentieth
        buys the number of records if it is not public.
    people : int, optional
        The public number of records.
    points : int, "root", "two_thirds" or "auto"

    Returns
    -------
    KSRelease
        The plan: its guarantee, its queries and ``draw``.

    Raises
    ------
    QuestionError
        Before rows are read: where nothing but the uniform would come out, or the work is too much.
    """
    size = buy(neighbours, epsilon * SHARE) if people is None else RecordCount(people)
    own = epsilon * (1 - MEASURED - (SHARE if people is None else 0))
    bound = Linf(Fraction(neighbours.rows), neighbours)
    if isinstance(points, str) and points not in get_args(Growth):
        raise PublicParameterError(f"points is a number, root, two_thirds or auto, got {points}")
    n = ASSUMED if people is None else people
    match points:
        case int():
            numbers: int | tuple[int, ...] = points
        case "auto":
            numbers = tried(axis.cells, n, own / bound.bound, WORK_BOUGHT)
        case _:
            numbers = points_for(n, own / bound.bound, points)
    made = KolmogorovSmirnov(bound, own, numbers)
    if people is not None:
        _told(made, people)
    _worked(axis, made, n)
    measure = Geometric(L1(bound.bound, neighbours), epsilon * MEASURED)
    return KSRelease(axis, made, measure, size, points if people is None and isinstance(points, str) else None)


def _told(made: KolmogorovSmirnov, people: int) -> None:
    if people * made.rate * 2 < FEW:
        raise QuestionError(
            f"{people:,} records at this ε give little more than a uniform draw: n ε should be at least {FEW}. "
            "Nothing was charged."
        )


def _worked(axis: Axis, made: KolmogorovSmirnov, people: int) -> None:
    asked = sum(work(axis.cells, points, people, made.rate) for points in made.numbers)
    if asked > WORK:
        raise QuestionError(
            f"{listed(made.numbers)} points on {axis.cells:,} cells take about {asked:.1g} additions for {people:,} "
            f"records; {WORK:.1g} at most are done. Fewer points, or fewer cells. Nothing was charged."
        )


def work(cells: int, points: int, n: int, rate: Fraction) -> float:
    """Additions of one draw, about.

    Parameters
    ----------
    cells, points, n : int
        Number of cells, of released points, and of records.
    rate : Fraction
        Epsilon for a distance of one record.

    Returns
    -------
    float
    """
    bits = math.lgamma(cells + points) - math.lgamma(cells) - math.lgamma(points + 1)
    levels = min(n, n / (2 * points) + (bits + 50) / float(rate))
    return levels * (points + 1) * cells
