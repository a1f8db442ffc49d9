"""Orthogonal series: a density from noisy sums of cosines over the rows.

    row --public cells--> integer vector --sum over rows + integer noise--> coefficients --project--> Density

``sums`` has the noise, ``linear`` the way back; ``kernel`` and ``bernstein`` are other tables with other maps back.

The table here has round(2^16 psi_j(middle of the cell)), psi_j(t) = prod_k sqrt(2) cos(pi j_k t_k) over multi-indices j
with 0 < |j| <= degree; on equal cells these are orthonormal exactly (the discrete cosine transform). Where the number
of records is private, psi_0 = 1 is released with the others and its noisy sum is divided by.

Source: 002 section 6.3. Proof: docs/proofs/densities.md, sections 1 and 2.

Deviations. 002 adds Laplace noise of standard deviation m c0 / (n eps), which spends up to 2.83 eps. The need is the
greatest sum of |psi_j(x) - psi_j(x')|, which is finite for bases with unbounded c0 too. Noise is discrete; with delta >
0 it is Gaussian. The density is projected onto densities before anyone draws from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Final

import numpy as np

from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.outcome import Outcome
from reticent.privacy import convert
from reticent.privacy.guarantee import Guarantee
from reticent.synthesis.axis import Axis, Steps, even, resolution_of
from reticent.synthesis.density import Density
from reticent.synthesis.linear import DensityAccuracy, LinearDensity, Settle
from reticent.synthesis.linear_queries import UNIT, DensityTerms, Floats, Integers, LinearSums

MOST_COORDINATES: Final = 512
CELLS: Final = {1: 1024, 2: 48, 3: 12, 4: 8}  # along each axis, by the number of axes


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
    epsilon, pure, or (epsilon, delta); of ``LinearSums``.

    Accuracy
    --------
    Integrated squared error at most C^2 (m + 1)^(-2 gamma) + J / n + J deviation^2 / n^2 for J coefficients and a
    density of the Sobolev class (gamma, C).

    Source
    ------
    002 section 6.3.
    """

    axes: tuple[Axis, ...]
    terms: DensityTerms
    epsilon: Fraction
    degree: int
    delta: Fraction = Fraction(0)
    settle: Settle = "simplex"

    def __post_init__(self) -> None:
        frequencies(self.axes, self.degree)

    @cached_property
    def plan(self) -> LinearDensity:
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

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        return self.plan.draw(results, entropy)

    def expected(self, people: int) -> DensityAccuracy:
        return self.plan.expected(people)


def grid(
    columns: Sequence[tuple[str, Fraction, Fraction, bool]],
    cells: int | None = None,
    steps: Steps = MappingProxyType({}),
) -> tuple[Axis, ...]:
    """Axes from (column, low, high, whole numbers), with the number of cells that suits so many columns.

    Parameters
    ----------
    columns : sequence of (name, low, high, whole numbers)
    cells : int, optional
        Along each column.
    steps : mapping of column to int or Fraction
        Of real columns a declared resolution.

    Returns
    -------
    tuple of Axis

    Raises
    ------
    PublicParameterError
        For another number of columns, or too many cells.
    """
    if not 1 <= len(columns) <= max(CELLS):
        raise PublicParameterError(f"a density is of 1 to {max(CELLS)} columns, got {len(columns)}")
    each = CELLS[len(columns)] if cells is None else cells
    return tuple(
        even(name, low, high, each, whole=whole, resolution=None if whole else resolution_of(steps, name))
        for name, low, high, whole in columns
    )


def cosines(
    axes: tuple[Axis, ...],
    indices: Integers,
    root: Floats,
    terms: DensityTerms,
    loss: tuple[Fraction, Fraction],
    method: str,
    settle: Settle,
) -> LinearDensity:
    """Release root_j psi_j summed over the records, and multiply by root_j again on the way back.

    Parameters
    ----------
    axes : tuple of Axis
        Bounds and steps of each column.
    indices : array of int
        Frequencies, shape (terms, columns).
    root : array of float
        Square roots of the weights, shape (terms,).
    terms : DensityTerms
        Neighbours, and the number of rows where it is public.
    loss : tuple of Fraction and Fraction
        epsilon and delta.
    method : str
        Name of the method.
    settle : Settle
        Treatment of negative densities.

    Returns
    -------
    LinearDensity
        Plan with its guarantee.
    """
    if terms.size is None:
        indices, root = np.vstack([np.zeros_like(indices[:1]), indices]), np.append(1.0, root)
    basis = waves(axes, indices) * root
    table = np.rint(UNIT * basis).astype(np.int64)
    return LinearDensity(axes, LinearSums(table, terms, *loss), basis / UNIT, terms.size is not None, method, settle)


def waves(axes: Sequence[Axis], indices: Integers) -> Floats:
    """psi_j at the middle of each cell: shape (cells, indices)."""
    found = np.ones((1, len(indices)))
    for one, along in zip(axes, indices.T, strict=True):
        middle = (one.steps[:-1] + one.steps[1:]) / (2.0 * one.steps[-1])
        wave = np.where(along > 0, math.sqrt(2.0), 1.0) * np.cos(math.pi * np.multiply.outer(middle, along))
        found = (found[:, None, :] * wave[None, :, :]).reshape(-1, len(indices))
    return found


def frequencies(axes: Sequence[Axis], degree: float, most: int = 3) -> Integers:
    """Multi-indices j with 0 < |j| <= degree, |j| Euclidean: shape (coefficients, axes).

    Parameters
    ----------
    axes : sequence of Axis
    degree : float
    most : int
        Greatest number of columns that the release is for.

    Returns
    -------
    array of shape (coefficients, axes), int

    Raises
    ------
    PublicParameterError
        A number of columns, a degree or a number of coefficients out of range.
    """
    if not 1 <= len(axes) <= most:
        raise PublicParameterError(f"this release is of 1 to {most} columns, got {len(axes)}")
    if isinstance(degree, bool) or not 1 <= degree < min(one.cells for one in axes):
        cells = min(one.cells for one in axes)
        raise PublicParameterError(
            f"degree must be at least 1 and below {cells:,}, the number of cells along a column, got {degree:g}"
        )
    sides = [np.arange(int(degree) + 1)] * len(axes)
    every = np.stack([side.ravel() for side in np.meshgrid(*sides, indexing="ij")], axis=1)
    squared = (every**2).sum(axis=1)
    found = every[(squared > 0) & (squared <= degree**2)]
    if len(found) > MOST_COORDINATES:
        raise PublicParameterError(
            f"{len(found)} coefficients of {len(axes)} columns, and at most {MOST_COORDINATES} are released: each adds "
            "its noise. Ask for a lower degree, or a larger bandwidth"
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
    epsilon, delta : Fraction
        Loss of the release.
    columns : int
        Number of columns, 1 to 3.

    Returns
    -------
    int
        Degree, >= 1.

    Raises
    ------
    PublicParameterError
        A smoothness, radius or number of records out of range.
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
