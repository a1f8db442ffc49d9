"""Made-up rows: from the schema alone, the same for the same stream, and accepted by the engine."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.made_up_rows import made_up
from reticent.data.query import CappedPersons, DistinctPersons, PresentValues, Rows
from reticent.data.schema import Category, Column, Person, Schema, category, integer, real
from reticent.data.table import open_table
from reticent.errors import PublicParameterError


class Counting:
    """A deterministic stream."""

    def __init__(self, start: int) -> None:
        self.state = start

    def bits(self, count: int) -> int:
        raise AssertionError("not used")

    def words(self, count: int) -> NDArray[np.uint64]:
        places = np.arange(self.state, self.state + count, dtype=np.uint64)
        self.state += count
        mixed = (places + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        return np.asarray(mixed ^ (mixed >> np.uint64(27)))


COLUMNS: dict[str, Column] = {
    "x": real(-1, 3),
    "free": real(),
    "k": integer(2, 4),
    "j": integer(),
    "town": category(["a", "b"]),
    "site": Category((1, 2), constant=True),
}


@pytest.mark.parametrize("person", [Person("add_remove"), Person("substitute", "who", rows=3)])
def test_made_up_rows_fit_the_schema(person: Person) -> None:
    schema = Schema(COLUMNS, person)
    rows = made_up(schema, 500, Counting(0))
    again = made_up(schema, 500, Counting(0))
    other = made_up(schema, 500, Counting(10**6))
    assert all(
        np.array_equal(np.asarray(rows[name]), np.asarray(again[name])) or name in ("x", "free", "k", "j")
        for name in rows
    )
    assert not np.array_equal(np.asarray(rows["x"]), np.asarray(other["x"]), equal_nan=True)
    x, k = np.asarray(rows["x"], dtype=np.float64), np.asarray(rows["k"], dtype=np.float64)
    assert np.nanmin(x) >= -1
    assert np.nanmax(x) <= 3
    assert set(k[~np.isnan(k)]) == {2, 3, 4}
    counted, persons, capped, known = open_table(rows, schema).run(
        [Rows(), DistinctPersons(), CappedPersons(), PresentValues("x")], bytes(32)
    )
    assert persons.vectors == ((500,),)
    assert capped.vectors == ((0,),)
    size = counted.vectors[0][0]
    assert size == len(x) == (500 if person.rows == 1 else size)
    assert 0.95 < known.vectors[0][0] / size < 1


def test_a_constant_column_is_constant() -> None:
    rows = made_up(Schema(COLUMNS, Person("add_remove", "who", rows=4)), 100, Counting(0))
    assert len(set(zip(rows["who"], rows["site"], strict=True))) == 100


def test_nobody_is_refused() -> None:
    with pytest.raises(PublicParameterError, match="people must be >= 1"):
        made_up(Schema(COLUMNS, Person("add_remove")), 0, Counting(0))
