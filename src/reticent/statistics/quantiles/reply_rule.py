"""The rule by which quantiles that their data cannot tell from the candidates are no reply, or refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from reticent.data.candidates import Cells
from reticent.mechanisms.exponential import Exponential
from reticent.privacy.numbers import show
from reticent.statistics import public_facts
from reticent.statistics.magnitude import NEAR, share, usual_share
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.quantiles.quantile_draws import QuantileDraws

GUESSED: Final = 1e-2  # the same of a draw here, where values are as few, and as far from 0, as a reply is given for
BETWEEN: Final = 5.0  # standard deviations that a normal column's values would span if they lay as dense as its middle


def feasible(draws: QuantileDraws, level: Fraction, size: GroupSize, among: Cells | None = None) -> bool:
    """Tell if the interval holds as often as it says, and is likely to say something.

    A cell beyond all the data scores b times its distance in ranks. So all such cells together are drawn with
    probability at most exp(-rate ranks) / share. ``share`` is the part of the candidates near the wanted quantile.
    The magnitude is taken for a usual one: one of the others makes the interval wide and not wrong.

    Parameters
    ----------
    draws : QuantileDraws
    level : Fraction
        Level of the quantile, in (0, 1).
    size : GroupSize
        Number of values, as far as it is known.
    among : Cells, optional
        Candidates of the draw; None before the magnitude is known.

    Returns
    -------
    bool
        False where the answer would be no reply.
    """
    if _among_data(draws, level, size, among):
        return True
    return not draws.value_first(draws.pricing.way(size)) and _holds(draws, level, size, among)


def _among_data(draws: QuantileDraws, level: Fraction, size: GroupSize, among: Cells | None = None) -> bool:
    """Tell if every draw falls among the data, but for probability GUESSED."""
    among = draws.supposed_cells(size, among)
    way, surely, outside = draws.pricing.way(size), max(size.surely, 0.0), float(min(level, 1 - level))
    part = share(draws.cells, among, tied=size.tied)

    def enough(mechanism: Exponential, ranks: float) -> bool:
        rate = draws.rate(mechanism, level)
        return rate * ranks >= _needed(part, rate * surely, size)

    if not _among_binades(draws, surely):
        return False
    if draws.value_first(way) and not enough(draws.value(level, way)[0], surely * outside):
        return False
    if not draws.interval:
        return True
    return enough(draws.ends(level, way)[0], surely * outside - float(draws.shift(level, size, among)))


def _among_binades(draws: QuantileDraws, values: float) -> bool:
    """Tell if the magnitude is one of the data, but for probability GUESSED."""
    least = math.log(1.0 / (GUESSED * usual_share(draws.cells)))
    return all(draws.rate(one, draws.far) * values * float(1 - draws.far) >= least for one in draws.of_magnitude())


def _holds(draws: QuantileDraws, level: Fraction, size: GroupSize, among: Cells | None) -> bool:
    """Tell if the ends fall on their own sides of the quantile, and among values of a usual spread.

    An end aims D ranks away from the level. Beyond the data on its own side it makes the interval wide. It misses
    on the other side alone, and all the data and D more ranks lie before that. Ties have a D that misses seldom
    wherever it ends, if it ends among the data.
    """
    among = draws.supposed_cells(size, among)
    end, outside = draws.ends(level, draws.pricing.way(size))[0], float(min(level, 1 - level))
    rate, shift = draws.rate(end, level), float(draws.shift(level, size, among))
    far = _needed(share(draws.cells, among, tied=size.tied), rate * size.likely, size)
    near = _needed(share(draws.cells, among, tied=False, spreads=NEAR), rate * max(size.values, 0.0), size)
    return (
        _among_binades(draws, size.likely)
        and rate * (size.likely * outside + shift) >= far
        and rate * (max(size.values, 0.0) * outside - shift) >= near
    )


def _one_end_holds(draws: QuantileDraws, level: Fraction, size: GroupSize, among: Cells | None = None) -> bool:
    """Tell if the value falls among the data, but for probability GUESSED, where both ends need not.

    The end on the side of more values then misses as seldom as it says. Beyond the data on its own side it makes
    the interval wide, and the data lie before the other. Without bounds the other end would say nothing. Where a
    value is drawn beside the ends, their draws do not tell it.
    """
    if draws.cells.free or not draws.interval or draws.value_first(draws.pricing.plain):
        return False
    among, surely = draws.supposed_cells(size, among), max(size.surely, 0.0)
    rate = draws.rate(draws.ends(level, draws.pricing.way(size))[0], level)
    needed = _needed(share(draws.cells, among, tied=size.tied), rate * surely, size)
    return rate * surely * float(min(level, 1 - level)) >= needed


def all_feasible(draws: QuantileDraws, size: GroupSize, among: Cells | None = None) -> bool:
    """Tell if every quantile gives a reply with both ends.

    Parameters
    ----------
    draws : QuantileDraws
    size : GroupSize
    among : Cells, optional
        Candidates of the draw; None before the magnitude is known.

    Returns
    -------
    bool
    """
    return all(feasible(draws, level, size, among) for level in draws.levels)


def gives_replies(draws: QuantileDraws, size: GroupSize, among: Cells | None = None) -> bool:
    """Tell if every quantile gives a reply, with both ends or with one.

    Parameters
    ----------
    draws : QuantileDraws
    size : GroupSize
    among : Cells, optional
        Candidates of the draw; None before the magnitude is known.

    Returns
    -------
    bool
    """
    return all(gives_one(draws, level, size, among) for level in draws.levels)


def gives_one(draws: QuantileDraws, level: Fraction, size: GroupSize, among: Cells | None = None) -> bool:
    """Tell if a quantile gives a reply, with both ends or with one.

    Parameters
    ----------
    draws : QuantileDraws
    level : Fraction
    size : GroupSize
    among : Cells, optional
        Candidates of the draw; None before the magnitude is known.

    Returns
    -------
    bool
    """
    return feasible(draws, level, size, among) or _one_end_holds(draws, level, size, among)


def are_few(draws: QuantileDraws, size: GroupSize) -> bool:
    """Tell if some draw may leave the data."""
    return not all(_among_data(draws, level, size) for level in draws.levels)


def gives_a_reply(draws: QuantileDraws, most: int) -> bool:
    """Tell if so many values would be enough for both ends."""
    return all_feasible(draws, draws.supposed(float(most)))


def refuse_if_hopeless(draws: QuantileDraws, name: str, most: int) -> None:
    """Refuse before rows are read where not even ``most`` values could outweigh the prior.

    Parameters
    ----------
    draws : QuantileDraws
    name : str
        The question, as the message names it.
    most : int
        The most values that there can be.

    Raises
    ------
    QuestionError
    """
    size = draws.supposed(float(most))
    for level in draws.levels:
        if not gives_one(draws, level, size):
            raise public_facts.TooFewValues(
                f"{name} at this ε would be a guess: with {most:,} values, too few lie on either "
                f"side of level {show(level)}.",
                public_facts.remedies(draws.setting, has_bounds=not draws.cells.free, extreme=level * 2 != 1),
            )


def _needed(part: float, weight: float, size: GroupSize) -> float:
    """Log weight by which a share ``part`` of the candidates outweighs all others, but for probability GUESSED.

    Without ties only the values within a rank's reach count as near; ``weight`` is n times the rate.
    """
    reach = math.log1p(weight / BETWEEN) if size.tied is False else 0.0
    return math.log(1.0 / GUESSED) - math.log(part) + reach
