"""Rows about their noisy mean, cut to where most of them are: what principal axes and clusters begin with.

    n      the number of rows that lack nothing: public where none may, or bought
    mean   noisy sums over n, moved towards the middle of the box by as much as is noise
    reach  a distance that about ``LEVEL`` of the rows keep from the mean, by the exponential mechanism
    rows   about the mean, none longer than the reach: sums over them need noise of that size and not of the box's

Bounds hold for every row and are wide; rows are not. Source: the quantile by the exponential mechanism, Smith 2011, as
in ``statistics.quantiles``; James and Stein 1961. Proof of the sensitivities: docs/proofs/learning.md, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.price import Noise, Price, deviation, noisy
from reticent.statistics.scaling import UNIT, Floats, Integers, Scaling, lengths, longest, shortened

SIZE: Final = Fraction(1, 25)  # of the price: the number of rows, where it is not public
MEAN: Final = Fraction(4, 25)  # their sums
REACH: Final = Fraction(1, 10)
REST: Final = 1 - SIZE - MEAN - REACH  # what is left for those who ask
LEVEL: Final = Fraction(4, 5)  # of the rows are to be within the distance
CANDIDATES: Final = 48
EACH: Final = 6  # of them to a factor of two


@dataclass(frozen=True, slots=True, eq=False)
class ClippingState:
    """Public values so far: n, mean (in half-widths) and reach (in steps, for l2 squared); and the private ``rows``."""

    n: float
    mean: Floats
    reach: int
    rows: Integers
    there: NDArray[np.bool_]


@dataclass(frozen=True)
class ReachDescent:
    """Number of rows, mean and reach of scaled columns, for 1 - ``REST`` of the price.

    Guarantee
    ---------
    Within that share: a row adds 1 to the number, its length to the sums, and changes a score by at most 4, by 5 where
    it is replaced.
    """

    scaling: Scaling
    price: Price
    people: int | None = None

    @cached_property
    def sizing(self) -> Noise | None:
        return None if self.people is not None else self.price.noise(Fraction(1), SIZE)

    @property
    def noise_of_rows(self) -> float:
        """Standard deviation of the noise in n."""
        return 0.0 if self.sizing is None else deviation(self.sizing)

    @cached_property
    def summing(self) -> Noise:
        share = MEAN if self.people is None else SIZE + MEAN
        return self.price.noise(longest(self.scaling.width, self.price.norm), share)

    @cached_property
    def choosing(self) -> Exponential:
        return self.price.choice(LEVEL.numerator, LEVEL.denominator, REACH)

    @cached_property
    def guarantees(self) -> tuple[Guarantee, ...]:
        sizing = () if self.sizing is None else (self.sizing.guarantee,)
        return (*sizing, self.summing.guarantee, self.choosing.guarantee)

    @cached_property
    def candidates(self) -> Integers:
        """Distances, rising; no row is farther than the last from any centre in the box."""
        squared = self.price.norm == "l2"
        most = self.scaling.width * (4 * UNIT**2 if squared else 2 * UNIT)
        found = [max(1, int(most * 2.0 ** (-(2 if squared else 1) * i / EACH))) for i in range(1, CANDIDATES)]
        return np.array([*found[::-1], most], np.int64)

    def draw(self, values: Floats, entropy: Entropy) -> ClippingState:
        """n, mean and reach; and the rows about the mean within the reach."""
        there = np.asarray(np.isfinite(values).all(axis=1), np.bool_)
        rows = self.scaling.whole(values)
        n = float(self.people or 1)
        if self.sizing is not None:
            (told,) = noisy(self.sizing, np.array([int(there.sum())]), entropy)
            n = max(float(told), deviation(self.sizing), 1.0)
        mean = shrunk(noisy(self.summing, rows.sum(axis=0), entropy) / UNIT / n, deviation(self.summing) / UNIT / n)
        centre = np.rint(mean * UNIT).astype(np.int64)
        about = np.asarray(np.where(there[:, None], rows - centre, 0))
        within = np.searchsorted(np.sort(lengths(about[there], self.price.norm)), self.candidates, side="right")
        scores = np.abs(LEVEL.denominator * within.astype(np.int64) - LEVEL.numerator * int(there.sum()))
        ones = np.ones(len(scores), np.int64)
        reach = int(self.candidates[gate.draw(self.choosing, Candidates(scores, ones), entropy)])
        return ClippingState(n, mean, reach, shortened(about, Fraction(reach), self.price.norm), there)


def shrunk(means: Floats, spread: float) -> Floats:
    """Noisy means in the box, moved towards its middle by as much as is noise of deviation ``spread``."""
    return np.asarray(np.clip(means * told(means[None], spread)[0], -1.0, 1.0))


def told(sums: Floats, spread: float) -> Floats:
    """Share of every row of sums that is signal beyond noise of deviation ``spread``: 0 if noise alone may be as long.

    The factor of James and Stein (1961), once the squared length exceeds that of noise by two deviations. The
    deviations are those of the noise with the heavier tail: the fourth moment of Laplace's is six squared variances.
    """
    width = sums.shape[1]
    size = (sums**2).sum(axis=1) / max(spread**2, 1e-300)
    found = np.maximum(0.0, 1.0 - width / np.maximum(size, 1e-300))
    return np.asarray(np.where(size > width + 2 * np.sqrt(5 * width), found, 0.0))


__all__ = ["ReachDescent", "REST", "ClippingState", "told"]
