"""Probabilities and factors in words and percentages, rounded towards the statement that promises less."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from reticent.exact.rounding import round_down, round_up
from reticent.privacy.numbers import about


def percent(probability: float) -> str:
    """``23 %``; two significant digits below one percent, two places above ninety-nine."""
    share = 100 * probability
    if share > 99:
        return "100 %" if share > 99.99 else f"{share:.4g} %"
    return f"{share:.0f} %" if share >= 1 else f"{share:.2g} %"


def at_most(factor: float) -> str:
    """``2.72``: three digits, never below the factor (to nine digits, so that e^{ln 3} is 3)."""
    return "no limit" if factor == math.inf else f"{float(_outward(factor, round_up)):.3g}"


def percent_most(probability: float) -> str:
    """``23.2 %``: three digits, never too low."""
    share = 100 * probability
    return "100 %" if share > 99.99 else f"{float(_outward(share, round_up)):.4g} %"


def percent_least(probability: float) -> str:
    """``3.92 %``: three digits, never too high."""
    return f"{float(_outward(100 * probability, round_down)):.4g} %"


def _outward(number: float, rounded: Callable[[Fraction, int], Fraction]) -> Fraction:
    slack = Fraction(1, 10**9) if rounded is round_down else -Fraction(1, 10**9)
    return rounded(Fraction(number) * (1 + slack), 4 if 99 < number < 100 else 3)


def percent_up(probability: Fraction) -> str:
    """``14 %`` for 0.136: a share of errors or of those found, never stated too low."""
    share = 100 * probability
    if share > 99 and share < 100:
        return f"{float(round_up(share, 4)):g} %"
    return f"{math.ceil(share)} %" if share >= 1 or share == 0 else f"{float(round_up(share, 2)):g} %"


def one_in(probability: float) -> str:
    """``1 in 4.3``; a percentage where it is more likely than not."""
    if probability > 0.5:
        share = 100 * probability
        return (
            f"{share:.0f} %"
            if share <= 99
            else f"{math.floor(share * 100) / 100:g} %"
            if share < 99.99
            else "near certain"
        )
    return f"1 in {1 / probability:.2g}" if probability > 0.01 else f"1 in {round(1 / probability):,}"


def one_in_most(probability: float) -> str:
    """``1 in 4.3`` or ``69.1 %``: never a smaller chance."""
    if probability > 0.5:
        return "near certain" if probability > 0.9999 else percent_most(probability)
    return f"1 in {_once(1 / probability * (1 + 1e-9), round_down)}"


def one_in_least(probability: float) -> str:
    """``1 in 26``: never a larger chance."""
    if probability <= 0:
        return "never"
    return percent_least(probability) if probability > 0.5 else f"1 in {_once(1 / probability * (1 - 1e-9), round_up)}"


def _once(times: float, rounded: Callable[[Fraction, int], Fraction]) -> str:
    whole = float(rounded(Fraction(times), 2 if times < 100 else 3))
    return f"{whole:g}" if whole < 1000 else f"{whole:,.0f}"


def chance(delta: Fraction) -> str:
    """``1 in a billion``, ``1 in 90 million``, ``1 in 7``: two digits, never a smaller chance than it is."""
    once = 1 / delta
    if once >= 10**15:
        return f"1 in 10^{len(str(once.__floor__())) - 1}"
    for power, name in ((12, "trillion"), (9, "billion"), (6, "million"), (3, "thousand")):
        size = 10**power
        if once == size:
            return f"1 in a {name}"
        if once >= size:
            few = round_down(once / size, 2)
            return f"1 in {int(few * size):,}" if power == 3 else f"1 in {about(few)} {name}"
    return f"1 in {about(round_down(once, 2))}"
