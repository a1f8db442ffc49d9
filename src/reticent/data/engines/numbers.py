"""Doubles of an engine: literals, and values moved into a range."""

from __future__ import annotations

from typing import Any, TypeAlias

import ibis

Expr: TypeAlias = Any  # Ibis is not typed; expressions never leave ``plan`` but as SQL text


def double(value: float) -> Expr:
    """A double literal, written as text so that no engine reads it as a rounded decimal."""
    return ibis.literal(repr(float(value)), "string").cast("float64")


def clamp(x: Expr, low: float, high: float) -> Expr:
    """``x`` moved into [low, high]; null stays null. Only comparisons, so infinities are safe.

    Parameters
    ----------
    x : Expr
        Double.
    low, high : float
        Ends of the range.

    Returns
    -------
    Expr
        Double in [low, high], or null.
    """
    return ibis.cases((x < double(low), double(low)), (x > double(high), double(high)), else_=x)
