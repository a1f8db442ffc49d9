"""Exact choice among many: P(i) proportional to c_i * exp(-x_i), for the exponential mechanism and its relatives.

Candidates are proposed from whole-number weights a little above the true ones. A candidate is accepted if the place hit
inside the weight lies below the true one. Floats only say that a place is *surely* below: their error is bounded from
IEEE 754 sums and products of tables rounded from integers. What they cannot say, probability below 2**-44, is decided
in integers at growing precision. The law is exact; proofs in ``docs/proofs/sampling.md``.

Source: McSherry & Talwar (2007) for the exponential mechanism, McKenna & Sheldon (2020) for permute-and-flip,
Ilvento (2020) for the failure of floating-point weights that this replaces. Deviation: no base-2 restriction.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import Oracle, positive, rational, resumed, uniform
from reticent.exact.rounding import scaled_exp_bounds

ERROR = 2.0**-49  # above the relative error of a float weight: 6 table entries, 6 products, 1 conversion, 2**-53 each
DEPTH = 400  # exponents beyond this are proposed with the weight FAINT and decided in integers
FAINT = 2.0**-577  # above exp(-DEPTH), and far from the subnormal floats
ROW = 256  # candidates whose whole-number weights share a unit
UNIT = 54  # the largest weight of a row has this many bits


@dataclass(frozen=True, slots=True)
class Categorical:
    """Indices i, P proportional to ``counts[i]`` exp(-``exponents[i]``); some count is above 0."""

    exponents: tuple[Fraction, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.exponents) != len(self.counts):
            raise PublicParameterError("exponents and counts must have one length")
        if not all(type(count) is int and count >= 0 for count in self.counts) or not any(self.counts):
            raise PublicParameterError("counts must be ints >= 0, at least one of them > 0")
        for exponent in self.exponents:
            rational(exponent, "an exponent")


@dataclass(frozen=True, slots=True)
class PermuteAndFlipDraw:
    """Indices: in random order, the first whose coin of probability exp(-(``exponents[i]`` - least)) is 1."""

    exponents: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.exponents:
            raise PublicParameterError("there must be at least one candidate")
        for exponent in self.exponents:
            rational(exponent, "an exponent")


@dataclass(frozen=True, slots=True)
class _Powers:
    """Tables of exp(-rate * d * 2**(j * digit)) for the digits d of a score, and the score where they end."""

    last: int
    digit: int
    tables: tuple[NDArray[np.float64], ...]

    def of(self, scores: NDArray[np.uint64]) -> NDArray[np.float64]:
        """exp(-rate * score) with relative error below ERROR; beyond ``last``, where it is less, FAINT."""
        clipped = np.minimum(scores, np.uint64(self.last)).astype(np.int64)
        mask = (1 << self.digit) - 1
        product = np.take(self.tables[0], clipped & mask, mode="clip")
        for j, table in enumerate(self.tables[1:], 1):
            product *= np.take(table, (clipped >> (j * self.digit)) & mask, mode="clip")
        np.putmask(product, scores > np.uint64(self.last), FAINT)
        return product


@lru_cache(maxsize=16)
def _powers(rate: Fraction) -> _Powers:
    last = min(DEPTH * rate.denominator // rate.numerator, (1 << 62) - 1)
    parts = 1 if last < 1 << 14 else -(-last.bit_length() // 11)
    digit = -(-last.bit_length() // parts)
    tables = []
    for j in range(parts):
        most = min(last >> (j * digit), (1 << digit) - 1)
        exponent = rate * (1 << (j * digit))
        # exp(-DEPTH) is above 2**-600, so a power that is short by 2 * most units is right to 100 places and more.
        places = 720 + most.bit_length()
        ratio, _ = scaled_exp_bounds(exponent, places)
        power, column = 1 << places, []
        for _ in range(most + 1):
            column.append(power / (1 << places))
            power = (power * ratio) >> places
        tables.append(np.array(column))
    return _Powers(last, digit, tuple(tables))


@dataclass(frozen=True, slots=True)
class _Counts:
    """Multiplicities as floats, and as the exact integers they stand for."""

    floats: NDArray[np.float64]
    exact: Sequence[int] | NDArray[np.uint64]


def _counts(
    multiplicities: Sequence[int] | NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.object_],
) -> _Counts | list[int]:
    """The multiplicities with their floats; alone, where one of them is so large that the floats would be of no use."""
    if isinstance(multiplicities, np.ndarray):
        if multiplicities.ndim != 1:
            raise PublicParameterError("multiplicities must be a flat array of integers >= 0")
        if multiplicities.dtype.kind in "iu":
            if len(multiplicities) and int(multiplicities.min()) < 0:
                raise PublicParameterError("multiplicities must be a flat array of integers >= 0")
            words = multiplicities.astype(np.uint64, copy=False)
            return _Counts(words.astype(np.float64), words)
    listed: list[int] = multiplicities.tolist() if isinstance(multiplicities, np.ndarray) else list(multiplicities)
    if not all(type(count) is int and count >= 0 for count in listed):
        raise PublicParameterError("multiplicities must be ints >= 0; a float or a Fraction is refused")
    if max(listed, default=0) >> 512:
        return listed
    return _Counts(np.array([float(count) for count in listed], np.float64), listed)


def categorical_scores(
    scores: NDArray[np.int64],
    multiplicities: Sequence[int] | NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.object_],
    rate: int | Fraction,
    entropy: Entropy,
) -> int:
    """An index i with probability exactly proportional to ``multiplicities[i] * exp(-rate * scores[i])``.

    Parameters
    ----------
    scores : array of int64, shape (n,)
        Lower is better. Adding a constant to all leaves the law as it is; the least one of a candidate with a positive
        multiplicity is subtracted first.
    multiplicities : array of integers or sequence of int, shape (n,)
        At least 0, any size; at least one above 0. Beyond 2**512 the work is that of :func:`categorical`.
    rate : int or Fraction
        Above 0; public. For the exponential mechanism epsilon / (2 * sensitivity).
    entropy : Entropy
        The coins.

    Returns
    -------
    int
        A candidate whose multiplicity is not 0.

    Raises
    ------
    PublicParameterError
        For a float, lengths that differ, a negative multiplicity, or multiplicities that are all 0.

    Notes
    -----
    Apart from an event of probability below 2**-44, the same operations run on all data of one size. Reads of tables
    and the cache depend on the processor.
    """
    if type(entropy) is Oracle:
        counts = multiplicities.tolist() if isinstance(multiplicities, np.ndarray) else multiplicities
        return entropy.one(Categorical(_exponents(scores, rate), tuple(counts)))
    return choice(scores, multiplicities, rate).draw(entropy)


def choice(
    scores: NDArray[np.int64],
    multiplicities: Sequence[int] | NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.object_],
    rate: int | Fraction,
) -> _Choice | _LongCounts:
    """The law of :func:`categorical_scores`; ``draw(entropy)`` draws from it. Audits draw from one law many times.

    Parameters
    ----------
    scores : array of shape (m,), int
        Scores, less being likelier.
    multiplicities : sequence or array of shape (m,), int
        Number of candidates with each score.
    rate : int or Fraction
        Factor of the scores in the exponent, > 0.

    Returns
    -------
    law with ``draw(entropy)``

    Raises
    ------
    PublicParameterError
        Scores that are no flat array of integers, lengths that differ, or multiplicities that are all 0.
    """
    pace = positive(rate, "rate")
    if not isinstance(scores, np.ndarray) or scores.dtype.kind != "i" or scores.ndim != 1:
        raise PublicParameterError("scores must be a flat array of signed integers")
    counts = _counts(multiplicities)
    if len(counts.floats if isinstance(counts, _Counts) else counts) != len(scores):
        raise PublicParameterError("scores and multiplicities must have one length")
    if isinstance(counts, list):
        lowest = int(scores.min())
        return _LongCounts([pace * (score - lowest) for score in scores.tolist()], counts)
    possible = counts.floats > 0
    if not possible.any():
        raise PublicParameterError("at least one multiplicity must be > 0")
    wide = scores.astype(np.int64, copy=False)
    least = wide.min(where=possible, initial=np.iinfo(np.int64).max)
    # The difference of two int64 fits uint64, and wraps to the right value; impossible candidates do not matter.
    behind = (wide - least).view(np.uint64)
    powers = _powers(pace)
    high = powers.of(behind)
    high *= counts.floats
    high *= 1.0 + 2 * ERROR
    return _Choice(_WeightRows.of(high), high, behind, counts, pace, powers.last)


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """Proposals from weights a little above the true ones, and what decides them."""

    proposal: _WeightRows
    high: NDArray[np.float64]
    behind: NDArray[np.uint64]
    counts: _Counts
    pace: Fraction
    last: int

    def draw(self, entropy: Entropy) -> int:
        while True:
            place, offset, exponent = self.proposal.draw(entropy)
            # Sure if the float weight, lowered by its error, covers the whole unit that was hit.
            if int(self.behind[place]) <= self.last:
                low = np.ldexp(self.high[place] * (1.0 - 4 * ERROR), -exponent)
                if offset + 1 <= int(low):
                    return place
            exact = int(self.counts.exact[place])
            if _below(offset, exact, self.pace * int(self.behind[place]), exponent, entropy):
                return place


@dataclass(frozen=True, slots=True, eq=False)
class _LongCounts:
    """Multiplicities that no float holds: everything in integers."""

    exponents: list[Fraction]
    counts: list[int]

    def draw(self, entropy: Entropy) -> int:
        return categorical(self.exponents, self.counts, entropy)


@dataclass(frozen=True, slots=True)
class _WeightRows:
    """Whole-number weights, just above the floats given, in rows of 256 that share a unit ``2**exponent``."""

    weights: NDArray[np.int64]
    exponents: list[int]
    sums: list[int]
    ends: list[int]
    top: int

    @classmethod
    def of(cls, high: NDArray[np.float64]) -> _WeightRows:
        count = -(-len(high) // ROW)
        padded = np.zeros(count * ROW)
        padded[: len(high)] = high
        table = padded.reshape(count, ROW)
        _, scale = np.frexp(table.max(axis=1))
        units = scale.astype(np.int64) - UNIT
        weights = np.ldexp(table, -units[:, None]).astype(np.int64) + (table > 0)
        sums: list[int] = weights.sum(axis=1).tolist()
        exponents: list[int] = units.tolist()
        top = max(exponent for exponent, total in zip(exponents, sums, strict=True) if total)
        # Row sums on one scale, 64 places below the largest unit, rounded up; the part rounded up is checked in draw.
        scaled = [
            ((total << 64) >> (top - exponent)) + 1 if total else 0
            for exponent, total in zip(exponents, sums, strict=True)
        ]
        return cls(weights, exponents, sums, list(accumulate(scaled)), top)

    def draw(self, entropy: Entropy) -> tuple[int, int, int]:
        """A candidate with probability proportional to its weight, a uniform place inside it, and the unit."""
        while True:
            hit = uniform(self.ends[-1], entropy)
            row = bisect_right(self.ends, hit)
            shift = self.top - self.exponents[row]
            offset = hit - (self.ends[row - 1] if row else 0)
            total = self.sums[row] << 64
            last = total >> shift
            if offset == last and uniform(1 << shift, entropy) >= total - (last << shift):
                continue
            ends = np.cumsum(self.weights[row])
            within = uniform(self.sums[row], entropy)
            column = int(np.searchsorted(ends, within, side="right"))
            return row * ROW + column, within - int(ends[column] - self.weights[row, column]), self.exponents[row]


def _below(offset: int, count: int, x: Fraction, exponent: int, entropy: Entropy) -> bool:
    """Tell if offset + V < count * exp(-x) / 2**exponent, for a fresh uniform V drawn digit by digit."""
    drawn, places = offset, 0
    while True:
        drawn = (drawn << 64) | entropy.bits(64)
        places += 64
        whole, over = _scaled_floor(count, x, places - exponent)
        if drawn != whole:
            return drawn < whole
        if not over:
            return False


def _scaled_floor(count: int, x: Fraction, shift: int) -> tuple[int, bool]:
    """The integer part of ``count * exp(-x) * 2**shift``, and whether anything is left over."""
    if x == 0:
        whole = count << shift if shift >= 0 else count >> -shift
        return whole, shift < 0 and whole << -shift != count
    guard = 32
    while True:
        places = max(shift, 0) + count.bit_length() + guard
        low, high = scaled_exp_bounds(x, places)
        first, last = (low * count) >> (places - shift), (high * count - 1) >> (places - shift)
        if first == last:
            return first, True
        guard *= 2


def categorical(log_weights: Sequence[int | Fraction], multiplicity: Sequence[int], entropy: Entropy) -> int:
    """An index i with probability exactly proportional to ``multiplicity[i] * exp(-log_weights[i])``.

    Parameters
    ----------
    log_weights : sequence of int or Fraction
        The exponents x_i, at least 0. Adding a constant to all leaves the law as it is.
    multiplicity : sequence of int
        The factors c_i, at least 0, at least one above 0.
    entropy : Entropy
        The coins.

    Returns
    -------
    int
        Place in ``log_weights``.

    Raises
    ------
    PublicParameterError
        For a float, lengths that differ, a negative number, or multiplicities that are all 0.
    """
    exponents = [rational(x, "a log weight") for x in log_weights]
    if type(entropy) is Oracle:
        return entropy.one(Categorical(tuple(exponents), tuple(multiplicity)))
    counts = list(multiplicity)
    if len(exponents) != len(counts):
        raise PublicParameterError("log_weights and multiplicity must have one length")
    if any(x < 0 for x in exponents) or not all(type(c) is int and c >= 0 for c in counts) or not any(counts):
        raise PublicParameterError("log_weights must be >= 0, multiplicity ints >= 0, at least one of them > 0")
    least = min(x for x, c in zip(exponents, counts, strict=True) if c)
    behind = [max(x - least, Fraction(0)) for x in exponents]
    places = 128 + max(c.bit_length() for c in counts)
    bounds = [scaled_exp_bounds(x, places) for x in behind]
    sure = [low * c for (low, _), c in zip(bounds, counts, strict=True)]
    ends = list(accumulate(high * c for (_, high), c in zip(bounds, counts, strict=True)))
    while True:
        hit = uniform(ends[-1], entropy)
        place = bisect_right(ends, hit)
        offset = hit - (ends[place - 1] if place else 0)
        if offset < sure[place] or _below(offset, counts[place], behind[place], -places, entropy):
            return place


def permute_and_flip(scores: Sequence[int] | NDArray[np.int64], rate: int | Fraction, entropy: Entropy) -> int:
    """An index chosen by permute-and-flip: lower scores are better.

    Candidates are met in random order, and the first whose coin, true with probability
    ``exp(-rate * (score - least))``, comes up true is returned. The coins do not depend on the order, so all are
    flipped and one of the true ones is chosen uniformly: the same law, and work that does not depend on the scores.

    Parameters
    ----------
    scores : sequence of int, or array of int64
        Lower is better.
    rate : int or Fraction
        Above 0; public. epsilon / (2 * sensitivity), or epsilon / sensitivity where all scores move one way.
    entropy : Entropy
        The coins.

    Returns
    -------
    int
        Place among the scores.

    Raises
    ------
    PublicParameterError
        For a float or an empty list.
    """
    if type(entropy) is Oracle:
        return entropy.one(PermuteAndFlipDraw(_exponents(scores, rate)))
    pace = positive(rate, "rate")
    behind = _behind(scores)
    powers = _powers(pace)
    chance = powers.of(behind)
    coins = entropy.words(len(behind))
    below = (coins >> np.uint64(11)).astype(np.float64) * 2.0**-53
    sure = (below <= chance * (1.0 - 2 * ERROR) - 2.0**-52) & (behind <= np.uint64(powers.last))
    unsure = (below <= chance * (1.0 + 2 * ERROR)) & ~sure
    for place in np.flatnonzero(unsure).tolist():
        sure[place] = resumed(pace * int(behind[place]), int(coins[place]), 64, entropy)
    # The least of independent random keys is a uniform choice; ties are broken by a fresh one.
    keys = np.where(sure, entropy.words(len(behind)), np.uint64(2**64 - 1))
    least = np.flatnonzero((keys == keys.min()) & sure)
    return int(least[uniform(len(least), entropy)])


def _exponents(scores: Sequence[int] | NDArray[np.int64], rate: int | Fraction) -> tuple[Fraction, ...]:
    pace = positive(rate, "rate")
    listed: list[int] = scores.tolist() if isinstance(scores, np.ndarray) else list(scores)
    if not all(type(score) is int for score in listed):
        raise PublicParameterError("scores must be ints; a float is refused")
    return tuple(pace * score for score in listed)


def _behind(scores: Sequence[int] | NDArray[np.int64]) -> NDArray[np.uint64]:
    if len(scores) == 0:
        raise PublicParameterError("there must be at least one candidate")
    if isinstance(scores, np.ndarray):
        if scores.dtype.kind != "i" or scores.ndim != 1:
            raise PublicParameterError("scores must be a flat array of signed integers")
        wide = scores.astype(np.int64, copy=False)
        behind: NDArray[np.uint64] = (wide - wide.min()).view(np.uint64)
        return behind
    if not all(type(score) is int for score in scores):
        raise PublicParameterError("scores must be ints; a float is refused")
    least = min(scores)
    far = max(scores) - least
    if far >= 1 << 64:
        raise PublicParameterError("scores must lie within 2**64 of each other")
    return np.array([score - least for score in scores], np.uint64)
