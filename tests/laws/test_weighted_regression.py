"""Weighted least squares: no row moves a protected sum further than an unweighted one may, and sums are right."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.data.query import WEIGHT_ONE
from reticent.entropy import Replayed
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.statistics.price import Price
from reticent.statistics.regression.frame import CategoryKeys, CompleteRows, Frame
from reticent.statistics.regression.products import WHOLE, Products, Way
from reticent.statistics.regression.sandwich import WHOLE as PART
from reticent.statistics.regression.sandwich import Meat, SandwichTerms
from reticent.statistics.scaling import UNIT

WEIGHTS = (0, 1, 37, WEIGHT_ONE // 3, WEIGHT_ONE)
VALUES = (-UNIT, -1234, 0, 7, UNIT)
UNITS = (Fraction(0), Fraction(1))
NARROW = Frame((UNITS,), UNITS)
KEYED = Frame((UNITS, CategoryKeys(2)), UNITS)
WIDE = Frame((UNITS, UNITS, UNITS), UNITS)
WAYS: tuple[Way, ...] = ("cells", "sums")


def made(frame: Frame, way: Way, kind: Kind, delta: str) -> Products:
    found = Products(frame, Price(Fraction(1), Fraction(delta), Adjacency(kind)))
    found.__dict__["way"] = way  # in place of the better of the two
    return found


def rows(frame: Frame) -> list[CompleteRows]:
    keys = [(0, 1) if isinstance(block, CategoryKeys) else VALUES[::2] for block in frame.blocks]
    return [
        CompleteRows(np.array([steps], np.int64), np.array([y], np.int64), np.array([weight], np.int64))
        for *steps, y, weight in product(*keys, VALUES[::2], WEIGHTS)
    ]


def vectors(products: Products, held: CompleteRows) -> list[NDArray[np.object_]]:
    exact = products._cells(held) if products.way == "cells" else products._one_by_one(held)
    return [np.array(numbers, dtype=object) for numbers in exact]


@pytest.mark.parametrize("delta", ["0", "0.00001"])
@pytest.mark.parametrize("kind", ["add_remove", "substitute"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("frame", [NARROW, KEYED, WIDE])
def test_no_weighted_row_moves_a_draw_further_than_its_noise_is_made_for(
    frame: Frame, way: Way, kind: Kind, delta: str
) -> None:
    """Every row alone, and every pair of rows that replace one another; some draw is moved as far as is claimed."""
    products = made(frame, way, kind, delta)
    each = [vectors(products, row) for row in rows(frame)]
    reached = 0.0
    for place, noise in enumerate(products.noises):
        numbers = np.array([one[place] for one in each], dtype=np.float64)
        others = numbers[::7] if kind == "substitute" else np.zeros((1, numbers.shape[1]))
        apart = numbers[:, None, :] - others[None, :, :]
        if isinstance(noise, Geometric):
            far, claimed = np.abs(apart).sum(axis=2).max(), float(noise.sensitivity.bound)
        else:
            far, claimed = (apart**2).sum(axis=2).max(), float(noise.sensitivity.squared)
        assert far <= claimed * (1 + 1e-12)
        reached = max(reached, far / claimed)
    assert reached > 0.2


@pytest.mark.parametrize("way", WAYS)
def test_weighted_sums_are_those_of_the_rows_times_their_weights(way: Way) -> None:
    generator = np.random.default_rng(4)
    steps, y = generator.integers(-UNIT, UNIT + 1, (500, 3)), generator.integers(-UNIT, UNIT + 1, 500)
    weights = generator.integers(0, WEIGHT_ONE + 1, 500)
    products = made(WIDE, way, "add_remove", "0")
    sums = Products(WIDE, Price(Fraction(10**9), Fraction(0), Adjacency("add_remove")))
    sums.__dict__["way"] = products.way
    found = sums.draw(CompleteRows(steps, y, weights), Replayed("exact"))
    x, v = np.column_stack([np.ones(500), steps / UNIT]), weights / WEIGHT_ONE
    assert found.gram == pytest.approx((x.T * v) @ x, abs=1e-3)
    assert found.cross == pytest.approx((x.T * v) @ (y / UNIT), abs=1e-3)
    assert found.n == pytest.approx(v.sum(), abs=1e-3)
    assert found.square == pytest.approx((v * (y / UNIT) ** 2).sum(), abs=1e-3)
    plain = sums.draw(CompleteRows(steps, y), Replayed("exact"))
    assert abs(plain.n - v.sum()) > 100  # weights that are not looked at would be seen


@pytest.mark.parametrize("way", WAYS)
def test_the_sums_of_rows_are_the_sums_of_each(way: Way) -> None:
    """So pairs of rows say all of tables."""
    products = made(WIDE, way, "add_remove", "0")
    some = rows(WIDE)[::31]
    together = CompleteRows(
        np.concatenate([row.steps for row in some]),
        np.concatenate([row.y for row in some]),
        np.concatenate([row.weights for row in some if row.weights is not None]),
    )
    apart = [vectors(products, row) for row in some]
    for place, numbers in enumerate(vectors(products, together)):
        assert (numbers == sum(one[place] for one in apart)).all()


def test_a_weighted_row_adds_at_most_one_part_to_the_meat() -> None:
    generator = np.random.default_rng(4)
    steps, y = generator.integers(-UNIT, UNIT + 1, (400, 1)), generator.integers(-UNIT, UNIT + 1, 400)
    price = Price(Fraction(10**9), Fraction(0), Adjacency("add_remove"))
    held = CompleteRows(steps, y, np.full(400, WEIGHT_ONE, np.int64))
    sums = Products(NARROW, price).draw(held, Replayed("sums"))
    meat = Meat(price, 2, Fraction(1))
    told = SandwichTerms(sums, NARROW.back[1], meat, 400.0)
    for place in range(60):
        row = NARROW.featured(CompleteRows(steps[place : place + 1], y[place : place + 1]))
        parts = np.array(
            [
                meat.draw(row, y[place : place + 1], told, Replayed("meat"), np.array([weight], np.int64))
                for weight in WEIGHTS
            ]
        )
        assert (parts >= -1e-6).all()
        assert (parts.sum(axis=2) <= 1.0 + 1e-6).all()
        squares = (parts * told.squared).sum(axis=2)
        assert (np.diff(squares, axis=0) >= -1e-5).all()  # a larger weight never adds less
    assert PART == WEIGHT_ONE
    assert WHOLE > 0


def test_an_interval_of_sums_that_noise_has_blown_up_ends_without_a_fault() -> None:
    """Its excess is that of shares of the variance: the square of a variance of 1e200 is beyond a double."""
    price = Price(Fraction(1), Fraction(0), Adjacency("add_remove"))
    held = CompleteRows(np.array([[UNIT], [-UNIT]] * 50), np.array([UNIT, -UNIT] * 50), np.full(100, WEIGHT_ONE))
    sums = Products(NARROW, price).draw(held, Replayed("sums"))
    told = SandwichTerms(sums, NARROW.back[1], Meat(price, 2, Fraction(1)), 100.0)
    part, way = told.parts[1], np.ones(2)
    for size in (1.0, 1e160):
        ends = [told._end(part, way, side, size, np.full(len(sums.deviations), 1e-9)) for side in (-1.0, 1.0)]
        assert all(end is None or end >= 0.0 for end in ends)
