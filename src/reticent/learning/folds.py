"""Folds dealt out by coins: one for each person, from the system's generator, whatever the rows hold.

    folds(5)                    how many, and nothing else: no seed, no shuffling, no balancing of sizes or of labels
    Folds.split(X, y, groups)   places of training and test rows, for scikit-learn's functions on arrays
    Folds.deal(owners, ...)     the fold of every row
    of_person(fits, scores)     what a person loses: every fit but one, and one score

A coin looks at nobody, so a person who comes, goes or is replaced moves no other row: for any coins two neighbours give
neighbouring training rows in all folds but one, and in that one test rows alone. scikit-learn's own splitters fill
folds by labels or by counting, so one row moves others. Fits that are charged one row each would then differ in many.
docs/proofs/learning.md, section 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError, door
from reticent.learning.fit.array_check import labels
from reticent.learning.fit.handles import OURS, Handle, PublicRows
from reticent.learning.fit.held_arrays import targets
from reticent.mechanisms import gate
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.scaling import Integers

if TYPE_CHECKING:
    from sklearn.utils.metadata_routing import MetadataRequest

MOST: Final = 50


@dataclass(frozen=True, slots=True, repr=False)
class Folds:
    """So many folds, at most 50: each person's rows fall into one of them by a coin of their own.

    Sizes follow from the coins, are shown nowhere, and may be 0: a fit to no row and a score of none are answered.
    Every ``split`` tosses new coins. ``source`` is what coins are drawn for, as of a fit; audits watch it.
    """

    count: int
    source: object = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if type(self.count) is not int or not 1 <= self.count <= MOST:
            raise PublicParameterError(f"folds are a whole number from 2 to {MOST}, got {self.count!r}")

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Number of folds, independent of the rows.

        Parameters
        ----------
        X, y, groups : object
            Not read: scikit-learn passes them.

        Returns
        -------
        int
        """
        return self.count

    def split(self, X: object, y: object = None, groups: object = None) -> Iterator[tuple[Integers, Integers]]:
        """Places of the training rows and of the test rows, fold by fold: for ``cv=`` of scikit-learn's functions.

        Parameters
        ----------
        X : array, frame or list of rows
            Of which only the number of rows is looked at.
        y : object
            Not looked at.
        groups : array, optional
            The person of each row, where one may have several: then all rows of a person fall into one fold.

        Yields
        ------
        pair of arrays of int
            Training rows and test rows of a fold, as places of shape (rows,).

        Raises
        ------
        QuestionError
            For a handle on private rows, which has no length.
        """
        if isinstance(X, Handle):
            raise QuestionError(f"X is a handle on private rows, and its rows are not dealt out here. {OURS}")
        rows = X.rows if isinstance(X, PublicRows) else X
        size = len(rows)  # type: ignore[arg-type]  # a table, of which scikit-learn has asked the same
        owners = np.arange(size) if groups is None else numbered(groups)
        if len(owners) != size:
            raise PublicParameterError("groups should have one person for each row")
        dealt = self.deal(owners, gate.coins_for(self.source))
        for fold in range(self.count):
            yield np.flatnonzero(dealt != fold), np.flatnonzero(dealt == fold)

    def deal(self, owners: Integers, entropy: Entropy) -> Integers:
        """The fold of every row, from a number for its person: one word of coins for each person."""
        people = int(owners.max(initial=-1)) + 1
        coins = (entropy.words(people) % np.uint64(self.count)).astype(np.int64)
        return np.asarray(coins[owners])

    def get_metadata_routing(self) -> MetadataRequest:
        """Metadata that scikit-learn passes to ``split`` if routing is enabled: ``groups``."""
        from sklearn.utils.metadata_routing import MetadataRequest

        found = MetadataRequest(owner="folds")
        found.split.add_request(param="groups", alias=True)
        return found

    def __repr__(self) -> str:
        return f"folds({self.count})"


@door
def folds(count: int = 5) -> Folds:
    """So many folds, dealt out by one coin for each person, anew for every use: ``cv=folds(5)``."""
    if count == 1:
        raise PublicParameterError(f"folds are a whole number from 2 to {MOST}, got {count!r}")
    return Folds(count)


def numbered(who: object) -> Integers:
    """A number for each person, in order of appearance; those whose name cannot be read are one person together."""
    places: dict[object, int] = {}
    found = [places.setdefault(name if name == name else None, len(places)) for name in labels(targets(who)).tolist()]
    return np.array(found, np.int64)


def of_person(fits: Sequence[Guarantee], scores: Sequence[Guarantee], label: str) -> Guarantee:
    """Loss of a person whose coin fell on any one fold: the fits of the others, and the score of that one.

    Parameters
    ----------
    fits, scores : sequences of Guarantee
        One for each fold, about the neighbours of the whole; no ``scores`` where none are told.
    label : str

    Returns
    -------
    Guarantee
        Guarantee of the dearest fold.

    Guarantee
    ---------
    A mixture over coins that are the same for both neighbours loses at most what its dearest coin does, in every view.
    """
    told = [[score] for score in scores] or [[] for _ in fits]
    branches = [
        compose.in_sequence([*fits[:fold], *fits[fold + 1 :], *told[fold]], label=f"fold {fold + 1} is the person's")
        for fold in range(len(fits))
    ]
    return compose.one_of(branches, label=label)


__all__ = ["Folds", "folds", "numbered", "of_person"]
