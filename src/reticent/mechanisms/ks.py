"""Releasing a small data set close to the true one in Kolmogorov-Smirnov distance, exactly.

Statement. Let N(t) be the number of records in the cells 1..t of a public grid of G cells, n = N(G), and z a multiset
of k cells with running counts M(t). Let level(z) = ceil(max_t |N(t) - (n / k) M(t)|). Let r be a rational with e^{-eps
/ (2 D)} <= r < 1, and let one person have at most D records. Drawing z from all multisets with probability proportional
to r^level(z) is eps-differentially private. Persons may be added, removed or have their records replaced. So it is with
k of a public list: each number weighs 1, shared alike by its multisets, and k and z are drawn together, with
probability proportional to weight times r^level(z). The data choose k, and it costs nothing more.

Source. McSherry and Talwar 2007; Wasserman and Zhou 2010; 002 section 6.1. The sampler is derived here.

Proof. Let F = M / k. A record more in cell j moves N(t) - n F(t) by 1[t >= j] - F(t), a record less by its negative,
and a record that moves from cell i to j by 1[t >= j] - 1[t >= i]: all lie in [-1, 1]. A person who is replaced keeps
min of the old and new numbers of records as moves, and the rest are records more or less: at most D steps. So the
maximum over t moves by at most D, and so does its ceiling, D being an integer, whatever k is. Numerators of neighbours
differ by at most r^-D <= e^{eps/2}, and so do their sums; both together by e^eps. What one output gains another loses
by at most 2 D ln(1/r) <= eps: bounded range eps. The sampler has exactly this law: docs/proofs/synthesis.md, section 1.

Deviations. 002 draws k independent points of a continuum, weighed by n times the distance itself. Here the base measure
is uniform on multisets over a public grid and the distance is rounded up to whole records: both are fixed without the
data. 002 has one k, and takes 1/n as the sensitivity, which holds for replacement alone; level needs no public n. The
law is drawn exactly: a Markov chain stopped at total variation distance t from it would be (eps, (1 + e^eps) t)-private
only.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, combinations_with_replacement, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.categorical import categorical
from reticent.exact.coins import bernoulli, uniform
from reticent.exact.rounding import scaled_exp_bounds
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import integers, positive, show, stored
from reticent.privacy.pairs import Range
from reticent.privacy.sensitivity import Linf

THEOREM: Final = Theorem(
    "ks_release",
    "points of a public grid with probability proportional to a public weight times "
    "exp(-epsilon level / (2 sensitivity))",
    "McSherry and Talwar 2007; Wasserman and Zhou 2010; 002 section 6.1",
)

PLACES: Final = 64  # bits of 1 - r, and of r
FEW: Final = 1 << 12  # multisets that are counted out in whole numbers, level by level
SHORT: Final = 64  # records up to which they are
SPARE: Final = 64  # bits below the likeliest level at which levels are drawn as one tail
STEEP: Final = 64  # a rate beyond which more makes no difference
SLACK: Final = 24  # bits between the largest count and the largest number of its type
BLOCK: Final = 1 << 16  # doubles at a time


@dataclass(frozen=True, slots=True)
class KolmogorovSmirnov:
    """Draws ``points`` >= 1 places of a grid; ``sensitivity`` is the most records of one person, ``epsilon`` > 0.

    Of several numbers of points one is drawn with the places: the sum of what comes out says which.
    """

    sensitivity: Linf
    epsilon: Fraction
    points: int | tuple[int, ...]

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if self.sensitivity.bound.denominator != 1:
            raise PublicParameterError("the records of one person are a whole number")
        listed = self.numbers
        if any(isinstance(one, bool) or not isinstance(one, int) or one < 1 for one in listed):
            raise PublicParameterError(f"points must be an integer >= 1, or several, got {self.points}")
        if not listed or list(listed) != sorted(set(listed)):
            raise PublicParameterError(f"numbers of points rise, and there is one at least, got {self.points}")

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of points there may be."""
        return self.points if isinstance(self.points, tuple) else (self.points,)

    @property
    def rate(self) -> Fraction:
        """Rate at which the log-probability falls per level."""
        return self.epsilon / (2 * self.sensitivity.bound)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            PureDP(self.epsilon),
            self.sensitivity.adjacency,
            THEOREM,
            pair=Range(self.epsilon),
            rate=show(self.rate),
            sensitivity=show(self.sensitivity.bound),
        )

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        """Draw the number of points in each cell, given the running counts N(1), ..., N(G) of the records."""
        running = integers(exact, "running counts")
        if not running or running[0] < 0 or any(low > high for low, high in pairwise(running)):
            raise PublicParameterError("running counts are integers >= 0 that do not fall, at least one")
        bands = self._bands(running)
        few = running[-1] <= SHORT and all(band.all <= FEW for band in bands)
        band, level = (_counted if few else _proposed)(bands, ratio_above(self.rate), entropy)
        return band.member(level, uniform(band.count(level), entropy))

    def _bands(self, running: Sequence[int]) -> list[_Band]:
        return [_Band(tuple(running), points) for points in self.numbers]

    def reach(self, running: Sequence[int], beta: float) -> int:
        """A level that a release of *public* running counts stays within with probability 1 - ``beta``: accuracy."""
        if running[-1] == 0:
            return 0
        ratio = ratio_above(self.rate)
        fall, masses = math.log(ratio.numerator / ratio.denominator), dict[int, float]()
        for band in self._bands(running):
            last = last_level(band, ratio)
            counts = [band.count(i) for i in range(last + 1)] if band.kind is None else map(int, band.rounded(last))
            shares = [count / band.all for count in counts]
            for level, (share, before) in enumerate(zip(shares, [0.0, *shares], strict=False)):
                if share > before:
                    mass = math.log(share - before) + level * fall
                    masses[level] = float(np.logaddexp(masses.get(level, -math.inf), mass))
        top, levels = max(masses.values()), sorted(masses)
        ends = list(accumulate(math.exp(masses[level] - top) for level in levels))
        return levels[min(bisect_right(ends, (1.0 - beta) * ends[-1]), len(levels) - 1)]


def ratio_above(rate: Fraction) -> Fraction:
    """A rational with e^-rate <= r < 1, near it up to STEEP: short enough to count with."""
    pace = min(rate, Fraction(STEEP))
    small = max(0, pace.denominator.bit_length() - pace.numerator.bit_length())
    places = PLACES + small + (pace * 3 / 2).__ceil__()
    return Fraction(scaled_exp_bounds(pace, places)[1], 1 << places)


@dataclass(frozen=True, slots=True, repr=False)
class _Band:
    """The multisets of a level: running counts with ceil(k (N - i) / n) <= M <= floor(k (N + i) / n) everywhere."""

    running: tuple[int, ...]
    points: int

    @property
    def records(self) -> int:
        return self.running[-1]

    @property
    def all(self) -> int:
        """The number of all multisets."""
        return math.comb(len(self.running) + self.points - 1, self.points)

    def ends(self, level: int) -> list[tuple[int, int]]:
        """The least and the largest M(t) of a level, for all cells but the last, where M is k."""
        k, n = self.points, self.records
        if n == 0:
            return [(0, k)] * (len(self.running) - 1)
        return [(max(-(-k * (x - level) // n), 0), min(k * (x + level) // n, k)) for x in self.running[:-1]]

    def counts(self, level: int) -> list[list[int]]:
        """For each cell the numbers of ways to reach every M(t) of the level, from its least one on; then all ways."""
        ways, low, table = [1], 0, []
        for least, most in [*self.ends(level), (self.points, self.points)]:
            sums = list(accumulate(ways))
            ways = [
                sums[min(place, len(sums) - 1)] if place >= 0 else 0 for place in range(least - low, most - low + 1)
            ]
            if not ways:
                return [[0]]
            low = least
            table.append(ways)
        return table

    def count(self, level: int) -> int:
        """The number of multisets up to a level."""
        return self.counts(level)[-1][0]

    def member(self, level: int, number: int) -> tuple[int, ...]:
        """The multiset of this number, 0 <= number < count, among those up to the level."""
        table, lows = self.counts(level), [low for low, _ in self.ends(level)]
        found, high, left = [], self.points, number
        for ways, low in zip(reversed(table[:-1]), reversed(lows), strict=True):
            sums = list(accumulate(ways[: high - low + 1]))
            place = bisect_right(sums, left)
            left -= sums[place - 1] if place else 0
            found.append(high - low - place)
            high = low + place
        return (high, *reversed(found))

    def rounded(self, last: int) -> NDArray[np.floating]:
        """The counts of levels 0 to ``last``, each off by a factor of at most 1 + ``off``."""
        found = np.empty(last + 1, self.kind)
        size = max(BLOCK // (self.points + 1), 1)
        for first in range(0, last + 1, size):
            levels = np.arange(first, min(first + size, last + 1), dtype=np.int64)[:, None]
            found[first : first + size] = self._block(levels)
        return found

    def _block(self, levels: NDArray[np.int64]) -> NDArray[np.floating]:
        k, n = self.points, self.records
        scaled = n * np.arange(k + 1, dtype=np.int64)[None, :]
        ways = np.zeros((len(levels), k + 1), self.kind)
        ways[:, 0] = 1.0
        first = 0
        for x, (least, most) in zip(self.running[:-1], self.ends(int(levels[-1, 0])), strict=True):
            part = ways[:, first : most + 1]  # no multiset of these levels is below the one or above the other
            np.cumsum(part, axis=1, out=part)
            part *= np.abs(k * x - scaled[:, first : most + 1]) <= k * levels
            first = min(least, k)
        total: NDArray[np.floating] = ways.sum(axis=1)
        return total

    @property
    def off(self) -> float:
        """More than the relative error of any sum of at most G (k + 1) steps of positive doubles."""
        return len(self.running) * (self.points + 1) * 2.0**-52

    @property
    def kind(self) -> type[np.floating] | None:
        """A floating-point type that holds all counts, none below its normal numbers; None where there is none.

        Every sum of either type is within 2^-53 of the true one, relatively, on every processor with IEEE 754 doubles.
        """
        if max(self.records, 1) * (self.points + 1) >= 1 << 60 or self.off >= 2.0**-10:
            return None
        kinds = (np.float64, np.longdouble)
        return next((one for one in kinds if np.finfo(one).maxexp >= self.all.bit_length() + SLACK), None)

    def __repr__(self) -> str:
        return "<private band>"


def _counted(bands: Sequence[_Band], ratio: Fraction, entropy: Entropy) -> tuple[_Band, int]:
    """A number of points and a level by whole-number weights.

    The weights are W_i (1 - r) r^i below n, W_n r^n at n, times the denominator to the n; for several numbers over all
    of a number's multisets, times a common multiple.
    """
    a, b, last, common = ratio.numerator, ratio.denominator, bands[0].records, common_of(bands)
    weights = []
    for band, times in zip(bands, common, strict=True):
        weights += [times * band.count(i) * (b - a) * a**i * b ** (last - 1 - i) for i in range(last)]
        weights.append(times * band.count(last) * a**last)
    which, level = divmod(categorical([0] * len(weights), weights, entropy), last + 1)
    return bands[which], level


def common_of(bands: Sequence[_Band]) -> list[int]:
    """For every number of points the least common multiple of all their numbers of multisets over its own."""
    whole = math.lcm(*(band.all for band in bands))
    return [whole // band.all for band in bands]


def _proposed(bands: Sequence[_Band], ratio: Fraction, entropy: Entropy) -> tuple[_Band, int]:
    """The same law, by proposals with weights a little above W_i r^i, and one for all levels beyond a last one.

    A level far above n counts like n, so levels need no end: r^level is the sum of (1 - r) r^i over i >= level.
    A number of points is proposed with its level, by the weight of all its proposals over all its multisets.
    """
    listed = [_Weights.of(band, ratio) for band in bands]
    finest = max(weights.places for weights in listed)
    units = [times << finest - weights.places for times, weights in zip(common_of(bands), listed, strict=True)]
    ends = list(accumulate(unit * weights.ends[-1] for unit, weights in zip(units, listed, strict=True)))
    while True:
        hit = uniform(ends[-1], entropy)
        which = bisect_right(ends, hit)
        place = (hit - (ends[which - 1] if which else 0)) // units[which]
        level = _accepted(bands[which], listed[which], place, entropy)
        if level is not None:
            return bands[which], level


def _accepted(band: _Band, weights: _Weights, hit: int, entropy: Entropy) -> int | None:
    """The level that is proposed at a place among all weights, if it is accepted."""
    level = bisect_right(weights.ends, hit)
    offset = hit - (weights.ends[level - 1] if level else 0)
    if level <= weights.last:
        sure = offset < weights.sure[level] or _below(offset, weights.exact(band.count(level), level), entropy)
        return level if sure else None
    if not _below(offset, weights.exact(band.all, level) / (1 - weights.ratio), entropy):
        return None
    while level < band.records and bernoulli(weights.ratio, entropy):
        level += 1
    if level >= band.records:
        return band.records
    return level if uniform(band.all, entropy) < band.count(level) else None


def _below(offset: int, weight: Fraction, entropy: Entropy) -> bool:
    """Tell if offset + V < weight, for a uniform V."""
    whole = weight.__floor__()
    return offset < whole or (offset == whole and bernoulli(weight - whole, entropy))


@dataclass(frozen=True, slots=True, repr=False)
class _Weights:
    """Whole-number weights of levels 0..last and of all beyond, in units of 2^-places: cumulated, and surely right."""

    ratio: Fraction
    places: int
    last: int
    ends: list[int]
    sure: list[int]

    @classmethod
    def of(cls, band: _Band, ratio: Fraction) -> _Weights:
        last = last_level(band, ratio)
        a, b = ratio.numerator, ratio.denominator
        places = 2 * SPARE + int(bits_of(ratio) * (last + 1)) + band.records.bit_length()
        if band.kind is None:
            low = high = [band.count(level) for level in range(last + 1)]
        else:
            found = band.rounded(last)
            low = [int(count) for count in found * (1.0 - 2.0 * band.off)]
            high = [int(count) + 1 if count else 0 for count in found * (1.0 + 2.0 * band.off)]
        least = most = 1 << places
        ends, sure, total = [], [], 0
        for level in range(last + 1):
            sure.append(low[level] * least)
            total += high[level] * most
            ends.append(total)
            least, most = least * a // b, -(-most * a // b)
        ends.append(total + -(-band.all * most * b // (b - a)))
        return cls(ratio, places, last, ends, sure)

    def exact(self, count: int, level: int) -> Fraction:
        return count * self.ratio**level * (1 << self.places)

    def __repr__(self) -> str:
        return "<private weights>"


def last_level(band: _Band, ratio: Fraction) -> int:
    """A level beyond which all levels together weigh below 2^-SPARE of one that no data can empty; at most n - 1.

    It depends on n, k, G and r alone: k N(t) / n rounded to whole numbers is a multiset of level at most n / (2 k) + 1.
    """
    reach = -(-band.records // (2 * band.points)) + 1
    bits = band.all.bit_length() + SPARE - math.log2(float(1 - ratio))
    return max(min(reach + int(bits / bits_of(ratio)) + 1, band.records - 1), 0)


def bits_of(ratio: Fraction) -> float:
    """-log2 r, also where r is next to 1."""
    return -math.log1p(-float(1 - ratio)) / math.log(2.0) if 2 * ratio > 1 else -math.log2(float(ratio))


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again; how many points were drawn does not matter to it."""
    bound = stored(parameters, "sensitivity")
    return KolmogorovSmirnov(Linf(bound, neighbours), 2 * stored(parameters, "rate") * bound, 1).guarantee


def level_of(running: Sequence[int], multiset: Sequence[int]) -> int:
    """The level of one multiset, by its definition."""
    n, k = running[-1], sum(multiset)
    return max(-(-abs(k * x - n * m) // k) for x, m in zip(running, accumulate(multiset), strict=True))


def _specimen(
    epsilon: Fraction, points: int | tuple[int, ...], tables: tuple[tuple[int, ...], tuple[int, ...]], name: str
) -> Specimen[Sequence[int], tuple[int, ...]]:
    made = KolmogorovSmirnov(Linf(Fraction(1), Adjacency("substitute")), epsilon, points)

    def mass(exact: Sequence[int], output: tuple[int, ...]) -> float:
        """By listing all multisets."""
        weight = {}
        for number in made.numbers:
            listed = list(combinations_with_replacement(range(len(exact)), number))
            for places in listed:
                one = tuple(places.count(cell) for cell in range(len(exact)))
                weight[one] = math.exp(-float(made.rate) * level_of(exact, one)) / len(listed)
        return weight[output] / sum(weight.values())

    return Specimen(name, made, *tables, mass)


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (
    _specimen(Fraction(33, 10), 1, ((1, 4), (2, 4)), "one point of two cells by KS distance"),
    _specimen(Fraction(2), (1, 2), ((5, 7), (6, 7)), "one or two points of two cells by KS distance"),
)
