"""Public shapes of a bounded column, by which a plan tells a range of half-widths.

The usual shape is that of rehearsals and of P(reply). The others are what tables of people often look like: values that
crowd at one end of wide bounds, as incomes and counts do, and values from one bound to the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class AssumedShape:
    """Mean, standard deviation and kurtosis of values between the bounds -1 and 1."""

    name: str
    mean: float
    deviation: float
    kurtosis: float


USUAL: Final = AssumedShape("in the middle", 0.0, 1 / 3, 3.0)  # normal, a sixth of the range as deviation
AT_ONE_END: Final = AssumedShape("at one end", -0.9, 0.1, 9.0)  # exponential, a twentieth of the range as its mean
EVEN: Final = AssumedShape("even", 0.0, 1 / math.sqrt(3.0), 1.8)
SHAPES: Final = (USUAL, AT_ONE_END, EVEN)
RARE: Final = 0.05  # share of a rare value

__all__ = ["AT_ONE_END", "EVEN", "RARE", "SHAPES", "USUAL", "AssumedShape"]
