"""The mean of a column without bounds: clipped where the data reach, with the clipping inside the interval.

    census    how many values
    centre    a median
    inner     the public radius, of some 370, that leaves a share of about 4 t of the values outside
    radius    the one that leaves a share t
    tails     how many values lie beyond STRETCH radii
    moments   of the values clipped to centre -/+ STRETCH radii: count, first and second, by one mechanism

t moves with n epsilon: it is as many values as the choice of the radius can be off, so the clip follows the data as far
out as they can be followed privately. Radii are a geometric ladder of few steps; quantiles on the cells of the public
prior would need four times as many values in the tails.

**What is estimated.** The mean of the population, if beyond the radius the tails fall at least like the cube of the
distance. Then a share t / STRETCH^3 lies beyond the clip, on average by half of it at most; this bound, or the one the
noisy count gives if it is smaller, is added to both ends. Where the two radii are as far apart as those of Student's
law with 2 degrees of freedom (Cauchy), or clearly more values are clipped than that (lumps far out), ``heavy`` is True:
what is estimated is the mean of the clipped values, and the interval is for that.

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
from numpy.typing import NDArray

from reticent.data.cells import Cells
from reticent.data.query import POWER_ONE, Moments
from reticent.data.schema import Fixed, Person, Schema
from reticent.data.table import Counts, Result
from reticent.entropy import Entropy
from reticent.mechanisms import Geometric, gate
from reticent.mechanisms.geometric import laplace_radius
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import L1
from reticent.statistics.moments import MomentStep
from reticent.statistics.quantiles import Size
from reticent.statistics.setting import Setting
from reticent.statistics.soft import design
from reticent.statistics.unbounded.census import Census, Terms
from reticent.statistics.unbounded.ladder import FINEST, LADDER, Choice, climbed, distances

STRETCH: Final = 3.0
MOST_INSIDE: Final = 0.6  # the most outside the inner radius
MOST_OUTSIDE: Final = 0.25  # a radius that leaves more outside says nothing of the tails
UNIT: Final = 1 << 20
Y: Final = Fixed(20, -UNIT, UNIT)
UNLIKELY: Final = 0.025
FARTHER: Final = 32  # rungs between the two radii, a factor of 256, that no tail with a mean comes near


@dataclass(frozen=True, slots=True)
class Shares:
    """How epsilon is divided; they sum to 1. ``census`` goes to ``moments`` where n is public."""

    census: Fraction = Fraction(1, 20)
    centre: Fraction = Fraction(3, 25)
    inner: Fraction = Fraction(3, 50)
    radius: Fraction = Fraction(7, 50)
    tails: Fraction = Fraction(1, 20)

    @property
    def moments(self) -> Fraction:
        return 1 - self.census - self.centre - self.inner - self.radius - self.tails


@dataclass(frozen=True, slots=True)
class Clipped:
    """A mean, where it was clipped, and whether the clipped mean is all that is estimated."""

    estimate: Estimate
    low: float
    high: float
    heavy: bool

    @property
    def words(self) -> str:
        """What the number is a mean of."""
        clip = f"[{self.low:.6g}, {self.high:.6g}]"
        if self.heavy:
            return f"the mean of values clipped to {clip}, and no more: beyond, too many may lie, or too far"
        return f"clipped to {clip}; the interval allows for tails that fall like the cube of the distance, or faster"


@dataclass(frozen=True)
class ClippedMean:
    """The mean of one column for ``epsilon``; candidates for the centre are ``cells``."""

    cells: Cells
    terms: Terms
    epsilon: Fraction
    shares: Shares = Shares()

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")

    # --- what it costs -----------------------------------------------------------------------------------------------

    @cached_property
    def census(self) -> Census | None:
        return None if self.terms.values is not None else Census(self.terms, self.epsilon * self.shares.census)

    def _choice(self, share: Fraction) -> Choice:
        return Choice(self.terms, self.epsilon * share)

    @cached_property
    def choices(self) -> tuple[Choice, Choice, Choice]:
        """Of the centre, the inner radius and the radius."""
        return self._choice(self.shares.centre), self._choice(self.shares.inner), self._choice(self.shares.radius)

    @cached_property
    def tails(self) -> Geometric:
        """A number of values moves by one for a value added, removed or replaced."""
        return Geometric(L1(Fraction(self.terms.rows), self.terms.neighbours), self.epsilon * self.shares.tails)

    @cached_property
    def moments(self) -> MomentStep:
        """The mean of y = (x - centre) / clip in [-1, 1], on a grid that does not depend on the rows."""
        near, rows = self.terms.neighbours, self.terms.rows
        in_place = near.kind == "substitute"
        kind = "soft" if not in_place else ("plain" if self.terms.values is None else "sized")
        made = design(kind, 2, Y)
        share = self.shares.moments + (0 if self.census is not None else self.shares.census)
        bound = made.sensitivity(rows, 1)
        mechanism = Geometric(L1(bound, near), self.epsilon * share)
        person = Person(near.kind, None if rows == 1 else "person", rows)
        setting = Setting(Schema({}, person), self.terms.values)
        query = Moments("y", Y, 2)
        return MomentStep(
            "mean", query, "mean", made, mechanism, setting, self.terms.values, self.terms.together, True, ((),), ()
        )

    @property
    def guarantee(self) -> Guarantee:
        parts = [
            *[choice.mechanism.guarantee for choice in self.choices],
            self.tails.guarantee,
            self.moments.guarantee,
        ]
        census = self.census
        return compose.in_sequence(parts if census is None else [census.guarantee, *parts], label="clipped mean")

    # --- the draws ---------------------------------------------------------------------------------------------------

    def draw(self, data: Counts, entropy: Entropy) -> Outcome[Clipped]:
        """The estimate, or no reply where the data cannot outweigh the prior or hold a radius."""
        census, n = self.census, float(self.terms.values or 0)
        size = Size(n, False, n) if census is None else census.draw(data, entropy)
        outside = self.outside(size)
        middle, inside, around = self.choices
        if not middle.outweighs(self.cells, size) or outside > MOST_OUTSIDE:
            return NO_REPLY
        centre = middle.centre(self.cells, data, entropy)
        away = distances(self.cells, data, centre)
        steps = climbed(away, data.counts)
        inner = inside.rung(steps, min(4.0 * outside, MOST_INSIDE), entropy)
        radius = around.rung(steps, outside, entropy)
        if 0 < inner < radius - FARTHER:
            return NO_REPLY  # the prior's radius, not the data's
        clip = STRETCH * float(LADDER[radius])
        (beyond,) = gate.draw(self.tails, (int(data.counts[np.abs(away) > clip].sum()),), entropy)
        answer = self.moments.answer([Result(vectors=(powers(away / clip, data.counts),))], entropy)
        match answer.outcome:
            case Reply(mean):
                return Reply(self._clipped(mean, centre, (inner, radius), beyond, size, outside))
            case NoReply():
                return NO_REPLY

    def outside(self, size: Size) -> float:
        """The share t: what the choice of the radius can be off, from public or released numbers."""
        return max(self.choices[2].slack / max(size.values, 1.0), 1.0 / FINEST)

    def _clipped(
        self, mean: Estimate, centre: float, rungs: tuple[int, int], beyond: int, size: Size, outside: float
    ) -> Clipped:
        """Back in units of the column, with the bias of clipping on either side."""
        n = max(size.values, 1.0)
        inner, radius = rungs
        clip = STRETCH * float(LADDER[radius])
        unsure = laplace_radius(float(self.tails.scale), 2.0 * UNLIKELY)
        expected = 1.25 * outside / STRETCH**3  # the radius may leave out a little more than it aims at
        lumps = radius == 0 or beyond - unsure > expected * n
        heavy = lumps or float(LADDER[radius] / LADDER[inner]) >= _student(outside) / _student(
            min(4.0 * outside, MOST_INSIDE)
        )
        bias = 0.0 if heavy else clip * min(expected, max(beyond + unsure, 0.0) / n) / 2.0
        low, high = (centre + clip * end for end in (mean.low, mean.high))
        rounding = self._rounding(centre, clip)
        estimate = Estimate(
            centre + clip * mean.value,
            low - bias - rounding,
            high + bias + rounding,
            clip * mean.noise,
            clip * mean.sampling,
        )
        return Clipped(estimate, centre - clip, centre + clip, heavy)

    def _rounding(self, centre: float, clip: float) -> float:
        """How far values are from those of their cells, within the clip; they are rounded either way."""
        if self.cells.whole:
            return 0.0
        low, high = self.cells.edges(int(self.cells.index(np.array([abs(centre) + clip]))[0]))
        return float(high - low) / 2.0


def _student(outside: float) -> float:
    """The radius that leaves this share outside under Student's law with 2 degrees of freedom."""
    return math.sqrt(2.0) * (1.0 - outside) / math.sqrt(1.0 - (1.0 - outside) ** 2)


def powers(y: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[int, int, int]:
    """Count, first and second power of values moved into [-1, 1], each value rounded on its own."""
    steps = np.rint(np.clip(y, -1.0, 1.0) * UNIT).astype(np.int64)
    squares = np.floor((steps / UNIT) ** 2 * POWER_ONE + 0.5).astype(np.int64)
    return int(counts.sum()), int((steps * counts).sum()), int((squares * counts).sum())
