"""A private search for values that many records share: noisy counts of all values of a column, the large ones shown.

    records as integers -> geometric noise on every value of a public grid -> those that reach a bar -> atoms

Every value of a public grid of at most 2^41 gets noise, drawn exactly and only if it can matter (``Exceeding``). An
atom is thus found anywhere, at pure epsilon: with ``FALSE`` in all is a value shown at which there is nothing. A bar
for so many values is high. Round values are few, and crowds like them: they have a bar of their own, lower by the
logarithm of how many times fewer they are. Of whole numbers that are all listed one is an atom only if it stands out
among those next to it.

The search costs ``SHARE`` of epsilon, and is worth it where few records are enough to be found: a public rule.

Proof: docs/proofs/densities.md, Proposition 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent import calendar
from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.sensitivity import L1
from reticent.synthesis.axis import Axis
from reticent.synthesis.histogram import unit_of
from reticent.synthesis.remarks import NoticedAtoms, whole_word
from reticent.synthesis.size import swapped
from reticent.synthesis.sparse_histogram import Exceeding, skipping

Integers = NDArray[np.int64]

SHARE: Final = Fraction(1, 20)  # of epsilon
WORTH: Final = 0.1  # of the records: a round value that so many share has to be found, or nothing is sought
FALSE: Final = 0.01  # chance that some value is shown at which there is nothing
LISTED: Final = 1000  # round values
MISSED: Final = 0.05  # of atoms of the share that is told
STANDS: Final = 2.0  # times the numbers beside it, of a whole number among such that are all listed
MOST: Final = 32  # atoms of a column
APART: Final = 4  # steps of the grid between atoms of a real column


@dataclass(frozen=True, eq=False, repr=False)
class Search:
    """The search in a column.

    Attributes
    ----------
    bounds : Axis
        Its bounds alone matter.
    noise : Geometric
    """

    bounds: Axis
    noise: Geometric

    @property
    def unit(self) -> Fraction:
        return unit_of(self.bounds)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest value, in units."""
        high = self.bounds.edges[-1] - (1 if self.bounds.whole else 0)
        return math.floor(self.bounds.edges[0] / self.unit), math.floor(high / self.unit)

    @property
    def values(self) -> int:
        low, high = self.ends
        return high - low + 1

    @property
    def told(self) -> tuple[int, ...]:
        """The round values, counted from the least value of the grid: see ``step_of``, and of dates ``first_days``."""
        return _round_values(self.bounds)

    @property
    def dense(self) -> bool:
        """True if every value is listed."""
        return len(self.told) == self.values

    @cached_property
    def bar(self) -> int:
        """The noisy count that makes an atom of a round value."""
        return least_bar(self.noise, len(self.told), FALSE / 2)

    @cached_property
    def mechanism(self) -> Exceeding:
        others = max(self.values - len(self.told), 1)
        bar = max(least_bar(self.noise, others, FALSE / 2), 1)
        return Exceeding(self.noise, self.values, bar, len(self.told))

    def draw(self, indices: Integers, entropy: Entropy) -> tuple[Fraction, ...]:
        """The atoms, ascending.

        Parameters
        ----------
        indices : array of int64
            Values in units, of the records that have one; what lies beyond the bounds counts as the nearer bound.
        """
        places, counts = np.unique(np.clip(indices, *self.ends) - self.ends[0], return_counts=True)
        exact = dict(zip(self._ordered(places).tolist(), counts.tolist(), strict=True))
        told, others = np.array(self.told, np.int64), self.values - len(self.told)
        noisy: dict[int, int] = {}
        for place, count in gate.draw(self.mechanism, exact, entropy):
            noisy[int(told[place - others]) if place >= others else skipping(place, self.told)] = count
        return self._kept(noisy)

    def _ordered(self, places: Integers) -> Integers:
        """The number of each value where the round ones come last."""
        told = np.array(self.told, np.int64)
        before = np.searchsorted(told, places)
        round_one = np.zeros(len(places), np.bool_)
        inside = before < len(told)
        round_one[inside] = told[before[inside]] == places[inside]
        return np.where(round_one, self.values - len(told) + before, places - before)

    def _kept(self, noisy: dict[int, int]) -> tuple[Fraction, ...]:
        """Atoms among the values shown, the largest first if they are too many."""
        listed = {*self.told}
        beside = {place: self._beside(noisy, place) if self.dense else 0.0 for place in noisy}
        over = {
            place: count
            for place, count in noisy.items()
            if place not in listed or (count >= self.bar + beside[place] and count > STANDS * beside[place])
        }
        chosen: list[int] = []
        for place in sorted(over, key=lambda place: (-over[place], place)):
            if self.bounds.whole or all(abs(place - other) > APART for other in chosen):
                chosen.append(place)
        return tuple(sorted(self._value(place) for place in chosen[:MOST]))

    def _beside(self, noisy: dict[int, int], place: int) -> float:
        near = [noisy[other] for other in (place - 2, place - 1, place + 1, place + 2) if other in noisy]
        return max(float(np.median(near)), 0.0) if near else 0.0

    def _value(self, place: int) -> Fraction:
        """The number with the fewest decimals among those of a step of the grid."""
        start = (self.ends[0] + place) * self.unit
        power = Fraction(1)
        while True:
            found = math.ceil(start * power) / power
            if found < start + self.unit:
                break
            power *= 10
        high = self.bounds.edges[-1] - (1 if self.bounds.whole else 0)
        return min(max(found, self.bounds.edges[0]), high)

    def noticed(self, n: float) -> tuple[NoticedAtoms, ...]:
        """From which share of n records on atoms are found."""
        missed = self.noise.radius(2 * MISSED)
        column, n = self.bounds.column, max(n, 1.0)
        if self.dense:
            every = min((self.bar + missed) / n, 1.0)
            return (NoticedAtoms(column, f"{whole_word(self.bounds.step)}, beyond those near it", every),)
        told = f"multiples of {_text(step_of(self.bounds))}"
        if self.bounds.step:
            told = f"first days of a {period_of(self.bounds)}"
            told = "midnights" if told.endswith(" day") else told
        return (
            NoticedAtoms(column, f"the {len(self.told):,} {told}", self.share(n)),
            NoticedAtoms(column, "any other value", min((self.mechanism.bar + missed) / n, 1.0)),
        )

    def share(self, n: float) -> float:
        """Least share of n records at a round value that is found but for ``MISSED``."""
        return min((self.bar + self.noise.radius(2 * MISSED)) / max(n, 1.0), 1.0)


@lru_cache(maxsize=16)
def _round_values(bounds: Axis) -> tuple[int, ...]:
    unit, last = unit_of(bounds), bounds.edges[-1] - (1 if bounds.whole else 0)
    low, high = math.floor(bounds.edges[0] / unit), math.floor(last / unit)
    if bounds.whole and high - low < LISTED:
        return tuple(range(high - low + 1))
    if bounds.step:
        return tuple(number - low for number in first_days(bounds, period_of(bounds)))
    step = step_of(bounds)
    first, final = math.ceil(bounds.edges[0] / step), math.floor(last / step)
    return tuple(sorted({math.floor(number * step / unit) - low for number in range(first, final + 1)}))


def period_of(bounds: Axis) -> str:
    """The least of day, month and year of which at most ``LISTED`` begin within the bounds of a column of dates."""
    days = float(bounds.edges[-1] - bounds.edges[0]) * bounds.step / calendar.DAY
    within = {"day": 1.0, "month": 28.0, "year": 365.0}  # a year at least: of ten thousand the last is too many
    return next((period for period, least in within.items() if days / least + 2 <= LISTED), "year")


def first_days(bounds: Axis, period: str) -> list[int]:
    """The first days of the periods within the bounds, in steps of the column."""
    low, high = int(bounds.edges[0]), int(bounds.edges[-1]) - 1
    days = calendar.firsts(low, high, bounds.step, period)
    return [found for found in (day * calendar.DAY // bounds.step for day in days) if low <= found <= high]


def step_of(bounds: Axis) -> Fraction:
    """The least of 1, 2 and 5 times a power of ten of which at most ``LISTED`` multiples lie in the bounds.

    Of a declared resolution it is so many times that: the first one is the resolution itself.
    """
    span = bounds.edges[-1] - bounds.edges[0]
    power = bounds.resolution or Fraction(10) ** (len(str(span.numerator // span.denominator)) - 6)
    while bounds.resolution is None and span < power * LISTED:
        power /= 10
    while True:
        for factor in (1, 2, 5):
            step = factor * power
            if math.floor(span / step) + 1 <= LISTED and (not bounds.whole or step >= 1):
                return step
        power *= 10


def least_bar(noise: Geometric, counts: int, chance: float) -> int:
    """The least noisy count that noise alone reaches somewhere among so many values with at most this chance.

    Parameters
    ----------
    noise : Geometric
    counts : int
        Number of values without records.
    chance : float
        In (0, 1).

    Returns
    -------
    int
        In records.
    """
    fall = 1.0 / float(noise.scale)
    return max(math.ceil((math.log(counts / chance) - math.log1p(math.exp(-fall))) / fall), 1)


def worthwhile(search: Search, people: int) -> Search | None:
    """The search, if a public rule finds it worth its price for so many records, public or noisy."""
    return search if search.share(float(people)) <= WORTH else None


def search_for(bounds: Axis, neighbours: Adjacency, epsilon: Fraction) -> Search:
    """The search in a column, for ``SHARE`` of epsilon.

    Parameters
    ----------
    bounds : Axis
        Its bounds alone matter.
    neighbours : Adjacency
    epsilon : Fraction
        Of the whole release.

    Returns
    -------
    Search
    """
    return Search(bounds, Geometric(L1(Fraction(swapped(neighbours)), neighbours), epsilon * SHARE))


def _text(step: Fraction) -> str:
    return f"{float(step):g}"
