"""Price of a fit, cut into shares: ``reticent.statistics.price``, which regressions use as well."""

from __future__ import annotations

from reticent.statistics.price import Noise, Price, deviation, known_people, noisy

__all__ = ["Noise", "Price", "deviation", "known_people", "noisy"]
