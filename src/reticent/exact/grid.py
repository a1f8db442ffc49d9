"""A public grid of multiples of a power of two: where exact answers are put before integer noise is added.

The step depends on public numbers only. An answer x is moved to the nearest multiple, and a noisy index is turned back
into a rational. The low bits of a release therefore say nothing about x (Mironov 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from reticent.errors import PublicParameterError
from reticent.exact.coins import positive, rational

WIDEST = 4096  # a step of 2^4096 is a slip, and arithmetic with wider ones stops a machine


@dataclass(frozen=True, slots=True)
class Grid:
    """The multiples of ``2**exponent``.

    Parameters
    ----------
    exponent : int
        Base-2 logarithm of the step; may be negative.
    """

    exponent: int

    def __post_init__(self) -> None:
        if isinstance(self.exponent, bool) or not isinstance(self.exponent, int):
            raise PublicParameterError("the exponent of a grid must be an int")
        if abs(self.exponent) > WIDEST:
            raise PublicParameterError(f"the exponent of a grid must lie within {WIDEST} in size")

    @property
    def step(self) -> Fraction:
        """The distance of neighbouring grid points."""
        return Fraction(1 << self.exponent) if self.exponent >= 0 else Fraction(1, 1 << -self.exponent)

    def index(self, value: int | Fraction) -> int:
        """The number of the grid point nearest to ``value``; half-way cases go down.

        This is ``ceil(value / step - 1/2)``: monotone, and invariant under shifts by whole steps.
        """
        steps = rational(value, "value") / self.step
        return -((steps.denominator - 2 * steps.numerator) // (2 * steps.denominator))

    def at(self, index: int) -> Fraction:
        """The grid point of a number."""
        return index * self.step

    def round(self, value: int | Fraction) -> Fraction:
        """The grid point nearest to ``value``; half-way cases go down."""
        return self.at(self.index(value))

    def sensitivity(self, bound: int | Fraction) -> int:
        """Most steps between the rounded answers of two tables whose exact answers are within ``bound``.

        It is ``ceil(bound / step)``, and no smaller number will do.

        Notes
        -----
        Proof. Let f(x) = ceil(x - 1/2) in units of one step and 0 <= y - x <= d. Since ceil(a + d) <= ceil(a) + ceil(d)
        for all real a and d, f(y) - f(x) <= f(x + d) - f(x) <= ceil(d); and f is monotone, so it is not below 0.
        Attained by x = 1/2 and y = x + d: f(x) = 0 and f(y) = ceil(d).

        It rests on one rule for both ends that is invariant under whole steps, as "half-way cases go down" is. "Ties to
        even" is not: 1/2 goes to 0 and 3/2 to 2, two steps for a distance of one. :meth:`sensitivity_any` holds for
        any rule. Where ``bound`` is no whole number of steps the two agree, and 0 < bound < step costs a whole step:
        a fine answer near a half-way case does move.
        """
        steps = rational(bound, "bound") / self.step
        if steps < 0:
            raise PublicParameterError("a sensitivity must be >= 0")
        return -(-steps.numerator // steps.denominator)

    def sensitivity_any(self, bound: int | Fraction) -> int:
        """The same for any rounding to a nearest grid point, however ties are broken: ``floor(bound / step) + 1``.

        Notes
        -----
        Proof. Each end moves by at most half a step, so the two move apart by at most one step: the distance of the
        rounded answers is a whole number of steps, at most ``bound / step + 1``. Attained by ties to even, above.
        """
        steps = rational(bound, "bound") / self.step
        if steps < 0:
            raise PublicParameterError("a sensitivity must be >= 0")
        return steps.numerator // steps.denominator + 1

    def sensitivity_l1(self, bound: int | Fraction, dimension: int) -> int:
        """Most steps in all between two rounded vectors whose exact ones are within ``bound`` in the sum of moves.

        Notes
        -----
        Every coordinate that moves at all may add its own carry: the sum of ``ceil(d_j)`` over at most ``dimension``
        moving coordinates with sum of d_j at most d. Each term is below d_j + 1, so the sum is below d + ``dimension``
        and, being whole, at most ``ceil(d) + dimension - 1``. It is attained by ``dimension - 1`` tiny moves.
        """
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise PublicParameterError("the dimension must be an int >= 1")
        steps = self.sensitivity(bound)
        return steps + dimension - 1 if steps else 0

    def sensitivity_l2(self, bound: int | Fraction, dimension: int) -> Fraction:
        """A bound on the Euclidean distance in steps between two rounded vectors whose exact ones are within ``bound``.

        It is ``bound / step + sqrt(dimension)``, the root rounded up at 32 binary places.

        Notes
        -----
        Proof. Rounding moves a coordinate's difference d_j to a whole number of size below abs(d_j) + 1. The vector of
        differences thus moves by less than sqrt(dimension) in Euclidean norm; then the triangle inequality.
        """
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise PublicParameterError("the dimension must be an int >= 1")
        steps = rational(bound, "bound") / self.step
        if steps < 0:
            raise PublicParameterError("a sensitivity must be >= 0")
        if steps == 0:
            return Fraction(0)
        return steps + Fraction(isqrt((dimension << 64) - 1) + 1, 1 << 32)


def grid(scale: int | Fraction, *, places: int = 10) -> Grid:
    """The grid whose step is the largest power of two not above ``scale / 2**places``.

    Parameters
    ----------
    scale : int or Fraction
        The noise scale (or standard deviation) in the units of the answer, above 0; public.
    places : int
        How many binary places below the scale the grid lies. With 10, rounding adds less than a thousandth of the scale
        to an answer and at most 2/1024 of the scale to a sensitivity.
    """
    if isinstance(places, bool) or not isinstance(places, int):
        raise PublicParameterError("places must be an int")
    value = positive(scale, "scale")
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Grid(exponent).step > value:
        exponent -= 1
    return Grid(exponent - places)
