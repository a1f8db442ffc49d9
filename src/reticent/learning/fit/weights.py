"""Weights of rows and of classes: the loss of a row is multiplied by its share of a public greatest weight, at most 1.

    sample_weight   a number of each row, private, cut to [0, most_weight]: an array, or the name of a study's column
    class_weight    public, by class; or "balanced": one over the noisy number of rows of the class      1/20

A row with a share of at most 1 adds no more to a gradient or a curvature than it did without, whatever its weight is:
sensitivities stay as they are, and the penalty is divided by the greatest weight. docs/proofs/learning.md, section 12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError, first_of
from reticent.learning.fit.array_check import array, cells, is_typed
from reticent.learning.fit.fit_release import Circumstances
from reticent.learning.fit.handles import Handle, Shelf
from reticent.learning.fit.held_arrays import targets
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number, read
from reticent.statistics.convex.descent import Descent
from reticent.statistics.convex.objective_perturbation import Fit, OutputPerturbation
from reticent.statistics.price import Noise, Price, deviation, noisy
from reticent.statistics.scaling import UNIT, Floats, Integers

ClassWeight: TypeAlias = Mapping[object, Number] | Literal["balanced"] | None
BALANCED: Final = Fraction(1, 20)  # of the price, for the noisy numbers of rows of the classes
UNBOUNDED: Final = (
    "Name most_weight=…, the greatest weight, known without looking at the rows: a greater one counts as that. "
    "Nothing was charged."
)


@dataclass(frozen=True)
class RowWeights:
    """Weights of the rows of one fit.

    Attributes
    ----------
    price : Price
        Of the fit, weights included.
    most : Fraction or None
        The greatest weight of a row; None where rows have none of their own.
    classes : tuple of Fraction
        Public weights of the classes; empty without.
    balanced : int
        The number of classes whose rows are counted with noise; 0 without.

    Guarantee
    ---------
    Within the price: noisy numbers of rows by class, to which a row adds 1 in one class, then the fit.
    """

    price: Price
    most: Fraction | None = None
    classes: tuple[Fraction, ...] = ()
    balanced: int = 0

    @classmethod
    def of(cls, price: Price, most: Fraction | None, given: ClassWeight, labels: NDArray[np.generic]) -> RowWeights:
        """Weights by the parameter ``class_weight`` of a classifier with these labels.

        Parameters
        ----------
        price : Price
            Loss of the fit, weights included.
        most : Fraction or None
            The greatest weight of a row; None where rows have none of their own.
        given : ClassWeight
            ``class_weight`` as the caller wrote it.
        labels : array of any type
            Classes of the target, shape (classes,).

        Returns
        -------
        RowWeights
            Weights; balanced ones are counted when the model is drawn.

        Raises
        ------
        PublicParameterError
            A word but "balanced", a class without a weight, or a weight of 0 or less.
        """
        if given is None:
            return cls(price, most)
        if isinstance(given, str):
            if given != "balanced":
                raise PublicParameterError(f'class_weight is a mapping of labels, or "balanced", got {given!r}')
            return cls(price, most, balanced=len(labels))
        listed = labels.tolist()
        if set(given) != set(listed):
            raise PublicParameterError(
                f"class_weight has one weight for each of the classes {first_of(listed)}. Nothing was charged."
            )
        found = tuple(read(given[label], "class_weight") for label in listed)
        if min(found) <= 0:
            raise PublicParameterError("a weight of a class must be > 0")
        return cls(price, most, found)

    @property
    def used(self) -> bool:
        return self.most is not None or bool(self.classes) or bool(self.balanced)

    @property
    def left(self) -> Price:
        """The price of the fit beside the weights."""
        return self.price.within(1 - BALANCED) if self.balanced else self.price

    @property
    def greatest(self) -> Fraction:
        """The weight that counts whole: of balanced classes that of the rarest."""
        return (self.most or Fraction(1)) * max(self.classes, default=Fraction(1))

    @property
    def counting(self) -> Noise:
        """Noise of the numbers of rows by class."""
        return self.price.noise(Fraction(1), BALANCED)

    def whole(self, plan: Fit) -> Guarantee:
        """The guarantee of the fit, weights included."""
        if not self.balanced:
            return plan.guarantee
        parts: tuple[Guarantee, ...] = (plan.guarantee,)
        if isinstance(plan, Descent):
            parts = plan.parts
        elif isinstance(plan, OutputPerturbation):
            parts = (plan.noise.guarantee,)
        return self.price.whole(
            [self.counting.guarantee, *parts], "numbers of rows by class, and a fit weighed by them"
        )

    def draw(self, values: Floats, places: Floats, entropy: Entropy) -> tuple[Floats, Integers | None, Floats | None]:
        """Rows without their weights, the share of every row in steps, and the noisy shares of balanced classes.

        Parameters
        ----------
        values : array of float
            Rows in the units of the columns, shape (n, columns); the last column has the weights where rows have some.
        places : array of float
            Class of each row as its place among the labels, shape (n,); NaN where a row has none.
        entropy : Entropy
            Source of the noise.

        Returns
        -------
        tuple of arrays, the last two or None
            Rows of shape (n, columns), shares of shape (n,) in steps of 1 / UNIT, and shares of shape (classes,).
        """
        if not self.used:
            return values, None, None
        share = np.ones(len(values))
        if self.most is not None:
            values, own = values[:, :-1], values[:, -1]
            share = np.where(np.isfinite(own), np.clip(own, 0.0, float(self.most)), 0.0) / float(self.most)
        there = np.isfinite(places)
        of_class, told = None, None
        if self.classes:
            of_class = np.array([float(weight / max(self.classes)) for weight in self.classes])
        if self.balanced:
            member = np.zeros((len(values), self.balanced), np.int64)
            known = there & np.isfinite(values).all(axis=1)
            member[known, places[known].astype(np.int64)] = 1
            counts = noisy(self.counting, member.sum(axis=0), entropy)
            counts = np.maximum(counts, max(1.0, 2 * deviation(self.counting)))
            of_class = told = counts.min() / counts
        if of_class is not None:
            share = share * np.where(there, of_class[np.where(there, places, 0.0).astype(np.int64)], 0.0)
        steps = np.floor(np.clip(share, 0.0, 1.0) * UNIT).astype(np.int64)
        return values, np.asarray(steps), told


def weighed_by(here: Circumstances, weights: object, most: Number | None, *, complete: bool) -> Circumstances:
    """Circumstances whose rows end in their weights, cut to the public greatest; a weight that is no number is missing.

    Parameters
    ----------
    here : Circumstances
    weights : array of shape (n,), or str
        Of rows of an array; of columns of a study the name of the column that has them.
    most : number or None
        The greatest weight, > 0.
    complete : bool
        True if it is vouched for arrays that no row lacks a value.

    Returns
    -------
    Circumstances

    Raises
    ------
    QuestionError, PublicParameterError, ValueError
        Before any row is read.
    """
    if most is None:
        raise QuestionError(UNBOUNDED)
    limit = read(most, "most_weight")
    if limit <= 0:
        raise PublicParameterError("most_weight must be > 0")
    if here.shelf is not None:
        if not isinstance(weights, str):
            raise QuestionError(
                'sample_weight of columns of a study is the name of the column that has them: sample_weight="w". '
                "Nothing was charged."
            )
        return _by_column(here, here.shelf, weights, limit)
    if isinstance(weights, Handle | str):
        raise QuestionError("sample_weight of an array is an array. Nothing was charged.")
    dimensions = array(weights, "sample_weight").ndim if is_typed(weights) else 1  # a list tells no shape yet
    if dimensions != 1:
        raise ValueError(f"sample_weight has one weight for each row: got an array of {dimensions} dimensions")
    given = targets(weights)
    if here.exact is not None and len(given) != here.exact:
        raise ValueError(f"sample_weight.shape == {given.shape}, expected ({here.exact},)!")

    def reading() -> tuple[Floats, NDArray[np.generic] | None]:
        values, y = here.read()
        found = cells(given)
        if len(found) != len(values):
            raise ValueError("sample_weight has one value for each row")
        cut = _cut(found, limit)
        cut = np.where(np.isfinite(cut), cut, float(limit) / 2) if complete else cut
        return np.column_stack([values, cut]), y

    return replace(here, read=reading, owned=None, most_weight=limit)


def _by_column(here: Circumstances, shelf: Shelf, name: str, limit: Fraction) -> Circumstances:
    """Circumstances of rows of a study that are weighed by one of its columns."""
    name = shelf.canonical(name)
    shelf.bounds(name)  # refused without
    columns = (*(here.names or ()), *(() if here.target is None else (here.target,)))

    def reading() -> tuple[Floats, NDArray[np.generic] | None]:
        found = shelf.read((*columns, name))
        values = np.column_stack([found[:, : len(here.bounds)], _cut(found[:, -1], limit)])
        return values, None if here.target is None else shelf.named(here.target, found[:, -2])

    complete = here.complete and shelf.complete((*columns, name))
    return replace(here, read=reading, owned=None, most_weight=limit, weights=name, complete=complete)


def _cut(found: Floats, limit: Fraction) -> Floats:
    return np.clip(np.where(np.isfinite(found), found, np.nan), 0.0, float(limit))


__all__ = ["BALANCED", "ClassWeight", "RowWeights", "weighed_by"]
