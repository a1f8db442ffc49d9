"""Scores: of public rows free, of private rows a charged release, or a refusal.

accuracy    right labels and rows, as two noisy numbers; one where it is public how many rows lack nothing
r_squared   1 - sum of squared errors / sum of squares about the mean, from four noisy sums
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.makers import Statement
from reticent.entropy import Entropy
from reticent.errors import QuestionError
from reticent.learning.fit.array_check import cells, column, labels
from reticent.learning.fit.fit_release import Circumstances, numbers, paid, price_of
from reticent.learning.fit.handles import PublicRows
from reticent.mechanisms import gate
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number
from reticent.statistics.price import Noise, Price
from reticent.statistics.scaling import UNIT, Floats, filled

if TYPE_CHECKING:
    from reticent.certificate.certificate import Certificate


class ScorableModel(Protocol):
    """Estimator as a score sees it."""

    purpose: str
    who: str
    certificate_: Certificate

    n_features_in_: int

    def _here(self, x: object, y: object | None, columns: int | None = None) -> Circumstances: ...

    def _rows(self, x: object) -> Floats: ...

    def _width(self, columns: int) -> None: ...

    def _named(self, names: tuple[str, ...] | None) -> None: ...

    def _stating(self, what: str) -> Callable[[Mapping[str, object]], Statement]: ...

    def _keep_score(self, made: Certificate) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class ScoreQuestion:
    """A question for a score: the model, X and y, and what it may cost."""

    model: ScorableModel
    x: object
    y: object
    epsilon: Number | None

    @property
    def free(self) -> tuple[Floats, NDArray[np.generic]] | None:
        """X and y, where both are declared public; the one beside the other says nothing of it.

        Raises
        ------
        QuestionError
            Where one of them is declared public and the other is not.
        """
        x_public, y_public = isinstance(self.x, PublicRows), isinstance(self.y, PublicRows)
        if x_public != y_public:
            told, kept = ("X", "y") if x_public else ("y", "X")
            raise QuestionError(
                f"{told} is declared public here and {kept} is not, so their score may tell of private rows. Where "
                "both are public say so of both: score(public(X), public(y)). Else give both as they are, with "
                "epsilon=…. Nothing was charged."
            )
        if not isinstance(self.x, PublicRows) or not isinstance(self.y, PublicRows):
            return None
        rows = self.model._rows(self.x)
        return rows, labels(column(self.y.rows, len(rows)))

    @property
    def cost(self) -> Number:
        if self.epsilon is None:
            raise QuestionError(
                "A score of private rows is a release. Give epsilon=…, or score rows you know to be public, for "
                "nothing: score(public(X), public(y)), with public of reticent.learning. A pipeline hands epsilon on "
                "after sklearn.set_config(enable_metadata_routing=True); or ask its last step, or name score_epsilon=… "
                "there."
            )
        return self.epsilon


@dataclass(frozen=True, slots=True)
class ScoreSums:
    """Sums over rows, each row's parts in [-1, 1] and at most ``most`` sizes in all."""

    price: Price
    most: int

    @property
    def noise(self) -> Noise:
        row = self.most * UNIT
        return self.price.noise(Fraction(row**2 if self.price.norm == "l2" else row), Fraction(1))

    @property
    def guarantee(self) -> Guarantee:
        return self.price.whole([self.noise.guarantee], "a score")

    def draw(self, parts: Floats, entropy: Entropy) -> Floats:
        """The noisy sums of ``parts``, of shape (n, sums), every part cut to whole steps."""
        steps = np.trunc(np.clip(np.nan_to_num(parts), -1.0, 1.0) * UNIT).astype(np.int64)
        steps[np.abs(steps).sum(axis=1) > self.most * UNIT] = 0
        exact = [int(part) for part in steps.sum(axis=0)]
        return np.array(gate.draw(self.noise, exact, entropy), np.float64) / UNIT


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """A score as sums over rows.

    Attributes
    ----------
    what : str
        For the certificate.
    most : int
        Of the sizes of one row's parts, all together.
    parts : function
        X and y to parts of shape (n, sums), each in [-1, 1]; the last is 1 for a row that says something.
    score : function
        Noisy sums, and the number of rows that lack nothing where it is public, to the score.
    """

    what: str
    most: int
    parts: Callable[[Floats, NDArray[np.generic] | None], Floats]
    score: Callable[[Floats, float | None], float]

    def sums(self, price: Price, known: int | None) -> ScoreSums:
        """The sums that are bought: the last one only where the number of rows that lack nothing is private."""
        return ScoreSums(price, self.most if known is None else self.most - 1)

    def draw(
        self, sums: ScoreSums, values: Floats, targets: NDArray[np.generic] | None, known: int | None, entropy: Entropy
    ) -> Floats:
        """The noisy sums of these rows.

        Parameters
        ----------
        sums : ScoreSums
            Mechanism and price.
        values : array of shape (n, columns), float
        targets : array of shape (n,) or None
        known : int or None
            The public number of rows.
        entropy : Entropy

        Returns
        -------
        array of float
        """
        return sums.draw(self.parts(values, targets)[:, : None if known is None else -1], entropy)


def of_labels(label: Callable[[Floats], NDArray[np.generic]]) -> Scoring:
    """The share of rows labelled right, cut to [0, 1]."""

    @np.errstate(all="ignore")  # far beyond its bounds a row may have no prediction, which counts as wrong
    def parts(values: Floats, targets: NDArray[np.generic] | None) -> Floats:
        there = np.asarray(np.isfinite(values).all(axis=1), np.bool_)
        right = there & np.asarray(label(filled(values, there)) == targets, np.bool_)
        return np.column_stack([right, there]).astype(np.float64)

    @np.errstate(all="ignore")  # of released numbers, whatever noise made of them
    def share(found: Floats, n: float | None) -> float:
        return float(np.clip(found[0] / max(n if n is not None else found[1], 1.0), 0.0, 1.0))

    return Scoring("accuracy", 2, parts, share)


def of_numbers(predict: Callable[[Floats], Floats], middle: float, half: float) -> Scoring:
    """R squared about the mean of the rows, at most 1; y is cut to its bounds, of this middle and half-width.

    Parameters
    ----------
    predict : function
        From features of shape (n, columns) to an array of shape (n,).
    middle, half : float
        Middle and half-width of the bounds of y, in its unit.

    Returns
    -------
    Scoring
    """

    @np.errstate(all="ignore")  # far beyond its bounds a row may have no prediction, which counts as wrong
    def parts(values: Floats, targets: NDArray[np.generic] | None) -> Floats:
        target = (numbers(targets) - middle) / half
        there = np.isfinite(values).all(axis=1) & np.isfinite(target)
        target = np.clip(np.where(there, target, 0.0), -1.0, 1.0)
        off = np.clip((predict(filled(values, there)) - middle) / half - target, -2.0, 2.0) / 2
        return np.where(there[:, None], np.column_stack([off**2, target, target**2, np.ones(len(target))]), 0.0)

    @np.errstate(all="ignore")  # of released numbers, whatever noise made of them
    def share(found: Floats, n: float | None) -> float:
        errors, first, second = (float(part) for part in found[:3])
        size = max(n if n is not None else float(found[3]), 1.0)
        spread = second - first**2 / size
        return float(min(1.0, 1 - 4 * max(errors, 0.0) / spread)) if spread > 0 else 0.0

    return Scoring("R squared", 4, parts, share)


def accuracy(asked: ScoreQuestion, label: Callable[[Floats], NDArray[np.generic]]) -> float:
    """The share of rows labelled right: of public rows free, of private rows bought."""
    if asked.free is None:
        return _bought(asked, of_labels(label))
    rows, y = asked.free
    return float(np.mean(np.asarray(label(rows) == y, np.bool_)))


def r_squared(
    asked: ScoreQuestion, predict: Callable[[Floats], Floats], bounds: Callable[[], tuple[float, float]]
) -> float:
    """R squared about the mean of the rows; of private rows bought, and ``bounds`` are middle and half width of y.

    Parameters
    ----------
    asked : ScoreQuestion
    predict : function
        From features of shape (n, columns) to an array of shape (n,).
    bounds : function
        Gives middle and half-width of the bounds of y.

    Returns
    -------
    float
        At most 1.
    """
    if asked.free is None:
        return _bought(asked, of_numbers(predict, *bounds()))
    rows, y = asked.free
    values = cells(y)
    return float(1 - ((predict(rows) - values) ** 2).sum() / ((values - values.mean()) ** 2).sum())


def _bought(asked: ScoreQuestion, scoring: Scoring) -> float:
    """The score of the noisy sums, and of the number of rows.

    The last sum is not bought if it is public that none lacks a value.
    """
    model, cost = asked.model, asked.cost
    here = model._here(asked.x, asked.y, model.n_features_in_)
    model._width(len(here.bounds))
    model._named(here.names)
    sums = scoring.sums(price_of(cost, 0, here), here.known)
    known = None if here.known is None else float(here.known)
    of, tell = model.certificate_.digest, model._stating(scoring.what)
    found, made = paid(
        here,
        here.lifted(sums.guarantee),
        scoring.what,
        lambda x, y, entropy: scoring.draw(sums, x, y, here.known, entropy),
        lambda drawn: tell({"score": scoring.score(drawn, known), "sums": drawn, "of": of}),
        purpose=model.purpose,
        who=model.who,
    )
    model._keep_score(made)
    return scoring.score(found, known)


__all__ = ["ScoreQuestion", "Scoring", "ScoreSums", "accuracy", "of_labels", "of_numbers", "r_squared"]
