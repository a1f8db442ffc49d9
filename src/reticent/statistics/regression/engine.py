"""One engine of linear models of bounded columns, for ``regress`` and ``LinearRegression``: a way by public numbers.

    LeastSquares   noisy sums: of up to ``FEW`` coefficients always, and wherever cells tell a usual slope
    Point          the least point of squares with its curvature, else, where noise in it moves slopes less
    PlainSquares   coefficients without intervals, where the noise of both would hide a usual slope

With a delta each way has noise of either kind: discrete Gaussian, or geometric for the same epsilon and no delta. Few
sums have less of the second. In a ledger of rho a pure draw costs many times as much, and the delta is kept.

Public are the columns and their bounds, the price, and a number of rows if it is; a usual column is ``SPREAD``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Final, TypeAlias

from reticent.statistics.price import Price
from reticent.statistics.regression.frame import Frame
from reticent.statistics.regression.point import Point
from reticent.statistics.regression.prediction import PlainSquares
from reticent.statistics.regression.squares import LeastSquares
from reticent.statistics.shares import ASSUMED

FEW: Final = 3  # coefficients, the intercept among them, that are always told by sums

Engine: TypeAlias = LeastSquares | Point | PlainSquares


def engine(
    frame: Frame,
    price: Price,
    people: int | None = None,
    *,
    complete: bool = False,
    clip: Fraction | None = None,
    worth: float = math.inf,
    supposed: int | None = None,
) -> Engine:
    """The way by predicted error of usual columns.

    ``worth``: the most of the variance of y that noise in the slopes may cost where intervals are bought.

    Parameters
    ----------
    frame : Frame
    price : Price
    people : int or None
        The public number of rows.
    complete : bool
        True if each of these rows lacks nothing.
    clip : Fraction or None
        Length of the longest row; None for what bounds allow.
    worth : float
        Greatest loss of variance by noise in the slopes.
    supposed : int or None
        The number of rows that the choice goes by; by default the public one, else 10,000.

    Returns
    -------
    Engine
    """
    rows = supposed or people or ASSUMED
    chosen = _engine(frame, price, people, complete, clip, (worth, rows))
    if not price.delta or price.currency == "zcdp" or price.part < 1 or clip is not None:
        return chosen
    pure = _engine(frame, replace(price, delta=Fraction(0)), people, complete, clip, (worth, rows))
    if isinstance(pure, PlainSquares):
        return chosen
    return pure if isinstance(chosen, PlainSquares) or pure.error() <= chosen.error() else chosen


def _engine(
    frame: Frame,
    price: Price,
    people: int | None,
    complete: bool,
    clip: Fraction | None,
    by: tuple[float, int],
) -> Engine:
    """The way with the noise that goes with ``price``, by the loss of variance and the rows of ``by``."""
    sums, (worth, rows) = LeastSquares(frame, price, people, complete, clip), by
    width = len(frame.features) - int(frame.intercept)

    def tells(plan: LeastSquares | Point) -> bool:
        return not plan.hopeless and plan.hidden(rows) < 1 and width * (plan.error() / rows) ** 2 <= worth

    told = tells(sums)
    if len(frame.features) <= FEW or (told and sums.products.way == "cells"):
        return sums
    point = Point(frame, price, people, clip)
    if tells(point):
        return sums if told and sums.error() <= point.error() else point
    if told:
        return sums
    plain = PlainSquares(frame, price, people, complete, clip)
    return sums if plain.hopeless else plain


__all__ = ["Engine", "FEW", "engine"]
