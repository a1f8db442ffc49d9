"""Influence of one more value on an estimate: empirical influence, its limit, and the most of either. Toy data only.

    lab.influence("median", [1, 2, 4, 8])                     (n + 1) (T(sample and x) - T(sample)) over x
    lab.influence("mean", sample, shape="normal").plot()      with the influence function of a population beside it
    lab.gross_error_sensitivity("trimmed mean", "normal")     the most of the influence function

Source: 003 section 1.4, Definitions 1 and 2, Examples 1 to 4: whatever the noise, a local sensitivity is at least
sup |EIF| / (n + 1), so bounded influence is where private estimators begin. Derivations: docs/theory/dwork_lei.md.

Deviations. 003's sample median has rank floor(n / 2), none for one value; here ceil(n / 2). Its Example 2 prints
Theta(n) "independent of n" for a local sensitivity of Theta(n) / (n + 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.render.figure import DOT, GREY, INK, WIDTH, quiet
from reticent.certificate.render.odds import DASHES, saved
from reticent.errors import PublicParameterError, door

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Estimator: TypeAlias = Literal["mean", "median", "trimmed mean", "iqr", "huber", "slope"]
Population: TypeAlias = Literal["normal", "lognormal", "cauchy", "gap"]

ALPHA: Final = 0.2  # left out by the trimmed mean, half on either side
HUBER: Final = 1.345  # in units of the data: 95 % efficient for a normal population of deviation 1
POINTS: Final = 81
FAR: Final = 1e6  # stands for a value however far out
MOST: Final = 5_000  # values of a toy sample


@dataclass(frozen=True, slots=True)
class Influence:
    """The influence of one more value on an estimate.

    Attributes
    ----------
    estimator : str
    size : int
        Values of the sample, n.
    points : tuple of (x, EIF(x))
        In units of the data; for the slope x is the new row's y, where its z is 1.
    far : float
        The greatest |EIF| over the points and 10^6 to either side of zero.
    curve : tuple of (x, IF(x))
        Of the population named, at the same x; empty without one.
    gross : float or None
        Its gross error sensitivity, infinite where the influence function is not bounded.
    """

    estimator: Estimator
    size: int
    points: tuple[tuple[float, float], ...]
    far: float
    curve: tuple[tuple[float, float], ...] = ()
    gross: float | None = None

    @property
    def moved(self) -> float:
        """Bound on the change of this estimate by one value: at most its local sensitivity."""
        return self.far / (self.size + 1)

    def rows(self) -> tuple[tuple[float, float, float | None], ...]:
        """(x, empirical influence, influence function or None)."""
        limits: Sequence[float | None] = [y for _, y in self.curve] or [None] * len(self.points)
        return tuple((x, y, limit) for (x, y), limit in zip(self.points, limits, strict=True))

    def plot(self) -> Figure:
        """The new value on x; dots for the sample, a line for the population, dashes for its most."""
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(WIDTH, 3.6))
        axes = drawn.add_axes((0.095, 0.15, 0.6, 0.74))
        axes.axhline(0, color=GREY, linewidth=0.6)
        axes.plot(*zip(*self.points, strict=True), "o", color=DOT, markersize=3, label=f"this sample, n {self.size}")
        shown = [(x, y) for x, y in self.curve if math.isfinite(y)]
        if shown:
            axes.plot(*zip(*shown, strict=True), color=INK, linewidth=1.1, label="its population")
        if self.gross is not None and math.isfinite(self.gross):
            for height in (self.gross, -self.gross):
                label = f"gross error sensitivity {self.gross:.3g}" if height > 0 else None
                axes.axhline(height, color=INK, linewidth=0.9, linestyle=DASHES[1], label=label)
        name = {"slope": "y of one more row with z = 1"}.get(self.estimator, "one more value")
        axes.set_xlabel(name, fontsize=9)
        axes.set_ylabel("influence", fontsize=9)
        axes.set_title(f"What one more value does to the {self.estimator}", loc="left", fontsize=10)
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.02, 0.5))
        axes.tick_params(labelsize=8, length=3, color=GREY)
        quiet(axes)
        return drawn

    def save(self, path: str | Path) -> None:
        """Write the picture to ``path``, in the format of its ending: .svg, .png or .pdf."""
        saved(self.plot(), path, "influence")


@door
def influence(
    estimator: Estimator,
    sample: Sequence[float] | Sequence[tuple[float, float]],
    *,
    shape: Population | None = None,
    at: Sequence[float] | None = None,
) -> Influence:
    """The empirical influence function of a made-up sample, and a population's beside it.

    Parameters
    ----------
    estimator : "mean" | "median" | "trimmed mean" | "iqr" | "huber" | "slope"
        Trimmed by 10 % on either side; Huber's location with k = 1.345 and scale 1; the slope of R_H, minimising the
        sum of |y - a - b z| / ||(1, z)||.
    sample : sequence of float, or of (z, y) for the slope
        4 to 5,000 made-up values. Never real ones: nothing here is private.
    shape : "normal" | "lognormal" | "cauchy" | "gap", optional
        The population beside it; "gap" is uniform on [-2, -1] and [1, 2] and has no density at its median. For the
        slope, the law of the errors around y = a + b z, z normal.
    at : sequence of float, optional
        Where the new value is put; by default evenly over the sample and half its width to either side.

    Returns
    -------
    Influence
        Points (x, influence) of the sample, and the curve of the population if ``shape`` is given.

    Raises
    ------
    PublicParameterError
        An unknown estimator, or a sample that is not 4 to 5,000 finite values (pairs for the slope).
    """
    held = np.asarray(sample, np.float64)
    if held.ndim != (2 if estimator == "slope" else 1) or not 4 <= len(held) <= MOST or not np.isfinite(held).all():
        raise PublicParameterError(f"a sample is 4 to {MOST:,} finite values, or pairs of them for the slope")
    values = held[:, 1] if estimator == "slope" else held
    places = np.asarray(at, np.float64) if at is not None else _places(values)
    whole, n = estimate(estimator, held), len(held)

    def empirical(x: float) -> float:
        row = np.array([[1.0, x]]) if estimator == "slope" else np.array([x])
        return (n + 1) * (estimate(estimator, np.concatenate([held, row])) - whole)

    points = tuple((float(x), empirical(float(x))) for x in places)
    far = max(abs(y) for y in [*(y for _, y in points), empirical(-FAR), empirical(FAR)])
    if shape is None:
        return Influence(estimator, n, points, far)
    limit = influence_function(estimator, shape)
    centre = float(np.mean(estimate_line(held) @ [1.0, 1.0])) if estimator == "slope" else 0.0
    curve = tuple((x, limit(x - centre)) for x, _ in points)
    return Influence(estimator, n, points, far, curve, gross_error_sensitivity(estimator, shape))


def _places(values: Floats) -> Floats:
    low, high = np.quantile(values, [0.01, 0.99])
    reach = max(high - low, 1e-9) / 2
    return np.linspace(low - reach, high + reach, POINTS)


# --- estimates --------------------------------------------------------------------------------------------------------


def estimate(estimator: Estimator, sample: Floats) -> float:
    """The estimate itself, without any noise."""
    match estimator:
        case "mean":
            return float(sample.mean())
        case "median":
            return float(np.sort(sample)[math.ceil(len(sample) / 2) - 1])
        case "trimmed mean":
            cut = math.floor(len(sample) * ALPHA / 2)
            return float(np.sort(sample)[cut : len(sample) - cut].mean())
        case "iqr":
            cut, ordered = math.floor(len(sample) / 4), np.sort(sample)
            return float(ordered[len(sample) - cut - 1] - ordered[cut])
        case "huber":
            return _root(lambda t: float(np.clip(sample - t, -HUBER, HUBER).sum()), sample.min(), sample.max())
        case "slope":
            return float(estimate_line(sample)[1])
        case _:
            assert_never(estimator)


def estimate_line(sample: Floats) -> Floats:
    """(a, b) that minimise the sum of |y - a - b z| / ||(1, z)||: 003 (23) for p = 2, by a linear program."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack

    n, x = len(sample), np.column_stack([np.ones(len(sample)), sample[:, 0]])
    weights = 1.0 / np.linalg.norm(x, axis=1)
    # y = x b + up - down, least sum of weights (up + down)
    found = linprog(
        np.concatenate([np.zeros(2), weights, weights]),
        A_eq=hstack([x, eye_array(n), -eye_array(n)]),
        b_eq=sample[:, 1],
        bounds=[(None, None)] * 2 + [(0, None)] * (2 * n),
        method="highs",
    )
    return np.asarray(found.x[:2], np.float64)


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Root of a falling function."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return float((low + high) / 2)


# --- populations ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PopulationLaw:
    """A population: its quantiles, its density, its distribution function, its mean where there is one."""

    quantiles: Callable[[Floats], Floats]
    density: Callable[[float], float]
    below: Callable[[float], float]
    mean: float | None

    def quantile(self, u: float) -> float:
        """One of the quantiles."""
        return float(self.quantiles(np.array([u]))[0])


def law(shape: Population) -> PopulationLaw:
    """The laws of 003's examples."""
    from scipy.special import ndtr, ndtri

    match shape:
        case "normal":
            return PopulationLaw(lambda u: np.asarray(ndtri(u)), _phi, lambda x: float(ndtr(x)), 0.0)
        case "lognormal":
            return PopulationLaw(
                lambda u: np.exp(ndtri(u)),
                lambda x: _phi(math.log(x)) / x if x > 0 else 0.0,
                lambda x: float(ndtr(math.log(x))) if x > 0 else 0.0,
                math.exp(0.5),
            )
        case "cauchy":
            return PopulationLaw(
                lambda u: np.tan(np.pi * (u - 0.5)),
                lambda x: 1 / (math.pi * (1 + x * x)),
                lambda x: 0.5 + math.atan(x) / math.pi,
                None,
            )
        case "gap":
            return PopulationLaw(
                lambda u: np.where(u < 0.5, 2 * u - 2, 2 * u),
                lambda x: 0.5 if 1 < abs(x) < 2 else 0.0,
                lambda x: 0.5 * (1 + math.copysign(min(max(abs(x) - 1, 0.0), 1.0), x)),
                0.0,
            )
        case _:
            assert_never(shape)


def _phi(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@door
def influence_function(estimator: Estimator, shape: Population) -> Callable[[float], float]:
    """IF(x): how fast the estimate of a population moves when a share of it is put at x (003 Definition 2).

    For the slope x is the error of a row with z = 1.

    Raises
    ------
    PublicParameterError
        Where the population has no such estimate: the mean of a Cauchy law.
    """
    held = law(shape)
    match estimator:
        case "mean":
            if (mean := held.mean) is None:
                raise PublicParameterError("a Cauchy law has no mean")
            return lambda x: x - mean
        case "median":
            rate = _inverse(2 * held.density(middle := held.quantile(0.5)))
            return lambda x: math.copysign(rate, x - middle)
        case "trimmed mean":
            low, high, winsorised = _trimmed(held)
            return lambda x: (min(max(x, low), high) - winsorised) / (1 - ALPHA)
        case "iqr":
            ends = [(q, held.quantile(q)) for q in (0.25, 0.75)]
            rates = [_inverse(held.density(end)) for _, end in ends]
            return lambda x: math.fsum(
                sign * (q - (x <= end)) * rate for sign, (q, end), rate in zip((-1, 1), ends, rates, strict=True)
            )
        case "huber":
            centre, inside = _huber(held)
            return lambda x: min(max(x - centre, -HUBER), HUBER) / inside
        case "slope":
            _, of_slope = _regression(held)
            return lambda x: math.copysign(of_slope / math.sqrt(2), x)
        case _:
            assert_never(estimator)


@door
def gross_error_sensitivity(estimator: Estimator, shape: Population) -> float:
    """sup |IF(x)| over all x; infinite for a mean, and for a median at which there is no density.

    For the slope over all rows (z, y): the influence of a row on b is at most 1 / (2 f(0) E[z^2 / ||(1, z)||]).
    """
    held = law(shape)
    match estimator:
        case "mean":
            return math.inf
        case "trimmed mean":
            low, high, winsorised = _trimmed(held)
            return max(winsorised - low, high - winsorised) / (1 - ALPHA)
        case "huber":
            return HUBER / _huber(held)[1]
        case "slope":
            return _regression(held)[1]
        case "median" | "iqr":
            found = influence_function(estimator, shape)
            return max(abs(found(held.quantile(u))) for u in (0.1, 0.4, 0.6, 0.9))
        case _:
            assert_never(estimator)


def _inverse(x: float) -> float:
    return 1 / x if x else math.inf


def _trimmed(held: PopulationLaw) -> tuple[float, float, float]:
    """The trimming points, and the winsorised mean."""
    levels = (np.arange(20_000) + 0.5) / 20_000 * (1 - ALPHA) + ALPHA / 2
    low, high = held.quantile(ALPHA / 2), held.quantile(1 - ALPHA / 2)
    kept = float(held.quantiles(levels).mean())
    return low, high, (1 - ALPHA) * kept + ALPHA / 2 * (low + high)


def _huber(held: PopulationLaw) -> tuple[float, float]:
    """The centre, and the share of the population that is within k of it."""
    grid = held.quantiles((np.arange(20_000) + 0.5) / 20_000)
    centre = _root(lambda t: float(np.clip(grid - t, -HUBER, HUBER).sum()), grid[0], grid[-1])
    return centre, held.below(centre + HUBER) - held.below(centre - HUBER)


def _regression(held: PopulationLaw) -> tuple[float, float]:
    """1 / (2 f(0) E[c / ||(1, z)||]) for c = 1 and c = z^2, z normal: the inverse of a diagonal matrix.

    The estimating equation is E[sign(y - a - b z) (1, z) / ||(1, z)||] = 0; its derivative in (a, b) is
    -2 f(0) E[(1, z) (1, z)^T / ||(1, z)||], so IF = that inverse times sign(error) (1, z) / ||(1, z)||.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    norm, total = np.sqrt(1 + nodes**2), weights.sum()
    first, second = (float((weights * part / norm).sum() / total) for part in (np.ones_like(nodes), nodes**2))
    rate = 2 * held.density(held.quantile(0.5))
    return _inverse(rate * first), _inverse(rate * second)
