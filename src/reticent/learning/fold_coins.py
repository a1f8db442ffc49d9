"""Rows dealt out to folds, and what is public of each: coins before the charge where the number of rows is public.

Deal.of(here, cv, groups)   coins, if they can be tossed already, and how rows are read with their persons
trained, tested             the circumstances of a fit to all folds but one, and of a score of that one
rows, coins                 the rows with their persons, and the fold of each, after the charge
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.learning.fit.fit_release import Circumstances, Owned
from reticent.learning.folds import Folds, numbered
from reticent.mechanisms import gate
from reticent.statistics.scaling import Integers


@dataclass(frozen=True, slots=True, eq=False)
class Deal:
    """Assignment of rows to folds, and the public circumstances of each fold.

    ``known`` are the folds of all rows where their number is public: the coins are then tossed before the charge, and
    the sizes of the folds are as public as the coins. Otherwise a fold has its share of a declared number, if any.
    """

    here: Circumstances
    cv: Folds
    rows: Callable[[], Owned]
    known: Integers | None

    @classmethod
    def of(cls, here: Circumstances, cv: Folds, groups: object) -> Deal:
        """For the rows of a fit, and the persons of arrays whose persons have several rows.

        Parameters
        ----------
        here : Circumstances
            Circumstances of the fit.
        cv : Folds
            Number of folds and their coins.
        groups : object
            Person of each row of arrays; None for one row each.

        Returns
        -------
        Deal
            The deal, whose coins are tossed now where the number of rows is public.
        """
        known = None if here.exact is None else cv.deal(np.arange(here.exact), gate.coins_for(here.source))
        return cls(here, cv, _owned(here, groups), known)

    def coins(self, owners: Integers, entropy: Entropy) -> Integers:
        """The fold of every row."""
        if self.known is None:
            return self.cv.deal(owners, entropy)
        if len(self.known) != len(owners):
            raise PublicParameterError("the number of rows is another than was public")
        return self.known

    def trained(self, fold: int) -> Circumstances:
        """Circumstances of a fit to all rows but those of a fold."""
        if self.known is not None:
            size = int((self.known != fold).sum())
            return replace(self.here, people=max(1, size), complete=self.here.complete and size > 0)
        people = self.here.people
        share = None if people is None else max(1, people * (self.cv.count - 1) // self.cv.count)
        return replace(self.here, people=share, complete=False)  # a share is no number of rows

    def tested(self, fold: int) -> Circumstances:
        """Circumstances of a score of the rows of a fold, whose number is bought if it is not public."""
        size = 0 if self.known is None else int((self.known == fold).sum())
        return replace(self.here, people=size or None, complete=self.here.complete and size > 0)


def persons_named(here: Circumstances, groups: object) -> None:
    """Refuse arrays whose persons have several rows and are not named: their rows would fall into several folds."""
    if here.owned is None and groups is None and here.neighbours.rows > 1:
        raise QuestionError(
            "Name groups=…, the person of each row: a coin is tossed for each person, who may have several rows here. "
            "Nothing was charged."
        )


def _owned(here: Circumstances, groups: object) -> Callable[[], Owned]:
    """The rows with a number for the person of each; in arrays without ``groups`` each row counts as another person."""
    if here.owned is not None:
        if groups is not None:
            raise QuestionError("a study knows its persons: leave groups out. Nothing was charged.")
        return here.owned

    def rows() -> Owned:
        values, targets = here.read()
        owners = np.arange(len(values)) if groups is None else numbered(groups)
        if len(owners) != len(values):
            raise ValueError("groups should have one person for each row")
        return values, targets, owners

    return rows


__all__ = ["Deal", "persons_named"]
