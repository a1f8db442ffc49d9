"""Means of many groups at once: the numbers of ``MomentStep`` for one group, by vectors over groups.

    outcomes_of(terms, moments)    an outcome and the law of its error for each group, in units of y

Half-widths are the roots of the series in ``intervals``, found for a block of groups together. A series ends where what
is left of it is below 1e-10. The law of the size of an error is concave, so that Newton's steps rise to the root.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.statistics.error_law import ErrorLaw, SampledVariance
from reticent.statistics.intervals import FEW_PARTS, LEVEL, POINTS, TERMS, estimated_factor, normal_half_width, too_few

BLOCK: Final = 128  # groups of one block: its arrays stay in the cache of a processor
LEFT: Final = 1e-10  # of a series, beyond its last term
STEPS: Final = 40  # of Newton's method; six are usual


@dataclass(frozen=True, slots=True)
class MeanTerms:
    """Public terms of a mean by groups.

    Attributes
    ----------
    back : tuple of tuple of float
        Weights of the released integers in each sum of powers.
    scale : float
        Of the noise of an integer, in rows.
    sized : bool
        Whether the number of values is public, so that the first integer has no noise.
    alike : int
        Rows of one person, which count as moving together.
    middle, half : float
        Of the range of the column, in its unit.
    """

    back: tuple[tuple[float, ...], ...]
    scale: float
    sized: bool
    alike: int
    middle: float
    half: float

    def noise_of(self, forms: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Scales of the noise in a form of each group, shape (groups, integers)."""
        columns = [sum(w * self.back[j][i] for j, w in enumerate(forms)) for i in range(len(self.back[0]))]
        scales: NDArray[np.float64] = self.scale * np.column_stack(columns)
        if self.sized:
            scales[:, 0] = 0.0
        return scales


def outcomes_of(
    terms: MeanTerms, moments: Sequence[Sequence[float]]
) -> tuple[list[Outcome[Estimate]], list[ErrorLaw | None]]:
    """The outcome of the mean of each group, in units of y, and the law of its error in the unit of the column.

    Parameters
    ----------
    terms : MeanTerms
        Of a mean, and not of a margin.
    moments : sequence of sequence of float
        The released sums of powers of each group.

    Returns
    -------
    tuple of list of Outcome and list of ErrorLaw
        None stands for the law of a no reply.
    """
    drawn = terms.noise_of([np.ones(1)])[0].tolist()
    kept = [place for place, one in enumerate(moments) if not too_few(one[0], drawn)]
    outcomes: list[Outcome[Estimate]] = [NO_REPLY] * len(moments)
    errors: list[ErrorLaw | None] = [None] * len(moments)
    if not kept:
        return outcomes, errors
    sums = np.array([moments[place] for place in kept])
    sizes, raw = sums[:, 0], sums[:, 1] / sums[:, 0]
    means = np.clip(raw, -1.0, 1.0)
    scales = terms.noise_of([-means, np.ones_like(means)])
    laws, least, apart, weights = _squares(terms, sums, means)
    times = np.array([terms.alike * estimated_factor(size / terms.alike) for size in sizes.tolist()])
    radii = half_widths(times * least, times * apart, weights, scales) / sizes
    noises = half_widths(np.zeros_like(means), np.zeros_like(means), None, scales) / sizes
    average = least if weights is None else least + apart * (weights @ np.arange(POINTS))
    middle, half = terms.middle, terms.half
    for row, (place, value, size, more, radius, noise, variance, wide) in enumerate(
        zip(
            kept,
            raw.tolist(),
            sizes.tolist(),
            times.tolist(),
            radii.tolist(),
            noises.tolist(),
            average.tolist(),
            scales.tolist(),
            strict=True,
        )
    ):
        sampling = normal_half_width(more * variance) / size
        outcomes[place] = Reply(Estimate(value, value - radius, value + radius, noise, sampling))
        errors[place] = ErrorLaw(
            middle + half * moments[place][1] / size,
            tuple(abs(half * scale / size) for scale in wide if scale),
            sampling=None if laws is None else laws[row].times(more * (half / size) ** 2),
            size=size if terms.alike == 1 else 0.0,
        )
    return outcomes, errors


def _squares(
    terms: MeanTerms, sums: NDArray[np.float64], means: NDArray[np.float64]
) -> tuple[list[SampledVariance] | None, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
    """The sampling variance of each group as released, the least plausible one, their distance, and their weights."""
    if sums.shape[1] < 3:
        return None, np.zeros_like(means), np.zeros_like(means), None
    form = [means * means, -2.0 * means, np.ones_like(means)]
    estimates = np.sum([w * sums[:, j] for j, w in enumerate(form)], axis=0)
    spreads = np.sqrt((terms.noise_of(form) ** 2).sum(axis=1))
    most = sums[:, 0] * (1.0 - means * means)
    laws = [
        SampledVariance(one, scale, 0.0, top)
        for one, scale, top in zip(estimates.tolist(), spreads.tolist(), most.tolist(), strict=True)
    ]
    sure = (most <= 0.0) | (spreads <= 0.0)
    centres = np.clip(estimates, 0.0, np.maximum(most, 0.0))
    low = np.where(sure, centres, np.maximum(0.0, centres - 8.0 * spreads))
    high = np.where(sure, centres, np.minimum(most, centres + 8.0 * spreads))
    apart = (high - low) / (POINTS - 1)
    values = low[:, None] + apart[:, None] * np.arange(POINTS)
    unlikely = np.abs(values - estimates[:, None]) / np.where(sure, 1.0, spreads)[:, None]
    with np.errstate(under="ignore"):  # a value far from the estimate has likelihood 0
        weights = np.exp(unlikely.min(axis=1, keepdims=True) - unlikely)
        weights /= weights.sum(axis=1, keepdims=True)
    return laws, low, apart, weights


def half_widths(
    least: NDArray[np.float64],
    apart: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    scales: NDArray[np.float64],
    level: float = LEVEL,
) -> NDArray[np.float64]:
    """``intervals.half_width`` of each row.

    Parameters
    ----------
    least, apart : array
        The plausible variances of a row begin at ``least`` and stand ``apart`` from each other.
    weights : array or None
        Of those variances, a row for each; None where the first is the only one.
    scales : array
        Of the Laplace parts, a row for each; at most six.
    level : float
        In (0, 1).

    Returns
    -------
    array
        In the unit of the errors.
    """
    assert scales.shape[1] <= FEW_PARTS
    found = np.zeros(len(least))
    with np.errstate(under="ignore"):  # far out a transform is 0
        for start in range(0, len(least), BLOCK):
            part = slice(start, start + BLOCK)
            chosen = None if weights is None else weights[part]
            found[part] = _block(least[part], apart[part], chosen, np.abs(scales[part]), level)
    return found


def _block(
    least: NDArray[np.float64],
    apart: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    scales: NDArray[np.float64],
    level: float,
) -> NDArray[np.float64]:
    widest, points = scales.max(axis=1), 0 if weights is None else weights.shape[1] - 1
    period = 20.0 * widest + 9.0 * np.sqrt(least + points * apart)
    live = period > 0.0
    if not live.all():  # nothing moves these answers
        found = np.zeros(len(least))
        if live.any():
            chosen = None if weights is None else weights[live]
            found[live] = _block(least[live], apart[live], chosen, scales[live], level)
        return found
    k = np.arange(1, _terms(least, scales, period) + 1)
    u = (math.pi / period)[:, None] * k
    squares = -0.5 * u * u
    transform = np.exp(least[:, None] * squares)
    if weights is not None:  # the variances stand evenly, so their transforms are powers of one
        ratio, mixed = np.exp(apart[:, None] * squares), np.zeros_like(u)
        for place in range(points, -1, -1):
            mixed *= ratio
            mixed += weights[:, place, None]
        transform *= mixed
    for column in range(scales.shape[1]):
        transform /= 1.0 - 2.0 * squares * scales[:, column, None] ** 2
    heights = transform * (2.0 / period)[:, None]
    over = heights / u
    # The noise added to the widest part alone only spreads the error: its half-width is below the root.
    first = -math.log1p(-level) * widest
    r: NDArray[np.float64] = np.maximum(first, normal_half_width(1.0) * np.sqrt(least) if level == LEVEL else 0.0)
    for _ in range(STEPS):
        angles = u * r[:, None]
        reached = r / period + (over * np.sin(angles)).sum(axis=1)
        density = 1.0 / period + (heights * np.cos(angles)).sum(axis=1)
        moved = (level - reached) / density
        r = r + moved
        if (np.abs(moved) <= 1e-8 * r).all():
            break
    alone = (least + points * apart == 0.0) & ((scales > 0.0).sum(axis=1) == 1)
    r[alone] = first[alone]  # one Laplace part has a closed form
    return r


def _terms(least: NDArray[np.float64], scales: NDArray[np.float64], period: NDArray[np.float64]) -> int:
    """The number of terms after which what is left of every series of the block is below ``LEFT``.

    So far out a transform falls at least like 1 / k^2, so the terms beyond k add about phi(k) / pi at most.
    """
    count = 64
    while count < TERMS:
        square = (math.pi / period * count) ** 2
        height = np.exp(-0.5 * least * square) / np.prod(1.0 + square[:, None] * scales**2, axis=1)
        if height.max() < LEFT:
            break
        count *= 2
    return min(count, TERMS)


__all__ = ["MeanTerms", "half_widths", "outcomes_of"]
