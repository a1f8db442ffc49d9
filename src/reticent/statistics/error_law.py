"""Law of the error of a cell: what differences, totals and ratios of released numbers are made of.

    ErrorLaw          independent noise of known scales, and a sampling variance as it was released
    SampledVariance   that variance: noisy, between two public ends
    combined(...)     the law of a weighted sum of cells, with what is known of their covariances

Noise is drawn for each cell by itself, so the noises of a release are independent. Sampling errors of answers on the
same rows are not. See docs/theory/comparisons.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from reticent.mechanisms.geometric import laplace_radius
from reticent.statistics.intervals import (
    LEVEL,
    NONE,
    Variances,
    counted,
    half_width,
    noise_half_width,
    normal_half_width,
    plausible,
)

LATTICE: Final = 1 << 16  # points of an exact law of integers; wider noise is taken as continuous
LEAST_TAIL: Final = 1e-8  # the accuracy of the series behind half-widths


@dataclass(frozen=True, slots=True)
class SampledVariance:
    """Variance of a sampling error: a noisy ``estimate`` with the ``scale`` of its noise, in [``least``, ``most``]."""

    estimate: float
    scale: float
    least: float
    most: float

    @property
    def plausible(self) -> Variances:
        """The values that it may have, with weights."""
        return plausible(self.estimate, self.scale, self.least, self.most)

    @property
    def average(self) -> float:
        return self.plausible.average

    def times(self, factor: float) -> SampledVariance:
        return SampledVariance(*(factor * value for value in (self.estimate, self.scale, self.least, self.most)))


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """Law of the error of one released number, in the unit of its answer.

    Attributes
    ----------
    value : float
        The number as it was drawn, before it was moved to the nearest possible one: sums of moved ones are biased.
    scales : tuple of float
        Scales of its independent two-sided geometric noises.
    normal : float
        Variance of its Gaussian noise.
    step : float
        The noise is a whole multiple of it; 0 where it is taken as continuous.
    slack : float
        What rounding adds at most to noise that is a sum of different steps.
    sampling : SampledVariance or None
        None where the number is one of this table, and where its sampling error was not bought.
    size : float
        The number of independent values behind it; 0 where values of one person go together.
    """

    value: float
    scales: tuple[float, ...] = ()
    normal: float = 0.0
    step: float = 0.0
    slack: float = 0.0
    sampling: SampledVariance | None = None
    size: float = 0.0

    def half_width(self, level: float = LEVEL) -> float:
        """Least r that the error stays within with probability ``level``, for noise and sampling together."""
        if self.step > 0.0 and self.sampling is None and self.normal == 0.0:
            found = _lattice_radius([abs(scale) / self.step for scale in self.scales], 1.0 - level)
            if found is not None:
                return found * self.step + self.slack
        if self.step > 0.0 and self.sampling is None and not self.scales and self.normal > 0.0:
            from reticent.mechanisms.gaussian import gaussian_radius

            return self.step * gaussian_radius(Fraction(self.normal / self.step**2), 1.0 - level) + self.slack
        if self.sampling is None and self.normal == 0.0:
            return noise_half_width(self.scales, level) + 0.5 * self.step + self.slack
        variances = NONE if self.sampling is None else self.sampling.plausible
        both = Variances(tuple(value + self.normal for value in variances.values), variances.weights)
        return half_width(both, self.scales, level) + 0.5 * self.step + self.slack

    @property
    def noise(self) -> float:
        """95 % half-width of the noise alone."""
        return ErrorLaw(self.value, self.scales, self.normal, self.step, self.slack).half_width()

    @property
    def sampled(self) -> float:
        """95 % half-width of the sampling error alone."""
        return 0.0 if self.sampling is None else normal_half_width(self.sampling.average)

    def exceeds(self, distance: float) -> float:
        """Probability that the error is at least ``distance`` in size, rounded up; 1e-8 stands for all below it."""
        if len(self.scales) == 1 and not self.normal and self.sampling is None:  # no wider than Laplace noise, rounded
            return max(math.exp(-max(distance - 0.5 * self.step - self.slack, 0.0) / self.scales[0]), LEAST_TAIL)
        low, high = LEAST_TAIL, 1.0
        for _ in range(30):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.half_width(1.0 - middle) >= distance else (low, middle)
        return high

    def to_json(self) -> dict[str, object]:
        """The fields that are not at their defaults."""
        found: dict[str, object] = {"value": self.value}
        if self.scales:
            found["scales"] = list(self.scales)
        for name in ("normal", "step", "slack"):
            if value := getattr(self, name):
                found[name] = value
        if self.sampling is not None:
            found["sampling"] = {name: getattr(self.sampling, name) for name in FIELDS}
        if self.size:
            found["size"] = self.size
        return found


def law_from_json(found: Mapping[str, Any]) -> ErrorLaw:
    """The law of JSON values whose form was checked."""
    sampling = found.get("sampling")
    return ErrorLaw(
        float(found["value"]),
        tuple(float(scale) for scale in found.get("scales", ())),
        float(found.get("normal", 0.0)),
        float(found.get("step", 0.0)),
        float(found.get("slack", 0.0)),
        None if sampling is None else SampledVariance(*(float(sampling[name]) for name in FIELDS)),
        float(found.get("size", 0.0)),
    )


FIELDS: Final = ("estimate", "scale", "least", "most")


def combined(
    weights: Sequence[float], laws: Sequence[ErrorLaw], covariances: Mapping[tuple[int, int], float | None]
) -> ErrorLaw:
    """The law of a weighted sum of cells with independent noise.

    Parameters
    ----------
    weights : sequence of float
    laws : sequence of ErrorLaw
    covariances : mapping of pairs of places to float or None
        Covariances of sampling errors. An absent pair is uncorrelated. None is not known: the greatest that the two
        variances allow is taken then.

    Returns
    -------
    ErrorLaw
        Law of the error of the sum.

    Notes
    -----
    Two errors of standard deviations s and t contribute at most 2 s t <= q s^2 + t^2 / q beyond their variances, with
    equality at q = t / s. At the released s and t that is linear in the variances, which keeps what is known of each.
    """
    terms = list(zip(weights, laws, strict=True))
    spreads = [abs(w) * math.sqrt(_greatest(law)) for w, law in terms]
    factors, constant = [w * w for w, _ in terms], 0.0
    for (i, j), covariance in covariances.items():
        if covariance is not None:
            constant += 2.0 * weights[i] * weights[j] * covariance
        elif spreads[i] > 0.0 and spreads[j] > 0.0:
            factors[i] += weights[i] ** 2 * spreads[j] / spreads[i]
            factors[j] += weights[j] ** 2 * spreads[i] / spreads[j]
    parts = [law.sampling.times(f) for f, (_, law) in zip(factors, terms, strict=True) if law.sampling is not None]
    sampling = None
    if parts:
        sampling = SampledVariance(
            sum(part.estimate for part in parts) + constant,
            math.hypot(*(part.scale for part in parts)),
            max(sum(part.least for part in parts) + constant, 0.0),
            max(sum(part.most for part in parts) + constant, 0.0),
        )
    return ErrorLaw(
        sum(w * law.value for w, law in terms),
        tuple(abs(w * scale) for w, law in terms for scale in law.scales if w * scale),
        sum(w * w * law.normal for w, law in terms),
        *_steps(terms),
        sampling,
    )


def _greatest(law: ErrorLaw) -> float:
    """A sampling variance that is not taken for less than its own noise, 0 without one."""
    return 0.0 if law.sampling is None else max(law.sampling.estimate, law.sampling.scale, 0.0)


def _steps(terms: Sequence[tuple[float, ErrorLaw]]) -> tuple[float, float]:
    """The step that all errors of a sum have in common, and what rounding can add where there is none."""
    steps = [abs(w) * law.step for w, law in terms if w]
    slack = sum(abs(w) * law.slack for w, law in terms)
    return (steps[0], slack) if len(set(steps)) == 1 else (0.0, slack + 0.5 * sum(steps))


def _lattice_radius(scales: Sequence[float], beta: float) -> float | None:
    """Least integer z with P(|sum of two-sided geometric noises| > z) <= ``beta``; None where they are too wide."""
    import numpy as np

    widths = [scale for scale in scales if scale > 0.0]
    if not widths:
        return 0.0
    if len(widths) == 1:
        return float(laplace_radius(widths[0], beta))
    reach = 30.0 * max(widths) + 9.0 * math.sqrt(2.0 * sum(width * width for width in widths))
    size = 1 << max(6, math.ceil(math.log2(2.0 * reach + 2.0)))
    if size > LATTICE:
        return None
    cosines = np.cos(2.0 * np.pi / size * np.arange(size // 2 + 1))
    transform = np.ones(size // 2 + 1)
    for width, times in counted(widths):
        ratio = math.exp(-1.0 / width)
        above, below = (1.0 - ratio) ** 2, 1.0 - 2.0 * ratio * cosines + ratio * ratio
        with np.errstate(under="ignore"):
            transform = transform * above / below if times == 1 else transform * (above / below) ** times
    masses = np.fft.irfft(transform, size)
    within = masses[0] + 2.0 * np.cumsum(masses[1 : size // 2])
    if masses[0] >= 1.0 - beta:
        return 0.0
    return float(np.searchsorted(within, 1.0 - beta) + 1)


__all__ = ["ErrorLaw", "SampledVariance", "combined", "law_from_json"]
