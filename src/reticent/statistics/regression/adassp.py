"""AdaSSP: least squares from noisy sums of products, where public bounds of all columns exist.

    sums      X'X, X'y and y'y of columns moved into [-1, 1] by their bounds, as integers, with geometric noise (pure)
              or discrete Gaussian noise (zCDP, stated as epsilon and delta), in one draw
    ridge     added where the least eigenvalue of the noisy X'X is not well above its noise; no reply where it is below
    interval  sampling, the noise in both sums and the ridge's bias, by the sandwich of the noisy X'X

Intervals. Let E be the noise of X'X, e that of X'y, and let A be the noisy X'X with ridge L added. Write G = A - E - L
for the exact matrix. The error of the released coefficients beta is exactly G^-1 (X' errors + e - (E + L) beta).
Sampling has covariance s2 G^-1 if errors have the same variance at every x. The noisy sums estimate s2, which is raised
by one standard deviation of its noise. The covariance of e - E beta is known. The ridge's part is added to both ends.
G^-1 is unknown: it is (1 - K)^-1 A^-1 with K = A^-1 (E + L). So A^-1 takes its place, and the half-width is divided by
1 - k. Here k bounds the norm of K by the spectral norm of the noise. If k is more than ``MOST``, noise dominates the
coefficients and there is no reply.

Source: Wang 2018, Algorithm 1. Deviations: one draw of all sums, discrete noise, tighter sensitivities, intervals.
Under an intercept the columns are centred by their bounds. No reply takes the place of a ridge that decides the answer.
Proof: docs/proofs/regression.md, section 12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy import convert
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import exact, positive
from reticent.privacy.sensitivity import L1, L2
from reticent.statistics.intervals import FEWEST, normal_half_width
from reticent.statistics.regression.coefficients import Coefficients, Floats, RegressionDesign
from reticent.statistics.regression.rows import Integers

UNIT: Final = 1 << 12  # a value at its bound is so many steps
MOST: Final = 0.9  # of k, the share of the released products that noise and ridge may be
SURE: Final = 2.0  # least eigenvalues of so many spectral norms of the noise need no ridge


@dataclass(frozen=True)
class AdaSSP:
    """Coefficients by AdaSSP for ``epsilon``, and ``delta`` where it is above 0; ``bounds`` of every column, y first.

    Guarantee
    ---------
    epsilon-differential privacy by geometric noise; with delta > 0, (epsilon, delta) by discrete Gaussian noise and the
    conversion of zCDP.
    """

    design: RegressionDesign
    bounds: tuple[tuple[Fraction, Fraction], ...]
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if not 0 <= exact(self.delta, "delta") < 1:
            raise PublicParameterError("delta must be 0, or lie between 0 and 1")
        if len(self.bounds) != len(self.design.units) or any(low >= high for low, high in self.bounds):
            raise PublicParameterError("AdaSSP needs bounds low < high of every column, y first")

    @property
    def columns(self) -> int:
        """Number of columns of the table of products: one for each coefficient, and y."""
        return len(self.design.names) + 1

    @cached_property
    def mechanism(self) -> Geometric | Gaussian:
        """One draw for the upper triangle of the products."""
        d, near, unit = self.columns, self.design.terms.neighbours, Fraction(UNIT) ** 2
        rows, swap = near.rows, near.kind == "substitute"
        if not self.delta:
            moved = d + 2 * (d * d // 4) if swap else d * (d + 1) // 2
            return Geometric(L1(rows * moved * unit, near), self.epsilon)
        squared = Fraction(2 * d * d + d if swap else d * (d + 1), 2)
        return Gaussian(L2(rows**2 * squared * unit**2, near), convert.rho_for(self.epsilon, self.delta))

    @property
    def guarantee(self) -> Guarantee:
        own = self.mechanism.guarantee
        return own if not self.delta else convert.as_approx(own, self.delta)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of one sum, in products of columns."""
        match self.mechanism:
            case Geometric() as mechanism:
                return math.sqrt(2.0) * float(mechanism.scale) / UNIT**2
            case Gaussian() as mechanism:
                return math.sqrt(float(mechanism.variance)) / UNIT**2

    def draw(self, table: Integers, entropy: Entropy) -> Outcome[Coefficients]:
        """The coefficients, or no reply where the noise hides that the columns differ from each other."""
        drawn = gate.draw(self.mechanism, self.products(table), entropy)
        sums = np.zeros((self.columns, self.columns))
        sums[np.triu_indices(self.columns)] = np.array(drawn, np.float64) / UNIT**2
        sums = sums + np.triu(sums, 1).T
        gram, cross, square = sums[:-1, :-1], sums[:-1, -1], float(sums[-1, -1])
        noise = 2.0 * self.deviation * math.sqrt(self.columns - 1)  # the spectral norm of a symmetric matrix of noise
        least = float(np.linalg.eigvalsh(gram)[0])
        n = float(gram[0, 0]) if self.design.intercept else float(self.design.size)
        if least <= noise or n < FEWEST:
            return NO_REPLY
        ridge = max(0.0, SURE * noise - least)
        off = (noise + ridge) / (least + ridge)
        if off > MOST:
            return NO_REPLY
        inverse = np.asarray(np.linalg.inv(gram + ridge * np.eye(len(gram))), np.float64)
        beta = np.asarray(inverse @ cross, np.float64)
        found = self._coefficients(beta, inverse, self.spread(beta, gram, cross, square) / n, ridge, 1.0 / (1.0 - off))
        return Reply(found)

    def products(self, table: Integers) -> tuple[int, ...]:
        """The upper triangle of the sums of products of (1, columns, y), in steps; a row adds its own products."""
        kept, there = self.design.held(table)
        columns = []
        for place, (middle, half) in enumerate(self.frame):
            unit = float(self.design.units[place])
            moved = np.clip((kept[there, place] * unit - middle) / half, -1.0, 1.0)
            columns.append(np.rint(moved * UNIT).astype(np.int64))
        constant = [np.full(int(there.sum()), UNIT, np.int64)] if self.design.intercept else []
        values = np.column_stack([*constant, *columns[1:], columns[0]])
        rows, cols = np.triu_indices(self.columns)
        return tuple(int(part) for part in (values.T @ values)[rows, cols])

    @property
    def frame(self) -> tuple[tuple[float, float], ...]:
        """Middle and half-width of every column; the middle is 0 where no constant takes it up."""
        if self.design.intercept:
            return tuple((float(low + high) / 2, float(high - low) / 2) for low, high in self.bounds)
        return tuple((0.0, float(max(abs(low), abs(high)))) for low, high in self.bounds)

    def spread(self, beta: Floats, gram: Floats, cross: Floats, square: float) -> float:
        """The sum of squares that is left, and one standard deviation of its noise.

        Parameters
        ----------
        beta : array of float
            Coefficients, shape (columns,).
        gram : array of float
            Noisy x'x, shape (columns, columns).
        cross : array of float
            Noisy x'y, shape (columns,).
        square : float
            Noisy y'y.

        Returns
        -------
        float
            Squared units of y.
        """
        left = square - 2.0 * float(beta @ cross) + float(beta @ gram @ beta)
        return max(left, 0.0) + self.deviation * (1.0 + float(beta @ beta))

    def _coefficients(self, beta: Floats, inverse: Floats, variance: float, ridge: float, times: float) -> Coefficients:
        """Back in units of the columns; half-widths are ``times`` those by the noisy products."""
        of_noise = np.outer(beta, beta)
        np.fill_diagonal(of_noise, 1.0 + float(beta @ beta))
        private = self.deviation**2 * inverse @ of_noise @ inverse
        bias = ridge * inverse @ beta
        start, turn = self.back()
        values, skew = start + turn @ beta, np.abs(turn @ bias)
        sampled = self.design.terms.rows * variance * np.diag(turn @ inverse @ turn.T)
        noisy = np.diag(turn @ private @ turn.T)
        estimates = tuple(
            estimate(float(v), times**2 * float(s), times**2 * float(p), times * float(b))
            for v, s, p, b in zip(values, sampled, noisy, skew, strict=True)
        )
        words = "least squares from noisy sums of products" + (", with a ridge" if ridge else "")
        return Coefficients(self.design.names, estimates, words)

    def back(self) -> tuple[Floats, Floats]:
        """The coefficients of the columns are start + turn @ those of columns in [-1, 1]."""
        (middle, half), *others = self.frame
        scale = [half / width for _, width in others]
        if not self.design.intercept:
            return np.zeros(len(scale)), np.diag(scale)
        turn = np.diag([half, *scale])
        turn[0, 1:] = [-part * centre for part, (centre, _) in zip(scale, others, strict=True)]
        return np.array([middle, *[0.0] * len(scale)]), turn


def estimate(value: float, sampled: float, noisy: float, skew: float) -> Estimate:
    """An estimate from the variances of sampling and noise, and a bias of unknown sign.

    Parameters
    ----------
    value : float
    sampled, noisy : float
        Variances of sampling and of noise.
    skew : float
        Greatest size of the bias.

    Returns
    -------
    Estimate
    """
    half = normal_half_width(sampled + noisy) + skew
    return Estimate(value, value - half, value + half, normal_half_width(noisy) + skew, normal_half_width(sampled))
