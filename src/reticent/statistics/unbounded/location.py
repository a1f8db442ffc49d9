"""Huber's location without bounds: a compromise of mean and median, exactly chosen, with its interval.

    quartiles    a joint draw: the middle quantile is a first guess m, half the quartile distance the scale s
    value        t on an even grid around m, by the score |sum of psi_k((x - t) / s)| / k
    ends         the same with the sum aimed D above and below 0
    squares      the sum of psi^2, which is the sampling variance of the sum

psi_k(u) = u moved into [-k, k]. In units of k a value adds a number in [-1, 1] to the sum, so adding or removing one
moves the score by at most 1 and replacing one by at most 2; values are whole numbers of 1/1024 each, computed by
value, so nothing is summed in floats. It is the exponential mechanism on the estimating equation, as the median's is
with the sign in place of psi.

Estimated is Huber's functional of the population at the released scale: the centre where the law is symmetric.

Source: Huber 1964; Asi and Duchi 2020 for the score. Proof: docs/proofs/unbounded.md, section 5.
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
from reticent.data.table import Counts
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import Candidates, Exponential, Geometric, gate
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import L1, Linf
from reticent.statistics.intervals import NONE, half_width, known, normal_half_width
from reticent.statistics.unbounded.census import Terms, values_of
from reticent.statistics.unbounded.joint import JointQuantiles, Shares

UNIT: Final = 1 << 10  # a value at the bend of psi is so many units
LEVELS: Final = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
ALL: Final = Shares(Fraction(1, 2), Fraction(1, 2), Fraction(0))
QUARTILES: Final = Fraction(3, 10)  # of epsilon: guess and scale
SQUARES: Final = Fraction(1, 20)
VALUE: Final = Fraction(7, 20)  # the rest goes to the two ends
HALVES: Final = 6.0  # the grid reaches so many half quartile distances to either side of the guess
STEPS: Final = 1 << 12  # cells of the grid on either side


@dataclass(frozen=True)
class Huber:
    """Huber's location of one column for ``epsilon``; ``bend`` k > 0 in units of half the quartile distance.

    2 is the usual 1.345 standard deviations of a normal law, 95 % as precise as its mean.
    """

    cells: Cells
    terms: Terms
    epsilon: Fraction
    bend: Fraction = Fraction(2)

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if not Fraction(1, 8) <= self.bend <= 8:
            raise PublicParameterError("bend must be between 1/8 and 8 half quartile distances")

    # --- what it costs -----------------------------------------------------------------------------------------------

    @cached_property
    def quartiles(self) -> JointQuantiles:
        return JointQuantiles(self.cells, LEVELS, self.terms, self.epsilon * QUARTILES, ALL, ())

    def _choice(self, share: Fraction) -> Exponential:
        near = self.terms.neighbours
        return Exponential(Linf(Fraction(self.terms.steps * UNIT), near), self.epsilon * share)

    @cached_property
    def value(self) -> Exponential:
        return self._choice(VALUE)

    @cached_property
    def end(self) -> Exponential:
        return self._choice((1 - QUARTILES - SQUARES - VALUE) / 2)

    @cached_property
    def squares(self) -> Geometric:
        """A value's square is 0 to UNIT whole numbers, so replacing it moves the sum by UNIT as well."""
        return Geometric(L1(Fraction(self.terms.rows * UNIT), self.terms.neighbours), self.epsilon * SQUARES)

    @property
    def guarantee(self) -> Guarantee:
        draws = [self.value.guarantee, self.end.guarantee, self.end.guarantee, self.squares.guarantee]
        return compose.in_sequence([self.quartiles.guarantee, *draws], label="Huber's location")

    # --- the draws ---------------------------------------------------------------------------------------------------

    def draw(self, data: Counts, entropy: Entropy) -> Outcome[Estimate]:
        """The estimate, or no reply where the quartiles give none or coincide: then there is no scale."""
        match self.quartiles.draw(data, entropy):
            case NoReply():
                return NO_REPLY
            case Reply(drawn):
                low, guess, high = self.quartiles.values_of(drawn)
        half = (high - low) / 2.0
        if not half > 0.0:
            return NO_REPLY
        grid = Grid(guess, half, float(self.bend) * half)
        held = np.clip(data.cells, self.cells.lowest, self.cells.highest)
        sums = grid.sums(values_of(self.cells, held), data.counts)
        place = self._pick(sums, 0, self.value, entropy)
        (spread,) = gate.draw(self.squares, (grid.squares(values_of(self.cells, held), data.counts, place),), entropy)
        shift = self._shift(spread)
        ends = [self._pick(sums, aim, self.end, entropy) for aim in (shift, -shift)]
        return Reply(self._estimate(grid, place, ends, spread))

    def _pick(self, sums: NDArray[np.int64], aim: int, mechanism: Exponential, entropy: Entropy) -> int:
        weights = np.ones(len(sums), dtype=np.int64)
        return gate.choose(mechanism, Candidates(np.abs(sums - aim), weights), np.arange(len(sums) + 1), entropy)

    def _variance(self, spread: int) -> float:
        """Of the sum of psi, in units; the noise of the squares is allowed for."""
        noise = 3.0 * float(self.squares.scale)
        return self.terms.rows * max(float(spread) + noise, 1.0) * UNIT

    def _shift(self, spread: int) -> int:
        scales = [1.0 / float(self.end.rate)]
        return math.ceil(half_width(known(self._variance(spread)), scales))

    def _estimate(self, grid: Grid, place: int, ends: list[int], spread: int) -> Estimate:
        low, high = min(place, *ends), max(place, *ends)
        first, last = grid.edges(low, self.cells)[0], grid.edges(high, self.cells)[1]
        slope = (last - first) / (2.0 * max(self._shift(spread), 1))
        noise = half_width(NONE, [1.0 / float(self.value.rate)]) * slope
        sampling = normal_half_width(self._variance(spread)) * slope
        return Estimate(grid.at(place), first, last, noise, sampling)


@dataclass(frozen=True, slots=True)
class Grid:
    """Candidates guess - reach .. guess + reach, and the scale at which psi bends."""

    guess: float
    half: float
    bend: float

    @property
    def step(self) -> float:
        return HALVES * self.half / STEPS

    def at(self, place: int) -> float:
        return self.guess + (place - STEPS) * self.step

    def edges(self, place: int, base: Cells) -> tuple[float, float]:
        """Half a step to either side; the outermost candidates stand for all beyond them."""
        least, most = float(base.edges(base.lowest)[0]), float(base.edges(base.highest)[1])
        low = least if place == 0 else self.at(place) - self.step / 2.0
        return low, most if place == 2 * STEPS else self.at(place) + self.step / 2.0

    def places(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Each value as a whole number of units from the guess, a unit being bend / UNIT; far ones are cut."""
        reach = (HALVES * self.half / self.bend + 2.0) * UNIT
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.rint((values - self.guess) / self.bend * UNIT)
        return np.clip(found, -reach, reach).astype(np.int64)

    def centres(self) -> NDArray[np.int64]:
        """Candidates in the same units."""
        at = np.arange(-STEPS, STEPS + 1, dtype=np.float64) * (self.step / self.bend * UNIT)
        return np.rint(at).astype(np.int64)

    def sums(self, values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum over values of psi, in units, at every candidate: exact, by running sums."""
        places = self.places(values)
        order = np.argsort(places, kind="stable")
        where, many = places[order], counts[order]
        number = np.concatenate([[0], np.cumsum(many)])
        total = np.concatenate([[0], np.cumsum(many * where)])
        at = self.centres()
        low = np.searchsorted(where, at - UNIT, side="left")
        high = np.searchsorted(where, at + UNIT, side="right")
        inside = total[high] - total[low] - at * (number[high] - number[low])
        found: NDArray[np.int64] = inside + UNIT * (number[-1] - number[high]) - UNIT * number[low]
        return found

    def squares(self, values: NDArray[np.float64], counts: NDArray[np.int64], place: int) -> int:
        """The sum of psi^2 at one candidate, each rounded to a whole number of at most UNIT."""
        u = np.clip(self.places(values) - int(self.centres()[place]), -UNIT, UNIT)
        return int((u * u // UNIT * counts).sum())
