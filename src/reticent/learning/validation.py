"""Cross-validation in folds dealt out by coins: one reservation, for every fit but one and one score.

    deal      one coin for each person; known beforehand where the number of rows is public
    fits      of every fold, to the rows of all others
    scores    of every fit, on the rows of its fold

A person is in the training rows of all folds but their own, and in the test rows of that one: docs/proofs/learning.md,
section 10. The scores are told, and the certificate has them with their noisy sums; the fits are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.makers import Statement
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.learning.fit.estimator import Estimator, Work
from reticent.learning.fit.fit_release import bought, price_of
from reticent.learning.fit.scoring import ScoreSums, Scoring
from reticent.learning.fold_coins import Deal, persons_named
from reticent.learning.folds import Folds, of_person
from reticent.learning.transformers import unpacked
from reticent.outcome import NO_REPLY
from reticent.privacy.explain import sentence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number
from reticent.statistics.scaling import Floats, Integers

if TYPE_CHECKING:
    from reticent.certificate.certificate import Certificate

FIVE: Final = Folds(5)
NAMED: Final = "cv=folds(5): folds are dealt out by coins here, and an integer would not say so. Nothing was charged."


class ScorableEstimator(Protocol):
    """Estimator as a cross-validation sees it, beyond the methods of every estimator."""

    score_epsilon: Number | None

    def _scoring(self, y: object) -> Scoring: ...


@dataclass(frozen=True, slots=True, eq=False)
class FoldScores:
    """The score of every fold; ``mean()`` and ``std()`` as of an array of them.

    Attributes
    ----------
    scores : array of shape (folds,)
        Each from noisy sums over the rows of its fold; NaN where a fit gave no reply.
    guarantee : Guarantee
        Of all fits and scores: a person is in every fit but one, and in one score.
    certificate : Certificate
    """

    scores: Floats
    guarantee: Guarantee
    certificate: Certificate

    def mean(self, axis: None = None, dtype: None = None, out: None = None) -> float:
        """The mean over the folds; the parameters are those by which NumPy asks.

        Parameters
        ----------
        axis, dtype, out : None
            Not used: NumPy passes them.

        Returns
        -------
        float
        """
        return float(self.scores.mean())

    def std(self, axis: None = None, dtype: None = None, out: None = None, ddof: int = 0) -> float:
        """The standard deviation over the folds; the parameters are those by which NumPy asks.

        Parameters
        ----------
        axis, dtype, out : None
            Not used: NumPy passes them.
        ddof : int
            What is taken off the number of folds in the divisor.

        Returns
        -------
        float
        """
        return float(self.scores.std(ddof=ddof))

    def __array__(self, dtype: type[np.float64] | None = None, copy: bool | None = None) -> Floats:
        return np.array(self.scores, dtype)

    def __len__(self) -> int:
        return len(self.scores)

    def __iter__(self) -> Iterator[float]:
        return iter(self.scores.tolist())

    def __getitem__(self, fold: int) -> float:
        return float(self.scores[fold])

    def __repr__(self) -> str:
        told = ", ".join(f"{score:.3f}" for score in self.scores)
        return f"scores {told}\n{sentence(self.guarantee.loss, self.guarantee.adjacency)}"


def cross_val_score(
    estimator: object,
    X: object,
    y: object,
    *,
    cv: Folds = FIVE,
    score_epsilon: Number | None = None,
    groups: object = None,
) -> FoldScores:
    """Scores of fits to all folds but one on that one, in one reservation: (folds - 1) fits and one score.

    Parameters
    ----------
    estimator : classifier or regressor of this package
        Or a scikit-learn pipeline of ``Clip`` and one of them. Its ``epsilon`` and ``delta`` are the price of one fit.
    X, y : handles of ``study.xy``, or arrays
    cv : Folds
        ``folds(5)``.
    score_epsilon : number, optional
        The price of one score, > 0; by default the estimator's ``score_epsilon``.
    groups : array, optional
        The person of each row of an array, where ``rows_each`` is above 1. A study knows its persons.

    Returns
    -------
    FoldScores
        Accuracy of a classifier, R squared of a regressor.

    Raises
    ------
    Refusal
        Before any row is read; nothing was charged.
    Fault
        After the charge.

    Guarantee
    ---------
    The sum of (folds - 1) fits and one score, whichever coin a person got: ``folds.of_person``.
    """
    if not isinstance(cv, Folds):
        raise PublicParameterError(f"name {NAMED}")
    made, _, x = unpacked(estimator, X, "cross_val_score")
    here = made._here(x, y)
    persons_named(here, groups)
    deal = Deal.of(here, cv, groups)
    spare = made.score_epsilon if score_epsilon is None else score_epsilon  # type: ignore[attr-defined]  # of ``unpacked``
    if spare is None:
        raise QuestionError("A score of private rows is a release: name score_epsilon=…. Nothing was charged.")
    with np.errstate(all="ignore"):
        parts = [FoldTrial.of(made, deal, fold, y, spare) for fold in range(cv.count)]
    fits, sums = [part.work.guarantee for part in parts], [part.sums.guarantee for part in parts]
    guarantee = here.lifted(of_person(fits, sums, _words(cv)))

    def draw(entropy: Entropy) -> tuple[Floats, list[Floats]]:
        values, targets, owners = deal.rows()
        dealt = deal.coins(owners, entropy)
        drawn = [part.draw(values, targets, dealt, entropy) for part in parts]
        return np.array([score for score, _ in drawn]), [sums for _, sums in drawn]

    tell = made._stating("cross-validation")

    def told(drawn: tuple[Floats, list[Floats]]) -> Statement:
        found = tell({"scores": drawn[0], "sums": drawn[1]})
        return replace(found, parameters={**found.parameters, "folds": cv.count})

    seconds, room = made._of_row_read(here, y)
    (scores, _), certificate = bought(
        deal.here,
        guarantee,
        f"a {_words(cv)} of {type(made).__name__}",
        draw,
        told,
        of_row=(cv.count * seconds, room),
        purpose=made.purpose,
        who=made.who,
    )
    return FoldScores(scores, guarantee, certificate)


def _words(cv: Folds) -> str:
    return f"cross-validation in {cv.count} folds"


@dataclass(frozen=True, slots=True, eq=False)
class FoldTrial:
    """One fold: a fit to the others, and a score of it."""

    fold: int
    model: Estimator
    work: Work
    scoring: Scoring
    sums: ScoreSums
    known: int | None

    @classmethod
    def of(cls, estimator: Estimator, deal: Deal, fold: int, y: object, spare: Number) -> FoldTrial:
        """Understood and priced, before anything is read.

        Parameters
        ----------
        estimator : Estimator
        deal : Deal
            Way of dealing rows to folds.
        fold : int
            Place of the fold that is scored.
        y : object
            The target, for its declared facts.
        spare : number
            Price of the score.

        Returns
        -------
        FoldTrial
        """
        model, tested = copy(estimator), deal.tested(fold)
        model._forget()
        scoring = cast(ScorableEstimator, model)._scoring(y)  # ``unpacked`` has asked
        sums = scoring.sums(price_of(spare, 0, tested), tested.known)
        return cls(fold, model, model._work(deal.trained(fold), y), scoring, sums, tested.known)

    def draw(
        self, values: Floats, targets: NDArray[np.generic] | None, dealt: Integers, entropy: Entropy
    ) -> tuple[float, Floats]:
        """The score of the fold, and the noisy sums behind it; NaN and none where the fit gave no reply.

        Parameters
        ----------
        values : array of shape (n, columns), float
        targets : array of shape (n,) or None
        dealt : array of shape (n,), int
            Fold of each row.
        entropy : Entropy

        Returns
        -------
        pair of float, and array of float
        """
        test = dealt == self.fold
        assert targets is not None
        self.model._drawn(self.work, values[~test], targets[~test], entropy)
        self.model.guarantee_ = self.work.guarantee
        if getattr(self.model, "outcome_", None) is NO_REPLY:
            return np.nan, np.empty(0)
        sums = self.scoring.draw(self.sums, values[test], targets[test], self.known, entropy)
        return self.scoring.score(sums, None if self.known is None else float(self.known)), sums


__all__ = ["FoldScores", "cross_val_score"]
