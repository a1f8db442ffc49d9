"""The distance of two quantiles by a joint mechanism, with its interval; or no reply.

The level between the two is drawn first and cuts the table; both quantiles, and then the ends of both, are drawn on
the two sides at one price. The cut's own rank error moves both quantiles the same way and mostly leaves their
distance, so little is spent on it. Two quartiles on their own would share epsilon, and each rank of a quartile costs
a third less than one of a median.

Source: Kaplan, Schnapp and Stemmer 2022 for the recursion; the use for a distance is ours.
Proof: docs/proofs/unbounded.md, section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.data.cells import Cells
from reticent.data.table import Counts
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.intervals import NONE, half_width, known, normal_half_width
from reticent.statistics.unbounded.census import Terms
from reticent.statistics.unbounded.joint import Drawn, JointQuantiles, Shares

QUARTILES: Final = (Fraction(1, 4), Fraction(3, 4))
WITH_ENDS: Final = Shares(Fraction(3, 20), Fraction(11, 20), Fraction(3, 10))
ALONE: Final = Shares(Fraction(1, 4), Fraction(3, 4), Fraction(0))


@dataclass(frozen=True, slots=True)
class Spread:
    """The distance between the quantiles at ``low`` < ``high`` of one column."""

    joint: JointQuantiles

    def __post_init__(self) -> None:
        if len(self.joint.levels) != 3 or self.joint.levels[1] in self.joint.wanted:
            raise PublicParameterError("a spread is between two levels and has a third between them")

    @property
    def guarantee(self) -> Guarantee:
        return self.joint.guarantee

    def draw(self, data: Counts, entropy: Entropy) -> Outcome[Estimate]:
        """The estimate, or no reply where the data cannot outweigh the prior."""
        match self.joint.draw(data, entropy):
            case Reply(drawn):
                return Reply(self._estimate(drawn))
            case NoReply():
                return NO_REPLY

    def _estimate(self, drawn: Drawn) -> Estimate:
        joint = self.joint
        low, _, high = joint.levels
        first, _, third = joint.values_of(drawn)
        value = max(third - first, 0.0)
        if not joint.wanted:
            far = joint.interval(high, drawn)[1] - joint.interval(low, drawn)[0]
            return Estimate(value, 0.0, far, far, 0.0)
        (a, b), (c, d) = joint.interval(low, drawn), joint.interval(high, drawn)
        slopes = [(upper - lower) / (2.0 * drawn.shift[q]) for q, lower, upper in ((low, a, b), (high, c, d))]
        noise = half_width(NONE, [slope * joint.own[q] for q, slope in zip((low, high), slopes, strict=True)])
        n = joint.terms.together * max(drawn.size.values, 1.0)
        one, two = (math.sqrt(n * float(q * (1 - q))) * s for q, s in zip((low, high), slopes, strict=True))
        alike = float(low * (1 - high)) / math.sqrt(float(low * (1 - low) * high * (1 - high)))
        variance = one**2 + two**2 - 2.0 * alike * one * two
        # The ends are placed for slopes that are nearly equal. A quantile where values are much sparser has nearly all
        # of the error and half of the allowance: what the two slopes that were seen need beyond it is added.
        scales = [slope * error for q, slope in zip((low, high), slopes, strict=True) for error in self._errors(q)]
        placed = sum(slope * drawn.shift[q] for q, slope in zip((low, high), slopes, strict=True))
        more = max(half_width(known(variance), scales) - placed, 0.0)
        return Estimate(value, max(c - b - more, 0.0), max(d - a, 0.0) + more, noise, normal_half_width(variance))

    def _errors(self, q: Fraction) -> tuple[float, float]:
        """Scales of the rank errors of a quantile and of its end."""
        return self.joint.own[q], self.joint.end_error


def iqr(cells: Cells, terms: Terms, epsilon: Fraction, *, interval: bool = True) -> Spread:
    """The distance of the quartiles."""
    return between(cells, *QUARTILES, terms, epsilon, interval=interval)


def between(
    cells: Cells, low: Fraction, high: Fraction, terms: Terms, epsilon: Fraction, *, interval: bool = True
) -> Spread:
    """The distance between the quantiles at two levels."""
    levels = (low, (low + high) / 2, high)
    shares = WITH_ENDS if interval else ALONE
    return Spread(JointQuantiles(cells, levels, terms, epsilon, shares, (low, high) if interval else (), pairs=True))
