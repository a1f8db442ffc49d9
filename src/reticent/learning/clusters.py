"""Clusters by Lloyd's rounds about a noisy mean: noisy counts and sums of rows cut to where most of them are.

    number of rows, mean, reach     3/10 of the price (as for principal axes)
    rounds                          the rest, in equal parts: 1/5 of each for the counts, 4/5 for the sums

Few rounds where noise hides much: their number is a public rule. A cluster's centre is moved towards the mean of all
rows by as much as is noise. Source: Blum, Dwork, McSherry and Nissim 2005; Su et al. 2016. Deviations: rows are taken
about the noisy mean and cut, noise is discrete, centres are shrunk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.learning.fit.clipping import REST, ClippingState, ReachDescent, told
from reticent.learning.fit.estimator import Work
from reticent.learning.fit.fit_release import Circumstances, price_of
from reticent.learning.transformers import Transformer
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.price import Noise, Price, deviation, noisy
from reticent.statistics.scaling import UNIT, Floats, Integers, Norm, Scaling, product, weighed

COUNTS: Final = Fraction(1, 5)  # of a round
ROUNDS: Final = ((20, 1), (40, 2), (100, 3), (300, 5))  # up to so much signal to a cluster; beyond, MOST_ROUNDS
MOST_ROUNDS: Final = 7
UNKNOWN: Final = 3  # rounds where the number of rows is not public


def rounds_for(price: Price, people: int | None, clusters: int, width: int) -> int:
    """Number of rounds: rows of a cluster over the length of the noise, in rows as long as the reach, if any.

    Parameters
    ----------
    price : Price
    people : int or None
        The public number of rows.
    clusters : int
    width : int
        Number of columns.

    Returns
    -------
    int
        At least 1.
    """
    if people is None:
        return UNKNOWN
    noise = price.noise(Fraction(UNIT**2), Fraction(1))
    if price.norm == "l2":
        long = width**0.5 * deviation(noise) / UNIT
    else:
        long = width * deviation(noise) / 2**0.5 / UNIT**2
    signal = people / clusters / long
    return next((made for most, made in ROUNDS if signal < most), MOST_ROUNDS)


@dataclass(frozen=True)
class Lloyd:
    """A number of rows, a mean, a reach, and rounds of counts and sums about the mean.

    Guarantee
    ---------
    Within the price: in every round a row is in one cluster, and adds 1 to its count and itself, within the reach, to
    its sum.
    """

    scaling: Scaling
    price: Price
    clusters: int
    rounds: int
    people: int | None = None

    @cached_property
    def near(self) -> ReachDescent:
        return ReachDescent(self.scaling, self.price, self.people)

    @cached_property
    def counting(self) -> Noise:
        """Noise of the counts in one round."""
        return self.price.noise(Fraction(1), REST / self.rounds * COUNTS)

    def summing(self, reach: int) -> Noise:
        """Noise of the sums in one round, of rows within ``reach``."""
        return self.price.noise(Fraction(reach), REST / self.rounds * (1 - COUNTS))

    @cached_property
    def guarantee(self) -> Guarantee:
        """The choice of the reach is paid for; each round draws its sums with the noise of that one reach."""
        every = [self.summing(reach).guarantee for reach in self.near.candidates.tolist()]
        sums = compose.one_of(every, label="sums within the reach chosen")
        rounds = [self.counting.guarantee, sums] * self.rounds
        return self.price.whole([*self.near.guarantees, *rounds], "rounds of noisy counts and sums")

    def draw(self, values: Floats, entropy: Entropy) -> tuple[float, Floats]:
        """Noisy number of rows, and centres of shape (clusters, columns), in half-widths."""
        seen = self.near.draw(values, entropy)
        return seen.n, np.asarray(np.clip(seen.mean + self.rounded(seen, entropy), -1.0, 1.0))

    def rounded(self, seen: ClippingState, entropy: Entropy) -> Floats:
        """Centres about the mean, after all rounds."""
        norm, width = self.price.norm, self.scaling.width
        whole = (seen.reach**0.5 if norm == "l2" else float(seen.reach)) / UNIT
        counting, summing = self.counting, self.summing(seen.reach)
        data, centres = seen.rows / UNIT, placed(self.clusters, width, entropy, norm) * whole / 2
        for _ in range(self.rounds):
            member = np.zeros((len(data), self.clusters), np.int64)
            member[np.arange(len(data)), nearest(data, centres)] = 1
            member[~seen.there] = 0
            counts = np.maximum(noisy(counting, member.sum(axis=0), entropy), max(1.0, deviation(counting)))
            sums = noisy(summing, product(member, seen.rows), entropy) / UNIT
            clear = told(sums, deviation(summing) / UNIT)
            moved = sums / counts[:, None] * clear[:, None]
            long = np.linalg.norm(moved, ord=2 if norm == "l2" else 1, axis=1)
            moved = moved * np.minimum(1.0, whole / np.maximum(long, 1e-300))[:, None]
            quiet = clear == 0.0  # noise alone: placed anew, as far out as the others are
            typical = float(np.minimum(long, whole)[~quiet].mean()) if not quiet.all() else whole / 4
            centres = moved.copy()
            centres[quiet] = placed(self.clusters, width, entropy, norm)[quiet] * typical
        centres[quiet] = 0.0  # what the last round did not tell is the mean
        return np.asarray(centres)


def placed(clusters: int, columns: int, entropy: Entropy, norm: Norm, tries: int = 32) -> Floats:
    """Directions of length 1, far apart: the best of some random draws, which look at no row.

    Parameters
    ----------
    clusters, columns : int
    entropy : Entropy
    norm : "l1" or "l2"
        Length that the directions have.
    tries : int
        Number of random draws.

    Returns
    -------
    array of shape (clusters, columns), float
    """
    best, apart = np.zeros((clusters, columns)), -1.0
    for _ in range(tries):
        made = (entropy.words(clusters * columns) >> np.uint64(11)).astype(np.float64).reshape(clusters, columns)
        made = 2.0 * made * 2.0**-53 - 1.0
        made /= np.maximum(np.linalg.norm(made, ord=2 if norm == "l2" else 1, axis=1), 1e-9)[:, None]
        gaps = ((made[:, None] - made[None]) ** 2).sum(axis=2) + np.diag([np.inf] * clusters)
        if clusters == 1 or float(gaps.min()) > apart:
            best, apart = made, float(gaps.min())
    return best


def nearest(rows: Floats, centres: Floats) -> Integers:
    """The place of the nearest centre for every row."""
    away = (centres**2).sum(axis=1) - 2 * weighed(rows, centres, np.zeros(len(centres)))
    return np.asarray(away.argmin(axis=1))


@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(Transformer):
    """Clusters by rounds of noisy counts and sums; distances are of columns divided by their half-widths.

    ``transform`` gives the distance of a row to each centre.

    Parameters
    ----------
    n_clusters : int
    max_iter : int, optional
        Rounds, all of them made; by default a public rule.

    Attributes
    ----------
    cluster_centers_ : array of shape (clusters, columns)
        In units of the columns.
    n_iter_ : int
    guarantee_ : Guarantee
    """

    n_clusters: int = field(default=8, kw_only=False)
    max_iter: int | None = None

    _estimator_type = "clusterer"

    _counts = True

    def _of_row(self, columns: int, y: object) -> tuple[float, int]:
        return 0.5e-6, 15 * self.n_clusters  # of its distances

    def _work(self, here: Circumstances, y: object) -> Work:
        if self.n_clusters < 1 or (self.max_iter is not None and self.max_iter < 1):
            raise PublicParameterError("n_clusters and max_iter must be at least 1")
        scaling, price = Scaling(here.bounds, intercept=False), price_of(self.epsilon, self.delta, here)
        rounds = self.max_iter or rounds_for(price, here.people, self.n_clusters, scaling.width)
        plan = Lloyd(scaling, price, self.n_clusters, rounds, here.known)

        def draw(values: Floats, targets: NDArray[np.generic] | None, entropy: Entropy) -> None:
            middle, self.half_ = scaling.frame
            n, centres = plan.draw(values, entropy)
            self._lacking(n, plan.near.noise_of_rows, here)
            self.cluster_centers_ = middle + centres * self.half_
            self.n_iter_ = rounds

        return Work(plan.guarantee, draw, counts=True)

    def predict(self, X: object) -> Integers:
        """The nearest centre of every row the caller holds."""
        return nearest(self._rows(X) / self.half_, self.cluster_centers_ / self.half_)

    def _moved(self, rows: Floats) -> Floats:
        away = (rows[:, None, :] - self.cluster_centers_) / self.half_
        return np.asarray(np.sqrt((away**2).sum(axis=2)))

    def _names_out(self, names: NDArray[np.object_]) -> NDArray[np.object_]:
        return np.array([f"kmeans{place}" for place in range(self.n_clusters)], dtype=object)

    def fit_predict(self, X: object, y: object = None) -> Integers:
        """Fit, then label the same rows, which the caller holds."""
        return self.fit(X, y).predict(X)


__all__ = ["KMeans", "Lloyd"]
