"""Public shapes of a column with bounds, and of weights, by which a plan of quantiles tells a range of half-widths.

A shape is a law between 0 and 1, the bounds of the column, given by its quantiles. What lies beyond the bounds counts
at them, as in a release. The width of an interval follows how far the quantiles on both sides of the level are apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist, fmean, pstdev
from typing import TYPE_CHECKING, Final

from reticent.data.column_kinds import AMOUNT_PART
from reticent.privacy.numbers import rough, show
from reticent.statistics.context import ALIKE, EVEN

if TYPE_CHECKING:
    from reticent.data.candidates import Cells
    from reticent.data.query import Weighing
    from reticent.data.schema import Schema
    from reticent.mechanisms.geometric import Geometric

HALVINGS: Final = 24
PLACES: Final = 200  # stretches of equal probability, by which ties are counted
TIED: Final = 0.05  # from this share of ties on, intervals are made for tied values
POINT: Final = 1e-9  # a stretch this short, in parts of the range, is one value


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """A law between 0 and 1; ``at`` is its quantile of a level strictly between 0 and 1."""

    name: str
    at: Callable[[float], float]

    def slope(self, level: float, away: float) -> float:
        """Distance of the quantiles ``away`` below and above a level, by what lies between these levels."""
        low, high = (min(max(at, 1e-9), 1.0 - 1e-9) for at in (level - away, level + away))
        return (self._cut(high) - self._cut(low)) / (2.0 * away)

    def tied(self, size: float, step: float, crowd: float) -> float:
        """The share of values that lie beyond the ``crowd``-th of their cell.

        Parameters
        ----------
        size : float
            Number of values.
        step : float
            Length of a cell, in parts of the range.
        crowd : float
            Values of a cell that do not count as tied.

        Returns
        -------
        float
        """
        held = [size if one < POINT else min(size * step / (PLACES * one), size) for one in _stretches(self)]
        return sum(max(0.0, 1.0 - crowd / most) for most in held if most) / PLACES

    def farthest(self, cut: float) -> float:
        """Distance from the median to the farther of the quantiles that leave the share ``cut`` on either side."""
        low, middle, high = (self._cut(level) for level in (cut, 0.5, 1.0 - cut))
        return max(middle - low, high - middle)

    def radius(self, outside: float) -> float:
        """Distance from the median beyond which this share of the values lies, by halving."""
        middle, low, high = self._cut(0.5), 0.0, 1.0
        for _ in range(HALVINGS):
            between = 0.5 * (low + high)
            beyond = 1.0 - self._below(middle + between) + self._below(middle - between)
            low, high = (between, high) if beyond > outside else (low, between)
        return high

    def _below(self, value: float) -> float:
        """The share of values below one, by halving."""
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            between = 0.5 * (low + high)
            low, high = (between, high) if self._cut(between) < value else (low, between)
        return low

    @property
    def deviation(self) -> float:
        """Standard deviation of values, in parts of the range."""
        return pstdev(self._even)

    @property
    def mean(self) -> float:
        """Mean of values, in parts of the range."""
        return fmean(self._even)

    @property
    def _even(self) -> list[float]:
        return [self._cut((place + 0.5) / PLACES) for place in range(PLACES)]

    def _cut(self, level: float) -> float:
        return min(max(self.at(level), 0.0), 1.0)


@lru_cache(maxsize=64)
def _stretches(shape: ColumnShape) -> tuple[float, ...]:
    """Lengths of stretches of equal probability, in parts of the range."""
    ends = [shape._cut((place + 0.5) / (PLACES + 1.0)) for place in range(PLACES + 1)]
    return tuple(high - low for low, high in pairwise(ends))


@dataclass(frozen=True, slots=True)
class WeightShape:
    """A law of weights in units of the largest one, by the means of their powers 0, 1 and 2."""

    name: str
    powers: tuple[float, float, float]

    @property
    def words(self) -> str:
        """Words of a plan: the name, the mean, and what a curator declares for another."""
        told = f"{self.name}: a mean of {rough(self.powers[1])} of the largest"
        return f"{told}; closer bounds of the weight, or margins, tell yours" if self.name == TYPICAL_WEIGHTS else told

    @property
    def squares(self) -> float:
        """The sum of squares of weights by their sum."""
        return self.powers[2] / self.powers[1]


ALIKE_WEIGHTS: Final = WeightShape("all alike", (1.0, 1.0, 1.0))
SPANS: Final = 6.0  # standard deviations of the usual shape that the bounds are apart
AT_A_BOUND: Final = "many at one bound"
NORMAL: Final = ColumnShape("usual", lambda level: 0.5 + NormalDist().inv_cdf(level) / SPANS)
OTHERS: Final = (
    ColumnShape("narrow", lambda level: 0.5 + 0.02 * NormalDist().inv_cdf(level)),
    ColumnShape("at one end", lambda level: -0.05 * math.log1p(-level)),
    ColumnShape("a long tail", lambda level: -0.2 * math.log1p(-level)),
    ColumnShape(EVEN, lambda level: level),
    ColumnShape(AT_A_BOUND, lambda level: max(level - 0.4, 0.0) / 0.6),
)
LOGS: Final = 1.5  # deviation of the logarithms of a long tail without bounds
FREE: Final = ColumnShape(  # without bounds: of a deviation of 1 / SPANS, and cut beyond one value in 250
    "a long tail",
    lambda level: (
        math.exp(LOGS * (NormalDist().inv_cdf(level) - LOGS / 2.0)) / (SPANS * math.sqrt(math.expm1(LOGS**2)))
    ),
)
TWO_GROUPS: Final = ColumnShape(  # the arcsine law, of the same deviation: few values are in its middle
    "in two groups", lambda level: 0.5 - math.sqrt(2.0) / SPANS * math.cos(math.pi * level)
)
TYPICAL: Final = ColumnShape("rounded and off the middle", lambda level: 0.35 + NormalDist().inv_cdf(level) / 8.0)
AMOUNT: Final = ColumnShape("an amount", lambda level: -math.log1p(-level) / AMOUNT_PART)
# Real numbers of a typical column have so many steps in a deviation. Of 101 public columns of fewer than 600 rows 15
# were tied, and of 24 of more than 1,000 rows 23.
FINENESS: Final = 25
# Whole numbers between wider bounds lie as real numbers do: of 26 public columns of fewer than 600 rows none was tied.
FEW_WHOLE: Final = 1000
MANY_WHOLE: Final = 1_000_000  # from so many on few are equal: 2 of 7 public columns, of sums of money and populations
DECLARED: Final = 10 * FINENESS  # the same of a declared resolution without bounds: the note says what it hangs on
# A declared step says what values may be, and not that none is frequent: wages in cents lie at whole ones. Columns are
# tied as if of so few steps at least. Of 78 public columns of decimals and more than 3,000 rows 64 were tied, of steps
# of any length; half of them as if of 106 steps in a deviation, or fewer.
HEAPS: Final = 100
TELLS: Final = ", which a declared resolution tells a plan"
HEAPED_WORDS: Final = " as often equal as in public columns; noise is less if they are not"
NO_SHAPE: Final = (
    "noise is less where many values equal the quantile, more in a gap between two groups"  # of no shape here
)
ROUNDED: Final = 20  # distinct values of a column of rounded ones; whole numbers may have fewer
LARGE: Final = 1 / 20  # mean of the weights of which few are large, exponential, in units of the largest
# Five weights of surveys, in units of a round number above the largest, had means of .08 to .59, and of .6 to 1.2 times
# this one, with three quarters of it as deviation.
LEAST_MEAN: Final = 1 / 8
TYPICAL_WEIGHTS: Final = "as surveys have them"
WEIGHTS_OF_MARGINS: Final = "that add up to the margins"


def of_free(*, heaped: bool) -> tuple[tuple[str, ColumnShape, bool], ...]:
    """Other shapes of a column without bounds by name, and if their values are tied; ``heaped`` has the latter too."""
    tied = (("a heaped long tail", FREE, True), ("heaped in two groups", TWO_GROUPS, True))
    return ((FREE.name, FREE, False), *(tied if heaped else ()))


def quartile_distance(shape: ColumnShape | None) -> float:
    """Distance of the quartiles of a shape without bounds, normal where None, in deviations of the usual shape."""
    at = NormalDist().inv_cdf if shape is None else shape.at
    return (at(0.75) - at(0.25)) * (1.0 if shape is None else SPANS)


def unit_of(*, spread: bool) -> str:
    """Unit of half-widths without bounds: the column's quartile distance, of which a ``spread`` is an estimate."""
    return "of it" if spread else "iqr"


def unit_words(*, spread: bool) -> str:
    """The same in words of a plan."""
    return "in shares of the distance" if spread else "in quartile distances of the column"


@lru_cache(maxsize=64)
def rounded(level: float, values: int) -> ColumnShape:
    """Rounded values, each as frequent, of which two meet at a level: there the interval reaches over a whole step."""
    step = 1.0 / max(values - 1, 1)
    return ColumnShape("rounded values", lambda at: 0.5 + step * (math.floor((at - level) * values) + 0.5))


def of_weights(weight: Weighing, schema: Schema, rows: float) -> tuple[WeightShape, ...]:
    """Public shapes of weights between the declared least and the largest one: the usual, and the typical one first.

    Parameters
    ----------
    weight : Weighing
    schema : Schema
        Whose design may have public margins: their total, by the number of rows, is the mean of weights.
    rows : float
        Number of weighted rows, of all that are asked about.

    Returns
    -------
    tuple of WeightShape
    """
    highest = float(weight.highest)
    least = min(max(float(schema.bounded(weight.column, "weight")[0]) / highest, 0.0), 1.0)
    beyond = math.exp(-least / LARGE)
    few = (least + beyond * LARGE, least**2 + beyond * 2.0 * LARGE * (least + LARGE))
    mean, name = _mean_weight(least), TYPICAL_WEIGHTS
    margins = None if schema.design is None or schema.where is not None else schema.design.margins
    if margins is not None and least < (told := float(margins.total) / (highest * rows)) < 1.0:
        mean, name = told, WEIGHTS_OF_MARGINS
    spread = min((mean - least) ** 2 / 2.0, (mean - least) * (1.0 - mean) / 3.0)
    return (
        WeightShape("spread evenly up to the largest", (1.0, (1.0 + least) / 2.0, (1.0 + least + least**2) / 3.0)),
        WeightShape(name, (1.0, mean, mean**2 + spread)),
        ALIKE_WEIGHTS,
        WeightShape("half of them the largest", (1.0, (1.0 + least) / 2.0, (1.0 + least**2) / 2.0)),
        WeightShape("few of them large", (1.0, *few)),
    )


def _mean_weight(least: float) -> float:
    """Mean of typical weights in units of the largest: the geometric mean of their bounds, if that is not small."""
    return max(math.sqrt(least), LEAST_MEAN)


def ties_expected(
    cells: Cells, size: float, spread: float, crowd: float, mechanism: Geometric | None, *, unit: int = 1
) -> bool:
    """Tell if so many values of a normal shape would count as tied on a grid, of which ``crowd`` in a cell do not.

    Parameters
    ----------
    cells : Cells
    size, spread : float
        Number of values, and their standard deviation.
    crowd : float
        Values of a cell that do not count as tied.
    mechanism : Geometric or None
        Noise of the number of ties; None where it is not drawn.
    unit : int
        The integer that stands for one value there.

    Returns
    -------
    bool
    """
    return cells.step is not None and _tied_by(size, float(cells.step) / spread, crowd, mechanism, unit)


def typically_tied(
    cells: Cells,
    resolution: Fraction | None,
    size: float,
    crowd: float,
    mechanism: Geometric | None,
    *,
    unit: int = 1,
) -> bool:
    """Tell if so many values of a typical column count as tied; whole numbers do between bounds that are not wide.

    Parameters
    ----------
    cells : Cells
        Those of the column, whose own step may be finer than its values.
    resolution : Fraction or None
        Declared step of real numbers. Between bounds it tells itself how many values of a shape are equal.
    size, crowd, mechanism, unit
        As ``ties_expected`` has them.

    Returns
    -------
    bool
    """
    steps = cells.highest - cells.lowest
    if cells.whole and (cells.free or steps <= FEW_WHOLE):
        return True
    if cells.whole and steps > MANY_WHOLE:
        return False
    return _tied_by(size, 1.0 / (FINENESS if cells.whole else _steps_of(cells, resolution)), crowd, mechanism, unit)


def _steps_of(cells: Cells, resolution: Fraction | None) -> int:
    """Steps that a plan supposes in a deviation of real numbers."""
    if resolution is None:
        return FINENESS
    return DECLARED if cells.free else HEAPS


def values_words(
    cells: Cells, resolution: Fraction | None, size: float, crowd: float, mechanism: Geometric | None, *, unit: int = 1
) -> str:
    """Words of a plan on values of a typical column: how often they are equal, and what tells it otherwise.

    Parameters
    ----------
    cells, resolution, size, crowd, mechanism, unit
        As ``typically_tied`` has them.

    Returns
    -------
    str
    """
    if cells.whole:
        return "rounded"
    tied = typically_tied(cells, resolution, size, crowd, mechanism, unit=unit)
    if resolution is None:
        steps = DECLARED if cells.free else HEAPS
        helps = "" if _tied_by(size, 1.0 / steps, crowd, mechanism, unit) else TELLS
        return f"values{HEAPED_WORDS}{helps}" if tied else "rounded"
    if not cells.free:
        return f"rounded to {show(resolution)}{f', and{HEAPED_WORDS}' if tied else ''}"
    low, high = 1.0, 2.0**40
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _tied_by(size, 1.0 / middle, crowd, mechanism, unit) else (low, middle)
    values, side = ("many of them equal", "below") if tied else ("apart", "above")
    return f"values {values}, as where the standard deviation is {side} {rough(high * float(resolution))}"


def more_words(heaped: float | None, apart: float | None) -> str:
    """Words of a plan of values that are apart, on how much more noise it has where many are equal."""
    if heaped is None or apart is None or heaped <= ALIKE * apart:
        return ""
    return f"; {rough(heaped / apart)} times as much if many values count as equal, which more rows make likelier"


def _tied_by(size: float, step: float, crowd: float, mechanism: Geometric | None, unit: int) -> bool:
    """Tell if the values of a step, which is in deviations, are so many that they count as tied."""
    if mechanism is None:
        return False
    held = [size * step * density for density in _densities()]
    ties = size * sum(max(0.0, 1.0 - crowd / most) for most in held) / len(held)
    return ties > max(mechanism.radius(0.02) / unit, TIED * size)


@lru_cache(maxsize=1)
def _densities() -> tuple[float, ...]:
    """The standard normal density at its quantiles of every hundredth."""
    return tuple(normal_density(place / 100.0) for place in range(1, 100))


def normal_density(level: float) -> float:
    """Density of the standard normal at its quantile of this level."""
    normal = NormalDist()
    return normal.pdf(normal.inv_cdf(level))
