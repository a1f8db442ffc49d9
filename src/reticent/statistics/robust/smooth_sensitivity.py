"""Median and trimmed mean with noise in proportion to a smooth sensitivity: they always reply, inside public bounds.

For public ranks first <= last and k >= 0, let

    A_k = rows x max(u_k'(first, last + 1), u_k'(first - 1, last)),   u_k(L, U) = max_i x_(U + k - i) - x_(L - i),

k' = rows (k + 1) - 1: the most that one more neighbour moves x_(first) + ... + x_(last) after k of them. It is at most
A_(k+1) of any neighbour, so S = max_k w_k A_k with weights w_0 = 1 and w_k <= e^b w_(k+1) is smooth of rate b and never
below the local sensitivity. Beyond ``window`` ranks A_k counts as the whole range, which is as smooth: S takes two
windows of public ranks. Values outside [low, high] count as its ends, and so do ranks without a row.

The noise is ``mechanisms.smooth_noise``: pure epsilon, either adjacency. Its scale is private, so an answer says
nothing of its own accuracy: of the answers of this package that is the exception, and a reason to prefer others.

Source. Nissim, Raskhodnikova and Smith 2007, section 3.1 (median); Bun and Steinke 2019, section 5 (trimmed mean).
Proof: docs/proofs/smooth.md. What does better, with figures: docs/theory/unbounded.md, "Smooth sensitivity".

Deviations. Both sources use real noise and real bounds; here sums, weights, S and noise are whole numbers or rational.
Bun and Steinke's laws give concentrated privacy; polynomial noise gives pure epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from reticent.data.order_statistics import LARGEST, Integers, Needs, Order, around
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.rounding import scaled_exp_bounds
from reticent.mechanisms import gate
from reticent.mechanisms.smooth_noise import PLACES, UNIT, SmoothNoise
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.robust.ptr_test import level, whole
from reticent.statistics.robust.trimmed_ptr import trim_ranks

TAIL: Final = 3  # finite variance
BETA: Final = Fraction(1, 4)
WIDEST: Final = 1 << 12  # ranks on either side; the work is its square
HALF: Final = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class SmoothMean:
    """The mean of the order statistics ``first`` to ``last`` plus polynomial noise, within [low, high]. Always a reply.

    Attributes
    ----------
    first, last : int
        Public ranks, from below, >= 1; equal for a single order statistic.
    low, high : int
        Public bounds in grid steps, low < high.
    noise : SmoothNoise
        Of the sum, within (last - first + 1) times the bounds.
    window : int
        Ranks on either side that are looked at, >= 0: accuracy and work, not privacy.

    Guarantee
    ---------
    epsilon of the noise, pure, for its neighbours: substitution, or add/remove with ranks from a public n.

    Accuracy
    --------
    P(|noise| > x) = (1 + x s / S)^-tail with S the private smooth bound of this table over its number of ranks.
    """

    first: int
    last: int
    low: int
    high: int
    noise: SmoothNoise
    window: int

    def __post_init__(self) -> None:
        if whole(self.last, "last", 1) < whole(self.first, "first", 1):
            raise PublicParameterError("first must be at most last")
        if whole(self.window, "window", 0) > WIDEST:
            raise PublicParameterError(f"window must be at most {WIDEST}, got {self.window}")
        if not -LARGEST < self.low < self.high < LARGEST:
            raise PublicParameterError("low must be below high, both within 2^61 of zero")
        if (self.noise.low, self.noise.high) != (self.size * self.low, self.size * self.high):
            raise PublicParameterError("the noise is made for the sum: its ends are the bounds times the ranks")

    @property
    def size(self) -> int:
        """Number of values in the sum."""
        return self.last - self.first + 1

    @property
    def guarantee(self) -> Guarantee:
        return in_sequence([self.noise.guarantee], label="median" if self.size == 1 else "trimmed mean")

    @property
    def needs(self) -> Needs:
        """For a column whose values are already within the bounds."""
        ends = around((self.first, self.last), self.window + 1)
        return Needs(ends, ((self.first, self.last),))

    def sample(self, exact: Order, entropy: Entropy) -> Fraction:
        """The noisy mean, a whole number over the number of ranks."""
        sums = (self.total(exact), self.bound(exact))
        (noisy,) = gate.draw(self.noise, sums, entropy)
        return Fraction(noisy, self.size)

    def total(self, data: Order) -> int:
        """The sum of the ranks, values outside the bounds counted as their ends."""
        under = min(max(data.below(self.low) - self.first + 1, 0), self.size)
        over = min(max(self.last - data.below(self.high + 1), 0), self.size - under)
        first, last = self.first + under, self.last - over
        return under * self.low + over * self.high + (data.total(first, last) if first <= last else 0)

    def bound(self, data: Order) -> int:
        """S in 1 / UNIT of a step, at least 1."""
        weights = self.weights(self.window)
        rows = self.noise.neighbours.rows
        held = [rows * moved for moved in self.moves(data)]
        tail = weights[len(held)] * rows * (self.high - self.low)
        return max(tail, *(weight * moved for weight, moved in zip(weights, held, strict=False)), 1)

    def weights(self, most: int) -> tuple[int, ...]:
        """w_0, ..., w_(most + 1) in 1 / UNIT."""
        return decay(self.noise.rate, most + 2)

    def moves(self, data: Order) -> list[int]:
        """max(u_k'(first, last + 1), u_k'(first - 1, last)) for k = 0, 1, ... as far as the window goes."""
        reach, rows = self.window + 1, self.noise.neighbours.rows
        lows, highs = (np.clip(data.window(r - reach, r + reach), self.low, self.high) for r in (self.first, self.last))
        below, above = lows[: reach + 1][::-1], highs[reach:]  # x_(first - i), x_(last + i) for i = 0 .. reach
        return [_widest(below, above, k) for k in range(rows - 1, self.window + 1, rows)]


def _widest(below: Integers, above: Integers, k: int) -> int:
    """max over i of x_(last + 1 + k - i) - x_(first - i) and x_(last + k - i) - x_(first - 1 - i), i = 0 .. k.

    Both are x_(last + k + 1 - i) - x_(first - i) for i = 0 .. k + 1.
    """
    return int((above[k + 1 :: -1] - below[: k + 2]).max())


@lru_cache(maxsize=64)
def decay(rate: Fraction, count: int) -> tuple[int, ...]:
    """UNIT = w_0 >= w_1 >= ... with w_(k+1) the least whole number at or above a bound of e^-rate w_k."""
    _, ratio = scaled_exp_bounds(rate, PLACES)
    found = [UNIT]
    while len(found) < count:
        found.append(-((-found[-1] * ratio) >> PLACES))
    return tuple(found)


def smooth_median(
    n: int,
    neighbours: Adjacency,
    *,
    epsilon: Fraction,
    low: int,
    high: int,
    quantile: Fraction = HALF,
    tail: int = TAIL,
    beta: Fraction = BETA,
) -> SmoothMean:
    """The order statistic of rank ceil(n quantile) by smooth sensitivity.

    Parameters
    ----------
    n : int
        Public under substitution; else a declared or noisy number, charged where it was bought.
    neighbours : Adjacency
        Relation between neighbours.
    epsilon : Fraction
        Loss, > 0.
    low, high : int
        Public bounds in grid steps.
    quantile : Fraction
        Its level, strictly between 0 and 1; the median by default.
    tail, beta
        Shape of the noise and share of epsilon for the change of scale: see ``mechanisms.smooth_noise``.

    Returns
    -------
    SmoothMean
        Mechanism with its guarantee.

    Raises
    ------
    PublicParameterError
        Before rows are read: out of range.

    Source
    ------
    Nissim, Raskhodnikova and Smith 2007, section 3.1.
    """
    rank = math.ceil(whole(n, "n", 1) * level(quantile, "the level"))
    return smooth_mean(rank, rank, neighbours, epsilon=epsilon, low=low, high=high, tail=tail, beta=beta)


def smooth_trimmed_mean(
    n: int,
    neighbours: Adjacency,
    *,
    alpha: Fraction,
    epsilon: Fraction,
    low: int,
    high: int,
    tail: int = TAIL,
    beta: Fraction = BETA,
) -> SmoothMean:
    """The mean without floor(n alpha / 2) values on either side by smooth sensitivity.

    ``alpha`` is the share left out in all, strictly between 0 and 1; the other parameters are those of
    ``smooth_median``.

    Parameters
    ----------
    n : int
        Public under substitution; else a declared or noisy number, charged where it was bought.
    neighbours : Adjacency
        Relation between neighbours.
    alpha : Fraction
        Share left out in all, strictly between 0 and 1.
    epsilon : Fraction
        Loss, > 0.
    low, high : int
        Public bounds in grid steps.
    tail, beta : int
        Shape of the noise and share of epsilon for the change of scale: see ``mechanisms.smooth_noise``.

    Returns
    -------
    SmoothMean
        Mechanism with its guarantee.

    Source
    ------
    Bun and Steinke 2019, section 5; the ranks are those of ``trimmed.trimmed_mean``.
    """
    first, last = trim_ranks(whole(n, "n", 1), alpha)
    return smooth_mean(first, last, neighbours, epsilon=epsilon, low=low, high=high, tail=tail, beta=beta)


def smooth_mean(
    first: int,
    last: int,
    neighbours: Adjacency,
    *,
    epsilon: Fraction,
    low: int,
    high: int,
    tail: int = TAIL,
    beta: Fraction = BETA,
) -> SmoothMean:
    """The mean of public ranks; the window ends where the range, decayed, is below one step, or at 4,096 ranks.

    Parameters
    ----------
    first, last : int
        Public ranks, from 1.
    neighbours : Adjacency
        Relation between neighbours.
    epsilon : Fraction
        Loss, > 0.
    low, high : int
        Public bounds in grid steps.
    tail, beta : int
        Shape of the noise and share of epsilon for the change of scale: see ``mechanisms.smooth_noise``.

    Returns
    -------
    SmoothMean
        Mechanism with its guarantee.
    """
    size = whole(last, "last", 1) - whole(first, "first", 1) + 1
    noise = SmoothNoise(neighbours, epsilon, beta, tail, size * low, size * high)
    far = math.ceil(math.log(max(high - low, 2)) / float(noise.rate))
    window = min(neighbours.rows * max(far, 1), WIDEST)
    return SmoothMean(first, last, low, high, noise, window)
