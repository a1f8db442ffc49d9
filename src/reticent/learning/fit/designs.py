"""Columns of a fit as the blocks of a linear model: numbers, and the keys of a category together. No row is read here.

A handle names a category by one column of 0 and 1 for each key; a linear model tells all but one of them, the
reference. Columns of an array are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from reticent.data.format import slope_unit
from reticent.data.schema import Key
from reticent.errors import PublicParameterError
from reticent.learning.fit.fit_release import Circumstances
from reticent.statistics.regression.coefficients import INTERCEPT
from reticent.statistics.regression.frame import Block, CategoryKeys, Frame
from reticent.statistics.scaling import Bound, Floats

PLAIN: Final = (Fraction(0), Fraction(1))


@dataclass(frozen=True, slots=True)
class DesignMatrix:
    """A frame, the columns of each of its blocks, and for every column the place of its coefficient, if it has one.

    Coefficients are counted without the intercept's.
    """

    frame: Frame
    columns: tuple[tuple[int, ...], ...]
    features: tuple[int | None, ...]

    def placed(self, values: Floats) -> Floats:
        """Rows of shape (n, columns) as rows of shape (n, blocks): of a category the place of its key."""
        there = np.isfinite(values).all(axis=1)
        found = np.full((len(values), len(self.columns)), np.nan)
        for place, (block, columns) in enumerate(zip(self.frame.blocks, self.columns, strict=True)):
            part = values[:, list(columns)]
            found[:, place] = part.argmax(axis=1) if isinstance(block, CategoryKeys) else part[:, 0]
        found[~there] = np.nan
        return found


def design(here: Circumstances, y: Bound, reference: Sequence[Key], *, intercept: bool) -> DesignMatrix:
    """The blocks of a fit's columns; the reference of a category is its key in ``reference``, or its first.

    Parameters
    ----------
    here : Circumstances
    y : pair of Fraction
        Bounds of the target.
    reference : sequence of keys
        Keys that the others of a category are compared with.
    intercept : bool

    Returns
    -------
    DesignMatrix

    Raises
    ------
    PublicParameterError
        For a reference that is no key, and for a category without an intercept.
    """
    groups, left = _groups(here), [str(key) for key in reference]
    blocks: list[Block] = []
    features: list[int | None] = [None] * len(here.bounds)
    told = 0
    for columns in groups:
        if len(columns) == 1:
            blocks.append(here.bounds[columns[0]])
            features[columns[0]], told = told, told + 1
            continue
        assert here.names is not None
        keys = [here.names[column].partition("=")[2] for column in columns]
        named = [key for key in left if key in keys]
        left = [key for key in left if key not in named]
        block = CategoryKeys(len(keys), keys.index(named[0]) if named else 0)
        blocks.append(block)
        for other in block.others:
            features[columns[other]], told = told, told + 1
    if left:
        raise PublicParameterError(f"reference: {left[0]} is no key of a category among the columns")
    return DesignMatrix(Frame(tuple(blocks), y, intercept), tuple(groups), tuple(features))


def coefficients(made: DesignMatrix, here: Circumstances) -> tuple[tuple[str, str], ...]:
    """Names and units of the numbers that are told, as a plan lists them: ``("age", "euros per year")``.

    Parameters
    ----------
    made : DesignMatrix
    here : Circumstances

    Returns
    -------
    tuple of pair of str
        The intercept's first, if there is one.
    """
    names = here.names or tuple(f"x{place}" for place in range(len(here.bounds)))

    def unit(name: str) -> str:
        return name if here.shelf is None else here.shelf.unit_word(name)

    target = here.target or "y"
    y = unit(target)
    keys = {column for columns in made.columns if len(columns) > 1 for column in columns}
    told = [(place, column) for column, place in enumerate(made.features) if place is not None]
    slopes = [
        (names[at], y if at in keys else slope_unit(target, y, names[at], unit(names[at]))) for _, at in sorted(told)
    ]
    return ((INTERCEPT, y), *slopes) if made.frame.intercept else tuple(slopes)


def _groups(here: Circumstances) -> list[tuple[int, ...]]:
    """Columns that are keys of one category together, in their order; others alone."""
    if here.shelf is None or here.names is None:
        return [(place,) for place in range(len(here.bounds))]
    found: dict[str, list[int]] = {}
    for place, (name, bound) in enumerate(zip(here.names, here.bounds, strict=True)):
        category = here.shelf.category(name)
        of = name if category is None or bound != PLAIN else f"{category}="
        found.setdefault(of, []).append(place)
    return [tuple(places) for places in found.values()]


__all__ = ["DesignMatrix", "coefficients", "design"]
