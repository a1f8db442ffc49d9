"""M: an order statistic with noise in proportion to a proposed width, by propose-test-release.

For a public rank r and a proposed width h >= 1 in grid steps:

    A1_j      rows to change until x_(r) leaves its bin of width h (bins from 0, and from floor(h / 2)): two counts
    free      rows to change until some window of k + 1 gaps around rank r is wider than h: the bin-free distance to a
              table where one change moves x_(r) by more than h

Search "free" tests the second, which is unsafe only at 0. Search "bins" tests the greatest A1_j, unsafe up to 1. Either
takes one test, because the released law x_(r) + h x noise does not depend on the bins. Mode "paper" tests each A1_j.
``MedianPtr`` is told h. ``ScaledMedian`` first buys a width and proposes h = multiple x width x n^(-exponent): 1 and
1/3 in 003, 2 enough and 1 for the least width that the test lets pass (``scaled_median``).

Source. 003 section 6 and Theorem 12; the windows are those of Nissim, Raskhodnikova and Smith 2007. Proofs:
docs/proofs/robust.md, sections 5 and 6.

Deviations. 003 takes rank floor(n / 2), which is none for n = 1 and one off for odd n: here ceil(n q). Where its scale
is 0 it proposes n^(-1/2) in the units of the data: here never less than one step of the public grid. Its noise is real,
ours geometric of sensitivity h on the grid. It charges 6 eps; no discretisation is shown, so M costs 4 eps. Its "if
A1 <= 2 then adding noise suffices" is inverted: >= 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.data.order_statistics import INFINITE, LARGEST, Needs, Order, around, at, widths
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy import compose, ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import exact, positive
from reticent.privacy.sensitivity import L1
from reticent.statistics.robust.assumed_laws import AssumedTable
from reticent.statistics.robust.ptr_test import (
    Mode,
    Noisy,
    Search,
    Test,
    first_distance,
    level,
    refuse_large_delta,
    refuse_short,
    refuse_unreachable,
    step,
    whole,
)
from reticent.statistics.robust.scale_ptr import ScalePtr, StableScale, WidthCell, stable_scale, test_for

LAW: Final = "order statistic plus noise of the proposed width"
HALF: Final = Fraction(1, 2)
THIRD: Final = Fraction(1, 3)
ROOM: Final = (
    3  # windows of cap gaps are this many times narrower than cap / n of the scale, for a column with one mode
)
QUANTILES: Final = 15  # of the noisy scale, for the chance of a reply


def leave(data: Order, rank: int, bounds: tuple[int, int], most: int) -> int:
    """A1: rows to change until x_(rank) leaves its bin [low, high), at most ``most``. Exact for either adjacency.

    Upwards all values below ``high`` but rank - 1 have to go; downwards as many have to come below ``low`` as rank
    lacks. Infinity is a bin of its own, and never safe: its distance is 1 by decree.

    Parameters
    ----------
    data : Order
        Ordered values, private.
    rank : int
    bounds : pair of int
        Low and high end of the bin, in steps.
    most : int
        Greatest distance that is told, in rows.

    Returns
    -------
    int
        In rows.
    """
    low, high = bounds
    if low == high:
        return 1
    return min(data.below(high) - rank + 1, rank - data.below(low), most)


def narrow(data: Order, rank: int, width: int, most: int) -> int:
    """The first k >= 0 with a window of k + 1 gaps around ``rank`` wider than ``width``, at most ``most``.

    A window x_(rank + j) - x_(rank + j - k - 1), j in 0..k + 1, is what one change may move x_(rank) by after k others.
    A window with an infinite end is wider than any.

    Parameters
    ----------
    data : Order
        Ordered values, private.
    rank : int
    width : int
        In steps.
    most : int
        Greatest distance that is told, in rows.

    Returns
    -------
    int
        In rows.
    """
    around, middle = data.window(rank - most, rank + most), most

    def wide(k: int) -> bool:
        highs, lows = around[middle : middle + k + 2], around[middle - k - 1 : middle + 1]
        return int(widths(lows, highs).max()) > width

    return first_distance(wide, 0, most)


def bins(value: int, width: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The bins [low, high) of ``value`` in the two discretisations; (value, value) where it is infinite."""
    if abs(value) >= LARGEST:
        return (value, value), (value, value)
    found = []
    for shift in (0, width // 2):
        low = (value - shift) // width * width + shift
        found.append((max(low, 1 - LARGEST), min(low + width, LARGEST)))
    return found[0], found[1]


def farthest(rank: int, n: int, search: Search) -> int:
    """The greatest distance of any table of n values.

    Parameters
    ----------
    rank, n : int
        Public rank, and number of values.
    search : Search

    Returns
    -------
    int
        In rows.
    """
    return min(rank - 1, n - rank) if search == "free" else min(rank, n - rank + 1)


def root(width: int, n: int, exponent: Fraction) -> int:
    """max(1, floor(width n^(-exponent))), by integers.

    Parameters
    ----------
    width, n : int
    exponent : Fraction

    Returns
    -------
    int
    """
    power, times = exponent.denominator, n**exponent.numerator
    low, high = 0, width + 1
    while high - low > 1:  # low^power times <= width^power < high^power times
        middle = (low + high) // 2
        low, high = (middle, high) if middle**power * times <= width**power else (low, middle)
    return max(1, low)


@dataclass(frozen=True, slots=True)
class OrderStatisticTest:
    """The test and release of an order statistic, for any proposed width."""

    rank: int
    test: Test
    release: Fraction
    search: Search = "free"
    mode: Mode = "exact"

    def __post_init__(self) -> None:
        positive(self.release, "release")
        rows = self.test.neighbours.rows
        refuse_short(self.test, rows - 1 if self.search == "free" and self.mode == "exact" else rows)

    @property
    def guarantee(self) -> Guarantee:
        """For every width fixed in advance; the loss is the same for all of them."""
        one = step(self.test, self.release, law=LAW, label="median")
        if self.mode == "exact":
            return ptr.one_test(one, label="median")
        return ptr.first_reply([one, one], shown="value", label="median")

    @property
    def needs(self) -> Needs:
        return Needs(around((self.rank,), self.test.cap))

    def distances(self, data: Order, width: int) -> tuple[int, ...]:
        """The distance of each test."""
        if self.search == "free" and self.mode == "exact":
            return (narrow(data, self.rank, width, self.test.cap),)
        each = tuple(leave(data, self.rank, held, self.test.cap) for held in bins(at(data, self.rank), width))
        return (max(each),) if self.mode == "exact" else each

    def sample(self, data: Order, width: int, entropy: Entropy) -> Outcome[Noisy]:
        """The noisy order statistic within +-LARGEST, and the scale of its noise, which the width tells.

        Parameters
        ----------
        data : Order
            Sorted values in steps.
        width : int
            Proposed width of the noise, in steps, >= 1.
        entropy : Entropy
            Source of the noise.

        Returns
        -------
        Outcome of Noisy
            Noisy order statistic, or no reply.
        """
        noise = Geometric(L1(Fraction(width), self.test.neighbours), self.release)
        passed = [self.test.passes(distance, entropy) for distance in self.distances(data, width)]
        if not any(passed):
            return NO_REPLY
        (noisy,) = gate.draw(noise, (at(data, self.rank),), entropy)
        return Reply(Noisy(Fraction(min(max(noisy, -LARGEST), LARGEST)), noise.scale))

    def chance(self, public: AssumedTable, width: int) -> float:
        return 1 - math.prod(1 - self.test.chance(distance) for distance in self.distances(public.table, width))


@dataclass(frozen=True, slots=True)
class MedianPtr:
    """M with a public width: x_(rank) plus geometric noise of sensitivity ``width``, or no reply.

    Guarantee
    ---------
    (test + release, delta of the test) by ``ptr.one_test``; for mode paper by ``ptr.first_reply``. For the test's
    neighbours.

    Accuracy
    --------
    Given a reply the noise is geometric of scale width / release grid steps.
    """

    level: OrderStatisticTest
    width: int

    def __post_init__(self) -> None:
        if whole(self.width, "width", 1) >= INFINITE:
            raise PublicParameterError("a width is finite")

    @property
    def guarantee(self) -> Guarantee:
        return self.level.guarantee

    @property
    def needs(self) -> Needs:
        return self.level.needs

    def sample(self, exact: Order, entropy: Entropy) -> Outcome[Noisy]:
        return self.level.sample(exact, self.width, entropy)

    def chance(self, public: AssumedTable) -> float:
        """P(reply) for a made-up table."""
        return self.level.chance(public, self.width)


@dataclass(frozen=True, slots=True)
class ScaledMedian:
    """M with the scale asked first: width = multiple x scale x n^(-exponent), at least one grid step.

    Guarantee
    ---------
    That of the scale and that of the level, in sequence (003 Theorem 27; docs/proofs/ptr.md, Theorem 2). For S and M
    at eps each step it is (4 eps, 2 delta), with the stable bin (2 tests + test + release, 3 delta).

    Accuracy
    --------
    Given a reply, the noise is geometric of scale width / release. Let w be the width between the quantiles. With the
    stable bin of a factor of two, the released width is at most 2 w multiple n^(-exponent) + 1.
    """

    level: OrderStatisticTest
    scale: ScalePtr | StableScale
    n: int
    exponent: Fraction = THIRD
    multiple: int = 1

    def __post_init__(self) -> None:
        whole(self.n, "n", 1)
        whole(self.multiple, "multiple", 1)
        if not 0 <= exact(self.exponent, "exponent") <= 1 or self.exponent.denominator > 64:
            raise PublicParameterError("exponent must be a fraction between 0 and 1 with denominator at most 64")
        if self.level.test.neighbours != self.scale.test.neighbours:
            raise PublicParameterError("scale and median speak of different neighbours")

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([self.scale.guarantee, self.level.guarantee], label="median with its scale")

    @property
    def printed(self) -> Guarantee:
        """Charge by 003 Theorem 29 for two levels of two steps: 6 eps and four deltas where all losses are eps."""
        one = step(self.level.test, self.level.release, law=LAW, label="median")
        before = step(
            self.scale.test,
            self.scale.release if isinstance(self.scale, ScalePtr) else Fraction(0),
            law="scale",
            label="scale",
        )
        return ptr.cascade([[before, before], [one, one]], label="median with its scale")

    @property
    def needs(self) -> Needs:
        return Needs(self.scale.needs.windows + self.level.needs.windows)

    def width(self, scale: int) -> int:
        """The width proposed for a released scale."""
        return min(root(self.multiple * scale, self.n, self.exponent), INFINITE - 1)

    def sample(self, exact: Order, entropy: Entropy) -> Outcome[Noisy]:
        found = self.scale.sample(exact, entropy)
        if isinstance(found, NoReply):
            return NO_REPLY
        width = found.value.width if isinstance(found.value, WidthCell) else found.value
        if width >= INFINITE:
            return NO_REPLY
        return self.level.sample(exact, self.width(width), entropy)

    def chance(self, public: AssumedTable) -> float:
        """P(reply) for a made-up table; the noise of S by 15 of its quantiles."""
        if isinstance(self.scale, StableScale):
            return math.fsum(p * self.level.chance(public, self.width(e)) for p, e in self.scale.endings(public))
        cell, _ = self.scale.distances(public.table)
        spreads = [WidthCell(min(max(cell + z, 0), self.scale.grid.top), self.scale.grid) for z in self._quantiles()]
        mean = math.fsum(self.level.chance(public, self.width(s.width)) for s in spreads) / len(spreads)
        return self.scale.chance(public) * mean

    def _quantiles(self) -> list[int]:
        scale = float(self.scale.noise.scale) if isinstance(self.scale, ScalePtr) else 0.0
        ends = [1 - 2 * (i + 0.5) / QUANTILES for i in range(QUANTILES)]
        return [round(math.copysign(-scale * math.log1p(-abs(u)), u)) for u in ends]


def level_for(
    n: int,
    neighbours: Adjacency,
    *,
    test: Fraction,
    release: Fraction,
    delta: Fraction | None = None,
    quantile: Fraction = HALF,
    search: Search = "free",
    mode: Mode = "exact",
    most_delta: Fraction | None = None,
) -> OrderStatisticTest:
    """The level of M for a public number of values: rank ceil(n quantile).

    Parameters
    ----------
    n : int
        Public under substitution; else a declared or noisy number, charged where it was bought.
    neighbours : Adjacency
        Relation between neighbours.
    test, release : Fraction
        Losses, > 0.
    delta : Fraction
        For mode exact: the greatest probability of an unsafe reply.
    quantile : Fraction
        Its level, strictly between 0 and 1; the median by default.
    search : "free" | "bins"
        The distance tested in mode exact.
    mode : Mode
        "exact", or "paper" for the printed thresholds.
    most_delta : Fraction or None
        For mode paper: the most delta of the two tests that is accepted; None for 1 / (10 n).

    Returns
    -------
    OrderStatisticTest
        Test and release, with their guarantee.

    Raises
    ------
    PublicParameterError, QuestionError
        Before rows are read: out of range; a printed threshold whose delta is above ``most_delta``; n too small.

    Source
    ------
    003 section 6, algorithm M; Theorem 12.
    """
    where, free = level(quantile, "the level"), search == "free" and mode == "exact"
    tested = test_for(mode, test, delta, n, neighbours, unsafe=neighbours.rows - 1 if free else neighbours.rows)
    used: Search = "free" if free else "bins"
    refuse_unreachable(tested, lambda size: farthest(math.ceil(size * where), size, used), n, "the median")
    if mode == "paper":
        refuse_large_delta(2 * tested.delta, most_delta or Fraction(1, 10 * n), "M")
    return OrderStatisticTest(math.ceil(n * where), tested, release, search, mode)


def scaled_median(
    n: int,
    neighbours: Adjacency,
    *,
    scale_test: Fraction,
    test: Fraction,
    release: Fraction,
    delta: Fraction,
) -> ScaledMedian:
    """The median by three tests: the stable bin of the quartiles, then the bin-free test of the least width.

    The width is 2 enough / n of the bin's edge w: it holds enough ranks where the density at the median is at least
    1 / (2 w), which a uniform column has. 003's n^(-1/3) is wider from n = (2 enough)^(3/2) on.

    Parameters
    ----------
    n : int
        Public under substitution; else a declared or noisy number, charged where it was bought.
    neighbours : Adjacency
        Relation between neighbours.
    scale_test, test, release : Fraction
        Losses of each of the two tests of the scale, of the test of the width and of the release, > 0.
    delta : Fraction
        The greatest probability of an unsafe reply, of each of the three tests.

    Returns
    -------
    ScaledMedian
        The three tests and the release, with their guarantee.

    Guarantee
    ---------
    (2 scale_test + test + release, 3 delta). Parameters else and what is raised are as for ``level_for``.
    """
    asked = level_for(n, neighbours, test=test, release=release, delta=delta)
    bought = stable_scale(n, neighbours, test=scale_test, delta=delta)
    return ScaledMedian(asked, bought, n, Fraction(1), ROOM * asked.test.enough)
