"""Noisy bars made smooth, for free: how much detail is kept is read off the noisy bars themselves.

    noisy counts of bars --cosines--> coefficients --shrunk by their own estimate of error--> heights --> Density

On ``k`` equal bars the cosines below ``k`` are an exact basis of all shapes. A wave's mean over a bar is lower than its
height by a known factor. That factor is taken out, so bars of a smooth density come out without steps. The noise of
every coefficient has the same public variance. A wave that the noise covers is worth leaving out: a list of weights
falls from 1 to 0 over the frequencies, and each has an unbiased estimate of its error (Stein's). The coefficients are
multiplied by the mean of all weights in proportion to exp(-estimate / 4 variances).

All of it is a function of released numbers: it belongs to no budget.

Source: Stein 1981 for the estimate. Leung and Barron 2006, Theorem 5, for the mean in place of the least, which loses
nothing if several are nearly as good.

Deviations. Variances count one and a half times (``CAUTION``): the estimate is itself noisy, and what it gains by noise
is lost in the answer. They are those of an even spread, and noise and sampling are not normal, so the theorem names the
form and not a bound. Bands are for the weights as they came out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.entropy import Entropy
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, Outcome, Reply
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import NORMAL, Density
from reticent.synthesis.linear import PLAIN, DensityAccuracy, LinearDensity, settled, shares_of, shift
from reticent.synthesis.linear_queries import Floats, Integers, LinearSums
from reticent.synthesis.series import waves

CAUTION: Final = 1.5
WARM: Final = 4.0  # variances for which a weight falls behind by a factor e
POWERS: Final = (2, 6)  # of the fall of weights; beside them the sharp ones
EVERY: Final = 16  # lengths up to here are all listed, and longer ones ``MORE`` of them
MORE: Final = 24
SEEN: Final = 1e-9  # of a weight
BETA: Final = 0.05


@dataclass(frozen=True, slots=True)
class NoisySize:
    """A number of records that was bought or is public, and the standard deviation of its noise."""

    records: float
    deviation: float


def drawn(release: LinearDensity, counts: Integers, entropy: Entropy, size: NoisySize) -> Outcome[Density]:
    """The density of smoothed bars.

    Parameters
    ----------
    release : Linear
        Bars: its table has 1 in each row, in the column of the bar of the cell.
    counts : array of int64
        Records in each cell.
    entropy : Entropy
        Source of the noise.
    size : Size
        What is known of the number of records beside the bars; no reply where less than its deviation comes out.

    Returns
    -------
    Outcome of Density
        The density, or no reply.
    """
    return told(release, release.sums.draw(counts, entropy), size)


def told(release: LinearDensity, noisy: Floats, size: NoisySize) -> Outcome[Density]:
    """The density of bars whose noisy counts were drawn.

    Parameters
    ----------
    release : LinearDensity
    noisy : array of shape of the grid, float
        Counts of the bars, with noise.
    size : NoisySize
        The number of records.

    Returns
    -------
    Outcome of Density
    """
    own = release.sums.deviation
    here, weight, unsure = pooled(float(noisy.sum()), own * math.sqrt(len(noisy)), size)
    if here < max(1.0, unsure):
        return NO_REPLY
    heights, response = smoothed(release.axes, noisy, own**2, here, bar_of(release.sums))
    shares = shares_of(release.axes)
    masses = shares * settled(heights, shares, release.settle)
    cells = tuple(one.cells for one in release.axes)
    rows = response - weight * (heights - 1.0)[:, None]  # the noise of n is that of the bars, and the bought one's
    apart = NORMAL * (1.0 - weight) * size.deviation * np.abs(shares * (heights - 1.0))
    band = np.hypot(own * shares * release.reaches(rows), apart) / here
    wander = math.hypot(own * release._together(shares[:, None] * rows), float(apart.sum()) / 2.0) / here
    return Reply(
        Density(
            release.axes,
            (masses / masses.sum()).reshape(cells),
            f"{release.method}, smoothed",
            release.guarantee,
            max(round(here), 1),
            band=np.minimum(band, 1.0).reshape(cells),
            shift=shift(masses, heights, shares).reshape(cells),
            wander=min(wander, 1.0),
            words=(
                f"each bar has noise of ±{radius_of(release.sums):,.0f} at 95 %, together they hold {here:,.0f} "
                "records; how much detail is kept follows from the noisy bars",
            ),
            grain=grain(release, masses, unsure, here).reshape(cells),
        )
    )


def expected(release: LinearDensity, law: Floats, n: int) -> DensityAccuracy:
    """Expected errors by noise and by sampling for n records of this law of cells, at a typical point.

    Parameters
    ----------
    release : LinearDensity
    law : array of shape of the grid, float
        Shares of the cells.
    n : int
        Number of records.

    Returns
    -------
    DensityAccuracy
    """
    bar, own = bar_of(release.sums), release.sums.deviation
    exact: Floats = np.bincount(bar, weights=n * law).astype(np.float64)
    _, response = smoothed(release.axes, exact, own**2, float(n), bar)
    noise = own / n * math.sqrt(float(np.mean(release.reaches(response) ** 2)))
    spread = response**2 @ (exact / n) - (response @ (exact / n)) ** 2
    sampling = NORMAL * math.sqrt(float(np.mean(spread)) / n)
    hidden = "at this ε and so few records the noise hides every shape: expect the uniform density"
    told = f"for a normal shape, by {release.method}, smoothed"
    return DensityAccuracy(noise, sampling, hidden if noise > PLAIN else told)


def grain(release: LinearDensity, masses: Floats, unsure: float, here: float) -> Floats:
    """Half-widths of cells, in shares; the root of the sum of their squares is that of any set of bars or more.

    Let a set hold the share s of all bars and the mass P, and let each bar have noise of variance v. Let the number of
    records, a mean of the bars' sum and a bought one, have variance u. The noise of its count less P times that of the
    number has variance v (bars in it) + u (P^2 - 2 P s): at most the sum over its cells of v / (cells in a bar) and u
    max(mass - 2 share, 0). Of a part of a bar it is too much. Smoothing leaves out noise, but for what is little.

    Parameters
    ----------
    release : LinearDensity
    masses : array of shape of the grid, float
        Released shares of the cells.
    unsure : float
        Standard deviation of the number of records.
    here : float
        The number of records.

    Returns
    -------
    array of shape of the grid, float
    """
    bar = bar_of(release.sums)
    each = radius_of(release.sums) ** 2 / np.bincount(bar)[bar]
    common = (NORMAL * unsure) ** 2 * np.maximum(masses - 2.0 * shares_of(release.axes), 0.0)
    return np.asarray(np.minimum(np.sqrt(each + common) / here, 1.0), np.float64)


def radius_of(sums: LinearSums) -> float:
    """Half-width of the noise of one bar at 95 %."""
    match sums.mechanism:
        case Geometric() as mechanism:
            return float(mechanism.radius(BETA))
        case Gaussian():
            return NORMAL * sums.deviation


def bar_of(sums: LinearSums) -> Integers:
    """The bar of each cell."""
    return np.asarray(np.argmax(sums.table, axis=1), np.int64)


def pooled(total: float, own: float, size: NoisySize) -> tuple[float, float, float]:
    """Number of records by the sum of all bars and what is known beside, the share of the sum in it, its deviation.

    Parameters
    ----------
    total : float
        Noisy sum of all bars.
    own : float
        Standard deviation of its noise.
    size : NoisySize
        The number of records that is known beside.

    Returns
    -------
    three of float
    """
    weight = size.deviation**2 / (own**2 + size.deviation**2)
    return weight * total + (1.0 - weight) * size.records, weight, own * math.sqrt(weight)


def smoothed(axes: Sequence[Axis], noisy: Floats, variance: float, n: float, bar: Integers) -> tuple[Floats, Floats]:
    """Heights of the cells in units of the uniform density, and what n times a height gains by one more in each bar.

    Parameters
    ----------
    axes : sequence of Axis
    noisy : array of shape of the bars, float
    variance : float
        Of the noise of a bar, in records squared.
    n : float
        Number of records.
    bar : array of int
        Bar of each cell.

    Returns
    -------
    pair of array of float
    """
    coarse = tuple(_along(axes, bar))
    indices = _indices([one.cells for one in coarse])
    if not len(indices):  # one bar: a column of one value
        return np.ones(len(bar)), np.zeros((len(bar), len(noisy)))
    narrow, wide = (_damped(indices, [one.cells for one in which]) for which in (axes, coarse))
    basis = waves(coarse, indices) / wide
    found = noisy @ basis / n
    variances = CAUTION * (n + variance * len(noisy)) / n**2 / wide**2
    kept = shrunk(found, variances, np.sqrt((indices**2).sum(axis=1)))
    seen = kept > SEEN
    fine = waves(axes, indices[seen]) * (narrow * kept)[seen]
    return 1.0 + fine @ found[seen], fine @ basis[:, seen].T


@np.errstate(under="ignore")  # a weight far from the best has chance 0
def shrunk(found: Floats, variances: Floats, lengths: Floats) -> Floats:
    """The factor of each coefficient, between 0 and 1, from coefficients with noise of these variances.

    Parameters
    ----------
    found : array of float
        Coefficients with noise.
    variances : array of float
        Of their noise.
    lengths : array of float
        Frequencies of the coefficients.

    Returns
    -------
    array of float
        In [0, 1].
    """
    listed = _weights(lengths)
    errors = listed**2 @ found**2 - 2.0 * listed @ (found**2 - variances)
    chances = np.exp(-(errors - errors.min()) * CAUTION / (WARM * variances.min()))
    return np.asarray(chances @ listed / chances.sum(), np.float64)


def _weights(lengths: Floats) -> Floats:
    """The public list of weights: none, all, and sharp and soft falls at several lengths of waves."""
    longest = float(lengths.max(initial=1.0))
    ends = np.arange(1.0, min(EVERY, longest) + 1.0)
    if longest > EVERY:
        ends = np.append(ends, np.geomspace(EVERY + 1.0, longest + 1.0, MORE))
    soft = [np.maximum(1.0 - (lengths / (end + 1.0)) ** power, 0.0) for power in POWERS for end in ends]
    sharp = [(lengths <= end).astype(np.float64) for end in ends]
    return np.stack([np.zeros_like(lengths), np.ones_like(lengths), *sharp, *soft])


def _along(axes: Sequence[Axis], bar: Integers) -> list[Axis]:
    """The bars' own axes: their edges are some of the edges of the cells."""
    found, places = [], bar.reshape([one.cells for one in axes])
    for place, one in enumerate(axes):
        line = np.moveaxis(places, place, -1).reshape(-1, one.cells)[0]
        starts = np.flatnonzero(np.diff(line, prepend=line[0] - 1))
        found.append(Axis(one.column, tuple(one.edges[k] for k in (*starts.tolist(), one.cells)), one.whole))
    return found


def _indices(sides: Sequence[int]) -> Integers:
    """All multi-indices below the numbers of bars, but for 0: shape (bars - 1, axes)."""
    every = np.stack([side.ravel() for side in np.meshgrid(*map(np.arange, sides), indexing="ij")], axis=1)
    return np.asarray(every[1:], np.int64)


def _damped(indices: Integers, sides: Sequence[int]) -> Floats:
    """Height of a wave in the mean over a bar, in units of its height in the middle."""
    return np.asarray(np.prod(np.sinc(indices / (2.0 * np.array(sides))), axis=1), np.float64)
