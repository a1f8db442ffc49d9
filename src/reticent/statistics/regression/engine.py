"""One engine of linear models of bounded columns, for ``regress`` and ``LinearRegression``: a way by public numbers.

    LeastSquares   noisy sums: of up to ``FEW`` coefficients always, and wherever cells tell a usual slope
    Point          the least point of squares with its curvature, else, where noise in it moves slopes less
    PlainSquares   coefficients without intervals, where the noise of both would hide a usual slope

Public are the columns and their bounds, the price, and a number of rows if it is; a usual column is ``SPREAD``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, TypeAlias

from reticent.statistics.price import Price
from reticent.statistics.regression.frame import Frame
from reticent.statistics.regression.point import Point
from reticent.statistics.regression.prediction import PlainSquares
from reticent.statistics.regression.squares import LeastSquares

FEW: Final = 3  # coefficients, the intercept among them, that are always told by sums
USUAL: Final = 10_000  # rows, where their number is not public

Engine: TypeAlias = LeastSquares | Point | PlainSquares


def engine(
    frame: Frame,
    price: Price,
    people: int | None = None,
    *,
    complete: bool = False,
    clip: Fraction | None = None,
    worth: float = math.inf,
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

    Returns
    -------
    Engine
    """
    sums, rows = LeastSquares(frame, price, people, complete, clip), people or USUAL
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
