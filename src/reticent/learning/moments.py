"""Noisy moments of bounded columns, class by class: Gaussian naive Bayes, scaling to unit variance, principal axes.

    count    rows of every class                                     1/5 of the price
    first    sums of the scaled columns, for every class             2/5
    second   sums of squares less a half, or the upper triangle      2/5

A row is in one class, so it adds to one class only. Squares are of distances from the noisy mean of the class, cut at
1; less a half each adds at most a half, and the halves are put back by the noisy count. Source: Vaidya et al. 2013
(naive Bayes), Dwork et al. 2014 (principal axes). Deviations: integers, discrete noise, squares about a half and about
the noisy mean, so that the noise of a mean widens its class by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.learning.circumstances import Circumstances, price_of
from reticent.learning.classifiers import Classifier, indices
from reticent.learning.estimator import Estimator, Work
from reticent.learning.price import Noise, Price, deviation
from reticent.learning.scaling import UNIT, Floats, Integers, Scaling, product
from reticent.mechanisms import gate
from reticent.privacy.guarantee import Guarantee

COUNT: Final = Fraction(1, 5)
FIRST: Final = Fraction(2, 5)
SECOND: Final = Fraction(2, 5)
NARROWEST: Final = 1e-4  # of a variance, in squared half-widths


@dataclass(frozen=True)
class Moments:
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
        """Of counts, first and second moments."""
        columns, price = self.scaling.width, self.price
        first = Fraction(columns * (UNIT**2 if price.norm == "l2" else UNIT))
        second = first / (4 if price.norm == "l2" else 2)
        return price.noise(Fraction(1), COUNT), price.noise(first, FIRST), price.noise(second, SECOND)

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.price.whole([noise.guarantee for noise in self.noises], "noisy moments")

    def draw(self, values: Floats, places: Floats, entropy: Entropy) -> tuple[Floats, Floats, Floats]:
        """Noisy counts (classes,), means and mean squares about them (classes, columns), in half-widths."""
        there = np.asarray(np.isfinite(values).all(axis=1) & np.isfinite(places), np.bool_)
        rows = self.scaling.whole(values)
        member = np.zeros((len(rows), self.classes), np.int64)
        member[there, places[there].astype(np.int64)] = 1
        counting, first, second = self.noises
        counts = np.maximum(_noisy(counting, member.sum(axis=0), entropy), 1.0)
        sums = _noisy(first, product(member, rows), entropy) / UNIT
        means = np.clip(sums / counts[:, None], -1.0, 1.0)
        away = rows - member @ np.rint(means * UNIT).astype(np.int64)  # from the noisy mean of its class
        squares = np.where(there[:, None], np.minimum(away * away // UNIT, UNIT) - UNIT // 2, 0)
        of_squares = _noisy(second, product(member, squares), entropy) / UNIT + counts[:, None] / 2
        blur = np.clip(deviation(second) / UNIT / counts[:, None], NARROWEST, 1.0)  # no variance is told finer
        return counts, means, np.asarray(np.clip(of_squares / counts[:, None], blur, 1.0))


def _noisy(noise: Noise, exact: Integers, entropy: Entropy) -> Floats:
    drawn = gate.draw(noise, exact.ravel().tolist(), entropy)
    return np.array(drawn, np.float64).reshape(exact.shape)


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

    def _work(self, here: Circumstances, y: object) -> Work:
        labels = self._labels(y)
        scaling = Scaling(here.bounds, intercept=False)
        plan = Moments(scaling, price_of(self.epsilon, self.delta, here), len(labels))

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            counts, means, variances = plan.draw(values, indices(targets, labels), entropy)
            middle, half = scaling.frame
            self.classes_, self.class_prior_ = labels, counts / counts.sum()
            self.theta_, self.var_ = middle + means * half, variances * half**2

        return Work(plan.guarantee, draw)

    def _chances(self, rows: Floats) -> Floats:
        away = (rows[:, None, :] - self.theta_) ** 2 / self.var_ + np.log(2 * np.pi * self.var_)
        return np.asarray(np.log(self.class_prior_) - away.sum(axis=2) / 2)

    def _labelled(self, rows: Floats) -> NDArray[np.generic]:
        return np.asarray(self.classes_[self._chances(rows).argmax(axis=1)])

    def predict_proba(self, X: object) -> Floats:
        """Chances of the classes, of shape (n, classes)."""
        joint = self._chances(self._rows(X))
        raised = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: object) -> Floats:
        """Logarithms of the chances."""
        return np.asarray(np.log(self.predict_proba(X)))


@dataclass(kw_only=True, eq=False, repr=False)
class Transformer(Estimator):
    """What transformers share: ``transform`` of rows the caller holds."""

    def fit_transform(self, X: object, y: object = None) -> Floats:
        """Fit, then transform the same rows, which the caller holds."""
        self.fit(X, y)
        return self.transform(X)

    def transform(self, X: object) -> Floats:
        """Rows of shape (n, columns) in the new units."""
        return self._moved(self._rows(X))

    def _moved(self, rows: Floats) -> Floats:
        raise TypeError("a transformer says how rows are moved")


@dataclass(kw_only=True, eq=False, repr=False)
class StandardScaler(Transformer):
    """Columns less a noisy mean, divided by a noisy standard deviation.

    Attributes
    ----------
    mean_, var_, scale_ : arrays of shape (columns,)
    guarantee_ : Guarantee
    """

    def _work(self, here: Circumstances, y: object) -> Work:
        scaling = Scaling(here.bounds, intercept=False)
        plan = Moments(scaling, price_of(self.epsilon, self.delta, here))

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            _, means, variances = plan.draw(values, np.zeros(len(values)), entropy)
            middle, half = scaling.frame
            self.mean_, self.var_ = middle + means[0] * half, variances[0] * half**2
            self.scale_ = np.sqrt(self.var_)

        return Work(plan.guarantee, draw)

    def _moved(self, rows: Floats) -> Floats:
        return np.asarray((rows - self.mean_) / self.scale_)

    def inverse_transform(self, X: object) -> Floats:
        """Back in units of the columns."""
        return np.asarray(self._rows(X) * self.scale_ + self.mean_)


@dataclass(frozen=True)
class Axes:
    """Noisy mean and covariance of scaled columns, rows no longer than ``clip``; a third of the price for the means.

    Guarantee
    ---------
    Within the price: a row adds its length to the sums, and its length squared to the upper triangle.
    """

    scaling: Scaling
    price: Price

    @cached_property
    def noises(self) -> tuple[Noise, Noise, Noise]:
        """Of the count, the sums and the upper triangle of products."""
        columns, price = self.scaling.width, self.price
        if price.norm == "l2":
            rows = (Fraction(1), Fraction(columns * UNIT**2), Fraction(columns * (columns + 1) // 2 * UNIT**2))
        else:
            rows = (Fraction(1), Fraction(columns * UNIT), Fraction(columns * (columns + 1) // 2 * UNIT))
        count, first, second = (
            price.noise(row, share) for row, share in zip(rows, (COUNT / 2, COUNT, 1 - 3 * COUNT / 2), strict=True)
        )
        return count, first, second

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.price.whole([noise.guarantee for noise in self.noises], "noisy second moments")

    def draw(self, values: Floats, entropy: Entropy) -> tuple[float, Floats, Floats]:
        """Noisy number of rows, mean and covariance, in half-widths."""
        there = np.asarray(np.isfinite(values).all(axis=1), np.bool_)
        rows, d = self.scaling.whole(values), self.scaling.width
        upper = np.triu_indices(d)
        parts = np.trunc(rows[:, upper[0]] * rows[:, upper[1]] / UNIT).astype(np.int64)
        count, first, second = self.noises
        n = max(float(_noisy(count, np.array([there.sum()]), entropy)[0]), 1.0)
        mean = np.clip(_noisy(first, rows.sum(axis=0), entropy) / UNIT / n, -1.0, 1.0)
        inner = np.zeros((d, d))
        inner[upper] = _noisy(second, parts.sum(axis=0), entropy) / UNIT / n
        return n, mean, inner + np.triu(inner, 1).T - np.outer(mean, mean)


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

    n_components: int | None = None

    def _work(self, here: Circumstances, y: object) -> Work:
        scaling = Scaling(here.bounds, intercept=False)
        kept = scaling.width if self.n_components is None else self.n_components
        if not 1 <= kept <= scaling.width:
            raise PublicParameterError(f"n_components must lie in 1..{scaling.width}, got {kept}")
        plan = Axes(scaling, price_of(self.epsilon, self.delta, here))

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            _, mean, spread = plan.draw(values, entropy)
            middle, self.half_ = scaling.frame
            found, axes = np.linalg.eigh(spread)
            found = np.maximum(found[::-1], 0.0)
            self.mean_ = middle + mean * self.half_
            self.components_ = np.asarray(axes.T[::-1][:kept])
            self.explained_variance_ = found[:kept]
            self.explained_variance_ratio_ = found[:kept] / max(float(found.sum()), 1e-300)
            self.n_components_ = kept

        return Work(plan.guarantee, draw)

    def _moved(self, rows: Floats) -> Floats:
        return np.asarray((rows - self.mean_) / self.half_ @ self.components_.T)

    def inverse_transform(self, X: object) -> Floats:
        """Rows of the components, back in units of the columns."""
        found = np.asarray(X, np.float64)
        return np.asarray(found @ self.components_ * self.half_ + self.mean_)


@dataclass(frozen=True)
class Lloyd:
    """Rounds of Lloyd's with noisy counts and sums, from centres placed without looking.

    Guarantee
    ---------
    Within the price: in every round a row is in one cluster, and adds 1 to its count and itself to its sum.
    """

    scaling: Scaling
    price: Price
    clusters: int
    rounds: int

    @cached_property
    def noises(self) -> tuple[Noise, Noise]:
        """Of the counts and of the sums, in one round."""
        columns = self.scaling.width
        share = Fraction(1, self.rounds)
        row = Fraction(columns * (UNIT**2 if self.price.norm == "l2" else UNIT))
        return self.price.noise(Fraction(1), share / 4), self.price.noise(row, 3 * share / 4)

    @cached_property
    def guarantee(self) -> Guarantee:
        parts = [noise.guarantee for noise in self.noises] * self.rounds
        return self.price.whole(parts, "rounds of noisy counts and sums")

    def draw(self, values: Floats, entropy: Entropy) -> Floats:
        """Centres of shape (clusters, columns), in half-widths."""
        there = np.asarray(np.isfinite(values).all(axis=1), np.bool_)
        rows = self.scaling.whole(values)
        data, centres = rows / UNIT, placed(self.clusters, self.scaling.width, entropy)
        counting, summing = self.noises
        for _ in range(self.rounds):
            member = np.zeros((len(rows), self.clusters), np.int64)
            member[np.arange(len(rows)), nearest(data, centres)] = 1
            member[~there] = 0
            counts = _noisy(counting, member.sum(axis=0), entropy)
            sums = _noisy(summing, product(member, rows), entropy) / UNIT
            weight = np.maximum(counts, 0.0) / (np.maximum(counts, 0.0) + deviation(counting) + 1e-9)
            moved = np.clip(sums / np.maximum(counts, 1.0)[:, None], -1.0, 1.0)
            centres = weight[:, None] * moved + (1 - weight[:, None]) * centres
        return np.asarray(centres)


def placed(clusters: int, columns: int, entropy: Entropy, tries: int = 32) -> Floats:
    """Centres in the box, far apart: the best of some random draws, which look at no row."""
    best, apart = np.zeros((clusters, columns)), -1.0
    for _ in range(tries):
        made = (entropy.words(clusters * columns) >> np.uint64(11)).astype(np.float64).reshape(clusters, columns)
        made = 1.4 * made * 2.0**-53 - 0.7
        gaps = ((made[:, None] - made[None]) ** 2).sum(axis=2) + np.diag([np.inf] * clusters)
        if clusters == 1 or float(gaps.min()) > apart:
            best, apart = made, float(gaps.min())
    return best


def nearest(rows: Floats, centres: Floats) -> Integers:
    """The place of the nearest centre for every row."""
    away = (centres**2).sum(axis=1) - 2 * rows @ centres.T
    return np.asarray(away.argmin(axis=1))


@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(Estimator):
    """Clusters by rounds of noisy counts and sums; distances are of columns divided by their half-widths.

    Parameters
    ----------
    n_clusters : int
    max_iter : int
        Rounds, all of them made.

    Attributes
    ----------
    cluster_centers_ : array of shape (clusters, columns)
        In units of the columns.
    guarantee_ : Guarantee
    """

    n_clusters: int = 8
    max_iter: int = 5

    _estimator_type = "clusterer"

    def _work(self, here: Circumstances, y: object) -> Work:
        if self.n_clusters < 1 or self.max_iter < 1:
            raise PublicParameterError("n_clusters and max_iter must be at least 1")
        scaling = Scaling(here.bounds, intercept=False)
        plan = Lloyd(scaling, price_of(self.epsilon, self.delta, here), self.n_clusters, self.max_iter)

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            middle, self.half_ = scaling.frame
            self.cluster_centers_ = middle + plan.draw(values, entropy) * self.half_

        return Work(plan.guarantee, draw)

    def predict(self, X: object) -> Integers:
        """The nearest centre of every row the caller holds."""
        return nearest(self._rows(X) / self.half_, self.cluster_centers_ / self.half_)

    def fit_predict(self, X: object, y: object = None) -> Integers:
        """Fit, then label the same rows, which the caller holds."""
        return self.fit(X, y).predict(X)


__all__ = ["Axes", "GaussianNB", "KMeans", "Lloyd", "Moments", "PCA", "StandardScaler", "Transformer"]
