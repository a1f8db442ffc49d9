"""Orthogonal series: a density from noisy sums of cosines over the rows.

    row --public cells--> integer vector --sum over rows + integer noise--> coefficients --project--> Density

A row counts by its cell alone, and a cell has a public vector of integers: its row of a *table*. So the release is a
sum of rows of a finite table of integers, and its sensitivity is a maximum over that table, taken exactly
(``widest``); a rounding of the table, or an error in it, costs accuracy and never privacy. ``kernel`` and
``bernstein`` are other tables with other maps back, so they share ``Sums`` and ``Linear``.

Here the table has round(2^16 psi_j(middle of the cell)), psi_j(t) = prod_k sqrt(2) cos(pi j_k t_k) over multi-indices j
with 0 < |j| <= degree; on equal cells these are orthonormal exactly (the discrete cosine transform). Where the number
of records is private, psi_0 = 1 is released with the others and its noisy sum is divided by.

Source: 002 section 6.3. Proof: docs/proofs/densities.md, sections 1 and 2.

Deviations. 002 adds Laplace noise of standard deviation m c0 / (n eps), which spends up to 2.83 eps; the need is the
greatest sum of |psi_j(x) - psi_j(x')|, which is finite for bases with unbounded c0 too. Noise is discrete; with
delta > 0 it is Gaussian. The density is projected onto densities before anyone draws from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.data.order import ABSENT
from reticent.data.query import Query, Records, Tally
from reticent.data.table import Result
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import Gaussian, Geometric, gate
from reticent.outcome import NO_REPLY, Outcome, Reply
from reticent.privacy import compose, convert
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import exact, positive
from reticent.privacy.sensitivity import L1, L2
from reticent.synthesis.axis import Axis, even
from reticent.synthesis.density import Density

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Settle = Literal["simplex", "clip"]

UNIT: Final = 1 << 16  # of a table: one
LARGEST: Final = 1 << 24  # entry of a table: sums over 2^38 rows stay inside int64
MOST_COORDINATES: Final = 512
MOST_ENTRIES: Final = 1 << 23  # of a table
PAIRS: Final = 3 << 30  # entries compared for the exact widest pair: a few seconds; beyond, a bound
CHUNK: Final = 1 << 24
CELLS: Final = {1: 1024, 2: 48, 3: 12, 4: 8}  # along each axis, by the number of axes
FINE: Final = 20  # binary places below a cell to which records are read
NORMAL: Final = 1.959963984540054
LAPLACE: Final = math.log(20.0) / math.sqrt(2.0)  # the 95 % point of |Laplace| in standard deviations
PLAIN: Final = 1.0  # half-width, in units of the uniform density, beyond which noise hides every shape


@dataclass(frozen=True, slots=True)
class Terms:
    """The public circumstances of a release.

    Attributes
    ----------
    neighbours : Adjacency
    size : int or None
        A public number of records, >= 1, to divide by; None: it is private and comes out with its own noise.
    rows : int
        The most records one unit has, >= 1.
    fixed : bool
        Every unit has exactly one record with a value, in either table: substitution with a public ``size`` only.
    """

    neighbours: Adjacency
    size: int | None = None
    rows: int = 1
    fixed: bool = False

    def __post_init__(self) -> None:
        if self.neighbours.kind == "local":
            raise PublicParameterError("a data set is released from a table, not from answers of the local model")
        if not 1 <= self.rows <= self.neighbours.rows:
            raise PublicParameterError("a unit has at least one record, and at most one for each of its rows")
        if self.size is not None and (isinstance(self.size, bool) or self.size < 1):
            raise PublicParameterError(f"the public number of records must be >= 1, got {self.size}")
        if self.fixed and (self.neighbours.kind != "substitute" or self.rows > 1 or self.size is None):
            raise PublicParameterError("only under substitution has every unit exactly one record, of a public number")


@dataclass(frozen=True, slots=True)
class Expected:
    """Half-widths at 95 %, in units of the uniform density, a typical point's; from public numbers alone."""

    noise: float
    sampling: float
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Sums:
    """Sums over records of public integer vectors, one for each cell, with integer noise.

    Attributes
    ----------
    table : array of int64, shape (cells, coordinates)
    terms : Terms
    epsilon, delta : Fraction
        Geometric noise at delta = 0, discrete Gaussian noise above.

    Guarantee
    ---------
    epsilon, pure, by ``mechanisms.Geometric``; with delta > 0, (epsilon, delta) by ``mechanisms.Gaussian`` and the
    conversion of zCDP. The sensitivity is that of docs/proofs/densities.md, Proposition 1, exact for ``table``.
    """

    table: Integers
    terms: Terms
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if not 0 <= exact(self.delta, "delta") < 1:
            raise PublicParameterError("delta must be 0, or lie between 0 and 1")
        if self.table.dtype != np.int64 or self.table.ndim != 2 or not self.table.any():
            raise PublicParameterError("a table holds int64, a row for each cell, and not only zeros")
        if np.abs(self.table).max() > LARGEST or self.table.size > MOST_ENTRIES:
            raise PublicParameterError(f"a table has at most {MOST_ENTRIES:,} entries, each at most {LARGEST:,}")
        fixed = self.table.copy()
        fixed.setflags(write=False)
        object.__setattr__(self, "table", fixed)

    @cached_property
    def moved(self) -> int:
        """The L1 sensitivity in integers, or the square of the L2 one where delta > 0."""
        power: Literal[1, 2] = 2 if self.delta else 1
        if self.terms.neighbours.kind == "add_remove":
            most = longest(self.table, power)
        else:
            most = widest(self.table, power, origin=not self.terms.fixed)
        return most * int(self.terms.rows**power)

    @cached_property
    def mechanism(self) -> Geometric | Gaussian:
        """One draw of all coordinates."""
        bound = Fraction(max(self.moved, 1))
        if not self.delta:
            return Geometric(L1(bound, self.terms.neighbours), self.epsilon)
        return Gaussian(L2(bound, self.terms.neighbours), convert.rho_for(self.epsilon, self.delta))

    @property
    def guarantee(self) -> Guarantee:
        own = self.mechanism.guarantee
        return own if not self.delta else convert.as_approx(own, self.delta)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of one sum, in integers."""
        match self.mechanism:
            case Geometric() as mechanism:
                ratio = math.exp(-1.0 / float(mechanism.scale))
                return math.sqrt(2.0 * ratio) / (1.0 - ratio)
            case Gaussian() as mechanism:
                return math.sqrt(float(mechanism.variance))
            case _:
                assert_never(self.mechanism)

    def draw(self, counts: Integers, entropy: Entropy) -> Floats:
        """The noisy sums where ``counts`` records lie in each cell."""
        drawn = gate.draw(self.mechanism, tuple((counts @ self.table).tolist()), entropy)
        return np.array(drawn, np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Linear:
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
    """

    axes: tuple[Axis, ...]
    sums: Sums
    back: Floats
    base: bool
    method: str
    settle: Settle

    @property
    def guarantee(self) -> Guarantee:
        return compose.processed(self.sums.guarantee, label=f"density by {self.method}")

    @property
    def queries(self) -> tuple[Query, ...]:
        if len(self.axes) == 1:
            return (Tally(self.axes[0].column, self.axes[0].edges),)
        return (Records(tuple(one.column for one in self.axes), tuple(unit_of(one) for one in self.axes)),)

    def draw(self, results: Sequence[Result], entropy: Entropy) -> Outcome[Density]:
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
        if size is None:
            weights = shares @ self.back  # of the sums in the noisy number of records
            n = float(weights @ noisy)
            if n < max(1.0, self.sums.deviation * float(self.reaches(weights[None])[0])):
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
                max(round(n), 1),
                band=(spread * shares * self.reaches(rows)).reshape(cells),
                wander=min(spread * self._together(shares[:, None] * rows), 1.0),
                words=("the noise of neighbouring cells goes together: the band is about one point at a time",),
            )
        )

    def expected(self, people: int) -> Expected:
        """What noise and sampling leave for ``people`` records that are spread evenly."""
        n = self.sums.terms.size or people
        noise = self.sums.deviation / n * math.sqrt(float(np.mean(self.reaches(self.back) ** 2)))
        table = self.sums.table - self.sums.table.mean(axis=0)
        spread = self.back @ (table.T @ table / len(table))  # times back: what the cell of a record leaves to chance
        sampling = NORMAL * math.sqrt(float(np.mean(np.sum(spread * self.back, axis=1))) / n)
        hidden = "at this ε and so few records the noise hides every shape: expect the uniform density"
        return Expected(noise, sampling, hidden if noise > PLAIN else "")

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


@dataclass(frozen=True, eq=False, repr=False)
class Series:
    """A density by an orthogonal series of cosines.

    Parameters
    ----------
    axes : sequence of Axis
        One to three columns with public bounds: ``grid(...)``.
    terms : Terms
    epsilon, delta : Fraction
        Geometric noise at delta = 0; discrete Gaussian noise above, less of it from about a dozen coefficients on.
    degree : int
        m >= 1, public: the highest frequency. ``degree_for`` finds one from a Sobolev class.
    settle : "simplex" or "clip"

    Raises
    ------
    PublicParameterError
        For more than three columns, or a degree beyond half the cells or 512 coefficients; before rows are read.

    Guarantee
    ---------
    epsilon, pure, or (epsilon, delta); of ``Sums``.

    Accuracy
    --------
    Integrated squared error at most C^2 (m + 1)^(-2 gamma) + J / n + J deviation^2 / n^2 for J coefficients and a
    density of the Sobolev class (gamma, C).

    Source
    ------
    002 section 6.3.
    """

    axes: tuple[Axis, ...]
    terms: Terms
    epsilon: Fraction
    degree: int
    delta: Fraction = Fraction(0)
    settle: Settle = "simplex"

    def __post_init__(self) -> None:
        frequencies(self.axes, self.degree)

    @cached_property
    def plan(self) -> Linear:
        indices = frequencies(self.axes, self.degree)
        name = f"orthogonal series of degree {self.degree}"
        return cosines(
            self.axes, indices, np.ones(len(indices)), self.terms, (self.epsilon, self.delta), name, self.settle
        )

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.plan.queries

    def draw(self, results: Sequence[Result], entropy: Entropy) -> Outcome[Density]:
        return self.plan.draw(results, entropy)

    def expected(self, people: int) -> Expected:
        return self.plan.expected(people)


def grid(columns: Sequence[tuple[str, Fraction, Fraction, bool]], cells: int | None = None) -> tuple[Axis, ...]:
    """Axes from (column, low, high, whole numbers), with the number of cells that suits so many columns."""
    if not 1 <= len(columns) <= max(CELLS):
        raise PublicParameterError(f"a density is of 1 to {max(CELLS)} columns, got {len(columns)}")
    each = CELLS[len(columns)] if cells is None else cells
    return tuple(even(name, low, high, each, whole=whole) for name, low, high, whole in columns)


def cosines(
    axes: tuple[Axis, ...],
    indices: Integers,
    root: Floats,
    terms: Terms,
    loss: tuple[Fraction, Fraction],
    method: str,
    settle: Settle,
) -> Linear:
    """Release root_j psi_j summed over the records, and multiply by root_j again on the way back."""
    if terms.size is None:
        indices, root = np.vstack([np.zeros_like(indices[:1]), indices]), np.append(1.0, root)
    basis = waves(axes, indices) * root
    table = np.rint(UNIT * basis).astype(np.int64)
    return Linear(axes, Sums(table, terms, *loss), basis / UNIT, terms.size is not None, method, settle)


def waves(axes: Sequence[Axis], indices: Integers) -> Floats:
    """psi_j at the middle of each cell: shape (cells, indices)."""
    found = np.ones((1, len(indices)))
    for one, along in zip(axes, indices.T, strict=True):
        middle = (one.steps[:-1] + one.steps[1:]) / (2.0 * one.steps[-1])
        wave = np.where(along > 0, math.sqrt(2.0), 1.0) * np.cos(math.pi * np.multiply.outer(middle, along))
        found = (found[:, None, :] * wave[None, :, :]).reshape(-1, len(indices))
    return found


def frequencies(axes: Sequence[Axis], degree: float, most: int = 3) -> Integers:
    """Multi-indices j with 0 < |j| <= degree, |j| Euclidean: shape (coefficients, axes)."""
    if not 1 <= len(axes) <= most:
        raise PublicParameterError(f"this release is of 1 to {most} columns, got {len(axes)}")
    if isinstance(degree, bool) or not 1 <= degree < min(one.cells for one in axes):
        cells = " x ".join(str(one.cells) for one in axes)
        raise PublicParameterError(f"frequencies go from 1 to below the cells of an axis ({cells}), got {degree:g}")
    sides = [np.arange(int(degree) + 1)] * len(axes)
    every = np.stack([side.ravel() for side in np.meshgrid(*sides, indexing="ij")], axis=1)
    squared = (every**2).sum(axis=1)
    found = every[(squared > 0) & (squared <= degree**2)]
    if len(found) > MOST_COORDINATES:
        raise PublicParameterError(
            f"{len(found)} coefficients of {len(axes)} columns, and at most {MOST_COORDINATES} are released: each adds "
            "its noise. Ask for less detail."
        )
    return np.asarray(found[np.argsort((found**2).sum(axis=1), kind="stable")], np.int64)


def degree_for(
    smoothness: float, radius: float, people: int, epsilon: Fraction, delta: Fraction = Fraction(0), columns: int = 1
) -> int:
    """The degree with the least bound of the error for densities with sum of beta_j^2 |j|^(2 smoothness) <= radius^2.

    Parameters
    ----------
    smoothness, radius : float
        gamma and C of the Sobolev class, both > 0: what is believed of the density, without looking.
    people : int
        A public number of records.
    """
    if not (smoothness > 0 and radius > 0 and people >= 1):
        raise PublicParameterError("smoothness and radius must be > 0 and people >= 1")
    most = {1: 256, 2: 24, 3: 9}[columns]
    twice_rho = float(2 * convert.rho_for(epsilon, delta)) if delta else 0.0

    def error(degree: int) -> float:
        count = {1: degree, 2: math.pi / 4 * degree**2 + degree, 3: math.pi / 6 * degree**3 + 2 * degree**2}[columns]
        widest = 1.22 * math.sqrt(2.0) * count  # L1, close to its value for one column
        noise = 4.0 * count**2 / twice_rho if delta else 2.0 * count * (widest / float(epsilon)) ** 2
        left = radius**2 * (degree + 1.0) ** (-2.0 * smoothness)
        return float(left + count / people + noise / people**2)

    return min(range(1, most + 1), key=error)


# --- sensitivities ----------------------------------------------------------------------------------------------------


def longest(table: Integers, power: Literal[1, 2]) -> int:
    """The greatest sum of |entry|^power over a row of the table."""
    return int((np.abs(table) ** power).sum(axis=1).max())


def widest(table: Integers, power: Literal[1, 2], *, origin: bool) -> int:
    """The greatest sum of |difference|^power between two rows of the table, and the row of zeros if ``origin``.

    Exact up to ``PAIRS`` entries to compare; beyond, twice the greatest distance from one of two integer points, which
    is no less. Numbers are integers below 2^53 throughout, where doubles are exact.
    """
    rows = np.unique(np.vstack([table, np.zeros_like(table[:1])]) if origin else table, axis=0)
    moved = rows - rows.min(axis=0)  # distances stay, and numbers are as small as they can be
    if int(2**power) * longest(moved, power) >= 1 << 53:
        raise PublicParameterError("the table is too large for its distances to be exact")
    if len(rows) ** 2 * rows.shape[1] > PAIRS:
        middle = (rows.max(axis=0) + rows.min(axis=0)) // 2
        return int(2**power) * min(longest(rows - middle, power), longest(rows, power))
    from scipy.spatial.distance import cdist

    values, best = moved.astype(np.float64), 0.0
    lengths = (values**2).sum(axis=1)
    size = max(CHUNK // len(rows), 1)
    for first in range(0, len(rows), size):
        part, rest = values[first : first + size], values[first:]
        if power == 1:
            found = cdist(part, rest, "cityblock")
        else:
            found = lengths[first : first + size, None] + lengths[None, first:] - 2.0 * (part @ rest.T)
        best = max(best, float(found.max()))
    return int(best)


# --- rows to cells, heights to densities ------------------------------------------------------------------------------


def unit_of(one: Axis) -> Fraction:
    """The public unit in which a column is read: a power of two far below a cell, or 1 for whole numbers."""
    if one.whole:
        return Fraction(1)
    width = (one.edges[-1] - one.edges[0]) / one.cells
    power = width.numerator.bit_length() - width.denominator.bit_length() - FINE
    return Fraction(2) ** power


def counted(axes: Sequence[Axis], records: Integers) -> Integers:
    """How many records lie in each cell, in row-major order; beyond the bounds the end cells count them."""
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
    """Heights >= 0 whose masses add up to 1."""
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
