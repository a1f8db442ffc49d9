"""A small made-up data set near the true one in Kolmogorov-Smirnov distance: the exponential mechanism of 002 6.1.

    counts per public cell (Tally) -> running counts -> k places of the grid -> how far they came out -> Density

The last step pays a tenth of epsilon for geometric noise on the level that was reached: the band is then right for any
data. The law of the level alone says little without data: where all records are in one cell it reaches across the
whole range at n epsilon = 100, and a table made up from the release misses the true one too often.

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
from typing import Final, Literal

import numpy as np

from reticent.data.query import Query, Tally
from reticent.data.table import Result
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import Geometric, KolmogorovSmirnov, gate
from reticent.mechanisms.ks import level_of
from reticent.outcome import NO_REPLY, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1, Linf
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import LEFT_OUT, NORMAL, Density, sampling_error
from reticent.synthesis.size import SHARE, Expected, Size, buy, root

METHOD: Final = "exponential mechanism under KS distance"
MEASURED: Final = Fraction(1, 10)  # of epsilon, for how far the release came out from the records
WORK: Final = 1 << 34  # additions of doubles: about a minute
WORK_BOUGHT: Final = 1 << 30  # where n is bought: as many points as this allows, if fewer save anything
ASSUMED: Final = 10_000  # records for which a grid must not be too large where their number is private
FEW: Final = 8  # n epsilon below which nothing but the uniform comes out

SMALL: Final = (1_000, 200, 128)  # records, points and cells that stand for more of them where a plan is shown

Growth = Literal["root", "two_thirds"]


@dataclass(frozen=True, slots=True)
class KSRelease:
    """Draws the places of ``mechanism.points`` records on the grid of ``axis``, or as many as ``growth`` says.

    ``growth`` chooses the number from a bought number of records; None where ``mechanism.points`` is what is drawn.
    ``measure`` hides the level that was reached: given the release one person moves it by their records at most.
    """

    axis: Axis
    mechanism: KolmogorovSmirnov
    measure: Geometric
    size: Size
    growth: Growth | None = None

    @property
    def guarantee(self) -> Guarantee:
        parts = [*self.size.parts, self.mechanism.guarantee, self.measure.guarantee]
        return compose.in_sequence(parts, label=METHOD)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (Tally(self.axis.column, self.axis.edges),)

    def draw(self, results: Sequence[Result], entropy: Entropy) -> Outcome[Density]:
        """The density; no reply where the bought number of records is more than can be worked through."""
        (result,) = results
        running = tuple(accumulate(result.vectors[0]))
        n = self.size.draw(running[-1], entropy)
        assert n is not None  # a plan has a size, public or bought
        made = self._mechanism(n)
        if self.size.bought is not None and self._work(made.points, n) > WORK:
            return NO_REPLY
        counts = gate.draw(made, running, entropy)
        (level,) = gate.draw(self.measure, (level_of(running, counts),), entropy)
        masses = np.array(counts, np.float64) / made.points
        wander = self._reached(level, n)
        whole = min(wander + sampling_error(n), 1.0)
        words = (
            f"{made.points} places of a public grid of {self.axis.cells} cells; records without a value do not count",
            f"at the edges of cells the distribution function is within ±{wander:.2g} of that of the records, and "
            f"±{whole:.2g} of that of the law they came from, at 95 %",
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
        points, most = points_for(n, epsilon / near.bound, self.growth), max(WORK_BOUGHT, 2 * self._work(1, n))
        while points > 1 and self._work(points, n) > most:
            points //= 2
        return KolmogorovSmirnov(near, epsilon, points)

    def _work(self, points: int, n: int) -> float:
        return work(self.axis.cells, points, n, self.mechanism.rate)

    def expected(self, people: int) -> Expected:
        """The band for ``people`` records spread evenly over the grid, about: of a smaller table with as much noise."""
        n, made = max(people, 1), self._mechanism(max(people, 1))
        if self._work(made.points, n) > WORK:
            return Expected(None, None, f"no reply: {n:,} records on {self.axis.cells:,} cells take too long")
        few, cells = min(n, SMALL[0]), min(self.axis.cells, SMALL[2])
        small = KolmogorovSmirnov(made.sensitivity, made.epsilon * n / few, min(made.points, SMALL[1]))
        level = round(small.reach(evenly(cells, few), 0.5) * n / few)
        return Expected(self._reached(level, n), NORMAL / (2.0 * math.sqrt(n)), f"{made.points} points, even spread")


def evenly(cells: int, n: int) -> tuple[int, ...]:
    """Running counts of n records spread over all cells."""
    return tuple(n * (cell + 1) // cells for cell in range(cells))


def points_for(n: int, epsilon: Fraction, growth: Growth) -> int:
    """sqrt(n epsilon), for which the error is O((n epsilon)^-1/2); or n^(2/3) as in 002, whose rate is n^-1/3.

    Proof of the first: docs/proofs/synthesis.md, section 1.
    """
    if growth == "root":
        return max(root(n * epsilon), 1)
    return max(int(float(n) ** (2.0 / 3.0) + 0.5), 1)


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
        Of the whole release; a tenth of it measures how far the release came out, and one twentieth buys the number of
        records where that is not public.
    people : int, optional
        The public number of records.
    points : int, "root" or "two_thirds"

    Raises
    ------
    QuestionError
        Before rows are read: where nothing but the uniform would come out, or the work is too much.
    """
    size = buy(neighbours, epsilon * SHARE) if people is None else Size(people)
    own = epsilon * (1 - MEASURED - (SHARE if people is None else 0))
    bound = Linf(Fraction(neighbours.rows), neighbours)
    growth: Growth | None = None
    if isinstance(points, str):
        if points not in ("root", "two_thirds"):
            raise PublicParameterError(f"points is a number, root or two_thirds, got {points}")
        growth = points if people is None else None
        points = 1 if people is None else points_for(people, own / neighbours.rows, points)
    made = KolmogorovSmirnov(bound, own, points)
    if people is not None:
        _told(made, people)
    drawn = made if growth is None else KolmogorovSmirnov(bound, own, points_for(ASSUMED, own / bound.bound, growth))
    _worked(axis, drawn, ASSUMED if people is None else people)
    measure = Geometric(L1(bound.bound, neighbours), epsilon * MEASURED)
    return KSRelease(axis, made, measure, size, growth)


def _told(made: KolmogorovSmirnov, people: int) -> None:
    if people * made.rate * 2 < FEW:
        raise QuestionError(
            f"{people:,} records at this ε give little more than a uniform draw: n ε should be at least {FEW}. "
            "Nothing was charged."
        )


def _worked(axis: Axis, made: KolmogorovSmirnov, people: int) -> None:
    asked = work(axis.cells, made.points, people, made.rate)
    if asked > WORK:
        raise QuestionError(
            f"{made.points:,} points on {axis.cells:,} cells take about {asked:.1g} additions for {people:,} records; "
            f"{WORK:.1g} at most are done. Fewer points, or fewer cells. Nothing was charged."
        )


def work(cells: int, points: int, n: int, rate: Fraction) -> float:
    """Additions of one draw, about."""
    bits = math.lgamma(cells + points) - math.lgamma(cells) - math.lgamma(points + 1)
    levels = min(n, n / (2 * points) + (bits + 50) / float(rate))
    return levels * (points + 1) * cells
