"""What every question checks of its own epsilon and bounds."""

from __future__ import annotations

from fractions import Fraction

from reticent.errors import PublicParameterError
from reticent.privacy.numbers import positive, show


def check_limits(epsilon: Fraction | None, low: Fraction | None, high: Fraction | None) -> None:
    """Refuse an epsilon that is not above 0, one bound alone, and bounds that do not rise."""
    if epsilon is not None:
        positive(epsilon, "epsilon")
    if (low is None) != (high is None):
        raise PublicParameterError("low and high come together: give both, or neither")
    if low is not None and high is not None and not low < high:
        raise PublicParameterError(f"low must be below high, got {show(low)} and {show(high)}")


__all__ = ["check_limits"]
