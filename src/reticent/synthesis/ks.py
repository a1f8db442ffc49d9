"""A small made-up data set near the true one in Kolmogorov-Smirnov distance: the exponential mechanism of 002 6.1.

    counts per public cell (Tally) -> running counts -> k places of the grid -> Density

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
from reticent.mechanisms import KolmogorovSmirnov, gate
from reticent.outcome import Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import Linf
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import NORMAL, Density
from reticent.synthesis.size import SHARE, Expected, Size, buy, root

METHOD: Final = "exponential mechanism under KS distance"
BETA: Final = 0.05
WORK: Final = 1 << 34  # additions of doubles: about a minute
WORK_BOUGHT: Final = 1 << 30  # where n is bought and nobody could refuse before
FEW: Final = 8  # n epsilon below which nothing but the uniform comes out

Growth = Literal["root", "two_thirds"]


@dataclass(frozen=True, slots=True)
class KSRelease:
    """Draws the places of ``mechanism.points`` records on the grid of ``axis``, or as many as ``growth`` says.

    ``growth`` chooses the number from a bought number of records; None where ``mechanism.points`` is what is drawn.
    """

    axis: Axis
    mechanism: KolmogorovSmirnov
    size: Size
    growth: Growth | None = None

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([*self.size.parts, self.mechanism.guarantee], label=METHOD)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (Tally(self.axis.column, self.axis.edges),)

    def draw(self, results: Sequence[Result], entropy: Entropy) -> Outcome[Density]:
        (result,) = results
        running = tuple(accumulate(result.vectors[0]))
        n = self.size.draw(running[-1], entropy)
        assert n is not None  # a plan has a size, public or bought
        made = self._mechanism(n)
        counts = gate.draw(made, running, entropy)
        masses = np.array(counts, np.float64) / made.points
        tables = (alike(counts, n), evenly(self.axis.cells, n))
        wander = min(max(made.reach(table, BETA) for table in tables) / n, 1.0)
        words = (
            f"{made.points} places of a public grid of {self.axis.cells} cells; records without a value do not count",
            "the noise part is the larger of those of a table like the released one and of an even one; "
            "it is too small for a few hundred records at few different values",
        )
        return Reply(Density((self.axis,), masses, METHOD, self.guarantee, n, wander=wander, words=words))

    def _mechanism(self, n: int) -> KolmogorovSmirnov:
        if self.growth is None:
            return self.mechanism
        near, epsilon = self.mechanism.sensitivity, self.mechanism.epsilon
        points = points_for(n, epsilon / near.bound, self.growth)
        while points > 1 and work(self.axis.cells, points, n, self.mechanism.rate) > WORK_BOUGHT:
            points //= 2  # of a number that noise or a crowd made large, no more is drawn than can be
        return KolmogorovSmirnov(near, epsilon, points)

    def expected(self, people: int) -> Expected:
        """For ``people`` records spread evenly over the grid."""
        n, made = max(people, 1), self._mechanism(max(people, 1))
        even = made.reach(evenly(self.axis.cells, n), BETA)
        return Expected(even / n, NORMAL / (2.0 * math.sqrt(n)), f"{made.points} points, even spread")


def alike(counts: Sequence[int], n: int) -> tuple[int, ...]:
    """Running counts of a table of n records like a release: those of each point are spread out to its neighbours.

    A table that holds the points themselves would fit them exactly, and seem to need no noise.
    """
    drawn = np.array(counts, np.float64)
    held = np.flatnonzero(drawn)
    heights = (np.cumsum(drawn) - drawn / 2.0)[held] * n / drawn.sum()  # reached in the middle of a cell
    ends = np.arange(1.0, len(counts) + 1.0)
    corners = np.concatenate([[0.0], held + 0.5, [float(len(counts))]])
    running = np.floor(np.interp(ends, corners, np.concatenate([[0.0], heights, [float(n)]]))).astype(np.int64)
    return (*running[:-1].tolist(), n)


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
        Of the whole release; one twentieth of it buys the number of records where that is not public.
    people : int, optional
        The public number of records.
    points : int, "root" or "two_thirds"

    Raises
    ------
    QuestionError
        Before rows are read: where nothing but the uniform would come out, or the work is too much.
    """
    size = buy(neighbours, epsilon * SHARE) if people is None else Size(people)
    own = epsilon * (1 - SHARE) if people is None else epsilon
    bound = Linf(Fraction(neighbours.rows), neighbours)
    growth: Growth | None = None
    if isinstance(points, str):
        if points not in ("root", "two_thirds"):
            raise PublicParameterError(f"points is a number, root or two_thirds, got {points}")
        growth = points if people is None else None
        points = 1 if people is None else points_for(people, own / neighbours.rows, points)
    made = KolmogorovSmirnov(bound, own, points)
    if people is not None:
        _check(axis, made, people)
    return KSRelease(axis, made, size, growth)


def _check(axis: Axis, made: KolmogorovSmirnov, people: int) -> None:
    if people * made.rate * 2 < FEW:
        raise QuestionError(
            f"{people:,} records at this ε give little more than a uniform draw: n ε should be at least {FEW}. "
            "Nothing was charged."
        )
    asked = work(axis.cells, made.points, people, made.rate)
    if asked > WORK:
        raise QuestionError(
            f"{made.points:,} points on {axis.cells:,} cells take about {asked:.1g} additions; at most {WORK:.1g} are "
            "done. Fewer points, or fewer cells. Nothing was charged."
        )


def work(cells: int, points: int, n: int, rate: Fraction) -> float:
    """Additions of one draw, about."""
    bits = math.lgamma(cells + points) - math.lgamma(cells) - math.lgamma(points + 1)
    levels = min(n, n / (2 * points) + (bits + 50) / float(rate))
    return levels * (points + 1) * cells
