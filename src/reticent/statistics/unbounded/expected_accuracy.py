"""Expected half-widths of noise and sampling at 95 %, for plans: a normal column of n values, and no row read.

All but CoinPress are in standard deviations of the column; None where n values would give no reply. The formulas are
those of the intervals, with the population in place of what was drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, TypeAlias, assert_never

from reticent.statistics.context import DISTANT, HEAPED, USUAL, Replies, normally, of_any, passing
from reticent.statistics.intervals import FEWEST, NONE, half_width, normal_half_width, student_stretch, too_few
from reticent.statistics.magnitude import candidates, far_binade, usual_binade
from reticent.statistics.quantiles.group_size import GroupSize, chance_of
from reticent.statistics.quantiles.shapes import (
    OTHERS,
    ROUNDED,
    SPANS,
    TIED,
    TYPICAL,
    ColumnShape,
    rounded,
    ties_expected,
    typically_tied,
    values_words,
)
from reticent.statistics.tails import allowed, stretch
from reticent.statistics.unbounded import clipped_mean, trimmed_mean
from reticent.statistics.unbounded.clipped_mean import ClippedMean
from reticent.statistics.unbounded.coinpress import BETA, CoinPressMean
from reticent.statistics.unbounded.coinpress import UNIT as BALL
from reticent.statistics.unbounded.column_counts import CROWD, Census, supposed
from reticent.statistics.unbounded.confidence_bounds import FINE, REACH
from reticent.statistics.unbounded.joint import NUMBERED, JointQuantiles, Sides
from reticent.statistics.unbounded.location import UNIT, Huber
from reticent.statistics.unbounded.quantile_range import QuantileRange
from reticent.statistics.unbounded.trimmed_mean import UnboundedTrimmedMean

Widths: TypeAlias = tuple[float, float] | None  # of noise and of sampling

NORMAL: Final = NormalDist()
HALF_QUARTILES: Final = NORMAL.inv_cdf(0.75)
RUNG: Final = 2.0**0.125  # a radius is rounded up to a rung, by half a rung on average


def of_mean(made: ClippedMean, n: float) -> Widths:
    """The clipped mean; what the interval adds for a declared tail is in ``for_tail``."""
    size, (middle, _) = supposed(made.census, n), made.choices
    outside = made.outside(size)
    if not middle.outweighs(made.cells, size) or outside > clipped_mean.MOST_OUTSIDE:
        return None
    if too_few(n, made.moments.noise_of([1.0])):
        return None
    clip = stretch(made.tail) * _radius(outside)
    clip = clip if made.bounds is None else min(clip, SPANS / 2.0)  # the cut ends at the bounds
    noise = half_width(NONE, made.moments.noise_of([0.0, 1.0])) / n * clip
    return noise, normal_half_width(made.terms.together / n) * student_stretch(n / made.terms.together)


def of_size(made: JointQuantiles, n: float, spread: float | None) -> Replies:
    """Replies of joint quantiles, for values of the usual shape and for heaped ones.

    Without bounds values are not tied.

    Parameters
    ----------
    made : JointQuantiles
        Step of the quantiles.
    n : float
        Supposed number of values.
    spread : float or None
        Deviation that a plan supposes within bounds, in units of the column; None without bounds.

    Returns
    -------
    Replies
        Chances of a reply.
    """
    census = made.census
    less, scales = _noise_of(census, n)
    near, far = (None, None) if made.magnitude is None else (usual_binade(made.cells), far_binade(made.cells))

    def chance(ties: bool, binade: int | None) -> float:
        verdict = None if census is None else ties
        among = candidates(made.cells, binade, tied=verdict, most=NUMBERED)

        def enough(number: float) -> bool:
            size = GroupSize(number, verdict, number - less)
            return made.feasible(size) and made.feasible(size, among)

        return chance_of(made.least, (verdict, binade), enough, n, max(scales, default=0.0))

    others = () if far is None else ((DISTANT, chance(True, far)),)
    return (USUAL, chance(tied(made, n, spread), near)), (HEAPED, chance(True, near)), *others


def of_clipped(made: ClippedMean, n: float) -> Replies:
    """Replies of the clipped mean: its number of values is told twice, for the centre and for the mean itself."""
    less, scales = _noise_of(made.census, n)
    drawn = made.moments.noise_of([1.0])

    def enough(number: float) -> bool:
        size = GroupSize(number, False, number - less)
        return made.choices[0].outweighs(made.cells, size) and made.outside(size) <= clipped_mean.MOST_OUTSIDE

    counted = passing(lambda number: not too_few(number, drawn), n, drawn)
    return of_any(passing(enough, n, scales) * counted)


def of_huber(made: Huber, n: float) -> Replies:
    """Replies of Huber's location, but for a centre or a scale that is the prior's, which is rare."""
    less, scales = _noise_of(made.census, n)

    def enough(number: float) -> bool:
        size = GroupSize(number, False, number - less)
        return made.guess.outweighs(made.cells, size) and 2.0 * made.scale.slack <= size.surely

    return of_any(passing(enough, n, scales))


def of_pressed(made: CoinPressMean, n: float) -> Replies:
    """Replies of CoinPressMean, whose every round has a number of values of its own where that is private."""
    if made.terms.values is not None:
        return of_any(1.0 if made.terms.values >= FEWEST else 0.0)
    deviations = [math.sqrt(float(step.variance)) / BALL for step in made.steps]
    return of_any(math.prod(normally(n, max(FEWEST, 6.0 * one), one) for one in deviations))


def _noise_of(census: Census | None, n: float) -> tuple[float, list[float]]:
    """Distance of the certain number of values below the noisy one, and the scales of the noise of that."""
    if census is None or census.terms.values is not None:
        return 0.0, []
    scale = float(census.mechanism.scale) / (2.0 if census.terms.replaced else 1.0)
    return -supposed(census, 0.0).surely, [scale, scale]


def for_tail(made: ClippedMean, n: float) -> float:
    """Allowance of the interval on either side for the declared tail, in standard deviations of a normal column."""
    outside = made.outside(supposed(made.census, n))
    if made.tail is None or outside > clipped_mean.MOST_OUTSIDE:
        return 0.0
    return _radius(outside) * allowed(made.tail, outside, 1.0).moved


def _radius(outside: float) -> float:
    """The radius that leaves this share of a normal law outside, in standard deviations."""
    return RUNG * NORMAL.inv_cdf(1.0 - outside / 2.0)


def tied(made: JointQuantiles, n: float, spread: float | None) -> bool:
    """Tell if n values of the usual shape count as tied; without bounds they are not.

    Parameters
    ----------
    made : JointQuantiles
    n : float
        Values.
    spread : float or None
        Their deviation in the unit of the column, supposed within bounds.

    Returns
    -------
    bool
    """
    mechanism = None if made.census is None else made.census.mechanism
    return spread is not None and ties_expected(made.cells, n, spread, CROWD, mechanism)


def typically(made: JointQuantiles, n: float, resolution: Fraction | None) -> bool:
    """Tell if n values of a typical column count as tied.

    Parameters
    ----------
    made : JointQuantiles
    n : float
        Values.
    resolution : Fraction or None
        Declared step of real numbers.

    Returns
    -------
    bool
    """
    return made.census is not None and typically_tied(made.cells, resolution, n, CROWD, made.census.mechanism)


def typical_words(made: JointQuantiles, n: float, resolution: Fraction | None) -> str:
    """Words on how often n values of a typical column are equal, as ``values_words`` has them.

    Parameters
    ----------
    made : JointQuantiles
    n : float
        Values.
    resolution : Fraction or None
        Declared step of real numbers.

    Returns
    -------
    str
    """
    return "normal" if made.census is None else values_words(made.cells, resolution, n, CROWD, made.census.mechanism)


def in_other_shapes(
    made: JointQuantiles | QuantileRange,
    n: float,
    spread: float,
    resolution: Fraction | None,
    *,
    usually_tied: bool,
    heaped: bool,
) -> tuple[tuple[str, tuple[float, float]], ...]:
    """Half-widths for other public shapes of a column between bounds; ``heaped`` where tied values have a reply.

    Parameters
    ----------
    made : JointQuantiles or QuantileRange
    n : float
        Values.
    spread : float
        A sixth of the range.
    resolution : Fraction or None
        Declared step of real numbers.
    usually_tied : bool
        True if values of the usual shape count as tied.
    heaped : bool

    Returns
    -------
    tuple of name and pair of half-widths
        In units of the spread.
    """
    joint = made.joint if isinstance(made, QuantileRange) else made
    step = 0.0 if joint.cells.step is None else float(joint.cells.step) / (SPANS * spread)
    radius = None if joint.census is None else joint.census.mechanism.radius(0.02)
    asked: list[tuple[str, ColumnShape | None, bool]] = []
    if heaped and not usually_tied:
        asked.append((HEAPED, TYPICAL, True))
    values = min(ROUNDED, round(1.0 / step) + 1) if step else ROUNDED
    for one in (TYPICAL, *OTHERS, rounded(float(joint.levels[0]), values)):
        ties = radius is not None and n * one.tied(n, step, CROWD) > max(radius, TIED * n)
        ties = ties or (one == TYPICAL and heaped and typically(joint, n, resolution))
        asked += [(one.name, one, ties)] if heaped or not ties else []
    found: list[tuple[str, tuple[float, float]]] = []
    for name, shape, ties in asked:
        if isinstance(made, QuantileRange):
            widths = of_spread(made, n, spread, ties=ties, shape=shape)
        else:
            widths = of_quantiles(made, n, spread, ties=ties, shape=shape)
        found += [(name, widths)] if widths is not None and widths[0] else []  # none for a quantile that is a bound
    return tuple(found)


def of_centre_in_other_shapes(
    made: ClippedMean | Huber | UnboundedTrimmedMean, n: float, usual: tuple[float, float]
) -> tuple[tuple[str, tuple[float, float]], ...]:
    """Half-widths of a mean or a location for other public shapes between bounds.

    Noise goes with the distance of the ends at which values are cut. Sampling goes with the standard deviation.

    Parameters
    ----------
    made : ClippedMean, Huber or UnboundedTrimmedMean
    n : float
        Values.
    usual : pair of float
        Half-widths of noise and sampling for a normal column, in its standard deviations.

    Returns
    -------
    tuple of name and pair of half-widths
        In units of a sixth of the range.
    """
    return tuple(
        (one.name, (noise, usual[1] * SPANS * one.deviation))
        for one in OTHERS
        if (noise := _noise_of_centre(made, n, usual[0], one))
    )


def _noise_of_centre(
    made: ClippedMean | Huber | UnboundedTrimmedMean, n: float, usual: float, shape: ColumnShape
) -> float:
    match made:
        case ClippedMean():
            reach = shape.radius(made.outside(supposed(made.census, n)))
            clip, centre = stretch(made.tail) * RUNG * SPANS * reach, SPANS * shape.at(0.5)
            low, high = max(-clip, -centre), min(clip, SPANS - centre)
            half = (high - low) / 2.0
            if not half > 0.0:
                return 0.0
            place = (SPANS * shape.mean - centre - (low + high) / 2.0) / half
            return half_width(NONE, made.moments.noise_of([-place, 1.0])) / n * half
        case Huber():
            cut = 0.25
        case UnboundedTrimmedMean():
            cut = float(made.trim)
        case _:
            assert_never(made)
    return usual * SPANS * shape.farthest(cut) / NORMAL.inv_cdf(1.0 - cut)


def of_quantiles(
    made: JointQuantiles, n: float, spread: float | None, *, ties: bool, shape: ColumnShape | None = None
) -> Widths:
    """The widest of several quantiles.

    Parameters
    ----------
    made : JointQuantiles
    n : float
        Values.
    spread : float or None
        Their deviation in the unit of the column, supposed within bounds.
    ties : bool
        True for values of which many are equal.
    shape : ColumnShape, optional
        A public shape between bounds; by default normal.

    Returns
    -------
    pair of float, or None
        In standard deviations; None where there would be no reply.
    """
    size = supposed(made.census, n)
    if not made.feasible(size):
        return None
    ends = _ends(made, n, spread, shape, ties=ties, sure=made.sure(size)) if made.wanted else None
    found = []
    for q in made.levels:
        ranks = normal_half_width(made.terms.together * n * float(q * (1 - q)))
        moved = half_width(NONE, [made.errors[q] / math.sqrt(2.0)])
        slope = _slope(float(q), n, shape, moved + ranks)
        found.append((moved * slope, ranks * slope) if ends is None else _parts(made, q, n, ends))
    return max(found, key=sum)


def of_spread(
    made: QuantileRange, n: float, spread: float | None, *, ties: bool, shape: ColumnShape | None = None
) -> Widths:
    """The distance of two quantiles, as ``of_quantiles`` has them; among ties both intervals are added.

    Parameters
    ----------
    made : QuantileRange
    n : float
        Values.
    spread : float or None
        Their deviation in the unit of the column, supposed within bounds.
    ties : bool
        True for values of which many are equal.
    shape : ColumnShape, optional
        A public shape between bounds; by default normal.

    Returns
    -------
    pair of float, or None
        In standard deviations; None where there would be no reply.
    """
    joint, size = made.joint, supposed(made.joint.census, n)
    if not joint.feasible(size):
        return None
    ends = _ends(joint, n, spread, shape, ties=ties, sure=joint.sure(size)) if joint.wanted else None
    if ends is not None:
        return _of_both(joint, n, ends, sure=all(joint.sure(size)))
    low, _, high = (float(q) for q in joint.levels)
    values = joint.terms.together * n
    reach = {q: normal_half_width(values * float(q * (1 - q))) + joint.own[q] for q in joint.levels}
    slopes = {q: _slope(float(q), n, shape, reach[q]) for q in joint.levels}
    noise = half_width(NONE, [slopes[q] * joint.own[q] for q in (joint.levels[0], joint.levels[-1])])
    first, third = (math.sqrt(values * float(q * (1 - q))) * slopes[q] for q in (joint.levels[0], joint.levels[-1]))
    alike = low * (1.0 - high) / math.sqrt(low * (1.0 - low) * high * (1.0 - high))
    return noise, normal_half_width(first**2 + third**2 - 2.0 * alike * first * third)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Ends and values of the levels, in standard deviations, and the ranks between ends and levels."""

    at: dict[Fraction, tuple[float, float]]
    shift: dict[Fraction, float]
    values: dict[Fraction, float]


def _ends(
    made: JointQuantiles, n: float, spread: float | None, shape: ColumnShape | None, *, ties: bool, sure: Sides
) -> _Ends | None:
    """The ends of intervals that allow for ties, or for values outwards of the data; None where neither is so."""
    if all(sure) and not ties:
        return None
    apart = NORMAL.inv_cdf(float(made.levels[-1])) - NORMAL.inv_cdf(float(made.levels[0]))
    step = apart / (1.5 * FINE * math.sqrt(max(n, 16.0)))  # a step is a power of 2: from half to all of the finest
    if spread is not None and made.cells.step is not None:
        step = max(step, 2.0 ** math.ceil(math.log2(float(made.cells.step))) / spread)
    part = 1.0 / (2.0 + (1.0 + 2.0 * REACH) * max(apart / step, 1.0))
    shift = {q: made.shift_among_ties(q, n, part) if ties else made.shift_apart(q, n) for q in made.wanted}
    away = {q: ranks / n for q, ranks in shift.items()}

    def end(q: Fraction, *, upper: bool) -> float:
        level = made.expected_end(q, away, upper=upper, sure=sure)
        side, most = (1.0 if upper else -1.0), SPANS / 2.0 if spread is not None else math.inf
        outer, other = (
            _at(float(one), shape) for one in (made.levels[-1 if upper else 0], made.levels[0 if upper else -1])
        )
        last = outer + REACH * (outer - other)  # of the cells about the quantiles
        if level is None:
            return side * min(most, side * last)
        rank = 1.0 / max(n, 2.0)
        far = side * min(side * (last + _at(1.0 - rank if upper else rank, shape)) / 2.0, most)
        if not 0.0 < level < 1.0:  # beyond all values: anywhere from them to the last cell
            return far
        return side * min(side * _at(level, shape) + step / 2.0, side * far)  # an interval has the cells of its ends

    found = {q: (end(q, upper=False), end(q, upper=True)) for q in made.wanted}
    return _Ends(found, shift, {q: _at(float(q), shape) for q in made.wanted})


def _at(level: float, shape: ColumnShape | None) -> float:
    """A quantile in standard deviations of the usual shape, from the middle of bounds; cut to them."""
    level = min(max(level, 1e-9), 1.0 - 1e-9)
    if shape is None:
        return min(max(NORMAL.inv_cdf(level), -SPANS / 2.0), SPANS / 2.0)
    return SPANS * (min(max(shape.at(level), 0.0), 1.0) - 0.5)


def _parts(made: JointQuantiles, q: Fraction, n: float, ends: _Ends) -> tuple[float, float]:
    """Noise and sampling of one level: together half of its interval, by the ranks of sampling in it."""
    low, high = ends.at[q]
    half, ranks = (high - low) / 2.0, normal_half_width(made.terms.together * n * float(q * (1 - q)))
    share = min(ranks / ends.shift[q], 1.0)
    return half * (1.0 - share), half * share


def _of_both(made: JointQuantiles, n: float, ends: _Ends, *, sure: bool) -> tuple[float, float]:
    """Noise and sampling of a distance, by the rule of its interval: no further than that reaches."""
    first, last = made.levels[0], made.levels[-1]
    (noise, sampling), (more, also) = (_parts(made, q, n, ends) for q in (first, last))
    noise, sampling = noise + more, sampling + also
    value, most = ends.values[last] - ends.values[first], ends.at[last][1] - ends.at[first][0]
    least = max(ends.at[last][0] - ends.at[first][1], 0.0)
    part = min((most - least) / 2.0 / max(noise + sampling, 1e-300), 1.0)
    if not sure:
        part = max(most, value) / 2.0 / max(noise + sampling, 1e-300)
    return part * noise, part * sampling


def of_location(made: Huber, n: float) -> Widths:
    """Huber's location; its scale is the distance of a quartile from the middle."""
    size = supposed(made.census, n)
    if not made.guess.outweighs(made.cells, size) or 2.0 * made.scale.slack > size.surely:
        return None
    bend = float(made.bend) * HALF_QUARTILES * RUNG
    beyond = 2.0 * (1.0 - NORMAL.cdf(bend))
    square = (1.0 - beyond - 2.0 * bend * NORMAL.pdf(bend)) / bend**2 + beyond  # of psi, in bends
    slope = bend / (n * (1.0 - beyond))  # of the centre, for one bend more in the sum
    noise = half_width(NONE, [1.0 / float(made.value.rate)]) / UNIT * slope
    return noise, normal_half_width(made.terms.together * n * square) * slope


def of_trimmed(made: UnboundedTrimmedMean, n: float) -> Widths:
    """The trimmed mean; n is public, and is the one of the plan."""
    n = float(made.terms.values or n)
    if (
        made.trimmed < 1
        or made.outside > trimmed_mean.MOST_OUTSIDE
        or not made.guess.outweighs(made.cells, supposed(None, n))
    ):
        return None
    far, inside = NORMAL.inv_cdf(1.0 - float(made.trim)), n - 2.0 * made.trimmed
    beyond = 2.0 * float(made.trim)
    winsorised = 1.0 - beyond - 2.0 * far * NORMAL.pdf(far) + beyond * far**2
    winsorised = max(winsorised, 4.0 * far**2 * ((1.0 - beyond) / 12.0 + beyond / 4.0))  # as its interval has it
    noise = half_width(NONE, [1.0 / float(made.value.rate)]) * 2.0 * far / inside
    return noise, normal_half_width(n * winsorised) / inside


def of_coinpress(made: CoinPressMean, n: float) -> Widths:
    """CoinPress, in units of the column, for a mean at the centre and the standard deviation that was declared."""
    radius, deviation = float(made.radius), float(made.deviation)
    private = made.terms.values is None
    n = n if private else float(made.terms.values or 0)
    noise = 0.0
    for place, step in enumerate(made.steps):
        likely = 1e6 if private and place == 0 else max(n, 2.0)
        ball = radius + deviation * math.sqrt(2.0 * math.log(2.0 * likely / BETA))
        share = math.sqrt(float(step.variance)) / BALL
        if n < FEWEST or (private and n < 6.0 * share):
            return None
        noise = share * ball / n
        radius = math.hypot(deviation / math.sqrt(n), noise) * math.sqrt(2.0 * math.log(2.0 / BETA))
    return normal_half_width(noise**2), normal_half_width(made.terms.together * deviation**2 / n)


def _slope(level: float, n: float, shape: ColumnShape | None, away: float) -> float:
    """Change of a quantile per rank, as ``away`` ranks tell it; in standard deviations of a normal column."""
    if shape is not None:
        return SPANS * shape.slope(level, away / n) / n
    return 1.0 / (n * NORMAL.pdf(NORMAL.inv_cdf(level)))
