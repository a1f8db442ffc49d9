"""Budget of a fit and its shares: geometric noise on integers (pure), or discrete Gaussian noise (with delta).

    Price(epsilon, 0)       a share s of it is s epsilon            L1 sensitivities, losses add up
    Price(epsilon, delta)   a share s of it is s rho                L2 sensitivities, rhos add up, then one conversion
    a choice                a share s of either                     the exponential mechanism, epsilon^2 / 8 in zCDP

``rho`` is the greatest on a grid whose conversion is within (epsilon, delta). The guarantee of a fit is derived from
its parts (``whole``); the price is only a limit on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.rounding import sqrt_down
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import compose, convert
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.filters import Currency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import exact, positive
from reticent.privacy.sensitivity import L1, L2, Linf
from reticent.statistics.scaling import Norm

Noise: TypeAlias = Geometric | Gaussian


@dataclass(frozen=True, slots=True)
class Price:
    """The (epsilon, delta) a fit may cost about ``neighbours``; delta 0 is pure.

    With a delta, ``part`` of its rho is what shares are shares of: without one, epsilon is made smaller (``within``).
    ``currency`` is that in which the fit is charged: "zcdp" for rho, where a pure draw costs up to epsilon^2 / 2.
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: Adjacency
    part: Fraction = Fraction(1)
    currency: Currency = "approximate"

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if not 0 < exact(self.part, "part") <= 1:
            raise PublicParameterError("a part of a price lies above 0 and at most at 1")
        if not 0 <= exact(self.delta, "delta") < 1:
            raise PublicParameterError("delta must be 0, or lie between 0 and 1")
        if self.neighbours.kind == "local":
            raise PublicParameterError("a model is fitted to a table, about a person")

    def within(self, part: Fraction) -> Price:
        """A part of this price, for what is drawn beside other parts."""
        if not self.delta:
            return replace(self, epsilon=part * self.epsilon)
        return replace(self, part=part * self.part)

    @property
    def norm(self) -> Norm:
        """In which length of a row the noise is priced."""
        return "l2" if self.delta else "l1"

    @property
    def moves(self) -> int:
        """Number of rows by which the sums of two neighbours differ: those removed and those added."""
        return self.neighbours.rows * (2 if self.neighbours.kind == "substitute" else 1)

    def noise(self, row: Fraction, share: Fraction) -> Noise:
        """Noise for a sum over rows that cost ``share`` of the price; ``row`` is the most one row adds.

        ``row`` is a sum of sizes where the price is pure, and a sum of squares else.
        """
        if not 0 < exact(share, "share") <= 1:
            raise PublicParameterError("a share of a price lies above 0 and at most at 1")
        if not self.delta:
            return Geometric(L1(self.moves * row, self.neighbours), share * self.epsilon)
        rho = share * self.part * convert.rho_for(self.epsilon, self.delta)
        return Gaussian(L2(self.moves**2 * row, self.neighbours), rho)

    def choice(self, one: int, replaced: int, share: Fraction) -> Exponential:
        """A choice by integer scores that costs ``share`` of the price.

        ``one`` is the most a score moves when one row comes or goes, ``replaced`` when one is replaced. With a delta
        epsilon^2 / 8 of a choice, in zCDP, is within the share.

        Parameters
        ----------
        one : int
            Most that a score moves when a row comes or goes.
        replaced : int
            Most that a score moves when a row is replaced.
        share : Fraction
            Part of the price, in (0, 1].

        Returns
        -------
        Exponential

        Raises
        ------
        PublicParameterError
            A share outside (0, 1].
        """
        if not 0 < exact(share, "share") <= 1:
            raise PublicParameterError("a share of a price lies above 0 and at most at 1")
        kind = self.neighbours.kind
        bound = Linf(Fraction(self.neighbours.rows * (replaced if kind == "substitute" else one)), self.neighbours)
        if not self.delta:
            return Exponential(bound, share * self.epsilon)
        root = sqrt_down(8 * share * self.part * convert.rho_for(self.epsilon, self.delta))
        return Exponential(bound, Fraction(int(root * 10**6), 10**6))

    def whole(self, parts: Sequence[Guarantee], label: str) -> Guarantee:
        """The parts in sequence, as (epsilon, delta)."""
        if not self.delta:
            return compose.in_sequence(parts, label=label)
        found = compose.in_sequence([compose.in_zcdp(part) for part in parts], label=label)
        return convert.as_approx(found, self.delta)


def deviation(noise: Noise) -> float:
    """Standard deviation of the noise, in steps."""
    match noise:
        case Geometric():
            return math.sqrt(2.0) * float(noise.scale)
        case Gaussian():
            return math.sqrt(float(noise.variance))
        case _:
            assert_never(noise)


def noisy(noise: Noise, exact: NDArray[np.int64], entropy: Entropy) -> NDArray[np.float64]:
    """Whole numbers with noise, in the shape they came in.

    Parameters
    ----------
    noise : mechanism for integers
    exact : array of int
        Private.
    entropy : Entropy

    Returns
    -------
    array of the same shape, float
    """
    drawn = gate.draw(noise, exact.ravel().tolist(), entropy)
    return np.array(drawn, np.float64).reshape(exact.shape)


def known_people(neighbours: Adjacency, people: int | None, rows: int | None) -> int | None:
    """The public number of rows: that of the table where a row is a person who is replaced, else what was declared.

    Parameters
    ----------
    neighbours : Adjacency
    people : int or None
        The declared number.
    rows : int or None
        The number of rows of the table, where it was read.

    Returns
    -------
    int or None
    """
    if neighbours.kind == "substitute" and neighbours.rows == 1 and rows is not None:
        return rows
    return people


__all__ = ["Noise", "Price", "deviation", "known_people", "noisy"]
