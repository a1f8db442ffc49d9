"""Fits to made-up rows: the score that a model has with its noise, said before any row is read.

Columns are normal about the middle of their bounds, with a deviation of 1/6 of the range; keys of a category are
equally frequent. The target follows a straight line in them. The best rule explains half of a number's variance. Of
classes it knows the odds, which a deviation along the line changes by the factor e^2. Clusters have a deviation of 1/20
of the range. Rows and noise are the same each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Replayed, Simulation, simulated
from reticent.errors import Refusal
from reticent.learning.classifiers import Classifier, LogisticRegression
from reticent.learning.clusters import KMeans, nearest
from reticent.learning.fit.estimator import Estimator, same_as
from reticent.learning.fit.fit_release import Circumstances, default_words
from reticent.learning.fit.linear_model import WEIGHED
from reticent.learning.linear import Regressor
from reticent.learning.moments import PCA
from reticent.outcome import NO_REPLY
from reticent.privacy.cost import MOST_EPSILON
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import read, show, two_digits
from reticent.statistics.context import ALWAYS, USUAL, ExpectedAccuracy, hopeless, of_tables
from reticent.statistics.scaling import Floats

NO_RULE: Final = "its accuracy rests on the rows: no public rule gives it"
TABLES: Final = 5
MOST: Final = 20_000  # rows of a made-up table: more only make the noise smaller
FRESH: Final = 4_000  # rows that a fit is judged by
SLOPE: Final = 2.0  # of the log odds, for a deviation along the line
SPREAD: Final = 1 / 6  # of a column's range
INTERVALS: Final = "are most likely hidden by noise", "of coefficients are likely"
TIMES: Final = (2, 4, 8, 16, 32, 64)  # of the loss, and of the people, tried for what would help
NARROW: Final = 1 / 20  # that of a cluster


@dataclass(frozen=True, slots=True)
class MadeUpTable:
    """Rows of X in units of the columns, targets, and the score of the best rule on these rows."""

    values: Floats
    targets: NDArray[np.generic] | None
    best: float


class MadeUpLaw(Protocol):
    """Law of made-up rows for one kind of model, and the score of a fit on such rows."""

    @property
    def score_words(self) -> str: ...

    def rows(self, count: int, stream: Simulation) -> MadeUpTable: ...

    def score(self, model: Estimator, table: MadeUpTable) -> float: ...


def expected(
    model: Estimator, x: object, y: object, people: int, *, steps: int | None = None
) -> tuple[Guarantee, ExpectedAccuracy]:
    """The guarantee of a fit, and what to expect of it for so many people: for ``study.model_plan``.

    Parameters
    ----------
    model : estimator
        It is not changed.
    x, y : handle
        As for ``fit``; no row of them is read.
    people : int
        The number of persons to suppose.
    steps : int, optional
        How many steps share the price, where a search has shared it already.

    Returns
    -------
    (Guarantee, ExpectedAccuracy)
        Widths where a public rule gives them. Else the mean score on five made-up tables, and how much less it is than
        that of the best rule.

    Raises
    ------
    Refusal
        As ``fit`` would be refused.
    """
    here = model._here(x, y)
    if steps is not None:
        here = replace(here, steps=steps)
    with np.errstate(all="ignore"):
        work, beside = same_as(model, vars(model).copy())._planned_with(here, y)
    rows = here.rows_of(people)
    if work.expected is not None:
        found = work.expected(rows)
    else:
        found = _forecast(model, here, y, rows) or ExpectedAccuracy(None, None, NO_RULE, ALWAYS)
    bare = f"no intervals: {WEIGHED}" if getattr(model, "class_weight", None) is not None else ""
    if isinstance(model, LogisticRegression) and (needed := model.interval_rows(here, y)) is not None:
        each = Fraction(rows, max(people, 1))
        persons = two_digits(round(needed / each))
        bare = f"intervals {INTERVALS[rows >= needed]}: they need about {persons:,} people at this ε"
        bare += ", more where columns go together, or have deviations below 1/8 of their bounds"
    told = (
        found.note,
        bare,
        *beside.sentences,
        "" if here.shelf is None or steps is not None else here.shelf.lift_words,
        *(default_words(model.epsilon) if steps is None else ()),
    )
    return here.lifted(beside.whole(work.guarantee)), replace(found, note="; ".join(text for text in told if text))


def helps_of(fit: Callable[[int], tuple[Estimator, object, object]], people: int) -> tuple[str, ...]:
    """The changes that give a reply to a fit that most likely has none, each planned again.

    Parameters
    ----------
    fit : function
        Gives the model, X and y for so many people.
    people : int

    Returns
    -------
    tuple of str
    """

    def likely(price: Fraction, size: int) -> bool:
        one, x, y = fit(size)
        try:
            found = expected(same_as(one, {**vars(one), "epsilon": price}), x, y, size)[1]
        except Refusal:
            return False
        return not hopeless(found.replies)

    epsilon = read(fit(people)[0].epsilon, "epsilon")
    prices = sorted({min(epsilon * times, Fraction(MOST_EPSILON)) for times in TIMES})
    dearer = next((price for price in prices if price > epsilon and likely(price, people)), None)
    more = next((people * times for times in TIMES if likely(epsilon, people * times)), None)
    found = [] if dearer is None else [f'epsilon="{show(dearer)}" in place of {show(epsilon)}']
    found += [] if more is None else [f"{more:,} people"]
    return tuple(found) or ("a larger ε and more people",)


def _forecast(model: Estimator, here: Circumstances, y: object, rows: int) -> ExpectedAccuracy | None:
    """The score of fits to made-up rows, in the words of a plan; None for a model without a score of this kind."""
    size = min(rows, MOST)
    small = replace(here, people=None if here.people is None else min(here.people, size))
    scores, bests, words = [], [], ""
    for place in range(TABLES):
        stream = simulated(f"made-up fit {place} of {size} rows")
        law = _law(model, small, y, stream)
        if law is None:
            return None
        words = law.score_words
        one = _fitted(model, small, y, law.rows(size, stream), place)
        if one is not None:
            fresh = law.rows(FRESH, stream)
            scores.append(law.score(one, fresh))
            bests.append(fresh.best)
    if not scores:
        return ExpectedAccuracy(None, None, f"no reply on {TABLES} tables of {size:,} made-up rows", _replies(0))
    lost = [max(best - score, 0.0) for best, score in zip(bests, scores, strict=True)]
    less = " to ".join(dict.fromkeys(f"{end:.2f}" for end in (min(lost), max(lost))))
    note = f"{words} {np.mean(scores):.2f} on {TABLES} tables of {size:,} made-up rows; "
    note += f"the best rule scores {less} more"
    figures = ((words, float(np.mean(scores))), ("less than the best rule", float(np.mean(lost))))
    return ExpectedAccuracy(None, None, note, _replies(len(scores)), figures=figures)


def _replies(found: int) -> tuple[tuple[str, float], ...]:
    return ALWAYS if found == TABLES else ((USUAL, of_tables(found, TABLES)),)


def _fitted(model: Estimator, here: Circumstances, y: object, table: MadeUpTable, place: int) -> Estimator | None:
    """The model fitted to a made-up table with replayed noise; None where it has no reply."""
    one = same_as(model, vars(model).copy())
    with np.errstate(all="ignore"):
        work, beside = one._planned_with(here, y)
        targets, _ = beside.judged(table.values, table.targets)
        one._drawn(work, table.values, targets, Replayed(f"made-up fit {place}"))
    vars(one).update(guarantee_=work.guarantee, n_features_in_=len(here.bounds))
    return None if getattr(one, "outcome_", None) is NO_REPLY else one


def _law(model: Estimator, here: Circumstances, y: object, stream: Simulation) -> MadeUpLaw | None:
    columns = _columns(here)
    if isinstance(model, KMeans):
        return _Clusters(
            columns, columns.middle + columns.width * (stream.random((model.n_clusters, len(columns))) - 0.5) / 2
        )
    if isinstance(model, PCA):
        return _OneAxis(columns, stream.standard_normal(len(columns)))
    if isinstance(model, Classifier):
        labels = model._labels(y)
        return _Classes(
            columns, labels, stream.standard_normal((len(columns), max(len(labels), 3) if len(labels) > 2 else 1))
        )
    if isinstance(model, Regressor):
        low, high = model._y_bounds(y)
        return _Line(columns, stream.standard_normal(len(columns)), (float(low), float(high)))
    return None


@dataclass(frozen=True, slots=True)
class _Columns:
    """Public bounds of the columns, and which of them are keys of one category."""

    low: Floats
    high: Floats
    categories: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.low)

    @property
    def middle(self) -> Floats:
        return (self.low + self.high) / 2

    @property
    def width(self) -> Floats:
        return self.high - self.low

    def rows(self, count: int, stream: Simulation) -> Floats:
        noise = stream.standard_normal((count, len(self)))
        found = np.clip(self.middle + SPREAD * self.width * noise, self.low, self.high)
        for places in self.categories:
            found[:, places] = np.eye(len(places))[stream.integers(len(places), size=count)]
        return found

    def standard(self, rows: Floats) -> Floats:
        """Rows in deviations from the mean of each column."""
        mean, deviation = self.middle.copy(), SPREAD * self.width
        for places in self.categories:
            share = 1 / len(places)
            mean[list(places)], deviation[list(places)] = share, math.sqrt(share * (1 - share)) or 1.0
        return (rows - mean) / deviation


def _columns(here: Circumstances) -> _Columns:
    bounds = np.array([[float(low), float(high)] for low, high in here.bounds])
    of: dict[str, list[int]] = {}
    for place, name in enumerate(here.names or ()):
        category = None if here.shelf is None else here.shelf.category(name)
        if category is not None:
            of.setdefault(category, []).append(place)
    return _Columns(bounds[:, 0], bounds[:, 1], tuple(map(tuple, of.values())))


@dataclass(frozen=True, slots=True)
class _Line:
    """A number on a line, with as much variance about it as along it."""

    columns: _Columns
    weights: Floats
    bounds: tuple[float, float]
    score_words: str = "R squared"

    def rows(self, count: int, stream: Simulation) -> MadeUpTable:
        values = self.columns.rows(count, stream)
        line = self.columns.standard(values) @ self.weights / np.linalg.norm(self.weights)
        low, high = self.bounds
        told = (low + high) / 2 + SPREAD * (high - low) * math.sqrt(0.5) * line
        noise = SPREAD * (high - low) * math.sqrt(0.5) * stream.standard_normal(count)
        targets = np.clip(told + noise, low, high)
        return MadeUpTable(values, targets, _r_squared(targets, told))

    def score(self, model: Estimator, table: MadeUpTable) -> float:
        assert isinstance(model, Regressor)
        assert table.targets is not None
        return _r_squared(np.asarray(table.targets, np.float64), model._predicted(table.values))


@dataclass(frozen=True, slots=True)
class _Classes:
    """Classes whose log odds are lines: one line for two classes, else one for each."""

    columns: _Columns
    labels: NDArray[np.generic]
    weights: Floats
    score_words: str = "right in"

    def rows(self, count: int, stream: Simulation) -> MadeUpTable:
        values = self.columns.rows(count, stream)
        lines = SLOPE * self.columns.standard(values) @ self.weights / np.linalg.norm(self.weights, axis=0)
        lines = np.column_stack([np.zeros(count), lines]) if len(self.labels) == 2 else lines
        chances = np.exp(lines - lines.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        places = (stream.random((count, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
        return MadeUpTable(values, self.labels[places], float((chances.argmax(axis=1) == places).mean()))

    def score(self, model: Estimator, table: MadeUpTable) -> float:
        assert isinstance(model, Classifier)
        return float(np.mean(model._labelled(table.values) == table.targets))


@dataclass(frozen=True, slots=True)
class _Clusters:
    """Clusters of equal size about centres in the inner half of the bounds."""

    columns: _Columns
    centres: Floats
    score_words: str = "R squared of clusters"

    def rows(self, count: int, stream: Simulation) -> MadeUpTable:
        places = stream.integers(len(self.centres), size=count)
        noise = NARROW * self.columns.width * stream.standard_normal((count, len(self.columns)))
        values = np.clip(self.centres[places] + noise, self.columns.low, self.columns.high)
        return MadeUpTable(values, None, self._within(values, self.centres))

    def score(self, model: Estimator, table: MadeUpTable) -> float:
        assert isinstance(model, KMeans)
        return self._within(table.values, model.cluster_centers_)

    def _within(self, values: Floats, centres: Floats) -> float:
        """The share of the variance of rows, in widths of the columns, that lies between clusters."""
        rows, about = values / self.columns.width, centres / self.columns.width
        own = about[nearest(rows, about)]
        return float(1 - ((rows - own) ** 2).sum() / ((rows - rows.mean(axis=0)) ** 2).sum())


@dataclass(frozen=True, slots=True)
class _OneAxis:
    """Columns that have one factor in common, with half of the variance of each."""

    columns: _Columns
    signs: Floats
    score_words: str = "share of variance along the first axis"

    def rows(self, count: int, stream: Simulation) -> MadeUpTable:
        own, common = stream.standard_normal((count, len(self.columns))), stream.standard_normal((count, 1))
        together = math.sqrt(0.5) * (own + np.sign(self.signs) * common)
        values = np.clip(
            self.columns.middle + SPREAD * self.columns.width * together, self.columns.low, self.columns.high
        )
        rows = 2 * (values - values.mean(axis=0)) / self.columns.width
        spread = np.linalg.eigvalsh(rows.T @ rows)
        return MadeUpTable(values, None, float(spread[-1] / spread.sum()))

    def score(self, model: Estimator, table: MadeUpTable) -> float:
        assert isinstance(model, PCA)
        rows = 2 * (table.values - table.values.mean(axis=0)) / self.columns.width
        return float(((rows @ model.components_[0]) ** 2).sum() / (rows**2).sum())


def _r_squared(targets: Floats, told: Floats) -> float:
    return float(1 - ((targets - told) ** 2).sum() / ((targets - targets.mean()) ** 2).sum())


__all__ = ["expected"]
