"""Rows as integers on a public grid: ``reticent.statistics.scaling``, which regressions use as well."""

from __future__ import annotations

from reticent.statistics.scaling import (
    BITS,
    FARTHEST,
    MOST_ROWS,
    PART,
    SHORTER,
    UNIT,
    WIDEST,
    Bound,
    Floats,
    Integers,
    Norm,
    Scaling,
    filled,
    lengths,
    longest,
    product,
    scored,
    shortened,
    weighed,
)

__all__ = [
    "BITS",
    "FARTHEST",
    "MOST_ROWS",
    "PART",
    "SHORTER",
    "UNIT",
    "WIDEST",
    "Bound",
    "Floats",
    "Integers",
    "Norm",
    "Scaling",
    "filled",
    "lengths",
    "longest",
    "product",
    "scored",
    "shortened",
    "weighed",
]
