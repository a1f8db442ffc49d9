"""CoinPress: a mean in zero-concentrated privacy from a rough public centre, radius and standard deviation.

Each round clips the values to a ball that contains them with high probability. It takes a noisy mean with discrete
Gaussian noise and shrinks the ball to a confidence region of the mean. It needs a public centre, a radius around it
that contains the mean, and a bound on the standard deviation. A rough radius costs only its logarithm. The population
mean is estimated if they hold and tails are no heavier than those of a normal law with that deviation. Whatever the
law, the interval is for the mean of values cut to the last ball, which the answer names.

A value counts as a whole number of steps of its round's ball, so the noise is exact. Under add/remove the number of
values is a second coordinate of the same draw.

Source: Biswas, Dong, Kamath and Ullman 2020, Algorithms 1 and 2 (one dimension). Deviations: discrete Gaussian noise
and both adjacencies. The last round also releases the second moment, so that the interval follows the data and not the
bound on the standard deviation. Proof: docs/proofs/unbounded.md, section 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from reticent.data.candidates import Cells
from reticent.data.order_statistics import RankWindows
from reticent.data.query_result import Counts
from reticent.data.value_scans import CentredRange, ValueScans
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.gaussian import Gaussian
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import exact, positive
from reticent.privacy.sensitivity import L2
from reticent.statistics.intervals import FEWEST, normal_half_width
from reticent.statistics.unbounded.clipping_radii import scans_of
from reticent.statistics.unbounded.column_counts import ColumnTerms

UNIT: Final = 1 << 12  # a value at the edge of the ball is so many steps
LAST: Final = Fraction(3, 4)  # of rho, for the last round
BETA: Final = 0.01  # a round's ball leaves out a value, or the mean, with at most this probability each


@dataclass(frozen=True, slots=True)
class CoinPressEstimate:
    """A mean, and the last ball, to which values were cut."""

    estimate: Estimate
    low: float
    high: float


@dataclass(frozen=True)
class CoinPressMean:
    """The mean of one column for ``rho``: within ``radius`` of ``centre``, standard deviation at most ``deviation``."""

    cells: Cells
    terms: ColumnTerms
    rho: Fraction
    centre: Fraction
    radius: Fraction
    deviation: Fraction
    rounds: int = 4

    def __post_init__(self) -> None:
        positive(self.rho, "rho")
        exact(self.centre, "centre")
        positive(self.radius, "radius")
        positive(self.deviation, "deviation")
        if not 1 <= self.rounds <= 20:
            raise PublicParameterError(f"rounds must be between 1 and 20, got {self.rounds}")

    @cached_property
    def steps(self) -> tuple[Gaussian, ...]:
        """The mechanism of each round. A value moves (1, y, y^2) by at most 1, 1 and 1; not drawn where public."""
        shares = [(1 - LAST) / (self.rounds - 1)] * (self.rounds - 1) + [LAST] if self.rounds > 1 else [Fraction(1)]
        return tuple(
            Gaussian(L2(self._squared(last=place == self.rounds - 1), self.terms.neighbours), self.rho * share)
            for place, share in enumerate(shares)
        )

    def _squared(self, *, last: bool) -> Fraction:
        """Squared distance of neighbours: (count, sum) and, in the last round, the sum of squares, in UNITs.

        Replaced: y moves by 2 at most, y^2 by 1, and not both by most: (y - y')^2 (1 + (y + y')^2) <= 4 for y, y' in
        [-1, 1], where the count stays. Added or removed: 1 + y^2 + y^4 <= 3. Rounding a square to whole steps adds at
        most one step to its move. A person's rows move the vector by that many such steps.
        """
        unit = Fraction(UNIT)
        if self.terms.values is not None:
            return 4 * unit**2 if not last else 4 * unit**2 + 2 * unit + 1
        one = (3 if last else 2) * unit**2
        return one * self.terms.steps**2

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([step.guarantee for step in self.steps], label="CoinPress")

    @property
    def windows(self) -> RankWindows:
        """No ranks: all is asked of the values where they are."""
        return RankWindows((), 0, 0.0, 0, scanned=True)

    def draw(self, data: Counts, entropy: Entropy) -> Outcome[CoinPressEstimate]:
        """The estimate; no reply where the noisy number of values is too small to divide by."""
        scans = scans_of(self.cells, data)
        centre, radius, deviation = float(self.centre), float(self.radius), float(self.deviation)
        n, low, high = float(self.terms.values or 0), centre - radius, centre + radius
        for place, step in enumerate(self.steps):
            last = place == self.rounds - 1
            likely = max(n, 2.0) if n else 1e6
            ball = radius + deviation * math.sqrt(2.0 * math.log(2.0 * likely / BETA))
            drawn = gate.draw(step, self._sums(scans, centre, ball, last=last), entropy)
            n = float(self.terms.values) if self.terms.values is not None else drawn[0] / UNIT
            noise = math.sqrt(float(step.variance)) / UNIT * ball
            if n < FEWEST or (self.terms.values is None and n < 6.0 * noise / ball):
                return NO_REPLY
            mean = drawn[-1 - last] / UNIT / n
            low, high = centre - ball, centre + ball
            centre += ball * mean
            spread = math.hypot(deviation / math.sqrt(n), noise / n * math.sqrt(1.0 + mean**2))
            radius = spread * math.sqrt(2.0 * math.log(2.0 / BETA))
        square = ball**2 * max(drawn[-1] / UNIT / n - mean**2, 0.0)
        square += 2.0 * noise * ball / n  # its noise; the declared deviation says nothing of other laws
        sampling = normal_half_width(self.terms.together * square / n)
        private = normal_half_width((noise / n) ** 2 * (1.0 + mean**2))
        half = math.hypot(sampling, private)
        return Reply(CoinPressEstimate(Estimate(centre, centre - half, centre + half, private, sampling), low, high))

    def _sums(self, scans: ValueScans, centre: float, ball: float, *, last: bool) -> tuple[int, ...]:
        """(count, sum, sum of squares) in steps; the count where it is private, the squares in the last round."""
        y, counts = scans.steps(CentredRange(centre, 0.0, ball), UNIT)
        count = () if self.terms.values is not None else (int(counts.sum()) * UNIT,)
        squares = (int((y * y // UNIT * counts).sum()),) if last else ()
        return (*count, int((y * counts).sum()), *squares)
