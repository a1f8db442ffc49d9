"""Huber's location without bounds: a compromise of mean and median, exactly chosen, with its interval.

    census       how many values
    guess        a median m
    scale        the radius s around m that leaves half of the values outside, on a ladder
    value        t on an even grid around m, by the score |sum of psi_k((x - t) / s)| / k
    ends         the same with the sum aimed D above and below 0
    squares      the sum of psi^2, which is the sampling variance of the sum

psi_k(u) = u clipped to [-k, k]. In units of k a value adds a number in [-1, 1] to the sum. So adding or removing one
moves the score by at most 1, and replacing one by at most 2. Each term is rounded to a multiple of 1/1024 by itself, so
sums are exact. It is the exponential mechanism on the estimating equation, as the median's is with the sign in place of
psi.

The estimand is Huber's functional of the population, with residuals clipped at the released distance k s. For a
symmetric law it is the centre. For other laws it depends on the distance, so the answer states the distance.

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

from reticent.data.candidates import Cells
from reticent.data.order_statistics import RankWindows
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
from reticent.privacy.numbers import positive, to_digits
from reticent.privacy.sensitivity import L1, Linf
from reticent.statistics.intervals import NONE, half_width, known, normal_half_width
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.unbounded.clipping_radii import LADDER, Choice, climbed, guess_share, median_windows, scans_of
from reticent.statistics.unbounded.column_counts import CROWD, Census, ColumnTerms

UNIT: Final = 1 << 10  # a value at the bend of psi is so many units
CENSUS: Final = Fraction(1, 20)  # of epsilon
SCALE: Final = Fraction(2, 25)
SQUARES: Final = Fraction(1, 20)
VALUE: Final = Fraction(2, 5)  # the rest goes to the two ends
HALVES: Final = 6.0  # the grid reaches so many scales to either side of the guess
STEPS: Final = 1 << 12  # cells of the grid on either side


@dataclass(frozen=True, slots=True)
class LocationEstimate:
    """Huber's location, and the distance at which residuals were bent."""

    estimate: Estimate
    bend: float

    def estimand(self, values: str) -> str:
        """The functional that is estimated; ``values`` is the column, or its averages by person."""
        return f"Huber's location of {values} in the population, residuals bent at {to_digits(self.bend)}"


@dataclass(frozen=True)
class Huber:
    """Huber's location of one column for ``epsilon``; ``bend`` k > 0 in units of the scale.

    The scale is half the quartile distance of a symmetric law. A bend of 2 is then the usual 1.345 standard deviations
    of a normal law, with 95 % of the efficiency of the mean.
    """

    cells: Cells
    terms: ColumnTerms
    epsilon: Fraction
    bend: Fraction = Fraction(2)

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if not Fraction(1, 8) <= self.bend <= 8:
            raise PublicParameterError("bend must be between 1/8 and 8 scales")

    # --- what it costs -----------------------------------------------------------------------------------------------

    @cached_property
    def census(self) -> Census | None:
        return None if self.terms.values is not None else Census(self.terms, self.epsilon * CENSUS)

    @cached_property
    def guess(self) -> Choice:
        return Choice(self.terms, self.epsilon * guess_share(self.terms))

    @cached_property
    def scale(self) -> Choice:
        return Choice(self.terms, self.epsilon * SCALE)

    def _choice(self, share: Fraction) -> Exponential:
        near = self.terms.neighbours
        return Exponential(Linf(Fraction(self.terms.steps * UNIT), near), self.epsilon * share)

    @cached_property
    def value(self) -> Exponential:
        """With the share of the census where that is not drawn."""
        return self._choice(VALUE if self.census is not None else VALUE + CENSUS)

    @cached_property
    def end(self) -> Exponential:
        return self._choice((1 - CENSUS - guess_share(self.terms) - SCALE - SQUARES - VALUE) / 2)

    @cached_property
    def squares(self) -> Geometric:
        """A value's square is 0 to UNIT whole numbers, so replacing it moves the sum by UNIT as well."""
        return Geometric(L1(Fraction(self.terms.rows * UNIT), self.terms.neighbours), self.epsilon * SQUARES)

    @property
    def guarantee(self) -> Guarantee:
        place = [choice.mechanism.guarantee for choice in (self.guess, self.scale)]
        parts = [*place, self.value.guarantee, self.squares.guarantee, self.end.guarantee, self.end.guarantee]
        census = self.census
        return compose.in_sequence(parts if census is None else [census.guarantee, *parts], label="Huber's location")

    @property
    def windows(self) -> RankWindows:
        """Ranks that are looked at; all else is asked of the values where they are."""
        return median_windows(self.guess, 0 if self.census is None else CROWD)

    # --- the draws ---------------------------------------------------------------------------------------------------

    def draw(self, data: Counts, entropy: Entropy) -> Outcome[LocationEstimate]:
        """The estimate, or no reply where the data cannot outweigh the prior or hold a scale."""
        census, n = self.census, float(self.terms.values or 0)
        size = GroupSize(n, False, n) if census is None else census.draw(data, entropy)
        if not self.guess.outweighs(self.cells, size) or 2.0 * self.scale.slack > size.surely:
            return NO_REPLY
        guess, scans = self.guess.centre(self.cells, data, entropy), scans_of(self.cells, data)
        rung = self.scale.rung(climbed(scans, guess), 0.5, entropy)
        grid = CandidateGrid(guess, float(LADDER[rung]), float(self.bend * Fraction(float(LADDER[rung]))))
        places, counts = scans.steps(CentredRange(guess, 0.0, grid.bend, grid.reach), UNIT)
        sums = grid.sums(places, counts)
        place = self._pick(sums, 0, 2 * STEPS, self.value, entropy)
        if place in (0, 2 * STEPS):
            return NO_REPLY  # the guess or the scale was the prior's: the location lies beyond the grid
        (spread,) = gate.draw(self.squares, (grid.squares(places, counts, place),), entropy)
        shift = self._shift(spread)
        ends = [self._pick(sums, aim, 1, self.end, entropy) for aim in (shift, -shift)]
        return Reply(LocationEstimate(self._estimate(grid, place, ends, spread), grid.bend))

    def _pick(self, sums: NDArray[np.int64], aim: int, outer: int, mechanism: Exponential, entropy: Entropy) -> int:
        """A candidate; each outermost one has the best score of all beyond it, and the weight ``outer``."""
        scores, weights = np.abs(sums - aim), np.ones(len(sums), dtype=np.int64)
        scores[0], scores[-1] = max(int(sums[0]) - aim, 0), max(aim - int(sums[-1]), 0)
        weights[[0, -1]] = outer
        return gate.choose(mechanism, Candidates(scores, weights), np.arange(len(sums) + 1), entropy)

    def _variance(self, spread: int) -> float:
        """Sampling variance of the sum of psi, in squared units, with an allowance for the noise of the squares."""
        noise = 3.0 * float(self.squares.scale)
        return self.terms.together * max(float(spread) + noise, 1.0) * UNIT

    def _shift(self, spread: int) -> int:
        scales = [1.0 / float(self.end.rate)]
        return math.ceil(half_width(known(self._variance(spread)), scales))

    def _estimate(self, grid: CandidateGrid, place: int, ends: list[int], spread: int) -> Estimate:
        low, high = min(place, *ends), max(place, *ends)
        first, last = grid.edges(low, self.cells)[0], grid.edges(high, self.cells)[1]
        slope = (last - first) / (2.0 * max(self._shift(spread), 1))
        noise = half_width(NONE, [1.0 / float(self.value.rate)]) * slope
        sampling = normal_half_width(self._variance(spread)) * slope
        return Estimate(grid.at(place), first, last, noise, sampling)


@dataclass(frozen=True, slots=True)
class CandidateGrid:
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

    @property
    def reach(self) -> float:
        """Bends beyond which a value counts as that far from the guess."""
        return HALVES * self.half / self.bend + 2.0

    def centres(self) -> NDArray[np.int64]:
        """Candidates in the same units."""
        at = np.arange(-STEPS, STEPS + 1, dtype=np.float64) * (self.step / self.bend * UNIT)
        return np.rint(at).astype(np.int64)

    def sums(self, places: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum over values of psi, in units, at every candidate: exact, by running sums.

        Parameters
        ----------
        places : array of shape (places,), int
            Rising, in units from the guess.
        counts : array of shape (places,), int
            Values at each place.

        Returns
        -------
        array of shape (candidates,), int
        """
        number = np.concatenate([[0], np.cumsum(counts)])
        total = np.concatenate([[0], np.cumsum(counts * places)])
        at = self.centres()
        low = np.searchsorted(places, at - UNIT, side="left")
        high = np.searchsorted(places, at + UNIT, side="right")
        inside = total[high] - total[low] - at * (number[high] - number[low])
        found: NDArray[np.int64] = inside + UNIT * (number[-1] - number[high]) - UNIT * number[low]
        return found

    def squares(self, places: NDArray[np.int64], counts: NDArray[np.int64], place: int) -> int:
        """The sum of psi^2 at one candidate, each rounded to a whole number of at most UNIT.

        Parameters
        ----------
        places, counts : array of int
            As of ``sums``.
        place : int
            Number of the candidate.

        Returns
        -------
        int
            Sum in steps of 1 / UNIT.
        """
        u = np.clip(places - int(self.centres()[place]), -UNIT, UNIT)
        return int((u * u // UNIT * counts).sum())
