"""Plans of quantiles: half-widths and the probability of a reply, for public shapes of a column."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from reticent.data.candidates import Cells
from reticent.data.column_kinds import AMOUNT_PART, are_amounts
from reticent.statistics import public_facts, ranks
from reticent.statistics.context import (
    DISTANT,
    EQUAL_GROUPS,
    HEAPED,
    LIKELY,
    SURE,
    USUAL,
    ExpectedAccuracy,
    Replies,
    of_persons,
    shown,
)
from reticent.statistics.intervals import FEW, NONE, half_width, normal_half_width
from reticent.statistics.magnitude import candidates, far_binade, reach, usual_binade
from reticent.statistics.quantiles import reply_rule, shapes
from reticent.statistics.quantiles.group_size import GroupSize, chance_of
from reticent.statistics.quantiles.quantile_draws import QuantileDraws
from reticent.statistics.quantiles.shapes import TIED, ColumnShape, WeightShape, ties_expected

FEW_FOR_BOTH: Final = "one end of the interval is the bound: too few people for both ends at this ε"
UNSEEN: Final = 1e-3  # probability that a plan does not print


def expected(draws: QuantileDraws, people: int) -> ExpectedAccuracy:
    """Accuracy for a normal shape: in distances of its quartiles without bounds, of a sixth of the range with them."""
    return of_persons(partial(_expected, draws), people, draws.alike, draws.setting.schema.person)


def _expected(draws: QuantileDraws, people: int) -> ExpectedAccuracy:
    rows = (people if draws.units is None else draws.units) / draws.groups
    weights = _weights(draws, rows * draws.groups)
    size, squares = weights[0].powers[1] * rows, weights[0].squares
    bounded = not draws.cells.free
    tied = _usually_tied(draws, size)
    replies, both = (
        _replies(draws, size, rule, tied=tied) for rule in (reply_rule.gives_replies, reply_rule.all_feasible)
    )
    told = tuple(
        (f"weights {one.name}", _replies(draws, one.powers[1] * rows, reply_rule.gives_replies, tied=tied)[0][1])
        for one in weights[1:]
    )
    if both[0][1] < LIKELY or (told and told[0][1] < LIKELY):
        return ExpectedAccuracy(None, None, FEW if replies[0][1] < LIKELY else FEW_FOR_BOTH, (*replies, *told))
    noise: float | None
    sampling: float | None
    noise, sampling = _widths(draws, size, squares, None, tied=tied)
    if told:  # other columns are of rows with typical weights
        size, squares = weights[1].powers[1] * rows, weights[1].squares
    often = _typical(draws)
    part = AMOUNT_PART if often is shapes.AMOUNT else 8
    note = f"for a standard deviation of 1/{part} of the range" if bounded else shapes.unit_words(spread=draws.spread)
    note += f", weights {weights[1].words}" if told else ""
    heaped = draws.pricing.size is not None and dict(both)[HEAPED] >= LIKELY
    one_end = bounded and draws.pricing.size is not None and not heaped and dict(replies)[HEAPED] >= LIKELY
    mechanism, crowd = draws.pricing.size, draws.pricing.crowd / draws.unit
    column = draws.cells, ranks.resolution(draws.query.column, draws.setting)
    values = shapes.values_words(*column, size, crowd, mechanism, unit=draws.unit) if heaped else "normal"
    note = f"{note}, {values}{'' if draws.groups == 1 else EQUAL_GROUPS}; may give no reply{reach(draws.cells)}"
    note += f"; {shapes.NO_SHAPE}" if bounded else ""
    note += _one_end_words(replies, both)
    alike = draws.pricing.size is not None and shapes.typically_tied(*column, size, crowd, mechanism, unit=draws.unit)
    alike = alike or (bounded and _ties_of(draws, _typical(draws), size))
    others = _other_columns(draws, size, squares, tied=tied, heaped=heaped, one_end=one_end, alike=alike)
    of_weights = [
        (name, *_widths(draws, one.powers[1] * rows, one.squares, None, tied=tied))
        for one, (name, chance) in zip(weights[1:], told, strict=True)
        if chance >= LIKELY
    ]
    if bounded and not alike:
        widths = {name: width for name, width, _ in others}
        note += shapes.more_words(widths.get(HEAPED), widths.get(often.name))
    unit = "" if bounded else shapes.unit_of(spread=draws.spread)
    typical = often.name if bounded else HEAPED if alike else ""
    if alike and not heaped and not one_end:  # a typical column has no reply
        others = ((USUAL, noise, sampling), *(one for one in others if one[0] != typical))
        noise = sampling = None
    found = ExpectedAccuracy(
        noise, sampling, note, (*replies, *told), (*others, *of_weights), unit=unit, typical=typical
    )
    return public_facts.of_dates(found, draws.query.column, draws.setting)


def replies_almost_surely(draws: QuantileDraws, *, among_ties: bool) -> bool:
    """Tell if a public number of values has a reply of every usual shape, with ``among_ties`` of ties alone.

    Parameters
    ----------
    draws : QuantileDraws
    among_ties : bool
        True where values that are mostly apart do not count as enough.

    Returns
    -------
    bool
    """
    values = float(draws.setting.units or 0)
    tied = _usually_tied(draws, values)
    both = _replies(draws, values, reply_rule.all_feasible, tied=tied)
    return (tied or not among_ties) and all(chance >= SURE for _, chance in both)


def chance_of_both(draws: QuantileDraws, values: float) -> float:
    """Probability that so many values of the usual shape have a reply with both ends."""
    return _replies(draws, values, reply_rule.all_feasible, tied=_usually_tied(draws, values))[0][1]


def _usually_tied(draws: QuantileDraws, values: float) -> bool:
    """Tell if so many values of the usual shape between bounds count as tied."""
    return not draws.cells.free and _ties_expected(draws, values, _width(draws) / shapes.SPANS)


def _width(draws: QuantileDraws) -> float:
    """Distance of the bounds, in the unit of the column; of a single whole number the step of the grid."""
    low, high = draws.cells.edges(draws.cells.lowest)[0], draws.cells.edges(draws.cells.highest)[1]
    return max(float(high - low), float(draws.cells.step or 0))


def _typical(draws: QuantileDraws) -> ColumnShape:
    """The shape that columns with these bounds come nearest to."""
    ends = draws.cells.value(draws.cells.lowest), draws.cells.edges(draws.cells.highest)[1]
    amount = not draws.cells.free and are_amounts(draws.setting.schema.columns.get(draws.query.column), *ends)
    return shapes.AMOUNT if amount else shapes.TYPICAL


def _weights(draws: QuantileDraws, rows: float) -> tuple[WeightShape, ...]:
    """Public shapes of weights: the usual, and the typical one first; rows without weights have weight 1."""
    weight = draws.query.weight
    return (shapes.ALIKE_WEIGHTS,) if weight is None else shapes.of_weights(weight, draws.setting.schema, rows)


def _other_columns(
    draws: QuantileDraws, size: float, squares: float, *, tied: bool, heaped: bool, one_end: bool, alike: bool
) -> tuple[tuple[str, float, float], ...]:
    """Half-widths for the other public shapes of a column between bounds, and for heaped values.

    Where tied values have ``one_end``, the other is a bound: their interval is at most as long as the range.
    """

    def widths(shape: ColumnShape | None, ties: bool) -> tuple[float, float]:
        noise, sampling = _widths(draws, size, squares, shape, tied=ties)
        return (_width(draws) / 2.0 if ties and one_end else noise), sampling

    found = []
    typical = _typical(draws)
    if (heaped or one_end) and not tied:
        found.append((HEAPED, *widths(None if draws.cells.free else typical, True)))
    if draws.cells.free:
        return (*found, *((name, *widths(one, ties)) for name, one, ties in shapes.of_free(heaped=heaped)))
    found.append((typical.name, *widths(typical, alike)))
    step = 0.0 if draws.cells.step is None else float(draws.cells.step) / _width(draws)
    values = min(shapes.ROUNDED, round(1.0 / step) + 1) if step else shapes.ROUNDED
    for shape in (shapes.TYPICAL, *shapes.OTHERS, shapes.rounded(float(draws.levels[0]), values)):
        if shape is typical:
            continue
        ties = _ties_of(draws, shape, size)
        if heaped or one_end or not ties:
            found.append((shape.name, *widths(shape, ties)))
    return tuple(shape for shape in found if shape[1])  # a quantile that is a bound has no noise


def _widths(
    draws: QuantileDraws, size: float, squares: float, shape: ColumnShape | None, *, tied: bool
) -> tuple[float, float]:
    """Half-widths of noise and sampling for ``size`` values of a shape, by default of the usual one.

    Without bounds they are in distances of its quartiles. Of several quantiles those of the widest. ``squares`` are
    the squares of weights by their sum.
    """
    found: list[tuple[float, float]] = []
    scale = shapes.quartile_distance(shape) if draws.cells.free else 1.0
    among = candidates(draws.cells, usual_binade(draws.cells) if draws.cells.free else None, tied=tied)
    for level in draws.levels:
        supposed, q = GroupSize(size, tied, size), float(level)
        if draws.query.weight is not None:
            supposed = replace(supposed, variance=draws.times * size * q * (1.0 - q) * squares)
        ranks = normal_half_width(draws.sampling(level, supposed))
        away = half_width(NONE, draws.own(level, draws.pricing.way(supposed)))
        shift = float(draws.shift(level, supposed, among)) if draws.interval else max(away + ranks, 1.0)
        if tied and draws.interval:
            away = shift - ranks
        if shape is None and tied and not draws.cells.free:
            shape = shapes.NORMAL  # ends among ties are so far apart that its density at the level does not tell
        if shape is None:
            slope = (1.0 if draws.cells.free else _width(draws) / shapes.SPANS) / (size * shapes.normal_density(q))
        else:
            slope = (shapes.SPANS if draws.cells.free else _width(draws)) * shape.slope(q, shift / size) / size
        found.append((away * slope / scale, ranks * slope / scale))
    noises, samplings = zip(*found, strict=True)
    if not draws.spread:
        return max(noises), max(samplings)
    if tied:  # the intervals of both quartiles are added
        return sum(noises), sum(samplings)
    return math.hypot(*noises), math.sqrt(sum(s * s for s in samplings) - 2 / 3 * math.prod(samplings))


def _replies(
    draws: QuantileDraws, size: float, enough: Callable[[QuantileDraws, GroupSize, Cells | None], bool], *, tied: bool
) -> Replies:
    """Probabilities of a reply for values of the usual shape, which are ``tied`` on a coarse grid, and for heaped ones.

    Parameters
    ----------
    draws : QuantileDraws
    size : float
        Number of values.
    enough : callable
        The rule: ``gives_replies``, or ``all_feasible`` for both ends.
    tied : bool

    Returns
    -------
    Replies
    """
    mechanism, private = draws.pricing.size, draws.units is None
    scale = float(mechanism.scale) / (2.0 if draws.replaced else 1.0) if mechanism is not None and private else 0.0
    scale /= draws.unit
    less = -draws.supposed(0.0).surely

    def chance(ties: bool, binade: int | None) -> float:
        verdict = None if mechanism is None else ties
        among = candidates(draws.cells, binade, tied=verdict)

        def holds(number: float) -> bool:
            given = GroupSize(number, verdict, number - less)
            return enough(draws, given, among) and (not draws.cells.free or enough(draws, given, None))

        return chance_of(draws.least, (enough, ties, binade), holds, size, scale)

    near, far = usual_binade(draws.cells) if draws.cells.free else None, far_binade(draws.cells)
    others = () if far is None else ((DISTANT, chance(True, far)),)
    return (USUAL, chance(tied, near)), (HEAPED, chance(True, near)), *others


def _ties_expected(draws: QuantileDraws, size: float, spread: float) -> bool:
    """Tell if so many values of a normal shape count as tied on this grid, as those of a release would."""
    mechanism, crowd = draws.pricing.size, draws.pricing.crowd / draws.unit
    return ties_expected(draws.cells, size, spread, crowd, mechanism, unit=draws.unit)


def _ties_of(draws: QuantileDraws, shape: ColumnShape, size: float) -> bool:
    """Tell if so many values of another shape count as tied."""
    if draws.pricing.size is None:
        return False
    step = 0.0 if draws.cells.step is None else float(draws.cells.step) / _width(draws)
    ties = size * shape.tied(size, step, draws.pricing.crowd / draws.unit)
    return ties > max(draws.pricing.size.radius(0.02) / draws.unit, TIED * size)


def _one_end_words(replies: Replies, both: Replies) -> str:
    """Words of a plan on replies whose interval has one end; none where they are unlikely."""
    apart = [(shape, chance - two) for (shape, chance), (_, two) in zip(replies, both, strict=True)]
    told = " · ".join(f"{shape} {shown(chance)}" for shape, chance in apart)
    return f"; P(one end is the bound): {told}" if any(chance >= UNSEEN for _, chance in apart) else ""
