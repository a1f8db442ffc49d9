"""Columns that a plan of least squares assumes, and what these show of replies and widths. No row is read.

usual        numbers in the middle of their bounds that tell nothing of y, as rehearsals make them up
numbers      normal, of one of three deviations, two of these above their lower bound, any two of them correlated
further      even numbers beside a narrow y, narrow ones, strongly correlated ones, a rare key: by their moments alone
categories   even but for that key; ``rows_of_keys`` tells how rare a key, or its reference, may be
y            as the numbers, which tell half of its variance
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from reticent.data.query import WEIGHT_ONE
from reticent.entropy import Replayed
from reticent.outcome import Estimate
from reticent.statistics.quantiles.shapes import ALIKE_WEIGHTS as ALIKE
from reticent.statistics.quantiles.shapes import WeightShape
from reticent.statistics.regression.engine import Engine
from reticent.statistics.regression.frame import CategoryKeys, Frame
from reticent.statistics.regression.plans import unit_values
from reticent.statistics.regression.point import Point
from reticent.statistics.regression.prediction import PlainSquares
from reticent.statistics.regression.sandwich import AT_95, CLEAR
from reticent.statistics.regression.squares import LeastSquares
from reticent.statistics.regression.sums import NoisySums
from reticent.statistics.scaling import Bound, Floats, Integers

MIDDLE: Final = "1/8"
SHAPES: Final = {"1/16": 0.125, MIDDLE: 0.25, "1/4": 0.5}  # deviation of a made-up column: in words, in half-widths
USUAL: Final = 1 / 3  # deviation of the usual shape, whose middle is that of the bounds
RELATED: Final = 0.5  # correlation of any two numbers that are not of the usual shape, as of age and schooling
ABOVE: Final = 2.0  # deviations from the lower bound
TABLES: Final = 5
NARROW: Final = 1e-9  # variance of weights that count as equal
LARGEST_SHOWN: Final = 20_000
NINE_IN_TEN: Final = 1.2815515655446004  # normal deviations
LEAST: Final = AT_95 / math.sqrt(CLEAR)  # deviations of the noise of X'X by which a coefficient is told
TOLD: Final = 0.5  # of the variance of y, by numbers that tell something of it


@dataclass(frozen=True, slots=True)
class RelatedColumns:
    """Numbers of one deviation and correlation, and y of another, in half-widths; ``told`` is the share told of it."""

    name: str
    spread: float
    correlation: float
    y: float
    told: float = TOLD
    rare: float = 1.0  # share of the key of a coefficient, or of the reference, in even shares


FURTHER: Final = (
    RelatedColumns("at both ends beside a narrow y", 1.0, 0.0, SHAPES["1/16"]),
    RelatedColumns("narrow near one end", 0.04, 0.0, SHAPES["1/16"]),
    RelatedColumns("correlated at 0.9", SHAPES[MIDDLE], 0.9, SHAPES[MIDDLE]),
    RelatedColumns("y at both ends", SHAPES[MIDDLE], 0.0, 1.0, 0.0),
)
RARE_KEY: Final = RelatedColumns("a rare key", SHAPES[MIDDLE], RELATED, SHAPES[MIDDLE], rare=1 / 5)


def shown(plan: Engine, people: int, weights: WeightShape = ALIKE) -> dict[str, AssumedWidths] | None:
    """Expected half-widths of a slope on made-up tables of each skewed shape; None where no intervals are bought.

    Parameters
    ----------
    plan : Engine
    people : int
    weights : WeightShape, optional
        Shape of the weights of rows.

    Returns
    -------
    dict of shape to AssumedWidths, or None
    """
    if isinstance(plan, PlainSquares):
        return None
    return {name: _of(plan, people, one, weights) for name, one in SHAPES.items()}


def usual(plan: LeastSquares | Point, people: int, weights: WeightShape = ALIKE) -> AssumedWidths:
    """Expected half-widths of each coefficient on made-up tables of the usual shape.

    Parameters
    ----------
    plan : LeastSquares or Point
    people : int
    weights : WeightShape, optional
        Shape of the weights of rows.

    Returns
    -------
    AssumedWidths
    """
    return _of(plan, people, USUAL, weights)


def further(plan: LeastSquares | Point, people: int, weights: WeightShape = ALIKE) -> tuple[RelatedWidths, ...]:
    """Expected half-widths of every coefficient, for columns whose moments tell them.

    A coefficient that is seldom told has the noise of a release that just tells it: noise of X'X makes it look large
    enough (``sandwich``). Sampling is then that of the narrowest columns that are told as often as not.

    Parameters
    ----------
    plan : LeastSquares or Point
    people : int
    weights : WeightShape, optional
        Shape of the weights of rows.

    Returns
    -------
    tuple of RelatedWidths
    """
    many, keys = len(plan.frame.numbers), len(plan.frame.blocks) > len(plan.frame.numbers)
    shapes = [one for one in FURTHER if many > int(one.correlation > 0.0) or not (many or one.told)]
    return tuple(_by_moments(plan, people, one, weights) for one in [*shapes, *([RARE_KEY] if keys else [])])


def of_shape(plan: LeastSquares | Point, people: int, name: str, weights: WeightShape = ALIKE) -> RelatedWidths:
    """Expected half-widths of every coefficient by moments alone, for columns of one of ``SHAPES``.

    Parameters
    ----------
    plan : LeastSquares or Point
    people : int
    name : str
        Of the shape.
    weights : WeightShape, optional
        Shape of the weights of rows.

    Returns
    -------
    RelatedWidths
    """
    spread = SHAPES[name]
    return _by_moments(plan, people, RelatedColumns(name, spread, RELATED, spread), weights)


def _by_moments(
    plan: LeastSquares | Point, people: int, columns: RelatedColumns, weights: WeightShape
) -> RelatedWidths:
    found: list[tuple[float, float, float] | None]
    if columns.rare == 1.0:
        usual = _Model(plan, people, columns, weights)
        found = [usual.coefficient(at) for at in range(len(plan.frame.features))]
    else:
        rare = [_rare(plan.frame, *feature, columns.rare) for feature in plan.frame.features]
        found = [
            None if one is None else _Model(plan, people, columns, weights, one).coefficient(at)
            for at, one in enumerate(rare)
        ]
    each = tuple(one and one[:2] for one in found)
    told = tuple(one and NormalDist().cdf(one[2]) for one in found)
    return RelatedWidths(columns.name, each, told, int(plan.frame.intercept))


def _rare(frame: Frame, place: int, key: int, share: float) -> tuple[int, int, float] | None:
    """The key that is rare for a coefficient, with its share: its own, or of the constant the first reference."""
    categories = {at: block for at, block in enumerate(frame.blocks) if isinstance(block, CategoryKeys)}
    if place < 0:
        place, key = next((at, block.reference) for at, block in categories.items())
    return (place, key, share / categories[place].count) if place in categories else None


class _Model:
    """Coefficients of columns of these moments: of numbers, and of keys that are even but for a rare one."""

    def __init__(
        self,
        plan: LeastSquares | Point,
        people: int,
        columns: RelatedColumns,
        weights: WeightShape,
        rare: tuple[int, int, float] | None = None,
    ) -> None:
        frame, y = plan.frame, columns.y
        rows, squares = people * weights.powers[1], weights.squares
        if isinstance(plan, Point) and y >= 1.0:  # half of the errors are cut, and cut ones bend nothing
            rows, squares = rows / 2.0, squares * 2.0
        means, about = _moments(frame, columns.spread, correlation=columns.correlation, rare=rare)
        numbers = np.array([float(place >= 0 > key) for place, key in frame.features])
        along = about @ numbers
        told = columns.told if numbers.any() else 0.0
        cross = _middle(y) * means
        if told:
            cross = cross + along * y * math.sqrt(told / float(along @ numbers))
        self.plan, self.rows = plan, rows
        self.inverse = np.linalg.inv(rows * (np.outer(means, means) + about))
        model = rows * self.inverse @ cross
        self.largest = float(np.abs(model).sum())
        if isinstance(plan, Point) and columns.spread >= SHAPES["1/16"]:  # of narrower columns a point stays far behind
            model = plan.noise * np.linalg.norm(self.inverse, axis=0)
        self.model = np.asarray(model)
        self.alike = plan.price.neighbours.rows * float(plan.times or 1 if isinstance(plan, LeastSquares) else 1)
        self.errors = (1.0 - told) * squares * y**2

    def coefficient(self, at: int) -> tuple[float, float, float]:
        """Half-widths of noise and sampling of one coefficient, and the deviations by which it is told."""
        plan, row = self.plan, self.plan.frame.back[1][at]
        part = row @ self.inverse
        clear = _clear(plan.noise_of_sums, part, row)
        just = min(1.0 + clear / LEAST, 1.0)  # by how much larger X'X looks where it is told
        noise = float(np.linalg.norm(plan.noise_of_sums.weights(part, self.model)))
        alone = max(self.errors * float(part @ row), 1e-300)
        whole, most = alone + noise**2, float(np.abs(part).sum()) * (1.0 + self.largest)
        at_most = min(plan.meat.times(self.rows, whole / alone) ** 2 * alone / self.rows, most**2)
        doubt = plan.meat.least * at_most  # of the meat
        sampling = math.sqrt(just * self.alike * (alone + doubt**2 / max(whole, doubt)))
        return just * noise * AT_95, sampling * AT_95, clear


def _of(plan: LeastSquares | Point, people: int, spread: float, weights: WeightShape) -> AssumedWidths:
    """Expected half-widths for one shape of columns, and one of weights.

    Under a pure price a smaller table at a larger epsilon stands for the whole one: noise per row is the same.
    """
    size = min(people, LARGEST_SHOWN)
    if plan.people is not None:
        plan = replace(plan, people=size)
    more, pure = size / people, not plan.price.delta
    if pure:
        plan = replace(plan, price=replace(plan.price, epsilon=plan.price.epsilon * people / size))
    each, told, some = _made_up(plan, size, spread, weights)
    falls = (1.0 if pure else more), math.sqrt(more)  # noise falls with n, sampling with its root
    scaled = tuple(one and (one[0] * falls[0], one[1] * falls[1]) for one in each)
    return AssumedWidths(scaled, told, some, int(plan.frame.intercept))


@dataclass(frozen=True, slots=True)
class RelatedWidths:
    """Half-widths of each coefficient for columns of these moments, and the chance that it is told.

    ``first`` is the place of the first slope. A coefficient that the shape says nothing of has None.
    """

    name: str
    each: tuple[tuple[float, float] | None, ...]
    chances: tuple[float | None, ...]
    first: int

    @property
    def widths(self) -> tuple[float, float] | None:
        """Half-widths of the first slope."""
        return self.each[self.first]

    @property
    def chance(self) -> float:
        """The chance that some slope is told, at least."""
        return max(one or 0.0 for one in self.chances[self.first :])


@dataclass(frozen=True, slots=True)
class AssumedWidths:
    """Half-widths of each coefficient on made-up rows, and in how many of ``TABLES`` every or some slope is told.

    A coefficient that most tables do not tell has None. ``first`` is the place of the first slope.
    """

    each: tuple[tuple[float, float] | None, ...]
    told: int
    some: int
    first: int

    @property
    def widths(self) -> tuple[float, float] | None:
        """Half-widths of the first slope."""
        return self.each[self.first]


@lru_cache(maxsize=192)
def _made_up(
    plan: Engine, size: int, spread: float, weights: WeightShape
) -> tuple[tuple[tuple[float, float] | None, ...], int, int]:
    """Simulate a plan on made-up tables: half-widths of each coefficient, tables in which all or some are told."""
    tables, told, some, first = [], 0, 0, int(plan.frame.intercept)
    for key in range(TABLES):
        values, targets = made_up_rows(plan.frame, size, key, spread)
        entropy = Replayed(f"expected {key}")
        if isinstance(plan, LeastSquares) and plan.weighted:
            estimates = plan.draw(values, targets, entropy, _weights(weights, len(targets), key)).estimates
        else:
            estimates = plan.draw(values, targets, entropy).estimates
        told += None not in estimates
        some += any(one is not None for one in estimates[first:])
        tables.append(estimates)
    return tuple(map(_median, zip(*tables, strict=True))), told, some


def _median(estimates: Sequence[Estimate | None]) -> tuple[float, float] | None:
    """Half-widths of one coefficient; None where most tables do not tell it."""
    found = [(one.noise, one.sampling) for one in estimates if one is not None]
    if len(found) <= TABLES // 2:
        return None
    noise, sampling = (statistics.median(widths) for widths in zip(*found, strict=True))
    return noise, sampling


def made_up_rows(frame: Frame, n: int, key: int, spread: float = SHAPES[MIDDLE]) -> tuple[Floats, Floats]:
    """Normal numbers near the lower of their bounds, correlated, even categories, and y of which numbers tell half.

    Of the usual shape numbers lie in the middle, and tell nothing of each other and of y.

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
    part, related = (0.0, 0.0) if spread == USUAL else (TOLD, RELATED if many > 1 else 0.0)
    common = math.sqrt(related) * _normal(n, 97 * key + 95) if related else 0.0
    told_of_each = math.sqrt(part / (many * (1.0 + (many - 1) * related)))
    for place, block in enumerate(frame.blocks):
        if isinstance(block, CategoryKeys):
            words = Replayed(f"keys {place} {key}").words(n) >> np.uint64(32)
            columns.append((words % np.uint64(block.count)).astype(np.float64))
            continue
        unit = common + math.sqrt(1.0 - related) * _normal(n, 97 * key + place)
        told += told_of_each * unit
        columns.append(_placed(unit, block, spread))
    y = told + math.sqrt(1.0 - part) * _normal(n, 97 * key + 96)
    return np.column_stack(columns), _placed(y, frame.y, spread)


def _normal(n: int, key: int) -> Floats:
    """n made-up normal values of deviation 1."""
    values = unit_values("normal", n, key)
    return np.asarray(values / max(float(values.std()), 1e-9))


def _weights(shape: WeightShape, n: int, key: int) -> Integers:
    """n weights of a beta law with the moments of a shape, in a made-up order."""
    from scipy.special import betaincinv

    _, mean, square = shape.powers
    if square - mean**2 < NARROW:
        return np.full(n, round(WEIGHT_ONE * mean), np.int64)
    parts = mean * (1.0 - mean) / (square - mean**2) - 1.0
    drawn = betaincinv(mean * parts, (1.0 - mean) * parts, (np.arange(n) + 0.5) / n)
    order = np.argsort(Replayed(f"order {key}").words(n), kind="stable")
    return np.asarray(np.round(WEIGHT_ONE * drawn), np.int64)[order]


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
    block, (_, turn) = plan.frame.blocks[place], plan.frame.back
    assert isinstance(block, CategoryKeys)
    row, low, high = turn[plan.frame.features.index((place, block.others[-1]))], 0, -(-people // block.count)
    while high - low > 1:
        rows = (low + high) // 2
        means, about = _moments(plan.frame, SHAPES[MIDDLE], rare=(place, key, rows / people))
        part = row @ np.linalg.inv(people * (np.outer(means, means) + about))
        low, high = (low, rows) if _clear(plan.noise_of_sums, part, row) >= beyond else (rows, high)
    return high


def _middle(spread: float) -> float:
    """Mean of skewed values between -1 and 1: two deviations above the lower bound, at most in the middle."""
    return min(ABOVE * spread - 1.0, 0.0)


def _clear(noise: NoisySums, part: Floats, row: Floats) -> float:
    """Deviations of the noise by which a coefficient stays clear, where its part of X'X is this."""
    apart = noise.weights(part, part / float(part @ row)) - noise.weights(part, np.zeros(noise.width))
    return float(1.0 / max(float(np.linalg.norm(apart)), 1e-300)) - LEAST


def _moments(
    frame: Frame, spread: float, *, correlation: float = 0.0, rare: tuple[int, int, float] | None = None
) -> tuple[Floats, Floats]:
    """Means and covariances of the features of skewed columns, with one key of a category that has a share of its own.

    Parameters
    ----------
    frame : Frame
    spread : float
        Deviation of the numbers, in half-widths.
    correlation : float
        Of any two numbers.
    rare : place of a category, place of its key and share, optional
        By default keys are even.

    Returns
    -------
    pair of arrays
        Of shape (features,) and (features, features).
    """
    means, size = np.ones(len(frame.features)), len(frame.features)
    about, numbers = np.zeros((size, size)), [at for at, (place, key) in enumerate(frame.features) if place >= 0 > key]
    means[numbers] = _middle(spread)
    about[np.ix_(numbers, numbers)] = spread**2 * (correlation + (1.0 - correlation) * np.eye(len(numbers)))
    for place, block in enumerate(frame.blocks):
        if not isinstance(block, CategoryKeys):
            continue
        own, shares = [at for at, (of, _) in enumerate(frame.features) if of == place], np.full(block.count, 1.0)
        shares /= block.count
        if rare is not None and place == rare[0]:
            shares[:] = (1.0 - rare[2]) / (block.count - 1)
            shares[rare[1]] = rare[2]
        means[own] = shares[list(block.others)]
        about[np.ix_(own, own)] = np.diag(means[own]) - np.outer(means[own], means[own])
    return means, about


__all__ = [
    "FURTHER",
    "RELATED",
    "SHAPES",
    "TABLES",
    "AssumedWidths",
    "RelatedColumns",
    "RelatedWidths",
    "further",
    "made_up_rows",
    "of_shape",
    "rows_of_keys",
    "shown",
    "usual",
]
