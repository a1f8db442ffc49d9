"""Certified bounds on exp, log and square root of rationals: the rounding direction is in the name.

Each function works in integers scaled by 2**bits and keeps a lower and an upper bound through every step. Hence
``exp_down(x) <= e^x <= exp_up(x)`` holds without trust in any library's last digit. Relative width is below 2**-(bits -
16) for the arguments privacy parameters have.

Everything a sampler decides near a boundary is decided by ``scaled_exp_bounds``: its bounds are integers, they enclose
the true value strictly, and asking for more bits always separates two different numbers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Final

BITS: Final = 128


def scaled_exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers ``(low, high)`` with ``low < exp(-x) * 2**bits < high``; both are ``2**bits`` where x = 0.

    Parameters
    ----------
    x : Fraction
        At least 0.
    bits : int
        Binary places; ``high - low`` is 1 or 2, with rare exceptions of a few units.

    Notes
    -----
    x is halved r times until it is below 1/256, where the alternating Taylor series is summed in fixed point with
    ``work`` places; T terms cost at most 2T + 4 units. Squaring r times returns to x: lower bounds are rounded down
    and upper bounds up, and the relative width grows by 2**r, which ``work`` pays for.
    """
    over, under = x.numerator, x.denominator
    if over == 0:
        return (1 << bits, 1 << bits)
    if over >= bits * under:  # exp(-x) <= exp(-bits) < 2**-bits
        return (0, 1)
    halvings = max(0, over.bit_length() - under.bit_length() + 9)
    work = bits + halvings + 24
    y = (over << work) // (under << halvings)
    one = 1 << work
    total, term, terms = one, one, 0
    while term:
        terms += 1
        term = ((term * y) >> work) // terms
        total += -term if terms & 1 else term
    slack = 2 * terms + 4
    low, high = total - slack, min(total + slack, one)
    for _ in range(halvings):
        low = (low * low) >> work
        high = -((-high * high) >> work)
    drop = work - bits
    return (max(low, 0) >> drop, -((-high) >> drop))


def exp_floor(x: Fraction, bits: int) -> int:
    """The integer part of ``exp(-x) * 2**bits``, exactly.

    It ends because exp(-x) is irrational for rational x other than 0 (Lindemann), so some precision decides.
    """
    if x == 0:
        return 1 << bits
    guard = 32
    while True:
        low, high = scaled_exp_bounds(x, bits + guard)
        if low >> guard == (high - 1) >> guard:
            return low >> guard
        guard *= 2


def exp_bounds(x: Fraction, bits: int = BITS) -> tuple[Fraction, Fraction]:
    """Rational lower and upper bounds of e^x."""
    if x == 0:
        return Fraction(1), Fraction(1)
    places = bits + 8 + (abs(x) * 3 / 2).__ceil__()  # e^-|x| is above 2^-(3/2)|x|, so ``bits`` of it are kept
    low, high = (Fraction(bound, 1 << places) for bound in scaled_exp_bounds(abs(x), places))
    return (low, high) if x < 0 else (1 / high, 1 / low)


def exp_up(x: Fraction, bits: int = BITS) -> Fraction:
    """A rational at or above e^x."""
    return exp_bounds(x, bits)[1]


def exp_down(x: Fraction, bits: int = BITS) -> Fraction:
    """A rational at or below e^x."""
    return exp_bounds(x, bits)[0]


def log_bounds(x: Fraction, bits: int = BITS) -> tuple[Fraction, Fraction]:
    """Rational lower and upper bounds of ln x, x > 0."""
    if x <= 0:
        raise ValueError("log of a number that is not positive")
    if x == 1:
        return Fraction(0), Fraction(0)
    shift = x.numerator.bit_length() - x.denominator.bit_length()
    mantissa = x / Fraction(2) ** shift  # in (1/2, 2)
    if mantissa > Fraction(4, 3):
        mantissa, shift = mantissa / 2, shift + 1
    elif mantissa < Fraction(2, 3):
        mantissa, shift = mantissa * 2, shift - 1
    low, high = _twice_atanh((mantissa - 1) / (mantissa + 1), bits)
    two_low, two_high = _log_two(bits)
    if shift >= 0:
        return low + shift * two_low, high + shift * two_high
    return low + shift * two_high, high + shift * two_low


def log_up(x: Fraction, bits: int = BITS) -> Fraction:
    """A rational at or above ln x."""
    return log_bounds(x, bits)[1]


def log_down(x: Fraction, bits: int = BITS) -> Fraction:
    """A rational at or below ln x."""
    return log_bounds(x, bits)[0]


@lru_cache(maxsize=8)
def _log_two(bits: int) -> tuple[Fraction, Fraction]:
    return _twice_atanh(Fraction(1, 3), bits)


def _twice_atanh(z: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds of 2 atanh z = 2 (z + z^3/3 + z^5/5 + ...) for |z| <= 1/3."""
    if z < 0:
        least, most = _twice_atanh(-z, bits)
        return -most, -least
    work = bits + 16
    one = 1 << work
    floor = (z.numerator << work) // z.denominator
    ceiling = floor + 1
    low = high = 0
    low_power, high_power = floor, ceiling
    order = 1
    while high_power > 1:
        low += low_power // order
        high += -(-high_power // order)
        low_power = ((low_power * floor >> work) * floor) >> work
        high_power = -(-(-(-high_power * ceiling >> work) * ceiling) >> work)
        order += 2
        if order > 2 * work:
            break
    return Fraction(2 * low, one), Fraction(2 * high + 4, one)  # the rest is below 2 units: ratio z^2 <= 1/9


def sqrt_up(x: Fraction, bits: int = BITS) -> Fraction:
    """A rational at or above the square root of x >= 0."""
    scaled = -(-(x.numerator << (2 * bits)) // x.denominator)
    root = isqrt(scaled)
    return Fraction(root if root * root == scaled else root + 1, 1 << bits)


def sqrt_down(x: Fraction, bits: int = BITS) -> Fraction:
    """A rational at or below the square root of x >= 0."""
    return Fraction(isqrt((x.numerator << (2 * bits)) // x.denominator), 1 << bits)


def round_up(x: Fraction, digits: int = 12) -> Fraction:
    """The least decimal of ``digits`` significant digits at or above x >= 0: short, and never a lower loss."""
    return -_round_down(-x, digits) if x else x


def round_down(x: Fraction, digits: int = 12) -> Fraction:
    """The largest decimal of ``digits`` significant digits at or below x >= 0."""
    return _round_down(x, digits) if x else x


def _round_down(x: Fraction, digits: int) -> Fraction:
    size = abs(x)
    # log10 within one of the truth: 0.30103 a bit; the loops below settle it
    power = (size.numerator.bit_length() - size.denominator.bit_length()) * 30103 // 100000
    while Fraction(10) ** power > size:
        power -= 1
    while Fraction(10) ** (power + 1) <= size:
        power += 1
    step = Fraction(10) ** (power - digits + 1)
    return Fraction((x / step).__floor__()) * step
