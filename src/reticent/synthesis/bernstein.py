"""The Bernstein mechanism: a function at the points of a lattice plus noise, and a polynomial through none of them.

    values F(p), p in {0, 1/k, ..., 1}^d --integer noise--> noisy values v --polynomial--> 1 - (1 - B)^i applied to v

B v(x) = sum_p v_p prod_a binomial(k, k p_a) x_a^(k p_a) (1 - x_a)^(k - k p_a); repeating it i times takes off bias and
multiplies noise by at most 2^i - 1. The polynomial is computed from released numbers alone.

``Bernstein`` releases a density: F is a kernel estimate, a sum over rows. Its change between neighbours is a row of a
public table of integers, and the L1 sensitivity is exact. ``Lattice`` is the hook for any function of the data with a
stated sensitivity, such as the decision function of a classifier: pass its values on the lattice. It draws and keeps no
ledger; ``learning.FunctionClassifier`` charges one, and ``learning.BernsteinClassifier`` knows a better sensitivity.

Source: Alda and Rubinstein 2017; 002 section 6.4. Proof: docs/proofs/densities.md, section 4.

Deviations. The source multiplies the greatest change at one point by the (k + 1)^d points. A kernel estimate changes
near the row only, and the sum of its changes is several times less. The generic product is used where nothing but the
greatest change is known. The ends of the lattice are released at half their value and doubled again: reflecting ends
fold the kernel there. Noise is discrete, on a public grid. At most four columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, assert_never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import Outcome
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import exact, positive, show
from reticent.privacy.sensitivity import L1, Linf
from reticent.synthesis.axis import Axis
from reticent.synthesis.density import Density
from reticent.synthesis.linear import DensityAccuracy, LinearDensity, Settle, shares_of
from reticent.synthesis.linear_queries import UNIT, DensityTerms, Floats, Integers, LinearSums

MOST_AXES: Final = 4
MOST_POINTS: Final = 4096  # of a lattice
MOST_DEGREE: Final = 128
MOST_ITERATIONS: Final = 16
MOST_NORM: Final = 1024  # points for which the amplification is computed and not bounded
MOST_ENTRIES: Final = 1 << 23  # cells times lattice points of a density
SPARE: Final = 4  # binary places a kernel may rise above one before its table is made coarser
NARROWEST: Final = 8  # bandwidths between two points of the lattice: more, and a record between them is not seen
STEPS: Final = 1 << 16  # of a stated sensitivity, by default


@dataclass(frozen=True, eq=False, repr=False)
class Bernstein:
    """A kernel density estimate by the Bernstein mechanism.

    Parameters
    ----------
    axes : sequence of Axis
        One to four columns with public bounds.
    terms : Terms
    epsilon, delta : Fraction
        Geometric noise at delta = 0, as in the source; discrete Gaussian noise above.
    degree : int
        k >= 1, public: the lattice has (k + 1)^d points, at most 4,096. ``degree_for`` names one.
    bandwidth : Fraction
        h in shares of the range, in (0, 1/2], public. The kernel is Gaussian and reflected at the ends.
    iterations : int
        1 to 16; noise is multiplied by at most 2^iterations - 1.

    Guarantee
    ---------
    epsilon, pure, or (epsilon, delta); of ``linear_queries.LinearSums``.

    Accuracy
    --------
    If the number of records is private, it follows by the trapezoid rule, off by a share of at most about 2 e^(-2 (pi h
    k)^2) besides its noise. The density is divided by the integral of its polynomial.

    Source
    ------
    Alda and Rubinstein 2017, Algorithm 1; 002 section 6.4.
    """

    axes: tuple[Axis, ...]
    terms: DensityTerms
    epsilon: Fraction
    degree: int
    bandwidth: Fraction
    iterations: int = 4
    delta: Fraction = Fraction(0)
    settle: Settle = "simplex"

    def __post_init__(self) -> None:
        checked(self.degree, len(self.axes), self.iterations)
        if positive(self.bandwidth, "bandwidth") > Fraction(1, 2):
            raise PublicParameterError(
                f"bandwidth is a share of the range, above 0 and at most 1/2, got {show(self.bandwidth)}"
            )
        if self.bandwidth * self.degree * NARROWEST < 1:
            raise PublicParameterError(
                f"bandwidth {show(self.bandwidth)} is too narrow for a lattice of degree {self.degree}: no point of it "
                f"would see what lies between two. At least {show(Fraction(1, NARROWEST * self.degree))}, or a higher "
                "degree"
            )
        cells = math.prod(one.cells for one in self.axes)
        if cells * (self.degree + 1) ** len(self.axes) > MOST_ENTRIES:
            raise PublicParameterError(
                f"{cells:,} cells and {(self.degree + 1) ** len(self.axes):,} points of the lattice are too many: "
                "ask for a lower degree"
            )

    @cached_property
    def kernel(self) -> Floats:
        """F of one record in each cell, at the lattice, with the ends at half weight: shape (cells, points)."""
        found: Floats = np.ones((1, 1))
        for one in self.axes:
            places = np.arange(self.degree + 1) / self.degree
            found = _crossed(found, reflected(_middles(one), places, float(self.bandwidth)) * self._ends)
        return found

    @property
    def unit(self) -> float:
        """Integer that represents 1 in the table: 2^16, or less if the kernel is high."""
        return UNIT / 2.0 ** max(0, math.ceil(math.log2(self.kernel.max())) - SPARE)

    @cached_property
    def plan(self) -> LinearDensity:
        table = np.rint(self.unit * self.kernel).astype(np.int64)
        sums = LinearSums(table, self.terms, self.epsilon, self.delta)
        name = f"Bernstein mechanism of degree {self.degree}"
        return LinearDensity(self.axes, sums, self._back, False, name, self.settle, self._counting(table))

    def _counting(self, table: Integers) -> Floats | None:
        """The trapezoid rule, by which the kernels of a record add up to 1 but for 2 e^(-2 (pi h k)^2) (section 4).

        None where the number is public, or points are so far apart that the polynomial's own integral is no worse.
        """
        if self.terms.size is not None:
            return None
        points = table.shape[1]
        even: Floats = np.full(points, 1.0 / (self.unit * self.degree ** len(self.axes)))
        own = shares_of(self.axes) @ self._back
        off, plain = (float(np.abs(table @ weights - 1.0).max()) for weights in (even, own))
        return even if off < plain else None

    @cached_property
    def _back(self) -> Floats:
        """The iterated polynomial at the middles of cells, of sums on the lattice: shape (cells, points).

        sum_(j < i) (1 - B)^j = sum_(m < i) (-1)^m binomial(i, m + 1) B^m, and a power of B is a product over columns.
        """
        smooth = basis(self.degree, np.arange(self.degree + 1) / self.degree)
        powers = [np.linalg.matrix_power(smooth, turn) / self._ends for turn in range(self.iterations)]
        *before, last = (np.stack([basis(self.degree, _middles(one)) @ power for power in powers]) for one in self.axes)
        found = np.array([(-1.0) ** m * math.comb(self.iterations, m + 1) for m in range(self.iterations)])
        whole: Floats = found[:, None, None] / self.unit
        for along in before:
            both = np.einsum("mab,mcd->macbd", whole, along)
            whole = both.reshape(len(both), both.shape[1] * both.shape[2], -1)
        summed = np.tensordot(whole, last, axes=(0, 0)).swapaxes(1, 2)
        return np.asarray(summed.reshape(summed.shape[0] * summed.shape[1], -1), np.float64)

    @property
    def _ends(self) -> Floats:
        found = np.ones(self.degree + 1)
        found[[0, -1]] = 0.5
        return found

    @property
    def generic(self) -> int:
        """The sensitivity by the source's constant: points of the lattice times the greatest change at one of them."""
        table, swap = self.plan.sums.table, self.terms.neighbours.kind == "substitute"
        low, high = table.min(axis=0), table.max(axis=0)
        if not self.terms.fixed:
            low, high = np.minimum(low, 0), np.maximum(high, 0)
        most = (high - low).max() if swap else np.abs(table).max()
        return int(self.terms.rows * table.shape[1] * most)

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Polynomial:
    """A released function on [0, 1]^d: the iterated Bernstein polynomial of noisy values.

    Attributes
    ----------
    values : array, shape (k + 1,) * d
        As released, on the lattice.
    guarantee : Guarantee
    radius : float
        The noise stays within this half-width at every point of [0, 1]^d together, at 95 %.
    iterations : int
    """

    values: Floats
    guarantee: Guarantee
    radius: float
    iterations: int

    def at(self, points: ArrayLike) -> Floats:
        """The function at points of [0, 1]^d, shape (p, d), or (p,) for d = 1; outside it is refused."""
        dimension, degree = self.values.ndim, self.values.shape[0] - 1
        given = np.asarray(points, np.float64)
        table = given.reshape(-1, 1) if dimension == 1 else np.atleast_2d(given)
        if table.ndim != 2 or table.shape[1] != dimension:
            raise PublicParameterError(f"points have shape (p, {dimension}), got {given.shape}")
        if not np.all((table >= 0) & (table <= 1)):
            raise PublicParameterError("a Bernstein polynomial is of points between 0 and 1")
        found = np.broadcast_to(iterated(self.values[None], self.iterations)[0], (len(table), *self.values.shape))
        for place in range(dimension):
            found = np.einsum("pi,pi...->p...", basis(degree, table[:, place]), found)
        return np.asarray(found, np.float64)


@dataclass(frozen=True, slots=True)
class Lattice:
    """The mechanism for any function of the data on [0, 1]^d, from its values on the lattice.

    Parameters
    ----------
    degree, dimension : int
        The values have shape (degree + 1,) * dimension.
    sensitivity : L1 or Linf
        Of the values on the lattice: the sum of their changes between neighbours (``L1``), or the greatest of them
        (``Linf``), which the number of points then multiplies.
    epsilon : Fraction
    iterations : int
    step : Fraction or None
        The public grid the values are put on: 2^-16 of the sensitivity at one point by default.

    Guarantee
    ---------
    epsilon, pure, by ``mechanisms.Geometric``, if the stated sensitivity holds for the values as they are passed in: a
    solver that stops early, or sums in another order, must have been allowed for.
    """

    degree: int
    dimension: int
    sensitivity: L1 | Linf
    epsilon: Fraction
    iterations: int = 1
    step: Fraction | None = None

    def __post_init__(self) -> None:
        checked(self.degree, self.dimension, self.iterations)
        positive(self.epsilon, "epsilon")
        if not isinstance(self.sensitivity, L1 | Linf):
            raise PublicParameterError(
                "sensitivity is L1(bound, neighbours) or Linf(bound, neighbours), of the values on the lattice, "
                f"got {type(self.sensitivity).__name__}"
            )
        if self.step is not None:
            positive(self.step, "step")

    @property
    def points(self) -> int:
        return int((self.degree + 1) ** self.dimension)

    @property
    def grid(self) -> Fraction:
        """The distance of two values that can be told apart."""
        return self.sensitivity.bound / STEPS if self.step is None else self.step

    @property
    def mechanism(self) -> Geometric:
        """Rounding moves a difference of D steps to one of at most ceil(D), at each point by itself."""
        match self.sensitivity:
            case Linf(bound, neighbours):
                moved = self.points * math.ceil(bound / self.grid)
            case L1(bound, neighbours):
                moved = math.floor(bound / self.grid) + self.points
            case _:
                assert_never(self.sensitivity)
        return Geometric(L1(Fraction(moved), neighbours), self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    @property
    def noise(self) -> float:
        """Half-width of the noise of all values on the lattice together, at 95 %."""
        return self.mechanism.radius(0.05, self.points) * float(self.grid)

    @property
    def radius(self) -> float:
        """Half-width of the noise at all points of [0, 1]^d together, at 95 %, iterations allowed for."""
        return amplified(self.degree, self.dimension, self.iterations) * self.noise

    def draw(self, values: ArrayLike, entropy: Entropy) -> Polynomial:
        """The polynomial of ``values``, shape (degree + 1,) * dimension; doubles are taken as the numbers they are."""
        shape = (self.degree + 1,) * self.dimension
        found = np.asarray(values)
        if found.shape != shape:
            raise PublicParameterError(f"values on the lattice have shape {shape}, got {found.shape}")
        half = Fraction(1, 2)
        steps = [math.floor(_rational(value) / self.grid + half) for value in found.ravel().tolist()]
        drawn = gate.draw(self.mechanism, steps, entropy)
        noisy = np.array([float(value * self.grid) for value in drawn]).reshape(shape)
        return Polynomial(noisy, self.guarantee, self.radius, self.iterations)


def release_function(
    values: ArrayLike, *, sensitivity: L1 | Linf, epsilon: Fraction, entropy: Entropy, iterations: int = 1
) -> Polynomial:
    """``Lattice`` for values of shape (k + 1,) * d: the shape is public, the values are not.

    Parameters
    ----------
    values : array of shape (k + 1,) * d
        Private values on the lattice.
    sensitivity : L1 or Linf
        Of all values together, or of each.
    epsilon : Fraction
    entropy : Entropy
    iterations : int
        Of the Bernstein operator.

    Returns
    -------
    Polynomial

    Raises
    ------
    PublicParameterError
        A lattice with different numbers of points along its axes.
    """
    shape = np.asarray(values).shape
    if not shape or len(set(shape)) != 1:
        raise PublicParameterError(f"values on a lattice have the same number of points each way, got {shape}")
    return Lattice(shape[0] - 1, len(shape), sensitivity, epsilon, iterations).draw(values, entropy)


def lattice(degree: int, dimension: int) -> Floats:
    """The points of the lattice in row-major order: shape ((degree + 1)^dimension, dimension)."""
    checked(degree, dimension, 1)
    sides = [np.arange(degree + 1) / degree] * dimension
    return np.stack([side.ravel() for side in np.meshgrid(*sides, indexing="ij")], axis=1)


def degree_for(people: int, columns: int = 1, cells: int = 1) -> int:
    """A public degree of the usual order: people^(1/3) for one column, within what lattice and table can hold.

    Parameters
    ----------
    people : int
        Public number of records.
    columns, cells : int
        Number of columns, and of cells along each.

    Returns
    -------
    int
    """
    room = min(MOST_POINTS, MOST_ENTRIES // cells)
    most = min(MOST_DEGREE, math.floor(math.pow(room, 1.0 / columns) + 1e-9) - 1)
    return max(1, min(round(math.cbrt(people)), most))


def basis(degree: int, points: Floats) -> Floats:
    """Bernstein polynomials 0..degree at points of [0, 1]: shape (points, degree + 1)."""
    found = np.ones((len(points), 1))
    for _ in range(degree):  # de Casteljau's recursion: sums of products of numbers in [0, 1], nothing cancels
        wider = np.zeros((len(points), found.shape[1] + 1))
        wider[:, :-1] += found * (1.0 - points)[:, None]
        wider[:, 1:] += found * points[:, None]
        found = wider
    return found


def iterated(values: NDArray[np.float64], iterations: int) -> Floats:
    """sum_(j < iterations) (1 - B)^j of values on the lattice, along all axes but the first."""
    degree = values.shape[1] - 1
    matrix = basis(degree, np.arange(degree + 1) / degree)
    rest, total = np.asarray(values, np.float64), np.array(values, np.float64)
    for _ in range(iterations - 1):
        smooth = rest
        for place in range(1, values.ndim):
            smooth = np.moveaxis(np.tensordot(smooth, matrix, axes=(place, 1)), -1, place)
        rest = rest - smooth
        total = total + rest
    return total


def amplified(degree: int, dimension: int, iterations: int) -> float:
    """The most a polynomial exceeds values that are at most 1 in size: at most 2^iterations - 1.

    Parameters
    ----------
    degree, dimension, iterations : int

    Returns
    -------
    float
    """
    points = (degree + 1) ** dimension
    if iterations == 1 or points > MOST_NORM:
        return float(2**iterations - 1)
    values = np.eye(points).reshape(-1, *[degree + 1] * dimension)
    return float(np.abs(iterated(values, iterations)).reshape(points, -1).sum(axis=0).max())


def reflected(rows: Floats, points: Floats, bandwidth: float) -> Floats:
    """The Gaussian kernel of [0, 1] with reflecting ends: shape (rows, points).

    Parameters
    ----------
    rows : array of shape (n,), float
        Values in [0, 1].
    points : array of shape (m,), float
        Places in [0, 1].
    bandwidth : float

    Returns
    -------
    array of shape (n, m), float
    """
    gap = np.subtract.outer(rows, points)
    both = np.add.outer(rows, points)
    images = [part + 2.0 * turn for turn in (-1, 0, 1) for part in (gap, both)]
    with np.errstate(under="ignore"):  # far from its middle a kernel is 0, whatever the caller asked to be told
        kernel = sum((np.exp(-((part / bandwidth) ** 2) / 2.0) for part in images), np.zeros_like(gap))
    return np.asarray(kernel / (bandwidth * math.sqrt(2.0 * math.pi)), np.float64)


def checked(degree: int, dimension: int, iterations: int) -> None:
    """Refuse a lattice that cannot be released.

    Parameters
    ----------
    degree, dimension, iterations : int

    Raises
    ------
    PublicParameterError
        For a lattice that is too large.
    """
    if not 1 <= dimension <= MOST_AXES:
        raise PublicParameterError(
            f"the Bernstein mechanism is for 1 to {MOST_AXES} columns, got {dimension}: its lattice grows as (k + 1)^d"
        )
    for name, number in (("degree", degree), ("iterations", iterations)):
        if isinstance(number, bool) or not isinstance(number, int):
            raise PublicParameterError(f"{name} must be a whole number >= 1, got {number!r}")
    if not 1 <= degree <= MOST_DEGREE or (degree + 1) ** dimension > MOST_POINTS:
        raise PublicParameterError(
            f"degree {degree} in {dimension} columns: it must be 1 to {MOST_DEGREE}, with at most {MOST_POINTS:,} "
            "points of the lattice"
        )
    if not 1 <= iterations <= MOST_ITERATIONS:
        raise PublicParameterError(f"iterations must be 1 to {MOST_ITERATIONS}, got {iterations}")


def _middles(one: Axis) -> Floats:
    return np.asarray((one.steps[:-1] + one.steps[1:]) / (2.0 * one.steps[-1]), np.float64)


def _crossed(left: Floats, right: Floats) -> Floats:
    return np.asarray(np.kron(left, right), np.float64)


def _rational(value: object) -> Fraction:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise PublicParameterError("values on the lattice are finite")
        return Fraction(value)
    if isinstance(value, int | Fraction):
        return exact(value, "a value")
    raise PublicParameterError(f"values on the lattice are numbers, got {type(value).__name__}")
