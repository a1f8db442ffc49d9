"""A histogram of one to four columns with geometric noise, turned into a density: 002 section 6.2, corrected.

    records as integers (Records) -> counts of cells, atoms, missing -> geometric noise -> projection -> Density

One vector of counts, one mechanism: cells, atoms and the missing are a partition, so one person moves it by at most
``rows`` (added or removed) or twice as much (replaced). 002's noise of variance 8 / epsilon^2 is that of replacement
(note E11). Clipping and dividing, as 002 does, fills empty cells; the projection on the simplex empties them again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Query, Records
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1
from reticent.synthesis.atoms import emptied
from reticent.synthesis.axis import Axis, even
from reticent.synthesis.density import NORMAL, Density, Floats
from reticent.synthesis.size import SHARE, DistributionAccuracy, RecordCount, buy, pooled, swapped

METHOD: Final = "histogram"
BETA: Final = 0.05
FINE: Final = 40  # bits of a range that are read of each value
DENSE: Final = 1 << 20  # cells that are written down
UNIFORM: Final = "every noisy count was 0 or less: the uniform density"

Shape = Literal["simplex", "clip"]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RecordGrid:
    """Places of records: the cells of the axes, then public atoms of the first one, then the missing."""

    axes: tuple[Axis, ...]
    atoms: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        if self.atoms and len(self.axes) > 1:
            raise PublicParameterError("atoms belong to a density of one column")
        if len(set(self.atoms)) != len(self.atoms):
            raise PublicParameterError("an atom is listed twice")
        if any(not self.axes[0].low <= float(atom) <= self.axes[0].high for atom in self.atoms):
            low, high = self.axes[0].low, self.axes[0].high
            outside = next(show(atom) for atom in self.atoms if not low <= float(atom) <= high)
            raise PublicParameterError(f"atoms lie within the bounds, {low:g} to {high:g}, got {outside}")

    @property
    def cells(self) -> int:
        return math.prod(one.cells for one in self.axes)

    @property
    def query(self) -> Records:
        return Records(tuple(one.column for one in self.axes), tuple(unit_of(one) for one in self.axes))

    def places(self, records: Integers) -> Integers:
        """The place of each record; values outside the public bounds count as the nearer one."""
        place = np.zeros(len(records), np.int64)
        for column, one in enumerate(self.axes):
            unit = unit_of(one)
            inner = np.array([(edge / unit).__floor__() for edge in one.edges[1:-1]], np.int64)
            place = place * one.cells + np.searchsorted(inner, records[:, column], side="right")
        if self.atoms:
            one, unit = self.axes[0], unit_of(self.axes[0])
            ends = (math.floor(one.edges[0] / unit), math.floor((one.edges[-1] - one.whole) / unit))
            read = np.clip(records[:, 0], *ends)
            for number, atom in enumerate(self.atoms):
                place[read == math.floor(atom / unit)] = self.cells + number
        place[records[:, 0] == ABSENT] = self.cells + len(self.atoms)
        return place

    def counts(self, records: Integers) -> Integers:
        return np.bincount(self.places(records), minlength=self.cells + len(self.atoms) + 1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class HistogramDensity:
    """Counts of a public grid with geometric noise; ``cells`` None: as many as the bought number of records allows."""

    grid: RecordGrid
    mechanism: Geometric
    size: RecordCount
    shape: Shape = "simplex"
    chosen: bool = False

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([*self.size.parts, self.mechanism.guarantee], label=METHOD)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (self.grid.query,)

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        (result,) = results
        records = result.records
        assert records is not None
        n = self.size.draw(len(records), entropy)
        grid = self.grid if n is None or not self.chosen else regridded(self.grid, n)
        noisy = gate.draw(self.mechanism, grid.counts(records).tolist(), entropy)
        return Reply(self._density(grid, np.array(noisy, np.float64), n))

    def _density(self, grid: RecordGrid, noisy: Floats, n: int | None) -> Density:
        total, unsure = pooled(self.size, n, noisy.tolist(), self.mechanism)
        words = [f"each count has noise of ±{self.mechanism.radius(BETA):,} at 95 %, in {total:,.0f} records"]
        if noisy[:-1].max() <= 0.0:
            words, shares = [UNIFORM], _uniform(grid)
            missing = min(max(float(noisy[-1]), 0.0) / total, 1.0) if total > 0.0 else 0.0
        else:
            found = projected(noisy, total) if self.shape == "simplex" else clipped(noisy)
            missing = float(found[-1] / found.sum())
            present = found[:-1].sum()
            shares = found[:-1] / present if present > 0.0 else _uniform(grid)
        masses = shares[: grid.cells].reshape([one.cells for one in grid.axes])
        atoms = tuple((float(at), float(mass)) for at, mass in zip(grid.atoms, shares[grid.cells :], strict=True))
        here = max(total * (1.0 - missing), 1.0)
        most = max(missing, *(mass for _, mass in atoms), 0.0)
        band = np.minimum(np.hypot(self.mechanism.radius(BETA), NORMAL * unsure * masses) / here, 1.0)
        density = Density(
            grid.axes,
            masses,
            METHOD if self.shape == "simplex" else f"{METHOD}, clipped",
            self.guarantee,
            max(round(here), 1),
            atoms=atoms,
            missing=missing,
            band=band,
            shift=masses - (noisy[: grid.cells] / here).reshape(masses.shape),
            words=tuple(words),
            beside=min(math.hypot(self.mechanism.radius(BETA), NORMAL * unsure * most) / here, 1.0),
        )
        return emptied(density, [value for value, _ in atoms])

    def expected(self, people: int) -> DistributionAccuracy:
        """The noise of the distribution function at the middle of the grid."""
        n = max(people, 1)
        cells = regridded(self.grid, n).cells if self.chosen else self.grid.cells
        spread = math.sqrt(2.0) * float(self.mechanism.scale)
        return DistributionAccuracy(
            NORMAL * spread * math.sqrt(cells) / 2.0 / n, NORMAL / (2.0 * math.sqrt(n)), f"{cells} cells"
        )


def histogram(
    axes: Sequence[Axis],
    neighbours: Adjacency,
    epsilon: Fraction,
    *,
    people: int | None = None,
    cells: int | None = None,
    shape: Shape = "simplex",
    atoms: Sequence[Fraction] = (),
) -> HistogramDensity:
    """The plan.

    Parameters
    ----------
    axes : sequence of Axis, one to four
        Public grids; with ``cells`` their bounds alone matter.
    neighbours : Adjacency
        Of persons with at most ``neighbours.rows`` records.
    epsilon : Fraction
        Price of the whole release.
    people : int, optional
        The public number of records. Without it one twentieth of epsilon buys one, if the number of cells needs it.
    cells : int, optional
        Along each axis; 0 for n^(1 / (2 + d)), the rate of a Lipschitz density.
    shape : "simplex" or "clip"
        How noisy masses become a density: the nearest one, or cut at 0 and divided by their sum.
    atoms : sequence of Fraction
        Public values of one column that have a count of their own, such as 0.

    Returns
    -------
    HistogramDensity
        The plan: its guarantee, its queries and ``draw``.

    Raises
    ------
    QuestionError
        Before rows are read: for more than 2^20 cells (use ``sparse``), or an epsilon at which only noise comes out.
    PublicParameterError
        For a number of cells below 0.
    """
    if cells is not None and cells < 0:
        raise PublicParameterError(f"cells must be >= 0, got {cells}")
    grid, size, own, chosen = RecordGrid(tuple(axes), tuple(atoms)), RecordCount(people), epsilon, False
    if cells == 0 and people is None:
        size, own, chosen = buy(neighbours, epsilon * SHARE), epsilon * (1 - SHARE), True
    elif cells is not None:
        _written(math.prod(min(cells, _values(one)) if one.whole else cells for one in grid.axes))
        grid = regridded(grid, people or 1) if cells == 0 else recut(grid, cells)
    _written(grid.cells)
    made = Geometric(L1(Fraction(swapped(neighbours)), neighbours), own)
    if people is not None and made.radius(BETA) > people:
        raise QuestionError(
            f"The noise of one cell at this ε is ±{made.radius(BETA):,}, more than the {people:,} records: only the "
            "uniform would come out. Nothing was charged."
        )
    return HistogramDensity(grid, made, size, shape, chosen)


def _written(cells: int) -> None:
    """Refuse what is too much to write down, before its edges are."""
    if cells > DENSE:
        raise QuestionError(
            f"{cells:,} cells are more than the {DENSE:,} that are written down: take fewer along each axis, or "
            "the sparse form, which keeps the large ones alone. Nothing was charged."
        )


def _values(one: Axis) -> int:
    """Number of values of a whole-number axis."""
    return int(one.edges[-1] - one.edges[0])


def recut(grid: RecordGrid, cells: int) -> RecordGrid:
    """The same bounds, in so many cells along each axis."""
    return RecordGrid(tuple(_even(one, cells) for one in grid.axes), grid.atoms)


def regridded(grid: RecordGrid, n: int) -> RecordGrid:
    """n^(1 / (2 + d)) cells along each axis: 002 section 6.2, m = n^(d / (2 + d)) in all."""
    return recut(grid, max(round(n ** (1.0 / (2 + len(grid.axes)))), 1))


def _even(one: Axis, cells: int) -> Axis:
    return even(one.column, one.edges[0], one.edges[-1] - (1 if one.whole else 0), cells, whole=one.whole)


def unit_of(one: Axis) -> Fraction:
    """The public step in which every method reads values: 1 for whole numbers, else about 2^-40 of the range."""
    return Fraction(1) if one.whole else one.unit(one.edges[-1] - one.edges[0], FINE)


def projected(counts: Floats, total: float) -> Floats:
    """The nearest vector >= 0 with this sum > 0, in Euclidean distance: max(counts - t, 0) for the right t."""
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    kept = int(np.count_nonzero(falling > excess))
    found: Floats = np.maximum(counts - excess[kept - 1], 0.0)
    return found


def clipped(counts: Floats) -> Floats:
    """002's own: negative counts become 0; the caller divides by the sum."""
    found: Floats = np.maximum(counts, 0.0)
    return found


def _uniform(grid: RecordGrid) -> Floats:
    sizes = np.ones(())
    for one in grid.axes:
        sizes = np.multiply.outer(sizes, one.sizes)
    return np.concatenate([sizes.ravel() / sizes.sum(), np.zeros(len(grid.atoms))])
