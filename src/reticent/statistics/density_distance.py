"""Distance of a released density from its law, as a plan tells it: by draws on made-up rows. No row is read.

Columns are independent and normal about the middle of their bounds, with a deviation of 1/6 of the range. The distance
is the largest error of the distribution function, noise, sampling and smoothing together, on a grid of points. It can
be compared between methods, as half-widths of their different parts cannot. Rows and noise are the same each time.
Half-widths of shares are told for further public shapes, too: those of quantiles, and values heaped at round numbers.
Of several columns it is also told what is left of a strong relation, on rows whose columns hang together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from statistics import fmean
from typing import Final, TypeAlias

import numpy as np

from reticent.data.query import Query, Records, Rows, Tally
from reticent.data.query_result import QueryResult
from reticent.entropy import Replayed, Simulation, simulated
from reticent.errors import Refusal
from reticent.outcome import Reply
from reticent.statistics.answer import Cell
from reticent.statistics.context import HEAPED, Figures, ShapeWidths
from reticent.statistics.quantiles.shapes import NORMAL, OTHERS, ColumnShape
from reticent.statistics.scaling import Floats
from reticent.synthesis.association import middle_ranks
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import Density
from reticent.synthesis.fidelity import FidelityRelease
from reticent.synthesis.joint_grid import JointDensity
from reticent.synthesis.options import DensityMechanism
from reticent.synthesis.partition import PartitionDensity
from reticent.synthesis.record_sampling import sampled

Ends: TypeAlias = tuple[str, float, float, bool]  # a column, its bounds, and if it has whole numbers

TABLES: Final = (8, 2, 2, 2)  # by the number of columns
MOST: Final = 60_000  # rows of a made-up table: more only make the distance smaller
DEAREST: Final = 2.0  # epsilon of such a table: above it the noise of an integer falls faster than the price rises
POINTS: Final = (400, 40, 14, 8)  # along each column
SPREAD: Final = 1 / 6  # of a column's range
RELATED: Final = 0.9  # correlation of normals behind columns that hang together
SKEWED: Final = "at one end"  # the name of a shape
LEAST: Final = 10_000  # rows drawn of a density, so that their own chance is small
FAR: Final = "largest error of the distribution function"


LEVELS: Final = 4_000  # of the quantiles of a shape
HEAPS: Final = {  # shapes whose values are rounded, and how many round numbers their bounds hold, at least
    ColumnShape(HEAPED, NORMAL.at): 20,
    ColumnShape("finely heaped", NORMAL.at): 100,
    ColumnShape("few distinct values", NORMAL.at): 5,
    ColumnShape("heaped at one end", OTHERS[1].at): 20,
}
FEWER: Final = 1  # tables of each further shape, of one or two columns


@dataclass(frozen=True, slots=True)
class ExpectedDensity:
    """Distance of a density from its law, in words and as a figure, and the half-widths of the shares of stretches."""

    words: str = ""
    figures: Figures = ()
    noise: float | None = None
    sampling: float | None = None
    others: tuple[ShapeWidths, ...] = ()


def distance(
    columns: Sequence[Ends],
    made: Callable[[int, Fraction], DensityMechanism],
    rows: int,
    cells: Callable[[Density], Iterable[Cell]],
    epsilon: Fraction,
) -> ExpectedDensity:
    """The mean distance from the law, over a few made-up tables of so many rows, and the mean widths of shares.

    Parameters
    ----------
    columns : sequence of (name, low, high, whole numbers)
    made : callable
        The mechanism for a number of rows, at a price so many times higher.
    rows : int
        ``MOST`` stand for more, at a price that leaves the noise as large a share of the rows
        where it is no more than ``DEAREST``.
    cells : callable
        The shares that an answer prints of a density.
    epsilon : Fraction
        The price of the question.

    Returns
    -------
    ExpectedDensity
        Empty where no table has a reply, or so many rows would be refused.
    """
    rows = max(rows, 1)
    size, tables = min(rows, MOST), TABLES[len(columns) - 1]
    times = min(Fraction(rows, size), max(Fraction(1), Fraction(DEAREST) / epsilon))
    try:
        mechanism = made(size, times)
    except Refusal:  # what holds for all rows may not for so few
        return ExpectedDensity()
    fewer = size / rows  # more rows stand behind these
    scale = fewer * float(times), math.sqrt(fewer)
    usual = list(_drawn(mechanism, columns, size, tables, NORMAL))
    widths = _widths(usual, cells, scale)
    if widths is None:
        return ExpectedDensity()
    points, law = _law(columns, usual[0].axes)
    mean = float(np.mean([_farthest(density, points, law) for density in usual]))
    words = f"{FAR}, sampling included, about {mean:.2g} on {tables} tables of {size:,} made-up normal rows"
    words += "".join(f"; {told}" for told in _relations(mechanism, columns, size))
    others = []
    heaps = tuple(HEAPS)[: None if isinstance(mechanism, PartitionDensity) else 1]  # for the others heaps are alike
    parts = _parts(mechanism, columns) if len(columns) <= 2 else ()
    for shape in (*OTHERS, *heaps) if parts else ():
        each = (_drawn(part, own, size, FEWER, shape) for part, own in parts)
        found = _widths(chain.from_iterable(each), cells, scale)
        others += [] if found is None else [(shape.name, *found)]
    return ExpectedDensity(words, ((FAR, mean),), *widths, tuple(others))


def _parts(mechanism: DensityMechanism, columns: Sequence[Ends]) -> tuple[tuple[DensityMechanism, Sequence[Ends]], ...]:
    """Releases that stand for all shares an answer prints: of joint cells one of each kind of column by itself.

    Such shares are those of the released columns, and columns of one kind differ in their bounds alone.
    """
    plan = mechanism.plan if isinstance(mechanism, FidelityRelease) else mechanism
    if not isinstance(plan, JointDensity):
        return ((mechanism, columns),)
    kinds = {_kind(one, margin.axes[0]): (margin, (one,)) for one, margin in zip(columns, plan.margins, strict=True)}
    return tuple(kinds.values())


def _kind(column: Ends, one: Axis) -> tuple[object, ...]:
    """Columns of the same cells between 0 and 1 are of one kind; whole numbers where they are as many."""
    _, low, high, whole = column
    return (whole, high - low) if whole else (whole, one.shape)


def _drawn(
    mechanism: DensityMechanism, columns: Sequence[Ends], size: int, tables: int, shape: ColumnShape
) -> Iterator[Density]:
    """The densities that are drawn of made-up tables of a shape, where there is a reply."""
    for place in range(tables):
        values = _rows(columns, size, simulated(f"made-up density {place} of {size} rows"), shape)
        results = [_result(query, columns, values) for query in mechanism.queries]
        match mechanism.draw(results, Replayed(f"made-up density {place}")):
            case Reply(density):
                yield density
            case _:
                pass


def _relations(mechanism: DensityMechanism, columns: Sequence[Ends], size: int) -> Iterator[str]:
    """Rank correlations that are left of a strong one between the first two columns, in rows drawn of joint counts."""
    for shape in (NORMAL, *(one for one in OTHERS if one.name == SKEWED)) if len(columns) > 1 else ():
        values = _rows(columns, size, simulated(f"related rows {size}"), shape, RELATED)
        results = [_result(query, columns, values) for query in mechanism.queries]
        match mechanism.draw(results, Replayed("related rows")):
            case Reply(density) if density.counts is not None:
                made = sampled(density, max(size, LEAST), Replayed("rows of related rows"))
                truth, left = (
                    float(np.corrcoef(middle_ranks(rows[:, 0]), middle_ranks(rows[:, 1]))[0, 1])
                    for rows in (values, made)
                )
                of = "" if shape is NORMAL else " of columns whose records are at one end; one of values may lose more"
                yield f"a rank correlation of {truth:.2f} comes out as about {left:.2f} in rows{of}"
            case _:
                pass


def _widths(
    densities: Iterable[Density], cells: Callable[[Density], Iterable[Cell]], scale: tuple[float, float]
) -> tuple[float, float] | None:
    """Mean half-widths of the shares that an answer prints; None without a reply."""
    outcomes = (cell.outcome for density in densities for cell in cells(density))
    shares = [outcome.value for outcome in outcomes if isinstance(outcome, Reply)]
    if not shares:
        return None
    noise, sampling = (fmean(part) for part in zip(*((one.noise, one.sampling) for one in shares), strict=True))
    return noise * scale[0], sampling * scale[1]


def _farthest(density: Density, points: Floats, law: Floats) -> float:
    at = points[:, 0] if points.shape[1] == 1 else points
    return float(np.abs(density.cdf(at) - law).max())


def _law(columns: Sequence[Ends], axes: Sequence[Axis]) -> tuple[Floats, Floats]:
    """Points of a grid, and the distribution function there, of values on the declared resolutions of the axes."""
    from scipy.special import ndtr

    each, chances = [], []
    for (_, low, high, whole), one in zip(columns, axes, strict=True):
        at = np.linspace(low, high, POINTS[len(columns) - 1])
        at = np.unique(np.floor(at)) if whole else at
        share = (at + 1.0 - low) / (high + 1.0 - low) if whole else (one.reach(at) - low) / (high - low)
        each.append(at)
        chances.append(np.where(at >= high, 1.0, ndtr((share - 0.5) / SPREAD)))
    points = np.stack([axis.ravel() for axis in np.meshgrid(*each, indexing="ij")], axis=1)
    law = np.prod([axis.ravel() for axis in np.meshgrid(*chances, indexing="ij")], axis=0)
    return points, np.asarray(law, np.float64)


def _rows(columns: Sequence[Ends], size: int, stream: Simulation, shape: ColumnShape, related: float = 0.0) -> Floats:
    """Made-up rows of a shape, whose normals have a common part: ``related`` of their variance."""
    from scipy.special import ndtr

    shares = stream.standard_normal((size, len(columns)))
    if related:
        common = stream.standard_normal((size, 1))
        shares = math.sqrt(1.0 - related) * shares + math.sqrt(related) * common
    if shape.at is NORMAL.at:
        shares = np.clip(0.5 + SPREAD * shares, 0.0, 1.0)
    else:
        levels = (np.arange(LEVELS) + 0.5) / LEVELS
        shares = np.interp(ndtr(shares), levels, np.clip([shape.at(level) for level in levels.tolist()], 0.0, 1.0))
    for place, (_, low, high, whole) in enumerate(columns):
        if whole:
            shares[:, place] = np.minimum(np.floor(low + shares[:, place] * (high - low + 1.0)), high)
        else:
            shares[:, place] = low + shares[:, place] * (high - low)
        if shape in HEAPS:
            heap = _round((high - low) / HEAPS[shape])
            shares[:, place] = np.clip(np.rint(shares[:, place] / heap) * heap, low, high)
    return shares


def _round(most: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is no more than this."""
    power = 10.0 ** math.floor(math.log10(most))
    return max(times * power for times in (1.0, 2.0, 5.0) if times * power <= most)


def _result(query: Query, columns: Sequence[Ends], values: Floats) -> QueryResult:
    """Integers that a query finds in made-up rows."""
    names = [name for name, *_ in columns]
    match query:
        case Tally(column=column, edges=edges):
            cuts = np.array([float(edge) for edge in edges])
            places = np.searchsorted(cuts, values[:, names.index(column)], side="right") - 1
            counts = np.bincount(np.clip(places, 0, len(cuts) - 2), minlength=len(cuts) - 1)
            return QueryResult(vectors=(tuple(counts.tolist()),))
        case Records(columns=asked, units=units):
            table = values[:, [names.index(name) for name in asked]]
            return QueryResult(records=np.floor(table / [float(unit) for unit in units]).astype(np.int64))
        case Rows():
            return QueryResult(vectors=((len(values),),))
        case _:
            raise AssertionError("a density asks for counts or records")


__all__ = ["Ends", "ExpectedDensity", "distance"]
