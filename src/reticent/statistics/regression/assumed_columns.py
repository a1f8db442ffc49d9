"""Columns that a plan of least squares assumes, and what these show of replies and widths. No row is read.

usual        numbers in the middle of their bounds that tell nothing of y, as rehearsals make them up
numbers      normal, of one of three deviations, two of these above their lower bound: skewed columns lie so
categories   even; ``rows_of_keys`` tells how rare a key, or its reference, may be
y            as the numbers, which tell half of its variance
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from reticent.data.query import WEIGHT_ONE
from reticent.entropy import Replayed
from reticent.statistics.regression.engine import Engine
from reticent.statistics.regression.frame import CategoryKeys, Frame
from reticent.statistics.regression.plans import unit_values
from reticent.statistics.regression.point import Point
from reticent.statistics.regression.prediction import PlainSquares
from reticent.statistics.regression.sandwich import AT_95, CLEAR
from reticent.statistics.regression.squares import LeastSquares
from reticent.statistics.scaling import Bound, Floats, Integers

MIDDLE: Final = "1/8"
SHAPES: Final = {"1/16": 0.125, MIDDLE: 0.25, "1/4": 0.5}  # deviation of a made-up column: in words, in half-widths
USUAL: Final = 1 / 3  # deviation of the usual shape, whose middle is that of the bounds
ABOVE: Final = 2.0  # deviations from the lower bound
TABLES: Final = 5
LARGEST_SHOWN: Final = 20_000
NINE_IN_TEN: Final = 1.2815515655446004  # normal deviations


def shown(plan: Engine, people: int) -> dict[str, AssumedWidths] | None:
    """Expected half-widths of a slope on made-up tables of each skewed shape; None where no intervals are bought."""
    return None if isinstance(plan, PlainSquares) else {name: _of(plan, people, one) for name, one in SHAPES.items()}


def usual(plan: LeastSquares | Point, people: int) -> tuple[float, float] | None:
    """Expected half-widths of a slope on made-up tables of the usual shape; None where most tell none."""
    return _of(plan, people, USUAL).widths


def _of(plan: LeastSquares | Point, people: int, spread: float) -> AssumedWidths:
    """Expected half-widths for one shape.

    Under a pure price a smaller table at a larger epsilon stands for the whole one: noise per row is the same.
    """
    size = min(people, LARGEST_SHOWN)
    if plan.people is not None:
        plan = replace(plan, people=size)
    more, pure = size / people, not plan.price.delta
    if pure:
        plan = replace(plan, price=replace(plan.price, epsilon=plan.price.epsilon * people / size))
    widths, told, some = _made_up(plan, size, spread)
    if widths is not None:  # noise falls with n, sampling with its root
        widths = widths[0] * (1.0 if pure else more), widths[1] * math.sqrt(more)
    return AssumedWidths(widths, told, some)


@dataclass(frozen=True, slots=True)
class AssumedWidths:
    """Half-widths of the first slope on made-up rows, and in how many of ``TABLES`` every or some slope is told."""

    widths: tuple[float, float] | None
    told: int
    some: int


@lru_cache(maxsize=192)
def _made_up(plan: Engine, size: int, spread: float) -> tuple[tuple[float, float] | None, int, int]:
    """Simulate a plan on made-up tables: half-widths of the first slope, tables in which all or some are told."""
    found, told, some, first = [], 0, 0, int(plan.frame.intercept)
    for key in range(TABLES):
        values, targets = made_up_rows(plan.frame, size, key, spread)
        entropy = Replayed(f"expected {key}")
        if isinstance(plan, LeastSquares) and plan.weighted:  # spread evenly up to the largest
            even = np.linspace(0, WEIGHT_ONE, len(targets)).astype(np.int64)[_shuffled(len(targets), key)]
            estimates = plan.draw(values, targets, entropy, even).estimates
        else:
            estimates = plan.draw(values, targets, entropy).estimates
        told += None not in estimates
        some += any(one is not None for one in estimates[first:])
        if (slope := estimates[first]) is not None:
            found.append((slope.noise, slope.sampling))
    if len(found) <= TABLES // 2:
        return None, told, some
    noise, sampling = (statistics.median(widths) for widths in zip(*found, strict=True))
    return (noise, sampling), told, some


def made_up_rows(frame: Frame, n: int, key: int, spread: float = SHAPES[MIDDLE]) -> tuple[Floats, Floats]:
    """Normal numbers near the lower of their bounds, even categories, and y of which the numbers tell half.

    Of the usual shape numbers lie in the middle, and tell nothing of y.

    Parameters
    ----------
    frame : Frame
        Public bounds and keys of the columns.
    n : int
        Number of rows, >= 1.
    key : int
        Number of the table; the same key gives the same rows.
    spread : float
        Standard deviation of a column, as a part of its width.

    Returns
    -------
    pair of arrays of float
        Values of shape (n, columns), and y of shape (n,).
    """
    columns, told, many = [], np.zeros(n), max(len(frame.numbers), 1)
    part = 0.0 if spread == USUAL else 0.5
    for place, block in enumerate(frame.blocks):
        if isinstance(block, CategoryKeys):
            words = Replayed(f"keys {place} {key}").words(n) >> np.uint64(32)
            columns.append((words % np.uint64(block.count)).astype(np.float64))
            continue
        unit = _normal(n, 97 * key + place)
        told += unit * math.sqrt(part / many)
        columns.append(_placed(unit, block, spread))
    y = told + math.sqrt(1.0 - part) * _normal(n, 97 * key + 96)
    return np.column_stack(columns), _placed(y, frame.y, spread)


def _normal(n: int, key: int) -> Floats:
    """n made-up normal values of deviation 1."""
    values = unit_values("normal", n, key)
    return np.asarray(values / max(float(values.std()), 1e-9))


def _shuffled(n: int, key: int) -> Integers:
    """The places of n rows in a made-up order."""
    return np.asarray(np.argsort(Replayed(f"order {key}").words(n), kind="stable"), np.int64)


def _placed(unit: Floats, bounds: Bound, spread: float) -> Floats:
    low, high = float(bounds[0]), float(bounds[1])
    above = 1.0 / spread if spread == USUAL else ABOVE
    return np.asarray(low + (above + unit) * spread * (high - low) / 2)


def rows_of_keys(plan: Engine, people: int) -> tuple[int, int, int, int] | None:
    """Rows of a rare key with which its coefficient is told in half of tables, and in nine of ten; of a rare reference.

    For usual numbers, independent columns and other keys that are even: the chance that noise of X'X stays clear of
    what it is told by, as ``sandwich`` asks. None without a category or an interval; beyond an even share, that.
    """
    if isinstance(plan, PlainSquares):
        return None
    keys = [(place, block) for place, block in enumerate(plan.frame.blocks) if isinstance(block, CategoryKeys)]
    if not keys:
        return None
    rare, references = [(at, one.others[-1]) for at, one in keys], [(at, one.reference) for at, one in keys]
    return (
        max(_least(plan, people, one, 0.0) for one in rare),
        max(_least(plan, people, one, NINE_IN_TEN) for one in rare),
        max(_least(plan, people, one, 0.0) for one in references),
        max(_least(plan, people, one, NINE_IN_TEN) for one in references),
    )


def _least(plan: LeastSquares | Point, people: int, rare: tuple[int, int], beyond: float) -> int:
    """The least rows of one key of a category that keep a coefficient so many deviations of the noise clear."""
    place, key = rare
    block = plan.frame.blocks[place]
    assert isinstance(block, CategoryKeys)
    at, low, high = plan.frame.features.index((place, block.others[-1])), 0, -(-people // block.count)
    while high - low > 1:
        rows = (low + high) // 2
        clear = _clear(plan, people, (place, key, rows / people), at) >= beyond
        low, high = (low, rows) if clear else (rows, high)
    return high


def _clear(plan: LeastSquares | Point, people: int, rare: tuple[int, int, float], at: int) -> float:
    """Deviations of the noise by which the coefficient at a place stays clear, of so rare a key."""
    part = plan.frame.back[1][at] @ np.linalg.inv(people * _moments(plan.frame, rare))
    told = float(part @ plan.frame.back[1][at])
    noise = plan.noise_of_sums
    apart = noise.weights(part, part / told) - noise.weights(part, np.zeros(noise.width))
    least = AT_95 / math.sqrt(CLEAR)
    return float(1.0 / max(float(np.linalg.norm(apart)), 1e-300)) - least


def _moments(frame: Frame, rare: tuple[int, int, float]) -> Floats:
    """Mean products of the features of usual columns, with one key of a category that has a share of its own."""
    spread = SHAPES[MIDDLE]
    mean, size = np.ones(len(frame.features)), len(frame.features)
    about = np.zeros((size, size))
    for place, block in enumerate(frame.blocks):
        own = [at for at, (of, _) in enumerate(frame.features) if of == place]
        if not isinstance(block, CategoryKeys):
            mean[own], about[own, own] = ABOVE * spread - 1.0, spread**2
            continue
        shares = np.full(block.count, 1.0 / block.count)
        if place == rare[0]:
            shares[:] = (1.0 - rare[2]) / (block.count - 1)
            shares[rare[1]] = rare[2]
        mean[own] = shares[list(block.others)]
        about[np.ix_(own, own)] = np.diag(mean[own]) - np.outer(mean[own], mean[own])
    return np.asarray(np.outer(mean, mean) + about)


__all__ = ["SHAPES", "TABLES", "AssumedWidths", "made_up_rows", "rows_of_keys", "shown", "usual"]
