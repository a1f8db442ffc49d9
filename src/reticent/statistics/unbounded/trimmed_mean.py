"""Trimmed mean without bounds by inverse sensitivity: how many values must change for the mean to be t.

Let x_(1) <= ... <= x_(n), g values trimmed at either end, N = n - 2 g, and

    h_k = (x_(g + 1 + k) + ... + x_(n - g + k)) / N,    k = -g .. g,   the mean with the window moved by k ranks.

Moving k values to one end moves the trimmed mean to h_k or h_-k at most. So t needs the least k with h_-k <= t <= h_k
replaced values, or more than g, and this number moves by at most 1 when a value is replaced. It is the score of an
exponential mechanism over an even grid placed by a released median and radius. The noise follows the local sensitivity
by itself, where a smooth sensitivity must first be bounded and then hidden: no delta, no bounds, and the draw is exact
because the score is a whole number. With g = (n - 1) / 2 it is the median.

Ends of the interval are drawn by the score |kappa(t) - D|, kappa(t) the least k with h_k >= t, sensitivity 1 likewise.

Source: Asi and Duchi 2020. What noise scaled to a smooth sensitivity does instead is measured in
docs/theory/unbounded.md; it needs bounds and tells no accuracy.
Proof: docs/proofs/unbounded.md, section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import Cells
from reticent.data.query_result import Counts
from reticent.data.value_scans import CentredRange
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import L1, Linf
from reticent.statistics.intervals import NONE, half_width, known, normal_half_width
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.unbounded.clipping_radii import LADDER, Choice, climbed, scans_of
from reticent.statistics.unbounded.column_counts import ColumnTerms

MOST_OUTSIDE: Final = 0.75  # a radius nearer to the centre than that has no say
STEPS: Final = 1 << 12  # candidates on either side of the middle
REACH: Final = 3.0  # they reach so many times the distance of the trimming points to either side
CANDIDATES: Final = np.arange(-STEPS, STEPS + 1, dtype=np.int64)
FAR: Final = 1 << 32  # values further out than so many steps count as that far
SQUARE: Final = 1 << 10
GUESS: Final = Fraction(3, 25)  # of epsilon: the median that places the grid
SCALE: Final = Fraction(2, 25)  # the radius that leaves the trimmed values outside
SQUARES: Final = Fraction(1, 20)
VALUE: Final = Fraction(2, 5)  # the rest goes to the two ends


@dataclass(frozen=True)
class UnboundedTrimmedMean:
    """The mean without a share ``trim`` of values at either end, for ``epsilon``; n must be public."""

    cells: Cells
    terms: ColumnTerms
    epsilon: Fraction
    trim: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if not Fraction(1, 1000) <= self.trim < Fraction(1, 2):
            raise PublicParameterError("trim is a share of the values at either end, at least 1/1000 and below 1/2")
        if self.terms.values is None:
            raise PublicParameterError(
                "a trimmed mean needs the number of values: declare substitution and one row each, or ask for Huber's"
            )

    @property
    def trimmed(self) -> int:
        """g, at most so many that one value is left."""
        return self._trimmed_of(self.terms.values or 0)

    def _trimmed_of(self, n: int) -> int:
        return max(min((self.trim * n).__floor__(), (n - 1) // 2), 0)

    @cached_property
    def guess(self) -> Choice:
        return Choice(self.terms, self.epsilon * GUESS)

    @cached_property
    def scale(self) -> Choice:
        return Choice(self.terms, self.epsilon * SCALE)

    def _choice(self, share: Fraction) -> Exponential:
        near = self.terms.neighbours
        return Exponential(Linf(Fraction(1), near), self.epsilon * share)

    @cached_property
    def value(self) -> Exponential:
        return self._choice(VALUE)

    @cached_property
    def end(self) -> Exponential:
        return self._choice((1 - GUESS - SCALE - SQUARES - VALUE) / 2)

    @cached_property
    def squares(self) -> Geometric:
        return Geometric(L1(Fraction(SQUARE), self.terms.neighbours), self.epsilon * SQUARES)

    @property
    def guarantee(self) -> Guarantee:
        place = [choice.mechanism.guarantee for choice in (self.guess, self.scale)]
        ends = [self.end.guarantee] * 2
        return compose.in_sequence([*place, self.squares.guarantee, self.value.guarantee, *ends], label="trimmed mean")

    def draw(self, data: Counts, entropy: Entropy) -> Outcome[Estimate]:
        """The estimate, or no reply where the data cannot outweigh the prior or hold a radius."""
        n = float(self.terms.values or 0)
        size = GroupSize(n, False, n)
        outside = self.outside
        if self.trimmed < 1 or outside > MOST_OUTSIDE or not self.guess.outweighs(self.cells, size):
            return NO_REPLY
        middle = self.guess.centre(self.cells, data, entropy)
        scans = scans_of(self.cells, data)
        radius = float(LADDER[self.scale.rung(climbed(scans, middle), outside, entropy)])
        step = REACH * 2.0 * radius / STEPS
        values = np.repeat(*scans.steps(CentredRange(middle, 0.0, step, float(FAR)), 1))
        u = np.rint(np.clip(values * (step / radius), -1.0, 1.0) * SQUARE).astype(np.int64)
        (spread,) = gate.draw(self.squares, (int((u * u // SQUARE).sum()),), entropy)
        if 2 * self.trim > MOST_OUTSIDE:
            spread = max(spread, int(n) * SQUARE)  # the radius reaches beyond the trimmed values: the most there can be
        at_either = self._trimmed_of(len(values))  # as many as of the public n; made-up tables of an audit are small
        moved, inside = windows(values, at_either), len(values) - 2 * at_either
        ranks = kappa(moved, inside)
        place = self._pick(distance(moved, inside), ranks, 0, self.value, entropy, outer=2 * STEPS)
        if place in (0, 2 * STEPS):
            return NO_REPLY  # the guess or the radius was the prior's: the mean lies beyond the grid
        shift = self._shift(spread)
        ends = [self._pick(np.abs(ranks - d), ranks, d, self.end, entropy) for d in (-shift, shift)]
        return Reply(self._estimate(middle, step, place, ends, spread, self._deviation(spread, radius)))

    @property
    def outside(self) -> float:
        """The share of values that the radius is to leave outside: the trimmed ones, or most of the values."""
        return max(
            min(2.0 * float(self.trim), MOST_OUTSIDE), self.scale.slack / max(float(self.terms.values or 0), 1.0)
        )

    def _pick(
        self,
        scores: NDArray[np.int64],
        ranks: NDArray[np.int64],
        aim: int,
        mechanism: Exponential,
        entropy: Entropy,
        *,
        outer: int = 1,
    ) -> int:
        """A candidate; each outermost one has the best score of all beyond it, and the weight ``outer``."""
        scores, weights = scores.copy(), np.ones(len(scores), dtype=np.int64)
        scores[0], scores[-1] = scores[0] if ranks[0] <= aim else 0, max(int(ranks[-1]) - aim, 0)
        weights[[0, -1]] = outer
        return gate.choose(mechanism, Candidates(scores, weights), np.arange(len(scores) + 1), entropy)

    def _variance(self, spread: int) -> float:
        """Sampling variance of the trimmed mean, in squared ranks: the winsorised variance over the window's width.

        The window is taken to be twice the radius. The squares are about the guess and not between the trimming points.
        On skewed values this underestimates the deviation by a fifth. So the variance of a uniform law between the
        trimming points is a lower bound. A narrower window is told by ``_deviation``.
        """
        trim, n = float(self.trim), float(self.terms.values or 0)
        even = n * ((1.0 - 2.0 * trim) / 12.0 + trim / 2.0)
        return max(0.25 * (spread + 3.0 * float(self.squares.scale)) / SQUARE, even, 1.0)

    def _deviation(self, spread: int, radius: float) -> float:
        """Sampling deviation of the trimmed mean, from the squares about the guess, in the unit of the values.

        It needs no width of the window. That of few different values is the radius where the guess is their least.
        0 where the radius reaches beyond the trimmed values: ranks then have the greatest variance there can be.
        """
        trim, n = float(self.trim), float(self.terms.values or 0)
        if 2.0 * trim > MOST_OUTSIDE:
            return 0.0
        squares = max(spread + 3.0 * float(self.squares.scale), 0.0) / SQUARE
        return radius * math.sqrt(squares) / max((1.0 - 2.0 * trim) * n, 1.0)

    def _shift(self, spread: int) -> int:
        return math.ceil(half_width(known(self._variance(spread)), [1.0 / float(self.end.rate)]))

    def _estimate(
        self, middle: float, step: float, place: int, ends: list[int], spread: int, deviation: float
    ) -> Estimate:
        base, value = self.cells, middle + (place - STEPS) * step
        low, high = min(place, *ends), max(place, *ends)
        least, most = (middle + (at - STEPS + side) * step for at, side in ((low, -0.5), (high, 0.5)))
        if low == 0:
            least = float(base.edges(base.lowest)[0])
        if high == 2 * STEPS:
            most = float(base.edges(base.highest)[1])
        slope = (most - least) / (2.0 * max(self._shift(spread), 1))
        noise = half_width(NONE, [1.0 / float(self.value.rate)]) * slope
        variance = (deviation / slope) ** 2  # in squared ranks, by the width that the ends tell
        half = half_width(known(variance), [1.0 / float(self.value.rate)]) * slope
        sampling = normal_half_width(max(self._variance(spread), variance)) * slope
        return Estimate(value, min(least, value - half), max(most, value + half), noise, sampling)


def windows(values: NDArray[np.int64], trimmed: int) -> NDArray[np.int64]:
    """N h_k for k = -g .. g, whole numbers that rise with k. Values rise, and g is at least 1."""
    inside = len(values) - 2 * trimmed
    total = np.concatenate([[0], np.cumsum(values)])
    return np.asarray(total[inside:] - total[: 2 * trimmed + 1], dtype=np.int64)


def kappa(sums: NDArray[np.int64], inside: int) -> NDArray[np.int64]:
    """At every candidate t: the least k with h_k >= t, g + 1 where there is none."""
    trimmed = len(sums) // 2
    return np.asarray(np.searchsorted(sums, inside * CANDIDATES, side="left") - trimmed, dtype=np.int64)


def distance(sums: NDArray[np.int64], inside: int) -> NDArray[np.int64]:
    """At every candidate t: the least k >= 0 with h_-k <= t <= h_k, g + 1 where there is none."""
    trimmed = len(sums) // 2
    down = trimmed + 1 - np.searchsorted(sums, inside * CANDIDATES, side="right")
    return np.asarray(np.maximum(np.maximum(kappa(sums, inside), down), 0), dtype=np.int64)
