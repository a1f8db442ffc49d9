"""The distance of two quantiles by a joint mechanism, with its interval; or no reply.

The level between the two is drawn first and splits the table. Each quantile is then drawn on its own side, and both
draws cost what one does; so do the ends. The rank error of the split moves both quantiles the same way and mostly
leaves their distance, so little is spent on it. Two quartiles on their own would share epsilon, and each rank of a
quartile costs a third less than one of a median.

Source: Kaplan, Schnapp and Stemmer 2022 for the recursion; the use for a distance is ours.
Proof: docs/proofs/unbounded.md, section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.data.candidates import Cells
from reticent.data.query_result import Counts
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.intervals import RankErrors, Side, distance
from reticent.statistics.unbounded.column_counts import ColumnTerms
from reticent.statistics.unbounded.joint import JointDraw, JointQuantiles, QuantileShares

QUARTILES: Final = (Fraction(1, 4), Fraction(3, 4))
WITH_ENDS: Final = QuantileShares(Fraction(3, 20), Fraction(11, 20), Fraction(3, 10))
APART: Final = 4.0
ALONE: Final = QuantileShares(Fraction(1, 4), Fraction(3, 4), Fraction(0))


@dataclass(frozen=True, slots=True)
class QuantileRange:
    """The distance between the quantiles at ``low`` < ``high`` of one column."""

    joint: JointQuantiles

    def __post_init__(self) -> None:
        if len(self.joint.levels) != 3 or self.joint.levels[1] in self.joint.wanted:
            raise PublicParameterError("a spread is between two levels and has a third between them")

    @property
    def guarantee(self) -> Guarantee:
        return self.joint.guarantee

    def draw(self, data: Counts, entropy: Entropy) -> Outcome[Estimate]:
        """The estimate, or no reply where the data cannot outweigh the candidates."""
        match self.told(data, entropy):
            case Reply((estimate, _)):
                return Reply(estimate)
            case NoReply():
                return NO_REPLY

    def told(self, data: Counts, entropy: Entropy) -> Outcome[tuple[Estimate, tuple[str, ...]]]:
        """The estimate, and what the released numbers say of it."""
        match self.joint.draw(data, entropy):
            case Reply(drawn):
                return Reply((self._estimate(drawn), self.joint.said(drawn)))
            case NoReply():
                return NO_REPLY

    def _estimate(self, drawn: JointDraw) -> Estimate:
        joint = self.joint
        low, _, high = joint.levels
        first, _, third = joint.values_of(drawn)
        value = max(third - first, 0.0)
        if not joint.wanted:
            far = joint.interval(high, drawn)[1] - joint.interval(low, drawn)[0]
            return Estimate(value, 0.0, far, far, 0.0)
        if not all(drawn.sure):
            return self._of_outer_ends(value, drawn)
        n = joint.terms.together * max(drawn.size.values, 0.0)
        sides = self._side(low, drawn), self._side(high, drawn)
        if drawn.size.tied is not False or math.isinf(sum(side.apart for side in sides)):
            return self._of_ends(value, drawn)
        return distance(value, sides, RankErrors.of_rows(n, low, high))

    def _side(self, q: Fraction, drawn: JointDraw) -> Side:
        joint = self.joint
        (a, b), (least, most) = joint.interval(q, drawn), joint.edges(q, drawn)
        apart = b - a if joint.inside(q, drawn) else math.inf
        return Side(q, apart, drawn.shift[q], joint.own[q], joint.end_error, most - least, joint.passed[q])

    def _of_outer_ends(self, value: float, drawn: JointDraw) -> Estimate:
        """From 0 to the distance of the outer ends: where a value may lie outwards of the data."""
        low, _, high = self.joint.levels
        most = self.joint.within(high, drawn)[1] - self.joint.within(low, drawn)[0]
        one, two = (self.joint.estimate(q, drawn) for q in (low, high))
        part = max(most, value) / 2.0 / max(one.noise + two.noise + one.sampling + two.sampling, 1e-300)
        return Estimate(
            value, 0.0, max(most, value), part * (one.noise + two.noise), part * (one.sampling + two.sampling)
        )

    def _of_ends(self, value: float, drawn: JointDraw) -> Estimate:
        """From the ends of both: where values are tied, or an end was drawn beyond all candidates."""
        joint = self.joint
        low, _, high = joint.levels
        (a, b), (c, d) = joint.within(low, drawn), joint.within(high, drawn)
        one, two = (joint.estimate(q, drawn) for q in (low, high))
        noise, sampling = one.noise + two.noise, one.sampling + two.sampling  # as the intervals are
        least, most = max(c - b, 0.0), max(d - a, 0.0)
        # An end beyond all candidates is cut to 0 in the interval; its parts add up to no more than half of that.
        part = min((most - least) / 2.0 / max(noise + sampling, 1e-300), 1.0)
        return Estimate(value, least, most, part * noise, part * sampling)


def iqr(cells: Cells, terms: ColumnTerms, epsilon: Fraction, *, interval: bool = True) -> QuantileRange:
    """The distance of the quartiles.

    Parameters
    ----------
    cells : Cells
        Candidates, with their weights.
    terms : ColumnTerms
        Neighbours, and the public number of values if there is one.
    epsilon : Fraction
    interval : bool
        False spends everything on the value.

    Returns
    -------
    QuantileRange
    """
    return between(cells, *QUARTILES, terms, epsilon, interval=interval)


def between(
    cells: Cells, low: Fraction, high: Fraction, terms: ColumnTerms, epsilon: Fraction, *, interval: bool = True
) -> QuantileRange:
    """The distance between the quantiles at two levels.

    Parameters
    ----------
    cells : Cells
        Candidates, with their weights.
    low, high : Fraction
        Levels, in (0, 1).
    terms : ColumnTerms
        Neighbours, and the public number of values if there is one.
    epsilon : Fraction
    interval : bool
        False spends everything on the value.

    Returns
    -------
    QuantileRange
    """
    levels = (low, (low + high) / 2, high)
    shares = WITH_ENDS if interval else ALONE
    return QuantileRange(JointQuantiles(cells, levels, terms, epsilon, shares, (low, high) if interval else (), APART))
