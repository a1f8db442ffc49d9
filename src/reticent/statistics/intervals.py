"""Half-widths: how far sampling and noise can have moved an answer. Post-processing of released numbers only.

The error of an answer is modelled as a normal part plus independent two-sided geometric (here: Laplace) parts of
known scale. Its law has a closed characteristic function, so a half-width is the root of one series: no random
numbers, and the same released numbers give the same interval on every machine. See docs/theory/intervals.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from operator import mul, truediv
from typing import TYPE_CHECKING, Final

from reticent.mechanisms.geometric import laplace_radius
from reticent.outcome import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVEL: Final = 0.95
TERMS: Final = 512
POINTS: Final = 33
MANY_PARTS: Final = 32
FEW_PARTS: Final = 6  # so many Laplace parts stay within 20 of the widest scale
FEWEST: Final = 10.0  # below this many values no interval is formed
UNSURE: Final = 0.002
LIGHTER, HEAVIER = 1.0, 3.0  # widths, in logarithms, of what is likelier beforehand below and above a usual variance
STUDENT: Final = 2.42  # (1 + 1.96^2) / 2
SERIES: Final = (1.210365, 1.440077, 1.304029)  # of the quantile .975 of Student's law over the normal one
FEW: Final = "no reply: too few people for this ε"
ALLOWED: Final = "the interval allows for gaps beside them"
COVERS: Final = ", and covers more than 95 %"
TIES: Final = f"many values may count as equal: {ALLOWED}{COVERS}"
SPANNING: Final = "the interval spans most of the bounds: fewer questions, a larger ε or narrower bounds tell more"
ONE_END: Final = "too few values for both ends at this ε: one end is the bound"


@dataclass(frozen=True, slots=True)
class Variances:
    """Plausible variances of the normal part: values and their weights, which sum to 1."""

    values: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def average(self) -> float:
        """The weighted mean."""
        return sum(v * w for v, w in zip(self.values, self.weights, strict=True))

    def times(self, factor: float) -> Variances:
        """Every variance that many times."""
        return self if factor == 1 else Variances(tuple(factor * v for v in self.values), self.weights)


NONE: Final = Variances((0.0,), (1.0,))


def known(variance: float) -> Variances:
    """One value, for sure."""
    return Variances((max(variance, 0.0),), (1.0,))


def half_width(normal: Variances, scales: Sequence[float], level: float = LEVEL) -> float:
    """Least r with P(|error| <= r) >= ``level``, for a normal part plus independent Laplace parts of these scales.

    Parameters
    ----------
    normal : Variances
        Variances of the normal part, with their weights.
    scales : sequence of float
        Of the Laplace parts.
    level : float
        In (0, 1).

    Returns
    -------
    float
        In the unit of the error.

    Notes
    -----
    P(|E| <= r) = r / p + (2 / pi) sum_k sin(k pi r / p) / k phi(k pi / p), exact for the law wrapped on [-p, p].
    The half-period p leaves less than 1e-8 outside, and phi falls at least like 1 / u^2.
    """
    widths = [abs(float(scale)) for scale in scales if scale != 0.0]  # no scalar of an array leaves in an answer
    if max(normal.values) == 0.0 and len(widths) < 2:
        return noise_half_width(widths, level)
    return _noise_alone(tuple(widths), level) if normal == NONE else _series_half_width(normal, widths, level)


@lru_cache(maxsize=256)
def _noise_alone(widths: tuple[float, ...], level: float) -> float:
    """``half_width`` of the noise alone, which all cells and all shapes of a plan have in common."""
    return _series_half_width(NONE, widths, level)


def _series_half_width(normal: Variances, widths: Sequence[float], level: float) -> float:
    """``half_width``, by the series."""
    import numpy as np

    squares, weights = np.array(normal.values), np.array(normal.weights)
    half_period = 20.0 * max(widths, default=0.0) + 9.0 * math.sqrt(float(squares.max()))
    if len(widths) > FEW_PARTS:  # together they reach further than the widest
        half_period += 9.0 * math.sqrt(2.0 * sum(width * width for width in widths))
    k = np.arange(1, TERMS + 1)
    u = k * (math.pi / half_period)
    with np.errstate(under="ignore"):  # far out a transform is 0
        transform = weights @ np.exp(-0.5 * np.outer(squares, u) * u)  # u * u overflows between bounds of 1e-160
        for width, times in counted(widths):
            height = 1.0 + (width * u) ** 2
            transform = transform / height if times == 1 else transform * (1.0 / height) ** times
        terms = (2.0 / math.pi) * transform / k
        low, high = 0.0, half_period
        for _ in range(28):
            r = 0.5 * (low + high)
            low, high = (r, high) if r / half_period + float(np.sin(u * r) @ terms) < level else (low, r)
    return high


def counted(widths: Sequence[float]) -> list[tuple[float, int]]:
    """Different widths with how often each is there, where they are many; few stand one by one."""
    return [(width, 1) for width in widths] if len(widths) <= MANY_PARTS else [*Counter(widths).items()]


def noise_half_width(scales: Sequence[float], level: float = LEVEL) -> float:
    """``half_width`` of a few Laplace parts alone, without arrays: a plan needs no more, and so loads no NumPy.

    One part has a closed form. Of several, the law of |E| is concave and lies below that of the widest alone: Newton's
    steps from there rise to the root.
    """
    return _laplace_half_width(tuple(abs(float(scale)) for scale in scales if scale != 0.0), level)


@lru_cache(maxsize=256)  # a plan asks the same before and after the charge, and so does each release of one question
def _laplace_half_width(widths: tuple[float, ...], level: float) -> float:
    r = -math.log1p(-level) * max(widths, default=0.0)
    if len(widths) < 2:
        return r
    half_period = 20.0 * max(widths)
    if len(widths) > FEW_PARTS:
        half_period += 9.0 * math.sqrt(2.0 * sum(width * width for width in widths))
    u = [k * (math.pi / half_period) for k in range(1, TERMS + 1)]
    heights = [2.0 / half_period] * TERMS
    for width, times in counted(widths):
        square = width * width
        parts = [1.0 + square * one * one for one in u]
        if times > 1:
            heights = [height * (1.0 / part) ** times for height, part in zip(heights, parts, strict=True)]
        else:
            heights = list(map(truediv, heights, parts))
    over = list(map(truediv, heights, u))
    step = r
    while step > 1e-8 * r:  # the next one would be below 1e-15
        angles = [one * r for one in u]
        reached = r / half_period + sum(map(mul, over, map(math.sin, angles)))
        density = 1.0 / half_period + sum(map(mul, heights, map(math.cos, angles)))
        step = (level - reached) / density
        r += step
    return r


def spread(scales: Sequence[float]) -> float:
    """The scale of one Laplace part with the variance of all."""
    return math.sqrt(sum(scale * scale for scale in scales))


def plausible(estimate: float, scale: float, least: float, most: float, *, usual: float | None = None) -> Variances:
    """Plausible true variances given a noisy one, known to lie in [least, most].

    Weights are the likelihood of what was released, exp(-|v - estimate| / scale), on an even grid. With ``usual``
    (then ``least`` > 0) the grid is even in the logarithm and values near ``usual`` are likelier beforehand: within a
    factor e below it, and e^3 above, as laws with long tails have variances that much greater. Mixing over the grid
    keeps the coverage that plugging in one noisy variance would lose.

    Parameters
    ----------
    estimate : float
        The noisy variance.
    scale : float
        Of its noise.
    least, most : float
        Ends of the possible variances.
    usual : float, optional
        A variance that is likelier beforehand.

    Returns
    -------
    Variances
    """
    import numpy as np

    if most <= least or scale <= 0.0:
        return known(min(max(estimate, least), max(most, least)))
    before = np.zeros(POINTS)
    if usual is not None:
        logs = np.linspace(math.log(least), math.log(most), POINTS)
        away = logs - math.log(usual)
        values, before = np.exp(logs), 0.5 * (away / np.where(away > 0.0, HEAVIER, LIGHTER)) ** 2
    else:
        centre = min(max(estimate, least), most)
        values = np.linspace(max(least, centre - 8.0 * scale), min(most, centre + 8.0 * scale), POINTS)
    unlikely = np.abs(values - estimate) / scale + before
    with np.errstate(under="ignore"):  # a value far from the estimate has likelihood 0
        weights = np.exp(unlikely.min() - unlikely)
        weights = weights / weights.sum()
    return Variances(tuple(values.tolist()), tuple(weights.tolist()))


@lru_cache(maxsize=256)
def rank_shift(variance: float, end: float, value: float | None = None) -> float:
    """Number of ranks that an end must aim beyond its level so that it misses on one side with 2.5 %.

    The end misses if it falls short of the sampling error S: solves E[F(S - shift)] = 0.025, with S normal of this
    variance and F the law of the end's rank error, two-sided geometric of scale ``end``. A ``value`` drawn by itself is
    in the interval too, so both must fall short: E[F(S - shift) G(S)] = 0.025.

    Parameters
    ----------
    variance : float
        Of the sampling error, in ranks squared.
    end : float
        Scale of the rank error of the end.
    value : float, optional
        That of a value drawn by itself; None where the value lies between the ends.

    Returns
    -------
    float
        In ranks.
    """

    def short(error: NDArray[np.float64]) -> NDArray[np.float64]:
        return _short(error, end)

    return _least_shift(variance, 40.0 * end, short, None if value is None else lambda error: _short(error, value))


@lru_cache(maxsize=256)
def rank_shift_among_ties(variance: float, end: float, share: float) -> float:
    """Number of ranks that an end must aim beyond its level so that it misses on one side with 2.5 % at most.

    All cells that are m ranks short of the cell aimed at are drawn with probability at most exp(-m / end) / share,
    wherever the values lie: solves E[min(1, exp((S - shift) / end) / share)] = 0.025.

    Parameters
    ----------
    variance : float
        Of the sampling error S, in ranks squared.
    end : float
        Ranks that cost the end a factor e.
    share : float
        Share of the candidates that one cell has.

    Returns
    -------
    float
        In ranks.
    """
    import numpy as np

    least = math.log(share)

    def short(error: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.exp(np.minimum(error / end - least, 0.0))
        return found

    return max(_least_shift(variance, (40.0 - least) * end, short, None), normal_half_width(variance))


def _least_shift(
    variance: float,
    most: float,
    short: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    also: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None,
) -> float:
    """The shift at which E[short(S - shift) also(S)] is 2.5 %."""
    import numpy as np

    spread = math.sqrt(max(variance, 0.0))
    with np.errstate(under="ignore"):  # far out a tail is 0
        nodes = spread * np.linspace(-6.0, 6.0, 241) if spread else np.zeros(1)
        weights = np.exp(-0.5 * (nodes / spread) ** 2) if spread else np.ones(1)
        weights = weights / weights.sum() * (1.0 if also is None else also(nodes))
        return _crossing(lambda shift: float(weights @ short(nodes - shift)), (1.0 - LEVEL) / 2.0, 8.0 * spread + most)


def _crossing(chance: Callable[[float], float], aim: float, most: float) -> float:
    """The place in [0, ``most``] at which a falling chance is ``aim``, by Chandrupatla's method on its logarithm.

    Each step is a parabola through three places where they allow it, and halves the interval where they do not.
    """

    def away(place: float) -> float:
        return math.log(max(chance(place), 1e-300) / aim)

    place, other, here, there = 0.0, most, away(0.0), away(most)
    if here <= 0.0 or there >= 0.0:
        return place if here <= 0.0 else other
    share, least = 0.5, 1e-12 * most
    while True:
        last, past, before = place, here, place + share * (other - place)
        found = away(before)
        if (found > 0.0) == (past > 0.0):
            third, beyond = last, past
        else:
            third, beyond, other, there = other, there, last, past
        place, here = before, found
        room = least / abs(other - place)
        if abs(here) < 1e-11 or room > 0.5:
            return place
        along, up = (place - other) / (third - other), (here - there) / (beyond - there)
        share = 0.5
        if 1.0 - math.sqrt(1.0 - along) < up < math.sqrt(along):
            share = here / (there - here) * beyond / (there - beyond)
            share += (third - place) / (other - place) * here / (beyond - here) * there / (beyond - there)
        share = min(max(share, room), 1.0 - room)


def _short(x: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """P(error <= x) of a Laplace part."""
    import numpy as np

    size = np.abs(x) / scale
    tail = 0.5 * np.exp(-size)
    found: NDArray[np.float64] = np.where(x < 0.0, tail, 1.0 - tail)
    return found


@dataclass(frozen=True, slots=True)
class Side:
    """One of two quantiles whose distance is asked for: its level, and its ends ``apart`` in ``2 shift`` ranks.

    ``own`` and ``end`` are the scales of the rank errors of the value and of an end, ``cell`` the width of its cell.
    ``passed`` is the scale of a rank error that both quantiles have in common. ``row`` is how many ranks a row counts
    for on the average, less than one where rows have weights.
    """

    level: Fraction
    apart: float
    shift: float
    own: float
    end: float
    cell: float
    passed: float = 0.0
    row: float = 1.0

    @property
    def slope(self) -> float:
        """The width of one rank, about this quantile."""
        return self.apart / (2.0 * self.shift)

    @property
    def unsure(self) -> float:
        """Relative variance of the slope: the ends' own errors, and the spacings of 2 shift values."""
        return (self.end / self.shift) ** 2 + self.row / (2.0 * self.shift)


@dataclass(frozen=True, slots=True)
class RankErrors:
    """Variances of the sampling errors of two ranks, and their covariance."""

    low: float
    high: float
    both: float

    @classmethod
    def of_rows(cls, n: float, p: Fraction, q: Fraction) -> RankErrors:
        """Errors of rows that count alike.

        Parameters
        ----------
        n : float
            Number of rows.
        p, q : Fraction
            Levels, p <= q.

        Returns
        -------
        RankErrors
        """
        low, high = float(p), float(q)
        return cls(n * low * (1.0 - low), n * high * (1.0 - high), n * low * (1.0 - high))

    @classmethod
    def of_squares(cls, p: Fraction, q: Fraction, below: float, between: float, above: float) -> RankErrors:
        """Errors of weighted rows, from the squares of weights below, between and above two quantiles.

        Parameters
        ----------
        p, q : Fraction
            Levels, p <= q.
        below, between, above : float
            Sums of squares of weights, in units of the largest one. Noise may make one less than 0, which counts as 0.

        Returns
        -------
        RankErrors
        """
        low, high = float(p), float(q)
        below, between, above = (max(part, 0.0) for part in (below, between, above))
        return cls(
            (1.0 - low) ** 2 * below + low**2 * (between + above),
            (1.0 - high) ** 2 * (below + between) + high**2 * above,
            (1.0 - low) * (1.0 - high) * below - low * (1.0 - high) * between + low * high * above,
        )

    def times(self, factor: float) -> RankErrors:
        """The same with all variances ``factor`` times as large."""
        return RankErrors(self.low * factor, self.high * factor, self.both * factor)


def distance(value: float, sides: tuple[Side, Side], errors: RankErrors) -> Estimate:
    """The distance of two quantiles with its 95 % interval.

    The sampling errors of the two are correlated (1/3 for quartiles), and their own rank errors are independent. A
    shared rank error moves the distance as far as their slopes differ. That slopes are estimated widens the interval as
    Student's law does: by (1 + k^2) / 2 of their relative variance, k = 1.96.

    Parameters
    ----------
    value : float
        Distance of the two quantiles, in the unit of the column.
    sides : pair of Side
    errors : RankErrors
        Sampling errors of the two ranks.

    Returns
    -------
    Estimate
    """
    low, high = sides
    own = low.slope**2 * errors.low + high.slope**2 * errors.high
    variance = max(own - 2.0 * low.slope * high.slope * errors.both, 0.0)
    common = abs(high.slope * high.passed - low.slope * low.passed)
    scales = [*(side.slope * side.own for side in sides), common]
    both = low.slope + high.slope
    unsure = sum((side.slope / both) ** 2 * side.unsure for side in sides) if both else 0.0
    far = half_width(known(variance), scales) * (1.0 + STUDENT * unsure) + (low.cell + high.cell) / 2.0
    return Estimate(value, max(value - far, 0.0), value + far, half_width(NONE, scales), normal_half_width(variance))


def student_stretch(size: float) -> float:
    """Factor by which an interval of ``size`` normal values is longer, since their variance is estimated from them.

    It is the quantile .975 of Student's law with size - 1 degrees over the normal one. The series in one over the
    degrees is Fisher's and Cornish's (1960). Fewer than ``FEWEST`` values count as so many.
    """
    each = 1.0 / (max(size, FEWEST) - 1.0)
    return 1.0 + each * (SERIES[0] + each * (SERIES[1] + each * SERIES[2]))


def estimated_factor(size: float) -> float:
    """Factor of a sum of squares about the mean of ``size`` values: an unbiased variance, then Student's law."""
    values = max(size, FEWEST)
    return values / (values - 1.0) * student_stretch(values) ** 2


def too_few(size: float, scales: Sequence[float]) -> bool:
    """Tell if a number of values is too small, or too uncertain, to divide by."""
    noise = spread(scales)
    return size < FEWEST or (noise > 0.0 and size < laplace_radius(noise, UNSURE))


def spans_most(found: Estimate, ends: tuple[float, float]) -> bool:
    """Tell if an interval is wider than half of what is possible."""
    shown = within_bounds(found, *ends)
    return shown.high - shown.low > (ends[1] - ends[0]) / 2.0


def within_bounds(found: Estimate, least: float, most: float) -> Estimate:
    """An estimate between the possible values: a value beyond them moves to the nearest one, its interval with it.

    The end on the far side moves, so that the interval reaches as far inside as it did about the value. It holds all
    possible values that it held before, and so covers as often; and no noise makes it a point.

    Parameters
    ----------
    found : Estimate
        The estimate as it came out.
    least, most : float
        Ends of the possible values.

    Returns
    -------
    Estimate
    """
    value = min(max(found.value, least), most)
    low, high = found.low + min(value - found.value, 0.0), found.high + max(value - found.value, 0.0)
    low, high = (min(max(end, least), most) for end in (low, high))
    return replace(found, value=value, low=low, high=high)


def two_laplace_tail(beta: float) -> float:
    """The u with P(X + Y > u) = ``beta`` for independent Laplace X, Y of scale 1: (2 + u) / 4 e^-u, beta < 1/2."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (2.0 + middle) / 4.0 * math.exp(-middle) > beta else (low, middle)
    return high


def normal_half_width(variance: float) -> float:
    """95 % half-width of a normal error."""
    return 1.959963984540054 * math.sqrt(max(variance, 0.0))
