"""Noisy moments of bounded columns, class by class: Gaussian naive Bayes, scaling to unit variance, principal axes.

    count    rows of every class                                     1/5 of the price
    first    sums of the scaled columns, for every class             2/5
    second   sums of squares less a half, or the upper triangle      2/5

A row is in one class, so it adds to one class only. Squares are of distances from the noisy mean of the class, cut at
1. Less a half each adds at most a half, and the noisy count puts the halves back. Source: Vaidya et al. 2013 (naive
Bayes), Dwork et al. 2014 (principal axes). Deviations: integers, discrete noise, squares about a half and about the
noisy mean, so that the noise of a mean widens its class by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.learning.classifiers import Classifier, indices
from reticent.learning.fit.clipping import REST, ReachDescent
from reticent.learning.fit.estimator import Work
from reticent.learning.fit.fit_release import Circumstances, price_of
from reticent.learning.transformers import Transformer
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import rough
from reticent.statistics.context import ALWAYS, NEVER, ExpectedAccuracy
from reticent.statistics.intervals import FEW, too_few
from reticent.statistics.price import Noise, Price, deviation, noisy
from reticent.statistics.regression.sandwich import AT_95
from reticent.statistics.scaling import UNIT, Floats, Scaling, product, weighed

COUNT: Final = Fraction(1, 5)
FIRST: Final = Fraction(2, 5)
SECOND: Final = Fraction(2, 5)
NARROWEST: Final = 1e-4  # of a variance, in squared half-widths


@dataclass(frozen=True)
class ClassMoments:
    """Counts, sums and sums of squares of scaled columns for each of ``classes`` classes.

    Guarantee
    ---------
    Within the price: every row adds to one class, at most 1, the number of columns, and half of that.
    """

    scaling: Scaling
    price: Price
    classes: int = 1

    def __post_init__(self) -> None:
        if self.scaling.intercept or self.classes < 1:
            raise PublicParameterError("moments are of columns without a constant, for one class or more")

    @cached_property
    def noises(self) -> tuple[Noise, Noise, Noise]:
        """Noises of counts, first and second moments."""
        columns, price = self.scaling.width, self.price
        first = Fraction(columns * (UNIT**2 if price.norm == "l2" else UNIT))
        second = first / (4 if price.norm == "l2" else 2)
        return price.noise(Fraction(1), COUNT), price.noise(first, FIRST), price.noise(second, SECOND)

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.price.whole([noise.guarantee for noise in self.noises], "noisy moments")

    def expected(self, people: int) -> ExpectedAccuracy:
        """Half-widths at 95 % of the widest mean; of the widest deviation in the note, for usual columns.

        Means lie in the middle of their bounds, deviations are a sixth of the range, and all rows are of one class.
        """
        _, half = self.scaling.frame
        wide, spread = float(np.max(half)), 1.0 / 3.0
        if too_few(float(people), [deviation(self.noises[0]) / math.sqrt(2.0)]):
            return ExpectedAccuracy(None, None, FEW, NEVER)
        means, squares = (AT_95 * deviation(noise) / UNIT / people for noise in self.noises[1:])
        sampling = AT_95 * spread / math.sqrt(people)
        around = [math.sqrt(spread**2 + more) - spread for more in (squares, AT_95 * spread**2 * math.sqrt(2 / people))]
        told = " and ".join(
            f"± {rough(wide * more, 3)} {what}" for more, what in zip(around, ("noise", "sampling"), strict=True)
        )
        note = f"of the mean with the widest range; of its deviation {told}; for a deviation of 1/6 of the range"
        return ExpectedAccuracy(wide * means, wide * sampling, note, ALWAYS)

    def draw(self, values: Floats, places: Floats, entropy: Entropy) -> tuple[Floats, Floats, Floats]:
        """Noisy counts (classes,), means and mean squares about them (classes, columns), in half-widths.

        Parameters
        ----------
        values : array of shape (n, columns), float
            Features, in half-widths of their bounds.
        places : array of shape (n,)
            Place of each row's class.
        entropy : Entropy

        Returns
        -------
        three arrays of shape (classes,), (classes, columns) and (classes, columns)
        """
        there = np.asarray(np.isfinite(values).all(axis=1) & np.isfinite(places), np.bool_)
        rows = self.scaling.whole(values)
        member = np.zeros((len(rows), self.classes), np.int64)
        member[there, places[there].astype(np.int64)] = 1
        counting, first, second = self.noises
        told = noisy(counting, member.sum(axis=0), entropy)
        counts = np.maximum(told, 1.0)
        sums = noisy(first, product(member, rows), entropy) / UNIT
        means = np.clip(sums / counts[:, None], -1.0, 1.0)
        away = rows - member @ np.rint(means * UNIT).astype(np.int64)  # from the noisy mean of its class
        squares = np.where(there[:, None], np.minimum(away * away // UNIT, UNIT) - UNIT // 2, 0)
        of_squares = noisy(second, product(member, squares), entropy) / UNIT + counts[:, None] / 2
        blur = np.clip(deviation(second) / UNIT / counts[:, None], NARROWEST, 1.0)  # no variance is told finer
        return told, means, np.asarray(np.clip(of_squares / counts[:, None], blur, 1.0))


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(Classifier):
    """Gaussian naive Bayes from noisy counts, sums and sums of squares.

    Attributes
    ----------
    classes_, class_prior_ : arrays of shape (classes,)
    theta_, var_ : arrays of shape (classes, columns)
        Means, and mean squares about them.
    guarantee_ : Guarantee
    """

    _counts = True

    def _work(self, here: Circumstances, y: object) -> Work:
        labels = self._labels(y)
        scaling = Scaling(here.bounds, intercept=False)
        plan = ClassMoments(scaling, price_of(self.epsilon, self.delta, here), len(labels))

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            counts, means, variances = plan.draw(values, indices(targets, labels), entropy)
            self._lacking(float(counts.sum()), deviation(plan.noises[0]) * math.sqrt(len(labels)), here)
            middle, half = scaling.frame
            some = np.maximum(counts, 1.0)
            self.classes_, self.class_prior_ = labels, some / some.sum()
            self.theta_, self.var_ = middle + means * half, variances * half**2

        return Work(plan.guarantee, draw, counts=True)

    def _chances(self, rows: Floats) -> Floats:
        away = (rows[:, None, :] - self.theta_) ** 2 / self.var_ + np.log(2 * np.pi * self.var_)
        return np.asarray(np.log(self.class_prior_) - away.sum(axis=2) / 2)

    def _labelled(self, rows: Floats) -> NDArray[np.generic]:
        return np.asarray(self.classes_[self._chances(rows).argmax(axis=1)])

    @np.errstate(under="ignore")  # a class far behind has chance 0
    def predict_proba(self, X: object) -> Floats:
        """Chances of the classes, of shape (n, classes)."""
        joint = self._chances(self._rows(X))
        raised = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: object) -> Floats:
        """Logarithms of the chances."""
        return np.asarray(np.log(self.predict_proba(X)))


@dataclass(kw_only=True, eq=False, repr=False)
class StandardScaler(Transformer):
    """Columns less a noisy mean, divided by a noisy standard deviation.

    Attributes
    ----------
    mean_, var_, scale_ : arrays of shape (columns,)
    guarantee_ : Guarantee
    """

    _counts = True

    def _work(self, here: Circumstances, y: object) -> Work:
        scaling = Scaling(here.bounds, intercept=False)
        plan = ClassMoments(scaling, price_of(self.epsilon, self.delta, here))

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            (count,), means, variances = plan.draw(values, np.zeros(len(values)), entropy)
            self._lacking(float(count), deviation(plan.noises[0]), here)
            middle, half = scaling.frame
            self.mean_, self.var_ = middle + means[0] * half, variances[0] * half**2
            self.scale_ = np.sqrt(self.var_)

        return Work(plan.guarantee, draw, counts=True, expected=plan.expected)

    def _moved(self, rows: Floats) -> Floats:
        return np.asarray((rows - self.mean_) / self.scale_)

    def inverse_transform(self, X: object) -> Floats:
        """Back in units of the columns."""
        return np.asarray(self._rows(X) * self.scale_ + self.mean_)


@dataclass(frozen=True)
class PrincipalAxes:
    """Noisy products of rows about their noisy mean, cut to where most of them are.

    Guarantee
    ---------
    Within the price: a row within the reach adds at most its squared length to the upper triangle, in either norm.
    """

    scaling: Scaling
    price: Price
    people: int | None = None

    @cached_property
    def near(self) -> ReachDescent:
        return ReachDescent(self.scaling, self.price, self.people)

    def products(self, reach: int) -> Noise:
        """Noise of the upper triangle of products in UNIT steps, of rows within ``reach``."""
        divisor = UNIT if self.price.norm == "l1" else UNIT**2
        return self.price.noise(Fraction(max(1, reach**2 // divisor)), REST)  # of integers, hence an integer

    @cached_property
    def guarantee(self) -> Guarantee:
        """The choice of the reach is paid for; of the noises, one for each reach, one is drawn."""
        every = [self.products(reach).guarantee for reach in self.near.candidates.tolist()]
        drawn = compose.one_of(every, label="products within the reach chosen")
        return self.price.whole([*self.near.guarantees, drawn], "noisy second moments")

    def draw(self, values: Floats, entropy: Entropy) -> tuple[float, Floats, Floats]:
        """Noisy number of rows, mean and covariance, in half-widths."""
        seen, d = self.near.draw(values, entropy), self.scaling.width
        upper = np.triu_indices(d)
        parts = np.trunc(seen.rows[:, upper[0]] * seen.rows[:, upper[1]] / UNIT).astype(np.int64)
        inner = np.zeros((d, d))
        inner[upper] = noisy(self.products(seen.reach), parts.sum(axis=0), entropy) / UNIT / seen.n
        return seen.n, seen.mean, inner + np.triu(inner, 1).T


@dataclass(kw_only=True, eq=False, repr=False)
class PCA(Transformer):
    """Principal axes of columns divided by their half-widths, from a noisy covariance.

    Parameters
    ----------
    n_components : int, optional
        By default all.

    Attributes
    ----------
    mean_ : array of shape (columns,)
    components_ : array of shape (components, columns)
        Orthonormal, of the columns divided by their half-widths, ``half_``.
    explained_variance_, explained_variance_ratio_ : arrays of shape (components,)
    guarantee_ : Guarantee
    """

    n_components: int | None = field(default=None, kw_only=False)

    _counts = True

    def _of_row(self, columns: int, y: object) -> tuple[float, int]:
        return 0.5e-6, 25 * columns * (columns + 1) // 2  # of the products of two columns

    def _work(self, here: Circumstances, y: object) -> Work:
        scaling = Scaling(here.bounds, intercept=False)
        kept = scaling.width if self.n_components is None else self.n_components
        if not 1 <= kept <= scaling.width:
            raise PublicParameterError(f"n_components must lie in 1..{scaling.width}, got {kept}")
        plan = PrincipalAxes(scaling, price_of(self.epsilon, self.delta, here), here.known)

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            n, mean, spread = plan.draw(values, entropy)
            self._lacking(n, plan.near.noise_of_rows, here)
            middle, self.half_ = scaling.frame
            found, axes = np.linalg.eigh(spread)
            found = np.maximum(found[::-1], 0.0)
            self.mean_ = middle + mean * self.half_
            self.components_ = np.asarray(axes.T[::-1][:kept])
            self.explained_variance_ = found[:kept]
            self.explained_variance_ratio_ = found[:kept] / max(float(found.sum()), 1e-300)
            self.n_components_ = kept

        return Work(plan.guarantee, draw, counts=True)

    def _names_out(self, names: NDArray[np.object_]) -> NDArray[np.object_]:
        return np.array([f"pca{place}" for place in range(len(self.components_))], dtype=object)

    def _moved(self, rows: Floats) -> Floats:
        return weighed((rows - self.mean_) / self.half_, self.components_, np.zeros(len(self.components_)))

    def inverse_transform(self, X: object) -> Floats:
        """Rows of the components, back in units of the columns."""
        found = np.asarray(X, np.float64)
        return np.asarray(found @ self.components_ * self.half_ + self.mean_)


__all__ = ["PrincipalAxes", "GaussianNB", "ClassMoments", "PCA", "StandardScaler"]
