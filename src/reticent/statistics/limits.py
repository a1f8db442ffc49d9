"""What every question checks of its own epsilon and bounds, and how CoinPress's public numbers are read."""

from __future__ import annotations

from fractions import Fraction

from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy.numbers import Number, positive, read, show


def check_limits(epsilon: Fraction | None, low: Fraction | None, high: Fraction | None) -> None:
    """Refuse an epsilon that is not above 0, one bound alone, and bounds that do not rise."""
    if epsilon is not None:
        positive(epsilon, "epsilon")
    if (low is None) != (high is None):
        raise PublicParameterError("low and high come together: give both, or neither")
    if low is not None and high is not None and not low < high:
        raise PublicParameterError(f"low must be below high, got {show(low)} and {show(high)}")


def around_of(
    centre: Number | None, radius: Number | None, deviation: Number | None
) -> tuple[Fraction, Fraction, Fraction] | None:
    """Centre, radius and deviation, all or none."""
    if centre is None and radius is None and deviation is None:
        return None
    if centre is None or radius is None or deviation is None:
        raise QuestionError("centre, radius and deviation come together: give all three, or none")
    return read(centre, "centre"), read(radius, "radius"), read(deviation, "deviation")


__all__ = ["around_of", "check_limits"]
