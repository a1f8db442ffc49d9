"""Made-up rows, drawn from the public schema alone: what ``rehearse`` and audits run on instead of anyone's data.

A bounded column is uniform between its bounds, and a category is uniform over its list. An unbounded column follows the
standard logistic law (heavier tails than a normal). A person has 1 to ``rows`` rows, each number as likely. About one
cell in fifty is missing where the declaration lets cells be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.data.schema import Category, Column, Integer, Real, Schema
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError

Values: TypeAlias = "NDArray[np.float64] | list[str | int | bool | None]"

MISSING: Final = 0.02
SPREAD: Final = 10  # of an unbounded integer column


def made_up(schema: Schema, people: int, entropy: Entropy) -> Mapping[str, Values]:
    """A table of ``people`` made-up persons as a dict of columns, for ``open_table``.

    Parameters
    ----------
    people : int
        The number of persons, >= 1.
    entropy : Entropy
        A deterministic stream gives the same table again.
    """
    if people < 1:
        raise PublicParameterError(f"people must be >= 1, got {people}")
    person = schema.person
    sizes = 1 + _below(person.rows, people, entropy) if person.column is not None else np.ones(people, dtype=np.int64)
    owner = np.repeat(np.arange(people), sizes)
    columns = {name: _column(column, owner, people, entropy) for name, column in schema.columns.items()}
    if person.column is not None:
        columns[person.column] = [f"p{number}" for number in owner.tolist()]
    return columns


def _column(column: Column, owner: NDArray[np.int64], people: int, entropy: Entropy) -> Values:
    size = people if column.constant else len(owner)
    values = _values(column, size, entropy)
    values = values[owner] if column.constant else values
    if isinstance(column, Category):
        return [column.among[place] for place in values.astype(np.int64).tolist()]
    if column.complete:
        return values
    gone = _uniform(len(owner), entropy) < MISSING
    return np.where(gone, np.nan, values)


def _values(column: Column, size: int, entropy: Entropy) -> NDArray[np.float64]:
    match column:
        case Category(among=among):
            return _below(len(among), size, entropy).astype(np.float64)
        case Integer(low=int() as low, high=int() as high):
            return np.minimum(np.floor(low + _uniform(size, entropy) * (high - low + 1)), high)
        case Real(low=Fraction() as low, high=Fraction() as high):
            return float(low) + _uniform(size, entropy) * (float(high) - float(low))
        case Integer():
            return np.floor(SPREAD * _logistic(size, entropy))
        case Real():
            return _logistic(size, entropy)
        case _:
            assert_never(column)


def _uniform(size: int, entropy: Entropy) -> NDArray[np.float64]:
    """Numbers strictly between 0 and 1. Nothing private is made of them, so the last bits do not matter."""
    return ((entropy.words(size) >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52


def _below(limit: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    return np.minimum((_uniform(size, entropy) * limit).astype(np.int64), limit - 1)


def _logistic(size: int, entropy: Entropy) -> NDArray[np.float64]:
    u = _uniform(size, entropy)
    return np.asarray(np.log(u) - np.log1p(-u))
