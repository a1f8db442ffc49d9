"""Certified bounds of the normal distribution: density, Mills ratio, tail, quantile, how far a shift shows; of pi.

Each function returns ``(low, high)`` with low <= truth <= high, both rational, and high - low at most 2^(8 - bits) of
the truth, in the far tail too: a tail is the density e^{-z^2/2} / sqrt(2 pi) times the Mills ratio
R(z) = P(N > z) / density, and neither factor cancels.

    z^2 <= bits / 4    R(z) = sqrt(pi / 2) e^{z^2/2} - (z + z^3/3 + z^5/15 + z^7/105 + ...)
    z^2 >  bits / 4    R(z) = 1 / (z + 1 / (z + 2 / (z + 3 / (z + ...))))    Laplace's continued fraction

All terms of the fraction are positive, so its tail K_n = z + n / K_{n+1} lies between z and z + n / z, and these two
bounds close in at every step towards the front. Beyond z^2 / 2 = ``FARTHEST`` nothing but
0 < P(N > z) <= e^-FARTHEST / 2 is told.

Source. Abramowitz and Stegun 1964, 26.2.11 (series) and 26.2.14 (continued fraction); Machin 1706 for pi.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final

from reticent.exact.rounding import BITS, exp_bounds, exp_up, log_bounds, log_down, round_up, sqrt_down, sqrt_up

FARTHEST: Final = Fraction(1000)  # z^2 / 2 beyond which a tail is only known to be below e^-1000 / 2
STEPS: Final = 40  # of Newton's method at most; six or seven are usual
Bounds = tuple[Fraction, Fraction]


@lru_cache(maxsize=64)
def pi_bounds(bits: int = BITS) -> Bounds:
    """Bounds of pi = 16 atan(1/5) - 4 atan(1/239)."""
    places = bits + 16
    (five_low, five_high), (low, high) = _atan(5, places), _atan(239, places)
    return Fraction(16 * five_low - 4 * high, 1 << places), Fraction(16 * five_high - 4 * low, 1 << places)


def _atan(inverse: int, places: int) -> tuple[int, int]:
    """Bounds of 2^places atan(1 / inverse)."""
    power, total, odd, sign = (1 << places) // inverse, 0, 1, 1
    while power:
        total += sign * (power // odd)
        power, odd, sign = power // inverse**2, odd + 2, -sign
    return total - odd, total + odd  # each of fewer than odd terms is off by less than 1, and so is the rest


def density_bounds(z: Fraction, bits: int = BITS) -> Bounds:
    """Bounds of e^{-z^2/2} / sqrt(2 pi)."""
    if z * z / 2 > FARTHEST:
        return Fraction(0), exp_up(-FARTHEST) / 2
    low, high = exp_bounds(-z * z / 2, bits)
    pi_low, pi_high = pi_bounds(bits)
    return low / sqrt_up(2 * pi_high, bits), high / sqrt_down(2 * pi_low, bits)


def mills_bounds(z: Fraction, bits: int = BITS) -> Bounds:
    """Bounds of P(N > z) divided by the density at z, z >= 0 and as large as you like."""
    if z < 0:
        raise ValueError("the Mills ratio is bounded for z >= 0 only")
    return _by_series(z, bits) if 4 * z * z <= bits else _by_fraction(z, bits)


def normal_tail_bounds(z: Fraction, bits: int = BITS) -> Bounds:
    """Bounds of P(N > z) for a standard normal N, z of any sign."""
    if z < 0:
        low, high = normal_tail_bounds(-z, bits)
        return 1 - high, 1 - low
    if z * z / 2 > FARTHEST:
        return Fraction(0), exp_up(-FARTHEST) / 2  # P(N > z) <= e^{-z^2/2} / 2
    low, high = density_bounds(z, bits)
    ratio_low, ratio_high = mills_bounds(z, bits)
    return low * ratio_low, high * ratio_high


def normal_quantile_bounds(chance: Fraction, bits: int = BITS) -> Bounds:
    """Bounds of the z with P(N > z) = ``chance``, e^-990 < chance < 1 - e^-990; high - low is about 2^-(bits / 2).

    Newton's steps for ln P(N > z), which is concave: from a z too large they fall to the solution and never pass it
    but by rounding. That the two ends returned lie on either side is checked by certified tails.
    """
    if chance > Fraction(1, 2):
        low, high = normal_quantile_bounds(1 - chance, bits)
        return -high, -low
    if chance < exp_up(10 - FARTHEST):
        raise ValueError("no quantile is told for a chance below e^-990")
    grid, gap = 1 << bits, Fraction(1, 1 << bits // 2)
    z = sqrt_up(2 * log_bounds(1 / (2 * chance), bits)[1], bits)  # P(N > z) <= e^{-z^2/2} / 2 = chance
    step = Fraction(1)
    while step > gap / 4:
        tail = normal_tail_bounds(z, bits)[0]
        step = log_bounds(chance / tail, bits)[1] * mills_bounds(z, bits)[1]
        z = max(Fraction(0), Fraction(((z - step) * grid).__ceil__(), grid))
    low, high = z - gap, z + gap
    while normal_tail_bounds(low, bits)[0] < chance:  # pragma: no cover - Newton is closer than the gap
        low -= gap
    while normal_tail_bounds(high, bits)[1] > chance:  # pragma: no cover
        high += gap
    return low, high


def shift_excess_bounds(mu: Fraction, x: Fraction) -> Bounds:
    """Bounds of max over S of P(N + mu in S) - e^x P(N in S), mu >= 0 and x >= 0: it rises with mu and falls with x."""
    return _excess(mu, x)[:2] if mu else (Fraction(0), Fraction(0))


def shift_excess_inverse(mu: Fraction, chance: Fraction) -> Fraction:
    """An x >= 0, hardly above the least, where the excess of a shift mu > 0 is at most ``chance``, e^-990 < chance < 1.

    Newton's steps for the logarithm of the excess, which is concave in x: from an x too large they fall to the least.
    No step is taken to an x of which the bounds do not tell that it will do.
    """
    if _excess(mu, Fraction(0))[1] <= chance:
        return Fraction(0)
    x = round_up(mu * (mu / 2 + max(Fraction(0), normal_quantile_bounds(chance)[1])), 20)  # P(N > a) <= chance
    _, high, slope = _excess(mu, x)
    for _ in range(STEPS):
        step = log_down(chance / high) * high / slope - x / 10**14  # not quite there, so that rounding is no harm
        lower = round_up(max(Fraction(0), x - step), 20)
        _, high, slope = _excess(mu, lower)
        if high > chance or lower >= x:
            break
        x = lower
    return x


def _excess(mu: Fraction, x: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Bounds of P(N > a) - e^x P(N > b) with a, b = x / mu -+ mu / 2; and -1 times its derivative in x, at or above.

    e^x times the density at b is the density at a. The second term, which is also the derivative, is therefore the
    density at a times the Mills ratio at b: there is no large factor. Bits are doubled until 80 survive the difference.
    """
    near, far = x / mu - mu / 2, x / mu + mu / 2
    bits = BITS
    while True:
        tail_low, tail_high = normal_tail_bounds(near, bits)
        density_low, density_high = density_bounds(near, bits)
        ratio_low, ratio_high = mills_bounds(far, bits)
        low, high = tail_low - density_high * ratio_high, tail_high - density_low * ratio_low
        if high - low <= high / (1 << 80) or near * near / 2 > FARTHEST:
            return max(Fraction(0), low), high, density_high * ratio_high
        bits *= 2


def _by_series(z: Fraction, bits: int) -> Bounds:
    """sqrt(pi / 2) e^{z^2/2} - (z + z^3/3 + z^5/15 + ...): what cancels is below z^2 bits."""
    places = bits + (z * z).__ceil__() + 16
    square = z * z * (1 << places)
    square_low, square_high = square.__floor__(), square.__ceil__()
    low = step_low = (z * (1 << places)).__floor__()
    high = step_high = (z * (1 << places)).__ceil__()
    odd = 1
    while step_high > 1 or odd < 2 * z * z:
        odd += 2
        step_low = (step_low * square_low >> places) // odd
        step_high = ((step_high * square_high >> places) + odd) // odd
        low += step_low
        high += step_high
    high += 2  # terms at least halve from here on: the rest is below the last term, 1
    whole_low, whole_high = exp_bounds(z * z / 2, places)
    pi_low, pi_high = pi_bounds(places)
    return (
        whole_low * sqrt_down(pi_low / 2, places) - Fraction(high, 1 << places),
        whole_high * sqrt_up(pi_high / 2, places) - Fraction(low, 1 << places),
    )


def _by_fraction(z: Fraction, bits: int) -> Bounds:
    """1 / K_1 where K_n = z + n / K_{n+1}, from z <= K_n <= z + n / z at an n large enough."""
    places = bits + 32
    z_low, z_high = (z * (1 << places)).__floor__(), (z * (1 << places)).__ceil__()
    terms = 8 + (bits * bits / (4 * z * z)).__ceil__()
    while True:
        low, high = z_low, z_high - (-(terms << 2 * places) // z_low)
        for n in range(terms - 1, 0, -1):
            low, high = z_low + (n << 2 * places) // high, z_high - (-(n << 2 * places) // low)
        if high - low <= high >> (bits - 4):
            return Fraction(1 << places, high), Fraction(1 << places, low)
        terms *= 2
