"""Least squares of bounded columns, behind ``regress`` and ``LinearRegression``: sums, coefficients, intervals.

    products   sums of products, by cells or one by one                 17/20 of the price, or all of it
    meat       the spread of errors beside every coefficient            3/20
    mean       the sum of y and the number of rows, in place of both, where a public number of rows is too small

A coefficient that the noise does not hide is the least-squares one with its interval. The others have no interval;
where numbers are wanted all the same they are shrunk by a ridge (``least_squares``). Which rows lack a value is never
public unless the curator says that none does: then the number of rows is known, and else it is bought with the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.outcome import Estimate
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.price import Noise, Price, deviation
from reticent.statistics.regression.frame import Frame
from reticent.statistics.regression.least_squares import shrunk, solved
from reticent.statistics.regression.products import Products
from reticent.statistics.regression.sandwich import Meat, SandwichTerms
from reticent.statistics.regression.sums import NoisySums
from reticent.statistics.scaling import UNIT, Floats, Integers

MEAT: Final = Fraction(3, 20)
WORTH: Final = 12.0  # no slopes where the noise of a sum of x y is more than one row in so many


@dataclass(frozen=True, slots=True, eq=False)
class SquaresFit:
    """Coefficients in units of the columns, the intercept first if any, each with its estimate or None.

    ``n`` is the number of rows that lack nothing, noisy or known.
    """

    values: Floats
    estimates: tuple[Estimate | None, ...]
    n: float


@dataclass(frozen=True)
class LeastSquares:
    """Least squares of the columns of ``frame``.

    Attributes
    ----------
    frame : Frame
    price : Price
    people : int or None
        A public number of rows, by which ways and shares are chosen.
    complete : bool
        Whether it is public that each of these rows lacks nothing.
    clip : Fraction or None
        Length of the longest row without the constant: a sum of sizes where the price is pure, else Euclidean. None
        for what bounds allow.
    times : Fraction or None
        The factor of the design by which weighted rows were drawn; None where every row counts once. ``people`` is
        then the most that weights can come to, in units of the largest.

    Guarantee
    ---------
    Within the price: noisy sums, then a noisy meat cut where the sums say, in sequence.
    """

    frame: Frame
    price: Price
    people: int | None = None
    complete: bool = False
    clip: Fraction | None = None
    times: Fraction | None = None

    def __post_init__(self) -> None:
        if self.people is not None and self.people < 1:
            raise PublicParameterError(f"people must be >= 1, got {self.people}")
        if self.complete and self.people is None:
            raise PublicParameterError("rows that lack nothing are a public number of rows")
        if self.complete and self.weighted:
            raise PublicParameterError("what weights come to is not public")

    @property
    def weighted(self) -> bool:
        """True if rows have weights."""
        return self.times is not None

    @property
    def known(self) -> int | None:
        return self.people if self.complete else None

    @property
    def errors(self) -> str:
        """Words of a plan about errors: none, as they are not cut."""
        return ""

    def hidden(self, rows: int) -> float:
        """Relative noise of the squares and products of ``rows`` rows of usual columns."""
        return self.products.hidden(rows)

    def error(self) -> float:
        """Error of a slope, times rows, for columns of a usual spread."""
        return self.products.error(self.products.way)

    @cached_property
    def products(self) -> Products:
        return Products(self.frame, self.price, self.clip, self.known, 1 - MEAT)

    @property
    def noise_of_sums(self) -> NoisySums:
        """The sums of no rows, with their noise."""
        return self.products.noise

    @cached_property
    def meat(self) -> Meat:
        return Meat(self.price, len(self.frame.features), MEAT)

    @cached_property
    def hopeless(self) -> bool:
        """True if the public number of rows is too small for any slope."""
        if self.people is None:
            return False
        products = self.products
        return WORTH * products.noise_of_cross > self.people

    @cached_property
    def averaging(self) -> Noise:
        """Noise of the sum of y and, if the number of rows is private, of that number."""
        many, one = 1 + int(self.known is None), Fraction(UNIT)
        return self.price.noise(many * (one**2 if self.price.norm == "l2" else one), Fraction(1))

    @property
    def noise_of_rows(self) -> float | None:
        """Standard deviation of the noise in the number of complete rows; None where none is bought by itself."""
        return deviation(self.averaging) / UNIT if self.hopeless else self.products.noise_of_rows

    @cached_property
    def guarantee(self) -> Guarantee:
        parts = [self.averaging.guarantee] if self.hopeless else [*self.products.guarantees, self.meat.noise.guarantee]
        return self.price.whole(parts, "noisy sums of products")

    def draw(self, values: Floats, targets: Floats, entropy: Entropy, weights: Integers | None = None) -> SquaresFit:
        """The coefficients from rows of shape (n, blocks), keys by their place, and y of shape (n,).

        Parameters
        ----------
        values : array of shape (n, blocks), float
            Features; keys by their place.
        targets : array of shape (n,), float
        entropy : Entropy
        weights : array of shape (n,), int, optional
            From 0 to ``WEIGHT_ONE``, of weighted rows.

        Returns
        -------
        SquaresFit
        """
        assert (weights is not None) == self.weighted
        start, turn = self.frame.back
        held = self.frame.held(values, targets, weights)
        if self.hopeless:
            return self._mean(held.y, entropy)
        sums = self.products.draw(held, entropy)
        n = max(sums.n, 1.0) if self.people is None or self.weighted else float(self.people)
        alike = self.price.neighbours.rows * float(1 if self.times is None else self.times)
        told = SandwichTerms(sums, turn, self.meat, n, alike)
        meat = self.meat.draw(self.frame.featured(held), held.y, told, entropy, held.weights)
        estimates = told.estimates(meat, start)
        model = told.model if None not in estimates else solved(sums, intercept=self.frame.intercept)
        return SquaresFit(start + turn @ model, estimates, sums.n)

    def _mean(self, y: np.ndarray[tuple[int], np.dtype[np.int64]], entropy: Entropy) -> SquaresFit:
        """The mean of y, and no slopes."""
        exact = [int(y.sum()), *([len(y) * UNIT] if self.known is None else [])]
        drawn = [value / UNIT for value in gate.draw(self.averaging, exact, entropy)]
        n, doubt = float(self.known or drawn[-1]), deviation(self.averaging) / UNIT
        n = max(n, doubt, 1.0)
        start, turn = self.frame.back
        model = np.zeros(len(self.frame.features))
        if self.frame.intercept:
            model[0] = shrunk(drawn[0] / n, doubt / n)
        return SquaresFit(start + turn @ model, (None,) * len(model), n)


__all__ = ["SquaresFit", "LeastSquares"]
