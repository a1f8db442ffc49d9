"""A linear model by noisy gradient descent: sums of clipped gradients as integers, with noise, in public steps.

    count     the number of rows, where it is private and was not declared
    fixed     for two classes: the half of the gradient that is the same everywhere, bought once; at 0 it is all of it
    descent   ``steps`` noisy gradients (of the other half), momentum, the mean of the last half of the way
    refined   for intervals: a noisy curvature at that point, one more noisy gradient, and a step of Newton's

    gradient = sum over rows of x r,   x a row of integers no longer than ``clip``, r the slope of its loss, in integers

The sum is exact (``scaling.product``), its sensitivity is the product of two lengths that were computed in integers,
and everything after the noise is post-processing. With delta the noise is discrete Gaussian and rhos add up over the
steps; without, it is geometric and epsilons do. docs/proofs/learning.md, sections 2 to 4.

Source: Bassily, Smith and Thakurta 2014 (noisy gradients); Bun and Steinke 2016 (composition); Nesterov 1983.
Deviations: whole batches, no sampling of rows; integers; the mean of the last half is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.convex import losses
from reticent.statistics.convex.intervals import ScoreKnowledge, curvature, moved, spread_of, whole
from reticent.statistics.convex.losses import Loss
from reticent.statistics.price import Noise, Price, deviation
from reticent.statistics.scaling import UNIT, Floats, Integers, Scaling, longest, product, scored, shortened

MOMENTUM: Final = 0.9
PACE: Final = 4.0  # steps of so many times what is safe for any rows, until noisy gradients grow
FURTHER: Final = 1.5
COUNT: Final = Fraction(1, 50)  # of the price, for a private number of rows
CURVATURE: Final = Fraction(3, 10)
LAST: Final = Fraction(3, 10)
FIXED: Final = Fraction(1, 5)  # of the descent, pure, for the half of the gradient that does not move
FIXED_SQUARED: Final = Fraction(2, 5)  # the same, of its rho
MOST_STEPS: Final = 60
LAPLACE: Final = 3.0  # excess kurtosis
UNWEIGHED: Final = "intervals are known for rows that all count alike: leave out the weights, or the intervals"


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit:
    """A fitted linear model of scaled columns: coefficients of shape (scores, width), covariances where intervals are.

    ``sampled`` and ``noisy`` are covariances of the one score's coefficients, due to sampling and to noise; ``around``
    stands in their place where intervals come from a curvature.
    """

    scaled: Floats
    rows: float
    sampled: Floats | None = None
    noisy: Floats | None = None
    around: ScoreKnowledge | None = None


@dataclass(frozen=True)
class Descent:
    """Noisy gradient descent of ``loss`` on rows scaled by ``scaling``.

    Attributes
    ----------
    loss : Loss
    scaling : Scaling
    price : Price
    clip : Fraction
        Length of the longest row in units of a bound: a sum of sizes where the price is pure, a Euclidean length else.
    penalty : Fraction
        Of half the squared length of the coefficients, intercept left out; >= 0.
    people : int or None
        The public number of rows; None buys one.
    steps : int or None
        Of the descent; None for a public rule.
    refined : bool
        Whether the curvature is bought for intervals.

    Guarantee
    ---------
    Within the price: geometric noise and adding up, or discrete Gaussian noise, zCDP and one conversion.
    """

    loss: Loss
    scaling: Scaling
    price: Price
    clip: Fraction
    penalty: Fraction = Fraction(1)
    people: int | None = None
    steps: int | None = None
    refined: bool = False
    expected: int = field(default=10_000)

    def __post_init__(self) -> None:
        if self.clip <= 0 or self.penalty < 0:
            raise PublicParameterError("clip must be > 0 and a penalty >= 0")
        if self.steps is not None and not 1 <= self.steps <= 10_000:
            raise PublicParameterError(f"steps must lie in 1..10,000, got {self.steps}")
        if self.people is not None and self.people < 1:
            raise PublicParameterError(f"people must be >= 1, got {self.people}")
        if self.refined:
            losses.curvatures(self.loss, np.zeros((1, 1)), np.zeros(1))
            if losses.bend(self.loss) > 1:
                raise PublicParameterError("intervals need a loss whose curvature is at most 1")

    # --- the price ------------------------------------------------------------------------------------------------

    @cached_property
    def reach(self) -> Fraction:
        """The greatest length of a row in steps, squared for l2."""
        given = (self.clip * UNIT) ** 2 if self.price.norm == "l2" else self.clip * UNIT
        return min(Fraction(int(given)), longest(self.scaling.width, self.price.norm))

    @cached_property
    def rounds(self) -> int:
        """Number of steps: the given number, or as many as a public estimate of the noise allows."""
        if self.steps is not None:
            return self.steps
        n = self.people or self.expected
        epsilon = float(self.price.epsilon)
        length = math.sqrt(float(self.reach)) if self.price.delta else float(self.reach)
        share = math.sqrt(float(self.going)) if self.price.delta else float(self.going)
        strength = share * n * epsilon * UNIT / length / (self.price.moves / self.price.neighbours.rows)
        found = math.sqrt(strength) / 1.7 if self.price.delta else 1.8 * strength ** (1 / 3)
        return max(3, min(MOST_STEPS, round(found)))

    @cached_property
    def counting(self) -> Noise | None:
        return None if self.people is not None else self.price.noise(Fraction(1), COUNT)

    @property
    def left(self) -> Fraction:
        """The share of the descent and of what follows it."""
        return Fraction(1) if self.counting is None else 1 - COUNT

    @property
    def going(self) -> Fraction:
        """The share of the descent."""
        return self.left * (1 - CURVATURE - LAST if self.refined else 1)

    @cached_property
    def half(self) -> Fraction:
        """The share of the descent that buys the fixed half of the gradient, for two classes."""
        if not losses.halves(self.loss):
            return Fraction(0)
        return (
            Fraction(1)
            if self.rounds == 1
            else FIXED_SQUARED
            if self.price.delta
            else max(FIXED, 1 / Fraction(self.rounds))
        )

    @cached_property
    def slope(self) -> Fraction:
        """The greatest length of what one row adds to a gradient of the descent; for l2 its square."""
        whole = self.reach * losses.most(self.loss, self.price.norm)
        if not losses.halves(self.loss):
            return whole
        return whole / (4 if self.price.norm == "l2" else 2)

    @cached_property
    def once(self) -> Noise | None:
        """Noise of the fixed half of the gradient."""
        return self.price.noise(self.slope, self.going * self.half) if self.half else None

    @cached_property
    def bought(self) -> int:
        """Gradients bought one by one: all, but for the first where that is the fixed half."""
        return self.rounds - (self.once is not None)

    @cached_property
    def each(self) -> Noise:
        """Noise of one gradient of the descent."""
        return self.price.noise(self.slope, self.going * ((1 - self.half) / self.bought if self.bought else 1))

    @cached_property
    def last(self) -> Noise | None:
        """Noise of the gradient at the end."""
        if not self.refined:
            return None
        return self.price.noise(self.reach * losses.most(self.loss, self.price.norm), self.left * LAST)

    @cached_property
    def curved(self) -> Noise | None:
        """Noise of the upper triangle of the curvature."""
        if not self.refined:
            return None
        row = moved(self.loss, self.reach, self.scaling.width, self.price.norm, self.price.neighbours)
        return self.price.noise(row, self.left * CURVATURE)

    @cached_property
    def parts(self) -> tuple[Guarantee, ...]:
        """Guarantees of all draws."""
        single = [self.counting, self.once, self.curved, self.last]
        return (*[self.each.guarantee] * self.bought, *[noise.guarantee for noise in single if noise is not None])

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.price.whole(self.parts, "noisy gradient descent")

    # --- the fit --------------------------------------------------------------------------------------------------

    def draw(self, values: Floats, targets: Floats, entropy: Entropy, shares: Integers | None = None) -> LinearFit:
        """The model from rows of shape (n, columns) and targets of shape (n,).

        Shares are cut to [0, UNIT]: no row counts more than whole.

        Parameters
        ----------
        values : array of float
            Rows in the units of the columns, shape (n, columns).
        targets : array of float
            Targets, shape (n,); NaN where a row has none.
        entropy : Entropy
            Source of the noise.
        shares : array of int, optional
            Shares of the losses of the rows, in steps, shape (n,); None for whole losses.

        Returns
        -------
        LinearFit
            Coefficients in steps, and the number of rows.

        Raises
        ------
        PublicParameterError
            Shares beside a fit with intervals.
        """
        if shares is not None and self.refined:
            raise PublicParameterError(UNWEIGHED)
        rows = shortened(self.scaling.whole(values), self.reach, self.price.norm)
        rows = np.asarray(np.where(np.isfinite(targets)[:, None], rows, 0))
        n = float(self.people or self.counted(len(rows), entropy))
        data = rows.astype(np.float64)  # the same whole numbers, so that products of doubles are exact
        way = self.way(data, targets, n, entropy, None if shares is None else np.clip(shares, 0, UNIT))
        if self.last is None or self.curved is None:
            return LinearFit(way, n)
        exact = curvature(self.loss, rows, data, targets, way)
        bent = whole(gate.draw(self.curved, exact.tolist(), entropy), self.scaling.width)
        slope = self.gradient(data, targets, way, self.last, entropy)
        around = ScoreKnowledge(
            at=way[0],
            push=-slope[0],
            bent=bent,
            away=np.zeros(self.scaling.width),
            pull=self.pull(way.shape)[0],
            loud=deviation(self.last) / UNIT**2,
            off=deviation(self.curved) / UNIT**2,
            tail=0.0 if self.price.delta else LAPLACE,
            alike=self.price.neighbours.rows,
        )
        return LinearFit(around.values[None, :], n, around=around)

    def counted(self, rows: int, entropy: Entropy) -> float:
        assert self.counting is not None
        (found,) = gate.draw(self.counting, (rows,), entropy)
        return max(float(found), 1.0)

    def gradient(
        self,
        data: Floats,
        targets: Floats,
        at: Floats,
        noise: Noise,
        entropy: Entropy,
        shares: Integers | None = None,
    ) -> Floats:
        """The noisy sum of gradients at coefficients of shape (scores, width), in units of bounds.

        Parameters
        ----------
        data : array of float
            Rows in steps, shape (n, width).
        targets : array of float
            Targets, shape (n,).
        at : array of float
            Coefficients, shape (scores, width).
        noise : Noise
            Noise of each coordinate.
        entropy : Entropy
            Source of the noise.
        shares : array of int, optional
            Shares of the losses of the rows, in steps, shape (n,); None for whole losses.

        Returns
        -------
        array of float
            Shape (scores, width).
        """
        steps = of_shares(losses.slopes(self.loss, scored(data, at), targets, self.price.norm), shares)
        return _noisy(noise, product(steps, data), entropy)

    def way(self, data: Floats, targets: Floats, n: float, entropy: Entropy, shares: Integers | None = None) -> Floats:
        """The mean of the last half of the descent.

        Parameters
        ----------
        data : array of float
            Rows in steps, shape (n, width).
        targets : array of float
            Targets, shape (n,).
        n : float
            Number of rows, public or noisy.
        entropy : Entropy
            Source of the noise.
        shares : array of int, optional
            Shares of the losses of the rows, in steps, shape (n,); None for whole losses.

        Returns
        -------
        array of float
            Coefficients, shape (scores, width), in units of bounds.
        """
        shape = (losses.scores_of(self.loss), self.scaling.width)
        at, speed, mean = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        squared = float(self.reach) / UNIT**2 if self.price.delta else float(self.reach) / UNIT
        steepest = losses.bend(self.loss) * min(squared, float(self.scaling.width)) * n
        pull, pace = self.pull(shape), PACE
        loud = deviation(self.each) / UNIT**2 * math.sqrt(at.size)
        same = self.same(data, targets, entropy, shares)
        first, limit = self.rounds // 2, 0.0
        for place in range(self.rounds):
            ahead = at + MOMENTUM * speed
            if same is None:
                slope = self.gradient(data, targets, ahead, self.each, entropy, shares) + pull * ahead
            else:
                slope = same + pull * ahead
                if place:  # at 0 nothing moves yet
                    slope = slope + self.movement(data, targets, ahead, entropy, shares)
            size = float(np.linalg.norm(slope))
            limit = limit or FURTHER * (size + loud)
            if size > limit and pace > 1:  # too fast for these rows: begin again, slower
                pace, at, speed, mean = pace / 2, np.zeros(shape), np.zeros(shape), np.zeros(shape)
                first = place + 1 + (self.rounds - place - 1) // 2
                continue
            speed = MOMENTUM * speed - pace / (steepest + float(self.penalty)) * slope
            at = at + speed
            if place >= first:
                mean += at
        return mean / (self.rounds - first) if self.rounds > first else at

    def same(self, data: Floats, targets: Floats, entropy: Entropy, shares: Integers | None) -> Floats | None:
        """The noisy half of the gradient that does not move, for two classes.

        Parameters
        ----------
        data : array of float
            Rows in steps, shape (n, width).
        targets : array of float
            Targets, shape (n,).
        entropy : Entropy
            Source of the noise.
        shares : array of int or None
            Shares of the losses of the rows, in steps, shape (n,); None for whole losses.

        Returns
        -------
        array of float or None
            Shape (scores, width), or None for a loss without such a half.
        """
        if self.once is None:
            return None
        return _noisy(self.once, product(of_shares(losses.fixed(targets), shares), data), entropy)

    def movement(self, data: Floats, targets: Floats, at: Floats, entropy: Entropy, shares: Integers | None) -> Floats:
        """The noisy half of the gradient that moves, for two classes.

        Parameters
        ----------
        data : array of float
            Rows in steps, shape (n, width).
        targets : array of float
            Targets, shape (n,).
        at : array of float
            Coefficients, shape (scores, width).
        entropy : Entropy
            Source of the noise.
        shares : array of int or None
            Shares of the losses of the rows, in steps, shape (n,); None for whole losses.

        Returns
        -------
        array of float
            Shape (scores, width).
        """
        steps = of_shares(losses.moving(scored(data, at), targets), shares)
        return _noisy(self.each, product(steps, data), entropy)

    def pull(self, shape: tuple[int, int]) -> Floats:
        """The penalty of every coefficient; none of the intercept."""
        pull = np.full(shape, float(self.penalty))
        if self.scaling.intercept:
            pull[:, 0] = 0.0
        return pull


def of_shares(steps: Integers, shares: Integers | None) -> Integers:
    """Slopes in steps times the share of every row, towards zero: no longer than they were."""
    if shares is None:
        return steps
    return np.asarray(np.sign(steps) * (np.abs(steps) * shares[:, None] // UNIT))


def _noisy(noise: Noise, exact: Integers, entropy: Entropy) -> Floats:
    drawn = gate.draw(noise, exact.ravel().tolist(), entropy)
    return np.array(drawn, np.float64).reshape(exact.shape) / UNIT**2


__all__ = ["Descent", "LinearFit", "spread_of"]
