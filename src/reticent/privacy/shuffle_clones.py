"""Hiding among the clones, in integers: the exact delta of shuffled answers, rounded up.

Everybody else's answer is, with some chance, drawn from a law common to both truths of one person: a clone, which might
as well be that person's. The two laws to compare are then two pairs of counts (``Clones``). Their hockey-stick distance
is a sum over the number of clones: one binomial probability and one binomial tail each.

Certainty. Masses are integers over 2^bits. Each is kept between a lower and an upper bound through every step, and the
mass cut off at the ends is added whole. Nothing depends on floats: they only say where the search for epsilon begins,
and its answer, the least decimal of 4 digits that passes, is the same wherever it begins.

Source: Feldman, McMillan and Talwar 2021, Theorem 3.2. Proof, and the closed form of the sum for one number of
clones: docs/proofs/amplification.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from reticent.exact.rounding import exp_down, exp_up

SPARE: Final = 40  # binary places below delta that a cut tail may keep
FINE: Final = 96  # binary places of e^eps0 and e^eps


@dataclass(frozen=True, slots=True)
class _Law:
    """Bounds, in units of 2^-bits, of the probabilities of ``first``, ``first`` + 1, ...; ``rest`` of all others."""

    first: int
    low: list[int]
    high: list[int]
    rest: int


@dataclass(frozen=True, slots=True)
class Clones:
    """(A + D, C - A + 1 - D) against (A + 1 - D, C - A + D) for ``people`` answers.

    C ~ Bin(people - 1, ``chance``) clones, A ~ Bin(C, 1/2), D ~ Bern(ratio / (ratio + 1)); ``ratio`` >= e^eps0.
    """

    ratio: Fraction
    bits: int
    crowd: _Law
    first: _Law  # Bin(k, 1/2) for the least k = C + 1 that is counted

    def delta(self, grown: Fraction) -> Fraction:
        """At or above the delta at epsilon = ln ``grown``, ``grown`` >= 1.

        With k = C + 1 messages that could be one's own, the first count is a with likelihood ratio above ``grown``
        exactly for a >= j = floor(k t) + 1, and the excess there is
        (r - 1)/(r + 1) (1 + g) j/k b_k(j) - (g - 1) P(Bin(k, 1/2) >= j), b_k(j) = P(Bin(k, 1/2) = j).
        """
        if grown >= self.ratio:
            return Fraction(0)
        edge = (grown * self.ratio - 1) / ((self.ratio - 1) * (1 + grown))
        over, under = edge.numerator, edge.denominator
        gain = _ceil((self.ratio - 1) / (self.ratio + 1) * (1 + grown), self.bits)
        loss = _ceil(grown - 1, self.bits) - 1
        k = self.crowd.first + 1
        j = k * over // under + 1
        at = j - self.first.first
        inside = 0 <= at < len(self.first.low)
        low = self.first.low[at] if inside else 0
        high = self.first.high[at] if inside else self.first.rest
        tail = sum(self.first.low[max(at, 0) :])
        total = 0
        for mass in self.crowd.high:
            excess = -(-gain * j * high // k) - loss * tail
            if excess > 0:
                total += mass * excess
            tail += low * j // (2 * (k - j + 1))  # P(Bin(k + 1) >= j) = P(Bin(k) >= j) + b_k(j - 1) / 2
            k += 1
            low = low * k // (2 * (k - j))
            high = -(-high * k // (2 * (k - j)))
            if k * over // under + 1 > j:
                tail = max(0, tail - high)
                low = low * (k - j) // (j + 1)
                high = -(-high * (k - j) // (j + 1))
                j += 1
        return min(Fraction(1), Fraction(-(-total >> 2 * self.bits) + self.crowd.rest, 1 << self.bits))


def clones(ratio: Fraction, people: int, chance: Fraction, *, aim: Fraction) -> Clones:
    """The pair for ``people`` >= 2 answers, precise enough for a delta of about ``aim``.

    Parameters
    ----------
    ratio : Fraction
        At or above e^eps0, > 1.
    people : int
        Number of answers, >= 2.
    chance : Fraction
        Of every other person to be a clone, in (0, 1): at most e^-eps0, or 2 / (e^eps0 + 1) for a truth of two values.
    aim : Fraction
        The delta that the precision is chosen for, in (0, 1).

    Returns
    -------
    Clones
        The pair, with masses rounded up.
    """
    places = (1 / aim).__ceil__().bit_length()
    bits = places + 3 * SPARE
    crowd = _binomial(people - 1, chance / (1 - chance), places + SPARE, bits)
    return Clones(ratio, bits, crowd, _binomial(crowd.first + 1, Fraction(1), bits, bits))


def ratio_of(local: Fraction) -> Fraction:
    """At or above e^eps0, a short binary fraction."""
    return Fraction(_ceil(exp_up(local), FINE), 1 << FINE)


@lru_cache(maxsize=64)
def least_epsilon(local: Fraction, people: int, delta: Fraction, chance: Fraction) -> Fraction:
    """The least epsilon of 4 digits at which the clones' delta is at most ``delta``; ``local`` if that is less.

    The bound falls with epsilon, so the answer is one number, wherever the search begins.

    Parameters
    ----------
    local : Fraction
        Epsilon of one answer.
    people : int
        Number of respondents.
    delta : Fraction
        In (0, 1).
    chance : Fraction
        Probability that an answer is a clone.

    Returns
    -------
    Fraction
        Rounded up to 4 digits.
    """
    ratio = ratio_of(local)
    pair = clones(ratio, people, chance, aim=delta)
    if pair.delta(Fraction(1)) <= delta:
        return Fraction(0)

    def fits(index: int) -> bool:
        grown = Fraction((exp_down(_decimal(index)) * (1 << FINE)).__floor__(), 1 << FINE)
        return pair.delta(grown) <= delta

    top = _index(float(local)) + 2  # above ``local``, where delta is 0
    middle = min(top, _index(_guess(float(ratio), (people - 1) * float(chance) + 1, float(local), float(delta))))
    low, high, width = middle, middle, 2
    if fits(middle):
        while fits(low):
            low, high, width = low - width, low, 2 * width
    else:
        while high < top and not fits(high):
            low, high, width = high, min(top, high + width), 2 * width
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return min(local, _decimal(high))


def _guess(ratio: float, size: float, local: float, delta: float) -> float:
    """Start of the search for epsilon: the delta of a normal law for the expected number of clones."""
    low, high = math.log(local) - 40, math.log(local)
    for _ in range(60):
        grown = math.exp(math.exp((low + high) / 2))
        edge = (grown * ratio - 1) / ((ratio - 1) * (1 + grown))
        far = (2 * edge - 1) * math.sqrt(size)
        density = math.sqrt(2 / (math.pi * size)) * math.exp(-far * far / 2)
        excess = (ratio - 1) / (ratio + 1) * (1 + grown) * edge * density - (grown - 1) * math.erfc(far / 2**0.5) / 2
        low, high = ((low + high) / 2, high) if excess > delta else (low, (low + high) / 2)
    return math.exp(high)


def _decimal(index: int) -> Fraction:
    """The decimals of 4 digits in order: 9,000 to a power of ten."""
    power, digits = divmod(index, 9000)
    return (1000 + digits) * Fraction(10) ** power


def _index(number: float) -> int:
    power = math.floor(math.log10(number)) - 3
    return 9000 * power + max(0, min(8999, int(number / 10.0**power) - 1000))


def _binomial(trials: int, odds: Fraction, cut: int, bits: int) -> _Law:
    """The law of successes in ``trials`` >= 0 with p / (1 - p) = ``odds``.

    Relative weights from the mode outwards by the ratio of neighbours, kept between bounds. They are divided by the
    least and the largest value that their sum can have. Beyond a weight of 2^-``cut`` of the largest everything goes to
    the rest.
    """
    over, under = odds.numerator, odds.denominator
    top = min(trials, (trials + 1) * over // (over + under))

    def above(step: int) -> tuple[int, int]:
        return (trials - top - step) * over, (top + step + 1) * under

    def below(step: int) -> tuple[int, int]:
        return (top - step) * under, (trials - top + step + 1) * over

    up_low, up_high, up_rest = _outwards(above, trials - top, cut, bits)
    down_low, down_high, down_rest = _outwards(below, top, cut, bits)
    low, high = down_low[:0:-1] + up_low, down_high[:0:-1] + up_high
    rest = up_rest + down_rest
    least, most = sum(low), sum(high) + rest
    return _Law(
        top - len(down_low) + 1,
        [(weight << bits) // most for weight in low],
        [-((-weight << bits) // least) for weight in high],
        -((-rest << bits) // least),
    )


def _outwards(
    ratio: Callable[[int], tuple[int, int]], steps: int, cut: int, bits: int
) -> tuple[list[int], list[int], int]:
    """Weights from 2^bits on, each ``ratio`` times the one before, and a bound of what is cut off.

    The ratios fall, so what is cut off is at most a geometric series.
    """
    low, high = [1 << bits], [1 << bits]
    for step in range(steps):
        over, under = ratio(step)
        low.append(low[-1] * over // under)
        high.append(-(-high[-1] * over // under))
        if high[-1] >> (bits - cut) == 0:
            over, under = ratio(step + 1)
            return low, high, -(-high[-1] * over // (under - over))
    return low, high, 0


def _ceil(number: Fraction, bits: int) -> int:
    return -((-number.numerator << bits) // number.denominator)
