"""Certified bounds of exp(-x) for rational x, in integers.

Everything a sampler decides near a boundary is decided here: the bounds are integers, they enclose the true value
strictly, and asking for more bits always separates two different numbers.
"""

from __future__ import annotations

from fractions import Fraction


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
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
        low, high = exp_bounds(x, bits + guard)
        if low >> guard == (high - 1) >> guard:
            return low >> guard
        guard *= 2
