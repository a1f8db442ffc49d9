"""The mean of a column without bounds: of its values cut to a released interval [a, b], with an interval for that.

    census    how many values
    centre    a median
    radius    the public radius, of some 370, that leaves a share t of the values outside
    tails     how many values lie beyond the cut, two or three radii from the centre
    moments   of the values cut to [a, b]: count, first and second, by one mechanism

The share t depends on n epsilon: t n is the rank error of the drawn radius. So the cut is as far out as a private
choice can follow the data. Radii are a geometric ladder of few steps. Quantiles on the cells of the public prior would
need four times as many values in the tails. Declared bounds contain [a, b].

**Estimand.** The mean of values cut to [a, b], which is public once released: a bounded mean, with exact sensitivity
and noisy moments. No interval for the mean of all values holds for all laws (Bahadur and Savage 1956): a share of
values too small to be noticed moves it anywhere. So the answer says which share may lie beyond, and speaks of the
population mean only where a tail was declared. Then what that tail can hold beyond the cut is added to both ends,
unless the noisy count beyond refutes the declaration.

Source: Huang, Liang and Yi 2021 and Dong and Yi 2023 for clipping at quantiles; ladder and interval are ours.
Proofs: docs/proofs/unbounded.md, sections 3 and 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.data.candidates import Cells
from reticent.data.order_statistics import RankWindows
from reticent.data.query import Moments
from reticent.data.query_result import Counts, QueryResult
from reticent.data.schema import Person, Schema
from reticent.data.value_scans import GRID, CentredRange
from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric, laplace_radius
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive, to_digits
from reticent.privacy.sensitivity import L1
from reticent.statistics.context import Setting
from reticent.statistics.moments.moment_step import Kind, MomentStep, design
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.tails import Tail, allowed, declared, stretch
from reticent.statistics.unbounded.clipping_radii import (
    FINEST,
    LADDER,
    Choice,
    climbed,
    guess_share,
    median_windows,
    scans_of,
)
from reticent.statistics.unbounded.column_counts import CROWD, Census, ColumnTerms

MOST_OUTSIDE: Final = 0.25  # a radius that leaves more outside says nothing of the tails
UNLIKELY: Final = 0.025
CENSUS: Final = Fraction(1, 20)  # of epsilon, where n is private


@dataclass(frozen=True, slots=True)
class ClippedShares:
    """Shares of epsilon, which sum to 1 with that of ``moments``; ``census`` is 0 if n is public."""

    census: Fraction
    centre: Fraction
    radius: Fraction = Fraction(4, 25)
    tails: Fraction = Fraction(7, 100)

    @property
    def moments(self) -> Fraction:
        return 1 - self.census - self.centre - self.radius - self.tails


@dataclass(frozen=True, slots=True)
class ClippingInterval:
    """Clipping interval: a centre and two offsets, kept apart because a large centre would round their sum."""

    centre: float
    left: float
    right: float

    @property
    def low(self) -> float:
        return self.centre + self.left

    @property
    def high(self) -> float:
        return self.centre + self.right

    @property
    def middle(self) -> float:
        return self.centre + self.shift

    @property
    def half(self) -> float:
        return (self.right - self.left) / 2.0

    @property
    def shift(self) -> float:
        """Distance of the middle from the centre."""
        return (self.left + self.right) / 2.0


@dataclass(frozen=True, slots=True)
class ClippedEstimate:
    """A mean of values cut to [low, high], and what is known of those beyond.

    Attributes
    ----------
    estimate : Estimate
        For the mean of all values where ``tail`` is not None, else for that of the values as they were cut.
    low, high : float
        Where values were cut.
    beyond : float
        The most of the values that may lie beyond, as a share; exceeded in one table of 40.
    tail : Tail or None
        The declared tail that the interval allows for.
    refuted : bool
        Whether more values lie beyond than the declared tail allows.
    reach : bool
        Whether the cut is at the last public candidates, so that values farther out count as those.
    """

    estimate: Estimate
    low: float
    high: float
    beyond: float
    tail: Tail | None = None
    refuted: bool = False
    reach: bool = False

    def estimand(self, values: str) -> str:
        """Estimand of the number; ``values`` names the column, or its averages by person."""
        if self.tail is not None:
            return f"population mean of {values}, {declared(self.tail)}"
        return f"mean of {values} cut to [{to_digits(self.low)}, {to_digits(self.high)}], in the population"

    @property
    def words(self) -> tuple[str, ...]:
        """Words that stand beside the number: the share of values beyond the cut, and its effect."""
        ends = f"[{to_digits(self.low)}, {to_digits(self.high)}]"
        share = f"at most {100.0 * self.beyond:.2g} % of the values lie beyond {ends}"
        said = []
        if self.tail is not None:
            said.append(f"{share}; the interval allows for as much as the declared tail can hold there")
        elif self.refuted:
            said.append(f"{share}, more than the declared tail can hold: the interval is for values cut to these ends")
        elif self.beyond > 0.0:
            said.append(f"{share}; they may lie anywhere, so nothing is said of the mean of all values")
        if self.reach:
            said.append("the cut is the last of the public candidates: values beyond count as these")
        return tuple(said)


@dataclass(frozen=True)
class ClippedMean:
    """The mean of one column for ``epsilon``; candidates for the centre are ``cells``.

    ``tail`` is a declared tail, and ``bounds`` the public ends of the possible values, if there are any.
    """

    cells: Cells
    terms: ColumnTerms
    epsilon: Fraction
    tail: Tail | None = None
    bounds: tuple[Fraction, Fraction] | None = None

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")

    # --- what it costs -----------------------------------------------------------------------------------------------

    @property
    def shares(self) -> ClippedShares:
        return ClippedShares(CENSUS if self.terms.values is None else Fraction(0), guess_share(self.terms))

    @cached_property
    def census(self) -> Census | None:
        return None if self.terms.values is not None else Census(self.terms, self.epsilon * self.shares.census)

    def _choice(self, share: Fraction) -> Choice:
        return Choice(self.terms, self.epsilon * share)

    @cached_property
    def choices(self) -> tuple[Choice, Choice]:
        """Mechanisms of the centre and of the radius."""
        return self._choice(self.shares.centre), self._choice(self.shares.radius)

    @cached_property
    def tails(self) -> Geometric:
        """A number of values moves by one for a value added, removed or replaced."""
        return Geometric(L1(Fraction(self.terms.rows), self.terms.neighbours), self.epsilon * self.shares.tails)

    @cached_property
    def moments(self) -> MomentStep:
        """The mean of y = (x - middle) / half in [-1, 1], on a grid that does not depend on the rows."""
        return moments_of(self.terms, self.epsilon * self.shares.moments)

    @property
    def guarantee(self) -> Guarantee:
        parts = [
            *[choice.mechanism.guarantee for choice in self.choices],
            self.tails.guarantee,
            self.moments.guarantee,
        ]
        census = self.census
        return compose.in_sequence(parts if census is None else [census.guarantee, *parts], label="clipped mean")

    @property
    def windows(self) -> RankWindows:
        """Ranks that are looked at; all else is asked of the values where they are."""
        return median_windows(self.choices[0], 0 if self.census is None else CROWD)

    # --- the draws ---------------------------------------------------------------------------------------------------

    def draw(self, data: Counts, entropy: Entropy) -> Outcome[ClippedEstimate]:
        """The estimate, or no reply where the data cannot outweigh the prior or hold a radius."""
        census, n = self.census, float(self.terms.values or 0)
        size = GroupSize(n, False, n) if census is None else census.draw(data, entropy)
        outside = self.outside(size)
        middle, around = self.choices
        if not middle.outweighs(self.cells, size) or outside > MOST_OUTSIDE:
            return NO_REPLY
        centre, scans = middle.centre(self.cells, data, entropy), scans_of(self.cells, data)
        radius = around.rung(climbed(scans, centre), outside, entropy)
        clip = stretch(self.tail) * float(LADDER[radius])
        cut = self.cut(centre, clip)
        # without bounds, what lies in the last cells may lie anywhere beyond
        sums = scans.cut(CentredRange(centre, cut.shift, cut.half), clip)
        (beyond,) = gate.draw(self.tails, (sums.ended if self.bounds is None else sums.beyond,), entropy)
        answer = self.moments.answer([QueryResult(vectors=(sums.powers,))], entropy)
        match answer.outcome:
            case Reply(mean):
                return Reply(self._clipped(mean, cut, radius, beyond, size, outside))
            case NoReply():
                return NO_REPLY

    def outside(self, size: GroupSize) -> float:
        """The share t: what the choice of the radius can be off, from public or released numbers."""
        return max(self.choices[1].slack / max(size.values, 1.0), 1.0 / FINEST)

    @property
    def widest(self) -> tuple[float, float]:
        """The ends of what a value can count as."""
        if self.bounds is not None:
            return float(self.bounds[0]), float(self.bounds[1])
        return float(self.cells.value(self.cells.lowest)), float(self.cells.value(self.cells.highest))

    def cut(self, centre: float, clip: float) -> ClippingInterval:
        """Clipping interval around the centre, within the bounds or else the public candidates."""
        least, most = (end - centre for end in self.widest)
        within = ClippingInterval(centre, max(-clip, least), min(clip, most))
        return within if within.half > 0.0 else ClippingInterval(centre, -clip, clip)

    def _clipped(
        self, mean: Estimate, cut: ClippingInterval, rung: int, beyond: int, size: GroupSize, outside: float
    ) -> ClippedEstimate:
        """Back in units of the column; for the population where a tail was declared and not refuted."""
        n = max(size.values, 1.0)
        low, high, middle, half = cut.low, cut.high, cut.middle, cut.half
        unsure = laplace_radius(float(self.tails.scale), 2.0 * UNLIKELY)
        most = most_beyond(beyond + unsure, n)
        reach = low <= self.widest[0] or high >= self.widest[1] or rung == len(LADDER) - 1
        if self.bounds is not None and (low, high) == self.widest:
            most = 0.0  # by declaration
        tail, bias, refuted = self.tail, 0.0, False
        if tail is not None:
            may = allowed(tail, outside, most)
            refuted = rung == 0 or beyond - unsure > may.share * n
            tail, bias = (None, 0.0) if refuted else (tail, float(LADDER[rung]) * may.moved if most else 0.0)
        more = bias + self._rounding(max(abs(low), abs(high)))
        estimate = Estimate(
            middle + half * mean.value,
            middle + half * mean.low - more,
            middle + half * mean.high + more,
            half * mean.noise,
            half * mean.sampling,
        )
        return ClippedEstimate(estimate, low, high, most, tail, refuted, reach and self.bounds is None)

    def _rounding(self, far: float) -> float:
        """Largest rounding error of a value to its cell, within the cut, in the unit of the column."""
        if self.cells.whole:
            return 0.0
        low, high = self.cells.edges(int(self.cells.index(np.array([far]))[0]))
        return float(high - low) / 2.0


def most_beyond(counted: float, n: float) -> float:
    """The most of a population that may lie where so many of n values do, but for one sample in 40."""
    counted = max(counted, 0.0)
    return min((counted + 1.96 * math.sqrt(counted)) / n, 1.0)


def moments_of(terms: ColumnTerms, epsilon: Fraction, *, sized: bool = True) -> MomentStep:
    """The mean of values in [-1, 1], for ``epsilon``; not ``sized`` where a public number is that of others, too.

    Parameters
    ----------
    terms : ColumnTerms
        Neighbours, and the number of values where it is public.
    epsilon : Fraction
        Loss of the mean.
    sized : bool
        False where the public number is that of other values too.

    Returns
    -------
    MomentStep
        Step with its guarantee.
    """
    near, rows = terms.neighbours, terms.rows
    values = terms.values if sized else None
    kind: Kind = "soft" if near.kind != "substitute" else ("plain" if values is None else "sized")
    made = design(kind, 2, GRID)
    mechanism = Geometric(L1(made.sensitivity(rows, 1), near), epsilon)
    setting = Setting(Schema({}, Person(near.kind, None if rows == 1 else "person", rows)), values)
    query = Moments("y", GRID, 2)
    return MomentStep("mean", query, "mean", made, mechanism, setting, values, terms.together, True, ((),), ())
