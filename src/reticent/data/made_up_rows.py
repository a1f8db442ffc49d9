"""Made-up rows, drawn from the public schema alone: what ``rehearse`` and audits run on instead of anyone's data.

Rows of the usual shape are those that plans assume. They have a normal law, about the middle of the bounds with a sixth
of their range as standard deviation, else the standard one. Rows of the wide shape reach every cell: a uniform law
between the bounds, or the standard logistic one. A category is uniform over its list. A person has 1 to ``rows`` rows,
each number as likely, or numbers about the typical one where that is declared. About one cell in fifty is missing where
the declaration lets cells be missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from reticent.data.schema import Category, Column, Integer, Person, Real, Schema
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError

Shape: TypeAlias = Literal["usual", "wide"]
Values: TypeAlias = "NDArray[np.float64] | list[str | int | bool | None]"

MISSING: Final = 0.02
ALIKE: Final = 0.9  # correlation of the rows of one person: intervals allow for rows that are all the same
SPREAD: Final = 10  # of an unbounded integer column


def made_up(schema: Schema, people: int, entropy: Entropy, shape: Shape = "wide") -> Mapping[str, Values]:
    """A table of ``people`` made-up persons as a dict of columns, for ``open_table``.

    Parameters
    ----------
    schema : Schema
        Declared columns, and the person.
    people : int
        The number of persons, >= 1.
    entropy : Entropy
        A deterministic stream gives the same table again.
    shape : "usual" or "wide"
        The law of numbers.

    Returns
    -------
    mapping of str to Values
        Values of each column, of one length.

    Raises
    ------
    PublicParameterError
        ``people`` below 1.
    """
    if people < 1:
        raise PublicParameterError(f"people must be >= 1, got {people}")
    person = schema.person
    sizes = _sizes(person, people, entropy) if person.column is not None else np.ones(people, dtype=np.int64)
    owner = np.repeat(np.arange(people), sizes)
    columns = {name: _column(column, owner, people, entropy, shape) for name, column in schema.stored.items()}
    for name in schema.texts:  # the k-th key is half as frequent as the one before
        columns[name] = [f"key {rank}" for rank in _geometric(len(owner), entropy)]
    if person.column is not None:
        columns[person.column] = [f"p{number}" for number in owner.tolist()]
    if person.household is not None:
        columns[person.household] = [f"h{number // person.moved}" for number in owner.tolist()]
    return columns


def _geometric(size: int, entropy: Entropy) -> list[int]:
    return [min(int(-math.log2(max(share, 1e-300))), 50) for share in _uniform(size, entropy).tolist()]


def _sizes(person: Person, people: int, entropy: Entropy) -> NDArray[np.int64]:
    """Rows of each person, about the number that plans suppose."""
    whole, rest = divmod(person.supposed_rows, 1)
    reach = min(int(whole) - 1, person.rows - int(whole) - (1 if rest else 0))
    around = int(whole) - reach + _below(2 * reach + 1, people, entropy)
    return around + (_uniform(people, entropy) < float(rest)) if rest else around


def _column(column: Column, owner: NDArray[np.int64], people: int, entropy: Entropy, shape: Shape) -> Values:
    values = _values(column, np.arange(people) if column.constant else owner, people, entropy, shape)
    values = values[owner] if column.constant else values
    if isinstance(column, Category):
        return [column.among[place] for place in values.astype(np.int64).tolist()]
    if not column.complete:
        values = np.where(_uniform(len(owner), entropy) < MISSING, np.nan, values)
    dated = column.calendar if isinstance(column, Integer) else None
    if dated is None:
        return values
    moments = np.nan_to_num(values * dated.step).astype(np.int64).astype("datetime64[s]")
    return np.where(np.isnan(values), np.datetime64("NaT"), moments)


def _values(
    column: Column, owner: NDArray[np.int64], people: int, entropy: Entropy, shape: Shape
) -> NDArray[np.float64]:
    match column:
        case Category(among=among):
            return _below(len(among), len(owner), entropy).astype(np.float64)
        case Integer(low=int() as low, high=int() as high):
            return np.minimum(np.floor(low + _within(owner, people, entropy, shape) * (high - low + 1)), high)
        case Real(low=Fraction() as low, high=Fraction() as high):
            return float(low) + _within(owner, people, entropy, shape) * (float(high) - float(low))
        case Integer():
            return np.floor(SPREAD * _anywhere(owner, people, entropy, shape))
        case Real():
            return _anywhere(owner, people, entropy, shape)
        case _:
            assert_never(column)


def _within(owner: NDArray[np.int64], people: int, entropy: Entropy, shape: Shape) -> NDArray[np.float64]:
    """Numbers between 0 and 1."""
    if shape == "wide":
        return _uniform(len(owner), entropy)
    return np.clip(0.5 + _alike(owner, people, entropy) / 6.0, 0.0, 1.0)


def _anywhere(owner: NDArray[np.int64], people: int, entropy: Entropy, shape: Shape) -> NDArray[np.float64]:
    return _logistic(len(owner), entropy) if shape == "wide" else _alike(owner, people, entropy)


def _alike(owner: NDArray[np.int64], people: int, entropy: Entropy) -> NDArray[np.float64]:
    """Standard normal numbers; those of one person have correlation ``ALIKE``."""
    own, rest = _normal(people, entropy)[owner], _normal(len(owner), entropy)
    return np.asarray(math.sqrt(ALIKE) * own + math.sqrt(1.0 - ALIKE) * rest)


def _uniform(size: int, entropy: Entropy) -> NDArray[np.float64]:
    """Numbers strictly between 0 and 1. Nothing private is made of them, so the last bits do not matter."""
    return ((entropy.words(size) >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52


def _below(limit: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    return np.minimum((_uniform(size, entropy) * limit).astype(np.int64), limit - 1)


def _normal(size: int, entropy: Entropy) -> NDArray[np.float64]:
    """Standard normal numbers (Box and Muller 1958)."""
    radius = np.sqrt(-2.0 * np.log(_uniform(size, entropy)))
    return np.asarray(radius * np.cos(2.0 * np.pi * _uniform(size, entropy)))


def _logistic(size: int, entropy: Entropy) -> NDArray[np.float64]:
    u = _uniform(size, entropy)
    return np.asarray(np.log(u) - np.log1p(-u))
