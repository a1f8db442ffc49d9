"""method="auto": a coarse grid or a fine one, chosen privately and paid for; then smoothed, for free.

    noisy n (1/20 of epsilon, if n is private) -> coarse or fine (1/8) -> noisy bars (the rest) -> smooth -> Density

Every release here is one of bars: a histogram costs the same however many bars it has. From it ``smooth`` makes a
cosine series, a narrow kernel or the bars themselves, by their own noisy counts, for nothing. What is left to choose is
how many bars: each has its noise. A public rule of n epsilon names a number (``RULE``); what is finer than these bars
they would not show. So the choice is between them and ``FINER`` times as many. It compares the exact counts N of the
cells with those that the coarse bars imply, M N, in J public directions (rows of W), the J lowest cosines:

    |W (N - M N)| against what sampling alone makes of it, and ``PRIOR`` nats more

One row moves the length by at most that of a column of W (1 - M), about 1, however many rows there are; it is taken in
integers: the matrix is rounded first, and its columns are measured as they are. Permute-and-flip has two candidates
with opposite scores.

Series, kernels and polynomials were candidates, and are not: measured, they gain nothing beside smoothed bars that the
choice could tell, and cost it its aim (docs/reference/benchmarks-release.md, with what else was tried).

Source: McKenna and Sheldon 2020 for the choice.

Proof of the sensitivity. Let A be the rounded W (1 - M) and N, N' = N + e tables one record apart. |A N'| and |A N|
differ by at most |A e|, a column's length (the distance of two columns, if a record is replaced). For whole D, integer
parts of numbers at most D apart are at most D apart, and so are their opposites. A person of r rows is r such steps.
The coarse grid and the term taken off the length depend on the rows through the noisy n alone. That n is drawn before
and paid for; the bound is the greatest of all grids. Bars are a partition: one record moves one of them by 1, however
many there are. Which bars are released is known from n and the choice, both paid for: ``one_of`` them.

Deviations. Permute-and-flip is made for candidates whose scores move by D each. Here they move by D in opposite
directions, which is the worst case, and nothing is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np

from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import about
from reticent.privacy.sensitivity import L1, Linf
from reticent.synthesis import bar_smoothing
from reticent.synthesis.axis import Axis, Steps, shapes
from reticent.synthesis.density import Density
from reticent.synthesis.linear import DensityAccuracy, LinearDensity, Settle, counted, shares_of
from reticent.synthesis.linear_queries import DensityTerms, Floats, Integers, LinearSums, longest, widest
from reticent.synthesis.series import grid

CENSUS: Final = Fraction(1, 20)  # of epsilon, where the number of records is private
CHOOSING: Final = Fraction(1, 8)
BARS: Final = (8, 16, 32, 64, 128, 256, 512, 1024)
RULE: Final = 2.5  # bars for each root of n epsilon
FINER: Final = 8  # times as many
PRIOR: Final = 2  # nats
DIRECTIONS: Final = 128  # cosines in which bars are judged
ONE: Final = 1 << 12  # of a matrix of a score


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BarCandidate:
    """Bars: how many along each column, their release, and the rounded ONE times W (1 - M) that judges them."""

    release: LinearDensity
    detail: int
    matrix: Integers

    def length(self, counts: Integers) -> int:
        """ONE times |W (N - M N)|, rounded down."""
        return math.isqrt(sum(int(part) ** 2 for part in (self.matrix @ counts).tolist()))

    def even(self, n: int) -> int:
        """Length that sampling alone gives, if n records are spread evenly."""
        return math.isqrt(math.ceil(n * float((self.matrix.astype(np.float64) ** 2).sum()) / self.matrix.shape[1]))


@dataclass(frozen=True, eq=False, repr=False)
class Auto:
    """A density of one column by a privately chosen grid.

    Guarantee
    ---------
    epsilon, pure: noisy number of records, choice and chosen release in sequence. Noise of bars is geometric whatever
    delta there is: one record is in one bar, and for that Gaussian noise is the larger.
    """

    axes: tuple[Axis, ...]
    terms: DensityTerms
    epsilon: Fraction
    settle: Settle = "simplex"

    @cached_property
    def candidates(self) -> tuple[BarCandidate, ...]:
        listed = _candidates(shapes(self.axes), replace(self.terms, size=1, fixed=False))
        return tuple(replace(one, release=replace(one.release, axes=self.axes)) for one in listed)

    @cached_property
    def census(self) -> Geometric | None:
        if self.terms.size is not None:
            return None
        return Geometric(L1(Fraction(self.terms.rows), self.terms.neighbours), self.epsilon * CENSUS)

    @cached_property
    def choice(self) -> PermuteAndFlip | None:
        """None where it is public that there is nothing to choose."""
        if self._sure:
            return None
        near = self.terms.neighbours
        most = _farthest(shapes(self.axes), replace(self.terms, size=1 if self.terms.fixed else None))
        return PermuteAndFlip(Linf(Fraction(self.terms.rows * most), near), self.epsilon * CHOOSING)

    @property
    def left(self) -> Fraction:
        """Epsilon of the chosen release."""
        return self.epsilon * (1 - (0 if self._sure else CHOOSING) - (CENSUS if self.terms.size is None else 0))

    @cached_property
    def _sure(self) -> bool:
        """Tell if nothing finer than the ruled bars is listed, by public numbers alone."""
        if len(self.candidates) == 1 or self.terms.size is None:
            return len(self.candidates) == 1
        ruled, finer = self._pair(self.terms.size, self.epsilon * (1 - CHOOSING))
        return ruled is finer

    @property
    def guarantee(self) -> Guarantee:
        first = [step.guarantee for step in (self.census, self.choice) if step is not None]
        drawn = compose.one_of([self.paid(one).guarantee for one in self.candidates], label="the bars chosen")
        return compose.in_sequence([*first, drawn], label="density by a private choice")

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.candidates[0].release.queries

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        """The density, or no reply where the noise hides that there are records at all."""
        (result,) = results
        if result.records is None:
            counts = np.array(result.vectors[0], np.int64)
        else:  # of several columns, of which this is one
            counts = counted(self.axes, result.records)
        size = self.bought(int(counts.sum()), entropy)
        pair = self.pair(max(round(size.records), 1))
        chosen = self.chosen(pair, counts, size, entropy)
        match bar_smoothing.drawn(self.paid(chosen), counts, entropy, size):
            case Reply(found):
                told = replace(found, guarantee=self.guarantee, words=(self.words(pair, chosen), *found.words))
                return Reply(told)
            case NoReply():
                return NO_REPLY

    def chosen(
        self, pair: tuple[BarCandidate, BarCandidate], counts: Integers, size: bar_smoothing.NoisySize, entropy: Entropy
    ) -> BarCandidate:
        """The one of a pair that is taken for a table with these counts of cells.

        Parameters
        ----------
        pair : two of BarCandidate
            The grid of the public rule, and the finer one.
        counts : array of int
            Exact counts of the finest cells.
        size : NoisySize
            The number of records, public or noisy.
        entropy : Entropy
            Source of the coins.

        Returns
        -------
        BarCandidate
            The first of the pair where nothing is bought.
        """
        if self.choice is None:
            return pair[0]
        return pair[gate.draw(self.choice, self._scores(self.choice, pair[0], counts, size), entropy)]

    def expected(self, people: int) -> DensityAccuracy:
        """Expected errors by noise and by sampling with the bars of the public rule, for a normal shape."""
        n = self.terms.size or people
        (one,) = self.axes
        middle = (one.steps[:-1] + one.steps[1:]) / (2.0 * one.steps[-1])
        height = np.exp(-32.0 * (middle - 0.5) ** 2) * one.sizes
        ruled, _ = self.pair(n)
        return bar_smoothing.expected(self.paid(ruled), height / height.sum(), n)

    def pair(self, n: int) -> tuple[BarCandidate, BarCandidate]:
        """The bars that the public rule names for so many records, and the finer ones; one of them twice at the end."""
        return self._pair(n, self.left)

    def _pair(self, n: int, left: Fraction) -> tuple[BarCandidate, BarCandidate]:
        wanted = math.log(max(RULE * math.sqrt(float(n * min(left, Fraction(1)))), 1.0))
        ruled = min(self.candidates, key=lambda one: abs(math.log(one.detail) - wanted))
        finer = [one for one in self.candidates if one.detail <= ruled.detail * FINER]
        return ruled, finer[-1]

    def _scores(
        self, choice: PermuteAndFlip, ruled: BarCandidate, counts: Integers, size: bar_smoothing.NoisySize
    ) -> tuple[int, int]:
        """Scores of the ruled and the finer bars, less being better.

        They are the excess of the length over its due, and minus that.
        """
        back = math.ceil(PRIOR * choice.sensitivity.bound / choice.epsilon)
        beyond = ruled.length(counts) - ruled.even(max(round(size.records), 1)) - back
        return beyond, -beyond

    def bought(self, count: int, entropy: Entropy) -> bar_smoothing.NoisySize:
        """The number of records: public, or noisy and paid for."""
        if self.census is None:
            assert self.terms.size is not None
            return bar_smoothing.NoisySize(float(self.terms.size), 0.0)
        (n,) = gate.draw(self.census, (count,), entropy)
        return bar_smoothing.NoisySize(float(n), math.sqrt(2.0) * float(self.census.scale))

    def paid(self, candidate: BarCandidate) -> LinearDensity:
        """The release of a candidate at what is left."""
        table = candidate.release.sums.table
        return replace(candidate.release, sums=LinearSums(table, self.terms, self.left), settle=self.settle)

    def words(self, pair: tuple[BarCandidate, BarCandidate], chosen: BarCandidate) -> str:
        coarse, finer = (one.detail for one in pair)
        if self.choice is None or coarse == finer:
            spent = "" if self.choice is None else f"; ε {about(self.choice.epsilon)} for a choice was not needed"
            return f"{coarse} bars, the finest listed, by a public rule of the number of records{spent}"
        return (
            f"{chosen.detail} bars were chosen privately, for ε {about(self.choice.epsilon)}, "
            f"between {coarse} and {finer}, by whether the records have structure that {coarse} would not show"
        )


def auto(
    column: tuple[str, Fraction, Fraction, bool],
    terms: DensityTerms,
    epsilon: Fraction,
    steps: Steps = MappingProxyType({}),
) -> Auto:
    """The private choice for one column.

    Parameters
    ----------
    column : (name, low, high, whole)
        A column with its bounds, in its unit; ``whole`` is True for whole numbers.
    terms : DensityTerms
        Neighbours, and the number of records if it is public.
    epsilon : Fraction
        Price of the whole release.
    steps : mapping of column to int or Fraction
        Of real columns a declared resolution: bars end halfway between two of its multiples.

    Returns
    -------
    Auto
        The plan: its guarantee, its queries and ``draw``.
    """
    return Auto(grid([column], BARS[-1], steps), terms, epsilon)


def bars(axes: tuple[Axis, ...], count: int, terms: DensityTerms) -> LinearDensity:
    """A histogram of ``count`` bars along each axis, written on the finer grid of ``axes``.

    Parameters
    ----------
    axes : tuple of Axis
        The finer grid.
    count : int
        Bars along each axis.
    terms : DensityTerms

    Returns
    -------
    LinearDensity
    """
    inside = np.ones((1, 1), np.int64)
    for one in axes:
        parts = min(count, one.cells)
        which = np.arange(one.cells) * parts // one.cells
        inside = np.kron(inside, (which[:, None] == np.arange(parts)).astype(np.int64))
    wide = shares_of(axes) @ inside
    sums = LinearSums(inside, terms, Fraction(1))
    return LinearDensity(axes, sums, inside / wide, False, f"histogram of {count} bars{along(axes)}", "simplex")


def along(axes: tuple[Axis, ...]) -> str:
    """The words about a number of cells that each of several columns has; none for a column alone."""
    return " along each column" if len(axes) > 1 else ""


def directions(one: Axis) -> Floats:
    """W: the lowest cosines, of equal weight and columns no longer than about 1."""
    middle = (one.steps[:-1] + one.steps[1:]) / (2.0 * one.steps[-1])
    count = max(min(DIRECTIONS, one.cells - 1), 1)
    lengths = np.arange(1, count + 1)[:, None]
    found: Floats = np.cos(np.pi * lengths * middle[None, :]) / math.sqrt(count)
    return found


@lru_cache(maxsize=4)
def _candidates(axes: tuple[Axis, ...], terms: DensityTerms) -> tuple[BarCandidate, ...]:
    """The public list for the shapes of axes, coarse ones first.

    The last has a bar for each value of a column of few whole numbers. All bounds of one shape share a list: a release
    with bounds that are chosen privately has a density at each of them.
    """
    most = axes[0].cells
    sizes = [*(count for count in BARS if count < most), most]
    looked = directions(axes[0])
    return tuple(_candidate(bars(axes, count, terms), count, looked) for count in sizes)


@lru_cache(maxsize=16)
def _farthest(axes: tuple[Axis, ...], terms: DensityTerms) -> int:
    """Greatest sensitivity of the lengths in the list to one record."""
    return max(step_of(one.matrix, terms) for one in _candidates(axes, replace(terms, size=1, fixed=False)))


def _candidate(release: LinearDensity, detail: int, looked: Floats) -> BarCandidate:
    to_counts = shares_of(release.axes)[:, None] * release.back
    through = (looked @ to_counts)[:, bar_smoothing.bar_of(release.sums)]  # a cell is in one bar
    return BarCandidate(release, detail, np.rint(ONE * (looked - through)).astype(np.int64))


def step_of(matrix: Integers, terms: DensityTerms) -> int:
    """Sensitivity of |matrix @ counts| to one record, rounded up.

    Integers that differ by at most D have such floors.
    """
    columns = np.ascontiguousarray(matrix.T)
    if terms.neighbours.kind == "add_remove":
        squared = longest(columns, 2)
    else:
        squared = widest(columns, 2, origin=not terms.fixed)
    return math.isqrt(max(squared, 1) - 1) + 1
