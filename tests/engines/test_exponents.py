"""Exponents told from an expression hold for each double it takes, so that PostgreSQL may use operations of its own."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import ibis
import numpy as np

from reticent.data.engines.casts import clamp, double
from reticent.data.engines.exponents import exponents
from reticent.data.engines.postgres_dialect import POSTGRES

ROWS = ibis.table({"place": "int64", "x": "float64", "n": "int64"}, name="t")
DOUBLES = np.array(
    [sign * x for sign in (1, -1) for x in (0.0, 5e-324, 2.0**-600, 0.1, 1.0, 3.7, 2.0**600, 1.7e308, math.inf)]
)
WHOLES = np.array([0, 1, -1, 7, 2**31, 2**62, -(2**63), 2**63 - 1])
X, N = (side.ravel() for side in np.meshgrid(DOUBLES, WHOLES))
ENDS = (5e-324, 1e-300, 0.5, 1.0, 3.0, 2.0**511, 2.0**512, 1e300, 1.7976931348623157e308)


class Computed(NamedTuple):
    """An expression over the table "t", and its values by numpy for the rows of X and N."""

    expression: Any
    values: Any


def leaf(chance: random.Random) -> Computed:
    match chance.randrange(4):
        case 0:
            low, high = sorted(chance.choice((-1, 1)) * chance.choice(ENDS) for _ in range(2))
            return Computed(clamp(ROWS.x, low, high), np.clip(X, low, high))
        case 1:
            return Computed(ROWS.n.cast("float64"), N.astype(float))
        case 2:
            value = chance.choice((-1, 1)) * chance.choice((0.0, *ENDS))
            return Computed(double(value), np.full(len(X), value))
        case _:
            return Computed(ROWS.x, X)


def made(chance: random.Random, depth: int) -> Iterator[Computed]:
    """A random expression, behind all those that it is made of."""
    if not depth:
        yield leaf(chance)
        return
    sides = [list(made(chance, chance.randrange(depth))) for _ in range(2)]
    for side in sides:
        yield from side
    one, other = (side[-1] for side in sides)
    with np.errstate(all="ignore"):
        match chance.randrange(4):
            case 0:
                yield Computed(one.expression * other.expression, one.values * other.values)
            case 1:
                yield Computed(one.expression / other.expression, one.values / other.values)
            case 2:
                yield Computed(one.expression + other.expression, one.values + other.values)
            case _:
                yield Computed(one.expression - other.expression, one.values - other.values)


def computed(number: int) -> list[Computed]:
    chance = random.Random(17)
    return [one for _ in range(number) for one in made(chance, 3)]


def test_no_double_of_an_expression_is_beyond_the_exponents_told() -> None:
    told = 0
    for expression, values in computed(400):
        found = exponents(expression.op())
        if found is None:
            continue
        told += 1
        sizes = np.abs(values)
        assert np.isfinite(sizes).all(), expression
        assert (sizes[sizes > 0] >= math.ldexp(1.0, found.least)).all(), expression
        assert (np.log2(sizes[sizes > 0]) <= found.most).all(), expression
        assert not found.nonzero or sizes.all(), expression
    assert told > 400


def test_nothing_is_told_of_what_can_overflow_vanish_or_has_no_bounds() -> None:
    one = clamp(ROWS.x, -1.0, 1.0)
    for expression in (
        ROWS.x * double(2.0),
        one * one,  # the square of the least double vanishes
        one / one,
        double(2.0**1000) * double(2.0**24),
        double(1.7e308) + double(1.7e308),
        double(2.0**-1000) / double(2.0**100),
        clamp(ROWS.x, -1.0, 1.7e308) - double(-1.7e308),
        ibis.cases((ROWS.x < double(0.0), double(0.0)), (ROWS.x > double(1.0), double(2.0)), else_=ROWS.x) * double(2),
        ibis.cases((ROWS.x < double(0.0), double(0.0)), (ROWS.n > double(1.0), double(1.0)), else_=ROWS.x) * double(2),
    ):
        assert exponents(expression.op()) is None
        assert "PG_TEMP" in POSTGRES.write(ROWS.select(z=expression))


def test_grid_values_and_their_powers_take_the_operations_of_the_engine() -> None:
    part = ROWS.n.cast("float64") / double(2.0**29)
    for expression in (clamp(ROWS.x, 0.0, 100.0) * double(2.0**22), part * part * part * double(2.0**30) + double(0.5)):
        assert exponents(expression.op()) is not None
        assert "PG_TEMP" not in POSTGRES.write(ROWS.select(z=expression))


def test_whole_numbers_are_summed_as_they_are_and_decimals_as_decimals() -> None:
    assert "DECIMAL" not in POSTGRES.write(ROWS.aggregate(z=ROWS.n.cast("decimal(38,0)").sum()))
    assert "DECIMAL" in POSTGRES.write(ROWS.aggregate(z=ROWS.x.cast("decimal(38,0)").sum()))


def test_a_term_is_computed_once_before_it_is_summed() -> None:
    """The server merges selects, and computes a term anew wherever that names it: not where there is an offset."""
    rows = ROWS.mutate(z=clamp(ROWS.x, 0.0, 100.0) * double(8.0))
    told = POSTGRES.write(rows.group_by("place").aggregate(n=rows.z.count(), total=rows.z.sum(), most=rows.z.max()))
    assert told.count("CASE") == told.count("OFFSET 0") == 1
    plain = ROWS.filter(ROWS.n > 3)
    assert "OFFSET" not in POSTGRES.write(plain.group_by("place").aggregate(n=plain.n.count()))


def test_persons_that_are_whole_numbers_are_sorted_beside_nothing_that_is_not_read() -> None:
    rows = ibis.table({"who": "int64", "place": "int64", "x": "float64"}, name="seen")
    told = POSTGRES.write(rows.group_by("who").aggregate(size=rows.count()))
    assert '(SELECT "who" FROM "seen" AS "t0" ORDER BY "who")' in told
    told = POSTGRES.write(rows.group_by("who").aggregate(most=rows.place.max()))
    assert '(SELECT "who", "place" FROM "seen" AS "t0" ORDER BY "who")' in told
    assert "ORDER BY" not in POSTGRES.write(rows.group_by("who", "place").aggregate(size=rows.count()))
    texts = ibis.table({"who": "string"}, name="seen")
    assert "ORDER BY" not in POSTGRES.write(texts.group_by("who").aggregate(size=texts.count()))
