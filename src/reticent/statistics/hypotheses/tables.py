"""Noisy tables of counts under independence: the statistic, its law with the noise, how strong an association is.

X = counts + noise of variance v in every cell, of shape (rows, columns). With margins p, q and n rows in all, the
doubly centred residual E = (I - p 1') X (I - 1 q') has mean 0 under independence, whatever the noise, and covariance

    n (Dp - p p') x (Dq - q q')  +  v (A A') x (B B'),      A = I - p 1',  B = I - q 1'.

Both parts are diagonal in one basis each of rows and columns; there E is z_kl with variances n + v a_k b_l, and
sum z_kl^2 / n is Pearson's statistic. Noise blurs some z_kl more than others, so the statistic weights them:

    T = sum_kl n z_kl^2 / (n + v a_k b_l)^2,

the score statistic against associations that favour no direction of Pearson's distance: with means n d_kl and
d_kl ~ N(0, t), the logarithm of the likelihood ratio is t n T / 2 to first order in t, but for a constant. Without
noise T is Pearson's statistic. Proof and measurements: docs/theory/hypotheses.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.entropy import Simulation
from reticent.statistics.hypotheses.null import DRAWS, HYPOTHESIS, Floats, PValue, geometric, p_value, stream

FEWEST_ROWS: Final = 10.0
TOLD: Final = 2.0  # deviations of the noise in a margin that it exceeds, or its value may have no row
LEAST_MARGIN: Final = 0.5  # rows: a margin below it, as noise may make it, counts as this much


@dataclass(frozen=True, slots=True)
class TableMargins:
    """Margins and size of noisy tables: ``size`` of shape (...), ``rows`` of (..., R), ``columns`` of (..., C)."""

    size: Floats
    rows: Floats
    columns: Floats

    @property
    def independent(self) -> Floats:
        """Probabilities of the cells under independence."""
        return np.asarray(self.rows[..., :, None] * self.columns[..., None, :])


@dataclass(frozen=True, slots=True)
class Parts:
    """The residual of noisy tables in its basis: ``z`` and the variance ``blur`` that the noise gives it."""

    size: Floats
    z: Floats
    blur: Floats


def noise_variance(scale: float) -> float:
    """The variance of two-sided geometric noise."""
    if scale <= 0.0:
        return 0.0
    ratio = math.exp(-1.0 / scale)
    return 2.0 * ratio / (1.0 - ratio) ** 2


def fit(tables: Floats) -> TableMargins:
    """Margins of noisy tables of shape (..., R, C)."""
    size = np.maximum(tables.sum((-1, -2)), 1.0)
    rows, columns = np.maximum(tables.sum(-1), LEAST_MARGIN), np.maximum(tables.sum(-2), LEAST_MARGIN)
    return TableMargins(size, rows / rows.sum(-1, keepdims=True), columns / columns.sum(-1, keepdims=True))


def parts(tables: Floats, variance: float) -> Parts:
    """The residuals of noisy tables of shape (..., R, C) with this variance of the noise in each cell."""
    found = fit(tables)
    p, q = found.rows[..., :, None], found.columns[..., None, :]
    across, down = tables.sum(-1)[..., :, None], tables.sum(-2)[..., None, :]
    total = tables.sum((-1, -2))[..., None, None]
    residual = tables - p * down - across * q + total * p * q
    left, a = _basis(found.rows)
    right, b = _basis(found.columns)
    z = np.swapaxes(left, -1, -2) @ residual[..., :-1, :-1] @ right
    return Parts(found.size, z, variance * a[..., :, None] * b[..., None, :])


def _basis(margin: Floats) -> tuple[Floats, Floats]:
    """V with V' (Dp - p p') V = I and V' A A' V = diag(a), both without the last row and column; V and a."""
    many = margin.shape[-1]
    p, row = margin[..., :, None], margin[..., None, :]
    sampled = (np.eye(many) * p - p * row)[..., :-1, :-1]
    blurred = (np.eye(many) - p - row + many * p * row)[..., :-1, :-1]
    if many == 2:
        return 1.0 / np.sqrt(sampled), (blurred / sampled)[..., 0]
    inverse = np.linalg.inv(np.linalg.cholesky(sampled))
    a, turn = np.linalg.eigh(inverse @ blurred @ np.swapaxes(inverse, -1, -2))
    return np.swapaxes(inverse, -1, -2) @ turn, a


def score(found: Parts, alike: int) -> Floats:
    """T, where rows come as ``alike`` equal ones at most."""
    n = (found.size * alike)[..., None, None]
    return np.asarray((n * found.z**2 / (n + found.blur) ** 2).sum((-1, -2)))


@dataclass(frozen=True, slots=True)
class TableLaw:
    """The law of noisy tables: ``scale`` of the geometric noise in a cell, at most ``alike`` equal rows of a person."""

    scale: float
    alike: int = 1

    @property
    def variance(self) -> float:
        return noise_variance(self.scale)

    def draw(self, cells: Floats, size: float, count: int, source: Simulation) -> Floats:
        """``count`` noisy tables of ``size`` rows with these probabilities of the cells, of shape (count, R, C).

        Parameters
        ----------
        cells : array of shape (R, C), float
            Probabilities.
        size : float
            Number of rows.
        count : int
            Number of tables.
        source : Simulation
            The public stream.

        Returns
        -------
        array of shape (count, R, C), float
        """
        units = max(round(size / self.alike), 1)
        exact = self.alike * source.multinomial(units, cells.ravel() / cells.sum(), count).reshape(count, *cells.shape)
        return (exact + geometric(self.scale, exact.shape, source)).astype(np.float64)

    def statistics(self, tables: Floats) -> Floats:
        return score(parts(tables, self.variance), self.alike)

    def test(self, table: Floats, draws: int = DRAWS, name: str = HYPOTHESIS) -> tuple[float, PValue]:
        """T of one noisy table of shape (R, C), and how often ``draws`` independent tables have as much.

        Of tables with the fitted margins and of tables with margins that the noise may have driven apart, the larger.
        ``name`` is that of the stream: measurements take one of their own for each table, a release always the same.

        Parameters
        ----------
        table : array of shape (R, C), float
            Noisy counts.
        draws : int
            Number of simulated tables.
        name : str
            Of the public stream that they come from.

        Returns
        -------
        pair of float, and PValue
        """
        observed = float(self.statistics(table))
        found = [self._under(observed, margins, draws, name) for margins in (fit(table), fit(self._evened(table)))]
        return observed, max(found, key=lambda p: p.value)

    def _under(self, observed: float, margins: TableMargins, draws: int, name: str) -> PValue:
        """The p-value by independent tables of these margins."""
        simulated = self.draw(margins.independent, float(margins.size), draws, stream(name))
        return p_value(observed, self.statistics(simulated))

    def _evened(self, table: Floats) -> Floats:
        """An independent table of the same size, with margins nearer to even by a standard deviation of their noise."""
        rows, columns = (_nearer(table.sum(axis), self.variance * table.shape[axis]) for axis in (1, 0))
        return np.asarray(np.outer(rows, columns) / rows.sum() * (max(float(table.sum()), 1.0) / columns.sum()))


def _nearer(margin: Floats, variance: float) -> Floats:
    step = math.sqrt(variance)
    return np.asarray(np.maximum(margin + np.clip(margin.mean() - margin, -step, step), LEAST_MARGIN))


def told(table: Floats, law: TableLaw) -> tuple[list[bool], list[bool]]:
    """Tell of every row and column of one table if it has more than noise alone may make."""
    first, second = (
        (table.sum(axis) >= max(FEWEST_ROWS, TOLD * math.sqrt(law.variance * table.shape[axis]))).tolist()
        for axis in (1, 0)
    )
    return first, second


def filled(table: Floats, law: TableLaw) -> Floats | None:
    """The table of the rows and columns that are told; None where fewer than two of either are."""
    rows, columns = told(table, law)
    return table[rows][:, columns] if min(sum(rows), sum(columns)) >= 2 else None


def strength(table: Floats, law: TableLaw) -> float:
    """Cramer's V of a noisy table less what sampling and noise add on average, in [0, 1]."""
    found = parts(table, law.variance)
    size = float(found.size)
    square = float((found.z**2 - size * law.alike - found.blur).sum()) / size**2
    return min(math.sqrt(max(square, 0.0) / (min(table.shape) - 1)), 1.0)


def exact_strength(cells: Floats) -> float:
    """Cramer's V of probabilities of cells."""
    p, q = cells.sum(1), cells.sum(0)
    expected = np.outer(p, q)
    inside = expected > 0.0
    square = float(((cells - expected)[inside] ** 2 / expected[inside]).sum())
    return math.sqrt(max(square, 0.0) / (min(cells.shape) - 1))


def half_widths(table: Floats, law: TableLaw) -> tuple[float, float]:
    """Half-widths of V at 95 % by noise and by sampling, along the direction of the residual."""
    found = parts(table, law.variance)
    squares = found.z**2
    weights = squares / squares.sum() if squares.sum() > 0.0 else np.full(squares.shape, 1.0 / squares.size)
    per_size = 1.96 / (float(found.size) * math.sqrt(min(table.shape) - 1))
    noise = per_size * math.sqrt(float((weights * found.blur).sum()))
    return min(noise, 1.0), min(per_size * math.sqrt(float(found.size) * law.alike), 1.0)
