"""Intervals of least-squares coefficients from noisy sums, valid where errors spread unequally: a sandwich.

    sums     A = X'X + E and c = X'y + e, of known noise; coefficients b = A^-1 c
    meat     for every coefficient u'b the sum over rows of (u'A^-1 x)^2 r^2, r = y - x'b, each cut at one of some caps
    truth t  A t - c = E t - e - X' errors, so u'(t - b) = u'A^-1 (E t - e - X' errors), exactly

So u't differs from u'b by two errors: noise of the sums at t, and sampling. The loads of the released numbers give the
variance of the first error, and the meat gives that of the second. At each end of the interval the noise is evaluated
at that end. A coefficient has no interval if the noise hides X'X in its direction. Noise of the meat widens the
interval by its square.

A reply needs X'X to look large enough, and its noise moves the coefficient: rare replies are too flat.
So an end lies where 1 in 20 *of the replies* would be farther off, were the truth there: its error is judged by its law
above the point at which X'X would have been too small. Truths with a reply in less than 1 of 50 tables are left out,
as an interval for these has no end (Gleser and Hwang 1987).

    caps     the lowest is K s (u'A^-1 u / n)^(1/2), s^2 the noisy mean square of what is left: K deviations of a usual
             row's part, K as great as the noise of the meat allows; the highest is the largest possible part
    chosen   by the noisy meat itself: the highest cap at which its noise is a share of it, else the lowest. A few rows
             far out in leverage and error may be most of the meat. The lowest cap alone lost them: .70 covered

What a row's square fills between neighbouring caps is its share of them; shares add up to one row at most. So the meat
at every cap follows from one histogram, which costs what one number does where rows come and go.

Source: Huber 1967, White 1980 (the sandwich); Fieller 1954 (what is not refuted, in place of a quotient's deviation).
Given a reply: Lee, Sun, Sun and Taylor 2016. Proof: docs/proofs/regression.md, section 14.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Final

import numpy as np

from reticent.data.query import WEIGHT_ONE
from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.outcome import Estimate
from reticent.statistics.price import Noise, Price, deviation
from reticent.statistics.regression.sums import NoisySums
from reticent.statistics.scaling import UNIT, Floats, Integers, scored

AT_95: Final = 1.959963984540054
WHOLE: Final = 1 << 20  # the greatest part of a row in the meat
CAPS: Final = 4
CLOSEST: Final = 1.25  # the least quotient of neighbouring caps
LEAST_CAP: Final = 4.0  # deviations
UNSURE: Final = 0.3  # the noise of the meat over the variance of the whole error, at the lowest cap
ALLOWED: Final = 0.4  # the noise of the meat over the meat, at the cap that is chosen
CLEAR: Final = 0.25  # the most that noise of X'X may be, in the direction of a coefficient, over X'X
FEWEST: Final = 10.0  # rows for each coefficient
ROUNDS: Final = 200
NEAR: Final = 1e-4
SMALLEST: Final = 1e-9  # of a mean square, in squared half-widths
MISSED: Final = np.array([0.025])  # on a side
LAPLACE: Final = 3.0  # excess kurtosis
RAREST: Final = 1 / 50  # the least chance of a reply that an interval allows for
CHANCES: Final = 0.5 * (2 * RAREST) ** (np.arange(65) / 64)  # of a reply, from one half down


@dataclass(frozen=True)
class Meat:
    """Noisy histograms of squared parts of rows, one for each of ``many`` coefficients, for ``share`` of ``price``.

    Guarantee
    ---------
    Within the share: for each coefficient a row has ``CAPS`` integers >= 0 that add up to at most ``WHOLE``.
    """

    price: Price
    many: int
    share: Fraction

    @cached_property
    def noise(self) -> Noise:
        """Shares of a row are not negative and add up to one row: replaced, their squares move by two at most."""
        if self.price.norm == "l2":
            replaced = 2 if self.price.neighbours.kind == "substitute" else 1
            return self.price.noise(Fraction(self.many * WHOLE**2, replaced), self.share)
        return self.price.noise(Fraction(self.many * WHOLE), self.share)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of a share, in rows."""
        return deviation(self.noise) / WHOLE

    @property
    def least(self) -> float:
        """Standard deviation of the noise of the meat at its lowest cap, in rows at that cap."""
        return self.deviation * math.sqrt(CAPS)

    def times(self, n: float, whole: float = 1.0) -> float:
        """K: deviations at the lowest cap; ``whole`` is the variance of the whole error over that of sampling."""
        return max(LEAST_CAP, math.sqrt(UNSURE * n * whole / self.least))

    def draw(
        self, rows: Integers, y: Integers, told: SandwichTerms, entropy: Entropy, weights: Integers | None = None
    ) -> Floats:
        """The noisy rows at each cap of every coefficient; the only step that sees rows.

        Parameters
        ----------
        rows : array of shape (n, features), int
        y : array of shape (n,), int
        told : SandwichTerms
        entropy : Entropy
        weights : array of shape (n,), int, optional
            From 0 to ``WEIGHT_ONE``: a row's part is multiplied by its weight before it is cut and squared.

        Returns
        -------
        array of shape (coefficients, CAPS)
        """
        parts = np.array(told.parts)
        left = np.abs(y[:, None] / UNIT - scored(rows.astype(np.float64), told.whole[None, :]))
        lever = np.abs(scored(rows.astype(np.float64), parts))
        if weights is not None:
            left = left * (weights / WEIGHT_ONE)[:, None]
        squares = (lever * left / told.caps[:, 0]) ** 2
        squares = np.where(np.isfinite(squares), squares, 0.0)
        caps = told.squared
        steps = np.diff(caps, axis=1, prepend=0.0)
        filled = np.clip((squares[:, :, None] - (caps - steps)) / steps, 0.0, 1.0)  # of each step up to a cap
        whole = np.floor(np.nan_to_num(filled) * WHOLE).astype(np.int64)
        reached = np.minimum.accumulate(np.clip(whole, 0, WHOLE), axis=2)
        exact = -np.diff(reached.sum(axis=0), axis=1, append=0)
        drawn = gate.draw(self.noise, exact.ravel().tolist(), entropy)
        return np.array(drawn, np.float64).reshape(caps.shape) / WHOLE


@dataclass(frozen=True, eq=False)
class SandwichTerms:
    """Coefficients by noisy sums, and for each of the ``turn`` rows u: the part of x in u'b, and where it is cut.

    Attributes
    ----------
    sums : Sums
    turn : array of shape (coefficients, features)
    meat : Meat
        Whose noise says where parts are cut.
    rows : float
        Their number, public or noisy, for that cap.
    alike : float
        Most rows of one person, whose errors may be the same, times the factor of a sample's design.
    origin : array of shape (features,) or None
        The point that ``sums`` speak of, ``cross`` being that of what it leaves; None for the origin.
    left : float or None
        The sum of squares that is left, noisy; None for that of ``sums``.
    """

    sums: NoisySums
    turn: Floats
    meat: Meat
    rows: float
    alike: float = 1
    origin: Floats | None = None
    left: float | None = None

    @cached_property
    def inverse(self) -> Floats | None:
        """Inverse of the noisy X'X; None if it is singular or overflows."""
        try:
            found = np.asarray(np.linalg.inv(self.sums.gram))
        except np.linalg.LinAlgError:
            return None
        return found if np.isfinite(found).all() else None

    @cached_property
    def model(self) -> Floats:
        """Coefficients of the features from the origin; zeros where nothing is told."""
        if self.inverse is None:
            return np.zeros(self.sums.width)
        return np.asarray(self.inverse @ self.sums.cross)

    @cached_property
    def whole(self) -> Floats:
        """Coefficients of the features."""
        return self.model if self.origin is None else np.asarray(self.origin + self.model)

    @cached_property
    def n(self) -> float:
        return max(self.sums.n, 1.0)

    @cached_property
    def parts(self) -> tuple[Floats, ...]:
        """u'A^-1 for every coefficient."""
        inverse = np.zeros((self.sums.width,) * 2) if self.inverse is None else self.inverse
        return tuple(np.asarray(row @ inverse) for row in self.turn)

    @cached_property
    def caps(self) -> Floats:
        """Rising caps of a row's part of each coefficient, shape (coefficients, CAPS), > 0.

        The lowest is what the noise allows where errors are alike, the highest at least the largest possible part.
        """
        doubt = self.sums.of_rest(self.model) if self.left is None else 0.0
        left = self.sums.rest(self.model) if self.left is None else self.left
        mean = max(left, doubt, SMALLEST * self.n) / self.n
        found = []
        for part, row in zip(self.parts, self.turn, strict=True):
            usual = math.sqrt(max(float(part @ row), 0.0) / self.n)
            most = float(np.abs(part).sum()) * (1.0 + float(np.abs(self.whole).sum()))
            alone = mean * usual**2 * self.n  # the variance of sampling, were errors alike at every x
            whole = 1.0 + self._noisy(part) / max(alone, 1e-300)
            cap = min(self.meat.times(self.rows, whole) * math.sqrt(mean) * usual, most)
            low, most = (cap, most) if cap > SMALLEST * most else (1.0, max(most, 1.0))  # of what is not told, anything
            found.append(low * max((most / low) ** (1 / (CAPS - 1)), CLOSEST) ** np.arange(CAPS))
        return np.array(found)

    @cached_property
    def squared(self) -> Floats:
        """Squared caps, in units of the lowest."""
        return np.asarray((self.caps / self.caps[:, :1]) ** 2)

    def _noisy(self, part: Floats) -> float:
        """Variance of the noise of the sums in a coefficient, at the released model."""
        return float((self.sums.weights(part, self.model) ** 2).sum())

    def estimates(self, meat: Floats, start: Floats) -> tuple[Estimate | None, ...]:
        """Every coefficient with its interval; None where the noise hides it.

        Parameters
        ----------
        meat : array of float
            Noisy rows at each cap, shape (columns, CAPS).
        start : array of float
            Coefficients before the turn, shape (columns,).

        Returns
        -------
        tuple of Estimate or None
            One estimate or None for each coefficient.
        """
        found = []
        for at, row in enumerate(self.turn):
            ends = self._interval(at, *self._told(at, meat[at]))
            value = float(start[at] + row @ self.whole)
            found.append(None if ends is None else _estimate(value, *ends))
        return tuple(found)

    def _told(self, at: int, shares: Floats) -> tuple[float, float]:
        """The meat at the highest cap at which its noise is a share of it and of the noise of the sums; that noise.

        Where the last step up to that cap added more than noise, the next one is taken to add as much.
        """
        caps, unit = self.squared[at], float(self.caps[at, 0]) ** 2
        weights = np.minimum(caps[None, :], caps[:, None])
        meats, doubts = weights @ shares * unit, self.meat.deviation * np.linalg.norm(weights, axis=1) * unit
        fit = doubts <= ALLOWED * np.maximum(meats, 0.0) + UNSURE * self._noisy(self.parts[at])
        last = int(np.flatnonzero(fit).max(initial=0))
        beyond = meats[last] - meats[last - 1] - 2.0 * doubts[last] if 0 < last < CAPS - 1 else 0.0
        return float(meats[last] + max(beyond, 0.0)), float(doubts[last])

    def _interval(self, at: int, meat: float, doubt: float) -> tuple[float, float, float, float] | None:
        """Distances from the coefficient to the ends of its 95 % interval, and the variances of noise and sampling."""
        part, row, spare = self.parts[at], self.turn[at], self.n - self.sums.width
        if self.inverse is None or spare < FEWEST or not float(part @ row) > 0.0:
            return None
        way = np.asarray(part / float(part @ row))  # the change of the model that fits best for one of u'b by one
        apart = self.sums.weights(part, self.model + way) - self.sums.weights(part, self.model)
        if not AT_95 * float(np.linalg.norm(apart)) < math.sqrt(CLEAR):
            return None
        sampled, noisy = max(meat, 0.0), self._noisy(part)
        sampled = (sampled + doubt**2 / max(sampled + noisy, doubt, 1e-300)) * self.n / spare * self.alike
        low, high = (self._end(part, way, side, sampled, apart) for side in (-1.0, 1.0))
        if low is None or high is None:
            return None
        return low, high, noisy, sampled

    def _end(self, part: Floats, way: Floats, side: float, sampled: float, apart: Floats) -> float | None:
        half, hides = 0.0, float(np.linalg.norm(apart))
        for _ in range(ROUNDS):
            weights = self.sums.weights(part, self.model + side * half * way)
            noisy = float((weights**2).sum())
            variance = noisy + sampled
            shares = weights / math.sqrt(max(variance, 1e-300))  # at most 1, so that no power of it overflows
            excess = self.sums.tail * float((shares**4).sum())
            along = side * float(weights @ apart) / max(math.sqrt(variance) * hides, 1e-300)
            clear = 1 / max(hides, 1e-300) - AT_95 / math.sqrt(CLEAR)
            found = _deviations(excess, clear, along) * math.sqrt(variance)
            if not math.isfinite(found):
                return None
            if abs(found - half) <= NEAR * found:
                return found
            half = found
        return None


def _deviations(excess: float, clear: float, along: float) -> float:
    """Deviations of its error by which an end lies off; more where a truth there would seldom have had a reply.

    Parameters
    ----------
    excess : float
        Excess kurtosis of the error.
    clear : float
        Deviations of the noise of X'X by which the coefficient is told.
    along : float
        Correlation of that noise and the error on this side.
    """
    usual = float(_tailed(MISSED, excess)[0])
    if not along > 0.0 or clear >= usual * along:
        return usual
    least, most = _tailed(CHANCES, excess), _tailed(CHANCES / 20, excess)  # of all replies, and of 1 in 20
    held = least + clear / along <= most
    return max(usual, float(least[held].max(initial=0.0)) + clear / along)


def _tailed(chances: Floats, excess: float) -> Floats:
    """Deviations exceeded with these chances: between those of a normal law and of Laplace's, by excess kurtosis."""
    part = min(excess / LAPLACE, 1.0)
    normal = np.array([-NormalDist().inv_cdf(chance) for chance in chances.tolist()])
    return np.asarray((1.0 - part) * normal + part * np.log(0.5 / chances) / math.sqrt(2.0))


def _estimate(value: float, below: float, above: float, noisy: float, sampled: float) -> Estimate:
    return Estimate(value, value - below, value + above, AT_95 * math.sqrt(noisy), AT_95 * math.sqrt(sampled))


__all__ = ["Meat", "SandwichTerms"]
