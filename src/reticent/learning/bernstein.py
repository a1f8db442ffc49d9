"""Classifiers by the Bernstein mechanism: a decision function on a lattice plus noise, a polynomial, a threshold.

    BernsteinClassifier    F(y) = sum over rows of +-K((y - x_i) / h): kernel sums of the classes, one less the other
    FunctionClassifier     F by a program of the caller's, who states how far a neighbour moves it

    row --its cell of a public grid--> K at the lattice, a row of a public table of integers --sum--> F, exact
    F at {0, 1/k, ..., 1}^d --integer noise--> v --1 - (1 - B)^i applied to v--> a polynomial --sign--> a class

A row is of one class, so it moves one kernel's worth of one function. Tables are scaled so that a row adds at most
2^16 (2^32 in more than one column), in the sum of sizes or in Euclidean length: the sums of its integers say so, and
the noise is the same whatever degree and bandwidth. Missing values and other labels add nothing.

Source: Alda and Rubinstein 2017; 002 section 6.4. Proof: docs/proofs/densities.md, section 4.

Deviations. The source multiplies the greatest change at one point by the (k + 1)^d points. Here the sum of the changes
counts, which is 6 to 600 times less. Rows are read on a public grid, at the middles of its cells. Noise is discrete.
``FunctionClassifier`` knows nothing but the greatest change, and pays the source's product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.learning.classifiers import Classifier, indices
from reticent.learning.fit.estimator import Work
from reticent.learning.fit.fit_release import Circumstances, price_of
from reticent.mechanisms import gate
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import compose
from reticent.privacy.numbers import Number, read, show
from reticent.privacy.sensitivity import Linf
from reticent.statistics.price import Noise, Price
from reticent.statistics.scaling import Bound, Floats, Integers, refuse_too_many
from reticent.synthesis.bernstein import MOST_AXES, MOST_DEGREE, MOST_POINTS, Lattice, Polynomial, amplified, checked
from reticent.synthesis.bernstein import lattice as points_of

HALF: Final = 1 << 16  # what a row of a table adds up to, at most
CELLS: Final = (1024, 64)  # of a column, where a table is of one column or of two
COUNT: Final = Fraction(1, 20)  # of the price, for a number of rows that is private and was not declared
BLOCK: Final = 1 << 16  # rows summed at once: 2^16 products of two numbers up to 2^16 stay below 2^53
ASSUMED: Final = 10_000
LARGEST: Final = 1e100
AT_A_TIME: Final = 2048  # rows a polynomial is evaluated for at once

Function: TypeAlias = Callable[[Floats], Floats]
Train: TypeAlias = Callable[[Floats, Floats], Function]


@dataclass(frozen=True)
class Surface:
    """Noisy kernel sums on a lattice over columns with ``bounds``.

    Parameters
    ----------
    bounds : tuple of (low, high)
        One to four columns, low < high.
    price : Price
    share : Fraction
        Of the price.
    classes : int
        Two: one function, the second class's sums less the first's. More: one function for each.
    degree : int
        k >= 1, at most 4,096 points (k + 1)^d.
    bandwidth : Fraction
        h in shares of the range, in (0, 1].

    Guarantee
    ---------
    The share of the price: a row adds at most ``reach`` to the sums, which are integers; docs/proofs/densities.md,
    section 4.
    """

    bounds: tuple[Bound, ...]
    price: Price
    share: Fraction
    classes: int
    degree: int
    bandwidth: Fraction

    def __post_init__(self) -> None:
        checked(self.degree, len(self.bounds), 1)
        if any(not low < high for low, high in self.bounds):
            raise PublicParameterError("every column needs public bounds low < high")
        if not 0 < self.bandwidth <= 1:
            raise PublicParameterError(
                f"bandwidth is a share of the range, above 0 and at most 1, got {self.bandwidth}"
            )

    @property
    def outputs(self) -> int:
        """Number of functions."""
        return 1 if self.classes == 2 else self.classes

    @property
    def halves(self) -> tuple[int, int]:
        """Number of columns of each of the two tables."""
        return len(self.bounds) // 2, len(self.bounds) - len(self.bounds) // 2

    @cached_property
    def tables(self) -> tuple[Integers, Integers]:
        """Kernels of the first columns and of the others, shape (cells, points of their lattice)."""
        first, second = (self._table(columns) for columns in self.halves)
        return first, second

    @np.errstate(under="ignore")  # far from its middle a kernel is 0
    def _table(self, columns: int) -> Integers:
        if not columns:
            return np.ones((1, 1), np.int64)
        cells = CELLS[columns - 1]
        away = np.subtract.outer((np.arange(cells) + 0.5) / cells, np.arange(self.degree + 1) / self.degree)
        one = np.exp(-((away / float(self.bandwidth)) ** 2) / 2.0)
        kernel = one if columns == 1 else np.kron(one, one)
        size = kernel.sum(axis=1) if self.price.norm == "l1" else np.sqrt((kernel**2).sum(axis=1))
        table = np.floor(kernel * (HALF / size.max())).astype(np.int64)
        table[_sizes(table, self.price) > _most(self.price)] = 0  # whatever rounding did: the integers decide
        return np.asarray(table)

    @property
    def reach(self) -> int:
        """The most one row adds: a sum of sizes where the price is pure, a sum of squares else."""
        return math.prod(_most(self.price) for columns in self.halves if columns)

    @cached_property
    def noise(self) -> Noise:
        """Noise of every value on the lattice."""
        row = Fraction(self.reach)
        if self.price.norm == "l2" and self.outputs > 1 and self.price.neighbours.kind == "substitute":
            row /= 2  # what leaves and what enters are not negative: their squares add up, and there is no cross term
        return self.price.noise(row, self.share)

    @property
    def generic(self) -> int:
        """The pure sensitivity of two classes by the source's constant: points times the greatest change at one."""
        greatest = math.prod(int(table.max()) for table in self.tables)
        return int(self.price.moves * (self.degree + 1) ** len(self.bounds) * greatest)

    @property
    def unit(self) -> float:
        """Value of the kernel at its peak, in steps."""
        return float(math.prod(int(table.max()) for table in self.tables))

    @property
    def radius(self) -> float:
        """Half-width of the noise at all points of all lattices together, at 95 %, in rows."""
        points = self.outputs * (self.degree + 1) ** len(self.bounds)
        match self.noise:
            case Geometric() as noise:
                return noise.radius(0.05, points) / self.unit
            case Gaussian() as noise:  # P(|Z| > t) <= 2 exp(-t^2 / (2 variance)): Canonne, Kamath and Steinke 2020
                return math.sqrt(2.0 * float(noise.variance) * math.log(2 * points / 0.05)) / self.unit
            case _:
                assert_never(self.noise)

    def draw(self, values: Floats, places: Floats, entropy: Entropy) -> Floats:
        """Noisy sums of shape (functions, k + 1, ..., k + 1), in rows, from rows and the places of their classes.

        Parameters
        ----------
        values : array of shape (n, columns), float
            Features, scaled to the bounds.
        places : array of shape (n,)
            Place of each row's class.
        entropy : Entropy

        Returns
        -------
        array of shape (functions, k + 1, ..., k + 1), float
        """
        exact = self.sums(values, places)
        drawn = gate.draw(self.noise, exact.ravel().tolist(), entropy)
        side = (self.degree + 1,) * len(self.bounds)
        return np.array([float(value) for value in drawn]).reshape(self.outputs, *side) / self.unit

    def sums(self, values: Floats, places: Floats) -> Integers:
        """The exact sums, of shape (functions, points of the first columns, points of the others)."""
        refuse_too_many(len(values))
        there = np.asarray(np.isfinite(values).all(axis=1) & np.isfinite(places), np.bool_)
        left, right = self._cells(values[there])
        of = places[there].astype(np.int64)
        first, second = (table.astype(np.float64) for table in self.tables)
        found = np.zeros((self.outputs, first.shape[1], second.shape[1]), np.int64)
        for start in range(0, len(of), BLOCK):
            part = slice(start, start + BLOCK)
            for output in range(self.outputs):
                sign = 2.0 * of[part] - 1.0 if self.outputs == 1 else (of[part] == output).astype(np.float64)
                # Whole numbers below 2^53, and so is every partial sum: exact in any order of addition.
                found[output] += ((first[left[part]] * sign[:, None]).T @ second[right[part]]).astype(np.int64)
        return found

    def _cells(self, rows: Floats) -> tuple[Integers, Integers]:
        """The row of either table that each of ``rows`` stands for."""
        found, place = [], 0
        for columns in self.halves:
            cells = CELLS[max(columns, 1) - 1]
            index = np.zeros(len(rows), np.int64)
            for _ in range(columns):
                low, high = (float(end) for end in self.bounds[place])
                share = (np.clip(rows[:, place], low, high) - low) / (high - low)
                index = index * cells + np.clip(np.floor(share * cells), 0, cells - 1).astype(np.int64)
                place += 1
            found.append(index)
        return found[0], found[1]


def _sizes(table: Integers, price: Price) -> Integers:
    """Contribution of every row of a table: sums of sizes, or of squares."""
    return np.asarray(table.sum(axis=1) if price.norm == "l1" else (table * table).sum(axis=1))


def _most(price: Price) -> int:
    """Greatest contribution of a row of one table."""
    return HALF if price.norm == "l1" else HALF * HALF


# --- public rules -----------------------------------------------------------------------------------------------------


def degree_of(rows: float, epsilon: float, columns: int) -> int:
    """The degree for so many rows and so much epsilon a row, within what a lattice can hold.

    Measured on ten laws of two classes in one to three columns, 30 to 30,000 rows times epsilon: the power is that of
    the least regret.

    Parameters
    ----------
    rows : float
        Number of rows.
    epsilon : float
    columns : int

    Returns
    -------
    int
    """
    most = min(MOST_DEGREE, math.floor(math.pow(MOST_POINTS, 1.0 / columns) + 1e-9) - 1)
    return max(2, min(round(math.pow(max(rows * epsilon, 1.0), 1.0 / (columns + 1))), most))


def bandwidth_of(degree: int) -> Fraction:
    """The bandwidth for a degree, in shares of the range: a little less than the distance of two points."""
    return Fraction(max(20, round(400 * math.pow(degree, -0.75))), 1000)


# --- estimators -------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class Polynomials(Classifier):
    """Polynomials on the box of the bounds, and the label they give a point: the base of both classifiers.

    Parameters
    ----------
    iterations : int
        1 to 16; more take off bias and multiply noise by at most 2^iterations - 1.
    """

    iterations: int = 4

    def _of_row(self, columns: int, y: object) -> tuple[float, int]:
        return 6e-6, 0

    def decision_function(self, X: object) -> Floats:
        """Scores of shape (n,) for two classes and (n, classes) for more; beyond the bounds as at the nearer bound."""
        return self._scores(self._rows(X))

    def _scores(self, rows: Floats) -> Floats:
        low, high = self._box
        inside = (np.clip(rows, low, high) - low) / (high - low)
        parts = [inside[start : start + AT_A_TIME] for start in range(0, max(1, len(inside)), AT_A_TIME)]
        found = np.column_stack([np.concatenate([one.at(part) for part in parts]) for one in self.polynomials_])
        return np.asarray(found[:, 0] if found.shape[1] == 1 else found)

    def _labelled(self, rows: Floats) -> NDArray[np.generic]:
        scores = self._scores(rows)
        return np.asarray(self.classes_[(scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)])

    def _keep(self, here: Circumstances, labels: NDArray[np.generic], found: tuple[Polynomial, ...]) -> None:
        low, high = np.array(here.bounds, np.float64).T
        self.polynomials_, self.classes_, self._box = found, labels, (low, high)

    def _columns(self, here: Circumstances) -> int:
        columns = len(here.bounds)
        if columns > MOST_AXES:
            raise QuestionError(
                f"{type(self).__name__} is for at most {MOST_AXES} columns, got {columns}: a lattice of degree 7 would "
                f"have 8^{columns} = {8**columns:,} points, each with its noise. Nothing was charged."
            )
        return columns


@dataclass(kw_only=True, eq=False, repr=False)
class BernsteinClassifier(Polynomials):
    """Kernel sums of the classes on a lattice, with noise, as Bernstein polynomials; the greatest sum is the label.

    For one to four columns whose classes are separated by no line.

    Parameters
    ----------
    degree : int, optional
        k >= 1: the lattice has (k + 1)^d points, at most 4,096. By default a rule of the number of rows (public, or
        bought for a twentieth of the price), their epsilon and the number of columns.
    bandwidth : number, optional
        Of the kernel, in shares of the range of every column, in (0, 1]; by default a rule of the degree.
    iterations : int

    Attributes
    ----------
    classes_ : array of shape (classes,)
    polynomials_ : tuple of Polynomial
        One for two classes, the second less the first; one for each of more. In rows, where the kernel is 1 at its
        peak; ``radius`` is the half-width of the noise at all points together.
    degree_, bandwidth_ : int, Fraction
    guarantee_ : Guarantee

    Guarantee
    ---------
    epsilon, pure, or (epsilon, delta): docs/proofs/densities.md, section 4.

    Source
    ------
    Alda and Rubinstein 2017, Algorithm 1 and section 5; 002 section 6.4.
    """

    degree: int | None = None
    bandwidth: Number | None = None

    def _work(self, here: Circumstances, y: object) -> Work:
        labels, columns = self._labels(y), self._columns(here)
        price = price_of(self.epsilon, self.delta, here)
        asked = None if self.bandwidth is None else read(self.bandwidth, "bandwidth")
        bought = here.people is None and self.degree is None
        share = 1 - COUNT if bought else Fraction(1)
        counting = price.noise(Fraction(1), COUNT) if bought else None
        each = float(price.epsilon * share) / price.moves

        def surface(rows: float) -> Surface:
            degree = degree_of(rows, each, columns) if self.degree is None else self.degree
            width = bandwidth_of(degree) if asked is None else asked
            return Surface(here.bounds, price, share, len(labels), degree, width)

        size = here.people if here.people is not None else ASSUMED
        checked(1 if self.degree is None else self.degree, columns, self.iterations)
        plan = surface(size)
        bought_first = [] if counting is None else [replace(counting.guarantee, label="number of rows")]
        sums = replace(plan.noise.guarantee, label="kernel sums on a lattice")
        guarantee = price.whole([*bought_first, sums], "kernel sums on a lattice")

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            places, made = indices(targets, labels), plan
            if counting is not None:
                there = np.isfinite(values).all(axis=1) & np.isfinite(places)
                (counted,) = gate.draw(counting, (int(there.sum()),), entropy)
                made = surface(max(1.0, float(counted)))
                if made.noise != plan.noise:  # tables are scaled to one sensitivity
                    raise PublicParameterError("the sums have other noise than is charged")
            noisy = made.draw(values, places, entropy)
            radius = amplified(made.degree, columns, self.iterations) * made.radius
            found = tuple(Polynomial(part, guarantee, radius, self.iterations) for part in noisy)
            self._keep(here, labels, found)
            self.degree_, self.bandwidth_ = made.degree, made.bandwidth

        return Work(guarantee, draw)


@dataclass(kw_only=True, eq=False, repr=False)
class FunctionClassifier(Polynomials):
    """A decision function of your own, released by the Bernstein mechanism at the stability YOU state.

    Nothing here can check ``stability``: the guarantee holds if and only if the claim does, and says so. The sign of
    the function is the label. For arrays that you hold: no program is handed the rows of a study.

    Parameters
    ----------
    train : callable
        ``train(rows, signs)`` is given the rows as shares of the range of their columns, shape (n, columns) in [0, 1].
        The signs are -1 or 1 for the first and the second class. It returns a function of points, shape (p, columns),
        to values of shape (p,). Rows with a missing value or another label are left out, so a neighbour may also lack a
        row. It is tried on made-up rows first, and refused where it fails there. Where it fails on yours, or returns
        anything but p finite numbers, its function is 0 everywhere: an error would be an answer too, and the claim is
        about that as well.
    stability : number
        The claim: between neighbours no value of the function at any point of [0, 1]^d moves by more. This holds for
        the numbers as they are computed, with rounding and a solver that stops early included. For the minimiser of a
        regularised risk ``stability_of_risk`` computes it.
    degree : int
        (degree + 1)^d points, at most 4,096; each more multiplies the noise.

    Attributes
    ----------
    classes_, guarantee_
    polynomials_ : tuple of one Polynomial

    Guarantee
    ---------
    epsilon, pure, if the claim holds: ``synthesis.bernstein.Lattice`` with ``Linf(stability)``. A delta is not spent.

    Source
    ------
    Alda and Rubinstein 2017, Theorem 1; 002 section 6.4.
    """

    train: Train | None = None
    stability: Number | None = None
    degree: int = 4

    def _work(self, here: Circumstances, y: object) -> Work:
        labels, columns = self._labels(y), self._columns(here)
        train, price = self.train, price_of(self.epsilon, 0, here)
        if here.shelf is not None:
            raise QuestionError(
                "A program of your own would be handed the rows of a study. Pass arrays that you may see, with "
                "study=… for its ledger. Nothing was charged."
            )
        if len(labels) != 2:
            raise QuestionError("a function's sign tells two classes apart, and no more. Nothing was charged.")
        if train is None or self.stability is None:
            raise PublicParameterError(
                "Name train=… and stability=…, the most a neighbour moves its function anywhere: no default is true."
            )
        claim = read(self.stability, "stability")
        if claim <= 0:
            raise PublicParameterError(f"stability must be > 0, got {show(claim)}")
        plan = Lattice(self.degree, columns, Linf(claim, price.neighbours), price.epsilon, self.iterations)
        made_up = points_of(1, columns)
        _values(train, made_up, np.where(np.arange(len(made_up)) % 2, 1.0, -1.0), plan)
        named = replace(plan.guarantee, label=f"a function of which the caller claims stability {show(claim)}")
        guarantee = compose.processed(named, label="a decision function")

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            places = indices(targets, labels)
            there = np.asarray(np.isfinite(values).all(axis=1) & np.isfinite(places), np.bool_)
            low, high = np.array(here.bounds, np.float64).T
            rows = (np.clip(values[there], low, high) - low) / (high - low)
            try:
                found = _values(train, rows, 2.0 * places[there] - 1.0, plan)
            except Exception:  # that it fails, and how, would tell of the rows
                found = np.zeros(plan.points)
            polynomial = plan.draw(found.reshape((self.degree + 1,) * columns), entropy)
            self._keep(here, labels, (replace(polynomial, guarantee=guarantee),))

        return Work(guarantee, draw)


def _values(train: Train, rows: Floats, signs: Floats, plan: Lattice) -> Floats:
    """The trained function at the lattice: finite, and cut to a size that changes no distance and fits a double.

    Raises
    ------
    QuestionError
        With what the program said: only where the rows are made up may it be heard.
    """
    try:
        found = np.asarray(train(rows, signs)(points_of(plan.degree, plan.dimension)), np.float64)
    except Exception as error:
        raise QuestionError(f"train fails on made-up rows: {error!r}. Nothing was charged.") from error
    if found.shape != (plan.points,) or not np.isfinite(found).all():
        raise QuestionError(
            f"train's function must give {plan.points} finite numbers for as many points, shape ({plan.points},). "
            "Nothing was charged."
        )
    return np.asarray(np.clip(found, -LARGEST, LARGEST))


def stability_of_risk(slope: Number, weight: Number, people: int, *, gradient: Number = 0) -> Fraction:
    """Stability of the minimiser f of mean loss(y f(x)) + weight / 2 |f|^2.

    It is the greatest change of f at any point by one replaced row.

    f = <theta, phi(.)> with kernel <phi(x), phi(x)> <= 1 and a convex loss; the mean is over a public number of rows.

    Parameters
    ----------
    slope : number
        The greatest slope of the loss, > 0: 1 for the hinge and the logistic loss.
    weight : number
        Of the square, > 0.
    people : int
        n >= 1, public.
    gradient : number
        The solver stops once the norm of the gradient is at most this, in exact numbers, >= 0.

    Returns
    -------
    Fraction
        2 slope / (n weight) + 2 gradient / weight. Docs/proofs/densities.md, section 4.

    Raises
    ------
    PublicParameterError
        For numbers outside these ranges.
    """
    steep, ridge, gap = read(slope, "slope"), read(weight, "weight"), read(gradient, "gradient")
    if steep <= 0 or ridge <= 0 or people < 1:
        raise PublicParameterError("slope and weight must be > 0, people >= 1 and gradient >= 0")
    return 2 * steep / (people * ridge) + 2 * gap / ridge


__all__ = ["BernsteinClassifier", "FunctionClassifier", "Surface", "stability_of_risk"]
