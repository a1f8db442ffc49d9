"""Soft counts: sensitivity by enumeration, moments that come back, and the forms behind the intervals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from reticent.data.query import POWER_ONE
from reticent.data.schema import FixedPointGrid, grid_by_width
from reticent.statistics.moments.moment_step import PLAIN, UNIT, Kind, MomentBasis, design, plain_change

GRIDS = [FixedPointGrid(0, 0, 1), FixedPointGrid(0, 0, 7), FixedPointGrid(0, -5, 6), FixedPointGrid(0, 3, 12)]
Row = int | None  # a grid value, or missing


def sums(rows: tuple[Row, ...], grid: FixedPointGrid, order: int) -> tuple[int, ...]:
    """What ``Moments`` answers."""
    present = [row - grid.middle for row in rows if row is not None]
    found = [len(present), sum(present)]
    for power in range(2, order + 1):
        found.append(sum(int(np.floor((x / grid.reach) ** power * POWER_ONE + 0.5)) for x in present))
    return tuple(found[: order + 1])


def moved(
    made: MomentBasis, here: tuple[Row, ...], there: tuple[Row, ...], grid: FixedPointGrid, *, sized: bool
) -> int:
    pair = zip(*made.integers([sums(here, grid, made.order), sums(there, grid, made.order)]), strict=True)
    steps = [abs(a - b) for a, b in pair]
    return sum(steps[1:] if sized else steps)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_adding_a_row_moves_soft_counts_by_one_unit(order: int, grid: FixedPointGrid) -> None:
    made = design("soft", order, grid)
    values = range(grid.lowest, grid.highest + 1)
    worst = max(moved(made, rest, (*rest, row), grid, sized=False) for rest in [(), (grid.lowest,)] for row in values)
    assert worst <= made.sensitivity(1, 1)
    assert worst >= 0.99 * UNIT


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("kind", ["plain", "sized"])
def test_replacing_a_row_moves_plain_counts_within_the_sensitivity(
    kind: Kind, order: int, grid: FixedPointGrid
) -> None:
    made, sized = design(kind, order, grid), kind == "sized"
    values: list[Row] = list(range(grid.lowest, grid.highest + 1))
    if not sized:
        values.append(None)
    worst = max(moved(made, (a,), (b,), grid, sized=sized) for a, b in itertools.combinations(values, 2))
    assert worst <= made.sensitivity(1, 1)
    if order < 4 and (grid.highest - grid.lowest) % 2:  # the bound is reached between the two ends
        assert worst >= 0.99 * made.sensitivity(1, 1)


def test_the_bound_for_a_replaced_row_holds_on_a_fine_grid() -> None:
    y = np.linspace(-1, 1, 401)
    for weights in PLAIN.values():
        w = [float(v) for v in weights]
        pairs, single = np.zeros((401, 401)), np.full(401, w[0])
        for j in range(1, len(w)):
            pairs += w[j] * np.abs(y[:, None] ** j - y[None, :] ** j)
            single += w[j] * np.abs(y) ** j
        assert max(pairs.max(), single.max()) <= float(plain_change(weights)) + 1e-12
        assert pairs.max() <= float(plain_change((Fraction(0), *weights[1:]))) + 1e-12


@pytest.mark.parametrize("kind", ["soft", "plain"])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_moments_come_back(kind: Kind, order: int) -> None:
    grid = grid_by_width(Fraction(-3), Fraction(17, 2))
    made = design(kind, order, grid)
    rows = tuple(int(v) for v in np.linspace(grid.lowest, grid.highest, 57).astype(np.int64))
    y = (2 * np.array(rows) - grid.lowest - grid.highest) / (grid.highest - grid.lowest)
    (back,) = made.moments(made.integers([sums(rows, grid, order)]))
    assert back == pytest.approx([float((y**j).sum()) for j in range(order + 1)], abs=1e-3)
