"""Sampling variances of a sum of squares, from a noisy fourth moment, and the skewness of its error.

Let D be the error of the noisy sum of (y - mean)^2 - v, and Q that of the noisy sum of ((y - mean)^2 - v)^2. They have
noise in common, and few great values are in both. Where D is low so is Q, and a symmetric interval is then too short
above. So the upper end is judged by what Q would be if the truth were there, and moved as a skewed mean's end is.

Source: Johnson 1978 (ends of a skewed mean).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reticent.statistics.intervals import Variances, half_width, known, plausible, spread

FLATTEST: Final = 0.25  # kurtosis less 1: the least that is considered
USUAL: Final = 3.5  # that of a law with tails a little above normal, which has 2
SKEWED: Final = (1 + 2 * 1.96**2) / 6  # Johnson 1978: third cumulants by which an end at 1.96 deviations moves


@dataclass(frozen=True, slots=True)
class FourthMoment:
    """Noisy sum of ((y - mean)^2 - value)^2 over ``size`` values, for y in [-1, 1].

    Attributes
    ----------
    size, mean, value : float
        The noisy number of values, their mean and their variance.
    estimate : float
        The noisy sum.
    noise : sequence of float
        Scales of its independent noises, in the order of the released integers.
    alike : int
        The most values of one person, which count as equal.
    """

    size: float
    mean: float
    value: float
    estimate: float
    noise: Sequence[float]
    alike: int

    def variances(self, moved: float = 0.0) -> Variances:
        """Plausible sampling variances of the sum of squares, if the estimate were ``moved`` by so much."""
        v, estimate = self.value, self.estimate + moved
        # A free prior would follow the noise of the fourth moment, which is that of the variance, and widen one side.
        most = self.size * v * max((1.0 + abs(self.mean)) ** 2 - v, 0.0)
        least = self.size * v * v * FLATTEST
        if least <= 0.0 or most <= least:
            found = known(min(max(estimate, 0.0), max(most, 0.0)))
        else:
            found = plausible(estimate, spread(self.noise), least, most, usual=self.size * v * v * USUAL)
        return found.times(self.alike)

    def beyond(self, scales: Sequence[float], radius: float) -> float:
        """Distance of the upper end of the sum of squares beyond ``radius``; ``scales`` are of the sum's noises.

        The sixth moment is at least the square of the fourth over the second (Cauchy and Schwarz). So the third
        cumulant of squares is at least (k - 1) (k - 2) value^3, k the kurtosis of the values.
        """
        sampled = self.variances().average
        whole = sampled + 2.0 * sum(scale * scale for scale in scales)
        if self.value <= 0.0 or whole <= 0.0:
            return 0.0
        common = 2.0 * sum(one * other for one, other in zip(self.noise, scales, strict=True)) / whole
        up, down = (half_width(self.variances(side * common * radius), scales) for side in (1.0, -1.0))
        flat = sampled / (self.alike * self.size * self.value**2)  # kurtosis less 1
        third = self.alike * sampled * max(flat - 1.0, 0.0) * self.value
        return max(up - down, 0.0) / 2.0 + SKEWED * third / whole


__all__ = ["FourthMoment"]
