"""A density from noisy sums by a linear map: the way back that series, kernels and polynomials share.

    noisy sums --back--> heights of cells --nearest density--> Density, with the band of the noise

Where the number of records is private it is a linear function of the sums as well, and is divided by.

Proof of the bands: docs/proofs/densities.md, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, assert_never

import numpy as np

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Query, Records, Tally
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.outcome import NO_REPLY, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import NORMAL, Density
from reticent.synthesis.histogram import unit_of
from reticent.synthesis.linear_queries import Floats, Integers, LinearSums

Settle = Literal["simplex", "clip"]

LAPLACE: Final = math.log(20.0) / math.sqrt(2.0)  # the 95 % point of |Laplace| in standard deviations
LARGE: Final = 1 << 21  # entries of a way back; beyond, what is expected is taken over some of the cells
TYPICAL: Final = 512
GOLDEN: Final = (math.sqrt(5.0) - 1.0) / 2.0
PLAIN: Final = 1.0  # half-width, in units of the uniform density, beyond which noise hides every shape


@dataclass(frozen=True, slots=True)
class DensityAccuracy:
    """Half-widths at 95 %, in units of the uniform density, a typical point's; from public numbers alone."""

    noise: float
    sampling: float
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class LinearDensity:
    """A density from noisy sums by a linear map: number of records x density at cells = ``back`` @ sums.

    Attributes
    ----------
    axes : tuple of Axis
    sums : Sums
        A row of its table for each cell of the grid, in row-major order.
    back : array, shape (cells, coordinates)
        Density in units of the uniform one. Where ``base``, the uniform density is added to it.
    base : bool
        The sums leave out the constant, whose coefficient is public.
    method : str
    settle : "simplex" or "clip"
        The nearest density in L2, or negative parts cut off and the rest divided by its total.
    counting : array, shape (coordinates,), or None
        Weights of the sums in a private number of records if better ones exist than the density's own total. Densities
        are divided by that number.
    """

    axes: tuple[Axis, ...]
    sums: LinearSums
    back: Floats
    base: bool
    method: str
    settle: Settle
    counting: Floats | None = None

    @property
    def guarantee(self) -> Guarantee:
        return compose.processed(self.sums.guarantee, label=f"density by {self.method}")

    @property
    def queries(self) -> tuple[Query, ...]:
        if len(self.axes) == 1:
            return (Tally(self.axes[0].column, self.axes[0].edges),)
        return (Records(tuple(one.column for one in self.axes), tuple(unit_of(one) for one in self.axes)),)

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        """The density, or no reply where the noise hides that there are records at all."""
        (result,) = results
        if len(self.axes) > 1:
            assert result.records is not None
            return self.release(counted(self.axes, result.records), entropy)
        return self.release(np.array(result.vectors[0], np.int64), entropy)

    def release(self, counts: Integers, entropy: Entropy) -> Outcome[Density]:
        """The density of a table with ``counts`` records in each cell, in row-major order."""
        noisy = self.sums.draw(counts, entropy)
        totals, shares = self.back @ noisy, shares_of(self.axes)
        size, rows = self.sums.terms.size, self.back
        told = float(size or 0)
        if size is None:
            weights = shares @ self.back  # of the sums in the noisy total
            n = float(weights @ noisy)
            told = n if self.counting is None else float(self.counting @ noisy)
            if min(n, told) < max(1.0, self.reach_of(weights), self.unsure):
                return NO_REPLY
            rows = rows - np.outer(totals / n, weights)
        else:
            n = float(size)
            rows = rows - shares @ self.back  # both ways to a density take off the noise of the total
        heights = totals / n + (1.0 if self.base else 0.0)
        masses = shares * settled(heights, shares, self.settle)
        spread = self.sums.deviation / n
        cells = tuple(one.cells for one in self.axes)
        return Reply(
            Density(
                self.axes,
                (masses / masses.sum()).reshape(cells),
                self.method,
                self.guarantee,
                max(round(told), 1),
                band=(spread * shares * self.reaches(rows)).reshape(cells),
                shift=shift(masses, heights, shares).reshape(cells),
                wander=min(spread * self._together(shares[:, None] * rows), 1.0),
                words=("the noise of neighbouring cells goes together: the band is about one point at a time",),
            )
        )

    def expected(self, people: int) -> DensityAccuracy:
        """Expected errors by noise and by sampling for ``people`` records that are spread evenly."""
        n = self.sums.terms.size or people
        back = self._some_back()
        noise = self.sums.deviation / n * math.sqrt(float(np.mean(self.reaches(back) ** 2)))
        table = self.sums.table - self.sums.table.mean(axis=0)
        if len(table) <= table.shape[1]:
            chance = float(np.sum((back @ table.T) ** 2)) / len(table)  # what the cell of a record leaves to chance
        else:
            chance = float(np.sum((back @ (table.T @ table / len(table))) * back))
        sampling = NORMAL * math.sqrt(chance / len(back) / n)
        hidden = "at this ε and so few records the noise hides every shape: expect the uniform density"
        return DensityAccuracy(noise, sampling, hidden if noise > PLAIN else "")

    def _some_back(self) -> Floats:
        """The way back to all cells or, of a large table, to ``TYPICAL`` of them, by a rule that no grid repeats."""
        if self.back.size <= LARGE:
            return self.back
        place = (np.arange(TYPICAL) * GOLDEN % 1.0 * len(self.back)).astype(np.int64)
        return np.asarray(self.back[np.unique(place)], np.float64)

    @property
    def unsure(self) -> float:
        """Half-width at 95 % of the number of records that comes out; 0 where it is public."""
        if self.sums.terms.size is not None:
            return 0.0
        return self.reach_of(shares_of(self.axes) @ self.back if self.counting is None else self.counting)

    def reach_of(self, weights: Floats) -> float:
        """Half-width at 95 % of the noise of a weighted sum of the sums."""
        return self.sums.deviation * float(self.reaches(weights[None])[0])

    def reaches(self, rows: Floats) -> Floats:
        """Deviations of one sum that hold rows @ noise at 95 %, each by itself."""
        widths = np.linalg.norm(rows, axis=1)
        if self.sums.delta:
            return np.asarray(NORMAL * widths, np.float64)
        return np.asarray(np.minimum(_heavier(NORMAL, _shares_of_one(rows)), LAPLACE) * widths, np.float64)

    def _together(self, rows: Floats) -> float:
        """Deviations of one sum that hold all values of the distribution function together, at 95 %."""
        run = rows.reshape(*(one.cells for one in self.axes), -1)
        for place in range(len(self.axes)):
            run = np.cumsum(run, axis=place)
        flat = run.reshape(-1, run.shape[-1])
        widths = np.linalg.norm(flat, axis=1)
        most = float(widths.max())
        there = widths > 1e-6 * most
        if len(self.axes) == 1:
            turned = flat[there] / widths[there, None]
            length = float(np.linalg.norm(np.diff(turned, axis=0), axis=1).sum())
            reach = _sup(length, 1.0)
        else:
            reach = _sup(0.0, float(there.sum()))
        if not self.sums.delta:
            tail = -math.log(max(math.erfc(reach / math.sqrt(2.0)), 1e-300)) / math.sqrt(2.0)  # of one Laplace
            widest = flat[int(np.argmax(widths))][None]
            reach = min(float(_heavier(reach, _shares_of_one(widest))[0]), max(tail, reach))
        return most * reach


# --- rows to cells, heights to densities ------------------------------------------------------------------------------


def counted(axes: Sequence[Axis], records: Integers) -> Integers:
    """Number of records in each cell, in row-major order; records beyond the bounds count in the end cells."""
    present = records[records[:, 0] != ABSENT]
    place = np.zeros(len(present), np.int64)
    for column, one in zip(present.T, axes, strict=True):
        unit = unit_of(one)
        inner = np.array([math.ceil(edge / unit) for edge in one.edges[1:-1]], np.int64)
        place = place * one.cells + np.searchsorted(inner, column, side="right")
    return np.bincount(place, minlength=math.prod(one.cells for one in axes)).astype(np.int64)


def shares_of(axes: Sequence[Axis]) -> Floats:
    """The uniform density's mass of each cell, in row-major order."""
    found = np.ones(1)
    for one in axes:
        found = np.multiply.outer(found, one.sizes / one.steps[-1]).ravel()
    return found


def settled(heights: Floats, shares: Floats, settle: Settle) -> Floats:
    """Heights >= 0 whose masses add up to 1.

    Parameters
    ----------
    heights : array of float
        Noisy heights of the cells.
    shares : array of float
        Widths of the cells, as shares of the range.
    settle : "simplex" or "clip"

    Returns
    -------
    array of float
    """
    match settle:
        case "simplex":
            order = np.argsort(-heights)
            weight = np.cumsum(shares[order])
            cut = (np.cumsum(shares[order] * heights[order]) - 1.0) / weight
            last = int(np.nonzero(heights[order] > cut)[0][-1])
            return np.asarray(np.maximum(heights - cut[last], 0.0), np.float64)
        case "clip":
            kept = np.maximum(heights, 0.0)
            total = float(shares @ kept)
            return kept / total if total > 0 else np.ones_like(kept)
        case _:
            assert_never(settle)


def shift(masses: Floats, heights: Floats, shares: Floats) -> Floats:
    """Mass added to each cell when noisy heights were made a density, beyond the total that is taken off evenly.

    Parameters
    ----------
    masses : array of float
        Of the density.
    heights : array of float
        Noisy heights of the cells.
    shares : array of float
        Widths of the cells, as shares of the range.

    Returns
    -------
    array of float
    """
    return np.asarray(masses / masses.sum() - shares * (heights - (float(shares @ heights) - 1.0)), np.float64)


def _sup(length: float, points: float) -> float:
    """Deviations that hold a path on the sphere of this length, or so many points, at 95 %, for normal noise.

    P(sup > u) <= points P(|N| > u) + length / pi e^(-u^2 / 2) (Davies 1987).
    """
    low, high = 0.0, 40.0
    for _ in range(60):
        u = (low + high) / 2.0
        chance = points * math.erfc(u / math.sqrt(2.0)) + length / math.pi * math.exp(-u * u / 2.0)
        low, high = (u, high) if chance > 0.05 else (low, u)
    return high


def _shares_of_one(rows: Floats) -> Floats:
    """Sum of fourth powers over the square of the sum of squares: 1 for one coordinate, 1 / m for m equal ones."""
    squared = rows**2
    return np.asarray((squared**2).sum(axis=1) / np.maximum(squared.sum(axis=1) ** 2, 1e-300), np.float64)


def _heavier(reach: float, share: Floats) -> Floats:
    """A normal reach widened for sums of Laplace noise of excess kurtosis 3 x share (Cornish and Fisher 1938)."""
    return np.asarray(reach + share * (reach**3 - 3.0 * reach) / 8.0, np.float64)
