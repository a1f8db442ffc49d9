"""Arb's balls as the second opinion on certified bounds: a midpoint and a radius that provably hold the truth.

FLINT is written in C by other people, and shares neither code nor formulas with ``reticent.exact``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from flint import arb, ctx, fmpq, fmpz

Bounds: TypeAlias = tuple[Fraction, Fraction]
PRECISION = 6000  # bits: of e^-1000 some 4,500 are left, so a ball is far narrower than any bounds under test


def _rational(x: arb) -> Fraction:
    """The value of an exact ball."""
    mantissa, exponent = x.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _ends(x: arb) -> Bounds:
    assert x.is_finite()
    middle, radius = _rational(x.mid()), _rational(x.rad())
    return middle - radius, middle + radius


def _ball(x: Fraction) -> arb:
    return arb(fmpq(fmpz(x.numerator), fmpz(x.denominator)))


def _tail(z: arb) -> arb:
    return (z / arb(2).sqrt()).erfc() / 2


def exp(x: Fraction) -> Bounds:
    """Ends of the ball of e^x."""
    with ctx.workprec(PRECISION):
        return _ends(_ball(x).exp())


def log(x: Fraction) -> Bounds:
    """Ends of the ball of ln x."""
    with ctx.workprec(PRECISION):
        return _ends(_ball(x).log())


def sqrt(x: Fraction) -> Bounds:
    """Ends of the ball of the square root of x."""
    with ctx.workprec(PRECISION):
        return _ends(_ball(x).sqrt())


def pi() -> Bounds:
    """Ends of the ball of pi."""
    with ctx.workprec(PRECISION):
        return _ends(arb.pi())


def tail(z: Fraction) -> Bounds:
    """Ends of the ball of P(N > z)."""
    with ctx.workprec(PRECISION):
        return _ends(_tail(_ball(z)))


def density(z: Fraction) -> Bounds:
    """Ends of the ball of e^{-z^2/2} / sqrt(2 pi)."""
    with ctx.workprec(PRECISION):
        return _ends((-_ball(z * z / 2)).exp() / (2 * arb.pi()).sqrt())


def mills(z: Fraction) -> Bounds:
    """Ends of the ball of P(N > z) divided by the density at z."""
    with ctx.workprec(PRECISION):
        return _ends(_tail(_ball(z)) * (2 * arb.pi()).sqrt() * _ball(z * z / 2).exp())


def excess(mu: Fraction, x: Fraction) -> Bounds:
    """Ends of the ball of P(N > x/mu - mu/2) - e^x P(N > x/mu + mu/2)."""
    with ctx.workprec(PRECISION):
        return _ends(_tail(_ball(x / mu - mu / 2)) - _ball(x).exp() * _tail(_ball(x / mu + mu / 2)))


def log_cell(low: Fraction, high: Fraction) -> Bounds:
    """Ends of the ball of ln P(low < N < high)."""
    with ctx.workprec(PRECISION):
        return _ends((_tail(_ball(low)) - _tail(_ball(high))).log())


def coin(largest: Fraction, x: Fraction) -> Bounds:
    """Ends of the ball of (e^largest - e^x) / (1 + e^largest)."""
    with ctx.workprec(PRECISION):
        return _ends((_ball(largest).exp() - _ball(x).exp()) / (1 + _ball(largest).exp()))


def holds(bounds: Bounds, ball: Bounds) -> bool:
    """Whether the bounds contain the whole ball."""
    return bounds[0] <= ball[0] and ball[1] <= bounds[1]


def close(bounds: Bounds, ball: Bounds, bits: int) -> bool:
    """Whether the bounds contain the ball and are within 2^(8 - bits) of it."""
    return holds(bounds, ball) and bounds[1] - bounds[0] <= abs(ball[0]) * Fraction(2) ** (8 - bits)
